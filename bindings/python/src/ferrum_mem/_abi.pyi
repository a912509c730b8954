# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The C ABI as ctypes sees it: constants, structs, callbacks and functions.

A struct and the types of a function are made when they are asked for first.
"""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

class Status(NamedTuple):
    """A row of FERRUM_STATUS_TABLE."""

    name: str
    value: int
    text: str

FERRUM_OK = 0
FERRUM_ERROR_INTERNAL = -1
FERRUM_ERROR_POISONED = -2
FERRUM_ERROR_FORKED = -3
FERRUM_ERROR_NOT_INITIALIZED = -4
FERRUM_ERROR_INVALID_STATE = -5
FERRUM_ERROR_NULL_POINTER = -6
FERRUM_ERROR_INVALID_HANDLE = -7
FERRUM_ERROR_INVALID_ARGUMENT = -8
FERRUM_ERROR_INVALID_SIZE = -9
FERRUM_ERROR_INVALID_ALIGNMENT = -10
FERRUM_ERROR_INVALID_STRUCT = -11
FERRUM_ERROR_INVALID_OFFSET = -12
FERRUM_ERROR_INVALID_ADDRESS = -13
FERRUM_ERROR_INVALID_CONFIG = -14
FERRUM_ERROR_INVALID_FORMAT = -15
FERRUM_ERROR_OVERFLOW = -16
FERRUM_ERROR_BUFFER_TOO_SMALL = -17
FERRUM_ERROR_OUT_OF_MEMORY = -18
FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY = -19
FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY = -20
FERRUM_ERROR_RESOURCE_EXHAUSTED = -21
FERRUM_ERROR_DOUBLE_FREE = -22
FERRUM_ERROR_BUSY = -23
FERRUM_ERROR_TIMEOUT = -24
FERRUM_ERROR_CANCELLED = -25
FERRUM_ERROR_NOT_FOUND = -26
FERRUM_ERROR_ALREADY_EXISTS = -27
FERRUM_ERROR_DEVICE_NOT_FOUND = -28
FERRUM_ERROR_BACKEND_UNAVAILABLE = -29
FERRUM_ERROR_UNSUPPORTED = -30
FERRUM_ERROR_UNSUPPORTED_DEVICE = -31
FERRUM_ERROR_DEVICE = -32
FERRUM_ERROR_DEVICE_LOST = -33
FERRUM_ERROR_MAPPING_FAILED = -34
FERRUM_ERROR_UNMAPPING_FAILED = -35
FERRUM_ERROR_ALREADY_MAPPED = -36
FERRUM_ERROR_NOT_MAPPED = -37
FERRUM_ERROR_INVALID_PAGE_SIZE = -38
FERRUM_ERROR_MODEL_NOT_FOUND = -39
FERRUM_ERROR_MODEL_ALREADY_EXISTS = -40
FERRUM_ERROR_MODEL = -41
FERRUM_ERROR_IO = -42
FERRUM_ERROR_PERMISSION_DENIED = -43
FERRUM_ERROR_NETWORK = -44
FERRUM_ERROR_AUTHENTICATION = -45
FERRUM_ERROR_RATE_LIMITED = -46
FERRUM_ERROR_SERIALIZATION = -47
FERRUM_ERROR_CORRUPTED = -48
STATUSES: tuple[Status, ...]

# Types

# Status of a call: one of the codes of FERRUM_STATUS_TABLE.
ferrum_status = ctypes.c_int32
# An address in a device's memory; on a host device also a pointer.
ferrum_address = ctypes.c_uint64
# Severity of a log message.
ferrum_log_level = ctypes.c_int32
# A backend. FERRUM_BACKEND_AUTO is only a preference. The numbers are in the order of the lists.
# The order of preference is the same, except that the CPU comes last.
ferrum_backend = ctypes.c_int32
# Pressure levels, by the share of total_bytes that is not free.
ferrum_pressure_level = ctypes.c_int32
# How a pool allocates memory from its device.
ferrum_paging = ctypes.c_int32
# Source of the segments of a pool.
ferrum_segment_source = ctypes.c_int32
# State of the memory at an address.
ferrum_block_state = ctypes.c_int32
# Purpose of a block. Each type may have a pool of its own.
ferrum_memory_type = ctypes.c_int32
# Kind of the physical memory of pages.
ferrum_backing = ctypes.c_int32
# Place of the contents of ranges that are asleep.
ferrum_sleep_backing = ctypes.c_int32
# The bounds of the pressure levels. Each bound belongs to the higher level.
ferrum_pressure_profile = ctypes.c_int32
# Reason why a device was chosen or not. A device with a reason from 16 on cannot serve the request.
ferrum_placement_reason = ctypes.c_int32
# Type of the elements of a tensor or a buffer.
ferrum_dtype = ctypes.c_int32
# Ready-made settings. Each lists fraction, fallback, min_free_bytes, free buffers of a bucket, and
# of all buckets together.
ferrum_memory_preset = ctypes.c_int32
# Side of a buffer.
ferrum_buffer_location = ctypes.c_int32
# Allowed sides of a new buffer.
ferrum_buffer_place = ctypes.c_int32
# How a program uses a mapping.
ferrum_host_access = ctypes.c_int32
# Expected use of a block. There are three groups of hints: order, direction and lifetime. A block
# has one hint of each group.
ferrum_usage_hint = ctypes.c_int32
# Observed pattern of the latest accesses to a block.
ferrum_access_pattern = ctypes.c_int32
# Where a source is.
ferrum_weights_source_kind = ctypes.c_int32
# The format of a file of tensors.
ferrum_weights_format = ctypes.c_int32
# The kind of a backend.
ferrum_compute_type = ctypes.c_int32
# When the memory of a backend is taken from the device.
ferrum_compute_growth = ctypes.c_int32
# A phase of a build. The phases follow each other in this order.
ferrum_build_phase = ctypes.c_int32

# Constants

# Version of the package.
FERRUM_VERSION_MAJOR = 0
FERRUM_VERSION_MINOR = 1
FERRUM_VERSION_PATCH = 0
# Version of the binary interface. It grows by one with the first addition after a recorded baseline
# (docs/abi.md). A library whose ferrum_abi_version() is at least the header's can serve a program
# that was built with that header, as long as the SONAME is the same.
FERRUM_ABI_VERSION = 20
# Timeout that waits without an end.
FERRUM_WAIT_FOREVER = 0xFFFFFFFFFFFFFFFF
# Flag of the destroy, close and shutdown calls: end the object although it is in use. The call also
# frees everything that uses the object, and logs it. Handles of freed objects become invalid.
FERRUM_FORCE = 1
# Accept a host_memory_bytes above the memory of the machine.
FERRUM_CONFIG_HOST_MEMORY_FORCED = 1
# Query vendor libraries for devices in this process, instead of in short-lived processes of their
# own. Use it where the system forbids starting programs. A broken driver may then end this process.
# FERRUM_PROBE=in_process in the environment has the same effect.
FERRUM_CONFIG_PROBE_IN_PROCESS = 2
# Do not add SA_ONSTACK to signal handlers; see ferrum_init. The program then has to make sure that
# each handler has the flag. No handler is installed for SIGBUS either, so the use of a page that a
# mapped file of weights has lost is a signal. FERRUM_SIGNAL_HANDLERS=leave in the environment has
# the same effect.
FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS = 4
# Flags of the numbers in ferrum_error_info that a failure states.
FERRUM_FACT_OFFSET_BYTES = 1
FERRUM_FACT_SIZE_BYTES = 2
FERRUM_FACT_CAPACITY_BYTES = 4
FERRUM_FACT_PAGE_BYTES = 8
FERRUM_FACT_REQUESTED_BYTES = 16
FERRUM_FACT_AVAILABLE_BYTES = 32
FERRUM_FACT_LARGEST_FREE_BYTES = 64
# Details for developers of the library.
FERRUM_LOG_DEBUG = 0
# Normal events.
FERRUM_LOG_INFO = 1
# Possible problems.
FERRUM_LOG_WARNING = 2
# Errors.
FERRUM_LOG_ERROR = 3
# Auto: the library chooses.
FERRUM_BACKEND_AUTO = 0
# CPU: the host.
FERRUM_BACKEND_CPU = 1
# CUDA: devices of NVIDIA's driver.
FERRUM_BACKEND_CUDA = 2
# ROCm: devices of the HIP runtime.
FERRUM_BACKEND_ROCM = 3
# Metal: devices of macOS.
FERRUM_BACKEND_METAL = 4
# OpenCL: devices of all its platforms.
FERRUM_BACKEND_OPENCL = 5
# An address of the device is also a pointer of the host.
FERRUM_CAPABILITY_HOST_ADDRESSABLE = 1
# The device copies directly from other devices of its backend.
FERRUM_CAPABILITY_PEER = 2
# Virtual and elastic pools work on the device.
FERRUM_CAPABILITY_VIRTUAL_MEMORY = 4
# The device supports FERRUM_MEMORY_PINNED and FERRUM_MEMORY_MAPPED, within the limits of the
# system.
FERRUM_CAPABILITY_PINNED_MEMORY = 8
# ferrum_manager_create_mapping() works between the device and others of its backend.
FERRUM_CAPABILITY_LINKED_MEMORY = 16
# Virtual pools can have FERRUM_BACKING_SHAREABLE, and ferrum_manager_import_pages() works.
FERRUM_CAPABILITY_EXPORTED_PAGES = 32
# ferrum_device_share_memory() and ferrum_event_share() work between processes.
FERRUM_CAPABILITY_SHARED_MEMORY = 64
# ferrum_pool_capture_begin() works: streams can be captured.
FERRUM_CAPABILITY_CAPTURE = 128
# FERRUM_MEMORY_MANAGED is memory that migrates to the processor that uses it. On a device without
# this capability, managed memory is memory of the device itself if the device is
# FERRUM_CAPABILITY_HOST_ADDRESSABLE; otherwise it is not supported.
FERRUM_CAPABILITY_MANAGED_MEMORY = 256
# ferrum_manager_adopt() page-locks memory of the process.
FERRUM_CAPABILITY_REGISTERED_MEMORY = 512
# Pools can have FERRUM_SEGMENTS_STREAM_ORDERED.
FERRUM_CAPABILITY_STREAM_ORDERED = 1024
# Virtual and elastic pools can have FERRUM_BACKING_RDMA.
FERRUM_CAPABILITY_RDMA_PAGES = 2048
# Virtual pools can have FERRUM_BACKING_FABRIC.
FERRUM_CAPABILITY_FABRIC_PAGES = 4096
# Below 70 %, or unknown (total_bytes 0).
FERRUM_PRESSURE_LOW = 0
# From 70 %.
FERRUM_PRESSURE_MEDIUM = 1
# From 85 %.
FERRUM_PRESSURE_HIGH = 2
# From 95 %.
FERRUM_PRESSURE_CRITICAL = 3
# Largest alignment of a request: 1 GiB.
FERRUM_ALIGNMENT_MAX = 0x40000000
# Page by page, if the device supports it and the pool may hold at least 32 pages; otherwise in
# segments.
FERRUM_PAGING_AUTO = 0
# In whole segments.
FERRUM_PAGING_OFF = 1
# Page by page.
FERRUM_PAGING_ON = 2
# The device.
FERRUM_SEGMENTS_PLAIN = 0
# A pool of the vendor's runtime that allocates in the order of a stream. Releasing a segment then
# waits only for work that uses the segment; otherwise the runtime may wait for other work too. The
# runtime's pool belongs to this device alone and caches nothing.
FERRUM_SEGMENTS_STREAM_ORDERED = 1
# 1 GiB, or the upper bound where that is less.
FERRUM_INITIAL_SIZE_AUTO = 0xFFFFFFFFFFFFFFFF
# The library chooses.
FERRUM_READY_PAGES_AUTO = 0xFFFFFFFF
# All idle pages stay in the pool. They are released only on request.
FERRUM_READY_PAGES_ALL = 0xFFFFFFFE
# The library chooses.
FERRUM_THREAD_CACHE_AUTO = 0xFFFFFFFFFFFFFFFF
# Nothing.
FERRUM_THREAD_CACHE_OFF = 0
# Puts a red zone before and after every block, and checks both when the block is freed.
FERRUM_DEBUG_RED_ZONES = 1
# Overwrites blocks when they are allocated and when they are freed.
FERRUM_DEBUG_POISON = 2
# Keeps freed blocks for a while and checks them for late writes.
FERRUM_DEBUG_QUARANTINE = 4
# Records the call sites of allocation and free of each block, for reports.
FERRUM_DEBUG_CALL_SITES = 8
# All debug flags.
FERRUM_DEBUG_ALL = 15
# Largest number of blocks in a batch.
FERRUM_BATCH_MAX = 0x100000
# A live block.
FERRUM_BLOCK_LIVE = 0
# A freed block that queued work may still use, or that is in quarantine.
FERRUM_BLOCK_IN_FLIGHT = 1
# A freed block in a thread cache, or a freed page that is still mapped.
FERRUM_BLOCK_CACHED = 2
# Free memory of a pool, or free address space of a virtual pool.
FERRUM_BLOCK_FREE = 3
# Memory of a pool that the pool cannot allocate.
FERRUM_BLOCK_UNUSABLE = 4
# A range that is asleep: it has its address and no memory.
FERRUM_BLOCK_ASLEEP = 5
# Anything.
FERRUM_MEMORY_GENERAL = 0
# Tensors.
FERRUM_MEMORY_TENSOR = 1
# The KV cache.
FERRUM_MEMORY_CACHE = 2
# Scratch memory.
FERRUM_MEMORY_TEMPORARY = 3
# Page-locked host memory, which the system does not swap. The system limits its size; above that
# limit the call returns FERRUM_ERROR_RESOURCE_EXHAUSTED, and the message states the limit. A
# defragmentation does not move it. FERRUM_ERROR_UNSUPPORTED on a device without it.
FERRUM_MEMORY_PINNED = 4
# Memory that the host and other devices can address: memory of the device if the host can address
# that, otherwise page-locked host memory.
FERRUM_MEMORY_MAPPED = 5
# Memory that the host and devices address at the same time. The system migrates it to the processor
# that uses it; ferrum_memory_prefetch and ferrum_memory_set_usage_hint announce that use. On a
# device whose memory the host can address, it is memory of the device. Elsewhere its address never
# changes, only the counters of its manager contain it, and it needs no physical memory before its
# first use. More of it than the memory of the device is possible, and slow.
# FERRUM_ERROR_UNSUPPORTED on a device without FERRUM_CAPABILITY_MANAGED_MEMORY.
FERRUM_MEMORY_MANAGED = 6
# Number of memory types.
FERRUM_MEMORY_TYPE_COUNT = 7
# A defragmentation may move the block while nothing uses it. Its address changes then.
# ferrum_memory_pin prevents the move.
FERRUM_ALLOCATE_RELOCATABLE = 1
# The memory can be mapped at another address. On the host, a child made by fork() does not inherit
# this memory, because parent and child would share it.
FERRUM_BACKING_MOVABLE = 0
# The contents are lost when a page is mapped elsewhere. On some devices mapping and unmapping are
# quicker. On the host, a child made by fork() has a copy of the contents at that moment.
FERRUM_BACKING_PRIVATE = 1
# Movable, and ferrum_vpool_export() passes the memory to other processes. A device without
# FERRUM_CAPABILITY_EXPORTED_PAGES does not support it. On the host each page is a file.
FERRUM_BACKING_SHAREABLE = 2
# Movable, and other hardware such as network cards can read and write the memory without the host
# (GPUDirect RDMA) after the program has registered it there. A device without
# FERRUM_CAPABILITY_RDMA_PAGES does not support it. The program has to remove that registration
# before it frees the range.
FERRUM_BACKING_RDMA = 3
# Movable, and ferrum_vpool_export_fabric passes the memory to processes on other hosts. A device
# without FERRUM_CAPABILITY_FABRIC_PAGES does not support it.
FERRUM_BACKING_FABRIC = 4
# Memory of this process. For a device whose memory the host cannot address, it is page-locked, as
# far as half of the machine's memory suffices.
FERRUM_SLEEP_HOST = 0
# A file with checksums, which a wake compares. The file belongs to this process. It is removed when
# all of its contents have been woken or freed, or when its pool or model ends, unless another file
# has its name by then. The next sleep in the same directory removes the file of a process that was
# killed; the library recognizes such a file by its first bytes and by its lock. It touches no other
# file.
FERRUM_SLEEP_FILE = 1
# Nowhere: a wake returns zeros.
FERRUM_SLEEP_DISCARD = 2
# Largest length of a path, with the closing NUL.
FERRUM_PATH_MAX = 4096
# MEDIUM from 70 %, HIGH from 85 %, CRITICAL from 95 %.
FERRUM_PRESSURE_PROFILE_STANDARD = 0
# MEDIUM from 60 %, HIGH from 80 %, CRITICAL from 95 %.
FERRUM_PRESSURE_PROFILE_EARLY = 1
# Ignore the memory pressure that the system reports.
FERRUM_MONITOR_IGNORE_SYSTEM = 1
# The request must not wait: devices that would have to release memory first are not considered.
FERRUM_PLACEMENT_CRITICAL = 1
# Chooses the first preferred device that can serve the request, independent of its score. Without
# this flag, preference is a part of the score.
FERRUM_PLACEMENT_STRICT = 2
# Devices that would reach the level CRITICAL are not considered. Without this flag they come last.
FERRUM_PLACEMENT_REFUSE_CRITICAL = 4
# Largest number of devices in each list of a request.
FERRUM_PLACEMENT_DEVICES_MAX = 1024
# This device is chosen.
FERRUM_PLACEMENT_CHOSEN = 0
# Another device has a higher score, or the same score and an earlier position.
FERRUM_PLACEMENT_OUTSCORED = 1
# Another device is in a better tier.
FERRUM_PLACEMENT_LOWER_TIER = 2
# The order of preference selects another device.
FERRUM_PLACEMENT_NOT_PREFERRED = 3
# Round robin selects another device now.
FERRUM_PLACEMENT_NOT_ITS_TURN = 4
# The caller's strategy chose another device, or none.
FERRUM_PLACEMENT_NOT_TAKEN = 5
# The state of the device is not known.
FERRUM_PLACEMENT_NO_INFORMATION = 16
# The device has fewer free bytes than the request needs.
FERRUM_PLACEMENT_TOO_SMALL = 17
# The device has no memory of the type.
FERRUM_PLACEMENT_WRONG_MEMORY_TYPE = 18
# The device would have to release memory first, and the request is critical.
FERRUM_PLACEMENT_NEEDS_EVICTION = 19
# The device would reach FERRUM_PRESSURE_CRITICAL, which the request does not allow.
FERRUM_PLACEMENT_WOULD_BE_CRITICAL = 20
# The original formula gives no score for the device.
FERRUM_PLACEMENT_UNSCORED = 21
# Store the attention scores of each token with its whole sequence, as attention without a fused
# kernel does.
FERRUM_ESTIMATE_EAGER_ATTENTION = 1
# Compute logits for every token, instead of the last token of each sequence.
FERRUM_ESTIMATE_ALL_LOGITS = 2
# 32-bit floating point.
FERRUM_DTYPE_F32 = 0
# 16-bit floating point.
FERRUM_DTYPE_F16 = 1
# 16-bit floating point with the exponent of the 32-bit type (bfloat16).
FERRUM_DTYPE_BF16 = 2
# 64-bit floating point.
FERRUM_DTYPE_F64 = 3
# 8-bit floating point with 4 bits of exponent (f8_e4m3, E4M3FN).
FERRUM_DTYPE_F8 = 4
# 8-bit signed integer.
FERRUM_DTYPE_I8 = 5
# 8-bit unsigned integer.
FERRUM_DTYPE_U8 = 6
# 16-bit signed integer.
FERRUM_DTYPE_I16 = 7
# 32-bit signed integer.
FERRUM_DTYPE_I32 = 8
# 64-bit signed integer.
FERRUM_DTYPE_I64 = 9
# 16-bit unsigned integer.
FERRUM_DTYPE_U16 = 10
# 32-bit unsigned integer.
FERRUM_DTYPE_U32 = 11
# 64-bit unsigned integer.
FERRUM_DTYPE_U64 = 12
# One byte, 0 or 1.
FERRUM_DTYPE_BOOL = 13
# 8-bit floating point with 5 bits of exponent.
FERRUM_DTYPE_F8_E5M2 = 14
# 8-bit exponent without a mantissa, for scales.
FERRUM_DTYPE_F8_E8M0 = 15
# 4-bit floating point, two in a byte.
FERRUM_DTYPE_F4_E2M1 = 16
# 4-bit signed integer, two in a byte.
FERRUM_DTYPE_I4 = 17
# 4-bit unsigned integer, two in a byte.
FERRUM_DTYPE_U4 = 18
# Complex number of two 32-bit floating-point numbers.
FERRUM_DTYPE_C64 = 19
# 6-bit floating point with 2 bits of exponent, four in three bytes.
FERRUM_DTYPE_F6_E2M3 = 20
# 6-bit floating point with 3 bits of exponent, four in three bytes.
FERRUM_DTYPE_F6_E3M2 = 21
# f8_e4m3 with one NaN and no negative zero.
FERRUM_DTYPE_F8_E4M3FNUZ = 22
# f8_e5m2 with one NaN and no negative zero.
FERRUM_DTYPE_F8_E5M2FNUZ = 23
# Blocks of GGUF: 32 elements in 18 bytes.
FERRUM_DTYPE_Q4_0 = 258
# Blocks of GGUF: 32 elements in 20 bytes.
FERRUM_DTYPE_Q4_1 = 259
# Blocks of GGUF: 32 elements in 22 bytes.
FERRUM_DTYPE_Q5_0 = 262
# Blocks of GGUF: 32 elements in 24 bytes.
FERRUM_DTYPE_Q5_1 = 263
# Blocks of GGUF: 32 elements in 34 bytes.
FERRUM_DTYPE_Q8_0 = 264
# Blocks of GGUF: 256 elements in 84 bytes.
FERRUM_DTYPE_Q2_K = 266
# Blocks of GGUF: 256 elements in 110 bytes.
FERRUM_DTYPE_Q3_K = 267
# Blocks of GGUF: 256 elements in 144 bytes.
FERRUM_DTYPE_Q4_K = 268
# Blocks of GGUF: 256 elements in 176 bytes.
FERRUM_DTYPE_Q5_K = 269
# Blocks of GGUF: 256 elements in 210 bytes.
FERRUM_DTYPE_Q6_K = 270
# Blocks of GGUF: 256 elements in 292 bytes.
FERRUM_DTYPE_Q8_K = 271
# Blocks of GGUF: 256 elements in 66 bytes.
FERRUM_DTYPE_IQ2_XXS = 272
# Blocks of GGUF: 256 elements in 74 bytes.
FERRUM_DTYPE_IQ2_XS = 273
# Blocks of GGUF: 256 elements in 98 bytes.
FERRUM_DTYPE_IQ3_XXS = 274
# Blocks of GGUF: 256 elements in 50 bytes.
FERRUM_DTYPE_IQ1_S = 275
# Blocks of GGUF: 32 elements in 18 bytes.
FERRUM_DTYPE_IQ4_NL = 276
# Blocks of GGUF: 256 elements in 110 bytes.
FERRUM_DTYPE_IQ3_S = 277
# Blocks of GGUF: 256 elements in 82 bytes.
FERRUM_DTYPE_IQ2_S = 278
# Blocks of GGUF: 256 elements in 136 bytes.
FERRUM_DTYPE_IQ4_XS = 279
# Blocks of GGUF: 256 elements in 56 bytes.
FERRUM_DTYPE_IQ1_M = 285
# Blocks of GGUF: 256 elements in 54 bytes.
FERRUM_DTYPE_TQ1_0 = 290
# Blocks of GGUF: 256 elements in 66 bytes.
FERRUM_DTYPE_TQ2_0 = 291
# Blocks of GGUF: 32 elements in 17 bytes.
FERRUM_DTYPE_MXFP4 = 295
# Blocks of GGUF: 64 elements in 36 bytes.
FERRUM_DTYPE_NVFP4 = 296
# Blocks of GGUF: 128 elements in 18 bytes.
FERRUM_DTYPE_Q1_0 = 297
# Create buffers on the host when the device has no room.
FERRUM_MEMORY_CPU_FALLBACK = 1
# Record every buffer in use in a tracker.
FERRUM_MEMORY_TRACK_ALLOCATIONS = 2
# Create the pool with a free buffer of each of pre_allocate_sizes. The creation fails if one of
# them fails.
FERRUM_MEMORY_PRE_ALLOCATE = 4
# Largest number of preallocated sizes.
FERRUM_PRE_ALLOCATE_MAX = 4096
# 0.9, fallback, 512 MiB, 8, 1 GiB: FERRUM_MEMORY_CONFIG_INIT.
FERRUM_MEMORY_PRESET_DEFAULT = 0
# 0.95, fallback, 256 MiB, 4, 512 MiB: the most memory.
FERRUM_MEMORY_PRESET_INFERENCE = 1
# 0.8, no fallback, 1 GiB, 16, 4 GiB: an allocation fails when the device has no room, instead of
# becoming slow.
FERRUM_MEMORY_PRESET_TRAINING = 2
# 0.7, fallback, 128 MiB, 2, 64 MiB: for devices with little memory.
FERRUM_MEMORY_PRESET_CONSTRAINED = 3
# On the device.
FERRUM_LOCATION_GPU = 0
# On the host.
FERRUM_LOCATION_CPU = 1
# On the device, or on the host when the device has no room.
FERRUM_PLACE_EITHER = 0
# On the device only.
FERRUM_PLACE_GPU = 1
# On the host; it does not count as a fallback.
FERRUM_PLACE_CPU = 2
# After a fallback, the manager may move the buffer to the device when another buffer is freed and
# this one is not pinned.
FERRUM_BUFFER_MOVABLE = 1
# Reads only.
FERRUM_HOST_READ_ONLY = 0
# Writes only. Bytes that are not written have no defined value afterwards.
FERRUM_HOST_WRITE_ONLY = 1
# Reads and writes.
FERRUM_HOST_READ_WRITE = 2
# Size of a mapping from the offset to the end of the block.
FERRUM_MAP_TO_END = 0xFFFFFFFFFFFFFFFF
# No hint. Setting it removes all other hints.
FERRUM_USAGE_NONE = 0
# Order: sequential accesses.
FERRUM_USAGE_SEQUENTIAL = 1
# Order: accesses at random places.
FERRUM_USAGE_RANDOM = 2
# Direction: mostly read.
FERRUM_USAGE_READ_MOSTLY = 3
# Direction: mostly written.
FERRUM_USAGE_WRITE_MOSTLY = 4
# Lifetime: temporary; it may be released early.
FERRUM_USAGE_TEMPORARY = 5
# Lifetime: to be kept resident.
FERRUM_USAGE_RESIDENT = 6
# Too few accesses.
FERRUM_PATTERN_UNKNOWN = 0
# Sequential accesses.
FERRUM_PATTERN_SEQUENTIAL = 1
# Accesses at random places.
FERRUM_PATTERN_RANDOM = 2
# Accesses that come in clusters.
FERRUM_PATTERN_BURST = 3
# More than one of these.
FERRUM_PATTERN_MIXED = 4
# Number of bytes of the handle of one page.
FERRUM_FABRIC_HANDLE_BYTES = 64
# Largest number of dimensions of a tensor.
FERRUM_WEIGHTS_RANK_MAX = 16
# Largest size of the name of a tensor in a call, with its NUL. Longer names can be loaded, listed
# and found by index.
FERRUM_WEIGHTS_NAME_MAX = 1024
# Largest size of each JSON text that a call of this section takes.
FERRUM_WEIGHTS_JSON_MAX = 0x1000000
# A file, the index of several files, or a folder.
FERRUM_WEIGHTS_SOURCE_FILE = 0
# The bytes of a file in memory of the caller.
FERRUM_WEIGHTS_SOURCE_MEMORY = 1
# A web address. The library does not use the network, so the call returns FERRUM_ERROR_UNSUPPORTED.
FERRUM_WEIGHTS_SOURCE_URL = 2
# A model of the Hugging Face hub. The call returns FERRUM_ERROR_UNSUPPORTED.
FERRUM_WEIGHTS_SOURCE_HUGGING_FACE = 3
# An object of an S3 store. The call returns FERRUM_ERROR_UNSUPPORTED.
FERRUM_WEIGHTS_SOURCE_S3 = 4
# The library detects the format from the content of the file.
FERRUM_WEIGHTS_FORMAT_ANY = 0
# Files of torch.save.
FERRUM_WEIGHTS_FORMAT_PYTORCH = 1
# Files of safetensors.
FERRUM_WEIGHTS_FORMAT_SAFETENSORS = 2
# Files of NumPy: npy and npz.
FERRUM_WEIGHTS_FORMAT_NUMPY = 3
# One tensor without a header.
FERRUM_WEIGHTS_FORMAT_RAW = 4
# The initialisers of an ONNX model.
FERRUM_WEIGHTS_FORMAT_ONNX = 5
# Files of GGUF.
FERRUM_WEIGHTS_FORMAT_GGUF = 6
# The format of a decoder of the program.
FERRUM_WEIGHTS_FORMAT_CUSTOM = 7
# The tensor has the memory of an earlier tensor of its set.
FERRUM_TENSOR_TIED = 1
# The bytes of the tensor are compressed in the file.
FERRUM_TENSOR_COMPRESSED = 2
# Largest number of memories of a load.
FERRUM_WEIGHTS_MEMORIES_MAX = 64
# Map the files instead of copying their bytes. The tensors are the mapped pages and are read-only.
# The load is over when ferrum_weights_load returns. If a file becomes shorter, its lost pages read
# as zeros, and ferrum_tensor_set_check returns an error (docs/hosts.md).
FERRUM_WEIGHTS_LOAD_MAP = 1
# Only read the bytes of the tensors into the page cache of the system. The set has no tensors.
# ferrum_tensor_set_free releases the pages that the load has read; pages that were in the cache
# before stay there.
FERRUM_WEIGHTS_LOAD_PRELOAD = 2
# Replace an existing file of that name.
FERRUM_WEIGHTS_CONVERT_REPLACE = 1
# Largest number of dimensions of a tensor.
FERRUM_TENSOR_RANK_MAX = 8
# The elements lie in the order of the shape, without gaps. As an argument: strides of the
# description are ignored.
FERRUM_ELEMENTS_CONTIGUOUS = 1
# The elements cannot be written.
FERRUM_ELEMENTS_READ_ONLY = 2
# The elements are packed for an engine, and nothing else reads them. Not an argument.
FERRUM_ELEMENTS_PACKED = 4
# There is no tensor: an absent input or output of an operation. Only for ferrum_op_infer.
FERRUM_ELEMENTS_ABSENT = 8
# A dimension of several indices has the stride 0: its elements have one place. As an argument:
# strides that are all 0 repeat one element. Without the flag such strides are those of elements
# without gaps.
FERRUM_ELEMENTS_REPEATED = 16
# Largest number of elements of an input that carries a shape, axes or sizes.
FERRUM_TENSOR_LIST_MAX = 4096
# Most blocks of a cache, and most blocks of its host.
FERRUM_KV_BLOCKS_MAX = 0x400000
# Most sequences of a cache.
FERRUM_KV_SEQUENCES_MAX = 0x10000
# Most tokens of a block, a sequence and a window.
FERRUM_KV_TOKENS_MAX = 0x4000000
# Most entries of block tables that one call returns.
FERRUM_KV_TABLE_ENTRIES_MAX = 0x1000000
# Largest number of inputs, and of outputs, of an operation.
FERRUM_OP_TENSORS_MAX = 1024
# As the id of an output of a run: the output is not wanted.
FERRUM_TENSOR_UNWANTED = 0xFFFFFFFFFFFFFFFF
# Not in this library: FERRUM_ERROR_UNSUPPORTED.
FERRUM_COMPUTE_CANDLE = 0
# ONNX Runtime, whose library is loaded when it is opened. It also runs files of ONNX with operators
# that this library lacks. Without its library: FERRUM_ERROR_UNSUPPORTED.
FERRUM_COMPUTE_ONNX_RUNTIME = 1
# Not in this library: FERRUM_ERROR_UNSUPPORTED.
FERRUM_COMPUTE_TENSORRT = 2
# Not in this library: FERRUM_ERROR_UNSUPPORTED.
FERRUM_COMPUTE_METAL = 3
# The CPU engine of this library.
FERRUM_COMPUTE_CPU = 4
# A backend that the program has registered with ferrum_compute_register.
FERRUM_COMPUTE_CUSTOM = 5
# The whole pool when the backend is opened; it does not grow.
FERRUM_COMPUTE_GROWTH_STATIC = 0
# When an allocation needs it.
FERRUM_COMPUTE_GROWTH_DYNAMIC = 1
# In quarters of the pool, the first one when the backend is opened.
FERRUM_COMPUTE_GROWTH_INCREMENTAL = 2
# Size of the message of a failed function, with its closing NUL.
FERRUM_COMPUTE_MESSAGE_MAX = 256
# An output may be the memory of an input that has the same type and strides. Without it, outputs
# overlap neither inputs nor each other.
FERRUM_COMPUTE_PLAN_IN_PLACE = 1
# As input_rank: the first input may have any shape.
FERRUM_LAYER_ANY_RANK = 0xFFFFFFFF
# An output may be the memory of an input of the same type and strides. Without it, outputs overlap
# neither inputs nor each other.
FERRUM_LAYER_IN_PLACE = 1
# Inputs and outputs may have any strides. Without it, they have no gaps: their elements lie in the
# order of the shape.
FERRUM_LAYER_STRIDES = 2
# One thread at a time calls forward.
FERRUM_LAYER_ONE_AT_A_TIME = 4
# Largest number of inputs, and of outputs, of a run of an executor.
FERRUM_EXECUTOR_TENSORS_MAX = 1024
# The elements of the tensors are in a second file, whose name is that of the model with the ending
# ".data". Models above 2 GiB always have it.
FERRUM_ONNX_EXTERNAL = 1
# Files that exist are replaced.
FERRUM_ONNX_REPLACE = 2
# The configuration and the definition are checked.
FERRUM_BUILD_VALIDATION = 0
# The headers of the weights, and their bytes, are read.
FERRUM_BUILD_WEIGHT_LOADING = 1
# The model gets its place in the elastic pool.
FERRUM_BUILD_MODEL_INITIALIZATION = 2
# The operations are prepared.
FERRUM_BUILD_LAYER_CONSTRUCTION = 3
# The parameters are connected with tensors of the weights.
FERRUM_BUILD_PARAMETER_BINDING = 4
# Passes run, and the parameters are placed and packed.
FERRUM_BUILD_OPTIMIZATION = 5
# The model runs once.
FERRUM_BUILD_FINAL_VALIDATION = 6
# What only the build needed is released.
FERRUM_BUILD_FINALIZATION = 7
# Largest length of a definition that a pass gets or returns.
FERRUM_DEFINITION_MAX = 0x4000000
# Largest number of dependencies of a pass.
FERRUM_PASS_DEPENDENCIES_MAX = 64
# Size of the message of a failed function, with its closing NUL.
FERRUM_PASS_MESSAGE_MAX = 256
# Largest size of a warning, with its closing NUL.
FERRUM_PASS_WARNING_MAX = 1024
# Largest number of warnings of one run of a pass.
FERRUM_PASS_WARNINGS_MAX = 1000

# Size and alignment of each struct, and type and offset of each field, as the header's
# compiler lays them out.
STRUCTS: dict[str, tuple[int, int, tuple[tuple[str, str, int], ...]]]
# The fields that are not zero in a struct with the values of its FERRUM_*_INIT.
INITIAL: dict[str, dict[str, int | float]]
# Result and parameters of each callback and each function.
CALLBACKS: dict[str, tuple[str, ...]]
PROTOTYPES: dict[str, tuple[str, ...]]

class ferrum_device(ctypes.Structure):
    """An open device."""

    # 0 is no device
    id: int

class ferrum_stream(ctypes.Structure):
    """An ordered queue of work on a device."""

    # 0 is no stream, or the default one where it is optional
    id: int

class ferrum_event(ctypes.Structure):
    """A point in a stream's queue."""

    # 0 is no event
    id: int

