"""Formats Rust with the rustfmt of the development environment."""

from __future__ import annotations

import subprocess


def formatted(text: str) -> str:
    """Returns the text as `make format` would format it."""
    done = subprocess.run(
        ["rustfmt", "--edition", "2021", "--emit", "stdout", "--quiet"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ValueError(f"rustfmt refuses what was generated: {done.stderr}\n{text}")
    return done.stdout
