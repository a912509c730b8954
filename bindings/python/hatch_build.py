"""Puts the library into the wheel and tags the wheel for where it can run.

The library is the file that FERRUM_MEM_LIBRARY names, or build/lib of the
checkout, which `make build` writes if it is not there. The helper that looks for
devices and the allocator for PyTorch and CuPy travel with it if they lie beside it.
The tag says for which processor they are and which glibc they need at least: the
highest GLIBC_x.y among the symbol versions that they ask for, or the first one with
which systems bring the C++ library that the allocator asks for.
"""

import os
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[2]
FILE_NAME = "libferrum_mem.so.0"
HELPER_NAME = "ferrum-mem-probe"
ALLOCATOR_NAME = "libferrum_mem_allocator.so"
MACHINES = {62: "x86_64", 183: "aarch64"}

SHT_DYNAMIC = 6
SHT_GNU_VERNEED = 0x6FFFFFFE
DT_NEEDED = 1


class LibraryBuildHook(BuildHookInterface[Any]):
    """Hatchling calls this before it writes the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the library and the tag; an editable install uses the checkout's."""
        if version == "editable":
            return
        library = find_library()
        needs = read_needs(library.read_bytes())
        foreign = sorted(needs.libraries - SYSTEM_LIBRARIES)
        if foreign:
            raise RuntimeError(f"{library} needs {', '.join(foreign)}, which a wheel must not")
        build_data["force_include"][str(library)] = f"ferrum_mem/lib/{FILE_NAME}"
        for name, known in ((HELPER_NAME, None), (ALLOCATOR_NAME, ALLOCATOR_LIBRARIES)):
            beside = library.parent / name
            if not beside.exists():
                continue
            own = read_needs(beside.read_bytes())
            if own.machine != needs.machine:
                raise RuntimeError(f"{beside} is for {own.machine}, not {needs.machine}")
            if known is not None and (strange := sorted(own.libraries - known)):
                raise RuntimeError(f"{beside} needs {', '.join(strange)}, which a wheel must not")
            needs = Needs(needs.machine, max(needs.glibc, own.glibc), needs.libraries)
            build_data["force_include"][str(beside)] = f"ferrum_mem/lib/{name}"
        licenses = library.parent.parent / "share" / "THIRD_PARTY_LICENSES.txt"
        if licenses.exists():
            build_data["force_include"][str(licenses)] = f"ferrum_mem/lib/{licenses.name}"
        build_data["pure_python"] = False
        major, minor = needs.glibc
        build_data["tag"] = f"py3-none-manylinux_{major}_{minor}_{needs.machine}"


# What glibc is made of; the loader's name differs by processor.
SYSTEM_LIBRARIES = {
    "libc.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "libm.so.6",
    "libresolv.so.2",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}

# What every system with these brings along besides.
ALLOCATOR_LIBRARIES = SYSTEM_LIBRARIES | {FILE_NAME, "libstdc++.so.6", "libgcc_s.so.1"}

# The last GLIBCXX_3.4.x that systems of a glibc bring along, as the tags promise it.
CXX_FLOORS = (
    (19, (2, 17)),
    (24, (2, 28)),
    (28, (2, 31)),
    (29, (2, 34)),
    (30, (2, 35)),
    (33, (2, 39)),
)


def find_library() -> Path:
    """The library for the wheel, built if it is not there."""
    named = os.environ.get("FERRUM_MEM_LIBRARY")
    library = Path(named) if named else ROOT / "build" / "lib" / FILE_NAME
    if not library.exists() and not named:
        if not (ROOT / "Makefile").exists() or shutil.which("go") is None:
            raise RuntimeError(
                f"{library} is not there and cannot be built here: that takes the checkout and "
                "Go. Or set FERRUM_MEM_LIBRARY to a library."
            )
        subprocess.run(["make", "-C", str(ROOT), "build"], check=True)
    if not library.exists():
        raise RuntimeError(f"{library} is not there")
    return library.resolve()


@dataclass(frozen=True)
class Needs:
    """What a shared library needs to run."""

    machine: str
    glibc: tuple[int, int]
    libraries: set[str]


@dataclass(frozen=True)
class Section:
    """A section of an ELF file: its kind, place and the section that it refers to."""

    kind: int
    start: int
    size: int
    link: int
    count: int


def read_needs(image: bytes) -> Needs:
    """Reads a 64-bit little-endian ELF file."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise RuntimeError("the library is no 64-bit little-endian ELF file")
    (machine,) = struct.unpack_from("<H", image, 18)
    if machine not in MACHINES:
        raise RuntimeError(
            f"ELF machine {machine}: wheels are made for {sorted(MACHINES.values())}"
        )
    sections = _sections(image)
    versions: set[str] = set()
    libraries: set[str] = set()
    for section in sections:
        if section.kind == SHT_GNU_VERNEED:
            versions |= _needed_versions(image, section, sections[section.link].start)
        elif section.kind == SHT_DYNAMIC:
            libraries |= _needed_libraries(image, section, sections[section.link].start)
    found = (re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version) for version in versions)
    # 2.5 is the oldest that the tag knows.
    floors = [(2, 5)] + [(int(match[1]), int(match[2])) for match in found if match]
    floors += [cxx_floor(version) for version in versions if version.startswith("GLIBCXX_3.4.")]
    return Needs(MACHINES[machine], max(floors), libraries)


def cxx_floor(version: str) -> tuple[int, int]:
    """The first glibc whose systems have a version of the C++ library, "GLIBCXX_3.4.29"."""
    wanted = int(version.removeprefix("GLIBCXX_3.4.").split(".")[0])
    for last, glibc in CXX_FLOORS:
        if wanted <= last:
            return glibc
    raise RuntimeError(f"{version}: no tag of wheels promises it; build with an older compiler")


def _sections(image: bytes) -> list[Section]:
    (table,) = struct.unpack_from("<Q", image, 40)
    entry_size, count = struct.unpack_from("<HH", image, 58)
    sections = []
    for number in range(count):
        kind = struct.unpack_from("<I", image, table + number * entry_size + 4)[0]
        start, size, link, info = struct.unpack_from(
            "<QQII", image, table + number * entry_size + 24
        )
        sections.append(Section(kind, start, size, link, info))
    return sections


def _text(image: bytes, start: int) -> str:
    return image[start : image.index(b"\0", start)].decode()


def _needed_versions(image: bytes, section: Section, names: int) -> set[str]:
    """The symbol versions of a verneed section: a list of files with a list each."""
    found = set()
    file_at = section.start
    for _ in range(section.count):
        _, entries, _, first, next_file = struct.unpack_from("<HHIII", image, file_at)
        entry_at = file_at + first
        for _ in range(entries):
            _, _, _, name, next_entry = struct.unpack_from("<IHHII", image, entry_at)
            found.add(_text(image, names + name))
            entry_at += next_entry
        file_at += next_file
    return found


def _needed_libraries(image: bytes, section: Section, names: int) -> set[str]:
    pairs = struct.iter_unpack("<QQ", image[section.start : section.start + section.size])
    return {_text(image, names + value) for tag, value in pairs if tag == DT_NEEDED}
