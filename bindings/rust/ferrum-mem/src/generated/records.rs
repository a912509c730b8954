// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.

use std::time::Duration;

use super::enums::*;
use crate::error::{stated_text, text_of};
use crate::raw::{flag, ns, optional_ns, optional_text, pointer};
use crate::{sys, Result, Stream};

/// Settings of the library for [`ferrum_init`](crate::sys::ferrum_init).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Number of host devices cpu:0, cpu:1, ... (1 to 64), which share the capacity
    /// equally; `None`: `FERRUM_HOST_DEVICES` of the environment, or 1.
    pub host_devices: Option<u32>,
    /// Capacity of all host devices together; `None`: `FERRUM_HOST_MEMORY` of the
    /// environment, or the memory that the process may use. That is the memory of
    /// the machine or of its control group, whichever is less.
    pub host_memory_bytes: Option<u64>,
    /// Accept a `host_memory_bytes` above the memory of the machine.
    pub host_memory_forced: bool,
    /// Query vendor libraries for devices in this process, instead of in short-lived
    /// processes of their own. Use it where the system forbids starting programs. A
    /// broken driver may then end this process. `FERRUM_PROBE`=`in_process` in the
    /// environment has the same effect.
    pub probe_in_process: bool,
    /// Do not add SA_ONSTACK to signal handlers; see [`ferrum_init`](crate::sys::ferrum_init). The program then has
    /// to make sure that each handler has the flag. No handler is installed for SIGBUS
    /// either, so the use of a page that a mapped file of weights has lost is a signal.
    /// `FERRUM_SIGNAL_HANDLERS`=leave in the environment has the same effect.
    pub leave_signal_handlers: bool,
}

impl Config {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_config {
        sys::ferrum_config {
            host_devices: self.host_devices.unwrap_or(0),
            host_memory_bytes: self.host_memory_bytes.unwrap_or(0),
            flags: flag(
                self.host_memory_forced,
                sys::FERRUM_CONFIG_HOST_MEMORY_FORCED,
            ) | flag(self.probe_in_process, sys::FERRUM_CONFIG_PROBE_IN_PROCESS)
                | flag(
                    self.leave_signal_handlers,
                    sys::FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS,
                ),
            ..Default::default()
        }
    }
}

/// The chosen device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendChoice {
    /// Backend of the device.
    pub backend: BackendType,
    /// Position of the device within its backend.
    pub device_index: u32,
    /// Capacity of the device; `None` means unknown.
    pub total_bytes: Option<u64>,
    /// Free bytes when the device was queried; `None` if not known.
    pub free_bytes: Option<u64>,
    /// For example "cuda:0".
    pub id: String,
    /// The devices that were considered, the chosen one last: lines of "id:
    /// reason". A longer text is cut at the end of a character.
    pub tried: String,
}

impl From<&sys::ferrum_backend_choice> for BackendChoice {
    fn from(raw: &sys::ferrum_backend_choice) -> Self {
        Self {
            backend: BackendType::from_raw(raw.backend),
            device_index: raw.device_index,
            total_bytes: (raw.total_bytes != 0).then_some(raw.total_bytes),
            free_bytes: (raw.free_bytes != 0).then_some(raw.free_bytes),
            id: text_of(&raw.id),
            tried: text_of(&raw.tried),
        }
    }
}

/// Memory and processor of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostInfo {
    /// Memory that this process may use: the memory of the machine or of its
    /// control group, whichever is less; `None` means unknown.
    pub total_bytes: Option<u64>,
    /// The part of `total_bytes` that can still be used.
    pub available_bytes: Option<u64>,
    /// Model of the processor, or "Unknown CPU".
    pub cpu_name: String,
}

impl From<&sys::ferrum_host_info> for HostInfo {
    fn from(raw: &sys::ferrum_host_info) -> Self {
        Self {
            total_bytes: (raw.total_bytes != 0).then_some(raw.total_bytes),
            available_bytes: (raw.available_known != 0).then_some(raw.available_bytes),
            cpu_name: text_of(&raw.cpu_name),
        }
    }
}

/// Description of an open device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Number after the colon of the id.
    pub ordinal: u32,
    /// An address of the device is also a pointer of the host.
    pub host_addressable: bool,
    /// The device copies directly from other devices of its backend.
    pub peer: bool,
    /// Virtual and elastic pools work on the device.
    pub virtual_memory: bool,
    /// The device supports [`MemoryType::Pinned`](crate::MemoryType::Pinned) and [`MemoryType::Mapped`](crate::MemoryType::Mapped), within the
    /// limits of the system.
    pub pinned_memory: bool,
    /// [`ferrum_manager_create_mapping`](crate::sys::ferrum_manager_create_mapping) works between the device and others of its backend.
    pub linked_memory: bool,
    /// Virtual pools can have [`Backing::Shareable`](crate::Backing::Shareable), and [`ferrum_manager_import_pages`](crate::sys::ferrum_manager_import_pages) works.
    pub exported_pages: bool,
    /// [`ferrum_device_share_memory`](crate::sys::ferrum_device_share_memory) and [`ferrum_event_share`](crate::sys::ferrum_event_share) work between processes.
    pub shared_memory: bool,
    /// [`ferrum_pool_capture_begin`](crate::sys::ferrum_pool_capture_begin) works: streams can be captured.
    pub capture: bool,
    /// [`MemoryType::Managed`](crate::MemoryType::Managed) is memory that migrates to the processor that uses it. On
    /// a device without this capability, managed memory is memory of the device itself
    /// if the device is [`DeviceInfo::host_addressable`](crate::DeviceInfo::host_addressable); otherwise it is not
    /// supported.
    pub managed_memory: bool,
    /// [`ferrum_manager_adopt`](crate::sys::ferrum_manager_adopt) page-locks memory of the process.
    pub registered_memory: bool,
    /// Pools can have [`SegmentSource::StreamOrdered`](crate::SegmentSource::StreamOrdered).
    pub stream_ordered: bool,
    /// Virtual and elastic pools can have [`Backing::Rdma`](crate::Backing::Rdma).
    pub rdma_pages: bool,
    /// Virtual pools can have [`Backing::Fabric`](crate::Backing::Fabric).
    pub fabric_pages: bool,
    /// Capacity; `None` means unknown.
    pub total_bytes: Option<u64>,
    /// The size of every segment is a multiple of this.
    pub granularity_bytes: u64,
    /// The address of every segment is a multiple of this.
    pub alignment_bytes: u64,
    /// For example "cpu:0".
    pub id: String,
    /// For example "cpu".
    pub backend: BackendType,
    /// Name of the hardware.
    pub name: String,
}

impl From<&sys::ferrum_device_info> for DeviceInfo {
    fn from(raw: &sys::ferrum_device_info) -> Self {
        Self {
            ordinal: raw.ordinal,
            host_addressable: raw.capabilities & sys::FERRUM_CAPABILITY_HOST_ADDRESSABLE != 0,
            peer: raw.capabilities & sys::FERRUM_CAPABILITY_PEER != 0,
            virtual_memory: raw.capabilities & sys::FERRUM_CAPABILITY_VIRTUAL_MEMORY != 0,
            pinned_memory: raw.capabilities & sys::FERRUM_CAPABILITY_PINNED_MEMORY != 0,
            linked_memory: raw.capabilities & sys::FERRUM_CAPABILITY_LINKED_MEMORY != 0,
            exported_pages: raw.capabilities & sys::FERRUM_CAPABILITY_EXPORTED_PAGES != 0,
            shared_memory: raw.capabilities & sys::FERRUM_CAPABILITY_SHARED_MEMORY != 0,
            capture: raw.capabilities & sys::FERRUM_CAPABILITY_CAPTURE != 0,
            managed_memory: raw.capabilities & sys::FERRUM_CAPABILITY_MANAGED_MEMORY != 0,
            registered_memory: raw.capabilities & sys::FERRUM_CAPABILITY_REGISTERED_MEMORY != 0,
            stream_ordered: raw.capabilities & sys::FERRUM_CAPABILITY_STREAM_ORDERED != 0,
            rdma_pages: raw.capabilities & sys::FERRUM_CAPABILITY_RDMA_PAGES != 0,
            fabric_pages: raw.capabilities & sys::FERRUM_CAPABILITY_FABRIC_PAGES != 0,
            total_bytes: (raw.total_bytes != 0).then_some(raw.total_bytes),
            granularity_bytes: raw.granularity_bytes,
            alignment_bytes: raw.alignment_bytes,
            id: text_of(&raw.id),
            backend: text_of(&raw.backend).parse().unwrap_or_default(),
            name: text_of(&raw.name),
        }
    }
}

/// Memory of a device; used + free + reserved = total at any time. With a limit of
/// the device ([`ferrum_device_set_limit`](crate::sys::ferrum_device_set_limit)) the total is the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Pressure level of (total - free) / total, computed with integers.
    pub pressure: PressureLevel,
    /// What this library may hold: `limit_bytes`, or `device_total_bytes` where there is
    /// no limit or the device has less. Utilization and pressure are computed from it.
    /// `None` means unknown.
    pub total_bytes: Option<u64>,
    /// Live blocks of this library, and memory that it cannot allocate. At most
    /// `total_bytes`, also when more is live than a lowered limit allows.
    pub used_bytes: u64,
    /// Bytes that can still be allocated: free memory of the device and cached
    /// memory of the pools, as far as the limit allows.
    pub free_bytes: u64,
    /// The rest of `total_bytes`. It cannot be allocated, because the driver or other
    /// processes hold that much of the device.
    pub reserved_bytes: u64,
    /// Number of live blocks of all pools and managers.
    pub active_allocations: u64,
    /// 1 - largest free run / total free, over the memory that the pools hold; 0
    /// when nothing is free.
    pub fragmentation_ratio: f32,
    /// used / total \* 100; 0 when total is unknown. For display.
    pub utilization_percent: f32,
    /// Copy bandwidth in 10^9 bytes per second.
    pub bandwidth_gbps: Option<f32>,
    /// Age of the latest reading of the device; 0: it was read just now. The
    /// numbers include the memory that this library has allocated and released since
    /// that reading.
    pub reading_age: Duration,
    /// Longest run that can be allocated now: from cached memory, or from the free
    /// memory of the device as far as the limit allows.
    pub largest_free_bytes: u64,
    /// The limit of the device; `None`: none.
    pub limit_bytes: Option<u64>,
    /// Capacity of the device itself, without the limit; `None` means unknown.
    pub device_total_bytes: Option<u64>,
    /// Free memory of the device itself, without the limit: memory that neither this
    /// library nor other programs hold.
    pub device_free_bytes: u64,
}

