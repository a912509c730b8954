//! Layer types of the program.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use crate::callback::{run, share, Registration};
use crate::compute::{status_of, text, ComputeCall, ComputePlan};
use crate::error::{check, Error};
use crate::library::{c_text, json_of, Library};
use crate::program_failure::ProgramFailure;
use crate::rejected::Rejected;
use crate::{sys, DType, ErrorKind, Result};

type Outcome<T> = std::result::Result<T, ProgramFailure>;

/// A layer type of the program. Several threads may call a method at a time, and a run may be on a
/// thread of a stream: it must not wait for a stream, and so cannot run models. Calls that could wait
/// return [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState). A panic is an error of the
/// call.
///
/// The attributes of each call are the configuration of the layer.
pub trait Layer: Send + Sync {
    /// Computes the outputs. Parameters are the last inputs.
    ///
    /// # Errors
    ///
    /// The call of the program returns the kind and the message.
    fn forward(&self, call: &ComputeCall<'_>) -> Outcome<()>;

    /// Changes the outputs, which have the type and the shape of the first input; `None`: not
    /// wanted, or not given for these inputs.
    ///
    /// # Errors
    ///
    /// As for [`Layer::forward`].
    fn infer(&self, call: &ComputeCall<'_>, outputs: &mut [Option<LayerOutput>]) -> Outcome<()> {
        let _ = (call, outputs);
        Ok(())
    }

    /// The parameters as a JSON list with the fields of docs/layers.md; `None`: the layers of a
    /// definition list them. The call has no operands.
    ///
    /// # Errors
    ///
    /// The build returns the kind and the message.
    fn parameters(&self, call: &ComputeCall<'_>) -> Outcome<Option<String>> {
        let _ = call;
        Ok(None)
    }

    /// Writes the elements of a parameter, which is the only output of the call.
    ///
    /// # Errors
    ///
    /// The build returns the kind and the message.
    fn initialize(&self, call: &ComputeCall<'_>, parameter: &str) -> Outcome<()> {
        let _ = call;
        let message = format!("it makes no parameter {parameter:?}");
        Err(ProgramFailure::new(ErrorKind::NotFound, message))
    }

    /// Decides how it computes a call, whose operands have no elements yet.
    ///
    /// # Errors
    ///
    /// As for [`Layer::forward`].
    fn plan(&self, call: &ComputeCall<'_>) -> Outcome<ComputePlan> {
        let _ = call;
        Ok(ComputePlan::default())
    }
}

/// An output that a layer infers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerOutput {
    /// Type of its elements.
    pub dtype: DType,
    /// Length of each dimension, the slowest first; at most 8.
    pub shape: Vec<i64>,
}

/// The settings of a layer type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerConfig {
    /// A text for people; empty: the type.
    pub name: String,
    /// The configuration of a layer that states none, as a JSON object; empty: `{}`.
    pub config_json: String,
    /// Length of each dimension of the first input, -1 for any; `None`: any shape.
    pub input_shape: Option<Vec<i64>>,
    /// Number of outputs, 1 to 64.
    pub output_count: u32,
    /// An output may be the memory of an input of the same type and strides.
    pub in_place: bool,
    /// Operands may have any strides; otherwise they have no gaps.
    pub strides: bool,
    /// One thread at a time calls [`Layer::forward`].
    pub one_at_a_time: bool,
}

impl Default for LayerConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            config_json: String::new(),
            input_shape: None,
            output_count: 1,
            in_place: false,
            strides: false,
            one_at_a_time: false,
        }
    }
}

impl LayerConfig {
    fn flags(&self) -> u32 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        flag(self.in_place, sys::FERRUM_LAYER_IN_PLACE)
            | flag(self.strides, sys::FERRUM_LAYER_STRIDES)
            | flag(self.one_at_a_time, sys::FERRUM_LAYER_ONE_AT_A_TIME)
    }
}

type Held = Box<dyn Layer>;

unsafe extern "C" fn call_forward(
    call: *const sys::ferrum_compute_call,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: data is the registration's layer; the record is valid during the call.
    let (layer, raw): (Arc<Held>, _) = unsafe { (share(data), &*call) };
    // SAFETY: the library gives the message its room.
    unsafe { status_of(raw.message_out, || layer.forward(&ComputeCall { raw })) }
}

