#!/usr/bin/env python3
"""Measures one allocator from Python, in this process: peers.py SUBJECT MEASURE ARGUMENT.

SUBJECT is torch, torch_expandable, torch_ordered (cudaMallocAsync), torch_ferrum, cupy,
cupy_ferrum or rmm. MEASURE is `hot BYTES`, `random BYTES` or `trace FILE`, as tests/gpu/bench.c
has them. Prints a JSON object; ends with 77 where the framework is not installed.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import sys
import time
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import framework

ROUNDS = 7
TORCH_SETTINGS = {
    "torch_expandable": "expandable_segments:True",
    "torch_ordered": "backend:cudaMallocAsync",
}


class Subject:
    """How a framework allocates, waits, and what it held at most."""

    def __init__(self, name: str) -> None:
        if name in TORCH_SETTINGS:
            os.environ["PYTORCH_CUDA_ALLOC_CONF"] = TORCH_SETTINGS[name]
        self.name = name
        self.held = 0
        self.alloc: Callable[[int], Any]
        self.wait: Callable[[], None]
        self.note: Callable[[], None]
        getattr(self, "_open_" + name.split("_")[0])()

    def _open_torch(self) -> None:
        import torch

        if self.name == "torch_ferrum":
            import ferrum_mem.frameworks

            ferrum_mem.frameworks.use_in_torch()
        self.version = torch.__version__
        self.alloc = lambda size: torch.empty(size, dtype=torch.uint8, device="cuda")
        self.wait = torch.cuda.synchronize
        self.alloc(1)
        ours = self.name == "torch_ferrum"
        self.note = (lambda: None) if ours else self._note_peak(torch.cuda.max_memory_reserved)

    def _open_cupy(self) -> None:
        import cupy

        if self.name == "cupy_ferrum":
            import ferrum_mem.frameworks

            ferrum_mem.frameworks.use_in_cupy()
        self.version = cupy.__version__
        self.alloc = cupy.cuda.alloc
        self.wait = cupy.cuda.Device().synchronize
        self.alloc(1)
        ours = self.name == "cupy_ferrum"
        pool = cupy.get_default_memory_pool()
        self.note = (lambda: None) if ours else self._note_peak(pool.total_bytes)

    def _open_rmm(self) -> None:
        import rmm

        resource = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource())
        rmm.mr.set_current_device_resource(resource)
        self.version = rmm.__version__
        self.alloc = lambda size: rmm.DeviceBuffer(size=size)
        self.wait = lambda: None
        self.note = lambda: None

    def _note_peak(self, read: Callable[[], int]) -> Callable[[], None]:
        def note() -> None:
            self.held = max(self.held, read())

        return note

    def peak(self) -> int | None:
        """What was held at most; None where that is not told."""
        if self.name.endswith("_ferrum"):
            import ferrum_mem

            with ferrum_mem.Device("cuda:0") as device:
                return device.statistics().reserved.peak
        return self.held or None


def timed(repeat: Callable[[int], None], first: int, seconds: float) -> list[float]:
    """ns a repetition, for rounds that take some time each; the first one warms up."""
    values: list[float] = []
    count = first
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        repeat(count)
        each = (time.perf_counter() - start) / count
        values.append(each * 1e9)
        count = max(10, min(1_000_000, int(seconds / each)))
    return [round(value, 1) for value in values[1:]]


def hot(subject: Subject, size: int) -> dict[str, Any]:
    """A pair of one block."""
    alloc = subject.alloc

    def repeat(count: int) -> None:
        for _ in range(count):
            alloc(size)
        subject.wait()

    return {"bytes": size, "pair_ns": timed(repeat, 1000, 0.05)}


def random_replacement(subject: Subject, live_bytes: int) -> dict[str, Any]:
    """One of a thousand live blocks is replaced, by one of another size."""
    chance = random.Random(1)
    mean = live_bytes // 1000

    def size() -> int:
        drawn = mean * chance.randrange(1, 65) // 32
        return 512 + (drawn // 4 if chance.randrange(4) else drawn * 3)

    blocks: list[Any] = [subject.alloc(size()) for _ in range(1000)]
    places = [(chance.randrange(1000), size()) for _ in range(20000)]

    def repeat(count: int) -> None:
        for i in range(count):
            at, wanted = places[i % len(places)]
            blocks[at] = None
            blocks[at] = subject.alloc(wanted)
        subject.wait()

    return {"live_bytes": live_bytes, "replacement_ns": timed(repeat, 2000, 0.1)}


def trace(subject: Subject, path: str) -> dict[str, Any]:
    """Requests of a serving trace, come and gone."""
    blocks: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    live = peak = steps = 0
    start = time.perf_counter()
    with open(path) as file:
        for line in file:
            words = line.split()
            steps += 1
            if words[0] == "a":
                sizes[words[1]] = int(words[2])
                blocks[words[1]] = subject.alloc(sizes[words[1]])
                live += sizes[words[1]]
                peak = max(peak, live)
                subject.note()
            else:
                live -= sizes.pop(words[1])
                del blocks[words[1]]
    each = (time.perf_counter() - start) / steps * 1e9
    return {
        "steps": steps,
        "live_peak_bytes": peak,
        "held_peak_bytes": subject.peak(),
        "step_ns": round(each, 1),
    }


def main() -> int:
    """Reads the command line and measures."""
    name, measure, argument = sys.argv[1:]
    try:
        subject = Subject(name)
    except ImportError as absent:
        print(absent, file=sys.stderr)
        return framework.ABSENT
    if measure == "trace":
        found = trace(subject, argument)
    else:
        found = {"hot": hot, "random": random_replacement}[measure](subject, int(argument))
    print(json.dumps({"allocator": name, "version": subject.version, **found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
