//! The memory traits of `ferrum-interfaces` on ferrum_mem.
//!
//! An engine that is written against [`DeviceMemoryManager`], [`AdvancedMemoryManager`],
//! [`StreamManager`], [`MemoryManagerFactory`], [`GlobalMemoryMonitor`] and [`AllocationStrategy`] runs on
//! ferrum_mem when its factory is made by [`FerrumMem::start`]:
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
//! No runtime is needed: every future may be polled by any executor, and wakes it from
//! a thread of the library or of this crate. None of them waits on the thread that
//! polls. Work of a stream, and a copy, say that they are done through a callback of
//! the stream. Calls of the library that may wait without one, such as an allocation
//! when memory is short or a defragmentation, are made on threads of this crate, which
//! come when none is idle and end when they have nothing to do.
//!
//! A future that is dropped leaks nothing and leaves the books right: what it had not
//! begun is never done, what it had begun is finished, and a block that it would have
//! given is given back.
//!
//! # Handles
//!
//! All managers, stream managers and monitors of one [`FerrumMem`] know each other's
//! handles; those of another are [`ferrum_types::FerrumError::NotFound`], as is every
//! number that was not given or whose object is gone. Handles of memory and of streams are those
//! of the C ABI.
//!
//! [`DeviceMemoryManager`]: ferrum_interfaces::memory::DeviceMemoryManager
//! [`AdvancedMemoryManager`]: ferrum_interfaces::memory::AdvancedMemoryManager
//! [`StreamManager`]: ferrum_interfaces::memory::StreamManager
//! [`MemoryManagerFactory`]: ferrum_interfaces::memory::MemoryManagerFactory
//! [`GlobalMemoryMonitor`]: ferrum_interfaces::memory::GlobalMemoryMonitor
//! [`AllocationStrategy`]: ferrum_interfaces::memory::AllocationStrategy

mod advanced;
mod completion;
mod config;
mod devices;
mod error;
mod events;
mod factory;
#[cfg(test)]
mod gated;
mod hub;
mod manager;
mod monitor;
mod pressure;
mod strategy;
mod stream;
#[cfg(test)]
mod testing;
mod turns;
mod workers;

pub use factory::{FerrumMem, Settings};
pub use manager::FerrumMemoryManager;
pub use monitor::FerrumMemoryMonitor;
pub use strategy::FerrumAllocationStrategy;
pub use stream::FerrumStreamManager;
