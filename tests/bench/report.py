"""Tables of the results, in Markdown, as docs/performance.md holds them."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from book import Book, Result, label, number, precise, spread, table
from elastic_report import UNITS, figure_lines, model_lines
from fragmentation import PEERS as FRAGMENTATION_PEERS
from harness import CROSSING, OURS, BenchError
from mixed import MODEL_MEMORY, MODEL_TIMES
from pictures import PICTURES
from traces import AZURE, MINIMALLOC, MOONCAKE

PROBE_TEXT = {
    "none": "the harness alone (an allocator that does nothing)",
    "ferrum_plain_call": "two calls that stay in C (`ferrum_abi_version`)",
    CROSSING: "two bare crossings (a Go library whose function returns at once)",
    "ferrum_go_call": "two calls that enter Go and look one handle up (`ferrum_stream_is_ready`)",
}
PROBED = ("hot_pair_256b", "random_1000_live", "random_100000_live", "large_blocks")


def rows_of(book: Book, name: str) -> list[tuple[str, Result, str]]:
    """Who has a figure of that name: name, entry, which side of the entry; ours first."""
    entries = [e for e in book.named(name) if e.get("group") != "probe"]
    if not entries:
        return []
    first = entries[0]
    rows = [(str(first["ours"]), first, "ours")]
    return rows + [(str(e["peer"]), e, "peer") for e in entries if e["peer"] and e.get("group")]


def side_of(book: Book, name: str, who: str, side: str) -> dict[str, float] | None:
    """The spread of one allocator's figure."""
    if side == "ours":
        entries = book.named(name)
        return entries[0]["spread"]["ours"] if entries else None
    entry = book.against(name, who)
    return entry["spread"]["peer"] if entry and entry["spread"] else None


def figures(book: Book, workload: str, key: str, columns: list[tuple[str, str]]) -> list[str]:
    """A table with the medians of several metrics, and ours over each peer's of the first."""
    rows = []
    for who, entry, side in rows_of(book, f"{workload}_{key}"):
        name = label(who, entry["peer_version"] if side == "peer" else None)
        if entry.get("missing"):
            rows.append([name, f"missing: {entry['missing']}"] + ["–"] * (len(columns) + 1))
            continue
        own = side_of(book, f"{workload}_{key}", who, side)
        cells = []
        for index, (metric, _) in enumerate(columns):
            values = side_of(book, f"{workload}_{metric}", who, side)
            cells.append(number(values["median"]) if values else "–")
            if index == 0:
                cells.append(spread(own))
        ratio = "1" if side == "ours" else number(entry["ratio"])
        rows.append([name, *cells, ratio])
    if not rows:
        return []
    heads = [text for _, text in columns]
    return table(["allocator", heads[0], "middle half", *heads[1:], "ours ÷ it"], rows)


PAIRS = [("median", "median ns"), ("p99", "p99 ns"), ("p999", "p99.9 ns")]
MEMORY = [
    ("high_water_over_live", "high water ÷ live"),
    ("allocated_over_requested", "allocated ÷ requested"),
    ("reserved_over_live", "reserved ÷ live"),
]


MIXED = {
    "change": [
        ("median", "median ns"),
        ("fresh", "fresh pool ns"),
        ("over_fresh", "÷ fresh pool"),
    ],
    "churn": [
        ("median", "a pair ns"),
        ("held_over_peak", "held after all ended ÷ peak live"),
        ("held_trimmed_over_peak", "held after a trim ÷ peak live"),
    ],
}


def model_tables(book: Book, workload: str) -> list[str]:
    """The phases of a model: their times, and what was held."""
    lines: list[str] = []
    for title, columns in (("Times:", MODEL_TIMES), ("Held ÷ live:", MODEL_MEMORY)):
        lines += [title, "", *figures(book, workload, next(iter(columns)), list(columns.items()))]
    return lines


