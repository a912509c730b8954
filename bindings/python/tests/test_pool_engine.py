"""Pools beyond single blocks: requests, batches, tags, owners, several streams, retention,
strategies, thread caches and debugging.
"""

from __future__ import annotations

import threading

import ferrum_mem as fm
import pytest

from .conftest import MIB, SMALL


def small(**changes: object) -> fm.PoolConfig:
    settings = {"initial_size_bytes": 4 * MIB, "growth_increment_bytes": 4 * MIB, **changes}
    return fm.PoolConfig(**settings)  # type: ignore[arg-type]


def test_requests(device, pool, stream):
    with pool.alloc(
        1000, alignment_bytes=8192, stream=stream, tag="kv", lifetime_s=0.05, group=7
    ) as block:
        assert block.address % 8192 == 0
        assert block.usable_bytes >= 1000
        owner = block.owner()
        assert (owner.state, owner.tag) == (fm.BlockState.LIVE, "kv")
        assert (owner.address, owner.requested_bytes) == (block.address, 1000)
        assert device.owner_of(block.address + 999) == owner
        (books,) = [d for d in fm.snapshot()["devices"] if d["id"] == "cpu:0"]
        assert [(t["tag"], t["blocks"]) for t in books["tags"]] == [("kv", 1)]
    with pytest.raises(fm.InvalidSizeError):
        pool.alloc(0, group=1)
    pool.alloc(1, lifetime_s=float("inf")).free()


@pytest.mark.parametrize("name", ["", "n" * 64, "a\0b"])
def test_invalid_tags_are_rejected(pool, name):
    with pytest.raises(fm.InvalidArgumentError):
        pool.alloc(8, tag=name)


def test_tags_are_bounded(pool):
    numbers = {pool.tag(f"tag {i}") for i in range(4095)}
    assert len(numbers) == 4095
    with pytest.raises(fm.ResourceExhaustedError):
        pool.tag("one too many")
    assert pool.tag("tag 7") in numbers


def test_owners(device, other_device, manager):
    with fm.Pool(device, small(name="owned", tracking=True)) as pool:
        block = pool.alloc(100)
        owner = block.owner()
        assert owner.pool_name == owner.tag == "owned"
        assert owner.age_ns > 0
        assert owner.pool == pool._handle.id
        assert owner.manager == 0
        block.free()
        assert device.owner_of(block.address).state == fm.BlockState.FREE
        with pytest.raises(fm.NotFoundError):
            other_device.owner_of(block.address)
    with pytest.raises(fm.NotFoundError):
        device.owner_of(block.address)
    with manager.alloc(100) as memory:
        owner = device.owner_of(memory.info().address)
        assert (owner.pool, owner.manager) == (0, manager._handle.id)


def test_batches(pool):
    with pool.alloc_batch(5000, 256) as batch:
        assert len(set(batch.addresses)) == len(batch) == 256
        assert batch.size_bytes == 5000
        assert pool.statistics().requested.current == 256 * 5000
    assert batch.closed
    batch.free()
    assert pool.statistics().frees == 256
    for count in (0, fm.BATCH_MAX + 1, 2**63):
        with pytest.raises(fm.InvalidArgumentError):
            pool.alloc_batch(16, count)
    with pytest.raises(fm.OutOfMemoryError):
        pool.alloc_batch(1 << 30, 4)
    assert pool.statistics().live_blocks.current == 0


def test_blocks_freed_in_one_call(device, pool):
    blocks = [pool.alloc(100 * i + 1) for i in range(20)]
    with pool.alloc_batch(64, 2), fm.Pool(device, SMALL) as other, other.alloc(8) as foreign:
        view = blocks[3].view()
        with pytest.raises(fm.ViewExistsError):
            pool.free_batch(blocks)
        del view
        with pytest.raises(fm.InvalidArgumentError, match=r"blocks\[20\]"):
            pool.free_batch([*blocks, foreign])
        assert pool.statistics().live_blocks.current == 22
        blocks[5].free()
        pool.free_batch([*blocks, blocks[0]])
        assert all(block.closed for block in blocks)
        assert pool.statistics().live_blocks.current == 2
        pool.free_batch(blocks)
        pool.free_batch([])


def test_failed_free_batch_changes_nothing(pool):
    from ferrum_mem import _native

    blocks = [pool.alloc(100) for _ in range(3)]
    library = _native.functions()
    free = (pool._handle, blocks[1].address, fm.streams.NO_STREAM)
    assert library.ferrum_pool_free(*free) == 0
    with pytest.raises(fm.DoubleFreeError):
        pool.free_batch(blocks)
    assert not blocks[0].closed
    blocks[1]._owned.finish()
    pool.free_batch(blocks)
    assert pool.statistics().live_blocks.current == 0


def test_a_free_with_its_size(pool):
    block = pool.alloc(1000)
    with pytest.raises(fm.InvalidSizeError, match="1000"):
        block.free(size_bytes=999)
    assert not block.closed
    block.free(size_bytes=1000)
    assert block.closed
    with pytest.raises(fm.InvalidHandleError):
        _ = block.usable_bytes


def test_same_stream_reuses_memory_at_once(device, stream, gate):
    with fm.Pool(device, small(max_size_bytes=4 * MIB)) as pool:
        stream.host_function(gate.wait)
        block = pool.alloc(4 * MIB, stream=stream)
        block.free(stream)
        again = pool.alloc(4 * MIB, stream=stream)
        assert again.address == block.address
        again.free(stream)
        gate.open()


def test_a_recorded_stream_is_waited_for(device, pool, stream, gate):
    block = pool.alloc(3 * MIB)
    block.record_stream(stream)
    stream.host_function(gate.wait)
    block.free()
    assert device.owner_of(block.address).state == fm.BlockState.IN_FLIGHT
    with pool.alloc(3 * MIB) as other:
        assert abs(other.address - block.address) >= 3 * MIB
    gate.open()
    stream.synchronize()


