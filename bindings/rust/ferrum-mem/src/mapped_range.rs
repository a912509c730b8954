use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::elastic_pool::Model;
use crate::ending::dropped;
use crate::error::check;
use crate::rejected::{ended, Rejected};
use crate::stream::{raw_of, Stream};
use crate::virtual_pool::VirtualPool;
use crate::{sys, Device, Error, ErrorKind, Result};

/// The pool or model of a range.
#[derive(Clone, Debug)]
pub(crate) enum Space {
    Pool(VirtualPool),
    Model(Model),
}

/// Ranges that were dropped while a sleep or a wake was working on them, by offset and size. They
/// are unmapped when that call has ended.
#[derive(Debug, Default)]
pub(crate) struct Late(Mutex<Vec<(u64, u64)>>);

impl Space {
    fn late(&self) -> &Late {
        match self {
            Self::Pool(pool) => pool.late(),
            Self::Model(model) => model.late(),
        }
    }

    /// Unmaps a dropped range now, or when a sleep or a wake has ended.
    fn unmap_or_later(&self, offset_bytes: u64, size_bytes: u64) {
        let mut late = self.late().0.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.unmap(offset_bytes, size_bytes, Default::default());
        if status == sys::FERRUM_ERROR_BUSY {
            late.push((offset_bytes, size_bytes));
            return;
        }
        drop(late);
        dropped(self.unmapper(), status);
    }

    /// The C function that unmaps.
    fn unmapper(&self) -> &'static str {
        match self {
            Self::Pool(_) => "ferrum_vpool_free",
            Self::Model(_) => "ferrum_elastic_pool_free",
        }
    }

    fn page_bytes(&self) -> u64 {
        match self {
            Self::Pool(pool) => pool.page_bytes(),
            Self::Model(model) => model.pool().page_bytes(),
        }
    }

    /// Unmaps the ranges that were dropped during a call that has ended.
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
            // SAFETY: we own the handle.
            Self::Pool(pool) => unsafe {
                sys::ferrum_vpool_free(pool.raw(), offset_bytes, size_bytes, stream)
            },
            // SAFETY: as above, and the id is valid during the call.
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

/// Memory that is mapped in a virtual pool or a model. Dropping it unmaps it after the work that is
/// queued now on the stream of its allocation, on the streams of `record_stream`, and on the
/// default stream. If a sleep or a wake is working on it, it is unmapped when that has ended. A
/// stream that is dropped earlier has first completed its work.
#[derive(Debug)]
#[must_use = "dropping it unmaps the range"]
pub struct MappedRange {
    address: u64,
    offset_bytes: u64,
    size_bytes: u64,
    /// Offset and size that an unmap passes: the range as it was allocated, or whole pages for a
    /// part of a range that was split.
    unmapped: (u64, u64),
    space: Space,
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        if self.address != 0 {
            self.space.unmap_or_later(self.unmapped.0, self.unmapped.1);
        }
    }
}

impl MappedRange {
    pub(crate) fn new(space: Space, address: u64, offset_bytes: u64, size_bytes: u64) -> Self {
        Self {
            address,
            offset_bytes,
            size_bytes,
            unmapped: (offset_bytes, size_bytes),
            space,
        }
    }

    /// Creates the object of a range that is mapped in a pool. The object owns the range from then
    /// on.
    ///
    /// # Safety
    ///
    /// The range is from [`VirtualPool::alloc`], or whole pages of such ranges, and no other code
    /// unmaps it.
    pub unsafe fn from_offset(pool: &VirtualPool, offset_bytes: u64, size_bytes: u64) -> Self {
        pool.range(pool.base_address() + offset_bytes, offset_bytes, size_bytes)
    }

    /// Creates the object of a range that is mapped in a model.
    ///
    /// # Safety
    ///
    /// As for [`MappedRange::from_offset`], with [`Model::alloc`].
    pub unsafe fn from_model_offset(model: &Model, offset_bytes: u64, size_bytes: u64) -> Self {
        model.range(
            model.base_address() + offset_bytes,
            offset_bytes,
            size_bytes,
        )
    }

    /// Its address in the device's memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its offset from the base address of its pool or model.
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// The requested size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The device of the range.
    pub fn device(&self) -> &Device {
        match &self.space {
            Space::Pool(pool) => pool.device(),
            Space::Model(model) => model.pool().device(),
        }
    }

    /// A pointer to the range, if the host can address the device. It must not be used after the
    /// range has ended, while the range is asleep, or while a stream works on the range.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if the range has no memory: it
    /// is asleep, or pages of it were unmapped by offset. Otherwise the errors of every call, such
    /// as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_is_mapped`](crate::sys::ferrum_vpool_is_mapped).
    pub fn as_ptr(&self) -> Result<Option<NonNull<u8>>> {
        if !self.device().info()?.host_addressable {
            return Ok(None);
        }
        if !self.space.is_mapped(self.offset_bytes, self.size_bytes)? {
            return Err(Error::found(
                ErrorKind::InvalidState,
                "MappedRange::as_ptr",
                format!(
                    "offset {}, size {}: the range is asleep or was unmapped",
                    self.offset_bytes, self.size_bytes
                ),
            ));
        }
        Ok(NonNull::new(self.address as usize as *mut u8))
    }

