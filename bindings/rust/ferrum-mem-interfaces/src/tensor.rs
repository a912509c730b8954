use std::any::Any;
use std::sync::Arc;

use ferrum_interfaces::{TensorLike, TensorRef};
use ferrum_mem::{DType, ErrorKind, LoadMemory, Tensor};
use ferrum_types::{DataType, Device, FerrumError, Result};

use crate::config::count;
use crate::data_types::{data_type_of, dtype_of};
use crate::error::error_of;
use crate::pools::Pools;
use crate::sampling::greedy;

/// [`TensorLike`] on a [`Tensor`] of ferrum_mem. A [`crate::FerrumWeightLoader`] loads it, and a
/// [`crate::FerrumTensorFactory`] makes it. Views, reshaped tensors and clones share its memory, which is
/// freed with the last of them.
#[derive(Clone)]
pub struct FerrumTensor {
    tensor: Arc<Tensor>,
    pools: Arc<Pools>,
    shape: Vec<usize>,
    dtype: DataType,
    device: Device,
}

impl std::fmt::Debug for FerrumTensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumTensor")
            .field("shape", &self.shape)
            .field("dtype", &self.dtype)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// A shape for the library.
pub(crate) fn sides(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|side| *side as u64).collect()
}

impl FerrumTensor {
    pub(crate) fn new(tensor: Tensor, pools: &Arc<Pools>, device: &Device) -> Result<Self> {
        let Some(dtype) = data_type_of(tensor.dtype()) else {
            return Err(FerrumError::unsupported(format!(
                "the tensor has the type {}, which the traits do not have: convert it to another type",
                tensor.dtype()
            )));
        };
        Ok(Self {
            pools: pools.clone(),
            shape: tensor.shape().iter().map(|side| count(*side)).collect(),
            dtype,
            device: device.clone(),
            tensor: Arc::new(tensor),
        })
    }

    /// The tensor of the library.
    pub fn tensor(&self) -> &Arc<Tensor> {
        &self.tensor
    }

    /// The pools of the backend, factory or loader that it comes from.
    pub(crate) fn pools(&self) -> &Arc<Pools> {
        &self.pools
    }

    /// A view of this tensor.
    pub(crate) fn viewed(&self, view: ferrum_mem::Result<Tensor>) -> Result<TensorRef> {
        let view = view.map_err(error_of)?;
        Ok(Arc::new(Self::new(view, &self.pools, &self.device)?))
    }

    /// Copies the elements to a device, as a type of the library, and waits for the copy.
    fn converted(&self, device: &Device, dtype: DType) -> Result<Tensor> {
        let pool = self.pools.of(device)?;
        let memory = LoadMemory::pool(&pool);
        let made = self.tensor.to(&memory, dtype, None).map_err(error_of)?;
        self.pools.settle(&self.device)?;
        Ok(made)
    }

    /// Waits for the work of the default stream of the tensor's device.
    pub(crate) fn settle(&self) -> Result<()> {
        self.pools.settle(&self.device)
    }

    /// Copies the tensor to a device, with elements of the given type.
    pub(crate) fn copied(&self, device: &Device, dtype: DataType) -> Result<Self> {
        // FP8 stands for two types, so a tensor that has it already keeps its own.
        let dtype = if dtype == self.dtype {
            self.tensor.dtype()
        } else {
            dtype_of(dtype)
        };
        Self::new(self.converted(device, dtype)?, &self.pools, device)
    }

    /// The elements of a tensor with one row.
    pub(crate) fn row(&self) -> Result<Vec<f64>> {
        let (sides, is_scalar) = (&self.shape, self.shape.is_empty());
        if is_scalar || sides[..sides.len() - 1].iter().any(|it| *it != 1) {
            return Err(FerrumError::invalid_parameter(format!(
                "the shape {sides:?}: want a shape with one row"
            )));
        }
        let numbers = self.converted(&self.device, DType::F64)?;
        numbers.to_vec(None).map_err(error_of)
    }

