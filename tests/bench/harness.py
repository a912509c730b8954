"""Builds the C harness and its libraries, and runs it, one process for each measurement."""

from __future__ import annotations

import enum
import importlib.metadata
import json
import os
import pathlib
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from calm import Calm

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "bench"
MISSING = 3


class BenchError(Exception):
    """A measurement failed. This differs from an allocator that is not available."""


class NotHereError(Exception):
    """A thing to measure is not available on this machine. The text states why."""


class Group(enum.Enum):
    """The relation of an allocator to ours."""

    OURS = "ours"
    # Keeps its tables outside the memory, as a device allocator must.
    APART = "apart"
    # Writes into the memory that it manages.
    ORIENTATION = "orientation"
    # Measures the cost of calls alone.
    PROBE = "probe"


@dataclass
class Allocator:
    """An allocator to measure, and how the harness loads it."""

    name: str
    group: Group
    library: pathlib.Path | None = None
    preload: str = ""
    version: str = ""
    missing: str = ""


OURS = "ferrum_pool"
UNCACHED = "ferrum_pool_uncached"
TRACKING = "ferrum_pool_tracking"
FIXED = "ferrum_pool_fixed"
MANAGER = "ferrum_manager"
# The plain pool with other kinds of requests.
ALIGNED = "ferrum_pool_aligned"
TAGGED = "ferrum_pool_tagged"
PMR = "ferrum_pool_pmr"
REQUESTS = (ALIGNED, TAGGED, PMR)
CROSSING = "bare_crossing"

GROUPS = {
    Group.OURS: (OURS, UNCACHED, TRACKING, FIXED, MANAGER, *REQUESTS),
    Group.APART: (
        "umf_disjoint",
        "umf_disjoint_tuned",
        "umf_scalable",
        "offset_allocator",
        "offset_allocator_mutex",
        "vma",
        "vma_mutex",
        "vma_min_memory",
        "vma_min_offset",
        "gpu_allocator",
        "gpu_allocator_mutex",
    ),
    Group.ORIENTATION: ("mimalloc", "jemalloc", "tcmalloc", "glibc"),
    Group.PROBE: ("none", "ferrum_plain_call", "ferrum_go_call", CROSSING),
}

# The names by which the dynamic linker may find them, best first.
PRELOADS = {
    "mimalloc": ("libmimalloc.so.3", "libmimalloc.so.2"),
    "jemalloc": ("libjemalloc.so.2",),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4"),
}

# Our host device claims as much memory as the other allocators' ranges, because no workload
# accesses the memory.
ENVIRONMENT = {"FERRUM_HOST_MEMORY": "1TiB!"}


def umf_files() -> tuple[pathlib.Path, pathlib.Path, str] | None:
    """The header folder, library and version of the wheel `umf` of this Python, if it is
    installed.
    """
    try:
        wheel = importlib.metadata.distribution("umf")
    except importlib.metadata.PackageNotFoundError:
        return None
    include = library = None
    for file in wheel.files or []:
        path = pathlib.Path(str(wheel.locate_file(file))).resolve()
        if path.name == "umf.h":
            include = path.parent
        elif path.name.startswith("libumf.so"):
            library = path
    if include is None or library is None:
        return None
    return include, library, wheel.version


def crates(quick: bool) -> pathlib.Path:
    """The library of the peers from crates."""
    folder = "debug" if quick else "release"
    return ROOT / "build" / "rust" / folder / "libferrum_bench_peers.so"


def relative(path: pathlib.Path) -> str:
    """A path as one would type it in the repository's root."""
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)


