"""Callbacks into Python: which are called, when they are released, and where errors go."""

from __future__ import annotations

import gc
import queue
import sys
import threading
import weakref

import ferrum_mem as fm
import pytest

from .conftest import MIB, SMALL, eventually


@pytest.fixture
def unraisable(monkeypatch):
    """The exceptions that sys.unraisablehook received."""
    told: list[tuple[type[BaseException], str]] = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda args: told.append((args.exc_type, repr(args.object)))
    )
    return told


@pytest.fixture
def log():
    """Messages of the library, from level DEBUG on."""
    messages: queue.SimpleQueue[tuple[fm.LogLevel, str]] = queue.SimpleQueue()
    fm.set_log_callback(lambda level, text: messages.put((level, text)), fm.LogLevel.DEBUG)
    yield messages
    fm.set_log_callback(None)


class Function:
    """A callable with a weak reference."""

    def __call__(self, *_: object) -> int:
        return 0


def test_host_function_is_released_after_its_run(stream, gate):
    function = Function()
    watched = weakref.ref(function)
    stream.host_function(gate.wait)
    stream.host_function(function)
    del function
    gc.collect()
    assert watched() is not None
    gate.open()
    stream.synchronize()
    gc.collect()
    assert watched() is None


def test_rejected_host_function_is_released(device):
    stream = fm.Stream(device)
    stream.close()
    function = Function()
    watched = weakref.ref(function)
    with pytest.raises(fm.InvalidHandleError):
        stream.host_function(function)
    del function
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_a_host_function_is_reported(stream, unraisable, error):
    def fail() -> None:
        raise error

    ran: list[int] = []
    stream.host_function(fail)
    stream.host_function(lambda: ran.append(1))
    stream.synchronize()
    assert [kind for kind, _ in unraisable] == [error]
    assert "fail" in unraisable[0][1]
    assert ran == [1]


def test_host_functions_may_use_the_package(stream, manager):
    with manager.alloc(16) as block:
        done: list[bytes] = []

        def inside() -> None:
            block.view()[:2] = b"in"
            with manager.alloc(16) as mine:
                mine.view()[:] = block.view()
                done.append(bytes(mine.view()[:2]))

        stream.host_function(inside)
        stream.synchronize()
        assert done == [b"in"]


def test_log(log):
    with fm.Device("cpu:0"):
        level, text = log.get(timeout=30)
        assert isinstance(level, fm.LogLevel)
        assert "cpu:0" in text


def test_new_log_callback_replaces_the_previous_one(log):
    second: queue.SimpleQueue[str] = queue.SimpleQueue()
    fm.set_log_callback(lambda _level, text: second.put(text))
    with fm.Device("cpu:1"):
        assert "cpu:1" in second.get(timeout=30)
    fm.set_log_callback(None)
    while not log.empty():
        assert "cpu:1" not in log.get()[1]


def test_the_log_callback_is_released():
    function = Function()
    watched = weakref.ref(function)
    fm.set_log_callback(function)
    del function
    gc.collect()
    assert watched() is not None
    fm.set_log_callback(None)
    gc.collect()
    assert watched() is None


def test_log_callback_may_remove_itself():
    called = threading.Event()

    def once(_level: fm.LogLevel, _text: str) -> None:
        fm.set_log_callback(None)
        called.set()

    fm.set_log_callback(once)
    with fm.Device("cpu:0"):
        assert called.wait(30)
    fm.set_log_callback(None)


def test_an_exception_in_the_log_callback_is_reported(unraisable):
    called = threading.Event()

    def fail(_level: fm.LogLevel, _text: str) -> None:
        called.set()
        raise LookupError

    fm.set_log_callback(fail)
    with fm.Device("cpu:0"):
        assert called.wait(30)
    fm.set_log_callback(None)
    assert unraisable
    assert unraisable[0][0] is LookupError


