#!/usr/bin/env python3
"""Prints which systems a wheel runs on, and fails if its tag promises more systems.

    scripts/check_wheel.py WHEEL [GLIBC]

Reads from every ELF file in the wheel the symbol versions and the libraries that it needs. With
GLIBC, such as 2.28, the script also fails if a file needs a later glibc, or a C++ library that
systems with that glibc do not provide.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import zipfile
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


def build_hook() -> ModuleType:
    """Loads the module that computed the tag. It can read ELF files."""
    path = ROOT / "bindings" / "python" / "hatch_build.py"
    spec = importlib.util.spec_from_file_location("hatch_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["hatch_build"] = module
    spec.loader.exec_module(module)
    return module


def tag_of(wheel: Path) -> tuple[tuple[int, int], str]:
    """Returns the glibc version and the processor that the file name of a wheel promises."""
    found = re.search(r"-manylinux_(\d+)_(\d+)_(\w+)\.whl$", wheel.name)
    if found is None:
        raise SystemExit(f"{wheel}: its tag names no glibc")
    return (int(found[1]), int(found[2])), found[3]


def check(wheel: Path, most: tuple[int, int]) -> list[str]:
    """Prints what each ELF file of a wheel needs, and returns what is wrong with the files."""
    hook = build_hook()
    tag, machine = tag_of(wheel)
    wrong = [] if tag <= most else [f"its tag asks for glibc {tag[0]}.{tag[1]}"]
    with zipfile.ZipFile(wheel) as archive:
        images = {name: archive.read(name) for name in archive.namelist()}
    elves = {name: image for name, image in images.items() if image[:4] == b"\x7fELF"}
    if not elves:
        wrong.append("it has no ELF file")
    for name, image in sorted(elves.items()):
        needs = hook.read_needs(image)
        major, minor = needs.glibc
        libraries = ", ".join(sorted(needs.libraries))
        print(f"{name}: {needs.machine}, glibc {major}.{minor} ({libraries})")
        if needs.glibc > min(tag, most):
            wrong.append(f"{name} needs glibc {major}.{minor}")
        if needs.machine != machine:
            wrong.append(f"{name} is for {needs.machine}")
        if strange := sorted(needs.libraries - hook.ALLOCATOR_LIBRARIES):
            wrong.append(f"{name} needs {', '.join(strange)}, which not every system has")
    return wrong


def main() -> int:
    """Prints the needs of the wheel and the problems that were found."""
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    wheel = Path(sys.argv[1])
    most = (99, 0)
    if len(sys.argv) == 3:
        major, minor = sys.argv[2].split(".")
        most = (int(major), int(minor))
    wrong = check(wheel, most)
    for line in wrong:
        print(f"{wheel.name}: {line}", file=sys.stderr)
    print(wheel)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
