use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::ending::dropped;
use crate::error::check;
use crate::library::Library;
use crate::rejected::{ended, Rejected};
use crate::tracker::{BufferId, TrackerView};
use crate::{sys, BufferUse, MemoryConfig, MemoryStats, Result};

/// A buffer of a generic pool that is in use.
#[derive(Debug)]
#[must_use = "the pool counts the buffer as in use until it is returned"]
#[non_exhaustive]
pub struct BufferLease<B> {
    /// The buffer.
    pub buffer: B,
    /// Its size, which may be more than the request.
    pub size_bytes: u64,
    /// The id in the tracker, if the pool tracks.
    pub id: Option<BufferId>,
}

/// The id of a buffer; C has 0 for none.
fn known(id: u64) -> Option<BufferId> {
    (id != 0).then_some(BufferId(id))
}

#[derive(Debug)]
struct Waiting<B> {
    last: u64,
    buffers: HashMap<u64, B>,
}

/// A cache of free buffers of any kind, in buckets of powers of two. It creates no buffers: if
/// [`GenericMemoryPool::try_get`] returns none, the program creates one and calls
/// [`GenericMemoryPool::record_allocation`]. A buffer that the pool does not keep is dropped.
/// Dropping the pool drops all free buffers.
#[derive(Debug)]
#[must_use = "dropping it drops the free buffers"]
pub struct GenericMemoryPool<B> {
    raw: sys::ferrum_generic_pool,
    waiting: Mutex<Waiting<B>>,
    _library: Library,
}

impl<B> Drop for GenericMemoryPool<B> {
    fn drop(&mut self) {
        if self.raw.id != 0 {
            // SAFETY: we own the handle.
            let status = unsafe { sys::ferrum_generic_pool_destroy(self.raw, sys::FERRUM_FORCE) };
            dropped("ferrum_generic_pool_destroy", status);
        }
    }
}

