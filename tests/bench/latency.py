"""Single calls of the C ABI, and what discovery takes, each in processes of their own."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from elastic import answer_of
from harness import CROSSING, SOURCES, Harness, compile_program, relative
from measure import Result, nothing, result, summary

# Calls timed together; few, so that some samples are not interrupted. Those that ask
# the device are fewer.
CALLS = 3000
CALLS_QUICK = 100
REPETITIONS = 100
# Times of one process's start to differ: its place in memory, where it runs.
PROCESSES = 5
LOOKS = 20

# Of the program's figures: the name here, and the function that is called.
KINDS = {
    "handle_ns": ("call_handle", "ferrum_placement_get_name"),
    "cached_handle_ns": ("call_cached_handle", "ferrum_pool_usable_size"),
    "recent_ns": ("call_memory_recent", "ferrum_device_get_recent_memory_info"),
    "asked_ns": ("call_memory_asked", "ferrum_device_get_memory_info"),
}
DISCOVERY = {
    "cold_ms": ("discovery_cold", "ms"),
    "refresh_ms": ("discovery_refresh", "ms"),
    "cached_us": ("discovery_cached", "us"),
}


class Latency:
    """Measures both rows of the program."""

    def __init__(self, harness: Harness, quick: bool) -> None:
        self.library = relative(harness.library)
        self.crossing, self.no_crossing = harness.crossing, harness.no_crossing
        self.program = harness.folder / "calls"
        self.quick = quick
        compile_program([SOURCES / "calls" / "calls.c", SOURCES / "process.c"], self.program)

    def run(self, progress: Callable[[str], None]) -> list[Result]:
        """All figures."""
        progress("single calls")
        results = self.calls()
        progress("discovery")
        return results + self.discovery()

    def command(self, row: str, *arguments: object) -> list[str]:
        """The command line of a row."""
        command = [relative(self.program), "--row", row, "--library", self.library]
        return command + [str(argument) for argument in arguments]

    def samples(self, command: list[str]) -> dict[str, list[float]]:
        """What several processes say, put together."""
        together: dict[str, list[float]] = {}
        for _ in range(1 if self.quick else PROCESSES):
            for name, values in answer_of(command).items():
                if isinstance(values, list):
                    together.setdefault(name, []).extend(values)
        return together

    def calls(self) -> list[Result]:
        """Nanoseconds a call, beside a bare crossing."""
        if self.no_crossing:
            return [nothing(name, "ns", self.no_crossing, ours) for name, ours in KINDS.values()]
        command = self.command(
            "calls",
            *("--crossing", relative(self.crossing)),
            *("--repetitions", 2 if self.quick else REPETITIONS),
            *("--calls", CALLS_QUICK if self.quick else CALLS),
        )
        found = self.samples(command)
        bare = summary(found["crossing_ns"])
        text = shlex.join(command)
        return [
            result(
                name, "ns", summary(found[key]), bare,
                ours_name=ours, peer_name=CROSSING, group="probe", command=text,
            )
            for key, (name, ours) in KINDS.items()
        ]  # fmt: skip

    def discovery(self) -> list[Result]:
        """The first look of a process, one that asks everybody again, one at what is known."""
        command = self.command("discovery", "--repetitions", 1 if self.quick else LOOKS)
        found = self.samples(command)
        text = shlex.join(command)
        return [
            result(name, unit, summary(found[key]), None, ours_name="ferrum_backends_json",
                   command=text)
            for key, (name, unit) in DISCOVERY.items()
        ]  # fmt: skip
