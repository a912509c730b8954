"""Single blocks of a pool. Pool creates them."""

from __future__ import annotations

import ctypes
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _abi, _native, _quick
from ._buffers import HostBuffer
from ._dlpack import DeviceArray
from ._owned import Node, Owned, in_background, views_lock
from ._quick import new_slip, put_slip_back, take_slip
from ._values import size_text, u64
from .errors import InvalidHandleError
from .streams import NO_STREAM, Stream, optional_handle

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from ._records import BlockOwner
    from .devices import Device
    from .pools import Pool


class StreamOwned(Owned):
    """The record of memory that belongs to the stream of its allocation. A free always waits
    for the work of that stream.
    """

    def __init__(self, label: str, parent: Node, stream: _abi.ferrum_stream) -> None:
        self._stream = stream
        # The stream that the caller passed to free(); None: no stream.
        self._named: _abi.ferrum_stream | None = None
        super().__init__(label, self._free, parent)

    def close_on(self, stream: Stream | None) -> None:
        """Frees it, also behind the work of another stream."""
        self._named = None if stream is None else optional_handle(stream)
        try:
            self.close()
        finally:
            self._named = None

    def _free(self, _flags: int) -> int:
        if self._named is not None:
            return self._free_on(self._named)
        status = self._free_on(self._stream)
        if self._stream.id != 0 and status in _STREAM_OF_NO_USE:
            # The stream captures, or was destroyed and so has no work. The library knows
            # which work the free must wait for.
            status = self._free_on(optional_handle(None))
        return status

    def _free_on(self, stream: _abi.ferrum_stream) -> int:
        raise NotImplementedError


_STREAM_OF_NO_USE = (_abi.FERRUM_ERROR_INVALID_HANDLE, _abi.FERRUM_ERROR_INVALID_STATE)


class LiveBlocks(Owned):
    """The live PoolBlocks of a pool. A block has no record of its own until it needs one, for
    example for a view: creating a record takes longer than an allocation.

    The blocks end with their pool, or when the pool is reset.

    Attributes:
        addresses: the addresses of the blocks.
        pool_handle: handle of the pool.
        pool_free: ferrum_pool_free, without conversions.
        pool_argument: the pool as an argument of pool_free.
        ends_waiting: the pool's list of objects that end with its last dependent.
    """

    def __init__(self, pool: LivePool, handle: _abi.ferrum_pool) -> None:
        library = _native.functions()
        self.addresses: set[int] = set()
        self.pool_free = library.without_conversions(library.ferrum_pool_free)
        self.pool_argument = _quick.argument(handle)
        self.pool_handle = handle
        self.ends_waiting = pool.waiting
        super().__init__(f"blocks of the {pool.label}", _end_nothing, pool)

    def is_in_use(self) -> bool:
        """Whether there are any."""
        return bool(self.addresses or self.below)

    def remove(self, owned: Owned) -> None:
        """Called when a record has ended."""
        super().remove(owned)
        self._parent.retry()

    def free(
        self, address: int, stream: _abi.ferrum_stream, named: _abi.ferrum_stream | None = None
    ) -> int:
        """Frees a block that has no record, and returns the status.

        Args:
            address: of the block.
            stream: the block's own.
            named: a further stream.
        """
        try:
            slip = take_slip()
        except IndexError:
            slip = new_slip()
        cells, number, _ = slip
        cells[0] = address
        # Before the call: another thread may allocate the address before the call returns.
        self.addresses.discard(address)
        function = self.pool_free
        if named is not None:
            status = function(self.pool_argument, number, named)
        elif stream is NO_STREAM:
            status = function(self.pool_argument, number, _quick.NO_STREAM)
        else:
            status = function(self.pool_argument, number, stream)
            if status in _STREAM_OF_NO_USE:
                # The stream captures, or was destroyed and so has no work. The library
                # knows which work the free must wait for.
                status = function(self.pool_argument, number, _quick.NO_STREAM)
        put_slip_back(slip)
        if status < 0 and status != _abi.FERRUM_ERROR_CORRUPTED:
            self.addresses.add(address)
        elif self.ends_waiting:
            self._parent.retry()
        return status

    def abandon_one(self, block: PoolBlock) -> None:
        """Called when a block without a record was collected: warns and frees it."""
        if self.ended or _native.is_forked():
            return
        address, stream = block.address, block._stream
        try:
            warnings.warn(f"unclosed ferrum_mem.{block._label()}", ResourceWarning, stacklevel=3)
        finally:
            if threading.get_ident() in _native.callback_threads:
                in_background(lambda: self._end_one(address, stream))
            else:
                self._end_one(address, stream)

    def _end_one(self, address: int, stream: _abi.ferrum_stream) -> None:
        self.free(address, stream)
        # Also after a failure: there is no caller to report it to.
        self.addresses.discard(address)

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks all of them as ended."""
        self.addresses.clear()
        super().finish(doomed)
        for owned in list(self.below):
            owned.finish()


def _end_nothing(_flags: int) -> int:
    """The destruction of LiveBlocks, which is never called."""
    return _abi.FERRUM_OK


class LivePool(Owned):
    """The record of a pool.

    Attributes:
        blocks: its live blocks.
    """

    def __init__(
        self,
        label: str,
        end: Callable[[int], int],
        parent: Node,
        handle: _abi.ferrum_pool,
        at_end: Callable[[], None] | None,
    ) -> None:
        super().__init__(label, end, parent, at_end)
        self._pool_handle = handle
        self.blocks = LiveBlocks(self, handle)

    def is_in_use(self) -> bool:
        """Whether it has live dependents."""
        return self.blocks.is_in_use() or any(owned is not self.blocks for owned in self.below)

    def reset(self) -> None:
        """Called when the pool was reset: no block is live."""
        self.blocks.finish()
        self.blocks = LiveBlocks(self, self._pool_handle)

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks this object, and what ended with it, as ended."""
        super().finish(doomed)
        self.blocks.finish()


