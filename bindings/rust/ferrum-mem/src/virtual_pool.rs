use std::sync::Arc;

use crate::device::Device;
use crate::ending::shared_handle;
use crate::error::check;
use crate::mapped_range::{Late, MappedRange, Space};
use crate::stream::{raw_of, Stream};
use crate::{sys, BatchOptions, ByteRange, Result, VirtualPoolConfig};

/// Address space that is reserved as a whole. `alloc` maps memory by offset. Clones share one pool.
/// It is destroyed after its last clone and its ranges are dropped.
#[derive(Clone)]
#[must_use = "dropping it destroys the pool and unmaps its memory"]
pub struct VirtualPool {
    made: Arc<Made>,
}

struct Made {
    raw: sys::ferrum_vpool,
    device: Device,
    late: Late,
    base_address: u64,
    capacity_bytes: u64,
    page_bytes: u64,
}

shared_handle!(VirtualPool { made: Made } of ferrum_vpool, "pool", ferrum_vpool_destroy);

impl VirtualPool {
    pub(crate) fn create(device: &Device, config: &VirtualPoolConfig) -> Result<Self> {
        let mut raw = Default::default();
        config.with_raw("ferrum_vpool_create", |config| {
            // SAFETY: the settings are valid during the call, raw is an output of it.
            check(unsafe { sys::ferrum_vpool_create(device.raw(), config, &mut raw) })
        })?;
        Self::own(device, raw).inspect_err(|_| {
            // SAFETY: the pool was created above, and no other code has it.
            unsafe { sys::ferrum_vpool_destroy(raw, sys::FERRUM_FORCE) };
        })
    }

    /// The object that owns a pool.
    fn own(device: &Device, raw: sys::ferrum_vpool) -> Result<Self> {
        let mut info = sys::ferrum_vpool_info::default();
        // SAFETY: info is an output of the call, with its size set.
        check(unsafe { sys::ferrum_vpool_get_info(raw, &mut info) })?;
        Ok(Self {
            made: Arc::new(Made {
                raw,
                device: device.clone(),
                late: Late::default(),
                base_address: info.base_address,
                capacity_bytes: info.virtual_capacity_bytes,
                page_bytes: info.page_bytes,
            }),
        })
    }

