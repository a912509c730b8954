"""Compute: operations, sequences, packing and operators. NumPy in float64 is the oracle."""

from __future__ import annotations

import asyncio
import gc
import inspect
import operator
import threading
import weakref
from typing import Any

import ferrum_mem as fm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import MIB, eventually
from .test_results import wrong

numpy = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")


@pytest.fixture
def compute(device):
    with fm.Compute(device, threads=1) as made:
        yield made


@pytest.fixture
def numbers():
    made = numpy.random.default_rng(19)

    def draw(*shape, dtype="float32"):
        return made.standard_normal(shape).astype(dtype)

    return draw


def close(found, expected, tolerance=1e-5):
    with found:
        array = numpy.asarray(found).astype("float64")
        assert array.shape == expected.shape
        numpy.testing.assert_allclose(array, expected, rtol=tolerance, atol=tolerance)
        del array


def softmax(x):
    raised = numpy.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def test_a_product_of_arrays_with_any_strides(compute, numbers):
    a, b = numbers(4, 6), numbers(6, 3)
    views = [
        (a, b),
        (a[::-1, ::2], b[::-2]),
        (numpy.asfortranarray(a), b.copy().T.copy().T),
        (numpy.broadcast_to(a[0], (2, 6)), b[:, :0]),
        (a.astype(">f4"), b),
    ]
    for left, right in views:
        (product,) = compute.run("MatMul", [left, right])
        close(product, left.astype("f8") @ right.astype("f8"))
    with fm.Tensor.from_numpy(a, device=compute.device) as left, left.T as turned:
        (product,) = compute.run("MatMul", [turned, a])
        close(product, a.T.astype("f8") @ a)


def any_strides(data, array):
    """The same elements in memory with other strides."""
    order = data.draw(st.permutations(range(array.ndim)))
    steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in order]
    sides = [array.shape[axis] * abs(step) for axis, step in zip(order, steps, strict=True)]
    room = numpy.zeros(sides, array.dtype)
    key = (*(slice(None, None, step) for step in steps), ...)
    view = room[key].transpose(numpy.argsort(order))
    view[...] = array
    return view


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_shapes_and_strides_broadcast_as_in_numpy(data):
    dtype = data.draw(st.sampled_from(["float32", "float16", "float64", "int32", "uint8"]))
    shape = data.draw(st.lists(st.integers(0, 4), max_size=4))
    draw = numpy.random.default_rng(data.draw(st.integers(0, 1000)))
    sides = []
    for _ in range(2):
        kept = shape[data.draw(st.integers(0, len(shape))) :]
        kept = [data.draw(st.sampled_from([1, length])) for length in kept]
        sides.append(any_strides(data, (draw.random(kept) * 9).astype(dtype)))
    a, b = sides
    name, function = data.draw(
        st.sampled_from([("Add", numpy.add), ("Sub", numpy.subtract), ("Mul", numpy.multiply)])
    )
    with fm.Compute("cpu:0", threads=1) as compute:
        (found,) = compute.run(name, [a, b])
        with found:
            assert found.shape == numpy.broadcast_shapes(a.shape, b.shape)
            numpy.testing.assert_array_equal(found.numpy(), function(a, b))


def test_an_output_is_an_array_and_keeps_its_memory(compute, numbers):
    a = numbers(2, 2)
    array = numpy.asarray(compute.run("Add", [a, a])[0])
    gc.collect()
    numpy.testing.assert_array_equal(array, a + a)
    with pytest.raises(fm.BusyError):
        compute.close()
    del array
    gc.collect()
    assert compute.status()["backend_specific"]["tensors"] == 0


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64"])
def test_types(compute, numbers, dtype):
    x = numbers(3, 5).astype(dtype)
    (found,) = compute.run("Softmax", [x])
    assert found.dtype == fm.Tensor.from_numpy(x).dtype
    close(found, softmax(x.astype("f8")), 1e-2)
    for target in (dtype, found.dtype, found.dtype.name.lower()):
        (cast,) = compute.run("Cast", [numbers(3)], to=target)
        with cast:
            assert cast.dtype is found.dtype


