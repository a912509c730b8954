use std::ffi::{c_char, c_void, CStr};
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::sync::Arc;

use crate::callback::{run, share, Registration};
use crate::compute::{Compute, ComputeConfig};
use crate::error::{check, Error};
use crate::library::{c_text, Library};
use crate::program_failure::{program_status, ProgramFailure};
use crate::rejected::Rejected;
use crate::{sys, ComputeType, DType, Device, Element, ErrorKind, Result};

/// A compute backend of the program. Several threads may call a method at a time, and a run may be
/// on a thread of a stream: it must not wait for a stream, and so cannot run operations. Calls that
/// could wait return [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState). A panic is an
/// error of the call.
pub trait ProgramBackend: Send + Sync {
    /// A text for people.
    fn version(&self) -> String {
        String::new()
    }

    /// Decides how it computes a call, whose operands have no elements yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a call that it does not
    /// compute.
    fn plan(&self, call: &ComputeCall<'_>) -> std::result::Result<ComputePlan, ProgramFailure> {
        let _ = call;
        Ok(ComputePlan::default())
    }

    /// Computes the outputs of a call.
    ///
    /// # Errors
    ///
    /// The call of the program returns the kind and the message.
    fn run(&self, call: &ComputeCall<'_>) -> std::result::Result<(), ProgramFailure>;

    /// Waits for work that [`ProgramBackend::run`] has left.
    ///
    /// # Errors
    ///
    /// The error of the work.
    fn synchronize(&self) -> std::result::Result<(), ProgramFailure> {
        Ok(())
    }
}

/// How a backend of the program computes a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComputePlan {
    /// The memory that a run needs besides inputs and outputs.
    pub workspace_bytes: u64,
    /// An output may be the memory of an input of the same type and strides.
    pub in_place: bool,
}

/// An operation that a backend of the program computes.
#[derive(Clone, Copy)]
pub struct ComputeCall<'a> {
    pub(crate) raw: &'a sys::ferrum_compute_call,
}

impl<'a> ComputeCall<'a> {
    /// The operator in its domain, such as "MatMul" or "linear".
    pub fn name(&self) -> &'a str {
        // SAFETY: the text is valid during the call.
        unsafe { text(self.raw.name) }
    }

    /// Its domain: "" for the operators of ONNX, or "ferrum".
    pub fn domain(&self) -> &'a str {
        // SAFETY: as for the name.
        unsafe { text(self.raw.domain) }
    }

    /// The version of the domain that introduced this form of the operator.
    pub fn opset(&self) -> u32 {
        self.raw.opset
    }

    /// The attributes that were given or have a default, as a JSON object.
    pub fn attributes_json(&self) -> &'a str {
        // SAFETY: as for the name.
        unsafe { text(self.raw.attributes_json) }
    }

    /// The handle of the device.
    pub fn device(&self) -> sys::ferrum_device {
        self.raw.device
    }

    /// The inputs; `None`: not given.
    pub fn inputs(&self) -> Vec<Option<ComputeOperand<'a>>> {
        // SAFETY: the list has the length, during the call.
        unsafe { operands(self.raw, self.raw.inputs, self.raw.input_count) }
    }

    /// An input that must be there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    /// It calls no C function.
    pub fn input(&self, at: usize) -> std::result::Result<ComputeOperand<'a>, ProgramFailure> {
        found(self.inputs(), at, "input")
    }

    /// The outputs; `None`: not wanted.
    pub fn outputs(&self) -> Vec<Option<ComputeOperand<'a>>> {
        // SAFETY: as for the inputs.
        unsafe { operands(self.raw, self.raw.outputs, self.raw.output_count) }
    }

    /// An output that must be wanted.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    /// It calls no C function.
    pub fn output(&self, at: usize) -> std::result::Result<ComputeOperand<'a>, ProgramFailure> {
        found(self.outputs(), at, "output")
    }

    /// The address and the size of the memory that the plan asks for, aligned to 64 bytes.
    pub fn workspace(&self) -> (u64, u64) {
        (self.raw.workspace, self.raw.workspace_bytes)
    }
}

