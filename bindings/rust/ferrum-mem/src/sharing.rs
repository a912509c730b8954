use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::callback::{run, share};
use crate::device::Device;
use crate::error::check;
use crate::manager::{Manager, Memory};
use crate::stream::Stream;
use crate::{sys, Adoption, LinkRequest, Result};

impl Manager {
    /// Makes two blocks, of this manager and of one of another device, that are the
    /// same memory. It counts as this manager's and is free when both are dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for two managers of one device;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for devices that cannot address the same
    /// memory; else as [`ferrum_manager_alloc_with`](crate::sys::ferrum_manager_alloc_with).
    ///
    /// C function: [`ferrum_manager_create_mapping`](crate::sys::ferrum_manager_create_mapping).
    pub fn create_mapping(
        &self,
        other: &Manager,
        request: &LinkRequest<'_>,
    ) -> Result<(Memory, Memory)> {
        let (mut first, mut second) = Default::default();
        request.with_raw("ferrum_manager_create_mapping", |request| {
            // SAFETY: the request lives through the call, the others are its outputs.
            check(unsafe {
                sys::ferrum_manager_create_mapping(
                    self.raw(),
                    other.raw(),
                    request,
                    &mut first,
                    &mut second,
                )
            })
        })?;
        Ok((Memory::own(first, self), Memory::own(second, other)))
    }

    /// Makes a block of memory that somebody else owns, and that is never freed
    /// here. Dropping the block ends only its handle, once no work is queued on it.
    ///
    /// # Safety
    /// The memory stays valid, and is not used in any other way that work on the
    /// block would disturb, until the block is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidAddress`](crate::ErrorKind::InvalidAddress) for memory that cannot be read, and
    /// unless `is_read_only` is set written, throughout, as far as can be told, and for such memory that
    /// the device cannot page-lock; [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for
    /// memory that the device has already; [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize),
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow),
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    ///
    /// C function: [`ferrum_manager_adopt`](crate::sys::ferrum_manager_adopt).
    pub unsafe fn adopt(&self, adoption: &Adoption<'_>) -> Result<Memory> {
        let mut raw = Default::default();
        adoption.with_raw("ferrum_manager_adopt", |adoption| {
            // SAFETY: the struct lives through the call, raw is an output of it; that the
            // memory is valid is the caller's promise.
            check(unsafe { sys::ferrum_manager_adopt(self.raw(), adoption, &mut raw) })
        })?;
        Ok(Memory::own(raw, self))
    }
}

/// A piece of work for a stream of somebody else's. It is done by `run`, or when it
/// is dropped.
#[derive(Debug)]
#[must_use = "dropping it does the work at once, on this thread"]
pub struct StreamWork {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the library takes its work from any thread.
unsafe impl Send for StreamWork {}

impl StreamWork {
    /// Does the work, on this thread.
    pub fn run(self) {}
}

impl Drop for StreamWork {
    fn drop(&mut self) {
        // SAFETY: the library gave both for this one call.
        unsafe { (self.function)(self.data) };
    }
}

pub(crate) type EnqueueFn =
    Box<dyn Fn(StreamWork) -> std::result::Result<(), StreamWork> + Send + Sync>;

unsafe extern "C" fn enqueue(
    work: sys::ferrum_host_fn,
    work_data: *mut c_void,
    user_data: *mut c_void,
) -> sys::ferrum_status {
    let Some(function) = work else {
        return sys::FERRUM_ERROR_NULL_POINTER;
    };
    // SAFETY: user_data is the closure that the stream holds.
    let closure = unsafe { share::<EnqueueFn>(user_data) };
    let work = StreamWork {
        function,
        data: work_data,
    };
    // A panic drops the work, which does it: it counts as taken.
    match run(move || closure(work).err()) {
        None => sys::FERRUM_OK,
        Some(refused) => {
            let _ = ManuallyDrop::new(refused);
            sys::FERRUM_ERROR_CANCELLED
        }
    }
}

impl Stream {
    /// A stream of a host device whose work runs in a queue of the caller's. The
    /// closure has each piece of work run after what was queued before and before
    /// what is queued later, or gives it back to refuse it. It must not call the
    /// library. Dropping the stream waits for what was queued by it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device that cannot, and for a handle
    /// that is another queue in each thread, as CUDA's 2 is: what one thread freed would be another's at
    /// once; [`ErrorKind::NullPointer`](crate::ErrorKind::NullPointer) without enqueue on a host device.
    ///
    /// C function: [`ferrum_stream_adopt`](crate::sys::ferrum_stream_adopt).
    pub fn adopt(
        device: &Device,
        closure: impl Fn(StreamWork) -> std::result::Result<(), StreamWork> + Send + Sync + 'static,
    ) -> Result<Self> {
        let held: Arc<EnqueueFn> = Arc::new(Box::new(closure));
        let foreign = sys::ferrum_foreign_stream {
            enqueue: Some(enqueue),
            user_data: Arc::as_ptr(&held).cast_mut().cast(),
            ..Default::default()
        };
        // SAFETY: the stream holds the closure until it is destroyed.
        unsafe { Self::adopt_raw(device, &foreign, Some(held)) }
    }

    /// A stream that the caller has of the vendor's runtime, by its handle there.
    ///
    /// # Safety
    /// The handle is one of the device, and valid until this stream is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device that cannot, and for a handle
    /// that is another queue in each thread, as CUDA's 2 is: what one thread freed would be another's at
    /// once; [`ErrorKind::NullPointer`](crate::ErrorKind::NullPointer) without enqueue on a host device.
    ///
    /// C function: [`ferrum_stream_adopt`](crate::sys::ferrum_stream_adopt).
    pub unsafe fn adopt_native(device: &Device, native_handle: u64) -> Result<Self> {
        let foreign = sys::ferrum_foreign_stream {
            native_handle,
            ..Default::default()
        };
        // SAFETY: the caller's promise.
        unsafe { Self::adopt_raw(device, &foreign, None) }
    }

    unsafe fn adopt_raw(
        device: &Device,
        foreign: &sys::ferrum_foreign_stream,
        closure: Option<Arc<EnqueueFn>>,
    ) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call; the rest is the caller's promise.
        check(unsafe { sys::ferrum_stream_adopt(device.raw(), foreign, &mut raw) })?;
        Ok(Self::own(raw, device, closure))
    }
}
