use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::elastic_pool::Model;
use crate::error::check;
use crate::stream::{raw_of, Stream};
use crate::virtual_pool::VirtualPool;
use crate::{sys, Device, Error, ErrorKind, Result};

/// What a range is mapped in.
#[derive(Clone, Debug)]
pub(crate) enum Space {
    Pool(VirtualPool),
    Model(Model),
}

/// Ranges that were dropped while a call under way was putting them to sleep or waking
/// them, by offset and size: they are unmapped when it has ended.
#[derive(Debug, Default)]
pub(crate) struct Late(Mutex<Vec<(u64, u64)>>);

impl Space {
    fn late(&self) -> &Late {
        match self {
            Self::Pool(pool) => pool.late(),
            Self::Model(model) => model.late(),
        }
    }

    /// Unmaps a range that nobody has any more, now or when a sleep or wake has ended.
    fn unmap_or_later(&self, offset_bytes: u64, size_bytes: u64) {
        let mut late = self.late().0.lock().unwrap_or_else(PoisonError::into_inner);
        if self.unmap(offset_bytes, size_bytes, Default::default()) == sys::FERRUM_ERROR_BUSY {
            late.push((offset_bytes, size_bytes));
        }
    }

    /// Unmaps what was dropped while a call was under way that has ended.
    pub(crate) fn unmap_late(&self) {
        let mut late = self.late().0.lock().unwrap_or_else(PoisonError::into_inner);
        late.retain(|(offset_bytes, size_bytes)| {
            self.unmap(*offset_bytes, *size_bytes, Default::default()) == sys::FERRUM_ERROR_BUSY
        });
    }

    fn is_mapped(&self, offset_bytes: u64, size_bytes: u64) -> Result<bool> {
        match self {
            Self::Pool(pool) => pool.is_mapped(offset_bytes, size_bytes),
            Self::Model(model) => model.is_mapped(offset_bytes, size_bytes),
        }
    }

    fn unmap(&self, offset_bytes: u64, size_bytes: u64, stream: sys::ferrum_stream) -> i32 {
        match self {
            // SAFETY: the handle is ours.
            Self::Pool(pool) => unsafe {
                sys::ferrum_vpool_free(pool.raw(), offset_bytes, size_bytes, stream)
            },
            // SAFETY: as above, and the id lives through the call.
            Self::Model(model) => unsafe {
                sys::ferrum_elastic_pool_free(
                    model.pool().raw(),
                    model.c_id().as_ptr(),
                    offset_bytes,
                    size_bytes,
                    stream,
                )
            },
        }
    }
}

/// Memory that is mapped in a virtual pool or a model. When it is dropped it is unmapped
/// after the work that is queued then on the stream that it was asked for on, on those
/// that `record_stream` named, and on the default stream; one that is being put to sleep
/// or woken just then, when that has ended. A stream that is dropped first has run dry.
#[derive(Debug)]
pub struct MappedRange {
    address: u64,
    offset_bytes: u64,
    size_bytes: u64,
    space: Space,
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        if self.address != 0 {
            self.space
                .unmap_or_later(self.offset_bytes, self.size_bytes);
        }
    }
}

impl MappedRange {
    pub(crate) fn new(space: Space, address: u64, offset_bytes: u64, size_bytes: u64) -> Self {
        Self {
            address,
            offset_bytes,
            size_bytes,
            space,
        }
    }

    /// Where it starts in the device's memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The same from the base address of its pool or model.
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Its size in bytes, as asked for.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        match &self.space {
            Space::Pool(pool) => pool.device(),
            Space::Model(model) => model.pool().device(),
        }
    }

    /// The range as the host sees it, where the host can address the device. The
    /// pointer must not be used after the range or while it sleeps, nor while a stream
    /// works on it.
    ///
    /// [`ErrorKind::InvalidState`]: there is no memory behind the range, for it sleeps,
    /// or pages of it were unmapped by offset.
    pub fn as_ptr(&self) -> Result<Option<NonNull<u8>>> {
        if !self.device().info()?.host_addressable {
            return Ok(None);
        }
        if !self.space.is_mapped(self.offset_bytes, self.size_bytes)? {
            return Err(Error::found(
                ErrorKind::InvalidState,
                "MappedRange::as_ptr",
                format!(
                    "the range of {} bytes at offset {} is asleep or was unmapped",
                    self.size_bytes, self.offset_bytes
                ),
            ));
        }
        Ok(NonNull::new(self.address as usize as *mut u8))
    }

    /// Says that a stream uses the range too: once freed, it waits for the work that is
    /// queued on that stream at the time of its free as well.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        match &self.space {
            Space::Pool(pool) => pool.record_stream(self.offset_bytes, self.size_bytes, stream),
            Space::Model(model) => model.record_stream(self.offset_bytes, self.size_bytes, stream),
        }
    }

    /// Unmaps it once the work is done that is queued now on the streams that use it, and
    /// on this one. When that fails it is still there. Nobody has the range afterwards:
    ///
    /// ```compile_fail,E0382
    /// # fn f(range: ferrum_mem::MappedRange) {
    /// range.free(None).unwrap();
    /// range.as_ptr().unwrap(); // moved by free
    /// # }
    /// ```
    pub fn free(mut self, stream: Option<&Stream>) -> std::result::Result<(), Box<(Self, Error)>> {
        let status = self
            .space
            .unmap(self.offset_bytes, self.size_bytes, raw_of(stream));
        if status >= 0 {
            self.address = 0;
        }
        check(status).map_err(|error| Box::new((self, error)))
    }

    /// Gives the range up without unmapping it: it is unmapped by offset, or when
    /// its pool or model goes. That is not for what still has the range to do:
    ///
    /// ```compile_fail,E0382
    /// # fn f(range: ferrum_mem::MappedRange) {
    /// let address = range.into_address();
    /// range.free(None).unwrap(); // moved by into_address
    /// # }
    /// ```
    ///
    /// Nor may pages of it be unmapped by offset in safe code while it is there:
    ///
    /// ```compile_fail,E0133
    /// # fn f(pool: ferrum_mem::VirtualPool, range: ferrum_mem::MappedRange) {
    /// pool.free(0, 1 << 16, None).unwrap(); // unsafe
    /// # }
    /// ```
    pub fn into_address(mut self) -> u64 {
        std::mem::take(&mut self.address)
    }
}
