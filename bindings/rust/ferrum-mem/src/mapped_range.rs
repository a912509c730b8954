use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::elastic_pool::Model;
use crate::ending::dropped;
use crate::error::check;
use crate::rejected::{ended, Rejected};
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
#[must_use = "dropping it unmaps the range"]
pub struct MappedRange {
    address: u64,
    offset_bytes: u64,
    size_bytes: u64,
    /// What an unmap of it names, by offset and size: the range as it was asked for, or whole pages for a part
    /// of a range that was split.
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

    /// Makes an object of a range that is mapped in a pool, which it owns from then on.
    ///
    /// # Safety
    ///
    /// The range is one of [`VirtualPool::alloc`], or whole pages of some, and nobody else unmaps them.
    pub unsafe fn from_offset(pool: &VirtualPool, offset_bytes: u64, size_bytes: u64) -> Self {
        pool.range(pool.base_address() + offset_bytes, offset_bytes, size_bytes)
    }

    /// The same in a model.
    ///
    /// # Safety
    ///
    /// As for [`MappedRange::from_offset`], of [`Model::alloc`].
    pub unsafe fn from_model_offset(model: &Model, offset_bytes: u64, size_bytes: u64) -> Self {
        model.range(
            model.base_address() + offset_bytes,
            offset_bytes,
            size_bytes,
        )
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
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
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
                    "the range of {} bytes at offset {} is asleep or was unmapped",
                    self.size_bytes, self.offset_bytes
                ),
            ));
        }
        Ok(NonNull::new(self.address as usize as *mut u8))
    }

    /// Says that a stream uses the range too: once freed, it waits for the work that is
    /// queued on that stream at the time of its free as well.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range that ends outside;
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a size of 0;
    /// [`ErrorKind::NotMapped`](crate::ErrorKind::NotMapped), with offset and size of the first page that
    /// is not mapped; [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for a page that sleeps,
    /// and [`ErrorKind::Busy`](crate::ErrorKind::Busy) for one that is being put to sleep or woken.
    ///
    /// C function: [`ferrum_vpool_record_stream`](crate::sys::ferrum_vpool_record_stream).
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        match &self.space {
            Space::Pool(pool) => pool.record_stream(self.offset_bytes, self.size_bytes, stream),
            Space::Model(model) => model.record_stream(self.offset_bytes, self.size_bytes, stream),
        }
    }

    /// Splits the range in two at a number of bytes from its start. Each part is freed, dropped or split for
    /// itself. The place has to lie on the border of two pages of the pool or model, and inside of the range.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`] for another place: the range comes back as it was. It calls no C function;
    /// the parts are unmapped by [`ferrum_vpool_free`](crate::sys::ferrum_vpool_free) or
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
            "{bytes} bytes into the range of {} bytes at offset {} two of its pages of {} bytes do not meet",
            self.size_bytes,
            self.offset_bytes,
            self.space.page_bytes()
        );
        let error = Error::found(ErrorKind::InvalidOffset, function, message);
        Rejected::new(error, self)
    }

    /// Splits the range into parts of that many bytes, in order; the last one may be shorter.
    ///
    /// # Errors
    ///
    /// Those of [`MappedRange::split_at`], for a size that is no multiple of the page or 0: the range comes back
    /// as it was. It calls no C function.
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

    /// The addresses of the pages of the range, in order; the first is the one that the range begins in.
    pub fn pages(&self) -> impl Iterator<Item = u64> + '_ {
        let page = self.space.page_bytes();
        let into = self.offset_bytes % page;
        let count = (into + self.size_bytes).div_ceil(page);
        (0..count).map(move |i| self.address - into + i * page)
    }

    /// Unmaps it once the work is done that is queued now on the streams that use it, and
    /// on this one. Nobody has the range afterwards:
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
    /// [`ErrorKind::Busy`] while a call puts it to sleep or wakes it; [`ErrorKind::InvalidState`] where a part of it
    /// sleeps and a part does not, and while a stream that uses it captures; [`ErrorKind::InvalidArgument`] for a
    /// stream of another device. The range is still there and comes back with the error.
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
