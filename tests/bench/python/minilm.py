"""Measures MiniLM as one bound sequence of operations, in turns with onnxruntime.

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

import ferrum_mem as fm
import numpy as np
from minilm_oracle import COSINES, SENTENCES, Model, cosines, hidden_states
from minilm_peer import Peer

ERROR_MOST, COSINE_MOST = 1e-5, 2e-6
Array = Any
rng = np.random.default_rng(1)


class Weights:
    """The weights of the model, packed once."""

    def __init__(self, compute: fm.Compute, model: Model) -> None:
        self.compute, self.model = compute, model
        self.linear = compute.op("ferrum.linear")
        self.gelu = compute.op("ferrum.linear", activation="gelu")
        self.norm = compute.op("LayerNormalization", epsilon=model.epsilon)
        self.attention = compute.op("ferrum.self_attention", num_heads=model.heads)
        self.layers = [
            [self.packed(*part) for part in (
                model.merged(at), model.layer(at, "attention.output.dense"),
                model.layer(at, "intermediate.dense"), model.layer(at, "output.dense"),
            )]
            for at in range(model.layers)
        ]  # fmt: skip

    def tensor(self, value: Array) -> fm.Tensor:
        """A tensor over an array."""
        return fm.Tensor.from_numpy(value, device=self.compute.device)

    def packed(self, weight: Array, bias: Array) -> list[fm.Tensor]:
        """A packed weight, and its bias."""
        return [self.linear.pack(self.tensor(weight)), self.tensor(bias)]


class Ours:
    """The sequence of one shape. The arena has the inputs of a layer, and behind them its
    intermediate values.
    """

    def __init__(self, weights: Weights, batch: int, tokens: int) -> None:
        self.weights = weights
        model = weights.model
        self.ids = np.zeros((batch, tokens), "int64")
        self.types = np.zeros((batch, tokens), "int64")
        self.mask = np.ones((batch, 1, 1, tokens), "int64")
        hidden, rows = model.hidden, batch * tokens
        floats = rows * (hidden + max(4 * hidden, model.wide))
        self.arena = np.zeros(floats * 4 + rows, "uint8")
        self.activation_bytes = self.arena.nbytes
        self.sequence = weights.compute.sequence()
        self.visible = self.place(4 * floats, "bool", batch, 1, 1, tokens)
        shape = batch, tokens
        self.x = self.place(0, "float32", *shape, hidden)
        behind = 4 * rows * hidden
        self.qkv = self.place(behind, "float32", *shape, 3 * hidden)
        self.seen = self.place(behind + 3 * behind, "float32", *shape, hidden)
        self.wide = self.place(behind, "float32", *shape, model.wide)
        self.embed(tokens)
        for at in range(model.layers):
            self.layer(at)
        before = weights.compute.statistics().requested.current
        self.sequence.run()
        self.workspace_bytes = weights.compute.statistics().requested.current - before

    def place(self, at: int, kind: str, *shape: int) -> fm.Tensor:
        """A part of the arena."""
        count = int(np.prod(shape)) * np.dtype(kind).itemsize
        return self.weights.tensor(self.arena[at : at + count].view(kind).reshape(shape))

    def add(self, op: fm.Op, inputs: list[Any], output: fm.Tensor) -> None:
        """Adds an operation."""
        self.sequence.add(op, inputs, [output])

    def embed(self, tokens: int) -> None:
        """Adds the embeddings."""
        w, model = self.weights, self.weights.model
        gather, add = w.compute.op("Gather"), w.compute.op("Add")
        self.add(w.compute.op("Cast", to="bool"), [w.tensor(self.mask)], self.visible)
        self.add(gather, [model.of("word_embeddings.weight"), w.tensor(self.ids)], self.x)
        self.add(
            gather, [model.of("token_type_embeddings.weight"), w.tensor(self.types)], self.seen
        )
        self.add(add, [self.x, self.seen], self.x)
        self.add(add, [self.x, model.of("position_embeddings.weight")[:tokens]], self.x)
        self.add(w.norm, [self.x, model.of("LayerNorm.weight"), model.of("LayerNorm.bias")], self.x)

    def layer(self, at: int) -> None:
        """Adds a layer, with its residuals in place."""
        w, model = self.weights, self.weights.model
        merged, out, wide, narrow = w.layers[at]
        self.add(w.linear, [self.x, *merged], self.qkv)
        self.add(w.attention, [self.qkv, self.visible], self.seen)
        self.add(w.linear, [self.seen, *out, self.x], self.x)
        self.add(w.norm, [self.x, *model.layer(at, "attention.output.LayerNorm")], self.x)
        self.add(w.gelu, [self.x, *wide], self.wide)
        self.add(w.linear, [self.wide, *narrow, self.x], self.x)
        self.add(w.norm, [self.x, *model.layer(at, "output.LayerNorm")], self.x)

    def __call__(self, ids: Array, mask: Array) -> Array:
        """The last hidden state."""
        self.ids[:], self.mask[:, 0, 0] = ids, mask
        self.sequence.run()
        return np.asarray(self.x)


def alternated(
    calls: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], int]
) -> dict[str, list[float]]:
    """Milliseconds of each call, in turns. A first round is not reported."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            began = clock()
            call()
            found[name].append((clock() - began) / 1e6)
    return {name: times[1:] for name, times in found.items()}


