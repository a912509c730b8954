use std::sync::{Arc, Mutex, PoisonError};

use crate::device::Device;
use crate::ending::shared_handle;
use crate::error::check;
use crate::library::c_text;
use crate::pool_block::{free_on, PoolBatch, PoolBlock};
use crate::pool_request::{PoolRequest, PoolTag};
use crate::rejected::{ended, Rejected};
use crate::stream::{raw_of, Stream};
use crate::{sys, Error, PoolConfig, Result};

/// Memory by address. Clones share one pool. It is destroyed after its last clone and its blocks
/// are dropped.
#[derive(Clone)]
#[must_use = "dropping it destroys the pool"]
pub struct Pool {
    made: Arc<Made>,
}

struct Made {
    raw: sys::ferrum_pool,
    host_addressable: bool,
    page_bytes: Option<u64>,
    device: Device,
    /// Graphs that were dropped during their captures.
    left: Mutex<Vec<u64>>,
}

impl Made {
    fn release_left(&self) {
        self.release_graphs(None);
    }

    /// Releases dropped graphs whose captures have ended, `more` included.
    fn release_graphs(&self, more: Option<u64>) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.extend(more);
        left.retain(|graph| {
            // SAFETY: takes only numbers.
            let released =
                unsafe { sys::ferrum_pool_capture_release(self.raw, *graph, Default::default()) };
            released == sys::FERRUM_ERROR_INVALID_STATE
        });
    }
}

shared_handle!(Pool { made: Made } of ferrum_pool, "pool", ferrum_pool_destroy, before Made::release_left);

impl Pool {
    pub(crate) fn create(device: &Device, config: &PoolConfig) -> Result<Self> {
        let mut raw = Default::default();
        config.with_raw("ferrum_pool_create", |config| {
            // SAFETY: config is valid during the call, raw is an output of it.
            check(unsafe { sys::ferrum_pool_create(device.raw(), config, &mut raw) })
        })?;
        Self::own(device, raw).inspect_err(|_| {
            // SAFETY: the pool was created above, and no other code has it.
            unsafe { sys::ferrum_pool_destroy(raw, sys::FERRUM_FORCE) };
        })
    }

    /// The object that owns a pool.
    fn own(device: &Device, raw: sys::ferrum_pool) -> Result<Self> {
        let mut info = sys::ferrum_pool_info::default();
        // SAFETY: info is an output of the call, with its size set.
        check(unsafe { sys::ferrum_pool_get_info(raw, &mut info) })?;
        Ok(Self {
            made: Arc::new(Made {
                raw,
                host_addressable: device.info()?.host_addressable,
                page_bytes: (info.page_bytes != 0).then_some(info.page_bytes),
                device: device.clone(),
                left: Mutex::default(),
            }),
        })
    }

