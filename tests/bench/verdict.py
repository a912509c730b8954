"""A target, and the comparison of a run with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from book import Book, MissingError, number, precise
from harness import BenchError


class Reading(NamedTuple):
    """A value that is compared with a target, and its text."""

    value: float
    text: str = ""
    # Why the run cannot decide.
    doubt: str = ""


@dataclass(frozen=True)
class Verdict:
    """A target, and the result of a run."""

    id: str
    what: str
    target: str
    measured: str
    # The quotient of value and target: at most 1 if the target is met. None: not decided.
    off: float | None
    # Why it is not decided.
    reason: str = ""

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.off is not None and self.off <= 1

    @property
    def text(self) -> str:
        """The quotient, or the reason, as text."""
        if self.off is None:
            return self.reason
        return "met" if self.met else f"factor {number(self.off)}"


@dataclass(frozen=True)
class Target:
    """An upper limit for a value, or a lower one."""

    id: str
    what: str
    value: Callable[[Book], float | Reading]
    limit: float
    unit: str = ""
    least: bool = False
    # The text of a target that a number does not describe.
    text: str = ""

    @property
    def wanted(self) -> str:
        """The target as text."""
        sign = "≥" if self.least else "≤"
        return self.text or f"{sign} {self.limit:g} {self.unit}".strip()

    def verdict(self, book: Book) -> Verdict:
        """Compares a run with the target."""
        try:
            value = self.value(book)
        except (MissingError, BenchError) as reason:
            return Verdict(self.id, self.what, self.wanted, "–", None, f"not measured: {reason}")
        reading = value if isinstance(value, Reading) else Reading(value)
        write = precise if self.limit < 2 and not self.unit else number
        measured = reading.text or f"{write(reading.value)} {self.unit}".strip()
        if reading.doubt:
            return Verdict(self.id, self.what, self.wanted, measured, None, reading.doubt)
        if self.limit == 0:
            off = 0.0 if reading.value <= 0 else math.inf
        else:
            off = self.limit / reading.value if self.least else reading.value / self.limit
        return Verdict(self.id, self.what, self.wanted, measured, off)
