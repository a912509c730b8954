# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""What the library tells of its objects, and the settings that they are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _abi
from ._arguments import choice
from ._enums import (
    AccessPattern,
    Backing,
    BlockState,
    Capability,
    DebugFlags,
    DType,
    MemoryType,
    Paging,
    SegmentSource,
    UsageHint,
)
from ._enums_by_hand import PressureLevel
from ._native import encode
from ._values import i32, u32, u64

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class HostInfo:
    """Memory and processor of this machine.

    Attributes:
        total_bytes: Memory that this process may use: the memory of the machine or of its control
            group, whichever is less; 0 means unknown.
        available_bytes: the part of total_bytes that can still be used.
        cpu_name: model of the processor, or "Unknown CPU".
    """

    total_bytes: int
    available_bytes: int | None
    cpu_name: str

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_host_info) -> Self:
        """Reads the C struct."""
        return cls(
            total_bytes=raw.total_bytes,
            available_bytes=raw.available_bytes if raw.available_known else None,
            cpu_name=raw.cpu_name.decode("utf-8", "replace"),
        )


@dataclass(frozen=True)
class DeviceInfo:
    """Description of an open device.

    Attributes:
        ordinal: number after the colon of the id.
        capabilities: Capability bits.
        total_bytes: capacity; 0 means unknown.
        granularity_bytes: the size of every segment is a multiple of this.
        alignment_bytes: the address of every segment is a multiple of this.
        id: for example "cpu:0".
        backend: for example "cpu".
        name: name of the hardware.
    """

    ordinal: int
    capabilities: Capability
    total_bytes: int
    granularity_bytes: int
    alignment_bytes: int
    id: str
    backend: str
    name: str

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_device_info) -> Self:
        """Reads the C struct."""
        return cls(
            ordinal=raw.ordinal,
            capabilities=Capability(raw.capabilities),
            total_bytes=raw.total_bytes,
            granularity_bytes=raw.granularity_bytes,
            alignment_bytes=raw.alignment_bytes,
            id=raw.id.decode("utf-8", "replace"),
            backend=raw.backend.decode("utf-8", "replace"),
            name=raw.name.decode("utf-8", "replace"),
        )


@dataclass(frozen=True)
class MemoryInfo:
    """Memory of a device; used + free + reserved = total at any time. With a limit of the device
    (Device.set_limit()) the total is the limit.

    Attributes:
        pressure: pressure level of (total - free) / total, computed with integers.
        total_bytes: what this library may hold: limit_bytes, or device_total_bytes where there is
            no limit or the device has less. Utilization and pressure are computed from it. 0 means
            unknown.
        used_bytes: live blocks of this library, and memory that it cannot allocate. At most
            total_bytes, also when more is live than a lowered limit allows.
        free_bytes: bytes that can still be allocated: free memory of the device and cached memory
            of the pools, as far as the limit allows.
        reserved_bytes: the rest of total_bytes. It cannot be allocated, because the driver or other
            processes hold that much of the device.
        active_allocations: number of live blocks of all pools and managers.
        fragmentation_ratio: 1 - largest free run / total free, over the memory that the pools hold;
            0 when nothing is free.
        utilization_percent: used / total * 100; 0 when total is unknown. For display.
        bandwidth_gbps: copy bandwidth in 10^9 bytes per second.
        reading_age_ns: age of the latest reading of the device; 0: it was read just now. The
            numbers include the memory that this library has allocated and released since that
            reading.
        largest_free_bytes: longest run that can be allocated now: from cached memory, or from the
            free memory of the device as far as the limit allows.
        limit_bytes: the limit of the device; 0: none.
        device_total_bytes: capacity of the device itself, without the limit; 0 means unknown.
        device_free_bytes: free memory of the device itself, without the limit: memory that neither
            this library nor other programs hold.
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
    reading_age_ns: int
    largest_free_bytes: int
    limit_bytes: int
    device_total_bytes: int
    device_free_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_memory_info) -> Self:
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
            limit_bytes=raw.limit_bytes,
            device_total_bytes=raw.device_total_bytes,
            device_free_bytes=raw.device_free_bytes,
        )


@dataclass(frozen=True)
class Gauge:
    """A counter with its peak.

    Attributes:
        current: the value now.
        peak: the highest value so far.
    """

    current: int
    peak: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_gauge) -> Self:
        """Reads the C struct."""
        return cls(
            current=raw.current,
            peak=raw.peak,
        )


@dataclass(frozen=True)
class Statistics:
    """Counters of a device, a pool or a manager. All are bytes except for the counts. In every
    record reserved = active + cached + unusable.

    Attributes:
        requested: bytes that callers requested for the live blocks.
        allocated: bytes of the live blocks, with rounding.
        active: bytes of the live blocks, and of freed blocks that queued work may still use.
        cached: free bytes that the pool holds and can allocate.
        unusable: free bytes that the pool holds and cannot allocate now: the runs are too short or
            at the wrong place.
        reserved: bytes that the pool holds from the driver.
        live_blocks: number of live blocks.
        segments: number of segments from the driver.
        allocations: number of successful allocations so far.
        frees: number of frees so far.
        failures: number of allocations that failed for lack of memory.
        largest_free_bytes: longest free run.
        thread_cached_bytes: the part of cached that is in thread caches.
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
    def from_abi(cls, raw: _abi.ferrum_statistics) -> Self:
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


