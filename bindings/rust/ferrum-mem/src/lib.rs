//! ferrum_mem for Rust: the memory system of an LLM inference engine.
//!
//! ```no_run
//! use ferrum_mem::{Device, Library, Result};
//!
//! fn main() -> Result<()> {
//!     let library = Library::start()?;
//!     let device = Device::open(&library, "cpu:0")?;
//!     let manager = device.create_manager(&Default::default())?;
//!     let block = manager.alloc(1 << 20)?;
//!     block.write(0, b"tokens")?;
//!     println!("{} bytes free", device.memory_info()?.free_bytes);
//!     Ok(())
//! }
//! ```
//!
//! Objects own what they stand for and keep alive what they need: a block its
//! manager, a manager its device, a device the library. They give it back when
//! they are dropped. What a call means, its units and its errors stand with the
//! C functions in [`sys`].
//!
//! Every object is `Send` and `Sync`: it holds a handle, which is a number, and
//! every function of the library may be called from any thread at any time.
//! Where the library calls a closure, it does so on a thread of its own, so
//! closures must be `Send` (and `Sync` when they can be called again). A panic
//! in one never crosses into C: it is caught after the panic hook has reported
//! it.

mod callback;
mod device;
mod discovery;
mod elastic_pool;
mod error;
mod estimate;
mod fallback_buffer;
mod fallback_manager;
mod generic_pool;
mod graph;
mod library;
mod manager;
mod mapped_range;
mod mapping;
mod memory_config;
mod monitor;
mod placement;
mod pool;
mod pool_block;
mod pool_config;
mod pool_request;
#[cfg(unix)]
mod processes;
mod sharing;
mod sleep;
mod stream;
mod tracker;
mod values;
mod virtual_pool;
mod virtual_values;

pub use callback::{no_log, on_log, LogLevel, Reclaim, Registration};
pub use device::Device;
pub use discovery::{
    compute_f16_bytes, compute_f32_bytes, host_info, round_up_power_of_2, size_class,
    BackendChoice, BackendType, HostInfo,
};
pub use elastic_pool::{
    ElasticPool, ElasticPoolConfig, Model, ModelConfig, ModelLimits, ModelRequest,
};
pub use error::{Error, ErrorKind, Facts, Result};
pub use estimate::{
    estimate_config_json, estimate_file_json, estimate_inference_memory, estimate_kv_cache_memory,
    estimate_model_memory, InferenceMemoryEstimate, KvCacheShape, ModelShape, Serving,
};
pub use fallback_buffer::{BufferRequest, DType, FallbackBuffer, PinnedBuffer, Place};
pub use fallback_manager::{FallbackManager, FallbackStats, GpuMemoryPool};
pub use generic_pool::{BufferUse, GenericMemoryPool, Lease, NotReturned};
pub use graph::{Graph, GraphInfo};
pub use library::{
    abi_version, backends_json, leak_report_json, snapshot_json, version, Config, Library,
};
pub use manager::{
    copy, copy_async, BlockInfo, Fill, Manager, ManagerConfig, Memory, MemoryType, Pinned, Request,
    Transfer,
};
pub use mapped_range::MappedRange;
pub use mapping::{AccessPattern, AccessStats, HostAccess, HostMapping, UsageHint, UsageHints};
pub use memory_config::{MemoryConfig, MemoryStats};
pub use monitor::{DeviceLevel, GlobalPressure, Monitor, MonitorConfig, PressureProfile};
pub use placement::{Placement, PlacementOption, PlacementRequest};
pub use pool::Pool;
pub use pool_block::{PoolBatch, PoolBlock};
pub use pool_config::{DebugFlags, Paging, PoolConfig, ReadyPages, SegmentSource, ThreadCache};
pub use pool_request::{PoolRequest, Tag};
#[cfg(unix)]
pub use processes::SharedMemory;
pub use sharing::{Adoption, LinkRequest, Work};
pub use sleep::{
    SleepBacking, SleepReport, SleepRequest, VirtualPoolRequest, WakeReport, WakeRequest,
};
pub use stream::{Event, Stream};
pub use tracker::{
    AllocationTracker, BufferId, BufferLocation, BufferMetadata, TrackerTotals, TrackerView,
};
pub use values::{
    BlockOwner, BlockState, Defragmentation, DeviceInfo, Gauge, MemoryInfo, Pressure, Skipped,
    Statistics,
};
pub use virtual_pool::{VirtualPool, VirtualPoolConfig};
pub use virtual_values::{
    Backing, CompactReport, ElasticPoolInfo, ModelInfo, PageSizes, PoolInfo, VirtualPoolInfo,
};

/// The C ABI underneath.
pub use ferrum_mem_sys as sys;