impl fmt::Debug for ComputeCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComputeCall")
            .field("name", &self.name())
            .field("attributes", &self.attributes_json())
            .finish_non_exhaustive()
    }
}

/// # Safety
///
/// The text is NULL, or UTF-8 that ends with a NUL and lives as long as the result.
pub(crate) unsafe fn text<'a>(from: *const c_char) -> &'a str {
    if from.is_null() {
        return "";
    }
    unsafe { CStr::from_ptr(from) }.to_str().unwrap_or("")
}

/// # Safety
///
/// The list has the length, and lives as long as the result.
unsafe fn operands<'a>(
    call: &sys::ferrum_compute_call,
    list: *const sys::ferrum_tensor_desc,
    count: u64,
) -> Vec<Option<ComputeOperand<'a>>> {
    let device = call.device;
    let of = |at| {
        let raw: &'a sys::ferrum_tensor_desc = unsafe { &*list.add(at) };
        let is_there = raw.flags & sys::FERRUM_ELEMENTS_ABSENT == 0;
        is_there.then_some(ComputeOperand {
            raw,
            device,
            _call: PhantomData,
        })
    };
    (0..count as usize).map(of).collect()
}

fn found<'a>(
    list: Vec<Option<ComputeOperand<'a>>>,
    at: usize,
    what: &str,
) -> std::result::Result<ComputeOperand<'a>, ProgramFailure> {
    list.get(at).copied().flatten().ok_or_else(|| {
        let message = format!("{what} {at} is absent");
        ProgramFailure::new(ErrorKind::InvalidArgument, message)
    })
}

/// An input or an output of a call. It is valid during the call, and stays on its thread.
#[derive(Clone, Copy)]
pub struct ComputeOperand<'a> {
    raw: &'a sys::ferrum_tensor_desc,
    device: sys::ferrum_device,
    _call: PhantomData<*const u8>,
}

impl<'a> ComputeOperand<'a> {
    /// Type of its elements.
    pub fn dtype(&self) -> DType {
        DType::from_raw(self.raw.dtype)
    }