class LiveBlock(StreamOwned):
    """The record of a pool block. It knows how to free the block."""

    def __init__(
        self, label: str, blocks: LiveBlocks, address: int, stream: _abi.ferrum_stream
    ) -> None:
        self.address = address
        self.blocks = blocks
        # The size that the caller passed to free() as a check; None: no check.
        self.size_bytes: int | None = None
        super().__init__(label, blocks, stream)

    @property
    def stream(self) -> _abi.ferrum_stream:
        """The stream of the block."""
        return self._stream

    @property
    def doomed(self) -> bool:
        """Whether a destruction of it or of all blocks is running."""
        return self._doomed or self.blocks.doomed

    @doomed.setter
    def doomed(self, is_so: bool) -> None:
        self._doomed = is_so

    def _free(self, flags: int) -> int:
        # Before the call: another thread may allocate the address before the call returns.
        self.blocks.addresses.discard(self.address)
        status = super()._free(flags)
        if status < 0 and status != _abi.FERRUM_ERROR_CORRUPTED:
            self.blocks.addresses.add(self.address)
        return status

    def _free_on(self, stream: _abi.ferrum_stream) -> int:
        library = _native.functions()
        pool_handle = self.blocks.pool_handle
        if self.size_bytes is None:
            return library.ferrum_pool_free(pool_handle, self.address, stream)
        return library.ferrum_pool_free_sized(pool_handle, self.address, self.size_bytes, stream)


