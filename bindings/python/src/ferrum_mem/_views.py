"""Views of tensors: further tensors over the same memory, which move no element."""

from __future__ import annotations

import contextlib
import ctypes
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _abi, _native
from ._arrays import TypedArray
from ._values import i32, i64, shape_of
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self

Shape = int | Sequence[int]


def sides(name: str, shape: Shape) -> Any:
    """A shape as an argument: its array and its length."""
    lengths = shape_of(name, shape)
    return (ctypes.c_int64 * max(len(lengths), 1))(*lengths), len(lengths)


def _spread(name: str, given: tuple[Shape, ...]) -> tuple[int, ...]:
    """The numbers of f(2, 3), which may be passed as f((2, 3)) too."""
    return shape_of(name, given[0] if len(given) == 1 else given)  # type: ignore[arg-type]


class Viewed(TypedArray):
    """The views of a tensor."""

    def _view(self, call: Callable[[Any], int]) -> Self:
        """The object of the tensor that a function of the library makes."""
        raise NotImplementedError

    def narrow(self, axis: int, start: int, length: int) -> Self:
        """A view of some indices of a dimension.

        Args:
            axis: the dimension; -1 is the last one.
            start: the first index.
            length: the number of indices.

        Raises:
            InvalidArgumentError, InvalidOffsetError: for the dimension and the indices.
            UnsupportedError: a type with several elements in a block would not be contiguous.
        """
        function, handle = _native.functions().ferrum_tensor_narrow, self._handle
        place = i32("axis", axis), i64("start", start), i64("length", length)
        return self._view(lambda made: function(handle, *place, made))

    def slice(self, axis: int, start: int, length: int, step: int = 1) -> Self:
        """A view of every step-th index of a dimension: start, start + step, and so on.

        Args:
            axis: the dimension; -1 is the last one.
            start: the first index.
            length: the number of indices of the view.
            step: the distance from one index to the next; it may be negative, and is not 0.

        Raises:
            InvalidArgumentError, InvalidOffsetError: for the dimension, the indices and the step.
            UnsupportedError: a type with several elements in a block would not be contiguous.
        """
        function, handle = _native.functions().ferrum_tensor_slice, self._handle
        place = i32("axis", axis), i64("start", start), i64("length", length), i64("step", step)
        return self._view(lambda made: function(handle, *place, made))

    def permute(self, *axes: Shape) -> Self:
        """A view with the dimensions in another order: for each dimension of the view, the
        dimension of this tensor.

        Args:
            axes: the dimensions, or one sequence of them.

        Raises:
            InvalidArgumentError: axes does not have each dimension once.
        """
        function, handle = _native.functions().ferrum_tensor_permute, self._handle
        order = [i32("axes", each) for each in _spread("axes", axes)]
        given = (ctypes.c_int32 * max(len(order), 1))(*order)
        return self._view(lambda made: function(handle, given, len(order), made))

    def transpose(self, first: int = -2, second: int = -1) -> Self:
        """A view with two dimensions exchanged.

        Raises:
            InvalidArgumentError: the tensor does not have the dimensions.
        """
        order = list(range(len(self.shape)))
        first, second = i32("first", first), i32("second", second)
        try:
            order[first], order[second] = order[second], order[first]
        except IndexError:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"dimension {first} or {second} is out of range: the tensor has {len(self.shape)}",
            ) from None
        return self.permute(*order)

    @property
    def T(self) -> Self:  # noqa: N802
        """A view with the dimensions in the opposite order."""
        return self.permute(*reversed(range(len(self.shape))))

    def reshape(self, *shape: Shape) -> Self:
        """A view with another shape of the same elements in the same order. One length may be
        -1: it follows from the others.

        Args:
            shape: the lengths, or one sequence of them.

        Raises:
            InvalidArgumentError: for a shape with another number of elements.
            UnsupportedError: no strides express the shape. copy() has every shape.
        """
        function, handle = _native.functions().ferrum_tensor_reshape, self._handle
        lengths, count = sides("shape", self._completed(_spread("shape", shape)))
        return self._view(lambda made: function(handle, lengths, count, made))

    def _completed(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if shape.count(-1) != 1:
            return shape
        others = 1
        for length in shape:
            others *= 1 if length == -1 else length
        if others <= 0 or math.prod(self.shape) % others:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"a shape of {list(self.shape)} cannot become {list(shape)}: no length for -1 fits",
            )
        return tuple(math.prod(self.shape) // others if each == -1 else each for each in shape)

    def expand(self, *shape: Shape) -> Self:
        """A view that repeats elements along new dimensions and along dimensions of length 1, as
        NumPy broadcasts. Repeated elements cannot be written.

        Args:
            shape: the lengths, or one sequence of them.

        Raises:
            InvalidArgumentError: the tensor does not broadcast to the shape.
        """
        function, handle = _native.functions().ferrum_tensor_expand, self._handle
        lengths, count = sides("shape", _spread("shape", shape))
        return self._view(lambda made: function(handle, lengths, count, made))

    def __getitem__(self, key: Any) -> Self:
        """A view of indices: numbers, slices with any step, None and Ellipsis, as NumPy has them.

        Raises:
            IndexError: a number is out of range, or there are too many of them.
            ValueError: the step of a slice is 0.
        """
        parts, shape = _parts_of(key, self.shape)
        with contextlib.ExitStack() as steps:
            found = self.narrow(0, 0, self.shape[0]) if self.shape else self.reshape()
            for axis, (start, length, step) in enumerate(parts):
                if (start, length, step) != (0, self.shape[axis], 1):
                    steps.callback(found.close)
                    found = found.slice(axis, start, length, step)
            if found.shape != shape:
                steps.callback(found.close)
                found = found.reshape(*shape)
            return found

    def __iter__(self) -> Iterator[Self]:
        return (self[at] for at in range(len(self)))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]


def _parts_of(
    key: Any, shape: tuple[int, ...]
) -> tuple[list[tuple[int, int, int]], tuple[int, ...]]:
    """The first index, the number of indices and the step of each dimension for a key of
    __getitem__, and the shape of the view.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    named = sum(each is not None and each is not Ellipsis for each in keys)
    dots = [at for at, each in enumerate(keys) if each is Ellipsis]
    if len(dots) > 1 or named > len(shape):
        raise IndexError(f"{key!r} has too many indices for the shape {list(shape)}")
    at = dots[0] if dots else len(keys)
    keys[at : at + 1] = [slice(None)] * (len(shape) - named)
    parts: list[tuple[int, int, int]] = []
    result: list[int] = []
    for each in keys:
        if each is None:
            result.append(1)
            continue
        length = shape[len(parts)]
        if isinstance(each, slice):
            start, end, step = each.indices(length)
            count = len(range(start, end, step))
            parts.append((start, count, step) if count else (0, 0, 1))
            result.append(count)
            continue
        index = operator.index(each)
        if not -length <= index < length:
            raise IndexError(
                f"index {index} is out of range for dimension {len(parts)} of {list(shape)}"
            )
        parts.append((index % length, 1, 1))
    return parts, tuple(result)
