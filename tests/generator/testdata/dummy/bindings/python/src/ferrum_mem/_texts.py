"""Lists of texts in the form that the library takes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

from ._native import encode


def texts(name: str, given: Iterable[str]) -> tuple[Any, int]:
    """Returns an array of the encoded texts, and its length. The array keeps the texts alive."""
    coded = [encode(f"{name}[{place}]", text) for place, text in enumerate(given)]
    return (ctypes.c_char_p * max(len(coded), 1))(*coded), len(coded)
