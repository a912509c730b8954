use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ferrum_interfaces::backend::{ComputeBackend, WeightLoader};
use ferrum_interfaces::model_builder::{
    AdvancedModelBuilder, BuildOptions, BuildProgress, BuildTimeEstimate, BuilderInfo, CustomLayer,
    ModelBuilder, ModelIR, OptimizationPass, ValidationIssue, ValidationSeverity,
};
use ferrum_interfaces::ModelExecutor;
use ferrum_mem::{
    BuildRequest, ElasticPool, ElasticPoolConfig, Executor, ModelSource as Source, Weights,
};
use ferrum_types::{
    DataType, Device, FerrumError, ModelConfig, ModelId, ModelSource, ModelType, Result,
};

use crate::custom_layers::register;
use crate::error::error_of;
use crate::hub::{locked, Hub};
use crate::model_executor::FerrumModelExecutor;
use crate::model_ir::{definition_of, has_weights, ir_of, weights_of};
use crate::model_passes::Pipeline;
use crate::model_texts::{builder_info, estimate, issues, parsed, progress};
use crate::running::Running;
use crate::tensor::FerrumTensor;

/// [`ModelBuilder`] on ferrum_mem. [`crate::FerrumMem`] creates it as a
/// [`ModelBuilderFactory`](ferrum_interfaces::model_builder::ModelBuilderFactory).
///
/// It builds encoders from a folder or a file, which the library reads itself: the loader of a call
/// is not used. The backend is one of the same [`crate::FerrumMem`], and is initialised. All models
/// of a builder on one device are in one elastic pool. Builds run on threads of this crate.
#[derive(Clone)]
pub struct FerrumModelBuilder {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Arc<Hub>,
    info: BuilderInfo,
    pools: Mutex<HashMap<Device, ElasticPool>>,
}

/// What a build of a call needs.
struct Order {
    from: Origin,
    id: ModelId,
    options: BuildOptions,
    device: Option<Device>,
    max_batch_size: Option<usize>,
    /// The layer types of the program.
    layers: Vec<Box<dyn CustomLayer>>,
    /// The passes in place of those of the level; `None`: those of the level.
    passes: Option<Vec<Box<dyn OptimizationPass>>>,
}

/// Where the model of an order is.
enum Origin {
    Path(PathBuf),
    Definition {
        json: String,
        /// The files of its weights; `None`: it has no weights.
        weights: Option<PathBuf>,
    },
}

type OnProgress = Box<dyn Fn(BuildProgress) + Send + Sync>;

impl std::fmt::Debug for FerrumModelBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumModelBuilder").finish_non_exhaustive()
    }
}

/// The engine of a backend of this hub.
fn running_of(hub: &Hub, backend: &dyn ComputeBackend) -> Result<Arc<Running>> {
    let devices = backend.status().active_devices;
    let device = devices
        .first()
        .ok_or_else(|| FerrumError::backend("the backend is not initialised"))?;
    // The traits do not show the type of a backend, but that of its tensors.
    let made = backend.tensor_factory();
    let made = made.from_slice(&[0.0], &[1], DataType::FP32, device.clone())?;
    let tensor = made.as_any().downcast_ref::<FerrumTensor>();
    let slot = tensor.and_then(|it| hub.engine_of(it.pools()));
    let slot = slot.ok_or_else(|| {
        FerrumError::unsupported(format!(
            "the backend {:?} is not one of this FerrumMem",
            backend.name()
        ))
    })?;
    slot.running()
}

impl FerrumModelBuilder {
    pub(crate) fn new(hub: Arc<Hub>) -> Result<Self> {
        let info = parsed(hub.devices.library().builder_info_json())?;
        Ok(Self {
            inner: Arc::new(Inner {
                hub,
                info: builder_info(&info),
                pools: Mutex::default(),
            }),
        })
    }

    async fn build(
        &self,
        order: Order,
        backend: Arc<dyn ComputeBackend>,
        on_progress: Option<OnProgress>,
    ) -> Result<Box<dyn ModelExecutor>> {
        let inner = self.inner.clone();
        let build = move || inner.build(order, &*backend, on_progress);
        let built = self.inner.hub.workers.run(build).await?;
        Ok(Box::new(built))
    }
}

