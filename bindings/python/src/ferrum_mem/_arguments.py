"""Checks of arguments that are not numbers.

Each error names the parameter, what is wanted and the class that was given. The handle of an
argument is read here, or in optional_handle() of streams: elsewhere, an object of another class
would raise an error about an internal name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _abi
from ._values import i32, wrong_class
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import enum

    from ._owned import Resource

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])


def object_of(name: str, value: Any, *kinds: type[T]) -> T:
    """An argument that is an object of one of the classes."""
    if not isinstance(value, kinds):
        raise wrong_class(name, _one_of(kinds), value)
    return value


def handle_of(name: str, value: Any, *kinds: type[Resource]) -> Any:
    """The handle of an argument, which is an open object of one of the classes.

    Raises:
        TypeError: it is of another class.
        InvalidHandleError: it has been closed.
    """
    if not isinstance(value, kinds):
        raise wrong_class(name, _one_of(kinds), value)
    return value._handle


def _one_of(kinds: tuple[type, ...]) -> str:
    # The generated base class of Stream is StreamCalls.
    names = [kind.__name__.removesuffix("Calls") for kind in kinds]
    return f"{_article(names[0])} {' or '.join(names)}"


def _article(word: str) -> str:
    return "an" if word[0] in "AEIO" else "a"


def record(name: str, value: Any, kind: str) -> Any:
    """A record of this package that has the class of this name. The name suffices, so that the
    class need not be imported.
    """
    package = __name__.partition(".")[0]
    if not any(
        base.__name__ == kind and base.__module__.partition(".")[0] == package
        for base in type(value).__mro__
    ):
        raise wrong_class(name, f"{_article(kind)} {kind}", value)
    return value


def choice(name: str, value: Any, kind: type[enum.IntEnum]) -> int:
    """A member of an enumeration, or its number. The library rejects unknown numbers."""
    if isinstance(value, kind):
        return int(value)
    if type(value) is not int:
        raise wrong_class(name, f"{_article(kind.__name__)} {kind.__name__}", value)
    return i32(name, value)


def callable_of(name: str, value: C) -> C:
    """A callable."""
    if not callable(value):
        raise wrong_class(name, "a callable", value)
    return value


def listed(name: str, value: Iterable[T], wanted: str) -> list[T]:
    """The elements of an iterable.

    Args:
        wanted: what it is to contain, for the message.
    """
    if isinstance(value, (str, bytes, bytearray, memoryview)) or not isinstance(value, Iterable):
        raise wrong_class(name, f"a list of {wanted}", value)
    return list(value)


def sequence(name: str, value: Sequence[T], wanted: str) -> Sequence[T]:
    """A list, a tuple or another sequence, and not an array or a tensor, whose rows are elements.

    Args:
        wanted: what it is to contain, for the message.
    """
    if isinstance(value, (str, bytes, bytearray, memoryview)) or not isinstance(value, Sequence):
        raise wrong_class(name, f"a list of {wanted}", value)
    return value


def mapping(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a mapping with text as keys."""
    if not isinstance(value, Mapping):
        raise wrong_class(name, "a mapping", value)
    for key in value:
        if not isinstance(key, str):
            raise wrong_class(f"a key of {name}", "a str", key)
    return dict(value)


def buffer_of(name: str, value: Any, *, is_written: bool = False) -> memoryview:
    """The contiguous buffer of an object.

    Args:
        is_written: the buffer must be writable.
    """
    try:
        view = memoryview(value)
    except TypeError:
        raise wrong_class(name, "bytes or an object with a buffer", value) from None
    if not view.c_contiguous:
        raise ValueError(f"{name} must have a contiguous buffer")
    if is_written and view.readonly:
        raise wrong_class(name, "a writable buffer", value)
    return view


def file_path(name: str, value: str | os.PathLike[str]) -> bytes:
    """The path of a file, for the library. It must not contain a NUL character."""
    try:
        encoded = os.fsencode(value)
    except TypeError:
        raise wrong_class(name, "a str or os.PathLike", value) from None
    if b"\0" in encoded:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"{name} {value!r} contains a NUL character"
        )
    return encoded


def fields(name: str, value: Any, count: int, wanted: str) -> tuple[Any, ...]:
    """The elements of a tuple of fixed length.

    Args:
        wanted: what they are, for the message.
    """
    try:
        found = tuple(value)
    except TypeError:
        raise wrong_class(name, wanted, value) from None
    if isinstance(value, (str, bytes)):
        raise wrong_class(name, wanted, value)
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} elements, but must be {wanted}")
    return found
