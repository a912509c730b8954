"""Measurements outside the rounds over allocators: loading, the core alone, the profile."""

from __future__ import annotations

import collections
import json
import re
import subprocess
from pathlib import Path

from harness import OURS, ROOT, Allocator, BenchError, Harness, NotHereError
from measure import Result, nothing, result, summary
from workloads import Workload

TRACE = "examples/traces/azure_llm_code_2023.csv"
FIRST_CALLS = 20
FIRST_CALLS_QUICK = 2
PROFILE_PAIRS = 400_000
PROFILED = ("hot_pair_256b", "random_1000_live")


def loading(harness: Harness, ours: Allocator, quick: bool) -> list[Result]:
    """Size of the library, and the time from dlopen to the first calls in a new process."""
    arguments = ["--workload", "first"]
    calls = FIRST_CALLS_QUICK if quick else FIRST_CALLS
    answers = [harness.measure(ours, arguments) for _ in range(calls)]
    size = float(harness.library.resolve().stat().st_size)
    results = [result("library_size", "MB", summary([size / 1e6]), None)]
    for metric in ("open", "first_call", "init"):
        values = [answer[f"{metric}_ns"] / 1e6 for answer in answers]
        command = harness.command_text(ours, arguments)
        results.append(result(f"library_{metric}", "ms", summary(values), None, command=command))
    return results


def core_pairs() -> list[Result]:
    """The pair time of the core alone, as the command's replay of a serving trace reports it."""
    command = ["build/bin/ferrum-mem", "replay", TRACE, "--json"]
    text = " ".join(command)
    try:
        if not (ROOT / command[0]).exists():
            raise NotHereError("build/bin/ferrum-mem has not been built")
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"{text}: exit status {done.returncode}: {done.stderr.strip()}")
        answer = json.loads(done.stdout)
    except NotHereError as reason:
        return [nothing("replay_pair", "ns", str(reason))]
    return [
        result(f"replay_{key}", "ns", summary([float(answer[key])]), None, command=text)
        for key in ("pair_ns_median", "pair_ns_p99")
    ]


# The part of the library that a function belongs to. The first match wins.
PARTS = (
    (r"ferrum_mem/(core/\w+|drivers/\w+)", None),
    (
        r"^(internal/)?runtime\b.*(lock2|[cC]han|maps|mapaccess|memhash)",
        "Go: locks, channels, maps",
    ),
    (r"^(runtime|internal|sync|gcWriteBarrier)\b", "Go: runtime, mostly the crossing"),
    (r"cache", "thread cache"),
    (
        r"^(crosscall|_?cgo|x_cgo|main\.|fmgo_|ferrum_|fm_)",
        "public functions, with the hits in them",
    ),
    (r"clock_gettime|nanotime|^time\.", "clock"),
)


def profile(harness: Harness, ours: Allocator, workloads: list[Workload]) -> list[Result]:
    """Where the time of a pair is spent: shares of perf's samples. Empty without perf."""
    debug = harness.library.parent / "debug" / harness.library.resolve().name
    if not debug.exists():
        return []
    unstripped = Allocator(OURS, ours.group, library=debug)
    results = []
    for workload in (w for w in workloads if w.name in PROFILED):
        amount = ["--pairs", str(PROFILE_PAIRS), "--repetitions", "5", "--singles", "1"]
        arguments = [*workload.arguments, *amount, "--budget-ns", "10000000000"]
        shares = sample(harness, unstripped, arguments)
        results += [
            result(
                f"{workload.name}_share",
                "%",
                summary([share]),
                None,
                part=part,
                command=f"perf record {harness.command_text(unstripped, arguments)}",
            )
            for part, share in sorted(shares.items(), key=lambda entry: -entry[1])
        ]
    return results


def sample(harness: Harness, allocator: Allocator, arguments: list[str]) -> dict[str, float]:
    """Percent of a measurement's samples by part of the library."""
    shares: dict[str, float] = collections.defaultdict(float)
    data = harness.folder / "perf.data"
    added = [f"{name}={value}" for name, value in harness.environment(allocator).items()]
    command = ["env", *added, *harness.command(allocator, arguments)]
    try:
        record = ["perf", "record", "-q", "-o", str(data), *command]
        subprocess.run(record, cwd=ROOT, capture_output=True, check=True)
        report = ["perf", "report", "-i", str(data), "--stdio", "-g", "none"]
        report += ["--sort", "dso,symbol"]
        done = subprocess.run(report, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return shares
    finally:
        Path(data).unlink(missing_ok=True)
    for line in done.stdout.splitlines():
        found = re.match(r"\s*([\d.]+)%\s+(\S+)\s+\[(.)\]\s+(.*)", line)
        if found:
            share, library, ring, symbol = found.groups()
            shares[part_of(library, ring, symbol.strip())] += float(share)
    return shares


def part_of(library: str, ring: str, symbol: str) -> str:
    """The part of the library that a sampled function belongs to."""
    if ring == "k":
        return "kernel"
    if library.startswith("bench"):
        return "the harness"
    for pattern, part in PARTS:
        found = re.search(pattern, symbol)
        if found:
            return part or found.group(1)
    return "other"
