"""The CUDA driver under the whole library, over the simulated driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SIMULATOR = Path(__file__).resolve().parents[3] / "build/test/simcuda/12090/libcuda.so.1"

# At the end of the process the simulator lists leaks and sets the exit status to 97.
PROGRAM = """
import os, random
import ferrum_mem as fm

chance = random.Random(7)
with fm.Device("cuda:0") as device, fm.Device("cuda:1") as other:
    assert str(device.id) == "cuda:0" and device.page_sizes().minimum_bytes == 2 << 20
    with fm.Manager(device) as manager, fm.Manager(other) as far, fm.Stream(device) as stream:
        bytes_ = os.urandom(1 << 20)
        with manager.alloc(1 << 20) as a, manager.alloc(1 << 20) as b:
            a.write(bytes_)
            b.copy_from_async(a, stream=stream)
            stream.synchronize()
            assert b.read() == bytes_
            with far.alloc(1 << 20) as c:
                c.copy_from(b)
                assert c.read() == bytes_
        can = device.info().capabilities
        assert fm.Capability.MANAGED_MEMORY | fm.Capability.REGISTERED_MEMORY in can
        assert fm.Capability.STREAM_ORDERED | fm.Capability.RDMA_PAGES in can
        reachable = fm.VirtualPoolConfig(capacity_bytes=8 << 20, backing=fm.Backing.RDMA)
        with fm.VirtualPool(device, reachable) as pool, pool.alloc(0, 2 << 20):
            assert pool.info().page_bytes == 2 << 20
        start = stream.record_event()
        with manager.alloc(1 << 20, memory_type=fm.MemoryType.MANAGED) as both:
            both.set_usage_hint(fm.UsageHint.RESIDENT)
            both.prefetch(device, stream)
            both.write(bytes_)
            with both.map() as mapping:
                assert not mapping.is_staged and bytes(mapping.view()) == bytes_
            with fm.Device("cpu:0") as host:
                both.prefetch(host, stream)
            stream.synchronize()
        mine = bytearray(bytes_)
        with manager.adopt(mine, memory_type=fm.MemoryType.PINNED) as locked:
            locked.write(b"locked")
            with locked.map(size_bytes=6) as mapping:
                assert not mapping.is_staged and bytes(mapping.view()) == b"locked"
        assert mine[:6] == b"locked" and mine[6:] == bytes_[6:]
        with manager.alloc(len(bytes_)) as copy:
            with manager.adopt(bytes_, memory_type=fm.MemoryType.PINNED) as constant:
                copy.copy_from(constant)
                try:
                    constant.copy_from(copy)
                except fm.PermissionDeniedError:
                    pass
                else:
                    raise AssertionError(constant)
            assert copy.read() == bytes_
        end = stream.record_event()
        end.synchronize()
        assert 0 <= start.elapsed_ns(end) < 120 * 10**9
        assert -120 * 10**9 < end.elapsed_ns(start) <= 0
        start.close()
        end.close()
    assert device.measure_bandwidth() > 0
    ordered = fm.PoolConfig(segment_source=fm.SegmentSource.STREAM_ORDERED)
    with fm.Pool(device, ordered) as pool, pool.alloc(1 << 20):
        assert pool.info().page_bytes == 0
    with fm.Pool(device) as pool, fm.Stream(device) as first, fm.Stream(device) as second:
        blocks = []
        for _ in range(400):
            if blocks and chance.random() < 0.5:
                blocks.pop(chance.randrange(len(blocks))).close()
            else:
                stream = chance.choice([first, second])
                blocks.append(pool.alloc(chance.randrange(1, 4 << 20), stream=stream))
        for block in blocks:
            block.close()
    config = fm.VirtualPoolConfig(capacity_bytes=64 << 20)
    with fm.VirtualPool(device, config) as pool, pool.alloc(0, 8 << 20):
        pass
    limits = fm.ElasticPoolConfig(limit_bytes=16 << 20, ready_pages=0)
    config = fm.ModelConfig(virtual_bytes=32 << 20)
    with fm.ElasticPool(device, limits) as pool, pool.register_model("chat", config) as chat:
        with chat.alloc(8 << 20):
            pass
    with fm.Device("cpu:0") as host, fm.FallbackManager(device, host):
        pass
for absent in ("cuda:2", "cuda:9"):
    try:
        fm.Device(absent)
    except fm.DeviceNotFoundError as error:
        assert "there are 2 CUDA devices" in str(error)
    else:
        raise AssertionError(absent)
fm.shutdown()
"""

# The wrong bytes are written through the driver itself, like by a kernel of the program.
DEBUGGING = """
import ctypes, os
import ferrum_mem as fm

cuda = ctypes.CDLL(os.environ["FERRUM_CUDA_LIBRARY"])

