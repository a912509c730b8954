"""Measures causal attention with 12 heads of 64 on one thread, in turns with NumPy.

attention.py TOKENS ROUNDS

NumPy computes it in two ways: with all scores at once, and in tiles of 128 rows, in which the keys
that no row sees are left out. Ours is compared with tiles in float64. The memory is what the first
run needs besides inputs and outputs: the growth of the resident memory at its peak, which the
system counts in groups of pages, or the workspace if that is larger.

Prints one JSON object.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import numpy as np

HEADS, DEPTH, TILE = 12, 64, 128
ERROR_MOST = 1e-5
Array = Any


def shares(scores: Array) -> Array:
    """Softmax over the last dimension, in place."""
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores


def naive(q: Array, k: Array, v: Array, hidden: Array) -> Array:
    """Attention with all scores at once."""
    scores = q @ k.swapaxes(1, 2)
    scores *= q.dtype.type(1 / math.sqrt(DEPTH))
    scores[:, hidden] = -np.inf
    return shares(scores) @ v


def tiled(q: Array, k: Array, v: Array, hidden: Array) -> Array:
    """Attention in tiles of rows. Keys behind the last row of a tile are left out."""
    result = np.empty_like(q)
    scale = q.dtype.type(1 / math.sqrt(DEPTH))
    for first in range(0, q.shape[1], TILE):
        end = min(first + TILE, q.shape[1])
        scores = q[:, first:end] @ k[:, :end].swapaxes(1, 2)
        scores *= scale
        scores[:, :, first:][:, hidden[first:end, first:end]] = -np.inf
        result[:, first:end] = shares(scores) @ v[:, :end]
    return result


def resident_bytes(field: str) -> int:
    """The resident memory of this process now (VmRSS), or its peak (VmHWM)."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"{field}:\s+(\d+) kB", text)
    return int(found.group(1)) * 1024 if found else 0


def growth_of(call: Callable[[], object]) -> int:
    """How many bytes more than before are resident at the peak of a call."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident_bytes("VmRSS")
    call()
    return resident_bytes("VmHWM") - before


def taken_ms(call: Callable[[], object]) -> float:
    """The time of a call."""
    began = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - began) / 1e6


def main() -> None:
    """Runs the command line."""
    tokens, rounds = map(int, sys.argv[1:])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((HEADS, tokens, DEPTH)).astype("float32") for _ in range(3))
    y = np.ones_like(q)
    # The pages of the code are not memory of the operation.
    with fm.Compute("cpu:0", threads=1) as other:
        other.op("Attention", is_causal=1)(*(each[None, :, :TILE] for each in (q, k, v))).close()
    compute = fm.Compute("cpu:0", threads=1)
    attention = compute.op("Attention", is_causal=1)
    *inputs, output = (
        fm.Tensor.from_numpy(each[None], device=compute.device) for each in (q, k, v, y)
    )

    def ours() -> None:
        attention.run(inputs, [output])

    memory = max(growth_of(ours), attention.infer(inputs).workspace_bytes)
    hidden = np.triu(np.ones((tokens, tokens), bool), 1)
    calls: dict[str, Callable[[], object]] = {
        "ours": ours,
        "naive": lambda: naive(q, k, v, hidden),
        "tiled": lambda: tiled(q, k, v, hidden),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    calls["tiled"]()
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(taken_ms(call))
    wide = [each.astype("float64") for each in (q, k, v)]
    expected = tiled(wide[0], wide[1], wide[2], hidden)
    largest = np.abs(expected).max()
    error = float(np.abs(y - expected).max() / largest)
    if not error <= ERROR_MOST:
        raise SystemExit(f"attention of {tokens} tokens is wrong by {error}")
    if np.abs(naive(q, k, v, hidden) - expected).max() > 1e-4 * largest:
        raise SystemExit("NumPy computed another attention")
    answer = {f"{name}_ms": values for name, values in times.items()}
    print(json.dumps({**answer, "memory_bytes": memory, "error": error, "numpy": np.__version__}))
    sys.stdout.flush()
    os._exit(0)


main()
