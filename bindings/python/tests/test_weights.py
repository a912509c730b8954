"""Weights: files of tensors, loads, maps, sums, conversions and decoders."""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import json
import struct
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import numpy
import pytest

MIB = 1 << 20


def write(path, tensors):
    """Writes a file of safetensors with arrays."""
    kinds = {"float32": "F32", "int64": "I64", "uint8": "U8"}
    header, data = {}, b""
    for name, array in tensors.items():
        end = len(data) + array.nbytes
        header[name] = {
            "dtype": kinds[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [len(data), end],
        }
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture
def arrays():
    return {
        "layer.q": numpy.arange(12, dtype="float32").reshape(3, 4),
        "ids": numpy.array([7, -8], dtype="int64"),
        "none": numpy.zeros((0, 3), dtype="float32"),
    }


@pytest.fixture
def path(tmp_path, arrays):
    to = tmp_path / "model.safetensors"
    write(to, arrays)
    return to


@pytest.fixture
def pool():
    with fm.Pool("cpu:0") as made:
        yield made


def test_source_is_a_mapping(path, arrays):
    with fm.Weights(path) as source:
        assert set(source) == set(arrays)
        assert len(source) == 3
        found = source["layer.q"]
        assert (found.dtype, found.shape, found.size_bytes) == (fm.DType.F32, (3, 4), 48)
        assert "other" not in source
        with pytest.raises(KeyError):
            source["other"]
        with pytest.raises(fm.NotFoundError, match="other"):
            source.find("other")
        assert source.metadata()["format"] == "safetensors"
    with pytest.raises(fm.InvalidHandleError):
        source.find("ids")


def test_load_into_arrays_of_the_program(path, arrays):
    class Exporting:
        """What a tensor of another library exports."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    to = {name: numpy.ones_like(array) for name, array in arrays.items()}
    told: list[int] = []

    def tell(now: fm.WeightsProgress) -> bool:
        told.append(now.done_bytes)
        return True

    with fm.Weights(path) as source:
        source.load_into(to, progress=tell)
        for name, array in arrays.items():
            numpy.testing.assert_array_equal(to[name], array)
        assert told[-1] == 64
        to["layer.q"][:] = 0
        source.load_into({"layer.q": Exporting(to["layer.q"])})
        numpy.testing.assert_array_equal(to["layer.q"], arrays["layer.q"])
        source.load_into({})


def test_load_into_several_devices(path, arrays, device, other_device):
    with (
        fm.Weights(path) as source,
        fm.Pool(device) as near,
        fm.Pool(other_device) as far,
        fm.Tensor(near, "f32", (3, 4)) as one,
        fm.Tensor(far, "i64", (2,)) as two,
    ):
        source.load_into({"layer.q": one, "ids": two})
        numpy.testing.assert_array_equal(one.numpy(), arrays["layer.q"])
        numpy.testing.assert_array_equal(two.numpy(), arrays["ids"])


def test_load_into_what_does_not_fit(path):
    read_only = numpy.zeros((3, 4), "float32")
    read_only.flags.writeable = False
    wrong: list[tuple[str, Any, type[fm.FerrumError], str]] = [
        ("layer.q", numpy.zeros((4, 3), "float32"), fm.InvalidArgumentError, r"f32 \[4, 3\], and"),
        ("layer.q", numpy.zeros((3, 4), "float64"), fm.InvalidArgumentError, "f64"),
        ("layer.q", numpy.zeros((4, 3), "float32").T, fm.InvalidArgumentError, "contiguous"),
        ("layer.q", read_only, fm.PermissionDeniedError, "layer.q: the destination is read-only"),
        ("other", numpy.zeros(1, "float32"), fm.NotFoundError, "other"),
    ]
    ids = numpy.ones(2, "int64")
    with fm.Weights(path) as source:
        for name, destination, error, text in wrong:
            with pytest.raises(error, match=text):
                source.load_into({"ids": ids, name: destination})
        with pytest.raises(fm.CancelledError):
            source.load_into({"ids": ids}, progress=lambda _now: False)

        def failing(_now: fm.WeightsProgress) -> bool:
            raise LookupError("provoked")

        with pytest.raises(LookupError, match="provoked"):
            source.load_into({"ids": ids}, progress=failing)


def test_loaded_tensors_are_arrays(path, arrays, pool):
    with fm.Weights(path) as source, source.load(pool) as loaded:
        assert set(loaded) == set(arrays)
        for name, array in arrays.items():
            numpy.testing.assert_array_equal(loaded[name].numpy(), array)
        numpy.testing.assert_array_equal(numpy.asarray(loaded["layer.q"]), arrays["layer.q"])


def test_loaded_tensors_have_dlpack(path, arrays, pool):
    with fm.Weights(path) as source, source.load(pool) as loaded:
        taken = numpy.from_dlpack(loaded["layer.q"])
        assert taken.ctypes.data == loaded.find("layer.q").address
        numpy.testing.assert_array_equal(taken, arrays["layer.q"])
        with pytest.raises(fm.ViewExistsError):
            loaded.close()
        del taken


def test_mapped_tensors_have_read_only_dlpack(path, arrays):
    with fm.Weights(path) as source, source.map() as mapped:
        tensor = mapped["layer.q"]
        assert tensor.__dlpack_device__() == (1, 0)
        taken = numpy.from_dlpack(tensor)
        assert taken.ctypes.data == tensor.info.address
        assert not taken.flags.writeable
        numpy.testing.assert_array_equal(taken, arrays["layer.q"])
        with pytest.raises(fm.ViewExistsError):
            mapped.close()
        del taken
        assert numpy.from_dlpack(mapped["none"]).shape == (0, 3)
        for old in (None, (0, 8)):
            with pytest.raises(BufferError, match="read-only"):
                tensor.__dlpack__(max_version=old)
        assert not hasattr(tensor, "__cuda_array_interface__")


def test_source_in_memory(path, arrays, pool):
    for data in (path.read_bytes(), bytearray(path.read_bytes()), numpy.fromfile(path, "uint8")):
        with fm.Weights.from_bytes(data, name="received") as source:
            assert set(source) == set(arrays)
            assert "received" in repr(source)
            assert source.metadata()["extra"]["files"] == ["received"]
            with source.load(pool) as loaded:
                numpy.testing.assert_array_equal(loaded["layer.q"].numpy(), arrays["layer.q"])
            with pytest.raises(fm.UnsupportedError, match="memory"):
                source.map()
            if isinstance(data, bytearray):
                with pytest.raises(BufferError):
                    data.append(0)
    grown = bytearray(path.read_bytes())
    fm.Weights.from_bytes(grown).close()
    grown.append(0)
    with pytest.raises(fm.InvalidFormatError, match="received"):
        fm.Weights.from_bytes(grown, name="received")
    grown.append(0)
    for wrong in (b"", b"no file of weights"):
        with pytest.raises((fm.InvalidFormatError, fm.UnsupportedError), match="memory"):
            fm.Weights.from_bytes(wrong)
    with pytest.raises(TypeError):
        fm.Weights.from_bytes("a text")
    with pytest.raises(fm.InvalidArgumentError, match="name"):
        fm.Weights.from_bytes(b"", name="a\0b")
    with pytest.raises(ValueError, match="contiguous"):
        fm.Weights.from_bytes(numpy.zeros((4, 4), "uint8")[:, 1])


def test_source_keeps_its_bytes(path, arrays, pool):
    source = fm.Weights.from_bytes(bytearray(path.read_bytes()))
    gc.collect()
    with source, source.load(pool, wait=False) as loaded:
        loaded.wait()
        source.close()
        numpy.testing.assert_array_equal(loaded["ids"].numpy(), arrays["ids"])


def test_raw_tensors(tmp_path, arrays, pool):
    array = arrays["layer.q"]
    file = tmp_path / "layer.bin"
    array.tofile(file)
    for source in (
        fm.Weights.raw(file, "f32", (3, 4)),
        fm.Weights.raw(str(file), fm.DType.F32, [3, 4]),
        fm.Weights.raw(array, fm.DType.F32, array.shape, name="layer.bin"),
        fm.Weights.raw(array.tobytes(), "f32", array.shape, name="layer.bin"),
    ):
        with source, source.load(pool) as loaded:
            (name,) = loaded
            assert "layer" in name
            numpy.testing.assert_array_equal(loaded[name].numpy(), array)
    with fm.Weights.raw(file, "f8_e4m3", [48]) as source:
        assert next(iter(source.values())).dtype == fm.DType.F8
    with fm.Weights.raw(b"1234", "f32", ()) as source:
        assert next(iter(source.values())).shape == ()
    with pytest.raises(fm.FerrumError, match=r"layer\.bin"):
        fm.Weights.raw(file, "f32", (3, 5))
    with pytest.raises(fm.InvalidArgumentError, match="f99"):
        fm.Weights.raw(file, "f99", (3, 4))
    with pytest.raises(fm.InvalidArgumentError, match="raw_rank is 17"):
        fm.Weights.raw(file, "f32", [1] * 17)
    with pytest.raises(fm.InvalidArgumentError, match="shape"):
        fm.Weights.raw(file, "f32", [-1])
    with pytest.raises(TypeError, match="name"):
        fm.Weights.raw(file, "f32", (3, 4), name="other")
    with pytest.raises(fm.NotFoundError, match="other"):
        fm.Weights.raw(tmp_path / "other", "f32", (3, 4))


def test_capabilities_and_check(path, tmp_path):
    assert "safetensors" in fm.Weights.capabilities()["supported_formats"]
    fm.Weights.check(path)
    with pytest.raises(fm.NotFoundError, match="other"):
        fm.Weights.check(tmp_path / "other")


def test_order_chooses_and_converts(path, pool):
    with (
        fm.Weights(path) as source,
        source.load(
            pool, exclude=["none"], rename={"layer.": "l."}, prefix="m.", dtype=fm.DType.F64
        ) as loaded,
    ):
        assert set(loaded) == {"m.l.q", "m.ids"}
        assert loaded["m.l.q"].numpy().dtype == "float64"
        assert loaded["m.l.q"].numpy()[2, 3] == 11
    with (
        fm.Weights(path) as source,
        source.load(
            pool,
            tensors=[
                {
                    "name": "t",
                    "tensor": "layer.q",
                    "transformations": [{"kind": "transpose", "dim0": 0, "dim1": 1}],
                }
            ],
        ) as loaded,
    ):
        assert loaded["t"].numpy().tolist()[0] == [0, 4, 8]


def test_array_keeps_its_set(path, pool):
    with fm.Weights(path) as source:
        loaded = source.load(pool)
        array = loaded["ids"].numpy()
        with pytest.raises(fm.ViewExistsError):
            loaded.close()
        with pytest.raises(fm.BusyError):
            pool.close()
        assert array.tolist() == [7, -8]
        del array
        loaded.close()


class OwnError(Exception):
    """An exception of the program."""


def test_progress_cancels(tmp_path, pool):
    write(tmp_path / "big.safetensors", {"big": numpy.zeros(32 * MIB, dtype="uint8")})
    seen: list[Any] = []
    with fm.Weights(tmp_path / "big.safetensors") as source:
        source.load(pool, progress=seen.append).close()
        assert seen[-1].done_bytes == seen[-1].total_bytes == 32 * MIB
        with pytest.raises(fm.CancelledError):
            source.load(pool, progress=lambda _: False)
        with pytest.raises(fm.CancelledError):
            source.verify(progress=lambda _: False)

        def fails(_: Any) -> None:
            raise OwnError

        for call in (
            lambda: source.load(pool, progress=fails),
            lambda: source.preload(progress=fails),
            lambda: source.verify(progress=fails),
            lambda: source.convert(tmp_path / "copy.safetensors", progress=fails),
        ):
            with pytest.raises(OwnError):
                call()
        assert not (tmp_path / "copy.safetensors").exists()
        with source.load(pool, progress=fails, wait=False) as loading:
            with pytest.raises(OwnError):
                loading.wait()
            with pytest.raises(fm.CancelledError):
                loading.wait()
    assert not [leak for leak in fm.leak_report().leaks if leak.kind == "tensor_set"]


def test_mapped_tensors_are_read_only(path, arrays):
    with fm.Weights(path) as source, source.map() as mapped:
        array = mapped["layer.q"].numpy()
        numpy.testing.assert_array_equal(array, arrays["layer.q"])
        assert not array.flags.writeable
        mapped.check()
        del array


def test_load_ends_with_its_last_array(path, arrays):
    loaded = fm.load(path)
    for name, array in arrays.items():
        numpy.testing.assert_array_equal(loaded[name], array)
    one = loaded["ids"]
    del loaded
    gc.collect()
    assert one.tolist() == [7, -8]
    del one
    gc.collect()
    assert not [leak for leak in fm.leak_report().leaks if leak.kind == "tensor_set"]


def test_preload_and_sums(path):
    with fm.Weights(path) as source:
        source.preload().close()
        want = hashlib.sha256(path.read_bytes()).hexdigest()
        assert source.verify() == {str(path): want}
        assert source.verify(f"{want}  model.safetensors\n")
        with pytest.raises(fm.CorruptedError):
            source.verify(f"{'0' * 64}  model.safetensors\n")


def test_conversion(path, tmp_path):
    to = tmp_path / "other.safetensors"
    with fm.Weights(path) as source:
        source.convert(to, include="ids", prefix="x.", texts={"Made by": "a test"})
        with pytest.raises(fm.AlreadyExistsError):
            source.convert(to)
        source.convert(to, include="ids", replace=True)
    assert list(fm.load(to)) == ["ids"]


def test_decoder_describes_a_format(tmp_path):
    path = tmp_path / "model.own"
    path.write_bytes(b"OWN!" + bytes(range(6)))

    def describe(file):
        assert file.read(0, 4) == b"OWN!"
        with pytest.raises(fm.InvalidSizeError):
            file.read(8, 8)
        return {"tensors": {"Bytes": {"dtype": "u8", "shape": [2, 3], "offset_bytes": 4}}}

    with fm.Decoder("own", lambda start, _size: start[:4] == b"OWN!", describe) as decoder:
        assert decoder.number > 0
        with pytest.raises(fm.AlreadyExistsError):
            fm.Decoder("own", lambda *_: False, describe)
        assert fm.load(path)["Bytes"].tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(fm.UnsupportedError):
        fm.Weights(path)


def test_types_without_an_array(pool):
    plain = Path(__file__).parents[3] / "core/weights/header/testdata/plain.safetensors"
    with fm.Weights(plain) as source, source.load(pool, include="layer.0.q") as loaded:
        tensor = loaded["layer.0.q"]
        assert tensor.dtype == fm.DType.BF16
        assert len(tensor.view()) == 24
        if importlib.util.find_spec("ml_dtypes") is None:
            with pytest.raises(fm.UnsupportedError, match="ml_dtypes"):
                tensor.numpy()
        else:
            assert str(tensor.numpy().dtype) == "bfloat16"
