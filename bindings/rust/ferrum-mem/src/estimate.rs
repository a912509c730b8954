use std::ffi::CString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::check;
use crate::library::{c_text, json_of};
use crate::{sys, Error, Result};

/// The numbers of a model, for the short formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelShape {
    /// Width of the model.
    pub hidden_size: u64,
    /// Width of the MLPs.
    pub intermediate_size: u64,
    /// Layers.
    pub num_layers: u64,
    /// Tokens of the vocabulary.
    pub vocab_size: u64,
    /// Heads of attention, not 0.
    pub num_heads: u64,
    /// Heads of keys and values.
    pub num_kv_heads: u64,
    /// Tokens of the sequence, for [`estimate_inference_memory`] only.
    pub max_seq_len: u64,
    /// Size of one element.
    pub dtype_bytes: u64,
}

/// The numbers of a KV cache, for the short formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvCacheShape {
    /// Layers.
    pub num_layers: u64,
    /// Heads of keys and values.
    pub num_kv_heads: u64,
    /// Elements of a head.
    pub head_dim: u64,
    /// Tokens of the sequence.
    pub max_seq_len: u64,
    /// Size of one element.
    pub dtype_bytes: u64,
}

/// What [`estimate_inference_memory`] found, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InferenceMemoryEstimate {
    /// The weights.
    pub model_bytes: u64,
    /// Keys and values of the sequence.
    pub kv_cache_bytes: u64,
    /// The activations of one token.
    pub activation_bytes: u64,
    /// The sum of the three.
    pub total_bytes: u64,
}

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
            "model {:.2} MB + KV cache {:.2} MB + activations {:.2} MB = {:.2} MB ({:.2} GB)",
            self.model_mb(),
            self.kv_cache_mb(),
            self.activation_mb(),
            self.total_mb(),
            self.total_gb()
        )
    }
}

impl ModelShape {
    fn raw(&self) -> sys::ferrum_model_shape {
        sys::ferrum_model_shape {
            hidden_size: self.hidden_size,
            intermediate_size: self.intermediate_size,
            num_layers: self.num_layers,
            vocab_size: self.vocab_size,
            num_heads: self.num_heads,
            num_kv_heads: self.num_kv_heads,
            max_seq_len: self.max_seq_len,
            dtype_bytes: self.dtype_bytes,
            ..Default::default()
        }
    }
}

/// Bytes of the weights of a transformer with gated MLPs, by the short formula.
pub fn estimate_model_memory(shape: &ModelShape) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: both live through the call.
    check(unsafe { sys::ferrum_estimate_model_memory(&shape.raw(), &mut bytes) })?;
    Ok(bytes)
}

/// Bytes of the keys and values of one sequence, by the short formula.
pub fn estimate_kv_cache_memory(shape: &KvCacheShape) -> Result<u64> {
    let raw = sys::ferrum_kv_cache_shape {
        num_layers: shape.num_layers,
        num_kv_heads: shape.num_kv_heads,
        head_dim: shape.head_dim,
        max_seq_len: shape.max_seq_len,
        dtype_bytes: shape.dtype_bytes,
        ..Default::default()
    };
    let mut bytes = 0;
    // SAFETY: both live through the call.
    check(unsafe { sys::ferrum_estimate_kv_cache_memory(&raw, &mut bytes) })?;
    Ok(bytes)
}

/// Weights, KV cache and activations, by the short formulas.
pub fn estimate_inference_memory(shape: &ModelShape) -> Result<InferenceMemoryEstimate> {
    let mut found = sys::ferrum_inference_estimate::default();
    // SAFETY: both live through the call.
    check(unsafe { sys::ferrum_estimate_inference_memory(&shape.raw(), &mut found) })?;
    Ok(InferenceMemoryEstimate {
        model_bytes: found.model_bytes,
        kv_cache_bytes: found.kv_cache_bytes,
        activation_bytes: found.activation_bytes,
        total_bytes: found.total_bytes,
    })
}

