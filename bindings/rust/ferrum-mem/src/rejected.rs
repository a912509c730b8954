use std::fmt;

use crate::{Error, ErrorKind, Result};

/// The error of a call that ends an object, and the object.
///
/// Calls such as [`Memory::free`](crate::Memory::free),
/// [`HostMapping::unmap`](crate::HostMapping::unmap) and [`Pool::close`](crate::Pool::close) take
/// their object by value. If such a call fails, the object still exists and is returned here, so
/// that the caller can try again. `object` is an `Option` where a failed call can also end the
/// object.
///
/// In a function that returns [`Result`] the operator `?` keeps the error and drops the object. As
/// always, the drop ends the object:
///
/// ```no_run
/// # use ferrum_mem::{Manager, Result};
/// fn once(manager: &Manager) -> Result<()> {
///     manager.alloc(1 << 20)?.free()?;
///     Ok(())
/// }
/// ```
#[must_use = "dropping it drops the object, which ends the object by force"]
pub struct Rejected<T> {
    /// Why the call failed.
    pub error: Box<Error>,
    /// The object of the call.
    pub object: T,
}

impl<T> Rejected<T> {
    pub(crate) fn new(error: Error, object: T) -> Self {
        Self {
            error: Box::new(error),
            object,
        }
    }

    /// The kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.error.kind
    }
}

/// The result of a call that ends an object: nothing, or the error and the object.
pub(crate) fn ended<T>(result: Result<()>, object: T) -> std::result::Result<(), Rejected<T>> {
    result.map_err(|error| Rejected::new(error, object))
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> std::error::Error for Rejected<T> {}

impl<T> From<Rejected<T>> for Error {
    fn from(rejected: Rejected<T>) -> Self {
        *rejected.error
    }
}
