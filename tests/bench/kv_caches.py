"""Measures KV caches: an append for many sequences, and prefixes of a trace."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from book import Book, MissingError
from from_python import FromPython
from harness import Harness, NotHereError
from measure import Result, nothing, result, summary
from traces import MOONCAKE, trace_file
from verdict import Target

PROCESSES = 5
STEPS = 500
REPETITIONS = 20
OURS = "ferrum_kv_cache"


class KvCaches:
    """Measures in separate processes, with this Python."""

    def __init__(self, harness: Harness, quick: bool) -> None:
        self.python = FromPython(harness, quick)
        self.quick = quick

    def run(self, progress: Callable[[str], None]) -> list[Result]:
        """All values."""
        progress("KV caches")
        return self.append() + self.prefixes()

    def append(self) -> list[Result]:
        """An append for 256 sequences in one call."""
        steps, repetitions = (50, 2) if self.quick else (STEPS, REPETITIONS)
        command = self.python.command("kv_cache.py", steps, repetitions)
        answers = [self.python.answer(command) for _ in range(1 if self.quick else PROCESSES)]
        samples = [value for answer in answers for value in answer["append_ns"]]
        text = shlex.join(command)
        return [result("kv_append", "ns", summary(samples), None, ours_name=OURS, command=text)]

    def prefixes(self) -> list[Result]:
        """Hits and blocks over what the hash ids of the trace give."""
        names = {"kv_hits": "hits", "kv_physical": "physical"}
        try:
            trace = trace_file(MOONCAKE)
        except NotHereError as error:
            return [nothing(name, "ratio", str(error), OURS) for name in names]
        command = self.python.command("kv_cache.py", 1, 1, trace)
        answer = self.python.answer(command)
        # Where the trace lies is of this machine.
        text = shlex.join([each if each != str(trace) else trace.name for each in command])
        return [
            result(name, "ratio", summary([answer[key]]), None, ours_name=OURS, command=text)
            for name, key in names.items()
        ]


def _value(name: str) -> Callable[[Book], float]:
    def read(book: Book) -> float:
        if not book.named(name):
            raise MissingError("it was not measured")
        return book.ours(name)

    return read


KV_CACHE_TARGETS = (
    Target("kv_append", "KV cache: append for 256 sequences, each", _value("kv_append"), 20, "ns"),
    Target("kv_hits", "KV cache, Mooncake: hits ÷ those of the hash ids", _value("kv_hits"), 1,
           least=True),
    Target("kv_physical", "KV cache, Mooncake: used ÷ live blocks", _value("kv_physical"), 1.02),
)  # fmt: skip
