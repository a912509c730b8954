"""Batches: blocks of a pool that are taken in one call; Pool.alloc_batch() makes them.

One record owns all blocks of a batch. A block gets a record of its own when it is
asked for by its index. The two share one lock, so that a block is freed either with
its batch or by itself, and never twice.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _abi, _native
from ._owned import Owned, Resource, doom, views_lock
from .blocks import LiveBlock, LiveBlocks, PoolBlock, StreamOwned, address_array

if TYPE_CHECKING:
    from .pools import Pool
    from .streams import Stream


class _Member(LiveBlock):
    """The record of a block of a batch. Only the batch ends what nobody frees."""

    def __init__(self, label: str, batch: _LiveBatch, address: int) -> None:
        self._batch = batch
        super().__init__(label, batch.blocks, address, batch.stream)
        self._closing = batch._closing

    @property
    def doomed(self) -> bool:
        """Whether it is about to end, alone, with its batch or with all blocks."""
        return self._doomed or self._batch.doomed or self.blocks.doomed

    @doomed.setter
    def doomed(self, is_so: bool) -> None:
        self._doomed = is_so

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks it as ended, and the batch with the last of its blocks."""
        super().finish(doomed)
        self._batch.forget(self.address)

    def abandon(self) -> None:
        """Nothing: the block stays with its batch."""


class _LiveBatch(StreamOwned):
    """The record of a batch.

    Attributes:
        blocks: all blocks of the pool, of which these are.
        left: the addresses of blocks that were not freed.
        members: the records of blocks that were asked for, by address.
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
        """The stream that the blocks are of."""
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
        """Says that a block has ended."""
        self.left.pop(address, None)
        if not self.left and not self.ended:
            self.finish()

    def _doom(self, _flags: int) -> list[Owned]:
        doomed: list[Owned] = [self, *list(self.members.values())]
        doom([owned for owned in doomed if not owned.ended], self.label)
        return doomed

    def _free(self, flags: int) -> int:
        left = list(self.left)
        # First, as somebody else may have an address before the call returns.
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
    """Blocks of one size that are taken in one call; Pool.alloc_batch() makes them. They
    belong to the stream that they were asked for on, as a PoolBlock does.

    A sequence of PoolBlocks: batch[i] has views and can be freed by itself. The batch then
    frees only the rest. A block that is dropped without free() stays with its batch.

    Attributes:
        addresses: where each starts on the device, also of those that were freed.
        size_bytes: of each, as asked for.
    """

    _owned: _LiveBatch

    def __init__(
        self, pool: Pool, addresses: Any, size_bytes: int, stream: _abi.ferrum_stream
    ) -> None:
        self.addresses: tuple[int, ...] = tuple(addresses)
        self.size_bytes = size_bytes
        self._pool = pool
        # So that the same index gives the same object as long as somebody has it.
        self._shown: weakref.WeakValueDictionary[int, PoolBlock] = weakref.WeakValueDictionary()
        label = f"PoolBatch of {len(addresses)} blocks of {size_bytes} bytes on {pool.device.id}"
        live = _LiveBatch(label, pool._owned.blocks, self.addresses, stream)
        self._own(live, self.addresses)

    @property
    def pool(self) -> Pool:
        """The pool that the blocks are of."""
        return self._pool

    def free(self, stream: Stream | None = None) -> None:
        """Gives all blocks back that were not freed by themselves, as PoolBlock.free():
        all of them or none. Nothing if that was done before.

        Raises:
            ViewExistsError: a view still looks into one of them; nothing has changed.
        """
        self._owned.close_on(stream)

    def _postpone(self) -> None:
        """Nothing: somebody may look into a block by the time that it could be ended."""

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
