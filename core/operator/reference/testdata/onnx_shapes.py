"""Writes random calls of operators, most of them wrong, with the shapes that ONNX infers.

onnx_shapes.py FOLDER SEED OPERATOR...
"""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper, shape_inference

RNG = np.random.default_rng(int(sys.argv[2]))
REPEATS = 400
KINDS = [TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL]
NUMBERS = {"axes", "shape", "split", "starts", "ends", "steps", "K"}
TYPES = {
    TensorProto.FLOAT: "tensor(float)",
    TensorProto.INT64: "tensor(int64)",
    TensorProto.BOOL: "tensor(bool)",
}


def one_of(*values):
    return values[RNG.integers(len(values))]


def size():
    return int(RNG.choice([0, 1, 2, 3, 4, 6], p=[0.05, 0.25, 0.3, 0.2, 0.15, 0.05]))


def shape():
    return [size() for _ in range(RNG.choice([0, 1, 2, 3, 4], p=[0.05, 0.2, 0.35, 0.2, 0.2]))]


def related(first):
    """Returns a shape that is often near another one."""
    made = list(first)
    for _ in range(RNG.integers(3)):
        if made and RNG.random() < 0.7:
            made[RNG.integers(len(made))] = one_of(1, size(), *first)
        elif RNG.random() < 0.5:
            made = made[1:]
        else:
            made = [size(), *made]
    return made if RNG.random() < 0.6 else made[::-1]


def numbers(name, first):
    rank = len(first)
    count = int(RNG.integers(0, rank + 2))
    if name == "shape":
        return [one_of(1, -1, 0, *first, size()) for _ in range(count)]
    if name == "K":
        return [int(RNG.integers(-1, 5)) for _ in range(one_of(1, 1, 1, 2))]
    if name == "split":
        return [size() for _ in range(one_of(1, 2, 3))]
    if name in ("axes", "perm"):
        count = rank if name == "perm" or RNG.random() < 0.3 else count
        made = [int(a) for a in RNG.permutation(rank + one_of(0, 0, 2))[:count]]
        return [a - rank if RNG.random() < 0.4 else a for a in made]
    count = max(1, rank - one_of(0, 0, 0, 0, 0, 1))
    return [int(RNG.integers(-5, 6)) for _ in range(count)]


def attribute(schema, a, first):
    rank = len(first)
    kind = str(a.type).rpartition(".")[2]
    if a.name == "axis":
        return int(RNG.integers(-rank - 1, rank + 1)) if rank else 0
    if a.name == "to":
        return one_of(*KINDS)
    if a.name == "stash_type" or kind == "STRING":
        return None
    if kind == "INTS":
        return numbers(a.name, first)
    if kind == "FLOAT":
        return 0.5
    if a.name in ("num_outputs", "num_heads", "q_num_heads", "kv_num_heads", "k"):
        return one_of(1, 2, 3)
    if a.name in ("rotary_embedding_dim", "softmax_precision"):
        return None
    return int(RNG.integers(2))


