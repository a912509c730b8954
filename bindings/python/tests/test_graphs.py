"""Graphs of pools: captures over the simulated driver, and the errors of the host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ferrum_mem as fm
import pytest

SIMULATOR = Path(__file__).resolve().parents[3] / "build/test/simcuda/12090/libcuda.so.1"

# The program's own calls of the driver use the same library.
PROGRAM = """
import ctypes, os
import ferrum_mem as fm

cuda = ctypes.CDLL(os.environ["FERRUM_CUDA_LIBRARY"])

def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    assert code == 0, (name, code)

def violations():
    text = ctypes.create_string_buffer(4096)
    return text.value.decode() if cuda.simcuda_violations(text, 4096) else ""

with fm.Device("cuda:0") as device:
    assert device.info().capabilities & fm.Capability.CAPTURE
    context, raw = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    call("cuStreamCreate", ctypes.byref(raw), 1)
    with fm.AdoptedStream(device, native_handle=raw.value) as stream, fm.Pool(device) as pool:
        # Blocks that wait in a thread cache.
        for block in [pool.alloc(4096, stream=stream) for _ in range(20)]:
            block.free(stream)
        kept = pool.alloc(4096, stream=stream)
        cached = pool.alloc(4096, stream=stream)
        outside = cached.address
        cached.free(stream)

        call("cuStreamBeginCapture_v2", raw, 0)
        graph = fm.Graph(pool, stream=stream)
        assert graph.info().capturing and graph.info().sharing == 1
        first = pool.alloc(4096, stream=stream)
        again = first.address
        first.free(stream)
        second = pool.alloc(4096, stream=stream)
        assert second.address == again != outside
        kept_at = kept.address
        kept.free(stream)
        assert graph.info().parked_bytes == 4096
        assert graph.info().live_blocks == 1
        try:
            graph.end()
        except fm.InvalidStateError:
            pass
        else:
            raise AssertionError("the capture goes on")
        assert violations() == ""
        template, executable = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamEndCapture", raw, ctypes.byref(template))
        call("cuGraphDestroy", template)
        graph.end()

        # Neither what the graph has nor what it uses goes to anybody.
        others = [pool.alloc(4096, stream=stream) for _ in range(200)]
        assert not {block.address for block in others} & {again, kept_at}
        for block in others:
            block.free(stream)
        names = {p["name"]: p["owner"] for d in fm.snapshot()["devices"] for p in d["pools"]}
        assert "graph" in names.values()
        try:
            pool.close()
        except fm.BusyError:
            pass
        else:
            raise AssertionError("a graph is there")
        second.free(stream)
        graph.close(stream=stream)
        assert graph.closed
        # The private pool ends when the work that is queued on the stream has completed.
        stream.synchronize()
        pool.trim()
        try:
            graph.info()
        except fm.InvalidHandleError:
            pass
        names = {p["name"]: p["owner"] for d in fm.snapshot()["devices"] for p in d["pools"]}
        assert "graph" not in names.values()
    call("cuStreamDestroy_v2", raw)
    call("cuCtxPopCurrent_v2", ctypes.byref(context))
    call("cuDevicePrimaryCtxRelease_v2", 0)
assert violations() == ""
fm.shutdown()
"""


# An exception leaves the capture half-way. The program ends the capture and continues.
FAILS = """
import ctypes, gc, os
import ferrum_mem as fm

cuda = ctypes.CDLL(os.environ["FERRUM_CUDA_LIBRARY"])

def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    assert code == 0, (name, code)

def pools():
    return [p["owner"] for d in fm.snapshot()["devices"] for p in d["pools"]]

