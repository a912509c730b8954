//! The asynchronous and the batch operations of [`FerrumTensorOps`].

use async_trait::async_trait;
use ferrum_interfaces::tensor::{AsyncTensorOps, TensorBatchOps};
use ferrum_interfaces::{TensorFactory, TensorOps, TensorRef};
use ferrum_types::{FerrumError, Result};

use crate::error::error_of;
use crate::tensor_ops::FerrumTensorOps;

impl FerrumTensorOps {
    /// Runs an operation on a thread that may wait.
    async fn elsewhere(
        &self,
        operation: impl FnOnce(&Self) -> Result<TensorRef> + Send + 'static,
    ) -> Result<TensorRef> {
        let ops = self.clone();
        self.workers.run(move || operation(&ops)).await
    }
}

#[async_trait]
impl AsyncTensorOps for FerrumTensorOps {
    /// The future blocks no thread of its executor.
    async fn matmul_async(&self, a: &TensorRef, b: &TensorRef) -> Result<TensorRef> {
        let (a, b) = (a.clone(), b.clone());
        self.elsewhere(move |ops| ops.matmul(&a, &b)).await
    }

    /// The future blocks no thread of its executor.
    async fn softmax_async(&self, tensor: &TensorRef, dim: i32) -> Result<TensorRef> {
        let tensor = tensor.clone();
        self.elsewhere(move |ops| ops.softmax(&tensor, dim)).await
    }

    async fn synchronize(&self) -> Result<()> {
        let running = self.engine.slot.running()?;
        let call = move || running.compute.synchronize(None).map_err(error_of);
        self.workers.run(call).await
    }
}

/// The shape with one dimension more, of the length 1.
fn with_side(shape: &[usize], dim: usize) -> Result<Vec<usize>> {
    if dim > shape.len() {
        return Err(FerrumError::invalid_parameter(format!(
            "stack: a tensor of the shape {shape:?} gets no dimension {dim}"
        )));
    }
    let mut shape = shape.to_vec();
    shape.insert(dim, 1);
    Ok(shape)
}

impl TensorBatchOps for FerrumTensorOps {
    fn batch_matmul(
        &self,
        a_batch: &[&TensorRef],
        b_batch: &[&TensorRef],
    ) -> Result<Vec<TensorRef>> {
        if a_batch.len() != b_batch.len() {
            return Err(FerrumError::invalid_parameter(format!(
                "batch_matmul: {} tensors and {} tensors are no pairs",
                a_batch.len(),
                b_batch.len()
            )));
        }
        let pairs = a_batch.iter().zip(b_batch);
        pairs.map(|(a, b)| self.matmul(a, b)).collect()
    }

    fn stack(&self, tensors: &[&TensorRef], dim: usize) -> Result<TensorRef> {
        let parts = tensors.iter().map(|tensor| {
            let shape = with_side(tensor.shape(), dim)?;
            self.engine.factory.reshape(tensor, &shape)
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        self.concat(&parts.iter().collect::<Vec<_>>(), dim)
    }

    /// The results share the memory of the tensor.
    fn unstack(&self, tensor: &TensorRef, dim: usize) -> Result<Vec<TensorRef>> {
        let factory = &self.engine.factory;
        let Some(count) = tensor.shape().get(dim) else {
            return Err(FerrumError::invalid_parameter(format!(
                "unstack: the shape {:?} has no dimension {dim}",
                tensor.shape()
            )));
        };
        let mut shape = tensor.shape().to_vec();
        shape.remove(dim);
        let parts = (0..*count).map(|at| {
            let part = factory.narrow(tensor, dim, at, 1)?;
            factory.reshape(&part, &shape)
        });
        parts.collect()
    }

    /// The elements come first in each dimension, and zeros after them.
    fn pad_batch(&self, tensors: &[&TensorRef], target_shape: &[usize]) -> Result<Vec<TensorRef>> {
        let factory = &self.engine.factory;
        let padded = tensors.iter().map(|tensor| {
            let shape = tensor.shape();
            let fits = shape
                .iter()
                .zip(target_shape)
                .all(|(side, wide)| side <= wide);
            if shape.len() != target_shape.len() || !fits {
                return Err(FerrumError::invalid_parameter(format!(
                    "pad_batch: the shape {shape:?} does not fit into {target_shape:?}"
                )));
            }
            let made = factory.zeros(target_shape, tensor.dtype(), &tensor.device())?;
            let part = made.view(&vec![0; shape.len()], shape)?;
            let (part, source) = (factory.known(&part)?, factory.known(tensor)?);
            let copied = part.tensor().copy_from(source.tensor(), None);
            copied.map_err(error_of)?;
            part.settle()?;
            Ok(made)
        });
        padded.collect()
    }
}