impl Inner {
    fn build(
        &self,
        order: Order,
        backend: &dyn ComputeBackend,
        on_progress: Option<OnProgress>,
    ) -> Result<FerrumModelExecutor> {
        let running = running_of(&self.hub, backend)?;
        if let Some(device) = order.device.as_ref().filter(|it| **it != running.device) {
            return Err(FerrumError::config(format!(
                "the model is for {device}, and the backend runs on {}",
                running.device
            )));
        }
        let pool = self.pool(&running)?;
        let options = serde_json::to_value(&order.options);
        let mut options = options.map_err(|error| FerrumError::config(error.to_string()))?;
        let library = self.hub.devices.library();
        let pipeline = order.passes.map(|it| Pipeline::new(library, it));
        let pipeline = pipeline.transpose()?;
        if let Some(pipeline) = &pipeline {
            options["passes"] = serde_json::json!(pipeline.names);
        }
        let options = options.to_string();
        let from = match order.from {
            Origin::Path(path) if is_definition(&path) => Origin::Definition {
                json: text_of(&path)?,
                weights: None,
            },
            other => other,
        };
        let weights = match &from {
            Origin::Definition {
                weights: Some(path),
                ..
            } => Some(Weights::open(library, path).map_err(error_of)?),
            _ => None,
        };
        let source = match &from {
            Origin::Path(path) => Source::Path(path),
            Origin::Definition { json, .. } => Source::Definition {
                json,
                weights: weights.as_ref(),
            },
        };
        let layers = register(&self.hub, order.layers)?;
        let mut request = BuildRequest::new(source, &running.compute, &pool);
        request.model = Some(order.id.as_str());
        request.options_json = &options;
        let built = match on_progress {
            None => Executor::build(&request),
            Some(on) => Executor::build_with(&request, |it| {
                on(progress(it));
                ControlFlow::Continue(())
            }),
        };
        let built = built.map_err(error_of).map_err(|error| match &pipeline {
            Some(pipeline) => pipeline.error_of(error),
            None => error,
        });
        let batch = order.max_batch_size;
        let batch = batch.unwrap_or_else(|| backend.capabilities().max_batch_size);
        let executor = built?;
        FerrumModelExecutor::new(
            self.hub.clone(),
            executor,
            running,
            &order.id,
            batch,
            layers,
        )
    }

    fn pool(&self, running: &Running) -> Result<ElasticPool> {
        let mut pools = locked(&self.pools);
        if let Some(pool) = pools.get(&running.device) {
            return Ok(pool.clone());
        }
        let device = running.compute.device();
        let pool = device.create_elastic_pool(&ElasticPoolConfig::default());
        let pool = pool.map_err(error_of)?;
        pools.insert(running.device.clone(), pool.clone());
        Ok(pool)
    }

    fn issues(&self, config: &ModelConfig) -> Result<Vec<ValidationIssue>> {
        let library = self.hub.devices.library();
        let checked = parsed(library.validate_model_json(Path::new(&config.model_path)))?;
        Ok(Self::with_limits(config, issues(&checked)))
    }

    /// Adds what the library does not run of a configuration.
    fn with_limits(config: &ModelConfig, mut found: Vec<ValidationIssue>) -> Vec<ValidationIssue> {
        let mut add = |path: &str, fix: &str, description: String| {
            found.push(ValidationIssue {
                severity: ValidationSeverity::Error,
                category: "configuration".to_owned(),
                description,
                suggested_fix: Some(fix.to_owned()),
                config_path: path.to_owned(),
            });
        };
        for (path, size) in [
            ("tensor_parallel_size", config.tensor_parallel_size),
            ("pipeline_parallel_size", config.pipeline_parallel_size),
        ] {
            if let Some(size) = size.filter(|it| *it != 1) {
                let said = format!("a model runs on one device, not on {size}");
                add(path, "set 1 or nothing", said);
            }
        }
        if config.quantization.is_some() {
            let said = "a build does not quantise a model".to_owned();
            add("quantization", "use a file with quantised weights", said);
        }
        if config.max_batch_size == 0 {
            let said = "a batch has at least one sequence".to_owned();
            add("max_batch_size", "set 1 or more", said);
        }
        found
    }

