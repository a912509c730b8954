use crate::error::text_of;
use crate::raw::flag;
use crate::{sys, DType, Error, Result};

/// The type, the shape and the place of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorDescription {
    /// The type of its elements.
    pub dtype: DType,
    /// Length of each dimension, the slowest first.
    pub shape: Vec<u64>,
    /// Distance from one index of a dimension to the next, in elements. May be 0 or negative.
    pub strides: Vec<i64>,
    /// Address of the element whose indices are all 0, on its device; `None`: it has no elements.
    pub address: Option<u64>,
    /// Size of its elements without gaps.
    pub size_bytes: u64,
    /// Its device, such as "cpu:0".
    pub device: String,
    /// Its elements are in the order of the shape, without gaps.
    pub is_contiguous: bool,
    /// Its elements cannot be written.
    pub is_read_only: bool,
    /// Its elements are packed for an engine, and nothing else reads them.
    pub is_packed: bool,
}

impl TensorDescription {
    pub(crate) fn of(raw: &sys::ferrum_tensor_desc) -> Self {
        let rank = raw.rank as usize;
        Self {
            dtype: DType::from_raw(raw.dtype),
            // A length is never negative.
            shape: raw.shape[..rank].iter().map(|side| *side as u64).collect(),
            strides: raw.strides[..rank].to_vec(),
            address: (raw.address != 0).then_some(raw.address),
            size_bytes: raw.size_bytes,
            device: text_of(&raw.device),
            is_contiguous: raw.flags & sys::FERRUM_ELEMENTS_CONTIGUOUS != 0,
            is_read_only: raw.flags & sys::FERRUM_ELEMENTS_READ_ONLY != 0,
            is_packed: raw.flags & sys::FERRUM_ELEMENTS_PACKED != 0,
        }
    }
}

/// Type, shape and strides of a tensor over existing memory.
///
/// ```no_run
/// # use ferrum_mem::{DType, TensorLayout};
/// let columns = TensorLayout::new(DType::F32, &[3, 2]).strided(&[1, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct TensorLayout {
    dtype: DType,
    shape: Vec<u64>,
    strides: Option<Vec<i64>>,
    first: u64,
    is_read_only: bool,
    elements: Option<Vec<i64>>,
}

impl TensorLayout {
    /// Contiguous elements. No dimensions are one element.
    pub fn new(dtype: DType, shape: &[u64]) -> Self {
        Self {
            dtype,
            shape: shape.to_vec(),
            strides: None,
            first: 0,
            is_read_only: false,
            elements: None,
        }
    }

    /// The distance from one index of each dimension to the next, in elements.
    pub fn strided(mut self, strides: &[i64]) -> Self {
        self.strides = Some(strides.to_vec());
        self
    }

    /// The address of the element whose indices are all 0, for [`Tensor::wrap`](crate::Tensor::wrap).
    /// Otherwise it is the start of the memory.
    pub fn first_at(mut self, address: u64) -> Self {
        self.first = address;
        self
    }

    /// The elements must not be written.
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// The elements of an input of [`Op::infer`](crate::Op::infer) that carries a shape, axes or sizes.
    pub fn elements(mut self, elements: &[i64]) -> Self {
        self.elements = Some(elements.to_vec());
        self
    }

    /// The result refers to the elements of this object.
    pub(crate) fn raw(&self, function: &str) -> Result<sys::ferrum_tensor_desc> {
        let mut raw = sys::ferrum_tensor_desc {
            dtype: self.dtype.to_raw(),
            rank: self.shape.len() as u32,
            flags: flag(self.strides.is_none(), sys::FERRUM_ELEMENTS_CONTIGUOUS)
                // Strides of 0 are meant.
                | flag(self.strides.is_some(), sys::FERRUM_ELEMENTS_REPEATED)
                | flag(self.is_read_only, sys::FERRUM_ELEMENTS_READ_ONLY),
            address: self.first,
            ..Default::default()
        };
        let rank = self.shape.len();
        if rank > raw.shape.len() {
            let message = format!(
                "the shape {:?} has {rank} dimensions: want at most 8",
                self.shape
            );
            return Err(Error::argument(function, message));
        }
        raw.shape[..rank].copy_from_slice(&sides(&self.shape));
        if let Some(strides) = &self.strides {
            if strides.len() != rank {
                let shape = &self.shape;
                let message = format!(
                    "{} strides given for the shape {shape:?} of {rank} dimensions",
                    strides.len()
                );
                return Err(Error::argument(function, message));
            }
            raw.strides[..rank].copy_from_slice(strides);
        }
        if let Some(elements) = &self.elements {
            raw.elements = elements.as_ptr();
            raw.element_count = elements.len() as u64;
        }
        Ok(raw)
    }
}

/// A shape for C, which rejects the largest length.
pub(super) fn sides(shape: &[u64]) -> Vec<i64> {
    let sides = shape.iter().map(|side| i64::try_from(*side));
    sides.map(|side| side.unwrap_or(i64::MAX)).collect()
}
