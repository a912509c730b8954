"""Prints how long a program waits for the package, and for its first block, in milliseconds.

Nothing that the package itself imports is imported before the start of the measurement.
"""

from time import perf_counter

begin = perf_counter()
import ferrum_mem  # noqa: E402

imported = perf_counter()
with ferrum_mem.Device("cpu:0") as device, ferrum_mem.Pool(device) as pool:
    block = pool.alloc(4096)
    taken = perf_counter()
    block.free()

print(f'{{"import_ms": {(imported - begin) * 1e3}, "first_block_ms": {(taken - begin) * 1e3}}}')
