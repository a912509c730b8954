"""Measures MiniLM in ONNX Runtime as an engine, in turns with bare ONNX Runtime.

minilm_runtime.py ROUNDS SHAPE...

Both have the same library, the same file of ONNX, one thread that does not spin, no prepacking and
the same level of optimisation. Both are called through their C interfaces, with arguments that are
made once. Bare ONNX Runtime runs once with its memory arena and once without; the faster one
counts. Times of runs are CPU times of one thread.

- Memory: how much anonymous memory of the process each of some further models takes, without what
  the pool gave, whose memory is not anonymous here. A single model has what the runtimes of the
  languages take or give back at the same time.
- Session: the time in which ONNX Runtime opens a session over weights that are in the pool.
- Asleep: the memory of the process that a model adds, asleep in a file and awake.
- Wake: in turns with copies of as many bytes into new memory with huge pages, as the pool has.
  The source of the copy has been written: memory that was only reserved is one page of zeros,
  which is read from the cache.

The hidden states of both engines of the library and of bare ONNX Runtime are compared. Prints one
JSON object.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import numpy as np
from bare_runtime import Runtime, Session
from ferrum_mem import _abi, _native
from minilm_oracle import Model, error_of, hidden_states
from minilm_peer import default_graph

Array = Any
NAME = "last_hidden_state"
# The number of models that are there at once, when their memory is measured.
LIVE = 4
rng = np.random.default_rng(3)


def build(path: str, pool: fm.ElasticPool, name: str, engine: fm.Compute) -> fm.Executor:
    """A model in a pool."""
    return fm.models.build(path, pool=pool, model_id=name, compute=engine)


def inputs(model: Model, text: str) -> dict[str, Array]:
    """Inputs of a shape, with a full mask."""
    shape = tuple(map(int, text.split("x")))
    ids = rng.integers(0, model.words, shape)
    return {
        "input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids),
    }  # fmt: skip


def runner(executor: fm.Executor, given: dict[str, Array], out: Array) -> Callable[[], object]:
    """Runs of an executor with tensors over arrays."""
    tensors = {name: fm.Tensor.from_numpy(each) for name, each in {**given, NAME: out}.items()}
    pairs = [
        _abi.ferrum_named_tensor(name.encode(), each._handle) for name, each in tensors.items()
    ]
    count, function = len(given), _native.functions().ferrum_executor_run
    inputs = (_abi.ferrum_named_tensor * count)(*pairs[:-1])
    outputs = (_abi.ferrum_named_tensor * 1)(pairs[-1])
    handle, queue = executor._handle, _abi.ferrum_stream()

    def run(_kept: object = tensors) -> None:
        _native.check(function(handle, inputs, count, outputs, 1, queue, _abi.FERRUM_WAIT_FOREVER))

    return run


def alternated(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of this thread, in turns. A first round is not reported."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            began = time.thread_time_ns()
            call()
            if turn:
                found[name].append((time.thread_time_ns() - began) / 1e6)
    return found


def shapes(model: Model, path: str, texts: list[str], rounds: int) -> list[dict[str, Any]]:
    """The times and the errors of each shape."""
    runtime, found = Runtime(), []
    peers = {name: Session(runtime, path, name == "arena") for name in ("arena", "plain")}
    theirs = fm.models.build(path, engine="onnx_runtime", threads=1)
    ours = fm.models.build(model.folder, threads=1)
    for text in texts:
        given = inputs(model, text)
        size = given["input_ids"].size
        out, other = (np.empty((*given["input_ids"].shape, 384), "float32") for _ in range(2))
        calls = {"ours": runner(theirs, given, out)}
        for name, peer in peers.items():
            peer.bind(given, np.empty_like(out))
            calls[name] = peer
        turns = max(min(rounds, rounds * 1024 // size), min(rounds, 3))
        times = alternated(calls, turns)
        more = dict(given)
        del more["token_type_ids"]
        runner(ours, more, other)()
        wanted = hidden_states(model, given["input_ids"], given["attention_mask"])
        for name, peer in peers.items():
            error_of(f"bare, {name}, {text}", peer.out, wanted)
        found.append({
            "shape": text, "cpu_ms": times, "error": error_of(f"session {text}", out, wanted),
            "difference": float(np.abs(out - other).max()),
        })  # fmt: skip
    theirs.close()
    ours.close()
    return found


def memory_of(*fields: str) -> int:
    """Bytes of the process, by the names of the system."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines[1:]}
    return sum(sizes[field] for field in fields)


