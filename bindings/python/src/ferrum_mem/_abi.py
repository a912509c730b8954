# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The C ABI as ctypes sees it: constants, structs, callbacks and functions.

A struct and the types of a function are made when they are asked for first; _abi.pyi
shows them all. Nothing in here is for users of the package, and nothing in here loads
the library: see _loader for that.
"""

from __future__ import annotations

import ctypes
from collections import namedtuple

Status = namedtuple("Status", ("name", "value", "text"))

# Status codes

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

STATUSES = (
    Status("FERRUM_OK", 0, "success"),
    Status("FERRUM_ERROR_INTERNAL", -1, "a defect of the library"),
    Status("FERRUM_ERROR_POISONED", -2, "the library stopped after a defect"),
    Status("FERRUM_ERROR_FORKED", -3, "called in a forked child"),
    Status("FERRUM_ERROR_NOT_INITIALIZED", -4, "ferrum_init has not been called"),
    Status("FERRUM_ERROR_INVALID_STATE", -5, "not possible in the present state"),
    Status("FERRUM_ERROR_NULL_POINTER", -6, "a required pointer is NULL"),
    Status("FERRUM_ERROR_INVALID_HANDLE", -7, "not a live handle of this kind"),
    Status("FERRUM_ERROR_INVALID_ARGUMENT", -8, "an argument has no meaning"),
    Status("FERRUM_ERROR_INVALID_SIZE", -9, "a size is zero or not possible"),
    Status(
        "FERRUM_ERROR_INVALID_ALIGNMENT",
        -10,
        "an alignment is not a power of two, or is out of bounds",
    ),
    Status("FERRUM_ERROR_INVALID_STRUCT", -11, "a struct's size, reserved field or tail is wrong"),
    Status("FERRUM_ERROR_INVALID_OFFSET", -12, "an offset or range is out of bounds"),
    Status("FERRUM_ERROR_INVALID_ADDRESS", -13, "not the address of a live block"),
    Status("FERRUM_ERROR_INVALID_CONFIG", -14, "a configuration contradicts itself"),
    Status("FERRUM_ERROR_INVALID_FORMAT", -15, "input is malformed"),
    Status("FERRUM_ERROR_OVERFLOW", -16, "arithmetic on the arguments overflows"),
    Status("FERRUM_ERROR_BUFFER_TOO_SMALL", -17, "the caller's buffer is too small"),
    Status("FERRUM_ERROR_OUT_OF_MEMORY", -18, "not enough memory"),
    Status("FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY", -19, "not enough address space"),
    Status(
        "FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY", -20, "not enough physical memory under the limit"
    ),
    Status("FERRUM_ERROR_RESOURCE_EXHAUSTED", -21, "a resource other than memory is used up"),
    Status("FERRUM_ERROR_DOUBLE_FREE", -22, "the block is free already"),
    Status("FERRUM_ERROR_BUSY", -23, "in use"),
    Status("FERRUM_ERROR_TIMEOUT", -24, "not done in time"),
    Status("FERRUM_ERROR_CANCELLED", -25, "cancelled"),
    Status("FERRUM_ERROR_NOT_FOUND", -26, "not found"),
    Status("FERRUM_ERROR_ALREADY_EXISTS", -27, "exists already"),
    Status("FERRUM_ERROR_DEVICE_NOT_FOUND", -28, "no such device"),
    Status("FERRUM_ERROR_BACKEND_UNAVAILABLE", -29, "the backend cannot be used here"),
    Status("FERRUM_ERROR_UNSUPPORTED", -30, "the device or build lacks this capability"),
    Status("FERRUM_ERROR_UNSUPPORTED_DEVICE", -31, "the device is of the wrong kind for this"),
    Status("FERRUM_ERROR_DEVICE", -32, "the device's runtime reported an error"),
    Status("FERRUM_ERROR_DEVICE_LOST", -33, "the device is lost"),
    Status("FERRUM_ERROR_MAPPING_FAILED", -34, "mapping memory failed"),
    Status("FERRUM_ERROR_UNMAPPING_FAILED", -35, "unmapping memory failed"),
    Status("FERRUM_ERROR_ALREADY_MAPPED", -36, "mapped already"),
    Status("FERRUM_ERROR_NOT_MAPPED", -37, "not mapped"),
    Status("FERRUM_ERROR_INVALID_PAGE_SIZE", -38, "not a page size of this device"),
    Status("FERRUM_ERROR_MODEL_NOT_FOUND", -39, "no such model"),
    Status("FERRUM_ERROR_MODEL_ALREADY_EXISTS", -40, "the model exists already"),
    Status("FERRUM_ERROR_MODEL", -41, "the model cannot be used"),
    Status("FERRUM_ERROR_IO", -42, "reading or writing failed"),
    Status("FERRUM_ERROR_PERMISSION_DENIED", -43, "not permitted"),
    Status("FERRUM_ERROR_NETWORK", -44, "the network failed"),
    Status("FERRUM_ERROR_AUTHENTICATION", -45, "not authenticated"),
    Status("FERRUM_ERROR_RATE_LIMITED", -46, "called too often"),
    Status("FERRUM_ERROR_SERIALIZATION", -47, "a value cannot be written or read as text"),
    Status(
        "FERRUM_ERROR_CORRUPTED", -48, "bytes beside a block, or of a freed block, were overwritten"
    ),
)

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

# A text is one of the caller; a buffer to be filled is passed as one, too.
_KINDS = {
    "void": None,
    "void *": ctypes.c_void_p,
    "char *": ctypes.c_char_p,
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16,
    "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "char": ctypes.c_char,
}

# Size and alignment of each struct, and type and offset of each field, as the
# header's compiler lays them out.
STRUCTS = {
    "ferrum_device": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_stream": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_event": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_pool": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_vpool": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_elastic_pool": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_manager": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_memory": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_registration": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_config": (
        24,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("host_devices", "uint32_t", 4),
            ("host_memory_bytes", "uint64_t", 8),
            ("flags", "uint32_t", 16),
            ("reserved", "uint32_t", 20),
        ),
    ),
    "ferrum_error_info": (
        1328,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("status", "ferrum_status", 4),
            ("native_code", "int64_t", 8),
            ("function", "char[64]", 16),
            ("operation", "char[64]", 80),
            ("device", "char[32]", 144),
            ("message", "char[1024]", 176),
            ("facts", "uint32_t", 1200),
            ("reserved", "uint32_t", 1204),
            ("offset_bytes", "uint64_t", 1208),
            ("size_bytes", "uint64_t", 1216),
            ("capacity_bytes", "uint64_t", 1224),
            ("page_bytes", "uint64_t", 1232),
            ("requested_bytes", "uint64_t", 1240),
            ("available_bytes", "uint64_t", 1248),
            ("largest_free_bytes", "uint64_t", 1256),
            ("model", "char[64]", 1264),
        ),
    ),
    "ferrum_backend_choice": (
        1088,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("backend", "ferrum_backend", 4),
            ("device_index", "uint32_t", 8),
            ("reserved", "uint32_t", 12),
            ("total_bytes", "uint64_t", 16),
            ("free_bytes", "uint64_t", 24),
            ("id", "char[32]", 32),
            ("tried", "char[1024]", 64),
        ),
    ),
    "ferrum_host_info": (
        152,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("available_known", "uint32_t", 4),
            ("total_bytes", "uint64_t", 8),
            ("available_bytes", "uint64_t", 16),
            ("cpu_name", "char[128]", 24),
        ),
    ),
    "ferrum_device_info": (
        232,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("ordinal", "uint32_t", 4),
            ("capabilities", "uint64_t", 8),
            ("total_bytes", "uint64_t", 16),
            ("granularity_bytes", "uint64_t", 24),
            ("alignment_bytes", "uint64_t", 32),
            ("id", "char[32]", 40),
            ("backend", "char[32]", 72),
            ("name", "char[128]", 104),
        ),
    ),
    "ferrum_memory_info": (
        104,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("pressure", "ferrum_pressure_level", 4),
            ("total_bytes", "uint64_t", 8),
            ("used_bytes", "uint64_t", 16),
            ("free_bytes", "uint64_t", 24),
            ("reserved_bytes", "uint64_t", 32),
            ("active_allocations", "uint64_t", 40),
            ("fragmentation_ratio", "float", 48),
            ("utilization_percent", "float", 52),
            ("bandwidth_known", "uint32_t", 56),
            ("bandwidth_gbps", "float", 60),
            ("reading_age_ns", "uint64_t", 64),
            ("largest_free_bytes", "uint64_t", 72),
            ("limit_bytes", "uint64_t", 80),
            ("device_total_bytes", "uint64_t", 88),
            ("device_free_bytes", "uint64_t", 96),
        ),
    ),
    "ferrum_gauge": (
        16,
        8,
        (
            ("current", "uint64_t", 0),
            ("peak", "uint64_t", 8),
        ),
    ),
    "ferrum_statistics": (
        176,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved_field", "uint32_t", 4),
            ("requested", "ferrum_gauge", 8),
            ("allocated", "ferrum_gauge", 24),
            ("active", "ferrum_gauge", 40),
            ("cached", "ferrum_gauge", 56),
            ("unusable", "ferrum_gauge", 72),
            ("reserved", "ferrum_gauge", 88),
            ("live_blocks", "ferrum_gauge", 104),
            ("segments", "ferrum_gauge", 120),
            ("allocations", "uint64_t", 136),
            ("frees", "uint64_t", 144),
            ("failures", "uint64_t", 152),
            ("largest_free_bytes", "uint64_t", 160),
            ("thread_cached_bytes", "uint64_t", 168),
        ),
    ),
    "ferrum_address_copy": (
        24,
        8,
        (
            ("source", "ferrum_address", 0),
            ("destination", "ferrum_address", 8),
            ("size_bytes", "uint64_t", 16),
        ),
    ),
    "ferrum_pool_config": (
        136,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("enable_auto_expansion", "uint32_t", 4),
            ("initial_size_bytes", "uint64_t", 8),
            ("max_size_bytes", "uint64_t", 16),
            ("growth_increment_bytes", "uint64_t", 24),
            ("alignment_bytes", "uint64_t", 32),
            ("pre_allocate", "uint32_t", 40),
            ("enable_stats", "uint32_t", 44),
            ("strategy", "char *", 48),
            ("name", "char *", 56),
            ("tracking", "uint32_t", 64),
            ("debug", "uint32_t", 68),
            ("thread_cache_bytes", "uint64_t", 72),
            ("min_held_bytes", "uint64_t", 80),
            ("release_threshold_bytes", "uint64_t", 88),
            ("fixed_block_bytes", "uint64_t", 96),
            ("page_bytes", "uint64_t", 104),
            ("paging", "ferrum_paging", 112),
            ("ready_pages", "uint32_t", 116),
            ("physical_page_bytes", "uint64_t", 120),
            ("segment_source", "ferrum_segment_source", 128),
            ("reserved", "uint32_t", 132),
        ),
    ),
    "ferrum_pool_request": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("tag", "uint32_t", 4),
            ("size_bytes", "uint64_t", 8),
            ("alignment_bytes", "uint64_t", 16),
            ("stream", "ferrum_stream", 24),
            ("expected_lifetime_ns", "uint64_t", 32),
            ("group", "uint64_t", 40),
        ),
    ),
    "ferrum_graph_info": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("capturing", "uint32_t", 4),
            ("sharing", "uint64_t", 8),
            ("held_bytes", "uint64_t", 16),
            ("live_bytes", "uint64_t", 24),
            ("live_blocks", "uint64_t", 32),
            ("parked_bytes", "uint64_t", 40),
        ),
    ),
    "ferrum_pool_info": (
        64,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("held_bytes", "uint64_t", 8),
            ("page_bytes", "uint64_t", 16),
            ("mapped_pages", "uint64_t", 24),
            ("idle_pages", "uint64_t", 32),
            ("ready_pages", "uint64_t", 40),
            ("segments", "uint64_t", 48),
            ("address_bytes", "uint64_t", 56),
        ),
    ),
    "ferrum_block_info": (
        264,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("state", "ferrum_block_state", 4),
            ("pool", "ferrum_pool", 8),
            ("manager", "uint64_t", 16),
            ("address", "uint64_t", 24),
            ("size_bytes", "uint64_t", 32),
            ("requested_bytes", "uint64_t", 40),
            ("age_ns", "uint64_t", 48),
            ("pool_name", "char[64]", 56),
            ("tag", "char[64]", 120),
            ("vpool", "ferrum_vpool", 184),
            ("elastic_pool", "ferrum_elastic_pool", 192),
            ("model", "char[64]", 200),
        ),
    ),
    "ferrum_manager_config": (
        88,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("enable_tracking", "uint32_t", 4),
            ("enable_auto_gc", "uint32_t", 8),
            ("enable_debug", "uint32_t", 12),
            ("gc_threshold", "float", 16),
            ("max_concurrent_transfers", "uint32_t", 20),
            ("pool_configs", "ferrum_pool_config *[8]", 24),
        ),
    ),
    "ferrum_allocation_request": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("memory_type", "ferrum_memory_type", 4),
            ("size_bytes", "uint64_t", 8),
            ("alignment_bytes", "uint64_t", 16),
            ("tag", "char *", 24),
            ("flags", "uint32_t", 32),
            ("reserved", "uint32_t", 36),
        ),
    ),
    "ferrum_handle_info": (
        176,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("memory_type", "ferrum_memory_type", 4),
            ("memory", "ferrum_memory", 8),
            ("manager", "ferrum_manager", 16),
            ("device", "ferrum_device", 24),
            ("size_bytes", "uint64_t", 32),
            ("allocated_bytes", "uint64_t", 40),
            ("alignment_bytes", "uint64_t", 48),
            ("address", "ferrum_address", 56),
            ("host_pointer", "void *", 64),
            ("allocated_at_ns", "uint64_t", 72),
            ("is_mapped", "uint32_t", 80),
            ("operations_in_flight", "uint32_t", 84),
            ("tag", "char[64]", 88),
            ("is_relocatable", "uint32_t", 152),
            ("pin_count", "uint32_t", 156),
            ("linked", "ferrum_memory", 160),
            ("is_adopted", "uint32_t", 168),
            ("is_read_only", "uint32_t", 172),
        ),
    ),
    "ferrum_transfer": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("src", "ferrum_memory", 8),
            ("dst", "ferrum_memory", 16),
            ("size_bytes", "uint64_t", 24),
            ("src_offset_bytes", "uint64_t", 32),
            ("dst_offset_bytes", "uint64_t", 40),
        ),
    ),
    "ferrum_fill": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("pattern_bytes", "uint32_t", 4),
            ("memory", "ferrum_memory", 8),
            ("offset_bytes", "uint64_t", 16),
            ("size_bytes", "uint64_t", 24),
            ("pattern", "uint32_t", 32),
            ("reserved", "uint32_t", 36),
        ),
    ),
    "ferrum_defragmentation_stats": (
        152,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("fragmentation_before", "float", 4),
            ("fragmentation_after", "float", 8),
            ("reserved", "uint32_t", 12),
            ("memory_freed_bytes", "uint64_t", 16),
            ("blocks_moved", "uint64_t", 24),
            ("blocks_skipped", "uint64_t", 32),
            ("time_taken_ns", "uint64_t", 40),
            ("time_taken_ms", "uint64_t", 48),
            ("bytes_moved", "uint64_t", 56),
            ("pages_emptied", "uint64_t", 64),
            ("segments_emptied", "uint64_t", 72),
            ("blocks_kept", "uint64_t", 80),
            ("skipped_not_relocatable", "uint64_t", 88),
            ("skipped_debugged", "uint64_t", 96),
            ("skipped_pinned", "uint64_t", 104),
            ("skipped_in_use", "uint64_t", 112),
            ("skipped_no_room", "uint64_t", 120),
            ("skipped_over_budget", "uint64_t", 128),
            ("budget_ended", "uint32_t", 136),
            ("reserved_end", "uint32_t", 140),
            ("skipped_mapped", "uint64_t", 144),
        ),
    ),
    "ferrum_reclaim_config": (
        16,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("priority", "int32_t", 4),
            ("deadline_ns", "uint64_t", 8),
        ),
    ),
    "ferrum_page_sizes": (
        24,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("minimum_bytes", "uint64_t", 8),
            ("recommended_bytes", "uint64_t", 16),
        ),
    ),
    "ferrum_vpool_config": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("flags", "uint32_t", 4),
            ("capacity_bytes", "uint64_t", 8),
            ("page_bytes", "uint64_t", 16),
            ("limit_bytes", "uint64_t", 24),
            ("name", "char *", 32),
            ("ready_pages", "uint32_t", 40),
            ("backing", "ferrum_backing", 44),
        ),
    ),
    "ferrum_vpool_request": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("offset_bytes", "uint64_t", 8),
            ("size_bytes", "uint64_t", 16),
            ("tag", "char *", 24),
            ("asleep_wait_ns", "uint64_t", 32),
            ("stream", "ferrum_stream", 40),
        ),
    ),
    "ferrum_byte_range": (
        16,
        8,
        (
            ("offset_bytes", "uint64_t", 0),
            ("size_bytes", "uint64_t", 8),
        ),
    ),
    "ferrum_batch_options": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("tag", "char *", 8),
            ("asleep_wait_ns", "uint64_t", 16),
            ("stream", "ferrum_stream", 24),
        ),
    ),
    "ferrum_vpool_info": (
        232,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("unmapped_share", "float", 4),
            ("fragmentation", "float", 8),
            ("reserved", "uint32_t", 12),
            ("base_address", "ferrum_address", 16),
            ("page_bytes", "uint64_t", 24),
            ("virtual_capacity_bytes", "uint64_t", 32),
            ("physical_bytes", "uint64_t", 40),
            ("peak_physical_bytes", "uint64_t", 48),
            ("requested_bytes", "uint64_t", 56),
            ("mapped_pages", "uint64_t", 64),
            ("retiring_pages", "uint64_t", 72),
            ("parked_pages", "uint64_t", 80),
            ("ready_pages", "uint64_t", 88),
            ("held_bytes", "uint64_t", 96),
            ("limit_bytes", "uint64_t", 104),
            ("available_bytes", "uint64_t", 112),
            ("largest_free_run_bytes", "uint64_t", 120),
            ("allocations", "uint64_t", 128),
            ("table_bytes", "uint64_t", 136),
            ("asleep_pages", "uint64_t", 144),
            ("asleep_bytes", "uint64_t", 152),
            ("asleep_host_bytes", "uint64_t", 160),
            ("asleep_file_bytes", "uint64_t", 168),
            ("asleep_discarded_bytes", "uint64_t", 176),
            ("sleeps", "uint64_t", 184),
            ("wakes", "uint64_t", 192),
            ("sleep_ns", "uint64_t", 200),
            ("wake_ns", "uint64_t", 208),
            ("sleep_failures", "uint64_t", 216),
            ("wake_failures", "uint64_t", 224),
        ),
    ),
    "ferrum_compact_report": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("landed_pages", "uint64_t", 8),
            ("unmapped_pages", "uint64_t", 16),
            ("released_bytes", "uint64_t", 24),
            ("runs_before", "uint64_t", 32),
            ("runs_after", "uint64_t", 40),
        ),
    ),
    "ferrum_elastic_pool_config": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("flags", "uint32_t", 4),
            ("limit_bytes", "uint64_t", 8),
            ("page_bytes", "uint64_t", 16),
            ("name", "char *", 24),
            ("ready_pages", "uint32_t", 32),
            ("backing", "ferrum_backing", 36),
        ),
    ),
    "ferrum_model_config": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("priority", "int32_t", 4),
            ("virtual_bytes", "uint64_t", 8),
            ("guaranteed_bytes", "uint64_t", 16),
            ("max_bytes", "uint64_t", 24),
            ("unscrubbed", "uint32_t", 32),
            ("guarantee_may_wait", "uint32_t", 36),
        ),
    ),
    "ferrum_model_request": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("at_offset", "uint32_t", 4),
            ("offset_bytes", "uint64_t", 8),
            ("size_bytes", "uint64_t", 16),
            ("tag", "char *", 24),
            ("asleep_wait_ns", "uint64_t", 32),
            ("stream", "ferrum_stream", 40),
        ),
    ),
    "ferrum_model_info": (
        288,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("priority", "int32_t", 4),
            ("unmapped_share", "float", 8),
            ("fragmentation", "float", 12),
            ("base_address", "ferrum_address", 16),
            ("page_bytes", "uint64_t", 24),
            ("virtual_capacity_bytes", "uint64_t", 32),
            ("physical_bytes", "uint64_t", 40),
            ("peak_physical_bytes", "uint64_t", 48),
            ("requested_bytes", "uint64_t", 56),
            ("mapped_pages", "uint64_t", 64),
            ("retiring_pages", "uint64_t", 72),
            ("parked_pages", "uint64_t", 80),
            ("cached_bytes", "uint64_t", 88),
            ("guaranteed_bytes", "uint64_t", 96),
            ("max_bytes", "uint64_t", 104),
            ("available_bytes", "uint64_t", 112),
            ("largest_free_run_bytes", "uint64_t", 120),
            ("allocations", "uint64_t", 128),
            ("frees", "uint64_t", 136),
            ("failures", "uint64_t", 144),
            ("waits", "uint64_t", 152),
            ("waited_ns", "uint64_t", 160),
            ("reclaim_calls", "uint64_t", 168),
            ("reclaimed_bytes", "uint64_t", 176),
            ("table_bytes", "uint64_t", 184),
            ("asleep_pages", "uint64_t", 192),
            ("asleep_bytes", "uint64_t", 200),
            ("asleep_host_bytes", "uint64_t", 208),
            ("asleep_file_bytes", "uint64_t", 216),
            ("asleep_discarded_bytes", "uint64_t", 224),
            ("sleeps", "uint64_t", 232),
            ("wakes", "uint64_t", 240),
            ("sleep_ns", "uint64_t", 248),
            ("wake_ns", "uint64_t", 256),
            ("sleep_failures", "uint64_t", 264),
            ("wake_failures", "uint64_t", 272),
            ("requested_guarantee_bytes", "uint64_t", 280),
        ),
    ),
    "ferrum_model_limits": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("priority", "int32_t", 4),
            ("guaranteed_bytes", "uint64_t", 8),
            ("max_bytes", "uint64_t", 16),
            ("guarantee_may_wait", "uint32_t", 24),
            ("reserved", "uint32_t", 28),
        ),
    ),
    "ferrum_elastic_pool_info": (
        96,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("page_bytes", "uint64_t", 8),
            ("physical_limit_bytes", "uint64_t", 16),
            ("physical_bytes", "uint64_t", 24),
            ("peak_physical_bytes", "uint64_t", 32),
            ("num_models", "uint64_t", 40),
            ("virtual_bytes", "uint64_t", 48),
            ("guaranteed_bytes", "uint64_t", 56),
            ("retiring_bytes", "uint64_t", 64),
            ("cached_bytes", "uint64_t", 72),
            ("held_bytes", "uint64_t", 80),
            ("waiting", "uint64_t", 88),
        ),
    ),
    "ferrum_sleep_config": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("backing", "ferrum_sleep_backing", 4),
            ("tag", "char *", 8),
            ("directory", "char *", 16),
            ("stream", "ferrum_stream", 24),
            ("timeout_ns", "uint64_t", 32),
            ("num_streams", "uint32_t", 40),
            ("reserved", "uint32_t", 44),
        ),
    ),
    "ferrum_sleep_report": (
        4120,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("released_bytes", "uint64_t", 8),
            ("elapsed_ns", "uint64_t", 16),
            ("path", "char[4096]", 24),
        ),
    ),
    "ferrum_wake_config": (
        24,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("num_streams", "uint32_t", 4),
            ("tag", "char *", 8),
            ("timeout_ns", "uint64_t", 16),
        ),
    ),
    "ferrum_wake_report": (
        24,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("restored_bytes", "uint64_t", 8),
            ("elapsed_ns", "uint64_t", 16),
        ),
    ),
    "ferrum_monitor": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_monitor_config": (
        24,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("profile", "ferrum_pressure_profile", 4),
            ("interval_ns", "uint64_t", 8),
            ("flags", "uint32_t", 16),
            ("reserved", "uint32_t", 20),
        ),
    ),
    "ferrum_device_level": (
        16,
        8,
        (
            ("device", "ferrum_device", 0),
            ("level", "ferrum_pressure_level", 8),
            ("reserved", "uint32_t", 12),
        ),
    ),
    "ferrum_monitor_pressure": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("level", "ferrum_pressure_level", 4),
            ("weighted_level", "ferrum_pressure_level", 8),
            ("devices", "uint32_t", 12),
            ("unknown_devices", "uint32_t", 16),
            ("reserved", "uint32_t", 20),
            ("total_bytes", "uint64_t", 24),
            ("used_bytes", "uint64_t", 32),
        ),
    ),
    "ferrum_collected": (
        88,
        8,
        (
            ("device", "ferrum_device", 0),
            ("status", "ferrum_status", 8),
            ("managers", "uint32_t", 12),
            ("fragmentation_before", "float", 16),
            ("fragmentation_after", "float", 20),
            ("memory_freed_bytes", "uint64_t", 24),
            ("blocks_moved", "uint64_t", 32),
            ("blocks_skipped", "uint64_t", 40),
            ("time_taken_ns", "uint64_t", 48),
            ("time_taken_ms", "uint64_t", 56),
            ("reserved", "uint64_t[3]", 64),
        ),
    ),
    "ferrum_placement": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_placement_request": (
        64,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("memory_type", "int32_t", 4),
            ("size_bytes", "uint64_t", 8),
            ("alignment_bytes", "uint64_t", 16),
            ("expected_lifetime_ns", "uint64_t", 24),
            ("preferred", "ferrum_device *", 32),
            ("devices", "ferrum_device *", 40),
            ("preferred_count", "uint32_t", 48),
            ("device_count", "uint32_t", 52),
            ("flags", "uint32_t", 56),
            ("profile", "ferrum_pressure_profile", 60),
        ),
    ),
    "ferrum_placement_option": (
        80,
        8,
        (
            ("device", "ferrum_device", 0),
            ("needed_bytes", "uint64_t", 8),
            ("total_bytes", "uint64_t", 16),
            ("used_bytes", "uint64_t", 24),
            ("free_bytes", "uint64_t", 32),
            ("largest_free_bytes", "uint64_t", 40),
            ("reason", "ferrum_placement_reason", 48),
            ("tier", "int32_t", 52),
            ("preferred_rank", "uint32_t", 56),
            ("level_after", "ferrum_pressure_level", 60),
            ("reserved", "uint64_t[2]", 64),
        ),
    ),
    "ferrum_model_shape": (
        72,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("hidden_size", "uint64_t", 8),
            ("intermediate_size", "uint64_t", 16),
            ("num_layers", "uint64_t", 24),
            ("vocab_size", "uint64_t", 32),
            ("num_heads", "uint64_t", 40),
            ("num_kv_heads", "uint64_t", 48),
            ("max_seq_len", "uint64_t", 56),
            ("dtype_bytes", "uint64_t", 64),
        ),
    ),
    "ferrum_kv_cache_shape": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("num_layers", "uint64_t", 8),
            ("num_kv_heads", "uint64_t", 16),
            ("head_dim", "uint64_t", 24),
            ("max_seq_len", "uint64_t", 32),
            ("dtype_bytes", "uint64_t", 40),
        ),
    ),
    "ferrum_inference_estimate": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("model_bytes", "uint64_t", 8),
            ("kv_cache_bytes", "uint64_t", 16),
            ("activation_bytes", "uint64_t", 24),
            ("total_bytes", "uint64_t", 32),
        ),
    ),
    "ferrum_estimate_request": (
        80,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("flags", "uint32_t", 4),
            ("context", "uint64_t", 8),
            ("batch", "uint64_t", 16),
            ("tensor_parallel", "uint64_t", 24),
            ("prefill_tokens", "uint64_t", 32),
            ("overhead_permille", "uint64_t", 40),
            ("free_bytes", "uint64_t", 48),
            ("kv_dtype", "char *", 56),
            ("weight_dtype", "char *", 64),
            ("block_tokens", "uint64_t", 72),
        ),
    ),
    "ferrum_fallback_manager": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_fallback_buffer": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_tracker": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_generic_pool": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_memory_config": (
        56,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("flags", "uint32_t", 4),
            ("gpu_memory_fraction", "double", 8),
            ("min_free_bytes", "uint64_t", 16),
            ("max_pooled_per_bucket", "uint64_t", 24),
            ("max_pooled_bytes", "uint64_t", 32),
            ("pre_allocate_sizes", "uint64_t *", 40),
            ("pre_allocate_count", "uint64_t", 48),
        ),
    ),
    "ferrum_memory_stats": (
        72,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("total_allocated_bytes", "uint64_t", 8),
            ("in_use_bytes", "uint64_t", 16),
            ("pooled_bytes", "uint64_t", 24),
            ("peak_bytes", "uint64_t", 32),
            ("pool_hits", "uint64_t", 40),
            ("pool_misses", "uint64_t", 48),
            ("cpu_fallbacks", "uint64_t", 56),
            ("active_buffers", "uint64_t", 64),
        ),
    ),
    "ferrum_memory_ratios": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("hit_rate", "double", 8),
            ("utilization", "double", 16),
            ("efficiency", "double", 24),
        ),
    ),
    "ferrum_buffer_metadata": (
        112,
        8,
        (
            ("buffer_id", "uint64_t", 0),
            ("size_bytes", "uint64_t", 8),
            ("num_elements", "uint64_t", 16),
            ("age_ns", "uint64_t", 24),
            ("device", "ferrum_device", 32),
            ("location", "ferrum_buffer_location", 40),
            ("reserved", "uint32_t", 44),
            ("tag", "char[64]", 48),
        ),
    ),
    "ferrum_tracker_totals": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("count", "uint64_t", 8),
            ("total_bytes", "uint64_t", 16),
            ("peak_bytes", "uint64_t", 24),
        ),
    ),
    "ferrum_buffer_use": (
        24,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("location", "ferrum_buffer_location", 4),
            ("num_elements", "uint64_t", 8),
            ("tag", "char *", 16),
        ),
    ),
    "ferrum_buffer_lease": (
        24,
        8,
        (
            ("buffer", "uint64_t", 0),
            ("size_bytes", "uint64_t", 8),
            ("buffer_id", "uint64_t", 16),
        ),
    ),
    "ferrum_fallback_stats": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("cpu_bytes", "uint64_t", 8),
            ("cpu_buffers", "uint64_t", 16),
            ("moved_to_cpu", "uint64_t", 24),
            ("moved_to_gpu", "uint64_t", 32),
        ),
    ),
    "ferrum_buffer_request": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("dtype", "ferrum_dtype", 4),
            ("num_elements", "uint64_t", 8),
            ("place", "ferrum_buffer_place", 16),
            ("flags", "uint32_t", 20),
            ("stream", "ferrum_stream", 24),
            ("tag", "char *", 32),
        ),
    ),
    "ferrum_fallback_buffer_info": (
        72,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("dtype", "ferrum_dtype", 4),
            ("buffer_id", "uint64_t", 8),
            ("num_elements", "uint64_t", 16),
            ("size_bytes", "uint64_t", 24),
            ("address", "ferrum_address", 32),
            ("manager", "ferrum_fallback_manager", 40),
            ("device", "ferrum_device", 48),
            ("location", "ferrum_buffer_location", 56),
            ("pins", "uint32_t", 60),
            ("flags", "uint32_t", 64),
            ("reserved", "uint32_t", 68),
        ),
    ),
    "ferrum_map_request": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("access", "ferrum_host_access", 4),
            ("memory", "ferrum_memory", 8),
            ("offset_bytes", "uint64_t", 16),
            ("size_bytes", "uint64_t", 24),
        ),
    ),
    "ferrum_mapping": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("is_staged", "uint32_t", 4),
            ("mapping_id", "uint64_t", 8),
            ("host_pointer", "void *", 16),
            ("size_bytes", "uint64_t", 24),
        ),
    ),
    "ferrum_link_request": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("size_bytes", "uint64_t", 8),
            ("alignment_bytes", "uint64_t", 16),
            ("tag", "char *", 24),
        ),
    ),
    "ferrum_usage_hints": (
        16,
        4,
        (
            ("struct_size", "uint32_t", 0),
            ("order", "ferrum_usage_hint", 4),
            ("direction", "ferrum_usage_hint", 8),
            ("lifetime", "ferrum_usage_hint", 12),
        ),
    ),
    "ferrum_access_stats": (
        56,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("is_tracked", "uint32_t", 4),
            ("is_accessed", "uint32_t", 8),
            ("pattern", "ferrum_access_pattern", 12),
            ("read_count", "uint64_t", 16),
            ("write_count", "uint64_t", 24),
            ("average_read_bytes", "uint64_t", 32),
            ("average_write_bytes", "uint64_t", 40),
            ("last_access_ns", "uint64_t", 48),
        ),
    ),
    "ferrum_adoption": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("memory_type", "ferrum_memory_type", 4),
            ("address", "ferrum_address", 8),
            ("size_bytes", "uint64_t", 16),
            ("tag", "char *", 24),
            ("is_read_only", "uint32_t", 32),
            ("reserved", "uint32_t", 36),
        ),
    ),
    "ferrum_foreign_stream": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("native_handle", "uint64_t", 8),
            ("enqueue", "ferrum_enqueue_fn", 16),
            ("user_data", "void *", 24),
        ),
    ),
    "ferrum_page_import": (
        56,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("descriptors", "int32_t *", 8),
            ("count", "uint64_t", 16),
            ("page_bytes", "uint64_t", 24),
            ("tag", "char *", 32),
            ("fabric_handles", "uint8_t *", 40),
            ("fabric_handle_bytes", "uint64_t", 48),
        ),
    ),
    "ferrum_shared_memory": (
        88,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("offset_bytes", "uint64_t", 8),
            ("size_bytes", "uint64_t", 16),
            ("handle", "uint8_t[64]", 24),
        ),
    ),
    "ferrum_shared_event": (
        72,
        4,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("handle", "uint8_t[64]", 8),
        ),
    ),
    "ferrum_weights": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_tensor_set": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_weights_source": (
        176,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("kind", "ferrum_weights_source_kind", 4),
            ("path", "char *", 8),
            ("data", "void *", 16),
            ("data_bytes", "uint64_t", 24),
            ("format", "ferrum_weights_format", 32),
            ("decoder", "uint32_t", 36),
            ("raw_dtype", "ferrum_dtype", 40),
            ("raw_rank", "uint32_t", 44),
            ("raw_shape", "uint64_t[16]", 48),
        ),
    ),
    "ferrum_tensor_info": (
        224,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("dtype", "ferrum_dtype", 4),
            ("rank", "uint32_t", 8),
            ("flags", "uint32_t", 12),
            ("shape", "uint64_t[16]", 16),
            ("address", "ferrum_address", 144),
            ("size_bytes", "uint64_t", 152),
            ("device", "char[64]", 160),
        ),
    ),
    "ferrum_weights_progress": (
        32,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("is_over", "uint32_t", 4),
            ("done_bytes", "uint64_t", 8),
            ("total_bytes", "uint64_t", 16),
            ("bytes_per_second", "double", 24),
        ),
    ),
    "ferrum_weights_memory": (
        64,
        8,
        (
            ("pool", "ferrum_pool", 0),
            ("vpool", "ferrum_vpool", 8),
            ("elastic_pool", "ferrum_elastic_pool", 16),
            ("device", "ferrum_device", 24),
            ("model", "char *", 32),
            ("offset_bytes", "uint64_t", 40),
            ("tag", "char *", 48),
            ("reserved", "uint64_t", 56),
        ),
    ),
    "ferrum_weights_load_request": (
        64,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("flags", "uint32_t", 4),
            ("memories", "ferrum_weights_memory *", 8),
            ("memory_count", "uint32_t", 16),
            ("threads", "uint32_t", 20),
            ("specs_json", "char *", 24),
            ("specs_bytes", "uint64_t", 32),
            ("staging_bytes", "uint64_t", 40),
            ("progress", "ferrum_weights_progress_fn", 48),
            ("user_data", "void *", 56),
        ),
    ),
    "ferrum_weights_convert_request": (
        64,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("format", "ferrum_weights_format", 4),
            ("flags", "uint32_t", 8),
            ("reserved", "uint32_t", 12),
            ("specs_json", "char *", 16),
            ("specs_bytes", "uint64_t", 24),
            ("texts_json", "char *", 32),
            ("texts_bytes", "uint64_t", 40),
            ("progress", "ferrum_weights_progress_fn", 48),
            ("user_data", "void *", 56),
        ),
    ),
    "ferrum_weights_file": (
        48,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("file", "uint64_t", 8),
            ("size_bytes", "uint64_t", 16),
            ("name", "char *", 24),
            ("read_at", "ferrum_weights_read_at_fn", 32),
            ("describe", "ferrum_weights_describe_fn", 40),
        ),
    ),
    "ferrum_weights_decoder": (
        40,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("format", "char *", 8),
            ("recognises", "ferrum_weights_recognises_fn", 16),
            ("decode", "ferrum_weights_decode_fn", 24),
            ("user_data", "void *", 32),
        ),
    ),
    "ferrum_tensor": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_tensor_desc": (
        240,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("dtype", "ferrum_dtype", 4),
            ("rank", "uint32_t", 8),
            ("flags", "uint32_t", 12),
            ("shape", "int64_t[8]", 16),
            ("strides", "int64_t[8]", 80),
            ("address", "ferrum_address", 144),
            ("size_bytes", "uint64_t", 152),
            ("device", "char[64]", 160),
            ("elements", "int64_t *", 224),
            ("element_count", "uint64_t", 232),
        ),
    ),
    "ferrum_dlpack": (
        16,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("is_versioned", "uint32_t", 4),
            ("managed", "void *", 8),
        ),
    ),
    "ferrum_kv_cache": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_kv_cache_config": (
        64,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("dtype", "ferrum_dtype", 4),
            ("block_tokens", "uint32_t", 8),
            ("blocks", "uint32_t", 12),
            ("host_blocks", "uint32_t", 16),
            ("sequences", "uint32_t", 20),
            ("sequence_tokens", "uint32_t", 24),
            ("window_tokens", "uint32_t", 28),
            ("layers", "uint32_t", 32),
            ("kv_heads", "uint32_t", 36),
            ("head_dim", "uint32_t", 40),
            ("always_blocks", "uint32_t", 44),
            ("hash_seed", "uint64_t", 48),
            ("reserved", "uint64_t", 56),
        ),
    ),
    "ferrum_kv_cache_stats": (
        176,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("level", "ferrum_pressure_level", 4),
            ("blocks", "uint64_t", 8),
            ("used_blocks", "uint64_t", 16),
            ("cached_blocks", "uint64_t", 24),
            ("free_blocks", "uint64_t", 32),
            ("unmapped_blocks", "uint64_t", 40),
            ("published_blocks", "uint64_t", 48),
            ("references", "uint64_t", 56),
            ("host_blocks", "uint64_t", 64),
            ("host_used_blocks", "uint64_t", 72),
            ("sequences", "uint64_t", 80),
            ("swapped_sequences", "uint64_t", 88),
            ("tokens", "uint64_t", 96),
            ("hits", "uint64_t", 104),
            ("misses", "uint64_t", 112),
            ("evictions", "uint64_t", 120),
            ("copies", "uint64_t", 128),
            ("swapped_out_blocks", "uint64_t", 136),
            ("swapped_in_blocks", "uint64_t", 144),
            ("failures", "uint64_t", 152),
            ("block_bytes", "uint64_t", 160),
            ("mapped_bytes", "uint64_t", 168),
        ),
    ),
    "ferrum_kv_sequence": (
        16,
        8,
        (
            ("sequence", "uint64_t", 0),
            ("cached_tokens", "uint32_t", 8),
            ("reserved", "uint32_t", 12),
        ),
    ),
    "ferrum_kv_copy": (
        8,
        4,
        (
            ("source", "int32_t", 0),
            ("target", "int32_t", 4),
        ),
    ),
    "ferrum_compute": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_op": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_sequence": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_compute_config": (
        80,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("type", "ferrum_compute_type", 4),
            ("name", "char *", 8),
            ("device", "ferrum_device", 16),
            ("optimization_level", "uint32_t", 24),
            ("threads", "uint32_t", 28),
            ("enable_debug", "uint32_t", 32),
            ("growth", "ferrum_compute_growth", 36),
            ("pool_size_bytes", "uint64_t", 40),
            ("alignment_bytes", "uint64_t", 48),
            ("enable_pooling", "uint32_t", 56),
            ("reserved", "uint32_t", 60),
            ("options_json", "char *", 64),
            ("options_bytes", "uint64_t", 72),
        ),
    ),
    "ferrum_compute_call": (
        104,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("opset", "uint32_t", 4),
            ("name", "char *", 8),
            ("domain", "char *", 16),
            ("attributes_json", "char *", 24),
            ("attributes_bytes", "uint64_t", 32),
            ("device", "ferrum_device", 40),
            ("inputs", "ferrum_tensor_desc *", 48),
            ("input_count", "uint64_t", 56),
            ("outputs", "ferrum_tensor_desc *", 64),
            ("output_count", "uint64_t", 72),
            ("workspace", "ferrum_address", 80),
            ("workspace_bytes", "uint64_t", 88),
            ("message_out", "char *", 96),
        ),
    ),
    "ferrum_compute_plan": (
        16,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("flags", "uint32_t", 4),
            ("workspace_bytes", "uint64_t", 8),
        ),
    ),
    "ferrum_compute_backend": (
        80,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("name", "char *", 8),
            ("version", "char *", 16),
            ("capabilities_json", "char *", 24),
            ("capabilities_bytes", "uint64_t", 32),
            ("plan", "ferrum_compute_plan_fn", 40),
            ("run", "ferrum_compute_run_fn", 48),
            ("synchronize", "ferrum_compute_synchronize_fn", 56),
            ("release", "ferrum_release_fn", 64),
            ("user_data", "void *", 72),
        ),
    ),
    "ferrum_layer": (
        168,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("flags", "uint32_t", 4),
            ("type", "char *", 8),
            ("name", "char *", 16),
            ("input_shape", "int64_t[8]", 24),
            ("input_rank", "uint32_t", 88),
            ("output_count", "uint32_t", 92),
            ("config_json", "char *", 96),
            ("config_bytes", "uint64_t", 104),
            ("infer", "ferrum_layer_infer_fn", 112),
            ("parameters", "ferrum_layer_parameters_fn", 120),
            ("initialize", "ferrum_layer_initialize_fn", 128),
            ("plan", "ferrum_compute_plan_fn", 136),
            ("forward", "ferrum_compute_run_fn", 144),
            ("release", "ferrum_release_fn", 152),
            ("user_data", "void *", 160),
        ),
    ),
    "ferrum_executor": (8, 8, (("id", "uint64_t", 0),)),
    "ferrum_build_progress": (
        56,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("phase", "ferrum_build_phase", 4),
            ("progress", "double", 8),
            ("elapsed_seconds", "double", 16),
            ("remaining_seconds", "double", 24),
            ("done_bytes", "uint64_t", 32),
            ("total_bytes", "uint64_t", 40),
            ("operation", "char *", 48),
        ),
    ),
    "ferrum_build_request": (
        120,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("model", "char *", 8),
            ("path", "char *", 16),
            ("definition_json", "char *", 24),
            ("definition_bytes", "uint64_t", 32),
            ("weights", "ferrum_weights", 40),
            ("compute", "ferrum_compute", 48),
            ("elastic_pool", "ferrum_elastic_pool", 56),
            ("guaranteed_bytes", "uint64_t", 64),
            ("max_bytes", "uint64_t", 72),
            ("priority", "int32_t", 80),
            ("guarantee_may_wait", "uint32_t", 84),
            ("options_json", "char *", 88),
            ("options_bytes", "uint64_t", 96),
            ("progress", "ferrum_build_progress_fn", 104),
            ("user_data", "void *", 112),
        ),
    ),
    "ferrum_named_tensor": (
        16,
        8,
        (
            ("name", "char *", 0),
            ("tensor", "ferrum_tensor", 8),
        ),
    ),
    "ferrum_pass_call": (
        56,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("reserved", "uint32_t", 4),
            ("call", "uint64_t", 8),
            ("definition_json", "char *", 16),
            ("definition_bytes", "uint64_t", 24),
            ("replace", "ferrum_pass_replace_fn", 32),
            ("warn", "ferrum_pass_warn_fn", 40),
            ("message_out", "char *", 48),
        ),
    ),
    "ferrum_pass": (
        56,
        8,
        (
            ("struct_size", "uint32_t", 0),
            ("dependency_count", "uint32_t", 4),
            ("name", "char *", 8),
            ("dependencies", "char * *", 16),
            ("is_applicable", "ferrum_pass_is_applicable_fn", 24),
            ("apply", "ferrum_pass_apply_fn", 32),
            ("release", "ferrum_release_fn", 40),
            ("user_data", "void *", 48),
        ),
    ),
}

# The fields that are not zero in a struct with the values of its FERRUM_*_INIT.
INITIAL = {
    "ferrum_config": {"struct_size": 24},
    "ferrum_error_info": {"struct_size": 1328},
    "ferrum_backend_choice": {"struct_size": 1088},
    "ferrum_host_info": {"struct_size": 152},
    "ferrum_device_info": {"struct_size": 232},
    "ferrum_memory_info": {"struct_size": 104},
    "ferrum_statistics": {"struct_size": 176},
    "ferrum_pool_config": {
        "struct_size": 136,
        "enable_auto_expansion": 1,
        "initial_size_bytes": 18446744073709551615,
        "growth_increment_bytes": 536870912,
        "alignment_bytes": 256,
        "enable_stats": 1,
        "thread_cache_bytes": 18446744073709551615,
        "release_threshold_bytes": 18446744073709551615,
        "ready_pages": 4294967295,
    },
    "ferrum_pool_request": {"struct_size": 48},
    "ferrum_graph_info": {"struct_size": 48},
    "ferrum_pool_info": {"struct_size": 64},
    "ferrum_block_info": {"struct_size": 264},
    "ferrum_manager_config": {
        "struct_size": 88,
        "enable_tracking": 1,
        "enable_auto_gc": 1,
        "gc_threshold": 0.85,
        "max_concurrent_transfers": 4,
    },
    "ferrum_allocation_request": {"struct_size": 40},
    "ferrum_handle_info": {"struct_size": 176},
    "ferrum_transfer": {"struct_size": 48},
    "ferrum_fill": {"struct_size": 40, "pattern_bytes": 1},
    "ferrum_defragmentation_stats": {"struct_size": 152},
    "ferrum_reclaim_config": {"struct_size": 16},
    "ferrum_page_sizes": {"struct_size": 24},
    "ferrum_vpool_config": {"struct_size": 48, "ready_pages": 4294967295},
    "ferrum_vpool_request": {"struct_size": 48},
    "ferrum_batch_options": {"struct_size": 32},
    "ferrum_vpool_info": {"struct_size": 232},
    "ferrum_compact_report": {"struct_size": 48},
    "ferrum_elastic_pool_config": {"struct_size": 40, "ready_pages": 4294967295},
    "ferrum_model_config": {"struct_size": 40},
    "ferrum_model_request": {"struct_size": 48},
    "ferrum_model_info": {"struct_size": 288},
    "ferrum_model_limits": {"struct_size": 32},
    "ferrum_elastic_pool_info": {"struct_size": 96},
    "ferrum_sleep_config": {"struct_size": 48, "timeout_ns": 18446744073709551615},
    "ferrum_sleep_report": {"struct_size": 4120},
    "ferrum_wake_config": {"struct_size": 24, "timeout_ns": 18446744073709551615},
    "ferrum_wake_report": {"struct_size": 24},
    "ferrum_monitor_config": {"struct_size": 24},
    "ferrum_monitor_pressure": {"struct_size": 40},
    "ferrum_placement_request": {"struct_size": 64},
    "ferrum_model_shape": {"struct_size": 72},
    "ferrum_kv_cache_shape": {"struct_size": 48},
    "ferrum_inference_estimate": {"struct_size": 40},
    "ferrum_estimate_request": {
        "struct_size": 80,
        "batch": 1,
        "tensor_parallel": 1,
        "prefill_tokens": 2048,
        "overhead_permille": 16,
        "block_tokens": 16,
    },
    "ferrum_memory_config": {
        "struct_size": 56,
        "flags": 1,
        "gpu_memory_fraction": 0.9,
        "min_free_bytes": 536870912,
        "max_pooled_per_bucket": 8,
        "max_pooled_bytes": 1073741824,
    },
    "ferrum_memory_stats": {"struct_size": 72},
    "ferrum_memory_ratios": {"struct_size": 32},
    "ferrum_tracker_totals": {"struct_size": 32},
    "ferrum_buffer_use": {"struct_size": 24},
    "ferrum_fallback_stats": {"struct_size": 40},
    "ferrum_buffer_request": {"struct_size": 40},
    "ferrum_fallback_buffer_info": {"struct_size": 72},
    "ferrum_map_request": {"struct_size": 32, "access": 2, "size_bytes": 18446744073709551615},
    "ferrum_mapping": {"struct_size": 32},
    "ferrum_link_request": {"struct_size": 32},
    "ferrum_usage_hints": {"struct_size": 16},
    "ferrum_access_stats": {"struct_size": 56},
    "ferrum_adoption": {"struct_size": 40},
    "ferrum_foreign_stream": {"struct_size": 32},
    "ferrum_page_import": {"struct_size": 56},
    "ferrum_shared_memory": {"struct_size": 88},
    "ferrum_shared_event": {"struct_size": 72},
    "ferrum_weights_source": {"struct_size": 176},
    "ferrum_tensor_info": {"struct_size": 224},
    "ferrum_weights_progress": {"struct_size": 32},
    "ferrum_weights_load_request": {"struct_size": 64},
    "ferrum_weights_convert_request": {"struct_size": 64},
    "ferrum_weights_file": {"struct_size": 48},
    "ferrum_weights_decoder": {"struct_size": 40},
    "ferrum_tensor_desc": {"struct_size": 240},
    "ferrum_dlpack": {"struct_size": 16},
    "ferrum_kv_cache_config": {"struct_size": 64},
    "ferrum_kv_cache_stats": {"struct_size": 176},
    "ferrum_compute_config": {
        "struct_size": 80,
        "type": 4,
        "optimization_level": 2,
        "growth": 1,
        "enable_pooling": 1,
    },
    "ferrum_compute_call": {"struct_size": 104},
    "ferrum_compute_plan": {"struct_size": 16},
    "ferrum_compute_backend": {"struct_size": 80},
    "ferrum_layer": {"struct_size": 168, "input_rank": 4294967295, "output_count": 1},
    "ferrum_build_progress": {"struct_size": 56, "remaining_seconds": -1},
    "ferrum_build_request": {"struct_size": 120},
    "ferrum_pass_call": {"struct_size": 56},
    "ferrum_pass": {"struct_size": 56},
}

# Result and parameters of each callback.
CALLBACKS = {
    "ferrum_log_fn": (
        "void",
        "ferrum_log_level",
        "char *",
        "void *",
    ),
    "ferrum_call_site_fn": (
        "size_t",
        "char *",
        "size_t",
        "void *",
    ),
    "ferrum_host_fn": (
        "void",
        "void *",
    ),
    "ferrum_pressure_fn": (
        "void",
        "ferrum_device",
        "ferrum_pressure_level",
        "void *",
    ),
    "ferrum_reclaim_fn": (
        "uint64_t",
        "ferrum_device",
        "uint64_t",
        "void *",
    ),
    "ferrum_model_reclaim_fn": (
        "uint64_t",
        "ferrum_elastic_pool",
        "char *",
        "uint64_t",
        "void *",
    ),
    "ferrum_monitor_fn": (
        "void",
        "ferrum_monitor",
        "ferrum_device_level *",
        "size_t",
        "void *",
    ),
    "ferrum_placement_fn": (
        "ferrum_status",
        "ferrum_placement_request *",
        "ferrum_placement_option *",
        "size_t",
        "int64_t *",
        "void *",
    ),
    "ferrum_enqueue_fn": (
        "ferrum_status",
        "ferrum_host_fn",
        "void *",
        "void *",
    ),
    "ferrum_weights_progress_fn": (
        "int32_t",
        "ferrum_weights_progress *",
        "void *",
    ),
    "ferrum_weights_read_at_fn": (
        "ferrum_status",
        "uint64_t",
        "uint64_t",
        "void *",
        "uint64_t",
    ),
    "ferrum_weights_describe_fn": (
        "ferrum_status",
        "uint64_t",
        "char *",
        "uint64_t",
    ),
    "ferrum_weights_recognises_fn": (
        "int32_t",
        "void *",
        "size_t",
        "uint64_t",
        "void *",
    ),
    "ferrum_weights_decode_fn": (
        "ferrum_status",
        "ferrum_weights_file *",
        "void *",
    ),
    "ferrum_release_fn": (
        "void",
        "void *",
    ),
    "ferrum_compute_plan_fn": (
        "ferrum_status",
        "ferrum_compute_call *",
        "ferrum_compute_plan *",
        "void *",
    ),
    "ferrum_compute_run_fn": (
        "ferrum_status",
        "ferrum_compute_call *",
        "void *",
    ),
    "ferrum_compute_synchronize_fn": (
        "ferrum_status",
        "ferrum_device",
        "void *",
    ),
    "ferrum_layer_infer_fn": (
        "ferrum_status",
        "ferrum_compute_call *",
        "ferrum_tensor_desc *",
        "void *",
    ),
    "ferrum_layer_list_fn": (
        "ferrum_status",
        "uint64_t",
        "char *",
        "uint64_t",
    ),
    "ferrum_layer_parameters_fn": (
        "ferrum_status",
        "ferrum_compute_call *",
        "ferrum_layer_list_fn",
        "uint64_t",
        "void *",
    ),
    "ferrum_layer_initialize_fn": (
        "ferrum_status",
        "ferrum_compute_call *",
        "char *",
        "void *",
    ),
    "ferrum_build_progress_fn": (
        "int32_t",
        "ferrum_build_progress *",
        "void *",
    ),
    "ferrum_pass_replace_fn": (
        "ferrum_status",
        "uint64_t",
        "char *",
        "uint64_t",
    ),
    "ferrum_pass_warn_fn": (
        "ferrum_status",
        "uint64_t",
        "char *",
    ),
    "ferrum_pass_is_applicable_fn": (
        "ferrum_status",
        "ferrum_pass_call *",
        "uint32_t *",
        "void *",
    ),
    "ferrum_pass_apply_fn": (
        "ferrum_status",
        "ferrum_pass_call *",
        "void *",
    ),
    "ferrum_optimized_fn": (
        "void",
        "char *",
        "uint64_t",
        "void *",
    ),
}

# Result and parameters of each function.
PROTOTYPES = {
    "ferrum_abi_version": ("uint32_t",),
    "ferrum_version_string": ("char *",),
    "ferrum_status_name": (
        "char *",
        "ferrum_status",
    ),
    "ferrum_status_text": (
        "char *",
        "ferrum_status",
    ),
    "ferrum_init": (
        "ferrum_status",
        "ferrum_config *",
    ),
    "ferrum_shutdown": (
        "ferrum_status",
        "uint32_t",
    ),
    "ferrum_last_error": (
        "ferrum_status",
        "ferrum_error_info *",
    ),
    "ferrum_log_set_callback": (
        "ferrum_status",
        "ferrum_log_level",
        "ferrum_log_fn",
        "void *",
    ),
    "ferrum_call_site_set_callback": (
        "ferrum_status",
        "ferrum_call_site_fn",
        "void *",
    ),
    "ferrum_backends_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_backends_refresh": ("ferrum_status",),
    "ferrum_backends_summary": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_backend_name": (
        "char *",
        "ferrum_backend",
    ),
    "ferrum_backend_display_name": (
        "char *",
        "ferrum_backend",
    ),
    "ferrum_backend_best": (
        "ferrum_status",
        "ferrum_backend *",
    ),
    "ferrum_backend_select": (
        "ferrum_status",
        "ferrum_backend",
        "uint64_t",
        "ferrum_backend_choice *",
    ),
    "ferrum_backend_open": (
        "ferrum_status",
        "ferrum_backend",
        "uint64_t",
        "ferrum_device *",
        "ferrum_backend_choice *",
    ),
    "ferrum_device_can_fit": (
        "ferrum_status",
        "char *",
        "uint64_t",
        "uint32_t *",
    ),
    "ferrum_host_get_info": (
        "ferrum_status",
        "ferrum_host_info *",
    ),
    "ferrum_device_open": (
        "ferrum_status",
        "char *",
        "ferrum_device *",
    ),
    "ferrum_device_close": (
        "ferrum_status",
        "ferrum_device",
        "uint32_t",
    ),
    "ferrum_device_get_info": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_device_info *",
    ),
    "ferrum_device_synchronize": (
        "ferrum_status",
        "ferrum_device",
        "uint64_t",
    ),
    "ferrum_device_set_limit": (
        "ferrum_status",
        "ferrum_device",
        "uint64_t",
    ),
    "ferrum_device_measure_bandwidth": (
        "ferrum_status",
        "ferrum_device",
        "double *",
    ),
    "ferrum_device_get_memory_info": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_memory_info *",
    ),
    "ferrum_device_get_recent_memory_info": (
        "ferrum_status",
        "ferrum_device",
        "uint64_t",
        "ferrum_memory_info *",
    ),
    "ferrum_device_get_statistics": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_statistics *",
    ),
    "ferrum_snapshot_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_leak_report_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_stream_create": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_stream *",
    ),
    "ferrum_stream_destroy": (
        "ferrum_status",
        "ferrum_stream",
        "uint32_t",
    ),
    "ferrum_stream_default": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_stream *",
    ),
    "ferrum_stream_synchronize": (
        "ferrum_status",
        "ferrum_stream",
        "uint64_t",
    ),
    "ferrum_stream_is_ready": (
        "ferrum_status",
        "ferrum_stream",
        "uint32_t *",
    ),
    "ferrum_stream_host_function": (
        "ferrum_status",
        "ferrum_stream",
        "ferrum_host_fn",
        "void *",
    ),
    "ferrum_stream_copy_batch": (
        "ferrum_status",
        "ferrum_stream",
        "ferrum_address_copy *",
        "uint64_t",
    ),
    "ferrum_event_record": (
        "ferrum_status",
        "ferrum_stream",
        "ferrum_event *",
    ),
    "ferrum_event_destroy": (
        "ferrum_status",
        "ferrum_event",
    ),
    "ferrum_event_is_ready": (
        "ferrum_status",
        "ferrum_event",
        "uint32_t *",
    ),
    "ferrum_event_synchronize": (
        "ferrum_status",
        "ferrum_event",
        "uint64_t",
    ),
    "ferrum_event_elapsed": (
        "ferrum_status",
        "ferrum_event",
        "ferrum_event",
        "int64_t *",
    ),
    "ferrum_stream_wait_event": (
        "ferrum_status",
        "ferrum_stream",
        "ferrum_event",
    ),
    "ferrum_pool_create": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_pool_config *",
        "ferrum_pool *",
    ),
    "ferrum_pool_destroy": (
        "ferrum_status",
        "ferrum_pool",
        "uint32_t",
    ),
    "ferrum_pool_alloc": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
        "ferrum_stream",
        "ferrum_address *",
    ),
    "ferrum_pool_alloc_with": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_pool_request *",
        "ferrum_address *",
    ),
    "ferrum_pool_alloc_batch": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
        "uint64_t",
        "ferrum_stream",
        "ferrum_address *",
    ),
    "ferrum_pool_get_tag": (
        "ferrum_status",
        "ferrum_pool",
        "char *",
        "uint32_t *",
    ),
    "ferrum_pool_free": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_address",
        "ferrum_stream",
    ),
    "ferrum_pool_free_sized": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_address",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_pool_free_batch": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_address *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_pool_record_stream": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_address",
        "ferrum_stream",
    ),
    "ferrum_pool_record_stream_batch": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_address *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_pool_usable_size": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_address",
        "uint64_t *",
    ),
    "ferrum_pool_capture_begin": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_stream",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_pool_capture_end": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
    ),
    "ferrum_pool_capture_release": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_pool_capture_get_info": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
        "ferrum_graph_info *",
    ),
    "ferrum_pool_reset": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_stream",
    ),
    "ferrum_pool_check": (
        "ferrum_status",
        "ferrum_pool",
    ),
    "ferrum_pool_trim": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_pool_set_limit": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
    ),
    "ferrum_pool_set_min_held": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
    ),
    "ferrum_pool_set_release_threshold": (
        "ferrum_status",
        "ferrum_pool",
        "uint64_t",
    ),
    "ferrum_pool_get_info": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_pool_info *",
    ),
    "ferrum_pool_get_statistics": (
        "ferrum_status",
        "ferrum_pool",
        "ferrum_statistics *",
    ),
    "ferrum_device_get_owner": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_address",
        "ferrum_block_info *",
    ),
    "ferrum_device_get_call_site_json": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_address",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_manager_create": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_manager_config *",
        "ferrum_manager *",
    ),
    "ferrum_manager_destroy": (
        "ferrum_status",
        "ferrum_manager",
        "uint32_t",
    ),
    "ferrum_manager_configure_pool": (
        "ferrum_status",
        "ferrum_manager",
        "ferrum_memory_type",
        "ferrum_pool_config *",
    ),
    "ferrum_manager_get_statistics": (
        "ferrum_status",
        "ferrum_manager",
        "ferrum_statistics *",
    ),
    "ferrum_manager_alloc": (
        "ferrum_status",
        "ferrum_manager",
        "uint64_t",
        "ferrum_memory *",
    ),
    "ferrum_manager_alloc_with": (
        "ferrum_status",
        "ferrum_manager",
        "ferrum_allocation_request *",
        "ferrum_memory *",
    ),
    "ferrum_memory_free": (
        "ferrum_status",
        "ferrum_memory",
    ),
    "ferrum_memory_get_handle_info": (
        "ferrum_status",
        "ferrum_memory",
        "ferrum_handle_info *",
    ),
    "ferrum_memory_pin": (
        "ferrum_status",
        "ferrum_memory",
        "ferrum_address *",
    ),
    "ferrum_memory_unpin": (
        "ferrum_status",
        "ferrum_memory",
    ),
    "ferrum_memory_copy": (
        "ferrum_status",
        "ferrum_transfer *",
    ),
    "ferrum_memory_copy_async": (
        "ferrum_status",
        "ferrum_transfer *",
        "ferrum_stream",
    ),
    "ferrum_memory_write": (
        "ferrum_status",
        "ferrum_memory",
        "uint64_t",
        "void *",
        "uint64_t",
    ),
    "ferrum_memory_read": (
        "ferrum_status",
        "ferrum_memory",
        "uint64_t",
        "void *",
        "uint64_t",
    ),
    "ferrum_memory_fill_async": (
        "ferrum_status",
        "ferrum_fill *",
        "ferrum_stream",
    ),
    "ferrum_manager_defragment": (
        "ferrum_status",
        "ferrum_manager",
        "ferrum_defragmentation_stats *",
    ),
    "ferrum_manager_defragment_within": (
        "ferrum_status",
        "ferrum_manager",
        "uint64_t",
        "ferrum_defragmentation_stats *",
    ),
    "ferrum_device_pressure_callback_add": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_pressure_fn",
        "void *",
        "ferrum_registration *",
    ),
    "ferrum_device_reclaim_callback_add": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_reclaim_config *",
        "ferrum_reclaim_fn",
        "void *",
        "ferrum_registration *",
    ),
    "ferrum_registration_remove": (
        "ferrum_status",
        "ferrum_registration",
    ),
    "ferrum_device_get_page_sizes": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_page_sizes *",
    ),
    "ferrum_vpool_create": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_vpool_config *",
        "ferrum_vpool *",
    ),
    "ferrum_vpool_destroy": (
        "ferrum_status",
        "ferrum_vpool",
        "uint32_t",
    ),
    "ferrum_vpool_alloc": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
        "uint64_t",
        "ferrum_address *",
    ),
    "ferrum_vpool_alloc_with": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_vpool_request *",
        "ferrum_address *",
    ),
    "ferrum_vpool_alloc_batch": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_byte_range *",
        "uint64_t",
        "ferrum_batch_options *",
    ),
    "ferrum_vpool_free": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_vpool_free_batch": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_byte_range *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_vpool_record_stream": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_vpool_record_stream_batch": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_byte_range *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_vpool_is_mapped": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
        "uint64_t",
        "uint32_t *",
    ),
    "ferrum_vpool_get_info": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_vpool_info *",
    ),
    "ferrum_vpool_get_statistics": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_statistics *",
    ),
    "ferrum_vpool_compact": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_compact_report *",
    ),
    "ferrum_vpool_trim": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_vpool_set_limit": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
    ),
    "ferrum_vpool_synchronize": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
    ),
    "ferrum_vpool_pause": (
        "ferrum_status",
        "ferrum_vpool",
    ),
    "ferrum_vpool_resume": (
        "ferrum_status",
        "ferrum_vpool",
    ),
    "ferrum_elastic_pool_create": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_elastic_pool_config *",
        "ferrum_elastic_pool *",
    ),
    "ferrum_elastic_pool_destroy": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "uint32_t",
    ),
    "ferrum_elastic_pool_register_model": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_model_config *",
    ),
    "ferrum_elastic_pool_unregister_model": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "uint32_t",
    ),
    "ferrum_elastic_pool_alloc": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "uint64_t",
        "ferrum_address *",
        "uint64_t *",
    ),
    "ferrum_elastic_pool_alloc_with": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_model_request *",
        "ferrum_address *",
        "uint64_t *",
    ),
    "ferrum_elastic_pool_alloc_batch": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_byte_range *",
        "uint64_t",
        "ferrum_batch_options *",
    ),
    "ferrum_elastic_pool_alloc_batch_anywhere": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "uint64_t *",
        "uint64_t",
        "ferrum_batch_options *",
        "uint64_t *",
    ),
    "ferrum_elastic_pool_free": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "uint64_t",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_elastic_pool_free_batch": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_byte_range *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_elastic_pool_record_stream": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "uint64_t",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_elastic_pool_record_stream_batch": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_byte_range *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_elastic_pool_is_mapped": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "uint64_t",
        "uint64_t",
        "uint32_t *",
    ),
    "ferrum_elastic_pool_get_model_info": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_model_info *",
    ),
    "ferrum_elastic_pool_set_model_limits": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_model_limits *",
    ),
    "ferrum_elastic_pool_get_info": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "ferrum_elastic_pool_info *",
    ),
    "ferrum_elastic_pool_get_statistics": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "ferrum_statistics *",
    ),
    "ferrum_elastic_pool_models_json": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_elastic_pool_set_limit": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "uint64_t",
    ),
    "ferrum_elastic_pool_compact": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "ferrum_compact_report *",
    ),
    "ferrum_elastic_pool_trim": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_elastic_pool_synchronize": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "uint64_t",
    ),
    "ferrum_elastic_pool_pause": (
        "ferrum_status",
        "ferrum_elastic_pool",
    ),
    "ferrum_elastic_pool_resume": (
        "ferrum_status",
        "ferrum_elastic_pool",
    ),
    "ferrum_elastic_pool_reclaim_callback_add": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_reclaim_config *",
        "ferrum_model_reclaim_fn",
        "void *",
        "ferrum_registration *",
    ),
    "ferrum_vpool_sleep": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_sleep_config *",
        "ferrum_sleep_report *",
    ),
    "ferrum_vpool_wake": (
        "ferrum_status",
        "ferrum_vpool",
        "ferrum_wake_config *",
        "ferrum_wake_report *",
    ),
    "ferrum_vpool_is_asleep": (
        "ferrum_status",
        "ferrum_vpool",
        "char *",
        "uint32_t *",
    ),
    "ferrum_elastic_pool_sleep_model": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_sleep_config *",
        "ferrum_sleep_report *",
    ),
    "ferrum_elastic_pool_wake_model": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "ferrum_wake_config *",
        "ferrum_wake_report *",
    ),
    "ferrum_elastic_pool_is_model_asleep": (
        "ferrum_status",
        "ferrum_elastic_pool",
        "char *",
        "char *",
        "uint32_t *",
    ),
    "ferrum_pressure_level_of": (
        "ferrum_status",
        "ferrum_pressure_profile",
        "uint64_t",
        "uint64_t",
        "ferrum_pressure_level *",
    ),
    "ferrum_pressure_from_utilization": (
        "ferrum_status",
        "ferrum_pressure_profile",
        "double",
        "ferrum_pressure_level *",
    ),
    "ferrum_monitor_create": (
        "ferrum_status",
        "ferrum_monitor_config *",
        "ferrum_monitor *",
    ),
    "ferrum_monitor_destroy": (
        "ferrum_status",
        "ferrum_monitor",
    ),
    "ferrum_monitor_register": (
        "ferrum_status",
        "ferrum_monitor",
        "ferrum_manager",
    ),
    "ferrum_monitor_unregister": (
        "ferrum_status",
        "ferrum_monitor",
        "ferrum_manager",
    ),
    "ferrum_monitor_unregister_device": (
        "ferrum_status",
        "ferrum_monitor",
        "ferrum_device",
    ),
    "ferrum_monitor_set_callback": (
        "ferrum_status",
        "ferrum_monitor",
        "ferrum_monitor_fn",
        "void *",
    ),
    "ferrum_monitor_get_pressure": (
        "ferrum_status",
        "ferrum_monitor",
        "uint64_t",
        "ferrum_monitor_pressure *",
    ),
    "ferrum_monitor_get_levels": (
        "ferrum_status",
        "ferrum_monitor",
        "uint64_t",
        "ferrum_device_level *",
        "size_t",
        "size_t *",
    ),
    "ferrum_monitor_info_json": (
        "ferrum_status",
        "ferrum_monitor",
        "uint64_t",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_monitor_collect": (
        "ferrum_status",
        "ferrum_monitor",
        "ferrum_collected *",
        "size_t",
        "size_t *",
    ),
    "ferrum_placement_create": (
        "ferrum_status",
        "char *",
        "ferrum_placement *",
    ),
    "ferrum_placement_create_own": (
        "ferrum_status",
        "char *",
        "ferrum_placement_fn",
        "void *",
        "ferrum_placement *",
    ),
    "ferrum_placement_destroy": (
        "ferrum_status",
        "ferrum_placement",
    ),
    "ferrum_placement_get_name": (
        "ferrum_status",
        "ferrum_placement",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_placement_select": (
        "ferrum_status",
        "ferrum_placement",
        "ferrum_placement_request *",
        "ferrum_device *",
    ),
    "ferrum_placement_explain_json": (
        "ferrum_status",
        "ferrum_placement",
        "ferrum_placement_request *",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_estimate_model_memory": (
        "ferrum_status",
        "ferrum_model_shape *",
        "uint64_t *",
    ),
    "ferrum_estimate_kv_cache_memory": (
        "ferrum_status",
        "ferrum_kv_cache_shape *",
        "uint64_t *",
    ),
    "ferrum_estimate_inference_memory": (
        "ferrum_status",
        "ferrum_model_shape *",
        "ferrum_inference_estimate *",
    ),
    "ferrum_estimate_file_json": (
        "ferrum_status",
        "char *",
        "ferrum_estimate_request *",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_estimate_config_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "ferrum_estimate_request *",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_memory_config_preset": (
        "ferrum_status",
        "ferrum_memory_preset",
        "ferrum_memory_config *",
    ),
    "ferrum_memory_config_check": (
        "ferrum_status",
        "ferrum_memory_config *",
    ),
    "ferrum_memory_stats_ratios": (
        "ferrum_status",
        "ferrum_memory_stats *",
        "ferrum_memory_ratios *",
    ),
    "ferrum_memory_stats_merge": (
        "ferrum_status",
        "ferrum_memory_stats *",
        "ferrum_memory_stats *",
        "ferrum_memory_stats *",
    ),
    "ferrum_memory_stats_text": (
        "ferrum_status",
        "ferrum_memory_stats *",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_buffer_id_new": (
        "ferrum_status",
        "uint64_t *",
    ),
    "ferrum_buffer_id_text": (
        "ferrum_status",
        "uint64_t",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_tracker_create": (
        "ferrum_status",
        "ferrum_tracker *",
    ),
    "ferrum_tracker_destroy": (
        "ferrum_status",
        "ferrum_tracker",
    ),
    "ferrum_tracker_track": (
        "ferrum_status",
        "ferrum_tracker",
        "ferrum_buffer_metadata *",
    ),
    "ferrum_tracker_untrack": (
        "ferrum_status",
        "ferrum_tracker",
        "uint64_t",
        "ferrum_buffer_metadata *",
    ),
    "ferrum_tracker_get": (
        "ferrum_status",
        "ferrum_tracker",
        "uint64_t",
        "ferrum_buffer_metadata *",
    ),
    "ferrum_tracker_get_all": (
        "ferrum_status",
        "ferrum_tracker",
        "ferrum_buffer_metadata *",
        "size_t",
        "size_t *",
    ),
    "ferrum_tracker_find_old": (
        "ferrum_status",
        "ferrum_tracker",
        "uint64_t",
        "ferrum_buffer_metadata *",
        "size_t",
        "size_t *",
    ),
    "ferrum_tracker_get_totals": (
        "ferrum_status",
        "ferrum_tracker",
        "ferrum_tracker_totals *",
    ),
    "ferrum_tracker_clear": (
        "ferrum_status",
        "ferrum_tracker",
    ),
    "ferrum_generic_pool_create": (
        "ferrum_status",
        "ferrum_memory_config *",
        "ferrum_generic_pool *",
    ),
    "ferrum_generic_pool_destroy": (
        "ferrum_status",
        "ferrum_generic_pool",
        "uint32_t",
    ),
    "ferrum_generic_pool_record_allocation": (
        "ferrum_status",
        "ferrum_generic_pool",
        "uint64_t",
        "ferrum_buffer_use *",
        "uint64_t *",
    ),
    "ferrum_generic_pool_try_get": (
        "ferrum_status",
        "ferrum_generic_pool",
        "uint64_t",
        "ferrum_buffer_use *",
        "ferrum_buffer_lease *",
        "uint32_t *",
    ),
    "ferrum_generic_pool_return": (
        "ferrum_status",
        "ferrum_generic_pool",
        "ferrum_buffer_lease *",
        "uint32_t *",
    ),
    "ferrum_generic_pool_add_free": (
        "ferrum_status",
        "ferrum_generic_pool",
        "uint64_t",
        "uint64_t",
    ),
    "ferrum_generic_pool_drain": (
        "ferrum_status",
        "ferrum_generic_pool",
        "ferrum_buffer_lease *",
        "size_t",
        "size_t *",
    ),
    "ferrum_generic_pool_get_pooled_count": (
        "ferrum_status",
        "ferrum_generic_pool",
        "uint64_t *",
    ),
    "ferrum_generic_pool_get_stats": (
        "ferrum_status",
        "ferrum_generic_pool",
        "ferrum_memory_stats *",
    ),
    "ferrum_generic_pool_record_cpu_fallback": (
        "ferrum_status",
        "ferrum_generic_pool",
    ),
    "ferrum_generic_pool_get_tracker": (
        "ferrum_status",
        "ferrum_generic_pool",
        "ferrum_tracker *",
    ),
    "ferrum_fallback_manager_create": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_device",
        "ferrum_memory_config *",
        "ferrum_fallback_manager *",
    ),
    "ferrum_fallback_manager_destroy": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "uint32_t",
    ),
    "ferrum_fallback_manager_get_backend_name": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_fallback_manager_get_stats": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "ferrum_memory_stats *",
    ),
    "ferrum_fallback_manager_get_fallback_stats": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "ferrum_fallback_stats *",
    ),
    "ferrum_fallback_manager_get_memory": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "uint64_t *",
        "uint64_t *",
    ),
    "ferrum_fallback_manager_get_pressure": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "ferrum_pressure_level *",
    ),
    "ferrum_fallback_manager_pressure_callback_add": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "ferrum_pressure_fn",
        "void *",
        "ferrum_registration *",
    ),
    "ferrum_fallback_manager_clear_pool": (
        "ferrum_status",
        "ferrum_fallback_manager",
    ),
    "ferrum_fallback_manager_shrink": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "uint64_t *",
    ),
    "ferrum_fallback_manager_get_tracker": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "ferrum_tracker *",
    ),
    "ferrum_fallback_manager_alloc": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "ferrum_buffer_request *",
        "ferrum_fallback_buffer *",
    ),
    "ferrum_fallback_manager_return_buffers": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "uint64_t *",
    ),
    "ferrum_fallback_buffer_free": (
        "ferrum_status",
        "ferrum_fallback_buffer",
        "ferrum_stream",
    ),
    "ferrum_fallback_buffer_get_info": (
        "ferrum_status",
        "ferrum_fallback_buffer",
        "ferrum_fallback_buffer_info *",
    ),
    "ferrum_fallback_buffer_get_address": (
        "ferrum_status",
        "ferrum_fallback_buffer",
        "ferrum_buffer_location",
        "ferrum_address *",
    ),
    "ferrum_fallback_buffer_move": (
        "ferrum_status",
        "ferrum_fallback_buffer",
        "ferrum_buffer_location",
    ),
    "ferrum_fallback_buffer_pin": (
        "ferrum_status",
        "ferrum_fallback_buffer",
        "ferrum_address *",
        "ferrum_buffer_location *",
    ),
    "ferrum_fallback_buffer_unpin": (
        "ferrum_status",
        "ferrum_fallback_buffer",
    ),
    "ferrum_fallback_buffer_write": (
        "ferrum_status",
        "ferrum_fallback_buffer",
        "uint64_t",
        "void *",
        "uint64_t",
    ),
    "ferrum_fallback_buffer_read": (
        "ferrum_status",
        "ferrum_fallback_buffer",
        "uint64_t",
        "void *",
        "uint64_t",
    ),
    "ferrum_fallback_buffer_take": (
        "ferrum_status",
        "ferrum_fallback_buffer",
        "ferrum_buffer_location",
        "ferrum_address *",
    ),
    "ferrum_fallback_manager_adopt": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "ferrum_buffer_location",
        "ferrum_address",
        "ferrum_buffer_request *",
        "ferrum_fallback_buffer *",
    ),
    "ferrum_fallback_manager_release": (
        "ferrum_status",
        "ferrum_fallback_manager",
        "ferrum_buffer_location",
        "ferrum_address",
        "ferrum_stream",
    ),
    "ferrum_round_up_power_of_2": (
        "ferrum_status",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_size_class": (
        "ferrum_status",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_f32_bytes": (
        "ferrum_status",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_f16_bytes": (
        "ferrum_status",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_memory_map": (
        "ferrum_status",
        "ferrum_map_request *",
        "ferrum_mapping *",
    ),
    "ferrum_memory_unmap": (
        "ferrum_status",
        "ferrum_memory",
        "uint64_t",
    ),
    "ferrum_manager_create_mapping": (
        "ferrum_status",
        "ferrum_manager",
        "ferrum_manager",
        "ferrum_link_request *",
        "ferrum_memory *",
        "ferrum_memory *",
    ),
    "ferrum_memory_prefetch": (
        "ferrum_status",
        "ferrum_memory",
        "ferrum_device",
        "ferrum_stream",
    ),
    "ferrum_memory_set_usage_hint": (
        "ferrum_status",
        "ferrum_memory",
        "ferrum_usage_hint",
    ),
    "ferrum_memory_get_usage_hints": (
        "ferrum_status",
        "ferrum_memory",
        "ferrum_usage_hints *",
    ),
    "ferrum_memory_get_access_stats": (
        "ferrum_status",
        "ferrum_memory",
        "ferrum_access_stats *",
    ),
    "ferrum_manager_adopt": (
        "ferrum_status",
        "ferrum_manager",
        "ferrum_adoption *",
        "ferrum_memory *",
    ),
    "ferrum_stream_adopt": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_foreign_stream *",
        "ferrum_stream *",
    ),
    "ferrum_event_adopt": (
        "ferrum_status",
        "ferrum_device",
        "uint64_t",
        "ferrum_event *",
    ),
    "ferrum_device_open_native": (
        "ferrum_status",
        "char *",
        "uint64_t",
        "ferrum_device *",
    ),
    "ferrum_device_get_native": (
        "ferrum_status",
        "ferrum_device",
        "uint64_t *",
    ),
    "ferrum_stream_get_native": (
        "ferrum_status",
        "ferrum_stream",
        "uint64_t *",
    ),
    "ferrum_event_get_native": (
        "ferrum_status",
        "ferrum_event",
        "uint64_t *",
    ),
    "ferrum_device_grant_peer": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_device",
    ),
    "ferrum_vpool_export": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
        "uint64_t",
        "int32_t *",
        "size_t",
        "size_t *",
    ),
    "ferrum_vpool_export_fabric": (
        "ferrum_status",
        "ferrum_vpool",
        "uint64_t",
        "uint64_t",
        "uint8_t *",
        "size_t",
        "size_t *",
    ),
    "ferrum_manager_import_pages": (
        "ferrum_status",
        "ferrum_manager",
        "ferrum_page_import *",
        "ferrum_memory *",
    ),
    "ferrum_device_share_memory": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_address",
        "uint64_t",
        "ferrum_shared_memory *",
    ),
    "ferrum_manager_import_memory": (
        "ferrum_status",
        "ferrum_manager",
        "ferrum_shared_memory *",
        "char *",
        "ferrum_memory *",
    ),
    "ferrum_event_share": (
        "ferrum_status",
        "ferrum_stream",
        "ferrum_shared_event *",
        "ferrum_event *",
    ),
    "ferrum_event_open": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_shared_event *",
        "ferrum_event *",
    ),
    "ferrum_weights_open": (
        "ferrum_status",
        "ferrum_weights_source *",
        "ferrum_weights *",
    ),
    "ferrum_weights_check": (
        "ferrum_status",
        "ferrum_weights_source *",
    ),
    "ferrum_weights_close": (
        "ferrum_status",
        "ferrum_weights",
        "uint32_t",
    ),
    "ferrum_weights_metadata_json": (
        "ferrum_status",
        "ferrum_weights",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_weights_capabilities_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_weights_find": (
        "ferrum_status",
        "ferrum_weights",
        "char *",
        "ferrum_tensor_info *",
    ),
    "ferrum_weights_load": (
        "ferrum_status",
        "ferrum_weights",
        "ferrum_weights_load_request *",
        "ferrum_tensor_set *",
    ),
    "ferrum_tensor_set_wait": (
        "ferrum_status",
        "ferrum_tensor_set",
        "uint64_t",
    ),
    "ferrum_tensor_set_cancel": (
        "ferrum_status",
        "ferrum_tensor_set",
    ),
    "ferrum_tensor_set_get_progress": (
        "ferrum_status",
        "ferrum_tensor_set",
        "ferrum_weights_progress *",
    ),
    "ferrum_tensor_set_get_count": (
        "ferrum_status",
        "ferrum_tensor_set",
        "uint64_t *",
    ),
    "ferrum_tensor_set_get_tensor": (
        "ferrum_status",
        "ferrum_tensor_set",
        "uint64_t",
        "ferrum_tensor_info *",
    ),
    "ferrum_tensor_set_get_tensor_name": (
        "ferrum_status",
        "ferrum_tensor_set",
        "uint64_t",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_tensor_set_find": (
        "ferrum_status",
        "ferrum_tensor_set",
        "char *",
        "ferrum_tensor_info *",
    ),
    "ferrum_tensor_set_tensors_json": (
        "ferrum_status",
        "ferrum_tensor_set",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_tensor_set_check": (
        "ferrum_status",
        "ferrum_tensor_set",
    ),
    "ferrum_tensor_set_free": (
        "ferrum_status",
        "ferrum_tensor_set",
        "uint32_t",
    ),
    "ferrum_weights_verify": (
        "ferrum_status",
        "ferrum_weights",
        "char *",
        "size_t",
        "ferrum_weights_progress_fn",
        "void *",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_weights_convert": (
        "ferrum_status",
        "ferrum_weights",
        "char *",
        "ferrum_weights_convert_request *",
    ),
    "ferrum_weights_decoder_add": (
        "ferrum_status",
        "ferrum_weights_decoder *",
        "uint32_t *",
        "ferrum_registration *",
    ),
    "ferrum_tensor_create": (
        "ferrum_status",
        "ferrum_weights_memory *",
        "ferrum_dtype",
        "int64_t *",
        "uint64_t",
        "ferrum_stream",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_from_memory": (
        "ferrum_status",
        "ferrum_memory",
        "uint64_t",
        "ferrum_tensor_desc *",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_wrap": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_address",
        "uint64_t",
        "ferrum_tensor_desc *",
        "ferrum_release_fn",
        "void *",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_from_set": (
        "ferrum_status",
        "ferrum_tensor_set",
        "uint64_t",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_narrow": (
        "ferrum_status",
        "ferrum_tensor",
        "int32_t",
        "int64_t",
        "int64_t",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_slice": (
        "ferrum_status",
        "ferrum_tensor",
        "int32_t",
        "int64_t",
        "int64_t",
        "int64_t",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_permute": (
        "ferrum_status",
        "ferrum_tensor",
        "int32_t *",
        "uint64_t",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_reshape": (
        "ferrum_status",
        "ferrum_tensor",
        "int64_t *",
        "uint64_t",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_expand": (
        "ferrum_status",
        "ferrum_tensor",
        "int64_t *",
        "uint64_t",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_copy": (
        "ferrum_status",
        "ferrum_tensor",
        "ferrum_tensor",
        "ferrum_stream",
    ),
    "ferrum_tensor_to": (
        "ferrum_status",
        "ferrum_tensor",
        "ferrum_weights_memory *",
        "ferrum_dtype",
        "ferrum_stream",
        "ferrum_tensor *",
    ),
    "ferrum_tensor_read": (
        "ferrum_status",
        "ferrum_tensor",
        "void *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_tensor_write": (
        "ferrum_status",
        "ferrum_tensor",
        "void *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_tensor_fill": (
        "ferrum_status",
        "ferrum_tensor",
        "double",
        "ferrum_stream",
    ),
    "ferrum_tensor_describe": (
        "ferrum_status",
        "ferrum_tensor",
        "ferrum_tensor_desc *",
    ),
    "ferrum_tensor_destroy": (
        "ferrum_status",
        "ferrum_tensor",
    ),
    "ferrum_tensor_to_dlpack": (
        "ferrum_status",
        "ferrum_tensor",
        "uint32_t",
        "ferrum_dlpack *",
    ),
    "ferrum_tensor_from_dlpack": (
        "ferrum_status",
        "ferrum_device",
        "ferrum_dlpack *",
        "ferrum_tensor *",
    ),
    "ferrum_kv_cache_create": (
        "ferrum_status",
        "ferrum_kv_cache_config *",
        "ferrum_weights_memory *",
        "ferrum_pool",
        "ferrum_stream",
        "ferrum_kv_cache *",
    ),
    "ferrum_kv_cache_destroy": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint32_t",
    ),
    "ferrum_kv_cache_hash_tokens": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t",
        "int32_t *",
        "uint64_t",
        "uint64_t *",
        "size_t",
        "size_t *",
    ),
    "ferrum_kv_cache_find": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_kv_cache_allocate": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint32_t *",
        "uint64_t",
        "uint32_t *",
        "uint64_t",
        "uint64_t *",
        "uint64_t",
        "ferrum_kv_sequence *",
        "size_t",
        "size_t *",
    ),
    "ferrum_kv_cache_append": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "uint32_t *",
        "uint64_t",
        "ferrum_kv_copy *",
        "size_t",
        "size_t *",
    ),
    "ferrum_kv_cache_publish": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "uint32_t *",
        "uint64_t",
        "uint64_t *",
        "uint64_t",
    ),
    "ferrum_kv_cache_fork": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "uint64_t *",
        "size_t",
        "size_t *",
    ),
    "ferrum_kv_cache_truncate": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "uint32_t *",
        "uint64_t",
    ),
    "ferrum_kv_cache_free": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
    ),
    "ferrum_kv_cache_swap_out": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "ferrum_kv_copy *",
        "size_t",
        "size_t *",
    ),
    "ferrum_kv_cache_swap_in": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "ferrum_kv_copy *",
        "size_t",
        "size_t *",
    ),
    "ferrum_kv_cache_block_tables": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "uint64_t",
        "int32_t *",
        "size_t",
        "size_t *",
    ),
    "ferrum_kv_cache_lengths": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t *",
        "uint64_t",
        "uint32_t *",
        "size_t",
        "size_t *",
    ),
    "ferrum_kv_cache_plane": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint32_t",
        "uint32_t",
        "ferrum_address *",
        "uint64_t *",
    ),
    "ferrum_kv_cache_plane_tensor": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint32_t",
        "uint32_t",
        "ferrum_tensor *",
    ),
    "ferrum_kv_cache_trim": (
        "ferrum_status",
        "ferrum_kv_cache",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_kv_cache_get_stats": (
        "ferrum_status",
        "ferrum_kv_cache",
        "ferrum_kv_cache_stats *",
    ),
    "ferrum_kv_cache_pressure_callback_add": (
        "ferrum_status",
        "ferrum_kv_cache",
        "ferrum_pressure_fn",
        "void *",
        "ferrum_registration *",
    ),
    "ferrum_compute_validate": (
        "ferrum_status",
        "ferrum_compute_config *",
    ),
    "ferrum_compute_open": (
        "ferrum_status",
        "ferrum_compute_config *",
        "ferrum_compute *",
    ),
    "ferrum_compute_close": (
        "ferrum_status",
        "ferrum_compute",
        "uint32_t",
    ),
    "ferrum_compute_get_manager": (
        "ferrum_status",
        "ferrum_compute",
        "ferrum_manager *",
    ),
    "ferrum_compute_capabilities_json": (
        "ferrum_status",
        "ferrum_compute",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_compute_status_json": (
        "ferrum_status",
        "ferrum_compute",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_compute_synchronize": (
        "ferrum_status",
        "ferrum_compute",
        "uint64_t",
    ),
    "ferrum_compute_backends_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_compute_find_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_op_prepare": (
        "ferrum_status",
        "ferrum_compute",
        "char *",
        "char *",
        "size_t",
        "uint32_t",
        "ferrum_op *",
    ),
    "ferrum_op_destroy": (
        "ferrum_status",
        "ferrum_op",
    ),
    "ferrum_op_infer": (
        "ferrum_status",
        "ferrum_op",
        "ferrum_tensor_desc *",
        "uint64_t",
        "ferrum_tensor_desc *",
        "uint64_t",
        "uint64_t *",
    ),
    "ferrum_op_run": (
        "ferrum_status",
        "ferrum_op",
        "ferrum_tensor *",
        "uint64_t",
        "ferrum_tensor *",
        "uint64_t",
        "ferrum_stream",
    ),
    "ferrum_op_pack": (
        "ferrum_status",
        "ferrum_op",
        "uint32_t",
        "ferrum_tensor",
        "ferrum_weights_memory *",
        "ferrum_stream",
        "ferrum_tensor *",
    ),
    "ferrum_sequence_create": (
        "ferrum_status",
        "ferrum_compute",
        "ferrum_sequence *",
    ),
    "ferrum_sequence_add": (
        "ferrum_status",
        "ferrum_sequence",
        "ferrum_op",
        "ferrum_tensor *",
        "uint64_t",
        "ferrum_tensor *",
        "uint64_t",
    ),
    "ferrum_sequence_run": (
        "ferrum_status",
        "ferrum_sequence",
        "ferrum_stream",
    ),
    "ferrum_sequence_destroy": (
        "ferrum_status",
        "ferrum_sequence",
    ),
    "ferrum_compute_register": (
        "ferrum_status",
        "ferrum_compute_backend *",
        "ferrum_registration *",
    ),
    "ferrum_layer_register": (
        "ferrum_status",
        "ferrum_layer *",
        "ferrum_registration *",
    ),
    "ferrum_layers_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_model_export_json": (
        "ferrum_status",
        "char *",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_model_export_onnx": (
        "ferrum_status",
        "char *",
        "char *",
        "uint32_t",
    ),
    "ferrum_definition_export_onnx": (
        "ferrum_status",
        "char *",
        "size_t",
        "ferrum_weights",
        "char *",
        "uint32_t",
    ),
    "ferrum_model_validate_json": (
        "ferrum_status",
        "char *",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_definition_validate_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_builder_info_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_build_estimate_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_compute_plan_json": (
        "ferrum_status",
        "ferrum_compute",
        "char *",
        "size_t",
        "uint32_t",
        "char *",
        "size_t",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_executor_build": (
        "ferrum_status",
        "ferrum_build_request *",
        "ferrum_executor *",
    ),
    "ferrum_executor_run": (
        "ferrum_status",
        "ferrum_executor",
        "ferrum_named_tensor *",
        "uint64_t",
        "ferrum_named_tensor *",
        "uint64_t",
        "ferrum_stream",
        "uint64_t",
    ),
    "ferrum_executor_plan_json": (
        "ferrum_status",
        "ferrum_executor",
        "char *",
        "size_t",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_executor_info_json": (
        "ferrum_status",
        "ferrum_executor",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_executor_definition_json": (
        "ferrum_status",
        "ferrum_executor",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_executor_export_onnx": (
        "ferrum_status",
        "ferrum_executor",
        "char *",
        "uint32_t",
    ),
    "ferrum_executor_report_json": (
        "ferrum_status",
        "ferrum_executor",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_executor_sleep": (
        "ferrum_status",
        "ferrum_executor",
        "ferrum_sleep_config *",
        "ferrum_sleep_report *",
    ),
    "ferrum_executor_wake": (
        "ferrum_status",
        "ferrum_executor",
        "ferrum_wake_config *",
        "ferrum_wake_report *",
    ),
    "ferrum_executor_destroy": (
        "ferrum_status",
        "ferrum_executor",
        "uint32_t",
    ),
    "ferrum_executor_add_name": (
        "ferrum_status",
        "ferrum_executor",
        "char *",
    ),
    "ferrum_executor_find": (
        "ferrum_status",
        "char *",
        "ferrum_executor *",
    ),
    "ferrum_executor_remove_name": (
        "ferrum_status",
        "char *",
        "ferrum_executor *",
    ),
    "ferrum_executors_json": (
        "ferrum_status",
        "char *",
        "size_t",
        "size_t *",
    ),
    "ferrum_pass_register": (
        "ferrum_status",
        "ferrum_pass *",
        "ferrum_registration *",
    ),
    "ferrum_definition_optimize": (
        "ferrum_status",
        "char *",
        "size_t",
        "char *",
        "size_t",
        "ferrum_optimized_fn",
        "void *",
    ),
}


def __getattr__(name):
    if name in STRUCTS:
        made = _struct(name)
    elif name in CALLBACKS:
        made = ctypes.CFUNCTYPE(*map(_type, CALLBACKS[name]))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Another thread may have made it meanwhile, and instances of that one.
    return globals().setdefault(name, made)


def _struct(name):
    """Raises ImportError if it is not laid out as the header's compiler does."""
    size, alignment, fields = STRUCTS[name]
    kinds = [(field, _type(kind)) for field, kind, _ in fields]
    body = {"__module__": __name__, "_fields_": kinds}
    if name in INITIAL:
        body["init"] = classmethod(_init)
    made = type(name, (ctypes.Structure,), body)
    is_right = all(getattr(made, field).offset == offset for field, _, offset in fields)
    if not is_right or (ctypes.sizeof(made), ctypes.alignment(made)) != (size, alignment):
        raise ImportError(f"ferrum_mem: the layout of {name} differs from the library's")
    return made


def _init(struct):
    self = struct()
    for field, value in INITIAL[struct.__name__].items():
        setattr(self, field, value)
    return self


def _type(text):
    """The type of ctypes for one of C."""
    if text in _KINDS:
        return _KINDS[text]
    if text.endswith(" *"):
        return ctypes.POINTER(_type(text.removesuffix(" *")))
    if text.endswith("]"):
        element, length = text.removesuffix("]").split("[")
        return _type(element) * int(length)
    return globals().get(text) or __getattr__(text)


class Functions:
    def __init__(self, library):
        for name in PROTOTYPES:
            getattr(library, name)
        self._library = library

    def __getattr__(self, name):
        if name not in PROTOTYPES:
            raise AttributeError(f"the library has no function {name}")
        result, *parameters = PROTOTYPES[name]
        function = self._library[name]
        function.restype = _type(result)
        function.argtypes = [_type(parameter) for parameter in parameters]
        setattr(self, name, function)
        return function

    def without_conversions(self, function):
        bare = self._library[function.__name__]
        bare.restype = function.restype
        return bare
