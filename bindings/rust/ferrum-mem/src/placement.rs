use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use crate::callback::{is_removed, run, share};
use crate::ending::dropped;
use crate::error::{check, Error};
use crate::kept::Kept;
use crate::library::{c_text, json_of, Library};
use crate::raw::{flag, optional_ns};
use crate::rejected::{ended, Rejected};
use crate::{sys, Device, MemoryType, PlacementOption, PlacementStrategy, PressureProfile, Result};

/// A request for a device. The defaults require nothing but the size.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlacementRequest<'a> {
    /// Not 0.
    pub size_bytes: u64,
    /// A power of two; `None`: any.
    pub alignment_bytes: Option<u64>,
    /// Type of the memory.
    pub memory_type: MemoryType,
    /// Devices in the order of preference.
    pub preferred: &'a [Device],
    /// The first preferred device that can serve the request is chosen. Otherwise a preference adds
    /// to the score.
    pub strict: bool,
    /// Exclude devices that would have to reclaim memory first.
    pub critical: bool,
    /// Exclude devices that would reach the critical level.
    pub refuse_critical: bool,
    /// The expected lifetime of the memory.
    pub expected_lifetime: Option<Duration>,
    /// The profile of the levels.
    pub profile: PressureProfile,
}

/// A device that may be chosen, with its numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlacementCandidate {
    /// The device. It is open as long as its owner has it open.
    pub device: Device,
    /// How it would serve the request.
    pub option: PlacementOption,
}

