use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use crate::callback::{is_removed, run, share};
use crate::ending::dropped;
use crate::error::check;
use crate::library::Library;
use crate::rejected::{ended, Rejected};
use crate::{sys, DeviceLevel, MonitorConfig, PressureLevel, PressureProfile, Result};

impl PressureProfile {
    /// The level of a device with that capacity of which so much is free, without
    /// hysteresis; a capacity of 0 is unknown and low.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_pressure_level_of`](crate::sys::ferrum_pressure_level_of).
    pub fn level_of(self, total_bytes: u64, free_bytes: u64) -> Result<PressureLevel> {
        let mut level = 0;
        // SAFETY: level is an output of the call.
        check(unsafe {
            sys::ferrum_pressure_level_of(self.to_raw(), total_bytes, free_bytes, &mut level)
        })?;
        Ok(PressureLevel::from_raw(level))
    }

    /// The level of a ratio, 0 for empty and 1 for full.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a ratio that is negative or no
    /// number.
    ///
    /// C function: [`ferrum_pressure_from_utilization`](crate::sys::ferrum_pressure_from_utilization).
    pub fn from_utilization(self, ratio: f64) -> Result<PressureLevel> {
        let mut level = 0;
        // SAFETY: level is an output of the call.
        check(unsafe { sys::ferrum_pressure_from_utilization(self.to_raw(), ratio, &mut level) })?;
        Ok(PressureLevel::from_raw(level))
    }
}

type LevelsFn = Arc<dyn Fn(&[DeviceLevel]) + Send + Sync>;

/// Where a monitor's closure is. The library has a counted reference to the slot as
/// long as the monitor lives, so closures come and go in any order.
type Slot = Mutex<Option<LevelsFn>>;

/// Watches the memory of several devices as one. A registration is weak: a manager
/// that is dropped leaves by itself.
#[must_use = "dropping it destroys the monitor"]
pub struct Monitor {
    raw: sys::ferrum_monitor,
    slot: *const Slot,
    _library: Library,
}

// SAFETY: the pointer is a counted reference to a slot whose closure is Send + Sync.
unsafe impl Send for Monitor {}
// SAFETY: as above; the slot is behind a mutex.
unsafe impl Sync for Monitor {}

impl Drop for Monitor {
    fn drop(&mut self) {
        // SAFETY: the handle is ours. Afterwards the library does not call again, and
        // a call that runs now has a reference of its own.
        unsafe {
            let status = match self.raw.id {
                0 => sys::FERRUM_OK,
                _ => sys::ferrum_monitor_destroy(self.raw),
            };
            if is_removed(status) {
                drop(Arc::from_raw(self.slot));
            }
            dropped("ferrum_monitor_destroy", status);
        }
    }
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor")
            .field("handle", &self.raw.id)
            .finish()
    }
}

unsafe extern "C" fn hear_levels(
    _: sys::ferrum_monitor,
    levels: *const sys::ferrum_device_level,
    count: usize,
    data: *mut c_void,
) {
    // SAFETY: data is the monitor's slot.
    let slot: Arc<Slot> = unsafe { share(data) };
    let closure = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(closure) = closure else { return };
    let levels: Vec<_> = (0..count)
        // SAFETY: there are count entries.
        .map(|i| unsafe { &*levels.add(i) }.into())
        .collect();
    run(|| closure(&levels));
}

impl Monitor {
    /// Makes a monitor that watches nothing yet.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_monitor_create`](crate::sys::ferrum_monitor_create).
    pub fn new(library: &Library, config: &MonitorConfig) -> Result<Self> {
        let mut raw = sys::ferrum_monitor::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_monitor_create(&config.raw(), &mut raw) })?;
        Ok(Self {
            raw,
            slot: Arc::into_raw(Arc::new(Slot::new(None))),
            _library: library.clone(),
        })
    }

    /// Destroys the monitor, as a drop does: it waits for a running call of its closure.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::NotInitialized`](crate::ErrorKind::NotInitialized). The error returns the object.
    /// C function: [`ferrum_monitor_destroy`](crate::sys::ferrum_monitor_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: the handle is ours.
        let closed = check(unsafe { sys::ferrum_monitor_destroy(self.raw) });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_monitor {
        self.raw
    }

    /// Has the closure hear of every change of the levels from now on, in the place of
    /// the former one. It runs on a thread of the library.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_set_callback`](crate::sys::ferrum_monitor_set_callback).
    pub fn on_change(
        &self,
        closure: impl Fn(&[DeviceLevel]) + Send + Sync + 'static,
    ) -> Result<()> {
        self.replace(Some(Arc::new(closure)))
    }

    /// Takes the closure away and waits for a running call of it.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_set_callback`](crate::sys::ferrum_monitor_set_callback).
    pub fn no_callback(&self) -> Result<()> {
        self.replace(None)
    }

    fn replace(&self, closure: Option<LevelsFn>) -> Result<()> {
        let call: sys::ferrum_monitor_fn = if closure.is_some() {
            Some(hear_levels)
        } else {
            None
        };
        // SAFETY: the slot lives as long as the monitor.
        let slot = unsafe { &*self.slot };
        let former = std::mem::replace(
            &mut *slot.lock().unwrap_or_else(PoisonError::into_inner),
            closure,
        );
        drop(former);
        // SAFETY: as above.
        check(unsafe {
            sys::ferrum_monitor_set_callback(self.raw, call, self.slot.cast_mut().cast())
        })
    }
}
