"""Reads the header's text: ferrum_mem.h with the headers of the families included."""

from __future__ import annotations

import re
from pathlib import Path

INCLUDED = re.compile(r'^#include "(ferrum_mem/\w+\.h)"\n', re.M)

# The lines that let the file of a family compile alone.
FRAME = re.compile(
    r"^#(?:ifndef|define) FERRUM_MEM_\w+_H\n|^#include .*\n|^#endif /\* FERRUM_MEM_\w+_H \*/\n",
    re.M,
)

# A declaration of a function, with its name.
DECLARED = re.compile(r"^FERRUM_API [\w *]*?\s*\b(ferrum_\w+)\(", re.M)


def whole_header(path: Path) -> str:
    """Returns the header as one text, with each family's part in place and without its guard."""

    def part(found: re.Match[str]) -> str:
        return FRAME.sub("", (path.parent / found.group(1)).read_text(encoding="utf-8"))

    text = INCLUDED.sub(part, path.read_text(encoding="utf-8"))
    first = text.index("#ifndef FERRUM_MEM_H")
    return text[:first] + "#include <stddef.h>\n#include <stdint.h>\n" + text[first:]


# A definition of a struct, with its name.
DEFINED = re.compile(r"^} (ferrum_\w+);", re.M)


def families(path: Path, what: re.Pattern[str] = DECLARED) -> dict[str, str]:
    """Returns the family of each function: its header below ferrum_mem, such as pools."""
    names = INCLUDED.findall(path.read_text(encoding="utf-8"))
    return {
        function: Path(name).stem
        for name in names
        for function in what.findall((path.parent / name).read_text(encoding="utf-8"))
    }
