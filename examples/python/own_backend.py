"""A compute backend of the program: a small network whose operations NumPy computes.

make build && PYTHONPATH=bindings/python/src python3 examples/python/own_backend.py

The backend counts the time of each operator. It leaves what it does not know to the CPU engine:
the program asks each backend what it computes. Needs NumPy.
"""

from __future__ import annotations

import time
from typing import Any

import ferrum_mem as fm
import numpy

# What the backend computes, by the name of the operator.
OPERATORS: dict[str, Any] = {
    "Add": numpy.add,
    "Mul": numpy.multiply,
    "MatMul": numpy.matmul,
    "Tanh": numpy.tanh,
}


class Timed:
    """Computes with NumPy, and keeps the time of each operator."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def plan(self, call: fm.ComputeCall) -> None:
        """Rejects what the backend does not compute."""
        if call.name not in OPERATORS:
            raise NotImplementedError(f"NumPy has no {call.name} here")

    def run(self, call: fm.ComputeCall) -> None:
        """Computes the one output of a call."""
        start = time.perf_counter()
        (output,) = call.outputs
        assert output is not None
        OPERATORS[call.name](*call.inputs, out=output.numpy())
        used = time.perf_counter() - start
        self.seconds[call.name] = self.seconds.get(call.name, 0) + used


def network(compute: fm.Compute, x: Any, weights: list[Any]) -> Any:
    """Two layers with tanh between them, on a backend."""
    with (
        compute.op("MatMul")(x, weights[0]) as product,
        compute.op("Add")(product, weights[1]) as hidden,
        compute.op("Tanh")(hidden) as active,
        compute.op("MatMul")(active, weights[2]) as output,
    ):
        return numpy.array(output)


def main() -> None:
    """Runs the network on both backends and compares them."""
    draw = numpy.random.default_rng(5)
    sizes = [(8, 64), (64, 128), (128,), (128, 10)]
    x, *weights = (draw.standard_normal(size).astype("float32") for size in sizes)
    timed = Timed()
    with (
        fm.register_compute("timed", timed, supported_dtypes=["f32"]),
        fm.Compute("cpu:0", backend="timed") as own,
        fm.Compute("cpu:0") as engine,
    ):
        names = [each["name"] for each in fm.compute_backends()["backends"] if each["available"]]
        print(f"backends: {', '.join(names)}")
        found, expected = network(own, x, weights), network(engine, x, weights)
        print(f"shape {list(found.shape)}, as the engine: {numpy.allclose(found, expected, 1e-4)}")
        print(f"timed: {', '.join(sorted(timed.seconds))}")
        try:
            own.run("Softmax", [x])
        except fm.UnsupportedError as error:
            print(f"unsupported: {error.__cause__}")
            with engine.run("Softmax", [x])[0] as shares:
                print(f"the engine has it: {list(shares.shape)}")


if __name__ == "__main__":
    main()