impl From<&sys::ferrum_memory_info> for MemoryInfo {
    fn from(raw: &sys::ferrum_memory_info) -> Self {
        Self {
            pressure: PressureLevel::from_raw(raw.pressure),
            total_bytes: (raw.total_bytes != 0).then_some(raw.total_bytes),
            used_bytes: raw.used_bytes,
            free_bytes: raw.free_bytes,
            reserved_bytes: raw.reserved_bytes,
            active_allocations: raw.active_allocations,
            fragmentation_ratio: raw.fragmentation_ratio,
            utilization_percent: raw.utilization_percent,
            bandwidth_gbps: (raw.bandwidth_known != 0).then_some(raw.bandwidth_gbps),
            reading_age: Duration::from_nanos(raw.reading_age_ns),
            largest_free_bytes: raw.largest_free_bytes,
            limit_bytes: (raw.limit_bytes != 0).then_some(raw.limit_bytes),
            device_total_bytes: (raw.device_total_bytes != 0).then_some(raw.device_total_bytes),
            device_free_bytes: raw.device_free_bytes,
        }
    }
}

/// A counter with its peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gauge {
    /// The value now.
    pub current: u64,
    /// The highest value so far.
    pub peak: u64,
}

impl From<&sys::ferrum_gauge> for Gauge {
    fn from(raw: &sys::ferrum_gauge) -> Self {
        Self {
            current: raw.current,
            peak: raw.peak,
        }
    }
}

/// Counters of a device, a pool or a manager. All are bytes except for the counts.
/// In every record reserved = active + cached + unusable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Bytes that callers requested for the live blocks.
    pub requested: Gauge,
    /// Bytes of the live blocks, with rounding.
    pub allocated: Gauge,
    /// Bytes of the live blocks, and of freed blocks that queued work may still
    /// use.
    pub active: Gauge,
    /// Free bytes that the pool holds and can allocate.
    pub cached: Gauge,
    /// Free bytes that the pool holds and cannot allocate now: the runs are too
    /// short or at the wrong place.
    pub unusable: Gauge,
    /// Bytes that the pool holds from the driver.
    pub reserved: Gauge,
    /// Number of live blocks.
    pub live_blocks: Gauge,
    /// Number of segments from the driver.
    pub segments: Gauge,
    /// Number of successful allocations so far.
    pub allocations: u64,
    /// Number of frees so far.
    pub frees: u64,
    /// Number of allocations that failed for lack of memory.
    pub failures: u64,
    /// Longest free run.
    pub largest_free_bytes: u64,
    /// The part of cached that is in thread caches.
    pub thread_cached_bytes: u64,
}

impl From<&sys::ferrum_statistics> for Statistics {
    fn from(raw: &sys::ferrum_statistics) -> Self {
        Self {
            requested: (&raw.requested).into(),
            allocated: (&raw.allocated).into(),
            active: (&raw.active).into(),
            cached: (&raw.cached).into(),
            unusable: (&raw.unusable).into(),
            reserved: (&raw.reserved).into(),
            live_blocks: (&raw.live_blocks).into(),
            segments: (&raw.segments).into(),
            allocations: raw.allocations,
            frees: raw.frees,
            failures: raw.failures,
            largest_free_bytes: raw.largest_free_bytes,
            thread_cached_bytes: raw.thread_cached_bytes,
        }
    }
}

/// A copy by address, within one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressCopy {
    /// Address of the first byte to read.
    pub source: u64,
    /// Address of the first byte to write.
    pub destination: u64,
    /// Number of bytes; not 0.
    pub size_bytes: u64,
}

impl AddressCopy {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_address_copy {
        sys::ferrum_address_copy {
            source: self.source,
            destination: self.destination,
            size_bytes: self.size_bytes,
        }
    }
}

/// Settings of a pool.
///
/// A paged pool reserves far more addresses than it needs, and has memory only where
/// its blocks lie. An allocation maps the missing pages. The pool releases pages
/// without a block to the device, wherever they lie, when no allocation has needed
/// them for some tens of milliseconds. It keeps `ready_pages` of them. So the memory
/// of the pool follows its blocks.
///
/// A segmented pool allocates memory in large segments and releases empty segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Grow when full, or stay within the initial size.
    pub auto_expansion: bool,
    /// Size of the first segment, which the first allocation takes from the device:
    /// `None` (1 GiB), 0 (`growth_increment_bytes`), or bytes. The
    /// first two become `max_size_bytes` where that is less; bytes above `max_size_bytes`
    /// are an error. The segment is smaller where the device has less memory, and an
    /// eighth of the device where it would be more than half of the device. A paged
    /// pool takes nothing beforehand: for a paged pool this is the upper bound if it
    /// does not grow, and the size for `pre_allocate`.
    pub initial_size_bytes: Option<u64>,
    /// Upper bound of the memory that the pool holds; `None`: none.
    pub max_size_bytes: Option<u64>,
    /// Size of each further segment. A segment is larger if a request needs it, and
    /// smaller under the same conditions as the first segment. A paged pool grows
    /// by the missing pages.
    pub growth_increment_bytes: u64,
    /// Alignment of every block, a power of two; `None`: 256. Sizes are rounded up to
    /// it. Some strategies and the thread caches round further;
    /// [`ferrum_pool_usable_size`](crate::sys::ferrum_pool_usable_size) returns the size of a block.
    pub alignment_bytes: Option<u64>,
    /// Allocate the memory when the pool is created: `max_size_bytes`, or
    /// `initial_size_bytes` if there is no upper bound. The creation fails if not all
    /// of it is available. A paged pool keeps these pages until a trim or another
    /// pool requests them.
    pub pre_allocate: bool,
    /// Record peaks and counts. Current values are always recorded.
    pub stats: bool,
    /// Placement strategy; `None`: the default. All strategies keep their tables
    /// outside the memory that they manage.
    ///
    /// - "best_fit": the smallest free run that is large enough; uses the
    ///   expected lifetime of a request
    /// - "size_class": small blocks in slabs of size classes, large ones as
    ///   `best_fit`
    /// - "tlsf": two-level segregated fit: constant time in the worst case
    /// - "buddy": powers of two
    /// - "arena": one block after the other; all memory is free again when
    ///   the last block is freed
    /// - "fixed": blocks of `fixed_block_bytes`, such as KV blocks, placed so
    ///   that pages of `page_bytes` become empty
    pub strategy: Option<Strategy>,
    /// Name of the pool in reports, and tag of its blocks; `None`: none. At most 63
    /// bytes.
    pub name: Option<String>,
    /// Record the time of every allocation, for ages in reports. It makes each
    /// call slower, and every call then bypasses the thread caches.
    pub tracking: bool,
    /// Sum of [`DebugFlags`](crate::DebugFlags) flags; 0: none. `FERRUM_DEBUG` in the environment adds
    /// flags for all pools. Every call of a pool in debug mode bypasses the thread
    /// caches.
    pub debug: DebugFlags,
    /// Size of the freed small and medium blocks that each thread may keep for its
    /// own next calls: [`ThreadCache::Auto`](crate::ThreadCache::Auto), 0 (off), or bytes. The counters
    /// count these blocks as cached. The library takes them back before memory runs
    /// out.
    pub thread_cache: ThreadCache,
    /// Memory that the pool always keeps: no trim, no request of another pool and
    /// no release threshold reduces the pool below it.
    pub min_held_bytes: u64,
    /// While the pool holds more than this, a segment or a page that a free leaves
    /// without a block is released at once; `None`: never at once. A block in a
    /// thread cache still occupies its segment.
    pub release_threshold_bytes: Option<u64>,
    /// Block size of "fixed", which requires it; `None` for every other strategy.
    pub fixed_block_bytes: Option<u64>,
    /// Page size of "fixed", a power of two; `None`: the page size of the memory, or 2
    /// MiB in segments. `None` for every other strategy.
    pub page_bytes: Option<u64>,
    /// How a pool allocates memory from its device.
    pub paging: Paging,
    /// Number of idle pages that stay mapped for the next allocations: a number,
    /// [`ReadyPages::Auto`](crate::ReadyPages::Auto) (8, but at most one for each 64 pages in use), or
    /// [`ReadyPages::All`](crate::ReadyPages::All) (idle pages are released only on request).
    pub ready_pages: ReadyPages,
    /// Page size of the memory, a power of two of at least
    /// [`PageSizes::minimum_bytes`](crate::PageSizes::minimum_bytes); `None`: the size that the device recommends, and
    /// on CUDA also pages of 32 MiB where a block contains a whole one. A segmented
    /// pool ignores it.
    pub physical_page_bytes: Option<u64>,
    /// [`SegmentSource`](crate::SegmentSource). With [`SegmentSource::StreamOrdered`](crate::SegmentSource::StreamOrdered), [`Paging::Auto`](crate::Paging::Auto)
    /// means off, and [`Paging::On`](crate::Paging::On) returns [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig).
    pub segment_source: SegmentSource,
}

impl Default for PoolConfig {
    fn default() -> Self {
        let raw = sys::ferrum_pool_config::INIT;
        Self {
            auto_expansion: raw.enable_auto_expansion != 0,
            initial_size_bytes: (raw.initial_size_bytes != sys::FERRUM_INITIAL_SIZE_AUTO)
                .then_some(raw.initial_size_bytes),
            max_size_bytes: (raw.max_size_bytes != 0).then_some(raw.max_size_bytes),
            growth_increment_bytes: raw.growth_increment_bytes,
            alignment_bytes: (raw.alignment_bytes != 0).then_some(raw.alignment_bytes),
            pre_allocate: raw.pre_allocate != 0,
            stats: raw.enable_stats != 0,
            strategy: None,
            name: None,
            tracking: raw.tracking != 0,
            debug: DebugFlags::from_bits(raw.debug),
            thread_cache: ThreadCache::from_raw(raw.thread_cache_bytes),
            min_held_bytes: raw.min_held_bytes,
            release_threshold_bytes: (raw.release_threshold_bytes != u64::MAX)
                .then_some(raw.release_threshold_bytes),
            fixed_block_bytes: (raw.fixed_block_bytes != 0).then_some(raw.fixed_block_bytes),
            page_bytes: (raw.page_bytes != 0).then_some(raw.page_bytes),
            paging: Paging::from_raw(raw.paging),
            ready_pages: ReadyPages::from_raw(raw.ready_pages),
            physical_page_bytes: (raw.physical_page_bytes != 0).then_some(raw.physical_page_bytes),
            segment_source: SegmentSource::from_raw(raw.segment_source),
        }
    }
}

impl PoolConfig {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_pool_config) -> Result<T>,
    ) -> Result<T> {
        let strategy = optional_text(function, "strategy", self.strategy.map(Strategy::name))?;
        let name = optional_text(function, "name", self.name.as_deref())?;
        call(&sys::ferrum_pool_config {
            enable_auto_expansion: self.auto_expansion.into(),
            initial_size_bytes: self
                .initial_size_bytes
                .unwrap_or(sys::FERRUM_INITIAL_SIZE_AUTO),
            max_size_bytes: self.max_size_bytes.unwrap_or(0),
            growth_increment_bytes: self.growth_increment_bytes,
            alignment_bytes: self.alignment_bytes.unwrap_or(0),
            pre_allocate: self.pre_allocate.into(),
            enable_stats: self.stats.into(),
            strategy: pointer(&strategy),
            name: pointer(&name),
            tracking: self.tracking.into(),
            debug: self.debug.bits(),
            thread_cache_bytes: self.thread_cache.to_raw(),
            min_held_bytes: self.min_held_bytes,
            release_threshold_bytes: self.release_threshold_bytes.unwrap_or(u64::MAX),
            fixed_block_bytes: self.fixed_block_bytes.unwrap_or(0),
            page_bytes: self.page_bytes.unwrap_or(0),
            paging: self.paging.to_raw(),
            ready_pages: self.ready_pages.to_raw(),
            physical_page_bytes: self.physical_page_bytes.unwrap_or(0),
            segment_source: self.segment_source.to_raw(),
            ..Default::default()
        })
    }
}

