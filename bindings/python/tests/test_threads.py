"""Many threads on the same objects."""

from __future__ import annotations

import functools
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import ferrum_mem as fm

from .conftest import MIB

THREADS = 8
ROUNDS = 150


def together(work) -> None:
    """Runs work(number) on all threads at once, and raises the first exception."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> None:
        barrier.wait(30)
        work(number)

    with ThreadPoolExecutor(THREADS) as threads:
        for done in [threads.submit(run, number) for number in range(THREADS)]:
            done.result(120)


def test_threads_on_one_manager_and_one_pool(manager, pool):
    def work(number: int) -> None:
        rng = random.Random(number)
        held: list[tuple[fm.Memory | fm.PoolBlock, int]] = []
        for _ in range(ROUNDS):
            if held and rng.random() < 0.5:
                block, mark = held.pop(rng.randrange(len(held)))
                view = block.view()
                assert view[0] == view[-1] == mark
                del view
                block.close()
            else:
                size = rng.randint(1, 64 << 10)
                block = manager.alloc(size) if rng.random() < 0.5 else pool.alloc(size)
                mark = rng.randrange(256)
                view = block.view()
                view[0] = view[-1] = mark
                del view
                held.append((block, mark))
        for block, _ in held:
            block.close()

    together(work)
    for owner in (manager, pool):
        books = owner.statistics()
        assert books.live_blocks.current == books.requested.current == 0
        assert books.allocations == books.frees > 0


def _free(block: fm.PoolBlock, _number: int) -> None:
    block.free()


def test_a_block_is_freed_once_by_many(pool):
    for _ in range(50):
        block = pool.alloc(10)
        together(functools.partial(_free, block))
    assert pool.statistics().frees == 50


def test_views_against_frees(pool):
    """Each thread gets either a view of live memory or an error."""
    for _ in range(30):
        block = pool.alloc(4096)
        freed: list[int] = []

        def work(number: int, block=block, freed=freed) -> None:
            try:
                if number % 2:
                    block.view()[0] = number
                else:
                    block.free()
                    freed.append(number)
            except (fm.ViewExistsError, fm.InvalidHandleError):
                pass

        together(work)
        assert block.closed == bool(freed)
        block.free()


def test_streams_and_host_functions(device):
    seen: list[tuple[int, int]] = []

    def work(number: int) -> None:
        with fm.Stream(device) as stream:
            for step in range(ROUNDS):
                stream.host_function(functools.partial(seen.append, (number, step)))
                if step % 10 == 0:
                    with stream.record_event() as event:
                        event.synchronize()
            stream.synchronize()

    together(work)
    assert len(seen) == THREADS * ROUNDS
    for number in range(THREADS):
        steps = [step for who, step in seen if who == number]
        assert steps == list(range(ROUNDS))


def test_devices_are_opened_and_closed_by_many():
    def work(number: int) -> None:
        for _ in range(40):
            with fm.Device(f"cpu:{number % 2}") as device:
                assert device.info().total_bytes == 512 * MIB

    together(work)


def test_log_callbacks_are_set_by_many():
    def work(number: int) -> None:
        for _ in range(20):
            fm.set_log_callback(lambda level, text: None, fm.LogLevel.DEBUG)
            with fm.Device("cpu:0"):
                pass

    together(work)
    fm.set_log_callback(None)
    from ferrum_mem import _callbacks

    assert not _callbacks.has_log_callback()
