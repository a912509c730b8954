//! Closures of objects whose handle the program has taken with `into_raw`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Closures of one kind of handle, by the handle's id. No other handle of the process gets that id.
pub(crate) struct Kept<T>(Mutex<BTreeMap<u64, T>>);

impl<T> Kept<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    pub(crate) fn put(&self, id: u64, closure: T) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(id, closure);
    }

    pub(crate) fn take(&self, id: u64) -> Option<T> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&id)
    }
}
