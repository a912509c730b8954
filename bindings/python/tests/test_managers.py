"""Managers, their blocks, copies and fills."""

from __future__ import annotations

import array
import json
from dataclasses import asdict, replace
from dataclasses import fields as dataclass_fields

import ferrum_mem as fm
import pytest

from .conftest import MIB, SMALL


def test_a_block_and_its_description(manager):
    with manager.alloc(1000, alignment_bytes=4096, tag="kv") as block:
        info = block.info()
        assert info.memory_type is fm.MemoryType.GENERAL
        assert info.size_bytes == len(block) == 1000
        assert info.allocated_bytes >= 1000
        assert info.address == block.address
        assert info.address % 4096 == 0
        assert info.alignment_bytes >= 4096
        assert info.host_pointer == info.address
        assert info.tag == "kv"
        assert info.memory != 0
        assert not info.is_mapped
        assert info.operations_in_flight == 0
        assert block.manager is manager
        assert manager.device.id == "cpu:0"
    assert block.closed
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        block.info()


def test_each_way_to_allocate(manager):
    blocks = [
        manager.alloc(10),
        manager.alloc(10, alignment_bytes=8192),
        manager.alloc(10, memory_type=fm.MemoryType.CACHE),
        manager.alloc(10, memory_type=fm.MemoryType.TENSOR, alignment_bytes=8192, tag="t"),
    ]
    types = [block.info().memory_type for block in blocks]
    assert types == [
        fm.MemoryType.GENERAL,
        fm.MemoryType.GENERAL,
        fm.MemoryType.CACHE,
        fm.MemoryType.TENSOR,
    ]
    assert blocks[1].address % 8192 == blocks[3].address % 8192 == 0
    for block in blocks:
        block.close()
        block.close()
    assert manager.statistics().live_blocks.current == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"size_bytes": 0}, fm.InvalidSizeError),
        ({"size_bytes": 0, "tag": "t"}, fm.InvalidSizeError),
        ({"size_bytes": 8, "alignment_bytes": 0}, fm.InvalidAlignmentError),
        ({"size_bytes": 8, "alignment_bytes": 0, "tag": "t"}, fm.InvalidAlignmentError),
        ({"size_bytes": 8, "alignment_bytes": 3}, fm.InvalidAlignmentError),
        ({"size_bytes": 8, "alignment_bytes": 2 * fm.ALIGNMENT_MAX}, fm.InvalidAlignmentError),
        ({"size_bytes": 1 << 40}, fm.OutOfMemoryError),
        ({"size_bytes": 1 << 40, "memory_type": fm.MemoryType.PINNED}, fm.OutOfMemoryError),
        ({"size_bytes": 1 << 40, "memory_type": fm.MemoryType.MAPPED}, fm.OutOfMemoryError),
        ({"size_bytes": 8, "memory_type": 99}, fm.InvalidArgumentError),
        ({"size_bytes": 8, "tag": "t" * 64}, fm.InvalidArgumentError),
    ],
)
def test_invalid_requests_are_rejected(manager, arguments, expected):
    with pytest.raises(expected):
        manager.alloc(**arguments)
    assert manager.statistics().live_blocks.current == 0


@pytest.mark.parametrize(
    "data",
    [
        b"bytes",
        bytearray(b"bytearray"),
        memoryview(b"a part of it")[2:6],
        memoryview(bytearray(b"a writable part"))[2:6],
        array.array("d", [1.0, 2.0]),
        b"",
    ],
    ids=lambda data: type(data).__name__,
)
def test_write_takes_any_contiguous_buffer(manager, data):
    expected = bytes(memoryview(data).cast("B")) if len(data) else b""
    with manager.alloc(64) as block:
        block.fill_async(0xEE)
        if not expected:
            with pytest.raises(fm.InvalidSizeError):
                block.write(data)
            return
        block.write(data, 3)
        assert block.read() == (b"\xee" * 3 + expected).ljust(64, b"\xee")


