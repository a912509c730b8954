use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::ending::dropped;
use crate::error::check;
use crate::library::Library;
use crate::{sys, Error, Result};

/// An open source of tensors: a file, a folder, or the files of an index.
#[derive(Debug)]
#[must_use = "dropping it closes the source and cancels its loads"]
pub struct Weights {
    raw: sys::ferrum_weights,
    library: Library,
}

impl Drop for Weights {
    fn drop(&mut self) {
        // SAFETY: we own the handle.
        let status = unsafe { sys::ferrum_weights_close(self.raw, sys::FERRUM_FORCE) };
        dropped("ferrum_weights_close", status);
    }
}

impl Weights {
    /// Opens a source and reads its headers.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound),
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) and others for the files.
    ///
    /// C function: [`ferrum_weights_open`](crate::sys::ferrum_weights_open).
    pub fn open(library: &Library, path: impl AsRef<Path>) -> Result<Self> {
        const FUNCTION: &str = "ferrum_weights_open";
        let path = path.as_ref();
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Error::argument(FUNCTION, format!("path has a NUL inside: {path:?}")))?;
        let source = sys::ferrum_weights_source {
            path: name.as_ptr(),
            ..Default::default()
        };
        let mut raw = Default::default();
        // SAFETY: the source is valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_weights_open(&source, &mut raw) })?;
        Ok(Self {
            raw,
            library: library.clone(),
        })
    }

    /// Returns the handle.
    pub fn raw(&self) -> sys::ferrum_weights {
        self.raw
    }

    /// Maps all tensors: they are the pages of the files, which are only read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a tensor that cannot be mapped.
    ///
    /// C function: [`ferrum_weights_load`](crate::sys::ferrum_weights_load).
    pub fn map(&self) -> Result<TensorSet> {
        let request = sys::ferrum_weights_load_request {
            flags: sys::FERRUM_WEIGHTS_LOAD_MAP,
            ..Default::default()
        };
        let mut raw = Default::default();
        // SAFETY: the request is valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_weights_load(self.raw, &request, &mut raw) })?;
        Ok(TensorSet {
            raw,
            _library: self.library.clone(),
        })
    }
}

/// A load, and the tensors that it has put into memory.
#[derive(Debug)]
#[must_use = "dropping it frees the tensors"]
pub struct TensorSet {
    raw: sys::ferrum_tensor_set,
    _library: Library,
}

impl Drop for TensorSet {
    fn drop(&mut self) {
        // SAFETY: we own the handle.
        let status = unsafe { sys::ferrum_tensor_set_free(self.raw, sys::FERRUM_FORCE) };
        dropped("ferrum_tensor_set_free", status);
    }
}

impl TensorSet {
    /// Returns the handle.
    pub fn raw(&self) -> sys::ferrum_tensor_set {
        self.raw
    }
}