/// A graph at one moment. Graphs that share a private pool have the same numbers
/// for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphInfo {
    /// 1 until [`ferrum_pool_capture_end`](crate::sys::ferrum_pool_capture_end).
    pub capturing: bool,
    /// Graphs of the private pool, this one included.
    pub sharing: u64,
    /// Memory that the private pool holds from the device.
    pub held_bytes: u64,
    /// Size of the live blocks of the private pool.
    pub live_bytes: u64,
    /// Number of live blocks of the private pool.
    pub live_blocks: u64,
    /// Freed blocks from before the capture that wait until the graph is released.
    pub parked_bytes: u64,
}

impl From<&sys::ferrum_graph_info> for GraphInfo {
    fn from(raw: &sys::ferrum_graph_info) -> Self {
        Self {
            capturing: raw.capturing != 0,
            sharing: raw.sharing,
            held_bytes: raw.held_bytes,
            live_bytes: raw.live_bytes,
            live_blocks: raw.live_blocks,
            parked_bytes: raw.parked_bytes,
        }
    }
}

/// Memory of a pool at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolInfo {
    /// Memory that the pool holds from the device.
    pub held_bytes: u64,
    /// Size of its pages; `None`: the pool allocates whole segments, and the counts of
    /// pages are 0.
    pub page_bytes: Option<u64>,
    /// Number of mapped pages.
    pub mapped_pages: u64,
    /// Number of mapped pages without a block. The next allocations use them.
    pub idle_pages: u64,
    /// Number of idle pages that stay mapped, for the present number of pages in
    /// use.
    pub ready_pages: u64,
    /// Number of segments, or of address ranges in which pages are mapped.
    pub segments: u64,
    /// Size of their addresses.
    pub address_bytes: u64,
}

impl From<&sys::ferrum_pool_info> for PoolInfo {
    fn from(raw: &sys::ferrum_pool_info) -> Self {
        Self {
            held_bytes: raw.held_bytes,
            page_bytes: (raw.page_bytes != 0).then_some(raw.page_bytes),
            mapped_pages: raw.mapped_pages,
            idle_pages: raw.idle_pages,
            ready_pages: raw.ready_pages,
            segments: raw.segments,
            address_bytes: raw.address_bytes,
        }
    }
}

/// The owner of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockOwner {
    /// State of the memory at the address.
    pub state: BlockState,
    /// The pool, or `None` when the owner is not a pool.
    pub pool: Option<sys::ferrum_pool>,
    /// The manager that owns the pool, or `None`.
    pub manager: Option<sys::ferrum_manager>,
    /// Start of the block or of the free run. In a virtual pool, start of the range
    /// or, where no range is mapped, of the page.
    pub address: u64,
    /// Its size with rounding.
    pub size_bytes: u64,
    /// The requested size; `None` when the block is neither live nor asleep.
    pub requested_bytes: Option<u64>,
    /// Time since the allocation; `None` without tracking, or when the block is neither
    /// live nor asleep.
    pub age: Option<Duration>,
    /// Name of the pool.
    pub pool_name: Option<String>,
    /// Tag of the block; empty when the block is neither live nor asleep.
    pub tag: Option<String>,
    /// The virtual pool, or `None` when the owner is not a virtual pool.
    pub virtual_pool: Option<sys::ferrum_vpool>,
    /// The elastic pool, or `None` when the owner is not an elastic pool.
    pub elastic_pool: Option<sys::ferrum_elastic_pool>,
    /// Id of the model of the elastic pool, or empty.
    pub model: Option<String>,
}

impl From<&sys::ferrum_block_info> for BlockOwner {
    fn from(raw: &sys::ferrum_block_info) -> Self {
        Self {
            state: BlockState::from_raw(raw.state),
            pool: (raw.pool.id != 0).then_some(raw.pool),
            manager: (raw.manager != 0).then_some(sys::ferrum_manager { id: raw.manager }),
            address: raw.address,
            size_bytes: raw.size_bytes,
            requested_bytes: (raw.requested_bytes != 0).then_some(raw.requested_bytes),
            age: (raw.age_ns != 0).then(|| Duration::from_nanos(raw.age_ns)),
            pool_name: stated_text(&raw.pool_name),
            tag: stated_text(&raw.tag),
            virtual_pool: (raw.vpool.id != 0).then_some(raw.vpool),
            elastic_pool: (raw.elastic_pool.id != 0).then_some(raw.elastic_pool),
            model: stated_text(&raw.model),
        }
    }
}

/// A request for a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocationRequest<'a> {
    /// Purpose of a block. Each type may have a pool of its own.
    pub memory_type: MemoryType,
    /// Not 0.
    pub size_bytes: u64,
    /// A power of two up to [`FERRUM_ALIGNMENT_MAX`](crate::sys::FERRUM_ALIGNMENT_MAX); `None`: the pool's.
    pub alignment_bytes: Option<u64>,
    /// Name for the counters, at most 63 bytes; `None`: none.
    pub tag: Option<&'a str>,
    /// A defragmentation may move the block while nothing uses it. Its address changes
    /// then. [`ferrum_memory_pin`](crate::sys::ferrum_memory_pin) prevents the move.
    pub relocatable: bool,
}

impl AllocationRequest<'_> {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_allocation_request) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        call(&sys::ferrum_allocation_request {
            memory_type: self.memory_type.to_raw(),
            size_bytes: self.size_bytes,
            alignment_bytes: self.alignment_bytes.unwrap_or(0),
            tag: pointer(&tag),
            flags: flag(self.relocatable, sys::FERRUM_ALLOCATE_RELOCATABLE),
            ..Default::default()
        })
    }
}

/// Description of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockInfo {
    /// Purpose of a block. Each type may have a pool of its own.
    pub memory_type: MemoryType,
    /// The block.
    pub memory: sys::ferrum_memory,
    /// Its manager.
    pub manager: sys::ferrum_manager,
    /// The device of its manager.
    pub device: sys::ferrum_device,
    /// The requested size.
    pub size_bytes: u64,
    /// The size with rounding.
    pub allocated_bytes: u64,
    /// Largest power of two that divides the address, at most
    /// [`FERRUM_ALIGNMENT_MAX`](crate::sys::FERRUM_ALIGNMENT_MAX).
    pub alignment_bytes: u64,
    /// Address of the block. For a relocatable block that is not pinned, address
    /// and `host_pointer` are valid until the next [`ferrum_manager_defragment`](crate::sys::ferrum_manager_defragment) of the
    /// manager.
    pub address: u64,
    /// Address of the block for the host, or `None` if the host cannot address the
    /// block. [`ferrum_memory_map`](crate::sys::ferrum_memory_map) returns a pointer for every block.
    pub host_pointer: Option<std::ptr::NonNull<u8>>,
    /// Monotonic time of the allocation since [`ferrum_init`](crate::sys::ferrum_init).
    pub allocated_at: Duration,
    /// 1 while a call of this library has mapped the block for the host.
    pub is_mapped: bool,
    /// Asynchronous operations in flight on the block.
    pub operations_in_flight: u32,
    /// Name in the counters, or empty.
    pub tag: Option<String>,
    /// 1 if it was requested with [`AllocationRequest::relocatable`](crate::AllocationRequest::relocatable).
    pub is_relocatable: bool,
    /// Number of [`ferrum_memory_pin`](crate::sys::ferrum_memory_pin) calls without a [`ferrum_memory_unpin`](crate::sys::ferrum_memory_unpin).
    pub pin_count: u32,
    /// The block of another device that is the same memory
    /// ([`ferrum_manager_create_mapping`](crate::sys::ferrum_manager_create_mapping)); `None`: none, or it has ended.
    pub linked: Option<sys::ferrum_memory>,
    /// 1 if the memory is external ([`ferrum_manager_adopt`](crate::sys::ferrum_manager_adopt)).
    pub is_adopted: bool,
    /// 1 if it was adopted as read-only memory.
    pub is_read_only: bool,
}

impl From<&sys::ferrum_handle_info> for BlockInfo {
    fn from(raw: &sys::ferrum_handle_info) -> Self {
        Self {
            memory_type: MemoryType::from_raw(raw.memory_type),
            memory: raw.memory,
            manager: raw.manager,
            device: raw.device,
            size_bytes: raw.size_bytes,
            allocated_bytes: raw.allocated_bytes,
            alignment_bytes: raw.alignment_bytes,
            address: raw.address,
            host_pointer: std::ptr::NonNull::new(raw.host_pointer.cast()),
            allocated_at: Duration::from_nanos(raw.allocated_at_ns),
            is_mapped: raw.is_mapped != 0,
            operations_in_flight: raw.operations_in_flight,
            tag: stated_text(&raw.tag),
            is_relocatable: raw.is_relocatable != 0,
            pin_count: raw.pin_count,
            linked: (raw.linked.id != 0).then_some(raw.linked),
            is_adopted: raw.is_adopted != 0,
            is_read_only: raw.is_read_only != 0,
        }
    }
}

/// Result of a defragmentation. Each block that was live counts once: as moved, as
/// kept, or as skipped for the first reason that applies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DefragmentationStats {
    /// Fragmentation ratio before.
    pub fragmentation_before: f32,
    /// Fragmentation ratio after.
    pub fragmentation_after: f32,
    /// Bytes released to the system.
    pub memory_freed_bytes: u64,
    /// Blocks moved to another address.
    pub blocks_moved: u64,
    /// Blocks that could not be moved: the sum of the reasons below.
    pub blocks_skipped: u64,
    /// Time taken.
    pub time_taken: Duration,
    /// The same in milliseconds, rounded up.
    pub time_taken_ms: u64,
    /// Requested size of the moved blocks.
    pub bytes_moved: u64,
    /// Pages without a block after the moves.
    pub pages_emptied: u64,
    /// Segments without a block after the moves, in segmented pools.
    pub segments_emptied: u64,
    /// Blocks that could have been moved, but whose move would not have freed a
    /// page.
    pub blocks_kept: u64,
    /// Blocks without [`AllocationRequest::relocatable`](crate::AllocationRequest::relocatable).
    pub skipped_not_relocatable: u64,
    /// Blocks that a debug mode of the manager or the pool has filled with patterns
    /// or surrounded with red zones.
    pub skipped_debugged: u64,
    /// Pinned blocks.
    pub skipped_pinned: u64,
    /// Blocks that were used on a stream with queued work.
    pub skipped_in_use: u64,
    /// Blocks of pages that could not be emptied: there were enough free bytes
    /// outside the page, but no free run that was long enough.
    pub skipped_no_room: u64,
    /// Blocks that were not considered before the budget ended.
    pub skipped_over_budget: u64,
    /// 1 if the budget ended before the defragmentation was complete.
    pub budget_ended: bool,
    /// Blocks that are mapped for the host ([`ferrum_memory_map`](crate::sys::ferrum_memory_map)). This reason comes
    /// after `skipped_pinned`.
    pub skipped_mapped: u64,
}

