"""Fixtures. All tests use the real library on two small host devices.

After each test the library's leak report must be empty.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# For the programs that the tests start.
os.environ["FERRUM_HOST_MEMORY"] = "1GiB"
os.environ["FERRUM_HOST_DEVICES"] = "2"
os.environ.pop("FERRUM_LOG", None)

import ferrum_mem as fm

MIB = 1 << 20
# Idle pages stay in the pool until a trim or reclaim, so that counters are predictable.
SMALL = fm.PoolConfig(
    initial_size_bytes=4 * MIB, growth_increment_bytes=4 * MIB, ready_pages=fm.READY_PAGES_ALL
)
SOURCE = Path(fm.__file__).resolve().parents[1]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True, scope="session")
def _library() -> Iterator[None]:
    fm.init(host_devices=2, host_memory_bytes=1 << 30)
    # The collector visits all modules and tests at each collection. Frozen objects are left out,
    # so that the collection after each test takes a tenth of the time.
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    fm.shutdown()


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    gc.collect()
    leaks = fm.leak_report().leaks
    assert not leaks, f"left alive: {leaks}"


@pytest.fixture
def device() -> Iterator[fm.Device]:
    with fm.Device("cpu:0") as opened:
        yield opened


@pytest.fixture
def other_device() -> Iterator[fm.Device]:
    with fm.Device("cpu:1") as opened:
        yield opened


@pytest.fixture
def stream(device: fm.Device) -> Iterator[fm.Stream]:
    with fm.Stream(device) as made:
        yield made


@pytest.fixture
def pool(device: fm.Device) -> Iterator[fm.Pool]:
    with fm.Pool(device, SMALL) as made:
        yield made


@pytest.fixture
def manager(device: fm.Device) -> Iterator[fm.Manager]:
    config = fm.ManagerConfig(pool_configs={fm.MemoryType.GENERAL: SMALL})
    with fm.Manager(device, config) as made:
        yield made


class Gate:
    """Blocks a stream: queue wait() on it, and call open() to let the stream continue."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.reached = threading.Event()

    def wait(self) -> None:
        self.reached.set()
        if not self._open.wait(60):
            raise AssertionError("nobody opened the gate")

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()


def eventually(is_so: Callable[[], bool]) -> None:
    """Waits for the effect of a background thread of the package."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


def program_of(page: str, heading: str) -> str:
    """The Python program in a section of a page in docs."""
    text = (ROOT / "docs" / page).read_text()
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return str(program)


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_python() -> Run:
    """Runs a program in another interpreter, which must end well within a minute."""

    def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-X", "dev", "-c", program],
            env=child_environment(**environment),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def child_environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1", **changes}


@pytest.fixture
def model(device: fm.Device) -> Iterator[fm.Model]:
    config = fm.ElasticPoolConfig(limit_bytes=64 * MIB)
    settings = fm.ModelConfig(virtual_bytes=64 * MIB)
    with fm.ElasticPool(device, config) as shared, shared.register_model("chat", settings) as made:
        yield made
