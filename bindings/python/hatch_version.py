"""The package's version: the library's, read from the generated constants."""

import re
from pathlib import Path

_ABI = Path(__file__).parent / "src" / "ferrum_mem" / "_abi.py"
_TEXT = _ABI.read_text(encoding="utf-8")


def _part(name: str) -> str:
    found = re.search(rf"^FERRUM_VERSION_{name} = (\d+)$", _TEXT, re.MULTILINE)
    if found is None:
        raise ValueError(f"{_ABI} has no FERRUM_VERSION_{name}")
    return found.group(1)


__version__ = ".".join(_part(name) for name in ("MAJOR", "MINOR", "PATCH"))
