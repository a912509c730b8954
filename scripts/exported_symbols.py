#!/usr/bin/env python3
"""Compares the symbols that a library exports with the functions of the header.

Usage: exported_symbols.py LIBRARY HEADER VERSION_NODE    print the differences and exit 1
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

from genabi.text import whole_header


def declared(header: pathlib.Path) -> set[str]:
    """Returns the names of the functions that the header marks with FERRUM_API."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", whole_header(header), flags=re.S)
    text = re.sub(r"^\s*#.*(?:\\\n.*)*$", "", text, flags=re.M)
    return set(re.findall(r"\bFERRUM_API\b[^;{}]*?\b(ferrum_\w+)\s*\(", text))


def exported(library: pathlib.Path) -> dict[str, str]:
    """Returns the dynamic symbols that the library defines, with the version of each symbol."""
    command = ["nm", "--dynamic", "--defined-only", "--with-symbol-versions", str(library)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    symbols = {}
    for line in output.splitlines():
        _, kind, name = line.split(maxsplit=2)
        name, _, version = name.partition("@")
        if kind != "A":
            symbols[name] = version.lstrip("@")
    return symbols


def main(library: str, header: str, node: str) -> int:
    """Compares both sets and prints each difference."""
    wanted, found = declared(pathlib.Path(header)), exported(pathlib.Path(library))
    problems = [f"{name} is declared and not exported" for name in sorted(wanted - found.keys())]
    problems += [f"{name} is exported and not declared" for name in sorted(found.keys() - wanted)]
    problems += [
        f"{name} has version {version!r} and not {node}"
        for name, version in sorted(found.items())
        if version != node
    ]
    if not wanted:
        problems.append(f"{header}: no function was found")
    print("\n".join(problems) if problems else f"{len(wanted)} functions, all of {node}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
