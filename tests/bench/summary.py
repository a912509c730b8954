"""The first words of the page: which targets one run missed, and which it met."""

from __future__ import annotations

from typing import Any

from book import Book, table
from targets import verdicts
from verdict import Verdict


def worst_first(verdict: Verdict) -> tuple[bool, float]:
    """Values that are not known come last."""
    return verdict.off is None, -(verdict.off or 0)


def run_lines(machine: dict[str, Any]) -> list[str]:
    """The run of all values."""
    kind = "A short run" if machine.get("short") else "A run"
    commit = machine.get("commit") or "unknown"
    others = machine["cores_used_by_others"]
    busy = "" if others is None else f"; other processes used {others} of them on average"
    return [
        f"{kind} of {machine['date']}, version {machine['version']}, commit {commit}, on",
        f"{machine['cpu']} with {machine['cores']} cores{busy}.",
        "The benchmark wrote the tables of this page from the results of this run:",
        "[results](performance/results.json), [machine](performance/machine.json).",
        "",
    ]


def summary_lines(book: Book, machine: dict[str, Any]) -> list[str]:
    """Missed targets first, the worst one first; then the met ones."""
    found = verdicts(book)
    short = sorted((v for v in found if not v.met), key=worst_first)
    met = [v for v in found if v.met]
    lines = run_lines(machine)
    lines += [f"**{len(met)} of {len(found)} targets are met.**", ""]
    if short:
        lines += [f"### Short of the target ({len(short)})", ""]
        rows = [[v.what, v.measured, v.target, v.text] for v in short]
        lines += table(["what", "measured", "target", "shortfall"], rows)
    if met:
        lines += [f"### Met ({len(met)})", ""]
        lines += table(
            ["what", "measured", "target"], [[v.what, v.measured, v.target] for v in met]
        )
    return lines
