use std::ptr::NonNull;

use crate::error::check;
use crate::pool::Pool;
use crate::stream::{raw_of, Stream};
use crate::{sys, BlockOwner, Error, Result};

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
pub struct PoolBlock {
    address: u64,
    size_bytes: u64,
    stream: sys::ferrum_stream,
    pool: Pool,
}

impl Drop for PoolBlock {
    fn drop(&mut self) {
        if self.address != 0 {
            self.free_raw(None);
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
    pub fn usable_bytes(&self) -> Result<u64> {
        let mut size = 0;
        // SAFETY: size is an output of the call.
        check(unsafe { sys::ferrum_pool_usable_size(self.pool.raw(), self.address, &mut size) })?;
        Ok(size)
    }

    /// What the books say of it: its pool, size, tag and age.
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
    /// them has any, that stream may have it at once. When that fails the block is still
    /// there, but for
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted), which a pool with red zones
    /// gives when bytes beside the block were overwritten: it is free all the same,
    /// and what comes back has the address 0.
    pub fn free(self, stream: Option<&Stream>) -> std::result::Result<(), Box<(Self, Error)>> {
        let status = self.free_raw(stream);
        self.ended(status)
    }

    /// As `free`, with the size that was asked for as a check.
    pub fn free_sized(
        self,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> std::result::Result<(), Box<(Self, Error)>> {
        let status = free_on(stream, self.stream, |stream| {
            // SAFETY: the block is ours.
            unsafe {
                sys::ferrum_pool_free_sized(self.pool.raw(), self.address, size_bytes, stream)
            }
        });
        self.ended(status)
    }

    fn ended(mut self, status: sys::ferrum_status) -> std::result::Result<(), Box<(Self, Error)>> {
        if status >= 0 || status == sys::FERRUM_ERROR_CORRUPTED {
            self.address = 0;
        }
        check(status).map_err(|error| Box::new((self, error)))
    }

    /// Gives up the block without freeing it: it stays until the pool is reset or
    /// goes.
    pub fn into_address(mut self) -> u64 {
        std::mem::take(&mut self.address)
    }
}

/// Blocks of one size that come and go together. They belong to the stream that they were
/// asked for on, as a [`PoolBlock`] does.
#[derive(Debug)]
pub struct PoolBatch {
    addresses: Vec<u64>,
    size_bytes: u64,
    stream: sys::ferrum_stream,
    pool: Pool,
}

impl Drop for PoolBatch {
    fn drop(&mut self) {
        if !self.addresses.is_empty() {
            self.free_raw(None);
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

    /// Gives all of them back, as [`PoolBlock::free`]. When that fails they are
    /// still there, but for [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted).
    pub fn free(mut self, stream: Option<&Stream>) -> std::result::Result<(), Box<(Self, Error)>> {
        let status = self.free_raw(stream);
        if status >= 0 || status == sys::FERRUM_ERROR_CORRUPTED {
            self.addresses.clear();
        }
        check(status).map_err(|error| Box::new((self, error)))
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
