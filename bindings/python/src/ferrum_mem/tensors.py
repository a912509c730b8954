"""Tensors: memory with a type, a shape and strides. docs/tensors.md explains them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _abi, _async, _callbacks, _dlpack, _native
from ._arguments import buffer_of, callable_of, handle_of, object_of, sequence
from ._async import Queued
from ._dtypes import dtype_of, name_of
from ._enums import DType
from ._homes import Home, LiveTensor, home_in
from ._places import raw_memory
from ._values import i64, real, u64, wrong_class
from ._views import Shape, Viewed, sides
from .devices import Device, device_for
from .elastic_pools import Model
from .errors import InvalidArgumentError, UnsupportedError
from .memory import Memory, address_of
from .pools import Pool
from .streams import Stream, named_handle, optional_handle
from .virtual_pools import VirtualPool

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Self

    from ._places import Place
    from .weights import TensorSet


def _description(
    dtype: Any, shape: Shape, strides: Sequence[int] | None
) -> _abi.ferrum_tensor_desc:
    raw = _abi.ferrum_tensor_desc.init()
    lengths, count = sides("shape", shape)
    if count > _abi.FERRUM_TENSOR_RANK_MAX:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT,
            f"{count} dimensions: a tensor has at most {_abi.FERRUM_TENSOR_RANK_MAX}",
        )
    raw.dtype, raw.rank = dtype_of(dtype), count
    raw.shape[:count] = lengths[:count]
    if strides is None:
        raw.flags = _abi.FERRUM_ELEMENTS_CONTIGUOUS
    else:
        if len(sequence("strides", strides, "integers")) != count:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"{len(strides)} strides given for a shape of {count} dimensions",
            )
        raw.strides[:count] = [i64("strides", each) for each in strides]
        raw.flags = _abi.FERRUM_ELEMENTS_REPEATED  # strides of 0 are meant
    return raw


class Tensor(Viewed):
    """A tensor in new memory, or over a block of a manager. The elements of new memory have no
    value yet. from_numpy(), from_set(), from_dlpack() and wrap() make tensors over other memory.

    Views are tensors of their own over the same memory, which ends with the last of them. A
    tensor that is collected is closed without a warning. NumPy arrays and arrays of DLPack
    count as views as for a block: close() raises ViewExistsError while one exists.

    While the memory sleeps, calls that read or write elements raise BusyError.

    The operators + - * / @ compute on a backend of the device that the package opens for them.
    Both tensors have one type; a number gets the type of the tensor. Division of integers drops
    the fraction. == and != compare no elements: with another tensor, an array or a number they
    raise TypeError. A tensor can be a key of a dictionary and a member of a set.

    Args:
        memory: a pool, a virtual pool, a model of an elastic pool, or a block of a manager,
            which is pinned while the tensor or a view of it exists.
        dtype: type of the elements: a DType, its name such as "bf16", or a type of NumPy.
        shape: length of each dimension, the slowest first; a number for one dimension.
        strides: for a block: the distance from one index of a dimension to the next, in
            elements; None: without gaps.
        offset_bytes: start in a virtual pool (whole pages), or of the first element in a block.
        tag: tag of new memory.
        stream: the first work on new memory is on this stream.

    Raises:
        InvalidArgumentError: for the shape, the type or the strides.
        InvalidOffsetError: the elements end outside of the block.
        InvalidStateError: the memory sleeps.
        OutOfMemoryError and others: of the memory.
    """

    _owned: LiveTensor

    def __init__(
        self,
        memory: Place | Memory,
        dtype: Any,
        shape: Shape,
        *,
        strides: Sequence[int] | None = None,
        offset_bytes: int = 0,
        tag: str | None = None,
        stream: Stream | None = None,
    ) -> None:
        handle, library = _abi.ferrum_tensor(), _native.functions()
        if isinstance(memory, Memory):
            desc = _description(dtype, shape, strides)
            _native.check(
                library.ferrum_tensor_from_memory(
                    memory._handle,
                    u64("offset_bytes", offset_bytes),
                    ctypes.byref(desc),
                    ctypes.byref(handle),
                )
            )
            self._adopt(handle, Home(memory._owned, memory.manager.device))
            return
        if strides is not None:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                "strides is only for a block of a manager: new memory is contiguous",
            )
        object_of("memory", memory, Pool, VirtualPool, Model, Memory)
        raw = raw_memory(memory, offset_bytes, tag)
        lengths, count = sides("shape", shape)
        _native.check(
            library.ferrum_tensor_create(
                ctypes.byref(raw),
                dtype_of(dtype),
                lengths,
                count,
                optional_handle(stream),
                ctypes.byref(handle),
            )
        )
        self._adopt(handle, home_in(memory, tag))

    def _adopt(self, handle: _abi.ferrum_tensor, home: Home) -> None:
        """Becomes the object of a tensor of the library."""
        desc = _abi.ferrum_tensor_desc.init()
        _native.functions().ferrum_tensor_describe(handle, ctypes.byref(desc))
        rank = desc.rank
        self._home = home
        self._dtype = DType(desc.dtype)
        self._shape: tuple[int, ...] = tuple(desc.shape[:rank])
        self._strides: tuple[int, ...] = tuple(desc.strides[:rank])
        self._address, self._size_bytes = desc.address, desc.size_bytes
        self._flags = desc.flags
        self._read_only = bool(desc.flags & _abi.FERRUM_ELEMENTS_READ_ONLY)
        label = f"Tensor {name_of(self._dtype)} {list(self._shape)} on {home.device.id}"
        self._own(LiveTensor(label, handle, home), handle)

    @classmethod
    def _of(cls, handle: _abi.ferrum_tensor, home: Home) -> Self:
        made = cls.__new__(cls)
        made._adopt(handle, home)
        return made

    @classmethod
    def from_numpy(
        cls, array: Any, *, device: Device | str = "cpu:0", copy: bool | None = None
    ) -> Self:
        """A tensor over the memory of an array of NumPy, with any strides. It keeps the array
        until the last view and the work on the memory have ended. A read-only array gives a
        read-only tensor.

        Args:
            array: an array, or what numpy.asarray takes.
            device: a device of the host, or its id.
            copy: None: share the memory, or share a copy that NumPy makes where the memory cannot
                be shared: another byte order, or strides or an address that are not whole
                elements. False: share or fail. True: share a copy.

        Raises:
            UnsupportedError: for the type of the array, and if it cannot be shared.
        """
        import numpy

        if isinstance(device, Device) and not device._info.host_addressable:
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED,
                f"the array is in host memory, not in memory of {device.id}: use to() with a pool "
                "of that device",
            )
        given = numpy.asarray(array)
        dtype = _dtype_of_array(given)
        width = given.itemsize
        is_apart = (
            not given.dtype.isnative
            or any(stride % width for stride in given.strides)
            or given.ctypes.data % width
        )
        if is_apart and copy is False:
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED,
                f"an array of {given.dtype.str} with strides of {list(given.strides)} bytes cannot "
                "be shared: strides or address are not multiples of an element, or the byte order "
                "differs",
            )
        if is_apart or copy:
            given = numpy.array(given, given.dtype.newbyteorder("="), order="C", copy=True)
        spans = [
            (length - 1) * stride
            for length, stride in zip(given.shape, given.strides, strict=True)
            if given.size
        ]
        before = -sum(min(each, 0) for each in spans)
        after = sum(max(each, 0) for each in spans) + width
        first = given.ctypes.data
        return cls.wrap(
            device,
            first - before,
            before + after if given.size else 0,
            dtype,
            given.shape,
            strides=[stride // width for stride in given.strides] if given.size else None,
            first_address=first,
            read_only=not given.flags.writeable,
            release=_Keeper(given),
        )

    @classmethod
    def wrap(
        cls,
        device: Device | str,
        address: int,
        size_bytes: int,
        dtype: Any,
        shape: Shape,
        *,
        strides: Sequence[int] | None = None,
        first_address: int = 0,
        read_only: bool = False,
        release: Callable[[], object],
    ) -> Self:
        """A tensor over memory of the program, which must stay valid until release is called.

        Args:
            device: the device of the memory, or its id.
            address,size_bytes: the memory, as the device addresses it.
            dtype,shape: as for Tensor().
            strides: in elements; None: without gaps.
            first_address: of the element whose indices are all 0; 0: address.
            read_only: the memory must not be written.
            release: called once after the last tensor over the memory has ended and the work
                on it has run: in the call that ends the tensor, or on a thread of the library.
                It must not wait for a stream. An exception in it goes to sys.unraisablehook.
                After an error of this call it is never called.

        Raises:
            InvalidAddressError: the memory cannot be accessed, as far as the device can check it.
            InvalidOffsetError: an element is outside of the memory.
            InvalidArgumentError: for the type, the shape or the strides.
        """
        callable_of("release", release)
        desc = _description(dtype, shape, strides)
        desc.address = u64("first_address", first_address)
        if read_only:
            desc.flags |= _abi.FERRUM_ELEMENTS_READ_ONLY
        start, size = u64("address", address), u64("size_bytes", size_bytes)
        handle, wrap = _abi.ferrum_tensor(), _native.functions().ferrum_tensor_wrap
        with device_for(device) as (opened, at_end):
            _callbacks.wrap_memory(
                lambda function, key: wrap(
                    opened._handle,
                    start,
                    size,
                    ctypes.byref(desc),
                    function,
                    key,
                    ctypes.byref(handle),
                ),
                release,
            )
            return cls._of(handle, Home(opened._node, opened, at_end=at_end))

    @classmethod
    def from_set(cls, loaded: TensorSet, name: str | int) -> Self:
        """A tensor over a loaded tensor of weights, without a copy. While it exists, the set
        cannot be freed. A mapped tensor is read-only.

        Args:
            loaded: the set.
            name: the name of its tensor, or the index in the order of the load.

        Raises:
            NotFoundError: the set has no tensor of the name.
            InvalidArgumentError: no tensor has the index.
            InvalidStateError: the load runs.
        """
        from .weights import TensorSet

        index = u64("name", object_of("loaded", loaded, TensorSet)._index_of(name))
        handle = _abi.ferrum_tensor()
        # A mapped tensor is of the first open host device.
        with device_for(loaded._device or "cpu:0") as (opened, end):
            _native.check(
                _native.functions().ferrum_tensor_from_set(
                    loaded._handle, index, ctypes.byref(handle)
                )
            )
            return cls._of(
                handle,
                Home(
                    loaded._owned,
                    opened,
                    space=loaded._space,
                    tag=loaded._owned.tag,
                    at_end=end,
                ),
            )

    @classmethod
    def from_dlpack(cls, source: Any, *, device: Device | str | None = None) -> Self:
        """A tensor over the memory of an object with __dlpack__, such as a tensor of PyTorch or
        an array of NumPy. It keeps the memory until the last view and the work on it have
        ended. Work that the other library has queued must be done.

        Args:
            source: the object.
            device: the device of the memory, or its id; None: the one that the object names,
                for memory of the host "cpu:0".

        Raises:
            UnsupportedError: for a type or a device that is not known here.
            InvalidArgumentError: the memory is not of the device.
        """
        if not hasattr(source, "__dlpack__"):
            raise wrong_class("source", "an object with __dlpack__", source)
        handle, library = _abi.ferrum_tensor(), _native.functions()
        with device_for(_dlpack.device_of(source) if device is None else device) as (opened, end):
            _dlpack.take(
                source,
                lambda given: library.ferrum_tensor_from_dlpack(
                    opened._handle, ctypes.byref(given), ctypes.byref(handle)
                ),
            )
            return cls._of(handle, Home(opened._node, opened, at_end=end))

    @property
    def shape(self) -> tuple[int, ...]:
        """Its length in each dimension, the slowest first."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance from one index of a dimension to the next, in elements. It may be 0 or
        negative.
        """
        return self._strides

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        count = 1
        for length in self._shape:
            count *= length
        return count

    @property
    def nbytes(self) -> int:
        """The size of its elements without gaps, in bytes."""
        return self._size_bytes

    @property
    def address(self) -> int:
        """The address of the element whose indices are all 0; 0 without elements."""
        return self._address

    @property
    def device(self) -> Device:
        """The device of its memory."""
        return self._home.device

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in the order of the shape, without gaps."""
        return bool(self._flags & _abi.FERRUM_ELEMENTS_CONTIGUOUS)

    @property
    def is_read_only(self) -> bool:
        """Whether the elements cannot be written."""
        return self._read_only

    @property
    def is_packed(self) -> bool:
        """Whether the elements are packed for a backend, so that nothing else reads them."""
        return bool(self._flags & _abi.FERRUM_ELEMENTS_PACKED)

    def _is_contiguous(self) -> bool:
        return self.is_contiguous

    def _view(self, call: Callable[[Any], int]) -> Self:
        handle = _abi.ferrum_tensor()
        _native.check(call(ctypes.byref(handle)))
        return type(self)._of(handle, self._home)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes a number, a tensor or an array to a view; it is repeated as NumPy broadcasts. A
        tensor is copied on the default stream.
        """
        with self[key] as view:
            if isinstance(value, Tensor):
                with value.expand(*view.shape) as source:
                    view.copy_from(source)
            elif isinstance(value, (bool, int, float)):
                view.fill(value)
            else:
                view.write(value)

    # NumPy leaves operators with a tensor to the tensor.
    __array_ufunc__ = None

    def _compute(self, name: str, left: Any, right: Any) -> Tensor:
        """Runs an operator on the default backend of the device."""
        from .compute import default_compute

        _ = self._handle  # raises if the tensor was closed
        compute = default_compute(self.device)
        (made,) = compute.run(name, [left, right])
        for home in (self._home, made._home):
            if home.tensors:
                home.compute = compute
        return made

    def __add__(self, other: Any) -> Tensor:
        return self._compute("Add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return self._compute("Add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return self._compute("Sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return self._compute("Sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return self._compute("Mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return self._compute("Mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return self._compute("Div", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self._compute("Div", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return self._compute("MatMul", self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return self._compute("MatMul", other, self)

    def __eq__(self, other: object) -> bool:
        """Whether both are one object. Elements are not compared.

        Raises:
            TypeError: other is another tensor, an array or a number.
        """
        if self is other:
            return True
        if isinstance(other, (Tensor, int, float, complex)) or hasattr(other, "__array__"):
            raise TypeError(
                "== does not compare the elements of tensors: compare arrays, as in"
                " numpy.array_equal(a, b); `is` tells whether two names are of one tensor"
            )
        return NotImplemented

    # Equal objects are one object.
    __hash__ = Viewed.__hash__

    def copy_from(self, source: Tensor, *, stream: Stream | None = None) -> Queued:
        """Queues a copy of the elements of a tensor of the same shape on the same device. Elements
        of another type are converted by the rules of docs/tensors.md.

        Args:
            source: the tensor. It may be closed before the copy has run.
            stream: of the device; None: its default stream.

        Returns:
            An awaitable that waits for the copy. It need not be awaited.

        Raises:
            InvalidArgumentError: for another shape, tensors that overlap, and repeated elements.
            PermissionDeniedError: this tensor is read-only.
            UnsupportedDeviceError: for tensors of different devices. to() copies those.
            UnsupportedError: the types are not converted, or the device cannot make the copy.
        """
        _native.check(
            _native.functions().ferrum_tensor_copy(
                self._handle, handle_of("source", source, Tensor), optional_handle(stream)
            )
        )
        return self._queued(stream)

    def fill(self, value: float, *, stream: Stream | None = None) -> Queued:
        """Queues work that gives every element the value, converted to the type of the tensor.

        Args:
            value: the number, which a double has exactly.
            stream: of the device; None: its default stream.

        Returns:
            An awaitable that waits for the work. It need not be awaited.
        """
        number = real("value", value)
        if isinstance(value, int) and number != value:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"{value} has no exact double: use write()"
            )
        _native.check(
            _native.functions().ferrum_tensor_fill(self._handle, number, optional_handle(stream))
        )
        return self._queued(stream)

    def _queued(self, stream: Stream | None) -> Queued:
        device = self._home.device
        return Queued(lambda: named_handle(stream, device))

    def to(
        self,
        dtype: Any = None,
        *,
        memory: Place | None = None,
        offset_bytes: int = 0,
        tag: str | None = None,
        stream: Stream | None = None,
    ) -> Tensor:
        """A new contiguous tensor with the same elements, of another type, in other memory, or
        both. Waits if the memory is of another device, or the device cannot convert the type.

        Args:
            dtype: the type; None: the type of this tensor.
            memory: a pool, a virtual pool or a model, also of another device; None: the pool or
                model of this tensor.
            offset_bytes: of the first page in a virtual pool.
            tag: tag of the memory.
            stream: of the device of this tensor; None: its default stream.

        Raises:
            InvalidArgumentError: this tensor has no pool or model, and memory is None.
            UnsupportedError: the types are not converted.
            OutOfMemoryError and others: of the memory.
        """
        place = self._home.memory if memory is None else memory
        if place is None:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"the {self._owned.label} does not belong to a pool: pass the memory of the new "
                "tensor",
            )
        kind, handle = self._dtype if dtype is None else dtype_of(dtype), _abi.ferrum_tensor()
        raw = raw_memory(place, offset_bytes, tag)
        _native.check(
            _native.functions().ferrum_tensor_to(
                self._handle,
                ctypes.byref(raw),
                kind,
                optional_handle(stream),
                ctypes.byref(handle),
            )
        )
        return Tensor._of(handle, home_in(place, tag))

    def copy(
        self,
        memory: Place | None = None,
        *,
        offset_bytes: int = 0,
        tag: str | None = None,
        stream: Stream | None = None,
    ) -> Tensor:
        """The same as to() with the type of this tensor."""
        return self.to(None, memory=memory, offset_bytes=offset_bytes, tag=tag, stream=stream)

    async def to_async(
        self,
        dtype: Any = None,
        *,
        memory: Place | None = None,
        offset_bytes: int = 0,
        tag: str | None = None,
        stream: Stream | None = None,
    ) -> Tensor:
        """The same as to(). If the task is cancelled, the new tensor is closed."""
        return await _async.in_thread(
            lambda: self.to(
                dtype, memory=memory, offset_bytes=offset_bytes, tag=tag, stream=stream
            ),
            Tensor.close,
        )

    def read(self, *, stream: Stream | None = None) -> bytes:
        """The bytes of the elements in the order of the shape. Waits for the work that is queued
        on the stream, and for the copy.

        Args:
            stream: of the device; None: its default stream.

        Raises:
            BusyError: the memory sleeps.
            UnsupportedError: the host cannot address the memory, and the elements lie in more
                than 4096 parts.
        """
        target = bytearray(self._size_bytes)
        self.read_into(target, stream=stream)
        return bytes(target)

    def read_into(self, target: Any, *, stream: Stream | None = None) -> None:
        """Like read(), into an object with a writable contiguous buffer of exactly the size of
        the elements.

        Raises:
            InvalidSizeError: the buffer has another size.
        """
        with buffer_of("target", target, is_written=True) as view:
            _native.check(
                _native.functions().ferrum_tensor_read(
                    self._handle, address_of(view), view.nbytes, optional_handle(stream)
                )
            )

    def write(self, data: Any, *, stream: Stream | None = None) -> None:
        """Copies elements into the tensor. Waits for the work that is queued on the stream, and
        for the copy.

        Args:
            data: bytes in the order of the shape, an object with a contiguous buffer of them, or
                an array of NumPy, which is converted to the type and repeated to the shape.
            stream: of the device; None: its default stream.

        Raises:
            InvalidSizeError: the buffer has another size.
            InvalidArgumentError: an array does not broadcast to the shape; repeated elements.
            PermissionDeniedError: the tensor is read-only.
            BusyError: the memory sleeps.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            data = self._converted(data)
        with buffer_of("data", data) as view:
            _native.check(
                _native.functions().ferrum_tensor_write(
                    self._handle, address_of(view), view.nbytes, optional_handle(stream)
                )
            )

    def _converted(self, data: Any) -> Any:
        import numpy

        from ._dtypes import numpy_dtype

        given = numpy.asarray(data)
        if given.dtype.hasobject or given.dtype.kind in "US":
            raise wrong_class("data", "bytes, an array or numbers", data)
        try:
            whole = numpy.broadcast_to(given, self._shape)
        except ValueError as problem:
            raise InvalidArgumentError(_abi.FERRUM_ERROR_INVALID_ARGUMENT, str(problem)) from None
        dense = numpy.ascontiguousarray(whole, numpy_dtype(self._dtype))
        return dense.reshape(-1).view("uint8")

    async def read_async(self, *, stream: Stream | None = None) -> bytes:
        """The same as read()."""
        return await _async.in_thread(lambda: self.read(stream=stream))

    async def read_into_async(self, target: Any, *, stream: Stream | None = None) -> None:
        """The same as read_into(). The target is kept alive, and may be written, until the copy
        is done, also when the task is cancelled.
        """
        await _async.in_thread(lambda: self.read_into(target, stream=stream))

    async def write_async(self, data: Any, *, stream: Stream | None = None) -> None:
        """The same as write(). The data are kept alive, and must not change, until the copy is
        done, also when the task is cancelled.
        """
        await _async.in_thread(lambda: self.write(data, stream=stream))

    def __bool__(self) -> bool:
        """The truth of the only element.

        Raises:
            InvalidArgumentError: there is not exactly one element.
        """
        return bool(self.item())

    def __int__(self) -> int:
        """The only element as an integer; errors of item()."""
        return int(self.item())

    def __float__(self) -> float:
        """The only element as a float; errors of item()."""
        return float(self.item())

    def item(self) -> Any:
        """The only element, as a number of Python. Waits as numpy() does.

        Raises:
            InvalidArgumentError: there is not exactly one element.
        """
        if self.size != 1:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"a tensor of {self.size} elements is not one number: it must have exactly 1",
            )
        return self.numpy().item()

    def view(self) -> memoryview:
        """The bytes of a contiguous tensor as a memoryview, without a copy.

        Raises:
            BufferError: the tensor is not contiguous.
        """
        if not self.is_contiguous:
            raise BufferError(f"the {self._owned.label} is not contiguous: use numpy()")
        self._settle()
        return super().view()

    @property
    def buffer(self) -> Any:
        """The bytes of a contiguous tensor as a ctypes array, without a copy.

        Raises:
            BufferError: the tensor is not contiguous.
            PermissionDeniedError: the tensor is read-only. Use view().
        """
        if not self.is_contiguous:
            raise BufferError(f"the {self._owned.label} is not contiguous: use numpy()")
        return super().buffer

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self._home.device._info.host_addressable or 0 in self._shape:
            return super().__array__(dtype, copy)
        if copy is False:
            raise ValueError(
                f"the host cannot address the {self._owned.label}: an array needs a copy"
            )
        import numpy

        from ._dtypes import numpy_dtype

        array = numpy.empty(self._shape, numpy_dtype(self._dtype))
        self._settle()
        self.read_into(array.reshape(-1).view("uint8"))
        return array if dtype is None else array.astype(dtype, copy=False)

    def _settle(self) -> None:
        # A callback must not wait. The work before a host function is done.
        if threading.get_ident() not in _native.callback_threads:
            self._home.device.synchronize()

    def _reach(self) -> tuple[int, int]:
        if self.is_contiguous or not self._size_bytes:
            return self._address, self._address + self._size_bytes
        width = self._size_bytes // self.size
        spans = [
            (length - 1) * stride * width
            for length, stride in zip(self._shape, self._strides, strict=True)
        ]
        first = self._address + sum(min(each, 0) for each in spans)
        return first, self._address + sum(max(each, 0) for each in spans) + width

    def _first_bytes(self) -> int:
        return self._address - self._reach()[0]

    def _host_range(self) -> tuple[int | None, int]:
        first, end = self._reach()
        return (first if self._home.device._info.host_addressable else None), end - first

    def _sleeper(self) -> VirtualPool | Model | None:
        return self._home.space

    def _array(self) -> Any:
        if self.is_packed:
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED,
                f"the {self._owned.label} is packed for a backend, and nothing else reads it",
            )
        return super()._array()

    def _managed(self, versioned: bool) -> tuple[Any, Callable[[], None]]:
        given = _abi.ferrum_dlpack.init()
        _native.check(
            _native.functions().ferrum_tensor_to_dlpack(
                self._handle, int(versioned), ctypes.byref(given)
            )
        )
        return _dlpack.exported(given)

    def _array_range(self) -> tuple[int, int, Device]:
        self._refuse_asleep()
        return self._address, self._size_bytes, self._home.device


class _Keeper:
    """Keeps an object until the memory of the object is given back."""

    def __init__(self, kept: object) -> None:
        self._kept: object | None = kept

    def __call__(self) -> None:
        self._kept = None


def _dtype_of_array(array: numpy.ndarray[Any, Any]) -> DType:
    try:
        return dtype_of(array.dtype)
    except InvalidArgumentError:
        raise UnsupportedError(
            _abi.FERRUM_ERROR_UNSUPPORTED, f"tensors do not support elements of {array.dtype}"
        ) from None
