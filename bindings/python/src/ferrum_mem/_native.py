"""The loaded library, and the state that all calls share.

Owns the one binding of the process, the check for a forked child, and the list of threads
inside a callback of the library.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

from . import _abi, _loader, _sites
from ._values import wrong_class
from .errors import FACTS, FerrumError, InvalidArgumentError, class_of

_lock = threading.Lock()
_functions: _abi.Functions | None = None
_owner_pid = 0

# Threads that are inside a callback now. They must not wait for a stream.
callback_threads: set[int] = set()


def functions() -> _abi.Functions:
    """The functions of the library. The first call loads it."""
    if _functions is None:
        _load()
    assert _functions is not None
    return _functions


def _load() -> None:
    global _functions, _owner_pid
    with _lock:
        if _functions is None:
            # Set before the functions: a finalizer must never see functions without a
            # process id.
            _owner_pid = os.getpid()
            functions = _loader.load()
            _sites.start(functions)
            _functions = functions


def is_loaded() -> bool:
    return _functions is not None


def is_forked() -> bool:
    """Whether this process is a forked child of the one that loaded the library."""
    return _owner_pid not in (0, os.getpid())


def refuse_forked() -> None:
    """Raises in a forked child. Called before a lock is taken: a thread that exists only in
    the parent process may hold the lock.

    Raises:
        ForkedError: this is a forked child.
    """
    if is_forked():
        status = _abi.FERRUM_ERROR_FORKED
        raise class_of(status)(status, status_text(status))


def check(status: int) -> None:
    """Raises the exception of a status that is an error."""
    if status < 0:
        raise error_of(status)


def error_of(status: int) -> FerrumError:
    """The exception of the last failed call of this thread."""
    info = _abi.ferrum_error_info.init()
    functions().ferrum_last_error(ctypes.byref(info))
    if info.status != status:
        # A finalizer that ran in between has failed too and replaced the details.
        return class_of(status)(status, status_text(status))
    return class_of(status)(
        status,
        info.message.decode("utf-8", "replace"),
        function=info.function.decode(),
        operation=info.operation.decode(),
        device=info.device.decode(),
        native_code=info.native_code,
        model=info.model.decode(),
        facts={name: getattr(info, name) for name, flag in FACTS.items() if info.facts & flag},
    )


def status_text(status: int) -> str:
    text = functions().ferrum_status_text(status)
    return text.decode() if text else ""


def read_json(function: Callable[..., int]) -> Any:
    """The result of a function that writes JSON, decoded."""
    import json

    return json.loads(read_text(function))


def read_text(function: Callable[..., int]) -> str:
    """The result of a function that writes text."""
    length = ctypes.c_size_t()
    capacity = 4096
    while True:
        buffer = ctypes.create_string_buffer(capacity)
        status = function(buffer, capacity, ctypes.byref(length))
        if status != _abi.FERRUM_ERROR_BUFFER_TOO_SMALL:
            check(status)
            return buffer.value.decode()
        # The text may be longer at the next call, so add a little.
        capacity = length.value + length.value // 8 + 1


def read_array(cell: type[Any], function: Callable[..., int]) -> list[Any]:
    """The result of a function that fills an array with records or numbers."""
    count = ctypes.c_size_t()
    room = 16
    while True:
        array = (cell * room)()
        status = function(array, room, ctypes.byref(count))
        if status != _abi.FERRUM_ERROR_BUFFER_TOO_SMALL:
            check(status)
            found: list[Any] = array[: count.value]
            return found
        # The array may be longer at the next call, so add a little.
        room = count.value + count.value // 8 + 1


def encode(name: str, text: str | None) -> bytes | None:
    """Encodes optional text for the library."""
    return None if text is None else encode_required(name, text)


def encode_required(name: str, text: str) -> bytes:
    """Encodes text for the library. The text must not contain a NUL character."""
    if not isinstance(text, str):
        raise wrong_class(name, "a str", text)
    if "\0" in text:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"{name} {text!r} contains a NUL character"
        )
    return text.encode()
