"""A copy of the tree, to which tests add functions and kinds.

The copy always has the same place in build/, so that Go and Rust reuse their earlier builds of
it. An addition consists of new files and of edits of existing files. An edit finds its place by
the text beside it, never by a line number, so that it survives other changes of the file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "test" / "generator"

# The files that the generator and the build read.
PARTS = (
    "CHANGELOG.md",
    "Makefile",
    "go.mod",
    "go.sum",
    "ruff.toml",
    ".clang-format",
    "bindings/python/src",
    "bindings/python/tests",
    "bindings/rust",
    "capi",
    "cmd",
    "core",
    "drivers",
    "engines",
    "include",
    "internal",
    "scripts",
    "tests/c/test_cpp_calls.cpp",
    "tests/gpu/bundle.mk",
)
LEFT_OUT = ("testdata", "__pycache__", "target")


@dataclass(frozen=True)
class Edit:
    """A text that is inserted into a file.

    Attributes:
        where: the file, or a glob pattern. Exactly one matching file contains the anchor.
        anchor: text that occurs once in the file.
        text: the inserted text. It goes after the anchor, or before it with is_before.
    """

    where: str
    anchor: str
    text: str
    is_before: bool = False

    def apply(self, root: Path) -> str:
        """Inserts the text and returns the file. The anchor must occur exactly once."""
        found = [p for p in sorted(root.glob(self.where)) if self.anchor in p.read_text("utf-8")]
        assert len(found) == 1, f"{self.where}: {len(found)} files have the anchor {self.anchor!r}"
        text = found[0].read_text("utf-8")
        assert text.count(self.anchor) == 1, f"{found[0]}: {self.anchor!r} stands there twice"
        whole = self.text + self.anchor if self.is_before else self.anchor + self.text
        found[0].write_text(text.replace(self.anchor, whole), encoding="utf-8")
        return str(found[0].relative_to(root))


def copy_tree() -> None:
    """Creates the copy, or updates it to the present state of the tree."""
    files = {path.relative_to(ROOT) for part in PARTS for path in _files(ROOT / part)}
    for path in [p for part in PARTS for p in _files(COPY / part)]:
        if path.relative_to(COPY) not in files:
            path.unlink()
    for name in sorted(files):
        to = COPY / name
        to.parent.mkdir(parents=True, exist_ok=True)
        # Copies and not links, because an edit of a linked file would change the tree.
        shutil.copy2(ROOT / name, to)
    # The stamps of scripts/setup.sh, so that the copy does not install its tools again.
    shutil.copytree(ROOT / "build" / "setup", COPY / "build" / "setup", dirs_exist_ok=True)


def add_files(folder: Path) -> list[str]:
    """Copies new files to their places in the copy and returns their paths."""
    added = []
    for path in _files(folder):
        to = COPY / path.relative_to(folder)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, to)
        added.append(str(path.relative_to(folder)))
    return added


def generate(*arguments: str) -> list[str]:
    """Runs the generator of the copy and returns the files that it has written."""
    output = run([sys.executable, "scripts/genabi.py", *arguments])
    return [line.rpartition("wrote ")[2] for line in output.splitlines() if "wrote " in line]


def build_library() -> Path:
    """Builds the shared library of the copy and returns its folder."""
    version = run(["make", "-s", "-f", "Makefile", "-f", "-", "print"], "print: ; @echo $(FILE)")
    name = f"build/lib/debug/{version.strip().splitlines()[-1]}"
    run(["make", name])
    return (COPY / name).parent


def run(command: list[str], text: str = "", **variables: str) -> str:
    """Runs a command in the copy and returns its output. Raises AssertionError if it fails."""
    kept = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}}
    done = subprocess.run(
        command,
        input=text,
        cwd=COPY,
        env=kept | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout}"
    return done.stdout


def _files(part: Path) -> Iterable[Path]:
    if part.is_file():
        return [part]
    found = (p for p in part.rglob("*") if p.is_file())
    return [p for p in found if not set(LEFT_OUT) & set(p.relative_to(part).parts)]