/// How a model is to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serving<'a> {
    /// Tokens of one sequence, prompt and answer; 0: what the model was made for.
    pub context: u64,
    /// Sequences at a time.
    pub batch: u64,
    /// Devices that the model is spread over; the estimate is of the one that holds
    /// most.
    pub tensor_parallel: u64,
    /// Tokens of prompts that are computed at once; 0: whole prompts.
    pub prefill_tokens: u64,
    /// Type of the KV cache: f32, f16, bf16, f8, int8, int4; none: that of the
    /// activations.
    pub kv_dtype: Option<&'a str>,
    /// Type that weights are converted to; none: as they are stored.
    pub weight_dtype: Option<&'a str>,
    /// Keep the scores of each token with all of its sequence.
    pub eager_attention: bool,
    /// Make logits of every token, not of the last of each sequence.
    pub all_logits: bool,
    /// The allocator's share, in thousandths of the rest.
    pub overhead_permille: u64,
    /// Free memory that it is to fit into; 0: the answer is left out.
    pub free_bytes: u64,
}

impl Default for Serving<'_> {
    fn default() -> Self {
        let raw = sys::ferrum_estimate_request::default();
        Self {
            context: raw.context,
            batch: raw.batch,
            tensor_parallel: raw.tensor_parallel,
            prefill_tokens: raw.prefill_tokens,
            kv_dtype: None,
            weight_dtype: None,
            eager_attention: false,
            all_logits: false,
            overhead_permille: raw.overhead_permille,
            free_bytes: raw.free_bytes,
        }
    }
}

/// Calls with a serving as the library takes it.
fn served(
    function: &'static str,
    serving: &Serving<'_>,
    call: impl FnOnce(&sys::ferrum_estimate_request) -> Result<String>,
) -> Result<String> {
    let text = |argument, name: Option<&str>| {
        name.map(|name| c_text(function, argument, name))
            .transpose()
    };
    let pointer =
        |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    let kv = text("kv_dtype", serving.kv_dtype)?;
    let weights = text("weight_dtype", serving.weight_dtype)?;
    let mut flags = 0;
    if serving.eager_attention {
        flags |= sys::FERRUM_ESTIMATE_EAGER_ATTENTION;
    }
    if serving.all_logits {
        flags |= sys::FERRUM_ESTIMATE_ALL_LOGITS;
    }
    call(&sys::ferrum_estimate_request {
        flags,
        context: serving.context,
        batch: serving.batch,
        tensor_parallel: serving.tensor_parallel,
        prefill_tokens: serving.prefill_tokens,
        overhead_permille: serving.overhead_permille,
        free_bytes: serving.free_bytes,
        kv_dtype: pointer(&kv),
        weight_dtype: pointer(&weights),
        ..Default::default()
    })
}

/// What serving a model takes, as JSON with the fields of docs/estimate.md. The path
/// is a folder with a config.json, safetensors files, or both; a safetensors file or
/// the index of several; or a configuration. Only headers are read.
pub fn estimate_file_json(path: impl AsRef<Path>, serving: &Serving<'_>) -> Result<String> {
    const FUNCTION: &str = "ferrum_estimate_file_json";
    let path = path.as_ref();
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::argument(FUNCTION, format!("path has a NUL inside: {path:?}")))?;
    served(FUNCTION, serving, |request| {
        json_of(|to, room, length| {
            // SAFETY: name and request live through the call, the buffer has the
            // capacity that is told.
            unsafe { sys::ferrum_estimate_file_json(name.as_ptr(), request, to, room, length) }
        })
    })
}

/// As [`estimate_file_json`], of the text of a config.json.
pub fn estimate_config_json(config: &str, serving: &Serving<'_>) -> Result<String> {
    served("ferrum_estimate_config_json", serving, |request| {
        json_of(|to, room, length| {
            // SAFETY: as above, and the text has the length that is told.
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
