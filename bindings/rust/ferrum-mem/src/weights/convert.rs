use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use crate::error::check;
use crate::weights::json;
use crate::weights::order::Order;
use crate::weights::progress::{of_call, OnProgress};
use crate::weights::source::path_text;
use crate::{sys, Result, WeightsFormat, WeightsProgress};

/// The settings of a conversion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConvertRequest {
    /// The format; [`WeightsFormat::Any`]: the ending of the path determines the format.
    pub format: WeightsFormat,
    /// The tensors and their transformations.
    pub order: Order,
    /// The metadata of the file.
    pub texts: BTreeMap<String, String>,
    /// Replace an existing file of that name.
    pub replace: bool,
}

/// The SHA-256 sum of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileSum {
    /// The path of the file.
    pub file: String,
    /// The sum, as 64 hexadecimal digits.
    pub sha256: String,
}

type Closure<'a> = Box<dyn FnMut(&WeightsProgress) -> ControlFlow<()> + Send + 'a>;

fn data_of(on: &OnProgress<'_>) -> *mut c_void {
    std::ptr::from_ref(on).cast_mut().cast()
}

pub(super) fn verify(
    weights: sys::ferrum_weights,
    sums: Option<&str>,
    on_progress: Closure<'_>,
) -> Result<Vec<FileSum>> {
    const FUNCTION: &str = "ferrum_weights_verify";
    let on: OnProgress<'_> = Mutex::new(on_progress);
    let (text, bytes) = sums.map_or((std::ptr::null(), 0), |it| (it.as_ptr(), it.len()));
    let text = crate::library::json_of(|to, room, length| {
        // SAFETY: the texts and the closure are valid during the call, and the buffer has the
        // capacity that is passed.
        unsafe {
            let (text, data) = (text.cast(), data_of(&on));
            sys::ferrum_weights_verify(weights, text, bytes, Some(of_call), data, to, room, length)
        }
    })?;
    json::read(FUNCTION, &text, |of| {
        let files = of.objects("files")?.into_iter();
        files
            .map(|file| {
                Ok(FileSum {
                    file: file.text("file")?,
                    sha256: file.text("sha256")?,
                })
            })
            .collect()
    })
}

pub(super) fn convert(
    weights: sys::ferrum_weights,
    path: &Path,
    request: &ConvertRequest,
    on_progress: Closure<'_>,
) -> Result<()> {
    let path = path_text("ferrum_weights_convert", path)?;
    let on: OnProgress<'_> = Mutex::new(on_progress);
    let order = request.order.json();
    let texts = (!request.texts.is_empty()).then(|| serde_json::json!(request.texts).to_string());
    let (specs_json, specs_bytes) = pointer(&order);
    let (texts_json, texts_bytes) = pointer(&texts);
    let raw = sys::ferrum_weights_convert_request {
        format: request.format.to_raw(),
        flags: crate::raw::flag(request.replace, sys::FERRUM_WEIGHTS_CONVERT_REPLACE),
        specs_json,
        specs_bytes,
        texts_json,
        texts_bytes,
        progress: Some(of_call),
        user_data: data_of(&on),
        ..Default::default()
    };
    // SAFETY: the texts and the closure are valid during the call.
    check(unsafe { sys::ferrum_weights_convert(weights, path.as_ptr(), &raw) })
}

/// A text with its length for C, or NULL. It is valid as long as the text.
pub(super) fn pointer(text: &Option<String>) -> (*const std::ffi::c_char, u64) {
    text.as_ref().map_or((std::ptr::null(), 0), |it| {
        (it.as_ptr().cast(), it.len() as u64)
    })
}
