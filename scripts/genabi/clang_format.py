"""Formats C and C++ with the clang-format of the set-up, by the tree's settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def formatted(text: str) -> str:
    """The text as `make format` leaves it."""
    tool = Path(sys.executable).with_name("clang-format")
    done = subprocess.run(
        [tool, f"--style=file:{ROOT / '.clang-format'}", "--assume-filename=generated.hpp"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
