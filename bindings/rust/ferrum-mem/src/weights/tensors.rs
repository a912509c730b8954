use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::ending::dropped;
use crate::error::{check, stated_text};
use crate::kept::Kept;
use crate::library::{c_text, Library};
use crate::parent::Parent;
use crate::rejected::{ended, Rejected};
use crate::weights::metadata::shape_of;
use crate::weights::progress::OnProgress;
use crate::weights::source::Weights;
use crate::{sys, DType, Error, Result};

/// The objects that a set keeps alive while its load runs and its tensors exist.
#[derive(Default)]
struct Held {
    _parents: Vec<Parent>,
    _bytes: Option<Arc<[u8]>>,
    _on: Option<Arc<OnProgress<'static>>>,
}

static KEPT: Kept<Held> = Kept::new();

/// A load with its loaded tensors. Dropping the set cancels a running load, and frees the memory
/// that the load has allocated. If the progress closure of the set drops it, another thread does
/// this after the closure has returned. The work of the program on the tensors must be complete
/// before the drop, or its streams must be recorded for the memory.
#[must_use = "dropping it cancels the load and frees the tensors"]
pub struct TensorSet {
    raw: sys::ferrum_tensor_set,
    held: Held,
    library: Library,
}

impl Drop for TensorSet {
    fn drop(&mut self) {
        if self.raw.id == 0 {
            return;
        }
        let held = ManuallyDrop::new(std::mem::take(&mut self.held));
        // SAFETY: this object owns the handle. After the call the library uses neither the closure
        // nor the bytes.
        let status = unsafe { sys::ferrum_tensor_set_free(self.raw, sys::FERRUM_FORCE) };
        if status != sys::FERRUM_ERROR_INVALID_STATE {
            return freed(held, status);
        }
        // Inside the set's own closure the call would wait for the closure, so another thread frees
        // the set.
        let (raw, library) = (self.raw, self.library.clone());
        let later = move || {
            // SAFETY: as above.
            let status = unsafe { sys::ferrum_tensor_set_free(raw, sys::FERRUM_FORCE) };
            freed(held, status);
            drop(library);
        };
        if std::thread::Builder::new().spawn(later).is_err() {
            dropped("ferrum_tensor_set_free", status);
        }
    }
}

/// Drops what a set has kept alive, unless the library may still use it.
fn freed(held: ManuallyDrop<Held>, status: sys::ferrum_status) {
    dropped("ferrum_tensor_set_free", status);
    if crate::callback::is_removed(status) {
        drop(ManuallyDrop::into_inner(held));
    }
}

impl fmt::Debug for TensorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorSet")
            .field("handle", &self.raw.id)
            .finish()
    }
}

impl TensorSet {
    pub(super) fn of(
        weights: &Weights,
        raw: sys::ferrum_tensor_set,
        parents: Vec<Parent>,
        on: Option<Arc<OnProgress<'static>>>,
    ) -> Self {
        Self {
            raw,
            held: Held {
                _parents: parents,
                _bytes: weights.bytes(),
                _on: on,
            },
            library: weights.library().clone(),
        }
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_tensor_set {
        self.raw
    }

    /// The library of the set.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Frees the tensors, and returns an error if the device fails to free the memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while the load runs. The error returns the set.
    ///
    /// C function: [`ferrum_tensor_set_free`](crate::sys::ferrum_tensor_set_free).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
        let closed = check(unsafe { sys::ferrum_tensor_set_free(self.raw, 0) });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// Returns the handle and does not free the tensors. Their pools stay open, and the closure is
    /// kept, until an object of [`TensorSet::from_raw`] ends.
    pub fn into_raw(mut self) -> sys::ferrum_tensor_set {
        let raw = std::mem::take(&mut self.raw);
        KEPT.put(raw.id, std::mem::take(&mut self.held));
        raw
    }

    /// Creates an object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live set, and no other code frees it.
    pub unsafe fn from_raw(library: &Library, raw: sys::ferrum_tensor_set) -> Self {
        Self {
            raw,
            held: KEPT.take(raw.id).unwrap_or_default(),
            library: library.clone(),
        }
    }

    /// A tensor by its name; `None` if the set has none of that name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) while the load runs; its error
    /// after a failure.
    ///
    /// C function: [`ferrum_tensor_set_find`](crate::sys::ferrum_tensor_set_find).
    pub fn get(&self, name: &str) -> Result<Option<LoadedTensor<'_>>> {
        let text = c_text("ferrum_tensor_set_find", "name", name)?;
        let mut info = sys::ferrum_tensor_info::default();
        // SAFETY: the text is valid during the call, info is an output of it, with its size set.
        let status = unsafe { sys::ferrum_tensor_set_find(self.raw, text.as_ptr(), &mut info) };
        if status == sys::FERRUM_ERROR_NOT_FOUND {
            return Ok(None);
        }
        check(status)?;
        Ok(Some(LoadedTensor::of(self, name.to_owned(), info)))
    }

