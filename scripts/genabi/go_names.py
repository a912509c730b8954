"""Converts names of the C ABI to Go names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .model import Header

# Words that Go's naming rules, or the core, write with other capitals.
WORDS = {
    "cpu": "CPU",
    "dtype": "DType",
    "gbps": "GBps",
    "gc": "GC",
    "gpu": "GPU",
    "id": "ID",
    "json": "JSON",
    "kv": "KV",
    "vpool": "VPool",
}

# The start of a tag: a package of the core, such as pool in `@go *pool.Config`, or a name that an
# export has without a package.
GIVEN = {"lib", "factory", "loader", "tensors", "computes", "executors", "layers", "kvCaches"}
PACKAGE = re.compile(r"^\*?([a-z]+)\.[A-Z]")


def camel(name: str, *, is_first_capital: bool) -> str:
    """Returns keepBytes or KeepBytes for keep_bytes."""
    first, *rest = name.split("_")
    head = WORDS.get(first, first.capitalize()) if is_first_capital else first
    return head + "".join(WORDS.get(word, word.capitalize()) for word in rest)


def packages(header: Header) -> tuple[str, ...]:
    """Returns the packages of the core that exports use: those in tags, and some always."""
    tagged = [*header.structs, *header.aliases, *header.functions]
    words = (tag.words[-1] for part in tagged for tag in part.tags if tag.name == "go")
    found = {match.group(1) for word in words if (match := PACKAGE.match(word))}
    return tuple(sorted(found - GIVEN | {"device", "library", "manager"}))


def imports(text: str, names: Iterable[str]) -> str:
    """Returns the import of the packages that a text uses, or "" if it uses none."""
    used = [f'"ferrum_mem/core/{n}"' for n in names if re.search(rf"(?<![.\w]){n}\.[A-Z]", text)]
    if "unsafe." in text:
        used = ['"unsafe"', *([""] if used else []), *used]
    if len(used) < 2:
        return "".join(f"\nimport {name}\n" for name in used)
    return "\nimport (\n" + "".join(f"\t{name}".rstrip() + "\n" for name in used) + ")\n"
