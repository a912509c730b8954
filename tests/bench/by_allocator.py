"""Tables with a row for each allocator and a column for each measured value, in Markdown."""

from __future__ import annotations

from typing import NamedTuple

from book import Book, Result, label, number, spread, table
from harness import OURS
from mixed import CHANGES, MODEL_MEMORY, MODEL_TIMES, change, size_text

LOOP = "arithmetic loop"


class Column(NamedTuple):
    """A metric of a workload, and its heading."""

    workload: str
    metric: str
    heading: str


PAIR_WORKLOADS = {
    "hot_pair_256b": "256 B",
    "hot_pair_64kib": "64 KiB",
    "hot_pair_1mib": "1 MiB",
    "random_1000_live": "1000 live",
    "random_100000_live": "100,000 live",
    "large_blocks": "16 large",
    "trace_azure_contiguous": "Azure contiguous",
    "trace_azure_paged": "Azure paged",
    "trace_mooncake_contiguous": "Mooncake contiguous",
}
# The workloads in which single pairs are timed.
SINGLE = ("hot_pair_256b", "random_1000_live", "random_100000_live", "large_blocks")

PAIRS = [Column(name, "median", heading) for name, heading in PAIR_WORKLOADS.items()]
LATENCIES = [
    Column(name, metric, f"{PAIR_WORKLOADS[name]}: {text}")
    for name in SINGLE
    for metric, text in (("p99", "p99"), ("p999", "p99.9"))
]
THREADS = [
    *(
        Column(f"two_threads_{name}", metric, f"{text}: {what}")
        for name, text in (("hot_256b", "256 B"), ("random", "random"))
        for metric, what in (
            ("median", "one thread"),
            ("two_threads_median", "two threads"),
            ("scaling", "one ÷ two"),
        )
    ),
    Column("queue_256b", "above_queue", "producer, consumer: 256 B"),
    Column("queue_random", "above_queue", "producer, consumer: random"),
    Column("churn", "median", "short threads"),
]
BATCHES = [
    Column(f"batch_{size}", metric, f"{text}: {what}")
    for size, text in (("64kib", "64 KiB"), ("2mib", "2 MiB"))
    for metric, what in (("allocate", "allocate"), ("release", "free"))
]
SIZE_CHANGES = [
    Column(
        change(*sizes, quick=False).name,
        "over_fresh",
        f"{size_text(sizes[1])} after {size_text(sizes[0])}",
    )
    for sizes in CHANGES
]
MEMORY = [
    Column("tables_100000_live", "opened", "after opening, bytes a block"),
    Column("tables_100000_live", "filled", "100,000 live, bytes a block"),
    Column("tables_100000_live", "replaced", "after 200,000 replacements"),
    *(
        Column(name, "high_water_over_live", f"{PAIR_WORKLOADS[name]}: high water ÷ live")
        for name in SINGLE[1:]
    ),
    Column("churn", "held_over_peak", "short threads: held ÷ peak"),
    Column("churn", "held_trimmed_over_peak", "short threads, after a trim: held ÷ peak"),
]
MODEL = [Column("model", metric, text) for metric, text in MODEL_TIMES.items()]
MODEL_HELD = [Column("model", metric, text) for metric, text in MODEL_MEMORY.items()]

TABLES = {
    "One thread: an allocate/free pair, median, ns": PAIRS,
    "One thread: single pairs, ns": LATENCIES,
    "Two threads: a pair, ns": THREADS,
    "Batches of 256 blocks, ns a block": BATCHES,
    "Pairs after a million pairs of another size: time ÷ time in a fresh pool": SIZE_CHANGES,
    "Memory for tables, and memory held": MEMORY,
    "Life of a model: time": MODEL,
    "Life of a model: held bytes ÷ live bytes": MODEL_HELD,
}


def entries_of(book: Book, column: Column) -> dict[str, tuple[Result, str]]:
    """The entry of every allocator in a column, and its side of the entry. Ours comes first."""
    found: dict[str, tuple[Result, str]] = {}
    for entry in book.named(f"{column.workload}_{column.metric}"):
        if entry.get("group") == "probe":
            continue
        found.setdefault(str(entry["ours"]), (entry, "ours"))
        if entry["peer"] and (entry.get("group") or entry["peer"] == LOOP):
            found.setdefault(str(entry["peer"]), (entry, "peer"))
    return found


def in_order(columns: list[dict[str, tuple[Result, str]]]) -> list[str]:
    """Every allocator once: our pool, our other variants, then the peers."""
    order: list[str] = []
    for column in columns:
        place = 0
        for who in column:
            if who in order:
                place = order.index(who) + 1
            else:
                order.insert(place, who)
                place += 1
    return sorted(order, key=lambda who: (who != OURS, not who.startswith("ferrum")))


def by_allocator(book: Book, columns: list[Column]) -> list[str]:
    """A table of medians. Below the row of our pool is the middle half of its samples."""
    found = [entries_of(book, column) for column in columns]
    heads = ["allocator", *(column.heading for column in columns)]
    rows: list[list[str]] = []
    for who in in_order(found):
        entries = [column.get(who) for column in found]
        peers = [entry for entry, side in filter(None, entries) if side == "peer"]
        name = label(who, peers[0]["peer_version"] if peers else None)
        values = [entry["spread"][side] if entry else None for entry, side in map(split, entries)]
        missing = next((peer["missing"] for peer in peers if peer.get("missing")), None)
        if missing and not any(values):
            rows.append([name, f"missing: {missing}"] + ["–"] * (len(columns) - 1))
            continue
        rows.append([name, *(number(value["median"]) if value else "–" for value in values)])
        if not rows[1:]:
            rows.append(["middle half", *(spread(value) for value in values)])
    return table(heads, rows) if rows else []


def split(entry: tuple[Result, str] | None) -> tuple[Result | None, str]:
    """An entry and its side, for a cell that may be empty."""
    return entry or (None, "")


def tables(book: Book) -> list[str]:
    """All tables for which the run has values."""
    lines: list[str] = []
    for heading, columns in TABLES.items():
        rows = by_allocator(book, columns)
        if rows:
            lines += [f"### {heading}", "", *rows]
    return lines