unsafe extern "C" fn call_plan(
    call: *const sys::ferrum_compute_call,
    plan: *mut sys::ferrum_compute_plan,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: as for forward; plan is an output of the call.
    let (layer, raw, plan): (Arc<Held>, _, _) = unsafe { (share(data), &*call, &mut *plan) };
    // SAFETY: as for forward.
    unsafe {
        status_of(raw.message_out, || {
            let made = layer.plan(&ComputeCall { raw })?;
            plan.workspace_bytes = made.workspace_bytes;
            if made.in_place {
                plan.flags = sys::FERRUM_COMPUTE_PLAN_IN_PLACE;
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn call_infer(
    call: *const sys::ferrum_compute_call,
    outputs: *mut sys::ferrum_tensor_desc,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: as for forward.
    let (layer, raw): (Arc<Held>, _) = unsafe { (share(data), &*call) };
    // SAFETY: as for forward.
    unsafe { status_of(raw.message_out, || infer(&**layer, raw, outputs)) }
}

fn infer(
    layer: &dyn Layer,
    raw: &sys::ferrum_compute_call,
    outputs: *mut sys::ferrum_tensor_desc,
) -> Outcome<()> {
    let call = ComputeCall { raw };
    let given = |it: crate::ComputeOperand<'_>| LayerOutput {
        dtype: it.dtype(),
        shape: it.shape().to_vec(),
    };
    // The outputs of the call are those that the function changes.
    let mut list: Vec<_> = call.outputs().into_iter().map(|it| it.map(given)).collect();
    layer.infer(&call, &mut list)?;
    for (at, made) in list.iter().enumerate() {
        // SAFETY: the list has as many elements, and no reference to them is left.
        let to = unsafe { &mut *outputs.add(at) };
        let Some(made) = made else {
            to.flags |= sys::FERRUM_ELEMENTS_ABSENT;
            continue;
        };
        if made.shape.len() > to.shape.len() {
            let message = format!("output {at} has {} dimensions", made.shape.len());
            return Err(ProgramFailure::new(ErrorKind::InvalidArgument, message));
        }
        to.dtype = made.dtype.to_raw();
        to.rank = made.shape.len() as u32;
        to.shape[..made.shape.len()].copy_from_slice(&made.shape);
    }
    Ok(())
}

unsafe extern "C" fn call_parameters(
    call: *const sys::ferrum_compute_call,
    take: sys::ferrum_layer_list_fn,
    list: u64,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: as for forward.
    let (layer, raw): (Arc<Held>, _) = unsafe { (share(data), &*call) };
    // SAFETY: as for forward.
    unsafe {
        status_of(raw.message_out, || {
            if let (Some(text), Some(take)) = (layer.parameters(&ComputeCall { raw })?, take) {
                check(take(list, text.as_ptr().cast(), text.len() as u64))?;
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn call_initialize(
    call: *const sys::ferrum_compute_call,
    parameter: *const c_char,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: as for forward; the name is a text during the call.
    let (layer, raw, name): (Arc<Held>, _, _) = unsafe { (share(data), &*call, text(parameter)) };
    // SAFETY: as for forward.
    unsafe {
        status_of(raw.message_out, || {
            layer.initialize(&ComputeCall { raw }, name)
        })
    }
}

unsafe extern "C" fn call_release(data: *mut c_void) {
    // SAFETY: data is from Arc::into_raw, and this is the only call.
    run(|| drop(unsafe { Arc::from_raw(data.cast_const().cast::<Held>()) }));
}

/// A registered layer type. Dropping it removes the type. While models or operations use the type, it
/// then stays registered until the library stops.
#[derive(Debug)]
#[must_use = "dropping it removes the layer type"]
pub struct RegisteredLayer {
    layer_type: String,
    registration: Registration,
}

impl RegisteredLayer {
    /// The layer type for definitions, and the name for [`Compute::prepare`](crate::Compute::prepare).
    pub fn layer_type(&self) -> &str {
        &self.layer_type
    }

    /// Removes the type.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while models or operations use it. The error
    /// returns the object.
    ///
    /// C function: [`ferrum_registration_remove`](crate::sys::ferrum_registration_remove).
    pub fn close(self) -> std::result::Result<(), Rejected<Self>> {
        let layer_type = self.layer_type;
        self.registration.close().map_err(|rejected| Rejected {
            error: rejected.error,
            object: Self {
                layer_type,
                registration: rejected.object,
            },
        })
    }
}

impl Library {
    /// Registers a layer type of the program, such as "mine.scale". From then on, layers of
    /// definitions may have this type. The layer is dropped after the end of the registration.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for the type of another layer;
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a type or settings that
    /// are not possible.
    ///
    /// C function: [`ferrum_layer_register`](crate::sys::ferrum_layer_register).
    pub fn register_layer(
        &self,
        layer_type: &str,
        config: &LayerConfig,
        layer: impl Layer + 'static,
    ) -> Result<RegisteredLayer> {
        const FUNCTION: &str = "ferrum_layer_register";
        let c_type = c_text(FUNCTION, "type", layer_type)?;
        let name = c_text(FUNCTION, "name", &config.name)?;
        let mut raw = sys::ferrum_layer {
            flags: config.flags(),
            r#type: c_type.as_ptr(),
            name: name.as_ptr(),
            output_count: config.output_count,
            infer: Some(call_infer),
            parameters: Some(call_parameters),
            initialize: Some(call_initialize),
            plan: Some(call_plan),
            forward: Some(call_forward),
            release: Some(call_release),
            ..Default::default()
        };
        if let Some(shape) = &config.input_shape {
            if shape.len() > raw.input_shape.len() {
                let message = format!("input_shape has {} dimensions", shape.len());
                return Err(Error::found(ErrorKind::InvalidArgument, FUNCTION, message));
            }
            raw.input_shape[..shape.len()].copy_from_slice(shape);
            raw.input_rank = shape.len() as u32;
        }
        if !config.config_json.is_empty() {
            raw.config_json = config.config_json.as_ptr().cast();
            raw.config_bytes = config.config_json.len() as u64;
        }
        let held: Arc<Held> = Arc::new(Box::new(layer));
        let data = Arc::into_raw(held);
        raw.user_data = data.cast_mut().cast();
        let mut handle = Default::default();
        // SAFETY: the record is valid during the call, the layer until its release.
        let made = check(unsafe { sys::ferrum_layer_register(&raw, &mut handle) });
        if made.is_err() {
            // SAFETY: after the error the library does not have the layer.
            drop(unsafe { Arc::from_raw(data) });
        }
        made.map(|()| RegisteredLayer {
            layer_type: layer_type.to_owned(),
            registration: Registration::released(self, handle),
        })
    }

    /// The layer types of the program, as JSON with the fields of docs/layers.md.
    ///
    /// # Errors
    ///
    /// Those of the library.
    ///
    /// C function: [`ferrum_layers_json`](crate::sys::ferrum_layers_json).
    pub fn layers_json(&self) -> Result<String> {
        // SAFETY: the buffer has the capacity that is passed.
        json_of(|to, room, length| unsafe { sys::ferrum_layers_json(to, room, length) })
    }
}