type ChooseFn = dyn Fn(&PlacementRequest<'_>, &[PlacementCandidate]) -> Option<usize> + Send + Sync;

/// The state of a custom strategy.
struct Own {
    closure: Box<ChooseFn>,
    started: Library,
}

/// A placement strategy: chooses the device for a request.
#[must_use = "dropping it destroys the strategy"]
pub struct Placement {
    raw: sys::ferrum_placement,
    /// The caller's closure; `None` for a strategy of the library or of C.
    held: Option<Arc<Own>>,
    _library: Library,
}

static KEPT: Kept<Arc<Own>> = Kept::new();

impl Drop for Placement {
    fn drop(&mut self) {
        let status = match self.raw.id {
            0 => sys::FERRUM_OK,
            // SAFETY: we own the handle; after the destruction the library does not call the
            // closure.
            _ => unsafe { sys::ferrum_placement_destroy(self.raw) },
        };
        if !is_removed(status) {
            std::mem::forget(self.held.take());
        }
        dropped("ferrum_placement_destroy", status);
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
    let own: Arc<Own> = unsafe { share(data) };
    let candidates: Vec<PlacementCandidate> = (0..count)
        // SAFETY: there are count entries.
        .map(|i| PlacementOption::from(unsafe { &*options.add(i) }))
        .map(|option| PlacementCandidate {
            device: Device::borrowed(&own.started, option.device),
            option,
        })
        .collect();
    // SAFETY: the request is valid during this call, with as many preferred as it states.
    let (asked, preferred) = unsafe {
        let asked = &*request;
        let preferred: Vec<Device> = (0..asked.preferred_count as usize)
            .map(|i| Device::borrowed(&own.started, *asked.preferred.add(i)))
            .collect();
        (asked, preferred)
    };
    let request = PlacementRequest {
        size_bytes: asked.size_bytes,
        alignment_bytes: (asked.alignment_bytes != 0).then_some(asked.alignment_bytes),
        memory_type: MemoryType::from_raw(asked.memory_type),
        preferred: &preferred,
        strict: asked.flags & sys::FERRUM_PLACEMENT_STRICT != 0,
        critical: asked.flags & sys::FERRUM_PLACEMENT_CRITICAL != 0,
        refuse_critical: asked.flags & sys::FERRUM_PLACEMENT_REFUSE_CRITICAL != 0,
        expected_lifetime: (asked.expected_lifetime_ns != 0)
            .then(|| Duration::from_nanos(asked.expected_lifetime_ns)),
        profile: PressureProfile::from_raw(asked.profile),
    };
    // A panic returns the default, None.
    let Some(answer) = run(|| Some((own.closure)(&request, &candidates))) else {
        return sys::FERRUM_ERROR_INTERNAL;
    };
    if let Some(index) = answer {
        // SAFETY: an output of the callback.
        unsafe { *chosen = i64::try_from(index).unwrap_or(i64::MAX) };
    }
    sys::FERRUM_OK
}

impl Placement {
    /// Creates a strategy of the library.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown name (the message lists
    /// all names).
    ///
    /// C function: [`ferrum_placement_create`](crate::sys::ferrum_placement_create).
    pub fn new(library: &Library, strategy: PlacementStrategy) -> Result<Self> {
        let name = c_text("ferrum_placement_create", "strategy", strategy.name())?;
        let mut raw = sys::ferrum_placement::default();
        // SAFETY: the name is valid during the call.
        check(unsafe { sys::ferrum_placement_create(name.as_ptr(), &mut raw) })?;
        Ok(Self {
            raw,
            held: None,
            _library: library.clone(),
        })
    }

    /// Creates a custom strategy. The closure gets the whole request and the candidates, and
    /// returns the index of the chosen candidate, or `None`. It may query the devices. A panic in
    /// it fails the selection.
    ///
    /// ```no_run
    /// # use ferrum_mem::{Library, Placement, Result};
    /// # fn f(library: &Library) -> Result<()> {
    /// // The emptiest device for memory with a lifetime, the first one for the rest.
    /// let own = Placement::with(library, "by_lifetime", |request, candidates| {
    ///     if request.expected_lifetime.is_none() {
    ///         return (!candidates.is_empty()).then_some(0);
    ///     }
    ///     (0..candidates.len()).max_by_key(|&i| candidates[i].option.free_bytes)
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_placement_create_own`](crate::sys::ferrum_placement_create_own).
    pub fn with(
        library: &Library,
        name: &str,
        closure: impl Fn(&PlacementRequest<'_>, &[PlacementCandidate]) -> Option<usize>
            + Send
            + Sync
            + 'static,
    ) -> Result<Self> {
        let name = c_text("ferrum_placement_create_own", "name", name)?;
        let held = Arc::new(Own {
            closure: Box::new(closure),
            started: library.clone(),
        });
        let mut raw = sys::ferrum_placement::default();
        // SAFETY: the closure is valid until the strategy is destroyed.
        check(unsafe {
            sys::ferrum_placement_create_own(
                name.as_ptr(),
                Some(choose),
                Arc::as_ptr(&held).cast_mut().cast(),
                &mut raw,
            )
        })?;
        Ok(Self {
            raw,
            held: Some(held),
            _library: library.clone(),
        })
    }

    /// Destroys the strategy, in the way of a drop: it waits for running calls of its closure.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::NotInitialized`](crate::ErrorKind::NotInitialized). The error returns the
    /// object.
    /// C function: [`ferrum_placement_destroy`](crate::sys::ferrum_placement_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
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

    /// Returns the handle and does not destroy the strategy. Its closure is dropped with an object
    /// that [`Placement::from_raw`] creates of the handle, and only then.
    pub fn into_raw(mut self) -> sys::ferrum_placement {
        let raw = std::mem::take(&mut self.raw);
        if let Some(held) = self.held.take() {
            KEPT.put(raw.id, held);
        }
        raw
    }

    /// Creates an object from a handle. The object owns the handle from then on, and the closure if
    /// the handle is from [`Placement::into_raw`].
    ///
    /// # Safety
    ///
    /// The handle is of a live strategy, and no other code destroys it.
    pub unsafe fn from_raw(library: &Library, raw: sys::ferrum_placement) -> Self {
        Self {
            raw,
            held: KEPT.take(raw.id),
            _library: library.clone(),
        }
    }

    /// Chooses one of the devices. Of equal devices it chooses the first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if no device can serve the request; the
    /// message states the reason for each.
    ///
    /// C function: [`ferrum_placement_select`](crate::sys::ferrum_placement_select).
    pub fn select<'d>(
        &self,
        request: &PlacementRequest<'_>,
        devices: &'d [Device],
    ) -> Result<&'d Device> {
        let mut chosen = sys::ferrum_device::default();
        with_raw(request, devices, |raw| {
            // SAFETY: the request's lists are valid during the call.
            check(unsafe { sys::ferrum_placement_select(self.raw, raw, &mut chosen) })
        })?;
        devices
            .iter()
            .find(|device| device.raw().id == chosen.id)
            .ok_or_else(|| {
                Error::argument(
                    "ferrum_placement_select",
                    format!("device {:#x} is not one of the candidates", chosen.id),
                )
            })
    }

    /// The device that [`Placement::select`] would choose now, and the reasons. The header
    /// describes the keys at `ferrum_placement_explain_json`.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_placement_explain_json`](crate::sys::ferrum_placement_explain_json).
    pub fn explain_json(
        &self,
        request: &PlacementRequest<'_>,
        devices: &[Device],
    ) -> Result<String> {
        with_raw(request, devices, |raw| {
            // SAFETY: the request's lists are valid during the call, and the buffer has the
            // capacity that is passed.
            json_of(|to, room, length| unsafe {
                sys::ferrum_placement_explain_json(self.raw, raw, to, room, length)
            })
        })
    }
}

/// Passes a request as a struct of C. Its lists are valid during the call.
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
        alignment_bytes: request.alignment_bytes.unwrap_or(0),
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
