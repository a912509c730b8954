"""Layer types of the program in Python: functions as layers, parameters, errors and ends."""

import contextlib
import gc
import threading
from typing import Any, cast

import ferrum_mem as fm
import numpy
import pytest


def tensor(name, shape, dtype="f32"):
    return {"name": name, "shape": shape, "dtype": dtype}


def definition(layer, parameters=(), out=(-1, 4)):
    """x, a layer, and a Relu."""
    return {
        "metadata": {
            "name": "m",
            "version": "1",
            "model_type": "m",
            "architecture_family": "custom",
        },
        "architecture": {
            "name": "m",
            "dimensions": {
                "vocab_size": 1,
                "hidden_size": 4,
                "num_layers": 1,
                "num_heads": 1,
                "max_sequence_length": 1,
            },
        },
        "parameters": list(parameters),
        "layers": [
            {
                "name": "x",
                "layer_type": "Input",
                "inputs": [],
                "parameters": [],
                "outputs": [tensor("x", [-1, 4])],
            },
            {
                "name": "s",
                "inputs": [tensor("in", [-1, 4])],
                "outputs": [tensor("out", list(out))],
                "parameters": [],
                **layer,
            },
            {
                "name": "r",
                "layer_type": "Relu",
                "parameters": [],
                "inputs": [tensor("X", list(out))],
                "outputs": [tensor("Y", list(out))],
            },
        ],
        "graph": {
            "inputs": ["x"],
            "outputs": ["r"],
            "nodes": [{"id": name, "layer_name": name} for name in ("x", "s", "r")],
            "edges": [{"source": "x", "target": "s"}, {"source": "s", "target": "r"}],
        },
    }


X = numpy.arange(8, dtype="float32").reshape(2, 4) - 3


@pytest.fixture(params=["cpu", "onnx_runtime"])
def engine(request):
    """The engine of a model: that of the CPU, and that of ONNX Runtime where it is installed."""
    if request.param == "onnx_runtime":
        pytest.importorskip("onnxruntime")
    return request.param


@contextlib.contextmanager
def computing(layer):
    """A backend, which ends before the layer: it keeps its operations."""
    with layer, fm.Compute("cpu:0") as compute:
        yield compute


def test_a_function_is_a_layer_of_a_model(engine):
    @fm.models.layer(
        "mine.scale", parameters=lambda width, **_: {"gain": numpy.arange(width, dtype="f4")}
    )
    def scale(x, gain, *, width=4, factor=1.0):
        """Scales."""
        return x * gain * factor

    assert scale.type == "mine.scale"
    assert scale.__doc__ == "Scales."
    assert scale(2, 3, factor=4) == 24
    layer = {"layer_type": "mine.scale", "config": {"factor": 2}}
    with scale, fm.models.build(definition=definition(layer), engine=engine) as model:
        got = model(x=X)["r"].numpy()
        expected = numpy.maximum(X * numpy.arange(4, dtype="float32") * 2, 0)
        assert numpy.array_equal(got, expected)
        found = fm.models.layers()["layers"]
        assert found == [
            {
                "layer_type": "mine.scale",
                "name": "mine.scale",
                "input_shape": None,
                "output_count": 1,
                "config": {"width": 4, "factor": 1.0},
                "uses": 1,
            }
        ]
        model.sleep()
        model.wake()
        assert numpy.array_equal(model(x=X)["r"].numpy(), expected)
        with pytest.raises(fm.BusyError, match=r"mine\.scale"):
            scale.close()
    assert scale.closed
    assert fm.models.layers()["layers"] == []


def test_the_weights_have_a_parameter_or_the_layer_makes_it(tmp_path, engine):
    from safetensors.numpy import save_file

    file = tmp_path / "w.safetensors"
    save_file({"s.gain": numpy.full(4, 7, "float32")}, file)

    @fm.models.layer("mine.scale", parameters={"gain": numpy.full(4, 3, "float32")})
    def scale(x, gain):
        return x * gain

    made = definition({"layer_type": "mine.scale"})
    with scale:
        with fm.models.build(definition=made, engine=engine) as model:
            assert numpy.array_equal(model(x=X)["r"].numpy(), numpy.maximum(X * 3, 0))
        with (
            fm.Weights(file) as weights,
            fm.models.build(definition=made, weights=weights, engine=engine) as model,
        ):
            assert numpy.array_equal(model(x=X)["r"].numpy(), numpy.maximum(X * 7, 0))


