"""Pools: memory by address."""

from __future__ import annotations

import contextlib
import ctypes
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from . import _abi, _native, _quick
from ._calls import PoolCalls
from ._owned import LateEnds, doom
from ._quick import new_slip, put_slip_back, take_slip
from ._sites import CallSites, keeps_call_sites
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
    """A pool on a device: hands out blocks by address.

    Args:
        device: where its memory is, or the id of that device: then the pool opens and
            closes it.
        config: settings; None: the defaults of PoolConfig.

    Raises:
        InvalidConfigError: the settings contradict each other.
        NotFoundError: there is no such strategy; the message lists them.
        OutOfMemoryError: pre_allocate cannot be had.
    """

    _owned: LivePool

    def __init__(self, device: Device | str, config: PoolConfig | None = None) -> None:
        handle = _abi.ferrum_pool()
        raw = ctypes.byref(config.to_abi()) if config is not None else None
        library = _native.functions()
        end = library.ferrum_pool_destroy
        # Numbers of tags, which stay while the pool lives.
        self._tags: dict[str, int] = {}
        name = f" {config.name!r}" if config is not None and config.name else ""
        # Graphs that were dropped while they were captured.
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
        if keeps_call_sites(0 if config is None else config.debug):
            live.sites = CallSites()
            live.device_id = device.id
        self._sites = live.sites
        self._alloc_function = library.without_conversions(library.ferrum_pool_alloc)
        self._argument = _quick.argument(handle)

    @property
    def device(self) -> Device:
        """The device that the pool is on."""
        return self._device

    def close(self, *, force: bool = False) -> None:
        """Gives the pool's memory back to the system.

        Args:
            force: also while blocks are live; waits for queued work on freed blocks.

        Raises:
            BusyError: blocks are live; nothing has changed.
            ViewExistsError: with force, a view still looks into a block.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def trim(self, keep_bytes: int = 0) -> int:
        """As PoolCalls.trim(), once graphs that were dropped are released."""
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
        """Takes a block.

        Args:
            size_bytes: not 0; rounded up to the pool's alignment.
            alignment_bytes: of the address, a power of two up to 1 GiB; None: the
                pool's.
            stream: the stream that will use the block first; None: the default one.
            tag: name for the books, 1 to 63 bytes; None: the pool's name. A pool
                keeps at most 4095 of them, for its life.
            lifetime_s: how long the block is expected to live, in seconds; None: not
                known. A hint for the placement only: it may be wrong.
            group: a number that blocks share which are expected to be freed
                together; 0: none. A hint for the placement only.

        Raises:
            OutOfMemoryError: there is no room, after all that is cached was given up
                and the reclaim callbacks were called; the message says who has it.
        """
        if alignment_bytes is None and tag is None and lifetime_s is None and group == 0:
            address = self.alloc_address(size_bytes, stream=stream)
            queue = NO_STREAM if stream is None else optional_handle(stream)
        else:
            queue = optional_handle(stream)
            raw = _abi.ferrum_address()
            request = _abi.ferrum_pool_request.init()
            request.size_bytes = u64("size_bytes", size_bytes)
            request.tag = 0 if tag is None else self.tag(tag)
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
            if self._sites is not None:
                self._sites.note(address)
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
        """Takes a block without an object for it, which is quicker than alloc().

        Nothing gives it back but free_address(), reset() and close(force=True): nobody
        warns of one that was forgotten, and the pool is busy until then.

        Args:
            size_bytes: as for alloc().
            stream: as for alloc().

        Returns:
            Where it starts on the device; a pointer if the host addresses it.

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
        if self._sites is not None:
            self._sites.note(address)
        return address

    def free_address(self, address: int, *, stream: Stream | None = None) -> None:
        """Gives back what alloc_address() took. Its memory is handed out again when that
        of a PoolBlock would be; see PoolBlock.free().

        Args:
            address: as alloc_address() gave it.
            stream: a further stream that used the block; None: the default one. That
                of alloc_address() is waited for in any case, and to name it is quickest.

        Raises:
            DoubleFreeError: it is free already.
            InvalidAddressError: no block of the pool starts there.
            InvalidArgumentError: it is the address of a PoolBlock, which frees itself.
            CorruptedError: as for PoolBlock.free().
        """
        blocks = self._owned.blocks
        if address in blocks.addresses:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"address {address:#x} is that of a PoolBlock: use its free()",
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
        if self._sites is not None:
            self._sites.forget(cells[0])
        status = function(blocks.pool_argument, number, queue)
        put_slip_back(slip)
        if status < 0:
            self._refuse(status)

    def _refuse(self, status: int) -> NoReturn:
        """Raises for a call that has failed; a closed pool says so by its name."""
        failure = _native.error_of(status)
        # Raises if the pool was closed.
        _ = self._handle
        raise failure

    def alloc_batch(
        self, size_bytes: int, count: int, *, stream: Stream | None = None
    ) -> PoolBatch:
        """Takes count blocks of one size in one call: all or none. The batch is a
        sequence of them, and frees what was not freed before.

        Args:
            size_bytes: of each, as for alloc().
            count: 1 to BATCH_MAX.
            stream: the stream that will use them first; None: the default one.

        Raises:
            InvalidArgumentError: the count is out of bounds.
            OutOfMemoryError: there is no room for all of them.
        """
        size, number = u64("size_bytes", size_bytes), u64("count", count)
        # The library refuses a count that is out of bounds before it looks at them.
        addresses = address_array(number if number <= _abi.FERRUM_BATCH_MAX else 0)
        queue = optional_handle(stream)
        _native.check(
            _native.functions().ferrum_pool_alloc_batch(
                self._handle, size, number, queue, addresses
            )
        )
        if self._sites is not None:
            self._sites.note(*addresses)
        return PoolBatch(self, addresses, size, queue)

    def free_batch(self, blocks: Iterable[PoolBlock], *, stream: Stream | None = None) -> None:
        """Gives blocks of this pool back in one call: all of them or none. Those that
        were given back before do not count.

        Args:
            blocks: at most BATCH_MAX.
            stream: a further stream that used them, besides those that they were asked
                for on; None: there is none.

        Raises:
            InvalidArgumentError: one is of another pool; nothing has changed.
            ViewExistsError: a view still looks into one; nothing has changed.
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
        for i, block in enumerate(blocks):
            if block.pool is not self:
                raise InvalidArgumentError(
                    _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                    f"blocks[{i}] is of {block.pool!r}, not of {self!r}",
                )
            yield block

    def tag(self, name: str) -> int:
        """The number of a tag, which stays while the pool lives.

        Raises:
            ResourceExhaustedError: the pool has 4095 tags already.
        """
        number = self._tags.get(name)
        if number is None:
            out = ctypes.c_uint32()
            _native.check(
                _native.functions().ferrum_pool_get_tag(
                    self._handle, _native.encode("name", name), ctypes.byref(out)
                )
            )
            number = self._tags[name] = out.value
        return number

    def reset(self, *, stream: Stream | None = None) -> None:
        """Gives every live block back at once, as freed on the stream. Nothing else
        may use the pool meanwhile.

        Raises:
            ViewExistsError: a view still looks into a block; nothing has changed.
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
