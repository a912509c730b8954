"""The allocator for PyTorch and CuPy, over the simulated driver, with substitutes for both.

A substitute uses the allocator like its framework: it loads the library by its path and
calls the functions by their addresses.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .conftest import ROOT, program_of

BUILD = ROOT / "build"
SIMULATOR = BUILD / "test/simcuda/12090/libcuda.so.1"

COMMON = """
import ctypes, gc, os, sys, types, weakref
import ferrum_mem as fm
import ferrum_mem.frameworks as frameworks

assert not {"torch", "cupy"} & set(sys.modules)
POINTER, SIZE, INT = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int
"""

# The part of PyTorch that the tests use; this version lacks the hooks in LACKS.
TORCH_STAND_IN = (
    COMMON
    + """
HOOKS = ["set_record_stream_fn", "set_reset_fn", "set_begin_allocate_to_pool",
         "set_end_allocate_to_pool_fn", "set_release_pool"]

class Hooks:
    def __init__(self):
        self.given = {}

    def __getattr__(self, name):
        if name not in HOOKS[:LACKS]:
            raise AttributeError(name)
        return lambda address: self.given.__setitem__(name, address)

class CUDAPluggableAllocator:
    def __init__(self, path, alloc, free):
        library = ctypes.CDLL(path)
        self.alloc = getattr(library, alloc)
        self.alloc.restype, self.alloc.argtypes = POINTER, [SIZE, INT, POINTER]
        self.free = getattr(library, free)
        self.free.restype, self.free.argtypes = None, [POINTER, SIZE, INT, POINTER]
        self.hooks = Hooks()

    def allocator(self):
        return self.hooks

class Tensor:
    def __init__(self, size, dtype, device):
        self.size, self.device = size, int(device.removeprefix("cuda:"))
        self.address = current[-1].alloc(size, self.device, None)

    def data_ptr(self):
        return self.address

    def __del__(self):
        current[-1].free(self.address, self.size, self.device, None)

current = []
torch = sys.modules["torch"] = types.ModuleType("torch")
torch.uint8, torch.empty = "uint8", Tensor
torch.cuda = types.SimpleNamespace(memory=types.SimpleNamespace(
    CUDAPluggableAllocator=CUDAPluggableAllocator, change_current_allocator=current.append))
"""
)

TORCH = (
    TORCH_STAND_IN
    + """
missing = frameworks.use_in_torch()
(made,) = current
assert list(missing) == HOOKS[LACKS:], missing
assert list(made.hooks.given) == HOOKS[:LACKS]
memory = made.alloc(8 << 20, 1, None)
with fm.Device("cuda:1") as device:
    assert device.statistics().requested.current == 8 << 20
    assert device.owner_of(memory).size_bytes == 8 << 20
    made.free(memory, 8 << 20, 1, None)
    assert device.statistics().requested.current == 0
    device.synchronize()
    reset = ctypes.CFUNCTYPE(None)(made.hooks.given["set_reset_fn"])
    reset()
assert frameworks.trim(1) == 0
"""
)

CUPY = (
    COMMON
    + """
class CFunctionAllocator:
    def __init__(self, stream, malloc, free, owner):
        self.stream, self.owner = stream, owner
        self.do_malloc = ctypes.CFUNCTYPE(POINTER, POINTER, ctypes.c_size_t, INT)(malloc)
        self.do_free = ctypes.CFUNCTYPE(None, POINTER, POINTER, INT)(free)

    def malloc(self, size):
        return self.do_malloc(self.stream, size, 0)

chosen = []
cupy = sys.modules["cupy"] = types.ModuleType("cupy")
cupy.cuda = types.SimpleNamespace(
    CFunctionAllocator=CFunctionAllocator, set_allocator=chosen.append)

frameworks.use_in_cupy()
(malloc,) = chosen
memory = malloc(1000)
malloc.__self__.do_free(0, memory, 0)

with fm.Device("cuda:0") as device:
    assert device.statistics().requested.current == 0
    device.synchronize()
assert frameworks.trim() > 0

