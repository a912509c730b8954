"""Pools and their blocks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import ferrum_mem as fm
import pytest

from .conftest import MIB, SMALL, eventually


def test_blocks(pool):
    with pool.alloc(1000) as first, pool.alloc(1000, alignment_bytes=4096) as second:
        assert first.address % 256 == 0
        assert second.address % 4096 == 0
        assert abs(first.address - second.address) >= 1000
        assert len(first) == first.size_bytes == 1000
        assert first.pool is pool
        assert pool.statistics().requested.current == 2000
    assert pool.statistics().live_blocks.current == 0


def test_second_free_does_nothing(pool):
    block = pool.alloc(10)
    block.free()
    block.free()
    block.close()
    assert block.closed
    assert pool.statistics().frees == 1
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        block.view()


def test_double_free_in_the_library_is_reported(pool):
    """The package frees a block once; the library's error for a second free reaches the caller."""
    from ferrum_mem import _native

    block = pool.alloc(10)
    library = _native.functions()
    free = (pool._handle, block.address, fm.streams.NO_STREAM)
    assert library.ferrum_pool_free(*free) == 0
    with pytest.raises(fm.DoubleFreeError):
        block.free()
    with pytest.raises(fm.InvalidAddressError):
        _native.check(library.ferrum_pool_free(pool._handle, 4096, fm.streams.NO_STREAM))
    block._owned.finish()


def test_a_block_freed_on_a_stream_waits_for_it(device, gate):
    config = fm.PoolConfig(initial_size_bytes=MIB, max_size_bytes=MIB, growth_increment_bytes=MIB)
    with fm.Pool(device, config) as pool, fm.Stream(device) as stream:
        block = pool.alloc(MIB, stream=stream)
        stream.host_function(gate.wait)
        block.free(stream)
        assert pool.statistics().active.current == MIB
        assert pool.statistics().live_blocks.current == 0
        # Waits for the queued work, because there is no other memory.
        with ThreadPoolExecutor() as threads:
            again = threads.submit(pool.alloc, MIB)
            gate.open()
            again.result(30).free()


@pytest.mark.parametrize("size", [0, 2**63, 2**64 - 1])
def test_invalid_sizes_are_rejected(pool, size):
    before = pool.statistics().reserved
    with pytest.raises((fm.InvalidSizeError, fm.FerrumOverflowError, fm.OutOfMemoryError)):
        pool.alloc(size)
    assert pool.statistics().reserved == before


@pytest.mark.parametrize("alignment", [0, 3, 100, 1 << 31])
def test_invalid_alignments_are_rejected(pool, alignment):
    with pytest.raises(fm.InvalidAlignmentError):
        pool.alloc(8, alignment_bytes=alignment)


