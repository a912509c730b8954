#!/usr/bin/env python3
"""Writes the files that are generated from include/ferrum_mem.h.

    scripts/genabi.py            write them
    scripts/genabi.py --check    exit 1 and name those that are stale

The header is the only source. From it come the status codes for Go, the names of backends for Go
and C, and the constants, structs and functions for Python and Rust. The script needs the packages
`libclang` and `clang-format` and the program rustfmt, but no compiler. The output depends on the
header only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from genabi import (
    backends,
    c_arguments,
    c_calls,
    cpp,
    cpp_names,
    cpp_test,
    go_exports,
    go_structs,
    golang,
    python,
    python_calls,
    python_enums,
    python_records,
    python_stub,
    rust,
    rust_calls,
    rust_enums,
    rust_records,
)
from genabi.header import HeaderError, read_header
from genabi.model import Header
from genabi.text import families

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "include" / "ferrum_mem.h"

# The families that have functions. Each family is a header below include/ferrum_mem.
FAMILIES = sorted(set(families(HEADER).values()))

OUTPUTS: dict[str, Callable[[Header], str]] = {
    "include/ferrum_mem/calls/names.hpp": cpp_names.emit,
    "tests/c/test_cpp_calls.cpp": cpp_test.emit,
    "core/device/codes_gen.go": golang.emit,
    "core/discover/backends_gen.go": backends.emit_go,
    "capi/backends_gen.h": backends.emit_c,
    "bindings/python/src/ferrum_mem/_abi.py": python.emit,
    "bindings/python/src/ferrum_mem/_abi.pyi": python_stub.emit,
    "bindings/python/src/ferrum_mem/_calls.py": python_calls.emit,
    "bindings/python/src/ferrum_mem/_enums.py": python_enums.emit,
    "bindings/python/src/ferrum_mem/_records.py": python_records.emit,
    "bindings/rust/ferrum-mem-sys/src/bindings.rs": rust.emit,
    "bindings/rust/ferrum-mem/src/generated/calls.rs": rust_calls.emit,
    "bindings/rust/ferrum-mem/src/generated/enums.rs": rust_enums.emit,
    "bindings/rust/ferrum-mem/src/generated/records.rs": rust_records.emit,
    "tests/c/arguments_gen.h": c_arguments.emit_families,
    **{
        f"tests/c/arguments_{family}_gen.c": partial(c_arguments.emit, family=family)
        for family in FAMILIES
    },
    **{f"capi/{family}_gen.c": partial(c_calls.emit, family=family) for family in FAMILIES},
    **{
        f"capi/export_{family}_gen.go": partial(go_exports.emit, family=family)
        for family in FAMILIES
    },
    **{
        f"capi/structs_{family}_gen.go": partial(go_structs.emit, family=family)
        for family in FAMILIES
    },
}


def main() -> int:
    """Writes or checks the files and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="exit 1 if a file is stale, write nothing"
    )
    arguments = parser.parse_args()
    try:
        header = read_header(HEADER)
        texts = {name: emit(header) for name, emit in OUTPUTS.items()} | cpp.emit(header)
        # An emitter returns an empty text for a family that needs no such file.
        texts = {name: text for name, text in texts.items() if text}
    except HeaderError as problem:
        print(f"genabi: {problem}", file=sys.stderr)
        return 2
    stale = [name for name, text in texts.items() if present_text(ROOT / name) != text]
    if arguments.check:
        for name in stale:
            print(f"genabi: {name} is stale: run scripts/genabi.py", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[name], encoding="utf-8")
        print(f"genabi: wrote {name}")
    return 0


def present_text(path: Path) -> str | None:
    """Returns the text of a file, or None if the file does not exist."""
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
