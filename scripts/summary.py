#!/usr/bin/env python3
"""Adds up what the suites wrote down.

Usage: summary.py [--closing-line] SUITE...

Prints a line for each suite and exits 1 if a test failed. A suite without a result did not run,
which counts as one failure. With --closing-line the last line is `N passed, N failed`.
"""

from __future__ import annotations

import pathlib
import sys

RESULTS = pathlib.Path("build/test/results")


def main(arguments: list[str]) -> int:
    """Sums the named suites."""
    closing = "--closing-line" in arguments
    suites = [a for a in arguments if a != "--closing-line"]
    total = [0, 0, 0]
    print(f"\n{'suite':<18}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for suite in suites:
        path = RESULTS / suite
        fields = path.read_text().split() if path.exists() else []
        counts = [int(f) for f in fields[:3]] if fields else [0, 1, 0]
        seconds = fields[3] if fields else "did not run"
        total = [t + c for t, c in zip(total, counts, strict=True)]
        print(f"{suite:<18}{counts[0]:>8}{counts[1]:>8}{counts[2]:>9}  {seconds:>7}")
    print(f"{'all':<18}{total[0]:>8}{total[1]:>8}{total[2]:>9}")
    if closing:
        skipped = f", {total[2]} skipped" if total[2] else ""
        print(f"\n{total[0]} passed, {total[1]} failed{skipped}")
    return 1 if total[1] or not suites else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
