"""Memory of a host device as Python buffers, without a copy.

A view is a ctypes array over the block. It keeps the block's wrapper alive, and the block's
record counts it: the block cannot be freed while a view exists.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _abi, _forked, _native, _owned
from ._values import i64, shape_of, size_text
from .errors import (
    InvalidArgumentError,
    InvalidHandleError,
    InvalidOffsetError,
    PermissionDeniedError,
    UnsupportedError,
)

if TYPE_CHECKING:
    import numpy


@functools.lru_cache(maxsize=256)
def _array_type(size_bytes: int) -> Any:
    """An array type whose instances can have attributes."""
    return type("BlockView", (ctypes.c_ubyte * size_bytes,), {})


class HostBuffer(_owned.Resource):
    """The buffer side of a block: view(), NumPy and the buffer protocol.

    The caller must wait for asynchronous work on the block before reading or writing it.
    """

    # For memory that was adopted as read only. A write through a view could crash the
    # process.
    _read_only = False

    def _postpone(self) -> None:
        """Does nothing: other code may have a view when the block could be freed."""

    def _host_range(self) -> tuple[int | None, int]:
        """Host address and length. The address is None where the host cannot address the block."""
        raise NotImplementedError

    @property
    def buffer(self) -> Any:
        """A ctypes array of bytes over the block. The array keeps the block alive.

        Raises:
            PermissionDeniedError: the block was adopted as read only. Use view().
        """
        if self._read_only:
            raise PermissionDeniedError(
                _abi.FERRUM_ERROR_PERMISSION_DENIED,
                f"the {self._owned.label} is read-only, and this buffer is writable: use view()",
            )
        return self._array()

    def _array(self) -> Any:
        _native.refuse_forked()
        address, size_bytes = self._host_range()
        if address is None:
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED,
                f"the host cannot address the {self._owned.label}: use read() and write()",
            )
        with _owned.views_lock:
            if self._owned.is_over():
                raise InvalidHandleError(
                    _abi.FERRUM_ERROR_INVALID_HANDLE, f"the {self._owned.label} has been closed"
                )
            array = _array_type(size_bytes).from_address(address)
            array.block = self
            seen = _forked.Seen(address, size_bytes)
            self._owned.views.add(seen)
            weakref.finalize(array, self._owned.views.discard, seen).atexit = False
        return array

    def view(self) -> memoryview:
        """The block as a memoryview of bytes. It is writable unless the block was adopted read
        only.
        """
        whole = memoryview(self._array()).cast("B")
        return whole.toreadonly() if self._read_only else whole

    if sys.version_info >= (3, 12):

        def __buffer__(self, flags: int) -> memoryview:
            return self.view()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        array = self.view() if self._read_only else self.buffer
        return {"version": 3, "shape": (len(array),), "typestr": "|u1", "data": array}

    def as_numpy(
        self,
        dtype: Any = "uint8",
        shape: int | Sequence[int] | None = None,
        *,
        offset_bytes: int = 0,
    ) -> numpy.ndarray[Any, Any]:
        """The block, or a part of it, as a NumPy array without a copy. The array is writable
        unless the block was adopted as read only.

        Args:
            dtype: type of the elements.
            shape: shape of the array; None: one dimension with all elements that fit.
            offset_bytes: its start in the block.
        """
        import numpy

        element = numpy.dtype(dtype)
        # NumPy keeps the object behind a memoryview, and that is writable. frombuffer()
        # keeps the memoryview itself.
        array = numpy.frombuffer(self.view(), "uint8") if self._read_only else self.buffer
        room = len(array) - i64("offset_bytes", offset_bytes)
        if shape is None:
            shape = max(room, 0) // max(element.itemsize, 1)
        lengths = shape_of("shape", shape)
        if element.hasobject:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"dtype {element} contains references to Python objects",
            )
        if min(offset_bytes, room, *lengths, 0) < 0 or math.prod(lengths) * element.itemsize > room:
            raise InvalidOffsetError(
                _abi.FERRUM_ERROR_INVALID_OFFSET,
                f"an array of {lengths} {element} at offset_bytes {offset_bytes} ends outside of "
                f"the {self._owned.label}, which has {size_text(len(array))}",
            )
        result: numpy.ndarray[Any, Any] = numpy.ndarray(lengths, element, array, offset_bytes)
        return result
