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
    /// Creates two blocks with the same memory, one of this manager and one of a manager of another
    /// device. The counters of this manager include it. It is freed when both are dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for two managers of one
    /// device; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for devices that cannot
    /// address the same memory; otherwise those of
    /// [`ferrum_manager_alloc_with`](crate::sys::ferrum_manager_alloc_with).
    ///
    /// C function: [`ferrum_manager_create_mapping`](crate::sys::ferrum_manager_create_mapping).
    pub fn create_mapping(
        &self,
        other: &Manager,
        request: &LinkRequest<'_>,
    ) -> Result<(Memory, Memory)> {
        let (mut first, mut second) = Default::default();
        request.with_raw("ferrum_manager_create_mapping", |request| {
            // SAFETY: the request is valid during the call, the others are its outputs.
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

    /// Creates a block of external memory, which the library never frees. Dropping the block ends
    /// only its handle, after the work that is queued on it.
    ///
    /// # Safety
    ///
    /// Until the block is dropped the memory stays valid, and no other use of it disturbs work on
    /// the block.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidAddress`](crate::ErrorKind::InvalidAddress) for memory with a part that
    /// cannot be read, or, without `is_read_only`, written, as far as that can be detected, and for
    /// memory that the device cannot page-lock;
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for memory that the device has
    /// already; [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize),
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow),
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    ///
    /// C function: [`ferrum_manager_adopt`](crate::sys::ferrum_manager_adopt).
    pub unsafe fn adopt(&self, adoption: &Adoption<'_>) -> Result<Memory> {
        let mut raw = Default::default();
        adoption.with_raw("ferrum_manager_adopt", |adoption| {
            // SAFETY: the struct is valid during the call, raw is an output of it; the caller
            // guarantees the memory.
            check(unsafe { sys::ferrum_manager_adopt(self.raw(), adoption, &mut raw) })
        })?;
        Ok(Memory::own(raw, self))
    }
}

/// A piece of work for an external stream. `run` or a drop does the work.
#[derive(Debug)]
#[must_use = "dropping it does the work at once, on this thread"]
pub struct StreamWork {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the library accepts its work on any thread.
unsafe impl Send for StreamWork {}

impl StreamWork {
    /// Does the work, on this thread.
    pub fn run(self) {}
}

impl Drop for StreamWork {
    fn drop(&mut self) {
        // SAFETY: the library passed both for this one call.
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
    // A panic drops the work, and the drop does it: so the work counts as accepted.
    match run(move || closure(work).err()) {
        None => sys::FERRUM_OK,
        Some(refused) => {
            let _ = ManuallyDrop::new(refused);
            sys::FERRUM_ERROR_CANCELLED
        }
    }
}

impl Stream {
    /// A stream of a host device whose work runs in a queue of the caller. The closure must run
    /// each piece of work after earlier work and before later work, or return it to reject it. It
    /// must not call the library. Dropping the stream waits for the work that was queued through
    /// it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device without adopted
    /// streams, and for a handle that is a different queue in each thread, such as CUDA's 2: memory
    /// that one thread freed would be reused by another at once;
    /// [`ErrorKind::NullPointer`](crate::ErrorKind::NullPointer) without enqueue on a host device.
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

    /// An external stream of the vendor's runtime, by its handle there.
    ///
    /// # Safety
    ///
    /// The handle is of the device, and valid until this stream is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device without adopted
    /// streams, and for a handle that is a different queue in each thread, such as CUDA's 2: memory
    /// that one thread freed would be reused by another at once;
    /// [`ErrorKind::NullPointer`](crate::ErrorKind::NullPointer) without enqueue on a host device.
    ///
    /// C function: [`ferrum_stream_adopt`](crate::sys::ferrum_stream_adopt).
    pub unsafe fn adopt_native(device: &Device, native_handle: u64) -> Result<Self> {
        let foreign = sys::ferrum_foreign_stream {
            native_handle,
            ..Default::default()
        };
        // SAFETY: the caller guarantees it.
        unsafe { Self::adopt_raw(device, &foreign, None) }
    }

    unsafe fn adopt_raw(
        device: &Device,
        foreign: &sys::ferrum_foreign_stream,
        closure: Option<Arc<EnqueueFn>>,
    ) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call; the caller guarantees the rest.
        check(unsafe { sys::ferrum_stream_adopt(device.raw(), foreign, &mut raw) })?;
        Ok(Self::own(raw, device, closure))
    }
}
