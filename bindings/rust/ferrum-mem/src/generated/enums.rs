// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
// Not every value goes both ways.
#![allow(dead_code)]

use std::ops::BitOr;

use crate::names::named;
use crate::sys;

/// Severity of a log message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for developers of the library.
    #[default]
    Debug = sys::FERRUM_LOG_DEBUG,
    /// Normal events.
    Info = sys::FERRUM_LOG_INFO,
    /// Possible problems.
    Warning = sys::FERRUM_LOG_WARNING,
    /// Errors.
    Error = sys::FERRUM_LOG_ERROR,
}

impl LogLevel {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_log_level) -> Self {
        match raw {
            sys::FERRUM_LOG_DEBUG => Self::Debug,
            sys::FERRUM_LOG_INFO => Self::Info,
            sys::FERRUM_LOG_WARNING => Self::Warning,
            _ => Self::Error,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_log_level {
        self as i32
    }
}

named!(LogLevel, Display: Debug = "debug", Info = "info", Warning = "warning", Error = "error");

/// A backend. [`BackendType::Auto`](crate::BackendType::Auto) is only a preference. The numbers are in the order
/// of the lists. The order of preference is the same, except that the CPU comes
/// last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum BackendType {
    /// Auto: the library chooses.
    #[default]
    Auto = sys::FERRUM_BACKEND_AUTO,
    /// CPU: the host.
    Cpu = sys::FERRUM_BACKEND_CPU,
    /// CUDA: devices of NVIDIA's driver.
    Cuda = sys::FERRUM_BACKEND_CUDA,
    /// ROCm: devices of the HIP runtime.
    Rocm = sys::FERRUM_BACKEND_ROCM,
    /// Metal: devices of macOS.
    Metal = sys::FERRUM_BACKEND_METAL,
    /// OpenCL: devices of all its platforms.
    OpenCl = sys::FERRUM_BACKEND_OPENCL,
}

impl BackendType {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_backend) -> Self {
        match raw {
            sys::FERRUM_BACKEND_CPU => Self::Cpu,
            sys::FERRUM_BACKEND_CUDA => Self::Cuda,
            sys::FERRUM_BACKEND_ROCM => Self::Rocm,
            sys::FERRUM_BACKEND_METAL => Self::Metal,
            sys::FERRUM_BACKEND_OPENCL => Self::OpenCl,
            _ => Self::Auto,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_backend {
        self as i32
    }
}

named!(BackendType: Auto = "auto", Cpu = "cpu", Cuda = "cuda", Rocm = "rocm", Metal = "metal", OpenCl = "opencl");

/// Pressure levels, by the share of `total_bytes` that is not free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum PressureLevel {
    /// Below 70 %, or unknown (`total_bytes` 0).
    #[default]
    Low = sys::FERRUM_PRESSURE_LOW,
    /// From 70 %.
    Medium = sys::FERRUM_PRESSURE_MEDIUM,
    /// From 85 %.
    High = sys::FERRUM_PRESSURE_HIGH,
    /// From 95 %.
    Critical = sys::FERRUM_PRESSURE_CRITICAL,
}

impl PressureLevel {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_pressure_level) -> Self {
        match raw {
            sys::FERRUM_PRESSURE_LOW => Self::Low,
            sys::FERRUM_PRESSURE_MEDIUM => Self::Medium,
            sys::FERRUM_PRESSURE_HIGH => Self::High,
            _ => Self::Critical,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_pressure_level {
        self as i32
    }
}

named!(PressureLevel, Display: Low = "low", Medium = "medium", High = "high", Critical = "critical");

/// How a pool allocates memory from its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum Paging {
    /// Page by page, if the device supports it and the pool may hold at least 32 pages;
    /// otherwise in segments.
    #[default]
    Auto = sys::FERRUM_PAGING_AUTO,
    /// In whole segments.
    Off = sys::FERRUM_PAGING_OFF,
    /// Page by page.
    On = sys::FERRUM_PAGING_ON,
}

impl Paging {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_paging) -> Self {
        match raw {
            sys::FERRUM_PAGING_OFF => Self::Off,
            sys::FERRUM_PAGING_ON => Self::On,
            _ => Self::Auto,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_paging {
        self as i32
    }
}

named!(Paging, Display: Auto = "auto", Off = "off", On = "on");

/// Source of the segments of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum SegmentSource {
    /// The device.
    #[default]
    Plain = sys::FERRUM_SEGMENTS_PLAIN,
    /// A pool of the vendor's runtime that allocates in the order of a stream.
    /// Releasing a segment then waits only for work that uses the segment; otherwise
    /// the runtime may wait for other work too. The runtime's pool belongs to this
    /// device alone and caches nothing.
    StreamOrdered = sys::FERRUM_SEGMENTS_STREAM_ORDERED,
}

impl SegmentSource {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_segment_source) -> Self {
        match raw {
            sys::FERRUM_SEGMENTS_STREAM_ORDERED => Self::StreamOrdered,
            _ => Self::Plain,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_segment_source {
        self as i32
    }
}

named!(SegmentSource, Display: Plain = "plain", StreamOrdered = "stream_ordered");

/// State of the memory at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum BlockState {
    /// A live block.
    #[default]
    Live = sys::FERRUM_BLOCK_LIVE,
    /// A freed block that queued work may still use, or that is in quarantine.
    InFlight = sys::FERRUM_BLOCK_IN_FLIGHT,
    /// A freed block in a thread cache, or a freed page that is still mapped.
    Cached = sys::FERRUM_BLOCK_CACHED,
    /// Free memory of a pool, or free address space of a virtual pool.
    Free = sys::FERRUM_BLOCK_FREE,
    /// Memory of a pool that the pool cannot allocate.
    Unusable = sys::FERRUM_BLOCK_UNUSABLE,
    /// A range that is asleep: it has its address and no memory.
    Asleep = sys::FERRUM_BLOCK_ASLEEP,
}

