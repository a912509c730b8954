"""Memory with a type and a shape as arrays, without a copy: NumPy, the buffer protocol, DLPack and
the CUDA array interface.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from . import _abi, _native
from ._buffers import HostBuffer
from ._dlpack import DeviceArray
from ._dtypes import BUFFER, DLPACK, LETTERS, numpy_dtype
from ._enums import DType
from ._owned import views_lock
from .errors import BusyError, InvalidStateError, UnsupportedError

if TYPE_CHECKING:
    import numpy

    from .elastic_pools import Model
    from .virtual_pools import VirtualPool


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of elements without gaps, in elements."""
    return tuple(math.prod(shape[at + 1 :]) for at in range(len(shape)))


class TypedArray(HostBuffer, DeviceArray):
    """The array side of elements with a type and a shape. Each array counts as a view."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its length in each dimension, the slowest first."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        raise NotImplementedError

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance from one index of a dimension to the next, in elements."""
        return dense_strides(self.shape)

    def _is_contiguous(self) -> bool:
        """Whether the elements lie in the order of the shape, without gaps."""
        return True

    def _first_bytes(self) -> int:
        """The place of the element whose indices are all 0, in the range of _host_range()."""
        return 0

    def _reach(self) -> tuple[int, int]:
        """The first byte of the elements, and the end of the last one."""
        raise NotImplementedError

    def _sleeper(self) -> VirtualPool | Model | None:
        """The virtual pool or model with the memory, which may sleep."""
        return None

    def _array(self) -> Any:
        # Raises while the memory sleeps, or when it has ended.
        _native.refuse_forked()
        with views_lock:
            space = self._sleeper()
            if space is not None:
                try:
                    space._refuse_dozing(self._owned.tag, self._owned.label)
                except InvalidStateError as problem:
                    raise BusyError(_abi.FERRUM_ERROR_BUSY, problem.message) from None
            array = super()._array()
        self._refuse_asleep()
        return array

    def _refuse_asleep(self) -> None:
        space, (first, end) = self._sleeper(), self._reach()
        if space is None or first == end:
            return
        if not space.is_mapped(first - space.info().base_address, end - first):
            raise BusyError(_abi.FERRUM_ERROR_BUSY, f"the {self._owned.label} is asleep")

    def _settle(self) -> None:
        """Waits for the work that uses the elements."""

    def _elements(self) -> tuple[tuple[int, ...], tuple[int, ...], int, int]:
        if self.dtype not in DLPACK:
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED,
                f"DLPack has no type for {self.dtype.name.lower()} here: use view()",
            )
        return (self.shape, self.strides, *DLPACK[self.dtype])

    def numpy(self) -> numpy.ndarray[Any, Any]:
        """The elements as an array of NumPy without a copy, which cannot be written if the
        elements are read-only. bf16 and the types of 8 bits are those of the package ml_dtypes.

        Raises:
            UnsupportedError: the host cannot address the elements, or NumPy has no such type.
        """
        import numpy

        element = numpy_dtype(self.dtype)
        if 0 in self.shape:
            empty = numpy.empty(self.shape, element)
            empty.flags.writeable = not self._read_only
            return empty
        self._settle()
        # NumPy keeps the object behind a memoryview, and that is writable. frombuffer() keeps
        # the memoryview itself.
        whole = self._array()
        if self._read_only:
            whole = numpy.frombuffer(memoryview(whole).cast("B").toreadonly(), "uint8")
        strides = tuple(each * element.itemsize for each in self.strides)
        array: numpy.ndarray[Any, Any] = numpy.ndarray(
            self.shape, element, whole, self._first_bytes(), strides
        )
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"elements of {array.dtype} cannot be {dtype} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def __array_interface__(self) -> NoReturn:
        # NumPy would keep this object, and not count the array as a view. It uses __array__.
        raise AttributeError("use numpy()")

    def _typed_view(self) -> memoryview:
        """A memoryview with the type and the shape.

        Raises:
            BufferError: a buffer cannot have the type, the shape or the strides.
        """
        if self.dtype not in BUFFER or 0 in self.shape or not self._is_contiguous():
            raise BufferError(f"no buffer has the form of the {self._owned.label}: use numpy()")
        self._settle()
        whole = memoryview(self._array()).cast("B")
        typed = whole.cast(BUFFER[self.dtype], self.shape)  # type: ignore[call-overload]
        return typed.toreadonly() if self._read_only else typed  # type: ignore[no-any-return]

    if sys.version_info >= (3, 12):

        def __buffer__(self, flags: int) -> memoryview:
            return self._typed_view()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The elements on a CUDA device, with their type and shape. Types that the interface does
        not have, such as bf16, are shown as bytes: use DLPack for bf16.
        """
        array = super().__cuda_array_interface__
        code, bits = DLPACK.get(self.dtype, (-1, 0))
        if code in LETTERS:
            order = "|" if bits == 8 else "<"
            array["shape"], array["typestr"] = self.shape, f"{order}{LETTERS[code]}{bits // 8}"
            if not self._is_contiguous():
                array["strides"] = tuple(each * bits // 8 for each in self.strides)
        return array
