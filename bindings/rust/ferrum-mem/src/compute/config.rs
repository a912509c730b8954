use std::ffi::c_char;

use crate::raw::{optional_text, pointer};
use crate::{sys, ComputeGrowth, ComputeType, Result};

/// The settings of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputeConfig {
    /// The kind of the backend.
    pub compute_type: ComputeType,
    /// The name of a registered backend, for [`ComputeType::Custom`] only.
    pub name: Option<String>,
    /// 0 to 3. At 0 each run plans anew; from 1 on plans are kept by shapes. The CPU engine plans
    /// the same at 1, 2 and 3. The level changes no result.
    pub optimization_level: u32,
    /// Number of threads that compute; `None`: as many as the process may use.
    pub threads: Option<u32>,
    /// Fill new and freed memory with patterns, and check the bytes around blocks.
    pub debug: bool,
    /// When memory is taken from the device.
    pub growth: ComputeGrowth,
    /// The most memory of the backend; `None`: no bound with [`ComputeGrowth::Dynamic`], otherwise
    /// 1 GiB, or a quarter of the device if that is less.
    pub pool_size_bytes: Option<u64>,
    /// Alignment of its blocks, a power of two; `None`: 256.
    pub alignment_bytes: Option<u64>,
    /// Keep freed memory for the next allocation.
    pub pooling: bool,
    /// Options of the backend, as JSON with the fields of docs/compute.md.
    pub options_json: Option<String>,
}

impl Default for ComputeConfig {
    fn default() -> Self {
        Self {
            compute_type: ComputeType::Cpu,
            name: None,
            optimization_level: 2,
            threads: None,
            debug: false,
            growth: ComputeGrowth::Dynamic,
            pool_size_bytes: None,
            alignment_bytes: None,
            pooling: true,
            options_json: None,
        }
    }
}

impl ComputeConfig {
    pub(super) fn with_raw<T>(
        &self,
        function: &str,
        device: sys::ferrum_device,
        call: impl FnOnce(&sys::ferrum_compute_config) -> Result<T>,
    ) -> Result<T> {
        let name = optional_text(function, "name", self.name.as_deref())?;
        let (options_json, options_bytes) = json(self.options_json.as_deref());
        call(&sys::ferrum_compute_config {
            r#type: self.compute_type.to_raw(),
            name: pointer(&name),
            device,
            optimization_level: self.optimization_level,
            threads: self.threads.unwrap_or(0),
            enable_debug: self.debug.into(),
            growth: self.growth.to_raw(),
            pool_size_bytes: self.pool_size_bytes.unwrap_or(0),
            alignment_bytes: self.alignment_bytes.unwrap_or(0),
            enable_pooling: self.pooling.into(),
            options_json,
            options_bytes,
            ..Default::default()
        })
    }
}

fn json(text: Option<&str>) -> (*const c_char, u64) {
    text.map_or((std::ptr::null(), 0), |it| {
        (it.as_ptr().cast(), it.len() as u64)
    })
}
