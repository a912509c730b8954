"""The runner of `make soak`: its counts, its findings, and the commands that repeat them."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import pytest

# Search scripts before the folder tests, which contains another module named soak.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import soak


def drill(name: str, script: str, seconds: int = 60, *, traces: bool = False) -> soak.Drill:
    """Returns a drill that runs a line of shell code with the seed as $1."""
    return soak.Drill(name, ("sh", "-c", script, "sh", "{seed}"), {"A": "b c"}, seconds, 1, traces)


def run_all(tmp_path: Path, *drills: soak.Drill) -> Any:
    runner = soak.Soak(list(drills), 41, tmp_path / "results.json", is_repeat=True)
    for chosen in drills:
        runner.once(chosen)
    return json.loads((tmp_path / "results.json").read_text())


def test_what_was_run_is_counted(tmp_path: Path) -> None:
    results = run_all(
        tmp_path,
        drill("calls", "echo soak calls=7 refused=$1"),
        drill("old", "echo 5 passed, 0 failed"),
    )
    assert results["totals"] == {
        "runs": 2, "calls": 7, "refused": 41, "programs": 5, "findings": 0
    }  # fmt: skip
    assert results["drills"]["calls"]["cpu_seconds"] >= 0


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("echo finding: here; exit 3", "exit status 3"),
        ("kill -SEGV $$", "signal SIGSEGV"),
        ("trap '' QUIT; sleep 60", "hung: not done after 1 s"),
    ],
)
def test_each_bad_end_is_a_finding(tmp_path: Path, script: str, how: str) -> None:
    results = run_all(tmp_path, drill("bad", script, 1 if "sleep" in script else 60))
    (finding,) = results["findings"]
    assert finding["how"] == how
    assert finding["seed"] == 41
    assert finding["repeat"].startswith("A='b c' sh -c ")
    assert finding["repeat"].endswith(" 41")


def test_a_crash_is_run_again_with_each_call(tmp_path: Path) -> None:
    script = '[ -z "$SOAK_TRACE" ] || echo "the last call"; exit 1'
    results = run_all(tmp_path, drill("crash", script, traces=True))
    assert results["findings"][0]["output"][-1] == "the last call"


def test_the_time_is_shared(tmp_path: Path) -> None:
    often, seldom = drill("often", "true"), soak.Drill("seldom", ("true",), {}, 60, 0.5)
    runner = soak.Soak([often, seldom], 1, tmp_path / "results.json")
    assert runner.next() is often
    for tally in runner.tallies.values():
        tally.runs, tally.seconds = 3, 3
    assert runner.next() is often
    runner.tallies["often"].seconds = 7
    assert runner.next() is seldom
    runner.findings = [soak.Finding("seldom", 1, "", "", [])] * soak.FINDINGS_MOST
    assert runner.next() is often


def test_drills_have_seeds_of_their_own(tmp_path: Path) -> None:
    drills = [drill("a", "exit 1"), drill("b", "exit 1")]
    runner = soak.Soak(drills, 41, tmp_path / "results.json")
    for chosen in drills * 2:
        runner.once(chosen)
    assert len({finding.seed for finding in runner.findings}) == 4


def test_every_drill_can_be_named_and_repeated() -> None:
    drills = soak.drills()
    names = [found.name for found in drills]
    assert len(names) == len(set(names))
    assert {"calls", "programs@host", "programs@13000"} <= set(names)
    assert all(
        "12" in "".join(found.words(12))
        for found in drills
        if found.name[:5] not in ("fuzz:", "long:") and found.name != "race:others"
    )


def test_the_race_detector_runs_every_package() -> None:
    drills = {found.name: found for found in soak.drills()}
    run = {word for name, found in drills.items() if name[:5] == "race:" for word in found.command}
    assert {"./core/pool", "./core/rangealloc", "./core/handle", "./cmd/ferrum-mem"} <= run
    assert {"./drivers/cuda", "./drivers/cuda/coretest"} <= run


def test_durations() -> None:
    assert soak.seconds_of("1.5h") == 5400
    with pytest.raises(ArgumentTypeError, match="90s, 5m or 24h"):
        soak.seconds_of("1 day")
