"""Measures how long a program in Python waits: for the package, its first block, and pairs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Any

from elastic import answer_of
from harness import ENVIRONMENT, ROOT, SOURCES, Harness, relative
from measure import Result, nothing, result, summary

PROGRAMS = SOURCES / "python"
PACKAGE = ROOT / "bindings" / "python" / "src"
STARTS = 15
PROCESSES = 5
PAIRS = 20_000
PAIRS_QUICK = 50
REPETITIONS = 10
NO_ADDRESSES = "the package has no functions for plain addresses"


class FromPython:
    """Measures in separate processes, with this Python."""

    def __init__(self, harness: Harness, quick: bool) -> None:
        self.library = harness.library
        self.compiled = harness.folder / "python"
        self.quick = quick
        self.calm = harness.calm

    def run(self, progress: Callable[[str], None]) -> list[Result]:
        """All values."""
        progress("from Python")
        return self.starts() + self.pairs()

    def command(self, program: str, *arguments: object) -> list[str]:
        """The command line of a program, with its environment."""
        added = {
            **ENVIRONMENT,
            "FERRUM_MEM_LIBRARY": relative(self.library),
            "PYTHONPATH": relative(PACKAGE),
            # An installed package is compiled. Here the compiled files are kept out of the
            # sources.
            "PYTHONPYCACHEPREFIX": relative(self.compiled),
        }
        words = [f"{name}={value}" for name, value in added.items()]
        without = ["-u", "PYTHONDONTWRITEBYTECODE"]
        path = relative(PROGRAMS / program)
        return ["env", *without, *words, sys.executable, path, *map(str, arguments)]

    def answer(self, command: list[str]) -> dict[str, Any]:
        """What a process printed that ran in a calm moment."""
        return self.calm.measure(lambda: answer_of(command))

    def starts(self) -> list[Result]:
        """Importing the package, and the time to the first block."""
        command = self.command("start.py")
        # The very first process compiles the package.
        answer_of(command)
        answers = [self.answer(command) for _ in range(2 if self.quick else STARTS)]
        return [
            result(
                f"python_{name}", "ms", summary([answer[f"{name}_ms"] for answer in answers]), None,
                ours_name="ferrum_mem", command=shlex.join(command),
            )
            for name in ("import", "first_block")
        ]  # fmt: skip

    def pairs(self) -> list[Result]:
        """Pairs with block objects and by addresses."""
        pairs, repetitions = (PAIRS_QUICK, 2) if self.quick else (PAIRS, REPETITIONS)
        command = self.command("pairs.py", pairs, repetitions)
        answers = [self.answer(command) for _ in range(1 if self.quick else PROCESSES)]
        found = []
        for name in ("block", "address"):
            if answers[0][f"{name}_us"] is None:
                found.append(nothing(f"python_pair_{name}", "us", NO_ADDRESSES, "ferrum_mem"))
                continue
            samples = [value for answer in answers for value in answer[f"{name}_us"]]
            found.append(
                result(
                    f"python_pair_{name}", "us", summary(samples), None,
                    ours_name="ferrum_mem", command=shlex.join(command),
                )
            )  # fmt: skip
        return found
