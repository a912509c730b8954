#!/usr/bin/env python3
"""What the public surface of the crate ferrum-mem promises and no lint of Rust asks for.

- A type whose drop undoes something is `#[must_use]`, with a text that says what the drop does.
- A public function that can fail names the C function behind it under "# Errors", or says that
  there is none. Clippy asks for the heading (missing_errors_doc).
- What a failed call gives back with its error is a `Rejected`, and no tuple.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "bindings/rust/ferrum-mem/src"

HEAD = r"((?:^ *(?:///|#\[).*\n)*)^ *pub "
# A type that is dropped by itself, or by what its clones share.
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
    """What is wrong with the text of a source file."""
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
    """Looks at every source of the crate; 1 if there are faults."""
    count = 0
    for path in sorted(SOURCES.rglob("*.rs")):
        for fault in faults(path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(SOURCES.parents[3])}: {fault}")
            count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
