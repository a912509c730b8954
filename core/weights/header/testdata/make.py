"""Writes the files of this folder with the packages that define their formats, and says in
expected.json what is in them. PyTorch is not needed: what torch.save writes is written with
Python's pickle, from stand-ins of torch's functions and classes that have the same names.

  make.py FOLDER
"""

import io
import json
import pathlib
import pickle
import sys
import zipfile
import zlib
from collections import OrderedDict

import gguf
import ml_dtypes
import numpy as np
import onnx
import safetensors.numpy

FOLDER = pathlib.Path(sys.argv[1])
EXPECTED = {}


def say(file, tensors, extra=None):
    EXPECTED[file] = {
        "tensors": {
            name: {
                "type": kind,
                "shape": list(array.shape),
                "crc32": zlib.crc32(np.ascontiguousarray(array).tobytes()),
            }
            for name, (kind, array) in tensors.items()
        },
        "extra": extra or {},
    }


def arrays():
    random = np.random.default_rng(7)
    return {
        "embed.weight": ("f32", random.standard_normal((5, 8), dtype=np.float32)),
        "layer.0.q": ("bf16", random.standard_normal((4, 3)).astype(ml_dtypes.bfloat16)),
        "layer.0.half": ("f16", random.standard_normal(7).astype(np.float16)),
        "ids": ("i64", np.arange(6).reshape(1, 6)),
        "scalar": ("f64", np.array(2.5)),
        "empty": ("f32", np.zeros((0, 3), np.float32)),
        'ä "quoted"': ("u8", np.arange(4, dtype=np.uint8)),
        "flag": ("bool", np.array([True, False, True])),
    }


def safetensors_file():
    a = arrays()
    safetensors.numpy.save_file(
        {k: v[1] for k, v in a.items()}, FOLDER / "plain.safetensors", metadata={"format": "np"}
    )
    say("plain.safetensors", a, {"format": "np"})


def numpy_files():
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.save(FOLDER / "c_order.npy", a)
    say("c_order.npy", {"": ("f32", a)})
    np.save(FOLDER / "fortran.npy", np.asfortranarray(a))
    say("fortran.npy", {"": ("f32", a)})
    big = np.arange(5, dtype=">i4")
    np.save(FOLDER / "big_endian.npy", big)
    say("big_endian.npy", {"": ("i32", big.astype("<i4"))})
    np.save(FOLDER / "records.npy", np.zeros(3, dtype=[("x", "<f4"), ("y", "<i2")]))
    np.save(FOLDER / "objects.npy", np.array([{"a": 1}], dtype=object))
    few = {"w": ("f32", a), "n": ("u16", np.arange(3, dtype=np.uint16))}
    np.savez(FOLDER / "stored.npz", **{k: v[1] for k, v in few.items()})
    say("stored.npz", few)
    np.savez_compressed(FOLDER / "deflated.npz", **{k: v[1] for k, v in few.items()})
    say("deflated.npz", few)


# ---------------------------------------------------------------- stand-ins of torch


