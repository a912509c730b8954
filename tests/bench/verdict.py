"""What a target is, and how a run is held against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from book import Book, MissingError, number, precise
from harness import BenchError


class Reading(NamedTuple):
    """What is held against a target: the value, and how it is told."""

    value: float
    text: str = ""
    # Why the run cannot tell.
    doubt: str = ""


@dataclass(frozen=True)
class Verdict:
    """A target, and what a run made of it."""

    id: str
    what: str
    target: str
    measured: str
    # How many times the value is off the target: 1 or less is met. None: not told.
    off: float | None
    # Why it is not told.
    reason: str = ""

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.off is not None and self.off <= 1

    @property
    def text(self) -> str:
        """How far off it is."""
        if self.off is None:
            return self.reason
        return "met" if self.met else f"factor {number(self.off)}"


@dataclass(frozen=True)
class Target:
    """At most so much, or at least."""

    id: str
    what: str
    value: Callable[[Book], float | Reading]
    limit: float
    unit: str = ""
    least: bool = False
    # Of a target that is told in other words than as a number.
    text: str = ""

    @property
    def wanted(self) -> str:
        """The target for people."""
        sign = "≥" if self.least else "≤"
        return self.text or f"{sign} {self.limit:g} {self.unit}".strip()

    def verdict(self, book: Book) -> Verdict:
        """What a run says."""
        try:
            value = self.value(book)
        except (MissingError, BenchError) as reason:
            return Verdict(self.id, self.what, self.wanted, "–", None, f"not measured: {reason}")
        reading = value if isinstance(value, Reading) else Reading(value)
        write = precise if self.limit < 2 and not self.unit else number
        measured = reading.text or f"{write(reading.value)} {self.unit}".strip()
        if reading.doubt:
            return Verdict(self.id, self.what, self.wanted, measured, None, reading.doubt)
        off = self.limit / reading.value if self.least else reading.value / self.limit
        return Verdict(self.id, self.what, self.wanted, measured, off)
