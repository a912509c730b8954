"""The backend of ONNX Runtime: operations, models from folders, definitions and files with any
operator, sleep, and a library that is missing.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import pytest

from .conftest import child_environment
from .test_models import SMALL_MODEL

numpy = pytest.importorskip("numpy")
if not os.environ.get("FERRUM_ORT_LIBRARY"):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: no ONNX Runtime")


@pytest.fixture
def compute() -> Iterator[fm.Compute]:
    with fm.Compute("cpu:0", backend="onnx_runtime", threads=1) as opened:
        yield opened


def floats(*shape: int) -> Any:
    made = numpy.random.default_rng(sum(shape)).standard_normal(shape)
    return made.astype(numpy.float32)


def numbers(tensor: fm.Tensor) -> Any:
    with tensor:
        return numpy.array(tensor.numpy())


def result(model: fm.models.Executor, x: Any) -> Any:
    (made,) = model.run({"x": x}).values()
    return numbers(made)


def test_the_backend_is_listed() -> None:
    (found,) = (b for b in fm.compute_backends()["backends"] if b["name"] == "onnx_runtime")
    assert found["available"], found
    assert found["version"].startswith("1.")
    assert "libonnxruntime" in str(found["capabilities"]["extra_capabilities"]["library"])
    assert fm.find_compute()["best"] == "cpu"
    chosen = fm.find_compute(extra_requirements={"engine": "onnx_runtime"})
    assert chosen["best"] == "onnx_runtime"


def test_operations(compute: fm.Compute) -> None:
    x, w = floats(3, 4), floats(4, 5)
    assert numpy.allclose(numbers(compute.op("MatMul")(x, w)), x @ w, atol=1e-6)
    assert numpy.array_equal(numbers(compute.op("Add")(x, x)), x + x)
    first, second = compute.op("Split", axis=1)(x, numpy.array([1, 3]))
    assert numpy.array_equal(numbers(first), x[:, :1])
    assert numpy.array_equal(numbers(second), x[:, 1:])
    status = compute.status()
    assert status["operations_completed"] >= 3
    with pytest.raises(fm.UnsupportedError, match="packed"):
        compute.op("MatMul").pack(w, 1)


def test_settings() -> None:
    with pytest.raises(fm.UnsupportedError, match="avx2"):
        fm.Compute("cpu:0", backend="onnx_runtime", options={"instruction_set": "avx2"})
    with pytest.raises(fm.InvalidConfigError, match=r"prepacking.*onnx_runtime"):
        fm.Compute("cpu:0", options={"prepacking": True})
    with fm.Compute("cpu:0", backend=fm.ComputeType.ONNX_RUNTIME, options={"prepacking": True}):
        pass


def test_a_definition() -> None:
    ours = fm.models.build(definition=SMALL_MODEL, threads=1)
    theirs = fm.models.build(definition=SMALL_MODEL, engine="onnx_runtime", threads=1)
    with ours, theirs:
        x = floats(2, 4)
        assert theirs.info()["backend"] == "onnx_runtime"
        with pytest.raises(fm.UnsupportedError, match="plan"):
            theirs.plan(batch=2)
        assert numpy.allclose(result(theirs, x), result(ours, x), atol=1e-6)
        planned = theirs.plan(batch=2)
        assert planned.arena_bytes > 0
        assert (planned.steps, planned.buffers, planned.loops) == ((), (), ())
        with pytest.raises(fm.InvalidArgumentError, match="engine is for a backend"):
            fm.models.build(definition=SMALL_MODEL, engine="onnx_runtime", compute=theirs.compute)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A model with operators that a definition does not have, and an output of unknown length."""
    onnx = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Sin", ["h"], ["s"]),
            helper.make_node("NonZero", ["x"], ["places"]),
        ],
        "waves",
        [helper.make_tensor_value_info("x", tensor.FLOAT, ["batch", 64])],
        [
            helper.make_tensor_value_info("s", tensor.FLOAT, ["batch", 64]),
            helper.make_tensor_value_info("places", tensor.INT64, [2, None]),
        ],
        [onnx.numpy_helper.from_array(floats(64, 64), "w")],
    )
    path = tmp_path / "waves.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_a_file_with_any_operator(file: Path) -> None:
    with fm.models.build(file, engine="onnx_runtime", threads=1) as model:
        info = model.info()
        assert info["id"] == "waves"
        assert info["parameter_bytes"] == 64 * 64 * 4
        assert info["inputs"][0]["dims"] == ["batch", ""]
        assert info["outputs"] == ["s", "places"]
        with pytest.raises(fm.UnsupportedError, match=r"Sin|NonZero"):
            model.definition()
        for rows, zeros in ((3, 0), (3, 5), (1, 2), (3, 64)):
            x = floats(rows, 64)
            x[0, :zeros] = 0
            # Named outputs, several times with one shape: the second run writes to known outputs.
            made = model.run({"x": x}, ["s", "places"])
            with made["s"] as s, made["places"] as places:
                assert numpy.allclose(s.numpy(), numpy.sin(x @ floats(64, 64)), atol=1e-5)
                assert numpy.array_equal(places.numpy(), numpy.array(numpy.nonzero(x)))
        before = numbers(model.run({"x": x}, ["s"])["s"])
        model.sleep()
        assert model.info()["state"] == "asleep"
        with pytest.raises(fm.BusyError):
            model.run({"x": x}, ["s"], timeout_s=0)
        model.wake()
        assert numpy.array_equal(numbers(model.run({"x": x}, ["s"])["s"]), before)
        with pytest.raises(fm.InvalidArgumentError, match="batch"):
            model.run({"x": floats(64)}, ["s"])


