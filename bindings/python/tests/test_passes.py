"""Passes of the program: functions over definitions, their order, results, errors and ends."""

from __future__ import annotations

import gc
import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import ferrum_mem as fm
import pytest

from .test_models import SMALL_MODEL as LINEAR

Model = dict[str, Any]


def named(name: str, **settings: Any) -> fm.models.OptimizationPass:
    """A pass that adds its name to that of the model."""

    def rename(definition: Model) -> Model:
        definition["metadata"]["name"] += f"+{name}"
        return definition

    return fm.models.optimization_pass(rename, name=name, **settings)


def listed() -> list[str]:
    return [each["name"] for each in fm.models.builder_info()["passes"] if each["is_registered"]]


def test_decorated_functions_are_passes():
    @fm.models.optimization_pass
    def version(definition: Model) -> Model:
        definition["metadata"]["version"] = "9"
        return definition

    @fm.models.optimization_pass(dependencies=["version", "merge_same"], name="later")
    def renamed(definition: Model) -> str:
        assert definition["metadata"]["version"] == "9"
        definition["metadata"]["name"] = "renamed"
        return json.dumps(definition)

    assert version.name == "version"
    assert renamed.dependencies == ("version", "merge_same")
    made = fm.models.optimize(LINEAR, [renamed, "merge_same", version])
    assert made["definition"]["metadata"]["name"] == "renamed"
    assert [each["pass"] for each in made["passes"]] == ["merge_same", "version", "later"]
    assert [each["applied"] for each in made["passes"]] == [False, True, True]
    assert made["total"]["estimated_speedup"] == 1
    assert listed() == []
    # It is still a function.
    changed: Any = version({"metadata": {}})
    assert changed["metadata"]["version"] == "9"


def test_a_build_runs_passes():
    own = named("own")
    options = fm.BuildOptions(passes=[*fm.models.standard_passes(), own], measure_passes=True)
    with fm.models.build(definition=LINEAR, options=options) as model:
        assert json.loads(model.definition())["metadata"]["name"].endswith("+own")
        results = {each["pass"]: each for each in model.report()["passes"]}
        assert list(results) == [*fm.models.standard_passes(), "own"]
        times = results["own"]["times"]
        assert times["runs"] >= 5
        speedup = times["before_ns"] / times["after_ns"]
        assert results["own"]["stats"]["estimated_speedup"] == pytest.approx(speedup, rel=1e-5)
        assert "times" not in results["merge_same"]
    assert listed() == []


def test_standard_passes_of_the_levels():
    assert fm.models.standard_passes(0) == []
    assert fm.models.standard_passes(1) == ["remove_dead_code", "fold_constants", "merge_same"]
    assert fm.models.standard_passes(3)[-1] == "fuse_residual"
    names = [each["pass"] for each in fm.models.optimize(LINEAR)["passes"]]
    assert names == fm.models.standard_passes(2)


def test_nothing_or_warnings():
    def change_and_return_nothing(definition: Model) -> None:
        definition.clear()

    def warn(_: Model) -> tuple[None, list[str]]:
        return None, ["nothing to join", "ü"]

    def skip(_: Model) -> Model:
        raise AssertionError("it is not applicable")

    passes = [
        fm.models.optimization_pass(change_and_return_nothing),
        fm.models.optimization_pass(warn),
        fm.models.optimization_pass(skip, is_applicable=lambda it: "none" in it),
        fm.models.optimization_pass(lambda it: (it, ["same"]), name="same"),
    ]
    made = fm.models.optimize(LINEAR, passes)
    assert [each["applied"] for each in made["passes"]] == [False] * 4
    assert made["passes"][1]["warnings"] == ["nothing to join", "ü"]
    assert made["passes"][3]["warnings"] == ["same"]


def broken(change: Callable[..., object]) -> fm.models.OptimizationPass:
    return fm.models.optimization_pass(change, name="broken")


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda it: {**it, "graph": {**it["graph"], "edges": []}}, fm.InvalidConfigError, "graph"),
        (lambda it: {**it, "parameters": []}, fm.InvalidConfigError, "layers"),
        (lambda it: {**it, "more": 1}, fm.InvalidFormatError, "more"),
        (lambda _: {}, fm.InvalidFormatError, "returned"),
        (lambda _: b"\xff{", fm.InvalidFormatError, "returned"),
        (lambda _: "[" * 100000, fm.InvalidFormatError, "returned"),
        (lambda it: {**it, "layers": float("nan")}, fm.InvalidFormatError, "returned"),
        (lambda it: {**it, "layers": object()}, fm.InvalidArgumentError, "not JSON"),
        (lambda _: 5, fm.InternalError, "definition must be"),
        (lambda _: (None, [5]), fm.InternalError, "a warning must be"),
        (lambda _: " " * (64 * 2**20 + 1), fm.InvalidSizeError, "64 MiB"),
    ],
)
def test_what_a_pass_breaks_is_an_error(change, error, says):
    with pytest.raises(error, match="broken") as caught:
        fm.models.optimize(LINEAR, [broken(change)])
    assert says in str(caught.value)
    with pytest.raises(error, match="broken"):
        fm.models.build(definition=LINEAR, options=fm.BuildOptions(passes=[broken(change)]))
    assert listed() == []


