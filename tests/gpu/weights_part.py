#!/usr/bin/env python3
"""Loads a file of weights into the memory of a device, compares its bytes with the file, and
measures the load in turns with the Python package safetensors over PyTorch.

weights_part.py         the part
weights_part.py peer P  the peer for the file P: one load for each line of its input

The file is in the page cache. With the simulated driver it is small, and the times mean nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle
import framework

MEBIBYTE = 1 << 20
TENSORS = 64
ROUNDS = 5
LOOK = 65536


def write_file(path: pathlib.Path, tensor_bytes: int) -> list[int]:
    """Writes a file of safetensors. Returns the offset of the bytes of each tensor."""
    entries = {
        f"layers.{number}.weight": {
            "dtype": "BF16",
            "shape": [tensor_bytes // 2048, 1024],
            "data_offsets": [number * tensor_bytes, (number + 1) * tensor_bytes],
        }
        for number in range(TENSORS)
    }
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    block = random.Random(1).randbytes(MEBIBYTE)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        start = file.tell()
        for number in range(TENSORS):
            turned = block[number * 997 :] + block[: number * 997]
            for _ in range(tensor_bytes // MEBIBYTE):
                file.write(turned)
    return [start + number * tensor_bytes for number in range(TENSORS)]


class Driver:
    """Reads memory of the device with the driver's own call."""

    def __init__(self, ordinal: int) -> None:
        self._driver = ctypes.CDLL(bundle.driver_library())
        self._device = ctypes.c_int()
        context = ctypes.c_void_p()
        self._must("cuInit", 0)
        self._must("cuDeviceGet", ctypes.byref(self._device), ordinal)
        self._must("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._must("cuCtxSetCurrent", context)

    def _must(self, call: str, *arguments: Any) -> None:
        code = getattr(self._driver, call)(*arguments)
        if code != 0:
            raise bundle.PartError(f"{call}: the driver says {code}")

    def read(self, address: int, size: int) -> bytes:
        """Copies bytes of the device."""
        room = ctypes.create_string_buffer(size)
        self._must("cuMemcpyDtoH_v2", room, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return room.raw

    def used_bytes(self) -> int:
        """Bytes of the device that any process uses."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value

    def copy_seconds(self, size: int, *, is_pinned: bool) -> float:
        """The time of a copy of that size to the device. All pages of the source exist."""
        to, pinned = ctypes.c_uint64(), ctypes.c_void_p()
        self._must("cuMemAlloc_v2", ctypes.byref(to), ctypes.c_size_t(size))
        plain = bytearray(b"1") * size if not is_pinned else bytearray()
        if is_pinned:
            self._must("cuMemAllocHost_v2", ctypes.byref(pinned), ctypes.c_size_t(size))
            ctypes.memset(pinned, 1, size)
        source = pinned if is_pinned else (ctypes.c_char * size).from_buffer(plain)
        start = time.perf_counter()
        self._must("cuMemcpyHtoD_v2", to, source, ctypes.c_size_t(size))
        seconds = time.perf_counter() - start
        self._must("cuMemFree_v2", to)
        if is_pinned:
            self._must("cuMemFreeHost", pinned)
        return seconds

    def close(self) -> None:
        """Releases the context."""
        self._must("cuCtxSetCurrent", None)
        self._must("cuDevicePrimaryCtxRelease_v2", self._device)


class Ours:
    """Loads with the library, into a pool of the device."""

    def __init__(self, path: pathlib.Path) -> None:
        import ferrum_mem

        name = os.environ.get("DEVICE") or "cuda:0"
        self.driver = Driver(int(name.rpartition(":")[2]))
        self.device = ferrum_mem.Device(name)
        self.pool = ferrum_mem.Pool(self.device)
        self.source = ferrum_mem.Weights(path)

    def load(self) -> tuple[float, Any]:
        """Loads the file. Returns the seconds and the tensors."""
        start = time.perf_counter()
        tensors = self.source.load(self.pool)
        return time.perf_counter() - start, tensors

    def check(self, tensors: Any, path: pathlib.Path, offsets: list[int]) -> None:
        """Compares both ends of each tensor, and all of the last tensor, with the file."""
        with path.open("rb") as file:
            for number, offset in enumerate(offsets):
                info = tensors[f"layers.{number}.weight"].info
                pieces, size = [0, info.size_bytes - LOOK], LOOK
                if number == len(offsets) - 1:
                    pieces, size = [0], info.size_bytes
                for piece in pieces:
                    file.seek(offset + piece)
                    if self.driver.read(info.address + piece, size) != file.read(size):
                        raise bundle.PartError(f"tensor {number} has other bytes than the file")

    def close(self) -> None:
        """Closes everything without force, so a leak is an error."""
        self.source.close()
        self.pool.close()
        self.device.close()
        self.driver.close()


def peer(path: str) -> int:
    """Loads the file with safetensors for each line of input, and prints the seconds."""
    try:
        import safetensors
        import safetensors.torch
        import torch

        torch.zeros(1, device="cuda")
    except Exception as absent:  # any reason of a framework is a result
        print(absent, file=sys.stderr)
        return framework.ABSENT
    print(json.dumps({"version": safetensors.__version__}), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        tensors = safetensors.torch.load_file(path, device="cuda:0")
        torch.cuda.synchronize()
        print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)
        del tensors
    return 0


@contextlib.contextmanager
def running_peer(path: pathlib.Path) -> Iterator[tuple[subprocess.Popen[str], str | None]]:
    """Starts the peer. Gives the process and the version, or None if the peer is not available."""
    command = [sys.executable, __file__, "peer", str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=bundle.environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        first = process.stdout.readline()
        try:
            yield process, json.loads(first)["version"] if first else None
        finally:
            process.stdin.close()


def seconds_of(process: subprocess.Popen[str]) -> float:
    """One load of the peer."""
    assert process.stdin is not None
    assert process.stdout is not None
    print("load", file=process.stdin, flush=True)
    return float(json.loads(process.stdout.readline())["seconds"])


def measure(path: pathlib.Path, tensor_bytes: int) -> dict[str, Any]:
    """Checks the bytes of a first load, and measures the rounds. Both warm up once."""
    offsets = write_file(path, tensor_bytes)
    total = tensor_bytes * TENSORS
    ours = Ours(path)
    _, tensors = ours.load()
    ours.check(tensors, path, offsets)
    tensors.close()
    bundle.say(f"ok - {TENSORS} tensors of {tensor_bytes >> 20} MiB have the bytes of the file")
    values: list[float] = []
    others: list[float] = []
    with running_peer(path) as (process, version):
        if version is not None:
            seconds_of(process)
        for _ in range(ROUNDS):
            seconds, tensors = ours.load()
            tensors.close()
            values.append(total / seconds / 1e9)
            if version is not None:
                others.append(total / seconds_of(process) / 1e9)
    ours.close()
    found: dict[str, Any] = {
        "bytes": total,
        "tensors": TENSORS,
        "load_gbps": bundle.spread(values),
        "safetensors": None,
    }
    if others:
        ratios = [a / b for a, b in zip(values, others, strict=True)]
        found["safetensors"] = {
            "version": version,
            "load_gbps": bundle.spread(others),
            "ours_by_it": bundle.spread(ratios),
        }
    return found


def main() -> int:
    """Loads, compares and measures, and writes the results."""
    if sys.argv[1:2] == ["peer"]:
        return peer(sys.argv[2])
    try:
        driver = bundle.describe()
        part = driver["devices"][0]["bytes"] // 8
        tensor_bytes = 1 * MEBIBYTE if driver["simulated"] else 64 * MEBIBYTE
        if tensor_bytes * TENSORS > part:
            raise bundle.PartError(f"the device has {part * 8} bytes, too few for this part")
        os.environ.update(bundle.environment())
        sys.path.insert(0, os.environ["PYTHONPATH"])
        with tempfile.TemporaryDirectory() as folder:
            found = measure(pathlib.Path(folder) / "model.safetensors", tensor_bytes)
        wake_bytes = tensor_bytes * TENSORS if driver["simulated"] else min(part, 1 << 30)
        command: list[str | pathlib.Path] = [
            bundle.BUNDLE / "bin" / "bench_memory",
            "wake",
            str(wake_bytes),
            "0",
        ]
        wake = bundle.last_json(bundle.run(command, 60).stdout)
        found["pinned_copy_gbps"] = bundle.spread(wake["pinned_copy_gbps"])
        bundle.write_result("weights", driver, found)
    except bundle.PartError as error:
        return bundle.fail(str(error))
    other = found["safetensors"]
    bundle.say(f"{found['load_gbps']['median']:.2f} GB/s, " + (
        f"{other['ours_by_it']['median']:.2f} times safetensors" if other else "without a peer"
    ))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