with fm.Device("cuda:0") as device:
    context, raw = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    call("cuStreamCreate", ctypes.byref(raw), 1)
    with fm.AdoptedStream(device, native_handle=raw.value) as stream, fm.Pool(device) as pool:
        template = ctypes.c_void_p()
        call("cuStreamBeginCapture_v2", raw, 0)
        try:
            try:
                with fm.Graph(pool, stream=stream):
                    pool.alloc(4096, stream=stream).free(stream)
                    raise KeyError("the program's own")
            finally:
                assert "graph" in pools(), "the capture goes on"
                call("cuStreamEndCapture", raw, ctypes.byref(template))
                call("cuGraphDestroy", template)
        except KeyError as problem:
            assert "still captures" in problem.__notes__[0]
        gc.collect()
        pool.trim()
        assert pools() == ["pool"], pools()
        # Collected while it is captured; the next graph of the pool, or its end, is late
        # enough.
        for _ in range(2):
            call("cuStreamBeginCapture_v2", raw, 0)
            left = fm.Graph(pool, stream=stream)
            pool.alloc(4096, stream=stream).free(stream)
            left.held = left  # for the collector
            del left
            gc.collect()
            assert pools().count("graph") == 1, pools()
            call("cuStreamEndCapture", raw, ctypes.byref(template))
            call("cuGraphDestroy", template)
    call("cuStreamDestroy_v2", raw)
"""


# A block of a capture has the line that allocated it, also in the leak report.
SITES = """
import ctypes, os
import ferrum_mem as fm

cuda = ctypes.CDLL(os.environ["FERRUM_CUDA_LIBRARY"])

def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    assert code == 0, (name, code)

def output(pool, stream):
    return pool.alloc(4096, stream=stream)

sites = fm.PoolConfig(debug=fm.DebugFlags.CALL_SITES)
with fm.Device("cuda:0") as device:
    context, raw = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    call("cuStreamCreate", ctypes.byref(raw), 1)
    adopted = fm.AdoptedStream(device, native_handle=raw.value)
    with adopted as stream, fm.Pool(device, sites) as pool:
        template = ctypes.c_void_p()
        call("cuStreamBeginCapture_v2", raw, 0)
        graph = fm.Graph(pool, stream=stream)
        block = output(pool, stream)
        print(block.call_site[0])
        print([leak.call_site[0] for leak in fm.leak_report().leaks if leak.kind == "block"])
        address = block.address
        block.free(stream)
        try:
            pool.free_address(address, stream=stream)
        except fm.DoubleFreeError as wrong:
            print(str(wrong).count("<string>:12 (output)"))
        again = output(pool, stream)
        print(again.address == address)
        again.free(stream)
        call("cuStreamEndCapture", raw, ctypes.byref(template))
        call("cuGraphDestroy", template)
        graph.end()
        graph.close(stream=stream)
    call("cuStreamDestroy_v2", raw)
    call("cuDevicePrimaryCtxRelease_v2", 0)
"""


def run_on_simulator(program: str) -> subprocess.CompletedProcess[str]:
    """Runs a program over the simulated driver, and requires that it succeeds."""
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    environment = {**os.environ, "FERRUM_CUDA_LIBRARY": str(SIMULATOR)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def test_blocks_of_a_capture_have_call_sites():
    done = run_on_simulator(SITES)
    line = "<string>:12 (output)"
    assert done.stdout.splitlines() == [line, f"['{line}']", "1", "True"]


def test_a_capture_over_the_simulated_driver():
    done = run_on_simulator(PROGRAM)
    assert done.stderr == ""


def test_host_has_no_captures():
    with fm.Device("cpu:0") as device, fm.Pool(device) as pool, fm.Stream(device) as stream:
        assert not device.info().capabilities & fm.Capability.CAPTURE
        with pytest.raises(fm.UnsupportedError, match="cannot capture"):
            fm.Graph(pool, stream=stream)


def test_an_exception_in_the_middle_of_a_capture():
    """The exception propagates, and the graph is released after the end of its capture. So is
    a graph that is collected during its capture.
    """
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    own = {"FERRUM_CUDA_LIBRARY": str(SIMULATOR), "SIMCUDA_LEAKS": ""}
    command = [sys.executable, "-W", "ignore::ResourceWarning", "-c", FAILS]
    done = subprocess.run(
        command, env={**os.environ, **own}, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
