use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use ferrum_interfaces::kv_cache::{
    AdvancedKvCacheManager, AllocationRequest, CacheGcStats, CacheManagerStats, CompressionStats,
    MemoryPressure, PrefixCacheConfig,
};
use ferrum_interfaces::{KvCacheHandle, KvCacheManager};
use ferrum_mem::{Device as OpenDevice, KvCache, KvCacheConfig, LoadMemory, Pool, PoolConfig};
use ferrum_types::{Device, FerrumError, RequestId, Result};

use crate::config::{count, whole_milliseconds};
use crate::error::error_of;
use crate::hub::Hub;
use crate::kv_blocks::FerrumBlockAllocator;
use crate::kv_handle::{known, FerrumKvCacheHandle};
use crate::kv_requests::{usable, Request, Requests};

/// [`KvCacheManager`] and [`AdvancedKvCacheManager`] on a [`KvCache`] of ferrum_mem.
///
/// A request is a sequence of the cache. A request has one change at a time: a second call for it
/// returns [`FerrumError::ResourceExhausted`] until the first one has ended. Requests end with the
/// last of the manager, its handles and its block allocators.
pub struct FerrumKvCacheManager {
    requests: Arc<Requests>,
}

impl std::fmt::Debug for FerrumKvCacheManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumKvCacheManager")
            .field("device", &self.requests.device)
            .field("config", &self.requests.config)
            .finish_non_exhaustive()
    }
}

/// A pool for one block of any size.
fn pool_of_one(device: &OpenDevice) -> Result<Pool> {
    let config = PoolConfig {
        initial_size_bytes: Some(0),
        growth_increment_bytes: 1 << 20,
        ..Default::default()
    };
    device.create_pool(&config).map_err(error_of)
}

/// A number of tokens for the library.
fn tokens(name: &str, value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| {
        FerrumError::invalid_parameter(format!("{name} is {value}: a cache has fewer tokens"))
    })
}

impl FerrumKvCacheManager {
    pub(crate) async fn create(
        hub: &Arc<Hub>,
        device: &Device,
        config: &KvCacheConfig,
    ) -> Result<Self> {
        usable(config)?;
        let (own, wanted, config) = (hub.clone(), device.clone(), *config);
        let call = move || {
            let pool = pool_of_one(&own.devices.open(&wanted)?)?;
            let host_pool = match config.host_blocks {
                0 => None,
                _ => Some(pool_of_one(&own.devices.open(&Device::CPU)?)?),
            };
            let memory = LoadMemory::pool(&pool).tag("kv_cache");
            let cache = KvCache::create_in(&memory, &config, host_pool.as_ref(), None);
            let cache = cache.map_err(error_of)?;
            Requests::new(&own, &wanted, cache, &config, false)
        };
        let requests = hub.workers.run(call).await?;
        Ok(Self { requests })
    }

    pub(crate) fn create_in(
        hub: &Arc<Hub>,
        device: &Device,
        memory: &LoadMemory<'_>,
        config: &KvCacheConfig,
        host_pool: Option<&Pool>,
    ) -> Result<Self> {
        usable(config)?;
        if hub.devices.open(device)?.raw().id != memory.device().raw().id {
            return Err(FerrumError::invalid_parameter(format!(
                "the memory is not on the device {device}"
            )));
        }
        let cache = KvCache::create_in(memory, config, host_pool, None).map_err(error_of)?;
        let requests = Requests::new(hub, device, cache, config, true)?;
        Ok(Self { requests })
    }

    /// The cache, for calls that the traits lack, such as prefixes by hashes of tokens.
    /// [`FerrumKvCacheHandle::sequence`] is the number of a request. The manager owns the sequences
    /// of its requests: a program must not free them or swap them.
    pub fn cache(&self) -> &Arc<KvCache> {
        &self.requests.cache
    }

    /// Creates an allocator of blocks of this cache that belong to no request.
    pub fn create_block_allocator(&self) -> FerrumBlockAllocator {
        FerrumBlockAllocator::new(self.requests.clone())
    }

    fn handle(&self, request: Arc<Request>) -> Result<FerrumKvCacheHandle> {
        FerrumKvCacheHandle::new(&self.requests, request)
    }

