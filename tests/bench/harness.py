"""Builds the C harness and runs it, one process for each measurement."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import shlex
import subprocess
from dataclasses import dataclass
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "bench"
MISSING = 3


class BenchError(Exception):
    """A measurement went wrong, as opposed to an allocator that is not here."""


class NotHereError(Exception):
    """Something to measure is not on this machine; the text says why."""


@dataclass
class Allocator:
    """An allocator to measure, and how the harness gets at it."""

    name: str
    library: pathlib.Path | None = None
    preload: str = ""
    version: str = ""
    missing: str = ""


OURS = "ferrum_pool"
MANAGER = "ferrum_manager"
PROBES = ("none", "ferrum_plain_call", "ferrum_go_call")
PEERS = (
    "umf_disjoint",
    "umf_disjoint_tuned",
    "umf_scalable",
    "mimalloc",
    "jemalloc",
    "tcmalloc",
    "glibc",
)

# Names under which the dynamic linker may find them, best first.
PRELOADS = {
    "mimalloc": ("libmimalloc.so.3", "libmimalloc.so.2"),
    "jemalloc": ("libjemalloc.so.2",),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4"),
}


def umf_files() -> tuple[pathlib.Path, pathlib.Path, str] | None:
    """Header folder, library and version of the wheel `umf` of this Python, if it is there."""
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


def relative(path: pathlib.Path) -> str:
    """A path as one would type it in the repository's root."""
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)


class Harness:
    """The compiled harness."""

    def __init__(self, folder: pathlib.Path, library: pathlib.Path) -> None:
        self.library = library
        self.program = folder / "bench"
        self.umf = umf_files()
        self.preemptions = 0
        folder.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CC", "cc")
        command = [*shlex.split(compiler), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"]
        command += [f"-I{ROOT / 'include'}"]
        if self.umf:
            command += [f"-I{self.umf[0]}"]
        command += [str(path) for path in sorted(SOURCES.glob("*.c"))]
        command += ["-o", str(self.program), "-ldl", "-lpthread", "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"the harness does not compile:\n{done.stderr}")

    def command(self, allocator: Allocator, arguments: list[str]) -> list[str]:
        """The command line for one measurement, without its environment."""
        command = [relative(self.program), "--allocator", allocator.name]
        if allocator.library:
            command += ["--library", relative(allocator.library)]
        return command + arguments

    def command_text(self, allocator: Allocator, arguments: list[str]) -> str:
        """The command line for one measurement, for people."""
        preload = f"LD_PRELOAD={allocator.preload} " if allocator.preload else ""
        return preload + shlex.join(self.command(allocator, arguments))

    def measure(self, allocator: Allocator, arguments: list[str]) -> dict[str, Any]:
        """Runs one process and gives what it printed."""
        environment = dict(os.environ)
        environment.pop("LD_PRELOAD", None)
        if allocator.preload:
            environment["LD_PRELOAD"] = allocator.preload
        command = self.command(allocator, arguments)
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == MISSING:
            lines = done.stderr.strip().splitlines()
            raise NotHereError(lines[-1] if lines else "no reason given")
        if done.returncode != 0:
            text = self.command_text(allocator, arguments)
            raise BenchError(f"{text}: exit status {done.returncode}: {done.stderr.strip()}")
        answer: dict[str, Any] = json.loads(done.stdout)
        self.preemptions += int(answer.get("preemptions", 0))
        return answer

    def find(self, name: str) -> Allocator:
        """Finds an allocator; `missing` says why it cannot be measured."""
        allocator = Allocator(name)
        if name.startswith("ferrum"):
            allocator.library = self.library
        elif name.startswith("umf"):
            if self.umf is None:
                allocator.missing = "the Python package umf is not installed"
                return allocator
            allocator.library = self.umf[1]
        for preload in PRELOADS.get(name, ("",)):
            allocator.preload = preload
            try:
                allocator.version = self.measure(allocator, ["--workload", "describe"])["version"]
            except NotHereError as reason:
                allocator.missing = str(reason)
            else:
                allocator.missing = ""
                break
        if name.startswith("umf") and self.umf is not None and not allocator.missing:
            # The library tells the version of its interface only.
            allocator.version = self.umf[2]
        return allocator
