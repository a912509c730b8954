"""Random programs in which each block's bytes name its owner, as a separate program.

    owner_programs.py WORK_LIBRARY PROGRAMS FIRST [PART...]

Two threads allocate and free blocks, batches and ranges with queued work: by free() and
close(), by leaving `with`, also on an exception, and by dropping the last reference.
Streams are destroyed before the blocks of their work. Work expects its owner's byte in the
whole block, so memory with two owners at a time shows as a wrong byte. The work itself is C
(tests/c/on_device.c), which can reach the memory of the device in FERRUM_TEST_DEVICE.

A part is "blocks", "batches", "ranges" or "streams".
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import random
import sys
import threading
import time
import traceback
import warnings
from typing import Any

import ferrum_mem as fm
from ferrum_mem import _abi

PARTS = ("blocks", "batches", "ranges", "streams")
THREADS, STEPS, STREAMS, BLOCKS, RANGES = 2, 200, 3, 10, 12
MIB = 1 << 20


class Work(ctypes.Structure):
    """block_work of tests/c/on_device.h."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("before", ctypes.c_ubyte),
        ("after", ctypes.c_ubyte),
        ("first", ctypes.c_bool),
        ("damaged", ctypes.POINTER(ctypes.c_int)),
    )


class ProgramError(Exception):
    """Raised inside a `with`, and expected outside."""


class Block:
    """An allocated object, with the streams of its queued work."""

    def __init__(self, taken: Any, addresses: tuple[int, ...], size: int, byte: int) -> None:
        self.taken = taken
        self.addresses = addresses
        self.size = size
        self.byte = byte
        self.last: fm.Stream | None = None
        self.place: Any = None


class Program:
    """The state that the threads of one program share."""

    def __init__(self, number: int, queue_work: Any, parts: tuple[str, ...]) -> None:
        self.number = number
        self.parts = parts
        self.damaged = ctypes.c_int(0)
        self.failures: list[str] = []
        self.exchange: list[Block | None] = [None] * 4
        self.lock = threading.Lock()
        # A stream that is being closed takes no event, although its work may still be
        # queued.
        self.closing = threading.Lock()
        self._queue_work = queue_work
        self._bytes = 0
        self.device = fm.Device(os.environ.get("FERRUM_TEST_DEVICE") or "cpu:0")
        pool = fm.PoolConfig(initial_size_bytes=4 * MIB, growth_increment_bytes=4 * MIB)
        self.pool = fm.Pool(self.device, pool)
        self.page = self.device.page_sizes().minimum_bytes
        space = 2 * RANGES * self.page
        self.virtual = fm.VirtualPool(
            self.device, fm.VirtualPoolConfig(capacity_bytes=space, page_bytes=self.page)
        )
        self.shared = fm.ElasticPool(
            self.device, fm.ElasticPoolConfig(limit_bytes=space, page_bytes=self.page)
        )
        self.model = self.shared.register_model("a", fm.ModelConfig(virtual_bytes=space))
        self.free_offsets = {
            self.virtual: [i * 2 * self.page for i in range(RANGES)],
            self.model: [i * 2 * self.page for i in range(RANGES)],
        }

    def next_byte(self) -> int:
        """A byte for a new owner."""
        with self.lock:
            self._bytes = self._bytes % 255 + 1
            return self._bytes

    def work(self, block: Block, stream: fm.Stream, *, first: bool = False) -> None:
        """Queues work on all of a block."""
        for address in block.addresses:
            work = Work(
                address, block.size, block.byte, block.byte, first, ctypes.pointer(self.damaged)
            )
            status = self._queue_work(stream._handle, work)
            if status != 0:
                raise AssertionError(f"queue_work gave {status}")

    def end(self) -> None:
        """Closes everything without force."""
        for block in self.exchange:
            if block is not None:
                block.taken.close()
        # This drops the last references to replaced streams.
        self.exchange.clear()
        del block
        gc.collect()
        self.device.synchronize()
        for made in (self.pool, self.virtual, self.model, self.shared):
            made.close()
        # A stream that was dropped with queued work is destroyed in the background.
        deadline = time.monotonic() + 60
        while True:
            try:
                self.device.close()
                return
            except fm.BusyError as error:
                if "stream" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.001)


