use std::sync::Arc;
use std::time::Duration;

use crate::callback;
use crate::device::Device;
use crate::ending::dropped;
use crate::error::{check, Error};
use crate::raw::optional_ns;
use crate::rejected::{ended, Rejected};
use crate::sharing::EnqueueFn;
use crate::{sys, AddressCopy, ErrorKind, Result};

/// Nanoseconds for C; `None` waits without a limit.
pub(crate) fn timeout_ns(timeout: Option<Duration>) -> u64 {
    optional_ns(timeout, sys::FERRUM_WAIT_FOREVER)
}

/// The handle of an optional stream; `None` is the device's default stream.
pub(crate) fn raw_of(stream: Option<&Stream>) -> sys::ferrum_stream {
    stream.map_or_else(Default::default, |s| s.raw)
}

/// An ordered queue of work on a device. Dropping it waits for its work.
#[must_use = "dropping it waits for its work and destroys the stream"]
pub struct Stream {
    raw: sys::ferrum_stream,
    /// The default stream belongs to its device.
    owned: bool,
    device: Device,
    /// The closure that queues the work of an adopted stream.
    _closure: Option<Arc<EnqueueFn>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: we own the handle.
            let status = unsafe { sys::ferrum_stream_destroy(self.raw, sys::FERRUM_FORCE) };
            dropped("ferrum_stream_destroy", status);
        }
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("handle", &self.raw.id)
            .finish_non_exhaustive()
    }
}

impl Stream {
    pub(crate) fn own(
        raw: sys::ferrum_stream,
        device: &Device,
        closure: Option<Arc<EnqueueFn>>,
    ) -> Self {
        Self {
            raw,
            owned: true,
            device: device.clone(),
            _closure: closure,
        }
    }

    /// Queues many copies by address on the stream and returns. All memory is of its device. Every
    /// copy is checked before the first one is queued.
    ///
    /// The copies run in any order. No destination may overlap the source or the destination of
    /// another copy; sources may overlap.
    ///
    /// # Safety
    ///
    /// The memory stays allocated and mapped until the copies are done. Until then no other code
    /// reads or writes the destinations, and no code writes the sources; no reference to a
    /// destination exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a size of 0,
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for an overlap,
    /// [`ErrorKind::InvalidAddress`](crate::ErrorKind::InvalidAddress) for memory that is not of
    /// the device or is not mapped. The message states the index of the first wrong copy.
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) if the queue is full.
    /// See [`ferrum_stream_copy_batch`](crate::sys::ferrum_stream_copy_batch).
    pub unsafe fn copy_batch(&self, copies: &[AddressCopy]) -> Result<()> {
        let raw: Vec<_> = copies.iter().map(AddressCopy::raw).collect();
        // SAFETY: the list has the length that is passed; the caller guarantees the rest.
        check(unsafe { sys::ferrum_stream_copy_batch(self.raw, raw.as_ptr(), raw.len() as u64) })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn create(device: &Device) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_stream_create(device.raw(), &mut raw) })?;
        Ok(Self {
            raw,
            owned: true,
            device: device.clone(),
            _closure: None,
        })
    }

    pub(crate) fn default_of(device: &Device) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_stream_default(device.raw(), &mut raw) })?;
        Ok(Self {
            raw,
            owned: false,
            device: device.clone(),
            _closure: None,
        })
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_stream {
        self.raw
    }

    /// Destroys the stream without waiting, unlike a drop. Does nothing for the default stream,
    /// which ends with its device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while work is queued. The error returns the
    /// stream.
    ///
    /// C function: [`ferrum_stream_destroy`](crate::sys::ferrum_stream_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        if !self.owned {
            return Ok(());
        }
        // SAFETY: we own the handle.
        let closed = check(unsafe { sys::ferrum_stream_destroy(self.raw, 0) });
        self.owned = closed.is_err();
        ended(closed, self)
    }

    /// Returns the handle and does not destroy the stream. The owner of the handle destroys it with
    /// [`ferrum_stream_destroy`](crate::sys::ferrum_stream_destroy), or creates an object from it
    /// with [`Stream::from_raw`]. The stream ends at the latest with its device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for a stream of
    /// [`Stream::adopt`], because its closure belongs to it, and for a default stream, which
    /// belongs to its device. The error returns the stream. It calls no C function.
    pub fn into_raw(mut self) -> std::result::Result<sys::ferrum_stream, Rejected<Self>> {
        let problem = if !self.owned {
            Some("the device owns its default stream")
        } else if self._closure.is_some() {
            Some("a stream of Stream::adopt owns a closure")
        } else {
            None
        };
        if let Some(message) = problem {
            let message = message.to_owned();
            let error = Error::found(ErrorKind::InvalidState, "Stream::into_raw", message);
            return Err(Rejected::new(error, self));
        }
        self.owned = false;
        Ok(self.raw)
    }

    /// Creates a stream object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live stream of the device that is not its default stream, and no other
    /// code destroys it.
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_stream) -> Self {
        Self::own(raw, device, None)
    }

    /// Records the current end of the queue as an event.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_event_record`](crate::sys::ferrum_event_record).
    pub fn record(&self) -> Result<Event> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_event_record(self.raw, &mut raw) })?;
        Ok(Event {
            raw,
            _device: self.device.clone(),
        })
    }

    /// Queues a call of the closure, once, on a thread of the library. The closure must not wait
    /// for a stream.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) if 1,048,576 calls of
    /// the stream have not begun. If the call needs a new thread and the system cannot create one:
    /// the same, or the error of the system. docs/hosts.md states how many threads are kept.
    ///
    /// C function: [`ferrum_stream_host_function`](crate::sys::ferrum_stream_host_function).
    pub fn call(&self, closure: impl FnOnce() + Send + 'static) -> Result<()> {
        callback::host_function(self.raw, Box::new(closure))
    }
}

