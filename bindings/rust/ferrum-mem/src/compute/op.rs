use std::fmt;
use std::sync::Arc;

use crate::compute::Compute;
use crate::ending::dropped;
use crate::error::check;
use crate::library::c_text;
use crate::parent::Parent;
use crate::rejected::{ended, Rejected};
use crate::stream::raw_of;
use crate::{sys, LoadMemory, Result, Stream, Tensor, TensorDescription, TensorLayout};

/// An input of a run; `None` is an absent one.
pub type OpInput<'a> = Option<&'a Tensor>;

/// An output of a run.
#[derive(Clone, Copy, Debug, Default)]
pub enum OpOutput<'a> {
    /// The call makes the tensor, contiguous and in the memory of the backend.
    #[default]
    New,
    /// A tensor with the type and the shape of the result. It may be the memory of an input only if
    /// the backend computes in place.
    To(&'a Tensor),
    /// The output is not wanted.
    Unwanted,
}

/// The result of [`Op::infer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inferred {
    /// The outputs, which have no place yet; `None`: it is not wanted.
    pub outputs: Vec<Option<TensorDescription>>,
    /// The memory that a run takes besides its outputs.
    pub workspace_bytes: u64,
}

/// An operation of a backend, prepared with its attributes. It runs any number of times, also on
/// several threads at a time.
#[must_use = "dropping it ends the operation"]
pub struct Op {
    raw: sys::ferrum_op,
    compute: Compute,
}

