"""Measures the highest used address in real traces: our pool by `ferrum-mem replay`, peers in the
harness.

Both run the same sequence. For each trace, the peaks of live bytes must be equal.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
from collections.abc import Callable
from typing import Any

import schedule
from harness import ROOT, Allocator, BenchError, Harness, NotHereError
from measure import Result, nothing, result, summary
from traces import AZURE, MINIMALLOC, MOONCAKE, Trace, trace_file

COMMAND = ROOT / "build" / "bin" / "ferrum-mem"
JITTER_NS = 50_000_000
SEEDS = 15
SEEDS_QUICK = 2
PEERS = ("offset_allocator", "vma", "vma_min_memory", "vma_min_offset", "gpu_allocator")
# The options of the command for the placement of blocks.
OPTIONS: dict[str, list[str]] = {
    "hints": ["--lifetime-hints"],
    "no_hints": [],
    "best_fit": ["--strategy", "best_fit"],
}
# This allocator allocates memory in units of at least 4 MiB. These buffers have 1 MiB in total.
NOT_FOR_SMALL = ("gpu_allocator",)

Figures = dict[str, list[float]]


def replay(file: pathlib.Path, options: list[str]) -> dict[str, Any]:
    """The result of `ferrum-mem replay`."""
    command = [str(COMMAND), "replay", str(file), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class Fragmentation:
    """Runs traces with our pool, and with the peers that report the place of a block."""

    def __init__(self, harness: Harness, peers: list[Allocator], quick: bool) -> None:
        self.harness = harness
        self.peers = [peer for peer in peers if peer.name in PEERS]
        self.quick = quick
        self.steps = harness.folder / "fragmentation.steps"

    def run(self, progress: Callable[[str], None]) -> list[Result]:
        """All values."""
        if not COMMAND.exists():
            return [nothing("fragmentation", "ratio", "build/bin/ferrum-mem has not been built")]
        results: list[Result] = []
        for trace in (AZURE, MOONCAKE, *MINIMALLOC):
            progress(f"fragmentation: {trace.title}")
            try:
                file = trace_file(trace)
            except NotHereError as reason:
                results.append(nothing(f"fragmentation_{trace.name}", "ratio", str(reason)))
                continue
            results += self.results(trace, self.played(trace, file))
        self.steps.unlink(missing_ok=True)
        return results

    def played(self, trace: Trace, file: pathlib.Path) -> Figures:
        """High water over peak live bytes by allocator, with a value for each order of arrival."""
        if trace in MINIMALLOC:
            return self.one_order(file, schedule.lifetimes(file), [], NOT_FOR_SMALL)
        requests = schedule.read_requests(file)
        figures: Figures = {}
        for seed in range(1, (SEEDS_QUICK if self.quick else SEEDS) + 1):
            steps = schedule.contiguous(schedule.jittered(requests, JITTER_NS, seed))
            jitter = ["--jitter", f"{JITTER_NS // 1_000_000}ms", "--seed", str(seed)]
            for name, values in self.one_order(file, steps, jitter, ()).items():
                figures.setdefault(name, []).extend(values)
        return figures

    def one_order(
        self, file: pathlib.Path, steps: schedule.Steps, jitter: list[str], without: tuple[str, ...]
    ) -> Figures:
        """Runs one recorded or jittered order with all allocators."""
        figures: Figures = {}
        for name, options in OPTIONS.items():
            answer = replay(file, [*jitter, *options])
            self.same(answer["peak_live_bytes"], steps, str(file))
            figures[name] = [answer["fragmentation"]]
        steps.write(self.steps)
        for peer in self.peers:
            if peer.missing or peer.name in without:
                continue
            arguments = ["--workload", "trace", "--repetitions", "1", "--trace", str(self.steps)]
            answer = self.harness.measure(peer, arguments)
            self.same(answer["peak_live_bytes"], steps, peer.name)
            figures[peer.name] = [answer["high_water_bytes"] / answer["peak_live_bytes"]]
        return figures

    @staticmethod
    def same(peak_live_bytes: int, steps: schedule.Steps, who: str) -> None:
        """Raises an error if values of two different sequences would be compared."""
        if peak_live_bytes != steps.peak_live_bytes:
            raise BenchError(
                f"{who}: {peak_live_bytes} bytes were alive at the peak, "
                f"not {steps.peak_live_bytes}"
            )

    def results(self, trace: Trace, figures: Figures) -> list[Result]:
        """Our pool with and without hints, compared with best fit and every peer."""
        contiguous = trace not in MINIMALLOC
        jitter = f" --jitter {JITTER_NS // 1_000_000}ms --seed 1" if contiguous else ""
        results = []
        for ours in ("hints", "no_hints"):
            options = " ".join(OPTIONS[ours])
            command = f"build/bin/ferrum-mem replay {trace.file} --json{jitter} {options}".strip()
            peers: list[tuple[str, str | None, str]] = [("best_fit", None, "")]
            peers += [(p.name, p.version or None, p.missing) for p in self.peers]
            for name, version, missing in peers:
                if name not in figures and not missing:
                    continue
                more = {"missing": missing} if missing else {}
                results.append(
                    result(
                        f"fragmentation_{trace.name}_{ours}",
                        "ratio",
                        summary(figures[ours]),
                        None if missing else summary(figures[name]),
                        ours_name="ferrum_replay",
                        peer_name=name,
                        peer_version=version,
                        command=command,
                        **more,
                    )
                )
        return results


def minimalloc_lead(results: list[Result]) -> tuple[float, float, int] | None:
    """Ours over the best peer's: the mean over the files, the maximum, and the number of files.

    The value of our pool is the one with hints, even if the one without hints is better.
    """
    ratios = []
    for trace in MINIMALLOC:
        entries = [
            entry
            for entry in results
            if entry["name"] == f"fragmentation_{trace.name}_hints"
            and entry["peer"] != "best_fit"
            and entry["value_peer"] is not None
        ]
        if entries:
            ratios.append(entries[0]["value_ours"] / min(e["value_peer"] for e in entries))
    if not ratios:
        return None
    return statistics.mean(ratios), max(ratios), len(ratios)
