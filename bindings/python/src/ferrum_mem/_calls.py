# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The simple methods of objects of the library, by kind; their classes inherit them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from . import _abi, _native
from ._enums import MemoryType, UsageHint
from ._enums_by_hand import BufferLocation, PressureLevel
from ._owned import Resource
from ._values import i32, nanoseconds, u64
from ._waits import wait

if TYPE_CHECKING:
    from . import Device, Event, Manager, Stream
    from ._records import (
        CompactReport,
        ElasticPoolInfo,
        FallbackStats,
        MonitorPressure,
        PoolConfig,
        PoolInfo,
        Statistics,
        UsageHints,
        VirtualPoolInfo,
    )


class DeviceCalls(Resource):
    """What Device inherits."""

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until no stream of the device has queued work.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: when the work takes longer.
            InvalidStateError: when the work of all other streams has completed and some streams
                are capturing. A capturing stream cannot be waited for.
        """
        handle, function = self._handle, _native.functions().ferrum_device_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def set_limit(self, limit_bytes: int | None) -> None:
        """Limits the memory that this library holds from the device, for all pools and managers
        together. None removes the limit. A limit below the held memory releases cached memory.
        Live blocks stay, and no further memory is allocated from the device until the held
        memory is below the limit.

        A limit below the capacity is the total of MemoryInfo. Utilization, pressure levels,
        pressure callbacks, monitors, placement, gc_threshold and gpu_memory_fraction are
        computed from it. If a new limit changes the level, pressure callbacks are called.
        """
        _native.check(
            _native.functions().ferrum_device_set_limit(
                self._handle, 0 if limit_bytes is None else u64("limit_bytes", limit_bytes)
            )
        )

    def measure_bandwidth(self) -> float:
        """Measures the copy bandwidth of the device by timed copies between two temporary segments
        of at most 64 MiB each. The call takes some tens of milliseconds and then releases the
        segments. From then on Device.memory_info() reports the bandwidth.

        Returns:
            10^9 copied bytes per second.
        """
        raw = ctypes.c_double()
        _native.check(
            _native.functions().ferrum_device_measure_bandwidth(self._handle, ctypes.byref(raw))
        )
        return raw.value

    def statistics(self) -> Statistics:
        """Returns the counters of a device: the sum over its pools and managers."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_device_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)

    def grant_peer(self, peer: Device) -> None:
        """Lets work of another device, such as a kernel that the library does not know of, use the
        memory of a device: what is allocated, and what is mapped in virtual memory now and
        later, with the access that the device has. It holds until one of them is closed. On
        devices whose memory the process addresses there is nothing to do.

        Args:
            peer: who gets the access.

        Raises:
            UnsupportedError: where the one does not reach the other's memory.
            InvalidArgumentError: for the device itself.
        """
        _native.check(_native.functions().ferrum_device_grant_peer(self._handle, peer._handle))


class StreamCalls(Resource):
    """What Stream inherits."""

    def is_ready(self) -> bool:
        """Returns without waiting whether all work queued so far has completed or not (0)."""
        raw = ctypes.c_uint32()
        _native.check(_native.functions().ferrum_stream_is_ready(self._handle, ctypes.byref(raw)))
        return bool(raw.value)

    def wait_event(self, event: Event) -> None:
        """Makes all later work of the stream wait for the event. The event may belong to another
        stream, or to another device of the same backend.

        Raises:
            UnsupportedError: for an event of another backend.
        """
        _native.check(_native.functions().ferrum_stream_wait_event(self._handle, event._handle))


