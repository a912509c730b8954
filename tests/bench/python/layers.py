"""Measures the call of a layer of the program: of C and of Python, on each engine, on one thread.

layers.py LIBRARY ROUNDS

LIBRARY has the layer in C, and calls it without ferrum_mem. A call is the difference of two models
with different numbers of layers, so the call of the model does not count. In a round all models run
in turns with the bare layer. Each layer adds 1 to 16 elements, and the outputs are compared with
the sum.

Prints one JSON object. Without ONNX Runtime it has no entries for that.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import sys
import time
from typing import Any

import ferrum_mem as fm
import numpy as np
from ferrum_mem import _abi, _native

FEW, MANY, CALLS, ELEMENTS = 10, 110, 20, 16
X = np.linspace(0, 1, ELEMENTS, dtype="float32").reshape(1, ELEMENTS)
ENGINES = ("cpu", "onnx_runtime") if importlib.util.find_spec("onnxruntime") else ("cpu",)


def definition(layer_type: str, count: int) -> dict[str, Any]:
    """A row of layers."""
    tensor = {"name": "x", "shape": [1, ELEMENTS], "dtype": "f32"}
    layer = {"parameters": [], "inputs": [tensor], "outputs": [{**tensor, "name": "y"}]}
    nodes = [f"n{at}" for at in range(count)]
    return {
        "metadata": {
            "name": "row", "version": "1", "model_type": "row", "architecture_family": "custom"
        },
        "architecture": {
            "name": "row",
            "dimensions": {
                "vocab_size": 1, "hidden_size": ELEMENTS, "num_layers": 1, "num_heads": 1,
                "max_sequence_length": 1,
            },
        },
        "parameters": [],
        "layers": [
            {**layer, "name": "x", "layer_type": "Input", "inputs": []},
            {**layer, "name": "one", "layer_type": layer_type},
        ],
        "graph": {
            "inputs": ["x"],
            "outputs": [nodes[-1]],
            "nodes": [
                {"id": "x", "layer_name": "x"}, *({"id": n, "layer_name": "one"} for n in nodes)
            ],
            "edges": [
                {"source": a, "target": b}
                for a, b in zip(["x", *nodes], nodes, strict=False)
            ],
        },
    }  # fmt: skip


def register(library: ctypes.CDLL) -> None:
    """Registers the layer in C."""
    raw = _abi.ferrum_layer.init()
    raw.type = b"bench.c"
    raw.forward = ctypes.cast(library.bench_forward, type(raw.forward))
    handle = _abi.ferrum_registration()
    if _native.functions().ferrum_layer_register(ctypes.byref(raw), ctypes.byref(handle)) < 0:
        raise SystemExit("the layer in C is not registered")


class Row:
    """Two models of one layer type with different numbers of layers."""

    def __init__(self, stack: contextlib.ExitStack, layer_type: str, engine: str) -> None:
        options = fm.BuildOptions(optimization_level=1, passes=[])
        self.models = [
            stack.enter_context(
                fm.models.build(
                    definition=definition(layer_type, count), engine=engine, threads=1,
                    options=options,
                )
            )
            for count in (FEW, MANY)
        ]  # fmt: skip
        self.x = stack.enter_context(fm.Tensor.from_numpy(X))
        self.error = 0.0
        for model, count in zip(self.models, (FEW, MANY), strict=True):
            (y,) = model(x=self.x).values()
            # Each addition rounds.
            wanted = X.astype("float64") + count
            self.error = max(self.error, float(np.abs(y.numpy() - wanted).max() / wanted.max()))
        if not self.error < 1e-5:
            raise SystemExit(f"{layer_type} on {engine}: a result is wrong by {self.error}")

    def call_ns(self) -> float:
        """The time of one layer."""
        taken = []
        for model in self.models:
            began = time.process_time_ns()
            for _ in range(CALLS):
                for y in model(x=self.x).values():
                    y.close()
            taken.append(time.process_time_ns() - began)
        return (taken[1] - taken[0]) / (CALLS * (MANY - FEW))


def main() -> None:
    """Runs the command line."""
    library, rounds = ctypes.CDLL(os.path.abspath(sys.argv[1])), int(sys.argv[2])
    library.bench_bare.restype = ctypes.c_double
    library.bench_bare.argtypes = [ctypes.c_uint64]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    fm.init()
    register(library)

    @fm.models.layer("bench.python")
    def python(x: Any, out: Any) -> None:
        np.add(x, 1, out=out)

    with contextlib.ExitStack() as stack:
        stack.enter_context(python)
        rows = {
            (language, engine): Row(stack, f"bench.{language}", engine)
            for engine in ENGINES
            for language in ("c", "python")
        }
        samples: dict[tuple[str, str], list[float]] = {key: [] for key in rows}
        bare: list[float] = []
        calls = CALLS * MANY
        for _ in range(rounds):
            for key, row in rows.items():
                samples[key].append(row.call_ns())
            bare.append(library.bench_bare(calls) / calls)
        layers = [
            {"language": key[0], "engine": key[1], "ns": samples[key], "error": row.error}
            for key, row in rows.items()
        ]
        print(json.dumps({"layers": layers, "bare_ns": bare}))
    # The system ends what the process has.
    sys.stdout.flush()
    os._exit(0)


main()
