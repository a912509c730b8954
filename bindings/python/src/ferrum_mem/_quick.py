"""Calls of the library without the conversions of ctypes, for what is done most often.

A function with argtypes converts each argument at each call, which takes longer than the
library's own work. Here an argument is made ready once: a handle when its object is made,
and a number by a write into memory that the call reads.

That memory is a slip. A call takes one from the spare ones and puts it back, so no two
threads have the same, nor has a signal handler or finaliser that runs in between.
"""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi

# Room for the two numbers of a call: their cells, the first number as an argument, and
# where the second is as one, for the library to write to. To write a number to a cell
# that does not fit is a ValueError, and to write what is no integer a TypeError.
Slip = tuple[memoryview, Any, Any]


def new_slip() -> Slip:
    """One more than there are."""
    numbers = (ctypes.c_uint64 * 2)()
    cells = memoryview(numbers).cast("B").cast("Q")
    first = ctypes.c_uint64.from_buffer(numbers)
    return cells, first, ctypes.byref(numbers, ctypes.sizeof(ctypes.c_uint64))


# Never fewer than there were calls at once. It never gets short, as a list that does
# gives its own memory back.
_spare: list[Slip] = [new_slip() for _ in range(8)]

# An IndexError where there is none.
take_slip = _spare.pop
put_slip_back = _spare.append


def argument(handle: Any) -> Any:
    """A handle as an argument. It is a struct of one number, and goes where that goes."""
    return ctypes.c_uint64.from_param(handle.id)


NO_STREAM = argument(_abi.ferrum_stream())
