use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::callback::{run, share};
use crate::device::Device;
use crate::error::check;
use crate::library::c_text;
use crate::manager::{Manager, Memory, MemoryType};
use crate::stream::Stream;
use crate::{sys, Result};

/// Memory for two devices, as asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRequest {
    /// Its size in bytes, not 0.
    pub size_bytes: u64,
    /// Alignment of the first address; none: the pool's.
    pub alignment_bytes: Option<u64>,
    /// Name for the books.
    pub tag: Option<String>,
}

/// Memory of somebody else's that is to be a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adoption {
    /// What it is used for.
    pub memory_type: MemoryType,
    /// Where the manager's device has it; on a host device a pointer.
    pub address: u64,
    /// Its size in bytes, not 0.
    pub size_bytes: u64,
    /// Name for the books.
    pub tag: Option<String>,
}

impl Manager {
    /// Makes two blocks, of this manager and of one of another device, that are the
    /// same memory. It counts as this manager's and is free when both are dropped.
    pub fn create_mapping(
        &self,
        other: &Manager,
        request: &LinkRequest,
    ) -> Result<(Memory, Memory)> {
        let tag = request
            .tag
            .as_deref()
            .map(|t| c_text("ferrum_manager_create_mapping", "tag", t))
            .transpose()?;
        let settings = sys::ferrum_link_request {
            size_bytes: request.size_bytes,
            alignment_bytes: request.alignment_bytes.unwrap_or(0),
            tag: tag.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
            ..Default::default()
        };
        let (mut first, mut second) = Default::default();
        // SAFETY: the settings live through the call, the others are its outputs.
        check(unsafe {
            sys::ferrum_manager_create_mapping(
                self.raw(),
                other.raw(),
                &settings,
                &mut first,
                &mut second,
            )
        })?;
        Ok((Memory::own(first, self), Memory::own(second, other)))
    }

    /// Makes a block of memory that somebody else owns, and that is never freed
    /// here. Dropping the block ends only its handle, once no work is queued on it.
    ///
    /// # Safety
    /// The memory stays valid, and is not used in any other way that work on the
    /// block would disturb, until the block is dropped.
    pub unsafe fn adopt(&self, adoption: &Adoption) -> Result<Memory> {
        let tag = adoption
            .tag
            .as_deref()
            .map(|t| c_text("ferrum_manager_adopt", "tag", t))
            .transpose()?;
        let settings = sys::ferrum_adoption {
            memory_type: adoption.memory_type.to_raw(),
            address: adoption.address,
            size_bytes: adoption.size_bytes,
            tag: tag.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
            ..Default::default()
        };
        let mut raw = Default::default();
        // SAFETY: the settings live through the call, raw is an output of it; that
        // the memory is valid is the caller's promise.
        check(unsafe { sys::ferrum_manager_adopt(self.raw(), &settings, &mut raw) })?;
        Ok(Memory::own(raw, self))
    }
}

/// A piece of work for a stream of somebody else's. It is done by `run`, or when it
/// is dropped.
#[derive(Debug)]
pub struct Work {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the library takes its work from any thread.
unsafe impl Send for Work {}

impl Work {
    /// Does the work, on this thread.
    pub fn run(self) {}
}

impl Drop for Work {
    fn drop(&mut self) {
        // SAFETY: the library gave both for this one call.
        unsafe { (self.function)(self.data) };
    }
}

pub(crate) type EnqueueFn = Box<dyn Fn(Work) -> std::result::Result<(), Work> + Send + Sync>;

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
    let work = Work {
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
    pub fn adopt(
        device: &Device,
        closure: impl Fn(Work) -> std::result::Result<(), Work> + Send + Sync + 'static,
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
