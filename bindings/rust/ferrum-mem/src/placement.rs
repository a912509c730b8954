use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use crate::callback::{has_let_go, run, share};
use crate::ending::dropped;
use crate::error::{check, Error};
use crate::library::{c_text, json_of, Library};
use crate::raw::{flag, optional_ns};
use crate::rejected::{ended, Rejected};
use crate::{sys, Device, MemoryType, PlacementOption, PressureProfile, Result};

/// What a device is looked for. All but the size asks for nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlacementRequest<'a> {
    /// Not 0.
    pub size_bytes: u64,
    /// A power of two; 0: any.
    pub alignment_bytes: u64,
    /// Type of the memory.
    pub memory_type: MemoryType,
    /// Devices in the order of preference.
    pub preferred: &'a [Device],
    /// The first preferred device that can serve the request is chosen; otherwise
    /// preference adds to the score.
    pub strict: bool,
    /// Devices that would have to give up memory first do not count.
    pub critical: bool,
    /// Devices that would come to the critical level do not count.
    pub refuse_critical: bool,
    /// How long the memory is expected to be used.
    pub expected_lifetime: Option<Duration>,
    /// What levels are by.
    pub profile: PressureProfile,
}

type ChooseFn = Box<dyn Fn(u64, &[PlacementOption]) -> Option<usize> + Send + Sync>;

/// A placement strategy: chooses the device for a request.
#[must_use = "dropping it destroys the strategy"]
pub struct Placement {
    raw: sys::ferrum_placement,
    /// A closure of the caller's, as a counted reference.
    held: Option<*const ChooseFn>,
    _library: Library,
}

// SAFETY: the pointer is a counted reference to a closure that is Send + Sync.
unsafe impl Send for Placement {}
// SAFETY: as above; a shared Placement gives no access to the closure.
unsafe impl Sync for Placement {}

impl Drop for Placement {
    fn drop(&mut self) {
        // SAFETY: the handle is ours; afterwards the library does not call again.
        unsafe {
            let status = match self.raw.id {
                0 => sys::FERRUM_OK,
                _ => sys::ferrum_placement_destroy(self.raw),
            };
            if let Some(closure) = self.held.filter(|_| has_let_go(status)) {
                drop(Arc::from_raw(closure));
            }
            dropped("ferrum_placement_destroy", status);
        }
    }
}

impl std::fmt::Debug for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placement")
            .field("handle", &self.raw.id)
            .finish()
    }
}

unsafe extern "C" fn choose(
    request: *const sys::ferrum_placement_request,
    options: *const sys::ferrum_placement_option,
    count: usize,
    chosen: *mut i64,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: data is the strategy's closure.
    let closure: Arc<ChooseFn> = unsafe { share(data) };
    let options: Vec<PlacementOption> = (0..count)
        // SAFETY: there are count entries.
        .map(|i| unsafe { &*options.add(i) }.into())
        .collect();
    let size_bytes = unsafe { (*request).size_bytes };
    // A panic gives the default: no answer at all.
    let Some(answer) = run(|| Some(closure(size_bytes, &options))) else {
        return sys::FERRUM_ERROR_INTERNAL;
    };
    if let Some(index) = answer {
        // SAFETY: an output of the callback.
        unsafe { *chosen = i64::try_from(index).unwrap_or(i64::MAX) };
    }
    sys::FERRUM_OK
}

impl Placement {
    /// Makes a built-in strategy: "best_fit", "best_fit_original", "spread", "pack" or
    /// "round_robin".
    pub fn new(library: &Library, strategy: &str) -> Result<Self> {
        let name = c_text("ferrum_placement_create", "name", strategy)?;
        let mut raw = sys::ferrum_placement::default();
        // SAFETY: the name lives through the call.
        check(unsafe { sys::ferrum_placement_create(name.as_ptr(), &mut raw) })?;
        Ok(Self {
            raw,
            held: None,
            _library: library.clone(),
        })
    }