def test_write_and_read_numpy(manager):
    numpy = pytest.importorskip("numpy")
    values = numpy.arange(12, dtype=">f4").reshape(3, 4)
    frozen = values.copy()
    frozen.flags.writeable = False
    with manager.alloc(values.nbytes) as block:
        for source in (values, frozen):
            block.write(source)
            target = numpy.zeros_like(values)
            block.read_into(target)
            assert (target == values).all()
        with pytest.raises(ValueError, match="contiguous"):
            block.write(values[:, ::2])
        with pytest.raises(TypeError, match="writable"):
            block.read_into(frozen)


def test_ranges_outside_the_block_are_rejected(manager):
    with manager.alloc(16) as block:
        block.write(bytes(range(16)))
        target = bytearray(8)
        for call in (
            lambda: block.write(b"12345678", 9),
            lambda: block.write(b"1", 16),
            lambda: block.write(b"1", 2**64 - 1),
            lambda: block.read(9, 8),
            lambda: block.read(17),
            lambda: block.read(1 << 50),
            lambda: block.read_into(target, 9),
            lambda: block.fill_async(1, 9, offset_bytes=8),
            lambda: block.fill_async(1, 2**64 - 1, offset_bytes=8),
            lambda: block.copy_from(block, 9, offset_bytes=8),
            lambda: block.copy_from(block, 8, source_offset_bytes=2**64 - 4),
            lambda: block.copy_from_async(block, 9, source_offset_bytes=8),
        ):
            with pytest.raises((fm.InvalidOffsetError, fm.FerrumOverflowError)):
                call()
        block.manager.device.synchronize()
        assert block.read() == bytes(range(16))


def test_copies(manager, stream):
    with manager.alloc(16) as source, manager.alloc(16) as target:
        source.write(bytes(range(16)))
        target.copy_from(source)
        assert target.read() == bytes(range(16))
        target.copy_from(source, 4, source_offset_bytes=8, offset_bytes=2)
        assert target.read(6) == bytes([0, 1, 8, 9, 10, 11])
        # Within one block, like memmove.
        source.copy_from(source, 12, offset_bytes=4)
        assert source.read() == bytes([0, 1, 2, 3, *range(12)])
        target.copy_from_async(source, stream=stream)
        stream.synchronize()
        assert target.read() == source.read()
        target.fill_async(0)
        target.copy_from_async(source)
        manager.device.synchronize()
        assert target.read() == source.read()


def test_a_copy_between_devices(manager, other_device):
    config = fm.ManagerConfig(pool_configs={fm.MemoryType.GENERAL: SMALL})
    with (
        fm.Manager(other_device, config) as other,
        manager.alloc(16) as here,
        other.alloc(16) as there,
    ):
        here.write(bytes(range(16)))
        there.copy_from(here)
        assert there.read() == bytes(range(16))


def test_a_block_in_flight_outlives_its_handle(manager, stream, gate):
    source, target = manager.alloc(16), manager.alloc(16)
    source.write(b"0123456789abcdef")
    stream.host_function(gate.wait)
    target.copy_from_async(source, stream=stream)
    assert target.info().operations_in_flight == 1
    source.close()
    gate.open()
    stream.synchronize()
    assert target.read() == b"0123456789abcdef"
    target.close()