impl BlockState {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_block_state) -> Self {
        match raw {
            sys::FERRUM_BLOCK_LIVE => Self::Live,
            sys::FERRUM_BLOCK_IN_FLIGHT => Self::InFlight,
            sys::FERRUM_BLOCK_CACHED => Self::Cached,
            sys::FERRUM_BLOCK_FREE => Self::Free,
            sys::FERRUM_BLOCK_ASLEEP => Self::Asleep,
            _ => Self::Unusable,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_block_state {
        self as i32
    }
}

named!(BlockState, Display: Live = "live", InFlight = "in_flight", Cached = "cached", Free = "free", Unusable = "unusable", Asleep = "asleep");

/// Purpose of a block. Each type may have a pool of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum MemoryType {
    /// Anything.
    #[default]
    General = sys::FERRUM_MEMORY_GENERAL,
    /// Tensors.
    Tensor = sys::FERRUM_MEMORY_TENSOR,
    /// The KV cache.
    Cache = sys::FERRUM_MEMORY_CACHE,
    /// Scratch memory.
    Temporary = sys::FERRUM_MEMORY_TEMPORARY,
    /// Page-locked host memory, which the system does not swap. The system limits its
    /// size; above that limit the call returns [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted), and the
    /// message states the limit. A defragmentation does not move it.
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) on a device without it.
    Pinned = sys::FERRUM_MEMORY_PINNED,
    /// Memory that the host and other devices can address: memory of the device if the
    /// host can address that, otherwise page-locked host memory.
    Mapped = sys::FERRUM_MEMORY_MAPPED,
    /// Memory that the host and devices address at the same time. The system migrates
    /// it to the processor that uses it; [`ferrum_memory_prefetch`](crate::sys::ferrum_memory_prefetch) and
    /// [`ferrum_memory_set_usage_hint`](crate::sys::ferrum_memory_set_usage_hint) announce that use. On a device whose memory the
    /// host can address, it is memory of the device. Elsewhere its address never
    /// changes, only the counters of its manager contain it, and it needs no physical
    /// memory before its first use. More of it than the memory of the device is
    /// possible, and slow. [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) on a device without
    /// [`DeviceInfo::managed_memory`](crate::DeviceInfo::managed_memory).
    Managed = sys::FERRUM_MEMORY_MANAGED,
}

impl MemoryType {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_memory_type) -> Self {
        match raw {
            sys::FERRUM_MEMORY_TENSOR => Self::Tensor,
            sys::FERRUM_MEMORY_CACHE => Self::Cache,
            sys::FERRUM_MEMORY_TEMPORARY => Self::Temporary,
            sys::FERRUM_MEMORY_PINNED => Self::Pinned,
            sys::FERRUM_MEMORY_MAPPED => Self::Mapped,
            sys::FERRUM_MEMORY_MANAGED => Self::Managed,
            _ => Self::General,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_memory_type {
        self as i32
    }
}

named!(MemoryType, Display: General = "general", Tensor = "tensor", Cache = "cache", Temporary = "temporary", Pinned = "pinned", Mapped = "mapped", Managed = "managed");

/// Kind of the physical memory of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum Backing {
    /// The memory can be mapped at another address. On the host, a child made by fork()
    /// does not inherit this memory, because parent and child would share it.
    #[default]
    Movable = sys::FERRUM_BACKING_MOVABLE,
    /// The contents are lost when a page is mapped elsewhere. On some devices mapping
    /// and unmapping are quicker. On the host, a child made by fork() has a copy of the
    /// contents at that moment.
    Private = sys::FERRUM_BACKING_PRIVATE,
    /// Movable, and [`ferrum_vpool_export`](crate::sys::ferrum_vpool_export) passes the memory to other processes. A
    /// device without [`DeviceInfo::exported_pages`](crate::DeviceInfo::exported_pages) does not support it. On the host
    /// each page is a file.
    Shareable = sys::FERRUM_BACKING_SHAREABLE,
    /// Movable, and other hardware such as network cards can read and write the memory
    /// without the host (GPUDirect RDMA) after the program has registered it there. A
    /// device without [`DeviceInfo::rdma_pages`](crate::DeviceInfo::rdma_pages) does not support it. The program has
    /// to remove that registration before it frees the range.
    Rdma = sys::FERRUM_BACKING_RDMA,
    /// Movable, and [`ferrum_vpool_export_fabric`](crate::sys::ferrum_vpool_export_fabric) passes the memory to processes on other
    /// hosts. A device without [`DeviceInfo::fabric_pages`](crate::DeviceInfo::fabric_pages) does not support it.
    Fabric = sys::FERRUM_BACKING_FABRIC,
}

impl Backing {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_backing) -> Self {
        match raw {
            sys::FERRUM_BACKING_PRIVATE => Self::Private,
            sys::FERRUM_BACKING_SHAREABLE => Self::Shareable,
            sys::FERRUM_BACKING_RDMA => Self::Rdma,
            sys::FERRUM_BACKING_FABRIC => Self::Fabric,
            _ => Self::Movable,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_backing {
        self as i32
    }
}

named!(Backing, Display: Movable = "movable", Private = "private", Shareable = "shareable", Rdma = "rdma", Fabric = "fabric");

/// The bounds of the pressure levels. Each bound belongs to the higher level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum PressureProfile {
    /// MEDIUM from 70 %, HIGH from 85 %, CRITICAL from 95 %.
    #[default]
    Standard = sys::FERRUM_PRESSURE_PROFILE_STANDARD,
    /// MEDIUM from 60 %, HIGH from 80 %, CRITICAL from 95 %.
    Early = sys::FERRUM_PRESSURE_PROFILE_EARLY,
}

