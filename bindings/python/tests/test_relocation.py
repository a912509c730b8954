"""Relocatable blocks, and what keeps them at their address."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import ferrum_mem as fm
import pytest

from .conftest import eventually

KIB = 1 << 10
PAGE = 64 * KIB


@pytest.fixture(params=[fm.Paging.ON, fm.Paging.OFF])
def manager(device: fm.Device, request: pytest.FixtureRequest) -> Iterator[fm.Manager]:
    pool = fm.PoolConfig(
        initial_size_bytes=PAGE,
        growth_increment_bytes=PAGE,
        paging=request.param,
        physical_page_bytes=PAGE,
    )
    config = fm.ManagerConfig(pool_configs={fm.MemoryType.GENERAL: pool})
    with fm.Manager(device, config) as made:
        yield made


@pytest.fixture
def scattered(manager: fm.Manager) -> Iterator[list[fm.Memory]]:
    """Every fourth of 64 blocks of 4 KiB stays, in four pages or segments."""
    blocks = [manager.alloc(4 * KIB, tag="kv", relocatable=True) for _ in range(64)]
    left = blocks[::4]
    for i, block in enumerate(blocks):
        if i % 4:
            block.close()
        else:
            block.write(bytes([i + 1]) * (4 * KIB))
    yield left
    for block in left:
        block.close()


def intact(left: list[fm.Memory]) -> bool:
    return all(b.read() == bytes([4 * i + 1]) * (4 * KIB) for i, b in enumerate(left))


def counted(stats: fm.DefragmentationStats, blocks: int = 16) -> fm.DefragmentationStats:
    skipped = (
        stats.skipped_not_relocatable
        + stats.skipped_debugged
        + stats.skipped_pinned
        + stats.skipped_in_use
        + stats.skipped_no_room
        + stats.skipped_over_budget
        + stats.skipped_mapped
    )
    assert stats.blocks_skipped == skipped
    assert stats.blocks_moved + skipped + stats.blocks_kept == blocks
    return stats


def test_blocks_are_packed(manager, scattered):
    assert all(block.relocatable and block.info().is_relocatable for block in scattered)
    addresses = [block.address for block in scattered]
    stats = counted(manager.defragment())
    assert (stats.blocks_moved, stats.blocks_kept) == (12, 4)
    assert stats.bytes_moved == 12 * 4 * KIB
    assert stats.pages_emptied + stats.segments_emptied == 3
    assert not stats.budget_ended
    assert manager.statistics().reserved.current == PAGE
    assert sum(b.address != a for a, b in zip(addresses, scattered, strict=True)) == 12
    assert intact(scattered)
    assert all(block.info().tag == "kv" for block in scattered)
    assert counted(manager.defragment()).blocks_moved == 0


def test_only_relocatable_blocks_move(manager):
    with manager.alloc(100) as block:
        assert not block.relocatable
        assert not block.info().is_relocatable
        assert counted(manager.defragment(), 1).skipped_not_relocatable == 1


def test_mapped_blocks_stay(manager, scattered):
    addresses = [block.address for block in scattered]
    mapped = [block.map(fm.HostAccess.READ_ONLY) for block in scattered]
    assert counted(manager.defragment()).skipped_mapped == 16
    assert [block.address for block in scattered] == addresses
    for mapping in mapped:
        mapping.close()
    assert counted(manager.defragment()).blocks_moved == 12
    assert intact(scattered)


def test_small_budgets_make_progress(manager, scattered):
    while counted(manager.defragment(1e-3)).budget_ended:
        pass
    assert manager.statistics().reserved.current == PAGE
    assert intact(scattered)


def test_budget(manager, scattered):
    stats = counted(manager.defragment(0))
    assert stats.skipped_over_budget == 16
    assert stats.budget_ended
    with pytest.raises(fm.InvalidArgumentError, match="budget_s"):
        manager.defragment(-1)
    assert counted(manager.defragment(3600)).blocks_moved == 12
    assert intact(scattered)


def test_pins_nest(manager, scattered):
    addresses = [block.pin() for block in scattered]
    with scattered[3].pinned() as address:
        assert address == addresses[3] == scattered[3].address
        assert scattered[3].info().pin_count == 2
    assert scattered[3].info().pin_count == 1
    assert counted(manager.defragment()).skipped_pinned == 16
    with pytest.raises(fm.BusyError, match="pinned"):
        scattered[3].close()
    assert [block.address for block in scattered] == addresses
    for block in scattered:
        block.unpin()
        with pytest.raises(fm.InvalidStateError, match="not pinned"):
            block.unpin()
    assert counted(manager.defragment()).blocks_moved == 12


def test_a_view_keeps_its_block(manager, scattered):
    last = scattered[-1]
    view = last.view()
    assert last.info().pin_count == 1
    before = last.address
    array = last.as_numpy("uint8")
    stats = counted(manager.defragment())
    assert stats.skipped_pinned == 1
    assert last.address == before
    assert view[7] == array[7] == 61
    with pytest.raises(fm.ViewExistsError):
        last.close()
    del view, array
    gc.collect()
    assert last.info().pin_count == 0
    manager.defragment()
    assert manager.statistics().reserved.current == PAGE
    assert intact(scattered)
    buffer = last.buffer
    del buffer
    last.close()


def test_pinned_block_ends_with_its_manager(manager):
    blocks = [manager.alloc(100, relocatable=True)]
    blocks[0].pin()
    with pytest.warns(ResourceWarning, match="unclosed"):
        blocks.clear()
    # A background thread frees it by force. The statistics change before its call has ended,
    # and until then the manager is in use.
    eventually(lambda: "memory" not in [leak.kind for leak in fm.leak_report().leaks])
    assert manager.statistics().live_blocks.current == 0


def test_closed_blocks_have_no_pins(manager):
    block = manager.alloc(100, relocatable=True)
    block.close()
    for call in (block.pin, block.unpin, lambda: block.buffer):
        with pytest.raises(fm.InvalidHandleError, match="closed"):
            call()
