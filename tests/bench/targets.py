"""The targets, and whether they were met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from book import Book, MissingError, number, precise, table
from fragmentation import minimalloc_lead
from harness import CROSSING, OURS, TRACKING, UNCACHED

# Below this scaling of a plain loop the machine had no second core to spare, and
# how an allocator scales cannot be told.
FREE_CORES = 0.9


@dataclass
class Verdict:
    """One line of the table."""

    what: str
    target: str
    measured: str
    verdict: str

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.verdict == "met"


def bound(what: str, value: float, limit: float, unit: str, text: str = "") -> Verdict:
    """At most so much."""
    write = precise if limit < 2 and not unit else number
    measured = text or f"{write(value)} {unit}".strip()
    target = f"≤ {limit:g} {unit}".strip()
    if value <= limit:
        return Verdict(what, target, measured, "met")
    return Verdict(what, target, measured, f"**missed, {number(value / limit)} times off**")


def ahead(book: Book, what: str, name: str) -> Verdict:
    """Faster than every peer that keeps its tables apart."""
    ours = book.ours(name)
    fastest, who = book.fastest(name)
    measured = f"{number(ours)} ns, {who} {number(fastest)} ns"
    verdict = "met" if ours < fastest else f"**missed, {number(ours / fastest)} times off**"
    return Verdict(what, "ahead of every peer", measured, verdict)


def scaling(book: Book, what: str, name: str) -> Verdict:
    """Two threads against one, over what a plain loop makes of them."""
    ours, loop = book.ours(name), book.peer(name, "arithmetic loop")
    target, measured = "≥ 0.95", number(ours / loop)
    if loop < FREE_CORES:
        return Verdict(what, target, measured, f"none: the loop itself reached {number(loop)}")
    if ours / loop >= 0.95:
        return Verdict(what, target, measured, "met")
    return Verdict(what, target, measured, f"**missed, {number(0.95 * loop / ours)} times off**")


def large_blocks(book: Book) -> Verdict:
    """A pair without any cache, over two calls into Go."""
    ours = book.ours("large_blocks_median")
    crossing = book.ours(f"large_blocks_median_{CROSSING}")
    text = f"{number(ours)} − {number(crossing)} = {number(ours - crossing)} ns"
    return bound("large blocks, above two bare crossings", ours - crossing, 120, "ns", text)


def handle(book: Book, what: str) -> Verdict:
    """A call that looks one handle up in Go, over a bare call into Go of the same run."""
    ours, bare = book.ours("call_handle"), book.peer("call_handle", CROSSING)
    text = f"{number(ours)} − {number(bare)} = {number(ours - bare)} ns"
    return bound(what, ours - bare, 15, "ns", text)


def tracking(book: Book) -> Verdict:
    """What keeping times costs over a pool without thread caches."""
    track = book.peer("hot_pair_256b_median", TRACKING)
    plain = book.peer("hot_pair_256b_median", UNCACHED)
    text = f"{number(track)} ÷ {number(plain)} ns = {number(track / plain)}"
    return bound("tracking on ÷ thread cache off, hot pair", track / plain, 1.5, "", text)


def best_fit(book: Book, what: str, name: str) -> Verdict:
    """No more than best fit of the same run."""
    ours, other = book.ours(name), book.peer(name, "best_fit")
    verdict = "met" if ours <= other else "**missed**"
    return Verdict(what, "≤ best fit", f"{precise(ours)}, best fit {precise(other)}", verdict)


def minimalloc(book: Book) -> list[Verdict]:
    """Against the best peer, file by file and in the mean."""
    lead = minimalloc_lead(book.results)
    if lead is None:
        raise MissingError("the traces are not there")
    mean, never_above, files = lead
    each = Verdict(
        f"minimalloc, {files} files, with hints",
        "≤ the best peer on each",
        "on each" if never_above else "not on each",
        "met" if never_above else "**missed**",
    )
    return [each, bound("minimalloc, mean of ours ÷ the best peer", mean, 0.95, "")]


def tables_per_block(book: Book) -> Verdict:
    """Growth of all tables, less what the harness itself grows by."""
    name = "tables_100000_live"
    value = book.ours(f"{name}_filled") - book.ours(f"{name}_filled_none")
    return bound("core memory a live block, 100,000 blocks", value, 64, "B")


def stated(book: Book, what: str, name: str) -> Verdict:
    """A figure without a bound."""
    return Verdict(what, "stated", f"{number(book.ours(name))} ns", "–")


def verdicts(book: Book) -> list[Verdict]:
    """All targets."""
    few, many = "random_1000_live", "random_100000_live"
    lines: list[tuple[str, Callable[[str], Verdict | list[Verdict]]]] = [
        ("hot pair of 256 B", lambda w: bound(w, book.ours("hot_pair_256b_median"), 25, "ns")),
        ("hot pair of 256 B", lambda w: ahead(book, w, "hot_pair_256b_median")),
        ("1000 live, median", lambda w: bound(w, book.ours(f"{few}_median"), 60, "ns")),
        ("1000 live, p99", lambda w: bound(w, book.ours(f"{few}_p99"), 160, "ns")),
        ("1000 live, p99.9", lambda w: stated(book, w, f"{few}_p999")),
        (
            "100,000 live ÷ 1000 live, median",
            lambda w: bound(w, book.ours(f"{many}_median") / book.ours(f"{few}_median"), 2.5, ""),
        ),
        ("100,000 live", lambda w: ahead(book, w, f"{many}_median")),
        (
            "two threads, hot pair, ÷ the loop's",
            lambda w: scaling(book, w, "two_threads_hot_256b_scaling"),
        ),
        (
            "two threads, random, ÷ the loop's",
            lambda w: scaling(book, w, "two_threads_random_scaling"),
        ),
        (
            "producer and consumer, 256 B, above the queue",
            lambda w: bound(w, book.ours("queue_256b_above_queue"), 60, "ns"),
        ),
        (
            "producer and consumer, random, above the queue",
            lambda w: bound(w, book.ours("queue_random_above_queue"), 60, "ns"),
        ),
        ("large blocks, above two bare crossings", lambda _: large_blocks(book)),
        ("tracking on ÷ thread cache off", lambda _: tracking(book)),
        *(
            (f"batch of 256, {text}, {what}", bound_of(book, f"batch_{size}_{metric}"))
            for size, text in (("64kib", "64 KiB"), ("2mib", "2 MiB, fixed"))
            for metric, what in (("allocate", "allocate, a block"), ("release", "free, a block"))
        ),
        (
            "allocated ÷ requested, 1000 live",
            lambda w: bound(w, book.ours(f"{few}_allocated_over_requested"), 1.12, ""),
        ),
        (
            "allocated ÷ requested, 100,000 live",
            lambda w: bound(w, book.ours(f"{many}_allocated_over_requested"), 1.12, ""),
        ),
        *fragmentation_lines(book),
        ("minimalloc", lambda _: minimalloc(book)),
        ("core memory a live block, 100,000 blocks", lambda _: tables_per_block(book)),
        (
            "memory of a device from the books",
            lambda w: bound(w, book.ours("call_memory_recent"), 300, "ns"),
        ),
        (
            "a call that looks a handle up, above a bare crossing",
            lambda w: handle(book, w),
        ),
        (
            "a call that looks a handle up without entering Go",
            lambda w: bound(w, book.ours("call_cached_handle"), 20, "ns"),
        ),
        ("first look at all backends", lambda w: bound(w, book.ours("discovery_cold"), 1500, "ms")),
        (
            "later looks at all backends",
            lambda w: bound(w, book.ours("discovery_cached"), 1000, "µs"),
        ),
        ("library, stripped", lambda w: bound(w, book.ours("library_size"), 16, "MB")),
        ("dlopen and ferrum_init", lambda w: bound(w, book.ours("library_init"), 5, "ms")),
    ]
    found: list[Verdict] = []
    for what, judge in lines:
        try:
            verdict = judge(what)
        except MissingError as reason:
            verdict = Verdict(what, "–", "–", f"not measured: {reason}")
        found += verdict if isinstance(verdict, list) else [verdict]
    return found


def bound_of(book: Book, name: str) -> Callable[[str], Verdict]:
    """A batch's bound."""
    return lambda what: bound(what, book.ours(name), 8, "ns")


