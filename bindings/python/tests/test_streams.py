"""Streams and events."""

from __future__ import annotations

import threading

import ferrum_mem as fm
import pytest


def test_work_runs_in_order(stream):
    seen: list[int] = []
    for number in range(100):
        stream.host_function(lambda number=number: seen.append(number))
    stream.synchronize()
    assert seen == list(range(100))
    assert stream.is_ready()


def test_a_held_stream_is_busy(device, gate):
    stream = fm.Stream(device)
    stream.host_function(gate.wait)
    assert not stream.is_ready()
    with pytest.raises(fm.FerrumTimeoutError):
        stream.synchronize(0)
    with pytest.raises(fm.FerrumTimeoutError, match=r"0\.12 s"):
        stream.synchronize(0.12)
    with pytest.raises(fm.BusyError):
        stream.close()
    assert not stream.closed
    gate.open()
    stream.close(force=True)
    assert stream.closed
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        stream.synchronize()


def test_a_timeout_in_another_thread(stream, gate):
    stream.host_function(gate.wait)
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            stream.synchronize(0.06)
        except fm.FerrumTimeoutError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(30)
    assert len(caught) == 1
    gate.open()
    stream.synchronize(float("inf"))


def test_the_default_stream_is_one_and_is_not_closed(device):
    first, second = device.default_stream, device.default_stream
    assert first._handle.id == second._handle.id
    first.close()
    seen: list[int] = []
    second.host_function(lambda: seen.append(1))
    first.synchronize()
    assert seen == [1]
    assert first.device is device


def test_synchronize_in_a_host_function_is_rejected(stream):
    caught: list[BaseException] = []

    def inside() -> None:
        try:
            stream.synchronize()
        except fm.InvalidStateError as error:
            caught.append(error)

    stream.host_function(inside)
    stream.synchronize()
    assert len(caught) == 1


def test_shutdown_in_a_host_function_is_rejected(stream):
    caught: list[BaseException] = []

    def inside() -> None:
        try:
            fm.shutdown(force=True)
        except fm.InvalidStateError as error:
            caught.append(error)

    stream.host_function(inside)
    stream.synchronize()
    assert len(caught) == 1
    assert not stream.closed
    stream.host_function(lambda: None)
    stream.synchronize()


def test_events(device, gate):
    with fm.Stream(device) as stream, fm.Stream(device) as other:
        seen: list[str] = []
        with stream.record_event() as start:
            stream.host_function(gate.wait)
            with stream.record_event() as end:
                other.wait_event(end)
                other.host_function(lambda: seen.append("after"))
                start.synchronize()
                assert start.is_ready()
                assert not end.is_ready()
                with pytest.raises(fm.FerrumTimeoutError):
                    end.synchronize(0.06)
                with pytest.raises(fm.InvalidStateError):
                    start.elapsed_ns(end)
                assert not other.is_ready()
                assert seen == []
                gate.open()
                end.synchronize()
                other.synchronize()
                assert seen == ["after"]
                assert start.elapsed_ns(end) >= 0
                assert end.elapsed_ns(start) == -start.elapsed_ns(end)


def test_streams_wait_for_a_collected_event(device, gate):
    with fm.Stream(device) as stream, fm.Stream(device) as other:
        stream.host_function(gate.wait)
        event = stream.record_event()
        other.wait_event(event)
        event.close()
        with pytest.raises(fm.InvalidHandleError):
            event.is_ready()
        assert not other.is_ready()
        gate.open()
        other.synchronize()


def test_events_of_two_devices(device, other_device):
    with (
        fm.Stream(device) as here,
        fm.Stream(other_device) as there,
        here.record_event() as start,
        there.record_event() as end,
    ):
        here.wait_event(end)
        device.synchronize()
        other_device.synchronize()
        with pytest.raises(fm.InvalidArgumentError):
            start.elapsed_ns(end)


def test_only_callables_are_queued(stream):
    with pytest.raises(TypeError):
        stream.host_function(None)


def test_copies_by_address(pool, stream):
    """KV blocks of one table are copied to blocks of another, in one call."""
    with pool.alloc_batch(4096, 6, stream=stream) as old, pool.alloc_batch(4096, 6) as new:
        for i, block in enumerate(old):
            block.as_numpy()[:] = i
        for block in new:
            block.as_numpy()[:] = 255
        order = [3, 0, 3, 5, 1]
        stream.copy_batch((old.addresses[at], new.addresses[i], 4096) for i, at in enumerate(order))
        stream.copy_batch([])
        stream.synchronize()
        assert [int(block.as_numpy()[4095]) for block in new] == [*order, 255]


def test_invalid_copies_are_rejected(pool, stream):
    with pool.alloc_batch(4096, 2) as batch:
        first, second = batch.addresses
        batch[0].as_numpy()[:] = 1
        batch[1].as_numpy()[:] = 2
        good = (first, second, 100)
        for wrong, error, text in [
            ((first, second + 200, 0), fm.InvalidSizeError, r"copies\[1\]: size_bytes is 0"),
            ((first, second + 99, 4), fm.InvalidArgumentError, r"copies\[1\]: the destination"),
            ((8, second + 200, 4), fm.InvalidAddressError, r"copies\[1\]: source"),
            ((first, 8, 4), fm.InvalidAddressError, r"copies\[1\]: destination"),
            ((first, 2**64 - 1, 4), fm.FerrumOverflowError, r"copies\[1\]"),
            ((first, 2**64, 4), fm.FerrumOverflowError, r"destination of copies\[1\]"),
        ]:
            with pytest.raises(error, match=text):
                stream.copy_batch([good, wrong, (first + 300, second + 300, 4)])
        stream.synchronize()
        assert bytes(batch[1].view()[:8]) == b"\2" * 8
    with pytest.raises(ValueError, match=r"copies\[0\] has 2 elements.*size_bytes"):
        stream.copy_batch([(1, 2)])
    stream.close()
    for copies in ([good], []):
        with pytest.raises(fm.InvalidHandleError, match="has been closed"):
            stream.copy_batch(copies)