def test_numbers_lists_and_absent_inputs(compute, numbers):
    x = numbers(2, 6)
    with fm.Tensor.from_numpy(x, device=compute.device) as tensor:
        close(compute.run("Mul", [tensor, 2])[0], x * 2.0)
    (shaped,) = compute.run("Reshape", [x, [3, -1]])
    close(shaped, x.reshape(3, -1))
    (total,) = compute.run("ReduceSum", [x, (1,)], keepdims=False)
    close(total, x.astype("f8").sum(1))
    # The axes are absent: all of them.
    (total,) = compute.run("ReduceSum", [x, None])
    close(total, x.astype("f8").sum(keepdims=True).reshape(1, 1))
    (turned,) = compute.run("Transpose", [x], perm=numpy.array([1, 0]))
    close(turned, x.T)


def test_several_outputs(compute, numbers):
    x = numbers(4, 6)
    values, indices = compute.run("TopK", [x, [2]], axis=-1)
    order = numpy.argsort(-x, axis=-1)[:, :2]
    close(indices, order.astype("f8"), 0)
    close(values, numpy.take_along_axis(x, order, -1))
    parts = compute.run("Split", [x], axis=1, num_outputs=3)
    assert [each.shape for each in parts] == [(4, 2)] * 3
    for at, each in enumerate(parts):
        close(each, x[:, 2 * at : 2 * at + 2])
    parts = compute.run("Split", [x, [1, 5]], axis=1)
    assert [each.shape for each in parts] == [(4, 1), (4, 5)]
    scale = numpy.ones(6, "f4")
    (y, deviation) = compute.run("LayerNormalization", [x, scale], [True, False, True])
    mean = x.mean(-1, keepdims=True, dtype="f8")
    inverse = 1 / numpy.sqrt(x.astype("f8").var(-1, keepdims=True) + 1e-5)
    close(y, (x - mean) * inverse)
    close(deviation, inverse)
    norm, total = compute.run("ferrum.rms_norm_residual", [x, x, scale])
    close(total, 2.0 * x)
    close(norm, 2 * x / numpy.sqrt((4 * x.astype("f8") ** 2).mean(-1, keepdims=True) + 1e-5))


def test_outputs_that_are_given(compute, pool, numbers):
    a, b = numbers(3, 3), numbers(3, 3)
    with fm.Tensor(pool, "f32", (3, 3)) as target:
        (made,) = compute.run("Sub", [a, b], [target])
        assert made is target
        numpy.testing.assert_array_equal(target.numpy(), a - b)
        for given, error in (
            ([fm.Tensor(pool, "f32", (3, 2))], fm.InvalidArgumentError),
            ([fm.Tensor(pool, "f64", (3, 3))], fm.InvalidArgumentError),
            ([True, True], fm.InvalidArgumentError),
            ([None], TypeError),
        ):
            with pytest.raises(error):
                compute.run("Sub", [a, b], given)
        numpy.testing.assert_array_equal(target.numpy(), a - b)
        kept = numpy.zeros((3, 3), "f4")
        kept.flags.writeable = False
        with (
            fm.Tensor.from_numpy(kept, device=compute.device) as fixed,
            pytest.raises(fm.PermissionDeniedError),
        ):
            compute.run("Sub", [a, b], [fixed])


def test_operations_are_functions(compute, numbers):
    x = numbers(3, 4)
    op = compute.op("Softmax", axis=0)
    assert (op.name, op.compute) == ("Softmax", compute)
    close(op(x), softmax(x.astype("f8").T).T)
    found = op.infer([fm.TensorSpec(fm.DType.BF16, (7, 9))])
    assert found.outputs == (fm.TensorSpec(fm.DType.BF16, (7, 9)),)
    assert op.infer([x]).outputs == (fm.TensorSpec(fm.DType.F32, (3, 4)),)
    with pytest.raises(fm.InvalidArgumentError, match="9 dim"):
        op.infer([fm.TensorSpec(fm.DType.F32, (1,) * 9)])
    split = compute.op("TopK")
    values, indices = split(x, [1])
    close(values, x.max(-1, keepdims=True))
    indices.close()
    norm = compute.op("LayerNormalization")
    inputs = [fm.TensorSpec(fm.DType.F32, shape) for shape in ((2, 8), (8,))]
    found = norm.infer([*inputs, None], [True, False, True])
    assert [each and each.shape for each in found.outputs] == [(2, 8), None, (2, 1)]
    with pytest.raises(fm.InvalidArgumentError, match="MatMul"):
        compute.op("MatMul").infer([x, x])


