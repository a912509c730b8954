"""Mapped ranges of virtual pools and models, which create them.

A range and its views refer to each other. While a range has a view, this package does not
unmap it (ViewExistsError), and an unmapped range gets no view. This covers only calls
through these objects. If other code unmaps the memory, such as C code with the pool's
handle, an access through a view crashes the process.
"""

from __future__ import annotations

import bisect
import contextlib
import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from . import _abi, _native
from ._arguments import fields, listed
from ._buffers import HostBuffer
from ._dlpack import DeviceArray
from ._owned import LateEnds, Node, Owned, doom, views_lock
from ._values import size_text, u64, wait_limit_ns
from .devices import Device
from .errors import InvalidSizeError, NotMappedError
from .sleep import refuse_asleep
from .streams import Stream, optional_handle

if TYPE_CHECKING:
    from ._records import ModelInfo, VirtualPoolInfo
    from .reservations import ReservationArray

# Unmaps (offset, size) after the stream's work; returns a status.
Unmap = Callable[[int, int, Any], int]


class _MappedRange(Owned):
    """The record of a range. It knows the place of the range and how to unmap it."""

    may_force = False

    def __init__(
        self,
        label: str,
        parent: Node,
        offset: int,
        size: int,
        tag: str | None,
        unmap: Unmap,
        late: LateEnds,
    ) -> None:
        self.tag = tag
        self._late = late
        self.stream = optional_handle(None)
        self.offset = offset
        self.size = size
        super().__init__(label, lambda _flags: unmap(offset, size, self.stream), parent)

    def end_quietly(self, may_wait: bool = False) -> None:
        """Like Owned.end_quietly(). A range that a sleep or a wake is working on is unmapped
        when that has ended.
        """
        mark = self._late.mark
        super().end_quietly(may_wait)
        if not self.ended:
            self._late.add(self, mark)

    def touches(self, spans: list[tuple[int, int]], firsts: list[int], page: int) -> bool:
        """Whether the range shares a page with one of these spans of pages.

        Args:
            spans: first page and end of each, in order of pages.
            firsts: the first page of each.
        """
        first, end = self.offset // page, -(-(self.offset + self.size) // page)
        before = bisect.bisect_left(firsts, end) - 1
        return before >= 0 and spans[before][1] > first


class MappedRange(HostBuffer, DeviceArray):
    """Mapped memory. VirtualPool.alloc() and Model.alloc() create it.

    Attributes:
        address: its address on the device; a pointer if the host can address the device.
        offset_bytes: its offset from the base address of the pool or model.
        size_bytes: the requested size.
    """

    _owned: _MappedRange

    def __init__(
        self,
        of: _Space,
        address: int,
        offset: int,
        size: int,
        tag: str | None,
        unmap: Unmap,
    ) -> None:
        self.address = address
        self.offset_bytes = offset
        self.size_bytes = size
        self._space = of
        label = f"MappedRange of {size_text(size)} at offset {offset} in {of._owned.label}"
        self._own(_MappedRange(label, of._owned, offset, size, tag, unmap, of._late), address)

    @property
    def device(self) -> Device:
        """The device of the range."""
        return self._space.device

    def record_stream(self, stream: Stream | None) -> None:
        """States that a stream uses the range too. A free of the range then also waits for the
        work that is queued on that stream at the free.

        Args:
            stream: None: the default stream.
        """
        _ = self._handle  # raises if the range was unmapped
        self._space.record_stream(self.offset_bytes, self.size_bytes, stream)

    def free(self, stream: Stream | None = None) -> None:
        """Unmaps the range after the work that is queued now on the stream of its allocation,
        on the streams of record_stream(), and on the stream argument. Does nothing if it
        was unmapped. The call does not wait.

        Args:
            stream: a further stream that used it; None: the default stream.

        Raises:
            ViewExistsError: the range has a view; nothing has changed.
            BusyError: a sleep or a wake is working on it; nothing has changed. A range that
                is collected meanwhile is unmapped afterwards.
        """
        self._owned.stream = optional_handle(stream)
        self._owned.close()

    def close(self) -> None:
        """The same as free()."""
        self._owned.close()

    def _array(self) -> Any:
        # Raises while the range is asleep.
        _native.refuse_forked()
        with views_lock:
            self._space._refuse_dozing(self._owned.tag, self._owned.label)
            array = super()._array()
        if not self._space.is_mapped(self.offset_bytes, self.size_bytes):
            raise refuse_asleep(self._owned)
        return array

    def __len__(self) -> int:
        return self.size_bytes

    def _array_range(self) -> tuple[int, int, Device]:
        if not self._space.is_mapped(self.offset_bytes, self.size_bytes):
            raise refuse_asleep(self._owned)
        return self._handle, self.size_bytes, self.device

    def _host_range(self) -> tuple[int | None, int]:
        host = self.device._info.host_addressable
        return self._handle if host else None, self.size_bytes


