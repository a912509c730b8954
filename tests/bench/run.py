#!/usr/bin/env python3
"""Measures ferrum_mem against other allocators, from C.

  run.py --library FILE --output build/bench/results.json [--quick]
  run.py --output build/bench/results.json --markdown [FILE]

The first form builds the harness, measures, writes the results (a list) and, beside them,
machine.json, and prints a table. The second measures nothing: it prints the tables of results that
are there or, with FILE, puts them between that file's two bench markers.

Exit status: 0, 1 when a measurement went wrong, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

import measure
import report
from harness import MANAGER, OURS, PEERS, PROBES, ROOT, BenchError, Harness
from machine import Watch

PROFILE_PAIRS = 400_000


def progress(text: str) -> None:
    """Shows on a terminal what is being measured."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run(library: pathlib.Path, output: pathlib.Path, quick: bool) -> None:
    """Measures everything and writes the results."""
    if not library.exists():
        raise BenchError(f"there is no {library}; make build makes it")
    scale = measure.QUICK if quick else measure.Scale()
    harness = Harness(output.parent, library.absolute())
    allocators = [harness.find(name) for name in (OURS, MANAGER, *PEERS, *PROBES)]
    for allocator in allocators:
        if allocator.missing and (allocator.name in PROBES or allocator.name.startswith("ferrum")):
            raise BenchError(f"{allocator.name}: {allocator.missing}")
        if allocator.missing:
            print(f"bench: without {allocator.name}: {allocator.missing}", file=sys.stderr)
    watch = Watch()
    samples = measure.run_rounds(harness, allocators, scale, progress)
    results = measure.compare(harness, allocators, samples, scale)
    results += measure.probes(harness, allocators, samples, scale)
    progress("loading, replay, profile")
    results += measure.loading(harness, allocators[0], scale)
    results += measure.core_pairs()
    if not quick:
        results += measure.profile(harness, allocators[0], PROFILE_PAIRS)
    progress("")
    machine = watch.record() | {
        "preemptions": harness.preemptions,
        "version": allocators[0].version,
        "quick": quick,
    }
    write(output, results)
    write(output.with_name("machine.json"), machine)


def write(path: pathlib.Path, content: Any) -> None:
    """Writes JSON so that nobody sees half of it."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--library", type=pathlib.Path, help="the library to measure")
    parser.add_argument(
        "--output", type=pathlib.Path, default=ROOT / "build" / "bench" / "results.json"
    )
    parser.add_argument("--quick", action="store_true", help="a few seconds, only to see it work")
    parser.add_argument("--markdown", nargs="?", const="-", metavar="FILE")
    arguments = parser.parse_args()
    if (arguments.library is None) == (arguments.markdown is None):
        parser.error("give --library to measure, or --markdown for the tables of results")
    try:
        if arguments.library:
            run(arguments.library, arguments.output, arguments.quick)
        tables = report.render(arguments.output)
        if arguments.markdown in (None, "-"):
            print(tables)
        else:
            report.rewrite(pathlib.Path(arguments.markdown), tables)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
