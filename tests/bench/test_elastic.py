"""The rows of virtual memory work from end to end, on a run that is too short to measure speed."""

import os
import pathlib
import subprocess
from typing import Any

import book
import elastic
import elastic_report
import elastic_targets
import harness
import pytest
from measure import result, summary

LIBRARY = pathlib.Path(
    os.environ.get("FERRUM_MEM_LIBRARY") or harness.ROOT / "build" / "lib" / "libferrum_mem.so"
)


class Folder:
    """What the rows need from the harness."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.library = LIBRARY.absolute()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> elastic.Elastic:
    folder: Any = Folder(tmp_path_factory.mktemp("rows"))
    return elastic.Elastic(folder, quick=True)


@pytest.fixture(scope="module")
def results(rows: elastic.Elastic) -> list[dict[str, Any]]:
    return rows.run(lambda _: None)


def test_every_target_has_a_verdict(results: list[dict[str, Any]]) -> None:
    verdicts = [target.verdict(book.Book(results)) for target in elastic_targets.TARGETS]
    assert not [v.what for v in verdicts if v.off is None]
    assert len(verdicts) == 19


def test_every_row_is_told_beside_the_bare_system(results: list[dict[str, Any]]) -> None:
    text = "\n".join(elastic_report.figure_lines(book.Book(results)))
    for row in elastic.rows():
        found = [e for e in results if e["name"].startswith(f"pages_{row.name}_")]
        assert found, row
        for entry in found:
            assert entry["peer"] == elastic.BARE
            assert f"| {elastic_report.text_of(entry['name'])} |" in text
            # Every time is above zero.
            assert entry["unit"] == "B" or min(entry["value_ours"], entry["value_peer"]) > 0


def test_what_was_not_measured_has_no_verdict() -> None:
    for target in elastic_targets.TARGETS:
        verdict = target.verdict(book.Book([]))
        assert not verdict.met
        assert verdict.text.startswith("not measured: ")


@pytest.mark.parametrize(("ours", "met"), [(100.0, True), (112.0, False)])
def test_a_wake_is_held_against_nine_tenths_of_a_copy(ours: float, met: bool) -> None:
    entries = [
        result(
            f"pages_wake_{backing}_wake",
            "ms",
            summary([ours]),
            summary([100.0]),
            peer_name=elastic.BARE,
        )
        for backing in elastic.BACKINGS
    ]
    wakes = [t for t in elastic_targets.TARGETS if t.id.startswith("wake_")]
    assert [t.verdict(book.Book(entries)).met for t in wakes] == [met, met]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--row", "unheard-of"], 2, "unheard-of"),
        (["--row", "pair", "--backing", "unheard-of"], 2, "unheard-of"),
        (["--row", "pair", "--repetitions", "0"], 2, "not a number above 0: 0"),
        (["--row", "wake", "--bytes", "4096"], 2, "--bytes"),
        (["--row", "pair"], 2, "--library"),
        (["--row", "pair", "--library", "no/such/library.so"], 2, "no/such/library.so"),
        (
            ["--row", "reserve", "--bytes", str(1 << 60), "--library", str(LIBRARY)],
            1,
            "ferrum_vpool_create",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(
    rows: elastic.Elastic, arguments: list[str], status: int, message: str
) -> None:
    done = subprocess.run([rows.program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
