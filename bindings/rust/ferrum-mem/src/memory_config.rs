use crate::error::check;
use crate::generated::enums::MemoryPreset;
use crate::library::json_of;
use crate::{sys, MemoryConfig, MemoryStats, Result};

impl MemoryConfig {
    fn preset(which: MemoryPreset) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_config_preset(which.to_raw(), &mut raw) })?;
        Ok((&raw).into())
    }

    /// For most memory.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_memory_config_preset`](crate::sys::ferrum_memory_config_preset).
    pub fn for_inference() -> Result<Self> {
        Self::preset(MemoryPreset::Inference)
    }

    /// More free memory, and no fallback.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_memory_config_preset`](crate::sys::ferrum_memory_config_preset).
    pub fn for_training() -> Result<Self> {
        Self::preset(MemoryPreset::Training)
    }

    /// For devices with little memory.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_memory_config_preset`](crate::sys::ferrum_memory_config_preset).
    pub fn for_constrained() -> Result<Self> {
        Self::preset(MemoryPreset::Constrained)
    }

    /// With another fraction, clamped to 0.1 to 1.
    pub fn with_gpu_memory_fraction(mut self, fraction: f64) -> Self {
        self.gpu_memory_fraction = fraction.clamp(0.1, 1.0);
        self
    }

    /// With or without fallback.
    pub fn with_cpu_fallback(mut self, enabled: bool) -> Self {
        self.cpu_fallback = enabled;
        self
    }

    /// With another number of bytes that stay free on the device.
    pub fn with_min_free_bytes(mut self, bytes: u64) -> Self {
        self.min_free_bytes = bytes;
        self
    }

    /// With or without a tracker.
    pub fn with_tracking(mut self, enabled: bool) -> Self {
        self.track_allocations = enabled;
        self
    }

    /// With another limit for each bucket.
    pub fn with_max_pooled(mut self, per_bucket: u64) -> Self {
        self.max_pooled_per_bucket = per_bucket;
        self
    }

    /// With another limit for all buckets together, or with none.
    pub fn with_max_pooled_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.max_pooled_bytes = bytes.into();
        self
    }

    /// With preallocated buffers of these sizes.
    pub fn with_pre_allocation(mut self, sizes: Vec<u64>) -> Self {
        self.pre_allocate = true;
        self.pre_allocate_sizes = sizes;
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) with the setting and its
    /// value, also for a preallocated size that its bucket cannot hold.
    ///
    /// C function: [`ferrum_memory_config_check`](crate::sys::ferrum_memory_config_check).
    pub fn check(&self) -> Result<()> {
        let raw = self.raw();
        // SAFETY: the sizes are valid during the call.
        check(unsafe { sys::ferrum_memory_config_check(&raw) })
    }
}

impl MemoryStats {
    fn ratios(self) -> Result<sys::ferrum_memory_ratios> {
        let mut ratios = Default::default();
        // SAFETY: ratios is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_stats_ratios(&self.raw(), &mut ratios) })?;
        Ok(ratios)
    }

    /// hits / (hits + misses); 0 without requests.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_memory_stats_ratios`](crate::sys::ferrum_memory_stats_ratios).
    pub fn hit_rate(self) -> Result<f64> {
        Ok(self.ratios()?.hit_rate)
    }

    /// in use / total allocated; 0 if total allocated is 0.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_memory_stats_ratios`](crate::sys::ferrum_memory_stats_ratios).
    pub fn utilization(self) -> Result<f64> {
        Ok(self.ratios()?.utilization)
    }

    /// Like `utilization`, but 1 if nothing was allocated.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_memory_stats_ratios`](crate::sys::ferrum_memory_stats_ratios).
    pub fn efficiency(self) -> Result<f64> {
        Ok(self.ratios()?.efficiency)
    }

    /// The sum of the counters of two pools. The peak is the larger one.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_memory_stats_merge`](crate::sys::ferrum_memory_stats_merge).
    pub fn merge(self, other: Self) -> Result<Self> {
        let mut merged = Default::default();
        // SAFETY: merged is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_stats_merge(&self.raw(), &other.raw(), &mut merged) })?;
        Ok((&merged).into())
    }

    /// One line for people.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_memory_stats_text`](crate::sys::ferrum_memory_stats_text).
    pub fn text(self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_memory_stats_text(&self.raw(), to, room, length)
        })
    }
}
