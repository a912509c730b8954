"""Generic pools: caches of free objects of the caller."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from typing import Generic, TypeVar

from . import _abi, _library, _native
from ._arguments import choice, object_of
from ._calls import GenericPoolCalls
from ._enums_by_hand import BufferLocation
from ._owned import Owned
from ._values import u64
from .memory_config import MemoryConfig, MemoryStats, abi_memory_config, stats_of
from .tracking import BufferId, TrackerView, tracker_of

B = TypeVar("B")


@dataclass(frozen=True)
class BufferLease(Generic[B]):
    """A buffer of a generic pool that is in use.

    Attributes:
        size_bytes: of the buffer; may be more than the request.
        buffer_id: 0 unless the pool tracks.
    """

    buffer: B
    size_bytes: int
    buffer_id: BufferId


def _use(num_elements: int, location: BufferLocation, tag: str | None) -> _abi.ferrum_buffer_use:
    raw = _abi.ferrum_buffer_use.init()
    raw.num_elements = u64("num_elements", num_elements)
    raw.location = choice("location", location, BufferLocation)
    raw.tag = _native.encode("tag", tag)
    return raw


class GenericMemoryPool(GenericPoolCalls, Generic[B]):
    """A cache of free buffers of any kind, in buckets of powers of two. It creates no buffers:
    if try_get() returns None, the caller creates one and calls record_allocation(). A
    buffer that the pool does not keep is dropped. Safe for use by several threads.

    Args:
        config: settings; those for a device are ignored.
    """

    def __init__(self, config: MemoryConfig | None = None) -> None:
        _library.ensure_started()
        raw, _kept = abi_memory_config(MemoryConfig() if config is None else config)
        handle = _abi.ferrum_generic_pool()
        library = _native.functions()
        _native.check(library.ferrum_generic_pool_create(ctypes.byref(raw), ctypes.byref(handle)))
        self._buffers: dict[int, B] = {}
        self._last_word = 0
        self._lock = threading.Lock()
        # Free buffers do not delay the end of the pool: they belong to Python.
        self._own(
            Owned(
                "GenericMemoryPool",
                lambda _flags: library.ferrum_generic_pool_destroy(handle, _abi.FERRUM_FORCE),
                _library.opens,
            ),
            handle,
        )

    def record_allocation(
        self,
        buffer: B,
        size_bytes: int,
        *,
        num_elements: int = 0,
        location: BufferLocation = BufferLocation.GPU,
        tag: str | None = None,
    ) -> BufferLease[B]:
        """Counts a new buffer that is in use."""
        use = _use(num_elements, location, tag)
        size = u64("size_bytes", size_bytes)
        number = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_generic_pool_record_allocation(
                self._handle, size, ctypes.byref(use), ctypes.byref(number)
            )
        )
        return BufferLease(buffer, size, BufferId(number.value))

    def try_get(
        self,
        min_bytes: int,
        *,
        num_elements: int = 0,
        location: BufferLocation = BufferLocation.GPU,
        tag: str | None = None,
    ) -> BufferLease[B] | None:
        """The smallest free buffer with at least min_bytes and at most four times as much."""
        use = _use(num_elements, location, tag)
        raw, found = _abi.ferrum_buffer_lease(), ctypes.c_uint32()
        _native.check(
            _native.functions().ferrum_generic_pool_try_get(
                self._handle,
                u64("min_bytes", min_bytes),
                ctypes.byref(use),
                ctypes.byref(raw),
                ctypes.byref(found),
            )
        )
        if not found.value:
            return None
        return BufferLease(self._buffers.pop(raw.buffer), raw.size_bytes, BufferId(raw.buffer_id))

    def return_buffer(self, lease: BufferLease[B]) -> bool:
        """Ends the use of a buffer, and returns whether the pool keeps it."""
        word = self._wait(object_of("lease", lease, BufferLease).buffer)
        raw = _abi.ferrum_buffer_lease()
        raw.buffer, raw.size_bytes = word, u64("size_bytes", lease.size_bytes)
        raw.buffer_id = u64("buffer_id", lease.buffer_id)
        kept = ctypes.c_uint32()
        try:
            _native.check(
                _native.functions().ferrum_generic_pool_return(
                    self._handle, ctypes.byref(raw), ctypes.byref(kept)
                )
            )
        finally:
            if not kept.value:
                self._buffers.pop(word, None)
        return bool(kept.value)

    def add_free(self, buffer: B, size_bytes: int) -> None:
        """Adds a free buffer that was not used yet.

        Raises:
            ResourceExhaustedError: its bucket is full.
        """
        word = self._wait(buffer)
        try:
            _native.check(
                _native.functions().ferrum_generic_pool_add_free(
                    self._handle, word, u64("size_bytes", size_bytes)
                )
            )
        except BaseException:
            self._buffers.pop(word, None)
            raise

    def _wait(self, buffer: B) -> int:
        """Stores a buffer before the pool can return it to another caller."""
        with self._lock:
            self._last_word += 1
            self._buffers[self._last_word] = buffer
            return self._last_word

    def shrink(self) -> int:
        """Drops all free buffers, and returns the sum of their sizes."""
        dropped = 0
        count = ctypes.c_size_t(64)
        while count.value:
            gone = (_abi.ferrum_buffer_lease * 64)()
            _native.check(
                _native.functions().ferrum_generic_pool_drain(
                    self._handle, gone, 64, ctypes.byref(count)
                )
            )
            for i in range(count.value):
                dropped += gone[i].size_bytes
                self._buffers.pop(gone[i].buffer)
        return dropped

    def clear(self) -> None:
        """Drops all free buffers."""
        self.shrink()

    @property
    def pooled_count(self) -> int:
        """The number of free buffers."""
        count = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_generic_pool_get_pooled_count(
                self._handle, ctypes.byref(count)
            )
        )
        return count.value

    def stats(self) -> MemoryStats:
        """The counters."""
        return stats_of(self._handle, _native.functions().ferrum_generic_pool_get_stats)

    def tracker(self) -> TrackerView:
        """The tracker of the buffers in use.

        Raises:
            InvalidStateError: the pool does not track.
        """
        return tracker_of(self, _native.functions().ferrum_generic_pool_get_tracker)
