"""Encodes texts for fields of a fixed size."""

from __future__ import annotations

from . import _abi
from ._native import encode
from .errors import InvalidArgumentError


def fixed_text(name: str, text: str, size_bytes: int) -> bytes:
    """Encodes a text for a field of size_bytes, which include the closing NUL."""
    coded = encode(name, text) or b""
    if len(coded) >= size_bytes:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"{name} is longer than {size_bytes - 1} bytes"
        )
    return coded
