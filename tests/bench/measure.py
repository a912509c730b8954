"""The rounds over all allocators. In a round all are measured, so that a change of the machine
affects all alike.
"""

from __future__ import annotations

import collections
import statistics
from collections.abc import Callable
from typing import Any

import mixed
import workloads as plain
from harness import OURS, ROOT, Allocator, BenchError, Harness
from workloads import Workload

Result = dict[str, Any]
Samples = dict[str, list[float]]
ROUNDS = 10
# Enough for medians and a first look at a change. Spreads are those of few processes.
ROUNDS_SHORT = 3
UNITS = plain.UNITS | mixed.UNITS


def as_typed(command: str | None) -> str | None:
    """A command line as one would type it in the repository's root."""
    return command and command.replace(f"{ROOT}/", "")


def metrics(answer: dict[str, Any]) -> Samples:
    """The values of a process's answer, by metric."""
    return plain.metrics(answer) | mixed.metrics(answer)


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


def turn_of(turn: int, workload: Workload, name: str, rounds: int) -> bool:
    """Whether an allocator is measured in a round. The few measurements of a slow one are spread
    out.
    """
    wanted = min(workload.rounds.get(name, rounds), rounds)
    return (turn + 1) * wanted // rounds > turn * wanted // rounds


class Rounds:
    """Measures every allocator with every workload, in turn, round after round."""

    def __init__(
        self, harness: Harness, allocators: list[Allocator], quick: bool, rounds: int = ROUNDS
    ) -> None:
        self.harness = harness
        self.allocators = {allocator.name: allocator for allocator in allocators}
        self.quick = quick
        self.rounds = 1 if quick else rounds
        self.samples: dict[tuple[str, str], Samples] = collections.defaultdict(
            lambda: collections.defaultdict(list)
        )

    def run(self, workloads: list[Workload], progress: Callable[[str], None]) -> None:
        """Takes all samples."""
        rounds = self.rounds
        for turn in range(rounds):
            for workload in workloads:
                progress(f"round {turn + 1} of {rounds}: {workload.name}")
                present = [self.allocators[name] for name in workload.allocators()]
                start = turn % len(present)
                for allocator in present[start:] + present[:start]:
                    if allocator.missing or not turn_of(turn, workload, allocator.name, rounds):
                        continue
                    answer = self.harness.measure(allocator, workload.command(self.quick))
                    if workload.before:
                        fresh = workload.fresh_command(self.quick)
                        answer["fresh_ns"] = self.harness.measure(allocator, fresh)["pair_ns"]
                    into = self.samples[workload.name, allocator.name]
                    for metric, values in metrics(answer).items():
                        into[metric] += values

    def command(self, workload: Workload, name: str) -> str:
        """The command that measures one allocator."""
        return self.harness.command_text(self.allocators[name], workload.command(self.quick))

    def compared(self, workload: Workload) -> list[Result]:
        """Our pool compared with every other allocator, metric by metric."""
        ours = self.samples[workload.name, workload.ours]
        if not ours:
            raise BenchError(f"{workload.name} gave nothing")
        results = []
        for metric in (m for m in UNITS if m in ours):
            for name in (*workload.peers, *workload.variants):
                peer = self.allocators[name]
                theirs = self.samples[workload.name, name]
                if not peer.missing and metric not in theirs:
                    continue
                more = {"missing": peer.missing} if peer.missing else {}
                results.append(
                    result(
                        f"{workload.name}_{metric}",
                        UNITS[metric],
                        summary(ours[metric]),
                        None if peer.missing else summary(theirs[metric]),
                        ours_name=workload.ours,
                        peer_name=name,
                        peer_version=peer.version or None,
                        group=peer.group.value,
                        threads=workload.threads,
                        command=self.command(workload, workload.ours),
                        **more,
                    )
                )
            if not any(entry["name"] == f"{workload.name}_{metric}" for entry in results):
                results.append(self.alone(workload, workload.ours, metric))
        if "arithmetic" in ours:
            results.append(self.against_the_loop(workload))
        return results

    def against_the_loop(self, workload: Workload) -> Result:
        """How our two threads scale, beside a plain arithmetic loop."""
        ours = self.samples[workload.name, workload.ours]
        return result(
            f"{workload.name}_scaling",
            "ratio",
            summary(ours["scaling"]),
            summary(ours["arithmetic"]),
            peer_name="arithmetic loop",
            threads=workload.threads,
            command=self.command(workload, workload.ours),
        )

    def alone(self, workload: Workload, name: str, metric: str) -> Result:
        """A value of one of our allocators that no peer has."""
        return result(
            f"{workload.name}_{metric}",
            UNITS[metric],
            summary(self.samples[workload.name, name][metric]),
            None,
            ours_name=name,
            threads=workload.threads,
            command=self.command(workload, name),
        )

    def probes(self, workload: Workload) -> list[Result]:
        """The cost of the harness and of bare calls in this workload."""
        results = []
        for name in workload.probes:
            samples = self.samples[workload.name, name]
            missing = self.allocators[name].missing
            for metric in (m for m in ("median", "filled", "replaced", "opened") if m in samples):
                results.append(
                    self.alone(workload, name, metric)
                    | {"name": f"{workload.name}_{metric}_{name}", "group": "probe"}
                )
            if missing:
                results.append(nothing(f"{workload.name}_median_{name}", "ns", missing, name))
        return results


def nothing(name: str, unit: str, missing: str, ours: str = OURS) -> Result:
    """The entry of a value that is not available."""
    entry = result(name, unit, summary([0.0]), None, ours_name=ours, missing=missing)
    return {**entry, "value_ours": None, "spread": None}


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
        "command": as_typed(more.pop("command", None)),
        **more,
    }
