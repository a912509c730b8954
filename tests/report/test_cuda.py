"""The command, which is built without cgo, on a CUDA device of the simulated driver."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT

SIMULATOR = ROOT / "build" / "test" / "simcuda" / "12090" / "libcuda.so.1"
# Blocks of some megabytes, so that the pool maps and unmaps pages of 2 MiB.
TRACE = "id,lower,upper,size\na,0,9,4000000\nb,1,5,9000000\nc,3,4,4000000\nd,4,8,20000000\n"


def run(command: str, *words: str, library: Path = SIMULATOR) -> subprocess.CompletedProcess[str]:
    """Runs the command. If it leaks an object of the driver, its exit status is 97."""
    own = {"FERRUM_CUDA_LIBRARY": str(library), "SIMCUDA_BYTES": "192M"}
    return subprocess.run(
        [command, *words], env={**os.environ, **own}, capture_output=True, text=True, timeout=60
    )


def test_replay_and_doctor(command: str, tmp_path: Path) -> None:
    """The command opens devices, uses them and closes them."""
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    trace = tmp_path / "trace.csv"
    trace.write_text(TRACE)
    done = run(command, "replay", str(trace), "--device", "cuda:1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["device"] == "cuda:1"
    assert found["allocations"] == 4
    assert found["reserved_peak_bytes"] >= found["peak_live_bytes"] > 0
    done = run(command, "doctor")
    assert done.returncode == 0, done.stdout
    assert "a block was allocated and freed" in done.stdout.split("device cuda:0")[1]


def test_without_a_driver(command: str, tmp_path: Path) -> None:
    """The error names the device and the libraries that were tried."""
    trace = tmp_path / "trace.csv"
    trace.write_text(TRACE)
    nowhere = Path("/nowhere/libcuda.so.1")
    done = run(command, "replay", str(trace), "--device", "cuda:0", library=nowhere)
    assert done.returncode == 3
    assert done.stderr == f"ferrum-mem: cuda:0: library not found, tried: {nowhere}\n"
