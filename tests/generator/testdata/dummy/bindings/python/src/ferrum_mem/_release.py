"""Callables that the library calls when it releases an object of the caller."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from . import _abi

# Callables that the library holds, by the user_data of their release callback.
_held: dict[int, Callable[[], object]] = {}
_keys = itertools.count(1)


def _let_go(key: int) -> None:
    _held.pop(key)()


_call = _abi.ferrum_release_fn(_let_go)


def releasing(release: Callable[[], object], call: Callable[[Any, int], int]) -> int:
    """Makes a call that takes a release callback, and returns its status. Keeps the callable
    until the library calls it. If the call fails, the callable is dropped.
    """
    key = next(_keys)
    _held[key] = release
    status = call(_call, key)
    if status < 0:
        del _held[key]
    return status
