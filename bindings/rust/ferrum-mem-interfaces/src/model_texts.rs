//! Values of the traits from the JSON texts of the library about models.

use ferrum_interfaces::backend::WeightFormat;
use ferrum_interfaces::model_builder::{
    BuildPhase, BuildProgress, BuildTimeBreakdown, BuildTimeEstimate, BuildTimeFactor,
    BuilderCapabilities, BuilderInfo, ModelArchitecture, ModelArchitectureFamily,
    OptimizationTechnique, ValidationIssue, ValidationSeverity,
};
use ferrum_types::{FerrumError, Result};
use serde_json::Value;

use crate::error::error_of;

pub(crate) fn parsed(text: ferrum_mem::Result<String>) -> Result<Value> {
    let text = text.map_err(error_of)?;
    serde_json::from_str(&text).map_err(|error| FerrumError::internal(error.to_string()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(text).collect()
}

fn flag(value: &Value) -> bool {
    value.as_bool().unwrap_or(false)
}

/// Whole seconds, rounded up, so that no part of a build takes 0.
fn seconds(value: &Value) -> u64 {
    value.as_f64().unwrap_or(0.0).ceil() as u64
}

pub(crate) fn issues(value: &Value) -> Vec<ValidationIssue> {
    let found = list(&value["issues"]).iter();
    found
        .map(|it| ValidationIssue {
            severity: match it["severity"].as_str() {
                Some("warning") => ValidationSeverity::Warning,
                Some("critical") => ValidationSeverity::Critical,
                _ => ValidationSeverity::Error,
            },
            category: text(&it["category"]),
            description: text(&it["description"]),
            suggested_fix: it["suggested_fix"].as_str().map(str::to_owned),
            config_path: text(&it["config_path"]),
        })
        .collect()
}

/// The expected time is the sum of its parts, each in whole seconds.
pub(crate) fn estimate(value: &Value) -> BuildTimeEstimate {
    let parts = &value["time_breakdown"];
    let breakdown = BuildTimeBreakdown {
        weight_loading_seconds: seconds(&parts["weight_loading_seconds"]),
        model_init_seconds: seconds(&parts["model_init_seconds"]),
        optimization_seconds: seconds(&parts["optimization_seconds"]),
        validation_seconds: seconds(&parts["validation_seconds"]),
        overhead_seconds: seconds(&parts["overhead_seconds"]),
    };
    let expected = breakdown.weight_loading_seconds
        + breakdown.model_init_seconds
        + breakdown.optimization_seconds
        + breakdown.validation_seconds
        + breakdown.overhead_seconds;
    let factors = list(&value["factors"]).iter();
    BuildTimeEstimate {
        min_time_seconds: seconds(&value["min_time_seconds"]),
        max_time_seconds: seconds(&value["max_time_seconds"]).max(expected),
        expected_time_seconds: expected,
        time_breakdown: breakdown,
        factors: factors
            .map(|it| BuildTimeFactor {
                factor: text(&it["factor"]),
                impact: it["impact"].as_f64().unwrap_or(1.0) as f32,
                description: text(&it["description"]),
            })
            .collect(),
    }
}

fn family(value: &Value) -> ModelArchitectureFamily {
    match value.as_str() {
        Some("transformer") => ModelArchitectureFamily::Transformer,
        Some("cnn") => ModelArchitectureFamily::CNN,
        Some("rnn") => ModelArchitectureFamily::RNN,
        Some("gnn") => ModelArchitectureFamily::GNN,
        Some("diffusion") => ModelArchitectureFamily::Diffusion,
        _ => ModelArchitectureFamily::Custom,
    }
}

fn technique(value: &Value) -> Option<OptimizationTechnique> {
    Some(match value.as_str()? {
        "operator_fusion" => OptimizationTechnique::OperatorFusion,
        "constant_folding" => OptimizationTechnique::ConstantFolding,
        "dead_code_elimination" => OptimizationTechnique::DeadCodeElimination,
        "memory_layout_optimization" => OptimizationTechnique::MemoryLayoutOptimization,
        "kernel_selection" => OptimizationTechnique::KernelSelection,
        "quantization" => OptimizationTechnique::Quantization,
        _ => return None,
    })
}

fn format(value: &Value) -> WeightFormat {
    match value.as_str() {
        Some("safetensors") => WeightFormat::SafeTensors,
        Some("pytorch") => WeightFormat::PyTorch,
        Some("numpy") => WeightFormat::Numpy,
        Some("onnx") => WeightFormat::Onnx,
        Some("raw") => WeightFormat::Raw,
        // As a loader names formats that the traits lack, such as GGUF.
        _ => WeightFormat::Custom(0),
    }
}

pub(crate) fn builder_info(value: &Value) -> BuilderInfo {
    let can = &value["capabilities"];
    let architectures = list(&value["supported_architectures"]).iter();
    BuilderInfo {
        name: text(&value["name"]),
        version: text(&value["version"]),
        supported_architectures: architectures
            .map(|it| ModelArchitecture {
                name: text(&it["name"]),
                family: family(&it["family"]),
                variants: texts(&it["variants"]),
                required_features: texts(&it["required_features"]),
            })
            .collect(),
        supported_weight_formats: list(&value["supported_weight_formats"])
            .iter()
            .map(format)
            .collect(),
        supported_optimizations: list(&value["supported_optimizations"])
            .iter()
            .filter_map(technique)
            .collect(),
        capabilities: BuilderCapabilities {
            max_model_size: can["max_model_size"].as_u64(),
            supports_dynamic_shapes: flag(&can["supports_dynamic_shapes"]),
            supports_custom_ops: flag(&can["supports_custom_ops"]),
            supports_mixed_precision: flag(&can["supports_mixed_precision"]),
            supports_model_parallelism: flag(&can["supports_model_parallelism"]),
            supports_parallel_build: flag(&can["supports_parallel_build"]),
            supports_incremental_build: flag(&can["supports_incremental_build"]),
        },
    }
}

pub(crate) fn progress(of: &ferrum_mem::BuildProgress) -> BuildProgress {
    use ferrum_mem::BuildPhase as P;
    let bytes = [
        ("done_bytes", of.done_bytes),
        ("total_bytes", of.total_bytes),
    ];
    BuildProgress {
        phase: match of.phase {
            P::WeightLoading => BuildPhase::WeightLoading,
            P::ModelInitialization => BuildPhase::ModelInitialization,
            P::LayerConstruction => BuildPhase::LayerConstruction,
            P::ParameterBinding => BuildPhase::ParameterBinding,
            P::Optimization => BuildPhase::Optimization,
            P::FinalValidation => BuildPhase::FinalValidation,
            P::Finalization => BuildPhase::Finalization,
            _ => BuildPhase::Validation,
        },
        progress: of.progress as f32,
        current_operation: of.operation.clone(),
        elapsed_seconds: of.elapsed.as_secs(),
        remaining_seconds: of.remaining.map(|it| it.as_secs_f64().ceil() as u64),
        phase_details: bytes.map(|(name, it)| (name.to_owned(), it.into())).into(),
    }
}