def warm_allocations(ours: Ours) -> int:
    """How many blocks and segments warm runs have taken."""

    def taken() -> int:
        found = ours.weights.compute.statistics()
        return found.allocations + found.segments.peak

    before = taken()
    for _ in range(10):
        ours.sequence.run()
    return taken() - before


def error_of(what: str, states: Array, wanted: Array) -> float:
    """The largest difference. Ends the program if it is too large."""
    error = float(np.abs(states - wanted).max())
    if not error <= ERROR_MOST:
        raise SystemExit(f"{what}: a hidden state differs by {error}")
    return error


def checked_cosines(model: Model) -> list[float]:
    """The published cosines."""
    ids, mask = model.ids(SENTENCES)
    weights = Weights(fm.Compute("cpu:0", threads=1), model)
    found = cosines(Ours(weights, *ids.shape)(ids, mask), mask)
    if not np.abs(np.subtract(found, COSINES)).max() <= COSINE_MOST:
        raise SystemExit(f"the cosines are {found}")
    return found


def measure(model: Model, text: str, rounds: int) -> list[dict[str, Any]]:
    """One shape, with both masks."""
    batch, tokens = map(int, text.split("x"))
    rounds = max(min(rounds, rounds * 1024 // (batch * tokens)), min(rounds, 3))
    ids = rng.integers(0, model.words, (batch, tokens))
    full = np.ones((batch, tokens), "int64")
    half = (np.arange(tokens) < max(tokens // 2, 1)) * full
    # Each has a backend of its own, so that all of its workspace is new.
    ours = {
        count: Ours(Weights(fm.Compute("cpu:0", threads=count), model), batch, tokens)
        for count in (1, 2)
    }
    answer = []
    for name, mask in (("full", full), ("half", half)):
        wanted = hidden_states(model, ids, mask)
        error = max(
            error_of(f"ours {text} {name}", each(ids, mask), wanted) for each in ours.values()
        )
        theirs = max(
            error_of(f"onnxruntime {text} {name}", each(ids, mask), wanted)
            for each in PEERS.values()
        )

        def of(call: Callable[[Array, Array], Array], mask: Array = mask) -> Callable[[], object]:
            return lambda: call(ids, mask)

        alone = {
            "ours": of(ours[1]),
            **{graph: of(PEERS[graph, 1, False]) for graph in ("default", "fused")},
        }
        both = {
            "ours": of(ours[2]),
            **{"/".join(map(str, key)): of(each) for key, each in PEERS.items()},
        }
        answer.append({
            "shape": text, "mask": name, "error": error, "peer_error": theirs,
            "cpu_ms": alternated(alone, rounds, time.process_time_ns),
            "wall_ms": alternated(both, max(rounds // 2, 1), time.perf_counter_ns),
            "activation_bytes": ours[1].activation_bytes,
            "workspace_bytes": ours[1].workspace_bytes,
            "workspace_bytes_2": ours[2].workspace_bytes,
            "warm_allocations": sum(map(warm_allocations, ours.values())),
        })  # fmt: skip
    return answer


MODEL = Model()
PEERS = {
    (graph, threads, spins): Peer(MODEL, graph, threads, spins)
    for graph in ("default", "fused")
    for threads, spins in ((1, False), (2, False), (2, True))
}
GIVEN = {
    "cosines": checked_cosines(MODEL),
    "peer": Peer.version,
    "shapes": [entry for text in sys.argv[2:] for entry in measure(MODEL, text, int(sys.argv[1]))],
}
print(json.dumps(GIVEN))
sys.stdout.flush()
os._exit(0)
