"""What PyTorch and CuPy are told to allocate with, in the processes of the parts."""

from __future__ import annotations

import ctypes
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bundle

ALLOCATOR = bundle.BUNDLE / "lib" / "libferrum_mem_allocator.so"
# What a part ends with where its framework is not installed.
ABSENT = 77


def library() -> ctypes.CDLL:
    """The allocator's library."""
    found = ctypes.CDLL(str(bundle.need(ALLOCATOR)))
    found.ferrum_allocator_trim.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_uint64)]
    return found


def address_of(function: Any) -> int:
    """A C function as a number."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    if address is None:
        raise bundle.PartError("a function of the allocator is not there")
    return address


def empty_cache(device: Any, at_most_bytes: int, ordinal: int = 0) -> None:
    """Gives back what the allocator's pool holds and nothing uses, and says if it holds more than
    so much after that. What its own thread gives back just then is waited for."""
    released = ctypes.c_uint64()
    end = time.monotonic() + 20
    while True:
        status = library().ferrum_allocator_trim(ordinal, ctypes.byref(released))
        if status != 0:
            raise bundle.PartError(f"ferrum_allocator_trim: status {status}")
        held = device.statistics().reserved.current
        if held <= at_most_bytes:
            return
        if time.monotonic() > end:
            raise bundle.PartError(f"{held} bytes are held after emptying, not {at_most_bytes}")


def use_in_torch(torch: Any) -> list[str]:
    """Makes PyTorch allocate with the pools, before it has used a device. Returns the hooks that
    this version of it does not have."""
    made = torch.cuda.memory.CUDAPluggableAllocator(
        str(ALLOCATOR), "ferrum_torch_alloc", "ferrum_torch_free"
    )
    ours, hooks = library(), made.allocator()
    missing = []
    for setter, name in (
        ("set_record_stream_fn", "ferrum_torch_record_stream"),
        ("set_reset_fn", "ferrum_torch_reset"),
        ("set_begin_allocate_to_pool", "ferrum_torch_begin_graph"),
        ("set_end_allocate_to_pool_fn", "ferrum_torch_end_graph"),
        ("set_release_pool", "ferrum_torch_release_graphs"),
    ):
        if hasattr(hooks, setter):
            getattr(hooks, setter)(address_of(getattr(ours, name)))
        else:
            missing.append(setter)
    torch.cuda.memory.change_current_allocator(made)
    return missing


def use_in_cupy(cupy: Any) -> None:
    """Makes CuPy allocate with the pools, for its default stream."""
    ours = library()
    made = cupy.cuda.CFunctionAllocator(
        0, address_of(ours.ferrum_cupy_malloc), address_of(ours.ferrum_cupy_free), ours
    )
    cupy.cuda.set_allocator(made.malloc)


def run_cases(cases: dict[str, Callable[[], None]]) -> int:
    """Runs one case, named on the command line, and says what came of it."""
    name = sys.argv[2]
    try:
        cases[name]()
    except Exception as problem:  # what a framework raises is the result
        print(f"not ok - {name}: {type(problem).__name__}: {problem}", flush=True)
        return 1
    print(f"ok - {name}", flush=True)
    return 0


def run_part(part: str, script: str, names: list[str], versions: str) -> int:
    """Runs each case in a process of its own, for an allocator is chosen once in one, and writes
    what came of them. versions is a program that prints the framework's version."""
    clock = bundle.Clock()
    try:
        driver = bundle.describe()
        asked = bundle.run([sys.executable, "-c", versions], clock.left(120))
        if asked.returncode != 0:
            lines = asked.stderr.strip().splitlines() or ["no reason given"]
            bundle.say(f"skip - {part}: {lines[-1]}")
            return ABSENT
        found = {"passed": [], "failed": []}
        for name in names:
            done = bundle.run([sys.executable, script, "case", name], clock.left(120))
            bundle.say(done.stdout.strip() or f"not ok - {name}: status {done.returncode}")
            good = done.returncode == 0 and f"ok - {name}" in done.stdout.splitlines()
            found["passed" if good else "failed"].append(name)
            if not good:
                bundle.say(done.stderr[-4000:])
        bundle.write_result(part, driver, {"version": asked.stdout.strip(), **found})
    except bundle.PartError as error:
        return bundle.fail(str(error))
    failed = len(found["failed"])
    return bundle.fail(f"{failed} cases failed") if failed else 0
