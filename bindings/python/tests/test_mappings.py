"""Mappings, links, hints, access statistics, and external memory and streams."""

from __future__ import annotations

import gc
import mmap
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import ferrum_mem as fm
import numpy as np
import pytest

from .conftest import eventually


@pytest.fixture
def manager(device: fm.Device) -> Iterator[fm.Manager]:
    with fm.Manager(device) as made:
        yield made


@pytest.fixture
def other(other_device: fm.Device) -> Iterator[fm.Manager]:
    with fm.Manager(other_device) as made:
        yield made


def test_mapping_is_the_block(manager: fm.Manager) -> None:
    with manager.alloc(100) as block:
        with block.map() as mapping:
            assert len(mapping) == mapping.size_bytes == 100
            assert not mapping.is_staged
            mapping.view()[:6] = b"mapped"
            assert block.info().is_mapped
            with pytest.raises(fm.BusyError, match="1 mapping"):
                block.close()
            with block.map(fm.HostAccess.READ_ONLY, offset_bytes=3, size_bytes=3) as reader:
                view = reader.view()
                assert bytes(view) == b"ped"
                assert view.readonly
                with pytest.raises(fm.ViewExistsError):
                    reader.close()
                del view
                gc.collect()
            with pytest.raises(fm.BusyError, match="overlap"):
                block.map(fm.HostAccess.WRITE_ONLY, offset_bytes=99)
        assert block.read(6) == b"mapped"
        assert not block.info().is_mapped
        mapping.unmap()
        with pytest.raises(fm.InvalidHandleError):
            mapping.view()


def test_mapping_refuses_bad_input(manager: fm.Manager) -> None:
    with manager.alloc(100) as block:
        with pytest.raises(fm.InvalidOffsetError, match="offset_bytes 100"):
            block.map(offset_bytes=100)
        with pytest.raises(fm.InvalidSizeError):
            block.map(size_bytes=0)
        with pytest.raises(fm.InvalidArgumentError, match="access 7"):
            block.map(7)  # type: ignore[arg-type]
    with pytest.raises(fm.InvalidHandleError):
        block.map()


def test_a_forgotten_mapping_ends_before_its_block(manager: fm.Manager) -> None:
    block = manager.alloc(100)
    mapping = block.map()
    with pytest.warns(ResourceWarning, match="unclosed"):
        del block
    assert manager.statistics().live_blocks.current == 1
    with pytest.warns(ResourceWarning, match="unclosed"):
        del mapping
    gc.collect()
    assert manager.statistics().live_blocks.current == 0


def test_numpy_array_over_a_mapping(manager: fm.Manager) -> None:
    with manager.alloc(400) as block, block.map() as mapping:
        numbers = mapping.as_numpy("float32")
        numbers[:] = np.arange(100)
        assert block.as_numpy("float32")[99] == 99
        del numbers


def test_two_devices_have_one_memory(manager: fm.Manager, other: fm.Manager) -> None:
    first, second = manager.create_mapping(other, 64, alignment_bytes=4096, tag="both")
    assert first.address % 4096 == 0
    assert first.info().linked == second.info().memory
    assert second.info().memory_type is fm.MemoryType.MAPPED
    first.write(b"shared")
    first.close()
    assert second.read(6) == b"shared"
    assert second.info().linked == 0
    assert second.info().tag == "both"
    second.close()
    with pytest.raises(fm.InvalidArgumentError, match="cpu:0"):
        manager.create_mapping(manager, 64)


def test_hints_are_kept_by_axis(manager: fm.Manager) -> None:
    with manager.alloc(64) as block:
        for hint in (fm.UsageHint.RANDOM, fm.UsageHint.SEQUENTIAL, fm.UsageHint.RESIDENT):
            block.set_usage_hint(hint)
        assert block.usage_hints() == fm.UsageHints(
            order=fm.UsageHint.SEQUENTIAL,
            direction=fm.UsageHint.NONE,
            lifetime=fm.UsageHint.RESIDENT,
        )
        with pytest.raises(fm.InvalidArgumentError, match="hint 9"):
            block.set_usage_hint(9)  # type: ignore[arg-type]
        block.set_usage_hint(fm.UsageHint.NONE)
        assert block.usage_hints().order is fm.UsageHint.NONE


