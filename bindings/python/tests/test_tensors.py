"""Tensors: where their memory comes from, views, conversions, arrays, and when memory ends.
NumPy is the oracle for elements, shapes and strides.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import math
import struct
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import pytest
from ferrum_mem._dtypes import BUFFER
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import MIB, child_environment, eventually

numpy = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")
SIMULATOR = Path(__file__).resolve().parents[3] / "build/test/simcuda/12090/libcuda.so.1"

TYPES = {
    "f32": "float32",
    "f16": "float16",
    "f64": "float64",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "bool": "bool",
    "bf16": ml_dtypes.bfloat16,
    "f8_e4m3": ml_dtypes.float8_e4m3fn,
    "f8_e5m2": ml_dtypes.float8_e5m2,
}


@pytest.fixture
def space(device):
    with fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=64 * MIB)) as made:
        yield made


def numbers(*shape, dtype="float32"):
    return numpy.arange(math.prod(shape)).astype(dtype).reshape(shape)


def made_of(array, pool):
    tensor = fm.Tensor(pool, array.dtype, array.shape)
    tensor.write(array)
    return tensor


def same(tensor, array):
    """Whether a tensor has the type, the shape and the elements of an array."""
    assert tensor.shape == array.shape
    assert tensor.numpy().dtype == array.dtype
    found, given_array = numpy.asarray(tensor), array
    if array.dtype.kind in "fV":
        # numpy.testing knows no NaN of the types of ml_dtypes. f64 has all their values.
        found, array = found.astype("float64"), array.astype("float64")
    if not (array != array).any():
        assert tensor.read() == given_array.tobytes()
    numpy.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_its_array(pool, name):
    array = numbers(3, 4).astype(TYPES[name])
    with fm.Tensor(pool, name, (3, 4), tag="t") as tensor:
        tensor.write(array)
        same(tensor, array)
        assert tensor.dtype.name == {"f8_e4m3": "F8"}.get(name, name.upper())
        assert (tensor.ndim, tensor.size, tensor.nbytes) == (2, 12, array.nbytes)
        assert tensor.strides == (4, 1)
        assert tensor.is_contiguous
        assert not tensor.is_read_only
        assert tensor.device is pool.device
        assert tensor.device.owner_of(tensor.address).tag == "t"
    for dtype in (array.dtype, array.dtype.type):
        with fm.Tensor(pool, dtype, 2) as tensor:
            assert (tensor.dtype.name, tensor.shape) == (
                {"f8_e4m3": "F8"}.get(name, name.upper()),
                (2,),
            )


def test_shapes_without_dimensions_and_without_elements(pool):
    with fm.Tensor(pool, "f64", ()) as tensor:
        tensor.fill(2.5)
        assert (tensor.item(), tensor.ndim, tensor.size) == (2.5, 0, 1)
        for use in (len, list):
            with pytest.raises(TypeError, match="no length"):
                use(tensor)
    with fm.Tensor(pool, "f64", (3, 0, 2)) as tensor:
        assert (tensor.address, tensor.nbytes, len(tensor)) == (0, 0, 3)
        same(tensor, numpy.zeros((3, 0, 2)))
        tensor.write(b"")
        with pytest.raises(fm.InvalidArgumentError, match="exactly 1"):
            tensor.item()
    assert pool.statistics().live_blocks.current == 0


def test_every_memory_makes_tensors(pool, space, model, manager):
    array = numbers(2, 3)
    with manager.alloc(64) as block:
        for memory, more in (
            (pool, {}),
            (space, {"offset_bytes": space.page_bytes}),
            (model, {}),
            (block, {"offset_bytes": 8}),
        ):
            with fm.Tensor(memory, "f32", (2, 3), **more) as tensor:
                tensor.write(array)
                same(tensor, array)
        with fm.Tensor(space, "f32", 1, offset_bytes=space.page_bytes) as tensor:
            assert tensor.address == space.info().base_address + space.page_bytes
        block.write(array.tobytes())
        with fm.Tensor(block, "f32", (3, 2), strides=(1, 3)) as tensor:
            same(tensor, array.T)
            with pytest.raises(fm.BusyError):
                block.close()
        with pytest.raises(fm.InvalidOffsetError):
            fm.Tensor(block, "f32", 17)
        with pytest.raises(fm.InvalidAlignmentError):
            fm.Tensor(block, "f32", 1, offset_bytes=2)
        with pytest.raises(fm.InvalidArgumentError, match="2 strides given for a shape of 1 dim"):
            fm.Tensor(block, "f32", 1, strides=(1, 2))
    with pytest.raises(TypeError, match="not Device"):
        fm.Tensor(pool.device, "f32", 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("f33", 1), fm.InvalidArgumentError, "'f33' is not known"),
        (("f32", -1), fm.InvalidArgumentError, "-1"),
        (("f32", 2**63), fm.FerrumOverflowError, "shape 9223372036854775808 is not from"),
        (("f32", (2**40, 2**40)), fm.FerrumOverflowError, "more than 2.63 elements"),
        (("f32", (1,) * 9), fm.InvalidArgumentError, "9"),
        (("f32", "x"), TypeError, "str"),
        (("q8_0", 33), fm.InvalidArgumentError, "32"),
    ],
)
def test_wrong_arguments_make_nothing(pool, arguments, error, message):
    with pytest.raises(error, match=message):
        fm.Tensor(pool, *arguments)
    with pytest.raises(fm.InvalidArgumentError, match="new memory is contiguous"):
        fm.Tensor(pool, "f32", 2, strides=(1,))
    assert pool.statistics().live_blocks.current == 0


# Views.


def test_views_share_the_memory_and_keep_it(pool):
    array = numbers(2, 3, 4)
    tensor = made_of(array, pool)
    cases = [
        (tensor.T, array.T),
        (tensor.transpose(), array.transpose(0, 2, 1)),
        (tensor.transpose(0, -1), array.transpose(2, 1, 0)),
        (tensor.permute(1, 2, 0), array.transpose(1, 2, 0)),
        (tensor.narrow(-1, 1, 2), array[..., 1:3]),
        (tensor.reshape(6, 4), array.reshape(6, 4)),
        (tensor.reshape(2, -1), array.reshape(2, -1)),
        (tensor.reshape(24), array.reshape(24)),
        (tensor[1].expand(5, 3, 4), numpy.broadcast_to(array[1], (5, 3, 4))),
        (tensor[:, None], array[:, None]),
        (tensor[1, -1, 2], array[1, -1, 2]),
        (tensor[..., 1:-1], array[..., 1:-1]),
        (tensor[-1:, ..., 5:], array[-1:, ..., 5:]),
        (tensor[()], array),
        (list(tensor)[1], array[1]),
    ]
    address = tensor.address
    tensor.close()
    assert pool.statistics().live_blocks.current == 1
    for view, expected in cases:
        same(view, expected)
        if view.size:
            assert view.numpy().strides == tuple(each * 4 for each in view.strides)
    with pytest.raises(fm.BusyError):
        pool.close()
    assert cases[5][0].address == address
    for view, _ in cases:
        view.close()
    assert pool.statistics().live_blocks.current == 0


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_views(data):
    shape = data.draw(st.lists(st.integers(0, 4), max_size=4))
    expected = numbers(*shape)
    with fm.Pool("cpu:0") as pool:
        found = made_of(expected, pool)
        for _ in range(data.draw(st.integers(1, 5))):
            kind = data.draw(st.sampled_from(["permute", "index", "reshape", "expand"]))
            if kind == "permute":
                axes = data.draw(st.permutations(range(expected.ndim)))
                found, expected = found.permute(*axes), expected.transpose(axes)
            elif kind == "index":
                key = tuple(
                    data.draw(st.slices(n))
                    if n == 0 or data.draw(st.booleans())
                    else data.draw(st.integers(-n, n - 1))
                    for n in expected.shape[: data.draw(st.integers(0, expected.ndim))]
                )
                found, expected = found[key], expected[key]
            elif kind == "expand":
                wide = tuple(data.draw(st.integers(0, 3)) if n == 1 else n for n in expected.shape)
                wide = (2, *wide) if len(wide) < 6 and data.draw(st.booleans()) else wide
                found, expected = found.expand(*wide), numpy.broadcast_to(expected, wide)
            else:
                flat = (expected.size,)
                try:
                    found = found.reshape(*flat)
                except fm.UnsupportedError:
                    # No strides express it: NumPy copies then.
                    assert not numpy.shares_memory(expected.reshape(flat), expected)
                    continue
                expected = expected.reshape(flat)
            same(found, expected)
        del found
        gc.collect()


def test_slices_with_steps(pool):
    array = numbers(5, 4)
    with made_of(array, pool) as tensor:
        for step in (-7, -3, -2, -1, 1, 2, 3, 9):
            for start in (None, -7, -2, 0, 1, 4, 9):
                for end in (None, -6, -1, 0, 3, 9):
                    key = slice(start, end, step), slice(None, None, -2)
                    with tensor[key] as view:
                        same(view, array[key])
        # A view, whose elements are those of the tensor.
        tensor[::2, ::-1] = 7
        array[::2, ::-1] = 7
        same(tensor, array)
        with tensor.slice(1, 3, 2, -3) as view:
            same(view, array[:, 3::-3])


def test_wrong_views(pool):
    with made_of(numbers(2, 3), pool) as tensor:
        for key in (2, -3, (0, 3), (0, 0, 0), (..., ...)):
            with pytest.raises(IndexError):
                tensor[key]
        with pytest.raises(ValueError, match="zero"):
            tensor[::0]
        with pytest.raises(fm.InvalidArgumentError, match="step of 0"):
            tensor.slice(0, 0, 1, 0)
        with pytest.raises(fm.InvalidOffsetError):
            tensor.slice(1, 0, 2, 3)
        with pytest.raises(TypeError):
            tensor["x"]
        with pytest.raises(fm.InvalidOffsetError):
            tensor.narrow(0, 1, 2)
        for wrong in (
            lambda: tensor.narrow(2, 0, 1),
            lambda: tensor.permute(0, 0),
            lambda: tensor.transpose(0, 2),
            lambda: tensor.reshape(4),
            lambda: tensor.reshape(4, -1),
            lambda: tensor.expand(2, 4),
        ):
            with pytest.raises(fm.InvalidArgumentError):
                wrong()
        with tensor.T as turned, pytest.raises(fm.UnsupportedError):
            turned.reshape(6)
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        _ = tensor.T
    assert repr(tensor) == "<ferrum_mem.Tensor f32 [2, 3] on cpu:0 (closed)>"
    gc.collect()
    assert pool.statistics().live_blocks.current == 0


def test_writes_through_views(pool):
    array = numbers(3, 4)
    with made_of(array, pool) as tensor, made_of(numbers(3), pool) as column:
        tensor[1] = 7
        array[1] = 7
        tensor[:, 2] = column
        array[:, 2] = [0, 1, 2]
        tensor[0:2, 0:2] = numpy.array([[50, 60]], "int64")
        array[0:2, 0:2] = [[50, 60]]
        tensor[2, 3] = numpy.float64(1.5)
        array[2, 3] = 1.5
        same(tensor, array)
        with pytest.raises(fm.InvalidArgumentError):
            tensor[0] = numbers(3)
        with tensor[:1].expand(5, 4) as wide, pytest.raises(fm.InvalidArgumentError):
            wide.fill(1)
        with pytest.raises(fm.InvalidSizeError):
            tensor.write(b"short")
        with pytest.raises(fm.InvalidSizeError):
            tensor.read_into(bytearray(47))
        with pytest.raises(TypeError, match="writable"):
            tensor.read_into(bytes(48))
        same(tensor, array)
    with fm.Tensor(pool, "i64", 2) as tensor:
        with pytest.raises(fm.InvalidArgumentError, match="no exact double"):
            tensor.fill(2**53 + 1)
        tensor.write([2**53 + 1, -1])
        assert list(tensor.numpy()) == [2**53 + 1, -1]


# Conversions and copies.


def test_conversions(pool, other_device):
    array = numpy.array([0, -0.0, 1.5, 3.14159, 1e-40, 65504, 1e30, -numpy.inf, numpy.nan], "f4")
    with made_of(array, pool) as tensor, numpy.errstate(all="ignore"):
        for name in ("f64", "f16", "bf16", "f8_e5m2", "f8_e4m3"):
            with tensor.to(name) as converted:
                same(converted, array.astype(TYPES[name]))
        with tensor.to("i32") as converted:
            assert list(converted.numpy()) == [0, 0, 1, 3, 0, 65504, 2**31 - 1, -(2**31), 0]
        with fm.Pool(other_device) as there:
            with tensor.to("bf16", memory=there) as converted:
                assert converted.device is other_device
                same(converted, array.astype(ml_dtypes.bfloat16))
                with pytest.raises(fm.UnsupportedDeviceError):
                    tensor.copy_from(converted)
            with tensor[::1].T.copy(there) as copied:
                same(copied, array)
        with pytest.raises(fm.UnsupportedError):
            tensor.to("q8_0")
    with fm.Tensor.from_numpy(array) as shared:
        with pytest.raises(fm.InvalidArgumentError, match="pass the memory"):
            shared.copy()
        with shared.copy(pool) as copied:
            same(copied, array)


def test_a_copy_is_work_of_its_stream(pool, stream, gate):
    with made_of(numbers(2, 3), pool) as source, fm.Tensor(pool, "f64", (3, 2)) as target:
        target.fill(9)
        stream.host_function(gate.wait)
        with source.T as turned:
            target.copy_from(turned, stream=stream)
        gate.reached.wait(60)
        assert set(struct.unpack("6d", target.read())) == {9.0}
        gate.open()
        assert target.read(stream=stream) == numbers(2, 3).T.astype("f8").tobytes()
        with pytest.raises(fm.InvalidArgumentError):
            target.copy_from(source)


def test_awaited_calls(pool):
    async def run():
        with fm.Tensor(pool, "f32", 4) as tensor:
            await tensor.write_async(numbers(4))
            other = await tensor.to_async("f64")
            await other.fill(3)
            await other.copy_from(tensor)
            target = bytearray(32)
            await other.read_into_async(target)
            assert await other.read_async() == target == numbers(4).astype("f8").tobytes()
            other.close()

    asyncio.run(run())


# Memory of NumPy and of the program.


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::-1, :, ::2],
        lambda a: a[1:, 1],
        lambda a: numpy.broadcast_to(a[0], (3, 3, 4)),
        lambda a: a[:0],
        lambda a: a[0, 0, 0, ...],
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int64", ml_dtypes.bfloat16])
def test_arrays_are_shared(device, view, dtype):
    array = view(numbers(2, 3, 4, dtype=dtype))
    with fm.Tensor.from_numpy(array, device=device) as tensor:
        same(tensor, array)
        if array.size:
            assert tensor.address == array.ctypes.data
        assert tensor.is_read_only is (not array.flags.writeable)
        if array.flags.writeable and array.size:
            tensor.fill(5)
            device.synchronize()
            assert numpy.all(array == numpy.array(5, dtype))
    with fm.Tensor.from_numpy(array, copy=True) as tensor:
        same(tensor, array)
        assert tensor.address != array.ctypes.data or not array.size


def test_an_array_lives_as_long_as_views_of_it(device):
    array, ended = numbers(6), list[int]()
    weakref.finalize(array, ended.append, 1)
    tensor = fm.Tensor.from_numpy(array, device=device)
    del array
    view = tensor[2:4]
    tensor.close()
    gc.collect()
    assert not ended
    assert list(view.numpy()) == [2, 3]
    view.close()
    gc.collect()
    assert ended == [1]


def test_read_only_arrays(device):
    array = numbers(3)
    array.flags.writeable = False
    for source in (array, numpy.frombuffer(b"\0\0\x80?", "float32")):
        with fm.Tensor.from_numpy(source, device=device) as tensor:
            assert tensor.is_read_only
            assert not tensor.numpy().flags.writeable
            assert not numpy.from_dlpack(tensor).flags.writeable
            assert tensor.view().readonly
            for write in (lambda t: t.fill(1), lambda t: t.write(bytes(t.nbytes))):
                with pytest.raises(fm.PermissionDeniedError):
                    write(tensor)
            with pytest.raises(fm.PermissionDeniedError):
                _ = tensor.buffer
            with pytest.raises(BufferError, match="read-only"):
                tensor.__dlpack__()


def test_arrays_that_cannot_be_shared(device):
    packed = numpy.zeros(3, dtype=[("a", "u1"), ("b", "f4")])["b"]
    for array in (
        numpy.array([1, 2], ">f4"),
        packed,
        numpy.frombuffer(bytes(9), "u1")[1:9].view("f4"),
    ):
        with pytest.raises(fm.UnsupportedError, match="cannot be shared"):
            fm.Tensor.from_numpy(array, device=device, copy=False)
        with fm.Tensor.from_numpy(array, device=device) as tensor:
            same(tensor, array.astype(array.dtype.newbyteorder("=")))
            assert not tensor.is_read_only
    for array in (numpy.array(["x"]), numpy.array([1j])):
        with pytest.raises(fm.UnsupportedError, match="do not support elements"):
            fm.Tensor.from_numpy(array, device=device)
    with pytest.raises(fm.InvalidArgumentError, match="9 dim"):
        fm.Tensor.from_numpy(numpy.zeros((1,) * 9), device=device)


def test_release_is_called_once_after_the_last_view(device, stream, gate):
    memory, calls = ctypes.create_string_buffer(64), []
    address = ctypes.addressof(memory)

    def wrap(**more):
        return fm.Tensor.wrap(
            device, address, 64, "i32", 4, strides=(-2,), first_address=address + 32, **more
        )

    tensor = wrap(release=lambda: calls.append(threading.get_ident()))
    tensor.write(numpy.arange(4))
    assert struct.unpack("16i", memory.raw)[2:9:2] == (3, 2, 1, 0)
    stream.host_function(gate.wait)
    tensor.fill(1, stream=stream)
    view = tensor[:2]
    tensor.close()
    view.close()
    assert not calls  # the fill uses the memory
    gate.open()
    stream.synchronize()
    eventually(lambda: len(calls) == 1)
    for wrong, error in (
        ({"release": None}, TypeError),
        ({"strides": (6,), "release": calls.clear}, fm.InvalidOffsetError),
        ({"first_address": address + 2, "release": calls.clear}, fm.InvalidAlignmentError),
        ({"size_bytes": 2**64, "release": calls.clear}, fm.FerrumOverflowError),
        ({"address": 4096, "first_address": 0, "release": calls.clear}, fm.InvalidAddressError),
    ):
        arguments: dict[str, Any] = {"address": address, "size_bytes": 64}
        arguments |= {"dtype": "i32", "shape": 4, **wrong}
        with pytest.raises(error):
            fm.Tensor.wrap(device, **arguments)
    assert len(calls) == 1


def test_an_exception_of_release_is_reported(device, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: seen.append(about.exc_value))
    memory = ctypes.create_string_buffer(4)

    def fail():
        raise KeyError("release")

    fm.Tensor.wrap(device, ctypes.addressof(memory), 4, "f32", 1, release=fail).close()
    assert [repr(each) for each in seen] == ["KeyError('release')"]


def test_a_device_by_its_id_closes_with_the_last_view():
    tensor = fm.Tensor.from_numpy(numbers(4), device="cpu:1")
    view = tensor[1:]
    tensor.close()
    assert list(view.numpy()) == [1, 2, 3]
    view.close()
    assert not fm.leak_report().leaks


# Weights.


@pytest.fixture
def weights(tmp_path):
    to, data = tmp_path / "model.safetensors", numbers(2, 3).tobytes()
    header = json.dumps(
        {
            "first": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]},
            "layer": {"dtype": "F32", "shape": [2, 3], "data_offsets": [4, 28]},
        }
    ).encode()
    header += b" " * (-len(header) % 8 + 4)
    to.write_bytes(struct.pack("<Q", len(header)) + header + b"abcd" + data)
    with fm.Weights(to) as source:
        yield source


def test_tensors_of_weights(weights, pool):
    with weights.load(pool) as loaded:
        with fm.Tensor.from_set(loaded, "layer") as tensor:
            same(tensor, numbers(2, 3))
            assert tensor.address == loaded["layer"].info.address
            with pytest.raises(fm.BusyError):
                loaded.close()
            with tensor.T as turned:
                same(turned, numbers(2, 3).T)
        with fm.Tensor.from_set(loaded, list(loaded).index("first")) as tensor:
            assert tensor.read() == b"abcd"
        with pytest.raises(fm.NotFoundError):
            fm.Tensor.from_set(loaded, "other")
        with pytest.raises(fm.InvalidArgumentError):
            fm.Tensor.from_set(loaded, 2)


def test_mapped_tensors_are_read_only(weights):
    with weights.map(include="layer") as mapped, fm.Tensor.from_set(mapped, "layer") as tensor:
        same(tensor, numbers(2, 3))
        assert tensor.is_read_only
        with pytest.raises(fm.PermissionDeniedError):
            tensor.fill(1)


def test_an_array_of_a_loaded_tensor_keeps_the_set(weights, pool):
    loaded = weights.load(pool)
    array = numpy.asarray(loaded["layer"])
    with pytest.raises(fm.ViewExistsError):
        loaded.close()
    numpy.testing.assert_array_equal(array, numbers(2, 3))
    del array
    loaded.close()


# Sleep, forced ends, collection, threads, fork.


@pytest.mark.parametrize("tag", [None, "kv"])
@pytest.mark.parametrize("home", ["space", "model"])
def test_a_sleeping_tensor_is_busy(request, home, tag):
    memory = request.getfixturevalue(home)
    array = numbers(4, 4)
    with fm.Tensor(memory, "f32", (4, 4), tag=tag) as tensor:
        tensor.write(array)
        view = tensor.T
        shown = tensor.numpy()
        with pytest.raises(fm.ViewExistsError):
            memory.sleep(tag=tag)
        del shown
        memory.sleep(tag=tag)
        for use in (
            tensor.read,
            view.read,
            tensor.numpy,
            view.numpy,
            tensor.view,
            tensor.__dlpack__,
            lambda: numpy.asarray(tensor),
            lambda: tensor.fill(0),
            lambda: tensor.write(array),
            lambda: tensor.item() if tensor.size == 1 else tensor[0, 0].item(),
        ):
            with pytest.raises(fm.BusyError):
                use()
        assert tensor[0].shape == (4,)
        memory.wake(tag=tag)
        same(view, array.T)
        view.close()


def test_a_tensor_of_weights_in_a_sleeping_model(weights, model):
    with (
        weights.load(model, tag="weights") as loaded,
        fm.Tensor.from_set(loaded, "layer") as tensor,
    ):
        shown = tensor.numpy()
        with pytest.raises(fm.ViewExistsError):
            model.sleep(tag="weights")
        del shown
        model.sleep(tag="weights")
        stored = loaded["layer"]
        for use in (tensor.read, tensor.numpy, stored.numpy, stored.view, stored.__dlpack__):
            with pytest.raises(fm.BusyError):
                use()
        model.wake(tag="weights")
        numpy.testing.assert_array_equal(stored.numpy(), numbers(2, 3))
        same(tensor, numbers(2, 3))


@pytest.mark.parametrize("home", ["pool", "space", "model"])
def test_a_forced_close_of_the_memory_ends_tensors(request, device, home):
    memory = request.getfixturevalue(home)
    tensor = fm.Tensor(memory, "f32", 4)
    view, shown = tensor[1:], tensor.numpy()
    with pytest.raises(fm.ViewExistsError):
        memory.close(force=True)
    del shown
    with pytest.raises(fm.BusyError):
        memory.close()
    memory.close(force=True)
    for each in (tensor, view):
        assert each.closed
        with pytest.raises(fm.InvalidHandleError):
            each.read()
        each.close()
    assert not [leak for leak in fm.leak_report().leaks if leak.kind == "tensor"]


def test_tensors_are_collected_without_a_warning(pool, recwarn):
    for _ in range(20):
        array = made_of(numbers(3), pool)[1:].T.numpy()
    assert list(array) == [1, 2]
    assert pool.statistics().live_blocks.current == 1
    del array
    gc.collect()
    assert pool.statistics().live_blocks.current == 0
    assert not [each for each in recwarn if each.category is ResourceWarning]


def test_threads_make_and_drop_tensors(pool):
    source, failures = made_of(numbers(8, 8), pool), []

    def run(seed):
        try:
            for at in range(150):
                view = source[at % 8, (at + seed) % 8 :].expand(2, 8 - (at + seed) % 8)
                array = view.numpy()
                assert array[0, 0] == (at % 8) * 8 + (at + seed) % 8
                if at % 10 == seed % 10:
                    view.copy().close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    source.close()
    gc.collect()
    assert pool.statistics().live_blocks.current == 0


FORK = """
import os, warnings
import numpy
import ferrum_mem as fm
warnings.simplefilter("error")
with fm.Device("cpu:0") as device, fm.Pool(device) as pool:
    array = numpy.arange(4.0)
    shared, made = fm.Tensor.from_numpy(array, device=device), fm.Tensor(pool, "f32", 4)
    child = os.fork()
    if child == 0:
        for use in (made.read, made.numpy, lambda: made[1:], lambda: fm.Tensor(pool, "f32", 1)):
            try:
                use()
            except fm.ForkedError:
                continue
            os._exit(1)
        made.close()
        del shared
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    made.fill(1)
    assert made.item is not None and list(made.numpy()) == [1] * 4
    shared.close()
    made.close()
