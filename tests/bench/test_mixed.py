"""The workloads of mixed phases do what they document: counts, live bytes, everything freed.

No test checks how fast anything is.
"""

import json
import os
import pathlib
import subprocess
from typing import Any

import harness
import mixed
import pytest
import schedule
from workloads import MIB

LIBRARY = pathlib.Path(
    os.environ.get("FERRUM_MEM_LIBRARY") or harness.ROOT / "build" / "lib" / "libferrum_mem.so"
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The harness alone, without the peers in other languages."""
    program = tmp_path_factory.mktemp("mixed") / "bench"
    harness.compile_program(harness.SOURCES.glob("*.c"), program)
    return program


def run(bench: pathlib.Path, allocator: str, *arguments: object) -> dict[str, Any]:
    command = [str(bench), "--allocator", allocator, *map(str, arguments)]
    if allocator.startswith("ferrum"):
        command += ["--library", str(LIBRARY.absolute())]
    environment = {**os.environ, **harness.ENVIRONMENT}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


ALLOCATORS = ("ferrum_pool", "ferrum_pool_uncached", "glibc")


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_the_first_size_comes_before_the_later_one(bench: pathlib.Path, allocator: str) -> None:
    later = ("--workload", "phases", "--size", "65536", "--pairs", "50", "--repetitions", "3")
    first = ("--first-size", "256", "--first-pairs", "2500")
    # With this budget the clock does not end the pairs early on a busy machine.
    patient = ("--budget-ns", "100000000000")
    answer = run(bench, allocator, *later, *first, *patient)
    assert answer["first_pairs"] == 2500
    assert answer["settling_pairs"] == 10000
    assert answer["pairs"] == 50
    assert len(answer["pair_ns"]) == 3
    assert run(bench, allocator, *later, *patient)["first_pairs"] == 0


def test_a_slow_first_size_is_cut_short(bench: pathlib.Path) -> None:
    arguments = ("--workload", "phases", "--size", "256", "--pairs", "1", "--budget-ns", "1")
    many = ("--first-size", "65536", "--first-pairs", str(10**12))
    answer = run(bench, "none", *arguments, *many)
    assert 0 < answer["first_pairs"] < 10**12


def test_a_later_phase_is_put_beside_a_fresh_pool() -> None:
    found = mixed.metrics({"pair_ns": [30.0, 40.0, 50.0], "fresh_ns": [20.0, 10.0, 30.0]})
    assert found["over_fresh"] == [2.0]
    workload = mixed.change(256, MIB, quick=False)
    assert workload.name == "change_256b_1mib"
    assert workload.command(quick=False) == [
        *workload.fresh_command(quick=False),
        "--first-size",
        "256",
        "--first-pairs",
        "1000000",
    ]


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_every_block_of_threads_that_end_is_given_back(bench: pathlib.Path, allocator: str) -> None:
    generations, pairs, live, threads, writing = 5, 300, 20, 2, 4
    answer = run(
        bench, allocator, "--workload", "churn", "--live", live, "--pairs", pairs,
        "--repetitions", generations,
    )  # fmt: skip
    lives = (generations + writing) * threads
    assert answer["taken"] == answer["given"] == lives * (live + pairs)
    # The first generation of each of the two runs takes over nothing.
    assert answer["handed"] == (generations + writing - 2) * threads * live // 2
    assert answer["live_bytes"] == 0
    assert answer["peak_bytes"] > live * 256
    assert len(answer["pair_ns"]) == generations


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_a_model_lives_twice_and_leaves_nothing(
    bench: pathlib.Path, allocator: str, tmp_path: pathlib.Path
) -> None:
    requests = [schedule.Request(i * 10**9, 500 + i, 40) for i in range(20)]
    steps = schedule.conversations(requests)
    steps.write(tmp_path / "conversations.steps")
    weights = ("--live", 3, "--smallest", MIB, "--largest", 4 * MIB)
    file = tmp_path / "conversations.steps"
    answer = run(bench, allocator, "--workload", "model", "--trace", file, *weights)
    assert answer["weights"] == 3
    assert answer["serve_pairs"] == steps.allocations
    assert 3 * MIB <= answer["weights_bytes"] <= 12 * MIB
    assert answer["peak_bytes"] == answer["weights_bytes"] + steps.peak_live_bytes
    assert answer["live_bytes"] == 0
    # The written memory is held.
    for phase in ("load", "wake"):
        assert answer[f"{phase}_held_over_live"] > 0.9
    assert set(mixed.MODEL_TIMES) | set(mixed.MODEL_MEMORY) <= set(answer)


def test_a_pool_that_sleeps_gives_its_memory_back(
    bench: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "conversations.steps"
    schedule.conversations([schedule.Request(0, 500, 40)]).write(file)
    weights = ("--live", 4, "--smallest", 8 * MIB, "--largest", 16 * MIB)
    answer = run(bench, "ferrum_pool", "--workload", "model", "--trace", file, *weights)
    for phase in ("sleep", "sleep_again"):
        assert answer[f"{phase}_held_over_peak"] < 0.1


def test_a_conversation_has_a_prompt_and_blocks_of_16_tokens() -> None:
    # 100 tokens of prompt are one block. 40 generated tokens are blocks of 16, 16 and 8.
    steps = schedule.conversations([schedule.Request(0, 100, 40)])
    assert steps.allocations == 4
    assert steps.peak_live_bytes == (100 + 3 * 16) * schedule.CONVERSATION_BYTES_PER_TOKEN
    assert len(steps.packed) == 2 * steps.allocations
    # The second request arrives after the first has ended.
    late = schedule.Request(10**12, 100, 40)
    both = schedule.conversations([schedule.Request(0, 100, 40), late])
    assert both.allocations == 8
    assert both.peak_live_bytes == steps.peak_live_bytes


def test_an_allocator_without_memory_has_no_model(
    bench: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "conversations.steps"
    schedule.conversations([schedule.Request(0, 10, 10)]).write(file)
    command = [str(bench), "--allocator", "none", "--workload", "model", "--trace", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no memory that can be written" in done.stderr


@pytest.mark.parametrize("allocator", ["ferrum_pool_aligned", "ferrum_pool_tagged"])
def test_requests_are_pairs_of_the_same_pool(bench: pathlib.Path, allocator: str) -> None:
    answer = run(
        bench, allocator, "--workload", "random", "--live", 50, "--pairs", 100,
        "--repetitions", 2, "--singles", 100,
    )  # fmt: skip
    # The pool's counters include the blocks of this kind of request.
    assert answer["requested_bytes"] > 0
    assert len(answer["pair_ns"]) == 2
