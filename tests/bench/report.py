"""Tables of the results, in Markdown, as docs/performance.md holds them."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from harness import MANAGER, OURS, PEERS, BenchError

BEGIN = "<!-- bench:begin -->"
END = "<!-- bench:end -->"

Result = dict[str, Any]

# Below this scaling of a plain loop the machine had no second core to spare, and
# how an allocator scales cannot be told.
FREE_CORES = 0.9

HEADINGS = {
    "hot_pair_256b": "Hot pair, 256 B",
    "hot_pair_64kib": "Hot pair, 64 KiB",
    "hot_pair_1mib": "Hot pair, 1 MiB",
    "random_1000_live": "1000 live blocks, random replacement, 256 B to 1 MiB",
    "two_threads_hot_256b": "Two threads against one, hot pair of 256 B",
    "two_threads_random": "Two threads against one, random replacement (each its own 1000 blocks)",
}

PROBED = ("hot_pair_256b", "random_1000_live")

PROBE_TEXT = {
    "none": "the harness alone (an allocator that does nothing)",
    "ferrum_plain_call": "two calls that stay in C (`ferrum_abi_version`)",
    "ferrum_go_call": "two calls that enter Go and look one handle up (`ferrum_stream_is_ready`)",
}


class Book:
    """The results, by name and peer."""

    def __init__(self, results: list[Result]) -> None:
        self.results = results

    def named(self, name: str) -> list[Result]:
        """Results of one name, in their order."""
        return [entry for entry in self.results if entry["name"] == name]

    def against(self, name: str, peer: str) -> Result | None:
        """The result against one peer."""
        return next((entry for entry in self.named(name) if entry["peer"] == peer), None)

    def least(self, name: str) -> float:
        """Least of our samples of a result."""
        return float(self.named(name)[0]["spread"]["ours"]["min"])

    def ours(self, name: str) -> float:
        """Our value of a result."""
        return float(self.named(name)[0]["value_ours"])


def number(value: float | None) -> str:
    """A number with about three digits."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(entry: dict[str, float] | None) -> str:
    """The middle half of the samples."""
    return f"{number(entry['q1'])} … {number(entry['q3'])}" if entry else "–"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """A table; all columns but the first are numbers."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines] + [""]


def pair_table(book: Book, workload: str) -> list[str]:
    """Medians and p99 of one workload, allocator by allocator."""
    rows = []
    for peer in (OURS, MANAGER, *PEERS):
        median = book.against(f"{workload}_median", PEERS[0] if peer == OURS else peer)
        p99 = book.against(f"{workload}_p99", PEERS[0] if peer == OURS else peer)
        if median is None or p99 is None:
            continue
        if peer == OURS:
            cells = [f"{number(median['value_ours'])}", spread(median["spread"]["ours"])]
            cells += [number(median["spread"]["ours"]["min"]), number(p99["value_ours"]), "1", "1"]
        elif median.get("missing"):
            cells = [f"missing: {median['missing']}", "–", "–", "–", "–", "–"]
        else:
            theirs = median["spread"]["peer"]
            cells = [number(median["value_peer"]), spread(theirs), number(theirs["min"])]
            cells += [number(p99["value_peer"]), number(median["ratio"]), number(p99["ratio"])]
        rows.append([label(peer, median["peer_version"] if peer != OURS else None), *cells])
    header = ["allocator", "median ns", "middle half", "least", "p99 ns"]
    return table([*header, "ours ÷ it", "p99: ours ÷ it"], rows)


def label(name: str, version: str | None) -> str:
    """An allocator's name with its version."""
    ours = name in (OURS, MANAGER)
    return f"**{name}**" if ours else f"{name} {version or ''}".strip()


def thread_table(book: Book, workload: str) -> list[str]:
    """How two threads do against one."""
    rows = []
    arithmetic = book.against(f"{workload}_scaling", "arithmetic loop")
    if arithmetic is None:
        raise BenchError(f"the results lack {workload}")
    loop = arithmetic["value_peer"]
    for peer in (OURS, MANAGER, *PEERS):
        key = PEERS[0] if peer == OURS else peer
        side = "ours" if peer == OURS else "peer"
        entries = [
            book.against(f"{workload}_{metric}", key)
            for metric in ("median", "two_threads_median", "scaling")
        ]
        if any(entry is None or (peer != OURS and entry.get("missing")) for entry in entries):
            continue
        one, two, scaling = (entry for entry in entries if entry is not None)
        value = scaling[f"value_{side}"]
        cells = [number(one[f"value_{side}"]), number(two[f"value_{side}"]), number(value)]
        cells += [spread(scaling["spread"][side]), number(value / loop)]
        rows.append([label(peer, one["peer_version"] if peer != OURS else None), *cells])
    middle = spread(arithmetic["spread"]["peer"])
    rows.append(["arithmetic loop", "–", "–", number(loop), middle, "1"])
    header = ["allocator", "one thread ns", "two threads ns", "one ÷ two", "middle half"]
    return table([*header, "÷ the loop's"], rows)


def machine_lines(machine: dict[str, Any]) -> list[str]:
    """The machine in a few lines."""
    others = machine["cores_used_by_others"]
    busy = "unknown" if others is None else f"{others} of {machine['cores']} cores on average"
    return [
        f"- Version {machine['version']}, measured on {machine['date']}.",
        f"- {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_bytes'] / 2**30:.1f} GiB; {machine['system']}, "
        f"Linux {machine['kernel']}; {machine['compiler']}.",
        f"- The run took {machine['seconds']:.0f} s. Load before it {machine['load_before']}, "
        f"after it {machine['load_after']}; other processes used {busy}; the measured processes "
        f"were preempted {machine['preemptions']} times.",
        *(["- A quick run: too short to say anything about speed."] if machine["quick"] else []),
        "",
    ]


