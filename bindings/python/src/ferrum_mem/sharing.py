"""Memory of two devices, and memory and streams that somebody else owns."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import _abi, _callbacks, _native
from ._enums import MemoryType
from ._owned import Owned
from ._values import u64
from .devices import Device, device_for
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
            _native.functions().ferrum_manager_create_mapping(
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
        read_only: bool = False,
    ) -> Memory:
        """Makes a block of memory that a Python object has, without a copy. The object
        is kept alive until the block is closed, and its memory is never freed here.
        A device with Capability.REGISTERED_MEMORY takes memory of types PINNED and MAPPED,
        and page-locks it meanwhile.

        A buffer that can only be read, such as a file of weights under mmap with
        ACCESS_READ, makes a block that is only read: what would write to it is a
        PermissionDeniedError, and its views are not writable.

        Args:
            data: anything with a contiguous buffer, such as a NumPy array.
            memory_type: what it is used for.
            tag: name for the books.
            read_only: the block is only read, although the buffer could be written.
        """
        held = _Held()
        _get_buffer(data, ctypes.byref(held), 0)

        def let_go() -> None:
            _release_buffer(ctypes.byref(held))

        try:
            adoption = _adoption(held.buf or 0, held.len, memory_type, tag)
            adoption.is_read_only = bool(held.readonly or read_only)
            return _adopt(self, adoption, let_go)
        except BaseException:
            let_go()
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
        """As adopt(), of memory at an address of the manager's device, which its owner
        keeps valid until the block is closed.

        Raises:
            InvalidAddressError: it cannot be read, and unless it is read_only written,
                throughout.
            AlreadyExistsError: the device has that memory already.
        """
        adoption = _adoption(address, size_bytes, memory_type, tag)
        adoption.is_read_only = bool(read_only)
        return _adopt(self, adoption, None)


class _Held(ctypes.Structure):
    """Python's Py_buffer: what an object was asked to keep where it is."""

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
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_Held), ctypes.c_int]
_get_buffer.restype = ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_Held)]
_release_buffer.restype = None


def _adoption(address: int, size_bytes: int, memory_type: MemoryType, tag: str | None) -> Any:
    adoption = _abi.ferrum_adoption.init()
    adoption.memory_type = int(memory_type)
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
    """A stream that somebody else made, as one that every call takes.

    close() runs dry what was queued by it and leaves the stream alone. What its owner
    has queued there is waited for as well, but is_ready() does not know of it.

    Args:
        device: whose stream it is, or the id of that device: then the stream opens and
            closes it.
        enqueue: for a host device: called with a function that it has called once, on
            any thread, after what was queued before and before what is queued later. It
            must not call this package.
        native_handle: for other devices: the handle in the vendor's runtime.
    """

    def __init__(
        self,
        device: Device | str,
        enqueue: Callable[[Callable[[], None]], object] | None = None,
        *,
        native_handle: int = 0,
    ) -> None:
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