    /// The order for a configuration, or the first issue that stops its build.
    fn order(&self, config: &ModelConfig) -> Result<Order> {
        self.checked(config, self.issues(config)?)
    }

    fn checked(&self, config: &ModelConfig, found: Vec<ValidationIssue>) -> Result<Order> {
        let issues = Self::with_limits(config, found);
        let stops = |it: &&ValidationIssue| it.severity >= ValidationSeverity::Error;
        if let Some(issue) = issues.iter().find(stops) {
            return Err(FerrumError::config(format!(
                "{}: {}",
                issue.config_path, issue.description
            )));
        }
        Ok(Order {
            from: Origin::Path(PathBuf::from(&config.model_path)),
            id: config.model_id.clone(),
            options: BuildOptions::default(),
            device: Some(config.device.clone()),
            max_batch_size: Some(config.max_batch_size),
            layers: Vec::new(),
            passes: None,
        })
    }
}

#[async_trait]
impl ModelBuilder for FerrumModelBuilder {
    /// Builds with the default options. An issue of the severity error or critical is
    /// [`FerrumError::Config`].
    async fn build_model(
        &self,
        config: &ModelConfig,
        compute_backend: Arc<dyn ComputeBackend>,
        _: Arc<dyn WeightLoader>,
    ) -> Result<Box<dyn ModelExecutor>> {
        let (inner, config) = (self.inner.clone(), config.clone());
        let order = self.inner.hub.workers.run(move || inner.order(&config));
        self.build(order.await?, compute_backend, None).await
    }

    /// Builds a local folder or file. The library does not use the network: other sources are
    /// [`FerrumError::Unsupported`]. The id of the model is the name of the folder or file.
    async fn build_from_source(
        &self,
        source: &ModelSource,
        compute_backend: Arc<dyn ComputeBackend>,
        _: Arc<dyn WeightLoader>,
        build_options: &BuildOptions,
    ) -> Result<Box<dyn ModelExecutor>> {
        let ModelSource::Local(path) = source else {
            return Err(FerrumError::unsupported(
                "a model is built from local files only: download it before",
            ));
        };
        let path = PathBuf::from(path);
        let name = path.file_name().unwrap_or(path.as_os_str());
        let order = Order {
            id: ModelId::new(name.to_string_lossy()),
            options: build_options.clone(),
            from: Origin::Path(path),
            device: None,
            max_batch_size: None,
            layers: Vec::new(),
            passes: None,
        };
        self.build(order, compute_backend, None).await
    }

    fn validate_config(&self, config: &ModelConfig) -> Result<Vec<ValidationIssue>> {
        self.inner.issues(config)
    }

    /// Encoders.
    fn supported_model_types(&self) -> Vec<ModelType> {
        vec![ModelType::Embedding]
    }

    /// Whole seconds are rounded up, and the expected time is the sum of its parts.
    async fn estimate_build_time(&self, config: &ModelConfig) -> Result<BuildTimeEstimate> {
        let (hub, path) = (self.inner.hub.clone(), config.model_path.clone());
        let call = move || {
            let library = hub.devices.library();
            let definition = library.export_model_json(path).map_err(error_of)?;
            parsed(library.estimate_build_json(&definition))
        };
        Ok(estimate(&self.inner.hub.workers.run(call).await?))
    }

    fn builder_info(&self) -> BuilderInfo {
        self.inner.info.clone()
    }
}

fn is_definition(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "json")
}

fn text_of(path: &Path) -> Result<String> {
    let read = std::fs::read_to_string(path);
    read.map_err(|error| FerrumError::io_str(format!("{}: {error}", path.display())))
}

#[async_trait]
impl AdvancedModelBuilder for FerrumModelBuilder {
    /// The model is a definition whose layers have the types of these layers: `model_path` of the
    /// configuration is a file that ends with `.json`. Parameters are initialised; the layers make
    /// theirs. [`crate::FerrumMem::set_layer_forward`] states how each type is computed; without it
    /// the call is [`FerrumError::Unsupported`]. The types are registered as long as the model exists,
    /// so one of another model is [`FerrumError::AlreadyExists`].
    async fn build_with_custom_layers(
        &self,
        config: &ModelConfig,
        custom_layers: Vec<Box<dyn CustomLayer>>,
        compute_backend: Arc<dyn ComputeBackend>,
        _: Arc<dyn WeightLoader>,
    ) -> Result<Box<dyn ModelExecutor>> {
        if !is_definition(Path::new(&config.model_path)) {
            return Err(FerrumError::unsupported(
                "only a definition has custom layers: a file that ends with .json",
            ));
        }
        let mut order = self.inner.checked(config, Vec::new())?;
        order.layers = custom_layers;
        self.build(order, compute_backend, None).await
    }

