"""Blocks of a pool, one by one and many at once; Pool makes them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from . import _abi, _native
from ._buffers import HostBuffer
from ._dlpack import DeviceArray
from ._owned import Owned, Resource
from ._values import u64
from .streams import Stream, optional_handle
from .types import BlockOwner

if TYPE_CHECKING:
    from .devices import Device
    from .pools import Pool


class _LiveBlock(Owned):
    """The record of a pool block, which remembers how it is to be freed."""

    def __init__(self, label: str, pool: Pool, address: int) -> None:
        self.stream = optional_handle(None)
        self.address = address
        # What the caller of free() says that it asked for; None: nothing.
        self.size_bytes: int | None = None
        self._pool_handle = pool._handle
        super().__init__(label, self._free, pool._owned)

    def _free(self, _flags: int) -> int:
        library = _native.library()
        if self.size_bytes is None:
            return library.ferrum_pool_free(self._pool_handle, self.address, self.stream)
        return library.ferrum_pool_free_sized(
            self._pool_handle, self.address, self.size_bytes, self.stream
        )


class PoolBlock(HostBuffer, DeviceArray):
    """A block of a pool; Pool.alloc() makes it.

    Attributes:
        address: where it starts on the device; a pointer if the host addresses it.
        size_bytes: as asked for.
    """

    _owned: _LiveBlock

    def __init__(self, pool: Pool, address: int, size_bytes: int) -> None:
        self.address = address
        self.size_bytes = size_bytes
        self._pool = pool
        label = f"PoolBlock of {size_bytes} bytes on {pool.device.id}"
        self._own(_LiveBlock(label, pool, address), address)

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

        A later allocation for the same stream may have its memory at once, any
        other only once the work that is queued on the stream now is done. Does not
        wait.

        Args:
            stream: the stream that used the block last; None: the default one.
            size_bytes: the size that was asked for, as a check; None: no check.

        Raises:
            InvalidSizeError: it was asked for with another size; nothing has changed.
            CorruptedError: with Debug.RED_ZONES, bytes beside the block were
                overwritten; the block is free all the same.
            ViewExistsError: a view still looks into the block; nothing has changed.
        """
        self._owned.stream = optional_handle(stream)
        self._owned.size_bytes = None if size_bytes is None else u64("size_bytes", size_bytes)
        try:
            self._owned.close()
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


class _LiveBatch(Owned):
    """The record of a batch, which remembers the stream that used it last."""

    def __init__(self, label: str, pool: Pool, addresses: Any) -> None:
        self.stream = optional_handle(None)
        pool_handle = pool._handle
        free = _native.library().ferrum_pool_free_batch
        count = len(addresses)
        super().__init__(
            label, lambda _flags: free(pool_handle, addresses, count, self.stream), pool._owned
        )


class PoolBatch(Resource):
    """Blocks of one size that come and go together; Pool.alloc_batch() makes them.

    Attributes:
        addresses: where each starts on the device.
        size_bytes: of each, as asked for.
    """

    _owned: _LiveBatch

    def __init__(self, pool: Pool, addresses: Any, size_bytes: int) -> None:
        self.addresses: tuple[int, ...] = tuple(addresses)
        self.size_bytes = size_bytes
        self._pool = pool
        label = f"PoolBatch of {len(addresses)} blocks of {size_bytes} bytes on {pool.device.id}"
        self._own(_LiveBatch(label, pool, addresses), self.addresses)

    @property
    def pool(self) -> Pool:
        """The pool that the blocks are of."""
        return self._pool

    def free(self, stream: Stream | None = None) -> None:
        """Gives all the blocks back, as PoolBlock.free(); nothing if that was done
        before."""
        self._owned.stream = optional_handle(stream)
        self._owned.close()

    def __len__(self) -> int:
        return len(self.addresses)


def address_array(count: int) -> Any:
    """An array of so many addresses for a call of the library."""
    return (_abi.ferrum_address * count)()
