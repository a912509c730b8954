#!/usr/bin/env python3
"""Runs random programs, hostile calls, property tests and fuzzers for hours.

Usage: soak.py [--duration 24h] [--seed N] [--only PATTERN] [--output FILE]

Each run is a process of its own with a seed and a time limit. A run that fails, crashes or hangs
is a finding. The script prints the finding with its seed and with the command that repeats it,
and continues with the next run. After each run it writes the runs and findings to FILE, as JSON.

A drill is one kind of run on one device: the host, or one generation of the simulated CUDA
driver. Each drill has a share of the time. The next drill to run is the one that will have used
the least time for its share after its next run. --only takes a pattern such as "calls" or
"programs@12090". With --seed each chosen drill runs once, with this seed.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from dataclasses import asdict, dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEST = ROOT / "build/test"
GENERATIONS = ("11020", "12000", "12040", "12090", "13000")
# A device with neither virtual memory nor stream-ordered pools. Only programs that need no
# ranges run there, and none whose queued work waits for the program: cuMemFree waits for the
# queued work, so such a program would wait for itself.
PLAIN = "12090-plain"
# A drill with this number of findings does not run again.
FINDINGS_MOST = 5
KEPT_LINES = 60
# Folders whose packages have a build with tables that move each time they grow.
TABLES = ("core/internal", "core/rangealloc", "core/pool", "core/replay")
# Expected seconds of a drill that has not run yet.
FIRST_SECONDS = 10
# Seconds that a process that hangs gets to print where its goroutines are.
GRACE_SECONDS = 1


@dataclass(frozen=True)
class Drill:
    """One kind of run. {seed} in a word of the command is replaced by the seed."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    # A run that takes longer counts as hung.
    seconds: int
    # Share of the time, relative to the other drills.
    share: float = 1.0
    # Whether the program prints each call if SOAK_TRACE=1 is set.
    traces: bool = False

    def words(self, seed: int) -> list[str]:
        """Returns the command line of one run."""
        return [word.format(seed=seed) for word in self.command]


@dataclass
class Tally:
    """The sums over all runs of one drill."""

    runs: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    most_resident_mib: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, counts: dict[str, int]) -> None:
        """Adds the counts of one run."""
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number


@dataclass(frozen=True)
class Finding:
    """A run that failed, and how to repeat it."""

    drill: str
    seed: int
    how: str
    repeat: str
    output: list[str]


@dataclass(frozen=True)
class Outcome:
    """How one run ended."""

    how: str
    seconds: float
    cpu_seconds: float
    resident_mib: float
    lines: list[str]


# --- the drills -------------------------------------------------------------------


def places() -> dict[str, dict[str, str]]:
    """Returns the devices with their environment: the host and simulated drivers."""
    found: dict[str, dict[str, str]] = {"host": {}}
    kinds = {
        generation: {
            "SIMCUDA_GRANULARITY": "64K" if generation != "12090" else "2M",
            "SIMCUDA_JITTER_US": "50",
        }
        for generation in GENERATIONS
    }
    kinds[PLAIN] = {"SIMCUDA_WITHOUT": "vmm,pools,peer,fd,fabric", "SIMCUDA_JITTER_US": "5"}
    for name, settings in kinds.items():
        library = TEST / "simcuda" / name[:5] / "libcuda.so.1"
        found[name] = {
            "FERRUM_TEST_DEVICE": "cuda:0",
            "FERRUM_CUDA_LIBRARY": str(library),
            "SIMCUDA_DEVICES": "2",
            "SIMCUDA_BYTES": "2G",
            "SIMCUDA_LEAKS": "",
            **settings,
        }
    return found


