"""The plain values of the interface: enumerations, settings and readings."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _abi


class LogLevel(enum.IntEnum):
    """Weight of a log message."""

    DEBUG = _abi.FERRUM_LOG_DEBUG
    INFO = _abi.FERRUM_LOG_INFO
    WARNING = _abi.FERRUM_LOG_WARNING
    ERROR = _abi.FERRUM_LOG_ERROR


class PressureLevel(enum.IntEnum):
    """How full a device is: from 0, 70, 85 and 95 % of it not free."""

    LOW = _abi.FERRUM_PRESSURE_LOW
    MEDIUM = _abi.FERRUM_PRESSURE_MEDIUM
    HIGH = _abi.FERRUM_PRESSURE_HIGH
    CRITICAL = _abi.FERRUM_PRESSURE_CRITICAL

    @property
    def should_free(self) -> bool:
        """Whether memory ought to be freed: from HIGH on."""
        return self >= PressureLevel.HIGH

    @property
    def should_deny(self) -> bool:
        """Whether requests ought to be denied: at CRITICAL."""
        return self >= PressureLevel.CRITICAL


class PressureProfile(enum.IntEnum):
    """The bounds of the levels: STANDARD 70, 85 and 95 %, EARLY 60, 80 and 95 %."""

    STANDARD = _abi.FERRUM_PRESSURE_PROFILE_STANDARD
    EARLY = _abi.FERRUM_PRESSURE_PROFILE_EARLY


class MemoryType(enum.IntEnum):
    """What a block of a manager is used for. Each may have a pool of its own."""

    GENERAL = _abi.FERRUM_MEMORY_GENERAL
    TENSOR = _abi.FERRUM_MEMORY_TENSOR
    CACHE = _abi.FERRUM_MEMORY_CACHE
    TEMPORARY = _abi.FERRUM_MEMORY_TEMPORARY
    PINNED = _abi.FERRUM_MEMORY_PINNED
    MAPPED = _abi.FERRUM_MEMORY_MAPPED
    MANAGED = _abi.FERRUM_MEMORY_MANAGED


class Capability(enum.IntFlag):
    """What a device can do beyond the common."""

    HOST_ADDRESSABLE = _abi.FERRUM_CAPABILITY_HOST_ADDRESSABLE
    PEER = _abi.FERRUM_CAPABILITY_PEER
    VIRTUAL_MEMORY = _abi.FERRUM_CAPABILITY_VIRTUAL_MEMORY
    PINNED_MEMORY = _abi.FERRUM_CAPABILITY_PINNED_MEMORY
    LINKED_MEMORY = _abi.FERRUM_CAPABILITY_LINKED_MEMORY
    EXPORTED_PAGES = _abi.FERRUM_CAPABILITY_EXPORTED_PAGES
    SHARED_MEMORY = _abi.FERRUM_CAPABILITY_SHARED_MEMORY
    CAPTURE = _abi.FERRUM_CAPABILITY_CAPTURE
    MANAGED_MEMORY = _abi.FERRUM_CAPABILITY_MANAGED_MEMORY
    REGISTERED_MEMORY = _abi.FERRUM_CAPABILITY_REGISTERED_MEMORY
    STREAM_ORDERED = _abi.FERRUM_CAPABILITY_STREAM_ORDERED


class Debug(enum.IntFlag):
    """What a pool does to find misuse. Any of them makes it slower.

    RED_ZONES puts a zone before and behind every block and checks both when it is
    freed; POISON overwrites blocks when they are handed out and when they are freed;
    QUARANTINE keeps freed blocks back for a while and looks for writes into them;
    CALL_SITES keeps where each block was allocated and freed.
    """

    NONE = 0
    RED_ZONES = _abi.FERRUM_DEBUG_RED_ZONES
    POISON = _abi.FERRUM_DEBUG_POISON
    QUARANTINE = _abi.FERRUM_DEBUG_QUARANTINE
    CALL_SITES = _abi.FERRUM_DEBUG_CALL_SITES
    ALL = _abi.FERRUM_DEBUG_ALL


class BlockState(enum.IntEnum):
    """What is at an address: a live block, a freed one that queued work may still
    use, a freed one in a thread cache, free memory, memory of no use, or a range
    that sleeps."""

    LIVE = _abi.FERRUM_BLOCK_LIVE
    IN_FLIGHT = _abi.FERRUM_BLOCK_IN_FLIGHT
    CACHED = _abi.FERRUM_BLOCK_CACHED
    FREE = _abi.FERRUM_BLOCK_FREE
    UNUSABLE = _abi.FERRUM_BLOCK_UNUSABLE
    ASLEEP = _abi.FERRUM_BLOCK_ASLEEP


class Paging(enum.IntEnum):
    """How a pool takes its memory: page by page where the device can do it and the
    pool may hold 32 pages at least (AUTO), in segments, whole (OFF), or page by page
    (ON)."""

    AUTO = _abi.FERRUM_PAGING_AUTO
    OFF = _abi.FERRUM_PAGING_OFF
    ON = _abi.FERRUM_PAGING_ON


class SegmentSource(enum.IntEnum):
    """Where a pool has its segments from: the device (PLAIN), or a pool of the vendor's
    runtime, which takes them back without waiting for work of others (STREAM_ORDERED)."""

    PLAIN = _abi.FERRUM_SEGMENTS_PLAIN
    STREAM_ORDERED = _abi.FERRUM_SEGMENTS_STREAM_ORDERED


ALL_PAGES = _abi.FERRUM_READY_PAGES_ALL
"""PoolConfig.ready_pages: idle pages go back only when they are asked for."""


@dataclass(frozen=True, kw_only=True)
class PoolConfig:
    """Settings of a pool.

    Attributes:
        enable_auto_expansion: grow when full, or never beyond the initial size.
        initial_size_bytes: first segment, taken at the first allocation; 0: as
            large as the growth increment. Over pages it is only the bound of a pool
            that does not grow, and what pre_allocate takes.
        max_size_bytes: upper bound of what the pool holds; 0: none.
        growth_increment_bytes: each further segment, larger if a request needs it; a
            pool over pages grows by the pages that it lacks.
        alignment_bytes: of every block, a power of two; 0: 256. Sizes are rounded
            up to it.
        pre_allocate: take the memory when the pool is made.
        enable_stats: keep peaks and counts.
        strategy: placement strategy: "best_fit", "size_class", "tlsf", "buddy",
            "arena" or "fixed"; None: the default.
        name: in reports, and tag of its blocks; at most 63 bytes of UTF-8.
        tracking: keep the time of every allocation, for ages in reports; goes past
            the thread caches.
        debug: what to do to find misuse; goes past the thread caches.
        thread_cache_bytes: how much each thread may keep of freed small and medium
            blocks; 0: off; None: the library chooses.
        min_held_bytes: what the pool keeps in any case.
        release_threshold_bytes: while more is held, a segment (a page) that a free
            leaves empty is given back at once; None: never at once.
        fixed_block_bytes: block size of "fixed", which needs it; 0 for the others.
        page_bytes: page of "fixed", a power of two; 0: that of the memory, or 2 MiB
            over segments.
        paging: how the pool takes its memory.
        ready_pages: how many pages that no block touches stay for the next
            allocations; ALL_PAGES: all; None: the library chooses.
        physical_page_bytes: the memory's pages, a power of two of at least
            Device.page_sizes().minimum_bytes; 0: what the device recommends.
        segment_source: where the segments come from; with STREAM_ORDERED there are no
            pages.
    """

    enable_auto_expansion: bool = True
    initial_size_bytes: int = 1 << 30
    max_size_bytes: int = 0
    growth_increment_bytes: int = 1 << 29
    alignment_bytes: int = 256
    pre_allocate: bool = False
    enable_stats: bool = True
    strategy: str | None = None
    name: str | None = None
    tracking: bool = False
    debug: Debug = Debug.NONE
    thread_cache_bytes: int | None = None
    min_held_bytes: int = 0
    release_threshold_bytes: int | None = None
    fixed_block_bytes: int = 0
    page_bytes: int = 0
    paging: Paging = Paging.AUTO
    ready_pages: int | None = None
    physical_page_bytes: int = 0
    segment_source: SegmentSource = SegmentSource.PLAIN


@dataclass(frozen=True)
class PoolInfo:
    """How a pool has its memory, at one moment. Pages are counts.

    Attributes:
        held_bytes: had from the device.
        page_bytes: size of its pages; 0: it takes segments whole, and the counts of
            pages are 0 too.
        mapped_pages: pages that are mapped.
        idle_pages: mapped pages that no block touches.
        ready_pages: how many idle pages stay, with as many in use as now.
        segments: segments, or ranges of addresses that pages are mapped in.
        address_bytes: their addresses.
    """

    held_bytes: int
    page_bytes: int
    mapped_pages: int
    idle_pages: int
    ready_pages: int
    segments: int
    address_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_pool_info) -> PoolInfo:
        """Takes the numbers over from the C struct, whose fields have the same names."""
        return cls(**{name: getattr(raw, name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True, kw_only=True)
class ManagerConfig:
    """Settings of a manager.

    Attributes:
        enable_tracking: keep age and tag of each block and statistics.
        enable_auto_gc: give back what is cached when gc_threshold is reached.
        enable_debug: fill new and freed blocks with patterns and check them.
        gc_threshold: used share of the device, above 0 and up to 1.
        max_concurrent_transfers: asynchronous copies in flight, 1 to 1024.
        pool_configs: pool settings by memory type; a type without has its blocks
            in the pool of MemoryType.GENERAL.
    """

    enable_tracking: bool = True
    enable_auto_gc: bool = True
    enable_debug: bool = False
    gc_threshold: float = 0.85
    max_concurrent_transfers: int = 4
    pool_configs: Mapping[MemoryType, PoolConfig] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceInfo:
    """Description of a device; total_bytes 0 means unknown."""

    id: str
    backend: str
    ordinal: int
    name: str
    capabilities: Capability
    total_bytes: int
    granularity_bytes: int
    alignment_bytes: int

    @property
    def host_addressable(self) -> bool:
        """Whether an address of the device is a pointer in this process."""
        return Capability.HOST_ADDRESSABLE in self.capabilities

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_device_info) -> DeviceInfo:
        """Reads the C struct."""
        return cls(
            id=raw.id.decode(),
            backend=raw.backend.decode(),
            ordinal=raw.ordinal,
            name=raw.name.decode("utf-8", "replace"),
            capabilities=Capability(raw.capabilities),
            total_bytes=raw.total_bytes,
            granularity_bytes=raw.granularity_bytes,
            alignment_bytes=raw.alignment_bytes,
        )


@dataclass(frozen=True)
class BackendDevice:
    """A device that a backend has found, before it is opened; capabilities in words.

    Attributes:
        total_bytes: capacity; 0 means unknown.
        free_bytes: what was free then; None if not known.
        compute_capability: the vendor's word for what the device can.
        unified_memory: the memory is shared with the host.
        max_allocation_bytes: bound of one allocation; None: nothing but the capacity.
        recommended_fraction_percent: how much of the capacity an engine should take.
    """

    id: str
    index: int
    name: str
    total_bytes: int
    free_bytes: int | None
    compute_capability: str | None
    unified_memory: bool
    max_allocation_bytes: int | None
    granularity_bytes: int
    alignment_bytes: int
    recommended_fraction_percent: int
    host_addressable: bool
    capabilities: tuple[str, ...]

    def can_fit(self, size_bytes: int) -> bool:
        """Whether it fits what is free or, where that is unknown, 80 % of the capacity."""
        if self.free_bytes is not None:
            return self.free_bytes >= size_bytes
        return self.total_bytes * 4 // 5 >= size_bytes

    def total_memory_gb(self) -> float:
        """The capacity in units of 2**30 bytes."""
        return self.total_bytes / 2**30

    def free_memory_gb(self) -> float | None:
        """What was free, in units of 2**30 bytes; None if not known."""
        return None if self.free_bytes is None else self.free_bytes / 2**30


@dataclass(frozen=True)
class Backend:
    """A backend with its devices, or why it cannot be used here.

    Attributes:
        backend: the name in device ids.
        name: the name for people.
        available: it works here and has devices.
        usable: this build can also open them.
        reason: why it is not available, in one word; error says it in full.
        native_code: number of the vendor's library or the system, or 0.
        library: file that the vendor's runtime was found as.
        version: of the vendor's interface.
    """

    backend: str
    name: str
    available: bool
    usable: bool
    reason: str | None
    error: str | None
    native_code: int
    library: str | None
    version: str | None
    devices: tuple[BackendDevice, ...]

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Backend:
        """Reads the library's JSON."""
        devices = tuple(
            BackendDevice(**{**entry, "capabilities": tuple(entry["capabilities"])})
            for entry in raw["devices"]
        )
        return cls(**{**raw, "devices": devices})


