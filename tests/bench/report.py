"""Tables of the results, in Markdown, for docs/performance.md."""

from __future__ import annotations

import itertools
import json
import pathlib
import textwrap
from typing import Any

from book import Book, number, precise, spread, table
from by_allocator import tables as allocator_tables
from elastic_report import UNITS, figure_lines, model_lines
from fragmentation import PEERS as FRAGMENTATION_PEERS
from harness import CROSSING, OURS, BenchError
from models_report import minilm_lines
from operations_report import operation_lines
from pictures import PICTURES
from traces import AZURE, MINIMALLOC, MOONCAKE

PROBE_TEXT = {
    "none": "the harness alone (an allocator that does nothing)",
    "ferrum_plain_call": "two calls that stay in C (`ferrum_abi_version`)",
    CROSSING: "two bare C-to-Go calls (of a Go function that only returns)",
    "ferrum_go_call": "two calls with a handle lookup in Go (`ferrum_stream_is_ready`)",
}
PROBED = ("hot_pair_256b", "random_1000_live", "random_100000_live", "large_blocks")


def fragmentation_table(book: Book) -> list[str]:
    """High water over peak live bytes, trace by trace."""
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
    """The cost of calls alone."""
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
    """Where the time of a pair is spent."""
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


def calm_lines(machine: dict[str, Any]) -> list[str]:
    """How many measurements another user of the processor disturbed."""
    calm = machine.get("calm")
    if not calm:
        return []
    return [
        f"- A loop of arithmetic before and after each of the {calm['measured']} measured "
        "processes tells whether another user of the same processor slows it down. "
        f"{calm['repeated']} were measured again because the loop took more than "
        f"{calm['factor']} times its fastest time; {calm['disturbed']} of those that count were "
        "disturbed all the same."
    ]


def machine_lines(machine: dict[str, Any]) -> list[str]:
    """The machine in a few lines."""
    others = machine["cores_used_by_others"]
    busy = "unknown" if others is None else f"{others} of {machine['cores']} cores on average"
    left_out = [f"- Left out: {text}." for text in machine.get("left_out", [])]
    lines = [
        f"- Version {machine['version']}, commit {machine.get('commit') or 'unknown'}, measured on "
        f"{machine['date']} by `make bench`.",
        f"- {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_bytes'] / 2**30:.1f} GiB; {machine['system']}, "
        f"Linux {machine['kernel']}; {machine['compiler']}.",
        f"- The run took {machine['seconds']:.0f} s. Load before it {machine['load_before']}, "
        f"after it {machine['load_after']}; other processes used {busy}; the system preempted "
        f"the measured processes {machine['preemptions']} times.",
        *calm_lines(machine),
        *left_out,
        *(["- A short run: three rounds instead of ten."] if machine.get("short") else []),
        *(["- A quick run: too short for a statement about speed."] if machine["quick"] else []),
    ]
    wrapped = [textwrap.wrap(line, 110, subsequent_indent="  ") for line in lines]
    return [*itertools.chain.from_iterable(wrapped), ""]


def other_table(book: Book) -> list[str]:
    """Loading, single calls, discovery and the replay's values."""
    names = {
        "library_size": "library, stripped",
        "library_open": "`dlopen`",
        "library_first_call": "`dlopen` and a call that stays in C",
        "library_init": "`dlopen` and `ferrum_init`",
        "call_cached_handle": "call with a block lookup in C (`ferrum_pool_usable_size`)",
        "call_handle": "call with a handle lookup in Go (`ferrum_placement_get_name`)",
        "call_memory_recent": "device memory, from the counters",
        "call_memory_asked": "device memory, from the device",
        "discovery_cold": "first discovery of all backends",
        "discovery_refresh": "forced discovery of all backends",
        "discovery_cached": "repeated discovery, from the cache",
        "replay_pair_ns_median": "pair in `ferrum-mem replay` (core only, with pages), median",
        "replay_pair_ns_p99": "pair in `ferrum-mem replay`, p99",
        "replay_pair": "pair in `ferrum-mem replay` (core only)",
        "python_import": "Python: `import ferrum_mem`",
        "python_first_block": "Python: import, device, pool and first block",
        "python_pair_block": "Python: a pair with a block object",
        "python_pair_address": "Python: a pair by address",
        "kv_append": "KV cache: an append for 256 sequences in one call, each sequence",
        "kv_hits": "KV cache: shared blocks of the Mooncake trace over those of its hash ids",
        "kv_physical": "KV cache: used blocks over those of the live requests, at most",
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


def weights_table(book: Book) -> list[str]:
    """Files of weights, ours beside what the system and a package can do."""
    texts = {
        "weights_resident": "load from the page cache into new memory",
        "weights_warm": "load from the page cache into written memory",
        "weights_cold": "load of what the page cache does not have",
        "weights_map": "map 64 GiB with 1000 tensors, first and last byte",
        "weights_map_whole": "open the file, and the same",
        "weights_metadata": "header of 10,000 tensors, not in the page cache",
        "weights_staging": "memory of a load onto a simulated device, less its tensors",
    }
    rows = []
    for name, text in texts.items():
        for entry in book.named(name):
            unit = str(UNITS.get(entry["unit"], entry["unit"]))
            peer: dict[str, Any] | None = entry["spread"]
            cells = [number(entry["value_ours"]), spread(peer["ours"])] if peer else ["–", "–"]
            other = str(entry.get("missing") or number(entry["value_peer"]))
            rows.append([text, unit, *cells, str(entry["peer"] or "–"), other])
    if not rows:
        return []
    return table(["what", "unit", "**ours**", "middle half", "peer", "its value"], rows)


def load(results: pathlib.Path) -> tuple[Book, dict[str, Any]]:
    """Reads a file of results and its machine.json."""
    try:
        book = Book(json.loads(results.read_text(encoding="utf-8")))
        machine = json.loads(results.with_name("machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"no results to show: {error}") from error
    return book, machine


def render(results: pathlib.Path, pictures: str = "performance") -> str:
    """All tables of a file of results. Pictures are in a folder beside the page."""
    book, machine = load(results)
    lines = ["### Machine", "", *machine_lines(machine)]
    lines += ["### Pictures", ""]
    for picture in PICTURES:
        lines += [f"![{picture.title}]({pictures}/{picture.file})", ""]
    lines += allocator_tables(book)
    lines += ["### High water ÷ peak live in traces", "", *fragmentation_table(book)]
    lines += ["### Virtual memory and the system's own calls", "", *figure_lines(book)]
    lines += ["### Two models under one limit", "", *model_lines(book)]
    lines += ["### Parts of a pair", "", *probe_table(book), *profile_table(book)]
    lines += [
        "### Loading, single calls, discovery and Python",
        "",
        *other_table(book),
    ]
    files = weights_table(book)
    if files:
        lines += ["", "### Files of weights", "", *files]
    lines += operation_lines(book)
    lines += minilm_lines(book)
    return "\n".join(lines).rstrip()