class _RangeGroup:
    """Several ranges with the view interface of one record. A view counts in each range."""

    def __init__(self, label: str, ranges: list[_MappedRange]) -> None:
        self.label = label
        self.ranges = ranges
        self.views = self

    @property
    def ended(self) -> bool:
        return any(owned.ended for owned in self.ranges)

    def is_over(self) -> bool:
        return any(owned.is_over() for owned in self.ranges)

    def add(self, view: object) -> None:
        for owned in self.ranges:
            owned.views.add(view)

    def discard(self, view: object) -> None:
        for owned in self.ranges:
            owned.views.discard(view)


class MappedSpan(HostBuffer, DeviceArray):
    """Contiguous mapped memory of one range or of several adjacent ranges. span() and spans()
    of a virtual pool or a model create it. It owns no memory. The ranges are freed as
    usual, but not while the span has a view.

    Attributes:
        address: its address on the device; a pointer if the host can address the device.
        offset_bytes: its offset from the base address of the pool or model.
        size_bytes: its length.
    """

    _owned: _RangeGroup  # type: ignore[assignment]

    def __init__(self, of: _Space, ranges: list[_MappedRange], offset: int, size: int) -> None:
        self.address = of.info().base_address + offset
        self.offset_bytes = offset
        self.size_bytes = size
        self._space = of
        self._native_handle = self.address
        label = f"MappedSpan of {size_text(size)} at offset {offset} in {of._owned.label}"
        self._owned = _RangeGroup(label, ranges)

    @property
    def device(self) -> Device:
        """The device of the span."""
        return self._space.device

    def close(self) -> None:
        """Does nothing: the span does not own the ranges."""

    def _array(self) -> Any:
        # Raises while one of its ranges is asleep.
        _native.refuse_forked()
        with views_lock:
            for owned in self._owned.ranges:
                self._space._refuse_dozing(owned.tag, owned.label)
            array = super()._array()
        self._refuse_asleep()
        return array

    def _refuse_asleep(self) -> None:
        for owned in self._owned.ranges:
            if not self._space.is_mapped(owned.offset, owned.size):
                raise refuse_asleep(owned)

    def __len__(self) -> int:
        return self.size_bytes

    def _array_range(self) -> tuple[int, int, Device]:
        self._refuse_asleep()
        return self._handle, self.size_bytes, self.device

    def _host_range(self) -> tuple[int | None, int]:
        host = self.device._info.host_addressable
        return self._handle if host else None, self.size_bytes


