"""Measures the library libstreamer.so of the package runai-model-streamer through its C interface.

streamer_peer.py load FILE ROUNDS
streamer_peer.py cold FILE ROUNDS

Reads all tensors of a file of safetensors into new memory: from the page cache, or after the file
was dropped from it. Prints one JSON object with the times in milliseconds. The package itself is
not imported, because it imports torch.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import json
import mmap
import os
import struct
import sys
import time

PACKAGE = "runai-model-streamer"
FINISHED = 1
HUGE = 2 << 20


class Device(ctypes.Structure):
    """The device of the memory; 0 is the host."""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


def library() -> ctypes.CDLL:
    """The library of the package."""
    files = importlib.metadata.files(PACKAGE) or []
    path = next(file.locate() for file in files if file.name == "libstreamer.so")
    return ctypes.CDLL(str(path))


def ranges_of(path: str) -> list[tuple[int, int]]:
    """Offset and size of each tensor."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        entries = json.loads(file.read(length))
    found = (entry["data_offsets"] for key, entry in entries.items() if key != "__metadata__")
    return [(8 + length + begin, end - begin) for begin, end in found]


def load(streamer: ctypes.CDLL, path: str, ranges: list[tuple[int, int]]) -> float:
    """Reads all ranges into new memory, and returns the milliseconds that this took."""
    began = time.perf_counter()
    places, size = [], 0
    for _, length in ranges:
        places.append(size)
        size += (length + 63) // 64 * 64
    memory = mmap.mmap(-1, (size + HUGE - 1) // HUGE * HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    count = len(ranges)
    offsets = (ctypes.c_size_t * count)(*(offset for offset, _ in ranges))
    sizes = (ctypes.c_size_t * count)(*(length for _, length in ranges))
    targets = (ctypes.c_void_p * count)(*(start + place for place in places))
    handle, submission = ctypes.c_void_p(), ctypes.c_uint64()
    file, index, done = ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_int()
    check(streamer, streamer.runai_file_streamer_start(ctypes.byref(handle)))
    status = streamer.runai_file_streamer_request(
        handle, ctypes.byref(submission), ctypes.c_uint32(1), (ctypes.c_char_p * 1)(path.encode()),
        (ctypes.c_uint32 * 1)(count), offsets, sizes, targets, Device(0, 0),
    )  # fmt: skip
    check(streamer, status)
    for _ in range(count):
        status = streamer.runai_file_streamer_response(
            handle, ctypes.byref(submission), ctypes.byref(file), ctypes.byref(index),
            ctypes.byref(done), ctypes.c_uint(0),
        )  # fmt: skip
        check(streamer, status)
    took = (time.perf_counter() - began) * 1000
    with open(path, "rb") as original:
        for (offset, length), place in (
            (ranges[0], places[0]),
            (ranges[-1], places[-1]),
        ):
            original.seek(offset + length - 1)
            if original.read(1) != ctypes.string_at(start + place + length - 1, 1):
                raise SystemExit("streamer: the last byte of a tensor is wrong")
    streamer.runai_file_streamer_end(handle)
    return took


def check(streamer: ctypes.CDLL, status: int) -> None:
    """Ends the process if a call failed."""
    if status not in (0, FINISHED):
        streamer.runai_file_streamer_response_str.restype = ctypes.c_char_p
        text = streamer.runai_file_streamer_response_str(status).decode()
        raise SystemExit(f"streamer: status {status}, {text}")


def drop(path: str) -> None:
    """Drops a file from the page cache."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def main() -> None:
    """Runs the command line."""
    what, path, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    streamer, ranges = library(), ranges_of(path)
    if what == "load":
        load(streamer, path, ranges)
    times = []
    for _ in range(rounds):
        if what == "cold":
            drop(path)
        times.append(load(streamer, path, ranges))
    print(json.dumps({"version": importlib.metadata.version(PACKAGE), "ms": times}))


main()