@dataclass(frozen=True)
class MemoryInfo:
    """A device's memory; used + free + reserved = total.

    Attributes:
        pressure: level of (total - free) / total.
        total_bytes: capacity; 0 means unknown.
        used_bytes: live blocks of this library and what it cannot hand out.
        free_bytes: what can still be handed out.
        reserved_bytes: everything else: the driver's, other processes', above the
            limit.
        active_allocations: live blocks of all pools and managers.
        fragmentation_ratio: 1 - largest free run / total free.
        utilization_percent: used / total * 100, for display.
        bandwidth_gbps: 10^9 bytes copied per second; None until it is measured.
        reading_age_ns: how long ago the device was asked; 0: just now.
        largest_free_bytes: longest run that can be handed out as things are.
    """

    pressure: PressureLevel
    total_bytes: int
    used_bytes: int
    free_bytes: int
    reserved_bytes: int
    active_allocations: int
    fragmentation_ratio: float
    utilization_percent: float
    bandwidth_gbps: float | None
    reading_age_ns: int = 0
    largest_free_bytes: int = 0

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_memory_info) -> MemoryInfo:
        """Reads the C struct."""
        return cls(
            pressure=PressureLevel(raw.pressure),
            total_bytes=raw.total_bytes,
            used_bytes=raw.used_bytes,
            free_bytes=raw.free_bytes,
            reserved_bytes=raw.reserved_bytes,
            active_allocations=raw.active_allocations,
            fragmentation_ratio=raw.fragmentation_ratio,
            utilization_percent=raw.utilization_percent,
            bandwidth_gbps=raw.bandwidth_gbps if raw.bandwidth_known else None,
            reading_age_ns=raw.reading_age_ns,
            largest_free_bytes=raw.largest_free_bytes,
        )


