//! Definitions and passes through the traits alone, with the real model.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use ferrum_interfaces::backend::{ComputeBackend, WeightLoader};
use ferrum_interfaces::model_builder::*;
use ferrum_types::{DataType, FerrumError, ModelConfig, ModelType, Result};

use crate::models::{cosine_of_sentences, rig, wheel, Rig};
use crate::support::*;

fn parts(rig: &Rig) -> (Arc<dyn ComputeBackend>, Arc<dyn WeightLoader>) {
    (rig.backend.clone(), rig.loader.clone())
}

fn minilm(folder: &Path) -> ModelConfig {
    ModelConfig::new("minilm", folder.to_string_lossy())
}

#[test]
fn test_an_exported_definition_is_imported() {
    let Some(folder) = wheel() else {
        return;
    };
    let engine = engine();
    let rig = rig(&engine);
    let ir = block_on(rig.builder.export_model_definition(&minilm(&folder))).unwrap();
    assert_eq!(ir.metadata.model_type, ModelType::Embedding);
    assert_eq!(
        ir.metadata.architecture_family,
        ModelArchitectureFamily::Transformer
    );
    assert_eq!(ir.architecture.dimensions.hidden_size, 384);
    // The ids have integers of 64 bits, which the traits lack.
    let ids = ir.layers.iter().find(|it| it.name == "input_ids").unwrap();
    assert_eq!(ids.outputs[0].dtype, DataType::INT32);
    assert_eq!(ids.config["ferrum_mem"]["dtypes"]["input_ids"], "i64");
    // Through the text of the traits, as a program would keep it.
    let text = serde_json::to_string(&ir).unwrap();
    let mut ir: ModelIR = serde_json::from_str(&text).unwrap();
    ir.metadata.name = "imported".to_owned();
    let (backend, loader) = parts(&rig);
    let mut model = block_on(rig.builder.import_model_definition(&ir, backend, loader)).unwrap();
    assert_eq!(model.info().num_parameters, 22_713_216);
    let cosine = cosine_of_sentences(&rig, &*model);
    assert!((cosine - 0.6945773).abs() < 2e-6, "{cosine}");
    block_on(model.shutdown()).unwrap();

    // A definition that is broken, and weights that are not there.
    ir.graph.edges.clear();
    let (backend, loader) = parts(&rig);
    let refused = block_on(rig.builder.import_model_definition(&ir, backend, loader)).err();
    assert!(
        matches!(refused, Some(FerrumError::Config { .. })),
        "{refused:?}"
    );
    let mut ir: ModelIR = serde_json::from_str(&text).unwrap();
    let kept = serde_json::json!({"weights": "/no/such/model"});
    ir.metadata.additional.insert("ferrum_mem".to_owned(), kept);
    let (backend, loader) = parts(&rig);
    let refused = block_on(rig.builder.import_model_definition(&ir, backend, loader)).err();
    assert!(
        matches!(refused, Some(FerrumError::NotFound { .. })),
        "{refused:?}"
    );
}

type Change = Box<dyn Fn(&mut ModelIR) -> Result<bool> + Send + Sync>;

/// A pass of a test.
struct Own {
    name: &'static str,
    needs: &'static [&'static str],
    change: Change,
    asked: Arc<AtomicU32>,
}

fn own(
    name: &'static str,
    needs: &'static [&'static str],
    change: impl Fn(&mut ModelIR) -> Result<bool> + Send + Sync + 'static,
) -> Own {
    Own {
        name,
        needs,
        change: Box::new(change),
        asked: Arc::default(),
    }
}

impl OptimizationPass for Own {
    fn name(&self) -> &str {
        self.name
    }

    fn apply(&self, definition: &mut ModelIR) -> Result<OptimizationResult> {
        let applied = (self.change)(definition)?;
        Ok(OptimizationResult {
            applied,
            stats: OptimizationStats {
                parameters_eliminated: 1,
                operations_eliminated: 1,
                memory_saved: 1,
                estimated_speedup: f32::NAN,
            },
            warnings: vec!["a warning".to_owned()],
        })
    }

    fn is_applicable(&self, _: &ModelIR) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn dependencies(&self) -> Vec<String> {
        self.needs.iter().map(|it| (*it).to_owned()).collect()
    }
}

fn versioned(old: &'static str, new: &'static str) -> impl Fn(&mut ModelIR) -> Result<bool> {
    move |ir| {
        assert_eq!(ir.metadata.description.as_deref().unwrap_or(""), old);
        ir.metadata.description = Some(new.to_owned());
        Ok(true)
    }
}

#[test]
fn test_passes_of_the_traits_run_in_a_build() {
    let Some(folder) = wheel() else {
        return;
    };
    let engine = engine();
    let rig = rig(&engine);
    let second = own("second pass", &["first", "merge_qkv"], versioned("1", "2"));
    let asked = second.asked.clone();
    let pipeline: Vec<Box<dyn OptimizationPass>> = vec![
        Box::new(second),
        Box::new(own("first", &["fuse_activation"], versioned("", "1"))),
        // A dropped change.
        Box::new(own("quiet", &["second pass"], |ir| {
            ir.layers.clear();
            Ok(false)
        })),
    ];
    let (backend, loader) = parts(&rig);
    let config = minilm(&folder);
    let built = rig
        .builder
        .build_with_optimization(&config, pipeline, backend, loader);
    let mut model = block_on(built).unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let cosine = cosine_of_sentences(&rig, &*model);
    assert!((cosine - 0.6945773).abs() < 2e-6, "{cosine}");
    block_on(model.shutdown()).unwrap();
    // No pass is left.
    let library = ferrum_mem::Library::start().unwrap();
    let info = library.builder_info_json().unwrap();
    assert!(!info.contains("\"is_registered\":true"), "{info}");
}

#[test]
fn test_wrong_passes_of_the_traits_are_errors() {
    let Some(folder) = wheel() else {
        return;
    };
    let engine = engine();
    let rig = rig(&engine);
    let config = minilm(&folder);
    let build = |pipeline: Vec<Own>| {
        let pipeline = pipeline.into_iter().map(|it| Box::new(it) as _).collect();
        let (backend, loader) = parts(&rig);
        let built = rig
            .builder
            .build_with_optimization(&config, pipeline, backend, loader);
        block_on(built).err().expect("the build fails")
    };
    let same = |_: &mut ModelIR| Ok(true);
    let error = build(vec![own("fails", &[], |_| {
        Err(FerrumError::rate_limit("later"))
    })]);
    assert!(matches!(error, FerrumError::RateLimit { .. }), "{error}");
    let error = build(vec![own("breaks", &[], |ir| {
        ir.graph.nodes.pop();
        Ok(true)
    })]);
    assert!(matches!(error, FerrumError::Config { .. }), "{error}");
    assert!(error.to_string().contains("breaks"), "{error}");
    let error = build(vec![own("panics", &[], |_| panic!("provoked"))]);
    assert!(error.to_string().contains("panicked"), "{error}");
    let error = build(vec![own("a", &["b"], same), own("b", &["a"], same)]);
    assert!(error.to_string().contains("cycle"), "{error}");
    let error = build(vec![own("a", &["absent"], same)]);
    assert!(matches!(error, FerrumError::NotFound { .. }), "{error}");
    let error = build(vec![own("a", &[], same), own("a", &[], same)]);
    assert!(
        matches!(error, FerrumError::AlreadyExists { .. }),
        "{error}"
    );
}
