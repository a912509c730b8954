"""The bench works from end to end, on a run that is too short to measure speed.

No test checks how fast anything is, because the test machine is also busy with other work.
"""

import json
import pathlib
import subprocess
import sys
from typing import Any

import fragmentation
import harness
import measure
import mixed
import pytest
import report
import schedule
import targets
import traces
import workloads

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
# Differences and growths may be zero or negative.
MAY_BE_NOTHING = (
    "above_queue",
    "opened",
    "filled",
    "replaced",
    "asleep",
    "_none",
    "_memory",
    "over_peak",
    "_table",
    "warm_bytes",
)
# A metric that every workload of a kind has.
FIRST_METRIC = {
    "batch": "allocate",
    "tables": "filled",
    "queue": "above_queue",
    "model": "load_ms",
}


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(harness.SOURCES / "run.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def results(quick: pathlib.Path) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads(quick.read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def machine(quick: pathlib.Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(quick.with_name("machine.json").read_text("utf-8"))
    return content


@pytest.fixture(scope="module")
def built(quick: pathlib.Path) -> str:
    """The harness that the quick run built."""
    return str(quick.parent / "bench")


def test_results_are_a_list_of_full_records(results: list[dict[str, Any]]) -> None:
    assert isinstance(results, list)
    for entry in results:
        assert entry.keys() >= KEYS, entry
        assert entry["unit"] in {"ns", "us", "ms", "MB", "B", "ratio", "%", "GB/s", "GFLOP/s"}
        assert entry["threads"] in {1, 2}
        if entry.get("missing"):
            continue
        # A step is a difference of two measurements.
        may_be_nothing = entry["name"].endswith(MAY_BE_NOTHING) or "step_" in entry["name"]
        assert entry["value_ours"] > 0 or may_be_nothing, entry
        ours = entry["spread"]["ours"]
        assert ours["min"] <= ours["q1"] <= entry["value_ours"] <= ours["q3"] <= ours["max"]


def test_a_command_is_as_typed_in_the_repository(results: list[dict[str, Any]]) -> None:
    assert not [one["name"] for one in results if str(harness.ROOT) in (one["command"] or "")]
    inside = f"env A=1 {harness.ROOT}/build/venv/bin/python a.py --peer={harness.ROOT}/b.so"
    assert measure.as_typed(inside) == "env A=1 build/venv/bin/python a.py --peer=b.so"
    assert measure.as_typed(None) is None


def test_every_workload_is_compared_with_everyone_who_takes_part(
    results: list[dict[str, Any]], machine: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    phases, left_out = mixed.workloads(tmp_path, quick=True)
    assert not left_out
    planned = {workload.name: workload for workload in (*workloads.fixed(), *phases)}
    assert set(machine["workloads"]) == {
        *planned,
        "trace_azure_contiguous",
        "trace_azure_paged",
    }
    for name, workload in planned.items():
        metric = FIRST_METRIC.get(name.partition("_")[0], "median")
        entries = [e for e in results if e["name"] == f"{name}_{metric}"]
        peers = {entry["peer"] for entry in entries}
        assert peers == {*workload.peers, *workload.variants}, name
        assert {entry["ours"] for entry in entries} == {workload.ours}
    missing = {e["peer"] for e in results if e.get("missing") and e["peer"]}
    assert "mimalloc" in missing


@pytest.mark.parametrize(
    "name",
    [
        "random_1000_live_p999",
        "random_1000_live_allocated_over_requested",
        "random_1000_live_reserved_over_live",
        "two_threads_random_scaling",
        "large_blocks_median_bare_crossing",
        "batch_2mib_release",
        "tables_100000_live_filled_none",
        "trace_azure_paged_median",
        "change_256b_1mib_over_fresh",
        "churn_held_trimmed_over_peak",
        "model_serve_held_over_live",
        "python_import",
        "python_first_block",
        "python_pair_block",
        "weights_resident",
        "weights_warm",
        "weights_map",
        "weights_map_whole",
        "weights_metadata",
        "fragmentation_azure_hints",
        "fragmentation_azure_no_hints",
        "call_handle",
        "call_cached_handle",
        "call_memory_recent",
        "call_memory_asked",
        "discovery_cold",
        "discovery_refresh",
        "discovery_cached",
        "kv_append",
        "stream_q8_0",
        "call_add",
        "layer_c",
        "layer_python",
        "step_MatMul",
        "attention_256",
        "attention_256_memory",
        "warm_bytes",
    ],
)
def test_what_the_targets_need_is_there(results: list[dict[str, Any]], name: str) -> None:
    entries = [entry for entry in results if entry["name"] == name]
    assert entries
    assert all(entry["value_ours"] is not None for entry in entries)


def test_ratios_are_of_the_values(results: list[dict[str, Any]]) -> None:
    compared = [entry for entry in results if entry["ratio"] is not None]
    assert compared
    for entry in compared:
        assert entry["ratio"] == pytest.approx(entry["value_ours"] / entry["value_peer"])


def test_a_missing_peer_is_shown_and_has_no_numbers(
    quick: pathlib.Path, results: list[dict[str, Any]], machine: dict[str, Any]
) -> None:
    entries = [entry for entry in results if entry["peer"] == "mimalloc"]
    assert entries
    for entry in entries:
        assert "not mimalloc" in entry["missing"]
        assert entry["value_peer"] is entry["ratio"] is entry["spread"]["peer"] is None
    assert any(text.startswith("mimalloc: malloc is ") for text in machine["left_out"])
    assert "| *mimalloc* | missing: malloc is " in report.render(quick)


def test_a_missing_trace_is_shown(
    quick: pathlib.Path, results: list[dict[str, Any]], machine: dict[str, Any]
) -> None:
    entries = [entry for entry in results if entry["name"].startswith("fragmentation_mooncake")]
    assert len(entries) == 1
    assert "FERRUM_TRACES_DIR" in entries[0]["missing"]
    assert any("Mooncake synthetic" in text for text in machine["left_out"])
    text = report.render(quick)
    assert "| Mooncake synthetic | missing: mooncake_synthetic_fast25.jsonl is not there" in text
    content, _ = report.load(quick)
    verdict = next(v for v in targets.verdicts(content) if v.id == "high_water_mooncake")
    assert (verdict.measured, verdict.met) == ("–", False)
    assert verdict.text.startswith("not measured: mooncake")


def test_the_c_library_is_measured_everywhere(results: list[dict[str, Any]]) -> None:
    glibc = [entry for entry in results if entry["peer"] == "glibc"]
    assert glibc
    assert all(entry["value_peer"] is not None and entry["peer_version"] for entry in glibc)


def test_peers_from_crates_and_the_bare_crossing_are_measured(
    results: list[dict[str, Any]],
) -> None:
    for name in ("offset_allocator", "vma", "gpu_allocator"):
        entries = [entry for entry in results if entry["peer"] == name]
        assert entries
        assert not any(entry.get("missing") for entry in entries), entries[0]
    crossings = [entry for entry in results if entry["ours"] == harness.CROSSING]
    assert crossings
    assert all(entry["value_ours"] > 0 for entry in crossings)


def test_the_machine_is_on_record(machine: dict[str, Any]) -> None:
    assert machine.keys() >= MACHINE_KEYS
    assert machine["quick"] is True
    assert machine["cores"] >= 1


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


def test_a_peer_that_cannot_be_built_is_left_out_with_the_reason(tmp_path: pathlib.Path) -> None:
    library = tmp_path / "lib.so"
    assert harness.built(["no-such-program", "build"], tmp_path, library) == (
        "no-such-program is not installed"
    )
    failing = [sys.executable, "-c", "import sys; sys.exit('no network')"]
    assert harness.built(failing, tmp_path, library).endswith("failed: no network")
    assert harness.built([sys.executable, "-c", ""], tmp_path, library).endswith("made no lib.so")


CRATES = str(harness.crates(quick=True))


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--allocator", "jemalloc", "--workload", "random"], 3, "not jemalloc"),
        (["--allocator", "ferrum_pool", "--workload", "random"], 3, "--library"),
        (["--allocator", "ferrum_pool", "--workload", "first"], 3, "--library"),
        (["--allocator", "vma", "--workload", "random"], 3, "--library"),
        (["--allocator", "bare_crossing", "--workload", "random"], 3, "--library"),
        (["--allocator", "unheard-of", "--workload", "random"], 2, "unheard-of"),
        (["--allocator", "glibc", "--workload", "unheard-of"], 2, "unheard-of"),
        (["--allocator", "glibc", "--workload", "hot"], 2, "--size"),
        (["--allocator", "glibc", "--workload", "batch"], 2, "--size"),
        (["--allocator", "glibc", "--workload", "trace"], 2, "--trace"),
        (["--allocator", "glibc", "--workload", "random", "--size", "64"], 2, "--size"),
        (["--allocator", "glibc", "--workload", "random", "--pairs", "-1"], 2, "--pairs -1"),
        (["--allocator", "glibc", "--workload", "random", "--pairs", "0"], 2, "--pairs"),
        (["--allocator", "glibc", "--workload", "random", "--live", "0"], 2, "--live"),
        (["--allocator", "glibc", "--workload", "random", "--granule", "3"], 2, "--granule"),
        (["--allocator", "glibc", "--workload", "random", "--smallest", "0"], 2, "--smallest"),
        (["--allocator", "glibc"], 2, "--workload"),
        (
            ["--allocator", "glibc", "--workload", "trace", "--trace", "no/such.steps"],
            1,
            "no/such.steps",
        ),
        (
            ["--allocator", "glibc", "--workload", "trace", "--trace", __file__],
            1,
            "no file of steps",
        ),
        (
            ["--allocator", "vma", "--library", CRATES, "--workload", "threads"],
            1,
            "several threads",
        ),
        # More than any address space: the run must end without timing failures.
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


def test_a_trace_that_ends_early_is_refused(built: str, tmp_path: pathlib.Path) -> None:
    steps = schedule.from_spans([(0, 2, 4096), (1, 3, 8192)])
    file = tmp_path / "trace.steps"
    steps.write(file)
    arguments = [built, "--allocator", "none", "--workload", "trace", "--trace", str(file)]
    assert subprocess.run(arguments, capture_output=True, check=False).returncode == 0
    file.write_bytes(file.read_bytes()[:-1])
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "too short" in done.stderr


def test_steps_free_before_they_allocate_at_one_instant() -> None:
    steps = schedule.from_spans([(0, 5, 100), (5, 6, 50), (5, 9, 30)])
    assert steps.peak_live_bytes == 100
    assert (steps.allocations, steps.slots, len(steps.packed)) == (3, 2, 6)


def test_a_paged_request_takes_a_block_for_each_16_tokens() -> None:
    # 20 tokens fill two blocks. The 13th generated token opens a third block, and the last one
    # needs no new block.
    request = schedule.Request(0, 20, 30)
    assert schedule.paged([request]).allocations == 4
    assert schedule.paged([schedule.Request(0, 32, 1)]).allocations == 2


def test_another_sequence_than_the_commands_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "JITTER_STREAM", 1)
    played = fragmentation.Fragmentation.__new__(fragmentation.Fragmentation)
    played.quick, played.peers = True, []
    with pytest.raises(harness.BenchError, match="were alive at the peak"):
        played.played(traces.AZURE, traces.trace_file(traces.AZURE))


def test_fragmentation_of_every_trace(
    quick_run: tuple[pathlib.Path, harness.Harness],
) -> None:
    """The sequences of all traces equal the command's, which the run itself checks."""
    try:
        for trace in (traces.MOONCAKE, *traces.MINIMALLOC):
            traces.trace_file(trace)
    except harness.NotHereError as reason:
        pytest.skip(str(reason))
    _, built = quick_run
    peers = [built.find(name) for name in fragmentation.PEERS]
    found = fragmentation.Fragmentation(built, peers, quick=True).run(lambda _: None)
    for trace in (traces.AZURE, traces.MOONCAKE, *traces.MINIMALLOC):
        for ours in ("hints", "no_hints"):
            entries = [e for e in found if e["name"] == f"fragmentation_{trace.name}_{ours}"]
            assert {"best_fit", "offset_allocator", "vma"} <= {e["peer"] for e in entries}
            assert all(e["value_ours"] >= 1 and e["value_peer"] >= 1 for e in entries)
    lead = fragmentation.minimalloc_lead(found)
    assert lead is not None
    assert lead[2] == len(traces.MINIMALLOC)


def test_slow_allocators_take_part_in_spread_rounds() -> None:
    workload = next(w for w in workloads.fixed() if w.name == "random_1000_live")
    turns = [
        [turn for turn in range(10) if measure.turn_of(turn, workload, name, 10)]
        for name in ("gpu_allocator", harness.OURS)
    ]
    assert len(turns[0]) == workload.rounds["gpu_allocator"]
    assert turns[1] == list(range(10))
    assert measure.turn_of(0, workload, "gpu_allocator", 1)
