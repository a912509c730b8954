use std::collections::HashMap;

use ferrum_interfaces::backend::{
    BackendConfig, BackendMemoryConfig, BackendType, MemoryGrowthStrategy,
};
use ferrum_interfaces::memory::{MemoryManagerConfig, MemoryPoolConfig, MemoryType};
use ferrum_mem::{ComputeConfig, ComputeGrowth, ComputeType, PoolConfig};
use ferrum_types::{Device, FerrumError, Result};
use serde_json::{Map, Value};

use crate::config::pool_config;

/// The settings of a backend, checked.
pub(crate) struct BackendSettings {
    pub(crate) compute: ComputeConfig,
    /// Its name in the list of the library.
    pub(crate) name: String,
    /// The seed of the random numbers of its factory.
    pub(crate) seed: u64,
    /// The pools of the tensors of its factory.
    pub(crate) tensors: PoolConfig,
    /// Its own memory manager.
    pub(crate) memory: MemoryManagerConfig,
}

/// The default settings of a backend: the CPU, level 2, and memory on demand without a bound.
pub(crate) fn default_config() -> BackendConfig {
    BackendConfig {
        backend_type: BackendType::CPU,
        device: Device::CPU,
        optimization_level: 2,
        enable_debug: false,
        memory_config: BackendMemoryConfig {
            pool_size: None,
            alignment: 256,
            enable_pooling: true,
            growth_strategy: MemoryGrowthStrategy::Dynamic,
        },
        backend_options: HashMap::new(),
    }
}

fn compute_type_of(kind: BackendType) -> ComputeType {
    match kind {
        BackendType::Candle => ComputeType::Candle,
        BackendType::OnnxRuntime => ComputeType::OnnxRuntime,
        BackendType::TensorRT => ComputeType::Tensorrt,
        BackendType::Metal => ComputeType::Metal,
        BackendType::CPU => ComputeType::Cpu,
        BackendType::Custom => ComputeType::Custom,
    }
}

fn growth_of(growth: MemoryGrowthStrategy) -> ComputeGrowth {
    match growth {
        MemoryGrowthStrategy::Static => ComputeGrowth::Static,
        MemoryGrowthStrategy::Dynamic => ComputeGrowth::Dynamic,
        MemoryGrowthStrategy::Incremental => ComputeGrowth::Incremental,
    }
}

/// The settings of a pool that the size in the settings bounds.
fn pool_of(config: &BackendMemoryConfig) -> MemoryPoolConfig {
    let pool = MemoryPoolConfig::default();
    let limit = config.pool_size.unwrap_or(u64::MAX);
    MemoryPoolConfig {
        initial_size: pool.initial_size.min(limit),
        growth_increment: pool.growth_increment.min(limit),
        max_size: config.pool_size,
        alignment: config.alignment,
        ..pool
    }
}

fn wrong(name: &str, value: &Value, kind: &str) -> FerrumError {
    FerrumError::config(format!("backend_options.{name}: {value} is not {kind}"))
}

impl BackendSettings {
    /// Reads settings. The options "name" (of a registered backend), "threads" and "seed" are read
    /// here, all others by the backend.
    pub(crate) fn of(config: &BackendConfig) -> Result<Self> {
        let memory = &config.memory_config;
        if !memory.alignment.is_power_of_two() {
            return Err(FerrumError::config(format!(
                "memory_config.alignment: {} is not a power of two",
                memory.alignment
            )));
        }
        if memory.pool_size == Some(0) {
            return Err(FerrumError::config("memory_config.pool_size: it is 0"));
        }
        let mut options: Map<String, Value> = Map::new();
        let (mut name, mut threads, mut seed) = (None, None, 0);
        for (key, value) in &config.backend_options {
            match key.as_str() {
                "name" => match value.as_str() {
                    Some(text) => name = Some(text.to_owned()),
                    None => return Err(wrong(key, value, "a name")),
                },
                "threads" => match value.as_u64().map(u32::try_from) {
                    Some(Ok(number)) if number > 0 => threads = Some(number),
                    _ => return Err(wrong(key, value, "a number of threads")),
                },
                "seed" => match value.as_u64() {
                    Some(number) => seed = number,
                    None => return Err(wrong(key, value, "a number of 64 bits")),
                },
                _ => drop(options.insert(key.clone(), value.clone())),
            }
        }
        let (listed, pool) = (name.clone(), pool_of(memory));
        Ok(Self {
            compute: ComputeConfig {
                compute_type: compute_type_of(config.backend_type),
                name,
                optimization_level: config.optimization_level.into(),
                threads,
                debug: config.enable_debug,
                growth: growth_of(memory.growth_strategy),
                pool_size_bytes: memory.pool_size,
                alignment_bytes: Some(memory.alignment as u64),
                pooling: memory.enable_pooling,
                options_json: (!options.is_empty()).then(|| Value::Object(options).to_string()),
            },
            name: listed.unwrap_or_else(|| config.backend_type.to_string()),
            seed,
            tensors: pool_config(&pool),
            memory: MemoryManagerConfig {
                pool_configs: HashMap::from([(MemoryType::General, pool)]),
                ..Default::default()
            },
        })
    }
}
