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
//! An object owns its native object and keeps its parents alive: a block keeps its manager, a
//! manager its device, a device the library. A drop ends the native object. The C functions in [`sys`]
//! describe the meaning of each call, its units and its errors.
//!
//! A drop cannot return an error, so every object also has a call that ends it: `close`, `free`,
//! `unmap`. If that call fails, it returns a [`Rejected`] with the error and the object. Values whose
//! drop ends or removes something are `#[must_use]`:
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! # use ferrum_mem::{Device, Result};
//! fn listen(device: &Device) -> Result<()> {
//!     device.on_pressure(|level| println!("{level:?}"))?; // removed at once
//!     Ok(())
//! }
//! ```
//!
//! Later versions may add fields and variants to results, so only the library can create them, and a
//! `match` needs an arm for the rest:
//!
//! ```compile_fail,E0639
//! # use ferrum_mem::InferenceMemoryEstimate;
//! let (model_bytes, kv_cache_bytes, activation_bytes, total_bytes) = (5, 2, 1, 8);
//! let mine = InferenceMemoryEstimate { model_bytes, kv_cache_bytes, activation_bytes, total_bytes };
//! ```
//!
//! ```compile_fail,E0004
//! # use ferrum_mem::PressureLevel;
//! # fn short(level: PressureLevel) -> &'static str {
//! match level {
//!     PressureLevel::Low | PressureLevel::Medium => "go on",
//!     PressureLevel::High | PressureLevel::Critical => "free",
//! }
//! # }
//! ```
//!
//! Every object is `Send` and `Sync`: it holds a handle, which is a number, and every function of the
//! library may be called from any thread at any time. The library calls closures on a thread of its
//! own, so closures must be `Send` (and `Sync` if they can be called again). A panic in a closure does
//! not reach C: it is caught after the panic hook has reported it.

mod callback;
mod compute;
mod device;
mod discovery;
mod elastic_pool;
mod ending;
mod error;
mod estimate;
mod fallback_buffer;
mod fallback_manager;
mod generated;
mod generic_pool;
mod graph;
mod kept;
mod kv_cache;
mod layer;
mod library;
mod manager;
mod mapped_range;
mod mapping;
mod memory_config;
mod model;
mod monitor;
mod names;
mod parent;
mod placement;
mod pool;
mod pool_block;
mod pool_request;
mod pressure;
#[cfg(unix)]
mod processes;
mod program_failure;
mod raw;
mod rejected;
mod sharing;
mod sleep;
mod stream;
mod tensor;
mod tracker;
mod virtual_pool;
mod weights;

pub use callback::{no_log, on_log, Registration};
pub use compute::{
    Compute, ComputeCall, ComputeConfig, ComputeOperand, ComputePlan, Inferred, Op, OpInput,
    OpOutput, ProgramBackend, RegisteredCompute, Sequence,
};
pub use device::Device;
pub use discovery::{
    compute_f16_bytes, compute_f32_bytes, host_info, round_up_power_of_2, size_class,
};
pub use elastic_pool::{ElasticPool, Model};
pub use error::{Error, ErrorKind, Facts, Result};
pub use estimate::{
    estimate_config_json, estimate_file_json, estimate_inference_memory, estimate_kv_cache_memory,
    estimate_model_memory,
};
pub use fallback_buffer::{FallbackBuffer, PinnedBuffer};
pub use fallback_manager::{FallbackManager, GpuMemoryPool};
pub use generated::enums::{
    AccessPattern, BackendType, Backing, BlockState, BufferLocation, BufferPlace, BuildPhase,
    ComputeGrowth, ComputeType, DType, DebugFlags, EstimateDType, HostAccess, LogLevel, MemoryType,
    Paging, PlacementReason, PlacementStrategy, PressureLevel, PressureProfile, ReadyPages,
    SegmentSource, Strategy, ThreadCache, UsageHint, WeightsFormat,
};
pub use generated::records::{
    AccessStats, AddressCopy, Adoption, AllocationRequest, BackendChoice, BatchOptions, BlockInfo,
    BlockOwner, BufferRequest, BufferUse, ByteRange, Collected, CompactReport, Config,
    DefragmentationStats, DeviceInfo, DeviceLevel, ElasticPoolConfig, ElasticPoolInfo,
    EstimateRequest, FallbackStats, Gauge, GraphInfo, HostInfo, InferenceMemoryEstimate,
    KvCacheConfig, KvCacheShape, KvCacheStats, KvCopy, KvSequence, LinkRequest, MemoryConfig,
    MemoryInfo, MemoryStats, ModelConfig, ModelInfo, ModelLimits, ModelRequest, ModelShape,
    MonitorConfig, MonitorPressure, PageSizes, PlacementOption, PoolConfig, PoolInfo,
    ReclaimConfig, SharedMemory, Statistics, TrackerTotals, UsageHints, VirtualPoolConfig,
    VirtualPoolInfo, VirtualPoolRequest, WakeReport, WeightsProgress,
};
pub use generic_pool::{BufferLease, GenericMemoryPool};
pub use graph::Graph;
pub use kv_cache::KvCache;
pub use layer::{Layer, LayerConfig, LayerOutput, RegisteredLayer};
pub use library::{abi_version, backends_json, leak_report_json, snapshot_json, version, Library};
pub use manager::{Fill, Manager, ManagerConfig, Memory, PinnedMemory, Transfer};
pub use mapped_range::MappedRange;
pub use mapping::HostMapping;
pub use model::{
    BuildProgress, BuildRequest, Executor, ModelSource, OnnxFile, OptimizationPass, PassCall,
    RegisteredPass,
};
pub use monitor::Monitor;
pub use placement::{Placement, PlacementCandidate, PlacementRequest};
pub use pool::Pool;
pub use pool_block::{PoolBatch, PoolBatchBlocks, PoolBlock};
pub use pool_request::{PoolRequest, PoolTag};
pub use program_failure::ProgramFailure;
pub use rejected::Rejected;
pub use sharing::StreamWork;
pub use sleep::{SleepBacking, SleepReport, SleepRequest, WakeRequest};
pub use stream::{Event, Stream};
pub use tensor::{DlPack, Tensor, TensorDescription, TensorLayout};
pub use tracker::{AllocationTracker, BufferId, BufferMetadata, TrackerView};
pub use virtual_pool::VirtualPool;
pub use weights::{
    ConvertRequest, DecodedFile, DescribedTensor, Description, Element, FileSum, FoundTensor,
    LoadMemory, LoadRequest, LoadedTensor, Order, Selection, TensorMetadata, TensorOrder,
    TensorSet, Transformation, Weights, WeightsCapabilities, WeightsDecoder, WeightsMetadata,
    WeightsSource,
};

/// The C ABI.
pub use ferrum_mem_sys as sys;
