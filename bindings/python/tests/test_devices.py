"""Devices: opening, counters, limits, bandwidth."""

from __future__ import annotations

import ferrum_mem as fm
import pytest

from .conftest import MIB, SMALL


def test_info(device):
    info = device.info()
    assert (info.id, info.backend, info.ordinal) == ("cpu:0", "cpu", 0)
    assert device.id == "cpu:0"
    assert info.name
    assert info.total_bytes == 512 * MIB
    assert info.host_addressable
    assert fm.Capability.HOST_ADDRESSABLE in info.capabilities
    assert fm.Capability.PINNED_MEMORY in info.capabilities
    assert fm.Capability.LINKED_MEMORY in info.capabilities
    assert info.granularity_bytes > 0


def test_a_bare_backend_is_its_first_device():
    with fm.Device("cpu") as device:
        assert device.id == "cpu:0"


@pytest.mark.parametrize("name", ["cpu:2", "cpu:63"])
def test_unknown_device_is_rejected(name):
    with pytest.raises(fm.DeviceNotFoundError, match=name.split(":")[1]):
        fm.Device(name)


@pytest.mark.parametrize("name", ["", "cpu:", "cpu:x", "cpu:-1", "cpu:00", ":0", "cpu:0:0"])
def test_malformed_device_id_is_rejected(name):
    with pytest.raises(fm.InvalidArgumentError):
        fm.Device(name)


def test_last_of_several_objects_closes_the_device():
    first, second = fm.Device("cpu:0"), fm.Device("cpu:0")
    pool = fm.Pool(first, SMALL)
    first.close()
    assert first.closed
    assert not pool.closed
    pool.alloc(10).free()
    with pytest.raises(fm.BusyError):
        second.close()
    assert not second.closed
    pool.close()
    second.close()


def test_force_on_one_of_several_leaves_the_rest():
    with fm.Device("cpu:0") as kept:
        other = fm.Device("cpu:0")
        pool = fm.Pool(other, SMALL)
        other.close(force=True)
        assert not pool.closed
        with pool.alloc(10) as block:
            assert len(block.view()) == 10
        pool.close()
        assert kept.memory_info().active_allocations == 0


def test_force_ends_what_is_left():
    device = fm.Device("cpu:0")
    pool = fm.Pool(device, SMALL)
    block = pool.alloc(10)
    view = block.view()
    with pytest.raises(fm.ViewExistsError):
        device.close(force=True)
    assert not device.closed
    view[0] = 1
    del view
    device.close(force=True)
    assert device.closed
    assert pool.closed
    assert block.closed
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        device.info()
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        block.view()


def test_memory_info_adds_up(device, manager):
    before = device.memory_info()
    assert before.total_bytes == 512 * MIB
    assert before.used_bytes + before.free_bytes + before.reserved_bytes == before.total_bytes
    assert before.pressure == fm.PressureLevel.LOW
    with manager.alloc(3 * MIB):
        info = device.memory_info()
        assert info.used_bytes + info.free_bytes + info.reserved_bytes == info.total_bytes
        assert info.used_bytes >= 3 * MIB
        assert info.active_allocations == 1
        assert 0 <= info.fragmentation_ratio <= 1
        assert info.utilization_percent == pytest.approx(info.used_bytes / info.total_bytes * 100)


def test_the_limit_is_the_total(device):
    device.set_limit(64 * MIB)
    empty = device.memory_info()
    assert empty.total_bytes == empty.limit_bytes == 64 * MIB
    assert (empty.pressure, empty.utilization_percent) == (fm.PressureLevel.LOW, 0)
    assert empty.device_total_bytes == 512 * MIB
    with fm.Pool(device, SMALL) as pool, pool.alloc(40 * MIB):
        info = device.memory_info()
        assert info.used_bytes >= 40 * MIB
        assert 62.5 <= info.utilization_percent < 64
        assert info.device_free_bytes <= (512 - 40) * MIB
        device.set_limit(41 * MIB)
        assert device.memory_info().pressure == fm.PressureLevel.CRITICAL
        memory = fm.snapshot()["devices"][0]["memory"]
        assert memory["total_bytes"] == memory["limit_bytes"] == 41 * MIB
        assert memory["device_total_bytes"] == 512 * MIB
    device.set_limit(None)
    info = device.memory_info()
    assert (info.limit_bytes, info.total_bytes) == (0, 512 * MIB)


def test_statistics(device, manager):
    with manager.alloc(1000):
        books = device.statistics()
        assert books.requested.current == 1000
        assert books.live_blocks == fm.Gauge(1, 1)
        assert books.reserved.current == (
            books.active.current + books.cached.current + books.unusable.current
        )
    books = device.statistics()
    assert books.live_blocks == fm.Gauge(0, 1)
    assert (books.allocations, books.frees, books.failures) == (1, 1, 0)
    assert books.requested.peak == 1000


def test_limit(device):
    device.set_limit(8 * MIB)
    with fm.Pool(device, SMALL) as pool:
        with pytest.raises(fm.OutOfMemoryError) as caught:
            pool.alloc(64 * MIB)
        assert str(64 * MIB) in caught.value.message
        device.set_limit(None)
        pool.alloc(64 * MIB).free()
    device.set_limit(0)


def test_bandwidth(device):
    assert device.memory_info().bandwidth_gbps is None
    measured = device.measure_bandwidth()
    assert measured > 0
    assert device.memory_info().bandwidth_gbps == pytest.approx(measured, rel=1e-3)


def test_synchronize(device, gate):
    device.synchronize(0)
    with fm.Stream(device) as stream:
        stream.host_function(gate.wait)
        gate.reached.wait(30)
        with pytest.raises(fm.FerrumTimeoutError):
            device.synchronize(0)
        gate.open()
        device.synchronize()


def test_repr_and_context(device):
    assert repr(device) == "<ferrum_mem.Device cpu:0>"
    with fm.Device("cpu:1") as other:
        assert not other.closed
    assert repr(other) == "<ferrum_mem.Device cpu:1 (closed)>"
    other.close()
