"""Blocks of a pool by address, and blocks without a record."""

from __future__ import annotations

import gc
import signal
import threading
import warnings
from collections.abc import Iterator

import ferrum_mem as fm
import pytest
from ferrum_mem import _quick

from .conftest import MIB, SMALL, Run
from .test_threads import together


@pytest.fixture(params=[0, 1 << 20], ids=["no_thread_cache", "thread_cache"])
def pool(device: fm.Device, request: pytest.FixtureRequest) -> Iterator[fm.Pool]:
    config = fm.PoolConfig(
        initial_size_bytes=4 * MIB, growth_increment_bytes=4 * MIB, thread_cache_bytes=request.param
    )
    with fm.Pool(device, config) as made:
        yield made


def live(pool: fm.Pool) -> int:
    return pool.statistics().live_blocks.current


def test_addresses(pool):
    first, second = pool.alloc_address(1000), pool.alloc_address(1000)
    assert type(first) is int
    assert first % 256 == 0
    assert abs(first - second) >= 1000
    assert pool.device.owner_of(first).size_bytes >= 1000
    assert live(pool) == 2
    pool.free_address(first)
    pool.free_address(second)
    assert live(pool) == 0


def test_addresses_of_a_stream_wait_for_it(device, gate):
    config = fm.PoolConfig(
        initial_size_bytes=MIB,
        max_size_bytes=MIB,
        growth_increment_bytes=MIB,
        thread_cache_bytes=0,
    )
    with fm.Pool(device, config) as pool, fm.Stream(device) as stream:
        own = pool.alloc_address(MIB // 2, stream=stream)
        named = pool.alloc_address(MIB // 2)
        stream.host_function(gate.wait)
        pool.free_address(own)
        pool.free_address(named, stream=stream)
        assert live(pool) == 0
        assert pool.statistics().active.current == MIB
        gate.open()
        stream.synchronize()
        pool.free_address(pool.alloc_address(MIB))
        stream.close()
        with pytest.raises(fm.InvalidHandleError, match="closed"):
            pool.alloc_address(1, stream=stream)
        address = pool.alloc_address(1)
        with pytest.raises(fm.InvalidHandleError, match="closed"):
            pool.free_address(address, stream=stream)
        pool.free_address(address)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (0, fm.InvalidAddressError),
        (4096, fm.InvalidAddressError),
        (2**64 - 1, fm.InvalidAddressError),
        (-1, fm.InvalidArgumentError),
        (2**64, fm.FerrumOverflowError),
        ("one", TypeError),
        (1.5, TypeError),
        (None, TypeError),
    ],
)
def test_free_address_rejects_invalid_addresses(pool, address, expected):
    with pytest.raises(expected):
        pool.free_address(address)
    inside = pool.alloc_address(4096)
    with pytest.raises(fm.InvalidAddressError):
        pool.free_address(inside + 256)
    pool.free_address(inside)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, fm.InvalidSizeError),
        (2**63, fm.FerrumError),
        (2**64 - 1, fm.FerrumError),
        (-1, fm.InvalidArgumentError),
        (2**64, fm.FerrumOverflowError),
        ("one", TypeError),
        (1.5, TypeError),
        (None, TypeError),
    ],
)
def test_invalid_sizes_are_rejected(pool, size, expected):
    for call in (pool.alloc_address, pool.alloc):
        with pytest.raises(expected):
            call(size)
    assert live(pool) == 0


def test_index_objects_are_sizes(pool):
    class Index:
        def __init__(self, number: int) -> None:
            self.number = number

        def __index__(self) -> int:
            return self.number

    address = pool.alloc_address(Index(1000))
    pool.free_address(Index(address))
    with pool.alloc(Index(1000)) as block:
        assert type(block.size_bytes) is int
        assert len(block) == 1000


def test_errors_name_the_function_and_the_numbers(pool):
    with pytest.raises(fm.InvalidSizeError) as size:
        pool.alloc_address(0)
    with pytest.raises(fm.InvalidAddressError) as address:
        pool.free_address(4096)
    assert (size.value.function, address.value.function) == (
        "ferrum_pool_alloc",
        "ferrum_pool_free",
    )


def test_a_second_free_is_reported(pool):
    address = pool.alloc_address(100)
    pool.free_address(address)
    with pytest.raises(fm.DoubleFreeError):
        pool.free_address(address)
    assert pool.statistics().frees == 1


def test_address_of_another_pool_is_rejected(device, pool):
    with fm.Pool(device, SMALL) as other:
        address = other.alloc_address(100)
        with pytest.raises(fm.InvalidAddressError):
            pool.free_address(address)
        other.free_address(address)


def test_address_of_a_pool_block_is_rejected(pool):
    """The object may have a view, and would later free the block of another owner."""
    plain, seen = pool.alloc(100), pool.alloc(100)
    view = seen.view()
    for block in (plain, seen):
        with pytest.raises(fm.InvalidArgumentError, match="PoolBlock"):
            pool.free_address(block.address)
    del view
    addresses = [plain.address, seen.address]
    plain.free()
    seen.free()
    for address in addresses:
        with pytest.raises(fm.DoubleFreeError):
            pool.free_address(address)