def test_infer_reads_shapes_and_axes(compute, numbers):
    x, spec = numbers(6, 4), fm.TensorSpec(fm.DType.F32, (6, 4))
    reshape = compute.op("Reshape")

    def shape_of(op, *inputs):
        return op.infer(inputs).outputs[0].shape

    assert shape_of(reshape, spec, [8, -1]) == (8, 3)
    assert shape_of(reshape, x, fm.TensorSpec(fm.DType.I64, (2,), (2, 12))) == (2, 12)
    with fm.Tensor.from_numpy(numpy.array([3, 8])) as given:
        assert shape_of(reshape, spec, given) == (3, 8)
    assert shape_of(reshape, fm.TensorSpec(fm.DType.F32, (1, 1)), []) == ()
    steps = [1], [6], [0], numpy.array([2], "i4")
    sliced = shape_of(compute.op("Slice"), spec, *(numpy.array(each, "i4") for each in steps))
    assert sliced == (3, 4)
    assert shape_of(compute.op("ReduceSum", keepdims=0), spec, [1]) == (6,)
    assert shape_of(compute.op("Unsqueeze"), spec, [0, 3]) == (1, 6, 4, 1)
    found = compute.op("Split").infer([spec, [1, 5]], 2)
    assert [each.shape for each in found.outputs] == [(1, 4), (5, 4)]
    with pytest.raises(fm.InvalidArgumentError, match="must be known"):
        compute.op("Unsqueeze").infer([spec, fm.TensorSpec(fm.DType.I64, (1,))])
    with pytest.raises(fm.InvalidArgumentError, match="known"):
        reshape.infer([spec, fm.TensorSpec(fm.DType.I64, (2,), (1, 2, 3))])


def test_old_opsets(compute, numbers):
    x = numbers(2, 3)
    (found,) = compute.run("ReduceMean", [x], axes=[1], opset=13)
    close(found, x.astype("f8").mean(1, keepdims=True))
    with pytest.raises(fm.InvalidArgumentError):
        compute.run("ReduceMean", [x], axes=[1])


def test_packed_weights_replace_an_input(compute, model, numbers):
    w, x = numbers(32, 16), numbers(5, 16)
    linear = compute.op("ferrum.linear")
    expected = x.astype("f8") @ w.T
    for memory in (None, model):
        packed = linear.pack(w, memory=memory, tag="weights" if memory else None)
        close(linear(x, packed), expected)
        assert packed.is_packed
        for use in (packed.read, packed.numpy, packed.view, packed.__dlpack__):
            with pytest.raises((fm.UnsupportedError, fm.InvalidArgumentError)):
                use()
        if memory is not None:
            model.sleep(tag="weights")
            with pytest.raises(fm.BusyError):
                linear(x, packed)
            model.wake(tag="weights")
            close(linear(x, packed), expected)
        packed.close()
    with pytest.raises(fm.InvalidArgumentError):
        linear.pack(w, 7)
    with pytest.raises(fm.UnsupportedError):
        compute.op("Add").pack(w)


def test_sequences(compute, pool, numbers):
    x, w, scale = numbers(4, 8), numbers(8, 8), numpy.ones(8, "f4")
    source = fm.Tensor(pool, "f32", (4, 8))
    steps = compute.sequence()
    product, norm = compute.op("MatMul"), compute.op("RMSNormalization")
    (hidden,) = steps.add(product, [source, w])
    (flat,) = steps.add(norm, [hidden, scale])
    (out,) = steps.add(compute.op("Softmax"), [flat])
    hidden.close()
    flat.close()
    for factor in (1, 3):
        source.write(x * factor)
        steps.run()
        h = (x * factor).astype("f8") @ w
        h /= numpy.sqrt((h**2).mean(-1, keepdims=True) + 1e-5)
        numpy.testing.assert_allclose(out.numpy(), softmax(h), rtol=1e-5, atol=1e-6)
    source.close()
    steps.run()
    with (
        fm.Compute(compute.device) as other,
        pytest.raises(fm.InvalidArgumentError),
    ):
        steps.add(other.op("Relu"), [x])
    with pytest.raises(fm.BusyError):
        compute.close()
    steps.close()
    out.close()