def workload_tables(book: Book, headings: dict[str, str]) -> list[str]:
    """A table for every workload that was run."""
    lines: list[str] = []
    for workload, heading in headings.items():
        lines += [f"### {heading}", ""]
        if workload.startswith("two_threads"):
            lines += thread_table(book, workload)
        elif workload.startswith("queue"):
            columns = [("above_queue", "above the queue ns"), ("median", "with it ns")]
            lines += figures(book, workload, "above_queue", columns)
        elif workload.startswith("batch"):
            columns = [("allocate", "allocate, ns a block"), ("release", "free, ns a block")]
            lines += figures(book, workload, "allocate", columns)
        elif workload == "model":
            lines += model_tables(book, workload)
        elif workload.partition("_")[0] in MIXED:
            lines += figures(book, workload, "median", MIXED[workload.partition("_")[0]])
        elif workload.startswith("tables"):
            columns = [
                ("filled", "growth, B a block"),
                ("replaced", "after replacements"),
                ("opened", "at opening"),
            ]
            lines += figures(book, workload, "filled", columns)
            alone = book.named(f"{workload}_filled_none")
            lines += [f"The harness alone: {number(e['value_ours'])} B." for e in alone] + [""]
        else:
            columns = PAIRS if not workload.startswith("trace") else PAIRS[:1]
            told = [m for m in MEMORY if book.named(f"{workload}_{m[0]}")]
            lines += figures(book, workload, "median", [*columns, *told])
    return lines


def thread_table(book: Book, workload: str) -> list[str]:
    """How two threads do against one."""
    rows = []
    arithmetic = book.against(f"{workload}_scaling", "arithmetic loop")
    if arithmetic is None:
        raise BenchError(f"the results lack {workload}")
    loop = arithmetic["value_peer"]
    for who, entry, side in rows_of(book, f"{workload}_scaling"):
        name = label(who, entry["peer_version"] if side == "peer" else None)
        if entry.get("missing"):
            rows.append([name, f"missing: {entry['missing']}", "–", "–", "–", "–"])
            continue
        one, two, scaling = (
            side_of(book, f"{workload}_{metric}", who, side)
            for metric in ("median", "two_threads_median", "scaling")
        )
        if one is None or two is None or scaling is None:
            continue
        cells = [number(one["median"]), number(two["median"]), number(scaling["median"])]
        rows.append([name, *cells, spread(scaling), number(scaling["median"] / loop)])
    middle = spread(arithmetic["spread"]["peer"])
    rows.append(["arithmetic loop", "–", "–", number(loop), middle, "1"])
    header = ["allocator", "one thread ns", "two threads ns", "one ÷ two", "middle half"]
    return table([*header, "÷ the loop's"], rows)


def fragmentation_table(book: Book) -> list[str]:
    """High water over peak live, trace by trace."""
    peers = [f"{name} (held)" if name == "gpu_allocator" else name for name in FRAGMENTATION_PEERS]
    header = ["trace", "**with hints**", "**without**", "**best_fit**", *peers]
    rows = []
    for trace in (AZURE, MOONCAKE, *MINIMALLOC):
        name = f"fragmentation_{trace.name}"
        missing = [*book.named("fragmentation"), *book.named(name)]
        if missing:
            rows.append([trace.title, f"missing: {missing[0]['missing']}"])
            rows[-1] += ["–"] * (len(header) - 2)
            continue
        cells = []
        for ours in ("hints", "no_hints"):
            first = book.named(f"{name}_{ours}")[0]
            own = first["spread"]["ours"]
            text = precise(first["value_ours"])
            many = own["samples"] > 1
            cells.append(f"{precise(own['min'])} {text} {precise(own['max'])}" if many else text)
        for peer in ("best_fit", *FRAGMENTATION_PEERS):
            entry = book.against(f"{name}_no_hints", peer)
            cells.append(precise(entry["value_peer"] if entry else None))
        rows.append([trace.title, *cells])
    return table(header, rows)


def probe_table(book: Book) -> list[str]:
    """What calls cost by themselves."""
    headings = {"hot_pair_256b": "hot 256 B", "random_1000_live": "1000 live"}
    headings |= {"random_100000_live": "100,000 live", "large_blocks": "large"}
    rows = []
    for probe, text in PROBE_TEXT.items():
        entries = [book.named(f"{w}_median_{probe}") for w in PROBED]
        rows.append([text, *(number(e[0]["value_ours"]) if e else "–" for e in entries)])
    pool = [book.ours(f"{w}_median") for w in PROBED]
    rows.append([f"**a pair of {OURS}**", *(number(value) for value in pool)])
    return table(["pair of calls, median ns", *headings.values()], rows)


