"""Measures the package safetensors: how long a file takes to load, or its header to read.

safetensors_peer.py load FILE ROUNDS
safetensors_peer.py describe FILE

Prints one JSON object with the times in milliseconds.
"""

from __future__ import annotations

import json
import os
import sys
import time

from safetensors import __version__, safe_open
from safetensors.numpy import load_file


def load(path: str, rounds: int) -> list[float]:
    """Loads all tensors into new memory, from the page cache."""
    times = []
    load_file(path)
    for _ in range(rounds):
        began = time.perf_counter()
        tensors = load_file(path)
        times.append((time.perf_counter() - began) * 1000)
        del tensors
    return times


def describe(path: str) -> tuple[list[float], int]:
    """Reads names and shapes of a file that is not in the page cache."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
    began = time.perf_counter()
    with safe_open(path, "numpy") as opened:
        # The object has keys and is no container.
        names = opened.keys()
        shapes = {name: opened.get_slice(name).get_shape() for name in names}
    return [(time.perf_counter() - began) * 1000], len(shapes)


def main() -> None:
    """Runs the command line."""
    what, path, *rest = sys.argv[1:]
    answer: dict[str, object] = {"version": __version__}
    if what == "load":
        answer["ms"] = load(path, int(rest[0]))
    else:
        answer["ms"], answer["tensors"] = describe(path)
    print(json.dumps(answer))


main()
