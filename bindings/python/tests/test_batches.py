"""Batches as sequences of blocks: single blocks have views and are freed by themselves."""

from __future__ import annotations

import gc
import random
import threading
import warnings

import ferrum_mem as fm
import numpy
import pytest

from .conftest import Gate


def live(pool: fm.Pool) -> int:
    """The number of live blocks, according to the library."""
    return pool.statistics().live_blocks.current


def test_a_batch_is_a_sequence_of_blocks(pool):
    with pool.alloc_batch(1000, 5) as batch:
        assert len(batch) == 5
        blocks = list(batch)
        assert [block.address for block in blocks] == list(batch.addresses)
        assert all(type(block) is fm.PoolBlock and len(block) == 1000 for block in blocks)
        assert batch[-1] is batch[4] is blocks[4]
        assert batch[1:3] == (blocks[1], blocks[2])
        assert batch[::-2] == (blocks[4], blocks[2], blocks[0])
        assert batch.index(blocks[3]) == 3
        assert blocks[2] in batch
        assert list(reversed(batch)) == blocks[::-1]
        assert [pool] not in batch
        for index in (5, -6):
            with pytest.raises(IndexError):
                _ = batch[index]
        assert batch[0].owner().requested_bytes == 1000
        assert batch[0].usable_bytes >= 1000
    assert batch.closed
    assert all(block.closed for block in blocks)
    assert batch[1].closed


def test_views_of_single_blocks(pool):
    with pool.alloc_batch(4096, 3) as batch:
        batch[0].view()[:5] = b"hello"
        array = batch[0].as_numpy("uint8")
        assert bytes(array[:5]) == b"hello"
        shared = numpy.from_dlpack(batch[1])
        shared[:] = 7
        assert bytes(batch[1].view()[:2]) == b"\7\7"
        del array, shared
    for get in (lambda b: b.view(), lambda b: b.__dlpack__(), lambda b: b.as_numpy()):
        with pytest.raises(fm.InvalidHandleError, match="has been closed"):
            get(batch[0])


def test_a_block_is_freed_by_itself(pool):
    batch = pool.alloc_batch(1000, 4)
    kept = batch[0]
    batch[1].free()
    with batch[2]:
        pass
    assert live(pool) == 2
    assert [block.closed for block in batch] == [False, True, True, False]
    with pytest.raises(fm.InvalidHandleError):
        batch[1].view()
    batch[1].free()
    taken = [pool.alloc_address(1000) for _ in range(2)]
    batch.free()
    assert kept.closed
    assert live(pool) == 2
    batch.free()
    for address in taken:
        pool.free_address(address)


