"""The measurements: rounds over allocators, so that a change of the machine hits all alike."""

from __future__ import annotations

import collections
import json
import re
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import MANAGER, OURS, PEERS, PROBES, ROOT, Allocator, BenchError, Harness, NotHereError

Result = dict[str, Any]
TRACE = "examples/traces/azure_llm_code_2023.csv"


@dataclass(frozen=True)
class Workload:
    """A workload of the harness."""

    name: str
    arguments: tuple[str, ...]
    threads: int
    probed: bool = False


WORKLOADS = (
    Workload("hot_pair_256b", ("--workload", "hot", "--size", "256"), 1, probed=True),
    Workload("hot_pair_64kib", ("--workload", "hot", "--size", "65536"), 1),
    Workload("hot_pair_1mib", ("--workload", "hot", "--size", "1048576"), 1),
    Workload("random_1000_live", ("--workload", "random"), 1, probed=True),
    Workload("two_threads_hot_256b", ("--workload", "threads", "--size", "256"), 2),
    Workload("two_threads_random", ("--workload", "threads"), 2),
)


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rounds: int = 10
    repetitions: int = 25
    pairs: int = 4000
    singles: int = 50000
    thread_repetitions: int = 3
    thread_pairs: int = 20000
    first_calls: int = 20

    def arguments(self, workload: Workload) -> list[str]:
        """The harness's arguments for a workload."""
        several = workload.threads > 1
        numbers = {
            "--pairs": self.thread_pairs if several else self.pairs,
            "--repetitions": self.thread_repetitions if several else self.repetitions,
            "--singles": self.singles,
        }
        return [*workload.arguments, *(str(x) for pair in numbers.items() for x in pair)]


QUICK = Scale(
    rounds=1,
    repetitions=3,
    pairs=200,
    singles=1000,
    thread_repetitions=2,
    thread_pairs=500,
    first_calls=2,
)


def summary(values: list[float]) -> dict[str, float]:
    """Median and spread of some values."""
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else None
    return {
        "median": statistics.median(values),
        "q1": quartiles[0] if quartiles else values[0],
        "q3": quartiles[2] if quartiles else values[0],
        "min": min(values),
        "max": max(values),
        "samples": len(values),
    }


@dataclass
class Samples:
    """What one allocator showed in one workload, by metric."""

    metrics: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))

    def add(self, answer: dict[str, Any]) -> None:
        """Takes in the answer of one process."""
        self.metrics["median"] += answer["pair_ns"]
        if "single_ns" in answer:
            self.metrics["p99"].append(answer["single_ns"]["p99"])
        if "two_threads_pair_ns" in answer:
            self.metrics["two_threads_median"] += answer["two_threads_pair_ns"]
            self.metrics["scaling"] += quotients(answer, "pair_ns")
            self.metrics["arithmetic"] += quotients(answer, "arithmetic_ns")


def quotients(answer: dict[str, Any], metric: str) -> list[float]:
    """Time in one thread over time in two, repetition by repetition."""
    one, two = answer[metric], answer[f"two_threads_{metric}"]
    return [a / b for a, b in zip(one, two, strict=True)]


Key = tuple[str, str]


def run_rounds(
    harness: Harness, allocators: list[Allocator], scale: Scale, progress: Callable[[str], None]
) -> dict[Key, Samples]:
    """Measures every allocator with every workload, in turn, round after round."""
    samples: dict[Key, Samples] = collections.defaultdict(Samples)
    present = [allocator for allocator in allocators if not allocator.missing]
    for turn in range(scale.rounds):
        for workload in WORKLOADS:
            progress(f"round {turn + 1} of {scale.rounds}: {workload.name}")
            start = turn % len(present)
            for allocator in present[start:] + present[:start]:
                if allocator.name in PROBES and not workload.probed:
                    continue
                answer = harness.measure(allocator, scale.arguments(workload))
                samples[workload.name, allocator.name].add(answer)
    return samples


def result(
    name: str, unit: str, ours: dict[str, float], peer: dict[str, float] | None, **more: Any
) -> Result:
    """One entry of results.json."""
    return {
        "name": name,
        "unit": unit,
        "ours": more.pop("ours_name", OURS),
        "peer": more.pop("peer_name", None),
        "peer_version": more.pop("peer_version", None),
        "value_ours": ours["median"],
        "value_peer": peer["median"] if peer else None,
        "ratio": ours["median"] / peer["median"] if peer and peer["median"] else None,
        "spread": {"ours": ours, "peer": peer},
        "threads": more.pop("threads", 1),
        "command": more.pop("command", None),
        **more,
    }


UNITS = {"median": "ns", "p99": "ns", "two_threads_median": "ns", "scaling": "ratio"}