class EventCalls(Resource):
    """What Event inherits."""

    def is_ready(self) -> bool:
        """Returns without waiting whether the event has completed or not."""
        raw = ctypes.c_uint32()
        _native.check(_native.functions().ferrum_event_is_ready(self._handle, ctypes.byref(raw)))
        return bool(raw.value)

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until the event has completed.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: when the event takes longer.
        """
        handle, function = self._handle, _native.functions().ferrum_event_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)


class PoolCalls(Resource):
    """What Pool inherits."""

    def check(self) -> None:
        """Looks now at every block of a pool that debugs: beside live ones, and into freed ones
        that are in quarantine. Damage that it reports is repaired, so it is reported once.

        Raises:
            CorruptedError: for the first damage; all of it is in the log. A pool that does not
                debug is not looked at.
        """
        _native.check(_native.functions().ferrum_pool_check(self._handle))

    def trim(self, keep_bytes: int = 0) -> int:
        """Takes back what thread caches keep, and gives segments that hold no live block back to
        the system, until no more than keep_bytes (or the pool's min_held_bytes) are held or none
        is left to give.

        Returns:
            What was given back.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_pool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def set_limit(self, max_size_bytes: int | None) -> None:
        """Changes the pool's upper bound; None takes it away. Lowering it below what is held
        releases what is cached; what is live stays.
        """
        _native.check(
            _native.functions().ferrum_pool_set_limit(
                self._handle, 0 if max_size_bytes is None else u64("max_size_bytes", max_size_bytes)
            )
        )

    def set_min_held(self, min_held_bytes: int) -> None:
        """Changes min_held_bytes of the pool's settings."""
        _native.check(
            _native.functions().ferrum_pool_set_min_held(
                self._handle, u64("min_held_bytes", min_held_bytes)
            )
        )

    def set_release_threshold(self, release_threshold_bytes: int | None) -> None:
        """Changes release_threshold_bytes of the pool's settings, and gives back what is held above
        it and holds no block. None: never.
        """
        _native.check(
            _native.functions().ferrum_pool_set_release_threshold(
                self._handle,
                2**64 - 1
                if release_threshold_bytes is None
                else u64("release_threshold_bytes", release_threshold_bytes),
            )
        )

    def info(self) -> PoolInfo:
        """Describes how a pool has its memory."""
        from ._records import PoolInfo

        raw = _abi.ferrum_pool_info.init()
        _native.check(_native.functions().ferrum_pool_get_info(self._handle, ctypes.byref(raw)))
        return PoolInfo.from_abi(raw)

    def statistics(self) -> Statistics:
        """Books of a pool."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_pool_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)


class ManagerCalls(Resource):
    """What Manager inherits."""

    def configure_pool(self, memory_type: MemoryType, config: PoolConfig) -> None:
        """Sets the pool settings of a memory type from now on. A type that has live blocks keeps
        the pool they are in until they are freed; new blocks come from a pool with the new
        settings.
        """
        _native.check(
            _native.functions().ferrum_manager_configure_pool(
                self._handle, i32("memory_type", memory_type), ctypes.byref(config.to_abi())
            )
        )

    def statistics(self) -> Statistics:
        """Books of a manager: the sum over its pools."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_manager_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)


class MemoryCalls(Resource):
    """What Memory inherits."""

    def pin(self) -> int:
        """Gives the address of a block and has it stay there until Memory.unpin() has been called
        as often as Memory.pin(): for work of the caller's own on the address that the library
        does not know of. Any block can be pinned. Waits for a move of the block that is under
        way. A pinned block cannot be freed; destroying its manager with FORCE frees it.

        Raises:
            ResourceExhaustedError: for a block that is pinned 2^32 - 1 times.
        """
        raw = ctypes.c_uint64()
        _native.check(_native.functions().ferrum_memory_pin(self._handle, ctypes.byref(raw)))
        return raw.value

    def unpin(self) -> None:
        """Ends one call of Memory.pin().

        Raises:
            InvalidStateError: for a block that is not pinned.
        """
        _native.check(_native.functions().ferrum_memory_unpin(self._handle))

    def prefetch(self, target: Device, stream: Stream | None = None) -> None:
        """Queues that a block is brought near a device before it is used there, and returns. The
        bytes stay as they are, and it counts as no access. On the host it has the system put
        memory behind the block. On other devices MemoryType.MANAGED goes where it is said, a
        host device being the host, and other memory stays.

        Args:
            target: the block's own device, or another.
            stream: of the block's device; None: its default one.

        Raises:
            UnsupportedError: for a device that the block cannot be brought to.
        """
        _native.check(
            _native.functions().ferrum_memory_prefetch(
                self._handle,
                target._handle,
                _abi.ferrum_stream() if stream is None else stream._handle,
            )
        )

    def set_usage_hint(self, hint: UsageHint) -> None:
        """Keeps a hint with a block, in place of an earlier one of the same axis; UsageHint.NONE
        takes all back. Hints are for those who decide about the block (Memory.usage_hints()) and
        change nothing by themselves, but that for MemoryType.MANAGED the device is told of
        UsageHint.READ_MOSTLY (who reads may have a copy) and UsageHint.RESIDENT (it is to stay
        at the device); where it refuses, the hints are as they were.

        Raises:
            InvalidArgumentError: for what is no hint.
        """
        _native.check(
            _native.functions().ferrum_memory_set_usage_hint(self._handle, i32("hint", hint))
        )

    def usage_hints(self) -> UsageHints:
        """Gives the hints of a block."""
        from ._records import UsageHints

        raw = _abi.ferrum_usage_hints.init()
        _native.check(
            _native.functions().ferrum_memory_get_usage_hints(self._handle, ctypes.byref(raw))
        )
        return UsageHints.from_abi(raw)


class VirtualPoolCalls(Resource):
    """What VirtualPool inherits."""

    def record_stream(
        self, offset_bytes: int, size_bytes: int, stream: Stream | None = None
    ) -> None:
        """Says that a stream uses every page that a range touches too, besides the one that the
        range was asked for on: once freed, the pages wait for the work that is queued on this
        stream at the time of their free as well. The range may be a part of an allocation, or of
        several.

        Args:
            stream: None: the default stream.

        Raises:
            InvalidOffsetError: for a range that ends outside.
            InvalidSizeError: for a size of 0.
            NotMappedError: with offset and size of the first page that is not mapped.
            InvalidStateError: for a page that sleeps, and BusyError for one that is being put to
                sleep or woken.
        """
        _native.check(
            _native.functions().ferrum_vpool_record_stream(
                self._handle,
                u64("offset_bytes", offset_bytes),
                u64("size_bytes", size_bytes),
                _abi.ferrum_stream() if stream is None else stream._handle,
            )
        )

    def is_mapped(self, offset_bytes: int, size_bytes: int) -> bool:
        """Says whether every page that a range touches is mapped or not; 0 for one that ends
        outside or has no bytes.
        """
        raw = ctypes.c_uint32()
        _native.check(
            _native.functions().ferrum_vpool_is_mapped(
                self._handle,
                u64("offset_bytes", offset_bytes),
                u64("size_bytes", size_bytes),
                ctypes.byref(raw),
            )
        )
        return bool(raw.value)

    def info(self) -> VirtualPoolInfo:
        """Describes a virtual pool. Does not wait for queued work."""
        from ._records import VirtualPoolInfo

        raw = _abi.ferrum_vpool_info.init()
        _native.check(_native.functions().ferrum_vpool_get_info(self._handle, ctypes.byref(raw)))
        return VirtualPoolInfo.from_abi(raw)

    def statistics(self) -> Statistics:
        """Books of a virtual pool: its live blocks are ranges."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_vpool_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)

    def compact(self) -> CompactReport:
        """Brings together what nobody uses: parked pages leave their ranges, of the free pages
        those that lie together are kept, as many as are kept ready, and the others go back to
        the device. What is mapped stays where it is.
        """
        from ._records import CompactReport

        raw = _abi.ferrum_compact_report.init()
        _native.check(_native.functions().ferrum_vpool_compact(self._handle, ctypes.byref(raw)))
        return CompactReport.from_abi(raw)

    def trim(self, keep_bytes: int = 0) -> int:
        """Gives parked and ready pages back to the device until no more than keep_bytes of them are
        held.

        Returns:
            What was given back.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_vpool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def set_limit(self, limit_bytes: int | None) -> None:
        """Changes the limit while the pool works; None: what the device has. What is mapped stays;
        free pages above the limit go back to the device, movable ones by the pool's worker and
        after the call.

        Raises:
            OutOfPhysicalMemoryError: for more than the device has.
        """
        _native.check(
            _native.functions().ferrum_vpool_set_limit(
                self._handle, 0 if limit_bytes is None else u64("limit_bytes", limit_bytes)
            )
        )

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until no range of the pool is retiring any more.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: when it takes longer.
        """
        handle, function = self._handle, _native.functions().ferrum_vpool_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def pause(self) -> None:
        """Has the pool's worker make no more pages ready, until VirtualPool.resume(). What it is
        at, it has ended when the call returns.
        """
        _native.check(_native.functions().ferrum_vpool_pause(self._handle))

    def resume(self) -> None:
        """Ends a VirtualPool.pause()."""
        _native.check(_native.functions().ferrum_vpool_resume(self._handle))

    def export(self, offset_bytes: int, size_bytes: int) -> list[int]:
        """Gives a file descriptor for each page of a range of a virtual pool with
        Backing.SHAREABLE, in order: all of them or none. The caller closes them; another
        process, which gets them through a socket or as an heir, has the same memory by
        Manager.import_pages(). The memory goes back to the system when no process has it any
        more.

        When the range is freed its pages stay with the pool, which uses them for its next
        ranges: whoever has imported them ends that before.

        Args:
            offset_bytes,size_bytes: whole pages, mapped throughout.

        Raises:
            InvalidArgumentError: for a pool with another backing.
            InvalidOffsetError, InvalidSizeError, NotMappedError: it is so.
        """
        return _native.read_array(
            ctypes.c_int32,
            lambda *room: _native.functions().ferrum_vpool_export(
                self._handle,
                u64("offset_bytes", offset_bytes),
                u64("size_bytes", size_bytes),
                *room,
            ),
        )


class ElasticPoolCalls(Resource):
    """What ElasticPool inherits."""

    def info(self) -> ElasticPoolInfo:
        """Describes an elastic pool."""
        from ._records import ElasticPoolInfo

        raw = _abi.ferrum_elastic_pool_info.init()
        _native.check(
            _native.functions().ferrum_elastic_pool_get_info(self._handle, ctypes.byref(raw))
        )
        return ElasticPoolInfo.from_abi(raw)

    def statistics(self) -> Statistics:
        """Books of an elastic pool: its live blocks are the ranges of all models."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_elastic_pool_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)

    def set_limit(self, limit_bytes: int | None) -> None:
        """Changes the limit of all models together while they run; None: what the device has. What
        is mapped stays, and free pages above the limit go back to the device, as with
        VirtualPool.set_limit(). Below what the models use or are guaranteed, one that stays
        within its guarantee may have to wait until those above theirs have given.

        Raises:
            InvalidConfigError: for less than the models have asked to be guaranteed, or than a
                page.
            OutOfPhysicalMemoryError: for more than the device has.
        """
        _native.check(
            _native.functions().ferrum_elastic_pool_set_limit(
                self._handle, 0 if limit_bytes is None else u64("limit_bytes", limit_bytes)
            )
        )

    def compact(self) -> CompactReport:
        """As VirtualPool.compact()."""
        from ._records import CompactReport

        raw = _abi.ferrum_compact_report.init()
        _native.check(
            _native.functions().ferrum_elastic_pool_compact(self._handle, ctypes.byref(raw))
        )
        return CompactReport.from_abi(raw)

    def trim(self, keep_bytes: int = 0) -> int:
        """As VirtualPool.trim()."""
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_elastic_pool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def synchronize(self, timeout_s: float | None = None) -> None:
        """As VirtualPool.synchronize(), for the ranges of all models.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.
        """
        handle, function = self._handle, _native.functions().ferrum_elastic_pool_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def pause(self) -> None:
        """As VirtualPool.pause()."""
        _native.check(_native.functions().ferrum_elastic_pool_pause(self._handle))

    def resume(self) -> None:
        """Ends a ElasticPool.pause()."""
        _native.check(_native.functions().ferrum_elastic_pool_resume(self._handle))


class MonitorCalls(Resource):
    """What Monitor inherits."""

    def register(self, manager: Manager) -> None:
        """Has the monitor watch a manager and its device. The registration is weak: it keeps
        neither from being destroyed, and a manager that is destroyed leaves by itself before
        that call returns. Several managers of one device are one device to the monitor.

        Raises:
            AlreadyExistsError: for one that is registered.
        """
        _native.check(_native.functions().ferrum_monitor_register(self._handle, manager._handle))

    def pressure(self, *, max_age_s: float = 0.0) -> MonitorPressure:
        """Gives the pressure of all devices together.

        Args:
            max_age_s: as for Device.memory_info(), for the system, too.
        """
        from ._records import MonitorPressure

        raw = _abi.ferrum_monitor_pressure.init()
        _native.check(
            _native.functions().ferrum_monitor_get_pressure(
                self._handle, nanoseconds("max_age_s", max_age_s), ctypes.byref(raw)
            )
        )
        return MonitorPressure.from_abi(raw)


class GenericPoolCalls(Resource):
    """What GenericPool inherits."""

    def record_cpu_fallback(self) -> None:
        """Counts a request that the caller has served on the host."""
        _native.check(_native.functions().ferrum_generic_pool_record_cpu_fallback(self._handle))


class FallbackManagerCalls(Resource):
    """What FallbackManager inherits."""

    def fallback_stats(self) -> FallbackStats:
        """Gives what of a fallback manager is or was on the host."""
        from ._records import FallbackStats

        raw = _abi.ferrum_fallback_stats.init()
        _native.check(
            _native.functions().ferrum_fallback_manager_get_fallback_stats(
                self._handle, ctypes.byref(raw)
            )
        )
        return FallbackStats.from_abi(raw)

    def pressure(self) -> PressureLevel:
        """The level of the device by PressureProfile.EARLY, of this moment."""
        raw = _abi.ferrum_pressure_level()
        _native.check(
            _native.functions().ferrum_fallback_manager_get_pressure(
                self._handle, ctypes.byref(raw)
            )
        )
        return PressureLevel(raw.value)

    def clear_pool(self) -> None:
        """Empties the buckets. The memory is ready for buffers of any size, and may still be held
        from the device.
        """
        _native.check(_native.functions().ferrum_fallback_manager_clear_pool(self._handle))

    def shrink(self) -> int:
        """Empties the buckets and gives what holds no buffer back, on both sides.

        Returns:
            What the device has taken back.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_fallback_manager_shrink(self._handle, ctypes.byref(raw))
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
            _native.functions().ferrum_fallback_manager_return_buffers(
                self._handle, ctypes.byref(raw)
            )
        )
        return raw.value

    def release(self, location: BufferLocation, address: int, stream: Stream | None = None) -> None:
        """Ends storage that was taken, after what is queued on a stream of the device, which is
        optional. InvalidArgumentError for a location that is none, InvalidAddressError for
        storage that is none.
        """
        _native.check(
            _native.functions().ferrum_fallback_manager_release(
                self._handle,
                i32("location", location),
                u64("address", address),
                _abi.ferrum_stream() if stream is None else stream._handle,
            )
        )


class FallbackBufferCalls(Resource):
    """What FallbackBuffer inherits."""

    def address(self, location: BufferLocation) -> int:
        """Gives where a buffer is on that side. InvalidStateError: it is on the other."""
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_fallback_buffer_get_address(
                self._handle, i32("location", location), ctypes.byref(raw)
            )
        )
        return raw.value

    def unpin(self) -> None:
        """Ends one FallbackBuffer.pin(). InvalidStateError: there is none."""
        _native.check(_native.functions().ferrum_fallback_buffer_unpin(self._handle))
