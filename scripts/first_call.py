#!/usr/bin/env python3
"""Loads the library and makes the first calls of a typical program.

    scripts/first_call.py LIBRARY

Checks use this script to observe which files the library opens. After loading the library the
script imports no module, because a module could open other libraries.
"""

from __future__ import annotations

import ctypes
import sys


def main() -> int:
    """Loads the library, opens and closes the host device, and returns the exit status."""
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