class Spanning:
    """Views over several ranges, for virtual pools and models."""

    _owned: Owned
    _page_bytes: int

    def alloc_batch(
        self: _Space,
        ranges: Iterable[tuple[int, int]],
        *,
        tag: str | None = None,
        asleep_wait_s: float | None = 0,
        stream: Stream | None = None,
    ) -> list[MappedRange]:
        """Maps many ranges in one call: all of them, or none. Each gets an object of its own,
        in the order of the list.

        Args:
            ranges: (offset_bytes, size_bytes) of each, in any order; at most BATCH_MAX. No
                two may touch the same page. An empty list maps nothing.
            tag,asleep_wait_s,stream: as for alloc(), for all of them.

        Raises:
            AlreadyMappedError, InvalidOffsetError, InvalidSizeError: a range is wrong, or two
                touch the same page. The message names the range by its index.
            OutOfPhysicalMemoryError: there is no room for all of them.
            InvalidStateError, TimeoutError: as for alloc().
        """
        given = _pairs(ranges)
        alloc, _, _ = self._range_functions()
        options = batch_options(tag, asleep_wait_s, stream)
        place, base = self._place(), self.info().base_address
        if not given:
            return []
        _native.check(alloc(*place, _cells(given), len(given), ctypes.byref(options)))
        return self._ranges(base, given, tag)

    def _ranges(
        self: _Space, base: int, given: list[tuple[int, int]], tag: str | None
    ) -> list[MappedRange]:
        """The objects of ranges that one call has mapped."""
        _, _, unmap = self._range_functions()
        place = self._place()

        def free(at: int, length: int, stream: Any) -> int:
            status: int = unmap(*place, at, length, stream)
            return status

        return [MappedRange(self, base + at, at, size, tag, free) for at, size in given]

    def record_stream_batch(
        self: _Space, ranges: Iterable[MappedRange | tuple[int, int]], stream: Stream | None
    ) -> None:
        """record_stream() for many ranges in one call: for all of them, or for none.

        Args:
            ranges: objects of alloc_batch() and alloc(), or (offset_bytes, size_bytes), in any
                order; at most BATCH_MAX. No two may touch the same page. An empty list does
                nothing.
            stream: None: the default stream.

        Raises:
            NotMappedError, InvalidOffsetError, InvalidSizeError: a range is wrong. The message
                names it by its index; nothing has changed.
            InvalidStateError, BusyError: as for record_stream(); nothing has changed.
        """
        given = _pairs(ranges)
        record, queue = self._record_function(), optional_handle(stream)
        if given:
            _native.check(record(*self._place(), _cells(given), len(given), queue))

    def free_batch(
        self: _Space,
        ranges: Iterable[MappedRange | tuple[int, int]],
        *,
        stream: Stream | None = None,
    ) -> None:
        """Unmaps many ranges in one call: all of them, or none. Each range waits for the
        streams that use it and for the work that is queued on this one now.

        Args:
            ranges: objects of alloc_batch() and alloc(), or (offset_bytes, size_bytes) as for
                free(), in any order; at most BATCH_MAX. No two may touch the same page. An
                empty list frees nothing.
            stream: a further stream that used them; None: the default one.

        Raises:
            NotMappedError, InvalidOffsetError, InvalidSizeError: a range is wrong. The message
                names it by its index; nothing has changed.
            ViewExistsError: a range has a view; nothing has changed.
            BusyError: a sleep or a wake is working on one; nothing has changed.
        """
        given = _pairs(ranges)
        _, free, _ = self._range_functions()
        place, queue = self._place(), optional_handle(stream)
        if given:
            cells = _cells(given)
            unmap_pages(
                self._owned,
                given,
                self._page_bytes,
                lambda: free(*place, cells, len(given), queue),
            )

    def array(
        self: _Space,
        dtype: Any = "uint8",
        shape: int | Sequence[int] | None = None,
        *,
        offset_bytes: int = 0,
    ) -> ReservationArray:
        """An array over the address space, also where nothing is mapped.

        Args:
            dtype: type of the elements.
            shape: shape of the array; None: one dimension with all elements that fit.
            offset_bytes: its start in the address space.

        Raises:
            UnsupportedError: the host cannot address the device.
            InvalidOffsetError: it ends outside of the address space.
            InvalidArgumentError: of dtype or shape.
        """
        from .reservations import ReservationArray

        return ReservationArray(self, dtype, shape, u64("offset_bytes", offset_bytes))

    def span(self: _Space, offset_bytes: int, size_bytes: int) -> MappedSpan:
        """A part of the address space as one array, over all ranges that it touches.

        Args:
            offset_bytes,size_bytes: must be mapped completely. Mapped memory is whole
                pages.

        Raises:
            NotMappedError: a part of it is not mapped; the message states the offset. An
                access to unmapped memory would crash the process, so no view covers it.
                spans() returns the mapped parts.
        """
        offset, size = u64("offset_bytes", offset_bytes), u64("size_bytes", size_bytes)
        page, at, found = self._page_bytes, offset, []
        for owned in _live_ranges(self._owned):
            first, end = _pages_of(owned, page)
            if end > offset and first < offset + size:
                found.append(owned)
                if first <= at:
                    at = max(at, end)
        if size == 0:
            raise InvalidSizeError(_abi.FERRUM_ERROR_INVALID_SIZE, "size_bytes is 0")
        if at < offset + size:
            raise NotMappedError(
                _abi.FERRUM_ERROR_NOT_MAPPED,
                f"{self._owned.label}: no range that this program allocated is mapped at "
                f"offset {at}, in the span of {size_text(size)} at offset {offset}",
            )
        return MappedSpan(self, found, offset, size)

    def spans(self: _Space) -> list[MappedSpan]:
        """All contiguous mapped parts of the address space, in the order of offsets. Memory
        that is asleep is left out.
        """
        page = self._page_bytes
        runs: list[tuple[int, int, list[_MappedRange]]] = []
        for owned in _live_ranges(self._owned):
            if not self.is_mapped(owned.offset, owned.size):
                continue
            first, end = _pages_of(owned, page)
            if runs and first <= runs[-1][1]:
                start, last, ranges = runs.pop()
                runs.append((start, max(last, end), [*ranges, owned]))
            else:
                runs.append((first, end, [owned]))
        return [MappedSpan(self, ranges, first, end - first) for first, end, ranges in runs]


