use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ferrum_interfaces::backend::{
    BackendCapabilities, BackendStatus, ComputeBackend, KernelExecutor,
};
use ferrum_interfaces::kernel_ops::KernelOps;
use ferrum_interfaces::{DeviceMemoryManager, TensorFactory, TensorOps};
use ferrum_mem::DType;
use ferrum_types::{DataType, Device, FerrumError, Result};
use serde_json::Value;

use crate::backend_config::BackendSettings;
use crate::config::count;
use crate::data_types::data_type_of;
use crate::error::error_of;
use crate::hub::{locked, Hub};
use crate::kernel_ops::FerrumKernelOps;
use crate::manager::FerrumMemoryManager;
use crate::model_texts::parsed;
use crate::pools::Pools;
use crate::running::{Engine, Running, Slot};
use crate::tensor_factory::FerrumTensorFactory;
use crate::tensor_ops::FerrumTensorOps;

/// [`ComputeBackend`] on ferrum_mem. [`crate::FerrumMem`] creates it as a
/// [`BackendFactory`](ferrum_interfaces::backend::BackendFactory).
///
/// It computes after [`initialize`](ComputeBackend::initialize) and until
/// [`shutdown`](ComputeBackend::shutdown), any number of times. Clones share one backend, so a clone
/// starts and stops a backend that a registry has. Tensors stay valid after a shutdown, and keep the
/// memory of the backend.
#[derive(Clone)]
pub struct FerrumBackend {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Arc<Hub>,
    settings: BackendSettings,
    slot: Arc<Slot>,
    /// Locked while the backend starts or stops, by workers only.
    changing: Mutex<()>,
    pools: Arc<Pools>,
    factory: Arc<FerrumTensorFactory>,
    tensor_ops: FerrumTensorOps,
    kernel_ops: FerrumKernelOps,
    memory: FerrumMemoryManager,
}

impl std::fmt::Debug for FerrumBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumBackend")
            .field("name", &self.inner.settings.name)
            .finish_non_exhaustive()
    }
}

impl FerrumBackend {
    pub(crate) fn new(
        hub: Arc<Hub>,
        settings: BackendSettings,
        memory: FerrumMemoryManager,
    ) -> Self {
        let pools = Pools::new(hub.clone(), settings.tensors.clone());
        let factory = Arc::new(FerrumTensorFactory::new(pools.clone(), settings.seed));
        let slot = Arc::<Slot>::default();
        hub.add_engine(&pools, &slot);
        let engine = Engine {
            slot: slot.clone(),
            factory: factory.clone(),
        };
        Self {
            inner: Arc::new(Inner {
                tensor_ops: FerrumTensorOps::new(engine.clone(), hub.workers.clone()),
                kernel_ops: FerrumKernelOps::new(engine, &settings.name),
                hub,
                settings,
                slot,
                changing: Mutex::new(()),
                pools,
                factory,
                memory,
            }),
        }
    }

    /// The operations as their own type, which has those of batches and asynchronous ones too.
    pub fn own_tensor_ops(&self) -> &FerrumTensorOps {
        &self.inner.tensor_ops
    }

    /// Starts the backend on a device, as [`ComputeBackend::initialize`]. Does nothing if it runs
    /// there.
    ///
    /// # Errors
    ///
    /// [`FerrumError::AlreadyExists`] if it runs on another device; [`FerrumError::Unsupported`] for
    /// a device on which it does not compute; those of `ferrum_compute_open`.
    pub async fn start(&self, device: &Device) -> Result<()> {
        let (inner, device) = (self.inner.clone(), device.clone());
        self.inner
            .hub
            .workers
            .run(move || inner.start(device))
            .await
    }

    /// Waits for its work and stops the backend, as [`ComputeBackend::shutdown`]. Does nothing if it
    /// does not run.
    ///
    /// # Errors
    ///
    /// The error of work that has failed; the backend has stopped.
    pub async fn stop(&self) -> Result<()> {
        let inner = self.inner.clone();
        self.inner.hub.workers.run(move || inner.stop()).await
    }
}

impl Inner {
    fn start(&self, device: Device) -> Result<()> {
        let _one = locked(&self.changing);
        if let Some(running) = self.slot.get() {
            if running.device == device {
                return Ok(());
            }
            return Err(FerrumError::already_exists(format!(
                "the backend {} runs on {}: shut it down first",
                self.settings.name, running.device
            )));
        }
        let opened = self.hub.devices.open(&device)?;
        let (config, pools) = (&self.settings.compute, self.pools.clone());
        let running = Running::open(config, &opened, device, pools).map_err(error_of)?;
        self.slot.replace(Some(Arc::new(running)));
        Ok(())
    }

    fn stop(&self) -> Result<()> {
        let _one = locked(&self.changing);
        let running = self.slot.replace(None);
        running.map_or(Ok(()), |it| it.settle())
    }

    /// The entry of the backend in the list of the library.
    fn entry(&self) -> Result<Value> {
        let library = self.hub.devices.library();
        let listed = parsed(library.compute_backends_json())?;
        let entries = listed["backends"].as_array().or(listed.as_array());
        let name = self.settings.name.as_str();
        let found = entries.and_then(|all| all.iter().find(|it| it["name"] == name));
        found.cloned().ok_or_else(|| {
            FerrumError::not_found(format!("the library has no backend of the name {name:?}"))
        })
    }