"""

EXIT = """
import ctypes, threading, time
import ferrum_mem as fm
device = fm.Device("cpu:0")
stream = fm.Stream(device)
memory = ctypes.create_string_buffer(1 << 20)
tensor = fm.Tensor.wrap(
    device, ctypes.addressof(memory), 1 << 20, "u8", 1 << 20, release=lambda: print("released")
)
stream.host_function(lambda: time.sleep(0.3))
tensor.fill(1, stream=stream)
tensor.close()
print("end of the program", flush=True)
"""


def test_fork(run_python):
    result = run_python(FORK)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_exit_waits_for_memory_of_the_program(run_python):
    result = run_python(EXIT)
    assert (result.returncode, result.stdout) == (0, "end of the program\nreleased\n")


# Buffers and DLPack.


def test_buffers(pool):
    with made_of(numbers(2, 3), pool) as tensor:
        assert tensor.view().format == "B"
        assert bytes(tensor.view()) == numbers(2, 3).tobytes()
        with memoryview(tensor._typed_view()) as typed:
            assert (typed.format, typed.shape) == ("f", (2, 3))
            assert typed.tolist() == numbers(2, 3).tolist()
        if sys.version_info >= (3, 12):
            assert memoryview(tensor).shape == (2, 3)
        del typed
        with tensor.T as turned:
            for look in (turned.view, turned._typed_view, lambda: turned.buffer):
                with pytest.raises(BufferError):
                    look()
    for dtype, letter in BUFFER.items():
        with fm.Tensor(pool, dtype, 1) as tensor:
            assert memoryview(tensor.numpy().data).format in (letter, "l", "L")
            assert tensor._typed_view().itemsize == tensor.nbytes
    with fm.Tensor(pool, "bf16", 2) as tensor, pytest.raises(BufferError):
        tensor._typed_view()


def test_dlpack_out(pool):
    array = numbers(2, 3, 4)
    with made_of(array, pool) as tensor:
        assert tensor.__dlpack_device__() == (1, 0)
        for view, expected in ((tensor, array), (tensor.T[1:], array.T[1:])):
            taken = numpy.from_dlpack(view)
            numpy.testing.assert_array_equal(taken, expected)
            assert (taken.strides, taken.ctypes.data) == (view.numpy().strides, view.address)
            with pytest.raises(fm.ViewExistsError):
                view.close()
            del taken
            view.close()
    with fm.Tensor(pool, "q8_0", 32) as tensor, pytest.raises(fm.UnsupportedError):
        tensor.__dlpack__()


class Exporter:
    """An object of another library that has DLPack of one version only."""

    def __init__(self, array, versioned):
        self.array, self.versioned = array, versioned

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **asked):
        if not self.versioned:
            if asked:
                raise TypeError("max_version is not known")
            return self.array.__dlpack__()
        return self.array.__dlpack__(max_version=(1, 0))


@pytest.mark.parametrize("wrong", [[0.0, 1.0], None, b"bytes", 5])
def test_what_has_no_dlpack(device, wrong):
    given = "None" if wrong is None else type(wrong).__name__
    text = f"^source must be an object with __dlpack__, not {given}$"
    for where in (None, device):
        with pytest.raises(TypeError, match=text):
            fm.Tensor.from_dlpack(wrong, device=where)


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_in(device, versioned):
    array = numbers(3, 4)[:, ::2]
    before = sys.getrefcount(array)
    tensor = fm.Tensor.from_dlpack(Exporter(array, versioned))
    same(tensor, array)
    assert tensor.address == array.ctypes.data
    view = tensor.T
    tensor.close()
    assert sys.getrefcount(array) == before + 1
    same(view, array.T)
    view.close()
    assert sys.getrefcount(array) == before
    with fm.Tensor.from_dlpack(array, device=device) as tensor:
        assert tensor.device is device


def test_dlpack_in_of_read_only_memory_and_of_unknown_types(device):
    array = numbers(3)
    array.flags.writeable = False
    with fm.Tensor.from_dlpack(array) as tensor:
        assert tensor.is_read_only
    wrong = numpy.zeros(2, "complex128")
    before = sys.getrefcount(wrong)
    with pytest.raises(fm.UnsupportedError):
        fm.Tensor.from_dlpack(wrong)
    gc.collect()
    assert sys.getrefcount(wrong) == before

    class Elsewhere(Exporter):
        def __dlpack_device__(self):
            return 7, 0

    with pytest.raises(fm.UnsupportedError, match="type 7"):
        fm.Tensor.from_dlpack(Elsewhere(array, True))


def test_tensors_pass_through_dlpack(pool):
    with made_of(numbers(4), pool) as tensor:
        with fm.Tensor.from_dlpack(tensor) as other:
            assert other.address == tensor.address
            with pytest.raises(fm.ViewExistsError):
                tensor.close()
            other.fill(2)
        assert list(tensor.numpy()) == [2] * 4


CUDA = """
import numpy
import ferrum_mem as fm
with fm.Device("cuda:1") as device, fm.Pool(device) as pool, fm.Pool("cpu:0") as here:
    array = numpy.arange(6, dtype="float32").reshape(2, 3)
    with fm.Tensor(pool, "f32", (2, 3)) as tensor:
        tensor.write(array)
        assert (numpy.asarray(tensor) == array).all()
        assert (tensor.T.__array__("float64") == array.T).all()
        for refuse, error in (
            (tensor.numpy, fm.UnsupportedError),
            (tensor.view, fm.UnsupportedError),
            (lambda: tensor.__array__(copy=False), ValueError),
        ):
            try:
                refuse()
            except error:
                continue
            raise AssertionError(refuse)
        assert tensor.__dlpack_device__() == (2, 1)
        assert tensor.__cuda_array_interface__["strides"] is None
        turned = tensor.T
        assert turned.__cuda_array_interface__["strides"] == (4, 12)
        with turned.copy(here) as copied:
            assert (copied.numpy() == array.T).all()
        with fm.Tensor.from_dlpack(tensor) as other:
            assert other.device.id == "cuda:1"
            assert other.address == tensor.address
        try:
            fm.Tensor.from_numpy(array, device=device)
        except fm.UnsupportedError:
            pass
        else:
            raise AssertionError("host memory as memory of the device")
        turned.close()
fm.shutdown()
"""


def test_tensors_of_a_device_that_the_host_cannot_address():
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", CUDA],
        env=child_environment(FERRUM_CUDA_LIBRARY=str(SIMULATOR)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
