"""Batches: blocks of a pool that are allocated in one call. Pool.alloc_batch() creates them.

One record owns all blocks of a batch. A block gets a record of its own at the first access
by its index. The two share one lock, so that a block is freed once: with its batch or by
itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _abi, _native
from ._owned import Owned, Resource, doom, views_lock
from ._values import size_text
from .blocks import LiveBlock, LiveBlocks, PoolBlock, StreamOwned, address_array
from .streams import optional_handle

if TYPE_CHECKING:
    from .pools import Pool
    from .streams import Stream


class _Member(LiveBlock):
    """The record of a block of a batch. If the caller does not free the block, the batch does."""

    def __init__(self, label: str, batch: _LiveBatch, address: int) -> None:
        self._batch = batch
        super().__init__(label, batch.blocks, address, batch.stream)
        self._closing = batch._closing

    @property
    def doomed(self) -> bool:
        """Whether a destruction of it, its batch or all blocks is running."""
        return self._doomed or self._batch.doomed or self.blocks.doomed

    @doomed.setter
    def doomed(self, is_so: bool) -> None:
        self._doomed = is_so

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks it as ended, and the batch with the last of its blocks."""
        super().finish(doomed)
        self._batch.forget(self.address)

    def abandon(self) -> None:
        """Does nothing: the batch still owns the block."""


class _LiveBatch(StreamOwned):
    """The record of a batch.

    Attributes:
        blocks: the record of all blocks of the pool.
        left: the addresses of blocks that are not freed.
        members: the records of single blocks, by address.
    """

    def __init__(
        self, label: str, blocks: LiveBlocks, addresses: Sequence[int], stream: _abi.ferrum_stream
    ) -> None:
        self.blocks = blocks
        self.left = dict.fromkeys(addresses)
        self.members: dict[int, _Member] = {}
        super().__init__(label, blocks, stream)
        blocks.addresses.update(addresses)

    @property
    def stream(self) -> _abi.ferrum_stream:
        """The stream of the blocks."""
        return self._stream

    def member(self, label: str, address: int) -> _Member:
        """The record of a block. The caller holds views_lock."""
        found = self.members.get(address)
        if found is None:
            found = self.members[address] = _Member(label, self, address)
            if self.ended or address not in self.left:
                found.finish()
        return found

    def forget(self, address: int) -> None:
        """Called when a block has ended."""
        self.left.pop(address, None)
        if not self.left and not self.ended:
            self.finish()

    def _doom(self, _flags: int) -> list[Owned]:
        doomed: list[Owned] = [self, *list(self.members.values())]
        doom([owned for owned in doomed if not owned.ended], self.label)
        return doomed

    def _free(self, flags: int) -> int:
        left = list(self.left)
        # Before the call: another thread may get one of the addresses before it returns.
        self.blocks.addresses.difference_update(left)
        status = super()._free(flags)
        if status < 0 and status != _abi.FERRUM_ERROR_CORRUPTED:
            self.blocks.addresses.update(left)
        return status

    def _free_on(self, stream: _abi.ferrum_stream) -> int:
        addresses = address_array(len(self.left))
        addresses[:] = list(self.left)
        free = _native.functions().ferrum_pool_free_batch
        return free(self.blocks.pool_handle, addresses, len(addresses), stream)

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks the batch and all of its blocks as ended."""
        super().finish(doomed)
        self.left.clear()
        for owned in list(self.members.values()):
            if not owned.ended:
                owned.finish()


class PoolBatch(Resource, Sequence[PoolBlock]):
    """Blocks of one size that are allocated in one call. Pool.alloc_batch() creates them. They
    belong to the stream of their allocation, as a PoolBlock does.

    A batch is a sequence of PoolBlocks: batch[i] has views and can be freed by itself. The
    batch then frees only the rest. A PoolBlock that is collected without free() stays
    allocated in its batch.

    Attributes:
        addresses: the address of each block on the device, including freed ones.
        size_bytes: requested size of each block.
    """

    _owned: _LiveBatch

    def __init__(
        self, pool: Pool, addresses: Any, size_bytes: int, stream: _abi.ferrum_stream
    ) -> None:
        self.addresses: tuple[int, ...] = tuple(addresses)
        self.size_bytes = size_bytes
        self._pool = pool
        # While an object for an index exists, the index returns the same object.
        self._shown: weakref.WeakValueDictionary[int, PoolBlock] = weakref.WeakValueDictionary()
        label = (
            f"PoolBatch of {len(addresses)} blocks of {size_text(size_bytes)} on {pool.device.id}"
        )
        live = _LiveBatch(label, pool._owned.blocks, self.addresses, stream)
        self._own(live, self.addresses)

    @property
    def pool(self) -> Pool:
        """The pool of the blocks."""
        return self._pool

    def free(self, stream: Stream | None = None) -> None:
        """Frees all blocks that are not freed yet, in the way of PoolBlock.free(). It frees
        all of them or none. Does nothing if the batch was freed.

        Raises:
            ViewExistsError: one of them has a view; nothing has changed.
        """
        self._owned.close_on(stream)

    def record_stream(self, stream: Stream | None) -> None:
        """States that a stream uses all blocks that are not freed yet: PoolBlock.record_stream()
        for all of them, or for none.

        Args:
            stream: None: the default stream.
        """
        _ = self._handle  # raises if the batch was freed
        with views_lock:
            left = list(self._owned.left)
        addresses = address_array(len(left))
        addresses[:] = left
        record = _native.functions().ferrum_pool_record_stream_batch
        _native.check(
            record(self._owned.blocks.pool_handle, addresses, len(left), optional_handle(stream))
        )

    def _postpone(self) -> None:
        """Does nothing: other code may have a view when the blocks could be freed."""

    def __len__(self) -> int:
        return len(self.addresses)

    @overload
    def __getitem__(self, index: int) -> PoolBlock: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PoolBlock]: ...
    def __getitem__(self, index: int | slice) -> PoolBlock | Sequence[PoolBlock]:
        if isinstance(index, slice):
            return tuple(map(self._block, self.addresses[index]))
        return self._block(self.addresses[index])

    def _block(self, address: int) -> PoolBlock:
        _native.refuse_forked()
        with views_lock:
            block = self._shown.get(address)
            if block is None:
                block = PoolBlock()
                block.address = address
                block.size_bytes = self.size_bytes
                block._pool = self._pool
                block._stream = self._owned.stream
                block._batch = self
                block._record = self._owned.member(block._label(), address)
                self._shown[address] = block
        return block
