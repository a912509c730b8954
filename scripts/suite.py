#!/usr/bin/env python3
"""Runs one suite of tests or checks, shows its output and writes its counts to a file.

Usage: suite.py NAME KIND [--timeout SECONDS] -- COMMAND...

KIND says how the script reads the counts from the output:
  go      COMMAND is `go test -json`; top-level tests and packages that do not build count
  c       C programs one after the other: cmocka, GoogleTest, or a line `N passed, N failed`
  pytest  the closing line of pytest
  cargo   the `test result:` lines of cargo test
  steps   lines `ok - NAME`, `not ok - NAME` and `skip - NAME`

The file build/test/results/NAME gets the counts, the elapsed seconds, and the processor seconds
of the command and of the processes that it waited for. The file NAME.failed in the same folder
gets the failed tests with their output. The file build/test/logs/NAME.log gets the whole output.
The exit status is that of the command, or 1 if a test failed. A suite that exits with an error
but reports no failed test counts as one failure. A suite that ran no test also counts as one
failure.
"""

from __future__ import annotations

import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import time
from typing import TextIO

from outcomes import READERS, Failure, Reader, to_json

BUILD = pathlib.Path("build/test")
TIMED_OUT = 124


def stop(child: subprocess.Popen[str]) -> None:
    """Kills the process group of the command, which includes every process that it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def run(command: list[str], kind: str, timeout: float, log: TextIO) -> tuple[int, Reader]:
    """Runs the command in its own process group and reads its output line by line."""
    reader, late = READERS[kind](), threading.Event()
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
            sys.stdout.write(reader.read(line))
            sys.stdout.flush()
        status = child.wait()
    except KeyboardInterrupt:
        stop(child)
        child.wait()
        raise
    finally:
        clock.cancel()
    sys.stdout.write(reader.end())
    if late.is_set():
        print(f"not done after {timeout:.0f} s: stopped")
        return TIMED_OUT, reader
    return status, reader


def main(arguments: list[str]) -> int:
    """Runs the suite that the command line names."""
    try:
        cut = arguments.index("--")
        options, command = arguments[:cut], arguments[cut + 1 :]
        name, kind = options[:2]
        timeout = float(options[3]) if options[2:3] == ["--timeout"] else 1800.0
        if kind not in READERS or not command:
            raise ValueError(kind)
    except (ValueError, IndexError):
        print(__doc__, file=sys.stderr)
        return 2
    result, log_path = BUILD / "results" / name, BUILD / "logs" / f"{name}.log"
    failed_path = result.with_suffix(".failed")
    for path in (result, log_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    failed_path.unlink(missing_ok=True)
    print(f"--- {name}", flush=True)
    began = time.monotonic()
    try:
        with log_path.open("w") as log:
            status, reader = run(command, kind, timeout, log)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(error)
        status, reader = 127, READERS[kind]()
        reader.recent.append(str(error))
    judge(name, status, reader)
    seconds = time.monotonic() - began
    if reader.failures:
        failed_path.write_text(to_json(reader.failures))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    counts = f"{reader.passed} {reader.failed} {reader.skipped}"
    result.write_text(f"{counts} {seconds:.1f} {cpu:.1f}\n")
    return status or int(reader.failed > 0)


def judge(name: str, status: int, reader: Reader) -> None:
    """Adds a failure if the command failed without a failed test, or ran no test."""
    why = f"failed with exit status {status}"
    if status == TIMED_OUT:
        why = "was stopped, or something in it was, because it took too long"
    if reader.passed + reader.failed == 0 and status == 0:
        reader.failed, why = 1, "no test was run"
    if status != 0 and reader.failed == 0:
        reader.failed = 1
    if reader.failed == 0:
        return
    if not reader.failures or status == TIMED_OUT:
        print(f"{name}: {why}")
        reader.failures.append(Failure(why, [line.rstrip() for line in reader.recent]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
