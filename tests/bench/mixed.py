"""Mixed phases: changing sizes, the life of a model, threads that start and end."""

from __future__ import annotations

import pathlib
import statistics
from typing import Any

import schedule
from harness import GROUPS, UNCACHED, Group, NotHereError
from traces import AZURE, trace_file
from workloads import (
    MIB,
    ONE_THREAD,
    ORIENTATION,
    SLOW,
    TWO_THREADS,
    Amount,
    Workload,
    shown,
)

KIB = 1 << 10
# For the other peers with separate tables, blocks are numbers and not memory.
WITH_MEMORY = tuple(name for name in GROUPS[Group.APART] if name.startswith("umf"))

# The first size, and the later size.
CHANGES = (
    (256, MIB),
    (MIB, 256),
    (64 * KIB, 2 * MIB),
)
FIRST_PAIRS = 1_000_000
FIRST_PAIRS_QUICK = 2000

REQUESTS = 1000
REQUESTS_QUICK = 60


def size_text(size: int) -> str:
    """A formatted size."""
    for unit, text in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size // unit} {text}"
    return f"{size} B"


def change(first: int, later: int, quick: bool) -> Workload:
    """Pairs of one size after many of another, beside a new pool."""
    texts = size_text(first), size_text(later)
    labels = [text.replace(" ", "").lower() for text in texts]
    pairs = FIRST_PAIRS_QUICK if quick else FIRST_PAIRS
    before = ("--first-size", str(first), "--first-pairs", str(pairs))
    return Workload(
        f"change_{labels[0]}_{labels[1]}",
        f"Sizes that change: {texts[1]} after a million pairs of {texts[0]}",
        ("--workload", "phases", "--size", str(later)),
        Amount(repetitions=15),
        Amount(pairs=200, repetitions=2),
        (*ONE_THREAD, *ORIENTATION),
        variants=(UNCACHED,),
        before=before,
        rounds=SLOW,
    )


def churn() -> Workload:
    """Threads that start, pass blocks on and end."""
    return Workload(
        "churn",
        "Threads that come and go: 4000 pairs each, 256 B to 1 MiB, half of 100 blocks handed on",
        ("--workload", "churn", "--live", "100"),
        Amount(repetitions=20),
        Amount(pairs=100, repetitions=3),
        (*TWO_THREADS, *ORIENTATION),
        threads=2,
        variants=(UNCACHED,),
        probes=("none",),
        rounds=SLOW,
    )


def model(folder: pathlib.Path, quick: bool) -> Workload:
    """Loads, serves the first requests of a recorded trace, sleeps, wakes and serves again."""
    requests = schedule.read_requests(trace_file(AZURE))
    steps = schedule.conversations(requests[: REQUESTS_QUICK if quick else REQUESTS])
    file = folder / f"conversations{'_quick' if quick else ''}.steps"
    steps.write(file)
    count = "4" if quick else "32"
    weights = ("--live", count, "--smallest", str(MIB), "--largest", str(32 * MIB))
    return Workload(
        "model",
        f"A model that loads, serves, sleeps, wakes and serves again ({count} weights of "
        f"1 MiB to 32 MiB, {steps.allocations} blocks of conversations)",
        ("--workload", "model", "--trace", shown(file), *weights),
        Amount(),
        Amount(),
        (*WITH_MEMORY, *ORIENTATION),
        variants=(UNCACHED,),
    )


def workloads(folder: pathlib.Path, quick: bool) -> tuple[list[Workload], list[str]]:
    """All workloads, and the ones that are left out."""
    found = [*(change(first, later, quick) for first, later in CHANGES), churn()]
    try:
        return [*found, model(folder, quick)], []
    except NotHereError as reason:
        return found, [f"the life of a model: {reason}"]


# The values in a model's answer: the name in the table, and whether the value is a time.
MODEL_TIMES = {
    "load_ms": "load with first write, ms",
    "load_calls_ms": "calls of the load, ms",
    "serve_pair_ns": "serve: a pair, ns",
    "sleep_ms": "sleep, ms",
    "wake_ms": "wake with first write, ms",
    "wake_calls_ms": "calls of the wake, ms",
    "serve_again_pair_ns": "serve again: a pair, ns",
}
MODEL_MEMORY = {
    "serve_held_over_live": "serving",
    "load_held_over_live": "loaded",
    "sleep_held_over_peak": "asleep: held ÷ peak",
    "wake_held_over_live": "awake",
    "serve_again_held_over_live": "serving again",
    "sleep_again_held_over_peak": "asleep again: held ÷ peak",
}


def metrics(answer: dict[str, Any]) -> dict[str, list[float]]:
    """The values in the answers of these workloads, beside the times of pairs."""
    found: dict[str, list[float]] = {}
    if "fresh_ns" in answer:
        found["fresh"] = answer["fresh_ns"]
        later, fresh = (statistics.median(answer[name]) for name in ("pair_ns", "fresh_ns"))
        found["over_fresh"] = [later / fresh]
    for name in (*MODEL_TIMES, *MODEL_MEMORY):
        if name in answer:
            found[name] = [answer[name]]
    for name in ("held", "held_trimmed"):
        if f"{name}_bytes" in answer:
            found[f"{name}_over_peak"] = [answer[f"{name}_bytes"] / answer["peak_bytes"]]
    return found


UNITS = {
    "over_fresh": "ratio",
    "fresh": "ns",
    "held_over_peak": "ratio",
    "held_trimmed_over_peak": "ratio",
    **{name: name.rpartition("_")[2] for name in MODEL_TIMES},
    **dict.fromkeys(MODEL_MEMORY, "ratio"),
}