def drills() -> list[Drill]:
    """Returns all drills."""
    found = [
        Drill("calls", (str(TEST / "soak/calls"), "{seed}", "200000"), {}, 600, 36, traces=True)
    ]
    for place, environment in places().items():

        def add(
            name: str,
            words: tuple[str, ...],
            share: float = 1.0,
            traces: bool = False,
            place: str = place,
            environment: dict[str, str] = environment,
        ) -> None:
            found.append(Drill(f"{name}@{place}", words, environment, 900, share, traces))

        c = TEST / "c"
        add("programs", (str(TEST / "soak/programs"), "{seed}0", "10"), 3, traces=True)
        add("random_programs", (str(c / "test_random_programs"), "{seed}"))
        if place == PLAIN:
            continue
        for name in ("pools", "virtual", "threads", "tensors"):
            add(f"random_{name}", (str(c / f"test_random_{name}"), "{seed}"))
        add("random_owners", (str(c / "test_random_owners"), "2", "{seed}"))
        corpus = str(ROOT / "tests/corpus/pool_calls")
        add("pool_calls", (str(c / "test_pool_calls"), corpus, "1000", "{seed}"))
        python = str(ROOT / "build/venv/bin/python")
        owners = str(ROOT / "bindings/python/tests/owner_programs.py")
        cargo = ("cargo", "test", "--quiet", "--locked", "-p", "ferrum-mem", "--test", "owners")
        manifest = ("--manifest-path", "bindings/rust/Cargo.toml")
        numbers = ("env", "OWNER_FIRST={seed}", "OWNER_PROGRAMS=3")
        add("rust_owners", (*numbers, *cargo, *manifest, "--", "--ignored", "--exact", "programs"))
        add("python_owners", (python, owners, str(c / "libdevice_work.so"), "3", "{seed}"))
        for package in property_rooms(of_devices=place != "host"):
            tests = ("go", "test", "-vet=off", "-count=1", "-timeout=30m", package)
            checks = ("-rapid.checks=400", "-rapid.seed={seed}")
            add(f"properties:{package[2:]}", (*tests, *checks), 0.5)
    for package in property_rooms(of_devices=False):
        room, checks = package[2:], ("-rapid.checks=100", "-rapid.seed={seed}")
        ways = {"race": ("-race",), "tables": ("-tags", "ferrum_moving_tables")}
        if not room.startswith(TABLES):
            del ways["tables"]
        for way, flags in ways.items():
            words = ("go", "test", *flags, "-vet=off", "-count=1", "-timeout=30m", package)
            found.append(Drill(f"{way}:{room}", (*words, *checks), {}, 1900, 0.3))
    others = ("go", "test", "-race", "-vet=off", "-count=1", "-timeout=30m", *other_rooms())
    found.append(Drill("race:others", others, {}, 1900, 0.3))
    found.append(
        Drill("long:test_cuda", ("scripts/test_cuda_suites.sh",), {"SOAK": "1"}, 1900, 0.3)
    )
    # make check only checks the types of the host backend for macOS.
    vet, darwin = ("go", "vet", "./drivers/host/..."), {"GOOS": "darwin", "CGO_ENABLED": "0"}
    found.append(Drill("long:vet_darwin", vet, darwin, 1900, 0.1))
    # make test runs these for less time, or with less memory.
    for name in ("test_signals", "test_bounded"):
        found.append(Drill(f"long:{name}", (str(TEST / "c" / name),), {"SOAK": "1"}, 900, 0.3))
    # Places all recorded buffers; make test places those that take less than a second.
    words = ("go", "test", "-vet=off", "-count=1", "-run=TestPublishedCapacity", "./core/plan")
    found.append(Drill("long:plan", words, {"SOAK": "1"}, 900, 0.1))
    found += with_sanitizer()
    for package in (
        "core/rangealloc",
        "core/estimate",
        "core/trace",
        "core/weights/header",
        "core/onnx",
        "core/operator",
        "core/plan",
    ):
        words = ("scripts/fuzz.sh", "30", f"./{package}")
        found.append(Drill(f"fuzz:{package}", words, {}, 900, 1))
    return found


