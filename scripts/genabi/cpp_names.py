"""Writes include/ferrum_mem/calls/names.hpp: the names of the values of enumerations."""

from __future__ import annotations

from .clang_format import formatted
from .model import Alias, Constant, Header

# The names of these values come from the library.
FROM_THE_LIBRARY = {"ferrum_status", "ferrum_backend"}

HEAD = """\
/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The names of the values of enumerations, for logs: FERRUM_PRESSURE_HIGH is "high".
 * The texts are constant. A number that is no value of the enumeration is "unknown".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_NAMES_HPP
#define FERRUM_MEM_CALLS_NAMES_HPP

#include "../../ferrum_mem.h"

namespace ferrum {
"""

TAIL = """
} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_NAMES_HPP */
"""


def emit(header: Header) -> str:
    """Returns the text of names.hpp."""
    parts = [HEAD]
    for alias in header.aliases:
        prefix, values = header.values(alias)
        if values and alias.name not in FROM_THE_LIBRARY:
            parts.append(_names(alias, prefix, values))
    return formatted("".join(parts) + TAIL)


def _names(alias: Alias, prefix: str, values: tuple[Constant, ...]) -> str:
    kind = alias.name.removeprefix("ferrum_")
    text = f"\n/** Name of a {alias.name}. */\n"
    text += (
        f"constexpr const char *{kind}_name({alias.name} value) noexcept {{\nswitch (value) {{\n"
    )
    for constant in values:
        name = constant.name.removeprefix(prefix).lower()
        text += f'case {constant.name}:\nreturn "{name}";\n'
    return text + 'default:\nreturn "unknown";\n}\n}\n'
