"""Calls of the library without the conversions of ctypes, for the most frequent operations.

A function with argtypes converts each argument at each call, and that takes longer than the
library's own work. Here an argument is prepared once: a handle when its object is created,
and a number by a write into memory that the call reads.

That memory is a slip. A call takes a slip from a list of spare slips and puts it back. So
two threads never use the same slip. A signal handler or a finalizer that interrupts a call
uses another slip too.
"""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi

# Memory for the two numbers of a call: a view of both numbers, the first number as an argument,
# and a pointer to the second, which the library writes. Writing a number that does not fit
# raises a ValueError, and writing a value that is not an integer raises a TypeError.
Slip = tuple[memoryview, Any, Any]


def new_slip() -> Slip:
    """Creates a further slip."""
    numbers = (ctypes.c_uint64 * 2)()
    cells = memoryview(numbers).cast("B").cast("Q")
    first = ctypes.c_uint64.from_buffer(numbers)
    return cells, first, ctypes.byref(numbers, ctypes.sizeof(ctypes.c_uint64))


# Its length is at least the highest number of simultaneous calls. It never becomes short
# enough for the list to release its own memory.
_spare: list[Slip] = [new_slip() for _ in range(8)]

# Raises an IndexError if there is no spare slip.
take_slip = _spare.pop
put_slip_back = _spare.append


def argument(handle: Any) -> Any:
    """A handle as an argument. A handle is a struct of one number and is passed like a number."""
    return ctypes.c_uint64.from_param(handle.id)


NO_STREAM = argument(_abi.ferrum_stream())