impl From<&sys::ferrum_defragmentation_stats> for DefragmentationStats {
    fn from(raw: &sys::ferrum_defragmentation_stats) -> Self {
        Self {
            fragmentation_before: raw.fragmentation_before,
            fragmentation_after: raw.fragmentation_after,
            memory_freed_bytes: raw.memory_freed_bytes,
            blocks_moved: raw.blocks_moved,
            blocks_skipped: raw.blocks_skipped,
            time_taken: Duration::from_nanos(raw.time_taken_ns),
            time_taken_ms: raw.time_taken_ms,
            bytes_moved: raw.bytes_moved,
            pages_emptied: raw.pages_emptied,
            segments_emptied: raw.segments_emptied,
            blocks_kept: raw.blocks_kept,
            skipped_not_relocatable: raw.skipped_not_relocatable,
            skipped_debugged: raw.skipped_debugged,
            skipped_pinned: raw.skipped_pinned,
            skipped_in_use: raw.skipped_in_use,
            skipped_no_room: raw.skipped_no_room,
            skipped_over_budget: raw.skipped_over_budget,
            budget_ended: raw.budget_ended != 0,
            skipped_mapped: raw.skipped_mapped,
        }
    }
}

/// Settings of a reclaim callback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimConfig {
    /// Callbacks with a lower number are called first; those with equal numbers in
    /// the order of registration.
    pub priority: i32,
    /// The longest time that an allocation waits for the callback; `None`: 100 ms. A
    /// value above INT64_MAX returns [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub deadline: Option<Duration>,
}

impl ReclaimConfig {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_reclaim_config {
        sys::ferrum_reclaim_config {
            priority: self.priority,
            deadline_ns: optional_ns(self.deadline, 0),
            ..Default::default()
        }
    }
}

/// The page sizes of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageSizes {
    /// The smallest page size of a virtual pool. Larger page sizes are powers of
    /// two.
    pub minimum_bytes: u64,
    /// The page size that works best. `page_bytes` 0 selects it.
    pub recommended_bytes: u64,
}

impl From<&sys::ferrum_page_sizes> for PageSizes {
    fn from(raw: &sys::ferrum_page_sizes) -> Self {
        Self {
            minimum_bytes: raw.minimum_bytes,
            recommended_bytes: raw.recommended_bytes,
        }
    }
}

/// Settings of a virtual pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualPoolConfig {
    /// Address space, rounded up to whole pages; not 0.
    pub capacity_bytes: u64,
    /// A power of two of at least [`PageSizes::minimum_bytes`](crate::PageSizes::minimum_bytes); `None`: the
    /// recommended size of the device.
    pub page_bytes: Option<u64>,
    /// Upper bound of the memory; `None`: the memory of the device.
    pub limit_bytes: Option<u64>,
    /// Name in reports, and tag of ranges without a tag; `None`: none. At most 63
    /// bytes.
    pub name: Option<String>,
    /// Number of pages that are kept ready while no allocation needs them: up to
    /// 65536, or `None`.
    pub ready_pages: Option<u32>,
    /// Kind of the physical memory of pages.
    pub backing: Backing,
}

impl VirtualPoolConfig {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_vpool_config) -> Result<T>,
    ) -> Result<T> {
        let name = optional_text(function, "name", self.name.as_deref())?;
        call(&sys::ferrum_vpool_config {
            capacity_bytes: self.capacity_bytes,
            page_bytes: self.page_bytes.unwrap_or(0),
            limit_bytes: self.limit_bytes.unwrap_or(0),
            name: pointer(&name),
            ready_pages: self.ready_pages.unwrap_or(sys::FERRUM_READY_PAGES_AUTO),
            backing: self.backing.to_raw(),
            ..Default::default()
        })
    }
}

/// A request for a range of a virtual pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct VirtualPoolRequest<'a> {
    /// Offset from the base address.
    pub offset_bytes: u64,
    /// Not 0.
    pub size_bytes: u64,
    /// Name for the counters, at most 63 bytes; `None` or empty: the pool's name.
    pub tag: Option<&'a str>,
    /// How long to wait while the tag, the whole pool or a range at that offset is
    /// asleep, in nanoseconds, or [`FERRUM_WAIT_FOREVER`](crate::sys::FERRUM_WAIT_FOREVER); 0: such a call fails at
    /// once.
    pub asleep_wait: Duration,
    /// The first stream that uses the range. A free of the range waits for the work
    /// of this stream. `None`: the default stream.
    pub stream: Option<&'a Stream>,
}

impl VirtualPoolRequest<'_> {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_vpool_request) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        call(&sys::ferrum_vpool_request {
            offset_bytes: self.offset_bytes,
            size_bytes: self.size_bytes,
            tag: pointer(&tag),
            asleep_wait_ns: ns(self.asleep_wait),
            stream: crate::stream::raw_of(self.stream),
            ..Default::default()
        })
    }
}

/// A range of a virtual pool, or of a model of an elastic pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    /// Offset from the base address.
    pub offset_bytes: u64,
    /// Not 0.
    pub size_bytes: u64,
}

impl ByteRange {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_byte_range {
        sys::ferrum_byte_range {
            offset_bytes: self.offset_bytes,
            size_bytes: self.size_bytes,
        }
    }
}

/// Settings that apply to all allocations of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchOptions<'a> {
    /// As in [`VirtualPoolRequest`](crate::VirtualPoolRequest); for a model as in [`ModelRequest`](crate::ModelRequest).
    pub tag: Option<&'a str>,
    /// As in [`VirtualPoolRequest`](crate::VirtualPoolRequest).
    pub asleep_wait: Duration,
    /// The first stream that uses the ranges. `None`: the default stream.
    pub stream: Option<&'a Stream>,
}

impl BatchOptions<'_> {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_batch_options) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        call(&sys::ferrum_batch_options {
            tag: pointer(&tag),
            asleep_wait_ns: ns(self.asleep_wait),
            stream: crate::stream::raw_of(self.stream),
            ..Default::default()
        })
    }
}

/// A virtual pool at one moment. Fields that end in _pages are counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VirtualPoolInfo {
    /// 1 - mapped pages / all pages.
    pub unmapped_share: f32,
    /// 1 - longest free run / free address space; 0 when nothing is free.
    pub fragmentation: f32,
    /// Start of the address space.
    pub base_address: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Size of the address space, in whole pages.
    pub virtual_capacity_bytes: u64,
    /// Memory of mapped and retiring pages.
    pub physical_bytes: u64,
    /// The highest `physical_bytes` so far.
    pub peak_physical_bytes: u64,
    /// The sizes that were requested for the mapped pages.
    pub requested_bytes: u64,
    /// Pages of live ranges.
    pub mapped_pages: u64,
    /// Pages of freed ranges that queued work may still use.
    pub retiring_pages: u64,
    /// Pages of freed ranges that stay mapped. An allocation at the same place
    /// reuses them at once; any other allocation has to unmap them first.
    pub parked_pages: u64,
    /// Pages that are mapped nowhere and are ready for any range.
    pub ready_pages: u64,
    /// Memory that the pool holds from the device: mapped, retiring, parked and
    /// ready pages.
    pub held_bytes: u64,
    /// The present limit.
    pub limit_bytes: u64,
    /// Bytes that can still be mapped within the limit.
    pub available_bytes: u64,
    /// Longest run of free address space.
    pub largest_free_run_bytes: u64,
    /// Successful allocations so far.
    pub allocations: u64,
    /// Address space of the pool's tables. Only used parts have memory.
    pub table_bytes: u64,
    /// Pages of ranges that are asleep. They have no memory.
    pub asleep_pages: u64,
    /// Bytes of ranges that are asleep.
    pub asleep_bytes: u64,
    /// Host memory with the contents of ranges that are asleep.
    pub asleep_host_bytes: u64,
    /// Disk space with the contents of ranges that are asleep.
    pub asleep_file_bytes: u64,
    /// Bytes of ranges that are asleep and whose contents were discarded.
    pub asleep_discarded_bytes: u64,
    /// Sleep calls so far.
    pub sleeps: u64,
    /// Wake calls so far.
    pub wakes: u64,
    /// Time of all sleep calls.
    pub sleep: Duration,
    /// Time of all wake calls.
    pub wake: Duration,
    /// Sleep calls so far that failed after they had begun.
    pub sleep_failures: u64,
    /// Wake calls so far that failed after they had begun.
    pub wake_failures: u64,
}

impl From<&sys::ferrum_vpool_info> for VirtualPoolInfo {
    fn from(raw: &sys::ferrum_vpool_info) -> Self {
        Self {
            unmapped_share: raw.unmapped_share,
            fragmentation: raw.fragmentation,
            base_address: raw.base_address,
            page_bytes: raw.page_bytes,
            virtual_capacity_bytes: raw.virtual_capacity_bytes,
            physical_bytes: raw.physical_bytes,
            peak_physical_bytes: raw.peak_physical_bytes,
            requested_bytes: raw.requested_bytes,
            mapped_pages: raw.mapped_pages,
            retiring_pages: raw.retiring_pages,
            parked_pages: raw.parked_pages,
            ready_pages: raw.ready_pages,
            held_bytes: raw.held_bytes,
            limit_bytes: raw.limit_bytes,
            available_bytes: raw.available_bytes,
            largest_free_run_bytes: raw.largest_free_run_bytes,
            allocations: raw.allocations,
            table_bytes: raw.table_bytes,
            asleep_pages: raw.asleep_pages,
            asleep_bytes: raw.asleep_bytes,
            asleep_host_bytes: raw.asleep_host_bytes,
            asleep_file_bytes: raw.asleep_file_bytes,
            asleep_discarded_bytes: raw.asleep_discarded_bytes,
            sleeps: raw.sleeps,
            wakes: raw.wakes,
            sleep: Duration::from_nanos(raw.sleep_ns),
            wake: Duration::from_nanos(raw.wake_ns),
            sleep_failures: raw.sleep_failures,
            wake_failures: raw.wake_failures,
        }
    }
}

/// Result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Pages that were retiring and whose work had completed.
    pub landed_pages: u64,
    /// Pages that were parked and are now ready for any range.
    pub unmapped_pages: u64,
    /// Memory that was released to the device.
    pub released_bytes: u64,
    /// Runs of adjacent pages among the unused pages, before. An allocation needs
    /// one mapping of the system for each run.
    pub runs_before: u64,
    /// The same after the compaction.
    pub runs_after: u64,
}

impl From<&sys::ferrum_compact_report> for CompactReport {
    fn from(raw: &sys::ferrum_compact_report) -> Self {
        Self {
            landed_pages: raw.landed_pages,
            unmapped_pages: raw.unmapped_pages,
            released_bytes: raw.released_bytes,
            runs_before: raw.runs_before,
            runs_after: raw.runs_after,
        }
    }
}