impl PressureProfile {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_pressure_profile) -> Self {
        match raw {
            sys::FERRUM_PRESSURE_PROFILE_EARLY => Self::Early,
            _ => Self::Standard,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_pressure_profile {
        self as i32
    }
}

named!(PressureProfile, Display: Standard = "standard", Early = "early");

/// Reason why a device was chosen or not. A device with a reason from 16 on cannot
/// serve the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum PlacementReason {
    /// This device is chosen.
    #[default]
    Chosen = sys::FERRUM_PLACEMENT_CHOSEN,
    /// Another device has a higher score, or the same score and an earlier position.
    Outscored = sys::FERRUM_PLACEMENT_OUTSCORED,
    /// Another device is in a better tier.
    LowerTier = sys::FERRUM_PLACEMENT_LOWER_TIER,
    /// The order of preference selects another device.
    NotPreferred = sys::FERRUM_PLACEMENT_NOT_PREFERRED,
    /// Round robin selects another device now.
    NotItsTurn = sys::FERRUM_PLACEMENT_NOT_ITS_TURN,
    /// The caller's strategy chose another device, or none.
    NotTaken = sys::FERRUM_PLACEMENT_NOT_TAKEN,
    /// The state of the device is not known.
    NoInformation = sys::FERRUM_PLACEMENT_NO_INFORMATION,
    /// The device has fewer free bytes than the request needs.
    TooSmall = sys::FERRUM_PLACEMENT_TOO_SMALL,
    /// The device has no memory of the type.
    WrongMemoryType = sys::FERRUM_PLACEMENT_WRONG_MEMORY_TYPE,
    /// The device would have to release memory first, and the request is critical.
    NeedsEviction = sys::FERRUM_PLACEMENT_NEEDS_EVICTION,
    /// The device would reach [`PressureLevel::Critical`](crate::PressureLevel::Critical), which the request does not
    /// allow.
    WouldBeCritical = sys::FERRUM_PLACEMENT_WOULD_BE_CRITICAL,
    /// The original formula gives no score for the device.
    Unscored = sys::FERRUM_PLACEMENT_UNSCORED,
}

impl PlacementReason {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_placement_reason) -> Self {
        match raw {
            sys::FERRUM_PLACEMENT_OUTSCORED => Self::Outscored,
            sys::FERRUM_PLACEMENT_LOWER_TIER => Self::LowerTier,
            sys::FERRUM_PLACEMENT_NOT_PREFERRED => Self::NotPreferred,
            sys::FERRUM_PLACEMENT_NOT_ITS_TURN => Self::NotItsTurn,
            sys::FERRUM_PLACEMENT_NOT_TAKEN => Self::NotTaken,
            sys::FERRUM_PLACEMENT_NO_INFORMATION => Self::NoInformation,
            sys::FERRUM_PLACEMENT_TOO_SMALL => Self::TooSmall,
            sys::FERRUM_PLACEMENT_WRONG_MEMORY_TYPE => Self::WrongMemoryType,
            sys::FERRUM_PLACEMENT_NEEDS_EVICTION => Self::NeedsEviction,
            sys::FERRUM_PLACEMENT_WOULD_BE_CRITICAL => Self::WouldBeCritical,
            sys::FERRUM_PLACEMENT_UNSCORED => Self::Unscored,
            _ => Self::Chosen,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_placement_reason {
        self as i32
    }
}

named!(PlacementReason, Display: Chosen = "chosen", Outscored = "outscored", LowerTier = "lower_tier", NotPreferred = "not_preferred", NotItsTurn = "not_its_turn", NotTaken = "not_taken", NoInformation = "no_information", TooSmall = "too_small", WrongMemoryType = "wrong_memory_type", NeedsEviction = "needs_eviction", WouldBeCritical = "would_be_critical", Unscored = "unscored");

/// Type of the elements of a tensor or a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit floating point.
    #[default]
    F32 = sys::FERRUM_DTYPE_F32,
    /// 16-bit floating point.
    F16 = sys::FERRUM_DTYPE_F16,
    /// 16-bit floating point with the exponent of the 32-bit type (bfloat16).
    Bf16 = sys::FERRUM_DTYPE_BF16,
    /// 64-bit floating point.
    F64 = sys::FERRUM_DTYPE_F64,
    /// 8-bit floating point with 4 bits of exponent (f8_e4m3, E4M3FN).
    F8 = sys::FERRUM_DTYPE_F8,
    /// 8-bit signed integer.
    I8 = sys::FERRUM_DTYPE_I8,
    /// 8-bit unsigned integer.
    U8 = sys::FERRUM_DTYPE_U8,
    /// 16-bit signed integer.
    I16 = sys::FERRUM_DTYPE_I16,
    /// 32-bit signed integer.
    I32 = sys::FERRUM_DTYPE_I32,
    /// 64-bit signed integer.
    I64 = sys::FERRUM_DTYPE_I64,
    /// 16-bit unsigned integer.
    U16 = sys::FERRUM_DTYPE_U16,
    /// 32-bit unsigned integer.
    U32 = sys::FERRUM_DTYPE_U32,
    /// 64-bit unsigned integer.
    U64 = sys::FERRUM_DTYPE_U64,
    /// One byte, 0 or 1.
    Bool = sys::FERRUM_DTYPE_BOOL,
    /// 8-bit floating point with 5 bits of exponent.
    F8E5m2 = sys::FERRUM_DTYPE_F8_E5M2,
    /// 8-bit exponent without a mantissa, for scales.
    F8E8m0 = sys::FERRUM_DTYPE_F8_E8M0,
    /// 4-bit floating point, two in a byte.
    F4E2m1 = sys::FERRUM_DTYPE_F4_E2M1,
    /// 4-bit signed integer, two in a byte.
    I4 = sys::FERRUM_DTYPE_I4,
    /// 4-bit unsigned integer, two in a byte.
    U4 = sys::FERRUM_DTYPE_U4,
    /// Complex number of two 32-bit floating-point numbers.
    C64 = sys::FERRUM_DTYPE_C64,
    /// 6-bit floating point with 2 bits of exponent, four in three bytes.
    F6E2m3 = sys::FERRUM_DTYPE_F6_E2M3,
    /// 6-bit floating point with 3 bits of exponent, four in three bytes.
    F6E3m2 = sys::FERRUM_DTYPE_F6_E3M2,
    /// f8_e4m3 with one NaN and no negative zero.
    F8E4m3fnuz = sys::FERRUM_DTYPE_F8_E4M3FNUZ,
    /// f8_e5m2 with one NaN and no negative zero.
    F8E5m2fnuz = sys::FERRUM_DTYPE_F8_E5M2FNUZ,
    /// Blocks of GGUF: 32 elements in 18 bytes.
    Q40 = sys::FERRUM_DTYPE_Q4_0,
    /// Blocks of GGUF: 32 elements in 20 bytes.
    Q41 = sys::FERRUM_DTYPE_Q4_1,
    /// Blocks of GGUF: 32 elements in 22 bytes.
    Q50 = sys::FERRUM_DTYPE_Q5_0,
    /// Blocks of GGUF: 32 elements in 24 bytes.
    Q51 = sys::FERRUM_DTYPE_Q5_1,
    /// Blocks of GGUF: 32 elements in 34 bytes.
    Q80 = sys::FERRUM_DTYPE_Q8_0,
    /// Blocks of GGUF: 256 elements in 84 bytes.
    Q2K = sys::FERRUM_DTYPE_Q2_K,
    /// Blocks of GGUF: 256 elements in 110 bytes.
    Q3K = sys::FERRUM_DTYPE_Q3_K,
    /// Blocks of GGUF: 256 elements in 144 bytes.
    Q4K = sys::FERRUM_DTYPE_Q4_K,
    /// Blocks of GGUF: 256 elements in 176 bytes.
    Q5K = sys::FERRUM_DTYPE_Q5_K,
    /// Blocks of GGUF: 256 elements in 210 bytes.
    Q6K = sys::FERRUM_DTYPE_Q6_K,
    /// Blocks of GGUF: 256 elements in 292 bytes.
    Q8K = sys::FERRUM_DTYPE_Q8_K,
    /// Blocks of GGUF: 256 elements in 66 bytes.
    Iq2Xxs = sys::FERRUM_DTYPE_IQ2_XXS,
    /// Blocks of GGUF: 256 elements in 74 bytes.
    Iq2Xs = sys::FERRUM_DTYPE_IQ2_XS,
    /// Blocks of GGUF: 256 elements in 98 bytes.
    Iq3Xxs = sys::FERRUM_DTYPE_IQ3_XXS,
    /// Blocks of GGUF: 256 elements in 50 bytes.
    Iq1S = sys::FERRUM_DTYPE_IQ1_S,
    /// Blocks of GGUF: 32 elements in 18 bytes.
    Iq4Nl = sys::FERRUM_DTYPE_IQ4_NL,
    /// Blocks of GGUF: 256 elements in 110 bytes.
    Iq3S = sys::FERRUM_DTYPE_IQ3_S,
    /// Blocks of GGUF: 256 elements in 82 bytes.
    Iq2S = sys::FERRUM_DTYPE_IQ2_S,
    /// Blocks of GGUF: 256 elements in 136 bytes.
    Iq4Xs = sys::FERRUM_DTYPE_IQ4_XS,
    /// Blocks of GGUF: 256 elements in 56 bytes.
    Iq1M = sys::FERRUM_DTYPE_IQ1_M,
    /// Blocks of GGUF: 256 elements in 54 bytes.
    Tq10 = sys::FERRUM_DTYPE_TQ1_0,
    /// Blocks of GGUF: 256 elements in 66 bytes.
    Tq20 = sys::FERRUM_DTYPE_TQ2_0,
    /// Blocks of GGUF: 32 elements in 17 bytes.
    Mxfp4 = sys::FERRUM_DTYPE_MXFP4,
    /// Blocks of GGUF: 64 elements in 36 bytes.
    Nvfp4 = sys::FERRUM_DTYPE_NVFP4,
    /// Blocks of GGUF: 128 elements in 18 bytes.
    Q10 = sys::FERRUM_DTYPE_Q1_0,
}

