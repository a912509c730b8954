//! Compute: backends that compute operations on tensors.

mod backend;
mod config;
mod op;
mod sequence;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use backend::{status_of, text};
pub use backend::{ComputeCall, ComputeOperand, ComputePlan, ProgramBackend, RegisteredCompute};
pub use config::ComputeConfig;
pub use op::{Inferred, Op, OpInput, OpOutput};
pub use sequence::Sequence;

use crate::callback::Registration;
use crate::device::Device;
use crate::ending::shared_handle;
use crate::error::check;
use crate::library::{json_of, Library};
use crate::stream::timeout_ns;
use crate::{sys, Result, Statistics};

/// An open backend, with memory of its own. Clones share one backend. It is closed after its last
/// clone, its operations and sequences, and the tensors in its memory are dropped.
///
/// ```no_run
/// # use ferrum_mem::{Compute, Device, Result, Tensor};
/// # fn multiply(device: &Device) -> Result<()> {
/// let compute = Compute::open(device, &Default::default())?;
/// let a = Tensor::from_vec(device, vec![1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let softmax = compute.prepare("Softmax", r#"{"axis": -1}"#, None)?;
/// let product = compute.prepare("MatMul", "", None)?.run_one(&[&a, &a], None)?;
/// let rows = softmax.run_one(&[&product], None)?.to_vec::<f32>(None)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "dropping it closes the backend"]
pub struct Compute {
    made: Arc<Made>,
}

struct Made {
    raw: sys::ferrum_compute,
    device: Device,
    /// That of a backend of the program. It ends after the backend.
    _registration: Option<Arc<Registration>>,
}

shared_handle!(Compute { made: Made } of ferrum_compute, "backend", ferrum_compute_close);

impl Compute {
    /// Opens a backend on a device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) and
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), which name the setting;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a kind that the library does
    /// not have, with the reason;
    /// [`ErrorKind::UnsupportedDevice`](crate::ErrorKind::UnsupportedDevice) for a device on which
    /// the backend does not compute; [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a name;
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for the options;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    ///
    /// C function: [`ferrum_compute_open`](crate::sys::ferrum_compute_open).
    pub fn open(device: &Device, config: &ComputeConfig) -> Result<Self> {
        Self::open_registered(device, config, None)
    }

    fn open_registered(
        device: &Device,
        config: &ComputeConfig,
        registration: Option<Arc<Registration>>,
    ) -> Result<Self> {
        let mut raw = Default::default();
        config.with_raw("ferrum_compute_open", device.raw(), |config| {
            // SAFETY: config is valid during the call, raw is an output of it.
            check(unsafe { sys::ferrum_compute_open(config, &mut raw) })
        })?;
        Ok(Self::own(device, raw, registration))
    }

    fn own(
        device: &Device,
        raw: sys::ferrum_compute,
        registration: Option<Arc<Registration>>,
    ) -> Self {
        Self {
            made: Arc::new(Made {
                raw,
                device: device.clone(),
                _registration: registration,
            }),
        }
    }

    /// Creates a backend object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live backend of the device, and no other code closes it.
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_compute) -> Self {
        Self::own(device, raw, None)
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_compute {
        self.made.raw
    }

    /// The device of the backend.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    /// The counters of the memory of the backend.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_manager_get_statistics`](crate::sys::ferrum_manager_get_statistics).
    pub fn statistics(&self) -> Result<Statistics> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_manager_get_statistics(self.raw_manager()?, &mut raw) })?;
        Ok((&raw).into())
    }

    /// The handle of the manager of its memory. It belongs to the backend, and is invalid after the
    /// backend was closed.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_compute_get_manager`](crate::sys::ferrum_compute_get_manager).
    pub fn raw_manager(&self) -> Result<sys::ferrum_manager> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_compute_get_manager(self.raw(), &mut raw) })?;
        Ok(raw)
    }

    /// The properties of the backend, as JSON with the fields of docs/compute.md.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_compute_capabilities_json`](crate::sys::ferrum_compute_capabilities_json).
    pub fn capabilities_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_compute_capabilities_json(self.raw(), to, room, length)
        })
    }

    /// The state of the backend, as JSON with the fields of docs/compute.md: completed operations,
    /// memory by device, the last error. Does not wait for the device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_compute_status_json`](crate::sys::ferrum_compute_status_json).
    pub fn status_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_compute_status_json(self.raw(), to, room, length)
        })
    }

    /// Waits until all work of the device of the backend is done; `None` waits without a limit.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout); the error of work that has failed.
    ///
    /// C function: [`ferrum_compute_synchronize`](crate::sys::ferrum_compute_synchronize).
    pub fn synchronize(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_compute_synchronize(self.raw(), timeout_ns(timeout)) })
    }

    /// Prepares an operation from the name of an operator, such as "MatMul" or "ferrum.linear", from
    /// its attributes as a JSON object ("" has none), and for an opset of its domain (`None`: the
    /// default).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown name, which names the
    /// nearest one; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) and
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for attributes;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an opset, and for an operator
    /// that the backend does not compute.
    ///
    /// C function: [`ferrum_op_prepare`](crate::sys::ferrum_op_prepare).
    pub fn prepare(&self, name: &str, attributes_json: &str, opset: Option<u32>) -> Result<Op> {
        Op::prepare(self, name, attributes_json, opset)
    }

    /// Creates an empty sequence of operations.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_sequence_create`](crate::sys::ferrum_sequence_create).
    pub fn create_sequence(&self) -> Result<Sequence> {
        Sequence::create(self)
    }
}

impl Library {
    /// Checks settings of a backend without opening it.
    ///
    /// # Errors
    ///
    /// Those of [`Compute::open`] for the settings.
    ///
    /// C function: [`ferrum_compute_validate`](crate::sys::ferrum_compute_validate).
    pub fn check_compute(&self, config: &ComputeConfig) -> Result<()> {
        config.with_raw("ferrum_compute_validate", Default::default(), |config| {
            // SAFETY: config is valid during the call.
            check(unsafe { sys::ferrum_compute_validate(config) })
        })
    }

    /// All backends that compute, in alphabetical order, also those that are not available with the
    /// reason, as JSON with the fields of docs/compute.md.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::Poisoned`](crate::ErrorKind::Poisoned).
    ///
    /// C function: [`ferrum_compute_backends_json`](crate::sys::ferrum_compute_backends_json).
    pub fn compute_backends_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe { sys::ferrum_compute_backends_json(to, room, length) })
    }

    /// Chooses a backend by requirements as JSON, and returns, as JSON with the fields of
    /// docs/compute.md, its name and for each other backend why not. "" requires nothing. If no
    /// backend meets the requirements, "best" is empty.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for a text that is no such
    /// object.
    ///
    /// C function: [`ferrum_compute_find_json`](crate::sys::ferrum_compute_find_json).
    pub fn find_compute_json(&self, requirements_json: &str) -> Result<String> {
        let (text, size) = (requirements_json.as_ptr().cast(), requirements_json.len());
        // SAFETY: the text has the length and the buffer the capacity that are passed.
        json_of(|to, room, length| unsafe {
            sys::ferrum_compute_find_json(text, size, to, room, length)
        })
    }
}
