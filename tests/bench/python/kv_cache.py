"""Measures KV caches through the C ABI, and prints one JSON object.

  kv_cache.py STEPS REPETITIONS [TRACE]

"append_ns" has nanoseconds for each of 256 sequences in one call that adds a token to each. With a
trace of requests that have hash ids of blocks of 512 tokens: "hits" is the number of shared blocks
over that which the ids give, and "physical" the largest use of blocks over that of the ids of the
32 requests that live at a time. Both numbers are computed here from the ids alone.
"""

from __future__ import annotations

import collections
import ctypes
import json
import pathlib
import sys
import time
from typing import Any

import ferrum_mem
from ferrum_mem import _abi, _native

SEQUENCES = 256
BLOCK_TOKENS = 512
LIVE = 32


def append(steps: int, repetitions: int) -> list[float]:
    """Nanoseconds for each sequence. A first repetition is not reported."""
    config = ferrum_mem.KvCacheConfig(
        block_tokens=16, blocks=SEQUENCES * 64, sequences=SEQUENCES, sequence_tokens=1024
    )
    found = []
    with ferrum_mem.KvCache(config) as cache:
        names = [each.sequence for each in cache.allocate([0] * SEQUENCES, [], [])]
        sequences = (ctypes.c_uint64 * SEQUENCES)(*names)
        lengths, copies = (ctypes.c_uint32 * 1)(), _abi.ferrum_kv_copy()
        count = ctypes.c_size_t()
        function = _native.functions().ferrum_kv_cache_append
        handle, to, found_out = cache._handle, ctypes.byref(copies), ctypes.byref(count)
        for _ in range(repetitions + 1):
            begin = time.perf_counter_ns()
            for _ in range(steps):
                status = function(handle, sequences, SEQUENCES, lengths, 0, to, 0, found_out)
            taken = time.perf_counter_ns() - begin
            _native.check(status)
            if cache.lengths(names) != [steps] * SEQUENCES:
                raise SystemExit("the sequences have other lengths")
            found.append(taken / steps / SEQUENCES)
            cache.truncate(names, [0] * SEQUENCES)
        cache.free(names)
    return found[1:]


def replay(trace: pathlib.Path) -> dict[str, float]:
    """Hits and the use of blocks, over what the ids of a trace give."""
    requests = [json.loads(line) for line in trace.read_text().splitlines()]
    longest = max(each["input_length"] for each in requests)
    config = ferrum_mem.KvCacheConfig(
        block_tokens=BLOCK_TOKENS,
        blocks=len({name for each in requests for name in each["hash_ids"]}) + 16 * LIVE,
        sequences=LIVE + 1,
        sequence_tokens=longest,
    )
    seen: set[int] = set()
    live: collections.deque[tuple[int, list[int], int]] = collections.deque()
    wanted, physical = 0, 0.0
    with ferrum_mem.KvCache(config) as cache:
        for request in requests:
            length = request["input_length"]
            names = request["hash_ids"][: length // BLOCK_TOKENS]
            shared = next((i for i, name in enumerate(names) if name not in seen), len(names))
            wanted += shared
            (made,) = cache.allocate([length], [len(names)], names)
            cache.publish([made.sequence], [len(names) - shared], names[shared:])
            seen.update(names)
            live.append((made.sequence, names, -(-length // BLOCK_TOKENS) - len(names)))
            if len(live) > LIVE:
                cache.free([live.popleft()[0]])
            blocks = len({name for _, all_of, _ in live for name in all_of})
            blocks += sum(rest for _, _, rest in live)
            physical = max(physical, cache.stats().used_blocks / blocks)
        hits = cache.stats().hits
        cache.free([each[0] for each in live])
    return {"hits": hits / wanted, "physical": physical}


def main(steps: int, repetitions: int, trace: str | None) -> None:
    """Measures everything."""
    found: dict[str, Any] = {"append_ns": append(steps, repetitions)}
    if trace is not None:
        found |= replay(pathlib.Path(trace))
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
