"""Writes random cases of the operators with the results of NumPy for a test in Go.

  numpy_cases.py FOLDER SEED

Floating-point cases are computed in float64. Sizes of 0 and 1, NaN and infinities are frequent.
"""

import itertools
import math
import pathlib
import sys

import numpy as np
from stored import Cases

np.seterr(all="ignore")

KINDS = {
    "f4": 1, "u1": 2, "i1": 3, "u2": 4, "i2": 5, "i4": 6, "i8": 7, "b1": 9, "f8": 11, "u4": 12,
    "u8": 13, "f2": 10,
}  # fmt: skip
Q4_0, Q8_0 = 258, 264

CASES = Cases(pathlib.Path(sys.argv[1]))
RNG = np.random.default_rng(int(sys.argv[2]))
REPEATS = 80
OPERATORS = {}

erf = np.vectorize(math.erf, otypes=["f8"])
erfc = np.vectorize(math.erfc, otypes=["f8"])


def one_of(*values):
    return values[RNG.integers(len(values))]


def size():
    return int(RNG.choice([0, 1, 2, 3, 4, 7], p=[0.08, 0.22, 0.25, 0.25, 0.1, 0.1]))


def shape(least=0, most=5):
    return tuple(size() for _ in range(RNG.integers(least, most + 1)))


def narrower(full):
    """Returns a shape that broadcasts to another one."""
    made = [1 if RNG.random() < 0.3 else n for n in full]
    return tuple(made[RNG.integers(len(made) + 1) if RNG.random() < 0.4 and made else 0 :])


def values(of, kind="f8"):
    if kind[0] == "f":
        made = RNG.normal(size=of) * one_of(0.1, 1, 10)
        if RNG.random() < 0.3:
            special = RNG.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], size=of)
            made = np.where(RNG.random(size=of) < 0.1, special, made)
        return made.astype(kind)
    if kind == "b1":
        return RNG.integers(2, size=of).astype(bool)
    made = RNG.integers(0, 256, size=(*of, np.dtype(kind).itemsize), dtype=np.uint8)
    full = np.ascontiguousarray(made).view(kind).reshape(of)
    small = RNG.integers(0, 5, size=of).astype(kind)
    return np.where(RNG.random(size=of) < 0.5, full, small).astype(kind)


def operator(*names):
    """The decorated function yields one case: inputs, attributes and expected outputs."""

    def register(function):
        for name in names:
            OPERATORS[name] = function
        return function

    return register


def i8(numbers):
    return np.array(numbers, dtype="i8").reshape(-1)


def put(value):
    if value is None:
        return None
    if isinstance(value, tuple):  # blocks: the type, the shape and the bytes
        return CASES.tensor(*value)
    value = np.asarray(value)
    kind = "b1" if value.dtype == bool else value.dtype.str[1:]
    return CASES.tensor(KINDS[kind], value.shape, np.ascontiguousarray(value).tobytes())


def add(name, number, inputs, attributes, outputs, opset=0):
    tolerance = 1e-6 if any(o is not None and o.dtype == np.float32 for o in outputs) else 1e-11
    CASES.add(
        name=f"{name}_{number}",
        operator=name,
        domain="ferrum" if name[0].islower() else "",
        opset=opset,
        attributes=attributes,
        rtol=tolerance,
        atol=tolerance,
        sets=[{"inputs": [put(i) for i in inputs], "outputs": [put(o) for o in outputs]}],
    )


def integers(function, a, b, kind):
    """Computes with integers of any length and keeps the low bits."""
    a, b = np.broadcast_arrays(a, b)
    bits = 8 * np.dtype(kind).itemsize
    made = [function(int(x), int(y)) % (1 << bits) for x, y in zip(a.flat, b.flat, strict=True)]
    unsigned = np.array(made, dtype=f"u{bits // 8}")
    return unsigned.view(kind).reshape(a.shape)