    /// The number of initial tokens of a request that fits the cache. The error names the wrong
    /// field.
    fn checked(&self, request: &AllocationRequest) -> Result<u32> {
        let (config, wrong) = (&self.requests.config, FerrumError::invalid_parameter);
        for (name, value, own) in [
            ("num_layers", request.num_layers, config.layers),
            ("num_heads", request.num_heads, config.kv_heads),
            ("head_dim", request.head_dim, config.head_dim),
        ] {
            if value as u64 != u64::from(own) {
                return Err(wrong(format!("{name} is {value}: the cache has {own}")));
            }
        }
        let (dtype, device) = (self.requests.dtype, &self.requests.device);
        if request.dtype != dtype {
            let given = request.dtype;
            return Err(wrong(format!("dtype is {given}: the cache has {dtype}")));
        }
        if request.device != *device {
            let given = &request.device;
            return Err(wrong(format!(
                "device is {given}: the cache is on {device}"
            )));
        }
        let (initial, most) = (request.initial_tokens, request.max_sequence_length);
        let longest = config.sequence_tokens;
        if most as u64 > u64::from(longest) {
            return Err(wrong(format!(
                "max_sequence_length is {most}: the cache has sequences of at most {longest} tokens"
            )));
        }
        if initial > most {
            return Err(wrong(format!(
                "initial_tokens is {initial}, above max_sequence_length, which is {most}"
            )));
        }
        tokens("initial_tokens", initial)
    }
}

#[async_trait]
impl KvCacheManager for FerrumKvCacheManager {
    /// The layers, heads, length of a head, type and device are those of the cache. The number of
    /// heads is that of keys and values. The priority has no effect.
    ///
    /// [`FerrumError::AlreadyExists`] for the id of an allocated request;
    /// [`FerrumError::ResourceExhausted`] if there are not enough blocks or sequences, and while
    /// the memory sleeps.
    async fn allocate(&self, request: &AllocationRequest) -> Result<Arc<dyn KvCacheHandle>> {
        let initial = match self.checked(request) {
            Ok(initial) => initial,
            Err(error) => {
                self.requests.failures.fetch_add(1, Ordering::Relaxed);
                return Err(error);
            }
        };
        let id = request.request_id.clone();
        let made = self.requests.call(move |it| it.allocate(&id, initial));
        Ok(Arc::new(self.handle(made.await?.keep())?))
    }

    /// Adds tokens to the request, and the blocks that they need, and renews the block table of the
    /// handle. If requests share the last block, this request gets a copy of it.
    ///
    /// [`FerrumError::ResourceExhausted`] if there are not enough blocks: the request is unchanged.
    async fn extend(&self, handle: &mut dyn KvCacheHandle, additional_tokens: usize) -> Result<()> {
        let added = tokens("additional_tokens", additional_tokens)?;
        let request = known(&self.requests, handle)?.request.clone();
        let extended = request.clone();
        let call = self.requests.call(move |it| it.extend(&extended, added));
        call.await?;
        *handle.block_table_mut() = self.requests.table(&request)?;
        Ok(())
    }

    async fn deallocate(&self, request_id: RequestId) -> Result<()> {
        let request = self.requests.find(&request_id)?;
        let call = self.requests.call(move |it| it.deallocate(&request));
        call.await
    }

    /// Whether there are enough blocks and sequences for the initial tokens now. The allocation can
    /// still fail: another thread can be faster, the memory can sleep, and an elastic pool can have
    /// no pages.
    fn can_allocate(&self, request: &AllocationRequest) -> bool {
        let Ok(initial) = self.checked(request) else {
            return false;
        };
        let requests = &self.requests;
        !requests.is_taken(&request.request_id)
            && requests.blocks_of(initial) <= requests.free_blocks()
            && requests.stats().sequences < u64::from(requests.config.sequences)
    }

    /// The blocks of block allocators are used blocks. All numbers of the cache are 0 if it has ended
    /// with its pool or model.
    fn stats(&self) -> CacheManagerStats {
        let (requests, stats) = (&self.requests, self.requests.stats());
        CacheManagerStats {
            total_memory_bytes: count(stats.mapped_bytes),
            used_memory_bytes: count(stats.used_blocks * stats.block_bytes),
            active_caches: requests.all().len(),
            total_blocks: count(stats.blocks),
            free_blocks: count(stats.blocks - stats.used_blocks),
            cache_hit_rate: match stats.hits + stats.misses {
                0 => 0.0,
                all => (stats.hits as f64 / all as f64) as f32,
            },
            eviction_count: stats.evictions,
            allocation_count: requests.allocations.load(Ordering::Relaxed),
            allocation_failures: requests.failures.load(Ordering::Relaxed),
        }
    }

