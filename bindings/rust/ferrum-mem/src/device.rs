use std::sync::Arc;

use crate::callback::Registration;
use crate::elastic_pool::ElasticPool;
use crate::ending::shared_handle;
use crate::error::check;
use crate::library::{c_text, Library};
use crate::manager::{Manager, ManagerConfig};
use crate::pool::Pool;
use crate::stream::Stream;
use crate::virtual_pool::VirtualPool;
use crate::{
    sys, BlockOwner, ElasticPoolConfig, PoolConfig, PressureLevel, ReclaimConfig, Result,
    VirtualPoolConfig,
};

/// An open device. Clones share one opening; it closes after the last of them
/// and of the objects on it.
#[derive(Clone, Debug)]
#[must_use = "dropping it closes the device"]
pub struct Device {
    opened: Arc<Opened>,
}

#[derive(Debug)]
struct Opened {
    raw: sys::ferrum_device,
    library: Library,
}

shared_handle!(Device { opened: Opened } of ferrum_device, "device", ferrum_device_close);

impl Device {
    /// Opens a device by its id, such as "cpu:0".
    pub fn open(library: &Library, id: &str) -> Result<Self> {
        let text = c_text("ferrum_device_open", "id", id)?;
        let mut raw = Default::default();
        // SAFETY: text lives through the call, raw is an output of it.
        check(unsafe { sys::ferrum_device_open(text.as_ptr(), &mut raw) })?;
        Ok(Self::own(library, raw))
    }

    fn own(library: &Library, raw: sys::ferrum_device) -> Self {
        Self {
            opened: Arc::new(Opened {
                raw,
                library: library.clone(),
            }),
        }
    }

    /// Makes a device of a handle, one opening of which it owns from then on.
    ///
    /// # Safety
    ///
    /// The handle is one of `ferrum_device_open` or [`Device::into_raw`], and nobody else closes that opening.
    pub unsafe fn from_raw(library: &Library, raw: sys::ferrum_device) -> Self {
        Self::own(library, raw)
    }

    /// As [`Device::open`], on a context that the program made in the runtime of the
    /// device's vendor, such as a `CUcontext`.
    ///
    /// # Safety
    /// The context is one of the device, and stays until the device is closed.
    pub unsafe fn open_native(library: &Library, id: &str, native_context: u64) -> Result<Self> {
        let text = c_text("ferrum_device_open_native", "id", id)?;
        let mut raw = Default::default();
        // SAFETY: text lives through the call, raw is an output of it; the context is the
        // caller's promise.
        check(unsafe { sys::ferrum_device_open_native(text.as_ptr(), native_context, &mut raw) })?;
        Ok(Self::own(library, raw))
    }

    pub(crate) fn library(&self) -> &Library {
        &self.opened.library
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_device {
        self.opened.raw
    }

    /// Which pool and block an address belongs to, also one inside a block; not
    /// found when no pool holds it. For debuggers: it may look at every block of a
    /// pool.
    pub fn owner_of(&self, address: u64) -> Result<BlockOwner> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_device_get_owner(self.raw(), address, &mut raw) })?;
        Ok((&raw).into())
    }

    /// Makes a stream.
    pub fn create_stream(&self) -> Result<Stream> {
        Stream::create(self)
    }

    /// The default stream, which belongs to the device.
    pub fn default_stream(&self) -> Result<Stream> {
        Stream::default_of(self)
    }

    /// Makes a pool.
    pub fn create_pool(&self, config: &PoolConfig) -> Result<Pool> {
        Pool::create(self, config)
    }

    /// Makes a virtual pool.
    pub fn create_virtual_pool(&self, config: &VirtualPoolConfig) -> Result<VirtualPool> {
        VirtualPool::create(self, config)
    }

    /// Makes an elastic pool.
    pub fn create_elastic_pool(&self, config: &ElasticPoolConfig) -> Result<ElasticPool> {
        ElasticPool::create(self, config)
    }

    /// Makes a memory manager.
    pub fn create_manager(&self, config: &ManagerConfig) -> Result<Manager> {
        Manager::create(self, config)
    }

    /// Calls the closure at every change of the pressure level, on a thread of
    /// the library.
    pub fn on_pressure(
        &self,
        closure: impl Fn(PressureLevel) + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::pressure(&self.opened.library, self.raw(), Box::new(closure))
    }

    /// Asks the closure to free memory before an allocation fails. It gets the
    /// bytes needed and returns the bytes that it freed.
    pub fn on_reclaim(
        &self,
        how: &ReclaimConfig,
        closure: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::reclaim(&self.opened.library, self.raw(), how, Box::new(closure))
    }
}