def test_a_layer_beside_an_operator_without_a_definition(file: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(file)
    model.graph.node[1].input[0] = "g"
    model.graph.node.insert(1, onnx.helper.make_node("scale", ["h"], ["g"], domain="ours"))
    model.opset_import.append(onnx.helper.make_opsetid("ours", 1))
    onnx.save(model, tmp_path / "mixed.onnx")

    def scale(x: Any) -> Any:
        return x * 2

    with (
        fm.models.layer("ours.scale")(scale),
        pytest.raises(fm.UnsupportedError, match=r"ours\.scale is a layer of the program"),
    ):
        fm.models.build(tmp_path / "mixed.onnx", engine="onnx_runtime")


@pytest.mark.parametrize("is_stated", [False, True])
def test_a_file_with_operators_of_another_domain(tmp_path: Path, is_stated: bool) -> None:
    """The file may state the type of what such an operator computes."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    x, between, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 4])
        for name in ("x", "h", "y")
    )
    nodes = [
        helper.make_node("BiasGelu", ["x", "b"], ["h"], domain="com.microsoft"),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    b = onnx.numpy_helper.from_array(numpy.zeros(4, "float32"), "b")
    graph = helper.make_graph(
        nodes, "g", [x], [y], [b], value_info=[between] if is_stated else None
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "other.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    rows = numpy.array([[-1, 0, 1, 2]], "float32")
    with fm.models.build(path, engine="onnx_runtime", threads=1) as model:
        found = numbers(model.run({"x": rows}, ["y"])["y"])
        assert numpy.allclose(found, [[0, 0, 0.8413447, 1.9544997]], atol=1e-5)
        with pytest.raises(fm.UnsupportedError, match="BiasGelu"):
            model.definition()


def test_elements_in_another_file(file: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "split" / "waves.onnx"
    path.parent.mkdir()
    onnx.save(
        onnx.load(file), path, save_as_external_data=True, location="elements.bin", size_threshold=0
    )
    assert (path.parent / "elements.bin").stat().st_size == 64 * 64 * 4
    x = floats(2, 64)
    with fm.models.build(path, engine="onnx_runtime", threads=1) as model:
        states = numbers(model.run({"x": x}, ["s"])["s"])
    assert numpy.allclose(states, numpy.sin(x @ floats(64, 64)), atol=1e-5)
    (path.parent / "elements.bin").unlink()
    with pytest.raises(fm.FerrumError, match=r"elements\.bin"):
        fm.models.build(path, engine="onnx_runtime")


def test_files_that_are_refused(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        cut = tmp_path / "cut.onnx"
        cut.write_bytes(whole[:length])
        with pytest.raises(fm.FerrumError):
            fm.models.build(cut, engine="onnx_runtime")
    onnx = pytest.importorskip("onnx")
    model = onnx.load(file)
    model.graph.node[1].op_type = "Nothing"
    onnx.save(model, tmp_path / "nothing.onnx")
    with pytest.raises(fm.UnsupportedError, match="Nothing"):
        fm.models.build(tmp_path / "nothing.onnx", engine="onnx_runtime")


@pytest.mark.parametrize("what", ["model", "backend", "pool"])
def test_a_forced_end_while_sessions_run(what: str, file: Path) -> None:
    """Calls in progress complete. Later ones fail with a type, and the next model works."""
    x = floats(3, 64)
    device = fm.Device("cpu:0")
    for _ in range(5):
        compute = fm.Compute(device, backend="onnx_runtime", threads=1)
        pool = fm.ElasticPool(device, fm.ElasticPoolConfig(limit_bytes=64 << 20))
        model = fm.models.build(file, compute=compute, pool=pool)
        wanted = numbers(model.run({"x": x}, ["s"])["s"])
        wrong: list[object] = []
        running = threading.Barrier(4, timeout=60)

        def work(
            model: fm.models.Executor = model,
            wanted: Any = wanted,
            running: threading.Barrier = running,
            wrong: list[object] = wrong,
        ) -> None:
            own = numpy.zeros((3, 64), "f4")
            with fm.Tensor.from_numpy(own, device=device) as s:
                for at in itertools.count():
                    own[:] = 0
                    try:
                        model.run({"x": x}, {"s": s})
                    except fm.InvalidHandleError:
                        return
                    except Exception as error:
                        wrong.append(error)
                        return
                    if not numpy.array_equal(own, wanted):
                        wrong.append("a run gave other numbers")
                    if at == 0:
                        running.wait()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        running.wait()
        owners: dict[str, Any] = {"model": model, "backend": compute, "pool": pool}
        owners[what].close(force=True)
        for thread in threads:
            thread.join()
        assert wrong == []
        assert model.closed
        for left in (model, compute, pool):
            left.close()
    device.close()
    assert not fm.leak_report().leaks


def run_child(text: str, **variables: str) -> None:
    environment = {**child_environment(), **variables}
    subprocess.run([sys.executable, "-c", text], env=environment, check=True, timeout=100)


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    run_child(
        "import ferrum_mem as fm\n"
        "def loaded(): return 'libonnxruntime' in open('/proc/self/maps').read()\n"
        "with fm.Compute('cpu:0') as c: c.op('Relu')([1.0]).close()\n"
        "assert not loaded()\n"
        "with fm.Compute('cpu:0', backend='onnx_runtime'): pass\n"
        "assert loaded()\n"
    )


def test_a_library_that_is_missing() -> None:
    run_child(
        "import ferrum_mem as fm\n"
        "try: fm.Compute('cpu:0', backend='onnx_runtime')\n"
        "except fm.UnsupportedError as e: assert '/nowhere/lib.so' in str(e), e\n"
        "else: raise SystemExit('it was opened')\n"
        "listed = {b['name']: b for b in fm.compute_backends()['backends']}\n"
        "assert '/nowhere/lib.so' in listed['onnx_runtime']['reason']\n"
        "assert 'libonnxruntime' not in open('/proc/self/maps').read()\n",
        FERRUM_ORT_LIBRARY="/nowhere/lib.so",
    )


def test_the_package_may_be_used_beside_it() -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    run_child(
        "import numpy, onnxruntime, ferrum_mem as fm\n"
        "x = numpy.ones((2, 3), numpy.float32)\n"
        "with fm.Compute('cpu:0', backend='onnx_runtime') as c, c.op('Add')(x, x) as y:\n"
        "    assert numpy.array_equal(y.numpy(), x + x)\n"
        "assert 'CPUExecutionProvider' in onnxruntime.get_available_providers()\n"
    )