@dataclass(frozen=True, kw_only=True)
class PoolConfig:
    """Settings of a pool.

    A paged pool reserves far more addresses than it needs, and has memory only where its blocks
    lie. An allocation maps the missing pages. The pool releases pages without a block to the
    device, wherever they lie, when no allocation has needed them for some tens of milliseconds.
    It keeps ready_pages of them. So the memory of the pool follows its blocks.

    A segmented pool allocates memory in large segments and releases empty segments.

    Attributes:
        enable_auto_expansion: grow when full, or stay within the initial size.
        initial_size_bytes: size of the first segment, which the first allocation takes from the
            device: None (1 GiB), 0 (growth_increment_bytes), or bytes. The first two become
            max_size_bytes where that is less; bytes above max_size_bytes are an error. The segment
            is smaller where the device has less memory, and an eighth of the device where it would
            be more than half of the device. A paged pool takes nothing beforehand: for a paged pool
            this is the upper bound if it does not grow, and the size for pre_allocate.
        max_size_bytes: upper bound of the memory that the pool holds; 0: none.
        growth_increment_bytes: size of each further segment. A segment is larger if a request needs
            it, and smaller under the same conditions as the first segment. A paged pool grows by
            the missing pages.
        alignment_bytes: alignment of every block, a power of two; 0: 256. Sizes are rounded up to
            it. Some strategies and the thread caches round further; PoolBlock.usable_bytes returns
            the size of a block.
        pre_allocate: allocate the memory when the pool is created: max_size_bytes, or
            initial_size_bytes if there is no upper bound. The creation fails if not all of it is
            available. A paged pool keeps these pages until a trim or another pool requests them.
        enable_stats: record peaks and counts. Current values are always recorded.
        strategy: Placement strategy; None: the default. All strategies keep their tables outside
            the memory that they manage. "best_fit": the smallest free run that is large enough;
            uses the expected lifetime of a request "size_class": small blocks in slabs of size
            classes, large ones as best_fit "tlsf": two-level segregated fit: constant time in the
            worst case "buddy": powers of two "arena": one block after the other; all memory is free
            again when the last block is freed "fixed": blocks of fixed_block_bytes, such as KV
            blocks, placed so that pages of page_bytes become empty
        name: name of the pool in reports, and tag of its blocks; None: none. At most 63 bytes.
        tracking: record the time of every allocation, for ages in reports. It makes each call
            slower, and every call then bypasses the thread caches.
        debug: sum of DebugFlags flags; 0: none. FERRUM_DEBUG in the environment adds flags for all
            pools. Every call of a pool in debug mode bypasses the thread caches.
        thread_cache_bytes: size of the freed small and medium blocks that each thread may keep for
            its own next calls: None, 0 (off), or bytes. The counters count these blocks as cached.
            The library takes them back before memory runs out.
        min_held_bytes: Memory that the pool always keeps: no trim, no request of another pool and
            no release threshold reduces the pool below it.
        release_threshold_bytes: while the pool holds more than this, a segment or a page that a
            free leaves without a block is released at once; None: never at once. A block in a
            thread cache still occupies its segment.
        fixed_block_bytes: block size of "fixed", which requires it; 0 for every other strategy.
        page_bytes: page size of "fixed", a power of two; 0: the page size of the memory, or 2 MiB
            in segments. 0 for every other strategy.
        ready_pages: number of idle pages that stay mapped for the next allocations: a number, None
            (8, but at most one for each 64 pages in use), or READY_PAGES_ALL (idle pages are
            released only on request).
        physical_page_bytes: page size of the memory, a power of two of at least
            PageSizes.minimum_bytes; 0: the size that the device recommends, and on CUDA also pages
            of 32 MiB where a block contains a whole one. A segmented pool ignores it.
        segment_source: SegmentSource. With SegmentSource.STREAM_ORDERED, Paging.AUTO means off, and
            Paging.ON returns InvalidConfigError.
    """

    enable_auto_expansion: bool = True
    initial_size_bytes: int | None = None
    max_size_bytes: int = 0
    growth_increment_bytes: int = 1 << 29
    alignment_bytes: int = 256
    pre_allocate: bool = False
    enable_stats: bool = True
    strategy: str | None = None
    name: str | None = None
    tracking: bool = False
    debug: DebugFlags = DebugFlags.NONE
    thread_cache_bytes: int | None = None
    min_held_bytes: int = 0
    release_threshold_bytes: int | None = None
    fixed_block_bytes: int = 0
    page_bytes: int = 0
    paging: Paging = Paging.AUTO
    ready_pages: int | None = None
    physical_page_bytes: int = 0
    segment_source: SegmentSource = SegmentSource.PLAIN

    def to_abi(self) -> _abi.ferrum_pool_config:
        """The C struct, which keeps the texts that it points to."""
        raw = _abi.ferrum_pool_config.init()
        raw.enable_auto_expansion = bool(self.enable_auto_expansion)
        raw.initial_size_bytes = (
            _abi.FERRUM_INITIAL_SIZE_AUTO
            if self.initial_size_bytes is None
            else u64("initial_size_bytes", self.initial_size_bytes)
        )
        raw.max_size_bytes = u64("max_size_bytes", self.max_size_bytes)
        raw.growth_increment_bytes = u64("growth_increment_bytes", self.growth_increment_bytes)
        raw.alignment_bytes = u64("alignment_bytes", self.alignment_bytes)
        raw.pre_allocate = bool(self.pre_allocate)
        raw.enable_stats = bool(self.enable_stats)
        raw.strategy = encode("strategy", self.strategy)
        raw.name = encode("name", self.name)
        raw.tracking = bool(self.tracking)
        raw.debug = u32("debug", self.debug)
        raw.thread_cache_bytes = (
            _abi.FERRUM_THREAD_CACHE_AUTO
            if self.thread_cache_bytes is None
            else u64("thread_cache_bytes", self.thread_cache_bytes)
        )
        raw.min_held_bytes = u64("min_held_bytes", self.min_held_bytes)
        raw.release_threshold_bytes = (
            2**64 - 1
            if self.release_threshold_bytes is None
            else u64("release_threshold_bytes", self.release_threshold_bytes)
        )
        raw.fixed_block_bytes = u64("fixed_block_bytes", self.fixed_block_bytes)
        raw.page_bytes = u64("page_bytes", self.page_bytes)
        raw.paging = choice("paging", self.paging, Paging)
        raw.ready_pages = (
            _abi.FERRUM_READY_PAGES_AUTO
            if self.ready_pages is None
            else u32("ready_pages", self.ready_pages)
        )
        raw.physical_page_bytes = u64("physical_page_bytes", self.physical_page_bytes)
        raw.segment_source = choice("segment_source", self.segment_source, SegmentSource)
        return raw