class PoolBlock(HostBuffer, DeviceArray):
    """A block of a pool. Pool.alloc() creates it.

    It belongs to the stream of its allocation. free(), close(), a with statement and the
    collector free it in the same way: its memory is reused elsewhere only after the work
    that is queued on that stream at this moment.

    Attributes:
        address: its address on the device; a pointer if the host can address the device.
        size_bytes: the requested size.
    """

    # Pool.alloc() sets these: calling a constructor would take longer than the allocation.
    address: int
    size_bytes: int
    _pool: Pool
    _stream: _abi.ferrum_stream
    # The record of all blocks of the pool. The thread that frees the block or creates its
    # record deletes this attribute; only one thread can.
    _blocks: LiveBlocks
    # The block's own record, if it has one.
    _record: LiveBlock | None = None
    # Its batch, if it has one. The reference keeps the batch alive.
    _batch: object | None = None
    # It was freed, or is being freed, without a record.
    _is_freed = False

    @property
    def pool(self) -> Pool:
        """The pool of the block."""
        return self._pool

    def _label(self) -> str:
        return f"PoolBlock of {size_text(self.size_bytes)} on {self._pool.device.id}"

    # The base classes declare an attribute.
    @property
    def _owned(self) -> LiveBlock:  # type: ignore[override]
        """The record. The first access creates it."""
        record = self._record
        if record is not None:
            return record
        if _native.is_forked():
            # A thread that exists only in the parent process may hold the lock.
            return self._new_record()
        with views_lock:
            return self._record or self._new_record()

    def _new_record(self) -> LiveBlock:
        try:
            blocks = self._blocks
            del self._blocks
        except AttributeError:
            # The block was freed. This record reports that and is not stored.
            record = LiveBlock(self._label(), self._pool._owned.blocks, self.address, self._stream)
            record.finish()
            return record
        record = self._record = LiveBlock(self._label(), blocks, self.address, self._stream)
        if blocks.ended:
            record.finish()
        return record

    @property
    def closed(self) -> bool:
        """Whether it was closed, or ended with a forced close of its owner."""
        if self._is_freed:
            return True
        blocks = getattr(self, "_blocks", None)
        # Without _blocks it has a record, or another thread is creating one.
        return self._owned.ended if blocks is None else blocks.ended

    @property
    def _handle(self) -> int:
        """The address for a call. Raises InvalidHandleError after close()."""
        if self.closed and not _native.is_forked():
            raise InvalidHandleError(
                _abi.FERRUM_ERROR_INVALID_HANDLE, f"the {self._label()} has been closed"
            )
        return self.address

    @property
    def usable_bytes(self) -> int:
        """The number of usable bytes: at least size_bytes."""
        size = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_pool_usable_size(
                self._pool._handle, self._handle, ctypes.byref(size)
            )
        )
        return size.value

    @property
    def call_site(self) -> tuple[str, ...]:
        """Where the block was allocated, the innermost function first: lines of Python,
        such as "engine.py:12 (load)", then native functions. Empty unless its pool has
        DebugFlags.CALL_SITES."""
        return self._pool.device.call_site_of(self._handle)

    def owner(self) -> BlockOwner:
        """The counters' entry of the block: its pool, size, tag and age."""
        return self._pool.device.owner_of(self._handle)

    def record_stream(self, stream: Stream | None) -> None:
        """States that a stream uses the block too. A free of the block then also waits for the
        work that is queued on that stream at the free.

        Args:
            stream: None: the default stream.
        """
        _native.check(
            _native.functions().ferrum_pool_record_stream(
                self._pool._handle, self._handle, optional_handle(stream)
            )
        )

    def free(self, stream: Stream | None = None, *, size_bytes: int | None = None) -> None:
        """Frees the block. Does nothing if it was freed.

        Its memory is reused after the work that is queued now on the stream of its
        allocation, on the streams of record_stream(), and on the stream argument. If only
        one of these streams has work, an allocation on that stream may reuse the memory at
        once. The call does not wait.

        Args:
            stream: a further stream that used the block; None: no further stream.
            size_bytes: the requested size, as a check; None: no check.

        Raises:
            InvalidSizeError: the requested size was different; nothing has changed.
            CorruptedError: with DebugFlags.RED_ZONES, bytes beside the block were
                overwritten; the block is freed.
            ViewExistsError: the block has a view; nothing has changed.
        """
        if size_bytes is not None or self._record is not None:
            self._free_by_record(stream, size_bytes)
            return
        named = None if stream is None else optional_handle(stream)
        try:
            blocks = self._blocks
            del self._blocks
        except AttributeError:
            # The block was freed before, or another thread has just created its record.
            self._free_by_record(stream, None)
            return
        self._is_freed = True
        if not blocks.ended:
            status = blocks.free(self.address, self._stream, named)
            if status < 0:
                self._free_failed(blocks, status)

    def _free_failed(self, blocks: LiveBlocks, status: int) -> None:
        if status == _abi.FERRUM_ERROR_FORKED:
            # The block belongs to the parent process.
            return
        if status != _abi.FERRUM_ERROR_CORRUPTED:
            # A corrupted block is freed too. After any other error the block is still live.
            self._is_freed = False
            self._blocks = blocks
        _native.check(status)

    def _free_by_record(self, stream: Stream | None, size_bytes: int | None) -> None:
        record = self._owned
        record.size_bytes = None if size_bytes is None else u64("size_bytes", size_bytes)
        try:
            record.close_on(stream)
        finally:
            record.size_bytes = None

    def close(self) -> None:
        """Calls free()."""
        self.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.free()
        else:
            super().__exit__(kind, error, traceback)

    def __del__(self, _is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        # Not at the exit of the interpreter: other code may still use the block.
        if self._is_freed or _is_exiting():
            return
        try:
            blocks = self._blocks
            del self._blocks
        except AttributeError:
            if self._record is not None:
                self._record.abandon()
        else:
            blocks.abandon_one(self)

    def __len__(self) -> int:
        return self.size_bytes

    def _array_range(self) -> tuple[int, int, Device]:
        return self._handle, self.size_bytes, self._pool.device

    def _host_range(self) -> tuple[int | None, int]:
        host = self._pool.device._info.host_addressable
        return self._handle if host else None, self.size_bytes


def free_together(pool_handle: Any, live: list[LiveBlock], stream: Stream | None) -> int:
    """Frees several blocks in one call of the library, and returns the status. If the caller
    passes no stream and all blocks have the same one, they are freed on their own stream.
    """
    addresses = address_array(len(live))
    for i, record in enumerate(live):
        addresses[i] = record.address
        # Before the call: another thread may allocate the address before the call returns.
        record.blocks.addresses.discard(record.address)
    queue = optional_handle(stream)
    if stream is None and len({record.stream.id for record in live}) == 1:
        queue = live[0].stream
    free = _native.functions().ferrum_pool_free_batch
    status: int = free(pool_handle, addresses, len(live), queue)
    if stream is None and queue.id != 0 and status in _STREAM_OF_NO_USE:
        status = free(pool_handle, addresses, len(live), optional_handle(None))
    if status < 0 and status != _abi.FERRUM_ERROR_CORRUPTED:
        for record in live:
            record.blocks.addresses.add(record.address)
    return status


def address_array(count: int) -> Any:
    """An array of count addresses for a call of the library."""
    return (_abi.ferrum_address * count)()