def last_line(text: str) -> str:
    """The last line of a program's messages."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def built(command: list[str], folder: pathlib.Path, library: pathlib.Path) -> str:
    """Runs a build. Returns "", or the reason why its library is not available."""
    if shutil.which(command[0]) is None:
        return f"{command[0]} is not installed"
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=600
        )
    except subprocess.TimeoutExpired:
        return f"{shlex.join(command)} took more than 10 minutes"
    if done.returncode != 0:
        return f"{command[0]} {command[1]} failed: {last_line(done.stderr)}"
    return "" if library.exists() else f"{command[0]} {command[1]} made no {library.name}"


def compile_program(
    sources: Iterable[pathlib.Path], program: pathlib.Path, more: Sequence[str] = ()
) -> None:
    """Compiles a measuring program."""
    compiler = os.environ.get("CC", "cc")
    command = [*shlex.split(compiler), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"]
    command += ["-Werror", f"-I{ROOT / 'include'}", *more, *map(str, sorted(sources))]
    command += ["-o", str(program), "-ldl", "-lpthread", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{program.name} does not compile:\n{done.stderr}")


class Harness:
    """The compiled harness."""

    def __init__(
        self,
        folder: pathlib.Path,
        library: pathlib.Path,
        patience_s: float = 0,
        quick: bool = False,
    ) -> None:
        self.library = library
        self.folder = folder
        self.program = folder / "bench"
        self.umf = umf_files()
        self.preemptions = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._build_program()
        self.calm = Calm(self._loop_ns, patience_s)
        # A quick run measures no speed, so it takes the peers that are built quickly.
        profile = "dev" if quick else "release"
        self.crates = crates(quick)
        cargo = [os.environ.get("CARGO", "cargo"), "build", "--profile", profile, "--locked"]
        target = ["--target-dir", str(ROOT / "build" / "rust")]
        self.no_crates = built([*cargo, *target], SOURCES / "peers", self.crates)
        self.crossing = folder.absolute() / "libcrossing.so"
        go = [os.environ.get("GO", "go"), "build", "-trimpath", "-buildmode=c-shared"]
        self.no_crossing = built(
            [*go, "-o", str(self.crossing), "."], SOURCES / "crossing", self.crossing
        )
        self.pmr = folder.absolute() / "libpmr.so"
        cpp = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", "-O2", "-Wall", "-Wextra"]
        cpp += ["-Werror", "-fPIC", "-shared", f"-I{ROOT / 'include'}", "pmr.cpp", str(library)]
        cpp += [f"-Wl,-rpath,{library.parent}", "-o", str(self.pmr)]
        self.no_pmr = built(cpp, SOURCES / "pmr", self.pmr)

    def _build_program(self) -> None:
        more = [f"-I{self.umf[0]}"] if self.umf else []
        compile_program(SOURCES.glob("*.c"), self.program, more)

    def _loop_ns(self) -> float:
        command = [relative(self.program), "--allocator", "none", "--workload", "calm"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return float(json.loads(done.stdout)["loop_ns"])

    def command(self, allocator: Allocator, arguments: list[str]) -> list[str]:
        """The command line for one measurement, without its environment."""
        command = [relative(self.program), "--allocator", allocator.name]
        if allocator.library:
            command += ["--library", relative(allocator.library)]
        return command + arguments

    def environment(self, allocator: Allocator) -> dict[str, str]:
        """The variables of one measurement beside our own environment."""
        added = dict(ENVIRONMENT) if allocator.name.startswith("ferrum") else {}
        if allocator.preload:
            added["LD_PRELOAD"] = allocator.preload
        return added

    def command_text(self, allocator: Allocator, arguments: list[str]) -> str:
        """The command line for one measurement, for people."""
        added = [f"{k}={shlex.quote(v)} " for k, v in self.environment(allocator).items()]
        return "".join(added) + shlex.join(self.command(allocator, arguments))

    def measure(self, allocator: Allocator, arguments: list[str]) -> dict[str, Any]:
        """Runs one process in a calm moment and returns what it printed."""
        return self.calm.measure(lambda: self._run(allocator, arguments))

    def _run(self, allocator: Allocator, arguments: list[str]) -> dict[str, Any]:
        environment = dict(os.environ)
        environment.pop("LD_PRELOAD", None)
        environment |= self.environment(allocator)
        command = self.command(allocator, arguments)
        text = self.command_text(allocator, arguments)
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"{text}: not done after 5 minutes") from error
        if done.returncode == MISSING:
            raise NotHereError(last_line(done.stderr))
        if done.returncode != 0:
            raise BenchError(f"{text}: exit status {done.returncode}: {done.stderr.strip()}")
        answer: dict[str, Any] = json.loads(done.stdout)
        self.preemptions += int(answer.get("preemptions", 0))
        return answer

    def find(self, name: str) -> Allocator:
        """Finds an allocator. `missing` states why it cannot be measured."""
        group = next(group for group, names in GROUPS.items() if name in names)
        allocator = Allocator(name, group)
        if name == CROSSING:
            allocator.library, allocator.missing = self.crossing, self.no_crossing
        elif name == PMR:
            allocator.library, allocator.missing = self.pmr, self.no_pmr
        elif name.startswith("ferrum"):
            allocator.library = self.library
        elif name.startswith("umf"):
            if self.umf is None:
                allocator.missing = "the Python package umf is not installed"
            else:
                allocator.library = self.umf[1]
        elif group is Group.APART:
            allocator.library, allocator.missing = self.crates, self.no_crates
        if allocator.missing:
            return allocator
        for preload in PRELOADS.get(name, ("",)):
            allocator.preload = preload
            try:
                allocator.version = self._run(allocator, ["--workload", "describe"])["version"]
            except NotHereError as reason:
                allocator.missing = str(reason)
            else:
                allocator.missing = ""
                break
        if name.startswith("umf") and self.umf is not None and not allocator.missing:
            # The library reports only the version of its interface.
            allocator.version = self.umf[2]
        return allocator