@dataclass(frozen=True)
class Gauge:
    """A number of the books with the highest value that it had."""

    current: int
    peak: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_gauge) -> Gauge:
        """Reads the C struct."""
        return cls(raw.current, raw.peak)


@dataclass(frozen=True)
class Statistics:
    """Books of a device, a pool or a manager, in bytes but for the counts.

    reserved = active + cached + unusable.

    Attributes:
        requested: asked for by the live blocks.
        allocated: live blocks after rounding.
        active: live, or freed and still in use by queued work.
        cached: held and ready to be handed out.
        unusable: held, but too small or badly placed to be handed out.
        reserved: had from the driver.
        live_blocks, segments: counts.
        allocations, frees, failures: counts so far.
        largest_free_bytes: longest free run.
        thread_cached_bytes: the part of cached that waits in thread caches.
    """

    requested: Gauge
    allocated: Gauge
    active: Gauge
    cached: Gauge
    unusable: Gauge
    reserved: Gauge
    live_blocks: Gauge
    segments: Gauge
    allocations: int
    frees: int
    failures: int
    largest_free_bytes: int
    thread_cached_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_statistics) -> Statistics:
        """Reads the C struct."""
        return cls(
            requested=Gauge.from_abi(raw.requested),
            allocated=Gauge.from_abi(raw.allocated),
            active=Gauge.from_abi(raw.active),
            cached=Gauge.from_abi(raw.cached),
            unusable=Gauge.from_abi(raw.unusable),
            reserved=Gauge.from_abi(raw.reserved),
            live_blocks=Gauge.from_abi(raw.live_blocks),
            segments=Gauge.from_abi(raw.segments),
            allocations=raw.allocations,
            frees=raw.frees,
            failures=raw.failures,
            largest_free_bytes=raw.largest_free_bytes,
            thread_cached_bytes=raw.thread_cached_bytes,
        )


