use std::ffi::c_char;
use std::time::Duration;

use crate::ending::dropped;
use crate::error::{check, stated_text, Error};
use crate::library::{json_of, listed, Library};
use crate::raw::ns;
use crate::rejected::{ended, Rejected};
use crate::{sys, BufferLocation, Result, TrackerTotals};

impl std::fmt::Display for BufferLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gpu => "GPU",
            Self::Cpu => "CPU",
        })
    }
}

/// The id of a buffer, unique in the process. Ids increase, starting with 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u64);

impl BufferId {
    /// A new id.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_buffer_id_new`](crate::sys::ferrum_buffer_id_new).
    pub fn new() -> Result<Self> {
        let mut id = 0;
        // SAFETY: id is an output of the call.
        check(unsafe { sys::ferrum_buffer_id_new(&mut id) })?;
        Ok(Self(id))
    }
}

impl std::fmt::Display for BufferId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: the buffer has the capacity that is passed.
        let text = json_of(|to, room, length| unsafe {
            sys::ferrum_buffer_id_text(self.0, to, room, length)
        });
        f.write_str(&text.map_err(|_| std::fmt::Error)?)
    }
}

/// The record of a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferMetadata {
    /// Not 0.
    pub id: BufferId,
    /// In bytes.
    pub size_bytes: u64,
    /// The number of elements.
    pub num_elements: u64,
    /// The side of the buffer.
    pub location: BufferLocation,
    /// Time since its creation.
    pub age: Duration,
    /// Handle of the device, that of [`crate::Device::raw`], if it is known.
    pub device: Option<sys::ferrum_device>,
    /// At most 63 bytes.
    pub tag: Option<String>,
}

impl BufferMetadata {
    /// A copy with a tag.
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    fn to_raw(&self) -> Result<sys::ferrum_buffer_metadata> {
        let mut raw = sys::ferrum_buffer_metadata {
            buffer_id: self.id.0,
            size_bytes: self.size_bytes,
            num_elements: self.num_elements,
            age_ns: ns(self.age),
            device: self.device.unwrap_or_default(),
            location: self.location.to_raw(),
            ..Default::default()
        };
        let tag = self.tag.as_deref().unwrap_or_default();
        if tag.len() >= raw.tag.len() || tag.contains('\0') {
            return Err(Error::argument(
                "ferrum_tracker_track",
                format!("tag {tag:?} contains a NUL character or is longer than 63 bytes"),
            ));
        }
        for (to, from) in raw.tag.iter_mut().zip(tag.bytes()) {
            *to = from as c_char;
        }
        Ok(raw)
    }

    fn from_raw(raw: &sys::ferrum_buffer_metadata) -> Self {
        Self {
            id: BufferId(raw.buffer_id),
            size_bytes: raw.size_bytes,
            num_elements: raw.num_elements,
            location: BufferLocation::from_raw(raw.location),
            age: Duration::from_nanos(raw.age_ns),
            device: (raw.device.id != 0).then_some(raw.device),
            tag: stated_text(&raw.tag),
        }
    }
}

/// Read access to a tracker. The tracker of a manager or a pool is an invalid handle after its
/// owner has ended.
#[derive(Clone, Copy, Debug)]
pub struct TrackerView {
    raw: sys::ferrum_tracker,
}

/// A record, or `None` for the status "not found".
fn found(
    raw: &sys::ferrum_buffer_metadata,
    status: sys::ferrum_status,
) -> Result<Option<BufferMetadata>> {
    if status == sys::FERRUM_ERROR_NOT_FOUND {
        return Ok(None);
    }
    check(status)?;
    Ok(Some(BufferMetadata::from_raw(raw)))
}

impl TrackerView {
    pub(crate) fn new(raw: sys::ferrum_tracker) -> Self {
        Self { raw }
    }

