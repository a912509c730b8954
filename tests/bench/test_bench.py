"""The bench works, end to end, on a run too short to say anything about speed.

No test looks at how fast anything is: the machine that runs tests is busy with others.
"""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import harness
import measure
import pytest
import report
import run

LIBRARY = pathlib.Path(
    os.environ.get("FERRUM_MEM_LIBRARY") or harness.ROOT / "build" / "lib" / "libferrum_mem.so"
)
KEYS = {
    "name",
    "unit",
    "ours",
    "peer",
    "peer_version",
    "value_ours",
    "value_peer",
    "ratio",
    "spread",
    "threads",
    "command",
}
MACHINE_KEYS = {"date", "cpu", "cores", "kernel", "load_before", "cores_used_by_others", "version"}


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(harness.SOURCES / "run.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Results of a quick run with a peer that cannot be found."""
    output = tmp_path_factory.mktemp("bench") / "results.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(harness.PRELOADS, "mimalloc", ("libthere-is-no-such-malloc.so",))
        run.run(LIBRARY, output, quick=True)
    return output


@pytest.fixture(scope="module")
def results(quick: pathlib.Path) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads(quick.read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def built(quick: pathlib.Path) -> str:
    """The harness that the quick run built."""
    return str(quick.parent / "bench")


def test_results_are_a_list_of_full_records(results: list[dict[str, Any]]) -> None:
    assert isinstance(results, list)
    for entry in results:
        assert entry.keys() >= KEYS, entry
        assert entry["unit"] in {"ns", "ms", "MB", "ratio", "%"}
        assert entry["threads"] in {1, 2}
        if not entry.get("missing"):
            assert entry["value_ours"] > 0, entry
            ours = entry["spread"]["ours"]
            assert ours["min"] <= ours["q1"] <= entry["value_ours"] <= ours["q3"] <= ours["max"]


def test_every_workload_is_compared_with_every_peer(results: list[dict[str, Any]]) -> None:
    for workload in measure.WORKLOADS:
        metrics = ["median", "p99"] if workload.threads == 1 else ["two_threads_median", "scaling"]
        for metric in metrics:
            entries = [e for e in results if e["name"] == f"{workload.name}_{metric}"]
            peers = {entry["peer"] for entry in entries}
            assert peers >= {*harness.PEERS, harness.MANAGER}, (workload, metric)


def test_ratios_are_of_the_values(results: list[dict[str, Any]]) -> None:
    compared = [entry for entry in results if entry["ratio"] is not None]
    assert compared
    for entry in compared:
        assert entry["ratio"] == pytest.approx(entry["value_ours"] / entry["value_peer"])


def test_a_missing_peer_is_shown_and_has_no_numbers(
    quick: pathlib.Path, results: list[dict[str, Any]]
) -> None:
    entries = [entry for entry in results if entry["peer"] == "mimalloc"]
    assert entries
    for entry in entries:
        assert "not mimalloc" in entry["missing"]
        assert entry["value_peer"] is entry["ratio"] is entry["spread"]["peer"] is None
    assert "| mimalloc | missing: malloc is " in report.render(quick)


def test_the_c_library_is_measured_everywhere(results: list[dict[str, Any]]) -> None:
    glibc = [entry for entry in results if entry["peer"] == "glibc"]
    assert glibc
    assert all(entry["value_peer"] > 0 and entry["peer_version"] for entry in glibc)


def test_the_machine_is_on_record(quick: pathlib.Path) -> None:
    machine = json.loads(quick.with_name("machine.json").read_text(encoding="utf-8"))
    assert machine.keys() >= MACHINE_KEYS
    assert machine["quick"] is True
    assert machine["cores"] >= 1


def test_tables_go_between_the_markers(quick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    done = command("--output", quick, "--markdown", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "### Targets" in text
    assert report.render(quick) in text


def test_a_page_without_markers_is_left_alone(quick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing here\n", encoding="utf-8")
    done = command("--output", quick, "--markdown", page)
    assert done.returncode == 1
    assert report.BEGIN in done.stderr
    assert page.read_text(encoding="utf-8") == "nothing here\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--markdown", "--output", "no/such/results.json"], "no results to show"),
        (["--library", "no/such/library.so"], "no/such/library.so"),
    ],
)
def test_what_is_not_there_is_named(arguments: list[str], message: str) -> None:
    done = command(*arguments)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--allocator", "jemalloc", "--workload", "random"], 3, "not jemalloc"),
        (["--allocator", "ferrum_pool", "--workload", "random"], 3, "--library"),
        (["--allocator", "ferrum_pool", "--workload", "first"], 3, "--library"),
        (["--allocator", "unheard-of", "--workload", "random"], 2, "unheard-of"),
        (["--allocator", "glibc", "--workload", "unheard-of"], 2, "unheard-of"),
        (["--allocator", "glibc", "--workload", "hot"], 2, "--size"),
        (["--allocator", "glibc", "--workload", "random", "--size", "64"], 2, "--size"),
        (["--allocator", "glibc", "--workload", "random", "--pairs", "-1"], 2, "--pairs -1"),
        (["--allocator", "glibc", "--workload", "random", "--pairs", "0"], 2, "--pairs"),
        (["--allocator", "glibc"], 2, "--workload"),
        # More than any address space: the run must end, not time failures.
        (
            ["--allocator", "glibc", "--workload", "hot", "--size", "9223372036854775807"],
            1,
            "no block of 9223372036854775807 bytes",
        ),
    ],
)
def test_the_harness_refuses_what_it_cannot_measure(
    built: str, arguments: list[str], status: int, message: str
) -> None:
    done = subprocess.run([built, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