impl DType {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_dtype) -> Self {
        match raw {
            sys::FERRUM_DTYPE_F16 => Self::F16,
            sys::FERRUM_DTYPE_BF16 => Self::Bf16,
            sys::FERRUM_DTYPE_F64 => Self::F64,
            sys::FERRUM_DTYPE_F8 => Self::F8,
            sys::FERRUM_DTYPE_I8 => Self::I8,
            sys::FERRUM_DTYPE_U8 => Self::U8,
            sys::FERRUM_DTYPE_I16 => Self::I16,
            sys::FERRUM_DTYPE_I32 => Self::I32,
            sys::FERRUM_DTYPE_I64 => Self::I64,
            sys::FERRUM_DTYPE_U16 => Self::U16,
            sys::FERRUM_DTYPE_U32 => Self::U32,
            sys::FERRUM_DTYPE_U64 => Self::U64,
            sys::FERRUM_DTYPE_BOOL => Self::Bool,
            sys::FERRUM_DTYPE_F8_E5M2 => Self::F8E5m2,
            sys::FERRUM_DTYPE_F8_E8M0 => Self::F8E8m0,
            sys::FERRUM_DTYPE_F4_E2M1 => Self::F4E2m1,
            sys::FERRUM_DTYPE_I4 => Self::I4,
            sys::FERRUM_DTYPE_U4 => Self::U4,
            sys::FERRUM_DTYPE_C64 => Self::C64,
            sys::FERRUM_DTYPE_F6_E2M3 => Self::F6E2m3,
            sys::FERRUM_DTYPE_F6_E3M2 => Self::F6E3m2,
            sys::FERRUM_DTYPE_F8_E4M3FNUZ => Self::F8E4m3fnuz,
            sys::FERRUM_DTYPE_F8_E5M2FNUZ => Self::F8E5m2fnuz,
            sys::FERRUM_DTYPE_Q4_0 => Self::Q40,
            sys::FERRUM_DTYPE_Q4_1 => Self::Q41,
            sys::FERRUM_DTYPE_Q5_0 => Self::Q50,
            sys::FERRUM_DTYPE_Q5_1 => Self::Q51,
            sys::FERRUM_DTYPE_Q8_0 => Self::Q80,
            sys::FERRUM_DTYPE_Q2_K => Self::Q2K,
            sys::FERRUM_DTYPE_Q3_K => Self::Q3K,
            sys::FERRUM_DTYPE_Q4_K => Self::Q4K,
            sys::FERRUM_DTYPE_Q5_K => Self::Q5K,
            sys::FERRUM_DTYPE_Q6_K => Self::Q6K,
            sys::FERRUM_DTYPE_Q8_K => Self::Q8K,
            sys::FERRUM_DTYPE_IQ2_XXS => Self::Iq2Xxs,
            sys::FERRUM_DTYPE_IQ2_XS => Self::Iq2Xs,
            sys::FERRUM_DTYPE_IQ3_XXS => Self::Iq3Xxs,
            sys::FERRUM_DTYPE_IQ1_S => Self::Iq1S,
            sys::FERRUM_DTYPE_IQ4_NL => Self::Iq4Nl,
            sys::FERRUM_DTYPE_IQ3_S => Self::Iq3S,
            sys::FERRUM_DTYPE_IQ2_S => Self::Iq2S,
            sys::FERRUM_DTYPE_IQ4_XS => Self::Iq4Xs,
            sys::FERRUM_DTYPE_IQ1_M => Self::Iq1M,
            sys::FERRUM_DTYPE_TQ1_0 => Self::Tq10,
            sys::FERRUM_DTYPE_TQ2_0 => Self::Tq20,
            sys::FERRUM_DTYPE_MXFP4 => Self::Mxfp4,
            sys::FERRUM_DTYPE_NVFP4 => Self::Nvfp4,
            sys::FERRUM_DTYPE_Q1_0 => Self::Q10,
            _ => Self::F32,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_dtype {
        self as i32
    }
}

named!(DType, Display: F32 = "f32", F16 = "f16", Bf16 = "bf16", F64 = "f64", F8 = "f8", I8 = "i8", U8 = "u8", I16 = "i16", I32 = "i32", I64 = "i64", U16 = "u16", U32 = "u32", U64 = "u64", Bool = "bool", F8E5m2 = "f8_e5m2", F8E8m0 = "f8_e8m0", F4E2m1 = "f4_e2m1", I4 = "i4", U4 = "u4", C64 = "c64", F6E2m3 = "f6_e2m3", F6E3m2 = "f6_e3m2", F8E4m3fnuz = "f8_e4m3fnuz", F8E5m2fnuz = "f8_e5m2fnuz", Q40 = "q4_0", Q41 = "q4_1", Q50 = "q5_0", Q51 = "q5_1", Q80 = "q8_0", Q2K = "q2_k", Q3K = "q3_k", Q4K = "q4_k", Q5K = "q5_k", Q6K = "q6_k", Q8K = "q8_k", Iq2Xxs = "iq2_xxs", Iq2Xs = "iq2_xs", Iq3Xxs = "iq3_xxs", Iq1S = "iq1_s", Iq4Nl = "iq4_nl", Iq3S = "iq3_s", Iq2S = "iq2_s", Iq4Xs = "iq4_xs", Iq1M = "iq1_m", Tq10 = "tq1_0", Tq20 = "tq2_0", Mxfp4 = "mxfp4", Nvfp4 = "nvfp4", Q10 = "q1_0");

/// Ready-made settings. Each lists fraction, fallback, `min_free_bytes`, free buffers
/// of a bucket, and of all buckets together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum MemoryPreset {
    /// 0.9, fallback, 512 MiB, 8, 1 GiB: `FERRUM_MEMORY_CONFIG_INIT`.
    #[default]
    Default = sys::FERRUM_MEMORY_PRESET_DEFAULT,
    /// 0.95, fallback, 256 MiB, 4, 512 MiB: the most memory.
    Inference = sys::FERRUM_MEMORY_PRESET_INFERENCE,
    /// 0.8, no fallback, 1 GiB, 16, 4 GiB: an allocation fails when the device has no
    /// room, instead of becoming slow.
    Training = sys::FERRUM_MEMORY_PRESET_TRAINING,
    /// 0.7, fallback, 128 MiB, 2, 64 MiB: for devices with little memory.
    Constrained = sys::FERRUM_MEMORY_PRESET_CONSTRAINED,
}

