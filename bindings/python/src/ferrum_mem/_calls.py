# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The simple methods of objects of the library, by kind; their classes inherit them."""

from __future__ import annotations

import ctypes

from . import _abi, _native
from ._enums_by_hand import PressureLevel
from ._owned import Resource
from ._records import (
    CompactReport,
    ElasticPoolInfo,
    FallbackStats,
    PoolInfo,
    Statistics,
    UsageHints,
    VirtualPoolInfo,
)
from ._values import u64
from ._waits import wait


class DeviceCalls(Resource):
    """What Device inherits."""

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until every stream of the device has run dry.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: when it takes longer
            InvalidStateError: when streams are capturing, which cannot be waited for, and the
                others have run dry.
        """
        handle, function = self._handle, _native.library().ferrum_device_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def measure_bandwidth(self) -> float:
        """Measures the device's copy bandwidth by timed copies between two scratch segments (at
        most 64 MiB each; given back at once), for some tens of milliseconds.
        ferrum_device_get_memory_info reports it from then on.

        Returns:
            10^9 bytes copied per second.
        """
        raw = ctypes.c_double()
        _native.check(
            _native.library().ferrum_device_measure_bandwidth(self._handle, ctypes.byref(raw))
        )
        return raw.value

    def statistics(self) -> Statistics:
        """Books of a device: the sum over its pools and managers."""
        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.library().ferrum_device_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)


class StreamCalls(Resource):
    """What Stream inherits."""

    def is_ready(self) -> bool:
        """Says without waiting whether all work queued so far is done or not."""
        raw = ctypes.c_uint32()
        _native.check(_native.library().ferrum_stream_is_ready(self._handle, ctypes.byref(raw)))
        return bool(raw.value)


class EventCalls(Resource):
    """What Event inherits."""

    def is_ready(self) -> bool:
        """Says without waiting whether the event's point has been passed or not."""
        raw = ctypes.c_uint32()
        _native.check(_native.library().ferrum_event_is_ready(self._handle, ctypes.byref(raw)))
        return bool(raw.value)

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until the event's point has been passed.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: when it takes longer.
        """
        handle, function = self._handle, _native.library().ferrum_event_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)


class PoolCalls(Resource):
    """What Pool inherits."""

    def check(self) -> None:
        """Looks now at every block of a pool that debugs: beside live ones, and into freed ones
        that are in quarantine. Damage that it reports is repaired, so it is reported once.

        Raises:
            CorruptedError: for the first damage; all of it is in the log. FERRUM_OK without a
                look for a pool that does not debug.
        """
        _native.check(_native.library().ferrum_pool_check(self._handle))

    def trim(self, keep_bytes: int = 0) -> int:
        """Takes back what thread caches keep, and gives segments that hold no live block back to
        the system, until no more than keep_bytes (or the pool's min_held_bytes) are held or none
        is left to give.

        Returns:
            What was given back.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.library().ferrum_pool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def set_min_held(self, min_held_bytes: int) -> None:
        """Changes min_held_bytes of the pool's settings."""
        _native.check(
            _native.library().ferrum_pool_set_min_held(
                self._handle, u64("min_held_bytes", min_held_bytes)
            )
        )

    def info(self) -> PoolInfo:
        """Describes how a pool has its memory."""
        raw = _abi.ferrum_pool_info.init()
        _native.check(_native.library().ferrum_pool_get_info(self._handle, ctypes.byref(raw)))
        return PoolInfo.from_abi(raw)

    def statistics(self) -> Statistics:
        """Books of a pool."""
        raw = _abi.ferrum_statistics.init()
        _native.check(_native.library().ferrum_pool_get_statistics(self._handle, ctypes.byref(raw)))
        return Statistics.from_abi(raw)


class ManagerCalls(Resource):
    """What Manager inherits."""

    def statistics(self) -> Statistics:
        """Books of a manager: the sum over its pools."""
        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.library().ferrum_manager_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)


class MemoryCalls(Resource):
    """What Memory inherits."""

    def pin(self) -> int:
        """Gives the address of a block and has it stay there until ferrum_memory_unpin has been
        called as often as ferrum_memory_pin: for work of the caller's own on the address that
        the library does not know of. Any block can be pinned. Waits for a move of the block that
        is under way. A pinned block cannot be freed; destroying its manager with FORCE frees it.

        Raises:
            ResourceExhaustedError: for a block that is pinned 2^32 - 1 times.
        """
        raw = ctypes.c_uint64()
        _native.check(_native.library().ferrum_memory_pin(self._handle, ctypes.byref(raw)))
        return raw.value

    def unpin(self) -> None:
        """Ends one call of ferrum_memory_pin.

        Raises:
            InvalidStateError: for a block that is not pinned.
        """
        _native.check(_native.library().ferrum_memory_unpin(self._handle))

    def usage_hints(self) -> UsageHints:
        """Gives the hints of a block."""
        raw = _abi.ferrum_usage_hints.init()
        _native.check(
            _native.library().ferrum_memory_get_usage_hints(self._handle, ctypes.byref(raw))
        )
        return UsageHints.from_abi(raw)


