#!/usr/bin/env python3
"""Runs the suites on a device: the library's own, the allocator's, programs of tests/c, and those
of core's packages.

  conformance_part.py [SUITE...]    only these; "library", "allocator", "captures", "hazards",
                                    "c.random_pools", "core.pool", ...

DEVICE names the device (default cuda:0). Every suite in build/gpu/suites runs, also the parity
check of the adapter to gorgonia.org/cu. A test that writes to stderr what it could not do has
failed. The simulated driver is slow, so the programs of tests/c do less with it.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
import time
from dataclasses import dataclass, field
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle

CORPUS = bundle.ROOT / "tests" / "corpus" / "pool_calls"
# Programs of tests/c: their arguments on a device, and with the simulated driver.
C_PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "c.device_load_faults": ([], []),
    "c.device_loads": ([], []),
    "c.device_tensors": ([], []),
    "c.pool_calls": ([str(CORPUS), "10"], [str(CORPUS), "0"]),
    "c.random_owners": (["5"], ["2"]),
    "c.random_pools": (["1", "8"], ["1"]),
    "c.random_programs": (["1", "4"], ["8"]),
    "c.random_threads": (["1", "2"], ["1"]),
    "c.random_virtual": (["1", "4"], ["1"]),
    "c.thread_churn": (["2000"], ["200"]),
}
# The largest time of a program or suite.
MOST_SECONDS = 100.0
RAPID_CHECKS = 30
PROGRAMS = ("library", "allocator", "captures", "hazards", *C_PROGRAMS)
SUITES = bundle.BUNDLE / "suites"
# This suite links with the driver's library, so it cannot be built everywhere.
PARITY = "drivers.cuda.gorgonia"
ENDING = ".test"
C_TOTAL = re.compile(r"(\d+) passed, (\d+) failed$")
C_LINE = re.compile(r"(ok|not ok|skip) - (.*?)(?:: (.*))?$")
GO_LINE = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)$")
OUTCOMES = {
    "ok": "passed", "not ok": "failed", "skip": "skipped",
    "PASS": "passed", "FAIL": "failed", "SKIP": "skipped",
}  # fmt: skip


@dataclass
class Suite:
    """The test results of one program."""

    name: str
    seconds: float = 0.0
    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    output: str = ""

    def add(self, outcome: str, test: str) -> None:
        """Counts a test."""
        getattr(self, OUTCOMES[outcome]).append(test)

    def found(self) -> dict[str, Any]:
        """The entry for the results. The output of a failed suite is kept."""
        told = {key: value for key, value in vars(self).items() if key != "output"}
        told["seconds"] = round(self.seconds, 2)
        return {**told, "output": self.output[-20000:]} if self.failed else told


def run_program(name: str, clock: bundle.Clock, variables: dict[str, str]) -> Suite:
    """Runs a program of build/gpu/bin. It prints the result of each test, or a total."""
    words: list[str] = []
    file = name
    if name in C_PROGRAMS:
        file = "test_" + name.removeprefix("c.")
        words = C_PROGRAMS[name][bundle.is_simulated(bundle.driver_library())]
    program = bundle.need(bundle.BUNDLE / "bin" / file)
    suite = Suite(name)
    start = time.monotonic()
    done = bundle.run([program, *words], clock.left(MOST_SECONDS), **variables)
    suite.seconds = time.monotonic() - start
    suite.output = done.stdout + done.stderr
    for line in done.stdout.splitlines():
        if m := C_LINE.match(line):
            suite.add(m[1], m[2])
        elif m := C_TOTAL.match(line):
            suite.passed += [f"program {number + 1}" for number in range(int(m[1]))]
            suite.failed += ["a program"] * int(m[2])
    if done.returncode != 0 and not suite.failed:
        suite.failed.append(f"the program: status {done.returncode}")
    if done.stderr.strip():
        suite.failed.append(f"the program: {done.stderr.strip().splitlines()[0]}")
    if not (suite.passed or suite.failed):
        suite.failed.append("the program: it ran no test")
    return suite


def run_go(name: str, clock: bundle.Clock, variables: dict[str, str]) -> Suite:
    """Runs a test binary of a package of core, in the folder of its package."""
    suite = Suite(name)
    program = bundle.need(SUITES / f"{name}{ENDING}")
    start = time.monotonic()
    seconds = clock.left(MOST_SECONDS)
    limit = f"-test.timeout={seconds:.0f}s"
    command: list[str | pathlib.Path] = [program, "-test.v", "-test.count=1", limit]
    if name.startswith("core."):
        # Each check opens the device, which takes long on a real one.
        command.append(f"-rapid.checks={RAPID_CHECKS}")
    os.chdir(bundle.ROOT / name.replace(".", "/"))
    done = bundle.run(command, seconds + 5, **variables)
    suite.seconds = time.monotonic() - start
    suite.output = done.stdout + done.stderr
    for line in done.stdout.splitlines():
        if m := GO_LINE.match(line):
            suite.add(m[1], m[2])
    if done.returncode != 0 and not suite.failed:
        suite.failed.append(f"the program: status {done.returncode}")
    if not (suite.passed or suite.failed):
        suite.failed.append("the program: it ran no test")
    return suite


def for_parity() -> dict[str, str]:
    """The environment that makes the loader find the same driver library for the parity check.
    The check looks for leaks itself, so the simulated driver does not list them.
    """
    library = bundle.driver_library()
    if "/" not in library:
        return {}
    paths = [str(pathlib.Path(library).parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return {"LD_LIBRARY_PATH": ":".join(filter(None, paths)), "SIMCUDA_LEAKS": ""}


def main() -> int:
    """Runs the suites and writes the results."""
    clock = bundle.Clock()
    try:
        driver = bundle.describe()
        device = os.environ.get("DEVICE") or "cuda:0"
        variables = {"FERRUM_TEST_DEVICE": device}
        built = sorted(bundle.need(SUITES).glob(f"*{ENDING}"))
        known = [*PROGRAMS, *(one.name.removesuffix(ENDING) for one in built)]
        if PARITY not in known:
            bundle.say(f"skip - {PARITY}: `make gpu-bundle` could not build it, as it says")
        wanted = sys.argv[1:] or known
        if strange := set(wanted) - set(known):
            raise bundle.PartError(f"no suite {', '.join(sorted(strange))}: {', '.join(known)}")
        suites = []
        for name in wanted:
            if name in PROGRAMS:
                # It ends before the allocator frees the memory that frameworks keep until their
                # end.
                own = {"SIMCUDA_LEAKS": ""} if name == "allocator" else {}
                suite = run_program(name, clock, {**variables, **own})
            else:
                own = for_parity() if name == PARITY else {}
                suite = run_go(name, clock, {**variables, **own})
            bundle.say(
                f"{name}: {len(suite.passed)} passed, {len(suite.failed)} failed, "
                f"{len(suite.skipped)} skipped, {suite.seconds:.1f} s"
            )
            if suite.failed:
                bundle.say(suite.output[-6000:])
            suites.append(suite)
    except bundle.PartError as error:
        return bundle.fail(str(error))
    failed = sum(len(suite.failed) for suite in suites)
    counts = {
        "device_id": device,
        "passed": sum(len(suite.passed) for suite in suites),
        "failed": failed,
        "skipped": sum(len(suite.skipped) for suite in suites),
    }
    bundle.write_result(
        "conformance", driver, {**counts, "suites": [suite.found() for suite in suites]}
    )
    return bundle.fail(f"{failed} tests failed") if failed else 0


if __name__ == "__main__":
    sys.exit(main())
