use crate::error::text_of;
use crate::sys;

/// Pressure levels, by the share of the device that is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pressure {
    /// Below 70 %, or unknown.
    Low,
    /// From 70 %.
    Medium,
    /// From 85 %.
    High,
    /// From 95 %.
    Critical,
}

impl Pressure {
    /// Whether memory ought to be freed: from high on.
    pub fn should_free(self) -> bool {
        self >= Self::High
    }

    /// Whether requests ought to be denied: at critical.
    pub fn should_deny(self) -> bool {
        self >= Self::Critical
    }

    pub(crate) fn from_raw(level: sys::ferrum_pressure_level) -> Self {
        match level {
            sys::FERRUM_PRESSURE_LOW => Self::Low,
            sys::FERRUM_PRESSURE_MEDIUM => Self::Medium,
            sys::FERRUM_PRESSURE_HIGH => Self::High,
            _ => Self::Critical,
        }
    }
}

/// Description of an open device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// For example "cpu:0".
    pub id: String,
    /// For example "cpu".
    pub backend: String,
    /// Number after the colon of the id.
    pub ordinal: u32,
    /// Name of the hardware.
    pub name: String,
    /// Capacity in bytes; 0 means unknown.
    pub total_bytes: u64,
    /// Segments taken from the device are multiples of this.
    pub granularity_bytes: u64,
    /// Every segment's address is a multiple of this.
    pub alignment_bytes: u64,
    /// Whether an address of the device is also a pointer of the host.
    pub host_addressable: bool,
    /// Whether the device copies from others of its backend directly.
    pub peer: bool,
    /// Whether virtual and elastic pools work on the device.
    pub virtual_memory: bool,
    /// Whether page-locked memory can be had, within the system's limits.
    pub pinned_memory: bool,
    /// Whether blocks can be linked with blocks of others of its backend.
    pub linked_memory: bool,
    /// Whether virtual pools can have pages for other processes, and such be imported.
    pub exported_pages: bool,
    /// Whether plain memory and events can be shared with other processes.
    pub shared_memory: bool,
    /// Whether streams can be captured, for [`Pool::capture`](crate::Pool::capture).
    pub capture: bool,
    /// Whether MemoryType::Managed is memory that moves to where it is used.
    pub managed_memory: bool,
    /// Whether adopted memory of the process is page-locked.
    pub registered_memory: bool,
    /// Whether pools can have SegmentSource::StreamOrdered.
    pub stream_ordered: bool,
}

impl From<&sys::ferrum_device_info> for DeviceInfo {
    fn from(raw: &sys::ferrum_device_info) -> Self {
        let has = |bit| raw.capabilities & bit != 0;
        Self {
            id: text_of(&raw.id),
            backend: text_of(&raw.backend),
            ordinal: raw.ordinal,
            name: text_of(&raw.name),
            total_bytes: raw.total_bytes,
            granularity_bytes: raw.granularity_bytes,
            alignment_bytes: raw.alignment_bytes,
            host_addressable: has(sys::FERRUM_CAPABILITY_HOST_ADDRESSABLE),
            peer: has(sys::FERRUM_CAPABILITY_PEER),
            virtual_memory: has(sys::FERRUM_CAPABILITY_VIRTUAL_MEMORY),
            pinned_memory: has(sys::FERRUM_CAPABILITY_PINNED_MEMORY),
            linked_memory: has(sys::FERRUM_CAPABILITY_LINKED_MEMORY),
            exported_pages: has(sys::FERRUM_CAPABILITY_EXPORTED_PAGES),
            shared_memory: has(sys::FERRUM_CAPABILITY_SHARED_MEMORY),
            capture: has(sys::FERRUM_CAPABILITY_CAPTURE),
            managed_memory: has(sys::FERRUM_CAPABILITY_MANAGED_MEMORY),
            registered_memory: has(sys::FERRUM_CAPABILITY_REGISTERED_MEMORY),
            stream_ordered: has(sys::FERRUM_CAPABILITY_STREAM_ORDERED),
        }
    }
}

