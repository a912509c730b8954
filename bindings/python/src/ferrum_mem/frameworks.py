"""Pools of the library as the allocator of PyTorch and CuPy.

    import ferrum_mem.frameworks

    ferrum_mem.frameworks.use_in_torch()  # before PyTorch has used a device

Finds libferrum_mem_allocator.so beside the library, and registers it with the frameworks. A
framework is imported only by the function for it. There is one pool for each CUDA device,
created at its first use. The pool, and the memory that the frameworks hold from it, last
until the process ends.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

from . import _abi, _native
from ._loader import LibraryLoadError
from ._values import u64, wrong_class
from .errors import InvalidArgumentError

FILE_NAME = "libferrum_mem_allocator.so"

# The size of the table in allocator.cpp.
_DEVICES_MAX = 64

# The hooks that PyTorch calls besides allocate and free, by the name of their setter. Not
# every version of PyTorch has all of them.
_TORCH_HOOKS = {
    "set_record_stream_fn": "ferrum_torch_record_stream",
    "set_reset_fn": "ferrum_torch_reset",
    "set_begin_allocate_to_pool": "ferrum_torch_begin_graph",
    "set_end_allocate_to_pool_fn": "ferrum_torch_end_graph",
    "set_release_pool": "ferrum_torch_release_graphs",
}

# The streams of CuPy that memory may belong to, by their number.
_cupy_streams: dict[int, Any] = {}


class _Place(ctypes.Structure):
    """Dl_info of <dlfcn.h>."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _library_file() -> Path:
    """The file of the library that this process has loaded."""
    place = _Place()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Place)]
    address = _address_of(_native.functions().ferrum_abi_version)
    if dladdr(address, ctypes.byref(place)) == 0 or place.file is None:
        raise LibraryLoadError("ferrum_mem: the system does not report the path of the library")
    return Path(place.file.decode())


def _address_of(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def allocator_path() -> Path:
    """The file of the allocator, for frameworks that load it by its path.

    Raises:
        LibraryLoadError: it is not beside the library; the message lists the folders.
    """
    library = _library_file()
    folders = dict.fromkeys((library.parent.absolute(), library.resolve().parent))
    for folder in folders:
        if (folder / FILE_NAME).exists():
            return folder / FILE_NAME
    raise LibraryLoadError(
        f"ferrum_mem: {FILE_NAME} is not in {' or '.join(map(str, folders))}; `make build` builds "
        "it if there is a C++ compiler"
    )


@functools.cache
def _allocator() -> ctypes.CDLL:
    path = allocator_path()
    try:
        found = ctypes.CDLL(str(path))
    except OSError as problem:
        raise LibraryLoadError(
            f"ferrum_mem: cannot load {path}: {problem}", path=str(path)
        ) from problem
    found.ferrum_allocator_trim.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_uint64)]
    return found


def torch_allocator() -> tuple[Any, tuple[str, ...]]:
    """The allocator for PyTorch.

    Returns:
        A torch.cuda.memory.CUDAPluggableAllocator, not in use yet, and the hooks that this
        version of PyTorch lacks. Without them record_stream does not keep memory for
        other streams, or graphs have no memory of their own.
    """
    import torch

    made = torch.cuda.memory.CUDAPluggableAllocator(
        str(allocator_path()), "ferrum_torch_alloc", "ferrum_torch_free"
    )
    ours, hooks = _allocator(), made.allocator()
    missing = []
    for setter, name in _TORCH_HOOKS.items():
        if hasattr(hooks, setter):
            getattr(hooks, setter)(_address_of(getattr(ours, name)))
        else:
            missing.append(setter)
    return made, tuple(missing)


def use_in_torch() -> tuple[str, ...]:
    """Makes PyTorch allocate with the pools. Must be called before PyTorch uses a device.

    Returns:
        The hooks that this version of PyTorch lacks, as in torch_allocator.
    """
    import torch

    made, missing = torch_allocator()
    torch.cuda.memory.change_current_allocator(made)
    return missing


def cupy_allocator(stream: Any = 0) -> Any:
    """The allocator for CuPy.

    Args:
        stream: the cupy.cuda.Stream that CuPy works on while it allocates. CuPy does not pass it.
            An array may live longer than its stream, and the memory of the array is freed behind
            the work of that stream. So the stream is kept until the process ends. Its number,
            cupy.cuda.Stream.ptr, is possible, too: then the stream must exist until all memory is
            freed. 0: CuPy's default stream, which is one for each thread if
            CUPY_CUDA_PER_THREAD_DEFAULT_STREAM is set.

    Returns:
        A cupy.cuda.CFunctionAllocator. Pass its malloc to cupy.cuda.set_allocator.

    Raises:
        TypeError: stream is neither a stream nor a number.
    """
    import cupy

    ours = _allocator()
    number = getattr(stream, "ptr", stream)
    if not isinstance(number, int):
        raise wrong_class("stream", "a cupy.cuda.Stream or its number", stream)
    if number is not stream:
        _cupy_streams[number] = stream
    return cupy.cuda.CFunctionAllocator(
        u64("stream", number),
        _address_of(ours.ferrum_cupy_malloc),
        _address_of(ours.ferrum_cupy_free),
        ours,
    )


def use_in_cupy() -> None:
    """Makes CuPy allocate with the pools, for its default stream."""
    import cupy

    cupy.cuda.set_allocator(cupy_allocator().malloc)


def trim(ordinal: int = 0) -> int:
    """Releases unused memory of the pool of a CUDA device.

    Returns:
        The number of released bytes.

    Raises:
        InvalidArgumentError: the ordinal is out of range.
        FerrumError: the device cannot be opened, as for Device("cuda:0").
    """
    if not 0 <= ordinal < _DEVICES_MAX:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT,
            f"ordinal {ordinal}: devices of frameworks are 0 to {_DEVICES_MAX - 1}",
        )
    released = ctypes.c_uint64()
    _native.check(_allocator().ferrum_allocator_trim(ordinal, ctypes.byref(released)))
    return released.value
