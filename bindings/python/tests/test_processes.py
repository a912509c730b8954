"""Memory and events of other processes, and handles of the vendor's runtime."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ferrum_mem as fm
import pytest

SIMULATOR = Path(__file__).resolve().parents[3] / "build/test/simcuda/12090/libcuda.so.1"
PAGE = 64 << 10

READER = """
import sys
import ferrum_mem as fm
page, files = int(sys.argv[1]), [int(text) for text in sys.argv[2:]]
with fm.Device("cpu:0") as device, fm.Manager(device) as manager:
    with manager.import_pages(files, page, tag="theirs") as block:
        assert block.read(16) == b"from the parent."
        block.write(b"back", offset_bytes=page)
"""


def _pool(device: fm.Device, backing: fm.Backing) -> fm.VirtualPool:
    # No page is preallocated, because it could get the number of a closed descriptor.
    config = fm.VirtualPoolConfig(
        capacity_bytes=8 * PAGE, page_bytes=PAGE, backing=backing, ready_pages=0
    )
    return fm.VirtualPool(device, config)


def test_pages_of_another_process() -> None:
    with (
        fm.Device("cpu:0") as device,
        fm.Manager(device) as manager,
        _pool(device, fm.Backing.SHAREABLE) as pool,
        pool.alloc(0, 2 * PAGE),
    ):
        assert fm.Capability.EXPORTED_PAGES in device.info().capabilities
        files = pool.export(0, 2 * PAGE)
        assert len(files) == 2
        try:
            with manager.import_pages(files, PAGE) as mine:
                mine.write(b"from the parent.")
                subprocess.run(
                    [sys.executable, "-c", READER, str(PAGE), *map(str, files)],
                    pass_fds=files,
                    check=True,
                    timeout=120,
                )
                assert mine.read(4, offset_bytes=PAGE) == b"back"
                with pytest.raises(fm.InvalidPageSizeError):
                    manager.import_pages(files, 2 * PAGE)
        finally:
            for file in files:
                os.close(file)
        with pytest.raises(fm.InvalidArgumentError):
            manager.import_pages(files, PAGE)
        with pytest.raises(fm.InvalidArgumentError):
            manager.import_pages([], PAGE)
        with pytest.raises(fm.NotMappedError):
            pool.export(0, 3 * PAGE)
        with pytest.raises(fm.InvalidOffsetError):
            pool.export(0, 1 << 62)
        with pytest.raises(fm.InvalidSizeError):
            pool.export(0, 0)


def test_host_lacks_shared_memory() -> None:
    with fm.Device("cpu:0") as device, fm.Manager(device) as manager, fm.Stream(device) as stream:
        with (
            _pool(device, fm.Backing.MOVABLE) as pool,
            pool.alloc(0, PAGE),
            pytest.raises(fm.InvalidArgumentError),
        ):
            pool.export(0, PAGE)
        with stream.record_event() as event:
            for of in (device, stream, event):
                with pytest.raises(fm.UnsupportedError):
                    fm.native_handle(of)
        with pytest.raises(fm.UnsupportedError):
            fm.share_memory(device, 4096, 16)
        with pytest.raises(fm.UnsupportedError):
            fm.SharedEvent(stream)
        with pytest.raises(fm.UnsupportedError):
            fm.OpenedEvent(device, bytes(64))
        with pytest.raises(fm.UnsupportedError):
            fm.AdoptedEvent(device, 5)
        with pytest.raises(fm.UnsupportedError):
            manager.import_memory(fm.SharedMemory(bytes(64), 0, 16))
        with pytest.raises(ValueError, match="63 bytes"):
            manager.import_memory(fm.SharedMemory(bytes(63), 0, 16))
        with pytest.raises(fm.InvalidArgumentError):
            device.grant_peer(device)
        with pytest.raises(fm.AlreadyExistsError):
            fm.Device("cpu:0", native_context=5)


# One process shares plain memory and an event; the other waits, reads and writes.
CUDA_OTHER = """
import pickle, sys
import ferrum_mem as fm
shared, handle = pickle.load(sys.stdin.buffer)
with fm.Device("cuda:0") as device, fm.Manager(device) as manager, fm.Stream(device) as stream:
    with fm.OpenedEvent(device, handle) as event:
        stream.wait_event(event)
        event.synchronize()
    with manager.import_memory(shared, tag="theirs") as block:
        assert block.read(4) == b"from"
        block.write(b"back", offset_bytes=100)
        try:
            manager.import_memory(shared)
        except fm.AlreadyExistsError:
            pass
        else:
            raise AssertionError("it is open already")
"""

CUDA = f"""
import pickle, subprocess, sys
import ferrum_mem as fm
with fm.Device("cuda:0") as device, fm.Device("cuda:1") as other:
    assert fm.Capability.SHARED_MEMORY in device.info().capabilities
    device.grant_peer(other)
    context = fm.native_handle(device)
    assert context
    with fm.Device("cuda:0", native_context=context) as same:
        assert same.id == device.id
    with fm.Stream(device) as stream:
        with stream.record_event() as event:
            assert fm.native_handle(stream) and fm.native_handle(event)
            with fm.AdoptedEvent(device, fm.native_handle(event)) as same:
                stream.wait_event(same)
                same.synchronize()
                assert same.is_ready()
        config = fm.ManagerConfig(pool_configs={{
            fm.MemoryType.GENERAL: fm.PoolConfig(paging=fm.Paging.OFF)}})
        with fm.Manager(device, config) as manager, manager.alloc(1 << 20) as block:
            block.write(b"from here")
            with fm.SharedEvent(stream) as event:
                event.synchronize()
                with block.pinned() as address:
                    shared = fm.share_memory(device, address, 4096)
                    told = pickle.dumps((shared, event.handle))
                    subprocess.run([sys.executable, "-c", {CUDA_OTHER!r}], input=told,
                                   check=True, timeout=120)
            assert block.read(4, offset_bytes=100) == b"back"
"""


@pytest.mark.skipif(not SIMULATOR.exists(), reason="the simulated driver is not built")
def test_cuda_memory_of_another_process() -> None:
    environment = dict(
        os.environ,
        FERRUM_CUDA_LIBRARY=str(SIMULATOR),
        SIMCUDA_BYTES="256M",
        SIMCUDA_DEVICES="2",
    )
    done = subprocess.run(
        [sys.executable, "-c", CUDA], env=environment, check=False, capture_output=True, timeout=240
    )
    assert done.returncode == 0, done.stderr.decode()
