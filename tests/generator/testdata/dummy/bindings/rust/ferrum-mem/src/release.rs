//! What the library calls when it lets go of something.

use std::ffi::c_void;

use crate::callback::run;
use crate::error::check;
use crate::{sys, Result};

type Release = Box<dyn FnOnce() + Send>;

unsafe extern "C" fn let_go(data: *mut c_void) {
    // SAFETY: data is the box of releasing, and the library calls this once.
    let release = unsafe { Box::from_raw(data.cast::<Release>()) };
    run(release);
}

/// Makes a call that takes a release callback. The closure is the library's from a call
/// that succeeds; otherwise it is dropped and not called.
pub(crate) fn releasing(
    release: impl FnOnce() + Send + 'static,
    call: impl FnOnce(sys::ferrum_release_fn, *mut c_void) -> sys::ferrum_status,
) -> Result<()> {
    let held: Box<Release> = Box::new(Box::new(release));
    let data = Box::into_raw(held);
    let done = check(call(Some(let_go), data.cast()));
    if done.is_err() {
        // SAFETY: the library has not taken it.
        drop(unsafe { Box::from_raw(data) });
    }
    done
}
