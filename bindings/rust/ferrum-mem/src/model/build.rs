use std::any::Any;
use std::ffi::{c_void, CStr};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::check;
use crate::model::executor::Executor;
use crate::raw::{optional_text, pointer};
use crate::weights::path_text;
use crate::{sys, BuildPhase, Compute, ElasticPool, Result, Weights};

/// Where a model comes from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ModelSource<'a> {
    /// A folder with config.json and weights, or a GGUF file.
    Path(&'a Path),
    /// A definition, as JSON with the fields of docs/model_definition.md.
    Definition {
        /// The text.
        json: &'a str,
        /// Its tensors; `None`: the parameters are initialised as the definition states.
        weights: Option<&'a Weights>,
    },
}

/// The model to build, and the memory for it.
#[derive(Clone, Copy, Debug)]
pub struct BuildRequest<'a> {
    /// The model.
    pub source: ModelSource<'a>,
    /// The id of the model in the elastic pool; `None`: the name of the folder or file, or of the
    /// definition.
    pub model: Option<&'a str>,
    /// The backend that computes. The executor keeps it.
    pub compute: &'a Compute,
    /// The memory, on the device of the backend. The executor keeps it.
    pub pool: &'a ElasticPool,
    /// As in [`ModelConfig`](crate::ModelConfig).
    pub guaranteed_bytes: u64,
    /// As in [`ModelConfig`](crate::ModelConfig).
    pub max_bytes: Option<u64>,
    /// As in [`ModelConfig`](crate::ModelConfig).
    pub priority: i32,
    /// As in [`ModelConfig`](crate::ModelConfig).
    pub guarantee_may_wait: bool,
    /// Options, as a JSON object with the fields of docs/models.md; "" has all defaults.
    pub options_json: &'a str,
}

impl<'a> BuildRequest<'a> {
    /// A request without limits and options.
    pub fn new(source: ModelSource<'a>, compute: &'a Compute, pool: &'a ElasticPool) -> Self {
        Self {
            source,
            model: None,
            compute,
            pool,
            guaranteed_bytes: 0,
            max_bytes: None,
            priority: 0,
            guarantee_may_wait: false,
            options_json: "",
        }
    }
}

/// The progress of a build.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BuildProgress {
    /// The phase. A later call never has an earlier one.
    pub phase: BuildPhase,
    /// The part that is done, 0 to 1. It never decreases; the last call of a successful build has 1.
    pub progress: f64,
    /// Time since the beginning.
    pub elapsed: Duration,
    /// The estimate of the remaining time; `None`: not known.
    pub remaining: Option<Duration>,
    /// Bytes of the phase that are done.
    pub done_bytes: u64,
    /// Bytes of the phase; 0 for a phase without bytes.
    pub total_bytes: u64,
    /// What the build does now.
    pub operation: String,
}

impl BuildProgress {
    /// # Safety
    ///
    /// The text of the record is NULL or valid.
    unsafe fn of(raw: &sys::ferrum_build_progress) -> Self {
        let seconds = |it| Duration::try_from_secs_f64(it).ok();
        let operation = match raw.operation.is_null() {
            true => String::new(),
            // SAFETY: the caller guarantees it.
            false => unsafe { CStr::from_ptr(raw.operation) }
                .to_string_lossy()
                .into_owned(),
        };
        Self {
            phase: BuildPhase::from_raw(raw.phase),
            progress: raw.progress,
            elapsed: seconds(raw.elapsed_seconds).unwrap_or_default(),
            remaining: seconds(raw.remaining_seconds),
            done_bytes: raw.done_bytes,
            total_bytes: raw.total_bytes,
            operation,
        }
    }
}

type Closure<'a> = Box<dyn FnMut(&BuildProgress) -> ControlFlow<()> + Send + 'a>;

