use crate::error::check;
use crate::library::Library;
use crate::{sys, DummyConfig, DummyOrder, Result};

/// A list of items.
#[derive(Debug)]
pub struct Dummy {
    raw: sys::ferrum_dummy,
    _library: Library,
}

impl Drop for Dummy {
    fn drop(&mut self) {
        // SAFETY: this object owns the handle.
        unsafe { sys::ferrum_dummy_destroy(self.raw, sys::FERRUM_FORCE) };
    }
}

impl Dummy {
    /// Creates a dummy without items.
    pub fn create(library: &Library, config: &DummyConfig) -> Result<Self> {
        let mut raw = Default::default();
        config.with_raw("ferrum_dummy_create", |config| {
            // SAFETY: config is valid during the call, and raw is an output.
            check(unsafe { sys::ferrum_dummy_create(config, &mut raw) })
        })?;
        Ok(Self {
            raw,
            _library: library.clone(),
        })
    }

    /// Returns the handle.
    pub fn raw(&self) -> sys::ferrum_dummy {
        self.raw
    }

    /// Starts to sort the items.
    pub fn sort(&self, order: DummyOrder) -> Result<DummyJob> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_dummy_sort(self.raw, order.to_raw(), &mut raw) })?;
        Ok(DummyJob {
            raw,
            _library: self._library.clone(),
        })
    }
}

/// A long operation on a dummy.
#[derive(Debug)]
pub struct DummyJob {
    raw: sys::ferrum_dummy_job,
    _library: Library,
}

impl Drop for DummyJob {
    fn drop(&mut self) {
        // SAFETY: this object owns the handle.
        unsafe { sys::ferrum_dummy_job_destroy(self.raw, sys::FERRUM_FORCE) };
    }
}

impl DummyJob {
    /// Returns the handle.
    pub fn raw(&self) -> sys::ferrum_dummy_job {
        self.raw
    }
}
