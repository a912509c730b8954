"""Call sites in Python of the blocks of a pool with DebugFlags.CALL_SITES.

The library records return addresses of native code, which are the same for all lines of
Python. A pool without the flag records nothing here and only checks one attribute.
"""

from __future__ import annotations

import os
import sys

from . import _abi

# Recorded frames for each block.
_DEPTH = 16
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def keeps_call_sites(debug: int) -> bool:
    """Whether a pool with these DebugFlags records call sites: by its flags, or because
    FERRUM_DEBUG in the environment requests it for all pools.
    """
    words = {word.strip() for word in os.environ.get("FERRUM_DEBUG", "").split(",")}
    return bool(debug & _abi.FERRUM_DEBUG_CALL_SITES or words & {"all", "call_sites"})


class CallSites:
    """The call sites of a pool's blocks, by address. It uses only single operations of
    dictionaries, so threads need no lock.
    """

    def __init__(self) -> None:
        self._sites: dict[int, tuple[str, ...]] = {}

    def note(self, *addresses: int) -> None:
        """Records the current lines of Python for blocks that were just allocated."""
        site = _lines()
        for address in addresses:
            self._sites[address] = site

    def forget(self, address: int) -> None:
        """Removes the entry of a block that was freed. An entry that stays is replaced when
        the address is allocated again.
        """
        self._sites.pop(address, None)

    def of(self, address: int) -> tuple[str, ...]:
        """The lines for an address; empty if none are recorded."""
        return self._sites.get(address, ())

    def all(self) -> list[tuple[int, tuple[str, ...]]]:
        """All recorded call sites."""
        return list(self._sites.items())


def _lines() -> tuple[str, ...]:
    """The call stack in Python, innermost line first, without lines of this package."""
    lines: list[str] = []
    frame = sys._getframe(1)
    while frame is not None and len(lines) < _DEPTH:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            lines.append(f"{code.co_filename}:{frame.f_lineno} ({code.co_name})")
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(lines)
