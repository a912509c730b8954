use std::sync::{Arc, Mutex};

use ferrum_interfaces::{TensorFactory, TensorRef};
use ferrum_mem::{LoadMemory, Tensor};
use ferrum_types::{DataType, Device, FerrumError, Result};

use crate::data_types::dtype_of;
use crate::error::error_of;
use crate::hub::locked;
use crate::pools::Pools;
use crate::random::Random;
use crate::tensor::{sides, FerrumTensor};

/// [`TensorFactory`] on ferrum_mem. [`crate::FerrumMem::create_tensor_factory`] creates it, and a
/// backend has one. Its tensors are in pools of its own, one for each device, and each is a
/// [`FerrumTensor`]. A tensor of another implementation is accepted: its elements are copied as
/// `f32`.
pub struct FerrumTensorFactory {
    pools: Arc<Pools>,
    random: Mutex<Random>,
}

impl std::fmt::Debug for FerrumTensorFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumTensorFactory")
            .finish_non_exhaustive()
    }
}

/// The number of elements of a shape.
fn elements(shape: &[usize]) -> Result<usize> {
    let count = shape
        .iter()
        .try_fold(1usize, |all, side| all.checked_mul(*side));
    count.ok_or_else(|| {
        FerrumError::invalid_parameter(format!("the shape {shape:?} has too many elements"))
    })
}

impl FerrumTensorFactory {
    pub(crate) fn new(pools: Arc<Pools>, seed: u64) -> Self {
        Self {
            pools,
            random: Mutex::new(Random::new(seed)),
        }
    }

    fn made(&self, shape: &[usize], dtype: DataType, device: &Device) -> Result<FerrumTensor> {
        let pool = self.pools.of(device)?;
        let (memory, shape) = (LoadMemory::pool(&pool), sides(shape));
        let tensor = Tensor::create(&memory, dtype_of(dtype), &shape, None).map_err(error_of)?;
        FerrumTensor::new(tensor, &self.pools, device)
    }

    fn filled(
        &self,
        value: f64,
        shape: &[usize],
        dtype: DataType,
        device: &Device,
    ) -> Result<TensorRef> {
        let made = self.made(shape, dtype, device)?;
        made.tensor().fill(value, None).map_err(error_of)?;
        self.pools.settle(device)?;
        Ok(Arc::new(made))
    }

    fn written(
        &self,
        data: &[f32],
        shape: &[usize],
        dtype: DataType,
        device: &Device,
    ) -> Result<FerrumTensor> {
        if elements(shape)? != data.len() {
            return Err(FerrumError::invalid_parameter(format!(
                "{} elements do not fill the shape {shape:?}",
                data.len()
            )));
        }
        let made = self.made(shape, DataType::FP32, device)?;
        made.tensor().write(data, None).map_err(error_of)?;
        if dtype == DataType::FP32 {
            return Ok(made);
        }
        made.copied(device, dtype)
    }

    /// The tensor as one of ferrum_mem: itself, or a copy of a tensor of another implementation.
    pub(crate) fn known(&self, tensor: &TensorRef) -> Result<FerrumTensor> {
        if let Some(known) = tensor.as_any().downcast_ref::<FerrumTensor>() {
            return Ok(known.clone());
        }
        let data = tensor.to_vec_f32()?;
        self.written(&data, tensor.shape(), tensor.dtype(), &tensor.device())
    }

    fn random(
        &self,
        shape: &[usize],
        dtype: DataType,
        device: &Device,
        fill: impl FnOnce(&mut Random, &mut [f32]),
    ) -> Result<TensorRef> {
        let mut data = Vec::new();
        let count = elements(shape)?;
        data.try_reserve_exact(count)
            .map_err(|error| FerrumError::resource_exhausted(format!("{shape:?}: {error}")))?;
        data.resize(count, 0.0);
        fill(&mut locked(&self.random), &mut data);
        Ok(Arc::new(self.written(&data, shape, dtype, device)?))
    }
}

impl TensorFactory for FerrumTensorFactory {
    /// The elements have no value yet.
    fn empty(&self, shape: &[usize], dtype: DataType, device: Device) -> Result<TensorRef> {
        Ok(Arc::new(self.made(shape, dtype, &device)?))
    }

    fn zeros_like(&self, tensor: &TensorRef) -> Result<TensorRef> {
        self.zeros(tensor.shape(), tensor.dtype(), &tensor.device())
    }

    /// Another type than FP32 is converted from it.
    fn from_slice(
        &self,
        data: &[f32],
        shape: &[usize],
        dtype: DataType,
        device: Device,
    ) -> Result<TensorRef> {
        Ok(Arc::new(self.written(data, shape, dtype, &device)?))
    }

    /// The result shares the memory of a tensor that is on the device.
    fn to_device(&self, tensor: &TensorRef, device: Device) -> Result<TensorRef> {
        self.from_tensor(tensor, &device)
    }

    /// The result shares the memory.
    fn narrow(
        &self,
        tensor: &TensorRef,
        dim: usize,
        start: usize,
        length: usize,
    ) -> Result<TensorRef> {
        let known = self.known(tensor)?;
        let axis = i32::try_from(dim).unwrap_or(i32::MAX);
        known.viewed(known.tensor().narrow(axis, start as u64, length as u64))
    }

    /// The result shares the memory if the strides allow it.
    fn reshape(&self, tensor: &TensorRef, shape: &[usize]) -> Result<TensorRef> {
        ferrum_interfaces::TensorLike::reshape(&self.known(tensor)?, shape)
    }

    fn zeros(&self, shape: &[usize], dtype: DataType, device: &Device) -> Result<TensorRef> {
        self.filled(0.0, shape, dtype, device)
    }

    fn ones(&self, shape: &[usize], dtype: DataType, device: &Device) -> Result<TensorRef> {
        self.filled(1.0, shape, dtype, device)
    }

    /// Numbers from `low`, below `high`. The seed of the factory and the earlier calls determine
    /// them.
    fn uniform(
        &self,
        shape: &[usize],
        low: f32,
        high: f32,
        dtype: DataType,
        device: &Device,
    ) -> Result<TensorRef> {
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(FerrumError::invalid_parameter(format!(
                "uniform numbers from {low} to {high}: want two finite bounds in this order"
            )));
        }
        self.random(shape, dtype, device, |random, data| {
            data.fill_with(|| random.uniform(low, high));
        })
    }

    /// The seed of the factory and the earlier calls determine the numbers.
    fn normal(
        &self,
        shape: &[usize],
        mean: f32,
        std: f32,
        dtype: DataType,
        device: &Device,
    ) -> Result<TensorRef> {
        if !(mean.is_finite() && std.is_finite() && std >= 0.0) {
            return Err(FerrumError::invalid_parameter(format!(
                "normal numbers with mean {mean} and deviation {std}: want finite values, and a \
                 deviation that is not negative"
            )));
        }
        self.random(shape, dtype, device, |random, data| {
            for pair in data.chunks_mut(2) {
                for (number, normal) in pair.iter_mut().zip(random.normal_pair()) {
                    *number = (f64::from(mean) + f64::from(std) * normal) as f32;
                }
            }
        })
    }

    /// The result shares the memory of a tensor that is on the device.
    fn from_tensor(&self, tensor: &TensorRef, device: &Device) -> Result<TensorRef> {
        ferrum_interfaces::TensorLike::to_device(&self.known(tensor)?, device)
    }
}