@dataclass(frozen=True)
class GraphInfo:
    """A graph at one moment. Graphs that share a private pool have the same numbers for it.

    Attributes:
        capturing: 1 until Graph.end().
        sharing: graphs of the private pool, this one included.
        held_bytes: Memory that the private pool holds from the device.
        live_bytes: size of the live blocks of the private pool.
        live_blocks: number of live blocks of the private pool.
        parked_bytes: freed blocks from before the capture that wait until the graph is released.
    """

    capturing: bool
    sharing: int
    held_bytes: int
    live_bytes: int
    live_blocks: int
    parked_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_graph_info) -> Self:
        """Reads the C struct."""
        return cls(
            capturing=bool(raw.capturing),
            sharing=raw.sharing,
            held_bytes=raw.held_bytes,
            live_bytes=raw.live_bytes,
            live_blocks=raw.live_blocks,
            parked_bytes=raw.parked_bytes,
        )


@dataclass(frozen=True)
class PoolInfo:
    """Memory of a pool at one moment.

    Attributes:
        held_bytes: Memory that the pool holds from the device.
        page_bytes: size of its pages; 0: the pool allocates whole segments, and the counts of pages
            are 0.
        mapped_pages: number of mapped pages.
        idle_pages: number of mapped pages without a block. The next allocations use them.
        ready_pages: number of idle pages that stay mapped, for the present number of pages in use.
        segments: number of segments, or of address ranges in which pages are mapped.
        address_bytes: size of their addresses.
    """

    held_bytes: int
    page_bytes: int
    mapped_pages: int
    idle_pages: int
    ready_pages: int | None
    segments: int
    address_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_pool_info) -> Self:
        """Reads the C struct."""
        return cls(
            held_bytes=raw.held_bytes,
            page_bytes=raw.page_bytes,
            mapped_pages=raw.mapped_pages,
            idle_pages=raw.idle_pages,
            ready_pages=raw.ready_pages,
            segments=raw.segments,
            address_bytes=raw.address_bytes,
        )


