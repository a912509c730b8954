"""Arrays over the address space of a virtual pool or a model, also where nothing is mapped."""

from __future__ import annotations

import bisect
import math
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _abi
from ._values import shape_of, size_text
from .errors import InvalidArgumentError, InvalidOffsetError, NotMappedError, UnsupportedError

if TYPE_CHECKING:
    import numpy

    from .ranges import _Space

# Byte offset of the first element, shape, and bytes between the elements of each axis.
_Part = tuple[int, tuple[int, ...], tuple[int, ...]]


class ReservationArray:
    """An array over the address space of a virtual pool or a model; its array() makes it.

    It has the shape of the whole, and memory only where ranges are mapped. It is indexed with
    integers, slices and ``...``. An access to memory that is not mapped raises NotMappedError
    and never ends the process. Every access looks at what is mapped at that moment.

    ``a[key]`` is a NumPy view, for which its memory must be mapped from its first to its last
    byte. ``a.read(key)`` is a copy and ``a[key] = value`` writes; for both, only the elements
    themselves must be mapped. They check all of them first. While a view lives, its ranges
    cannot be unmapped (ViewExistsError).

    Attributes:
        dtype: type of the elements.
        shape: lengths of the axes.
        offset_bytes: its start in the address space.
    """

    def __init__(
        self,
        space: _Space,
        dtype: Any,
        shape: int | Sequence[int] | None,
        offset_bytes: int,
    ) -> None:
        import numpy

        self.dtype: numpy.dtype[Any] = numpy.dtype(dtype)
        self.offset_bytes = offset_bytes
        self._space = space
        info = space.info()
        label = space._owned.label
        if not space.device._info.host_addressable:
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED,
                f"the host cannot address the memory of {label}, so there is no array over it",
            )
        if self.dtype.hasobject or self.dtype.itemsize == 0:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"dtype {self.dtype} has elements of 0 bytes, or contains references to Python "
                "objects",
            )
        room = info.virtual_capacity_bytes - offset_bytes
        if shape is None:
            shape = max(room, 0) // self.dtype.itemsize
        lengths = shape_of("shape", shape)
        if not lengths or min(lengths) < 0:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"shape {lengths}: an array has at least one axis and no negative length",
            )
        self.shape: tuple[int, ...] = lengths
        if room < self.nbytes or room < 0:
            raise InvalidOffsetError(
                _abi.FERRUM_ERROR_INVALID_OFFSET,
                f"an array of {lengths} {self.dtype} at offset_bytes {offset_bytes} ends outside "
                f"of {label}, which has {size_text(info.virtual_capacity_bytes)}",
            )
        strides, step = [], self.dtype.itemsize
        for length in reversed(lengths):
            strides.append(step)
            step *= length
        self._strides = tuple(reversed(strides))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of address space, mapped or not."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        mapped = sum(size for _, size in self.runs())
        return (
            f"ReservationArray(shape={self.shape}, dtype={self.dtype}, "
            f"{size_text(mapped)} of {size_text(self.nbytes)} mapped)"
        )

    def runs(self) -> list[tuple[int, int]]:
        """The parts of the array that are mapped, as (offset_bytes, size_bytes) in the address
        space, in the order of offsets. Memory that is asleep is left out.
        """
        first, end, found = self.offset_bytes, self.offset_bytes + self.nbytes, []
        for span in self._space.spans():
            low = max(span.offset_bytes, first)
            high = min(span.offset_bytes + span.size_bytes, end)
            if low < high:
                found.append((low, high - low))
        return found

    @property
    def mapped(self) -> numpy.ndarray[Any, Any]:
        """A boolean for each index of the first axis: whether all of ``a[index]`` is mapped."""
        import numpy

        runs = self.runs()
        starts = numpy.array([start for start, _ in runs], "int64")
        ends = numpy.array([start + size for start, size in runs], "int64")
        row = self._strides[0]
        low = self.offset_bytes + row * numpy.arange(self.shape[0], dtype="int64")
        if not runs:
            return numpy.full(self.shape[0], row == 0)
        at = numpy.searchsorted(starts, low, "right") - 1
        found: numpy.ndarray[Any, Any] = (at >= 0) & (low + row <= ends[numpy.maximum(at, 0)])
        return found

    def byte_range(self, key: Any) -> tuple[int, int]:
        """Offset and size, in the address space, of the memory from the first to the last byte
        of a selection: what alloc_batch() and free_batch() take.
        """
        low, high = self._extent(self._select(key))
        return low, high - low

    def __getitem__(self, key: Any) -> Any:
        """A view of a selection. One element comes as a NumPy scalar, as in NumPy.

        Raises:
            NotMappedError: a page from its first to its last byte is not mapped.
            InvalidStateError: a part of it is asleep.
        """
        part = self._select(key)
        hole = self._hole(self._ranges(), part)
        if hole is not None:
            raise self._not_mapped(hole, part)
        view = self._view(part)
        return view if part[1] else view[()]

    def read(self, key: Any = ...) -> numpy.ndarray[Any, Any]:
        """A copy of a selection, of which every element must be mapped.

        Raises:
            NotMappedError: an element is not mapped.
            InvalidStateError: a part of it is asleep.
        """
        import numpy

        part = self._select(key)
        copy = numpy.empty(part[1], self.dtype)
        for at, view in self._views(part):
            copy[at] = view
        return copy

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes a value to a selection, of which every element must be mapped.

        Raises:
            NotMappedError: an element is not mapped; nothing was written.
            InvalidStateError: a part of it is asleep; nothing was written.
        """
        import numpy

        part = self._select(key)
        given = numpy.asarray(value)
        if given.dtype != self.dtype:
            # As NumPy assigns: a number that does not fit raises before anything is written.
            whole = numpy.empty(given.shape, self.dtype)
            whole[...] = value
            given = whole
        # As NumPy assigns: leading axes of length 1 may be too many.
        while given.ndim > len(part[1]) and given.shape[0] == 1:
            given = given[0]
        values = numpy.broadcast_to(given, part[1])
        for at, view in self._views(part):
            view[...] = values[at]

    def fill(self, value: Any) -> None:
        """Writes a value to all elements; all of them must be mapped."""
        self[...] = value

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.read() if copy else self[...]
        return array if dtype is None else array.astype(dtype, copy=False)

    def _select(self, key: Any) -> _Part:
        keys = list(key) if isinstance(key, tuple) else [key]
        if sum(k is ... for k in keys) > 1:
            raise IndexError("an index can contain at most one ...")
        if not any(k is ... for k in keys):
            keys.append(...)
        at = next(i for i, k in enumerate(keys) if k is ...)
        if len(keys) - 1 > self.ndim:
            raise IndexError(f"{len(keys) - 1} indices, but the array has {self.ndim} axes")
        keys[at : at + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        offset, shape, strides = self.offset_bytes, [], []
        for axis, (k, length, stride) in enumerate(
            zip(keys, self.shape, self._strides, strict=True)
        ):
            if isinstance(k, slice):
                start, stop, step = k.indices(length)
                count = len(range(start, stop, step))
                offset += start * stride if count else 0
                shape.append(count)
                strides.append(step * stride)
                continue
            if isinstance(k, bool) or not hasattr(k, "__index__"):
                raise TypeError(
                    f"axis {axis}: index must be an integer, slice or ..., not {type(k).__name__}"
                )
            i = operator.index(k)
            if not -length <= i < length:
                raise IndexError(f"index {i} is outside of axis {axis} of length {length}")
            offset += i % length * stride
        return offset, tuple(shape), tuple(strides)

    def _extent(self, part: _Part) -> tuple[int, int]:
        """Where the first byte of a selection is, and where the last one ends."""
        offset, shape, strides = part
        if 0 in shape:
            return offset, offset
        ways = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
        return (
            offset + sum(min(way, 0) for way in ways),
            offset + sum(max(way, 0) for way in ways) + self.itemsize,
        )

    def _ranges(self) -> tuple[list[int], list[int]]:
        """Where each mapped part of the address space starts and ends."""
        spans = self._space.spans()
        return (
            [span.offset_bytes for span in spans],
            [span.offset_bytes + span.size_bytes for span in spans],
        )

    def _hole(self, mapped: tuple[list[int], list[int]], part: _Part) -> int | None:
        """The first offset from the first to the last byte of a selection that is not mapped."""
        low, high = self._extent(part)
        if low == high:
            return None
        at = bisect.bisect_right(mapped[0], low) - 1
        if at < 0 or mapped[1][at] <= low:
            return low
        return None if high <= mapped[1][at] else mapped[1][at]

    def _view(self, part: _Part) -> numpy.ndarray[Any, Any]:
        import numpy

        offset, shape, strides = part
        low, high = self._extent(part)
        if low == high:
            return numpy.empty(shape, self.dtype)
        memory = self._space.span(low, high - low).as_numpy()
        view: numpy.ndarray[Any, Any] = numpy.ndarray(
            shape, self.dtype, memory, offset - low, strides
        )
        return view

    def _views(self, part: _Part) -> list[tuple[tuple[int, ...], numpy.ndarray[Any, Any]]]:
        """Views that have all elements of a selection, with the index of each. No view covers
        memory that is not mapped.
        """
        mapped = self._ranges()
        parts = list(self._pieces(mapped, part, ()))
        return [(at, self._view(piece)) for at, piece in parts]

    def _pieces(
        self, mapped: tuple[list[int], list[int]], part: _Part, at: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], _Part]]:
        hole = self._hole(mapped, part)
        if hole is None:
            yield at, part
            return
        offset, shape, strides = part
        if not shape or self._touches_every_page(part):
            raise self._not_mapped(hole, part)
        for i in range(shape[0]):
            rest = (offset + i * strides[0], shape[1:], strides[1:])
            yield from self._pieces(mapped, rest, (*at, i))

    def _touches_every_page(self, part: _Part) -> bool:
        """Whether each page from the first to the last byte of a selection has a byte of it."""
        _, shape, strides = part
        covered = self.itemsize
        for length, stride in sorted(
            zip(shape, map(abs, strides), strict=True), key=lambda axis: axis[1]
        ):
            if length > 1 and stride - covered >= self._space._page_bytes:
                return False
            covered += (length - 1) * stride
        return True

    def _not_mapped(self, offset: int, part: _Part) -> NotMappedError:
        page = self._space._page_bytes
        low, high = self._extent(part)
        return NotMappedError(
            _abi.FERRUM_ERROR_NOT_MAPPED,
            f"{self._space._owned.label}: offset {offset} is in page {offset // page} (offset "
            f"{offset // page * page}, page size {page}), which is not mapped; the access goes "
            f"from offset {low} to {high}",
        )
