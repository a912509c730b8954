//! Definitions of the library as a [`ModelIR`] of the traits, and back.
//!
//! The traits lack some of what a definition has: integers of 64 bits and blocks of quantised
//! elements as types, the tensors of the weights, constants, and parts of parameters. A [`ModelIR`]
//! carries these in its maps, each under the key [`KEY`]:
//!
//! | map | fields |
//! |---|---|
//! | `metadata.additional` | `model_type`; `weights`: the path of the weights |
//! | `architecture.config` | `head_dim` |
//! | `metadata` of a parameter | `dtype`, `source`, `value`, `parts`; `initialization`: null for no rule |
//! | `config` of a layer | `dtypes`: the types of tensors, by their names |
//!
//! A type that the traits lack has the nearest type in the place of its own. It counts as long as that
//! place holds the nearest type, so a change of the type by a pass replaces it.

use ferrum_interfaces::model_builder::{
    ArchitectureDefinition, GraphDefinition, GraphEdge, GraphNode, InitializationStrategy,
    LayerDefinition, ModelArchitectureFamily, ModelDimensions, ModelIR, ModelMetadata,
    ParameterSpec, TensorSpec,
};
use ferrum_mem::DType;
use ferrum_types::{DataType, FerrumError, ModelType, Result};
use serde_json::{json, Map, Value};
use std::collections::HashMap;

use crate::config::count;
use crate::data_types::{data_type_of, dtype_of};
use crate::model_texts::text;

/// The key of what the traits lack.
pub(crate) const KEY: &str = "ferrum_mem";

type Fields = HashMap<String, Value>;

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn fields(value: &Value) -> Fields {
    let object = value.as_object().cloned().unwrap_or_default();
    object.into_iter().collect()
}

fn size(value: &Value) -> usize {
    count(value.as_u64().unwrap_or(0))
}

fn optional_size(value: &Value) -> Option<usize> {
    value.as_u64().map(count)
}

fn optional_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn shape(value: &Value) -> Vec<i64> {
    list(value).iter().filter_map(Value::as_i64).collect()
}

/// Adds what the traits lack to a map.
fn keep(to: &mut Fields, kept: Map<String, Value>) {
    if !kept.is_empty() {
        to.insert(KEY.to_owned(), Value::Object(kept));
    }
}

/// The nearest type of the traits.
fn nearest(name: &str) -> DataType {
    if let Some(known) = name.parse::<DType>().ok().and_then(data_type_of) {
        return known;
    }
    match name.as_bytes().first() {
        Some(b'i') if name.starts_with("iq") => DataType::UINT8,
        Some(b'i') => DataType::INT32,
        Some(b'u') => DataType::UINT32,
        Some(b'f' | b'c') => DataType::FP32,
        _ => DataType::UINT8,
    }
}

/// Whether the traits have a type, so that nothing of it has to be kept.
fn is_known(name: &str) -> bool {
    dtype_of(nearest(name)).name() == name
}

/// The name of a type, where a kept name counts while its nearest type is in its place.
fn name_of(dtype: DataType, kept: &Value) -> String {
    match kept.as_str() {
        Some(name) if nearest(name) == dtype => name.to_owned(),
        _ => dtype_of(dtype).name().to_owned(),
    }
}

fn family_of(name: &str) -> ModelArchitectureFamily {
    match name {
        "transformer" => ModelArchitectureFamily::Transformer,
        "cnn" => ModelArchitectureFamily::CNN,
        "rnn" => ModelArchitectureFamily::RNN,
        "gnn" => ModelArchitectureFamily::GNN,
        "diffusion" => ModelArchitectureFamily::Diffusion,
        _ => ModelArchitectureFamily::Custom,
    }
}

fn family_name(family: ModelArchitectureFamily) -> &'static str {
    match family {
        ModelArchitectureFamily::Transformer => "transformer",
        ModelArchitectureFamily::CNN => "cnn",
        ModelArchitectureFamily::RNN => "rnn",
        ModelArchitectureFamily::GNN => "gnn",
        ModelArchitectureFamily::Diffusion => "diffusion",
        ModelArchitectureFamily::Custom => "custom",
    }
}

