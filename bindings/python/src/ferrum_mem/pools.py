"""Pools: memory by address."""

from __future__ import annotations

import contextlib
import ctypes
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from . import _abi, _native, _quick
from ._arguments import listed, object_of, record
from ._calls import PoolCalls
from ._owned import LateEnds, doom
from ._quick import new_slip, put_slip_back, take_slip
from ._values import alignment, lifetime, u64
from .batches import PoolBatch
from .blocks import LivePool, PoolBlock, address_array, free_together
from .devices import Device, device_for
from .errors import InvalidArgumentError
from .streams import NO_STREAM, Stream, optional_handle

if TYPE_CHECKING:
    from ._records import PoolConfig

__all__ = ["Pool", "PoolBatch", "PoolBlock"]


class Pool(PoolCalls):
    """A pool on a device. It allocates blocks by address.

    Args:
        device: the device of its memory, or the id of the device. With an id the pool opens
            and closes the device.
        config: settings; None: the defaults of PoolConfig.

    Raises:
        InvalidConfigError: the settings contradict each other.
        NotFoundError: the strategy does not exist; the message lists all strategies.
        OutOfMemoryError: there is not enough memory for pre_allocate.
    """

    _owned: LivePool

    def __init__(self, device: Device | str, config: PoolConfig | None = None) -> None:
        handle = _abi.ferrum_pool()
        raw = None
        if config is not None:
            raw = ctypes.byref(record("config", config, "PoolConfig").to_abi())
        library = _native.functions()
        end = library.ferrum_pool_destroy
        # Numbers of tags. A number is valid as long as the pool exists.
        self._tags: dict[str, int] = {}
        name = f" {config.name!r}" if config is not None and config.name else ""
        # Graphs that were collected during their capture.
        self._late = late = LateEnds()

        def destroy(flags: int) -> int:
            late.call_ended()
            return end(handle, flags)

        with device_for(device) as (device, at_end):
            _native.check(library.ferrum_pool_create(device._handle, raw, ctypes.byref(handle)))
            self._device = device
            label = f"Pool{name} on {device.id}"
            live = LivePool(label, destroy, device._node, handle, at_end)
            self._own(live, handle)
        self._alloc_function = library.without_conversions(library.ferrum_pool_alloc)
        self._argument = _quick.argument(handle)

    @property
    def device(self) -> Device:
        """The device of the pool."""
        return self._device

    def close(self, *, force: bool = False) -> None:
        """Releases the memory of the pool to the system.

        Args:
            force: also while blocks are live; waits for queued work on freed blocks.

        Raises:
            BusyError: blocks are live; nothing has changed.
            ViewExistsError: with force, a block has a view.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def trim(self, keep_bytes: int = 0) -> int:
        """Like PoolCalls.trim(), after the release of collected graphs."""
        self._late.call_ended()
        return super().trim(keep_bytes)

    def alloc(
        self,
        size_bytes: int,
        *,
        alignment_bytes: int | None = None,
        stream: Stream | None = None,
        tag: str | None = None,
        lifetime_s: float | None = None,
        group: int = 0,
    ) -> PoolBlock:
        """Allocates a block.

        Args:
            size_bytes: not 0; rounded up to the pool's alignment.
            alignment_bytes: of the address, a power of two up to 1 GiB; None: the pool's
                alignment.
            stream: the first stream that uses the block; None: the default stream.
            tag: name for the counters, 1 to 63 bytes; None: the pool's name. A pool keeps
                at most 4095 tags, as long as it exists.
            lifetime_s: expected lifetime of the block in seconds; None: unknown. Only a
                hint for the placement: it may be wrong.
            group: a number that is common to blocks that will probably be freed together;
                0: none. Only a hint for the placement.

        Raises:
            OutOfMemoryError: not enough memory, after all caches were released and the
                reclaim callbacks were called; the message states who holds it.
        """
        if alignment_bytes is None and tag is None and lifetime_s is None and group == 0:
            address = self.alloc_address(size_bytes, stream=stream)
            queue = NO_STREAM if stream is None else optional_handle(stream)
        else:
            queue = optional_handle(stream)
            raw = _abi.ferrum_address()
            request = _abi.ferrum_pool_request.init()
            request.size_bytes = u64("size_bytes", size_bytes)
            request.tag = 0 if tag is None else self._tag("tag", tag)
            request.stream = queue
            request.expected_lifetime_ns = lifetime("lifetime_s", lifetime_s)
            request.group = u64("group", group)
            request.alignment_bytes = alignment(alignment_bytes)
            _native.check(
                _native.functions().ferrum_pool_alloc_with(
                    self._handle, ctypes.byref(request), ctypes.byref(raw)
                )
            )
            address = raw.value
        blocks = self._owned.blocks
        blocks.addresses.add(address)
        block = PoolBlock()
        block.address = address
        block.size_bytes = size_bytes if type(size_bytes) is int else operator.index(size_bytes)
        block._pool = self
        block._stream = queue
        block._blocks = blocks
        return block

    def alloc_address(self, size_bytes: int, *, stream: Stream | None = None) -> int:
        """Allocates a block without an object for it, which is faster than alloc().

        Only free_address(), reset() and close(force=True) free it. There is no warning for
        a forgotten block, and until it is freed the pool is in use.

        Args:
            size_bytes: as for alloc().
            stream: as for alloc().

        Returns:
            Its address on the device; a pointer if the host can address the device.

        Raises:
            OutOfMemoryError: as for alloc().
        """
        queue = _quick.NO_STREAM if stream is None else optional_handle(stream)
        try:
            slip = take_slip()
        except IndexError:
            slip = new_slip()
        cells, number, out = slip
        try:
            cells[0] = size_bytes
        except (TypeError, ValueError):
            cells[0] = u64("size_bytes", size_bytes)
        function = self._alloc_function
        status = function(self._argument, number, queue, out)
        address = cells[1]
        put_slip_back(slip)
        if status < 0:
            self._refuse(status)
        return address

    def free_address(self, address: int, *, stream: Stream | None = None) -> None:
        """Frees a block of alloc_address(). Its memory is reused in the same order as the
        memory of a PoolBlock; see PoolBlock.free().

        Args:
            address: the result of alloc_address().
            stream: a further stream that used the block; None: the default stream. The free
                always waits for the stream of alloc_address(), and passing that stream is
                fastest.

        Raises:
            DoubleFreeError: the block was freed before.
            InvalidAddressError: no block of the pool has this address.
            InvalidArgumentError: it is the address of a PoolBlock. Use its free().
            CorruptedError: as for PoolBlock.free().
        """
        blocks = self._owned.blocks
        if address in blocks.addresses:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"address {address:#x} belongs to a PoolBlock: call its free()",
            )
        queue = _quick.NO_STREAM if stream is None else optional_handle(stream)
        try:
            slip = take_slip()
        except IndexError:
            slip = new_slip()
        cells, number, _ = slip
        try:
            cells[0] = address
        except (TypeError, ValueError):
            cells[0] = u64("address", address)
        function = blocks.pool_free
        status = function(blocks.pool_argument, number, queue)
        put_slip_back(slip)
        if status < 0:
            self._refuse(status)

    def _refuse(self, status: int) -> NoReturn:
        """Raises for a failed call. The error of a closed pool names the pool."""
        failure = _native.error_of(status)
        # Raises if the pool was closed.
        _ = self._handle
        raise failure

    def alloc_batch(
        self, size_bytes: int, count: int, *, stream: Stream | None = None
    ) -> PoolBatch:
        """Allocates count blocks of one size in one call: all or none. The batch is a sequence
        of the blocks. Freeing the batch frees the blocks that are not freed yet.

        Args:
            size_bytes: of each block, as for alloc().
            count: 1 to BATCH_MAX.
            stream: the first stream that uses the blocks; None: the default stream.

        Raises:
            InvalidArgumentError: the count is out of bounds.
            OutOfMemoryError: not enough memory for all of them.
        """
        size, number = u64("size_bytes", size_bytes), u64("count", count)
        # The library rejects a count that is out of bounds before it writes addresses.
        addresses = address_array(number if number <= _abi.FERRUM_BATCH_MAX else 0)
        queue = optional_handle(stream)
        _native.check(
            _native.functions().ferrum_pool_alloc_batch(
                self._handle, size, number, queue, addresses
            )
        )
        return PoolBatch(self, addresses, size, queue)

    def free_batch(self, blocks: Iterable[PoolBlock], *, stream: Stream | None = None) -> None:
        """Frees blocks of this pool in one call: all or none. Blocks that were freed before
        are ignored.

        Args:
            blocks: at most BATCH_MAX.
            stream: a further stream that used the blocks, besides the streams of their
                allocation; None: no further stream.

        Raises:
            InvalidArgumentError: a block is of another pool; nothing has changed.
            ViewExistsError: a block has a view; nothing has changed.
        """
        records = {id(block._owned): block._owned for block in self._own_blocks(blocks)}
        with contextlib.ExitStack() as locks:
            # Blocks of one batch share a lock.
            closings = {id(record._closing): record._closing for record in records.values()}
            for key in sorted(closings):
                locks.enter_context(closings[key])
            live = [record for record in records.values() if not record.ended]
            if not live or _native.is_forked():
                return
            doom(live, f"free_batch of {self._owned.label}")
            status = free_together(self._handle, live, stream)
            if status < 0 and status != _abi.FERRUM_ERROR_CORRUPTED:
                for record in live:
                    record.doomed = False
                _native.check(status)
            for record in live:
                record.finish()
            _native.check(status)

    def _own_blocks(self, blocks: Iterable[PoolBlock]) -> Iterable[PoolBlock]:
        for i, block in enumerate(listed("blocks", blocks, "PoolBlocks")):
            if object_of(f"blocks[{i}]", block, PoolBlock).pool is not self:
                raise InvalidArgumentError(
                    _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                    f"blocks[{i}] belongs to {block.pool!r}, not to {self!r}",
                )
            yield block

    def tag(self, name: str) -> int:
        """The number of a tag. It is valid as long as the pool exists.

        Raises:
            ResourceExhaustedError: the pool has 4095 tags already.
        """
        return self._tag("name", name)

    def _tag(self, parameter: str, name: str) -> int:
        text = _native.encode_required(parameter, name)
        number = self._tags.get(name)
        if number is None:
            out = ctypes.c_uint32()
            _native.check(
                _native.functions().ferrum_pool_get_tag(self._handle, text, ctypes.byref(out))
            )
            number = self._tags[name] = out.value
        return number

    def reset(self, *, stream: Stream | None = None) -> None:
        """Frees all live blocks at once, as if freed on the stream. No other call may use the
        pool meanwhile.

        Raises:
            ViewExistsError: a block has a view; nothing has changed.
        """
        queue = optional_handle(stream)
        handle = self._handle
        blocks = list(self._owned.everything_below())
        doom(blocks, f"reset of {self._owned.label}")
        status = _native.functions().ferrum_pool_reset(handle, queue)
        if status < 0 and status != _abi.FERRUM_ERROR_CORRUPTED:
            for block in blocks:
                block.doomed = False
            _native.check(status)
        self._owned.reset()
        for block in blocks:
            block.finish()
        _native.check(status)
