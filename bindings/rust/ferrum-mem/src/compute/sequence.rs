use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::compute::op::{Lists, Op, OpInput, OpOutput};
use crate::compute::Compute;
use crate::ending::dropped;
use crate::error::check;
use crate::parent::Parent;
use crate::rejected::{ended, Rejected};
use crate::stream::raw_of;
use crate::{sys, Result, Stream, Tensor};

/// Operations with fixed tensors, which run in one call. It keeps its tensors.
#[must_use = "dropping it ends the sequence"]
pub struct Sequence {
    raw: sys::ferrum_sequence,
    compute: Compute,
    /// The owners of the memory of its tensors.
    parents: Mutex<Vec<Arc<Parent>>>,
}

impl Drop for Sequence {
    fn drop(&mut self) {
        if self.raw.id == 0 {
            return;
        }
        // SAFETY: this object owns the handle.
        let end = || unsafe { sys::ferrum_sequence_destroy(self.raw) };
        let mut status = end();
        if status == sys::FERRUM_ERROR_BUSY {
            // A queued run ends with the work of the device. Its error, if it fails, is in the
            // status of the backend.
            let _ = self.compute.synchronize(None);
            status = end();
        }
        dropped("ferrum_sequence_destroy", status);
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence")
            .field("handle", &self.raw.id)
            .finish_non_exhaustive()
    }
}

impl Sequence {
    pub(super) fn create(compute: &Compute) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_sequence_create(compute.raw(), &mut raw) })?;
        // SAFETY: the handle was just made.
        Ok(unsafe { Self::from_raw(compute, raw) })
    }

    /// Adds a run of an operation, and returns the new outputs in their places. A new output can be
    /// an input of the next operation at once. The elements of shapes, axes and sizes are read now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for an operation of another
    /// backend; [`ErrorKind::Busy`](crate::ErrorKind::Busy) while the sequence runs; the errors of
    /// [`Op::run`]. After an error the sequence and the outputs are as before.
    ///
    /// C function: [`ferrum_sequence_add`](crate::sys::ferrum_sequence_add).
    pub fn add(
        &self,
        op: &Op,
        inputs: &[OpInput<'_>],
        outputs: &[OpOutput<'_>],
    ) -> Result<Vec<Option<Tensor>>> {
        let lists = Lists::new(inputs, outputs);
        let made = lists.call(&self.compute, outputs, |(inputs, count), (to, wanted)| {
            // SAFETY: the lists have the lengths that are passed.
            unsafe { sys::ferrum_sequence_add(self.raw, op.raw(), inputs, count, to, wanted) }
        })?;
        let given = outputs.iter().filter_map(|it| match it {
            OpOutput::To(tensor) => Some(*tensor),
            _ => None,
        });
        let kept = inputs.iter().flatten().copied().chain(given);
        let mut parents = self.parents.lock().unwrap_or_else(PoisonError::into_inner);
        parents.extend(kept.map(|tensor| tensor.parent().clone()));
        Ok(made)
    }

    /// Runs all operations, in the order of the stream (`None`: the default stream). The first run
    /// after an addition makes the workspace.
    ///
    /// # Errors
    ///
    /// Those of [`Op::run`]. If an operation fails, those before it have run.
    ///
    /// C function: [`ferrum_sequence_run`](crate::sys::ferrum_sequence_run).
    pub fn run(&self, stream: Option<&Stream>) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_sequence_run(self.raw, raw_of(stream)) })
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_sequence {
        self.raw
    }

    /// Ends the sequence. Unlike a drop, it does not wait for a queued run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it runs or a run is queued. The error
    /// returns the sequence.
    ///
    /// C function: [`ferrum_sequence_destroy`](crate::sys::ferrum_sequence_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
        let closed = check(unsafe { sys::ferrum_sequence_destroy(self.raw) });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// Returns the handle and does not end the sequence. Its backend, and the owners of the memory
    /// of its tensors, must stay open.
    pub fn into_raw(mut self) -> sys::ferrum_sequence {
        std::mem::take(&mut self.raw)
    }

    /// Creates an object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live sequence of the backend, and no other code ends it. The owners of the
    /// memory of its tensors stay open as long as the object.
    pub unsafe fn from_raw(compute: &Compute, raw: sys::ferrum_sequence) -> Self {
        Self {
            raw,
            compute: compute.clone(),
            parents: Mutex::default(),
        }
    }
}
