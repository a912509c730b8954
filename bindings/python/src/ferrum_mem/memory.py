"""Blocks of a manager: copies, fills, and their bytes."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _abi, _async, _native
from ._arguments import buffer_of, handle_of
from ._async import Queued
from ._dlpack import DeviceArray
from ._owned import Owned, end_beside, ending
from ._records import BlockInfo
from ._values import size_text, u32, u64
from .errors import InvalidOffsetError
from .mappings import AdvancedBlock, end_block
from .streams import Stream, named_handle, optional_handle

if TYPE_CHECKING:
    from .devices import Device
    from .managers import Manager


class Memory(AdvancedBlock, DeviceArray):
    """A block of a manager. Manager.alloc() creates it.

    Attributes:
        size_bytes: the requested size.
        relocatable: Manager.defragment() may move it while it is not in use. A view and
            pin() keep it at its address.
    """

    def __init__(
        self,
        manager: Manager,
        handle: _abi.ferrum_memory,
        size_bytes: int,
        *,
        relocatable: bool = False,
        at_end: Callable[[], None] | None = None,
        read_only: bool = False,
    ) -> None:
        self.size_bytes = size_bytes
        self._read_only = read_only
        self.relocatable = relocatable
        self._manager = manager
        label = f"Memory of {size_text(size_bytes)} on {manager.device.id}"
        self._own(
            Owned(label, lambda flags: end_block(handle, flags), manager._owned, at_end), handle
        )

    @property
    def manager(self) -> Manager:
        """The manager of the block."""
        return self._manager

    @property
    def address(self) -> int:
        """The address of the block on the device. The address of a relocatable block without a
        pin is valid until the next defragment() of its manager.
        """
        return self.info().address

    @property
    def call_site(self) -> tuple[str, ...]:
        """Where the block was allocated, the innermost function first: lines of Python,
        such as "engine.py:12 (load)", then native functions. Empty unless FERRUM_DEBUG
        of the environment has call_sites."""
        return self._manager.device.call_site_of(self.address)

    @contextlib.contextmanager
    def pinned(self) -> Iterator[int]:
        """A context with the block's address. The block is pinned inside it."""
        with ending(self.pin(), f"a pin of the {self._owned.label}", self.unpin) as address:
            yield address

    def _array(self) -> Any:
        # A view pins a relocatable block.
        if not self.relocatable:
            return super()._array()
        self.pin()
        try:
            array = super()._array()
        except BaseException as error:
            end_beside(error, f"a pin of the {self._owned.label}", self.unpin)
            raise
        # This finalizer runs before the one that counts the view, so that close() succeeds
        # after the view has ended.
        unpin = _native.functions().ferrum_memory_unpin
        weakref.finalize(array, unpin, self._handle).atexit = False
        return array

    def free(self) -> None:
        """Frees the block. Does nothing if it was freed. Copies in flight run to their end: the
        block knows the streams that use it, so there is no stream to name.

        Raises:
            ViewExistsError: the block has a view; nothing has changed.
            BusyError: the block is pinned or mapped, or is external memory with queued
                work; nothing has changed.
        """
        self._owned.close()

    def close(self) -> None:
        """The same as free()."""
        self._owned.close()

    def info(self) -> BlockInfo:
        """Describes the block."""
        raw = _abi.ferrum_handle_info.init()
        _native.check(
            _native.functions().ferrum_memory_get_handle_info(self._handle, ctypes.byref(raw))
        )
        return BlockInfo.from_abi(raw)

    def write(self, data: Any, offset_bytes: int = 0) -> None:
        """Copies bytes into the block and returns when the copy is done.

        Args:
            data: bytes, or an object with a contiguous buffer, such as a NumPy array.
            offset_bytes: start in the block.
        """
        offset = u64("offset_bytes", offset_bytes)
        with buffer_of("data", data) as view:
            size = view.nbytes
            source = address_of(view)
            _native.check(
                _native.functions().ferrum_memory_write(self._handle, offset, source, size)
            )

    def read(self, size_bytes: int | None = None, offset_bytes: int = 0) -> bytes:
        """Copies bytes out of the block, after the work that is queued on it.

        Args:
            size_bytes: number of bytes; None: all from the offset on.
            offset_bytes: start in the block.
        """
        offset = u64("offset_bytes", offset_bytes)
        size = (
            max(self.size_bytes - offset, 0)
            if size_bytes is None
            else u64("size_bytes", size_bytes)
        )
        if size > self.size_bytes:
            # Checked before the target is allocated.
            raise InvalidOffsetError(
                _abi.FERRUM_ERROR_INVALID_OFFSET,
                f"size_bytes {size} at offset_bytes {offset} ends outside of the "
                f"{self._owned.label}",
            )
        target = bytearray(size)
        self.read_into(target, offset)
        return bytes(target)

    def read_into(self, target: Any, offset_bytes: int = 0) -> None:
        """Copies bytes out of the block until the target is full.

        Args:
            target: an object with a writable contiguous buffer.
            offset_bytes: start in the block.
        """
        offset = u64("offset_bytes", offset_bytes)
        with buffer_of("target", target, is_written=True) as view:
            destination = address_of(view)
            _native.check(
                _native.functions().ferrum_memory_read(
                    self._handle, offset, destination, view.nbytes
                )
            )

    def copy_from(
        self,
        source: Memory,
        size_bytes: int | None = None,
        *,
        source_offset_bytes: int = 0,
        offset_bytes: int = 0,
    ) -> None:
        """Copies from another block, or within this one, and returns when the copy is done.

        Args:
            source: of the same device or of another.
            size_bytes: number of bytes; None: the source from its offset on.
            source_offset_bytes: start in the source.
            offset_bytes: start in this block.
        """
        transfer = self._transfer(source, size_bytes, source_offset_bytes, offset_bytes)
        _native.check(_native.functions().ferrum_memory_copy(ctypes.byref(transfer)))

    def copy_from_async(
        self,
        source: Memory,
        size_bytes: int | None = None,
        *,
        source_offset_bytes: int = 0,
        offset_bytes: int = 0,
        stream: Stream | None = None,
    ) -> Queued:
        """Queues a copy on a stream of this block's device; None: its default stream.

        Both blocks keep their memory until the copy is done. If max_concurrent_transfers
        copies of the manager are in flight, this call waits for a transfer slot;
        Manager.copy_async() does not block.

        Returns:
            An awaitable that waits for the copy. It need not be awaited.
        """
        transfer = self._transfer(source, size_bytes, source_offset_bytes, offset_bytes)
        _native.check(
            _native.functions().ferrum_memory_copy_async(
                ctypes.byref(transfer), optional_handle(stream)
            )
        )
        return self._queued(stream)

    def _transfer(
        self, source: Memory, size_bytes: int | None, source_offset_bytes: int, offset_bytes: int
    ) -> _abi.ferrum_transfer:
        transfer = _abi.ferrum_transfer.init()
        transfer.src = handle_of("source", source, Memory)
        transfer.dst = self._handle
        transfer.src_offset_bytes = u64("source_offset_bytes", source_offset_bytes)
        transfer.dst_offset_bytes = u64("offset_bytes", offset_bytes)
        if size_bytes is None:
            size_bytes = max(source.size_bytes - transfer.src_offset_bytes, 0)
        transfer.size_bytes = u64("size_bytes", size_bytes)
        return transfer

    def fill_async(
        self,
        pattern: int = 0,
        size_bytes: int | None = None,
        *,
        pattern_bytes: int = 1,
        offset_bytes: int = 0,
        stream: Stream | None = None,
    ) -> Queued:
        """Queues a fill on a stream of this block's device; None: its default stream.

        Args:
            pattern: the value that is repeated.
            size_bytes: a multiple of pattern_bytes; None: all from the offset on.
            pattern_bytes: 1, 2 or 4.
            offset_bytes: a multiple of pattern_bytes.
            stream: the stream.

        Returns:
            An awaitable that waits for the fill. It need not be awaited.
        """
        fill = _abi.ferrum_fill.init()
        fill.memory = self._handle
        fill.pattern_bytes = u32("pattern_bytes", pattern_bytes)
        fill.pattern = u32("pattern", pattern)
        fill.offset_bytes = u64("offset_bytes", offset_bytes)
        if size_bytes is None:
            size_bytes = max(self.size_bytes - fill.offset_bytes, 0)
        fill.size_bytes = u64("size_bytes", size_bytes)
        _native.check(
            _native.functions().ferrum_memory_fill_async(
                ctypes.byref(fill), optional_handle(stream)
            )
        )
        return self._queued(stream)

    def _queued(self, stream: Stream | None) -> Queued:
        device = self._manager.device
        return Queued(lambda: named_handle(stream, device))

    def is_in_use(self) -> bool:
        """Whether asynchronous work on the block is in flight."""
        return self.info().operations_in_flight > 0

    async def write_async(self, data: Any, offset_bytes: int = 0) -> None:
        """The same as write(). The data are kept alive, and must not change, until the copy is
        done, also when the task is cancelled.
        """
        await _async.in_thread(lambda: self.write(data, offset_bytes))

    async def read_async(self, size_bytes: int | None = None, offset_bytes: int = 0) -> bytes:
        """The same as read()."""
        return await _async.in_thread(lambda: self.read(size_bytes, offset_bytes))

    async def read_into_async(self, target: Any, offset_bytes: int = 0) -> None:
        """The same as read_into(). The target is kept alive, and may be written, until the
        copy is done, also when the task is cancelled.
        """
        await _async.in_thread(lambda: self.read_into(target, offset_bytes))

    async def prefetch_async(self, target: Device, stream: Stream | None = None) -> None:
        """The same as prefetch(). Returns when the prefetch is done."""
        self.prefetch(target, stream)
        await self._queued(stream)

    def __len__(self) -> int:
        return self.size_bytes

    def _array_range(self) -> tuple[int, int, Device]:
        return self.address, self.size_bytes, self._manager.device

    def _held_range(self) -> tuple[int, int, Callable[[], None]]:
        return self.pin(), self.size_bytes, self.unpin

    def _host_range(self) -> tuple[int | None, int]:
        return self.info().host_pointer, self.size_bytes


def address_of(view: memoryview) -> Any:
    """A pointer argument to the bytes of a contiguous view. The argument keeps the view alive.

    ctypes can point into a writable buffer of any format. Of read-only buffers it accepts
    only bytes, so other read-only buffers are copied.
    """
    if not view.nbytes:
        # Not NULL: the library checks a call with 0 bytes.
        return ctypes.byref(ctypes.c_char())
    if not view.readonly:
        return ctypes.byref(ctypes.c_char.from_buffer(view))
    whole = view.obj
    if isinstance(whole, bytes) and len(whole) == view.nbytes:
        return whole
    return view.tobytes()