/// A device's memory in bytes; used + free + reserved = total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryInfo {
    /// Capacity; 0 means unknown.
    pub total_bytes: u64,
    /// Live blocks of this library and what it cannot hand out.
    pub used_bytes: u64,
    /// What can still be handed out.
    pub free_bytes: u64,
    /// Everything else.
    pub reserved_bytes: u64,
    /// Live blocks of all pools and managers.
    pub active_allocations: u64,
    /// 1 - largest free run / total free; 0 when nothing is free.
    pub fragmentation_ratio: f32,
    /// used / total * 100; 0 when total is unknown.
    pub utilization_percent: f32,
    /// Level of (total - free) / total.
    pub pressure: Pressure,
    /// Measured copy bandwidth in 10^9 bytes per second.
    pub bandwidth_gbps: Option<f32>,
    /// How long ago the device was asked; 0: just now.
    pub reading_age_ns: u64,
    /// Longest run that can be handed out as things are.
    pub largest_free_bytes: u64,
}

impl From<&sys::ferrum_memory_info> for MemoryInfo {
    fn from(raw: &sys::ferrum_memory_info) -> Self {
        Self {
            total_bytes: raw.total_bytes,
            used_bytes: raw.used_bytes,
            free_bytes: raw.free_bytes,
            reserved_bytes: raw.reserved_bytes,
            active_allocations: raw.active_allocations,
            fragmentation_ratio: raw.fragmentation_ratio,
            utilization_percent: raw.utilization_percent,
            pressure: Pressure::from_raw(raw.pressure),
            bandwidth_gbps: (raw.bandwidth_known != 0).then_some(raw.bandwidth_gbps),
            reading_age_ns: raw.reading_age_ns,
            largest_free_bytes: raw.largest_free_bytes,
        }
    }
}

/// A number of the books with the highest value that it had.
pub type Gauge = sys::ferrum_gauge;

/// Books of a device, a pool or a manager, in bytes but for the counts.
/// reserved = active + cached + unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Asked for by the live blocks.
    pub requested: Gauge,
    /// Live blocks after rounding.
    pub allocated: Gauge,
    /// Live, or freed and still in use by queued work.
    pub active: Gauge,
    /// Held and ready to be handed out.
    pub cached: Gauge,
    /// Held, but too small or badly placed to be handed out.
    pub unusable: Gauge,
    /// Had from the driver.
    pub reserved: Gauge,
    /// Live blocks, as a count.
    pub live_blocks: Gauge,
    /// Segments had from the driver, as a count.
    pub segments: Gauge,
    /// Successful allocations so far.
    pub allocations: u64,
    /// Frees so far.
    pub frees: u64,
    /// Allocations that ran out of memory.
    pub failures: u64,
    /// Longest free run in bytes.
    pub largest_free_bytes: u64,
    /// The part of cached that waits in thread caches.
    pub thread_cached_bytes: u64,
}

impl From<&sys::ferrum_statistics> for Statistics {
    fn from(raw: &sys::ferrum_statistics) -> Self {
        Self {
            requested: raw.requested,
            allocated: raw.allocated,
            active: raw.active,
            cached: raw.cached,
            unusable: raw.unusable,
            reserved: raw.reserved,
            live_blocks: raw.live_blocks,
            segments: raw.segments,
            allocations: raw.allocations,
            frees: raw.frees,
            failures: raw.failures,
            largest_free_bytes: raw.largest_free_bytes,
            thread_cached_bytes: raw.thread_cached_bytes,
        }
    }
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockState {
    /// A live block.
    Live,
    /// A freed block that queued work may still use, or that quarantine holds.
    InFlight,
    /// A freed block in a thread cache.
    Cached,
    /// Free memory of a pool.
    Free,
    /// Memory of a pool that it cannot hand out.
    Unusable,
    /// A range that sleeps: it has its address, and no memory.
    Asleep,
}

impl BlockState {
    fn from_raw(state: sys::ferrum_block_state) -> Self {
        match state {
            sys::FERRUM_BLOCK_LIVE => Self::Live,
            sys::FERRUM_BLOCK_IN_FLIGHT => Self::InFlight,
            sys::FERRUM_BLOCK_CACHED => Self::Cached,
            sys::FERRUM_BLOCK_FREE => Self::Free,
            sys::FERRUM_BLOCK_ASLEEP => Self::Asleep,
            _ => Self::Unusable,
        }
    }
}

/// Whom an address belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockOwner {
    /// What is there.
    pub state: BlockState,
    /// The pool; none when it is another one.
    pub pool: Option<sys::ferrum_pool>,
    /// The virtual pool.
    pub virtual_pool: Option<sys::ferrum_vpool>,
    /// The elastic pool.
    pub elastic_pool: Option<sys::ferrum_elastic_pool>,
    /// The manager whose pool it is.
    pub manager: Option<sys::ferrum_manager>,
    /// Start of the block or of the free run.
    pub address: u64,
    /// Its length in bytes after rounding.
    pub size_bytes: u64,
    /// What was asked for; 0 when not live.
    pub requested_bytes: u64,
    /// Time since the allocation; zero without tracking or when not live.
    pub age: std::time::Duration,
    /// Name of the pool.
    pub pool_name: String,
    /// Tag of the block; empty when not live.
    pub tag: String,
    /// Id of the model of the elastic pool, or empty.
    pub model: String,
}