def with_sanitizer() -> list[Drill]:
    """Returns the programs that make test runs in part, or never, with a sanitizer or optimised."""
    programs, options = TEST / "asan/c", {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1"}
    found = [
        Drill(f"asan_{name}@host", (str(programs / f"test_{name}"), "{seed}"), options, 900)
        for name in (
            "random_programs",
            "random_pools",
            "random_virtual",
            "random_threads",
            "random_tensors",
        )
    ]
    words = (str(programs / "test_pool_calls"), str(ROOT / "tests/corpus/pool_calls"))
    found.append(Drill("asan_pool_calls@host", (*words, "400", "{seed}"), options, 900))
    whole = {**options, "SOAK": "1"}
    found.append(Drill("long:asan_bounded", (str(programs / "test_bounded"),), whole, 1900, 0.3))
    # make test runs the C++ programs without the sanitizer and without optimisation only.
    library = {**options, "FERRUM_TEST_LIBRARY": str(TEST / "libferrum_mem.so")}
    for source in sorted((ROOT / "tests/c").glob("test_*.cpp")):
        name = source.stem.removeprefix("test_")
        for way, folder in (("asan", programs), ("optimised", TEST / "optimised/c")):
            program = str(folder / source.stem)
            found.append(Drill(f"long:{way}_{name}", (program,), library, 900, 0.1))
    return found


def property_rooms(of_devices: bool) -> list[str]:
    """Returns the packages with property tests; of_devices: only those that run on any device."""
    rooms = rooms_with('"pgregory.net/rapid"')
    return sorted(rooms & rooms_with('"ferrum_mem/drivers/testdevice"') if of_devices else rooms)


def other_rooms() -> list[str]:
    """Returns the packages of core, cmd and drivers with tests but without property tests."""
    tests = (path for folder in ("core", "cmd", "drivers") for path in (ROOT / folder).rglob("*"))
    rooms = {f"./{p.parent.relative_to(ROOT)}" for p in tests if p.name.endswith("_test.go")}
    return sorted(rooms - set(property_rooms(of_devices=False)) - {"./drivers/cuda/gorgonia"})


@functools.cache
def rooms_with(text: str) -> frozenset[str]:
    """Returns the packages of core whose tests contain the text."""
    tests = (ROOT / "core").rglob("*_test.go")
    return frozenset(
        f"./{path.parent.relative_to(ROOT)}" for path in tests if text in path.read_text()
    )


# --- one run ------------------------------------------------------------------------


def run(drill: Drill, seed: int, seconds: float, more: dict[str, str]) -> Outcome:
    """Runs a drill once, in its own process group, and kills the group when the time is over."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "bindings/python/src")}
    for name in [name for name in environment if name.startswith("SIMCUDA_")]:
        del environment[name]
    environment |= drill.environment | more
    late = threading.Event()
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        child = subprocess.Popen(
            drill.words(seed),
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

        def stop() -> None:
            late.set()
            # A Go process prints the stacks of its goroutines at SIGQUIT.
            os.killpg(child.pid, signal.SIGQUIT)
            time.sleep(GRACE_SECONDS)
            os.killpg(child.pid, signal.SIGKILL)

        clock = threading.Timer(seconds, stop)
        clock.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        except KeyboardInterrupt:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            clock.cancel()
        took = time.monotonic() - began
        size = output.tell()
        output.seek(max(0, size - 200_000))
        lines = output.read().decode(errors="replace").splitlines()
    how = "" if child.returncode == 0 else f"exit status {child.returncode}"
    if child.returncode < 0:
        how = f"signal {signal.Signals(-child.returncode).name}"
    if late.is_set():
        how = f"hung: not done after {seconds:.0f} s"
    cpu = used.ru_utime + used.ru_stime
    return Outcome(how, took, cpu, used.ru_maxrss / 1024, lines)


def counts_of(lines: list[str]) -> dict[str, int]:
    """Reads the line `soak NAME=NUMBER ...`, or the number of programs of `N passed, N failed`."""
    for line in reversed(lines):
        if line.startswith("soak "):
            return {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}
        if m := re.match(r"(\d+) passed, (\d+) failed", line):
            return {"programs": int(m[1]) + int(m[2])}
    return {}


def repeat(drill: Drill, seed: int) -> str:
    """Returns the shell command that repeats a run."""
    settings = [f"{name}={value!r}" for name, value in drill.environment.items()]
    return " ".join([*settings, *drill.words(seed)])


def excerpt(lines: list[str]) -> list[str]:
    """Returns the lines from the first sign of a failure, or the last lines."""
    sign = re.compile(r"finding: |panic|fatal error|FAIL|DATA RACE|SIG[A-Z]{3,4}|program \d+")
    for number, line in enumerate(lines):
        if sign.search(line):
            return lines[number : number + KEPT_LINES]
    return lines[-KEPT_LINES:]


# --- all runs -------------------------------------------------------------------------


class Soak:
    """The runs and findings so far."""

    def __init__(
        self, chosen: list[Drill], seed: int, output: pathlib.Path, is_repeat: bool = False
    ) -> None:
        self.chosen = chosen
        self.seed = seed
        # True if the seed is that of one run to repeat.
        self.is_repeat = is_repeat
        self.output = output
        self.began = time.time()
        self.tallies = {drill.name: Tally() for drill in chosen}
        self.findings: list[Finding] = []

    def next(self) -> Drill | None:
        """Returns the drill with the least time for its share; None if all failed too often."""
        names = [finding.drill for finding in self.findings]
        left = [d for d in self.chosen if names.count(d.name) < FINDINGS_MOST]
        return min(left, key=lambda d: self.cost(d) / d.share, default=None)

    def cost(self, drill: Drill) -> float:
        """Returns the seconds that a drill has used, plus the expected seconds of its next run."""
        tally = self.tallies[drill.name]
        return tally.seconds + (tally.seconds / tally.runs if tally.runs else FIRST_SECONDS)

    def once(self, drill: Drill) -> None:
        """Runs a drill once. Drills have different seeds, so devices run different programs."""
        tally = self.tallies[drill.name]
        seed = self.seed + tally.runs
        if not self.is_repeat:
            seed += zlib.crc32(drill.name.encode()) % 1_000_000
        outcome = run(drill, seed, drill.seconds, {})
        tally.runs += 1
        tally.seconds += outcome.seconds
        tally.cpu_seconds += outcome.cpu_seconds
        tally.most_resident_mib = max(tally.most_resident_mib, outcome.resident_mib)
        tally.add(counts_of(outcome.lines))
        if outcome.how:
            self.keep(drill, seed, outcome)
        self.write()

    def keep(self, drill: Drill, seed: int, outcome: Outcome) -> None:
        """Prints and stores a finding. Repeats the run with a trace if the drill has one."""
        lines = excerpt(outcome.lines)
        if drill.traces and not any("finding: " in line for line in lines):
            traced = run(drill, seed, drill.seconds, {"SOAK_TRACE": "1"})
            lines += ["--- again, with each call:", *traced.lines[-KEPT_LINES:]]
        finding = Finding(drill.name, seed, outcome.how, repeat(drill, seed), lines)
        self.findings.append(finding)
        print(f"\nfinding: {drill.name}, seed {seed}: {outcome.how}\n  {finding.repeat}")
        print("\n".join(f"    {line[:400]}" for line in lines[:25]), flush=True)

    def totals(self) -> dict[str, int]:
        """Returns the sums of the counts of all drills."""
        total = Tally()
        for tally in self.tallies.values():
            total.add({"runs": tally.runs} | tally.counts)
        return total.counts

    def write(self) -> None:
        """Writes the results to a new file and renames it, so readers see whole results."""
        results = {
            "began": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(self.began)),
            "seconds": round(time.time() - self.began, 1),
            "seed": self.seed,
            "totals": self.totals() | {"findings": len(self.findings)},
            "findings": [asdict(finding) for finding in self.findings],
            "drills": {name: asdict(tally) for name, tally in self.tallies.items() if tally.runs},
        }
        self.output.parent.mkdir(parents=True, exist_ok=True)
        beside = self.output.with_suffix(".new")
        beside.write_text(json.dumps(results, indent=1) + "\n")
        beside.replace(self.output)

    def show(self) -> None:
        """Prints the sums of each drill."""
        print(f"\n{'drill':<40}{'runs':>7}{'seconds':>9}{'cpu':>9}  counts")
        for name, tally in self.tallies.items():
            counts = ", ".join(f"{number} {what}" for what, number in tally.counts.items())
            if tally.runs:
                print(
                    f"{name:<40}{tally.runs:>7}{tally.seconds:>9.0f}{tally.cpu_seconds:>9.0f}  "
                    f"{counts}"
                )
        totals = ", ".join(f"{number} {what}" for what, number in self.totals().items())
        print(f"{totals}, {len(self.findings)} findings; in {self.output}")


def seconds_of(text: str) -> float:
    """90s, 5m, 24h."""
    m = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if m is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90s, 5m or 24h")
    return float(m[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[m[2]]


def main() -> int:
    """Runs the drills that the command line selects."""
    parser = argparse.ArgumentParser(description="Runs random programs for hours.")
    parser.add_argument("--duration", type=seconds_of, default=seconds_of("24h"))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", default="*")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/soak/results.json")
    parser.add_argument("--list", action="store_true", help="name the drills and run none")
    options = parser.parse_args()
    chosen = [
        drill
        for drill in drills()
        if fnmatch.fnmatch(drill.name, options.only) or drill.name.split("@")[0] == options.only
    ]
    if options.list or not chosen:
        print("\n".join(drill.name for drill in chosen) or f"no drill is called {options.only}")
        return 0 if chosen else 2
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Some C programs get the seed with a digit appended, so ten times the seed must still fit
    # their type.
    is_repeat = options.seed is not None
    seed = options.seed if is_repeat else int(time.time()) % 100_000_000
    soak = Soak(chosen, seed, options.output, is_repeat)
    print(f"seed {soak.seed}, {len(chosen)} drills", flush=True)
    end = soak.began + options.duration
    try:
        for drill in chosen if is_repeat else []:
            soak.once(drill)
        while not is_repeat and time.time() < end:
            following = soak.next()
            if following is None:
                break
            soak.once(following)
    except KeyboardInterrupt:
        print("stopped")
    soak.show()
    return 1 if soak.findings else 0


if __name__ == "__main__":
    sys.exit(main())
