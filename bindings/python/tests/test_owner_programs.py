"""Random programs whose bytes name their owner, on the host and on simulated drivers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("owner_programs.py")
DRIVERS = sorted(Path(os.environ.get("FERRUM_SIMCUDA", "-")).glob("*/libcuda.so.1"))


@pytest.mark.parametrize("driver", [None, *DRIVERS], ids=lambda path: path and path.parent.name)
def test_memory_never_has_two_owners(driver: Path | None) -> None:
    work = os.environ.get("FERRUM_WORK_LIBRARY")
    if work is None:
        pytest.skip("FERRUM_WORK_LIBRARY does not name the library of queued work")
    device = {} if driver is None else {
        "FERRUM_TEST_DEVICE": "cuda:0",
        "FERRUM_CUDA_LIBRARY": str(driver),
        "SIMCUDA_GRANULARITY": "64K",
        "SIMCUDA_BYTES": "2G",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(PROGRAM), work, "6" if driver is None else "2", "0"],
        env={**os.environ, **device},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
