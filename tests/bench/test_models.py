"""The rows of models: a result that was not checked does not count."""

import pathlib
from typing import Any

import book
import models
import models_report
import models_targets
import report
from measure import result, summary
from verdict import Verdict


def verdict(name: str, entries: list[dict[str, Any]]) -> Verdict:
    target = next(target for target in models_targets.TARGETS if target.id == name)
    return target.verdict(book.Book(entries))


def answer(shape: str, **more: Any) -> dict[str, Any]:
    """What the script prints for a shape: ours takes 4 ms, and the peer 5 and 8."""
    times = {"ours": [4.0, 4.0], "default": [8.0, 8.0], "fused": [5.0, 5.0]}
    entry = {
        "shape": shape, "error": 1e-6, "peer_error": 1e-6, "cpu_ms": times, "wall_ms": times,
        "activation_bytes": 16 * 1920 * 4, "workspace_bytes": 1000, "warm_allocations": 0, **more,
    }  # fmt: skip
    return {"peer": "1.32", "shapes": [{**entry, "mask": mask} for mask in models.MASKS]}


def entries(**more: Any) -> list[dict[str, Any]]:
    found = [e for s in models.SHAPES for e in models.results_of(answer(s, **more), "command")]
    return found + models.life_of(life(), "command") + models.runtime_of(runtime(), "command")


def runtime(**more: Any) -> dict[str, Any]:
    """What the script of ONNX Runtime prints: a run takes 1 % more than the better peer."""
    times = {"ours": [5.05, 5.05], "arena": [6.0, 6.0], "plain": [5.0, 5.0]}
    about = {
        "session": [20.0], "anonymous_bytes": 2_000_000, "awake_bytes": 100, "asleep_bytes": 10,
        "wake": [5.0, 5.0], "copy": [5.0, 5.0],
    }  # fmt: skip
    shapes = [
        {"shape": shape, "cpu_ms": times, "error": 1e-6, "difference": 3e-6}
        for shape in models.SHAPES
    ]
    return {"peer": "1.32", "shapes": shapes, "life": {**about, **more}}


def life(**more: Any) -> dict[str, Any]:
    """What the script of builds and sleep prints. Ours has a fifth of the peak, builds in half of
    the time, and wakes as fast as the file is read.
    """
    times = {"ours": [100.0, 100.0], "default": [200.0, 200.0], "fused": [210.0, 210.0]}
    found: dict[str, Any] = {
        "peer": "1.32",
        "memory": [
            {"shape": shape, "error": 1e-6, "arena_bytes": 2, "peaks": {"default": 12, "fused": 10}}
            for shape in models.PEAKS
        ],
        "build": {"wall": times, "cpu": times, "error": 1e-6},
        "wake": {
            "wake": [50.0, 50.0], "read": [50.0, 50.0], "error": 1e-6, "asleep_bytes": 0,
            "awake_bytes": 1000, "model_bytes": 1000,
        },
    }  # fmt: skip
    return {**found, **{part: {**found[part], **change} for part, change in more.items()}}


def test_the_peer_is_the_fastest_of_its_forms() -> None:
    found = verdict("minilm_cpu", entries())
    assert (found.met, found.measured) == (True, "0.800 at 8x128, mask half")
    assert entries()[0]["peer_version"] == "1.32 fused"


def test_the_worst_shape_counts() -> None:
    slow = {"ours": [6.0, 6.0], "default": [8.0, 8.0], "fused": [5.0, 5.0]}
    made = [e for e in entries() if "32x128" not in e["name"]]
    made += models.results_of(answer("32x128", cpu_ms=slow), "command")
    found = verdict("minilm_cpu", made)
    assert (found.met, found.measured) == (False, "1.200 at 32x128, mask half")
    assert verdict("minilm_wall", made).met


def test_a_result_that_was_not_checked_does_not_count() -> None:
    unchecked = [entry | {"error": None} for entry in entries()]
    for target in models_targets.TARGETS:
        found = verdict(target.id, unchecked)
        assert (found.met, found.text) == (False, "not measured: the output was not checked")


def test_memory_beyond_the_bound_is_found() -> None:
    assert verdict("minilm_activations", entries()).met
    assert not verdict("minilm_activations", entries(workspace_bytes=600_000)).met


