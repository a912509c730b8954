"""Single calls of the C ABI, and discovery, each in separate processes."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from elastic import answer_of
from harness import CROSSING, SOURCES, Harness, compile_program, relative
from measure import Result, nothing, result, summary

# Calls that are timed together. They are few, so that some samples are not interrupted. Fewer of
# the calls that query the device.
CALLS = 3000
CALLS_QUICK = 100
REPETITIONS = 100
# The number of processes, because each start differs: its place in memory, its core.
PROCESSES = 5
LOOKS = 20

# The values of the program: the name here, and the function that is called.
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
        """All values."""
        progress("single calls")
        results = self.calls()
        progress("discovery")
        return results + self.discovery()

    def command(self, row: str, *arguments: object) -> list[str]:
        """The command line of a row."""
        command = [relative(self.program), "--row", row, "--library", self.library]
        return command + [str(argument) for argument in arguments]

    def samples(self, command: list[str]) -> dict[str, list[float]]:
        """The samples of several processes, joined."""
        together: dict[str, list[float]] = {}
        for _ in range(1 if self.quick else PROCESSES):
            for name, values in answer_of(command).items():
                if isinstance(values, list):
                    together.setdefault(name, []).extend(values)
        return together

    def calls(self) -> list[Result]:
        """Nanoseconds for each call, beside a bare crossing."""
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
        """The first survey of a process, a repeated survey, and a read of the known result."""
        command = self.command("discovery", "--repetitions", 1 if self.quick else LOOKS)
        found = self.samples(command)
        text = shlex.join(command)
        return [
            result(name, unit, summary(found[key]), None, ours_name="ferrum_backends_json",
                   command=text)
            for key, (name, unit) in DISCOVERY.items()
        ]  # fmt: skip
