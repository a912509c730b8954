"""Lists of texts, as the library takes them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

from ._native import encode


def texts(name: str, given: Iterable[str]) -> tuple[Any, int]:
    """An array of the texts, which it keeps, and how many there are."""
    coded = [encode(f"{name}[{place}]", text) for place, text in enumerate(given)]
    return (ctypes.c_char_p * max(len(coded), 1))(*coded), len(coded)
