"""The global monitor and placement over two host devices."""

from __future__ import annotations

import queue
import sys
import threading

import ferrum_mem as fm
import pytest

from .conftest import MIB, SMALL

HALF = 512 * MIB


@pytest.fixture
def monitor():
    with fm.Monitor(interval_s=None, ignore_system=True) as made:
        yield made


def full_pool(device):
    """A pool with one block of nine tenths of the device."""
    pool = fm.Pool(device, SMALL)
    return pool, pool.alloc(HALF // 10 * 9)


def test_both_profiles_on_both_sides_of_their_bounds():
    level = fm.PressureLevel
    for profile, bounds in {
        fm.PressureProfile.STANDARD: (70, 85, 95),
        fm.PressureProfile.EARLY: (60, 80, 95),
    }.items():
        for i, bound in enumerate(bounds):
            assert fm.pressure_level_of(100, 100 - bound, profile) == level(i + 1)
            assert fm.pressure_level_of(1000, 1000 - bound * 10 + 1, profile) == level(i)
            assert fm.pressure_from_utilization(bound / 100, profile) == level(i + 1)
    assert fm.pressure_level_of(0, 0) == level.LOW
    assert [found.should_free for found in level] == [False, False, True, True]
    assert [found.should_deny for found in level] == [False, False, False, True]
    with pytest.raises(fm.InvalidArgumentError, match=r"-0\.1"):
        fm.pressure_from_utilization(-0.1)
    with pytest.raises(fm.InvalidArgumentError, match="NaN"):
        fm.pressure_from_utilization(float("nan"))


def test_recent_memory_info_equals_the_device(device, manager):
    device.memory_info()
    with manager.alloc(MIB):
        recent = device.memory_info(max_age_s=1000)
        asked = device.memory_info()
        assert recent.reading_age_ns > 0
        assert asked.reading_age_ns == 0
        assert recent.used_bytes == asked.used_bytes
        assert recent.active_allocations == asked.active_allocations == 1
        assert 0 < asked.largest_free_bytes <= asked.free_bytes


def test_monitor_callback_is_called_at_every_change(device, other_device, manager, monitor):
    news: queue.SimpleQueue[dict[str, fm.PressureLevel]] = queue.SimpleQueue()
    with fm.Manager(other_device) as other:
        monitor.register(manager)
        monitor.register(other)
        with pytest.raises(fm.AlreadyExistsError):
            monitor.register(other)
        monitor.set_callback(news.put)
        pool, block = full_pool(other_device)
        want = {"cpu:0": fm.PressureLevel.LOW, "cpu:1": fm.PressureLevel.HIGH}
        assert news.get(timeout=30) == want
        assert monitor.levels() == want
        pressure = monitor.pressure()
        assert pressure.level == fm.PressureLevel.HIGH
        assert (pressure.devices, pressure.unknown_devices) == (2, 0)
        assert pressure.total_bytes == 2 * HALF
        block.close()
        pool.close()
        assert news.get(timeout=30)["cpu:1"] == fm.PressureLevel.LOW
        monitor.unregister(device)
        assert news.get(timeout=30) == {"cpu:1": fm.PressureLevel.LOW}
    assert news.get(timeout=30) == {}, "a manager that is closed leaves by itself"
    with pytest.raises(fm.NotFoundError):
        monitor.unregister(manager)
    monitor.set_callback(None)
    assert news.empty()


def test_an_exception_in_the_callback_is_reported(device, manager, monitor, monkeypatch):
    told = threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", lambda _args: told.set())

    def fail(_levels):
        raise ZeroDivisionError

    monitor.register(manager)
    monitor.set_callback(fail)
    pool, block = full_pool(device)
    assert told.wait(30)
    block.close()
    pool.close()
    # The level has changed again: the next call must end before the hook is restored.
    monitor.set_callback(None)


def test_the_callback_may_close_its_monitor(device, manager):
    monitor = fm.Monitor(interval_s=None, ignore_system=True)
    closed = threading.Event()

    def end(_levels):
        monitor.close()
        closed.set()

    monitor.register(manager)
    monitor.set_callback(end)
    pool, block = full_pool(device)
    assert closed.wait(30)
    with pytest.raises(fm.InvalidHandleError):
        monitor.pressure()
    block.close()
    pool.close()


def test_collecting_gives_memory_back(device, manager, monitor):
    monitor.register(manager)
    manager.alloc(MIB).close()
    (done,) = monitor.collect()
    assert done.device == device.id
    assert done.managers == 1
    assert done.memory_freed_bytes >= MIB
    assert done.error is None


MANY = """
import ferrum_mem as fm
devices = [fm.Device(f"cpu:{i}") for i in range(20)]
managers = [fm.Manager(device) for device in devices]
with fm.Monitor(interval_s=None, ignore_system=True) as monitor:
    for manager in managers:
        monitor.register(manager)
    ids = [device.id for device in devices]
    assert list(monitor.levels()) == ids
    assert [done.device for done in monitor.collect()] == ids
    with fm.Placement("round_robin") as turns:
        assert [turns.select(1, devices).id for _ in ids] == ids
    assert monitor.pressure().devices == 20
for owner in (*managers, *devices):
    owner.close()
"""


def test_more_devices_than_there_is_room_for_at_first(run_python):
    done = run_python(MANY, FERRUM_HOST_DEVICES="20")
    assert (done.returncode, done.stderr) == (0, "")


def test_info_has_the_system_or_the_reason(manager):
    with fm.Monitor(fm.PressureProfile.EARLY) as monitor:
        monitor.register(manager)
        info = monitor.info()
        assert info["profile"] == "early"
        (device,) = info["devices"]
        assert device["system"] is not None
        machine = device["system"]["machine"]
        assert (machine["some"] is None) == (machine["reason"] is not None)


def test_strategies_choose(device, other_device):
    devices = [device, other_device]
    pool = fm.Pool(device, SMALL)
    block = pool.alloc(HALF // 2)
    for name, want in {"best_fit": 0, "best_fit_original": 0, "spread": 1, "pack": 0}.items():
        with fm.Placement(name) as placement:
            assert placement.name == name
            assert placement.select(MIB, devices) is devices[want]
    with fm.Placement("round_robin") as turns:
        assert [turns.select(MIB, devices) for _ in range(3)] == [device, other_device, device]
    with fm.Placement() as placement:
        strict = fm.PlacementRequest(preferred=[other_device], strict=True)
        assert placement.select(MIB, devices, strict) is other_device
        explained = placement.explain(HALF, None, fm.PlacementRequest(alignment_bytes=1 << 21))
        assert explained["chosen"] is None
        assert [found["reason"] for found in explained["devices"]] == ["too_small", "too_small"]
        with pytest.raises(fm.NotFoundError, match="cpu:0: too_small"):
            placement.select(HALF + 1, devices)
    block.close()
    pool.close()


def test_custom_strategy(device, other_device, monkeypatch):
    seen = []

    def last(question, options):
        seen.append((question, [option.device for option in options]))
        return options[-1].index

    devices = [device, other_device]
    wish = fm.PlacementRequest(
        preferred=[other_device, device],
        strict=True,
        memory_type=fm.MemoryType.TENSOR,
        alignment_bytes=4096,
        critical=True,
        refuse_critical=True,
        expected_lifetime_s=2.5,
        profile=fm.PressureProfile.EARLY,
    )
    with fm.Placement("last", last) as placement:
        assert placement.select(7, devices) is other_device
        assert placement.select(8, devices, wish) is other_device
    assert [names for _, names in seen] == [["cpu:0", "cpu:1"]] * 2
    assert seen[0][0] == fm.PlacementQuestion(size_bytes=7)
    whole = {**vars(wish), "preferred": ("cpu:1", "cpu:0"), "size_bytes": 8}
    assert seen[1][0] == fm.PlacementQuestion(**whole)
    with (
        fm.Placement("none", lambda _size, _options: None) as placement,
        pytest.raises(fm.NotFoundError, match="not_taken"),
    ):
        placement.select(7, [device])
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_type))
    with (
        fm.Placement("broken", lambda _size, _options: 1 // 0) as placement,
        pytest.raises(fm.InternalError, match="broken"),
    ):
        placement.select(7, [device])
    assert reported == [ZeroDivisionError]


def test_bad_arguments(device):
    with pytest.raises(fm.NotFoundError, match="first_fit"):
        fm.Placement("first_fit")
    with pytest.raises(fm.AlreadyExistsError, match="spread"):
        fm.Placement("spread", lambda _size, _options: None)
    with fm.Placement() as placement:
        with pytest.raises(fm.InvalidSizeError):
            placement.select(0, [device])
        with pytest.raises(fm.InvalidAlignmentError):
            placement.select(1, [device], fm.PlacementRequest(alignment_bytes=3))
        with pytest.raises(fm.NotFoundError, match="no candidates"):
            placement.select(1, [])
