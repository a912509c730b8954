"""Fallback managers: buffers on a device that fall back to a host device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from . import _abi, _async, _callbacks, _native
from ._arguments import buffer_of, callable_of, choice
from ._calls import FallbackBufferCalls, FallbackManagerCalls
from ._dtypes import dtype_of
from ._enums import BufferPlace, DType
from ._enums_by_hand import BufferLocation, PressureLevel
from ._owned import Owned, end_beside, ending
from ._values import u64
from .devices import Device, Registration, device_for
from .errors import InvalidOffsetError
from .memory import address_of
from .memory_config import MemoryConfig, MemoryStats, abi_memory_config, stats_of
from .streams import Stream, optional_handle
from .tracking import BufferId, TrackerView, tracker_of


@runtime_checkable
class GpuMemoryPool(Protocol):
    """The common interface of the pools of all backends."""

    @property
    def backend_name(self) -> str:
        """Such as "cpu" or "cuda"."""

    def stats(self) -> MemoryStats:
        """The counters."""

    def total_memory(self) -> int:
        """The capacity of the device; 0 means unknown."""

    def free_memory(self) -> int:
        """Bytes that the device can still provide, to any user."""

    def pressure(self) -> PressureLevel:
        """The level of the device with PressureProfile.EARLY."""

    def clear_pool(self) -> None:
        """Empties the buckets."""

    def shrink(self) -> int:
        """Releases the memory without buffers, and returns the bytes that the device got back."""


class FallbackManager(FallbackManagerCalls):
    """Creates buffers on a device, or on a host device while the device has no memory. It is a
    GpuMemoryPool. Safe for use by several threads.

    Args:
        device: a device of any backend, or its id. With an id the manager opens and closes
            the device; so for the host.
        host: the device of fallback buffers. None is allowed only if the settings forbid
            fallback.
        config: settings; None: the defaults of MemoryConfig.

    Raises:
        InvalidConfigError: for a setting, or if a host is needed.
        InvalidArgumentError: the host is the device itself, or cannot be addressed.
        OutOfMemoryError: for the memory that is preallocated.
    """

    def __init__(
        self,
        device: Device | str,
        host: Device | str | None = None,
        config: MemoryConfig | None = None,
    ) -> None:
        with device_for(device) as (device, device_end):
            if host is None:
                self._make(device, None, config, [device_end])
                return
            with device_for(host, "host") as (host, host_end):
                self._make(device, host, config, [device_end, host_end])

    def _make(
        self,
        device: Device,
        host: Device | None,
        config: MemoryConfig | None,
        ends: list[Callable[[], None] | None],
    ) -> None:
        raw, _kept = abi_memory_config(MemoryConfig() if config is None else config)
        handle = _abi.ferrum_fallback_manager()
        library = _native.functions()
        _native.check(
            library.ferrum_fallback_manager_create(
                device._handle,
                host._handle if host is not None else _abi.ferrum_device(),
                ctypes.byref(raw),
                ctypes.byref(handle),
            )
        )
        self._device, self._host = device, host
        node = host._node if host is not None else None

        def at_end() -> None:
            if node is not None:
                node.remove(owned)
            for end in ends:
                if end is not None:
                    end()

        owned = Owned(
            f"FallbackManager on {device.id}",
            lambda flags: library.ferrum_fallback_manager_destroy(handle, flags),
            device._node,
            at_end,
        )
        if node is not None:
            # It depends on both devices.
            node.add(owned)
        self._own(owned, handle)

    @property
    def device(self) -> Device:
        """The device of the buffers."""
        return self._device

    @property
    def host(self) -> Device | None:
        """The device of fallback buffers."""
        return self._host

    def close(self, *, force: bool = False) -> None:
        """Releases the memory on both devices.

        Args:
            force: also while buffers are live, or the caller owns storage of taken buffers.

        Raises:
            BusyError: buffers are live; nothing has changed.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    @property
    def backend_name(self) -> str:
        """The backend of the device, such as "cpu" or "cuda"."""
        function = _native.functions().ferrum_fallback_manager_get_backend_name
        return _native.read_text(lambda *buffer: function(self._handle, *buffer))

    def stats(self) -> MemoryStats:
        """The counters. They count buffers on the device; active_buffers counts both sides."""
        return stats_of(self._handle, _native.functions().ferrum_fallback_manager_get_stats)

    def _memory(self) -> tuple[int, int]:
        total, free = ctypes.c_uint64(), ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_fallback_manager_get_memory(
                self._handle, ctypes.byref(total), ctypes.byref(free)
            )
        )
        return total.value, free.value

    def total_memory(self) -> int:
        """The capacity of the device; 0 means unknown."""
        return self._memory()[0]

    def free_memory(self) -> int:
        """Bytes that the device can still provide, to any user."""
        return self._memory()[1]

    def on_pressure(self, callback: Callable[[PressureLevel], object]) -> Registration:
        """Registers callback(level) for changes of the device's level.

        The callback runs on a thread of the library. Closing the returned registration
        removes it.
        """
        registration, forget = _callbacks.add_pressure(
            self._handle,
            callable_of("callback", callback),
            _native.functions().ferrum_fallback_manager_pressure_callback_add,
        )
        return Registration(self._device, "pressure callback", registration, forget)

    def tracker(self) -> TrackerView:
        """The tracker of the buffers of both sides.

        Raises:
            InvalidStateError: the manager does not track.
        """
        return tracker_of(self, _native.functions().ferrum_fallback_manager_get_tracker)

    def alloc(
        self,
        num_elements: int,
        dtype: DType = DType.F32,
        *,
        place: BufferPlace = BufferPlace.EITHER,
        movable: bool = False,
        stream: Stream | None = None,
        tag: str | None = None,
    ) -> FallbackBuffer:
        """Creates a buffer with undefined contents.

        Args:
            num_elements: not 0.
            dtype: type of the elements.
            place: CPU creates it on the host; that does not count as a fallback.
            movable: a fallback buffer may later be moved to the device automatically.
            stream: the stream of the device that uses it first.
            tag: for the tracker.

        Raises:
            OutOfMemoryError: no permitted side has enough memory.
        """
        raw = _request(num_elements, dtype, tag)
        raw.place = choice("place", place, BufferPlace)
        raw.flags = _abi.FERRUM_BUFFER_MOVABLE if movable else 0
        raw.stream = optional_handle(stream)
        handle = _abi.ferrum_fallback_buffer()
        _native.check(
            _native.functions().ferrum_fallback_manager_alloc(
                self._handle, ctypes.byref(raw), ctypes.byref(handle)
            )
        )
        return FallbackBuffer(self, handle)

    def cpu(self, data: Any, dtype: DType = DType.U8, *, tag: str | None = None) -> FallbackBuffer:
        """Creates a buffer on the host with a copy of data.

        Args:
            data: bytes, or an object with a contiguous buffer of whole elements.
            dtype: type of its elements.
            tag: for the tracker.
        """
        with buffer_of("data", data) as view:
            width = _WIDTHS[dtype_of(dtype)]
            if view.nbytes % width:
                raise ValueError(
                    f"data has {view.nbytes} bytes, which is not a multiple of the {width} bytes "
                    "of an element"
                )
            buffer = self.alloc(view.nbytes // width, dtype, place=BufferPlace.CPU, tag=tag)
        try:
            buffer.write(data)
        except BaseException as error:
            end_beside(error, buffer._owned.label, buffer.close)
            raise
        return buffer

    def adopt(
        self,
        location: BufferLocation,
        address: int,
        num_elements: int,
        dtype: DType = DType.F32,
        *,
        tag: str | None = None,
    ) -> FallbackBuffer:
        """A buffer over storage from FallbackBuffer.take() of this manager."""
        raw = _request(num_elements, dtype, tag)
        handle = _abi.ferrum_fallback_buffer()
        _native.check(
            _native.functions().ferrum_fallback_manager_adopt(
                self._handle,
                choice("location", location, BufferLocation),
                u64("address", address),
                ctypes.byref(raw),
                ctypes.byref(handle),
            )
        )
        return FallbackBuffer(self, handle)


_WIDTHS = {
    DType.F32: 4, DType.F16: 2, DType.BF16: 2, DType.F64: 8, DType.F8: 1,
    DType.I8: 1, DType.U8: 1, DType.I16: 2, DType.I32: 4, DType.I64: 8,
}  # fmt: skip


def _request(num_elements: int, dtype: DType, tag: str | None) -> _abi.ferrum_buffer_request:
    raw = _abi.ferrum_buffer_request.init()
    raw.num_elements = u64("num_elements", num_elements)
    raw.dtype = dtype_of(dtype)
    raw.tag = _native.encode("tag", tag)
    return raw


class _LiveBuffer(Owned):
    """A buffer of a fallback manager that is not freed yet."""

    def __init__(self, manager: FallbackManager, handle: _abi.ferrum_fallback_buffer) -> None:
        self._handle = handle
        self._stream = optional_handle(None)
        super().__init__(f"FallbackBuffer on {manager.device.id}", self._free, manager._owned)

    def close_on(self, stream: Stream | None) -> None:
        """Frees it after the work that is queued on a stream."""
        self._stream = optional_handle(stream)
        try:
            self.close()
        finally:
            self._stream = optional_handle(None)

    def _free(self, flags: int) -> int:
        """Frees it; with force also a pinned one."""
        library, stream = _native.functions(), self._stream
        status: int = library.ferrum_fallback_buffer_free(self._handle, stream)
        if flags & _abi.FERRUM_FORCE:
            while (
                status == _abi.FERRUM_ERROR_BUSY
                and library.ferrum_fallback_buffer_unpin(self._handle) == _abi.FERRUM_OK
            ):
                status = library.ferrum_fallback_buffer_free(self._handle, stream)
        return status


class FallbackBuffer(FallbackBufferCalls):
    """A buffer on the device or on the host. FallbackManager.alloc() creates it. Safe for use
    by several threads.
    """

    _owned: _LiveBuffer

    def __init__(self, manager: FallbackManager, handle: _abi.ferrum_fallback_buffer) -> None:
        self._manager = manager
        self._own(_LiveBuffer(manager, handle), handle)
        raw = self._info()
        self._id, self._dtype = BufferId(raw.buffer_id), DType(raw.dtype)
        self._len, self._size_bytes = raw.num_elements, raw.size_bytes

    def free(self, stream: Stream | None = None) -> None:
        """Frees the buffer after the work that is queued now on a stream. Does nothing if it was
        freed. The manager may then move buffers back to the device, which waits for the
        default stream of the device.

        Args:
            stream: the stream that used it; None: the default stream.

        Raises:
            BusyError: it is pinned; nothing has changed.
        """
        self._owned.close_on(stream)

    def _info(self) -> _abi.ferrum_fallback_buffer_info:
        raw = _abi.ferrum_fallback_buffer_info.init()
        _native.check(
            _native.functions().ferrum_fallback_buffer_get_info(self._handle, ctypes.byref(raw))
        )
        return raw

    @property
    def manager(self) -> FallbackManager:
        """The manager of the buffer."""
        return self._manager

    @property
    def id(self) -> BufferId:
        """The id. A move does not change it."""
        return self._id

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @property
    def size_bytes(self) -> int:
        """Size of all elements in bytes."""
        return self._size_bytes

    def __len__(self) -> int:
        return self._len

    @property
    def location(self) -> BufferLocation:
        """The side where the buffer is now."""
        return BufferLocation(self._info().location)

    @property
    def is_gpu(self) -> bool:
        """Whether it is on the device."""
        return self.location is BufferLocation.GPU

    @property
    def is_cpu_fallback(self) -> bool:
        """Whether it is on the host."""
        return self.location is BufferLocation.CPU

    @property
    def pins(self) -> int:
        """How many pins it has."""
        pins: int = self._info().pins
        return pins

    def _move(self, location: BufferLocation) -> None:
        _native.check(_native.functions().ferrum_fallback_buffer_move(self._handle, int(location)))

    def to_cpu(self) -> None:
        """Moves the buffer to the host, where it stays. A failed move changes nothing.

        Raises:
            BusyError: it is pinned.
        """
        self._move(BufferLocation.CPU)

    def to_gpu(self) -> None:
        """Moves the buffer to the device. A failed move changes nothing.

        Raises:
            OutOfMemoryError: the device has not enough memory.
            BusyError: it is pinned.
        """
        self._move(BufferLocation.GPU)

    async def to_cpu_async(self) -> None:
        """The same as to_cpu(), without blocking the event loop."""
        await _async.in_thread(self.to_cpu)

    async def to_gpu_async(self) -> None:
        """The same as to_gpu(), without blocking the event loop."""
        await _async.in_thread(self.to_gpu)

    def pin(self) -> int:
        """Pins the buffer and returns its address. The buffer does not move until unpin() has
        been called as often as pin().
        """
        out = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_fallback_buffer_pin(self._handle, ctypes.byref(out), None)
        )
        return out.value

    @contextmanager
    def pinned(self) -> Iterator[int]:
        """A context with the address. The buffer is pinned inside it."""
        with ending(self.pin(), f"a pin of the {self._owned.label}", self.unpin) as address:
            yield address

    def write(self, data: Any, offset_bytes: int = 0) -> None:
        """Copies bytes into the buffer, on either side.

        Args:
            data: bytes, or an object with a contiguous buffer.
            offset_bytes: start in the buffer.
        """
        offset = u64("offset_bytes", offset_bytes)
        with buffer_of("data", data) as view:
            source = address_of(view)
            _native.check(
                _native.functions().ferrum_fallback_buffer_write(
                    self._handle, offset, source, view.nbytes
                )
            )

    def read(self, size_bytes: int | None = None, offset_bytes: int = 0) -> bytes:
        """Copies bytes out of the buffer. size_bytes None: all from the offset on."""
        offset = u64("offset_bytes", offset_bytes)
        room = max(self._size_bytes - offset, 0)
        size = room if size_bytes is None else u64("size_bytes", size_bytes)
        if size > self._size_bytes:
            # Checked before the target is allocated.
            raise InvalidOffsetError(
                _abi.FERRUM_ERROR_INVALID_OFFSET,
                f"size_bytes {size} at offset_bytes {offset} ends outside of {self._id}",
            )
        target = bytearray(size)
        with memoryview(target) as view:
            _native.check(
                _native.functions().ferrum_fallback_buffer_read(
                    self._handle, offset, address_of(view), view.nbytes
                )
            )
        return bytes(target)

    def take(self, location: BufferLocation) -> int:
        """Ends the buffer and returns the address of its storage. The caller then owns the
        storage; FallbackManager.release() frees it.

        Raises:
            InvalidStateError: the buffer is on the other side.
            BusyError: it is pinned.
        """
        out = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_fallback_buffer_take(
                self._handle, choice("location", location, BufferLocation), ctypes.byref(out)
            )
        )
        self._owned.finish()
        return out.value
