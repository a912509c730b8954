use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use async_trait::async_trait;
use ferrum_interfaces::backend::{
    BackendConfig, BackendFactory, BackendType, ComputeBackend, WeightLoader, WeightLoaderConfig,
};
use ferrum_interfaces::memory::{
    AdvancedMemoryManager, DeviceMemoryManager, MemoryHandle, MemoryManagerConfig,
    MemoryManagerFactory, StreamManager,
};
use ferrum_interfaces::model_builder::{AdvancedModelBuilder, ModelBuilder, ModelBuilderFactory};
use ferrum_mem::{
    ComputeCall, KvCacheConfig, Library, LoadMemory, PlacementStrategy, Pool, PoolConfig,
    ProgramFailure,
};
use ferrum_types::{Device, FerrumError, ModelType, Result};

use crate::backend::FerrumBackend;
use crate::backend_config::{default_config, BackendSettings};
use crate::config::manager_config;
use crate::devices::Devices;
use crate::error::{check, error_of};
use crate::hub::{locked, Hub};
use crate::kv_manager::FerrumKvCacheManager;
use crate::manager::FerrumMemoryManager;
use crate::model_builder::FerrumModelBuilder;
use crate::model_texts::parsed;
use crate::monitor::FerrumMemoryMonitor;
use crate::pools::Pools;
use crate::strategy::FerrumAllocationStrategy;
use crate::stream::FerrumStreamManager;
use crate::tensor_factory::FerrumTensorFactory;
use crate::weight_loader::FerrumWeightLoader;

/// Settings that the traits lack.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The settings of the library.
    pub library: ferrum_mem::Config,
    /// The device of the library for a device of the traits, where the names differ: `CUDA(1)` as
    /// "cpu:1" runs an engine without its GPU.
    pub devices: HashMap<Device, String>,
    /// Whether a defragmentation may move blocks. The only address in the traits is that of a
    /// mapping, and a mapped block does not move. [`FerrumMem::pin`] returns an address that stays
    /// valid.
    pub relocatable: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            library: ferrum_mem::Config::default(),
            devices: HashMap::new(),
            relocatable: true,
        }
    }
}

/// [`MemoryManagerFactory`] on ferrum_mem: the only constructor that an engine has to change.
/// Clones, and all objects that they create, share one table of handles, and keep the library
/// started.
#[derive(Clone)]
pub struct FerrumMem {
    hub: Arc<Hub>,
    made: Arc<AtomicU64>,
    relocatable: bool,
}

impl std::fmt::Debug for FerrumMem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumMem")
            .field("relocatable", &self.relocatable)
            .finish_non_exhaustive()
    }
}

impl FerrumMem {
    /// Starts the library with all defaults, or joins it if it runs.
    ///
    /// # Errors
    ///
    /// Those of [`FerrumMem::start_with`].
    pub fn start() -> Result<Self> {
        Self::start_with(&Settings::default())
    }

    /// Starts the library, or joins it if it runs with these settings.
    ///
    /// # Errors
    ///
    /// [`ferrum_types::FerrumError::Config`] for invalid settings, and those of `ferrum_init`.
    pub fn start_with(settings: &Settings) -> Result<Self> {
        let library = Library::start_with(&settings.library).map_err(error_of)?;
        Ok(Self {
            hub: Hub::new(Devices::new(library, settings.devices.clone()))?,
            made: Arc::default(),
            relocatable: settings.relocatable,
        })
    }

    /// Creates a strategy that chooses a device for an allocation.
    ///
    /// # Errors
    ///
    /// Those of `ferrum_placement_create`.
    pub fn create_strategy(&self, strategy: PlacementStrategy) -> Result<FerrumAllocationStrategy> {
        FerrumAllocationStrategy::new(self.hub.clone(), strategy)
    }

