use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use ferrum_interfaces::model_executor::{
    AttentionType, DecodeInput, DecodeOutput, ExecutorCapabilities, ExecutorMemoryUsage,
    ExecutorState, ExecutorStatus, MemoryRequirements, ModelExecutor, PrefillInput, PrefillOutput,
};
use ferrum_interfaces::{TensorLike, TensorRef};
use ferrum_mem::{DType, Executor, RegisteredLayer};
use ferrum_types::{DataType, FerrumError, ModelId, ModelInfo, ModelType, Result};
use serde_json::{json, Value};

use crate::config::count;
use crate::data_types::data_type_of;
use crate::error::error_of;
use crate::hub::{locked, Hub};
use crate::model_texts::{parsed, text};
use crate::running::Running;
use crate::tensor::FerrumTensor;
use crate::tensor_factory::FerrumTensorFactory;

/// [`ModelExecutor`] on an [`Executor`] of ferrum_mem. A [`crate::FerrumModelBuilder`] builds it.
///
/// It is an encoder: [`forward`](ModelExecutor::forward) computes its first output, such as the
/// hidden states, from ids of shape `[batch, sequence]`. Prefill and decode need a cache, which an
/// encoder does not have.
pub struct FerrumModelExecutor {
    hub: Arc<Hub>,
    /// `None` after a shutdown.
    executor: Mutex<Option<Executor>>,
    /// The layer types of the model, which end after it.
    _layers: Vec<RegisteredLayer>,
    running: Arc<Running>,
    factory: Arc<FerrumTensorFactory>,
    info: ModelInfo,
    capabilities: ExecutorCapabilities,
    input: String,
    output: String,
    last: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for FerrumModelExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumModelExecutor")
            .field("id", &self.info.model_id)
            .finish_non_exhaustive()
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

impl FerrumModelExecutor {
    pub(crate) fn new(
        hub: Arc<Hub>,
        executor: Executor,
        running: Arc<Running>,
        id: &ModelId,
        max_batch_size: usize,
        layers: Vec<RegisteredLayer>,
    ) -> Result<Self> {
        let state = parsed(executor.info_json())?;
        let definition = parsed(executor.definition_json())?;
        let dimensions = &definition["architecture"]["dimensions"];
        let size = |key: &str| count(number(&dimensions[key]));
        let dtype = text(&definition["parameters"][0]["dtype"]);
        let dtype = dtype.parse::<DType>().ok().and_then(data_type_of);
        let dtype = dtype.ok_or_else(|| {
            FerrumError::unsupported("the traits do not have the type of the parameters")
        })?;
        let sequence = size("max_sequence_length");
        // Of the longest sequence: the bytes of a token grow with the length.
        let plan = executor.plan_json(&json!({"batch": 1, "sequence": sequence}).to_string());
        let arena = number(&parsed(plan)?["arena_bytes"]);
        let info = ModelInfo {
            model_id: id.clone(),
            model_type: ModelType::Embedding,
            num_parameters: number(&state["parameters"]),
            hidden_size: size("hidden_size"),
            num_layers: size("num_layers"),
            num_heads: size("num_heads"),
            num_kv_heads: match dimensions["num_kv_heads"].as_u64() {
                Some(heads) => count(heads),
                None => size("num_heads"),
            },
            vocab_size: size("vocab_size"),
            max_sequence_length: sequence,
            dtype,
            device: running.device.clone(),
            version: Some(text(&definition["metadata"]["version"])).filter(|it| !it.is_empty()),
            license: definition["metadata"]["license"]
                .as_str()
                .map(str::to_owned),
            metadata: HashMap::from([("model_type".to_owned(), state["model_type"].clone())]),
        };
        let capabilities = ExecutorCapabilities {
            max_batch_size,
            max_sequence_length: sequence,
            attention_mechanisms: vec![AttentionType::MultiHead],
            supports_dynamic_batching: true,
            supports_continuous_batching: false,
            supports_speculative_decoding: false,
            supports_tensor_parallelism: false,
            supports_pipeline_parallelism: false,
            supported_dtypes: vec![dtype],
            supported_devices: vec![running.device.clone()],
            memory_requirements: MemoryRequirements {
                parameter_memory: number(&state["parameter_bytes"]),
                activation_memory_per_token: count(arena).div_ceil(sequence.max(1)),
                kv_cache_memory_per_token: 0,
                overhead_memory: 0,
            },
        };
        Ok(Self {
            factory: Arc::new(FerrumTensorFactory::new(running.pools.clone(), 0)),
            hub,
            executor: Mutex::new(Some(executor)),
            _layers: layers,
            input: text(&state["inputs"][0]["name"]),
            output: text(&state["outputs"][0]),
            running,
            info,
            capabilities,
            last: Mutex::default(),
        })
    }

