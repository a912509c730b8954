"""Writes the names of the backends for Go and for C, from the ferrum_backend constants.

The name in device ids is the end of the constant's name, in lower case. The name for people is
the first word of its comment, before a colon.
"""

from __future__ import annotations

from dataclasses import dataclass

from .header import HeaderError
from .model import Header

PREFIX = "FERRUM_BACKEND_"


@dataclass(frozen=True)
class Backend:
    """A constant ferrum_backend. The first one, of value 0, is a preference and not a backend."""

    constant: str
    name: str
    display: str


def backends(header: Header) -> list[Backend]:
    """Returns the backends of the header by their values, which are 0, 1, 2 and so on."""
    found: list[Backend] = []
    for constant in header.constants:
        if constant.alias != "ferrum_backend":
            continue
        display, colon, _ = constant.doc.partition(":")
        name = constant.name.removeprefix(PREFIX).lower()
        if not colon or display.lower() != name:
            raise HeaderError(f"{constant.name}: its comment does not start with its name and ':'")
        if constant.value != len(found):
            raise HeaderError(f"{constant.name} is {constant.value}: want {len(found)}")
        found.append(Backend(constant.name, name, display))
    return found


GO_HEAD = """\
// Code generated from include/ferrum_mem.h; DO NOT EDIT.

package discover

// The backends, with the values of the C ABI.
const (
"""


def emit_go(header: Header) -> str:
    """The text of core/discover/backends_gen.go."""
    all_of_them = backends(header)
    width = max(len(b.display) for b in all_of_them)
    constants = [
        f"\tBackend{b.display:<{width}} BackendType = {value}\n"
        for value, b in enumerate(all_of_them)
    ]
    rows = [f'\t{{Backend{b.display}, "{b.name}", "{b.display}"}},\n' for b in all_of_them]
    return (
        GO_HEAD
        + "".join(constants)
        + ")\n\n// known has each backend at the place of its value, after BackendAuto.\n"
        + "var known = [...]kind{\n"
        + "".join(rows)
        + "}\n"
    )


C_HEAD = """\
/* Generated from include/ferrum_mem.h; do not edit. */
#ifndef FERRUM_MEM_BACKENDS_GEN_H
#define FERRUM_MEM_BACKENDS_GEN_H

/* X(name in device ids, name for people), from FERRUM_BACKEND_AUTO on. */
/* clang-format off */
#define FM_BACKENDS(X) \\
"""


def emit_c(header: Header) -> str:
    """The text of capi/backends_gen.h."""
    rows = [f'    X("{b.name}", "{b.display}")' for b in backends(header)]
    return C_HEAD + " \\\n".join(rows) + "\n/* clang-format on */\n\n#endif\n"
