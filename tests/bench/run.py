#!/usr/bin/env python3
"""Measures ferrum_mem against other allocators, from C.

  run.py --library FILE --output build/bench/results.json [--short | --quick]
  run.py --output build/bench/results.json --markdown [FILE]

The first form builds the harness, measures, writes the results (a list) and, beside them,
machine.json and a folder of pictures, and prints summary and tables. The second form measures
nothing. It prints summary and tables of existing results. With FILE, it puts them between that
file's markers, and the pictures and the results into a folder beside the file.

Exit status: 0, 1 if a measurement failed, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

import extras
import mixed
import page
import pictures
import report
import workloads
from calm import CALM_FACTOR
from elastic import Elastic
from fragmentation import Fragmentation
from from_python import FromPython
from harness import GROUPS, OURS, PMR, ROOT, BenchError, Group, Harness
from kv_caches import KvCaches
from latency import Latency
from machine import Watch
from measure import ROUNDS, ROUNDS_SHORT, Rounds
from models import Models
from operations import Operations
from summary import summary_lines
from weights_files import WeightsFiles


def progress(text: str) -> None:
    """Shows on a terminal what is being measured."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def patience(quick: bool, short: bool) -> float:
    """How long a run may wait for calm moments, in seconds."""
    if quick:
        return 0
    return 180 if short else 900


def run(library: pathlib.Path, output: pathlib.Path, quick: bool, short: bool = False) -> None:
    """Measures everything and writes the results. A short run has fewer rounds and orders."""
    if not library.exists():
        raise BenchError(f"there is no {library}; make build makes it")
    progress("building the harness")
    harness = Harness(output.parent, library.absolute(), patience(quick, short), quick)
    allocators = [harness.find(name) for names in GROUPS.values() for name in names]
    left_out = []
    for allocator in allocators:
        if not allocator.missing:
            continue
        # It needs a compiler for C++, unlike our other allocators.
        if allocator.group is Group.OURS and allocator.name != PMR:
            raise BenchError(f"{allocator.name}: {allocator.missing}")
        left_out.append(f"{allocator.name}: {allocator.missing}")
    traces, no_traces = workloads.traces(harness.folder, quick)
    left_out += no_traces
    phases, no_phases = mixed.workloads(harness.folder, quick)
    left_out += no_phases
    for text in left_out:
        print(f"bench: without {text}", file=sys.stderr)
    planned = [*workloads.fixed(), *traces, *phases]
    watch = Watch()
    rounds = Rounds(harness, allocators, quick, ROUNDS_SHORT if short else ROUNDS)
    rounds.run(planned, progress)
    results = [entry for workload in planned for entry in rounds.compared(workload)]
    results += [entry for workload in planned for entry in rounds.probes(workload)]
    results += Fragmentation(harness, allocators, quick or short).run(progress)
    results += Elastic(harness, quick).run(progress)
    results += Latency(harness, quick).run(progress)
    results += FromPython(harness, quick).run(progress)
    results += KvCaches(harness, quick).run(progress)
    results += WeightsFiles(harness, quick).run(progress)
    results += Operations(harness, quick, short).run(progress)
    results += Models(harness, quick, short).run(progress)
    progress("loading, replay, profile")
    ours = rounds.allocators[OURS]
    results += extras.loading(harness, ours, quick)
    results += extras.core_pairs()
    if not quick:
        results += extras.profile(harness, ours, planned)
    progress("")
    machine = watch.record() | {
        "preemptions": harness.preemptions,
        "calm": {
            "factor": CALM_FACTOR,
            "measured": harness.calm.measured,
            "repeated": harness.calm.repeated,
            "disturbed": harness.calm.disturbed,
        },
        "version": ours.version,
        "quick": quick,
        "short": short,
        "left_out": left_out,
        "workloads": {workload.name: workload.heading for workload in planned},
    }
    write(output, results)
    write(output.with_name("machine.json"), machine)


def write(path: pathlib.Path, content: Any) -> None:
    """Writes JSON atomically."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def show(results: pathlib.Path, file: pathlib.Path | None) -> None:
    """Prints summary and tables, or puts them into a page."""
    if file is not None:
        page.publish(results, file)
        return
    book, machine = report.load(results)
    pictures.draw(book, results.parent / "performance")
    print("\n".join(summary_lines(book, machine)))
    print(report.render(results))


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--library", type=pathlib.Path, help="the library to measure")
    parser.add_argument(
        "--output", type=pathlib.Path, default=ROOT / "build" / "bench" / "results.json"
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--short", action="store_true", help="a third of the rounds")
    length.add_argument("--quick", action="store_true", help="a minute, only to see it work")
    parser.add_argument("--markdown", nargs="?", const="-", metavar="FILE")
    arguments = parser.parse_args()
    if (arguments.library is None) == (arguments.markdown is None):
        parser.error("give --library to measure, or --markdown for the tables of results")
    try:
        if arguments.library:
            run(arguments.library, arguments.output, arguments.quick, arguments.short)
        to_page = arguments.markdown not in (None, "-")
        show(arguments.output, pathlib.Path(arguments.markdown) if to_page else None)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