    /// Length of each dimension, the slowest first.
    pub fn shape(&self) -> &'a [i64] {
        &self.raw.shape[..self.raw.rank as usize]
    }

    /// Distance from one index of a dimension to the next, in elements. May be 0 or negative.
    pub fn strides(&self) -> &'a [i64] {
        &self.raw.strides[..self.raw.rank as usize]
    }

    /// Address of the element whose indices are all 0, as the device addresses it; 0 in a plan.
    pub fn address(&self) -> u64 {
        self.raw.address
    }

    /// Size of its elements without gaps.
    pub fn size_bytes(&self) -> u64 {
        self.raw.size_bytes
    }

    /// Whether the elements lie in the order of the shape, without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.raw.flags & sys::FERRUM_ELEMENTS_CONTIGUOUS != 0
    }

    /// The elements in the order of the shape.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for another type;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) in a plan;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device whose memory the host
    /// cannot address.
    ///
    /// C function: [`ferrum_device_get_info`](crate::sys::ferrum_device_get_info).
    pub fn read<T: Element>(&self) -> std::result::Result<Vec<T>, ProgramFailure> {
        self.check::<T>()?;
        let from = self.raw.address as *const T;
        let mut elements = Vec::with_capacity(self.raw.size_bytes as usize / size_of::<T>());
        // SAFETY: the elements are at their strides, and every value of T is valid.
        self.each(|place| elements.push(unsafe { from.offset(place).read_unaligned() }));
        Ok(elements)
    }

    /// Writes the elements of an output in the order of the shape.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) for an input;
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for another number of elements; the
    /// errors of [`ComputeOperand::read`].
    ///
    /// C function: [`ferrum_device_get_info`](crate::sys::ferrum_device_get_info).
    pub fn write<T: Element>(&self, elements: &[T]) -> std::result::Result<(), ProgramFailure> {
        self.check::<T>()?;
        if self.raw.flags & sys::FERRUM_ELEMENTS_READ_ONLY != 0 {
            let message = "an input cannot be written";
            return Err(ProgramFailure::new(ErrorKind::PermissionDenied, message));
        }
        let count = self.raw.size_bytes as usize / size_of::<T>();
        if elements.len() != count {
            let message = format!("the output has {count} elements, not {}", elements.len());
            return Err(ProgramFailure::new(ErrorKind::InvalidSize, message));
        }
        let (to, mut next) = (self.raw.address as *mut T, elements.iter());
        self.each(|place| {
            if let Some(element) = next.next() {
                // SAFETY: the elements are at their strides, and can be written.
                unsafe { to.offset(place).write_unaligned(*element) };
            }
        });
        Ok(())
    }

    fn check<T: Element>(&self) -> std::result::Result<(), ProgramFailure> {
        if self.dtype() != T::DTYPE {
            let message = format!("the elements are {}, not {}", self.dtype(), T::DTYPE);
            return Err(ProgramFailure::new(ErrorKind::InvalidArgument, message));
        }
        if self.raw.address == 0 && self.raw.size_bytes > 0 {
            let message = "the elements of an operand exist only in run()";
            return Err(ProgramFailure::new(ErrorKind::InvalidState, message));
        }
        if self.device.id == 0 {
            // Memory of the host without a device.
            return Ok(());
        }
        let mut info = sys::ferrum_device_info::default();
        // SAFETY: info is an output of the call.
        check(unsafe { sys::ferrum_device_get_info(self.device, &mut info) })?;
        if info.capabilities & sys::FERRUM_CAPABILITY_HOST_ADDRESSABLE == 0 {
            let message = "the host cannot address the elements";
            return Err(ProgramFailure::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    /// Visits the places of the elements, in elements from the address.
    fn each(&self, mut visit: impl FnMut(isize)) {
        let (shape, strides) = (self.shape(), self.strides());
        if shape.contains(&0) {
            return;
        }
        let mut index = vec![0; shape.len()];
        loop {
            let place: i64 = index.iter().zip(strides).map(|(a, b)| a * b).sum();
            visit(place as isize);
            let mut axis = shape.len();
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
    }
}

impl fmt::Debug for ComputeOperand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype(), self.shape())
    }
}

type Held = Box<dyn ProgramBackend>;

/// Runs a function of a backend or a layer. An error or a panic becomes a status and a message.
///
/// # Safety
///
/// `message` is NULL or has room for [`sys::FERRUM_COMPUTE_MESSAGE_MAX`] bytes.
pub(crate) unsafe fn status_of(
    message: *mut c_char,
    function: impl FnOnce() -> std::result::Result<(), ProgramFailure>,
) -> sys::ferrum_status {
    // SAFETY: the caller guarantees the room.
    unsafe { program_status(message, sys::FERRUM_COMPUTE_MESSAGE_MAX as usize, function) }
}

