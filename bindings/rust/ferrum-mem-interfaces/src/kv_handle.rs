use std::any::Any;
use std::sync::Arc;

use ferrum_interfaces::kv_cache::{BlockTable, CacheHandleStats};
use ferrum_interfaces::{KvCacheHandle, TensorRef};
use ferrum_types::{Device, FerrumError, RequestId, Result};

use crate::config::count;
use crate::error::error_of;
use crate::kv_requests::{Request, Requests};
use crate::tensor::FerrumTensor;

/// [`KvCacheHandle`] of a request of a [`crate::FerrumKvCacheManager`].
///
/// The block table of a handle is that of the time when the handle was made, or last extended.
/// [`get_handle`](ferrum_interfaces::KvCacheManager::get_handle) makes a handle with the present
/// one. The statistics and [`is_valid`](KvCacheHandle::is_valid) are always the present ones.
pub struct FerrumKvCacheHandle {
    pub(crate) requests: Arc<Requests>,
    pub(crate) request: Arc<Request>,
    table: BlockTable,
}

impl std::fmt::Debug for FerrumKvCacheHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumKvCacheHandle")
            .field("request", &self.request.id)
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

impl FerrumKvCacheHandle {
    pub(crate) fn new(requests: &Arc<Requests>, request: Arc<Request>) -> Result<Self> {
        Ok(Self {
            requests: requests.clone(),
            table: requests.table(&request)?,
            request,
        })
    }

    /// The request of the handle.
    pub fn request_id(&self) -> &RequestId {
        &self.request.id
    }

    /// The sequence of the request, for calls of [`KvCache`](ferrum_mem::KvCache); `None` if the
    /// request has ended.
    pub fn sequence(&self) -> Option<u64> {
        Some(self.request.state().sequence).filter(|it| *it != 0)
    }

    fn plane(&self, layer: usize, values: bool) -> Result<Option<TensorRef>> {
        let requests = &self.requests;
        let layer = u32::try_from(layer).unwrap_or(u32::MAX);
        let tensor = requests.cache.plane_tensor(layer, values);
        let tensor = tensor.map_err(error_of)?;
        let tensor = FerrumTensor::new(tensor, &requests.pools, &requests.device)?;
        Ok(Some(Arc::new(tensor)))
    }
}

impl KvCacheHandle for FerrumKvCacheHandle {
    fn block_table(&self) -> &BlockTable {
        &self.table
    }

    /// A change of the table does not change the cache.
    fn block_table_mut(&mut self) -> &mut BlockTable {
        &mut self.table
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn device(&self) -> Device {
        self.requests.device.clone()
    }

    fn num_layers(&self) -> usize {
        self.requests.config.layers as usize
    }

    /// The heads of keys and values.
    fn num_heads(&self) -> usize {
        self.requests.config.kv_heads as usize
    }

    fn head_dim(&self) -> usize {
        self.requests.config.head_dim as usize
    }

    /// The keys of all requests in a layer, of the shape `[blocks, heads, block_size, head_dim]`. The
    /// block table has the numbers of the blocks of this request.
    ///
    /// [`FerrumError::Unsupported`] unless all blocks always have memory.
    fn key_cache(&self, layer: usize) -> Result<Option<TensorRef>> {
        self.plane(layer, false)
    }

    /// The values, in the same form as the keys.
    fn value_cache(&self, layer: usize) -> Result<Option<TensorRef>> {
        self.plane(layer, true)
    }

    fn clone_handle(&self) -> Result<Arc<dyn KvCacheHandle>> {
        Ok(Arc::new(Self {
            requests: self.requests.clone(),
            request: self.request.clone(),
            table: self.table.clone(),
        }))
    }

    /// The bytes and blocks are those on the device: 0 while the request is swapped out, and after
    /// its end. A block that requests share counts for each of them.
    fn stats(&self) -> CacheHandleStats {
        let requests = &self.requests;
        // Fails only if the cache has ended.
        let table = requests.table(&self.request);
        let table = table.unwrap_or_else(|_| BlockTable::new(self.table.block_size));
        let blocks = table.num_blocks();
        CacheHandleStats {
            memory_bytes: blocks * count(requests.stats().block_bytes),
            blocks_allocated: blocks,
            tokens_stored: table.sequence_length,
            utilization: match blocks * table.block_size {
                0 => 0.0,
                room => table.sequence_length as f32 / room as f32,
            },
            last_access: self.request.state().last_access,
        }
    }

    /// Whether the request is allocated, and its blocks are on the device.
    fn is_valid(&self) -> bool {
        let state = self.request.state();
        state.sequence != 0 && !state.is_swapped && self.requests.cache.stats().is_ok()
    }

    /// Not used again, also if another request gets the id of this one.
    fn cache_id(&self) -> String {
        let cache = self.requests.cache.raw().id;
        format!("kv-{cache:x}-{:x}", self.request.state().number)
    }
}

/// The handle as one of this crate.
pub(crate) fn known<'a>(
    requests: &Arc<Requests>,
    handle: &'a dyn KvCacheHandle,
) -> Result<&'a FerrumKvCacheHandle> {
    let known = handle.as_any().downcast_ref::<FerrumKvCacheHandle>();
    known
        .filter(|it| Arc::ptr_eq(&it.requests, requests))
        .ok_or_else(|| {
            FerrumError::invalid_parameter(format!(
                "the handle {} is not one of this manager",
                handle.cache_id()
            ))
        })
}
