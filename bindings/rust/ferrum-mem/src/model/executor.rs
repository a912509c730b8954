use std::sync::Arc;
use std::time::Duration;

use crate::ending::shared_handle;
use crate::error::check;
use crate::library::{c_text, json_of};
use crate::parent::Parent;
use crate::sleep::{sleep_with, wake_with};
use crate::stream::{raw_of, timeout_ns, Stream};
use crate::{
    sys, Compute, ElasticPool, Result, SleepReport, SleepRequest, Tensor, WakeReport, WakeRequest,
};

/// A built model that can run. Clones share one handle. The model ends after its last handle and
/// its last name.
///
/// ```no_run
/// # use std::path::Path;
/// # use ferrum_mem::{BuildRequest, Compute, ElasticPool, Executor, ModelSource, Result, Tensor};
/// # fn embed(compute: &Compute, pool: &ElasticPool, ids: &Tensor, mask: &Tensor) -> Result<()> {
/// let source = ModelSource::Path(Path::new("minilm"));
/// let model = Executor::build(&BuildRequest::new(source, compute, pool))?;
/// let inputs = [("input_ids", ids), ("attention_mask", mask)];
/// let hidden = model.run(&inputs, &["last_hidden_state"])?.remove(0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "dropping it ends the handle, and the last one frees the model"]
pub struct Executor {
    made: Arc<Made>,
}

struct Made {
    raw: sys::ferrum_executor,
    /// They end after the executor.
    keeps: Keeps,
}

/// What an executor computes with.
#[derive(Clone)]
pub(super) struct Keeps {
    compute: Compute,
    pool: ElasticPool,
}

shared_handle!(Executor { made: Made } of ferrum_executor, "executor", ferrum_executor_destroy);

impl Executor {
    pub(super) fn own(compute: &Compute, pool: &ElasticPool, raw: sys::ferrum_executor) -> Self {
        let (compute, pool) = (compute.clone(), pool.clone());
        Self::of(raw, Keeps { compute, pool })
    }

    pub(super) fn of(raw: sys::ferrum_executor, keeps: Keeps) -> Self {
        Self {
            made: Arc::new(Made { raw, keeps }),
        }
    }

    pub(super) fn keeps(&self) -> &Keeps {
        &self.made.keeps
    }

    /// Creates an object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live executor with this backend and this pool, and no other code destroys
    /// it.
    pub unsafe fn from_raw(
        compute: &Compute,
        pool: &ElasticPool,
        raw: sys::ferrum_executor,
    ) -> Self {
        Self::own(compute, pool, raw)
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_executor {
        self.made.raw
    }

    /// The backend that computes.
    pub fn compute(&self) -> &Compute {
        &self.made.keeps.compute
    }

    /// The pool with the memory of the model.
    pub fn pool(&self) -> &ElasticPool {
        &self.made.keeps.pool
    }

    /// Runs the model, and returns the named outputs in their order, in the memory of the backend.
    /// Returns when they are complete. Runs of one model follow each other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a name that is missing
    /// or unknown, for shapes that do not fit, with both, and for an id that is not in the
    /// vocabulary; [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory). A run waits while the
    /// model sleeps.
    ///
    /// C function: [`ferrum_executor_run`](crate::sys::ferrum_executor_run).
    pub fn run(&self, inputs: &[(&str, &Tensor)], outputs: &[&str]) -> Result<Vec<Tensor>> {
        let outputs: Vec<_> = outputs.iter().map(|name| (*name, None)).collect();
        let made = self.run_with(inputs, &outputs, None, None)?;
        Ok(made.into_iter().flatten().collect())
    }

    /// Runs the model, and writes the named outputs into tensors with the type and the shape of the
    /// result. After an error these have no meaning.
    ///
    /// # Errors
    ///
    /// Those of [`Executor::run`].
    ///
    /// C function: [`ferrum_executor_run`](crate::sys::ferrum_executor_run).
    pub fn run_into(&self, inputs: &[(&str, &Tensor)], outputs: &[(&str, &Tensor)]) -> Result<()> {
        let outputs: Vec<_> = outputs
            .iter()
            .map(|(name, to)| (*name, Some(*to)))
            .collect();
        self.run_with(inputs, &outputs, None, None).map(|_| ())
    }

    /// Runs the model after the work that is queued on the stream (`None`: the default stream). An
    /// output without a tensor is a new one, and is returned in its place. `timeout` is the longest
    /// wait for other calls of the model, and for a sleeping model to wake; `None`: no limit; zero:
    /// fail if the call has to wait.
    ///
    /// # Errors
    ///
    /// Those of [`Executor::run`], and [`ErrorKind::Busy`](crate::ErrorKind::Busy) and
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout).
    ///
    /// C function: [`ferrum_executor_run`](crate::sys::ferrum_executor_run).
    pub fn run_with(
        &self,
        inputs: &[(&str, &Tensor)],
        outputs: &[(&str, Option<&Tensor>)],
        stream: Option<&Stream>,
        timeout: Option<Duration>,
    ) -> Result<Vec<Option<Tensor>>> {
        const FUNCTION: &str = "ferrum_executor_run";
        let names = |all: &mut dyn Iterator<Item = &str>| {
            all.map(|name| c_text(FUNCTION, "name", name))
                .collect::<Result<Vec<_>>>()
        };
        let input_names = names(&mut inputs.iter().map(|it| it.0))?;
        let output_names = names(&mut outputs.iter().map(|it| it.0))?;
        let named = |name: &std::ffi::CString, tensor: Option<&Tensor>| sys::ferrum_named_tensor {
            name: name.as_ptr(),
            tensor: tensor.map(Tensor::raw).unwrap_or_default(),
        };
        let given = input_names.iter().zip(inputs);
        let given: Vec<_> = given.map(|(name, it)| named(name, Some(it.1))).collect();
        let wanted = output_names.iter().zip(outputs);
        let mut wanted: Vec<_> = wanted.map(|(name, it)| named(name, it.1)).collect();
        // SAFETY: the lists have the lengths that are passed, and their names are valid.
        check(unsafe {
            sys::ferrum_executor_run(
                self.raw(),
                given.as_ptr(),
                given.len() as u64,
                wanted.as_mut_ptr(),
                wanted.len() as u64,
                raw_of(stream),
                timeout_ns(timeout),
            )
        })?;
        let parent = Arc::new(Parent::Compute(self.compute().clone()));
        let made = wanted.iter().zip(outputs).map(|(it, output)| {
            let is_new = output.1.is_none();
            is_new
                .then(|| Tensor::own(it.tensor, parent.clone()))
                .transpose()
        });
        // All are objects before an error is returned, which drops them.
        let made: Vec<_> = made.collect();
        made.into_iter().collect()
    }

