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
    return [e for s in models.SHAPES for e in models.results_of(answer(s, **more), "command")]


def test_the_peer_is_the_fastest_of_its_forms() -> None:
    found = verdict("minilm_cpu", entries())
    assert (found.met, found.measured) == (True, "0.800 at 8x128, mask half")
    assert entries()[0]["peer_version"] == "1.32 fused"


def test_the_worst_shape_counts() -> None:
    slow = {"ours": [6.0, 6.0], "default": [8.0, 8.0], "fused": [5.0, 5.0]}
    made = entries()[:-5] + models.results_of(answer("32x128", cpu_ms=slow), "command")
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


def test_without_the_packages_the_models_are_missing() -> None:
    made = object.__new__(models.Models)
    made.missing, made.left_out = "onnxruntime: not installed", ()
    found = [entry for shape in models.SHAPES for entry in made.shape(shape)]
    reason = "not measured: onnxruntime: not installed"
    assert {verdict(target.id, found).text for target in models_targets.TARGETS} == {reason}
    lines = models_report.minilm_lines(book.Book(found))
    assert sum("missing: onnxruntime: not installed" in line for line in lines) == len(found)


def test_a_quick_run_has_a_model(quick: pathlib.Path) -> None:
    content, _ = report.load(quick)
    text = "\n".join(models_report.minilm_lines(content))
    for shape in models.SHAPES_QUICK:
        assert f"MiniLM {shape.replace('x', ' × ')}, mask full, CPU time, one thread |" in text


def test_an_entry_has_the_memory_of_its_shape() -> None:
    made = result("minilm_1x16_activations", "MB", summary([1.5]), None, error=0.0)
    (row,) = [line for line in models_report.minilm_lines(book.Book([made])) if "1 × 16" in line]
    assert row.startswith("| MiniLM 1 × 16, activations and workspace | 1.50 MB |")
