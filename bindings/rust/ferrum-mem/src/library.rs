use std::ffi::{c_char, CStr, CString};
use std::sync::Arc;

use crate::ending::{self, dropped, Owned};
use crate::error::{check, Error};
use crate::rejected::Rejected;
use crate::{sys, Config, Result};

/// Keeps the library started. Clones share one start, and each device holds a clone. The library
/// stops with the last one.
#[derive(Clone, Debug)]
#[must_use = "dropping it stops the library"]
pub struct Library {
    started: Arc<Started>,
}

#[derive(Debug)]
struct Started {
    /// Whether a drop ends the start.
    is_owned: bool,
}

impl Owned for Started {
    const END: &'static str = "ferrum_shutdown";

    fn end(&self, flags: u32) -> sys::ferrum_status {
        // SAFETY: ends the one start of this value.
        unsafe { sys::ferrum_shutdown(flags) }
    }

    fn release(&mut self) {
        self.is_owned = false;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.is_owned {
            dropped(Self::END, self.end(sys::FERRUM_FORCE));
        }
    }
}

impl Library {
    /// Starts the library with all defaults, or joins it if it runs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if it runs with other settings;
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for an invalid setting, also
    /// one of the environment (the message names it);
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted),
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory),
    /// [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) or
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the system cannot provide what
    /// the library preallocates (the message names it). After an error the library is not started.
    ///
    /// C function: [`ferrum_init`](crate::sys::ferrum_init).
    pub fn start() -> Result<Self> {
        // SAFETY: a NULL config is allowed.
        check(unsafe { sys::ferrum_init(std::ptr::null()) })?;
        Ok(Self {
            started: Arc::new(Started { is_owned: true }),
        })
    }

    /// Starts the library, or joins it if it runs with these settings.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if it runs with other settings;
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for an invalid setting, also
    /// one of the environment (the message names it);
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted),
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory),
    /// [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) or
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the system cannot provide what
    /// the library preallocates (the message names it). After an error the library is not started.
    ///
    /// C function: [`ferrum_init`](crate::sys::ferrum_init).
    pub fn start_with(config: &Config) -> Result<Self> {
        // SAFETY: the config is valid during the call.
        check(unsafe { sys::ferrum_init(&config.raw()) })?;
        Ok(Self {
            started: Arc::new(Started { is_owned: true }),
        })
    }

    /// Ends the start without `FERRUM_FORCE`, which a drop uses.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a clone or an object of the library
    /// exists. The error returns the object. C function:
    /// [`ferrum_shutdown`](crate::sys::ferrum_shutdown).
    pub fn close(self) -> std::result::Result<(), Rejected<Self>> {
        ending::close(self.started, |started| Self { started })
    }

    /// The number of values that share this start.
    pub fn users(&self) -> usize {
        Arc::strong_count(&self.started)
    }
}

/// Version of the loaded library, for example "0.1.0".
pub fn version() -> &'static str {
    // SAFETY: the text is constant and always valid.
    unsafe { CStr::from_ptr(sys::ferrum_version_string()) }
        .to_str()
        .unwrap_or("")
}

/// Version of the loaded library's binary interface. A library with at least
/// [`sys::FERRUM_ABI_VERSION`] supports this crate.
pub fn abi_version() -> u32 {
    // SAFETY: takes no arguments and never fails.
    unsafe { sys::ferrum_abi_version() }
}

type TextCall = unsafe extern "C" fn(*mut c_char, usize, *mut usize) -> sys::ferrum_status;

fn json(call: TextCall) -> Result<String> {
    // SAFETY: the buffer has the capacity that is passed.
    json_of(|to, room, length| unsafe { call(to, room, length) })
}

/// The text of a call that writes it into a buffer.
pub(crate) fn json_of(
    call: impl Fn(*mut c_char, usize, &mut usize) -> sys::ferrum_status,
) -> Result<String> {
    loop {
        let mut length = 0;
        // With capacity 0 the call only returns the length.
        check(call(std::ptr::null_mut(), 0, &mut length))?;
        let mut text = vec![0u8; length + 1];
        let status = call(text.as_mut_ptr().cast(), text.len(), &mut length);
        if status == sys::FERRUM_ERROR_BUFFER_TOO_SMALL {
            continue;
        }
        check(status)?;
        text.truncate(length);
        return Ok(String::from_utf8_lossy(&text).into_owned());
    }
}

/// All backends with their devices, or with the reason why one is unavailable, as JSON.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_backends_json`](crate::sys::ferrum_backends_json).
pub fn backends_json() -> Result<String> {
    json(sys::ferrum_backends_json)
}

/// All counters as JSON.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_snapshot_json`](crate::sys::ferrum_snapshot_json).
pub fn snapshot_json() -> Result<String> {
    json(sys::ferrum_snapshot_json)
}

/// The objects and blocks that exist now, as JSON. After a stop: those that existed then.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_leak_report_json`](crate::sys::ferrum_leak_report_json).
pub fn leak_report_json() -> Result<String> {
    json(sys::ferrum_leak_report_json)
}

/// The result of a call that fills an array. It is repeated until the array is large enough.
pub(crate) fn listed<T: Clone + Default>(
    call: impl Fn(*mut T, usize, &mut usize) -> sys::ferrum_status,
) -> Result<Vec<T>> {
    let mut room = 16;
    loop {
        let mut found = vec![T::default(); room];
        let mut count = 0;
        let status = call(found.as_mut_ptr(), room, &mut count);
        if status == sys::FERRUM_ERROR_BUFFER_TOO_SMALL {
            room = count;
            continue;
        }
        check(status)?;
        found.truncate(count);
        return Ok(found);
    }
}

/// Text for C. A NUL character in it is an error that names the argument.
pub(crate) fn c_text(function: &str, argument: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::argument(
            function,
            format!("{argument} contains a NUL character: {text:?}"),
        )
    })
}
