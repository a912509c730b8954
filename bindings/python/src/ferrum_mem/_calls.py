# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The simple methods of objects of the library, by kind; their classes inherit them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _abi, _native
from ._arguments import choice, handle_of, listed, record
from ._enums import MemoryType, UsageHint
from ._enums_by_hand import BufferLocation, PressureLevel
from ._owned import Resource
from ._values import i32, nanoseconds, u32, u64
from ._waits import wait

if TYPE_CHECKING:
    from . import Device, Event, Manager, Stream
    from ._records import (
        CompactReport,
        ElasticPoolInfo,
        FallbackStats,
        KvCacheStats,
        KvCopy,
        KvSequence,
        MonitorPressure,
        PoolConfig,
        PoolInfo,
        Statistics,
        UsageHints,
        VirtualPoolInfo,
        WeightsProgress,
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
        """Allows work of another device, such as a kernel that the library does not know of, to use
        the memory of a device: its allocations, and memory that is mapped in virtual memory now
        and later, with the access rights of the device itself. The access ends when one of the
        devices is closed. On devices whose memory the process can address, the call has no
        effect.

        Args:
            peer: the device that gets the access.

        Raises:
            UnsupportedError: when the peer cannot reach the memory of the device.
            InvalidArgumentError: for the device itself.
        """
        _native.check(
            _native.functions().ferrum_device_grant_peer(
                self._handle, handle_of("peer", peer, DeviceCalls)
            )
        )


class StreamCalls(Resource):
    """What Stream inherits."""

    def is_ready(self) -> bool:
        """Returns without waiting whether all work queued so far has completed or not."""
        raw = ctypes.c_uint32()
        _native.check(_native.functions().ferrum_stream_is_ready(self._handle, ctypes.byref(raw)))
        return bool(raw.value)

    def wait_event(self, event: Event) -> None:
        """Makes all later work of the stream wait for the event. The event may belong to another
        stream, or to another device of the same backend.

        Raises:
            UnsupportedError: for an event of another backend.
        """
        _native.check(
            _native.functions().ferrum_stream_wait_event(
                self._handle, handle_of("event", event, EventCalls)
            )
        )


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
        """Checks every block of a pool in debug mode: the red zones of live blocks, and the
        contents of blocks in quarantine. The call repairs the damage that it reports, so each
        damage is reported once.

        Raises:
            CorruptedError: for the first damage; the log has all of it. A pool without debug mode
                is not checked.
        """
        _native.check(_native.functions().ferrum_pool_check(self._handle))

    def trim(self, keep_bytes: int = 0) -> int:
        """Takes back the blocks of the thread caches, and releases segments and pages without a
        live block to the system. It stops when the pool holds no more than keep_bytes (or the
        pool's min_held_bytes), or when no free segment or page is left.

        Returns:
            Number of released bytes.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_pool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def set_limit(self, max_size_bytes: int | None) -> None:
        """Changes the upper bound of the pool; None removes it. A bound below the held memory
        releases cached memory. Live blocks stay.
        """
        _native.check(
            _native.functions().ferrum_pool_set_limit(
                self._handle, 0 if max_size_bytes is None else u64("max_size_bytes", max_size_bytes)
            )
        )

    def set_min_held(self, min_held_bytes: int) -> None:
        """Changes min_held_bytes of the pool."""
        _native.check(
            _native.functions().ferrum_pool_set_min_held(
                self._handle, u64("min_held_bytes", min_held_bytes)
            )
        )

    def set_release_threshold(self, release_threshold_bytes: int | None) -> None:
        """Changes release_threshold_bytes of the pool, and releases free memory above the
        threshold. None: no threshold.
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
        """Describes the memory of a pool."""
        from ._records import PoolInfo

        raw = _abi.ferrum_pool_info.init()
        _native.check(_native.functions().ferrum_pool_get_info(self._handle, ctypes.byref(raw)))
        return PoolInfo.from_abi(raw)

    def statistics(self) -> Statistics:
        """Returns the counters of a pool."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_pool_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)


class ManagerCalls(Resource):
    """What Manager inherits."""

    def configure_pool(self, memory_type: MemoryType, config: PoolConfig) -> None:
        """Sets the pool settings of a memory type from now on. Live blocks of the type stay in
        their pool until they are freed. New blocks come from a pool with the new settings.
        """
        _native.check(
            _native.functions().ferrum_manager_configure_pool(
                self._handle,
                choice("memory_type", memory_type, MemoryType),
                ctypes.byref(record("config", config, "PoolConfig").to_abi()),
            )
        )

    def statistics(self) -> Statistics:
        """Returns the counters of a manager: the sum over its pools."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_manager_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)


class MemoryCalls(Resource):
    """What Memory inherits."""

    def pin(self) -> int:
        """Returns the address of a block, and keeps the block at this address until Memory.unpin()
        has been called as often as Memory.pin(). Use it for work on the address that the library
        does not know of. Every block can be pinned. The call waits for a running move of the
        block. A pinned block cannot be freed. Destroying its manager with FORCE frees it.

        Raises:
            ResourceExhaustedError: for a block that is pinned 2^32 - 1 times.
        """
        raw = ctypes.c_uint64()
        _native.check(_native.functions().ferrum_memory_pin(self._handle, ctypes.byref(raw)))
        return raw.value

    def unpin(self) -> None:
        """Undoes one Memory.pin().

        Raises:
            InvalidStateError: for a block that is not pinned.
        """
        _native.check(_native.functions().ferrum_memory_unpin(self._handle))

    def prefetch(self, target: Device, stream: Stream | None = None) -> None:
        """Queues a prefetch of a block to a device that will use it, and returns. The contents stay
        the same. A prefetch is not counted as an access. On the host, the system allocates the
        physical memory of the block. On other devices, MemoryType.MANAGED migrates to the target
        (a host device means the host); other memory stays.

        Args:
            target: the block's own device, or another.
            stream: a stream of the block's device; None: its default stream.

        Raises:
            UnsupportedError: for a device that the block cannot migrate to.
        """
        _native.check(
            _native.functions().ferrum_memory_prefetch(
                self._handle,
                handle_of("target", target, DeviceCalls),
                _abi.ferrum_stream()
                if stream is None
                else handle_of("stream", stream, StreamCalls),
            )
        )

    def set_usage_hint(self, hint: UsageHint) -> None:
        """Stores a hint with a block, in place of an earlier hint of the same group. UsageHint.NONE
        removes all hints. Programs read hints with Memory.usage_hints(). The library itself uses
        them only for MemoryType.MANAGED: it passes UsageHint.READ_MOSTLY (each reader may have a
        copy) and UsageHint.RESIDENT (the memory stays at the device) to the device. If the
        device rejects one, the hints stay as they were.

        Raises:
            InvalidArgumentError: for an unknown hint.
        """
        _native.check(
            _native.functions().ferrum_memory_set_usage_hint(
                self._handle, choice("hint", hint, UsageHint)
            )
        )

    def usage_hints(self) -> UsageHints:
        """Returns the hints of a block."""
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
        """Records a further stream that uses every page that a range touches. When the pages are
        freed, the free also waits for the work that is queued on this stream at that time. The
        range may be a part of an allocation, or of several allocations. The stream that a range
        belongs to does not need this call.

        Args:
            stream: None: the default stream.

        Raises:
            InvalidOffsetError: for a range that ends outside the pool.
            InvalidSizeError: for a size of 0.
            NotMappedError: with offset and size of the first page that is not mapped.
            InvalidStateError: for a page that is asleep.
            BusyError: for a page that a running call puts to sleep or wakes.
        """
        _native.check(
            _native.functions().ferrum_vpool_record_stream(
                self._handle,
                u64("offset_bytes", offset_bytes),
                u64("size_bytes", size_bytes),
                _abi.ferrum_stream()
                if stream is None
                else handle_of("stream", stream, StreamCalls),
            )
        )

    def is_mapped(self, offset_bytes: int, size_bytes: int) -> bool:
        """Returns whether every page that a range touches is mapped or not. The result is False for
        a range that ends outside the pool or has no bytes.
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
        """Returns the counters of a virtual pool. Its live blocks are ranges."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_vpool_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)

    def compact(self) -> CompactReport:
        """Joins unused pages. The call unmaps parked pages. It keeps ready_pages free pages,
        adjacent ones first, and releases the others to the device. Mapped ranges keep their
        places.
        """
        from ._records import CompactReport

        raw = _abi.ferrum_compact_report.init()
        _native.check(_native.functions().ferrum_vpool_compact(self._handle, ctypes.byref(raw)))
        return CompactReport.from_abi(raw)

    def trim(self, keep_bytes: int = 0) -> int:
        """Releases parked and ready pages to the device, until the pool holds no more than
        keep_bytes of them.

        Returns:
            Number of released bytes.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_vpool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def set_limit(self, limit_bytes: int | None) -> None:
        """Changes the limit while the pool is in use; None: the memory of the device. Mapped ranges
        stay. Free pages above the limit are released to the device. For movable pages the worker
        of the pool does that after the call.

        Raises:
            OutOfPhysicalMemoryError: for a limit above the memory of the device.
        """
        _native.check(
            _native.functions().ferrum_vpool_set_limit(
                self._handle, 0 if limit_bytes is None else u64("limit_bytes", limit_bytes)
            )
        )

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until the pool has no retiring range.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: when it takes longer.
        """
        handle, function = self._handle, _native.functions().ferrum_vpool_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def pause(self) -> None:
        """Stops the worker of the pool from making pages ready, until VirtualPool.resume(). The
        call returns when the worker has finished its present step.
        """
        _native.check(_native.functions().ferrum_vpool_pause(self._handle))

    def resume(self) -> None:
        """Undoes a VirtualPool.pause()."""
        _native.check(_native.functions().ferrum_vpool_resume(self._handle))

    def export(self, offset_bytes: int, size_bytes: int) -> list[int]:
        """Creates a file descriptor for each page of a range of a virtual pool with
        Backing.SHAREABLE, in order: for all pages, or for none on failure. The caller closes
        them. Another process gets the descriptors through a socket or by inheritance, and maps
        the same memory with Manager.import_pages(). The memory is released to the system when no
        process uses it.

        When the range is freed, its pages stay in the pool, which reuses them for its next
        ranges. Importing processes must free their blocks before that.

        Args:
            offset_bytes,size_bytes: whole pages, all of them mapped.

        Raises:
            InvalidArgumentError: for a pool with another backing.
            InvalidOffsetError, InvalidSizeError, NotMappedError.
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
        """Returns the counters of an elastic pool. Its live blocks are the ranges of all models."""
        from ._records import Statistics

        raw = _abi.ferrum_statistics.init()
        _native.check(
            _native.functions().ferrum_elastic_pool_get_statistics(self._handle, ctypes.byref(raw))
        )
        return Statistics.from_abi(raw)

    def set_limit(self, limit_bytes: int | None) -> None:
        """Changes the limit of all models together while they run; None: the memory of the device.
        Mapped ranges stay. Free pages above the limit are released to the device, as with
        VirtualPool.set_limit(). If the limit falls below the memory that the models use or have
        as guarantees, a model within its guarantee may have to wait until models above their
        guarantees have released pages.

        Raises:
            InvalidConfigError: for a limit below the requested guarantees or below one page.
            OutOfPhysicalMemoryError: for a limit above the memory of the device.
        """
        _native.check(
            _native.functions().ferrum_elastic_pool_set_limit(
                self._handle, 0 if limit_bytes is None else u64("limit_bytes", limit_bytes)
            )
        )

    def compact(self) -> CompactReport:
        """The same as VirtualPool.compact()."""
        from ._records import CompactReport

        raw = _abi.ferrum_compact_report.init()
        _native.check(
            _native.functions().ferrum_elastic_pool_compact(self._handle, ctypes.byref(raw))
        )
        return CompactReport.from_abi(raw)

    def trim(self, keep_bytes: int = 0) -> int:
        """The same as VirtualPool.trim()."""
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_elastic_pool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(raw)
            )
        )
        return raw.value

    def synchronize(self, timeout_s: float | None = None) -> None:
        """The same as VirtualPool.synchronize(), for the ranges of all models.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.
        """
        handle, function = self._handle, _native.functions().ferrum_elastic_pool_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def pause(self) -> None:
        """The same as VirtualPool.pause()."""
        _native.check(_native.functions().ferrum_elastic_pool_pause(self._handle))

    def resume(self) -> None:
        """Ends a ElasticPool.pause()."""
        _native.check(_native.functions().ferrum_elastic_pool_resume(self._handle))


class MonitorCalls(Resource):
    """What Monitor inherits."""

    def register(self, manager: Manager) -> None:
        """Adds a manager and its device to the monitor. The registration does not prevent the
        destruction of either. Destroying a manager removes it from the monitor before the
        destroy call returns. Several managers of one device count as one device.

        Raises:
            AlreadyExistsError: for a manager that is registered.
        """
        _native.check(
            _native.functions().ferrum_monitor_register(
                self._handle, handle_of("manager", manager, ManagerCalls)
            )
        )

    def pressure(self, *, max_age_s: float = 0.0) -> MonitorPressure:
        """Returns the pressure of all devices together.

        Args:
            max_age_s: as for Device.memory_info(), also for the reading of the system.
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
        """Counts a request that the caller served on the host."""
        _native.check(_native.functions().ferrum_generic_pool_record_cpu_fallback(self._handle))


class FallbackManagerCalls(Resource):
    """What FallbackManager inherits."""

    def fallback_stats(self) -> FallbackStats:
        """Returns the counters of a fallback manager for the host."""
        from ._records import FallbackStats

        raw = _abi.ferrum_fallback_stats.init()
        _native.check(
            _native.functions().ferrum_fallback_manager_get_fallback_stats(
                self._handle, ctypes.byref(raw)
            )
        )
        return FallbackStats.from_abi(raw)

    def pressure(self) -> PressureLevel:
        """Returns the present level of the device by PressureProfile.EARLY."""
        raw = _abi.ferrum_pressure_level()
        _native.check(
            _native.functions().ferrum_fallback_manager_get_pressure(
                self._handle, ctypes.byref(raw)
            )
        )
        return PressureLevel(raw.value)

    def clear_pool(self) -> None:
        """Empties the buckets. The memory can then be allocated for buffers of any size, and may
        still be held from the device.
        """
        _native.check(_native.functions().ferrum_fallback_manager_clear_pool(self._handle))

    def shrink(self) -> int:
        """Empties the buckets and releases free memory on both sides.

        Returns:
            Number of bytes released to the device.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_fallback_manager_shrink(self._handle, ctypes.byref(raw))
        )
        return raw.value

    def return_buffers(self) -> int:
        """Moves the buffers that fell back to the device, the oldest first, until the device has no
        room for the next one. Pinned buffers stay, and no memory is reclaimed for it. The
        addresses of buffers that are not pinned may change. The call moves none while another
        thread does the same.

        Returns:
            Number of moved buffers.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_fallback_manager_return_buffers(
                self._handle, ctypes.byref(raw)
            )
        )
        return raw.value

    def release(self, location: BufferLocation, address: int, stream: Stream | None = None) -> None:
        """Releases taken storage after the work that is queued on a stream of the device, which is
        optional. InvalidArgumentError for an unknown location; InvalidAddressError for an
        address without such storage.
        """
        _native.check(
            _native.functions().ferrum_fallback_manager_release(
                self._handle,
                choice("location", location, BufferLocation),
                u64("address", address),
                _abi.ferrum_stream()
                if stream is None
                else handle_of("stream", stream, StreamCalls),
            )
        )