    /// Makes a strategy of one's own: the closure gives the index of the candidate
    /// that it takes. A panic in it fails the selection.
    pub fn with(
        library: &Library,
        name: &str,
        closure: impl Fn(u64, &[PlacementOption]) -> Option<usize> + Send + Sync + 'static,
    ) -> Result<Self> {
        let name = c_text("ferrum_placement_create_own", "name", name)?;
        let boxed: ChooseFn = Box::new(closure);
        let held = Arc::into_raw(Arc::new(boxed));
        let mut raw = sys::ferrum_placement::default();
        // SAFETY: the closure lives until the strategy is destroyed.
        let made = check(unsafe {
            sys::ferrum_placement_create_own(
                name.as_ptr(),
                Some(choose),
                held.cast_mut().cast(),
                &mut raw,
            )
        });
        if let Err(error) = made {
            // SAFETY: the library has not taken it.
            drop(unsafe { Arc::from_raw(held) });
            return Err(error);
        }
        Ok(Self {
            raw,
            held: Some(held),
            _library: library.clone(),
        })
    }

    /// Destroys the strategy, as a drop does: it waits for running calls of its closure.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::NotInitialized`](crate::ErrorKind::NotInitialized). It comes back with the error.
    /// C function: [`ferrum_placement_destroy`](crate::sys::ferrum_placement_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: the handle is ours.
        let closed = check(unsafe { sys::ferrum_placement_destroy(self.raw) });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_placement {
        self.raw
    }

    /// Chooses one of the devices; of equal ones the first.
    pub fn select<'d>(
        &self,
        request: &PlacementRequest<'_>,
        devices: &'d [Device],
    ) -> Result<&'d Device> {
        let mut chosen = sys::ferrum_device::default();
        with_raw(request, devices, |raw| {
            // SAFETY: the request's lists live through the call.
            check(unsafe { sys::ferrum_placement_select(self.raw, raw, &mut chosen) })
        })?;
        devices
            .iter()
            .find(|device| device.raw().id == chosen.id)
            .ok_or_else(|| {
                Error::argument(
                    "ferrum_placement_select",
                    format!("device {:#x} is none of the candidates", chosen.id),
                )
            })
    }

    /// What [`Placement::select`] would choose now and why, as the header describes it
    /// for `ferrum_placement_explain_json`.
    pub fn explain_json(
        &self,
        request: &PlacementRequest<'_>,
        devices: &[Device],
    ) -> Result<String> {
        with_raw(request, devices, |raw| {
            // SAFETY: the request's lists live through the call, and the buffer has the
            // room that is told.
            json_of(|to, room, length| unsafe {
                sys::ferrum_placement_explain_json(self.raw, raw, to, room, length)
            })
        })
    }
}

/// Hands a request over as C has it, with its lists alive.
fn with_raw<T>(
    request: &PlacementRequest<'_>,
    devices: &[Device],
    call: impl FnOnce(&sys::ferrum_placement_request) -> Result<T>,
) -> Result<T> {
    let preferred: Vec<_> = request.preferred.iter().map(Device::raw).collect();
    let candidates: Vec<_> = devices.iter().map(Device::raw).collect();
    let count = |list: &[sys::ferrum_device]| u32::try_from(list.len()).unwrap_or(u32::MAX);
    call(&sys::ferrum_placement_request {
        memory_type: request.memory_type.to_raw(),
        size_bytes: request.size_bytes,
        alignment_bytes: request.alignment_bytes,
        expected_lifetime_ns: optional_ns(request.expected_lifetime, 0),
        preferred: preferred.as_ptr(),
        preferred_count: count(&preferred),
        devices: candidates.as_ptr(),
        device_count: count(&candidates),
        flags: flag(request.critical, sys::FERRUM_PLACEMENT_CRITICAL)
            | flag(request.strict, sys::FERRUM_PLACEMENT_STRICT)
            | flag(
                request.refuse_critical,
                sys::FERRUM_PLACEMENT_REFUSE_CRITICAL,
            ),
        profile: request.profile.to_raw(),
        ..Default::default()
    })
}
