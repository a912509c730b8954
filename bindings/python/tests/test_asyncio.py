"""The awaitable calls: results, errors, order, cancellation, and a loop that is never blocked.
Each test runs a loop of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import ferrum_mem as fm
import pytest

from .conftest import MIB, SMALL, Gate, eventually

ORDINARY = fm.ManagerConfig(pool_configs={fm.MemoryType.GENERAL: SMALL})


def counting(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


async def reached(gate: Gate) -> None:
    """Waits until the stream is blocked at the gate."""
    await asyncio.get_running_loop().run_in_executor(None, gate.reached.wait)


def all_blocks_end(device: fm.Device) -> None:
    """Waits for the frees of other threads. A device counts a block as freed before the call
    that frees it has ended, and until then its manager is in use.
    """
    eventually(lambda: "memory" not in [leak.kind for leak in fm.leak_report().leaks])
    assert device.memory_info().active_allocations == 0


def test_copies_and_fills(device, other_device, manager):
    with fm.Manager(other_device, ORDINARY) as theirs:

        async def main() -> None:
            source = await manager.alloc_async(4 * MIB, tag="source")
            target = await theirs.alloc_async(4 * MIB, alignment_bytes=1 << 16)
            data = counting(4 * MIB, 1)
            await source.write_async(data)
            await manager.copy_async(target, source)
            assert await target.read_async() == data
            await theirs.copy_async(target, source, 100, source_offset_bytes=MIB, offset_bytes=10)
            assert await target.read_async(100, 10) == data[MIB : MIB + 100]
            into = bytearray(50)
            await target.read_into_async(into, 20)
            assert into == data[MIB + 10 : MIB + 60]
            await theirs.fill_async(target, 0x0102, 8, pattern_bytes=2, offset_bytes=4)
            assert await target.read_async(8, 4) == b"\x02\x01" * 4
            with fm.Stream(other_device) as stream:
                await manager.copy_async(target, source, 5, stream=stream)
                await theirs.fill_async(target, 9, 5, offset_bytes=5, stream=stream)
                assert stream.is_ready()
            assert await target.read_async(10) == data[:5] + b"\x09" * 5
            source.close()
            target.close()

        asyncio.run(main())
    assert device.memory_info().active_allocations == 0


def test_queued_work_need_not_be_awaited(manager, stream):
    async def main() -> None:
        with manager.alloc(MIB) as a, manager.alloc(MIB) as b:
            await a.fill_async(7, stream=stream)
            await b.copy_from_async(a, stream=stream)
            assert b.read(3) == b"\x07" * 3
            await b.fill_async(8)
            assert b.read(3) == b"\x08" * 3
            a.fill_async(9, stream=stream)
            await stream.synchronize_async()
            assert a.read(1) == b"\x09"

    asyncio.run(main())


def test_a_copy_waits_for_earlier_work_on_its_blocks(manager, stream, gate):
    async def main() -> None:
        with manager.alloc(64) as a, manager.alloc(64) as b:
            a.write(bytes(64))
            stream.host_function(gate.wait)
            a.fill_async(5, stream=stream)
            await reached(gate)
            copying = asyncio.ensure_future(manager.copy_async(b, a))
            await asyncio.sleep(0.02)
            assert not copying.done()
            gate.open()
            await copying
            assert b.read() == b"\x05" * 64

    asyncio.run(main())


def test_waiting_for_streams_does_not_block_the_loop(device, manager, gate):
    async def main() -> None:
        with fm.Stream(device) as stream, manager.alloc(64) as a:
            stream.host_function(gate.wait)
            event = stream.record_event()
            waits: list[asyncio.Future[None]] = [
                asyncio.ensure_future(waiting)
                for waiting in (
                    stream.synchronize_async(),
                    event.synchronize_async(),
                    manager.fill_async(a, 3, stream=stream),
                    stream.synchronize_async(float("inf")),
                    event.synchronize_async(60),
                )
            ]
            threads = threading.active_count()
            await reached(gate)
            # Iterations of the loop while all of them wait. None of them waits in a thread,
            # except the one that waited for the gate.
            for _ in range(100):
                await asyncio.sleep(0)
            assert threading.active_count() <= threads + 1
            assert not any(wait.done() for wait in waits)
            for waiting in (stream.synchronize_async, event.synchronize_async):
                for timeout_s in (0, 0.02):
                    with pytest.raises(fm.FerrumTimeoutError, match="not done in"):
                        await waiting(timeout_s)
            gate.open()
            await asyncio.gather(*waits)
            await stream.synchronize_async(0)
            await event.synchronize_async(0)
            event.close()

    asyncio.run(main())


def test_mappings_and_prefetching(device, manager, stream, gate):
    async def main() -> None:
        with manager.alloc(4096) as a:
            a.fill_async(4, stream=stream)
            mapping = await a.map_async(fm.HostAccess.READ_ONLY, size_bytes=10)
            with mapping.view() as view:
                assert bytes(view) == b"\x04" * 10
            await mapping.close_async()
            assert not a.info().is_mapped
            with pytest.raises(fm.InvalidOffsetError):
                await a.map_async(offset_bytes=4096, size_bytes=1)
            stream.host_function(gate.wait)
            prefetching = asyncio.ensure_future(a.prefetch_async(device, stream))
            await reached(gate)
            assert not prefetching.done()
            # Cancels calls that wait for the gate in a thread.
            a.fill_async(5, stream=stream)
            mapping_task = asyncio.ensure_future(a.map_async())
            await asyncio.sleep(0.01)
            mapping_task.cancel()
            gate.open()
            await prefetching
            with pytest.raises(asyncio.CancelledError):
                await mapping_task
            # The thread ends the mapping, because its task was cancelled.
            while not a.closed:
                with contextlib.suppress(fm.BusyError):
                    a.close()
                await asyncio.sleep(0)

    asyncio.run(main())


def test_streams_are_closed_once_their_work_is_done(device, gate):
    async def main() -> None:
        stream = fm.Stream(device)
        stream.host_function(gate.wait)
        closing = asyncio.ensure_future(stream.close_async())
        await reached(gate)
        assert not closing.done()
        assert not stream.closed
        gate.open()
        await closing
        assert stream.closed

    asyncio.run(main())


def test_async_with_waits_for_the_work_of_a_stream(device, gate):
    async def main() -> None:
        async def use() -> None:
            async with fm.Manager(device, ORDINARY) as manager, fm.Stream(device) as stream:
                opened.extend((manager, stream))
                with manager.alloc(64) as block:
                    stream.host_function(gate.wait)
                    block.fill_async(5, stream=stream)
                    async with await block.map_async() as mapping:
                        opened.append(mapping)

        using = asyncio.ensure_future(use())
        await reached(gate)
        gate.open()
        await using
        assert [each.closed for each in opened] == [True] * 3

    opened: list[Any] = []
    asyncio.run(main())


def test_async_with_keeps_the_first_error(device):
    async def main() -> None:
        async with fm.Manager(device, ORDINARY) as manager:
            blocks.append(manager.alloc(64))
            raise KeyError("first")

    blocks: list[Any] = []
    with pytest.raises(KeyError, match="first") as caught:
        asyncio.run(main())
    if hasattr(caught.value, "__notes__"):
        assert "could not be closed: BusyError" in caught.value.__notes__[0]
    blocks[0].close()
    gc.collect()


def test_async_with_raises_what_close_raises(device):
    async def main() -> None:
        async with fm.Manager(device, ORDINARY) as manager:
            blocks.append(manager.alloc(64))

    blocks: list[Any] = []
    with pytest.raises(fm.BusyError):
        asyncio.run(main())
    manager = blocks[0].manager
    blocks[0].close()
    manager.close()


def test_async_calls_raise_the_errors_of_sync_calls(device, manager, stream):
    async def main() -> None:
        with manager.alloc(64) as a, manager.alloc(32) as b:
            for bad, expected in (
                (manager.alloc_async(0), fm.InvalidSizeError),
                (manager.alloc_async(1, alignment_bytes=3), fm.InvalidAlignmentError),
                (manager.alloc_async(1 << 40), fm.OutOfMemoryError),
                (manager.alloc_async(-1), fm.InvalidArgumentError),
                (manager.copy_async(b, a), fm.InvalidOffsetError),
                (manager.copy_async(b, a, 0), fm.InvalidSizeError),
                (manager.copy_async(b, a, 8, offset_bytes=2**64 - 1), fm.FerrumOverflowError),
                (manager.fill_async(a, 1, 3, pattern_bytes=2), fm.InvalidSizeError),
                (manager.fill_async(a, 256), fm.InvalidArgumentError),
                (a.write_async(bytes(65)), fm.InvalidOffsetError),
                (a.read_async(65), fm.InvalidOffsetError),
                (a.read_into_async(b"fixed"), TypeError),
                (manager.defragment_async(-1), fm.InvalidArgumentError),
                (manager.close_async(), fm.BusyError),
                (stream.synchronize_async(float("nan")), fm.InvalidArgumentError),
            ):
                with pytest.raises(expected):
                    await bad
            # Rejected calls have released their transfer slots.
            for _ in range(20):
                await manager.copy_async(b, a, 1)
        with pytest.raises(fm.InvalidHandleError):
            await manager.copy_async(b, b)
        with pytest.raises(fm.InvalidHandleError):
            await a.read_async()

    asyncio.run(main())


def test_stream_of_another_device_is_rejected(manager, other_device):
    async def main() -> None:
        with (
            fm.Stream(other_device) as theirs,
            manager.alloc(64) as a,
            manager.alloc(64) as b,
        ):
            for _ in range(10):
                with pytest.raises(fm.InvalidArgumentError):
                    await manager.copy_async(a, b, stream=theirs)
            await manager.copy_async(a, b)

    asyncio.run(main())


def test_copies_wait_for_transfer_slots(device):
    config = fm.ManagerConfig(
        max_concurrent_transfers=2, pool_configs={fm.MemoryType.GENERAL: SMALL}
    )
    gates = [Gate() for _ in range(4)]

    async def main(manager: fm.Manager, streams: list[fm.Stream]) -> None:
        with manager.alloc(64) as a, manager.alloc(64) as b:
            for stream, gate in zip(streams, gates, strict=True):
                stream.host_function(gate.wait)
            copies = [
                asyncio.ensure_future(manager.copy_async(a, b, 8, stream=stream))
                for stream in streams
            ]
            await asyncio.sleep(0)
            # Two wait for their streams, and two for a transfer slot.
            gates[2].open()
            gates[3].open()
            await reached(gates[2])
            await reached(gates[3])
            await streams[2].synchronize_async()
            await streams[3].synchronize_async()
            assert not any(copying.done() for copying in copies)
            copies[2].cancel()
            gates[0].open()
            await copies[0]
            await copies[3]
            assert copies[2].cancelled()
            assert not copies[1].done()
            gates[1].open()
            await copies[1]
            await asyncio.gather(
                *(manager.copy_async(a, b, 8, stream=stream) for stream in streams * 5)
            )

    with fm.Manager(device, config) as manager:
        streams = [fm.Stream(device) for _ in gates]
        try:
            asyncio.run(main(manager, streams))
        finally:
            for gate in gates:
                gate.open()
            for stream in streams:
                stream.close(force=True)


def test_blocks_may_be_closed_while_they_are_copied(device, manager, stream, gate):
    async def main() -> None:
        a, b = manager.alloc(MIB), manager.alloc(MIB)
        stream.host_function(gate.wait)
        copying = asyncio.ensure_future(manager.copy_async(a, b, stream=stream))
        await reached(gate)
        a.close()
        b.close()
        del a, b
        gc.collect()
        assert not copying.done()
        gate.open()
        await copying

    asyncio.run(main())
    assert device.memory_info().active_allocations == 0


def test_cancelled_waits_leak_nothing(device, manager, stream, gate):
    async def main() -> None:
        a, b = manager.alloc(64), manager.alloc(64)
        b.write(b"\x07" * 64)
        stream.host_function(gate.wait)
        event = stream.record_event()
        tasks = [
            asyncio.ensure_future(waiting)
            for waiting in (
                stream.synchronize_async(),
                stream.synchronize_async(60),
                event.synchronize_async(),
                event.synchronize_async(60),
                manager.copy_async(a, b, stream=stream),
                manager.copy_async(a, b),
                manager.fill_async(b, 1, 1, offset_bytes=63, stream=stream),
                stream.close_async(),
            )
        ]
        await reached(gate)
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        event.close()
        gate.open()
        await stream.synchronize_async()
        assert not stream.closed
        # Calls that had begun ran to their end.
        assert (await a.read_async())[:63] == b"\x07" * 63
        a.close()
        b.close()

    asyncio.run(main())
    eventually(lambda: [leak.kind for leak in fm.leak_report().leaks].count("stream") == 1)


def test_loop_may_close_before_it_ends_the_stream_of_a_wait(device, stream, gate):
    async def main() -> None:
        stream.host_function(gate.wait)
        event = stream.record_event()
        waiting = asyncio.ensure_future(event.synchronize_async())
        await reached(gate)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        event.close()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    gate.open()
    # Afterwards the loop has still to end the stream of the wait, and does not run any more.
    device.synchronize()
    loop.close()
    eventually(lambda: [leak.kind for leak in fm.leak_report().leaks].count("stream") == 1)


def test_loop_may_end_while_tasks_wait(device, manager, stream, gate):
    a, b = manager.alloc(64), manager.alloc(64)

    async def main() -> None:
        stream.host_function(gate.wait)
        with stream.record_event() as event:
            for waiting in (
                stream.synchronize_async(),
                event.synchronize_async(),
                manager.copy_async(a, b, stream=stream),
            ):
                task = asyncio.ensure_future(waiting)
                await asyncio.sleep(0)
                background.add(task)

    background: set[asyncio.Future[None]] = set()
    asyncio.run(main())
    gate.open()
    stream.synchronize()
    a.close()
    b.close()
    # A separate thread has closed the stream that waited for the event.
    eventually(lambda: not [leak for leak in fm.leak_report().leaks if leak.kind == "stream"][1:])
    asyncio.run(manager.close_async())


def give_up(make: Callable[[], Awaitable[object]], turns: int) -> object:
    """Runs a call for some iterations of the loop, cancels it, and returns its result."""

    async def main() -> object:
        task = asyncio.ensure_future(make())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            return None

    return asyncio.run(main())


def test_a_cancelled_allocation_leaves_no_block(device, manager):
    for turns in range(40):
        block = give_up(functools.partial(manager.alloc_async, 1000 + turns), turns % 8)
        if isinstance(block, fm.Memory):
            block.close()
    all_blocks_end(device)


def test_cancelled_allocation_that_has_begun_is_freed(device, manager):
    begun, go_on = threading.Event(), threading.Event()

    def reclaim(_device: fm.Device, _needed: int) -> int:
        begun.set()
        go_on.wait(60)
        filler.close()
        return int(filler.size_bytes)

    filler = manager.alloc(400 * MIB)

    async def main() -> None:
        task = asyncio.ensure_future(manager.alloc_async(200 * MIB))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    with device.on_reclaim(reclaim, deadline_s=60):
        asyncio.run(main())
        all_blocks_end(device)


def test_cancelling_at_every_step_leaks_nothing(device, manager, stream):
    with manager.alloc(MIB, relocatable=True) as a, manager.alloc(MIB) as b:
        a.write(bytes(MIB))
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: manager.copy_async(a, b),
            lambda: manager.copy_async(b, a, stream=stream),
            lambda: manager.fill_async(a, 3),
            lambda: manager.defragment_async(),
            lambda: a.read_async(),
            lambda: a.write_async(bytes(1000)),
            lambda: stream.synchronize_async(),
            lambda: b.copy_from_async(a, stream=stream),
        ]
        for turns in range(6):
            for call in calls:
                give_up(call, turns)

        async def main() -> None:
            await manager.copy_async(a, b)
            await manager.defragment_async()

        asyncio.run(main())
    all_blocks_end(device)


def test_a_defragmentation_moves_while_others_copy(device, manager):
    async def main() -> None:
        blocks = [await manager.alloc_async(256 << 10, relocatable=True) for _ in range(64)]
        kept = {}
        for number, block in enumerate(blocks):
            if number % 8:
                block.close()
            else:
                kept[number] = counting(block.size_bytes, number)
                await block.write_async(kept[number])
        spare = manager.alloc(256 << 10)
        stats, *_ = await asyncio.gather(
            manager.defragment_async(),
            *(manager.copy_async(spare, blocks[number]) for number in kept),
        )
        assert stats.blocks_moved + stats.blocks_skipped > 0
        await manager.defragment_async()
        for number, data in kept.items():
            assert await blocks[number].read_async() == data
            blocks[number].close()
        spare.close()

    asyncio.run(main())


def test_sleep_and_wake(device):
    config = fm.VirtualPoolConfig(capacity_bytes=64 * MIB)
    with fm.VirtualPool(device, config) as pool:

        async def main() -> None:
            piece = pool.alloc(0, 2 * MIB, tag="weights")
            with piece.view() as view:
                view[:5] = b"bytes"
            slept = await pool.sleep_async(tag="weights")
            assert slept.released_bytes >= 2 * MIB
            assert pool.is_asleep("weights")
            with pytest.raises(fm.InvalidStateError):
                await pool.sleep_async(tag="weights")
            woken = await pool.wake_async(tag="weights")
            assert woken.restored_bytes == slept.released_bytes
            with piece.view() as view:
                assert bytes(view[:5]) == b"bytes"
            with pytest.raises(fm.NotFoundError):
                await pool.sleep_async(tag="nobody")
            piece.close()

        asyncio.run(main())


def test_two_loops_share_a_manager(device):
    config = fm.ManagerConfig(
        max_concurrent_transfers=1, pool_configs={fm.MemoryType.GENERAL: SMALL}
    )
    failures: list[BaseException] = []

    async def work(manager: fm.Manager, number: int) -> None:
        with fm.Stream(device) as stream:
            for turn in range(15):
                with manager.alloc(4096) as a, manager.alloc(4096) as b:
                    data = counting(4096, number * 100 + turn)
                    await a.write_async(data)
                    await manager.copy_async(b, a, stream=stream if turn % 2 else None)
                    assert await b.read_async() == data

    def run(manager: fm.Manager, number: int) -> None:
        async def main() -> None:
            await asyncio.gather(*(work(manager, number * 10 + i) for i in range(2)))

        try:
            asyncio.run(main())
        except BaseException as error:
            failures.append(error)

    with fm.Manager(device, config) as manager:
        threads = [threading.Thread(target=run, args=(manager, i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
    assert device.memory_info().active_allocations == 0


def test_program_may_end_while_tasks_wait(run_python):
    program = """
import asyncio, threading
import ferrum_mem as fm

async def main():
    device = fm.Device("cpu:0")
    manager = fm.Manager(device)
    a, b = manager.alloc(1 << 20), manager.alloc(1 << 20)
    stream = fm.Stream(device)
    task = asyncio.ensure_future(manager.copy_async(a, b, stream=stream))
    await asyncio.sleep(0)
    print("over")

asyncio.run(main())
"""
    result = run_python(program)
    assert (result.returncode, result.stdout) == (0, "over\n")


def test_waiting_for_an_idle_stream_does_not_yield(stream):
    async def main() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting_task = asyncio.ensure_future(count())
        for _ in range(10):
            await stream.synchronize_async()
        counting_task.cancel()
        return turns

    assert asyncio.run(main()) == 0