/// A point in a stream's queue.
#[derive(Debug)]
#[must_use = "dropping it destroys the event"]
pub struct Event {
    raw: sys::ferrum_event,
    _device: Device,
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.raw.id != 0 {
            // SAFETY: we own the handle.
            let status = unsafe { sys::ferrum_event_destroy(self.raw) };
            dropped("ferrum_event_destroy", status);
        }
    }
}

impl Event {
    pub(crate) fn own(raw: sys::ferrum_event, device: &Device) -> Self {
        Self {
            raw,
            _device: device.clone(),
        }
    }

    pub(crate) fn raw(&self) -> sys::ferrum_event {
        self.raw
    }

    /// Destroys the handle of the event, as a drop does.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::NotInitialized`](crate::ErrorKind::NotInitialized). The error returns the
    /// object.
    /// C function: [`ferrum_event_destroy`](crate::sys::ferrum_event_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
        let closed = check(unsafe { sys::ferrum_event_destroy(self.raw) });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// Returns the handle and does not destroy the event. The owner of the handle destroys it with
    /// [`ferrum_event_destroy`](crate::sys::ferrum_event_destroy), or creates an object from it with
    /// [`Event::from_raw`]. The event ends at the latest with its device.
    pub fn into_raw(mut self) -> sys::ferrum_event {
        std::mem::take(&mut self.raw)
    }

    /// Creates an event object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live event of the device, and no other code destroys it.
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_event) -> Self {
        Self::own(raw, device)
    }

    /// Nanoseconds from this event to another of the same device; negative if the other completed
    /// first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if one of them has not
    /// completed; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if they are of
    /// different devices.
    ///
    /// C function: [`ferrum_event_elapsed`](crate::sys::ferrum_event_elapsed).
    pub fn nanoseconds_until(&self, end: &Event) -> Result<i64> {
        let mut elapsed = 0;
        // SAFETY: elapsed is an output of the call.
        check(unsafe { sys::ferrum_event_elapsed(self.raw, end.raw, &mut elapsed) })?;
        Ok(elapsed)
    }
}
