"""Trackers: records of live buffers, by id, tag and age."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _abi, _library, _native
from ._arguments import choice, handle_of, object_of
from ._enums_by_hand import BufferLocation
from ._owned import Owned, Resource
from ._records import TrackerTotals
from ._values import NS_PER_SECOND, nanoseconds, u64
from .devices import Device, device_id_of
from .errors import NotFoundError


class BufferId(int):
    """The id of a buffer, unique in the process. Ids increase, starting with 1."""

    @classmethod
    def new(cls) -> BufferId:
        """A new id."""
        _native.refuse_forked()
        raw = ctypes.c_uint64()
        _native.check(_native.functions().ferrum_buffer_id_new(ctypes.byref(raw)))
        return cls(raw.value)

    def __str__(self) -> str:
        function = _native.functions().ferrum_buffer_id_text
        return _native.read_text(lambda *buffer: function(int(self), *buffer))


@dataclass(frozen=True)
class BufferMetadata:
    """The record of a buffer.

    Attributes:
        age_s: time since its creation.
        tag: None: no tag.
        device: id of its device; None: unknown.
    """

    id: BufferId
    size_bytes: int
    num_elements: int = 0
    location: BufferLocation = BufferLocation.GPU
    age_s: float = 0.0
    tag: str | None = None
    device: str | None = None

    def with_tag(self, tag: str) -> BufferMetadata:
        """A copy with a tag."""
        return BufferMetadata(
            self.id,
            self.size_bytes,
            self.num_elements,
            self.location,
            self.age_s,
            tag,
            self.device,
        )


def _metadata(raw: _abi.ferrum_buffer_metadata) -> BufferMetadata:
    return BufferMetadata(
        id=BufferId(raw.buffer_id),
        size_bytes=raw.size_bytes,
        num_elements=raw.num_elements,
        location=BufferLocation(raw.location),
        age_s=raw.age_ns / NS_PER_SECOND,
        tag=raw.tag.decode() or None,
        device=device_id_of(raw.device),
    )


def _listed(function: Callable[..., int]) -> list[BufferMetadata]:
    return [_metadata(raw) for raw in _native.read_array(_abi.ferrum_buffer_metadata, function)]


def tracker_of(owner: Resource, function: Callable[..., int]) -> TrackerView:
    """The tracker of an owner, read with a function of the library."""
    raw = _abi.ferrum_tracker()
    _native.check(function(owner._handle, ctypes.byref(raw)))
    return TrackerView(owner, raw)


class TrackerView:
    """Read access to a tracker. The tracker of a manager or a pool is valid as long as its
    owner.
    """

    def __init__(self, owner: Resource, handle: _abi.ferrum_tracker) -> None:
        self._owner = owner
        self._tracker = handle

    def get(self, buffer_id: int) -> BufferMetadata | None:
        """The record of a buffer; None if the id is unknown."""
        raw = _abi.ferrum_buffer_metadata()
        number = u64("buffer_id", buffer_id)
        try:
            _native.check(
                _native.functions().ferrum_tracker_get(self._tracker, number, ctypes.byref(raw))
            )
        except NotFoundError:
            return None
        return _metadata(raw)

    def all_allocations(self) -> list[BufferMetadata]:
        """All buffers, oldest first."""
        function = _native.functions().ferrum_tracker_get_all
        return _listed(lambda *room: function(self._tracker, *room))

    def find_old_allocations(self, age_s: float) -> list[BufferMetadata]:
        """Buffers that are strictly older than age_s, oldest first. They may be leaks."""
        age = nanoseconds("age_s", age_s)
        function = _native.functions().ferrum_tracker_find_old
        return _listed(lambda *room: function(self._tracker, age, *room))

    def totals(self) -> TrackerTotals:
        """Number of buffers, their bytes, and the peak of the bytes."""
        raw = _abi.ferrum_tracker_totals.init()
        _native.check(
            _native.functions().ferrum_tracker_get_totals(self._tracker, ctypes.byref(raw))
        )
        return TrackerTotals.from_abi(raw)

    @property
    def count(self) -> int:
        """The number of buffers."""
        return self.totals().count

    @property
    def total_bytes(self) -> int:
        """The sum of their sizes."""
        return self.totals().total_bytes

    @property
    def peak_bytes(self) -> int:
        """The highest value that total_bytes has had."""
        return self.totals().peak_bytes


class AllocationTracker(TrackerView, Resource):
    """A tracker that the program owns. Safe for use by several threads."""

    def __init__(self) -> None:
        _library.ensure_started()
        handle = _abi.ferrum_tracker()
        _native.check(_native.functions().ferrum_tracker_create(ctypes.byref(handle)))
        end = _native.functions().ferrum_tracker_destroy
        self._own(Owned("AllocationTracker", lambda _flags: end(handle), _library.opens), handle)
        TrackerView.__init__(self, self, handle)

    def track(self, metadata: BufferMetadata, device: Device | None = None) -> None:
        """Adds a buffer, or replaces the record with the same id.

        Args:
            metadata: of the buffer; its field device is ignored.
            device: the device of the buffer.
        """
        raw = _abi.ferrum_buffer_metadata()
        object_of("metadata", metadata, BufferMetadata)
        raw.buffer_id = u64("id", metadata.id)
        raw.size_bytes = u64("size_bytes", metadata.size_bytes)
        raw.num_elements = u64("num_elements", metadata.num_elements)
        raw.location = choice("location", metadata.location, BufferLocation)
        raw.age_ns = nanoseconds("age_s", metadata.age_s)
        tag = _native.encode("tag", metadata.tag) or b""
        # A tag that fills the field has no NUL, and the library rejects it.
        raw.tag = tag[:64]
        if device is not None:
            raw.device = handle_of("device", device, Device)
        _native.check(_native.functions().ferrum_tracker_track(self._handle, ctypes.byref(raw)))

    def untrack(self, buffer_id: int) -> BufferMetadata | None:
        """Removes a buffer and returns its record; None if the id is unknown."""
        raw: Any = _abi.ferrum_buffer_metadata()
        number = u64("buffer_id", buffer_id)
        try:
            _native.check(
                _native.functions().ferrum_tracker_untrack(self._handle, number, ctypes.byref(raw))
            )
        except NotFoundError:
            return None
        return _metadata(raw)

    def clear(self) -> None:
        """Removes all buffers. The peak stays."""
        _native.check(_native.functions().ferrum_tracker_clear(self._handle))