/// Settings of an elastic pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElasticPoolConfig {
    /// Upper bound of the memory of all models together, in whole pages; `None`: the
    /// memory of the device. A limit above the memory of the device is rejected.
    /// For example, 32 GiB is rejected on a device with 24 GiB. A program that runs
    /// on several machines can use the smaller of its number and `total_bytes`. The
    /// `virtual_bytes` of the models have no such bound: together they may exceed the
    /// limit.
    pub limit_bytes: Option<u64>,
    /// The same as in [`VirtualPoolConfig`](crate::VirtualPoolConfig).
    pub page_bytes: Option<u64>,
    /// Name in reports; `None`: none. At most 63 bytes.
    pub name: Option<String>,
    /// The same as in [`VirtualPoolConfig`](crate::VirtualPoolConfig).
    pub ready_pages: Option<u32>,
    /// [`Backing::Movable`](crate::Backing::Movable), [`Backing::Private`](crate::Backing::Private) or [`Backing::Rdma`](crate::Backing::Rdma)
    pub backing: Backing,
}

impl ElasticPoolConfig {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_elastic_pool_config) -> Result<T>,
    ) -> Result<T> {
        let name = optional_text(function, "name", self.name.as_deref())?;
        call(&sys::ferrum_elastic_pool_config {
            limit_bytes: self.limit_bytes.unwrap_or(0),
            page_bytes: self.page_bytes.unwrap_or(0),
            name: pointer(&name),
            ready_pages: self.ready_pages.unwrap_or(sys::FERRUM_READY_PAGES_AUTO),
            backing: self.backing.to_raw(),
            ..Default::default()
        })
    }
}

/// Settings of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelConfig {
    /// When pages are short, models of lower priority release pages first, and
    /// allocations of models of higher priority are served first.
    pub priority: i32,
    /// Address space, rounded up to whole pages; not 0.
    pub virtual_bytes: u64,
    /// The part of the limit that is kept for this model, rounded up to whole
    /// pages. The guarantees of all models together are within the limit. Each
    /// guarantee is backed by pages that no other model uses or has as its
    /// guarantee.
    pub guaranteed_bytes: u64,
    /// Upper bound of the memory of the model, in whole pages; `None`: no bound of its
    /// own.
    pub max_bytes: Option<u64>,
    /// Pages of this model may pass to another unscrubbed model without being set
    /// to zero.
    pub unscrubbed: bool,
    /// The part of `guaranteed_bytes` that has no pages yet waits, or the call
    /// fails. A waiting part takes effect as pages become free, before waiting
    /// allocations get these pages.
    pub guarantee_may_wait: bool,
}

impl ModelConfig {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_model_config {
        sys::ferrum_model_config {
            priority: self.priority,
            virtual_bytes: self.virtual_bytes,
            guaranteed_bytes: self.guaranteed_bytes,
            max_bytes: self.max_bytes.unwrap_or(0),
            unscrubbed: self.unscrubbed.into(),
            guarantee_may_wait: self.guarantee_may_wait.into(),
            ..Default::default()
        }
    }
}

/// A request for a range of a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelRequest<'a> {
    /// Offset from the model's base address; 0 where `at_offset` is 0.
    pub offset_bytes: Option<u64>,
    /// Not 0.
    pub size_bytes: u64,
    /// Name for the counters, at most 63 bytes; `None` or empty: the model's id.
    pub tag: Option<&'a str>,
    /// How long to wait while the tag, the model or the ranges at that offset are
    /// asleep, in nanoseconds, or [`FERRUM_WAIT_FOREVER`](crate::sys::FERRUM_WAIT_FOREVER); 0: such a call fails at
    /// once.
    pub asleep_wait: Duration,
    /// The first stream that uses the range. A free of the range waits for the work
    /// of this stream. `None`: the default stream.
    pub stream: Option<&'a Stream>,
}

impl ModelRequest<'_> {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_model_request) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        call(&sys::ferrum_model_request {
            at_offset: self.offset_bytes.is_some().into(),
            offset_bytes: self.offset_bytes.unwrap_or_default(),
            size_bytes: self.size_bytes,
            tag: pointer(&tag),
            asleep_wait_ns: ns(self.asleep_wait),
            stream: crate::stream::raw_of(self.stream),
            ..Default::default()
        })
    }
}

/// A model at one moment. Fields that end in _pages are counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// Its priority.
    pub priority: i32,
    /// 1 - mapped pages / all pages of its address space.
    pub unmapped_share: f32,
    /// 1 - longest free run / free address space; 0 when nothing is free.
    pub fragmentation: f32,
    /// Start of its address space.
    pub base_address: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Size of its address space, in whole pages.
    pub virtual_capacity_bytes: u64,
    /// Memory of mapped and retiring pages.
    pub physical_bytes: u64,
    /// The highest `physical_bytes` so far.
    pub peak_physical_bytes: u64,
    /// The sizes that were requested for the mapped pages.
    pub requested_bytes: u64,
    /// Pages of live ranges.
    pub mapped_pages: u64,
    /// Pages of freed ranges that queued work may still use.
    pub retiring_pages: u64,
    /// Pages of freed ranges that stay mapped for reuse.
    pub parked_pages: u64,
    /// Unused memory that this model was the last to use.
    pub cached_bytes: u64,
    /// The part of its guarantee that is in effect.
    pub guaranteed_bytes: u64,
    /// `None`: no bound of its own.
    pub max_bytes: Option<u64>,
    /// Bytes that the model can allocate at once, without pages of other models.
    pub available_bytes: u64,
    /// Longest run of free address space.
    pub largest_free_run_bytes: u64,
    /// Successful allocations so far.
    pub allocations: u64,
    /// Frees so far.
    pub frees: u64,
    /// Allocations so far that failed for lack of memory.
    pub failures: u64,
    /// Allocations so far that had to wait.
    pub waits: u64,
    /// Time that they waited in all.
    pub waited: Duration,
    /// Calls so far of its reclaim callbacks.
    pub reclaim_calls: u64,
    /// Bytes that its reclaim callbacks reported as freed.
    pub reclaimed_bytes: u64,
    /// Address space of its tables. Only used parts have memory.
    pub table_bytes: u64,
    /// Pages of ranges that are asleep. They have no memory.
    pub asleep_pages: u64,
    /// Bytes of ranges that are asleep.
    pub asleep_bytes: u64,
    /// Host memory with the contents of ranges that are asleep.
    pub asleep_host_bytes: u64,
    /// Disk space with the contents of ranges that are asleep.
    pub asleep_file_bytes: u64,
    /// Bytes of ranges that are asleep and whose contents were discarded.
    pub asleep_discarded_bytes: u64,
    /// Sleep calls so far.
    pub sleeps: u64,
    /// Wake calls so far.
    pub wakes: u64,
    /// Time of all sleep calls.
    pub sleep: Duration,
    /// Time of all wake calls.
    pub wake: Duration,
    /// Sleep calls so far that failed after they had begun.
    pub sleep_failures: u64,
    /// Wake calls so far that failed after they had begun.
    pub wake_failures: u64,
    /// The requested guarantee. The part above `guaranteed_bytes` waits for pages.
    pub requested_guarantee_bytes: u64,
}

impl From<&sys::ferrum_model_info> for ModelInfo {
    fn from(raw: &sys::ferrum_model_info) -> Self {
        Self {
            priority: raw.priority,
            unmapped_share: raw.unmapped_share,
            fragmentation: raw.fragmentation,
            base_address: raw.base_address,
            page_bytes: raw.page_bytes,
            virtual_capacity_bytes: raw.virtual_capacity_bytes,
            physical_bytes: raw.physical_bytes,
            peak_physical_bytes: raw.peak_physical_bytes,
            requested_bytes: raw.requested_bytes,
            mapped_pages: raw.mapped_pages,
            retiring_pages: raw.retiring_pages,
            parked_pages: raw.parked_pages,
            cached_bytes: raw.cached_bytes,
            guaranteed_bytes: raw.guaranteed_bytes,
            max_bytes: (raw.max_bytes != 0).then_some(raw.max_bytes),
            available_bytes: raw.available_bytes,
            largest_free_run_bytes: raw.largest_free_run_bytes,
            allocations: raw.allocations,
            frees: raw.frees,
            failures: raw.failures,
            waits: raw.waits,
            waited: Duration::from_nanos(raw.waited_ns),
            reclaim_calls: raw.reclaim_calls,
            reclaimed_bytes: raw.reclaimed_bytes,
            table_bytes: raw.table_bytes,
            asleep_pages: raw.asleep_pages,
            asleep_bytes: raw.asleep_bytes,
            asleep_host_bytes: raw.asleep_host_bytes,
            asleep_file_bytes: raw.asleep_file_bytes,
            asleep_discarded_bytes: raw.asleep_discarded_bytes,
            sleeps: raw.sleeps,
            wakes: raw.wakes,
            sleep: Duration::from_nanos(raw.sleep_ns),
            wake: Duration::from_nanos(raw.wake_ns),
            sleep_failures: raw.sleep_failures,
            wake_failures: raw.wake_failures,
            requested_guarantee_bytes: raw.requested_guarantee_bytes,
        }
    }
}

/// Limits of a model that can be changed while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelLimits {
    /// The same as in [`ModelConfig`](crate::ModelConfig).
    pub priority: i32,
    /// The same as in [`ModelConfig`](crate::ModelConfig).
    pub guaranteed_bytes: u64,
    /// The same as in [`ModelConfig`](crate::ModelConfig).
    pub max_bytes: Option<u64>,
    /// The same as in [`ModelConfig`](crate::ModelConfig).
    pub guarantee_may_wait: bool,
}

impl ModelLimits {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_model_limits {
        sys::ferrum_model_limits {
            priority: self.priority,
            guaranteed_bytes: self.guaranteed_bytes,
            max_bytes: self.max_bytes.unwrap_or(0),
            guarantee_may_wait: self.guarantee_may_wait.into(),
            ..Default::default()
        }
    }
}

/// An elastic pool at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElasticPoolInfo {
    /// Size of a page.
    pub page_bytes: u64,
    /// The limit of all models together.
    pub physical_limit_bytes: u64,
    /// Memory that the models use: mapped, retiring, or granted to running
    /// allocations. It is above the limit only after the limit was lowered.
    pub physical_bytes: u64,
    /// The highest `physical_bytes` so far.
    pub peak_physical_bytes: u64,
    /// Number of registered models.
    pub num_models: u64,
    /// Address space of all models together.
    pub virtual_bytes: u64,
    /// Guarantees of all models together.
    pub guaranteed_bytes: u64,
    /// Memory of freed ranges that queued work may still use.
    pub retiring_bytes: u64,
    /// Memory that the pool holds from the device and no model uses.
    pub cached_bytes: u64,
    /// Memory that the pool holds from the device.
    pub held_bytes: u64,
    /// Allocations that wait now.
    pub waiting: u64,
}

impl From<&sys::ferrum_elastic_pool_info> for ElasticPoolInfo {
    fn from(raw: &sys::ferrum_elastic_pool_info) -> Self {
        Self {
            page_bytes: raw.page_bytes,
            physical_limit_bytes: raw.physical_limit_bytes,
            physical_bytes: raw.physical_bytes,
            peak_physical_bytes: raw.peak_physical_bytes,
            num_models: raw.num_models,
            virtual_bytes: raw.virtual_bytes,
            guaranteed_bytes: raw.guaranteed_bytes,
            retiring_bytes: raw.retiring_bytes,
            cached_bytes: raw.cached_bytes,
            held_bytes: raw.held_bytes,
            waiting: raw.waiting,
        }
    }
}