    /// States how a layer type is computed. A
    /// [`CustomLayer`](ferrum_interfaces::model_builder::CustomLayer) has no such call, so
    /// [`build_with_custom_layers`](AdvancedModelBuilder::build_with_custom_layers) needs one for the
    /// type of each layer. A later function replaces an earlier one for builds that follow.
    ///
    /// The function reads the inputs and the parameters, in the order of their names, and writes the
    /// output. Several threads may call it at a time.
    pub fn set_layer_forward(
        &self,
        layer_type: impl Into<String>,
        forward: impl Fn(&ComputeCall<'_>) -> std::result::Result<(), ProgramFailure>
            + Send
            + Sync
            + 'static,
    ) {
        locked(&self.hub.forwards).insert(layer_type.into(), Arc::new(forward));
    }

    /// Creates a loader of weights. Its tensors are in pools of its own.
    pub fn create_weight_loader(&self) -> FerrumWeightLoader {
        FerrumWeightLoader::new(self.hub.clone())
    }

    /// Creates a backend, as its own type: a clone of it can start and stop it in a registry.
    ///
    /// # Errors
    ///
    /// Those of [`BackendFactory::validate_config`].
    pub fn create_backend(&self, config: &BackendConfig) -> Result<FerrumBackend> {
        let settings = self.checked(config)?;
        let id = self.made.fetch_add(1, Ordering::Relaxed);
        let memory = (manager_config(&settings.memory)?, self.relocatable);
        let memory = FerrumMemoryManager::without_parts(self.hub.clone(), id, memory);
        Ok(FerrumBackend::new(self.hub.clone(), settings, memory))
    }

    /// The default settings of a backend: the CPU, optimisation level 2, and memory on demand.
    pub fn default_backend_config() -> BackendConfig {
        default_config()
    }

    fn checked(&self, config: &BackendConfig) -> Result<BackendSettings> {
        let settings = BackendSettings::of(config)?;
        let library = self.hub.devices.library();
        library.check_compute(&settings.compute).map_err(error_of)?;
        Ok(settings)
    }

    /// Creates a factory of tensors. Its tensors are in pools of its own. The seed determines its
    /// random numbers.
    pub fn create_tensor_factory(&self, seed: u64) -> FerrumTensorFactory {
        FerrumTensorFactory::new(Pools::new(self.hub.clone(), PoolConfig::default()), seed)
    }

    /// Creates a manager of a KV cache, in a pool of its own. The blocks of the host are in memory of
    /// [`Device::CPU`].
    ///
    /// # Errors
    ///
    /// [`FerrumError::Config`] with the name of the field; [`FerrumError::Unsupported`] for a sliding
    /// window and for a type that the traits do not have; [`FerrumError::NotFound`] for a device
    /// that the library does not have; [`FerrumError::ResourceExhausted`] if there is too little
    /// memory.
    pub async fn create_kv_cache_manager(
        &self,
        device: &Device,
        config: &KvCacheConfig,
    ) -> Result<FerrumKvCacheManager> {
        FerrumKvCacheManager::create(&self.hub, device, config).await
    }

    /// Creates a manager of a KV cache in memory of the program on that device, such as a model of an
    /// elastic pool. `host_pool` has the blocks of the host; `None`: there are none. This call
    /// may wait.
    ///
    /// # Errors
    ///
    /// Those of [`FerrumMem::create_kv_cache_manager`]; [`FerrumError::InvalidParameter`] for memory
    /// on another device.
    pub fn create_kv_cache_manager_in(
        &self,
        device: &Device,
        memory: &LoadMemory<'_>,
        config: &KvCacheConfig,
        host_pool: Option<&Pool>,
    ) -> Result<FerrumKvCacheManager> {
        FerrumKvCacheManager::create_in(&self.hub, device, memory, config, host_pool)
    }

    /// The library, for calls that the traits lack, such as
    /// [`add_decoder`](ferrum_mem::Library::add_decoder).
    pub fn library(&self) -> &Library {
        self.hub.devices.library()
    }

    #[cfg(test)]
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Creates a monitor without registrations.
    ///
    /// # Errors
    ///
    /// Those of `ferrum_monitor_create`.
    pub fn create_monitor(&self) -> Result<FerrumMemoryMonitor> {
        FerrumMemoryMonitor::new(self.hub.clone())
    }

    /// The address of a block on its device. It is valid until [`FerrumMem::unpin`] has been called
    /// as often as `pin`. A pinned block cannot be deallocated.
    ///
    /// # Errors
    ///
    /// [`ferrum_types::FerrumError::NotFound`] for a handle without a block, and those of
    /// `ferrum_memory_pin`.
    pub async fn pin(&self, handle: MemoryHandle) -> Result<u64> {
        let call = move |hub: &Hub| {
            let block = hub.block(handle)?;
            let pinned = block.memory.pin().map_err(error_of)?;
            let address = pinned.address();
            // The handles of the traits are values, so unpin() ends the pin by the handle.
            std::mem::forget(pinned);
            Ok(address)
        };
        self.hub.unmoved(call).await
    }

    /// Ends one call of [`FerrumMem::pin`].
    ///
    /// # Errors
    ///
    /// [`ferrum_types::FerrumError::NotFound`] for a handle without a block, and those of
    /// `ferrum_memory_unpin`.
    pub fn unpin(&self, handle: MemoryHandle) -> Result<()> {
        let block = self.hub.block(handle)?;
        // SAFETY: takes only a handle, whose pins are counted.
        check(unsafe { ferrum_mem_sys::ferrum_memory_unpin(block.memory.raw()) })
    }

    /// The manager as its own type, which is an advanced manager too.
    ///
    /// # Errors
    ///
    /// [`ferrum_types::FerrumError::Config`] for invalid settings,
    /// [`ferrum_types::FerrumError::NotFound`] for a device that the library does not have.
    pub async fn create_manager(
        &self,
        device: &Device,
        config: &MemoryManagerConfig,
    ) -> Result<FerrumMemoryManager> {
        let settings = (manager_config(config)?, self.relocatable);
        let id = self.made.fetch_add(1, Ordering::Relaxed);
        FerrumMemoryManager::create(self.hub.clone(), id, settings, device).await
    }
}

#[async_trait]
impl MemoryManagerFactory for FerrumMem {
    async fn create_memory_manager(
        &self,
        device: &Device,
        config: &MemoryManagerConfig,
    ) -> Result<Box<dyn DeviceMemoryManager>> {
        Ok(Box::new(self.create_manager(device, config).await?))
    }