class ferrum_pool(ctypes.Structure):
    """A pool: memory by address."""

    # 0 is no pool
    id: int

class ferrum_vpool(ctypes.Structure):
    """A virtual pool: reserved address space, with memory behind parts of it."""

    # 0 is no virtual pool
    id: int

class ferrum_elastic_pool(ctypes.Structure):
    """An elastic pool: several models under one physical limit."""

    # 0 is no elastic pool
    id: int

class ferrum_manager(ctypes.Structure):
    """A memory manager of a device: memory by handle."""

    # 0 is no manager
    id: int

class ferrum_memory(ctypes.Structure):
    """A block of memory that a manager owns."""

    # 0 is no block
    id: int

class ferrum_registration(ctypes.Structure):
    """A registered callback."""

    # 0 is no registration
    id: int

class ferrum_config(ctypes.Structure):
    """Settings of the library for ferrum_init."""

    struct_size: int
    # Number of host devices cpu:0, cpu:1, ... (1 to 64), which share the capacity equally; 0:
    # FERRUM_HOST_DEVICES of the environment, or 1.
    host_devices: int
    # Capacity of all host devices together; 0: FERRUM_HOST_MEMORY of the environment, or the memory
    # that the process may use. That is the memory of the machine or of its control group, whichever
    # is less.
    host_memory_bytes: int
    # FERRUM_CONFIG_* flags.
    flags: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_config:
        """A struct with the values of FERRUM_CONFIG_INIT."""

class ferrum_error_info(ctypes.Structure):
    """Detail of a failure, which ferrum_last_error copies out."""

    struct_size: int
    # Status that the failing call returned.
    status: int
    # Error number of the vendor's runtime or of the system, or 0.
    native_code: int
    # Public name of the function that failed.
    function: bytes
    # Operation inside the library, for example "pool.alloc".
    operation: bytes
    # Device of the failing call, for example "cpu:0", or empty.
    device: bytes
    # The reason of the failure, with the name and the value of the argument. A longer text is cut
    # at the end of a character.
    message: bytes
    # FERRUM_FACT_* flags of the numbers below that the failure states; the other numbers are 0. For
    # virtual and elastic pools, INVALID_OFFSET states offset, size and capacity. ALREADY_MAPPED and
    # NOT_MAPPED state offset and size of the first page that is, or is not, mapped.
    # INVALID_PAGE_SIZE states the rejected page size. OUT_OF_PHYSICAL_MEMORY states the requested
    # and the available size. OUT_OF_VIRTUAL_MEMORY states the requested size and, where they are
    # known, the capacity and the largest free run. OUT_OF_MEMORY states the requested size; besides
    # that, either the available size and the largest free run, or the capacity that is smaller than
    # the request.
    facts: int
    reserved: int
    offset_bytes: int
    size_bytes: int
    # The largest possible size.
    capacity_bytes: int
    page_bytes: int
    requested_bytes: int
    # For a pool: the free bytes in the pool and the bytes that the pool could still get from the
    # device, in however many pieces.
    available_bytes: int
    largest_free_bytes: int
    # Model of an elastic pool that the failure is about, or empty.
    model: bytes
    @classmethod
    def init(cls) -> ferrum_error_info:
        """A struct with the values of FERRUM_ERROR_INFO_INIT."""

class ferrum_backend_choice(ctypes.Structure):
    """The chosen device."""

    struct_size: int
    # Backend of the device.
    backend: int
    # Position of the device within its backend.
    device_index: int
    reserved: int
    # Capacity of the device; 0 means unknown.
    total_bytes: int
    # Free bytes when the device was queried; 0 if not known.
    free_bytes: int
    # For example "cuda:0".
    id: bytes
    # The devices that were considered, the chosen one last: lines of "id: reason". A longer text is
    # cut at the end of a character.
    tried: bytes
    @classmethod
    def init(cls) -> ferrum_backend_choice:
        """A struct with the values of FERRUM_BACKEND_CHOICE_INIT."""

class ferrum_host_info(ctypes.Structure):
    """Memory and processor of this machine."""

    struct_size: int
    # 1 if available_bytes is known, else 0.
    available_known: int
    # Memory that this process may use: the memory of the machine or of its control group, whichever
    # is less; 0 means unknown.
    total_bytes: int
    # The part of total_bytes that can still be used.
    available_bytes: int
    # Model of the processor, or "Unknown CPU".
    cpu_name: bytes
    @classmethod
    def init(cls) -> ferrum_host_info:
        """A struct with the values of FERRUM_HOST_INFO_INIT."""

class ferrum_device_info(ctypes.Structure):
    """Description of an open device."""

    struct_size: int
    # Number after the colon of the id.
    ordinal: int
    # FERRUM_CAPABILITY_* bits.
    capabilities: int
    # Capacity; 0 means unknown.
    total_bytes: int
    # The size of every segment is a multiple of this.
    granularity_bytes: int
    # The address of every segment is a multiple of this.
    alignment_bytes: int
    # For example "cpu:0".
    id: bytes
    # For example "cpu".
    backend: bytes
    # Name of the hardware.
    name: bytes
    @classmethod
    def init(cls) -> ferrum_device_info:
        """A struct with the values of FERRUM_DEVICE_INFO_INIT."""

class ferrum_memory_info(ctypes.Structure):
    """Memory of a device; used + free + reserved = total at any time. With a limit of the device
    (ferrum_device_set_limit) the total is the limit.
    """

    struct_size: int
    # Pressure level of (total - free) / total, computed with integers.
    pressure: int
    # What this library may hold: limit_bytes, or device_total_bytes where there is no limit or the
    # device has less. Utilization and pressure are computed from it. 0 means unknown.
    total_bytes: int
    # Live blocks of this library, and memory that it cannot allocate. At most total_bytes, also
    # when more is live than a lowered limit allows.
    used_bytes: int
    # Bytes that can still be allocated: free memory of the device and cached memory of the pools,
    # as far as the limit allows.
    free_bytes: int
    # The rest of total_bytes. It cannot be allocated, because the driver or other processes hold
    # that much of the device.
    reserved_bytes: int
    # Number of live blocks of all pools and managers.
    active_allocations: int
    # 1 - largest free run / total free, over the memory that the pools hold; 0 when nothing is
    # free.
    fragmentation_ratio: float
    # used / total * 100; 0 when total is unknown. For display.
    utilization_percent: float
    # Whether bandwidth_gbps has been measured.
    bandwidth_known: int
    # Copy bandwidth in 10^9 bytes per second.
    bandwidth_gbps: float
    # Age of the latest reading of the device; 0: it was read just now. The numbers include the
    # memory that this library has allocated and released since that reading.
    reading_age_ns: int
    # Longest run that can be allocated now: from cached memory, or from the free memory of the
    # device as far as the limit allows.
    largest_free_bytes: int
    # The limit of the device; 0: none.
    limit_bytes: int
    # Capacity of the device itself, without the limit; 0 means unknown.
    device_total_bytes: int
    # Free memory of the device itself, without the limit: memory that neither this library nor
    # other programs hold.
    device_free_bytes: int
    @classmethod
    def init(cls) -> ferrum_memory_info:
        """A struct with the values of FERRUM_MEMORY_INFO_INIT."""

class ferrum_gauge(ctypes.Structure):
    """A counter with its peak."""

    # The value now.
    current: int
    # The highest value so far.
    peak: int

class ferrum_statistics(ctypes.Structure):
    """Counters of a device, a pool or a manager. All are bytes except for the counts. In every
    record reserved = active + cached + unusable.
    """

    struct_size: int
    reserved_field: int
    # Bytes that callers requested for the live blocks.
    requested: ferrum_gauge
    # Bytes of the live blocks, with rounding.
    allocated: ferrum_gauge
    # Bytes of the live blocks, and of freed blocks that queued work may still use.
    active: ferrum_gauge
    # Free bytes that the pool holds and can allocate.
    cached: ferrum_gauge
    # Free bytes that the pool holds and cannot allocate now: the runs are too short or at the wrong
    # place.
    unusable: ferrum_gauge
    # Bytes that the pool holds from the driver.
    reserved: ferrum_gauge
    # Number of live blocks.
    live_blocks: ferrum_gauge
    # Number of segments from the driver.
    segments: ferrum_gauge
    # Number of successful allocations so far.
    allocations: int
    # Number of frees so far.
    frees: int
    # Number of allocations that failed for lack of memory.
    failures: int
    # Longest free run.
    largest_free_bytes: int
    # The part of cached that is in thread caches.
    thread_cached_bytes: int
    @classmethod
    def init(cls) -> ferrum_statistics:
        """A struct with the values of FERRUM_STATISTICS_INIT."""

class ferrum_address_copy(ctypes.Structure):
    """A copy by address, within one device."""

    # Address of the first byte to read.
    source: int
    # Address of the first byte to write.
    destination: int
    # Number of bytes; not 0.
    size_bytes: int

class ferrum_pool_config(ctypes.Structure):
    """Settings of a pool."""

    struct_size: int
    # Grow when full (1), or stay within the initial size (0).
    enable_auto_expansion: int
    # Size of the first segment, which the first allocation takes from the device:
    # FERRUM_INITIAL_SIZE_AUTO (1 GiB), 0 (growth_increment_bytes), or bytes. The first two become
    # max_size_bytes where that is less; bytes above max_size_bytes are an error. The segment is
    # smaller where the device has less memory, and an eighth of the device where it would be more
    # than half of the device. A paged pool takes nothing beforehand: for a paged pool this is the
    # upper bound if it does not grow, and the size for pre_allocate.
    initial_size_bytes: int
    # Upper bound of the memory that the pool holds; 0: none.
    max_size_bytes: int
    # Size of each further segment. A segment is larger if a request needs it, and smaller under the
    # same conditions as the first segment. A paged pool grows by the missing pages.
    growth_increment_bytes: int
    # Alignment of every block, a power of two; 0: 256. Sizes are rounded up to it. Some strategies
    # and the thread caches round further; ferrum_pool_usable_size returns the size of a block.
    alignment_bytes: int
    # Allocate the memory when the pool is created (1): max_size_bytes, or initial_size_bytes if
    # there is no upper bound. The creation fails if not all of it is available. A paged pool keeps
    # these pages until a trim or another pool requests them.
    pre_allocate: int
    # Record peaks and counts (1). Current values are always recorded.
    enable_stats: int
    # Placement strategy; NULL: the default. All strategies keep their tables outside the memory
    # that they manage.
    #
    # "best_fit" the smallest free run that is large enough; uses the expected lifetime of a request
    # "size_class" small blocks in slabs of size classes, large ones as best_fit "tlsf" two-level
    # segregated fit: constant time in the worst case "buddy" powers of two "arena" one block after
    # the other; all memory is free again when the last block is freed "fixed" blocks of
    # fixed_block_bytes, such as KV blocks, placed so that pages of page_bytes become empty
    strategy: bytes | None
    # Name of the pool in reports, and tag of its blocks; NULL: none. At most 63 bytes.
    name: bytes | None
    # Record the time of every allocation (1), for ages in reports. It makes each call slower, and
    # every call then bypasses the thread caches.
    tracking: int
    # Sum of FERRUM_DEBUG_* flags; 0: none. FERRUM_DEBUG in the environment adds flags for all
    # pools. Every call of a pool in debug mode bypasses the thread caches.
    debug: int
    # Size of the freed small and medium blocks that each thread may keep for its own next calls:
    # FERRUM_THREAD_CACHE_AUTO, 0 (off), or bytes. The counters count these blocks as cached. The
    # library takes them back before memory runs out.
    thread_cache_bytes: int
    # Memory that the pool always keeps: no trim, no request of another pool and no release
    # threshold reduces the pool below it.
    min_held_bytes: int
    # While the pool holds more than this, a segment or a page that a free leaves without a block is
    # released at once; UINT64_MAX: never at once. A block in a thread cache still occupies its
    # segment.
    release_threshold_bytes: int
    # Block size of "fixed", which requires it; 0 for every other strategy.
    fixed_block_bytes: int
    # Page size of "fixed", a power of two; 0: the page size of the memory, or 2 MiB in segments. 0
    # for every other strategy.
    page_bytes: int
    # FERRUM_PAGING_*
    paging: int
    # Number of idle pages that stay mapped for the next allocations: a number,
    # FERRUM_READY_PAGES_AUTO (8, but at most one for each 64 pages in use), or
    # FERRUM_READY_PAGES_ALL (idle pages are released only on request).
    ready_pages: int
    # Page size of the memory, a power of two of at least ferrum_page_sizes.minimum_bytes; 0: the
    # size that the device recommends, and on CUDA also pages of 32 MiB where a block contains a
    # whole one. A segmented pool ignores it.
    physical_page_bytes: int
    # FERRUM_SEGMENTS_*. With FERRUM_SEGMENTS_STREAM_ORDERED, FERRUM_PAGING_AUTO means off, and
    # FERRUM_PAGING_ON returns FERRUM_ERROR_INVALID_CONFIG.
    segment_source: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_pool_config:
        """A struct with the values of FERRUM_POOL_CONFIG_INIT."""

class ferrum_pool_request(ctypes.Structure):
    """A request for a block, with all options."""

    struct_size: int
    # A number of ferrum_pool_get_tag; 0: the pool's name.
    tag: int
    # Not 0; rounded up to the pool's alignment.
    size_bytes: int
    # A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's alignment.
    alignment_bytes: int
    # Optional: the first stream that uses the block. The block belongs to it.
    stream: ferrum_stream
    # Expected lifetime of the block from now on; 0: not known. It only affects the placement, and
    # may be wrong.
    expected_lifetime_ns: int
    # A number that is equal for blocks that will probably be freed together, such as the number of
    # a request; 0: none. It only affects the placement.
    group: int
    @classmethod
    def init(cls) -> ferrum_pool_request:
        """A struct with the values of FERRUM_POOL_REQUEST_INIT."""

class ferrum_graph_info(ctypes.Structure):
    """A graph at one moment. Graphs that share a private pool have the same numbers for it."""

    struct_size: int
    # 1 until ferrum_pool_capture_end.
    capturing: int
    # Graphs of the private pool, this one included.
    sharing: int
    # Memory that the private pool holds from the device.
    held_bytes: int
    # Size of the live blocks of the private pool.
    live_bytes: int
    # Number of live blocks of the private pool.
    live_blocks: int
    # Freed blocks from before the capture that wait until the graph is released.
    parked_bytes: int
    @classmethod
    def init(cls) -> ferrum_graph_info:
        """A struct with the values of FERRUM_GRAPH_INFO_INIT."""

class ferrum_pool_info(ctypes.Structure):
    """Memory of a pool at one moment."""

    struct_size: int
    reserved: int
    # Memory that the pool holds from the device.
    held_bytes: int
    # Size of its pages; 0: the pool allocates whole segments, and the counts of pages are 0.
    page_bytes: int
    # Number of mapped pages.
    mapped_pages: int
    # Number of mapped pages without a block. The next allocations use them.
    idle_pages: int
    # Number of idle pages that stay mapped, for the present number of pages in use.
    ready_pages: int
    # Number of segments, or of address ranges in which pages are mapped.
    segments: int
    # Size of their addresses.
    address_bytes: int
    @classmethod
    def init(cls) -> ferrum_pool_info:
        """A struct with the values of FERRUM_POOL_INFO_INIT."""