def compare(
    harness: Harness, allocators: list[Allocator], samples: dict[Key, Samples], scale: Scale
) -> list[Result]:
    """Our pool against every peer, in every workload."""
    by_name = {allocator.name: allocator for allocator in allocators}
    results = []
    for workload in WORKLOADS:
        metrics = samples[workload.name, OURS].metrics
        for metric in (m for m in UNITS if m in metrics):
            ours = summary(metrics[metric])
            # The manager is ours: it stands in the place of a peer to show what it adds.
            for peer in (by_name[name] for name in (*PEERS, MANAGER)):
                theirs = samples[workload.name, peer.name].metrics if not peer.missing else None
                more = {"missing": peer.missing} if peer.missing else {}
                results.append(
                    result(
                        f"{workload.name}_{metric}",
                        UNITS[metric],
                        ours,
                        summary(theirs[metric]) if theirs else None,
                        peer_name=peer.name,
                        peer_version=peer.version or None,
                        threads=workload.threads,
                        command=harness.command_text(by_name[OURS], scale.arguments(workload)),
                        **more,
                    )
                )
        if workload.threads > 1:
            results.append(
                result(
                    f"{workload.name}_scaling",
                    "ratio",
                    summary(metrics["scaling"]),
                    summary(metrics["arithmetic"]),
                    peer_name="arithmetic loop",
                    threads=workload.threads,
                    command=harness.command_text(by_name[OURS], scale.arguments(workload)),
                )
            )
    return results


def probes(
    harness: Harness, allocators: list[Allocator], samples: dict[Key, Samples], scale: Scale
) -> list[Result]:
    """What the harness, a plain C call and a call into Go cost, as pairs of calls."""
    results = []
    for allocator in (a for a in allocators if a.name in PROBES):
        for workload in (w for w in WORKLOADS if w.probed):
            arguments = scale.arguments(workload)
            metrics = samples[workload.name, allocator.name].metrics
            results.append(
                result(
                    f"{workload.name}_{allocator.name}",
                    "ns",
                    summary(metrics["median"]),
                    None,
                    ours_name=allocator.name,
                    command=harness.command_text(allocator, arguments),
                )
            )
    return results


def loading(harness: Harness, ours: Allocator, scale: Scale) -> list[Result]:
    """Size of the library, and the time from dlopen to the first calls in a new process."""
    arguments = ["--workload", "first"]
    answers = [harness.measure(ours, arguments) for _ in range(scale.first_calls)]
    size = float(harness.library.resolve().stat().st_size)
    results = [result("library_size", "MB", summary([size / 1e6]), None)]
    for metric in ("open", "first_call", "init"):
        values = [answer[f"{metric}_ns"] / 1e6 for answer in answers]
        command = harness.command_text(ours, arguments)
        results.append(result(f"library_{metric}", "ms", summary(values), None, command=command))
    return results


def core_pairs() -> list[Result]:
    """Pair time of the core itself, as the command's replay of a serving trace tells it."""
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
        nothing: Result = result("replay_pair", "ns", summary([0.0]), None, command=text)
        return [{**nothing, "value_ours": None, "spread": None, "missing": str(reason)}]
    return [
        result(f"replay_{key}", "ns", summary([float(answer[key])]), None, command=text)
        for key in ("pair_ns_median", "pair_ns_p99")
    ]


# Which part of the library a function belongs to, first match wins.
PARTS = (
    (r"ferrum_mem/(core/\w+|drivers/\w+)", None),
    (
        r"^(internal/)?runtime\b.*(lock2|[cC]han|maps|mapaccess|memhash)",
        "Go: locks, channels, maps",
    ),
    (r"^(runtime|internal|sync|gcWriteBarrier)\b", "Go: runtime, mostly the crossing"),
    (r"^(crosscall|_?cgo|x_cgo|main\.|fmgo_|ferrum_|fm_)", "glue between C and Go"),
    (r"clock_gettime|nanotime|^time\.", "clock"),
)


def profile(harness: Harness, ours: Allocator, pairs: int) -> list[Result]:
    """Where the time of a pair goes: shares of perf's samples. Empty without perf."""
    debug = harness.library.parent / "debug" / harness.library.resolve().name
    if not debug.exists():
        return []
    unstripped = Allocator(OURS, library=debug)
    results = []
    for name, workload in (("hot_pair_256b", WORKLOADS[0]), ("random_1000_live", WORKLOADS[3])):
        amount = ["--pairs", str(pairs), "--repetitions", "5", "--singles", "1"]
        arguments = [*workload.arguments, *amount]
        data = harness.program.parent / "perf.data"
        shares = sample(harness.command(unstripped, arguments), data)
        results += [
            result(
                f"{name}_share",
                "%",
                summary([share]),
                None,
                part=part,
                command=f"perf record {harness.command_text(unstripped, arguments)}",
            )
            for part, share in sorted(shares.items(), key=lambda entry: -entry[1])
        ]
    return results


def sample(command: list[str], data: Path) -> dict[str, float]:
    """Percent of a command's samples by part of the library."""
    shares: dict[str, float] = collections.defaultdict(float)
    try:
        record = ["perf", "record", "-q", "-o", str(data), *command]
        subprocess.run(record, cwd=ROOT, capture_output=True, check=True)
        report = [
            "perf",
            "report",
            "-i",
            str(data),
            "--stdio",
            "-g",
            "none",
            "--sort",
            "dso,symbol",
        ]
        done = subprocess.run(report, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return shares
    finally:
        data.unlink(missing_ok=True)
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
