"""Memory and events of other processes, access for other devices, and the handles of the
vendor's runtime."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _abi, _native
from ._owned import Resource
from ._values import i32, u64
from .devices import Device, device_for
from .memory import Memory
from .streams import Event

if TYPE_CHECKING:
    from .streams import Stream

_HANDLE_BYTES = 64


@dataclass(frozen=True)
class SharedMemory:
    """A range of one process's device memory, as another opens it.

    Attributes:
        handle: 64 bytes that mean the memory in other processes.
        offset_bytes: where the range begins in it.
        size_bytes: its size.
    """

    handle: bytes
    offset_bytes: int
    size_bytes: int


def _handle_of(handle: bytes) -> Any:
    if len(handle) != _HANDLE_BYTES:
        raise ValueError(f"handle has {len(handle)} bytes, not {_HANDLE_BYTES}")
    return (ctypes.c_uint8 * _HANDLE_BYTES)(*handle)


def share_memory(device: Device, address: int, size_bytes: int) -> SharedMemory:
    """Describes a range of plain device memory for other processes, which open it with
    Manager.import_memory(). It stays allocated while they have it.

    Raises:
        InvalidAddressError: it lies in no one segment, such as memory of pools over pages.
        UnsupportedError: a device without Capability.SHARED_MEMORY.
    """
    raw = _abi.ferrum_shared_memory.init()
    _native.check(
        _native.functions().ferrum_device_share_memory(
            device._handle,
            u64("address", address),
            u64("size_bytes", size_bytes),
            ctypes.byref(raw),
        )
    )
    return SharedMemory(bytes(raw.handle), raw.offset_bytes, raw.size_bytes)


class SharedEvent(Event):
    """A point in a stream's queue for other processes as well: they open it by handle.

    Raises:
        UnsupportedError: a device without Capability.SHARED_MEMORY.
    """

    def __init__(self, stream: Stream) -> None:
        raw, event = _abi.ferrum_shared_event.init(), _abi.ferrum_event()
        _native.check(
            _native.functions().ferrum_event_share(
                stream._handle, ctypes.byref(raw), ctypes.byref(event)
            )
        )
        self.handle = bytes(raw.handle)
        self._keep(stream.device, event)


class OpenedEvent(Event):
    """An event that another process has shared, by the handle of its SharedEvent.

    Args:
        device: the device, or its id: then the event opens and closes it.
        handle: of the SharedEvent.

    Raises:
        InvalidArgumentError: it is gone, or the handle names none.
        InvalidStateError: it is one of this process.
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
    """An event that somebody else made, as one that every call takes: it stands for what
    its owner recorded last. close() leaves it alone.

    Args:
        device: the device that waits for it, or its id: then the event opens and closes
            it.
        native_handle: in the runtime of the device's vendor, such as a CUevent.

    Raises:
        UnsupportedError: a device without such handles.
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
    """What a manager can with memory of other processes."""

    def import_pages(
        self: Any, descriptors: Sequence[int], page_bytes: int, *, tag: str | None = None
    ) -> Memory:
        """Makes a block of pages that a process exported with VirtualPool.export(), one
        after the other. The descriptors stay the caller's.

        Args:
            descriptors: one for each page.
            page_bytes: the page size of the pool that they come from.
            tag: name for the books.

        Raises:
            InvalidArgumentError: no pages, or a descriptor that is closed, of something
                else, or of another device's memory.
            InvalidPageSizeError: the pages have another size.
        """
        files = [i32("descriptors", file) for file in descriptors]
        raw = _abi.ferrum_page_import.init()
        raw.descriptors = (ctypes.c_int32 * len(files))(*files)
        raw.count = len(files)
        return _import_pages(self, raw, len(files), page_bytes, tag)

    def import_fabric_pages(
        self: Any, handles: bytes, page_bytes: int, *, tag: str | None = None
    ) -> Memory:
        """Makes a block of pages that a process of this host, or of another one, exported
        with VirtualPool.export_fabric(), one after the other.

        Args:
            handles: what export_fabric() gave, or whole handles of it.
            page_bytes: the page size of the pool that they come from.
            tag: name for the books.

        Raises:
            InvalidArgumentError: no handles, a part of one, or one that names no memory.
            InvalidPageSizeError: the pages have another size.
            UnsupportedError: a device without Capability.FABRIC_PAGES.
        """
        given = bytes(memoryview(handles))
        raw = _abi.ferrum_page_import.init()
        raw.fabric_handles = (ctypes.c_uint8 * len(given)).from_buffer_copy(given)
        raw.fabric_handle_bytes = len(given)
        count = len(given) // _abi.FERRUM_FABRIC_HANDLE_BYTES
        return _import_pages(self, raw, count, page_bytes, tag)

    def import_memory(self: Any, shared: SharedMemory, *, tag: str | None = None) -> Memory:
        """Makes a block of memory that another process shared.

        Raises:
            InvalidArgumentError: it is gone, or the handle names none.
            InvalidStateError: it is memory of this process.
            InvalidSizeError: the range reaches beyond the memory.
            AlreadyExistsError: the range is open.
        """
        raw = _abi.ferrum_shared_memory.init()
        raw.handle = _handle_of(shared.handle)
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
    """The object of the vendor's runtime that a device (its context), a stream or an event
    stands for, such as a CUcontext. It is gone when what it was asked of is closed.

    Raises:
        UnsupportedError: the backend has none.
    """
    library = _native.functions()
    ask = {
        _abi.ferrum_stream: library.ferrum_stream_get_native,
        _abi.ferrum_event: library.ferrum_event_get_native,
    }.get(type(of._handle), library.ferrum_device_get_native)
    native = ctypes.c_uint64()
    _native.check(ask(of._handle, ctypes.byref(native)))
    return native.value