def divided(x, y):
    return 0 if y == 0 else (abs(x) // abs(y)) * (-1 if (x < 0) != (y < 0) else 1)


@operator("Add", "Sub", "Mul", "Div")
def arithmetic(name):
    full = shape()
    kind = one_of("f8", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
    a, b = values(narrower(full), kind), values(narrower(full), kind)
    if kind == "f8":
        function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[name]
        return [a, b], {}, [function(a, b)]
    function = {
        "Add": lambda x, y: x + y,
        "Sub": lambda x, y: x - y,
        "Mul": lambda x, y: x * y,
        "Div": divided,
    }[name]
    return [a, b], {}, [integers(function, a, b, kind)]


@operator("Pow")
def power(name):
    full = shape()
    x_kind, y_kind = one_of(("f8", "f8"), ("f8", "i4"), ("i4", "u1"), ("i8", "i8"))
    x, y = values(narrower(full), x_kind), values(narrower(full), y_kind)
    if x_kind == "f8":
        return [x, y], {}, [np.power(x, y.astype("f8"))]
    y = (y % 70).astype(y_kind)
    return [x, y], {}, [integers(pow, x, y, x_kind)]


@operator("Sqrt", "Tanh", "Erf", "Relu", "Gelu", "Swish")
def unary(name):
    x = values(shape())
    alpha = float(np.float32(RNG.normal()))
    cubic = math.sqrt(2 / math.pi) * (x + float(np.float64(0.044715)) * x**3)
    attributes, expected = {
        "Sqrt": ({}, np.sqrt(x)),
        "Tanh": ({}, np.tanh(x)),
        "Erf": ({}, erf(x)),
        "Relu": ({}, np.maximum(x, 0)),
        "Swish": ({"alpha": alpha}, x * (1 / (1 + np.exp(-alpha * x)))),
        "Gelu": one_of(
            ({}, 0.5 * x * erfc(-x / math.sqrt(2))),
            ({"approximate": "tanh"}, 0.5 * x * (1 + np.tanh(cubic))),
        ),
    }[name]
    return [x], attributes, [expected]


@operator("Where")
def where(name):
    full, kind = shape(), one_of("f8", "i4", "u8", "b1")
    c, x, y = (values(narrower(full), k) for k in ("b1", kind, kind))
    return [c, x, y], {}, [np.where(c, x, y)]


@operator("Cast")
def cast(name):
    x, to = one_of(
        (values(shape()), "f4"),
        (values(shape()), "b1"),
        (np.clip(np.nan_to_num(values(shape())) * 9, -128, 127), "i1"),
        (values(shape(), "i8"), "i2"),
        (values(shape(), "u8"), "f4"),
        (values(shape(), "i4"), "u1"),
        (values(shape(), "b1"), "f8"),
    )
    return [x], {"to": KINDS[to]}, [x.astype(to)]


@operator("Expand")
def expand(name):
    full = shape()
    x, target = values(narrower(full)), narrower(full)
    return [x, i8(target)], {}, [x * np.ones(target)]


def axis_of(x):
    axis = int(RNG.integers(x.ndim))
    return axis - x.ndim if RNG.random() < 0.5 else axis


@operator("Concat")
def concat(name):
    x = values(shape(1))
    axis = axis_of(x)
    parts = [x]
    for _ in range(RNG.integers(4)):
        other = list(x.shape)
        other[axis] = size()
        parts.append(values(tuple(other)))
    return parts, {"axis": axis}, [np.concatenate(parts, axis)]


@operator("Split")
def split(name):
    x = values(shape(1))
    axis = axis_of(x)
    cuts = sorted(int(c) for c in RNG.integers(x.shape[axis] + 1, size=RNG.integers(4)))
    parts = np.split(x, cuts, axis)
    return [x, i8([p.shape[axis] for p in parts])], {"axis": axis}, parts


@operator("Slice")
def slices(name):
    x = values(shape(1))
    axes = [int(a) for a in RNG.permutation(x.ndim)[: RNG.integers(1, x.ndim + 1)]]
    far = one_of(9, 2**31 - 1, 2**62)
    starts = [int(RNG.integers(-far, far)) for _ in axes]
    ends = [int(RNG.integers(-far, far)) for _ in axes]
    if RNG.random() < 0.7:
        starts, ends = [s % 17 - 8 for s in starts], [e % 17 - 8 for e in ends]
    steps = [one_of(1, 2, 3, -1, -2, far, -far) for _ in axes]
    # ONNX limits a start to 0, NumPy to -1 if the step is negative.
    least = [-x.shape[a] if step < 0 else -far for a, step in zip(axes, steps, strict=True)]
    starts = [max(s, n) for s, n in zip(starts, least, strict=True)]
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        index[axis] = slice(start, end if step > 0 or end >= -x.shape[axis] else None, step)
    return [x, i8(starts), i8(ends), i8(axes), i8(steps)], {}, [x[tuple(index)]]


@operator("Reshape")
def reshape(name):
    x = values(shape())
    target = list(RNG.permutation((*x.shape, 1)))
    target = [int(n) for n in target]
    if len(target) > 1 and RNG.random() < 0.5:
        target = [target[0] * target[1], *target[2:]]
    expected = x.reshape(target)
    if x.size and RNG.random() < 0.5:
        target[RNG.integers(len(target))] = -1
    return [x, i8(target)], {"allowzero": 1}, [expected]


@operator("Unsqueeze")
def unsqueeze(name):
    x = values(shape())
    rank = x.ndim + int(RNG.integers(0, 4))
    axes = [int(a) for a in RNG.permutation(rank)[: rank - x.ndim]]
    return [x, i8(axes)], {}, [np.expand_dims(x, tuple(axes))]


@operator("Squeeze")
def squeeze(name):
    x = values(shape())
    if RNG.random() < 0.3:
        return [x], {}, [np.squeeze(x)]
    axes = [a - x.ndim for a, n in enumerate(x.shape) if n == 1 and RNG.random() < 0.7]
    return [x, i8(axes)], {}, [np.squeeze(x, tuple(axes))]


@operator("Transpose")
def transpose(name):
    x = values(shape(), one_of("f8", "u2"))
    order = [int(a) for a in RNG.permutation(x.ndim)]
    return one_of(([x], {}, [x.T]), ([x], {"perm": order}, [x.transpose(order)]))


@operator("Gather")
def gather(name):
    x = values(shape(1, 3))
    axis = axis_of(x)
    n = x.shape[axis]
    places = RNG.integers(-n, n, size=shape(0, 2) if n else (0, 2)).astype(one_of("i4", "i8"))
    return [x, places], {"axis": axis}, [np.take(x, places, axis)]


def reduction(x):
    axes = [int(a) for a in RNG.permutation(x.ndim)[: RNG.integers(x.ndim + 1)]]
    keep = int(RNG.integers(2))
    return axes, {"keepdims": keep}, {"axis": tuple(axes) or None, "keepdims": bool(keep)}


@operator("ReduceSum", "ReduceMean", "ReduceMax")
def reduce(name):
    kind = one_of("f8", "f8", "i4", "u8")
    x = values(shape(), kind)
    axes, attributes, how = reduction(x)
    inputs = [x, i8(axes)]
    if name == "ReduceSum":
        return inputs, attributes, [np.asarray(np.sum(x, dtype=kind, **how))]
    if name == "ReduceMax":
        least = -np.inf if kind == "f8" else np.iinfo(kind).min
        return inputs, attributes, [np.asarray(np.max(x, initial=least, **how))]
    if kind == "f8":
        return inputs, attributes, [np.asarray(np.mean(x, **how))]
    sums = np.asarray(np.sum(x.astype(object), **how))
    n = x.size // sums.size if sums.size else 0
    x = (x % 1000).astype(kind)  # no sum passes 64 bits
    sums = np.asarray(np.sum(x.astype(object), **how))
    means = [divided(int(s), n) for s in sums.flat]
    return [x, i8(axes)], attributes, [np.array(means, dtype=kind).reshape(sums.shape)]


@operator("ArgMax")
def argmax(name):
    x = values(shape(1), one_of("f8", "i1", "u8"))
    axis = axis_of(x)
    if x.shape[axis] == 0:
        x = np.zeros([max(n, 1) for n in x.shape])
    keep, last = int(RNG.integers(2)), int(RNG.integers(2))
    expected = np.argmax(x, axis, keepdims=bool(keep))
    if last:
        expected = x.shape[axis] - 1 - np.argmax(np.flip(x, axis), axis, keepdims=bool(keep))
    attributes = {"axis": axis, "keepdims": keep, "select_last_index": last}
    return [x], attributes, [np.asarray(expected, dtype="i8")]


@operator("TopK")
def topk(name):
    x = values(shape(1), one_of("f8", "i1", "u8"))
    axis, largest = axis_of(x), int(RNG.integers(2))
    k = int(RNG.integers(x.shape[axis] + 1))
    moved = np.moveaxis(x, axis, -1)
    order = np.zeros((*moved.shape[:-1], k), dtype="i8")
    for index in itertools.product(*map(range, moved.shape[:-1])):
        line = moved[index].tolist()
        sign = -1 if largest else 1
        key = [(sign * math.inf, sign) if v != v else (sign * v, 0) for v in line]
        order[index] = sorted(range(len(line)), key=lambda i, key=key: (key[i], i))[:k]
    order = np.moveaxis(order, -1, axis)
    return (
        [x, i8([k])],
        {"axis": axis, "largest": largest},
        [np.take_along_axis(x, order, axis), order],
    )


@operator("MatMul")
def matmul(name):
    kind = one_of("f8", "f8", "i4", "u8")
    lead, m, k, n = shape(0, 2), size(), size(), size()
    a = values(one_of((k,), (m, k), (*narrower(lead), m, k)), kind)
    b = values(one_of((k,), (k, n), (*narrower(lead), k, n)), kind)
    return [a, b], {}, [np.asarray(np.matmul(a, b))]


@operator("Gemm")
def gemm(name):
    m, k, n = size(), size(), size()
    flags = {"transA": int(RNG.integers(2)), "transB": int(RNG.integers(2))}
    alpha, beta = (float(np.float32(RNG.normal())) for _ in range(2))
    a, b = values((m, k)), values((k, n))
    c = one_of(None, values(narrower((m, n))))
    expected = alpha * (a @ b) + (0 if c is None else beta * c)
    inputs = [a.T if flags["transA"] else a, b.T if flags["transB"] else b, c]
    return inputs, {**flags, "alpha": alpha, "beta": beta}, [expected]


@operator("Softmax")
def softmax(name):
    x = values(shape(1))
    axis = axis_of(x)
    if x.shape[axis] == 0:
        return [x], {"axis": axis}, [x]
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return [x], {"axis": axis}, [e / np.sum(e, axis, keepdims=True)]


def epsilon():
    return float(np.float32(one_of(1e-5, 1e-6, 0.1)))


@operator("LayerNormalization", "RMSNormalization")
def norm(name):
    x = values(shape(1))
    axis, e = axis_of(x), epsilon()
    over = tuple(range(axis % x.ndim, x.ndim))
    scale, bias = values(narrower(x.shape)), one_of(None, values(narrower(x.shape)))
    attributes = {"axis": axis, "epsilon": e}
    if name == "RMSNormalization":
        root = np.sqrt(np.mean(x * x, over, keepdims=True) + e)
        return [x, scale], attributes, [x / root * scale]
    mean = np.mean(x, over, keepdims=True)
    inverse = 1 / np.sqrt(np.mean((x - mean) ** 2, over, keepdims=True) + e)
    y = (x - mean) * inverse * scale + (0 if bias is None else bias)
    stash = [mean.astype("f4"), inverse.astype("f4")]
    return [x, scale, bias], attributes, one_of([y], [y, *stash])


@operator("RotaryEmbedding")
def rotary(name):
    b, s, h, half, rest = size(), size(), 1 + size(), 1 + size(), size()
    d = 2 * half + rest
    x = values((b, h, s, d), "f4")
    positions = RNG.integers(9, size=(b, s))
    angles = RNG.normal(size=(9, half)) if RNG.random() < 0.5 else RNG.normal(size=(b, s, half))
    inputs = [x, np.cos(angles).astype("f4"), np.sin(angles).astype("f4")]
    row = [c.astype("f8") for c in inputs[1:]]
    if angles.ndim == 2:
        inputs.append(positions)
        row = [c[positions] for c in row]
    cos, sin = (c[:, None] for c in row)
    interleaved = int(RNG.integers(2))
    first = slice(0, 2 * half, 2) if interleaved else slice(0, half)
    second = slice(1, 2 * half, 2) if interleaved else slice(half, 2 * half)
    wide, y = x.astype("f8"), x.astype("f8")
    y[..., first] = wide[..., first] * cos - wide[..., second] * sin
    y[..., second] = wide[..., second] * cos + wide[..., first] * sin
    y = y.astype("f4")
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": 2 * half}
    if RNG.random() < 0.5:
        attributes["num_heads"] = h
        inputs[0], y = (t.swapaxes(1, 2).reshape(b, s, h * d) for t in (x, y))
    return inputs, attributes, [y]


def attended(q, k, v, bias, scale, cap):
    """Computes one query over the keys whose bias is not -infinity."""
    raw = np.array([np.sum(q * row) * scale if q.size else 0.0 for row in k])
    capped = cap * np.tanh(raw / cap) if cap > 0 else raw
    scores = capped + bias
    p, seen = np.zeros(len(k)), bias != -np.inf
    if seen.any() and np.max(scores[seen]) != -np.inf:
        e = np.exp(scores[seen] - np.max(scores[seen]))
        p[seen] = e / np.sum(e)
    y = np.sum(p[seen][:, None] * v[seen], axis=0)
    return y, (raw, capped, scores, p)


@operator("Attention")
def attention(name):
    b, kv, group, sq, past, new = size(), 1 + size() % 3, one_of(1, 2, 3), size(), size(), size()
    d, dv, packed = size(), size(), RNG.random() < 0.3
    if packed:
        d, dv = d + 1, dv + 1
    q, k, v = values((b, kv * group, sq, d)), values((b, kv, new, d)), values((b, kv, new, dv))
    inputs, attributes = [q, k, v, None, None, None, None], {}
    keys, vals, offset = k, v, np.zeros(b, dtype="i8")
    limits = np.full(b, 10**6)
    form = one_of("plain", "past", "lengths")
    if form == "past":
        inputs[4], inputs[5] = values((b, kv, past, d)), values((b, kv, past, dv))
        keys, vals = np.concatenate([inputs[4], k], 2), np.concatenate([inputs[5], v], 2)
        offset += past
    if form == "lengths":
        limits = inputs[6] = RNG.integers(new + 1, size=b)
        offset = limits - sq
    total = keys.shape[2]
    full = (b, kv * group, sq, total)
    bias = np.zeros(full)
    if RNG.random() < 0.6:
        kind = one_of("f8", "b1")
        inner = (*narrower(full[:3]), int(RNG.integers(total + 1)))
        mask = inputs[3] = values(inner, kind)
        if kind == "f8":
            mask = inputs[3] = np.where(RNG.random(inner) < 0.3, -np.inf, np.nan_to_num(mask))
        added = np.where(mask, 0, -np.inf) if kind == "b1" else mask
        widths = [(0, 0)] * (added.ndim - 1) + [(0, total - inner[-1])]
        bias = bias + np.pad(added, widths, constant_values=-np.inf)
    causal, left, right = int(RNG.integers(2)), one_of(-1, 0, 2), one_of(-1, -1, 1)
    i, j = np.arange(sq)[None, :, None] + offset[:, None, None], np.arange(total)
    hidden = (j >= limits[:, None, None]) | (causal & (j > i))
    if left >= 0:
        hidden = hidden | (i - j > left)
    if right >= 0:
        hidden = hidden | (j - i > right)
    bias = np.where(hidden[:, None], -np.inf, bias)
    scale = float(np.float32(one_of(0.5, 0.1)))
    cap, mode = float(one_of(0, 0, 2)), int(RNG.integers(4))
    attributes.update(
        is_causal=causal, left_window_size=left, right_window_size=right, softcap=cap,
        qk_matmul_output_mode=mode, scale=scale,
    )  # fmt: skip
    y, shown = np.zeros((*full[:3], dv)), np.zeros(full)
    for at in np.ndindex(full[:3]):
        head = (at[0], at[1] // group)
        y[at], stages = attended(q[at], keys[head], vals[head], bias[at], scale, cap)
        shown[at] = stages[mode]
    if packed:
        attributes.update(q_num_heads=kv * group, kv_num_heads=kv)
        inputs[:3] = (
            t.swapaxes(1, 2).reshape(b, t.shape[2], -1)
            if t.size
            else np.zeros((b, t.shape[2], t.shape[1] * t.shape[3]))
            for t in inputs[:3]
        )
        y = y.swapaxes(1, 2).reshape(b, sq, kv * group * dv)
    caches = [None, None] if form == "lengths" else [keys, vals]
    return inputs, attributes, [y, *caches, shown]


@operator("rms_norm_residual")
def rms_norm_residual(name):
    x = values(shape(1))
    residual, scale, e = values(x.shape), values(x.shape[-1:]), epsilon()
    total = x + residual
    root = np.sqrt(np.mean(total * total, -1, keepdims=True) + e)
    return [x, residual, scale], {"epsilon": e}, [total / root * scale, total]


@operator("layer_norm_residual")
def layer_norm_residual(name):
    x = values(shape(1))
    residual, scale, e = values(x.shape), values(x.shape[-1:]), epsilon()
    bias = one_of(None, values(x.shape[-1:]))
    total = x + residual
    centred = total - np.mean(total, -1, keepdims=True)
    root = np.sqrt(np.mean(centred * centred, -1, keepdims=True) + e)
    y = centred / root * scale + (0 if bias is None else bias)
    return [x, residual, scale, bias], {"epsilon": e}, [y, total]


@operator("self_attention")
def self_attention(name):
    b, tokens, d = size(), size(), size()
    kv, group = one_of(1, 1, 2), one_of(1, 2, 3)
    heads = kv * group
    x, full = values((b, tokens, (heads + 2 * kv) * d)), (b, heads, tokens, tokens)
    mask, bias = None, np.zeros(full)
    if RNG.random() < 0.6:
        mask = values(one_of((b, 1, 1, tokens), (tokens, tokens)), "b1")
        bias = bias + np.where(mask, 0, -np.inf)
    causal = int(RNG.integers(2))
    if causal:
        bias = np.where(np.tri(tokens, dtype=bool), bias, -np.inf)
    parts = x.reshape(b, tokens, heads + 2 * kv, d).swapaxes(1, 2)
    scale, y = float(np.float32(one_of(0.5, 0.1))), np.zeros((*full[:3], d))
    for at in np.ndindex(full[:3]):
        key = heads + at[1] // group
        keys, vals = parts[at[0], key], parts[at[0], key + kv]
        y[at], _ = attended(parts[at], keys, vals, bias[at], scale, 0.0)
    attributes = {"num_heads": heads, "kv_num_heads": kv, "is_causal": causal, "scale": scale}
    return [x, mask], attributes, [y.swapaxes(1, 2).reshape(b, tokens, heads * d)]


@operator("paged_attention")
def paged_attention(name):
    s, sq, most, kv, group = size(), size(), size(), 1 + size() % 3, one_of(1, 2, 3)
    tokens, d, dv, pages = 1 + size(), 1 + size(), size(), 1 + size()
    heads, window = kv * group, int(one_of(-1, -1, 0, 2, 5))
    q = values((s, sq, heads * d))
    k, v = values((pages, kv, tokens, d)), values((pages, kv, tokens, dv))
    tables = RNG.integers(pages, size=(s, most)).astype("i4")
    lengths = RNG.integers(most * tokens + 1, size=s).astype("i4")
    scale, cap = float(np.float32(one_of(0.5, 0.1))), float(one_of(0.0, 0.0, 2.0))
    y = np.zeros((s, sq, heads, dv))
    for at, query, head in np.ndindex(s, sq, heads):
        key = head // group
        keys = k[tables[at], key].reshape(most * tokens, d)
        vals = v[tables[at], key].reshape(most * tokens, dv)
        position, tokens_of = lengths[at] - sq + query, np.arange(most * tokens)
        seen = (tokens_of < lengths[at]) & (tokens_of <= position)
        if window >= 0:
            seen &= tokens_of >= position - window
        row = q[at, query].reshape(heads, d)[head]
        bias = np.where(seen, 0, -np.inf)
        y[at, query, head], _ = attended(row, keys, vals, bias, scale, cap)
    for at, block in np.ndindex(s, most):
        first = lengths[at] - sq - window if window >= 0 else 0
        if block * tokens >= lengths[at] or (block + 1) * tokens <= first:
            tables[at, block] = one_of(-1, pages)
    attributes = {"scale": scale, "softcap": cap, "left_window_size": window}
    return [q, k, v, tables, lengths], attributes, [y.reshape(s, sq, heads * dv)]


@operator("silu_mul")
def silu_mul(name):
    gate = values(shape())
    up = values(gate.shape)
    return [gate, up], {}, [gate * (1 / (1 + np.exp(-gate))) * up]


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * erfc(-x / math.sqrt(2)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def fused(product, bias):
    """Returns the inputs, the attributes and the output of a linear operator."""
    activation = one_of(*ACTIVATIONS)
    residual = one_of(None, values(product.shape))
    y = ACTIVATIONS[activation](product + (0 if bias is None else bias))
    if residual is not None:
        y = y + residual
    return [bias, residual], {"activation": activation}, [y]


@operator("linear")
def linear(name):
    x, n = values(shape(1)), size()
    w, bias = values((n, x.shape[-1])), one_of(None, values((n,)))
    more, attributes, outputs = fused(x @ w.T, bias)
    return [x, w, *more], attributes, outputs


@operator("quantized_linear")
def quantized_linear(name):
    k, n = 32 * size(), size()
    x, kind = values((*shape(0, 2), k)), one_of(Q4_0, Q8_0)
    scale = RNG.normal(size=(n, k // 32)).astype("f2")
    if kind == Q8_0:
        q = RNG.integers(-128, 128, size=(n, k // 32, 32)).astype("i1")
        packed = q.view("u1").reshape(n, k // 32, 32)
    else:
        q = RNG.integers(-8, 8, size=(n, k // 32, 32))
        packed = ((q[..., :16] + 8) | (q[..., 16:] + 8) << 4).astype("u1")
    scales = np.ascontiguousarray(scale[..., None]).view("u1").reshape(n, k // 32, 2)
    data = np.concatenate([scales, packed], -1).tobytes()
    w = (scale.astype("f8")[..., None] * q).reshape(n, k)
    more, attributes, outputs = fused(x @ w.T, one_of(None, values((n,))))
    return [x, (kind, (n, k), data), *more], attributes, outputs


def main():
    for name, function in OPERATORS.items():
        for number in range(REPEATS):
            add(name, number, *function(name))
    CASES.write(version=np.__version__)


main()
