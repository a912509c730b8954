"""The Python methods and records that the generator writes for functions and structs."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest
from genabi import python_calls, python_enums, python_records
from genabi.header import read_header

from .header import ROOT, header_with

PACKAGE = ROOT / "bindings" / "python" / "src"


def methods_of(tmp_path: Path, declaration: str, tags: str = "") -> list[ast.FunctionDef]:
    """Returns the generated methods for a header with one more function."""
    text = python_calls.emit(header_with(tmp_path, declaration, tags))
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    return [node for kind in classes for node in kind.body if isinstance(node, ast.FunctionDef)]


def signature(method: ast.FunctionDef) -> str:
    """Returns the name, parameters and result of a method as source text."""
    assert method.returns is not None
    return f"{method.name}({ast.unparse(method.args)}) -> {ast.unparse(method.returns)}"


@pytest.mark.parametrize(
    ("declaration", "tags", "wanted"),
    [
        ("check(ferrum_box box)", "", "check(self) -> None"),
        (
            "trim(ferrum_box box, uint64_t keep_bytes, uint64_t *released_bytes_out)",
            "@default keep_bytes 0",
            "trim(self, keep_bytes: int=0) -> int",
        ),
        (
            "is_open(ferrum_box box, uint32_t *open_out)",
            "@bool open_out",
            "is_open(self) -> bool",
        ),
        (
            "set_limit(ferrum_box box, uint64_t limit_bytes)",
            "@none limit_bytes 0",
            "set_limit(self, limit_bytes: int | None) -> None",
        ),
        (
            "join(ferrum_box box, ferrum_box_stack stack)",
            "@optional stack",
            "join(self, stack: BoxStack | None=None) -> None",
        ),
        (
            "follow(ferrum_box box, ferrum_box other)",
            "",
            "follow(self, other: Box) -> None",
        ),
        (
            "synchronize(ferrum_box box, uint64_t timeout_ns)",
            "@waits",
            "synchronize(self, timeout_s: float | None=None) -> None",
        ),
        (
            "get_age(ferrum_box box, uint64_t max_age_ns, double *ratio_out, uint64_t *bytes_out)",
            "",
            "age(self, *, max_age_s: float=0.0) -> tuple[float, int]",
        ),
        (
            "rename(ferrum_box box, const char *name, const char *tag)",
            "@optional tag",
            "rename(self, name: str, tag: str | None=None) -> None",
        ),
        (
            "items_json(ferrum_box box, char *buffer, size_t capacity, size_t *length_out)",
            "",
            "items(self) -> Any",
        ),
        (
            "get_item(ferrum_box box, ferrum_item *item_out)",
            "",
            "item(self) -> Item",
        ),
        (
            "get_items(ferrum_box box, ferrum_item *items_out, size_t capacity, size_t *count_out)",
            "",
            "items(self) -> list[Item]",
        ),
        (
            "add(ferrum_box box, const uint64_t *numbers, uint64_t count)",
            "",
            "add(self, numbers: Iterable[int]) -> None",
        ),
        (
            "keep(ferrum_box box, const char *const *names, uint64_t count,"
            " ferrum_release_fn release, void *user_data)",
            "",
            "keep(self, names: Iterable[str], release: Callable[[], object]) -> None",
        ),
    ],
)
def test_a_shape_is_a_method(tmp_path: Path, declaration: str, tags: str, wanted: str) -> None:
    (method,) = methods_of(tmp_path, f"ferrum_status ferrum_box_{declaration}", tags)
    assert signature(method) == wanted


@pytest.mark.parametrize(
    ("declaration", "tags"),
    [
        ("ferrum_status ferrum_box_check(ferrum_box box)", "@by-hand python it does more"),
        ("ferrum_status ferrum_box_destroy(ferrum_box box, uint32_t flags)", "@ends"),
        ("ferrum_status ferrum_box_create(ferrum_box *box_out)", ""),
        ("ferrum_status ferrum_box_top(ferrum_box_stack stack, ferrum_box *box_out)", ""),
    ],
)
def test_the_rest_is_by_hand(tmp_path: Path, declaration: str, tags: str) -> None:
    assert methods_of(tmp_path, declaration, tags) == []


def test_none_is_given_as_the_number_that_stands_for_it(tmp_path: Path) -> None:
    (method,) = methods_of(
        tmp_path,
        "ferrum_status ferrum_box_set_limit(ferrum_box box, uint64_t limit_bytes)",
        "@none limit_bytes UINT64_MAX",
    )
    assert "2 ** 64 - 1 if limit_bytes is None else u64('limit_bytes', limit_bytes)" in ast.unparse(
        method
    )


def test_a_list_keeps_what_its_array_points_to(tmp_path: Path) -> None:
    (method,) = methods_of(
        tmp_path,
        "ferrum_status ferrum_box_add(ferrum_box box, const uint64_t *numbers, uint64_t count)",
    )
    assert [ast.unparse(line) for line in method.body[1:]] == [
        "kept_numbers = [u64('numbers', each) for each in listed('numbers', numbers, 'numbers')]",
        "raw_numbers = (ctypes.c_uint64 * len(kept_numbers))(*kept_numbers)",
        "_native.check(_native.functions().ferrum_box_add(self._handle, raw_numbers,"
        " len(raw_numbers)))",
    ]


def test_a_record_that_is_told_reads_the_struct(tmp_path: Path) -> None:
    declaration = "ferrum_status ferrum_box_get_item(ferrum_box box, ferrum_item *item_out)"
    text = python_records.emit(header_with(tmp_path, declaration))
    (item,) = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    read = next(node for node in item.body if isinstance(node, ast.FunctionDef))
    assert (item.name, read.name) == ("Item", "from_abi")
    assert ast.unparse(read.body[-1]) == "return cls(bytes=raw.bytes)"


def test_texts_name_the_method_that_a_function_is(tmp_path: Path) -> None:
    (method,) = methods_of(
        tmp_path,
        "ferrum_status ferrum_box_check(ferrum_box box)",
        "As ferrum_box_check() before FERRUM_SIDE_LEFT, NULL and ferrum_box_config.",
    )
    doc = ast.get_docstring(method)
    assert doc is not None
    assert "As Box.check() before SIDE_LEFT, None and BoxConfig." in doc


def test_a_form_by_hand_is_named_as_its_tag_says(tmp_path: Path) -> None:
    (method,) = methods_of(
        tmp_path,
        "ferrum_status ferrum_box_check(ferrum_box box)",
        "As ferrum_box_check.\n@form python Box.is_sound",
    )
    assert "As Box.is_sound." in (ast.get_docstring(method) or "")


def test_what_texts_name_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    header = read_header(ROOT / "include" / "ferrum_mem.h")
    texts = "".join(e.emit(header) for e in (python_calls, python_enums, python_records))
    docs = " ".join(
        ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(python_calls.emit(header)))
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    )
    assert "ferrum_" not in docs
    monkeypatch.syspath_prepend(str(PACKAGE))
    package = importlib.import_module("ferrum_mem")
    assert Path(package.__file__ or "").is_relative_to(PACKAGE), sys.path[:2]
    named = set(re.findall(r"\b([A-Z]\w+)\.([a-z_]\w*)\(\)", texts))
    assert ("VirtualPool", "set_limit") in named
    missing = {
        f"{kind}.{name}()"
        for kind, name in named
        if not callable(getattr(getattr(package, kind, None), name, None))
    }
    assert missing == set()