def test_work_of_a_busy_stream_is_queued(compute, stream, gate, numbers):
    a = numbers(3, 3)
    stream.host_function(gate.wait)
    gate.reached.wait(60)
    copy, ended = a.copy(), list[int]()
    weakref.finalize(copy, ended.append, 1)
    (product,) = compute.run("MatMul", [copy, copy], stream=stream)
    del copy
    gc.collect()
    assert not ended  # the queued work reads the array
    assert compute.status()["operations_completed"] == 0
    gate.open()
    close(product, a.astype("f8") @ a)
    eventually(lambda: len(ended) == 1)
    compute.synchronize()
    assert compute.status()["operations_completed"] == 1


def test_awaited_runs(compute, numbers):
    a = numbers(3, 3)

    async def run():
        (product,) = await compute.run_async("MatMul", [a, a])
        close(product, a.astype("f8") @ a)
        op = compute.op("Relu")
        (found,) = await op.run_async([a])
        close(found, numpy.maximum(a, 0))
        with compute.sequence() as steps:
            (found,) = steps.add(op, [a])
            await steps.run_async()
            close(found, numpy.maximum(a, 0))

    asyncio.run(run())


# Operators.


def test_operators_of_tensors(device, numbers):
    a, b = numbers(3, 3), numbers(3, 3)
    with fm.Tensor.from_numpy(a, device=device) as x, fm.Tensor.from_numpy(b, device=device) as y:
        a, b = a.astype("f8"), b.astype("f8")
        for found, expected in (
            (x + y, a + b),
            (x - y, a - b),
            (x * y, a * b),
            (x / y, a / b),
            (x @ y, a @ b),
            (x.T @ y[:, :2], a.T @ b[:, :2]),
            (2 * x + 1, 2 * a + 1),
            (1 - x / 2.5, 1 - a / 2.5),
            (1 / x, 1 / a),
            (x + b.astype("f4"), a + b),
            (b.astype("f4") @ x, b @ a),
            (b.astype("f4") - x, b - a),
        ):
            assert isinstance(found, fm.Tensor)
            close(found, expected, 1e-4)
        with pytest.raises(fm.InvalidArgumentError, match="Add"):
            _ = x + y[:2]
        with pytest.raises(fm.FerrumError, match="Add"):
            _ = x + numpy.zeros(3, "f8")
    with pytest.raises(fm.InvalidHandleError):
        _ = x + y
    gc.collect()
    # The backend of the operators has ended with the last tensor.
    assert [leak.kind for leak in fm.leak_report().leaks] == ["device"]


def test_elements_are_not_compared_by_accident(device, numbers):
    with (
        fm.Tensor.from_numpy(numbers(2), device=device) as x,
        fm.Tensor.from_numpy(numbers(2), device=device) as y,
    ):
        assert x == x
        assert (x == None, x == "x", x != None) == (False, False, True)  # noqa: E711
        for other in (y, x[:], numpy.zeros(2, "f4"), numpy.float32(1), 1, 1.5, True):
            for compare in (operator.eq, operator.ne):
                for pair in ((x, other), (other, x)):
                    with pytest.raises(TypeError, match=r"numpy\.array_equal"):
                        compare(*pair)
        assert {x: 1, y: 2}[y] == 2
        assert len({x, y, x}) == 2
        assert [x, y].index(x) == 0


def test_operators_open_one_backend(device, numbers):
    x = fm.Tensor.from_numpy(numbers(2), device=device)
    y = x + 1
    z = y * 2
    kinds = [leak.kind for leak in fm.leak_report().leaks]
    assert kinds.count("compute") == 1
    x.close()
    y.close()
    assert z.shape == (2,)
    z.close()
    gc.collect()
    assert "compute" not in [leak.kind for leak in fm.leak_report().leaks]


