"""A layer of a decoder: attention and a gated MLP, with NumPy beside it.

make build && PYTHONPATH=bindings/python/src python3 examples/python/decoder_layer.py

The weights are packed once. The operations of the layer are one sequence, which runs in one
call for each batch of hidden states. Needs NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import ferrum_mem as fm
import numpy

TOKENS, WIDTH, HEADS, INNER = 16, 64, 4, 128
Array = numpy.ndarray[Any, Any]


def main() -> None:
    """Builds the layer, runs it twice, and compares it with NumPy in float64."""
    draw = numpy.random.default_rng(7)
    sizes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "o": (WIDTH, WIDTH)}
    sizes |= {"gate": (INNER, WIDTH), "up": (INNER, WIDTH), "down": (WIDTH, INNER)}
    weights = {
        name: (draw.standard_normal(size) / math.sqrt(size[1])).astype("float32")
        for name, size in sizes.items()
    }
    states = numpy.zeros((1, TOKENS, WIDTH), "float32")
    with fm.Compute("cpu:0") as compute, compute.sequence() as layer:
        print(f"backend: {compute.capabilities()['extra_capabilities']['engine']}")
        # The sequence reads this array at each run.
        output = build(compute, layer, states, weights)
        for run in range(2):
            states[:] = draw.standard_normal(states.shape)
            layer.run()
            error = abs(numpy.asarray(output) - expected(states, weights)).max()
            print(f"run {run}: shape {list(output.shape)}, as NumPy: {error < 1e-4}")
        print(f"operations: {compute.status()['operations_completed']}")
        output.close()


def build(
    compute: fm.Compute, layer: fm.OpSequence, states: Array, weights: dict[str, Array]
) -> fm.Tensor:
    """Adds the operations of the layer, and returns its output."""
    linear = compute.op("ferrum.linear")
    packed = {name: linear.pack(weight) for name, weight in weights.items()}
    scale = numpy.ones(WIDTH, "float32")
    (normal,) = layer.add(compute.op("RMSNormalization"), [states, scale])
    q, k, v = (layer.add(linear, [normal, packed[name]])[0] for name in "qkv")
    attention = compute.op("Attention", is_causal=1, q_num_heads=HEADS, kv_num_heads=HEADS)
    (mixed,) = layer.add(attention, [q, k, v])
    (added,) = layer.add(linear, [mixed, packed["o"]])
    residual = compute.op("ferrum.rms_norm_residual")
    normal, total = layer.add(residual, [added, states, scale])
    gate, up = (layer.add(linear, [normal, packed[name]])[0] for name in ("gate", "up"))
    (inner,) = layer.add(compute.op("ferrum.silu_mul"), [gate, up])
    (down,) = layer.add(linear, [inner, packed["down"]])
    (output,) = layer.add(compute.op("Add"), [down, total])
    # The sequence keeps the other tensors.
    return output


def expected(states: Array, weights: dict[str, Array]) -> Array:
    """The output of the layer by NumPy."""
    x = states[0].astype("float64")

    def normal(rows: Array) -> Array:
        scaled: Array = rows / numpy.sqrt((rows**2).mean(-1, keepdims=True) + 1e-5)
        return scaled

    q, k, v = (
        (normal(x) @ weights[name].T).reshape(TOKENS, HEADS, -1).swapaxes(0, 1) for name in "qkv"
    )
    scores = q @ k.swapaxes(1, 2) / math.sqrt(WIDTH // HEADS)
    scores = numpy.where(numpy.tri(TOKENS, dtype=bool), scores, -numpy.inf)
    shares = numpy.exp(scores - scores.max(-1, keepdims=True))
    mixed = (shares / shares.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(TOKENS, WIDTH)
    total = x + mixed @ weights["o"].T
    gate = normal(total) @ weights["gate"].T
    inner = gate / (1 + numpy.exp(-gate)) * (normal(total) @ weights["up"].T)
    output: Array = (total + inner @ weights["down"].T)[None]
    return output


if __name__ == "__main__":
    main()
