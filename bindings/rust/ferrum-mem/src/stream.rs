use std::sync::Arc;
use std::time::Duration;

use crate::callback;
use crate::device::Device;
use crate::error::check;
use crate::raw::optional_ns;
use crate::sharing::EnqueueFn;
use crate::{sys, Result};

/// Nanoseconds for C; none waits for ever.
pub(crate) fn timeout_ns(timeout: Option<Duration>) -> u64 {
    optional_ns(timeout, sys::FERRUM_WAIT_FOREVER)
}

/// The handle of an optional stream; none is the device's default one.
pub(crate) fn raw_of(stream: Option<&Stream>) -> sys::ferrum_stream {
    stream.map_or_else(Default::default, |s| s.raw)
}

/// An ordered queue of work on a device. Dropping it waits for its work.
pub struct Stream {
    raw: sys::ferrum_stream,
    /// The default stream belongs to its device.
    owned: bool,
    device: Device,
    /// What an adopted stream queues with.
    _closure: Option<Arc<EnqueueFn>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the handle is ours.
            unsafe { sys::ferrum_stream_destroy(self.raw, sys::FERRUM_FORCE) };
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

    /// Marks the present end of the queue.
    pub fn record(&self) -> Result<Event> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_event_record(self.raw, &mut raw) })?;
        Ok(Event {
            raw,
            _device: self.device.clone(),
        })
    }

    /// Queues a call of the closure, once, on a thread of the library. The
    /// closure may not wait for a stream.
    pub fn call(&self, closure: impl FnOnce() + Send + 'static) -> Result<()> {
        callback::host_function(self.raw, Box::new(closure))
    }
}

/// A point in a stream's queue.
#[derive(Debug)]
pub struct Event {
    raw: sys::ferrum_event,
    _device: Device,
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the handle is ours.
        unsafe { sys::ferrum_event_destroy(self.raw) };
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

    /// Nanoseconds from this event to another of the same device; negative when
    /// the other was passed first.
    pub fn nanoseconds_until(&self, end: &Event) -> Result<i64> {
        let mut elapsed = 0;
        // SAFETY: elapsed is an output of the call.
        check(unsafe { sys::ferrum_event_elapsed(self.raw, end.raw, &mut elapsed) })?;
        Ok(elapsed)
    }
}
