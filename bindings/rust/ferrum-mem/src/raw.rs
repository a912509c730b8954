//! How values cross to C.

use std::ffi::{c_char, CString};
use std::time::Duration;

use crate::library::c_text;
use crate::Result;

/// Nanoseconds for C; what is beyond them is the most.
pub(crate) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The same of a time that may be none, which C has a number for; a time is never that
/// number.
pub(crate) fn optional_ns(time: Option<Duration>, none: u64) -> u64 {
    match time.map(ns) {
        None => none,
        Some(found) if found == none && none == 0 => 1,
        Some(found) => found,
    }
}

/// A text for C that may be none; one with a NUL inside is an error that names the
/// argument.
pub(crate) fn optional_text(
    function: &str,
    argument: &str,
    text: Option<&str>,
) -> Result<Option<CString>> {
    text.map(|text| c_text(function, argument, text))
        .transpose()
}

/// Where a text is, or NULL. It is good as long as the text lives.
pub(crate) fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// A flag of a set, if it is to be on.
pub(crate) fn flag(on: bool, flag: u32) -> u32 {
    if on {
        flag
    } else {
        0
    }
}
