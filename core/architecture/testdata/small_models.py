"""Writes small encoders and small.json with their outputs, which oracle.py computes.

Usage: ``small_models.py``. The files are checked in.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import sys
import types
import zipfile
from collections import OrderedDict

import numpy as np
from oracle import (
    HERE,
    NUMBERS,
    Weights,
    bert_names,
    distil_names,
    encode,
    gelu_new,
    mpnet_names,
    pooled,
    roberta_positions,
    save,
)

HIDDEN, HEADS, LAYERS, INNER, VOCAB, ROWS, NARROW = 12, 3, 2, 20, 30, 16, 8


def write(path, tensors):
    """Writes a safetensors file."""
    header, data = {}, b""
    for name, array in tensors.items():
        kind = next(k for k, t in NUMBERS.items() if t == array.dtype)
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Maker:
    """Makes tensors of random numbers."""

    def __init__(self, seed, kind=np.float32):
        self.random, self.kind, self.tensors = np.random.default_rng(seed), kind, {}

    def add(self, name, *shape, middle=0.0):
        self.tensors[name] = (middle + 0.5 * self.random.standard_normal(shape)).astype(self.kind)

    def linear(self, name, outputs, inputs):
        self.add(name + ".weight", outputs, inputs)
        self.add(name + ".bias", outputs)

    def norm(self, name, ends=("weight", "bias"), width=HIDDEN):
        self.add(f"{name}.{ends[0]}", width, middle=1.0)
        self.add(f"{name}.{ends[1]}", width)

    def encoder(
        self,
        prefix,
        names,
        types,
        ends=("weight", "bias"),
        pooler=False,
        width=HIDDEN,
        rows=ROWS,
    ):
        self.add(prefix + "embeddings.word_embeddings.weight", VOCAB, width)
        self.add(prefix + "embeddings.position_embeddings.weight", rows, width)
        if types:
            self.add(prefix + "embeddings.token_type_embeddings.weight", types, width)
        self.norm(prefix + "embeddings.LayerNorm", ends, width)
        if width != HIDDEN:
            self.linear(prefix + "embeddings_project", HIDDEN, width)
        for i in range(LAYERS):
            n = names(i)
            for part in "qkvo":
                self.linear(prefix + n[part], HIDDEN, HIDDEN)
            self.norm(prefix + n["norm1"], ends)
            self.linear(prefix + n["up"], INNER, HIDDEN)
            self.linear(prefix + n["down"], HIDDEN, INNER)
            self.norm(prefix + n["norm2"], ends)
        if pooler:
            self.linear(prefix + "pooler.dense", HIDDEN, HIDDEN)


def folder(name, config, tensors):
    path = HERE / name
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write(path / "model.safetensors", tensors)


def bert_config(**more):
    return {
        "model_type": "bert",
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "vocab_size": VOCAB,
        "max_position_embeddings": ROWS,
        "type_vocab_size": 2,
    } | more


def small():
    """Writes the small models and their outputs."""
    told = {}
    ids = np.array([[2, 5, 7, 9, 3], [2, 11, 3, 0, 0]])
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    types = np.array([[0, 0, 0, 1, 1], [0, 1, 1, 1, 0]])
    positions = np.array([[0, 1, 2, 3, 4], [9, 3, 15, 0, 1]])
    sizes = {"heads": HEADS, "layers": LAYERS}

    # A model for pretraining: names with a prefix, the older names of norms, a head, a buffer.
    m = Maker(1)
    m.encoder("bert.", bert_names, 2, ("gamma", "beta"), pooler=True)
    m.add("cls.predictions.bias", VOCAB)
    m.tensors["bert.embeddings.position_ids"] = np.arange(ROWS)[None]
    folder("bert", bert_config(hidden_act="gelu_new", layer_norm_eps=0.01), m.tensors)
    w = Weights(m.tensors, "bert.")
    hidden = encode(
        w, ids, mask, types=types, positions=positions, act=gelu_new, epsilon=0.01, **sizes
    )
    told["bert"] = {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": types,
        "position_ids": positions,
        "last_hidden_state": hidden,
        "pooler_output": pooled(w, hidden),
    }

    # Half precision, no pooler; positions follow the rule of the family and are not given.
    m = Maker(2, np.float16)
    m.encoder("roberta.", bert_names, 1)
    folder(
        "roberta",
        bert_config(model_type="roberta", type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5),
        m.tensors,
    )
    padded = np.where(mask == 1, ids, 1)
    hidden = encode(
        Weights(m.tensors, "roberta."),
        padded,
        mask,
        positions=roberta_positions(padded, 1),
        epsilon=1e-5,
        **sizes,
    )
    told["roberta"] = {"input_ids": padded, "attention_mask": mask, "last_hidden_state": hidden}

    m = Maker(3)
    m.encoder("distilbert.", distil_names, 0)
    config = {
        "model_type": "distilbert",
        "dim": HIDDEN,
        "n_layers": LAYERS,
        "n_heads": HEADS,
        "hidden_dim": INNER,
        "activation": "relu",
        "vocab_size": VOCAB,
        "max_position_embeddings": ROWS,
    }
    folder("distilbert", config, m.tensors)
    hidden = encode(
        Weights(m.tensors, "distilbert."),
        ids,
        mask,
        names=distil_names,
        act=lambda x: np.maximum(x, 0),
        **sizes,
    )
    told["distilbert"] = {"input_ids": ids, "attention_mask": mask, "last_hidden_state": hidden}

    # A PyTorch file, with the positions that a caller gives.
    m = Maker(5)
    m.encoder("roberta.", bert_names, 1, pooler=True)
    config = bert_config(model_type="camembert", type_vocab_size=1, pad_token_id=4)
    folder("camembert", config, {})
    (HERE / "camembert" / "model.safetensors").unlink()
    write_torch(HERE / "camembert" / "pytorch_model.bin", m.tensors)
    w = Weights(m.tensors, "roberta.")
    shifted = np.array([[0, 1, 2, 3, 4], [3, 4, 10, 0, 0]])
    hidden = encode(w, ids, mask, positions=shifted + 5, **sizes)
    told["camembert"] = {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": shifted,
        "last_hidden_state": hidden,
        "pooler_output": pooled(w, hidden),
    }

    # Narrow embeddings with a dense layer after them.
    m = Maker(6)
    m.encoder("electra.", bert_names, 2, width=NARROW)
    folder("electra", bert_config(model_type="electra", embedding_size=NARROW), m.tensors)
    hidden = encode(Weights(m.tensors, "electra."), ids, mask, types=types, **sizes)
    told["electra"] = {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": types,
        "last_hidden_state": hidden,
    }

    # Numbers for distances, and texts with distances that share a number.
    m = Maker(7)
    m.encoder("mpnet.", mpnet_names, 0, pooler=True, rows=42)
    m.add("mpnet.encoder.relative_attention_bias.weight", 32, HEADS)
    config = bert_config(model_type="mpnet", max_position_embeddings=42, layer_norm_eps=1e-5)
    folder("mpnet", config, m.tensors)
    w = Weights(m.tensors, "mpnet.")
    longer = np.arange(80).reshape(2, 40) * 7 % VOCAB
    seen = np.ones((2, 40), "int64")
    seen[1, 30:] = 0
    positions = np.broadcast_to(np.arange(40) + 2, longer.shape)
    hidden = encode(w, longer, seen, names=mpnet_names, positions=positions, epsilon=1e-5, **sizes)
    told["mpnet"] = {
        "input_ids": longer,
        "attention_mask": seen,
        "last_hidden_state": hidden,
        "pooler_output": pooled(w, hidden),
    }

    # A GGUF file: matrices in half precision, vectors in single precision, no pooler.
    m = Maker(4)
    m.encoder("", bert_names, 2)
    m.tensors = {
        k: v.astype(np.float16) if v.ndim == 2 and "position" not in k else v
        for k, v in m.tensors.items()
    }
    write_gguf(HERE / "bert.gguf", m.tensors)
    hidden = encode(Weights(m.tensors), ids, mask, types=types, epsilon=1e-3, **sizes)
    told["bert.gguf"] = {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": types,
        "last_hidden_state": hidden,
    }
    save("small.json", told)


class Storage(np.ndarray):
    """The elements of a tensor in a PyTorch file, which the pickle only names."""


def write_torch(path, tensors):
    """Writes a zip file with a pickle and the elements, as torch.save does."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")

    class FloatStorage:
        pass

    def _rebuild_tensor_v2():
        pass

    FloatStorage.__module__, FloatStorage.__qualname__ = "torch", "FloatStorage"
    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    torch.FloatStorage, utils._rebuild_tensor_v2 = FloatStorage, _rebuild_tensor_v2
    sys.modules["torch"], sys.modules["torch._utils"] = torch, utils
    parts = []

    class Tensor:
        def __init__(self, array):
            self.array = array

        def __reduce__(self):
            steps = tuple(s // self.array.itemsize for s in self.array.strides)
            storage = self.array.view(Storage)
            return _rebuild_tensor_v2, (storage, 0, self.array.shape, steps, False, OrderedDict())

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if not isinstance(value, Storage):
                return None
            parts.append(value.tobytes())
            return ("storage", FloatStorage, str(len(parts) - 1), "cpu", value.size)

    out = io.BytesIO()
    Pickler(out, protocol=2).dump(OrderedDict((k, Tensor(v)) for k, v in tensors.items()))
    with zipfile.ZipFile(path, "w") as archive:
        names = ["data.pkl", *(f"data/{i}" for i in range(len(parts))), "version"]
        for name, data in zip(names, [out.getvalue(), *parts, b"3\n"], strict=True):
            archive.writestr(zipfile.ZipInfo(f"archive/{name}"), data)


# The names of llama.cpp.
GGUF_PARTS = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
GGUF_TABLES = {
    "word_embeddings": "token_embd",
    "position_embeddings": "position_embd",
    "token_type_embeddings": "token_types",
    "LayerNorm": "token_embd_norm",
}


def gguf_name(name):
    if name.startswith("embeddings."):
        _, part, end = name.split(".")
        return f"{GGUF_TABLES[part]}.{end}"
    _, _, number, rest = name.split(".", 3)
    part, end = rest.rsplit(".", 1)
    return f"blk.{number}.{GGUF_PARTS[part]}.{end}"


def write_gguf(path, tensors):
    """Writes version 3 of the format: values, descriptions of tensors, and their elements."""

    def text(t):
        return struct.pack("<Q", len(t)) + t.encode()

    values = [
        ("general.architecture", 8, text("bert")),
        ("general.name", 8, text("Small")),
        ("general.license", 8, text("mit")),
        ("bert.embedding_length", 4, struct.pack("<I", HIDDEN)),
        ("bert.block_count", 4, struct.pack("<I", LAYERS)),
        ("bert.feed_forward_length", 4, struct.pack("<I", INNER)),
        ("bert.attention.head_count", 4, struct.pack("<I", HEADS)),
        ("bert.context_length", 4, struct.pack("<I", ROWS)),
        ("bert.attention.causal", 7, b"\0"),
        ("bert.attention.layer_norm_epsilon", 6, struct.pack("<f", 1e-3)),
        ("bert.pooling_type", 4, struct.pack("<I", 1)),
    ]
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, kind, value in values:
        out += text(key) + struct.pack("<I", kind) + value
    data = b""
    for name, array in tensors.items():
        data += b"\0" * (-len(data) % 32)
        kind = 1 if array.dtype == np.float16 else 0
        sides = struct.pack(f"<{array.ndim}Q", *reversed(array.shape))
        out += (
            text(gguf_name(name))
            + struct.pack("<I", array.ndim)
            + sides
            + struct.pack("<IQ", kind, len(data))
        )
        data += array.tobytes()
    path.write_bytes(out + b"\0" * (-len(out) % 32) + data)


if __name__ == "__main__":
    small()