impl MemoryPreset {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_memory_preset) -> Self {
        match raw {
            sys::FERRUM_MEMORY_PRESET_INFERENCE => Self::Inference,
            sys::FERRUM_MEMORY_PRESET_TRAINING => Self::Training,
            sys::FERRUM_MEMORY_PRESET_CONSTRAINED => Self::Constrained,
            _ => Self::Default,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_memory_preset {
        self as i32
    }
}

named!(MemoryPreset, Display: Default = "default", Inference = "inference", Training = "training", Constrained = "constrained");

/// Side of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum BufferLocation {
    /// On the device.
    #[default]
    Gpu = sys::FERRUM_LOCATION_GPU,
    /// On the host.
    Cpu = sys::FERRUM_LOCATION_CPU,
}

impl BufferLocation {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_buffer_location) -> Self {
        match raw {
            sys::FERRUM_LOCATION_CPU => Self::Cpu,
            _ => Self::Gpu,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_buffer_location {
        self as i32
    }
}

named!(BufferLocation: Gpu = "gpu", Cpu = "cpu");

/// Allowed sides of a new buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum BufferPlace {
    /// On the device, or on the host when the device has no room.
    #[default]
    Either = sys::FERRUM_PLACE_EITHER,
    /// On the device only.
    Gpu = sys::FERRUM_PLACE_GPU,
    /// On the host; it does not count as a fallback.
    Cpu = sys::FERRUM_PLACE_CPU,
}

impl BufferPlace {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_buffer_place) -> Self {
        match raw {
            sys::FERRUM_PLACE_GPU => Self::Gpu,
            sys::FERRUM_PLACE_CPU => Self::Cpu,
            _ => Self::Either,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_buffer_place {
        self as i32
    }
}

named!(BufferPlace, Display: Either = "either", Gpu = "gpu", Cpu = "cpu");

/// How a program uses a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum HostAccess {
    /// Reads only.
    #[default]
    ReadOnly = sys::FERRUM_HOST_READ_ONLY,
    /// Writes only. Bytes that are not written have no defined value afterwards.
    WriteOnly = sys::FERRUM_HOST_WRITE_ONLY,
    /// Reads and writes.
    ReadWrite = sys::FERRUM_HOST_READ_WRITE,
}

