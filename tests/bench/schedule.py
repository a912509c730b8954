"""The steps of a trace, for allocators against which `ferrum-mem replay` cannot play it.

The rules are those of docs/replay.md, including jitter, so that every allocator gets exactly the
sequence of the command's own replay. fragmentation.py compares the peaks of the two.
"""

from __future__ import annotations

import array
import csv
import datetime
import heapq
import json
import pathlib
import sys
from dataclasses import dataclass, field

BYTES_PER_TOKEN = 131072
BLOCK_TOKENS = 16
PREFILL_NS = 200_000
DECODE_NS = 30_000_000
NAME = b"ferrumt1"
SIZE_BITS = 40
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Request:
    """One request of a serving trace."""

    arrival_ns: int
    tokens_in: int
    tokens_out: int

    @property
    def end_ns(self) -> int:
        """When its memory is freed."""
        return self.arrival_ns + PREFILL_NS * self.tokens_in + DECODE_NS * self.tokens_out


class Pcg:
    """The generator that Go calls rand.PCG: 128 bits of state, DXSM output."""

    MULTIPLIER = 2549297995355413924 << 64 | 4865540595714422341
    INCREMENT = 6364136223846793005 << 64 | 1442695040888963407

    def __init__(self, seed: int, stream: int) -> None:
        self.state = seed << 64 | stream

    def uint64(self) -> int:
        """The next 64 bits."""
        self.state = (self.state * self.MULTIPLIER + self.INCREMENT) & ((1 << 128) - 1)
        high, low = self.state >> 64, self.state & MASK
        high ^= high >> 32
        high = high * 0xDA942042E4DD58B5 & MASK
        high ^= high >> 48
        return high * (low | 1) & MASK

    def below(self, n: int) -> int:
        """Uniform from 0 up to n, as Go's Int64N."""
        if n & (n - 1) == 0:
            return self.uint64() & (n - 1)
        while True:
            product = self.uint64() * n
            if product & MASK >= (1 << 64) % n:
                return product >> 64


JITTER_STREAM = 0x6A6974746572


def jittered(requests: list[Request], jitter_ns: int, seed: int) -> list[Request]:
    """Each arrival delayed by 0 up to the jitter, in the new order."""
    if jitter_ns == 0:
        return requests
    generator = Pcg(seed, JITTER_STREAM)
    moved = [
        Request(r.arrival_ns + generator.below(jitter_ns + 1), r.tokens_in, r.tokens_out)
        for r in requests
    ]
    return sorted(moved, key=lambda r: r.arrival_ns)


def read_requests(path: pathlib.Path) -> list[Request]:
    """Requests of an Azure CSV file or of Mooncake's JSON lines, in order of arrival."""
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            lines = [json.loads(line) for line in file]
            requests = [
                Request(r["timestamp"] * 1_000_000, r["input_length"], r["output_length"])
                for r in lines
            ]
        else:
            requests = [
                Request(
                    nanoseconds(row["TIMESTAMP"]),
                    int(row["ContextTokens"]),
                    int(row["GeneratedTokens"]),
                )
                for row in csv.DictReader(file)
            ]
    return sorted(requests, key=lambda r: r.arrival_ns)


def nanoseconds(text: str) -> int:
    """A time with up to nine digits of fraction, since 1970."""
    whole, _, fraction = text.partition(".")
    moment = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc)
    return int(moment.timestamp()) * 1_000_000_000 + int(f"{fraction:0<9}"[:9])


@dataclass
class Steps:
    """Allocations and frees in their order. Blocks have slots, which are reused."""

    packed: array.array[int] = field(default_factory=lambda: array.array("Q"))
    slots: int = 0
    allocations: int = 0
    peak_live_bytes: int = 0
    _live: int = 0
    _free: list[int] = field(default_factory=list)

    def alloc(self, size: int) -> tuple[int, int]:
        """Allocates a block. Returns the argument of free."""
        slot = self._free.pop() if self._free else self.slots
        self.slots = max(self.slots, slot + 1)
        self.packed.append(slot << SIZE_BITS | size)
        self.allocations += 1
        self._live += size
        self.peak_live_bytes = max(self.peak_live_bytes, self._live)
        return slot, size

    def free(self, block: tuple[int, int]) -> None:
        """Frees a block."""
        slot, size = block
        self.packed.append(slot << SIZE_BITS)
        self._free.append(slot)
        self._live -= size

    def write(self, path: pathlib.Path) -> None:
        """Writes the file for the harness."""
        numbers = array.array("Q", [self.slots, len(self.packed)]) + self.packed
        if sys.byteorder == "big":
            numbers.byteswap()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(NAME + numbers.tobytes())


