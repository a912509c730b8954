"""Writes the Python package's _enums.py: enumerations and sets of flags."""

from __future__ import annotations

from .model import Header
from .python_names import Enumeration, Names, docstring, formatted

HEAD = '''\
# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The enumerations and sets of flags of the interface."""

from __future__ import annotations

import enum

from . import _abi
'''


def emit(header: Header) -> str:
    """Returns the text of _enums.py."""
    names = Names(header)
    found = [*names.enumerations.values(), *names.flags.values()]
    return formatted(HEAD + "".join(_class(names, e) for e in found if not e.is_by_hand))


def _class(names: Names, found: Enumeration) -> str:
    base = "enum.IntFlag" if found.is_flags else "enum.IntEnum"
    entries = [
        (found.member(c), names.lowered(names.text(c.doc))) for c in found.constants if c.doc
    ]
    text = f"\n\nclass {found.name}({base}):\n"
    text += docstring(names.text(found.doc), "    ", entries) + "\n"
    if found.is_flags:
        text += "    NONE = 0\n"
    return text + "".join(f"    {found.member(c)} = _abi.{c.name}\n" for c in found.constants)