def test_access_statistics(device: fm.Device, manager: fm.Manager) -> None:
    with manager.alloc(64) as block:
        stats = block.access_stats()
        assert stats is not None
        assert stats.last_access_ns is None
        assert stats.pattern is fm.AccessPattern.UNKNOWN
        for i in range(8):
            block.write(b"12345678", offset_bytes=8 * i)
        block.read(32)
        stats = block.access_stats()
        assert stats is not None
        assert (stats.write_count, stats.average_write_bytes) == (8, 8)
        assert (stats.read_count, stats.average_read_bytes) == (1, 32)
        assert stats.last_access_ns is not None
        assert stats.last_access_ns >= block.info().allocated_at_ns
    blind = fm.ManagerConfig(enable_tracking=False)
    with fm.Manager(device, blind) as untracked, untracked.alloc(64) as block:
        assert block.access_stats() is None


def test_prefetch_changes_nothing(manager: fm.Manager, other_device: fm.Device) -> None:
    with manager.alloc(1 << 20) as block:
        block.write(b"stays")
        block.prefetch(manager.device)
        block.prefetch(other_device)
        assert block.read(5) == b"stays"


def test_pinned_memory(manager: fm.Manager) -> None:
    with manager.alloc(1 << 16, memory_type=fm.MemoryType.PINNED) as block:
        assert block.info().memory_type is fm.MemoryType.PINNED
        block.write(b"locked")
        assert bytes(block.view()[:6]) == b"locked"
    with pytest.raises(fm.InvalidArgumentError, match="relocatable"):
        manager.alloc(1, memory_type=fm.MemoryType.PINNED, relocatable=True)


def test_managed_memory_of_the_host_is_its_own(manager: fm.Manager) -> None:
    assert fm.Capability.MANAGED_MEMORY not in manager.device.info().capabilities
    with manager.alloc(1 << 16, memory_type=fm.MemoryType.MANAGED) as block:
        assert block.info().memory_type is fm.MemoryType.MANAGED
        block.set_usage_hint(fm.UsageHint.RESIDENT)
        block.prefetch(manager.device)
        block.write(b"both")
        assert bytes(block.view()[:4]) == b"both"


def test_no_device_without_such_a_pool_takes_its_segments(manager: fm.Manager) -> None:
    config = fm.PoolConfig(segment_source=fm.SegmentSource.STREAM_ORDERED)
    with pytest.raises(fm.UnsupportedError, match="stream-ordered pool"):
        fm.Pool(manager.device, config)


def test_adopted_memory_is_not_freed(manager: fm.Manager) -> None:
    owned = np.zeros(1000, dtype="uint16")
    with manager.adopt(owned, tag="theirs") as block:
        assert block.size_bytes == 2000
        assert block.info().is_adopted
        assert block.info().tag == "theirs"
        block.write(b"\x05\x06", offset_bytes=1998)
        assert owned[999] == 0x0605
        with pytest.raises(fm.AlreadyExistsError):
            manager.adopt(owned)
        address = block.address
    assert owned[999] == 0x0605
    with manager.adopt_address(address, 2000) as block:
        assert block.read(2, 1998) == b"\x05\x06"
    with pytest.raises(TypeError, match="data must be bytes or an object with a buffer"):
        manager.adopt("text")
    with pytest.raises(fm.InvalidAddressError):
        manager.adopt_address(4096, 1)
    # A block that was collected waits for its work.
    block = manager.adopt(owned)
    for pattern in range(1, 50):
        block.fill_async(pattern)
    with pytest.warns(ResourceWarning, match="unclosed"):
        del block
    eventually(lambda: not fm.leak_report().total_bytes)
    assert owned[999] == 49 * 0x0101
    # The object is kept alive as long as the block exists.
    held = bytearray(100)
    with manager.adopt(held), pytest.raises(BufferError):
        held.extend(b"x")
    held.extend(b"x")


