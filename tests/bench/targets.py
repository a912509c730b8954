"""The targets of a run, and whether they were met. The targets of virtual memory are in
elastic_targets.py, those of operations in operations_targets.py, and those of models in
models_targets.py.
"""

from __future__ import annotations

from collections.abc import Callable

from book import Book, MissingError, number, precise, spread
from elastic_targets import TARGETS as ELASTIC_TARGETS
from fragmentation import minimalloc_lead
from harness import ALIGNED, CROSSING, PMR, TAGGED, TRACKING, UNCACHED
from kv_caches import KV_CACHE_TARGETS
from mixed import CHANGES, change, size_text
from models_targets import TARGETS as MODELS_TARGETS
from operations_targets import TARGETS as OPERATIONS_TARGETS
from verdict import Reading, Target, Verdict
from weights_files import DIRECT, PACKAGE, PREAD

# If a plain loop scales less than this, the machine had no second core free, and the scaling of
# an allocator cannot be measured.
FREE_CORES = 0.9
HOT, FEW, MANY = "hot_pair_256b", "random_1000_live", "random_100000_live"
OFFSET = "offset_allocator_mutex"


def ours(name: str) -> Callable[[Book], float]:
    """Our own value of that name."""
    return lambda book: book.ours(name)


def over(one: float, two: float, unit: str = "ns") -> Reading:
    """A quotient, with the two values that it is made of."""
    text = f"{number(one)} ÷ {number(two)} {unit} = {number(one / two)}"
    return Reading(one / two, text)


def ahead(name: str) -> Callable[[Book], Reading]:
    """Ours over the fastest peer with separate tables."""

    def read(book: Book) -> Reading:
        own = book.ours(name)
        fastest, who = book.fastest(name)
        return Reading(own / fastest, f"{number(own)} ns, {who} {number(fastest)} ns")

    return read


def scaling(name: str) -> Callable[[Book], Reading]:
    """Two threads over one, divided by the same quotient of a plain loop."""

    def read(book: Book) -> Reading:
        loop = book.peer(name, "arithmetic loop")
        share = book.ours(name) / loop
        doubt = "" if loop >= FREE_CORES else f"the plain loop reached only {number(loop)}"
        return Reading(share, number(share), doubt)

    return read


def handle(book: Book) -> Reading:
    """A call that looks up one handle in Go, over a bare call into Go of the same run."""
    own, bare = book.ours("call_handle"), book.peer("call_handle", CROSSING)
    return Reading(own - bare, f"{number(own)} − {number(bare)} = {number(own - bare)} ns")


def tables_per_block(book: Book) -> float:
    """Growth of all tables, minus the growth of the harness itself."""
    name = "tables_100000_live_filled"
    return book.ours(name) - book.ours(f"{name}_none")


def against_plain(variant: str) -> Callable[[Book], Reading]:
    """A pair with another kind of request, over the plain pair."""
    return lambda book: over(book.peer(f"{HOT}_median", variant), book.ours(f"{HOT}_median"))


def tracking(book: Book) -> Reading:
    """The cost of recording times over a pool without thread caches."""
    return over(book.peer(f"{HOT}_median", TRACKING), book.peer(f"{HOT}_median", UNCACHED))


def against_offset(name: str) -> Callable[[Book], Reading]:
    """Over the crate offset-allocator with a mutex."""
    return lambda book: over(book.ours(name), book.peer(name, OFFSET))


def pair_targets() -> list[Target]:
    """Pairs in one thread."""
    median = f"{HOT}_median"
    return [
        Target("hot_pair", "hot pair of 256 B", ours(median), 25, "ns"),
        Target("hot_ahead", "hot pair of 256 B", ahead(median), 1, text="ahead of every peer"),
        Target("few_median", "1000 live, median", ours(f"{FEW}_median"), 60, "ns"),
        Target("few_p99", "1000 live, p99", ours(f"{FEW}_p99"), 160, "ns"),
        Target(
            "many_over_few",
            "100,000 live ÷ 1000 live, median",
            lambda book: over(book.ours(f"{MANY}_median"), book.ours(f"{FEW}_median")),
            2.5,
        ),
        Target(
            "many_ahead", "100,000 live", ahead(f"{MANY}_median"), 1, text="ahead of every peer"
        ),
        Target(
            "large_pair",
            "16 live large blocks of 2 MiB to 1 GiB, median",
            ours("large_blocks_median"),
            120,
            "ns",
        ),
        Target("tracking", "tracking on ÷ thread cache off, hot pair", tracking, 1.5),
        *(
            Target(f"request_{key}", f"{what} ÷ the plain hot pair", against_plain(variant), 1.5)
            for key, what, variant in (
                ("aligned", "request with an alignment of at most the pool's", ALIGNED),
                ("tagged", "request with a tag", TAGGED),
                ("pmr", "std::pmr", PMR),
            )
        ),
    ]