driver = ctypes.CDLL(os.environ["FERRUM_CUDA_LIBRARY"])

class Stream:
    def __init__(self):
        context, made = POINTER(), POINTER()
        assert driver.cuInit(0) == 0
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert driver.cuCtxSetCurrent(context) == 0
        assert driver.cuStreamCreate(ctypes.byref(made), 1) == 0
        self.ptr = made.value

with fm.Device("cuda:0") as device:
    stream = Stream()
    number, seen = stream.ptr, weakref.ref(stream)
    hook = frameworks.cupy_allocator(stream)
    assert hook.stream == number
    memory = hook.malloc(4096)
    del stream, hook
    gc.collect()
    assert seen() is not None, "memory of the stream is left"
    frameworks.cupy_allocator(number).do_free(number, memory, 0)
    assert frameworks.cupy_allocator(number).stream == number
    for wrong in (None, "7", 1.5, object()):
        try:
            frameworks.cupy_allocator(wrong)
        except TypeError as problem:
            assert "stream" in str(problem), problem
        else:
            raise AssertionError(wrong)
    assert device.statistics().requested.current == 0
"""
)

LEFT_OUT = """
import ferrum_mem.frameworks as frameworks
print(frameworks.allocator_path())
"""


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # The pools last until the process ends, so the simulator must not list leaks.
    own = {"FERRUM_CUDA_LIBRARY": str(SIMULATOR), "SIMCUDA_LEAKS": "", **variables}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env={**os.environ, **own}, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(autouse=True)
def _built():
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    if not (BUILD / "lib/libferrum_mem_allocator.so").exists():
        pytest.skip("the allocator is not built (make build, where there is a C++ compiler)")


@pytest.mark.parametrize("lacks", [2, 5])
def test_pytorch_allocates_with_the_pools(lacks):
    """Also with a version of it that lacks the hooks for graphs."""
    done = run(TORCH.replace("LACKS", str(lacks)))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_program_of_the_page_on_choosing():
    program = program_of("choosing.md", "A framework plug-in")
    done = run(TORCH_STAND_IN.replace("LACKS", "5") + program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("returned to the device: ")


def test_cupy_allocates_with_the_pools():
    done = run(CUPY)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_missing_framework_raises_import_error(name):
    hidden = f"import sys; sys.modules[{name!r}] = None"
    done = run(f"{hidden}\nimport ferrum_mem.frameworks as frameworks\nframeworks.use_in_{name}()")
    assert done.returncode == 1
    assert f"import of {name} halted" in done.stderr


def test_allocator_path(tmp_path):
    """Beside the library, also if that is a link into another folder; otherwise an error."""
    library = BUILD / "lib/libferrum_mem.so"
    (tmp_path / "libferrum_mem.so").symlink_to(library.resolve())
    linked = run(LEFT_OUT, FERRUM_MEM_LIBRARY=str(tmp_path / "libferrum_mem.so"))
    assert linked.stdout.strip() == str(BUILD / "lib/libferrum_mem_allocator.so"), linked.stderr
    (tmp_path / "libferrum_mem.so").unlink()
    (tmp_path / "libferrum_mem.so").write_bytes(library.read_bytes())
    alone = run(LEFT_OUT, FERRUM_MEM_LIBRARY=str(tmp_path / "libferrum_mem.so"))
    assert alone.returncode == 1
    assert f"libferrum_mem_allocator.so is not in {tmp_path};" in alone.stderr


def test_trim_reports_its_errors():
    program = """
import ferrum_mem as fm
import ferrum_mem.frameworks as frameworks
for ordinal in (-1, 64, 1 << 32):
    try:
        frameworks.trim(ordinal)
    except fm.InvalidArgumentError as error:
        assert f"ordinal {ordinal}" in str(error)
    else:
        raise AssertionError(ordinal)
try:
    frameworks.trim(2)
except fm.DeviceNotFoundError as error:
    print(error.message)
"""
    done = run(program)
    assert "there are 2 CUDA devices" in done.stdout, done.stderr