def test_pressure_callback_is_called_only_at_changes(device):
    told: queue.SimpleQueue[tuple[fm.Device, fm.PressureLevel]] = queue.SimpleQueue()
    with (
        device.on_pressure(lambda where, level: told.put((where, level))),
        fm.Pool(device, SMALL) as pool,
    ):
        # More than 85 % of 512 MiB, in one segment.
        block = pool.alloc(450 * MIB)
        where, level = told.get(timeout=30)
        assert where is device
        assert level is fm.PressureLevel.HIGH
        block.free()
        pool.trim()
        assert told.get(timeout=30)[1] is fm.PressureLevel.LOW
    assert told.empty()


def test_closed_registration_is_not_called_and_is_released(device):
    function = Function()
    watched = weakref.ref(function)
    registration = device.on_pressure(function)
    del function
    gc.collect()
    assert watched() is not None
    registration.close()
    registration.close()
    gc.collect()
    assert watched() is None
    assert registration.closed


def test_reclaim_callback_is_called_before_an_allocation_fails(device):
    config = fm.PoolConfig(initial_size_bytes=MIB, max_size_bytes=MIB, growth_increment_bytes=MIB)
    asked: list[tuple[fm.Device, int]] = []
    with fm.Pool(device, config) as pool:
        held = [pool.alloc(MIB)]

        def give_up(where: fm.Device, needed_bytes: int) -> int:
            asked.append((where, needed_bytes))
            held.pop().free()
            return MIB

        with device.on_reclaim(give_up, priority=-1, deadline_s=30):
            block = pool.alloc(MIB // 2)
        assert len(asked) == 1
        assert asked[0][0] is device
        assert asked[0][1] > 0
        block.free()


def test_reclaim_callbacks_with_lower_priority_are_called_first(device):
    config = fm.PoolConfig(initial_size_bytes=MIB, max_size_bytes=MIB, growth_increment_bytes=MIB)
    asked: list[str] = []

    def ask(name: str) -> int:
        asked.append(name)
        return 0

    with (
        fm.Pool(device, config) as pool,
        pool.alloc(MIB),
        device.on_reclaim(lambda *_: ask("later"), priority=5, deadline_s=30),
        device.on_reclaim(lambda *_: ask("sooner"), priority=-5, deadline_s=30),
        pytest.raises(fm.OutOfMemoryError),
    ):
        pool.alloc(MIB)
    assert asked == ["sooner", "later"]


@pytest.mark.parametrize("answer", ["text", None, -5, 1 << 70])
def test_invalid_results_of_a_reclaim_callback_count_as_0(device, unraisable, answer):
    config = fm.PoolConfig(initial_size_bytes=MIB, max_size_bytes=MIB, growth_increment_bytes=MIB)
    with (
        fm.Pool(device, config) as pool,
        pool.alloc(MIB),
        device.on_reclaim(lambda *_: answer, deadline_s=30),
        pytest.raises(fm.OutOfMemoryError),
    ):
        pool.alloc(MIB)
    assert [kind for kind, _ in unraisable] == ([ValueError] if answer == "text" else [])


def test_an_exception_in_a_pressure_callback_is_reported(device, unraisable):
    called = threading.Event()

    def fail(_device: fm.Device, _level: fm.PressureLevel) -> None:
        called.set()
        raise LookupError

    with device.on_pressure(fail), fm.Pool(device, SMALL) as pool, pool.alloc(450 * MIB):
        assert called.wait(30)
    assert unraisable[0][0] is LookupError


def test_an_object_that_is_collected_inside_a_callback_does_not_wait_for_itself(device):
    """The last reference to the stream is dropped on the stream's own thread."""
    held = [fm.Stream(device)]
    done = threading.Event()

    def inside() -> None:
        with pytest.warns(ResourceWarning, match="Stream"):
            held.clear()
        done.set()

    held[0].host_function(inside)
    assert done.wait(30)
    eventually(lambda: "stream" not in [leak.kind for leak in fm.leak_report().leaks])
