//! Weights: open files of tensors, and load the tensors into memory of devices.

mod convert;
mod decoder;
mod json;
mod load;
mod metadata;
mod order;
mod progress;
mod source;
mod tensors;

pub use convert::{ConvertRequest, FileSum};
pub use decoder::{DecodedFile, DescribedTensor, Description, WeightsDecoder};
pub use load::{LoadMemory, LoadRequest};
pub use metadata::{FoundTensor, TensorMetadata, WeightsCapabilities, WeightsMetadata};
pub use order::{Order, Selection, TensorOrder, Transformation};
pub(crate) use source::path_text;
pub use source::{Weights, WeightsSource};
pub use tensors::{Element, LoadedTensor, TensorSet};
