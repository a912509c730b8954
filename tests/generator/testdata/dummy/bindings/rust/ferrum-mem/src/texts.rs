//! Lists of texts for C.

use std::ffi::{c_char, CString};

use crate::library::c_text;
use crate::Result;

/// The texts, and where each of them is as long as they live; one with a NUL inside is an
/// error that names its place.
pub(crate) fn c_texts(
    function: &str,
    argument: &str,
    texts: &[&str],
) -> Result<(Vec<CString>, Vec<*const c_char>)> {
    let held = texts
        .iter()
        .enumerate()
        .map(|(place, text)| c_text(function, &format!("{argument}[{place}]"), text))
        .collect::<Result<Vec<_>>>()?;
    let pointers = held.iter().map(|text| text.as_ptr()).collect();
    Ok((held, pointers))
}
