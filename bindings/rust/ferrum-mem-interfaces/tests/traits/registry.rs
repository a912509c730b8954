//! The published registry of backends, with backends of the tests.

use std::collections::HashMap;

use async_trait::async_trait;
use ferrum_interfaces::backend::*;
use ferrum_interfaces::{DeviceMemoryManager, TensorFactory, TensorOps};
use ferrum_mem_interfaces::{unmet, FerrumBackendRegistry};
use ferrum_types::{DataType, Device, FerrumError, Result};
use serde_json::json;

use crate::support::*;

/// A backend that only states its capabilities.
struct Stated(BackendCapabilities);

#[async_trait]
impl ComputeBackend for Stated {
    fn name(&self) -> &str {
        "stated"
    }
    fn capabilities(&self) -> BackendCapabilities {
        self.0.clone()
    }
    fn tensor_ops(&self) -> &dyn TensorOps {
        unreachable!("it only states its capabilities")
    }
    fn tensor_factory(&self) -> &dyn TensorFactory {
        unreachable!("it only states its capabilities")
    }
    fn memory_manager(&self) -> &dyn DeviceMemoryManager {
        unreachable!("it only states its capabilities")
    }
    fn kernel_executor(&self) -> Option<&dyn KernelExecutor> {
        None
    }
    async fn initialize(&mut self, _: &Device) -> Result<()> {
        Ok(())
    }
    fn supports_device(&self, device: &Device) -> bool {
        self.0.supported_devices.contains(device)
    }
    fn version(&self) -> String {
        "1".into()
    }
    async fn synchronize(&self, _: &Device) -> Result<()> {
        Ok(())
    }
    fn status(&self) -> BackendStatus {
        unreachable!("it only states its capabilities")
    }
    async fn shutdown(&mut self) -> Result<()> {
        Ok(())
    }
}

fn capable() -> BackendCapabilities {
    BackendCapabilities {
        supported_dtypes: vec![DataType::FP32],
        supported_devices: vec![Device::CPU],
        max_tensor_dims: 8,
        supports_fp16: false,
        supports_bf16: false,
        supports_int8: false,
        supports_flash_attention: false,
        supports_paged_attention: false,
        supports_tensor_parallelism: false,
        supports_pipeline_parallelism: false,
        max_batch_size: 16,
        max_sequence_length: 1024,
        memory_alignment: 64,
        supports_custom_kernels: false,
        supports_cuda_graphs: false,
        extra_capabilities: HashMap::new(),
    }
}

fn nothing_required() -> BackendRequirements {
    BackendRequirements {
        required_devices: Vec::new(),
        required_dtypes: Vec::new(),
        min_batch_size: 0,
        min_sequence_length: 0,
        requires_flash_attention: false,
        requires_paged_attention: false,
        extra_requirements: HashMap::new(),
    }
}

fn with(change: impl FnOnce(&mut BackendCapabilities)) -> Box<dyn ComputeBackend> {
    let mut has = capable();
    change(&mut has);
    Box::new(Stated(has))
}

#[test]
fn test_names_are_unique_and_listed_in_order() {
    let engine = engine();
    let mut registry = FerrumBackendRegistry::new();
    for name in ["b", "a"] {
        registry
            .register_compute_backend(name, with(|_| ()))
            .unwrap();
        let loader = Box::new(engine.factory.create_weight_loader());
        registry.register_weight_loader(name, loader).unwrap();
    }
    let again = registry.register_compute_backend("a", with(|_| ()));
    assert!(matches!(again, Err(FerrumError::AlreadyExists { .. })));
    let loader = Box::new(engine.factory.create_weight_loader());
    let again = registry.register_weight_loader("a", loader);
    assert!(matches!(again, Err(FerrumError::AlreadyExists { .. })));
    for name in ["", &"x".repeat(64)] {
        let wrong = registry.register_compute_backend(name, with(|_| ()));
        assert!(matches!(wrong, Err(FerrumError::InvalidParameter { .. })));
    }
    let names = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(registry.list_backend_names(), (names.clone(), names));
    assert_eq!(registry.get_compute_backend("a").unwrap().version(), "1");
    assert!(registry.get_compute_backend("c").is_none());
    assert!(
        registry
            .get_weight_loader("a")
            .unwrap()
            .capabilities()
            .supports_concurrent
    );
    let removed = registry.unregister_compute_backend("a").unwrap();
    assert!(registry.get_compute_backend("a").is_none());
    registry.register_compute_backend("a", removed).unwrap();
    drop(registry.unregister_weight_loader("a").unwrap());
    assert!(registry.get_weight_loader("a").is_none());
    let missing = registry.unregister_weight_loader("a").err();
    assert!(matches!(missing, Some(FerrumError::NotFound { .. })));
}

