"""Reads results, and formats numbers and tables for people."""

from __future__ import annotations

from typing import Any

from harness import GROUPS, BenchError, Group

Result = dict[str, Any]


class Book:
    """The results, by name and peer."""

    def __init__(self, results: list[Result]) -> None:
        self.results = results

    def named(self, name: str) -> list[Result]:
        """Results with one name, in their order."""
        return [entry for entry in self.results if entry["name"] == name]

    def against(self, name: str, peer: str) -> Result | None:
        """The result compared with one peer."""
        return next((entry for entry in self.named(name) if entry["peer"] == peer), None)

    def ours(self, name: str) -> float:
        """Our value in a result."""
        entries = self.named(name)
        if not entries:
            raise BenchError(f"the results lack {name}")
        if entries[0]["value_ours"] is None:
            raise MissingError(entries[0]["missing"])
        return float(entries[0]["value_ours"])

    def peer(self, name: str, peer: str) -> float:
        """A peer's value in a result."""
        entry = self.against(name, peer)
        if entry is None:
            raise BenchError(f"the results lack {name} against {peer}")
        if entry["value_peer"] is None:
            raise MissingError(entry["missing"])
        return float(entry["value_peer"])

    def pairs(self, name: str, peer: str) -> dict[str, float]:
        """The quotients of pairs of neighbouring measurements: ours and a peer's."""
        self.peer(name, peer)
        found: dict[str, float] = (self.against(name, peer) or {})["pairs"]
        return found

    def fastest(self, name: str) -> tuple[float, str]:
        """The lowest value of the peers with separate tables, and the peer's name."""
        values = [
            (float(entry["value_peer"]), str(entry["peer"]))
            for entry in self.named(name)
            if entry["peer"] in GROUPS[Group.APART] and entry["value_peer"] is not None
        ]
        if not values:
            raise MissingError("no peer was there")
        return min(values)


class MissingError(Exception):
    """A value that this machine could not measure. The text states why."""


def number(value: float | None) -> str:
    """A number with about three digits."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def precise(value: float | None) -> str:
    """A quotient with three decimals."""
    return "–" if value is None else f"{value:.3f}"


def spread(entry: dict[str, float] | None) -> str:
    """The middle half of the samples."""
    return f"{number(entry['q1'])} … {number(entry['q3'])}" if entry else "–"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """A table; all columns but the first are numbers."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines] + [""]


def label(name: str, version: str | None = None) -> str:
    """An allocator's name with its version: ours in bold, those for orientation in italics."""
    if name.startswith("ferrum"):
        return f"**{name}**"
    text = f"{name} {version or ''}".strip()
    return f"*{text}*" if name in GROUPS[Group.ORIENTATION] else text
