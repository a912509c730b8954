//! Exchange of tensors with other libraries through DLPack.

use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::{check, Error};
use crate::parent::Parent;
use crate::rejected::Rejected;
use crate::tensor::Tensor;
use crate::{sys, Device, Result};

type Deleter<M> = unsafe extern "C" fn(*mut M);

/// The type `DLTensor` of DLPack.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    dtype: u32,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// The type `DLManagedTensor` of DLPack, the older form.
#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<Deleter<Self>>,
}

/// The first members of the type `DLManagedTensorVersioned` of DLPack 1.
#[repr(C)]
struct ManagedVersioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<Deleter<Self>>,
}

/// What both forms have.
trait Form: Sized {
    fn owner(&mut self) -> (&mut *mut c_void, &mut Option<Deleter<Self>>);
}

impl Form for Managed {
    fn owner(&mut self) -> (&mut *mut c_void, &mut Option<Deleter<Self>>) {
        (&mut self.context, &mut self.deleter)
    }
}

impl Form for ManagedVersioned {
    fn owner(&mut self) -> (&mut *mut c_void, &mut Option<Deleter<Self>>) {
        (&mut self.context, &mut self.deleter)
    }
}

/// The context of a struct that was exported here: what the library has put there, and the owner of
/// the memory, which lives as long as the struct.
struct Exported<M> {
    context: *mut c_void,
    deleter: Option<Deleter<M>>,
    parent: Arc<Parent>,
}

/// Makes the struct keep the owner of its memory.
///
/// # Safety
///
/// The struct was just exported by the library.
unsafe fn keep<M: Form>(managed: NonNull<c_void>, parent: Arc<Parent>) {
    // SAFETY: the caller guarantees it.
    let (context, deleter) = unsafe { managed.cast::<M>().as_mut() }.owner();
    let exported = Exported {
        context: *context,
        deleter: *deleter,
        parent,
    };
    *context = Box::into_raw(Box::new(exported)).cast();
    *deleter = Some(release::<M>);
}

unsafe extern "C" fn release<M: Form>(managed: *mut M) {
    // SAFETY: the struct is one of keep(), and its receiver calls this once.
    let exported = unsafe {
        let (context, deleter) = (*managed).owner();
        let exported = Box::from_raw(context.cast::<Exported<M>>());
        (*context, *deleter) = (exported.context, exported.deleter);
        exported
    };
    delete(managed, exported.deleter);
    // The library may call this where the end of a pool must not wait, so another thread ends it.
    // If no thread starts, this drops it here, and a failure is logged.
    if let Some(last) = Arc::into_inner(exported.parent) {
        let _ = std::thread::Builder::new().spawn(move || drop(last));
    }
}

fn delete<M>(managed: *mut M, deleter: Option<Deleter<M>>) {
    if let Some(deleter) = deleter {
        // SAFETY: the owner of the struct calls its deleter once.
        unsafe { deleter(managed) };
    }
}

/// A tensor in the form of DLPack, with which libraries of tensors exchange memory. Dropping it calls
/// the deleter of the struct.
#[must_use = "dropping it calls the deleter of its struct"]
pub struct DlPack {
    managed: NonNull<c_void>,
    is_versioned: bool,
}

// SAFETY: DLPack lets any thread call the deleter, and nothing else is accessed.
unsafe impl Send for DlPack {}
// SAFETY: a shared reference gives only the pointer.
unsafe impl Sync for DlPack {}

impl Drop for DlPack {
    fn drop(&mut self) {
        if self.is_versioned {
            let managed = self.managed.cast::<ManagedVersioned>().as_ptr();
            // SAFETY: this object owns the struct.
            delete(managed, unsafe { (*managed).deleter });
        } else {
            let managed = self.managed.cast::<Managed>().as_ptr();
            // SAFETY: as above.
            delete(managed, unsafe { (*managed).deleter });
        }
    }
}

impl fmt::Debug for DlPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DlPack")
            .field("is_versioned", &self.is_versioned)
            .finish_non_exhaustive()
    }
}

impl DlPack {
    /// Whether the struct is a `DLManagedTensorVersioned` of DLPack 1, or a `DLManagedTensor`.
    pub fn is_versioned(&self) -> bool {
        self.is_versioned
    }

    /// Returns the struct for another library, which calls its deleter once, on any thread. The
    /// owner of the memory stays open until then. If the struct is the last to use the owner, a new
    /// thread ends it.
    pub fn into_raw(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).managed
    }

    /// Takes a struct of another library.
    ///
    /// # Safety
    ///
    /// The struct is a `DLManagedTensorVersioned` or, with `is_versioned` false, a
    /// `DLManagedTensor`. Until its deleter is called, its memory stays valid, and no reference to
    /// it exists. No other code calls the deleter.
    pub unsafe fn from_raw(managed: NonNull<c_void>, is_versioned: bool) -> Self {
        Self {
            managed,
            is_versioned,
        }
    }
}

impl Tensor {
    /// Exports the tensor to DLPack. The struct is a further view of the memory, until its deleter
    /// is called. The receiver orders its own work after the work that is queued, and must not
    /// access memory that sleeps.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a type or a device that DLPack
    /// does not have, and for a read-only tensor in the older form;
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while the memory sleeps.
    ///
    /// C function: [`ferrum_tensor_to_dlpack`](crate::sys::ferrum_tensor_to_dlpack).
    pub fn to_dlpack(&self, is_versioned: bool) -> Result<DlPack> {
        let mut raw = sys::ferrum_dlpack::default();
        let wanted = u32::from(is_versioned);
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_tensor_to_dlpack(self.raw, wanted, &mut raw) })?;
        let Some(managed) = NonNull::new(raw.managed) else {
            let message = "the export has no struct".to_owned();
            let kind = crate::ErrorKind::Internal;
            return Err(Error::found(kind, "ferrum_tensor_to_dlpack", message));
        };
        let parent = self.parent.clone();
        // SAFETY: the struct was just exported, in the form that was asked for.
        unsafe {
            if is_versioned {
                keep::<ManagedVersioned>(managed, parent);
            } else {
                keep::<Managed>(managed, parent);
            }
        }
        Ok(DlPack {
            managed,
            is_versioned,
        })
    }

    /// Makes a tensor over memory that another library has exported to DLPack. The deleter is called
    /// once, after the last tensor over the memory has ended and the work on it has run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for the content of the
    /// struct, and for memory that is not of the device;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a version, a type or a device
    /// that the library does not know; the errors of [`Tensor::wrap`]. The error returns the struct.
    ///
    /// C function: [`ferrum_tensor_from_dlpack`](crate::sys::ferrum_tensor_from_dlpack).
    pub fn from_dlpack(
        device: &Device,
        dlpack: DlPack,
    ) -> std::result::Result<Self, Rejected<Option<DlPack>>> {
        let raw = sys::ferrum_dlpack {
            is_versioned: u32::from(dlpack.is_versioned),
            managed: dlpack.managed.as_ptr(),
            ..Default::default()
        };
        let mut tensor = Default::default();
        // SAFETY: the struct is valid, and the library owns it if the call succeeds.
        let taken =
            check(unsafe { sys::ferrum_tensor_from_dlpack(device.raw(), &raw, &mut tensor) });
        if let Err(error) = taken {
            return Err(Rejected::new(error, Some(dlpack)));
        }
        let _ = dlpack.into_raw();
        Tensor::own(tensor, Parent::Device(device.clone()))
            .map_err(|error| Rejected::new(error, None))
    }
}
