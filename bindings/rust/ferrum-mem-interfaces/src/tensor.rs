use std::any::Any;
use std::sync::Arc;

use ferrum_interfaces::{TensorLike, TensorRef};
use ferrum_mem::{LoadMemory, LoadRequest, Order, Selection, Tensor, TensorSet, Transformation};
use ferrum_mem::{Weights, WeightsSource};
use ferrum_types::{DataType, Device, FerrumError, Result};

use crate::data_types::{bits_of, data_type_of, dtype_of};
use crate::error::error_of;
use crate::weight_loader::Pools;

/// A tensor that a [`crate::FerrumWeightLoader`] has loaded. Views, reshaped tensors and clones share
/// its memory, which is freed with the last tensor of its load.
#[derive(Clone)]
pub struct FerrumTensor {
    set: Arc<TensorSet>,
    pools: Arc<Pools>,
    address: u64,
    shape: Vec<usize>,
    dtype: DataType,
    device: Device,
    is_on_host: bool,
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

impl FerrumTensor {
    pub(crate) fn new(
        set: &Arc<TensorSet>,
        pools: &Arc<Pools>,
        of: &Tensor<'_>,
        device: Device,
    ) -> Result<Self> {
        let Some(dtype) = data_type_of(of.dtype()) else {
            return Err(FerrumError::unsupported(format!(
                "tensor {:?} has the type {}, which the traits do not have: load it with a cast to another type",
                of.name(),
                of.dtype()
            )));
        };
        let shape = of.shape().iter().map(|side| usize::try_from(*side));
        let shape = shape.collect::<std::result::Result<_, _>>();
        Ok(Self {
            set: set.clone(),
            pools: pools.clone(),
            address: of.address().unwrap_or(0),
            shape: shape.map_err(|error| FerrumError::invalid_parameter(error.to_string()))?,
            dtype,
            device,
            is_on_host: of.device().is_none_or(|id| id.starts_with("cpu:")),
        })
    }

    /// The address of its elements on its device. They are in the order of the shape, without gaps.
    /// A tensor without elements has the address 0.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The load that the tensor belongs to. The address is valid while the set exists.
    pub fn set(&self) -> &Arc<TensorSet> {
        &self.set
    }

    /// Copies the bytes of a tensor that the host can read.
    fn bytes(&self) -> Result<Vec<u8>> {
        let size = self.size_bytes();
        if size == 0 {
            return Ok(Vec::new());
        }
        if !self.is_on_host {
            return Err(FerrumError::unsupported(format!(
                "the tensor is in memory of {}, which the host cannot read",
                self.device
            )));
        }
        // SAFETY: the set keeps the memory alive. It has this many bytes, and nothing writes to it.
        Ok(unsafe { std::slice::from_raw_parts(self.address as *const u8, size) }.to_vec())
    }

    /// Copies the tensor to a device, with elements of the given type.
    fn copied(&self, device: &Device, dtype: DataType) -> Result<Self> {
        let shape: Vec<u64> = self.shape.iter().map(|side| *side as u64).collect();
        let source = WeightsSource::memory("a tensor", self.bytes()?);
        let source = source.raw(dtype_of(self.dtype), shape);
        let library = self.pools.library();
        let weights = Weights::open_source(library, &source).map_err(error_of)?;
        let pool = self.pools.of(device)?;
        let cast = Transformation::Cast {
            dtype: dtype_of(dtype),
        };
        let request = LoadRequest {
            order: Order::Chosen(Selection {
                transformations: (dtype != self.dtype).then_some(cast).into_iter().collect(),
                ..Default::default()
            }),
            ..LoadRequest::to(LoadMemory::pool(&pool))
        };
        let set = Arc::new(weights.load(&request).map_err(error_of)?);
        set.wait(None).map_err(error_of)?;
        let tensor = set.tensor(0).map_err(error_of)?;
        Self::new(&set, &self.pools, &tensor, device.clone())
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
        true
    }

    /// Elements of 4 bits are packed: two of them are in one byte.
    fn size_bytes(&self) -> usize {
        (self.numel() * bits_of(self.dtype)).div_ceil(8)
    }

    /// The result shares the memory. A part whose elements are not contiguous is unsupported.
    fn view(&self, start: &[usize], end: &[usize]) -> Result<TensorRef> {
        let wrong = |said: String| {
            let message = format!(
                "view {start:?} to {end:?} of the shape {:?}: {said}",
                self.shape
            );
            message
        };
        if start.len() != self.shape.len() || end.len() != self.shape.len() {
            let said = wrong("each dimension needs a start and an end".into());
            return Err(FerrumError::invalid_parameter(said));
        }
        let (mut stride, mut offset, mut has_gaps, mut is_part) = (1, 0, false, false);
        let mut shape = vec![0; self.shape.len()];
        for side in (0..self.shape.len()).rev() {
            if start[side] > end[side] || end[side] > self.shape[side] {
                let said = wrong(format!("dimension {side} has no such range"));
                return Err(FerrumError::invalid_parameter(said));
            }
            shape[side] = end[side] - start[side];
            // If a faster dimension is cut, each slower one has the length 1 in a contiguous part.
            has_gaps |= is_part && shape[side] > 1;
            is_part |= shape[side] != self.shape[side];
            offset += start[side] * stride;
            stride *= self.shape[side];
        }
        let bits = offset * bits_of(self.dtype);
        if (has_gaps && !shape.contains(&0)) || !bits.is_multiple_of(8) {
            let said = wrong("the elements of the part are not contiguous".into());
            return Err(FerrumError::unsupported(said));
        }
        Ok(Arc::new(Self {
            address: self.address + (bits / 8) as u64,
            shape,
            ..self.clone()
        }))
    }

    /// The result shares the memory.
    fn reshape(&self, shape: &[usize]) -> Result<TensorRef> {
        let count = shape
            .iter()
            .try_fold(1usize, |all, side| all.checked_mul(*side));
        if count != Some(self.numel()) {
            return Err(FerrumError::invalid_parameter(format!(
                "a tensor of the shape {:?} cannot have the shape {shape:?}",
                self.shape
            )));
        }
        Ok(Arc::new(Self {
            shape: shape.to_vec(),
            ..self.clone()
        }))
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
        if self.dtype != DataType::FP32 {
            return self.copied(&Device::CPU, DataType::FP32)?.to_vec_f32();
        }
        let bytes = self.bytes()?;
        let numbers = bytes.chunks_exact(4);
        Ok(numbers
            .map(|it| f32::from_ne_bytes([it[0], it[1], it[2], it[3]]))
            .collect())
    }

    fn to_vec_u32(&self) -> Result<Vec<u32>> {
        if self.dtype != DataType::UINT32 {
            return self.copied(&Device::CPU, DataType::UINT32)?.to_vec_u32();
        }
        let bytes = self.bytes()?;
        let numbers = bytes.chunks_exact(4);
        Ok(numbers
            .map(|it| u32::from_ne_bytes([it[0], it[1], it[2], it[3]]))
            .collect())
    }
}