    async fn create_advanced_memory_manager(
        &self,
        device: &Device,
        config: &MemoryManagerConfig,
    ) -> Result<Box<dyn AdvancedMemoryManager>> {
        Ok(Box::new(self.create_manager(device, config).await?))
    }

    async fn create_stream_manager(&self, device: &Device) -> Result<Box<dyn StreamManager>> {
        // The hub keeps it open.
        drop(self.hub.opened(device).await?);
        let id = self.made.fetch_add(1, Ordering::Relaxed);
        let made = FerrumStreamManager::new(self.hub.clone(), id, device.clone());
        Ok(Box::new(made))
    }
}

#[async_trait]
impl BackendFactory for FerrumMem {
    /// The backend computes after its initialisation.
    async fn create_compute_backend(
        &self,
        config: &BackendConfig,
    ) -> Result<Box<dyn ComputeBackend>> {
        Ok(Box::new(self.create_backend(config)?))
    }

    /// The loader reads local files and memory only. It downloads nothing, so it has no use for the
    /// settings of downloads and of their cache.
    async fn create_weight_loader(&self, _: &WeightLoaderConfig) -> Result<Box<dyn WeightLoader>> {
        Ok(Box::new(FerrumMem::create_weight_loader(self)))
    }

    /// The CPU, backends that the program has registered with the library, and ONNX Runtime where
    /// it is installed.
    fn supported_backend_types(&self) -> Vec<BackendType> {
        let mut types = vec![BackendType::CPU, BackendType::Custom];
        let listed = parsed(self.library().compute_backends_json()).unwrap_or_default();
        let mut entries = listed["backends"].as_array().into_iter().flatten();
        if entries.any(|it| it["backend_type"] == "onnx_runtime" && it["available"] == true) {
            types.push(BackendType::OnnxRuntime);
        }
        types
    }

    /// The error names the setting, or states why the library does not have such a backend. The
    /// options "name" (of a registered backend), "threads" and "seed" (of random numbers) are those
    /// of this crate; docs/compute.md lists the others.
    fn validate_config(&self, config: &BackendConfig) -> Result<()> {
        self.checked(config).map(drop)
    }
}

#[async_trait]
impl ModelBuilderFactory for FerrumMem {
    async fn create_builder(&self) -> Result<Box<dyn ModelBuilder>> {
        Ok(Box::new(FerrumModelBuilder::new(self.hub.clone())?))
    }

    async fn create_advanced_builder(&self) -> Result<Box<dyn AdvancedModelBuilder>> {
        Ok(Box::new(FerrumModelBuilder::new(self.hub.clone())?))
    }

    /// Encoders.
    fn supported_types(&self) -> Vec<ModelType> {
        vec![ModelType::Embedding]
    }

    /// Any other type is [`FerrumError::Unsupported`], with its name.
    async fn create_builder_for_type(
        &self,
        model_type: ModelType,
    ) -> Result<Box<dyn ModelBuilder>> {
        if !ModelBuilderFactory::supported_types(self).contains(&model_type) {
            return Err(FerrumError::unsupported(format!(
                "models of the type {model_type} cannot be built, only those of the type embedding"
            )));
        }
        ModelBuilderFactory::create_builder(self).await
    }
}
