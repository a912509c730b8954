//! Layers of the published trait in models.

use std::collections::HashMap;
use std::sync::Arc;

use ferrum_interfaces::backend::{BackendFactory, ComputeBackend, WeightLoader};
use ferrum_interfaces::model_builder::*;
use ferrum_interfaces::{ModelExecutor, TensorRef};
use ferrum_mem::{ErrorKind, ProgramFailure};
use ferrum_mem_interfaces::FerrumMem;
use ferrum_types::{DataType, Device, FerrumError, ModelConfig, Result};

use crate::support::*;

/// Multiplies rows of 4 numbers by a gain and a factor.
struct Scale {
    backend: Arc<dyn ComputeBackend>,
    output: i64,
    dtype: DataType,
}

impl CustomLayer for Scale {
    fn name(&self) -> &str {
        "a scale"
    }

    fn layer_type(&self) -> &str {
        "mine.scale"
    }

    fn input_shape(&self) -> Vec<i64> {
        vec![-1, -1, 4]
    }

    fn output_shape(&self, input_shape: &[i64]) -> Vec<i64> {
        vec![input_shape[0], input_shape[1], self.output]
    }

    fn initialize_parameters(&self) -> Result<HashMap<String, TensorRef>> {
        let gain = [1.0, 2.0, 3.0, 4.0];
        let gain =
            self.backend
                .tensor_factory()
                .from_slice(&gain, &[4], self.dtype, Device::CPU)?;
        Ok(HashMap::from([("gain".to_owned(), gain)]))
    }

    fn config(&self) -> serde_json::Value {
        serde_json::json!({"factor": 10})
    }
}

const DEFINITION: &str = r#"{
  "metadata": {"name": "m", "version": "1", "model_type": "m", "architecture_family": "custom"},
  "architecture": {"name": "m", "dimensions": {"vocab_size": 3, "hidden_size": 4, "num_layers": 1,
    "num_heads": 1, "max_sequence_length": 8}},
  "parameters": [{"name": "table", "shape": [3, 4], "dtype": "f32", "trainable": true,
    "initialization": {"strategy": "ones"}}],
  "layers": [
    {"name": "ids", "layer_type": "Input", "inputs": [], "parameters": [],
     "outputs": [{"name": "ids", "shape": [-1, -1], "dtype": "i64"}]},
    {"name": "rows", "layer_type": "Gather", "parameters": ["table"],
     "inputs": [{"name": "table", "shape": [3, 4], "dtype": "f32"},
       {"name": "at", "shape": [-1, -1], "dtype": "i64"}],
     "outputs": [{"name": "out", "shape": [-1, -1, 4], "dtype": "f32"}]},
    {"name": "scaled", "layer_type": "mine.scale", "parameters": [],
     "inputs": [{"name": "in", "shape": [-1, -1, 4], "dtype": "f32"}],
     "outputs": [{"name": "out", "shape": [-1, -1, 4], "dtype": "f32"}]}],
  "graph": {"inputs": ["ids"], "outputs": ["scaled"],
    "nodes": [{"id": "ids", "layer_name": "ids", "metadata": {"dims": ["batch", "sequence"]}},
      {"id": "rows", "layer_name": "rows"}, {"id": "scaled", "layer_name": "scaled"}],
    "edges": [{"source": "ids", "target": "rows", "target_input": 1},
      {"source": "rows", "target": "scaled"}]}
}"#;

