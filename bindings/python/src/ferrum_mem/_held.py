"""Buffers of Python objects that the library uses after the call that gets them."""

from __future__ import annotations

import ctypes
from typing import Any

from ._arguments import buffer_of


class _PyBuffer(ctypes.Structure):
    """Python's Py_buffer, which keeps a buffer of an object in place."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_get_buffer.restype = ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_release_buffer.restype = None


class HeldBuffer:
    """The contiguous buffer of an object, which stays in place until release().

    Args:
        name: the parameter, for messages.
        data: the object.

    Attributes:
        address: its address; 0 without bytes.
        size_bytes: its length.
        is_read_only: whether it must not be written.
    """

    def __init__(self, name: str, data: Any) -> None:
        buffer_of(name, data).release()
        self._held = _PyBuffer()
        _get_buffer(data, ctypes.byref(self._held), 0)
        self.address: int = self._held.buf or 0
        self.size_bytes: int = self._held.len
        self.is_read_only = bool(self._held.readonly)

    def release(self) -> None:
        """Releases the buffer. A second call does nothing."""
        _release_buffer(ctypes.byref(self._held))