    fn capabilities(&self) -> Result<Value> {
        match self.slot.get() {
            Some(running) => parsed(running.compute.capabilities_json()),
            None => Ok(self.entry()?["capabilities"].clone()),
        }
    }

    /// The devices of the traits for a list of ids.
    fn devices(&self, ids: &Value) -> Vec<Device> {
        let ids = ids.as_array().into_iter().flatten();
        let names = ids.filter_map(Value::as_str);
        names.flat_map(|it| self.hub.devices.of_name(it)).collect()
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().map_or(0, count)
}

fn flag(value: &Value) -> bool {
    value.as_bool().unwrap_or(false)
}

fn extras(value: &Value) -> HashMap<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(name, it)| (name.clone(), it.clone()))
        .collect()
}

/// The types of the traits for a list of names, each once.
fn data_types(names: &Value) -> Vec<DataType> {
    let mut found = Vec::new();
    let names = names.as_array().into_iter().flatten();
    for name in names.filter_map(Value::as_str) {
        let dtype = name.parse::<DType>().ok().and_then(data_type_of);
        if let Some(dtype) = dtype.filter(|it| !found.contains(it)) {
            found.push(dtype);
        }
    }
    found
}

#[async_trait]
impl ComputeBackend for FerrumBackend {
    fn name(&self) -> &str {
        &self.inner.settings.name
    }

    /// The flags of types follow from the list of types. All is empty for a registered backend that
    /// was unregistered.
    fn capabilities(&self) -> BackendCapabilities {
        let has = self.inner.capabilities().unwrap_or_default();
        let dtypes = data_types(&has["supported_dtypes"]);
        BackendCapabilities {
            supports_fp16: dtypes.contains(&DataType::FP16),
            supports_bf16: dtypes.contains(&DataType::BF16),
            supports_int8: dtypes.contains(&DataType::INT8),
            supported_dtypes: dtypes,
            supported_devices: self.inner.devices(&has["supported_devices"]),
            max_tensor_dims: number(&has["max_tensor_dims"]),
            supports_flash_attention: flag(&has["supports_flash_attention"]),
            supports_paged_attention: flag(&has["supports_paged_attention"]),
            supports_tensor_parallelism: flag(&has["supports_tensor_parallelism"]),
            supports_pipeline_parallelism: flag(&has["supports_pipeline_parallelism"]),
            max_batch_size: number(&has["max_batch_size"]),
            max_sequence_length: number(&has["max_sequence_length"]),
            memory_alignment: number(&has["memory_alignment"]),
            // There is no kernel executor.
            supports_custom_kernels: false,
            supports_cuda_graphs: flag(&has["supports_cuda_graphs"]),
            extra_capabilities: extras(&has["extra_capabilities"]),
        }
    }

    fn tensor_ops(&self) -> &dyn TensorOps {
        &self.inner.tensor_ops
    }

    fn tensor_factory(&self) -> &dyn TensorFactory {
        &*self.inner.factory
    }

    fn memory_manager(&self) -> &dyn DeviceMemoryManager {
        &self.inner.memory
    }

    fn kernel_executor(&self) -> Option<&dyn KernelExecutor> {
        None
    }

    fn kernel_ops(&self) -> Option<&dyn KernelOps> {
        Some(&self.inner.kernel_ops)
    }

    async fn initialize(&mut self, device: &Device) -> Result<()> {
        self.start(device).await
    }

    /// The library lists the first CPU, and other devices from their opening on.
    fn supports_device(&self, device: &Device) -> bool {
        self.capabilities().supported_devices.contains(device)
    }

    fn version(&self) -> String {
        let entry = self.inner.entry().unwrap_or_default();
        entry["version"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits for all work of the device.
    async fn synchronize(&self, device: &Device) -> Result<()> {
        let running = self.inner.slot.running()?;
        if running.device != *device {
            return Err(FerrumError::device(format!(
                "the backend {} runs on {}, not on {device}",
                self.name(),
                running.device
            )));
        }
        let call = move || running.compute.synchronize(None).map_err(error_of);
        self.inner.hub.workers.run(call).await
    }

    /// `memory_usage` has devices as keys, which cannot all be written as JSON. Therefore
    /// `backend_specific` has the same numbers with texts as keys.
    fn status(&self) -> BackendStatus {
        let running = self.inner.slot.get();
        let status = running
            .as_ref()
            .and_then(|it| parsed(it.compute.status_json()).ok());
        let status = status.unwrap_or_default();
        let mut specific = extras(&status["backend_specific"]);
        let usage = extras(&status["memory_usage"]);
        if running.is_some() {
            specific.insert("memory_usage".to_owned(), status["memory_usage"].clone());
        }
        let usage = usage.iter().flat_map(|(name, bytes)| {
            let devices = self.inner.hub.devices.of_name(name).into_iter();
            devices.map(|it| (it, bytes.as_u64().unwrap_or(0)))
        });
        let is_active = |device: &Device| running.as_ref().is_some_and(|it| it.device == *device);
        let used: HashMap<_, _> = usage.filter(|(device, _)| is_active(device)).collect();
        BackendStatus {
            is_initialized: flag(&status["is_initialized"]),
            is_ready: flag(&status["is_ready"]),
            active_devices: running.iter().map(|it| it.device.clone()).collect(),
            memory_usage: used,
            operations_completed: status["operations_completed"].as_u64().unwrap_or(0),
            last_error: status["last_error"].as_str().map(str::to_owned),
            backend_specific: specific,
        }
    }

    async fn shutdown(&mut self) -> Result<()> {
        self.stop().await
    }
}