struct Rig {
    builder: Box<dyn AdvancedModelBuilder>,
    backend: Arc<dyn ComputeBackend>,
    loader: Arc<dyn WeightLoader>,
    path: std::path::PathBuf,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn rig(engine: &Engine, name: &str) -> Rig {
    let factory: &dyn BackendFactory = &engine.factory;
    let config = FerrumMem::default_backend_config();
    let mut backend = block_on(factory.create_compute_backend(&config)).unwrap();
    block_on(backend.initialize(&Device::CPU)).unwrap();
    let loader: Box<dyn WeightLoader> = Box::new(engine.factory.create_weight_loader());
    let models: &dyn ModelBuilderFactory = &engine.factory;
    let path = std::env::temp_dir().join(format!("{name}-{}.json", std::process::id()));
    std::fs::write(&path, DEFINITION).unwrap();
    Rig {
        builder: block_on(models.create_advanced_builder()).unwrap(),
        backend: backend.into(),
        loader: loader.into(),
        path,
    }
}

impl Rig {
    fn build(&self, output: i64, dtype: DataType) -> Result<Box<dyn ModelExecutor>> {
        let layer = Scale {
            backend: self.backend.clone(),
            output,
            dtype,
        };
        let config = ModelConfig::new("layered", self.path.to_string_lossy());
        let (backend, loader) = (self.backend.clone(), self.loader.clone());
        let layers: Vec<Box<dyn CustomLayer>> = vec![Box::new(layer)];
        let built = self
            .builder
            .build_with_custom_layers(&config, layers, backend, loader);
        block_on(built)
    }
}

#[test]
fn test_a_model_is_built_with_custom_layers() {
    let engine = engine();
    let rig = rig(&engine, "layered");
    let refused = rig
        .build(4, DataType::FP32)
        .err()
        .expect("nothing computes the layer");
    assert!(
        matches!(refused, FerrumError::Unsupported { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("mine.scale"), "{refused}");
    engine.factory.set_layer_forward("mine.scale", |call| {
        let factor = serde_json::from_str::<serde_json::Value>(call.attributes_json());
        let factor = factor.unwrap()["factor"].as_f64().unwrap() as f32;
        let (x, gain) = (call.input(0)?.read::<f32>()?, call.input(1)?.read::<f32>()?);
        let made = x.iter().enumerate().map(|(i, x)| x * gain[i % 4] * factor);
        call.output(0)?.write(&made.collect::<Vec<_>>())
    });
    let model = rig.build(4, DataType::FP32).unwrap();
    let ids = rig.backend.tensor_factory();
    let ids = ids.from_slice(&[0.0, 2.0], &[1, 2], DataType::UINT32, Device::CPU);
    let hidden = block_on(model.forward(&ids.unwrap())).unwrap();
    let row = [10.0, 20.0, 30.0, 40.0];
    assert_eq!(hidden.to_vec_f32().unwrap(), [row, row].concat());
    // The type is registered as long as the model exists.
    let twice = rig
        .build(4, DataType::FP32)
        .err()
        .expect("the type is in use");
    assert!(
        matches!(twice, FerrumError::AlreadyExists { .. }),
        "{twice}"
    );
    drop((hidden, model));
    // A shape that contradicts the definition, and a parameter of another type.
    let wrong = rig
        .build(5, DataType::FP32)
        .err()
        .expect("5 columns are not 4");
    assert!(wrong.to_string().contains("mine.scale"), "{wrong}");
    let wrong = rig
        .build(4, DataType::FP16)
        .err()
        .expect("a parameter of 16 bits");
    assert!(wrong.to_string().contains("gain"), "{wrong}");
    engine.factory.set_layer_forward("mine.scale", |_| {
        Err(ProgramFailure::new(ErrorKind::Internal, "it cannot"))
    });
    let wrong = rig
        .build(4, DataType::FP32)
        .err()
        .expect("the final validation runs it");
    assert!(wrong.to_string().contains("it cannot"), "{wrong}");
}

#[test]
fn test_only_definitions_have_custom_layers() {
    let engine = engine();
    let rig = rig(&engine, "folder");
    let config = ModelConfig::new("folder", "/no/such/folder");
    let (backend, loader) = (rig.backend.clone(), rig.loader.clone());
    let built = rig
        .builder
        .build_with_custom_layers(&config, Vec::new(), backend, loader);
    assert!(matches!(
        block_on(built).err(),
        Some(FerrumError::Unsupported { .. })
    ));
}
