#!/usr/bin/env python3
"""Adds up what the suites wrote down, and names what failed.

Usage: summary.py [--closing-line] [--log FILE]... SUITE...

Prints a line for each suite, with its seconds by the clock and the seconds of processors that
it used, then every failed test with the part of its output that matters,
then the names of these alone, and exits 1 if a test failed. A suite without a result did not
run, which counts as one failure: what make said of it is looked for in FILE, the output of make.
With --closing-line the last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import re
import sys

from outcomes import Failure, excerpt, from_json

RESULTS = pathlib.Path("build/test/results")

# How much is shown of what failed tests printed: each, and all together.
LINES_EACH = 40
LINES_ALL = 200


def why_not_run(logs: list[pathlib.Path]) -> list[str]:
    """The lines with which make tells what could not be made, each with those before it."""
    shown: list[str] = []
    for path in logs:
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        last = 0
        for number, line in enumerate(lines):
            # The suites themselves end in such a line too, and are told of elsewhere.
            if re.search(r"\*\*\* .*(Error \d+|Stop\.|No rule)", line) and not re.search(
                r": (check|test)-[a-z-]+\] Error", line
            ):
                shown += lines[max(last, number - 15) : number + 1]
                last = number + 1
    return shown


def show(failures: list[tuple[str, Failure]]) -> None:
    """The output of each failed test, cut so that all of it can be read, then the names."""
    most = max(3, min(LINES_EACH, LINES_ALL // len(failures)))
    left = LINES_ALL
    for suite, failure in failures:
        lines = excerpt(failure.output, min(most, left))
        left -= len(lines)
        if lines:
            print(f"\n--- failed: {suite}: {failure.name}")
            print("\n".join(f"    {line}" for line in lines))
    print("\nfailed:")
    for suite, failure in failures:
        print(f"  {suite}: {failure.name}")


def main(arguments: list[str]) -> int:
    """Sums the named suites."""
    closing = "--closing-line" in arguments
    arguments = [a for a in arguments if a != "--closing-line"]
    logs = []
    while "--log" in arguments:
        at = arguments.index("--log")
        logs.append(pathlib.Path(arguments[at + 1]))
        del arguments[at : at + 2]
    total, cpu = [0, 0, 0], 0.0
    failures: list[tuple[str, Failure]] = []
    print(f"\n{'suite':<18}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}{'cpu':>9}")
    for suite in arguments:
        path = RESULTS / suite
        fields = path.read_text().split() if path.exists() else []
        counts = [int(f) for f in fields[:3]] if fields else [0, 1, 0]
        seconds = fields[3] if fields else "did not run"
        used = float(fields[4]) if fields else 0.0
        cpu += used
        total = [t + c for t, c in zip(total, counts, strict=True)]
        print(f"{suite:<18}{counts[0]:>8}{counts[1]:>8}{counts[2]:>9}  {seconds:>7}{used:>9.1f}")
        told = path.with_suffix(".failed")
        if not fields:
            # What one suite lacks, others lack too: once is enough.
            first = all(failure.name != "did not run" for _, failure in failures)
            failures.append((suite, Failure("did not run", why_not_run(logs) if first else [])))
        elif told.exists():
            failures += [(suite, failure) for failure in from_json(told.read_text())]
    print(f"{'all':<18}{total[0]:>8}{total[1]:>8}{total[2]:>9}{'':>9}{cpu:>9.1f}")
    if failures:
        show(failures)
    if closing:
        skipped = f", {total[2]} skipped" if total[2] else ""
        print(f"\n{total[0]} passed, {total[1]} failed{skipped}")
    return 1 if total[1] or not arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