    /// The memory of the activations for given lengths of the dimensions, such as
    /// `{"batch": 8, "sequence": 128}`, as JSON with the fields of docs/models.md. Allocates no
    /// memory of the device; the model may sleep.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a dimension that is
    /// missing or unknown, and for a length that the model does not take.
    ///
    /// C function: [`ferrum_executor_plan_json`](crate::sys::ferrum_executor_plan_json).
    pub fn plan_json(&self, dimensions_json: &str) -> Result<String> {
        let (text, size) = (dimensions_json.as_ptr().cast(), dimensions_json.len());
        // SAFETY: the text has the length and the buffer the capacity that are passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_executor_plan_json(self.raw(), text, size, to, room, length)
        })
    }

    /// Its state, as JSON with the fields of docs/models.md: memory, inputs, outputs and counters.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_executor_info_json`](crate::sys::ferrum_executor_info_json).
    pub fn info_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_executor_info_json(self.raw(), to, room, length)
        })
    }

    /// The definition that it runs, after the passes, as JSON.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_executor_definition_json`](crate::sys::ferrum_executor_definition_json).
    pub fn definition_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_executor_definition_json(self.raw(), to, room, length)
        })
    }

    /// What its build did, as JSON with the fields of docs/models.md: warnings, the result of each
    /// pass, the time of each part and its estimate.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_executor_report_json`](crate::sys::ferrum_executor_report_json).
    pub fn report_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_executor_report_json(self.raw(), to, room, length)
        })
    }

    /// Copies the parameters to host memory or a file, and releases the pages of parameters and
    /// activations. Addresses and plans stay. The request has no tag and no stream, and its backing
    /// is not [`SleepBacking::Discard`](crate::SleepBacking::Discard).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if the model sleeps;
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout), and with a timeout of zero
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy), while another call uses the model; the errors of
    /// [`Model::sleep`](crate::Model::sleep). After an error the model is awake.
    ///
    /// C function: [`ferrum_executor_sleep`](crate::sys::ferrum_executor_sleep).
    pub fn sleep(&self, request: &SleepRequest<'_>) -> Result<SleepReport> {
        sleep_with("ferrum_executor_sleep", request, |config, report| {
            // SAFETY: the settings are valid during the call, report has its size set.
            unsafe { sys::ferrum_executor_sleep(self.raw(), config, report) }
        })
    }

    /// Wakes a sleeping model. Its parameters have the same bits as before. The request has no tag.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if the model is awake;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory); the errors of
    /// [`Model::wake`](crate::Model::wake). After an error the model sleeps.
    ///
    /// C function: [`ferrum_executor_wake`](crate::sys::ferrum_executor_wake).
    pub fn wake(&self, request: &WakeRequest<'_>) -> Result<WakeReport> {
        wake_with("ferrum_executor_wake", request, |config, report| {
            // SAFETY: the settings are valid during the call, report has its size set.
            unsafe { sys::ferrum_executor_wake(self.raw(), config, report) }
        })
    }
}
