use std::sync::Arc;

use crate::callback::Registration;
use crate::elastic_pool::ElasticPool;
use crate::ending::shared_handle;
use crate::error::check;
use crate::library::{c_text, json_of, Library};
use crate::manager::{Manager, ManagerConfig};
use crate::pool::Pool;
use crate::stream::Stream;
use crate::virtual_pool::VirtualPool;
use crate::{
    sys, BlockOwner, ElasticPoolConfig, PoolConfig, PressureLevel, ReclaimConfig, Result,
    VirtualPoolConfig,
};

/// An open device. Clones share one opening. The device closes after its last clone and its last
/// object are dropped.
#[derive(Clone)]
#[must_use = "dropping it closes the device"]
pub struct Device {
    opened: Arc<Opened>,
}

struct Opened {
    raw: sys::ferrum_device,
    /// Another object owns the opening and closes it.
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
    /// [`ErrorKind::DeviceNotFound`](crate::ErrorKind::DeviceNotFound) for a well-formed id without
    /// a device, [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a malformed
    /// id.
    ///
    /// C function: [`ferrum_device_open`](crate::sys::ferrum_device_open).
    pub fn open(library: &Library, id: &str) -> Result<Self> {
        let text = c_text("ferrum_device_open", "id", id)?;
        let mut raw = Default::default();
        // SAFETY: text is valid during the call, raw is an output of it.
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

    /// A device that another object has open. It and its clones are valid while that object has it
    /// open.
    pub(crate) fn borrowed(library: &Library, raw: sys::ferrum_device) -> Self {
        Self {
            opened: Arc::new(Opened {
                raw,
                is_borrowed: true,
                library: library.clone(),
            }),
        }
    }

    /// Creates a device from a handle. The device owns one opening of the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is from `ferrum_device_open` or [`Device::into_raw`], and no other code closes
    /// that opening.
    pub unsafe fn from_raw(library: &Library, raw: sys::ferrum_device) -> Self {
        Self::own(library, raw)
    }

    /// Like [`Device::open`], but with a context that the program created in the vendor's runtime,
    /// such as a `CUcontext`.
    ///
    /// # Safety
    ///
    /// The context is of the device, and exists until the device is closed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) if the device is open with
    /// another context; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a
    /// context of another device, or a destroyed one;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a backend without contexts.
    ///
    /// C function: [`ferrum_device_open_native`](crate::sys::ferrum_device_open_native).
    pub unsafe fn open_native(library: &Library, id: &str, native_context: u64) -> Result<Self> {
        let text = c_text("ferrum_device_open_native", "id", id)?;
        let mut raw = Default::default();
        // SAFETY: text is valid during the call, raw is an output of it; the caller guarantees the
        // context.
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

    /// The pool and the block of an address, also of an address inside a block. For debugging: it
    /// may visit every block of a pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the address is in no pool of the
    /// device.
    ///
    /// C function: [`ferrum_device_get_owner`](crate::sys::ferrum_device_get_owner).
    pub fn owner_of(&self, address: u64) -> Result<BlockOwner> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_device_get_owner(self.raw(), address, &mut raw) })?;
        Ok((&raw).into())
    }

    /// Where the live block at an address was allocated, as a JSON array of strings, the
    /// innermost function first; empty unless its pool records call sites
    /// ([`DebugFlags::CALL_SITES`](crate::DebugFlags::CALL_SITES)). For debugging, like
    /// [`Device::owner_of`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when no pool holds the address.
    ///
    /// C function: [`ferrum_device_get_call_site_json`](crate::sys::ferrum_device_get_call_site_json).
    pub fn call_site_json(&self, address: u64) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_device_get_call_site_json(self.raw(), address, to, room, length)
        })
    }

    /// Creates a stream.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_stream_create`](crate::sys::ferrum_stream_create).
    pub fn create_stream(&self) -> Result<Stream> {
        Stream::create(self)
    }

    /// The default stream. It belongs to the device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_stream_default`](crate::sys::ferrum_stream_default).
    pub fn default_stream(&self) -> Result<Stream> {
        Stream::default_of(self)
    }

    /// Creates a pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) if the settings contradict
    /// each other (initial above max, expansion without increment);
    /// [`ErrorKind::InvalidAlignment`](crate::ErrorKind::InvalidAlignment);
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown strategy (the message
    /// lists all strategies); [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if there is
    /// not enough memory for `pre_allocate`;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for
    /// [`Paging::On`](crate::Paging::On) on a device without virtual memory, and for
    /// [`SegmentSource::StreamOrdered`](crate::SegmentSource::StreamOrdered) on a device without
    /// [`DeviceInfo::stream_ordered`](crate::DeviceInfo::stream_ordered);
    /// [`ErrorKind::InvalidPageSize`](crate::ErrorKind::InvalidPageSize) for a
    /// `physical_page_bytes` that the device does not support.
    ///
    /// C function: [`ferrum_pool_create`](crate::sys::ferrum_pool_create).
    pub fn create_pool(&self, config: &PoolConfig) -> Result<Pool> {
        Pool::create(self, config)
    }

    /// Creates a virtual pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedDevice`](crate::ErrorKind::UnsupportedDevice) if the device has no
    /// virtual memory; [`ErrorKind::InvalidPageSize`](crate::ErrorKind::InvalidPageSize);
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a capacity that is 0 or cannot
    /// be rounded up; [`ErrorKind::OutOfVirtualMemory`](crate::ErrorKind::OutOfVirtualMemory) if
    /// the address space cannot be reserved;
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) for a limit above
    /// the memory of the device.
    ///
    /// C function: [`ferrum_vpool_create`](crate::sys::ferrum_vpool_create).
    pub fn create_virtual_pool(&self, config: &VirtualPoolConfig) -> Result<VirtualPool> {
        VirtualPool::create(self, config)
    }

    /// Creates an elastic pool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedDevice`](crate::ErrorKind::UnsupportedDevice) if the device has no
    /// virtual memory; [`ErrorKind::InvalidPageSize`](crate::ErrorKind::InvalidPageSize);
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) for a limit above
    /// the memory of the device; [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for
    /// a limit of less than a page.
    ///
    /// C function: [`ferrum_elastic_pool_create`](crate::sys::ferrum_elastic_pool_create).
    pub fn create_elastic_pool(&self, config: &ElasticPoolConfig) -> Result<ElasticPool> {
        ElasticPool::create(self, config)
    }

    /// Creates a memory manager.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_manager_create`](crate::sys::ferrum_manager_create).
    pub fn create_manager(&self, config: &ManagerConfig) -> Result<Manager> {
        Manager::create(self, config)
    }

    /// Calls the closure at every change of the pressure level, on a thread of the library.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_pressure_callback_add`](crate::sys::ferrum_device_pressure_callback_add).
    pub fn on_pressure(
        &self,
        closure: impl Fn(PressureLevel) + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::pressure(&self.opened.library, self.raw(), Box::new(closure))
    }

    /// Calls the closure before an allocation fails, on a thread of the library. The closure gets
    /// the number of needed bytes and returns the number of bytes that it freed.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
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