def test_the_last_single_free_ends_the_batch(pool):
    batch = pool.alloc_batch(100, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch[0].free()
        assert not batch.closed
        batch[1].free(size_bytes=100)
        assert batch.closed
        del batch
        gc.collect()
    assert live(pool) == 0


def test_a_view_of_one_block_keeps_the_batch(pool):
    batch = pool.alloc_batch(1000, 3)
    view = batch[1].view()
    for end in (batch.free, batch[1].free, lambda: pool.close(force=True), pool.reset):
        with pytest.raises(fm.ViewExistsError, match="PoolBlock of 1000 bytes"):
            end()
    assert live(pool) == 3
    batch[0].free()
    with pytest.raises(fm.ViewExistsError):
        pool.free_batch(batch)
    assert [block.closed for block in batch] == [True, False, False]
    view[0] = 1
    del view
    batch.free()
    assert live(pool) == 0


def test_view_keeps_its_batch_alive(pool):
    view = pool.alloc_batch(1000, 3)[1].view()
    view[:3] = b"abc"
    gc.collect()
    assert live(pool) == 3
    assert bytes(view[:3]) == b"abc"
    with pytest.warns(ResourceWarning, match="unclosed ferrum_mem.PoolBatch of 3 blocks"):
        view = None
    assert live(pool) == 0


def test_a_block_that_is_dropped_stays_with_its_batch(pool):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pool.alloc_batch(1000, 3) as batch:
            for block in batch:
                block.view()[0] = 9
            del block
            gc.collect()
            assert live(pool) == 3
            assert batch[0].view()[0] == 9


def test_exception_in_a_batch_context_leaks_nothing(pool):
    def stumble(*, is_seen: bool) -> None:
        with pool.alloc_batch(1000, 4) as batch:
            batch[0].free()
            view = batch[2].view() if is_seen else None
            raise KeyError(view)

    with pytest.raises(KeyError):
        stumble(is_seen=False)
    assert live(pool) == 0

    def told() -> list[str]:
        try:
            stumble(is_seen=True)
        except KeyError as error:
            assert live(pool) == 3
            return notes(error)
        return []

    with pytest.warns(ResourceWarning, match="unclosed ferrum_mem.PoolBatch"):
        texts = told()
    assert any("could not be closed: ViewExistsError" in text for text in texts)
    assert live(pool) == 0


def notes(error: BaseException) -> list[str]:
    if not hasattr(error, "__notes__"):
        pytest.skip("exceptions have no notes here")
    return list(error.__notes__)


def test_free_batch_frees_members_of_batches(pool, device):
    batch, other = pool.alloc_batch(100, 6), pool.alloc_batch(200, 2)
    single = pool.alloc(300)
    pool.free_batch(batch[:2])
    pool.free_batch([batch[1], batch[2], single, *other])
    assert other.closed
    assert live(pool) == 3
    pool.free_batch(batch)
    assert batch.closed
    assert live(pool) == 0
    with fm.Pool(device) as foreign, foreign.alloc_batch(8, 2) as strange:
        with pytest.raises(fm.InvalidArgumentError) as error:
            pool.free_batch(strange)
        assert "blocks[0] belongs to" in str(error.value)


def test_free_address_rejects_a_block_of_a_batch(pool):
    with pool.alloc_batch(100, 2) as batch, pytest.raises(fm.InvalidArgumentError, match="free"):
        pool.free_address(batch.addresses[1])
    with pytest.raises(fm.DoubleFreeError):
        pool.free_address(batch.addresses[1])


def test_reset_and_close_end_batches(device):
    pool = fm.Pool(device)
    batch = pool.alloc_batch(100, 3)
    block = batch[0]
    with pytest.raises(fm.BusyError):
        pool.close()
    pool.reset()
    assert block.closed
    assert batch[1].closed
    batch.free()
    second = pool.alloc_batch(100, 3)
    pool.close(force=True)
    assert second.closed
    assert second[0].closed
    assert batch.closed


def test_a_free_that_fails_changes_nothing(pool):
    batch = pool.alloc_batch(100, 3)
    with pytest.raises(fm.InvalidSizeError):
        batch[1].free(size_bytes=99)
    stream = fm.Stream(pool.device)
    stream.close()
    with pytest.raises(fm.InvalidHandleError):
        batch[1].free(stream)
    with pytest.raises(fm.InvalidHandleError):
        batch.free(stream)
    assert [block.closed for block in batch] == [False] * 3
    with pytest.raises(fm.InvalidArgumentError, match="belongs to a PoolBlock"):
        pool.free_address(batch.addresses[2])
    batch.free()


def test_single_blocks_wait_for_the_stream_of_their_batch(pool, stream, gate: Gate):
    batch = pool.alloc_batch(4096, 3, stream=stream)
    stream.host_function(gate.wait)
    taken = batch[1].address
    batch[1].free()
    blocks = [pool.alloc_address(4096) for _ in range(50)]
    assert taken not in blocks
    gate.open()
    stream.synchronize()
    batch.free()
    for address in blocks:
        pool.free_address(address)


def test_random_batches_match_a_reference_model(pool):
    """Random steps on several batches, compared with the library's number of live blocks."""
    random_steps = random.Random(7)
    batches: list[tuple[fm.PoolBatch, list[bool]]] = []
    views: list[tuple[int, int, memoryview]] = []
    for _ in range(600):
        step = random_steps.randrange(6)
        if step == 0 or not batches:
            count = random_steps.randint(1, 8)
            batches.append((pool.alloc_batch(256, count), [True] * count))
            continue
        at = random_steps.randrange(len(batches))
        batch, is_live = batches[at]
        index = random_steps.randrange(len(batch))
        seen = {each for where, each, _ in views if where == id(batch)}
        if step == 1 and is_live[index]:
            views.append((id(batch), index, batch[index].view()))
        elif step == 2 and views:
            views.pop(random_steps.randrange(len(views)))
        elif step in (3, 4):
            try:
                batch[index].free()
                is_live[index] = False
            except fm.ViewExistsError:
                assert index in seen
            assert is_live[index] == (index in seen)
        elif step == 5:
            try:
                batch.free()
                assert not seen
                batches.pop(at)
            except fm.ViewExistsError:
                assert seen
        assert live(pool) == sum(sum(each) for _, each in batches)
        assert [block.closed for block in batch] == [not each for each in is_live] or batch.closed
    views.clear()
    for batch, _ in batches:
        batch.free()
    assert live(pool) == 0


def test_threads_free_the_same_blocks_once(pool):
    for _ in range(30):
        batch = pool.alloc_batch(128, 64)
        start = threading.Barrier(4)

        def each(step: int, batch: fm.PoolBatch = batch, start: threading.Barrier = start) -> None:
            start.wait()
            for block in batch[::step]:
                block.free()
            batch.free()

        threads = [threading.Thread(target=each, args=(step,)) for step in (1, -1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert batch.closed
        assert live(pool) == 0