/// Result of a wake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WakeReport {
    /// Memory that was allocated for the ranges.
    pub restored_bytes: u64,
    /// Duration of the call.
    pub elapsed: Duration,
}

impl From<&sys::ferrum_wake_report> for WakeReport {
    fn from(raw: &sys::ferrum_wake_report) -> Self {
        Self {
            restored_bytes: raw.restored_bytes,
            elapsed: Duration::from_nanos(raw.elapsed_ns),
        }
    }
}

/// Settings of a monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorConfig {
    /// The bounds of its levels.
    pub profile: PressureProfile,
    /// How often the monitor queries devices and system for changes of other
    /// processes while a callback is set. It learns of changes by this library at
    /// once. `None`: 1 s; UINT64_MAX: never.
    pub interval: Option<Duration>,
    /// Ignore the memory pressure that the system reports.
    pub ignore_system: bool,
}

impl MonitorConfig {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_monitor_config {
        sys::ferrum_monitor_config {
            profile: self.profile.to_raw(),
            interval_ns: optional_ns(self.interval, 0),
            flags: flag(self.ignore_system, sys::FERRUM_MONITOR_IGNORE_SYSTEM),
            ..Default::default()
        }
    }
}

/// The pressure level of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceLevel {
    /// The device.
    pub device: sys::ferrum_device,
    /// Its level.
    pub level: PressureLevel,
}

impl From<&sys::ferrum_device_level> for DeviceLevel {
    fn from(raw: &sys::ferrum_device_level) -> Self {
        Self {
            device: raw.device,
            level: PressureLevel::from_raw(raw.level),
        }
    }
}

/// The pressure of all devices of a monitor together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MonitorPressure {
    /// The highest level of all devices; LOW when there is none.
    pub level: PressureLevel,
    /// The level of the sum of all known bytes, without hysteresis.
    pub weighted_level: PressureLevel,
    /// Number of devices.
    pub devices: u32,
    /// Number of devices with unknown capacity, or that could not be queried.
    pub unknown_devices: u32,
    /// Sum of `total_bytes` of [`MemoryInfo`](crate::MemoryInfo) over the known devices, so limits
    /// count. A sum above UINT64_MAX is UINT64_MAX.
    pub total_bytes: u64,
    /// Sum of total - free over the known devices.
    pub used_bytes: u64,
}

impl From<&sys::ferrum_monitor_pressure> for MonitorPressure {
    fn from(raw: &sys::ferrum_monitor_pressure) -> Self {
        Self {
            level: PressureLevel::from_raw(raw.level),
            weighted_level: PressureLevel::from_raw(raw.weighted_level),
            devices: raw.devices,
            unknown_devices: raw.unknown_devices,
            total_bytes: raw.total_bytes,
            used_bytes: raw.used_bytes,
        }
    }
}

/// Result of a collection on one device: the sum over its managers; the
/// fragmentation is the highest of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Collected {
    /// The device.
    pub device: sys::ferrum_device,
    /// `None`, or the first failure. The collection continues after a failure.
    pub status: Option<crate::ErrorKind>,
    /// Number of managers.
    pub managers: u32,
    /// Fragmentation ratio before.
    pub fragmentation_before: f32,
    /// Fragmentation ratio after.
    pub fragmentation_after: f32,
    /// Bytes released to the system.
    pub memory_freed_bytes: u64,
    /// Number of moved blocks.
    pub blocks_moved: u64,
    /// Number of skipped blocks.
    pub blocks_skipped: u64,
    /// Time taken.
    pub time_taken: Duration,
    /// Sum of the managers' times in milliseconds, each rounded up.
    pub time_taken_ms: u64,
}

impl From<&sys::ferrum_collected> for Collected {
    fn from(raw: &sys::ferrum_collected) -> Self {
        Self {
            device: raw.device,
            status: (raw.status != sys::FERRUM_OK)
                .then(|| crate::ErrorKind::from_status(raw.status)),
            managers: raw.managers,
            fragmentation_before: raw.fragmentation_before,
            fragmentation_after: raw.fragmentation_after,
            memory_freed_bytes: raw.memory_freed_bytes,
            blocks_moved: raw.blocks_moved,
            blocks_skipped: raw.blocks_skipped,
            time_taken: Duration::from_nanos(raw.time_taken_ns),
            time_taken_ms: raw.time_taken_ms,
        }
    }
}

/// A candidate, with its numbers for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlacementOption {
    /// The candidate.
    pub device: sys::ferrum_device,
    /// Size with the largest possible padding; `None` when that overflows.
    pub needed_bytes: Option<u64>,
    /// Capacity of the device, or its limit if that is less; `None` means unknown.
    pub total_bytes: Option<u64>,
    /// Used bytes of the device.
    pub used_bytes: u64,
    /// Bytes that can still be allocated.
    pub free_bytes: u64,
    /// Longest run that can be allocated now.
    pub largest_free_bytes: u64,
    /// `None`, or the reason why the device cannot serve the request.
    pub reason: Option<PlacementReason>,
    /// 0, plus 1 when the request would bring the device to CRITICAL, plus 2 when
    /// the device would have to release memory first. Lower is better.
    pub tier: i32,
    /// Position among the preferred devices, from 1 on; `None`: not preferred.
    pub preferred_rank: Option<u32>,
    /// Level of the device after the request.
    pub level_after: PressureLevel,
}

impl From<&sys::ferrum_placement_option> for PlacementOption {
    fn from(raw: &sys::ferrum_placement_option) -> Self {
        Self {
            device: raw.device,
            needed_bytes: (raw.needed_bytes != u64::MAX).then_some(raw.needed_bytes),
            total_bytes: (raw.total_bytes != 0).then_some(raw.total_bytes),
            used_bytes: raw.used_bytes,
            free_bytes: raw.free_bytes,
            largest_free_bytes: raw.largest_free_bytes,
            reason: (raw.reason != sys::FERRUM_PLACEMENT_CHOSEN)
                .then_some(PlacementReason::from_raw(raw.reason)),
            tier: raw.tier,
            preferred_rank: (raw.preferred_rank != 0).then_some(raw.preferred_rank),
            level_after: PressureLevel::from_raw(raw.level_after),
        }
    }
}

/// Dimensions of a model, for the short formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelShape {
    /// Width of the model.
    pub hidden_size: u64,
    /// Width of the MLPs.
    pub intermediate_size: u64,
    /// Layers.
    pub num_layers: u64,
    /// Tokens of the vocabulary.
    pub vocab_size: u64,
    /// Attention heads, not 0.
    pub num_heads: u64,
    /// Key and value heads.
    pub num_kv_heads: u64,
    /// Tokens of the sequence, for [`ferrum_estimate_inference_memory`](crate::sys::ferrum_estimate_inference_memory) only.
    pub max_seq_len: u64,
    /// Size of one element.
    pub dtype_bytes: u64,
}

impl ModelShape {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_model_shape {
        sys::ferrum_model_shape {
            hidden_size: self.hidden_size,
            intermediate_size: self.intermediate_size,
            num_layers: self.num_layers,
            vocab_size: self.vocab_size,
            num_heads: self.num_heads,
            num_kv_heads: self.num_kv_heads,
            max_seq_len: self.max_seq_len,
            dtype_bytes: self.dtype_bytes,
            ..Default::default()
        }
    }
}

/// Dimensions of a KV cache, for the short formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvCacheShape {
    /// Layers.
    pub num_layers: u64,
    /// Key and value heads.
    pub num_kv_heads: u64,
    /// Elements of a head.
    pub head_dim: u64,
    /// Tokens of the sequence.
    pub max_seq_len: u64,
    /// Size of one element.
    pub dtype_bytes: u64,
}

impl KvCacheShape {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_kv_cache_shape {
        sys::ferrum_kv_cache_shape {
            num_layers: self.num_layers,
            num_kv_heads: self.num_kv_heads,
            head_dim: self.head_dim,
            max_seq_len: self.max_seq_len,
            dtype_bytes: self.dtype_bytes,
            ..Default::default()
        }
    }
}

/// Result of [`ferrum_estimate_inference_memory`](crate::sys::ferrum_estimate_inference_memory).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InferenceMemoryEstimate {
    /// The weights.
    pub model_bytes: u64,
    /// Keys and values of the sequence.
    pub kv_cache_bytes: u64,
    /// The activations of one token.
    pub activation_bytes: u64,
    /// The sum of the three.
    pub total_bytes: u64,
}

impl From<&sys::ferrum_inference_estimate> for InferenceMemoryEstimate {
    fn from(raw: &sys::ferrum_inference_estimate) -> Self {
        Self {
            model_bytes: raw.model_bytes,
            kv_cache_bytes: raw.kv_cache_bytes,
            activation_bytes: raw.activation_bytes,
            total_bytes: raw.total_bytes,
        }
    }
}

/// How a model will be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EstimateRequest {
    /// Store the attention scores of each token with its whole sequence, as attention
    /// without a fused kernel does.
    pub eager_attention: bool,
    /// Compute logits for every token, instead of the last token of each sequence.
    pub all_logits: bool,
    /// Tokens of one sequence, prompt and answer; `None`: the model's own context.
    pub context: Option<u64>,
    /// Number of sequences at a time, at least 1.
    pub batch: u64,
    /// Number of devices that share the model, 1 to 65536. The estimate is for the
    /// device that holds most.
    pub tensor_parallel: u64,
    /// Prompt tokens that are computed at once; `None`: whole prompts.
    pub prefill_tokens: Option<u64>,
    /// The share of the allocator, in thousandths of all other memory, at most
    /// 1000.
    pub overhead_permille: u64,
    /// Free memory that the model must fit into; `None`: the result does not state
    /// whether it fits.
    pub free_bytes: Option<u64>,
    /// Type of the elements of the KV cache; `None`: the type of the activations.
    ///
    /// - "f32": 32-bit floating point
    /// - "f16": 16-bit floating point
    /// - "bf16": 16-bit floating point with the exponent of "f32"
    /// - "f8": 8-bit floating point
    /// - "int8": 8-bit integers, in groups of 32 with a scale
    /// - "int4": 4-bit integers, in groups of 32 with a scale
    pub kv_dtype: Option<EstimateDType>,
    /// Type that the weights are converted to, one of the same words; `None`:
    /// the type in the files.
    pub weight_dtype: Option<EstimateDType>,
    /// Tokens of one layer in a block of a paged KV cache, 1 to 1048576. Layers
    /// with a window keep whole blocks.
    pub block_tokens: u64,
}

