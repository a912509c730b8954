use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ferrum_interfaces::backend::{
    TensorSpec, TensorTransformation, TransformationType, WeightFormat, WeightLoader,
    WeightLoaderCapabilities, WeightMetadata, WeightSource, WeightSourceType,
};
use ferrum_interfaces::TensorRef;
use ferrum_mem::{
    Library, LoadMemory, LoadRequest, Order, PoolConfig, Tensor, TensorOrder, TensorSet,
    Transformation, Weights, WeightsFormat, WeightsSource,
};
use ferrum_types::{DataType, Device, FerrumError, Result};
use serde_json::json;

use crate::config::count;
use crate::data_types::{data_type_of, dtype_of};
use crate::error::error_of;
use crate::hub::{locked, Hub};
use crate::pools::Pools;
use crate::tensor::{sides, FerrumTensor};

/// [`WeightLoader`] on ferrum_mem. [`crate::FerrumMem::create_weight_loader`] creates it.
///
/// Tensors are in memory of pools, one pool for each device, and each is a
/// [`FerrumTensor`]. The expected shape of a [`TensorSpec`] is that of the source, before
/// transformations; its type is that of the result, after them. The library does not use the
/// network and does not quantise: such sources and transformations are unsupported.
pub struct FerrumWeightLoader {
    hub: Arc<Hub>,
    pools: Arc<Pools>,
    /// The sets that [`WeightLoader::preload`] keeps in the page cache, by path of the file.
    warm: Arc<Mutex<HashMap<String, TensorSet>>>,
}

impl std::fmt::Debug for FerrumWeightLoader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumWeightLoader").finish_non_exhaustive()
    }
}

impl FerrumWeightLoader {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self {
            pools: Pools::new(hub.clone(), PoolConfig::default()),
            hub,
            warm: Arc::default(),
        }
    }
}

/// Describes the source for the library. Bytes without a header have no shape and type of their own:
/// these come from the spec.
fn source_of(source: &WeightSource, raw: Option<&TensorSpec>) -> Result<WeightsSource> {
    match source {
        WeightSource::File { path, .. } => Ok(WeightsSource::file(path)),
        WeightSource::Memory { data, format } => {
            let made = WeightsSource::memory("memory", data.as_slice());
            match format {
                WeightFormat::PyTorch => Ok(made.format(WeightsFormat::Pytorch)),
                WeightFormat::SafeTensors => Ok(made.format(WeightsFormat::Safetensors)),
                WeightFormat::Numpy => Ok(made.format(WeightsFormat::Numpy)),
                WeightFormat::Onnx => Ok(made.format(WeightsFormat::Onnx)),
                WeightFormat::Custom(0) => Ok(made),
                WeightFormat::Custom(number) => Ok(made.decoder(*number)),
                WeightFormat::Raw => match raw {
                    Some(spec) => Ok(made.raw(dtype_of(spec.dtype), sides(&spec.shape))),
                    None => Err(FerrumError::invalid_parameter(
                        "raw bytes have no shape and type of their own: load them with a TensorSpec",
                    )),
                },
            }
        }
        WeightSource::Url { url, .. } => Err(no_network(url)),
        WeightSource::HuggingFace { repo_id, .. } => Err(no_network(repo_id)),
        WeightSource::S3 { bucket, .. } => Err(no_network(bucket)),
    }
}

fn no_network(address: &str) -> FerrumError {
    FerrumError::unsupported(format!(
        "{address:?}: the library does not use the network; load a local file"
    ))
}

/// Whether two specs can be read from one open source.
fn is_same(a: &WeightSource, b: &WeightSource) -> bool {
    match (a, b) {
        (WeightSource::File { path: a, .. }, WeightSource::File { path: b, .. }) => a == b,
        (
            WeightSource::Memory { data: a, format: x },
            WeightSource::Memory { data: b, format: y },
        ) => match (x, y) {
            (WeightFormat::Raw, _) | (_, WeightFormat::Raw) => false,
            (WeightFormat::Custom(x), WeightFormat::Custom(y)) => x == y && a == b,
            _ => std::mem::discriminant(x) == std::mem::discriminant(y) && a == b,
        },
        _ => false,
    }
}

