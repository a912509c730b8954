"""A layer type of the program in a model: root mean square normalisation with NumPy.

make build && PYTHONPATH=bindings/python/src python3 examples/python/own_layer.py

The layer has a parameter, which it makes itself, and a configuration. The model has it beside a
layer of the library. Needs NumPy.
"""

from __future__ import annotations

from typing import Any

import ferrum_mem as fm
import numpy


def parameters(width: int, **_: Any) -> dict[str, Any]:
    """The parameters of a layer for its configuration."""
    return {"gain": numpy.full(width, 2, "float32")}


@fm.models.layer("mine.rms", parameters=parameters)
def rms(x: Any, gain: Any, out: Any, *, width: int = 4, epsilon: float = 1e-6) -> None:
    """Writes x / sqrt(mean(x²) + epsilon) * gain."""
    assert gain.shape == (width,)
    numpy.multiply(x, gain / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon), out=out)


def tensor(name: str) -> dict[str, Any]:
    """A row of 4 numbers for each element of the batch."""
    return {"name": name, "shape": [-1, 4], "dtype": "f32"}


DEFINITION = {
    "metadata": {
        "name": "norm", "version": "1", "model_type": "norm", "architecture_family": "custom",
    },
    "architecture": {"name": "norm", "dimensions": {
        "vocab_size": 1, "hidden_size": 4, "num_layers": 1, "num_heads": 1,
        "max_sequence_length": 1,
    }},
    "parameters": [],
    "layers": [
        {"name": "x", "layer_type": "Input", "inputs": [], "parameters": [],
         "outputs": [tensor("x")]},
        {"name": "norm", "layer_type": "mine.rms", "parameters": [], "config": {"epsilon": 1e-12},
         "inputs": [tensor("in")], "outputs": [tensor("out")]},
        {"name": "y", "layer_type": "Relu", "parameters": [],
         "inputs": [tensor("X")], "outputs": [tensor("Y")]},
    ],
    "graph": {
        "inputs": ["x"], "outputs": ["y"],
        "nodes": [{"id": name, "layer_name": name} for name in ("x", "norm", "y")],
        "edges": [{"source": "x", "target": "norm"}, {"source": "norm", "target": "y"}],
    },
}  # fmt: skip


def main() -> None:
    """Builds the model and runs it."""
    with rms, fm.models.build(definition=DEFINITION) as model:
        print(f"layers: {[each['layer_type'] for each in fm.models.layers()['layers']]}")
        found = model(x=[[1, -1, 1, -1], [2, 2, -2, 2]])["y"].numpy()
        print(found.tolist())
        steps = model.plan(**{"x.0": 8}).steps
        print(f"steps: {[each.operation for each in steps]}")
        try:
            rms.close()
        except fm.BusyError:
            print("the model uses the layer")


if __name__ == "__main__":
    main()
