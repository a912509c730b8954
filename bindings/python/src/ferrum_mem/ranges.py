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
from typing import Any, Protocol

from . import _native
from ._buffers import HostBuffer
from ._dlpack import DeviceArray
from ._owned import LateEnds, Node, Owned, doom, views_lock
from .devices import Device
from .sleep import refuse_asleep
from .streams import Stream, optional_handle

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


class _Space(Protocol):
    """A virtual pool or a model."""

    _owned: Owned
    _late: LateEnds

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
