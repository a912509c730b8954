"""docs/performance.md is what the bench writes, and states for every target whether it was met."""

import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

import book
import harness
import page
import pictures
import pytest
import report
import summary
import targets
from measure import result
from measure import summary as spread
from verdict import Reading, Target, Verdict

PAGE = harness.ROOT / "docs" / "performance.md"
SCALING = "two_threads_random_scaling"
KEPT = PAGE.parent / page.FOLDER / "results.json"
EMPTY = (
    "before\n<!-- summary:begin -->\nold\n<!-- summary:end -->\nbetween\n"
    "<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n"
)
MACHINE = {
    "date": "2026-01-02",
    "version": "0.1.0",
    "commit": "0123456789ab",
    "cpu": "a processor",
    "cores": 2,
    "cores_used_by_others": None,
    "short": True,
}


@pytest.fixture(scope="module")
def found(quick: pathlib.Path) -> book.Book:
    content, _ = report.load(quick)
    return content


def needs_kept_results() -> None:
    if not KEPT.is_file():
        pytest.skip("no run's results are beside the page yet")


def test_the_page_is_what_its_results_make() -> None:
    """Values are not edited by hand: make bench-docs writes them."""
    needs_kept_results()
    text = PAGE.read_text(encoding="utf-8")
    assert page.filled(text, KEPT) == text


def test_the_pictures_are_what_the_results_make(tmp_path: pathlib.Path) -> None:
    needs_kept_results()
    content, _ = report.load(KEPT)
    for drawn in pictures.draw(content, tmp_path):
        assert drawn.read_bytes() == (KEPT.parent / drawn.name).read_bytes(), drawn.name


def test_the_page_has_room_for_summary_and_tables(quick: pathlib.Path) -> None:
    text = page.filled(PAGE.read_text(encoding="utf-8"), quick)
    assert text.index("## In short") < text.index("### Short of the target")
    assert text.index("### Short of the target") < text.index("## How it is measured")
    assert text.index("## Results") < text.index("### Machine")


def sections(text: str) -> tuple[str, str]:
    """What the summary lists as missed, and what as met."""
    short = re.search(r"### Short of the target \(\d+\)\n(.*?)(?=\n### |\Z)", text, re.DOTALL)
    met = re.search(r"### Met \(\d+\)\n(.*)", text, re.DOTALL)
    return short.group(1) if short else "", met.group(1) if met else ""


def test_each_target_is_either_met_or_short(found: book.Book) -> None:
    text = "\n".join(summary.summary_lines(found, MACHINE))
    short, met = sections(text)
    assert text.index("Short of the target") < text.index("### Met")
    lists = {True: met, False: short}
    for verdict in targets.verdicts(found):
        row = f"| {verdict.what} | {verdict.measured} | {verdict.target} |"
        assert row in lists[verdict.met], verdict
        assert row not in lists[not verdict.met], verdict
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    # Each of the two lists has a heading; the line below it is not the row of a target.
    heads = [row for row in rows if row.startswith(("| what ", "| --- "))]
    assert len(rows) - len(heads) == len(targets.TARGETS)


def test_targets_have_names_of_their_own() -> None:
    names = [target.id for target in targets.TARGETS]
    assert len(names) == len(set(names))
    assert all(target.wanted for target in targets.TARGETS)


def test_what_was_not_measured_falls_short() -> None:
    lines = summary.summary_lines(book.Book([]), MACHINE)
    short, met = sections("\n".join(lines))
    assert met == ""
    assert short.count("| not measured: ") == len(targets.TARGETS)
    assert f"**0 of {len(targets.TARGETS)} targets are met.**" in lines
    assert any("0123456789ab" in line and "2026-01-02" in line for line in lines)


def verdict(value: float | Reading, limit: float, *, least: bool = False) -> Verdict:
    return Target("x", "x", lambda _: value, limit, "ns", least).verdict(book.Book([]))


def test_verdicts_follow_the_bounds() -> None:
    assert verdict(25, 25).met
    assert (verdict(50, 25).met, verdict(50, 25).text) == (False, "factor 2.00")
    assert verdict(0.8, 0.8, least=True).met
    assert verdict(0.4, 0.8, least=True).text == "factor 2.00"
    assert verdict(-3, 25).met
    doubtful = verdict(Reading(1, "1", "nobody knows"), 25)
    assert (doubtful.met, doubtful.text) == (False, "nobody knows")