/// The closure of a build, and the panic that has ended it.
struct Watch<'a> {
    closure: Closure<'a>,
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "C" fn report(raw: *const sys::ferrum_build_progress, data: *mut c_void) -> i32 {
    // SAFETY: data is the watch of the build, which is valid during the call.
    let watch = unsafe { &*data.cast::<Mutex<Watch<'_>>>() };
    let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
    let Watch { closure, panic } = &mut *watch;
    // The progress 1 of a build comes after a panic that could not cancel it.
    if panic.is_some() {
        return 1;
    }
    // SAFETY: the library calls with a record that is valid during the call.
    let called = catch_unwind(AssertUnwindSafe(|| {
        closure(&unsafe { BuildProgress::of(&*raw) })
    }));
    match called {
        Ok(flow) => i32::from(flow.is_break()),
        Err(payload) => {
            *panic = Some(payload);
            1
        }
    }
}

impl Executor {
    /// Builds a model. Returns when the executor can run. The build registers the model in the
    /// elastic pool. After an error nothing is left.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for options, and for a
    /// definition with issues that stop a build, with the first one;
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for a text that is no
    /// definition; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for the
    /// request, and for weights that do not fit the definition, with the name of the tensor and both
    /// shapes; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a kind of model or an
    /// option that the library does not have;
    /// [`ErrorKind::ModelAlreadyExists`](crate::ErrorKind::ModelAlreadyExists) for the id of a model of
    /// the pool; [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) after `build_timeout_seconds`;
    /// errors of the files, and of the memory.
    ///
    /// C function: [`ferrum_executor_build`](crate::sys::ferrum_executor_build).
    pub fn build(request: &BuildRequest<'_>) -> Result<Self> {
        build(request, None)
    }

    /// Builds a model, and reports the progress to the closure. The closure runs on a thread of the
    /// build. It cancels the build if it breaks or panics, unless the build is complete. The call
    /// returns after the build has ended, and continues a panic of the closure.
    ///
    /// # Errors
    ///
    /// Those of [`Executor::build`], and
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    ///
    /// C function: [`ferrum_executor_build`](crate::sys::ferrum_executor_build).
    pub fn build_with(
        request: &BuildRequest<'_>,
        on_progress: impl FnMut(&BuildProgress) -> ControlFlow<()> + Send,
    ) -> Result<Self> {
        let watch = Mutex::new(Watch {
            closure: Box::new(on_progress),
            panic: None,
        });
        let built = build(request, Some(&watch));
        let watch = watch.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(payload) = watch.panic {
            drop(built);
            resume_unwind(payload);
        }
        built
    }
}

fn build(request: &BuildRequest<'_>, watch: Option<&Mutex<Watch<'_>>>) -> Result<Executor> {
    const FUNCTION: &str = "ferrum_executor_build";
    let model = optional_text(FUNCTION, "model", request.model)?;
    let options = request.options_json;
    let mut raw = sys::ferrum_build_request {
        model: pointer(&model),
        compute: request.compute.raw(),
        elastic_pool: request.pool.raw(),
        guaranteed_bytes: request.guaranteed_bytes,
        max_bytes: request.max_bytes.unwrap_or(0),
        priority: request.priority,
        guarantee_may_wait: request.guarantee_may_wait.into(),
        ..Default::default()
    };
    if !options.is_empty() {
        (raw.options_json, raw.options_bytes) = (options.as_ptr().cast(), options.len() as u64);
    }
    let path = match request.source {
        ModelSource::Path(path) => Some(path_text(FUNCTION, path)?),
        ModelSource::Definition { json, weights } => {
            (raw.definition_json, raw.definition_bytes) = (json.as_ptr().cast(), json.len() as u64);
            raw.weights = weights.map(Weights::raw).unwrap_or_default();
            None
        }
    };
    raw.path = pointer(&path);
    if let Some(watch) = watch {
        raw.progress = Some(report);
        raw.user_data = std::ptr::from_ref(watch).cast_mut().cast();
    }
    let mut executor = Default::default();
    // SAFETY: texts and closure are valid during the call, executor is an output of it.
    check(unsafe { sys::ferrum_executor_build(&raw, &mut executor) })?;
    Ok(Executor::own(request.compute, request.pool, executor))
}