impl HostAccess {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_host_access) -> Self {
        match raw {
            sys::FERRUM_HOST_WRITE_ONLY => Self::WriteOnly,
            sys::FERRUM_HOST_READ_WRITE => Self::ReadWrite,
            _ => Self::ReadOnly,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_host_access {
        self as i32
    }
}

named!(HostAccess, Display: ReadOnly = "read_only", WriteOnly = "write_only", ReadWrite = "read_write");

/// Expected use of a block. There are three groups of hints: order, direction and
/// lifetime. A block has one hint of each group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum UsageHint {
    /// No hint. Setting it removes all other hints.
    #[default]
    None = sys::FERRUM_USAGE_NONE,
    /// Order: sequential accesses.
    Sequential = sys::FERRUM_USAGE_SEQUENTIAL,
    /// Order: accesses at random places.
    Random = sys::FERRUM_USAGE_RANDOM,
    /// Direction: mostly read.
    ReadMostly = sys::FERRUM_USAGE_READ_MOSTLY,
    /// Direction: mostly written.
    WriteMostly = sys::FERRUM_USAGE_WRITE_MOSTLY,
    /// Lifetime: temporary; it may be released early.
    Temporary = sys::FERRUM_USAGE_TEMPORARY,
    /// Lifetime: to be kept resident.
    Resident = sys::FERRUM_USAGE_RESIDENT,
}

impl UsageHint {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_usage_hint) -> Self {
        match raw {
            sys::FERRUM_USAGE_SEQUENTIAL => Self::Sequential,
            sys::FERRUM_USAGE_RANDOM => Self::Random,
            sys::FERRUM_USAGE_READ_MOSTLY => Self::ReadMostly,
            sys::FERRUM_USAGE_WRITE_MOSTLY => Self::WriteMostly,
            sys::FERRUM_USAGE_TEMPORARY => Self::Temporary,
            sys::FERRUM_USAGE_RESIDENT => Self::Resident,
            _ => Self::None,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_usage_hint {
        self as i32
    }
}

named!(UsageHint, Display: None = "none", Sequential = "sequential", Random = "random", ReadMostly = "read_mostly", WriteMostly = "write_mostly", Temporary = "temporary", Resident = "resident");

/// Observed pattern of the latest accesses to a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum AccessPattern {
    /// Too few accesses.
    #[default]
    Unknown = sys::FERRUM_PATTERN_UNKNOWN,
    /// Sequential accesses.
    Sequential = sys::FERRUM_PATTERN_SEQUENTIAL,
    /// Accesses at random places.
    Random = sys::FERRUM_PATTERN_RANDOM,
    /// Accesses that come in clusters.
    Burst = sys::FERRUM_PATTERN_BURST,
    /// More than one of these.
    Mixed = sys::FERRUM_PATTERN_MIXED,
}

impl AccessPattern {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_access_pattern) -> Self {
        match raw {
            sys::FERRUM_PATTERN_SEQUENTIAL => Self::Sequential,
            sys::FERRUM_PATTERN_RANDOM => Self::Random,
            sys::FERRUM_PATTERN_BURST => Self::Burst,
            sys::FERRUM_PATTERN_MIXED => Self::Mixed,
            _ => Self::Unknown,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_access_pattern {
        self as i32
    }
}

named!(AccessPattern, Display: Unknown = "unknown", Sequential = "sequential", Random = "random", Burst = "burst", Mixed = "mixed");

/// Where a source is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum WeightsSourceKind {
    /// A file, the index of several files, or a folder.
    #[default]
    File = sys::FERRUM_WEIGHTS_SOURCE_FILE,
    /// The bytes of a file in memory of the caller.
    Memory = sys::FERRUM_WEIGHTS_SOURCE_MEMORY,
    /// A web address. The library does not use the network, so the call returns
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    Url = sys::FERRUM_WEIGHTS_SOURCE_URL,
    /// A model of the Hugging Face hub. The call returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    HuggingFace = sys::FERRUM_WEIGHTS_SOURCE_HUGGING_FACE,
    /// An object of an S3 store. The call returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    S3 = sys::FERRUM_WEIGHTS_SOURCE_S3,
}

impl WeightsSourceKind {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_weights_source_kind) -> Self {
        match raw {
            sys::FERRUM_WEIGHTS_SOURCE_MEMORY => Self::Memory,
            sys::FERRUM_WEIGHTS_SOURCE_URL => Self::Url,
            sys::FERRUM_WEIGHTS_SOURCE_HUGGING_FACE => Self::HuggingFace,
            sys::FERRUM_WEIGHTS_SOURCE_S3 => Self::S3,
            _ => Self::File,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_weights_source_kind {
        self as i32
    }
}

named!(WeightsSourceKind, Display: File = "file", Memory = "memory", Url = "url", HuggingFace = "hugging_face", S3 = "s3");

/// The format of a file of tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum WeightsFormat {
    /// The library detects the format from the content of the file.
    #[default]
    Any = sys::FERRUM_WEIGHTS_FORMAT_ANY,
    /// Files of torch.save.
    Pytorch = sys::FERRUM_WEIGHTS_FORMAT_PYTORCH,
    /// Files of safetensors.
    Safetensors = sys::FERRUM_WEIGHTS_FORMAT_SAFETENSORS,
    /// Files of NumPy: npy and npz.
    Numpy = sys::FERRUM_WEIGHTS_FORMAT_NUMPY,
    /// One tensor without a header.
    Raw = sys::FERRUM_WEIGHTS_FORMAT_RAW,
    /// The initialisers of an ONNX model.
    Onnx = sys::FERRUM_WEIGHTS_FORMAT_ONNX,
    /// Files of GGUF.
    Gguf = sys::FERRUM_WEIGHTS_FORMAT_GGUF,
    /// The format of a decoder of the program.
    Custom = sys::FERRUM_WEIGHTS_FORMAT_CUSTOM,
}