def test_exceptions_are_the_cause():
    def fail(_: Model) -> Model:
        raise LookupError("no such layer")

    def stop(_: Model) -> Model:
        raise KeyboardInterrupt

    with pytest.raises(fm.InternalError, match="no such layer") as caught:
        fm.models.optimize(LINEAR, [fm.models.optimization_pass(fail)])
    assert isinstance(caught.value.__cause__, LookupError)
    options = fm.BuildOptions(passes=[fm.models.optimization_pass(fail)])
    with pytest.raises(fm.InternalError, match="no such layer") as caught:
        fm.models.build(definition=LINEAR, options=options)
    assert isinstance(caught.value.__cause__, LookupError)
    with pytest.raises(KeyboardInterrupt):
        fm.models.optimize(LINEAR, [fm.models.optimization_pass(stop)])
    check = fm.models.optimization_pass(fail, name="checked", is_applicable=fail)
    with pytest.raises(fm.InternalError, match="checked") as caught:
        fm.models.optimize(LINEAR, [check])
    assert isinstance(caught.value.__cause__, LookupError)


def test_wrong_pipelines():
    a, b = named("a", dependencies=["b"]), named("b", dependencies=["a"])
    for passes, error, says in [
        ([a, b], fm.InvalidArgumentError, "a -> b -> a"),
        ([a], fm.NotFoundError, 'depends on "b"'),
        (["absent"], fm.NotFoundError, "absent"),
        ([named("c"), named("c")], fm.AlreadyExistsError, '"c"'),
        (["merge_same", "merge_same"], fm.AlreadyExistsError, "merge_same"),
        ([named("merge_same")], fm.AlreadyExistsError, "merge_same"),
        ([named("a b")], fm.InvalidArgumentError, "a b"),
        ([5], TypeError, "OptimizationPass"),
        ("merge_same", TypeError, "passes"),
    ]:
        with pytest.raises(error) as caught:
            fm.models.optimize(LINEAR, passes)  # type: ignore[arg-type]
        assert says in str(caught.value)
        assert listed() == []
    with pytest.raises(TypeError):
        fm.models.optimization_pass(5)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        fm.models.optimization_pass(name="x", dependencies="merge_same")(lambda it: it)
    options = fm.BuildOptions(passes=[named("c")], optimization_level=0)
    with pytest.raises(fm.InvalidConfigError):
        fm.models.build(definition=LINEAR, options=options)


def test_a_registered_pass_is_found_by_its_name():
    own = named("own")
    with fm.models.register_pass(own) as registered:
        assert registered.name == "own"
        assert listed() == ["own"]
        forms: list[list[str | fm.models.OptimizationPass]] = [["own"], [own]]
        for passes in forms:
            made = fm.models.optimize(LINEAR, passes)
            assert made["definition"]["metadata"]["name"].endswith("+own")
        with pytest.raises(fm.AlreadyExistsError):
            fm.models.register_pass(named("own"))
        with pytest.raises(fm.AlreadyExistsError):
            fm.models.optimize(LINEAR, [named("own")])

        def close(_: Model) -> None:
            with pytest.raises(fm.BusyError):
                registered.close()
            with pytest.raises(fm.InvalidStateError):
                fm.shutdown(force=True)
            # The pass runs inside another one.
            fm.models.optimize(LINEAR, [named("inner")])

        fm.models.optimize(LINEAR, ["own", fm.models.optimization_pass(close)])
        registered_again = named("other")
        with fm.models.register_pass(registered_again):
            assert listed() == ["other", "own"]
    assert listed() == []
    with pytest.raises(fm.NotFoundError):
        fm.models.optimize(LINEAR, ["own"])


def test_a_pass_of_a_running_call_cannot_be_closed():
    entered, leave = threading.Event(), threading.Event()

    def wait(_: Model) -> None:
        entered.set()
        leave.wait()

    with fm.models.register_pass(fm.models.optimization_pass(wait)) as registered:
        thread = threading.Thread(target=lambda: fm.models.optimize(LINEAR, ["wait"]))
        thread.start()
        entered.wait()
        with pytest.raises(fm.BusyError):
            registered.close()
        leave.set()
        thread.join()


def test_many_threads_share_a_pass():
    own, failed = named("own"), []

    def often() -> None:
        try:
            for _ in range(20):
                made = fm.models.optimize(LINEAR, [own])
                assert made["definition"]["metadata"]["name"].endswith("+own")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert listed() == []


def test_a_pass_is_not_kept_after_its_call():
    function = named("own")._function
    before = sys.getrefcount(function)
    for _ in range(3):
        fm.models.optimize(LINEAR, [fm.models.optimization_pass(function, name="own")])
    gc.collect()
    assert sys.getrefcount(function) == before


def test_an_engine_of_graphs_runs_named_passes():
    pytest.importorskip("onnxruntime")
    options = fm.BuildOptions(passes=[named("own")], measure_passes=True)
    with fm.models.build(definition=LINEAR, engine="onnx_runtime", options=options) as model:
        (result,) = model.report()["passes"]
        assert result["times"]["runs"] >= 5
        assert result["warnings"] == []
        assert json.loads(model.definition())["metadata"]["name"].endswith("+own")
        first = model(x=[[1, 2, 3, 4]])["y"].numpy().copy()
        assert (model(x=[[1, 2, 3, 4]])["y"].numpy() == first).all()
    with fm.models.build(definition=LINEAR, engine="onnx_runtime") as model:
        assert model.report()["passes"] == []
