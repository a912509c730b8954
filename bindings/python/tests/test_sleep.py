"""Sleep and wake: contents and addresses are restored, and no view covers sleeping memory."""

from __future__ import annotations

import gc
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import ferrum_mem as fm
import pytest

from .conftest import MIB

PAGE = 1 << 16


@pytest.fixture
def vpool(device: fm.Device) -> Iterator[fm.VirtualPool]:
    config = fm.VirtualPoolConfig(
        capacity_bytes=64 * MIB, page_bytes=PAGE, ready_pages=0, name="kv"
    )
    with fm.VirtualPool(device, config) as made:
        yield made


@pytest.fixture
def shared(device: fm.Device) -> Iterator[fm.ElasticPool]:
    config = fm.ElasticPoolConfig(limit_bytes=8 * PAGE, page_bytes=PAGE, ready_pages=0)
    with fm.ElasticPool(device, config) as made:
        yield made


def write(block: fm.MappedRange, value: int) -> None:
    block.view()[:] = bytes([value]) * len(block)
    gc.collect()


def read(block: fm.MappedRange) -> set[int]:
    found = set(block.view())
    gc.collect()
    return found


@pytest.mark.parametrize("backing", list(fm.SleepBacking))
def test_bytes_and_addresses(device, vpool, tmp_path, backing):
    with vpool.alloc(5, 3 * PAGE) as block:
        write(block, 7)
        file = backing == fm.SleepBacking.FILE
        slept = vpool.sleep(backing=backing, directory=tmp_path if file else None)
        assert slept.released_bytes == 4 * PAGE
        assert slept.elapsed_ns > 0
        assert [str(p) for p in tmp_path.iterdir()] == ([slept.path] if file else [])
        info = vpool.info()
        assert (info.physical_bytes, info.asleep_pages, info.sleeps) == (0, 4, 1)
        assert info.asleep_file_bytes == (4 * PAGE if file else 0)
        assert vpool.is_asleep()
        owner = device.owner_of(block.address)
        assert (owner.state, owner.tag) == (fm.BlockState.ASLEEP, "kv")
        with pytest.raises(fm.InvalidStateError, match="is asleep already"):
            vpool.sleep()
        with pytest.raises(fm.InvalidStateError, match="asleep"):
            block.view()
        woken = vpool.wake(num_streams=2)
        assert woken.restored_bytes == 4 * PAGE
        assert read(block) == {0 if backing == fm.SleepBacking.DISCARD else 7}
        with pytest.raises(fm.InvalidStateError):
            vpool.wake()
        assert not vpool.is_asleep()
    assert not list(tmp_path.iterdir())


def memory(field: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split(field + ":")[1].split()[0]) * 1024


def test_private_bytes_stay_in_place(device):
    """A sleep in host memory, and its wake, take no memory of the machine. A free while asleep
    releases it.
    """
    size = 64 * MIB
    pattern = bytes(range(256)) * (size // 256)
    config = fm.VirtualPoolConfig(
        capacity_bytes=size, page_bytes=PAGE, ready_pages=0, backing=fm.Backing.PRIVATE
    )
    with fm.VirtualPool(device, config) as pool:
        block = pool.alloc(0, size, tag="weights")
        block.view()[:] = pattern
        before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM begins again
        pool.sleep(tag="weights")
        assert (pool.info().physical_bytes, pool.info().asleep_host_bytes) == (0, size)
        pool.wake()
        assert memory("VmHWM") < before + size // 4
        assert block.view() == pattern
        gc.collect()
        pool.sleep(tag="weights")
        block.free()
        assert memory("VmRSS") < before - size // 2
        assert pool.info().asleep_host_bytes == 0
        with pool.alloc(0, PAGE) as again:
            assert read(again) == {0}


def test_views_keep_ranges_awake(vpool):
    weights, other = vpool.alloc(0, PAGE, tag="weights"), vpool.alloc(PAGE, PAGE)
    view = weights.view()
    view[0] = 9
    for tag in (None, "weights"):
        with pytest.raises(fm.ViewExistsError, match="1 view"):
            vpool.sleep(tag=tag)
    assert vpool.sleep(tag="kv").released_bytes == PAGE
    with pytest.raises(fm.InvalidStateError):
        other.view()
    assert view[0] == 9
    del view
    gc.collect()
    assert vpool.sleep().released_bytes == PAGE
    # A range that is asleep can be freed.
    weights.free()
    other.free()
    assert vpool.info().asleep_pages == 0
    vpool.wake()


@pytest.mark.parametrize("of_model", [False, True])
def test_ranges_are_busy_while_they_fall_asleep(device, vpool, shared, of_model):
    space = shared.register_model("chat", fm.ModelConfig(virtual_bytes=MIB)) if of_model else vpool
    place = [] if of_model else [0]
    kept, lost = space.alloc(*place, PAGE), space.alloc(*[4 * PAGE for _ in place], PAGE)
    write(kept, 8)
    gate, slept = threading.Event(), []
    with fm.Stream(device) as stream:
        stream.host_function(gate.wait)
        thread = threading.Thread(target=lambda: slept.append(space.sleep(stream=stream)))
        thread.start()
        while not space.is_asleep():
            assert thread.is_alive()
        with pytest.raises(fm.BusyError, match="being put to sleep or woken"):
            kept.free()
        with pytest.raises(fm.BusyError):
            space.free(kept.offset_bytes, PAGE)
        assert not kept.closed
        # A range that is collected meanwhile is unmapped when the call has ended.
        with pytest.warns(ResourceWarning):
            del lost
        gc.collect()
        info = space.info()
        assert info.mapped_pages + info.asleep_pages == 2
        gate.set()
        thread.join()
    assert slept[0].released_bytes == 2 * PAGE
    assert space.info().asleep_pages == 1
    space.wake()
    assert read(kept) == {8}
    kept.free()
    if of_model:
        space.close()


def test_failed_sleep_and_wake_change_nothing(device):
    def whole() -> bool:
        return bytes(block.view()).count(6) == 16 * MIB

    config = fm.VirtualPoolConfig(capacity_bytes=16 * MIB, page_bytes=PAGE, ready_pages=0)
    with fm.VirtualPool(device, config) as vpool, vpool.alloc(0, 16 * MIB) as block:
        write(block, 6)
        vpool.set_limit(PAGE)
        time_s = 1e-6
        while True:
            try:
                vpool.sleep(timeout_s=time_s)
                break
            except fm.FerrumTimeoutError:
                pass
            assert vpool.info().mapped_pages == 16 * MIB // PAGE
            assert whole()
            time_s *= 1.3
        with pytest.raises(fm.OutOfPhysicalMemoryError):
            vpool.wake()
        assert vpool.is_asleep()
        vpool.set_limit(0)
        vpool.wake()
        assert whole()


def test_files_beyond_the_limit(vpool, tmp_path):
    with vpool.alloc(0, 4 * PAGE) as block:
        write(block, 5)
        whole = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 * PAGE, whole[1]))
        try:
            with pytest.raises(fm.ResourceExhaustedError, match="RLIMIT_FSIZE") as failure:
                vpool.sleep(backing=fm.SleepBacking.FILE, directory=tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, whole)
        assert failure.value.available_bytes == 2 * PAGE
        assert read(block) == {5}
        notes = tmp_path / "ferrum-sleep-notes.txt"
        notes.write_text("notes")
        vpool.sleep(backing=fm.SleepBacking.FILE, directory=tmp_path)
        vpool.wake()
        assert read(block) == {5}
        assert [path.read_text() for path in tmp_path.iterdir()] == ["notes"]


