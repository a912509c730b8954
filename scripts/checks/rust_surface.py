#!/usr/bin/env python3
"""Checks rules for the public surface of the crate ferrum-mem that no Rust lint checks.

- A type whose drop undoes something is `#[must_use]`, with a text that says what the drop does.
- A public function that can fail names the C function that it calls under "# Errors", or says
  that it calls none. Clippy checks only that the heading exists (missing_errors_doc).
- A failed call that returns an object with the error returns a `Rejected`, not a tuple.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "bindings/rust/ferrum-mem/src"

HEAD = r"((?:^ *(?:///|#\[).*\n)*)^ *pub "
# A type that has its own Drop, or whose clones share a value that has one.
DROPPED = re.compile(r"^impl(?:<\w+>)? Drop for (\w+)|^shared_handle!\(\s*(\w+)", re.MULTILINE)
PUBLIC = re.compile(HEAD + r"struct (\w+)(?:<[^>]*>)? \{([^}]*)\}", re.MULTILINE)
FUNCTION = re.compile(
    HEAD
    + r"(?:unsafe )?fn (\w+)(?:<[^>]*>)?\s*\((?:[^{;]|\[[^\]]*\])*?\)"
    + r"\s*->\s*((?:[^{;]|\[[^\]]*\])+?)\s*(?:where[^{]*)?\{",
    re.MULTILINE,
)
NAMED = re.compile(r"ferrum_\w+|calls no C function|stringify!\(\$end\)")


def faults(text: str) -> list[str]:
    """Returns the violations in the text of a source file."""
    found = []
    dropped = {name for match in DROPPED.finditer(text) for name in match.groups() if name}
    for head, name, fields in PUBLIC.findall(text):
        shares = {word for word in re.findall(r"Arc<(\w+)>", fields) if word in dropped}
        if (name in dropped or shares) and not re.search(r'#\[must_use = "\w', head):
            found.append(f"{name}: #[must_use = ...] does not say what a drop undoes")
    for head, name, result in FUNCTION.findall(text):
        if re.search(r"Box<\(", result):
            found.append(f"{name}: gives its object back in a tuple and not in a Rejected")
        errors = re.sub(r"\s*///\s*", " ", head.partition("# Errors")[2])
        if "Result<" in result and not NAMED.search(errors):
            found.append(f"{name}: # Errors names no C function")
    return found


def main() -> int:
    """Checks every source of the crate. Returns 1 if there is a violation."""
    count = 0
    for path in sorted(SOURCES.rglob("*.rs")):
        for fault in faults(path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(SOURCES.parents[3])}: {fault}")
            count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