impl WeightsFormat {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_weights_format) -> Self {
        match raw {
            sys::FERRUM_WEIGHTS_FORMAT_PYTORCH => Self::Pytorch,
            sys::FERRUM_WEIGHTS_FORMAT_SAFETENSORS => Self::Safetensors,
            sys::FERRUM_WEIGHTS_FORMAT_NUMPY => Self::Numpy,
            sys::FERRUM_WEIGHTS_FORMAT_RAW => Self::Raw,
            sys::FERRUM_WEIGHTS_FORMAT_ONNX => Self::Onnx,
            sys::FERRUM_WEIGHTS_FORMAT_GGUF => Self::Gguf,
            sys::FERRUM_WEIGHTS_FORMAT_CUSTOM => Self::Custom,
            _ => Self::Any,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_weights_format {
        self as i32
    }
}

named!(WeightsFormat, Display: Any = "any", Pytorch = "pytorch", Safetensors = "safetensors", Numpy = "numpy", Raw = "raw", Onnx = "onnx", Gguf = "gguf", Custom = "custom");

/// The kind of a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum ComputeType {
    /// Not in this library: [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    #[default]
    Candle = sys::FERRUM_COMPUTE_CANDLE,
    /// ONNX Runtime, whose library is loaded when it is opened. It also runs files of
    /// ONNX with operators that this library lacks. Without its library:
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    OnnxRuntime = sys::FERRUM_COMPUTE_ONNX_RUNTIME,
    /// Not in this library: [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    Tensorrt = sys::FERRUM_COMPUTE_TENSORRT,
    /// Not in this library: [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    Metal = sys::FERRUM_COMPUTE_METAL,
    /// The CPU engine of this library.
    Cpu = sys::FERRUM_COMPUTE_CPU,
    /// A backend that the program has registered with [`ferrum_compute_register`](crate::sys::ferrum_compute_register).
    Custom = sys::FERRUM_COMPUTE_CUSTOM,
}

impl ComputeType {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_compute_type) -> Self {
        match raw {
            sys::FERRUM_COMPUTE_ONNX_RUNTIME => Self::OnnxRuntime,
            sys::FERRUM_COMPUTE_TENSORRT => Self::Tensorrt,
            sys::FERRUM_COMPUTE_METAL => Self::Metal,
            sys::FERRUM_COMPUTE_CPU => Self::Cpu,
            sys::FERRUM_COMPUTE_CUSTOM => Self::Custom,
            _ => Self::Candle,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_compute_type {
        self as i32
    }
}

named!(ComputeType, Display: Candle = "candle", OnnxRuntime = "onnx_runtime", Tensorrt = "tensorrt", Metal = "metal", Cpu = "cpu", Custom = "custom");

/// When the memory of a backend is taken from the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum ComputeGrowth {
    /// The whole pool when the backend is opened; it does not grow.
    #[default]
    Static = sys::FERRUM_COMPUTE_GROWTH_STATIC,
    /// When an allocation needs it.
    Dynamic = sys::FERRUM_COMPUTE_GROWTH_DYNAMIC,
    /// In quarters of the pool, the first one when the backend is opened.
    Incremental = sys::FERRUM_COMPUTE_GROWTH_INCREMENTAL,
}

impl ComputeGrowth {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_compute_growth) -> Self {
        match raw {
            sys::FERRUM_COMPUTE_GROWTH_DYNAMIC => Self::Dynamic,
            sys::FERRUM_COMPUTE_GROWTH_INCREMENTAL => Self::Incremental,
            _ => Self::Static,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_compute_growth {
        self as i32
    }
}

named!(ComputeGrowth, Display: Static = "static", Dynamic = "dynamic", Incremental = "incremental");

/// A phase of a build. The phases follow each other in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum BuildPhase {
    /// The configuration and the definition are checked.
    #[default]
    Validation = sys::FERRUM_BUILD_VALIDATION,
    /// The headers of the weights, and their bytes, are read.
    WeightLoading = sys::FERRUM_BUILD_WEIGHT_LOADING,
    /// The model gets its place in the elastic pool.
    ModelInitialization = sys::FERRUM_BUILD_MODEL_INITIALIZATION,
    /// The operations are prepared.
    LayerConstruction = sys::FERRUM_BUILD_LAYER_CONSTRUCTION,
    /// The parameters are connected with tensors of the weights.
    ParameterBinding = sys::FERRUM_BUILD_PARAMETER_BINDING,
    /// Passes run, and the parameters are placed and packed.
    Optimization = sys::FERRUM_BUILD_OPTIMIZATION,
    /// The model runs once.
    FinalValidation = sys::FERRUM_BUILD_FINAL_VALIDATION,
    /// What only the build needed is released.
    Finalization = sys::FERRUM_BUILD_FINALIZATION,
}

impl BuildPhase {
    /// Converts a value of C. An unknown value becomes the variant of the last arm.
    pub(crate) fn from_raw(raw: sys::ferrum_build_phase) -> Self {
        match raw {
            sys::FERRUM_BUILD_WEIGHT_LOADING => Self::WeightLoading,
            sys::FERRUM_BUILD_MODEL_INITIALIZATION => Self::ModelInitialization,
            sys::FERRUM_BUILD_LAYER_CONSTRUCTION => Self::LayerConstruction,
            sys::FERRUM_BUILD_PARAMETER_BINDING => Self::ParameterBinding,
            sys::FERRUM_BUILD_OPTIMIZATION => Self::Optimization,
            sys::FERRUM_BUILD_FINAL_VALIDATION => Self::FinalValidation,
            sys::FERRUM_BUILD_FINALIZATION => Self::Finalization,
            _ => Self::Validation,
        }
    }

    /// The value in C.
    pub(crate) fn to_raw(self) -> sys::ferrum_build_phase {
        self as i32
    }
}

