"""Runs the parts of `make test-gpu` with the simulated driver."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle

NEWEST = bundle.BUNDLE / "simcuda" / "12090" / "libcuda.so.1"


@pytest.fixture
def part(tmp_path):
    """Runs a program of tests/gpu with the simulated driver. Results are written to tmp_path."""
    if not NEWEST.exists():
        pytest.skip("the bundle is not built (make gpu-bundle)")

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        own = {"FERRUM_CUDA_LIBRARY": str(NEWEST), "FERRUM_GPU_RESULTS": str(tmp_path)}
        return subprocess.run(
            [sys.executable, *words],
            cwd=bundle.ROOT / "tests" / "gpu",
            env={**os.environ, **own, **variables},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run
