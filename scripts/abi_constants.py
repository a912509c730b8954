#!/usr/bin/env python3
"""Prints the name and value of every numeric constant of the header, one constant a line.

Usage: abi_constants.py HEADER. The ABI baseline stores this list, because the debug information
of the library contains no macros and no enumerators that no function uses. The script computes
the values with the C compiler (environment variable CC, or cc).
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from genabi.text import whole_header

# These constants grow with each version. A caller does not depend on their values.
MOVING = re.compile(r"FERRUM_(VERSION_\w+|ABI_VERSION|MEM_H)$")

# A macro without parameters that has a value and is neither an initialiser nor an attribute.
MACRO = re.compile(r"^[ \t]*#define (FERRUM_\w+)[ \t]+(?![{\s]|__attribute__)", re.M)

PROGRAM = """#include <stdio.h>
#include "{header}"
int main(void) {{
{body}
    return 0;
}}
"""


def names(header: pathlib.Path) -> list[str]:
    """Returns the names of object-like macros with a number, and of the status codes."""
    text = whole_header(header)
    codes = re.findall(r"\bX\((FERRUM_\w+), -?\d+,", text)
    found = {*MACRO.findall(text), *codes}
    return sorted(n for n in found if not MOVING.match(n) and not n.endswith("_INIT"))


def main(header: str) -> int:
    """Compiles and runs a program that prints the constants."""
    path = pathlib.Path(header).resolve()
    body = "\n".join(f'    printf("%s %lld\\n", "{n}", (long long)({n}));' for n in names(path))
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "constants"
        source = program.with_suffix(".c")
        source.write_text(PROGRAM.format(header=path, body=body))
        compiler = os.environ.get("CC") or "cc"
        subprocess.run([compiler, "-std=c11", "-o", program, source], check=True)
        subprocess.run([program], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
