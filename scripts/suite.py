#!/usr/bin/env python3
"""Runs one suite of tests or checks, shows its output and writes down its counts.

Usage: suite.py NAME KIND [--timeout SECONDS] -- COMMAND...

KIND says how the counts are read from the output:
  go      COMMAND is `go test -json`; top-level tests and packages that do not build count
  c       C programs one after the other: cmocka, GoogleTest, or a line `N passed, N failed`
  pytest  the closing line of pytest
  cargo   the `test result:` lines of cargo test
  steps   lines `ok - NAME`, `not ok - NAME` and `skip - NAME`

The counts go to build/test/results/NAME, the whole output to build/test/logs/NAME.log. The exit
status is the command's; a suite that fails without a failed test counts one failure, and so does
one that ran no test.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

BUILD = pathlib.Path("build/test")
TIMED_OUT = 124


@dataclass
class Counts:
    """What a suite's output says so far."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    held: dict[str, list[str]] = field(default_factory=dict)

    def add(self, outcome: str, number: int = 1) -> None:
        """Counts tests of one outcome: passed, failed or skipped."""
        setattr(self, outcome, getattr(self, outcome) + number)


def read_go(counts: Counts, line: str) -> str:
    """One event of `go test -json`: a test's output is held back and shown only if it fails."""
    try:
        event = json.loads(line)
    except ValueError:
        return line
    action, test = event.get("Action"), event.get("Test", "")
    key = f"{event.get('Package', '')} {test}"
    if action == "output" and test:
        counts.held.setdefault(key, []).append(event["Output"])
        return ""
    if action in ("output", "build-output"):
        return event["Output"] if keep_package_line(event["Output"]) else ""
    if action in ("pass", "fail", "skip") and test:
        held = counts.held.pop(key, [])
        if "/" not in test:
            counts.add({"pass": "passed", "fail": "failed", "skip": "skipped"}[action])
        shown = action == "fail" or (action == "skip" and "/" not in test)
        return "".join(held) if shown else ""
    if action == "fail" and event.get("FailedBuild"):
        counts.add("failed")
    return ""


def keep_package_line(text: str) -> bool:
    """Lines that `go test` prints around the tests and that tell a reader nothing."""
    return not re.match(r"(=== |PASS$|\?\s.*no test files)", text)


def read_c(counts: Counts, line: str) -> str:
    """The summary lines of cmocka and GoogleTest, and `N passed, N failed` of other programs."""
    if m := re.match(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", line):
        for outcome, number in zip(("passed", "failed", "skipped"), m.groups("0"), strict=True):
            counts.add(outcome, int(number))
    if m := re.match(r"\[  (PASSED|FAILED|SKIPPED)  ?\] (\d+) test", line):
        counts.add(m[1].lower(), int(m[2]))
    return line


def read_pytest(counts: Counts, line: str) -> str:
    """The closing line of pytest, `3 passed, 1 failed in 0.1s`, with or without signs around it."""
    if re.match(r"(=+ )?\d+ (passed|failed|skipped|error|xfailed|deselected).* in [\d.]+s", line):
        for number, word in re.findall(r"(\d+) (\w+)", line.split(" in ")[0]):
            outcome = {
                "passed": "passed",
                "xfailed": "passed",
                "failed": "failed",
                "xpassed": "failed",
                "error": "failed",
                "errors": "failed",
                "skipped": "skipped",
            }.get(word)
            if outcome:
                counts.add(outcome, int(number))
    return line


def read_cargo(counts: Counts, line: str) -> str:
    """The `test result:` line of each test program."""
    if m := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", line):
        counts.add("passed", int(m[1]))
        counts.add("failed", int(m[2]))
        counts.add("skipped", int(m[3]))
    return line


def read_steps(counts: Counts, line: str) -> str:
    """The lines that scripts/checks/steps.sh prints."""
    if m := re.match(r"(ok|not ok|skip) - ", line):
        counts.add({"ok": "passed", "not ok": "failed", "skip": "skipped"}[m[1]])
    return line


READERS: dict[str, Callable[[Counts, str], str]] = {
    "go": read_go,
    "c": read_c,
    "pytest": read_pytest,
    "cargo": read_cargo,
    "steps": read_steps,
}


def stop(child: subprocess.Popen[str]) -> None:
    """Ends the command and everything that it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def run(command: list[str], kind: str, timeout: float, log: TextIO) -> tuple[int, Counts]:
    """Runs the command in a process group of its own and reads its output line by line."""
    counts, late = Counts(), threading.Event()
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    assert child.stdout is not None

    def give_up() -> None:
        late.set()
        stop(child)

    clock = threading.Timer(timeout, give_up)
    clock.start()
    try:
        for line in child.stdout:
            log.write(line)
            sys.stdout.write(READERS[kind](counts, line))
            sys.stdout.flush()
        status = child.wait()
    except KeyboardInterrupt:
        stop(child)
        child.wait()
        raise
    finally:
        clock.cancel()
    if late.is_set():
        for lines in counts.held.values():
            sys.stdout.write("".join(lines))
        print(f"not done after {timeout:.0f} s: stopped")
        return TIMED_OUT, counts
    return status, counts


def main(arguments: list[str]) -> int:
    """Runs the suite that the command line names."""
    try:
        cut = arguments.index("--")
        options, command = arguments[:cut], arguments[cut + 1 :]
        name, kind = options[:2]
        timeout = float(options[3]) if options[2:3] == ["--timeout"] else 900.0
        if kind not in READERS or not command:
            raise ValueError(kind)
    except (ValueError, IndexError):
        print(__doc__, file=sys.stderr)
        return 2
    result, log_path = BUILD / "results" / name, BUILD / "logs" / f"{name}.log"
    for path in (result, log_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    print(f"--- {name}", flush=True)
    began = time.monotonic()
    try:
        with log_path.open("w") as log:
            status, counts = run(command, kind, timeout, log)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(error)
        status, counts = 127, Counts()
    if counts.passed + counts.failed == 0 and status == 0:
        print(f"{name}: no test was run")
        status = 1
    if status != 0 and counts.failed == 0:
        counts.failed = 1
        print(f"{name}: failed with exit status {status}")
    seconds = time.monotonic() - began
    result.write_text(f"{counts.passed} {counts.failed} {counts.skipped} {seconds:.1f}\n")
    return status or int(counts.failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
