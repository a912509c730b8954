"""Pictures of the results, as SVG. The same results always give the same files."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from book import Book, number, precise
from fragmentation import PEERS as FRAGMENTATION_PEERS
from harness import GROUPS, BenchError, Group
from traces import AZURE, MINIMALLOC, MOONCAKE

# From the Okabe-Ito palette, which people with any colour vision can distinguish.
OURS_COLOUR = "#0072B2"
APART_COLOUR = "#E69F00"
ORIENTATION_COLOUR = "#BBBBBB"
SECOND_COLOUR = "#56B4E9"
WIDTH_INCHES = 9.6
LEGEND_INCHES = 0.35

Bar = tuple[str, float]


@dataclass(frozen=True)
class Picture:
    """A picture and the function that draws it."""

    file: str
    title: str
    draw: Callable[[Any, Book], Any]


def bars_of(book: Book, name: str) -> list[Bar]:
    """Ours and every available peer, fastest first."""
    entries = book.named(name)
    if not entries:
        raise BenchError(f"the results lack {name}, which a picture shows")
    bars = [(str(entries[0]["ours"]), float(entries[0]["value_ours"]))]
    bars += [
        (f"{e['peer']} {e['peer_version'] or ''}".strip(), float(e["value_peer"]))
        for e in entries
        if e["value_peer"] is not None and group_of(e["peer"]) is not Group.OURS
    ]
    return sorted(bars, key=lambda bar: (-bar[1], bar[0]))


def group_of(name: str) -> Group | None:
    """The relation of an allocator to ours."""
    first = name.partition(" ")[0]
    return next((group for group, names in GROUPS.items() if first in names), None)


def style(name: str) -> dict[str, Any]:
    """Ours stands out; those for orientation are grey and hatched."""
    group = group_of(name)
    if group is Group.OURS:
        return {"facecolor": OURS_COLOUR, "edgecolor": "black", "linewidth": 1.2}
    if group is Group.ORIENTATION:
        return {"facecolor": ORIENTATION_COLOUR, "edgecolor": "#666666", "hatch": "///"}
    return {"facecolor": APART_COLOUR, "edgecolor": "#8A5F00"}


def panel(axes: Any, bars: list[Bar], title: str, unit: str) -> None:
    """Horizontal bars with their values behind them, on a logarithmic axis."""
    for place, (name, value) in enumerate(bars):
        axes.barh(place, value, **style(name))
        axes.text(value * 1.05, place, number(value), va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), [name for name, _ in bars], fontsize=8)
    for tick, (name, _) in zip(axes.get_yticklabels(), bars, strict=True):
        if group_of(name) is Group.OURS:
            tick.set_fontweight("bold")
    values = [value for _, value in bars]
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlim(min(values) / 2, max(values) * 3)
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(unit, fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def panels(names: tuple[tuple[str, str], ...], unit: str) -> Callable[[Any, Book], Any]:
    """A picture with one panel for each (result, title)."""

    def draw(plot: Any, book: Book) -> Any:
        groups = [(bars_of(book, name), title) for name, title in names]
        columns = min(len(groups), 2)
        rows = -(-len(groups) // columns)
        height = rows * (0.8 + 0.22 * max(len(bars) for bars, _ in groups)) + LEGEND_INCHES
        size = (WIDTH_INCHES, height)
        figure, axes = plot.subplots(rows, columns, figsize=size, squeeze=False)
        for at, (bars, title) in zip(axes.flat, groups, strict=True):
            panel(at, bars, title, unit)
        plot.tight_layout(rect=(0, LEGEND_INCHES / height, 1, 1))
        legend(figure)
        return figure

    return draw


def legend(figure: Any) -> None:
    """The meaning of the colours."""
    patch = importlib.import_module("matplotlib.patches").Patch
    keys = [
        patch(label="ferrum_mem", **style("ferrum_pool")),
        patch(label="tables apart from the memory", **style("umf_disjoint")),
        patch(label="writes into the memory: for orientation only", **style("jemalloc")),
    ]
    figure.legend(handles=keys, loc="lower center", ncols=3, fontsize=8, frameon=False)


def fragmentation(plot: Any, book: Book) -> Any:
    """High water over peak live bytes of ours and the peers, trace by trace."""
    entries = [e for e in book.results if e["name"].startswith("fragmentation_")]
    traces: list[str] = []
    for entry in entries:
        trace = entry["name"].removeprefix("fragmentation_").removesuffix("_hints")
        trace = trace.removesuffix("_no")
        if entry["value_ours"] is not None and trace not in traces:
            traces.append(trace)
    who = [("hints", "ferrum_mem with hints", OURS_COLOUR)]
    who += [("no_hints", "ferrum_mem without hints", SECOND_COLOUR)]
    peers = ("best_fit", *(p for p in FRAGMENTATION_PEERS if p != "gpu_allocator"))
    shades = ("#009E73", "#E69F00", "#D55E00", "#CC79A7", "#F0E442")
    texts = ("ferrum_mem, best_fit", *peers[1:])
    who += list(zip(peers, texts, shades, strict=True))
    figure, axes = plot.subplots(figsize=(WIDTH_INCHES, 3.8))
    for place, (key, text, colour) in enumerate(who):
        points = [(i, reach(book, trace, key)) for i, trace in enumerate(traces)]
        shown = [(i + (place - len(who) / 2 + 0.5) * 0.12, v) for i, v in points if v is not None]
        axes.bar(
            [x for x, _ in shown],
            [value - 1 for _, value in shown],
            width=0.11,
            bottom=1,
            color=colour,
            edgecolor="black" if key.endswith("hints") else "none",
            linewidth=0.8,
            label=text,
        )
        if key == "hints":
            for x, value in shown:
                axes.text(x, value, precise(value), ha="right", va="bottom", fontsize=7)
    titles = {trace.name: trace.title for trace in (AZURE, MOONCAKE, *MINIMALLOC)}
    axes.set_xticks(range(len(traces)), [titles[name] for name in traces], fontsize=8)
    axes.set_ylabel("high water ÷ peak live", fontsize=8)
    axes.tick_params(axis="y", labelsize=8)
    axes.legend(fontsize=8, frameon=False, ncols=2)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    plot.tight_layout()
    return figure


def reach(book: Book, trace: str, key: str) -> float | None:
    """A median, or None for an allocator that was not available."""
    if key in ("hints", "no_hints"):
        return book.ours(f"fragmentation_{trace}_{key}")
    entry = book.against(f"fragmentation_{trace}_no_hints", key)
    return None if entry is None else entry["value_peer"]


PICTURES = (
    Picture(
        "hot_pair.svg",
        "Hot pair of 256 B: time by allocator",
        panels((("hot_pair_256b_median", "hot pair, 256 B"),), "ns a pair, median"),
    ),
    Picture(
        "random.svg",
        "Random replacement with 1000 and 100,000 live blocks: time by allocator",
        panels(
            (
                ("random_1000_live_median", "1000 live blocks"),
                ("random_100000_live_median", "100,000 live blocks"),
            ),
            "ns a pair, median",
        ),
    ),
    Picture(
        "p99.svg",
        "Random replacement with 1000 live blocks: p99 and p99.9 of single pairs by allocator",
        panels(
            (("random_1000_live_p99", "p99"), ("random_1000_live_p999", "p99.9")),
            "ns a pair, 1000 live blocks",
        ),
    ),
    Picture(
        "batches.svg",
        "Batches of 256 blocks: time a block by allocator",
        panels(
            (
                ("batch_64kib_allocate", "allocate, 64 KiB"),
                ("batch_64kib_release", "free, 64 KiB"),
                ("batch_2mib_allocate", "allocate, 2 MiB"),
                ("batch_2mib_release", "free, 2 MiB"),
            ),
            "ns a block",
        ),
    ),
    Picture("fragmentation.svg", "High water over peak live by trace", fragmentation),
)


def draw(book: Book, folder: pathlib.Path) -> list[pathlib.Path]:
    """Draws all pictures into a folder."""
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
    except ImportError as error:
        raise BenchError(
            f"no pictures without the Python package matplotlib: {error}; "
            "scripts/setup.sh bench installs it"
        ) from error
    matplotlib.use("svg")
    plot: Any = importlib.import_module("matplotlib.pyplot")
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "svg.hashsalt": "ferrum_mem",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "figure.facecolor": "white",
        "hatch.linewidth": 0.6,
    }
    files = []
    for picture in PICTURES:
        with matplotlib.rc_context(settings):
            figure = picture.draw(plot, book)
            file = folder / picture.file
            metadata = {"Title": picture.title, "Date": None, "Creator": None}
            figure.savefig(file, format="svg", metadata=metadata)
            plot.close(figure)
        files.append(file)
    return files
