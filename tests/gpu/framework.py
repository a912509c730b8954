"""Runs the cases of a part for a framework, each in a process of its own."""

from __future__ import annotations

import json
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle

# The exit status of a part whose framework is not installed.
ABSENT = 77


def empty_cache(device: Any, at_most_bytes: int, ordinal: int = 0) -> None:
    """Releases the unused memory of the allocator's pool. Raises an error if the pool still holds
    more than at_most_bytes. The pool's own thread may release pages at the same time, so this
    waits.
    """
    import ferrum_mem.frameworks

    end = time.monotonic() + 20
    while True:
        ferrum_mem.frameworks.trim(ordinal)
        held = device.statistics().reserved.current
        if held <= at_most_bytes:
            return
        if time.monotonic() > end:
            raise bundle.PartError(f"{held} bytes are held after emptying, not {at_most_bytes}")


def run_cases(cases: dict[str, Callable[[], None]]) -> int:
    """Runs the case that the command line names, and prints the result."""
    name = sys.argv[2]
    try:
        cases[name]()
    except Exception as problem:  # any exception of a framework is a result
        print(f"not ok - {name}: {type(problem).__name__}: {problem}", flush=True)
        return 1
    print(f"ok - {name}", flush=True)
    return 0


def run_part(part: str, script: str, names: list[str], versions: str) -> int:
    """Runs each case in a process of its own, because a process chooses its allocator once.
    Writes the results. versions is a program that prints the version of the framework.
    """
    clock = bundle.Clock()
    try:
        driver = bundle.describe()
        asked = bundle.run([sys.executable, "-c", versions], clock.left(120))
        if asked.returncode != 0:
            lines = asked.stderr.strip().splitlines() or ["no reason given"]
            bundle.say(f"skip - {part}: {lines[-1]}")
            return ABSENT
        found: dict[str, Any] = {"passed": [], "failed": [], "figures": {}}
        for name in names:
            done = bundle.run([sys.executable, script, "case", name], clock.left(120))
            bundle.say(done.stdout.strip() or f"not ok - {name}: status {done.returncode}")
            good = done.returncode == 0 and f"ok - {name}" in done.stdout.splitlines()
            found["passed" if good else "failed"].append(name)
            # A case prints its figures as objects of JSON.
            figures = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
            if figures:
                found["figures"][name] = figures if len(figures) > 1 else figures[0]
            if not good:
                bundle.say(done.stderr[-4000:])
        if not found["figures"]:
            del found["figures"]
        bundle.write_result(part, driver, {"version": asked.stdout.strip(), **found})
    except bundle.PartError as error:
        return bundle.fail(str(error))
    failed = len(found["failed"])
    return bundle.fail(f"{failed} cases failed") if failed else 0