    /// Creates a pool object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live virtual pool of the device, and no other code destroys it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) for a handle without a pool.
    ///
    /// C function: [`ferrum_vpool_get_info`](crate::sys::ferrum_vpool_get_info).
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_vpool) -> Result<Self> {
        Self::own(device, raw)
    }

    /// Start of its address space. Address, size and page size never change, so this and the next
    /// two functions call no C function.
    pub fn base_address(&self) -> u64 {
        self.made.base_address
    }

    /// Size of its address space in bytes, a multiple of the page size.
    pub fn capacity_bytes(&self) -> u64 {
        self.made.capacity_bytes
    }

    /// Size of its pages.
    pub fn page_bytes(&self) -> u64 {
        self.made.page_bytes
    }

    pub(crate) fn late(&self) -> &Late {
        &self.made.late
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_vpool {
        self.made.raw
    }

    /// The device of the pool.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    /// Maps memory to every page that a range touches: all or none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range that ends outside,
    /// with offset, size and capacity in the message;
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize);
    /// [`ErrorKind::AlreadyMapped`](crate::ErrorKind::AlreadyMapped), with offset and size of the
    /// first page that is mapped;
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) over the limit,
    /// with requested and available bytes;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the device has no more memory
    /// after the reclaim path of [`ferrum_pool_alloc`](crate::sys::ferrum_pool_alloc);
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) if the system allows
    /// no more mappings. If queued work still uses a freed range, the call waits for it; in a host
    /// function or a reclaim callback it fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy)
    /// instead.
    ///
    /// C function: [`ferrum_vpool_alloc`](crate::sys::ferrum_vpool_alloc).
    pub fn alloc(&self, offset_bytes: u64, size_bytes: u64) -> Result<MappedRange> {
        let mut address = 0;
        // SAFETY: address is an output of the call.
        check(unsafe {
            sys::ferrum_vpool_alloc(self.raw(), offset_bytes, size_bytes, &mut address)
        })?;
        Ok(self.range(address, offset_bytes, size_bytes))
    }

    /// Maps many ranges in one call: all of them, or none. Each becomes a [`MappedRange`] of its own, in the
    /// order of the list. An empty list maps nothing.
    ///
    /// # Errors
    ///
    /// Those of [`VirtualPool::alloc_with`](crate::VirtualPool::alloc_with). An error about one range names it by
    /// its index; [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) also for two ranges that touch
    /// the same page. Nothing has changed then.
    ///
    /// C function: [`ferrum_vpool_alloc_batch`](crate::sys::ferrum_vpool_alloc_batch).
    pub fn alloc_batch(
        &self,
        ranges: &[ByteRange],
        options: &BatchOptions<'_>,
    ) -> Result<Vec<MappedRange>> {
        let raw: Vec<_> = ranges.iter().map(ByteRange::raw).collect();
        options.with_raw("ferrum_vpool_alloc_batch", |options| {
            // SAFETY: the list has the length that is passed, and is valid during the call.
            check(unsafe {
                sys::ferrum_vpool_alloc_batch(self.raw(), raw.as_ptr(), raw.len() as u64, options)
            })
        })?;
        let base = self.base_address();
        let made = |r: &ByteRange| self.range(base + r.offset_bytes, r.offset_bytes, r.size_bytes);
        Ok(ranges.iter().map(made).collect())
    }

    /// Unmaps many ranges by offset in one call: all of them, or none.
    ///
    /// # Safety
    ///
    /// As for [`VirtualPool::free`]: no [`MappedRange`] that one of them touches may be alive.
    ///
    /// # Errors
    ///
    /// Those of [`VirtualPool::free`]. An error about one range names it by its index;
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) also for two ranges that touch the same
    /// page. Nothing has changed then.
    ///
    /// C function: [`ferrum_vpool_free_batch`](crate::sys::ferrum_vpool_free_batch).
    pub unsafe fn free_batch(&self, ranges: &[ByteRange], stream: Option<&Stream>) -> Result<()> {
        let raw: Vec<_> = ranges.iter().map(ByteRange::raw).collect();
        // SAFETY: the list has the length that is passed; the ranges are the caller's word.
        check(unsafe {
            sys::ferrum_vpool_free_batch(self.raw(), raw.as_ptr(), raw.len() as u64, raw_of(stream))
        })
    }

    pub(crate) fn range(&self, address: u64, offset_bytes: u64, size_bytes: u64) -> MappedRange {
        MappedRange::new(Space::Pool(self.clone()), address, offset_bytes, size_bytes)
    }

    /// Unmaps by offset: whole pages of one or several ranges, or one range.
    ///
    /// # Safety
    ///
    /// No [`MappedRange`] that it touches exists: end them with `into_address`. Otherwise their
    /// drop would unmap memory of another owner.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range that is neither,
    /// or that ends outside; [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a size
    /// of 0; [`ErrorKind::NotMapped`](crate::ErrorKind::NotMapped), with offset and size of the
    /// first page that is not mapped; [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a sleep or
    /// a wake is working on a part of it (afterwards it can be freed, asleep or awake);
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if only a part of it is asleep,
    /// and while one of the streams captures. After an error nothing has changed.
    ///
    /// C function: [`ferrum_vpool_free`](crate::sys::ferrum_vpool_free).
    pub unsafe fn free(
        &self,
        offset_bytes: u64,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> Result<()> {
        // SAFETY: takes only numbers; the caller guarantees the ranges.
        check(unsafe {
            sys::ferrum_vpool_free(self.raw(), offset_bytes, size_bytes, raw_of(stream))
        })
    }

    /// States that a stream uses every page that a range touches too. A free of the pages then also
    /// waits for the work that is queued on that stream at the free. The range may be a part of a
    /// [`MappedRange`], or of several.
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
    pub fn record_stream(&self, offset_bytes: u64, size_bytes: u64, stream: &Stream) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe {
            sys::ferrum_vpool_record_stream(self.raw(), offset_bytes, size_bytes, stream.raw())
        })
    }

    /// States that a stream uses many ranges too, as [`VirtualPool::record_stream`]: all of them, or
    /// none. An empty list does nothing.
    ///
    /// # Errors
    ///
    /// Those of [`VirtualPool::record_stream`]. An error about one range names it by its index;
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) also for two ranges that touch the same
    /// page. Nothing has changed then.
    ///
    /// C function: [`ferrum_vpool_record_stream_batch`](crate::sys::ferrum_vpool_record_stream_batch).
    pub fn record_stream_batch(&self, ranges: &[ByteRange], stream: &Stream) -> Result<()> {
        let raw: Vec<_> = ranges.iter().map(ByteRange::raw).collect();
        // SAFETY: the list has the length that is passed, and is valid during the call.
        check(unsafe {
            sys::ferrum_vpool_record_stream_batch(
                self.raw(),
                raw.as_ptr(),
                raw.len() as u64,
                stream.raw(),
            )
        })
    }
}