@dataclass(frozen=True)
class BlockOwner:
    """Whom an address of a device belongs to.

    Attributes:
        state: what is there.
        pool: the library's number of the pool; 0 when it is another one.
        manager: the library's number of the manager whose pool it is, or 0.
        address: start of the block or of the free run; in a virtual pool, of the
            range or, where none is mapped, of the page.
        size_bytes: its length after rounding.
        requested_bytes: what was asked for; 0 when not live.
        age_ns: time since the allocation; 0 without tracking or when not live.
        pool_name: name of the pool, or "".
        tag: tag of the block, or "".
        vpool: the library's number of the virtual pool, or 0.
        elastic_pool: the library's number of the elastic pool, or 0.
        model: id of the model of the elastic pool, or "".
    """

    state: BlockState
    pool: int
    manager: int
    address: int
    size_bytes: int
    requested_bytes: int
    age_ns: int
    pool_name: str
    tag: str
    vpool: int
    elastic_pool: int
    model: str

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_block_info) -> BlockOwner:
        """Reads the C struct."""
        return cls(
            state=BlockState(raw.state),
            pool=raw.pool.id,
            manager=raw.manager,
            address=raw.address,
            size_bytes=raw.size_bytes,
            requested_bytes=raw.requested_bytes,
            age_ns=raw.age_ns,
            pool_name=raw.pool_name.decode("utf-8", "replace"),
            tag=raw.tag.decode("utf-8", "replace"),
            vpool=raw.vpool.id,
            elastic_pool=raw.elastic_pool.id,
            model=raw.model.decode("utf-8", "replace"),
        )


