use crate::error::check;
use crate::library::json_of;
use crate::{sys, Result};

/// Settings of a [`crate::FallbackManager`] or a [`crate::GenericMemoryPool`].
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryConfig {
    /// Share of the device's capacity that may be held, from 0.1 to 1.
    pub gpu_memory_fraction: f64,
    /// Buffers that the device has no room for are made on the host.
    pub cpu_fallback_enabled: bool,
    /// What stays free on the device.
    pub min_free_bytes: u64,
    /// Every buffer in use is kept in a tracker.
    pub track_allocations: bool,
    /// Free buffers that a bucket keeps.
    pub max_pooled_per_bucket: u64,
    /// Free buffers of all buckets together; 0: no bound.
    pub max_pooled_bytes: u64,
    /// Make the pool with a free buffer of each of the sizes.
    pub pre_allocate: bool,
    /// In bytes.
    pub pre_allocate_sizes: Vec<u64>,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self::from_raw(&Default::default())
    }
}

impl MemoryConfig {
    fn from_raw(raw: &sys::ferrum_memory_config) -> Self {
        Self {
            gpu_memory_fraction: raw.gpu_memory_fraction,
            cpu_fallback_enabled: raw.flags & sys::FERRUM_MEMORY_CPU_FALLBACK != 0,
            min_free_bytes: raw.min_free_bytes,
            track_allocations: raw.flags & sys::FERRUM_MEMORY_TRACK_ALLOCATIONS != 0,
            max_pooled_per_bucket: raw.max_pooled_per_bucket,
            max_pooled_bytes: raw.max_pooled_bytes,
            pre_allocate: raw.flags & sys::FERRUM_MEMORY_PRE_ALLOCATE != 0,
            pre_allocate_sizes: Vec::new(),
        }
    }

    /// For C; points into this value.
    pub(crate) fn to_raw(&self) -> sys::ferrum_memory_config {
        let flag = |on: bool, flag| if on { flag } else { 0 };
        sys::ferrum_memory_config {
            flags: flag(self.cpu_fallback_enabled, sys::FERRUM_MEMORY_CPU_FALLBACK)
                | flag(self.track_allocations, sys::FERRUM_MEMORY_TRACK_ALLOCATIONS)
                | flag(self.pre_allocate, sys::FERRUM_MEMORY_PRE_ALLOCATE),
            gpu_memory_fraction: self.gpu_memory_fraction,
            min_free_bytes: self.min_free_bytes,
            max_pooled_per_bucket: self.max_pooled_per_bucket,
            max_pooled_bytes: self.max_pooled_bytes,
            pre_allocate_sizes: self.pre_allocate_sizes.as_ptr(),
            pre_allocate_count: self.pre_allocate_sizes.len() as u64,
            ..Default::default()
        }
    }

    fn preset(which: sys::ferrum_memory_preset) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_config_preset(which, &mut raw) })?;
        Ok(Self::from_raw(&raw))
    }

    /// The most memory.
    pub fn for_inference() -> Result<Self> {
        Self::preset(sys::FERRUM_MEMORY_PRESET_INFERENCE)
    }

    /// More left free, and no falling back.
    pub fn for_training() -> Result<Self> {
        Self::preset(sys::FERRUM_MEMORY_PRESET_TRAINING)
    }

    /// For devices with little memory.
    pub fn for_constrained() -> Result<Self> {
        Self::preset(sys::FERRUM_MEMORY_PRESET_CONSTRAINED)
    }

    /// With another share, brought to the nearest of 0.1 to 1.
    pub fn with_gpu_memory_fraction(mut self, fraction: f64) -> Self {
        self.gpu_memory_fraction = fraction.clamp(0.1, 1.0);
        self
    }

    /// With or without falling back.
    pub fn with_cpu_fallback(mut self, enabled: bool) -> Self {
        self.cpu_fallback_enabled = enabled;
        self
    }

    /// With another minimum that stays free.
    pub fn with_min_free_bytes(mut self, bytes: u64) -> Self {
        self.min_free_bytes = bytes;
        self
    }

    /// With or without a tracker.
    pub fn with_tracking(mut self, enabled: bool) -> Self {
        self.track_allocations = enabled;
        self
    }

    /// With another bound of each bucket.
    pub fn with_max_pooled(mut self, per_bucket: u64) -> Self {
        self.max_pooled_per_bucket = per_bucket;
        self
    }

    /// With another bound of all buckets together.
    pub fn with_max_pooled_bytes(mut self, bytes: u64) -> Self {
        self.max_pooled_bytes = bytes;
        self
    }

    /// With buffers that are made ahead.
    pub fn with_pre_allocation(mut self, sizes: Vec<u64>) -> Self {
        self.pre_allocate = true;
        self.pre_allocate_sizes = sizes;
        self
    }

    /// Says what makes no sense.
    pub fn check(&self) -> Result<()> {
        let raw = self.to_raw();
        // SAFETY: the sizes live through the call.
        check(unsafe { sys::ferrum_memory_config_check(&raw) })
    }
}

/// Counters of a [`crate::FallbackManager`] or a [`crate::GenericMemoryPool`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Buffers had and not given back: those in use and those pooled.
    pub total_allocated_bytes: u64,
    /// Buffers in use.
    pub in_use_bytes: u64,
    /// Free buffers in the buckets.
    pub pooled_bytes: u64,
    /// The highest value of `in_use_bytes`.
    pub peak_bytes: u64,
    /// Requests that were served from the buckets.
    pub pool_hits: u64,
    /// Requests that were not.
    pub pool_misses: u64,
    /// Buffers that were made on the host for want of room.
    pub cpu_fallbacks: u64,
    /// Buffers in use, tracked or not.
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
    fn to_raw(self) -> sys::ferrum_memory_stats {
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

    fn ratios(self) -> Result<sys::ferrum_memory_ratios> {
        let mut ratios = Default::default();
        // SAFETY: ratios is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_stats_ratios(&self.to_raw(), &mut ratios) })?;
        Ok(ratios)
    }

    /// hits / (hits + misses); 0 when nothing was asked for.
    pub fn hit_rate(self) -> Result<f64> {
        Ok(self.ratios()?.hit_rate)
    }

    /// in use / total allocated; 0 when that is 0.
    pub fn utilization(self) -> Result<f64> {
        Ok(self.ratios()?.utilization)
    }

    /// The same, but 1 when nothing was allocated.
    pub fn efficiency(self) -> Result<f64> {
        Ok(self.ratios()?.efficiency)
    }

    /// The counters of two pools together; the peak is the larger of the two.
    pub fn merge(self, other: Self) -> Result<Self> {
        let mut merged = Default::default();
        // SAFETY: merged is an output of the call, with its size set.
        check(unsafe {
            sys::ferrum_memory_stats_merge(&self.to_raw(), &other.to_raw(), &mut merged)
        })?;
        Ok((&merged).into())
    }

    /// One line for people.
    pub fn text(self) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_memory_stats_text(&self.to_raw(), to, room, length)
        })
    }
}