def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    assert code == 0, (name, code)

def overwrite(address):
    call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(0x41), ctypes.c_size_t(1))
    call("cuCtxSynchronize")

def corrupted(function):
    try:
        function()
    except fm.CorruptedError as error:
        return str(error)
    raise AssertionError("nothing was found")

with fm.Device("cuda:0") as device:
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    with fm.Pool(device, fm.PoolConfig(debug=fm.DebugFlags.ALL)) as pool:
        room = pool.alloc(16 << 20)
        for size in (1000, 300_000):
            block = pool.alloc(size)
            overwrite(block.address + size)
            assert "after its end, is 0x41 instead of 0xfd" in corrupted(block.free)
            block = pool.alloc(size)
            address = block.address
            block.free()
            overwrite(address + size - 1)
            corrupted(pool.check)
            pool.check()
        room.free()
    call("cuCtxPopCurrent_v2", ctypes.byref(context))
    call("cuDevicePrimaryCtxRelease_v2", 0)
fm.shutdown()
"""


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_the_library_over_the_simulated_driver():
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    done = run(PROGRAM, FERRUM_CUDA_LIBRARY=str(SIMULATOR))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


# Sizes on both sides of 2 MiB, from which on the memory is not in the child.
FORKED = """
import os
import ferrum_mem as fm

with fm.Device("cuda:0") as device, fm.Manager(device) as manager:
    for size, inherited in ((1 << 20, 7), (4 << 20, 0)):
        with manager.alloc(size, memory_type=fm.MemoryType.PINNED) as block:
            block.write(bytes([7]) * size)
            with block.map() as mapping:
                assert not mapping.is_staged
                view = mapping.view()
                child = os.fork()
                if not child:
                    found = set(bytes(view))
                    view[0] = 9
                    try:
                        block.read()
                    except fm.ForkedError:
                        os._exit(found != {inherited})
                    os._exit(2)
                assert os.waitpid(child, 0)[1] == 0, size
                assert set(bytes(view)) == {7}
                view.release()
fm.shutdown()
"""


def test_page_locked_memory_in_a_forked_child():
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    done = run(FORKED, FERRUM_CUDA_LIBRARY=str(SIMULATOR))
    assert (done.returncode, done.stderr) == (0, "")


FABRIC = """
import sys
import ferrum_mem as fm

PAGE = 2 << 20
with fm.Device("cuda:0") as device, fm.Manager(device) as manager:
    with manager.import_fabric_pages(bytes.fromhex(sys.argv[1]), PAGE, tag="theirs") as block:
        assert len(block) == 2 * PAGE and block.read(5, offset_bytes=PAGE) == b"first"
        block.write(b"other", offset_bytes=PAGE)
fm.shutdown()
"""
EXPORTS = f"""
import subprocess, sys
import ferrum_mem as fm

PAGE = 2 << 20
config = fm.VirtualPoolConfig(capacity_bytes=8 * PAGE, page_bytes=PAGE, backing=fm.Backing.FABRIC)
with fm.Device("cuda:0") as device, fm.Manager(device) as manager:
    with fm.VirtualPool(device, config) as pool, pool.alloc(PAGE, 2 * PAGE):
        handles = pool.export_fabric(PAGE, 2 * PAGE)
        assert type(handles) is bytes and len(handles) == 2 * 64
        with manager.import_fabric_pages(handles[64:], PAGE) as mine:
            mine.write(b"first")
            subprocess.run([sys.executable, "-c", {FABRIC!r}, handles.hex()], check=True)
            assert mine.read(5) == b"other"
        for wrong in (handles[:63], bytes(64)):
            try:
                manager.import_fabric_pages(wrong, PAGE)
            except fm.InvalidArgumentError as error:
                assert "fabric handle" in str(error)
            else:
                raise AssertionError(wrong)
fm.shutdown()
"""


def test_pages_by_fabric_handles_of_another_process():
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    done = run(EXPORTS, FERRUM_CUDA_LIBRARY=str(SIMULATOR))
    assert (done.returncode, done.stderr) == (0, "")


def test_debug_mode_on_a_cuda_device():
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    done = run(DEBUGGING, FERRUM_CUDA_LIBRARY=str(SIMULATOR), FERRUM_LOG="")
    assert done.returncode == 0, done.stderr


def test_missing_driver_is_reported():
    program = """
import ferrum_mem as fm
try:
    fm.Device("cuda:0")
except fm.BackendUnavailableError as error:
    print(error.message)
"""
    done = run(program, FERRUM_CUDA_LIBRARY="/nowhere/libcuda.so.1")
    assert done.stdout == "library not found, tried: /nowhere/libcuda.so.1\n", done.stderr
