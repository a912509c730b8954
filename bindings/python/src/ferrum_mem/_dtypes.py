"""The types of elements, as NumPy, DLPack and other interfaces name them."""

from __future__ import annotations

import importlib
from typing import Any

from . import _abi
from ._enums import DType
from .errors import InvalidArgumentError, UnsupportedError

# The types of NumPy; those of the package ml_dtypes are in a table of their own.
_NUMPY = {
    DType.F32: "float32",
    DType.F16: "float16",
    DType.F64: "float64",
    DType.I8: "int8",
    DType.U8: "uint8",
    DType.I16: "int16",
    DType.I32: "int32",
    DType.I64: "int64",
    DType.U16: "uint16",
    DType.U32: "uint32",
    DType.U64: "uint64",
    DType.BOOL: "bool",
    DType.C64: "complex64",
}
_ML_DTYPES = {
    DType.BF16: "bfloat16",
    DType.F8: "float8_e4m3fn",
    DType.F8_E5M2: "float8_e5m2",
    DType.F8_E8M0: "float8_e8m0fnu",
    DType.F8_E4M3FNUZ: "float8_e4m3fnuz",
    DType.F8_E5M2FNUZ: "float8_e5m2fnuz",
}
_OF_NAME = {name: dtype for dtype, name in {**_NUMPY, **_ML_DTYPES}.items()}
_OF_NAME["f8_e4m3"] = DType.F8

# DLPack's code and number of bits of a type.
DLPACK = {
    DType.I8: (0, 8),
    DType.I16: (0, 16),
    DType.I32: (0, 32),
    DType.I64: (0, 64),
    DType.U8: (1, 8),
    DType.U16: (1, 16),
    DType.U32: (1, 32),
    DType.U64: (1, 64),
    DType.F16: (2, 16),
    DType.F32: (2, 32),
    DType.F64: (2, 64),
    DType.BF16: (4, 16),
    DType.C64: (5, 64),
    DType.BOOL: (6, 8),
}
# The letters of the CUDA array interface, by DLPack's code. It has no letter for bf16.
LETTERS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}

# The letters of the buffer protocol.
BUFFER = {
    DType.F32: "f",
    DType.F64: "d",
    DType.I8: "b",
    DType.U8: "B",
    DType.I16: "h",
    DType.U16: "H",
    DType.I32: "i",
    DType.U32: "I",
    DType.I64: "q",
    DType.U64: "Q",
    DType.BOOL: "?",
}


def numpy_dtype(dtype: DType) -> Any:
    """The type of NumPy for a type of elements.

    Raises:
        UnsupportedError: NumPy has no such type, or the package ml_dtypes is not installed.
    """
    import numpy

    if dtype in _NUMPY:
        return numpy.dtype(_NUMPY[dtype])
    if dtype in _ML_DTYPES:
        try:
            ml_dtypes: Any = importlib.import_module("ml_dtypes")
        except ImportError:
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED,
                f"arrays of {dtype.name.lower()} need the package ml_dtypes",
            ) from None
        return numpy.dtype(getattr(ml_dtypes, _ML_DTYPES[dtype]))
    raise UnsupportedError(
        _abi.FERRUM_ERROR_UNSUPPORTED,
        f"NumPy has no type for {dtype.name.lower()}: use view(), which has the bytes",
    )


def dtype_of(dtype: Any) -> DType:
    """A type of elements from a DType, its name such as "f32" or "f8_e4m3", or a type of NumPy
    such as "float32" or numpy.float32.

    Raises:
        InvalidArgumentError: there is no such type.
    """
    if isinstance(dtype, DType):
        return dtype
    found: DType | None
    if isinstance(dtype, str):
        found = DType.__members__.get(dtype.upper(), _OF_NAME.get(dtype))
    else:
        # A dtype of NumPy has a name; a class of its numbers has the name of its type.
        found = _OF_NAME.get(str(getattr(dtype, "name", None) or getattr(dtype, "__name__", None)))
    if found is None:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"dtype {dtype!r} is not known"
        )
    return found


def name_of(dtype: DType) -> str:
    """The name of a type in JSON."""
    return "f8_e4m3" if dtype is DType.F8 else dtype.name.lower()
