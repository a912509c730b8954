"""DLPack and the CUDA array interface: without a copy, kept alive, and rejected after a free."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

import ferrum_mem as fm
import pytest

numpy = pytest.importorskip("numpy")
SIMULATOR = Path(__file__).resolve().parents[3] / "build/test/simcuda/12090/libcuda.so.1"


@pytest.fixture(params=["memory", "relocatable memory", "pool block", "range"])
def block(request, device):
    if request.param == "pool block":
        with fm.Pool(device) as pool, pool.alloc(64) as made:
            yield made
    elif request.param == "range":
        config = fm.VirtualPoolConfig(capacity_bytes=1 << 20)
        with fm.VirtualPool(device, config) as space, space.alloc(0, 64) as made:
            yield made
    else:
        relocatable = request.param.startswith("relocatable")
        with (
            fm.Manager(device) as manager,
            manager.alloc(64, relocatable=relocatable) as made,
        ):
            yield made


def test_an_array_is_the_memory_itself(block):
    array = numpy.from_dlpack(block)
    assert (array.dtype, array.shape) == (numpy.dtype("uint8"), (64,))
    block.view()[5] = 42
    assert array[5] == 42
    with pytest.raises(fm.ViewExistsError, match="1 view still uses it"):
        block.close()
    part = array[3:7]
    del array
    gc.collect()
    with pytest.raises(fm.ViewExistsError):
        block.close()
    assert part[2] == 42
    del part
    block.close()


def test_capsule_without_a_consumer_does_not_block_a_free(block):
    capsule = block.__dlpack__()
    with pytest.raises(fm.ViewExistsError):
        block.close()
    del capsule
    # Like a consumer that rejects the capsule.
    with pytest.raises(KeyError):
        raise_with(block.__dlpack__(max_version=(1, 0)))
    block.close()
    assert block.closed


def raise_with(capsule: object) -> None:
    raise KeyError(type(capsule).__name__)


def test_fields_of_the_capsule(block):
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(block.__dlpack__()) == b"dltensor"
    assert name(block.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert name(block.__dlpack__(max_version=(1, 1), copy=False)) == b"dltensor_versioned"
    assert block.__dlpack_device__() == (1, 0)
    for wrong in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError, match="can only be shared without a copy"):
            block.__dlpack__(**wrong)
    assert block.__dlpack__(dl_device=(1, 0), stream=-1) is not None


def test_freed_block_has_no_capsule(block):
    block.close()
    for look in (
        block.__dlpack__,
        block.__dlpack_device__,
        lambda: block.__cuda_array_interface__,
    ):
        with pytest.raises(fm.InvalidHandleError, match="closed"):
            look()


def test_a_host_device_has_no_cuda_array_interface(block):
    assert not hasattr(block, "__cuda_array_interface__")


def test_many_capsules_leak_nothing(block):
    for i in range(300):
        array = numpy.from_dlpack(block)
        assert array.nbytes == 64
        if i % 3:
            block.__dlpack__()
    del array
    block.close()


# Where no array package can read the memory: the fields that a consumer reads.
PROGRAM = """
import ctypes
import ferrum_mem as fm
from ferrum_mem import _dlpack

pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
with fm.Device("cuda:1") as device, fm.Pool(device) as pool, fm.Manager(device) as manager:
    for block in (pool.alloc(1000), manager.alloc(1000)):
        assert block.__dlpack_device__() == (2, 1)
        interface = block.__cuda_array_interface__
        assert interface["data"] == (block.address, False)
        assert (interface["shape"], interface["typestr"]) == ((1000,), "|u1")
        capsule = block.__dlpack__(stream=1)
        managed = _dlpack._Managed.from_address(pointer(capsule, b"dltensor"))
        rename(capsule, b"used_dltensor")
        tensor = managed.tensor
        assert (tensor.data, tensor.device_type, tensor.device_id) == (block.address, 2, 1)
        assert (tensor.ndim, tensor.shape[0], tensor.byte_offset) == (1, 1000, 0)
        assert (tensor.code, tensor.bits, tensor.lanes) == (1, 8, 1)
        try:
            block.close()
        except fm.ViewExistsError:
            pass
        else:
            raise AssertionError("an array looks into it")
        managed.deleter(ctypes.addressof(managed))
        block.close()
fm.shutdown()
"""


# Tensors have the types that the interface has; others are bytes.
TENSORS = """
import json, struct, sys
import ferrum_mem as fm

kinds = {"F32": 4, "I64": 8, "BOOL": 1, "U8": 1, "F16": 2, "C64": 8, "BF16": 2}
header, at = {}, 0
for name, size in kinds.items():
    header[name] = {"dtype": name, "shape": [3, 2], "data_offsets": [at, at + 6 * size]}
    at += 6 * size
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + bytes(at))
wanted = {"F32": "<f4", "I64": "<i8", "BOOL": "|b1", "U8": "|u1", "F16": "<f2", "C64": "<c8"}
with (
    fm.Device("cuda:1") as device,
    fm.Pool(device) as pool,
    fm.Weights(sys.argv[1]) as source,
    source.load(pool) as tensors,
):
    for name, tensor in tensors.items():
        assert tensor.__dlpack_device__() == (2, 1)
        interface = tensor.__cuda_array_interface__
        assert interface["data"] == (tensor.info.address, False)
        assert interface["strides"] is None
        shown = interface["shape"], interface["typestr"]
        assert shown == (((3, 2), wanted[name]) if name in wanted else ((12,), "|u1")), shown
fm.shutdown()
"""


@pytest.mark.parametrize("program", [PROGRAM, TENSORS], ids=["blocks", "tensors"])
def test_over_the_simulated_driver(program, tmp_path):
    if not SIMULATOR.exists():
        pytest.skip("the simulated driver is not built (make simcuda)")
    environment = {**os.environ, "FERRUM_CUDA_LIBRARY": str(SIMULATOR)}
    command = [sys.executable, "-c", program, str(tmp_path / "model.safetensors")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