    /// As [`ModelBuilder::build_model`], which has a bounded working set too. The callback runs on a
    /// thread of the build.
    async fn build_incremental(
        &self,
        config: &ModelConfig,
        compute_backend: Arc<dyn ComputeBackend>,
        _: Arc<dyn WeightLoader>,
        progress_callback: OnProgress,
    ) -> Result<Box<dyn ModelExecutor>> {
        let (inner, config) = (self.inner.clone(), config.clone());
        let order = self.inner.hub.workers.run(move || inner.order(&config));
        let order = order.await?;
        self.build(order, compute_backend, Some(progress_callback))
            .await
    }

    /// The passes replace those of the library, and run after their dependencies. A dependency may be
    /// the name of a pass of the library, which then runs too. What a pass states about its effect is
    /// not used: the library measures it. The error of a pass is the error of the call; a definition
    /// that a pass has broken is [`FerrumError::Config`]. Types that the traits lack, such as integers
    /// of 64 bits, are in the maps of the [`ModelIR`], as
    /// [`AdvancedModelBuilder::export_model_definition`] describes.
    async fn build_with_optimization(
        &self,
        config: &ModelConfig,
        optimization_pipeline: Vec<Box<dyn OptimizationPass>>,
        compute_backend: Arc<dyn ComputeBackend>,
        _: Arc<dyn WeightLoader>,
    ) -> Result<Box<dyn ModelExecutor>> {
        let (inner, config) = (self.inner.clone(), config.clone());
        let order = self.inner.hub.workers.run(move || inner.order(&config));
        let mut order = order.await?;
        order.passes = Some(optimization_pipeline);
        self.build(order, compute_backend, None).await
    }

    /// The definition before the passes. What the traits lack is in its maps, under the key
    /// "ferrum_mem": `model_type` and the path `weights` in `metadata.additional`; `head_dim` in the
    /// `config` of the architecture; `dtype`, `source`, `value`, `parts` and an `initialization` of null
    /// in the `metadata` of a parameter; `dtypes` of tensors in the `config` of a layer. A type that the
    /// traits lack has the nearest type in its place, such as [`DataType::INT32`], and counts as long as
    /// that type is there. So the import of an export loses nothing.
    async fn export_model_definition(&self, config: &ModelConfig) -> Result<ModelIR> {
        let (hub, path) = (self.inner.hub.clone(), config.model_path.clone());
        let call = move || {
            let library = hub.devices.library();
            let text = match is_definition(Path::new(&path)) {
                true => text_of(Path::new(&path))?,
                false => library.export_model_json(&path).map_err(error_of)?,
            };
            let definition = serde_json::from_str(&text);
            let definition: serde_json::Value =
                definition.map_err(|error| FerrumError::invalid_format(error.to_string()))?;
            Ok(ir_of(&definition, Some(&path)))
        };
        self.inner.hub.workers.run(call).await
    }

    /// Builds with the default options, from the weights whose path the definition names. A definition
    /// without it has its parameters initialised. The id of the model is the name of the definition.
    async fn import_model_definition(
        &self,
        definition: &ModelIR,
        compute_backend: Arc<dyn ComputeBackend>,
        _: Arc<dyn WeightLoader>,
    ) -> Result<Box<dyn ModelExecutor>> {
        let json = definition_of(definition)?;
        let weights = weights_of(definition).filter(|_| has_weights(definition));
        let order = Order {
            from: Origin::Definition {
                json,
                weights: weights.map(PathBuf::from),
            },
            id: ModelId::new(&definition.metadata.name),
            options: BuildOptions::default(),
            device: None,
            max_batch_size: None,
            layers: Vec::new(),
            passes: None,
        };
        self.build(order, compute_backend, None).await
    }
}
