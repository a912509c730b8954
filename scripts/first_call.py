#!/usr/bin/env python3
"""Loads the library and makes its first calls, as a program does that is about to use it.

    scripts/first_call.py LIBRARY

For checks of what that opens: it imports nothing that opens libraries of its own after
the library was loaded.
"""

from __future__ import annotations

import ctypes
import sys


def main() -> int:
    """Loads, starts, opens the host device, and stops; the exit status."""
    library = ctypes.CDLL(sys.argv[1])
    library.ferrum_abi_version()
    device = ctypes.c_uint64()
    for status in (
        library.ferrum_init(None),
        library.ferrum_device_open(b"cpu:0", ctypes.byref(device)),
        library.ferrum_device_close(device, 0),
        library.ferrum_shutdown(0),
    ):
        if status != 0:
            print(f"a first call gave {status}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