#[test]
fn test_the_best_backend_is_chosen_by_a_documented_order() {
    let mut registry = FerrumBackendRegistry::new();
    let mut required = nothing_required();
    let best = |registry: &FerrumBackendRegistry, required: &_| {
        let found = registry.candidates(required).swap_remove(0);
        let chosen = registry.find_best_compute_backend(required).is_some();
        assert_eq!(chosen, found.reasons.is_empty());
        found.name
    };
    assert!(registry.find_best_compute_backend(&required).is_none());
    // Each one is better than all before it.
    type Change = fn(&mut BackendCapabilities);
    let chain: [(&str, Change); 6] = [
        ("z", |_| ()),
        ("y", |_| ()),
        ("batch", |it| it.max_batch_size = 17),
        ("long", |it| it.max_sequence_length = 1025),
        ("more", |it| {
            it.extra_capabilities.insert("a".into(), json!(8));
        }),
        ("device", |it| it.supported_devices.push(Device::CUDA(1))),
    ];
    for (name, change) in chain {
        registry
            .register_compute_backend(name, with(change))
            .unwrap();
        assert_eq!(best(&registry, &required), name);
    }
    required.min_batch_size = 17;
    assert_eq!(best(&registry, &required), "batch");
    let listed: Vec<_> = registry
        .candidates(&required)
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(listed, ["batch", "device", "long", "more", "y", "z"]);
    required.min_batch_size = 0;
    required.extra_requirements.insert("a".into(), json!(8));
    assert_eq!(best(&registry, &required), "more");
    required.extra_requirements.insert("a".into(), json!(9));
    assert!(registry.find_best_compute_backend(&required).is_none());
    let first = &registry.candidates(&required)[0];
    assert_eq!(first.name, "batch");
    assert_eq!(
        first.reasons,
        ["extra_requirements: it has no property \"a\""]
    );
}

#[test]
fn test_every_requirement_is_compared() {
    let mut has = capable();
    has.extra_capabilities.insert("kind".into(), json!("fast"));
    type Change = fn(&mut BackendRequirements);
    let lacks = |change: Change| {
        let mut required = nothing_required();
        change(&mut required);
        unmet(&has, &required)
    };
    let equal: Change = |it| {
        it.required_devices = vec![Device::CPU];
        it.required_dtypes = vec![DataType::FP32];
        (it.min_batch_size, it.min_sequence_length) = (16, 1024);
        it.extra_requirements.insert("kind".into(), json!("fast"));
    };
    assert!(lacks(equal).is_empty());
    let cases: [(Change, &str); 8] = [
        (
            |it| it.required_devices = vec![Device::CUDA(0)],
            "required_devices: it does not support cuda:0",
        ),
        (
            |it| it.required_dtypes = vec![DataType::FP16],
            "required_dtypes: it does not support fp16",
        ),
        (
            |it| it.min_batch_size = 17,
            "min_batch_size: 17 is above its limit of 16",
        ),
        (
            |it| it.min_sequence_length = 1025,
            "min_sequence_length: 1025 is above its limit of 1024",
        ),
        (
            |it| it.requires_flash_attention = true,
            "requires_flash_attention: its attention is not of this kind",
        ),
        (
            |it| it.requires_paged_attention = true,
            "requires_paged_attention: its attention takes no pages",
        ),
        (
            |it| drop(it.extra_requirements.insert("kind".into(), json!("slow"))),
            "extra_requirements: property \"kind\" is \"fast\", \"slow\" is required",
        ),
        (
            |it| drop(it.extra_requirements.insert("other".into(), json!(1))),
            "extra_requirements: it has no property \"other\"",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(lacks(change), [expected]);
    }
}
