"""Memory of two devices, and external memory and streams."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _abi, _callbacks, _native
from ._arguments import callable_of, choice, handle_of
from ._calls import ManagerCalls
from ._enums import MemoryType
from ._held import HeldBuffer
from ._owned import Owned
from ._values import u64
from .devices import Device, device_for
from .memory import Memory
from .processes import ImportingManager
from .streams import Stream

if TYPE_CHECKING:
    from .managers import Manager


class SharingManager(ImportingManager):
    """Linked blocks and external memory of a manager."""

    def create_mapping(
        self: Any,
        other: Manager,
        size_bytes: int,
        *,
        alignment_bytes: int = 0,
        tag: str | None = None,
    ) -> tuple[Memory, Memory]:
        """Creates two blocks with the same memory, one of this manager and one of a manager of
        another device. The counters of this manager include it. It is freed when both are
        closed.

        Args:
            other: the manager of the other device.
            size_bytes: not 0.
            alignment_bytes: of the first address, a power of two; 0: the pool's alignment.
            tag: name for the counters.

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
            _native.functions().ferrum_manager_create_mapping(
                self._handle,
                handle_of("other", other, ManagerCalls),
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
        read_only: bool = False,
    ) -> Memory:
        """Creates a block over the memory of a Python object, without a copy. The object is
        kept alive until the block is closed. The block never frees the memory.

        A device with Capability.REGISTERED_MEMORY accepts the types PINNED and MAPPED, and
        page-locks the memory while the block exists.

        A read-only buffer, such as a file of weights under mmap with ACCESS_READ, gives a
        read-only block: a write to it raises PermissionDeniedError, and its views are not
        writable.

        Args:
            data: an object with a contiguous buffer, such as a NumPy array.
            memory_type: the use of the memory.
            tag: name for the counters.
            read_only: make the block read-only although the buffer is writable.
        """
        held = HeldBuffer("data", data)
        try:
            adoption = _adoption(held.address, held.size_bytes, memory_type, tag)
            adoption.is_read_only = bool(held.is_read_only or read_only)
            return _adopt(self, adoption, held.release)
        except BaseException:
            held.release()
            raise

    def adopt_address(
        self: Any,
        address: int,
        size_bytes: int,
        *,
        memory_type: MemoryType = MemoryType.GENERAL,
        tag: str | None = None,
        read_only: bool = False,
    ) -> Memory:
        """The same as adopt(), for memory at an address of the manager's device. Its owner
        must keep the memory valid until the block is closed.

        Raises:
            InvalidAddressError: a part of it cannot be read, or cannot be written and
                read_only is False.
            AlreadyExistsError: the device has that memory already.
        """
        adoption = _adoption(address, size_bytes, memory_type, tag)
        adoption.is_read_only = bool(read_only)
        return _adopt(self, adoption, None)


def _adoption(address: int, size_bytes: int, memory_type: MemoryType, tag: str | None) -> Any:
    adoption = _abi.ferrum_adoption.init()
    adoption.memory_type = choice("memory_type", memory_type, MemoryType)
    adoption.address = u64("address", address)
    adoption.size_bytes = u64("size_bytes", size_bytes)
    adoption.tag = _native.encode("tag", tag)
    return adoption


def _adopt(manager: Any, adoption: Any, at_end: Callable[[], None] | None) -> Memory:
    handle = _abi.ferrum_memory()
    _native.check(
        _native.functions().ferrum_manager_adopt(
            manager._handle, ctypes.byref(adoption), ctypes.byref(handle)
        )
    )
    return Memory(
        manager,
        handle,
        adoption.size_bytes,
        at_end=at_end,
        read_only=bool(adoption.is_read_only),
    )


class AdoptedStream(Stream):
    """An external stream, usable in every call that takes a stream.

    close() waits for the work that was queued through this object, and does not destroy the
    external stream. Waits include work that the stream's owner has queued, but is_ready()
    does not know of that work.

    Args:
        device: the device of the stream, or its id. With an id the stream opens and closes
            the device.
        enqueue: for a host device: called with a function. It must arrange that the
            function is called once, on any thread, after earlier work and before later
            work. It must not call this package.
        native_handle: for other devices: the handle in the vendor's runtime.
    """

    def __init__(
        self,
        device: Device | str,
        enqueue: Callable[[Callable[[], None]], object] | None = None,
        *,
        native_handle: int = 0,
    ) -> None:
        if enqueue is not None:
            callable_of("enqueue", enqueue)
        foreign = _abi.ferrum_foreign_stream.init()
        foreign.native_handle = u64("native_handle", native_handle)
        handle = _abi.ferrum_stream()
        with device_for(device) as (device, close_device):
            forget = _callbacks.adopt_stream(device._handle, foreign, enqueue, handle)
            end, label = _native.functions().ferrum_stream_destroy, f"adopted stream on {device.id}"

            def at_end() -> None:
                forget()
                if close_device is not None:
                    close_device()

            self._device = device
            self._own(Owned(label, lambda flags: end(handle, flags), device._node, at_end), handle)
