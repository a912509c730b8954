"""Tables of virtual memory, in Markdown."""

from __future__ import annotations

from book import Book, number, precise, spread, table
from elastic import BACKINGS, BARE
from elastic_targets import MICROSECONDS, PAGES, delays

TEXTS = {
    "pair_same": "allocate and free one page, same range",
    "pair_other": "allocate and free one page, another range",
    "many_contiguous": f"map {PAGES} adjacent pages",
    "many_scattered": f"map {PAGES} scattered pages",
    "tenants_rested": "a page that another model used, 0.3 s later",
    "tenants": "a page that another model used, immediately",
    "wake": "wake from host memory",
    "limit": "limit lowered",
    "reserve": "reserve 1 TiB",
}
FIGURES = {
    "pair": "calls",
    "write": "first write of the page after the calls",
    "map": "one call",
    "wake": "one call",
    "call": "the call",
    "done": "until the pages are released",
    "pool": "a virtual pool",
    "model": "a model",
    "memory": "resident memory",
    "page_table": "page tables",
}
UNITS = {"us": MICROSECONDS}


def text_of(name: str) -> str:
    """The display name of a value."""
    rest = name.removeprefix("pages_")
    row = next(row for row in sorted(TEXTS, key=len, reverse=True) if rest.startswith(row))
    rest = rest.removeprefix(row).strip("_")
    backing = next((b for b in BACKINGS if rest.startswith(b)), "")
    figure = FIGURES[rest.removeprefix(backing).strip("_")]
    return ", ".join(part for part in (TEXTS[row], backing, figure) if part)


def figure_lines(book: Book) -> list[str]:
    """Every value that is compared with the bare system."""
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


def model_lines(book: Book) -> list[str]:
    """Two models under one limit, by the delay of the second one."""
    keys = ("over_static", "over_peak")
    rows = [
        [f"{d} s", *(precise(book.ours(f"pages_replay_models_{d}_{key}")) for key in keys)]
        for d in delays(book)
    ]
    header = ["second model starts after", "limit ÷ a static split's", "limit ÷ peak live"]
    return table(header, rows) if rows else []