def copy(source: bytes) -> None:
    """Copies bytes into new memory with huge pages."""
    with mmap.mmap(-1, len(source), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        room.madvise(mmap.MADV_HUGEPAGE)
        room[:] = source


def wakes(model: Model, path: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of wakes and of copies."""
    given, out = inputs(model, "1x16"), np.empty((1, 16, 384), "float32")
    times: dict[str, list[float]] = {"wake": [], "copy": []}
    with fm.models.build(path, engine="onnx_runtime", threads=1) as executor:
        call = runner(executor, given, out)
        call()
        states, source = out.copy(), rng.bytes(executor.info()["parameter_bytes"])
        for turn in range(rounds + 1):
            executor.sleep()
            began = time.perf_counter_ns()
            executor.wake()
            woken = time.perf_counter_ns()
            copy(source)
            copied = time.perf_counter_ns()
            out[:] = 0
            call()
            if out.tobytes() != states.tobytes():
                raise SystemExit("the hidden states after a wake have other bits")
            if turn:
                times["wake"].append((woken - began) / 1e6)
                times["copy"].append((copied - woken) / 1e6)
    return times


def life(model: Model, path: str, rounds: int) -> dict[str, Any]:
    """Memory and sessions of a model, after another one in the same pool."""
    given = inputs(model, "1x16")
    out = np.empty((1, 16, 384), "float32")
    backing = fm.ElasticPoolConfig(limit_bytes=1 << 30, backing=fm.Backing.MOVABLE)
    sessions: list[float] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        fm.Compute("cpu:0", backend="onnx_runtime", threads=1) as engine,
        fm.ElasticPool("cpu:0", backing) as pool,
        build(path, pool, "first", engine) as first,
    ):
        runner(first, given, out)()
        first.close()
        before = memory_of("Rss")
        second = build(path, pool, "second", engine)
        call = runner(second, given, out)
        call()
        size = second.info()["parameter_bytes"]
        awake = memory_of("Rss") - before
        second.sleep(backing=fm.SleepBacking.FILE, directory=folder)
        asleep = memory_of("Rss") - before
        second.close()
        for turn in range(rounds + 1):
            with build(path, pool, "again", engine) as again:
                if turn:
                    sessions.append(again.report()["session_seconds"] * 1e3)
        anonymous = memory_of("Anonymous")
        models = [build(path, pool, f"live {each}", engine) for each in range(LIVE)]
        for each in models:
            runner(each, given, out)()
        taken = (memory_of("Anonymous") - anonymous) / LIVE
        for each in models:
            each.close()
    return {
        "session": sessions, "anonymous_bytes": taken, "awake_bytes": awake,
        "asleep_bytes": max(asleep, 0),
        "model_bytes": size,
    }  # fmt: skip


def main() -> dict[str, Any]:
    """All values."""
    rounds, model = int(sys.argv[1]), Model()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/minilm.onnx"
        Path(path).write_bytes(default_graph(model))
        about = {**life(model, path, rounds), **wakes(model, path, rounds)}
        return {
            "peer": Runtime().version, "life": about,
            "shapes": shapes(model, path, sys.argv[2:], rounds),
        }  # fmt: skip


print(json.dumps(main()))
sys.stdout.flush()
os._exit(0)
