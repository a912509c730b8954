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
    /// The opening is another's, who closes it.
    is_borrowed: bool,
    library: Library,
}

shared_handle!(Device { opened: Opened } of ferrum_device, "device", ferrum_device_close,
    unless is_borrowed);

impl Device {
    /// Opens a device by its id, such as "cpu:0".
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DeviceNotFound`](crate::ErrorKind::DeviceNotFound) for an id that is well-formed but
    /// names no device, [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for one that is
    /// not.
    ///
    /// C function: [`ferrum_device_open`](crate::sys::ferrum_device_open).
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
                is_borrowed: false,
                library: library.clone(),
            }),
        }
    }

    /// A device that another one has open. It and its clones are good as long as that is open.
    pub(crate) fn borrowed(library: &Library, raw: sys::ferrum_device) -> Self {
        Self {
            opened: Arc::new(Opened {
                raw,
                is_borrowed: true,
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
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for a device that is open on another
    /// context; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a context of another
    /// device, or one that is gone; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a backend
    /// without contexts.
    ///
    /// C function: [`ferrum_device_open_native`](crate::sys::ferrum_device_open_native).
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
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when no pool holds it.
    ///
    /// C function: [`ferrum_device_get_owner`](crate::sys::ferrum_device_get_owner).
    pub fn owner_of(&self, address: u64) -> Result<BlockOwner> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_device_get_owner(self.raw(), address, &mut raw) })?;
        Ok((&raw).into())
    }

    /// Makes a stream.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_stream_create`](crate::sys::ferrum_stream_create).
    pub fn create_stream(&self) -> Result<Stream> {
        Stream::create(self)
    }

    /// The default stream, which belongs to the device.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_stream_default`](crate::sys::ferrum_stream_default).
    pub fn default_stream(&self) -> Result<Stream> {
        Stream::default_of(self)
    }

    /// Makes a pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) when the settings contradict each
    /// other (initial above max, expansion with no increment);
    /// [`ErrorKind::InvalidAlignment`](crate::ErrorKind::InvalidAlignment);
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown strategy (the message lists
    /// them); [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) when `pre_allocate` cannot be had;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for [`Paging::On`](crate::Paging::On) on a
    /// device without virtual memory, and for
    /// [`SegmentSource::StreamOrdered`](crate::SegmentSource::StreamOrdered) on one without
    /// [`DeviceInfo::stream_ordered`](crate::DeviceInfo::stream_ordered);
    /// [`ErrorKind::InvalidPageSize`](crate::ErrorKind::InvalidPageSize) for a `physical_page_bytes` that
    /// the device does not have.
    ///
    /// C function: [`ferrum_pool_create`](crate::sys::ferrum_pool_create).
    pub fn create_pool(&self, config: &PoolConfig) -> Result<Pool> {
        Pool::create(self, config)
    }

    /// Makes a virtual pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedDevice`](crate::ErrorKind::UnsupportedDevice) when the device has no virtual
    /// memory; [`ErrorKind::InvalidPageSize`](crate::ErrorKind::InvalidPageSize);
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a capacity that is 0 or cannot be
    /// rounded up; [`ErrorKind::OutOfVirtualMemory`](crate::ErrorKind::OutOfVirtualMemory) when there is no
    /// such address space; [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) for a
    /// limit above what the device has.
    ///
    /// C function: [`ferrum_vpool_create`](crate::sys::ferrum_vpool_create).
    pub fn create_virtual_pool(&self, config: &VirtualPoolConfig) -> Result<VirtualPool> {
        VirtualPool::create(self, config)
    }

    /// Makes an elastic pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedDevice`](crate::ErrorKind::UnsupportedDevice) when the device has no virtual
    /// memory; [`ErrorKind::InvalidPageSize`](crate::ErrorKind::InvalidPageSize);
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) for a limit above what the
    /// device has; [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for one of less than a
    /// page.
    ///
    /// C function: [`ferrum_elastic_pool_create`](crate::sys::ferrum_elastic_pool_create).
    pub fn create_elastic_pool(&self, config: &ElasticPoolConfig) -> Result<ElasticPool> {
        ElasticPool::create(self, config)
    }

    /// Makes a memory manager.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_manager_create`](crate::sys::ferrum_manager_create).
    pub fn create_manager(&self, config: &ManagerConfig) -> Result<Manager> {
        Manager::create(self, config)
    }

    /// Calls the closure at every change of the pressure level, on a thread of
    /// the library.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_pressure_callback_add`](crate::sys::ferrum_device_pressure_callback_add).
    pub fn on_pressure(
        &self,
        closure: impl Fn(PressureLevel) + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::pressure(&self.opened.library, self.raw(), Box::new(closure))
    }

    /// Asks the closure to free memory before an allocation fails. It gets the
    /// bytes needed and returns the bytes that it freed.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_reclaim_callback_add`](crate::sys::ferrum_device_reclaim_callback_add).
    pub fn on_reclaim(
        &self,
        how: &ReclaimConfig,
        closure: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::reclaim(&self.opened.library, self.raw(), how, Box::new(closure))
    }
}