def test_the_worst_shortfall_comes_first() -> None:
    found = [verdict(value, 10) for value in (20, 50, 11)]
    found.append(verdict(Reading(1, "", "nobody knows"), 10))
    assert [v.off for v in sorted(found, key=summary.worst_first)] == [5, 2, 1.1, None]


def of(name: str) -> Target:
    return next(target for target in targets.TARGETS if target.id == name)


def pair_of(ours: float, name: str, peer: str, theirs: float = 20.0) -> book.Book:
    entry = result(name, "ns", spread([ours]), spread([theirs]), peer_name=peer)
    return book.Book([entry])


@pytest.mark.parametrize(
    ("name", "content", "met"),
    [
        ("hot_ahead", pair_of(10.0, "hot_pair_256b_median", "vma"), True),
        ("hot_ahead", pair_of(30.0, "hot_pair_256b_median", "vma"), False),
        ("request_tagged", pair_of(20.0, "hot_pair_256b_median", harness.TAGGED, 30.0), True),
        ("request_tagged", pair_of(20.0, "hot_pair_256b_median", harness.TAGGED, 31.0), False),
        (
            "trace_azure_paged_offset",
            pair_of(50.0, "trace_azure_paged_median", "offset_allocator_mutex"),
            True,
        ),
        (
            "trace_azure_contiguous_offset",
            pair_of(50.0, "trace_azure_contiguous_median", "offset_allocator_mutex"),
            False,
        ),
        ("two_threads_random", pair_of(0.7, SCALING, "arithmetic loop", 1), False),
        ("two_threads_random", pair_of(0.8, SCALING, "arithmetic loop", 1), True),
    ],
)  # fmt: skip
def test_comparisons_are_held_against_their_limits(
    name: str, content: book.Book, met: bool
) -> None:
    assert of(name).verdict(content).met is met


def test_two_threads_without_two_cores_have_no_verdict() -> None:
    content = pair_of(0.5, "two_threads_random_scaling", "arithmetic loop", 0.6)
    found = of("two_threads_random").verdict(content)
    assert (found.met, found.text) == (False, "the plain loop reached only 0.60")


def test_a_peer_that_was_not_there_is_no_comparison() -> None:
    alone = result("hot_pair_256b_median", "ns", spread([9.0]), None)
    found = of("hot_ahead").verdict(book.Book([alone]))
    assert found.text == "not measured: no peer was there"


def write(results: pathlib.Path, to: pathlib.Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(harness.SOURCES / "run.py"), "--output", str(results)]
    command += ["--markdown", str(to)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_page_is_written_with_all_that_is_beside_it(
    quick: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "page.md"
    to.write_text(EMPTY, encoding="utf-8")
    done = write(quick, to)
    assert done.returncode == 0, done.stderr
    text = to.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert "\nbetween\n" in text
    assert text.endswith("\nafter\n")
    assert "\nold\n" not in text
    # Written again from the files beside it, the page does not change.
    beside = tmp_path / page.FOLDER
    assert page.filled(text, beside / "results.json") == text
    for picture in pictures.PICTURES:
        assert f"]({page.FOLDER}/{picture.file})" in text
        drawn = (beside / picture.file).read_text(encoding="utf-8")
        root = ElementTree.fromstring(drawn)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
        assert any(word and word.startswith("ferrum_") for word in words), picture.file
    # Drawn by another process, a picture is the same to the byte. One stands for all.
    content, _ = report.load(beside / "results.json")
    monkeypatch.setattr(pictures, "PICTURES", pictures.PICTURES[:1])
    for file in pictures.draw(content, tmp_path / "again"):
        assert file.read_bytes() == (beside / file.name).read_bytes()


def test_a_page_without_markers_is_left_alone(quick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    to = tmp_path / "page.md"
    to.write_text("nothing here\n", encoding="utf-8")
    done = write(quick, to)
    assert done.returncode == 1
    assert "<!-- summary:begin -->" in done.stderr
    assert to.read_text(encoding="utf-8") == "nothing here\n"
    assert not (tmp_path / page.FOLDER).exists()


def test_kept_numbers_have_five_digits() -> None:
    entries: list[dict[str, Any]] = [{"a": 1.23456789, "b": [1e9 / 3, "text"], "c": None, "d": 7}]
    assert page.rounded(entries) == [{"a": 1.2346, "b": [333330000.0, "text"], "c": None, "d": 7}]
    assert json.loads(page.one_a_line(entries)) == entries
    assert page.one_a_line(entries).count("\n") == 3