impl From<&sys::ferrum_block_info> for BlockOwner {
    fn from(raw: &sys::ferrum_block_info) -> Self {
        Self {
            state: BlockState::from_raw(raw.state),
            pool: (raw.pool.id != 0).then_some(raw.pool),
            virtual_pool: (raw.vpool.id != 0).then_some(raw.vpool),
            elastic_pool: (raw.elastic_pool.id != 0).then_some(raw.elastic_pool),
            manager: (raw.manager != 0).then_some(sys::ferrum_manager { id: raw.manager }),
            address: raw.address,
            size_bytes: raw.size_bytes,
            requested_bytes: raw.requested_bytes,
            age: std::time::Duration::from_nanos(raw.age_ns),
            pool_name: text_of(&raw.pool_name),
            tag: text_of(&raw.tag),
            model: text_of(&raw.model),
        }
    }
}

/// What a defragmentation did. Every block that was live counts once: as moved,
/// as skipped for one reason, or as kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defragmentation {
    /// Bytes given back to the system.
    pub memory_freed_bytes: u64,
    /// Blocks moved to another address.
    pub blocks_moved: u64,
    /// Blocks that could not be moved: the sum over `skipped`.
    pub blocks_skipped: u64,
    /// Time taken.
    pub time_taken: std::time::Duration,
    /// Fragmentation ratio before.
    pub fragmentation_before: f32,
    /// Fragmentation ratio after.
    pub fragmentation_after: f32,
    /// Size, as asked for, of the blocks that were moved.
    pub bytes_moved: u64,
    /// Pages that all blocks were moved out of.
    pub pages_emptied: u64,
    /// The same of segments, in pools that take them whole.
    pub segments_emptied: u64,
    /// Blocks that could have been moved, but no page would have come free for it.
    pub blocks_kept: u64,
    /// Blocks that could not be moved, by reason.
    pub skipped: Skipped,
    /// The budget was over before all was done.
    pub budget_ended: bool,
}

/// How many blocks a defragmentation could not move, each for the first of these
/// reasons that held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Not asked for as relocatable.
    pub not_relocatable: u64,
    /// Filled or surrounded with patterns by a debug mode of the manager or pool.
    pub debugged: u64,
    /// Pinned.
    pub pinned: u64,
    /// Used on a stream on which work is queued.
    pub in_use: u64,
    /// Of pages whose blocks found no place outside of them, though as much is free
    /// there.
    pub no_room: u64,
    /// Not looked at any more when the budget was over.
    pub over_budget: u64,
    /// Mapped for the host; this reason comes after `pinned`.
    pub mapped: u64,
}

impl From<&sys::ferrum_defragmentation_stats> for Defragmentation {
    fn from(raw: &sys::ferrum_defragmentation_stats) -> Self {
        Self {
            memory_freed_bytes: raw.memory_freed_bytes,
            blocks_moved: raw.blocks_moved,
            blocks_skipped: raw.blocks_skipped,
            time_taken: std::time::Duration::from_nanos(raw.time_taken_ns),
            fragmentation_before: raw.fragmentation_before,
            fragmentation_after: raw.fragmentation_after,
            bytes_moved: raw.bytes_moved,
            pages_emptied: raw.pages_emptied,
            segments_emptied: raw.segments_emptied,
            blocks_kept: raw.blocks_kept,
            skipped: Skipped {
                not_relocatable: raw.skipped_not_relocatable,
                debugged: raw.skipped_debugged,
                pinned: raw.skipped_pinned,
                in_use: raw.skipped_in_use,
                no_room: raw.skipped_no_room,
                over_budget: raw.skipped_over_budget,
                mapped: raw.skipped_mapped,
            },
            budget_ended: raw.budget_ended != 0,
        }
    }
}
