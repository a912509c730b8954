use std::sync::Arc;

use crate::device::Device;
use crate::ending::shared_handle;
use crate::error::check;
use crate::mapped_range::{Late, MappedRange, Space};
use crate::stream::{raw_of, Stream};
use crate::{sys, Result, VirtualPoolConfig};

/// Address space that is reserved as a whole, and memory behind it by offset. Clones
/// share one pool; it goes after the last of them and of its ranges.
#[derive(Clone, Debug)]
#[must_use = "dropping it destroys the pool and unmaps its memory"]
pub struct VirtualPool {
    made: Arc<Made>,
}

#[derive(Debug)]
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
            // SAFETY: the settings live through the call, raw is an output of it.
            check(unsafe { sys::ferrum_vpool_create(device.raw(), config, &mut raw) })
        })?;
        Self::own(device, raw).inspect_err(|_| {
            // SAFETY: the pool was made above, and nobody else has it.
            unsafe { sys::ferrum_vpool_destroy(raw, sys::FERRUM_FORCE) };
        })
    }

    /// The object of a pool, which owns it.
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

    /// Makes a pool of a handle, which it owns from then on.
    ///
    /// # Safety
    ///
    /// The handle is that of a live virtual pool of the device, and nobody else destroys it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) for a handle that names no pool.
    /// C function: [`ferrum_vpool_get_info`](crate::sys::ferrum_vpool_get_info).
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_vpool) -> Result<Self> {
        Self::own(device, raw)
    }

    /// Where its address space begins. This and the next two call nothing: they never change.
    pub fn base_address(&self) -> u64 {
        self.made.base_address
    }

    /// Size of its address space, whole pages.
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

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    /// Puts memory behind every page that a range touches: all or none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range that ends outside, with
    /// offset, size and capacity in the message; [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize);
    /// [`ErrorKind::AlreadyMapped`](crate::ErrorKind::AlreadyMapped), with offset and size of the first
    /// page that is mapped; [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) over
    /// the limit, with what was requested and what was available;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) when the device has no more, after all
    /// that [`ferrum_pool_alloc`](crate::sys::ferrum_pool_alloc) tries too;
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) where the system allows no
    /// more mappings. Where queued work still uses a freed range, it is waited for; in a host function or a
    /// reclaim callback that is [`ErrorKind::Busy`](crate::ErrorKind::Busy).
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

    pub(crate) fn range(&self, address: u64, offset_bytes: u64, size_bytes: u64) -> MappedRange {
        MappedRange::new(Space::Pool(self.clone()), address, offset_bytes, size_bytes)
    }

    /// Unmaps by offset: whole pages, of one range or of several, or one range.
    ///
    /// # Safety
    ///
    /// No [`MappedRange`] that it touches may be alive: give them up with
    /// `into_address`. Else their drop would unmap what is somebody else's by then.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range that is neither, or that
    /// ends outside; [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a size of 0;
    /// [`ErrorKind::NotMapped`](crate::ErrorKind::NotMapped), with offset and size of the first page that
    /// is not mapped; [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a call that puts a part of it to
    /// sleep or wakes it is under way: once that has ended it can be freed, asleep or awake;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) where a part of it sleeps and a part
    /// does not, and while one of the streams captures. Then nothing has changed.
    ///
    /// C function: [`ferrum_vpool_free`](crate::sys::ferrum_vpool_free).
    pub unsafe fn free(
        &self,
        offset_bytes: u64,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> Result<()> {
        // SAFETY: plain values; the ranges are the caller's word.
        check(unsafe {
            sys::ferrum_vpool_free(self.raw(), offset_bytes, size_bytes, raw_of(stream))
        })
    }

    /// Says that a stream uses every page that a range touches too: once freed, they
    /// wait for the work that is queued on that stream at the time of their free as
    /// well. The range may be a part of a [`MappedRange`], or of several.
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
    pub fn record_stream(&self, offset_bytes: u64, size_bytes: u64, stream: &Stream) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe {
            sys::ferrum_vpool_record_stream(self.raw(), offset_bytes, size_bytes, stream.raw())
        })
    }
}