@dataclass(frozen=True)
class BlockOwner:
    """The owner of an address.

    Attributes:
        state: state of the memory at the address.
        pool: the pool, or 0 when the owner is not a pool.
        manager: the manager that owns the pool, or 0.
        address: start of the block or of the free run. In a virtual pool, start of the range or,
            where no range is mapped, of the page.
        size_bytes: its size with rounding.
        requested_bytes: the requested size; 0 when the block is neither live nor asleep.
        age_ns: time since the allocation; 0 without tracking, or when the block is neither live nor
            asleep.
        pool_name: name of the pool.
        tag: tag of the block; empty when the block is neither live nor asleep.
        vpool: the virtual pool, or 0 when the owner is not a virtual pool.
        elastic_pool: the elastic pool, or 0 when the owner is not an elastic pool.
        model: id of the model of the elastic pool, or empty.
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
    def from_abi(cls, raw: _abi.ferrum_block_info) -> Self:
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
    """Description of a block.

    Attributes:
        memory: the block.
        manager: its manager.
        device: the device of its manager.
        size_bytes: the requested size.
        allocated_bytes: the size with rounding.
        alignment_bytes: largest power of two that divides the address, at most ALIGNMENT_MAX.
        address: address of the block. For a relocatable block that is not pinned, address and
            host_pointer are valid until the next Manager.defragment() of the manager.
        host_pointer: address of the block for the host, or None if the host cannot address the
            block. Memory.map() returns a pointer for every block.
        allocated_at_ns: monotonic time of the allocation since init().
        is_mapped: 1 while a call of this library has mapped the block for the host.
        operations_in_flight: asynchronous operations in flight on the block.
        tag: name in the counters, or empty.
        is_relocatable: 1 if it was requested with ALLOCATE_RELOCATABLE.
        pin_count: number of Memory.pin() calls without a Memory.unpin().
        linked: the block of another device that is the same memory (Manager.create_mapping()); 0:
            none, or it has ended.
        is_adopted: 1 if the memory is external (Manager.adopt()).
        is_read_only: 1 if it was adopted as read-only memory.
    """

    memory_type: MemoryType
    memory: int
    manager: int
    device: int
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
    is_read_only: bool

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_handle_info) -> Self:
        """Reads the C struct."""
        return cls(
            memory_type=MemoryType(raw.memory_type),
            memory=raw.memory.id,
            manager=raw.manager.id,
            device=raw.device.id,
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
            is_read_only=bool(raw.is_read_only),
        )


@dataclass(frozen=True)
class DefragmentationStats:
    """Result of a defragmentation. Each block that was live counts once: as moved, as kept, or as
    skipped for the first reason that applies.

    Attributes:
        fragmentation_before: fragmentation ratio before.
        fragmentation_after: fragmentation ratio after.
        memory_freed_bytes: bytes released to the system.
        blocks_moved: blocks moved to another address.
        blocks_skipped: blocks that could not be moved: the sum of the reasons below.
        time_taken_ns: time taken.
        time_taken_ms: the same in milliseconds, rounded up.
        bytes_moved: requested size of the moved blocks.
        pages_emptied: pages without a block after the moves.
        segments_emptied: segments without a block after the moves, in segmented pools.
        blocks_kept: blocks that could have been moved, but whose move would not have freed a page.
        skipped_not_relocatable: blocks without ALLOCATE_RELOCATABLE.
        skipped_debugged: blocks that a debug mode of the manager or the pool has filled with
            patterns or surrounded with red zones.
        skipped_pinned: pinned blocks.
        skipped_in_use: blocks that were used on a stream with queued work.
        skipped_no_room: blocks of pages that could not be emptied: there were enough free bytes
            outside the page, but no free run that was long enough.
        skipped_over_budget: blocks that were not considered before the budget ended.
        budget_ended: 1 if the budget ended before the defragmentation was complete.
        skipped_mapped: blocks that are mapped for the host (Memory.map()). This reason comes after
            skipped_pinned.
    """

    fragmentation_before: float
    fragmentation_after: float
    memory_freed_bytes: int
    blocks_moved: int
    blocks_skipped: int
    time_taken_ns: int
    time_taken_ms: int
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
    budget_ended: bool
    skipped_mapped: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_defragmentation_stats) -> Self:
        """Reads the C struct."""
        return cls(
            fragmentation_before=raw.fragmentation_before,
            fragmentation_after=raw.fragmentation_after,
            memory_freed_bytes=raw.memory_freed_bytes,
            blocks_moved=raw.blocks_moved,
            blocks_skipped=raw.blocks_skipped,
            time_taken_ns=raw.time_taken_ns,
            time_taken_ms=raw.time_taken_ms,
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
            budget_ended=bool(raw.budget_ended),
            skipped_mapped=raw.skipped_mapped,
        )


@dataclass(frozen=True, kw_only=True)
class VirtualPoolConfig:
    """Settings of a virtual pool.

    Attributes:
        capacity_bytes: address space, rounded up to whole pages; not 0.
        page_bytes: a power of two of at least PageSizes.minimum_bytes; 0: the recommended size of
            the device.
        limit_bytes: upper bound of the memory; 0: the memory of the device.
        name: name in reports, and tag of ranges without a tag; None: none. At most 63 bytes.
        ready_pages: number of pages that are kept ready while no allocation needs them: up to
            65536, or None.
    """

    capacity_bytes: int
    page_bytes: int = 0
    limit_bytes: int = 0
    name: str | None = None
    ready_pages: int | None = None
    backing: Backing = Backing.MOVABLE

    def to_abi(self) -> _abi.ferrum_vpool_config:
        """The C struct, which keeps the texts that it points to."""
        raw = _abi.ferrum_vpool_config.init()
        raw.capacity_bytes = u64("capacity_bytes", self.capacity_bytes)
        raw.page_bytes = u64("page_bytes", self.page_bytes)
        raw.limit_bytes = u64("limit_bytes", self.limit_bytes)
        raw.name = encode("name", self.name)
        raw.ready_pages = (
            _abi.FERRUM_READY_PAGES_AUTO
            if self.ready_pages is None
            else u32("ready_pages", self.ready_pages)
        )
        raw.backing = choice("backing", self.backing, Backing)
        return raw


@dataclass(frozen=True)
class VirtualPoolInfo:
    """A virtual pool at one moment. Fields that end in _pages are counts.

    Attributes:
        unmapped_share: 1 - mapped pages / all pages.
        fragmentation: 1 - longest free run / free address space; 0 when nothing is free.
        base_address: start of the address space.
        page_bytes: size of a page.
        virtual_capacity_bytes: size of the address space, in whole pages.
        physical_bytes: Memory of mapped and retiring pages.
        peak_physical_bytes: the highest physical_bytes so far.
        requested_bytes: the sizes that were requested for the mapped pages.
        mapped_pages: pages of live ranges.
        retiring_pages: pages of freed ranges that queued work may still use.
        parked_pages: pages of freed ranges that stay mapped. An allocation at the same place reuses
            them at once; any other allocation has to unmap them first.
        ready_pages: pages that are mapped nowhere and are ready for any range.
        held_bytes: Memory that the pool holds from the device: mapped, retiring, parked and ready
            pages.
        limit_bytes: the present limit.
        available_bytes: bytes that can still be mapped within the limit.
        largest_free_run_bytes: longest run of free address space.
        allocations: successful allocations so far.
        table_bytes: address space of the pool's tables. Only used parts have memory.
        asleep_pages: pages of ranges that are asleep. They have no memory.
        asleep_bytes: bytes of ranges that are asleep.
        asleep_host_bytes: host memory with the contents of ranges that are asleep.
        asleep_file_bytes: disk space with the contents of ranges that are asleep.
        asleep_discarded_bytes: bytes of ranges that are asleep and whose contents were discarded.
        sleeps: sleep calls so far.
        wakes: wake calls so far.
        sleep_ns: time of all sleep calls.
        wake_ns: time of all wake calls.
        sleep_failures: sleep calls so far that failed after they had begun.
        wake_failures: wake calls so far that failed after they had begun.
    """

    unmapped_share: float
    fragmentation: float
    base_address: int
    page_bytes: int
    virtual_capacity_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    requested_bytes: int
    mapped_pages: int
    retiring_pages: int
    parked_pages: int
    ready_pages: int | None
    held_bytes: int
    limit_bytes: int
    available_bytes: int
    largest_free_run_bytes: int
    allocations: int
    table_bytes: int
    asleep_pages: int
    asleep_bytes: int
    asleep_host_bytes: int
    asleep_file_bytes: int
    asleep_discarded_bytes: int
    sleeps: int
    wakes: int
    sleep_ns: int
    wake_ns: int
    sleep_failures: int
    wake_failures: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_vpool_info) -> Self:
        """Reads the C struct."""
        return cls(
            unmapped_share=raw.unmapped_share,
            fragmentation=raw.fragmentation,
            base_address=raw.base_address,
            page_bytes=raw.page_bytes,
            virtual_capacity_bytes=raw.virtual_capacity_bytes,
            physical_bytes=raw.physical_bytes,
            peak_physical_bytes=raw.peak_physical_bytes,
            requested_bytes=raw.requested_bytes,
            mapped_pages=raw.mapped_pages,
            retiring_pages=raw.retiring_pages,
            parked_pages=raw.parked_pages,
            ready_pages=raw.ready_pages,
            held_bytes=raw.held_bytes,
            limit_bytes=raw.limit_bytes,
            available_bytes=raw.available_bytes,
            largest_free_run_bytes=raw.largest_free_run_bytes,
            allocations=raw.allocations,
            table_bytes=raw.table_bytes,
            asleep_pages=raw.asleep_pages,
            asleep_bytes=raw.asleep_bytes,
            asleep_host_bytes=raw.asleep_host_bytes,
            asleep_file_bytes=raw.asleep_file_bytes,
            asleep_discarded_bytes=raw.asleep_discarded_bytes,
            sleeps=raw.sleeps,
            wakes=raw.wakes,
            sleep_ns=raw.sleep_ns,
            wake_ns=raw.wake_ns,
            sleep_failures=raw.sleep_failures,
            wake_failures=raw.wake_failures,
        )


@dataclass(frozen=True)
class CompactReport:
    """Result of a compaction.

    Attributes:
        landed_pages: pages that were retiring and whose work had completed.
        unmapped_pages: pages that were parked and are now ready for any range.
        released_bytes: Memory that was released to the device.
        runs_before: runs of adjacent pages among the unused pages, before. An allocation needs one
            mapping of the system for each run.
        runs_after: the same after the compaction.
    """

    landed_pages: int
    unmapped_pages: int
    released_bytes: int
    runs_before: int
    runs_after: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_compact_report) -> Self:
        """Reads the C struct."""
        return cls(
            landed_pages=raw.landed_pages,
            unmapped_pages=raw.unmapped_pages,
            released_bytes=raw.released_bytes,
            runs_before=raw.runs_before,
            runs_after=raw.runs_after,
        )


@dataclass(frozen=True, kw_only=True)
class ElasticPoolConfig:
    """Settings of an elastic pool.

    Attributes:
        limit_bytes: upper bound of the memory of all models together, in whole pages; 0: the memory
            of the device. A limit above the memory of the device is rejected. For example, 32 GiB
            is rejected on a device with 24 GiB. A program that runs on several machines can use the
            smaller of its number and total_bytes. The virtual_bytes of the models have no such
            bound: together they may exceed the limit.
        page_bytes: the same as in VirtualPoolConfig.
        name: name in reports; None: none. At most 63 bytes.
        ready_pages: the same as in VirtualPoolConfig.
        backing: Backing.MOVABLE, Backing.PRIVATE or Backing.RDMA
    """

    limit_bytes: int = 0
    page_bytes: int = 0
    name: str | None = None
    ready_pages: int | None = None
    backing: Backing = Backing.MOVABLE

    def to_abi(self) -> _abi.ferrum_elastic_pool_config:
        """The C struct, which keeps the texts that it points to."""
        raw = _abi.ferrum_elastic_pool_config.init()
        raw.limit_bytes = u64("limit_bytes", self.limit_bytes)
        raw.page_bytes = u64("page_bytes", self.page_bytes)
        raw.name = encode("name", self.name)
        raw.ready_pages = (
            _abi.FERRUM_READY_PAGES_AUTO
            if self.ready_pages is None
            else u32("ready_pages", self.ready_pages)
        )
        raw.backing = choice("backing", self.backing, Backing)
        return raw


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Settings of a model.

    Attributes:
        priority: when pages are short, models of lower priority release pages first, and
            allocations of models of higher priority are served first.
        virtual_bytes: address space, rounded up to whole pages; not 0.
        guaranteed_bytes: the part of the limit that is kept for this model, rounded up to whole
            pages. The guarantees of all models together are within the limit. Each guarantee is
            backed by pages that no other model uses or has as its guarantee.
        max_bytes: upper bound of the memory of the model, in whole pages; 0: no bound of its own.
        unscrubbed: pages of this model may pass to another unscrubbed model without being set to
            zero.
        guarantee_may_wait: the part of guaranteed_bytes that has no pages yet waits, or the call
            fails. A waiting part takes effect as pages become free, before waiting allocations get
            these pages.
    """

    priority: int = 0
    virtual_bytes: int
    guaranteed_bytes: int = 0
    max_bytes: int = 0
    unscrubbed: bool = False
    guarantee_may_wait: bool = False

    def to_abi(self) -> _abi.ferrum_model_config:
        """The C struct, which keeps the texts that it points to."""
        raw = _abi.ferrum_model_config.init()
        raw.priority = i32("priority", self.priority)
        raw.virtual_bytes = u64("virtual_bytes", self.virtual_bytes)
        raw.guaranteed_bytes = u64("guaranteed_bytes", self.guaranteed_bytes)
        raw.max_bytes = u64("max_bytes", self.max_bytes)
        raw.unscrubbed = bool(self.unscrubbed)
        raw.guarantee_may_wait = bool(self.guarantee_may_wait)
        return raw


