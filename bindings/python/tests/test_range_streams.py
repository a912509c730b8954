"""A range belongs to the streams that use it: it is unmapped after their work, whoever frees
or collects it. Each case blocks a stream with a Python event.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator

import ferrum_mem as fm
import pytest

from .conftest import MIB

PAGE = 1 << 16


@pytest.fixture(params=["vpool", "model"])
def space(device: fm.Device, request: pytest.FixtureRequest) -> Iterator[fm.VirtualPool | fm.Model]:
    if request.param == "vpool":
        config = fm.VirtualPoolConfig(capacity_bytes=4 * MIB, page_bytes=PAGE, ready_pages=0)
        with fm.VirtualPool(device, config) as made:
            yield made
        return
    shared = fm.ElasticPoolConfig(limit_bytes=16 * PAGE, page_bytes=PAGE, ready_pages=0)
    with (
        fm.ElasticPool(device, shared) as pool,
        pool.register_model("chat", fm.ModelConfig(virtual_bytes=4 * MIB)) as chat,
    ):
        yield chat


def alloc(space: fm.VirtualPool | fm.Model, stream: fm.Stream | None) -> fm.MappedRange:
    if isinstance(space, fm.VirtualPool):
        return space.alloc(0, 4 * PAGE, stream=stream)
    return space.alloc(4 * PAGE, stream=stream)


def settle(space: fm.VirtualPool | fm.Model) -> None:
    (space if isinstance(space, fm.VirtualPool) else space.pool).synchronize()
    assert space.info().retiring_pages == 0


def freed(block: list[fm.MappedRange], other: fm.Stream) -> None:
    block.pop().free()


def freed_on_another(block: list[fm.MappedRange], other: fm.Stream) -> None:
    block.pop().free(other)


def closed(block: list[fm.MappedRange], other: fm.Stream) -> None:
    block.pop().close()


def left(block: list[fm.MappedRange], other: fm.Stream) -> None:
    with block.pop():
        pass


def collected(block: list[fm.MappedRange], other: fm.Stream) -> None:
    with pytest.warns(ResourceWarning):  # noqa: PT031
        block.pop()
        gc.collect()


WAYS = [freed, freed_on_another, closed, left, collected]


@pytest.mark.parametrize("end", WAYS)
@pytest.mark.parametrize("recorded", ["", "range", "part"])
def test_a_range_waits_for_its_streams(
    device: fm.Device,
    space: fm.VirtualPool | fm.Model,
    end: Callable[[list[fm.MappedRange], fm.Stream], None],
    recorded: str,
) -> None:
    with fm.Stream(device) as user, fm.Stream(device) as other:
        block = [alloc(space, None if recorded else user)]
        if recorded == "range":
            block[0].record_stream(user)
        elif recorded:
            space.record_stream(block[0].offset_bytes + PAGE, 1, user)
        gate = threading.Event()
        user.host_function(gate.wait)
        try:
            end(block, other)
            assert space.info().retiring_pages == 4
        finally:
            gate.set()
        settle(space)
        # The pages are released shortly before the streams report their work as done.
        user.synchronize()
        other.synchronize()


@pytest.mark.parametrize("end", WAYS)
def test_the_stream_is_closed_first(
    device: fm.Device,
    space: fm.VirtualPool | fm.Model,
    end: Callable[[list[fm.MappedRange], fm.Stream], None],
) -> None:
    with fm.Stream(device) as other:
        user, recorded = fm.Stream(device), fm.Stream(device)
        block = [alloc(space, user)]
        block[0].record_stream(recorded)
        user.close(force=True)
        recorded.close(force=True)
        end(block, other)
        assert space.info().retiring_pages == 0


def test_recording_is_refused(space: fm.VirtualPool | fm.Model) -> None:
    block = alloc(space, None)
    with pytest.raises(fm.NotMappedError):
        space.record_stream(block.offset_bytes, 5 * PAGE, None)
    block.free()
    with pytest.raises(fm.InvalidHandleError):
        block.record_stream(None)


def test_guarantees_are_backed_or_wait(device: fm.Device) -> None:
    config = fm.ElasticPoolConfig(limit_bytes=10 * PAGE, page_bytes=PAGE, ready_pages=0)
    with (
        fm.ElasticPool(device, config) as pool,
        pool.register_model("user", fm.ModelConfig(virtual_bytes=4 * MIB)) as user,
    ):
        used = user.alloc(8 * PAGE)
        with pytest.raises(fm.OutOfPhysicalMemoryError, match="pages back 128 KiB of them"):
            pool.register_model(
                "late", fm.ModelConfig(virtual_bytes=4 * MIB, guaranteed_bytes=6 * PAGE)
            )
        waiting = fm.ModelConfig(
            virtual_bytes=4 * MIB, guaranteed_bytes=6 * PAGE, guarantee_may_wait=True
        )
        with pool.register_model("late", waiting) as late:
            info = late.info()
            assert (info.guaranteed_bytes, info.requested_guarantee_bytes) == (2 * PAGE, 6 * PAGE)
            with pytest.raises(fm.OutOfPhysicalMemoryError):
                late.set_limits(guaranteed_bytes=6 * PAGE)
            used.free()
            late.set_limits(guaranteed_bytes=7 * PAGE)
            assert late.info().guaranteed_bytes == 7 * PAGE


def test_a_batch_is_recorded_for_a_stream(device: fm.Device, space: fm.VirtualPool | fm.Model):
    gate = threading.Event()
    with fm.Stream(device) as user:
        ranges = space.alloc_batch([(0, PAGE), (4 * PAGE, 2 * PAGE)])
        with pytest.raises(fm.NotMappedError, match=r"ranges\[2\]"):
            space.record_stream_batch([*ranges, (9 * PAGE, PAGE)], user)
        space.record_stream_batch([], user)
        space.record_stream_batch([ranges[1], (0, PAGE)], user)
        try:
            user.host_function(gate.wait)
            space.free_batch(ranges)
            assert space.info().retiring_pages == 3
        finally:
            gate.set()
        user.synchronize()
    settle(space)


def test_ranges_of_a_batch_get_the_first_free_places(device: fm.Device):
    config = fm.ElasticPoolConfig(limit_bytes=6 * PAGE, page_bytes=PAGE, ready_pages=0)
    with (
        fm.ElasticPool(device, config) as pool,
        pool.register_model("chat", fm.ModelConfig(virtual_bytes=4 * MIB)) as chat,
    ):
        fixed = chat.alloc(PAGE, offset_bytes=PAGE)
        made = chat.alloc_batch_anywhere([2 * PAGE, PAGE, 1], tag="kv")
        assert [each.offset_bytes for each in made] == [2 * PAGE, 0, 4 * PAGE]
        assert [each.size_bytes for each in made] == [2 * PAGE, PAGE, 1]
        assert made[2].address == chat.info().base_address + 4 * PAGE
        with pytest.raises(fm.OutOfPhysicalMemoryError):
            chat.alloc_batch_anywhere([PAGE, PAGE])
        with pytest.raises(fm.InvalidSizeError, match=r"sizes\[1\]"):
            chat.alloc_batch_anywhere([PAGE, 0])
        assert chat.alloc_batch_anywhere([]) == []
        assert chat.info().mapped_pages == 5
        chat.free_batch([*made, fixed])
