"""Adds the library to the wheel and computes the wheel's tag.

The library is the file of FERRUM_MEM_LIBRARY, or build/lib of the checkout. `make build`
builds it if it does not exist. The wheel also gets these, if they exist: the probe process
and the allocator for PyTorch and CuPy from the library's folder, the command from the
folder bin beside it, the headers, and the pages of docs.

The tag states the processor and the oldest glibc. That is the highest GLIBC_x.y among the
symbol versions that the files need, or the first glibc whose systems have the C++ library
that the allocator needs. It is never below 2.28: the package is not tested with an older
glibc.
"""

import importlib.util
import os
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[2]
FILE_NAME = "libferrum_mem.so.0"
HELPER_NAME = "ferrum-mem-probe"
ALLOCATOR_NAME = "libferrum_mem_allocator.so"
COMMAND_NAME = "ferrum-mem"
MACHINES = {62: "x86_64", 183: "aarch64"}

# Wheels need at least this version.
OLDEST_GLIBC = (2, 28)

SHT_DYNAMIC = 6
SHT_GNU_VERNEED = 0x6FFFFFFE
DT_NEEDED = 1


class LibraryBuildHook(BuildHookInterface[Any]):
    """Hatchling calls this before it writes the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the library and the tag. An editable install uses the checkout's library."""
        if version == "editable":
            return
        library = find_library()
        needs = read_needs(library.read_bytes())
        refuse_libraries(library, needs, SYSTEM_LIBRARIES)
        package = {library: f"lib/{FILE_NAME}"}
        command = library.parent.parent / "bin" / COMMAND_NAME
        for file, place, known in (
            (library.parent / HELPER_NAME, "lib", SYSTEM_LIBRARIES),
            (library.parent / ALLOCATOR_NAME, "lib", ALLOCATOR_LIBRARIES),
            (command, "bin", SYSTEM_LIBRARIES),
        ):
            if not file.exists():
                continue
            own = read_needs(file.read_bytes())
            if own.machine != needs.machine:
                raise RuntimeError(f"{file} is for {own.machine}, not {needs.machine}")
            refuse_libraries(file, own, known)
            needs = Needs(needs.machine, max(needs.glibc, own.glibc), needs.libraries)
            package[file] = f"{place}/{file.name}"
        licenses = library.parent.parent / "share" / "THIRD_PARTY_LICENSES.txt"
        if licenses.exists():
            package[licenses] = f"lib/{licenses.name}"
        package |= headers_and_pages(Path(self.directory) / "pages")
        for file, name in package.items():
            build_data["force_include"][str(file)] = f"ferrum_mem/{name}"
        build_data["pure_python"] = False
        major, minor = max(needs.glibc, OLDEST_GLIBC)
        build_data["tag"] = f"py3-none-manylinux_{major}_{minor}_{needs.machine}"


def refuse_libraries(file: Path, needs: "Needs", known: set[str]) -> None:
    """Fails for a file that needs libraries which not every system of its tag has."""
    if strange := sorted(needs.libraries - known):
        raise RuntimeError(f"{file} needs {', '.join(strange)}, which a wheel must not need")


def headers_and_pages(scratch: Path) -> dict[Path, str]:
    """The headers and the pages, by their paths in the package.

    A page is rewritten into a folder, so that its links lead to files of the package.
    """
    package = {
        file: str(file.relative_to(ROOT))
        for folder in ("include", "docs")
        for file in sorted((ROOT / folder).rglob("*"))
        if file.is_file() and file.suffix != ".md"
    }
    # docs/results has the results of the last run on a GPU; these are not pages.
    pages = {file: str(file.relative_to(ROOT)) for file in sorted((ROOT / "docs").glob("*.md"))}
    pages[ROOT / "bindings" / "frameworks" / "README.md"] = "docs/frameworks.md"
    places = {str(file.relative_to(ROOT)): name for file, name in (package | pages).items()}
    rewritten = load_pages().rewritten
    for file, name in pages.items():
        page = scratch / name
        page.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8")
        page.write_text(rewritten(text, str(file.relative_to(ROOT)), places), encoding="utf-8")
        package[page] = name
    return package


def load_pages() -> ModuleType:
    """The module of the checkout that rewrites links."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "scripts" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The libraries of glibc. The name of the loader depends on the processor.
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

# Libraries that every system with glibc also has.
ALLOCATOR_LIBRARIES = SYSTEM_LIBRARIES | {FILE_NAME, "libstdc++.so.6", "libgcc_s.so.1"}

# The last version of each kind on systems with a glibc, as the definitions of the tags
# state them.
CXX_FLOORS = {
    "GLIBCXX_3.4.": (
        (19, (2, 17)),
        (24, (2, 28)),
        (28, (2, 31)),
        (29, (2, 34)),
        (30, (2, 35)),
        (33, (2, 39)),
    ),
    "CXXABI_1.3.": (
        (7, (2, 17)),
        (11, (2, 28)),
        (12, (2, 31)),
        (13, (2, 34)),
        (15, (2, 39)),
    ),
}


def find_library() -> Path:
    """The library for the wheel. Builds it if it does not exist."""
    named = os.environ.get("FERRUM_MEM_LIBRARY")
    library = Path(named) if named else ROOT / "build" / "lib" / FILE_NAME
    if not library.exists() and not named:
        if not (ROOT / "Makefile").exists() or shutil.which("go") is None:
            raise RuntimeError(
                f"{library} does not exist and cannot be built here: a build needs the checkout "
                "and Go. Or set FERRUM_MEM_LIBRARY to a library."
            )
        subprocess.run(["make", "-C", str(ROOT), "build"], check=True)
    if not library.exists():
        raise RuntimeError(f"{library} does not exist")
    return library.resolve()


@dataclass(frozen=True)
class Needs:
    """The requirements of a shared library."""

    machine: str
    glibc: tuple[int, int]
    libraries: set[str]


@dataclass(frozen=True)
class Section:
    """A section of an ELF file: its kind, offset, size, and the section that it refers to."""

    kind: int
    start: int
    size: int
    link: int
    count: int


def read_needs(image: bytes) -> Needs:
    """Reads a 64-bit little-endian ELF file."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise RuntimeError("the library is not a 64-bit little-endian ELF file")
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
    # 2.5 is the oldest version of the tag.
    floors = [(2, 5)] + [(int(match[1]), int(match[2])) for match in found if match]
    floors += [cxx_floor(version) for version in versions if version.startswith(tuple(CXX_FLOORS))]
    return Needs(MACHINES[machine], max(floors), libraries)


def cxx_floor(version: str) -> tuple[int, int]:
    """The first glibc whose systems have a version of the C++ library, "GLIBCXX_3.4.29"."""
    for kind, floors in CXX_FLOORS.items():
        if version.startswith(kind):
            wanted = int(version.removeprefix(kind).split(".")[0])
            for last, glibc in floors:
                if wanted <= last:
                    return glibc
    raise RuntimeError(f"{version}: no wheel tag covers this version: build with an older compiler")


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
    """The symbol versions of a verneed section: a list of files, each with a list of versions."""
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