    /// The tensor, or a copy of it without gaps.
    pub(crate) fn contiguous(&self) -> Result<Self> {
        if self.tensor.description().is_contiguous {
            return Ok(self.clone());
        }
        self.copied(&self.device, self.dtype)
    }

    /// The tensor with another shape. It shares the memory if the strides allow it.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Result<Self> {
        let sides = sides(shape);
        let view = match self.tensor.reshape(&sides) {
            Err(error) if error.kind == ErrorKind::Unsupported => {
                self.contiguous()?.tensor.reshape(&sides)
            }
            view => view,
        };
        Self::new(view.map_err(error_of)?, &self.pools, &self.device)
    }

    fn wrong_view(&self, start: &[usize], end: &[usize], said: &str) -> FerrumError {
        let shape = &self.shape;
        FerrumError::invalid_parameter(format!(
            "view {start:?} to {end:?} of the shape {shape:?}: {said}"
        ))
    }
}

impl TensorLike for FerrumTensor {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn dtype(&self) -> DataType {
        self.dtype
    }

    fn device(&self) -> Device {
        self.device.clone()
    }

    fn is_contiguous(&self) -> bool {
        self.tensor.description().is_contiguous
    }

    /// Elements of 4 bits are packed: two of them are in one byte.
    fn size_bytes(&self) -> usize {
        count(self.tensor.description().size_bytes)
    }

    /// The result shares the memory. For elements of 4 bits, a part with gaps is unsupported.
    fn view(&self, start: &[usize], end: &[usize]) -> Result<TensorRef> {
        if start.len() != self.shape.len() || end.len() != self.shape.len() {
            return Err(self.wrong_view(start, end, "each dimension needs a start and an end"));
        }
        let mut view: Option<Tensor> = None;
        for (side, length) in self.shape.iter().enumerate() {
            let (from, to) = (start[side], end[side]);
            if from > to || to > *length {
                let said = format!("dimension {side} has no such range");
                return Err(self.wrong_view(start, end, &said));
            }
            if to - from < *length {
                let of = view.as_ref().unwrap_or(&self.tensor);
                let made = of.narrow(side as i32, from as u64, (to - from) as u64);
                view = Some(made.map_err(error_of)?);
            }
        }
        match view {
            Some(view) => self.viewed(Ok(view)),
            None => Ok(Arc::new(self.clone())),
        }
    }

    /// The result shares the memory if the strides allow it. Otherwise it is a copy.
    fn reshape(&self, shape: &[usize]) -> Result<TensorRef> {
        Ok(Arc::new(self.reshaped(shape)?))
    }

    fn to_cpu(&self) -> Result<TensorRef> {
        self.to_device(&Device::CPU)
    }

    /// Copies the tensor, unless it is on the device already. Blocks until the copy is complete.
    fn to_device(&self, device: &Device) -> Result<TensorRef> {
        if *device == self.device {
            return Ok(Arc::new(self.clone()));
        }
        Ok(Arc::new(self.copied(device, self.dtype)?))
    }

    /// Converts the tensor, unless it has the type already. Blocks until the copy is complete.
    fn to_dtype(&self, dtype: DataType) -> Result<TensorRef> {
        if dtype == self.dtype {
            return Ok(Arc::new(self.clone()));
        }
        Ok(Arc::new(self.copied(&self.device, dtype)?))
    }

    fn to_vec_f32(&self) -> Result<Vec<f32>> {
        if self.dtype == DataType::FP32 {
            return self.tensor.to_vec(None).map_err(error_of);
        }
        let numbers = self.converted(&self.device, DType::F32)?;
        numbers.to_vec(None).map_err(error_of)
    }

    fn to_vec_u32(&self) -> Result<Vec<u32>> {
        if self.dtype == DataType::UINT32 {
            return self.tensor.to_vec(None).map_err(error_of);
        }
        let numbers = self.converted(&self.device, DType::U32)?;
        numbers.to_vec(None).map_err(error_of)
    }

    /// The index of the largest element of a tensor with one row; the first one of equal elements.
    fn argmax_last_dim_u32(&self) -> Result<u32> {
        greedy(&self.row()?)
    }
}
