"""Python values as the fixed-width numbers of the C ABI.

ctypes silently truncates a number that does not fit. So every number of a call or a struct
is checked here first.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable
from typing import SupportsIndex

from . import _abi
from .errors import FerrumOverflowError, InvalidAlignmentError, InvalidArgumentError

NS_PER_SECOND = 1_000_000_000


def u64(name: str, value: SupportsIndex) -> int:
    return _integer(name, value, 0, 2**64 - 1)


def u32(name: str, value: SupportsIndex) -> int:
    return _integer(name, value, 0, 2**32 - 1)


def alignment(value: SupportsIndex | None) -> int:
    """An alignment for a request. None becomes 0, the pool's alignment; 0 is an error."""
    if value is None:
        return 0
    number = u64("alignment_bytes", value)
    if number == 0:
        raise InvalidAlignmentError(
            _abi.FERRUM_ERROR_INVALID_ALIGNMENT, "alignment_bytes 0 is not a power of two"
        )
    return number


def i32(name: str, value: SupportsIndex) -> int:
    return _integer(name, value, -(2**31), 2**31 - 1)


def wrong_class(name: str, wanted: str, value: object) -> TypeError:
    """The error of an argument of a wrong class.

    Args:
        name: the parameter.
        wanted: what it is to be, such as "an integer".
    """
    given = "None" if value is None else type(value).__name__
    return TypeError(f"{name} must be {wanted}, not {given}")


def i64(name: str, value: SupportsIndex) -> int:
    return _integer(name, value, -(2**63), 2**63 - 1)


def shape_of(name: str, shape: int | Iterable[int]) -> tuple[int, ...]:
    """The lengths of a shape, which may be one number."""
    if isinstance(shape, (str, bytes)):
        raise wrong_class(name, "an integer or a list of integers", shape)
    if isinstance(shape, Iterable):
        return tuple(i64(name, each) for each in shape)
    return (i64(name, shape),)


def _integer(name: str, value: SupportsIndex, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_class(name, "an integer", value) from None
    if number < 0 <= least:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"{name} {number} is negative"
        )
    if not least <= number <= most:
        raise FerrumOverflowError(
            _abi.FERRUM_ERROR_OVERFLOW, f"{name} {number} is not from {least} to {most}"
        )
    return number


def real(name: str, value: float) -> float:
    """A number. Text is no number."""
    try:
        math.isnan(value)
    except TypeError:
        raise wrong_class(name, "a number", value) from None
    return float(value)


def wait_limit_ns(name: str, seconds: float | None) -> int:
    """The longest time of a wait as nanoseconds. None becomes FERRUM_WAIT_FOREVER."""
    return _abi.FERRUM_WAIT_FOREVER if seconds is None else nanoseconds(name, seconds)


def nanoseconds(name: str, seconds: float) -> int:
    """Seconds as nanoseconds. Infinity becomes FERRUM_WAIT_FOREVER."""
    if math.isnan(real(name, seconds)) or seconds < 0:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"{name} {seconds} is not a valid time"
        )
    if math.isinf(seconds):
        return _abi.FERRUM_WAIT_FOREVER
    return min(math.ceil(seconds * NS_PER_SECOND), _abi.FERRUM_WAIT_FOREVER)


def lifetime(name: str, seconds: float | None) -> int:
    """A lifetime as nanoseconds. None becomes 0, which means unknown."""
    return 0 if seconds is None else nanoseconds(name, seconds)


# The units of size_text, with the least size that is shown in each.
_UNITS = (("TiB", 40, 10 << 40), ("GiB", 30, 1 << 30), ("MiB", 20, 1 << 20), ("KiB", 10, 64 << 10))


@functools.lru_cache(maxsize=256)
def size_text(size_bytes: int) -> str:
    """A size for messages, as in those of the library: in bytes below 64 KiB, else in a larger
    unit. The exact number of bytes follows unless the size is a whole number of units.
    """
    exact = "1 byte" if size_bytes == 1 else f"{size_bytes} bytes"
    for unit, bits, least in _UNITS:
        if size_bytes >= least:
            if size_bytes % (1 << bits) == 0:
                return f"{size_bytes >> bits} {unit}"
            return f"{size_bytes / (1 << bits):.2f} {unit} ({exact})"
    return exact
