//! KV caches: the blocks of a paged KV cache, which sequences share.

use std::sync::Arc;

use crate::callback::PressureFn;
use crate::ending::dropped;
use crate::error::check;
use crate::library::Library;
use crate::parent::Parent;
use crate::rejected::{ended, Rejected};
use crate::stream::raw_of;
use crate::{
    sys, KvCacheConfig, LoadMemory, Pool, PressureLevel, Registration, Result, Stream, Tensor,
};

/// The blocks of a paged KV cache. A sequence is a number that the cache chooses.
///
/// Without memory the cache only manages the numbers of blocks, and [`KvCache::append`],
/// [`KvCache::swap_out`] and [`KvCache::swap_in`] return the copies that the program has to make.
///
/// ```no_run
/// # use ferrum_mem::{KvCache, KvCacheConfig, Library, Result};
/// # fn serve(library: &Library) -> Result<()> {
/// let config = KvCacheConfig {
///     block_tokens: 16,
///     blocks: 1024,
///     sequences: 64,
///     sequence_tokens: 4096,
///     ..Default::default()
/// };
/// let cache = KvCache::create(library, &config)?;
/// let made = cache.allocate(&[100, 20], &[], &[])?;
/// let copies = cache.append(&[made[0].sequence, made[1].sequence], &[])?;
/// assert!(copies.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends its sequences and frees its memory"]
pub struct KvCache {
    raw: sys::ferrum_kv_cache,
    library: Library,
    /// The pool with the blocks of the host.
    _host_pool: Option<Pool>,
    _parent: Option<Parent>,
}

impl Drop for KvCache {
    fn drop(&mut self) {
        if self.raw.id != 0 {
            // SAFETY: this object owns the handle.
            let status = unsafe { sys::ferrum_kv_cache_destroy(self.raw, sys::FERRUM_FORCE) };
            dropped("ferrum_kv_cache_destroy", status);
        }
    }
}

impl KvCache {
    /// Creates a cache without memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) with the name of the field.
    ///
    /// C function: [`ferrum_kv_cache_create`](crate::sys::ferrum_kv_cache_create).
    pub fn create(library: &Library, config: &KvCacheConfig) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: zero is a valid value of all fields: the cache has no memory.
        let memory = unsafe { std::mem::zeroed() };
        let (pool, stream) = Default::default();
        // SAFETY: the settings are valid during the call, raw is an output of it.
        check(unsafe {
            sys::ferrum_kv_cache_create(&config.raw(), &memory, pool, stream, &mut raw)
        })?;
        Ok(Self {
            raw,
            library: library.clone(),
            _host_pool: None,
            _parent: None,
        })
    }

    /// Creates a cache in memory. `host_pool` has the memory for sequences that are swapped out;
    /// `None`: there is none. The copies are on the stream (`None`: the default stream).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) with the name of the field; the
    /// errors of the memory, such as [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    ///
    /// C function: [`ferrum_kv_cache_create`](crate::sys::ferrum_kv_cache_create).
    pub fn create_in(
        memory: &LoadMemory<'_>,
        config: &KvCacheConfig,
        host_pool: Option<&Pool>,
        stream: Option<&Stream>,
    ) -> Result<Self> {
        let mut raw = Default::default();
        let pool = host_pool.map(Pool::raw).unwrap_or_default();
        memory.with_raw("ferrum_kv_cache_create", |memory| {
            let config = config.raw();
            // SAFETY: the settings and the memory are valid during the call, raw is an output.
            check(unsafe {
                sys::ferrum_kv_cache_create(&config, memory, pool, raw_of(stream), &mut raw)
            })
        })?;
        Ok(Self {
            raw,
            library: memory.device().library().clone(),
            _host_pool: host_pool.cloned(),
            _parent: Some(memory.parent()),
        })
    }

    /// Returns the handle.
    pub fn raw(&self) -> sys::ferrum_kv_cache {
        self.raw
    }

    /// Calls the closure when the level of the used blocks changes, on the thread whose call changed
    /// the level.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_kv_cache_pressure_callback_add`](crate::sys::ferrum_kv_cache_pressure_callback_add).
    pub fn on_pressure(
        &self,
        closure: impl Fn(PressureLevel) + Send + Sync + 'static,
    ) -> Result<Registration> {
        let closure: PressureFn = Box::new(closure);
        Registration::kv_cache_pressure(&self.library, self.raw, closure)
    }

    /// Makes a tensor over the keys of a layer, or over its values, of the shape
    /// `[blocks, kv_heads, block_tokens, head_dim]`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) unless all blocks always have memory;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for a cache without memory.
    ///
    /// C function: [`ferrum_kv_cache_plane_tensor`](crate::sys::ferrum_kv_cache_plane_tensor).
    pub fn plane_tensor(self: &Arc<Self>, layer: u32, values: bool) -> Result<Tensor> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe {
            sys::ferrum_kv_cache_plane_tensor(self.raw, layer, values.into(), &mut raw)
        })?;
        Tensor::own(raw, Parent::KvCache(self.clone()))
    }

    /// Destroys the cache and frees its memory, unless a sequence lives.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a sequence lives; the cache is returned.
    ///
    /// C function: [`ferrum_kv_cache_destroy`](crate::sys::ferrum_kv_cache_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: this object owns the handle.
        let result = check(unsafe { sys::ferrum_kv_cache_destroy(self.raw, 0) });
        if result.is_ok() {
            self.raw = Default::default();
        }
        ended(result, self)
    }
}
