//! The traits of `ferrum-interfaces` for memory, weights, compute and KV caches on ferrum_mem.
//!
//! An engine that is written against [`DeviceMemoryManager`], [`AdvancedMemoryManager`],
//! [`StreamManager`], [`MemoryManagerFactory`], [`GlobalMemoryMonitor`], [`AllocationStrategy`],
//! [`WeightLoader`], [`ModelBuilder`], [`ModelRegistry`], [`ComputeBackend`], [`BackendFactory`], [`BackendRegistry`],
//! [`TensorFactory`], [`TensorOps`], [`KernelOps`], [`KvCacheManager`], [`AdvancedKvCacheManager`] and
//! [`BlockAllocator`] runs on ferrum_mem when [`FerrumMem::start`] creates its factory:
//!
//! ```no_run
//! use ferrum_interfaces::memory::{MemoryManagerConfig, MemoryManagerFactory};
//! use ferrum_mem_interfaces::FerrumMem;
//! use ferrum_types::{Device, Result};
//!
//! async fn engine() -> Result<()> {
//!     let factory = FerrumMem::start()?;
//!     let config = MemoryManagerConfig::default();
//!     let manager = factory.create_memory_manager(&Device::CPU, &config).await?;
//!     let block = manager.allocate(1 << 20, &Device::CPU).await?;
//!     manager.deallocate(block).await
//! }
//! ```
//!
//! # Asynchronous calls
//!
//! No runtime is needed: any executor may poll the futures, and a thread of the library or of this
//! crate wakes it. No future blocks the thread that polls it. A callback of the stream reports the end
//! of a stream's work and of a copy. Calls of the library that may wait without such a callback, such
//! as an allocation when memory is short or a defragmentation, run on threads of this crate. These
//! threads start when none is idle, and end when they are idle for a while.
//!
//! A future that is dropped leaks nothing and leaves the counters right: a call that it had not begun is
//! not made, a call that it had begun runs to its end, and a block that it would have returned is freed.
//!
//! # Handles
//!
//! All managers, stream managers and monitors of one [`FerrumMem`] share their handles. A handle of
//! another one, an unknown number, and the handle of a destroyed object give
//! [`ferrum_types::FerrumError::NotFound`]. Handles of memory and of streams are those of the C ABI.
//!
//! [`DeviceMemoryManager`]: ferrum_interfaces::memory::DeviceMemoryManager
//! [`AdvancedMemoryManager`]: ferrum_interfaces::memory::AdvancedMemoryManager
//! [`StreamManager`]: ferrum_interfaces::memory::StreamManager
//! [`MemoryManagerFactory`]: ferrum_interfaces::memory::MemoryManagerFactory
//! [`GlobalMemoryMonitor`]: ferrum_interfaces::memory::GlobalMemoryMonitor
//! [`AllocationStrategy`]: ferrum_interfaces::memory::AllocationStrategy
//! [`WeightLoader`]: ferrum_interfaces::backend::WeightLoader
//! [`ModelBuilder`]: ferrum_interfaces::model_builder::ModelBuilder
//! [`ModelRegistry`]: ferrum_interfaces::model_builder::ModelRegistry
//! [`ComputeBackend`]: ferrum_interfaces::backend::ComputeBackend
//! [`BackendFactory`]: ferrum_interfaces::backend::BackendFactory
//! [`BackendRegistry`]: ferrum_interfaces::backend::BackendRegistry
//! [`TensorFactory`]: ferrum_interfaces::TensorFactory
//! [`TensorOps`]: ferrum_interfaces::TensorOps
//! [`KernelOps`]: ferrum_interfaces::KernelOps
//! [`KvCacheManager`]: ferrum_interfaces::KvCacheManager
//! [`AdvancedKvCacheManager`]: ferrum_interfaces::kv_cache::AdvancedKvCacheManager
//! [`BlockAllocator`]: ferrum_interfaces::kv_cache::BlockAllocator

mod advanced;
mod backend;
mod backend_config;
mod batch_ops;
mod completion;
mod config;
mod custom_layers;
mod data_types;
mod devices;
mod error;
mod events;
mod factory;
#[cfg(test)]
mod gated;
mod hub;
mod kernel_ops;
mod kv_blocks;
mod kv_handle;
mod kv_manager;
mod kv_requests;
mod manager;
mod model_builder;
mod model_executor;
mod model_ir;
mod model_passes;
mod model_registry;
mod model_texts;
mod monitor;
mod pools;
mod pressure;
mod random;
mod registry;
mod requirements;
mod running;
mod sampling;
mod strategy;
mod stream;
mod tensor;
mod tensor_factory;
mod tensor_ops;
#[cfg(test)]
mod testing;
mod transfer_slots;
mod weight_loader;
mod workers;

pub use backend::FerrumBackend;
pub use factory::{FerrumMem, Settings};
pub use kernel_ops::FerrumKernelOps;
pub use kv_blocks::FerrumBlockAllocator;
pub use kv_handle::FerrumKvCacheHandle;
pub use kv_manager::FerrumKvCacheManager;
pub use manager::FerrumMemoryManager;
pub use model_builder::FerrumModelBuilder;
pub use model_executor::FerrumModelExecutor;
pub use model_registry::FerrumModelRegistry;
pub use monitor::FerrumMemoryMonitor;
pub use registry::{BackendCandidate, FerrumBackendRegistry};
pub use requirements::unmet;
pub use strategy::FerrumAllocationStrategy;
pub use stream::FerrumStreamManager;
pub use tensor::FerrumTensor;
pub use tensor_factory::FerrumTensorFactory;
pub use tensor_ops::FerrumTensorOps;
pub use weight_loader::FerrumWeightLoader;