@dataclass(frozen=True)
class ModelInfo:
    """A model at one moment. Fields that end in _pages are counts.

    Attributes:
        priority: its priority.
        unmapped_share: 1 - mapped pages / all pages of its address space.
        fragmentation: 1 - longest free run / free address space; 0 when nothing is free.
        base_address: start of its address space.
        page_bytes: size of a page.
        virtual_capacity_bytes: size of its address space, in whole pages.
        physical_bytes: Memory of mapped and retiring pages.
        peak_physical_bytes: the highest physical_bytes so far.
        requested_bytes: the sizes that were requested for the mapped pages.
        mapped_pages: pages of live ranges.
        retiring_pages: pages of freed ranges that queued work may still use.
        parked_pages: pages of freed ranges that stay mapped for reuse.
        cached_bytes: unused memory that this model was the last to use.
        guaranteed_bytes: the part of its guarantee that is in effect.
        max_bytes: 0: no bound of its own.
        available_bytes: bytes that the model can allocate at once, without pages of other models.
        largest_free_run_bytes: longest run of free address space.
        allocations: successful allocations so far.
        frees: frees so far.
        failures: allocations so far that failed for lack of memory.
        waits: allocations so far that had to wait.
        waited_ns: time that they waited in all.
        reclaim_calls: calls so far of its reclaim callbacks.
        reclaimed_bytes: bytes that its reclaim callbacks reported as freed.
        table_bytes: address space of its tables. Only used parts have memory.
        asleep_pages: pages of ranges that are asleep. They have no memory.
        asleep_bytes: bytes of ranges that are asleep.
        asleep_host_bytes: host memory with the contents of ranges that are asleep.
        asleep_file_bytes: disk space with the contents of ranges that are asleep.
        asleep_discarded_bytes: bytes of ranges that are asleep and whose contents were discarded.
        sleeps: sleep calls so far.
        wakes: wake calls so far.
        sleep_ns: time of all sleep calls.
        wake_ns: time of all wake calls.
        sleep_failures: sleep calls so far that failed after they had begun.
        wake_failures: wake calls so far that failed after they had begun.
        requested_guarantee_bytes: the requested guarantee. The part above guaranteed_bytes waits
            for pages.
    """

    priority: int
    unmapped_share: float
    fragmentation: float
    base_address: int
    page_bytes: int
    virtual_capacity_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    requested_bytes: int
    mapped_pages: int
    retiring_pages: int
    parked_pages: int
    cached_bytes: int
    guaranteed_bytes: int
    max_bytes: int
    available_bytes: int
    largest_free_run_bytes: int
    allocations: int
    frees: int
    failures: int
    waits: int
    waited_ns: int
    reclaim_calls: int
    reclaimed_bytes: int
    table_bytes: int
    asleep_pages: int
    asleep_bytes: int
    asleep_host_bytes: int
    asleep_file_bytes: int
    asleep_discarded_bytes: int
    sleeps: int
    wakes: int
    sleep_ns: int
    wake_ns: int
    sleep_failures: int
    wake_failures: int
    requested_guarantee_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_model_info) -> Self:
        """Reads the C struct."""
        return cls(
            priority=raw.priority,
            unmapped_share=raw.unmapped_share,
            fragmentation=raw.fragmentation,
            base_address=raw.base_address,
            page_bytes=raw.page_bytes,
            virtual_capacity_bytes=raw.virtual_capacity_bytes,
            physical_bytes=raw.physical_bytes,
            peak_physical_bytes=raw.peak_physical_bytes,
            requested_bytes=raw.requested_bytes,
            mapped_pages=raw.mapped_pages,
            retiring_pages=raw.retiring_pages,
            parked_pages=raw.parked_pages,
            cached_bytes=raw.cached_bytes,
            guaranteed_bytes=raw.guaranteed_bytes,
            max_bytes=raw.max_bytes,
            available_bytes=raw.available_bytes,
            largest_free_run_bytes=raw.largest_free_run_bytes,
            allocations=raw.allocations,
            frees=raw.frees,
            failures=raw.failures,
            waits=raw.waits,
            waited_ns=raw.waited_ns,
            reclaim_calls=raw.reclaim_calls,
            reclaimed_bytes=raw.reclaimed_bytes,
            table_bytes=raw.table_bytes,
            asleep_pages=raw.asleep_pages,
            asleep_bytes=raw.asleep_bytes,
            asleep_host_bytes=raw.asleep_host_bytes,
            asleep_file_bytes=raw.asleep_file_bytes,
            asleep_discarded_bytes=raw.asleep_discarded_bytes,
            sleeps=raw.sleeps,
            wakes=raw.wakes,
            sleep_ns=raw.sleep_ns,
            wake_ns=raw.wake_ns,
            sleep_failures=raw.sleep_failures,
            wake_failures=raw.wake_failures,
            requested_guarantee_bytes=raw.requested_guarantee_bytes,
        )


