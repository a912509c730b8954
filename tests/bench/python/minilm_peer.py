"""MiniLM for onnxruntime: graphs with the same weights, and sessions without spinning threads.

"default" has the operators of the ONNX standard, as exporters write them; onnxruntime fuses what it
finds. "fused" has onnxruntime's own fused operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from minilm_oracle import Model
from onnx import TensorProto, helper, numpy_helper

Array = Any
MICROSOFT = "com.microsoft"


class Graph:
    """Nodes and constants."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Array) -> str:
        """A constant of the graph."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """A node with one output."""
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def pair(self, name: str, part: tuple[Array, Array], turned: bool = True) -> list[str]:
        """A weight, turned for MatMul, and a bias."""
        weight, bias = part
        return [
            self.constant(f"{name}.weight", weight.T if turned else weight),
            self.constant(f"{name}.bias", bias),
        ]

    def linear(self, x: str, name: str, part: tuple[Array, Array]) -> str:
        """A product and the addition of a bias."""
        weight, bias = self.pair(name, part)
        return self.node("Add", [self.node("MatMul", [x, weight]), bias])

    def bytes(self, output: str) -> bytes:
        """The model."""
        self.nodes.append(helper.make_node("Identity", [output], ["last_hidden_state"]))
        wide = ["batch", "tokens"]
        graph = helper.make_graph(
            self.nodes, "minilm",
            [helper.make_tensor_value_info(name, TensorProto.INT64, wide)
             for name in ("input_ids", "attention_mask", "token_type_ids")],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT,
                                           [*wide, self.model.hidden])],
            self.constants,
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        return bytes(made.SerializeToString())


def default_graph(model: Model) -> bytes:
    """The graph of standard operators."""
    g = Graph(model)
    size = model.hidden // model.heads
    words = g.constant("words", model.of("word_embeddings.weight"))
    places = g.constant("places", model.of("position_embeddings.weight"))
    kinds = g.constant("kinds", model.of("token_type_embeddings.weight"))
    shape = g.node("Shape", ["input_ids"])
    tokens = g.node(
        "Slice", [shape, g.constant("one", np.array([1])), g.constant("two", np.array([2]))]
    )
    zero = g.constant("zero", np.array([0]))
    rows = g.node("Slice", [places, zero, tokens, zero])
    x = g.node(
        "Add", [g.node("Gather", [words, "input_ids"]), g.node("Gather", [kinds, "token_type_ids"])]
    )
    x = g.node("Add", [x, rows])
    norm: dict[str, Any] = {"axis": -1, "epsilon": model.epsilon}
    part = model.of("LayerNorm.weight"), model.of("LayerNorm.bias")
    x = g.node("LayerNormalization", [x, *g.pair("norm", part, False)], **norm)
    axes = g.constant("mask_axes", np.array([1, 2]))
    mask = g.node("Cast", [g.node("Unsqueeze", ["attention_mask", axes])], to=TensorProto.FLOAT)
    mask = g.node("Sub", [g.constant("unit", np.array(1, "f4")), mask])
    mask = g.node("Mul", [mask, g.constant("least", np.array(np.finfo("f4").min, "f4"))])
    heads = g.constant("heads", np.array([0, 0, model.heads, size]))
    flat = g.constant("flat", np.array([0, 0, model.hidden]))
    scale = g.constant("scale", np.array(size**0.5, "f4"))
    for at in range(model.layers):

        def headed(name: str, order: list[int], x: str = x, at: int = at) -> str:
            y = g.linear(x, f"{at}.{name}", model.layer(at, f"attention.self.{name}"))
            return g.node("Transpose", [g.node("Reshape", [y, heads])], perm=order)

        q, v = headed("query", [0, 2, 1, 3]), headed("value", [0, 2, 1, 3])
        k = headed("key", [0, 2, 3, 1])
        scores = g.node("Div", [g.node("MatMul", [q, k]), scale])
        shares = g.node("Softmax", [g.node("Add", [scores, mask])], axis=-1)
        y = g.node("Transpose", [g.node("MatMul", [shares, v])], perm=[0, 2, 1, 3])
        y = g.node("Reshape", [y, flat])
        y = g.linear(y, f"{at}.out", model.layer(at, "attention.output.dense"))
        scales = g.pair(f"{at}.norm", model.layer(at, "attention.output.LayerNorm"), False)
        x = g.node("LayerNormalization", [g.node("Add", [y, x]), *scales], **norm)
        y = g.linear(x, f"{at}.wide", model.layer(at, "intermediate.dense"))
        y = g.linear(g.node("Gelu", [y]), f"{at}.narrow", model.layer(at, "output.dense"))
        scales = g.pair(f"{at}.last", model.layer(at, "output.LayerNorm"), False)
        x = g.node("LayerNormalization", [g.node("Add", [y, x]), *scales], **norm)
    return g.bytes(x)


def fused_graph(model: Model) -> bytes:
    """The graph of onnxruntime's fused operators."""
    g = Graph(model)
    shorts = [
        g.node("Cast", [name], to=TensorProto.INT32)
        for name in ("input_ids", "token_type_ids", "attention_mask")
    ]
    part = model.of("LayerNorm.weight"), model.of("LayerNorm.bias")
    tables = [
        g.constant(name, model.of(f"{name}_embeddings.weight"))
        for name in ("word", "position", "token_type")
    ]
    more: dict[str, Any] = {"domain": MICROSOFT, "epsilon": model.epsilon}
    g.nodes.append(
        helper.make_node(
            "EmbedLayerNormalization", [*shorts[:2], *tables, *g.pair("norm", part, False)],
            ["embedded", "unused"], name="embed", **more,
        )
    )  # fmt: skip
    x = "embedded"
    for at in range(model.layers):
        inputs = [x, *g.pair(f"{at}.qkv", model.merged(at)), shorts[2]]
        y = g.node("Attention", inputs, domain=MICROSOFT, num_heads=model.heads)
        weight, bias = g.pair(f"{at}.out", model.layer(at, "attention.output.dense"))
        scales = g.pair(f"{at}.norm", model.layer(at, "attention.output.LayerNorm"), False)
        y = g.node("MatMul", [y, weight])
        x = g.node("SkipLayerNormalization", [y, x, *scales, bias], **more)
        weight, bias = g.pair(f"{at}.wide", model.layer(at, "intermediate.dense"))
        y = g.node("BiasGelu", [g.node("MatMul", [x, weight]), bias], domain=MICROSOFT)
        weight, bias = g.pair(f"{at}.narrow", model.layer(at, "output.dense"))
        scales = g.pair(f"{at}.last", model.layer(at, "output.LayerNorm"), False)
        y = g.node("MatMul", [y, weight])
        x = g.node("SkipLayerNormalization", [y, x, *scales, bias], **more)
    return g.bytes(x)


GRAPHS = {"default": default_graph, "fused": fused_graph}


class Peer:
    """A session.

    Args:
        graph: the bytes of the model, or the path of its file.
        threads: number of threads; 0: the default.
        spins: whether its threads spin while they wait.
        keeps_memory: whether it has a memory arena.
    """

    version: str = onnxruntime.__version__

    def __init__(
        self, graph: bytes | str, threads: int, spins: bool, keeps_memory: bool = True
    ) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = keeps_memory
        options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spins)))
        self.session = onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, ids: Array, mask: Array) -> Array:
        """The last hidden state."""
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return self.session.run(None, inputs)[0]
