"""A function and a family that are added to a copy of the tree work in every language.

The function needs four edits. The family has a function for each shape that the generator knows.
The tests build one library with both additions. A program of each language calls them with valid
and invalid arguments.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from .additions import FAMILY, FAMILY_FILES, FUNCTION
from .copied_tree import COPY, ROOT, add_files, build_library, copy_tree, generate, run


@dataclass(frozen=True)
class Built:
    """The copy with the additions.

    Attributes:
        edited: the file of each edit that the function needs, by kind of edit.
        written: the files that the generator wrote.
        folder: the folder of the library.
    """

    edited: dict[str, str]
    written: list[str]
    folder: Path


@pytest.fixture(scope="module")
def built() -> Built:
    copy_tree()
    add_files(FAMILY_FILES)
    for edit in FAMILY:
        edit.apply(COPY)
    edited = {kind: edit.apply(COPY) for kind, edit in FUNCTION.items()}
    return Built(edited, generate(), build_library())


def test_a_function_costs_four_edits(built: Built) -> None:
    assert sorted(built.edited) == ["core", "documentation", "header", "test"]
    name = "pool_get_kept_bytes"
    assert {
        "capi/export_pools_gen.go",
        "capi/pools_gen.c",
        "include/ferrum_mem/calls/pool.hpp",
        "bindings/python/src/ferrum_mem/_abi.py",
        "bindings/python/src/ferrum_mem/_calls.py",
        "bindings/rust/ferrum-mem-sys/src/bindings.rs",
        "bindings/rust/ferrum-mem/src/generated/calls.rs",
    } <= {path for path in built.written if name in (COPY / path).read_text("utf-8")}
    generate("--check")
    test = f"{built.edited['test']}::test_a_pool_says_what_it_holds"
    run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        **in_python(built),
    )


def in_python(built: Built) -> dict[str, str]:
    """Returns the environment in which Python finds the package and the library of the copy."""
    return {
        "FERRUM_MEM_LIBRARY": str(built.folder / "libferrum_mem.so"),
        "PYTHONPATH": str(COPY / "bindings" / "python" / "src"),
    }


def compiled(built: Built, compiler: str, source: str, *flags: str) -> str:
    """Compiles a program of the copy, runs it with the built library and returns its output."""
    to = COPY / "build" / Path(source).suffix[1:]
    run(
        [
            compiler,
            *flags,
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Iinclude",
            source,
            "-o",
            str(to),
            f"-L{built.folder}",
            "-lferrum_mem",
            f"-Wl,-rpath,{built.folder}",
        ]
    )
    return run([str(to)])


def test_c(built: Built) -> None:
    compiled(built, os.environ.get("CC", "cc"), "tests/calls.c", "-std=c11")


def test_cpp(built: Built) -> None:
    compiled(built, os.environ.get("CXX", "c++"), "tests/calls.cpp", "-std=c++17")


def test_python(built: Built) -> None:
    run([sys.executable, "-W", "error", "tests/calls.py"], **in_python(built))


def test_rust(built: Built) -> None:
    cargo = os.environ.get("CARGO", "cargo")
    assert shutil.which(cargo), "cargo is missing: install Rust (https://rustup.rs), or set CARGO"
    run(
        [
            cargo,
            "run",
            "--quiet",
            "--offline",
            "--manifest-path=bindings/rust/Cargo.toml",
            "-pcalls",
        ],
        # The crates of the copy have the same file names as those of the checkout. A separate
        # folder keeps them apart, because the tests of the checkout may run at the same time.
        CARGO_TARGET_DIR=str(ROOT / "build" / "test" / "additions" / "rust"),
        FERRUM_MEM_LIB_DIR=str(built.folder),
        LD_LIBRARY_PATH=str(built.folder),
    )