unsafe extern "C" fn call_plan(
    call: *const sys::ferrum_compute_call,
    plan: *mut sys::ferrum_compute_plan,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: data is the registration's backend; the records are valid during the call.
    let (backend, raw, plan): (Arc<Held>, _, _) = unsafe { (share(data), &*call, &mut *plan) };
    // SAFETY: the library gives the message its room.
    unsafe {
        status_of(raw.message_out, || {
            let made = backend.plan(&ComputeCall { raw })?;
            plan.workspace_bytes = made.workspace_bytes;
            if made.in_place {
                plan.flags = sys::FERRUM_COMPUTE_PLAN_IN_PLACE;
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn call_run(
    call: *const sys::ferrum_compute_call,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: as for a plan.
    let (backend, raw): (Arc<Held>, _) = unsafe { (share(data), &*call) };
    unsafe { status_of(raw.message_out, || backend.run(&ComputeCall { raw })) }
}

unsafe extern "C" fn call_synchronize(
    _: sys::ferrum_device,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: data is the registration's backend.
    let backend: Arc<Held> = unsafe { share(data) };
    unsafe { status_of(std::ptr::null_mut(), || backend.synchronize()) }
}

unsafe extern "C" fn call_release(data: *mut c_void) {
    // SAFETY: data is from Arc::into_raw, and this is the only call.
    run(|| drop(unsafe { Arc::from_raw(data.cast_const().cast::<Held>()) }));
}

/// A registered backend of the program. Clones share one registration. It is removed after its last
/// clone, and the backends that [`RegisteredCompute::open`] has opened, are dropped.
#[derive(Clone, Debug)]
#[must_use = "dropping it removes the backend"]
pub struct RegisteredCompute {
    name: String,
    registration: Arc<Registration>,
}

impl RegisteredCompute {
    /// Its name, for [`ComputeConfig::name`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the backend on a device, with the other settings of `config`.
    ///
    /// # Errors
    ///
    /// Those of [`Compute::open`].
    ///
    /// C function: [`ferrum_compute_open`](crate::sys::ferrum_compute_open).
    pub fn open(&self, device: &Device, config: &ComputeConfig) -> Result<Compute> {
        let config = ComputeConfig {
            compute_type: ComputeType::Custom,
            name: Some(self.name.clone()),
            ..config.clone()
        };
        Compute::open_registered(device, &config, Some(self.registration.clone()))
    }

    /// Removes the backend, as a drop does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while the backend is open or a clone exists. The
    /// error returns the object.
    ///
    /// C function: [`ferrum_registration_remove`](crate::sys::ferrum_registration_remove).
    pub fn close(self) -> std::result::Result<(), Rejected<Self>> {
        let name = self.name;
        match Arc::try_unwrap(self.registration) {
            Ok(registration) => registration.close().map_err(|rejected| {
                let registration = Arc::new(rejected.object);
                Rejected {
                    error: rejected.error,
                    object: Self { name, registration },
                }
            }),
            Err(registration) => {
                let message = format!("a clone of the registration {name:?} exists, or it is open");
                let function = "ferrum_registration_remove";
                Err(Rejected::new(
                    Error::found(ErrorKind::Busy, function, message),
                    Self { name, registration },
                ))
            }
        }
    }
}

impl Library {
    /// Registers a compute backend of the program under a name of 1 to 63 letters, digits, '_', '-'
    /// and '.'. The properties are JSON with the fields of docs/compute.md; "supported_devices" has
    /// the ids of the devices on which it computes. The backend is dropped after the end of the
    /// registration.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for the name of another backend
    /// or of a kind; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for another
    /// name that is not possible; [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) and
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for the properties.
    ///
    /// C function: [`ferrum_compute_register`](crate::sys::ferrum_compute_register).
    pub fn register_compute(
        &self,
        name: &str,
        capabilities_json: &str,
        backend: impl ProgramBackend + 'static,
    ) -> Result<RegisteredCompute> {
        const FUNCTION: &str = "ferrum_compute_register";
        let c_name = c_text(FUNCTION, "name", name)?;
        let version = c_text(FUNCTION, "version", &backend.version())?;
        let held: Arc<Held> = Arc::new(Box::new(backend));
        let data = Arc::into_raw(held);
        let raw = sys::ferrum_compute_backend {
            name: c_name.as_ptr(),
            version: version.as_ptr(),
            capabilities_json: capabilities_json.as_ptr().cast(),
            capabilities_bytes: capabilities_json.len() as u64,
            plan: Some(call_plan),
            run: Some(call_run),
            synchronize: Some(call_synchronize),
            release: Some(call_release),
            user_data: data.cast_mut().cast(),
            ..Default::default()
        };
        let mut handle = Default::default();
        // SAFETY: the record is valid during the call, the backend until its release.
        let made = check(unsafe { sys::ferrum_compute_register(&raw, &mut handle) });
        if made.is_err() {
            // SAFETY: after the error the library does not have the backend.
            drop(unsafe { Arc::from_raw(data) });
        }
        made.map(|()| RegisteredCompute {
            name: name.to_owned(),
            registration: Arc::new(Registration::released(self, handle)),
        })
    }
}
