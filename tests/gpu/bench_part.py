#!/usr/bin/env python3
"""Measures pools and pages on a device, together with other allocators, in one run.

Each allocator runs in a process of its own. A program in C starts quickly, so it has one process
for each measure, and all programs run one after the other in each round. Then the frameworks run.
A framework has one process for all its measures, hot pairs first. Ratios are of the same round.
Frameworks that are not installed are left out and named. With the simulated driver the sizes are
small and the figures mean nothing: the part only shows that it works.
"""

from __future__ import annotations

import csv
import datetime
import heapq
import itertools
import json
import os
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle
import framework

OURS = "pool"
IN_C = (OURS, "pool_segments", "driver_ordered", "driver_plain")
IN_PYTHON = (
    "torch_ferrum", "torch", "torch_expandable", "torch_ordered",
    "cupy_ferrum", "cupy", "rmm",
)  # fmt: skip
MEBIBYTE = 1 << 20
ROUNDS = 3
MAP_US, WAKE_SHARE, LEFT_BYTES = 45.0, 0.9, 100 * MEBIBYTE


@dataclass
class Sizes:
    """The sizes of the measures."""

    hot: tuple[int, ...]
    live_bytes: int
    requests: int
    pages: int
    wake_bytes: int
    large_page: int
    rounds: int


