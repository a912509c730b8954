#!/usr/bin/env python3
"""Tests CuPy on pools of the library.

cupy_part.py            the part
cupy_part.py case NAME  one case, in this process
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import framework


def start() -> Any:
    """Imports CuPy and sets our allocator."""
    import cupy
    import ferrum_mem.frameworks

    ferrum_mem.frameworks.use_in_cupy()
    return cupy


def arithmetic() -> None:
    """The results are equal to those of NumPy, while many arrays are created and freed."""
    cupy = start()
    import numpy

    chance = numpy.random.default_rng(1)
    for _ in range(200):
        a = chance.standard_normal((int(chance.integers(1, 300)), 64), dtype=numpy.float32)
        b = chance.standard_normal((64, 32), dtype=numpy.float32)
        found = cupy.asnumpy(cupy.tanh(cupy.asarray(a) @ cupy.asarray(b)).sum(axis=0))
        assert numpy.allclose(found, numpy.tanh(a @ b).sum(axis=0), atol=1e-3)


def books() -> None:
    """The counters include the memory of arrays, and the cache can be emptied."""
    cupy = start()
    import ferrum_mem

    array = cupy.zeros(32 << 20, dtype=cupy.uint8)
    with ferrum_mem.Device("cuda:0") as device:
        assert device.statistics().requested.current >= array.nbytes
        assert device.owner_of(array.data.ptr).size_bytes >= array.nbytes
        del array
        cupy.cuda.Device().synchronize()
        framework.empty_cache(device, 0)
        assert device.statistics().requested.current == 0


def streams() -> None:
    """Each of two streams has an allocator. Neither gets memory of the other too early. Arrays
    may live longer than their streams.
    """
    cupy = start()
    import ferrum_mem.frameworks

    made = []
    for _ in range(2):
        stream = cupy.cuda.Stream(non_blocking=True)
        hook = ferrum_mem.frameworks.cupy_allocator(stream)
        made.append((stream, hook))
    for round_ in range(50):
        kept = []
        for number, (stream, hook) in enumerate(made):
            with stream, cupy.cuda.using_allocator(hook.malloc):
                work = cupy.full((1 << 20,), number + round_, dtype=cupy.int32)
                kept.append(work * 2)
                del work
        for number, array in enumerate(kept):
            made[number][0].synchronize()
            assert bool((array == 2 * (number + round_)).all())
    del made, stream, hook
    del kept, array


def arrays_of_both() -> None:
    """Blocks of the library become arrays without a copy."""
    cupy = start()
    import ferrum_mem

    with (
        ferrum_mem.Device("cuda:0") as device,
        ferrum_mem.Pool(device) as pool,
        pool.alloc(1000) as block,
    ):
        array = cupy.from_dlpack(block)
        assert array.data.ptr == block.address
        array[:] = 5
        shown = cupy.asarray(block)
        assert shown.data.ptr == block.address
        assert int(shown.sum()) == 5000
        cupy.cuda.Device().synchronize()
        del array, shown


CASES = {
    "arithmetic": arithmetic,
    "books": books,
    "streams": streams,
    "arrays of both": arrays_of_both,
}
VERSIONS = "import cupy; cupy.zeros(1); print(cupy.__version__)"

if __name__ == "__main__":
    if sys.argv[1:2] == ["case"]:
        sys.exit(framework.run_cases(CASES))
    sys.exit(framework.run_part("cupy", __file__, list(CASES), VERSIONS))
