use std::sync::Arc;

use crate::callback::Registration;
use crate::device::Device;
use crate::ending::shared_handle;
use crate::error::check;
use crate::fallback_buffer::FallbackBuffer;
use crate::tracker::TrackerView;
use crate::{sys, BufferLocation, BufferRequest, MemoryConfig, MemoryStats, PressureLevel, Result};

/// The common interface of the pools of all backends.
pub trait GpuMemoryPool: Send + Sync {
    /// The name of the backend, such as "cpu" or "cuda".
    ///
    /// # Errors
    ///
    /// Those of the pool. C function:
    /// [`ferrum_fallback_manager_get_backend_name`](crate::sys::ferrum_fallback_manager_get_backend_name).
    fn backend_name(&self) -> Result<String>;

    /// The counters.
    ///
    /// # Errors
    ///
    /// Those of the pool. C function: [`ferrum_fallback_manager_get_stats`](crate::sys::ferrum_fallback_manager_get_stats).
    fn stats(&self) -> Result<MemoryStats>;

    /// The capacity of the device; `None` if unknown.
    ///
    /// # Errors
    ///
    /// Those of the device. C function:
    /// [`ferrum_fallback_manager_get_memory`](crate::sys::ferrum_fallback_manager_get_memory).
    fn total_memory(&self) -> Result<Option<u64>>;

    /// Bytes that the device can still provide, to any user.
    ///
    /// # Errors
    ///
    /// Those of the device. C function:
    /// [`ferrum_fallback_manager_get_memory`](crate::sys::ferrum_fallback_manager_get_memory).
    fn free_memory(&self) -> Result<u64>;

    /// The level of the device with [`crate::PressureProfile::Early`].
    ///
    /// # Errors
    ///
    /// Those of the device. C function:
    /// [`ferrum_fallback_manager_get_pressure`](crate::sys::ferrum_fallback_manager_get_pressure).
    fn pressure(&self) -> Result<PressureLevel>;

    /// Empties the buckets. The pool may still hold the memory.
    ///
    /// # Errors
    ///
    /// Those of the pool. C function:
    /// [`ferrum_fallback_manager_clear_pool`](crate::sys::ferrum_fallback_manager_clear_pool).
    fn clear_pool(&self) -> Result<()>;

    /// Releases the memory without buffers, and returns the bytes that the device got back.
    ///
    /// # Errors
    ///
    /// Those of the device. C function:
    /// [`ferrum_fallback_manager_shrink`](crate::sys::ferrum_fallback_manager_shrink).
    fn shrink(&self) -> Result<u64>;
}

/// Creates buffers on a device, or on a host device while the device has no memory. Clones share
/// one manager. It is destroyed after its last clone and its buffers are dropped.
#[derive(Clone)]
#[must_use = "dropping it destroys the manager"]
pub struct FallbackManager {
    made: Arc<Made>,
}

struct Made {
    raw: sys::ferrum_fallback_manager,
    device: Device,
    _host: Option<Device>,
}

shared_handle!(FallbackManager { made: Made } of ferrum_fallback_manager, "manager", ferrum_fallback_manager_destroy);

impl FallbackManager {
    /// Creates a manager. `host` may be `None` only if the settings forbid fallback.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig), also for a missing host;
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a host that is the
    /// device itself or that the process cannot address;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) for the preallocated buffers.
    ///
    /// C function: [`ferrum_fallback_manager_create`](crate::sys::ferrum_fallback_manager_create).
    pub fn new(device: &Device, host: Option<&Device>, config: &MemoryConfig) -> Result<Self> {
        let mut raw = Default::default();
        let second = host.map_or_else(Default::default, Device::raw);
        // SAFETY: the settings are valid during the call, raw is an output of it.
        check(unsafe {
            sys::ferrum_fallback_manager_create(device.raw(), second, &config.raw(), &mut raw)
        })?;
        Ok(Self::own(device, host, raw))
    }

    fn own(device: &Device, host: Option<&Device>, raw: sys::ferrum_fallback_manager) -> Self {
        Self {
            made: Arc::new(Made {
                raw,
                device: device.clone(),
                _host: host.cloned(),
            }),
        }
    }

    /// Creates a manager object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live manager of these devices, and no other code destroys it.
    pub unsafe fn from_raw(
        device: &Device,
        host: Option<&Device>,
        raw: sys::ferrum_fallback_manager,
    ) -> Self {
        Self::own(device, host, raw)
    }

    /// The device of the buffers.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_fallback_manager {
        self.made.raw
    }

    /// Calls the closure at every change of the device's level.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_pressure_callback_add`](crate::sys::ferrum_fallback_manager_pressure_callback_add).
    pub fn on_pressure(
        &self,
        closure: impl Fn(PressureLevel) + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::fallback_manager_pressure(self, Box::new(closure))
    }

    /// The tracker of the buffers of both sides. Fails if the manager does not track.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_get_tracker`](crate::sys::ferrum_fallback_manager_get_tracker).
    pub fn tracker(&self) -> Result<TrackerView> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_fallback_manager_get_tracker(self.raw(), &mut raw) })?;
        Ok(TrackerView::new(raw))
    }

    /// Creates a buffer with undefined contents.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for 0 elements;
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow);
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if no permitted side has enough
    /// memory; [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for
    /// [`BufferPlace::Cpu`](crate::BufferPlace::Cpu) with a manager without fallback.
    ///
    /// C function: [`ferrum_fallback_manager_alloc`](crate::sys::ferrum_fallback_manager_alloc).
    pub fn alloc(&self, request: &BufferRequest<'_>) -> Result<FallbackBuffer> {
        request.with_raw("ferrum_fallback_manager_alloc", |raw| {
            let mut out = Default::default();
            // SAFETY: the request is valid during the call, out is an output of it.
            check(unsafe { sys::ferrum_fallback_manager_alloc(self.raw(), raw, &mut out) })?;
            Ok(FallbackBuffer::own(self, out))
        })
    }

    /// Creates a buffer over storage from [`FallbackBuffer::take`] of a buffer of this manager.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for an invalid location;
    /// [`ErrorKind::InvalidAddress`](crate::ErrorKind::InvalidAddress) for an address without such
    /// storage; [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) if the storage is smaller
    /// than the elements.
    ///
    /// C function: [`ferrum_fallback_manager_adopt`](crate::sys::ferrum_fallback_manager_adopt).
    pub fn adopt(
        &self,
        location: BufferLocation,
        address: u64,
        request: &BufferRequest<'_>,
    ) -> Result<FallbackBuffer> {
        request.with_raw("ferrum_fallback_manager_adopt", |raw| {
            let mut out = Default::default();
            // SAFETY: the request is valid during the call, out is an output of it.
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
}

impl GpuMemoryPool for FallbackManager {
    fn backend_name(&self) -> Result<String> {
        FallbackManager::backend_name(self)
    }

    fn stats(&self) -> Result<MemoryStats> {
        FallbackManager::stats(self)
    }

    fn total_memory(&self) -> Result<Option<u64>> {
        Ok(Some(self.memory()?.0).filter(|total| *total != 0))
    }

    fn free_memory(&self) -> Result<u64> {
        Ok(self.memory()?.1)
    }

    fn pressure(&self) -> Result<PressureLevel> {
        FallbackManager::pressure(self)
    }

    fn clear_pool(&self) -> Result<()> {
        FallbackManager::clear_pool(self)
    }

    fn shrink(&self) -> Result<u64> {
        FallbackManager::shrink(self)
    }
}
