"""Fixtures: the command, the browser, and replays with their reports."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from . import browser as chromium

ROOT = Path(__file__).resolve().parents[2]
AZURE = ROOT / "examples" / "traces" / "azure_llm_code_2023.csv"
SMALL = "id,lower,upper,size\na,0,9,400000\nb,1,5,400000\nfull,3,4,400000\n"
NOTHING = '{"timestamp": 0, "input_length": 0, "output_length": 0}\n'


@dataclass
class Replay:
    """One run of the command: its JSON and its report."""

    result: dict[str, Any]
    report: Path
    status: int


@pytest.fixture(scope="session")
def browser() -> Iterator[chromium.Browser]:
    """Starts the browser, or skips the test."""
    found = chromium.find()
    if found is None:
        pytest.skip(f"none of {', '.join(chromium.NAMES)} is installed (scripts/setup.sh test)")
    running = chromium.Browser(found)
    yield running
    running.close()


@pytest.fixture(scope="session")
def command() -> str:
    """Returns the built command."""
    path = os.environ.get("FERRUM_MEM_COMMAND", str(ROOT / "build" / "bin" / "ferrum-mem"))
    assert Path(path).is_file(), f"{path} is not there: make build"
    return path


CASES: dict[str, tuple[Path | str, tuple[str, ...]]] = {
    "no limit": (AZURE, ()),
    "limit": (AZURE, ("--limit", "12GiB")),
    "segments": (AZURE, ("--limit", "28GiB", "--paging", "off")),
    "paged": (AZURE, ("--mode", "paged", "--jitter", "50ms", "--seed", "3")),
    "lifetimes": (SMALL, ("--limit", "1MiB")),
    "nothing": (NOTHING, ()),
}


@pytest.fixture(scope="session", params=list(CASES))
def replay(
    request: pytest.FixtureRequest, command: str, tmp_path_factory: pytest.TempPathFactory
) -> Replay:
    """Replays a case with --json and --report in one run."""
    return run_case(request.param, command, tmp_path_factory.mktemp("report"))


def run_case(name: str, command: str, folder: Path) -> Replay:
    """Replays a case and writes its report to a folder."""
    trace, options = CASES[name]
    path = AZURE
    if trace != AZURE:
        path = folder / "trace"
        path.write_text(str(trace))
    report = folder / "report.html"
    done = subprocess.run(
        [command, "replay", str(path), "--json", "--report", str(report), *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode in (0, 1)
    return Replay(json.loads(done.stdout), report, done.returncode)
