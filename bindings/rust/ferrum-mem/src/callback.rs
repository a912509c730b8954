use std::ffi::{c_char, c_void, CStr};
use std::mem::ManuallyDrop;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::elastic_pool::Model;
use crate::ending::dropped;
use crate::error::check;
use crate::fallback_manager::FallbackManager;
use crate::kept::Kept;
use crate::library::Library;
use crate::rejected::{ended, Rejected};
use crate::{sys, LogLevel, PressureLevel, ReclaimConfig, Result, WeightsDecoder};

/// Runs a closure of the caller for C. A panic ends here, after the panic hook has run.
pub(crate) fn run<T: Default>(closure: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(closure)).unwrap_or_default()
}

/// A separate reference to the target of `user_data`. It keeps the closure alive during its run,
/// also if the registration is dropped meanwhile.
///
/// # Safety
///
/// `user_data` is from `Arc::into_raw` of an `Arc<T>` that still exists.
pub(crate) unsafe fn share<T>(user_data: *mut c_void) -> Arc<T> {
    let held = ManuallyDrop::new(unsafe { Arc::from_raw(user_data.cast_const().cast::<T>()) });
    Arc::clone(&held)
}

pub(crate) type PressureFn = Box<dyn Fn(PressureLevel) + Send + Sync>;
type ReclaimFn = Box<dyn Fn(u64) -> u64 + Send + Sync>;

/// The closure of a registration.
enum Held {
    Pressure {
        _closure: Arc<PressureFn>,
    },
    Reclaim {
        _closure: Arc<ReclaimFn>,
    },
    Decoder {
        _decoder: Arc<Box<dyn WeightsDecoder>>,
    },
}

static KEPT: Kept<Held> = Kept::new();

/// A callback on a device. Dropping it removes the callback and waits for a running call, except
/// inside that call.
#[must_use = "dropping it removes the callback"]
pub struct Registration {
    raw: sys::ferrum_registration,
    /// `None` for a callback of C, and for an object that the library releases.
    held: Option<Held>,
    _library: Library,
}

/// Whether a callback is not called any more after its removal returned this status. Otherwise,
/// such as after a defect of the library, the closure must never be freed.
pub(crate) fn is_removed(status: sys::ferrum_status) -> bool {
    status == sys::FERRUM_OK || status == sys::FERRUM_ERROR_INVALID_HANDLE
}

impl Drop for Registration {
    fn drop(&mut self) {
        let status = match self.raw.id {
            0 => sys::FERRUM_OK,
            // SAFETY: we own the handle. After the removal the library does not call the closure,
            // and a running call has a reference of its own.
            _ => unsafe { sys::ferrum_registration_remove(self.raw) },
        };
        if !is_removed(status) {
            std::mem::forget(self.held.take());
        }
        dropped("ferrum_registration_remove", status);
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration")
            .field("handle", &self.raw.id)
            .finish()
    }
}

unsafe extern "C" fn call_pressure(
    _: sys::ferrum_device,
    level: sys::ferrum_pressure_level,
    data: *mut c_void,
) {
    // SAFETY: data is the registration's closure.
    let closure: Arc<PressureFn> = unsafe { share(data) };
    run(|| closure(PressureLevel::from_raw(level)));
}

unsafe extern "C" fn call_reclaim(_: sys::ferrum_device, needed: u64, data: *mut c_void) -> u64 {
    // SAFETY: data is the registration's closure.
    let closure: Arc<ReclaimFn> = unsafe { share(data) };
    run(|| closure(needed))
}

unsafe extern "C" fn call_model_reclaim(
    _: sys::ferrum_elastic_pool,
    _: *const c_char,
    needed: u64,
    data: *mut c_void,
) -> u64 {
    // SAFETY: data is the registration's closure.
    let closure: Arc<ReclaimFn> = unsafe { share(data) };
    run(|| closure(needed))
}

impl Registration {
    /// Removes the callback, in the way of a drop: it waits for a running call, except inside that
    /// call.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::NotInitialized`](crate::ErrorKind::NotInitialized). The error returns the
    /// object.
    /// C function: [`ferrum_registration_remove`](crate::sys::ferrum_registration_remove).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
        let closed = check(unsafe { sys::ferrum_registration_remove(self.raw) });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_registration {
        self.raw
    }