class VirtualPoolCalls(Resource):
    """What VirtualPool inherits."""

    def is_mapped(self, offset_bytes: int, size_bytes: int) -> bool:
        """Says whether every page that a range touches is mapped or not; 0 for one that ends
        outside or has no bytes.
        """
        raw = ctypes.c_uint32()
        _native.check(
            _native.library().ferrum_vpool_is_mapped(
                self._handle,
                u64("offset_bytes", offset_bytes),
                u64("size_bytes", size_bytes),
                ctypes.byref(raw),
            )
        )
        return bool(raw.value)

    def info(self) -> VirtualPoolInfo:
        """Describes a virtual pool. Does not wait for queued work."""
        raw = _abi.ferrum_vpool_info.init()
        _native.check(_native.library().ferrum_vpool_get_info(self._handle, ctypes.byref(raw)))
        return VirtualPoolInfo.from_abi(raw)

    def statistics(self) -> Statistics:
        """Books of a virtual pool: its live blocks are ranges."""
        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.library().ferrum_vpool_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)

    def compact(self) -> CompactReport:
        """Brings together what nobody uses: parked pages leave their ranges, of the free pages
        those that lie together are kept, as many as are kept ready, and the others go back to
        the device. What is mapped stays where it is.
        """
        raw = _abi.ferrum_compact_report.init()
        _native.check(_native.library().ferrum_vpool_compact(self._handle, ctypes.byref(raw)))
        return CompactReport.from_abi(raw)

    def trim(self, keep_bytes: int = 0) -> int:
        """Gives parked and ready pages back to the device until no more than keep_bytes of them are
        held.

        Returns:
            What was given back.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.library().ferrum_vpool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until no range of the pool is retiring any more.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: when it takes longer.
        """
        handle, function = self._handle, _native.library().ferrum_vpool_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def pause(self) -> None:
        """Has the pool's worker make no more pages ready, until ferrum_vpool_resume. What it is at,
        it has ended when the call returns.
        """
        _native.check(_native.library().ferrum_vpool_pause(self._handle))

    def resume(self) -> None:
        """Ends a ferrum_vpool_pause."""
        _native.check(_native.library().ferrum_vpool_resume(self._handle))


class ElasticPoolCalls(Resource):
    """What ElasticPool inherits."""

    def info(self) -> ElasticPoolInfo:
        """Describes an elastic pool."""
        raw = _abi.ferrum_elastic_pool_info.init()
        _native.check(
            _native.library().ferrum_elastic_pool_get_info(self._handle, ctypes.byref(raw))
        )
        return ElasticPoolInfo.from_abi(raw)

    def statistics(self) -> Statistics:
        """Books of an elastic pool: its live blocks are the ranges of all models."""
        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.library().ferrum_elastic_pool_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)

    def compact(self) -> CompactReport:
        """As ferrum_vpool_compact."""
        raw = _abi.ferrum_compact_report.init()
        _native.check(
            _native.library().ferrum_elastic_pool_compact(self._handle, ctypes.byref(raw))
        )
        return CompactReport.from_abi(raw)

    def trim(self, keep_bytes: int = 0) -> int:
        """As ferrum_vpool_trim."""
        raw = ctypes.c_uint64()
        _native.check(
            _native.library().ferrum_elastic_pool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def synchronize(self, timeout_s: float | None = None) -> None:
        """As ferrum_vpool_synchronize, for the ranges of all models.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.
        """
        handle, function = self._handle, _native.library().ferrum_elastic_pool_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def pause(self) -> None:
        """As ferrum_vpool_pause."""
        _native.check(_native.library().ferrum_elastic_pool_pause(self._handle))

    def resume(self) -> None:
        """Ends a ferrum_elastic_pool_pause."""
        _native.check(_native.library().ferrum_elastic_pool_resume(self._handle))


class GenericPoolCalls(Resource):
    """What GenericPool inherits."""

    def record_cpu_fallback(self) -> None:
        """Counts a request that the caller has served on the host."""
        _native.check(_native.library().ferrum_generic_pool_record_cpu_fallback(self._handle))


class FallbackManagerCalls(Resource):
    """What FallbackManager inherits."""

    def fallback_stats(self) -> FallbackStats:
        """Gives what of a fallback manager is or was on the host."""
        raw = _abi.ferrum_fallback_stats.init()
        _native.check(
            _native.library().ferrum_fallback_manager_get_fallback_stats(
                self._handle, ctypes.byref(raw)
            )
        )
        return FallbackStats.from_abi(raw)

    def pressure(self) -> PressureLevel:
        """The level of the device by PressureProfile.EARLY, of this moment."""
        raw = _abi.ferrum_pressure_level()
        _native.check(
            _native.library().ferrum_fallback_manager_get_pressure(self._handle, ctypes.byref(raw))
        )
        return PressureLevel(raw.value)

    def clear_pool(self) -> None:
        """Empties the buckets. The memory is ready for buffers of any size, and may still be held
        from the device.
        """
        _native.check(_native.library().ferrum_fallback_manager_clear_pool(self._handle))

    def shrink(self) -> int:
        """Empties the buckets and gives what holds no buffer back, on both sides.

        Returns:
            What the device has taken back.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.library().ferrum_fallback_manager_shrink(self._handle, ctypes.byref(raw))
        )
        return raw.value

    def return_buffers(self) -> int:
        """Brings the buffers that fell back to the device, the oldest first, until it has no room
        for the next. Pinned ones stay, and nobody is asked to give anything up. The addresses of
        buffers that are not pinned may change. While another thread is at it, it brings none.

        Returns:
            How many came.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.library().ferrum_fallback_manager_return_buffers(
                self._handle, ctypes.byref(raw)
            )
        )
        return raw.value


class FallbackBufferCalls(Resource):
    """What FallbackBuffer inherits."""

    def unpin(self) -> None:
        """Ends one ferrum_fallback_buffer_pin. InvalidStateError: there is none."""
        _native.check(_native.library().ferrum_fallback_buffer_unpin(self._handle))
