"""Call sites in Python of the blocks of a pool with DebugFlags.CALL_SITES.

The library keeps return addresses of native code, in which every line of Python looks
the same. A pool without the flag has none of this, and pays one look at an attribute.
"""

from __future__ import annotations

import os
import sys

from . import _abi

# Frames that are kept of each block.
_DEPTH = 16
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def keeps_call_sites(debug: int) -> bool:
    """Whether a pool with these DebugFlags keeps call sites, by itself or because
    FERRUM_DEBUG of the environment says so for all pools."""
    words = {word.strip() for word in os.environ.get("FERRUM_DEBUG", "").split(",")}
    return bool(debug & _abi.FERRUM_DEBUG_CALL_SITES or words & {"all", "call_sites"})


class CallSites:
    """Where the blocks of a pool were allocated, by address. Single operations of
    dictionaries only, so that threads need no lock."""

    def __init__(self) -> None:
        self._sites: dict[int, tuple[str, ...]] = {}

    def note(self, *addresses: int) -> None:
        """Keeps the present lines of Python for blocks that were just allocated."""
        site = _lines()
        for address in addresses:
            self._sites[address] = site

    def forget(self, address: int) -> None:
        """Says that a block is not live any more. What is not forgotten is replaced when
        the address is allocated again."""
        self._sites.pop(address, None)

    def of(self, address: int) -> tuple[str, ...]:
        """The lines for an address; empty for one that is not known."""
        return self._sites.get(address, ())

    def all(self) -> list[tuple[int, tuple[str, ...]]]:
        """All that is kept."""
        return list(self._sites.items())


def _lines() -> tuple[str, ...]:
    """The lines that are running, the innermost first, without those of this package."""
    lines: list[str] = []
    frame = sys._getframe(1)
    while frame is not None and len(lines) < _DEPTH:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            lines.append(f"{code.co_filename}:{frame.f_lineno} ({code.co_name})")
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(lines)
