//! How objects end: by a call that can fail, or by a drop.

use std::sync::Arc;

use crate::callback::log;
use crate::error::{check, Error};
use crate::rejected::Rejected;
use crate::{sys, ErrorKind, LogLevel};

/// The shared state of the clones of an object. It owns a handle.
pub(crate) trait Owned: Sized {
    /// The C function that destroys it.
    const END: &'static str;
    /// Calls that function, with 0 or `FERRUM_FORCE`.
    fn end(&self, flags: u32) -> sys::ferrum_status;
    /// Gives up the handle, so that a drop destroys nothing.
    fn release(&mut self);
}

/// Destroys the shared state if this is its last clone; otherwise returns the object.
pub(crate) fn close<M: Owned, T>(
    shared: Arc<M>,
    again: impl Fn(Arc<M>) -> T,
) -> Result<(), Rejected<T>> {
    let mut owned = last(shared, M::END, &again)?;
    if let Err(error) = check(owned.end(0)) {
        return Err(Rejected::new(error, again(Arc::new(owned))));
    }
    owned.release();
    Ok(())
}

/// Takes the handle out of the shared state if this is its last clone.
pub(crate) fn take<M: Owned, T, H>(
    shared: Arc<M>,
    again: impl Fn(Arc<M>) -> T,
    handle: impl FnOnce(&M) -> H,
) -> Result<H, Rejected<T>> {
    let mut owned = last(shared, M::END, &again)?;
    let taken = handle(&owned);
    owned.release();
    Ok(taken)
}

fn last<M, T>(
    shared: Arc<M>,
    function: &str,
    again: impl Fn(Arc<M>) -> T,
) -> Result<M, Rejected<T>> {
    Arc::try_unwrap(shared).map_err(|shared| {
        let others = Arc::strong_count(&shared) - 1;
        let message = format!(
            "the object is in use: {others} clones of it, or objects that belong to it, exist"
        );
        Rejected::new(
            Error::found(ErrorKind::Busy, function, message),
            again(shared),
        )
    })
}

/// Logs that the destruction of a dropped object has failed.
pub(crate) fn dropped(function: &str, status: sys::ferrum_status) {
    if status >= 0 || status == sys::FERRUM_ERROR_FORKED {
        return;
    }
    let error = Error::last(status);
    log(LogLevel::Error, || {
        format!("{function} failed while an object was dropped: {error}")
    });
}

/// The end of an object whose clones share a handle: by `close`, by `into_raw` or by a drop.
/// `$made` is the shared state; its field `raw` is the handle. `$before` is called before the
/// handle is destroyed. An object with `$borrowed` destroys nothing.
macro_rules! shared_handle {
    ($object:ident { $field:ident: $made:ident } of $raw:ident, $what:literal, $end:ident
     $(, before $before:path)? $(, unless $borrowed:ident)?) => {
        impl crate::ending::Owned for $made {
            const END: &'static str = stringify!($end);

            fn end(&self, flags: u32) -> sys::ferrum_status {
                $($before(self);)?
                // SAFETY: we own the handle, and the dependents of the object have ended before.
                unsafe { sys::$end(self.raw, flags) }
            }

            fn release(&mut self) {
                self.raw = Default::default();
            }
        }

        impl Drop for $made {
            fn drop(&mut self) {
                use crate::ending::Owned;
                if self.raw.id != 0 $(&& !self.$borrowed)? {
                    crate::ending::dropped(Self::END, self.end(sys::FERRUM_FORCE));
                }
            }
        }

        impl std::fmt::Debug for $object {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let handle = self.$field.raw.id;
                f.debug_tuple(stringify!($object)).field(&format_args!("{handle:#x}")).finish()
            }
        }

        impl $object {
            #[doc = concat!("Ends the ", $what, " without `FERRUM_FORCE`, which a drop uses.")]
            ///
            /// # Errors
            ///
            /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a clone of it exists, or an object that
            #[doc = concat!("belongs to it. The error returns the ", $what, ".")]
            #[doc = concat!("C function: [`", stringify!($end), "`](crate::sys::", stringify!($end), ").")]
            pub fn close(self) -> std::result::Result<(), crate::Rejected<Self>> {
                $(if self.$field.$borrowed {
                    return Ok(());
                })?
                crate::ending::close(self.$field, |$field| Self { $field })
            }

            #[doc = concat!("Returns the handle and does not end the ", $what, ". The owner of the handle ends it with")]
            #[doc = concat!("[`", stringify!($end), "`](crate::sys::", stringify!($end), "), or creates an")]
            #[doc = concat!("object from it with [`", stringify!($object), "::from_raw`].")]
            ///
            /// The parent of the object must stay open: a forced close of its device ends the handle.
            ///
            /// # Errors
            ///
            /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a clone of it exists, or an object that
            #[doc = concat!("belongs to it. The error returns the ", $what, ".")]
            /// It calls no C function.
            pub fn into_raw(self) -> std::result::Result<sys::$raw, crate::Rejected<Self>> {
                crate::ending::take(self.$field, |$field| Self { $field }, |$field| $field.raw)
            }
        }
    };
}

pub(crate) use shared_handle;
