use std::ffi::c_char;

use crate::callback::run;
use crate::error::Error;
use crate::{sys, ErrorKind};

/// The error of a function of the program that the library calls, such as that of a compute backend
/// or a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFailure {
    /// The kind of the error that the call returns.
    pub kind: ErrorKind,
    /// A part of its message; at most 255 bytes are used.
    pub message: String,
}

impl ProgramFailure {
    /// An error with a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }
}

impl From<Error> for ProgramFailure {
    fn from(error: Error) -> Self {
        Self::new(error.kind, error.message)
    }
}

/// Runs a function of the program. An error or a panic becomes a status and a message.
///
/// # Safety
///
/// `message` is NULL or has room for that many bytes.
pub(crate) unsafe fn program_status(
    message: *mut c_char,
    room: usize,
    function: impl FnOnce() -> Result<(), ProgramFailure>,
) -> sys::ferrum_status {
    // A panic returns the default, None.
    let failure = match run(|| Some(function())) {
        Some(Ok(())) => return sys::FERRUM_OK,
        Some(Err(failure)) => failure,
        None => ProgramFailure::new(ErrorKind::Internal, "it panicked"),
    };
    if !message.is_null() {
        let size = (0..=failure.message.len().min(room - 1))
            .rev()
            .find(|at| failure.message.is_char_boundary(*at))
            .unwrap_or(0);
        // SAFETY: the message has room for the bytes and a NUL.
        unsafe {
            std::ptr::copy_nonoverlapping(failure.message.as_ptr(), message.cast(), size);
            message.add(size).write(0);
        }
    }
    match failure.kind.status() {
        sys::FERRUM_OK => sys::FERRUM_ERROR_INTERNAL,
        status => status,
    }
}
