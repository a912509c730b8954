use std::ops::BitOr;

use crate::library::c_text;
use crate::{sys, Result};

/// How much each thread may keep of the freed small and medium blocks of a pool
/// for its own next calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadCache {
    /// The library chooses.
    #[default]
    Auto,
    /// Nothing.
    Off,
    /// So many bytes.
    Bytes(u64),
}

impl ThreadCache {
    fn to_raw(self) -> u64 {
        match self {
            Self::Auto => sys::FERRUM_THREAD_CACHE_AUTO,
            Self::Off => 0,
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// What a pool does to find misuse; `|` joins. Any of them makes it slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DebugFlags(u32);

impl DebugFlags {
    /// None of it.
    pub const NONE: Self = Self(0);
    /// A zone before and behind every block, checked when it is freed.
    pub const RED_ZONES: Self = Self(sys::FERRUM_DEBUG_RED_ZONES);
    /// Overwrites blocks when they are handed out and when they are freed.
    pub const POISON: Self = Self(sys::FERRUM_DEBUG_POISON);
    /// Keeps freed blocks back for a while and looks for writes into them.
    pub const QUARANTINE: Self = Self(sys::FERRUM_DEBUG_QUARANTINE);
    /// Keeps where each block was allocated and freed, for reports.
    pub const CALL_SITES: Self = Self(sys::FERRUM_DEBUG_CALL_SITES);
    /// All of it.
    pub const ALL: Self = Self(sys::FERRUM_DEBUG_ALL);

    /// The flags as C has them.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl BitOr for DebugFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How a pool takes its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Paging {
    /// Page by page where the device can do it and the pool may hold 32 pages at
    /// least, else in segments.
    #[default]
    Auto,
    /// In segments, whole.
    Off,
    /// Page by page.
    On,
}

impl Paging {
    fn to_raw(self) -> sys::ferrum_paging {
        match self {
            Self::Auto => sys::FERRUM_PAGING_AUTO,
            Self::Off => sys::FERRUM_PAGING_OFF,
            Self::On => sys::FERRUM_PAGING_ON,
        }
    }
}

/// Where a pool has its segments from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SegmentSource {
    /// The device.
    #[default]
    Plain,
    /// A pool of the vendor's runtime, which takes them back without waiting for work
    /// of others. There are no pages then.
    StreamOrdered,
}

impl SegmentSource {
    fn to_raw(self) -> sys::ferrum_segment_source {
        match self {
            Self::Plain => sys::FERRUM_SEGMENTS_PLAIN,
            Self::StreamOrdered => sys::FERRUM_SEGMENTS_STREAM_ORDERED,
        }
    }
}

/// How many pages that no block touches stay with a pool for its next allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadyPages {
    /// The library chooses.
    #[default]
    Auto,
    /// All of them: they go back only when they are asked for.
    All,
    /// So many.
    Count(u32),
}

impl ReadyPages {
    fn to_raw(self) -> u32 {
        match self {
            Self::Auto => sys::FERRUM_READY_PAGES_AUTO,
            Self::All => sys::FERRUM_READY_PAGES_ALL,
            Self::Count(pages) => pages,
        }
    }
}

/// Settings of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Size of the first segment in bytes. Over pages it is only the bound of a pool
    /// that does not grow, and what pre_allocate takes.
    pub initial_size_bytes: u64,
    /// Upper bound of what the pool holds.
    pub max_size_bytes: Option<u64>,
    /// Size of each further segment; a pool over pages grows by the pages that it
    /// lacks.
    pub growth_increment_bytes: u64,
    /// Alignment of every block.
    pub alignment_bytes: u64,
    /// Grow when full.
    pub auto_expansion: bool,
    /// Take the memory when the pool is created.
    pub pre_allocate: bool,
    /// Keep peaks and counts.
    pub stats: bool,
    /// Placement strategy: "best_fit", "size_class", "tlsf", "buddy", "arena" or
    /// "fixed"; none: the default one.
    pub strategy: Option<String>,
    /// Name in reports, and tag of the pool's blocks.
    pub name: Option<String>,
    /// Keep the time of every allocation; goes past the thread caches.
    pub tracking: bool,
    /// What to do to find misuse; goes past the thread caches.
    pub debug: DebugFlags,
    /// What each thread may keep of freed blocks.
    pub thread_cache: ThreadCache,
    /// What the pool keeps in any case.
    pub min_held_bytes: u64,
    /// While more is held, a segment (a page) that a free leaves empty is given back
    /// at once; none: never at once.
    pub release_threshold_bytes: Option<u64>,
    /// Block size of "fixed", which needs it; 0 for the others.
    pub fixed_block_bytes: u64,
    /// Page of "fixed", a power of two; 0: that of the memory, or 2 MiB over segments.
    pub page_bytes: u64,
    /// How the pool takes its memory.
    pub paging: Paging,
    /// How many pages that no block touches stay for the next allocations.
    pub ready_pages: ReadyPages,
    /// The memory's pages, a power of two; 0: what the device recommends.
    pub physical_page_bytes: u64,
    /// Where the segments come from.
    pub segment_source: SegmentSource,
}