named!(BuildPhase, Display: Validation = "validation", WeightLoading = "weight_loading", ModelInitialization = "model_initialization", LayerConstruction = "layer_construction", ParameterBinding = "parameter_binding", Optimization = "optimization", FinalValidation = "final_validation", Finalization = "finalization");

/// Sum of [`DebugFlags`](crate::DebugFlags) flags; 0: none. `FERRUM_DEBUG` in the environment adds
/// flags for all pools. Every call of a pool in debug mode bypasses the thread
/// caches.
///
/// `|` joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DebugFlags(u32);

impl DebugFlags {
    /// None of it.
    pub const NONE: Self = Self(0);
    /// Puts a red zone before and after every block, and checks both when the block is
    /// freed.
    pub const RED_ZONES: Self = Self(sys::FERRUM_DEBUG_RED_ZONES);
    /// Overwrites blocks when they are allocated and when they are freed.
    pub const POISON: Self = Self(sys::FERRUM_DEBUG_POISON);
    /// Keeps freed blocks for a while and checks them for late writes.
    pub const QUARANTINE: Self = Self(sys::FERRUM_DEBUG_QUARANTINE);
    /// Records the call sites of allocation and free of each block, for reports.
    pub const CALL_SITES: Self = Self(sys::FERRUM_DEBUG_CALL_SITES);
    /// All debug flags.
    pub const ALL: Self = Self(sys::FERRUM_DEBUG_ALL);

    /// The flags as C has them.
    pub fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

impl BitOr for DebugFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Size of the freed small and medium blocks that each thread may keep for its
/// own next calls: [`ThreadCache::Auto`](crate::ThreadCache::Auto), 0 (off), or bytes. The counters
/// count these blocks as cached. The library takes them back before memory runs
/// out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThreadCache {
    /// The library chooses.
    #[default]
    Auto,
    /// Nothing.
    Off,
    /// So many.
    Bytes(u64),
}

impl ThreadCache {
    pub(crate) fn from_raw(raw: u64) -> Self {
        match raw {
            sys::FERRUM_THREAD_CACHE_AUTO => Self::Auto,
            sys::FERRUM_THREAD_CACHE_OFF => Self::Off,
            number => Self::Bytes(number),
        }
    }

    pub(crate) fn to_raw(self) -> u64 {
        match self {
            Self::Auto => sys::FERRUM_THREAD_CACHE_AUTO,
            Self::Off => sys::FERRUM_THREAD_CACHE_OFF,
            Self::Bytes(number) => number,
        }
    }
}

/// Number of idle pages that stay mapped for the next allocations: a number,
/// [`ReadyPages::Auto`](crate::ReadyPages::Auto) (8, but at most one for each 64 pages in use), or
/// [`ReadyPages::All`](crate::ReadyPages::All) (idle pages are released only on request).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadyPages {
    /// The library chooses.
    #[default]
    Auto,
    /// All idle pages stay in the pool. They are released only on request.
    All,
    /// So many.
    Count(u32),
}

impl ReadyPages {
    pub(crate) fn from_raw(raw: u32) -> Self {
        match raw {
            sys::FERRUM_READY_PAGES_AUTO => Self::Auto,
            sys::FERRUM_READY_PAGES_ALL => Self::All,
            number => Self::Count(number),
        }
    }

    pub(crate) fn to_raw(self) -> u32 {
        match self {
            Self::Auto => sys::FERRUM_READY_PAGES_AUTO,
            Self::All => sys::FERRUM_READY_PAGES_ALL,
            Self::Count(number) => number,
        }
    }
}

/// Placement strategy. All strategies keep their tables
/// outside the memory that they manage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The smallest free run that is large enough; uses the expected lifetime of a request.
    BestFit,
    /// Small blocks in slabs of size classes, large ones as `best_fit`.
    SizeClass,
    /// Two-level segregated fit: constant time in the worst case.
    Tlsf,
    /// Powers of two.
    Buddy,
    /// One block after the other; all memory is free again when the last block is freed.
    Arena,
    /// Blocks of `fixed_block_bytes`, such as KV blocks, placed so that pages of `page_bytes` become empty.
    Fixed,
}

named!(Strategy, Display: BestFit = "best_fit", SizeClass = "size_class", Tlsf = "tlsf", Buddy = "buddy", Arena = "arena", Fixed = "fixed");

/// Type of the elements of the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EstimateDType {
    /// 32-bit floating point.
    F32,
    /// 16-bit floating point.
    F16,
    /// 16-bit floating point with the exponent of "f32".
    Bf16,
    /// 8-bit floating point.
    F8,
    /// 8-bit integers, in groups of 32 with a scale.
    Int8,
    /// 4-bit integers, in groups of 32 with a scale.
    Int4,
}

named!(EstimateDType, Display: F32 = "f32", F16 = "f16", Bf16 = "bf16", F8 = "f8", Int8 = "int8", Int4 = "int4");

/// Every strategy except `best_fit_original` first removes devices that cannot serve
/// the request: devices whose state is not known, devices without the memory type,
/// devices with fewer free bytes than the size (plus the largest padding, where the
/// request has a larger alignment than every block), and devices that the flags
/// exclude. It then keeps the devices of the best tier and chooses one of them;
/// among equal devices the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlacementStrategy {
    /// The largest 1 - waste - |use - 0.5| \* 0.5 + 0.2 / rank, with waste = (free - size) / total, use = used / total, and rank the position among the preferred devices (without one the last term is 0), in single precision; with unknown capacity waste and use are 0.
    BestFit,
    /// The same formula over every device with enough free bytes, with its known defects: it fills a device up to the last byte and never chooses one of unknown capacity.
    BestFitOriginal,
    /// The largest free share after the request, in millionths, plus 200000 / rank.
    Spread,
    /// The smallest free share, with the same bonus.
    Pack,
    /// The next device in the list; among the preferred devices, if one of them can serve the request.
    RoundRobin,
}

named!(PlacementStrategy, Display: BestFit = "best_fit", BestFitOriginal = "best_fit_original", Spread = "spread", Pack = "pack", RoundRobin = "round_robin");
