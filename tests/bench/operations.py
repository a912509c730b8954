"""Operations on tensors: products beside OpenBLAS, attention beside NumPy, and small operations.

The program tests/bench/compute and the scripts steps.py, layers.py and attention.py measure each
row in turns with its peer, and check each result in the same process. A row whose result was not
checked has no error, and the targets do not count it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import (
    CROSSING,
    ROOT,
    SOURCES,
    BenchError,
    Harness,
    compile_program,
    last_line,
    relative,
)
from measure import Result, nothing, result, summary

OPENBLAS = "OpenBLAS"
WHEEL = "scipy-openblas32"
LOOP, SUM = "plain loop", "vector sum"
NAIVE, TILED = "naive NumPy", "NumPy in tiles"
# The instruction sets, and the kernels of OpenBLAS that are of the same kind. "": its own choice.
SETS = {"avx512": "", "avx2": "Haswell"}
TITLES = {"avx512": "AVX-512", "avx2": "AVX2"}
SHAPES = ("1x1536x384", "1x4096x4096", "16x384x384", "16x1536x384", "128x384x384",
          "128x1536x384", "128x384x1536", "128x4096x4096", "1024x1536x384")  # fmt: skip
TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0")
TOKENS = (128, 256, 512, 1024, 2048, 4096)
# The exit status of a program for a row that the machine cannot measure.
CANNOT = 3
# How much of the memory of the matrices is enough to see that the row works.
QUICK_BYTES = 64 << 20
PACKAGE = ROOT / "bindings" / "python" / "src"
OP_RUN = "ferrum_op_run"
EXECUTOR_RUN = "ferrum_executor_run"
BARE_LAYER = "the bare function"
# The language and the engine of each layer, whose name is that of its value.
LAYERS = {("c", "cpu"): "layer_c", ("c", "onnx_runtime"): "layer_c_runtime",
          ("python", "cpu"): "layer_python",
          ("python", "onnx_runtime"): "layer_python_runtime"}  # fmt: skip
SEQUENCE_RUN = "ferrum_sequence_run"


def openblas() -> tuple[Path, str] | None:
    """The library of the wheel and its version, if it is installed."""
    try:
        wheel = importlib.metadata.distribution(WHEEL)
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in wheel.files or []:
        if file.name.startswith("libscipy_openblas"):
            return Path(str(wheel.locate_file(file))), wheel.version
    return None


class CannotError(Exception):
    """The machine cannot measure a row. The text states why."""


def answer_or_reason(command: list[str]) -> dict[str, Any]:
    """What a process printed. Raises CannotError if the machine cannot measure the row."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode == CANNOT:
        raise CannotError(last_line(done.stderr))
    if done.returncode != 0:
        text = shlex.join(command)
        raise BenchError(f"{text}: exit status {done.returncode}: {done.stderr.strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def quotients(one: list[float], two: list[float]) -> dict[str, float]:
    """The quotients of neighbouring measurements."""
    return summary([a / b for a, b in zip(one, two, strict=True)])


class Operations:
    """Measures in separate processes."""

    def __init__(self, harness: Harness, quick: bool, short: bool) -> None:
        self.harness = harness
        self.quick = quick
        self.program = harness.folder / "compute"
        self.peer = openblas()
        sources = [*(SOURCES / "compute").glob("*.c"), SOURCES / "process.c"]
        compile_program(sources, self.program, ["-O3", "-march=native"])
        self.rounds = 2 if quick else 11 if short else 41

    def run(self, progress: Callable[[str], None]) -> list[Result]:
        """All values."""
        results: list[Result] = []
        for what, measure in (
            ("products", self.products),
            ("two threads", self.threads),
            ("products at the rate of memory", self.stream),
            ("one call", self.call),
            ("steps", self.steps),
            ("layers", self.layers),
            ("attention", self.attention),
        ):
            progress(f"operations: {what}")
            results += measure()
        return results

    def command(self, row: str, *options: object) -> list[str]:
        """The command line of a row of the program."""
        command = [relative(self.program), "--row", row]
        command += ["--library", relative(self.harness.library), "--rounds", str(self.rounds)]
        return command + [str(option) for option in options]

    def script(self, name: str, *arguments: object) -> list[str]:
        """The command line of a script. NumPy computes on one thread, as ours does."""
        added = {
            "FERRUM_MEM_LIBRARY": relative(self.harness.library),
            "PYTHONPATH": relative(PACKAGE),
            "OPENBLAS_NUM_THREADS": "1",
        }
        words = [f"{key}={value}" for key, value in added.items()]
        path = relative(SOURCES / "python" / name)
        return ["env", *words, sys.executable, path, *map(str, arguments)]

    def answer(self, command: list[str]) -> dict[str, Any]:
        """What a process printed that ran in a calm moment."""
        return self.harness.calm.measure(lambda: answer_or_reason(command))

    def products(self) -> list[Result]:
        """GFLOP/s of products with packed weights."""
        found = []
        for instructions, core in SETS.items():
            names = [f"product_{instructions}_{shape}" for shape in SHAPES]
            if self.peer is None:
                found += [nothing(name, "GFLOP/s", f"{WHEEL} is not installed") for name in names]
                continue
            library, version = self.peer
            command = self.command("products", "--set", instructions, "--peer", library)
            command = ["env", *([f"OPENBLAS_CORETYPE={core}"] if core else []), *command]
            try:
                answer = self.answer(command)
            except CannotError as reason:
                found += [nothing(name, "GFLOP/s", str(reason)) for name in names]
                continue
            for entry in answer["shapes"]:
                m, n, k = map(int, entry["shape"].split("x"))
                ours, theirs = (
                    [2 * m * n * k / taken for taken in entry[key]]
                    for key in ("ours_ns", "peer_ns")
                )
                found.append(
                    result(
                        f"product_{instructions}_{entry['shape']}", "GFLOP/s",
                        summary(ours), summary(theirs),
                        ours_name=OP_RUN, peer_name=OPENBLAS,
                        peer_version=f"{version} {answer['core']}",
                        pairs=quotients(ours, theirs), error=entry["error"],
                        command=shlex.join(command),
                    )
                )  # fmt: skip
        return found

    def threads(self) -> list[Result]:
        """The speed of two threads over that of one, beside that of a plain loop."""
        if len(os.sched_getaffinity(0)) < 2:
            reason = "the process may use one processor"
            wide = [shape for shape in SHAPES if int(shape.split("x")[0]) >= 128]
            return [nothing(f"two_threads_product_{s}", "ratio", reason) for s in wide]
        command = self.command("threads")
        return [
            result(
                f"two_threads_product_{entry['shape']}", "ratio",
                summary(entry["ours"]), summary(entry["loop"]),
                ours_name=SEQUENCE_RUN, peer_name=LOOP, threads=2,
                pairs=quotients(entry["ours"], entry["loop"]), error=entry["error"],
                command=shlex.join(command),
            )
            for entry in self.answer(command)["shapes"]
        ]  # fmt: skip

    def stream(self) -> list[Result]:
        """GB/s of one row times matrices that no cache holds."""
        command = self.command("stream", *(["--bytes", QUICK_BYTES] if self.quick else []))
        command[command.index("--rounds") + 1] = str(min(self.rounds, 15) // 3 + 1)
        try:
            answer = self.answer(command)
        except CannotError as reason:
            return [nothing(f"stream_{name}", "GB/s", str(reason)) for name in TYPES]
        return [
            result(
                f"stream_{entry['type']}", "GB/s",
                summary(entry["ours_gb_s"]), summary(entry["sum_gb_s"]),
                ours_name=OP_RUN, peer_name=SUM, bytes=entry["bytes"],
                pairs=quotients(entry["ours_gb_s"], entry["sum_gb_s"]), error=entry["error"],
                command=shlex.join(command),
            )
            for entry in answer["types"]
        ]  # fmt: skip

    def call(self) -> list[Result]:
        """An addition of 16 elements through the ABI, beside a bare call of Go."""
        if self.harness.no_crossing:
            return [nothing("call_add", "ns", self.harness.no_crossing)]
        command = self.command("call", "--crossing", relative(self.harness.crossing))
        command[command.index("--rounds") + 1] = str(self.rounds * 10)
        answer = self.answer(command)
        return [
            result(
                "call_add", "ns", summary(answer["ours_ns"]), summary(answer["crossing_ns"]),
                ours_name=OP_RUN, peer_name=CROSSING,
                pairs=quotients(answer["ours_ns"], answer["crossing_ns"]), error=answer["error"],
                command=shlex.join(command),
            )
        ]  # fmt: skip

    def steps(self) -> list[Result]:
        """Steps of bound sequences, and what warm runs take from the device."""
        command = self.script("steps.py", self.rounds if self.quick else self.rounds * 10)
        answer = self.answer(command)
        text = shlex.join(command)
        found = [
            result(
                f"step_{entry['name']}", "ns", summary(entry["ns"]), None,
                ours_name=SEQUENCE_RUN, error=entry["error"], type=entry["type"],
                command=text,
            )
            for entry in answer["steps"]
        ]  # fmt: skip
        return [
            *found,
            result(
                "warm_bytes", "B", summary([float(answer["warm_bytes"])]), None,
                ours_name=OP_RUN, runs=answer["warm_runs"], segments=answer["warm_segments"],
                error=max(entry["error"] for entry in answer["steps"]), command=text,
            ),
        ]  # fmt: skip

    def layers(self) -> list[Result]:
        """The call of a layer of the program in a model, beside the bare function in C."""
        library = self.harness.folder / "layer.so"
        compile_program([SOURCES / "layers" / "layer.c"], library, ["-shared", "-fPIC"])
        command = self.script("layers.py", relative(library), self.rounds)
        answer = self.answer(command)
        found = {(entry["language"], entry["engine"]): entry for entry in answer["layers"]}
        results = []
        for key, name in LAYERS.items():
            if key not in found:
                results.append(nothing(name, "ns", "onnxruntime is not installed"))
                continue
            entry = found[key]
            is_c = key[0] == "c"
            results.append(
                result(
                    name, "ns", summary(entry["ns"]),
                    summary(answer["bare_ns"]) if is_c else None, ours_name=EXECUTOR_RUN,
                    peer_name=BARE_LAYER if is_c else None, error=entry["error"],
                    command=shlex.join(command),
                )
            )  # fmt: skip
        return results

    def attention(self) -> list[Result]:
        """Attention of sequences of several lengths, and the memory that it needs."""
        found = []
        for tokens in TOKENS[:2] if self.quick else TOKENS:
            rounds = self.rounds if tokens <= 512 else max(self.rounds * 512 // tokens, 3)
            command = self.script("attention.py", tokens, rounds)
            answer = self.answer(command)
            common = {
                "ours_name": OP_RUN, "error": answer["error"], "command": shlex.join(command)
            }  # fmt: skip
            for peer, key in ((NAIVE, "naive_ms"), (TILED, "tiled_ms")):
                found.append(
                    result(
                        f"attention_{tokens}", "ms", summary(answer["ours_ms"]),
                        summary(answer[key]), peer_name=peer, peer_version=answer["numpy"],
                        pairs=quotients(answer[key], answer["ours_ms"]), **common,
                    )
                )  # fmt: skip
            memory = summary([answer["memory_bytes"] / 1e6])
            found.append(result(f"attention_{tokens}_memory", "MB", memory, None, **common))
        return found