def test_out_of_memory_states_the_holders(device):
    config = fm.PoolConfig(
        name="tight", initial_size_bytes=MIB, max_size_bytes=MIB, growth_increment_bytes=MIB
    )
    with fm.Pool(device, config) as pool, pool.alloc(MIB // 2):
        with pytest.raises(MemoryError) as caught:
            pool.alloc(MIB)
        error = caught.value
        assert isinstance(error, fm.OutOfMemoryError)
        assert "no memory for 1 MiB" in error.message
        assert "tight" in error.message
        assert pool.statistics().failures == 1
        pool.set_limit(4 * MIB)
        pool.alloc(MIB).free()
        pool.set_limit(None)


@pytest.mark.parametrize(("paging", "taken"), [(fm.Paging.ON, 2 * MIB), (fm.Paging.OFF, 4 * MIB)])
def test_trim(device, paging, taken):
    config = replace(SMALL, paging=paging, ready_pages=fm.READY_PAGES_ALL)
    with fm.Pool(device, config) as pool:
        pool.alloc(MIB).free()
        held = pool.statistics().reserved.current
        assert held == taken
        assert pool.trim(held) == 0
        assert pool.trim() == held
        assert pool.statistics().reserved.current == 0


def test_pages(device):
    config = replace(
        SMALL, ready_pages=fm.READY_PAGES_ALL, physical_page_bytes=1 << 16, max_size_bytes=MIB * 32
    )
    with fm.Pool(device, config) as pool:
        assert pool.info().page_bytes == 1 << 16
        block = pool.alloc(3 << 16)
        pool.alloc(1 << 16).free()
        info = pool.info()
        assert (info.mapped_pages, info.idle_pages, info.segments) == (4, 1, 1)
        assert info.held_bytes == 4 << 16
        assert info.address_bytes >= 32 * MIB
        block.free()
        (books,) = [d for d in fm.snapshot()["devices"] if d["id"] == "cpu:0"]
        assert books["pools"][0]["info"]["idle_pages"] == 4
    with fm.Pool(device, replace(SMALL, paging=fm.Paging.OFF)) as pool, pool.alloc(1):
        info = pool.info()
        assert (info.page_bytes, info.mapped_pages, info.idle_pages) == (0, 0, 0)
        assert (info.held_bytes, info.address_bytes) == (4 * MIB, 4 * MIB)
    # A page would be a large part of the pool.
    tight = fm.PoolConfig(max_size_bytes=16 * MIB, initial_size_bytes=MIB)
    with fm.Pool(device, tight) as pool:
        assert pool.info().page_bytes == 0


def test_idle_pages_are_released(device):
    config = replace(SMALL, paging=fm.Paging.ON, ready_pages=2)
    with fm.Pool(device, config) as pool:
        pool.alloc(40 * MIB).free()
        eventually(lambda: pool.info().held_bytes == 4 * MIB)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"physical_page_bytes": 3 << 20}, fm.InvalidPageSizeError),
        ({"physical_page_bytes": 4096}, fm.InvalidPageSizeError),
        ({"physical_page_bytes": -1}, fm.InvalidArgumentError),
        ({"ready_pages": -1}, fm.InvalidArgumentError),
        ({"ready_pages": 2**32}, fm.FerrumOverflowError),
        ({"paging": 3}, ValueError),
    ],
)
def test_invalid_page_settings_are_rejected(device, settings, expected):
    with pytest.raises(expected):
        fm.Pool(device, replace(SMALL, **settings))


def test_busy_and_force(device):
    pool = fm.Pool(device, SMALL)
    block = pool.alloc(10)
    with pytest.raises(fm.BusyError):
        pool.close()
    assert not pool.closed
    assert block.view()[0] == 0
    pool.close(force=True)
    assert pool.closed
    assert block.closed
    block.free()
    with pytest.raises(fm.InvalidHandleError):
        pool.alloc(10)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"initial_size_bytes": 2 * MIB, "max_size_bytes": MIB}, fm.InvalidConfigError),
        ({"initial_size_bytes": 1 << 30, "max_size_bytes": MIB}, fm.InvalidConfigError),
        ({"growth_increment_bytes": 0}, fm.InvalidConfigError),
        ({"alignment_bytes": 3}, fm.InvalidAlignmentError),
        ({"strategy": "worst_fit"}, fm.NotFoundError),
        ({"name": "n" * 64}, fm.InvalidArgumentError),
        ({"pre_allocate": True, "initial_size_bytes": 1 << 40}, fm.OutOfMemoryError),
    ],
)
def test_invalid_settings_are_rejected(device, settings, expected):
    with pytest.raises(expected):
        fm.Pool(device, fm.PoolConfig(**settings))


def test_settings_take_effect(device):
    config = fm.PoolConfig(
        enable_auto_expansion=False,
        initial_size_bytes=MIB,
        alignment_bytes=4096,
        pre_allocate=True,
        strategy="best_fit",
        name="käse",
    )
    with fm.Pool(device, config) as pool:
        assert "käse" in repr(pool)
        assert pool.statistics().reserved.current == MIB
        with pool.alloc(1) as block:
            assert block.address % 4096 == 0
            (books,) = [d for d in fm.snapshot()["devices"] if d["id"] == "cpu:0"]
            assert [p["name"] for p in books["pools"]] == ["käse"]
        with pytest.raises(fm.OutOfMemoryError):
            pool.alloc(2 * MIB)


def test_the_defaults_are_the_librarys():
    from ferrum_mem import _abi
    from ferrum_mem.managers import _abi_config

    assert bytes(fm.PoolConfig().to_abi()) == bytes(_abi.ferrum_pool_config.init())
    config, _ = _abi_config(fm.ManagerConfig())
    assert bytes(config) == bytes(_abi.ferrum_manager_config.init())
