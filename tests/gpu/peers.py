#!/usr/bin/env python3
"""Measures one allocator from Python, in this process: peers.py SUBJECT MEASURE=ARGUMENT...

SUBJECT is torch, torch_expandable, torch_ordered (cudaMallocAsync), torch_ferrum, cupy,
cupy_ferrum or rmm. MEASURE is `hot=BYTES`, `random=BYTES` or `trace=FILE`, as in
tests/gpu/bench.c. One process makes all measures, in the given order, because a framework starts
slowly. Each result is printed at once, as a JSON object in one line. The exit status is 77 if the
framework is not installed.
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
    """How a framework allocates, waits, reports its held bytes, and releases unused memory."""

    def __init__(self, name: str) -> None:
        if name in TORCH_SETTINGS:
            os.environ["PYTORCH_CUDA_ALLOC_CONF"] = TORCH_SETTINGS[name]
        self.name = name
        self.alloc: Callable[[int], Any]
        self.wait: Callable[[], None]
        self.empty: Callable[[], object]
        # None if the framework does not report it.
        self.held: Callable[[], int] | None = None
        getattr(self, "_open_" + name.split("_")[0])()

    def _use_ours(self, hand_over: str) -> None:
        """Makes a framework use our pools, and reads their counters."""
        import ferrum_mem.frameworks

        getattr(ferrum_mem.frameworks, hand_over)()
        device = ferrum_mem.Device("cuda:0")
        self.held = lambda: device.statistics().reserved.current
        self.empty = lambda: ferrum_mem.frameworks.trim(0)

    def _open_torch(self) -> None:
        import torch

        self.version = torch.__version__
        self.alloc = lambda size: torch.empty(size, dtype=torch.uint8, device="cuda")
        self.wait = torch.cuda.synchronize
        self.empty = torch.cuda.empty_cache
        self.held = torch.cuda.memory_reserved
        if self.name == "torch_ferrum":
            self._use_ours("use_in_torch")
        self.alloc(1)

    def _open_cupy(self) -> None:
        import cupy

        pool = cupy.get_default_memory_pool()
        self.version = cupy.__version__
        self.alloc = cupy.cuda.alloc
        self.wait = cupy.cuda.Device().synchronize
        self.empty = pool.free_all_blocks
        self.held = pool.total_bytes
        if self.name == "cupy_ferrum":
            self._use_ours("use_in_cupy")
        self.alloc(1)

    def _open_rmm(self) -> None:
        import rmm

        resource = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource())
        rmm.mr.set_current_device_resource(resource)
        self.version = rmm.__version__
        self.alloc = lambda size: rmm.DeviceBuffer(size=size)
        self.wait = self.empty = lambda: None

    def emptied(self) -> int | None:
        """Returns the held bytes after unused memory was released. A thread may still release
        memory, so this waits.
        """
        self.wait()
        self.empty()
        if self.held is None:
            return None
        end, held = time.monotonic() + 5, self.held()
        while time.monotonic() < end:
            time.sleep(0.05)
            self.empty()
            before, held = held, self.held()
            if held == before:
                break
        return held


def timed(repeat: Callable[[int], None], first: int, seconds: float) -> list[float]:
    """Returns ns for one repetition, for rounds of a certain duration. The first round warms up."""
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
    """Measures the allocation and the free of one block."""
    alloc = subject.alloc

    def repeat(count: int) -> None:
        for _ in range(count):
            alloc(size)
        subject.wait()

    return {"bytes": size, "pair_ns": timed(repeat, 1000, 0.05)}


def random_replacement(subject: Subject, live_bytes: int) -> dict[str, Any]:
    """Replaces one of a thousand live blocks with a block of another size."""
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


def steps_of(subject: Subject, path: str, held: Callable[[], int] | None) -> tuple[int, int, int]:
    """Runs the requests of a serving trace. Returns the number of steps, the peak of live bytes,
    and the peak of held bytes if held is given.
    """
    blocks: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    live = peak = steps = most = 0
    with open(path) as file:
        for line in file:
            words = line.split()
            steps += 1
            if words[0] == "a":
                sizes[words[1]] = int(words[2])
                blocks[words[1]] = subject.alloc(sizes[words[1]])
                live += sizes[words[1]]
                peak = max(peak, live)
                if held is not None:
                    most = max(most, held())
            else:
                live -= sizes.pop(words[1])
                del blocks[words[1]]
    return steps, peak, most


def trace(subject: Subject, path: str) -> dict[str, Any]:
    """Runs a trace twice, each time with an empty pool: once for the time of a step, and once for
    the held bytes.
    """
    subject.emptied()
    start = time.perf_counter()
    steps, peak, _ = steps_of(subject, path, None)
    each = (time.perf_counter() - start) / steps * 1e9
    left = subject.emptied()
    held = steps_of(subject, path, subject.held)[2]
    return {
        "steps": steps,
        "live_peak_bytes": peak,
        "held_before_bytes": left,
        "held_peak_bytes": held or None,
        "step_ns": round(each, 1),
    }


def main() -> int:
    """Reads the command line and measures."""
    name, *measures = sys.argv[1:]
    try:
        subject = Subject(name)
    except ImportError as absent:
        print(absent, file=sys.stderr)
        return framework.ABSENT
    for wanted in measures:
        measure, _, argument = wanted.partition("=")
        if measure == "trace":
            found = trace(subject, argument)
        else:
            found = {"hot": hot, "random": random_replacement}[measure](subject, int(argument))
        print(json.dumps({"measure": wanted, "version": subject.version, **found}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
