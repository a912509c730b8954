//! Models as files of ONNX. docs/onnx.md describes the files.

use std::path::Path;

use crate::error::check;
use crate::weights::path_text;
use crate::{sys, Executor, Library, ModelSource, Result};

/// How a file of ONNX is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnnxFile {
    /// The elements of tensors are in a second file, whose name is that of the model with the ending
    /// ".data". Models above 2 GiB always have it.
    pub is_external: bool,
    /// Files that exist are replaced.
    pub replaces: bool,
}

impl OnnxFile {
    fn flags(self) -> u32 {
        let mut flags = 0;
        if self.is_external {
            flags |= sys::FERRUM_ONNX_EXTERNAL;
        }
        if self.replaces {
            flags |= sys::FERRUM_ONNX_REPLACE;
        }
        flags
    }
}

impl Library {
    /// Writes a model as a file of ONNX: that of a path, or a definition with its weights. After an
    /// error no new file exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for a file that exists;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for what ONNX does not have, with
    /// its name; [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) for a disk
    /// without enough free space; the errors of
    /// [`export_model_json`](Library::export_model_json).
    ///
    /// C functions: [`ferrum_model_export_onnx`](crate::sys::ferrum_model_export_onnx),
    /// [`ferrum_definition_export_onnx`](crate::sys::ferrum_definition_export_onnx).
    pub fn export_onnx(
        &self,
        source: ModelSource<'_>,
        file: impl AsRef<Path>,
        how: OnnxFile,
    ) -> Result<()> {
        let file = path_text("ferrum_model_export_onnx", file.as_ref())?;
        match source {
            ModelSource::Path(path) => {
                let path = path_text("ferrum_model_export_onnx", path)?;
                // SAFETY: both paths are valid during the call.
                check(unsafe {
                    sys::ferrum_model_export_onnx(path.as_ptr(), file.as_ptr(), how.flags())
                })
            }
            ModelSource::Definition { json, weights } => {
                let handle = weights.map_or(sys::ferrum_weights { id: 0 }, |w| w.raw());
                // SAFETY: the text has the length that is passed, and the path is valid during the
                // call.
                check(unsafe {
                    sys::ferrum_definition_export_onnx(
                        json.as_ptr().cast(),
                        json.len(),
                        handle,
                        file.as_ptr(),
                        how.flags(),
                    )
                })
            }
        }
    }
}

impl Executor {
    /// Writes the model as a file of ONNX, from the files or the weights of which it was built: its
    /// definition before the passes, and the elements as they are stored there. After an error no
    /// new file exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) if the weights of the build
    /// were closed; the errors of [`Library::export_onnx`].
    ///
    /// C function: [`ferrum_executor_export_onnx`](crate::sys::ferrum_executor_export_onnx).
    pub fn export_onnx(&self, file: impl AsRef<Path>, how: OnnxFile) -> Result<()> {
        let file = path_text("ferrum_executor_export_onnx", file.as_ref())?;
        // SAFETY: the path is valid during the call.
        check(unsafe { sys::ferrum_executor_export_onnx(self.raw(), file.as_ptr(), how.flags()) })
    }
}
