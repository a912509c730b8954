"""Formats C and C++ with the clang-format of the development environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def formatted(text: str, name: str = "generated.hpp") -> str:
    """Returns the text as `make format` would format it in a file of that name."""
    tool = Path(sys.executable).with_name("clang-format")
    done = subprocess.run(
        [tool, f"--style=file:{ROOT / '.clang-format'}", f"--assume-filename={name}"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