/// The type of a model for a model_type of the library, such as "bert".
fn model_type_of(name: &str) -> ModelType {
    match name {
        "bert" | "camembert" | "distilbert" | "electra" | "roberta" | "xlm-roberta" => {
            ModelType::Embedding
        }
        _ => ModelType::Custom(name.to_owned()),
    }
}

fn model_type_name(model_type: &ModelType, kept: &Value) -> String {
    match (kept.as_str(), model_type) {
        (Some(name), _) if model_type_of(name) == *model_type => name.to_owned(),
        (_, ModelType::Custom(name) | ModelType::Code(name)) => name.clone(),
        (_, other) => other.to_string(),
    }
}

/// A definition of the library as a [`ModelIR`]. `weights` is the path of its weights.
pub(crate) fn ir_of(definition: &Value, weights: Option<&str>) -> ModelIR {
    let about = &definition["metadata"];
    let model_type = text(&about["model_type"]);
    let mut additional = fields(&about["additional"]);
    let mut kept = Map::from_iter([("model_type".to_owned(), json!(model_type))]);
    if let Some(weights) = weights {
        kept.insert("weights".to_owned(), json!(weights));
    }
    keep(&mut additional, kept);
    let architecture = &definition["architecture"];
    let dimensions = &architecture["dimensions"];
    let mut config = fields(&architecture["config"]);
    let head_dim = dimensions.get("head_dim").cloned();
    keep(
        &mut config,
        head_dim
            .map(|it| ("head_dim".to_owned(), it))
            .into_iter()
            .collect(),
    );
    ModelIR {
        metadata: ModelMetadata {
            name: text(&about["name"]),
            version: text(&about["version"]),
            model_type: model_type_of(&model_type),
            architecture_family: family_of(&text(&about["architecture_family"])),
            description: optional_text(&about["description"]),
            author: optional_text(&about["author"]),
            license: optional_text(&about["license"]),
            additional,
        },
        architecture: ArchitectureDefinition {
            name: text(&architecture["name"]),
            dimensions: ModelDimensions {
                vocab_size: size(&dimensions["vocab_size"]),
                hidden_size: size(&dimensions["hidden_size"]),
                num_layers: size(&dimensions["num_layers"]),
                num_heads: size(&dimensions["num_heads"]),
                num_kv_heads: optional_size(&dimensions["num_kv_heads"]),
                intermediate_size: optional_size(&dimensions["intermediate_size"]),
                max_sequence_length: size(&dimensions["max_sequence_length"]),
            },
            config,
        },
        parameters: list(&definition["parameters"])
            .iter()
            .map(parameter)
            .collect(),
        layers: list(&definition["layers"]).iter().map(layer).collect(),
        graph: graph(&definition["graph"]),
    }
}

fn parameter(of: &Value) -> ParameterSpec {
    let dtype = text(&of["dtype"]);
    let mut kept = Map::new();
    if !is_known(&dtype) {
        kept.insert("dtype".to_owned(), json!(dtype));
    }
    for key in ["source", "value", "parts"] {
        if let Some(value) = of.get(key) {
            kept.insert(key.to_owned(), value.clone());
        }
    }
    let rule = of.get("initialization");
    if rule.is_none() {
        kept.insert("initialization".to_owned(), Value::Null);
    }
    let mut metadata = fields(&of["metadata"]);
    keep(&mut metadata, kept);
    ParameterSpec {
        name: text(&of["name"]),
        shape: shape(&of["shape"]),
        dtype: nearest(&dtype),
        trainable: of["trainable"].as_bool().unwrap_or(false),
        initialization: rule.map_or(InitializationStrategy::Zeros, strategy),
        metadata,
    }
}

fn strategy(of: &Value) -> InitializationStrategy {
    let number = |key: &str| of[key].as_f64().unwrap_or(0.0) as f32;
    match of["strategy"].as_str() {
        Some("ones") => InitializationStrategy::Ones,
        Some("uniform") => InitializationStrategy::Uniform {
            min: number("min"),
            max: number("max"),
        },
        Some("normal") => InitializationStrategy::Normal {
            mean: number("mean"),
            std: number("std"),
        },
        Some("xavier") => InitializationStrategy::Xavier,
        Some("kaiming") => InitializationStrategy::Kaiming,
        Some("custom") => InitializationStrategy::Custom(text(&of["name"])),
        _ => InitializationStrategy::Zeros,
    }
}

