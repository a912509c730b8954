"""Virtual memory: rows compared with the bare system in one process, and replays of real load."""

from __future__ import annotations

import concurrent.futures
import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fragmentation import COMMAND
from harness import ROOT, SOURCES, BenchError, Harness, NotHereError, compile_program, relative
from measure import Result, nothing, result, summary
from traces import AZURE, trace_file

BARE = "bare system"
MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40
BACKINGS = ("movable", "private")
UNITS = {"us": "us", "ms": "ms", "bytes": "B"}


@dataclass(frozen=True)
class Row:
    """One process of the program: a row, and how much work it does."""

    name: str
    row: str
    options: tuple[str, ...]
    repetitions: int
    quick: int
    ours: str = "ferrum_vpool"
    bytes: int = 512 * 2 * MIB
    quick_bytes: int = 512 * 2 * MIB
    threads: int = 1

    def arguments(self, quick: bool) -> list[str]:
        """The program's arguments."""
        numbers = {
            "--bytes": self.quick_bytes if quick else self.bytes,
            "--repetitions": self.quick if quick else self.repetitions,
            "--threads": self.threads,
        }
        pairs = [text for name, value in numbers.items() for text in (name, str(value))]
        return ["--row", self.row, *self.options, *pairs]


def rows() -> list[Row]:
    """All rows that are compared with the bare system."""
    threads = min(2, len(os.sched_getaffinity(0)))
    shared = "ferrum_elastic_pool"
    found = []
    for backing in BACKINGS:
        kind = ("--backing", backing)
        apart = (*kind, "--apart")
        found += [
            Row(f"pair_same_{backing}", "pair", kind, 40, 1),
            Row(f"pair_other_{backing}", "pair", apart, 40, 1),
            Row(f"many_contiguous_{backing}", "many", kind, 40, 2),
            Row(
                f"wake_{backing}", "wake", kind, 8, 2,
                bytes=512 * MIB, quick_bytes=32 * MIB, threads=threads,
            ),
            Row(f"limit_{backing}", "limit", kind, 1, 1, bytes=8 * GIB, quick_bytes=64 * MIB),
        ]  # fmt: skip
    found += [
        Row("many_scattered_movable", "many", ("--apart",), 40, 2),
        Row("tenants_rested_movable", "tenants", (), 10, 1, shared),
        Row("tenants_movable", "tenants", ("--apart",), 40, 1, shared),
        Row("reserve", "reserve", (), 200, 2, bytes=TIB, quick_bytes=TIB),
    ]
    return sorted(found, key=lambda row: row.name)


class Elastic:
    """Measures the rows, and runs the replays."""

    def __init__(self, harness: Harness, quick: bool) -> None:
        self.library = relative(harness.library)
        self.program = harness.folder / "pages"
        self.quick = quick
        sources = [*(SOURCES / "pages").glob("*.c"), SOURCES / "process.c"]
        compile_program(sources, self.program)

    def run(self, progress: Callable[[str], None]) -> list[Result]:
        """All values."""
        results: list[Result] = []
        for row in rows():
            progress(f"virtual memory: {row.name}")
            results += self.measured(row)
        progress("virtual memory: replays")
        return results + self.replays()

    def measured(self, row: Row) -> list[Result]:
        """One row: a result for each of its values, compared with the bare system."""
        command = [relative(self.program), "--library", self.library]
        command += row.arguments(self.quick)
        answer = answer_of(command)
        found = []
        for key, samples in answer.items():
            if not isinstance(samples, dict):
                continue
            what, _, unit = key.rpartition("_")
            found.append(
                result(
                    f"pages_{row.name}_{what}",
                    UNITS[unit],
                    summary(samples["ours"]),
                    summary(samples["bare"]),
                    ours_name=row.ours,
                    peer_name=BARE,
                    threads=row.threads,
                    command=shlex.join(command),
                    bytes=answer.get("cached_bytes", answer["bytes"]),
                )
            )
        return found

    def replays(self) -> list[Result]:
        """Pages on a real trace: of one model, and of two models that share a limit."""
        try:
            if not COMMAND.exists():
                raise NotHereError("build/bin/ferrum-mem has not been built")
            trace = relative(trace_file(AZURE))
        except NotHereError as reason:
            return [nothing("pages_replay", "ratio", str(reason))]
        # The second core can be used, because these values do not depend on time.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            single = pool.map(lambda r: one_model(trace, *r), SINGLE)
            delays = QUICK_DELAYS if self.quick else DELAYS
            several = pool.map(lambda delay: two_models(trace, delay, self.quick), delays)
            return flat(single) + flat(several)


def flat(lists: Iterable[list[Result]]) -> list[Result]:
    """Joins lists into one."""
    return [entry for entries in lists for entry in entries]


def answer_of(command: list[str]) -> dict[str, Any]:
    """What a process printed."""
    text = shlex.join(command)
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{text}: not done after 5 minutes") from error
    if done.returncode != 0:
        raise BenchError(f"{text}: exit status {done.returncode}: {done.stderr.strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


PAGED = ["--mode", "paged", "--strategy", "fixed"]
# The name, the options, and whether the peak is reported.
SINGLE: tuple[tuple[str, list[str], bool], ...] = (
    ("contiguous", [], True),
    *((f"paged_{size}", [*PAGED, "--bytes-per-token", str(size)], False) for size in (32768, 4096)),
)
DELAYS = (300, 600, 900, 1200, 1800)
QUICK_DELAYS = (1800,)


def replayed(name: str, value: float, command: list[str], **more: Any) -> Result:
    """A value of the command, which is the same on every machine."""
    return result(
        f"pages_replay_{name}", "ratio", summary([value]), None,
        ours_name="ferrum_replay", command=shlex.join(command), **more,
    )  # fmt: skip


def one_model(trace: str, name: str, options: list[str], peak: bool) -> list[Result]:
    """Physical over live bytes, over the whole trace and at the peak."""
    command = [relative(COMMAND), "replay", trace, *options, "--json"]
    answer = answer_of(command)
    found = [replayed(f"{name}_area", answer["physical_over_live_area"], command)]
    if peak:
        at_peak = answer["physical_peak_bytes"] / answer["peak_live_bytes"]
        found.append(replayed(f"{name}_peak", at_peak, command))
    return found


def two_models(trace: str, delay: int, quick: bool) -> list[Result]:
    """The smallest limit without a failure, over a static split and over the bytes live at once."""
    command = [relative(COMMAND), "replay", "--model", f"a={trace}"]
    command += ["--model", f"b={trace}@{delay}s", "--find-limit", "--json"]
    command += ["--page", "32MiB"] if quick else []
    answer = answer_of(command)
    return [
        replayed(f"models_{delay}_{key}", answer[f"elastic_{key}"], command, delay_s=delay)
        for key in ("over_static", "over_peak")
    ]
