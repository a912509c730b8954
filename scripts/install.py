#!/usr/bin/env python3
"""Installs the files that `make build` made, or removes the installed files.

    scripts/install.py install|uninstall

`make install` and `make uninstall` call this script and set PREFIX, LIBDIR, INCLUDEDIR, BINDIR,
DATADIR, DESTDIR, VERSION and MAJOR. No installed file contains an absolute path, so the whole
tree can be moved.

LIBDIR/ferrum_mem/installed.txt lists the installed files and the folders that were created for
them, as paths relative to the folder of the list. Uninstalling removes these files, and then
those of the folders that are empty. Installing over an older version removes the files that only
the older version had.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pages

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("PREFIX", "LIBDIR", "INCLUDEDIR", "BINDIR", "DATADIR")
PAGES_OF_BINDINGS = (
    "bindings/frameworks/README.md",
    "bindings/python/README.md",
    "bindings/rust/README.md",
    "bindings/rust/ferrum-mem-interfaces/README.md",
)


class Tree:
    """The installed tree: source and destination of each file."""

    def __init__(self) -> None:
        self.folders = {name: os.environ[name] for name in NAMES}
        for folder in self.folders.values():
            if not folder.startswith("/"):
                raise SystemExit(f"install: '{folder}' is not an absolute path")
        self.destdir = os.environ.get("DESTDIR", "")
        self.version, self.major = os.environ["VERSION"], os.environ["MAJOR"]
        self.list = self.place("LIBDIR", "ferrum_mem/installed.txt")
        # Destination and source of each copied file, with its mode; destination and contents of
        # each generated file; path and target of each link.
        self.copies: dict[Path, tuple[str, int]] = {}
        self.texts: dict[Path, str] = {}
        self.links: dict[Path, str] = {}

    def place(self, folder: str, name: str) -> Path:
        """Returns the path of an installed file, with DESTDIR in front."""
        return Path(f"{self.destdir}{self.folders[folder]}/{name}")

    def copy(self, source: str, folder: str, name: str, mode: int = 0o644) -> None:
        """Adds a file that is installed unchanged."""
        if not (ROOT / source).is_file():
            raise SystemExit(f"install: {source} is missing")
        self.copies[self.place(folder, name)] = (source, mode)

    def render(self, template: str, name: str) -> None:
        """Adds a generated file. The paths inside it are relative to the folder of the file."""
        here = os.path.dirname(f"{self.folders['LIBDIR']}/{name}")
        text = (ROOT / template).read_text(encoding="utf-8")
        text = text.replace("@VERSION@", self.version).replace("@MAJOR@", self.major)
        for variable in ("PREFIX", "LIBDIR", "INCLUDEDIR"):
            text = text.replace(f"@{variable}@", os.path.relpath(self.folders[variable], here))
        self.texts[self.place("LIBDIR", name)] = text

    def collect(self) -> None:
        """Collects every file to install."""
        for header in sorted((ROOT / "include").rglob("*.h*")):
            name = str(header.relative_to(ROOT / "include"))
            self.copy(f"include/{name}", "INCLUDEDIR", name)
        file = f"libferrum_mem.so.{self.version}"
        self.copy(f"build/lib/{file}", "LIBDIR", file, 0o755)
        self.links[self.place("LIBDIR", f"libferrum_mem.so.{self.major}")] = file
        self.links[self.place("LIBDIR", "libferrum_mem.so")] = f"libferrum_mem.so.{self.major}"
        self.copy("build/lib/ferrum-mem-probe", "LIBDIR", "ferrum_mem/ferrum-mem-probe", 0o755)
        self.copy("build/bin/ferrum-mem", "BINDIR", "ferrum-mem", 0o755)
        self.render("cmake/ferrum_mem.pc.in", "pkgconfig/ferrum_mem.pc")
        # Without a C++ compiler `make build` does not build the allocator and reports that.
        allocator = "libferrum_mem_allocator.so"
        if (ROOT / "build/lib" / allocator).exists():
            self.copy(f"build/lib/{allocator}", "LIBDIR", allocator, 0o755)
            name = "ferrum_mem_allocator.h"
            self.copy(f"bindings/frameworks/{name}", "INCLUDEDIR", name)
            self.render("cmake/ferrum_mem_allocator.pc.in", "pkgconfig/ferrum_mem_allocator.pc")
        for part in ("config", "config-version", "targets"):
            name = f"ferrum_mem-{part}.cmake"
            self.render(f"cmake/{name}.in", f"cmake/ferrum_mem/{name}")
        for source, name in (
            ("man/ferrum-mem.1", "man/man1/ferrum-mem.1"),
            ("completion/bash", "bash-completion/completions/ferrum-mem"),
            ("completion/zsh", "zsh/site-functions/_ferrum-mem"),
            ("completion/fish", "fish/vendor_completions.d/ferrum-mem.fish"),
        ):
            self.copy(f"build/share/{source}", "DATADIR", name)
        self.collect_pages()

    def collect_pages(self) -> None:
        """Collects README, docs and the files that they link to, and adapts the links."""
        documents = ["LICENSE", "NOTICE", "CHANGELOG.md", "README.md", *PAGES_OF_BINDINGS]
        documents += [str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").glob("*.md"))]
        for folder in ("docs/performance", "examples"):
            documents += [
                str(file.relative_to(ROOT))
                for file in sorted((ROOT / folder).rglob("*"))
                if file.is_file() and "__pycache__" not in file.parts
            ]
        for document in documents:
            self.copy(document, "DATADIR", f"doc/ferrum_mem/{document}")
        licenses = "THIRD_PARTY_LICENSES.txt"
        self.copy(f"build/share/{licenses}", "DATADIR", f"doc/ferrum_mem/{licenses}")
        places = {source: str(place) for place, (source, _) in self.copies.items()}
        for document in documents:
            if document.endswith(".md"):
                place = self.place("DATADIR", f"doc/ferrum_mem/{document}")
                del self.copies[place]
                text = (ROOT / document).read_text(encoding="utf-8")
                self.texts[place] = pages.rewritten(text, document, places)

    def install(self) -> None:
        """Writes all files and links to their destinations, and the list of them."""
        self.collect()
        before = self.read_list()
        made: set[Path] = set(before[1])
        for place in [*self.copies, *self.texts, *self.links, self.list]:
            make_folders(place.parent, made)
        for place, (source, mode) in self.copies.items():
            # Remove the old file first: a running program may have it open.
            place.unlink(missing_ok=True)
            shutil.copyfile(ROOT / source, place)
            place.chmod(mode)
        for place, text in self.texts.items():
            place.unlink(missing_ok=True)
            place.write_text(text, encoding="utf-8")
            place.chmod(0o644)
        for place, target in self.links.items():
            place.unlink(missing_ok=True)
            place.symlink_to(target)
        files = {*self.copies, *self.texts, *self.links, self.list}
        for place in before[0] - files:
            place.unlink(missing_ok=True)
        made -= remove_empty(made)
        lines = [*sorted(map(self.entry, files)), *sorted(f"{self.entry(d)}/" for d in made)]
        self.list.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(f"installed ferrum_mem {self.version} under {self.destdir}{self.folders['PREFIX']}")

    def uninstall(self) -> None:
        """Removes the files and folders that the list names."""
        files, made = self.read_list()
        if not files:
            raise SystemExit(
                f"uninstall: {self.list} is not there: nothing was installed with these settings"
            )
        for place in files:
            place.unlink(missing_ok=True)
        remove_empty(made)
        print(f"uninstalled ferrum_mem from {self.destdir}{self.folders['PREFIX']}")

    def entry(self, place: Path) -> str:
        """Returns a path in the form that the list has."""
        return os.path.relpath(place, self.list.parent)

    def read_list(self) -> tuple[set[Path], set[Path]]:
        """Reads the files and the folders of the list. Both are empty if there is no list."""
        if not self.list.exists():
            return set(), set()
        lines = self.list.read_text(encoding="utf-8").splitlines()
        places = {line: Path(os.path.normpath(self.list.parent / line)) for line in lines}
        made = {place for line, place in places.items() if line.endswith("/")}
        return set(places.values()) - made, made


def make_folders(folder: Path, made: set[Path]) -> None:
    """Creates a folder and its missing parents, and adds each folder that it creates to `made`."""
    if not folder.exists():
        make_folders(folder.parent, made)
        folder.mkdir(mode=0o755)
        made.add(folder)


def remove_empty(folders: set[Path]) -> set[Path]:
    """Removes the folders that are empty, the deepest first, and returns the removed ones."""
    gone = set()
    for folder in sorted(folders, key=lambda folder: -len(folder.parts)):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            gone.add(folder)
    return gone


def main() -> int:
    """Runs the action that the command line names."""
    if sys.argv[1:] not in (["install"], ["uninstall"]):
        print(__doc__, file=sys.stderr)
        return 2
    os.umask(0o022)
    tree = Tree()
    if sys.argv[1] == "install":
        tree.install()
    else:
        tree.uninstall()
    return 0


if __name__ == "__main__":
    sys.exit(main())