def sizes_for(driver: dict[str, Any]) -> Sizes:
    """Chooses the sizes for a device: at most an eighth of it, except for the measure of the full
    device.
    """
    if driver["simulated"]:
        return Sizes((65536,), 8 * MEBIBYTE, 300, 16, 16 * MEBIBYTE, 4 * MEBIBYTE, 1)
    part = min(driver["devices"][0]["bytes"] // 8, 8 << 30)
    return Sizes((4096, MEBIBYTE, 64 * MEBIBYTE), part, 8000, 256, part, 32 * MEBIBYTE, ROUNDS)


# --- traces ------------------------------------------------------------------------------


def requests(path: pathlib.Path, count: int) -> Iterator[tuple[float, int, float]]:
    """Yields for each request of a serving trace its start, its tokens and its end."""
    start = None
    with path.open() as file:
        for number, row in enumerate(csv.DictReader(file)):
            if number == count:
                return
            at = datetime.datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp()
            start = at if start is None else start
            context, generated = int(row["ContextTokens"]), int(row["GeneratedTokens"])
            took = context * 0.0002 + generated * 0.03
            yield at - start, context + generated, at - start + took


def write_steps(path: pathlib.Path, count: int, live_bytes: int, block_tokens: int) -> None:
    """Writes the allocations and frees of a trace. A request has one block, or one block for
    every block_tokens. The bytes for a token are chosen so that at most live_bytes are live.
    """
    found = list(requests(bundle.EXAMPLE_TRACES / "azure_llm_code_2023.csv", count))
    ends: list[tuple[float, int]] = []
    live = peak = 0
    for at, tokens, end in found:
        while ends and ends[0][0] <= at:
            live -= heapq.heappop(ends)[1]
        heapq.heappush(ends, (end, tokens))
        live += tokens
        peak = max(peak, live)
    token_bytes = max(1, live_bytes // peak)
    leaving: list[tuple[float, int, int]] = []
    number = 0
    with path.open("w") as file:

        def leave(until: float) -> None:
            while leaving and leaving[0][0] <= until:
                _, first, last = heapq.heappop(leaving)
                file.writelines(f"f {block}\n" for block in range(first, last))

        for at, tokens, end in found:
            leave(at)
            blocks = -(-tokens // block_tokens) if block_tokens else 1
            size = (block_tokens or tokens) * token_bytes
            file.writelines(f"a {number + block} {size}\n" for block in range(blocks))
            heapq.heappush(leaving, (end, number, number + blocks))
            number += blocks
        leave(float("inf"))


# --- measuring ---------------------------------------------------------------------------


@dataclass
class Bench:
    """One run: what it measures, and the results."""

    clock: bundle.Clock
    sizes: Sizes
    simulated: bool
    # Steps of serving traces, by the tokens of a block. A trace is written before its first use.
    traces: dict[int, pathlib.Path] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    # Measures that the time did not allow.
    late: list[str] = field(default_factory=list)
    # The results of each allocator, by measure as requested: one for each round.
    given: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)

    def variables(self) -> dict[str, str]:
        """With the simulated driver: a small device without delays."""
        if not self.simulated:
            return {}
        return {"SIMCUDA_BYTES": "256M", "SIMCUDA_JITTER_US": "0", "SIMCUDA_LEAKS": ""}

    def one(self, program: str, *words: str) -> dict[str, Any]:
        """Runs a program of the bundle that prints its results."""
        command: list[str | pathlib.Path] = [bundle.need(bundle.BUNDLE / "bin" / program), *words]
        done = bundle.run(command, self.clock.left(120), **self.variables())
        if done.returncode != 0:
            raise bundle.PartError(
                f"{program} {' '.join(words)}: status {done.returncode}: {done.stderr[-500:]}"
            )
        return bundle.last_json(done.stdout)

    def measures(self) -> list[list[str]]:
        """The measures of each round, and last those that are made once."""
        hot = [f"hot={size}" for size in self.sizes.hot]
        live = [f"random={self.sizes.live_bytes}"]
        traces = [f"trace={self.traces[tokens]}" for tokens in self.traces]
        return [hot + live] * self.sizes.rounds + [traces]

    def programs(self) -> None:
        """Measures the allocators that are used from C: in each round all, one after the other."""
        for round_ in self.measures():
            for wanted in round_:
                for subject in IN_C:
                    if self.clock.is_over():
                        self.late.append(f"{subject} {wanted}")
                        continue
                    name, _, argument = wanted.partition("=")
                    found = self.one("bench", name, subject, argument)
                    self.given.setdefault(subject, {}).setdefault(wanted, []).append(found)

    def framework(self, subject: str) -> None:
        """Measures a framework in a process of its own. If that process ends early, the results
        until then count.
        """
        given = self.given[subject] = {}
        if self.clock.is_over():
            self.late.append(subject)
            return
        script = pathlib.Path(__file__).resolve().parent / "peers.py"
        words = itertools.chain(*self.measures())
        done = bundle.run([sys.executable, script, subject, *words], self.clock.left(90))
        for line in done.stdout.splitlines():
            if line.startswith("{") and line.endswith("}"):
                found = json.loads(line)
                self.versions[subject] = found.pop("version")
                given.setdefault(found.pop("measure"), []).append(found)
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        if done.returncode == framework.ABSENT:
            self.absent[subject] = lines[-1]
        elif done.returncode != 0:
            self.failed[subject] = lines[-1]

    def all(self) -> None:
        """Measures everything: first what is used from C, because the time may not be enough for
        all frameworks.
        """
        self.programs()
        if not self.simulated:
            for subject in IN_PYTHON:
                self.framework(subject)

    def calls(self, measure: str, argument: int, key: str) -> dict[str, Any]:
        """Returns the median and spread of each allocator's values, and the ratio to our
        allocator in the same round and the same language.
        """
        values: dict[str, list[float]] = {}
        ratios: dict[str, list[float]] = {}
        for number in range(self.sizes.rounds):
            round_: dict[str, float] = {}
            for subject, given in self.given.items():
                found = given.get(f"{measure}={argument}", [])
                if number < len(found):
                    values.setdefault(subject, []).extend(found[number][key])
                    round_[subject] = statistics.median(found[number][key])
            for subject, value in round_.items():
                ours = OURS if subject in IN_C else f"{subject.split('_')[0]}_ferrum"
                if ours in round_:
                    ratios.setdefault(subject, []).append(value / round_[ours])
        return {
            "argument": argument,
            "unit": key,
            "allocators": {
                subject: {
                    **bundle.spread(found),
                    "by_ours": bundle.spread(ratios[subject]) if subject in ratios else None,
                }
                for subject, found in values.items()
            },
        }

    def trace(self, block_tokens: int) -> dict[str, Any]:
        """The peak of held bytes of each allocator, for the peak of live bytes."""
        found = {}
        for subject, given in self.given.items():
            if f"trace={self.traces[block_tokens]}" not in given:
                continue
            (one,) = given[f"trace={self.traces[block_tokens]}"]
            held = one.pop("held_peak_bytes")
            one["held_by_live"] = round(held / one["live_peak_bytes"], 4) if held else None
            found[subject] = one
        return {"block_tokens": block_tokens, "allocators": found}

    def write_traces(self, folder: pathlib.Path) -> None:
        """Writes the steps of the traces."""
        for block_tokens in (0, 256):
            path = folder / f"steps_{block_tokens}"
            write_steps(path, self.sizes.requests, self.sizes.live_bytes, block_tokens)
            self.traces[block_tokens] = path


def targets(found: dict[str, Any], simulated: bool) -> list[dict[str, Any]]:
    """Compares the targets with the results. Speed means nothing with a simulated driver, so it
    is left out there.
    """
    pages, fill = found["pages"], found["fill"]
    shares = {}
    for name in ("wake", "wake_large_pages"):
        wake = found[name]
        pairs = zip(wake["wake_gbps"], wake["pinned_copy_gbps"], strict=True)
        shares[name] = statistics.median(woken / pinned for woken, pinned in pairs)
        wake["share_of_pinned_copy"] = round(shares[name], 4)
    mapped = pages["map_at_another_address_us"]["median"]
    returned = fill["free_before_bytes"] - fill["free_after_bytes"]
    rows = [
        ("page mapped at another address, us", mapped, MAP_US, mapped <= MAP_US, True),
        *(
            (f"{what} by the pinned copy's bandwidth", shares[name], WAKE_SHARE,
             shares[name] >= WAKE_SHARE, True)
            for name, what in (
                ("wake", "waking pages of the recommended size"),
                ("wake_large_pages", "waking pages of 32 MiB"),
            )
        ),
        ("bytes that the full card has left", fill["left_bytes"], LEFT_BYTES,
         fill["left_bytes"] <= LEFT_BYTES, False),
        ("bytes not given back by the empty card", returned, LEFT_BYTES,
         returned <= LEFT_BYTES, False),
    ]  # fmt: skip
    calls = pages["same_address_driver_calls"]
    if calls is not None:
        rows.append(("driver's calls for a page that is still mapped", calls, 0, calls == 0, False))
    return [
        {"what": what, "measured": measured, "bound": bound, "met": met}
        for what, measured, bound, met, is_speed in rows
        if not (is_speed and simulated)
    ]


def main() -> int:
    """Measures everything and writes the results."""
    clock = bundle.Clock()
    try:
        driver = bundle.describe()
        bench = Bench(clock, sizes_for(driver), driver["simulated"])
        found: dict[str, Any] = {
            "pages": bench.one("bench_memory", "remap", str(bench.sizes.pages)),
            "wake": bench.one("bench_memory", "wake", str(bench.sizes.wake_bytes), "0"),
            "wake_large_pages": bench.one(
                "bench_memory", "wake", str(bench.sizes.wake_bytes), str(bench.sizes.large_page)
            ),
            "fill": bench.one("bench_memory", "fill"),
        }
        found["targets"] = targets(found, driver["simulated"])
        with tempfile.TemporaryDirectory() as folder:
            bench.write_traces(pathlib.Path(folder))
            bench.all()
            found["hot"] = [bench.calls("hot", size, "pair_ns") for size in bench.sizes.hot]
            found["random"] = bench.calls("random", bench.sizes.live_bytes, "replacement_ns")
            found["traces"] = [bench.trace(tokens) for tokens in bench.traces]
        load = {"load_average": os.getloadavg()[0], "cores": os.cpu_count()}
        about = {"versions": bench.versions, "absent": bench.absent, "failed": bench.failed}
        about["late"] = dict.fromkeys(bench.late, "there was no time for it")
        bundle.write_result("bench", driver, {"machine": load, **found, **about})
    except bundle.PartError as error:
        return bundle.fail(str(error))
    for row in found["targets"]:
        word = "met" if row["met"] else "MISSED"
        bundle.say(f"{word}: {row['what']}: {row['measured']} (bound {row['bound']})")
    for name, why in {**bench.absent, **bench.failed, **about["late"]}.items():
        bundle.say(f"left out: {name}: {why}")
    if bench.failed or bench.late:
        return bundle.fail(
            f"{len(bench.failed)} peers failed, {len(bench.late)} measures were late"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
