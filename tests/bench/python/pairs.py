"""Prints the time of a pair of allocate and free from Python, in microseconds, as one JSON
object.

  pairs.py PAIRS REPETITIONS

"block_us" is for pairs with a block object. "address_us" is for pairs by the functions that
return plain addresses, and null if the package has none.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import ferrum_mem

SIZE_BYTES = 256


def times(pair: Callable[[], None], pairs: int, repetitions: int) -> list[float]:
    """Microseconds for each pair, in each repetition. A first repetition is not reported."""
    found = []
    for _ in range(repetitions + 1):
        begin = time.perf_counter_ns()
        for _ in range(pairs):
            pair()
        found.append((time.perf_counter_ns() - begin) / pairs / 1000)
    return found[1:]


def main(pairs: int, repetitions: int) -> None:
    """Measures both kinds."""
    with ferrum_mem.Device("cpu:0") as device, ferrum_mem.Pool(device) as pool:

        def by_block() -> None:
            pool.alloc(SIZE_BYTES).free()

        found: dict[str, list[float] | None] = {
            "block_us": times(by_block, pairs, repetitions),
            "address_us": None,
        }
        take = getattr(pool, "alloc_address", None)
        give = getattr(pool, "free_address", None)
        if take and give:

            def by_address() -> None:
                give(take(SIZE_BYTES))

            found["address_us"] = times(by_address, pairs, repetitions)
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