impl<B> GenericMemoryPool<B> {
    /// Creates an empty pool. It ignores the settings for a device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_generic_pool_create`](crate::sys::ferrum_generic_pool_create).
    pub fn new(library: &Library, config: &MemoryConfig) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: the settings are valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_generic_pool_create(&config.raw(), &mut raw) })?;
        Ok(Self {
            raw,
            waiting: Mutex::new(Waiting {
                last: 0,
                buffers: HashMap::new(),
            }),
            _library: library.clone(),
        })
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_generic_pool {
        self.raw
    }

    /// Returns the handle and the free buffers, and does not destroy the pool. The C ABI names a
    /// free buffer by the number with which it is in the map.
    pub fn into_raw(mut self) -> (sys::ferrum_generic_pool, HashMap<u64, B>) {
        let waiting = self.waiting.get_mut();
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let buffers = std::mem::take(&mut waiting.buffers);
        (std::mem::take(&mut self.raw), buffers)
    }

    /// Creates a pool from a handle and its free buffers, such as [`GenericMemoryPool::into_raw`]
    /// returns. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live pool, no other code destroys it, and the map has all its free
    /// buffers.
    pub unsafe fn from_raw(
        library: &Library,
        raw: sys::ferrum_generic_pool,
        buffers: HashMap<u64, B>,
    ) -> Self {
        Self {
            raw,
            waiting: Mutex::new(Waiting {
                last: buffers.keys().copied().max().unwrap_or(0),
                buffers,
            }),
            _library: library.clone(),
        }
    }

    /// Stores a buffer before the pool can return it to another caller.
    fn put(&self, buffer: B) -> u64 {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.last += 1;
        let word = waiting.last;
        waiting.buffers.insert(word, buffer);
        word
    }

    fn take(&self, word: u64) -> Option<B> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.buffers.remove(&word)
    }

    /// Counts a new buffer that is in use.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for 0;
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow).
    ///
    /// C function: [`ferrum_generic_pool_record_allocation`](crate::sys::ferrum_generic_pool_record_allocation).
    pub fn record_allocation(
        &self,
        buffer: B,
        size_bytes: u64,
        what: &BufferUse<'_>,
    ) -> Result<BufferLease<B>> {
        let mut id = 0;
        what.with_raw("ferrum_generic_pool_record_allocation", |raw| {
            // SAFETY: id is an output of the call.
            check(unsafe {
                sys::ferrum_generic_pool_record_allocation(self.raw, size_bytes, raw, &mut id)
            })
        })?;
        Ok(BufferLease {
            buffer,
            size_bytes,
            id: known(id),
        })
    }

    /// The smallest free buffer with at least `min_bytes` and at most four times as much.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for 0;
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow) for a size without a power of two above
    /// it.
    ///
    /// C function: [`ferrum_generic_pool_try_get`](crate::sys::ferrum_generic_pool_try_get).
    pub fn try_get(&self, min_bytes: u64, what: &BufferUse<'_>) -> Result<Option<BufferLease<B>>> {
        let mut lease = sys::ferrum_buffer_lease::default();
        let mut found = 0;
        what.with_raw("ferrum_generic_pool_try_get", |raw| {
            // SAFETY: lease and found are outputs of the call.
            check(unsafe {
                sys::ferrum_generic_pool_try_get(self.raw, min_bytes, raw, &mut lease, &mut found)
            })
        })?;
        if found == 0 {
            return Ok(None);
        }
        Ok(self.take(lease.buffer).map(|buffer| BufferLease {
            buffer,
            size_bytes: lease.size_bytes,
            id: known(lease.buffer_id),
        }))
    }

    /// Drops all free buffers and destroys the pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while buffers are in use. The error returns the
    /// pool.
    ///
    /// C function: [`ferrum_generic_pool_destroy`](crate::sys::ferrum_generic_pool_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        let closed = self.shrink().and_then(|_| {
            // SAFETY: we own the handle.
            check(unsafe { sys::ferrum_generic_pool_destroy(self.raw, 0) })
        });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// Ends the use of a buffer, and returns whether the pool keeps it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a buffer that is not
    /// from this pool. The error returns the buffer.
    ///
    /// C function: [`ferrum_generic_pool_return`](crate::sys::ferrum_generic_pool_return).
    pub fn return_buffer(
        &self,
        lease: BufferLease<B>,
    ) -> std::result::Result<bool, Rejected<Option<BufferLease<B>>>> {
        let word = self.put(lease.buffer);
        let raw = sys::ferrum_buffer_lease {
            buffer: word,
            size_bytes: lease.size_bytes,
            buffer_id: lease.id.map_or(0, |id| id.0),
        };
        let mut kept = 0;
        // SAFETY: kept is an output of the call.
        let ended = check(unsafe { sys::ferrum_generic_pool_return(self.raw, &raw, &mut kept) });
        match ended {
            Ok(()) => {
                if kept == 0 {
                    drop(self.take(word));
                }
                Ok(kept != 0)
            }
            Err(error) => {
                let buffer = self.take(word);
                let lease = buffer.map(|buffer| BufferLease { buffer, ..lease });
                Err(Rejected::new(error, lease))
            }
        }
    }

    /// Adds a free buffer that was not used yet.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_generic_pool_add_free`](crate::sys::ferrum_generic_pool_add_free).
    pub fn add_free(&self, buffer: B, size_bytes: u64) -> Result<()> {
        let word = self.put(buffer);
        // SAFETY: takes only numbers.
        let filed = check(unsafe { sys::ferrum_generic_pool_add_free(self.raw, word, size_bytes) });
        if filed.is_err() {
            drop(self.take(word));
        }
        filed
    }

    /// Drops all free buffers, and returns the sum of their sizes.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_generic_pool_drain`](crate::sys::ferrum_generic_pool_drain).
    pub fn shrink(&self) -> Result<u64> {
        let mut dropped = 0;
        loop {
            let mut gone = [sys::ferrum_buffer_lease::default(); 64];
            let mut count = 0;
            // SAFETY: the array has the length that is passed.
            check(unsafe {
                sys::ferrum_generic_pool_drain(self.raw, gone.as_mut_ptr(), gone.len(), &mut count)
            })?;
            if count == 0 {
                return Ok(dropped);
            }
            for lease in &gone[..count] {
                dropped += lease.size_bytes;
                drop(self.take(lease.buffer));
            }
        }
    }

    /// Drops all free buffers.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_generic_pool_drain`](crate::sys::ferrum_generic_pool_drain).
    pub fn clear(&self) -> Result<()> {
        self.shrink().map(|_| ())
    }

    /// The number of free buffers.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_generic_pool_get_pooled_count`](crate::sys::ferrum_generic_pool_get_pooled_count).
    pub fn pooled_count(&self) -> Result<u64> {
        let mut count = 0;
        // SAFETY: count is an output of the call.
        check(unsafe { sys::ferrum_generic_pool_get_pooled_count(self.raw, &mut count) })?;
        Ok(count)
    }

    /// The counters.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_generic_pool_get_stats`](crate::sys::ferrum_generic_pool_get_stats).
    pub fn stats(&self) -> Result<MemoryStats> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_generic_pool_get_stats(self.raw, &mut raw) })?;
        Ok((&raw).into())
    }

    /// Counts a request that was served on the host.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_generic_pool_record_cpu_fallback`](crate::sys::ferrum_generic_pool_record_cpu_fallback).
    pub fn record_cpu_fallback(&self) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_generic_pool_record_cpu_fallback(self.raw) })
    }

    /// The tracker of the buffers in use. Fails if the pool does not track.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_generic_pool_get_tracker`](crate::sys::ferrum_generic_pool_get_tracker).
    pub fn tracker(&self) -> Result<TrackerView> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_generic_pool_get_tracker(self.raw, &mut raw) })?;
        Ok(TrackerView::new(raw))
    }
}