def thread_targets() -> list[Target]:
    """Several threads."""
    return [
        *(
            Target(f"two_threads_{key}", f"two threads, {what}: scaling ÷ a plain loop's",
                   scaling(name), limit,
                   least=True)
            for key, what, name, limit in (
                ("hot", "hot pair", "two_threads_hot_256b_scaling", 0.95),
                ("random", "random", "two_threads_random_scaling", 0.8),
            )
        ),
        *(
            Target(f"queue_{key}", f"producer and consumer, {what}, without the queue's time",
                   ours(f"queue_{key}_above_queue"), 60, "ns")
            for key, what in (("256b", "256 B"), ("random", "random"))
        ),
        *(
            Target(f"batch_{size}_{metric}", f"batch of 256, {text}, {what}",
                   ours(f"batch_{size}_{metric}"), 8, "ns")
            for size, text in (("64kib", "64 KiB"), ("2mib", "2 MiB, fixed"))
            for metric, what in (("allocate", "allocate, a block"), ("release", "free, a block"))
        ),
    ]  # fmt: skip


def phase_targets() -> list[Target]:
    """Traces, and changing sizes."""
    found = []
    for name, what, limit in (
        ("azure_contiguous", "Azure code, contiguous", 1.6),
        ("azure_paged", "Azure code, paged", 2.5),
        ("mooncake_contiguous", "Mooncake, contiguous", 1.6),
    ):
        median = f"trace_{name}_median"
        found += [
            Target(f"trace_{name}", f"trace {what}, a pair", ours(median), 150, "ns"),
            Target(
                f"trace_{name}_offset",
                f"trace {what} ÷ offset-allocator in a mutex",
                against_offset(median),
                limit,
            ),
        ]
    for sizes in CHANGES:
        first, later = map(size_text, sizes)
        name = change(*sizes, quick=False).name
        what = f"{later} after a million pairs of {first} ÷ a fresh pool"
        found.append(Target(name, what, ours(f"{name}_over_fresh"), 1.5))
    return found


def there(book: Book, trace: str) -> None:
    """Raises an error with the reason if a trace was not played."""
    for name in ("fragmentation", f"fragmentation_{trace}"):
        for entry in book.named(name):
            raise MissingError(entry["missing"])


def high_water(trace: str) -> Callable[[Book], float]:
    """High water over peak live bytes, with hints."""

    def read(book: Book) -> float:
        there(book, trace)
        return book.ours(f"fragmentation_{trace}_hints")

    return read


def best_fit(trace: str) -> Callable[[Book], Reading]:
    """High water without hints, over that of best fit in the same run."""

    def read(book: Book) -> Reading:
        there(book, trace)
        name = f"fragmentation_{trace}_no_hints"
        own, other = book.ours(name), book.peer(name, "best_fit")
        return Reading(own / other, f"{precise(own)}, best fit {precise(other)}")

    return read


def lead(book: Book) -> tuple[float, float, int]:
    """Compared with the best peer for each of minimalloc's files."""
    found = minimalloc_lead(book.results)
    if found is None:
        raise MissingError("the traces are not there")
    return found


def minimalloc_each(book: Book) -> Reading:
    """The file with our worst result."""
    _, worst, files = lead(book)
    return Reading(worst, f"at most {precise(worst)} of the best peer, {files} files")