class FallbackBufferCalls(Resource):
    """What FallbackBuffer inherits."""

    def address(self, location: BufferLocation) -> int:
        """Returns the address of a buffer on a side. InvalidStateError when the buffer is on the
        other side.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_fallback_buffer_get_address(
                self._handle, choice("location", location, BufferLocation), ctypes.byref(raw)
            )
        )
        return raw.value

    def unpin(self) -> None:
        """Undoes one FallbackBuffer.pin(). InvalidStateError when the buffer is not pinned."""
        _native.check(_native.functions().ferrum_fallback_buffer_unpin(self._handle))


class WeightsCalls(Resource):
    """What Weights inherits."""

    def metadata(self) -> Any:
        """Returns the content of the source, as JSON with the fields of docs/weights.md: format,
        total_size_bytes, dtypes, tensors with their shapes, and extra.
        """
        return _native.read_json(
            lambda *room: _native.functions().ferrum_weights_metadata_json(self._handle, *room)
        )


class TensorSetCalls(Resource):
    """What TensorSet inherits."""

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits until the load is over, and returns its result.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Raises:
            TimeoutError.
            CancelledError: after a cancel; otherwise the error of the load, such as
                OutOfMemoryError of its memory, or IoError for a file that became shorter.
            InvalidStateError: inside the progress callback of the load.
        """
        handle, function = self._handle, _native.functions().ferrum_tensor_set_wait
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def cancel(self) -> None:
        """Makes the load end soon. Has no effect if the load is over."""
        _native.check(_native.functions().ferrum_tensor_set_cancel(self._handle))

    def progress(self) -> WeightsProgress:
        """Returns the progress of the load. Never waits."""
        from ._records import WeightsProgress

        raw = _abi.ferrum_weights_progress.init()
        _native.check(
            _native.functions().ferrum_tensor_set_get_progress(self._handle, ctypes.byref(raw))
        )
        return WeightsProgress.from_abi(raw)

    def count(self) -> int:
        """Returns the number of tensors.

        Raises:
            InvalidStateError: while the load runs; its error after a failure.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_tensor_set_get_count(self._handle, ctypes.byref(raw))
        )
        return raw.value

    def tensor_name(self, index: int) -> str:
        """Returns the name of a tensor by its index.

        Raises:
            errors of TensorSet.tensor().
        """
        return _native.read_text(
            lambda *room: _native.functions().ferrum_tensor_set_get_tensor_name(
                self._handle, u64("index", index), *room
            )
        )

    def tensors(self) -> Any:
        """Returns all tensors of a set in their order, as JSON with the fields of docs/weights.md.

        Raises:
            errors of TensorSet.count().
        """
        return _native.read_json(
            lambda *room: _native.functions().ferrum_tensor_set_tensors_json(self._handle, *room)
        )

    def check(self) -> None:
        """Checks that no file of a mapped set has become shorter. For a set that is not mapped the
        check always succeeds.

        Raises:
            IoError: which names a file that became shorter; errors of TensorSet.count().
        """
        _native.check(_native.functions().ferrum_tensor_set_check(self._handle))


class KvCacheCalls(Resource):
    """What KvCache inherits."""

    def hash_tokens(self, parent: int, tokens: Iterable[int]) -> list[int]:
        """Computes the hashes of the whole blocks of tokens. The hash of a block stands for the
        tokens of the block and of all blocks before it. Two different prefixes have the same
        hash with a probability of 2^-64.

        Args:
            parent: the hash of the block before the tokens; 0 at the start of a sequence.
        """
        kept_tokens = [i32("tokens", each) for each in listed("tokens", tokens, "numbers")]
        raw_tokens = (ctypes.c_int32 * len(kept_tokens))(*kept_tokens)
        return _native.read_array(
            ctypes.c_uint64,
            lambda *room: _native.functions().ferrum_kv_cache_hash_tokens(
                self._handle, u64("parent", parent), raw_tokens, len(raw_tokens), *room
            ),
        )

    def find(self, hashes: Iterable[int]) -> int:
        """Returns how many hashes of a prefix, from the first one, have a block."""
        kept_hashes = [u64("hashes", each) for each in listed("hashes", hashes, "numbers")]
        raw_hashes = (ctypes.c_uint64 * len(kept_hashes))(*kept_hashes)
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_kv_cache_find(
                self._handle, raw_hashes, len(raw_hashes), ctypes.byref(raw)
            )
        )
        return raw.value

    def allocate(
        self, lengths: Iterable[int], prefix_blocks: Iterable[int], hashes: Iterable[int]
    ) -> list[KvSequence]:
        """Makes sequences with blocks for their tokens. The first blocks of a sequence are shared
        with the longest published prefix of its hashes; the program computes the keys and values
        of the other tokens.

        Raises:
            InvalidSizeError: for a sequence that is longer than those of the cache.
            ResourceExhaustedError: for too many sequences.
            OutOfMemoryError: if there are not enough blocks.
            BusyError: while the memory sleeps.
        """
        from ._records import KvSequence

        kept_lengths = [u32("lengths", each) for each in listed("lengths", lengths, "numbers")]
        raw_lengths = (ctypes.c_uint32 * len(kept_lengths))(*kept_lengths)
        kept_prefix_blocks = [
            u32("prefix_blocks", each) for each in listed("prefix_blocks", prefix_blocks, "numbers")
        ]
        raw_prefix_blocks = (ctypes.c_uint32 * len(kept_prefix_blocks))(*kept_prefix_blocks)
        kept_hashes = [u64("hashes", each) for each in listed("hashes", hashes, "numbers")]
        raw_hashes = (ctypes.c_uint64 * len(kept_hashes))(*kept_hashes)
        return [
            KvSequence.from_abi(each)
            for each in _native.read_array(
                _abi.ferrum_kv_sequence,
                lambda *room: _native.functions().ferrum_kv_cache_allocate(
                    self._handle,
                    raw_lengths,
                    len(raw_lengths),
                    raw_prefix_blocks,
                    len(raw_prefix_blocks),
                    raw_hashes,
                    len(raw_hashes),
                    *room,
                ),
            )
        ]

    def append(self, sequences: Iterable[int], lengths: Iterable[int]) -> list[KvCopy]:
        """Adds tokens to sequences, and the blocks that the tokens need. If other sequences share
        the last block of a sequence, the sequence gets a copy of its own. A published block
        whose contents change loses its hash. With a sliding window, the blocks that the first
        new token does not reach are released before new ones are taken.

        Raises:
            InvalidHandleError: for a sequence that does not live.
            InvalidOffsetError: for positions beyond sequence_tokens.
            InvalidStateError: for a sequence that is swapped out.
            OutOfMemoryError: if there are not enough blocks: the sequences live and are
                unchanged.
            BusyError: while the memory sleeps.
        """
        from ._records import KvCopy

        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        kept_lengths = [u32("lengths", each) for each in listed("lengths", lengths, "numbers")]
        raw_lengths = (ctypes.c_uint32 * len(kept_lengths))(*kept_lengths)
        return [
            KvCopy.from_abi(each)
            for each in _native.read_array(
                _abi.ferrum_kv_copy,
                lambda *room: _native.functions().ferrum_kv_cache_append(
                    self._handle,
                    raw_sequences,
                    len(raw_sequences),
                    raw_lengths,
                    len(raw_lengths),
                    *room,
                ),
            )
        ]

    def publish(
        self, sequences: Iterable[int], prefix_blocks: Iterable[int], hashes: Iterable[int]
    ) -> None:
        """States that whole blocks of sequences have their contents, and gives them hashes, so that
        later sequences with the same prefix share them. A hash that another block has is
        skipped.

        Raises:
            InvalidArgumentError: for more hashes than whole blocks.
            InvalidHandleError, InvalidStateError: as for KvCache.append().
        """
        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        kept_prefix_blocks = [
            u32("prefix_blocks", each) for each in listed("prefix_blocks", prefix_blocks, "numbers")
        ]
        raw_prefix_blocks = (ctypes.c_uint32 * len(kept_prefix_blocks))(*kept_prefix_blocks)
        kept_hashes = [u64("hashes", each) for each in listed("hashes", hashes, "numbers")]
        raw_hashes = (ctypes.c_uint64 * len(kept_hashes))(*kept_hashes)
        _native.check(
            _native.functions().ferrum_kv_cache_publish(
                self._handle,
                raw_sequences,
                len(raw_sequences),
                raw_prefix_blocks,
                len(raw_prefix_blocks),
                raw_hashes,
                len(raw_hashes),
            )
        )

    def fork(self, sequences: Iterable[int]) -> list[int]:
        """Makes a copy of each sequence, which shares all of its blocks.

        Raises:
            InvalidHandleError: for a sequence that does not live.
            InvalidStateError: for one that is swapped out.
            ResourceExhaustedError: for too many sequences.
        """
        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        return _native.read_array(
            ctypes.c_uint64,
            lambda *room: _native.functions().ferrum_kv_cache_fork(
                self._handle, raw_sequences, len(raw_sequences), *room
            ),
        )

    def truncate(self, sequences: Iterable[int], lengths: Iterable[int]) -> None:
        """Shortens sequences and releases the blocks behind their end, as after rejected tokens of
        speculative decoding.

        Raises:
            InvalidOffsetError: for a length above the present one, and for one whose window
                reaches blocks that were released.
            InvalidHandleError, InvalidStateError: as for KvCache.append().
        """
        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        kept_lengths = [u32("lengths", each) for each in listed("lengths", lengths, "numbers")]
        raw_lengths = (ctypes.c_uint32 * len(kept_lengths))(*kept_lengths)
        _native.check(
            _native.functions().ferrum_kv_cache_truncate(
                self._handle, raw_sequences, len(raw_sequences), raw_lengths, len(raw_lengths)
            )
        )

    def free(self, sequences: Iterable[int]) -> None:
        """Ends sequences and releases their blocks. Published blocks stay cached until the cache
        needs them. Sequences that are swapped out can be freed as well.

        Raises:
            InvalidHandleError: for a sequence that does not live.
        """
        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        _native.check(
            _native.functions().ferrum_kv_cache_free(
                self._handle, raw_sequences, len(raw_sequences)
            )
        )

    def swap_out(self, sequences: Iterable[int]) -> list[KvCopy]:
        """Copies sequences to blocks of the host and releases their blocks. Sequences of one call
        that share blocks share the copies. Only KvCache.swap_in(), KvCache.free() and
        KvCache.lengths() accept a sequence that is swapped out.

        Raises:
            ResourceExhaustedError: if the host has too few free blocks; errors of
                KvCache.append().
        """
        from ._records import KvCopy

        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        return [
            KvCopy.from_abi(each)
            for each in _native.read_array(
                _abi.ferrum_kv_copy,
                lambda *room: _native.functions().ferrum_kv_cache_swap_out(
                    self._handle, raw_sequences, len(raw_sequences), *room
                ),
            )
        ]

    def swap_in(self, sequences: Iterable[int]) -> list[KvCopy]:
        """Copies sequences back to blocks of the device. A block whose hash is still published
        there is shared instead.

        Raises:
            errors of KvCache.append().
        """
        from ._records import KvCopy

        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        return [
            KvCopy.from_abi(each)
            for each in _native.read_array(
                _abi.ferrum_kv_copy,
                lambda *room: _native.functions().ferrum_kv_cache_swap_in(
                    self._handle, raw_sequences, len(raw_sequences), *room
                ),
            )
        ]

    def block_tables(self, sequences: Iterable[int], width: int) -> list[int]:
        """Returns the block tables of sequences, one after the other.

        Args:
            width: number of entries for each sequence. Entries behind the blocks of a sequence,
                and those before its window, are -1.

        Raises:
            InvalidHandleError.
            InvalidStateError: for a sequence that is swapped out.
        """
        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        return _native.read_array(
            ctypes.c_int32,
            lambda *room: _native.functions().ferrum_kv_cache_block_tables(
                self._handle, raw_sequences, len(raw_sequences), u64("width", width), *room
            ),
        )

    def lengths(self, sequences: Iterable[int]) -> list[int]:
        """Returns the numbers of tokens of sequences.

        Raises:
            InvalidHandleError.
        """
        kept_sequences = [
            u64("sequences", each) for each in listed("sequences", sequences, "numbers")
        ]
        raw_sequences = (ctypes.c_uint64 * len(kept_sequences))(*kept_sequences)
        return _native.read_array(
            ctypes.c_uint32,
            lambda *room: _native.functions().ferrum_kv_cache_lengths(
                self._handle, raw_sequences, len(raw_sequences), *room
            ),
        )

    def plane(self, layer: int, values: bool) -> tuple[int, int]:
        """Returns the memory of the keys of a layer, or of its values: an array of the shape
        [blocks, kv_heads, block_tokens, head_dim] without gaps. Only blocks that sequences use
        can be accessed.

        Args:
            layer: 0 to layers - 1.
            values: 0: the keys, 1: the values.

        Returns:
            Address of block 0.
            Size of all blocks.

        Raises:
            InvalidArgumentError: for layer.
            InvalidStateError: for a cache without memory.
        """
        raw_address = ctypes.c_uint64()
        raw_size_bytes = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_kv_cache_plane(
                self._handle,
                u32("layer", layer),
                bool(values),
                ctypes.byref(raw_address),
                ctypes.byref(raw_size_bytes),
            )
        )
        return raw_address.value, raw_size_bytes.value

    def trim(self, keep_cached_blocks: int) -> int:
        """Evicts cached blocks, those that were not used for the longest time first, until at most
        so many are left, and releases the memory of all chunks without contents.

        Args:
            keep_cached_blocks: number of cached blocks to keep.

        Returns:
            Number of blocks that have lost their memory.
        """
        raw = ctypes.c_uint64()
        _native.check(
            _native.functions().ferrum_kv_cache_trim(
                self._handle, u64("keep_cached_blocks", keep_cached_blocks), ctypes.byref(raw)
            )
        )
        return raw.value

    def stats(self) -> KvCacheStats:
        """Returns the state of a cache."""
        from ._records import KvCacheStats

        raw = _abi.ferrum_kv_cache_stats.init()
        _native.check(
            _native.functions().ferrum_kv_cache_get_stats(self._handle, ctypes.byref(raw))
        )
        return KvCacheStats.from_abi(raw)
