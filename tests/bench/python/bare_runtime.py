"""ONNX Runtime through its own C interface: the peer of the engine that uses it.

The functions of struct OrtApi are called by their places, which never change.
"""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

Array = Any
API_VERSION = 17
# The places of functions.
ERROR_MESSAGE, CREATE_ENVIRONMENT, CREATE_SESSION, RUN, CREATE_OPTIONS = 2, 3, 7, 9, 10
DISABLE_ARENA, SET_OPTIMIZATION, SET_THREADS, CREATE_TENSOR = 19, 23, 24, 49
CREATE_MEMORY_INFO, RELEASE_VALUE, RELEASE_SESSION, ADD_CONFIG = 69, 96, 95, 130
APPEND_CUDA, CREATE_CUDA_OPTIONS, UPDATE_CUDA_OPTIONS = 204, 205, 206
FATAL, EXTENDED = 4, 2
KINDS = {"float32": 1, "int64": 7}


def library_path() -> str:
    """The library of the installed package."""
    found = importlib.util.find_spec("onnxruntime")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("onnxruntime is not installed")
    (path,) = Path(found.submodule_search_locations[0], "capi").glob("libonnxruntime.so*")
    return str(path)


class Base(ctypes.Structure):
    """OrtApiBase."""

    _fields_ = (
        ("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)),
        ("version", ctypes.CFUNCTYPE(ctypes.c_char_p)),
    )


class Runtime:
    """The library, with an environment. path is its file; None: that of the installed package."""

    def __init__(self, path: str | None = None) -> None:
        library = ctypes.CDLL(path or library_path())
        library.OrtGetApiBase.restype = ctypes.POINTER(Base)
        base = library.OrtGetApiBase().contents
        self.version = base.version().decode()
        self.table = ctypes.cast(base.get_api(API_VERSION), ctypes.POINTER(ctypes.c_void_p))
        self.environment, self.memory = ctypes.c_void_p(), ctypes.c_void_p()
        self.call(CREATE_ENVIRONMENT, FATAL, b"bench", ctypes.byref(self.environment))
        self.call(CREATE_MEMORY_INFO, 0, 0, ctypes.byref(self.memory))

    def function(self, place: int, result: Any = ctypes.c_void_p) -> Any:
        """A function of the table."""
        return ctypes.CFUNCTYPE(result)(self.table[place])

    def call(self, place: int, *arguments: Any) -> None:
        """Calls a function that returns a status."""
        words = [ctypes.c_size_t(each) if isinstance(each, int) else each for each in arguments]
        status = self.function(place)(*words)
        if status:
            text = self.function(ERROR_MESSAGE, ctypes.c_char_p)(ctypes.c_void_p(status))
            raise SystemExit(f"ONNX Runtime: {text.decode()}")

    def tensor(self, array: Array) -> ctypes.c_void_p:
        """An OrtValue over an array."""
        value, shape = ctypes.c_void_p(), (ctypes.c_int64 * array.ndim)(*array.shape)
        self.call(
            CREATE_TENSOR, self.memory, ctypes.c_void_p(array.ctypes.data), array.nbytes, shape,
            array.ndim, KINDS[array.dtype.name], ctypes.byref(value),
        )  # fmt: skip
        return value


class Session:
    """A session of a file, on one thread that does not spin, without prepacking.

    Args:
        runtime: the library.
        path: the file.
        keeps_memory: whether it has its memory arena.
    """

    def __init__(self, runtime: Runtime, path: str, keeps_memory: bool) -> None:
        self.runtime, self.handle = runtime, ctypes.c_void_p()
        options = ctypes.c_void_p()
        runtime.call(CREATE_OPTIONS, ctypes.byref(options))
        runtime.call(SET_THREADS, options, 1)
        runtime.call(SET_OPTIMIZATION, options, EXTENDED)
        if not keeps_memory:
            runtime.call(DISABLE_ARENA, options)
        for key, value in (
            (b"session.disable_prepacking", b"1"), (b"session.intra_op.allow_spinning", b"0"),
        ):  # fmt: skip
            runtime.call(ADD_CONFIG, options, key, value)
        runtime.call(
            CREATE_SESSION, runtime.environment, path.encode(), options, ctypes.byref(self.handle)
        )
        self.given: dict[str, Array] = {}

    def bind(self, inputs: dict[str, Array], out: Array) -> None:
        """Takes the arrays of the runs that follow. They stay the caller's."""
        self.given = {**inputs, "last_hidden_state": out}
        values = [self.runtime.tensor(each) for each in self.given.values()]
        count = len(inputs)
        self.names = (ctypes.c_char_p * count)(*(name.encode() for name in inputs))
        self.inputs = (ctypes.c_void_p * count)(*values[:-1])
        self.wanted = (ctypes.c_char_p * 1)(b"last_hidden_state")
        self.outputs = (ctypes.c_void_p * 1)(values[-1])

    def __call__(self) -> None:
        """Runs the graph."""
        self.runtime.call(
            RUN, self.handle, ctypes.c_void_p(), self.names, self.inputs, len(self.inputs),
            self.wanted, 1, self.outputs,
        )  # fmt: skip

    @property
    def out(self) -> Array:
        """The last result."""
        return np.asarray(self.given["last_hidden_state"])
