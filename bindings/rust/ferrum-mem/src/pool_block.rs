use std::ptr::NonNull;

use crate::ending::dropped;
use crate::error::check;
use crate::pool::Pool;
use crate::rejected::{ended, Rejected};
use crate::stream::{raw_of, Stream};
use crate::{sys, BlockOwner, Result};

/// Frees on the named stream, or on the stream of the blocks. If that stream was destroyed and so
/// has no work, or captures, the library knows which work the free must wait for.
pub(crate) fn free_on(
    named: Option<&Stream>,
    own: sys::ferrum_stream,
    free: impl Fn(sys::ferrum_stream) -> sys::ferrum_status,
) -> sys::ferrum_status {
    if named.is_some() {
        return free(raw_of(named));
    }
    match free(own) {
        sys::FERRUM_ERROR_INVALID_HANDLE | sys::FERRUM_ERROR_INVALID_STATE if own.id != 0 => {
            free(Default::default())
        }
        status => status,
    }
}

/// A block of a pool. It belongs to the stream of its allocation. Whichever thread drops or frees
/// it, its memory is reused only after the work that is queued on that stream at this moment. The
/// stream may be dropped earlier; its drop waits for its work.
#[derive(Debug)]
#[must_use = "dropping it frees the block"]
pub struct PoolBlock {
    address: u64,
    size_bytes: u64,
    stream: sys::ferrum_stream,
    pool: Pool,
}

impl Drop for PoolBlock {
    fn drop(&mut self) {
        if self.address != 0 {
            dropped("ferrum_pool_free", self.free_raw(None));
        }
    }
}

impl PoolBlock {
    pub(crate) fn new(
        pool: &Pool,
        address: u64,
        size_bytes: u64,
        stream: sys::ferrum_stream,
    ) -> Self {
        Self {
            address,
            size_bytes,
            stream,
            pool: pool.clone(),
        }
    }

    /// The stream of the block.
    pub(crate) fn stream_raw(&self) -> sys::ferrum_stream {
        self.stream
    }

    fn free_raw(&self, stream: Option<&Stream>) -> sys::ferrum_status {
        free_on(stream, self.stream, |stream| {
            // SAFETY: we own the block.
            unsafe { sys::ferrum_pool_free(self.pool.raw(), self.address, stream) }
        })
    }

    /// Its address in the device's memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The requested size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The pool of the block.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The number of usable bytes: at least the requested size.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_usable_size`](crate::sys::ferrum_pool_usable_size).
    pub fn usable_bytes(&self) -> Result<u64> {
        let mut size = 0;
        // SAFETY: size is an output of the call.
        check(unsafe { sys::ferrum_pool_usable_size(self.pool.raw(), self.address, &mut size) })?;
        Ok(size)
    }

    /// The counters' entry of the block: its pool, size, tag and age.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the address is in no pool.
    ///
    /// C function: [`ferrum_device_get_owner`](crate::sys::ferrum_device_get_owner).
    pub fn owner(&self) -> Result<BlockOwner> {
        self.pool.device().owner_of(self.address)
    }

    /// A pointer to the block, if the host can address the device. It must not be used after the
    /// block has ended, or while a stream works on the block.
    pub fn as_ptr(&self) -> Option<NonNull<u8>> {
        if !self.pool.host_addressable() {
            return None;
        }
        NonNull::new(self.address as usize as *mut u8)
    }

