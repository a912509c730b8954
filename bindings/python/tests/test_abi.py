"""The generated layer, compared with a C compiler and with the hand-written layer."""

from __future__ import annotations

import ast
import ctypes
import re
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ferrum_mem
import pytest
from ferrum_mem import _abi, _native

PACKAGE = Path(ferrum_mem.__file__).parent
HEADER = Path(__file__).resolve().parents[3] / "include" / "ferrum_mem.h"
TEXT = "\n".join(path.read_text() for path in sorted((HEADER.parent / "ferrum_mem").glob("*.h")))


def test_every_function_is_used_by_the_hand_written_layer():
    text = "".join(p.read_text() for p in PACKAGE.glob("*.py") if p.name != "_abi.py")
    unused = [name for name in _abi.PROTOTYPES if not re.search(rf"\.{name}\b", text)]
    assert not unused


def test_every_function_of_the_header_is_there():
    declared = set(re.findall(r"\b(ferrum_\w+)\(\w", TEXT)) | {"ferrum_abi_version"}
    declared.add("ferrum_version_string")
    # Mentions of callbacks and functions in comments look the same.
    assert set(_abi.PROTOTYPES) <= declared | set(_abi.PROTOTYPES)
    exported = re.findall(r"FERRUM_API[^;]*?\b(ferrum_\w+)\(", TEXT, re.DOTALL)
    assert sorted(exported) == sorted(_abi.PROTOTYPES)


def test_every_constant_is_there():
    text = TEXT
    names = set(re.findall(r"^#define (FERRUM_\w+) (?![\\{])\S", text, re.MULTILINE))
    names -= {name for name in names if name.endswith("_INIT")} | {"FERRUM_API"}
    assert not {name for name in names if not hasattr(_abi, name)}


def structs() -> list[Any]:
    return [getattr(_abi, name) for name in _abi.STRUCTS]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The values of a C compiler: {(struct, what): number} and {struct: INIT bytes}."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    lines = []
    for struct in structs():
        name = struct.__name__
        lines.append(f'printf("{name} sizeof %zu\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            lines.append(f'printf("{name} {field} %zu\\n", offsetof({name}, {field}));')
        if hasattr(struct, "init"):
            lines.append(f"{{ static const {name} value = {name.upper()}_INIT;")
            lines.append(f'printf("{name} INIT ");')
            lines.append("for (size_t i = 0; i < sizeof value; i++)")
            lines.append('printf("%02x", ((const unsigned char *)&value)[i]); puts(""); }')
    folder = tmp_path_factory.mktemp("layout")
    source = folder / "layout.c"
    body = "\n".join(lines)
    source.write_text(
        f'#include <stdio.h>\n#include "ferrum_mem.h"\nint main(void) {{\n{body}\nreturn 0; }}\n'
    )
    program = folder / "layout"
    subprocess.run(
        [compiler, "-std=c11", f"-I{HEADER.parent}", str(source), "-o", str(program)], check=True
    )
    output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return {tuple(line.split()[:2]): line.split()[2] for line in output.splitlines()}


def test_layout_is_the_compilers(compiled):
    for struct in structs():
        name = struct.__name__
        assert ctypes.sizeof(struct) == int(compiled[name, "sizeof"])
        for field, *_ in struct._fields_:
            assert getattr(struct, field).offset == int(compiled[name, str(field)]), field


def test_init_values_are_the_compilers(compiled):
    checked = 0
    for struct in structs():
        if hasattr(struct, "init"):
            assert bytes(struct.init()).hex() == compiled[struct.__name__, "INIT"], struct
            checked += 1
    assert checked == TEXT.count("_INIT {")


def test_wrong_layout_is_rejected(monkeypatch):
    fields = (("first", "uint32_t", 0), ("second", "uint64_t", 4))
    right = (("first", "uint32_t", 0), ("second", "uint64_t", 8))
    for name, row in {
        "offset": (16, 8, fields),
        "size": (24, 8, right),
        "alignment": (16, 4, right),
    }.items():
        monkeypatch.setitem(_abi.STRUCTS, f"ferrum_wrong_{name}", row)
        with pytest.raises(ImportError, match=f"ferrum_wrong_{name}"):
            getattr(_abi, f"ferrum_wrong_{name}")


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="ferrum_nothing"):
        getattr(_abi, "ferrum_" + "nothing")
    with pytest.raises(AttributeError, match="ferrum_nothing"):
        getattr(_native.functions(), "ferrum_" + "nothing")


def test_threads_create_a_struct_type_once():
    """Functions that know the first type would reject a second one."""
    start = threading.Barrier(8)

    def ask(_: int) -> list[Any]:
        start.wait(30)
        return [*structs(), *(getattr(_abi, name) for name in _abi.CALLBACKS)]

    def forget() -> None:
        for name in [*_abi.STRUCTS, *_abi.CALLBACKS]:
            vars(_abi).pop(name, None)

    before = dict(vars(_abi))
    forget()
    try:
        with ThreadPoolExecutor(8) as threads:
            first, *others = threads.map(ask, range(8))
    finally:
        # A type that is made here for the first time has members of types of this test.
        forget()
        vars(_abi).update(before)
    assert all(each == first for each in others)


def test_the_stub_shows_the_types():
    """Compares the stub for type checkers with the module."""
    stub = ast.parse(Path(_abi.__file__).with_suffix(".pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    for name, (_, _, fields) in _abi.STRUCTS.items():
        assert annotated(classes[name]) == [field for field, *_ in fields]
        has_init = any(isinstance(node, ast.FunctionDef) for node in classes[name].body)
        assert has_init == hasattr(getattr(_abi, name), "init")
    assert sorted(annotated(classes["Functions"])) == sorted(_abi.PROTOTYPES)
    made = {name: getattr(_abi, name) for name in (*_abi.STRUCTS, *_abi.CALLBACKS)}
    for node in stub.body:
        if isinstance(node, ast.Assign):
            value = eval(ast.unparse(node.value), {**made, **vars(_abi)})
            assert getattr(_abi, ast.unparse(node.targets[0])) == value


def annotated(found: ast.ClassDef) -> list[str]:
    return [ast.unparse(node.target) for node in found.body if isinstance(node, ast.AnnAssign)]