class Named:
    """Pickled as a name of a module."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Storage:
    def __init__(self, key, kind, data):
        self.key, self.kind, self.data = key, kind, data


class Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments


class Pickler(pickle._Pickler):
    """Writes names that need not exist, as torch.save does for its own."""

    legacy = False

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        id = ("storage", Named("torch", value.kind), value.key, "cpu", len(value.data))
        return (*id, None) if self.legacy else id

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Named):
            self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
            return
        if isinstance(value, Call):
            self.save(value.function)
            self.save(tuple(value.arguments))
            self.write(pickle.REDUCE)
            return
        super().save(value, save_persistent_id)


def pickled(value, protocol=2, legacy=False):
    out = io.BytesIO()
    pickler = Pickler(out, protocol)
    pickler.legacy = legacy
    pickler.dump(value)
    return out.getvalue()


def tensor(storage, offset, shape, stride):
    return Call(
        Named("torch._utils", "_rebuild_tensor_v2"),
        storage,
        offset,
        shape,
        stride,
        False,
        OrderedDict(),
    )


def strided(data, offset, shape, stride):
    return np.lib.stride_tricks.as_strided(
        data[offset:], shape, [s * data.itemsize for s in stride]
    )


def checkpoint():
    """A nested dictionary with a shared storage, a transposed view and a parameter."""
    a = Storage("0", "FloatStorage", np.arange(30, dtype=np.float32) / 7)
    b = Storage("1", "BFloat16Storage", np.arange(12).astype(ml_dtypes.bfloat16))
    c = Storage("2", "LongStorage", np.arange(3, dtype=np.int64))
    value = {
        "epoch": 3,
        "model": OrderedDict(
            [
                ("embed.weight", tensor(a, 0, (5, 6), (6, 1))),
                ("head.weight", tensor(a, 0, (5, 6), (6, 1))),
                ("turned", tensor(a, 2, (4, 3), (1, 6))),
                (
                    "half",
                    Call(
                        Named("torch._utils", "_rebuild_parameter"),
                        tensor(b, 2, (5, 2), (2, 1)),
                        True,
                        OrderedDict(),
                    ),
                ),
                ("list", [tensor(c, 0, (3,), (1,)), tensor(c, 1, (), ())]),
            ]
        ),
    }
    expected = {
        "model.embed.weight": ("f32", a.data.reshape(5, 6)),
        "model.head.weight": ("f32", a.data.reshape(5, 6)),
        "model.turned": ("f32", strided(a.data, 2, (4, 3), (1, 6))),
        "model.half": ("bf16", b.data[2:].reshape(5, 2)),
        "model.list.0": ("i64", c.data),
        "model.list.1": ("i64", c.data[1].reshape(())),
    }
    return value, expected, [a, b, c]


def torch_files():
    value, expected, storages = checkpoint()
    for protocol in (2, 4):
        name = f"zip_protocol{protocol}.pt"
        with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_STORED) as file:
            file.writestr("archive/data.pkl", pickled(value, protocol))
            file.writestr("archive/byteorder", "little")
            for s in storages:
                file.writestr(f"archive/data/{s.key}", s.data.tobytes())
            file.writestr("archive/version", "3\n")
        say(name, expected, {"epoch": "3"})
    with open(FOLDER / "legacy.pt", "wb") as file:
        file.write(pickle.dumps(0x1950A86A20F9469CFC6C, 2))
        file.write(pickle.dumps(1001, 2))
        facts = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2}}
        file.write(pickle.dumps(facts, 2))
        file.write(pickled(value, 2, legacy=True))
        file.write(pickle.dumps([s.key for s in storages], 2))
        for s in storages:
            file.write(len(s.data).to_bytes(8, "little") + s.data.tobytes())
    say("legacy.pt", expected, {"epoch": "3"})


def hostile_files():
    def save(name, payload):
        with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_STORED) as file:
            file.writestr("archive/data.pkl", payload)

    save("hostile_system.pt", b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.")
    save("hostile_eval.pt", b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93X\x03\x00\x00\x001+1\x85R.")
    save("hostile_instance.pt", b"(iposix\nsystem\n.")
    # A list that holds the one before it twice, 60 times over.
    doubled = b"".join(
        b"0](h%bh%beq%b" % (bytes([i]), bytes([i]), bytes([i + 1])) for i in range(60)
    )
    save("hostile_doubling.pt", b"\x80\x02]q\x00" + doubled + b".")
    # A list that holds itself.
    save("hostile_cycle.pt", b"\x80\x02]q\x00h\x00a.")


def onnx_files():
    random = np.random.default_rng(11)
    raw = {
        "w": ("f32", random.standard_normal((3, 4), dtype=np.float32)),
        "h": ("f16", random.standard_normal(5).astype(np.float16)),
        "b": ("bf16", random.standard_normal(6).astype(ml_dtypes.bfloat16)),
        "none": ("i64", np.zeros(0, np.int64)),
        "one": ("f64", np.array(1.5)),
    }
    kinds = {"f32": 1, "f16": 10, "bf16": 16, "i64": 7, "f64": 11, "i32": 6, "u8": 2, "i8": 3}
    helper, values = onnx.helper, []
    for name, (kind, array) in raw.items():
        values.append(helper.make_tensor(name, kinds[kind], array.shape, array.tobytes(), raw=True))
    # Values in the lists of the message, which for the small integers are varints.
    lists = {
        "list.f32": ("f32", np.arange(4, dtype=np.float32) / 3),
        "list.f64": ("f64", np.arange(3) / 7),
    }
    for name, (kind, array) in lists.items():
        values.append(helper.make_tensor(name, kinds[kind], array.shape, array.tolist()))
    graph = helper.make_graph([], "g", [], [], initializer=values)
    model = helper.make_model(graph, producer_name="test", ir_version=10)
    (FOLDER / "inside.onnx").write_bytes(model.SerializeToString())
    say("inside.onnx", raw | lists)
    varints = [
        helper.make_tensor("i64", 7, (3,), [-1, 0, 1 << 40]),
        helper.make_tensor("i8", 3, (4,), [-128, 0, 1, 127]),
        helper.make_tensor("u64", 13, (2,), [0, (1 << 64) - 1]),
        helper.make_tensor("f16", 10, (2,), [1.0, -2.0]),
    ]
    graph = helper.make_graph([], "g", [], [], initializer=varints)
    (FOLDER / "varints.onnx").write_bytes(
        helper.make_model(graph, producer_name="test", ir_version=10).SerializeToString()
    )

    def external(name, **entries):
        value = onnx.TensorProto(name=name, data_type=1, dims=[2, 2], data_location=1)
        for key, text in entries.items():
            value.external_data.add(key=key, value=str(text))
        return value

    for file, entries in {
        "external.onnx": {"location": "weights/x.bin", "offset": 64, "length": 16},
        "escapes.onnx": {"location": "../x.bin"},
        "absolute.onnx": {"location": "/etc/passwd"},
        "negative.onnx": {"location": "x.bin", "offset": -4},
    }.items():
        graph = helper.make_graph([], "g", [], [], initializer=[external("e", **entries)])
        (FOLDER / file).write_bytes(
            helper.make_model(graph, producer_name="test", ir_version=10).SerializeToString()
        )


def gguf_files():
    random = np.random.default_rng(13)
    plain = random.standard_normal((3, 64), dtype=np.float32)
    packed = gguf.quants.quantize(
        random.standard_normal((4, 64), dtype=np.float32), gguf.GGMLQuantizationType.Q8_0
    )
    half = random.standard_normal(5).astype(np.float16)
    writer = gguf.GGUFWriter(FOLDER / "model.gguf", "llama")
    writer.add_block_count(2)
    writer.add_float32("x.real", 0.5)
    writer.add_bool("x.flag", True)
    writer.add_int32("x.negative", -3)
    writer.add_array("x.numbers", [1, 2, 3])
    writer.add_array("x.words", ["a", "bc"])
    writer.add_tensor("plain", plain)
    writer.add_tensor("packed", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("half", half)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensors = {"plain": ("f32", plain), "packed": ("q8_0", packed), "half": ("f16", half)}
    extra = {
        "general.architecture": "llama",
        "llama.block_count": "2",
        "x.real": "0.5",
        "x.flag": "true",
        "x.negative": "-3",
        "x.numbers": "[1 2 3]",
        "x.words": "a list of 2",
    }
    say("model.gguf", tensors, extra)
    EXPECTED["model.gguf"]["tensors"]["packed"]["shape"] = [4, 64]


if __name__ == "__main__":
    safetensors_file()
    numpy_files()
    torch_files()
    hostile_files()
    onnx_files()
    gguf_files()
    (FOLDER / "expected.json").write_text(json.dumps(EXPECTED, indent=1, sort_keys=True) + "\n")