/// The order of one tensor. Its name is the index of its spec.
fn order_of(spec: &TensorSpec, place: usize, stored: &str) -> Result<TensorOrder> {
    let mut order = TensorOrder::new(stored)
        .named(place.to_string())
        .shaped(sides(&spec.shape));
    // FP8 stands for two types of the library, so the type is checked after the load.
    if spec.dtype != DataType::FP8 {
        order = order.typed(dtype_of(spec.dtype));
    }
    let dim = |side: usize| i64::try_from(side).unwrap_or(i64::MAX);
    for transformation in &spec.transformations {
        order = order.with(match transformation {
            TensorTransformation::Transpose { dim0, dim1 } => Transformation::Transpose {
                dim0: dim(*dim0),
                dim1: dim(*dim1),
            },
            TensorTransformation::Reshape { shape } => Transformation::Reshape {
                shape: sides(shape),
            },
            TensorTransformation::Cast { dtype } => Transformation::Cast {
                dtype: dtype_of(*dtype),
            },
            TensorTransformation::Scale { factor } => Transformation::Scale { factor: *factor },
            TensorTransformation::Slice {
                dim: side,
                start,
                end,
            } => Transformation::Slice {
                dim: dim(*side),
                start: start.map(|it| it as u64),
                end: end.map(|it| it as u64),
            },
            TensorTransformation::Quantize { .. } => {
                return Err(FerrumError::unsupported(format!(
                    "tensor {:?}: the library does not quantise",
                    spec.name
                )))
            }
        });
    }
    Ok(order)
}

/// Loads the specs of one source, and returns each tensor with the index of its spec.
fn load(pools: &Arc<Pools>, specs: &[(usize, TensorSpec)]) -> Result<Vec<(usize, FerrumTensor)>> {
    let first = &specs[0].1;
    let source = source_of(&first.source, Some(first))?;
    let weights = Weights::open_source(pools.library(), &source).map_err(error_of)?;
    let metadata = weights.metadata().map_err(error_of)?;
    let mut devices: Vec<Device> = Vec::new();
    let mut orders = Vec::new();
    for (place, spec) in specs {
        let stored = match &spec.source {
            WeightSource::File {
                tensor_name: Some(name),
                ..
            } => name,
            // Raw bytes are one tensor, whatever its name is.
            WeightSource::Memory {
                format: WeightFormat::Raw,
                ..
            } => metadata.tensors.keys().next().unwrap_or(&spec.name),
            _ => &spec.name,
        };
        let memory = devices.iter().position(|device| *device == spec.device);
        let memory = memory.unwrap_or_else(|| {
            devices.push(spec.device.clone());
            devices.len() - 1
        });
        orders.push(order_of(spec, *place, stored)?.memory(memory));
    }
    let opened = devices.iter().map(|device| pools.of(device));
    let opened = opened.collect::<Result<Vec<_>>>()?;
    let request = LoadRequest {
        memories: opened.iter().map(LoadMemory::pool).collect(),
        order: Order::Listed(orders),
        ..Default::default()
    };
    let set = Arc::new(weights.load(&request).map_err(error_of)?);
    set.wait(None).map_err(error_of)?;
    let mut loaded = Vec::new();
    for (index, (place, spec)) in specs.iter().enumerate() {
        let tensor = Tensor::from_set(&set, index as u64).map_err(error_of)?;
        if data_type_of(tensor.dtype()) != Some(spec.dtype) {
            return Err(FerrumError::invalid_parameter(format!(
                "tensor {:?} has the type {}, not {:?}: add a cast to the spec",
                spec.name,
                tensor.dtype(),
                spec.dtype
            )));
        }
        let tensor = FerrumTensor::new(tensor, pools, &spec.device)?;
        loaded.push((*place, tensor));
    }
    Ok(loaded)
}

/// Loads all specs, or none.
fn load_all(pools: &Arc<Pools>, specs: Vec<TensorSpec>) -> Result<Vec<TensorRef>> {
    let mut groups: Vec<Vec<(usize, TensorSpec)>> = Vec::new();
    for (place, spec) in specs.into_iter().enumerate() {
        let same = groups
            .iter_mut()
            .find(|group| is_same(&group[0].1.source, &spec.source));
        match same {
            Some(group) => group.push((place, spec)),
            None => groups.push(vec![(place, spec)]),
        }
    }
    let mut loaded = Vec::new();
    for group in &groups {
        loaded.extend(load(pools, group)?);
    }
    loaded.sort_by_key(|(place, _)| *place);
    let tensors = loaded.into_iter();
    Ok(tensors.map(|(_, it)| Arc::new(it) as TensorRef).collect())
}

/// A format as the traits name it. A format that the traits do not know is `Custom(0)`.
fn format_of(name: &str) -> WeightFormat {
    match name.parse() {
        Ok(WeightsFormat::Pytorch) => WeightFormat::PyTorch,
        Ok(WeightsFormat::Safetensors) => WeightFormat::SafeTensors,
        Ok(WeightsFormat::Numpy) => WeightFormat::Numpy,
        Ok(WeightsFormat::Raw) => WeightFormat::Raw,
        Ok(WeightsFormat::Onnx) => WeightFormat::Onnx,
        _ => WeightFormat::Custom(0),
    }
}