@dataclass(frozen=True)
class ElasticPoolInfo:
    """An elastic pool at one moment.

    Attributes:
        page_bytes: size of a page.
        physical_limit_bytes: the limit of all models together.
        physical_bytes: Memory that the models use: mapped, retiring, or granted to running
            allocations. It is above the limit only after the limit was lowered.
        peak_physical_bytes: the highest physical_bytes so far.
        num_models: number of registered models.
        virtual_bytes: address space of all models together.
        guaranteed_bytes: guarantees of all models together.
        retiring_bytes: Memory of freed ranges that queued work may still use.
        cached_bytes: Memory that the pool holds from the device and no model uses.
        held_bytes: Memory that the pool holds from the device.
        waiting: allocations that wait now.
    """

    page_bytes: int
    physical_limit_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    num_models: int
    virtual_bytes: int
    guaranteed_bytes: int
    retiring_bytes: int
    cached_bytes: int
    held_bytes: int
    waiting: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_elastic_pool_info) -> Self:
        """Reads the C struct."""
        return cls(
            page_bytes=raw.page_bytes,
            physical_limit_bytes=raw.physical_limit_bytes,
            physical_bytes=raw.physical_bytes,
            peak_physical_bytes=raw.peak_physical_bytes,
            num_models=raw.num_models,
            virtual_bytes=raw.virtual_bytes,
            guaranteed_bytes=raw.guaranteed_bytes,
            retiring_bytes=raw.retiring_bytes,
            cached_bytes=raw.cached_bytes,
            held_bytes=raw.held_bytes,
            waiting=raw.waiting,
        )


@dataclass(frozen=True)
class WakeReport:
    """Result of a wake.

    Attributes:
        restored_bytes: Memory that was allocated for the ranges.
        elapsed_ns: duration of the call.
    """

    restored_bytes: int
    elapsed_ns: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_wake_report) -> Self:
        """Reads the C struct."""
        return cls(
            restored_bytes=raw.restored_bytes,
            elapsed_ns=raw.elapsed_ns,
        )


@dataclass(frozen=True)
class MonitorPressure:
    """The pressure of all devices of a monitor together.

    Attributes:
        level: the highest level of all devices; LOW when there is none.
        weighted_level: the level of the sum of all known bytes, without hysteresis.
        devices: number of devices.
        unknown_devices: number of devices with unknown capacity, or that could not be queried.
        total_bytes: sum of total_bytes of MemoryInfo over the known devices, so limits count. A sum
            above UINT64_MAX is UINT64_MAX.
        used_bytes: sum of total - free over the known devices.
    """

    level: PressureLevel
    weighted_level: PressureLevel
    devices: int
    unknown_devices: int
    total_bytes: int
    used_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_monitor_pressure) -> Self:
        """Reads the C struct."""
        return cls(
            level=PressureLevel(raw.level),
            weighted_level=PressureLevel(raw.weighted_level),
            devices=raw.devices,
            unknown_devices=raw.unknown_devices,
            total_bytes=raw.total_bytes,
            used_bytes=raw.used_bytes,
        )


@dataclass(frozen=True)
class InferenceMemoryEstimate:
    """Result of estimate_inference_memory().

    Attributes:
        model_bytes: the weights.
        kv_cache_bytes: keys and values of the sequence.
        activation_bytes: the activations of one token.
        total_bytes: the sum of the three.
    """

    model_bytes: int
    kv_cache_bytes: int
    activation_bytes: int
    total_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_inference_estimate) -> Self:
        """Reads the C struct."""
        return cls(
            model_bytes=raw.model_bytes,
            kv_cache_bytes=raw.kv_cache_bytes,
            activation_bytes=raw.activation_bytes,
            total_bytes=raw.total_bytes,
        )