fn layer(of: &Value) -> LayerDefinition {
    let mut dtypes = Map::new();
    let mut tensors = |key: &str| -> Vec<TensorSpec> {
        let all = list(&of[key]).iter();
        all.map(|it| {
            let dtype = text(&it["dtype"]);
            if !is_known(&dtype) {
                dtypes.insert(text(&it["name"]), json!(dtype));
            }
            TensorSpec {
                name: text(&it["name"]),
                shape: shape(&it["shape"]),
                dtype: nearest(&dtype),
            }
        })
        .collect()
    };
    let (inputs, outputs) = (tensors("inputs"), tensors("outputs"));
    let mut config = fields(&of["config"]);
    if !dtypes.is_empty() {
        keep(
            &mut config,
            Map::from_iter([("dtypes".to_owned(), Value::Object(dtypes))]),
        );
    }
    LayerDefinition {
        name: text(&of["name"]),
        layer_type: text(&of["layer_type"]),
        inputs,
        outputs,
        parameters: list(&of["parameters"]).iter().map(text).collect(),
        config,
    }
}

fn graph(of: &Value) -> GraphDefinition {
    let nodes = list(&of["nodes"]).iter();
    let edges = list(&of["edges"]).iter();
    GraphDefinition {
        inputs: list(&of["inputs"]).iter().map(text).collect(),
        outputs: list(&of["outputs"]).iter().map(text).collect(),
        nodes: nodes
            .map(|it| GraphNode {
                id: text(&it["id"]),
                layer_name: text(&it["layer_name"]),
                metadata: fields(&it["metadata"]),
            })
            .collect(),
        edges: edges
            .map(|it| GraphEdge {
                source: text(&it["source"]),
                target: text(&it["target"]),
                source_output: optional_size(&it["source_output"]),
                target_input: optional_size(&it["target_input"]),
            })
            .collect(),
    }
}

/// The path of the weights that a [`ModelIR`] names.
pub(crate) fn weights_of(ir: &ModelIR) -> Option<String> {
    optional_text(&ir.metadata.additional.get(KEY)?["weights"])
}

/// Whether a parameter is a tensor of the weights, or has a part that is one.
pub(crate) fn has_weights(ir: &ModelIR) -> bool {
    let is_source = |it: &Value| it["source"].as_str().is_some_and(|name| !name.is_empty());
    let mut kept = ir.parameters.iter().filter_map(|it| it.metadata.get(KEY));
    kept.any(|it| is_source(it) || list(&it["parts"]).iter().any(is_source))
}

/// The definition of the library for a [`ModelIR`], as JSON. The library checks it.
pub(crate) fn definition_of(ir: &ModelIR) -> Result<String> {
    let (about, architecture) = (&ir.metadata, &ir.architecture);
    let (additional, kept) = split(&about.additional);
    let mut metadata = json!({
        "name": about.name,
        "version": about.version,
        "model_type": model_type_name(&about.model_type, &kept["model_type"]),
        "architecture_family": family_name(about.architecture_family),
    });
    for (key, value) in [
        ("description", &about.description),
        ("author", &about.author),
        ("license", &about.license),
    ] {
        if let Some(value) = value {
            metadata[key] = json!(value);
        }
    }
    put(&mut metadata, "additional", additional);
    let (config, kept) = split(&architecture.config);
    let of = &architecture.dimensions;
    let mut dimensions = json!({
        "vocab_size": of.vocab_size,
        "hidden_size": of.hidden_size,
        "num_layers": of.num_layers,
        "num_heads": of.num_heads,
        "max_sequence_length": of.max_sequence_length,
    });
    for (key, value) in [
        ("num_kv_heads", of.num_kv_heads.map(|it| json!(it))),
        ("head_dim", kept.get("head_dim").cloned()),
        (
            "intermediate_size",
            of.intermediate_size.map(|it| json!(it)),
        ),
    ] {
        if let Some(value) = value {
            dimensions[key] = value;
        }
    }
    let mut made = json!({ "name": architecture.name, "dimensions": dimensions });
    put(&mut made, "config", config);
    let definition = json!({
        "metadata": metadata,
        "architecture": made,
        "parameters": ir.parameters.iter().map(parameter_text).collect::<Result<Vec<_>>>()?,
        "layers": ir.layers.iter().map(layer_text).collect::<Vec<_>>(),
        "graph": graph_text(&ir.graph),
    });
    Ok(definition.to_string())
}