def profile_table(book: Book) -> list[str]:
    """Where the time of a pair goes."""
    shares = {w: book.named(f"{w}_share") for w in PROBED[:2]}
    if not any(shares.values()):
        return []
    parts: list[str] = []
    for entries in shares.values():
        parts += [e["part"] for e in entries if e["part"] not in parts]
    rows = []
    for part in parts:
        row = [part]
        for entries in shares.values():
            value = sum(e["value_ours"] for e in entries if e["part"] == part)
            row.append(f"{value:.1f}")
        rows.append(row)
    return table(["part", "hot 256 B: %", "1000 live: %"], rows)


def machine_lines(machine: dict[str, Any]) -> list[str]:
    """The machine in a few lines."""
    others = machine["cores_used_by_others"]
    busy = "unknown" if others is None else f"{others} of {machine['cores']} cores on average"
    left_out = [f"- Left out: {text}." for text in machine.get("left_out", [])]
    return [
        f"- Version {machine['version']}, commit {machine.get('commit') or 'unknown'}, measured on "
        f"{machine['date']} by `make bench`.",
        f"- {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_bytes'] / 2**30:.1f} GiB; {machine['system']}, "
        f"Linux {machine['kernel']}; {machine['compiler']}.",
        f"- The run took {machine['seconds']:.0f} s. Load before it {machine['load_before']}, "
        f"after it {machine['load_after']}; other processes used {busy}; the measured processes "
        f"were preempted {machine['preemptions']} times.",
        *left_out,
        *(["- A short run: three rounds in place of ten."] if machine.get("short") else []),
        *(["- A quick run: too short to say anything about speed."] if machine["quick"] else []),
        "",
    ]


def other_table(book: Book) -> list[str]:
    """Loading, single calls, discovery and the replay's figures."""
    names = {
        "library_size": "library, stripped",
        "library_open": "`dlopen`",
        "library_first_call": "`dlopen` and a call that stays in C",
        "library_init": "`dlopen` and `ferrum_init`",
        "call_cached_handle": "a call that looks a handle and a block up without entering Go",
        "call_handle": "a call that looks one handle up in Go (`ferrum_placement_get_name`)",
        "call_memory_recent": "a device's memory from the books",
        "call_memory_asked": "a device's memory, with the device asked",
        "discovery_cold": "first look at all backends",
        "discovery_refresh": "all backends asked again",
        "discovery_cached": "later looks at all backends",
        "replay_pair_ns_median": "pair of the core in `ferrum-mem replay`, with pages, median",
        "replay_pair_ns_p99": "the same, p99",
        "replay_pair": "pair of the core alone in `ferrum-mem replay`",
        "python_import": "Python: `import ferrum_mem`",
        "python_first_block": "Python: import, device, pool and first block",
        "python_pair_block": "Python: a pair with a block object",
        "python_pair_address": "Python: a pair by address",
    }
    rows = []
    for name, text in names.items():
        for entry in book.named(name):
            if entry.get("missing"):
                rows.append([text, f"missing: {entry['missing']}", "–"])
                continue
            ours = entry["spread"]["ours"]
            middle = spread(ours) if ours["samples"] > 1 else "–"
            unit = UNITS.get(entry["unit"], entry["unit"])
            rows.append([text, f"{number(entry['value_ours'])} {unit}", middle])
    return table(["what", "value", "middle half"], rows)


def load(results: pathlib.Path) -> tuple[Book, dict[str, Any]]:
    """A file of results and its machine.json."""
    try:
        book = Book(json.loads(results.read_text(encoding="utf-8")))
        machine = json.loads(results.with_name("machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"no results to show: {error}") from error
    return book, machine


def render(results: pathlib.Path, pictures: str = "performance") -> str:
    """All tables of a file of results; pictures are in a folder beside the page."""
    book, machine = load(results)
    lines = ["### Machine", "", *machine_lines(machine)]
    lines += ["### Pictures", ""]
    for picture in PICTURES:
        lines += [f"![{picture.title}]({pictures}/{picture.file})", ""]
    lines += workload_tables(book, machine["workloads"])
    lines += ["### High water ÷ peak live in traces", "", *fragmentation_table(book)]
    lines += ["### Virtual memory beside the bare system", "", *figure_lines(book)]
    lines += ["### Two models in one limit", "", *model_lines(book)]
    lines += ["### What a pair is made of", "", *probe_table(book), *profile_table(book)]
    lines += [
        "### Loading, single calls, discovery, Python, and the core without the ABI",
        "",
        *other_table(book),
    ]
    return "\n".join(lines).rstrip()
