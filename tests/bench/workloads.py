"""The workloads: what each measures, which allocators take part, and how much work each does."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field
from typing import Any

import schedule
from harness import (
    CROSSING,
    FIXED,
    GROUPS,
    MANAGER,
    OURS,
    REQUESTS,
    ROOT,
    TRACKING,
    UNCACHED,
    Group,
    NotHereError,
)
from traces import AZURE, MOONCAKE, trace_file

MIB = 1 << 20

# These support one thread only. The other workloads use a variant with a mutex.
SINGLE_THREADED = ("offset_allocator", "vma", "gpu_allocator")
LOCKED = tuple(f"{name}_mutex" for name in SINGLE_THREADED)
# Other strategies of VMA, which only matter for fragmentation.
STRATEGIES = ("vma_min_memory", "vma_min_offset")
ORIENTATION = GROUPS[Group.ORIENTATION]
APART = tuple(name for name in GROUPS[Group.APART] if name not in STRATEGIES)
# In one thread an allocator needs no mutex, but its users have one. One of the three variants
# with a mutex shows its cost.
ONE_THREAD = tuple(name for name in APART if name not in LOCKED[1:])
TWO_THREADS = tuple(name for name in APART if name not in SINGLE_THREADED)


@dataclass(frozen=True)
class Amount:
    """How much work one process does."""

    pairs: int = 4000
    repetitions: int = 25
    singles: int = 50000
    # How often each block is replaced before the measurement.
    settle: int = 0

    def arguments(self) -> list[str]:
        """The arguments of the harness for this amount."""
        numbers = {
            "--pairs": self.pairs,
            "--repetitions": self.repetitions,
            "--singles": self.singles,
            "--settle": self.settle,
        }
        return [text for name, value in numbers.items() for text in (name, str(value))]


@dataclass(frozen=True)
class Workload:
    """A workload of the harness."""

    name: str
    heading: str
    arguments: tuple[str, ...]
    full: Amount
    quick: Amount
    peers: tuple[str, ...]
    threads: int = 1
    ours: str = OURS
    variants: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    # Arguments for the work before the measurement. With these, each process has a second one on
    # a new pool without that work, for comparison.
    before: tuple[str, ...] = ()
    # Allocators that are so slow in this workload that they take part in only this many rounds.
    rounds: dict[str, int] = field(default_factory=dict)

    def allocators(self) -> tuple[str, ...]:
        """All allocators of this workload."""
        return (self.ours, *self.variants, *self.peers, *self.probes)

    def command(self, quick: bool) -> list[str]:
        """The arguments of the harness."""
        return [*self.fresh_command(quick), *self.before]

    def fresh_command(self, quick: bool) -> list[str]:
        """The same without the work before the measurement."""
        return [*self.arguments, *(self.quick if quick else self.full).arguments()]


QUICK_PAIRS = Amount(pairs=200, repetitions=3, singles=1000)
THREADS = Amount(pairs=20000, repetitions=3, singles=1)
QUICK_THREADS = Amount(pairs=500, repetitions=2, singles=1)
SLOW = {"gpu_allocator": 2, "gpu_allocator_mutex": 2}


def hot(size: int, label: str, text: str) -> Workload:
    """A workload that allocates and frees one block, over and over."""
    return Workload(
        f"hot_pair_{label}",
        f"Hot pair, {text}",
        ("--workload", "hot", "--size", str(size)),
        Amount(),
        QUICK_PAIRS,
        (*ONE_THREAD, *ORIENTATION),
        variants=(UNCACHED, TRACKING, MANAGER, *REQUESTS) if size == 256 else (),
        probes=("none", "ferrum_plain_call", "ferrum_go_call", CROSSING) if size == 256 else (),
    )


def fixed() -> tuple[Workload, ...]:
    """The workloads that need only the harness."""
    both = (*ONE_THREAD, *ORIENTATION)
    shared = (*TWO_THREADS, *ORIENTATION)
    random = ("--workload", "random")
    large = ("--live", "16", "--smallest", str(2 * MIB), "--largest", str(1024 * MIB))
    many = ("--live", "100000")
    return (
        hot(256, "256b", "256 B"),
        hot(65536, "64kib", "64 KiB"),
        hot(MIB, "1mib", "1 MiB"),
        Workload(
            "random_1000_live",
            "1000 live blocks, random replacement, 256 B to 1 MiB",
            random,
            Amount(),
            QUICK_PAIRS,
            both,
            variants=(UNCACHED, TRACKING, MANAGER),
            probes=("none", CROSSING),
            rounds=SLOW,
        ),
        Workload(
            "random_100000_live",
            "100,000 live blocks, random replacement, 256 B to 1 MiB",
            (*random, *many),
            Amount(pairs=20000, repetitions=5, settle=4),
            Amount(pairs=200, repetitions=2, singles=1000),
            both,
            variants=(UNCACHED,),
            probes=("none",),
            rounds={"gpu_allocator": 1},
        ),
        Workload(
            "large_blocks",
            "16 live large blocks, random replacement, 2 MiB to 1 GiB",
            (*random, *large),
            Amount(pairs=500, repetitions=15, singles=5000),
            Amount(pairs=50, repetitions=2, singles=100),
            both,
            probes=("none", CROSSING),
        ),
        Workload(
            "two_threads_hot_256b",
            "Two threads against one, hot pair of 256 B",
            ("--workload", "threads", "--size", "256"),
            THREADS,
            QUICK_THREADS,
            shared,
            threads=2,
        ),
        Workload(
            "two_threads_random",
            "Two threads against one, random replacement (each its own 1000 blocks)",
            ("--workload", "threads"),
            THREADS,
            QUICK_THREADS,
            shared,
            threads=2,
            rounds=SLOW,
        ),
        Workload(
            "queue_256b",
            "One thread allocates, another frees, 256 B",
            ("--workload", "queue", "--size", "256"),
            THREADS,
            QUICK_THREADS,
            shared,
            threads=2,
        ),
        Workload(
            "queue_random",
            "One thread allocates, another frees, 256 B to 1 MiB",
            ("--workload", "queue"),
            THREADS,
            QUICK_THREADS,
            shared,
            threads=2,
            rounds=SLOW,
        ),
        Workload(
            "batch_64kib",
            "Batches of 256 blocks of 64 KiB",
            ("--workload", "batch", "--size", "65536"),
            Amount(pairs=40, repetitions=15, singles=1),
            Amount(pairs=5, repetitions=2, singles=1),
            both,
            rounds=SLOW,
        ),
        Workload(
            "batch_2mib",
            "Batches of 256 blocks of 2 MiB",
            ("--workload", "batch", "--size", str(2 * MIB)),
            Amount(pairs=40, repetitions=15, singles=1),
            Amount(pairs=5, repetitions=2, singles=1),
            both,
            ours=FIXED,
            variants=(OURS,),
            rounds=SLOW,
        ),
        Workload(
            "tables_100000_live",
            "Memory of the tables, with 100,000 live blocks",
            ("--workload", "tables", *many),
            Amount(pairs=200000, repetitions=1, singles=1),
            Amount(pairs=2000, repetitions=1, singles=1),
            both,
            variants=(UNCACHED,),
            probes=("none",),
            rounds=dict.fromkeys(both, 3) | SLOW | {"none": 3, OURS: 3, UNCACHED: 3},
        ),
    )


# The number of requests of a trace with one block for each 16 tokens.
PAGED_REQUESTS = 1500
PAGED_REQUESTS_QUICK = 60
QUICK_REQUESTS = 500
# With more bytes, the longest contexts would need blocks larger than the machine's memory, which
# malloc rejects.
MOONCAKE_BYTES_PER_TOKEN = 32768


def traces(folder: pathlib.Path, quick: bool) -> tuple[list[Workload], list[str]]:
    """Returns recorded traces as workloads, with their steps written to the folder, and the
    traces that are left out.
    """
    plays = [
        (AZURE, "contiguous", QUICK_REQUESTS if quick else None),
        (AZURE, "paged", PAGED_REQUESTS_QUICK if quick else PAGED_REQUESTS),
        (MOONCAKE, "contiguous", QUICK_REQUESTS if quick else None),
    ]
    found: list[Workload] = []
    left_out: list[str] = []
    for trace, mode, limit in plays:
        try:
            requests = schedule.read_requests(trace_file(trace))[:limit]
        except NotHereError as reason:
            left_out.append(f"the trace {trace.title}, {mode}: {reason}")
            continue
        if mode == "paged":
            steps = schedule.paged(requests)
        elif trace is MOONCAKE:
            steps = schedule.contiguous(requests, MOONCAKE_BYTES_PER_TOKEN)
        else:
            steps = schedule.contiguous(requests)
        file = folder / f"{trace.name}_{mode}{'_quick' if quick else ''}.steps"
        steps.write(file)
        paged = mode == "paged"
        part = f", first {len(requests)} requests" if limit else ""
        found.append(
            Workload(
                f"trace_{trace.name}_{mode}",
                f"Trace: {trace.title}, {mode} ({steps.allocations} blocks{part})",
                ("--workload", "trace", "--trace", shown(file)),
                Amount(pairs=1, repetitions=1 if paged else 5, singles=1),
                Amount(pairs=1, repetitions=1, singles=1),
                (*ONE_THREAD, *ORIENTATION),
                variants=(UNCACHED,),
                probes=("none",),
                rounds=SLOW | {"jemalloc": 5} if paged else {},
            )
        )
    return found, left_out


def shown(path: pathlib.Path) -> str:
    """The path as a user would type it in the root of the repository."""
    try:
        return str(path.absolute().relative_to(ROOT))
    except ValueError:
        return str(path.absolute())


def metrics(answer: dict[str, Any]) -> dict[str, list[float]]:
    """The samples in the output of a process, by metric."""
    found: dict[str, list[float]] = {}
    if "pair_ns" in answer:
        found["median"] = answer["pair_ns"]
    if "single_ns" in answer:
        found |= {name: [answer["single_ns"][name]] for name in ("p99", "p999")}
    if "two_threads_pair_ns" in answer:
        found["two_threads_median"] = answer["two_threads_pair_ns"]
        found["scaling"] = quotients(answer["pair_ns"], answer["two_threads_pair_ns"])
        found["arithmetic"] = quotients(
            answer["arithmetic_ns"], answer["two_threads_arithmetic_ns"]
        )
    if "queue_alone_ns" in answer:
        alone = answer["queue_alone_ns"]
        found["queue_alone"] = alone
        found["above_queue"] = [a - b for a, b in zip(answer["pair_ns"], alone, strict=True)]
    for name in ("allocate", "release"):
        if f"{name}_ns" in answer:
            found[name] = answer[f"{name}_ns"]
    for name in ("opened", "filled", "replaced"):
        if f"{name}_bytes" in answer:
            found[name] = [answer[f"{name}_bytes"]]
    found |= memory_metrics(answer)
    return found


def memory_metrics(answer: dict[str, Any]) -> dict[str, list[float]]:
    """How much memory the blocks of a process needed, as quotients."""
    found: dict[str, list[float]] = {}
    # The distance between blocks of several segments means nothing, because the segments may be
    # anywhere.
    if "high_water_bytes" in answer and answer.get("segments", 1) == 1:
        found["high_water_over_live"] = [answer["high_water_bytes"] / answer["peak_live_bytes"]]
    if answer.get("requested_bytes"):
        found["allocated_over_requested"] = [answer["allocated_bytes"] / answer["requested_bytes"]]
    if "reserved_peak_bytes" in answer:
        found["reserved_over_live"] = [answer["reserved_peak_bytes"] / answer["peak_live_bytes"]]
    return found


def quotients(one: list[float], two: list[float]) -> list[float]:
    """The quotients of the elements."""
    return [a / b for a, b in zip(one, two, strict=True)]


UNITS = {
    "median": "ns",
    "p99": "ns",
    "p999": "ns",
    "two_threads_median": "ns",
    "scaling": "ratio",
    "above_queue": "ns",
    "queue_alone": "ns",
    "allocate": "ns",
    "release": "ns",
    "opened": "B",
    "filled": "B",
    "replaced": "B",
    "high_water_over_live": "ratio",
    "allocated_over_requested": "ratio",
    "reserved_over_live": "ratio",
}