def heads(name, schema, attributes):
    """Returns shapes that fit for an operator on heads, sometimes with a change."""
    b, kv, q, new, past, d, dv = size(), one_of(1, 2), size(), size(), size(), 2 * size(), size()
    h, total = kv * one_of(1, 1, 2), new + past
    if name == "RotaryEmbedding":
        made = [[b, h, q, d], [5, d // 2], [5, d // 2], [b, q]]
        if RNG.random() < 0.5:
            made = [made[0], [b, q, d // 2], [b, q, d // 2], None]
    else:
        mask = one_of([q, total], [1, total], [h, q, total], [b, 1, q, total], None)
        made = [[b, h, q, d], [b, kv, new, d], [b, kv, new, dv], mask]
        if new and RNG.random() < 0.5:  # ONNX does not count the past if there are no new keys
            made += [[b, kv, past, d], [b, kv, past, dv], None]
        else:
            made += [None, None, [b]]
        if made[6] and mask:
            mask[-1] = new
    if RNG.random() < 0.4:
        for at in range(1 if name == "RotaryEmbedding" else 3):
            one, n, two, three = made[at]
            made[at] = [one, two, n * three]
        attributes.update({a: h for a in ("num_heads", "q_num_heads") if a in schema.attributes})
        attributes.update({a: kv for a in ("kv_num_heads",) if a in schema.attributes})
    if RNG.random() < 0.4:
        at = RNG.integers(len(made))
        made[at] = related(made[at] or [2])
    return made[: len(schema.inputs)]


def call(name, opset):
    schema = defs.get_schema(name, opset, "")
    first = shape()
    attributes, fitting = {}, None
    if name in ("RotaryEmbedding", "Attention"):
        fitting = heads(name, schema, attributes)
    for key, a in schema.attributes.items():
        if fitting and "num_heads" in key:
            continue
        value = attribute(schema, a, first) if a.required or RNG.random() < 0.5 else None
        if value is not None:
            attributes[key] = value
    inputs = []
    variadic = name == "Concat"
    for i, p in enumerate(schema.inputs if not variadic else [schema.inputs[0]] * one_of(1, 2, 3)):
        is_left_out = str(p.option).endswith("Optional") and RNG.random() < 0.4
        if is_left_out if fitting is None else fitting[i] is None:
            inputs.append(None)
            continue
        allowed = {
            t
            for c in schema.type_constraints
            if c.type_param_str == p.type_str
            for t in c.allowed_type_strs
        }
        kind = next((k for k in KINDS if TYPES[k] in (allowed or {p.type_str})), None)
        if p.name in NUMBERS and kind == TensorProto.INT64:
            values = numbers(p.name, first)
            inputs.append({"type": TensorProto.INT64, "shape": [len(values)], "known": values})
        else:
            near = fitting[i] if fitting else first if i == 0 else related(first)
            inputs.append({"type": kind, "shape": near})
    while inputs and inputs[-1] is None:
        inputs.pop()
    outputs = len(schema.outputs)
    if name == "Split":
        # The inference of ONNX aborts if there are fewer sizes than outputs.
        given = [attributes.get("split")] + [v["known"] for v in inputs[1:] if v is not None]
        outputs = next((len(g) for g in given if g), one_of(1, 2, 3))
        if "num_outputs" in attributes:
            attributes["num_outputs"] = outputs
    if name == "Attention" and len(inputs) == 7:
        outputs = 1  # no present beside lengths
    node = helper.make_node(
        name, ["" if v is None else f"i{i}" for i, v in enumerate(inputs)],
        [f"o{i}" for i in range(outputs)],
    )  # fmt: skip
    for key, value in attributes.items():
        kind = onnx.AttributeProto.INTS if isinstance(value, list) else None
        node.attribute.append(helper.make_attribute(key, value, attr_type=kind))
    types, data = {}, {}
    for i, v in enumerate(inputs):
        if v is not None:
            types[f"i{i}"] = helper.make_tensor_type_proto(v["type"], v["shape"])
            if "known" in v:
                data[f"i{i}"] = numpy_helper.from_array(np.array(v["known"], dtype="i8"))
    case = {
        "operator": name,
        "opset": opset,
        "attributes": attributes,
        "inputs": inputs,
        "wanted": outputs,
    }
    try:
        made = shape_inference.infer_node_outputs(
            schema, node, types, data, opset_imports=[helper.make_opsetid("", opset)], ir_version=10
        )
    except Exception as e:  # any error of the inference in C++
        case["error"] = str(e)[-300:]
        return case
    case["outputs"] = []
    for i in range(outputs):
        of = made.get(f"o{i}")
        dims = (
            of.tensor_type.shape.dim
            if of is not None and of.tensor_type.HasField("shape")
            else None
        )
        is_whole = dims is not None and all(
            d.HasField("dim_value") and d.dim_value >= 0 for d in dims
        )
        case["outputs"].append([d.dim_value for d in dims] if is_whole else None)
    return case


def main():
    cases = []
    for name in sys.argv[3:]:
        opsets = sorted(
            {
                defs.get_schema(name, o, "").since_version
                for o in range(7, 26)
                if defs.has(name, o, "")
            }
            & set(range(7, 29))
        )
        for _ in range(REPEATS):
            cases.append(call(name, one_of(25, *opsets)))
    folder = pathlib.Path(sys.argv[1])
    (folder / "calls.json").write_text(json.dumps({"version": onnx.__version__, "calls": cases}))


main()