def test_a_layer_writes_its_output_and_infers_another_shape(engine):
    @fm.models.layer("mine.halve", infer=lambda x: (x.shape[0], x.shape[1] // 2))
    def halve(x, out):
        numpy.add(x[:, ::2], x[:, 1::2], out=out)

    with computing(halve) as compute:
        made = definition({"layer_type": "mine.halve"}, out=(-1, 2))
        with fm.models.build(definition=made, engine=engine) as model:
            expected = numpy.maximum(X[:, ::2] + X[:, 1::2], 0)
            assert numpy.array_equal(model(x=X)["r"].numpy(), expected)
        with compute.op("mine.halve")(X.T) as y:
            # With the strides of the caller.
            assert numpy.array_equal(numpy.asarray(y), X.T[:, ::2] + X.T[:, 1::2])


def test_several_outputs():
    @fm.models.layer(
        "mine.both",
        outputs=2,
        infer=lambda x: [x.shape, fm.TensorSpec(fm.DType.I64, (1,))],
    )
    def both(x):
        return [-x, numpy.array([x.size])]

    with computing(both) as compute:
        first, second = compute.run("mine.both", [X], outputs=2)
        assert numpy.array_equal(numpy.asarray(first), -X)
        assert numpy.asarray(second).tolist() == [8]
        first.close()
        second.close()


class OwnError(Exception):
    pass


def test_exceptions_are_carried_back(engine):
    state: dict[str, str | None] = {"raises": None}

    def fails(where):
        if state["raises"] == where:
            raise OwnError(where)

    def infer(x, gain):
        fails("infer")
        return x.shape

    def parameters():
        fails("parameters")
        return {"gain": numpy.ones(4, "float32")}

    @fm.models.layer("mine.fails", infer=infer, parameters=parameters)
    def layer(x, gain):
        fails("forward")
        return x * gain

    made = definition({"layer_type": "mine.fails"})
    with layer:
        for where in ("infer", "parameters", "forward"):
            state["raises"] = where
            with pytest.raises(fm.FerrumError, match=where) as caught:
                fm.models.build(definition=made, engine=engine)
            assert isinstance(caught.value.__cause__, OwnError)
            state["raises"] = None
        with fm.models.build(definition=made, engine=engine) as model:
            state["raises"] = "forward"
            with pytest.raises(fm.InternalError, match=r"mine\.fails") as caught:
                model(x=X)
            assert str(caught.value.__cause__) == "forward"
            state["raises"] = None
            assert numpy.array_equal(model(x=X)["r"].numpy(), numpy.maximum(X, 0))


def test_what_a_function_returns_is_checked():
    for wrong, says in (
        (lambda x: x[:1], "returned"),
        (lambda x: None, "returned"),
        (lambda x: 1.0, "returned"),
        (lambda: None, "argument"),
    ):
        layer = fm.models.layer("mine.wrong")(wrong)
        with computing(layer) as compute, pytest.raises(fm.InternalError, match=says):
            compute.run("mine.wrong", [X])
    kept = []

    @fm.models.layer("mine.keeps")
    def keeps(x):
        kept.append(x)
        return x

    with computing(keeps) as compute:
        with pytest.raises(fm.InvalidStateError, match="kept"):
            compute.run("mine.keeps", [X])
        kept.clear()
    for infer, says in (
        (lambda x: [x, x], "integer"),
        (lambda x: (1,) * 9, "dimensions"),
        (lambda x: (-1,), "negative"),
        (lambda x: (2**40, 2**40), "2\\^63"),
        (lambda x: 1 / 0, "division"),
    ):
        layer = fm.models.layer("mine.wrong", infer=infer)(lambda x: x)
        with computing(layer) as compute, pytest.raises(fm.FerrumError, match=says):
            compute.run(layer.type, [X])


def test_wrong_arguments_are_rejected():
    def function(x):
        return x

    for name in ("", "scale", "ferrum.x", "a b.c"):
        with pytest.raises(fm.InvalidArgumentError):
            fm.models.layer(name)(function)
    with pytest.raises(TypeError):
        fm.models.layer("mine.x")(cast(Any, 3))
    with pytest.raises(TypeError):
        fm.models.layer("mine.x", infer=cast(Any, 3))
    for arguments in (
        {"outputs": 0},
        {"outputs": 65},
        {"input_shape": [-2]},
        {"input_shape": [1] * 9},
        {"config": {"a": float("nan")}},
        {"config": {"a": object()}},
    ):
        with pytest.raises(fm.InvalidArgumentError):
            fm.models.layer("mine.x", **arguments)(function)
    with fm.models.layer("mine.x")(function), pytest.raises(fm.AlreadyExistsError):
        fm.models.layer("mine.x")(function)
    gc.collect()
    assert fm.models.layers()["layers"] == []


def test_the_input_shape_is_checked():
    @fm.models.layer("mine.rows", input_shape=[-1, 4])
    def rows(x):
        return x

    with computing(rows) as compute:
        compute.run("mine.rows", [X])[0].close()
        with pytest.raises(fm.InvalidArgumentError, match=r"\[-1, 4\]"):
            compute.run("mine.rows", [X.T])


def test_a_layer_may_not_end_its_model(engine):
    found: list[type] = []
    model: Any = None

    def tries():
        for call in (
            lambda: model.close(force=True),
            lambda: model(x=X),
            model.sleep,
            ends.close,
        ):
            try:
                call()
            except fm.FerrumError as error:
                found.append(type(error))

    @fm.models.layer("mine.ends")
    def ends(x):
        if model is not None:
            tries()
        return x

    with ends:
        with fm.models.build(
            definition=definition({"layer_type": "mine.ends"}), engine=engine
        ) as built:
            model = built
            assert numpy.array_equal(model(x=X)["r"].numpy(), numpy.maximum(X, 0))
        model = None
    assert found == [fm.InvalidStateError] * 3 + [fm.BusyError]


def test_a_thread_of_the_library_keeps_its_state():
    """Python makes the state of a thread only once: what is local to the thread stays."""
    local = threading.local()
    calls: dict[int, list[int]] = {}

    @fm.models.layer("test.local")
    def count(x: Any) -> Any:
        local.calls = getattr(local, "calls", 0) + 1
        calls.setdefault(threading.get_native_id(), []).append(local.calls)
        return x

    with count, fm.models.build(definition=definition({"layer_type": "test.local"})) as model:
        for _ in range(50):
            model(x=X)["r"].close()
    for each in calls.values():
        assert each == list(range(1, len(each) + 1))
    assert max(map(len, calls.values())) > 1


def test_several_threads_run_a_layer():
    running, most = [], []

    @fm.models.layer("mine.alone", one_at_a_time=True)
    def alone(x):
        running.append(1)
        most.append(len(running))
        result = x + 1
        running.pop()
        return result

    def work():
        for _ in range(20):
            with compute.run("mine.alone", [X])[0] as y:
                assert numpy.array_equal(numpy.asarray(y), X + 1)

    with computing(alone) as compute:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(most) == 60
        assert max(most) == 1


def test_a_layer_is_exported_as_an_operator_of_its_domain(tmp_path):
    onnx = pytest.importorskip("onnx")
    arrays = pytest.importorskip("onnx.numpy_helper")

    @fm.models.layer("mine.deep.scale", parameters={"gain": numpy.full(4, 3, "float32")})
    def scale(x, gain, *, factor=2.5, name="a"):
        return x * gain * factor

    file = tmp_path / "scale.onnx"
    made = definition({"layer_type": "mine.deep.scale", "config": {"name": "b", "axes": [1, 2]}})
    # The function has no axes, and the final validation would call it.
    options = fm.BuildOptions(enable_validation=False)
    with scale, fm.models.build(definition=made, options=options) as model:
        model.export_onnx(file)
    graph = onnx.load(file).graph
    (node,) = (each for each in graph.node if each.domain)
    assert (node.domain, node.op_type, len(node.input)) == ("mine.deep", "scale", 2)
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert attributes == {"factor": 2.5, "name": b"b", "axes": [1, 2]}
    (gain,) = graph.initializer
    assert gain.name == node.input[1]
    assert arrays.to_array(gain).tolist() == [3, 3, 3, 3]


def test_a_file_with_a_layer_is_built_on_both_engines(tmp_path, engine):
    @fm.models.layer("mine.scale", parameters={"gain": numpy.full(4, 3, "float32")})
    def scale(x, gain, *, factor=2.5):
        return x * gain * factor

    file = tmp_path / "scale.onnx"
    made = definition({"layer_type": "mine.scale", "config": {"factor": 2.0}})
    expected = numpy.maximum(X * 6, 0)
    with scale:
        with fm.models.build(definition=made, engine=engine) as model:
            model.export_onnx(file)
        with fm.models.build(file, engine=engine) as model:
            assert model.info()["parameter_bytes"] == 16
            for _ in range(2):
                assert numpy.array_equal(model(x=X)["r"].numpy(), expected)
    with pytest.raises(fm.FerrumError, match=r"mine\.scale|scale"):
        fm.models.build(file, engine=engine)


@pytest.mark.parametrize(
    "dtype",
    ["f16", "bf16", "f64", "f32", "i8", "u8", "i16", "i32", "i64", "u16", "u32", "u64", "bool"],
)
def test_operands_of_every_type(dtype, engine):
    """The layer copies its first input, and counts its elements."""

    def infer(x, y):
        return [x.shape, fm.TensorSpec(fm.DType.I64, (1,)), fm.TensorSpec(fm.DType.I64, y.shape)]

    @fm.models.layer("mine.copy", outputs=3, infer=infer)
    def copy(x, y):
        return [x, numpy.array([x.size]), y + 1]

    made = definition({"layer_type": "mine.copy"})
    x, layer, _ = made["layers"]
    y = {**x, "name": "y", "outputs": [tensor("y", [-1, 2], "i64")]}
    x["outputs"] = [tensor("x", [-1, 4], dtype)]
    layer["inputs"] = [tensor("in", [-1, 4], dtype), tensor("more", [-1, 2], "i64")]
    layer["outputs"] = [
        tensor("same", [-1, 4], dtype),
        tensor("count", [1], "i64"),
        tensor("next", [-1, 2], "i64"),
    ]

    def cast(name, kind, shape):
        return {
            "name": name,
            "layer_type": "Cast",
            "config": {"to": "i64"},
            "parameters": [],
            "inputs": [tensor("in", shape, kind)],
            "outputs": [tensor("out", shape, "i64")],
        }

    casts = [cast("m", dtype, [-1, 4]), cast("c", "i64", [1]), cast("n", "i64", [-1, 2])]
    made["layers"] = [x, y, layer, *casts]
    names = ["x", "y", "s", "m", "c", "n"]
    made["graph"] = {
        "inputs": ["x", "y"],
        "outputs": ["m", "c", "n"],
        "nodes": [{"id": name, "layer_name": name} for name in names],
        "edges": [
            {"source": "x", "target": "s"},
            {"source": "y", "target": "s", "target_input": 1},
            {"source": "s", "target": "m"},
            {"source": "s", "target": "c", "source_output": 1},
            {"source": "s", "target": "n", "source_output": 2},
        ],
    }
    values = numpy.arange(8).reshape(2, 4) % 2
    rows = numpy.arange(6).reshape(3, 2)
    with copy, fm.models.build(definition=made, engine=engine) as model:
        for _ in range(2):
            got = model(x=values, y=rows)
            assert numpy.array_equal(got["m"].numpy(), values)
            assert got["c"].numpy().tolist() == [8]
            assert numpy.array_equal(got["n"].numpy(), rows + 1)


def test_two_threads_run_two_models_with_a_layer(engine):
    @fm.models.layer("mine.more")
    def more(x, *, by=1.0):
        return x + by

    def work(model, by):
        for rows in range(1, 40):
            x = numpy.full((rows % 5 + 1, 4), rows, "float32")
            results.append(numpy.array_equal(model(x=x)["r"].numpy(), x + by))

    results: list[bool] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(more)
        threads = []
        for by in (1.0, 2.0):
            made = definition({"layer_type": "mine.more", "config": {"by": by}})
            model = stack.enter_context(fm.models.build(definition=made, engine=engine))
            threads.append(threading.Thread(target=work, args=(model, by)))
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(results) == 78
    assert all(results)


def test_a_session_has_the_shapes_of_its_definition():
    pytest.importorskip("onnxruntime")
    state = {"columns": 4}

    @fm.models.layer("mine.wide", infer=lambda x: (x.shape[0], state["columns"]))
    def wide(x, out):
        out[:] = 1

    made = definition({"layer_type": "mine.wide"})
    rows = numpy.ones((3, 4), "float32")
    with wide, fm.models.build(definition=made, engine="onnx_runtime") as model:
        assert model(x=X)["r"].numpy().shape == (2, 4)
        state["columns"] = 5
        with pytest.raises(fm.InvalidArgumentError, match=r"f32\[3, 5\].*f32\[-1, 4\]"):
            model(x=rows)
        state["columns"] = 4
        assert model(x=rows)["r"].numpy().shape == (3, 4)


def test_a_pass_of_the_program_keeps_a_layer():
    @fm.models.layer("mine.scale", infer=lambda x, gain: x.shape, parameters={"gain": X[0] + 9})
    def scale(x, gain):
        return x * gain

    @fm.models.optimization_pass(name="own")
    def own(changed: Any) -> Any:
        changed["metadata"]["name"] += "+own"
        return changed

    made = definition({"layer_type": "mine.scale"})
    options = fm.BuildOptions(passes=[*fm.models.standard_passes(), own])
    with scale:
        with fm.models.build(definition=made, options=options) as model:
            assert numpy.array_equal(model(x=X)["r"].numpy(), numpy.maximum(X * (X[0] + 9), 0))
        found = fm.models.optimize(made, [own])["definition"]
        assert found["metadata"]["name"] == "m+own"
        assert found["parameters"][0]["name"] == "s.gain"
