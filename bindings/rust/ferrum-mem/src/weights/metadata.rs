use std::collections::BTreeMap;

use crate::weights::json::{self, Object};
use crate::{sys, DType, Result};

/// The content of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeightsMetadata {
    /// The format, such as "safetensors", or the name of a decoder's.
    pub format: String,
    /// The sum of the stored sizes of the tensors.
    pub total_size_bytes: u64,
    /// The types that occur.
    pub dtypes: Vec<DType>,
    /// The tensors by name.
    pub tensors: BTreeMap<String, TensorMetadata>,
    /// The paths of all files. A tensor refers to a file by its index.
    pub files: Vec<String>,
    /// The other metadata of the files: the metadata of safetensors, the keys of GGUF.
    pub texts: BTreeMap<String, String>,
}

/// A tensor of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorMetadata {
    /// The shape, the slowest side first.
    pub shape: Vec<u64>,
    /// Type of its elements.
    pub dtype: DType,
    /// The type as the format calls it.
    pub stored_as: String,
    /// Place of its file in [`WeightsMetadata::files`].
    pub file: usize,
    /// Place of its bytes in the file.
    pub offset_bytes: u64,
    /// Number of its bytes in the file.
    pub size_bytes: u64,
    /// Number of its elements.
    pub elements: u64,
    /// The file has compressed bytes.
    pub is_compressed: bool,
}

/// A tensor of a source, as [`Weights::find`](crate::Weights::find) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundTensor {
    /// Type of its elements.
    pub dtype: DType,
    /// The shape, the slowest side first.
    pub shape: Vec<u64>,
    /// Size of its elements.
    pub size_bytes: u64,
    /// The file has compressed bytes.
    pub is_compressed: bool,
}

impl FoundTensor {
    pub(super) fn of(info: &sys::ferrum_tensor_info) -> Self {
        Self {
            dtype: DType::from_raw(info.dtype),
            shape: shape_of(info).to_vec(),
            size_bytes: info.size_bytes,
            is_compressed: info.flags & sys::FERRUM_TENSOR_COMPRESSED != 0,
        }
    }
}

/// The sides that the tensor has.
pub(super) fn shape_of(info: &sys::ferrum_tensor_info) -> &[u64] {
    &info.shape[..(info.rank as usize).min(info.shape.len())]
}

/// The formats and types that the library can load.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeightsCapabilities {
    /// The formats, with those of decoders.
    pub supported_formats: Vec<String>,
    /// Kinds of sources.
    pub supported_sources: Vec<String>,
    /// Size of the largest tensor.
    pub max_tensor_size: u64,
    /// Tensors are read part by part.
    pub supports_streaming: bool,
    /// Several loads run at a time.
    pub supports_concurrent: bool,
    /// Kinds of transformations.
    pub supported_transformations: Vec<String>,
}

impl WeightsMetadata {
    pub(super) fn of(text: &str) -> Result<Self> {
        json::read("ferrum_weights_metadata_json", text, |of| {
            let extra = of.object("extra")?;
            let places = extra.object("tensors")?;
            Ok(Self {
                format: of.text("format")?,
                total_size_bytes: of.number("total_size_bytes")?,
                dtypes: dtypes(&of.texts("dtypes")?)?,
                tensors: of.object("tensors")?.map(|shapes, name| {
                    TensorMetadata::of(shapes.numbers(name)?, places.object(name)?)
                })?,
                files: extra.texts("files")?,
                texts: extra.object("texts")?.map(Object::text)?,
            })
        })
    }
}

fn dtypes(names: &[String]) -> Result<Vec<DType>> {
    names.iter().map(|name| name.parse()).collect()
}

impl TensorMetadata {
    fn of(shape: Vec<u64>, place: Object<'_>) -> Result<Self> {
        Ok(Self {
            shape,
            dtype: place.text("dtype")?.parse()?,
            stored_as: place.text("stored_as")?,
            file: usize::try_from(place.number("file")?).unwrap_or(usize::MAX),
            offset_bytes: place.number("offset_bytes")?,
            size_bytes: place.number("size_bytes")?,
            elements: place.number("elements")?,
            is_compressed: place.flag("is_compressed"),
        })
    }
}

impl WeightsCapabilities {
    pub(super) fn of(text: &str) -> Result<Self> {
        json::read("ferrum_weights_capabilities_json", text, |of| {
            Ok(Self {
                supported_formats: of.texts("supported_formats")?,
                supported_sources: of.texts("supported_sources")?,
                max_tensor_size: of.number("max_tensor_size")?,
                supports_streaming: of.truth("supports_streaming")?,
                supports_concurrent: of.truth("supports_concurrent")?,
                supported_transformations: of.texts("supported_transformations")?,
            })
        })
    }
}
