//! Names under which the parts of a program find executors.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::check;
use crate::library::{c_text, json_of};
use crate::model::executor::{Executor, Keeps};
use crate::{sys, Error, ErrorKind, Library, Result};

/// Backend and pool of each executor that has a name from [`Executor::add_name`]. They stay open as
/// long as the name.
static NAMED: Mutex<BTreeMap<String, Keeps>> = Mutex::new(BTreeMap::new());

fn named() -> MutexGuard<'static, BTreeMap<String, Keeps>> {
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(function: &str, name: &str) -> Error {
    let message = format!("no executor of this crate has the name {name:?}");
    Error::found(ErrorKind::NotFound, function, message)
}

impl Executor {
    /// Gives the model a name of 1 to 63 bytes, under which [`Library::find_executor`] finds it. The
    /// name keeps the model, its backend and its pool until [`Library::remove_executor_name`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for a name that is in use;
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for an invalid one.
    ///
    /// C function: [`ferrum_executor_add_name`](crate::sys::ferrum_executor_add_name).
    pub fn add_name(&self, name: &str) -> Result<()> {
        let text = c_text("ferrum_executor_add_name", "name", name)?;
        let mut named = named();
        // SAFETY: the name is valid during the call.
        check(unsafe { sys::ferrum_executor_add_name(self.raw(), text.as_ptr()) })?;
        named.insert(name.to_owned(), self.keeps().clone());
        Ok(())
    }
}

impl Library {
    /// Finds a model by its name from [`Executor::add_name`]. The object is a further handle of it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound).
    ///
    /// C function: [`ferrum_executor_find`](crate::sys::ferrum_executor_find).
    pub fn find_executor(&self, name: &str) -> Result<Executor> {
        const FUNCTION: &str = "ferrum_executor_find";
        let text = c_text(FUNCTION, "name", name)?;
        let named = named();
        let keeps = named.get(name).ok_or_else(|| missing(FUNCTION, name))?;
        let mut raw = Default::default();
        // SAFETY: the name is valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_executor_find(text.as_ptr(), &mut raw) })?;
        Ok(Executor::of(raw, keeps.clone()))
    }

    /// Ends a name from [`Executor::add_name`], and returns the handle that it had.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound).
    ///
    /// C function: [`ferrum_executor_remove_name`](crate::sys::ferrum_executor_remove_name).
    pub fn remove_executor_name(&self, name: &str) -> Result<Executor> {
        const FUNCTION: &str = "ferrum_executor_remove_name";
        let text = c_text(FUNCTION, "name", name)?;
        let mut named = named();
        let keeps = named.remove(name).ok_or_else(|| missing(FUNCTION, name))?;
        let mut raw = Default::default();
        // SAFETY: the name is valid during the call, raw is an output of it.
        let removed = unsafe { sys::ferrum_executor_remove_name(text.as_ptr(), &mut raw) };
        // The end of the backend may call the library: not while the names are locked.
        drop(named);
        check(removed)?;
        Ok(Executor::of(raw, keeps))
    }

    /// The executors that have a name, as JSON: `executors` in the order of the names, each with its
    /// name and the fields of [`Executor::info_json`].
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_executors_json`](crate::sys::ferrum_executors_json).
    pub fn executors_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe { sys::ferrum_executors_json(to, room, length) })
    }
}