def test_reset(pool):
    blocks = [pool.alloc(1000) for _ in range(10)]
    batch = pool.alloc_batch(100, 10)
    view = blocks[0].view()
    with pytest.raises(fm.ViewExistsError):
        pool.reset()
    assert pool.statistics().live_blocks.current == 20
    del view
    pool.reset()
    assert batch.closed
    assert all(block.closed for block in blocks)
    assert pool.statistics().live_blocks.current == 0
    blocks[0].free()
    assert pool.statistics().frees == 20


def test_retention(device):
    config = small(min_held_bytes=4 * MIB, release_threshold_bytes=4 * MIB)
    with fm.Pool(device, config) as pool:
        with pool.alloc(4 * MIB), pool.alloc(4 * MIB):
            pass
        assert pool.statistics().reserved.current == 4 * MIB
        assert pool.trim() == 0
        pool.set_min_held(0)
        pool.set_release_threshold(None)
        assert pool.trim() == 4 * MIB
        pool.alloc(4 * MIB).free()
        assert pool.statistics().reserved.current == 4 * MIB
        pool.set_release_threshold(0)
        assert pool.statistics().reserved.current == 0


@pytest.mark.parametrize("strategy", ["best_fit", "size_class", "tlsf", "buddy", "arena", "fixed"])
def test_strategies(device, strategy):
    fixed = strategy == "fixed"
    config = small(
        strategy=strategy,
        fixed_block_bytes=16384 if fixed else 0,
        page_bytes=65536 if fixed else 0,
    )
    with fm.Pool(device, config) as pool:
        blocks = [pool.alloc(16384 if fixed else 300 * i + 1) for i in range(50)]
        assert len({block.address for block in blocks}) == 50
        (books,) = [d for d in fm.snapshot()["devices"] if d["id"] == "cpu:0"]
        assert [p["strategy"] for p in books["pools"]] == [strategy]
        pool.free_batch(blocks)
        pool.trim()
        assert pool.statistics().reserved.current == 0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"strategy": "fixed"}, fm.InvalidConfigError),
        ({"fixed_block_bytes": 4096, "strategy": "best_fit"}, fm.InvalidConfigError),
        ({"page_bytes": 4096, "strategy": "best_fit"}, fm.InvalidConfigError),
        ({"debug": 0x40}, fm.InvalidArgumentError),
        ({"debug": -1}, fm.InvalidArgumentError),
        ({"thread_cache_bytes": -1}, fm.InvalidArgumentError),
        ({"release_threshold_bytes": 2**64}, fm.FerrumOverflowError),
    ],
)
def test_invalid_settings_are_rejected(device, settings, expected):
    with pytest.raises(expected):
        fm.Pool(device, small(**settings))


@pytest.mark.parametrize(
    ("settings", "caches"),
    [
        ({}, True),
        ({"thread_cache_bytes": 65536}, True),
        ({"thread_cache_bytes": 0}, False),
        ({"tracking": True}, False),
        ({"debug": fm.DebugFlags.CALL_SITES}, False),
    ],
)
def test_thread_caches(device, settings, caches):
    with fm.Pool(device, small(**settings)) as pool:
        for _ in range(20):
            pool.alloc(2000).free()
        books = pool.statistics()
        assert (books.thread_cached_bytes > 0) == caches
        assert books.allocations == books.frees == 20
        pool.trim()
        assert pool.statistics().thread_cached_bytes == 0
        assert pool.statistics().reserved.current == 0


def test_blocks_freed_by_another_thread(pool):
    blocks = [pool.alloc(100 * i + 1) for i in range(100)]

    def free() -> None:
        for block in blocks[:50]:
            block.free()
        pool.free_batch(blocks[50:])

    thread = threading.Thread(target=free)
    thread.start()
    thread.join()
    assert pool.statistics().live_blocks.current == 0
    pool.trim()
    assert pool.statistics().reserved.current == 0


def test_red_zones(device):
    import ctypes

    pool = fm.Pool(device, small(debug=fm.DebugFlags.ALL))
    block = pool.alloc(1000)
    ctypes.memset(block.address + block.usable_bytes, 1, 1)
    with pytest.raises(fm.CorruptedError):
        block.free()
    assert block.closed
    assert pool.statistics().live_blocks.current == 0
    pool.check()
    with pool.alloc(100) as block:
        ctypes.memset(block.address - 1, 1, 1)
        with pytest.raises(fm.CorruptedError):
            pool.check()
        pool.check()
    batch = pool.alloc_batch(100, 3)
    ctypes.memset(batch.addresses[1] + 100, 1, 1)
    with pytest.raises(fm.CorruptedError):
        batch.free()
    assert batch.closed
    blocks = [pool.alloc(100), pool.alloc(100)]
    ctypes.memset(blocks[0].address + 100, 1, 1)
    with pytest.raises(fm.CorruptedError):
        pool.free_batch(blocks)
    assert all(block.closed for block in blocks)
    pool.close()


def test_leak_report_names_call_sites(device):
    with fm.Pool(device, small(debug=fm.DebugFlags.CALL_SITES)) as pool, pool.alloc(1000) as block:
        (leak,) = [leak for leak in fm.leak_report().leaks if leak.kind == "block"]
        assert leak.address == block.address
        # The lines of Python come first, then the native functions.
        assert leak.call_site[0].endswith("(test_leak_report_names_call_sites)")
        assert leak.call_site == block.call_site
        native = next(line for line in leak.call_site if line.startswith("libferrum_mem"))
        assert "(ferrum_pool_alloc)" in native
