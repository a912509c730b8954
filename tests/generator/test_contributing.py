"""docs/contributing.md names existing files, and lists the edits that the additions need."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .additions import FAMILY, FAMILY_FILES, FUNCTION
from .copied_tree import ROOT

PAGE = (ROOT / "docs" / "contributing.md").read_text("utf-8")

# A file or folder in the text. A word such as <name> in it stands for any name.
NAMED = re.compile(r"`((?:[\w.<>-]+/)+[\w.<>-]*|[\w-]+\.(?:md|py)|Makefile)`")
WORD = re.compile(r"<\w+>")
# Edits that the family needs because of its shapes, not because of its kinds.
OF_SHAPES = {"bindings/rust/ferrum-mem/src/raw.rs", "bindings/rust/Cargo.toml"}


def section(title: str) -> list[str]:
    """Returns the files that a section names."""
    text = PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    return [path for line in text.splitlines() for path in NAMED.findall(line)]


def covers(named: list[str], path: str) -> bool:
    """States whether one of the names or patterns matches the path."""
    return any(
        re.fullmatch(WORD.sub("[^/]+", re.sub(r"\.(?=\w+$)", r"\\.", name)), path) for name in named
    )


@pytest.mark.parametrize(
    "name", sorted(name for name in set(NAMED.findall(PAGE)) if not name.startswith("build/"))
)
def test_what_is_named_is_there(name: str) -> None:
    found = ROOT.glob(WORD.sub("*", name).rstrip("/"))
    is_folder = name.endswith("/")
    assert any(path.is_dir() or not is_folder for path in found), f"there is no {name}"


def test_the_list_of_a_function_has_its_four_edits() -> None:
    named = section("A function")
    for kind, edit in FUNCTION.items():
        where = next(ROOT.glob(edit.where)).relative_to(ROOT)
        assert covers(named, str(where)), f"{kind}: {where}"


def test_the_list_of_a_kind_has_what_the_family_took() -> None:
    named = section("A handle kind")
    for edit in FAMILY:
        assert edit.where in OF_SHAPES or covers(named, edit.where), edit.where
    files = {str(path.relative_to(FAMILY_FILES)) for path in FAMILY_FILES.rglob("*")}
    for pattern in [name for name in named if WORD.search(name)]:
        assert any(covers([pattern.rstrip("/")], path) for path in files), pattern


def test_strategies_and_drivers_are_in_the_lists_that_the_page_names() -> None:
    lists = {
        "A strategy": ("core/rangealloc/strategy.go", "var strategies = "),
        "A driver": ("drivers/list.go", "func list()"),
    }
    for title, (path, start) in lists.items():
        assert path in section(title)
        assert start in Path(ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("path", ["README.md", "docs/architecture.md"])
def test_the_page_is_linked(path: str) -> None:
    assert "contributing.md)" in (ROOT / path).read_text("utf-8")
