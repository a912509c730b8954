//! Closures that receive the progress of a load or of another call.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::callback::{run, share};
use crate::{sys, WeightsProgress};

/// A progress closure. It breaks to cancel.
pub(super) type OnProgress<'a> =
    Mutex<Box<dyn FnMut(&WeightsProgress) -> ControlFlow<()> + Send + 'a>>;

/// Calls the closure. A panic in it cancels.
///
/// # Safety
///
/// The progress is a struct of the library, valid during the call.
unsafe fn call(on: &OnProgress<'_>, progress: *const sys::ferrum_weights_progress) -> i32 {
    // SAFETY: the caller guarantees it.
    let progress = WeightsProgress::from(unsafe { &*progress });
    let goes_on = run(|| {
        let mut closure = on.lock().unwrap_or_else(PoisonError::into_inner);
        (*closure)(&progress).is_continue()
    });
    i32::from(!goes_on)
}

/// Calls the closure of a load. The closure is valid as long as its set.
pub(super) unsafe extern "C" fn of_load(
    progress: *const sys::ferrum_weights_progress,
    data: *mut c_void,
) -> i32 {
    // SAFETY: data is the closure of the load.
    let on: Arc<OnProgress<'static>> = unsafe { share(data) };
    // SAFETY: as the library calls it.
    unsafe { call(&on, progress) }
}

/// Calls the closure of a call that is running.
pub(super) unsafe extern "C" fn of_call(
    progress: *const sys::ferrum_weights_progress,
    data: *mut c_void,
) -> i32 {
    // SAFETY: data is a closure that is valid during the call.
    unsafe { call(&*data.cast::<OnProgress<'_>>(), progress) }
}