def contiguous(requests: list[Request], bytes_per_token: int = BYTES_PER_TOKEN) -> Steps:
    """One block for each request, from its arrival to its end."""
    spans = [
        (r.arrival_ns, r.end_ns, (r.tokens_in + r.tokens_out) * bytes_per_token) for r in requests
    ]
    return from_spans(spans)


def from_spans(spans: list[tuple[int, int, int]]) -> Steps:
    """Blocks from (begin, end, bytes), sorted by begin. At one instant, ends come first."""
    steps = Steps()
    ends: list[tuple[int, int, tuple[int, int]]] = []
    for index, (begin, end, size) in enumerate(spans):
        while ends and ends[0][0] <= begin:
            steps.free(heapq.heappop(ends)[2])
        if size:
            heapq.heappush(ends, (end, index, steps.alloc(size)))
    while ends:
        steps.free(heapq.heappop(ends)[2])
    return steps


def paged(requests: list[Request]) -> Steps:
    """Blocks of 16 tokens that are allocated as tokens are generated, without sharing."""
    steps = Steps()
    held: dict[int, list[tuple[int, int]]] = {}
    pending: list[tuple[int, int, int]] = []  # time, 0 for an end or 1, request

    def follow(index: int) -> None:
        request = requests[index]
        token = len(held[index]) * BLOCK_TOKENS - request.tokens_in + 1
        if token >= request.tokens_out:
            heapq.heappush(pending, (request.end_ns, 0, index))
            return
        when = request.arrival_ns + PREFILL_NS * request.tokens_in + DECODE_NS * token
        heapq.heappush(pending, (when, 1, index))

    def happen() -> None:
        _, grows, index = heapq.heappop(pending)
        if grows:
            held[index].append(steps.alloc(BLOCK_TOKENS * BYTES_PER_TOKEN))
            follow(index)
        else:
            for block in held.pop(index):
                steps.free(block)

    for index, request in enumerate(requests):
        while pending and pending[0] < (request.arrival_ns, 1, index):
            happen()
        count = -(-request.tokens_in // BLOCK_TOKENS)
        held[index] = [steps.alloc(BLOCK_TOKENS * BYTES_PER_TOKEN) for _ in range(count)]
        follow(index)
    while pending:
        happen()
    return steps


CONVERSATION_BYTES_PER_TOKEN = 1024


def conversations(requests: list[Request]) -> Steps:
    """Large blocks and small ones: a request's prompt is one block, the generated tokens are in
    blocks of 16 tokens, and all of them are freed at its end.
    """
    steps = Steps()
    held: dict[int, list[tuple[int, int]]] = {}
    # The time, 0 for an end or 1, the request, and the number of generated tokens.
    pending: list[tuple[int, int, int, int]] = []

    def follow(index: int, generated: int) -> None:
        request = requests[index]
        if generated >= request.tokens_out:
            heapq.heappush(pending, (request.end_ns, 0, index, 0))
            return
        when = request.arrival_ns + PREFILL_NS * request.tokens_in + DECODE_NS * generated
        heapq.heappush(pending, (when, 1, index, generated))

    def happen() -> None:
        _, grows, index, generated = heapq.heappop(pending)
        if grows:
            held[index].append(steps.alloc(BLOCK_TOKENS * CONVERSATION_BYTES_PER_TOKEN))
            follow(index, generated + BLOCK_TOKENS)
        else:
            for block in held.pop(index):
                steps.free(block)

    for index, request in enumerate(requests):
        while pending and pending[0][0] <= request.arrival_ns:
            happen()
        held[index] = [steps.alloc(max(request.tokens_in, 1) * CONVERSATION_BYTES_PER_TOKEN)]
        follow(index, 0)
    while pending:
        happen()
    return steps


def lifetimes(path: pathlib.Path) -> Steps:
    """One block for each line of a file of lifetimes."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(int(r["lower"]), int(r["upper"]), int(r["size"])) for r in csv.DictReader(file)]
    return from_spans(sorted(rows, key=lambda row: row[0]))