@dataclass(frozen=True)
class BlockInfo:
    """Description of a block of a manager.

    Attributes:
        handle: the library's number for the block.
        memory_type: what it is used for.
        size_bytes: as asked for.
        allocated_bytes: after rounding.
        alignment_bytes: largest power of two that divides the address, up to 1 GiB.
        address: on the device; if the block is relocatable and not pinned, until the
            next defragment() of its manager, and so is host_pointer.
        host_pointer: as the host sees it; None where it does not.
        allocated_at_ns: monotonic time since the library was started.
        is_mapped: mapped for host access by a call of the library.
        operations_in_flight: asynchronous operations on the block.
        tag: name for the books, or "".
        is_relocatable: defragment() may move it.
        pin_count: calls of pin() that unpin() has not ended, one for each view of a
            relocatable block among them.
        linked: the library's number for the block of another device that is the same
            memory, or 0.
        is_adopted: the memory is somebody else's.
    """

    handle: int
    memory_type: MemoryType
    size_bytes: int
    allocated_bytes: int
    alignment_bytes: int
    address: int
    host_pointer: int | None
    allocated_at_ns: int
    is_mapped: bool
    operations_in_flight: int
    tag: str
    is_relocatable: bool
    pin_count: int
    linked: int
    is_adopted: bool

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_handle_info) -> BlockInfo:
        """Reads the C struct."""
        return cls(
            handle=raw.memory.id,
            memory_type=MemoryType(raw.memory_type),
            size_bytes=raw.size_bytes,
            allocated_bytes=raw.allocated_bytes,
            alignment_bytes=raw.alignment_bytes,
            address=raw.address,
            host_pointer=raw.host_pointer,
            allocated_at_ns=raw.allocated_at_ns,
            is_mapped=bool(raw.is_mapped),
            operations_in_flight=raw.operations_in_flight,
            tag=raw.tag.decode("utf-8", "replace"),
            is_relocatable=bool(raw.is_relocatable),
            pin_count=raw.pin_count,
            linked=raw.linked.id,
            is_adopted=bool(raw.is_adopted),
        )


