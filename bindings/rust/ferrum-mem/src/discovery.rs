use std::ffi::{c_char, CStr};
use std::fmt;

use crate::error::check;
use crate::library::{c_text, json_of};
use crate::{sys, BackendChoice, BackendType, Device, DeviceInfo, HostInfo, Library, Result};

impl fmt::Display for BackendType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the call returns a constant text.
        f.write_str(unsafe { constant(sys::ferrum_backend_display_name(*self as i32)) })
    }
}

impl BackendChoice {
    /// The name of the backend in device ids, such as "cuda".
    pub fn backend_name(&self) -> &'static str {
        self.backend.name()
    }
}

impl DeviceInfo {
    /// The name of the backend in device ids, such as "cuda".
    pub fn backend_name(&self) -> &'static str {
        self.backend.name()
    }
}

/// # Safety
///
/// The text is constant and valid as long as the process.
unsafe fn constant(text: *const c_char) -> &'static str {
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
}

/// Describes this machine. The library need not run.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_host_get_info`](crate::sys::ferrum_host_get_info).
pub fn host_info() -> Result<HostInfo> {
    let mut raw = sys::ferrum_host_info::default();
    // SAFETY: raw is an output of the call, with its size set.
    check(unsafe { sys::ferrum_host_get_info(&mut raw) })?;
    Ok((&raw).into())
}

impl Library {
    /// Queries all backends again.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_backends_refresh`](crate::sys::ferrum_backends_refresh).
    pub fn refresh_backends(&self) -> Result<()> {
        // SAFETY: no arguments.
        check(unsafe { sys::ferrum_backends_refresh() })
    }

    /// All backends with their devices or errors, as text for people.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_backends_summary`](crate::sys::ferrum_backends_summary).
    pub fn backend_summary(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe { sys::ferrum_backends_summary(to, room, length) })
    }

    /// The backend that an automatic choice tries first.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_backend_best`](crate::sys::ferrum_backend_best).
    pub fn best_available_backend(&self) -> Result<BackendType> {
        let mut raw = 0;
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_backend_best(&mut raw) })?;
        Ok(BackendType::from_raw(raw))
    }

    /// The first device with that many free bytes. The device is not opened.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if no device has enough memory,
    /// [`ErrorKind::BackendUnavailable`](crate::ErrorKind::BackendUnavailable) if no device exists.
    /// The message lists the devices with the reasons.
    ///
    /// C function: [`ferrum_backend_select`](crate::sys::ferrum_backend_select).
    pub fn select_backend_for_model(
        &self,
        preference: BackendType,
        required_bytes: u64,
    ) -> Result<BackendChoice> {
        let mut raw = sys::ferrum_backend_choice::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_backend_select(preference as i32, required_bytes, &mut raw) })?;
        Ok((&raw).into())
    }

    /// Opens the first device with that many free bytes. The device is checked again once it is
    /// open.
    ///
    /// # Errors
    ///
    /// The errors of [`ferrum_backend_select`](crate::sys::ferrum_backend_select). After an error
    /// no device stays open.
    ///
    /// C function: [`ferrum_backend_open`](crate::sys::ferrum_backend_open).
    pub fn init_backend_with_memory_check(
        &self,
        preference: BackendType,
        required_bytes: u64,
    ) -> Result<(Device, BackendChoice)> {
        let mut raw = sys::ferrum_backend_choice::default();
        let mut handle = Default::default();
        // SAFETY: both are outputs of the call, raw with its size set.
        check(unsafe {
            sys::ferrum_backend_open(preference as i32, required_bytes, &mut handle, &mut raw)
        })?;
        let choice = BackendChoice::from(&raw);
        // A device has one handle: this is a second open of it, and the first is closed.
        let device = Device::open(self, &choice.id);
        // SAFETY: the handle was opened above.
        check(unsafe { sys::ferrum_device_close(handle, 0) })?;
        Ok((device?, choice))
    }

    /// Whether that many bytes fit into the free memory of a device, or into 80 % of its capacity
    /// if the free memory is unknown.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DeviceNotFound`](crate::ErrorKind::DeviceNotFound);
    /// [`ErrorKind::BackendUnavailable`](crate::ErrorKind::BackendUnavailable), with the reason,
    /// for a device of an unavailable backend.
    ///
    /// C function: [`ferrum_device_can_fit`](crate::sys::ferrum_device_can_fit).
    pub fn device_can_fit(&self, id: &str, bytes: u64) -> Result<bool> {
        let text = c_text("ferrum_device_can_fit", "id", id)?;
        let mut fits = 0;
        // SAFETY: text is valid during the call, fits is an output of it.
        check(unsafe { sys::ferrum_device_can_fit(text.as_ptr(), bytes, &mut fits) })?;
        Ok(fits != 0)
    }
}

type SizeCall = unsafe extern "C" fn(u64, *mut u64) -> sys::ferrum_status;

fn size(call: SizeCall, of: u64) -> Result<u64> {
    let mut out = 0;
    // SAFETY: out is an output of the call.
    check(unsafe { call(of, &mut out) })?;
    Ok(out)
}

/// The smallest power of two that is at least n; 1 for 0.
///
/// # Errors
///
/// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow) above 2^63.
///
/// C function: [`ferrum_round_up_power_of_2`](crate::sys::ferrum_round_up_power_of_2).
pub fn round_up_power_of_2(n: u64) -> Result<u64> {
    size(sys::ferrum_round_up_power_of_2, n)
}

/// The bucket of a size: the next power of two.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_size_class`](crate::sys::ferrum_size_class).
pub fn size_class(size_bytes: u64) -> Result<u64> {
    size(sys::ferrum_size_class, size_bytes)
}

/// Bytes of `count` 32-bit floats.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_f32_bytes`](crate::sys::ferrum_f32_bytes).
pub fn compute_f32_bytes(count: u64) -> Result<u64> {
    size(sys::ferrum_f32_bytes, count)
}

/// Bytes of `count` 16-bit floats.
///
/// # Errors
///
/// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
///
/// C function: [`ferrum_f16_bytes`](crate::sys::ferrum_f16_bytes).
pub fn compute_f16_bytes(count: u64) -> Result<u64> {
    size(sys::ferrum_f16_bytes, count)
}
