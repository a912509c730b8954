"""The targets of virtual memory."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from book import Book, MissingError, Result, number, precise
from elastic import BACKINGS, BARE, DELAYS
from verdict import Reading, Target

MICROSECONDS = "µs"
PAGES = 512
LIMIT_GIB = 8


def measured(book: Book, name: str) -> Result:
    """A row compared with the bare system."""
    entry = book.against(f"pages_{name}", BARE)
    if entry is None:
        raise MissingError("it was not measured")
    return entry


def pair(name: str) -> Callable[[Book], Reading]:
    """The path of the caller."""

    def read(book: Book) -> Reading:
        entry = measured(book, name)
        value, bare = entry["value_ours"], entry["value_peer"]
        return Reading(value, f"{number(value)} {MICROSECONDS}, bare {number(bare)}")

    return read


def many(backing: str) -> Callable[[Book], Reading]:
    """512 pages in one call, in addition to the system's own call, for each page."""

    def read(book: Book) -> Reading:
        entry = measured(book, f"many_contiguous_{backing}_map")
        ours, bare = entry["value_ours"], entry["value_peer"]
        page = (ours - 1.2 * bare) / PAGES
        text = f"{number(ours)} − 1.2 × {number(bare)} = {PAGES} × {precise(page)} {MICROSECONDS}"
        return Reading(page, text)

    return read


def reserved(key: str) -> Callable[[Book], float]:
    """Address space."""
    return lambda book: float(measured(book, f"reserve_{key}")["value_ours"])


def wake(backing: str) -> Callable[[Book], float]:
    """The time of a plain copy over ours."""
    return lambda book: 1 / float(measured(book, f"wake_{backing}_wake")["ratio"])


def limit(backing: str, key: str) -> Callable[[Book], Reading]:
    """A limit that is lowered by 8 GiB. A quick run lowers less, and the value is scaled."""

    def read(book: Book) -> Reading:
        entry = measured(book, f"limit_{backing}_{key}")
        gib = entry["bytes"] / 2**30
        ours, bare = (entry[side] * LIMIT_GIB / gib for side in ("value_ours", "value_peer"))
        return Reading(ours, f"{number(ours)} ms, bare {number(bare)}")

    return read


def replayed(name: str) -> Callable[[Book], float]:
    """The memory that a trace's pages need."""

    def read(book: Book) -> float:
        played(book)
        return book.ours(f"pages_replay_{name}")

    return read


def played(book: Book) -> None:
    """Raises an error with the reason if no replay was run."""
    for entry in book.named("pages_replay"):
        raise MissingError(entry["missing"])


def delays(book: Book) -> list[int]:
    """The delays of the second model in this run."""
    return [d for d in DELAYS if book.named(f"pages_replay_models_{d}_over_static")]


def models(key: str) -> Callable[[Book], Reading]:
    """Two models under one limit, averaged over the delays of the second one."""

    def read(book: Book) -> Reading:
        played(book)
        values = [book.ours(f"pages_replay_models_{delay}_{key}") for delay in delays(book)]
        if not values:
            raise MissingError("it was not measured")
        mean = statistics.mean(values)
        return Reading(mean, f"{precise(mean)} (" + ", ".join(map(precise, values)) + ")")

    return read


TARGETS = (
    *(
        Target(f"page_{place}_{backing}", f"allocate and free one page, {text}, {backing}",
               pair(f"pair_{place}_{backing}_pair"), 10, MICROSECONDS)
        for place, text in (("same", "at the same address"), ("other", "at another address"))
        for backing in BACKINGS
    ),
    *(
        Target(f"pages_run_{backing}",
               f"map {PAGES} adjacent pages, {backing}: time above 1.2 × one mmap, a page",
               many(backing), 0.2, MICROSECONDS)
        for backing in BACKINGS
    ),
    Target("pages_scattered", f"map {PAGES} scattered pages ÷ {PAGES} calls of mmap",
           lambda book: float(measured(book, "many_scattered_movable_map")["ratio"]), 1.2),
    *(
        Target(f"reserve_{key}", f"reserve 1 TiB: {what}", reserved(key), 100, MICROSECONDS)
        for key, what in (("pool", "a virtual pool"), ("model", "a model"))
    ),
    *(
        Target(f"wake_{backing}", f"wake from host memory, {backing}: memcpy ÷ ours",
               wake(backing), 0.9, least=True)
        for backing in BACKINGS
    ),
    *(
        Target(f"limit_{backing}",
               f"limit lowered by {LIMIT_GIB} GiB of cached pages, {backing}: {what}",
               limit(backing, key), most, "ms")
        for backing, key, most, what in (
            ("private", "call", 50, "the call"),
            ("movable", "done", 2500, "until the pages are released in the background"),
        )
    ),
    *(
        Target(f"replay_{name}", f"Azure code, {what}", replayed(name), most)
        for name, what, most in (
            ("contiguous_peak", "contiguous: physical ÷ live at the peak", 1.02),
            ("contiguous_area", "contiguous: ∫ physical ÷ ∫ live", 1.02),
            ("paged_32768_area", "paged, 32,768 B a token: ∫ physical ÷ ∫ live", 1.02),
            ("paged_4096_area", "paged, 4,096 B a token: ∫ physical ÷ ∫ live", 1.12),
        )
    ),
    *(
        Target(f"models_{key}", f"two models: elastic limit ÷ {what}, mean", models(key), most)
        for key, what, most in (
            ("over_static", "limit of a static split", 0.58),
            ("over_peak", "peak of the live bytes", 1.02),
        )
    ),
)  # fmt: skip