def fragmentation_lines(book: Book) -> list[tuple[str, Callable[[str], Verdict]]]:
    """High water over peak live of the serving traces."""
    lines: list[tuple[str, Callable[[str], Verdict]]] = []
    for trace, title, limit in (("azure", "Azure code", 1.055), ("mooncake", "Mooncake", 1.10)):

        def hinted(what: str, trace: str = trace, limit: float = limit) -> Verdict:
            there(book, trace)
            return bound(what, book.ours(f"fragmentation_{trace}_hints"), limit, "")

        def plain(what: str, trace: str = trace) -> Verdict:
            there(book, trace)
            return best_fit(book, what, f"fragmentation_{trace}_no_hints")

        lines += [
            (f"high water ÷ live, {title}, with hints", hinted),
            (f"high water ÷ live, {title}, without hints", plain),
        ]
    return lines


def there(book: Book, trace: str) -> None:
    """Says why a trace was not played, if it was not."""
    for name in ("fragmentation", f"fragmentation_{trace}"):
        for entry in book.named(name):
            raise MissingError(entry["missing"])


def target_table(book: Book) -> list[str]:
    """Measured values against the targets."""
    rows = [[v.what, v.target, v.measured, v.verdict] for v in verdicts(book)]
    return table([f"what ({OURS})", "target", "measured", "verdict"], rows)
