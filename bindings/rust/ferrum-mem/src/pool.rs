use std::sync::{Arc, Mutex, PoisonError};

use crate::device::Device;
use crate::error::check;
use crate::library::c_text;
use crate::pool_block::{free_on, PoolBatch, PoolBlock};
use crate::pool_request::{PoolRequest, PoolTag};
use crate::stream::{raw_of, Stream};
use crate::{sys, Error, PoolConfig, Result};

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
    device: Device,
    /// Graphs that were dropped while their captures went on.
    left: Mutex<Vec<u64>>,
}

impl Made {
    /// Releases what was left, and one graph more, as far as captures have ended.
    fn release_graphs(&self, more: Option<u64>) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.extend(more);
        left.retain(|graph| {
            // SAFETY: plain values.
            let released =
                unsafe { sys::ferrum_pool_capture_release(self.raw, *graph, Default::default()) };
            released == sys::FERRUM_ERROR_INVALID_STATE
        });
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.release_graphs(None);
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
                device: device.clone(),
                left: Mutex::default(),
            }),
        })
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_pool {
        self.made.raw
    }

    /// Releases graphs that were dropped, those before and this one, once their captures
    /// have ended.
    pub(crate) fn release_graphs(&self, more: Option<u64>) {
        self.made.release_graphs(more);
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    pub(crate) fn host_addressable(&self) -> bool {
        self.made.host_addressable
    }

    /// Takes a block; the stream, or the default one, uses it first.
    pub fn alloc(&self, size_bytes: u64, stream: Option<&Stream>) -> Result<PoolBlock> {
        let mut address = 0;
        // SAFETY: address is an output of the call.
        check(unsafe {
            sys::ferrum_pool_alloc(self.raw(), size_bytes, raw_of(stream), &mut address)
        })?;
        Ok(PoolBlock::new(self, address, size_bytes, raw_of(stream)))
    }

    /// Takes a block as described.
    pub fn alloc_with(&self, request: &PoolRequest<'_>) -> Result<PoolBlock> {
        let (raw, mut address) = (request.raw(), 0);
        // SAFETY: raw lives through the call, address is an output of it.
        check(unsafe { sys::ferrum_pool_alloc_with(self.raw(), &raw, &mut address) })?;
        Ok(PoolBlock::new(
            self,
            address,
            request.size_bytes(),
            raw.stream,
        ))
    }

    /// Takes `count` blocks of one size: all of them or none.
    pub fn alloc_batch(
        &self,
        size_bytes: u64,
        count: usize,
        stream: Option<&Stream>,
    ) -> Result<PoolBatch> {
        if count as u64 > sys::FERRUM_BATCH_MAX {
            return Err(Error::argument(
                "ferrum_pool_alloc_batch",
                format!("count is {count}: want 1 to {}", sys::FERRUM_BATCH_MAX),
            ));
        }
        let mut addresses = vec![0; count];
        // SAFETY: addresses has room for count of them.
        check(unsafe {
            sys::ferrum_pool_alloc_batch(
                self.raw(),
                size_bytes,
                count as u64,
                raw_of(stream),
                addresses.as_mut_ptr(),
            )
        })?;
        Ok(PoolBatch::new(self, addresses, size_bytes, raw_of(stream)))
    }

    /// Gives blocks of this pool back in one call, as [`PoolBlock::free`]: all of
    /// them or none. When that fails they are still there, but for
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted).
    pub fn free_batch(
        &self,
        blocks: Vec<PoolBlock>,
        stream: Option<&Stream>,
    ) -> std::result::Result<(), Box<(Vec<PoolBlock>, Error)>> {
        if blocks.is_empty() {
            return Ok(());
        }
        let own = |block: &PoolBlock| block.pool().raw() == self.raw();
        if let Some(other) = blocks.iter().position(|block| !own(block)) {
            let message = format!("blocks[{other}] is of another pool");
            let error = Error::argument("ferrum_pool_free_batch", message);
            return Err(Box::new((blocks, error)));
        }
        let addresses: Vec<u64> = blocks.iter().map(PoolBlock::address).collect();
        let first = blocks[0].stream_raw();
        let one = blocks.iter().all(|b| b.stream_raw().id == first.id);
        let own = if one { first } else { Default::default() };
        let status = free_on(stream, own, |stream| {
            // SAFETY: the blocks are ours, and addresses lives through the call.
            unsafe {
                sys::ferrum_pool_free_batch(
                    self.raw(),
                    addresses.as_ptr(),
                    addresses.len() as u64,
                    stream,
                )
            }
        });
        let gone = if status >= 0 || status == sys::FERRUM_ERROR_CORRUPTED {
            blocks
        } else {
            return check(status).map_err(|error| Box::new((blocks, error)));
        };
        for block in gone {
            block.into_address();
        }
        check(status).map_err(|error| Box::new((Vec::new(), error)))
    }

    /// The tag of a name, 1 to 63 bytes, which stays while the pool lives.
    pub fn tag(&self, name: &str) -> Result<PoolTag> {
        let text = c_text("ferrum_pool_get_tag", "name", name)?;
        let mut number = 0;
        // SAFETY: text lives through the call, number is an output of it.
        check(unsafe { sys::ferrum_pool_get_tag(self.raw(), text.as_ptr(), &mut number) })?;
        Ok(PoolTag(number))
    }

    /// Gives back every live block, as freed on the stream.
    ///
    /// # Safety
    ///
    /// No [`PoolBlock`] and no [`PoolBatch`] of the pool may be alive: give them up
    /// with their `into_address` and `into_addresses`. Else their drop would free
    /// what is somebody else's by then.
    pub unsafe fn reset(&self, stream: Option<&Stream>) -> Result<()> {
        // SAFETY: plain values; the blocks are the caller's word.
        check(unsafe { sys::ferrum_pool_reset(self.raw(), raw_of(stream)) })
    }

    /// Takes back what thread caches keep, and gives unused segments back until no
    /// more than `keep_bytes` are held.
    pub fn trim(&self, keep_bytes: u64) -> Result<u64> {
        self.release_graphs(None);
        let mut released = 0;
        // SAFETY: released is an output of the call.
        check(unsafe { sys::ferrum_pool_trim(self.raw(), keep_bytes, &mut released) })?;
        Ok(released)
    }

    /// Changes above how many bytes held an empty segment is given back at once;
    /// none: never.
    pub fn set_release_threshold(&self, release_threshold_bytes: Option<u64>) -> Result<()> {
        let threshold = release_threshold_bytes.unwrap_or(u64::MAX);
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_pool_set_release_threshold(self.raw(), threshold) })
    }
}
