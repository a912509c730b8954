"""Measures an executor of MiniLM, in turns with onnxruntime.

minilm.py ROUNDS SHAPE...

A shape is BATCHxTOKENS. One with many tokens has fewer rounds, but at least 3. Each is measured
with a full mask, and with one that hides the second half of each sequence. The CPU time is that of
one thread, the wall time that of two. Both programs are compared with NumPy in float64 in this
process; a hidden state that differs by more than 1e-5 ends the program, and so does a published
cosine that differs by more than 2e-6.

Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from minilm_executor import Executor
from minilm_oracle import Model, checked_cosines, error_of, hidden_states
from minilm_peer import GRAPHS, Peer

Array = Any
rng = np.random.default_rng(1)


# The threads of onnxruntime that spin use a processor for about 35 ms after their run. Without
# this pause they would slow down the call that follows.
PAUSE_SECONDS = 0.1


def alternated(
    calls: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], int]
) -> dict[str, list[float]]:
    """Milliseconds of each call, in turns. A first round is not reported."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            time.sleep(PAUSE_SECONDS)
            began = clock()
            call()
            found[name].append((clock() - began) / 1e6)
    return {name: times[1:] for name, times in found.items()}


def warm_allocations(ours: Executor, ids: Array, mask: Array) -> int:
    """How many blocks and segments warm runs have taken."""
    before = ours.taken()
    for _ in range(10):
        ours(ids, mask)
    return ours.taken() - before


def measure(model: Model, text: str, rounds: int) -> list[dict[str, Any]]:
    """One shape, with both masks."""
    batch, tokens = map(int, text.split("x"))
    rounds = max(min(rounds, rounds * 1024 // (batch * tokens)), min(rounds, 3))
    ids = rng.integers(0, model.words, (batch, tokens))
    full = np.ones((batch, tokens), "int64")
    half = (np.arange(tokens) < max(tokens // 2, 1)) * full
    before = {count: each.compute.statistics().requested.current for count, each in OURS.items()}
    answer = []
    for name, mask in (("full", full), ("half", half)):
        wanted = hidden_states(model, ids, mask)
        error = max(
            error_of(f"ours {text} {name}", each(ids, mask), wanted) for each in OURS.values()
        )
        theirs = max(
            error_of(f"onnxruntime {text} {name}", each(ids, mask), wanted)
            for each in PEERS.values()
        )

        def of(call: Callable[[Array, Array], Array], mask: Array = mask) -> Callable[[], object]:
            return lambda: call(ids, mask)

        alone = {
            "ours": of(OURS[1]),
            **{graph: of(PEERS[graph, 1, False]) for graph in ("default", "fused")},
        }
        both = {
            "ours": of(OURS[2]),
            **{"/".join(map(str, key)): of(each) for key, each in PEERS.items()},
        }
        answer.append({
            "shape": text, "mask": name, "error": error, "peer_error": theirs,
            "cpu_ms": alternated(alone, rounds, time.process_time_ns),
            "wall_ms": alternated(both, max(rounds // 2, 1), time.perf_counter_ns),
            "activation_bytes": OURS[1].arena_bytes(batch, tokens),
            "workspace_bytes": max(
                each.compute.statistics().requested.current - before[count]
                for count, each in OURS.items()
            ),
            "warm_allocations": sum(warm_allocations(each, ids, mask) for each in OURS.values()),
        })  # fmt: skip
    return answer


MODEL = Model()
OURS = {count: Executor(MODEL.folder, count) for count in (1, 2)}
PEERS = {
    (graph, threads, spins): Peer(GRAPHS[graph](MODEL), threads, spins)
    for graph in ("default", "fused")
    for threads, spins in ((1, False), (2, False), (2, True))
}
GIVEN = {
    "cosines": checked_cosines(MODEL, OURS[1]),
    "peer": Peer.version,
    "shapes": [entry for text in sys.argv[2:] for entry in measure(MODEL, text, int(sys.argv[1]))],
}
print(json.dumps(GIVEN))
sys.stdout.flush()
os._exit(0)
