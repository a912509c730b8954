"""The rows of operations on tensors: a result that was not checked does not count."""

import pathlib
import subprocess
from typing import Any

import book
import harness
import operations
import operations_report
import operations_targets
import pytest
import report
from measure import result, summary
from verdict import Verdict

LEAST = {f"128x{rest}" for rest in ("384x384", "1536x384", "384x1536", "4096x4096")}


def entry(name: str, peer: str | None, quotient: float, **more: Any) -> dict[str, Any]:
    more = {"error": 1e-7, **more}
    theirs = summary([10.0]) if peer else None
    pairs = summary([quotient])
    return result(name, "ns", summary([10 * quotient]), theirs, peer_name=peer, pairs=pairs, **more)


def verdict(name: str, entries: list[dict[str, Any]]) -> Verdict:
    target = next(target for target in operations_targets.TARGETS if target.id == name)
    return target.verdict(book.Book(entries))


def products(quotient: float, **worst: Any) -> list[dict[str, Any]]:
    return [
        entry(f"product_avx2_{shape}", operations.OPENBLAS, quotient, **worst)
        if shape == operations.SHAPES[3]
        else entry(f"product_avx2_{shape}", operations.OPENBLAS, 1.1)
        for shape in operations.SHAPES
    ]


@pytest.mark.parametrize(
    ("quotient", "mean", "least"), [(1.0, True, True), (0.89, True, False), (0.5, False, False)]
)
def test_products_are_held_to_their_mean_and_their_worst(
    quotient: float, mean: bool, least: bool
) -> None:
    entries = products(quotient)
    assert verdict("product_avx2_mean", entries).met is mean
    found = verdict("product_avx2_least", entries)
    assert (found.met, found.measured) == (least, f"{quotient:.3f} at {operations.SHAPES[3]}")


def test_a_result_that_was_not_checked_does_not_count() -> None:
    unchecked = products(1.2, error=None)
    for name in ("product_avx2_mean", "product_avx2_least", "operation_error"):
        found = verdict(name, unchecked)
        assert (found.met, found.text) == (False, "not measured: the output was not checked")


def test_the_largest_error_is_that_of_f32() -> None:
    entries = [
        entry("stream_f16", operations.SUM, 1.0, error=1e-3),
        entry("step_Add of F16", None, 1.0, error=1e-3, type="float16"),
        entry("step_Add", None, 1.0, error=9e-6, type="float32"),
    ]
    found = verdict("operation_error", entries)
    assert (found.met, found.measured) == (True, "9.0e-06 (step_Add)")
    entries.append(entry("attention_128", operations.NAIVE, 3.0, error=2e-5))
    assert not verdict("operation_error", entries).met


def test_two_threads_without_two_cores_have_no_verdict() -> None:
    def at(loop: float) -> list[dict[str, Any]]:
        found = []
        for shape in (*LEAST, "1024x1536x384"):
            name = f"two_threads_product_{shape}"
            found.append(entry(name, operations.LOOP, 0.95))
            found[-1]["value_peer"] = loop
        return found

    assert verdict("two_threads_product", at(1.9)).met
    found = verdict("two_threads_product", at(1.2))
    assert (found.met, found.text) == (False, "two plain loops reached only 1.20")


def test_warm_runs_take_nothing() -> None:
    def taken(size: float, segments: int) -> Verdict:
        made = result("warm_bytes", "B", summary([size]), None, error=0.0, runs=7)
        return verdict("warm", [{**made, "segments": segments}])

    assert taken(0.0, 0).met
    assert not taken(4096.0, 0).met
    assert not taken(0.0, 1).met


def test_the_slowest_step_counts() -> None:
    entries = [entry("step_Add", None, 1.0), entry("step_Pow", None, 7.0)]
    found = verdict("step", entries)
    assert (found.met, found.measured) == (False, "70.0 ns (Pow; 1 of 2 are slower)")


def test_every_operation_of_a_quick_run_is_in_the_tables(quick: pathlib.Path) -> None:
    content, _ = report.load(quick)
    text = "\n".join(operations_report.operation_lines(content))
    for shape in operations.SHAPES:
        assert f"product, AVX2, {shape.replace('x', ' × ')} |" in text
    assert "| quantized_linear |" in text
    assert "| one row × 4096², matrices in no cache, q8_0 |" in text


def test_without_openblas_the_products_are_missing() -> None:
    made = object.__new__(operations.Operations)
    made.peer = None
    found = made.products()
    assert len(found) == 2 * len(operations.SHAPES)
    reason = "not measured: scipy-openblas32 is not installed"
    assert verdict("product_avx512_mean", found).text == reason
    row = operations_report.row_of(found[0])
    assert row is not None
    assert row[1] == "missing: scipy-openblas32 is not installed"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--row", "unheard-of"], 2, "unheard-of"),
        (["--row", "call"], 2, "--library"),
        (["--row", "call", "--rounds", "0"], 2, "not a number above 0: 0"),
        (["--row", "call", "--library", "LIBRARY"], 1, "--crossing"),
        (["--row", "products", "--library", "LIBRARY"], 1, "--peer"),
        (["--row", "threads", "--library", "LIBRARY", "--set", "neon"], 3, "neon"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    quick_run: tuple[pathlib.Path, harness.Harness],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    _, built = quick_run
    words = [str(built.library) if word == "LIBRARY" else word for word in arguments]
    program = built.folder / "compute"
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert message in done.stderr


def test_a_row_that_the_machine_cannot_measure_has_the_reason(
    quick_run: tuple[pathlib.Path, harness.Harness],
) -> None:
    _, built = quick_run
    command = [str(built.folder / "compute"), "--row", "threads"]
    command += ["--library", str(built.library), "--set", "neon"]
    with pytest.raises(operations.CannotError, match="neon"):
        operations.answer_or_reason(command)
    with pytest.raises(harness.BenchError, match="exit status 2"):
        operations.answer_or_reason([*command[:2], "unheard-of"])
