use std::sync::Arc;

use crate::device::Device;
use crate::error::check;
use crate::mapped_range::{Late, MappedRange, Space};
use crate::stream::{raw_of, Stream};
use crate::{sys, Result, VirtualPoolConfig};

/// Address space that is reserved as a whole, and memory behind it by offset. Clones
/// share one pool; it goes after the last of them and of its ranges.
#[derive(Clone, Debug)]
pub struct VirtualPool {
    made: Arc<Made>,
}

#[derive(Debug)]
struct Made {
    raw: sys::ferrum_vpool,
    device: Device,
    late: Late,
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and every MappedRange has gone before.
        unsafe { sys::ferrum_vpool_destroy(self.raw, sys::FERRUM_FORCE) };
    }
}

impl VirtualPool {
    pub(crate) fn create(device: &Device, config: &VirtualPoolConfig) -> Result<Self> {
        let mut raw = Default::default();
        config.with_raw("ferrum_vpool_create", |config| {
            // SAFETY: the settings live through the call, raw is an output of it.
            check(unsafe { sys::ferrum_vpool_create(device.raw(), config, &mut raw) })
        })?;
        Ok(Self {
            made: Arc::new(Made {
                raw,
                device: device.clone(),
                late: Late::default(),
            }),
        })
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
    pub fn record_stream(&self, offset_bytes: u64, size_bytes: u64, stream: &Stream) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe {
            sys::ferrum_vpool_record_stream(self.raw(), offset_bytes, size_bytes, stream.raw())
        })
    }
}
