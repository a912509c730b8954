use std::ptr::NonNull;
use std::sync::Arc;

use crate::device::Device;
use crate::error::check;
use crate::library::c_text;
use crate::stream::{raw_of, Stream};
use crate::values::Statistics;
use crate::{sys, Result};

/// Settings of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Size of the first segment in bytes.
    pub initial_size_bytes: u64,
    /// Upper bound of what the pool holds.
    pub max_size_bytes: Option<u64>,
    /// Size of each further segment.
    pub growth_increment_bytes: u64,
    /// Alignment of every block.
    pub alignment_bytes: u64,
    /// Grow when full.
    pub auto_expansion: bool,
    /// Take the memory when the pool is created.
    pub pre_allocate: bool,
    /// Keep peaks and counts.
    pub stats: bool,
    /// Placement strategy; none: the default one.
    pub strategy: Option<String>,
    /// Name in reports, and tag of the pool's blocks.
    pub name: Option<String>,
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
            ..Default::default()
        })
    }
}

/// Memory by address. Clones share one pool; it goes after the last of them and
/// of its blocks.
#[derive(Clone, Debug)]
pub struct Pool {
    made: Arc<Made>,
}

#[derive(Debug)]
struct Made {
    raw: sys::ferrum_pool,
    host_addressable: bool,
    _device: Device,
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and every PoolBlock has gone before.
        unsafe { sys::ferrum_pool_destroy(self.raw, sys::FERRUM_FORCE) };
    }
}

impl Pool {
    pub(crate) fn create(device: &Device, config: &PoolConfig) -> Result<Self> {
        let host_addressable = device.info()?.host_addressable;
        let mut raw = Default::default();
        config.with_raw("ferrum_pool_create", |config| {
            // SAFETY: config lives through the call, raw is an output of it.
            check(unsafe { sys::ferrum_pool_create(device.raw(), config, &mut raw) })
        })?;
        Ok(Self {
            made: Arc::new(Made {
                raw,
                host_addressable,
                _device: device.clone(),
            }),
        })
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_pool {
        self.made.raw
    }

    /// Takes a block; the stream, or the default one, uses it first.
    pub fn alloc(&self, size_bytes: u64, stream: Option<&Stream>) -> Result<PoolBlock> {
        let mut address = 0;
        // SAFETY: address is an output of the call.
        check(unsafe {
            sys::ferrum_pool_alloc(self.raw(), size_bytes, raw_of(stream), &mut address)
        })?;
        Ok(PoolBlock {
            address,
            size_bytes,
            pool: self.clone(),
        })
    }

    /// As `alloc`, with the address a multiple of the alignment.
    pub fn alloc_aligned(
        &self,
        size_bytes: u64,
        alignment_bytes: u64,
        stream: Option<&Stream>,
    ) -> Result<PoolBlock> {
        let mut address = 0;
        // SAFETY: address is an output of the call.
        check(unsafe {
            sys::ferrum_pool_alloc_aligned(
                self.raw(),
                size_bytes,
                alignment_bytes,
                raw_of(stream),
                &mut address,
            )
        })?;
        Ok(PoolBlock {
            address,
            size_bytes,
            pool: self.clone(),
        })
    }

    /// Gives unused segments back until no more than `keep_bytes` are held.
    pub fn trim(&self, keep_bytes: u64) -> Result<u64> {
        let mut released = 0;
        // SAFETY: released is an output of the call.
        check(unsafe { sys::ferrum_pool_trim(self.raw(), keep_bytes, &mut released) })?;
        Ok(released)
    }

    /// Changes the upper bound; 0 takes it away.
    pub fn set_limit(&self, max_size_bytes: u64) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_pool_set_limit(self.raw(), max_size_bytes) })
    }

    /// The books of the pool.
    pub fn statistics(&self) -> Result<Statistics> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_pool_get_statistics(self.raw(), &mut raw) })?;
        Ok((&raw).into())
    }
}

/// A block of a pool, given back on the default stream when it is dropped.
#[derive(Debug)]
pub struct PoolBlock {
    address: u64,
    size_bytes: u64,
    pool: Pool,
}

impl Drop for PoolBlock {
    fn drop(&mut self) {
        if self.address != 0 {
            // SAFETY: the block is ours.
            unsafe { sys::ferrum_pool_free(self.pool.raw(), self.address, Default::default()) };
        }
    }
}

impl PoolBlock {
    /// Where it starts in the device's memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size in bytes, as asked for.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The block as the host sees it, where the host can address the device.
    /// It must not be used after the block, nor while a stream works on it.
    pub fn as_ptr(&self) -> Option<NonNull<u8>> {
        if !self.pool.made.host_addressable {
            return None;
        }
        NonNull::new(self.address as usize as *mut u8)
    }

    /// Gives the block back after the work that is queued on the stream. When
    /// that fails the block is still there.
    pub fn free(
        mut self,
        stream: Option<&Stream>,
    ) -> std::result::Result<(), Box<(Self, crate::Error)>> {
        // SAFETY: the block is ours.
        match check(unsafe { sys::ferrum_pool_free(self.pool.raw(), self.address, raw_of(stream)) })
        {
            Ok(()) => {
                self.address = 0;
                Ok(())
            }
            Err(error) => Err(Box::new((self, error))),
        }
    }
}