def test_addresses_keep_their_pool_busy(device):
    pool = fm.Pool(device, SMALL)
    address = pool.alloc_address(100)
    with pytest.raises(fm.BusyError):
        pool.close()
    pool.reset()
    with pytest.raises(fm.DoubleFreeError):
        pool.free_address(address)
    address = pool.alloc_address(100)
    pool.close(force=True)
    with pytest.raises(fm.InvalidHandleError, match="Pool on cpu:0 has been closed"):
        pool.free_address(address)
    with pytest.raises(fm.InvalidHandleError, match="Pool on cpu:0 has been closed"):
        pool.alloc_address(100)


def test_addresses_of_many_threads(pool):
    held: set[int] = set()

    def work(number: int) -> None:
        mine = []
        for i in range(300):
            address = pool.alloc_address(256 + 256 * (i % 3))
            assert address not in held
            held.add(address)
            mine.append(address)
            if i % 2:
                freed = mine.pop(i % len(mine))
                held.remove(freed)
                pool.free_address(freed)
        for address in mine:
            held.remove(address)
            pool.free_address(address)

    together(work)
    books = pool.statistics()
    assert books.live_blocks.current == 0
    assert books.allocations == books.frees == 8 * 300


def test_a_signal_handler_may_allocate(pool):
    """The handler runs between two instructions of a running call."""
    held: list[int] = []

    def handler(_number: int, _frame: object) -> None:
        held.append(pool.alloc_address(512))
        pool.alloc(512).free()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    try:
        while len(held) < 200:
            first, second = pool.alloc_address(256), pool.alloc_address(256)
            assert abs(first - second) >= 256
            pool.free_address(first)
            pool.free_address(second)
            pool.alloc(256).free()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(set(held)) == len(held)
    for address in held:
        pool.free_address(address)
    assert live(pool) == 0


def test_more_calls_at_once_than_there_are_slips(pool, monkeypatch):
    none: list[_quick.Slip] = []
    monkeypatch.setattr(fm.pools, "take_slip", none.pop)
    monkeypatch.setattr(fm.blocks, "take_slip", none.pop)
    for _ in range(3):
        pool.free_address(pool.alloc_address(100))
        none.clear()
        pool.alloc(100).free()
    assert pool.statistics().frees == 6


def test_a_block_has_no_record_until_it_needs_one(pool):
    with pool.alloc(100) as block:
        assert block._record is None
        assert not block.closed
        assert block.usable_bytes >= 100
        assert block._record is None
        view = block.view()
        assert block._record is not None
        assert not block.closed
        with pytest.raises(fm.ViewExistsError):
            block.free()
        del view
    assert block.closed


def test_threads_free_a_block_once(pool):
    blocks = [pool.alloc(256) for _ in range(200)]

    def work(number: int) -> None:
        for i, block in enumerate(blocks):
            if (i + number) % 3:
                block.free()
            else:
                repr(block)
                block.close()

    together(work)
    books = pool.statistics()
    assert books.live_blocks.current == 0
    assert books.frees == 200
    assert all(block.closed for block in blocks)


def test_a_free_that_fails_leaves_the_block_live(pool):
    from ferrum_mem import _native

    block = pool.alloc(100)
    free = (pool._handle, block.address, fm.streams.NO_STREAM)
    assert _native.functions().ferrum_pool_free(*free) == 0
    for _ in range(2):
        with pytest.raises(fm.DoubleFreeError):
            block.free()
        assert not block.closed
    with pytest.raises(fm.DoubleFreeError):
        pool.free_batch([block])
    block._owned.finish()
    assert block.closed


@pytest.mark.parametrize("has_record", [False, True])
def test_blocks_end_with_their_pool(device, has_record):
    pool = fm.Pool(device, SMALL)
    block, other = pool.alloc(100), pool.alloc(100)
    if has_record:
        block.view().release()
    pool.reset()
    assert block.closed
    # These may have the same addresses; ending the old blocks must not affect them.
    again = [pool.alloc(100) for _ in range(4)]
    block.free()
    del other
    gc.collect()
    assert live(pool) == 4
    assert not any(block.closed for block in again)
    pool.close(force=True)
    assert all(block.closed for block in again)
    again[0].free()
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        again[0].view()
    assert "closed" in repr(again[1])


def test_a_block_that_is_dropped_in_a_callback_is_freed(device, pool, stream):
    held = [pool.alloc(100), pool.alloc(100)]
    held[1].view()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        stream.host_function(held.clear)
        stream.synchronize()
    for _ in range(500):
        if live(pool) == 0:
            break
        threading.Event().wait(0.01)
    assert live(pool) == 0
    assert [str(w.message) for w in told] == [
        "unclosed ferrum_mem.PoolBlock of 100 bytes on cpu:0"
    ] * 2


def test_the_warning_names_the_line_that_dropped_the_block(pool):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pool.alloc(100)
    assert [w.filename for w in told] == [__file__]
    assert live(pool) == 0


def test_collected_pool_ends_with_its_last_block(device):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pool = fm.Pool(device, SMALL)
        block = pool.alloc(100)
        pool._owned.abandon()
        assert not pool.closed
        block.free()
        assert pool.closed
    assert len(told) == 1


def test_blocks_may_be_left_at_exit(run_python: Run):
    done = run_python(
        """
import ferrum_mem as fm
device = fm.Device("cpu:0")
pool = fm.Pool(device)
plain, seen = pool.alloc(100), pool.alloc(100)
view = seen.view()
cycle = [pool.alloc(100)]
cycle.append(cycle)
address = pool.alloc_address(100)
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
