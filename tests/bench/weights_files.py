"""Measures how fast files of weights are loaded, mapped and described.

The program tests/bench/weights measures our loads by turns with reads of the same bytes, and the
program tests/bench/files our maps and metadata through the C ABI. The package safetensors and the
library of runai-model-streamer are measured in processes of their own.
"""

from __future__ import annotations

import json
import os
import shlex
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elastic import answer_of
from harness import ROOT, SOURCES, BenchError, Harness, built, compile_program, relative
from measure import Result, nothing, result, summary

MIB = 1 << 20
GIB = 1 << 30
PACKAGE = "safetensors"
STREAMER = "runai-model-streamer"
# The scripts that measure the packages.
SCRIPTS = {PACKAGE: "safetensors_peer.py", STREAMER: "streamer_peer.py"}
PREAD, DIRECT = "pread", "O_DIRECT"
SIMULATED = ROOT / "build/test/simcuda/12090/libcuda.so.1"
TENSORS_MAPPED = 1000
TENSORS_DESCRIBED = 10_000


@dataclass(frozen=True)
class Ours:
    """Our times in milliseconds, and the command that measured them."""

    name: str
    times: list[float]
    command: list[str]


class WeightsFiles:
    """Measures with files of its own in the folder of the results."""

    def __init__(self, harness: Harness, quick: bool) -> None:
        self.harness = harness
        self.quick = quick
        self.program = harness.folder.absolute() / "weights"
        go = [os.environ.get("GO", "go"), "build", "-trimpath", "-o", str(self.program)]
        self.missing = built([*go, "./tests/bench/weights"], ROOT, self.program)
        self.files = harness.folder.absolute() / "files"
        compile_program([SOURCES / "files" / "files.c", SOURCES / "process.c"], self.files)
        self.threads = min(os.cpu_count() or 1, 2)
        self.rounds = 2 if quick else 15

    def run(self, progress: Callable[[str], None]) -> list[Result]:
        """All values."""
        progress("weights")
        if self.missing:
            names = ("resident", "warm", "cold", "map", "map_whole", "metadata", "staging")
            return [nothing(f"weights_{name}", "ms", self.missing) for name in names]
        results = []
        with self.file(16 if self.quick else 128, MIB if self.quick else 4 * MIB) as path:
            results += self.loads(path)
            results.append(self.staging(path))
        with self.file(16 if self.quick else 256, MIB if self.quick else 16 * MIB) as path:
            results += self.cold(path)
        size = 64 * GIB // TENSORS_MAPPED // 64 * 64
        with self.file(TENSORS_MAPPED, size, is_sparse=True) as path:
            results += self.map(path)
        with self.file(TENSORS_DESCRIBED, 64) as path:
            results.append(self.metadata(path))
        return results

    @contextmanager
    def file(self, tensors: int, each: int, is_sparse: bool = False) -> Iterator[Path]:
        """A file of safetensors while it is needed."""
        path = self.harness.folder / "weights.safetensors"
        try:
            write(path, tensors, each, is_sparse)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def command(self, what: str, path: Path, *rest: object) -> list[str]:
        """The command line of our program for loads."""
        return [relative(self.program), what, relative(path), *map(str, rest)]

    def ours(self, command: list[str]) -> dict[str, Any]:
        """What one of our programs printed that ran in a calm moment."""
        return self.harness.calm.measure(lambda: answer_of(command))

    def abi_command(self, row: str, path: Path, *options: object) -> list[str]:
        """The command line of our program that calls the C ABI."""
        command = [relative(self.files), "--library", relative(self.harness.library)]
        return [*command, "--row", row, *map(str, options), relative(path)]

    def package(self, name: str, what: str, path: Path, *rest: object) -> dict[str, Any]:
        """What a package takes for the same."""
        program = SOURCES / "python" / SCRIPTS[name]
        command = [sys.executable, str(program), what, str(path), *map(str, rest)]
        return self.harness.calm.measure(lambda: answer_of(command))

    def entry(self, ours: Ours, peer: list[float] | None = None, **more: Any) -> Result:
        """A result in milliseconds. The times of a peer that was measured in turns with ours are
        compared by pairs as well.
        """
        theirs = summary(peer) if peer else None
        more |= {"threads": self.threads, "command": shlex.join(ours.command)}
        return result(ours.name, "ms", summary(ours.times), theirs, **more)

    def against(
        self, package: str, ours: Ours, what: str, path: Path, *rest: object, runs: int = 1
    ) -> Result:
        """A result beside a package, or the reason why the package is missing."""
        try:
            answers = [self.package(package, what, path, *rest) for _ in range(runs)]
        except BenchError as reason:
            last = str(reason).rpartition(": ")[2]
            return self.entry(ours, peer_name=package, missing=last)
        times = [time for answer in answers for time in answer["ms"]]
        return self.entry(ours, times, peer_name=package, peer_version=answers[0]["version"])

    def loads(self, path: Path) -> list[Result]:
        """Loads from the page cache into new memory, and into memory that was written before."""
        found = []
        for what in ("resident", "warm"):
            command = self.command(what, path, self.threads, self.rounds)
            times, peer = milliseconds(self.ours(command))
            ours = Ours(f"weights_{what}", times, command)
            found.append(self.entry(ours, peer, peer_name=PREAD, pairs=rates(ours, peer)))
            if what == "resident":
                found += [self.against(name, ours, "load", path, self.rounds) for name in SCRIPTS]
        return found

    def cold(self, path: Path) -> list[Result]:
        """Loads what the page cache does not have."""
        rounds = 2 if self.quick else 10
        command = self.command("cold", path, self.threads, rounds)
        answer = self.ours(command)
        if answer["residency"] > 0:
            reason = f"{answer['residency']:.1%} of the file stayed in the page cache"
            return [nothing("weights_cold", "ms", reason)]
        times, peer = milliseconds(answer)
        ours = Ours("weights_cold", times, command)
        threads = answer["peer_threads"]
        pairs = rates(ours, peer)
        direct = self.entry(ours, peer, peer_name=DIRECT, peer_threads=threads, pairs=pairs)
        return [direct, self.against(STREAMER, ours, "cold", path, rounds)]

    def map(self, path: Path) -> list[Result]:
        """Maps all tensors of an open file and reads two bytes; the same with the open."""
        command = self.abi_command("map", path, "--repetitions", self.rounds)
        answer = self.ours(command)
        rows = {"weights_map": "ms", "weights_map_whole": "whole_ms"}
        return [self.entry(Ours(name, answer[key], command)) for name, key in rows.items()]

    def metadata(self, path: Path) -> Result:
        """Reads the header of many tensors, not in the page cache, in new processes."""
        command = self.abi_command("describe", path)
        times = [self.ours(command)["ms"][0] for _ in range(self.rounds)]
        ours = Ours("weights_metadata", times, command)
        return self.against(PACKAGE, ours, "describe", path, runs=self.rounds)

    def staging(self, path: Path) -> Result:
        """The most memory of a load onto a simulated device, less the tensors themselves."""
        name = "weights_staging"
        if not SIMULATED.exists():
            return nothing(name, "MB", f"{relative(SIMULATED)} has not been built")
        command = ["build/bin/ferrum-mem", "weights", "load", str(path), "--device", "cuda:0"]
        environment = {**os.environ, "FERRUM_CUDA_LIBRARY": str(SIMULATED)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise BenchError(f"{shlex.join(command)}: exit status {process.returncode}")
        above = (usage.ru_maxrss * 1024 - path.stat().st_size) / 1e6
        return result(name, "MB", summary([above]), None, command=shlex.join(command))


def milliseconds(answer: dict[str, Any]) -> tuple[list[float], list[float]]:
    """The times of both, from their rates."""
    size = answer["bytes"] * 1000
    return [size / rate for rate in answer["ours"]], [size / rate for rate in answer["peer"]]


def rates(ours: Ours, peer: list[float]) -> dict[str, float]:
    """Our rate over that of a peer, for each pair of neighbouring measurements."""
    return summary([theirs / mine for mine, theirs in zip(ours.times, peer, strict=True)])


def write(path: Path, tensors: int, each: int, is_sparse: bool) -> None:
    """Writes a file of safetensors: random bytes, or a hole."""
    entries = {
        f"model.layers.{number}.mlp.weight": {
            "dtype": "U8", "shape": [each], "data_offsets": [number * each, (number + 1) * each],
        }
        for number in range(tensors)
    }  # fmt: skip
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        if is_sparse:
            file.truncate(8 + len(header) + tensors * each)
            return
        part = os.urandom(min(each, MIB))
        for _ in range(tensors * each // len(part)):
            file.write(part)