def _pages_of(owned: _MappedRange, page: int) -> tuple[int, int]:
    """The start and the end of the pages of a range."""
    return owned.offset // page * page, -(-(owned.offset + owned.size) // page) * page


def _live_ranges(space: Owned) -> list[_MappedRange]:
    live = (owned for owned in _ranges_of(space) if not owned.ended)
    return sorted(live, key=lambda owned: owned.offset)


def batch_options(tag: str | None, asleep_wait_s: float | None, stream: Stream | None) -> Any:
    """What the allocations of one batch have in common."""
    options = _abi.ferrum_batch_options.init()
    options.tag = _native.encode("tag", tag)
    options.asleep_wait_ns = wait_limit_ns("asleep_wait_s", asleep_wait_s)
    options.stream = optional_handle(stream)
    return options


def _pairs(ranges: Iterable[MappedRange | tuple[int, int]]) -> list[tuple[int, int]]:
    """Offset and size of each range of a list."""
    found = []
    for i, given in enumerate(listed("ranges", ranges, "(offset_bytes, size_bytes)")):
        if isinstance(given, MappedRange):
            _ = given._handle  # rejects a range that was unmapped
            found.append((given.offset_bytes, given.size_bytes))
        else:
            wanted = "a MappedRange or (offset_bytes, size_bytes)"
            offset, size = fields(f"ranges[{i}]", given, 2, wanted)
            found.append(
                (
                    u64(f"offset_bytes of ranges[{i}]", offset),
                    u64(f"size_bytes of ranges[{i}]", size),
                )
            )
    return found


def _cells(ranges: list[tuple[int, int]]) -> Any:
    cells = [_abi.ferrum_byte_range(offset, size) for offset, size in ranges]
    return (_abi.ferrum_byte_range * len(cells))(*cells)


class _Space(Protocol):
    """A virtual pool or a model."""

    _owned: Owned
    _late: LateEnds
    _page_bytes: int

    def info(self) -> VirtualPoolInfo | ModelInfo:
        """Describes it."""

    @property
    def device(self) -> Device:
        """The device of it."""

    def _place(self) -> tuple[Any, ...]:
        """What names it in a call."""

    def _range_functions(self) -> tuple[Any, Any, Any]:
        """The functions that map a batch, unmap a batch and unmap a range."""

    def _record_function(self) -> Any:
        """The function that records a stream for a batch."""

    def _ranges(
        self, base: int, given: list[tuple[int, int]], tag: str | None
    ) -> list[MappedRange]:
        """The objects of ranges that one call has mapped."""

    def span(self, offset_bytes: int, size_bytes: int) -> MappedSpan:
        """A part of the address space that is mapped completely."""

    def spans(self) -> list[MappedSpan]:
        """All parts of the address space that are mapped."""

    def is_mapped(self, offset_bytes: int, size_bytes: int) -> bool:
        """Whether every page that a range touches is mapped."""

    def record_stream(self, offset_bytes: int, size_bytes: int, stream: Stream | None) -> None:
        """States that a stream uses the pages of a range too."""

    def _refuse_dozing(self, tag: str | None, label: str) -> None:
        """Raises if a sleep is working on the range."""


def unmap_pages(
    space: Owned, ranges: list[tuple[int, int]], page: int, call: Callable[[], int]
) -> None:
    """Unmaps by offset what may be several ranges, or a part of one. The objects of all
    touched ranges end, also if a part of a range stays mapped.
    """
    _native.refuse_forked()
    spans = sorted((offset // page, -(-(offset + size) // page)) for offset, size in ranges)
    firsts = [first for first, _ in spans]
    with contextlib.ExitStack() as locks:
        hit = [
            owned
            for owned in sorted(_ranges_of(space), key=id)
            if owned.touches(spans, firsts, page)
        ]
        for owned in hit:
            locks.enter_context(owned._closing)
        live = [owned for owned in hit if not owned.ended]
        doom(live, f"free in {space.label}")
        status = call()
        if status < 0:
            for owned in live:
                owned.doomed = False
            _native.check(status)
        for owned in live:
            owned.finish()


def _ranges_of(space: Owned) -> Iterator[_MappedRange]:
    for owned in list(space.below):
        if isinstance(owned, _MappedRange):
            yield owned