def test_threads_run_operations(compute, numbers):
    a = numbers(8, 8)
    expected, failures = a.astype("f8") @ a, []

    def run():
        try:
            for _ in range(50):
                close(compute.run("MatMul", [a, a])[0], expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    assert compute.status()["operations_completed"] == 200


# Errors and ends.


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        ("MatMull", {}, fm.NotFoundError, "MatMul"),
        ("Softmax", {"axes": 1}, fm.InvalidArgumentError, '"axis"'),
        ("Softmax", {"axis": 9}, fm.InvalidArgumentError, "axis"),
        ("Softmax", {"axis": object()}, fm.InvalidArgumentError, "object"),
        ("Softmax", {"opset": 99}, fm.UnsupportedError, "99"),
        ("Softmax", {"opset": -1}, fm.InvalidArgumentError, "-1"),
        ("MatMul", {}, fm.InvalidArgumentError, "MatMul"),
        ("Cast", {"to": "f33"}, fm.InvalidArgumentError, "f33"),
    ],
)
def test_wrong_runs(compute, numbers, name, arguments, error, message):
    with pytest.raises(error, match=message):
        compute.run(name, [numbers(2, 3)], **arguments)
    assert compute.status()["backend_specific"]["tensors"] == 0


def test_tensors_that_cannot_be_used(compute, model, other_device, numbers):
    x = numbers(4)
    with (
        fm.Tensor.from_numpy(x, device=other_device) as there,
        pytest.raises(fm.UnsupportedDeviceError),
    ):
        compute.run("Add", [there, x])
    with fm.Tensor(model, "f32", 4) as asleep:
        asleep.write(x)
        model.sleep()
        for call in (
            lambda: compute.run("Add", [x, asleep]),
            lambda: compute.run("Add", [x, x], [asleep]),
            lambda: asleep + 1,
        ):
            with pytest.raises(fm.BusyError):
                call()
        model.wake()
        close(asleep + 1, x.astype("f8") + 1)
    gc.collect()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"backend": "candle"}, fm.UnsupportedError, "Candle"),
        ({"backend": fm.ComputeType.TENSORRT}, fm.UnsupportedError, "TensorRT"),
        ({"backend": "mine"}, fm.NotFoundError, "mine"),
        ({"optimization_level": 4}, fm.InvalidConfigError, "optimization_level"),
        ({"threads": 1 << 20}, fm.InvalidConfigError, "threads"),
        ({"alignment_bytes": 3}, fm.InvalidConfigError, "alignment"),
        ({"options": {"instruction_sett": "avx2"}}, fm.InvalidConfigError, "instruction_set"),
        ({"options": {"instruction_set": "none"}}, fm.FerrumError, "none"),
        ({"growth": fm.ComputeGrowth.STATIC, "pool_size_bytes": 1 << 50}, fm.FerrumError, ""),
    ],
)
def test_wrong_settings(device, settings, error, message):
    with pytest.raises(error, match=message or "."):
        fm.Compute(device, **settings)
    if issubclass(error, fm.InvalidConfigError):
        with pytest.raises(error, match=message):
            fm.Compute.check(device, **settings)


def test_settings(device, numbers):
    x = numbers(64, 64)
    every: tuple[dict[str, Any], ...] = (
        {"optimization_level": 0},
        {"debug": True, "alignment_bytes": 4096},
        {"pooling": False},
        {"growth": fm.ComputeGrowth.STATIC, "pool_size_bytes": 8 * MIB},
        {"backend": "cpu", "threads": 2, "options": {"plans": 2}},
    )
    for chosen in every:
        fm.Compute.check(**chosen)
        with fm.Compute(device, **chosen) as compute:
            (found,) = compute.run("MatMul", [x, x])
            assert found.address % chosen.get("alignment_bytes", 256) == 0
            close(found, x.astype("f8") @ x, 1e-4)
    with fm.Compute("cpu:1") as compute:
        assert compute.device.id == "cpu:1"
        (found,) = compute.run("Relu", [x])
        close(found, numpy.maximum(x, 0))
    with (
        fm.Compute(device, pool_size_bytes=4 * MIB) as small,
        pytest.raises(fm.OutOfMemoryError),
    ):
        small.run("Expand", [x[:1], [4096, 64, 64]])