    /// Returns the handle and does not remove the callback. The library calls the closure as
    /// before. The closure is dropped with an object that [`Registration::from_raw`] creates of the
    /// handle, and only then.
    pub fn into_raw(mut self) -> sys::ferrum_registration {
        let raw = std::mem::take(&mut self.raw);
        if let Some(held) = self.held.take() {
            KEPT.put(raw.id, held);
        }
        raw
    }

    /// Creates an object from a handle. The object owns the handle from then on, and the closure if
    /// the handle is from [`Registration::into_raw`].
    ///
    /// # Safety
    ///
    /// The handle is of a live registration, and no other code removes it.
    pub unsafe fn from_raw(library: &Library, raw: sys::ferrum_registration) -> Self {
        Self {
            raw,
            held: KEPT.take(raw.id),
            _library: library.clone(),
        }
    }

    pub(crate) fn decoder(
        library: &Library,
        raw: sys::ferrum_registration,
        decoder: Arc<Box<dyn WeightsDecoder>>,
    ) -> Self {
        Self {
            raw,
            held: Some(Held::Decoder { _decoder: decoder }),
            _library: library.clone(),
        }
    }

    /// The registration of an object that the library releases itself.
    pub(crate) fn released(library: &Library, raw: sys::ferrum_registration) -> Self {
        Self {
            raw,
            held: None,
            _library: library.clone(),
        }
    }

    pub(crate) fn model_reclaim(
        model: &Model,
        deadline: Option<Duration>,
        closure: ReclaimFn,
    ) -> Result<Self> {
        let config = ReclaimConfig {
            deadline,
            ..Default::default()
        };
        let held = Arc::new(closure);
        let mut raw = sys::ferrum_registration::default();
        // SAFETY: the id is valid during the call, and the closure until the registration is
        // removed.
        check(unsafe {
            sys::ferrum_elastic_pool_reclaim_callback_add(
                model.pool().raw(),
                model.c_id().as_ptr(),
                &config.raw(),
                Some(call_model_reclaim),
                Arc::as_ptr(&held).cast_mut().cast(),
                &mut raw,
            )
        })?;
        Ok(Self {
            raw,
            held: Some(Held::Reclaim { _closure: held }),
            _library: model.pool().device().library().clone(),
        })
    }

    pub(crate) fn pressure(
        library: &Library,
        device: sys::ferrum_device,
        closure: PressureFn,
    ) -> Result<Self> {
        let held = Arc::new(closure);
        let mut raw = sys::ferrum_registration::default();
        // SAFETY: the closure is valid until the registration is removed.
        check(unsafe {
            sys::ferrum_device_pressure_callback_add(
                device,
                Some(call_pressure),
                Arc::as_ptr(&held).cast_mut().cast(),
                &mut raw,
            )
        })?;
        Ok(Self {
            raw,
            held: Some(Held::Pressure { _closure: held }),
            _library: library.clone(),
        })
    }

    pub(crate) fn fallback_manager_pressure(
        manager: &FallbackManager,
        closure: PressureFn,
    ) -> Result<Self> {
        let held = Arc::new(closure);
        let mut raw = sys::ferrum_registration::default();
        // SAFETY: the closure is valid until the registration is removed.
        check(unsafe {
            sys::ferrum_fallback_manager_pressure_callback_add(
                manager.raw(),
                Some(call_pressure),
                Arc::as_ptr(&held).cast_mut().cast(),
                &mut raw,
            )
        })?;
        Ok(Self {
            raw,
            held: Some(Held::Pressure { _closure: held }),
            _library: manager.device().library().clone(),
        })
    }

    pub(crate) fn kv_cache_pressure(
        library: &Library,
        cache: sys::ferrum_kv_cache,
        closure: PressureFn,
    ) -> Result<Self> {
        let held = Arc::new(closure);
        let mut raw = sys::ferrum_registration::default();
        // SAFETY: the closure is valid until the registration is removed.
        check(unsafe {
            sys::ferrum_kv_cache_pressure_callback_add(
                cache,
                Some(call_pressure),
                Arc::as_ptr(&held).cast_mut().cast(),
                &mut raw,
            )
        })?;
        Ok(Self {
            raw,
            held: Some(Held::Pressure { _closure: held }),
            _library: library.clone(),
        })
    }