@dataclass(frozen=True)
class MemoryStats:
    """Counters of a fallback manager or a generic pool. They contain only its own buffers, so the
    device may be full while the pool is not.

    Attributes:
        total_allocated_bytes: buffers that exist: those in use and those in buckets.
        in_use_bytes: buffers in use.
        pooled_bytes: free buffers in the buckets.
        peak_bytes: the highest value of in_use_bytes.
        pool_hits: number of requests that were served from the buckets.
        pool_misses: number of requests that were not served from the buckets.
        cpu_fallbacks: number of buffers that were created on the host because the device had no
            room.
        active_buffers: number of buffers in use, tracked or not.
    """

    total_allocated_bytes: int = 0
    in_use_bytes: int = 0
    pooled_bytes: int = 0
    peak_bytes: int = 0
    pool_hits: int = 0
    pool_misses: int = 0
    cpu_fallbacks: int = 0
    active_buffers: int = 0

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_memory_stats) -> Self:
        """Reads the C struct."""
        return cls(
            total_allocated_bytes=raw.total_allocated_bytes,
            in_use_bytes=raw.in_use_bytes,
            pooled_bytes=raw.pooled_bytes,
            peak_bytes=raw.peak_bytes,
            pool_hits=raw.pool_hits,
            pool_misses=raw.pool_misses,
            cpu_fallbacks=raw.cpu_fallbacks,
            active_buffers=raw.active_buffers,
        )

    def to_abi(self) -> _abi.ferrum_memory_stats:
        """The C struct, which keeps the texts that it points to."""
        raw = _abi.ferrum_memory_stats.init()
        raw.total_allocated_bytes = u64("total_allocated_bytes", self.total_allocated_bytes)
        raw.in_use_bytes = u64("in_use_bytes", self.in_use_bytes)
        raw.pooled_bytes = u64("pooled_bytes", self.pooled_bytes)
        raw.peak_bytes = u64("peak_bytes", self.peak_bytes)
        raw.pool_hits = u64("pool_hits", self.pool_hits)
        raw.pool_misses = u64("pool_misses", self.pool_misses)
        raw.cpu_fallbacks = u64("cpu_fallbacks", self.cpu_fallbacks)
        raw.active_buffers = u64("active_buffers", self.active_buffers)
        return raw


@dataclass(frozen=True)
class TrackerTotals:
    """Numbers of a tracker.

    Attributes:
        count: number of buffers.
        total_bytes: the sum of their sizes.
        peak_bytes: the highest value of total_bytes.
    """

    count: int
    total_bytes: int
    peak_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_tracker_totals) -> Self:
        """Reads the C struct."""
        return cls(
            count=raw.count,
            total_bytes=raw.total_bytes,
            peak_bytes=raw.peak_bytes,
        )


@dataclass(frozen=True)
class FallbackStats:
    """Counters of a fallback manager for the host.

    Attributes:
        cpu_bytes: bytes on the host now.
        cpu_buffers: number of buffers on the host now.
        moved_to_cpu: number of moves to the host so far.
        moved_to_gpu: number of moves to the device so far.
    """

    cpu_bytes: int
    cpu_buffers: int
    moved_to_cpu: int
    moved_to_gpu: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_fallback_stats) -> Self:
        """Reads the C struct."""
        return cls(
            cpu_bytes=raw.cpu_bytes,
            cpu_buffers=raw.cpu_buffers,
            moved_to_cpu=raw.moved_to_cpu,
            moved_to_gpu=raw.moved_to_gpu,
        )


@dataclass(frozen=True)
class UsageHints:
    """The last hint of each group; UsageHint.NONE where none was set.

    Attributes:
        order: UsageHint.SEQUENTIAL, UsageHint.RANDOM or none.
        direction: UsageHint.READ_MOSTLY, UsageHint.WRITE_MOSTLY or none.
        lifetime: UsageHint.TEMPORARY, UsageHint.RESIDENT or none.
    """

    order: UsageHint
    direction: UsageHint
    lifetime: UsageHint

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_usage_hints) -> Self:
        """Reads the C struct."""
        return cls(
            order=UsageHint(raw.order),
            direction=UsageHint(raw.direction),
            lifetime=UsageHint(raw.lifetime),
        )


@dataclass(frozen=True)
class AccessStats:
    """Numbers about copies, fills, writes, reads and mappings of a block.

    Attributes:
        is_tracked: 1 if the manager tracks accesses; otherwise all numbers below are 0.
        pattern: pattern of the last accesses.
        read_count: number of reads.
        write_count: number of writes.
        average_read_bytes: mean size of a read, rounded down; 0 when there was none.
        average_write_bytes: mean size of a write, rounded down; 0 when there was none.
        last_access_ns: monotonic time of the last access since init().
    """

    is_tracked: bool
    pattern: AccessPattern
    read_count: int
    write_count: int
    average_read_bytes: int
    average_write_bytes: int
    last_access_ns: int | None

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_access_stats) -> Self:
        """Reads the C struct."""
        return cls(
            is_tracked=bool(raw.is_tracked),
            pattern=AccessPattern(raw.pattern),
            read_count=raw.read_count,
            write_count=raw.write_count,
            average_read_bytes=raw.average_read_bytes,
            average_write_bytes=raw.average_write_bytes,
            last_access_ns=raw.last_access_ns if raw.is_accessed else None,
        )


@dataclass(frozen=True)
class WeightsProgress:
    """The progress of a load or of another call.

    Attributes:
        is_over: 1 if a load has ended, with or without success, else 0.
        done_bytes: number of bytes that are done.
        total_bytes: total number of bytes; 0 before it is known.
        bytes_per_second: the mean rate since the beginning; 0 if it is not known.
    """

    is_over: bool
    done_bytes: int
    total_bytes: int
    bytes_per_second: float

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_weights_progress) -> Self:
        """Reads the C struct."""
        return cls(
            is_over=bool(raw.is_over),
            done_bytes=raw.done_bytes,
            total_bytes=raw.total_bytes,
            bytes_per_second=raw.bytes_per_second,
        )


