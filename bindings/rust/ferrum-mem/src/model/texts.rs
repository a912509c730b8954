//! What the library says about models that are not built.

use std::path::Path;

use crate::library::json_of;
use crate::weights::path_text;
use crate::{sys, Compute, Library, Result};

impl Library {
    /// The definition of the model in a folder with config.json, or in a GGUF file, as JSON.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) and
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a file;
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for its content;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a kind of model that the
    /// library cannot build, with its name.
    ///
    /// C function: [`ferrum_model_export_json`](crate::sys::ferrum_model_export_json).
    pub fn export_model_json(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = path_text("ferrum_model_export_json", path.as_ref())?;
        // SAFETY: the path is valid during the call, the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_model_export_json(path.as_ptr(), to, room, length)
        })
    }

    /// The issues of the model in a folder or a file, as JSON with the fields of docs/models.md. It
    /// is not built.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) and
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a file that cannot be read. What is wrong with
    /// the model is an issue, and the call succeeds.
    ///
    /// C function: [`ferrum_model_validate_json`](crate::sys::ferrum_model_validate_json).
    pub fn validate_model_json(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = path_text("ferrum_model_validate_json", path.as_ref())?;
        // SAFETY: the path is valid during the call, the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_model_validate_json(path.as_ptr(), to, room, length)
        })
    }

    /// The issues of a definition, as JSON with the fields of docs/models.md.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for a text that is no
    /// definition.
    ///
    /// C function: [`ferrum_definition_validate_json`](crate::sys::ferrum_definition_validate_json).
    pub fn validate_definition_json(&self, definition_json: &str) -> Result<String> {
        let (text, size) = (definition_json.as_ptr().cast(), definition_json.len());
        // SAFETY: the text has the length and the buffer the capacity that are passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_definition_validate_json(text, size, to, room, length)
        })
    }

    /// What the library can build, as JSON with the fields of docs/models.md.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_builder_info_json`](crate::sys::ferrum_builder_info_json).
    pub fn builder_info_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe { sys::ferrum_builder_info_json(to, room, length) })
    }

    /// How long the build of a definition takes on this machine, as JSON with the fields of
    /// docs/models.md. Earlier builds of the process make the estimate better.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for a text that is no
    /// definition.
    ///
    /// C function: [`ferrum_build_estimate_json`](crate::sys::ferrum_build_estimate_json).
    pub fn estimate_build_json(&self, definition_json: &str) -> Result<String> {
        let (text, size) = (definition_json.as_ptr().cast(), definition_json.len());
        // SAFETY: the text has the length and the buffer the capacity that are passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_build_estimate_json(text, size, to, room, length)
        })
    }
}

impl Compute {
    /// The memory of the activations of a definition on this backend for given lengths of its
    /// dimensions, as JSON with the fields of docs/models.md, without building it. The level of
    /// optimization is 0 to 3.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for the texts;
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for a definition with issues
    /// that stop a build; the errors of [`Executor::plan_json`](crate::Executor::plan_json).
    ///
    /// C function: [`ferrum_compute_plan_json`](crate::sys::ferrum_compute_plan_json).
    pub fn plan_json(
        &self,
        definition_json: &str,
        optimization_level: u32,
        dimensions_json: &str,
    ) -> Result<String> {
        let (text, size) = (definition_json.as_ptr().cast(), definition_json.len());
        let (lengths, bytes) = (dimensions_json.as_ptr().cast(), dimensions_json.len());
        // SAFETY: the texts have the lengths and the buffer the capacity that are passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_compute_plan_json(
                self.raw(),
                text,
                size,
                optimization_level,
                lengths,
                bytes,
                to,
                room,
                length,
            )
        })
    }
}
