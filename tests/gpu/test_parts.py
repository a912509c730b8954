"""Tests the parts of test-gpu other than differential, with the simulated driver."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import types
from typing import Any

import bench_part
import bundle
import conformance_part
import conftest
import framework
import pytest
import weights_part


def result(folder: pathlib.Path, part: str) -> dict[str, Any]:
    (path,) = folder.glob(f"*-{part}-simulated-cuda-gpu.json")
    found: dict[str, Any] = json.loads(path.read_text())
    assert found["part"] == part
    assert found["date"].startswith(path.name[:10])
    assert found["driver"]["driver_version"] == 12090
    assert found["driver"]["devices"][0]["name"] == "Simulated CUDA GPU"
    return found


@pytest.mark.parametrize("suite", ["library", "allocator", "captures", "core.fallback"])
def test_conformance(part, tmp_path, suite):
    done = part("conformance_part.py", suite)
    assert done.returncode == 0, done.stdout + done.stderr
    found = result(tmp_path, "conformance")
    assert found["failed"] == 0
    assert found["passed"] >= 8
    (only,) = found["suites"]
    assert only["name"] == suite
    assert len(only["passed"]) == found["passed"]


@pytest.mark.parametrize("stale", ["400", "709"])
@pytest.mark.parametrize("generation", ["11020", "12090", "13000"])
def test_hazards(part, tmp_path, generation, stale):
    """Drivers differ in the error for a destroyed stream."""
    library = bundle.BUNDLE / "simcuda" / generation / "libcuda.so.1"
    done = part("conformance_part.py", "hazards", SIMCUDA_STALE_STREAM=stale,
                FERRUM_CUDA_LIBRARY=str(library))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_of_the_c_tests(part, tmp_path):
    """Uses the newest and the oldest driver, and a device other than the first."""
    done = part("conformance_part.py", *conformance_part.C_PROGRAMS)
    assert done.returncode == 0, done.stdout + done.stderr
    suites = result(tmp_path, "conformance")["suites"]
    assert [suite["name"] for suite in suites] == list(conformance_part.C_PROGRAMS)
    assert all(suite["passed"] for suite in suites)
    oldest = bundle.BUNDLE / "simcuda" / "11020" / "libcuda.so.1"
    done = part("conformance_part.py", "c.random_programs", "c.random_pools", DEVICE="cuda:1",
                FERRUM_CUDA_LIBRARY=str(oldest))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "program", ["random_owners 3", "device_loads", "device_load_faults", "device_tensors"]
)
@pytest.mark.parametrize("driver", sorted(bundle.BUNDLE.glob("simcuda/*/libcuda.so.1")), ids=str)
def test_programs_on_every_generation(driver, program):
    name, *words = program.split()
    done = subprocess.run(
        [bundle.BUNDLE / "bin" / f"test_{name}", *words],
        env={**os.environ, "FERRUM_TEST_DEVICE": "cuda:0", "FERRUM_CUDA_LIBRARY": str(driver),
             "SIMCUDA_GRANULARITY": "64K", "SIMCUDA_BYTES": "2G"},
        capture_output=True,
        text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_suite_that_fails(part, tmp_path):
    done = part("conformance_part.py", "library", SIMCUDA_FAULT="cuMemAlloc_v2:0:2,cuMemCreate:0:2")
    assert done.returncode == 1
    found = result(tmp_path, "conformance")
    assert found["failed"] > 0
    assert "OUT_OF_MEMORY" in found["suites"][0]["output"]


def test_a_suite_that_is_none(part):
    done = part("conformance_part.py", "core.nothing")
    assert done.returncode == 1
    assert "no suite core.nothing" in done.stderr
    built = (conformance_part.SUITES / f"{conformance_part.PARITY}.test").exists()
    assert (f"skip - {conformance_part.PARITY}: " in done.stdout) != built


def test_what_a_program_leaves_behind_fails(part, tmp_path, monkeypatch):
    """An exit status or a text on stderr is a failure, even if each test is ok."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, last in {"silent": "exit 0", "loud": "echo lost >&2", "status": "exit 97"}.items():
        (folder / name).write_text(f"#!/bin/sh\necho ok - fine\n{last}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(bundle, "BUNDLE", tmp_path)
    monkeypatch.setattr(bundle, "need", lambda path: path)
    clock = bundle.Clock()
    failures = {
        name: conformance_part.run_program(name, clock, {}).failed
        for name in ("silent", "loud", "status")
    }
    assert failures == {
        "silent": [],
        "loud": ["the program: lost"],
        "status": ["the program: status 97"],
    }


def test_weights(part, tmp_path):
    done = part("weights_part.py")
    assert done.returncode == 0, done.stdout + done.stderr
    found = result(tmp_path, "weights")
    assert found["bytes"] == 64 << 20
    assert found["load_gbps"]["median"] > 0


def test_weights_that_a_device_lost(tmp_path):
    """A wrong byte at an end of a tensor, or anywhere in the last tensor, fails the part."""
    path = tmp_path / "model"
    path.write_bytes(bytes(4 << 20))
    tensors = {
        f"layers.{number}.weight": types.SimpleNamespace(
            info=types.SimpleNamespace(address=number << 20, size_bytes=1 << 20)
        )
        for number in range(4)
    }
    offsets = [number << 20 for number in range(4)]
    memory = bytearray(4 << 20)
    ours: Any = object.__new__(weights_part.Ours)
    ours.driver = types.SimpleNamespace(read=lambda at, size: bytes(memory[at : at + size]))
    ours.check(tensors, path, offsets)
    for wrong in (5, (2 << 20) - 1, (3 << 20) + 500_000):
        memory[wrong] = 1
        with pytest.raises(bundle.PartError, match=f"tensor {wrong >> 20} has other bytes"):
            ours.check(tensors, path, offsets)
        memory[wrong] = 0


def test_onnx_runtime(part, tmp_path):
    """With a simulated provider, over a real ONNX Runtime for the CPU."""
    provider = bundle.ROOT / "build/test/simort/libonnxruntime.so.1"
    found = importlib.util.find_spec("onnxruntime")
    if found is None or found.origin is None or not provider.exists():
        pytest.skip("onnxruntime is not installed, or the simulated provider is not built")
    (real,) = pathlib.Path(found.origin).parent.glob("capi/libonnxruntime.so*")
    names = {"FERRUM_ORT_LIBRARY": str(provider), "SIMORT_LIBRARY": str(real)}
    done = part("onnx_runtime_part.py", **names)
    assert done.returncode == 0, done.stdout + done.stderr
    written = result(tmp_path, "onnx_runtime")
    assert written["failed"] == []
    assert len(written["passed"]) == 9
    assert written["figures"]["sleep"]["left_of_awake"] <= 0.2


def test_onnx_runtime_that_is_not_there(part):
    done = part("onnx_runtime_part.py", FERRUM_ORT_LIBRARY="/nowhere/libonnxruntime.so.1")
    assert done.returncode == framework.ABSENT
    assert "skip - onnx_runtime: /nowhere/libonnxruntime.so.1 is not there" in done.stdout


def test_bench(part, tmp_path):
    done = part("bench_part.py")
    assert done.returncode == 0, done.stdout + done.stderr
    found = result(tmp_path, "bench")
    assert {row["met"] for row in found["targets"]} == {True}
    assert set(found["random"]["allocators"]) == set(bench_part.IN_C)
    for trace in found["traces"]:
        ours = trace["allocators"]["pool"]
        assert ours["refused"] == 0
        assert 1 <= ours["held_by_live"] < 4


def test_targets_that_are_missed():
    times = {"median": 46.0, "p90": 50.0, "max": 60.0}
    found = {
        "pages": {"map_at_another_address_us": times, "same_address_driver_calls": None},
        "wake": {"wake_gbps": [8.0, 8.0], "pinned_copy_gbps": [10.0, 10.0]},
        "wake_large_pages": {"wake_gbps": [9.5, 9.5], "pinned_copy_gbps": [10.0, 10.0]},
        "fill": {"left_bytes": 101 << 20, "free_before_bytes": 10, "free_after_bytes": 10},
    }
    rows = bench_part.targets(found, simulated=False)
    assert [row["met"] for row in rows] == [False, False, True, False, True]
    assert [row["met"] for row in bench_part.targets(found, simulated=True)] == [False, True]


def test_steps_of_a_trace(tmp_path):
    path = tmp_path / "steps"
    for block_tokens in (0, 256):
        bench_part.write_steps(path, 200, 1 << 20, block_tokens)
        live: dict[str, int] = {}
        peak = 0
        for line in path.read_text().splitlines():
            kind, number, *size = line.split()
            if kind == "a":
                assert number not in live
                live[number] = int(size[0])
            else:
                del live[number]
            peak = max(peak, sum(live.values()))
        assert not live
        assert (1 << 20) * 0.9 < peak < (1 << 20) * (1.1 if block_tokens == 0 else 1.5)


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_a_framework_that_is_not_there(part, name):
    if importlib.util.find_spec(name) is not None:
        pytest.skip(f"{name} is installed")
    done = part(f"{name}_part.py")
    assert done.returncode == framework.ABSENT
    assert f"skip - {name}: " in done.stdout


def test_the_script(tmp_path):
    script = bundle.ROOT / "scripts" / "test_gpu.sh"
    done = subprocess.run([script, "nothing"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "not nothing" in done.stderr


def test_an_old_python_is_said_so(tmp_path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" != -V ] || echo Python 3.9.2\n[ "$1" = -V ]\n')
    old.chmod(0o755)
    done = subprocess.run(
        [bundle.ROOT / "scripts" / "test_gpu.sh"],
        env={**os.environ, "PYTHON": str(old)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Python 3.10 or later is needed" in done.stderr
    assert "Python 3.9.2" in done.stderr


def test_what_there_is_no_time_for_is_named():
    sizes = bench_part.Sizes((64,), 1 << 20, 50, 1, 1, 1, 1)
    bench = bench_part.Bench(bundle.Clock(0), sizes, simulated=True)
    bench.all()
    assert bench.calls("hot", 64, "pair_ns")["allocators"] == {}
    measures = ("hot=64", "random=1048576")
    assert bench.late == [f"{name} {one}" for one in measures for name in bench_part.IN_C]


# A replacement for PyTorch. It counts its processes, allocates nothing, and can be made to fail.
STAND_IN = """
import os, pathlib, sys
pathlib.Path(os.environ["STARTS"]).open("a").write("x")
__version__, uint8 = "2.0.stand-in", None
held = 0
class Tensor:
    def __init__(self, size): self.size = size
def empty(size, dtype=None, device=None):
    global held
    held += size
    if os.environ.get("FAILS") and size >= int(os.environ["FAILS"]): raise RuntimeError("broken")
    return Tensor(size)
class cuda:
    synchronize = staticmethod(lambda: None)
    memory_reserved = staticmethod(lambda: held)
    @staticmethod
    def empty_cache():
        global held
        held = 0
"""


@pytest.fixture
def frameworks_bench(tmp_path, monkeypatch):
    """A benchmark with small sizes. Its only framework is the replacement for PyTorch."""
    (tmp_path / "torch.py").write_text(STAND_IN)
    own = bundle.environment

    def environment(**more: str) -> dict[str, str]:
        found = own(**more)
        found["PYTHONPATH"] += f"{os.pathsep}{tmp_path}"
        return {**found, "STARTS": str(tmp_path / "starts")}

    monkeypatch.setattr(bundle, "environment", environment)
    monkeypatch.setattr(bench_part, "IN_C", ())
    monkeypatch.setattr(bench_part, "IN_PYTHON", ("torch", "torch_expandable", "cupy", "rmm"))
    sizes = bench_part.Sizes((64, 4096), 1 << 20, 50, 1, 1, 1, 2)
    bench = bench_part.Bench(bundle.Clock(), sizes, simulated=False)
    bench.write_traces(tmp_path)
    return bench


def test_a_framework_starts_once_for_all_its_measures(frameworks_bench, tmp_path):
    bench = frameworks_bench
    first, *_ = bench.measures()
    assert first == ["hot=64", "hot=4096", "random=1048576"], "hot pairs first"
    bench.all()
    hot = [bench.calls("hot", size, "pair_ns") for size in bench.sizes.hot]
    found = bench.calls("random", bench.sizes.live_bytes, "replacement_ns")
    traces = [bench.trace(tokens) for tokens in bench.traces]
    assert (tmp_path / "starts").read_text() == "xx", "one process for each that is here"
    assert set(bench.absent) == {"cupy", "rmm"}
    assert bench.versions == dict.fromkeys(("torch", "torch_expandable"), "2.0.stand-in")
    assert not bench.failed
    assert not bench.late
    for one in (*hot, found):
        assert set(one["allocators"]) == {"torch", "torch_expandable"}
        assert one["allocators"]["torch"]["runs"] == 2 * 7, "each round's values"
    for one in traces:
        measured = one["allocators"]["torch"]
        assert measured["held_before_bytes"] == 0, "emptied before"
        assert measured["held_by_live"] >= 1


def test_what_a_framework_gave_before_it_failed_counts(frameworks_bench, monkeypatch):
    monkeypatch.setenv("FAILS", "4096")
    bench = frameworks_bench
    bench.all()
    small, large = (bench.calls("hot", size, "pair_ns") for size in bench.sizes.hot)
    assert set(small["allocators"]) == {"torch", "torch_expandable"}
    assert small["allocators"]["torch"]["runs"] == 7, "the first round"
    assert large["allocators"] == {}
    assert "broken" in bench.failed["torch"]


def test_a_framework_that_there_is_no_time_for_is_named(frameworks_bench):
    bench = frameworks_bench
    bench.clock = bundle.Clock(0)
    bench.all()
    assert bench.late == ["torch", "torch_expandable", "cupy", "rmm"]


@pytest.mark.parametrize(
    ("line", "release"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 2025", "570.86.15"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159  Release Build  (x@y)",
         "580.159"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build",
         "580.95.05"),
        ("something else, of 2025", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_release_of_a_driver(tmp_path, line, release):
    path = tmp_path / "version"
    path.write_text(f"{line}\nGCC version:  gcc version 12.2.0\n")
    command = [bundle.BUNDLE / "bin" / "describe", "release", path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{release}\n")


def test_a_context_is_held_meanwhile(part):
    """The fixture `part` checks that the bundle exists."""
    library = str(conftest.NEWEST)
    with bundle.held_context(library):
        pass
    none = pytest.raises(bundle.PartError, match="no such library")
    with none, bundle.held_context("no such library"):
        raise AssertionError("nothing is held")


def test_a_part_ends_within_its_time():
    """The work of a part after its clock, and its end from outside, fit into eight minutes."""
    script = (bundle.ROOT / "scripts" / "test_gpu.sh").read_text()
    limit = r"--kill-after=(\d+) \$\(\(\$\{FERRUM_GPU_SECONDS:-(\d+)\} \+ (\d+)\)\)"
    found = re.search(limit, script)
    assert found is not None
    after, seconds, writing = map(int, found.groups())
    assert seconds == bundle.PART_SECONDS
    assert seconds + writing + after < 480
    assert "set -- conformance torch differential cupy weights onnx_runtime bench" in script
