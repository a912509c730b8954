"""Memory and events of other processes, and handles of the vendor's runtime."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _abi, _native
from ._arguments import handle_of, listed, object_of
from ._owned import Resource
from ._values import i32, u64
from .devices import Device, device_for
from .memory import Memory
from .streams import Event, Stream

_HANDLE_BYTES = 64


@dataclass(frozen=True)
class SharedMemory:
    """A range of device memory of one process, for other processes to open.

    Attributes:
        handle: 64 bytes that name the memory in other processes.
        offset_bytes: start of the range in that memory.
        size_bytes: size of the range.
    """

    handle: bytes
    offset_bytes: int
    size_bytes: int


def _handle_of(handle: bytes) -> Any:
    object_of("handle", handle, bytes, bytearray)
    if len(handle) != _HANDLE_BYTES:
        raise ValueError(f"handle has {len(handle)} bytes, but must have {_HANDLE_BYTES}")
    return (ctypes.c_uint8 * _HANDLE_BYTES)(*handle)


def share_memory(device: Device, address: int, size_bytes: int) -> SharedMemory:
    """Describes a range of plain device memory for other processes. They open it with
    Manager.import_memory(). The memory stays allocated while they have it open.

    Raises:
        InvalidAddressError: the range is not in one segment. Memory of paged pools is not.
        UnsupportedError: the device lacks Capability.SHARED_MEMORY.
    """
    raw = _abi.ferrum_shared_memory.init()
    _native.check(
        _native.functions().ferrum_device_share_memory(
            handle_of("device", device, Device),
            u64("address", address),
            u64("size_bytes", size_bytes),
            ctypes.byref(raw),
        )
    )
    return SharedMemory(bytes(raw.handle), raw.offset_bytes, raw.size_bytes)


class SharedEvent(Event):
    """A point in a stream's queue that other processes can wait for. They open it by its
    handle.

    Raises:
        UnsupportedError: the device lacks Capability.SHARED_MEMORY.
    """

    def __init__(self, stream: Stream) -> None:
        raw, event = _abi.ferrum_shared_event.init(), _abi.ferrum_event()
        _native.check(
            _native.functions().ferrum_event_share(
                handle_of("stream", stream, Stream), ctypes.byref(raw), ctypes.byref(event)
            )
        )
        self.handle = bytes(raw.handle)
        self._keep(stream.device, event)


class OpenedEvent(Event):
    """An event of another process, opened by the handle of its SharedEvent.

    Args:
        device: the device, or its id. With an id the event opens and closes the device.
        handle: of the SharedEvent.

    Raises:
        InvalidArgumentError: the event was destroyed, or the handle names none.
        InvalidStateError: it is an event of this process.
    """

    def __init__(self, device: Device | str, handle: bytes) -> None:
        raw, event = _abi.ferrum_shared_event.init(), _abi.ferrum_event()
        raw.handle = _handle_of(handle)
        with device_for(device) as (device, at_end):
            _native.check(
                _native.functions().ferrum_event_open(
                    device._handle, ctypes.byref(raw), ctypes.byref(event)
                )
            )
            self._keep(device, event, at_end)


class AdoptedEvent(Event):
    """An external event, usable in every call that takes an event. It completes with the point
    that its owner recorded last. close() does not destroy the external event.

    Args:
        device: the device that waits for it, or its id. With an id the event opens and
            closes the device.
        native_handle: its handle in the vendor's runtime, such as a CUevent.

    Raises:
        UnsupportedError: the device has no such handles.
    """

    def __init__(self, device: Device | str, native_handle: int) -> None:
        event, native = _abi.ferrum_event(), u64("native_handle", native_handle)
        with device_for(device) as (device, at_end):
            _native.check(
                _native.functions().ferrum_event_adopt(device._handle, native, ctypes.byref(event))
            )
            self._keep(device, event, at_end)


def _import_pages(manager: Any, raw: Any, count: int, page_bytes: int, tag: str | None) -> Memory:
    raw.page_bytes = u64("page_bytes", page_bytes)
    raw.tag = _native.encode("tag", tag)
    handle = _abi.ferrum_memory()
    _native.check(
        _native.functions().ferrum_manager_import_pages(
            manager._handle, ctypes.byref(raw), ctypes.byref(handle)
        )
    )
    return Memory(manager, handle, count * page_bytes)


class ImportingManager(Resource):
    """Importing memory of other processes into a manager."""

    def import_pages(
        self: Any, descriptors: Sequence[int], page_bytes: int, *, tag: str | None = None
    ) -> Memory:
        """Creates a block of pages that a process exported with VirtualPool.export(), in
        order. The caller keeps the descriptors.

        Args:
            descriptors: one for each page.
            page_bytes: the page size of the exporting pool.
            tag: name for the counters.

        Raises:
            InvalidArgumentError: no pages, or a descriptor that is closed, of another kind,
                or of another device's memory.
            InvalidPageSizeError: the pages have another size.
        """
        files = [i32("descriptors", file) for file in listed("descriptors", descriptors, "numbers")]
        raw = _abi.ferrum_page_import.init()
        raw.descriptors = (ctypes.c_int32 * len(files))(*files)
        raw.count = len(files)
        return _import_pages(self, raw, len(files), page_bytes, tag)

    def import_fabric_pages(
        self: Any, handles: bytes, page_bytes: int, *, tag: str | None = None
    ) -> Memory:
        """Creates a block of pages that a process of this host, or of another host, exported
        with VirtualPool.export_fabric(), in order.

        Args:
            handles: the result of export_fabric(), or whole handles of it.
            page_bytes: the page size of the exporting pool.
            tag: name for the counters.

        Raises:
            InvalidArgumentError: no handles, a part of a handle, or a handle that names no
                memory.
            InvalidPageSizeError: the pages have another size.
            UnsupportedError: the device lacks Capability.FABRIC_PAGES.
        """
        given = bytes(object_of("handles", handles, bytes, bytearray, memoryview))
        raw = _abi.ferrum_page_import.init()
        raw.fabric_handles = (ctypes.c_uint8 * len(given)).from_buffer_copy(given)
        raw.fabric_handle_bytes = len(given)
        count = len(given) // _abi.FERRUM_FABRIC_HANDLE_BYTES
        return _import_pages(self, raw, count, page_bytes, tag)

    def import_memory(self: Any, shared: SharedMemory, *, tag: str | None = None) -> Memory:
        """Creates a block of memory that another process shared.

        Raises:
            InvalidArgumentError: the memory was freed, or the handle names none.
            InvalidStateError: it is memory of this process.
            InvalidSizeError: the range ends outside the memory.
            AlreadyExistsError: the range is open.
        """
        raw = _abi.ferrum_shared_memory.init()
        raw.handle = _handle_of(object_of("shared", shared, SharedMemory).handle)
        raw.offset_bytes = u64("offset_bytes", shared.offset_bytes)
        raw.size_bytes = u64("size_bytes", shared.size_bytes)
        handle = _abi.ferrum_memory()
        _native.check(
            _native.functions().ferrum_manager_import_memory(
                self._handle, ctypes.byref(raw), _native.encode("tag", tag), ctypes.byref(handle)
            )
        )
        return Memory(self, handle, shared.size_bytes)


def native_handle(of: Device | Stream | Event) -> int:
    """The object of the vendor's runtime behind a device (its context), a stream or an event,
    such as a CUcontext. It is valid until the argument is closed.

    Raises:
        UnsupportedError: the backend has none.
    """
    library, handle = _native.functions(), handle_of("of", of, Device, Stream, Event)
    ask = {
        _abi.ferrum_stream: library.ferrum_stream_get_native,
        _abi.ferrum_event: library.ferrum_event_get_native,
    }.get(type(handle), library.ferrum_device_get_native)
    native = ctypes.c_uint64()
    _native.check(ask(handle, ctypes.byref(native)))
    return native.value
