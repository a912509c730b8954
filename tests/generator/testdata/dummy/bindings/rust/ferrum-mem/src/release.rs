//! Closures that the library calls when it releases an object of the caller.

use std::ffi::c_void;

use crate::callback::run;
use crate::error::check;
use crate::{sys, Result};

type Release = Box<dyn FnOnce() + Send>;

unsafe extern "C" fn let_go(data: *mut c_void) {
    // SAFETY: data is the box that releasing made, and the library calls this once.
    let release = unsafe { Box::from_raw(data.cast::<Release>()) };
    run(release);
}

/// Makes a call that takes a release callback. If the call succeeds, the library owns the
/// closure and calls it once. If the call fails, the closure is dropped and not called.
pub(crate) fn releasing(
    release: impl FnOnce() + Send + 'static,
    call: impl FnOnce(sys::ferrum_release_fn, *mut c_void) -> sys::ferrum_status,
) -> Result<()> {
    let held: Box<Release> = Box::new(Box::new(release));
    let data = Box::into_raw(held);
    let done = check(call(Some(let_go), data.cast()));
    if done.is_err() {
        // SAFETY: the call failed, so the library does not own data.
        drop(unsafe { Box::from_raw(data) });
    }
    done
}
