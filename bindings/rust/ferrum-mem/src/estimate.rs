use std::ffi::CString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::check;
use crate::library::json_of;
use crate::{
    sys, Error, EstimateRequest, InferenceMemoryEstimate, KvCacheShape, ModelShape, Result,
};

fn mb(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1u32 << 20)
}

impl InferenceMemoryEstimate {
    /// The total in units of 2^30 bytes.
    pub fn total_gb(&self) -> f64 {
        mb(self.total_bytes) / 1024.0
    }

    /// The total in units of 2^20 bytes.
    pub fn total_mb(&self) -> f64 {
        mb(self.total_bytes)
    }

    /// The weights in units of 2^20 bytes.
    pub fn model_mb(&self) -> f64 {
        mb(self.model_bytes)
    }

    /// The KV cache in units of 2^20 bytes.
    pub fn kv_cache_mb(&self) -> f64 {
        mb(self.kv_cache_bytes)
    }

    /// The activations in units of 2^20 bytes.
    pub fn activation_mb(&self) -> f64 {
        mb(self.activation_bytes)
    }
}

impl fmt::Display for InferenceMemoryEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "model {:.2} MiB + KV cache {:.2} MiB + activations {:.2} MiB = {:.2} MiB ({:.2} GiB)",
            self.model_mb(),
            self.kv_cache_mb(),
            self.activation_mb(),
            self.total_mb(),
            self.total_gb()
        )
    }
}

/// Bytes of the weights of a transformer with gated MLPs, by the short formula.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) when `num_heads` is 0;
/// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow).
///
/// C function: [`ferrum_estimate_model_memory`](crate::sys::ferrum_estimate_model_memory).
pub fn estimate_model_memory(shape: &ModelShape) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: both are valid during the call.
    check(unsafe { sys::ferrum_estimate_model_memory(&shape.raw(), &mut bytes) })?;
    Ok(bytes)
}

/// Bytes of the keys and values of one sequence, by the short formula.
///
/// # Errors
///
/// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow).
///
/// C function: [`ferrum_estimate_kv_cache_memory`](crate::sys::ferrum_estimate_kv_cache_memory).
pub fn estimate_kv_cache_memory(shape: &KvCacheShape) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: both are valid during the call.
    check(unsafe { sys::ferrum_estimate_kv_cache_memory(&shape.raw(), &mut bytes) })?;
    Ok(bytes)
}

/// Weights, KV cache and activations, by the short formulas.
///
/// # Errors
///
/// Those of [`ferrum_estimate_model_memory`](crate::sys::ferrum_estimate_model_memory).
///
/// C function: [`ferrum_estimate_inference_memory`](crate::sys::ferrum_estimate_inference_memory).
pub fn estimate_inference_memory(shape: &ModelShape) -> Result<InferenceMemoryEstimate> {
    let mut found = sys::ferrum_inference_estimate::default();
    // SAFETY: both are valid during the call.
    check(unsafe { sys::ferrum_estimate_inference_memory(&shape.raw(), &mut found) })?;
    Ok((&found).into())
}

/// The memory of a served model, as JSON with the fields of docs/estimate.md. The path is a folder
/// with a config.json, safetensors files, or both, or with the GGUF files of one model; a GGUF
/// file, also one part of a split model; a safetensors file or the index of several; or a
/// configuration. Only headers are read.
///
/// # Errors
///
/// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound),
/// [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) and
/// [`ErrorKind::Io`](crate::ErrorKind::Io) for the file;
/// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for its content;
/// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for the request, also for a
/// context beyond a model's table of positions;
/// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow).
///
/// C function: [`ferrum_estimate_file_json`](crate::sys::ferrum_estimate_file_json).
pub fn estimate_file_json(path: impl AsRef<Path>, request: &EstimateRequest) -> Result<String> {
    const FUNCTION: &str = "ferrum_estimate_file_json";
    let path = path.as_ref();
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        Error::argument(FUNCTION, format!("path contains a NUL character: {path:?}"))
    })?;
    request.with_raw(FUNCTION, |request| {
        json_of(|to, room, length| {
            // SAFETY: name and request are valid during the call, the buffer has the capacity that
            // is passed.
            unsafe { sys::ferrum_estimate_file_json(name.as_ptr(), request, to, room, length) }
        })
    })
}

/// The same as [`estimate_file_json`], for the text of a config.json.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_estimate_config_json`](crate::sys::ferrum_estimate_config_json).
pub fn estimate_config_json(config: &str, request: &EstimateRequest) -> Result<String> {
    request.with_raw("ferrum_estimate_config_json", |request| {
        json_of(|to, room, length| {
            // SAFETY: as above, and the text has the length that is passed.
            unsafe {
                sys::ferrum_estimate_config_json(
                    config.as_ptr().cast(),
                    config.len(),
                    request,
                    to,
                    room,
                    length,
                )
            }
        })
    })
}