impl Drop for Op {
    fn drop(&mut self) {
        if self.raw.id != 0 {
            // SAFETY: this object owns the handle.
            let status = unsafe { sys::ferrum_op_destroy(self.raw) };
            dropped("ferrum_op_destroy", status);
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Op")
            .field("handle", &self.raw.id)
            .finish_non_exhaustive()
    }
}

impl Op {
    pub(super) fn prepare(
        compute: &Compute,
        name: &str,
        attributes: &str,
        opset: Option<u32>,
    ) -> Result<Self> {
        let name = c_text("ferrum_op_prepare", "name", name)?;
        let (text, size) = (attributes.as_ptr().cast(), attributes.len());
        let mut raw = Default::default();
        // SAFETY: the texts are valid during the call, raw is an output of it.
        check(unsafe {
            sys::ferrum_op_prepare(
                compute.raw(),
                name.as_ptr(),
                text,
                size,
                opset.unwrap_or(0),
                &mut raw,
            )
        })?;
        Ok(Self {
            raw,
            compute: compute.clone(),
        })
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_op {
        self.raw
    }

    /// The backend of the operation.
    pub fn compute(&self) -> &Compute {
        &self.compute
    }

    /// Infers the outputs of a run without running it. `wanted` has an entry for each output.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for inputs that the
    /// operator does not take, with both shapes;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a combination that the backend
    /// does not compute; [`ErrorKind::Overflow`](crate::ErrorKind::Overflow).
    ///
    /// C function: [`ferrum_op_infer`](crate::sys::ferrum_op_infer).
    pub fn infer(&self, inputs: &[Option<TensorLayout>], wanted: &[bool]) -> Result<Inferred> {
        let absent = || sys::ferrum_tensor_desc {
            flags: sys::FERRUM_ELEMENTS_ABSENT,
            ..Default::default()
        };
        let inputs = inputs.iter().map(|input| match input {
            Some(layout) => layout.raw("ferrum_op_infer"),
            None => Ok(absent()),
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let outputs = wanted.iter().map(|is_wanted| match is_wanted {
            true => Default::default(),
            false => absent(),
        });
        let mut outputs: Vec<sys::ferrum_tensor_desc> = outputs.collect();
        let mut workspace_bytes = 0;
        // SAFETY: the lists have the lengths that are passed, and each struct its size.
        check(unsafe {
            sys::ferrum_op_infer(
                self.raw,
                inputs.as_ptr(),
                inputs.len() as u64,
                outputs.as_mut_ptr(),
                outputs.len() as u64,
                &mut workspace_bytes,
            )
        })?;
        let outputs = outputs.iter().zip(wanted);
        Ok(Inferred {
            outputs: outputs
                .map(|(it, is_wanted)| is_wanted.then(|| TensorDescription::of(it)))
                .collect(),
            workspace_bytes,
        })
    }

    /// Runs the operation, in the order of the stream (`None`: the default stream), and returns the
    /// [new](OpOutput::New) outputs in their places. If the stream has no work, the operation is
    /// complete when the call returns. Otherwise it is queued, and
    /// [`synchronize`](Stream::synchronize) of the stream returns its error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for tensors that do not
    /// fit, with the operator, the input and both shapes;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported);
    /// [`ErrorKind::UnsupportedDevice`](crate::ErrorKind::UnsupportedDevice) for a tensor of another
    /// device; [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) for a read-only
    /// output; [`ErrorKind::Busy`](crate::ErrorKind::Busy) for a tensor whose memory sleeps;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory). After an error the outputs are as
    /// before.
    ///
    /// C function: [`ferrum_op_run`](crate::sys::ferrum_op_run).
    pub fn run(
        &self,
        inputs: &[OpInput<'_>],
        outputs: &[OpOutput<'_>],
        stream: Option<&Stream>,
    ) -> Result<Vec<Option<Tensor>>> {
        let lists = Lists::new(inputs, outputs);
        lists.call(&self.compute, outputs, |(inputs, count), (to, wanted)| {
            // SAFETY: the lists have the lengths that are passed.
            unsafe { sys::ferrum_op_run(self.raw, inputs, count, to, wanted, raw_of(stream)) }
        })
    }

    /// Runs an operation with one output, and returns it.
    ///
    /// # Errors
    ///
    /// Those of [`Op::run`].
    ///
    /// C function: [`ferrum_op_run`](crate::sys::ferrum_op_run).
    pub fn run_one(&self, inputs: &[&Tensor], stream: Option<&Stream>) -> Result<Tensor> {
        let inputs: Vec<OpInput<'_>> = inputs.iter().map(|it| Some(*it)).collect();
        let mut made = self.run(&inputs, &[OpOutput::New], stream)?;
        Ok(made.remove(0).expect("a new output is returned"))
    }

    /// Packs a constant input, such as a matrix of weights, into the layout that the backend reads
    /// fastest. The packed tensor replaces the input in runs of this operation, and no other call
    /// reads its elements. It is in the memory (`None`: that of the backend), and sleeps with it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an input or a type without such
    /// a layout; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for an input that
    /// the operator does not have; the errors of [`Op::run`] and [`Tensor::create`].
    ///
    /// C function: [`ferrum_op_pack`](crate::sys::ferrum_op_pack).
    pub fn pack(
        &self,
        input: u32,
        tensor: &Tensor,
        memory: Option<&LoadMemory<'_>>,
        stream: Option<&Stream>,
    ) -> Result<Tensor> {
        let mut raw = Default::default();
        let mut packed = |memory: &sys::ferrum_weights_memory| {
            let (tensor, stream) = (tensor.raw(), raw_of(stream));
            // SAFETY: the memory is valid during the call, raw is an output of it.
            check(unsafe { sys::ferrum_op_pack(self.raw, input, tensor, memory, stream, &mut raw) })
        };
        let parent = match memory {
            None => {
                // Without a handle it is the memory of the backend. SAFETY: all fields are numbers
                // and pointers, for which zero is a valid value.
                packed(&unsafe { std::mem::zeroed() })?;
                Parent::Compute(self.compute.clone())
            }
            Some(memory) => {
                memory.with_raw("ferrum_op_pack", packed)?;
                memory.parent()
            }
        };
        Tensor::own(raw, parent)
    }

    /// Ends the operation, as a drop does.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::NotInitialized`](crate::ErrorKind::NotInitialized). The error returns the
    /// operation.
    ///
    /// C function: [`ferrum_op_destroy`](crate::sys::ferrum_op_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
        let closed = check(unsafe { sys::ferrum_op_destroy(self.raw) });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// Returns the handle and does not end the operation. Its backend must stay open.
    pub fn into_raw(mut self) -> sys::ferrum_op {
        std::mem::take(&mut self.raw)
    }

    /// Creates an object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live operation of the backend, and no other code ends it.
    pub unsafe fn from_raw(compute: &Compute, raw: sys::ferrum_op) -> Self {
        Self {
            raw,
            compute: compute.clone(),
        }
    }
}

/// The tensors of a run in the form of C.
pub(super) struct Lists {
    inputs: Vec<sys::ferrum_tensor>,
    outputs: Vec<sys::ferrum_tensor>,
}

impl Lists {
    pub(super) fn new(inputs: &[OpInput<'_>], outputs: &[OpOutput<'_>]) -> Self {
        let inputs = inputs.iter().map(|it| it.map(Tensor::raw));
        let outputs = outputs.iter().map(|it| match it {
            OpOutput::New => Default::default(),
            OpOutput::To(tensor) => tensor.raw(),
            OpOutput::Unwanted => sys::ferrum_tensor {
                id: sys::FERRUM_TENSOR_UNWANTED,
            },
        });
        Self {
            inputs: inputs.map(Option::unwrap_or_default).collect(),
            outputs: outputs.collect(),
        }
    }

    /// Makes the call, and returns the outputs that it has made.
    pub(super) fn call(
        mut self,
        compute: &Compute,
        outputs: &[OpOutput<'_>],
        call: impl FnOnce(
            (*const sys::ferrum_tensor, u64),
            (*mut sys::ferrum_tensor, u64),
        ) -> sys::ferrum_status,
    ) -> Result<Vec<Option<Tensor>>> {
        let inputs = (self.inputs.as_ptr(), self.inputs.len() as u64);
        let to = (self.outputs.as_mut_ptr(), self.outputs.len() as u64);
        check(call(inputs, to))?;
        let parent = Arc::new(Parent::Compute(compute.clone()));
        let made = self.outputs.iter().zip(outputs).map(|(raw, output)| {
            let is_new = matches!(output, OpOutput::New);
            is_new
                .then(|| Tensor::own(*raw, parent.clone()))
                .transpose()
        });
        // All are objects before an error is returned, which drops them.
        let made: Vec<_> = made.collect();
        made.into_iter().collect()
    }
}
