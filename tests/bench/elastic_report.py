"""Targets and tables of virtual memory, in Markdown."""

from __future__ import annotations

import statistics

from book import Book, MissingError, Result, number, precise, spread, table
from elastic import BACKINGS, BARE, DELAYS
from targets import Verdict, bound

MICROSECONDS = "µs"
PAGES = 512


def measured(book: Book, name: str) -> Result:
    """A row against the bare system."""
    entry = book.against(f"pages_{name}", BARE)
    if entry is None:
        raise MissingError("it was not measured")
    return entry


def pairs(book: Book) -> list[Verdict]:
    """The path of the caller."""
    found = []
    for place in ("same", "other"):
        for backing in BACKINGS:
            entry = measured(book, f"pair_{place}_{backing}_pair")
            text = (
                f"{number(entry['value_ours'])} {MICROSECONDS}, bare {number(entry['value_peer'])}"
            )
            what = f"allocate and free one page, {place} range, {backing}"
            found.append(bound(what, entry["value_ours"], 10, MICROSECONDS, text))
    return found


def many(book: Book) -> list[Verdict]:
    """512 pages in one call."""
    found = []
    for backing in BACKINGS:
        entry = measured(book, f"many_contiguous_{backing}_map")
        ours, bare = entry["value_ours"], entry["value_peer"]
        a_page = (ours - 1.2 * bare) / PAGES
        text = f"{number(ours)} − 1.2 × {number(bare)} = {PAGES} × {precise(a_page)} {MICROSECONDS}"
        what = f"{PAGES} pages in one run, {backing}: above 1.2 × one mmap, a page"
        found.append(bound(what, a_page, 0.2, MICROSECONDS, text))
    entry = measured(book, "many_scattered_movable_map")
    found.append(bound(f"{PAGES} scattered pages ÷ {PAGES} bare maps", entry["ratio"], 1.2, ""))
    return found


def reserved(book: Book) -> list[Verdict]:
    """Address space."""
    return [
        bound(
            f"{what} of 1 TiB",
            measured(book, f"reserve_{key}")["value_ours"], 100, MICROSECONDS,
        )
        for key, what in (("pool", "a virtual pool"), ("model", "a model"))
    ]  # fmt: skip


def wakes(book: Book) -> list[Verdict]:
    """A plain copy's time over ours."""
    found = []
    for backing in BACKINGS:
        share = 1 / measured(book, f"wake_{backing}_wake")["ratio"]
        verdict = "met" if share >= 0.9 else f"**missed, {number(0.9 / share)} times off**"
        found.append(
            Verdict(
                f"wake from host memory, {backing}: memcpy ÷ ours", "≥ 0.9", precise(share), verdict
            )
        )
    return found


def limits(book: Book) -> list[Verdict]:
    """A limit that is lowered; the bound is for 8 GiB, and in proportion for less."""
    found = []
    for backing, key, limit_ms, what in (
        ("private", "call", 50.0, "the call"),
        ("movable", "done", 2500.0, "until it is given back, behind the caller"),
    ):
        entry = measured(book, f"limit_{backing}_{key}")
        gib = entry["bytes"] / 2**30
        text = (
            f"{number(entry['value_ours'])} ms, {number(entry['value_ours'] / gib)} a GiB; "
            f"bare {number(entry['value_peer'])}"
        )
        what = f"limit lowered by {gib:.3g} GiB of cached pages, {backing}: {what}"
        found.append(bound(what, entry["value_ours"], limit_ms * gib / 8, "ms", text))
    return found


def replays(book: Book) -> list[Verdict]:
    """What a trace's pages take."""
    for entry in book.named("pages_replay"):
        raise MissingError(entry["missing"])
    if not delays(book):
        raise MissingError("it was not measured")
    found = [
        bound(f"Azure code, {what}", book.ours(f"pages_replay_{name}"), limit, "")
        for name, what, limit in (
            ("contiguous_peak", "contiguous: physical ÷ live at the peak", 1.02),
            ("contiguous_area", "contiguous: ∫ physical ÷ ∫ live", 1.02),
            ("paged_32768_area", "paged, 32,768 B a token: ∫ physical ÷ ∫ live", 1.02),
            ("paged_4096_area", "paged, 4,096 B a token: ∫ physical ÷ ∫ live", 1.12),
        )
    ]
    for key, what, limit in (
        ("over_static", "static split", 0.58),
        ("over_peak", "peak of the summed live bytes", 1.02),
    ):
        values = [book.ours(f"pages_replay_models_{delay}_{key}") for delay in delays(book)]
        text = f"{precise(statistics.mean(values))} (" + ", ".join(map(precise, values)) + ")"
        found_what = f"two models, {len(values)} delays: elastic limit ÷ {what}, mean"
        found.append(bound(found_what, statistics.mean(values), limit, "", text))
    return found


def delays(book: Book) -> list[int]:
    """By how much the second model was late in this run."""
    return [d for d in DELAYS if book.named(f"pages_replay_models_{d}_over_static")]


def verdicts(book: Book) -> list[Verdict]:
    """All targets of virtual memory."""
    found: list[Verdict] = []
    for judge in (pairs, many, reserved, wakes, limits, replays):
        try:
            found += judge(book)
        except MissingError as reason:
            found.append(Verdict(judge.__name__, "–", "–", f"not measured: {reason}"))
    return found


def target_lines(book: Book) -> list[str]:
    """Measured values against the targets."""
    rows = [[v.what, v.target, v.measured, v.verdict] for v in verdicts(book)]
    return table(["what (virtual memory)", "target", "measured", "verdict"], rows)


TEXTS = {
    "pair_same": "allocate and free one page, same range",
    "pair_other": "allocate and free one page, another range",
    "many_contiguous": f"map {PAGES} pages, one run",
    "many_scattered": f"map {PAGES} pages, scattered",
    "tenants_rested": "a page that another model had, 0.3 s later",
    "tenants": "a page that another model had, at once",
    "wake": "wake from host memory",
    "limit": "limit lowered",
    "reserve": "reserve 1 TiB",
}
FIGURES = {
    "pair": "caller's path",
    "write": "first write of the page after it",
    "map": "one call",
    "wake": "one call",
    "call": "the call",
    "done": "until given back",
    "pool": "a virtual pool",
    "model": "a model",
    "memory": "resident memory for it",
    "page_table": "page tables for it",
}
UNITS = {"us": MICROSECONDS}


def text_of(name: str) -> str:
    """A figure's name for people."""
    rest = name.removeprefix("pages_")
    row = next(row for row in sorted(TEXTS, key=len, reverse=True) if rest.startswith(row))
    rest = rest.removeprefix(row).strip("_")
    backing = next((b for b in BACKINGS if rest.startswith(b)), "")
    figure = FIGURES[rest.removeprefix(backing).strip("_")]
    return ", ".join(part for part in (TEXTS[row], backing, figure) if part)


def figure_lines(book: Book) -> list[str]:
    """Every figure that has the bare system beside it."""
    rows = []
    for entry in book.results:
        if entry["peer"] != BARE:
            continue
        unit = UNITS.get(entry["unit"], entry["unit"])
        ours, bare = entry["spread"]["ours"], entry["spread"]["peer"]
        ratio = "–" if entry["ratio"] is None else number(entry["ratio"])
        cells = [f"{number(ours['median'])} {unit}", spread(ours)]
        cells += [f"{number(bare['median'])} {unit}", spread(bare)]
        rows.append([text_of(entry["name"]), *cells, ratio])
    header = ["what", "**ours**", "middle half", BARE, "middle half", "ours ÷ it"]
    return table(header, rows) if rows else []