impl Default for EstimateRequest {
    fn default() -> Self {
        let raw = sys::ferrum_estimate_request::INIT;
        Self {
            eager_attention: raw.flags & sys::FERRUM_ESTIMATE_EAGER_ATTENTION != 0,
            all_logits: raw.flags & sys::FERRUM_ESTIMATE_ALL_LOGITS != 0,
            context: (raw.context != 0).then_some(raw.context),
            batch: raw.batch,
            tensor_parallel: raw.tensor_parallel,
            prefill_tokens: (raw.prefill_tokens != 0).then_some(raw.prefill_tokens),
            overhead_permille: raw.overhead_permille,
            free_bytes: (raw.free_bytes != 0).then_some(raw.free_bytes),
            kv_dtype: None,
            weight_dtype: None,
            block_tokens: raw.block_tokens,
        }
    }
}

impl EstimateRequest {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_estimate_request) -> Result<T>,
    ) -> Result<T> {
        let kv_dtype = optional_text(function, "kv_dtype", self.kv_dtype.map(EstimateDType::name))?;
        let weight_dtype = optional_text(
            function,
            "weight_dtype",
            self.weight_dtype.map(EstimateDType::name),
        )?;
        call(&sys::ferrum_estimate_request {
            flags: flag(self.eager_attention, sys::FERRUM_ESTIMATE_EAGER_ATTENTION)
                | flag(self.all_logits, sys::FERRUM_ESTIMATE_ALL_LOGITS),
            context: self.context.unwrap_or(0),
            batch: self.batch,
            tensor_parallel: self.tensor_parallel,
            prefill_tokens: self.prefill_tokens.unwrap_or(0),
            overhead_permille: self.overhead_permille,
            free_bytes: self.free_bytes.unwrap_or(0),
            kv_dtype: pointer(&kv_dtype),
            weight_dtype: pointer(&weight_dtype),
            block_tokens: self.block_tokens,
            ..Default::default()
        })
    }
}

/// Settings of a fallback manager or a generic pool.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryConfig {
    /// Create buffers on the host when the device has no room.
    pub cpu_fallback: bool,
    /// Record every buffer in use in a tracker.
    pub track_allocations: bool,
    /// Create the pool with a free buffer of each of `pre_allocate_sizes`. The creation
    /// fails if one of them fails.
    pub pre_allocate: bool,
    /// The share of the device's capacity, or of its limit if that is less, that
    /// the manager may hold: 0.1 to 1, computed in millionths. There is no bound
    /// when neither is known.
    pub gpu_memory_fraction: f64,
    /// Bytes that stay free on the device, independent of its limit. The manager
    /// allocates no memory from the device that would leave less.
    pub min_free_bytes: u64,
    /// Number of free buffers that a bucket keeps; 0: none.
    pub max_pooled_per_bucket: u64,
    /// Size of the free buffers of all buckets together; `None`: no bound.
    pub max_pooled_bytes: Option<u64>,
    /// `pre_allocate_count` sizes; may be `None` when there are none.
    pub pre_allocate_sizes: Vec<u64>,
}

impl From<&sys::ferrum_memory_config> for MemoryConfig {
    fn from(raw: &sys::ferrum_memory_config) -> Self {
        Self {
            cpu_fallback: raw.flags & sys::FERRUM_MEMORY_CPU_FALLBACK != 0,
            track_allocations: raw.flags & sys::FERRUM_MEMORY_TRACK_ALLOCATIONS != 0,
            pre_allocate: raw.flags & sys::FERRUM_MEMORY_PRE_ALLOCATE != 0,
            gpu_memory_fraction: raw.gpu_memory_fraction,
            min_free_bytes: raw.min_free_bytes,
            max_pooled_per_bucket: raw.max_pooled_per_bucket,
            max_pooled_bytes: (raw.max_pooled_bytes != 0).then_some(raw.max_pooled_bytes),
            pre_allocate_sizes: Vec::new(),
        }
    }
}

impl Default for MemoryConfig {
    fn default() -> Self {
        let raw = sys::ferrum_memory_config::INIT;
        Self {
            cpu_fallback: raw.flags & sys::FERRUM_MEMORY_CPU_FALLBACK != 0,
            track_allocations: raw.flags & sys::FERRUM_MEMORY_TRACK_ALLOCATIONS != 0,
            pre_allocate: raw.flags & sys::FERRUM_MEMORY_PRE_ALLOCATE != 0,
            gpu_memory_fraction: raw.gpu_memory_fraction,
            min_free_bytes: raw.min_free_bytes,
            max_pooled_per_bucket: raw.max_pooled_per_bucket,
            max_pooled_bytes: (raw.max_pooled_bytes != 0).then_some(raw.max_pooled_bytes),
            pre_allocate_sizes: Vec::new(),
        }
    }
}

impl MemoryConfig {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_memory_config {
        sys::ferrum_memory_config {
            flags: flag(self.cpu_fallback, sys::FERRUM_MEMORY_CPU_FALLBACK)
                | flag(self.track_allocations, sys::FERRUM_MEMORY_TRACK_ALLOCATIONS)
                | flag(self.pre_allocate, sys::FERRUM_MEMORY_PRE_ALLOCATE),
            gpu_memory_fraction: self.gpu_memory_fraction,
            min_free_bytes: self.min_free_bytes,
            max_pooled_per_bucket: self.max_pooled_per_bucket,
            max_pooled_bytes: self.max_pooled_bytes.unwrap_or(0),
            pre_allocate_sizes: self.pre_allocate_sizes.as_ptr(),
            pre_allocate_count: self.pre_allocate_sizes.len() as u64,
            ..Default::default()
        }
    }
}

/// Counters of a fallback manager or a generic pool. They contain only its own
/// buffers, so the device may be full while the pool is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Buffers that exist: those in use and those in buckets.
    pub total_allocated_bytes: u64,
    /// Buffers in use.
    pub in_use_bytes: u64,
    /// Free buffers in the buckets.
    pub pooled_bytes: u64,
    /// The highest value of `in_use_bytes`.
    pub peak_bytes: u64,
    /// Number of requests that were served from the buckets.
    pub pool_hits: u64,
    /// Number of requests that were not served from the buckets.
    pub pool_misses: u64,
    /// Number of buffers that were created on the host because the device had no
    /// room.
    pub cpu_fallbacks: u64,
    /// Number of buffers in use, tracked or not.
    pub active_buffers: u64,
}

impl From<&sys::ferrum_memory_stats> for MemoryStats {
    fn from(raw: &sys::ferrum_memory_stats) -> Self {
        Self {
            total_allocated_bytes: raw.total_allocated_bytes,
            in_use_bytes: raw.in_use_bytes,
            pooled_bytes: raw.pooled_bytes,
            peak_bytes: raw.peak_bytes,
            pool_hits: raw.pool_hits,
            pool_misses: raw.pool_misses,
            cpu_fallbacks: raw.cpu_fallbacks,
            active_buffers: raw.active_buffers,
        }
    }
}

impl MemoryStats {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_memory_stats {
        sys::ferrum_memory_stats {
            total_allocated_bytes: self.total_allocated_bytes,
            in_use_bytes: self.in_use_bytes,
            pooled_bytes: self.pooled_bytes,
            peak_bytes: self.peak_bytes,
            pool_hits: self.pool_hits,
            pool_misses: self.pool_misses,
            cpu_fallbacks: self.cpu_fallbacks,
            active_buffers: self.active_buffers,
            ..Default::default()
        }
    }
}

/// Numbers of a tracker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrackerTotals {
    /// Number of buffers.
    pub count: u64,
    /// The sum of their sizes.
    pub total_bytes: u64,
    /// The highest value of `total_bytes`.
    pub peak_bytes: u64,
}

impl From<&sys::ferrum_tracker_totals> for TrackerTotals {
    fn from(raw: &sys::ferrum_tracker_totals) -> Self {
        Self {
            count: raw.count,
            total_bytes: raw.total_bytes,
            peak_bytes: raw.peak_bytes,
        }
    }
}

/// Details of a buffer of a generic pool, for its tracker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferUse<'a> {
    /// Side of the buffer.
    pub location: BufferLocation,
    /// Number of elements.
    pub num_elements: u64,
    /// At most 63 bytes; `None`: none.
    pub tag: Option<&'a str>,
}

impl BufferUse<'_> {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_buffer_use) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        call(&sys::ferrum_buffer_use {
            location: self.location.to_raw(),
            num_elements: self.num_elements,
            tag: pointer(&tag),
            ..Default::default()
        })
    }
}

/// Counters of a fallback manager for the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FallbackStats {
    /// Bytes on the host now.
    pub cpu_bytes: u64,
    /// Number of buffers on the host now.
    pub cpu_buffers: u64,
    /// Number of moves to the host so far.
    pub moved_to_cpu: u64,
    /// Number of moves to the device so far.
    pub moved_to_gpu: u64,
}

impl From<&sys::ferrum_fallback_stats> for FallbackStats {
    fn from(raw: &sys::ferrum_fallback_stats) -> Self {
        Self {
            cpu_bytes: raw.cpu_bytes,
            cpu_buffers: raw.cpu_buffers,
            moved_to_cpu: raw.moved_to_cpu,
            moved_to_gpu: raw.moved_to_gpu,
        }
    }
}

/// A request for a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct BufferRequest<'a> {
    /// Type of the elements: [`DType::F32`](crate::DType::F32) to [`DType::I64`](crate::DType::I64).
    pub dtype: DType,
    /// Number of elements; not 0.
    pub num_elements: u64,
    /// Allowed sides.
    pub place: BufferPlace,
    /// After a fallback, the manager may move the buffer to the device when another
    /// buffer is freed and this one is not pinned.
    pub movable: bool,
    /// The first stream of the device that uses the buffer; `None`: the default
    /// stream.
    pub stream: Option<&'a Stream>,
    /// Tag for the tracker, at most 63 bytes; `None`: none.
    pub tag: Option<&'a str>,
}

impl BufferRequest<'_> {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_buffer_request) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        call(&sys::ferrum_buffer_request {
            dtype: self.dtype.to_raw(),
            num_elements: self.num_elements,
            place: self.place.to_raw(),
            flags: flag(self.movable, sys::FERRUM_BUFFER_MOVABLE),
            stream: crate::stream::raw_of(self.stream),
            tag: pointer(&tag),
            ..Default::default()
        })
    }
}

/// A request for memory of two devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkRequest<'a> {
    /// Not 0.
    pub size_bytes: u64,
    /// Alignment of the first address: a power of two up to [`FERRUM_ALIGNMENT_MAX`](crate::sys::FERRUM_ALIGNMENT_MAX);
    /// `None`: the pool's.
    pub alignment_bytes: Option<u64>,
    /// Name for the counters, at most 63 bytes; `None`: none.
    pub tag: Option<&'a str>,
}

impl LinkRequest<'_> {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_link_request) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        call(&sys::ferrum_link_request {
            size_bytes: self.size_bytes,
            alignment_bytes: self.alignment_bytes.unwrap_or(0),
            tag: pointer(&tag),
            ..Default::default()
        })
    }
}

/// The last hint of each group; [`UsageHint::None`](crate::UsageHint::None) where none was set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageHints {
    /// [`UsageHint::Sequential`](crate::UsageHint::Sequential), [`UsageHint::Random`](crate::UsageHint::Random) or none.
    pub order: UsageHint,
    /// [`UsageHint::ReadMostly`](crate::UsageHint::ReadMostly), [`UsageHint::WriteMostly`](crate::UsageHint::WriteMostly) or none.
    pub direction: UsageHint,
    /// [`UsageHint::Temporary`](crate::UsageHint::Temporary), [`UsageHint::Resident`](crate::UsageHint::Resident) or none.
    pub lifetime: UsageHint,
}