class ferrum_block_info(ctypes.Structure):
    """The owner of an address."""

    struct_size: int
    # State of the memory at the address.
    state: int
    # The pool, or {0} when the owner is not a pool.
    pool: ferrum_pool
    # The manager that owns the pool, or 0.
    manager: int
    # Start of the block or of the free run. In a virtual pool, start of the range or, where no
    # range is mapped, of the page.
    address: int
    # Its size with rounding.
    size_bytes: int
    # The requested size; 0 when the block is neither live nor asleep.
    requested_bytes: int
    # Time since the allocation; 0 without tracking, or when the block is neither live nor asleep.
    age_ns: int
    # Name of the pool.
    pool_name: bytes
    # Tag of the block; empty when the block is neither live nor asleep.
    tag: bytes
    # The virtual pool, or {0} when the owner is not a virtual pool.
    vpool: ferrum_vpool
    # The elastic pool, or {0} when the owner is not an elastic pool.
    elastic_pool: ferrum_elastic_pool
    # Id of the model of the elastic pool, or empty.
    model: bytes
    @classmethod
    def init(cls) -> ferrum_block_info:
        """A struct with the values of FERRUM_BLOCK_INFO_INIT."""

class ferrum_manager_config(ctypes.Structure):
    """Settings of a manager."""

    struct_size: int
    # Record the age and the tag of each block, and statistics (1).
    enable_tracking: int
    # Release cached memory when gc_threshold is reached (1).
    enable_auto_gc: int
    # Fill new blocks with 0xCD and freed blocks with 0xDD (1). Allocations then wait for the fill.
    enable_debug: int
    # Used share of the device, or of its limit where that is less, from 0 (exclusive) to 1, that
    # starts a collection.
    gc_threshold: float
    # Number of asynchronous copies in flight at once, 1 to 1024.
    max_concurrent_transfers: int
    # Pool settings by FERRUM_MEMORY_*. NULL for a type: its blocks come from the pool of
    # FERRUM_MEMORY_GENERAL. NULL for FERRUM_MEMORY_GENERAL: the defaults. Entries beyond the known
    # types must be NULL.
    pool_configs: Any
    @classmethod
    def init(cls) -> ferrum_manager_config:
        """A struct with the values of FERRUM_MANAGER_CONFIG_INIT."""

class ferrum_allocation_request(ctypes.Structure):
    """A request for a block."""

    struct_size: int
    # FERRUM_MEMORY_*
    memory_type: int
    # Not 0.
    size_bytes: int
    # A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's.
    alignment_bytes: int
    # Name for the counters, at most 63 bytes; NULL: none.
    tag: bytes | None
    # 0, or FERRUM_ALLOCATE_RELOCATABLE.
    flags: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_allocation_request:
        """A struct with the values of FERRUM_ALLOCATION_REQUEST_INIT."""

class ferrum_handle_info(ctypes.Structure):
    """Description of a block."""

    struct_size: int
    # FERRUM_MEMORY_*
    memory_type: int
    # The block.
    memory: ferrum_memory
    # Its manager.
    manager: ferrum_manager
    # The device of its manager.
    device: ferrum_device
    # The requested size.
    size_bytes: int
    # The size with rounding.
    allocated_bytes: int
    # Largest power of two that divides the address, at most FERRUM_ALIGNMENT_MAX.
    alignment_bytes: int
    # Address of the block. For a relocatable block that is not pinned, address and host_pointer are
    # valid until the next ferrum_manager_defragment of the manager.
    address: int
    # Address of the block for the host, or NULL if the host cannot address the block.
    # ferrum_memory_map returns a pointer for every block.
    host_pointer: int | None
    # Monotonic time of the allocation since ferrum_init.
    allocated_at_ns: int
    # 1 while a call of this library has mapped the block for the host.
    is_mapped: int
    # Asynchronous operations in flight on the block.
    operations_in_flight: int
    # Name in the counters, or empty.
    tag: bytes
    # 1 if it was requested with FERRUM_ALLOCATE_RELOCATABLE.
    is_relocatable: int
    # Number of ferrum_memory_pin calls without a ferrum_memory_unpin.
    pin_count: int
    # The block of another device that is the same memory (ferrum_manager_create_mapping); {0}:
    # none, or it has ended.
    linked: ferrum_memory
    # 1 if the memory is external (ferrum_manager_adopt).
    is_adopted: int
    # 1 if it was adopted as read-only memory.
    is_read_only: int
    @classmethod
    def init(cls) -> ferrum_handle_info:
        """A struct with the values of FERRUM_HANDLE_INFO_INIT."""

class ferrum_transfer(ctypes.Structure):
    """A copy between two blocks of one device or of two devices."""

    struct_size: int
    reserved: int
    # The block to read.
    src: ferrum_memory
    # The block to write.
    dst: ferrum_memory
    # Not 0.
    size_bytes: int
    # First byte in the source.
    src_offset_bytes: int
    # First byte in the destination.
    dst_offset_bytes: int
    @classmethod
    def init(cls) -> ferrum_transfer:
        """A struct with the values of FERRUM_TRANSFER_INIT."""

class ferrum_fill(ctypes.Structure):
    """A range of a block, and a pattern to fill it with."""

    struct_size: int
    # Bytes of the pattern: 1, 2 or 4.
    pattern_bytes: int
    # The block.
    memory: ferrum_memory
    # A multiple of pattern_bytes.
    offset_bytes: int
    # A multiple of pattern_bytes, not 0.
    size_bytes: int
    # The pattern, in the low bytes; the others must be zero.
    pattern: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_fill:
        """A struct with the values of FERRUM_FILL_INIT."""

class ferrum_defragmentation_stats(ctypes.Structure):
    """Result of a defragmentation. Each block that was live counts once: as moved, as kept, or
    as skipped for the first reason that applies.
    """

    struct_size: int
    # Fragmentation ratio before.
    fragmentation_before: float
    # Fragmentation ratio after.
    fragmentation_after: float
    reserved: int
    # Bytes released to the system.
    memory_freed_bytes: int
    # Blocks moved to another address.
    blocks_moved: int
    # Blocks that could not be moved: the sum of the reasons below.
    blocks_skipped: int
    # Time taken.
    time_taken_ns: int
    # The same in milliseconds, rounded up.
    time_taken_ms: int
    # Requested size of the moved blocks.
    bytes_moved: int
    # Pages without a block after the moves.
    pages_emptied: int
    # Segments without a block after the moves, in segmented pools.
    segments_emptied: int
    # Blocks that could have been moved, but whose move would not have freed a page.
    blocks_kept: int
    # Blocks without FERRUM_ALLOCATE_RELOCATABLE.
    skipped_not_relocatable: int
    # Blocks that a debug mode of the manager or the pool has filled with patterns or surrounded
    # with red zones.
    skipped_debugged: int
    # Pinned blocks.
    skipped_pinned: int
    # Blocks that were used on a stream with queued work.
    skipped_in_use: int
    # Blocks of pages that could not be emptied: there were enough free bytes outside the page, but
    # no free run that was long enough.
    skipped_no_room: int
    # Blocks that were not considered before the budget ended.
    skipped_over_budget: int
    # 1 if the budget ended before the defragmentation was complete.
    budget_ended: int
    reserved_end: int
    # Blocks that are mapped for the host (ferrum_memory_map). This reason comes after
    # skipped_pinned.
    skipped_mapped: int
    @classmethod
    def init(cls) -> ferrum_defragmentation_stats:
        """A struct with the values of FERRUM_DEFRAGMENTATION_STATS_INIT."""

class ferrum_reclaim_config(ctypes.Structure):
    """Settings of a reclaim callback."""

    struct_size: int
    # Callbacks with a lower number are called first; those with equal numbers in the order of
    # registration.
    priority: int
    # The longest time that an allocation waits for the callback; 0: 100 ms. A value above INT64_MAX
    # returns FERRUM_ERROR_INVALID_ARGUMENT.
    deadline_ns: int
    @classmethod
    def init(cls) -> ferrum_reclaim_config:
        """A struct with the values of FERRUM_RECLAIM_CONFIG_INIT."""

class ferrum_page_sizes(ctypes.Structure):
    """The page sizes of a device."""

    struct_size: int
    reserved: int
    # The smallest page size of a virtual pool. Larger page sizes are powers of two.
    minimum_bytes: int
    # The page size that works best. page_bytes 0 selects it.
    recommended_bytes: int
    @classmethod
    def init(cls) -> ferrum_page_sizes:
        """A struct with the values of FERRUM_PAGE_SIZES_INIT."""

class ferrum_vpool_config(ctypes.Structure):
    """Settings of a virtual pool."""

    struct_size: int
    # No flag is defined: 0.
    flags: int
    # Address space, rounded up to whole pages; not 0.
    capacity_bytes: int
    # A power of two of at least ferrum_page_sizes.minimum_bytes; 0: the recommended size of the
    # device.
    page_bytes: int
    # Upper bound of the memory; 0: the memory of the device.
    limit_bytes: int
    # Name in reports, and tag of ranges without a tag; NULL: none. At most 63 bytes.
    name: bytes | None
    # Number of pages that are kept ready while no allocation needs them: up to 65536, or
    # FERRUM_READY_PAGES_AUTO.
    ready_pages: int
    # FERRUM_BACKING_*
    backing: int
    @classmethod
    def init(cls) -> ferrum_vpool_config:
        """A struct with the values of FERRUM_VPOOL_CONFIG_INIT."""

class ferrum_vpool_request(ctypes.Structure):
    """A request for a range of a virtual pool."""

    struct_size: int
    reserved: int
    # Offset from the base address.
    offset_bytes: int
    # Not 0.
    size_bytes: int
    # Name for the counters, at most 63 bytes; NULL or empty: the pool's name.
    tag: bytes | None
    # How long to wait while the tag, the whole pool or a range at that offset is asleep, in
    # nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at once.
    asleep_wait_ns: int
    # The first stream that uses the range. A free of the range waits for the work of this stream.
    # {0}: the default stream.
    stream: ferrum_stream
    @classmethod
    def init(cls) -> ferrum_vpool_request:
        """A struct with the values of FERRUM_VPOOL_REQUEST_INIT."""

class ferrum_byte_range(ctypes.Structure):
    """A range of a virtual pool, or of a model of an elastic pool."""

    # Offset from the base address.
    offset_bytes: int
    # Not 0.
    size_bytes: int

class ferrum_batch_options(ctypes.Structure):
    """Settings that apply to all allocations of a batch."""

    struct_size: int
    reserved: int
    # As in ferrum_vpool_request; for a model as in ferrum_model_request.
    tag: bytes | None
    # As in ferrum_vpool_request.
    asleep_wait_ns: int
    # The first stream that uses the ranges. {0}: the default stream.
    stream: ferrum_stream
    @classmethod
    def init(cls) -> ferrum_batch_options:
        """A struct with the values of FERRUM_BATCH_OPTIONS_INIT."""

class ferrum_vpool_info(ctypes.Structure):
    """A virtual pool at one moment. Fields that end in _pages are counts."""

    struct_size: int
    # 1 - mapped pages / all pages.
    unmapped_share: float
    # 1 - longest free run / free address space; 0 when nothing is free.
    fragmentation: float
    reserved: int
    # Start of the address space.
    base_address: int
    # Size of a page.
    page_bytes: int
    # Size of the address space, in whole pages.
    virtual_capacity_bytes: int
    # Memory of mapped and retiring pages.
    physical_bytes: int
    # The highest physical_bytes so far.
    peak_physical_bytes: int
    # The sizes that were requested for the mapped pages.
    requested_bytes: int
    # Pages of live ranges.
    mapped_pages: int
    # Pages of freed ranges that queued work may still use.
    retiring_pages: int
    # Pages of freed ranges that stay mapped. An allocation at the same place reuses them at once;
    # any other allocation has to unmap them first.
    parked_pages: int
    # Pages that are mapped nowhere and are ready for any range.
    ready_pages: int
    # Memory that the pool holds from the device: mapped, retiring, parked and ready pages.
    held_bytes: int
    # The present limit.
    limit_bytes: int
    # Bytes that can still be mapped within the limit.
    available_bytes: int
    # Longest run of free address space.
    largest_free_run_bytes: int
    # Successful allocations so far.
    allocations: int
    # Address space of the pool's tables. Only used parts have memory.
    table_bytes: int
    # Pages of ranges that are asleep. They have no memory.
    asleep_pages: int
    # Bytes of ranges that are asleep.
    asleep_bytes: int
    # Host memory with the contents of ranges that are asleep.
    asleep_host_bytes: int
    # Disk space with the contents of ranges that are asleep.
    asleep_file_bytes: int
    # Bytes of ranges that are asleep and whose contents were discarded.
    asleep_discarded_bytes: int
    # Sleep calls so far.
    sleeps: int
    # Wake calls so far.
    wakes: int
    # Time of all sleep calls.
    sleep_ns: int
    # Time of all wake calls.
    wake_ns: int
    # Sleep calls so far that failed after they had begun.
    sleep_failures: int
    # Wake calls so far that failed after they had begun.
    wake_failures: int
    @classmethod
    def init(cls) -> ferrum_vpool_info:
        """A struct with the values of FERRUM_VPOOL_INFO_INIT."""

class ferrum_compact_report(ctypes.Structure):
    """Result of a compaction."""

    struct_size: int
    reserved: int
    # Pages that were retiring and whose work had completed.
    landed_pages: int
    # Pages that were parked and are now ready for any range.
    unmapped_pages: int
    # Memory that was released to the device.
    released_bytes: int
    # Runs of adjacent pages among the unused pages, before. An allocation needs one mapping of the
    # system for each run.
    runs_before: int
    # The same after the compaction.
    runs_after: int
    @classmethod
    def init(cls) -> ferrum_compact_report:
        """A struct with the values of FERRUM_COMPACT_REPORT_INIT."""

class ferrum_elastic_pool_config(ctypes.Structure):
    """Settings of an elastic pool."""

    struct_size: int
    # No flag is defined: 0.
    flags: int
    # Upper bound of the memory of all models together, in whole pages; 0: the memory of the device.
    # A limit above the memory of the device is rejected. For example, 32 GiB is rejected on a
    # device with 24 GiB. A program that runs on several machines can use the smaller of its number
    # and total_bytes. The virtual_bytes of the models have no such bound: together they may exceed
    # the limit.
    limit_bytes: int
    # The same as in ferrum_vpool_config.
    page_bytes: int
    # Name in reports; NULL: none. At most 63 bytes.
    name: bytes | None
    # The same as in ferrum_vpool_config.
    ready_pages: int
    # FERRUM_BACKING_MOVABLE, FERRUM_BACKING_PRIVATE or FERRUM_BACKING_RDMA
    backing: int
    @classmethod
    def init(cls) -> ferrum_elastic_pool_config:
        """A struct with the values of FERRUM_ELASTIC_POOL_CONFIG_INIT."""

class ferrum_model_config(ctypes.Structure):
    """Settings of a model."""

    struct_size: int
    # When pages are short, models of lower priority release pages first, and allocations of models
    # of higher priority are served first.
    priority: int
    # Address space, rounded up to whole pages; not 0.
    virtual_bytes: int
    # The part of the limit that is kept for this model, rounded up to whole pages. The guarantees
    # of all models together are within the limit. Each guarantee is backed by pages that no other
    # model uses or has as its guarantee.
    guaranteed_bytes: int
    # Upper bound of the memory of the model, in whole pages; 0: no bound of its own.
    max_bytes: int
    # Pages of this model may pass to another unscrubbed model without being set to zero (1).
    unscrubbed: int
    # The part of guaranteed_bytes that has no pages yet waits (1), or the call fails (0). A waiting
    # part takes effect as pages become free, before waiting allocations get these pages.
    guarantee_may_wait: int
    @classmethod
    def init(cls) -> ferrum_model_config:
        """A struct with the values of FERRUM_MODEL_CONFIG_INIT."""

class ferrum_model_request(ctypes.Structure):
    """A request for a range of a model."""

    struct_size: int
    # The range starts at offset_bytes and contains every page that it touches (1), or the library
    # chooses the offset (0).
    at_offset: int
    # Offset from the model's base address; 0 where at_offset is 0.
    offset_bytes: int
    # Not 0.
    size_bytes: int
    # Name for the counters, at most 63 bytes; NULL or empty: the model's id.
    tag: bytes | None
    # How long to wait while the tag, the model or the ranges at that offset are asleep, in
    # nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at once.
    asleep_wait_ns: int
    # The first stream that uses the range. A free of the range waits for the work of this stream.
    # {0}: the default stream.
    stream: ferrum_stream
    @classmethod
    def init(cls) -> ferrum_model_request:
        """A struct with the values of FERRUM_MODEL_REQUEST_INIT."""

class ferrum_model_info(ctypes.Structure):
    """A model at one moment. Fields that end in _pages are counts."""

    struct_size: int
    # Its priority.
    priority: int
    # 1 - mapped pages / all pages of its address space.
    unmapped_share: float
    # 1 - longest free run / free address space; 0 when nothing is free.
    fragmentation: float
    # Start of its address space.
    base_address: int
    # Size of a page.
    page_bytes: int
    # Size of its address space, in whole pages.
    virtual_capacity_bytes: int
    # Memory of mapped and retiring pages.
    physical_bytes: int
    # The highest physical_bytes so far.
    peak_physical_bytes: int
    # The sizes that were requested for the mapped pages.
    requested_bytes: int
    # Pages of live ranges.
    mapped_pages: int
    # Pages of freed ranges that queued work may still use.
    retiring_pages: int
    # Pages of freed ranges that stay mapped for reuse.
    parked_pages: int
    # Unused memory that this model was the last to use.
    cached_bytes: int
    # The part of its guarantee that is in effect.
    guaranteed_bytes: int
    # 0: no bound of its own.
    max_bytes: int
    # Bytes that the model can allocate at once, without pages of other models.
    available_bytes: int
    # Longest run of free address space.
    largest_free_run_bytes: int
    # Successful allocations so far.
    allocations: int
    # Frees so far.
    frees: int
    # Allocations so far that failed for lack of memory.
    failures: int
    # Allocations so far that had to wait.
    waits: int
    # Time that they waited in all.
    waited_ns: int
    # Calls so far of its reclaim callbacks.
    reclaim_calls: int
    # Bytes that its reclaim callbacks reported as freed.
    reclaimed_bytes: int
    # Address space of its tables. Only used parts have memory.
    table_bytes: int
    # Pages of ranges that are asleep. They have no memory.
    asleep_pages: int
    # Bytes of ranges that are asleep.
    asleep_bytes: int
    # Host memory with the contents of ranges that are asleep.
    asleep_host_bytes: int
    # Disk space with the contents of ranges that are asleep.
    asleep_file_bytes: int
    # Bytes of ranges that are asleep and whose contents were discarded.
    asleep_discarded_bytes: int
    # Sleep calls so far.
    sleeps: int
    # Wake calls so far.
    wakes: int
    # Time of all sleep calls.
    sleep_ns: int
    # Time of all wake calls.
    wake_ns: int
    # Sleep calls so far that failed after they had begun.
    sleep_failures: int
    # Wake calls so far that failed after they had begun.
    wake_failures: int
    # The requested guarantee. The part above guaranteed_bytes waits for pages.
    requested_guarantee_bytes: int
    @classmethod
    def init(cls) -> ferrum_model_info:
        """A struct with the values of FERRUM_MODEL_INFO_INIT."""

class ferrum_model_limits(ctypes.Structure):
    """Limits of a model that can be changed while it runs."""

    struct_size: int
    # The same as in ferrum_model_config.
    priority: int
    # The same as in ferrum_model_config.
    guaranteed_bytes: int
    # The same as in ferrum_model_config.
    max_bytes: int
    # The same as in ferrum_model_config.
    guarantee_may_wait: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_model_limits:
        """A struct with the values of FERRUM_MODEL_LIMITS_INIT."""

class ferrum_elastic_pool_info(ctypes.Structure):
    """An elastic pool at one moment."""

    struct_size: int
    reserved: int
    # Size of a page.
    page_bytes: int
    # The limit of all models together.
    physical_limit_bytes: int
    # Memory that the models use: mapped, retiring, or granted to running allocations. It is above
    # the limit only after the limit was lowered.
    physical_bytes: int
    # The highest physical_bytes so far.
    peak_physical_bytes: int
    # Number of registered models.
    num_models: int
    # Address space of all models together.
    virtual_bytes: int
    # Guarantees of all models together.
    guaranteed_bytes: int
    # Memory of freed ranges that queued work may still use.
    retiring_bytes: int
    # Memory that the pool holds from the device and no model uses.
    cached_bytes: int
    # Memory that the pool holds from the device.
    held_bytes: int
    # Allocations that wait now.
    waiting: int
    @classmethod
    def init(cls) -> ferrum_elastic_pool_info:
        """A struct with the values of FERRUM_ELASTIC_POOL_INFO_INIT."""

class ferrum_sleep_config(ctypes.Structure):
    """Settings of a sleep."""

    struct_size: int
    # FERRUM_SLEEP_*
    backing: int
    # Ranges with this tag, at most 63 bytes; NULL or empty: all ranges.
    tag: bytes | None
    # Directory for the file of FERRUM_SLEEP_FILE, less than FERRUM_PATH_MAX bytes; NULL or empty:
    # the system's directory for temporary files. NULL for other places.
    directory: bytes | None
    # The call waits only for the work that is queued now on this stream and on the streams that use
    # the ranges; {0}: for all work of the device.
    stream: ferrum_stream
    # The longest time of the call until everything is copied, in nanoseconds, or
    # FERRUM_WAIT_FOREVER. When the time is over, the call returns FERRUM_ERROR_TIMEOUT and nothing
    # has changed. 0: the call may copy as long as it needs, but returns FERRUM_ERROR_TIMEOUT at
    # once if it has to wait for queued work, a load, another call or a running allocation.
    timeout_ns: int
    # Number of simultaneous copies, each on a stream of its own, at most 64; 0: the library
    # chooses.
    num_streams: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_sleep_config:
        """A struct with the values of FERRUM_SLEEP_CONFIG_INIT."""

class ferrum_sleep_report(ctypes.Structure):
    """Result of a sleep."""

    struct_size: int
    reserved: int
    # Memory that was released: all memory of the ranges, except for pages that the device failed to
    # unmap.
    released_bytes: int
    # Duration of the call.
    elapsed_ns: int
    # The file of FERRUM_SLEEP_FILE; empty for other places, and when there was nothing to write.
    path: bytes
    @classmethod
    def init(cls) -> ferrum_sleep_report:
        """A struct with the values of FERRUM_SLEEP_REPORT_INIT."""

class ferrum_wake_config(ctypes.Structure):
    """Settings of a wake."""

    struct_size: int
    # The same as in ferrum_sleep_config.
    num_streams: int
    # Ranges with this tag that are asleep, at most 63 bytes; NULL or empty: all of them.
    tag: bytes | None
    # The longest time of the call, in nanoseconds, or FERRUM_WAIT_FOREVER. When the time is over,
    # the call returns FERRUM_ERROR_TIMEOUT, and all ranges are asleep as before. 0: as in
    # ferrum_sleep_config, and the call does not wait for memory.
    timeout_ns: int
    @classmethod
    def init(cls) -> ferrum_wake_config:
        """A struct with the values of FERRUM_WAKE_CONFIG_INIT."""

class ferrum_wake_report(ctypes.Structure):
    """Result of a wake."""

    struct_size: int
    reserved: int
    # Memory that was allocated for the ranges.
    restored_bytes: int
    # Duration of the call.
    elapsed_ns: int
    @classmethod
    def init(cls) -> ferrum_wake_report:
        """A struct with the values of FERRUM_WAKE_REPORT_INIT."""

class ferrum_monitor(ctypes.Structure):
    """Monitors the memory of several devices as one."""

    # 0 is no monitor
    id: int

class ferrum_monitor_config(ctypes.Structure):
    """Settings of a monitor."""

    struct_size: int
    # The bounds of its levels.
    profile: int
    # How often the monitor queries devices and system for changes of other processes while a
    # callback is set. It learns of changes by this library at once. 0: 1 s; UINT64_MAX: never.
    interval_ns: int
    # FERRUM_MONITOR_* flags.
    flags: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_monitor_config:
        """A struct with the values of FERRUM_MONITOR_CONFIG_INIT."""

class ferrum_device_level(ctypes.Structure):
    """The pressure level of a device."""

    # The device.
    device: ferrum_device
    # Its level.
    level: int
    reserved: int

class ferrum_monitor_pressure(ctypes.Structure):
    """The pressure of all devices of a monitor together."""

    struct_size: int
    # The highest level of all devices; LOW when there is none.
    level: int
    # The level of the sum of all known bytes, without hysteresis.
    weighted_level: int
    # Number of devices.
    devices: int
    # Number of devices with unknown capacity, or that could not be queried.
    unknown_devices: int
    reserved: int
    # Sum of total_bytes of ferrum_memory_info over the known devices, so limits count. A sum above
    # UINT64_MAX is UINT64_MAX.
    total_bytes: int
    # Sum of total - free over the known devices.
    used_bytes: int
    @classmethod
    def init(cls) -> ferrum_monitor_pressure:
        """A struct with the values of FERRUM_MONITOR_PRESSURE_INIT."""