/// The fields of a map, and what the traits lack.
fn split(of: &Fields) -> (Map<String, Value>, Value) {
    let others = of.iter().filter(|(key, _)| key.as_str() != KEY);
    let others = others.map(|(key, value)| (key.clone(), value.clone()));
    (others.collect(), of.get(KEY).cloned().unwrap_or_default())
}

fn put(to: &mut Value, key: &str, map: Map<String, Value>) {
    if !map.is_empty() {
        to[key] = Value::Object(map);
    }
}

fn parameter_text(of: &ParameterSpec) -> Result<Value> {
    let (metadata, kept) = split(&of.metadata);
    let mut made = json!({
        "name": of.name,
        "shape": of.shape,
        "dtype": name_of(of.dtype, &kept["dtype"]),
        "trainable": of.trainable,
    });
    for key in ["source", "value", "parts"] {
        if let Some(value) = kept.get(key) {
            made[key] = value.clone();
        }
    }
    let has_no_rule = kept.get("initialization") == Some(&Value::Null)
        && matches!(of.initialization, InitializationStrategy::Zeros);
    if !has_no_rule {
        made["initialization"] = strategy_text(of)?;
    }
    put(&mut made, "metadata", metadata);
    Ok(made)
}

fn strategy_text(of: &ParameterSpec) -> Result<Value> {
    let numbers = |names: [&str; 2], values: [f32; 2], strategy: &str| {
        let mut made = json!({ "strategy": strategy });
        for (name, value) in names.into_iter().zip(values) {
            if !value.is_finite() {
                return Err(FerrumError::config(format!(
                    "parameter {:?}: {name} of its initialization is {value}",
                    of.name
                )));
            }
            if value != 0.0 {
                made[name] = json!(value);
            }
        }
        Ok(made)
    };
    Ok(match &of.initialization {
        InitializationStrategy::Zeros => json!({"strategy": "zeros"}),
        InitializationStrategy::Ones => json!({"strategy": "ones"}),
        InitializationStrategy::Uniform { min, max } => {
            numbers(["min", "max"], [*min, *max], "uniform")?
        }
        InitializationStrategy::Normal { mean, std } => {
            numbers(["mean", "std"], [*mean, *std], "normal")?
        }
        InitializationStrategy::Xavier => json!({"strategy": "xavier"}),
        InitializationStrategy::Kaiming => json!({"strategy": "kaiming"}),
        InitializationStrategy::Custom(name) => json!({"strategy": "custom", "name": name}),
    })
}

fn layer_text(of: &LayerDefinition) -> Value {
    let (config, kept) = split(&of.config);
    let tensors = |list: &[TensorSpec]| -> Vec<Value> {
        let all = list.iter();
        all.map(|it| {
            let dtype = name_of(it.dtype, &kept["dtypes"][it.name.as_str()]);
            json!({ "name": it.name, "shape": it.shape, "dtype": dtype })
        })
        .collect()
    };
    let mut made = json!({
        "name": of.name,
        "layer_type": of.layer_type,
        "inputs": tensors(&of.inputs),
        "outputs": tensors(&of.outputs),
        "parameters": of.parameters,
    });
    put(&mut made, "config", config);
    made
}

