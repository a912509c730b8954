use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ending::shared_handle;
use crate::error::check;
use crate::library::{c_text, json_of, Library};
use crate::weights::convert::{self, ConvertRequest, FileSum};
use crate::weights::metadata::{FoundTensor, WeightsCapabilities, WeightsMetadata};
use crate::{sys, DType, Error, Result, WeightsFormat, WeightsProgress};

/// A source to open: a file, a folder, the index of several files, or bytes in memory.
#[derive(Clone, Debug)]
pub struct WeightsSource {
    place: Place,
    format: WeightsFormat,
    decoder: u32,
    raw: Option<(DType, Vec<u64>)>,
}

#[derive(Clone, Debug)]
enum Place {
    File(PathBuf),
    Memory(String, Arc<[u8]>),
}

impl WeightsSource {
    fn new(place: Place) -> Self {
        Self {
            place,
            format: WeightsFormat::Any,
            decoder: 0,
            raw: None,
        }
    }

    /// A file, the index of several files, or a folder. The library detects the format from the
    /// content.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::new(Place::File(path.into()))
    }

    /// The bytes of a file, with a name for messages. The object and its sets keep the bytes.
    pub fn memory(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::new(Place::Memory(name.into(), bytes.into()))
    }

    /// Accepts only this format.
    pub fn format(mut self, format: WeightsFormat) -> Self {
        self.format = format;
        self
    }

    /// Accepts only the format of a decoder, by the number of [`Library::add_decoder`].
    pub fn decoder(mut self, number: u32) -> Self {
        (self.format, self.decoder) = (WeightsFormat::Custom, number);
        self
    }

    /// One tensor without a header, of this type and shape.
    pub fn raw(mut self, dtype: DType, shape: impl Into<Vec<u64>>) -> Self {
        (self.format, self.raw) = (WeightsFormat::Raw, Some((dtype, shape.into())));
        self
    }

    fn bytes(&self) -> Option<Arc<[u8]>> {
        match &self.place {
            Place::File(_) => None,
            Place::Memory(_, bytes) => Some(bytes.clone()),
        }
    }

    /// Calls a function with the struct for C, which is valid during the call.
    fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_weights_source) -> Result<T>,
    ) -> Result<T> {
        let mut raw = sys::ferrum_weights_source {
            format: self.format.to_raw(),
            decoder: self.decoder,
            ..Default::default()
        };
        let path = match &self.place {
            Place::File(path) => path_text(function, path)?,
            Place::Memory(name, bytes) => {
                raw.kind = sys::FERRUM_WEIGHTS_SOURCE_MEMORY;
                raw.data = bytes.as_ptr().cast();
                raw.data_bytes = bytes.len() as u64;
                c_text(function, "name", name)?
            }
        };
        raw.path = path.as_ptr();
        if let Some((dtype, shape)) = &self.raw {
            if shape.len() > raw.raw_shape.len() {
                let message = format!(
                    "shape has {} dimensions: want at most {}",
                    shape.len(),
                    raw.raw_shape.len()
                );
                return Err(Error::argument(function, message));
            }
            raw.raw_dtype = dtype.to_raw();
            raw.raw_rank = shape.len() as u32;
            raw.raw_shape[..shape.len()].copy_from_slice(shape);
        }
        call(&raw)
    }
}

/// A path for C. A NUL in it is an error.
pub(crate) fn path_text(function: &str, path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::argument(function, format!("path contains a NUL character: {path:?}")))
}

struct Opened {
    raw: sys::ferrum_weights,
    bytes: Option<Arc<[u8]>>,
    library: Library,
}

/// An open source of tensors. Clones share it. The files stay open, so a later load reads the same
/// files, even if another file has replaced one under its name.
///
/// ```no_run
/// use ferrum_mem::{Device, Library, LoadMemory, LoadRequest, Result, Weights};
///
/// fn main() -> Result<()> {
///     let library = Library::start()?;
///     let device = Device::open(&library, "cpu:0")?;
///     let pool = device.create_pool(&Default::default())?;
///     let weights = Weights::open(&library, "model.safetensors")?;
///     let set = weights.load(&LoadRequest::to(LoadMemory::pool(&pool)))?;
///     set.wait(None)?;
///     for tensor in set.iter()? {
///         println!("{} {:?} at {:#x?}", tensor.name(), tensor.shape(), tensor.address());
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
#[must_use = "dropping the last clone closes the source and cancels its loads"]
pub struct Weights {
    opened: Arc<Opened>,
}

shared_handle!(Weights { opened: Opened } of ferrum_weights, "source", ferrum_weights_close);

impl Weights {
    /// Opens a file, the index of several files, or a folder, and reads the headers.
    ///
    /// # Errors
    ///
    /// As [`Weights::open_source`].
    ///
    /// C function: [`ferrum_weights_open`](crate::sys::ferrum_weights_open).
    pub fn open(library: &Library, path: impl AsRef<Path>) -> Result<Self> {
        Self::open_source(library, &WeightsSource::file(path.as_ref()))
    }

