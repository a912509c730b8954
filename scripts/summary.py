#!/usr/bin/env python3
"""Adds up the counts of the suites and lists the failed tests.

Usage: summary.py [--closing-line] [--log FILE]... SUITE...

Prints a line for each suite, with its elapsed seconds and its processor seconds. Then prints each
failed test with the important part of its output, and a list of the names of all failed tests.
Exits with 1 if a test failed. A suite without a result did not run and counts as one failure; the
script looks for the reason in FILE, which is the output of make. With --closing-line the last
line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import re
import sys

from outcomes import Failure, excerpt, from_json

RESULTS = pathlib.Path("build/test/results")

# Lines of output that are shown: for each failed test, and for all failed tests together.
LINES_EACH = 40
LINES_ALL = 200


def why_not_run(logs: list[pathlib.Path]) -> list[str]:
    """Finds the lines in which make reports an error, each with up to 15 lines before it."""
    shown: list[str] = []
    for path in logs:
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        last = 0
        for number, line in enumerate(lines):
            # Skip the line with which a failed suite ends: its failed tests are shown from its
            # own result.
            if re.search(r"\*\*\* .*(Error \d+|Stop\.|No rule)", line) and not re.search(
                r": (check|test)-[a-z-]+\] Error", line
            ):
                shown += lines[max(last, number - 15) : number + 1]
                last = number + 1
    return shown


def show(failures: list[tuple[str, Failure]]) -> None:
    """Shows the output of each failed test, cut to a length that can be read, then all names."""
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
    """Prints the sum of the named suites."""
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
            # Suites usually do not run for the same reason, so show it once.
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