@dataclass(frozen=True)
class DefragmentationStats:
    """What a defragmentation did. Every block that was live counts once: as moved, as
    skipped for one reason, or as kept.

    Attributes:
        memory_freed_bytes: given back to the system.
        blocks_moved: moved to another address.
        blocks_skipped: could not be moved: the sum of the reasons below.
        bytes_moved: size, as asked for, of the blocks that were moved.
        pages_emptied: pages that all blocks were moved out of.
        segments_emptied: the same of segments, in pools that take them whole.
        blocks_kept: could have been moved, but no page would have come free for it.
        skipped_not_relocatable: allocated without relocatable=True.
        skipped_debugged: filled or surrounded with patterns by a debug mode.
        skipped_pinned: pinned, or with a view.
        skipped_in_use: used on a stream on which work is queued.
        skipped_no_room: of pages whose blocks found no place outside of them, though as
            much is free there.
        skipped_over_budget: not looked at any more when the budget was over.
        skipped_mapped: mapped for the host.
        budget_ended: the budget was over before all was done.
    """

    fragmentation_before: float
    fragmentation_after: float
    memory_freed_bytes: int
    blocks_moved: int
    blocks_skipped: int
    time_taken_ns: int
    bytes_moved: int
    pages_emptied: int
    segments_emptied: int
    blocks_kept: int
    skipped_not_relocatable: int
    skipped_debugged: int
    skipped_pinned: int
    skipped_in_use: int
    skipped_no_room: int
    skipped_over_budget: int
    skipped_mapped: int
    budget_ended: bool

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_defragmentation_stats) -> DefragmentationStats:
        """Reads the C struct."""
        return cls(
            fragmentation_before=raw.fragmentation_before,
            fragmentation_after=raw.fragmentation_after,
            memory_freed_bytes=raw.memory_freed_bytes,
            blocks_moved=raw.blocks_moved,
            blocks_skipped=raw.blocks_skipped,
            time_taken_ns=raw.time_taken_ns,
            bytes_moved=raw.bytes_moved,
            pages_emptied=raw.pages_emptied,
            segments_emptied=raw.segments_emptied,
            blocks_kept=raw.blocks_kept,
            skipped_not_relocatable=raw.skipped_not_relocatable,
            skipped_debugged=raw.skipped_debugged,
            skipped_pinned=raw.skipped_pinned,
            skipped_in_use=raw.skipped_in_use,
            skipped_no_room=raw.skipped_no_room,
            skipped_over_budget=raw.skipped_over_budget,
            skipped_mapped=raw.skipped_mapped,
            budget_ended=bool(raw.budget_ended),
        )


@dataclass(frozen=True)
class Leak:
    """Something that is alive, or was when the library was stopped.

    Attributes:
        call_site: where a block was allocated, the innermost function first; empty
            unless its pool has Debug.CALL_SITES.
        model: id of the model that a range of an elastic pool is of, or "".
    """

    kind: str
    device: str
    handle: int
    address: int
    bytes: int
    tag: str
    age_ns: int
    call_site: tuple[str, ...] = ()
    model: str = ""


@dataclass(frozen=True)
class LeakReport:
    """What is or was alive; omitted counts what the list has no room for."""

    leaks: tuple[Leak, ...]
    omitted: int
    total_bytes: int

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> LeakReport:
        """Reads the library\'s JSON."""
        leaks = (
            Leak(
                kind=entry["kind"],
                device=entry["device"],
                handle=entry["handle"],
                address=entry["address"],
                bytes=entry["bytes"],
                tag=entry["tag"],
                age_ns=entry["age_ns"],
                call_site=tuple(entry.get("call_site", ())),
                model=entry.get("model", ""),
            )
            for entry in raw["leaks"]
        )
        return cls(tuple(leaks), raw["omitted"], raw["total_bytes"])
