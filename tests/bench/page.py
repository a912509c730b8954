"""Writes docs/performance.md: its summary, tables and pictures, from the results of one run."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pictures
import report
from harness import BenchError
from summary import summary_lines

# The folder beside the page with its pictures.
FOLDER = "performance"
DIGITS = 5


def rounded(value: Any) -> Any:
    """Numbers with a meaningful number of digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value


def one_a_line(entries: list[Any]) -> str:
    """A list as JSON with one entry on each line, so that a change is visible."""
    return "[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n"


def keep(results: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Puts the results of a run, and its machine, into the folder. Returns the results' file."""
    book, machine = report.load(results)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "results.json"
    kept.write_text(one_a_line(rounded(book.results)), encoding="utf-8")
    text = json.dumps(machine, indent=1) + "\n"
    kept.with_name("machine.json").write_text(text, encoding="utf-8")
    return kept


def between(text: str, name: str, content: str) -> str:
    """The text with other content between the two markers of that name."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise BenchError(f"the page has no {begin} … {end}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def filled(text: str, results: pathlib.Path) -> str:
    """A page with the summary and the tables of results."""
    book, machine = report.load(results)
    text = between(text, "summary", "\n".join(summary_lines(book, machine)).rstrip())
    return between(text, "bench", report.render(results, FOLDER))


def publish(results: pathlib.Path, page: pathlib.Path) -> None:
    """Writes the page, and beside it its pictures and its results."""
    old = page.read_text(encoding="utf-8")
    # If the page has no markers, the page and the files beside it are not changed.
    filled(old, results)
    kept = keep(results, page.parent / FOLDER)
    page.write_text(filled(old, kept), encoding="utf-8")
    book, _ = report.load(kept)
    pictures.draw(book, page.parent / FOLDER)