    /// Evicts the cached blocks, and releases the memory of blocks without contents. It ends no
    /// request, so `caches_freed` is 0.
    async fn gc(&self) -> Result<CacheGcStats> {
        let call = self.requests.call(|requests| {
            let start = Instant::now();
            let unmapped = requests.cache.trim(0).map_err(error_of)?;
            Ok(CacheGcStats {
                memory_freed: count(unmapped * requests.stats().block_bytes),
                caches_freed: 0,
                gc_time_ms: whole_milliseconds(start.elapsed().as_nanos()),
            })
        });
        call.await
    }

    /// The callback gets the changes of the level of the used blocks: 60, 80 and 95 %. It runs during
    /// the call that changed the level, and may call the manager. A second callback replaces the
    /// first one.
    fn set_pressure_callback(&self, callback: Box<dyn Fn(MemoryPressure) + Send + Sync>) {
        use ferrum_interfaces::memory::MemoryPressure as Level;
        self.requests.pressures.set(Box::new(move |level| {
            callback(match level {
                Level::Low => MemoryPressure::Low,
                Level::Medium => MemoryPressure::Medium,
                Level::High => MemoryPressure::High,
                Level::Critical => MemoryPressure::Critical,
            });
        }));
    }

    fn get_handle(&self, request_id: RequestId) -> Option<Arc<dyn KvCacheHandle>> {
        let request = self.requests.find(&request_id).ok()?;
        request.touch();
        Some(Arc::new(self.handle(request).ok()?))
    }

    /// In no order.
    fn list_handles(&self) -> Vec<(RequestId, Arc<dyn KvCacheHandle>)> {
        let mut list: Vec<(_, Arc<dyn KvCacheHandle>)> = Vec::new();
        for request in self.requests.all() {
            let id = request.id.clone();
            if let Ok(handle) = self.handle(request) {
                list.push((id, Arc::new(handle)));
            }
        }
        list
    }
}

impl AdvancedKvCacheManager for FerrumKvCacheManager {
    /// [`FerrumError::Unsupported`]: the requests of the traits have no tokens, so the manager cannot
    /// find equal prefixes. [`FerrumKvCacheManager::cache`] has calls with hashes of tokens.
    async fn enable_prefix_caching(&self, _: PrefixCacheConfig) -> Result<()> {
        Err(FerrumError::unsupported(
            "enable_prefix_caching: the requests of the traits have no tokens, so equal prefixes \
             cannot be found: use share_prefix",
        ))
    }

    /// Replaces the blocks of the first tokens of the target by those of the source. The other tokens
    /// of the target get other blocks, without contents. A block with the end of the prefix is
    /// copied if the target has more tokens. During the call the target has both its old blocks and
    /// its new ones, and there must be a free sequence.
    ///
    /// [`FerrumError::InvalidParameter`] for more tokens than the source or the target has;
    /// [`FerrumError::Backend`] if one of them is swapped out.
    async fn share_prefix(
        &self,
        source: RequestId,
        target: RequestId,
        shared_tokens: usize,
    ) -> Result<()> {
        let shared = tokens("shared_tokens", shared_tokens)?;
        let (from, to) = (self.requests.find(&source)?, self.requests.find(&target)?);
        let call = self.requests.call(move |it| it.share(&from, &to, shared));
        call.await
    }

    /// [`FerrumError::ResourceExhausted`] if the host has too few free blocks;
    /// [`FerrumError::Backend`] for a request that is swapped out.
    async fn swap_out(&self, request_id: RequestId) -> Result<()> {
        let request = self.requests.find(&request_id)?;
        let call = self.requests.call(move |it| it.swap(&request, true));
        call.await
    }

    /// [`FerrumError::ResourceExhausted`] if there are not enough blocks;
    /// [`FerrumError::Backend`] for a request that is not swapped out.
    async fn swap_in(&self, request_id: RequestId) -> Result<()> {
        let request = self.requests.find(&request_id)?;
        let call = self.requests.call(move |it| it.swap(&request, false));
        call.await
    }

    /// [`FerrumError::Unsupported`]: a cache has keys and values of one type.
    async fn compress_cache(&self, request_id: RequestId, _: f32) -> Result<()> {
        let request = self.requests.find(&request_id)?;
        Err(FerrumError::unsupported(format!(
            "compress_cache: the request {} keeps the type of the cache, {}",
            request.id, self.requests.dtype
        )))
    }

    /// All zero: no cache is compressed.
    fn compression_stats(&self) -> CompressionStats {
        CompressionStats {
            compressed_caches: 0,
            memory_saved_bytes: 0,
            avg_compression_ratio: 0.0,
            avg_compression_time_ms: 0.0,
        }
    }
}
