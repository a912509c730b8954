// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.

#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_void};
use core::mem::{align_of, offset_of, size_of};

/// Status of a call: one of the codes of FERRUM_STATUS_TABLE.
pub type ferrum_status = i32;

/// An address in a device's memory; on a host device also a pointer.
pub type ferrum_address = u64;

/// Severity of a log message.
pub type ferrum_log_level = i32;

/// A backend. FERRUM_BACKEND_AUTO is only a preference. The numbers are in the order
/// of the lists. The order of preference is the same, except that the CPU comes
/// last.
pub type ferrum_backend = i32;

/// Pressure levels, by the share of total_bytes that is not free.
pub type ferrum_pressure_level = i32;

/// How a pool allocates memory from its device.
pub type ferrum_paging = i32;

/// Source of the segments of a pool.
pub type ferrum_segment_source = i32;

/// State of the memory at an address.
pub type ferrum_block_state = i32;

/// Purpose of a block. Each type may have a pool of its own.
pub type ferrum_memory_type = i32;

/// Kind of the physical memory of pages.
pub type ferrum_backing = i32;

/// Place of the contents of ranges that are asleep.
pub type ferrum_sleep_backing = i32;

/// The bounds of the pressure levels. Each bound belongs to the higher level.
pub type ferrum_pressure_profile = i32;

/// Reason why a device was chosen or not. A device with a reason from 16 on cannot
/// serve the request.
pub type ferrum_placement_reason = i32;

/// Type of the elements of a tensor or a buffer.
pub type ferrum_dtype = i32;

/// Ready-made settings. Each lists fraction, fallback, min_free_bytes, free buffers
/// of a bucket, and of all buckets together.
pub type ferrum_memory_preset = i32;

/// Side of a buffer.
pub type ferrum_buffer_location = i32;

/// Allowed sides of a new buffer.
pub type ferrum_buffer_place = i32;

/// How a program uses a mapping.
pub type ferrum_host_access = i32;

/// Expected use of a block. There are three groups of hints: order, direction and
/// lifetime. A block has one hint of each group.
pub type ferrum_usage_hint = i32;

/// Observed pattern of the latest accesses to a block.
pub type ferrum_access_pattern = i32;

/// Where a source is.
pub type ferrum_weights_source_kind = i32;

/// The format of a file of tensors.
pub type ferrum_weights_format = i32;

/// The kind of a backend.
pub type ferrum_compute_type = i32;

/// When the memory of a backend is taken from the device.
pub type ferrum_compute_growth = i32;

/// A phase of a build. The phases follow each other in this order.
pub type ferrum_build_phase = i32;

/// success
pub const FERRUM_OK: ferrum_status = 0;
/// a defect of the library
pub const FERRUM_ERROR_INTERNAL: ferrum_status = -1;
/// the library stopped after a defect
pub const FERRUM_ERROR_POISONED: ferrum_status = -2;
/// called in a forked child
pub const FERRUM_ERROR_FORKED: ferrum_status = -3;
/// ferrum_init has not been called
pub const FERRUM_ERROR_NOT_INITIALIZED: ferrum_status = -4;
/// not possible in the present state
pub const FERRUM_ERROR_INVALID_STATE: ferrum_status = -5;
/// a required pointer is NULL
pub const FERRUM_ERROR_NULL_POINTER: ferrum_status = -6;
/// not a live handle of this kind
pub const FERRUM_ERROR_INVALID_HANDLE: ferrum_status = -7;
/// an argument has no meaning
pub const FERRUM_ERROR_INVALID_ARGUMENT: ferrum_status = -8;
/// a size is zero or not possible
pub const FERRUM_ERROR_INVALID_SIZE: ferrum_status = -9;
/// an alignment is not a power of two, or is out of bounds
pub const FERRUM_ERROR_INVALID_ALIGNMENT: ferrum_status = -10;
/// a struct's size, reserved field or tail is wrong
pub const FERRUM_ERROR_INVALID_STRUCT: ferrum_status = -11;
/// an offset or range is out of bounds
pub const FERRUM_ERROR_INVALID_OFFSET: ferrum_status = -12;
/// not the address of a live block
pub const FERRUM_ERROR_INVALID_ADDRESS: ferrum_status = -13;
/// a configuration contradicts itself
pub const FERRUM_ERROR_INVALID_CONFIG: ferrum_status = -14;
/// input is malformed
pub const FERRUM_ERROR_INVALID_FORMAT: ferrum_status = -15;
/// arithmetic on the arguments overflows
pub const FERRUM_ERROR_OVERFLOW: ferrum_status = -16;
/// the caller's buffer is too small
pub const FERRUM_ERROR_BUFFER_TOO_SMALL: ferrum_status = -17;
/// not enough memory
pub const FERRUM_ERROR_OUT_OF_MEMORY: ferrum_status = -18;
/// not enough address space
pub const FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY: ferrum_status = -19;
/// not enough physical memory under the limit
pub const FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY: ferrum_status = -20;
/// a resource other than memory is used up
pub const FERRUM_ERROR_RESOURCE_EXHAUSTED: ferrum_status = -21;
/// the block is free already
pub const FERRUM_ERROR_DOUBLE_FREE: ferrum_status = -22;
/// in use
pub const FERRUM_ERROR_BUSY: ferrum_status = -23;
/// not done in time
pub const FERRUM_ERROR_TIMEOUT: ferrum_status = -24;
/// cancelled
pub const FERRUM_ERROR_CANCELLED: ferrum_status = -25;
/// not found
pub const FERRUM_ERROR_NOT_FOUND: ferrum_status = -26;
/// exists already
pub const FERRUM_ERROR_ALREADY_EXISTS: ferrum_status = -27;
/// no such device
pub const FERRUM_ERROR_DEVICE_NOT_FOUND: ferrum_status = -28;
/// the backend cannot be used here
pub const FERRUM_ERROR_BACKEND_UNAVAILABLE: ferrum_status = -29;
/// the device or build lacks this capability
pub const FERRUM_ERROR_UNSUPPORTED: ferrum_status = -30;
/// the device is of the wrong kind for this
pub const FERRUM_ERROR_UNSUPPORTED_DEVICE: ferrum_status = -31;
/// the device's runtime reported an error
pub const FERRUM_ERROR_DEVICE: ferrum_status = -32;
/// the device is lost
pub const FERRUM_ERROR_DEVICE_LOST: ferrum_status = -33;
/// mapping memory failed
pub const FERRUM_ERROR_MAPPING_FAILED: ferrum_status = -34;
/// unmapping memory failed
pub const FERRUM_ERROR_UNMAPPING_FAILED: ferrum_status = -35;
/// mapped already
pub const FERRUM_ERROR_ALREADY_MAPPED: ferrum_status = -36;
/// not mapped
pub const FERRUM_ERROR_NOT_MAPPED: ferrum_status = -37;
/// not a page size of this device
pub const FERRUM_ERROR_INVALID_PAGE_SIZE: ferrum_status = -38;
/// no such model
pub const FERRUM_ERROR_MODEL_NOT_FOUND: ferrum_status = -39;
/// the model exists already
pub const FERRUM_ERROR_MODEL_ALREADY_EXISTS: ferrum_status = -40;
/// the model cannot be used
pub const FERRUM_ERROR_MODEL: ferrum_status = -41;
/// reading or writing failed
pub const FERRUM_ERROR_IO: ferrum_status = -42;
/// not permitted
pub const FERRUM_ERROR_PERMISSION_DENIED: ferrum_status = -43;
/// the network failed
pub const FERRUM_ERROR_NETWORK: ferrum_status = -44;
/// not authenticated
pub const FERRUM_ERROR_AUTHENTICATION: ferrum_status = -45;
/// called too often
pub const FERRUM_ERROR_RATE_LIMITED: ferrum_status = -46;
/// a value cannot be written or read as text
pub const FERRUM_ERROR_SERIALIZATION: ferrum_status = -47;
/// bytes beside a block, or of a freed block, were overwritten
pub const FERRUM_ERROR_CORRUPTED: ferrum_status = -48;

/// Version of the package.
pub const FERRUM_VERSION_MAJOR: u32 = 0;
pub const FERRUM_VERSION_MINOR: u32 = 1;
pub const FERRUM_VERSION_PATCH: u32 = 0;
/// Version of the binary interface. It grows by one with the first addition after a
/// recorded baseline (docs/abi.md). A library whose ferrum_abi_version() is at least
/// the header's can serve a program that was built with that header, as long as the
/// SONAME is the same.
pub const FERRUM_ABI_VERSION: u32 = 20;
/// Timeout that waits without an end.
pub const FERRUM_WAIT_FOREVER: u64 = u64::MAX;
/// Flag of the destroy, close and shutdown calls: end the object although it is in
/// use. The call also frees everything that uses the object, and logs it. Handles of
/// freed objects become invalid.
pub const FERRUM_FORCE: u32 = 1;
/// Accept a host_memory_bytes above the memory of the machine.
pub const FERRUM_CONFIG_HOST_MEMORY_FORCED: u32 = 1;
/// Query vendor libraries for devices in this process, instead of in short-lived
/// processes of their own. Use it where the system forbids starting programs. A
/// broken driver may then end this process. FERRUM_PROBE=in_process in the
/// environment has the same effect.
pub const FERRUM_CONFIG_PROBE_IN_PROCESS: u32 = 2;
/// Do not add SA_ONSTACK to signal handlers; see ferrum_init. The program then has
/// to make sure that each handler has the flag. No handler is installed for SIGBUS
/// either, so the use of a page that a mapped file of weights has lost is a signal.
/// FERRUM_SIGNAL_HANDLERS=leave in the environment has the same effect.
pub const FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS: u32 = 4;
/// Flags of the numbers in ferrum_error_info that a failure states.
pub const FERRUM_FACT_OFFSET_BYTES: u32 = 1;
pub const FERRUM_FACT_SIZE_BYTES: u32 = 2;
pub const FERRUM_FACT_CAPACITY_BYTES: u32 = 4;
pub const FERRUM_FACT_PAGE_BYTES: u32 = 8;
pub const FERRUM_FACT_REQUESTED_BYTES: u32 = 16;
pub const FERRUM_FACT_AVAILABLE_BYTES: u32 = 32;
pub const FERRUM_FACT_LARGEST_FREE_BYTES: u32 = 64;
/// Details for developers of the library.
pub const FERRUM_LOG_DEBUG: ferrum_log_level = 0;
/// Normal events.
pub const FERRUM_LOG_INFO: ferrum_log_level = 1;
/// Possible problems.
pub const FERRUM_LOG_WARNING: ferrum_log_level = 2;
/// Errors.
pub const FERRUM_LOG_ERROR: ferrum_log_level = 3;
/// Auto: the library chooses.
pub const FERRUM_BACKEND_AUTO: ferrum_backend = 0;
/// CPU: the host.
pub const FERRUM_BACKEND_CPU: ferrum_backend = 1;
/// CUDA: devices of NVIDIA's driver.
pub const FERRUM_BACKEND_CUDA: ferrum_backend = 2;
/// ROCm: devices of the HIP runtime.
pub const FERRUM_BACKEND_ROCM: ferrum_backend = 3;
/// Metal: devices of macOS.
pub const FERRUM_BACKEND_METAL: ferrum_backend = 4;
/// OpenCL: devices of all its platforms.
pub const FERRUM_BACKEND_OPENCL: ferrum_backend = 5;
/// An address of the device is also a pointer of the host.
pub const FERRUM_CAPABILITY_HOST_ADDRESSABLE: u64 = 1;
/// The device copies directly from other devices of its backend.
pub const FERRUM_CAPABILITY_PEER: u64 = 2;
/// Virtual and elastic pools work on the device.
pub const FERRUM_CAPABILITY_VIRTUAL_MEMORY: u64 = 4;
/// The device supports FERRUM_MEMORY_PINNED and FERRUM_MEMORY_MAPPED, within the
/// limits of the system.
pub const FERRUM_CAPABILITY_PINNED_MEMORY: u64 = 8;
/// ferrum_manager_create_mapping() works between the device and others of its backend.
pub const FERRUM_CAPABILITY_LINKED_MEMORY: u64 = 16;
/// Virtual pools can have FERRUM_BACKING_SHAREABLE, and ferrum_manager_import_pages() works.
pub const FERRUM_CAPABILITY_EXPORTED_PAGES: u64 = 32;
/// ferrum_device_share_memory() and ferrum_event_share() work between processes.
pub const FERRUM_CAPABILITY_SHARED_MEMORY: u64 = 64;
/// ferrum_pool_capture_begin() works: streams can be captured.
pub const FERRUM_CAPABILITY_CAPTURE: u64 = 128;
/// FERRUM_MEMORY_MANAGED is memory that migrates to the processor that uses it. On
/// a device without this capability, managed memory is memory of the device itself
/// if the device is FERRUM_CAPABILITY_HOST_ADDRESSABLE; otherwise it is not
/// supported.
pub const FERRUM_CAPABILITY_MANAGED_MEMORY: u64 = 256;
/// ferrum_manager_adopt() page-locks memory of the process.
pub const FERRUM_CAPABILITY_REGISTERED_MEMORY: u64 = 512;
/// Pools can have FERRUM_SEGMENTS_STREAM_ORDERED.
pub const FERRUM_CAPABILITY_STREAM_ORDERED: u64 = 1024;
/// Virtual and elastic pools can have FERRUM_BACKING_RDMA.
pub const FERRUM_CAPABILITY_RDMA_PAGES: u64 = 2048;
/// Virtual pools can have FERRUM_BACKING_FABRIC.
pub const FERRUM_CAPABILITY_FABRIC_PAGES: u64 = 4096;
/// Below 70 %, or unknown (total_bytes 0).
pub const FERRUM_PRESSURE_LOW: ferrum_pressure_level = 0;
/// From 70 %.
pub const FERRUM_PRESSURE_MEDIUM: ferrum_pressure_level = 1;
/// From 85 %.
pub const FERRUM_PRESSURE_HIGH: ferrum_pressure_level = 2;
/// From 95 %.
pub const FERRUM_PRESSURE_CRITICAL: ferrum_pressure_level = 3;
/// Largest alignment of a request: 1 GiB.
pub const FERRUM_ALIGNMENT_MAX: u64 = 1_073_741_824;
/// Page by page, if the device supports it and the pool may hold at least 32 pages;
/// otherwise in segments.
pub const FERRUM_PAGING_AUTO: ferrum_paging = 0;
/// In whole segments.
pub const FERRUM_PAGING_OFF: ferrum_paging = 1;
/// Page by page.
pub const FERRUM_PAGING_ON: ferrum_paging = 2;
/// The device.
pub const FERRUM_SEGMENTS_PLAIN: ferrum_segment_source = 0;
/// A pool of the vendor's runtime that allocates in the order of a stream.
/// Releasing a segment then waits only for work that uses the segment; otherwise
/// the runtime may wait for other work too. The runtime's pool belongs to this
/// device alone and caches nothing.
pub const FERRUM_SEGMENTS_STREAM_ORDERED: ferrum_segment_source = 1;
/// 1 GiB, or the upper bound where that is less.
pub const FERRUM_INITIAL_SIZE_AUTO: u64 = u64::MAX;
/// The library chooses.
pub const FERRUM_READY_PAGES_AUTO: u32 = 4_294_967_295;
/// All idle pages stay in the pool. They are released only on request.
pub const FERRUM_READY_PAGES_ALL: u32 = 4_294_967_294;
/// The library chooses.
pub const FERRUM_THREAD_CACHE_AUTO: u64 = u64::MAX;
/// Nothing.
pub const FERRUM_THREAD_CACHE_OFF: u64 = 0;
/// Puts a red zone before and after every block, and checks both when the block is
/// freed.
pub const FERRUM_DEBUG_RED_ZONES: u32 = 1;
/// Overwrites blocks when they are allocated and when they are freed.
pub const FERRUM_DEBUG_POISON: u32 = 2;
/// Keeps freed blocks for a while and checks them for late writes.
pub const FERRUM_DEBUG_QUARANTINE: u32 = 4;
/// Records the call sites of allocation and free of each block, for reports.
pub const FERRUM_DEBUG_CALL_SITES: u32 = 8;
/// All debug flags.
pub const FERRUM_DEBUG_ALL: u32 = 15;
/// Largest number of blocks in a batch.
pub const FERRUM_BATCH_MAX: u64 = 1_048_576;
/// A live block.
pub const FERRUM_BLOCK_LIVE: ferrum_block_state = 0;
/// A freed block that queued work may still use, or that is in quarantine.
pub const FERRUM_BLOCK_IN_FLIGHT: ferrum_block_state = 1;
/// A freed block in a thread cache, or a freed page that is still mapped.
pub const FERRUM_BLOCK_CACHED: ferrum_block_state = 2;
/// Free memory of a pool, or free address space of a virtual pool.
pub const FERRUM_BLOCK_FREE: ferrum_block_state = 3;
/// Memory of a pool that the pool cannot allocate.
pub const FERRUM_BLOCK_UNUSABLE: ferrum_block_state = 4;
/// A range that is asleep: it has its address and no memory.
pub const FERRUM_BLOCK_ASLEEP: ferrum_block_state = 5;
/// Anything.
pub const FERRUM_MEMORY_GENERAL: ferrum_memory_type = 0;
/// Tensors.
pub const FERRUM_MEMORY_TENSOR: ferrum_memory_type = 1;
/// The KV cache.
pub const FERRUM_MEMORY_CACHE: ferrum_memory_type = 2;
/// Scratch memory.
pub const FERRUM_MEMORY_TEMPORARY: ferrum_memory_type = 3;
/// Page-locked host memory, which the system does not swap. The system limits its
/// size; above that limit the call returns FERRUM_ERROR_RESOURCE_EXHAUSTED, and the
/// message states the limit. A defragmentation does not move it.
/// FERRUM_ERROR_UNSUPPORTED on a device without it.
pub const FERRUM_MEMORY_PINNED: ferrum_memory_type = 4;
/// Memory that the host and other devices can address: memory of the device if the
/// host can address that, otherwise page-locked host memory.
pub const FERRUM_MEMORY_MAPPED: ferrum_memory_type = 5;
/// Memory that the host and devices address at the same time. The system migrates
/// it to the processor that uses it; ferrum_memory_prefetch and
/// ferrum_memory_set_usage_hint announce that use. On a device whose memory the
/// host can address, it is memory of the device. Elsewhere its address never
/// changes, only the counters of its manager contain it, and it needs no physical
/// memory before its first use. More of it than the memory of the device is
/// possible, and slow. FERRUM_ERROR_UNSUPPORTED on a device without
/// FERRUM_CAPABILITY_MANAGED_MEMORY.
pub const FERRUM_MEMORY_MANAGED: ferrum_memory_type = 6;
/// Number of memory types.
pub const FERRUM_MEMORY_TYPE_COUNT: ferrum_memory_type = 7;
/// A defragmentation may move the block while nothing uses it. Its address changes
/// then. ferrum_memory_pin prevents the move.
pub const FERRUM_ALLOCATE_RELOCATABLE: u32 = 1;
/// The memory can be mapped at another address. On the host, a child made by fork()
/// does not inherit this memory, because parent and child would share it.
pub const FERRUM_BACKING_MOVABLE: ferrum_backing = 0;
/// The contents are lost when a page is mapped elsewhere. On some devices mapping
/// and unmapping are quicker. On the host, a child made by fork() has a copy of the
/// contents at that moment.
pub const FERRUM_BACKING_PRIVATE: ferrum_backing = 1;
/// Movable, and ferrum_vpool_export() passes the memory to other processes. A
/// device without FERRUM_CAPABILITY_EXPORTED_PAGES does not support it. On the host
/// each page is a file.
pub const FERRUM_BACKING_SHAREABLE: ferrum_backing = 2;
/// Movable, and other hardware such as network cards can read and write the memory
/// without the host (GPUDirect RDMA) after the program has registered it there. A
/// device without FERRUM_CAPABILITY_RDMA_PAGES does not support it. The program has
/// to remove that registration before it frees the range.
pub const FERRUM_BACKING_RDMA: ferrum_backing = 3;
/// Movable, and ferrum_vpool_export_fabric passes the memory to processes on other
/// hosts. A device without FERRUM_CAPABILITY_FABRIC_PAGES does not support it.
pub const FERRUM_BACKING_FABRIC: ferrum_backing = 4;
/// Memory of this process. For a device whose memory the host cannot address, it is
/// page-locked, as far as half of the machine's memory suffices.
pub const FERRUM_SLEEP_HOST: ferrum_sleep_backing = 0;
/// A file with checksums, which a wake compares. The file belongs to this process.
/// It is removed when all of its contents have been woken or freed, or when its
/// pool or model ends, unless another file has its name by then. The next sleep in
/// the same directory removes the file of a process that was killed; the library
/// recognizes such a file by its first bytes and by its lock. It touches no other
/// file.
pub const FERRUM_SLEEP_FILE: ferrum_sleep_backing = 1;
/// Nowhere: a wake returns zeros.
pub const FERRUM_SLEEP_DISCARD: ferrum_sleep_backing = 2;
/// Largest length of a path, with the closing NUL.
pub const FERRUM_PATH_MAX: ferrum_sleep_backing = 4096;
/// MEDIUM from 70 %, HIGH from 85 %, CRITICAL from 95 %.
pub const FERRUM_PRESSURE_PROFILE_STANDARD: ferrum_pressure_profile = 0;
/// MEDIUM from 60 %, HIGH from 80 %, CRITICAL from 95 %.
pub const FERRUM_PRESSURE_PROFILE_EARLY: ferrum_pressure_profile = 1;
/// Ignore the memory pressure that the system reports.
pub const FERRUM_MONITOR_IGNORE_SYSTEM: u32 = 1;
/// The request must not wait: devices that would have to release memory first are
/// not considered.
pub const FERRUM_PLACEMENT_CRITICAL: u32 = 1;
/// Chooses the first preferred device that can serve the request, independent of
/// its score. Without this flag, preference is a part of the score.
pub const FERRUM_PLACEMENT_STRICT: u32 = 2;
/// Devices that would reach the level CRITICAL are not considered. Without this
/// flag they come last.
pub const FERRUM_PLACEMENT_REFUSE_CRITICAL: u32 = 4;
/// Largest number of devices in each list of a request.
pub const FERRUM_PLACEMENT_DEVICES_MAX: u32 = 1024;
/// This device is chosen.
pub const FERRUM_PLACEMENT_CHOSEN: ferrum_placement_reason = 0;
/// Another device has a higher score, or the same score and an earlier position.
pub const FERRUM_PLACEMENT_OUTSCORED: ferrum_placement_reason = 1;
/// Another device is in a better tier.
pub const FERRUM_PLACEMENT_LOWER_TIER: ferrum_placement_reason = 2;
/// The order of preference selects another device.
pub const FERRUM_PLACEMENT_NOT_PREFERRED: ferrum_placement_reason = 3;
/// Round robin selects another device now.
pub const FERRUM_PLACEMENT_NOT_ITS_TURN: ferrum_placement_reason = 4;
/// The caller's strategy chose another device, or none.
pub const FERRUM_PLACEMENT_NOT_TAKEN: ferrum_placement_reason = 5;
/// The state of the device is not known.
pub const FERRUM_PLACEMENT_NO_INFORMATION: ferrum_placement_reason = 16;
/// The device has fewer free bytes than the request needs.
pub const FERRUM_PLACEMENT_TOO_SMALL: ferrum_placement_reason = 17;
/// The device has no memory of the type.
pub const FERRUM_PLACEMENT_WRONG_MEMORY_TYPE: ferrum_placement_reason = 18;
/// The device would have to release memory first, and the request is critical.
pub const FERRUM_PLACEMENT_NEEDS_EVICTION: ferrum_placement_reason = 19;
/// The device would reach FERRUM_PRESSURE_CRITICAL, which the request does not
/// allow.
pub const FERRUM_PLACEMENT_WOULD_BE_CRITICAL: ferrum_placement_reason = 20;
/// The original formula gives no score for the device.
pub const FERRUM_PLACEMENT_UNSCORED: ferrum_placement_reason = 21;
/// Store the attention scores of each token with its whole sequence, as attention
/// without a fused kernel does.
pub const FERRUM_ESTIMATE_EAGER_ATTENTION: u32 = 1;
/// Compute logits for every token, instead of the last token of each sequence.
pub const FERRUM_ESTIMATE_ALL_LOGITS: u32 = 2;
/// 32-bit floating point.
pub const FERRUM_DTYPE_F32: ferrum_dtype = 0;
/// 16-bit floating point.
pub const FERRUM_DTYPE_F16: ferrum_dtype = 1;
/// 16-bit floating point with the exponent of the 32-bit type (bfloat16).
pub const FERRUM_DTYPE_BF16: ferrum_dtype = 2;
/// 64-bit floating point.
pub const FERRUM_DTYPE_F64: ferrum_dtype = 3;
/// 8-bit floating point with 4 bits of exponent (f8_e4m3, E4M3FN).
pub const FERRUM_DTYPE_F8: ferrum_dtype = 4;
/// 8-bit signed integer.
pub const FERRUM_DTYPE_I8: ferrum_dtype = 5;
/// 8-bit unsigned integer.
pub const FERRUM_DTYPE_U8: ferrum_dtype = 6;
/// 16-bit signed integer.
pub const FERRUM_DTYPE_I16: ferrum_dtype = 7;
/// 32-bit signed integer.
pub const FERRUM_DTYPE_I32: ferrum_dtype = 8;
/// 64-bit signed integer.
pub const FERRUM_DTYPE_I64: ferrum_dtype = 9;
/// 16-bit unsigned integer.
pub const FERRUM_DTYPE_U16: ferrum_dtype = 10;
/// 32-bit unsigned integer.
pub const FERRUM_DTYPE_U32: ferrum_dtype = 11;
/// 64-bit unsigned integer.
pub const FERRUM_DTYPE_U64: ferrum_dtype = 12;
/// One byte, 0 or 1.
pub const FERRUM_DTYPE_BOOL: ferrum_dtype = 13;
/// 8-bit floating point with 5 bits of exponent.
pub const FERRUM_DTYPE_F8_E5M2: ferrum_dtype = 14;
/// 8-bit exponent without a mantissa, for scales.
pub const FERRUM_DTYPE_F8_E8M0: ferrum_dtype = 15;
/// 4-bit floating point, two in a byte.
pub const FERRUM_DTYPE_F4_E2M1: ferrum_dtype = 16;
/// 4-bit signed integer, two in a byte.
pub const FERRUM_DTYPE_I4: ferrum_dtype = 17;
/// 4-bit unsigned integer, two in a byte.
pub const FERRUM_DTYPE_U4: ferrum_dtype = 18;
/// Complex number of two 32-bit floating-point numbers.
pub const FERRUM_DTYPE_C64: ferrum_dtype = 19;
/// 6-bit floating point with 2 bits of exponent, four in three bytes.
pub const FERRUM_DTYPE_F6_E2M3: ferrum_dtype = 20;
/// 6-bit floating point with 3 bits of exponent, four in three bytes.
pub const FERRUM_DTYPE_F6_E3M2: ferrum_dtype = 21;
/// f8_e4m3 with one NaN and no negative zero.
pub const FERRUM_DTYPE_F8_E4M3FNUZ: ferrum_dtype = 22;
/// f8_e5m2 with one NaN and no negative zero.
pub const FERRUM_DTYPE_F8_E5M2FNUZ: ferrum_dtype = 23;
/// Blocks of GGUF: 32 elements in 18 bytes.
pub const FERRUM_DTYPE_Q4_0: ferrum_dtype = 258;
/// Blocks of GGUF: 32 elements in 20 bytes.
pub const FERRUM_DTYPE_Q4_1: ferrum_dtype = 259;
/// Blocks of GGUF: 32 elements in 22 bytes.
pub const FERRUM_DTYPE_Q5_0: ferrum_dtype = 262;
/// Blocks of GGUF: 32 elements in 24 bytes.
pub const FERRUM_DTYPE_Q5_1: ferrum_dtype = 263;
/// Blocks of GGUF: 32 elements in 34 bytes.
pub const FERRUM_DTYPE_Q8_0: ferrum_dtype = 264;
/// Blocks of GGUF: 256 elements in 84 bytes.
pub const FERRUM_DTYPE_Q2_K: ferrum_dtype = 266;
/// Blocks of GGUF: 256 elements in 110 bytes.
pub const FERRUM_DTYPE_Q3_K: ferrum_dtype = 267;
/// Blocks of GGUF: 256 elements in 144 bytes.
pub const FERRUM_DTYPE_Q4_K: ferrum_dtype = 268;
/// Blocks of GGUF: 256 elements in 176 bytes.
pub const FERRUM_DTYPE_Q5_K: ferrum_dtype = 269;
/// Blocks of GGUF: 256 elements in 210 bytes.
pub const FERRUM_DTYPE_Q6_K: ferrum_dtype = 270;
/// Blocks of GGUF: 256 elements in 292 bytes.
pub const FERRUM_DTYPE_Q8_K: ferrum_dtype = 271;
/// Blocks of GGUF: 256 elements in 66 bytes.
pub const FERRUM_DTYPE_IQ2_XXS: ferrum_dtype = 272;
/// Blocks of GGUF: 256 elements in 74 bytes.
pub const FERRUM_DTYPE_IQ2_XS: ferrum_dtype = 273;
/// Blocks of GGUF: 256 elements in 98 bytes.
pub const FERRUM_DTYPE_IQ3_XXS: ferrum_dtype = 274;
/// Blocks of GGUF: 256 elements in 50 bytes.
pub const FERRUM_DTYPE_IQ1_S: ferrum_dtype = 275;
/// Blocks of GGUF: 32 elements in 18 bytes.
pub const FERRUM_DTYPE_IQ4_NL: ferrum_dtype = 276;
/// Blocks of GGUF: 256 elements in 110 bytes.
pub const FERRUM_DTYPE_IQ3_S: ferrum_dtype = 277;
/// Blocks of GGUF: 256 elements in 82 bytes.
pub const FERRUM_DTYPE_IQ2_S: ferrum_dtype = 278;
/// Blocks of GGUF: 256 elements in 136 bytes.
pub const FERRUM_DTYPE_IQ4_XS: ferrum_dtype = 279;
/// Blocks of GGUF: 256 elements in 56 bytes.
pub const FERRUM_DTYPE_IQ1_M: ferrum_dtype = 285;
/// Blocks of GGUF: 256 elements in 54 bytes.
pub const FERRUM_DTYPE_TQ1_0: ferrum_dtype = 290;
/// Blocks of GGUF: 256 elements in 66 bytes.
pub const FERRUM_DTYPE_TQ2_0: ferrum_dtype = 291;
/// Blocks of GGUF: 32 elements in 17 bytes.
pub const FERRUM_DTYPE_MXFP4: ferrum_dtype = 295;
/// Blocks of GGUF: 64 elements in 36 bytes.
pub const FERRUM_DTYPE_NVFP4: ferrum_dtype = 296;
/// Blocks of GGUF: 128 elements in 18 bytes.
pub const FERRUM_DTYPE_Q1_0: ferrum_dtype = 297;
/// Create buffers on the host when the device has no room.
pub const FERRUM_MEMORY_CPU_FALLBACK: u32 = 1;
/// Record every buffer in use in a tracker.
pub const FERRUM_MEMORY_TRACK_ALLOCATIONS: u32 = 2;
/// Create the pool with a free buffer of each of pre_allocate_sizes. The creation
/// fails if one of them fails.
pub const FERRUM_MEMORY_PRE_ALLOCATE: u32 = 4;
/// Largest number of preallocated sizes.
pub const FERRUM_PRE_ALLOCATE_MAX: u32 = 4096;
/// 0.9, fallback, 512 MiB, 8, 1 GiB: FERRUM_MEMORY_CONFIG_INIT.
pub const FERRUM_MEMORY_PRESET_DEFAULT: ferrum_memory_preset = 0;
/// 0.95, fallback, 256 MiB, 4, 512 MiB: the most memory.
pub const FERRUM_MEMORY_PRESET_INFERENCE: ferrum_memory_preset = 1;
/// 0.8, no fallback, 1 GiB, 16, 4 GiB: an allocation fails when the device has no
/// room, instead of becoming slow.
pub const FERRUM_MEMORY_PRESET_TRAINING: ferrum_memory_preset = 2;
/// 0.7, fallback, 128 MiB, 2, 64 MiB: for devices with little memory.
pub const FERRUM_MEMORY_PRESET_CONSTRAINED: ferrum_memory_preset = 3;
/// On the device.
pub const FERRUM_LOCATION_GPU: ferrum_buffer_location = 0;
/// On the host.
pub const FERRUM_LOCATION_CPU: ferrum_buffer_location = 1;
/// On the device, or on the host when the device has no room.
pub const FERRUM_PLACE_EITHER: ferrum_buffer_place = 0;
/// On the device only.
pub const FERRUM_PLACE_GPU: ferrum_buffer_place = 1;
/// On the host; it does not count as a fallback.
pub const FERRUM_PLACE_CPU: ferrum_buffer_place = 2;
/// After a fallback, the manager may move the buffer to the device when another
/// buffer is freed and this one is not pinned.
pub const FERRUM_BUFFER_MOVABLE: u32 = 1;
/// Reads only.
pub const FERRUM_HOST_READ_ONLY: ferrum_host_access = 0;
/// Writes only. Bytes that are not written have no defined value afterwards.
pub const FERRUM_HOST_WRITE_ONLY: ferrum_host_access = 1;
/// Reads and writes.
pub const FERRUM_HOST_READ_WRITE: ferrum_host_access = 2;
/// Size of a mapping from the offset to the end of the block.
pub const FERRUM_MAP_TO_END: u64 = u64::MAX;
/// No hint. Setting it removes all other hints.
pub const FERRUM_USAGE_NONE: ferrum_usage_hint = 0;
/// Order: sequential accesses.
pub const FERRUM_USAGE_SEQUENTIAL: ferrum_usage_hint = 1;
/// Order: accesses at random places.
pub const FERRUM_USAGE_RANDOM: ferrum_usage_hint = 2;
/// Direction: mostly read.
pub const FERRUM_USAGE_READ_MOSTLY: ferrum_usage_hint = 3;
/// Direction: mostly written.
pub const FERRUM_USAGE_WRITE_MOSTLY: ferrum_usage_hint = 4;
/// Lifetime: temporary; it may be released early.
pub const FERRUM_USAGE_TEMPORARY: ferrum_usage_hint = 5;
/// Lifetime: to be kept resident.
pub const FERRUM_USAGE_RESIDENT: ferrum_usage_hint = 6;
/// Too few accesses.
pub const FERRUM_PATTERN_UNKNOWN: ferrum_access_pattern = 0;
/// Sequential accesses.
pub const FERRUM_PATTERN_SEQUENTIAL: ferrum_access_pattern = 1;
/// Accesses at random places.
pub const FERRUM_PATTERN_RANDOM: ferrum_access_pattern = 2;
/// Accesses that come in clusters.
pub const FERRUM_PATTERN_BURST: ferrum_access_pattern = 3;
/// More than one of these.
pub const FERRUM_PATTERN_MIXED: ferrum_access_pattern = 4;
/// Number of bytes of the handle of one page.
pub const FERRUM_FABRIC_HANDLE_BYTES: u32 = 64;
/// Largest number of dimensions of a tensor.
pub const FERRUM_WEIGHTS_RANK_MAX: u32 = 16;
/// Largest size of the name of a tensor in a call, with its NUL. Longer names can be
/// loaded, listed and found by index.
pub const FERRUM_WEIGHTS_NAME_MAX: u32 = 1024;
/// Largest size of each JSON text that a call of this section takes.
pub const FERRUM_WEIGHTS_JSON_MAX: u32 = 16_777_216;
/// A file, the index of several files, or a folder.
pub const FERRUM_WEIGHTS_SOURCE_FILE: ferrum_weights_source_kind = 0;
/// The bytes of a file in memory of the caller.
pub const FERRUM_WEIGHTS_SOURCE_MEMORY: ferrum_weights_source_kind = 1;
/// A web address. The library does not use the network, so the call returns
/// FERRUM_ERROR_UNSUPPORTED.
pub const FERRUM_WEIGHTS_SOURCE_URL: ferrum_weights_source_kind = 2;
/// A model of the Hugging Face hub. The call returns FERRUM_ERROR_UNSUPPORTED.
pub const FERRUM_WEIGHTS_SOURCE_HUGGING_FACE: ferrum_weights_source_kind = 3;
/// An object of an S3 store. The call returns FERRUM_ERROR_UNSUPPORTED.
pub const FERRUM_WEIGHTS_SOURCE_S3: ferrum_weights_source_kind = 4;
/// The library detects the format from the content of the file.
pub const FERRUM_WEIGHTS_FORMAT_ANY: ferrum_weights_format = 0;
/// Files of torch.save.
pub const FERRUM_WEIGHTS_FORMAT_PYTORCH: ferrum_weights_format = 1;
/// Files of safetensors.
pub const FERRUM_WEIGHTS_FORMAT_SAFETENSORS: ferrum_weights_format = 2;
/// Files of NumPy: npy and npz.
pub const FERRUM_WEIGHTS_FORMAT_NUMPY: ferrum_weights_format = 3;
/// One tensor without a header.
pub const FERRUM_WEIGHTS_FORMAT_RAW: ferrum_weights_format = 4;
/// The initialisers of an ONNX model.
pub const FERRUM_WEIGHTS_FORMAT_ONNX: ferrum_weights_format = 5;
/// Files of GGUF.
pub const FERRUM_WEIGHTS_FORMAT_GGUF: ferrum_weights_format = 6;
/// The format of a decoder of the program.
pub const FERRUM_WEIGHTS_FORMAT_CUSTOM: ferrum_weights_format = 7;
/// The tensor has the memory of an earlier tensor of its set.
pub const FERRUM_TENSOR_TIED: u32 = 1;
/// The bytes of the tensor are compressed in the file.
pub const FERRUM_TENSOR_COMPRESSED: u32 = 2;
/// Largest number of memories of a load.
pub const FERRUM_WEIGHTS_MEMORIES_MAX: u32 = 64;
/// Map the files instead of copying their bytes. The tensors are the mapped pages and
/// are read-only. The load is over when ferrum_weights_load returns. If a file becomes
/// shorter, its lost pages read as zeros, and ferrum_tensor_set_check returns an error
/// (docs/hosts.md).
pub const FERRUM_WEIGHTS_LOAD_MAP: u32 = 1;
/// Only read the bytes of the tensors into the page cache of the system. The set has no
/// tensors. ferrum_tensor_set_free releases the pages that the load has read; pages that
/// were in the cache before stay there.
pub const FERRUM_WEIGHTS_LOAD_PRELOAD: u32 = 2;
/// Replace an existing file of that name.
pub const FERRUM_WEIGHTS_CONVERT_REPLACE: u32 = 1;
/// Largest number of dimensions of a tensor.
pub const FERRUM_TENSOR_RANK_MAX: u32 = 8;
/// The elements lie in the order of the shape, without gaps. As an argument: strides of the
/// description are ignored.
pub const FERRUM_ELEMENTS_CONTIGUOUS: u32 = 1;
/// The elements cannot be written.
pub const FERRUM_ELEMENTS_READ_ONLY: u32 = 2;
/// The elements are packed for an engine, and nothing else reads them. Not an argument.
pub const FERRUM_ELEMENTS_PACKED: u32 = 4;
/// There is no tensor: an absent input or output of an operation. Only for ferrum_op_infer.
pub const FERRUM_ELEMENTS_ABSENT: u32 = 8;
/// A dimension of several indices has the stride 0: its elements have one place. As an
/// argument: strides that are all 0 repeat one element. Without the flag such strides are
/// those of elements without gaps.
pub const FERRUM_ELEMENTS_REPEATED: u32 = 16;
/// Largest number of elements of an input that carries a shape, axes or sizes.
pub const FERRUM_TENSOR_LIST_MAX: u32 = 4096;
/// Most blocks of a cache, and most blocks of its host.
pub const FERRUM_KV_BLOCKS_MAX: u32 = 4_194_304;
/// Most sequences of a cache.
pub const FERRUM_KV_SEQUENCES_MAX: u32 = 65536;
/// Most tokens of a block, a sequence and a window.
pub const FERRUM_KV_TOKENS_MAX: u32 = 67_108_864;
/// Most entries of block tables that one call returns.
pub const FERRUM_KV_TABLE_ENTRIES_MAX: u32 = 16_777_216;
/// Largest number of inputs, and of outputs, of an operation.
pub const FERRUM_OP_TENSORS_MAX: u32 = 1024;
/// As the id of an output of a run: the output is not wanted.
pub const FERRUM_TENSOR_UNWANTED: u64 = u64::MAX;
/// Not in this library: FERRUM_ERROR_UNSUPPORTED.
pub const FERRUM_COMPUTE_CANDLE: ferrum_compute_type = 0;
/// ONNX Runtime, whose library is loaded when it is opened. It also runs files of
/// ONNX with operators that this library lacks. Without its library:
/// FERRUM_ERROR_UNSUPPORTED.
pub const FERRUM_COMPUTE_ONNX_RUNTIME: ferrum_compute_type = 1;
/// Not in this library: FERRUM_ERROR_UNSUPPORTED.
pub const FERRUM_COMPUTE_TENSORRT: ferrum_compute_type = 2;
/// Not in this library: FERRUM_ERROR_UNSUPPORTED.
pub const FERRUM_COMPUTE_METAL: ferrum_compute_type = 3;
/// The CPU engine of this library.
pub const FERRUM_COMPUTE_CPU: ferrum_compute_type = 4;
/// A backend that the program has registered with ferrum_compute_register.
pub const FERRUM_COMPUTE_CUSTOM: ferrum_compute_type = 5;
/// The whole pool when the backend is opened; it does not grow.
pub const FERRUM_COMPUTE_GROWTH_STATIC: ferrum_compute_growth = 0;
/// When an allocation needs it.
pub const FERRUM_COMPUTE_GROWTH_DYNAMIC: ferrum_compute_growth = 1;
/// In quarters of the pool, the first one when the backend is opened.
pub const FERRUM_COMPUTE_GROWTH_INCREMENTAL: ferrum_compute_growth = 2;
/// Size of the message of a failed function, with its closing NUL.
pub const FERRUM_COMPUTE_MESSAGE_MAX: u32 = 256;
/// An output may be the memory of an input that has the same type and strides. Without it,
/// outputs overlap neither inputs nor each other.
pub const FERRUM_COMPUTE_PLAN_IN_PLACE: u32 = 1;
/// As input_rank: the first input may have any shape.
pub const FERRUM_LAYER_ANY_RANK: u32 = 4_294_967_295;
/// An output may be the memory of an input of the same type and strides. Without it, outputs
/// overlap neither inputs nor each other.
pub const FERRUM_LAYER_IN_PLACE: u32 = 1;
/// Inputs and outputs may have any strides. Without it, they have no gaps: their elements lie
/// in the order of the shape.
pub const FERRUM_LAYER_STRIDES: u32 = 2;
/// One thread at a time calls forward.
pub const FERRUM_LAYER_ONE_AT_A_TIME: u32 = 4;
/// Largest number of inputs, and of outputs, of a run of an executor.
pub const FERRUM_EXECUTOR_TENSORS_MAX: u32 = 1024;
/// The elements of the tensors are in a second file, whose name is that of the model with the
/// ending ".data". Models above 2 GiB always have it.
pub const FERRUM_ONNX_EXTERNAL: u32 = 1;
/// Files that exist are replaced.
pub const FERRUM_ONNX_REPLACE: u32 = 2;
/// The configuration and the definition are checked.
pub const FERRUM_BUILD_VALIDATION: ferrum_build_phase = 0;
/// The headers of the weights, and their bytes, are read.
pub const FERRUM_BUILD_WEIGHT_LOADING: ferrum_build_phase = 1;
/// The model gets its place in the elastic pool.
pub const FERRUM_BUILD_MODEL_INITIALIZATION: ferrum_build_phase = 2;
/// The operations are prepared.
pub const FERRUM_BUILD_LAYER_CONSTRUCTION: ferrum_build_phase = 3;
/// The parameters are connected with tensors of the weights.
pub const FERRUM_BUILD_PARAMETER_BINDING: ferrum_build_phase = 4;
/// Passes run, and the parameters are placed and packed.
pub const FERRUM_BUILD_OPTIMIZATION: ferrum_build_phase = 5;
/// The model runs once.
pub const FERRUM_BUILD_FINAL_VALIDATION: ferrum_build_phase = 6;
/// What only the build needed is released.
pub const FERRUM_BUILD_FINALIZATION: ferrum_build_phase = 7;
/// Largest length of a definition that a pass gets or returns.
pub const FERRUM_DEFINITION_MAX: u32 = 67_108_864;
/// Largest number of dependencies of a pass.
pub const FERRUM_PASS_DEPENDENCIES_MAX: u32 = 64;
/// Size of the message of a failed function, with its closing NUL.
pub const FERRUM_PASS_MESSAGE_MAX: u32 = 256;
/// Largest size of a warning, with its closing NUL.
pub const FERRUM_PASS_WARNING_MAX: u32 = 1024;
/// Largest number of warnings of one run of a pass.
pub const FERRUM_PASS_WARNINGS_MAX: u32 = 1000;

/// Receives log messages. Runs on a thread of the library, one call at a time, with
/// no lock held. It may call every function of the library except ferrum_shutdown.
/// The message is valid during the call only.
pub type ferrum_log_fn = Option<
    unsafe extern "C" fn(level: ferrum_log_level, message: *const c_char, user_data: *mut c_void),
>;

/// Writes where the calling thread is in a program of an interpreted language: one
/// line of text for each frame, the innermost first, with '\n' between them, such as
/// "engine.py:12 (load)". Runs on the thread of a call, before the call does anything
/// else. It must not call the library.
///
/// - `buffer`: for the text, which needs no NUL at its end.
///
/// Returns the length of the text; 0: the thread runs no such program.
pub type ferrum_call_site_fn = Option<
    unsafe extern "C" fn(buffer: *mut c_char, capacity: usize, user_data: *mut c_void) -> usize,
>;

/// A function of the caller that runs as work of a stream. Runs on a thread of the
/// library, in the order of the stream, with no lock held. It may call the library,
/// except for functions that may wait for a stream: synchronize, copy (also
/// ferrum_memory_copy_async, which waits for a transfer slot), read, write, map,
/// unmap, defragment, measure, destroy, close and ferrum_shutdown return
/// FERRUM_ERROR_INVALID_STATE in it. An allocation in it does not wait for memory.
pub type ferrum_host_fn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Called when the pressure level changes. Runs on a thread of the library, one call
/// at a time, with no lock held. It may call every function of the library except
/// ferrum_shutdown. The level falls only when the use is 1 % of the device below the
/// bound of the level, so that the level does not change back and forth.
pub type ferrum_pressure_fn = Option<
    unsafe extern "C" fn(
        device: ferrum_device,
        level: ferrum_pressure_level,
        user_data: *mut c_void,
    ),
>;

/// Called to free memory when an allocation would otherwise fail. Runs on a thread
/// of the library, with no lock held. It may free and trim memory through the
/// library. An allocation inside the callback fails without another reclaim call.
///
/// Returns number of freed bytes, 0 if none.
pub type ferrum_reclaim_fn = Option<
    unsafe extern "C" fn(device: ferrum_device, needed_bytes: u64, user_data: *mut c_void) -> u64,
>;

/// Called to free memory of a model when pages are short. Runs on a thread of the
/// library, with no lock held. It may call the library, usually to free ranges of
/// its model. Memory that it frees after its deadline goes to the allocations that
/// wait then.
///
/// - `model`: id of the model, valid during the call only.
///
/// Returns number of freed bytes, 0 if none.
pub type ferrum_model_reclaim_fn = Option<
    unsafe extern "C" fn(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        needed_bytes: u64,
        user_data: *mut c_void,
    ) -> u64,
>;

/// Called when something changes, with the levels of all monitored devices in the
/// order of their registration. The addition or removal of a device is a change too.
/// Runs on a thread of the library, one call at a time, with no lock held. It may
/// call every function of the library except ferrum_shutdown. The library reports
/// every change once and in order. Only when more than 1024 changes wait, the newest
/// one replaces the one before it.
///
/// - `levels`: count entries, valid during the call only.
pub type ferrum_monitor_fn = Option<
    unsafe extern "C" fn(
        monitor: ferrum_monitor,
        levels: *const ferrum_device_level,
        count: usize,
        user_data: *mut c_void,
    ),
>;

/// A strategy of the caller. Runs on the thread of the selection with no lock held;
/// several threads may run it at once. It may call every function of the library
/// except ferrum_shutdown.
///
/// - `request`: the request, with devices NULL. Valid during the call only.
/// - `options`: count candidates, also those that cannot serve the request.
/// - `chosen_out`: -1 for no device, until the callback sets the index of its
///   choice.
///
/// Returns FERRUM_OK, or an error, which the selection then returns; its message
/// names the strategy.
pub type ferrum_placement_fn = Option<
    unsafe extern "C" fn(
        request: *const ferrum_placement_request,
        options: *const ferrum_placement_option,
        count: usize,
        chosen_out: *mut i64,
        user_data: *mut c_void,
    ) -> ferrum_status,
>;

/// Queues work in a stream of the caller. It must arrange that work(work_data) is
/// called once, on any thread, after the work that was queued before and before the
/// work that is queued later; an immediate call is allowed too. It is called on the
/// threads that use the stream. It must not call the library, which may hold locks.
///
/// Returns FERRUM_OK, or an error when the work will not be called.
pub type ferrum_enqueue_fn = Option<
    unsafe extern "C" fn(
        work: ferrum_host_fn,
        work_data: *mut c_void,
        user_data: *mut c_void,
    ) -> ferrum_status,
>;

/// Called while bytes are read or written, one call at a time, with no lock held. For a
/// load it runs on a thread of the library, otherwise on the thread of the call. It may
/// call every function of the library except ferrum_shutdown. A function that would wait
/// for the load or call of this callback returns FERRUM_ERROR_INVALID_STATE.
///
/// Returns 0 to continue; another number cancels the load or call, which then returns
/// FERRUM_ERROR_CANCELLED, unless all bytes are done.
pub type ferrum_weights_progress_fn = Option<
    unsafe extern "C" fn(progress: *const ferrum_weights_progress, user_data: *mut c_void) -> i32,
>;

/// Reads bytes of the file that a decoder describes.
///
/// Returns FERRUM_ERROR_INVALID_SIZE for bytes beyond the end of the file;
/// FERRUM_ERROR_IO; FERRUM_ERROR_INVALID_HANDLE if the callback that received
/// the file has returned.
pub type ferrum_weights_read_at_fn = Option<
    unsafe extern "C" fn(
        file: u64,
        offset_bytes: u64,
        destination_out: *mut c_void,
        size_bytes: u64,
    ) -> ferrum_status,
>;

/// Takes the description of the file, as JSON with the fields of docs/weights.md. The
/// library copies the text, and checks it after the callback has returned.
///
/// Returns FERRUM_ERROR_INVALID_SIZE for a text that is longer than
/// FERRUM_WEIGHTS_JSON_MAX; FERRUM_ERROR_INVALID_HANDLE as for reading.
pub type ferrum_weights_describe_fn =
    Option<unsafe extern "C" fn(file: u64, json: *const c_char, json_bytes: u64) -> ferrum_status>;

/// Returns whether a file is of the format of a decoder. Runs on the thread of the call
/// that opens the file, with no lock held.
///
/// - `start`: the first bytes of the file, at most 4096.
///
/// Returns 0 if it is not.
pub type ferrum_weights_recognises_fn = Option<
    unsafe extern "C" fn(
        start: *const c_void,
        start_bytes: usize,
        file_bytes: u64,
        user_data: *mut c_void,
    ) -> i32,
>;

/// Describes a file of the format of a decoder. The callback reads bytes of the file with
/// file-\>read_at, and calls file-\>describe. It runs as ferrum_weights_recognises_fn does.
/// The library compares the description with the file, and reads the tensors itself.
///
/// Returns FERRUM_OK, or an error, which the call that opens the file returns.
pub type ferrum_weights_decode_fn = Option<
    unsafe extern "C" fn(file: *const ferrum_weights_file, user_data: *mut c_void) -> ferrum_status,
>;

/// Gives memory back to the program. Called once, after the last tensor over the memory has
/// ended and the work on it has run: in the call that ends the tensor, or on a thread of the
/// library. It may call the library, but not a function that waits for a stream, and not
/// ferrum_shutdown.
pub type ferrum_release_fn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Decides how a backend computes operands of certain types, shapes and strides. Plans are
/// kept, as docs/compute.md explains.
///
/// - `plan_out`: FERRUM_COMPUTE_PLAN_INIT before the call.
///
/// Returns FERRUM_OK; FERRUM_ERROR_UNSUPPORTED for operands that the backend does not
/// compute; another error.
pub type ferrum_compute_plan_fn = Option<
    unsafe extern "C" fn(
        call: *const ferrum_compute_call,
        plan_out: *mut ferrum_compute_plan,
        user_data: *mut c_void,
    ) -> ferrum_status,
>;

/// Computes the outputs of a call. The elements are at the addresses of the descriptions,
/// with their strides. Outputs are complete when the function returns, or after the
/// ferrum_compute_synchronize_fn of the backend.
///
/// Returns FERRUM_OK; an error, after which the outputs have no meaning.
pub type ferrum_compute_run_fn = Option<
    unsafe extern "C" fn(call: *const ferrum_compute_call, user_data: *mut c_void) -> ferrum_status,
>;

/// Waits for work that a backend has left on a device. ferrum_compute_synchronize calls it.
///
/// Returns FERRUM_OK; the error of the work.
pub type ferrum_compute_synchronize_fn =
    Option<unsafe extern "C" fn(device: ferrum_device, user_data: *mut c_void) -> ferrum_status>;

/// Infers the outputs of a layer.
///
/// - `call`: has the configuration as attributes_json, and the inputs without addresses. Its
///   outputs are outputs_out.
/// - `outputs_out`: has call-\>output_count elements. Each has the type and the shape of the first input, or
///   FERRUM_ELEMENTS_ABSENT if the caller does not want it. The function changes
///   dtype, rank and shape. It sets FERRUM_ELEMENTS_ABSENT in flags for an output
///   that the layer does not give for these inputs. Other fields are not read.
///
/// Returns FERRUM_OK; an error for inputs that the layer does not take.
pub type ferrum_layer_infer_fn = Option<
    unsafe extern "C" fn(
        call: *const ferrum_compute_call,
        outputs_out: *mut ferrum_tensor_desc,
        user_data: *mut c_void,
    ) -> ferrum_status,
>;

/// Takes the parameters of a layer, as a JSON list with the fields of docs/layers.md. The
/// library copies the text, and checks it after the callback has returned. The last list
/// counts.
///
/// - `list`: the number that the callback got.
///
/// Returns FERRUM_ERROR_INVALID_SIZE for a text that is longer than FERRUM_WEIGHTS_JSON_MAX;
/// FERRUM_ERROR_INVALID_HANDLE if the callback has returned.
pub type ferrum_layer_list_fn =
    Option<unsafe extern "C" fn(list: u64, json: *const c_char, json_bytes: u64) -> ferrum_status>;

/// States the parameters of a layer: calls take.
///
/// - `call`: has the configuration, and no operands.
/// - `list`: a number for take; valid during the callback.
///
/// Returns FERRUM_OK; an error, which the build returns.
pub type ferrum_layer_parameters_fn = Option<
    unsafe extern "C" fn(
        call: *const ferrum_compute_call,
        take: ferrum_layer_list_fn,
        list: u64,
        user_data: *mut c_void,
    ) -> ferrum_status,
>;

/// Makes the elements of a parameter that the weights do not have.
///
/// - `call`: has the configuration. Its only output is the parameter, without gaps, in
///   memory of the host; the device is {0}.
/// - `parameter`: the name in the list of the layer type.
///
/// Returns FERRUM_OK; an error, which the build returns.
pub type ferrum_layer_initialize_fn = Option<
    unsafe extern "C" fn(
        call: *const ferrum_compute_call,
        parameter: *const c_char,
        user_data: *mut c_void,
    ) -> ferrum_status,
>;

/// Called during a build, one call at a time, on a thread of the build, with no lock held. It
/// may call every function of the library except ferrum_shutdown.
///
/// Returns 0 to continue; another number cancels the build, which then returns
/// FERRUM_ERROR_CANCELLED, unless progress is 1.
pub type ferrum_build_progress_fn = Option<
    unsafe extern "C" fn(progress: *const ferrum_build_progress, user_data: *mut c_void) -> i32,
>;

/// Takes the changed definition. The library copies the text, and checks it after the
/// function of the pass has returned. The last definition counts.
///
/// Returns FERRUM_ERROR_NULL_POINTER for the text; FERRUM_ERROR_INVALID_SIZE for a text that is
/// longer than FERRUM_DEFINITION_MAX; FERRUM_ERROR_INVALID_HANDLE if the function that
/// received the call has returned.
pub type ferrum_pass_replace_fn = Option<
    unsafe extern "C" fn(
        call: u64,
        definition_json: *const c_char,
        definition_bytes: u64,
    ) -> ferrum_status,
>;

/// Adds a warning to the result of the pass: what it could not do, and why.
///
/// Returns FERRUM_ERROR_NULL_POINTER for the text; FERRUM_ERROR_INVALID_ARGUMENT for a text that
/// is not UTF-8 or not shorter than FERRUM_PASS_WARNING_MAX;
/// FERRUM_ERROR_RESOURCE_EXHAUSTED after FERRUM_PASS_WARNINGS_MAX warnings;
/// FERRUM_ERROR_INVALID_HANDLE as for replace.
pub type ferrum_pass_warn_fn =
    Option<unsafe extern "C" fn(call: u64, warning: *const c_char) -> ferrum_status>;

/// Decides whether a pass has something to do in a definition.
///
/// - `is_applicable_out`: 0 before the call: the pass is skipped. 1: it runs.
///
/// Returns FERRUM_OK; an error, which ends the call that runs the pass.
pub type ferrum_pass_is_applicable_fn = Option<
    unsafe extern "C" fn(
        call: *const ferrum_pass_call,
        is_applicable_out: *mut u32,
        user_data: *mut c_void,
    ) -> ferrum_status,
>;

/// Runs a pass. If it calls replace, the definition changes; otherwise it stays.
///
/// Returns FERRUM_OK; an error, which ends the call that runs the pass.
pub type ferrum_pass_apply_fn = Option<
    unsafe extern "C" fn(call: *const ferrum_pass_call, user_data: *mut c_void) -> ferrum_status,
>;

/// Receives the result of ferrum_definition_optimize, on the thread of the call.
///
/// - `result_json`: an object with "definition", "passes" (the result of each pass in the
///   order in which they ran) and "total". Valid during the call; a NUL follows it.
pub type ferrum_optimized_fn = Option<
    unsafe extern "C" fn(result_json: *const c_char, result_bytes: u64, user_data: *mut c_void),
>;

/// An open device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_device {
    /// 0 is no device
    pub id: u64,
}

/// An ordered queue of work on a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_stream {
    /// 0 is no stream, or the default one where it is optional
    pub id: u64,
}

/// A point in a stream's queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_event {
    /// 0 is no event
    pub id: u64,
}

/// A pool: memory by address.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_pool {
    /// 0 is no pool
    pub id: u64,
}

/// A virtual pool: reserved address space, with memory behind parts of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_vpool {
    /// 0 is no virtual pool
    pub id: u64,
}

/// An elastic pool: several models under one physical limit.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_elastic_pool {
    /// 0 is no elastic pool
    pub id: u64,
}

/// A memory manager of a device: memory by handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_manager {
    /// 0 is no manager
    pub id: u64,
}

/// A block of memory that a manager owns.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_memory {
    /// 0 is no block
    pub id: u64,
}

/// A registered callback.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_registration {
    /// 0 is no registration
    pub id: u64,
}

/// Settings of the library for ferrum_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_config {
    pub struct_size: u32,
    /// Number of host devices cpu:0, cpu:1, ... (1 to 64), which share the capacity
    /// equally; 0: FERRUM_HOST_DEVICES of the environment, or 1.
    pub host_devices: u32,
    /// Capacity of all host devices together; 0: FERRUM_HOST_MEMORY of the
    /// environment, or the memory that the process may use. That is the memory of
    /// the machine or of its control group, whichever is less.
    pub host_memory_bytes: u64,
    /// FERRUM_CONFIG_\* flags.
    pub flags: u32,
    pub reserved: u32,
}

impl ferrum_config {
    /// The values of `FERRUM_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_config>() as u32,
        host_devices: 0,
        host_memory_bytes: 0,
        flags: 0,
        reserved: 0,
    };
}

impl Default for ferrum_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// Detail of a failure, which ferrum_last_error copies out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_error_info {
    pub struct_size: u32,
    /// Status that the failing call returned.
    pub status: ferrum_status,
    /// Error number of the vendor's runtime or of the system, or 0.
    pub native_code: i64,
    /// Public name of the function that failed.
    pub function: [c_char; 64],
    /// Operation inside the library, for example "pool.alloc".
    pub operation: [c_char; 64],
    /// Device of the failing call, for example "cpu:0", or empty.
    pub device: [c_char; 32],
    /// The reason of the failure, with the name and the value of the argument. A longer
    /// text is cut at the end of a character.
    pub message: [c_char; 1024],
    /// FERRUM_FACT_\* flags of the numbers below that the failure states; the other
    /// numbers are 0. For virtual and elastic pools, INVALID_OFFSET states offset,
    /// size and capacity. ALREADY_MAPPED and NOT_MAPPED state offset and size of
    /// the first page that is, or is not, mapped. INVALID_PAGE_SIZE states the
    /// rejected page size. OUT_OF_PHYSICAL_MEMORY states the requested and the
    /// available size. OUT_OF_VIRTUAL_MEMORY states the requested size and, where
    /// they are known, the capacity and the largest free run. OUT_OF_MEMORY states
    /// the requested size; besides that, either the available size and the largest
    /// free run, or the capacity that is smaller than the request.
    pub facts: u32,
    pub reserved: u32,
    pub offset_bytes: u64,
    pub size_bytes: u64,
    /// The largest possible size.
    pub capacity_bytes: u64,
    pub page_bytes: u64,
    pub requested_bytes: u64,
    /// For a pool: the free bytes in the pool and the bytes that the pool could
    /// still get from the device, in however many pieces.
    pub available_bytes: u64,
    pub largest_free_bytes: u64,
    /// Model of an elastic pool that the failure is about, or empty.
    pub model: [c_char; 64],
}

impl ferrum_error_info {
    /// The values of `FERRUM_ERROR_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_error_info>() as u32,
        status: 0,
        native_code: 0,
        function: [0; 64],
        operation: [0; 64],
        device: [0; 32],
        message: [0; 1024],
        facts: 0,
        reserved: 0,
        offset_bytes: 0,
        size_bytes: 0,
        capacity_bytes: 0,
        page_bytes: 0,
        requested_bytes: 0,
        available_bytes: 0,
        largest_free_bytes: 0,
        model: [0; 64],
    };
}

impl Default for ferrum_error_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// The chosen device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_backend_choice {
    pub struct_size: u32,
    /// Backend of the device.
    pub backend: ferrum_backend,
    /// Position of the device within its backend.
    pub device_index: u32,
    pub reserved: u32,
    /// Capacity of the device; 0 means unknown.
    pub total_bytes: u64,
    /// Free bytes when the device was queried; 0 if not known.
    pub free_bytes: u64,
    /// For example "cuda:0".
    pub id: [c_char; 32],
    /// The devices that were considered, the chosen one last: lines of "id:
    /// reason". A longer text is cut at the end of a character.
    pub tried: [c_char; 1024],
}

impl ferrum_backend_choice {
    /// The values of `FERRUM_BACKEND_CHOICE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_backend_choice>() as u32,
        backend: 0,
        device_index: 0,
        reserved: 0,
        total_bytes: 0,
        free_bytes: 0,
        id: [0; 32],
        tried: [0; 1024],
    };
}

impl Default for ferrum_backend_choice {
    fn default() -> Self {
        Self::INIT
    }
}

/// Memory and processor of this machine.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_host_info {
    pub struct_size: u32,
    /// 1 if available_bytes is known, else 0.
    pub available_known: u32,
    /// Memory that this process may use: the memory of the machine or of its
    /// control group, whichever is less; 0 means unknown.
    pub total_bytes: u64,
    /// The part of total_bytes that can still be used.
    pub available_bytes: u64,
    /// Model of the processor, or "Unknown CPU".
    pub cpu_name: [c_char; 128],
}

impl ferrum_host_info {
    /// The values of `FERRUM_HOST_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_host_info>() as u32,
        available_known: 0,
        total_bytes: 0,
        available_bytes: 0,
        cpu_name: [0; 128],
    };
}

impl Default for ferrum_host_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// Description of an open device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_device_info {
    pub struct_size: u32,
    /// Number after the colon of the id.
    pub ordinal: u32,
    /// FERRUM_CAPABILITY_\* bits.
    pub capabilities: u64,
    /// Capacity; 0 means unknown.
    pub total_bytes: u64,
    /// The size of every segment is a multiple of this.
    pub granularity_bytes: u64,
    /// The address of every segment is a multiple of this.
    pub alignment_bytes: u64,
    /// For example "cpu:0".
    pub id: [c_char; 32],
    /// For example "cpu".
    pub backend: [c_char; 32],
    /// Name of the hardware.
    pub name: [c_char; 128],
}

impl ferrum_device_info {
    /// The values of `FERRUM_DEVICE_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_device_info>() as u32,
        ordinal: 0,
        capabilities: 0,
        total_bytes: 0,
        granularity_bytes: 0,
        alignment_bytes: 0,
        id: [0; 32],
        backend: [0; 32],
        name: [0; 128],
    };
}

impl Default for ferrum_device_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// Memory of a device; used + free + reserved = total at any time. With a limit of
/// the device (ferrum_device_set_limit) the total is the limit.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_memory_info {
    pub struct_size: u32,
    /// Pressure level of (total - free) / total, computed with integers.
    pub pressure: ferrum_pressure_level,
    /// What this library may hold: limit_bytes, or device_total_bytes where there is
    /// no limit or the device has less. Utilization and pressure are computed from it.
    /// 0 means unknown.
    pub total_bytes: u64,
    /// Live blocks of this library, and memory that it cannot allocate. At most
    /// total_bytes, also when more is live than a lowered limit allows.
    pub used_bytes: u64,
    /// Bytes that can still be allocated: free memory of the device and cached
    /// memory of the pools, as far as the limit allows.
    pub free_bytes: u64,
    /// The rest of total_bytes. It cannot be allocated, because the driver or other
    /// processes hold that much of the device.
    pub reserved_bytes: u64,
    /// Number of live blocks of all pools and managers.
    pub active_allocations: u64,
    /// 1 - largest free run / total free, over the memory that the pools hold; 0
    /// when nothing is free.
    pub fragmentation_ratio: f32,
    /// used / total \* 100; 0 when total is unknown. For display.
    pub utilization_percent: f32,
    /// Whether bandwidth_gbps has been measured.
    pub bandwidth_known: u32,
    /// Copy bandwidth in 10^9 bytes per second.
    pub bandwidth_gbps: f32,
    /// Age of the latest reading of the device; 0: it was read just now. The
    /// numbers include the memory that this library has allocated and released since
    /// that reading.
    pub reading_age_ns: u64,
    /// Longest run that can be allocated now: from cached memory, or from the free
    /// memory of the device as far as the limit allows.
    pub largest_free_bytes: u64,
    /// The limit of the device; 0: none.
    pub limit_bytes: u64,
    /// Capacity of the device itself, without the limit; 0 means unknown.
    pub device_total_bytes: u64,
    /// Free memory of the device itself, without the limit: memory that neither this
    /// library nor other programs hold.
    pub device_free_bytes: u64,
}

impl ferrum_memory_info {
    /// The values of `FERRUM_MEMORY_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_memory_info>() as u32,
        pressure: 0,
        total_bytes: 0,
        used_bytes: 0,
        free_bytes: 0,
        reserved_bytes: 0,
        active_allocations: 0,
        fragmentation_ratio: 0.0,
        utilization_percent: 0.0,
        bandwidth_known: 0,
        bandwidth_gbps: 0.0,
        reading_age_ns: 0,
        largest_free_bytes: 0,
        limit_bytes: 0,
        device_total_bytes: 0,
        device_free_bytes: 0,
    };
}

impl Default for ferrum_memory_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// A counter with its peak.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_gauge {
    /// The value now.
    pub current: u64,
    /// The highest value so far.
    pub peak: u64,
}

/// Counters of a device, a pool or a manager. All are bytes except for the counts.
/// In every record reserved = active + cached + unusable.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_statistics {
    pub struct_size: u32,
    pub reserved_field: u32,
    /// Bytes that callers requested for the live blocks.
    pub requested: ferrum_gauge,
    /// Bytes of the live blocks, with rounding.
    pub allocated: ferrum_gauge,
    /// Bytes of the live blocks, and of freed blocks that queued work may still
    /// use.
    pub active: ferrum_gauge,
    /// Free bytes that the pool holds and can allocate.
    pub cached: ferrum_gauge,
    /// Free bytes that the pool holds and cannot allocate now: the runs are too
    /// short or at the wrong place.
    pub unusable: ferrum_gauge,
    /// Bytes that the pool holds from the driver.
    pub reserved: ferrum_gauge,
    /// Number of live blocks.
    pub live_blocks: ferrum_gauge,
    /// Number of segments from the driver.
    pub segments: ferrum_gauge,
    /// Number of successful allocations so far.
    pub allocations: u64,
    /// Number of frees so far.
    pub frees: u64,
    /// Number of allocations that failed for lack of memory.
    pub failures: u64,
    /// Longest free run.
    pub largest_free_bytes: u64,
    /// The part of cached that is in thread caches.
    pub thread_cached_bytes: u64,
}

impl ferrum_statistics {
    /// The values of `FERRUM_STATISTICS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_statistics>() as u32,
        reserved_field: 0,
        requested: ferrum_gauge {
            current: 0,
            peak: 0,
        },
        allocated: ferrum_gauge {
            current: 0,
            peak: 0,
        },
        active: ferrum_gauge {
            current: 0,
            peak: 0,
        },
        cached: ferrum_gauge {
            current: 0,
            peak: 0,
        },
        unusable: ferrum_gauge {
            current: 0,
            peak: 0,
        },
        reserved: ferrum_gauge {
            current: 0,
            peak: 0,
        },
        live_blocks: ferrum_gauge {
            current: 0,
            peak: 0,
        },
        segments: ferrum_gauge {
            current: 0,
            peak: 0,
        },
        allocations: 0,
        frees: 0,
        failures: 0,
        largest_free_bytes: 0,
        thread_cached_bytes: 0,
    };
}

impl Default for ferrum_statistics {
    fn default() -> Self {
        Self::INIT
    }
}

/// A copy by address, within one device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_address_copy {
    /// Address of the first byte to read.
    pub source: ferrum_address,
    /// Address of the first byte to write.
    pub destination: ferrum_address,
    /// Number of bytes; not 0.
    pub size_bytes: u64,
}

/// Settings of a pool.
///
/// A paged pool reserves far more addresses than it needs, and has memory only where
/// its blocks lie. An allocation maps the missing pages. The pool releases pages
/// without a block to the device, wherever they lie, when no allocation has needed
/// them for some tens of milliseconds. It keeps ready_pages of them. So the memory
/// of the pool follows its blocks.
///
/// A segmented pool allocates memory in large segments and releases empty segments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_pool_config {
    pub struct_size: u32,
    /// Grow when full (1), or stay within the initial size (0).
    pub enable_auto_expansion: u32,
    /// Size of the first segment, which the first allocation takes from the device:
    /// FERRUM_INITIAL_SIZE_AUTO (1 GiB), 0 (growth_increment_bytes), or bytes. The
    /// first two become max_size_bytes where that is less; bytes above max_size_bytes
    /// are an error. The segment is smaller where the device has less memory, and an
    /// eighth of the device where it would be more than half of the device. A paged
    /// pool takes nothing beforehand: for a paged pool this is the upper bound if it
    /// does not grow, and the size for pre_allocate.
    pub initial_size_bytes: u64,
    /// Upper bound of the memory that the pool holds; 0: none.
    pub max_size_bytes: u64,
    /// Size of each further segment. A segment is larger if a request needs it, and
    /// smaller under the same conditions as the first segment. A paged pool grows
    /// by the missing pages.
    pub growth_increment_bytes: u64,
    /// Alignment of every block, a power of two; 0: 256. Sizes are rounded up to
    /// it. Some strategies and the thread caches round further;
    /// ferrum_pool_usable_size returns the size of a block.
    pub alignment_bytes: u64,
    /// Allocate the memory when the pool is created (1): max_size_bytes, or
    /// initial_size_bytes if there is no upper bound. The creation fails if not all
    /// of it is available. A paged pool keeps these pages until a trim or another
    /// pool requests them.
    pub pre_allocate: u32,
    /// Record peaks and counts (1). Current values are always recorded.
    pub enable_stats: u32,
    /// Placement strategy; NULL: the default. All strategies keep their tables
    /// outside the memory that they manage.
    ///
    /// "best_fit"    the smallest free run that is large enough; uses the
    /// expected lifetime of a request
    /// "size_class"  small blocks in slabs of size classes, large ones as
    /// best_fit
    /// "tlsf"        two-level segregated fit: constant time in the worst case
    /// "buddy"       powers of two
    /// "arena"       one block after the other; all memory is free again when
    /// the last block is freed
    /// "fixed"       blocks of fixed_block_bytes, such as KV blocks, placed so
    /// that pages of page_bytes become empty
    pub strategy: *const c_char,
    /// Name of the pool in reports, and tag of its blocks; NULL: none. At most 63
    /// bytes.
    pub name: *const c_char,
    /// Record the time of every allocation (1), for ages in reports. It makes each
    /// call slower, and every call then bypasses the thread caches.
    pub tracking: u32,
    /// Sum of FERRUM_DEBUG_\* flags; 0: none. FERRUM_DEBUG in the environment adds
    /// flags for all pools. Every call of a pool in debug mode bypasses the thread
    /// caches.
    pub debug: u32,
    /// Size of the freed small and medium blocks that each thread may keep for its
    /// own next calls: FERRUM_THREAD_CACHE_AUTO, 0 (off), or bytes. The counters
    /// count these blocks as cached. The library takes them back before memory runs
    /// out.
    pub thread_cache_bytes: u64,
    /// Memory that the pool always keeps: no trim, no request of another pool and
    /// no release threshold reduces the pool below it.
    pub min_held_bytes: u64,
    /// While the pool holds more than this, a segment or a page that a free leaves
    /// without a block is released at once; UINT64_MAX: never at once. A block in a
    /// thread cache still occupies its segment.
    pub release_threshold_bytes: u64,
    /// Block size of "fixed", which requires it; 0 for every other strategy.
    pub fixed_block_bytes: u64,
    /// Page size of "fixed", a power of two; 0: the page size of the memory, or 2
    /// MiB in segments. 0 for every other strategy.
    pub page_bytes: u64,
    /// FERRUM_PAGING_\*
    pub paging: ferrum_paging,
    /// Number of idle pages that stay mapped for the next allocations: a number,
    /// FERRUM_READY_PAGES_AUTO (8, but at most one for each 64 pages in use), or
    /// FERRUM_READY_PAGES_ALL (idle pages are released only on request).
    pub ready_pages: u32,
    /// Page size of the memory, a power of two of at least
    /// ferrum_page_sizes.minimum_bytes; 0: the size that the device recommends, and
    /// on CUDA also pages of 32 MiB where a block contains a whole one. A segmented
    /// pool ignores it.
    pub physical_page_bytes: u64,
    /// FERRUM_SEGMENTS_\*. With FERRUM_SEGMENTS_STREAM_ORDERED, FERRUM_PAGING_AUTO
    /// means off, and FERRUM_PAGING_ON returns FERRUM_ERROR_INVALID_CONFIG.
    pub segment_source: ferrum_segment_source,
    pub reserved: u32,
}

impl ferrum_pool_config {
    /// The values of `FERRUM_POOL_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_pool_config>() as u32,
        enable_auto_expansion: 1,
        initial_size_bytes: 18_446_744_073_709_551_615,
        max_size_bytes: 0,
        growth_increment_bytes: 536_870_912,
        alignment_bytes: 256,
        pre_allocate: 0,
        enable_stats: 1,
        strategy: core::ptr::null(),
        name: core::ptr::null(),
        tracking: 0,
        debug: 0,
        thread_cache_bytes: 18_446_744_073_709_551_615,
        min_held_bytes: 0,
        release_threshold_bytes: 18_446_744_073_709_551_615,
        fixed_block_bytes: 0,
        page_bytes: 0,
        paging: 0,
        ready_pages: 4_294_967_295,
        physical_page_bytes: 0,
        segment_source: 0,
        reserved: 0,
    };
}

impl Default for ferrum_pool_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// A request for a block, with all options.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_pool_request {
    pub struct_size: u32,
    /// A number of ferrum_pool_get_tag; 0: the pool's name.
    pub tag: u32,
    /// Not 0; rounded up to the pool's alignment.
    pub size_bytes: u64,
    /// A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's alignment.
    pub alignment_bytes: u64,
    /// Optional: the first stream that uses the block. The block belongs to it.
    pub stream: ferrum_stream,
    /// Expected lifetime of the block from now on; 0: not known. It only affects
    /// the placement, and may be wrong.
    pub expected_lifetime_ns: u64,
    /// A number that is equal for blocks that will probably be freed together, such
    /// as the number of a request; 0: none. It only affects the placement.
    pub group: u64,
}

impl ferrum_pool_request {
    /// The values of `FERRUM_POOL_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_pool_request>() as u32,
        tag: 0,
        size_bytes: 0,
        alignment_bytes: 0,
        stream: ferrum_stream { id: 0 },
        expected_lifetime_ns: 0,
        group: 0,
    };
}

impl Default for ferrum_pool_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A graph at one moment. Graphs that share a private pool have the same numbers
/// for it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_graph_info {
    pub struct_size: u32,
    /// 1 until ferrum_pool_capture_end.
    pub capturing: u32,
    /// Graphs of the private pool, this one included.
    pub sharing: u64,
    /// Memory that the private pool holds from the device.
    pub held_bytes: u64,
    /// Size of the live blocks of the private pool.
    pub live_bytes: u64,
    /// Number of live blocks of the private pool.
    pub live_blocks: u64,
    /// Freed blocks from before the capture that wait until the graph is released.
    pub parked_bytes: u64,
}

impl ferrum_graph_info {
    /// The values of `FERRUM_GRAPH_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_graph_info>() as u32,
        capturing: 0,
        sharing: 0,
        held_bytes: 0,
        live_bytes: 0,
        live_blocks: 0,
        parked_bytes: 0,
    };
}

impl Default for ferrum_graph_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// Memory of a pool at one moment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_pool_info {
    pub struct_size: u32,
    pub reserved: u32,
    /// Memory that the pool holds from the device.
    pub held_bytes: u64,
    /// Size of its pages; 0: the pool allocates whole segments, and the counts of
    /// pages are 0.
    pub page_bytes: u64,
    /// Number of mapped pages.
    pub mapped_pages: u64,
    /// Number of mapped pages without a block. The next allocations use them.
    pub idle_pages: u64,
    /// Number of idle pages that stay mapped, for the present number of pages in
    /// use.
    pub ready_pages: u64,
    /// Number of segments, or of address ranges in which pages are mapped.
    pub segments: u64,
    /// Size of their addresses.
    pub address_bytes: u64,
}

impl ferrum_pool_info {
    /// The values of `FERRUM_POOL_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_pool_info>() as u32,
        reserved: 0,
        held_bytes: 0,
        page_bytes: 0,
        mapped_pages: 0,
        idle_pages: 0,
        ready_pages: 0,
        segments: 0,
        address_bytes: 0,
    };
}

impl Default for ferrum_pool_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// The owner of an address.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_block_info {
    pub struct_size: u32,
    /// State of the memory at the address.
    pub state: ferrum_block_state,
    /// The pool, or {0} when the owner is not a pool.
    pub pool: ferrum_pool,
    /// The manager that owns the pool, or 0.
    pub manager: u64,
    /// Start of the block or of the free run. In a virtual pool, start of the range
    /// or, where no range is mapped, of the page.
    pub address: u64,
    /// Its size with rounding.
    pub size_bytes: u64,
    /// The requested size; 0 when the block is neither live nor asleep.
    pub requested_bytes: u64,
    /// Time since the allocation; 0 without tracking, or when the block is neither
    /// live nor asleep.
    pub age_ns: u64,
    /// Name of the pool.
    pub pool_name: [c_char; 64],
    /// Tag of the block; empty when the block is neither live nor asleep.
    pub tag: [c_char; 64],
    /// The virtual pool, or {0} when the owner is not a virtual pool.
    pub vpool: ferrum_vpool,
    /// The elastic pool, or {0} when the owner is not an elastic pool.
    pub elastic_pool: ferrum_elastic_pool,
    /// Id of the model of the elastic pool, or empty.
    pub model: [c_char; 64],
}

impl ferrum_block_info {
    /// The values of `FERRUM_BLOCK_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_block_info>() as u32,
        state: 0,
        pool: ferrum_pool { id: 0 },
        manager: 0,
        address: 0,
        size_bytes: 0,
        requested_bytes: 0,
        age_ns: 0,
        pool_name: [0; 64],
        tag: [0; 64],
        vpool: ferrum_vpool { id: 0 },
        elastic_pool: ferrum_elastic_pool { id: 0 },
        model: [0; 64],
    };
}

impl Default for ferrum_block_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// Settings of a manager.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_manager_config {
    pub struct_size: u32,
    /// Record the age and the tag of each block, and statistics (1).
    pub enable_tracking: u32,
    /// Release cached memory when gc_threshold is reached (1).
    pub enable_auto_gc: u32,
    /// Fill new blocks with 0xCD and freed blocks with 0xDD (1). Allocations then
    /// wait for the fill.
    pub enable_debug: u32,
    /// Used share of the device, or of its limit where that is less, from 0
    /// (exclusive) to 1, that starts a collection.
    pub gc_threshold: f32,
    /// Number of asynchronous copies in flight at once, 1 to 1024.
    pub max_concurrent_transfers: u32,
    /// Pool settings by FERRUM_MEMORY_\*. NULL for a type: its blocks come from the
    /// pool of FERRUM_MEMORY_GENERAL. NULL for FERRUM_MEMORY_GENERAL: the defaults.
    /// Entries beyond the known types must be NULL.
    pub pool_configs: [*const ferrum_pool_config; 8],
}

impl ferrum_manager_config {
    /// The values of `FERRUM_MANAGER_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_manager_config>() as u32,
        enable_tracking: 1,
        enable_auto_gc: 1,
        enable_debug: 0,
        gc_threshold: 0.85,
        max_concurrent_transfers: 4,
        pool_configs: [core::ptr::null(); 8],
    };
}

impl Default for ferrum_manager_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// A request for a block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_allocation_request {
    pub struct_size: u32,
    /// FERRUM_MEMORY_\*
    pub memory_type: ferrum_memory_type,
    /// Not 0.
    pub size_bytes: u64,
    /// A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's.
    pub alignment_bytes: u64,
    /// Name for the counters, at most 63 bytes; NULL: none.
    pub tag: *const c_char,
    /// 0, or FERRUM_ALLOCATE_RELOCATABLE.
    pub flags: u32,
    pub reserved: u32,
}

impl ferrum_allocation_request {
    /// The values of `FERRUM_ALLOCATION_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_allocation_request>() as u32,
        memory_type: 0,
        size_bytes: 0,
        alignment_bytes: 0,
        tag: core::ptr::null(),
        flags: 0,
        reserved: 0,
    };
}

impl Default for ferrum_allocation_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// Description of a block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_handle_info {
    pub struct_size: u32,
    /// FERRUM_MEMORY_\*
    pub memory_type: ferrum_memory_type,
    /// The block.
    pub memory: ferrum_memory,
    /// Its manager.
    pub manager: ferrum_manager,
    /// The device of its manager.
    pub device: ferrum_device,
    /// The requested size.
    pub size_bytes: u64,
    /// The size with rounding.
    pub allocated_bytes: u64,
    /// Largest power of two that divides the address, at most
    /// FERRUM_ALIGNMENT_MAX.
    pub alignment_bytes: u64,
    /// Address of the block. For a relocatable block that is not pinned, address
    /// and host_pointer are valid until the next ferrum_manager_defragment of the
    /// manager.
    pub address: ferrum_address,
    /// Address of the block for the host, or NULL if the host cannot address the
    /// block. ferrum_memory_map returns a pointer for every block.
    pub host_pointer: *mut c_void,
    /// Monotonic time of the allocation since ferrum_init.
    pub allocated_at_ns: u64,
    /// 1 while a call of this library has mapped the block for the host.
    pub is_mapped: u32,
    /// Asynchronous operations in flight on the block.
    pub operations_in_flight: u32,
    /// Name in the counters, or empty.
    pub tag: [c_char; 64],
    /// 1 if it was requested with FERRUM_ALLOCATE_RELOCATABLE.
    pub is_relocatable: u32,
    /// Number of ferrum_memory_pin calls without a ferrum_memory_unpin.
    pub pin_count: u32,
    /// The block of another device that is the same memory
    /// (ferrum_manager_create_mapping); {0}: none, or it has ended.
    pub linked: ferrum_memory,
    /// 1 if the memory is external (ferrum_manager_adopt).
    pub is_adopted: u32,
    /// 1 if it was adopted as read-only memory.
    pub is_read_only: u32,
}

impl ferrum_handle_info {
    /// The values of `FERRUM_HANDLE_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_handle_info>() as u32,
        memory_type: 0,
        memory: ferrum_memory { id: 0 },
        manager: ferrum_manager { id: 0 },
        device: ferrum_device { id: 0 },
        size_bytes: 0,
        allocated_bytes: 0,
        alignment_bytes: 0,
        address: 0,
        host_pointer: core::ptr::null_mut(),
        allocated_at_ns: 0,
        is_mapped: 0,
        operations_in_flight: 0,
        tag: [0; 64],
        is_relocatable: 0,
        pin_count: 0,
        linked: ferrum_memory { id: 0 },
        is_adopted: 0,
        is_read_only: 0,
    };
}

impl Default for ferrum_handle_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// A copy between two blocks of one device or of two devices.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_transfer {
    pub struct_size: u32,
    pub reserved: u32,
    /// The block to read.
    pub src: ferrum_memory,
    /// The block to write.
    pub dst: ferrum_memory,
    /// Not 0.
    pub size_bytes: u64,
    /// First byte in the source.
    pub src_offset_bytes: u64,
    /// First byte in the destination.
    pub dst_offset_bytes: u64,
}

impl ferrum_transfer {
    /// The values of `FERRUM_TRANSFER_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_transfer>() as u32,
        reserved: 0,
        src: ferrum_memory { id: 0 },
        dst: ferrum_memory { id: 0 },
        size_bytes: 0,
        src_offset_bytes: 0,
        dst_offset_bytes: 0,
    };
}

impl Default for ferrum_transfer {
    fn default() -> Self {
        Self::INIT
    }
}

/// A range of a block, and a pattern to fill it with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_fill {
    pub struct_size: u32,
    /// Bytes of the pattern: 1, 2 or 4.
    pub pattern_bytes: u32,
    /// The block.
    pub memory: ferrum_memory,
    /// A multiple of pattern_bytes.
    pub offset_bytes: u64,
    /// A multiple of pattern_bytes, not 0.
    pub size_bytes: u64,
    /// The pattern, in the low bytes; the others must be zero.
    pub pattern: u32,
    pub reserved: u32,
}

impl ferrum_fill {
    /// The values of `FERRUM_FILL_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_fill>() as u32,
        pattern_bytes: 1,
        memory: ferrum_memory { id: 0 },
        offset_bytes: 0,
        size_bytes: 0,
        pattern: 0,
        reserved: 0,
    };
}

impl Default for ferrum_fill {
    fn default() -> Self {
        Self::INIT
    }
}

/// Result of a defragmentation. Each block that was live counts once: as moved, as
/// kept, or as skipped for the first reason that applies.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_defragmentation_stats {
    pub struct_size: u32,
    /// Fragmentation ratio before.
    pub fragmentation_before: f32,
    /// Fragmentation ratio after.
    pub fragmentation_after: f32,
    pub reserved: u32,
    /// Bytes released to the system.
    pub memory_freed_bytes: u64,
    /// Blocks moved to another address.
    pub blocks_moved: u64,
    /// Blocks that could not be moved: the sum of the reasons below.
    pub blocks_skipped: u64,
    /// Time taken.
    pub time_taken_ns: u64,
    /// The same in milliseconds, rounded up.
    pub time_taken_ms: u64,
    /// Requested size of the moved blocks.
    pub bytes_moved: u64,
    /// Pages without a block after the moves.
    pub pages_emptied: u64,
    /// Segments without a block after the moves, in segmented pools.
    pub segments_emptied: u64,
    /// Blocks that could have been moved, but whose move would not have freed a
    /// page.
    pub blocks_kept: u64,
    /// Blocks without FERRUM_ALLOCATE_RELOCATABLE.
    pub skipped_not_relocatable: u64,
    /// Blocks that a debug mode of the manager or the pool has filled with patterns
    /// or surrounded with red zones.
    pub skipped_debugged: u64,
    /// Pinned blocks.
    pub skipped_pinned: u64,
    /// Blocks that were used on a stream with queued work.
    pub skipped_in_use: u64,
    /// Blocks of pages that could not be emptied: there were enough free bytes
    /// outside the page, but no free run that was long enough.
    pub skipped_no_room: u64,
    /// Blocks that were not considered before the budget ended.
    pub skipped_over_budget: u64,
    /// 1 if the budget ended before the defragmentation was complete.
    pub budget_ended: u32,
    pub reserved_end: u32,
    /// Blocks that are mapped for the host (ferrum_memory_map). This reason comes
    /// after skipped_pinned.
    pub skipped_mapped: u64,
}

impl ferrum_defragmentation_stats {
    /// The values of `FERRUM_DEFRAGMENTATION_STATS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_defragmentation_stats>() as u32,
        fragmentation_before: 0.0,
        fragmentation_after: 0.0,
        reserved: 0,
        memory_freed_bytes: 0,
        blocks_moved: 0,
        blocks_skipped: 0,
        time_taken_ns: 0,
        time_taken_ms: 0,
        bytes_moved: 0,
        pages_emptied: 0,
        segments_emptied: 0,
        blocks_kept: 0,
        skipped_not_relocatable: 0,
        skipped_debugged: 0,
        skipped_pinned: 0,
        skipped_in_use: 0,
        skipped_no_room: 0,
        skipped_over_budget: 0,
        budget_ended: 0,
        reserved_end: 0,
        skipped_mapped: 0,
    };
}

impl Default for ferrum_defragmentation_stats {
    fn default() -> Self {
        Self::INIT
    }
}

/// Settings of a reclaim callback.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_reclaim_config {
    pub struct_size: u32,
    /// Callbacks with a lower number are called first; those with equal numbers in
    /// the order of registration.
    pub priority: i32,
    /// The longest time that an allocation waits for the callback; 0: 100 ms. A
    /// value above INT64_MAX returns FERRUM_ERROR_INVALID_ARGUMENT.
    pub deadline_ns: u64,
}

impl ferrum_reclaim_config {
    /// The values of `FERRUM_RECLAIM_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_reclaim_config>() as u32,
        priority: 0,
        deadline_ns: 0,
    };
}

impl Default for ferrum_reclaim_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// The page sizes of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_page_sizes {
    pub struct_size: u32,
    pub reserved: u32,
    /// The smallest page size of a virtual pool. Larger page sizes are powers of
    /// two.
    pub minimum_bytes: u64,
    /// The page size that works best. page_bytes 0 selects it.
    pub recommended_bytes: u64,
}

impl ferrum_page_sizes {
    /// The values of `FERRUM_PAGE_SIZES_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_page_sizes>() as u32,
        reserved: 0,
        minimum_bytes: 0,
        recommended_bytes: 0,
    };
}

impl Default for ferrum_page_sizes {
    fn default() -> Self {
        Self::INIT
    }
}

/// Settings of a virtual pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_vpool_config {
    pub struct_size: u32,
    /// No flag is defined: 0.
    pub flags: u32,
    /// Address space, rounded up to whole pages; not 0.
    pub capacity_bytes: u64,
    /// A power of two of at least ferrum_page_sizes.minimum_bytes; 0: the
    /// recommended size of the device.
    pub page_bytes: u64,
    /// Upper bound of the memory; 0: the memory of the device.
    pub limit_bytes: u64,
    /// Name in reports, and tag of ranges without a tag; NULL: none. At most 63
    /// bytes.
    pub name: *const c_char,
    /// Number of pages that are kept ready while no allocation needs them: up to
    /// 65536, or FERRUM_READY_PAGES_AUTO.
    pub ready_pages: u32,
    /// FERRUM_BACKING_\*
    pub backing: ferrum_backing,
}

impl ferrum_vpool_config {
    /// The values of `FERRUM_VPOOL_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_vpool_config>() as u32,
        flags: 0,
        capacity_bytes: 0,
        page_bytes: 0,
        limit_bytes: 0,
        name: core::ptr::null(),
        ready_pages: 4_294_967_295,
        backing: 0,
    };
}

impl Default for ferrum_vpool_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// A request for a range of a virtual pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_vpool_request {
    pub struct_size: u32,
    pub reserved: u32,
    /// Offset from the base address.
    pub offset_bytes: u64,
    /// Not 0.
    pub size_bytes: u64,
    /// Name for the counters, at most 63 bytes; NULL or empty: the pool's name.
    pub tag: *const c_char,
    /// How long to wait while the tag, the whole pool or a range at that offset is
    /// asleep, in nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at
    /// once.
    pub asleep_wait_ns: u64,
    /// The first stream that uses the range. A free of the range waits for the work
    /// of this stream. {0}: the default stream.
    pub stream: ferrum_stream,
}

impl ferrum_vpool_request {
    /// The values of `FERRUM_VPOOL_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_vpool_request>() as u32,
        reserved: 0,
        offset_bytes: 0,
        size_bytes: 0,
        tag: core::ptr::null(),
        asleep_wait_ns: 0,
        stream: ferrum_stream { id: 0 },
    };
}

impl Default for ferrum_vpool_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A range of a virtual pool, or of a model of an elastic pool.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_byte_range {
    /// Offset from the base address.
    pub offset_bytes: u64,
    /// Not 0.
    pub size_bytes: u64,
}

/// Settings that apply to all allocations of a batch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_batch_options {
    pub struct_size: u32,
    pub reserved: u32,
    /// As in ferrum_vpool_request; for a model as in ferrum_model_request.
    pub tag: *const c_char,
    /// As in ferrum_vpool_request.
    pub asleep_wait_ns: u64,
    /// The first stream that uses the ranges. {0}: the default stream.
    pub stream: ferrum_stream,
}

impl ferrum_batch_options {
    /// The values of `FERRUM_BATCH_OPTIONS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_batch_options>() as u32,
        reserved: 0,
        tag: core::ptr::null(),
        asleep_wait_ns: 0,
        stream: ferrum_stream { id: 0 },
    };
}

impl Default for ferrum_batch_options {
    fn default() -> Self {
        Self::INIT
    }
}

/// A virtual pool at one moment. Fields that end in _pages are counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_vpool_info {
    pub struct_size: u32,
    /// 1 - mapped pages / all pages.
    pub unmapped_share: f32,
    /// 1 - longest free run / free address space; 0 when nothing is free.
    pub fragmentation: f32,
    pub reserved: u32,
    /// Start of the address space.
    pub base_address: ferrum_address,
    /// Size of a page.
    pub page_bytes: u64,
    /// Size of the address space, in whole pages.
    pub virtual_capacity_bytes: u64,
    /// Memory of mapped and retiring pages.
    pub physical_bytes: u64,
    /// The highest physical_bytes so far.
    pub peak_physical_bytes: u64,
    /// The sizes that were requested for the mapped pages.
    pub requested_bytes: u64,
    /// Pages of live ranges.
    pub mapped_pages: u64,
    /// Pages of freed ranges that queued work may still use.
    pub retiring_pages: u64,
    /// Pages of freed ranges that stay mapped. An allocation at the same place
    /// reuses them at once; any other allocation has to unmap them first.
    pub parked_pages: u64,
    /// Pages that are mapped nowhere and are ready for any range.
    pub ready_pages: u64,
    /// Memory that the pool holds from the device: mapped, retiring, parked and
    /// ready pages.
    pub held_bytes: u64,
    /// The present limit.
    pub limit_bytes: u64,
    /// Bytes that can still be mapped within the limit.
    pub available_bytes: u64,
    /// Longest run of free address space.
    pub largest_free_run_bytes: u64,
    /// Successful allocations so far.
    pub allocations: u64,
    /// Address space of the pool's tables. Only used parts have memory.
    pub table_bytes: u64,
    /// Pages of ranges that are asleep. They have no memory.
    pub asleep_pages: u64,
    /// Bytes of ranges that are asleep.
    pub asleep_bytes: u64,
    /// Host memory with the contents of ranges that are asleep.
    pub asleep_host_bytes: u64,
    /// Disk space with the contents of ranges that are asleep.
    pub asleep_file_bytes: u64,
    /// Bytes of ranges that are asleep and whose contents were discarded.
    pub asleep_discarded_bytes: u64,
    /// Sleep calls so far.
    pub sleeps: u64,
    /// Wake calls so far.
    pub wakes: u64,
    /// Time of all sleep calls.
    pub sleep_ns: u64,
    /// Time of all wake calls.
    pub wake_ns: u64,
    /// Sleep calls so far that failed after they had begun.
    pub sleep_failures: u64,
    /// Wake calls so far that failed after they had begun.
    pub wake_failures: u64,
}

impl ferrum_vpool_info {
    /// The values of `FERRUM_VPOOL_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_vpool_info>() as u32,
        unmapped_share: 0.0,
        fragmentation: 0.0,
        reserved: 0,
        base_address: 0,
        page_bytes: 0,
        virtual_capacity_bytes: 0,
        physical_bytes: 0,
        peak_physical_bytes: 0,
        requested_bytes: 0,
        mapped_pages: 0,
        retiring_pages: 0,
        parked_pages: 0,
        ready_pages: 0,
        held_bytes: 0,
        limit_bytes: 0,
        available_bytes: 0,
        largest_free_run_bytes: 0,
        allocations: 0,
        table_bytes: 0,
        asleep_pages: 0,
        asleep_bytes: 0,
        asleep_host_bytes: 0,
        asleep_file_bytes: 0,
        asleep_discarded_bytes: 0,
        sleeps: 0,
        wakes: 0,
        sleep_ns: 0,
        wake_ns: 0,
        sleep_failures: 0,
        wake_failures: 0,
    };
}

impl Default for ferrum_vpool_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// Result of a compaction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_compact_report {
    pub struct_size: u32,
    pub reserved: u32,
    /// Pages that were retiring and whose work had completed.
    pub landed_pages: u64,
    /// Pages that were parked and are now ready for any range.
    pub unmapped_pages: u64,
    /// Memory that was released to the device.
    pub released_bytes: u64,
    /// Runs of adjacent pages among the unused pages, before. An allocation needs
    /// one mapping of the system for each run.
    pub runs_before: u64,
    /// The same after the compaction.
    pub runs_after: u64,
}

impl ferrum_compact_report {
    /// The values of `FERRUM_COMPACT_REPORT_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_compact_report>() as u32,
        reserved: 0,
        landed_pages: 0,
        unmapped_pages: 0,
        released_bytes: 0,
        runs_before: 0,
        runs_after: 0,
    };
}

impl Default for ferrum_compact_report {
    fn default() -> Self {
        Self::INIT
    }
}

/// Settings of an elastic pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_elastic_pool_config {
    pub struct_size: u32,
    /// No flag is defined: 0.
    pub flags: u32,
    /// Upper bound of the memory of all models together, in whole pages; 0: the
    /// memory of the device. A limit above the memory of the device is rejected.
    /// For example, 32 GiB is rejected on a device with 24 GiB. A program that runs
    /// on several machines can use the smaller of its number and total_bytes. The
    /// virtual_bytes of the models have no such bound: together they may exceed the
    /// limit.
    pub limit_bytes: u64,
    /// The same as in ferrum_vpool_config.
    pub page_bytes: u64,
    /// Name in reports; NULL: none. At most 63 bytes.
    pub name: *const c_char,
    /// The same as in ferrum_vpool_config.
    pub ready_pages: u32,
    /// FERRUM_BACKING_MOVABLE, FERRUM_BACKING_PRIVATE or FERRUM_BACKING_RDMA
    pub backing: ferrum_backing,
}

impl ferrum_elastic_pool_config {
    /// The values of `FERRUM_ELASTIC_POOL_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_elastic_pool_config>() as u32,
        flags: 0,
        limit_bytes: 0,
        page_bytes: 0,
        name: core::ptr::null(),
        ready_pages: 4_294_967_295,
        backing: 0,
    };
}

impl Default for ferrum_elastic_pool_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// Settings of a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_model_config {
    pub struct_size: u32,
    /// When pages are short, models of lower priority release pages first, and
    /// allocations of models of higher priority are served first.
    pub priority: i32,
    /// Address space, rounded up to whole pages; not 0.
    pub virtual_bytes: u64,
    /// The part of the limit that is kept for this model, rounded up to whole
    /// pages. The guarantees of all models together are within the limit. Each
    /// guarantee is backed by pages that no other model uses or has as its
    /// guarantee.
    pub guaranteed_bytes: u64,
    /// Upper bound of the memory of the model, in whole pages; 0: no bound of its
    /// own.
    pub max_bytes: u64,
    /// Pages of this model may pass to another unscrubbed model without being set
    /// to zero (1).
    pub unscrubbed: u32,
    /// The part of guaranteed_bytes that has no pages yet waits (1), or the call
    /// fails (0). A waiting part takes effect as pages become free, before waiting
    /// allocations get these pages.
    pub guarantee_may_wait: u32,
}

impl ferrum_model_config {
    /// The values of `FERRUM_MODEL_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_model_config>() as u32,
        priority: 0,
        virtual_bytes: 0,
        guaranteed_bytes: 0,
        max_bytes: 0,
        unscrubbed: 0,
        guarantee_may_wait: 0,
    };
}

impl Default for ferrum_model_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// A request for a range of a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_model_request {
    pub struct_size: u32,
    /// The range starts at offset_bytes and contains every page that it touches
    /// (1), or the library chooses the offset (0).
    pub at_offset: u32,
    /// Offset from the model's base address; 0 where at_offset is 0.
    pub offset_bytes: u64,
    /// Not 0.
    pub size_bytes: u64,
    /// Name for the counters, at most 63 bytes; NULL or empty: the model's id.
    pub tag: *const c_char,
    /// How long to wait while the tag, the model or the ranges at that offset are
    /// asleep, in nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at
    /// once.
    pub asleep_wait_ns: u64,
    /// The first stream that uses the range. A free of the range waits for the work
    /// of this stream. {0}: the default stream.
    pub stream: ferrum_stream,
}

impl ferrum_model_request {
    /// The values of `FERRUM_MODEL_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_model_request>() as u32,
        at_offset: 0,
        offset_bytes: 0,
        size_bytes: 0,
        tag: core::ptr::null(),
        asleep_wait_ns: 0,
        stream: ferrum_stream { id: 0 },
    };
}

impl Default for ferrum_model_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A model at one moment. Fields that end in _pages are counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_model_info {
    pub struct_size: u32,
    /// Its priority.
    pub priority: i32,
    /// 1 - mapped pages / all pages of its address space.
    pub unmapped_share: f32,
    /// 1 - longest free run / free address space; 0 when nothing is free.
    pub fragmentation: f32,
    /// Start of its address space.
    pub base_address: ferrum_address,
    /// Size of a page.
    pub page_bytes: u64,
    /// Size of its address space, in whole pages.
    pub virtual_capacity_bytes: u64,
    /// Memory of mapped and retiring pages.
    pub physical_bytes: u64,
    /// The highest physical_bytes so far.
    pub peak_physical_bytes: u64,
    /// The sizes that were requested for the mapped pages.
    pub requested_bytes: u64,
    /// Pages of live ranges.
    pub mapped_pages: u64,
    /// Pages of freed ranges that queued work may still use.
    pub retiring_pages: u64,
    /// Pages of freed ranges that stay mapped for reuse.
    pub parked_pages: u64,
    /// Unused memory that this model was the last to use.
    pub cached_bytes: u64,
    /// The part of its guarantee that is in effect.
    pub guaranteed_bytes: u64,
    /// 0: no bound of its own.
    pub max_bytes: u64,
    /// Bytes that the model can allocate at once, without pages of other models.
    pub available_bytes: u64,
    /// Longest run of free address space.
    pub largest_free_run_bytes: u64,
    /// Successful allocations so far.
    pub allocations: u64,
    /// Frees so far.
    pub frees: u64,
    /// Allocations so far that failed for lack of memory.
    pub failures: u64,
    /// Allocations so far that had to wait.
    pub waits: u64,
    /// Time that they waited in all.
    pub waited_ns: u64,
    /// Calls so far of its reclaim callbacks.
    pub reclaim_calls: u64,
    /// Bytes that its reclaim callbacks reported as freed.
    pub reclaimed_bytes: u64,
    /// Address space of its tables. Only used parts have memory.
    pub table_bytes: u64,
    /// Pages of ranges that are asleep. They have no memory.
    pub asleep_pages: u64,
    /// Bytes of ranges that are asleep.
    pub asleep_bytes: u64,
    /// Host memory with the contents of ranges that are asleep.
    pub asleep_host_bytes: u64,
    /// Disk space with the contents of ranges that are asleep.
    pub asleep_file_bytes: u64,
    /// Bytes of ranges that are asleep and whose contents were discarded.
    pub asleep_discarded_bytes: u64,
    /// Sleep calls so far.
    pub sleeps: u64,
    /// Wake calls so far.
    pub wakes: u64,
    /// Time of all sleep calls.
    pub sleep_ns: u64,
    /// Time of all wake calls.
    pub wake_ns: u64,
    /// Sleep calls so far that failed after they had begun.
    pub sleep_failures: u64,
    /// Wake calls so far that failed after they had begun.
    pub wake_failures: u64,
    /// The requested guarantee. The part above guaranteed_bytes waits for pages.
    pub requested_guarantee_bytes: u64,
}

impl ferrum_model_info {
    /// The values of `FERRUM_MODEL_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_model_info>() as u32,
        priority: 0,
        unmapped_share: 0.0,
        fragmentation: 0.0,
        base_address: 0,
        page_bytes: 0,
        virtual_capacity_bytes: 0,
        physical_bytes: 0,
        peak_physical_bytes: 0,
        requested_bytes: 0,
        mapped_pages: 0,
        retiring_pages: 0,
        parked_pages: 0,
        cached_bytes: 0,
        guaranteed_bytes: 0,
        max_bytes: 0,
        available_bytes: 0,
        largest_free_run_bytes: 0,
        allocations: 0,
        frees: 0,
        failures: 0,
        waits: 0,
        waited_ns: 0,
        reclaim_calls: 0,
        reclaimed_bytes: 0,
        table_bytes: 0,
        asleep_pages: 0,
        asleep_bytes: 0,
        asleep_host_bytes: 0,
        asleep_file_bytes: 0,
        asleep_discarded_bytes: 0,
        sleeps: 0,
        wakes: 0,
        sleep_ns: 0,
        wake_ns: 0,
        sleep_failures: 0,
        wake_failures: 0,
        requested_guarantee_bytes: 0,
    };
}

impl Default for ferrum_model_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// Limits of a model that can be changed while it runs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_model_limits {
    pub struct_size: u32,
    /// The same as in ferrum_model_config.
    pub priority: i32,
    /// The same as in ferrum_model_config.
    pub guaranteed_bytes: u64,
    /// The same as in ferrum_model_config.
    pub max_bytes: u64,
    /// The same as in ferrum_model_config.
    pub guarantee_may_wait: u32,
    pub reserved: u32,
}

impl ferrum_model_limits {
    /// The values of `FERRUM_MODEL_LIMITS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_model_limits>() as u32,
        priority: 0,
        guaranteed_bytes: 0,
        max_bytes: 0,
        guarantee_may_wait: 0,
        reserved: 0,
    };
}

impl Default for ferrum_model_limits {
    fn default() -> Self {
        Self::INIT
    }
}

/// An elastic pool at one moment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_elastic_pool_info {
    pub struct_size: u32,
    pub reserved: u32,
    /// Size of a page.
    pub page_bytes: u64,
    /// The limit of all models together.
    pub physical_limit_bytes: u64,
    /// Memory that the models use: mapped, retiring, or granted to running
    /// allocations. It is above the limit only after the limit was lowered.
    pub physical_bytes: u64,
    /// The highest physical_bytes so far.
    pub peak_physical_bytes: u64,
    /// Number of registered models.
    pub num_models: u64,
    /// Address space of all models together.
    pub virtual_bytes: u64,
    /// Guarantees of all models together.
    pub guaranteed_bytes: u64,
    /// Memory of freed ranges that queued work may still use.
    pub retiring_bytes: u64,
    /// Memory that the pool holds from the device and no model uses.
    pub cached_bytes: u64,
    /// Memory that the pool holds from the device.
    pub held_bytes: u64,
    /// Allocations that wait now.
    pub waiting: u64,
}

impl ferrum_elastic_pool_info {
    /// The values of `FERRUM_ELASTIC_POOL_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_elastic_pool_info>() as u32,
        reserved: 0,
        page_bytes: 0,
        physical_limit_bytes: 0,
        physical_bytes: 0,
        peak_physical_bytes: 0,
        num_models: 0,
        virtual_bytes: 0,
        guaranteed_bytes: 0,
        retiring_bytes: 0,
        cached_bytes: 0,
        held_bytes: 0,
        waiting: 0,
    };
}

impl Default for ferrum_elastic_pool_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// Settings of a sleep.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_sleep_config {
    pub struct_size: u32,
    /// FERRUM_SLEEP_\*
    pub backing: ferrum_sleep_backing,
    /// Ranges with this tag, at most 63 bytes; NULL or empty: all ranges.
    pub tag: *const c_char,
    /// Directory for the file of FERRUM_SLEEP_FILE, less than FERRUM_PATH_MAX
    /// bytes; NULL or empty: the system's directory for temporary files. NULL for
    /// other places.
    pub directory: *const c_char,
    /// The call waits only for the work that is queued now on this stream and on
    /// the streams that use the ranges; {0}: for all work of the device.
    pub stream: ferrum_stream,
    /// The longest time of the call until everything is copied, in nanoseconds, or
    /// FERRUM_WAIT_FOREVER. When the time is over, the call returns
    /// FERRUM_ERROR_TIMEOUT and nothing has changed. 0: the call may copy as long
    /// as it needs, but returns FERRUM_ERROR_TIMEOUT at once if it has to wait for
    /// queued work, a load, another call or a running allocation.
    pub timeout_ns: u64,
    /// Number of simultaneous copies, each on a stream of its own, at most 64; 0:
    /// the library chooses.
    pub num_streams: u32,
    pub reserved: u32,
}

impl ferrum_sleep_config {
    /// The values of `FERRUM_SLEEP_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_sleep_config>() as u32,
        backing: 0,
        tag: core::ptr::null(),
        directory: core::ptr::null(),
        stream: ferrum_stream { id: 0 },
        timeout_ns: 18_446_744_073_709_551_615,
        num_streams: 0,
        reserved: 0,
    };
}

impl Default for ferrum_sleep_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// Result of a sleep.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_sleep_report {
    pub struct_size: u32,
    pub reserved: u32,
    /// Memory that was released: all memory of the ranges, except for pages that
    /// the device failed to unmap.
    pub released_bytes: u64,
    /// Duration of the call.
    pub elapsed_ns: u64,
    /// The file of FERRUM_SLEEP_FILE; empty for other places, and when there was
    /// nothing to write.
    pub path: [c_char; 4096],
}

impl ferrum_sleep_report {
    /// The values of `FERRUM_SLEEP_REPORT_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_sleep_report>() as u32,
        reserved: 0,
        released_bytes: 0,
        elapsed_ns: 0,
        path: [0; 4096],
    };
}

impl Default for ferrum_sleep_report {
    fn default() -> Self {
        Self::INIT
    }
}

/// Settings of a wake.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_wake_config {
    pub struct_size: u32,
    /// The same as in ferrum_sleep_config.
    pub num_streams: u32,
    /// Ranges with this tag that are asleep, at most 63 bytes; NULL or empty: all
    /// of them.
    pub tag: *const c_char,
    /// The longest time of the call, in nanoseconds, or FERRUM_WAIT_FOREVER. When
    /// the time is over, the call returns FERRUM_ERROR_TIMEOUT, and all ranges are
    /// asleep as before. 0: as in ferrum_sleep_config, and the call does not wait
    /// for memory.
    pub timeout_ns: u64,
}

impl ferrum_wake_config {
    /// The values of `FERRUM_WAKE_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_wake_config>() as u32,
        num_streams: 0,
        tag: core::ptr::null(),
        timeout_ns: 18_446_744_073_709_551_615,
    };
}

impl Default for ferrum_wake_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// Result of a wake.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_wake_report {
    pub struct_size: u32,
    pub reserved: u32,
    /// Memory that was allocated for the ranges.
    pub restored_bytes: u64,
    /// Duration of the call.
    pub elapsed_ns: u64,
}

impl ferrum_wake_report {
    /// The values of `FERRUM_WAKE_REPORT_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_wake_report>() as u32,
        reserved: 0,
        restored_bytes: 0,
        elapsed_ns: 0,
    };
}

impl Default for ferrum_wake_report {
    fn default() -> Self {
        Self::INIT
    }
}

/// Monitors the memory of several devices as one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_monitor {
    /// 0 is no monitor
    pub id: u64,
}

/// Settings of a monitor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_monitor_config {
    pub struct_size: u32,
    /// The bounds of its levels.
    pub profile: ferrum_pressure_profile,
    /// How often the monitor queries devices and system for changes of other
    /// processes while a callback is set. It learns of changes by this library at
    /// once. 0: 1 s; UINT64_MAX: never.
    pub interval_ns: u64,
    /// FERRUM_MONITOR_\* flags.
    pub flags: u32,
    pub reserved: u32,
}

impl ferrum_monitor_config {
    /// The values of `FERRUM_MONITOR_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_monitor_config>() as u32,
        profile: 0,
        interval_ns: 0,
        flags: 0,
        reserved: 0,
    };
}

impl Default for ferrum_monitor_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// The pressure level of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_device_level {
    /// The device.
    pub device: ferrum_device,
    /// Its level.
    pub level: ferrum_pressure_level,
    pub reserved: u32,
}

/// The pressure of all devices of a monitor together.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_monitor_pressure {
    pub struct_size: u32,
    /// The highest level of all devices; LOW when there is none.
    pub level: ferrum_pressure_level,
    /// The level of the sum of all known bytes, without hysteresis.
    pub weighted_level: ferrum_pressure_level,
    /// Number of devices.
    pub devices: u32,
    /// Number of devices with unknown capacity, or that could not be queried.
    pub unknown_devices: u32,
    pub reserved: u32,
    /// Sum of total_bytes of ferrum_memory_info over the known devices, so limits
    /// count. A sum above UINT64_MAX is UINT64_MAX.
    pub total_bytes: u64,
    /// Sum of total - free over the known devices.
    pub used_bytes: u64,
}

impl ferrum_monitor_pressure {
    /// The values of `FERRUM_MONITOR_PRESSURE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_monitor_pressure>() as u32,
        level: 0,
        weighted_level: 0,
        devices: 0,
        unknown_devices: 0,
        reserved: 0,
        total_bytes: 0,
        used_bytes: 0,
    };
}

impl Default for ferrum_monitor_pressure {
    fn default() -> Self {
        Self::INIT
    }
}

/// Result of a collection on one device: the sum over its managers; the
/// fragmentation is the highest of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ferrum_collected {
    /// The device.
    pub device: ferrum_device,
    /// FERRUM_OK, or the first failure. The collection continues after a failure.
    pub status: ferrum_status,
    /// Number of managers.
    pub managers: u32,
    /// Fragmentation ratio before.
    pub fragmentation_before: f32,
    /// Fragmentation ratio after.
    pub fragmentation_after: f32,
    /// Bytes released to the system.
    pub memory_freed_bytes: u64,
    /// Number of moved blocks.
    pub blocks_moved: u64,
    /// Number of skipped blocks.
    pub blocks_skipped: u64,
    /// Time taken.
    pub time_taken_ns: u64,
    /// Sum of the managers' times in milliseconds, each rounded up.
    pub time_taken_ms: u64,
    pub reserved: [u64; 3],
}

/// A placement strategy: chooses the device for a request.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_placement {
    /// 0 is no strategy
    pub id: u64,
}

/// A request for a device. All fields but the size may be zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_placement_request {
    pub struct_size: u32,
    /// FERRUM_MEMORY_GENERAL to FERRUM_MEMORY_MANAGED.
    pub memory_type: i32,
    /// Not 0.
    pub size_bytes: u64,
    /// A power of two up to FERRUM_ALIGNMENT_MAX; 0: any.
    pub alignment_bytes: u64,
    /// Expected time of use; 0: not known. From 60 s on, a device that would reach
    /// HIGH is treated like one that would reach CRITICAL.
    pub expected_lifetime_ns: u64,
    /// Preferred devices, the most preferred first; may be NULL when there are
    /// none.
    pub preferred: *const ferrum_device,
    /// The candidates, in the order in which the strategy prefers equal ones; NULL:
    /// all open devices, by id.
    pub devices: *const ferrum_device,
    /// Number of preferred devices.
    pub preferred_count: u32,
    /// Number of candidates.
    pub device_count: u32,
    /// FERRUM_PLACEMENT_\* flags.
    pub flags: u32,
    /// The bounds of the levels.
    pub profile: ferrum_pressure_profile,
}

impl ferrum_placement_request {
    /// The values of `FERRUM_PLACEMENT_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_placement_request>() as u32,
        memory_type: 0,
        size_bytes: 0,
        alignment_bytes: 0,
        expected_lifetime_ns: 0,
        preferred: core::ptr::null(),
        devices: core::ptr::null(),
        preferred_count: 0,
        device_count: 0,
        flags: 0,
        profile: 0,
    };
}

impl Default for ferrum_placement_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A candidate, with its numbers for a request.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_placement_option {
    /// The candidate.
    pub device: ferrum_device,
    /// Size with the largest possible padding; UINT64_MAX when that overflows.
    pub needed_bytes: u64,
    /// Capacity of the device, or its limit if that is less; 0 means unknown.
    pub total_bytes: u64,
    /// Used bytes of the device.
    pub used_bytes: u64,
    /// Bytes that can still be allocated.
    pub free_bytes: u64,
    /// Longest run that can be allocated now.
    pub largest_free_bytes: u64,
    /// FERRUM_PLACEMENT_CHOSEN, or the reason why the device cannot serve the request.
    pub reason: ferrum_placement_reason,
    /// 0, plus 1 when the request would bring the device to CRITICAL, plus 2 when
    /// the device would have to release memory first. Lower is better.
    pub tier: i32,
    /// Position among the preferred devices, from 1 on; 0: not preferred.
    pub preferred_rank: u32,
    /// Level of the device after the request.
    pub level_after: ferrum_pressure_level,
    pub reserved: [u64; 2],
}

/// Dimensions of a model, for the short formulas.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_model_shape {
    pub struct_size: u32,
    pub reserved: u32,
    /// Width of the model.
    pub hidden_size: u64,
    /// Width of the MLPs.
    pub intermediate_size: u64,
    /// Layers.
    pub num_layers: u64,
    /// Tokens of the vocabulary.
    pub vocab_size: u64,
    /// Attention heads, not 0.
    pub num_heads: u64,
    /// Key and value heads.
    pub num_kv_heads: u64,
    /// Tokens of the sequence, for ferrum_estimate_inference_memory only.
    pub max_seq_len: u64,
    /// Size of one element.
    pub dtype_bytes: u64,
}

impl ferrum_model_shape {
    /// The values of `FERRUM_MODEL_SHAPE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_model_shape>() as u32,
        reserved: 0,
        hidden_size: 0,
        intermediate_size: 0,
        num_layers: 0,
        vocab_size: 0,
        num_heads: 0,
        num_kv_heads: 0,
        max_seq_len: 0,
        dtype_bytes: 0,
    };
}

impl Default for ferrum_model_shape {
    fn default() -> Self {
        Self::INIT
    }
}

/// Dimensions of a KV cache, for the short formula.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_kv_cache_shape {
    pub struct_size: u32,
    pub reserved: u32,
    /// Layers.
    pub num_layers: u64,
    /// Key and value heads.
    pub num_kv_heads: u64,
    /// Elements of a head.
    pub head_dim: u64,
    /// Tokens of the sequence.
    pub max_seq_len: u64,
    /// Size of one element.
    pub dtype_bytes: u64,
}

impl ferrum_kv_cache_shape {
    /// The values of `FERRUM_KV_CACHE_SHAPE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_kv_cache_shape>() as u32,
        reserved: 0,
        num_layers: 0,
        num_kv_heads: 0,
        head_dim: 0,
        max_seq_len: 0,
        dtype_bytes: 0,
    };
}

impl Default for ferrum_kv_cache_shape {
    fn default() -> Self {
        Self::INIT
    }
}

/// Result of ferrum_estimate_inference_memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_inference_estimate {
    pub struct_size: u32,
    pub reserved: u32,
    /// The weights.
    pub model_bytes: u64,
    /// Keys and values of the sequence.
    pub kv_cache_bytes: u64,
    /// The activations of one token.
    pub activation_bytes: u64,
    /// The sum of the three.
    pub total_bytes: u64,
}

impl ferrum_inference_estimate {
    /// The values of `FERRUM_INFERENCE_ESTIMATE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_inference_estimate>() as u32,
        reserved: 0,
        model_bytes: 0,
        kv_cache_bytes: 0,
        activation_bytes: 0,
        total_bytes: 0,
    };
}

impl Default for ferrum_inference_estimate {
    fn default() -> Self {
        Self::INIT
    }
}

/// How a model will be served.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_estimate_request {
    pub struct_size: u32,
    /// FERRUM_ESTIMATE_ bits.
    pub flags: u32,
    /// Tokens of one sequence, prompt and answer; 0: the model's own context.
    pub context: u64,
    /// Number of sequences at a time, at least 1.
    pub batch: u64,
    /// Number of devices that share the model, 1 to 65536. The estimate is for the
    /// device that holds most.
    pub tensor_parallel: u64,
    /// Prompt tokens that are computed at once; 0: whole prompts.
    pub prefill_tokens: u64,
    /// The share of the allocator, in thousandths of all other memory, at most
    /// 1000.
    pub overhead_permille: u64,
    /// Free memory that the model must fit into; 0: the result does not state
    /// whether it fits.
    pub free_bytes: u64,
    /// Type of the elements of the KV cache; NULL or empty: the type of the activations.
    ///
    /// "f32"   32-bit floating point
    /// "f16"   16-bit floating point
    /// "bf16"  16-bit floating point with the exponent of "f32"
    /// "f8"    8-bit floating point
    /// "int8"  8-bit integers, in groups of 32 with a scale
    /// "int4"  4-bit integers, in groups of 32 with a scale
    pub kv_dtype: *const c_char,
    /// Type that the weights are converted to, one of the same words; NULL or empty:
    /// the type in the files.
    pub weight_dtype: *const c_char,
    /// Tokens of one layer in a block of a paged KV cache, 1 to 1048576. Layers
    /// with a window keep whole blocks.
    pub block_tokens: u64,
}

impl ferrum_estimate_request {
    /// The values of `FERRUM_ESTIMATE_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_estimate_request>() as u32,
        flags: 0,
        context: 0,
        batch: 1,
        tensor_parallel: 1,
        prefill_tokens: 2048,
        overhead_permille: 16,
        free_bytes: 0,
        kv_dtype: core::ptr::null(),
        weight_dtype: core::ptr::null(),
        block_tokens: 16,
    };
}

impl Default for ferrum_estimate_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A fallback manager: allocates buffers on a device, and on a host when the device
/// is full.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_fallback_manager {
    /// 0 is no manager
    pub id: u64,
}

/// A buffer of a fallback manager, on its device or on its host.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_fallback_buffer {
    /// 0 is no buffer
    pub id: u64,
}

/// A tracker: a list of live buffers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_tracker {
    /// 0 is no tracker
    pub id: u64,
}

/// A cache of free buffers that the caller created.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_generic_pool {
    /// 0 is no pool
    pub id: u64,
}

/// Settings of a fallback manager or a generic pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_memory_config {
    pub struct_size: u32,
    /// FERRUM_MEMORY_\* flags.
    pub flags: u32,
    /// The share of the device's capacity, or of its limit if that is less, that
    /// the manager may hold: 0.1 to 1, computed in millionths. There is no bound
    /// when neither is known.
    pub gpu_memory_fraction: f64,
    /// Bytes that stay free on the device, independent of its limit. The manager
    /// allocates no memory from the device that would leave less.
    pub min_free_bytes: u64,
    /// Number of free buffers that a bucket keeps; 0: none.
    pub max_pooled_per_bucket: u64,
    /// Size of the free buffers of all buckets together; 0: no bound.
    pub max_pooled_bytes: u64,
    /// pre_allocate_count sizes; may be NULL when there are none.
    pub pre_allocate_sizes: *const u64,
    /// Number of sizes.
    pub pre_allocate_count: u64,
}

impl ferrum_memory_config {
    /// The values of `FERRUM_MEMORY_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_memory_config>() as u32,
        flags: 1,
        gpu_memory_fraction: 0.9,
        min_free_bytes: 536_870_912,
        max_pooled_per_bucket: 8,
        max_pooled_bytes: 1_073_741_824,
        pre_allocate_sizes: core::ptr::null(),
        pre_allocate_count: 0,
    };
}

impl Default for ferrum_memory_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// Counters of a fallback manager or a generic pool. They contain only its own
/// buffers, so the device may be full while the pool is not.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_memory_stats {
    pub struct_size: u32,
    pub reserved: u32,
    /// Buffers that exist: those in use and those in buckets.
    pub total_allocated_bytes: u64,
    /// Buffers in use.
    pub in_use_bytes: u64,
    /// Free buffers in the buckets.
    pub pooled_bytes: u64,
    /// The highest value of in_use_bytes.
    pub peak_bytes: u64,
    /// Number of requests that were served from the buckets.
    pub pool_hits: u64,
    /// Number of requests that were not served from the buckets.
    pub pool_misses: u64,
    /// Number of buffers that were created on the host because the device had no
    /// room.
    pub cpu_fallbacks: u64,
    /// Number of buffers in use, tracked or not.
    pub active_buffers: u64,
}

impl ferrum_memory_stats {
    /// The values of `FERRUM_MEMORY_STATS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_memory_stats>() as u32,
        reserved: 0,
        total_allocated_bytes: 0,
        in_use_bytes: 0,
        pooled_bytes: 0,
        peak_bytes: 0,
        pool_hits: 0,
        pool_misses: 0,
        cpu_fallbacks: 0,
        active_buffers: 0,
    };
}

impl Default for ferrum_memory_stats {
    fn default() -> Self {
        Self::INIT
    }
}

/// Ratios of a ferrum_memory_stats. They describe the pool, not the device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_memory_ratios {
    pub struct_size: u32,
    pub reserved: u32,
    /// hits / (hits + misses); 0 without requests.
    pub hit_rate: f64,
    /// in_use / total_allocated; 0 when that is 0.
    pub utilization: f64,
    /// The same, but 1 when total_allocated is 0.
    pub efficiency: f64,
}

impl ferrum_memory_ratios {
    /// The values of `FERRUM_MEMORY_RATIOS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_memory_ratios>() as u32,
        reserved: 0,
        hit_rate: 0.0,
        utilization: 0.0,
        efficiency: 0.0,
    };
}

impl Default for ferrum_memory_ratios {
    fn default() -> Self {
        Self::INIT
    }
}

/// Entry of a tracker for a buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ferrum_buffer_metadata {
    /// Not 0.
    pub buffer_id: u64,
    /// Size of the buffer.
    pub size_bytes: u64,
    /// Number of elements.
    pub num_elements: u64,
    /// Time since the buffer was created.
    pub age_ns: u64,
    /// Device of the buffer; {0}: not known.
    pub device: ferrum_device,
    /// Side of the buffer.
    pub location: ferrum_buffer_location,
    pub reserved: u32,
    /// Text with its NUL; empty: no tag.
    pub tag: [c_char; 64],
}

impl Default for ferrum_buffer_metadata {
    fn default() -> Self {
        // SAFETY: all of it is numbers, for which zeros are values.
        unsafe { core::mem::zeroed() }
    }
}

/// Numbers of a tracker.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_tracker_totals {
    pub struct_size: u32,
    pub reserved: u32,
    /// Number of buffers.
    pub count: u64,
    /// The sum of their sizes.
    pub total_bytes: u64,
    /// The highest value of total_bytes.
    pub peak_bytes: u64,
}

impl ferrum_tracker_totals {
    /// The values of `FERRUM_TRACKER_TOTALS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_tracker_totals>() as u32,
        reserved: 0,
        count: 0,
        total_bytes: 0,
        peak_bytes: 0,
    };
}

impl Default for ferrum_tracker_totals {
    fn default() -> Self {
        Self::INIT
    }
}

/// Details of a buffer of a generic pool, for its tracker.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_buffer_use {
    pub struct_size: u32,
    /// Side of the buffer.
    pub location: ferrum_buffer_location,
    /// Number of elements.
    pub num_elements: u64,
    /// At most 63 bytes; NULL: none.
    pub tag: *const c_char,
}

impl ferrum_buffer_use {
    /// The values of `FERRUM_BUFFER_USE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_buffer_use>() as u32,
        location: 0,
        num_elements: 0,
        tag: core::ptr::null(),
    };
}

impl Default for ferrum_buffer_use {
    fn default() -> Self {
        Self::INIT
    }
}

/// A buffer of a generic pool.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_buffer_lease {
    /// The caller's value for the buffer: a pointer, a handle, an index.
    pub buffer: u64,
    /// Its size, which may be larger than the requested size.
    pub size_bytes: u64,
    /// 0 unless the pool tracks.
    pub buffer_id: u64,
}

/// Counters of a fallback manager for the host.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_fallback_stats {
    pub struct_size: u32,
    pub reserved: u32,
    /// Bytes on the host now.
    pub cpu_bytes: u64,
    /// Number of buffers on the host now.
    pub cpu_buffers: u64,
    /// Number of moves to the host so far.
    pub moved_to_cpu: u64,
    /// Number of moves to the device so far.
    pub moved_to_gpu: u64,
}

impl ferrum_fallback_stats {
    /// The values of `FERRUM_FALLBACK_STATS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_fallback_stats>() as u32,
        reserved: 0,
        cpu_bytes: 0,
        cpu_buffers: 0,
        moved_to_cpu: 0,
        moved_to_gpu: 0,
    };
}

impl Default for ferrum_fallback_stats {
    fn default() -> Self {
        Self::INIT
    }
}

/// A request for a buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_buffer_request {
    pub struct_size: u32,
    /// Type of the elements: FERRUM_DTYPE_F32 to FERRUM_DTYPE_I64.
    pub dtype: ferrum_dtype,
    /// Number of elements; not 0.
    pub num_elements: u64,
    /// Allowed sides.
    pub place: ferrum_buffer_place,
    /// FERRUM_BUFFER_\* flags.
    pub flags: u32,
    /// The first stream of the device that uses the buffer; {0}: the default
    /// stream.
    pub stream: ferrum_stream,
    /// Tag for the tracker, at most 63 bytes; NULL: none.
    pub tag: *const c_char,
}

impl ferrum_buffer_request {
    /// The values of `FERRUM_BUFFER_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_buffer_request>() as u32,
        dtype: 0,
        num_elements: 0,
        place: 0,
        flags: 0,
        stream: ferrum_stream { id: 0 },
        tag: core::ptr::null(),
    };
}

impl Default for ferrum_buffer_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A buffer of a fallback manager.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_fallback_buffer_info {
    pub struct_size: u32,
    /// Type of the elements: FERRUM_DTYPE_F32 to FERRUM_DTYPE_I64.
    pub dtype: ferrum_dtype,
    /// Stays the same when the buffer moves.
    pub buffer_id: u64,
    /// Number of elements.
    pub num_elements: u64,
    /// Size of the elements.
    pub size_bytes: u64,
    /// Address of the buffer on the device, or on the host a pointer. Valid until
    /// the buffer moves.
    pub address: ferrum_address,
    /// The manager of the buffer.
    pub manager: ferrum_fallback_manager,
    /// The device of the buffer's present side.
    pub device: ferrum_device,
    /// Present side of the buffer.
    pub location: ferrum_buffer_location,
    /// Number of pins.
    pub pins: u32,
    /// FERRUM_BUFFER_\* flags.
    pub flags: u32,
    pub reserved: u32,
}

impl ferrum_fallback_buffer_info {
    /// The values of `FERRUM_FALLBACK_BUFFER_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_fallback_buffer_info>() as u32,
        dtype: 0,
        buffer_id: 0,
        num_elements: 0,
        size_bytes: 0,
        address: 0,
        manager: ferrum_fallback_manager { id: 0 },
        device: ferrum_device { id: 0 },
        location: 0,
        pins: 0,
        flags: 0,
        reserved: 0,
    };
}

impl Default for ferrum_fallback_buffer_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// A range of a block to map for the host.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_map_request {
    pub struct_size: u32,
    /// FERRUM_HOST_\*
    pub access: ferrum_host_access,
    /// The block.
    pub memory: ferrum_memory,
    /// First byte.
    pub offset_bytes: u64,
    /// Not 0; FERRUM_MAP_TO_END: the rest of the block.
    pub size_bytes: u64,
}

impl ferrum_map_request {
    /// The values of `FERRUM_MAP_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_map_request>() as u32,
        access: 2,
        memory: ferrum_memory { id: 0 },
        offset_bytes: 0,
        size_bytes: 18_446_744_073_709_551_615,
    };
}

impl Default for ferrum_map_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A range of a block that is mapped for the host.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_mapping {
    pub struct_size: u32,
    /// host_pointer is a staging copy, which ferrum_memory_unmap writes back (1),
    /// or the block itself (0).
    pub is_staged: u32,
    /// Number of the mapping within its block; never 0.
    pub mapping_id: u64,
    /// Pointer to size_bytes bytes. Valid until the mapping has ended.
    pub host_pointer: *mut c_void,
    /// Length of the range.
    pub size_bytes: u64,
}

impl ferrum_mapping {
    /// The values of `FERRUM_MAPPING_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_mapping>() as u32,
        is_staged: 0,
        mapping_id: 0,
        host_pointer: core::ptr::null_mut(),
        size_bytes: 0,
    };
}

impl Default for ferrum_mapping {
    fn default() -> Self {
        Self::INIT
    }
}

/// A request for memory of two devices.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_link_request {
    pub struct_size: u32,
    pub reserved: u32,
    /// Not 0.
    pub size_bytes: u64,
    /// Alignment of the first address: a power of two up to FERRUM_ALIGNMENT_MAX;
    /// 0: the pool's.
    pub alignment_bytes: u64,
    /// Name for the counters, at most 63 bytes; NULL: none.
    pub tag: *const c_char,
}

impl ferrum_link_request {
    /// The values of `FERRUM_LINK_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_link_request>() as u32,
        reserved: 0,
        size_bytes: 0,
        alignment_bytes: 0,
        tag: core::ptr::null(),
    };
}

impl Default for ferrum_link_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// The last hint of each group; FERRUM_USAGE_NONE where none was set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_usage_hints {
    pub struct_size: u32,
    /// FERRUM_USAGE_SEQUENTIAL, FERRUM_USAGE_RANDOM or none.
    pub order: ferrum_usage_hint,
    /// FERRUM_USAGE_READ_MOSTLY, FERRUM_USAGE_WRITE_MOSTLY or none.
    pub direction: ferrum_usage_hint,
    /// FERRUM_USAGE_TEMPORARY, FERRUM_USAGE_RESIDENT or none.
    pub lifetime: ferrum_usage_hint,
}

impl ferrum_usage_hints {
    /// The values of `FERRUM_USAGE_HINTS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_usage_hints>() as u32,
        order: 0,
        direction: 0,
        lifetime: 0,
    };
}

impl Default for ferrum_usage_hints {
    fn default() -> Self {
        Self::INIT
    }
}

/// Numbers about copies, fills, writes, reads and mappings of a block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_access_stats {
    pub struct_size: u32,
    /// 1 if the manager tracks accesses; otherwise all numbers below are 0.
    pub is_tracked: u32,
    /// 1 if there was an access; otherwise last_access_ns has no meaning.
    pub is_accessed: u32,
    /// Pattern of the last accesses.
    pub pattern: ferrum_access_pattern,
    /// Number of reads.
    pub read_count: u64,
    /// Number of writes.
    pub write_count: u64,
    /// Mean size of a read, rounded down; 0 when there was none.
    pub average_read_bytes: u64,
    /// Mean size of a write, rounded down; 0 when there was none.
    pub average_write_bytes: u64,
    /// Monotonic time of the last access since ferrum_init.
    pub last_access_ns: u64,
}

impl ferrum_access_stats {
    /// The values of `FERRUM_ACCESS_STATS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_access_stats>() as u32,
        is_tracked: 0,
        is_accessed: 0,
        pattern: 0,
        read_count: 0,
        write_count: 0,
        average_read_bytes: 0,
        average_write_bytes: 0,
        last_access_ns: 0,
    };
}

impl Default for ferrum_access_stats {
    fn default() -> Self {
        Self::INIT
    }
}

/// External memory that gets a handle.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_adoption {
    pub struct_size: u32,
    /// FERRUM_MEMORY_\*, its purpose.
    pub memory_type: ferrum_memory_type,
    /// Address of the memory on the manager's device; on a host device a pointer.
    /// With FERRUM_CAPABILITY_REGISTERED_MEMORY, FERRUM_MEMORY_PINNED and
    /// FERRUM_MEMORY_MAPPED also accept a pointer to any memory of the process.
    pub address: ferrum_address,
    /// Not 0.
    pub size_bytes: u64,
    /// Name for the counters, at most 63 bytes; NULL: none.
    pub tag: *const c_char,
    /// The block is never written (1): copies, fills and mappings that would write
    /// to it return FERRUM_ERROR_PERMISSION_DENIED. Use it for memory that the
    /// process may only read, such as a mapped file of weights.
    pub is_read_only: u32,
    pub reserved: u32,
}

impl ferrum_adoption {
    /// The values of `FERRUM_ADOPTION_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_adoption>() as u32,
        memory_type: 0,
        address: 0,
        size_bytes: 0,
        tag: core::ptr::null(),
        is_read_only: 0,
        reserved: 0,
    };
}

impl Default for ferrum_adoption {
    fn default() -> Self {
        Self::INIT
    }
}

/// An external stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_foreign_stream {
    pub struct_size: u32,
    pub reserved: u32,
    /// Handle in the runtime of the device's vendor, such as a CUstream; 0 on host
    /// devices, which use enqueue. It must mean the same queue on every thread.
    pub native_handle: u64,
    /// Queues work in the stream; NULL with a native_handle.
    pub enqueue: ferrum_enqueue_fn,
    /// Passed to enqueue.
    pub user_data: *mut c_void,
}

impl ferrum_foreign_stream {
    /// The values of `FERRUM_FOREIGN_STREAM_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_foreign_stream>() as u32,
        reserved: 0,
        native_handle: 0,
        enqueue: None,
        user_data: core::ptr::null_mut(),
    };
}

impl Default for ferrum_foreign_stream {
    fn default() -> Self {
        Self::INIT
    }
}

/// Pages that a process exported, by file descriptors or by fabric handles.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_page_import {
    pub struct_size: u32,
    pub reserved: u32,
    /// A descriptor for each page, in the order of the addresses. They stay the
    /// caller's.
    pub descriptors: *const i32,
    /// Number of pages.
    pub count: u64,
    /// Page size of the pool that exported the pages, exactly.
    pub page_bytes: u64,
    /// Name for the counters, at most 63 bytes; NULL: none.
    pub tag: *const c_char,
    /// The handles of ferrum_vpool_export_fabric, in the order of the addresses;
    /// NULL: use the descriptors.
    pub fabric_handles: *const u8,
    /// FERRUM_FABRIC_HANDLE_BYTES for each page.
    pub fabric_handle_bytes: u64,
}

impl ferrum_page_import {
    /// The values of `FERRUM_PAGE_IMPORT_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_page_import>() as u32,
        reserved: 0,
        descriptors: core::ptr::null(),
        count: 0,
        page_bytes: 0,
        tag: core::ptr::null(),
        fabric_handles: core::ptr::null(),
        fabric_handle_bytes: 0,
    };
}

impl Default for ferrum_page_import {
    fn default() -> Self {
        Self::INIT
    }
}

/// A range of device memory of one process, as bytes that name it in another
/// process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_shared_memory {
    pub struct_size: u32,
    pub reserved: u32,
    /// Start of the range in the memory that the handle names.
    pub offset_bytes: u64,
    /// Its size.
    pub size_bytes: u64,
    /// Opaque.
    pub handle: [u8; 64],
}

impl ferrum_shared_memory {
    /// The values of `FERRUM_SHARED_MEMORY_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_shared_memory>() as u32,
        reserved: 0,
        offset_bytes: 0,
        size_bytes: 0,
        handle: [0; 64],
    };
}

impl Default for ferrum_shared_memory {
    fn default() -> Self {
        Self::INIT
    }
}

/// An event of one process, as bytes that name it in another process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_shared_event {
    pub struct_size: u32,
    pub reserved: u32,
    /// Opaque.
    pub handle: [u8; 64],
}

impl ferrum_shared_event {
    /// The values of `FERRUM_SHARED_EVENT_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_shared_event>() as u32,
        reserved: 0,
        handle: [0; 64],
    };
}

impl Default for ferrum_shared_event {
    fn default() -> Self {
        Self::INIT
    }
}

/// An open source of tensors.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_weights {
    /// 0 is no source
    pub id: u64,
}

/// A load, and the tensors that it has loaded into memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_tensor_set {
    /// 0 is no set
    pub id: u64,
}

/// The source to open.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_weights_source {
    pub struct_size: u32,
    /// Where the source is.
    pub kind: ferrum_weights_source_kind,
    /// The path of a file or folder. For FERRUM_WEIGHTS_SOURCE_MEMORY: the name in
    /// messages, or NULL. For the other kinds: the address.
    pub path: *const c_char,
    /// The bytes, for FERRUM_WEIGHTS_SOURCE_MEMORY. They stay valid and unchanged
    /// until the source is closed.
    pub data: *const c_void,
    /// Number of bytes.
    pub data_bytes: u64,
    /// The format that is accepted.
    pub format: ferrum_weights_format,
    /// The number of the decoder, for FERRUM_WEIGHTS_FORMAT_CUSTOM; otherwise 0.
    pub decoder: u32,
    /// The type of the tensor, for FERRUM_WEIGHTS_FORMAT_RAW.
    pub raw_dtype: ferrum_dtype,
    /// Number of its dimensions.
    pub raw_rank: u32,
    /// Its shape, the slowest dimension first.
    pub raw_shape: [u64; 16],
}

impl ferrum_weights_source {
    /// The values of `FERRUM_WEIGHTS_SOURCE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_weights_source>() as u32,
        kind: 0,
        path: core::ptr::null(),
        data: core::ptr::null(),
        data_bytes: 0,
        format: 0,
        decoder: 0,
        raw_dtype: 0,
        raw_rank: 0,
        raw_shape: [0; 16],
    };
}

impl Default for ferrum_weights_source {
    fn default() -> Self {
        Self::INIT
    }
}

/// A tensor of a source or of a set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_tensor_info {
    pub struct_size: u32,
    /// Type of its elements.
    pub dtype: ferrum_dtype,
    /// Number of dimensions, at most FERRUM_WEIGHTS_RANK_MAX.
    pub rank: u32,
    /// FERRUM_TENSOR_\* flags.
    pub flags: u32,
    /// Its shape, the slowest dimension first.
    pub shape: [u64; 16],
    /// Address of its elements, which are in the order of the shape without gaps; 0
    /// for a tensor of a source, and for a tensor without elements.
    pub address: ferrum_address,
    /// Size of its elements.
    pub size_bytes: u64,
    /// Its device, such as "cpu:0"; for a mapped tensor "cpu:0"; empty for a tensor of
    /// a source.
    pub device: [c_char; 64],
}

impl ferrum_tensor_info {
    /// The values of `FERRUM_TENSOR_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_tensor_info>() as u32,
        dtype: 0,
        rank: 0,
        flags: 0,
        shape: [0; 16],
        address: 0,
        size_bytes: 0,
        device: [0; 64],
    };
}

impl Default for ferrum_tensor_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// The progress of a load or of another call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_weights_progress {
    pub struct_size: u32,
    /// 1 if a load has ended, with or without success, else 0.
    pub is_over: u32,
    /// Number of bytes that are done.
    pub done_bytes: u64,
    /// Total number of bytes; 0 before it is known.
    pub total_bytes: u64,
    /// The mean rate since the beginning; 0 if it is not known.
    pub bytes_per_second: f64,
}

impl ferrum_weights_progress {
    /// The values of `FERRUM_WEIGHTS_PROGRESS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_weights_progress>() as u32,
        is_over: 0,
        done_bytes: 0,
        total_bytes: 0,
        bytes_per_second: 0.0,
    };
}

impl Default for ferrum_weights_progress {
    fn default() -> Self {
        Self::INIT
    }
}

/// Memory for the tensors of a load, or for one tensor (ferrum_tensor_create). Exactly one
/// of pool, vpool, elastic_pool and device is set.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_weights_memory {
    /// Blocks of this pool.
    pub pool: ferrum_pool,
    /// Pages of this virtual pool.
    pub vpool: ferrum_vpool,
    /// Pages of a model of this elastic pool.
    pub elastic_pool: ferrum_elastic_pool,
    /// The library allocates no memory: each tensor on this device is loaded into
    /// memory of the caller ("into").
    pub device: ferrum_device,
    /// The model, for elastic_pool only.
    pub model: *const c_char,
    /// Offset of the first page, for vpool only.
    pub offset_bytes: u64,
    /// Tag of the memory, for sleep and reports; NULL: the name of the pool, or the id
    /// of the model.
    pub tag: *const c_char,
    pub reserved: u64,
}

/// The tensors to load, and the memory for them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_weights_load_request {
    pub struct_size: u32,
    /// FERRUM_WEIGHTS_LOAD_\* flags.
    pub flags: u32,
    /// The memories. A tensor goes to the first memory, unless the order names another
    /// one. NULL with FERRUM_WEIGHTS_LOAD_MAP and FERRUM_WEIGHTS_LOAD_PRELOAD.
    pub memories: *const ferrum_weights_memory,
    /// Number of memories, at most FERRUM_WEIGHTS_MEMORIES_MAX.
    pub memory_count: u32,
    /// Number of threads that read; 0: 8. More than 256 count as 256.
    pub threads: u32,
    /// The order, as JSON with the fields of docs/weights.md: the tensors, their new
    /// names and their transformations; NULL: all tensors unchanged.
    pub specs_json: *const c_char,
    /// Length of specs_json, at most FERRUM_WEIGHTS_JSON_MAX.
    pub specs_bytes: u64,
    /// Bound of the staging memory, at most 256 MiB; 0: 64 MiB. Tensors for a device
    /// whose memory the host cannot write go through this host memory.
    pub staging_bytes: u64,
    /// Called during the load; NULL: not called.
    pub progress: ferrum_weights_progress_fn,
    /// Passed to progress; must stay valid until the load is over.
    pub user_data: *mut c_void,
}

impl ferrum_weights_load_request {
    /// The values of `FERRUM_WEIGHTS_LOAD_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_weights_load_request>() as u32,
        flags: 0,
        memories: core::ptr::null(),
        memory_count: 0,
        threads: 0,
        specs_json: core::ptr::null(),
        specs_bytes: 0,
        staging_bytes: 0,
        progress: None,
        user_data: core::ptr::null_mut(),
    };
}

impl Default for ferrum_weights_load_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// How a source is converted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_weights_convert_request {
    pub struct_size: u32,
    /// FERRUM_WEIGHTS_FORMAT_SAFETENSORS, FERRUM_WEIGHTS_FORMAT_GGUF,
    /// FERRUM_WEIGHTS_FORMAT_NUMPY or FERRUM_WEIGHTS_FORMAT_RAW;
    /// FERRUM_WEIGHTS_FORMAT_ANY: the ending of the path determines the format.
    pub format: ferrum_weights_format,
    /// FERRUM_WEIGHTS_CONVERT_\* flags.
    pub flags: u32,
    pub reserved: u32,
    /// The order, as for a load. The call ignores its memories. NULL: all tensors.
    pub specs_json: *const c_char,
    /// Length of specs_json, at most FERRUM_WEIGHTS_JSON_MAX.
    pub specs_bytes: u64,
    /// The metadata of the file: a JSON object of texts; NULL: none.
    pub texts_json: *const c_char,
    /// Length of texts_json, at most FERRUM_WEIGHTS_JSON_MAX.
    pub texts_bytes: u64,
    /// Called on the thread of the call; NULL: not called.
    pub progress: ferrum_weights_progress_fn,
    /// Passed to progress.
    pub user_data: *mut c_void,
}

impl ferrum_weights_convert_request {
    /// The values of `FERRUM_WEIGHTS_CONVERT_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_weights_convert_request>() as u32,
        format: 0,
        flags: 0,
        reserved: 0,
        specs_json: core::ptr::null(),
        specs_bytes: 0,
        texts_json: core::ptr::null(),
        texts_bytes: 0,
        progress: None,
        user_data: core::ptr::null_mut(),
    };
}

impl Default for ferrum_weights_convert_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A file whose format a decoder of the program reads.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_weights_file {
    pub struct_size: u32,
    pub reserved: u32,
    /// Its number, for read_at and describe; valid during the callback.
    pub file: u64,
    /// Its length.
    pub size_bytes: u64,
    /// Its path, or the name of the memory.
    pub name: *const c_char,
    /// Reads bytes of the file.
    pub read_at: ferrum_weights_read_at_fn,
    /// Takes a description of the file. The last description counts.
    pub describe: ferrum_weights_describe_fn,
}

impl ferrum_weights_file {
    /// The values of `FERRUM_WEIGHTS_FILE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_weights_file>() as u32,
        reserved: 0,
        file: 0,
        size_bytes: 0,
        name: core::ptr::null(),
        read_at: None,
        describe: None,
    };
}

impl Default for ferrum_weights_file {
    fn default() -> Self {
        Self::INIT
    }
}

/// A decoder of a format of the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_weights_decoder {
    pub struct_size: u32,
    pub reserved: u32,
    /// Name of the format, 1 to 63 bytes. No other format has this name.
    pub format: *const c_char,
    /// Recognises a file.
    pub recognises: ferrum_weights_recognises_fn,
    /// Describes a file.
    pub decode: ferrum_weights_decode_fn,
    /// Passed to both; must stay valid until the registration is removed.
    pub user_data: *mut c_void,
}

impl ferrum_weights_decoder {
    /// The values of `FERRUM_WEIGHTS_DECODER_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_weights_decoder>() as u32,
        reserved: 0,
        format: core::ptr::null(),
        recognises: None,
        decode: None,
        user_data: core::ptr::null_mut(),
    };
}

impl Default for ferrum_weights_decoder {
    fn default() -> Self {
        Self::INIT
    }
}

/// A tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_tensor {
    /// 0 is no tensor
    pub id: u64,
}

/// The type, the shape and the place of a tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_tensor_desc {
    pub struct_size: u32,
    /// The type of the elements.
    pub dtype: ferrum_dtype,
    /// Number of dimensions.
    pub rank: u32,
    /// FERRUM_ELEMENTS_\* flags.
    pub flags: u32,
    /// Length of each dimension, the slowest first.
    pub shape: [i64; 8],
    /// Distance from one index of a dimension to the next, in elements. May be 0 or
    /// negative. As an argument, all 0: the elements lie in the order of the shape without
    /// gaps, unless flags has FERRUM_ELEMENTS_REPEATED.
    pub strides: [i64; 8],
    /// Address of the element whose indices are all 0.
    pub address: ferrum_address,
    /// Size of the elements without gaps. As an argument: ignored.
    pub size_bytes: u64,
    /// The device, such as "cpu:0". As an argument: ignored.
    pub device: [c_char; 64],
    /// The elements of an input with one dimension that carries a shape, axes or sizes, for
    /// ferrum_op_infer; NULL: they are not known. Other functions do not use them.
    pub elements: *const i64,
    /// Number of elements; 0 with NULL. Otherwise the length of the dimension.
    pub element_count: u64,
}

impl ferrum_tensor_desc {
    /// The values of `FERRUM_TENSOR_DESC_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_tensor_desc>() as u32,
        dtype: 0,
        rank: 0,
        flags: 0,
        shape: [0; 8],
        strides: [0; 8],
        address: 0,
        size_bytes: 0,
        device: [0; 64],
        elements: core::ptr::null(),
        element_count: 0,
    };
}

impl Default for ferrum_tensor_desc {
    fn default() -> Self {
        Self::INIT
    }
}

/// A tensor in the form of DLPack, with which libraries of tensors exchange memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_dlpack {
    pub struct_size: u32,
    /// 1: managed is a DLManagedTensorVersioned of DLPack 1; 0: a DLManagedTensor.
    pub is_versioned: u32,
    /// The struct of DLPack. Its receiver calls its deleter once.
    pub managed: *mut c_void,
}

impl ferrum_dlpack {
    /// The values of `FERRUM_DLPACK_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_dlpack>() as u32,
        is_versioned: 0,
        managed: core::ptr::null_mut(),
    };
}

impl Default for ferrum_dlpack {
    fn default() -> Self {
        Self::INIT
    }
}

/// A paged KV cache.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_kv_cache {
    /// 0 is no cache
    pub id: u64,
}

/// The settings of a cache.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_kv_cache_config {
    pub struct_size: u32,
    /// The type of keys and values; not used without memory.
    pub dtype: ferrum_dtype,
    /// Number of tokens of a block, at most FERRUM_KV_TOKENS_MAX.
    pub block_tokens: u32,
    /// Number of blocks, at most FERRUM_KV_BLOCKS_MAX.
    pub blocks: u32,
    /// Number of blocks of the host for swapped sequences; 0: none.
    pub host_blocks: u32,
    /// Most sequences that live at the same time, at most FERRUM_KV_SEQUENCES_MAX.
    pub sequences: u32,
    /// Most tokens of a sequence, at most FERRUM_KV_TOKENS_MAX.
    pub sequence_tokens: u32,
    /// Length of the sliding window: a token uses so many tokens, itself among them; 0: each
    /// token uses all tokens before it.
    pub window_tokens: u32,
    /// Number of layers; not used without memory.
    pub layers: u32,
    /// Number of heads of keys and of values in a layer; not used without memory.
    pub kv_heads: u32,
    /// Length of a head; not used without memory.
    pub head_dim: u32,
    /// In a virtual pool or a model: number of blocks, from the first one, that always have
    /// memory. The others get memory when sequences need them. In a pool all blocks always
    /// have memory.
    pub always_blocks: u32,
    /// Seed of ferrum_kv_cache_hash_tokens. Caches with the same seed and block_tokens compute
    /// the same hashes. A secret seed keeps users from choosing tokens with the hash of the
    /// tokens of another user.
    pub hash_seed: u64,
    pub reserved: u64,
}

impl ferrum_kv_cache_config {
    /// The values of `FERRUM_KV_CACHE_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_kv_cache_config>() as u32,
        dtype: 0,
        block_tokens: 0,
        blocks: 0,
        host_blocks: 0,
        sequences: 0,
        sequence_tokens: 0,
        window_tokens: 0,
        layers: 0,
        kv_heads: 0,
        head_dim: 0,
        always_blocks: 0,
        hash_seed: 0,
        reserved: 0,
    };
}

impl Default for ferrum_kv_cache_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// The state of a cache.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_kv_cache_stats {
    pub struct_size: u32,
    /// The level of used_blocks of blocks, with the bounds 60, 80 and 95 %.
    pub level: ferrum_pressure_level,
    /// Number of blocks: those used, cached, free and unmapped.
    pub blocks: u64,
    /// Blocks that sequences use.
    pub used_blocks: u64,
    /// Blocks with a hash that no sequence uses. The cache evicts them when it needs them.
    pub cached_blocks: u64,
    /// Blocks without contents.
    pub free_blocks: u64,
    /// Blocks that have no memory now.
    pub unmapped_blocks: u64,
    /// Used and cached blocks with a hash.
    pub published_blocks: u64,
    /// Number of blocks of all block tables together. Above used_blocks if sequences share
    /// blocks.
    pub references: u64,
    /// Number of blocks of the host.
    pub host_blocks: u64,
    /// Those of them that swapped sequences use.
    pub host_used_blocks: u64,
    /// Number of live sequences.
    pub sequences: u64,
    /// Those of them that are swapped out.
    pub swapped_sequences: u64,
    /// Number of tokens of all sequences together.
    pub tokens: u64,
    /// Hashes of ferrum_kv_cache_allocate whose block was shared.
    pub hits: u64,
    /// The other hashes of ferrum_kv_cache_allocate.
    pub misses: u64,
    /// Cached blocks that were evicted.
    pub evictions: u64,
    /// Blocks that were copied because an append changed a shared block.
    pub copies: u64,
    /// Blocks that were copied to the host.
    pub swapped_out_blocks: u64,
    /// Blocks that were copied from the host.
    pub swapped_in_blocks: u64,
    /// Calls that failed because there were not enough blocks.
    pub failures: u64,
    /// Size of a block in all layers, keys and values; 0 without memory.
    pub block_bytes: u64,
    /// Size of all blocks that have memory now.
    pub mapped_bytes: u64,
}

impl ferrum_kv_cache_stats {
    /// The values of `FERRUM_KV_CACHE_STATS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_kv_cache_stats>() as u32,
        level: 0,
        blocks: 0,
        used_blocks: 0,
        cached_blocks: 0,
        free_blocks: 0,
        unmapped_blocks: 0,
        published_blocks: 0,
        references: 0,
        host_blocks: 0,
        host_used_blocks: 0,
        sequences: 0,
        swapped_sequences: 0,
        tokens: 0,
        hits: 0,
        misses: 0,
        evictions: 0,
        copies: 0,
        swapped_out_blocks: 0,
        swapped_in_blocks: 0,
        failures: 0,
        block_bytes: 0,
        mapped_bytes: 0,
    };
}

impl Default for ferrum_kv_cache_stats {
    fn default() -> Self {
        Self::INIT
    }
}

/// A new sequence.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_kv_sequence {
    /// The number of the sequence.
    pub sequence: u64,
    /// Number of its first tokens whose keys and values are in shared blocks.
    pub cached_tokens: u32,
    pub reserved: u32,
}

/// A copy of a whole block, with its keys and values of all layers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_kv_copy {
    /// The block to be copied.
    pub source: i32,
    /// The block that gets the contents.
    pub target: i32,
}

/// An open backend.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_compute {
    /// 0 is no backend
    pub id: u64,
}

/// A prepared operation.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_op {
    /// 0 is no operation
    pub id: u64,
}

/// Operations with fixed tensors.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_sequence {
    /// 0 is no sequence
    pub id: u64,
}

/// The settings of a backend.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_compute_config {
    pub struct_size: u32,
    /// The kind of the backend.
    pub r#type: ferrum_compute_type,
    /// The name of a registered backend, for FERRUM_COMPUTE_CUSTOM; otherwise NULL.
    pub name: *const c_char,
    /// The open device.
    pub device: ferrum_device,
    /// 0 to 3. At 0 each run plans anew; from 1 on plans are kept by shapes. The CPU
    /// engine plans the same at 1, 2 and 3. The level changes no result.
    pub optimization_level: u32,
    /// Number of threads that compute; 0: as many as the process may use.
    pub threads: u32,
    /// 1: fill new and freed memory with patterns, and check the bytes around blocks.
    pub enable_debug: u32,
    /// When memory is taken from the device.
    pub growth: ferrum_compute_growth,
    /// The most memory of the backend; 0: no bound with FERRUM_COMPUTE_GROWTH_DYNAMIC,
    /// otherwise 1 GiB, or a quarter of the device if that is less.
    pub pool_size_bytes: u64,
    /// Alignment of its blocks, a power of two; 0: 256.
    pub alignment_bytes: u64,
    /// 1: keep freed memory for the next allocation; 0: return it to the device.
    pub enable_pooling: u32,
    pub reserved: u32,
    /// Options of the backend, as JSON with the fields of docs/compute.md; NULL: none.
    pub options_json: *const c_char,
    /// Length of options_json, at most FERRUM_WEIGHTS_JSON_MAX.
    pub options_bytes: u64,
}

impl ferrum_compute_config {
    /// The values of `FERRUM_COMPUTE_CONFIG_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_compute_config>() as u32,
        r#type: 4,
        name: core::ptr::null(),
        device: ferrum_device { id: 0 },
        optimization_level: 2,
        threads: 0,
        enable_debug: 0,
        growth: 1,
        pool_size_bytes: 0,
        alignment_bytes: 0,
        enable_pooling: 1,
        reserved: 0,
        options_json: core::ptr::null(),
        options_bytes: 0,
    };
}

impl Default for ferrum_compute_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// What a backend of the program computes. Valid during the function that gets it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_compute_call {
    pub struct_size: u32,
    /// The version of the operator's domain that introduced this form of the operator.
    pub opset: u32,
    /// The operator in its domain, such as "MatMul" or "linear".
    pub name: *const c_char,
    /// Its domain: "" for the operators of ONNX, or "ferrum".
    pub domain: *const c_char,
    /// The attributes that were given or have a default, as a JSON object in alphabetical
    /// order; types of data are their names. A NUL follows the text.
    pub attributes_json: *const c_char,
    /// Length of attributes_json.
    pub attributes_bytes: u64,
    /// The device of the backend.
    pub device: ferrum_device,
    /// The inputs, all with FERRUM_ELEMENTS_READ_ONLY. FERRUM_ELEMENTS_ABSENT: not given.
    /// The addresses are 0 in a plan. Inputs with a shape, axes or sizes can be read by the
    /// host.
    pub inputs: *const ferrum_tensor_desc,
    /// Number of inputs.
    pub input_count: u64,
    /// The outputs. FERRUM_ELEMENTS_ABSENT: not wanted. The addresses are 0 in a plan.
    pub outputs: *const ferrum_tensor_desc,
    /// Number of outputs.
    pub output_count: u64,
    /// Memory of the run, aligned to 64 bytes; 0: none.
    pub workspace: ferrum_address,
    /// Size of the workspace, as the plan states.
    pub workspace_bytes: u64,
    /// Has FERRUM_COMPUTE_MESSAGE_MAX bytes. A function that fails may write UTF-8 text
    /// and a NUL, which becomes a part of the message.
    pub message_out: *mut c_char,
}

impl ferrum_compute_call {
    /// The values of `FERRUM_COMPUTE_CALL_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_compute_call>() as u32,
        opset: 0,
        name: core::ptr::null(),
        domain: core::ptr::null(),
        attributes_json: core::ptr::null(),
        attributes_bytes: 0,
        device: ferrum_device { id: 0 },
        inputs: core::ptr::null(),
        input_count: 0,
        outputs: core::ptr::null(),
        output_count: 0,
        workspace: 0,
        workspace_bytes: 0,
        message_out: core::ptr::null_mut(),
    };
}

impl Default for ferrum_compute_call {
    fn default() -> Self {
        Self::INIT
    }
}

/// How a backend of the program computes a call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_compute_plan {
    pub struct_size: u32,
    /// FERRUM_COMPUTE_PLAN_\* flags.
    pub flags: u32,
    /// The memory that a run needs besides inputs and outputs.
    pub workspace_bytes: u64,
}

impl ferrum_compute_plan {
    /// The values of `FERRUM_COMPUTE_PLAN_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_compute_plan>() as u32,
        flags: 0,
        workspace_bytes: 0,
    };
}

impl Default for ferrum_compute_plan {
    fn default() -> Self {
        Self::INIT
    }
}

/// A backend of the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_compute_backend {
    pub struct_size: u32,
    pub reserved: u32,
    /// Its name, 1 to 63 letters, digits, '_', '-' and '.'. No other backend has this name.
    pub name: *const c_char,
    /// A text for people; NULL: "".
    pub version: *const c_char,
    /// Its properties, as JSON with the fields of docs/compute.md. A field that is missing
    /// has its default. supported_devices has the devices on which it computes.
    pub capabilities_json: *const c_char,
    /// Length of capabilities_json, at most FERRUM_WEIGHTS_JSON_MAX.
    pub capabilities_bytes: u64,
    /// Decides how it computes; NULL: it computes every call without a workspace.
    pub plan: ferrum_compute_plan_fn,
    /// Computes.
    pub run: ferrum_compute_run_fn,
    /// Waits for its work; NULL: outputs are complete when run returns.
    pub synchronize: ferrum_compute_synchronize_fn,
    /// Called once when the registration has ended, and no function of the backend runs or
    /// will be called; NULL: not called.
    pub release: ferrum_release_fn,
    /// Passed to all functions.
    pub user_data: *mut c_void,
}

impl ferrum_compute_backend {
    /// The values of `FERRUM_COMPUTE_BACKEND_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_compute_backend>() as u32,
        reserved: 0,
        name: core::ptr::null(),
        version: core::ptr::null(),
        capabilities_json: core::ptr::null(),
        capabilities_bytes: 0,
        plan: None,
        run: None,
        synchronize: None,
        release: None,
        user_data: core::ptr::null_mut(),
    };
}

impl Default for ferrum_compute_backend {
    fn default() -> Self {
        Self::INIT
    }
}

/// A layer type of the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_layer {
    pub struct_size: u32,
    /// FERRUM_LAYER_\* flags.
    pub flags: u32,
    /// The type in a domain of the program, such as "mine.scale": letters, digits, '_', '-' and
    /// '.', at most 127. What follows the last '.' is the name in the domain. The domains
    /// "ai.onnx" and "ferrum" are those of the library.
    pub r#type: *const c_char,
    /// A text for people; NULL: the type.
    pub name: *const c_char,
    /// Length of each dimension of the first input; -1: any length.
    pub input_shape: [i64; 8],
    /// Number of dimensions of the first input, at most FERRUM_TENSOR_RANK_MAX, or
    /// FERRUM_LAYER_ANY_RANK.
    pub input_rank: u32,
    /// Number of outputs, 1 to 64.
    pub output_count: u32,
    /// The configuration as a JSON object; NULL: {}. The config of a layer of a definition, or
    /// the attributes of an operation, replace its fields.
    pub config_json: *const c_char,
    /// Length of config_json, at most FERRUM_WEIGHTS_JSON_MAX.
    pub config_bytes: u64,
    /// Infers the outputs; NULL: they have the type and shape of the first input.
    pub infer: ferrum_layer_infer_fn,
    /// States the parameters; NULL: the layers of a definition list them.
    pub parameters: ferrum_layer_parameters_fn,
    /// Makes parameters; NULL: each has an initialization or a tensor of the weights.
    pub initialize: ferrum_layer_initialize_fn,
    /// Decides how it computes; NULL: without a workspace.
    pub plan: ferrum_compute_plan_fn,
    /// Computes the outputs from the inputs; the parameters are the last inputs. The outputs
    /// are complete when it returns.
    pub forward: ferrum_compute_run_fn,
    /// Called once when the registration has ended, and no function of the layer runs or
    /// will be called; NULL: not called.
    pub release: ferrum_release_fn,
    /// Passed to all functions.
    pub user_data: *mut c_void,
}

impl ferrum_layer {
    /// The values of `FERRUM_LAYER_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_layer>() as u32,
        flags: 0,
        r#type: core::ptr::null(),
        name: core::ptr::null(),
        input_shape: [0; 8],
        input_rank: 4_294_967_295,
        output_count: 1,
        config_json: core::ptr::null(),
        config_bytes: 0,
        infer: None,
        parameters: None,
        initialize: None,
        plan: None,
        forward: None,
        release: None,
        user_data: core::ptr::null_mut(),
    };
}

impl Default for ferrum_layer {
    fn default() -> Self {
        Self::INIT
    }
}

/// A built model that can run. ferrum_leak_report_json shows the handle of a model from the
/// beginning of its build. Until the build has ended, every function returns
/// FERRUM_ERROR_BUSY for this handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ferrum_executor {
    /// 0 is no executor
    pub id: u64,
}

/// The progress of a build.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_build_progress {
    pub struct_size: u32,
    /// The phase.
    pub phase: ferrum_build_phase,
    /// The part that is done, 0 to 1. It never decreases; the last call of a successful
    /// build has 1.
    pub progress: f64,
    /// Seconds since the beginning.
    pub elapsed_seconds: f64,
    /// The estimate of the remaining seconds; less than 0: not known.
    pub remaining_seconds: f64,
    /// Bytes of the phase that are done.
    pub done_bytes: u64,
    /// Bytes of the phase; 0 for a phase without bytes.
    pub total_bytes: u64,
    /// What the build does now. Valid during the call.
    pub operation: *const c_char,
}

impl ferrum_build_progress {
    /// The values of `FERRUM_BUILD_PROGRESS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_build_progress>() as u32,
        phase: 0,
        progress: 0.0,
        elapsed_seconds: 0.0,
        remaining_seconds: -1.0,
        done_bytes: 0,
        total_bytes: 0,
        operation: core::ptr::null(),
    };
}

impl Default for ferrum_build_progress {
    fn default() -> Self {
        Self::INIT
    }
}

/// The model to build, and the memory for it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_build_request {
    pub struct_size: u32,
    pub reserved: u32,
    /// The id of the model in the elastic pool; NULL: the name of the folder or file, or of the
    /// definition.
    pub model: *const c_char,
    /// A folder with config.json, a GGUF file, or a file of ONNX; NULL: definition_json is
    /// the model.
    pub path: *const c_char,
    /// The definition, without path; otherwise NULL.
    pub definition_json: *const c_char,
    /// Length of definition_json, at most FERRUM_WEIGHTS_JSON_MAX.
    pub definition_bytes: u64,
    /// The tensors of the definition, without path; {0}: the parameters are initialised as
    /// the definition states.
    pub weights: ferrum_weights,
    /// The backend that computes. It stays open as long as the executor.
    pub compute: ferrum_compute,
    /// The memory, on the device of the backend.
    pub elastic_pool: ferrum_elastic_pool,
    /// The same as in ferrum_model_config.
    pub guaranteed_bytes: u64,
    /// The same as in ferrum_model_config.
    pub max_bytes: u64,
    /// The same as in ferrum_model_config.
    pub priority: i32,
    /// The same as in ferrum_model_config.
    pub guarantee_may_wait: u32,
    /// Options of the build, as JSON with the fields of docs/models.md; NULL: all defaults.
    pub options_json: *const c_char,
    /// Length of options_json, at most FERRUM_WEIGHTS_JSON_MAX.
    pub options_bytes: u64,
    /// Called during the build; NULL: not called.
    pub progress: ferrum_build_progress_fn,
    /// Passed to progress.
    pub user_data: *mut c_void,
}

impl ferrum_build_request {
    /// The values of `FERRUM_BUILD_REQUEST_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_build_request>() as u32,
        reserved: 0,
        model: core::ptr::null(),
        path: core::ptr::null(),
        definition_json: core::ptr::null(),
        definition_bytes: 0,
        weights: ferrum_weights { id: 0 },
        compute: ferrum_compute { id: 0 },
        elastic_pool: ferrum_elastic_pool { id: 0 },
        guaranteed_bytes: 0,
        max_bytes: 0,
        priority: 0,
        guarantee_may_wait: 0,
        options_json: core::ptr::null(),
        options_bytes: 0,
        progress: None,
        user_data: core::ptr::null_mut(),
    };
}

impl Default for ferrum_build_request {
    fn default() -> Self {
        Self::INIT
    }
}

/// A tensor with its name.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ferrum_named_tensor {
    /// The name of an input or an output of the model.
    pub name: *const c_char,
    /// The tensor.
    pub tensor: ferrum_tensor,
}

/// What a pass works on. Valid during the function that gets it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_pass_call {
    pub struct_size: u32,
    pub reserved: u32,
    /// Its number, for replace and warn.
    pub call: u64,
    /// The definition, as JSON with the fields of docs/model_definition.md. It is valid, and
    /// a NUL follows it.
    pub definition_json: *const c_char,
    /// Length of definition_json.
    pub definition_bytes: u64,
    /// Takes the changed definition; has no effect in a ferrum_pass_is_applicable_fn.
    pub replace: ferrum_pass_replace_fn,
    /// Takes a warning; has no effect in a ferrum_pass_is_applicable_fn.
    pub warn: ferrum_pass_warn_fn,
    /// Has FERRUM_PASS_MESSAGE_MAX bytes. A function that fails may write UTF-8 text and a
    /// NUL, which becomes a part of the message.
    pub message_out: *mut c_char,
}

impl ferrum_pass_call {
    /// The values of `FERRUM_PASS_CALL_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_pass_call>() as u32,
        reserved: 0,
        call: 0,
        definition_json: core::ptr::null(),
        definition_bytes: 0,
        replace: None,
        warn: None,
        message_out: core::ptr::null_mut(),
    };
}

impl Default for ferrum_pass_call {
    fn default() -> Self {
        Self::INIT
    }
}

/// A pass of the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ferrum_pass {
    pub struct_size: u32,
    /// Number of dependencies, at most FERRUM_PASS_DEPENDENCIES_MAX.
    pub dependency_count: u32,
    /// Its name, 1 to 63 letters, digits, '_', '-' and '.'. No other pass has this name.
    pub name: *const c_char,
    /// The names of the passes that must have run before this one; NULL: none.
    pub dependencies: *const *const c_char,
    /// Decides whether it runs; NULL: always.
    pub is_applicable: ferrum_pass_is_applicable_fn,
    /// Runs it.
    pub apply: ferrum_pass_apply_fn,
    /// Called once when the registration has ended, and no function of the pass runs or will
    /// be called; NULL: not called.
    pub release: ferrum_release_fn,
    /// Passed to all functions.
    pub user_data: *mut c_void,
}

impl ferrum_pass {
    /// The values of `FERRUM_PASS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size_of::<ferrum_pass>() as u32,
        dependency_count: 0,
        name: core::ptr::null(),
        dependencies: core::ptr::null(),
        is_applicable: None,
        apply: None,
        release: None,
        user_data: core::ptr::null_mut(),
    };
}

impl Default for ferrum_pass {
    fn default() -> Self {
        Self::INIT
    }
}

// The layouts are those of the header's compiler.
const _: () = {
    assert!(size_of::<ferrum_device>() == 8);
    assert!(align_of::<ferrum_device>() == 8);
    assert!(offset_of!(ferrum_device, id) == 0);
    assert!(size_of::<ferrum_stream>() == 8);
    assert!(align_of::<ferrum_stream>() == 8);
    assert!(offset_of!(ferrum_stream, id) == 0);
    assert!(size_of::<ferrum_event>() == 8);
    assert!(align_of::<ferrum_event>() == 8);
    assert!(offset_of!(ferrum_event, id) == 0);
    assert!(size_of::<ferrum_pool>() == 8);
    assert!(align_of::<ferrum_pool>() == 8);
    assert!(offset_of!(ferrum_pool, id) == 0);
    assert!(size_of::<ferrum_vpool>() == 8);
    assert!(align_of::<ferrum_vpool>() == 8);
    assert!(offset_of!(ferrum_vpool, id) == 0);
    assert!(size_of::<ferrum_elastic_pool>() == 8);
    assert!(align_of::<ferrum_elastic_pool>() == 8);
    assert!(offset_of!(ferrum_elastic_pool, id) == 0);
    assert!(size_of::<ferrum_manager>() == 8);
    assert!(align_of::<ferrum_manager>() == 8);
    assert!(offset_of!(ferrum_manager, id) == 0);
    assert!(size_of::<ferrum_memory>() == 8);
    assert!(align_of::<ferrum_memory>() == 8);
    assert!(offset_of!(ferrum_memory, id) == 0);
    assert!(size_of::<ferrum_registration>() == 8);
    assert!(align_of::<ferrum_registration>() == 8);
    assert!(offset_of!(ferrum_registration, id) == 0);
    assert!(size_of::<ferrum_config>() == 24);
    assert!(align_of::<ferrum_config>() == 8);
    assert!(offset_of!(ferrum_config, struct_size) == 0);
    assert!(offset_of!(ferrum_config, host_devices) == 4);
    assert!(offset_of!(ferrum_config, host_memory_bytes) == 8);
    assert!(offset_of!(ferrum_config, flags) == 16);
    assert!(offset_of!(ferrum_config, reserved) == 20);
    assert!(size_of::<ferrum_error_info>() == 1328);
    assert!(align_of::<ferrum_error_info>() == 8);
    assert!(offset_of!(ferrum_error_info, struct_size) == 0);
    assert!(offset_of!(ferrum_error_info, status) == 4);
    assert!(offset_of!(ferrum_error_info, native_code) == 8);
    assert!(offset_of!(ferrum_error_info, function) == 16);
    assert!(offset_of!(ferrum_error_info, operation) == 80);
    assert!(offset_of!(ferrum_error_info, device) == 144);
    assert!(offset_of!(ferrum_error_info, message) == 176);
    assert!(offset_of!(ferrum_error_info, facts) == 1200);
    assert!(offset_of!(ferrum_error_info, reserved) == 1204);
    assert!(offset_of!(ferrum_error_info, offset_bytes) == 1208);
    assert!(offset_of!(ferrum_error_info, size_bytes) == 1216);
    assert!(offset_of!(ferrum_error_info, capacity_bytes) == 1224);
    assert!(offset_of!(ferrum_error_info, page_bytes) == 1232);
    assert!(offset_of!(ferrum_error_info, requested_bytes) == 1240);
    assert!(offset_of!(ferrum_error_info, available_bytes) == 1248);
    assert!(offset_of!(ferrum_error_info, largest_free_bytes) == 1256);
    assert!(offset_of!(ferrum_error_info, model) == 1264);
    assert!(size_of::<ferrum_backend_choice>() == 1088);
    assert!(align_of::<ferrum_backend_choice>() == 8);
    assert!(offset_of!(ferrum_backend_choice, struct_size) == 0);
    assert!(offset_of!(ferrum_backend_choice, backend) == 4);
    assert!(offset_of!(ferrum_backend_choice, device_index) == 8);
    assert!(offset_of!(ferrum_backend_choice, reserved) == 12);
    assert!(offset_of!(ferrum_backend_choice, total_bytes) == 16);
    assert!(offset_of!(ferrum_backend_choice, free_bytes) == 24);
    assert!(offset_of!(ferrum_backend_choice, id) == 32);
    assert!(offset_of!(ferrum_backend_choice, tried) == 64);
    assert!(size_of::<ferrum_host_info>() == 152);
    assert!(align_of::<ferrum_host_info>() == 8);
    assert!(offset_of!(ferrum_host_info, struct_size) == 0);
    assert!(offset_of!(ferrum_host_info, available_known) == 4);
    assert!(offset_of!(ferrum_host_info, total_bytes) == 8);
    assert!(offset_of!(ferrum_host_info, available_bytes) == 16);
    assert!(offset_of!(ferrum_host_info, cpu_name) == 24);
    assert!(size_of::<ferrum_device_info>() == 232);
    assert!(align_of::<ferrum_device_info>() == 8);
    assert!(offset_of!(ferrum_device_info, struct_size) == 0);
    assert!(offset_of!(ferrum_device_info, ordinal) == 4);
    assert!(offset_of!(ferrum_device_info, capabilities) == 8);
    assert!(offset_of!(ferrum_device_info, total_bytes) == 16);
    assert!(offset_of!(ferrum_device_info, granularity_bytes) == 24);
    assert!(offset_of!(ferrum_device_info, alignment_bytes) == 32);
    assert!(offset_of!(ferrum_device_info, id) == 40);
    assert!(offset_of!(ferrum_device_info, backend) == 72);
    assert!(offset_of!(ferrum_device_info, name) == 104);
    assert!(size_of::<ferrum_memory_info>() == 104);
    assert!(align_of::<ferrum_memory_info>() == 8);
    assert!(offset_of!(ferrum_memory_info, struct_size) == 0);
    assert!(offset_of!(ferrum_memory_info, pressure) == 4);
    assert!(offset_of!(ferrum_memory_info, total_bytes) == 8);
    assert!(offset_of!(ferrum_memory_info, used_bytes) == 16);
    assert!(offset_of!(ferrum_memory_info, free_bytes) == 24);
    assert!(offset_of!(ferrum_memory_info, reserved_bytes) == 32);
    assert!(offset_of!(ferrum_memory_info, active_allocations) == 40);
    assert!(offset_of!(ferrum_memory_info, fragmentation_ratio) == 48);
    assert!(offset_of!(ferrum_memory_info, utilization_percent) == 52);
    assert!(offset_of!(ferrum_memory_info, bandwidth_known) == 56);
    assert!(offset_of!(ferrum_memory_info, bandwidth_gbps) == 60);
    assert!(offset_of!(ferrum_memory_info, reading_age_ns) == 64);
    assert!(offset_of!(ferrum_memory_info, largest_free_bytes) == 72);
    assert!(offset_of!(ferrum_memory_info, limit_bytes) == 80);
    assert!(offset_of!(ferrum_memory_info, device_total_bytes) == 88);
    assert!(offset_of!(ferrum_memory_info, device_free_bytes) == 96);
    assert!(size_of::<ferrum_gauge>() == 16);
    assert!(align_of::<ferrum_gauge>() == 8);
    assert!(offset_of!(ferrum_gauge, current) == 0);
    assert!(offset_of!(ferrum_gauge, peak) == 8);
    assert!(size_of::<ferrum_statistics>() == 176);
    assert!(align_of::<ferrum_statistics>() == 8);
    assert!(offset_of!(ferrum_statistics, struct_size) == 0);
    assert!(offset_of!(ferrum_statistics, reserved_field) == 4);
    assert!(offset_of!(ferrum_statistics, requested) == 8);
    assert!(offset_of!(ferrum_statistics, allocated) == 24);
    assert!(offset_of!(ferrum_statistics, active) == 40);
    assert!(offset_of!(ferrum_statistics, cached) == 56);
    assert!(offset_of!(ferrum_statistics, unusable) == 72);
    assert!(offset_of!(ferrum_statistics, reserved) == 88);
    assert!(offset_of!(ferrum_statistics, live_blocks) == 104);
    assert!(offset_of!(ferrum_statistics, segments) == 120);
    assert!(offset_of!(ferrum_statistics, allocations) == 136);
    assert!(offset_of!(ferrum_statistics, frees) == 144);
    assert!(offset_of!(ferrum_statistics, failures) == 152);
    assert!(offset_of!(ferrum_statistics, largest_free_bytes) == 160);
    assert!(offset_of!(ferrum_statistics, thread_cached_bytes) == 168);
    assert!(size_of::<ferrum_address_copy>() == 24);
    assert!(align_of::<ferrum_address_copy>() == 8);
    assert!(offset_of!(ferrum_address_copy, source) == 0);
    assert!(offset_of!(ferrum_address_copy, destination) == 8);
    assert!(offset_of!(ferrum_address_copy, size_bytes) == 16);
    assert!(size_of::<ferrum_pool_config>() == 136);
    assert!(align_of::<ferrum_pool_config>() == 8);
    assert!(offset_of!(ferrum_pool_config, struct_size) == 0);
    assert!(offset_of!(ferrum_pool_config, enable_auto_expansion) == 4);
    assert!(offset_of!(ferrum_pool_config, initial_size_bytes) == 8);
    assert!(offset_of!(ferrum_pool_config, max_size_bytes) == 16);
    assert!(offset_of!(ferrum_pool_config, growth_increment_bytes) == 24);
    assert!(offset_of!(ferrum_pool_config, alignment_bytes) == 32);
    assert!(offset_of!(ferrum_pool_config, pre_allocate) == 40);
    assert!(offset_of!(ferrum_pool_config, enable_stats) == 44);
    assert!(offset_of!(ferrum_pool_config, strategy) == 48);
    assert!(offset_of!(ferrum_pool_config, name) == 56);
    assert!(offset_of!(ferrum_pool_config, tracking) == 64);
    assert!(offset_of!(ferrum_pool_config, debug) == 68);
    assert!(offset_of!(ferrum_pool_config, thread_cache_bytes) == 72);
    assert!(offset_of!(ferrum_pool_config, min_held_bytes) == 80);
    assert!(offset_of!(ferrum_pool_config, release_threshold_bytes) == 88);
    assert!(offset_of!(ferrum_pool_config, fixed_block_bytes) == 96);
    assert!(offset_of!(ferrum_pool_config, page_bytes) == 104);
    assert!(offset_of!(ferrum_pool_config, paging) == 112);
    assert!(offset_of!(ferrum_pool_config, ready_pages) == 116);
    assert!(offset_of!(ferrum_pool_config, physical_page_bytes) == 120);
    assert!(offset_of!(ferrum_pool_config, segment_source) == 128);
    assert!(offset_of!(ferrum_pool_config, reserved) == 132);
    assert!(size_of::<ferrum_pool_request>() == 48);
    assert!(align_of::<ferrum_pool_request>() == 8);
    assert!(offset_of!(ferrum_pool_request, struct_size) == 0);
    assert!(offset_of!(ferrum_pool_request, tag) == 4);
    assert!(offset_of!(ferrum_pool_request, size_bytes) == 8);
    assert!(offset_of!(ferrum_pool_request, alignment_bytes) == 16);
    assert!(offset_of!(ferrum_pool_request, stream) == 24);
    assert!(offset_of!(ferrum_pool_request, expected_lifetime_ns) == 32);
    assert!(offset_of!(ferrum_pool_request, group) == 40);
    assert!(size_of::<ferrum_graph_info>() == 48);
    assert!(align_of::<ferrum_graph_info>() == 8);
    assert!(offset_of!(ferrum_graph_info, struct_size) == 0);
    assert!(offset_of!(ferrum_graph_info, capturing) == 4);
    assert!(offset_of!(ferrum_graph_info, sharing) == 8);
    assert!(offset_of!(ferrum_graph_info, held_bytes) == 16);
    assert!(offset_of!(ferrum_graph_info, live_bytes) == 24);
    assert!(offset_of!(ferrum_graph_info, live_blocks) == 32);
    assert!(offset_of!(ferrum_graph_info, parked_bytes) == 40);
    assert!(size_of::<ferrum_pool_info>() == 64);
    assert!(align_of::<ferrum_pool_info>() == 8);
    assert!(offset_of!(ferrum_pool_info, struct_size) == 0);
    assert!(offset_of!(ferrum_pool_info, reserved) == 4);
    assert!(offset_of!(ferrum_pool_info, held_bytes) == 8);
    assert!(offset_of!(ferrum_pool_info, page_bytes) == 16);
    assert!(offset_of!(ferrum_pool_info, mapped_pages) == 24);
    assert!(offset_of!(ferrum_pool_info, idle_pages) == 32);
    assert!(offset_of!(ferrum_pool_info, ready_pages) == 40);
    assert!(offset_of!(ferrum_pool_info, segments) == 48);
    assert!(offset_of!(ferrum_pool_info, address_bytes) == 56);
    assert!(size_of::<ferrum_block_info>() == 264);
    assert!(align_of::<ferrum_block_info>() == 8);
    assert!(offset_of!(ferrum_block_info, struct_size) == 0);
    assert!(offset_of!(ferrum_block_info, state) == 4);
    assert!(offset_of!(ferrum_block_info, pool) == 8);
    assert!(offset_of!(ferrum_block_info, manager) == 16);
    assert!(offset_of!(ferrum_block_info, address) == 24);
    assert!(offset_of!(ferrum_block_info, size_bytes) == 32);
    assert!(offset_of!(ferrum_block_info, requested_bytes) == 40);
    assert!(offset_of!(ferrum_block_info, age_ns) == 48);
    assert!(offset_of!(ferrum_block_info, pool_name) == 56);
    assert!(offset_of!(ferrum_block_info, tag) == 120);
    assert!(offset_of!(ferrum_block_info, vpool) == 184);
    assert!(offset_of!(ferrum_block_info, elastic_pool) == 192);
    assert!(offset_of!(ferrum_block_info, model) == 200);
    assert!(size_of::<ferrum_manager_config>() == 88);
    assert!(align_of::<ferrum_manager_config>() == 8);
    assert!(offset_of!(ferrum_manager_config, struct_size) == 0);
    assert!(offset_of!(ferrum_manager_config, enable_tracking) == 4);
    assert!(offset_of!(ferrum_manager_config, enable_auto_gc) == 8);
    assert!(offset_of!(ferrum_manager_config, enable_debug) == 12);
    assert!(offset_of!(ferrum_manager_config, gc_threshold) == 16);
    assert!(offset_of!(ferrum_manager_config, max_concurrent_transfers) == 20);
    assert!(offset_of!(ferrum_manager_config, pool_configs) == 24);
    assert!(size_of::<ferrum_allocation_request>() == 40);
    assert!(align_of::<ferrum_allocation_request>() == 8);
    assert!(offset_of!(ferrum_allocation_request, struct_size) == 0);
    assert!(offset_of!(ferrum_allocation_request, memory_type) == 4);
    assert!(offset_of!(ferrum_allocation_request, size_bytes) == 8);
    assert!(offset_of!(ferrum_allocation_request, alignment_bytes) == 16);
    assert!(offset_of!(ferrum_allocation_request, tag) == 24);
    assert!(offset_of!(ferrum_allocation_request, flags) == 32);
    assert!(offset_of!(ferrum_allocation_request, reserved) == 36);
    assert!(size_of::<ferrum_handle_info>() == 176);
    assert!(align_of::<ferrum_handle_info>() == 8);
    assert!(offset_of!(ferrum_handle_info, struct_size) == 0);
    assert!(offset_of!(ferrum_handle_info, memory_type) == 4);
    assert!(offset_of!(ferrum_handle_info, memory) == 8);
    assert!(offset_of!(ferrum_handle_info, manager) == 16);
    assert!(offset_of!(ferrum_handle_info, device) == 24);
    assert!(offset_of!(ferrum_handle_info, size_bytes) == 32);
    assert!(offset_of!(ferrum_handle_info, allocated_bytes) == 40);
    assert!(offset_of!(ferrum_handle_info, alignment_bytes) == 48);
    assert!(offset_of!(ferrum_handle_info, address) == 56);
    assert!(offset_of!(ferrum_handle_info, host_pointer) == 64);
    assert!(offset_of!(ferrum_handle_info, allocated_at_ns) == 72);
    assert!(offset_of!(ferrum_handle_info, is_mapped) == 80);
    assert!(offset_of!(ferrum_handle_info, operations_in_flight) == 84);
    assert!(offset_of!(ferrum_handle_info, tag) == 88);
    assert!(offset_of!(ferrum_handle_info, is_relocatable) == 152);
    assert!(offset_of!(ferrum_handle_info, pin_count) == 156);
    assert!(offset_of!(ferrum_handle_info, linked) == 160);
    assert!(offset_of!(ferrum_handle_info, is_adopted) == 168);
    assert!(offset_of!(ferrum_handle_info, is_read_only) == 172);
    assert!(size_of::<ferrum_transfer>() == 48);
    assert!(align_of::<ferrum_transfer>() == 8);
    assert!(offset_of!(ferrum_transfer, struct_size) == 0);
    assert!(offset_of!(ferrum_transfer, reserved) == 4);
    assert!(offset_of!(ferrum_transfer, src) == 8);
    assert!(offset_of!(ferrum_transfer, dst) == 16);
    assert!(offset_of!(ferrum_transfer, size_bytes) == 24);
    assert!(offset_of!(ferrum_transfer, src_offset_bytes) == 32);
    assert!(offset_of!(ferrum_transfer, dst_offset_bytes) == 40);
    assert!(size_of::<ferrum_fill>() == 40);
    assert!(align_of::<ferrum_fill>() == 8);
    assert!(offset_of!(ferrum_fill, struct_size) == 0);
    assert!(offset_of!(ferrum_fill, pattern_bytes) == 4);
    assert!(offset_of!(ferrum_fill, memory) == 8);
    assert!(offset_of!(ferrum_fill, offset_bytes) == 16);
    assert!(offset_of!(ferrum_fill, size_bytes) == 24);
    assert!(offset_of!(ferrum_fill, pattern) == 32);
    assert!(offset_of!(ferrum_fill, reserved) == 36);
    assert!(size_of::<ferrum_defragmentation_stats>() == 152);
    assert!(align_of::<ferrum_defragmentation_stats>() == 8);
    assert!(offset_of!(ferrum_defragmentation_stats, struct_size) == 0);
    assert!(offset_of!(ferrum_defragmentation_stats, fragmentation_before) == 4);
    assert!(offset_of!(ferrum_defragmentation_stats, fragmentation_after) == 8);
    assert!(offset_of!(ferrum_defragmentation_stats, reserved) == 12);
    assert!(offset_of!(ferrum_defragmentation_stats, memory_freed_bytes) == 16);
    assert!(offset_of!(ferrum_defragmentation_stats, blocks_moved) == 24);
    assert!(offset_of!(ferrum_defragmentation_stats, blocks_skipped) == 32);
    assert!(offset_of!(ferrum_defragmentation_stats, time_taken_ns) == 40);
    assert!(offset_of!(ferrum_defragmentation_stats, time_taken_ms) == 48);
    assert!(offset_of!(ferrum_defragmentation_stats, bytes_moved) == 56);
    assert!(offset_of!(ferrum_defragmentation_stats, pages_emptied) == 64);
    assert!(offset_of!(ferrum_defragmentation_stats, segments_emptied) == 72);
    assert!(offset_of!(ferrum_defragmentation_stats, blocks_kept) == 80);
    assert!(offset_of!(ferrum_defragmentation_stats, skipped_not_relocatable) == 88);
    assert!(offset_of!(ferrum_defragmentation_stats, skipped_debugged) == 96);
    assert!(offset_of!(ferrum_defragmentation_stats, skipped_pinned) == 104);
    assert!(offset_of!(ferrum_defragmentation_stats, skipped_in_use) == 112);
    assert!(offset_of!(ferrum_defragmentation_stats, skipped_no_room) == 120);
    assert!(offset_of!(ferrum_defragmentation_stats, skipped_over_budget) == 128);
    assert!(offset_of!(ferrum_defragmentation_stats, budget_ended) == 136);
    assert!(offset_of!(ferrum_defragmentation_stats, reserved_end) == 140);
    assert!(offset_of!(ferrum_defragmentation_stats, skipped_mapped) == 144);
    assert!(size_of::<ferrum_reclaim_config>() == 16);
    assert!(align_of::<ferrum_reclaim_config>() == 8);
    assert!(offset_of!(ferrum_reclaim_config, struct_size) == 0);
    assert!(offset_of!(ferrum_reclaim_config, priority) == 4);
    assert!(offset_of!(ferrum_reclaim_config, deadline_ns) == 8);
    assert!(size_of::<ferrum_page_sizes>() == 24);
    assert!(align_of::<ferrum_page_sizes>() == 8);
    assert!(offset_of!(ferrum_page_sizes, struct_size) == 0);
    assert!(offset_of!(ferrum_page_sizes, reserved) == 4);
    assert!(offset_of!(ferrum_page_sizes, minimum_bytes) == 8);
    assert!(offset_of!(ferrum_page_sizes, recommended_bytes) == 16);
    assert!(size_of::<ferrum_vpool_config>() == 48);
    assert!(align_of::<ferrum_vpool_config>() == 8);
    assert!(offset_of!(ferrum_vpool_config, struct_size) == 0);
    assert!(offset_of!(ferrum_vpool_config, flags) == 4);
    assert!(offset_of!(ferrum_vpool_config, capacity_bytes) == 8);
    assert!(offset_of!(ferrum_vpool_config, page_bytes) == 16);
    assert!(offset_of!(ferrum_vpool_config, limit_bytes) == 24);
    assert!(offset_of!(ferrum_vpool_config, name) == 32);
    assert!(offset_of!(ferrum_vpool_config, ready_pages) == 40);
    assert!(offset_of!(ferrum_vpool_config, backing) == 44);
    assert!(size_of::<ferrum_vpool_request>() == 48);
    assert!(align_of::<ferrum_vpool_request>() == 8);
    assert!(offset_of!(ferrum_vpool_request, struct_size) == 0);
    assert!(offset_of!(ferrum_vpool_request, reserved) == 4);
    assert!(offset_of!(ferrum_vpool_request, offset_bytes) == 8);
    assert!(offset_of!(ferrum_vpool_request, size_bytes) == 16);
    assert!(offset_of!(ferrum_vpool_request, tag) == 24);
    assert!(offset_of!(ferrum_vpool_request, asleep_wait_ns) == 32);
    assert!(offset_of!(ferrum_vpool_request, stream) == 40);
    assert!(size_of::<ferrum_byte_range>() == 16);
    assert!(align_of::<ferrum_byte_range>() == 8);
    assert!(offset_of!(ferrum_byte_range, offset_bytes) == 0);
    assert!(offset_of!(ferrum_byte_range, size_bytes) == 8);
    assert!(size_of::<ferrum_batch_options>() == 32);
    assert!(align_of::<ferrum_batch_options>() == 8);
    assert!(offset_of!(ferrum_batch_options, struct_size) == 0);
    assert!(offset_of!(ferrum_batch_options, reserved) == 4);
    assert!(offset_of!(ferrum_batch_options, tag) == 8);
    assert!(offset_of!(ferrum_batch_options, asleep_wait_ns) == 16);
    assert!(offset_of!(ferrum_batch_options, stream) == 24);
    assert!(size_of::<ferrum_vpool_info>() == 232);
    assert!(align_of::<ferrum_vpool_info>() == 8);
    assert!(offset_of!(ferrum_vpool_info, struct_size) == 0);
    assert!(offset_of!(ferrum_vpool_info, unmapped_share) == 4);
    assert!(offset_of!(ferrum_vpool_info, fragmentation) == 8);
    assert!(offset_of!(ferrum_vpool_info, reserved) == 12);
    assert!(offset_of!(ferrum_vpool_info, base_address) == 16);
    assert!(offset_of!(ferrum_vpool_info, page_bytes) == 24);
    assert!(offset_of!(ferrum_vpool_info, virtual_capacity_bytes) == 32);
    assert!(offset_of!(ferrum_vpool_info, physical_bytes) == 40);
    assert!(offset_of!(ferrum_vpool_info, peak_physical_bytes) == 48);
    assert!(offset_of!(ferrum_vpool_info, requested_bytes) == 56);
    assert!(offset_of!(ferrum_vpool_info, mapped_pages) == 64);
    assert!(offset_of!(ferrum_vpool_info, retiring_pages) == 72);
    assert!(offset_of!(ferrum_vpool_info, parked_pages) == 80);
    assert!(offset_of!(ferrum_vpool_info, ready_pages) == 88);
    assert!(offset_of!(ferrum_vpool_info, held_bytes) == 96);
    assert!(offset_of!(ferrum_vpool_info, limit_bytes) == 104);
    assert!(offset_of!(ferrum_vpool_info, available_bytes) == 112);
    assert!(offset_of!(ferrum_vpool_info, largest_free_run_bytes) == 120);
    assert!(offset_of!(ferrum_vpool_info, allocations) == 128);
    assert!(offset_of!(ferrum_vpool_info, table_bytes) == 136);
    assert!(offset_of!(ferrum_vpool_info, asleep_pages) == 144);
    assert!(offset_of!(ferrum_vpool_info, asleep_bytes) == 152);
    assert!(offset_of!(ferrum_vpool_info, asleep_host_bytes) == 160);
    assert!(offset_of!(ferrum_vpool_info, asleep_file_bytes) == 168);
    assert!(offset_of!(ferrum_vpool_info, asleep_discarded_bytes) == 176);
    assert!(offset_of!(ferrum_vpool_info, sleeps) == 184);
    assert!(offset_of!(ferrum_vpool_info, wakes) == 192);
    assert!(offset_of!(ferrum_vpool_info, sleep_ns) == 200);
    assert!(offset_of!(ferrum_vpool_info, wake_ns) == 208);
    assert!(offset_of!(ferrum_vpool_info, sleep_failures) == 216);
    assert!(offset_of!(ferrum_vpool_info, wake_failures) == 224);
    assert!(size_of::<ferrum_compact_report>() == 48);
    assert!(align_of::<ferrum_compact_report>() == 8);
    assert!(offset_of!(ferrum_compact_report, struct_size) == 0);
    assert!(offset_of!(ferrum_compact_report, reserved) == 4);
    assert!(offset_of!(ferrum_compact_report, landed_pages) == 8);
    assert!(offset_of!(ferrum_compact_report, unmapped_pages) == 16);
    assert!(offset_of!(ferrum_compact_report, released_bytes) == 24);
    assert!(offset_of!(ferrum_compact_report, runs_before) == 32);
    assert!(offset_of!(ferrum_compact_report, runs_after) == 40);
    assert!(size_of::<ferrum_elastic_pool_config>() == 40);
    assert!(align_of::<ferrum_elastic_pool_config>() == 8);
    assert!(offset_of!(ferrum_elastic_pool_config, struct_size) == 0);
    assert!(offset_of!(ferrum_elastic_pool_config, flags) == 4);
    assert!(offset_of!(ferrum_elastic_pool_config, limit_bytes) == 8);
    assert!(offset_of!(ferrum_elastic_pool_config, page_bytes) == 16);
    assert!(offset_of!(ferrum_elastic_pool_config, name) == 24);
    assert!(offset_of!(ferrum_elastic_pool_config, ready_pages) == 32);
    assert!(offset_of!(ferrum_elastic_pool_config, backing) == 36);
    assert!(size_of::<ferrum_model_config>() == 40);
    assert!(align_of::<ferrum_model_config>() == 8);
    assert!(offset_of!(ferrum_model_config, struct_size) == 0);
    assert!(offset_of!(ferrum_model_config, priority) == 4);
    assert!(offset_of!(ferrum_model_config, virtual_bytes) == 8);
    assert!(offset_of!(ferrum_model_config, guaranteed_bytes) == 16);
    assert!(offset_of!(ferrum_model_config, max_bytes) == 24);
    assert!(offset_of!(ferrum_model_config, unscrubbed) == 32);
    assert!(offset_of!(ferrum_model_config, guarantee_may_wait) == 36);
    assert!(size_of::<ferrum_model_request>() == 48);
    assert!(align_of::<ferrum_model_request>() == 8);
    assert!(offset_of!(ferrum_model_request, struct_size) == 0);
    assert!(offset_of!(ferrum_model_request, at_offset) == 4);
    assert!(offset_of!(ferrum_model_request, offset_bytes) == 8);
    assert!(offset_of!(ferrum_model_request, size_bytes) == 16);
    assert!(offset_of!(ferrum_model_request, tag) == 24);
    assert!(offset_of!(ferrum_model_request, asleep_wait_ns) == 32);
    assert!(offset_of!(ferrum_model_request, stream) == 40);
    assert!(size_of::<ferrum_model_info>() == 288);
    assert!(align_of::<ferrum_model_info>() == 8);
    assert!(offset_of!(ferrum_model_info, struct_size) == 0);
    assert!(offset_of!(ferrum_model_info, priority) == 4);
    assert!(offset_of!(ferrum_model_info, unmapped_share) == 8);
    assert!(offset_of!(ferrum_model_info, fragmentation) == 12);
    assert!(offset_of!(ferrum_model_info, base_address) == 16);
    assert!(offset_of!(ferrum_model_info, page_bytes) == 24);
    assert!(offset_of!(ferrum_model_info, virtual_capacity_bytes) == 32);
    assert!(offset_of!(ferrum_model_info, physical_bytes) == 40);
    assert!(offset_of!(ferrum_model_info, peak_physical_bytes) == 48);
    assert!(offset_of!(ferrum_model_info, requested_bytes) == 56);
    assert!(offset_of!(ferrum_model_info, mapped_pages) == 64);
    assert!(offset_of!(ferrum_model_info, retiring_pages) == 72);
    assert!(offset_of!(ferrum_model_info, parked_pages) == 80);
    assert!(offset_of!(ferrum_model_info, cached_bytes) == 88);
    assert!(offset_of!(ferrum_model_info, guaranteed_bytes) == 96);
    assert!(offset_of!(ferrum_model_info, max_bytes) == 104);
    assert!(offset_of!(ferrum_model_info, available_bytes) == 112);
    assert!(offset_of!(ferrum_model_info, largest_free_run_bytes) == 120);
    assert!(offset_of!(ferrum_model_info, allocations) == 128);
    assert!(offset_of!(ferrum_model_info, frees) == 136);
    assert!(offset_of!(ferrum_model_info, failures) == 144);
    assert!(offset_of!(ferrum_model_info, waits) == 152);
    assert!(offset_of!(ferrum_model_info, waited_ns) == 160);
    assert!(offset_of!(ferrum_model_info, reclaim_calls) == 168);
    assert!(offset_of!(ferrum_model_info, reclaimed_bytes) == 176);
    assert!(offset_of!(ferrum_model_info, table_bytes) == 184);
    assert!(offset_of!(ferrum_model_info, asleep_pages) == 192);
    assert!(offset_of!(ferrum_model_info, asleep_bytes) == 200);
    assert!(offset_of!(ferrum_model_info, asleep_host_bytes) == 208);
    assert!(offset_of!(ferrum_model_info, asleep_file_bytes) == 216);
    assert!(offset_of!(ferrum_model_info, asleep_discarded_bytes) == 224);
    assert!(offset_of!(ferrum_model_info, sleeps) == 232);
    assert!(offset_of!(ferrum_model_info, wakes) == 240);
    assert!(offset_of!(ferrum_model_info, sleep_ns) == 248);
    assert!(offset_of!(ferrum_model_info, wake_ns) == 256);
    assert!(offset_of!(ferrum_model_info, sleep_failures) == 264);
    assert!(offset_of!(ferrum_model_info, wake_failures) == 272);
    assert!(offset_of!(ferrum_model_info, requested_guarantee_bytes) == 280);
    assert!(size_of::<ferrum_model_limits>() == 32);
    assert!(align_of::<ferrum_model_limits>() == 8);
    assert!(offset_of!(ferrum_model_limits, struct_size) == 0);
    assert!(offset_of!(ferrum_model_limits, priority) == 4);
    assert!(offset_of!(ferrum_model_limits, guaranteed_bytes) == 8);
    assert!(offset_of!(ferrum_model_limits, max_bytes) == 16);
    assert!(offset_of!(ferrum_model_limits, guarantee_may_wait) == 24);
    assert!(offset_of!(ferrum_model_limits, reserved) == 28);
    assert!(size_of::<ferrum_elastic_pool_info>() == 96);
    assert!(align_of::<ferrum_elastic_pool_info>() == 8);
    assert!(offset_of!(ferrum_elastic_pool_info, struct_size) == 0);
    assert!(offset_of!(ferrum_elastic_pool_info, reserved) == 4);
    assert!(offset_of!(ferrum_elastic_pool_info, page_bytes) == 8);
    assert!(offset_of!(ferrum_elastic_pool_info, physical_limit_bytes) == 16);
    assert!(offset_of!(ferrum_elastic_pool_info, physical_bytes) == 24);
    assert!(offset_of!(ferrum_elastic_pool_info, peak_physical_bytes) == 32);
    assert!(offset_of!(ferrum_elastic_pool_info, num_models) == 40);
    assert!(offset_of!(ferrum_elastic_pool_info, virtual_bytes) == 48);
    assert!(offset_of!(ferrum_elastic_pool_info, guaranteed_bytes) == 56);
    assert!(offset_of!(ferrum_elastic_pool_info, retiring_bytes) == 64);
    assert!(offset_of!(ferrum_elastic_pool_info, cached_bytes) == 72);
    assert!(offset_of!(ferrum_elastic_pool_info, held_bytes) == 80);
    assert!(offset_of!(ferrum_elastic_pool_info, waiting) == 88);
    assert!(size_of::<ferrum_sleep_config>() == 48);
    assert!(align_of::<ferrum_sleep_config>() == 8);
    assert!(offset_of!(ferrum_sleep_config, struct_size) == 0);
    assert!(offset_of!(ferrum_sleep_config, backing) == 4);
    assert!(offset_of!(ferrum_sleep_config, tag) == 8);
    assert!(offset_of!(ferrum_sleep_config, directory) == 16);
    assert!(offset_of!(ferrum_sleep_config, stream) == 24);
    assert!(offset_of!(ferrum_sleep_config, timeout_ns) == 32);
    assert!(offset_of!(ferrum_sleep_config, num_streams) == 40);
    assert!(offset_of!(ferrum_sleep_config, reserved) == 44);
    assert!(size_of::<ferrum_sleep_report>() == 4120);
    assert!(align_of::<ferrum_sleep_report>() == 8);
    assert!(offset_of!(ferrum_sleep_report, struct_size) == 0);
    assert!(offset_of!(ferrum_sleep_report, reserved) == 4);
    assert!(offset_of!(ferrum_sleep_report, released_bytes) == 8);
    assert!(offset_of!(ferrum_sleep_report, elapsed_ns) == 16);
    assert!(offset_of!(ferrum_sleep_report, path) == 24);
    assert!(size_of::<ferrum_wake_config>() == 24);
    assert!(align_of::<ferrum_wake_config>() == 8);
    assert!(offset_of!(ferrum_wake_config, struct_size) == 0);
    assert!(offset_of!(ferrum_wake_config, num_streams) == 4);
    assert!(offset_of!(ferrum_wake_config, tag) == 8);
    assert!(offset_of!(ferrum_wake_config, timeout_ns) == 16);
    assert!(size_of::<ferrum_wake_report>() == 24);
    assert!(align_of::<ferrum_wake_report>() == 8);
    assert!(offset_of!(ferrum_wake_report, struct_size) == 0);
    assert!(offset_of!(ferrum_wake_report, reserved) == 4);
    assert!(offset_of!(ferrum_wake_report, restored_bytes) == 8);
    assert!(offset_of!(ferrum_wake_report, elapsed_ns) == 16);
    assert!(size_of::<ferrum_monitor>() == 8);
    assert!(align_of::<ferrum_monitor>() == 8);
    assert!(offset_of!(ferrum_monitor, id) == 0);
    assert!(size_of::<ferrum_monitor_config>() == 24);
    assert!(align_of::<ferrum_monitor_config>() == 8);
    assert!(offset_of!(ferrum_monitor_config, struct_size) == 0);
    assert!(offset_of!(ferrum_monitor_config, profile) == 4);
    assert!(offset_of!(ferrum_monitor_config, interval_ns) == 8);
    assert!(offset_of!(ferrum_monitor_config, flags) == 16);
    assert!(offset_of!(ferrum_monitor_config, reserved) == 20);
    assert!(size_of::<ferrum_device_level>() == 16);
    assert!(align_of::<ferrum_device_level>() == 8);
    assert!(offset_of!(ferrum_device_level, device) == 0);
    assert!(offset_of!(ferrum_device_level, level) == 8);
    assert!(offset_of!(ferrum_device_level, reserved) == 12);
    assert!(size_of::<ferrum_monitor_pressure>() == 40);
    assert!(align_of::<ferrum_monitor_pressure>() == 8);
    assert!(offset_of!(ferrum_monitor_pressure, struct_size) == 0);
    assert!(offset_of!(ferrum_monitor_pressure, level) == 4);
    assert!(offset_of!(ferrum_monitor_pressure, weighted_level) == 8);
    assert!(offset_of!(ferrum_monitor_pressure, devices) == 12);
    assert!(offset_of!(ferrum_monitor_pressure, unknown_devices) == 16);
    assert!(offset_of!(ferrum_monitor_pressure, reserved) == 20);
    assert!(offset_of!(ferrum_monitor_pressure, total_bytes) == 24);
    assert!(offset_of!(ferrum_monitor_pressure, used_bytes) == 32);
    assert!(size_of::<ferrum_collected>() == 88);
    assert!(align_of::<ferrum_collected>() == 8);
    assert!(offset_of!(ferrum_collected, device) == 0);
    assert!(offset_of!(ferrum_collected, status) == 8);
    assert!(offset_of!(ferrum_collected, managers) == 12);
    assert!(offset_of!(ferrum_collected, fragmentation_before) == 16);
    assert!(offset_of!(ferrum_collected, fragmentation_after) == 20);
    assert!(offset_of!(ferrum_collected, memory_freed_bytes) == 24);
    assert!(offset_of!(ferrum_collected, blocks_moved) == 32);
    assert!(offset_of!(ferrum_collected, blocks_skipped) == 40);
    assert!(offset_of!(ferrum_collected, time_taken_ns) == 48);
    assert!(offset_of!(ferrum_collected, time_taken_ms) == 56);
    assert!(offset_of!(ferrum_collected, reserved) == 64);
    assert!(size_of::<ferrum_placement>() == 8);
    assert!(align_of::<ferrum_placement>() == 8);
    assert!(offset_of!(ferrum_placement, id) == 0);
    assert!(size_of::<ferrum_placement_request>() == 64);
    assert!(align_of::<ferrum_placement_request>() == 8);
    assert!(offset_of!(ferrum_placement_request, struct_size) == 0);
    assert!(offset_of!(ferrum_placement_request, memory_type) == 4);
    assert!(offset_of!(ferrum_placement_request, size_bytes) == 8);
    assert!(offset_of!(ferrum_placement_request, alignment_bytes) == 16);
    assert!(offset_of!(ferrum_placement_request, expected_lifetime_ns) == 24);
    assert!(offset_of!(ferrum_placement_request, preferred) == 32);
    assert!(offset_of!(ferrum_placement_request, devices) == 40);
    assert!(offset_of!(ferrum_placement_request, preferred_count) == 48);
    assert!(offset_of!(ferrum_placement_request, device_count) == 52);
    assert!(offset_of!(ferrum_placement_request, flags) == 56);
    assert!(offset_of!(ferrum_placement_request, profile) == 60);
    assert!(size_of::<ferrum_placement_option>() == 80);
    assert!(align_of::<ferrum_placement_option>() == 8);
    assert!(offset_of!(ferrum_placement_option, device) == 0);
    assert!(offset_of!(ferrum_placement_option, needed_bytes) == 8);
    assert!(offset_of!(ferrum_placement_option, total_bytes) == 16);
    assert!(offset_of!(ferrum_placement_option, used_bytes) == 24);
    assert!(offset_of!(ferrum_placement_option, free_bytes) == 32);
    assert!(offset_of!(ferrum_placement_option, largest_free_bytes) == 40);
    assert!(offset_of!(ferrum_placement_option, reason) == 48);
    assert!(offset_of!(ferrum_placement_option, tier) == 52);
    assert!(offset_of!(ferrum_placement_option, preferred_rank) == 56);
    assert!(offset_of!(ferrum_placement_option, level_after) == 60);
    assert!(offset_of!(ferrum_placement_option, reserved) == 64);
    assert!(size_of::<ferrum_model_shape>() == 72);
    assert!(align_of::<ferrum_model_shape>() == 8);
    assert!(offset_of!(ferrum_model_shape, struct_size) == 0);
    assert!(offset_of!(ferrum_model_shape, reserved) == 4);
    assert!(offset_of!(ferrum_model_shape, hidden_size) == 8);
    assert!(offset_of!(ferrum_model_shape, intermediate_size) == 16);
    assert!(offset_of!(ferrum_model_shape, num_layers) == 24);
    assert!(offset_of!(ferrum_model_shape, vocab_size) == 32);
    assert!(offset_of!(ferrum_model_shape, num_heads) == 40);
    assert!(offset_of!(ferrum_model_shape, num_kv_heads) == 48);
    assert!(offset_of!(ferrum_model_shape, max_seq_len) == 56);
    assert!(offset_of!(ferrum_model_shape, dtype_bytes) == 64);
    assert!(size_of::<ferrum_kv_cache_shape>() == 48);
    assert!(align_of::<ferrum_kv_cache_shape>() == 8);
    assert!(offset_of!(ferrum_kv_cache_shape, struct_size) == 0);
    assert!(offset_of!(ferrum_kv_cache_shape, reserved) == 4);
    assert!(offset_of!(ferrum_kv_cache_shape, num_layers) == 8);
    assert!(offset_of!(ferrum_kv_cache_shape, num_kv_heads) == 16);
    assert!(offset_of!(ferrum_kv_cache_shape, head_dim) == 24);
    assert!(offset_of!(ferrum_kv_cache_shape, max_seq_len) == 32);
    assert!(offset_of!(ferrum_kv_cache_shape, dtype_bytes) == 40);
    assert!(size_of::<ferrum_inference_estimate>() == 40);
    assert!(align_of::<ferrum_inference_estimate>() == 8);
    assert!(offset_of!(ferrum_inference_estimate, struct_size) == 0);
    assert!(offset_of!(ferrum_inference_estimate, reserved) == 4);
    assert!(offset_of!(ferrum_inference_estimate, model_bytes) == 8);
    assert!(offset_of!(ferrum_inference_estimate, kv_cache_bytes) == 16);
    assert!(offset_of!(ferrum_inference_estimate, activation_bytes) == 24);
    assert!(offset_of!(ferrum_inference_estimate, total_bytes) == 32);
    assert!(size_of::<ferrum_estimate_request>() == 80);
    assert!(align_of::<ferrum_estimate_request>() == 8);
    assert!(offset_of!(ferrum_estimate_request, struct_size) == 0);
    assert!(offset_of!(ferrum_estimate_request, flags) == 4);
    assert!(offset_of!(ferrum_estimate_request, context) == 8);
    assert!(offset_of!(ferrum_estimate_request, batch) == 16);
    assert!(offset_of!(ferrum_estimate_request, tensor_parallel) == 24);
    assert!(offset_of!(ferrum_estimate_request, prefill_tokens) == 32);
    assert!(offset_of!(ferrum_estimate_request, overhead_permille) == 40);
    assert!(offset_of!(ferrum_estimate_request, free_bytes) == 48);
    assert!(offset_of!(ferrum_estimate_request, kv_dtype) == 56);
    assert!(offset_of!(ferrum_estimate_request, weight_dtype) == 64);
    assert!(offset_of!(ferrum_estimate_request, block_tokens) == 72);
    assert!(size_of::<ferrum_fallback_manager>() == 8);
    assert!(align_of::<ferrum_fallback_manager>() == 8);
    assert!(offset_of!(ferrum_fallback_manager, id) == 0);
    assert!(size_of::<ferrum_fallback_buffer>() == 8);
    assert!(align_of::<ferrum_fallback_buffer>() == 8);
    assert!(offset_of!(ferrum_fallback_buffer, id) == 0);
    assert!(size_of::<ferrum_tracker>() == 8);
    assert!(align_of::<ferrum_tracker>() == 8);
    assert!(offset_of!(ferrum_tracker, id) == 0);
    assert!(size_of::<ferrum_generic_pool>() == 8);
    assert!(align_of::<ferrum_generic_pool>() == 8);
    assert!(offset_of!(ferrum_generic_pool, id) == 0);
    assert!(size_of::<ferrum_memory_config>() == 56);
    assert!(align_of::<ferrum_memory_config>() == 8);
    assert!(offset_of!(ferrum_memory_config, struct_size) == 0);
    assert!(offset_of!(ferrum_memory_config, flags) == 4);
    assert!(offset_of!(ferrum_memory_config, gpu_memory_fraction) == 8);
    assert!(offset_of!(ferrum_memory_config, min_free_bytes) == 16);
    assert!(offset_of!(ferrum_memory_config, max_pooled_per_bucket) == 24);
    assert!(offset_of!(ferrum_memory_config, max_pooled_bytes) == 32);
    assert!(offset_of!(ferrum_memory_config, pre_allocate_sizes) == 40);
    assert!(offset_of!(ferrum_memory_config, pre_allocate_count) == 48);
    assert!(size_of::<ferrum_memory_stats>() == 72);
    assert!(align_of::<ferrum_memory_stats>() == 8);
    assert!(offset_of!(ferrum_memory_stats, struct_size) == 0);
    assert!(offset_of!(ferrum_memory_stats, reserved) == 4);
    assert!(offset_of!(ferrum_memory_stats, total_allocated_bytes) == 8);
    assert!(offset_of!(ferrum_memory_stats, in_use_bytes) == 16);
    assert!(offset_of!(ferrum_memory_stats, pooled_bytes) == 24);
    assert!(offset_of!(ferrum_memory_stats, peak_bytes) == 32);
    assert!(offset_of!(ferrum_memory_stats, pool_hits) == 40);
    assert!(offset_of!(ferrum_memory_stats, pool_misses) == 48);
    assert!(offset_of!(ferrum_memory_stats, cpu_fallbacks) == 56);
    assert!(offset_of!(ferrum_memory_stats, active_buffers) == 64);
    assert!(size_of::<ferrum_memory_ratios>() == 32);
    assert!(align_of::<ferrum_memory_ratios>() == 8);
    assert!(offset_of!(ferrum_memory_ratios, struct_size) == 0);
    assert!(offset_of!(ferrum_memory_ratios, reserved) == 4);
    assert!(offset_of!(ferrum_memory_ratios, hit_rate) == 8);
    assert!(offset_of!(ferrum_memory_ratios, utilization) == 16);
    assert!(offset_of!(ferrum_memory_ratios, efficiency) == 24);
    assert!(size_of::<ferrum_buffer_metadata>() == 112);
    assert!(align_of::<ferrum_buffer_metadata>() == 8);
    assert!(offset_of!(ferrum_buffer_metadata, buffer_id) == 0);
    assert!(offset_of!(ferrum_buffer_metadata, size_bytes) == 8);
    assert!(offset_of!(ferrum_buffer_metadata, num_elements) == 16);
    assert!(offset_of!(ferrum_buffer_metadata, age_ns) == 24);
    assert!(offset_of!(ferrum_buffer_metadata, device) == 32);
    assert!(offset_of!(ferrum_buffer_metadata, location) == 40);
    assert!(offset_of!(ferrum_buffer_metadata, reserved) == 44);
    assert!(offset_of!(ferrum_buffer_metadata, tag) == 48);
    assert!(size_of::<ferrum_tracker_totals>() == 32);
    assert!(align_of::<ferrum_tracker_totals>() == 8);
    assert!(offset_of!(ferrum_tracker_totals, struct_size) == 0);
    assert!(offset_of!(ferrum_tracker_totals, reserved) == 4);
    assert!(offset_of!(ferrum_tracker_totals, count) == 8);
    assert!(offset_of!(ferrum_tracker_totals, total_bytes) == 16);
    assert!(offset_of!(ferrum_tracker_totals, peak_bytes) == 24);
    assert!(size_of::<ferrum_buffer_use>() == 24);
    assert!(align_of::<ferrum_buffer_use>() == 8);
    assert!(offset_of!(ferrum_buffer_use, struct_size) == 0);
    assert!(offset_of!(ferrum_buffer_use, location) == 4);
    assert!(offset_of!(ferrum_buffer_use, num_elements) == 8);
    assert!(offset_of!(ferrum_buffer_use, tag) == 16);
    assert!(size_of::<ferrum_buffer_lease>() == 24);
    assert!(align_of::<ferrum_buffer_lease>() == 8);
    assert!(offset_of!(ferrum_buffer_lease, buffer) == 0);
    assert!(offset_of!(ferrum_buffer_lease, size_bytes) == 8);
    assert!(offset_of!(ferrum_buffer_lease, buffer_id) == 16);
    assert!(size_of::<ferrum_fallback_stats>() == 40);
    assert!(align_of::<ferrum_fallback_stats>() == 8);
    assert!(offset_of!(ferrum_fallback_stats, struct_size) == 0);
    assert!(offset_of!(ferrum_fallback_stats, reserved) == 4);
    assert!(offset_of!(ferrum_fallback_stats, cpu_bytes) == 8);
    assert!(offset_of!(ferrum_fallback_stats, cpu_buffers) == 16);
    assert!(offset_of!(ferrum_fallback_stats, moved_to_cpu) == 24);
    assert!(offset_of!(ferrum_fallback_stats, moved_to_gpu) == 32);
    assert!(size_of::<ferrum_buffer_request>() == 40);
    assert!(align_of::<ferrum_buffer_request>() == 8);
    assert!(offset_of!(ferrum_buffer_request, struct_size) == 0);
    assert!(offset_of!(ferrum_buffer_request, dtype) == 4);
    assert!(offset_of!(ferrum_buffer_request, num_elements) == 8);
    assert!(offset_of!(ferrum_buffer_request, place) == 16);
    assert!(offset_of!(ferrum_buffer_request, flags) == 20);
    assert!(offset_of!(ferrum_buffer_request, stream) == 24);
    assert!(offset_of!(ferrum_buffer_request, tag) == 32);
    assert!(size_of::<ferrum_fallback_buffer_info>() == 72);
    assert!(align_of::<ferrum_fallback_buffer_info>() == 8);
    assert!(offset_of!(ferrum_fallback_buffer_info, struct_size) == 0);
    assert!(offset_of!(ferrum_fallback_buffer_info, dtype) == 4);
    assert!(offset_of!(ferrum_fallback_buffer_info, buffer_id) == 8);
    assert!(offset_of!(ferrum_fallback_buffer_info, num_elements) == 16);
    assert!(offset_of!(ferrum_fallback_buffer_info, size_bytes) == 24);
    assert!(offset_of!(ferrum_fallback_buffer_info, address) == 32);
    assert!(offset_of!(ferrum_fallback_buffer_info, manager) == 40);
    assert!(offset_of!(ferrum_fallback_buffer_info, device) == 48);
    assert!(offset_of!(ferrum_fallback_buffer_info, location) == 56);
    assert!(offset_of!(ferrum_fallback_buffer_info, pins) == 60);
    assert!(offset_of!(ferrum_fallback_buffer_info, flags) == 64);
    assert!(offset_of!(ferrum_fallback_buffer_info, reserved) == 68);
    assert!(size_of::<ferrum_map_request>() == 32);
    assert!(align_of::<ferrum_map_request>() == 8);
    assert!(offset_of!(ferrum_map_request, struct_size) == 0);
    assert!(offset_of!(ferrum_map_request, access) == 4);
    assert!(offset_of!(ferrum_map_request, memory) == 8);
    assert!(offset_of!(ferrum_map_request, offset_bytes) == 16);
    assert!(offset_of!(ferrum_map_request, size_bytes) == 24);
    assert!(size_of::<ferrum_mapping>() == 32);
    assert!(align_of::<ferrum_mapping>() == 8);
    assert!(offset_of!(ferrum_mapping, struct_size) == 0);
    assert!(offset_of!(ferrum_mapping, is_staged) == 4);
    assert!(offset_of!(ferrum_mapping, mapping_id) == 8);
    assert!(offset_of!(ferrum_mapping, host_pointer) == 16);
    assert!(offset_of!(ferrum_mapping, size_bytes) == 24);
    assert!(size_of::<ferrum_link_request>() == 32);
    assert!(align_of::<ferrum_link_request>() == 8);
    assert!(offset_of!(ferrum_link_request, struct_size) == 0);
    assert!(offset_of!(ferrum_link_request, reserved) == 4);
    assert!(offset_of!(ferrum_link_request, size_bytes) == 8);
    assert!(offset_of!(ferrum_link_request, alignment_bytes) == 16);
    assert!(offset_of!(ferrum_link_request, tag) == 24);
    assert!(size_of::<ferrum_usage_hints>() == 16);
    assert!(align_of::<ferrum_usage_hints>() == 4);
    assert!(offset_of!(ferrum_usage_hints, struct_size) == 0);
    assert!(offset_of!(ferrum_usage_hints, order) == 4);
    assert!(offset_of!(ferrum_usage_hints, direction) == 8);
    assert!(offset_of!(ferrum_usage_hints, lifetime) == 12);
    assert!(size_of::<ferrum_access_stats>() == 56);
    assert!(align_of::<ferrum_access_stats>() == 8);
    assert!(offset_of!(ferrum_access_stats, struct_size) == 0);
    assert!(offset_of!(ferrum_access_stats, is_tracked) == 4);
    assert!(offset_of!(ferrum_access_stats, is_accessed) == 8);
    assert!(offset_of!(ferrum_access_stats, pattern) == 12);
    assert!(offset_of!(ferrum_access_stats, read_count) == 16);
    assert!(offset_of!(ferrum_access_stats, write_count) == 24);
    assert!(offset_of!(ferrum_access_stats, average_read_bytes) == 32);
    assert!(offset_of!(ferrum_access_stats, average_write_bytes) == 40);
    assert!(offset_of!(ferrum_access_stats, last_access_ns) == 48);
    assert!(size_of::<ferrum_adoption>() == 40);
    assert!(align_of::<ferrum_adoption>() == 8);
    assert!(offset_of!(ferrum_adoption, struct_size) == 0);
    assert!(offset_of!(ferrum_adoption, memory_type) == 4);
    assert!(offset_of!(ferrum_adoption, address) == 8);
    assert!(offset_of!(ferrum_adoption, size_bytes) == 16);
    assert!(offset_of!(ferrum_adoption, tag) == 24);
    assert!(offset_of!(ferrum_adoption, is_read_only) == 32);
    assert!(offset_of!(ferrum_adoption, reserved) == 36);
    assert!(size_of::<ferrum_foreign_stream>() == 32);
    assert!(align_of::<ferrum_foreign_stream>() == 8);
    assert!(offset_of!(ferrum_foreign_stream, struct_size) == 0);
    assert!(offset_of!(ferrum_foreign_stream, reserved) == 4);
    assert!(offset_of!(ferrum_foreign_stream, native_handle) == 8);
    assert!(offset_of!(ferrum_foreign_stream, enqueue) == 16);
    assert!(offset_of!(ferrum_foreign_stream, user_data) == 24);
    assert!(size_of::<ferrum_page_import>() == 56);
    assert!(align_of::<ferrum_page_import>() == 8);
    assert!(offset_of!(ferrum_page_import, struct_size) == 0);
    assert!(offset_of!(ferrum_page_import, reserved) == 4);
    assert!(offset_of!(ferrum_page_import, descriptors) == 8);
    assert!(offset_of!(ferrum_page_import, count) == 16);
    assert!(offset_of!(ferrum_page_import, page_bytes) == 24);
    assert!(offset_of!(ferrum_page_import, tag) == 32);
    assert!(offset_of!(ferrum_page_import, fabric_handles) == 40);
    assert!(offset_of!(ferrum_page_import, fabric_handle_bytes) == 48);
    assert!(size_of::<ferrum_shared_memory>() == 88);
    assert!(align_of::<ferrum_shared_memory>() == 8);
    assert!(offset_of!(ferrum_shared_memory, struct_size) == 0);
    assert!(offset_of!(ferrum_shared_memory, reserved) == 4);
    assert!(offset_of!(ferrum_shared_memory, offset_bytes) == 8);
    assert!(offset_of!(ferrum_shared_memory, size_bytes) == 16);
    assert!(offset_of!(ferrum_shared_memory, handle) == 24);
    assert!(size_of::<ferrum_shared_event>() == 72);
    assert!(align_of::<ferrum_shared_event>() == 4);
    assert!(offset_of!(ferrum_shared_event, struct_size) == 0);
    assert!(offset_of!(ferrum_shared_event, reserved) == 4);
    assert!(offset_of!(ferrum_shared_event, handle) == 8);
    assert!(size_of::<ferrum_weights>() == 8);
    assert!(align_of::<ferrum_weights>() == 8);
    assert!(offset_of!(ferrum_weights, id) == 0);
    assert!(size_of::<ferrum_tensor_set>() == 8);
    assert!(align_of::<ferrum_tensor_set>() == 8);
    assert!(offset_of!(ferrum_tensor_set, id) == 0);
    assert!(size_of::<ferrum_weights_source>() == 176);
    assert!(align_of::<ferrum_weights_source>() == 8);
    assert!(offset_of!(ferrum_weights_source, struct_size) == 0);
    assert!(offset_of!(ferrum_weights_source, kind) == 4);
    assert!(offset_of!(ferrum_weights_source, path) == 8);
    assert!(offset_of!(ferrum_weights_source, data) == 16);
    assert!(offset_of!(ferrum_weights_source, data_bytes) == 24);
    assert!(offset_of!(ferrum_weights_source, format) == 32);
    assert!(offset_of!(ferrum_weights_source, decoder) == 36);
    assert!(offset_of!(ferrum_weights_source, raw_dtype) == 40);
    assert!(offset_of!(ferrum_weights_source, raw_rank) == 44);
    assert!(offset_of!(ferrum_weights_source, raw_shape) == 48);
    assert!(size_of::<ferrum_tensor_info>() == 224);
    assert!(align_of::<ferrum_tensor_info>() == 8);
    assert!(offset_of!(ferrum_tensor_info, struct_size) == 0);
    assert!(offset_of!(ferrum_tensor_info, dtype) == 4);
    assert!(offset_of!(ferrum_tensor_info, rank) == 8);
    assert!(offset_of!(ferrum_tensor_info, flags) == 12);
    assert!(offset_of!(ferrum_tensor_info, shape) == 16);
    assert!(offset_of!(ferrum_tensor_info, address) == 144);
    assert!(offset_of!(ferrum_tensor_info, size_bytes) == 152);
    assert!(offset_of!(ferrum_tensor_info, device) == 160);
    assert!(size_of::<ferrum_weights_progress>() == 32);
    assert!(align_of::<ferrum_weights_progress>() == 8);
    assert!(offset_of!(ferrum_weights_progress, struct_size) == 0);
    assert!(offset_of!(ferrum_weights_progress, is_over) == 4);
    assert!(offset_of!(ferrum_weights_progress, done_bytes) == 8);
    assert!(offset_of!(ferrum_weights_progress, total_bytes) == 16);
    assert!(offset_of!(ferrum_weights_progress, bytes_per_second) == 24);
    assert!(size_of::<ferrum_weights_memory>() == 64);
    assert!(align_of::<ferrum_weights_memory>() == 8);
    assert!(offset_of!(ferrum_weights_memory, pool) == 0);
    assert!(offset_of!(ferrum_weights_memory, vpool) == 8);
    assert!(offset_of!(ferrum_weights_memory, elastic_pool) == 16);
    assert!(offset_of!(ferrum_weights_memory, device) == 24);
    assert!(offset_of!(ferrum_weights_memory, model) == 32);
    assert!(offset_of!(ferrum_weights_memory, offset_bytes) == 40);
    assert!(offset_of!(ferrum_weights_memory, tag) == 48);
    assert!(offset_of!(ferrum_weights_memory, reserved) == 56);
    assert!(size_of::<ferrum_weights_load_request>() == 64);
    assert!(align_of::<ferrum_weights_load_request>() == 8);
    assert!(offset_of!(ferrum_weights_load_request, struct_size) == 0);
    assert!(offset_of!(ferrum_weights_load_request, flags) == 4);
    assert!(offset_of!(ferrum_weights_load_request, memories) == 8);
    assert!(offset_of!(ferrum_weights_load_request, memory_count) == 16);
    assert!(offset_of!(ferrum_weights_load_request, threads) == 20);
    assert!(offset_of!(ferrum_weights_load_request, specs_json) == 24);
    assert!(offset_of!(ferrum_weights_load_request, specs_bytes) == 32);
    assert!(offset_of!(ferrum_weights_load_request, staging_bytes) == 40);
    assert!(offset_of!(ferrum_weights_load_request, progress) == 48);
    assert!(offset_of!(ferrum_weights_load_request, user_data) == 56);
    assert!(size_of::<ferrum_weights_convert_request>() == 64);
    assert!(align_of::<ferrum_weights_convert_request>() == 8);
    assert!(offset_of!(ferrum_weights_convert_request, struct_size) == 0);
    assert!(offset_of!(ferrum_weights_convert_request, format) == 4);
    assert!(offset_of!(ferrum_weights_convert_request, flags) == 8);
    assert!(offset_of!(ferrum_weights_convert_request, reserved) == 12);
    assert!(offset_of!(ferrum_weights_convert_request, specs_json) == 16);
    assert!(offset_of!(ferrum_weights_convert_request, specs_bytes) == 24);
    assert!(offset_of!(ferrum_weights_convert_request, texts_json) == 32);
    assert!(offset_of!(ferrum_weights_convert_request, texts_bytes) == 40);
    assert!(offset_of!(ferrum_weights_convert_request, progress) == 48);
    assert!(offset_of!(ferrum_weights_convert_request, user_data) == 56);
    assert!(size_of::<ferrum_weights_file>() == 48);
    assert!(align_of::<ferrum_weights_file>() == 8);
    assert!(offset_of!(ferrum_weights_file, struct_size) == 0);
    assert!(offset_of!(ferrum_weights_file, reserved) == 4);
    assert!(offset_of!(ferrum_weights_file, file) == 8);
    assert!(offset_of!(ferrum_weights_file, size_bytes) == 16);
    assert!(offset_of!(ferrum_weights_file, name) == 24);
    assert!(offset_of!(ferrum_weights_file, read_at) == 32);
    assert!(offset_of!(ferrum_weights_file, describe) == 40);
    assert!(size_of::<ferrum_weights_decoder>() == 40);
    assert!(align_of::<ferrum_weights_decoder>() == 8);
    assert!(offset_of!(ferrum_weights_decoder, struct_size) == 0);
    assert!(offset_of!(ferrum_weights_decoder, reserved) == 4);
    assert!(offset_of!(ferrum_weights_decoder, format) == 8);
    assert!(offset_of!(ferrum_weights_decoder, recognises) == 16);
    assert!(offset_of!(ferrum_weights_decoder, decode) == 24);
    assert!(offset_of!(ferrum_weights_decoder, user_data) == 32);
    assert!(size_of::<ferrum_tensor>() == 8);
    assert!(align_of::<ferrum_tensor>() == 8);
    assert!(offset_of!(ferrum_tensor, id) == 0);
    assert!(size_of::<ferrum_tensor_desc>() == 240);
    assert!(align_of::<ferrum_tensor_desc>() == 8);
    assert!(offset_of!(ferrum_tensor_desc, struct_size) == 0);
    assert!(offset_of!(ferrum_tensor_desc, dtype) == 4);
    assert!(offset_of!(ferrum_tensor_desc, rank) == 8);
    assert!(offset_of!(ferrum_tensor_desc, flags) == 12);
    assert!(offset_of!(ferrum_tensor_desc, shape) == 16);
    assert!(offset_of!(ferrum_tensor_desc, strides) == 80);
    assert!(offset_of!(ferrum_tensor_desc, address) == 144);
    assert!(offset_of!(ferrum_tensor_desc, size_bytes) == 152);
    assert!(offset_of!(ferrum_tensor_desc, device) == 160);
    assert!(offset_of!(ferrum_tensor_desc, elements) == 224);
    assert!(offset_of!(ferrum_tensor_desc, element_count) == 232);
    assert!(size_of::<ferrum_dlpack>() == 16);
    assert!(align_of::<ferrum_dlpack>() == 8);
    assert!(offset_of!(ferrum_dlpack, struct_size) == 0);
    assert!(offset_of!(ferrum_dlpack, is_versioned) == 4);
    assert!(offset_of!(ferrum_dlpack, managed) == 8);
    assert!(size_of::<ferrum_kv_cache>() == 8);
    assert!(align_of::<ferrum_kv_cache>() == 8);
    assert!(offset_of!(ferrum_kv_cache, id) == 0);
    assert!(size_of::<ferrum_kv_cache_config>() == 64);
    assert!(align_of::<ferrum_kv_cache_config>() == 8);
    assert!(offset_of!(ferrum_kv_cache_config, struct_size) == 0);
    assert!(offset_of!(ferrum_kv_cache_config, dtype) == 4);
    assert!(offset_of!(ferrum_kv_cache_config, block_tokens) == 8);
    assert!(offset_of!(ferrum_kv_cache_config, blocks) == 12);
    assert!(offset_of!(ferrum_kv_cache_config, host_blocks) == 16);
    assert!(offset_of!(ferrum_kv_cache_config, sequences) == 20);
    assert!(offset_of!(ferrum_kv_cache_config, sequence_tokens) == 24);
    assert!(offset_of!(ferrum_kv_cache_config, window_tokens) == 28);
    assert!(offset_of!(ferrum_kv_cache_config, layers) == 32);
    assert!(offset_of!(ferrum_kv_cache_config, kv_heads) == 36);
    assert!(offset_of!(ferrum_kv_cache_config, head_dim) == 40);
    assert!(offset_of!(ferrum_kv_cache_config, always_blocks) == 44);
    assert!(offset_of!(ferrum_kv_cache_config, hash_seed) == 48);
    assert!(offset_of!(ferrum_kv_cache_config, reserved) == 56);
    assert!(size_of::<ferrum_kv_cache_stats>() == 176);
    assert!(align_of::<ferrum_kv_cache_stats>() == 8);
    assert!(offset_of!(ferrum_kv_cache_stats, struct_size) == 0);
    assert!(offset_of!(ferrum_kv_cache_stats, level) == 4);
    assert!(offset_of!(ferrum_kv_cache_stats, blocks) == 8);
    assert!(offset_of!(ferrum_kv_cache_stats, used_blocks) == 16);
    assert!(offset_of!(ferrum_kv_cache_stats, cached_blocks) == 24);
    assert!(offset_of!(ferrum_kv_cache_stats, free_blocks) == 32);
    assert!(offset_of!(ferrum_kv_cache_stats, unmapped_blocks) == 40);
    assert!(offset_of!(ferrum_kv_cache_stats, published_blocks) == 48);
    assert!(offset_of!(ferrum_kv_cache_stats, references) == 56);
    assert!(offset_of!(ferrum_kv_cache_stats, host_blocks) == 64);
    assert!(offset_of!(ferrum_kv_cache_stats, host_used_blocks) == 72);
    assert!(offset_of!(ferrum_kv_cache_stats, sequences) == 80);
    assert!(offset_of!(ferrum_kv_cache_stats, swapped_sequences) == 88);
    assert!(offset_of!(ferrum_kv_cache_stats, tokens) == 96);
    assert!(offset_of!(ferrum_kv_cache_stats, hits) == 104);
    assert!(offset_of!(ferrum_kv_cache_stats, misses) == 112);
    assert!(offset_of!(ferrum_kv_cache_stats, evictions) == 120);
    assert!(offset_of!(ferrum_kv_cache_stats, copies) == 128);
    assert!(offset_of!(ferrum_kv_cache_stats, swapped_out_blocks) == 136);
    assert!(offset_of!(ferrum_kv_cache_stats, swapped_in_blocks) == 144);
    assert!(offset_of!(ferrum_kv_cache_stats, failures) == 152);
    assert!(offset_of!(ferrum_kv_cache_stats, block_bytes) == 160);
    assert!(offset_of!(ferrum_kv_cache_stats, mapped_bytes) == 168);
    assert!(size_of::<ferrum_kv_sequence>() == 16);
    assert!(align_of::<ferrum_kv_sequence>() == 8);
    assert!(offset_of!(ferrum_kv_sequence, sequence) == 0);
    assert!(offset_of!(ferrum_kv_sequence, cached_tokens) == 8);
    assert!(offset_of!(ferrum_kv_sequence, reserved) == 12);
    assert!(size_of::<ferrum_kv_copy>() == 8);
    assert!(align_of::<ferrum_kv_copy>() == 4);
    assert!(offset_of!(ferrum_kv_copy, source) == 0);
    assert!(offset_of!(ferrum_kv_copy, target) == 4);
    assert!(size_of::<ferrum_compute>() == 8);
    assert!(align_of::<ferrum_compute>() == 8);
    assert!(offset_of!(ferrum_compute, id) == 0);
    assert!(size_of::<ferrum_op>() == 8);
    assert!(align_of::<ferrum_op>() == 8);
    assert!(offset_of!(ferrum_op, id) == 0);
    assert!(size_of::<ferrum_sequence>() == 8);
    assert!(align_of::<ferrum_sequence>() == 8);
    assert!(offset_of!(ferrum_sequence, id) == 0);
    assert!(size_of::<ferrum_compute_config>() == 80);
    assert!(align_of::<ferrum_compute_config>() == 8);
    assert!(offset_of!(ferrum_compute_config, struct_size) == 0);
    assert!(offset_of!(ferrum_compute_config, r#type) == 4);
    assert!(offset_of!(ferrum_compute_config, name) == 8);
    assert!(offset_of!(ferrum_compute_config, device) == 16);
    assert!(offset_of!(ferrum_compute_config, optimization_level) == 24);
    assert!(offset_of!(ferrum_compute_config, threads) == 28);
    assert!(offset_of!(ferrum_compute_config, enable_debug) == 32);
    assert!(offset_of!(ferrum_compute_config, growth) == 36);
    assert!(offset_of!(ferrum_compute_config, pool_size_bytes) == 40);
    assert!(offset_of!(ferrum_compute_config, alignment_bytes) == 48);
    assert!(offset_of!(ferrum_compute_config, enable_pooling) == 56);
    assert!(offset_of!(ferrum_compute_config, reserved) == 60);
    assert!(offset_of!(ferrum_compute_config, options_json) == 64);
    assert!(offset_of!(ferrum_compute_config, options_bytes) == 72);
    assert!(size_of::<ferrum_compute_call>() == 104);
    assert!(align_of::<ferrum_compute_call>() == 8);
    assert!(offset_of!(ferrum_compute_call, struct_size) == 0);
    assert!(offset_of!(ferrum_compute_call, opset) == 4);
    assert!(offset_of!(ferrum_compute_call, name) == 8);
    assert!(offset_of!(ferrum_compute_call, domain) == 16);
    assert!(offset_of!(ferrum_compute_call, attributes_json) == 24);
    assert!(offset_of!(ferrum_compute_call, attributes_bytes) == 32);
    assert!(offset_of!(ferrum_compute_call, device) == 40);
    assert!(offset_of!(ferrum_compute_call, inputs) == 48);
    assert!(offset_of!(ferrum_compute_call, input_count) == 56);
    assert!(offset_of!(ferrum_compute_call, outputs) == 64);
    assert!(offset_of!(ferrum_compute_call, output_count) == 72);
    assert!(offset_of!(ferrum_compute_call, workspace) == 80);
    assert!(offset_of!(ferrum_compute_call, workspace_bytes) == 88);
    assert!(offset_of!(ferrum_compute_call, message_out) == 96);
    assert!(size_of::<ferrum_compute_plan>() == 16);
    assert!(align_of::<ferrum_compute_plan>() == 8);
    assert!(offset_of!(ferrum_compute_plan, struct_size) == 0);
    assert!(offset_of!(ferrum_compute_plan, flags) == 4);
    assert!(offset_of!(ferrum_compute_plan, workspace_bytes) == 8);
    assert!(size_of::<ferrum_compute_backend>() == 80);
    assert!(align_of::<ferrum_compute_backend>() == 8);
    assert!(offset_of!(ferrum_compute_backend, struct_size) == 0);
    assert!(offset_of!(ferrum_compute_backend, reserved) == 4);
    assert!(offset_of!(ferrum_compute_backend, name) == 8);
    assert!(offset_of!(ferrum_compute_backend, version) == 16);
    assert!(offset_of!(ferrum_compute_backend, capabilities_json) == 24);
    assert!(offset_of!(ferrum_compute_backend, capabilities_bytes) == 32);
    assert!(offset_of!(ferrum_compute_backend, plan) == 40);
    assert!(offset_of!(ferrum_compute_backend, run) == 48);
    assert!(offset_of!(ferrum_compute_backend, synchronize) == 56);
    assert!(offset_of!(ferrum_compute_backend, release) == 64);
    assert!(offset_of!(ferrum_compute_backend, user_data) == 72);
    assert!(size_of::<ferrum_layer>() == 168);
    assert!(align_of::<ferrum_layer>() == 8);
    assert!(offset_of!(ferrum_layer, struct_size) == 0);
    assert!(offset_of!(ferrum_layer, flags) == 4);
    assert!(offset_of!(ferrum_layer, r#type) == 8);
    assert!(offset_of!(ferrum_layer, name) == 16);
    assert!(offset_of!(ferrum_layer, input_shape) == 24);
    assert!(offset_of!(ferrum_layer, input_rank) == 88);
    assert!(offset_of!(ferrum_layer, output_count) == 92);
    assert!(offset_of!(ferrum_layer, config_json) == 96);
    assert!(offset_of!(ferrum_layer, config_bytes) == 104);
    assert!(offset_of!(ferrum_layer, infer) == 112);
    assert!(offset_of!(ferrum_layer, parameters) == 120);
    assert!(offset_of!(ferrum_layer, initialize) == 128);
    assert!(offset_of!(ferrum_layer, plan) == 136);
    assert!(offset_of!(ferrum_layer, forward) == 144);
    assert!(offset_of!(ferrum_layer, release) == 152);
    assert!(offset_of!(ferrum_layer, user_data) == 160);
    assert!(size_of::<ferrum_executor>() == 8);
    assert!(align_of::<ferrum_executor>() == 8);
    assert!(offset_of!(ferrum_executor, id) == 0);
    assert!(size_of::<ferrum_build_progress>() == 56);
    assert!(align_of::<ferrum_build_progress>() == 8);
    assert!(offset_of!(ferrum_build_progress, struct_size) == 0);
    assert!(offset_of!(ferrum_build_progress, phase) == 4);
    assert!(offset_of!(ferrum_build_progress, progress) == 8);
    assert!(offset_of!(ferrum_build_progress, elapsed_seconds) == 16);
    assert!(offset_of!(ferrum_build_progress, remaining_seconds) == 24);
    assert!(offset_of!(ferrum_build_progress, done_bytes) == 32);
    assert!(offset_of!(ferrum_build_progress, total_bytes) == 40);
    assert!(offset_of!(ferrum_build_progress, operation) == 48);
    assert!(size_of::<ferrum_build_request>() == 120);
    assert!(align_of::<ferrum_build_request>() == 8);
    assert!(offset_of!(ferrum_build_request, struct_size) == 0);
    assert!(offset_of!(ferrum_build_request, reserved) == 4);
    assert!(offset_of!(ferrum_build_request, model) == 8);
    assert!(offset_of!(ferrum_build_request, path) == 16);
    assert!(offset_of!(ferrum_build_request, definition_json) == 24);
    assert!(offset_of!(ferrum_build_request, definition_bytes) == 32);
    assert!(offset_of!(ferrum_build_request, weights) == 40);
    assert!(offset_of!(ferrum_build_request, compute) == 48);
    assert!(offset_of!(ferrum_build_request, elastic_pool) == 56);
    assert!(offset_of!(ferrum_build_request, guaranteed_bytes) == 64);
    assert!(offset_of!(ferrum_build_request, max_bytes) == 72);
    assert!(offset_of!(ferrum_build_request, priority) == 80);
    assert!(offset_of!(ferrum_build_request, guarantee_may_wait) == 84);
    assert!(offset_of!(ferrum_build_request, options_json) == 88);
    assert!(offset_of!(ferrum_build_request, options_bytes) == 96);
    assert!(offset_of!(ferrum_build_request, progress) == 104);
    assert!(offset_of!(ferrum_build_request, user_data) == 112);
    assert!(size_of::<ferrum_named_tensor>() == 16);
    assert!(align_of::<ferrum_named_tensor>() == 8);
    assert!(offset_of!(ferrum_named_tensor, name) == 0);
    assert!(offset_of!(ferrum_named_tensor, tensor) == 8);
    assert!(size_of::<ferrum_pass_call>() == 56);
    assert!(align_of::<ferrum_pass_call>() == 8);
    assert!(offset_of!(ferrum_pass_call, struct_size) == 0);
    assert!(offset_of!(ferrum_pass_call, reserved) == 4);
    assert!(offset_of!(ferrum_pass_call, call) == 8);
    assert!(offset_of!(ferrum_pass_call, definition_json) == 16);
    assert!(offset_of!(ferrum_pass_call, definition_bytes) == 24);
    assert!(offset_of!(ferrum_pass_call, replace) == 32);
    assert!(offset_of!(ferrum_pass_call, warn) == 40);
    assert!(offset_of!(ferrum_pass_call, message_out) == 48);
    assert!(size_of::<ferrum_pass>() == 56);
    assert!(align_of::<ferrum_pass>() == 8);
    assert!(offset_of!(ferrum_pass, struct_size) == 0);
    assert!(offset_of!(ferrum_pass, dependency_count) == 4);
    assert!(offset_of!(ferrum_pass, name) == 8);
    assert!(offset_of!(ferrum_pass, dependencies) == 16);
    assert!(offset_of!(ferrum_pass, is_applicable) == 24);
    assert!(offset_of!(ferrum_pass, apply) == 32);
    assert!(offset_of!(ferrum_pass, release) == 40);
    assert!(offset_of!(ferrum_pass, user_data) == 48);
};

extern "C" {
    /// Returns the version of the binary interface of the loaded library.
    ///
    /// Works at any time: also before ferrum_init, after fork, and when the library is
    /// poisoned. Never fails.
    pub fn ferrum_abi_version() -> u32;

    /// Returns the version of the loaded library as text, for example "0.1.0". The text
    /// is constant and stays valid until the process ends. Works at any time. Never
    /// fails.
    pub fn ferrum_version_string() -> *const c_char;

    /// Returns the name of a status code, for example "FERRUM_ERROR_BUSY", or
    /// "FERRUM_ERROR_UNKNOWN" for a number that is not a status code. The text is
    /// constant. Works at any time.
    pub fn ferrum_status_name(status: ferrum_status) -> *const c_char;

    /// Returns the meaning of a status code in a few English words. The text is
    /// constant. Works at any time.
    pub fn ferrum_status_text(status: ferrum_status) -> *const c_char;

    /// Starts the library. If the library runs already, the call joins it. Each
    /// successful call must be undone by one ferrum_shutdown.
    ///
    /// The Go runtime inside the library ends the process when a resource that it needs
    /// is not available. So ferrum_init preallocates these resources: two file
    /// descriptors, as many threads as there are processors and 10 more, and 32 MiB of
    /// untouched memory. They stay after ferrum_shutdown. docs/hosts.md lists the other
    /// resources that a program must keep available.
    ///
    /// A signal handler without SA_ONSTACK runs on a stack of the runtime that is too
    /// small for it, and overwrites memory. So ferrum_init adds the flag to the
    /// installed handlers, and so does every later call that opens or creates a device,
    /// stream, pool, manager, monitor or another object. The rest of each handler stays
    /// as it was. The log and the snapshot name each changed handler. A handler that is
    /// installed later is dangerous until the next such call: install handlers with
    /// SA_ONSTACK.
    ///
    /// - `config`: settings, or NULL for all defaults. If the library runs already,
    ///   NULL joins it as it is.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE when the library runs with other settings;
    /// FERRUM_ERROR_INVALID_CONFIG for a setting, or a variable of the
    /// environment, that is not valid (the message names it);
    /// FERRUM_ERROR_RESOURCE_EXHAUSTED, FERRUM_ERROR_OUT_OF_MEMORY,
    /// FERRUM_ERROR_PERMISSION_DENIED or FERRUM_ERROR_UNSUPPORTED when the
    /// preallocation fails (the message names the missing resource). The library does
    /// not run after an error.
    pub fn ferrum_init(config: *const ferrum_config) -> ferrum_status;

    /// Undoes one ferrum_init. The last call stops the library, its threads and its
    /// streams, and releases all memory. It waits for running callbacks, also for those
    /// that removed themselves; afterwards the program may free what its callbacks use.
    ///
    /// - `flags`: 0 or FERRUM_FORCE.
    ///
    /// Returns FERRUM_ERROR_BUSY when this is the last call and devices, pools,
    /// managers, streams, events, blocks or registrations still exist; nothing
    /// has changed then, and ferrum_leak_report_json lists them. With
    /// FERRUM_FORCE they are freed, logged, and kept in the leak report.
    /// FERRUM_ERROR_INVALID_STATE when a callback of the library makes the call.
    pub fn ferrum_shutdown(flags: u32) -> ferrum_status;

    /// Copies out the detail of the latest failure on the calling thread. The detail
    /// stays until the next failing call of this thread. Works at any time.
    ///
    /// - `error_out`: filled; its status is 0 when no call of this thread has failed.
    pub fn ferrum_last_error(error_out: *mut ferrum_error_info) -> ferrum_status;

    /// Sets the receiver of log messages. Without a receiver, the library writes
    /// messages to stderr if the environment has FERRUM_LOG=debug|info|warning|error, or
    /// FERRUM_DEBUG (then from warnings on); otherwise it drops them.
    ///
    /// Works before ferrum_init. The receiver stays set after ferrum_shutdown. A call
    /// that sets another callback, or NULL, first delivers the queued messages to the
    /// former callback and waits for its running call, unless the call comes from inside
    /// that callback. When too many messages come at once, the library drops some and
    /// reports how many.
    ///
    /// - `callback`: NULL removes the present one.
    /// - `user_data`: passed to the callback; must stay valid while the callback is
    ///   set.
    pub fn ferrum_log_set_callback(
        minimum_level: ferrum_log_level,
        callback: ferrum_log_fn,
        user_data: *mut c_void,
    ) -> ferrum_status;

    /// Sets a callback that returns the lines of an interpreted program. Then call sites
    /// of pools with FERRUM_DEBUG_CALL_SITES (leak reports, damage in errors and in the
    /// log, ferrum_device_get_call_site_json) have these lines before the native
    /// functions. The Python package sets it when it loads the library. Without such a
    /// pool the callback is never called; with one, every function of the library calls
    /// it.
    ///
    /// Works before ferrum_init, and stays set after ferrum_shutdown. A call waits for
    /// running calls of the former callback.
    ///
    /// - `callback`: NULL removes the present one.
    /// - `user_data`: passed to the callback; must stay valid while the callback is
    ///   set.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE inside of the callback.
    pub fn ferrum_call_site_set_callback(
        callback: ferrum_call_site_fn,
        user_data: *mut c_void,
    ) -> ferrum_status;

    /// Lists every backend with its devices, or with the reason why the backend cannot
    /// be used here, as JSON. The host comes first, then cuda, rocm, metal and opencl:
    ///
    /// {"backends": \[{"backend": "cpu", "name": "CPU", "available": true,
    /// "usable": true, "reason": null, "error": null, "native_code": 0,
    /// "library": null, "version": null,
    /// "devices": \[{"id": "cpu:0", "index": 0, "name": "...",
    /// "total_bytes": 0, "free_bytes": null, "compute_capability": null,
    /// "unified_memory": true, "max_allocation_bytes": null,
    /// "granularity_bytes": 0, "alignment_bytes": 0,
    /// "recommended_fraction_percent": 70, "host_addressable": true,
    /// "capabilities": \["peer", "virtual_memory"\],
    /// "processes": \[{"pid": 0, "used_bytes": 0}\]}\]}\],
    /// "recommended": "cpu", "discovered_at_unix_ns": 0, "discovery_took_ns": 0}
    ///
    /// "available": the backend works here and has devices. "usable": this build can
    /// also open them. For a backend that is not available, "error" is the reason as
    /// text, and "reason" is one of library_not_found, library_unusable, symbol_missing,
    /// too_old, no_device, driver_error, unsupported_system, crashed, timed_out,
    /// helper_unavailable, switched_off and unusable. "native_code" is the error number
    /// of the vendor's library or of the system, or the number of the signal of a crash.
    /// A total of 0 and a free of null are unknown. The recommended fraction is 70 % for
    /// memory that is shared with the host, otherwise 90 %. "processes" are the
    /// processes that have a context on the device. Their numbers are those of the
    /// machine that runs the driver. "processes" is null when the processes, or the
    /// memory of one of them, are not known. The processes of CUDA devices come from
    /// NVML.
    ///
    /// The first call queries all backends. It queries each vendor's library in a
    /// short-lived process of its own, so that a broken driver cannot harm this process.
    /// The call takes as long as the slowest backend, at most FERRUM_PROBE_TIMEOUT.
    /// Later calls return the same result; ferrum_backends_refresh queries again. No
    /// device is opened.
    ///
    /// All JSON functions share this form. With capacity 0 (buffer may be NULL) the call
    /// only sets \*length_out to the length in bytes without the closing NUL. Otherwise
    /// it writes the text and a NUL. If they do not fit, it returns
    /// FERRUM_ERROR_BUFFER_TOO_SMALL, sets \*length_out, and sets the first byte of the
    /// buffer to 0. The content may change between two calls: call again with the new
    /// length.
    pub fn ferrum_backends_json(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Queries all backends again. Calls that run at the same time share one query.
    pub fn ferrum_backends_refresh() -> ferrum_status;

    /// Returns the content of ferrum_backends_json as text for people: a header line, a
    /// tick or a cross for each backend with its devices or its error, and the
    /// recommended backend.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_backends_summary(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the name of a backend as in device ids, for example "cuda"; "auto" for
    /// FERRUM_BACKEND_AUTO; "" for a number that is not a backend. The text is constant.
    /// Works at any time. Never fails.
    pub fn ferrum_backend_name(backend: ferrum_backend) -> *const c_char;

    /// Returns the name of a backend for people, for example "ROCm". Otherwise the same
    /// as ferrum_backend_name.
    pub fn ferrum_backend_display_name(backend: ferrum_backend) -> *const c_char;

    /// Returns the backend that FERRUM_BACKEND_AUTO tries first: the first of CUDA,
    /// ROCm, Metal and OpenCL that is usable and has a device, otherwise the CPU.
    pub fn ferrum_backend_best(backend_out: *mut ferrum_backend) -> ferrum_status;

    /// Finds the first device that has enough room: enough free memory or, where free
    /// memory is not known, enough of 80 % of the capacity. Opens no device. The data of
    /// vendors' devices comes from the last discovery.
    ///
    /// - `preference`: FERRUM_BACKEND_AUTO, or the only backend to consider.
    ///
    /// Returns FERRUM_ERROR_OUT_OF_MEMORY when no device has enough room;
    /// FERRUM_ERROR_BACKEND_UNAVAILABLE when there is no device to consider. The
    /// message lists the considered devices with the reasons.
    pub fn ferrum_backend_select(
        preference: ferrum_backend,
        required_bytes: u64,
        choice_out: *mut ferrum_backend_choice,
    ) -> ferrum_status;

    /// Opens the first device that has enough room. The call first considers the same
    /// data as ferrum_backend_select. It then opens the device and checks the memory
    /// that the device itself reports. It skips a device that cannot be opened or has
    /// too little memory. The device must be closed by ferrum_device_close.
    ///
    /// - `choice_out`: may be NULL.
    ///
    /// Returns the same as ferrum_backend_select. No device stays open after an error.
    pub fn ferrum_backend_open(
        preference: ferrum_backend,
        required_bytes: u64,
        device_out: *mut ferrum_device,
        choice_out: *mut ferrum_backend_choice,
    ) -> ferrum_status;

    /// Returns whether a number of bytes fits into a device, with the rule of
    /// ferrum_backend_select.
    ///
    /// - `fits_out`: 1 or 0.
    ///
    /// Returns FERRUM_ERROR_DEVICE_NOT_FOUND; FERRUM_ERROR_BACKEND_UNAVAILABLE, with the
    /// reason in the message, for a device of a backend that is not available.
    pub fn ferrum_device_can_fit(
        id: *const c_char,
        bytes: u64,
        fits_out: *mut u32,
    ) -> ferrum_status;

    /// Reads memory and processor of this machine. Works also before ferrum_init.
    pub fn ferrum_host_get_info(info_out: *mut ferrum_host_info) -> ferrum_status;

    /// Opens a device. If the device is open already, the call returns the same handle.
    /// Each call must be undone by one ferrum_device_close.
    ///
    /// - `id`: "cpu:0"; "cpu" alone means "cpu:0". A CUDA device can also be named by
    ///   its UUID, "cuda:GPU-...", and by its PCI address,
    ///   "cuda:0000:65:00.0".
    ///
    /// Returns FERRUM_ERROR_DEVICE_NOT_FOUND when no device has this id;
    /// FERRUM_ERROR_INVALID_ARGUMENT for a malformed id.
    pub fn ferrum_device_open(id: *const c_char, device_out: *mut ferrum_device) -> ferrum_status;

    /// Undoes one ferrum_device_open. The last call closes the device. It waits for
    /// running callbacks of the device that removed themselves, unless it is called from
    /// inside a callback.
    ///
    /// - `flags`: 0 or FERRUM_FORCE.
    ///
    /// Returns FERRUM_ERROR_BUSY, and nothing has changed, when the device still has
    /// pools of any kind, managers, streams, events or registrations. The
    /// message names the registrations; those of a model or a fallback manager
    /// that has ended come first.
    pub fn ferrum_device_close(device: ferrum_device, flags: u32) -> ferrum_status;

    /// Describes an open device.
    pub fn ferrum_device_get_info(
        device: ferrum_device,
        info_out: *mut ferrum_device_info,
    ) -> ferrum_status;

    /// Waits until no stream of the device has queued work.
    ///
    /// - `timeout_ns`: nanoseconds, or FERRUM_WAIT_FOREVER; 0 only checks.
    ///
    /// Returns FERRUM_ERROR_TIMEOUT when the work takes longer;
    /// FERRUM_ERROR_INVALID_STATE when the work of all other streams has
    /// completed and some streams are capturing. A capturing stream cannot be
    /// waited for.
    pub fn ferrum_device_synchronize(device: ferrum_device, timeout_ns: u64) -> ferrum_status;

    /// Limits the memory that this library holds from the device, for all pools and
    /// managers together. 0 removes the limit. A limit below the held memory releases
    /// cached memory. Live blocks stay, and no further memory is allocated from the
    /// device until the held memory is below the limit.
    ///
    /// A limit below the capacity is the total of ferrum_memory_info. Utilization, pressure
    /// levels, pressure callbacks, monitors, placement, gc_threshold and gpu_memory_fraction
    /// are computed from it. If a new limit changes the level, pressure callbacks are called.
    pub fn ferrum_device_set_limit(device: ferrum_device, limit_bytes: u64) -> ferrum_status;

    /// Measures the copy bandwidth of the device by timed copies between two temporary
    /// segments of at most 64 MiB each. The call takes some tens of milliseconds and
    /// then releases the segments. From then on ferrum_device_get_memory_info reports
    /// the bandwidth.
    ///
    /// - `gbps_out`: 10^9 copied bytes per second.
    pub fn ferrum_device_measure_bandwidth(
        device: ferrum_device,
        gbps_out: *mut f64,
    ) -> ferrum_status;

    /// Queries the memory of a device, with all uses of it.
    pub fn ferrum_device_get_memory_info(
        device: ferrum_device,
        info_out: *mut ferrum_memory_info,
    ) -> ferrum_status;

    /// Returns the same as ferrum_device_get_memory_info, computed from the counters and
    /// the latest reading of the device, if that reading is no older than max_age_ns.
    /// Otherwise the call reads the device again. The call is much quicker with an old
    /// reading, and does not delay other threads.
    ///
    /// The result does not contain changes that other processes made since the reading.
    /// In pools with thread caches it does not contain the allocations and frees of another
    /// thread since the cache of that thread last exchanged blocks with the pool. It
    /// contains everything that the calling thread did.
    ///
    /// - `max_age_ns`: greatest age of a reading that is used; 0 always reads the
    ///   device, UINT64_MAX uses a reading of any age.
    pub fn ferrum_device_get_recent_memory_info(
        device: ferrum_device,
        max_age_ns: u64,
        info_out: *mut ferrum_memory_info,
    ) -> ferrum_status;

    /// Returns the counters of a device: the sum over its pools and managers.
    pub fn ferrum_device_get_statistics(
        device: ferrum_device,
        statistics_out: *mut ferrum_statistics,
    ) -> ferrum_status;

    /// Returns all counters as JSON, for tools:
    ///
    /// {"version": "0.1.0", "uptime_ns": 0, "devices": \[{
    /// "id": "cpu:0", "memory": {...}, "statistics": {...},
    /// "tags": \[{"tag": "kv", "requested_bytes": 0, "allocated_bytes": 0,
    /// "blocks": 0}\],
    /// "pools": \[{"name": "...", "strategy": "best_fit", "owner": "pool",
    /// "statistics": {...}, "info": {...}, "segments": \[{"address": 0,
    /// "size_bytes": 0, "active_bytes": 0, "largest_free_bytes": 0,
    /// "mapped_bytes": 0}\]}\],
    /// "managers": \[{"live_blocks": 0, "memory_types": {"general": 0},
    /// "statistics": {...}, "adopted": {"blocks": 0, "bytes": 0}}\],
    /// "virtual_pools": \[{"name": "...", "statistics": {...}, "info": {...}}\],
    /// "elastic_pools": \[{"name": "...", "statistics": {...}, "info": {...},
    /// "models": \[{"id": "...", "physical_bytes": 0}\]}\],
    /// "fallback_managers": \[{"in_use_bytes": 0, "cpu_bytes": 0}\],
    /// "asleep": {"asleep_host_bytes": 0, "asleep_file_bytes": 0,
    /// "asleep_discarded_bytes": 0}}\],
    /// "signal_handlers": \[{"signal": 27, "name": "SIGPROF", "address": 0, "symbol":
    /// "...",
    /// "file": "...", "repaired": true, "late": true}\]}
    ///
    /// memory has the fields of ferrum_memory_info. Its bandwidth_gbps is null when it
    /// was not measured, and its pressure is a word. statistics has the fields of
    /// ferrum_statistics, with {"current": 0, "peak": 0} for a gauge, and
    /// virtual_reserved, the size of the reserved address space that has no memory. info
    /// has the fields of ferrum_pool_info, ferrum_vpool_info or
    /// ferrum_elastic_pool_info. A model has the fields of ferrum_model_info. A fallback
    /// manager has the fields of ferrum_memory_stats and ferrum_fallback_stats.
    /// mapped_bytes is the part of a segment that has memory. adopted is live external
    /// memory, which no statistics contain. The owner of a pool is "pool", "manager",
    /// "fallback_manager" or "graph"; "graph" is the private pool of a graph.
    /// signal_handlers lists the first 256 handlers that were found without SA_ONSTACK:
    /// repaired states that the library added the flag, late that the handler was
    /// installed after ferrum_init. Later versions may add fields.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_snapshot_json(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Lists the objects and blocks that are live now as JSON, or, after ferrum_shutdown,
    /// those that were live when the library stopped:
    ///
    /// {"leaks": \[{"kind": "memory", "device": "cpu:0", "handle": 0, "address": 0,
    /// "bytes": 0, "tag": "kv", "age_ns": 0, "call_site": \["engine+0x12f4
    /// (load)"\]}\], "omitted": 0, "total_bytes": 0}
    ///
    /// kind is device, monitor, placement, tracker, generic_pool, stream, event, pool,
    /// block (of a pool), vpool, elastic_pool, range, manager, memory, fallback_manager,
    /// buffer or registration. A range is one of a virtual pool or an elastic pool that
    /// is mapped or asleep; in an elastic pool it has a "model". A registration has a
    /// "callback", which states the kind of the callback, and whether the object that it
    /// belonged to has ended. bytes is the requested size. age_ns is the time since
    /// the object was created or allocated; it is 0 for blocks of pools without
    /// tracking. call_site is present for blocks of pools with FERRUM_DEBUG_CALL_SITES;
    /// the innermost function comes first. The list has at most 1000 entries; "omitted"
    /// is the number of further entries. Cached memory is not a leak.
    ///
    /// Works also when the library is stopped. The call traverses the blocks in slices
    /// and needs the same amount of memory for any number of blocks. It counts a block
    /// once if the block is live during the whole call. A block that is allocated or
    /// freed during the call may be counted or not. A block that
    /// ferrum_manager_defragment moves during the call may be counted twice or not at
    /// all.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_leak_report_json(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Creates a stream on a device. The thread of the stream starts with the first
    /// work.
    pub fn ferrum_stream_create(
        device: ferrum_device,
        stream_out: *mut ferrum_stream,
    ) -> ferrum_status;

    /// Destroys a stream.
    ///
    /// - `flags`: 0, or FERRUM_FORCE: wait for the work of the stream, then destroy
    ///   it.
    ///
    /// Returns FERRUM_ERROR_BUSY, and nothing has changed, while work is queued;
    /// FERRUM_ERROR_INVALID_ARGUMENT for the default stream of a device, which
    /// ends with its device.
    pub fn ferrum_stream_destroy(stream: ferrum_stream, flags: u32) -> ferrum_status;

    /// Returns the default stream of a device: the same handle each time.
    pub fn ferrum_stream_default(
        device: ferrum_device,
        stream_out: *mut ferrum_stream,
    ) -> ferrum_status;

    /// Waits until all work that was queued before the call has completed. Returns the
    /// first failure of queued work since the last ferrum_stream_synchronize.
    ///
    /// - `timeout_ns`: nanoseconds, or FERRUM_WAIT_FOREVER; 0 only checks.
    ///
    /// Returns FERRUM_ERROR_TIMEOUT when the work takes longer.
    pub fn ferrum_stream_synchronize(stream: ferrum_stream, timeout_ns: u64) -> ferrum_status;

    /// Returns without waiting whether all work queued so far has completed (1) or not
    /// (0).
    pub fn ferrum_stream_is_ready(stream: ferrum_stream, ready_out: *mut u32) -> ferrum_status;

    /// Queues a call of the caller's function on a stream.
    ///
    /// Returns FERRUM_ERROR_RESOURCE_EXHAUSTED when 1,048,576 queued calls of the stream
    /// have not begun. The same status, or the status for the error of the
    /// system, when no thread is available for the function; docs/hosts.md states
    /// how many threads are kept.
    pub fn ferrum_stream_host_function(
        stream: ferrum_stream,
        function: ferrum_host_fn,
        user_data: *mut c_void,
    ) -> ferrum_status;

    /// Queues many copies by address on a stream and returns. Use it for example for KV
    /// blocks that move from one table to another. All copies are within the device of
    /// the stream. The call checks every copy before it queues the first one.
    ///
    /// The copies run in an undefined order. A destination must not overlap the source
    /// or the destination of another copy. Sources may overlap. The source and the
    /// destination of one copy may overlap, as with memmove.
    ///
    /// The memory must stay allocated and mapped until the copies have completed. Free
    /// it on this stream, or record the stream first, for example with
    /// ferrum_pool_record_stream.
    ///
    /// - `count`: at most FERRUM_BATCH_MAX; 0 queues nothing.
    ///
    /// Returns an error that names the first wrong copy by its index, such as copies\[3\]:
    /// FERRUM_ERROR_INVALID_SIZE for a size of 0; FERRUM_ERROR_OVERFLOW;
    /// FERRUM_ERROR_INVALID_ARGUMENT for an overlap;
    /// FERRUM_ERROR_INVALID_ADDRESS for memory of another device, or that is not
    /// mapped. Nothing is queued then, and nothing is queued after
    /// FERRUM_ERROR_RESOURCE_EXHAUSTED, when the queue has no room for all of
    /// them. When the vendor's runtime fails a copy, the error states how many
    /// copies were queued before it.
    pub fn ferrum_stream_copy_batch(
        stream: ferrum_stream,
        copies: *const ferrum_address_copy,
        count: u64,
    ) -> ferrum_status;

    /// Records a new event at the present end of the stream's queue.
    pub fn ferrum_event_record(
        stream: ferrum_stream,
        event_out: *mut ferrum_event,
    ) -> ferrum_status;

    /// Destroys an event. Streams that wait for the event still wait for it.
    pub fn ferrum_event_destroy(event: ferrum_event) -> ferrum_status;

    /// Returns without waiting whether the event has completed (1) or not (0).
    pub fn ferrum_event_is_ready(event: ferrum_event, ready_out: *mut u32) -> ferrum_status;

    /// Waits until the event has completed.
    ///
    /// - `timeout_ns`: nanoseconds, or FERRUM_WAIT_FOREVER; 0 only checks.
    ///
    /// Returns FERRUM_ERROR_TIMEOUT when the event takes longer.
    pub fn ferrum_event_synchronize(event: ferrum_event, timeout_ns: u64) -> ferrum_status;

    /// Returns the time between two events of one device, with the resolution of the
    /// device. CUDA measures in single precision.
    ///
    /// - `elapsed_ns_out`: nanoseconds from start to end; negative when end completed
    ///   first.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE when one of the events has not completed;
    /// FERRUM_ERROR_INVALID_ARGUMENT when they belong to two devices.
    pub fn ferrum_event_elapsed(
        start: ferrum_event,
        end: ferrum_event,
        elapsed_ns_out: *mut i64,
    ) -> ferrum_status;

    /// Makes all later work of the stream wait for the event. The event may belong to
    /// another stream, or to another device of the same backend.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for an event of another backend.
    pub fn ferrum_stream_wait_event(stream: ferrum_stream, event: ferrum_event) -> ferrum_status;

    /// Creates a pool on a device.
    ///
    /// - `config`: settings, or NULL for FERRUM_POOL_CONFIG_INIT.
    ///
    /// Returns FERRUM_ERROR_INVALID_CONFIG when the settings contradict each other (an
    /// initial size above the maximum, expansion without an increment);
    /// FERRUM_ERROR_INVALID_ALIGNMENT; FERRUM_ERROR_NOT_FOUND for an unknown
    /// strategy (the message lists the strategies); FERRUM_ERROR_OUT_OF_MEMORY
    /// when there is too little memory for pre_allocate;
    /// FERRUM_ERROR_UNSUPPORTED for FERRUM_PAGING_ON on a device without virtual
    /// memory, and for FERRUM_SEGMENTS_STREAM_ORDERED on a device without
    /// FERRUM_CAPABILITY_STREAM_ORDERED; FERRUM_ERROR_INVALID_PAGE_SIZE for a
    /// physical_page_bytes that the device does not support.
    pub fn ferrum_pool_create(
        device: ferrum_device,
        config: *const ferrum_pool_config,
        pool_out: *mut ferrum_pool,
    ) -> ferrum_status;

    /// Destroys a pool and releases its memory to the system.
    ///
    /// - `flags`: 0, or FERRUM_FORCE: destroy the pool although blocks are live. The
    ///   call needs the same amount of memory for any number of blocks. It
    ///   waits for queued work that uses freed blocks of the pool, and for
    ///   the last runs of graphs that were released.
    ///   Meanwhile calls of other threads for the pool return
    ///   FERRUM_ERROR_INVALID_STATE, and after the end
    ///   FERRUM_ERROR_INVALID_HANDLE.
    ///
    /// Returns FERRUM_ERROR_BUSY, and nothing has changed, while blocks are live or a
    /// graph was not released.
    pub fn ferrum_pool_destroy(pool: ferrum_pool, flags: u32) -> ferrum_status;

    /// Allocates a block from a pool. The block belongs to the stream of the request.
    /// Every free of the block waits for the work that is queued on that stream at the
    /// time of the free.
    ///
    /// - `size_bytes`: not 0; rounded up to the pool's alignment or further.
    /// - `stream`: optional: the first stream that uses the block. The pool may
    ///   return memory that was freed on this stream and that queued work
    ///   of the stream still uses. So every other user of the block, also
    ///   the host, has to wait for that work. The stream may be destroyed
    ///   while the block is live: its queued work has completed then.
    /// - `address_out`: address of the block.
    ///
    /// Returns FERRUM_ERROR_OUT_OF_MEMORY when there is no room after the library
    /// released all cached memory and called the reclaim callbacks. The message
    /// states the request, the free bytes, the longest free run and the holders
    /// by tag. A request that can never fit fails at once. The call waits at
    /// most 10 s for freed blocks that queued work still uses.
    pub fn ferrum_pool_alloc(
        pool: ferrum_pool,
        size_bytes: u64,
        stream: ferrum_stream,
        address_out: *mut ferrum_address,
    ) -> ferrum_status;

    /// The same as ferrum_pool_alloc, with all options.
    pub fn ferrum_pool_alloc_with(
        pool: ferrum_pool,
        request: *const ferrum_pool_request,
        address_out: *mut ferrum_address,
    ) -> ferrum_status;

    /// Allocates count blocks of one size: all of them, or none on failure.
    ///
    /// - `count`: 1 to FERRUM_BATCH_MAX.
    /// - `addresses_out`: room for count addresses. All are zero on failure, unless
    ///   count is out of bounds.
    ///
    /// Returns as ferrum_pool_alloc; FERRUM_ERROR_INVALID_ARGUMENT for count.
    pub fn ferrum_pool_alloc_batch(
        pool: ferrum_pool,
        size_bytes: u64,
        count: u64,
        stream: ferrum_stream,
        addresses_out: *mut ferrum_address,
    ) -> ferrum_status;

    /// Returns the number of a tag of the pool. The number stays the same while the pool
    /// exists.
    ///
    /// - `name`: 1 to 63 bytes.
    /// - `tag_out`: the same number for the same name.
    ///
    /// Returns FERRUM_ERROR_RESOURCE_EXHAUSTED after 4095 names.
    pub fn ferrum_pool_get_tag(
        pool: ferrum_pool,
        name: *const c_char,
        tag_out: *mut u32,
    ) -> ferrum_status;

    /// Frees a block. The pool reuses its memory when the work has completed that is
    /// queued now
    ///
    /// - on the stream that the block belongs to,
    /// - on the streams that ferrum_pool_record_stream named for the block,
    /// - and on the stream of this call; {0} is the default stream, as everywhere.
    ///
    /// A stream without queued work adds no wait. If only one of the streams has queued
    /// work, a later allocation for that stream may get the memory at once, because the
    /// order of the stream separates the two uses. The free succeeds also when the
    /// stream of the block was destroyed. Such a stream has no queued work, except for
    /// work that the owner of an adopted stream had queued. The call does not wait.
    ///
    /// - `stream`: optional: a further stream that used the block.
    ///
    /// Returns FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to record the
    /// deferred free; the block stays live and can be freed when the work has
    /// completed. FERRUM_ERROR_DOUBLE_FREE for an address that is free in this
    /// pool; FERRUM_ERROR_INVALID_ADDRESS for an address inside a block or
    /// outside the pool. With FERRUM_DEBUG_RED_ZONES, FERRUM_ERROR_CORRUPTED
    /// when bytes beside the block were overwritten; the block is free
    /// nevertheless.
    pub fn ferrum_pool_free(
        pool: ferrum_pool,
        address: ferrum_address,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// The same as ferrum_pool_free, with a check of the requested size. It waits for
    /// the same streams.
    ///
    /// Returns FERRUM_ERROR_INVALID_SIZE when the block was requested with another size;
    /// the block stays live.
    pub fn ferrum_pool_free_sized(
        pool: ferrum_pool,
        address: ferrum_address,
        size_bytes: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Frees count blocks: all of them, or none on failure. Each free waits for the same
    /// streams as ferrum_pool_free. The call frees a large batch in slices, and other
    /// threads wait for one slice at most. Meanwhile a call of another thread may find a
    /// block of the batch already freed, also when the batch fails in the end.
    ///
    /// - `count`: 1 to FERRUM_BATCH_MAX.
    ///
    /// Returns as ferrum_pool_free for the first wrong address; the message states its
    /// index. An address that occurs twice returns FERRUM_ERROR_DOUBLE_FREE.
    /// FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to record all
    /// deferred frees; all blocks stay live.
    pub fn ferrum_pool_free_batch(
        pool: ferrum_pool,
        addresses: *const ferrum_address,
        count: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Records a further stream that uses a block. When the block is freed, the free
    /// also waits for the work that is queued on this stream at that time. The stream
    /// that the block belongs to does not need this call.
    ///
    /// - `stream`: optional.
    ///
    /// Returns FERRUM_ERROR_DOUBLE_FREE or FERRUM_ERROR_INVALID_ADDRESS when no live
    /// block starts at the address.
    pub fn ferrum_pool_record_stream(
        pool: ferrum_pool,
        address: ferrum_address,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Records a further stream that uses many blocks, like ferrum_pool_record_stream: all
    /// of them, or none on failure. An address may occur twice. The call checks a list of
    /// more than 4096 blocks as a whole and then records the stream in parts, and other
    /// threads wait for one part at most. If another thread frees a block of such a list
    /// meanwhile, the call may fail with some blocks recorded.
    ///
    /// - `count`: at most FERRUM_BATCH_MAX; 0 does nothing.
    /// - `stream`: optional.
    ///
    /// Returns as ferrum_pool_record_stream. The message states the index of the first
    /// wrong address. Nothing has changed after an error.
    pub fn ferrum_pool_record_stream_batch(
        pool: ferrum_pool,
        addresses: *const ferrum_address,
        count: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Returns the usable size of a live block: at least the requested size. All of
    /// these bytes belong to the block.
    pub fn ferrum_pool_usable_size(
        pool: ferrum_pool,
        address: ferrum_address,
        size_bytes_out: *mut u64,
    ) -> ferrum_status;

    /// From now until ferrum_pool_capture_end, allocations for the streams of a capture
    /// come from a private pool of the graph. Call it after the capture has begun, for
    /// each pool that the capture uses. The library recognizes streams that join the
    /// capture later. The program starts the capture with the calls of the vendor
    /// (cuStreamBeginCapture). The stream is known to the library by ferrum_stream_adopt
    /// or ferrum_stream_get_native.
    ///
    /// Memory of the graph keeps its place until ferrum_pool_capture_release. Memory
    /// that is freed on a stream of the capture can be allocated for that stream at
    /// once, and for other streams of the same private pool when the capture has ended,
    /// but never outside the private pool. A block from before the capture waits until
    /// the graph is released if it is freed on a stream of the capture, belongs to such
    /// a stream, or was recorded for one by ferrum_pool_record_stream. Other streams are
    /// not affected. The thread caches of the pool are not used until the end of its
    /// captures.
    ///
    /// Graphs may share a private pool. They then use the same memory. They have to run
    /// one after the other, in the order of their captures. A run of one graph
    /// overwrites the contents that another graph left in blocks that are not live.
    ///
    /// - `stream`: optional: a stream that captures now.
    /// - `shared_graph`: a graph of this pool whose private pool the new graph
    ///   shares; 0: a new private pool, which allocates memory of its own,
    ///   at most the max_size_bytes of the pool.
    /// - `graph_out`: number of the graph in this pool. Every graph has a different
    ///   number.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED without FERRUM_CAPABILITY_CAPTURE;
    /// FERRUM_ERROR_INVALID_STATE when the stream does not capture, or an error
    /// has invalidated its capture; FERRUM_ERROR_ALREADY_EXISTS when this
    /// capture has already begun in the pool; FERRUM_ERROR_NOT_FOUND for
    /// shared_graph; FERRUM_ERROR_BUSY while another graph of its private pool
    /// is being captured.
    pub fn ferrum_pool_capture_begin(
        pool: ferrum_pool,
        stream: ferrum_stream,
        shared_graph: u64,
        graph_out: *mut u64,
    ) -> ferrum_status;

    /// Ends the use of a private pool that ferrum_pool_capture_begin began. Call it
    /// after the capture itself has ended. Live blocks stay live.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND; FERRUM_ERROR_INVALID_STATE while the stream
    /// captures, or after an earlier call for this graph.
    pub fn ferrum_pool_capture_end(pool: ferrum_pool, graph: u64) -> ferrum_status;

    /// Releases a graph. The program states that the graph will not run again after the
    /// work that is queued on the stream now. When the last graph of a private pool is
    /// released, that work has completed and no block of the private pool is live, the
    /// memory of the private pool is released to the system. The call does not wait for
    /// it. A failed capture without a graph must be released too, with or without
    /// ferrum_pool_capture_end.
    ///
    /// - `stream`: optional: the stream of the last run.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND; FERRUM_ERROR_INVALID_STATE while the graph is
    /// being captured, or while the stream captures. Nothing has changed then.
    pub fn ferrum_pool_capture_release(
        pool: ferrum_pool,
        graph: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Describes a graph. FERRUM_ERROR_NOT_FOUND for a released or unknown graph.
    pub fn ferrum_pool_capture_get_info(
        pool: ferrum_pool,
        graph: u64,
        info_out: *mut ferrum_graph_info,
    ) -> ferrum_status;

    /// Frees every live block of the pool, except for those of graphs, as
    /// ferrum_pool_free does with this stream. Each block also waits for its own stream.
    /// The call frees the blocks in slices. It needs the same amount of memory for any
    /// number of blocks, and other threads wait for one slice at most. A block that
    /// another thread allocates during the call may be freed or not.
    ///
    /// Returns FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to record the
    /// deferred frees. All blocks stay live then, unless other threads allocate
    /// blocks or use up memory during the call; in that case some of the blocks
    /// may be free.
    pub fn ferrum_pool_reset(pool: ferrum_pool, stream: ferrum_stream) -> ferrum_status;

    /// Checks every block of a pool in debug mode: the red zones of live blocks, and the
    /// contents of blocks in quarantine. The call repairs the damage that it reports, so
    /// each damage is reported once.
    ///
    /// Returns FERRUM_ERROR_CORRUPTED for the first damage; the log has all of it. A
    /// pool without debug mode is not checked.
    pub fn ferrum_pool_check(pool: ferrum_pool) -> ferrum_status;

    /// Takes back the blocks of the thread caches, and releases segments and pages
    /// without a live block to the system. It stops when the pool holds no more than
    /// keep_bytes (or the pool's min_held_bytes), or when no free segment or page is
    /// left.
    ///
    /// - `released_bytes_out`: number of released bytes.
    pub fn ferrum_pool_trim(
        pool: ferrum_pool,
        keep_bytes: u64,
        released_bytes_out: *mut u64,
    ) -> ferrum_status;

    /// Changes the upper bound of the pool; 0 removes it. A bound below the held memory
    /// releases cached memory. Live blocks stay.
    pub fn ferrum_pool_set_limit(pool: ferrum_pool, max_size_bytes: u64) -> ferrum_status;

    /// Changes min_held_bytes of the pool.
    pub fn ferrum_pool_set_min_held(pool: ferrum_pool, min_held_bytes: u64) -> ferrum_status;

    /// Changes release_threshold_bytes of the pool, and releases free memory above the
    /// threshold. UINT64_MAX: no threshold.
    pub fn ferrum_pool_set_release_threshold(
        pool: ferrum_pool,
        release_threshold_bytes: u64,
    ) -> ferrum_status;

    /// Describes the memory of a pool.
    pub fn ferrum_pool_get_info(
        pool: ferrum_pool,
        info_out: *mut ferrum_pool_info,
    ) -> ferrum_status;

    /// Returns the counters of a pool.
    pub fn ferrum_pool_get_statistics(
        pool: ferrum_pool,
        statistics_out: *mut ferrum_statistics,
    ) -> ferrum_status;

    /// Finds the pool and the block that an address of a device belongs to. It is meant
    /// for debuggers: it may traverse every block of a pool, in slices, while other
    /// threads continue.
    ///
    /// - `address`: any address, also inside a block.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND when no pool holds the address.
    pub fn ferrum_device_get_owner(
        device: ferrum_device,
        address: ferrum_address,
        info_out: *mut ferrum_block_info,
    ) -> ferrum_status;

    /// Returns where the live block at an address was allocated, as a JSON array of
    /// strings, the innermost function first: \["engine.py:12 (load)", "engine+0x12f4
    /// (allocate)"\]. It is empty unless the pool of the block, which may be that of a
    /// manager, has FERRUM_DEBUG_CALL_SITES. For debuggers, as ferrum_device_get_owner.
    ///
    /// - `address`: any address, also inside a block.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND when no pool holds the address.
    pub fn ferrum_device_get_call_site_json(
        device: ferrum_device,
        address: ferrum_address,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Creates a memory manager on a device. It holds no memory before the first
    /// allocation, unless a pool setting requests it.
    ///
    /// - `config`: settings, or NULL for FERRUM_MANAGER_CONFIG_INIT.
    pub fn ferrum_manager_create(
        device: ferrum_device,
        config: *const ferrum_manager_config,
        manager_out: *mut ferrum_manager,
    ) -> ferrum_status;

    /// Destroys a manager and releases its memory to the system.
    ///
    /// - `flags`: 0, or FERRUM_FORCE: destroy the manager although blocks are live or
    ///   in use by copies. The call waits for the copies.
    ///
    /// Returns FERRUM_ERROR_BUSY, and nothing has changed, while blocks are live.
    pub fn ferrum_manager_destroy(manager: ferrum_manager, flags: u32) -> ferrum_status;

    /// Sets the pool settings of a memory type from now on. Live blocks of the type stay
    /// in their pool until they are freed. New blocks come from a pool with the new
    /// settings.
    pub fn ferrum_manager_configure_pool(
        manager: ferrum_manager,
        memory_type: ferrum_memory_type,
        config: *const ferrum_pool_config,
    ) -> ferrum_status;

    /// Returns the counters of a manager: the sum over its pools.
    pub fn ferrum_manager_get_statistics(
        manager: ferrum_manager,
        statistics_out: *mut ferrum_statistics,
    ) -> ferrum_status;

    /// Allocates a block of type FERRUM_MEMORY_GENERAL.
    ///
    /// - `size_bytes`: not 0.
    ///
    /// Returns as ferrum_pool_alloc.
    pub fn ferrum_manager_alloc(
        manager: ferrum_manager,
        size_bytes: u64,
        memory_out: *mut ferrum_memory,
    ) -> ferrum_status;

    /// Allocates a block as described by the request.
    pub fn ferrum_manager_alloc_with(
        manager: ferrum_manager,
        request: *const ferrum_allocation_request,
        memory_out: *mut ferrum_memory,
    ) -> ferrum_status;

    /// Frees a block. Its handle becomes invalid at once. Copies in flight complete; the
    /// memory is reused after them. The call waits only for a running move of the block.
    ///
    /// Returns FERRUM_ERROR_BUSY for a block that is pinned or mapped, and for an
    /// adopted block that queued work uses; FERRUM_ERROR_CORRUPTED as
    /// ferrum_pool_free, for a pool in debug mode.
    pub fn ferrum_memory_free(memory: ferrum_memory) -> ferrum_status;

    /// Describes a block. FERRUM_ERROR_INVALID_HANDLE for an unknown one.
    pub fn ferrum_memory_get_handle_info(
        memory: ferrum_memory,
        info_out: *mut ferrum_handle_info,
    ) -> ferrum_status;

    /// Returns the address of a block, and keeps the block at this address until
    /// ferrum_memory_unpin has been called as often as ferrum_memory_pin. Use it for
    /// work on the address that the library does not know of. Every block can be pinned.
    /// The call waits for a running move of the block. A pinned block cannot be freed.
    /// Destroying its manager with FERRUM_FORCE frees it.
    ///
    /// Returns FERRUM_ERROR_RESOURCE_EXHAUSTED for a block that is pinned 2^32 - 1
    /// times.
    pub fn ferrum_memory_pin(
        memory: ferrum_memory,
        address_out: *mut ferrum_address,
    ) -> ferrum_status;

    /// Undoes one ferrum_memory_pin.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE for a block that is not pinned.
    pub fn ferrum_memory_unpin(memory: ferrum_memory) -> ferrum_status;

    /// Copies bytes from one block to another, or within one block (like memmove), and
    /// returns when the copy has completed. The call waits for earlier work on streams
    /// that use the two blocks.
    ///
    /// Returns FERRUM_ERROR_INVALID_OFFSET when a range leaves its block;
    /// FERRUM_ERROR_OVERFLOW when offset + size does not fit 64 bits. This call,
    /// ferrum_memory_write and ferrum_memory_read use the default stream of the
    /// device, and also return a failure of work that was queued there before.
    pub fn ferrum_memory_copy(transfer: *const ferrum_transfer) -> ferrum_status;

    /// Queues a copy on a stream and returns. The memory of both blocks stays valid
    /// until the copy has completed, also when a block is freed meanwhile. At most
    /// max_concurrent_transfers copies of the destination's manager are in flight; the
    /// call waits for a transfer slot.
    ///
    /// - `stream`: optional, of the destination's device.
    pub fn ferrum_memory_copy_async(
        transfer: *const ferrum_transfer,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Copies from the caller's memory into a block, and returns when the copy has
    /// completed.
    ///
    /// - `source`: at least size_bytes long.
    pub fn ferrum_memory_write(
        memory: ferrum_memory,
        offset_bytes: u64,
        source: *const c_void,
        size_bytes: u64,
    ) -> ferrum_status;

    /// Copies from a block into the caller's memory, and returns when the copy has
    /// completed.
    ///
    /// - `destination_out`: at least size_bytes long. Not zeroed on failure.
    pub fn ferrum_memory_read(
        memory: ferrum_memory,
        offset_bytes: u64,
        destination_out: *mut c_void,
        size_bytes: u64,
    ) -> ferrum_status;

    /// Queues a fill on a stream and returns. The memory of the block stays valid until
    /// the fill has completed.
    ///
    /// - `stream`: optional, of the block's device.
    pub fn ferrum_memory_fill_async(
        fill: *const ferrum_fill,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Moves blocks so that pages become free (segments, in segmented pools). It starts
    /// with the pages that cost least, and releases unused memory of the manager's pools
    /// to the system. It moves only blocks with FERRUM_ALLOCATE_RELOCATABLE that are not
    /// pinned, not mapped, and were not used on a stream with queued work. A move
    /// changes the address of a block; its handle, contents, tag and age stay. No pool
    /// grows for it.
    ///
    /// Other threads may use the blocks by their handles during the call. A call for a
    /// block that is being moved waits for the move. When the device fails, the block of
    /// that move is unchanged, and the blocks of earlier moves stay at their new
    /// addresses.
    pub fn ferrum_manager_defragment(
        manager: ferrum_manager,
        stats_out: *mut ferrum_defragmentation_stats,
    ) -> ferrum_status;

    /// The same as ferrum_manager_defragment, within a time budget. After the budget
    /// ends, the call starts no further move and gives up a running move at the next 8
    /// MiB of its copy. The call releases unused memory in any case. A second call for
    /// the same manager waits for the first one, within its own budget.
    ///
    /// When the budget ends a call (budget_ended), the next call with a budget continues
    /// where this one stopped. So several small budgets also complete the work in a
    /// manager with many blocks. Such a call counts blocks in the state in which it
    /// considered them.
    ///
    /// - `budget_ns`: nanoseconds, or FERRUM_WAIT_FOREVER; 0: nothing is moved.
    pub fn ferrum_manager_defragment_within(
        manager: ferrum_manager,
        budget_ns: u64,
        stats_out: *mut ferrum_defragmentation_stats,
    ) -> ferrum_status;

    /// Registers a pressure callback on a device. Each registration receives every
    /// change from then on.
    ///
    /// - `user_data`: must stay valid until the registration is removed.
    pub fn ferrum_device_pressure_callback_add(
        device: ferrum_device,
        callback: ferrum_pressure_fn,
        user_data: *mut c_void,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Registers a reclaim callback on a device.
    ///
    /// - `config`: settings, or NULL for FERRUM_RECLAIM_CONFIG_INIT.
    /// - `user_data`: must stay valid until the registration is removed.
    pub fn ferrum_device_reclaim_callback_add(
        device: ferrum_device,
        config: *const ferrum_reclaim_config,
        callback: ferrum_reclaim_fn,
        user_data: *mut c_void,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Removes a callback. The call waits for a running call of the callback, unless it
    /// comes from inside that callback. The library does not call the callback
    /// afterwards. Two callbacks that run and remove each other would wait for each
    /// other forever.
    ///
    /// Returns FERRUM_ERROR_BUSY for a compute backend that is open
    /// (ferrum_compute_register), and for a layer type that is used
    /// (ferrum_layer_register).
    pub fn ferrum_registration_remove(registration: ferrum_registration) -> ferrum_status;

    /// Returns the page sizes of a device.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory.
    pub fn ferrum_device_get_page_sizes(
        device: ferrum_device,
        sizes_out: *mut ferrum_page_sizes,
    ) -> ferrum_status;

    /// Creates a virtual pool. It reserves address space, and allocates memory only for
    /// its tables.
    ///
    /// - `config`: required.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory;
    /// FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_INVALID_SIZE for a capacity
    /// that is 0 or cannot be rounded up; FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY
    /// when the address space is not available;
    /// FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a limit above the memory of the
    /// device.
    pub fn ferrum_vpool_create(
        device: ferrum_device,
        config: *const ferrum_vpool_config,
        vpool_out: *mut ferrum_vpool,
    ) -> ferrum_status;

    /// Destroys a virtual pool. The call waits for queued work that uses freed ranges,
    /// unmaps everything and releases memory and address space.
    ///
    /// - `flags`: 0, or FERRUM_FORCE: destroy the pool although ranges are live. The
    ///   call then first waits for all work of the device.
    ///
    /// Returns FERRUM_ERROR_BUSY, and nothing has changed, while ranges are live or a
    /// running call allocates some.
    pub fn ferrum_vpool_destroy(vpool: ferrum_vpool, flags: u32) -> ferrum_status;

    /// Maps readable and writable memory at every page that a range touches: at all of
    /// them, or at none on failure. The first bytes are zeros, or bytes that this pool
    /// wrote before.
    ///
    /// - `offset_bytes`: offset from the base address; any number of bytes.
    /// - `size_bytes`: not 0.
    /// - `address_out`: base address + offset_bytes.
    ///
    /// Returns FERRUM_ERROR_INVALID_OFFSET for a range that ends outside the pool, with
    /// offset, size and capacity in the message; FERRUM_ERROR_INVALID_SIZE;
    /// FERRUM_ERROR_ALREADY_MAPPED, with offset and size of the first mapped
    /// page; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY above the limit, with the
    /// requested and the available size; FERRUM_ERROR_OUT_OF_MEMORY when the
    /// device has no more memory, after the same reclaim path as
    /// ferrum_pool_alloc; FERRUM_ERROR_RESOURCE_EXHAUSTED when the system allows
    /// no more mappings. If queued work still uses a freed range there, the call
    /// waits for that work; in a host function or a reclaim callback it returns
    /// FERRUM_ERROR_BUSY instead.
    pub fn ferrum_vpool_alloc(
        vpool: ferrum_vpool,
        offset_bytes: u64,
        size_bytes: u64,
        address_out: *mut ferrum_address,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_alloc, with all options.
    ///
    /// Returns also FERRUM_ERROR_INVALID_STATE while the tag, the whole pool, or a range
    /// at that offset is asleep; FERRUM_ERROR_TIMEOUT when that lasts longer
    /// than asleep_wait_ns; FERRUM_ERROR_RESOURCE_EXHAUSTED while about a
    /// million other tags are in use.
    pub fn ferrum_vpool_alloc_with(
        vpool: ferrum_vpool,
        request: *const ferrum_vpool_request,
        address_out: *mut ferrum_address,
    ) -> ferrum_status;

    /// Maps memory at many ranges: at all of them, or at none on failure. Each range
    /// becomes an allocation of its own, as if ferrum_vpool_alloc_with had made it, and
    /// is freed alone or with others. One call costs less than one call for each range:
    /// the lock is taken once, the limit is checked once for the sum of all pages, and
    /// ranges that lie side by side are mapped together. The address of a range is the
    /// base address + its offset.
    ///
    /// - `ranges`: in any order. No two ranges may touch the same page.
    /// - `count`: at most FERRUM_BATCH_MAX; 0 does nothing.
    /// - `options`: optional: NULL for FERRUM_BATCH_OPTIONS_INIT.
    ///
    /// Returns as ferrum_vpool_alloc_with. An error about one range names it by its
    /// index, such as ranges\[3\]; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY states the
    /// size of all pages. FERRUM_ERROR_INVALID_OFFSET also for two ranges that
    /// touch the same page, with both indices. Nothing has changed after an
    /// error.
    pub fn ferrum_vpool_alloc_batch(
        vpool: ferrum_vpool,
        ranges: *const ferrum_byte_range,
        count: u64,
        options: *const ferrum_batch_options,
    ) -> ferrum_status;

    /// Frees a range. The pool reuses its memory when the work has completed that is
    /// queued now
    ///
    /// - on the stream that the range belongs to (ferrum_vpool_request),
    /// - on the streams that ferrum_vpool_record_stream named for a page of the range,
    /// - and on the stream of this call; {0} is the default stream, as everywhere.
    ///
    /// Until then its pages count as used. The call does not wait. The host must not
    /// touch the range after the call. The free succeeds also when the stream of the
    /// range was destroyed; such a stream has no queued work.
    ///
    /// - `offset_bytes,size_bytes`: whole pages of one or several allocations, or
    ///   exactly the range of one allocation. After a part of an allocation
    ///   was freed, the rest must be freed in whole pages, because other
    ///   allocations may use the freed pages.
    /// - `stream`: optional: a further stream that used the range.
    ///
    /// Returns FERRUM_ERROR_INVALID_OFFSET for any other range, or a range that ends
    /// outside the pool; FERRUM_ERROR_INVALID_SIZE for a size of 0;
    /// FERRUM_ERROR_NOT_MAPPED, with offset and size of the first page that is
    /// not mapped; FERRUM_ERROR_BUSY while a running call puts a part of the
    /// range to sleep or wakes it: free the range after that call, asleep or
    /// awake; FERRUM_ERROR_INVALID_STATE when one part of the range is asleep
    /// and another is not, and while one of the streams captures. Nothing has
    /// changed after an error.
    pub fn ferrum_vpool_free(
        vpool: ferrum_vpool,
        offset_bytes: u64,
        size_bytes: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Frees many ranges: all of them, or none on failure. Each range follows the rules
    /// of ferrum_vpool_free, and waits for the streams that use it and not for those
    /// that use another one. Some ranges may be asleep and others not. The call checks
    /// all ranges before it changes anything. Its only calls of the driver record the
    /// ends of the queues of streams, before the first change. It does not unmap: the
    /// pool does that later. So a failure of the driver leaves all ranges mapped.
    ///
    /// - `ranges`: in any order. No two ranges may touch the same page.
    /// - `count`: at most FERRUM_BATCH_MAX; 0 does nothing.
    /// - `stream`: optional: a further stream that used the ranges.
    ///
    /// Returns as ferrum_vpool_free. An error about one range names it by its index.
    /// FERRUM_ERROR_INVALID_OFFSET also for two ranges that touch the same page,
    /// with both indices. Nothing has changed after an error.
    pub fn ferrum_vpool_free_batch(
        vpool: ferrum_vpool,
        ranges: *const ferrum_byte_range,
        count: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Records a further stream that uses every page that a range touches. When the
    /// pages are freed, the free also waits for the work that is queued on this stream
    /// at that time. The range may be a part of an allocation, or of several
    /// allocations. The stream that a range belongs to does not need this call.
    ///
    /// - `stream`: {0}: the default stream.
    ///
    /// Returns FERRUM_ERROR_INVALID_OFFSET for a range that ends outside the pool;
    /// FERRUM_ERROR_INVALID_SIZE for a size of 0; FERRUM_ERROR_NOT_MAPPED, with
    /// offset and size of the first page that is not mapped;
    /// FERRUM_ERROR_INVALID_STATE for a page that is asleep; FERRUM_ERROR_BUSY
    /// for a page that a running call puts to sleep or wakes.
    pub fn ferrum_vpool_record_stream(
        vpool: ferrum_vpool,
        offset_bytes: u64,
        size_bytes: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Records a further stream that uses many ranges: all of them, or none on failure.
    /// Each range follows the rules of ferrum_vpool_record_stream. The call makes no call
    /// of the driver before it has recorded the stream for all ranges.
    ///
    /// - `ranges`: in any order. No two ranges may touch the same page.
    /// - `count`: at most FERRUM_BATCH_MAX; 0 does nothing.
    /// - `stream`: {0}: the default stream.
    ///
    /// Returns as ferrum_vpool_record_stream. An error about one range names it by its
    /// index. FERRUM_ERROR_INVALID_OFFSET also for two ranges that touch the
    /// same page, with both indices. Nothing has changed after an error.
    pub fn ferrum_vpool_record_stream_batch(
        vpool: ferrum_vpool,
        ranges: *const ferrum_byte_range,
        count: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Returns whether every page that a range touches is mapped (1) or not (0). The
    /// result is 0 for a range that ends outside the pool or has no bytes.
    pub fn ferrum_vpool_is_mapped(
        vpool: ferrum_vpool,
        offset_bytes: u64,
        size_bytes: u64,
        mapped_out: *mut u32,
    ) -> ferrum_status;

    /// Describes a virtual pool. Does not wait for queued work.
    pub fn ferrum_vpool_get_info(
        vpool: ferrum_vpool,
        info_out: *mut ferrum_vpool_info,
    ) -> ferrum_status;

    /// Returns the counters of a virtual pool. Its live blocks are ranges.
    pub fn ferrum_vpool_get_statistics(
        vpool: ferrum_vpool,
        statistics_out: *mut ferrum_statistics,
    ) -> ferrum_status;

    /// Joins unused pages. The call unmaps parked pages. It keeps ready_pages free
    /// pages, adjacent ones first, and releases the others to the device. Mapped ranges
    /// keep their places.
    pub fn ferrum_vpool_compact(
        vpool: ferrum_vpool,
        report_out: *mut ferrum_compact_report,
    ) -> ferrum_status;

    /// Releases parked and ready pages to the device, until the pool holds no more than
    /// keep_bytes of them.
    ///
    /// - `released_bytes_out`: number of released bytes.
    pub fn ferrum_vpool_trim(
        vpool: ferrum_vpool,
        keep_bytes: u64,
        released_bytes_out: *mut u64,
    ) -> ferrum_status;

    /// Changes the limit while the pool is in use; 0: the memory of the device. Mapped
    /// ranges stay. Free pages above the limit are released to the device. For movable
    /// pages the worker of the pool does that after the call.
    ///
    /// Returns FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a limit above the memory of the
    /// device.
    pub fn ferrum_vpool_set_limit(vpool: ferrum_vpool, limit_bytes: u64) -> ferrum_status;

    /// Waits until the pool has no retiring range.
    ///
    /// - `timeout_ns`: nanoseconds, or FERRUM_WAIT_FOREVER; 0 only checks.
    ///
    /// Returns FERRUM_ERROR_TIMEOUT when it takes longer.
    pub fn ferrum_vpool_synchronize(vpool: ferrum_vpool, timeout_ns: u64) -> ferrum_status;

    /// Stops the worker of the pool from making pages ready, until ferrum_vpool_resume.
    /// The call returns when the worker has finished its present step.
    pub fn ferrum_vpool_pause(vpool: ferrum_vpool) -> ferrum_status;

    /// Undoes a ferrum_vpool_pause.
    pub fn ferrum_vpool_resume(vpool: ferrum_vpool) -> ferrum_status;

    /// Creates an elastic pool without models. The pool allocates nothing from the
    /// device yet.
    ///
    /// - `config`: settings, or NULL for FERRUM_ELASTIC_POOL_CONFIG_INIT.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory;
    /// FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a
    /// limit above the memory of the device; FERRUM_ERROR_INVALID_CONFIG for a
    /// limit below one page.
    pub fn ferrum_elastic_pool_create(
        device: ferrum_device,
        config: *const ferrum_elastic_pool_config,
        pool_out: *mut ferrum_elastic_pool,
    ) -> ferrum_status;

    /// Destroys an elastic pool with its models, like ferrum_vpool_destroy.
    /// Registrations of reclaim callbacks stay until they are removed, but the library
    /// does not call them again.
    ///
    /// - `flags`: 0 or FERRUM_FORCE.
    ///
    /// Returns FERRUM_ERROR_BUSY, and no model has changed, while a model has ranges or
    /// running or waiting allocations, or is being registered or unregistered.
    pub fn ferrum_elastic_pool_destroy(pool: ferrum_elastic_pool, flags: u32) -> ferrum_status;

    /// Adds a model while other models run. The model gets address space, and memory
    /// only for its tables.
    ///
    /// - `model`: its id, 1 to 63 bytes.
    /// - `config`: required.
    ///
    /// Returns FERRUM_ERROR_MODEL_ALREADY_EXISTS, with the id in the message;
    /// FERRUM_ERROR_INVALID_ARGUMENT for an invalid id;
    /// FERRUM_ERROR_INVALID_SIZE and FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY for its
    /// address space; FERRUM_ERROR_INVALID_CONFIG for guarantees above the
    /// limit, or a guarantee above the model's own maximum or address space;
    /// FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, with the number of backed bytes, for
    /// a guarantee that has too few pages and may not wait. The library does not
    /// weaken the guarantee of another model for it.
    pub fn ferrum_elastic_pool_register_model(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        config: *const ferrum_model_config,
    ) -> ferrum_status;

    /// Removes a model while other models run. The call waits for queued work that uses
    /// freed ranges of the model, and for running calls of its reclaim callbacks; these
    /// are not called again. The memory of the model becomes available to the other
    /// models.
    ///
    /// - `flags`: 0, or FERRUM_FORCE: remove the model also while it has ranges. The
    ///   call then first waits for all work of the device, and waiting
    ///   allocations of the model fail.
    ///
    /// Returns FERRUM_ERROR_BUSY, and nothing has changed, while the model has ranges,
    /// or running or waiting allocations; FERRUM_ERROR_MODEL_NOT_FOUND, with the
    /// id in the message.
    pub fn ferrum_elastic_pool_unregister_model(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        flags: u32,
    ) -> ferrum_status;

    /// Allocates the first free range of the model's address space that is long enough,
    /// in whole pages, and maps memory there. The first bytes are zeros, or bytes that
    /// this model wrote before. If no free range is long enough, but freed ranges
    /// that queued work still uses would make one, the call waits for that work for at
    /// most ten seconds.
    ///
    /// - `size_bytes`: not 0.
    /// - `address_out`: address of the range.
    /// - `offset_bytes_out`: optional, may be NULL: offset of the range from the
    ///   model's base address.
    ///
    /// Returns FERRUM_ERROR_MODEL_NOT_FOUND; FERRUM_ERROR_INVALID_SIZE;
    /// FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY when no range is long enough;
    /// FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, with the requested and the available
    /// size, when the limits allow no more and reclaiming freed too little;
    /// FERRUM_ERROR_OUT_OF_MEMORY when the device has less than the limits
    /// allow. In a host function or a reclaim callback the call does not wait
    /// for memory.
    pub fn ferrum_elastic_pool_alloc(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        size_bytes: u64,
        address_out: *mut ferrum_address,
        offset_bytes_out: *mut u64,
    ) -> ferrum_status;

    /// The same as ferrum_elastic_pool_alloc, with all options.
    ///
    /// Returns also, where at_offset is 1: FERRUM_ERROR_INVALID_OFFSET and
    /// FERRUM_ERROR_ALREADY_MAPPED as ferrum_vpool_alloc.
    pub fn ferrum_elastic_pool_alloc_with(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        request: *const ferrum_model_request,
        address_out: *mut ferrum_address,
        offset_bytes_out: *mut u64,
    ) -> ferrum_status;

    /// Maps memory at many ranges of a model, like ferrum_vpool_alloc_batch: at all of
    /// them, or at none on failure. The pages of all ranges are one request to the pool:
    /// it waits once, and the reclaim callbacks are called with the sum of the missing
    /// memory.
    ///
    /// - `ranges,count,options`: as for ferrum_vpool_alloc_batch.
    ///
    /// Returns as ferrum_elastic_pool_alloc_with with at_offset 1, and as
    /// ferrum_vpool_alloc_batch for the list.
    pub fn ferrum_elastic_pool_alloc_batch(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        ranges: *const ferrum_byte_range,
        count: u64,
        options: *const ferrum_batch_options,
    ) -> ferrum_status;

    /// Maps memory at many ranges of a model, each at the first free place that is long
    /// enough, like ferrum_elastic_pool_alloc: all of them, or none on failure. The
    /// library places the ranges in the order of the list. The pages of all ranges are
    /// one request to the pool, as in ferrum_elastic_pool_alloc_batch. Each range becomes
    /// an allocation of its own, and is freed alone or with others.
    ///
    /// - `sizes`: sizes of the ranges; none is 0.
    /// - `count`: at most FERRUM_BATCH_MAX; 0 does nothing.
    /// - `options`: as for ferrum_vpool_alloc_batch.
    /// - `offsets_out`: room for count offsets from the model's base address, in the
    ///   order of sizes. All are zero on failure, unless count is out of
    ///   bounds.
    ///
    /// Returns as ferrum_elastic_pool_alloc_with with at_offset 0. An error about one
    /// size names it by its index, such as sizes\[3\];
    /// FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY also when the sizes together exceed
    /// the address space; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY states the size of
    /// all ranges. Nothing has changed after an error.
    pub fn ferrum_elastic_pool_alloc_batch_anywhere(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        sizes: *const u64,
        count: u64,
        options: *const ferrum_batch_options,
        offsets_out: *mut u64,
    ) -> ferrum_status;

    /// Frees a range of a model, like ferrum_vpool_free.
    ///
    /// - `offset_bytes,size_bytes,stream`: as for ferrum_vpool_free.
    ///
    /// Returns as ferrum_vpool_free, with FERRUM_ERROR_BUSY during a sleep or wake of
    /// the range; FERRUM_ERROR_MODEL_NOT_FOUND.
    pub fn ferrum_elastic_pool_free(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        offset_bytes: u64,
        size_bytes: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Frees many ranges of a model, like ferrum_vpool_free_batch: all of them, or none
    /// on failure.
    ///
    /// - `ranges,count,stream`: as for ferrum_vpool_free_batch.
    ///
    /// Returns as ferrum_vpool_free_batch; FERRUM_ERROR_MODEL_NOT_FOUND.
    pub fn ferrum_elastic_pool_free_batch(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        ranges: *const ferrum_byte_range,
        count: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_record_stream, for a range of a model.
    ///
    /// Returns also FERRUM_ERROR_MODEL_NOT_FOUND.
    pub fn ferrum_elastic_pool_record_stream(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        offset_bytes: u64,
        size_bytes: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_record_stream_batch, for ranges of a model.
    ///
    /// Returns also FERRUM_ERROR_MODEL_NOT_FOUND.
    pub fn ferrum_elastic_pool_record_stream_batch(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        ranges: *const ferrum_byte_range,
        count: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_is_mapped, for a range of a model.
    pub fn ferrum_elastic_pool_is_mapped(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        offset_bytes: u64,
        size_bytes: u64,
        mapped_out: *mut u32,
    ) -> ferrum_status;

    /// Describes a model. FERRUM_ERROR_MODEL_NOT_FOUND for an unknown model.
    pub fn ferrum_elastic_pool_get_model_info(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        info_out: *mut ferrum_model_info,
    ) -> ferrum_status;

    /// Changes guarantee, maximum and priority of a model while it and others run: all
    /// of them, or none on failure. Mapped ranges stay. If the guarantee rises, the part
    /// of it that is in effect stays in effect.
    ///
    /// - `limits`: required; fields as in ferrum_model_config.
    ///
    /// Returns FERRUM_ERROR_INVALID_CONFIG and FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY as
    /// ferrum_elastic_pool_register_model; FERRUM_ERROR_MODEL_NOT_FOUND.
    pub fn ferrum_elastic_pool_set_model_limits(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        limits: *const ferrum_model_limits,
    ) -> ferrum_status;

    /// Describes an elastic pool.
    pub fn ferrum_elastic_pool_get_info(
        pool: ferrum_elastic_pool,
        info_out: *mut ferrum_elastic_pool_info,
    ) -> ferrum_status;

    /// Returns the counters of an elastic pool. Its live blocks are the ranges of all
    /// models.
    pub fn ferrum_elastic_pool_get_statistics(
        pool: ferrum_elastic_pool,
        statistics_out: *mut ferrum_statistics,
    ) -> ferrum_status;

    /// Describes every model of a pool at one moment, in the order of registration, as
    /// JSON:
    ///
    /// {"models": \[{"id": "chat", "physical_bytes": 0}\]}
    ///
    /// Each model has all fields of ferrum_model_info.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_elastic_pool_models_json(
        pool: ferrum_elastic_pool,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Changes the limit of all models together while they run; 0: the memory of the
    /// device. Mapped ranges stay. Free pages above the limit are released to the
    /// device, as with ferrum_vpool_set_limit. If the limit falls below the memory that
    /// the models use or have as guarantees, a model within its guarantee may have to
    /// wait until models above their guarantees have released pages.
    ///
    /// Returns FERRUM_ERROR_INVALID_CONFIG for a limit below the requested guarantees or
    /// below one page; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a limit above the
    /// memory of the device.
    pub fn ferrum_elastic_pool_set_limit(
        pool: ferrum_elastic_pool,
        limit_bytes: u64,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_compact.
    pub fn ferrum_elastic_pool_compact(
        pool: ferrum_elastic_pool,
        report_out: *mut ferrum_compact_report,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_trim.
    pub fn ferrum_elastic_pool_trim(
        pool: ferrum_elastic_pool,
        keep_bytes: u64,
        released_bytes_out: *mut u64,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_synchronize, for the ranges of all models.
    pub fn ferrum_elastic_pool_synchronize(
        pool: ferrum_elastic_pool,
        timeout_ns: u64,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_pause.
    pub fn ferrum_elastic_pool_pause(pool: ferrum_elastic_pool) -> ferrum_status;

    /// Ends a ferrum_elastic_pool_pause.
    pub fn ferrum_elastic_pool_resume(pool: ferrum_elastic_pool) -> ferrum_status;

    /// Registers a reclaim callback of a model. The library calls it only while the
    /// model holds more than its guarantee, or when the model itself needs pages and is
    /// at its own maximum. Remove it with ferrum_registration_remove, also after the
    /// model has ended.
    ///
    /// - `config`: its deadline_ns is used; its priority must be 0, because the
    ///   priority of the model counts. NULL for FERRUM_RECLAIM_CONFIG_INIT.
    /// - `user_data`: must stay valid until the registration is removed.
    pub fn ferrum_elastic_pool_reclaim_callback_add(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        config: *const ferrum_reclaim_config,
        callback: ferrum_model_reclaim_fn,
        user_data: *mut c_void,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Puts ranges of a virtual pool to sleep, after the work that the settings name has
    /// completed. Ranges that were asleep before stay as they are. A failed call changes
    /// nothing and may be repeated. There is one exception to failing: when the device
    /// fails to unmap some pages, and also fails to map the others again, the call
    /// succeeds. All ranges are asleep then, and the memory of these pages is not
    /// released.
    ///
    /// - `config`: settings, or NULL for FERRUM_SLEEP_CONFIG_INIT.
    /// - `report_out`: optional, may be NULL.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE when the tag, or everything, is asleep
    /// already, and in a host function; FERRUM_ERROR_NOT_FOUND for a tag without
    /// ranges; FERRUM_ERROR_RESOURCE_EXHAUSTED when host memory, the disk or the
    /// process's limit on file sizes (RLIMIT_FSIZE) is used up; FERRUM_ERROR_IO
    /// and FERRUM_ERROR_PERMISSION_DENIED for the file, with its name;
    /// FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_INVALID_ARGUMENT.
    pub fn ferrum_vpool_sleep(
        vpool: ferrum_vpool,
        config: *const ferrum_sleep_config,
        report_out: *mut ferrum_sleep_report,
    ) -> ferrum_status;

    /// Wakes ranges of a virtual pool at the addresses that they had. After a failure
    /// all of them are asleep as before, with their contents, and the call may be
    /// repeated. Pages that the device then fails to unmap count as used until they are
    /// unmapped.
    ///
    /// - `config`: settings, or NULL for FERRUM_WAKE_CONFIG_INIT.
    /// - `report_out`: optional, may be NULL.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE when no range, or no range of the tag, is
    /// asleep, and in a host function; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY and
    /// FERRUM_ERROR_OUT_OF_MEMORY as ferrum_vpool_alloc; FERRUM_ERROR_CORRUPTED
    /// when the contents of the file have changed, with its name and the offset;
    /// FERRUM_ERROR_IO; FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_INVALID_ARGUMENT.
    pub fn ferrum_vpool_wake(
        vpool: ferrum_vpool,
        config: *const ferrum_wake_config,
        report_out: *mut ferrum_wake_report,
    ) -> ferrum_status;

    /// Returns whether a tag of a virtual pool is asleep (1) or not (0).
    ///
    /// - `tag`: NULL or empty: whether the whole pool is asleep, with ranges that may
    ///   still be allocated.
    pub fn ferrum_vpool_is_asleep(
        vpool: ferrum_vpool,
        tag: *const c_char,
        asleep_out: *mut u32,
    ) -> ferrum_status;

    /// Puts a model, or ranges of it, to sleep, like ferrum_vpool_sleep. Other models
    /// may use its pages then. The guarantee of the model stays reserved for it.
    ///
    /// Returns also FERRUM_ERROR_MODEL_NOT_FOUND.
    pub fn ferrum_elastic_pool_sleep_model(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        config: *const ferrum_sleep_config,
        report_out: *mut ferrum_sleep_report,
    ) -> ferrum_status;

    /// Wakes a model, or ranges of it, like ferrum_vpool_wake. It gets its memory by the
    /// rules of ferrum_elastic_pool_alloc: within the limits, in turn, and also from
    /// models above their guarantees.
    ///
    /// Returns also FERRUM_ERROR_MODEL_NOT_FOUND.
    pub fn ferrum_elastic_pool_wake_model(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        config: *const ferrum_wake_config,
        report_out: *mut ferrum_wake_report,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_is_asleep, for a model.
    pub fn ferrum_elastic_pool_is_model_asleep(
        pool: ferrum_elastic_pool,
        model: *const c_char,
        tag: *const c_char,
        asleep_out: *mut u32,
    ) -> ferrum_status;

    /// Returns the pressure level for a capacity and a number of free bytes, computed
    /// with integers and without hysteresis. A capacity of 0 means unknown and gives
    /// LOW. More free bytes than the capacity count as an empty device.
    pub fn ferrum_pressure_level_of(
        profile: ferrum_pressure_profile,
        total_bytes: u64,
        free_bytes: u64,
        level_out: *mut ferrum_pressure_level,
    ) -> ferrum_status;

    /// Returns the pressure level for a ratio, 0 for empty and 1 for full, for callers
    /// that have only the ratio. A ratio above 1 counts as 1.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for a negative ratio or NaN.
    pub fn ferrum_pressure_from_utilization(
        profile: ferrum_pressure_profile,
        ratio: f64,
        level_out: *mut ferrum_pressure_level,
    ) -> ferrum_status;

    /// Creates a monitor without managers. It belongs to no device.
    ///
    /// The level of a device is the higher of two levels. The first is the level of
    /// total - free, with the monitor's profile; it falls only when the use is 1 % of
    /// the device below the bound of the level. The second is the level of the system,
    /// for host devices on Linux. It comes from the share of the last 10 s in which
    /// tasks waited for memory (/proc/pressure/memory, and memory.pressure of the
    /// process's control group): MEDIUM from 10 % of some tasks, HIGH from 40 % of some
    /// or 10 % of all, CRITICAL from 40 % of all; each level ends below half of its
    /// bound. It also comes from the counts in memory.events of the control group, for
    /// 10 s after an increase: high is MEDIUM, max is HIGH, oom and oom_kill are
    /// CRITICAL.
    ///
    /// - `config`: settings, or NULL for FERRUM_MONITOR_CONFIG_INIT.
    pub fn ferrum_monitor_create(
        config: *const ferrum_monitor_config,
        monitor_out: *mut ferrum_monitor,
    ) -> ferrum_status;

    /// Destroys a monitor. Its managers stay. The call waits for a running callback,
    /// unless it is called from inside that callback.
    pub fn ferrum_monitor_destroy(monitor: ferrum_monitor) -> ferrum_status;

    /// Adds a manager and its device to the monitor. The registration does not prevent
    /// the destruction of either. Destroying a manager removes it from the monitor
    /// before the destroy call returns. Several managers of one device count as one
    /// device.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS for a manager that is registered.
    pub fn ferrum_monitor_register(
        monitor: ferrum_monitor,
        manager: ferrum_manager,
    ) -> ferrum_status;

    /// Removes a manager. FERRUM_ERROR_NOT_FOUND when it is not registered.
    pub fn ferrum_monitor_unregister(
        monitor: ferrum_monitor,
        manager: ferrum_manager,
    ) -> ferrum_status;

    /// Removes all managers of a device. FERRUM_ERROR_NOT_FOUND when none is registered.
    pub fn ferrum_monitor_unregister_device(
        monitor: ferrum_monitor,
        device: ferrum_device,
    ) -> ferrum_status;

    /// Sets the receiver of changes from now on, in place of the former receiver; NULL
    /// removes it. The call waits for a running call of the former receiver, unless it
    /// comes from inside that receiver. The former receiver is not called afterwards.
    ///
    /// - `user_data`: passed to the callback; must stay valid while the callback is
    ///   set.
    pub fn ferrum_monitor_set_callback(
        monitor: ferrum_monitor,
        callback: ferrum_monitor_fn,
        user_data: *mut c_void,
    ) -> ferrum_status;

    /// Returns the pressure of all devices together.
    ///
    /// - `max_age_ns`: as for ferrum_device_get_recent_memory_info, also for the
    ///   reading of the system.
    pub fn ferrum_monitor_get_pressure(
        monitor: ferrum_monitor,
        max_age_ns: u64,
        pressure_out: *mut ferrum_monitor_pressure,
    ) -> ferrum_status;

    /// Returns the level of every device.
    ///
    /// - `levels_out`: room for capacity entries; may be NULL when capacity is 0.
    /// - `count_out`: number of devices.
    ///
    /// Returns FERRUM_ERROR_BUFFER_TOO_SMALL, with \*count_out set, when capacity is not
    /// 0 and too small.
    pub fn ferrum_monitor_get_levels(
        monitor: ferrum_monitor,
        max_age_ns: u64,
        levels_out: *mut ferrum_device_level,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the state of a monitor as JSON:
    ///
    /// {"profile": "standard", "pressure": {"level": "low", "weighted_level": "low",
    /// "devices": 1, "unknown": 0, "total_bytes": 0, "used_bytes": 0},
    /// "devices": \[{"id": "cpu:0", "managers": 1, "level": "low",
    /// "level_by_bytes": "low", "level_by_system": "low", "memory": {...},
    /// "error": null, "system": {
    /// "machine": {"some": {"avg10_hundredths": 0, "avg60_hundredths": 0,
    /// "avg300_hundredths": 0, "total_ns": 0}, "full": {...},
    /// "reason": null},
    /// "group": {"some": null, "full": null, "reason": {
    /// "status": "FERRUM_ERROR_UNSUPPORTED", "message": "..."}},
    /// "events": {"counts": {"low": 0, "high": 0, "max": 0, "oom": 0,
    /// "oom_kill": 0}, "reason": null},
    /// "high": {"bytes": null, "reason": null}}}\]}
    ///
    /// memory has the form of ferrum_snapshot_json; it is null when the device was never
    /// read. error has status and message when the latest query of the device failed.
    /// system is null for a device without one. The unit of hundredths is a hundredth of
    /// a percent of the time. bytes of high is null when there is no limit. Later
    /// versions may add fields.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_monitor_info_json(
        monitor: ferrum_monitor,
        max_age_ns: u64,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Defragments every registered manager, one after another, like
    /// ferrum_manager_defragment. It skips a manager that is destroyed meanwhile.
    ///
    /// - `collected_out`: room for capacity devices.
    /// - `count_out`: number of devices.
    ///
    /// Returns FERRUM_ERROR_BUFFER_TOO_SMALL, with \*count_out set and nothing done, when
    /// capacity is below the number of devices.
    pub fn ferrum_monitor_collect(
        monitor: ferrum_monitor,
        collected_out: *mut ferrum_collected,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Creates a built-in strategy.
    ///
    /// Every strategy except best_fit_original first removes devices that cannot serve
    /// the request: devices whose state is not known, devices without the memory type,
    /// devices with fewer free bytes than the size (plus the largest padding, where the
    /// request has a larger alignment than every block), and devices that the flags
    /// exclude. It then keeps the devices of the best tier and chooses one of them;
    /// among equal devices the first.
    ///
    /// "best_fit"     the largest 1 - waste - |use - 0.5| \* 0.5 + 0.2 / rank, with
    /// waste = (free - size) / total, use = used / total, and rank the
    /// position among the preferred devices (without one the last term
    /// is 0), in single precision; with unknown capacity waste and use
    /// are 0
    /// "best_fit_original"  the same formula over every device with enough free bytes,
    /// with its known defects: it fills a device up to the last byte
    /// and never chooses one of unknown capacity
    /// "spread"       the largest free share after the request, in millionths, plus
    /// 200000 / rank
    /// "pack"         the smallest free share, with the same bonus
    /// "round_robin"  the next device in the list; among the preferred devices, if
    /// one of them can serve the request
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND for an unknown name (the message lists the names).
    pub fn ferrum_placement_create(
        strategy: *const c_char,
        placement_out: *mut ferrum_placement,
    ) -> ferrum_status;

    /// Creates a strategy of the caller.
    ///
    /// - `name`: 1 to 63 bytes, different from the built-in names.
    /// - `user_data`: passed to the callback; must stay valid until the strategy is
    ///   destroyed.
    pub fn ferrum_placement_create_own(
        name: *const c_char,
        callback: ferrum_placement_fn,
        user_data: *mut c_void,
        placement_out: *mut ferrum_placement,
    ) -> ferrum_status;

    /// Destroys a strategy. The call waits for running calls of a callback, unless it
    /// comes from inside one.
    pub fn ferrum_placement_destroy(placement: ferrum_placement) -> ferrum_status;

    /// Returns the name of a strategy as text.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_placement_get_name(
        placement: ferrum_placement,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Chooses a device for a request, from readings that are no older than 0.1 s.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND when no device can serve the request; the message
    /// has the reason for each device.
    pub fn ferrum_placement_select(
        placement: ferrum_placement,
        request: *const ferrum_placement_request,
        device_out: *mut ferrum_device,
    ) -> ferrum_status;

    /// Returns the device that ferrum_placement_select would choose now, with the reason
    /// for each device, as JSON:
    ///
    /// {"strategy": "best_fit", "chosen": "cpu:0", "devices": \[{"id": "cpu:0",
    /// "chosen": true, "reason": "chosen", "score": 0.51, "tier": 0,
    /// "preferred_rank": 0, "needed_bytes": 0, "total_bytes": 0, "used_bytes": 0,
    /// "free_bytes": 0, "largest_free_bytes": 0, "level_after": "low"}\]}
    ///
    /// chosen is null when no device can serve the request, and score is null when there
    /// is none. reason is the name of the constant in lower case. The call does not
    /// advance round robin. It calls a callback of the caller's strategy.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_placement_explain_json(
        placement: ferrum_placement,
        request: *const ferrum_placement_request,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the size of the weights. With h = hidden_size, i = intermediate_size, n
    /// heads and kv key and value heads, each layer has 2h^2 + 2h(kv (h/n)) + 3hi + 2h
    /// elements, with h/n rounded down, and the rest has 2 vocab_size h + h elements.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT when num_heads is 0; FERRUM_ERROR_OVERFLOW.
    pub fn ferrum_estimate_model_memory(
        shape: *const ferrum_model_shape,
        bytes_out: *mut u64,
    ) -> ferrum_status;

    /// Returns the size of the keys and values of one sequence: 2 x num_layers x
    /// max_seq_len x num_kv_heads x head_dim x dtype_bytes.
    ///
    /// Returns FERRUM_ERROR_OVERFLOW.
    pub fn ferrum_estimate_kv_cache_memory(
        shape: *const ferrum_kv_cache_shape,
        bytes_out: *mut u64,
    ) -> ferrum_status;

    /// Returns the size of the weights, of the keys and values (with h/n elements in a
    /// head), and of the activations of one token, 2 x dtype_bytes x (h + 2i).
    ///
    /// Returns as ferrum_estimate_model_memory.
    pub fn ferrum_estimate_inference_memory(
        shape: *const ferrum_model_shape,
        estimate_out: *mut ferrum_inference_estimate,
    ) -> ferrum_status;

    /// Estimates the memory for serving a model, as JSON with the fields of
    /// docs/estimate.md. These are the fields of `ferrum-mem fit --json` without device
    /// and devices. Without free_bytes, the fields of the result are missing too (fits,
    /// free_bytes, left_bytes, missing_bytes, max_context, max_batch and their reasons).
    /// The longest context and the largest batch are exact.
    ///
    /// The call reads only headers of safetensors and GGUF files, never a tensor. It
    /// does not trust them: everything is bounded, and errors name the file and the
    /// field.
    ///
    /// - `path`: a folder with a config.json, safetensors files, or both, or with the
    ///   GGUF files of one model; a GGUF file, also one part of a split
    ///   model; a safetensors file or the index of several; or a
    ///   configuration. Shorter than FERRUM_PATH_MAX.
    /// - `request`: how the model will be served, or NULL for
    ///   FERRUM_ESTIMATE_REQUEST_INIT.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND, FERRUM_ERROR_PERMISSION_DENIED and
    /// FERRUM_ERROR_IO for the file; FERRUM_ERROR_INVALID_FORMAT for its
    /// content; FERRUM_ERROR_UNSUPPORTED for a GGUF file of another version or
    /// byte order, or with an unknown type; FERRUM_ERROR_INVALID_ARGUMENT for
    /// the request, also for a context beyond a model's table of positions and
    /// for a number of devices that does not divide the heads;
    /// FERRUM_ERROR_OVERFLOW.
    pub fn ferrum_estimate_file_json(
        path: *const c_char,
        request: *const ferrum_estimate_request,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// The same as ferrum_estimate_file_json, for the text of a config.json.
    ///
    /// - `config_text`: UTF-8, needs no NUL.
    /// - `config_bytes`: its length, at most 16 MiB.
    pub fn ferrum_estimate_config_json(
        config_text: *const c_char,
        config_bytes: usize,
        request: *const ferrum_estimate_request,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns ready-made settings. Needs no ferrum_init.
    pub fn ferrum_memory_config_preset(
        preset: ferrum_memory_preset,
        config_out: *mut ferrum_memory_config,
    ) -> ferrum_status;

    /// Checks settings. Needs no ferrum_init.
    ///
    /// Returns FERRUM_ERROR_INVALID_CONFIG with the name and the value of the setting,
    /// also for a preallocated size that does not fit into its bucket.
    pub fn ferrum_memory_config_check(config: *const ferrum_memory_config) -> ferrum_status;

    /// Computes the ratios of counters. Needs no ferrum_init.
    pub fn ferrum_memory_stats_ratios(
        stats: *const ferrum_memory_stats,
        ratios_out: *mut ferrum_memory_ratios,
    ) -> ferrum_status;

    /// Adds the counters of two pools. A sum that does not fit 64 bits is UINT64_MAX.
    /// The peak is the larger of the two peaks, which is a lower bound of the common
    /// peak. Needs no ferrum_init.
    pub fn ferrum_memory_stats_merge(
        stats: *const ferrum_memory_stats,
        other: *const ferrum_memory_stats,
        merged_out: *mut ferrum_memory_stats,
    ) -> ferrum_status;

    /// Returns counters as one line for people, with sizes in MB of 2^20 bytes. Needs no
    /// ferrum_init.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_memory_stats_text(
        stats: *const ferrum_memory_stats,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns an id that no buffer of the process has had. Ids increase from 1; 0 is no
    /// id. Needs no ferrum_init.
    pub fn ferrum_buffer_id_new(id_out: *mut u64) -> ferrum_status;

    /// Returns an id as text for messages: "Buffer#7". Needs no ferrum_init.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_buffer_id_text(
        buffer_id: u64,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Creates an empty tracker. It belongs to no device.
    pub fn ferrum_tracker_create(tracker_out: *mut ferrum_tracker) -> ferrum_status;

    /// Destroys a tracker.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE for the tracker of a manager or a pool, which
    /// ends with its owner. The caller cannot add, remove or clear entries of
    /// such a tracker either.
    pub fn ferrum_tracker_destroy(tracker: ferrum_tracker) -> ferrum_status;

    /// Adds a buffer that was created age_ns ago. An entry with the same id is replaced.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for id 0, an unknown location, a tag
    /// without a NUL or a tag that is not UTF-8; FERRUM_ERROR_OVERFLOW when the
    /// sum of all sizes does not fit 64 bits.
    pub fn ferrum_tracker_track(
        tracker: ferrum_tracker,
        metadata: *const ferrum_buffer_metadata,
    ) -> ferrum_status;

    /// Removes a buffer.
    ///
    /// - `metadata_out`: the removed entry; may be NULL.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND for an unknown buffer.
    pub fn ferrum_tracker_untrack(
        tracker: ferrum_tracker,
        buffer_id: u64,
        metadata_out: *mut ferrum_buffer_metadata,
    ) -> ferrum_status;

    /// Returns the entry of a buffer. FERRUM_ERROR_NOT_FOUND for an unknown buffer.
    pub fn ferrum_tracker_get(
        tracker: ferrum_tracker,
        buffer_id: u64,
        metadata_out: *mut ferrum_buffer_metadata,
    ) -> ferrum_status;

    /// Lists all buffers, the oldest first.
    ///
    /// - `metadata_out`: room for capacity entries; may be NULL when capacity is 0.
    /// - `count_out`: number of entries.
    ///
    /// Returns FERRUM_ERROR_BUFFER_TOO_SMALL, with \*count_out set, when capacity is not
    /// 0 and too small.
    pub fn ferrum_tracker_get_all(
        tracker: ferrum_tracker,
        metadata_out: *mut ferrum_buffer_metadata,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Lists the buffers that are older than age_ns, like ferrum_tracker_get_all:
    /// buffers that may be leaks.
    pub fn ferrum_tracker_find_old(
        tracker: ferrum_tracker,
        age_ns: u64,
        metadata_out: *mut ferrum_buffer_metadata,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the numbers of a tracker.
    pub fn ferrum_tracker_get_totals(
        tracker: ferrum_tracker,
        totals_out: *mut ferrum_tracker_totals,
    ) -> ferrum_status;

    /// Removes all entries. The peak stays.
    pub fn ferrum_tracker_clear(tracker: ferrum_tracker) -> ferrum_status;

    /// Creates a cache of free buffers of any kind. The pool creates and destroys no
    /// buffers: the caller does, and gives the pool a value for each buffer. A buffer
    /// belongs to the bucket of the smallest power of two that is not below its size. A
    /// buffer serves requests from a quarter of its size up to its size. Settings for
    /// the device have no effect. The pool belongs to no device.
    ///
    /// - `config`: settings, or NULL for FERRUM_MEMORY_CONFIG_INIT.
    pub fn ferrum_generic_pool_create(
        config: *const ferrum_memory_config,
        pool_out: *mut ferrum_generic_pool,
    ) -> ferrum_status;

    /// Destroys a pool. It does not destroy the free buffers: remove them first.
    ///
    /// - `flags`: 0 or FERRUM_FORCE.
    ///
    /// Returns FERRUM_ERROR_BUSY, and nothing has changed, while the pool has free
    /// buffers or buffers are in use, unless forced.
    pub fn ferrum_generic_pool_destroy(pool: ferrum_generic_pool, flags: u32) -> ferrum_status;

    /// Records a buffer in use that the caller created because there was no free one.
    ///
    /// - `use`: details, or NULL for FERRUM_BUFFER_USE_INIT.
    /// - `id_out`: 0 unless the pool tracks.
    ///
    /// Returns FERRUM_ERROR_INVALID_SIZE for 0; FERRUM_ERROR_OVERFLOW.
    pub fn ferrum_generic_pool_record_allocation(
        pool: ferrum_generic_pool,
        size_bytes: u64,
        r#use: *const ferrum_buffer_use,
        id_out: *mut u64,
    ) -> ferrum_status;

    /// Returns the smallest free buffer that serves the request, and marks it as in use.
    ///
    /// - `use`: as for ferrum_generic_pool_record_allocation.
    /// - `lease_out`: the buffer; all zero when there is none.
    /// - `found_out`: 1, or 0 when there is none: the caller then creates one.
    ///
    /// Returns FERRUM_ERROR_INVALID_SIZE for 0; FERRUM_ERROR_OVERFLOW for a size above
    /// the largest power of two.
    pub fn ferrum_generic_pool_try_get(
        pool: ferrum_generic_pool,
        min_bytes: u64,
        r#use: *const ferrum_buffer_use,
        lease_out: *mut ferrum_buffer_lease,
        found_out: *mut u32,
    ) -> ferrum_status;

    /// Ends the use of a buffer. The size and the id must be those of its recording or
    /// of its lease.
    ///
    /// - `kept_out`: 1; or 0 when its bucket is full: the pool does not keep the
    ///   buffer, and the caller has to destroy it.
    ///
    /// Returns FERRUM_ERROR_INVALID_SIZE for 0 and for more than is in use;
    /// FERRUM_ERROR_INVALID_ARGUMENT for an id that is not in use or has another
    /// size.
    pub fn ferrum_generic_pool_return(
        pool: ferrum_generic_pool,
        lease: *const ferrum_buffer_lease,
        kept_out: *mut u32,
    ) -> ferrum_status;

    /// Adds a free buffer that was never used. FERRUM_ERROR_RESOURCE_EXHAUSTED when its
    /// bucket is full.
    pub fn ferrum_generic_pool_add_free(
        pool: ferrum_generic_pool,
        buffer: u64,
        size_bytes: u64,
    ) -> ferrum_status;

    /// Removes free buffers from the pool, so that the caller can destroy them: all of
    /// them if capacity is at least ferrum_generic_pool_get_pooled_count.
    ///
    /// - `leases_out`: room for capacity buffers; may be NULL when capacity is 0.
    /// - `count_out`: number of removed buffers.
    pub fn ferrum_generic_pool_drain(
        pool: ferrum_generic_pool,
        leases_out: *mut ferrum_buffer_lease,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the number of free buffers.
    pub fn ferrum_generic_pool_get_pooled_count(
        pool: ferrum_generic_pool,
        count_out: *mut u64,
    ) -> ferrum_status;

    /// Returns the counters of a pool.
    pub fn ferrum_generic_pool_get_stats(
        pool: ferrum_generic_pool,
        stats_out: *mut ferrum_memory_stats,
    ) -> ferrum_status;

    /// Counts a request that the caller served on the host.
    pub fn ferrum_generic_pool_record_cpu_fallback(pool: ferrum_generic_pool) -> ferrum_status;

    /// Returns the tracker of a pool, for reading only. FERRUM_ERROR_INVALID_STATE when
    /// the pool does not track.
    pub fn ferrum_generic_pool_get_tracker(
        pool: ferrum_generic_pool,
        tracker_out: *mut ferrum_tracker,
    ) -> ferrum_status;

    /// Creates a fallback manager on a device of any backend.
    ///
    /// - `host`: the device for buffers when the first device has no room. It must be
    ///   another device with FERRUM_CAPABILITY_HOST_ADDRESSABLE; {0} only
    ///   with settings that do not allow a fallback. Neither device can be
    ///   closed without force before the manager is destroyed.
    /// - `config`: settings, or NULL for FERRUM_MEMORY_CONFIG_INIT.
    ///
    /// Returns FERRUM_ERROR_INVALID_CONFIG, also without a required host;
    /// FERRUM_ERROR_INVALID_ARGUMENT for a host that is the device itself or
    /// that the process cannot address; FERRUM_ERROR_OUT_OF_MEMORY for the
    /// preallocated buffers.
    pub fn ferrum_fallback_manager_create(
        device: ferrum_device,
        host: ferrum_device,
        config: *const ferrum_memory_config,
        manager_out: *mut ferrum_fallback_manager,
    ) -> ferrum_status;

    /// Destroys a fallback manager and releases its memory on both devices.
    ///
    /// - `flags`: 0, or FERRUM_FORCE: also ends live buffers, pinned or not.
    ///
    /// Returns FERRUM_ERROR_BUSY, and nothing has changed, while buffers are live or the
    /// caller holds storage, unless forced.
    pub fn ferrum_fallback_manager_destroy(
        manager: ferrum_fallback_manager,
        flags: u32,
    ) -> ferrum_status;

    /// Returns the name of the device's backend as text, such as "cpu" or "cuda".
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_fallback_manager_get_backend_name(
        manager: ferrum_fallback_manager,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the counters of a fallback manager. They count the buffers on the device;
    /// only active_buffers counts both sides. Takes no lock.
    pub fn ferrum_fallback_manager_get_stats(
        manager: ferrum_fallback_manager,
        stats_out: *mut ferrum_memory_stats,
    ) -> ferrum_status;

    /// Returns the counters of a fallback manager for the host.
    pub fn ferrum_fallback_manager_get_fallback_stats(
        manager: ferrum_fallback_manager,
        stats_out: *mut ferrum_fallback_stats,
    ) -> ferrum_status;

    /// Queries the memory of the device.
    ///
    /// - `total_out`: the capacity, or the limit of the device if that is less; 0
    ///   means unknown.
    /// - `free_out`: bytes that can still be allocated from the device. Free buffers
    ///   in buckets do not count as free here.
    pub fn ferrum_fallback_manager_get_memory(
        manager: ferrum_fallback_manager,
        total_out: *mut u64,
        free_out: *mut u64,
    ) -> ferrum_status;

    /// Returns the present level of the device by FERRUM_PRESSURE_PROFILE_EARLY.
    pub fn ferrum_fallback_manager_get_pressure(
        manager: ferrum_fallback_manager,
        level_out: *mut ferrum_pressure_level,
    ) -> ferrum_status;

    /// The same as ferrum_device_pressure_callback_add for the device of a fallback
    /// manager, by FERRUM_PRESSURE_PROFILE_EARLY.
    pub fn ferrum_fallback_manager_pressure_callback_add(
        manager: ferrum_fallback_manager,
        callback: ferrum_pressure_fn,
        user_data: *mut c_void,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Empties the buckets. The memory can then be allocated for buffers of any size,
    /// and may still be held from the device.
    pub fn ferrum_fallback_manager_clear_pool(manager: ferrum_fallback_manager) -> ferrum_status;

    /// Empties the buckets and releases free memory on both sides.
    ///
    /// - `released_out`: number of bytes released to the device.
    pub fn ferrum_fallback_manager_shrink(
        manager: ferrum_fallback_manager,
        released_out: *mut u64,
    ) -> ferrum_status;

    /// Returns the tracker of a fallback manager, for reading only, with the buffers of
    /// both sides. FERRUM_ERROR_INVALID_STATE when the manager does not track.
    pub fn ferrum_fallback_manager_get_tracker(
        manager: ferrum_fallback_manager,
        tracker_out: *mut ferrum_tracker,
    ) -> ferrum_status;

    /// Creates a buffer. Its contents are not defined.
    ///
    /// Returns FERRUM_ERROR_INVALID_SIZE for no elements; FERRUM_ERROR_OVERFLOW;
    /// FERRUM_ERROR_OUT_OF_MEMORY when no allowed side has room;
    /// FERRUM_ERROR_INVALID_STATE for FERRUM_PLACE_CPU with a manager without
    /// fallback.
    pub fn ferrum_fallback_manager_alloc(
        manager: ferrum_fallback_manager,
        request: *const ferrum_buffer_request,
        buffer_out: *mut ferrum_fallback_buffer,
    ) -> ferrum_status;

    /// Moves the buffers that fell back to the device, the oldest first, until the
    /// device has no room for the next one. Pinned buffers stay, and no memory is
    /// reclaimed for it. The addresses of buffers that are not pinned may change. The
    /// call moves none while another thread does the same.
    ///
    /// - `moved_out`: number of moved buffers.
    pub fn ferrum_fallback_manager_return_buffers(
        manager: ferrum_fallback_manager,
        moved_out: *mut u64,
    ) -> ferrum_status;

    /// Destroys a buffer after the work that is queued on a stream of the device. The
    /// manager may then move movable buffers back to the device, which waits for the
    /// device's default stream.
    ///
    /// - `stream`: optional.
    ///
    /// Returns FERRUM_ERROR_BUSY while the buffer is pinned.
    pub fn ferrum_fallback_buffer_free(
        buffer: ferrum_fallback_buffer,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Describes a buffer.
    pub fn ferrum_fallback_buffer_get_info(
        buffer: ferrum_fallback_buffer,
        info_out: *mut ferrum_fallback_buffer_info,
    ) -> ferrum_status;

    /// Returns the address of a buffer on a side. FERRUM_ERROR_INVALID_STATE when the
    /// buffer is on the other side.
    pub fn ferrum_fallback_buffer_get_address(
        buffer: ferrum_fallback_buffer,
        location: ferrum_buffer_location,
        address_out: *mut ferrum_address,
    ) -> ferrum_status;

    /// Moves a buffer after the work that is queued on the device's default stream. It
    /// does nothing when the buffer is already on that side. A buffer that was moved to
    /// the host by this call stays there. After a failed call the buffer is unchanged.
    ///
    /// Returns FERRUM_ERROR_BUSY while the buffer is pinned; FERRUM_ERROR_OUT_OF_MEMORY;
    /// FERRUM_ERROR_INVALID_STATE for the host with a manager without fallback,
    /// and in a host function.
    pub fn ferrum_fallback_buffer_move(
        buffer: ferrum_fallback_buffer,
        location: ferrum_buffer_location,
    ) -> ferrum_status;

    /// Keeps a buffer at its place until it has been unpinned as often as it was pinned.
    ///
    /// - `address_out`: its address; may be NULL.
    /// - `location_out`: its side; may be NULL.
    pub fn ferrum_fallback_buffer_pin(
        buffer: ferrum_fallback_buffer,
        address_out: *mut ferrum_address,
        location_out: *mut ferrum_buffer_location,
    ) -> ferrum_status;

    /// Undoes one ferrum_fallback_buffer_pin. FERRUM_ERROR_INVALID_STATE when the
    /// buffer is not pinned.
    pub fn ferrum_fallback_buffer_unpin(buffer: ferrum_fallback_buffer) -> ferrum_status;

    /// Copies memory of the process into a buffer on either side, after the work that is
    /// queued on the default stream of that side, and returns when the copy has
    /// completed.
    ///
    /// Returns FERRUM_ERROR_INVALID_SIZE for no bytes; FERRUM_ERROR_INVALID_OFFSET for a
    /// range that leaves the buffer; FERRUM_ERROR_INVALID_STATE in a host
    /// function.
    pub fn ferrum_fallback_buffer_write(
        buffer: ferrum_fallback_buffer,
        offset_bytes: u64,
        source: *const c_void,
        size_bytes: u64,
    ) -> ferrum_status;

    /// Copies from a buffer into memory of the process; otherwise the same as
    /// ferrum_fallback_buffer_write.
    pub fn ferrum_fallback_buffer_read(
        buffer: ferrum_fallback_buffer,
        offset_bytes: u64,
        destination: *mut c_void,
        size_bytes: u64,
    ) -> ferrum_status;

    /// Ends a buffer on a side and passes its storage to the caller. The caller releases
    /// the storage with ferrum_fallback_manager_release, or creates another buffer from
    /// it with ferrum_fallback_manager_adopt.
    ///
    /// Returns FERRUM_ERROR_BUSY while the buffer is pinned; FERRUM_ERROR_INVALID_STATE
    /// when it is on the other side.
    pub fn ferrum_fallback_buffer_take(
        buffer: ferrum_fallback_buffer,
        location: ferrum_buffer_location,
        address_out: *mut ferrum_address,
    ) -> ferrum_status;

    /// Creates a buffer from storage that was taken from a buffer of the same manager.
    ///
    /// - `request`: its place and stream are not used.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for an unknown location;
    /// FERRUM_ERROR_INVALID_ADDRESS for an address without such storage;
    /// FERRUM_ERROR_INVALID_SIZE when the storage is smaller than the elements.
    pub fn ferrum_fallback_manager_adopt(
        manager: ferrum_fallback_manager,
        location: ferrum_buffer_location,
        address: ferrum_address,
        request: *const ferrum_buffer_request,
        buffer_out: *mut ferrum_fallback_buffer,
    ) -> ferrum_status;

    /// Releases taken storage after the work that is queued on a stream of the device,
    /// which is optional. FERRUM_ERROR_INVALID_ARGUMENT for an unknown location;
    /// FERRUM_ERROR_INVALID_ADDRESS for an address without such storage.
    pub fn ferrum_fallback_manager_release(
        manager: ferrum_fallback_manager,
        location: ferrum_buffer_location,
        address: ferrum_address,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Returns the smallest power of two that is not below n; 1 for 0.
    ///
    /// Returns FERRUM_ERROR_OVERFLOW above 2^63.
    pub fn ferrum_round_up_power_of_2(n: u64, result_out: *mut u64) -> ferrum_status;

    /// Returns the bucket of a size: the next power of two, like
    /// ferrum_round_up_power_of_2.
    pub fn ferrum_size_class(size_bytes: u64, class_bytes_out: *mut u64) -> ferrum_status;

    /// Returns the size of a number of 32-bit floats. FERRUM_ERROR_OVERFLOW when it does
    /// not fit 64 bits.
    pub fn ferrum_f32_bytes(count: u64, bytes_out: *mut u64) -> ferrum_status;

    /// The same as ferrum_f32_bytes, for 16-bit floats.
    pub fn ferrum_f16_bytes(count: u64, bytes_out: *mut u64) -> ferrum_status;

    /// Maps a range of a block for the host. The call waits for the queued work of the
    /// streams that have used the block. On a device that the host can address, and for
    /// page-locked memory, the pointer is to the block itself. On any other device it is
    /// to a staging copy, which ferrum_memory_unmap writes back; it is not written back
    /// for FERRUM_HOST_READ_ONLY.
    ///
    /// A second call for the same range with the same access returns the same mapping.
    /// That mapping ends with as many calls of ferrum_memory_unmap. A mapping for
    /// reading may overlap a mapping for writing. If both are the block itself, the
    /// reader sees the written bytes; otherwise it sees them only after
    /// ferrum_memory_unmap. While a block is mapped, it is neither moved nor freed. Work
    /// may be queued on it; the program has to order that work and its own accesses.
    ///
    /// Returns FERRUM_ERROR_BUSY for a range for writing that overlaps another mapping
    /// for writing; FERRUM_ERROR_INVALID_OFFSET when the range leaves the block;
    /// FERRUM_ERROR_OVERFLOW when offset + size does not fit 64 bits;
    /// FERRUM_ERROR_OUT_OF_MEMORY when the host has no memory for a staging
    /// copy.
    pub fn ferrum_memory_map(
        request: *const ferrum_map_request,
        mapping_out: *mut ferrum_mapping,
    ) -> ferrum_status;

    /// Undoes one ferrum_memory_map. The last call for a mapping for writing with a
    /// staging copy writes the copy back, and returns when that has completed. If it
    /// fails, the mapping stays as it was. Destroying the manager with FERRUM_FORCE ends
    /// mappings without writing back.
    ///
    /// - `mapping_id`: the number in ferrum_mapping; 0: the newest mapping of the
    ///   block.
    ///
    /// Returns FERRUM_ERROR_NOT_MAPPED for a block without such a mapping.
    pub fn ferrum_memory_unmap(memory: ferrum_memory, mapping_id: u64) -> ferrum_status;

    /// Allocates two blocks of FERRUM_MEMORY_MAPPED, for managers of two devices, that
    /// are the same memory. What one device writes, the other reads; streams and events
    /// give the order. The counters of the first manager contain the memory. It is
    /// released to the first manager when both blocks are freed, in either order.
    /// Destroying the first manager with FERRUM_FORCE ends both blocks.
    ///
    /// - `first_out,second_out`: the blocks of the first and the second manager.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for two managers of one device;
    /// FERRUM_ERROR_UNSUPPORTED for devices that cannot address the same memory;
    /// otherwise as ferrum_manager_alloc_with.
    pub fn ferrum_manager_create_mapping(
        first: ferrum_manager,
        second: ferrum_manager,
        request: *const ferrum_link_request,
        first_out: *mut ferrum_memory,
        second_out: *mut ferrum_memory,
    ) -> ferrum_status;

    /// Queues a prefetch of a block to a device that will use it, and returns. The
    /// contents stay the same. A prefetch is not counted as an access. On the host, the
    /// system allocates the physical memory of the block. On other devices,
    /// FERRUM_MEMORY_MANAGED migrates to the target (a host device means the host);
    /// other memory stays.
    ///
    /// - `target`: the block's own device, or another.
    /// - `stream`: a stream of the block's device; {0}: its default stream.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for a device that the block cannot migrate to.
    pub fn ferrum_memory_prefetch(
        memory: ferrum_memory,
        target: ferrum_device,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Stores a hint with a block, in place of an earlier hint of the same group.
    /// FERRUM_USAGE_NONE removes all hints. Programs read hints with
    /// ferrum_memory_get_usage_hints. The library itself uses them only for
    /// FERRUM_MEMORY_MANAGED: it passes FERRUM_USAGE_READ_MOSTLY (each reader may have a
    /// copy) and FERRUM_USAGE_RESIDENT (the memory stays at the device) to the device.
    /// If the device rejects one, the hints stay as they were.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for an unknown hint.
    pub fn ferrum_memory_set_usage_hint(
        memory: ferrum_memory,
        hint: ferrum_usage_hint,
    ) -> ferrum_status;

    /// Returns the hints of a block.
    pub fn ferrum_memory_get_usage_hints(
        memory: ferrum_memory,
        hints_out: *mut ferrum_usage_hints,
    ) -> ferrum_status;

    /// Returns the access statistics of a block. Only managers with enable_tracking
    /// record them; other managers have no cost for them.
    ///
    /// A copy counts as a read of its source and a write of its destination, at the time
    /// it is queued. A mapping counts as a read when it begins, if it reads, and as a
    /// write when it ends, if it writes. Accesses of the program through an address are
    /// not counted.
    ///
    /// The pattern comes from the last 16 steps. A step is from one access to the next
    /// of the same kind, read or write. With fewer than 4 steps the pattern is UNKNOWN.
    /// A step is in order when an access starts where the previous one of its kind
    /// ended, or at the start of the block after one that ended at the end of the block.
    /// A pause is a step whose access came at least 1 ms after the previous access, and
    /// after at least 10 times the median of all steps. Two or more pauses, in at most a
    /// quarter of the steps, are a burst. Three quarters or more in order are
    /// SEQUENTIAL, a quarter or less are RANDOM. Bursts that are sequential, and
    /// everything else, are MIXED; other bursts are BURST.
    pub fn ferrum_memory_get_access_stats(
        memory: ferrum_memory,
        stats_out: *mut ferrum_access_stats,
    ) -> ferrum_status;

    /// Gives a handle to external memory. The block is used like any other block and
    /// counts as live. It is in the counters of no pool, and it is never moved or freed:
    /// ferrum_memory_free only ends the handle, and returns FERRUM_ERROR_BUSY while
    /// queued work uses the block. The memory must stay valid until then. Destroying the
    /// manager with FERRUM_FORCE waits for that work.
    ///
    /// A device with FERRUM_CAPABILITY_REGISTERED_MEMORY page-locks memory of the
    /// process that is adopted as FERRUM_MEMORY_PINNED or FERRUM_MEMORY_MAPPED, as long
    /// as the handle exists. ferrum_handle_info has its address on the device. Memory
    /// that is already page-locked is used as it is.
    ///
    /// Returns FERRUM_ERROR_INVALID_ADDRESS for memory that the process cannot read
    /// throughout, or cannot write throughout unless is_read_only is set, as far
    /// as the library can find out, and for memory that the device cannot
    /// page-lock; FERRUM_ERROR_ALREADY_EXISTS for memory that the device has
    /// already; FERRUM_ERROR_INVALID_SIZE, FERRUM_ERROR_OVERFLOW,
    /// FERRUM_ERROR_UNSUPPORTED.
    pub fn ferrum_manager_adopt(
        manager: ferrum_manager,
        adoption: *const ferrum_adoption,
        memory_out: *mut ferrum_memory,
    ) -> ferrum_status;

    /// Gives a handle to an external stream, for every call that takes a stream. Calls
    /// that wait for the stream also wait for the work that its owner queued there. Only
    /// ferrum_stream_is_ready covers just the work that was queued through the handle.
    ///
    /// ferrum_stream_destroy waits for the work that was queued through the handle, with
    /// FERRUM_FORCE also for the work that its owner has queued by then. It does not
    /// destroy the external stream. The stream and user_data must stay valid until then.
    /// Memory that belongs to the stream, or was recorded for it, and is freed later
    /// waits for the work that its owner had queued when the handle was destroyed. On a
    /// host device, enqueue is called a last time for that, and this work may run after
    /// ferrum_stream_destroy has returned. If enqueue returns an error, the queue is
    /// taken as empty. If a stream never calls the work, the library waits for it
    /// forever.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for a device that cannot do it, and for a handle
    /// that means another queue on each thread, such as CUDA's 2: memory that
    /// one thread frees could be allocated on another thread at once.
    /// FERRUM_ERROR_NULL_POINTER without enqueue on a host device.
    pub fn ferrum_stream_adopt(
        device: ferrum_device,
        foreign: *const ferrum_foreign_stream,
        stream_out: *mut ferrum_stream,
    ) -> ferrum_status;

    /// Gives a handle to an external event, for every call that takes an event. The
    /// handle stands for the latest recording by the owner, and has no time.
    ///
    /// ferrum_event_destroy does not destroy the external event, which must stay valid
    /// until then.
    ///
    /// The library does not query the event at the runtime here, because that would
    /// invalidate a capture in which the event was recorded. For the same reason
    /// ferrum_event_is_ready and ferrum_event_synchronize return
    /// FERRUM_ERROR_INVALID_STATE while a stream captures that the library knows. The
    /// library cannot know of other captures: do not call these functions for an event
    /// that was recorded in such a capture.
    ///
    /// - `native_handle`: handle in the runtime of the device's vendor, such as a
    ///   CUevent. An invalid handle may end the process inside the vendor's
    ///   library.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for a device that cannot do it, such as host
    /// devices; FERRUM_ERROR_INVALID_ARGUMENT for 0.
    pub fn ferrum_event_adopt(
        device: ferrum_device,
        native_handle: u64,
        event_out: *mut ferrum_event,
    ) -> ferrum_status;

    /// Opens a device on a context that the program created in the runtime of the
    /// device's vendor, such as a CUcontext. The program must keep the context until the
    /// device is closed. The library uses only this context for the device, and closing
    /// the device does not destroy it. ferrum_device_open of a device that is open
    /// returns its handle, with either kind of context.
    ///
    /// - `id`: as for ferrum_device_open.
    /// - `native_context`: the handle as a number, not 0. An invalid handle may end
    ///   the process inside the vendor's library.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS for a device that is open on another context;
    /// FERRUM_ERROR_INVALID_ARGUMENT for a context of another device, or one
    /// that was destroyed; FERRUM_ERROR_UNSUPPORTED for a backend without
    /// contexts.
    pub fn ferrum_device_open_native(
        id: *const c_char,
        native_context: u64,
        device_out: *mut ferrum_device,
    ) -> ferrum_status;

    /// Returns the context that the library uses for a device, such as the CUcontext.
    /// The library owns it, and destroys it when the device is closed.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for a backend without such handles.
    pub fn ferrum_device_get_native(device: ferrum_device, native_out: *mut u64) -> ferrum_status;

    /// The same as ferrum_device_get_native, for a stream: for example the CUstream.
    pub fn ferrum_stream_get_native(stream: ferrum_stream, native_out: *mut u64) -> ferrum_status;

    /// The same as ferrum_device_get_native, for an event: for example the CUevent,
    /// which has been recorded. The program may wait for it, and must not record it
    /// again.
    pub fn ferrum_event_get_native(event: ferrum_event, native_out: *mut u64) -> ferrum_status;

    /// Allows work of another device, such as a kernel that the library does not know
    /// of, to use the memory of a device: its allocations, and memory that is mapped in
    /// virtual memory now and later, with the access rights of the device itself. The
    /// access ends when one of the devices is closed. On devices whose memory the
    /// process can address, the call has no effect.
    ///
    /// - `peer`: the device that gets the access.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED when the peer cannot reach the memory of the
    /// device; FERRUM_ERROR_INVALID_ARGUMENT for the device itself.
    pub fn ferrum_device_grant_peer(device: ferrum_device, peer: ferrum_device) -> ferrum_status;

    /// Creates a file descriptor for each page of a range of a virtual pool with
    /// FERRUM_BACKING_SHAREABLE, in order: for all pages, or for none on failure. The
    /// caller closes them. Another process gets the descriptors through a socket or by
    /// inheritance, and maps the same memory with ferrum_manager_import_pages. The
    /// memory is released to the system when no process uses it.
    ///
    /// When the range is freed, its pages stay in the pool, which reuses them for its
    /// next ranges. Importing processes must free their blocks before that.
    ///
    /// - `offset_bytes,size_bytes`: whole pages, all of them mapped.
    /// - `descriptors_out`: room for capacity descriptors; may be NULL when capacity
    ///   is 0.
    /// - `count_out`: number of pages.
    ///
    /// Returns FERRUM_ERROR_BUFFER_TOO_SMALL, with \*count_out set and no descriptor
    /// created, when capacity is too small; FERRUM_ERROR_INVALID_ARGUMENT for a
    /// pool with another backing; FERRUM_ERROR_INVALID_OFFSET,
    /// FERRUM_ERROR_INVALID_SIZE, FERRUM_ERROR_NOT_MAPPED.
    pub fn ferrum_vpool_export(
        vpool: ferrum_vpool,
        offset_bytes: u64,
        size_bytes: u64,
        descriptors_out: *mut i32,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// The same as ferrum_vpool_export, with fabric handles: bytes that name the pages
    /// also for processes on other hosts, as far as a fabric connects them (NVLink
    /// between hosts). They can be sent in any way and need not be closed. A handle does
    /// not keep the memory allocated. For a pool with FERRUM_BACKING_FABRIC.
    ///
    /// - `offset_bytes,size_bytes`: whole pages, all of them mapped.
    /// - `handles_out`: room for capacity bytes; may be NULL when capacity is 0. Each
    ///   page has FERRUM_FABRIC_HANDLE_BYTES bytes, in order.
    /// - `count_out`: number of bytes.
    ///
    /// Returns FERRUM_ERROR_BUFFER_TOO_SMALL, with \*count_out set and no handle created,
    /// when capacity is too small; FERRUM_ERROR_INVALID_ARGUMENT for a pool with
    /// another backing; FERRUM_ERROR_INVALID_OFFSET, FERRUM_ERROR_INVALID_SIZE,
    /// FERRUM_ERROR_NOT_MAPPED.
    pub fn ferrum_vpool_export_fabric(
        vpool: ferrum_vpool,
        offset_bytes: u64,
        size_bytes: u64,
        handles_out: *mut u8,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Maps pages of another process, or of this one, as a readable and writable block
    /// at an address of the manager's device (ferrum_memory_get_handle_info). The block
    /// is used like any other block and counts as adopted memory. ferrum_memory_free
    /// ends it, and returns FERRUM_ERROR_BUSY while queued work uses it. One descriptor or
    /// handle can be imported several times. Only the process that created the pages can
    /// export them.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for no pages, for descriptors and handles
    /// at once, for a descriptor that is closed, is not of exported memory or is
    /// of another device's memory, and for a handle that names no memory;
    /// FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_UNSUPPORTED for a device
    /// without FERRUM_CAPABILITY_EXPORTED_PAGES, or for handles without
    /// FERRUM_CAPABILITY_FABRIC_PAGES.
    pub fn ferrum_manager_import_pages(
        manager: ferrum_manager,
        pages: *const ferrum_page_import,
        memory_out: *mut ferrum_memory,
    ) -> ferrum_status;

    /// Describes a range of plain device memory for other processes, with the vendor's
    /// handles (CUDA's IPC). Memory of paged pools has no such handle: use
    /// ferrum_vpool_export, or a pool with FERRUM_PAGING_OFF, which has plain memory.
    /// The memory stays allocated while other processes have it open.
    ///
    /// Returns FERRUM_ERROR_INVALID_ADDRESS for a range that is not inside one segment;
    /// FERRUM_ERROR_UNSUPPORTED for a device without
    /// FERRUM_CAPABILITY_SHARED_MEMORY.
    pub fn ferrum_device_share_memory(
        device: ferrum_device,
        address: ferrum_address,
        size_bytes: u64,
        shared_out: *mut ferrum_shared_memory,
    ) -> ferrum_status;

    /// Opens memory that another process shared, as a block. The block is used like any
    /// other block and counts as adopted memory. ferrum_memory_free ends it, and returns
    /// FERRUM_ERROR_BUSY while queued work uses it.
    ///
    /// - `tag`: name for the counters, at most 63 bytes; NULL: none.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for memory that does not exist any more,
    /// and for bytes that name no memory; FERRUM_ERROR_INVALID_STATE for memory
    /// of this process; FERRUM_ERROR_INVALID_SIZE for a range beyond the memory;
    /// FERRUM_ERROR_ALREADY_EXISTS for memory that is open already.
    pub fn ferrum_manager_import_memory(
        manager: ferrum_manager,
        shared: *const ferrum_shared_memory,
        tag: *const c_char,
        memory_out: *mut ferrum_memory,
    ) -> ferrum_status;

    /// Records an event that other processes can open. It is kept until they have opened
    /// it.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for a device without
    /// FERRUM_CAPABILITY_SHARED_MEMORY.
    pub fn ferrum_event_share(
        stream: ferrum_stream,
        shared_out: *mut ferrum_shared_event,
        event_out: *mut ferrum_event,
    ) -> ferrum_status;

    /// Gives a handle to an event that another process shared, for every call that takes
    /// an event.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for an event that does not exist any more,
    /// and for bytes that name no event; FERRUM_ERROR_INVALID_STATE for an event
    /// of this process.
    pub fn ferrum_event_open(
        device: ferrum_device,
        shared: *const ferrum_shared_event,
        event_out: *mut ferrum_event,
    ) -> ferrum_status;

    /// Opens a source and reads its headers. The files stay open. So a later load reads the
    /// same files, even if another file has replaced one under its name.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND, FERRUM_ERROR_PERMISSION_DENIED and FERRUM_ERROR_IO
    /// for a file; FERRUM_ERROR_INVALID_FORMAT for its content;
    /// FERRUM_ERROR_UNSUPPORTED for a part of a format that the library does not
    /// read, and for sources that need the network; FERRUM_ERROR_INVALID_ARGUMENT
    /// for the settings, and for a file of a format that source does not accept.
    pub fn ferrum_weights_open(
        source: *const ferrum_weights_source,
        weights_out: *mut ferrum_weights,
    ) -> ferrum_status;

    /// Opens a source and closes it again. Returns FERRUM_OK if the source can be loaded,
    /// otherwise the error of ferrum_weights_open.
    pub fn ferrum_weights_check(source: *const ferrum_weights_source) -> ferrum_status;

    /// Closes a source. Sets keep their tensors.
    ///
    /// - `flags`: 0 or FERRUM_FORCE: loads and other calls that read the source are
    ///   cancelled, and the call waits for them.
    ///
    /// Returns FERRUM_ERROR_BUSY while a load or another call reads the source;
    /// FERRUM_ERROR_INVALID_STATE for FERRUM_FORCE from a progress callback of
    /// such a load or call.
    pub fn ferrum_weights_close(weights: ferrum_weights, flags: u32) -> ferrum_status;

    /// Returns the content of the source, as JSON with the fields of docs/weights.md:
    /// format, total_size_bytes, dtypes, tensors with their shapes, and extra.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_weights_metadata_json(
        weights: ferrum_weights,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the formats and types that the library can load, as JSON with the fields of
    /// docs/weights.md: supported_formats (with the formats of decoders), supported_sources,
    /// max_tensor_size, supports_streaming, supports_concurrent and
    /// supported_transformations.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_weights_capabilities_json(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Finds a tensor of a source by its name.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND.
    pub fn ferrum_weights_find(
        weights: ferrum_weights,
        name: *const c_char,
        info_out: *mut ferrum_tensor_info,
    ) -> ferrum_status;

    /// Starts to load tensors. Before it returns, the call checks everything that can be
    /// checked without allocating memory and without reading tensors. All tensors are loaded,
    /// or none: after an error no memory stays allocated, and memory of the caller has
    /// undefined content.
    ///
    /// While the set exists, a call that destroys one of its pools without FERRUM_FORCE
    /// returns FERRUM_ERROR_BUSY. With FERRUM_FORCE, that call cancels the load first, and
    /// frees the memory with the pool. The set then returns FERRUM_ERROR_INVALID_STATE for
    /// its tensors, and must still be freed. The program must not free memory of a set
    /// itself.
    ///
    /// - `set_out`: the set. The caller frees it with ferrum_tensor_set_free, also
    ///   after an error of the load.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT and FERRUM_ERROR_INVALID_SIZE for the request
    /// and the order; FERRUM_ERROR_NOT_FOUND for a tensor;
    /// FERRUM_ERROR_MODEL_NOT_FOUND; FERRUM_ERROR_UNSUPPORTED for a transformation,
    /// and for a tensor that cannot be mapped.
    pub fn ferrum_weights_load(
        weights: ferrum_weights,
        request: *const ferrum_weights_load_request,
        set_out: *mut ferrum_tensor_set,
    ) -> ferrum_status;

    /// Waits until the load is over, and returns its result.
    ///
    /// Returns FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_CANCELLED after a cancel; otherwise the
    /// error of the load, such as FERRUM_ERROR_OUT_OF_MEMORY of its memory, or
    /// FERRUM_ERROR_IO for a file that became shorter; FERRUM_ERROR_INVALID_STATE
    /// inside the progress callback of the load.
    pub fn ferrum_tensor_set_wait(set: ferrum_tensor_set, timeout_ns: u64) -> ferrum_status;

    /// Makes the load end soon. Has no effect if the load is over.
    pub fn ferrum_tensor_set_cancel(set: ferrum_tensor_set) -> ferrum_status;

    /// Returns the progress of the load. Never waits.
    pub fn ferrum_tensor_set_get_progress(
        set: ferrum_tensor_set,
        progress_out: *mut ferrum_weights_progress,
    ) -> ferrum_status;

    /// Returns the number of tensors.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE while the load runs; its error after a failure.
    pub fn ferrum_tensor_set_get_count(
        set: ferrum_tensor_set,
        count_out: *mut u64,
    ) -> ferrum_status;

    /// Returns a tensor by its index in the order of the load, from 0 on.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for an index without a tensor; errors of
    /// ferrum_tensor_set_get_count.
    pub fn ferrum_tensor_set_get_tensor(
        set: ferrum_tensor_set,
        index: u64,
        info_out: *mut ferrum_tensor_info,
    ) -> ferrum_status;

    /// Returns the name of a tensor by its index.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns errors of ferrum_tensor_set_get_tensor.
    pub fn ferrum_tensor_set_get_tensor_name(
        set: ferrum_tensor_set,
        index: u64,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Finds a tensor of a set by its name.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND; errors of ferrum_tensor_set_get_count.
    pub fn ferrum_tensor_set_find(
        set: ferrum_tensor_set,
        name: *const c_char,
        info_out: *mut ferrum_tensor_info,
    ) -> ferrum_status;

    /// Returns all tensors of a set in their order, as JSON with the fields of
    /// docs/weights.md.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns errors of ferrum_tensor_set_get_count.
    pub fn ferrum_tensor_set_tensors_json(
        set: ferrum_tensor_set,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Checks that no file of a mapped set has become shorter. For a set that is not mapped
    /// the check always succeeds.
    ///
    /// Returns FERRUM_ERROR_IO, which names a file that became shorter; errors of
    /// ferrum_tensor_set_get_count.
    pub fn ferrum_tensor_set_check(set: ferrum_tensor_set) -> ferrum_status;

    /// Ends a set and frees the memory that its load has allocated. Memory of the caller is
    /// not freed. The program's work on the tensors must be complete, or its streams must be
    /// recorded for the memory.
    ///
    /// - `flags`: 0 or FERRUM_FORCE: a running load is cancelled, and the call waits
    ///   for it. If the device fails to free memory, the failure is logged and
    ///   the memory stays allocated.
    ///
    /// Returns FERRUM_ERROR_BUSY while the load runs; FERRUM_ERROR_INVALID_STATE for
    /// FERRUM_FORCE inside the progress callback of the load; an error of the
    /// device, after which the set stays and can be freed again.
    pub fn ferrum_tensor_set_free(set: ferrum_tensor_set, flags: u32) -> ferrum_status;

    /// Reads all files of a source and returns their SHA-256 sums, as JSON with the fields
    /// of docs/weights.md. With sums_text it compares them with that list, by the names of
    /// the files without folders. Each file must be in the list; the list may have more
    /// files.
    ///
    /// - `sums_text`: lines of the form that sha256sum prints, or NULL.
    /// - `sums_bytes`: its length, at most FERRUM_WEIGHTS_JSON_MAX.
    /// - `progress`: called on the thread of the call; NULL: not called.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json. The length is the
    ///   same for every content: with capacity 0, or a buffer that is too
    ///   small, no file is read.
    ///
    /// Returns FERRUM_ERROR_CORRUPTED for a file with another sum;
    /// FERRUM_ERROR_NOT_FOUND for a file that the list does not have;
    /// FERRUM_ERROR_INVALID_FORMAT for a line of another form;
    /// FERRUM_ERROR_IO; FERRUM_ERROR_CANCELLED.
    pub fn ferrum_weights_verify(
        weights: ferrum_weights,
        sums_text: *const c_char,
        sums_bytes: usize,
        progress: ferrum_weights_progress_fn,
        user_data: *mut c_void,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Writes tensors of a source to a file. A model of any size needs only a few megabytes
    /// of memory. The file gets its name when it is complete. After an error no part of it
    /// is left.
    ///
    /// - `path`: the file, shorter than FERRUM_PATH_MAX.
    /// - `request`: the settings, or NULL for FERRUM_WEIGHTS_CONVERT_REQUEST_INIT.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS; FERRUM_ERROR_UNSUPPORTED for a format that the
    /// library cannot write, and for a type that the format does not have;
    /// FERRUM_ERROR_RESOURCE_EXHAUSTED for a disk without enough free space;
    /// FERRUM_ERROR_CANCELLED; errors of ferrum_weights_load for the order, and of
    /// ferrum_weights_open for the file.
    pub fn ferrum_weights_convert(
        weights: ferrum_weights,
        path: *const c_char,
        request: *const ferrum_weights_convert_request,
    ) -> ferrum_status;

    /// Registers a decoder of another format. The formats of the library have precedence: the
    /// library calls the decoders only for a file that begins as none of its own formats, in
    /// the order of registration. Several threads may call a decoder at a time.
    /// ferrum_registration_remove removes the decoder; open sources stay open.
    ///
    /// - `number_out`: its number, for ferrum_weights_source.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS for the name of another format;
    /// FERRUM_ERROR_NULL_POINTER for a function.
    pub fn ferrum_weights_decoder_add(
        decoder: *const ferrum_weights_decoder,
        number_out: *mut u32,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Allocates memory for a contiguous tensor. The elements have no value yet.
    ///
    /// While the tensor exists, a call that destroys its pool or model without FERRUM_FORCE
    /// returns FERRUM_ERROR_BUSY.
    ///
    /// - `memory`: a pool, a virtual pool with an offset, or a model of an elastic pool; not
    ///   a device. If the model or its tag sleeps, the call returns
    ///   FERRUM_ERROR_INVALID_STATE.
    /// - `shape,count`: the length of each dimension. count is the number of dimensions, at
    ///   most FERRUM_TENSOR_RANK_MAX; 0: one element. shape is not NULL.
    /// - `stream`: the first work on the memory is on this stream.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for a shape, a type, or elements that do not fill
    /// whole blocks of the type; FERRUM_ERROR_OVERFLOW; errors of the memory.
    pub fn ferrum_tensor_create(
        memory: *const ferrum_weights_memory,
        dtype: ferrum_dtype,
        shape: *const i64,
        count: u64,
        stream: ferrum_stream,
        tensor_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Makes a tensor over a block of a manager. While it exists, the block is pinned: it is not
    /// moved, and ferrum_memory_free returns FERRUM_ERROR_BUSY. A block that was adopted as
    /// read-only gives a read-only tensor.
    ///
    /// - `offset_bytes`: place of the element whose indices are all 0.
    /// - `desc`: type, shape and strides. Its address is ignored.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for the description;
    /// FERRUM_ERROR_INVALID_ALIGNMENT; FERRUM_ERROR_INVALID_OFFSET for elements outside
    /// of the block.
    pub fn ferrum_tensor_from_memory(
        memory: ferrum_memory,
        offset_bytes: u64,
        desc: *const ferrum_tensor_desc,
        tensor_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Makes a tensor over memory of the program, which must stay valid until release is called.
    ///
    /// - `address,size_bytes`: the memory, as the device addresses it.
    /// - `desc`: type, shape, strides, and FERRUM_ELEMENTS_READ_ONLY for memory that must
    ///   not be written. Its address is that of the element whose indices are all
    ///   0; 0: address.
    /// - `release`: called once if this call succeeds. After an error it is never called.
    ///   NULL: the memory stays valid longer than all tensors over it.
    ///
    /// Returns FERRUM_ERROR_INVALID_ADDRESS for memory that cannot be read and written, as far
    /// as the device can check it; errors of ferrum_tensor_from_memory.
    pub fn ferrum_tensor_wrap(
        device: ferrum_device,
        address: ferrum_address,
        size_bytes: u64,
        desc: *const ferrum_tensor_desc,
        release: ferrum_release_fn,
        user_data: *mut c_void,
        tensor_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Makes a tensor over a loaded tensor of a set. While it exists, ferrum_tensor_set_free
    /// without FERRUM_FORCE returns FERRUM_ERROR_BUSY. A mapped tensor is read-only and of the
    /// first open host device.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for an index without a tensor, and for more than
    /// FERRUM_TENSOR_RANK_MAX dimensions; FERRUM_ERROR_INVALID_STATE while the load
    /// runs, and for a mapped tensor while no host device is open; the error of the
    /// load.
    pub fn ferrum_tensor_from_set(
        set: ferrum_tensor_set,
        index: u64,
        tensor_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Makes a view that keeps some indices of a dimension.
    ///
    /// - `axis`: the dimension; -1 is the last one.
    /// - `start`: the first index.
    /// - `length`: the number of indices.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for the axis; FERRUM_ERROR_INVALID_OFFSET for
    /// indices that the dimension does not have; FERRUM_ERROR_UNSUPPORTED for a type
    /// with several elements in a block, if the view is not contiguous.
    pub fn ferrum_tensor_narrow(
        tensor: ferrum_tensor,
        axis: i32,
        start: i64,
        length: i64,
        view_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Makes a view that keeps every step-th index of a dimension: start, start + step, and so
    /// on. With a negative step the order of the indices is reversed.
    ///
    /// - `axis`: the dimension; -1 is the last one.
    /// - `start`: the first index.
    /// - `length`: the number of indices of the view; 0: none, and start is at most the number
    ///   of indices of the dimension.
    /// - `step`: the distance from one index to the next; not 0.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for the axis and the step; FERRUM_ERROR_INVALID_OFFSET
    /// for indices that the dimension does not have; FERRUM_ERROR_UNSUPPORTED as for
    /// ferrum_tensor_narrow.
    pub fn ferrum_tensor_slice(
        tensor: ferrum_tensor,
        axis: i32,
        start: i64,
        length: i64,
        step: i64,
        view_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Makes a view with the dimensions in another order.
    ///
    /// - `axes,count`: for each dimension of the view the dimension of the tensor. axes is
    ///   not NULL.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT unless axes has each dimension once;
    /// FERRUM_ERROR_UNSUPPORTED as for ferrum_tensor_narrow.
    pub fn ferrum_tensor_permute(
        tensor: ferrum_tensor,
        axes: *const i32,
        count: u64,
        view_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Makes a view with another shape of the same elements in the same order.
    ///
    /// - `shape,count`: as for ferrum_tensor_create.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for a shape with another number of elements;
    /// FERRUM_ERROR_UNSUPPORTED if no strides express the shape. A contiguous copy has
    /// every shape (ferrum_tensor_to).
    pub fn ferrum_tensor_reshape(
        tensor: ferrum_tensor,
        shape: *const i64,
        count: u64,
        view_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Makes a view that repeats elements along new dimensions, and along dimensions of length
    /// 1, as NumPy broadcasts. Its elements cannot be written if some are repeated.
    ///
    /// - `shape,count`: as for ferrum_tensor_create.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for a shape to which the tensor does not broadcast;
    /// FERRUM_ERROR_UNSUPPORTED as for ferrum_tensor_narrow.
    pub fn ferrum_tensor_expand(
        tensor: ferrum_tensor,
        shape: *const i64,
        count: u64,
        view_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Queues a copy of the elements of a tensor to another tensor of the same shape on the same
    /// device. Elements of another type are converted by the rules of docs/tensors.md.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for another shape, tensors that overlap, and a
    /// destination with repeated elements; FERRUM_ERROR_PERMISSION_DENIED for a
    /// read-only destination; FERRUM_ERROR_UNSUPPORTED_DEVICE for tensors of different
    /// devices (ferrum_tensor_to copies between devices); FERRUM_ERROR_UNSUPPORTED for
    /// types that are not converted, and for a device that cannot make the copy.
    pub fn ferrum_tensor_copy(
        tensor: ferrum_tensor,
        source: ferrum_tensor,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Makes a contiguous tensor with the same elements, of another type, in other memory, or
    /// both. The copy is queued on stream if the memory is of the same device, and the device
    /// can make the copy. Otherwise the elements go through memory of the host, and the call
    /// waits for the work of the stream and for the copy.
    ///
    /// - `memory`: as for ferrum_tensor_create. It may be of another device.
    /// - `stream`: a stream of the device of the tensor.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for types that are not converted; errors of
    /// ferrum_tensor_create, ferrum_tensor_copy and ferrum_tensor_read.
    pub fn ferrum_tensor_to(
        tensor: ferrum_tensor,
        memory: *const ferrum_weights_memory,
        dtype: ferrum_dtype,
        stream: ferrum_stream,
        tensor_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Copies the elements to memory of the program, in the order of the shape and without gaps.
    /// Waits for the work that is queued on the stream, and for the copy.
    ///
    /// - `size_bytes`: exactly the size of the elements.
    ///
    /// Returns FERRUM_ERROR_INVALID_SIZE; FERRUM_ERROR_UNSUPPORTED for a device whose memory
    /// the host cannot address, if the elements lie in more than 4096 parts.
    pub fn ferrum_tensor_read(
        tensor: ferrum_tensor,
        destination_out: *mut c_void,
        size_bytes: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Copies memory of the program to the elements, in the order of the shape. Waits as
    /// ferrum_tensor_read does.
    ///
    /// - `size_bytes`: exactly the size of the elements.
    ///
    /// Returns FERRUM_ERROR_PERMISSION_DENIED for a read-only tensor;
    /// FERRUM_ERROR_INVALID_ARGUMENT for repeated elements; errors of
    /// ferrum_tensor_read.
    pub fn ferrum_tensor_write(
        tensor: ferrum_tensor,
        source: *const c_void,
        size_bytes: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Queues work that gives every element the value, converted to the type of the tensor.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for a type to which numbers are not converted, and for
    /// elements in more than 4096 parts on a device whose memory the host cannot address;
    /// otherwise errors of ferrum_tensor_write.
    pub fn ferrum_tensor_fill(
        tensor: ferrum_tensor,
        value: f64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Describes a tensor. Works for a tensor whose memory sleeps.
    pub fn ferrum_tensor_describe(
        tensor: ferrum_tensor,
        desc_out: *mut ferrum_tensor_desc,
    ) -> ferrum_status;

    /// Ends a tensor. Other tensors over the memory, and work that is queued, keep the memory.
    ///
    /// Returns an error of the device that failed to free the memory; the tensor then stays and
    /// can be destroyed again.
    pub fn ferrum_tensor_destroy(tensor: ferrum_tensor) -> ferrum_status;

    /// Exports a tensor to DLPack. The exported struct is a further view of the memory, until
    /// its deleter is called. The deleter may be called on any thread, also after
    /// ferrum_shutdown. The receiver orders its own work after the work that is queued.
    ///
    /// While the struct exists, it counts as a tensor: calls that destroy its memory without
    /// FERRUM_FORCE return FERRUM_ERROR_BUSY. Memory that sleeps must not be accessed.
    ///
    /// - `is_versioned`: 1: export a DLManagedTensorVersioned; 0: a DLManagedTensor, the form
    ///   of old receivers, which cannot state that memory is read-only.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for a type or a device that DLPack does not have, and
    /// for a read-only tensor in the old form; FERRUM_ERROR_BUSY while the memory
    /// sleeps.
    pub fn ferrum_tensor_to_dlpack(
        tensor: ferrum_tensor,
        is_versioned: u32,
        dlpack_out: *mut ferrum_dlpack,
    ) -> ferrum_status;

    /// Makes a tensor over memory that another library has exported to DLPack. If the call
    /// succeeds, the library owns the struct: it calls the deleter once, under the conditions of
    /// ferrum_release_fn. After an error the caller still owns the struct.
    ///
    /// - `device`: the open device of the memory; {0}: the open device that the struct names,
    ///   for memory of the host the first open host device.
    ///
    /// Returns FERRUM_ERROR_NULL_POINTER for managed; FERRUM_ERROR_INVALID_ARGUMENT for its
    /// content, and for memory that is not of the device; FERRUM_ERROR_UNSUPPORTED for a
    /// version, a type or a device that the library does not know;
    /// FERRUM_ERROR_INVALID_STATE if the device is not open; errors of
    /// ferrum_tensor_wrap.
    pub fn ferrum_tensor_from_dlpack(
        device: ferrum_device,
        dlpack: *const ferrum_dlpack,
        tensor_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Creates a cache.
    ///
    /// In a pool all blocks are one block of the pool. In a virtual pool or a model of an elastic
    /// pool the cache maps chunks of blocks when sequences need them, and unmaps them for other
    /// models of the pool: chunks that no sequence uses. In a model the cache lies at the end of the
    /// address space, before the other caches there. The memory has the tag of the memory.
    ///
    /// While the cache exists, a call that destroys its pool or model without FERRUM_FORCE returns
    /// FERRUM_ERROR_BUSY. With FERRUM_FORCE, that call destroys the cache first.
    ///
    /// - `memory`: a pool, a virtual pool with an offset, or a model of an elastic pool. All
    ///   zero: the cache has no memory, and the program makes the copies.
    /// - `host_pool`: the memory of the blocks of the host, which the host must be able to
    ///   address. {0} if host_blocks is 0, or the cache has no memory.
    /// - `stream`: the stream of the copies.
    ///
    /// Returns FERRUM_ERROR_INVALID_CONFIG with the name of the field;
    /// FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY if the address space of the pool or the model is too
    /// small; FERRUM_ERROR_UNSUPPORTED for a type whose elements share a scale; errors of the
    /// memory.
    pub fn ferrum_kv_cache_create(
        config: *const ferrum_kv_cache_config,
        memory: *const ferrum_weights_memory,
        host_pool: ferrum_pool,
        stream: ferrum_stream,
        cache_out: *mut ferrum_kv_cache,
    ) -> ferrum_status;

    /// Destroys a cache and frees its memory, after the work that is queued on its stream.
    ///
    /// - `flags`: 0 or FERRUM_FORCE: its sequences end with it.
    ///
    /// Returns FERRUM_ERROR_BUSY while a sequence lives, or a tensor is a view of its memory;
    /// FERRUM_ERROR_INVALID_STATE inside a pressure callback of the cache.
    pub fn ferrum_kv_cache_destroy(cache: ferrum_kv_cache, flags: u32) -> ferrum_status;

    /// Computes the hashes of the whole blocks of tokens. The hash of a block stands for the tokens of
    /// the block and of all blocks before it. Two different prefixes have the same hash with a
    /// probability of 2^-64.
    ///
    /// - `parent`: the hash of the block before the tokens; 0 at the start of a sequence.
    /// - `tokens,count`: the tokens. A part of a block at the end has no hash.
    /// - `hashes_out,capacity`: room for one hash of each whole block.
    /// - `count_out`: number of hashes.
    ///
    /// Returns FERRUM_ERROR_BUFFER_TOO_SMALL with \*count_out set.
    pub fn ferrum_kv_cache_hash_tokens(
        cache: ferrum_kv_cache,
        parent: u64,
        tokens: *const i32,
        count: u64,
        hashes_out: *mut u64,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Returns how many hashes of a prefix, from the first one, have a block.
    ///
    /// - `hashes,count`: the hashes of the blocks of a prefix, in order.
    pub fn ferrum_kv_cache_find(
        cache: ferrum_kv_cache,
        hashes: *const u64,
        count: u64,
        blocks_out: *mut u64,
    ) -> ferrum_status;

    /// Makes sequences with blocks for their tokens. The first blocks of a sequence are shared with
    /// the longest published prefix of its hashes; the program computes the keys and values of the
    /// other tokens.
    ///
    /// - `lengths,count`: number of tokens of each sequence.
    /// - `prefix_blocks,prefix_block_count`: for each sequence, for how many of its whole blocks
    ///   hashes has a hash. prefix_block_count is count; 0: no sequence has hashes.
    ///   prefix_blocks is not NULL.
    /// - `hashes,hash_count`: the hashes of the first sequence, then those of the second, and so
    ///   on. They come from ferrum_kv_cache_hash_tokens or from the program; then a hash
    ///   must stand for the whole prefix and for everything else that the keys and values
    ///   depend on. hashes is not NULL.
    /// - `sequences_out,capacity`: room for count sequences.
    /// - `count_out`: count.
    ///
    /// Returns FERRUM_ERROR_INVALID_SIZE for a sequence that is longer than those of the cache;
    /// FERRUM_ERROR_RESOURCE_EXHAUSTED for too many sequences; FERRUM_ERROR_OUT_OF_MEMORY if
    /// there are not enough blocks; FERRUM_ERROR_BUSY while the memory sleeps;
    /// FERRUM_ERROR_BUFFER_TOO_SMALL with \*count_out set and nothing done.
    pub fn ferrum_kv_cache_allocate(
        cache: ferrum_kv_cache,
        lengths: *const u32,
        count: u64,
        prefix_blocks: *const u32,
        prefix_block_count: u64,
        hashes: *const u64,
        hash_count: u64,
        sequences_out: *mut ferrum_kv_sequence,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Adds tokens to sequences, and the blocks that the tokens need. If other sequences share the last
    /// block of a sequence, the sequence gets a copy of its own. A published block whose contents
    /// change loses its hash. With a sliding window, the blocks that the first new token does not reach
    /// are released before new ones are taken.
    ///
    /// - `sequences,count`: each sequence at most once.
    /// - `lengths,length_count`: number of new tokens of each sequence. length_count is count; 0:
    ///   one token each. lengths is not NULL.
    /// - `copies_out,capacity`: room for the copies that the program has to make, at most count.
    ///   With memory the library makes the copies, and the list is empty.
    /// - `count_out`: number of copies.
    ///
    /// Returns FERRUM_ERROR_INVALID_HANDLE for a sequence that does not live;
    /// FERRUM_ERROR_INVALID_OFFSET for positions beyond sequence_tokens;
    /// FERRUM_ERROR_INVALID_STATE for a sequence that is swapped out;
    /// FERRUM_ERROR_OUT_OF_MEMORY if there are not enough blocks: the sequences live and are
    /// unchanged; FERRUM_ERROR_BUSY while the memory sleeps;
    /// FERRUM_ERROR_BUFFER_TOO_SMALL with \*count_out set and nothing done.
    pub fn ferrum_kv_cache_append(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
        lengths: *const u32,
        length_count: u64,
        copies_out: *mut ferrum_kv_copy,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// States that whole blocks of sequences have their contents, and gives them hashes, so that later
    /// sequences with the same prefix share them. A hash that another block has is skipped.
    ///
    /// - `sequences,count`: each sequence at most once.
    /// - `prefix_blocks,prefix_block_count`: number of hashes of each sequence; prefix_block_count
    ///   is count.
    /// - `hashes,hash_count`: the hashes of the next blocks of each sequence: the first one is that
    ///   of the first block that was neither shared by ferrum_kv_cache_allocate nor
    ///   published.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for more hashes than whole blocks;
    /// FERRUM_ERROR_INVALID_HANDLE, FERRUM_ERROR_INVALID_STATE as for ferrum_kv_cache_append.
    pub fn ferrum_kv_cache_publish(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
        prefix_blocks: *const u32,
        prefix_block_count: u64,
        hashes: *const u64,
        hash_count: u64,
    ) -> ferrum_status;

    /// Makes a copy of each sequence, which shares all of its blocks.
    ///
    /// - `sequences,count`: a sequence may be in the list several times.
    /// - `children_out,capacity`: room for count sequences.
    /// - `count_out`: count.
    ///
    /// Returns FERRUM_ERROR_INVALID_HANDLE for a sequence that does not live;
    /// FERRUM_ERROR_INVALID_STATE for one that is swapped out;
    /// FERRUM_ERROR_RESOURCE_EXHAUSTED for too many sequences;
    /// FERRUM_ERROR_BUFFER_TOO_SMALL with \*count_out set and nothing done.
    pub fn ferrum_kv_cache_fork(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
        children_out: *mut u64,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Shortens sequences and releases the blocks behind their end, as after rejected tokens of
    /// speculative decoding.
    ///
    /// - `sequences,count`: each sequence at most once.
    /// - `lengths,length_count`: the new number of tokens of each sequence; length_count is count.
    ///
    /// Returns FERRUM_ERROR_INVALID_OFFSET for a length above the present one, and for one whose
    /// window reaches blocks that were released; FERRUM_ERROR_INVALID_HANDLE,
    /// FERRUM_ERROR_INVALID_STATE as for ferrum_kv_cache_append.
    pub fn ferrum_kv_cache_truncate(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
        lengths: *const u32,
        length_count: u64,
    ) -> ferrum_status;

    /// Ends sequences and releases their blocks. Published blocks stay cached until the cache needs
    /// them. Sequences that are swapped out can be freed as well.
    ///
    /// - `sequences,count`: each sequence at most once.
    ///
    /// Returns FERRUM_ERROR_INVALID_HANDLE for a sequence that does not live.
    pub fn ferrum_kv_cache_free(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
    ) -> ferrum_status;

    /// Copies sequences to blocks of the host and releases their blocks. Sequences of one call that
    /// share blocks share the copies. Only ferrum_kv_cache_swap_in, ferrum_kv_cache_free and
    /// ferrum_kv_cache_lengths accept a sequence that is swapped out.
    ///
    /// - `sequences,count`: each sequence at most once.
    /// - `copies_out,capacity`: room for the copies that the program has to make, from blocks of the
    ///   device to blocks of the host. With memory the list is empty.
    /// - `count_out`: number of copies.
    ///
    /// Returns FERRUM_ERROR_RESOURCE_EXHAUSTED if the host has too few free blocks; errors of
    /// ferrum_kv_cache_append.
    pub fn ferrum_kv_cache_swap_out(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
        copies_out: *mut ferrum_kv_copy,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Copies sequences back to blocks of the device. A block whose hash is still published there is
    /// shared instead.
    ///
    /// - `sequences,count`: each sequence at most once; all are swapped out.
    /// - `copies_out,capacity`: as for ferrum_kv_cache_swap_out, from the host to the device.
    /// - `count_out`: number of copies.
    ///
    /// Returns errors of ferrum_kv_cache_append.
    pub fn ferrum_kv_cache_swap_in(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
        copies_out: *mut ferrum_kv_copy,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the block tables of sequences, one after the other.
    ///
    /// - `sequences,count`: the sequences.
    /// - `width`: number of entries for each sequence. Entries behind the blocks of a sequence, and
    ///   those before its window, are -1.
    /// - `tables_out,capacity`: room for count \* width entries, at most
    ///   FERRUM_KV_TABLE_ENTRIES_MAX.
    /// - `count_out`: count \* width.
    ///
    /// Returns FERRUM_ERROR_BUFFER_TOO_SMALL for a sequence with more blocks than width, and if
    /// capacity is too small; FERRUM_ERROR_INVALID_HANDLE; FERRUM_ERROR_INVALID_STATE for a
    /// sequence that is swapped out.
    pub fn ferrum_kv_cache_block_tables(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
        width: u64,
        tables_out: *mut i32,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the numbers of tokens of sequences.
    ///
    /// - `sequences,count`: the sequences.
    /// - `lengths_out,capacity`: room for count numbers.
    /// - `count_out`: count.
    ///
    /// Returns FERRUM_ERROR_INVALID_HANDLE; FERRUM_ERROR_BUFFER_TOO_SMALL with \*count_out set.
    pub fn ferrum_kv_cache_lengths(
        cache: ferrum_kv_cache,
        sequences: *const u64,
        count: u64,
        lengths_out: *mut u32,
        capacity: usize,
        count_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the memory of the keys of a layer, or of its values: an array of the shape
    /// \[blocks, kv_heads, block_tokens, head_dim\] without gaps. Only blocks that sequences use can be
    /// accessed.
    ///
    /// - `layer`: 0 to layers - 1.
    /// - `values`: 0: the keys, 1: the values.
    /// - `address_out`: address of block 0.
    /// - `size_bytes_out`: size of all blocks.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for layer; FERRUM_ERROR_INVALID_STATE for a cache without
    /// memory.
    pub fn ferrum_kv_cache_plane(
        cache: ferrum_kv_cache,
        layer: u32,
        values: u32,
        address_out: *mut ferrum_address,
        size_bytes_out: *mut u64,
    ) -> ferrum_status;

    /// Makes a tensor over the memory of ferrum_kv_cache_plane. While it exists,
    /// ferrum_kv_cache_destroy without FERRUM_FORCE returns FERRUM_ERROR_BUSY.
    ///
    /// - `layer,values`: as for ferrum_kv_cache_plane.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED unless all blocks always have memory; errors of
    /// ferrum_kv_cache_plane.
    pub fn ferrum_kv_cache_plane_tensor(
        cache: ferrum_kv_cache,
        layer: u32,
        values: u32,
        tensor_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Evicts cached blocks, those that were not used for the longest time first, until at most so many
    /// are left, and releases the memory of all chunks without contents.
    ///
    /// - `keep_cached_blocks`: number of cached blocks to keep.
    /// - `unmapped_blocks_out`: number of blocks that have lost their memory.
    pub fn ferrum_kv_cache_trim(
        cache: ferrum_kv_cache,
        keep_cached_blocks: u64,
        unmapped_blocks_out: *mut u64,
    ) -> ferrum_status;

    /// Returns the state of a cache.
    pub fn ferrum_kv_cache_get_stats(
        cache: ferrum_kv_cache,
        stats_out: *mut ferrum_kv_cache_stats,
    ) -> ferrum_status;

    /// The same as ferrum_device_pressure_callback_add for the level of a cache: that of its used
    /// blocks. The callback runs on the thread whose call changed the level, before that call
    /// returns, with no lock held and one call at a time. It may call the library, except to destroy
    /// the cache, and except ferrum_shutdown. For a cache without memory it gets the device {0}.
    pub fn ferrum_kv_cache_pressure_callback_add(
        cache: ferrum_kv_cache,
        callback: ferrum_pressure_fn,
        user_data: *mut c_void,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Checks settings without opening a backend. The device may be {0}.
    ///
    /// Returns FERRUM_ERROR_INVALID_CONFIG and FERRUM_ERROR_INVALID_ARGUMENT, which name the
    /// setting; FERRUM_ERROR_UNSUPPORTED for a kind that this library does not have, with
    /// the reason; FERRUM_ERROR_INVALID_FORMAT for the options.
    pub fn ferrum_compute_validate(config: *const ferrum_compute_config) -> ferrum_status;

    /// Opens a backend on a device.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED_DEVICE for a device on which the backend does not
    /// compute; FERRUM_ERROR_NOT_FOUND for a name; errors of ferrum_compute_validate;
    /// FERRUM_ERROR_OUT_OF_MEMORY.
    pub fn ferrum_compute_open(
        config: *const ferrum_compute_config,
        compute_out: *mut ferrum_compute,
    ) -> ferrum_status;

    /// Closes a backend and releases its memory.
    ///
    /// - `flags`: 0 or FERRUM_FORCE: the call waits for queued work. Operations, sequences
    ///   and tensors of the backend then return errors, and must still be destroyed.
    ///
    /// Returns FERRUM_ERROR_BUSY while operations, sequences, or tensors and blocks in the
    /// memory of the backend exist, or a call is in progress.
    pub fn ferrum_compute_close(compute: ferrum_compute, flags: u32) -> ferrum_status;

    /// Returns the manager of the memory of a backend, for statistics and for blocks of the
    /// program. It belongs to the backend: ferrum_manager_destroy and
    /// ferrum_manager_configure_pool return FERRUM_ERROR_INVALID_STATE for it, and the handle
    /// is invalid after the backend was closed. It is the same handle each time.
    pub fn ferrum_compute_get_manager(
        compute: ferrum_compute,
        manager_out: *mut ferrum_manager,
    ) -> ferrum_status;

    /// Returns the properties of a backend, as JSON with the fields of docs/compute.md.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_compute_capabilities_json(
        compute: ferrum_compute,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the state of a backend, as JSON with the fields of docs/compute.md: completed
    /// operations, memory by device, the last error. Does not wait for the device.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_compute_status_json(
        compute: ferrum_compute,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Waits until all work of the device of a backend is done.
    ///
    /// Returns FERRUM_ERROR_TIMEOUT; the error of work that has failed.
    pub fn ferrum_compute_synchronize(compute: ferrum_compute, timeout_ns: u64) -> ferrum_status;

    /// Lists all backends in alphabetical order, also those that are not available with the
    /// reason, as JSON with the fields of docs/compute.md.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_compute_backends_json(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Chooses a backend by requirements, and returns, as JSON with the fields of
    /// docs/compute.md, its name and for each other backend why not. Among backends that meet
    /// all requirements, one with another device than the host is better; then one with more
    /// extra capabilities; then one with larger limits; then the first name.
    ///
    /// - `requirements_text`: the requirements as JSON; NULL or an empty text: none.
    /// - `requirements_bytes`: its length.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_INVALID_FORMAT for a text that is no such object. If no backend
    /// meets the requirements, the call succeeds, and "best" is empty.
    pub fn ferrum_compute_find_json(
        requirements_text: *const c_char,
        requirements_bytes: usize,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Prepares an operation of a backend.
    ///
    /// - `name`: the operator, such as "MatMul" or "ferrum.linear".
    /// - `attributes_text`: its attributes as a JSON object; NULL or an empty text: none.
    /// - `attributes_bytes`: the length of the text.
    /// - `opset`: the version of the operator's domain; 0: the newest that is known.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND for an unknown name, which names the nearest one;
    /// FERRUM_ERROR_INVALID_ARGUMENT for attributes;
    /// FERRUM_ERROR_UNSUPPORTED for an opset, and for an operator that the backend does
    /// not compute.
    pub fn ferrum_op_prepare(
        compute: ferrum_compute,
        name: *const c_char,
        attributes_text: *const c_char,
        attributes_bytes: usize,
        opset: u32,
        op_out: *mut ferrum_op,
    ) -> ferrum_status;

    /// Ends an operation. Queued runs of it complete.
    pub fn ferrum_op_destroy(op: ferrum_op) -> ferrum_status;

    /// Infers the outputs of a run without running it.
    ///
    /// - `inputs,input_count`: the inputs by type, shape and strides, each with its
    ///   struct_size. FERRUM_ELEMENTS_ABSENT: an absent input. An input that carries
    ///   a shape, axes or sizes, such as the second one of Reshape, has its elements
    ///   too. inputs is not NULL.
    /// - `outputs,output_count`: filled. A description that has FERRUM_ELEMENTS_ABSENT before
    ///   the call stands for an output that is not wanted; an output without a
    ///   place is not wanted if it is optional. outputs is not NULL.
    /// - `workspace_bytes_out`: the memory that the run takes besides its outputs.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for inputs that the operator does not take, with
    /// both shapes; FERRUM_ERROR_UNSUPPORTED for a combination that the backend does not
    /// compute; FERRUM_ERROR_OVERFLOW. After an error the descriptions are as before.
    pub fn ferrum_op_infer(
        op: ferrum_op,
        inputs: *const ferrum_tensor_desc,
        input_count: u64,
        outputs: *mut ferrum_tensor_desc,
        output_count: u64,
        workspace_bytes_out: *mut u64,
    ) -> ferrum_status;

    /// Runs an operation on tensors, in the order of a stream. If the stream has no work, the
    /// operation runs in the calling thread and is complete when the call returns. Otherwise it
    /// is queued. The error of queued work is returned by ferrum_stream_synchronize and
    /// ferrum_compute_status_json.
    ///
    /// - `inputs,input_count`: the inputs; {0}: an absent one. inputs is not NULL.
    /// - `outputs,output_count`: the outputs. {0}: the call makes the tensor in the memory
    ///   of the backend and stores it there. {FERRUM_TENSOR_UNWANTED}: not wanted.
    ///   Otherwise a tensor with the type and shape of ferrum_op_infer, which may
    ///   be the memory of an input only if the backend computes in place. outputs
    ///   is not NULL.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for tensors that do not fit, with the operator, the
    /// input and both shapes; FERRUM_ERROR_UNSUPPORTED; FERRUM_ERROR_UNSUPPORTED_DEVICE
    /// for a tensor of another device; FERRUM_ERROR_PERMISSION_DENIED for a read-only
    /// output; FERRUM_ERROR_BUSY for a tensor whose memory sleeps, also if the tensors
    /// do not fit; FERRUM_ERROR_OUT_OF_MEMORY. After an error outputs are as before.
    pub fn ferrum_op_run(
        op: ferrum_op,
        inputs: *const ferrum_tensor,
        input_count: u64,
        outputs: *mut ferrum_tensor,
        output_count: u64,
        stream: ferrum_stream,
    ) -> ferrum_status;

    /// Packs a constant input, such as a matrix of weights, into the layout that the backend
    /// reads fastest. The packed tensor replaces the input in runs of this operation, and no
    /// other call reads its elements.
    ///
    /// - `input`: the number of the input.
    /// - `memory`: as for ferrum_tensor_create; with all handles {0}: the memory of the
    ///   backend.
    ///
    /// Returns FERRUM_ERROR_UNSUPPORTED for an input or a type without such a layout;
    /// FERRUM_ERROR_INVALID_ARGUMENT for an input that the operator does not have; errors
    /// of ferrum_op_run and ferrum_tensor_create. After an error nothing is left.
    pub fn ferrum_op_pack(
        op: ferrum_op,
        input: u32,
        tensor: ferrum_tensor,
        memory: *const ferrum_weights_memory,
        stream: ferrum_stream,
        packed_out: *mut ferrum_tensor,
    ) -> ferrum_status;

    /// Creates an empty sequence of a backend.
    pub fn ferrum_sequence_create(
        compute: ferrum_compute,
        sequence_out: *mut ferrum_sequence,
    ) -> ferrum_status;

    /// Adds a run of an operation at the end of a sequence. The sequence keeps the tensors, which
    /// may be destroyed. A made output can be an input of the next operation at once. The
    /// elements of shapes, axes and sizes are read now, and stay as they are.
    ///
    /// - `inputs,input_count,outputs,output_count`: as for ferrum_op_run.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for an operation of another backend;
    /// FERRUM_ERROR_BUSY while the sequence runs; errors of ferrum_op_run. After an error
    /// the sequence and the outputs are as before.
    pub fn ferrum_sequence_add(
        sequence: ferrum_sequence,
        op: ferrum_op,
        inputs: *const ferrum_tensor,
        input_count: u64,
        outputs: *mut ferrum_tensor,
        output_count: u64,
    ) -> ferrum_status;

    /// Runs all operations of a sequence, as ferrum_op_run does. The first run after an addition
    /// makes the workspace.
    ///
    /// Returns errors of ferrum_op_run. If an operation fails, those before it have run.
    pub fn ferrum_sequence_run(sequence: ferrum_sequence, stream: ferrum_stream) -> ferrum_status;

    /// Ends a sequence.
    ///
    /// Returns FERRUM_ERROR_BUSY while it runs or a run is queued.
    pub fn ferrum_sequence_destroy(sequence: ferrum_sequence) -> ferrum_status;

    /// Registers a backend of the program. ferrum_compute_find_json and
    /// ferrum_compute_backends_json list it from then on. ferrum_registration_remove removes it,
    /// and returns FERRUM_ERROR_BUSY while the backend is open. A forced ferrum_shutdown closes
    /// and removes it.
    ///
    /// - `backend`: the call copies it and its texts. After an error release is not called.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS for the name of another backend or of a kind;
    /// FERRUM_ERROR_INVALID_ARGUMENT for another name that is not possible;
    /// FERRUM_ERROR_NULL_POINTER for run; FERRUM_ERROR_INVALID_FORMAT and
    /// FERRUM_ERROR_INVALID_CONFIG for the properties.
    pub fn ferrum_compute_register(
        backend: *const ferrum_compute_backend,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Registers a layer type of the program. ferrum_registration_remove removes it, and returns
    /// FERRUM_ERROR_BUSY while models or operations use it, or one of its functions runs. A forced
    /// ferrum_shutdown ends what uses it, and removes it.
    ///
    /// - `layer`: the call copies it and its texts. After an error release is not called.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS for the type of another layer;
    /// FERRUM_ERROR_INVALID_ARGUMENT for a type, a shape, a number of outputs or a
    /// configuration that is not possible; FERRUM_ERROR_NULL_POINTER for forward.
    pub fn ferrum_layer_register(
        layer: *const ferrum_layer,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Lists the layer types of the program in alphabetical order, as JSON with the fields of
    /// docs/layers.md.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_layers_json(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the definition of the model in a folder or a file, as JSON.
    ///
    /// - `path`: a folder with config.json, a GGUF file, or a file of ONNX.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND and FERRUM_ERROR_IO for a file;
    /// FERRUM_ERROR_INVALID_FORMAT for its content; FERRUM_ERROR_UNSUPPORTED for a kind
    /// of model that the library cannot build, with its name.
    pub fn ferrum_model_export_json(
        path: *const c_char,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Writes the model in a folder or a file as a file of ONNX. docs/onnx.md describes it. The
    /// file gets its name at the end: after an error no new file exists.
    ///
    /// - `path`: as for ferrum_model_export_json.
    /// - `file`: the file to be written.
    /// - `flags`: 0 or FERRUM_ONNX_\* flags.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS without FERRUM_ONNX_REPLACE;
    /// FERRUM_ERROR_UNSUPPORTED for what ONNX does not have, with its name;
    /// FERRUM_ERROR_RESOURCE_EXHAUSTED for a disk without enough free space; errors of
    /// ferrum_model_export_json.
    pub fn ferrum_model_export_onnx(
        path: *const c_char,
        file: *const c_char,
        flags: u32,
    ) -> ferrum_status;

    /// Writes a definition as a file of ONNX.
    ///
    /// - `definition_text,definition_bytes`: as for ferrum_definition_validate_json.
    /// - `weights`: the tensors of the definition; {0}: its parameters are initialised as it
    ///   states.
    /// - `file,flags`: as for ferrum_model_export_onnx.
    ///
    /// Returns FERRUM_ERROR_INVALID_FORMAT for a text that is no definition;
    /// FERRUM_ERROR_INVALID_CONFIG for a definition with issues that stop a build; errors
    /// of ferrum_model_export_onnx.
    pub fn ferrum_definition_export_onnx(
        definition_text: *const c_char,
        definition_bytes: usize,
        weights: ferrum_weights,
        file: *const c_char,
        flags: u32,
    ) -> ferrum_status;

    /// Checks the model in a folder or a file without building it, and returns the issues as
    /// JSON. Warnings let a build go on; issues of the severity error or critical stop it.
    ///
    /// - `path`: as for ferrum_model_export_json.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND and FERRUM_ERROR_IO for a file that cannot be read. What
    /// is wrong with the model is an issue, and the call succeeds.
    pub fn ferrum_model_validate_json(
        path: *const c_char,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Checks a definition, and returns the issues as JSON.
    ///
    /// - `definition_text`: the definition.
    /// - `definition_bytes`: its length, at most FERRUM_WEIGHTS_JSON_MAX.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_INVALID_FORMAT for a text that is no definition.
    pub fn ferrum_definition_validate_json(
        definition_text: *const c_char,
        definition_bytes: usize,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns what the library can build, as JSON: architectures, formats of weights,
    /// optimizations and capabilities.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_builder_info_json(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Estimates how long the build of a definition takes on this machine, as JSON. Earlier
    /// builds of the process make the estimate better.
    ///
    /// - `definition_text,definition_bytes`: as for ferrum_definition_validate_json.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_INVALID_FORMAT for a text that is no definition.
    pub fn ferrum_build_estimate_json(
        definition_text: *const c_char,
        definition_bytes: usize,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the memory of the activations of a definition on a backend for given lengths of its
    /// dimensions, as JSON, without building it.
    ///
    /// - `definition_text,definition_bytes`: as for ferrum_definition_validate_json.
    /// - `optimization_level`: 0 to 3, as in the options of a build.
    /// - `dimensions_text,dimensions_bytes`: as for ferrum_executor_plan_json.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_INVALID_FORMAT for the texts; FERRUM_ERROR_INVALID_CONFIG for a
    /// definition with issues that stop a build; errors of ferrum_executor_plan_json.
    pub fn ferrum_compute_plan_json(
        compute: ferrum_compute,
        definition_text: *const c_char,
        definition_bytes: usize,
        optimization_level: u32,
        dimensions_text: *const c_char,
        dimensions_bytes: usize,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Builds a model. Returns when the executor can run. The build registers the model in the
    /// elastic pool. After an error nothing is left.
    ///
    /// Returns FERRUM_ERROR_INVALID_CONFIG for options, and for a definition with issues that
    /// stop a build, with the first one; FERRUM_ERROR_INVALID_ARGUMENT for the request,
    /// and for weights that do not fit the definition, with the name of the tensor and
    /// both shapes; FERRUM_ERROR_UNSUPPORTED for a kind of model or an option that the
    /// library does not have; FERRUM_ERROR_MODEL_ALREADY_EXISTS for the id of another model of
    /// the pool; FERRUM_ERROR_CANCELLED; FERRUM_ERROR_TIMEOUT after build_timeout_seconds;
    /// errors of the files, and of the memory.
    pub fn ferrum_executor_build(
        request: *const ferrum_build_request,
        executor_out: *mut ferrum_executor,
    ) -> ferrum_status;

    /// Runs a model. Returns when the outputs are complete. The work comes after the work that is
    /// queued on the stream. Runs of one executor follow each other.
    ///
    /// - `inputs,input_count`: the inputs by name. An input that has a default may be missing.
    ///   An input of another type of integers or floating-point numbers is
    ///   converted. inputs is not NULL.
    /// - `outputs,output_count`: the outputs by name; others are not copied. {0}: the call
    ///   makes the tensor in the memory of the backend, and stores it there.
    ///   Otherwise a tensor with the type and the shape of the result. outputs is
    ///   not NULL.
    /// - `timeout_ns`: the longest wait for other calls of the executor, and for a sleeping
    ///   model to wake, in nanoseconds, or FERRUM_WAIT_FOREVER.
    ///   0: the call returns FERRUM_ERROR_BUSY instead.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for a name that is missing or unknown, for shapes
    /// that do not fit, with both, for an id that is not in the vocabulary, and for a
    /// tensor in the memory of the model itself; FERRUM_ERROR_BUSY, also for a tensor in
    /// memory that sleeps; FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_OUT_OF_MEMORY. After an
    /// error no output was made, and given outputs have no meaning.
    pub fn ferrum_executor_run(
        executor: ferrum_executor,
        inputs: *const ferrum_named_tensor,
        input_count: u64,
        outputs: *mut ferrum_named_tensor,
        output_count: u64,
        stream: ferrum_stream,
        timeout_ns: u64,
    ) -> ferrum_status;

    /// Returns the memory of the activations of an executor for given lengths of its dimensions,
    /// as JSON. Allocates no memory of the device; the model may sleep.
    ///
    /// - `dimensions_text`: a JSON object, such as {"batch": 8, "sequence": 128}.
    /// - `dimensions_bytes`: its length.
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    ///
    /// Returns FERRUM_ERROR_INVALID_ARGUMENT for a dimension that is missing or unknown, and for a
    /// length that the model does not take.
    pub fn ferrum_executor_plan_json(
        executor: ferrum_executor,
        dimensions_text: *const c_char,
        dimensions_bytes: usize,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the state of an executor, as JSON: its memory, inputs, outputs and counters.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_executor_info_json(
        executor: ferrum_executor,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Returns the definition that an executor runs, after the passes, as JSON.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_executor_definition_json(
        executor: ferrum_executor,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Writes the model of an executor as a file of ONNX, from the files or the weights of which
    /// it was built: its definition before the passes, and the elements as they are stored there.
    ///
    /// - `file,flags`: as for ferrum_model_export_onnx.
    ///
    /// Returns FERRUM_ERROR_INVALID_HANDLE if the weights of the build were closed; errors of
    /// ferrum_model_export_onnx.
    pub fn ferrum_executor_export_onnx(
        executor: ferrum_executor,
        file: *const c_char,
        flags: u32,
    ) -> ferrum_status;

    /// Returns what the build of an executor did, as JSON: warnings, the result of each pass, the
    /// time of each part and its estimate.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_executor_report_json(
        executor: ferrum_executor,
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Puts a model to sleep: its parameters are kept in host memory or a file, and the pages of
    /// parameters and arena are released (sleep.h). Addresses and plans stay. A run waits for the
    /// wake, or returns FERRUM_ERROR_BUSY.
    ///
    /// - `config`: settings, or NULL for FERRUM_SLEEP_CONFIG_INIT. tag and stream are not set,
    ///   and backing is not FERRUM_SLEEP_DISCARD.
    /// - `report_out`: optional, may be NULL.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE if the model sleeps; FERRUM_ERROR_TIMEOUT, and with a
    /// timeout of 0 FERRUM_ERROR_BUSY, while another call uses the model; errors of
    /// ferrum_elastic_pool_sleep_model. After an error the model is awake.
    pub fn ferrum_executor_sleep(
        executor: ferrum_executor,
        config: *const ferrum_sleep_config,
        report_out: *mut ferrum_sleep_report,
    ) -> ferrum_status;

    /// Wakes a sleeping model. Its parameters have the same bits as before.
    ///
    /// - `config`: settings, or NULL for FERRUM_WAKE_CONFIG_INIT. tag is not set.
    /// - `report_out`: optional, may be NULL.
    ///
    /// Returns FERRUM_ERROR_INVALID_STATE if the model is awake; FERRUM_ERROR_OUT_OF_MEMORY; errors
    /// of ferrum_elastic_pool_wake_model. After an error the model sleeps.
    pub fn ferrum_executor_wake(
        executor: ferrum_executor,
        config: *const ferrum_wake_config,
        report_out: *mut ferrum_wake_report,
    ) -> ferrum_status;

    /// Ends a handle of an executor. The last handle of a model, with those that have a name,
    /// frees its memory.
    ///
    /// - `flags`: 0 or FERRUM_FORCE: the call waits for the calls that use the model.
    ///
    /// Returns FERRUM_ERROR_BUSY while another call uses the model, if this is its last handle.
    pub fn ferrum_executor_destroy(executor: ferrum_executor, flags: u32) -> ferrum_status;

    /// Gives an executor a name. The name keeps the model until ferrum_executor_remove_name. The
    /// handle stays the caller's.
    ///
    /// - `name`: 1 to 63 bytes of UTF-8.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS for a name that another executor, or this one, has.
    pub fn ferrum_executor_add_name(
        executor: ferrum_executor,
        name: *const c_char,
    ) -> ferrum_status;

    /// Finds an executor by its name.
    ///
    /// - `executor_out`: a further handle of the executor, which the caller destroys.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND.
    pub fn ferrum_executor_find(
        name: *const c_char,
        executor_out: *mut ferrum_executor,
    ) -> ferrum_status;

    /// Ends a name of an executor.
    ///
    /// - `executor_out`: the handle that the name had, which the caller destroys.
    ///
    /// Returns FERRUM_ERROR_NOT_FOUND.
    pub fn ferrum_executor_remove_name(
        name: *const c_char,
        executor_out: *mut ferrum_executor,
    ) -> ferrum_status;

    /// Lists the executors that have a name, as JSON: {"executors": \[...\]} in the order of the
    /// names, each with its name and the fields of ferrum_executor_info_json.
    ///
    /// - `buffer,capacity,length_out`: as for ferrum_backends_json.
    pub fn ferrum_executors_json(
        buffer: *mut c_char,
        capacity: usize,
        length_out: *mut usize,
    ) -> ferrum_status;

    /// Registers a pass of the program. The option "passes" of a build may name it from then on,
    /// and ferrum_builder_info_json lists it. ferrum_registration_remove removes it, and returns
    /// FERRUM_ERROR_BUSY while a call uses the pass. A forced ferrum_shutdown waits for its running
    /// functions and removes it.
    ///
    /// - `pass`: the call copies it and its texts. After an error release is not called.
    ///
    /// Returns FERRUM_ERROR_ALREADY_EXISTS for the name of another pass;
    /// FERRUM_ERROR_INVALID_ARGUMENT for another name that is not possible, and for such a
    /// dependency; FERRUM_ERROR_NULL_POINTER for apply. Whether the dependencies exist, and
    /// are without a cycle, is checked when passes run.
    pub fn ferrum_pass_register(
        pass: *const ferrum_pass,
        registration_out: *mut ferrum_registration,
    ) -> ferrum_status;

    /// Runs passes over a definition. Nothing is built.
    ///
    /// - `definition_text,definition_bytes`: as for ferrum_definition_validate_json.
    /// - `passes_text`: a JSON list of the names of the passes, such as \["fold_constants"\];
    ///   NULL: the passes of optimization_level 2.
    /// - `passes_bytes`: its length, at most FERRUM_WEIGHTS_JSON_MAX.
    /// - `optimized`: called once after a success. Not NULL.
    /// - `user_data`: passed to optimized.
    ///
    /// Returns FERRUM_ERROR_INVALID_FORMAT for the texts, and for a text that a pass returns;
    /// FERRUM_ERROR_INVALID_CONFIG for a definition with issues that stop a build, given
    /// or made by a pass, with the path of the first one; FERRUM_ERROR_MODEL for a pass that
    /// changes the inputs or outputs; FERRUM_ERROR_NOT_FOUND for a name without a pass, and
    /// for a dependency that is not in the list; FERRUM_ERROR_INVALID_ARGUMENT for
    /// dependencies in a cycle; FERRUM_ERROR_ALREADY_EXISTS for a name that occurs twice;
    /// errors of the passes.
    pub fn ferrum_definition_optimize(
        definition_text: *const c_char,
        definition_bytes: usize,
        passes_text: *const c_char,
        passes_bytes: usize,
        optimized: ferrum_optimized_fn,
        user_data: *mut c_void,
    ) -> ferrum_status;
}