def test_an_allocation_of_a_warm_run_is_found() -> None:
    assert verdict("minilm_warm", entries()).met
    assert not verdict("minilm_warm", entries(warm_allocations=1)).met


def test_a_large_error_is_found() -> None:
    assert verdict("minilm_error", entries()).met
    assert not verdict("minilm_error", entries(error=2e-5)).met


def test_the_peak_of_the_better_graph_counts() -> None:
    made = models.life_of(life(), "command")
    found = verdict("minilm_peak", made)
    assert (found.met, made[0]["peer_version"]) == (True, "1.32 fused")
    larger = life()
    larger["memory"][1]["arena_bytes"] = 3
    found = verdict("minilm_peak", models.life_of(larger, "command"))
    assert (found.met, found.measured[-16:]) == (False, "= 0.300 at 8x128")


def test_a_slow_build_is_found() -> None:
    times = {"ours": [170.0, 170.0], "default": [200.0, 200.0], "fused": [210.0, 210.0]}
    for what in ("wall", "cpu"):
        slow = models.life_of(life(build={what: times}), "command")
        for each in ("wall", "cpu"):
            assert verdict(f"minilm_build_{each}", slow).met == (each != what)


def test_memory_of_a_sleeping_model_is_found() -> None:
    assert verdict("minilm_asleep", entries()).met
    held = models.life_of(life(wake={"asleep_bytes": 21}), "command")
    assert not verdict("minilm_asleep", held).met


def test_a_slow_wake_is_found() -> None:
    assert verdict("minilm_wake", entries()).met
    slow = models.life_of(life(wake={"wake": [60.0, 60.0]}), "command")
    found = verdict("minilm_wake", slow)
    assert (found.met, found.measured) == (False, "0.833 (50.0 beside 60.0 ms)")


def test_the_targets_of_onnx_runtime() -> None:
    found = entries()
    assert verdict("runtime_cpu", found).measured == "1.010 at 8x128"
    assert verdict("runtime_difference", found).measured == "3.0e-06"
    for name in ("cpu", "difference", "anonymous", "session", "asleep", "wake"):
        assert verdict(f"runtime_{name}", found).met, name
    worse = runtime(
        session=[26.0], anonymous_bytes=6_000_000, asleep_bytes=30, wake=[6.0, 6.0]
    )  # fmt: skip
    bad = models.runtime_of(worse, "command")
    for name in ("anonymous", "session", "asleep", "wake"):
        assert not verdict(f"runtime_{name}", bad).met, name


def test_without_the_packages_the_models_are_missing() -> None:
    made = object.__new__(models.Models)
    made.missing, made.peaks = "onnxruntime: not installed", models.PEAKS
    made.shapes = models.SHAPES
    found = [entry for shape in models.SHAPES for entry in made.shape(shape)] + made.life()
    found += made.runtime()
    reason = "not measured: onnxruntime: not installed"
    assert {verdict(target.id, found).text for target in models_targets.TARGETS} == {reason}
    lines = models_report.minilm_lines(book.Book(found))
    assert sum("missing: onnxruntime: not installed" in line for line in lines) == len(found)


def test_a_quick_run_has_a_model(quick: pathlib.Path) -> None:
    content, _ = report.load(quick)
    text = "\n".join(models_report.minilm_lines(content))
    for shape in models.SHAPES_QUICK:
        assert f"MiniLM {shape.replace('x', ' × ')}, mask full, CPU time, one thread |" in text
    for what in ("build, time", "build, CPU time", "wake", "memory of the device while it sleeps"):
        assert f"| MiniLM, {what} |" in text
    for entry in content.results:
        if entry["name"].startswith("minilm_") and not entry.get("missing"):
            assert entry["error"] <= 1e-5


def test_an_entry_has_the_memory_of_its_shape() -> None:
    made = result("minilm_1x16_activations", "MB", summary([1.5]), None, error=0.0)
    (row,) = [line for line in models_report.minilm_lines(book.Book([made])) if "1 × 16" in line]
    assert row.startswith("| MiniLM 1 × 16, activations and workspace | 1.50 MB |")