class ferrum_collected(ctypes.Structure):
    """Result of a collection on one device: the sum over its managers; the fragmentation is the
    highest of them.
    """

    # The device.
    device: ferrum_device
    # FERRUM_OK, or the first failure. The collection continues after a failure.
    status: int
    # Number of managers.
    managers: int
    # Fragmentation ratio before.
    fragmentation_before: float
    # Fragmentation ratio after.
    fragmentation_after: float
    # Bytes released to the system.
    memory_freed_bytes: int
    # Number of moved blocks.
    blocks_moved: int
    # Number of skipped blocks.
    blocks_skipped: int
    # Time taken.
    time_taken_ns: int
    # Sum of the managers' times in milliseconds, each rounded up.
    time_taken_ms: int
    reserved: Any

class ferrum_placement(ctypes.Structure):
    """A placement strategy: chooses the device for a request."""

    # 0 is no strategy
    id: int

class ferrum_placement_request(ctypes.Structure):
    """A request for a device. All fields but the size may be zero."""

    struct_size: int
    # FERRUM_MEMORY_GENERAL to FERRUM_MEMORY_MANAGED.
    memory_type: int
    # Not 0.
    size_bytes: int
    # A power of two up to FERRUM_ALIGNMENT_MAX; 0: any.
    alignment_bytes: int
    # Expected time of use; 0: not known. From 60 s on, a device that would reach HIGH is treated
    # like one that would reach CRITICAL.
    expected_lifetime_ns: int
    # Preferred devices, the most preferred first; may be NULL when there are none.
    preferred: Any
    # The candidates, in the order in which the strategy prefers equal ones; NULL: all open devices,
    # by id.
    devices: Any
    # Number of preferred devices.
    preferred_count: int
    # Number of candidates.
    device_count: int
    # FERRUM_PLACEMENT_* flags.
    flags: int
    # The bounds of the levels.
    profile: int
    @classmethod
    def init(cls) -> ferrum_placement_request:
        """A struct with the values of FERRUM_PLACEMENT_REQUEST_INIT."""

class ferrum_placement_option(ctypes.Structure):
    """A candidate, with its numbers for a request."""

    # The candidate.
    device: ferrum_device
    # Size with the largest possible padding; UINT64_MAX when that overflows.
    needed_bytes: int
    # Capacity of the device, or its limit if that is less; 0 means unknown.
    total_bytes: int
    # Used bytes of the device.
    used_bytes: int
    # Bytes that can still be allocated.
    free_bytes: int
    # Longest run that can be allocated now.
    largest_free_bytes: int
    # FERRUM_PLACEMENT_CHOSEN, or the reason why the device cannot serve the request.
    reason: int
    # 0, plus 1 when the request would bring the device to CRITICAL, plus 2 when the device would
    # have to release memory first. Lower is better.
    tier: int
    # Position among the preferred devices, from 1 on; 0: not preferred.
    preferred_rank: int
    # Level of the device after the request.
    level_after: int
    reserved: Any

class ferrum_model_shape(ctypes.Structure):
    """Dimensions of a model, for the short formulas."""

    struct_size: int
    reserved: int
    # Width of the model.
    hidden_size: int
    # Width of the MLPs.
    intermediate_size: int
    # Layers.
    num_layers: int
    # Tokens of the vocabulary.
    vocab_size: int
    # Attention heads, not 0.
    num_heads: int
    # Key and value heads.
    num_kv_heads: int
    # Tokens of the sequence, for ferrum_estimate_inference_memory only.
    max_seq_len: int
    # Size of one element.
    dtype_bytes: int
    @classmethod
    def init(cls) -> ferrum_model_shape:
        """A struct with the values of FERRUM_MODEL_SHAPE_INIT."""

class ferrum_kv_cache_shape(ctypes.Structure):
    """Dimensions of a KV cache, for the short formula."""

    struct_size: int
    reserved: int
    # Layers.
    num_layers: int
    # Key and value heads.
    num_kv_heads: int
    # Elements of a head.
    head_dim: int
    # Tokens of the sequence.
    max_seq_len: int
    # Size of one element.
    dtype_bytes: int
    @classmethod
    def init(cls) -> ferrum_kv_cache_shape:
        """A struct with the values of FERRUM_KV_CACHE_SHAPE_INIT."""

class ferrum_inference_estimate(ctypes.Structure):
    """Result of ferrum_estimate_inference_memory."""

    struct_size: int
    reserved: int
    # The weights.
    model_bytes: int
    # Keys and values of the sequence.
    kv_cache_bytes: int
    # The activations of one token.
    activation_bytes: int
    # The sum of the three.
    total_bytes: int
    @classmethod
    def init(cls) -> ferrum_inference_estimate:
        """A struct with the values of FERRUM_INFERENCE_ESTIMATE_INIT."""

class ferrum_estimate_request(ctypes.Structure):
    """How a model will be served."""

    struct_size: int
    # FERRUM_ESTIMATE_ bits.
    flags: int
    # Tokens of one sequence, prompt and answer; 0: the model's own context.
    context: int
    # Number of sequences at a time, at least 1.
    batch: int
    # Number of devices that share the model, 1 to 65536. The estimate is for the device that holds
    # most.
    tensor_parallel: int
    # Prompt tokens that are computed at once; 0: whole prompts.
    prefill_tokens: int
    # The share of the allocator, in thousandths of all other memory, at most 1000.
    overhead_permille: int
    # Free memory that the model must fit into; 0: the result does not state whether it fits.
    free_bytes: int
    # Type of the elements of the KV cache; NULL or empty: the type of the activations.
    #
    # "f32" 32-bit floating point "f16" 16-bit floating point "bf16" 16-bit floating point with the
    # exponent of "f32" "f8" 8-bit floating point "int8" 8-bit integers, in groups of 32 with a
    # scale "int4" 4-bit integers, in groups of 32 with a scale
    kv_dtype: bytes | None
    # Type that the weights are converted to, one of the same words; NULL or empty: the type in the
    # files.
    weight_dtype: bytes | None
    # Tokens of one layer in a block of a paged KV cache, 1 to 1048576. Layers with a window keep
    # whole blocks.
    block_tokens: int
    @classmethod
    def init(cls) -> ferrum_estimate_request:
        """A struct with the values of FERRUM_ESTIMATE_REQUEST_INIT."""

class ferrum_fallback_manager(ctypes.Structure):
    """A fallback manager: allocates buffers on a device, and on a host when the device is full."""

    # 0 is no manager
    id: int

class ferrum_fallback_buffer(ctypes.Structure):
    """A buffer of a fallback manager, on its device or on its host."""

    # 0 is no buffer
    id: int

class ferrum_tracker(ctypes.Structure):
    """A tracker: a list of live buffers."""

    # 0 is no tracker
    id: int

class ferrum_generic_pool(ctypes.Structure):
    """A cache of free buffers that the caller created."""

    # 0 is no pool
    id: int

class ferrum_memory_config(ctypes.Structure):
    """Settings of a fallback manager or a generic pool."""

    struct_size: int
    # FERRUM_MEMORY_* flags.
    flags: int
    # The share of the device's capacity, or of its limit if that is less, that the manager may
    # hold: 0.1 to 1, computed in millionths. There is no bound when neither is known.
    gpu_memory_fraction: float
    # Bytes that stay free on the device, independent of its limit. The manager allocates no memory
    # from the device that would leave less.
    min_free_bytes: int
    # Number of free buffers that a bucket keeps; 0: none.
    max_pooled_per_bucket: int
    # Size of the free buffers of all buckets together; 0: no bound.
    max_pooled_bytes: int
    # pre_allocate_count sizes; may be NULL when there are none.
    pre_allocate_sizes: Any
    # Number of sizes.
    pre_allocate_count: int
    @classmethod
    def init(cls) -> ferrum_memory_config:
        """A struct with the values of FERRUM_MEMORY_CONFIG_INIT."""

class ferrum_memory_stats(ctypes.Structure):
    """Counters of a fallback manager or a generic pool. They contain only its own buffers, so
    the device may be full while the pool is not.
    """

    struct_size: int
    reserved: int
    # Buffers that exist: those in use and those in buckets.
    total_allocated_bytes: int
    # Buffers in use.
    in_use_bytes: int
    # Free buffers in the buckets.
    pooled_bytes: int
    # The highest value of in_use_bytes.
    peak_bytes: int
    # Number of requests that were served from the buckets.
    pool_hits: int
    # Number of requests that were not served from the buckets.
    pool_misses: int
    # Number of buffers that were created on the host because the device had no room.
    cpu_fallbacks: int
    # Number of buffers in use, tracked or not.
    active_buffers: int
    @classmethod
    def init(cls) -> ferrum_memory_stats:
        """A struct with the values of FERRUM_MEMORY_STATS_INIT."""

class ferrum_memory_ratios(ctypes.Structure):
    """Ratios of a ferrum_memory_stats. They describe the pool, not the device."""

    struct_size: int
    reserved: int
    # hits / (hits + misses); 0 without requests.
    hit_rate: float
    # in_use / total_allocated; 0 when that is 0.
    utilization: float
    # The same, but 1 when total_allocated is 0.
    efficiency: float
    @classmethod
    def init(cls) -> ferrum_memory_ratios:
        """A struct with the values of FERRUM_MEMORY_RATIOS_INIT."""

class ferrum_buffer_metadata(ctypes.Structure):
    """Entry of a tracker for a buffer."""

    # Not 0.
    buffer_id: int
    # Size of the buffer.
    size_bytes: int
    # Number of elements.
    num_elements: int
    # Time since the buffer was created.
    age_ns: int
    # Device of the buffer; {0}: not known.
    device: ferrum_device
    # Side of the buffer.
    location: int
    reserved: int
    # Text with its NUL; empty: no tag.
    tag: bytes

class ferrum_tracker_totals(ctypes.Structure):
    """Numbers of a tracker."""

    struct_size: int
    reserved: int
    # Number of buffers.
    count: int
    # The sum of their sizes.
    total_bytes: int
    # The highest value of total_bytes.
    peak_bytes: int
    @classmethod
    def init(cls) -> ferrum_tracker_totals:
        """A struct with the values of FERRUM_TRACKER_TOTALS_INIT."""

class ferrum_buffer_use(ctypes.Structure):
    """Details of a buffer of a generic pool, for its tracker."""

    struct_size: int
    # Side of the buffer.
    location: int
    # Number of elements.
    num_elements: int
    # At most 63 bytes; NULL: none.
    tag: bytes | None
    @classmethod
    def init(cls) -> ferrum_buffer_use:
        """A struct with the values of FERRUM_BUFFER_USE_INIT."""

class ferrum_buffer_lease(ctypes.Structure):
    """A buffer of a generic pool."""

    # The caller's value for the buffer: a pointer, a handle, an index.
    buffer: int
    # Its size, which may be larger than the requested size.
    size_bytes: int
    # 0 unless the pool tracks.
    buffer_id: int

class ferrum_fallback_stats(ctypes.Structure):
    """Counters of a fallback manager for the host."""

    struct_size: int
    reserved: int
    # Bytes on the host now.
    cpu_bytes: int
    # Number of buffers on the host now.
    cpu_buffers: int
    # Number of moves to the host so far.
    moved_to_cpu: int
    # Number of moves to the device so far.
    moved_to_gpu: int
    @classmethod
    def init(cls) -> ferrum_fallback_stats:
        """A struct with the values of FERRUM_FALLBACK_STATS_INIT."""

class ferrum_buffer_request(ctypes.Structure):
    """A request for a buffer."""

    struct_size: int
    # Type of the elements: FERRUM_DTYPE_F32 to FERRUM_DTYPE_I64.
    dtype: int
    # Number of elements; not 0.
    num_elements: int
    # Allowed sides.
    place: int
    # FERRUM_BUFFER_* flags.
    flags: int
    # The first stream of the device that uses the buffer; {0}: the default stream.
    stream: ferrum_stream
    # Tag for the tracker, at most 63 bytes; NULL: none.
    tag: bytes | None
    @classmethod
    def init(cls) -> ferrum_buffer_request:
        """A struct with the values of FERRUM_BUFFER_REQUEST_INIT."""

class ferrum_fallback_buffer_info(ctypes.Structure):
    """A buffer of a fallback manager."""

    struct_size: int
    # Type of the elements: FERRUM_DTYPE_F32 to FERRUM_DTYPE_I64.
    dtype: int
    # Stays the same when the buffer moves.
    buffer_id: int
    # Number of elements.
    num_elements: int
    # Size of the elements.
    size_bytes: int
    # Address of the buffer on the device, or on the host a pointer. Valid until the buffer moves.
    address: int
    # The manager of the buffer.
    manager: ferrum_fallback_manager
    # The device of the buffer's present side.
    device: ferrum_device
    # Present side of the buffer.
    location: int
    # Number of pins.
    pins: int
    # FERRUM_BUFFER_* flags.
    flags: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_fallback_buffer_info:
        """A struct with the values of FERRUM_FALLBACK_BUFFER_INFO_INIT."""

class ferrum_map_request(ctypes.Structure):
    """A range of a block to map for the host."""

    struct_size: int
    # FERRUM_HOST_*
    access: int
    # The block.
    memory: ferrum_memory
    # First byte.
    offset_bytes: int
    # Not 0; FERRUM_MAP_TO_END: the rest of the block.
    size_bytes: int
    @classmethod
    def init(cls) -> ferrum_map_request:
        """A struct with the values of FERRUM_MAP_REQUEST_INIT."""

class ferrum_mapping(ctypes.Structure):
    """A range of a block that is mapped for the host."""

    struct_size: int
    # host_pointer is a staging copy, which ferrum_memory_unmap writes back (1), or the block itself
    # (0).
    is_staged: int
    # Number of the mapping within its block; never 0.
    mapping_id: int
    # Pointer to size_bytes bytes. Valid until the mapping has ended.
    host_pointer: int | None
    # Length of the range.
    size_bytes: int
    @classmethod
    def init(cls) -> ferrum_mapping:
        """A struct with the values of FERRUM_MAPPING_INIT."""

class ferrum_link_request(ctypes.Structure):
    """A request for memory of two devices."""

    struct_size: int
    reserved: int
    # Not 0.
    size_bytes: int
    # Alignment of the first address: a power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's.
    alignment_bytes: int
    # Name for the counters, at most 63 bytes; NULL: none.
    tag: bytes | None
    @classmethod
    def init(cls) -> ferrum_link_request:
        """A struct with the values of FERRUM_LINK_REQUEST_INIT."""

class ferrum_usage_hints(ctypes.Structure):
    """The last hint of each group; FERRUM_USAGE_NONE where none was set."""

    struct_size: int
    # FERRUM_USAGE_SEQUENTIAL, FERRUM_USAGE_RANDOM or none.
    order: int
    # FERRUM_USAGE_READ_MOSTLY, FERRUM_USAGE_WRITE_MOSTLY or none.
    direction: int
    # FERRUM_USAGE_TEMPORARY, FERRUM_USAGE_RESIDENT or none.
    lifetime: int
    @classmethod
    def init(cls) -> ferrum_usage_hints:
        """A struct with the values of FERRUM_USAGE_HINTS_INIT."""

class ferrum_access_stats(ctypes.Structure):
    """Numbers about copies, fills, writes, reads and mappings of a block."""

    struct_size: int
    # 1 if the manager tracks accesses; otherwise all numbers below are 0.
    is_tracked: int
    # 1 if there was an access; otherwise last_access_ns has no meaning.
    is_accessed: int
    # Pattern of the last accesses.
    pattern: int
    # Number of reads.
    read_count: int
    # Number of writes.
    write_count: int
    # Mean size of a read, rounded down; 0 when there was none.
    average_read_bytes: int
    # Mean size of a write, rounded down; 0 when there was none.
    average_write_bytes: int
    # Monotonic time of the last access since ferrum_init.
    last_access_ns: int
    @classmethod
    def init(cls) -> ferrum_access_stats:
        """A struct with the values of FERRUM_ACCESS_STATS_INIT."""

class ferrum_adoption(ctypes.Structure):
    """External memory that gets a handle."""

    struct_size: int
    # FERRUM_MEMORY_*, its purpose.
    memory_type: int
    # Address of the memory on the manager's device; on a host device a pointer. With
    # FERRUM_CAPABILITY_REGISTERED_MEMORY, FERRUM_MEMORY_PINNED and FERRUM_MEMORY_MAPPED also accept
    # a pointer to any memory of the process.
    address: int
    # Not 0.
    size_bytes: int
    # Name for the counters, at most 63 bytes; NULL: none.
    tag: bytes | None
    # The block is never written (1): copies, fills and mappings that would write to it return
    # FERRUM_ERROR_PERMISSION_DENIED. Use it for memory that the process may only read, such as a
    # mapped file of weights.
    is_read_only: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_adoption:
        """A struct with the values of FERRUM_ADOPTION_INIT."""

class ferrum_foreign_stream(ctypes.Structure):
    """An external stream."""

    struct_size: int
    reserved: int
    # Handle in the runtime of the device's vendor, such as a CUstream; 0 on host devices, which use
    # enqueue. It must mean the same queue on every thread.
    native_handle: int
    # Queues work in the stream; NULL with a native_handle.
    enqueue: Any
    # Passed to enqueue.
    user_data: int | None
    @classmethod
    def init(cls) -> ferrum_foreign_stream:
        """A struct with the values of FERRUM_FOREIGN_STREAM_INIT."""

class ferrum_page_import(ctypes.Structure):
    """Pages that a process exported, by file descriptors or by fabric handles."""

    struct_size: int
    reserved: int
    # A descriptor for each page, in the order of the addresses. They stay the caller's.
    descriptors: Any
    # Number of pages.
    count: int
    # Page size of the pool that exported the pages, exactly.
    page_bytes: int
    # Name for the counters, at most 63 bytes; NULL: none.
    tag: bytes | None
    # The handles of ferrum_vpool_export_fabric, in the order of the addresses; NULL: use the
    # descriptors.
    fabric_handles: Any
    # FERRUM_FABRIC_HANDLE_BYTES for each page.
    fabric_handle_bytes: int
    @classmethod
    def init(cls) -> ferrum_page_import:
        """A struct with the values of FERRUM_PAGE_IMPORT_INIT."""

class ferrum_shared_memory(ctypes.Structure):
    """A range of device memory of one process, as bytes that name it in another process."""

    struct_size: int
    reserved: int
    # Start of the range in the memory that the handle names.
    offset_bytes: int
    # Its size.
    size_bytes: int
    # Opaque.
    handle: Any
    @classmethod
    def init(cls) -> ferrum_shared_memory:
        """A struct with the values of FERRUM_SHARED_MEMORY_INIT."""

class ferrum_shared_event(ctypes.Structure):
    """An event of one process, as bytes that name it in another process."""

    struct_size: int
    reserved: int
    # Opaque.
    handle: Any
    @classmethod
    def init(cls) -> ferrum_shared_event:
        """A struct with the values of FERRUM_SHARED_EVENT_INIT."""

class ferrum_weights(ctypes.Structure):
    """An open source of tensors."""

    # 0 is no source
    id: int

class ferrum_tensor_set(ctypes.Structure):
    """A load, and the tensors that it has loaded into memory."""

    # 0 is no set
    id: int

class ferrum_weights_source(ctypes.Structure):
    """The source to open."""

    struct_size: int
    # Where the source is.
    kind: int
    # The path of a file or folder. For FERRUM_WEIGHTS_SOURCE_MEMORY: the name in messages, or NULL.
    # For the other kinds: the address.
    path: bytes | None
    # The bytes, for FERRUM_WEIGHTS_SOURCE_MEMORY. They stay valid and unchanged until the source is
    # closed.
    data: int | None
    # Number of bytes.
    data_bytes: int
    # The format that is accepted.
    format: int
    # The number of the decoder, for FERRUM_WEIGHTS_FORMAT_CUSTOM; otherwise 0.
    decoder: int
    # The type of the tensor, for FERRUM_WEIGHTS_FORMAT_RAW.
    raw_dtype: int
    # Number of its dimensions.
    raw_rank: int
    # Its shape, the slowest dimension first.
    raw_shape: Any
    @classmethod
    def init(cls) -> ferrum_weights_source:
        """A struct with the values of FERRUM_WEIGHTS_SOURCE_INIT."""

class ferrum_tensor_info(ctypes.Structure):
    """A tensor of a source or of a set."""

    struct_size: int
    # Type of its elements.
    dtype: int
    # Number of dimensions, at most FERRUM_WEIGHTS_RANK_MAX.
    rank: int
    # FERRUM_TENSOR_* flags.
    flags: int
    # Its shape, the slowest dimension first.
    shape: Any
    # Address of its elements, which are in the order of the shape without gaps; 0 for a tensor of a
    # source, and for a tensor without elements.
    address: int
    # Size of its elements.
    size_bytes: int
    # Its device, such as "cpu:0"; for a mapped tensor "cpu:0"; empty for a tensor of a source.
    device: bytes
    @classmethod
    def init(cls) -> ferrum_tensor_info:
        """A struct with the values of FERRUM_TENSOR_INFO_INIT."""

class ferrum_weights_progress(ctypes.Structure):
    """The progress of a load or of another call."""

    struct_size: int
    # 1 if a load has ended, with or without success, else 0.
    is_over: int
    # Number of bytes that are done.
    done_bytes: int
    # Total number of bytes; 0 before it is known.
    total_bytes: int
    # The mean rate since the beginning; 0 if it is not known.
    bytes_per_second: float
    @classmethod
    def init(cls) -> ferrum_weights_progress:
        """A struct with the values of FERRUM_WEIGHTS_PROGRESS_INIT."""

class ferrum_weights_memory(ctypes.Structure):
    """Memory for the tensors of a load, or for one tensor (ferrum_tensor_create). Exactly one of
    pool, vpool, elastic_pool and device is set.
    """

    # Blocks of this pool.
    pool: ferrum_pool
    # Pages of this virtual pool.
    vpool: ferrum_vpool
    # Pages of a model of this elastic pool.
    elastic_pool: ferrum_elastic_pool
    # The library allocates no memory: each tensor on this device is loaded into memory of the
    # caller ("into").
    device: ferrum_device
    # The model, for elastic_pool only.
    model: bytes | None
    # Offset of the first page, for vpool only.
    offset_bytes: int
    # Tag of the memory, for sleep and reports; NULL: the name of the pool, or the id of the model.
    tag: bytes | None
    reserved: int

class ferrum_weights_load_request(ctypes.Structure):
    """The tensors to load, and the memory for them."""

    struct_size: int
    # FERRUM_WEIGHTS_LOAD_* flags.
    flags: int
    # The memories. A tensor goes to the first memory, unless the order names another one. NULL with
    # FERRUM_WEIGHTS_LOAD_MAP and FERRUM_WEIGHTS_LOAD_PRELOAD.
    memories: Any
    # Number of memories, at most FERRUM_WEIGHTS_MEMORIES_MAX.
    memory_count: int
    # Number of threads that read; 0: 8. More than 256 count as 256.
    threads: int
    # The order, as JSON with the fields of docs/weights.md: the tensors, their new names and their
    # transformations; NULL: all tensors unchanged.
    specs_json: bytes | None
    # Length of specs_json, at most FERRUM_WEIGHTS_JSON_MAX.
    specs_bytes: int
    # Bound of the staging memory, at most 256 MiB; 0: 64 MiB. Tensors for a device whose memory the
    # host cannot write go through this host memory.
    staging_bytes: int
    # Called during the load; NULL: not called.
    progress: Any
    # Passed to progress; must stay valid until the load is over.
    user_data: int | None
    @classmethod
    def init(cls) -> ferrum_weights_load_request:
        """A struct with the values of FERRUM_WEIGHTS_LOAD_REQUEST_INIT."""

class ferrum_weights_convert_request(ctypes.Structure):
    """How a source is converted."""

    struct_size: int
    # FERRUM_WEIGHTS_FORMAT_SAFETENSORS, FERRUM_WEIGHTS_FORMAT_GGUF, FERRUM_WEIGHTS_FORMAT_NUMPY or
    # FERRUM_WEIGHTS_FORMAT_RAW; FERRUM_WEIGHTS_FORMAT_ANY: the ending of the path determines the
    # format.
    format: int
    # FERRUM_WEIGHTS_CONVERT_* flags.
    flags: int
    reserved: int
    # The order, as for a load. The call ignores its memories. NULL: all tensors.
    specs_json: bytes | None
    # Length of specs_json, at most FERRUM_WEIGHTS_JSON_MAX.
    specs_bytes: int
    # The metadata of the file: a JSON object of texts; NULL: none.
    texts_json: bytes | None
    # Length of texts_json, at most FERRUM_WEIGHTS_JSON_MAX.
    texts_bytes: int
    # Called on the thread of the call; NULL: not called.
    progress: Any
    # Passed to progress.
    user_data: int | None
    @classmethod
    def init(cls) -> ferrum_weights_convert_request:
        """A struct with the values of FERRUM_WEIGHTS_CONVERT_REQUEST_INIT."""

class ferrum_weights_file(ctypes.Structure):
    """A file whose format a decoder of the program reads."""

    struct_size: int
    reserved: int
    # Its number, for read_at and describe; valid during the callback.
    file: int
    # Its length.
    size_bytes: int
    # Its path, or the name of the memory.
    name: bytes | None
    # Reads bytes of the file.
    read_at: Any
    # Takes a description of the file. The last description counts.
    describe: Any
    @classmethod
    def init(cls) -> ferrum_weights_file:
        """A struct with the values of FERRUM_WEIGHTS_FILE_INIT."""

class ferrum_weights_decoder(ctypes.Structure):
    """A decoder of a format of the program."""

    struct_size: int
    reserved: int
    # Name of the format, 1 to 63 bytes. No other format has this name.
    format: bytes | None
    # Recognises a file.
    recognises: Any
    # Describes a file.
    decode: Any
    # Passed to both; must stay valid until the registration is removed.
    user_data: int | None
    @classmethod
    def init(cls) -> ferrum_weights_decoder:
        """A struct with the values of FERRUM_WEIGHTS_DECODER_INIT."""