    /// The executor of the library, for calls that the traits lack, such as
    /// [`sleep`](Executor::sleep).
    ///
    /// # Errors
    ///
    /// [`FerrumError::Backend`] after a shutdown.
    pub fn executor(&self) -> Result<Executor> {
        let found = locked(&self.executor).clone();
        found.ok_or_else(|| {
            FerrumError::backend(format!("the model {} was shut down", self.info.model_id))
        })
    }
}

fn no_cache<T>() -> Result<T> {
    Err(FerrumError::unsupported(
        "an encoder has no cache of keys and values: use forward",
    ))
}

#[async_trait]
impl ModelExecutor for FerrumModelExecutor {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// [`FerrumError::Unsupported`]: an encoder has no cache.
    async fn prefill(&self, _: &PrefillInput) -> Result<PrefillOutput> {
        no_cache()
    }

    /// [`FerrumError::Unsupported`]: an encoder has no cache.
    async fn decode(&self, _: &DecodeInput) -> Result<DecodeOutput> {
        no_cache()
    }

    /// Computes the first output from the ids. All tokens count, and all are of the first segment.
    async fn forward(&self, input: &TensorRef) -> Result<TensorRef> {
        let executor = self.executor()?;
        let (factory, running, given) = (self.factory.clone(), self.running.clone(), input.clone());
        let (input, output) = (self.input.clone(), self.output.clone());
        let call = move || {
            let mut ids = factory.known(&given)?;
            if ids.dtype() != DataType::INT32 {
                ids = ids.copied(&ids.device(), DataType::INT32)?;
            }
            let made = executor.run(&[(&input, ids.tensor())], &[&output]);
            let mut made = made.map_err(error_of)?;
            let first = made.pop();
            let first = first.ok_or_else(|| FerrumError::internal("a run has no output"))?;
            FerrumTensor::new(first, &running.pools, &running.device)
        };
        let made = self.hub.workers.run(call).await?;
        *locked(&self.last) = Some(Instant::now());
        Ok(Arc::new(made))
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        self.capabilities.clone()
    }

    /// A forward counts as a prefill, also that of the build. A sleeping model is not ready.
    fn status(&self) -> ExecutorStatus {
        let state = self.executor().and_then(|it| parsed(it.info_json()));
        let state = state.unwrap_or_default();
        let is_ready = state["state"] == "awake";
        let runs = number(&state["counters"]["runs"]);
        let ms = number(&state["counters"]["run_ns"]) as f64 / 1e6;
        let held = count(number(&state["held_bytes"]));
        let used = number(&state["parameter_bytes"]) + number(&state["arena_bytes"]);
        let used = if is_ready { count(used).min(held) } else { 0 };
        ExecutorStatus {
            state: match state["state"].as_str() {
                Some("awake" | "asleep") => ExecutorState::Ready,
                _ => ExecutorState::Shutdown,
            },
            is_ready,
            current_batch_size: 0,
            prefill_operations: runs,
            decode_operations: 0,
            avg_prefill_time_ms: if runs == 0 { 0.0 } else { ms / runs as f64 },
            avg_decode_time_ms: 0.0,
            memory_usage: ExecutorMemoryUsage {
                allocated_bytes: held,
                used_bytes: used,
                peak_bytes: held,
                utilization_percent: match held {
                    0 => 0.0,
                    _ => (used as f64 / held as f64 * 100.0) as f32,
                },
            },
            last_operation: *locked(&self.last),
        }
    }

    /// Ends the model after the runs that use it.
    async fn shutdown(&mut self) -> Result<()> {
        let executor = locked(&self.executor).take();
        let call = move || {
            drop(executor);
            Ok(())
        };
        self.hub.workers.run(call).await
    }
}
