use std::ptr::NonNull;

use crate::ending::dropped;
use crate::error::check;
use crate::pool::Pool;
use crate::rejected::{ended, Rejected};
use crate::stream::{raw_of, Stream};
use crate::{sys, BlockOwner, Result};

/// Frees on the stream that is named, or on the blocks' own one. That may have been
/// destroyed, and so has run dry, or capture: the library knows then what is to be
/// waited for.
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

/// A block of a pool. It belongs to the stream that it was asked for on: dropped or
/// freed, on whatever thread, its memory goes to nobody else before the work is done that
/// was queued on that stream by then. The stream may go first: it waits for its work.
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

    /// The stream that it is of.
    pub(crate) fn stream_raw(&self) -> sys::ferrum_stream {
        self.stream
    }

    fn free_raw(&self, stream: Option<&Stream>) -> sys::ferrum_status {
        free_on(stream, self.stream, |stream| {
            // SAFETY: the block is ours.
            unsafe { sys::ferrum_pool_free(self.pool.raw(), self.address, stream) }
        })
    }

    /// Where it starts in the device's memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size in bytes, as asked for.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The pool that it is of.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// How many of its bytes may be used: at least what was asked for.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_usable_size`](crate::sys::ferrum_pool_usable_size).
    pub fn usable_bytes(&self) -> Result<u64> {
        let mut size = 0;
        // SAFETY: size is an output of the call.
        check(unsafe { sys::ferrum_pool_usable_size(self.pool.raw(), self.address, &mut size) })?;
        Ok(size)
    }

    /// What the books say of it: its pool, size, tag and age.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when no pool holds it.
    ///
    /// C function: [`ferrum_device_get_owner`](crate::sys::ferrum_device_get_owner).
    pub fn owner(&self) -> Result<BlockOwner> {
        self.pool.device().owner_of(self.address)
    }

    /// The block as the host sees it, where the host can address the device.
    /// It must not be used after the block, nor while a stream works on it.
    pub fn as_ptr(&self) -> Option<NonNull<u8>> {
        if !self.pool.host_addressable() {
            return None;
        }
        NonNull::new(self.address as usize as *mut u8)
    }

    /// Says that a stream uses the block too: once freed, the block waits for the
    /// work that is queued on that stream at the time of its free as well.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DoubleFree`](crate::ErrorKind::DoubleFree) or
    /// [`ErrorKind::InvalidAddress`](crate::ErrorKind::InvalidAddress) when no live block starts at the
    /// address.
    ///
    /// C function: [`ferrum_pool_record_stream`](crate::sys::ferrum_pool_record_stream).
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe {
            sys::ferrum_pool_record_stream(self.pool.raw(), self.address, stream.raw())
        })
    }

    /// Gives the block back, as a drop does, and after the work of a further stream if
    /// one is named. Its memory is handed out again once the work is done that is queued
    /// now on the stream that it was asked for on, on those of
    /// [`record_stream`](PoolBlock::record_stream) and on the named one; where only one of
    /// them has any, that stream may have it at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a stream of another device: the block
    /// is still there and comes back. [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted) from a pool with red
    /// zones, when bytes beside the block were overwritten: it is free all the same, and does not come back.
    /// C function: [`ferrum_pool_free`](crate::sys::ferrum_pool_free).
    pub fn free(self, stream: Option<&Stream>) -> std::result::Result<(), Rejected<Option<Self>>> {
        let status = self.free_raw(stream);
        self.ended(status)
    }

    /// As `free`, with the size that was asked for as a check.
    ///
    /// # Errors
    ///
    /// Those of [`PoolBlock::free`], and [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for another size
    /// than the block was asked for with.
    /// C function: [`ferrum_pool_free_sized`](crate::sys::ferrum_pool_free_sized).
    pub fn free_sized(
        self,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> std::result::Result<(), Rejected<Option<Self>>> {
        let status = free_on(stream, self.stream, |stream| {
            // SAFETY: the block is ours.
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

    /// Gives up the block without freeing it: it stays until somebody frees its address, as with
    /// [`PoolBlock::from_address`], or until the pool is reset or goes.
    pub fn into_address(mut self) -> u64 {
        std::mem::take(&mut self.address)
    }

    /// Makes an object of a live block of a pool, which it owns from then on. The block belongs to the stream:
    /// none stands for the default one.
    ///
    /// # Safety
    ///
    /// The address is that of a live block of the pool of that size, nobody else frees it, and the stream is the
    /// one that it was asked for on.
    pub unsafe fn from_address(
        pool: &Pool,
        address: u64,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> Self {
        Self::new(pool, address, size_bytes, raw_of(stream))
    }
}

/// Blocks of one size that come and go together. They belong to the stream that they were
/// asked for on, as a [`PoolBlock`] does.
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

    /// Where each starts in the device's memory.
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// The size of each in bytes, as asked for.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether there is no block: [`PoolBatch::split_off`] has taken all of them.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// The pool that they are of.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The addresses, in the order of the batch.
    pub fn iter(&self) -> std::iter::Copied<std::slice::Iter<'_, u64>> {
        self.addresses.iter().copied()
    }

    /// Takes the blocks from that place on out of the batch, as a batch of their own. Each of the two is freed
    /// for itself.
    ///
    /// # Panics
    ///
    /// When the place is behind the last block.
    pub fn split_off(&mut self, at: usize) -> Self {
        Self {
            addresses: self.addresses.split_off(at),
            size_bytes: self.size_bytes,
            stream: self.stream,
            pool: self.pool.clone(),
        }
    }

    /// Gives all of them back, as [`PoolBlock::free`].
    ///
    /// # Errors
    ///
    /// Those of [`PoolBlock::free`]: the batch is still there and comes back, but for
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted), when all blocks are free.
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

    /// Gives up the blocks without freeing them: they stay until the pool is reset
    /// or goes.
    pub fn into_addresses(mut self) -> Vec<u64> {
        std::mem::take(&mut self.addresses)
    }

    fn free_raw(&self, stream: Option<&Stream>) -> sys::ferrum_status {
        free_on(stream, self.stream, |stream| {
            // SAFETY: the blocks are ours, and addresses lives through the call.
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

/// The blocks of a batch, each as an object of its own.
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

    /// Takes the batch apart: its blocks, in its order.
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
