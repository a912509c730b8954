"""Memory behind views in a forked child.

Relocatable pages, which virtual pools and models have by default, do not exist in a child
of fork(): the child must not see later writes of the parent. A view that the child has
inherited would crash the child at the first access. So after a fork the child maps zeroed
memory where a view has none.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref

# Some versions of the mmap module lack these.
_MAP_FIXED_NOREPLACE = 0x100000
_MAP_NORESERVE = 0x4000

_FAILED = ctypes.c_void_p(-1).value


class Seen:
    """Memory that a view shows. The entry ends with the view."""

    def __init__(self, address: int, size_bytes: int) -> None:
        self.address = address
        self.size_bytes = size_bytes
        _all.add(self)


_all: weakref.WeakSet[Seen] = weakref.WeakSet()


def _prepare() -> None:
    libc = ctypes.CDLL(None)
    place, take_away = libc.mmap, libc.munmap
    place.restype = ctypes.c_void_p
    place.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    take_away.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED_NOREPLACE | _MAP_NORESERVE

    def fill() -> None:
        for seen in list(_all):
            first = seen.address // mmap.PAGESIZE * mmap.PAGESIZE
            length = seen.address + seen.size_bytes - first
            # Fails where there is memory.
            found = place(first, length, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
            if found not in (first, _FAILED):
                # A kernel that does not know the flag has mapped it at another address.
                take_away(found, length)

    os.register_at_fork(after_in_child=fill)


if sys.platform == "linux":
    _prepare()
