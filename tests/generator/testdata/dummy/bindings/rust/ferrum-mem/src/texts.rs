//! Lists of texts for C.

use std::ffi::{c_char, CString};

use crate::library::c_text;
use crate::Result;

/// Returns the texts and a pointer to each. The pointers are valid as long as the texts. A
/// text with a NUL inside is an error that names its index.
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