def test_two_models_under_a_limit_for_one(shared):
    config = fm.ModelConfig(virtual_bytes=16 * MIB)
    with (
        shared.register_model("chat", config) as chat,
        shared.register_model("code", config) as code,
    ):
        blocks = {}
        for value, model in enumerate((chat, code)):
            blocks[model] = model.alloc(6 * PAGE, tag="weights")
            write(blocks[model], value + 1)
            model.sleep()
        for model, other, value in ((chat, code, 1), (code, chat, 2), (chat, code, 1)):
            model.wake(tag="weights")
            assert read(blocks[model]) == {value}
            with pytest.raises(fm.OutOfPhysicalMemoryError, match="available 128 KiB"):
                other.wake()
            assert other.is_asleep("weights")
            with pytest.raises(fm.InvalidStateError, match="asleep"):
                other.alloc(PAGE, tag="weights")
            with pytest.raises(fm.FerrumTimeoutError):
                other.alloc(PAGE, tag="weights", asleep_wait_s=0.001)
            model.sleep(tag="weights")
        assert chat.info().wakes == 2
        assert code.info().wake_failures == 2
        for block in blocks.values():
            block.free()


def test_allocations_wait_for_a_wake_on_request(vpool):
    block = vpool.alloc(0, PAGE)
    vpool.sleep()
    with pytest.raises(fm.InvalidStateError, match="asleep"):
        vpool.alloc(PAGE, PAGE)
    made: list[fm.MappedRange] = []
    thread = threading.Thread(
        target=lambda: made.append(vpool.alloc(PAGE, PAGE, asleep_wait_s=None))
    )
    thread.start()
    vpool.wake()
    thread.join()
    write(made[0], 1)
    made[0].free()
    block.free()


def test_timeout_of_0_does_not_wait(vpool):
    with vpool.alloc(0, PAGE) as block:
        write(block, 3)
        vpool.sleep(timeout_s=0)
        vpool.wake(timeout_s=0)
        assert read(block) == {3}


def test_bad_arguments(vpool, tmp_path):
    with vpool.alloc(0, PAGE) as block:
        write(block, 3)
        for error, arguments in (
            (fm.NotFoundError, {"tag": "none"}),
            (fm.InvalidArgumentError, {"tag": "x" * 64}),
            (fm.InvalidArgumentError, {"directory": tmp_path}),
            (fm.InvalidArgumentError, {"num_streams": 65}),
            (fm.InvalidArgumentError, {"timeout_s": -1}),
            (fm.FerrumTimeoutError, {"timeout_s": 1e-9}),
            (fm.IoError, {"backing": fm.SleepBacking.FILE, "directory": tmp_path / "none"}),
            (ValueError, {"backing": 3}),
        ):
            with pytest.raises(error):
                vpool.sleep(**arguments)
            assert read(block) == {3}
