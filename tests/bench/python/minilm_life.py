"""Measures the build, the memory, the sleep and the wake of an executor of MiniLM.

minilm_life.py ROUNDS SHAPE...

- Memory: of each shape, the arena of ours, and the peak of onnxruntime: how far two runs raise the
  resident memory of a child process that has run a tiny shape before. A child has one graph. There
  onnxruntime has no memory arena, and each large block is a mapping of its own, which ends when the
  block is freed. So the peak is that of the live blocks; an arena would add free memory.
- Build: from the start of the call to the built model, in turns with sessions that read their graph
  from a file. All files are in the page cache.
- Wake: in turns with reads of the weights' file into new memory.

All results are compared with NumPy in float64 in this process or its children, and the published
cosines are checked. Prints one JSON object.
"""

from __future__ import annotations

import ctypes
import functools
import json
import mmap
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from minilm_executor import Executor
from minilm_oracle import Model, checked_cosines, error_of, hidden_states
from minilm_peer import GRAPHS, Peer

Array = Any
M_MMAP_THRESHOLD = -3
rng = np.random.default_rng(2)


def resident(field: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split(field + ":")[1].split()[0]) * 1024


def growth(graph: str, ids: Array, mask: Array, wanted: Array) -> int:
    """How far runs of a new session raise the resident memory of this process."""
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 32768)
    peer = Peer(graph, 1, False, keeps_memory=False)
    peer(ids[:1, :2], mask[:1, :2])
    libc.malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM begins again
    before = resident("VmRSS")
    for _ in range(2):
        states = peer(ids, mask)
    found = resident("VmHWM") - before
    error_of("onnxruntime", states, wanted)
    return found


def in_child(call: Callable[[], int]) -> int:
    """The result of a call in a child process."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writes, str(call()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writes)
    with os.fdopen(reads) as answer:
        text = answer.read()
    if os.waitpid(child, 0)[1] or not text:
        raise SystemExit("a child process with onnxruntime has failed")
    return int(text)


def inputs(model: Model, text: str) -> tuple[Array, Array, Array]:
    """Ids, a full mask, and the expected hidden states."""
    shape = tuple(map(int, text.split("x")))
    ids, mask = rng.integers(0, model.words, shape), np.ones(shape, "int64")
    return ids, mask, hidden_states(model, ids, mask)


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result of a call, and its milliseconds."""
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    made = call()
    return made, {
        "wall": (time.perf_counter_ns() - wall) / 1e6,
        "cpu": (time.process_time_ns() - cpu) / 1e6,
    }


def builds(model: Model, graphs: dict[str, str], rounds: int) -> dict[str, Any]:
    """Milliseconds of builds, in turns, and the largest error. A first round is not reported."""
    ids, mask, wanted = inputs(model, "1x16")

    def session(graph: str) -> Callable[[], Peer]:
        return lambda: Peer(graph, 0, True)

    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: Executor(model.folder), **{name: session(graphs[name]) for name in graphs}
    }  # fmt: skip
    found: dict[str, Any] = {what: {name: [] for name in calls} for what in ("wall", "cpu")}
    error = 0.0
    for turn in range(rounds + 1):
        for name, call in calls.items():
            made, times = timed(call)
            difference = error_of(f"{name}, built", made(ids, mask), wanted)
            if name == "ours":
                error = max(error, difference)
                made.close()
            del made
            for what in times:
                found[what][name] += [times[what]] if turn else []
    return {**found, "error": error}


def read(file: Path) -> None:
    """Reads a file into new memory, with huge pages, as ours has."""
    fd = os.open(file, os.O_RDONLY)
    size = os.fstat(fd).st_size
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        room.madvise(mmap.MADV_HUGEPAGE)
        done = 0
        while done < size:
            done += os.preadv(fd, [memoryview(room)[done:]], done)
    os.close(fd)


def wakes(model: Model, rounds: int) -> dict[str, Any]:
    """Milliseconds of wakes and of reads, in turns, and the memory of the sleeping model."""
    ids, mask, wanted = inputs(model, "1x16")
    ours = Executor(model.folder)
    states = ours(ids, mask).copy()
    error = error_of("ours", states, wanted)
    checked_cosines(model, ours)
    held = 0
    times: dict[str, list[float]] = {"wake": [], "read": []}
    for turn in range(rounds + 1):
        ours.sleep()
        held = max(held, ours.info()["held_bytes"])
        _, wake = timed(ours.wake)
        _, other = timed(lambda: read(model.folder / "model.safetensors"))
        if ours(ids, mask).tobytes() != states.tobytes():
            raise SystemExit("the hidden states after a wake have other bits")
        if turn:
            times["wake"].append(wake["wall"])
            times["read"].append(other["wall"])
    about = ours.info()
    return {
        **times, "error": error, "asleep_bytes": held, "awake_bytes": about["held_bytes"],
        "model_bytes": about["parameter_bytes"],
    }  # fmt: skip


def memory(model: Model, graphs: dict[str, str], texts: list[str]) -> list[dict[str, Any]]:
    """The peaks of onnxruntime. The library is not loaded yet, so that children can be forked."""
    found = []
    for text in texts:
        given = inputs(model, text)
        peaks = {
            name: in_child(functools.partial(growth, path, *given)) for name, path in graphs.items()
        }
        found.append({"shape": text, "peaks": peaks, "given": given})
    return found


def main() -> dict[str, Any]:
    """All values."""
    rounds, model = int(sys.argv[1]), Model()
    with tempfile.TemporaryDirectory() as folder:
        graphs = {}
        for name, make in GRAPHS.items():
            graphs[name] = f"{folder}/{name}.onnx"
            Path(graphs[name]).write_bytes(make(model))
        shapes = memory(model, graphs, sys.argv[2:])
        ours = Executor(model.folder, 1)
        for entry in shapes:
            ids, mask, wanted = entry.pop("given")
            entry["error"] = error_of(f"ours {entry['shape']}", ours(ids, mask), wanted)
            entry["arena_bytes"] = ours.arena_bytes(*ids.shape)
        ours.close()
        return {
            "peer": Peer.version, "memory": shapes, "build": builds(model, graphs, rounds),
            "wake": wakes(model, rounds),
        }  # fmt: skip


print(json.dumps(main()))
sys.stdout.flush()
os._exit(0)