    /// Creates a pool object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live pool of the device, and no other code destroys it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) for a handle without a pool.
    ///
    /// C function: [`ferrum_pool_get_info`](crate::sys::ferrum_pool_get_info).
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_pool) -> Result<Self> {
        Self::own(device, raw)
    }

    /// The page size of a paged pool; `None` for a segmented pool. It calls no C function.
    pub fn page_bytes(&self) -> Option<u64> {
        self.made.page_bytes
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_pool {
        self.made.raw
    }

    /// Releases graphs that were dropped, `more` included, once their captures have ended.
    pub(crate) fn release_graphs(&self, more: Option<u64>) {
        self.made.release_graphs(more);
    }

    /// The device of the pool.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    /// Whether the host can address its blocks. That never changes, so this calls no C function.
    pub fn host_addressable(&self) -> bool {
        self.made.host_addressable
    }

    /// Allocates a block. The stream (`None`: the default stream) uses it first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if there is not enough memory
    /// after all caches were released and the reclaim callbacks were called; the message states the
    /// request, the free bytes, the largest free run and the holders by tag. A request that can
    /// never fit fails at once. The call waits for freed blocks whose stream work is still queued,
    /// at most 10 s.
    ///
    /// C function: [`ferrum_pool_alloc`](crate::sys::ferrum_pool_alloc).
    pub fn alloc(&self, size_bytes: u64, stream: Option<&Stream>) -> Result<PoolBlock> {
        let mut address = 0;
        // SAFETY: address is an output of the call.
        check(unsafe {
            sys::ferrum_pool_alloc(self.raw(), size_bytes, raw_of(stream), &mut address)
        })?;
        Ok(PoolBlock::new(self, address, size_bytes, raw_of(stream)))
    }

    /// Allocates a block as requested.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_alloc_with`](crate::sys::ferrum_pool_alloc_with).
    pub fn alloc_with(&self, request: &PoolRequest<'_>) -> Result<PoolBlock> {
        let (raw, mut address) = (request.raw(), 0);
        // SAFETY: raw is valid during the call, address is an output of it.
        check(unsafe { sys::ferrum_pool_alloc_with(self.raw(), &raw, &mut address) })?;
        Ok(PoolBlock::new(
            self,
            address,
            request.size_bytes(),
            raw.stream,
        ))
    }

    /// Allocates `count` blocks of one size: all or none.
    ///
    /// # Errors
    ///
    /// Those of [`ferrum_pool_alloc`](crate::sys::ferrum_pool_alloc);
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for the count.
    ///
    /// C function: [`ferrum_pool_alloc_batch`](crate::sys::ferrum_pool_alloc_batch).
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
        // SAFETY: addresses has the length count.
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

    /// Frees blocks of this pool in one call, in the way of [`PoolBlock::free`]: all or none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a block of another
    /// pool, and those of [`PoolBlock::free`]. The error returns the blocks. With
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted) the blocks are freed, and the returned
    /// list is empty.
    ///
    /// C function: [`ferrum_pool_free_batch`](crate::sys::ferrum_pool_free_batch).
    pub fn free_batch(
        &self,
        blocks: Vec<PoolBlock>,
        stream: Option<&Stream>,
    ) -> std::result::Result<(), Rejected<Vec<PoolBlock>>> {
        if blocks.is_empty() {
            return Ok(());
        }
        let own = |block: &PoolBlock| block.pool().raw() == self.raw();
        if let Some(other) = blocks.iter().position(|block| !own(block)) {
            let message = format!("blocks[{other}] belongs to another pool");
            let error = Error::argument("ferrum_pool_free_batch", message);
            return Err(Rejected::new(error, blocks));
        }
        let addresses: Vec<u64> = blocks.iter().map(PoolBlock::address).collect();
        let first = blocks[0].stream_raw();
        let one = blocks.iter().all(|b| b.stream_raw().id == first.id);
        let own = if one { first } else { Default::default() };
        let status = free_on(stream, own, |stream| {
            // SAFETY: we own the blocks, and addresses is valid during the call.
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
            return ended(check(status), blocks);
        };
        for block in gone {
            block.into_address();
        }
        ended(check(status), Vec::new())
    }

    /// The tag of a name of 1 to 63 bytes. It is valid as long as the pool exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) after 4095 names.
    ///
    /// C function: [`ferrum_pool_get_tag`](crate::sys::ferrum_pool_get_tag).
    pub fn tag(&self, name: &str) -> Result<PoolTag> {
        let text = c_text("ferrum_pool_get_tag", "name", name)?;
        let mut number = 0;
        // SAFETY: text is valid during the call, number is an output of it.
        check(unsafe { sys::ferrum_pool_get_tag(self.raw(), text.as_ptr(), &mut number) })?;
        Ok(PoolTag(number))
    }

    /// Frees all live blocks, as if freed on the stream.
    ///
    /// # Safety
    ///
    /// No [`PoolBlock`] and no [`PoolBatch`] of the pool exists: end them with `into_address` and
    /// `into_addresses`. Otherwise their drop would free memory of another owner.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) if there is no memory
    /// to record the blocks behind queued work. The blocks are live as before, unless another
    /// thread allocates blocks or that memory meanwhile; then the blocks that were not freed are
    /// live.
    ///
    /// C function: [`ferrum_pool_reset`](crate::sys::ferrum_pool_reset).
    pub unsafe fn reset(&self, stream: Option<&Stream>) -> Result<()> {
        // SAFETY: takes only numbers; the caller guarantees the blocks.
        check(unsafe { sys::ferrum_pool_reset(self.raw(), raw_of(stream)) })
    }

    /// Releases the blocks of thread caches, and unused segments until at most `keep_bytes` are
    /// held.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_trim`](crate::sys::ferrum_pool_trim).
    pub fn trim(&self, keep_bytes: u64) -> Result<u64> {
        self.release_graphs(None);
        let mut released = 0;
        // SAFETY: released is an output of the call.
        check(unsafe { sys::ferrum_pool_trim(self.raw(), keep_bytes, &mut released) })?;
        Ok(released)
    }

    /// Sets the number of held bytes above which an empty segment is released at once; `None`:
    /// never.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_set_release_threshold`](crate::sys::ferrum_pool_set_release_threshold).
    pub fn set_release_threshold(&self, release_threshold_bytes: Option<u64>) -> Result<()> {
        let threshold = release_threshold_bytes.unwrap_or(u64::MAX);
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_pool_set_release_threshold(self.raw(), threshold) })
    }
}