def memory_targets() -> list[Target]:
    """The use of memory."""
    found = [
        Target(f"{key}_allocated", f"allocated ÷ requested, {what}",
               ours(f"{name}_allocated_over_requested"), 1.12)
        for key, what, name in (("few", "1000 live", FEW), ("many", "100,000 live", MANY))
    ]  # fmt: skip
    for trace, title, limit in (("azure", "Azure code", 1.055), ("mooncake", "Mooncake", 1.10)):
        what = f"high water ÷ live, {title}"
        found += [
            Target(f"high_water_{trace}", f"{what}, with hints", high_water(trace), limit),
            Target(
                f"high_water_{trace}_plain",
                f"{what}, without hints",
                best_fit(trace),
                1,
                text="≤ best fit",
            ),
        ]
    return [
        *found,
        Target("minimalloc_each", "high water on minimalloc, with hints", minimalloc_each, 1,
               text="≤ the best peer on each"),
        Target("minimalloc_mean", "high water on minimalloc, mean of ours ÷ the best peer",
               lambda book: lead(book)[0], 0.95),
        Target("tables", "table memory a live block, 100,000 blocks", tables_per_block, 64, "B"),
    ]  # fmt: skip


def call_targets() -> list[Target]:
    """Single calls, discovery, loading, and how long Python waits."""
    return [
        Target("memory_recent", "device memory from the counters", ours("call_memory_recent"),
               300, "ns"),
        Target("handle", "call with a handle lookup in Go, less a bare C-to-Go call",
               handle, 15, "ns"),
        Target("cached_handle", "call with a handle lookup in C",
               ours("call_cached_handle"), 20, "ns"),
        Target("discovery_cold", "first discovery of all backends", ours("discovery_cold"),
               1500, "ms"),
        Target("discovery_cached", "repeated discovery, from the cache", ours("discovery_cached"),
               1000, "µs"),
        Target("library_size", "library, stripped", ours("library_size"), 16, "MB"),
        Target("library_init", "dlopen and ferrum_init", ours("library_init"), 5, "ms"),
        Target("python_block", "Python: a pair with a block object", ours("python_pair_block"),
               2, "µs"),
        Target("python_address", "Python: a pair by address", ours("python_pair_address"),
               1.2, "µs"),
        Target("python_import", "Python: import", ours("python_import"), 60, "ms"),
        Target("python_first_block", "Python: import, device, pool and first block",
               ours("python_first_block"), 100, "ms"),
    ]  # fmt: skip


def rate(name: str, peer: str) -> Callable[[Book], Reading]:
    """Our rate over that of a peer with the same bytes: the median of the pairs."""

    def read(book: Book) -> Reading:
        pairs = book.pairs(name, peer)
        return Reading(pairs["median"], f"{number(pairs['median'])} ({spread(pairs)})")

    return read


def time_against(name: str, peer: str) -> Callable[[Book], Reading]:
    """Our time over that of a peer."""
    return lambda book: over(book.ours(name), book.peer(name, peer), "ms")


def weights_targets() -> list[Target]:
    """Files of weights."""
    return [
        Target("weights_resident", "weights in the page cache, into new memory: rate ÷ pread's",
               rate("weights_resident", PREAD), 0.9, least=True),
        Target("weights_resident_package", "the same: time ÷ the package safetensors'",
               time_against("weights_resident", PACKAGE), 1),
        Target("weights_warm", "weights in the page cache, into written memory: rate ÷ pread's",
               rate("weights_warm", PREAD), 0.9, least=True),
        Target("weights_cold", "weights not in the page cache: rate ÷ the best direct reads'",
               rate("weights_cold", DIRECT), 0.95, least=True),
        Target("weights_map", "64 GiB with 1000 tensors, after the open: first and last byte",
               ours("weights_map"), 2, "ms"),
        Target("weights_metadata", "header of 10,000 tensors, not in the page cache",
               ours("weights_metadata"), 20, "ms"),
        Target("weights_metadata_package", "the same: time ÷ the package safetensors'",
               time_against("weights_metadata", PACKAGE), 0.7),
        Target("weights_staging", "memory of a load onto a simulated device, less its tensors",
               ours("weights_staging"), 268, "MB"),
    ]  # fmt: skip


TARGETS = (
    *pair_targets(),
    *thread_targets(),
    *phase_targets(),
    *memory_targets(),
    *call_targets(),
    *weights_targets(),
    *KV_CACHE_TARGETS,
    *OPERATIONS_TARGETS,
    *MODELS_TARGETS,
    *ELASTIC_TARGETS,
)


def verdicts(book: Book) -> list[Verdict]:
    """All targets, in their order."""
    return [target.verdict(book) for target in TARGETS]
