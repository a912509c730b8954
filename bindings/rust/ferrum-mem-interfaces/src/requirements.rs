//! The comparison of backends with requirements.

use std::cmp::Ordering;

use ferrum_interfaces::backend::{BackendCapabilities, BackendRequirements};
use ferrum_types::Device;
use serde_json::Value;

/// What a backend lacks of the requirements, one sentence each. Unlike
/// [`BackendCapabilities::meets_requirements`], this also compares attention and the extras: a number
/// is met by a property that is as large or larger, any other value by an equal one. Equal limits
/// suffice.
pub fn unmet(has: &BackendCapabilities, required: &BackendRequirements) -> Vec<String> {
    let mut lacks = Vec::new();
    for device in &required.required_devices {
        if !has.supported_devices.contains(device) {
            lacks.push(format!("required_devices: it does not support {device}"));
        }
    }
    for dtype in &required.required_dtypes {
        if !has.supported_dtypes.contains(dtype) {
            lacks.push(format!("required_dtypes: it does not support {dtype}"));
        }
    }
    let mut limit = |name: &str, wanted: usize, limit: usize| {
        if wanted > limit {
            lacks.push(format!("{name}: {wanted} is above its limit of {limit}"));
        }
    };
    limit(
        "min_batch_size",
        required.min_batch_size,
        has.max_batch_size,
    );
    limit(
        "min_sequence_length",
        required.min_sequence_length,
        has.max_sequence_length,
    );
    if required.requires_flash_attention && !has.supports_flash_attention {
        lacks.push("requires_flash_attention: its attention is not of this kind".into());
    }
    if required.requires_paged_attention && !has.supports_paged_attention {
        lacks.push("requires_paged_attention: its attention takes no pages".into());
    }
    let mut extras: Vec<_> = required.extra_requirements.iter().collect();
    extras.sort_by_key(|(name, _)| *name);
    for (name, wanted) in extras {
        match has.extra_capabilities.get(name) {
            None => lacks.push(format!("extra_requirements: it has no property {name:?}")),
            Some(value) if !satisfies(value, wanted) => lacks.push(format!(
                "extra_requirements: property {name:?} is {value}, {wanted} is required"
            )),
            Some(_) => {}
        }
    }
    lacks
}

fn satisfies(has: &Value, required: &Value) -> bool {
    match (has.as_f64(), required.as_f64()) {
        (Some(has), Some(required)) => has >= required,
        _ => has == required,
    }
}

/// The better one of two backends that meet the same requirements: one with a device other than the
/// CPU, then one with more extras, then with larger limits. Equal ones are ordered by name.
pub(crate) fn merit(a: &BackendCapabilities, b: &BackendCapabilities) -> Ordering {
    let merit = |it: &BackendCapabilities| {
        (
            it.supported_devices.iter().any(|it| *it != Device::CPU),
            it.extra_capabilities.len(),
            it.max_sequence_length,
            it.max_batch_size,
            it.max_tensor_dims,
        )
    };
    merit(a).cmp(&merit(b))
}