    /// The record of a buffer; `None` if the id is unknown.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_tracker_get`](crate::sys::ferrum_tracker_get).
    pub fn get(&self, id: BufferId) -> Result<Option<BufferMetadata>> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        let status = unsafe { sys::ferrum_tracker_get(self.raw, id.0, &mut raw) };
        found(&raw, status)
    }

    fn list(
        call: impl Fn(*mut sys::ferrum_buffer_metadata, usize, &mut usize) -> sys::ferrum_status,
    ) -> Result<Vec<BufferMetadata>> {
        Ok(listed(call)?.iter().map(BufferMetadata::from_raw).collect())
    }

    /// All buffers, oldest first.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_tracker_get_all`](crate::sys::ferrum_tracker_get_all).
    pub fn all_allocations(&self) -> Result<Vec<BufferMetadata>> {
        // SAFETY: the array has the length that is passed.
        Self::list(|to, room, count| unsafe {
            sys::ferrum_tracker_get_all(self.raw, to, room, count)
        })
    }

    /// Buffers that are strictly older than `age`, oldest first. They may be leaks.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_tracker_find_old`](crate::sys::ferrum_tracker_find_old).
    pub fn find_old_allocations(&self, age: Duration) -> Result<Vec<BufferMetadata>> {
        // SAFETY: the array has the length that is passed.
        Self::list(|to, room, count| unsafe {
            sys::ferrum_tracker_find_old(self.raw, ns(age), to, room, count)
        })
    }

    /// Number of buffers, their bytes, and the peak of the bytes.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_tracker_get_totals`](crate::sys::ferrum_tracker_get_totals).
    pub fn totals(&self) -> Result<TrackerTotals> {
        let mut raw = sys::ferrum_tracker_totals::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_tracker_get_totals(self.raw, &mut raw) })?;
        Ok((&raw).into())
    }
}

/// A tracker that the program owns.
#[derive(Debug)]
#[must_use = "dropping it destroys the tracker"]
pub struct AllocationTracker {
    view: TrackerView,
    _library: Library,
}

impl Drop for AllocationTracker {
    fn drop(&mut self) {
        if self.view.raw.id != 0 {
            // SAFETY: we own the handle.
            let status = unsafe { sys::ferrum_tracker_destroy(self.view.raw) };
            dropped("ferrum_tracker_destroy", status);
        }
    }
}

impl std::ops::Deref for AllocationTracker {
    type Target = TrackerView;

    fn deref(&self) -> &TrackerView {
        &self.view
    }
}

impl AllocationTracker {
    /// Creates an empty tracker.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_tracker_create`](crate::sys::ferrum_tracker_create).
    pub fn new(library: &Library) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_tracker_create(&mut raw) })?;
        Ok(Self {
            view: TrackerView::new(raw),
            _library: library.clone(),
        })
    }

    /// Destroys the tracker, as a drop does.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::NotInitialized`](crate::ErrorKind::NotInitialized). The error returns the object.
    /// C function: [`ferrum_tracker_destroy`](crate::sys::ferrum_tracker_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
        let closed = check(unsafe { sys::ferrum_tracker_destroy(self.view.raw) });
        if closed.is_ok() {
            self.view.raw = Default::default();
        }
        ended(closed, self)
    }

    /// The handle.
    pub fn raw(&self) -> sys::ferrum_tracker {
        self.view.raw
    }

    /// Returns the handle and does not destroy the tracker. The owner of the handle destroys it
    /// with [`ferrum_tracker_destroy`](crate::sys::ferrum_tracker_destroy), or creates an object of
    /// it with [`AllocationTracker::from_raw`].
    pub fn into_raw(mut self) -> sys::ferrum_tracker {
        std::mem::take(&mut self.view.raw)
    }

    /// Creates an object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live tracker that belongs to no manager and no pool, and no other code
    /// destroys it.
    pub unsafe fn from_raw(library: &Library, raw: sys::ferrum_tracker) -> Self {
        Self {
            view: TrackerView::new(raw),
            _library: library.clone(),
        }
    }

    /// Adds a buffer, or replaces the record with the same id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for id 0, an invalid
    /// location, a tag without a NUL or with invalid UTF-8;
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow) if the sum of all sizes does not fit 64
    /// bits.
    ///
    /// C function: [`ferrum_tracker_track`](crate::sys::ferrum_tracker_track).
    pub fn track(&self, metadata: &BufferMetadata) -> Result<()> {
        let raw = metadata.to_raw()?;
        // SAFETY: raw is valid during the call.
        check(unsafe { sys::ferrum_tracker_track(self.view.raw, &raw) })
    }

    /// Removes a buffer and returns its record; `None` if the id is unknown.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when it is not known.
    ///
    /// C function: [`ferrum_tracker_untrack`](crate::sys::ferrum_tracker_untrack).
    pub fn untrack(&self, id: BufferId) -> Result<Option<BufferMetadata>> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        let status = unsafe { sys::ferrum_tracker_untrack(self.view.raw, id.0, &mut raw) };
        found(&raw, status)
    }

    /// Removes all buffers. The peak stays.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_tracker_clear`](crate::sys::ferrum_tracker_clear).
    pub fn clear(&self) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_tracker_clear(self.view.raw) })
    }
}
