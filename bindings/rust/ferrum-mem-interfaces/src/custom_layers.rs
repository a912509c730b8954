//! Layers of the published trait as layer types of the library.

use std::sync::Arc;

use ferrum_interfaces::model_builder::CustomLayer;
use ferrum_mem::{
    ComputeCall, ErrorKind, Layer, LayerConfig, LayerOutput, ProgramFailure, RegisteredLayer,
};
use ferrum_types::{DataType, FerrumError, Result};
use serde_json::json;

use crate::data_types::dtype_of;
use crate::error::error_of;
use crate::hub::{locked, Hub};

type Outcome<T> = std::result::Result<T, ProgramFailure>;

/// Computes the output of a layer type.
pub(crate) type Forward = Arc<dyn Fn(&ComputeCall<'_>) -> Outcome<()> + Send + Sync>;

/// A layer of the published trait with the function that computes it.
struct Computed {
    layer: Box<dyn CustomLayer>,
    forward: Forward,
    parameters: Vec<Made>,
}

/// A parameter that a layer has made.
struct Made {
    name: String,
    shape: Vec<i64>,
    elements: Vec<f32>,
}

/// The parameters of a layer in the order of their names. They are of 32 bits. A layer may make tensors here,
/// which a function of a layer type must not, so this is called before.
fn parameters_of(layer: &dyn CustomLayer) -> Result<Vec<Made>> {
    let mut list = Vec::new();
    for (name, tensor) in layer.initialize_parameters()? {
        if tensor.dtype() != DataType::FP32 {
            let found = tensor.dtype();
            return Err(FerrumError::unsupported(format!(
                "the parameter {name:?} of the layer type {:?} is {found:?}: want FP32",
                layer.layer_type()
            )));
        }
        list.push(Made {
            name,
            shape: tensor.shape().iter().map(|it| *it as i64).collect(),
            elements: tensor.to_vec_f32()?,
        });
    }
    list.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(list)
}

impl Layer for Computed {
    fn forward(&self, call: &ComputeCall<'_>) -> Outcome<()> {
        (self.forward)(call)
    }

    fn infer(&self, call: &ComputeCall<'_>, outputs: &mut [Option<LayerOutput>]) -> Outcome<()> {
        let shape = self.layer.output_shape(call.input(0)?.shape());
        if let Some(output) = outputs.iter_mut().flatten().next() {
            output.shape = shape;
        }
        Ok(())
    }

    fn parameters(&self, _: &ComputeCall<'_>) -> Outcome<Option<String>> {
        let list: Vec<_> = self.parameters.iter().map(description).collect();
        Ok(Some(json!(list).to_string()))
    }

    fn initialize(&self, call: &ComputeCall<'_>, parameter: &str) -> Outcome<()> {
        let found = self.parameters.iter().find(|it| it.name == parameter);
        let found = found.ok_or_else(|| {
            let message = format!("the layer makes no parameter {parameter:?}");
            ProgramFailure::new(ErrorKind::NotFound, message)
        })?;
        call.output(0)?.write(&found.elements)
    }
}

fn description(of: &Made) -> serde_json::Value {
    let dtype = dtype_of(DataType::FP32).to_string();
    json!({"name": of.name, "shape": of.shape, "dtype": dtype, "trainable": true})
}

/// Registers the types of layers. The types end with the result.
pub(crate) fn register(
    hub: &Hub,
    layers: Vec<Box<dyn CustomLayer>>,
) -> Result<Vec<RegisteredLayer>> {
    let mut list = Vec::new();
    for layer in layers {
        let layer_type = layer.layer_type().to_owned();
        let forward = locked(&hub.forwards).get(&layer_type).cloned();
        let forward = forward.ok_or_else(|| {
            FerrumError::unsupported(format!(
                "the layer type {layer_type:?} has no call that computes it: use set_layer_forward"
            ))
        })?;
        let config = layer.config();
        let config = LayerConfig {
            name: layer.name().to_owned(),
            config_json: if config.is_null() {
                String::new()
            } else {
                config.to_string()
            },
            input_shape: Some(layer.input_shape()),
            strides: true,
            ..Default::default()
        };
        let library = hub.devices.library();
        let parameters = parameters_of(&*layer)?;
        let computed = Computed {
            layer,
            forward,
            parameters,
        };
        let made = library.register_layer(&layer_type, &config, computed);
        list.push(made.map_err(error_of)?);
    }
    Ok(list)
}