impl From<&sys::ferrum_usage_hints> for UsageHints {
    fn from(raw: &sys::ferrum_usage_hints) -> Self {
        Self {
            order: UsageHint::from_raw(raw.order),
            direction: UsageHint::from_raw(raw.direction),
            lifetime: UsageHint::from_raw(raw.lifetime),
        }
    }
}

/// Numbers about copies, fills, writes, reads and mappings of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessStats {
    /// 1 if the manager tracks accesses; otherwise all numbers below are 0.
    pub is_tracked: bool,
    /// Pattern of the last accesses.
    pub pattern: AccessPattern,
    /// Number of reads.
    pub read_count: u64,
    /// Number of writes.
    pub write_count: u64,
    /// Mean size of a read, rounded down; `None` when there was none.
    pub average_read_bytes: Option<u64>,
    /// Mean size of a write, rounded down; `None` when there was none.
    pub average_write_bytes: Option<u64>,
    /// Monotonic time of the last access since [`ferrum_init`](crate::sys::ferrum_init).
    pub last_access: Option<Duration>,
}

impl From<&sys::ferrum_access_stats> for AccessStats {
    fn from(raw: &sys::ferrum_access_stats) -> Self {
        Self {
            is_tracked: raw.is_tracked != 0,
            pattern: AccessPattern::from_raw(raw.pattern),
            read_count: raw.read_count,
            write_count: raw.write_count,
            average_read_bytes: (raw.average_read_bytes != 0).then_some(raw.average_read_bytes),
            average_write_bytes: (raw.average_write_bytes != 0).then_some(raw.average_write_bytes),
            last_access: (raw.is_accessed != 0).then_some(Duration::from_nanos(raw.last_access_ns)),
        }
    }
}

/// External memory that gets a handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adoption<'a> {
    /// [`MemoryType`](crate::MemoryType), its purpose.
    pub memory_type: MemoryType,
    /// Address of the memory on the manager's device; on a host device a pointer.
    /// With [`DeviceInfo::registered_memory`](crate::DeviceInfo::registered_memory), [`MemoryType::Pinned`](crate::MemoryType::Pinned) and
    /// [`MemoryType::Mapped`](crate::MemoryType::Mapped) also accept a pointer to any memory of the process.
    pub address: u64,
    /// Not 0.
    pub size_bytes: u64,
    /// Name for the counters, at most 63 bytes; `None`: none.
    pub tag: Option<&'a str>,
    /// The block is never written: copies, fills and mappings that would write
    /// to it return [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied). Use it for memory that the
    /// process may only read, such as a mapped file of weights.
    pub is_read_only: bool,
}

impl Adoption<'_> {
    /// Calls a function with the C record. Its texts are valid during the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_adoption) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        call(&sys::ferrum_adoption {
            memory_type: self.memory_type.to_raw(),
            address: self.address,
            size_bytes: self.size_bytes,
            tag: pointer(&tag),
            is_read_only: self.is_read_only.into(),
            ..Default::default()
        })
    }
}

/// A range of device memory of one process, as bytes that name it in another
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// Start of the range in the memory that the handle names.
    pub offset_bytes: u64,
    /// Its size.
    pub size_bytes: u64,
    /// Opaque.
    pub handle: [u8; 64],
}

impl From<&sys::ferrum_shared_memory> for SharedMemory {
    fn from(raw: &sys::ferrum_shared_memory) -> Self {
        Self {
            offset_bytes: raw.offset_bytes,
            size_bytes: raw.size_bytes,
            handle: raw.handle,
        }
    }
}

impl SharedMemory {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_shared_memory {
        sys::ferrum_shared_memory {
            offset_bytes: self.offset_bytes,
            size_bytes: self.size_bytes,
            handle: self.handle,
            ..Default::default()
        }
    }
}

/// The progress of a load or of another call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WeightsProgress {
    /// 1 if a load has ended, with or without success, else 0.
    pub is_over: bool,
    /// Number of bytes that are done.
    pub done_bytes: u64,
    /// Total number of bytes; `None` before it is known.
    pub total_bytes: Option<u64>,
    /// The mean rate since the beginning; `None` if it is not known.
    pub bytes_per_second: Option<f64>,
}

impl From<&sys::ferrum_weights_progress> for WeightsProgress {
    fn from(raw: &sys::ferrum_weights_progress) -> Self {
        Self {
            is_over: raw.is_over != 0,
            done_bytes: raw.done_bytes,
            total_bytes: (raw.total_bytes != 0).then_some(raw.total_bytes),
            bytes_per_second: (raw.bytes_per_second != 0.0).then_some(raw.bytes_per_second),
        }
    }
}

/// The settings of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvCacheConfig {
    /// The type of keys and values; not used without memory.
    pub dtype: DType,
    /// Number of tokens of a block, at most [`FERRUM_KV_TOKENS_MAX`](crate::sys::FERRUM_KV_TOKENS_MAX).
    pub block_tokens: u32,
    /// Number of blocks, at most [`FERRUM_KV_BLOCKS_MAX`](crate::sys::FERRUM_KV_BLOCKS_MAX).
    pub blocks: u32,
    /// Number of blocks of the host for swapped sequences; 0: none.
    pub host_blocks: u32,
    /// Most sequences that live at the same time, at most [`FERRUM_KV_SEQUENCES_MAX`](crate::sys::FERRUM_KV_SEQUENCES_MAX).
    pub sequences: u32,
    /// Most tokens of a sequence, at most [`FERRUM_KV_TOKENS_MAX`](crate::sys::FERRUM_KV_TOKENS_MAX).
    pub sequence_tokens: u32,
    /// Length of the sliding window: a token uses so many tokens, itself among them; 0: each
    /// token uses all tokens before it.
    pub window_tokens: u32,
    /// Number of layers; not used without memory.
    pub layers: u32,
    /// Number of heads of keys and of values in a layer; not used without memory.
    pub kv_heads: u32,
    /// Length of a head; not used without memory.
    pub head_dim: u32,
    /// In a virtual pool or a model: number of blocks, from the first one, that always have
    /// memory. The others get memory when sequences need them. In a pool all blocks always
    /// have memory.
    pub always_blocks: u32,
    /// Seed of [`ferrum_kv_cache_hash_tokens`](crate::sys::ferrum_kv_cache_hash_tokens). Caches with the same seed and `block_tokens` compute
    /// the same hashes. A secret seed keeps users from choosing tokens with the hash of the
    /// tokens of another user.
    pub hash_seed: u64,
}

impl KvCacheConfig {
    /// As C has it.
    pub(crate) fn raw(&self) -> sys::ferrum_kv_cache_config {
        sys::ferrum_kv_cache_config {
            dtype: self.dtype.to_raw(),
            block_tokens: self.block_tokens,
            blocks: self.blocks,
            host_blocks: self.host_blocks,
            sequences: self.sequences,
            sequence_tokens: self.sequence_tokens,
            window_tokens: self.window_tokens,
            layers: self.layers,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            always_blocks: self.always_blocks,
            hash_seed: self.hash_seed,
            ..Default::default()
        }
    }
}

/// The state of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KvCacheStats {
    /// The level of `used_blocks` of blocks, with the bounds 60, 80 and 95 %.
    pub level: PressureLevel,
    /// Number of blocks: those used, cached, free and unmapped.
    pub blocks: u64,
    /// Blocks that sequences use.
    pub used_blocks: u64,
    /// Blocks with a hash that no sequence uses. The cache evicts them when it needs them.
    pub cached_blocks: u64,
    /// Blocks without contents.
    pub free_blocks: u64,
    /// Blocks that have no memory now.
    pub unmapped_blocks: u64,
    /// Used and cached blocks with a hash.
    pub published_blocks: u64,
    /// Number of blocks of all block tables together. Above `used_blocks` if sequences share
    /// blocks.
    pub references: u64,
    /// Number of blocks of the host.
    pub host_blocks: u64,
    /// Those of them that swapped sequences use.
    pub host_used_blocks: u64,
    /// Number of live sequences.
    pub sequences: u64,
    /// Those of them that are swapped out.
    pub swapped_sequences: u64,
    /// Number of tokens of all sequences together.
    pub tokens: u64,
    /// Hashes of [`ferrum_kv_cache_allocate`](crate::sys::ferrum_kv_cache_allocate) whose block was shared.
    pub hits: u64,
    /// The other hashes of [`ferrum_kv_cache_allocate`](crate::sys::ferrum_kv_cache_allocate).
    pub misses: u64,
    /// Cached blocks that were evicted.
    pub evictions: u64,
    /// Blocks that were copied because an append changed a shared block.
    pub copies: u64,
    /// Blocks that were copied to the host.
    pub swapped_out_blocks: u64,
    /// Blocks that were copied from the host.
    pub swapped_in_blocks: u64,
    /// Calls that failed because there were not enough blocks.
    pub failures: u64,
    /// Size of a block in all layers, keys and values; 0 without memory.
    pub block_bytes: u64,
    /// Size of all blocks that have memory now.
    pub mapped_bytes: u64,
}

impl From<&sys::ferrum_kv_cache_stats> for KvCacheStats {
    fn from(raw: &sys::ferrum_kv_cache_stats) -> Self {
        Self {
            level: PressureLevel::from_raw(raw.level),
            blocks: raw.blocks,
            used_blocks: raw.used_blocks,
            cached_blocks: raw.cached_blocks,
            free_blocks: raw.free_blocks,
            unmapped_blocks: raw.unmapped_blocks,
            published_blocks: raw.published_blocks,
            references: raw.references,
            host_blocks: raw.host_blocks,
            host_used_blocks: raw.host_used_blocks,
            sequences: raw.sequences,
            swapped_sequences: raw.swapped_sequences,
            tokens: raw.tokens,
            hits: raw.hits,
            misses: raw.misses,
            evictions: raw.evictions,
            copies: raw.copies,
            swapped_out_blocks: raw.swapped_out_blocks,
            swapped_in_blocks: raw.swapped_in_blocks,
            failures: raw.failures,
            block_bytes: raw.block_bytes,
            mapped_bytes: raw.mapped_bytes,
        }
    }
}

/// A new sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KvSequence {
    /// The number of the sequence.
    pub sequence: u64,
    /// Number of its first tokens whose keys and values are in shared blocks.
    pub cached_tokens: u32,
}

impl From<&sys::ferrum_kv_sequence> for KvSequence {
    fn from(raw: &sys::ferrum_kv_sequence) -> Self {
        Self {
            sequence: raw.sequence,
            cached_tokens: raw.cached_tokens,
        }
    }
}

/// A copy of a whole block, with its keys and values of all layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KvCopy {
    /// The block to be copied.
    pub source: i32,
    /// The block that gets the contents.
    pub target: i32,
}

impl From<&sys::ferrum_kv_copy> for KvCopy {
    fn from(raw: &sys::ferrum_kv_copy) -> Self {
        Self {
            source: raw.source,
            target: raw.target,
        }
    }
}
