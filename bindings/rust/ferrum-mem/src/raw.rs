//! Conversion of values for C.

use std::ffi::{c_char, CString};
use std::time::Duration;

use crate::library::c_text;
use crate::Result;

/// Nanoseconds for C. A longer time becomes the maximum.
pub(crate) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds of an optional time. C has a number for `None`, and a time never becomes that
/// number.
pub(crate) fn optional_ns(time: Option<Duration>, none: u64) -> u64 {
    match time.map(ns) {
        None => none,
        Some(found) if found == none && none == 0 => 1,
        Some(found) => found,
    }
}

/// Optional text for C. A NUL character in it is an error that names the argument.
pub(crate) fn optional_text(
    function: &str,
    argument: &str,
    text: Option<&str>,
) -> Result<Option<CString>> {
    text.map(|text| c_text(function, argument, text))
        .transpose()
}

/// A pointer to the text, or NULL. It is valid as long as the text.
pub(crate) fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// The flag if `on`, otherwise 0.
pub(crate) fn flag(on: bool, flag: u32) -> u32 {
    if on {
        flag
    } else {
        0
    }
}