    /// States that a stream uses the block too. A free of the block then also waits for the work
    /// that is queued on that stream at the free.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DoubleFree`](crate::ErrorKind::DoubleFree) or
    /// [`ErrorKind::InvalidAddress`](crate::ErrorKind::InvalidAddress) if no live block has the
    /// address.
    ///
    /// C function: [`ferrum_pool_record_stream`](crate::sys::ferrum_pool_record_stream).
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe {
            sys::ferrum_pool_record_stream(self.pool.raw(), self.address, stream.raw())
        })
    }

    /// Frees the block, as a drop does; with a stream, also after the work of that stream. Its
    /// memory is reused after the work that is queued now on the stream of its allocation, on the
    /// streams of [`record_stream`](PoolBlock::record_stream), and on the named stream. If only one
    /// of these streams has work, that stream may reuse the memory at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a stream of another
    /// device: the error returns the block. [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted)
    /// from a pool with red zones, if bytes beside the block were overwritten: the block is freed
    /// and not returned.
    ///
    /// C function: [`ferrum_pool_free`](crate::sys::ferrum_pool_free).
    pub fn free(self, stream: Option<&Stream>) -> std::result::Result<(), Rejected<Option<Self>>> {
        let status = self.free_raw(stream);
        self.ended(status)
    }

    /// Like `free`, with the requested size as a check.
    ///
    /// # Errors
    ///
    /// Those of [`PoolBlock::free`], and [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize)
    /// if the requested size was different.
    ///
    /// C function: [`ferrum_pool_free_sized`](crate::sys::ferrum_pool_free_sized).
    pub fn free_sized(
        self,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> std::result::Result<(), Rejected<Option<Self>>> {
        let status = free_on(stream, self.stream, |stream| {
            // SAFETY: we own the block.
            unsafe {
                sys::ferrum_pool_free_sized(self.pool.raw(), self.address, size_bytes, stream)
            }
        });
        self.ended(status)
    }

    fn ended(
        mut self,
        status: sys::ferrum_status,
    ) -> std::result::Result<(), Rejected<Option<Self>>> {
        let result = check(status);
        if status >= 0 || status == sys::FERRUM_ERROR_CORRUPTED {
            self.address = 0;
        }
        let object = (self.address != 0).then_some(self);
        ended(result, object)
    }

    /// Returns the address and does not free the block. It stays allocated until its address is
    /// freed, for example with [`PoolBlock::from_address`], or until the pool is reset or
    /// destroyed.
    pub fn into_address(mut self) -> u64 {
        std::mem::take(&mut self.address)
    }

    /// Creates an object of a live block of a pool. The object owns the block from then on. The
    /// block belongs to the stream; `None` is the default stream.
    ///
    /// # Safety
    ///
    /// The address is of a live block of the pool with that size, no other code frees it, and the
    /// stream is the stream of its allocation.
    pub unsafe fn from_address(
        pool: &Pool,
        address: u64,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> Self {
        Self::new(pool, address, size_bytes, raw_of(stream))
    }
}

/// Blocks of one size that are allocated and freed together. They belong to the stream of their
/// allocation, as a [`PoolBlock`] does.
#[derive(Debug)]
#[must_use = "dropping it frees the blocks"]
pub struct PoolBatch {
    addresses: Vec<u64>,
    size_bytes: u64,
    stream: sys::ferrum_stream,
    pool: Pool,
}

impl Drop for PoolBatch {
    fn drop(&mut self) {
        if !self.addresses.is_empty() {
            dropped("ferrum_pool_free_batch", self.free_raw(None));
        }
    }
}

impl PoolBatch {
    pub(crate) fn new(
        pool: &Pool,
        addresses: Vec<u64>,
        size_bytes: u64,
        stream: sys::ferrum_stream,
    ) -> Self {
        Self {
            addresses,
            size_bytes,
            stream,
            pool: pool.clone(),
        }
    }

    /// The address of each block in the device's memory.
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// The requested size of each block in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether there is no block, because [`PoolBatch::split_off`] has removed all of them.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// The pool of the blocks.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The addresses, in the order of the batch.
    pub fn iter(&self) -> std::iter::Copied<std::slice::Iter<'_, u64>> {
        self.addresses.iter().copied()
    }

    /// Moves the blocks from index `at` on into a batch of their own. The two batches are freed
    /// separately.
    ///
    /// # Panics
    ///
    /// If `at` is greater than the number of blocks.
    pub fn split_off(&mut self, at: usize) -> Self {
        Self {
            addresses: self.addresses.split_off(at),
            size_bytes: self.size_bytes,
            stream: self.stream,
            pool: self.pool.clone(),
        }
    }

    /// States that a stream uses all blocks too, as [`PoolBlock::record_stream`]: all of them, or none.
    ///
    /// # Errors
    ///
    /// Those of [`PoolBlock::record_stream`].
    ///
    /// C function: [`ferrum_pool_record_stream_batch`](crate::sys::ferrum_pool_record_stream_batch).
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        // SAFETY: addresses is valid during the call.
        check(unsafe {
            sys::ferrum_pool_record_stream_batch(
                self.pool.raw(),
                self.addresses.as_ptr(),
                self.addresses.len() as u64,
                stream.raw(),
            )
        })
    }

    /// Frees all blocks, in the way of [`PoolBlock::free`].
    ///
    /// # Errors
    ///
    /// Those of [`PoolBlock::free`]. The error returns the batch, except for
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted): all blocks are freed then.
    ///
    /// C function: [`ferrum_pool_free_batch`](crate::sys::ferrum_pool_free_batch).
    pub fn free(
        mut self,
        stream: Option<&Stream>,
    ) -> std::result::Result<(), Rejected<Option<Self>>> {
        if self.addresses.is_empty() {
            return Ok(());
        }
        let status = self.free_raw(stream);
        let result = check(status);
        if status >= 0 || status == sys::FERRUM_ERROR_CORRUPTED {
            self.addresses.clear();
        }
        let object = (!self.addresses.is_empty()).then_some(self);
        ended(result, object)
    }

    /// Returns the addresses and does not free the blocks. They stay allocated until the pool is
    /// reset or destroyed.
    pub fn into_addresses(mut self) -> Vec<u64> {
        std::mem::take(&mut self.addresses)
    }

    fn free_raw(&self, stream: Option<&Stream>) -> sys::ferrum_status {
        free_on(stream, self.stream, |stream| {
            // SAFETY: we own the blocks, and addresses is valid during the call.
            unsafe {
                sys::ferrum_pool_free_batch(
                    self.pool.raw(),
                    self.addresses.as_ptr(),
                    self.addresses.len() as u64,
                    stream,
                )
            }
        })
    }
}

/// An iterator over the blocks of a batch, each as an object of its own.
#[derive(Debug)]
#[must_use = "dropping it frees the blocks that were not taken"]
pub struct PoolBatchBlocks {
    left: PoolBatch,
}

impl Iterator for PoolBatchBlocks {
    type Item = PoolBlock;

    fn next(&mut self) -> Option<PoolBlock> {
        let address = self.left.addresses.pop()?;
        let left = &self.left;
        Some(PoolBlock::new(
            &left.pool,
            address,
            left.size_bytes,
            left.stream,
        ))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.len(), Some(self.left.len()))
    }
}

impl ExactSizeIterator for PoolBatchBlocks {}

impl IntoIterator for PoolBatch {
    type Item = PoolBlock;
    type IntoIter = PoolBatchBlocks;

    /// Splits the batch into its blocks, in order.
    fn into_iter(mut self) -> PoolBatchBlocks {
        self.addresses.reverse();
        PoolBatchBlocks { left: self }
    }
}

impl<'a> IntoIterator for &'a PoolBatch {
    type Item = u64;
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, u64>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
