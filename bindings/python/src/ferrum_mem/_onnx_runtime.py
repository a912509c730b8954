"""The library of an installed onnxruntime package, for the backend of ONNX Runtime.

The library of ferrum_mem looks for ONNX Runtime by name. The system finds a library that the
process has loaded already by its name, wherever its file is. So this module loads the file of the
package before ferrum_mem asks.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from pathlib import Path

from . import _abi

VARIABLE = "FERRUM_ORT_LIBRARY"


@functools.cache
def hand_over() -> None:
    """Loads the library of an installed package once. FERRUM_ORT_LIBRARY comes first."""
    if os.environ.get(VARIABLE):
        return
    try:
        found = importlib.util.find_spec("onnxruntime")
    except (ImportError, ValueError):  # a module without a spec has its name
        return
    for folder in [] if found is None else found.submodule_search_locations or []:
        for path in sorted(Path(folder, "capi").glob("libonnxruntime.so*")):
            try:
                ctypes.CDLL(str(path))
            except OSError:
                continue  # ferrum_mem then reports what it finds by name
            return


def is_meant(backend: object) -> bool:
    """Whether a kind or a name of a backend is that of ONNX Runtime."""
    return backend in (_abi.FERRUM_COMPUTE_ONNX_RUNTIME, "onnx_runtime")