    /// Opens a source and reads its headers.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound),
    /// [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) and
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a file;
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for its content;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a part of a format that is not
    /// read; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a file of
    /// another format.
    ///
    /// C function: [`ferrum_weights_open`](crate::sys::ferrum_weights_open).
    pub fn open_source(library: &Library, source: &WeightsSource) -> Result<Self> {
        let mut raw = Default::default();
        source.with_raw("ferrum_weights_open", |source| {
            // SAFETY: the source is valid during the call and its bytes longer, raw is an output.
            check(unsafe { sys::ferrum_weights_open(source, &mut raw) })
        })?;
        Ok(Self::of(library, raw, source.bytes()))
    }

    fn of(library: &Library, raw: sys::ferrum_weights, bytes: Option<Arc<[u8]>>) -> Self {
        Self {
            opened: Arc::new(Opened {
                raw,
                bytes,
                library: library.clone(),
            }),
        }
    }

    /// Opens a source and closes it again. Success means that the source can be loaded.
    ///
    /// # Errors
    ///
    /// As [`Weights::open_source`].
    ///
    /// C function: [`ferrum_weights_check`](crate::sys::ferrum_weights_check).
    pub fn check(_library: &Library, source: &WeightsSource) -> Result<()> {
        source.with_raw("ferrum_weights_check", |source| {
            // SAFETY: the source is valid during the call.
            check(unsafe { sys::ferrum_weights_check(source) })
        })
    }

    /// Creates an object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of an open source, and no other code closes it. The bytes of a source in
    /// memory stay valid until the last set of it has ended.
    pub unsafe fn from_raw(library: &Library, raw: sys::ferrum_weights) -> Self {
        Self::of(library, raw, None)
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_weights {
        self.opened.raw
    }

    /// The library of the source.
    pub fn library(&self) -> &Library {
        &self.opened.library
    }

    pub(super) fn bytes(&self) -> Option<Arc<[u8]>> {
        self.opened.bytes.clone()
    }

    /// The content of the source.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_weights_metadata_json`](crate::sys::ferrum_weights_metadata_json).
    pub fn metadata(&self) -> Result<WeightsMetadata> {
        WeightsMetadata::of(&self.metadata_json()?)
    }

    /// A tensor of the source by its name; `None` if it has none of that name.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_weights_find`](crate::sys::ferrum_weights_find).
    pub fn find(&self, name: &str) -> Result<Option<FoundTensor>> {
        let text = c_text("ferrum_weights_find", "name", name)?;
        let mut info = sys::ferrum_tensor_info::default();
        // SAFETY: the text is valid during the call, info is an output of it, with its size set.
        let status = unsafe { sys::ferrum_weights_find(self.raw(), text.as_ptr(), &mut info) };
        if status == sys::FERRUM_ERROR_NOT_FOUND {
            return Ok(None);
        }
        check(status)?;
        Ok(Some(FoundTensor::of(&info)))
    }

    /// Returns the formats and types that the library can load.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_weights_capabilities_json`](crate::sys::ferrum_weights_capabilities_json).
    pub fn capabilities(_library: &Library) -> Result<WeightsCapabilities> {
        // SAFETY: the buffer has the capacity that is passed.
        let text = json_of(|to, room, length| unsafe {
            sys::ferrum_weights_capabilities_json(to, room, length)
        })?;
        WeightsCapabilities::of(&text)
    }

    /// Reads all files and returns their SHA-256 sums. `sums` has lines as `sha256sum` prints them;
    /// then each sum is compared with them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted) for a file with another sum;
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a file that the list does not have;
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for a line of another form;
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) if the closure breaks.
    ///
    /// C function: [`ferrum_weights_verify`](crate::sys::ferrum_weights_verify).
    pub fn verify(
        &self,
        sums: Option<&str>,
        on_progress: impl FnMut(&WeightsProgress) -> ControlFlow<()> + Send,
    ) -> Result<Vec<FileSum>> {
        convert::verify(self.raw(), sums, Box::new(on_progress))
    }

    /// Writes tensors of the source to a file. The file gets its name when it is complete. After an
    /// error no part of it is left.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists);
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a format that cannot be written, and
    /// for a type that the format does not have;
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) for a disk without
    /// room; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) if the closure breaks; the errors
    /// of a load for the order.
    ///
    /// C function: [`ferrum_weights_convert`](crate::sys::ferrum_weights_convert).
    pub fn convert(
        &self,
        path: impl AsRef<Path>,
        request: &ConvertRequest,
        on_progress: impl FnMut(&WeightsProgress) -> ControlFlow<()> + Send,
    ) -> Result<()> {
        convert::convert(self.raw(), path.as_ref(), request, Box::new(on_progress))
    }
}

/// A text of the library, up to its NUL.
///
/// # Safety
///
/// The text is valid, or NULL.
pub(super) unsafe fn lossy(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}