class ferrum_tensor(ctypes.Structure):
    """A tensor."""

    # 0 is no tensor
    id: int

class ferrum_tensor_desc(ctypes.Structure):
    """The type, the shape and the place of a tensor."""

    struct_size: int
    # The type of the elements.
    dtype: int
    # Number of dimensions.
    rank: int
    # FERRUM_ELEMENTS_* flags.
    flags: int
    # Length of each dimension, the slowest first.
    shape: Any
    # Distance from one index of a dimension to the next, in elements. May be 0 or negative. As an
    # argument, all 0: the elements lie in the order of the shape without gaps, unless flags has
    # FERRUM_ELEMENTS_REPEATED.
    strides: Any
    # Address of the element whose indices are all 0.
    address: int
    # Size of the elements without gaps. As an argument: ignored.
    size_bytes: int
    # The device, such as "cpu:0". As an argument: ignored.
    device: bytes
    # The elements of an input with one dimension that carries a shape, axes or sizes, for
    # ferrum_op_infer; NULL: they are not known. Other functions do not use them.
    elements: Any
    # Number of elements; 0 with NULL. Otherwise the length of the dimension.
    element_count: int
    @classmethod
    def init(cls) -> ferrum_tensor_desc:
        """A struct with the values of FERRUM_TENSOR_DESC_INIT."""

class ferrum_dlpack(ctypes.Structure):
    """A tensor in the form of DLPack, with which libraries of tensors exchange memory."""

    struct_size: int
    # 1: managed is a DLManagedTensorVersioned of DLPack 1; 0: a DLManagedTensor.
    is_versioned: int
    # The struct of DLPack. Its receiver calls its deleter once.
    managed: int | None
    @classmethod
    def init(cls) -> ferrum_dlpack:
        """A struct with the values of FERRUM_DLPACK_INIT."""

class ferrum_kv_cache(ctypes.Structure):
    """A paged KV cache."""

    # 0 is no cache
    id: int

class ferrum_kv_cache_config(ctypes.Structure):
    """The settings of a cache."""

    struct_size: int
    # The type of keys and values; not used without memory.
    dtype: int
    # Number of tokens of a block, at most FERRUM_KV_TOKENS_MAX.
    block_tokens: int
    # Number of blocks, at most FERRUM_KV_BLOCKS_MAX.
    blocks: int
    # Number of blocks of the host for swapped sequences; 0: none.
    host_blocks: int
    # Most sequences that live at the same time, at most FERRUM_KV_SEQUENCES_MAX.
    sequences: int
    # Most tokens of a sequence, at most FERRUM_KV_TOKENS_MAX.
    sequence_tokens: int
    # Length of the sliding window: a token uses so many tokens, itself among them; 0: each token
    # uses all tokens before it.
    window_tokens: int
    # Number of layers; not used without memory.
    layers: int
    # Number of heads of keys and of values in a layer; not used without memory.
    kv_heads: int
    # Length of a head; not used without memory.
    head_dim: int
    # In a virtual pool or a model: number of blocks, from the first one, that always have memory.
    # The others get memory when sequences need them. In a pool all blocks always have memory.
    always_blocks: int
    # Seed of ferrum_kv_cache_hash_tokens. Caches with the same seed and block_tokens compute the
    # same hashes. A secret seed keeps users from choosing tokens with the hash of the tokens of
    # another user.
    hash_seed: int
    reserved: int
    @classmethod
    def init(cls) -> ferrum_kv_cache_config:
        """A struct with the values of FERRUM_KV_CACHE_CONFIG_INIT."""

class ferrum_kv_cache_stats(ctypes.Structure):
    """The state of a cache."""

    struct_size: int
    # The level of used_blocks of blocks, with the bounds 60, 80 and 95 %.
    level: int
    # Number of blocks: those used, cached, free and unmapped.
    blocks: int
    # Blocks that sequences use.
    used_blocks: int
    # Blocks with a hash that no sequence uses. The cache evicts them when it needs them.
    cached_blocks: int
    # Blocks without contents.
    free_blocks: int
    # Blocks that have no memory now.
    unmapped_blocks: int
    # Used and cached blocks with a hash.
    published_blocks: int
    # Number of blocks of all block tables together. Above used_blocks if sequences share blocks.
    references: int
    # Number of blocks of the host.
    host_blocks: int
    # Those of them that swapped sequences use.
    host_used_blocks: int
    # Number of live sequences.
    sequences: int
    # Those of them that are swapped out.
    swapped_sequences: int
    # Number of tokens of all sequences together.
    tokens: int
    # Hashes of ferrum_kv_cache_allocate whose block was shared.
    hits: int
    # The other hashes of ferrum_kv_cache_allocate.
    misses: int
    # Cached blocks that were evicted.
    evictions: int
    # Blocks that were copied because an append changed a shared block.
    copies: int
    # Blocks that were copied to the host.
    swapped_out_blocks: int
    # Blocks that were copied from the host.
    swapped_in_blocks: int
    # Calls that failed because there were not enough blocks.
    failures: int
    # Size of a block in all layers, keys and values; 0 without memory.
    block_bytes: int
    # Size of all blocks that have memory now.
    mapped_bytes: int
    @classmethod
    def init(cls) -> ferrum_kv_cache_stats:
        """A struct with the values of FERRUM_KV_CACHE_STATS_INIT."""

class ferrum_kv_sequence(ctypes.Structure):
    """A new sequence."""

    # The number of the sequence.
    sequence: int
    # Number of its first tokens whose keys and values are in shared blocks.
    cached_tokens: int
    reserved: int

class ferrum_kv_copy(ctypes.Structure):
    """A copy of a whole block, with its keys and values of all layers."""

    # The block to be copied.
    source: int
    # The block that gets the contents.
    target: int

class ferrum_compute(ctypes.Structure):
    """An open backend."""

    # 0 is no backend
    id: int

class ferrum_op(ctypes.Structure):
    """A prepared operation."""

    # 0 is no operation
    id: int

class ferrum_sequence(ctypes.Structure):
    """Operations with fixed tensors."""

    # 0 is no sequence
    id: int

class ferrum_compute_config(ctypes.Structure):
    """The settings of a backend."""

    struct_size: int
    # The kind of the backend.
    type: int
    # The name of a registered backend, for FERRUM_COMPUTE_CUSTOM; otherwise NULL.
    name: bytes | None
    # The open device.
    device: ferrum_device
    # 0 to 3. At 0 each run plans anew; from 1 on plans are kept by shapes. The CPU engine plans the
    # same at 1, 2 and 3. The level changes no result.
    optimization_level: int
    # Number of threads that compute; 0: as many as the process may use.
    threads: int
    # 1: fill new and freed memory with patterns, and check the bytes around blocks.
    enable_debug: int
    # When memory is taken from the device.
    growth: int
    # The most memory of the backend; 0: no bound with FERRUM_COMPUTE_GROWTH_DYNAMIC, otherwise 1
    # GiB, or a quarter of the device if that is less.
    pool_size_bytes: int
    # Alignment of its blocks, a power of two; 0: 256.
    alignment_bytes: int
    # 1: keep freed memory for the next allocation; 0: return it to the device.
    enable_pooling: int
    reserved: int
    # Options of the backend, as JSON with the fields of docs/compute.md; NULL: none.
    options_json: bytes | None
    # Length of options_json, at most FERRUM_WEIGHTS_JSON_MAX.
    options_bytes: int
    @classmethod
    def init(cls) -> ferrum_compute_config:
        """A struct with the values of FERRUM_COMPUTE_CONFIG_INIT."""

class ferrum_compute_call(ctypes.Structure):
    """What a backend of the program computes. Valid during the function that gets it."""

    struct_size: int
    # The version of the operator's domain that introduced this form of the operator.
    opset: int
    # The operator in its domain, such as "MatMul" or "linear".
    name: bytes | None
    # Its domain: "" for the operators of ONNX, or "ferrum".
    domain: bytes | None
    # The attributes that were given or have a default, as a JSON object in alphabetical order;
    # types of data are their names. A NUL follows the text.
    attributes_json: bytes | None
    # Length of attributes_json.
    attributes_bytes: int
    # The device of the backend.
    device: ferrum_device
    # The inputs, all with FERRUM_ELEMENTS_READ_ONLY. FERRUM_ELEMENTS_ABSENT: not given. The
    # addresses are 0 in a plan. Inputs with a shape, axes or sizes can be read by the host.
    inputs: Any
    # Number of inputs.
    input_count: int
    # The outputs. FERRUM_ELEMENTS_ABSENT: not wanted. The addresses are 0 in a plan.
    outputs: Any
    # Number of outputs.
    output_count: int
    # Memory of the run, aligned to 64 bytes; 0: none.
    workspace: int
    # Size of the workspace, as the plan states.
    workspace_bytes: int
    # Has FERRUM_COMPUTE_MESSAGE_MAX bytes. A function that fails may write UTF-8 text and a NUL,
    # which becomes a part of the message.
    message_out: bytes | None
    @classmethod
    def init(cls) -> ferrum_compute_call:
        """A struct with the values of FERRUM_COMPUTE_CALL_INIT."""

class ferrum_compute_plan(ctypes.Structure):
    """How a backend of the program computes a call."""

    struct_size: int
    # FERRUM_COMPUTE_PLAN_* flags.
    flags: int
    # The memory that a run needs besides inputs and outputs.
    workspace_bytes: int
    @classmethod
    def init(cls) -> ferrum_compute_plan:
        """A struct with the values of FERRUM_COMPUTE_PLAN_INIT."""

class ferrum_compute_backend(ctypes.Structure):
    """A backend of the program."""

    struct_size: int
    reserved: int
    # Its name, 1 to 63 letters, digits, '_', '-' and '.'. No other backend has this name.
    name: bytes | None
    # A text for people; NULL: "".
    version: bytes | None
    # Its properties, as JSON with the fields of docs/compute.md. A field that is missing has its
    # default. supported_devices has the devices on which it computes.
    capabilities_json: bytes | None
    # Length of capabilities_json, at most FERRUM_WEIGHTS_JSON_MAX.
    capabilities_bytes: int
    # Decides how it computes; NULL: it computes every call without a workspace.
    plan: Any
    # Computes.
    run: Any
    # Waits for its work; NULL: outputs are complete when run returns.
    synchronize: Any
    # Called once when the registration has ended, and no function of the backend runs or will be
    # called; NULL: not called.
    release: Any
    # Passed to all functions.
    user_data: int | None
    @classmethod
    def init(cls) -> ferrum_compute_backend:
        """A struct with the values of FERRUM_COMPUTE_BACKEND_INIT."""

class ferrum_layer(ctypes.Structure):
    """A layer type of the program."""

    struct_size: int
    # FERRUM_LAYER_* flags.
    flags: int
    # The type in a domain of the program, such as "mine.scale": letters, digits, '_', '-' and '.',
    # at most 127. What follows the last '.' is the name in the domain. The domains "ai.onnx" and
    # "ferrum" are those of the library.
    type: bytes | None
    # A text for people; NULL: the type.
    name: bytes | None
    # Length of each dimension of the first input; -1: any length.
    input_shape: Any
    # Number of dimensions of the first input, at most FERRUM_TENSOR_RANK_MAX, or
    # FERRUM_LAYER_ANY_RANK.
    input_rank: int
    # Number of outputs, 1 to 64.
    output_count: int
    # The configuration as a JSON object; NULL: {}. The config of a layer of a definition, or the
    # attributes of an operation, replace its fields.
    config_json: bytes | None
    # Length of config_json, at most FERRUM_WEIGHTS_JSON_MAX.
    config_bytes: int
    # Infers the outputs; NULL: they have the type and shape of the first input.
    infer: Any
    # States the parameters; NULL: the layers of a definition list them.
    parameters: Any
    # Makes parameters; NULL: each has an initialization or a tensor of the weights.
    initialize: Any
    # Decides how it computes; NULL: without a workspace.
    plan: Any
    # Computes the outputs from the inputs; the parameters are the last inputs. The outputs are
    # complete when it returns.
    forward: Any
    # Called once when the registration has ended, and no function of the layer runs or will be
    # called; NULL: not called.
    release: Any
    # Passed to all functions.
    user_data: int | None
    @classmethod
    def init(cls) -> ferrum_layer:
        """A struct with the values of FERRUM_LAYER_INIT."""

class ferrum_executor(ctypes.Structure):
    """A built model that can run. ferrum_leak_report_json shows the handle of a model from the
    beginning of its build. Until the build has ended, every function returns
    FERRUM_ERROR_BUSY for this handle.
    """

    # 0 is no executor
    id: int

class ferrum_build_progress(ctypes.Structure):
    """The progress of a build."""

    struct_size: int
    # The phase.
    phase: int
    # The part that is done, 0 to 1. It never decreases; the last call of a successful build has 1.
    progress: float
    # Seconds since the beginning.
    elapsed_seconds: float
    # The estimate of the remaining seconds; less than 0: not known.
    remaining_seconds: float
    # Bytes of the phase that are done.
    done_bytes: int
    # Bytes of the phase; 0 for a phase without bytes.
    total_bytes: int
    # What the build does now. Valid during the call.
    operation: bytes | None
    @classmethod
    def init(cls) -> ferrum_build_progress:
        """A struct with the values of FERRUM_BUILD_PROGRESS_INIT."""

class ferrum_build_request(ctypes.Structure):
    """The model to build, and the memory for it."""

    struct_size: int
    reserved: int
    # The id of the model in the elastic pool; NULL: the name of the folder or file, or of the
    # definition.
    model: bytes | None
    # A folder with config.json, a GGUF file, or a file of ONNX; NULL: definition_json is the model.
    path: bytes | None
    # The definition, without path; otherwise NULL.
    definition_json: bytes | None
    # Length of definition_json, at most FERRUM_WEIGHTS_JSON_MAX.
    definition_bytes: int
    # The tensors of the definition, without path; {0}: the parameters are initialised as the
    # definition states.
    weights: ferrum_weights
    # The backend that computes. It stays open as long as the executor.
    compute: ferrum_compute
    # The memory, on the device of the backend.
    elastic_pool: ferrum_elastic_pool
    # The same as in ferrum_model_config.
    guaranteed_bytes: int
    # The same as in ferrum_model_config.
    max_bytes: int
    # The same as in ferrum_model_config.
    priority: int
    # The same as in ferrum_model_config.
    guarantee_may_wait: int
    # Options of the build, as JSON with the fields of docs/models.md; NULL: all defaults.
    options_json: bytes | None
    # Length of options_json, at most FERRUM_WEIGHTS_JSON_MAX.
    options_bytes: int
    # Called during the build; NULL: not called.
    progress: Any
    # Passed to progress.
    user_data: int | None
    @classmethod
    def init(cls) -> ferrum_build_request:
        """A struct with the values of FERRUM_BUILD_REQUEST_INIT."""

class ferrum_named_tensor(ctypes.Structure):
    """A tensor with its name."""

    # The name of an input or an output of the model.
    name: bytes | None
    # The tensor.
    tensor: ferrum_tensor

class ferrum_pass_call(ctypes.Structure):
    """What a pass works on. Valid during the function that gets it."""

    struct_size: int
    reserved: int
    # Its number, for replace and warn.
    call: int
    # The definition, as JSON with the fields of docs/model_definition.md. It is valid, and a NUL
    # follows it.
    definition_json: bytes | None
    # Length of definition_json.
    definition_bytes: int
    # Takes the changed definition; has no effect in a ferrum_pass_is_applicable_fn.
    replace: Any
    # Takes a warning; has no effect in a ferrum_pass_is_applicable_fn.
    warn: Any
    # Has FERRUM_PASS_MESSAGE_MAX bytes. A function that fails may write UTF-8 text and a NUL, which
    # becomes a part of the message.
    message_out: bytes | None
    @classmethod
    def init(cls) -> ferrum_pass_call:
        """A struct with the values of FERRUM_PASS_CALL_INIT."""

class ferrum_pass(ctypes.Structure):
    """A pass of the program."""

    struct_size: int
    # Number of dependencies, at most FERRUM_PASS_DEPENDENCIES_MAX.
    dependency_count: int
    # Its name, 1 to 63 letters, digits, '_', '-' and '.'. No other pass has this name.
    name: bytes | None
    # The names of the passes that must have run before this one; NULL: none.
    dependencies: Any
    # Decides whether it runs; NULL: always.
    is_applicable: Any
    # Runs it.
    apply: Any
    # Called once when the registration has ended, and no function of the pass runs or will be
    # called; NULL: not called.
    release: Any
    # Passed to all functions.
    user_data: int | None
    @classmethod
    def init(cls) -> ferrum_pass:
        """A struct with the values of FERRUM_PASS_INIT."""

# Receives log messages. Runs on a thread of the library, one call at a time, with no lock held. It
# may call every function of the library except ferrum_shutdown. The message is valid during the
# call only.
ferrum_log_fn = ctypes.CFUNCTYPE(None, ferrum_log_level, ctypes.c_char_p, ctypes.c_void_p)
# Writes where the calling thread is in a program of an interpreted language: one line of text for
# each frame, the innermost first, with '\n' between them, such as "engine.py:12 (load)". Runs on
# the thread of a call, before the call does anything else. It must not call the library.
#
# @param buffer for the text, which needs no NUL at its end. @return the length of the text; 0: the
# thread runs no such program.
ferrum_call_site_fn = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p
)
# A function of the caller that runs as work of a stream. Runs on a thread of the library, in the
# order of the stream, with no lock held. It may call the library, except for functions that may
# wait for a stream: synchronize, copy (also ferrum_memory_copy_async, which waits for a transfer
# slot), read, write, map, unmap, defragment, measure, destroy, close and ferrum_shutdown return
# FERRUM_ERROR_INVALID_STATE in it. An allocation in it does not wait for memory.
ferrum_host_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# Called when the pressure level changes. Runs on a thread of the library, one call at a time, with
# no lock held. It may call every function of the library except ferrum_shutdown. The level falls
# only when the use is 1 % of the device below the bound of the level, so that the level does not
# change back and forth.
ferrum_pressure_fn = ctypes.CFUNCTYPE(None, ferrum_device, ferrum_pressure_level, ctypes.c_void_p)
# Called to free memory when an allocation would otherwise fail. Runs on a thread of the library,
# with no lock held. It may free and trim memory through the library. An allocation inside the
# callback fails without another reclaim call.
#
# @return number of freed bytes, 0 if none.
ferrum_reclaim_fn = ctypes.CFUNCTYPE(
    ctypes.c_uint64, ferrum_device, ctypes.c_uint64, ctypes.c_void_p
)
# Called to free memory of a model when pages are short. Runs on a thread of the library, with no
# lock held. It may call the library, usually to free ranges of its model. Memory that it frees
# after its deadline goes to the allocations that wait then.
#
# @param model id of the model, valid during the call only. @return number of freed bytes, 0 if
# none.
ferrum_model_reclaim_fn = ctypes.CFUNCTYPE(
    ctypes.c_uint64, ferrum_elastic_pool, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p
)
# Called when something changes, with the levels of all monitored devices in the order of their
# registration. The addition or removal of a device is a change too. Runs on a thread of the
# library, one call at a time, with no lock held. It may call every function of the library except
# ferrum_shutdown. The library reports every change once and in order. Only when more than 1024
# changes wait, the newest one replaces the one before it.
#
# @param levels count entries, valid during the call only.
ferrum_monitor_fn = ctypes.CFUNCTYPE(
    None, ferrum_monitor, ctypes.POINTER(ferrum_device_level), ctypes.c_size_t, ctypes.c_void_p
)
# A strategy of the caller. Runs on the thread of the selection with no lock held; several threads
# may run it at once. It may call every function of the library except ferrum_shutdown.
#
# @param request the request, with devices NULL. Valid during the call only. @param options count
# candidates, also those that cannot serve the request. @param chosen_out -1 for no device, until
# the callback sets the index of its choice. @return FERRUM_OK, or an error, which the selection
# then returns; its message names the strategy.
ferrum_placement_fn = ctypes.CFUNCTYPE(
    ferrum_status,
    ctypes.POINTER(ferrum_placement_request),
    ctypes.POINTER(ferrum_placement_option),
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_void_p,
)
# Queues work in a stream of the caller. It must arrange that work(work_data) is called once, on any
# thread, after the work that was queued before and before the work that is queued later; an
# immediate call is allowed too. It is called on the threads that use the stream. It must not call
# the library, which may hold locks.
#
# @return FERRUM_OK, or an error when the work will not be called.
ferrum_enqueue_fn = ctypes.CFUNCTYPE(
    ferrum_status, ferrum_host_fn, ctypes.c_void_p, ctypes.c_void_p
)
# Called while bytes are read or written, one call at a time, with no lock held. For a load it runs
# on a thread of the library, otherwise on the thread of the call. It may call every function of the
# library except ferrum_shutdown. A function that would wait for the load or call of this callback
# returns FERRUM_ERROR_INVALID_STATE.
#
# @return 0 to continue; another number cancels the load or call, which then returns
# FERRUM_ERROR_CANCELLED, unless all bytes are done.
ferrum_weights_progress_fn = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ferrum_weights_progress), ctypes.c_void_p
)
# Reads bytes of the file that a decoder describes.
#
# @return FERRUM_ERROR_INVALID_SIZE for bytes beyond the end of the file; FERRUM_ERROR_IO;
# FERRUM_ERROR_INVALID_HANDLE if the callback that received the file has returned.
ferrum_weights_read_at_fn = ctypes.CFUNCTYPE(
    ferrum_status, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64
)
# Takes the description of the file, as JSON with the fields of docs/weights.md. The library copies
# the text, and checks it after the callback has returned.
#
# @return FERRUM_ERROR_INVALID_SIZE for a text that is longer than FERRUM_WEIGHTS_JSON_MAX;
# FERRUM_ERROR_INVALID_HANDLE as for reading.
ferrum_weights_describe_fn = ctypes.CFUNCTYPE(
    ferrum_status, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64
)
# Returns whether a file is of the format of a decoder. Runs on the thread of the call that opens
# the file, with no lock held.
#
# @param start the first bytes of the file, at most 4096. @return 0 if it is not.
ferrum_weights_recognises_fn = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_void_p
)
# Describes a file of the format of a decoder. The callback reads bytes of the file with
# file->read_at, and calls file->describe. It runs as ferrum_weights_recognises_fn does. The library
# compares the description with the file, and reads the tensors itself.
#
# @return FERRUM_OK, or an error, which the call that opens the file returns.
ferrum_weights_decode_fn = ctypes.CFUNCTYPE(
    ferrum_status, ctypes.POINTER(ferrum_weights_file), ctypes.c_void_p
)
# Gives memory back to the program. Called once, after the last tensor over the memory has ended and
# the work on it has run: in the call that ends the tensor, or on a thread of the library. It may
# call the library, but not a function that waits for a stream, and not ferrum_shutdown.
ferrum_release_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# Decides how a backend computes operands of certain types, shapes and strides. Plans are kept, as
# docs/compute.md explains.
#
# @param plan_out FERRUM_COMPUTE_PLAN_INIT before the call. @return FERRUM_OK;
# FERRUM_ERROR_UNSUPPORTED for operands that the backend does not compute; another error.
ferrum_compute_plan_fn = ctypes.CFUNCTYPE(
    ferrum_status,
    ctypes.POINTER(ferrum_compute_call),
    ctypes.POINTER(ferrum_compute_plan),
    ctypes.c_void_p,
)
# Computes the outputs of a call. The elements are at the addresses of the descriptions, with their
# strides. Outputs are complete when the function returns, or after the
# ferrum_compute_synchronize_fn of the backend.
#
# @return FERRUM_OK; an error, after which the outputs have no meaning.
ferrum_compute_run_fn = ctypes.CFUNCTYPE(
    ferrum_status, ctypes.POINTER(ferrum_compute_call), ctypes.c_void_p
)
# Waits for work that a backend has left on a device. ferrum_compute_synchronize calls it.
#
# @return FERRUM_OK; the error of the work.
ferrum_compute_synchronize_fn = ctypes.CFUNCTYPE(ferrum_status, ferrum_device, ctypes.c_void_p)
# Infers the outputs of a layer.
#
# @param call has the configuration as attributes_json, and the inputs without addresses. Its
# outputs are outputs_out. @param outputs_out has call->output_count elements. Each has the type and
# the shape of the first input, or FERRUM_ELEMENTS_ABSENT if the caller does not want it. The
# function changes dtype, rank and shape. It sets FERRUM_ELEMENTS_ABSENT in flags for an output that
# the layer does not give for these inputs. Other fields are not read. @return FERRUM_OK; an error
# for inputs that the layer does not take.
ferrum_layer_infer_fn = ctypes.CFUNCTYPE(
    ferrum_status,
    ctypes.POINTER(ferrum_compute_call),
    ctypes.POINTER(ferrum_tensor_desc),
    ctypes.c_void_p,
)
# Takes the parameters of a layer, as a JSON list with the fields of docs/layers.md. The library
# copies the text, and checks it after the callback has returned. The last list counts.
#
# @param list the number that the callback got. @return FERRUM_ERROR_INVALID_SIZE for a text that is
# longer than FERRUM_WEIGHTS_JSON_MAX; FERRUM_ERROR_INVALID_HANDLE if the callback has returned.
ferrum_layer_list_fn = ctypes.CFUNCTYPE(
    ferrum_status, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64
)
# States the parameters of a layer: calls take.
#
# @param call has the configuration, and no operands. @param list a number for take; valid during
# the callback. @return FERRUM_OK; an error, which the build returns.
ferrum_layer_parameters_fn = ctypes.CFUNCTYPE(
    ferrum_status,
    ctypes.POINTER(ferrum_compute_call),
    ferrum_layer_list_fn,
    ctypes.c_uint64,
    ctypes.c_void_p,
)
# Makes the elements of a parameter that the weights do not have.
#
# @param call has the configuration. Its only output is the parameter, without gaps, in memory of
# the host; the device is {0}. @param parameter the name in the list of the layer type. @return
# FERRUM_OK; an error, which the build returns.
ferrum_layer_initialize_fn = ctypes.CFUNCTYPE(
    ferrum_status, ctypes.POINTER(ferrum_compute_call), ctypes.c_char_p, ctypes.c_void_p
)
# Called during a build, one call at a time, on a thread of the build, with no lock held. It may
# call every function of the library except ferrum_shutdown.
#
# @return 0 to continue; another number cancels the build, which then returns
# FERRUM_ERROR_CANCELLED, unless progress is 1.
ferrum_build_progress_fn = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ferrum_build_progress), ctypes.c_void_p
)
# Takes the changed definition. The library copies the text, and checks it after the function of the
# pass has returned. The last definition counts.
#
# @return FERRUM_ERROR_NULL_POINTER for the text; FERRUM_ERROR_INVALID_SIZE for a text that is
# longer than FERRUM_DEFINITION_MAX; FERRUM_ERROR_INVALID_HANDLE if the function that received the
# call has returned.
ferrum_pass_replace_fn = ctypes.CFUNCTYPE(
    ferrum_status, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64
)
# Adds a warning to the result of the pass: what it could not do, and why.
#
# @return FERRUM_ERROR_NULL_POINTER for the text; FERRUM_ERROR_INVALID_ARGUMENT for a text that is
# not UTF-8 or not shorter than FERRUM_PASS_WARNING_MAX; FERRUM_ERROR_RESOURCE_EXHAUSTED after
# FERRUM_PASS_WARNINGS_MAX warnings; FERRUM_ERROR_INVALID_HANDLE as for replace.
ferrum_pass_warn_fn = ctypes.CFUNCTYPE(ferrum_status, ctypes.c_uint64, ctypes.c_char_p)
# Decides whether a pass has something to do in a definition.
#
# @param is_applicable_out 0 before the call: the pass is skipped. 1: it runs. @return FERRUM_OK; an
# error, which ends the call that runs the pass.
ferrum_pass_is_applicable_fn = ctypes.CFUNCTYPE(
    ferrum_status,
    ctypes.POINTER(ferrum_pass_call),
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_void_p,
)
# Runs a pass. If it calls replace, the definition changes; otherwise it stays.
#
# @return FERRUM_OK; an error, which ends the call that runs the pass.
ferrum_pass_apply_fn = ctypes.CFUNCTYPE(
    ferrum_status, ctypes.POINTER(ferrum_pass_call), ctypes.c_void_p
)
# Receives the result of ferrum_definition_optimize, on the thread of the call.
#
# @param result_json an object with "definition", "passes" (the result of each pass in the order in
# which they ran) and "total". Valid during the call; a NUL follows it.
ferrum_optimized_fn = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p)

