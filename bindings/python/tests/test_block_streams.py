"""Blocks belong to the stream of their allocation: in whichever way they are freed, their
memory is not reused while work is queued on that stream.
"""

from __future__ import annotations

import gc
import threading
import warnings

import ferrum_mem as fm
import pytest

from .conftest import MIB

KIB = 1 << 10


@pytest.fixture(params=[0, None], ids=["no caches", "caches"])
def caches(request):
    return {} if request.param is None else {"thread_cache_bytes": request.param}


def collected(block, _other):
    """The collector frees the block, with a warning of the package."""


def in_a_cycle(block, _other):
    cycle = [block]
    cycle.append(cycle)


def by_close(block, _other):
    block.close()


def by_with(block, _other):
    with block:
        pass


def left_by_an_exception(block, _other):
    with pytest.raises(KeyError), block:
        raise KeyError


def freed(block, _other):
    block.free()


def freed_with_its_size(block, _other):
    with pytest.raises(fm.InvalidSizeError):
        block.free(size_bytes=block.size_bytes + 1)
    block.free(size_bytes=block.size_bytes)


def freed_on_another_stream(block, other):
    block.free(other)


def freed_together(block, other):
    pool = block.pool
    pool.free_batch([pool.alloc(block.size_bytes, stream=other), block, pool.alloc(100)])


def freed_alone_in_a_batch(block, _other):
    block.pool.free_batch([block])


def by_another_thread(block, _other):
    thread = threading.Thread(target=block.close)
    thread.start()
    thread.join()


WAYS = [
    collected,
    in_a_cycle,
    by_close,
    by_with,
    left_by_an_exception,
    freed,
    freed_with_its_size,
    freed_on_another_stream,
    freed_together,
    freed_alone_in_a_batch,
    by_another_thread,
]


def nobody_gets(pool, streams, address, size):
    """No allocation on these streams returns a byte of [address, address + size)."""
    others = [pool.alloc(size, stream=streams[i % len(streams)]) for i in range(24)]
    for i, other in enumerate(others):
        apart = other.address >= address + size or address >= other.address + size
        assert apart, f"stream {i % len(streams)} has it"
    for other in others:
        other.close()


@pytest.mark.parametrize("size", [1000, 300 * KIB, 2 * MIB])
@pytest.mark.parametrize("way", WAYS)
def test_freed_blocks_are_reused_after_the_work_of_their_stream(device, caches, way, size):
    gate = threading.Event()
    with (
        fm.Pool(device, fm.PoolConfig(**caches)) as pool,
        fm.Stream(device) as own,
        fm.Stream(device) as other,
    ):
        try:
            own.host_function(gate.wait)
            block = pool.alloc(size, stream=own)
            address = block.address
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                way(block, other)
                del block
                gc.collect()
            nobody_gets(pool, [None, other], address, size)
        finally:
            gate.set()
        own.synchronize()
        assert pool.statistics().live_blocks.current == 0
        pool.trim()
        assert pool.statistics().active.current == 0


@pytest.mark.parametrize("way", [collected, by_close, freed_on_another_stream])
def test_freed_batches_are_reused_after_the_work_of_their_stream(device, caches, way):
    gate = threading.Event()
    with (
        fm.Pool(device, fm.PoolConfig(**caches)) as pool,
        fm.Stream(device) as own,
        fm.Stream(device) as other,
    ):
        try:
            own.host_function(gate.wait)
            batch = pool.alloc_batch(20 * KIB, 10, stream=own)
            addresses = batch.addresses
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                way(batch, other)
                del batch
                gc.collect()
            for address in addresses:
                nobody_gets(pool, [None, other], address, 20 * KIB)
        finally:
            gate.set()
        own.synchronize()
        assert pool.statistics().live_blocks.current == 0


def test_blocks_of_a_batch_are_recorded_for_a_stream(device, caches):
    gate = threading.Event()
    with fm.Pool(device, fm.PoolConfig(**caches)) as pool, fm.Stream(device) as other:
        try:
            batch = pool.alloc_batch(20 * KIB, 10)
            addresses = batch.addresses[1:]
            batch[0].free()
            batch.record_stream(other)
            other.host_function(gate.wait)
            batch.free()
            for address in addresses:
                nobody_gets(pool, [None], address, 20 * KIB)
        finally:
            gate.set()
        other.synchronize()
        with pytest.raises(fm.InvalidHandleError):
            batch.record_stream(other)


def test_stream_may_be_destroyed_before_its_blocks(device, caches):
    with fm.Pool(device, fm.PoolConfig(**caches)) as pool:
        stream = fm.Stream(device)
        block, large = pool.alloc(1000, stream=stream), pool.alloc(2 * MIB, stream=stream)
        batch, others = (
            pool.alloc_batch(500, 20, stream=stream),
            [pool.alloc(700, stream=stream) for _ in range(3)],
        )
        stream.host_function(lambda: None)
        stream.synchronize()
        stream.close()
        with pytest.raises(fm.InvalidHandleError):
            block.free(stream)
        block.free()
        large.close()
        batch.close()
        pool.free_batch(others)
        assert pool.statistics().live_blocks.current == 0
