use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use crate::callback::{is_removed, run, share};
use crate::ending::dropped;
use crate::error::check;
use crate::kept::Kept;
use crate::library::Library;
use crate::rejected::{ended, Rejected};
use crate::{sys, DeviceLevel, MonitorConfig, PressureLevel, PressureProfile, Result};

impl PressureProfile {
    /// The level of a device with that capacity and that many free bytes, without hysteresis. A
    /// capacity of 0 is unknown and gives low.
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

    /// The level for a used share, from 0 for empty to 1 for full.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a share that is
    /// negative or not a number.
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

/// The place of a monitor's closure. The library has a counted reference to the slot while the
/// monitor exists, so closures can be set and removed in any order.
type Slot = Mutex<Option<LevelsFn>>;

/// Watches the memory of several devices. A registration is weak: a manager that is dropped is
/// unregistered.
#[must_use = "dropping it destroys the monitor"]
pub struct Monitor {
    raw: sys::ferrum_monitor,
    slot: Arc<Slot>,
    _library: Library,
}

static KEPT: Kept<Arc<Slot>> = Kept::new();

impl Drop for Monitor {
    fn drop(&mut self) {
        let status = match self.raw.id {
            0 => sys::FERRUM_OK,
            // SAFETY: we own the handle. After the destruction the library does not call the
            // closure, and a running call has a reference of its own.
            _ => unsafe { sys::ferrum_monitor_destroy(self.raw) },
        };
        if !is_removed(status) {
            std::mem::forget(self.slot.clone());
        }
        dropped("ferrum_monitor_destroy", status);
    }
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor")
            .field("handle", &self.raw.id)
            .finish()
    }
}

unsafe extern "C" fn call_levels(
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
    /// Creates a monitor without registrations.
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
            slot: Arc::default(),
            _library: library.clone(),
        })
    }

    /// Destroys the monitor, in the way of a drop: it waits for a running call of its closure.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::NotInitialized`](crate::ErrorKind::NotInitialized). The error returns the
    /// object.
    /// C function: [`ferrum_monitor_destroy`](crate::sys::ferrum_monitor_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
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

    /// Returns the handle and does not destroy the monitor. Its closure is called as before. It is
    /// dropped with an object that [`Monitor::from_raw`] creates of the handle, and only then.
    pub fn into_raw(mut self) -> sys::ferrum_monitor {
        let raw = std::mem::take(&mut self.raw);
        KEPT.put(raw.id, self.slot.clone());
        raw
    }

    /// Creates an object from a handle. The object owns the handle from then on, and the closure if
    /// the handle is from [`Monitor::into_raw`].
    ///
    /// # Safety
    ///
    /// The handle is of a live monitor, and no other code destroys it.
    pub unsafe fn from_raw(library: &Library, raw: sys::ferrum_monitor) -> Self {
        Self {
            raw,
            slot: KEPT.take(raw.id).unwrap_or_default(),
            _library: library.clone(),
        }
    }

    /// Calls the closure at every change of the levels from now on. It replaces the previous
    /// closure. It runs on a thread of the library.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_set_callback`](crate::sys::ferrum_monitor_set_callback).
    pub fn on_change(
        &self,
        closure: impl Fn(&[DeviceLevel]) + Send + Sync + 'static,
    ) -> Result<()> {
        self.replace(Some(Arc::new(closure)))
    }

    /// Removes the closure and waits for a running call of it.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_set_callback`](crate::sys::ferrum_monitor_set_callback).
    pub fn no_callback(&self) -> Result<()> {
        self.replace(None)
    }

    fn replace(&self, closure: Option<LevelsFn>) -> Result<()> {
        let call: sys::ferrum_monitor_fn = if closure.is_some() {
            Some(call_levels)
        } else {
            None
        };
        let former = std::mem::replace(
            &mut *self.slot.lock().unwrap_or_else(PoisonError::into_inner),
            closure,
        );
        drop(former);
        let data = Arc::as_ptr(&self.slot).cast_mut().cast();
        // SAFETY: the slot is valid as long as the monitor.
        check(unsafe { sys::ferrum_monitor_set_callback(self.raw, call, data) })
    }
}