fn described(library: &Library, source: &WeightSource) -> Result<WeightMetadata> {
    let weights = Weights::open_source(library, &source_of(source, None)?).map_err(error_of)?;
    let found = weights.metadata().map_err(error_of)?;
    let dtypes = found.dtypes.iter();
    let names: Vec<_> = found.dtypes.iter().map(|dtype| dtype.name()).collect();
    Ok(WeightMetadata {
        format: format_of(&found.format),
        total_size_bytes: found.total_size_bytes,
        dtypes: dtypes.filter_map(|dtype| data_type_of(*dtype)).collect(),
        extra: HashMap::from([
            ("format".to_owned(), json!(found.format)),
            ("dtypes".to_owned(), json!(names)),
            ("files".to_owned(), json!(found.files)),
            ("texts".to_owned(), json!(found.texts)),
        ]),
        tensors: found
            .tensors
            .into_iter()
            .map(|(name, it)| (name, it.shape.into_iter().map(count).collect()))
            .collect(),
    })
}

#[async_trait]
impl WeightLoader for FerrumWeightLoader {
    async fn load_tensor(&self, spec: &TensorSpec) -> Result<TensorRef> {
        let mut tensors = self.load_tensors(std::slice::from_ref(spec)).await?;
        let tensor = tensors.pop();
        tensor.ok_or_else(|| FerrumError::internal("the load returned no tensor"))
    }

    /// Loads all tensors, or none. All specs of one source are read in one load.
    async fn load_tensors(&self, specs: &[TensorSpec]) -> Result<Vec<TensorRef>> {
        let (pools, specs) = (self.pools.clone(), specs.to_vec());
        self.hub.workers.run(move || load_all(&pools, specs)).await
    }

    async fn is_available(&self, source: &WeightSource) -> bool {
        let (hub, source) = (self.hub.clone(), source.clone());
        let call = move || {
            let source = source_of(&source, None)?;
            Weights::check(hub.devices.library(), &source).map_err(error_of)
        };
        self.hub.workers.run(call).await.is_ok()
    }

    /// The extra entries are the name of the format, the names of all types, the files, and the texts
    /// of the source.
    async fn get_metadata(&self, source: &WeightSource) -> Result<WeightMetadata> {
        let (hub, source) = (self.hub.clone(), source.clone());
        let call = move || described(hub.devices.library(), &source);
        self.hub.workers.run(call).await
    }

    /// Reads a file into the page cache of the system. The loader keeps it there until it is
    /// dropped.
    async fn preload(&self, source: &WeightSource) -> Result<()> {
        let (hub, warm, source) = (self.hub.clone(), self.warm.clone(), source.clone());
        let call = move || {
            let library = hub.devices.library();
            let opened = Weights::open_source(library, &source_of(&source, None)?);
            let weights = opened.map_err(error_of)?;
            let WeightSource::File { path, .. } = source else {
                return Ok(());
            };
            let set = weights.preload(Order::All).map_err(error_of)?;
            set.wait(None).map_err(error_of)?;
            // The former set of the path is dropped after the lock is released.
            let former = locked(&warm).insert(path, set);
            drop(former);
            Ok(())
        };
        self.hub.workers.run(call).await
    }

    fn capabilities(&self) -> WeightLoaderCapabilities {
        let found = Weights::capabilities(self.hub.devices.library());
        let Ok(found) = found else {
            return WeightLoaderCapabilities {
                supported_formats: Vec::new(),
                supported_sources: Vec::new(),
                max_tensor_size: 0,
                supports_streaming: false,
                supports_concurrent: false,
                supported_transformations: Vec::new(),
            };
        };
        let sources = found.supported_sources.iter();
        let transformations = found.supported_transformations.iter();
        WeightLoaderCapabilities {
            supported_formats: found
                .supported_formats
                .iter()
                .map(|it| format_of(it))
                .collect(),
            supported_sources: sources
                .filter_map(|name| match name.as_str() {
                    "file" => Some(WeightSourceType::File),
                    "memory" => Some(WeightSourceType::Memory),
                    _ => None,
                })
                .collect(),
            max_tensor_size: found.max_tensor_size,
            supports_streaming: found.supports_streaming,
            supports_concurrent: found.supports_concurrent,
            supported_transformations: transformations
                .filter_map(|name| match name.as_str() {
                    "transpose" => Some(TransformationType::Transpose),
                    "reshape" => Some(TransformationType::Reshape),
                    "cast" => Some(TransformationType::Cast),
                    "scale" => Some(TransformationType::Scale),
                    "slice" => Some(TransformationType::Slice),
                    _ => None,
                })
                .collect(),
        }
    }
}
