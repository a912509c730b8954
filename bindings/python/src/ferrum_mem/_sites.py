"""Lines of Python in the call sites of pools with DebugFlags.CALL_SITES.

The library records return addresses of native code, which are the same for all lines of
Python. So it calls back here for the Python lines of the calling thread, in every call
while such a pool exists. Leak reports, damage reports and the log contain these lines.
"""

from __future__ import annotations

import ctypes
import os
import sys

from . import _abi

# Recorded frames of each call.
_DEPTH = 16
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def start(functions: _abi.Functions) -> None:
    """Makes the library record lines of Python."""
    functions.ferrum_call_site_set_callback(_trampoline, None)


def stop(functions: _abi.Functions) -> None:
    """Undoes start(). Waits for running callbacks."""
    functions.ferrum_call_site_set_callback(_abi.ferrum_call_site_fn(), None)


def _lines() -> list[str]:
    """The call stack in Python, innermost line first, without lines of this package."""
    lines: list[str] = []
    frame = sys._getframe(1)
    while frame is not None and len(lines) < _DEPTH:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            lines.append(f"{code.co_filename}:{frame.f_lineno} ({code.co_name})")
        frame = frame.f_back  # type: ignore[assignment]
    return lines


def _write(buffer: int, capacity: int, _user_data: int | None) -> int:
    try:
        text = "\n".join(_lines()).encode("utf-8", "replace")
        if len(text) > capacity:
            # Whole lines only.
            text = text[:capacity].rpartition(b"\n")[0]
        ctypes.memmove(buffer, text, len(text))
        return len(text)
    except KeyboardInterrupt:
        import _thread

        # Ctrl-C is for the program: raise it again after the library's call.
        _thread.interrupt_main()
        return 0


# c_void_p passes the address of the buffer. c_char_p would pass a copy of its contents.
_writer = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(
    _write
)
_trampoline = ctypes.cast(_writer, _abi.ferrum_call_site_fn)