    /// A tensor by its index in the order of the load.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a place without a
    /// tensor; the errors of [`TensorSet::get`].
    ///
    /// C function: [`ferrum_tensor_set_get_tensor`](crate::sys::ferrum_tensor_set_get_tensor).
    pub fn tensor(&self, place: u64) -> Result<LoadedTensor<'_>> {
        let mut info = sys::ferrum_tensor_info::default();
        // SAFETY: info is an output of the call, with its size set.
        check(unsafe { sys::ferrum_tensor_set_get_tensor(self.raw, place, &mut info) })?;
        Ok(LoadedTensor::of(self, self.tensor_name(place)?, info))
    }

    /// All tensors in the order of the load.
    ///
    /// # Errors
    ///
    /// The errors of [`TensorSet::get`].
    ///
    /// C function: [`ferrum_tensor_set_get_tensor`](crate::sys::ferrum_tensor_set_get_tensor).
    pub fn iter(&self) -> Result<std::vec::IntoIter<LoadedTensor<'_>>> {
        let tensors: Result<Vec<_>> = (0..self.count()?).map(|at| self.tensor(at)).collect();
        Ok(tensors?.into_iter())
    }
}

/// A loaded tensor in its set. [`Tensor::from_set`](crate::Tensor::from_set) makes a [`Tensor`](crate::Tensor)
/// of it.
#[derive(Clone, Debug)]
pub struct LoadedTensor<'set> {
    _set: &'set TensorSet,
    name: String,
    info: sys::ferrum_tensor_info,
    device: Option<String>,
}

impl<'set> LoadedTensor<'set> {
    fn of(set: &'set TensorSet, name: String, info: sys::ferrum_tensor_info) -> Self {
        Self {
            _set: set,
            name,
            device: stated_text(&info.device),
            info,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Type of its elements.
    pub fn dtype(&self) -> DType {
        DType::from_raw(self.info.dtype)
    }

    /// Its shape, the slowest dimension first.
    pub fn shape(&self) -> &[u64] {
        shape_of(&self.info)
    }

    /// Address of its elements, which are in the order of the shape without gaps; `None`: it has no
    /// elements.
    pub fn address(&self) -> Option<u64> {
        (self.info.address != 0).then_some(self.info.address)
    }

    /// Size of its elements.
    pub fn size_bytes(&self) -> u64 {
        self.info.size_bytes
    }

    /// Its device, such as "cpu:0".
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Whether it has the memory of an earlier tensor of its set.
    pub fn is_tied(&self) -> bool {
        self.info.flags & sys::FERRUM_TENSOR_TIED != 0
    }

    /// The elements of a tensor in memory of the host.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a tensor of another
    /// type or device, and for an address that is not a multiple of the size of an element. It calls
    /// no C function.
    ///
    /// # Safety
    ///
    /// As for [`LoadedTensor::bytes`].
    pub unsafe fn as_slice<T: Element>(&self) -> Result<&'set [T]> {
        let wrong = |message| Err(Error::argument("LoadedTensor::as_slice", message));
        if self.dtype() != T::DTYPE {
            return wrong(format!(
                "tensor {:?} has the type {}, not {}",
                self.name,
                self.dtype(),
                T::DTYPE
            ));
        }
        // SAFETY: the caller guarantees it.
        let bytes = unsafe { self.bytes() }?;
        if bytes.is_empty() {
            return Ok(&[]);
        }
        if bytes.as_ptr() as usize % std::mem::align_of::<T>() != 0 {
            let size = std::mem::align_of::<T>();
            return wrong(format!(
                "tensor {:?} is at {:p}, which is not a multiple of {size}",
                self.name,
                bytes.as_ptr()
            ));
        }
        let count = bytes.len() / std::mem::size_of::<T>();
        // SAFETY: the bytes live as long as the set, are aligned, and every value of T is valid.
        Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), count) })
    }

    /// The bytes of a tensor in memory of the host.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a tensor of another
    /// device. It calls no C function.
    ///
    /// # Safety
    ///
    /// While the slice lives nothing writes the memory, its pool is not asleep and not closed by
    /// force, and the file of a mapped tensor does not become shorter.
    pub unsafe fn bytes(&self) -> Result<&'set [u8]> {
        let Some(address) = self.address() else {
            return Ok(&[]);
        };
        let device = self.device().unwrap_or_default();
        if !device.starts_with("cpu:") {
            let message = format!(
                "tensor {:?} is in memory of {device}: the host cannot read it",
                self.name
            );
            return Err(Error::argument("LoadedTensor::bytes", message));
        }
        // SAFETY: the set keeps the memory, and the caller guarantees the rest.
        Ok(unsafe { std::slice::from_raw_parts(address as *const u8, self.size_bytes() as usize) })
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type of Rust for the elements of tensors.
pub trait Element: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The type of such elements.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty = $dtype:ident),*) => {
        $(
            impl sealed::Sealed for $type {}

            impl Element for $type {
                const DTYPE: DType = DType::$dtype;
            }
        )*
    };
}

elements!(
    f32 = F32,
    f64 = F64,
    i8 = I8,
    u8 = U8,
    i16 = I16,
    u16 = U16,
    i32 = I32,
    u32 = U32,
    i64 = I64,
    u64 = U64
);