def test_checks_of_settings_take_what_the_class_takes():
    fm.Compute.check()
    with pytest.raises(TypeError, match="thread"):
        fm.Compute.check(thread=1)
    settings = set(inspect.signature(fm.Compute).parameters) - {"device"}
    from ferrum_mem.compute import _config_of

    assert settings == set(inspect.signature(_config_of).parameters)


def test_a_forced_close_ends_everything(device, numbers):
    compute = fm.Compute(device)
    x = numbers(3)
    (y,), op, steps = compute.run("Relu", [x]), compute.op("Relu"), compute.sequence()
    array = y.numpy()
    with pytest.raises(fm.ViewExistsError):
        compute.close(force=True)
    del array
    with pytest.raises(fm.BusyError):
        compute.close()
    # It still computes, and prepares its operations again.
    compute.run("Relu", [x])[0].close()
    op(x).close()
    compute.close(force=True)
    for use in (
        y.read,
        lambda: op(x),
        steps.run,
        lambda: compute.run("Relu", [x]),
        compute.status,
    ):
        with pytest.raises(fm.InvalidHandleError):
            use()
    assert [leak.kind for leak in fm.leak_report().leaks] == ["device"]


def test_a_collected_backend_warns_and_its_parts_do_not(device, numbers):
    compute = fm.Compute(device)
    op = compute.op("Relu")
    y = op(numbers(3))
    del op
    with pytest.warns(ResourceWarning, match="unclosed ferrum_mem.Compute cpu on cpu:0"):
        del compute
    assert y.shape == (3,)
    del y
    gc.collect()
    assert [leak.kind for leak in fm.leak_report().leaks] == ["device"]


FORK = """
import os
import numpy
import ferrum_mem as fm
x = numpy.ones((3, 3), "f4")
with fm.Compute("cpu:0", threads=2) as compute:
    (y,) = compute.run("MatMul", [x, x])
    child = os.fork()
    if child == 0:
        try:
            compute.run("MatMul", [x, x])
        except fm.ForkedError:
            compute.close()
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    (z,) = compute.run("MatMul", [y, x])
    assert (z.numpy() == 9).all()
    y.close()
    z.close()
"""


def test_fork(run_python):
    result = run_python(FORK)
    assert (result.returncode, result.stderr) == (0, "")


# What a backend states.


def test_capabilities_and_status(compute, numbers):
    stated = compute.capabilities()
    assert wrong(stated, fm.ComputeCapabilities, "capabilities") == []
    assert "bf16" in stated["supported_dtypes"]
    status = compute.status()
    assert wrong(status, fm.ComputeStatus, "status") == []
    assert (status["operations_completed"], status["last_error"]) == (0, None)
    with pytest.raises(fm.InvalidArgumentError):
        compute.run("MatMul", [numbers(2, 3), numbers(2, 3)])
    assert "MatMul" in (compute.status()["last_error"] or "")


def test_backends_and_requirements():
    listed = fm.compute_backends()
    assert wrong(listed, fm.ComputeBackends, "backends") == []
    by_name = {each["name"]: each for each in listed["backends"]}
    assert list(by_name) == sorted(by_name)
    assert by_name["cpu"]["available"]
    assert {"candle", "metal", "onnx_runtime", "tensorrt"} <= set(by_name)
    assert "Candle" in by_name["candle"]["reason"]
    found = fm.find_compute(required_dtypes=["bf16"], min_batch_size=4)
    assert wrong(found, fm.ComputeFinding, "finding") == []
    assert found["best"] == found["candidates"][0]["name"] == "cpu"
    assert all(each["meets"] != bool(each["reasons"]) for each in found["candidates"])
    assert fm.find_compute()["best"] == "cpu"
    assert fm.find_compute({"requires_paged_attention": True})["best"] == "cpu"
    found = fm.find_compute({"extra_requirements": {"tensor_cores": True}})
    assert found["best"] == ""
    (cpu,) = (each for each in found["candidates"] if each["name"] == "cpu")
    assert "tensor_cores" in cpu["reasons"][0]
    with pytest.raises(fm.InvalidFormatError, match='"required_dtype"'):
        fm.find_compute(required_dtype=["bf16"])
