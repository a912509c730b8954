"""Lines of Python in the call sites of pools with DebugFlags.CALL_SITES.

The library records return addresses of native code, which are the same for all lines of
Python. So it calls back here for the Python lines of the calling thread, in every call
while such a pool exists. Leak reports, damage reports and the log contain these lines.
"""

from __future__ import annotations

import ctypes
import os
import sys
import types

from . import _abi

# The number of frames that are visited, and the number of their lines that are recorded.
_FRAMES = 24
_DEPTH = 16
_EACH_FRAME = range(_FRAMES)
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

# The text of each call stack that was seen. The key has two numbers for each frame, which
# together determine the line: the identity of its code and the instruction in it. The value
# keeps the codes, so that no other code gets the same identity.
_texts: dict[tuple[int, ...], tuple[bytes, list[types.CodeType]]] = {}
# When there are more texts, all are forgotten. A program has that many by recursion, or if
# it compiles code all the time.
_TEXTS_MAX = 4096


def start(functions: _abi.Functions) -> None:
    """Makes the library record lines of Python."""
    functions.ferrum_call_site_set_callback(_trampoline, None)


def stop(functions: _abi.Functions) -> None:
    """Undoes start(). Waits for running callbacks."""
    functions.ferrum_call_site_set_callback(_abi.ferrum_call_site_fn(), None)


def _text(frame: types.FrameType | None, capacity: int) -> bytes:
    """The call stack in Python, innermost line first, without lines of this package."""
    lines: list[str] = []
    codes: list[types.CodeType] = []
    key: list[int] = []
    while frame is not None and len(codes) < _FRAMES:
        code = frame.f_code
        key += (id(code), frame.f_lasti)
        codes.append(code)
        if len(lines) < _DEPTH and not code.co_filename.startswith(_PACKAGE):
            lines.append(f"{code.co_filename}:{frame.f_lineno} ({code.co_name})")
        frame = frame.f_back
    text = "\n".join(lines).encode("utf-8", "replace")
    if len(text) > capacity:
        # Whole lines only.
        text = text[:capacity].rpartition(b"\n")[0]
    if len(_texts) >= _TEXTS_MAX:
        _texts.clear()
    _texts[tuple(key)] = text, codes
    return text


def _write(buffer: int, capacity: int, _user_data: int | None) -> int:
    try:
        caller = frame = sys._getframe(1)
        key: list[int] = []
        add = key.append
        for _ in _EACH_FRAME:
            add(id(frame.f_code))
            add(frame.f_lasti)
            if (frame := frame.f_back) is None:  # type: ignore[assignment]
                break
        kept = _texts.get(tuple(key))
        text = _text(caller, capacity) if kept is None else kept[0]
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
