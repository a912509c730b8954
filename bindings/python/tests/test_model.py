"""Managers and pools compared with bytearrays, over operations that hypothesis generates."""

from __future__ import annotations

import gc
import itertools

import ferrum_mem as fm
import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
)

CAPACITY = 1 << 20
CONFIG = fm.PoolConfig(
    initial_size_bytes=1 << 18, max_size_bytes=CAPACITY, growth_increment_bytes=1 << 18
)
SIZES = st.one_of(st.integers(1, 5000), st.integers(1, 400_000))
ALIGNMENT_BYTES = [None, 1, 64, 256, 4096]
ALIGNMENTS = st.sampled_from(ALIGNMENT_BYTES)
OFFSETS = st.integers(0, 6000)


class Blocks(RuleBasedStateMachine):
    """Each live block has a bytearray with the bytes that it must contain."""

    blocks = Bundle("blocks")

    def __init__(self) -> None:
        super().__init__()
        self.device = fm.Device("cpu:0")
        self.pool = fm.Pool(self.device, CONFIG)
        self.manager = fm.Manager(
            self.device, fm.ManagerConfig(pool_configs={fm.MemoryType.GENERAL: CONFIG})
        )
        self.stream = fm.Stream(self.device)
        self.live: dict[fm.Memory | fm.PoolBlock, bytearray] = {}

    def keep(self, block: fm.Memory | fm.PoolBlock) -> fm.Memory | fm.PoolBlock:
        view = block.view()
        view[:] = bytes(len(view))
        self.live[block] = bytearray(len(block))
        return block

    def refused(self, owner: fm.Pool | fm.Manager, size: int) -> MultipleResults[object]:
        # Neither a free run nor the rest of the limit is large enough, including alignment
        # and the rounding of a segment.
        books = owner.statistics()
        slack = max(filter(None, ALIGNMENT_BYTES)) + self.device.info().granularity_bytes
        assert books.largest_free_bytes < size + slack
        assert CAPACITY - books.reserved.current < size + slack
        return multiple()

    @staticmethod
    def owner(block: fm.Memory | fm.PoolBlock) -> fm.Pool | fm.Manager:
        return block.pool if isinstance(block, fm.PoolBlock) else block.manager

    @rule(target=blocks, size=SIZES, alignment=ALIGNMENTS)
    def alloc(self, size: int, alignment: int | None):
        try:
            block = self.pool.alloc(size, alignment_bytes=alignment)
        except fm.OutOfMemoryError:
            return self.refused(self.pool, size)
        assert block.address % max(alignment or 1, 256) == 0
        return self.keep(block)

    @rule(
        target=blocks,
        size=SIZES,
        alignment=ALIGNMENTS,
        tag=st.sampled_from([None, "a", "kv"]),
        relocatable=st.booleans(),
    )
    def alloc_from_manager(
        self, size: int, alignment: int | None, tag: str | None, relocatable: bool
    ):
        try:
            block = self.manager.alloc(
                size, alignment_bytes=alignment, tag=tag, relocatable=relocatable
            )
        except fm.OutOfMemoryError:
            return self.refused(self.manager, size)
        assert block.address % max(alignment or 1, 256) == 0
        assert block.info().tag == (tag or "")
        return self.keep(block)

    @rule(block=blocks, offset=OFFSETS, data=st.binary(min_size=1, max_size=300))
    def write(self, block, offset: int, data: bytes):
        model = self.live.get(block)
        if model is None:
            return
        fits = offset + len(data) <= len(model)
        try:
            if isinstance(block, fm.Memory):
                block.write(data, offset)
            elif fits:
                block.view()[offset : offset + len(data)] = data
            else:
                return
        except fm.InvalidOffsetError:
            assert not fits
            return
        assert fits
        model[offset : offset + len(data)] = data

    @rule(source=blocks, into=blocks, start=OFFSETS, to=OFFSETS, size=SIZES, queued=st.booleans())
    def copy(self, source, into, start: int, to: int, size: int, queued: bool):
        if not (isinstance(source, fm.Memory) and isinstance(into, fm.Memory)):
            return
        if source not in self.live or into not in self.live:
            return
        here, there = self.live[source], self.live[into]
        fits = start + size <= len(here) and to + size <= len(there)
        places = {"source_offset_bytes": start, "offset_bytes": to}
        try:
            if queued:
                into.copy_from_async(source, size, stream=self.stream, **places)
                self.stream.synchronize()
            else:
                into.copy_from(source, size, **places)
        except fm.InvalidOffsetError:
            assert not fits
            return
        assert fits
        there[to : to + size] = bytes(here[start : start + size])

    @rule(block=blocks, pattern=st.integers(0, 2**32 - 1), width=st.sampled_from([1, 2, 4]))
    def fill(self, block, pattern: int, width: int):
        if not isinstance(block, fm.Memory) or block not in self.live:
            return
        model = self.live[block]
        pattern %= 1 << (8 * width)
        count = len(model) // width
        if not count:
            return
        block.fill_async(pattern, count * width, pattern_bytes=width, stream=self.stream)
        self.stream.synchronize()
        model[: count * width] = pattern.to_bytes(width, "little") * count

    @rule(block=consumes(blocks))
    def free(self, block):
        if self.live.pop(block, None) is not None:
            assert not block.closed
            block.close()
        assert block.closed

    @rule()
    def trim(self):
        self.pool.trim()
        self.manager.defragment()

    @invariant()
    def bytes_and_books_agree(self):
        ranges = []
        for block, model in self.live.items():
            assert block.view() == model
            if isinstance(block, fm.Memory):
                assert block.read(min(len(model), 64)) == model[:64]
            ranges.append((block.address, block.address + len(model)))
        ranges.sort()
        for (_, end), (start, _) in itertools.pairwise(ranges):
            assert end <= start
        for owner in (self.pool, self.manager):
            mine = [m for b, m in self.live.items() if self.owner(b) is owner]
            books = owner.statistics()
            assert books.live_blocks.current == len(mine)
            assert books.requested.current == sum(map(len, mine))
            assert books.allocations - books.frees == len(mine)
            assert books.reserved.current == (
                books.active.current + books.cached.current + books.unusable.current
            )
            assert books.reserved.current <= CAPACITY

    def teardown(self):
        for block in self.live:
            block.close()
        for thing in (self.stream, self.manager, self.pool, self.device):
            thing.close()
        gc.collect()
        assert not fm.leak_report().leaks


Blocks.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestBlocks = Blocks.TestCase
