"""Fallback managers, their buffers, trackers and generic pools."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import ferrum_mem as fm
import pytest

MIB = 1 << 20
PLAIN = fm.MemoryConfig(gpu_memory_fraction=1.0, min_free_bytes=0, track_allocations=True)


@pytest.fixture
def manager(device, other_device):
    # A device whose limit makes it small.
    other_device.set_limit(32 * MIB)
    try:
        with fm.FallbackManager(other_device, device, PLAIN) as made:
            yield made
    finally:
        other_device.set_limit(None)


def test_buffer_falls_back_and_moves_to_the_device(manager, device, other_device):
    with manager.alloc(24 * MIB, fm.DType.U8) as hog:
        assert hog.is_gpu
        buffer = manager.alloc(4 * MIB, fm.DType.F32, tag="kv")
        assert (buffer.is_cpu_fallback, len(buffer), buffer.size_bytes) == (True, 4 * MIB, 16 * MIB)
        data = bytes(range(256)) * 16
        buffer.write(data, 5000)
        assert manager.stats().cpu_fallbacks == 1
        assert manager.fallback_stats().cpu_bytes == 16 * MIB
        with pytest.raises(fm.OutOfMemoryError, match="cpu:1"):
            buffer.to_gpu()
        found = manager.tracker().get(buffer.id)
        assert (found.tag, found.location, found.device) == ("kv", fm.BufferLocation.CPU, device.id)
    assert manager.return_buffers() == 1
    assert buffer.location is fm.BufferLocation.GPU
    assert buffer.read(len(data), 5000) == data
    assert manager.tracker().get(buffer.id).device == other_device.id
    with buffer.pinned() as address:
        assert address == buffer.address(fm.BufferLocation.GPU)
        assert buffer.pins == 1
        with pytest.raises(fm.BusyError, match="pinned 1 time"):
            buffer.to_cpu()
    asyncio.run(buffer.to_cpu_async())
    assert buffer.is_cpu_fallback
    asyncio.run(buffer.to_gpu_async())
    assert buffer.read(len(data), 5000) == data
    with pytest.raises(fm.InvalidOffsetError):
        buffer.read(1 << 40)
    buffer.close()


def test_memory_of_a_buffer_is_reused_after_the_work_of_the_stream(manager, other_device, gate):
    with fm.Stream(other_device) as stream:
        buffer = manager.alloc(MIB, fm.DType.U8)
        address = buffer.address(fm.BufferLocation.GPU)
        stream.host_function(gate.wait)
        assert gate.reached.wait(60)
        with buffer.pinned(), pytest.raises(fm.BusyError):
            buffer.free(stream)
        buffer.free(stream)
        buffer.free(stream)
        with manager.alloc(MIB, fm.DType.U8) as other:
            assert other.address(fm.BufferLocation.GPU) != address
        gate.open()
        stream.synchronize()


def test_storage_can_be_taken_and_adopted(manager):
    taken = manager.cpu(b"storage of a buffer", tag="a")
    with pytest.raises(fm.InvalidStateError, match="on the CPU"):
        taken.take(fm.BufferLocation.GPU)
    address = taken.take(fm.BufferLocation.CPU)
    assert taken.closed
    with pytest.raises(fm.BusyError, match="storage of 1 is not freed"):
        manager.close()
    with manager.adopt(fm.BufferLocation.CPU, address, 7, fm.DType.U8) as again:
        assert again.read() == b"storage"
        assert again.take(fm.BufferLocation.CPU) == address
    manager.release(fm.BufferLocation.CPU, address)
    with pytest.raises(fm.InvalidAddressError):
        manager.release(fm.BufferLocation.CPU, address)
    with pytest.raises(
        ValueError, match="data has 5 bytes, which is not a multiple of the 4 bytes"
    ):
        manager.cpu(b"12345", fm.DType.F32)


def test_one_interface_for_all_backends(manager, other_device):
    pool: fm.GpuMemoryPool = manager
    assert isinstance(pool, fm.GpuMemoryPool)
    assert pool.backend_name == "cpu"
    assert pool.pressure() in fm.PressureLevel
    assert 0 < pool.free_memory() <= pool.total_memory()
    manager.alloc(MIB, fm.DType.U8).close()
    assert pool.stats().pooled_bytes == MIB
    pool.clear_pool()
    assert pool.stats().pooled_bytes == 0
    # Idle pages are also released automatically.
    held = other_device.statistics().reserved.current
    assert pool.shrink() <= held
    assert other_device.statistics().reserved.current == 0


def test_manager_depends_on_both_devices(device, other_device):
    manager = fm.FallbackManager(other_device, device, PLAIN)
    buffer = manager.alloc(10)
    for used in (device, other_device):
        with pytest.raises(fm.BusyError, match="1 fallback manager"):
            used.close()
    with pytest.raises(fm.BusyError):
        manager.close()
    device.close(force=True)
    assert manager.closed
    assert buffer.closed
    with pytest.raises(fm.InvalidConfigError, match="no host device"):
        fm.FallbackManager(other_device)
    with pytest.raises(fm.InvalidArgumentError, match="the device itself"):
        fm.FallbackManager(other_device, other_device)
    fm.FallbackManager(other_device, config=fm.MemoryConfig.for_training()).close()


def test_pressure_callback_of_a_fallback_manager(device, other_device):
    heard: list[fm.PressureLevel] = []
    changed = threading.Event()

    def hear(level):
        heard.append(level)
        changed.set()

    with (
        fm.FallbackManager(other_device, device, PLAIN) as manager,
        manager.on_pressure(hear),
        manager.alloc(340 * MIB, fm.DType.U8),
    ):
        assert changed.wait(30)
    assert heard[0] is fm.PressureLevel.MEDIUM


def test_generic_pool_respects_its_limits():
    pool: fm.GenericMemoryPool[Any] = fm.GenericMemoryPool(PLAIN.with_max_pooled(1))
    with pool:
        assert pool.try_get(100) is None
        first: fm.BufferLease[Any] = pool.record_allocation(bytearray(1000), 1000, tag="first")
        second = pool.record_allocation(bytearray(900), 900)
        known = pool.tracker().get(first.buffer_id)
        assert known is not None
        assert known.tag == "first"
        assert pool.return_buffer(first)
        assert not pool.return_buffer(second), "its bucket is full"
        with pytest.raises(fm.InvalidArgumentError):
            pool.return_buffer(second)
        assert pool.try_get(1001) is None, "a smaller buffer serves no larger request"
        got = pool.try_get(500)
        assert got is not None
        assert got.buffer is first.buffer
        pool.return_buffer(got)
        with pytest.raises(fm.ResourceExhaustedError):
            pool.add_free("full", 1000)
        pool.add_free("free", 5000)
        assert pool.pooled_count == 2
        pool.record_cpu_fallback()
        assert pool.shrink() == 6000
        pool.clear()
        assert pool.stats() == fm.MemoryStats(
            peak_bytes=1900, pool_hits=1, pool_misses=2, cpu_fallbacks=1
        )


def test_generic_memory_pool_example_of_the_contract():
    pool: fm.GenericMemoryPool[str] = fm.GenericMemoryPool()
    with pool:
        kib = pool.record_allocation("1 KiB", 1024)
        pool.record_allocation("2 KiB", 2048)
        stats = pool.stats()
        assert (stats.total_allocated_bytes, stats.in_use_bytes) == (3072, 3072)
        pool.return_buffer(kib)
        stats = pool.stats()
        assert (stats.in_use_bytes, stats.pooled_bytes) == (2048, 1024)
        got = pool.try_get(1024)
        assert got is not None
        assert got.buffer == "1 KiB"
        assert pool.stats().pool_hits == 1
        with pytest.raises(fm.InvalidStateError, match="created without tracking"):
            pool.tracker()


def test_tracker(device):
    first, second = fm.BufferId.new(), fm.BufferId.new()
    assert second > first > 0
    assert str(fm.BufferId(42)) == "Buffer#42"
    with fm.AllocationTracker() as tracker:
        old = fm.BufferMetadata(first, 1 << 20, 1 << 18, age_s=3600).with_tag("attention_scores")
        tracker.track(old, device)
        tracker.track(fm.BufferMetadata(second, 512, location=fm.BufferLocation.CPU))
        assert (tracker.count, tracker.total_bytes) == (2, (1 << 20) + 512)
        assert [m.id for m in tracker.all_allocations()] == [first, second]
        (found,) = tracker.find_old_allocations(1800)
        assert (found.tag, found.device, str(found.location)) == (
            "attention_scores", device.id, "GPU",
        )  # fmt: skip
        gone = tracker.untrack(first)
        assert gone is not None
        assert (gone.size_bytes, gone.num_elements) == (1 << 20, 1 << 18)
        assert tracker.untrack(first) is None
        assert tracker.get(first) is None
        left = tracker.get(second)
        assert left is not None
        assert str(left.location) == "CPU"
        tracker.clear()
        assert (tracker.count, tracker.peak_bytes) == (0, (1 << 20) + 512)
        with pytest.raises(fm.InvalidArgumentError, match="metadata->tag"):
            tracker.track(fm.BufferMetadata(first, 1, tag="x" * 100))


def test_settings_and_counters():
    c = fm.MemoryConfig()
    assert (c.gpu_memory_fraction, c.min_free_bytes, c.max_pooled_per_bucket) == (0.9, 512 * MIB, 8)
    assert c.max_pooled_bytes == 1024 * MIB
    presets = {
        fm.MemoryConfig.for_inference: (0.95, True, 256 * MIB, 4, 512 * MIB),
        fm.MemoryConfig.for_training: (0.8, False, 1024 * MIB, 16, 4096 * MIB),
        fm.MemoryConfig.for_constrained: (0.7, True, 128 * MIB, 2, 64 * MIB),
    }
    for make, want in presets.items():
        c = make()
        assert want[:2] == (c.gpu_memory_fraction, c.cpu_fallback_enabled)
        assert want[2:] == (c.min_free_bytes, c.max_pooled_per_bucket, c.max_pooled_bytes)
        c.check()
    assert c.with_gpu_memory_fraction(7).gpu_memory_fraction == 1.0
    assert c.with_gpu_memory_fraction(0).gpu_memory_fraction == 0.1
    built = (
        c.with_cpu_fallback(False)
        .with_min_free_bytes(5)
        .with_tracking(True)
        .with_max_pooled(3)
        .with_max_pooled_bytes(9)
        .with_pre_allocation([4, 2])
    )
    assert built == fm.MemoryConfig(0.7, False, 5, True, 3, 9, True, (4, 2))
    built.check()
    with pytest.raises(fm.InvalidConfigError, match="max_pooled_bytes is 9"):
        built.with_pre_allocation([8, 8]).check()
    with pytest.raises(fm.InvalidConfigError, match="gpu_memory_fraction 3"):
        fm.MemoryConfig(gpu_memory_fraction=3).check()

    stats = fm.MemoryStats(1 << 30, 1 << 29, pool_hits=100, pool_misses=10)
    assert "1024.00 MB" in str(stats)
    assert "90.9%" in str(stats)
    assert stats.hit_rate() == pytest.approx(100 / 110)
    assert stats.utilization() == stats.efficiency() == 0.5
    assert fm.MemoryStats().utilization() == 0
    assert fm.MemoryStats().efficiency() == 1
    assert stats.merge(stats) == fm.MemoryStats(1 << 31, 1 << 30, pool_hits=200, pool_misses=20)


def test_pre_allocation(device, other_device):
    config = PLAIN.with_pre_allocation([MIB, 3 * MIB])
    with fm.FallbackManager(other_device, device, config) as manager:
        assert manager.stats().pooled_bytes == 4 * MIB
        with manager.alloc(3 * MIB, fm.DType.U8):
            assert manager.stats().pool_hits == 1