@dataclass(frozen=True, kw_only=True)
class KvCacheConfig:
    """The settings of a cache.

    Attributes:
        dtype: the type of keys and values; not used without memory.
        block_tokens: number of tokens of a block, at most KV_TOKENS_MAX.
        blocks: number of blocks, at most KV_BLOCKS_MAX.
        host_blocks: number of blocks of the host for swapped sequences; 0: none.
        sequences: most sequences that live at the same time, at most KV_SEQUENCES_MAX.
        sequence_tokens: most tokens of a sequence, at most KV_TOKENS_MAX.
        window_tokens: length of the sliding window: a token uses so many tokens, itself among them;
            0: each token uses all tokens before it.
        layers: number of layers; not used without memory.
        kv_heads: number of heads of keys and of values in a layer; not used without memory.
        head_dim: length of a head; not used without memory.
        always_blocks: in a virtual pool or a model: number of blocks, from the first one, that
            always have memory. The others get memory when sequences need them. In a pool all blocks
            always have memory.
        hash_seed: seed of KvCache.hash_tokens(). Caches with the same seed and block_tokens compute
            the same hashes. A secret seed keeps users from choosing tokens with the hash of the
            tokens of another user.
    """

    dtype: DType = DType.F32
    block_tokens: int
    blocks: int
    host_blocks: int = 0
    sequences: int
    sequence_tokens: int
    window_tokens: int = 0
    layers: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    always_blocks: int = 0
    hash_seed: int = 0

    def to_abi(self) -> _abi.ferrum_kv_cache_config:
        """The C struct, which keeps the texts that it points to."""
        raw = _abi.ferrum_kv_cache_config.init()
        raw.dtype = choice("dtype", self.dtype, DType)
        raw.block_tokens = u32("block_tokens", self.block_tokens)
        raw.blocks = u32("blocks", self.blocks)
        raw.host_blocks = u32("host_blocks", self.host_blocks)
        raw.sequences = u32("sequences", self.sequences)
        raw.sequence_tokens = u32("sequence_tokens", self.sequence_tokens)
        raw.window_tokens = u32("window_tokens", self.window_tokens)
        raw.layers = u32("layers", self.layers)
        raw.kv_heads = u32("kv_heads", self.kv_heads)
        raw.head_dim = u32("head_dim", self.head_dim)
        raw.always_blocks = u32("always_blocks", self.always_blocks)
        raw.hash_seed = u64("hash_seed", self.hash_seed)
        return raw


@dataclass(frozen=True)
class KvCacheStats:
    """The state of a cache.

    Attributes:
        level: the level of used_blocks of blocks, with the bounds 60, 80 and 95 %.
        blocks: number of blocks: those used, cached, free and unmapped.
        used_blocks: blocks that sequences use.
        cached_blocks: blocks with a hash that no sequence uses. The cache evicts them when it needs
            them.
        free_blocks: blocks without contents.
        unmapped_blocks: blocks that have no memory now.
        published_blocks: used and cached blocks with a hash.
        references: number of blocks of all block tables together. Above used_blocks if sequences
            share blocks.
        host_blocks: number of blocks of the host.
        host_used_blocks: those of them that swapped sequences use.
        sequences: number of live sequences.
        swapped_sequences: those of them that are swapped out.
        tokens: number of tokens of all sequences together.
        hits: hashes of KvCache.allocate() whose block was shared.
        misses: the other hashes of KvCache.allocate().
        evictions: cached blocks that were evicted.
        copies: blocks that were copied because an append changed a shared block.
        swapped_out_blocks: blocks that were copied to the host.
        swapped_in_blocks: blocks that were copied from the host.
        failures: calls that failed because there were not enough blocks.
        block_bytes: size of a block in all layers, keys and values; 0 without memory.
        mapped_bytes: size of all blocks that have memory now.
    """

    level: PressureLevel
    blocks: int
    used_blocks: int
    cached_blocks: int
    free_blocks: int
    unmapped_blocks: int
    published_blocks: int
    references: int
    host_blocks: int
    host_used_blocks: int
    sequences: int
    swapped_sequences: int
    tokens: int
    hits: int
    misses: int
    evictions: int
    copies: int
    swapped_out_blocks: int
    swapped_in_blocks: int
    failures: int
    block_bytes: int
    mapped_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_kv_cache_stats) -> Self:
        """Reads the C struct."""
        return cls(
            level=PressureLevel(raw.level),
            blocks=raw.blocks,
            used_blocks=raw.used_blocks,
            cached_blocks=raw.cached_blocks,
            free_blocks=raw.free_blocks,
            unmapped_blocks=raw.unmapped_blocks,
            published_blocks=raw.published_blocks,
            references=raw.references,
            host_blocks=raw.host_blocks,
            host_used_blocks=raw.host_used_blocks,
            sequences=raw.sequences,
            swapped_sequences=raw.swapped_sequences,
            tokens=raw.tokens,
            hits=raw.hits,
            misses=raw.misses,
            evictions=raw.evictions,
            copies=raw.copies,
            swapped_out_blocks=raw.swapped_out_blocks,
            swapped_in_blocks=raw.swapped_in_blocks,
            failures=raw.failures,
            block_bytes=raw.block_bytes,
            mapped_bytes=raw.mapped_bytes,
        )


@dataclass(frozen=True)
class KvSequence:
    """A new sequence.

    Attributes:
        sequence: the number of the sequence.
        cached_tokens: number of its first tokens whose keys and values are in shared blocks.
    """

    sequence: int
    cached_tokens: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_kv_sequence) -> Self:
        """Reads the C struct."""
        return cls(
            sequence=raw.sequence,
            cached_tokens=raw.cached_tokens,
        )


@dataclass(frozen=True)
class KvCopy:
    """A copy of a whole block, with its keys and values of all layers.

    Attributes:
        source: the block to be copied.
        target: the block that gets the contents.
    """

    source: int
    target: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_kv_copy) -> Self:
        """Reads the C struct."""
        return cls(
            source=raw.source,
            target=raw.target,
        )
