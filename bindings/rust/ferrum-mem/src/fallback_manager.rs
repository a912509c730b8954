use std::sync::Arc;

use crate::callback::Registration;
use crate::device::Device;
use crate::error::check;
use crate::fallback_buffer::FallbackBuffer;
use crate::library::json_of;
use crate::stream::{raw_of, Stream};
use crate::tracker::TrackerView;
use crate::{
    sys, BufferLocation, BufferRequest, FallbackStats, MemoryConfig, MemoryStats, PressureLevel,
    Result,
};

/// What the pools of all backends have in common.
pub trait GpuMemoryPool: Send + Sync {
    /// Such as "cpu" or "cuda".
    fn backend_name(&self) -> Result<String>;
    /// The counters.
    fn stats(&self) -> Result<MemoryStats>;
    /// The capacity of the device; 0 means unknown.
    fn total_memory(&self) -> Result<u64>;
    /// What can still be had from the device, by anybody.
    fn free_memory(&self) -> Result<u64>;
    /// The level of the device by [`crate::PressureProfile::Early`].
    fn pressure(&self) -> Result<PressureLevel>;
    /// Empties the buckets; the memory may still be held from the device.
    fn clear_pool(&self) -> Result<()>;
    /// Gives what holds no buffer back; what the device took, in bytes.
    fn shrink(&self) -> Result<u64>;
}

/// Makes buffers on a device, and on a host device while that has no room. Clones share
/// one manager; it goes after the last of them and of its buffers.
#[derive(Clone, Debug)]
pub struct FallbackManager {
    made: Arc<Made>,
}

#[derive(Debug)]
struct Made {
    raw: sys::ferrum_fallback_manager,
    device: Device,
    _host: Option<Device>,
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and every FallbackBuffer has gone before.
        unsafe { sys::ferrum_fallback_manager_destroy(self.raw, sys::FERRUM_FORCE) };
    }
}

impl FallbackManager {
    /// Makes a manager; no host only with settings that forbid to fall back.
    pub fn new(device: &Device, host: Option<&Device>, config: &MemoryConfig) -> Result<Self> {
        let mut raw = Default::default();
        let second = host.map_or_else(Default::default, Device::raw);
        // SAFETY: the settings live through the call, raw is an output of it.
        check(unsafe {
            sys::ferrum_fallback_manager_create(device.raw(), second, &config.raw(), &mut raw)
        })?;
        Ok(Self {
            made: Arc::new(Made {
                raw,
                device: device.clone(),
                _host: host.cloned(),
            }),
        })
    }

    /// The device that buffers are made on.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    pub(crate) fn raw(&self) -> sys::ferrum_fallback_manager {
        self.made.raw
    }

    /// What is on the host, and how often buffers moved.
    pub fn fallback_stats(&self) -> Result<FallbackStats> {
        let mut raw = sys::ferrum_fallback_stats::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_fallback_manager_get_fallback_stats(self.raw(), &mut raw) })?;
        Ok((&raw).into())
    }

    fn memory(&self) -> Result<(u64, u64)> {
        let (mut total, mut free) = (0, 0);
        // SAFETY: both are outputs of the call.
        check(unsafe {
            sys::ferrum_fallback_manager_get_memory(self.raw(), &mut total, &mut free)
        })?;
        Ok((total, free))
    }

    /// Tells the closure of every change of the device's level.
    pub fn on_pressure(
        &self,
        closure: impl Fn(PressureLevel) + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::fallback_manager_pressure(self, Box::new(closure))
    }

    /// The tracker of the buffers of both sides; an error when the manager does not
    /// track.
    pub fn tracker(&self) -> Result<TrackerView> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_fallback_manager_get_tracker(self.raw(), &mut raw) })?;
        Ok(TrackerView::new(raw))
    }

    /// Makes a buffer, whose contents are not defined.
    pub fn alloc(&self, request: &BufferRequest<'_>) -> Result<FallbackBuffer> {
        request.with_raw("ferrum_fallback_manager_alloc", |raw| {
            let mut out = Default::default();
            // SAFETY: the request lives through the call, out is an output of it.
            check(unsafe { sys::ferrum_fallback_manager_alloc(self.raw(), raw, &mut out) })?;
            Ok(FallbackBuffer::own(self, out))
        })
    }

    /// A buffer of storage that [`FallbackBuffer::take`] has given, of a buffer of this
    /// manager.
    pub fn adopt(
        &self,
        location: BufferLocation,
        address: u64,
        request: &BufferRequest<'_>,
    ) -> Result<FallbackBuffer> {
        request.with_raw("ferrum_fallback_manager_adopt", |raw| {
            let mut out = Default::default();
            // SAFETY: the request lives through the call, out is an output of it.
            check(unsafe {
                sys::ferrum_fallback_manager_adopt(
                    self.raw(),
                    location.to_raw(),
                    address,
                    raw,
                    &mut out,
                )
            })?;
            Ok(FallbackBuffer::own(self, out))
        })
    }

    /// Ends storage that [`FallbackBuffer::take`] has given.
    pub fn release(
        &self,
        location: BufferLocation,
        address: u64,
        stream: Option<&Stream>,
    ) -> Result<()> {
        // SAFETY: plain numbers.
        check(unsafe {
            sys::ferrum_fallback_manager_release(
                self.raw(),
                location.to_raw(),
                address,
                raw_of(stream),
            )
        })
    }

    /// Brings buffers that fell back to the device, the oldest first, until it has no
    /// room for the next; how many came.
    pub fn return_buffers(&self) -> Result<u64> {
        let mut moved = 0;
        // SAFETY: moved is an output of the call.
        check(unsafe { sys::ferrum_fallback_manager_return_buffers(self.raw(), &mut moved) })?;
        Ok(moved)
    }
}

impl GpuMemoryPool for FallbackManager {
    fn backend_name(&self) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_fallback_manager_get_backend_name(self.raw(), to, room, length)
        })
    }

    fn stats(&self) -> Result<MemoryStats> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_fallback_manager_get_stats(self.raw(), &mut raw) })?;
        Ok((&raw).into())
    }

    fn total_memory(&self) -> Result<u64> {
        Ok(self.memory()?.0)
    }

    fn free_memory(&self) -> Result<u64> {
        Ok(self.memory()?.1)
    }

    fn pressure(&self) -> Result<PressureLevel> {
        let mut level = 0;
        // SAFETY: level is an output of the call.
        check(unsafe { sys::ferrum_fallback_manager_get_pressure(self.raw(), &mut level) })?;
        Ok(PressureLevel::from_raw(level))
    }

    fn clear_pool(&self) -> Result<()> {
        // SAFETY: a plain handle.
        check(unsafe { sys::ferrum_fallback_manager_clear_pool(self.raw()) })
    }

    fn shrink(&self) -> Result<u64> {
        let mut released = 0;
        // SAFETY: released is an output of the call.
        check(unsafe { sys::ferrum_fallback_manager_shrink(self.raw(), &mut released) })?;
        Ok(released)
    }
}
