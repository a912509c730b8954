"""Ranges that are mapped in a virtual pool or in a model; these make them.

A range and the views on it know of each other: while a view lives, the range is
not unmapped by this package (ViewExistsError), and there is no view on one that
was unmapped. That holds for what goes through these objects. Memory that somebody
else unmaps, such as C code that has the pool's handle, is not seen, and touching
it ends the process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from . import _abi, _native
from ._buffers import HostBuffer
from ._dlpack import DeviceArray
from ._owned import LateEnds, Node, Owned, doom, views_lock
from ._values import u64
from .devices import Device
from .errors import InvalidSizeError, NotMappedError
from .sleep import refuse_asleep
from .streams import Stream, optional_handle

if TYPE_CHECKING:
    from ._records import ModelInfo, VirtualPoolInfo

# Takes the memory of offset and size away after the stream's work; gives a status.
Unmap = Callable[[int, int, Any], int]


class _MappedRange(Owned):
    """The record of a range, which remembers where it is and how it is unmapped."""

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
        """As Owned.end_quietly(); a range that is being put to sleep or woken is unmapped
        when that has ended."""
        mark = self._late.mark
        super().end_quietly(may_wait)
        if not self.ended:
            self._late.add(self, mark)

    def touches(self, offset: int, size: int, page: int) -> bool:
        """Whether the range has a page in common with another."""
        first, end = self.offset // page, -(-(self.offset + self.size) // page)
        return first < -(-(offset + size) // page) and offset // page < end


class MappedRange(HostBuffer, DeviceArray):
    """Memory that is mapped; VirtualPool.alloc() and Model.alloc() make it.

    Attributes:
        address: where it starts on the device; a pointer if the host addresses it.
        offset_bytes: the same from the base address of the pool or model.
        size_bytes: as asked for.
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
        label = f"MappedRange of {size} bytes at offset {offset} in {of._owned.label}"
        self._own(_MappedRange(label, of._owned, offset, size, tag, unmap, of._late), address)

    @property
    def device(self) -> Device:
        """The device that it is on."""
        return self._space.device

    def record_stream(self, stream: Stream | None) -> None:
        """Says that a stream uses it too: once freed, or collected, it waits for the
        work that is queued on that stream then as well.

        Args:
            stream: None: the default one.
        """
        _ = self._handle  # refuses a range that was unmapped
        self._space.record_stream(self.offset_bytes, self.size_bytes, stream)

    def free(self, stream: Stream | None = None) -> None:
        """Unmaps it once the work is done that is queued now on the stream that it was
        asked for on, on those of record_stream(), and on this one; nothing if that was
        done before. Does not wait.

        Args:
            stream: a further stream that used it; None: the default one.

        Raises:
            ViewExistsError: a view still looks into it; nothing has changed.
            BusyError: it is being put to sleep or woken; nothing has changed. (One that
                is collected meanwhile is unmapped when that has ended.)
        """
        self._owned.stream = optional_handle(stream)
        self._owned.close()

    def close(self) -> None:
        """As free()."""
        self._owned.close()

    def _array(self) -> Any:
        # Refuses while the range sleeps.
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


class _Together:
    """Several ranges as one record, as far as views want one: a view is counted in each."""

    def __init__(self, label: str, ranges: list[_MappedRange]) -> None:
        self.label = label
        self.ranges = ranges
        self.views = self

    @property
    def ended(self) -> bool:
        return any(owned.ended for owned in self.ranges)

    @property
    def doomed(self) -> bool:
        return any(owned.doomed for owned in self.ranges)

    def add(self, view: object) -> None:
        for owned in self.ranges:
            owned.views.add(view)

    def discard(self, view: object) -> None:
        for owned in self.ranges:
            owned.views.discard(view)


class MappedSpan(HostBuffer, DeviceArray):
    """Memory that is mapped without a hole, by one range or by several that touch;
    span() and spans() of a virtual pool or a model give it. It owns nothing: the ranges
    are freed as before, but not while a view of the span lives.

    Attributes:
        address: where it starts on the device; a pointer if the host addresses it.
        offset_bytes: the same from the base address of the pool or model.
        size_bytes: how long it is.
    """

    _owned: _Together  # type: ignore[assignment]

    def __init__(self, of: _Space, ranges: list[_MappedRange], offset: int, size: int) -> None:
        self.address = of.info().base_address + offset
        self.offset_bytes = offset
        self.size_bytes = size
        self._space = of
        self._native_handle = self.address
        label = f"MappedSpan of {size} bytes at offset {offset} in {of._owned.label}"
        self._owned = _Together(label, ranges)

    @property
    def device(self) -> Device:
        """The device that it is on."""
        return self._space.device

    def close(self) -> None:
        """Nothing: the ranges are not the span's."""

    def _array(self) -> Any:
        # Refuses while a range of it sleeps.
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
    """What virtual pools and models have in common: views over several ranges."""

    _owned: Owned
    _page_bytes: int

    def span(self: _Space, offset_bytes: int, size_bytes: int) -> MappedSpan:
        """A part of the address space as one array, over as many ranges as it touches.

        Args:
            offset_bytes,size_bytes: mapped throughout. What is mapped is whole pages.

        Raises:
            NotMappedError: there is a hole in it; the message says where. Touching a hole
                would end the process, so there is no view over one: spans() gives the
                parts between them.
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
                f"{self._owned.label}: nothing that this program has allocated is mapped at "
                f"offset {at}, in the span of {size} bytes at offset {offset}",
            )
        return MappedSpan(self, found, offset, size)

    def spans(self: _Space) -> list[MappedSpan]:
        """All that is mapped, in order of offsets: the longest parts of the address space
        without a hole. What sleeps is left out."""
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
    """Where the pages of a range begin and end."""
    return owned.offset // page * page, -(-(owned.offset + owned.size) // page) * page


def _live_ranges(space: Owned) -> list[_MappedRange]:
    live = (owned for owned in _ranges_of(space) if not owned.ended)
    return sorted(live, key=lambda owned: owned.offset)


class _Space(Protocol):
    """A virtual pool or a model."""

    _owned: Owned
    _late: LateEnds
    _page_bytes: int

    def info(self) -> VirtualPoolInfo | ModelInfo:
        """Describes it."""

    @property
    def device(self) -> Device:
        """The device that it is on."""

    def is_mapped(self, offset_bytes: int, size_bytes: int) -> bool:
        """Whether every page that a range touches is mapped."""

    def record_stream(self, offset_bytes: int, size_bytes: int, stream: Stream | None) -> None:
        """Says that a stream uses the pages of a range too."""

    def _refuse_dozing(self, tag: str | None, label: str) -> None:
        """Refuses a view into what is being put to sleep."""


def unmap_pages(space: Owned, offset: int, size: int, page: int, call: Callable[[], int]) -> None:
    """Unmaps by offset what may be several ranges, or a part of one. Their objects
    end with it, also that of a range of which a part is left."""
    _native.refuse_forked()
    with contextlib.ExitStack() as locks:
        hit = [
            owned
            for owned in sorted(_ranges_of(space), key=id)
            if owned.touches(offset, size, page)
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
