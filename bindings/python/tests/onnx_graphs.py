"""Graphs of ONNX as exporters write them, for test_onnx.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")


class Graph:
    """A graph that grows by one node after the other."""

    def __init__(self, opset: int, seed: int = 0) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.stated: list[Any] = []
        self._random = numpy.random.default_rng(seed)
        self._count = 0

    def name(self, kind: str) -> str:
        self._count += 1
        return f"/{kind}_{self._count}"

    def input(self, name: str, dtype: str, *shape: int | str) -> str:
        kind = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        self.inputs.append(onnx.helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, dtype: str, *shape: int | str) -> None:
        """An output; without a shape it is not stated."""
        kind = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        self.outputs.append(onnx.helper.make_tensor_value_info(name, kind, shape or None))

    def tensor(self, array: Any, name: str = "") -> str:
        """An initialiser."""
        name = name or self.name("tensor")
        self.tensors.append(onnx.numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self, *shape: int) -> str:
        """An initialiser of random elements."""
        return self.tensor((self._random.standard_normal(shape) / 4).astype("f4"))

    def constant(self, array: Any) -> str:
        """A node of type Constant."""
        name = self.name("Constant")
        value = onnx.numpy_helper.from_array(numpy.asarray(array))
        self.nodes.append(onnx.helper.make_node("Constant", [], [name], value=value))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node, and its only output."""
        return self.nodes_of(kind, 1, *inputs, **attributes)[0]

    def nodes_of(self, kind: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """A node, and its outputs."""
        names = [self.name(kind) for _ in range(outputs)]
        made = onnx.helper.make_node(kind, inputs, names, name=names[0], **attributes)
        self.nodes.append(made)
        return names

    def length(self, of: str, axis: int) -> str:
        """A dimension of a value, as a list of one element."""
        at = self.constant(numpy.int64(axis))
        one = self.node("Gather", self.node("Shape", of), at, axis=0)
        return self.node("Unsqueeze", one, self.constant(numpy.array([0])))

    def shape(self, *parts: int | str) -> str:
        lists = [p if isinstance(p, str) else self.constant(numpy.array([p])) for p in parts]
        return self.node("Concat", *lists, axis=0)

    def mean(self, x: str) -> str:
        """ReduceMean over the last dimension: axes are an attribute before opset 18."""
        if self.opset < 18:
            return self.node("ReduceMean", x, axes=[-1])
        return self.node("ReduceMean", x, self.constant(numpy.array([-1])))

    def model(self) -> Any:
        graph = onnx.helper.make_graph(
            self.nodes, "graph", self.inputs, self.outputs, self.tensors, value_info=self.stated
        )
        opsets = [onnx.helper.make_opsetid("", self.opset)]
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


WIDTH, HEADS, WORDS, POSITIONS = 16, 2, 50, 32


def norm(g: Graph, x: str) -> str:
    """LayerNormalization as older exporters write it."""
    centred = g.node("Sub", x, g.mean(x))
    squares = g.node("Pow", centred, g.constant(numpy.float32(2)))
    deviation = g.node("Sqrt", g.node("Add", g.mean(squares), g.constant(numpy.float32(1e-5))))
    scaled = g.node("Mul", g.node("Div", centred, deviation), g.weight(WIDTH))
    return g.node("Add", scaled, g.weight(WIDTH))


def gelu(g: Graph, x: str) -> str:
    error = g.node("Erf", g.node("Div", x, g.constant(numpy.float32(2**0.5))))
    product = g.node("Mul", x, g.node("Add", error, g.constant(numpy.float32(1))))
    return g.node("Mul", product, g.constant(numpy.float32(0.5)))


def dense(g: Graph, x: str, inside: int, outside: int) -> str:
    return g.node("Add", g.weight(outside), g.node("MatMul", x, g.weight(inside, outside)))


def expanded(g: Graph, x: str, shape: str) -> str:
    """x.expand(shape) as exporters write it: -1 in the shape keeps a dimension."""
    one = onnx.numpy_helper.from_array(numpy.array([1]))
    ones = g.node("ConstantOfShape", g.constant(numpy.array([4])), value=one)
    kept = g.node("Equal", shape, g.node("Mul", ones, g.constant(numpy.array(-1))))
    return g.node("Expand", x, g.node("Where", kept, ones, shape))


def attention(g: Graph, x: str, bias: str) -> str:
    size = WIDTH // HEADS
    parts = []
    for _ in range(3):
        made = dense(g, x, WIDTH, WIDTH)
        shape = g.shape(g.length(made, 0), g.length(made, 1), HEADS, size)
        parts.append(g.node("Transpose", g.node("Reshape", made, shape), perm=[0, 2, 1, 3]))
    keys = g.node("Transpose", parts[1], perm=[0, 1, 3, 2])
    scores = g.node("Div", g.node("MatMul", parts[0], keys), g.constant(numpy.float32(size**0.5)))
    weights = g.node("Softmax", g.node("Add", scores, bias), axis=-1)
    made = g.node("Transpose", g.node("MatMul", weights, parts[2]), perm=[0, 2, 1, 3])
    return g.node("Reshape", made, g.shape(g.length(made, 0), g.length(made, 1), WIDTH))


def encoder(opset: int, style: str) -> Any:
    """A small BERT. style is "old": it has all inputs, and a table of positions. Or it is "new":
    the shapes of missing inputs come from input_ids, the mask is expanded, Range counts positions.
    """
    g = Graph(opset)
    ids = g.input("input_ids", "i8", "batch", "sequence")
    mask = g.input("attention_mask", "i8", "batch", "sequence")
    batch, sequence = g.length(ids, 0), g.length(ids, 1)
    if style == "old":
        types = g.input("token_type_ids", "i8", "batch", "sequence")
        table = g.tensor(numpy.arange(POSITIONS)[None], "position_ids")
        zero, one = g.constant(numpy.array([0])), g.constant(numpy.array([1]))
        positions = g.node("Slice", table, zero, sequence, one, one)
    else:
        filled = onnx.numpy_helper.from_array(numpy.array([0]))
        types = g.node("ConstantOfShape", g.shape(batch, sequence), value=filled)
        last = g.node("Squeeze", sequence)
        zero, one = g.constant(numpy.int64(0)), g.constant(numpy.int64(1))
        row = g.node("Range", zero, last, one)
        positions = g.node("Unsqueeze", row, g.constant(numpy.array([0])))
    x = g.node("Gather", g.weight(WORDS, WIDTH), ids, axis=0)
    x = g.node("Add", x, g.node("Gather", g.weight(2, WIDTH), types))
    x = g.node("Add", x, g.node("Gather", g.weight(POSITIONS, WIDTH), positions))
    x = g.node("Dropout", norm(g, x), g.constant(numpy.float32(0.1)))
    seen = g.node("Unsqueeze", mask, g.constant(numpy.array([1])))
    seen = g.node("Unsqueeze", seen, g.constant(numpy.array([2])))
    if style == "new":
        seen = expanded(g, seen, g.shape(batch, 1, sequence, sequence))
    seen = g.node("Cast", seen, to=onnx.TensorProto.FLOAT)
    hidden = g.node("Sub", g.constant(numpy.float32(1)), seen)
    bias = g.node("Mul", hidden, g.constant(numpy.float32(-10000)))
    for _ in range(2):
        attended = dense(g, attention(g, x, bias), WIDTH, WIDTH)
        x = norm(g, g.node("Add", g.node("Identity", attended), x))
        inner = gelu(g, dense(g, x, WIDTH, 4 * WIDTH))
        x = norm(g, g.node("Add", dense(g, inner, 4 * WIDTH, WIDTH), x))
    first = g.node("Gather", x, g.constant(numpy.int64(0)), axis=1)
    pooled = g.node(
        "Tanh", g.node("Gemm", first, g.weight(WIDTH, WIDTH), g.weight(WIDTH), transB=1)
    )
    g.output(x, "f4", "batch", "sequence", WIDTH)
    g.output(pooled, "f4", "batch", WIDTH)
    return g.model()


def steps(opset: int) -> Iterable[tuple[str, Callable[[Graph, str], str], tuple[int, ...]]]:
    """Single operators, each with the shape of its input in f32. Those that an opset does not have
    are left out."""

    def ints(g: Graph, *values: int) -> str:
        return g.tensor(numpy.array(values))

    def reduced(kind: str, moved: int, **more: int) -> Callable[[Graph, str], str]:
        def make(g: Graph, x: str) -> str:
            if opset < moved:
                return g.node(kind, x, axes=[0, -1], **more)
            return g.node(kind, x, ints(g, 0, -1), **more)

        return make

    def parts(g: Graph, x: str) -> str:
        more = {} if opset < 18 else {"num_outputs": 2}
        first, second = g.nodes_of("Split", 2, x, axis=1, **more)
        return g.node("Concat", second, first, axis=0)

    def sized(g: Graph, x: str) -> str:
        first, second = g.nodes_of("Split", 2, x, ints(g, 1, 3), axis=1)
        return g.node("Concat", second, first, axis=1)

    def top(g: Graph, x: str) -> str:
        values, places = g.nodes_of("TopK", 2, x, ints(g, 2), axis=1, largest=0)
        return g.node("Add", values, g.node("Cast", places, to=onnx.TensorProto.FLOAT))

    def gathered(g: Graph, x: str) -> str:
        return g.node("Gather", x, g.tensor(numpy.array([[1, -1]])), axis=1)

    def chosen(g: Graph, x: str) -> str:
        flags = g.node("Cast", g.node("Relu", x), to=onnx.TensorProto.BOOL)
        return g.node("Where", flags, x, g.constant(numpy.float32(-3)))

    def largest(g: Graph, x: str) -> str:
        found = g.node("ArgMax", x, axis=1, keepdims=0, select_last_index=1)
        return g.node("Cast", found, to=onnx.TensorProto.FLOAT)

    yield "mean", reduced("ReduceMean", 18, keepdims=0), (3, 4, 5)
    yield "max", reduced("ReduceMax", 18), (3, 4, 5)
    yield "sum", reduced("ReduceSum", 13), (3, 4, 5)
    yield "mean of all", lambda g, x: g.node("ReduceMean", x), (3, 4)
    yield "parts", parts, (3, 4)
    yield "sized parts", sized, (3, 4)
    yield "top", top, (3, 4)
    yield "gather", gathered, (3, 4)
    yield "where", chosen, (3, 4)
    yield "largest", largest, (3, 4)
    yield "squeeze", lambda g, x: g.node("Squeeze", x, ints(g, -2)), (3, 1, 4)
    yield "squeeze all", lambda g, x: g.node("Squeeze", x), (3, 1, 4)
    yield "unsqueeze", lambda g, x: g.node("Unsqueeze", x, ints(g, 0, -1)), (3, 4)
    yield (
        "slice",
        lambda g, x: g.node(
            "Slice", x, ints(g, -1, 0), ints(g, -9, 9), ints(g, 1, 0), ints(g, -2, 1)
        ),
        (3, 5),
    )
    yield (
        "slice by i32",
        lambda g, x: g.node(
            "Slice", x, g.tensor(numpy.array([1], "i4")), g.tensor(numpy.array([3], "i4"))
        ),
        (4, 5),
    )
    yield "softmax", lambda g, x: g.node("Softmax", x, axis=0), (3, 4)
    yield "flatten", lambda g, x: g.node("Flatten", x, axis=2), (2, 3, 4, 5)
    yield "flatten all", lambda g, x: g.node("Flatten", x, axis=0), (2, 3)
    yield "reshape", lambda g, x: g.node("Reshape", x, ints(g, 0, -1, 2)), (2, 3, 4)
    yield "expand", lambda g, x: g.node("Expand", x, ints(g, 2, 1, 4)), (3, 1)
    yield "transpose", lambda g, x: g.node("Transpose", x), (2, 3, 4)
    yield "swish", lambda g, x: g.node("Mul", g.node("Sigmoid", x), x), (3, 4)
    yield "power", lambda g, x: g.node("Pow", x, g.constant(numpy.int32(3))), (3, 4)
    yield "tanh", lambda g, x: g.node("Tanh", x), (3, 4)
    yield "gemm", lambda g, x: g.node("Gemm", x, g.weight(4, 2), alpha=0.5), (3, 4)
    yield "vector", lambda g, x: g.node("MatMul", x, g.weight(4)), (3, 4)
    yield (
        "norm",
        lambda g, x: g.node("LayerNormalization", x, g.weight(4), g.weight(4), epsilon=0.1),
        (3, 4),
    )
    if opset >= 20:
        yield "gelu", lambda g, x: g.node("Gelu", x, approximate="tanh"), (3, 4)
    if opset >= 23:
        yield "attention", lambda g, x: g.node("Attention", x, x, x, is_causal=1), (2, 2, 3, 4)
        yield (
            "packed attention",
            lambda g, x: g.node("Attention", x, x, x, q_num_heads=2, kv_num_heads=2),
            (2, 3, 8),
        )
        yield "rms norm", lambda g, x: g.node("RMSNormalization", x, g.weight(4)), (3, 4)


def rows(g: Graph, x: str, width: int) -> str:
    """x as a matrix: its leading dimensions become one."""
    return g.node("Reshape", x, g.shape(-1, width))


def split_again(g: Graph, matrix: str, like: str, *last: int) -> str:
    """The rows of a matrix with the leading dimensions of another value."""
    return g.node("Reshape", matrix, g.shape(g.length(like, 0), g.length(like, 1), *last))


def products_of_rows() -> Any:
    """Products as exporters of TensorFlow and of older layers of PyTorch write them."""
    g = Graph(17)
    x = g.input("x", "f4", "batch", "sequence", 8)
    flat = rows(g, x, 8)
    product = g.node("Gemm", flat, g.weight(8, 12), g.weight(12))
    heads = split_again(g, product, x, 3, 4)
    turned = g.node("Gemm", flat, g.weight(6, 8), g.weight(6), transB=1)
    bare = g.node("Gemm", g.node("Tanh", turned), g.weight(5, 6), transB=1)
    added = g.node("Add", g.node("MatMul", flat, g.weight(8, 8)), g.weight(8))
    summed = g.node("Mul", g.node("Add", added, flat), g.constant(numpy.float32(2)))
    weighed = g.node("Softmax", summed, axis=1)
    normal = g.node("LayerNormalization", weighed, g.weight(8), g.weight(8), axis=1)
    g.output(heads, "f4", "batch", "sequence", 3, 4)
    g.output(split_again(g, bare, x, 5), "f4", "batch", "sequence", 5)
    g.output(split_again(g, normal, x, 8), "f4", "batch", "sequence", 8)
    return g.model()