    pub(crate) fn reclaim(
        library: &Library,
        device: sys::ferrum_device,
        how: &ReclaimConfig,
        closure: ReclaimFn,
    ) -> Result<Self> {
        let held = Arc::new(closure);
        let mut raw = sys::ferrum_registration::default();
        // SAFETY: the closure is valid until the registration is removed.
        check(unsafe {
            sys::ferrum_device_reclaim_callback_add(
                device,
                &how.raw(),
                Some(call_reclaim),
                Arc::as_ptr(&held).cast_mut().cast(),
                &mut raw,
            )
        })?;
        Ok(Self {
            raw,
            held: Some(Held::Reclaim { _closure: held }),
            _library: library.clone(),
        })
    }
}

/// A closure that C calls once, behind `user_data`.
pub(crate) struct Once(*mut c_void);

impl Once {
    pub(crate) fn new(closure: Box<dyn FnOnce() + Send>) -> Self {
        Self(Box::into_raw(Box::new(closure)).cast())
    }

    /// The function that C calls with [`Once::data`].
    pub(crate) unsafe extern "C" fn call(data: *mut c_void) {
        // SAFETY: data is the box of new(), and this is its only call.
        let closure = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
        run(closure);
    }

    pub(crate) fn data(&self) -> *mut c_void {
        self.0
    }

    /// Drops the closure of a call that failed. Otherwise C calls it.
    pub(crate) fn settle<T>(self, called: Result<T>) -> Result<T> {
        if called.is_err() {
            // SAFETY: after the error the library does not have the closure.
            drop(unsafe { Box::from_raw(self.0.cast::<Box<dyn FnOnce() + Send>>()) });
        }
        called
    }
}

/// Queues a closure on a stream. It runs once, or is dropped if the call fails.
pub(crate) fn host_function(
    stream: sys::ferrum_stream,
    closure: Box<dyn FnOnce() + Send>,
) -> Result<()> {
    let once = Once::new(closure);
    // SAFETY: the closure is valid until its call.
    let queued =
        check(unsafe { sys::ferrum_stream_host_function(stream, Some(Once::call), once.data()) });
    once.settle(queued)
}

type LogFn = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// The receiver of the process's log. It is stored here and not behind `user_data`, so that a
/// running call keeps it alive.
static LOG: Mutex<Option<(LogLevel, LogFn)>> = Mutex::new(None);

/// Passes a message of this crate to the log receiver, on this thread.
pub(crate) fn log(level: LogLevel, message: impl FnOnce() -> String) {
    let receiver = LOG.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((minimum, receiver)) = receiver {
        if level >= minimum {
            run(|| receiver(level, &message()));
        }
    }
}

unsafe extern "C" fn call_log(
    level: sys::ferrum_log_level,
    message: *const c_char,
    _: *mut c_void,
) {
    let receiver = LOG.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((_, receiver)) = receiver {
        // SAFETY: the message is valid during this call.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy();
        run(|| receiver(LogLevel::from_raw(level), &text));
    }
}

/// Sets the receiver of log messages from a level on. It runs on a thread of the library, one call
/// at a time. The drop of an object cannot return an error: if the library rejects it, the receiver
/// gets a message on the thread of the drop.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_log_set_callback`](crate::sys::ferrum_log_set_callback).
pub fn on_log(
    minimum: LogLevel,
    receiver: impl Fn(LogLevel, &str) + Send + Sync + 'static,
) -> Result<()> {
    *LOG.lock().unwrap_or_else(PoisonError::into_inner) = Some((minimum, Arc::new(receiver)));
    // SAFETY: call_log needs no user_data.
    check(unsafe {
        sys::ferrum_log_set_callback(minimum.to_raw(), Some(call_log), std::ptr::null_mut())
    })
}

/// Removes the receiver of log messages and waits for a running call of it.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_log_set_callback`](crate::sys::ferrum_log_set_callback).
pub fn no_log() -> Result<()> {
    // SAFETY: a NULL callback is allowed.
    check(unsafe {
        sys::ferrum_log_set_callback(sys::FERRUM_LOG_ERROR, None, std::ptr::null_mut())
    })?;
    *LOG.lock().unwrap_or_else(PoisonError::into_inner) = None;
    Ok(())
}