impl Default for PoolConfig {
    fn default() -> Self {
        let raw = sys::ferrum_pool_config::INIT;
        Self {
            initial_size_bytes: raw.initial_size_bytes,
            max_size_bytes: None,
            growth_increment_bytes: raw.growth_increment_bytes,
            alignment_bytes: raw.alignment_bytes,
            auto_expansion: raw.enable_auto_expansion != 0,
            pre_allocate: raw.pre_allocate != 0,
            stats: raw.enable_stats != 0,
            strategy: None,
            name: None,
            tracking: raw.tracking != 0,
            debug: DebugFlags(raw.debug),
            thread_cache: ThreadCache::Auto,
            min_held_bytes: raw.min_held_bytes,
            release_threshold_bytes: None,
            fixed_block_bytes: raw.fixed_block_bytes,
            page_bytes: raw.page_bytes,
            paging: Paging::Auto,
            ready_pages: ReadyPages::Auto,
            physical_page_bytes: raw.physical_page_bytes,
            segment_source: SegmentSource::Plain,
        }
    }
}

impl PoolConfig {
    /// Calls with the settings as C has them; the texts live through the call.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_pool_config) -> Result<T>,
    ) -> Result<T> {
        let strategy = self
            .strategy
            .as_deref()
            .map(|s| c_text(function, "strategy", s))
            .transpose()?;
        let name = self
            .name
            .as_deref()
            .map(|s| c_text(function, "name", s))
            .transpose()?;
        call(&sys::ferrum_pool_config {
            enable_auto_expansion: self.auto_expansion.into(),
            initial_size_bytes: self.initial_size_bytes,
            max_size_bytes: self.max_size_bytes.unwrap_or(0),
            growth_increment_bytes: self.growth_increment_bytes,
            alignment_bytes: self.alignment_bytes,
            pre_allocate: self.pre_allocate.into(),
            enable_stats: self.stats.into(),
            strategy: strategy.as_ref().map_or(std::ptr::null(), |s| s.as_ptr()),
            name: name.as_ref().map_or(std::ptr::null(), |s| s.as_ptr()),
            tracking: self.tracking.into(),
            debug: self.debug.bits(),
            thread_cache_bytes: self.thread_cache.to_raw(),
            min_held_bytes: self.min_held_bytes,
            release_threshold_bytes: self.release_threshold_bytes.unwrap_or(u64::MAX),
            fixed_block_bytes: self.fixed_block_bytes,
            page_bytes: self.page_bytes,
            paging: self.paging.to_raw(),
            ready_pages: self.ready_pages.to_raw(),
            physical_page_bytes: self.physical_page_bytes,
            segment_source: self.segment_source.to_raw(),
            ..Default::default()
        })
    }
}
