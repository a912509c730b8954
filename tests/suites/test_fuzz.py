"""The output and status of scripts/fuzz.sh, with a go command that fails as the test specifies."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

DEADLINE = """fuzz: elapsed: 2s, execs: 900 (450/sec), new interesting: 1 (total: 7)
--- FAIL: FuzzPool (2.01s)
    context deadline exceeded
FAIL
exit status 1
FAIL\texample/pool\t2.015s
"""
FOUND = """--- FAIL: FuzzPool (0.41s)
    --- FAIL: FuzzPool (0.00s)
        pool_test.go:7: context deadline exceeded
    Failing input written to testdata/fuzz/FuzzPool/1
    context deadline exceeded
FAIL
"""
BROKEN = """--- FAIL: FuzzPool (0.00s)
    pool_test.go:7: the corpus fails
FAIL
"""
GOOD = "fuzz: elapsed: 2s, execs: 900 (450/sec)\nPASS\nok  \texample/pool\t2.015s\n"

GO = """#!/usr/bin/env bash
case " $* " in
*" -list "*) echo FuzzPool; echo "ok  example/pool 0.1s"; exit 0 ;;
esac
count=$(cat runs 2>/dev/null || echo 0)
echo $((count + 1)) >runs
cat "$count"
grep -q '^PASS' "$count"
"""


def run(folder: Path, outputs: list[str]) -> tuple[int, str]:
    """Runs the script. The runs of the target print `outputs`. Returns its status and output."""
    for number, output in enumerate(outputs):
        (folder / str(number)).write_text(output)
    go = folder / "go"
    go.write_text(GO)
    go.chmod(0o755)
    done = subprocess.run(
        [ROOT / "scripts/fuzz.sh", "2", "./pool"],
        cwd=folder,
        env={**os.environ, "GO": str(go)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert int((folder / "runs").read_text()) == len(outputs)
    return done.returncode, done.stdout


AGAIN = "again - ./pool FuzzPool: the time was over while an input was being run\n"


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_a_run_that_only_ran_out_of_time_leaves_one_line(tmp_path: Path, retries: int) -> None:
    status, output = run(tmp_path, [DEADLINE] * retries + [GOOD])
    assert (status, output) == (0, AGAIN * retries + GOOD + "ok - ./pool FuzzPool\n")
    assert "FAIL" not in output


@pytest.mark.parametrize("failure", [FOUND, BROKEN])
@pytest.mark.parametrize("retries", [0, 1])
def test_a_failure_is_printed_whole(tmp_path: Path, failure: str, retries: int) -> None:
    status, output = run(tmp_path, [DEADLINE] * retries + [failure])
    assert (status, output) == (1, AGAIN * retries + failure + "not ok - ./pool FuzzPool\n")


def test_a_target_that_never_has_the_time_fails(tmp_path: Path) -> None:
    status, output = run(tmp_path, [DEADLINE] * 3)
    assert (status, output) == (1, AGAIN * 2 + DEADLINE + "not ok - ./pool FuzzPool\n")