def test_read_only_file_can_be_adopted(manager: fm.Manager, tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(bytes(range(256)) * 64)
    with (
        file.open("rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as weights,
        manager.alloc(len(weights)) as copy,
        manager.adopt(weights, tag="weights") as block,
    ):
        assert block.info().is_read_only
        copy.copy_from(block)
        assert copy.read() == file.read_bytes() == block.read()
        for write in (
            lambda: block.write(b"x"),
            lambda: block.fill_async(0),
            lambda: block.copy_from(copy),
            lambda: block.map(fm.HostAccess.READ_WRITE),
            lambda: block.buffer,
        ):
            with pytest.raises(fm.PermissionDeniedError, match="read-only"):
                write()
        with block.map(fm.HostAccess.READ_ONLY) as mapping:
            assert bytes(mapping.view()[:3]) == b"\0\1\2"
        view = block.view()
        assert view.readonly
        assert view[5] == 5
        array = block.as_numpy("uint16")
        assert array[1] == 0x0302
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        assert not np.asarray(block).flags.writeable
        shared = np.from_dlpack(block)
        assert shared[255] == 255
        assert not shared.flags.writeable
        with pytest.raises(BufferError, match="read-only"):
            block.__dlpack__()
        del view, array, shared
        gc.collect()
        with pytest.raises(BufferError):
            weights.close()
    owned = bytearray(b"mine")
    with manager.adopt(owned, read_only=True) as block, pytest.raises(fm.PermissionDeniedError):
        block.write(b"x")
    with manager.adopt(b"constant") as block:
        assert block.read() == b"constant"
        with manager.alloc(8) as copy, pytest.raises(fm.PermissionDeniedError):
            block.copy_from(copy)
    with manager.adopt(owned) as block:
        block.write(b"ours")
    assert owned == b"ours"


def test_adopted_stream_runs_in_its_owners_queue(device: fm.Device, manager: fm.Manager) -> None:
    work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
    names: list[str] = []

    def serve() -> None:
        while (item := work.get()) is not None:
            item()
            names.append(threading.current_thread().name)

    server = threading.Thread(target=serve, name="engine")
    server.start()
    try:
        # The block is freed last, after the work that is queued on the stream.
        with manager.alloc(4096) as block, fm.AdoptedStream(device, work.put) as stream:
            seen: list[bytes] = []
            block.fill_async(1, stream=stream)
            work.put(lambda: seen.append(bytes(block.view()[4095:])))
            block.fill_async(2, stream=stream)
            called = threading.Event()
            stream.host_function(called.set)
            stream.synchronize()
            assert called.is_set()
            assert seen == [b"\x01"]
            assert block.read(1) == b"\x02"
            gc.collect()
            stream.synchronize()
        assert set(names) == {"engine"}
    finally:
        work.put(None)
        server.join()


def test_adopted_stream_whose_enqueue_fails(
    device: fm.Device, manager: fm.Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: reported.append(str(args.exc_value)))

    def refuse(_work: Callable[[], None]) -> None:
        raise RuntimeError("full")

    with fm.AdoptedStream(device, refuse) as stream, manager.alloc(16) as block:
        with pytest.raises(fm.DeviceError, match="rejected the work"):
            block.fill_async(1, stream=stream)
        assert reported == ["full"]
        assert block.info().operations_in_flight == 0
    with pytest.raises(fm.NullPointerError):
        fm.AdoptedStream(device)
    with pytest.raises(fm.UnsupportedError, match="0x7"):
        fm.AdoptedStream(device, refuse, native_handle=7)