    /// States that a stream uses the range too. A free of the range then also waits for the work
    /// that is queued on that stream at the free.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range that ends outside;
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a size of 0;
    /// [`ErrorKind::NotMapped`](crate::ErrorKind::NotMapped), with offset and size of the first
    /// page that is not mapped; [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for a
    /// page that is asleep, and [`ErrorKind::Busy`](crate::ErrorKind::Busy) for a page that a sleep
    /// or a wake is working on.
    ///
    /// C function: [`ferrum_vpool_record_stream`](crate::sys::ferrum_vpool_record_stream).
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        match &self.space {
            Space::Pool(pool) => pool.record_stream(self.offset_bytes, self.size_bytes, stream),
            Space::Model(model) => model.record_stream(self.offset_bytes, self.size_bytes, stream),
        }
    }

    /// Splits the range in two at a number of bytes from its start. Each part is freed, dropped or
    /// split by itself. The position must be a page boundary of the pool or model, inside the
    /// range.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for another position. The
    /// error returns the range unchanged. It calls no C function; the parts are unmapped by
    /// [`ferrum_vpool_free`](crate::sys::ferrum_vpool_free) or
    /// [`ferrum_elastic_pool_free`](crate::sys::ferrum_elastic_pool_free).
    pub fn split_at(mut self, bytes: u64) -> std::result::Result<(Self, Self), Rejected<Self>> {
        let page = self.space.page_bytes();
        let middle = self.offset_bytes.saturating_add(bytes);
        if bytes == 0 || bytes >= self.size_bytes || middle % page != 0 {
            return Err(self.not_on_a_border("MappedRange::split_at", bytes));
        }
        let (begin, size) = self.unmapped;
        let end = (begin + size).div_ceil(page) * page;
        let begin = begin / page * page;
        let second = Self {
            address: self.address + bytes,
            offset_bytes: middle,
            size_bytes: self.size_bytes - bytes,
            unmapped: (middle, end - middle),
            space: self.space.clone(),
        };
        self.size_bytes = bytes;
        self.unmapped = (begin, middle - begin);
        Ok((self, second))
    }

    fn not_on_a_border(self, function: &str, bytes: u64) -> Rejected<Self> {
        let message = format!(
            "offset {}, size {}: a range is split at a multiple of the page size {}, not at {bytes}",
            self.offset_bytes,
            self.size_bytes,
            self.space.page_bytes()
        );
        let error = Error::found(ErrorKind::InvalidOffset, function, message);
        Rejected::new(error, self)
    }

    /// Splits the range into parts of that many bytes, in order. The last part may be shorter.
    ///
    /// # Errors
    ///
    /// Those of [`MappedRange::split_at`], for a size that is 0 or not a multiple of the page size.
    /// The error returns the range unchanged. It calls no C function.
    pub fn split_every(self, bytes: u64) -> std::result::Result<Vec<Self>, Rejected<Self>> {
        let page = self.space.page_bytes();
        let is_aligned = self.offset_bytes % page == 0 && bytes % page == 0;
        if bytes == 0 || (bytes < self.size_bytes && !is_aligned) {
            return Err(self.not_on_a_border("MappedRange::split_every", bytes));
        }
        let mut rest = self;
        let mut parts = Vec::new();
        while rest.size_bytes > bytes {
            let (part, more) = rest.split_at(bytes)?;
            parts.push(part);
            rest = more;
        }
        parts.push(rest);
        Ok(parts)
    }

    /// The addresses of the pages of the range, in order. The first page contains the start of the
    /// range.
    pub fn pages(&self) -> impl Iterator<Item = u64> + '_ {
        let page = self.space.page_bytes();
        let into = self.offset_bytes % page;
        let count = (into + self.size_bytes).div_ceil(page);
        (0..count).map(move |i| self.address - into + i * page)
    }

    /// Unmaps the range after the work that is queued now on the streams that use it, and on this
    /// stream. The range cannot be used afterwards:
    ///
    /// ```compile_fail,E0382
    /// # fn f(range: ferrum_mem::MappedRange) {
    /// range.free(None).unwrap();
    /// range.as_ptr().unwrap(); // moved by free
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a sleep or a wake is working on it;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if only a part of it is asleep,
    /// and while a stream that uses it captures;
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a stream of another
    /// device. The error returns the range.
    ///
    /// C functions: [`ferrum_vpool_free`](crate::sys::ferrum_vpool_free) and
    /// [`ferrum_elastic_pool_free`](crate::sys::ferrum_elastic_pool_free).
    pub fn free(mut self, stream: Option<&Stream>) -> std::result::Result<(), Rejected<Self>> {
        let (offset_bytes, size_bytes) = self.unmapped;
        let status = self.space.unmap(offset_bytes, size_bytes, raw_of(stream));
        let result = check(status);
        if result.is_ok() {
            self.address = 0;
        }
        ended(result, self)
    }

    /// Returns the address and does not unmap the range. It is unmapped by offset, or with its pool
    /// or model. Methods of the range cannot be called afterwards:
    ///
    /// ```compile_fail,E0382
    /// # fn f(range: ferrum_mem::MappedRange) {
    /// let address = range.into_address();
    /// range.free(None).unwrap(); // moved by into_address
    /// # }
    /// ```
    ///
    /// Safe code cannot unmap pages by offset while the range exists:
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