@pytest.mark.parametrize(
    ("pattern", "width", "expected"),
    [(0xAB, 1, b"\xab"), (0xABCD, 2, b"\xcd\xab"), (0x01020304, 4, b"\x04\x03\x02\x01")],
)
def test_fills(manager, stream, pattern, width, expected):
    with manager.alloc(16) as block:
        block.fill_async(0, stream=stream)
        block.fill_async(pattern, 8, pattern_bytes=width, offset_bytes=4, stream=stream)
        stream.synchronize()
        assert block.read() == bytes(4) + expected * (8 // width) + bytes(4)


@pytest.mark.parametrize(
    "arguments",
    [
        {"pattern": 0x100},
        {"pattern": 1, "pattern_bytes": 3},
        {"pattern": 1, "pattern_bytes": 0},
        {"pattern": 1, "pattern_bytes": 4, "size_bytes": 6},
        {"pattern": 1, "pattern_bytes": 4, "offset_bytes": 2, "size_bytes": 4},
        {"pattern": 1, "size_bytes": 0},
    ],
)
def test_invalid_fills_are_rejected(manager, arguments):
    with manager.alloc(16) as block, pytest.raises(fm.InvalidArgumentError):
        block.fill_async(**arguments)


def test_stream_of_another_device_is_rejected(manager, other_device):
    with (
        fm.Stream(other_device) as foreign,
        manager.alloc(16) as block,
        pytest.raises(fm.FerrumError),
    ):
        block.fill_async(1, stream=foreign)


def test_busy_and_force(device):
    config = fm.ManagerConfig(pool_configs={fm.MemoryType.GENERAL: SMALL})
    manager = fm.Manager(device, config)
    block = manager.alloc(10)
    with pytest.raises(fm.BusyError):
        manager.close()
    block.write(b"still here")
    view = block.view()
    with pytest.raises(fm.ViewExistsError):
        manager.close(force=True)
    assert bytes(view) == b"still here"
    del view
    manager.close(force=True)
    assert block.closed
    block.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"gc_threshold": 0.0},
        {"gc_threshold": 1.5},
        {"gc_threshold": float("nan")},
        {"max_concurrent_transfers": 0},
        {"max_concurrent_transfers": 1025},
        {"pool_configs": {7: SMALL}},
        {"pool_configs": {8: SMALL}},
        {"pool_configs": {-1: SMALL}},
    ],
)
def test_invalid_settings_are_rejected(device, settings):
    with pytest.raises(fm.InvalidArgumentError):
        fm.Manager(device, fm.ManagerConfig(**settings))


def test_defragmentation_stats_can_be_stored_as_text(manager):
    """Every field survives JSON, and the sum of the reasons is the number of skipped blocks."""
    manager.configure_pool(fm.MemoryType.GENERAL, replace(SMALL, paging=fm.Paging.ON))
    blocks = [manager.alloc(256 << 10, relocatable=True) for _ in range(64)]
    fixed = manager.alloc(1000)
    for number, block in enumerate(blocks):
        if number % 8:
            block.close()
    done = manager.defragment()
    assert done.blocks_moved > 0
    assert done.skipped_not_relocatable == 1
    text = json.dumps(asdict(done))
    back = fm.DefragmentationStats(**json.loads(text))
    assert back == done
    fields = {field.name for field in dataclass_fields(done)}
    assert set(json.loads(text)) == fields
    assert {"fragmentation_before", "memory_freed_bytes", "time_taken_ms"} <= fields
    reasons = [value for name, value in asdict(done).items() if name.startswith("skipped_")]
    assert sum(reasons) == done.blocks_skipped
    for block in [fixed, *blocks[::8]]:
        block.close()


@pytest.mark.parametrize(("paging", "taken"), [(fm.Paging.ON, 2 * MIB), (fm.Paging.OFF, 4 * MIB)])
def test_configure_pool_and_defragment(manager, paging, taken):
    manager.configure_pool(fm.MemoryType.GENERAL, replace(SMALL, paging=paging))
    manager.configure_pool(
        fm.MemoryType.TENSOR,
        fm.PoolConfig(
            initial_size_bytes=MIB,
            max_size_bytes=MIB,
            growth_increment_bytes=MIB,
            alignment_bytes=1024,
            name="tensors",
        ),
    )
    with manager.alloc(10, memory_type=fm.MemoryType.TENSOR) as block:
        assert block.address % 1024 == 0
        with pytest.raises(fm.OutOfMemoryError):
            manager.alloc(2 * MIB, memory_type=fm.MemoryType.TENSOR)
        manager.alloc(2 * MIB).close()
        done = manager.defragment()
        assert done.memory_freed_bytes >= taken
        assert (done.blocks_moved, done.blocks_skipped) == (0, 1)
        assert done.time_taken_ns > 0
        assert done.time_taken_ms == -(-done.time_taken_ns // 1_000_000)
    with pytest.raises(fm.InvalidArgumentError):
        manager.configure_pool(99, SMALL)


def test_debug_fills_blocks(device):
    config = fm.ManagerConfig(enable_debug=True, pool_configs={fm.MemoryType.GENERAL: SMALL})
    with fm.Manager(device, config) as manager, manager.alloc(4096) as block:
        assert block.read() != bytes(4096)
