"""Single calls and discovery are measured, on a run that is too short to measure speed."""

import os
import pathlib
import subprocess
from typing import Any

import book
import harness
import latency
import pytest
import targets
from measure import result, summary

LIBRARY = pathlib.Path(
    os.environ.get("FERRUM_MEM_LIBRARY") or harness.ROOT / "build" / "lib" / "libferrum_mem.so"
)


class Folder:
    """What the rows need from the harness."""

    def __init__(self, folder: pathlib.Path, no_crossing: str = "") -> None:
        self.folder = folder
        self.library = LIBRARY.absolute()
        self.crossing = folder / "libcrossing.so"
        go = [os.environ.get("GO", "go"), "build", "-trimpath", "-buildmode=c-shared"]
        self.no_crossing = no_crossing or harness.built(
            [*go, "-o", str(self.crossing), "."], harness.SOURCES / "crossing", self.crossing
        )


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> latency.Latency:
    folder: Any = Folder(tmp_path_factory.mktemp("calls"))
    return latency.Latency(folder, quick=True)


@pytest.fixture(scope="module")
def results(rows: latency.Latency) -> list[dict[str, Any]]:
    return rows.run(lambda _: None)


def test_every_figure_has_taken_time(results: list[dict[str, Any]]) -> None:
    names = [name for name, _ in (*latency.KINDS.values(), *latency.DISCOVERY.values())]
    assert [entry["name"] for entry in results] == names
    for entry in results:
        assert entry["value_ours"] > 0, entry
        if entry["name"].startswith("call_"):
            assert (entry["peer"], entry["unit"]) == (harness.CROSSING, "ns")
            assert entry["value_peer"] > 0


def test_without_the_bare_crossing_the_calls_are_missing(tmp_path: pathlib.Path) -> None:
    folder: Any = Folder(tmp_path, no_crossing="go is not installed")
    found = latency.Latency(folder, quick=True).calls()
    assert [entry["missing"] for entry in found] == ["go is not installed"] * len(latency.KINDS)
    verdict = next(v for v in targets.verdicts(book.Book(found)) if v.id == "handle")
    assert (verdict.met, verdict.text) == (False, "not measured: go is not installed")


@pytest.mark.parametrize(("ours", "met"), [(105.0, True), (116.0, False)])
def test_a_handle_is_held_against_a_bare_crossing(ours: float, met: bool) -> None:
    entry = result(
        "call_handle", "ns", summary([ours]), summary([100.0]), peer_name=harness.CROSSING
    )
    verdict = next(v for v in targets.verdicts(book.Book([entry])) if v.id == "handle")
    assert (verdict.met, verdict.target) == (met, "≤ 15 ns")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--row", "unheard-of"], 2, "unheard-of"),
        (["--row", "discovery"], 2, "--library"),
        (["--row", "discovery", "--library", "no/such/library.so"], 2, "no/such/library.so"),
        (["--row", "calls", "--library", str(LIBRARY)], 2, "--crossing"),
        (["--row", "calls", "--calls", "0"], 2, "not a number above 0: 0"),
        (["--row", "calls", "--repetitions", "-1"], 2, "not a number above 0: -1"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    rows: latency.Latency, arguments: list[str], status: int, message: str
) -> None:
    done = subprocess.run([rows.program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert message in done.stderr


def test_discovery_that_asks_nobody_is_no_figure(rows: latency.Latency) -> None:
    done = subprocess.run(
        [rows.program, "--row", "discovery", "--library", str(LIBRARY)],
        env={**os.environ, "FERRUM_PROBE_HELPER": "/no/such/helper"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "the helper is not beside the library" in done.stderr