class Worker(threading.Thread):
    """One thread of a program."""

    def __init__(self, program: Program, number: int) -> None:
        super().__init__()
        self.program = program
        self.random = random.Random(f"{program.number} {number}")
        self.streams = [fm.Stream(program.device) for _ in range(STREAMS)]
        self.blocks: list[Block | None] = [None] * BLOCKS

    def run(self) -> None:
        """Runs its steps, unless another thread has failed."""
        try:
            for _ in range(STEPS):
                if self.program.failures or self.program.damaged.value:
                    return
                self.step()
            for i in range(BLOCKS):
                self.give_back(i)
            for stream in self.streams:
                self.close(stream)
        except BaseException:
            self.program.failures.append(traceback.format_exc())

    def step(self) -> None:
        """One random step."""
        at, what = self.random.randrange(BLOCKS), self.random.random()
        if what < 0.85:
            if self.blocks[at] is None:
                self.blocks[at] = self.take()
            elif what < 0.4:
                self.give_back(at)
            else:
                self.use(self.blocks[at])
        elif what < 0.93:
            other = self.random.randrange(len(self.program.exchange))
            with self.program.lock:
                exchange = self.program.exchange
                self.blocks[at], exchange[other] = exchange[other], self.blocks[at]
        elif "streams" in self.program.parts:
            self.replace_stream()

    def replace_stream(self) -> None:
        """Closes a stream, or drops it, while blocks of its work exist."""
        at = self.random.randrange(STREAMS)
        if self.random.random() < 0.5:
            self.close(self.streams[at])
        self.streams[at] = fm.Stream(self.program.device)

    def close(self, stream: fm.Stream) -> None:
        """Closes a stream after its work."""
        with self.program.closing:
            stream.close(force=True)

    def lag(self, stream: fm.Stream) -> None:
        """Delays the work of the stream."""
        seconds = self.random.random() * 0.002
        stream.host_function(lambda: time.sleep(seconds))

    def take(self) -> Block | None:
        """Allocates an object and queues its first work."""
        program, stream = self.program, self.random.choice(self.streams)
        kinds = [part for part in program.parts if part != "streams"]
        size = 1 + self.random.randrange(1 << (8 + self.random.randrange(9)))
        kind, place = self.random.choice(kinds), None
        byte = program.next_byte()
        if kind == "blocks":
            taken: Any = program.pool.alloc(size, stream=stream)
            block = Block(taken, (taken.address,), size, byte)
        elif kind == "batches":
            taken = program.pool.alloc_batch(size, 3, stream=stream)
            block = Block(taken, taken.addresses, size, byte)
        else:
            of: Any = self.random.choice((program.virtual, program.model))
            with program.lock:
                if not program.free_offsets[of]:
                    return None
                place = (of, program.free_offsets[of].pop())
            size = program.page
            if of is program.virtual:
                taken = of.alloc(place[1], size, stream=stream)
            else:
                taken = of.alloc(size, offset_bytes=place[1], stream=stream)
            block = Block(taken, (taken.address,), size, byte)
        block.place = place
        program.work(block, stream, first=True)
        self.lag(stream)
        program.work(block, stream)
        block.last = stream
        return block

    def use(self, block: Block | None) -> None:
        """Queues more work on a stream of this thread, behind the queued work of the block."""
        assert block is not None
        stream = self.random.choice(self.streams)
        if not hasattr(block.taken, "record_stream"):
            return
        if block.last is not None and block.last is not stream:
            # A stream that was closed has no queued work.
            with self.program.closing, contextlib.suppress(fm.InvalidHandleError):
                stream.wait_event(block.last.record_event())
        block.taken.record_stream(stream)
        if self.random.random() < 0.5:
            self.lag(stream)
        self.program.work(block, stream)
        block.last = stream

    def give_back(self, at: int) -> None:
        """Frees a block in a random way, with its work queued."""
        block, self.blocks[at] = self.blocks[at], None
        if block is None:
            return
        how, place = self.random.randrange(5), block.place
        if how == 0:
            block.taken.free()
        elif how == 1:
            block.taken.free(self.random.choice(self.streams))
        elif how == 2:
            block.taken.close()
        elif how == 3:
            with contextlib.suppress(ProgramError), block.taken:
                raise ProgramError
        # Otherwise it is dropped: the collector frees it after its last reference.
        del block
        if place is not None:
            with self.program.lock:
                self.program.free_offsets[place[0]].append(place[1])


def run(number: int, queue_work: Any, parts: tuple[str, ...]) -> bool:
    """Whether a program found no error."""
    program = Program(number, queue_work, parts)
    workers = [Worker(program, i) for i in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    program.device.synchronize()
    if program.damaged.value:
        program.failures.append("the bytes of a block were another owner's")
    if not program.failures:
        del workers, worker
        gc.collect()
        program.end()
    for failure in program.failures:
        print(f"program {number}: {failure}", file=sys.stderr)
    return not program.failures


def main() -> int:
    """Runs the programs, and stops after the first failure."""
    warnings.simplefilter("ignore", ResourceWarning)
    path, programs, first, *parts = sys.argv[1:]
    if strange := set(parts) - set(PARTS):
        sys.exit(f"no part {', '.join(strange)}: {', '.join(PARTS)}")
    fm.init(host_devices=1, host_memory_bytes=512 * MIB)
    queue_work = ctypes.CDLL(path).queue_work
    queue_work.argtypes = [_abi.ferrum_stream, Work]
    for number in range(int(first), int(first) + int(programs)):
        if not run(number, queue_work, tuple(parts) or PARTS):
            # The remaining objects cannot be closed.
            sys.stderr.flush()
            os._exit(1)
    fm.shutdown()
    print(f"{programs} programs passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