fn graph_text(of: &GraphDefinition) -> Value {
    let nodes = of.nodes.iter().map(|it| {
        let mut made = json!({ "id": it.id, "layer_name": it.layer_name });
        let metadata = it.metadata.clone().into_iter().collect();
        put(&mut made, "metadata", metadata);
        made
    });
    let edges = of.edges.iter().map(|it| {
        let mut made = json!({ "source": it.source, "target": it.target });
        for (key, at) in [
            ("source_output", it.source_output),
            ("target_input", it.target_input),
        ] {
            if let Some(at) = at {
                made[key] = json!(at);
            }
        }
        made
    });
    json!({
        "inputs": of.inputs,
        "outputs": of.outputs,
        "nodes": nodes.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that a definition may have and the traits lack.
    fn full() -> Value {
        json!({
            "metadata": {
                "name": "full", "version": "3", "model_type": "bert",
                "architecture_family": "transformer", "license": "MIT",
                "additional": {"schema_version": 1, "sentence": {"pooling": "mean"}},
            },
            "architecture": {
                "name": "full", "config": {"eps": 1e-12},
                "dimensions": {
                    "vocab_size": 8, "hidden_size": 4, "num_layers": 1, "num_heads": 2,
                    "num_kv_heads": 1, "head_dim": 3, "max_sequence_length": 16,
                },
            },
            "parameters": [
                {"name": "axes", "shape": [1], "dtype": "i64", "trainable": false, "value": [-1]},
                {"name": "w", "shape": [4, 32], "dtype": "q8_0", "trainable": true, "source": "w"},
                {"name": "qkv", "shape": [6, 4], "dtype": "f32", "trainable": true, "parts": [
                    {"name": "q", "shape": [6, 4], "dtype": "f32", "trainable": true, "source": "q"},
                ]},
                {"name": "zeros", "shape": [4], "dtype": "bf16", "trainable": false,
                 "initialization": {"strategy": "zeros"}, "metadata": {"note": [1, null]}},
                {"name": "normal", "shape": [4], "dtype": "f64", "trainable": true,
                 "initialization": {"strategy": "normal", "std": 0.5}, "source": "n"},
                {"name": "own", "shape": [4], "dtype": "f8_e5m2", "trainable": true,
                 "initialization": {"strategy": "custom", "name": "mine"}},
            ],
            "layers": [
                {"name": "ids", "layer_type": "Input", "inputs": [], "parameters": [],
                 "outputs": [{"name": "ids", "shape": [-1, -1], "dtype": "i64"}]},
                {"name": "cast", "layer_type": "Cast", "config": {"to": "f32"}, "parameters": [],
                 "inputs": [{"name": "in", "shape": [-1, -1], "dtype": "i64"}],
                 "outputs": [{"name": "out", "shape": [-1, -1], "dtype": "f32"}]},
            ],
            "graph": {
                "inputs": ["ids"], "outputs": ["cast"],
                "nodes": [
                    {"id": "ids", "layer_name": "ids", "metadata": {"dims": ["batch", "sequence"]}},
                    {"id": "cast", "layer_name": "cast"},
                ],
                "edges": [{"source": "ids", "target": "cast", "target_input": 0}],
            },
        })
    }

    fn back(ir: &ModelIR) -> Value {
        serde_json::from_str(&definition_of(ir).unwrap()).unwrap()
    }

    #[test]
    fn a_definition_comes_back_complete() {
        let definition = full();
        let ir = ir_of(&definition, Some("folder"));
        assert_eq!(back(&ir), definition);
        assert_eq!(weights_of(&ir).as_deref(), Some("folder"));
        // Also through the serialised form of the traits.
        let text = serde_json::to_string(&ir).unwrap();
        let again: ModelIR = serde_json::from_str(&text).unwrap();
        assert_eq!(back(&again), definition);
        assert_eq!(ir.metadata.model_type, ModelType::Embedding);
        assert_eq!(ir.parameters[0].dtype, DataType::INT32);
    }

    #[test]
    fn a_change_in_the_traits_replaces_what_is_kept() {
        let mut ir = ir_of(&full(), None);
        ir.parameters[0].dtype = DataType::INT8;
        ir.parameters[1].initialization = InitializationStrategy::Ones;
        ir.metadata.model_type = ModelType::Custom("mine".to_owned());
        ir.layers[1].inputs[0].dtype = DataType::BOOL;
        let made = back(&ir);
        assert_eq!(made["parameters"][0]["dtype"], "i8");
        assert_eq!(made["parameters"][1]["initialization"]["strategy"], "ones");
        assert_eq!(made["metadata"]["model_type"], "mine");
        assert_eq!(made["layers"][1]["inputs"][0]["dtype"], "bool");
        assert_eq!(made["layers"][1]["config"], json!({"to": "f32"}));
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        let mut ir = ir_of(&full(), None);
        ir.parameters[3].initialization = InitializationStrategy::Normal {
            mean: 0.0,
            std: f32::NAN,
        };
        let refused = definition_of(&ir).err().map(|it| it.to_string());
        assert!(refused.is_some_and(|it| it.contains("zeros") && it.contains("std")));
    }
}