def probe_table(book: Book) -> list[str]:
    """What a pair is made of, from the outside."""

    def cells(suffix: str) -> list[str]:
        return [
            c for workload in PROBED for c in (value(workload, suffix), least(workload, suffix))
        ]

    def value(workload: str, suffix: str) -> str:
        return number(book.ours(f"{workload}_{suffix}"))

    def least(workload: str, suffix: str) -> str:
        return number(book.least(f"{workload}_{suffix}"))

    rows = [[text, *cells(probe)] for probe, text in PROBE_TEXT.items()]
    rows.append(["a pair of the pool", *cells("median")])
    rest = []
    for workload in PROBED:
        pair, call = f"{workload}_median", f"{workload}_ferrum_go_call"
        rest.append(number(book.ours(pair) - book.ours(call)))
        rest.append(number(book.least(pair) - book.least(call)))
    rows.append(["what that leaves for the core", *rest])
    header = ["pair of calls", "hot 256 B: median ns", "least ns", "random: median ns", "least ns"]
    return table(header, rows)


def profile_table(book: Book) -> list[str]:
    """Shares of the samples, part by part."""
    hot = {e["part"]: e["value_ours"] for e in book.named("hot_pair_256b_share")}
    random = {e["part"]: e["value_ours"] for e in book.named("random_1000_live_share")}
    if not hot or not random:
        return ["(No profile: it needs `perf` and the unstripped library.)", ""]
    parts = sorted(hot.keys() | random.keys(), key=lambda part: -hot.get(part, 0.0))
    rows = [[p, f"{hot.get(p, 0):.1f}", f"{random.get(p, 0):.1f}"] for p in parts]
    return table(["part", "hot 256 B: %", "random: %"], rows)


def target_table(book: Book) -> list[str]:
    """The targets of the design, with what was reached."""
    loop = book.against("two_threads_random_scaling", "arithmetic loop")
    hot_loop = book.against("two_threads_hot_256b_scaling", "arithmetic loop")
    manager = book.against("hot_pair_256b_median", MANAGER)
    if loop is None or hot_loop is None or manager is None:
        raise BenchError("the results lack a target's figures")
    # (what, value, target, unit, whether more is better)
    targets = [
        ("hot pair of 256 B", book.ours("hot_pair_256b_median"), 25, "ns", False),
        ("random replacement", book.ours("random_1000_live_median"), 60, "ns", False),
        ("random replacement, p99", book.ours("random_1000_live_p99"), 160, "ns", False),
        ("two threads, hot pair, ÷ the loop's", hot_loop["ratio"], 0.95, "", True),
        ("two threads, random, ÷ the loop's", loop["ratio"], 0.95, "", True),
        ("manager with tracking ÷ pool", 1 / manager["ratio"], 1.5, "", False),
        ("library, stripped", book.ours("library_size"), 16, "MB", False),
        ("dlopen and ferrum_init", book.ours("library_init"), 5, "ms", False),
    ]
    loops = {targets[3][0]: hot_loop["value_peer"], targets[4][0]: loop["value_peer"]}
    rows = []
    for what, value, target, unit, more_is_better in targets:
        crowded = more_is_better and loops[what] < FREE_CORES
        met = value >= target if more_is_better else value <= target
        factor = target / value if more_is_better else value / target
        sign = "≥" if more_is_better else "≤"
        verdict = "met" if met else f"**missed, {number(factor)} times off**"
        if crowded:
            verdict = f"none: the loop itself reached only {number(loops[what])}"
        rows.append(
            [what, f"{sign} {target} {unit}".strip(), f"{number(value)} {unit}".strip(), verdict]
        )
    return table(["what", "target", "measured", "verdict"], rows)


def other_table(book: Book) -> list[str]:
    """Loading and the replay's figures."""
    names = {
        "library_size": "library, stripped",
        "library_open": "`dlopen`",
        "library_first_call": "`dlopen` and a call that stays in C",
        "library_init": "`dlopen` and `ferrum_init`",
        "replay_pair_ns_median": "pair of the core alone in `ferrum-mem replay`, median",
        "replay_pair_ns_p99": "the same, p99",
        "replay_pair": "pair of the core alone in `ferrum-mem replay`",
    }
    rows = []
    for name, text in names.items():
        for entry in book.named(name):
            if entry.get("missing"):
                rows.append([text, f"missing: {entry['missing']}", "–"])
                continue
            ours = entry["spread"]["ours"]
            middle = spread(ours) if ours["samples"] > 1 else "–"
            rows.append([text, f"{number(entry['value_ours'])} {entry['unit']}", middle])
    return table(["what", "value", "middle half"], rows)


def render(results: pathlib.Path) -> str:
    """All tables of a file of results."""
    try:
        book = Book(json.loads(results.read_text(encoding="utf-8")))
        machine = json.loads(results.with_name("machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"no results to show: {error}") from error
    lines = ["### Machine", "", *machine_lines(machine)]
    lines += ["### Targets", "", *target_table(book)]
    for workload, heading in HEADINGS.items():
        lines += [f"### {heading}", ""]
        draw = thread_table if workload.startswith("two_threads") else pair_table
        lines += draw(book, workload)
    lines += ["### What a pair is made of", "", *probe_table(book), *profile_table(book)]
    lines += ["### Loading, and the core without the ABI", "", *other_table(book)]
    return "\n".join(lines).rstrip()


def rewrite(path: pathlib.Path, tables: str) -> None:
    """Puts the tables between the markers of a document."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BenchError(f"{path} has no {BEGIN} … {END}")
    path.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", encoding="utf-8")