class Functions:
    """Every function of the header, with its types, of a loaded library.

    Raises AttributeError, which names it, if the library lacks one.
    """

    # () Returns the version of the binary interface of the loaded library.
    ferrum_abi_version: Callable[..., int]
    # () Returns the version of the loaded library as text, for example "0.1.0". The text is
    # constant and stays valid until the process ends. Works at any time. Never fails.
    ferrum_version_string: Callable[..., bytes | None]
    # (status) Returns the name of a status code, for example "FERRUM_ERROR_BUSY", or
    # "FERRUM_ERROR_UNKNOWN" for a number that is not a status code. The text is constant. Works at
    # any time.
    ferrum_status_name: Callable[..., bytes | None]
    # (status) Returns the meaning of a status code in a few English words. The text is constant.
    # Works at any time.
    ferrum_status_text: Callable[..., bytes | None]
    # (config) Starts the library. If the library runs already, the call joins it. Each successful
    # call must be undone by one ferrum_shutdown.
    ferrum_init: Callable[..., int]
    # (flags) Undoes one ferrum_init. The last call stops the library, its threads and its streams,
    # and releases all memory. It waits for running callbacks, also for those that removed
    # themselves; afterwards the program may free what its callbacks use.
    ferrum_shutdown: Callable[..., int]
    # (error_out) Copies out the detail of the latest failure on the calling thread. The detail
    # stays until the next failing call of this thread. Works at any time.
    ferrum_last_error: Callable[..., int]
    # (minimum_level, callback, user_data) Sets the receiver of log messages. Without a receiver,
    # the library writes messages to stderr if the environment has
    # FERRUM_LOG=debug|info|warning|error, or FERRUM_DEBUG (then from warnings on); otherwise it
    # drops them.
    ferrum_log_set_callback: Callable[..., int]
    # (callback, user_data) Sets a callback that returns the lines of an interpreted program. Then
    # call sites of pools with FERRUM_DEBUG_CALL_SITES (leak reports, damage in errors and in the
    # log, ferrum_device_get_call_site_json) have these lines before the native functions. The
    # Python package sets it when it loads the library. Without such a pool the callback is never
    # called; with one, every function of the library calls it.
    ferrum_call_site_set_callback: Callable[..., int]
    # (buffer, capacity, length_out) Lists every backend with its devices, or with the reason why
    # the backend cannot be used here, as JSON. The host comes first, then cuda, rocm, metal and
    # opencl:
    ferrum_backends_json: Callable[..., int]
    # () Queries all backends again. Calls that run at the same time share one query.
    ferrum_backends_refresh: Callable[..., int]
    # (buffer, capacity, length_out) Returns the content of ferrum_backends_json as text for people:
    # a header line, a tick or a cross for each backend with its devices or its error, and the
    # recommended backend.
    ferrum_backends_summary: Callable[..., int]
    # (backend) Returns the name of a backend as in device ids, for example "cuda"; "auto" for
    # FERRUM_BACKEND_AUTO; "" for a number that is not a backend. The text is constant. Works at any
    # time. Never fails.
    ferrum_backend_name: Callable[..., bytes | None]
    # (backend) Returns the name of a backend for people, for example "ROCm". Otherwise the same as
    # ferrum_backend_name.
    ferrum_backend_display_name: Callable[..., bytes | None]
    # (backend_out) Returns the backend that FERRUM_BACKEND_AUTO tries first: the first of CUDA,
    # ROCm, Metal and OpenCL that is usable and has a device, otherwise the CPU.
    ferrum_backend_best: Callable[..., int]
    # (preference, required_bytes, choice_out) Finds the first device that has enough room: enough
    # free memory or, where free memory is not known, enough of 80 % of the capacity. Opens no
    # device. The data of vendors' devices comes from the last discovery.
    ferrum_backend_select: Callable[..., int]
    # (preference, required_bytes, device_out, choice_out) Opens the first device that has enough
    # room. The call first considers the same data as ferrum_backend_select. It then opens the
    # device and checks the memory that the device itself reports. It skips a device that cannot be
    # opened or has too little memory. The device must be closed by ferrum_device_close.
    ferrum_backend_open: Callable[..., int]
    # (id, bytes, fits_out) Returns whether a number of bytes fits into a device, with the rule of
    # ferrum_backend_select.
    ferrum_device_can_fit: Callable[..., int]
    # (info_out) Reads memory and processor of this machine. Works also before ferrum_init.
    ferrum_host_get_info: Callable[..., int]
    # (id, device_out) Opens a device. If the device is open already, the call returns the same
    # handle. Each call must be undone by one ferrum_device_close.
    ferrum_device_open: Callable[..., int]
    # (device, flags) Undoes one ferrum_device_open. The last call closes the device. It waits for
    # running callbacks of the device that removed themselves, unless it is called from inside a
    # callback.
    ferrum_device_close: Callable[..., int]
    # (device, info_out) Describes an open device.
    ferrum_device_get_info: Callable[..., int]
    # (device, timeout_ns) Waits until no stream of the device has queued work.
    ferrum_device_synchronize: Callable[..., int]
    # (device, limit_bytes) Limits the memory that this library holds from the device, for all pools
    # and managers together. 0 removes the limit. A limit below the held memory releases cached
    # memory. Live blocks stay, and no further memory is allocated from the device until the held
    # memory is below the limit.
    ferrum_device_set_limit: Callable[..., int]
    # (device, gbps_out) Measures the copy bandwidth of the device by timed copies between two
    # temporary segments of at most 64 MiB each. The call takes some tens of milliseconds and then
    # releases the segments. From then on ferrum_device_get_memory_info reports the bandwidth.
    ferrum_device_measure_bandwidth: Callable[..., int]
    # (device, info_out) Queries the memory of a device, with all uses of it.
    ferrum_device_get_memory_info: Callable[..., int]
    # (device, max_age_ns, info_out) Returns the same as ferrum_device_get_memory_info, computed
    # from the counters and the latest reading of the device, if that reading is no older than
    # max_age_ns. Otherwise the call reads the device again. The call is much quicker with an old
    # reading, and does not delay other threads.
    ferrum_device_get_recent_memory_info: Callable[..., int]
    # (device, statistics_out) Returns the counters of a device: the sum over its pools and
    # managers.
    ferrum_device_get_statistics: Callable[..., int]
    # (buffer, capacity, length_out) Returns all counters as JSON, for tools:
    ferrum_snapshot_json: Callable[..., int]
    # (buffer, capacity, length_out) Lists the objects and blocks that are live now as JSON, or,
    # after ferrum_shutdown, those that were live when the library stopped:
    ferrum_leak_report_json: Callable[..., int]
    # (device, stream_out) Creates a stream on a device. The thread of the stream starts with the
    # first work.
    ferrum_stream_create: Callable[..., int]
    # (stream, flags) Destroys a stream.
    ferrum_stream_destroy: Callable[..., int]
    # (device, stream_out) Returns the default stream of a device: the same handle each time.
    ferrum_stream_default: Callable[..., int]
    # (stream, timeout_ns) Waits until all work that was queued before the call has completed.
    # Returns the first failure of queued work since the last ferrum_stream_synchronize.
    ferrum_stream_synchronize: Callable[..., int]
    # (stream, ready_out) Returns without waiting whether all work queued so far has completed (1)
    # or not (0).
    ferrum_stream_is_ready: Callable[..., int]
    # (stream, function, user_data) Queues a call of the caller's function on a stream.
    ferrum_stream_host_function: Callable[..., int]
    # (stream, copies, count) Queues many copies by address on a stream and returns. Use it for
    # example for KV blocks that move from one table to another. All copies are within the device of
    # the stream. The call checks every copy before it queues the first one.
    ferrum_stream_copy_batch: Callable[..., int]
    # (stream, event_out) Records a new event at the present end of the stream's queue.
    ferrum_event_record: Callable[..., int]
    # (event) Destroys an event. Streams that wait for the event still wait for it.
    ferrum_event_destroy: Callable[..., int]
    # (event, ready_out) Returns without waiting whether the event has completed (1) or not (0).
    ferrum_event_is_ready: Callable[..., int]
    # (event, timeout_ns) Waits until the event has completed.
    ferrum_event_synchronize: Callable[..., int]
    # (start, end, elapsed_ns_out) Returns the time between two events of one device, with the
    # resolution of the device. CUDA measures in single precision.
    ferrum_event_elapsed: Callable[..., int]
    # (stream, event) Makes all later work of the stream wait for the event. The event may belong to
    # another stream, or to another device of the same backend.
    ferrum_stream_wait_event: Callable[..., int]
    # (device, config, pool_out) Creates a pool on a device.
    ferrum_pool_create: Callable[..., int]
    # (pool, flags) Destroys a pool and releases its memory to the system.
    ferrum_pool_destroy: Callable[..., int]
    # (pool, size_bytes, stream, address_out) Allocates a block from a pool. The block belongs to
    # the stream of the request. Every free of the block waits for the work that is queued on that
    # stream at the time of the free.
    ferrum_pool_alloc: Callable[..., int]
    # (pool, request, address_out) The same as ferrum_pool_alloc, with all options.
    ferrum_pool_alloc_with: Callable[..., int]
    # (pool, size_bytes, count, stream, addresses_out) Allocates count blocks of one size: all of
    # them, or none on failure.
    ferrum_pool_alloc_batch: Callable[..., int]
    # (pool, name, tag_out) Returns the number of a tag of the pool. The number stays the same while
    # the pool exists.
    ferrum_pool_get_tag: Callable[..., int]
    # (pool, address, stream) Frees a block. The pool reuses its memory when the work has completed
    # that is queued now
    ferrum_pool_free: Callable[..., int]
    # (pool, address, size_bytes, stream) The same as ferrum_pool_free, with a check of the
    # requested size. It waits for the same streams.
    ferrum_pool_free_sized: Callable[..., int]
    # (pool, addresses, count, stream) Frees count blocks: all of them, or none on failure. Each
    # free waits for the same streams as ferrum_pool_free. The call frees a large batch in slices,
    # and other threads wait for one slice at most. Meanwhile a call of another thread may find a
    # block of the batch already freed, also when the batch fails in the end.
    ferrum_pool_free_batch: Callable[..., int]
    # (pool, address, stream) Records a further stream that uses a block. When the block is freed,
    # the free also waits for the work that is queued on this stream at that time. The stream that
    # the block belongs to does not need this call.
    ferrum_pool_record_stream: Callable[..., int]
    # (pool, addresses, count, stream) Records a further stream that uses many blocks, like
    # ferrum_pool_record_stream: all of them, or none on failure. An address may occur twice. The
    # call checks a list of more than 4096 blocks as a whole and then records the stream in parts,
    # and other threads wait for one part at most. If another thread frees a block of such a list
    # meanwhile, the call may fail with some blocks recorded.
    ferrum_pool_record_stream_batch: Callable[..., int]
    # (pool, address, size_bytes_out) Returns the usable size of a live block: at least the
    # requested size. All of these bytes belong to the block.
    ferrum_pool_usable_size: Callable[..., int]
    # (pool, stream, shared_graph, graph_out) From now until ferrum_pool_capture_end, allocations
    # for the streams of a capture come from a private pool of the graph. Call it after the capture
    # has begun, for each pool that the capture uses. The library recognizes streams that join the
    # capture later. The program starts the capture with the calls of the vendor
    # (cuStreamBeginCapture). The stream is known to the library by ferrum_stream_adopt or
    # ferrum_stream_get_native.
    ferrum_pool_capture_begin: Callable[..., int]
    # (pool, graph) Ends the use of a private pool that ferrum_pool_capture_begin began. Call it
    # after the capture itself has ended. Live blocks stay live.
    ferrum_pool_capture_end: Callable[..., int]
    # (pool, graph, stream) Releases a graph. The program states that the graph will not run again
    # after the work that is queued on the stream now. When the last graph of a private pool is
    # released, that work has completed and no block of the private pool is live, the memory of the
    # private pool is released to the system. The call does not wait for it. A failed capture
    # without a graph must be released too, with or without ferrum_pool_capture_end.
    ferrum_pool_capture_release: Callable[..., int]
    # (pool, graph, info_out) Describes a graph. FERRUM_ERROR_NOT_FOUND for a released or unknown
    # graph.
    ferrum_pool_capture_get_info: Callable[..., int]
    # (pool, stream) Frees every live block of the pool, except for those of graphs, as
    # ferrum_pool_free does with this stream. Each block also waits for its own stream. The call
    # frees the blocks in slices. It needs the same amount of memory for any number of blocks, and
    # other threads wait for one slice at most. A block that another thread allocates during the
    # call may be freed or not.
    ferrum_pool_reset: Callable[..., int]
    # (pool) Checks every block of a pool in debug mode: the red zones of live blocks, and the
    # contents of blocks in quarantine. The call repairs the damage that it reports, so each damage
    # is reported once.
    ferrum_pool_check: Callable[..., int]
    # (pool, keep_bytes, released_bytes_out) Takes back the blocks of the thread caches, and
    # releases segments and pages without a live block to the system. It stops when the pool holds
    # no more than keep_bytes (or the pool's min_held_bytes), or when no free segment or page is
    # left.
    ferrum_pool_trim: Callable[..., int]
    # (pool, max_size_bytes) Changes the upper bound of the pool; 0 removes it. A bound below the
    # held memory releases cached memory. Live blocks stay.
    ferrum_pool_set_limit: Callable[..., int]
    # (pool, min_held_bytes) Changes min_held_bytes of the pool.
    ferrum_pool_set_min_held: Callable[..., int]
    # (pool, release_threshold_bytes) Changes release_threshold_bytes of the pool, and releases free
    # memory above the threshold. UINT64_MAX: no threshold.
    ferrum_pool_set_release_threshold: Callable[..., int]
    # (pool, info_out) Describes the memory of a pool.
    ferrum_pool_get_info: Callable[..., int]
    # (pool, statistics_out) Returns the counters of a pool.
    ferrum_pool_get_statistics: Callable[..., int]
    # (device, address, info_out) Finds the pool and the block that an address of a device belongs
    # to. It is meant for debuggers: it may traverse every block of a pool, in slices, while other
    # threads continue.
    ferrum_device_get_owner: Callable[..., int]
    # (device, address, buffer, capacity, length_out) Returns where the live block at an address was
    # allocated, as a JSON array of strings, the innermost function first: ["engine.py:12 (load)",
    # "engine+0x12f4 (allocate)"]. It is empty unless the pool of the block, which may be that of a
    # manager, has FERRUM_DEBUG_CALL_SITES. For debuggers, as ferrum_device_get_owner.
    ferrum_device_get_call_site_json: Callable[..., int]
    # (device, config, manager_out) Creates a memory manager on a device. It holds no memory before
    # the first allocation, unless a pool setting requests it.
    ferrum_manager_create: Callable[..., int]
    # (manager, flags) Destroys a manager and releases its memory to the system.
    ferrum_manager_destroy: Callable[..., int]
    # (manager, memory_type, config) Sets the pool settings of a memory type from now on. Live
    # blocks of the type stay in their pool until they are freed. New blocks come from a pool with
    # the new settings.
    ferrum_manager_configure_pool: Callable[..., int]
    # (manager, statistics_out) Returns the counters of a manager: the sum over its pools.
    ferrum_manager_get_statistics: Callable[..., int]
    # (manager, size_bytes, memory_out) Allocates a block of type FERRUM_MEMORY_GENERAL.
    ferrum_manager_alloc: Callable[..., int]
    # (manager, request, memory_out) Allocates a block as described by the request.
    ferrum_manager_alloc_with: Callable[..., int]
    # (memory) Frees a block. Its handle becomes invalid at once. Copies in flight complete; the
    # memory is reused after them. The call waits only for a running move of the block.
    ferrum_memory_free: Callable[..., int]
    # (memory, info_out) Describes a block. FERRUM_ERROR_INVALID_HANDLE for an unknown one.
    ferrum_memory_get_handle_info: Callable[..., int]
    # (memory, address_out) Returns the address of a block, and keeps the block at this address
    # until ferrum_memory_unpin has been called as often as ferrum_memory_pin. Use it for work on
    # the address that the library does not know of. Every block can be pinned. The call waits for a
    # running move of the block. A pinned block cannot be freed. Destroying its manager with
    # FERRUM_FORCE frees it.
    ferrum_memory_pin: Callable[..., int]
    # (memory) Undoes one ferrum_memory_pin.
    ferrum_memory_unpin: Callable[..., int]
    # (transfer) Copies bytes from one block to another, or within one block (like memmove), and
    # returns when the copy has completed. The call waits for earlier work on streams that use the
    # two blocks.
    ferrum_memory_copy: Callable[..., int]
    # (transfer, stream) Queues a copy on a stream and returns. The memory of both blocks stays
    # valid until the copy has completed, also when a block is freed meanwhile. At most
    # max_concurrent_transfers copies of the destination's manager are in flight; the call waits for
    # a transfer slot.
    ferrum_memory_copy_async: Callable[..., int]
    # (memory, offset_bytes, source, size_bytes) Copies from the caller's memory into a block, and
    # returns when the copy has completed.
    ferrum_memory_write: Callable[..., int]
    # (memory, offset_bytes, destination_out, size_bytes) Copies from a block into the caller's
    # memory, and returns when the copy has completed.
    ferrum_memory_read: Callable[..., int]
    # (fill, stream) Queues a fill on a stream and returns. The memory of the block stays valid
    # until the fill has completed.
    ferrum_memory_fill_async: Callable[..., int]
    # (manager, stats_out) Moves blocks so that pages become free (segments, in segmented pools). It
    # starts with the pages that cost least, and releases unused memory of the manager's pools to
    # the system. It moves only blocks with FERRUM_ALLOCATE_RELOCATABLE that are not pinned, not
    # mapped, and were not used on a stream with queued work. A move changes the address of a block;
    # its handle, contents, tag and age stay. No pool grows for it.
    ferrum_manager_defragment: Callable[..., int]
    # (manager, budget_ns, stats_out) The same as ferrum_manager_defragment, within a time budget.
    # After the budget ends, the call starts no further move and gives up a running move at the next
    # 8 MiB of its copy. The call releases unused memory in any case. A second call for the same
    # manager waits for the first one, within its own budget.
    ferrum_manager_defragment_within: Callable[..., int]
    # (device, callback, user_data, registration_out) Registers a pressure callback on a device.
    # Each registration receives every change from then on.
    ferrum_device_pressure_callback_add: Callable[..., int]
    # (device, config, callback, user_data, registration_out) Registers a reclaim callback on a
    # device.
    ferrum_device_reclaim_callback_add: Callable[..., int]
    # (registration) Removes a callback. The call waits for a running call of the callback, unless
    # it comes from inside that callback. The library does not call the callback afterwards. Two
    # callbacks that run and remove each other would wait for each other forever.
    ferrum_registration_remove: Callable[..., int]
    # (device, sizes_out) Returns the page sizes of a device.
    ferrum_device_get_page_sizes: Callable[..., int]
    # (device, config, vpool_out) Creates a virtual pool. It reserves address space, and allocates
    # memory only for its tables.
    ferrum_vpool_create: Callable[..., int]
    # (vpool, flags) Destroys a virtual pool. The call waits for queued work that uses freed ranges,
    # unmaps everything and releases memory and address space.
    ferrum_vpool_destroy: Callable[..., int]
    # (vpool, offset_bytes, size_bytes, address_out) Maps readable and writable memory at every page
    # that a range touches: at all of them, or at none on failure. The first bytes are zeros, or
    # bytes that this pool wrote before.
    ferrum_vpool_alloc: Callable[..., int]
    # (vpool, request, address_out) The same as ferrum_vpool_alloc, with all options.
    ferrum_vpool_alloc_with: Callable[..., int]
    # (vpool, ranges, count, options) Maps memory at many ranges: at all of them, or at none on
    # failure. Each range becomes an allocation of its own, as if ferrum_vpool_alloc_with had made
    # it, and is freed alone or with others. One call costs less than one call for each range: the
    # lock is taken once, the limit is checked once for the sum of all pages, and ranges that lie
    # side by side are mapped together. The address of a range is the base address + its offset.
    ferrum_vpool_alloc_batch: Callable[..., int]
    # (vpool, offset_bytes, size_bytes, stream) Frees a range. The pool reuses its memory when the
    # work has completed that is queued now
    ferrum_vpool_free: Callable[..., int]
    # (vpool, ranges, count, stream) Frees many ranges: all of them, or none on failure. Each range
    # follows the rules of ferrum_vpool_free, and waits for the streams that use it and not for
    # those that use another one. Some ranges may be asleep and others not. The call checks all
    # ranges before it changes anything. Its only calls of the driver record the ends of the queues
    # of streams, before the first change. It does not unmap: the pool does that later. So a failure
    # of the driver leaves all ranges mapped.
    ferrum_vpool_free_batch: Callable[..., int]
    # (vpool, offset_bytes, size_bytes, stream) Records a further stream that uses every page that a
    # range touches. When the pages are freed, the free also waits for the work that is queued on
    # this stream at that time. The range may be a part of an allocation, or of several allocations.
    # The stream that a range belongs to does not need this call.
    ferrum_vpool_record_stream: Callable[..., int]
    # (vpool, ranges, count, stream) Records a further stream that uses many ranges: all of them, or
    # none on failure. Each range follows the rules of ferrum_vpool_record_stream. The call makes no
    # call of the driver before it has recorded the stream for all ranges.
    ferrum_vpool_record_stream_batch: Callable[..., int]
    # (vpool, offset_bytes, size_bytes, mapped_out) Returns whether every page that a range touches
    # is mapped (1) or not (0). The result is 0 for a range that ends outside the pool or has no
    # bytes.
    ferrum_vpool_is_mapped: Callable[..., int]
    # (vpool, info_out) Describes a virtual pool. Does not wait for queued work.
    ferrum_vpool_get_info: Callable[..., int]
    # (vpool, statistics_out) Returns the counters of a virtual pool. Its live blocks are ranges.
    ferrum_vpool_get_statistics: Callable[..., int]
    # (vpool, report_out) Joins unused pages. The call unmaps parked pages. It keeps ready_pages
    # free pages, adjacent ones first, and releases the others to the device. Mapped ranges keep
    # their places.
    ferrum_vpool_compact: Callable[..., int]
    # (vpool, keep_bytes, released_bytes_out) Releases parked and ready pages to the device, until
    # the pool holds no more than keep_bytes of them.
    ferrum_vpool_trim: Callable[..., int]
    # (vpool, limit_bytes) Changes the limit while the pool is in use; 0: the memory of the device.
    # Mapped ranges stay. Free pages above the limit are released to the device. For movable pages
    # the worker of the pool does that after the call.
    ferrum_vpool_set_limit: Callable[..., int]
    # (vpool, timeout_ns) Waits until the pool has no retiring range.
    ferrum_vpool_synchronize: Callable[..., int]
    # (vpool) Stops the worker of the pool from making pages ready, until ferrum_vpool_resume. The
    # call returns when the worker has finished its present step.
    ferrum_vpool_pause: Callable[..., int]
    # (vpool) Undoes a ferrum_vpool_pause.
    ferrum_vpool_resume: Callable[..., int]
    # (device, config, pool_out) Creates an elastic pool without models. The pool allocates nothing
    # from the device yet.
    ferrum_elastic_pool_create: Callable[..., int]
    # (pool, flags) Destroys an elastic pool with its models, like ferrum_vpool_destroy.
    # Registrations of reclaim callbacks stay until they are removed, but the library does not call
    # them again.
    ferrum_elastic_pool_destroy: Callable[..., int]
    # (pool, model, config) Adds a model while other models run. The model gets address space, and
    # memory only for its tables.
    ferrum_elastic_pool_register_model: Callable[..., int]
    # (pool, model, flags) Removes a model while other models run. The call waits for queued work
    # that uses freed ranges of the model, and for running calls of its reclaim callbacks; these are
    # not called again. The memory of the model becomes available to the other models.
    ferrum_elastic_pool_unregister_model: Callable[..., int]
    # (pool, model, size_bytes, address_out, offset_bytes_out) Allocates the first free range of the
    # model's address space that is long enough, in whole pages, and maps memory there. The first
    # bytes are zeros, or bytes that this model wrote before. If no free range is long enough, but
    # freed ranges that queued work still uses would make one, the call waits for that work for at
    # most ten seconds.
    ferrum_elastic_pool_alloc: Callable[..., int]
    # (pool, model, request, address_out, offset_bytes_out) The same as ferrum_elastic_pool_alloc,
    # with all options.
    ferrum_elastic_pool_alloc_with: Callable[..., int]
    # (pool, model, ranges, count, options) Maps memory at many ranges of a model, like
    # ferrum_vpool_alloc_batch: at all of them, or at none on failure. The pages of all ranges are
    # one request to the pool: it waits once, and the reclaim callbacks are called with the sum of
    # the missing memory.
    ferrum_elastic_pool_alloc_batch: Callable[..., int]
    # (pool, model, sizes, count, options, offsets_out) Maps memory at many ranges of a model, each
    # at the first free place that is long enough, like ferrum_elastic_pool_alloc: all of them, or
    # none on failure. The library places the ranges in the order of the list. The pages of all
    # ranges are one request to the pool, as in ferrum_elastic_pool_alloc_batch. Each range becomes
    # an allocation of its own, and is freed alone or with others.
    ferrum_elastic_pool_alloc_batch_anywhere: Callable[..., int]
    # (pool, model, offset_bytes, size_bytes, stream) Frees a range of a model, like
    # ferrum_vpool_free.
    ferrum_elastic_pool_free: Callable[..., int]
    # (pool, model, ranges, count, stream) Frees many ranges of a model, like
    # ferrum_vpool_free_batch: all of them, or none on failure.
    ferrum_elastic_pool_free_batch: Callable[..., int]
    # (pool, model, offset_bytes, size_bytes, stream) The same as ferrum_vpool_record_stream, for a
    # range of a model.
    ferrum_elastic_pool_record_stream: Callable[..., int]
    # (pool, model, ranges, count, stream) The same as ferrum_vpool_record_stream_batch, for ranges
    # of a model.
    ferrum_elastic_pool_record_stream_batch: Callable[..., int]
    # (pool, model, offset_bytes, size_bytes, mapped_out) The same as ferrum_vpool_is_mapped, for a
    # range of a model.
    ferrum_elastic_pool_is_mapped: Callable[..., int]
    # (pool, model, info_out) Describes a model. FERRUM_ERROR_MODEL_NOT_FOUND for an unknown model.
    ferrum_elastic_pool_get_model_info: Callable[..., int]
    # (pool, model, limits) Changes guarantee, maximum and priority of a model while it and others
    # run: all of them, or none on failure. Mapped ranges stay. If the guarantee rises, the part of
    # it that is in effect stays in effect.
    ferrum_elastic_pool_set_model_limits: Callable[..., int]
    # (pool, info_out) Describes an elastic pool.
    ferrum_elastic_pool_get_info: Callable[..., int]
    # (pool, statistics_out) Returns the counters of an elastic pool. Its live blocks are the ranges
    # of all models.
    ferrum_elastic_pool_get_statistics: Callable[..., int]
    # (pool, buffer, capacity, length_out) Describes every model of a pool at one moment, in the
    # order of registration, as JSON:
    ferrum_elastic_pool_models_json: Callable[..., int]
    # (pool, limit_bytes) Changes the limit of all models together while they run; 0: the memory of
    # the device. Mapped ranges stay. Free pages above the limit are released to the device, as with
    # ferrum_vpool_set_limit. If the limit falls below the memory that the models use or have as
    # guarantees, a model within its guarantee may have to wait until models above their guarantees
    # have released pages.
    ferrum_elastic_pool_set_limit: Callable[..., int]
    # (pool, report_out) The same as ferrum_vpool_compact.
    ferrum_elastic_pool_compact: Callable[..., int]
    # (pool, keep_bytes, released_bytes_out) The same as ferrum_vpool_trim.
    ferrum_elastic_pool_trim: Callable[..., int]
    # (pool, timeout_ns) The same as ferrum_vpool_synchronize, for the ranges of all models.
    ferrum_elastic_pool_synchronize: Callable[..., int]
    # (pool) The same as ferrum_vpool_pause.
    ferrum_elastic_pool_pause: Callable[..., int]
    # (pool) Ends a ferrum_elastic_pool_pause.
    ferrum_elastic_pool_resume: Callable[..., int]
    # (pool, model, config, callback, user_data, registration_out) Registers a reclaim callback of a
    # model. The library calls it only while the model holds more than its guarantee, or when the
    # model itself needs pages and is at its own maximum. Remove it with ferrum_registration_remove,
    # also after the model has ended.
    ferrum_elastic_pool_reclaim_callback_add: Callable[..., int]
    # (vpool, config, report_out) Puts ranges of a virtual pool to sleep, after the work that the
    # settings name has completed. Ranges that were asleep before stay as they are. A failed call
    # changes nothing and may be repeated. There is one exception to failing: when the device fails
    # to unmap some pages, and also fails to map the others again, the call succeeds. All ranges are
    # asleep then, and the memory of these pages is not released.
    ferrum_vpool_sleep: Callable[..., int]
    # (vpool, config, report_out) Wakes ranges of a virtual pool at the addresses that they had.
    # After a failure all of them are asleep as before, with their contents, and the call may be
    # repeated. Pages that the device then fails to unmap count as used until they are unmapped.
    ferrum_vpool_wake: Callable[..., int]
    # (vpool, tag, asleep_out) Returns whether a tag of a virtual pool is asleep (1) or not (0).
    ferrum_vpool_is_asleep: Callable[..., int]
    # (pool, model, config, report_out) Puts a model, or ranges of it, to sleep, like
    # ferrum_vpool_sleep. Other models may use its pages then. The guarantee of the model stays
    # reserved for it.
    ferrum_elastic_pool_sleep_model: Callable[..., int]
    # (pool, model, config, report_out) Wakes a model, or ranges of it, like ferrum_vpool_wake. It
    # gets its memory by the rules of ferrum_elastic_pool_alloc: within the limits, in turn, and
    # also from models above their guarantees.
    ferrum_elastic_pool_wake_model: Callable[..., int]
    # (pool, model, tag, asleep_out) The same as ferrum_vpool_is_asleep, for a model.
    ferrum_elastic_pool_is_model_asleep: Callable[..., int]
    # (profile, total_bytes, free_bytes, level_out) Returns the pressure level for a capacity and a
    # number of free bytes, computed with integers and without hysteresis. A capacity of 0 means
    # unknown and gives LOW. More free bytes than the capacity count as an empty device.
    ferrum_pressure_level_of: Callable[..., int]
    # (profile, ratio, level_out) Returns the pressure level for a ratio, 0 for empty and 1 for
    # full, for callers that have only the ratio. A ratio above 1 counts as 1.
    ferrum_pressure_from_utilization: Callable[..., int]
    # (config, monitor_out) Creates a monitor without managers. It belongs to no device.
    ferrum_monitor_create: Callable[..., int]
    # (monitor) Destroys a monitor. Its managers stay. The call waits for a running callback, unless
    # it is called from inside that callback.
    ferrum_monitor_destroy: Callable[..., int]
    # (monitor, manager) Adds a manager and its device to the monitor. The registration does not
    # prevent the destruction of either. Destroying a manager removes it from the monitor before the
    # destroy call returns. Several managers of one device count as one device.
    ferrum_monitor_register: Callable[..., int]
    # (monitor, manager) Removes a manager. FERRUM_ERROR_NOT_FOUND when it is not registered.
    ferrum_monitor_unregister: Callable[..., int]
    # (monitor, device) Removes all managers of a device. FERRUM_ERROR_NOT_FOUND when none is
    # registered.
    ferrum_monitor_unregister_device: Callable[..., int]
    # (monitor, callback, user_data) Sets the receiver of changes from now on, in place of the
    # former receiver; NULL removes it. The call waits for a running call of the former receiver,
    # unless it comes from inside that receiver. The former receiver is not called afterwards.
    ferrum_monitor_set_callback: Callable[..., int]
    # (monitor, max_age_ns, pressure_out) Returns the pressure of all devices together.
    ferrum_monitor_get_pressure: Callable[..., int]
    # (monitor, max_age_ns, levels_out, capacity, count_out) Returns the level of every device.
    ferrum_monitor_get_levels: Callable[..., int]
    # (monitor, max_age_ns, buffer, capacity, length_out) Returns the state of a monitor as JSON:
    ferrum_monitor_info_json: Callable[..., int]
    # (monitor, collected_out, capacity, count_out) Defragments every registered manager, one after
    # another, like ferrum_manager_defragment. It skips a manager that is destroyed meanwhile.
    ferrum_monitor_collect: Callable[..., int]
    # (strategy, placement_out) Creates a built-in strategy.
    ferrum_placement_create: Callable[..., int]
    # (name, callback, user_data, placement_out) Creates a strategy of the caller.
    ferrum_placement_create_own: Callable[..., int]
    # (placement) Destroys a strategy. The call waits for running calls of a callback, unless it
    # comes from inside one.
    ferrum_placement_destroy: Callable[..., int]
    # (placement, buffer, capacity, length_out) Returns the name of a strategy as text.
    ferrum_placement_get_name: Callable[..., int]
    # (placement, request, device_out) Chooses a device for a request, from readings that are no
    # older than 0.1 s.
    ferrum_placement_select: Callable[..., int]
    # (placement, request, buffer, capacity, length_out) Returns the device that
    # ferrum_placement_select would choose now, with the reason for each device, as JSON:
    ferrum_placement_explain_json: Callable[..., int]
    # (shape, bytes_out) Returns the size of the weights. With h = hidden_size, i =
    # intermediate_size, n heads and kv key and value heads, each layer has 2h^2 + 2h(kv (h/n)) +
    # 3hi + 2h elements, with h/n rounded down, and the rest has 2 vocab_size h + h elements.
    ferrum_estimate_model_memory: Callable[..., int]
    # (shape, bytes_out) Returns the size of the keys and values of one sequence: 2 x num_layers x
    # max_seq_len x num_kv_heads x head_dim x dtype_bytes.
    ferrum_estimate_kv_cache_memory: Callable[..., int]
    # (shape, estimate_out) Returns the size of the weights, of the keys and values (with h/n
    # elements in a head), and of the activations of one token, 2 x dtype_bytes x (h + 2i).
    ferrum_estimate_inference_memory: Callable[..., int]
    # (path, request, buffer, capacity, length_out) Estimates the memory for serving a model, as
    # JSON with the fields of docs/estimate.md. These are the fields of `ferrum-mem fit --json`
    # without device and devices. Without free_bytes, the fields of the result are missing too
    # (fits, free_bytes, left_bytes, missing_bytes, max_context, max_batch and their reasons). The
    # longest context and the largest batch are exact.
    ferrum_estimate_file_json: Callable[..., int]
    # (config_text, config_bytes, request, buffer, capacity, length_out) The same as
    # ferrum_estimate_file_json, for the text of a config.json.
    ferrum_estimate_config_json: Callable[..., int]
    # (preset, config_out) Returns ready-made settings. Needs no ferrum_init.
    ferrum_memory_config_preset: Callable[..., int]
    # (config) Checks settings. Needs no ferrum_init.
    ferrum_memory_config_check: Callable[..., int]
    # (stats, ratios_out) Computes the ratios of counters. Needs no ferrum_init.
    ferrum_memory_stats_ratios: Callable[..., int]
    # (stats, other, merged_out) Adds the counters of two pools. A sum that does not fit 64 bits is
    # UINT64_MAX. The peak is the larger of the two peaks, which is a lower bound of the common
    # peak. Needs no ferrum_init.
    ferrum_memory_stats_merge: Callable[..., int]
    # (stats, buffer, capacity, length_out) Returns counters as one line for people, with sizes in
    # MB of 2^20 bytes. Needs no ferrum_init.
    ferrum_memory_stats_text: Callable[..., int]
    # (id_out) Returns an id that no buffer of the process has had. Ids increase from 1; 0 is no id.
    # Needs no ferrum_init.
    ferrum_buffer_id_new: Callable[..., int]
    # (buffer_id, buffer, capacity, length_out) Returns an id as text for messages: "Buffer#7".
    # Needs no ferrum_init.
    ferrum_buffer_id_text: Callable[..., int]
    # (tracker_out) Creates an empty tracker. It belongs to no device.
    ferrum_tracker_create: Callable[..., int]
    # (tracker) Destroys a tracker.
    ferrum_tracker_destroy: Callable[..., int]
    # (tracker, metadata) Adds a buffer that was created age_ns ago. An entry with the same id is
    # replaced.
    ferrum_tracker_track: Callable[..., int]
    # (tracker, buffer_id, metadata_out) Removes a buffer.
    ferrum_tracker_untrack: Callable[..., int]
    # (tracker, buffer_id, metadata_out) Returns the entry of a buffer. FERRUM_ERROR_NOT_FOUND for
    # an unknown buffer.
    ferrum_tracker_get: Callable[..., int]
    # (tracker, metadata_out, capacity, count_out) Lists all buffers, the oldest first.
    ferrum_tracker_get_all: Callable[..., int]
    # (tracker, age_ns, metadata_out, capacity, count_out) Lists the buffers that are older than
    # age_ns, like ferrum_tracker_get_all: buffers that may be leaks.
    ferrum_tracker_find_old: Callable[..., int]
    # (tracker, totals_out) Returns the numbers of a tracker.
    ferrum_tracker_get_totals: Callable[..., int]
    # (tracker) Removes all entries. The peak stays.
    ferrum_tracker_clear: Callable[..., int]
    # (config, pool_out) Creates a cache of free buffers of any kind. The pool creates and destroys
    # no buffers: the caller does, and gives the pool a value for each buffer. A buffer belongs to
    # the bucket of the smallest power of two that is not below its size. A buffer serves requests
    # from a quarter of its size up to its size. Settings for the device have no effect. The pool
    # belongs to no device.
    ferrum_generic_pool_create: Callable[..., int]
    # (pool, flags) Destroys a pool. It does not destroy the free buffers: remove them first.
    ferrum_generic_pool_destroy: Callable[..., int]
    # (pool, size_bytes, use, id_out) Records a buffer in use that the caller created because there
    # was no free one.
    ferrum_generic_pool_record_allocation: Callable[..., int]
    # (pool, min_bytes, use, lease_out, found_out) Returns the smallest free buffer that serves the
    # request, and marks it as in use.
    ferrum_generic_pool_try_get: Callable[..., int]
    # (pool, lease, kept_out) Ends the use of a buffer. The size and the id must be those of its
    # recording or of its lease.
    ferrum_generic_pool_return: Callable[..., int]
    # (pool, buffer, size_bytes) Adds a free buffer that was never used.
    # FERRUM_ERROR_RESOURCE_EXHAUSTED when its bucket is full.
    ferrum_generic_pool_add_free: Callable[..., int]
    # (pool, leases_out, capacity, count_out) Removes free buffers from the pool, so that the caller
    # can destroy them: all of them if capacity is at least ferrum_generic_pool_get_pooled_count.
    ferrum_generic_pool_drain: Callable[..., int]
    # (pool, count_out) Returns the number of free buffers.
    ferrum_generic_pool_get_pooled_count: Callable[..., int]
    # (pool, stats_out) Returns the counters of a pool.
    ferrum_generic_pool_get_stats: Callable[..., int]
    # (pool) Counts a request that the caller served on the host.
    ferrum_generic_pool_record_cpu_fallback: Callable[..., int]
    # (pool, tracker_out) Returns the tracker of a pool, for reading only.
    # FERRUM_ERROR_INVALID_STATE when the pool does not track.
    ferrum_generic_pool_get_tracker: Callable[..., int]
    # (device, host, config, manager_out) Creates a fallback manager on a device of any backend.
    ferrum_fallback_manager_create: Callable[..., int]
    # (manager, flags) Destroys a fallback manager and releases its memory on both devices.
    ferrum_fallback_manager_destroy: Callable[..., int]
    # (manager, buffer, capacity, length_out) Returns the name of the device's backend as text, such
    # as "cpu" or "cuda".
    ferrum_fallback_manager_get_backend_name: Callable[..., int]
    # (manager, stats_out) Returns the counters of a fallback manager. They count the buffers on the
    # device; only active_buffers counts both sides. Takes no lock.
    ferrum_fallback_manager_get_stats: Callable[..., int]
    # (manager, stats_out) Returns the counters of a fallback manager for the host.
    ferrum_fallback_manager_get_fallback_stats: Callable[..., int]
    # (manager, total_out, free_out) Queries the memory of the device.
    ferrum_fallback_manager_get_memory: Callable[..., int]
    # (manager, level_out) Returns the present level of the device by FERRUM_PRESSURE_PROFILE_EARLY.
    ferrum_fallback_manager_get_pressure: Callable[..., int]
    # (manager, callback, user_data, registration_out) The same as
    # ferrum_device_pressure_callback_add for the device of a fallback manager, by
    # FERRUM_PRESSURE_PROFILE_EARLY.
    ferrum_fallback_manager_pressure_callback_add: Callable[..., int]
    # (manager) Empties the buckets. The memory can then be allocated for buffers of any size, and
    # may still be held from the device.
    ferrum_fallback_manager_clear_pool: Callable[..., int]
    # (manager, released_out) Empties the buckets and releases free memory on both sides.
    ferrum_fallback_manager_shrink: Callable[..., int]
    # (manager, tracker_out) Returns the tracker of a fallback manager, for reading only, with the
    # buffers of both sides. FERRUM_ERROR_INVALID_STATE when the manager does not track.
    ferrum_fallback_manager_get_tracker: Callable[..., int]
    # (manager, request, buffer_out) Creates a buffer. Its contents are not defined.
    ferrum_fallback_manager_alloc: Callable[..., int]
    # (manager, moved_out) Moves the buffers that fell back to the device, the oldest first, until
    # the device has no room for the next one. Pinned buffers stay, and no memory is reclaimed for
    # it. The addresses of buffers that are not pinned may change. The call moves none while another
    # thread does the same.
    ferrum_fallback_manager_return_buffers: Callable[..., int]
    # (buffer, stream) Destroys a buffer after the work that is queued on a stream of the device.
    # The manager may then move movable buffers back to the device, which waits for the device's
    # default stream.
    ferrum_fallback_buffer_free: Callable[..., int]
    # (buffer, info_out) Describes a buffer.
    ferrum_fallback_buffer_get_info: Callable[..., int]
    # (buffer, location, address_out) Returns the address of a buffer on a side.
    # FERRUM_ERROR_INVALID_STATE when the buffer is on the other side.
    ferrum_fallback_buffer_get_address: Callable[..., int]
    # (buffer, location) Moves a buffer after the work that is queued on the device's default
    # stream. It does nothing when the buffer is already on that side. A buffer that was moved to
    # the host by this call stays there. After a failed call the buffer is unchanged.
    ferrum_fallback_buffer_move: Callable[..., int]
    # (buffer, address_out, location_out) Keeps a buffer at its place until it has been unpinned as
    # often as it was pinned.
    ferrum_fallback_buffer_pin: Callable[..., int]
    # (buffer) Undoes one ferrum_fallback_buffer_pin. FERRUM_ERROR_INVALID_STATE when the buffer is
    # not pinned.
    ferrum_fallback_buffer_unpin: Callable[..., int]
    # (buffer, offset_bytes, source, size_bytes) Copies memory of the process into a buffer on
    # either side, after the work that is queued on the default stream of that side, and returns
    # when the copy has completed.
    ferrum_fallback_buffer_write: Callable[..., int]
    # (buffer, offset_bytes, destination, size_bytes) Copies from a buffer into memory of the
    # process; otherwise the same as ferrum_fallback_buffer_write.
    ferrum_fallback_buffer_read: Callable[..., int]
    # (buffer, location, address_out) Ends a buffer on a side and passes its storage to the caller.
    # The caller releases the storage with ferrum_fallback_manager_release, or creates another
    # buffer from it with ferrum_fallback_manager_adopt.
    ferrum_fallback_buffer_take: Callable[..., int]
    # (manager, location, address, request, buffer_out) Creates a buffer from storage that was taken
    # from a buffer of the same manager.
    ferrum_fallback_manager_adopt: Callable[..., int]
    # (manager, location, address, stream) Releases taken storage after the work that is queued on a
    # stream of the device, which is optional. FERRUM_ERROR_INVALID_ARGUMENT for an unknown
    # location; FERRUM_ERROR_INVALID_ADDRESS for an address without such storage.
    ferrum_fallback_manager_release: Callable[..., int]
    # (n, result_out) Returns the smallest power of two that is not below n; 1 for 0.
    ferrum_round_up_power_of_2: Callable[..., int]
    # (size_bytes, class_bytes_out) Returns the bucket of a size: the next power of two, like
    # ferrum_round_up_power_of_2.
    ferrum_size_class: Callable[..., int]
    # (count, bytes_out) Returns the size of a number of 32-bit floats. FERRUM_ERROR_OVERFLOW when
    # it does not fit 64 bits.
    ferrum_f32_bytes: Callable[..., int]
    # (count, bytes_out) The same as ferrum_f32_bytes, for 16-bit floats.
    ferrum_f16_bytes: Callable[..., int]
    # (request, mapping_out) Maps a range of a block for the host. The call waits for the queued
    # work of the streams that have used the block. On a device that the host can address, and for
    # page-locked memory, the pointer is to the block itself. On any other device it is to a staging
    # copy, which ferrum_memory_unmap writes back; it is not written back for FERRUM_HOST_READ_ONLY.
    ferrum_memory_map: Callable[..., int]
    # (memory, mapping_id) Undoes one ferrum_memory_map. The last call for a mapping for writing
    # with a staging copy writes the copy back, and returns when that has completed. If it fails,
    # the mapping stays as it was. Destroying the manager with FERRUM_FORCE ends mappings without
    # writing back.
    ferrum_memory_unmap: Callable[..., int]
    # (first, second, request, first_out, second_out) Allocates two blocks of FERRUM_MEMORY_MAPPED,
    # for managers of two devices, that are the same memory. What one device writes, the other
    # reads; streams and events give the order. The counters of the first manager contain the
    # memory. It is released to the first manager when both blocks are freed, in either order.
    # Destroying the first manager with FERRUM_FORCE ends both blocks.
    ferrum_manager_create_mapping: Callable[..., int]
    # (memory, target, stream) Queues a prefetch of a block to a device that will use it, and
    # returns. The contents stay the same. A prefetch is not counted as an access. On the host, the
    # system allocates the physical memory of the block. On other devices, FERRUM_MEMORY_MANAGED
    # migrates to the target (a host device means the host); other memory stays.
    ferrum_memory_prefetch: Callable[..., int]
    # (memory, hint) Stores a hint with a block, in place of an earlier hint of the same group.
    # FERRUM_USAGE_NONE removes all hints. Programs read hints with ferrum_memory_get_usage_hints.
    # The library itself uses them only for FERRUM_MEMORY_MANAGED: it passes
    # FERRUM_USAGE_READ_MOSTLY (each reader may have a copy) and FERRUM_USAGE_RESIDENT (the memory
    # stays at the device) to the device. If the device rejects one, the hints stay as they were.
    ferrum_memory_set_usage_hint: Callable[..., int]
    # (memory, hints_out) Returns the hints of a block.
    ferrum_memory_get_usage_hints: Callable[..., int]
    # (memory, stats_out) Returns the access statistics of a block. Only managers with
    # enable_tracking record them; other managers have no cost for them.
    ferrum_memory_get_access_stats: Callable[..., int]
    # (manager, adoption, memory_out) Gives a handle to external memory. The block is used like any
    # other block and counts as live. It is in the counters of no pool, and it is never moved or
    # freed: ferrum_memory_free only ends the handle, and returns FERRUM_ERROR_BUSY while queued
    # work uses the block. The memory must stay valid until then. Destroying the manager with
    # FERRUM_FORCE waits for that work.
    ferrum_manager_adopt: Callable[..., int]
    # (device, foreign, stream_out) Gives a handle to an external stream, for every call that takes
    # a stream. Calls that wait for the stream also wait for the work that its owner queued there.
    # Only ferrum_stream_is_ready covers just the work that was queued through the handle.
    ferrum_stream_adopt: Callable[..., int]
    # (device, native_handle, event_out) Gives a handle to an external event, for every call that
    # takes an event. The handle stands for the latest recording by the owner, and has no time.
    ferrum_event_adopt: Callable[..., int]
    # (id, native_context, device_out) Opens a device on a context that the program created in the
    # runtime of the device's vendor, such as a CUcontext. The program must keep the context until
    # the device is closed. The library uses only this context for the device, and closing the
    # device does not destroy it. ferrum_device_open of a device that is open returns its handle,
    # with either kind of context.
    ferrum_device_open_native: Callable[..., int]
    # (device, native_out) Returns the context that the library uses for a device, such as the
    # CUcontext. The library owns it, and destroys it when the device is closed.
    ferrum_device_get_native: Callable[..., int]
    # (stream, native_out) The same as ferrum_device_get_native, for a stream: for example the
    # CUstream.
    ferrum_stream_get_native: Callable[..., int]
    # (event, native_out) The same as ferrum_device_get_native, for an event: for example the
    # CUevent, which has been recorded. The program may wait for it, and must not record it again.
    ferrum_event_get_native: Callable[..., int]
    # (device, peer) Allows work of another device, such as a kernel that the library does not know
    # of, to use the memory of a device: its allocations, and memory that is mapped in virtual
    # memory now and later, with the access rights of the device itself. The access ends when one of
    # the devices is closed. On devices whose memory the process can address, the call has no
    # effect.
    ferrum_device_grant_peer: Callable[..., int]
    # (vpool, offset_bytes, size_bytes, descriptors_out, capacity, count_out) Creates a file
    # descriptor for each page of a range of a virtual pool with FERRUM_BACKING_SHAREABLE, in order:
    # for all pages, or for none on failure. The caller closes them. Another process gets the
    # descriptors through a socket or by inheritance, and maps the same memory with
    # ferrum_manager_import_pages. The memory is released to the system when no process uses it.
    ferrum_vpool_export: Callable[..., int]
    # (vpool, offset_bytes, size_bytes, handles_out, capacity, count_out) The same as
    # ferrum_vpool_export, with fabric handles: bytes that name the pages also for processes on
    # other hosts, as far as a fabric connects them (NVLink between hosts). They can be sent in any
    # way and need not be closed. A handle does not keep the memory allocated. For a pool with
    # FERRUM_BACKING_FABRIC.
    ferrum_vpool_export_fabric: Callable[..., int]
    # (manager, pages, memory_out) Maps pages of another process, or of this one, as a readable and
    # writable block at an address of the manager's device (ferrum_memory_get_handle_info). The
    # block is used like any other block and counts as adopted memory. ferrum_memory_free ends it,
    # and returns FERRUM_ERROR_BUSY while queued work uses it. One descriptor or handle can be
    # imported several times. Only the process that created the pages can export them.
    ferrum_manager_import_pages: Callable[..., int]
    # (device, address, size_bytes, shared_out) Describes a range of plain device memory for other
    # processes, with the vendor's handles (CUDA's IPC). Memory of paged pools has no such handle:
    # use ferrum_vpool_export, or a pool with FERRUM_PAGING_OFF, which has plain memory. The memory
    # stays allocated while other processes have it open.
    ferrum_device_share_memory: Callable[..., int]
    # (manager, shared, tag, memory_out) Opens memory that another process shared, as a block. The
    # block is used like any other block and counts as adopted memory. ferrum_memory_free ends it,
    # and returns FERRUM_ERROR_BUSY while queued work uses it.
    ferrum_manager_import_memory: Callable[..., int]
    # (stream, shared_out, event_out) Records an event that other processes can open. It is kept
    # until they have opened it.
    ferrum_event_share: Callable[..., int]
    # (device, shared, event_out) Gives a handle to an event that another process shared, for every
    # call that takes an event.
    ferrum_event_open: Callable[..., int]
    # (source, weights_out) Opens a source and reads its headers. The files stay open. So a later
    # load reads the same files, even if another file has replaced one under its name.
    ferrum_weights_open: Callable[..., int]
    # (source) Opens a source and closes it again. Returns FERRUM_OK if the source can be loaded,
    # otherwise the error of ferrum_weights_open.
    ferrum_weights_check: Callable[..., int]
    # (weights, flags) Closes a source. Sets keep their tensors.
    ferrum_weights_close: Callable[..., int]
    # (weights, buffer, capacity, length_out) Returns the content of the source, as JSON with the
    # fields of docs/weights.md: format, total_size_bytes, dtypes, tensors with their shapes, and
    # extra.
    ferrum_weights_metadata_json: Callable[..., int]
    # (buffer, capacity, length_out) Returns the formats and types that the library can load, as
    # JSON with the fields of docs/weights.md: supported_formats (with the formats of decoders),
    # supported_sources, max_tensor_size, supports_streaming, supports_concurrent and
    # supported_transformations.
    ferrum_weights_capabilities_json: Callable[..., int]
    # (weights, name, info_out) Finds a tensor of a source by its name.
    ferrum_weights_find: Callable[..., int]
    # (weights, request, set_out) Starts to load tensors. Before it returns, the call checks
    # everything that can be checked without allocating memory and without reading tensors. All
    # tensors are loaded, or none: after an error no memory stays allocated, and memory of the
    # caller has undefined content.
    ferrum_weights_load: Callable[..., int]
    # (set, timeout_ns) Waits until the load is over, and returns its result.
    ferrum_tensor_set_wait: Callable[..., int]
    # (set) Makes the load end soon. Has no effect if the load is over.
    ferrum_tensor_set_cancel: Callable[..., int]
    # (set, progress_out) Returns the progress of the load. Never waits.
    ferrum_tensor_set_get_progress: Callable[..., int]
    # (set, count_out) Returns the number of tensors.
    ferrum_tensor_set_get_count: Callable[..., int]
    # (set, index, info_out) Returns a tensor by its index in the order of the load, from 0 on.
    ferrum_tensor_set_get_tensor: Callable[..., int]
    # (set, index, buffer, capacity, length_out) Returns the name of a tensor by its index.
    ferrum_tensor_set_get_tensor_name: Callable[..., int]
    # (set, name, info_out) Finds a tensor of a set by its name.
    ferrum_tensor_set_find: Callable[..., int]
    # (set, buffer, capacity, length_out) Returns all tensors of a set in their order, as JSON with
    # the fields of docs/weights.md.
    ferrum_tensor_set_tensors_json: Callable[..., int]
    # (set) Checks that no file of a mapped set has become shorter. For a set that is not mapped the
    # check always succeeds.
    ferrum_tensor_set_check: Callable[..., int]
    # (set, flags) Ends a set and frees the memory that its load has allocated. Memory of the caller
    # is not freed. The program's work on the tensors must be complete, or its streams must be
    # recorded for the memory.
    ferrum_tensor_set_free: Callable[..., int]
    # (weights, sums_text, sums_bytes, progress, user_data, buffer, capacity, length_out) Reads all
    # files of a source and returns their SHA-256 sums, as JSON with the fields of docs/weights.md.
    # With sums_text it compares them with that list, by the names of the files without folders.
    # Each file must be in the list; the list may have more files.
    ferrum_weights_verify: Callable[..., int]
    # (weights, path, request) Writes tensors of a source to a file. A model of any size needs only
    # a few megabytes of memory. The file gets its name when it is complete. After an error no part
    # of it is left.
    ferrum_weights_convert: Callable[..., int]
    # (decoder, number_out, registration_out) Registers a decoder of another format. The formats of
    # the library have precedence: the library calls the decoders only for a file that begins as
    # none of its own formats, in the order of registration. Several threads may call a decoder at a
    # time. ferrum_registration_remove removes the decoder; open sources stay open.
    ferrum_weights_decoder_add: Callable[..., int]
    # (memory, dtype, shape, count, stream, tensor_out) Allocates memory for a contiguous tensor.
    # The elements have no value yet.
    ferrum_tensor_create: Callable[..., int]
    # (memory, offset_bytes, desc, tensor_out) Makes a tensor over a block of a manager. While it
    # exists, the block is pinned: it is not moved, and ferrum_memory_free returns
    # FERRUM_ERROR_BUSY. A block that was adopted as read-only gives a read-only tensor.
    ferrum_tensor_from_memory: Callable[..., int]
    # (device, address, size_bytes, desc, release, user_data, tensor_out) Makes a tensor over memory
    # of the program, which must stay valid until release is called.
    ferrum_tensor_wrap: Callable[..., int]
    # (set, index, tensor_out) Makes a tensor over a loaded tensor of a set. While it exists,
    # ferrum_tensor_set_free without FERRUM_FORCE returns FERRUM_ERROR_BUSY. A mapped tensor is
    # read-only and of the first open host device.
    ferrum_tensor_from_set: Callable[..., int]
    # (tensor, axis, start, length, view_out) Makes a view that keeps some indices of a dimension.
    ferrum_tensor_narrow: Callable[..., int]
    # (tensor, axis, start, length, step, view_out) Makes a view that keeps every step-th index of a
    # dimension: start, start + step, and so on. With a negative step the order of the indices is
    # reversed.
    ferrum_tensor_slice: Callable[..., int]
    # (tensor, axes, count, view_out) Makes a view with the dimensions in another order.
    ferrum_tensor_permute: Callable[..., int]
    # (tensor, shape, count, view_out) Makes a view with another shape of the same elements in the
    # same order.
    ferrum_tensor_reshape: Callable[..., int]
    # (tensor, shape, count, view_out) Makes a view that repeats elements along new dimensions, and
    # along dimensions of length 1, as NumPy broadcasts. Its elements cannot be written if some are
    # repeated.
    ferrum_tensor_expand: Callable[..., int]
    # (tensor, source, stream) Queues a copy of the elements of a tensor to another tensor of the
    # same shape on the same device. Elements of another type are converted by the rules of
    # docs/tensors.md.
    ferrum_tensor_copy: Callable[..., int]
    # (tensor, memory, dtype, stream, tensor_out) Makes a contiguous tensor with the same elements,
    # of another type, in other memory, or both. The copy is queued on stream if the memory is of
    # the same device, and the device can make the copy. Otherwise the elements go through memory of
    # the host, and the call waits for the work of the stream and for the copy.
    ferrum_tensor_to: Callable[..., int]
    # (tensor, destination_out, size_bytes, stream) Copies the elements to memory of the program, in
    # the order of the shape and without gaps. Waits for the work that is queued on the stream, and
    # for the copy.
    ferrum_tensor_read: Callable[..., int]
    # (tensor, source, size_bytes, stream) Copies memory of the program to the elements, in the
    # order of the shape. Waits as ferrum_tensor_read does.
    ferrum_tensor_write: Callable[..., int]
    # (tensor, value, stream) Queues work that gives every element the value, converted to the type
    # of the tensor.
    ferrum_tensor_fill: Callable[..., int]
    # (tensor, desc_out) Describes a tensor. Works for a tensor whose memory sleeps.
    ferrum_tensor_describe: Callable[..., int]
    # (tensor) Ends a tensor. Other tensors over the memory, and work that is queued, keep the
    # memory.
    ferrum_tensor_destroy: Callable[..., int]
    # (tensor, is_versioned, dlpack_out) Exports a tensor to DLPack. The exported struct is a
    # further view of the memory, until its deleter is called. The deleter may be called on any
    # thread, also after ferrum_shutdown. The receiver orders its own work after the work that is
    # queued.
    ferrum_tensor_to_dlpack: Callable[..., int]
    # (device, dlpack, tensor_out) Makes a tensor over memory that another library has exported to
    # DLPack. If the call succeeds, the library owns the struct: it calls the deleter once, under
    # the conditions of ferrum_release_fn. After an error the caller still owns the struct.
    ferrum_tensor_from_dlpack: Callable[..., int]
    # (config, memory, host_pool, stream, cache_out) Creates a cache.
    ferrum_kv_cache_create: Callable[..., int]
    # (cache, flags) Destroys a cache and frees its memory, after the work that is queued on its
    # stream.
    ferrum_kv_cache_destroy: Callable[..., int]
    # (cache, parent, tokens, count, hashes_out, capacity, count_out) Computes the hashes of the
    # whole blocks of tokens. The hash of a block stands for the tokens of the block and of all
    # blocks before it. Two different prefixes have the same hash with a probability of 2^-64.
    ferrum_kv_cache_hash_tokens: Callable[..., int]
    # (cache, hashes, count, blocks_out) Returns how many hashes of a prefix, from the first one,
    # have a block.
    ferrum_kv_cache_find: Callable[..., int]
    # (cache, lengths, count, prefix_blocks, prefix_block_count, hashes, hash_count, sequences_out,
    # capacity, count_out) Makes sequences with blocks for their tokens. The first blocks of a
    # sequence are shared with the longest published prefix of its hashes; the program computes the
    # keys and values of the other tokens.
    ferrum_kv_cache_allocate: Callable[..., int]
    # (cache, sequences, count, lengths, length_count, copies_out, capacity, count_out) Adds tokens
    # to sequences, and the blocks that the tokens need. If other sequences share the last block of
    # a sequence, the sequence gets a copy of its own. A published block whose contents change loses
    # its hash. With a sliding window, the blocks that the first new token does not reach are
    # released before new ones are taken.
    ferrum_kv_cache_append: Callable[..., int]
    # (cache, sequences, count, prefix_blocks, prefix_block_count, hashes, hash_count) States that
    # whole blocks of sequences have their contents, and gives them hashes, so that later sequences
    # with the same prefix share them. A hash that another block has is skipped.
    ferrum_kv_cache_publish: Callable[..., int]
    # (cache, sequences, count, children_out, capacity, count_out) Makes a copy of each sequence,
    # which shares all of its blocks.
    ferrum_kv_cache_fork: Callable[..., int]
    # (cache, sequences, count, lengths, length_count) Shortens sequences and releases the blocks
    # behind their end, as after rejected tokens of speculative decoding.
    ferrum_kv_cache_truncate: Callable[..., int]
    # (cache, sequences, count) Ends sequences and releases their blocks. Published blocks stay
    # cached until the cache needs them. Sequences that are swapped out can be freed as well.
    ferrum_kv_cache_free: Callable[..., int]
    # (cache, sequences, count, copies_out, capacity, count_out) Copies sequences to blocks of the
    # host and releases their blocks. Sequences of one call that share blocks share the copies. Only
    # ferrum_kv_cache_swap_in, ferrum_kv_cache_free and ferrum_kv_cache_lengths accept a sequence
    # that is swapped out.
    ferrum_kv_cache_swap_out: Callable[..., int]
    # (cache, sequences, count, copies_out, capacity, count_out) Copies sequences back to blocks of
    # the device. A block whose hash is still published there is shared instead.
    ferrum_kv_cache_swap_in: Callable[..., int]
    # (cache, sequences, count, width, tables_out, capacity, count_out) Returns the block tables of
    # sequences, one after the other.
    ferrum_kv_cache_block_tables: Callable[..., int]
    # (cache, sequences, count, lengths_out, capacity, count_out) Returns the numbers of tokens of
    # sequences.
    ferrum_kv_cache_lengths: Callable[..., int]
    # (cache, layer, values, address_out, size_bytes_out) Returns the memory of the keys of a layer,
    # or of its values: an array of the shape [blocks, kv_heads, block_tokens, head_dim] without
    # gaps. Only blocks that sequences use can be accessed.
    ferrum_kv_cache_plane: Callable[..., int]
    # (cache, layer, values, tensor_out) Makes a tensor over the memory of ferrum_kv_cache_plane.
    # While it exists, ferrum_kv_cache_destroy without FERRUM_FORCE returns FERRUM_ERROR_BUSY.
    ferrum_kv_cache_plane_tensor: Callable[..., int]
    # (cache, keep_cached_blocks, unmapped_blocks_out) Evicts cached blocks, those that were not
    # used for the longest time first, until at most so many are left, and releases the memory of
    # all chunks without contents.
    ferrum_kv_cache_trim: Callable[..., int]
    # (cache, stats_out) Returns the state of a cache.
    ferrum_kv_cache_get_stats: Callable[..., int]
    # (cache, callback, user_data, registration_out) The same as ferrum_device_pressure_callback_add
    # for the level of a cache: that of its used blocks. The callback runs on the thread whose call
    # changed the level, before that call returns, with no lock held and one call at a time. It may
    # call the library, except to destroy the cache, and except ferrum_shutdown. For a cache without
    # memory it gets the device {0}.
    ferrum_kv_cache_pressure_callback_add: Callable[..., int]
    # (config) Checks settings without opening a backend. The device may be {0}.
    ferrum_compute_validate: Callable[..., int]
    # (config, compute_out) Opens a backend on a device.
    ferrum_compute_open: Callable[..., int]
    # (compute, flags) Closes a backend and releases its memory.
    ferrum_compute_close: Callable[..., int]
    # (compute, manager_out) Returns the manager of the memory of a backend, for statistics and for
    # blocks of the program. It belongs to the backend: ferrum_manager_destroy and
    # ferrum_manager_configure_pool return FERRUM_ERROR_INVALID_STATE for it, and the handle is
    # invalid after the backend was closed. It is the same handle each time.
    ferrum_compute_get_manager: Callable[..., int]
    # (compute, buffer, capacity, length_out) Returns the properties of a backend, as JSON with the
    # fields of docs/compute.md.
    ferrum_compute_capabilities_json: Callable[..., int]
    # (compute, buffer, capacity, length_out) Returns the state of a backend, as JSON with the
    # fields of docs/compute.md: completed operations, memory by device, the last error. Does not
    # wait for the device.
    ferrum_compute_status_json: Callable[..., int]
    # (compute, timeout_ns) Waits until all work of the device of a backend is done.
    ferrum_compute_synchronize: Callable[..., int]
    # (buffer, capacity, length_out) Lists all backends in alphabetical order, also those that are
    # not available with the reason, as JSON with the fields of docs/compute.md.
    ferrum_compute_backends_json: Callable[..., int]
    # (requirements_text, requirements_bytes, buffer, capacity, length_out) Chooses a backend by
    # requirements, and returns, as JSON with the fields of docs/compute.md, its name and for each
    # other backend why not. Among backends that meet all requirements, one with another device than
    # the host is better; then one with more extra capabilities; then one with larger limits; then
    # the first name.
    ferrum_compute_find_json: Callable[..., int]
    # (compute, name, attributes_text, attributes_bytes, opset, op_out) Prepares an operation of a
    # backend.
    ferrum_op_prepare: Callable[..., int]
    # (op) Ends an operation. Queued runs of it complete.
    ferrum_op_destroy: Callable[..., int]
    # (op, inputs, input_count, outputs, output_count, workspace_bytes_out) Infers the outputs of a
    # run without running it.
    ferrum_op_infer: Callable[..., int]
    # (op, inputs, input_count, outputs, output_count, stream) Runs an operation on tensors, in the
    # order of a stream. If the stream has no work, the operation runs in the calling thread and is
    # complete when the call returns. Otherwise it is queued. The error of queued work is returned
    # by ferrum_stream_synchronize and ferrum_compute_status_json.
    ferrum_op_run: Callable[..., int]
    # (op, input, tensor, memory, stream, packed_out) Packs a constant input, such as a matrix of
    # weights, into the layout that the backend reads fastest. The packed tensor replaces the input
    # in runs of this operation, and no other call reads its elements.
    ferrum_op_pack: Callable[..., int]
    # (compute, sequence_out) Creates an empty sequence of a backend.
    ferrum_sequence_create: Callable[..., int]
    # (sequence, op, inputs, input_count, outputs, output_count) Adds a run of an operation at the
    # end of a sequence. The sequence keeps the tensors, which may be destroyed. A made output can
    # be an input of the next operation at once. The elements of shapes, axes and sizes are read
    # now, and stay as they are.
    ferrum_sequence_add: Callable[..., int]
    # (sequence, stream) Runs all operations of a sequence, as ferrum_op_run does. The first run
    # after an addition makes the workspace.
    ferrum_sequence_run: Callable[..., int]
    # (sequence) Ends a sequence.
    ferrum_sequence_destroy: Callable[..., int]
    # (backend, registration_out) Registers a backend of the program. ferrum_compute_find_json and
    # ferrum_compute_backends_json list it from then on. ferrum_registration_remove removes it, and
    # returns FERRUM_ERROR_BUSY while the backend is open. A forced ferrum_shutdown closes and
    # removes it.
    ferrum_compute_register: Callable[..., int]
    # (layer, registration_out) Registers a layer type of the program. ferrum_registration_remove
    # removes it, and returns FERRUM_ERROR_BUSY while models or operations use it, or one of its
    # functions runs. A forced ferrum_shutdown ends what uses it, and removes it.
    ferrum_layer_register: Callable[..., int]
    # (buffer, capacity, length_out) Lists the layer types of the program in alphabetical order, as
    # JSON with the fields of docs/layers.md.
    ferrum_layers_json: Callable[..., int]
    # (path, buffer, capacity, length_out) Returns the definition of the model in a folder or a
    # file, as JSON.
    ferrum_model_export_json: Callable[..., int]
    # (path, file, flags) Writes the model in a folder or a file as a file of ONNX. docs/onnx.md
    # describes it. The file gets its name at the end: after an error no new file exists.
    ferrum_model_export_onnx: Callable[..., int]
    # (definition_text, definition_bytes, weights, file, flags) Writes a definition as a file of
    # ONNX.
    ferrum_definition_export_onnx: Callable[..., int]
    # (path, buffer, capacity, length_out) Checks the model in a folder or a file without building
    # it, and returns the issues as JSON. Warnings let a build go on; issues of the severity error
    # or critical stop it.
    ferrum_model_validate_json: Callable[..., int]
    # (definition_text, definition_bytes, buffer, capacity, length_out) Checks a definition, and
    # returns the issues as JSON.
    ferrum_definition_validate_json: Callable[..., int]
    # (buffer, capacity, length_out) Returns what the library can build, as JSON: architectures,
    # formats of weights, optimizations and capabilities.
    ferrum_builder_info_json: Callable[..., int]
    # (definition_text, definition_bytes, buffer, capacity, length_out) Estimates how long the build
    # of a definition takes on this machine, as JSON. Earlier builds of the process make the
    # estimate better.
    ferrum_build_estimate_json: Callable[..., int]
    # (compute, definition_text, definition_bytes, optimization_level, dimensions_text,
    # dimensions_bytes, buffer, capacity, length_out) Returns the memory of the activations of a
    # definition on a backend for given lengths of its dimensions, as JSON, without building it.
    ferrum_compute_plan_json: Callable[..., int]
    # (request, executor_out) Builds a model. Returns when the executor can run. The build registers
    # the model in the elastic pool. After an error nothing is left.
    ferrum_executor_build: Callable[..., int]
    # (executor, inputs, input_count, outputs, output_count, stream, timeout_ns) Runs a model.
    # Returns when the outputs are complete. The work comes after the work that is queued on the
    # stream. Runs of one executor follow each other.
    ferrum_executor_run: Callable[..., int]
    # (executor, dimensions_text, dimensions_bytes, buffer, capacity, length_out) Returns the memory
    # of the activations of an executor for given lengths of its dimensions, as JSON. Allocates no
    # memory of the device; the model may sleep.
    ferrum_executor_plan_json: Callable[..., int]
    # (executor, buffer, capacity, length_out) Returns the state of an executor, as JSON: its
    # memory, inputs, outputs and counters.
    ferrum_executor_info_json: Callable[..., int]
    # (executor, buffer, capacity, length_out) Returns the definition that an executor runs, after
    # the passes, as JSON.
    ferrum_executor_definition_json: Callable[..., int]
    # (executor, file, flags) Writes the model of an executor as a file of ONNX, from the files or
    # the weights of which it was built: its definition before the passes, and the elements as they
    # are stored there.
    ferrum_executor_export_onnx: Callable[..., int]
    # (executor, buffer, capacity, length_out) Returns what the build of an executor did, as JSON:
    # warnings, the result of each pass, the time of each part and its estimate.
    ferrum_executor_report_json: Callable[..., int]
    # (executor, config, report_out) Puts a model to sleep: its parameters are kept in host memory
    # or a file, and the pages of parameters and arena are released (sleep.h). Addresses and plans
    # stay. A run waits for the wake, or returns FERRUM_ERROR_BUSY.
    ferrum_executor_sleep: Callable[..., int]
    # (executor, config, report_out) Wakes a sleeping model. Its parameters have the same bits as
    # before.
    ferrum_executor_wake: Callable[..., int]
    # (executor, flags) Ends a handle of an executor. The last handle of a model, with those that
    # have a name, frees its memory.
    ferrum_executor_destroy: Callable[..., int]
    # (executor, name) Gives an executor a name. The name keeps the model until
    # ferrum_executor_remove_name. The handle stays the caller's.
    ferrum_executor_add_name: Callable[..., int]
    # (name, executor_out) Finds an executor by its name.
    ferrum_executor_find: Callable[..., int]
    # (name, executor_out) Ends a name of an executor.
    ferrum_executor_remove_name: Callable[..., int]
    # (buffer, capacity, length_out) Lists the executors that have a name, as JSON: {"executors":
    # [...]} in the order of the names, each with its name and the fields of
    # ferrum_executor_info_json.
    ferrum_executors_json: Callable[..., int]
    # (pass, registration_out) Registers a pass of the program. The option "passes" of a build may
    # name it from then on, and ferrum_builder_info_json lists it. ferrum_registration_remove
    # removes it, and returns FERRUM_ERROR_BUSY while a call uses the pass. A forced ferrum_shutdown
    # waits for its running functions and removes it.
    ferrum_pass_register: Callable[..., int]
    # (definition_text, definition_bytes, passes_text, passes_bytes, optimized, user_data) Runs
    # passes over a definition. Nothing is built.
    ferrum_definition_optimize: Callable[..., int]

    def __init__(self, library: ctypes.CDLL) -> None: ...
    def without_conversions(self, function: Callable[..., int]) -> Callable[..., int]:
        """The same function, which takes arguments of ctypes as they are; see _quick."""
