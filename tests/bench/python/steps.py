"""Measures steps of a bound sequence: operations of about 16 elements, on one thread.

steps.py ROUNDS

Each result is compared with the same operation of NumPy in float64. A step is the difference of two
sequences of one operation with different numbers of steps, so the call of the sequence does not
count. Afterwards all operations run again, and the memory that the device has given is compared.

Prints one JSON object.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ferrum_mem as fm
import numpy as np

FEW, MANY = 50, 250
CALLS = 20
# The rounding of the types of the outputs.
ERRORS = {"float32": 1e-5, "float16": 1e-3, "int64": 0.0, "bool": 0.0}
Array = Any
rng = np.random.default_rng(1)


@dataclass(frozen=True)
class Case:
    """An operation with its inputs, and the same in float64."""

    name: str
    operator: str
    inputs: list[Any]
    expected: Callable[..., Array]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    # The weights are packed, as in models.
    is_packed: bool = False


def of(*shape: int) -> Array:
    """Numbers between 0.1 and 1."""
    return rng.uniform(0.1, 1, shape).astype("float32")


def softmax(x: Array) -> Array:
    """Softmax over the last dimension."""
    shares = np.exp(x - x.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def rms(x: Array) -> Array:
    """A row over the root of the mean of its squares."""
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def normalised(x: Array) -> Array:
    """A row with mean 0 and variance 1."""
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def sigmoid(x: Array) -> Array:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf)


def gelu_tanh(x: Array) -> Array:
    """The approximation of Gelu."""
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def rotated(x: Array, cosines: Array, sines: Array) -> Array:
    """Halves of a row, rotated by angles."""
    left, right = x[..., :8], x[..., 8:]
    first = left * cosines - right * sines
    return np.concatenate([first, left * sines + right * cosines], -1)


def blocks(rows: int, groups: int) -> tuple[Array, Array]:
    """Rows of Q8_0, as bytes, and their numbers."""
    scales = np.full((rows, groups, 1), 1 / 64, "float16")
    numbers = rng.integers(-127, 128, (rows, groups, 32)).astype("int8")
    packed = np.concatenate([scales.view("uint8"), numbers.view("uint8")], -1)
    return packed.reshape(-1), (numbers * scales.astype("float64")).reshape(rows, -1)


def on_elements() -> list[Case]:
    """Operations on elements."""
    halves = of(16).astype("float16"), of(16).astype("float16")
    whole = rng.integers(-9, 9, 16), rng.integers(1, 9, 16)
    return [
        Case("Add", "Add", [of(16), of(16)], np.add),
        Case("Add of a row", "Add", [of(4, 4), of(4)], np.add),
        Case("Add of F16", "Add", list(halves), np.add),
        Case("Add of I64", "Add", list(whole), np.add),
        Case("Sub", "Sub", [of(16), of(16)], np.subtract),
        Case("Mul", "Mul", [of(16), of(16)], np.multiply),
        Case("Div", "Div", [of(16), of(16)], np.divide),
        Case("Pow", "Pow", [of(16), of(16)], np.power),
        Case("Sqrt", "Sqrt", [of(16)], np.sqrt),
        Case("Tanh", "Tanh", [of(16)], np.tanh),
        Case("Erf", "Erf", [of(16)], erf),
        Case("Relu", "Relu", [of(16)], lambda x: np.maximum(x, 0)),
        Case("Gelu", "Gelu", [of(16)], lambda x: x / 2 * (1 + erf(x / math.sqrt(2)))),
        Case("Gelu, tanh", "Gelu", [of(16)], gelu_tanh, {"approximate": "tanh"}),
        Case("Swish", "Swish", [of(16)], lambda x: x * sigmoid(x)),
        Case("silu_mul", "ferrum.silu_mul", [of(16), of(16)], lambda x, y: x * sigmoid(x) * y),
        Case("Where", "Where", [whole[0] > 0, of(16), of(16)], np.where),
        Case("Cast", "Cast", [of(16)], lambda x: x.astype("float16"), {"to": "f16"}),
    ]


def on_places() -> list[Case]:
    """Operations that move elements."""
    return [
        Case("Expand", "Expand", [of(4), [4, 4]], lambda x, _: np.broadcast_to(x, (4, 4))),
        Case("Concat", "Concat", [of(8), of(8)], lambda *xs: np.concatenate(xs), {"axis": 0}),
        Case("Split", "Split", [of(16)], lambda x: np.split(x, 2), {"num_outputs": 2}, 2),
        Case("Slice", "Slice", [of(4, 8), [0], [4], [1]], lambda x, *_: x[:, :4]),
        Case("Reshape", "Reshape", [of(16), [4, 4]], lambda x, _: x.reshape(4, 4)),
        Case("Unsqueeze", "Unsqueeze", [of(16), [0]], lambda x, _: x[None]),
        Case("Squeeze", "Squeeze", [of(1, 16), [0]], lambda x, _: x[0]),
        Case("Transpose", "Transpose", [of(4, 4)], np.transpose),
        Case("Gather", "Gather", [of(8, 16), [3]], lambda x, at: x[at]),
    ]


def on_rows() -> list[Case]:
    """Operations on rows, and products."""
    numbers, weights = blocks(16, 1)
    angles = of(1, 1, 8)
    heads = [of(1, 1, 4, 4) for _ in range(3)]
    return [
        Case("Softmax", "Softmax", [of(16)], softmax),
        Case("LayerNormalization", "LayerNormalization", [of(16), of(16), of(16)],
             lambda x, scale, bias: normalised(x) * scale + bias),
        Case("RMSNormalization", "RMSNormalization", [of(16), of(16)],
             lambda x, scale: rms(x) * scale),
        Case("rms_norm_residual", "ferrum.rms_norm_residual", [of(16), of(16), of(16)],
             lambda x, residual, scale: [rms(x + residual) * scale, x + residual], outputs=2),
        Case("ReduceSum", "ReduceSum", [of(16)], lambda x: x.sum(keepdims=True)),
        Case("ReduceMean", "ReduceMean", [of(16)], lambda x: x.mean(keepdims=True)),
        Case("ReduceMax", "ReduceMax", [of(16)], lambda x: x.max(keepdims=True)),
        Case("ArgMax", "ArgMax", [of(16)], lambda x: x.argmax(keepdims=True)),
        Case("TopK", "TopK", [of(16), [4]],
             lambda x, _: [np.sort(x)[::-1][:4], np.argsort(-x)[:4]], outputs=2),
        Case("RotaryEmbedding", "RotaryEmbedding",
             [of(1, 1, 1, 16), np.cos(angles), np.sin(angles)], rotated),
        Case("Attention", "Attention", heads,
             lambda q, k, v: softmax(q @ k.swapaxes(2, 3) / 2) @ v),
        Case("MatMul", "MatMul", [of(1, 16), of(16, 16)], np.matmul),
        Case("Gemm", "Gemm", [of(1, 16), of(16, 16), of(16)], lambda a, b, c: a @ b + c),
        Case("linear", "ferrum.linear", [of(1, 16), of(16, 16)], lambda x, w: x @ w.T),
        Case("quantized_linear", "ferrum.quantized_linear", [of(1, 32), (numbers, (16, 32))],
             lambda x, _: x @ weights.T, is_packed=True),
    ]  # fmt: skip


def tensor_of(value: Any, device: fm.Device) -> fm.Tensor:
    """A tensor over an array, over a list of axes or sizes, or over the bytes of blocks."""
    if isinstance(value, tuple):
        data, shape = value
        return fm.Tensor.wrap(
            device, data.ctypes.data, data.nbytes, "q8_0", shape, release=lambda: len(data)
        )
    return fm.Tensor.from_numpy(np.asarray(value), device=device)


def wide(value: Any) -> Any:
    """An input in float64. Lists, truth values and whole numbers stay as they are."""
    is_float = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.astype("float64") if is_float else value


def error_of(case: Case, outputs: tuple[fm.Tensor, ...]) -> float:
    """The largest difference over the largest element. Ends the program if it is too large."""
    expected = case.expected(*map(wide, case.inputs))
    worst = 0.0
    pairs = zip(outputs, expected if case.outputs > 1 else [expected], strict=True)
    for output, wanted in pairs:
        found = np.asarray(output)
        if found.shape != np.shape(wanted):
            raise SystemExit(f"{case.name}: the shape {found.shape}, not {np.shape(wanted)}")
        largest = np.abs(wanted).max() or 1
        error = float(np.abs(found.astype("float64") - wanted).max() / largest)
        if not error <= ERRORS[found.dtype.name]:
            raise SystemExit(f"{case.name}: a result is wrong by {error}")
        worst = max(worst, error)
    return worst


class Steps:
    """Two sequences of one operation, and its outputs."""

    def __init__(self, compute: fm.Compute, case: Case) -> None:
        self.case, self.op = case, compute.op(case.operator, **case.attributes)
        self.inputs = [tensor_of(value, compute.device) for value in case.inputs]
        if case.is_packed:
            self.inputs[1] = self.op.pack(self.inputs[1])
        self.outputs = self.op.run(self.inputs, case.outputs)
        self.few, self.many = (self.sequence(compute, count) for count in (FEW, MANY))

    def sequence(self, compute: fm.Compute, count: int) -> Any:
        """Some steps with the same tensors."""
        made = compute.sequence()
        for _ in range(count):
            made.add(self.op, self.inputs, list(self.outputs))
        made.run()
        return made

    def step_ns(self) -> float:
        """The time of one step."""
        taken = []
        for sequence in (self.few, self.many):
            began = time.perf_counter_ns()
            for _ in range(CALLS):
                sequence.run()
            taken.append(time.perf_counter_ns() - began)
        return (taken[1] - taken[0]) / (CALLS * (MANY - FEW))

    def repeat(self) -> None:
        """Runs everything, also with outputs that the call makes."""
        self.few.run()
        for output in self.op.run(self.inputs, self.case.outputs):
            output.close()


def taken_from(device: fm.Device) -> tuple[int, int]:
    """What the pools of a device have taken from it: segments and bytes."""
    found = device.statistics()
    return found.segments.peak, found.reserved.peak


def main() -> None:
    """Runs the command line."""
    rounds = int(sys.argv[1])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    compute = fm.Compute("cpu:0", threads=1)
    all_steps = [Steps(compute, case) for case in on_elements() + on_places() + on_rows()]
    samples: dict[str, list[float]] = {steps.case.name: [] for steps in all_steps}
    for _ in range(rounds):
        for steps in all_steps:
            samples[steps.case.name].append(steps.step_ns())
    for steps in all_steps:
        steps.repeat()
    before = taken_from(compute.device)
    for _ in range(10):
        for steps in all_steps:
            steps.repeat()
    after = taken_from(compute.device)
    answer = {
        "steps": [
            {
                "name": steps.case.name,
                "ns": samples[steps.case.name],
                "type": np.asarray(steps.outputs[0]).dtype.name,
                "error": error_of(steps.case, steps.outputs),
            }
            for steps in all_steps
        ],
        "warm_runs": 20 * len(all_steps),
        "warm_segments": after[0] - before[0],
        "warm_bytes": after[1] - before[1],
    }
    print(json.dumps(answer))
    # The system ends what the process has; there is nothing to write back.
    sys.stdout.flush()
    os._exit(0)


main()
