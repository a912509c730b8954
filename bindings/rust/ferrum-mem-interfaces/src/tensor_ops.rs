use std::sync::Arc;

use ferrum_interfaces::{TensorOps, TensorRef};
use ferrum_types::{FerrumError, Result};
use serde_json::{json, Value};

use crate::running::Engine;
use crate::workers::Workers;

/// [`TensorOps`], [`AsyncTensorOps`](ferrum_interfaces::tensor::AsyncTensorOps) and
/// [`TensorBatchOps`](ferrum_interfaces::tensor::TensorBatchOps) of a [`crate::FerrumBackend`]. The results are in the memory of the backend, and
/// are computed when a call returns. Shapes, broadcasting and types follow the operators of ONNX.
/// A tensor of another implementation is accepted, and its elements are copied.
#[derive(Clone)]
pub struct FerrumTensorOps {
    pub(crate) engine: Engine,
    pub(crate) workers: Arc<Workers>,
}

impl FerrumTensorOps {
    pub(crate) fn new(engine: Engine, workers: Arc<Workers>) -> Self {
        Self { engine, workers }
    }

    /// A view of a tensor with the dimensions in another order.
    fn ordered(&self, tensor: &TensorRef, axes: &[usize]) -> Result<TensorRef> {
        let known = self.engine.known(tensor)?;
        let axes = axes.iter().map(|it| i32::try_from(*it).unwrap_or(i32::MAX));
        let axes: Vec<_> = axes.collect();
        known.viewed(known.tensor().permute(&axes))
    }
}

impl TensorOps for FerrumTensorOps {
    fn matmul(&self, a: &TensorRef, b: &TensorRef) -> Result<TensorRef> {
        self.engine.of("MatMul", Value::Null, &[a, b])
    }

    fn add(&self, a: &TensorRef, b: &TensorRef) -> Result<TensorRef> {
        self.engine.of("Add", Value::Null, &[a, b])
    }

    fn sub(&self, a: &TensorRef, b: &TensorRef) -> Result<TensorRef> {
        self.engine.of("Sub", Value::Null, &[a, b])
    }

    fn mul(&self, a: &TensorRef, b: &TensorRef) -> Result<TensorRef> {
        self.engine.of("Mul", Value::Null, &[a, b])
    }

    fn div(&self, a: &TensorRef, b: &TensorRef) -> Result<TensorRef> {
        self.engine.of("Div", Value::Null, &[a, b])
    }

    /// -1 is the last dimension.
    fn softmax(&self, tensor: &TensorRef, dim: i32) -> Result<TensorRef> {
        self.engine.of("Softmax", json!({"axis": dim}), &[tensor])
    }

    /// Over the last dimension.
    fn layer_norm(
        &self,
        input: &TensorRef,
        weight: &TensorRef,
        bias: Option<&TensorRef>,
        eps: f32,
    ) -> Result<TensorRef> {
        let mut inputs = vec![input, weight];
        inputs.extend(bias);
        let attributes = json!({"epsilon": eps});
        self.engine.of("LayerNormalization", attributes, &inputs)
    }

    /// Over the last dimension.
    fn rms_norm(&self, input: &TensorRef, weight: &TensorRef, eps: f32) -> Result<TensorRef> {
        let attributes = json!({"epsilon": eps});
        self.engine
            .of("RMSNormalization", attributes, &[input, weight])
    }

    fn relu(&self, tensor: &TensorRef) -> Result<TensorRef> {
        self.engine.of("Relu", Value::Null, &[tensor])
    }

    /// The form with tanh.
    fn gelu(&self, tensor: &TensorRef) -> Result<TensorRef> {
        let attributes = json!({"approximate": "tanh"});
        self.engine.of("Gelu", attributes, &[tensor])
    }

    fn silu(&self, tensor: &TensorRef) -> Result<TensorRef> {
        self.engine.of("Swish", Value::Null, &[tensor])
    }

    fn concat(&self, tensors: &[&TensorRef], dim: usize) -> Result<TensorRef> {
        self.engine.of("Concat", json!({"axis": dim}), tensors)
    }

    /// The parts share the memory of the tensor.
    fn split(&self, tensor: &TensorRef, sizes: &[usize], dim: usize) -> Result<Vec<TensorRef>> {
        let known = self.engine.known(tensor)?;
        let shape = tensor.shape();
        let total = sizes
            .iter()
            .try_fold(0usize, |all, it| all.checked_add(*it));
        if shape.get(dim).copied() != total {
            return Err(FerrumError::invalid_parameter(format!(
                "split of dimension {dim} of the shape {shape:?}: the sizes {sizes:?} do not fill it"
            )));
        }
        let mut start = 0;
        let parts = sizes.iter().map(|size| {
            let axis = i32::try_from(dim).unwrap_or(i32::MAX);
            let part = known.tensor().narrow(axis, start, *size as u64);
            start += *size as u64;
            known.viewed(part)
        });
        parts.collect()
    }

    /// The result shares the memory of the tensor.
    fn transpose(&self, tensor: &TensorRef, dim0: usize, dim1: usize) -> Result<TensorRef> {
        let rank = tensor.shape().len();
        if dim0 >= rank || dim1 >= rank {
            return Err(FerrumError::invalid_parameter(format!(
                "transpose of dimensions {dim0} and {dim1} of the shape {:?}",
                tensor.shape()
            )));
        }
        let mut axes: Vec<usize> = (0..rank).collect();
        axes.swap(dim0, dim1);
        self.ordered(tensor, &axes)
    }

    /// The result shares the memory of the tensor.
    fn permute(&self, tensor: &TensorRef, dims: &[usize]) -> Result<TensorRef> {
        self.ordered(tensor, dims)
    }
}
