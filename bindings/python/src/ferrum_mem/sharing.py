"""Memory of two devices, and memory and streams that somebody else owns."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import _abi, _callbacks, _native
from ._enums import MemoryType
from ._owned import Owned
from ._values import u64
from .devices import Device
from .memory import Memory
from .processes import ImportingManager
from .streams import Stream


class SharingManager(ImportingManager):
    """What a manager can with memory that is not its own alone."""

    def create_mapping(
        self: Any,
        other: Any,
        size_bytes: int,
        *,
        alignment_bytes: int = 0,
        tag: str | None = None,
    ) -> tuple[Memory, Memory]:
        """Makes two blocks, of this manager and of one of another device, that are the
        same memory. It counts as this manager's and is free when both are closed.

        Args:
            other: the manager of the other device.
            size_bytes: not 0.
            alignment_bytes: of the first address, a power of two; 0: the pool's.
            tag: name for the books.

        Raises:
            InvalidArgumentError: both managers are of one device.
            UnsupportedError: the devices cannot address the same memory.
        """
        request = _abi.ferrum_link_request.init()
        request.size_bytes = u64("size_bytes", size_bytes)
        request.alignment_bytes = u64("alignment_bytes", alignment_bytes)
        request.tag = _native.encode("tag", tag)
        first, second = _abi.ferrum_memory(), _abi.ferrum_memory()
        _native.check(
            _native.library().ferrum_manager_create_mapping(
                self._handle,
                other._handle,
                ctypes.byref(request),
                ctypes.byref(first),
                ctypes.byref(second),
            )
        )
        return Memory(self, first, size_bytes), Memory(other, second, size_bytes)

    def adopt(
        self: Any,
        data: Any,
        *,
        memory_type: MemoryType = MemoryType.GENERAL,
        tag: str | None = None,
    ) -> Memory:
        """Makes a block of memory that a Python object has, without a copy. The object
        is kept alive until the block is closed, and its memory is never freed here.
        A device with Capability.REGISTERED_MEMORY takes memory of types PINNED and MAPPED,
        and page-locks it meanwhile.

        Args:
            data: anything with a writable contiguous buffer, such as a NumPy array.
            memory_type: what it is used for.
            tag: name for the books.
        """
        with memoryview(data) as view:
            if view.readonly:
                raise TypeError(f"data is a writable buffer, not {type(data).__name__}")
            size = view.nbytes
            held = [(ctypes.c_char * size).from_buffer(view.cast("B"))] if size else []
        address = ctypes.addressof(held[0]) if held else 0
        return _adopt(self, address, size, memory_type, tag, held.clear)

    def adopt_address(
        self: Any,
        address: int,
        size_bytes: int,
        *,
        memory_type: MemoryType = MemoryType.GENERAL,
        tag: str | None = None,
    ) -> Memory:
        """As adopt(), of memory at an address of the manager's device, which its owner
        keeps valid until the block is closed.

        Raises:
            InvalidAddressError: it cannot be read and written throughout.
            AlreadyExistsError: the device has that memory already.
        """
        return _adopt(self, address, size_bytes, memory_type, tag, None)


def _adopt(
    manager: Any,
    address: int,
    size_bytes: int,
    memory_type: MemoryType,
    tag: str | None,
    at_end: Callable[[], None] | None,
) -> Memory:
    adoption = _abi.ferrum_adoption.init()
    adoption.memory_type = int(memory_type)
    adoption.address = u64("address", address)
    adoption.size_bytes = u64("size_bytes", size_bytes)
    adoption.tag = _native.encode("tag", tag)
    handle = _abi.ferrum_memory()
    _native.check(
        _native.library().ferrum_manager_adopt(
            manager._handle, ctypes.byref(adoption), ctypes.byref(handle)
        )
    )
    return Memory(manager, handle, size_bytes, at_end=at_end)


class AdoptedStream(Stream):
    """A stream that somebody else made, as one that every call takes.

    close() runs dry what was queued by it and leaves the stream alone. What its owner
    has queued there is waited for as well, but is_ready() does not know of it.

    Args:
        device: whose stream it is.
        enqueue: for a host device: called with a function that it has called once, on
            any thread, after what was queued before and before what is queued later. It
            must not call this package.
        native_handle: for other devices: the handle in the vendor's runtime.
    """

    def __init__(
        self,
        device: Device,
        enqueue: Callable[[Callable[[], None]], object] | None = None,
        *,
        native_handle: int = 0,
    ) -> None:
        foreign = _abi.ferrum_foreign_stream.init()
        foreign.native_handle = u64("native_handle", native_handle)
        handle = _abi.ferrum_stream()
        forget = _callbacks.adopt_stream(device._handle, foreign, enqueue, handle)
        end = _native.library().ferrum_stream_destroy
        self._device = device
        self._own(
            Owned(
                f"adopted stream on {device.id}",
                lambda flags: end(handle, flags),
                device._node,
                at_end=forget,
            ),
            handle,
        )
