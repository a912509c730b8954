"""Blocks of a pool, one by one and many at once; Pool makes them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from . import _abi, _native
from ._buffers import HostBuffer
from ._dlpack import DeviceArray
from ._owned import Owned, Resource
from ._records import BlockOwner
from ._values import u64
from .streams import Stream, optional_handle

if TYPE_CHECKING:
    from .devices import Device
    from .pools import Pool


class _StreamOwned(Owned):
    """A record of what belongs to the stream that it was asked for on. A free waits
    for the work of that stream in any case."""

    def __init__(self, label: str, pool: Pool, stream: _abi.ferrum_stream) -> None:
        self._stream = stream
        # The stream that the caller of free() names; None: it names none.
        self._named: _abi.ferrum_stream | None = None
        super().__init__(label, self._free, pool._owned)

    def close_on(self, stream: Stream | None) -> None:
        """Ends it behind the work of a further stream as well."""
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
            # It was destroyed, and so has run dry, or captures. The library knows.
            status = self._free_on(optional_handle(None))
        return status

    def _free_on(self, stream: _abi.ferrum_stream) -> int:
        raise NotImplementedError


_STREAM_OF_NO_USE = (_abi.FERRUM_ERROR_INVALID_HANDLE, _abi.FERRUM_ERROR_INVALID_STATE)


class _LiveBlock(_StreamOwned):
    """The record of a pool block, which remembers how it is to be freed."""

    def __init__(self, label: str, pool: Pool, address: int, stream: _abi.ferrum_stream) -> None:
        self.address = address
        # What the caller of free() says that it asked for; None: nothing.
        self.size_bytes: int | None = None
        self._pool_handle = pool._handle
        super().__init__(label, pool, stream)

    @property
    def stream(self) -> _abi.ferrum_stream:
        """The stream that the block is of."""
        return self._stream

    def _free_on(self, stream: _abi.ferrum_stream) -> int:
        library = _native.library()
        if self.size_bytes is None:
            return library.ferrum_pool_free(self._pool_handle, self.address, stream)
        return library.ferrum_pool_free_sized(
            self._pool_handle, self.address, self.size_bytes, stream
        )


class PoolBlock(HostBuffer, DeviceArray):
    """A block of a pool; Pool.alloc() makes it.

    It belongs to the stream that it was asked for on: however it is given back, by
    free(), close(), a with statement or the collector, its memory goes to nobody else
    before the work is done that was queued on that stream by then.

    Attributes:
        address: where it starts on the device; a pointer if the host addresses it.
        size_bytes: as asked for.
    """

    _owned: _LiveBlock

    def __init__(
        self, pool: Pool, address: int, size_bytes: int, stream: _abi.ferrum_stream
    ) -> None:
        self.address = address
        self.size_bytes = size_bytes
        self._pool = pool
        label = f"PoolBlock of {size_bytes} bytes on {pool.device.id}"
        self._own(_LiveBlock(label, pool, address, stream), address)

    @property
    def pool(self) -> Pool:
        """The pool that the block is of."""
        return self._pool

    @property
    def usable_bytes(self) -> int:
        """How many bytes of the block may be used: at least size_bytes."""
        size = ctypes.c_uint64()
        _native.check(
            _native.library().ferrum_pool_usable_size(
                self._pool._handle, self._handle, ctypes.byref(size)
            )
        )
        return size.value

    def owner(self) -> BlockOwner:
        """What the books say of the block: its pool, size, tag and age."""
        return self._pool.device.owner_of(self._handle)

    def record_stream(self, stream: Stream) -> None:
        """Says that a stream uses the block too: once freed, the block waits for the
        work that is queued on that stream at the time of its free as well."""
        _native.check(
            _native.library().ferrum_pool_record_stream(
                self._pool._handle, self._handle, optional_handle(stream)
            )
        )

    def free(self, stream: Stream | None = None, *, size_bytes: int | None = None) -> None:
        """Gives the block back; nothing if that was done before.

        Its memory is handed out again once the work is done that is queued now on the
        stream that it was asked for on, on those of record_stream() and on the one
        that is named here. Where only one of them has any, a later allocation for that
        stream may have the memory at once. Does not wait.

        Args:
            stream: a further stream that used the block; None: there is none.
            size_bytes: the size that was asked for, as a check; None: no check.

        Raises:
            InvalidSizeError: it was asked for with another size; nothing has changed.
            CorruptedError: with DebugFlags.RED_ZONES, bytes beside the block were
                overwritten; the block is free all the same.
            ViewExistsError: a view still looks into the block; nothing has changed.
        """
        self._owned.size_bytes = None if size_bytes is None else u64("size_bytes", size_bytes)
        try:
            self._owned.close_on(stream)
        finally:
            self._owned.size_bytes = None

    def close(self) -> None:
        """As free()."""
        self._owned.close()

    def __len__(self) -> int:
        return self.size_bytes

    def _array_range(self) -> tuple[int, int, Device]:
        return self._handle, self.size_bytes, self._pool.device

    def _host_range(self) -> tuple[int | None, int]:
        host = self._pool.device._info.host_addressable
        return self._handle if host else None, self.size_bytes


class _LiveBatch(_StreamOwned):
    """The record of a batch."""

    def __init__(self, label: str, pool: Pool, addresses: Any, stream: _abi.ferrum_stream) -> None:
        self._addresses = addresses
        self._pool_handle = pool._handle
        super().__init__(label, pool, stream)

    def _free_on(self, stream: _abi.ferrum_stream) -> int:
        return _native.library().ferrum_pool_free_batch(
            self._pool_handle, self._addresses, len(self._addresses), stream
        )


class PoolBatch(Resource):
    """Blocks of one size that come and go together; Pool.alloc_batch() makes them. They
    belong to the stream that they were asked for on, as a PoolBlock does.

    Attributes:
        addresses: where each starts on the device.
        size_bytes: of each, as asked for.
    """

    _owned: _LiveBatch

    def __init__(
        self, pool: Pool, addresses: Any, size_bytes: int, stream: _abi.ferrum_stream
    ) -> None:
        self.addresses: tuple[int, ...] = tuple(addresses)
        self.size_bytes = size_bytes
        self._pool = pool
        label = f"PoolBatch of {len(addresses)} blocks of {size_bytes} bytes on {pool.device.id}"
        self._own(_LiveBatch(label, pool, addresses, stream), self.addresses)

    @property
    def pool(self) -> Pool:
        """The pool that the blocks are of."""
        return self._pool

    def free(self, stream: Stream | None = None) -> None:
        """Gives all the blocks back, as PoolBlock.free(); nothing if that was done
        before."""
        self._owned.close_on(stream)

    def __len__(self) -> int:
        return len(self.addresses)


def free_together(pool_handle: Any, live: list[_LiveBlock], stream: Stream | None) -> int:
    """Has the library free blocks at once, and gives its status: on their own stream if
    they have the same one and the caller names none."""
    addresses = address_array(len(live))
    for i, record in enumerate(live):
        addresses[i] = record.address
    queue = optional_handle(stream)
    if stream is None and len({record.stream.id for record in live}) == 1:
        queue = live[0].stream
    free = _native.library().ferrum_pool_free_batch
    status: int = free(pool_handle, addresses, len(live), queue)
    if stream is None and queue.id != 0 and status in _STREAM_OF_NO_USE:
        status = free(pool_handle, addresses, len(live), optional_handle(None))
    return status


def address_array(count: int) -> Any:
    """An array of so many addresses for a call of the library."""
    return (_abi.ferrum_address * count)()
