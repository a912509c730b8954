# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The enumerations and sets of flags of the interface."""

from __future__ import annotations

import enum

from . import _abi


class LogLevel(enum.IntEnum):
    """Severity of a log message.

    Attributes:
        DEBUG: details for developers of the library.
        INFO: normal events.
        WARNING: possible problems.
        ERROR: Errors.
    """

    DEBUG = _abi.FERRUM_LOG_DEBUG
    INFO = _abi.FERRUM_LOG_INFO
    WARNING = _abi.FERRUM_LOG_WARNING
    ERROR = _abi.FERRUM_LOG_ERROR


class Paging(enum.IntEnum):
    """How a pool allocates memory from its device.

    Attributes:
        AUTO: page by page, if the device supports it and the pool may hold at least 32 pages;
            otherwise in segments.
        OFF: in whole segments.
        ON: page by page.
    """

    AUTO = _abi.FERRUM_PAGING_AUTO
    OFF = _abi.FERRUM_PAGING_OFF
    ON = _abi.FERRUM_PAGING_ON


class SegmentSource(enum.IntEnum):
    """Source of the segments of a pool.

    Attributes:
        PLAIN: the device.
        STREAM_ORDERED: a pool of the vendor's runtime that allocates in the order of a stream.
            Releasing a segment then waits only for work that uses the segment; otherwise the
            runtime may wait for other work too. The runtime's pool belongs to this device alone and
            caches nothing.
    """

    PLAIN = _abi.FERRUM_SEGMENTS_PLAIN
    STREAM_ORDERED = _abi.FERRUM_SEGMENTS_STREAM_ORDERED


class BlockState(enum.IntEnum):
    """State of the memory at an address.

    Attributes:
        LIVE: a live block.
        IN_FLIGHT: a freed block that queued work may still use, or that is in quarantine.
        CACHED: a freed block in a thread cache, or a freed page that is still mapped.
        FREE: free memory of a pool, or free address space of a virtual pool.
        UNUSABLE: Memory of a pool that the pool cannot allocate.
        ASLEEP: a range that is asleep: it has its address and no memory.
    """

    LIVE = _abi.FERRUM_BLOCK_LIVE
    IN_FLIGHT = _abi.FERRUM_BLOCK_IN_FLIGHT
    CACHED = _abi.FERRUM_BLOCK_CACHED
    FREE = _abi.FERRUM_BLOCK_FREE
    UNUSABLE = _abi.FERRUM_BLOCK_UNUSABLE
    ASLEEP = _abi.FERRUM_BLOCK_ASLEEP


class MemoryType(enum.IntEnum):
    """Purpose of a block. Each type may have a pool of its own.

    Attributes:
        GENERAL: Anything.
        TENSOR: Tensors.
        CACHE: the KV cache.
        TEMPORARY: scratch memory.
        PINNED: Page-locked host memory, which the system does not swap. The system limits its size;
            above that limit the call returns ResourceExhaustedError, and the message states the
            limit. A defragmentation does not move it. UnsupportedError on a device without it.
        MAPPED: Memory that the host and other devices can address: memory of the device if the host
            can address that, otherwise page-locked host memory.
        MANAGED: Memory that the host and devices address at the same time. The system migrates it
            to the processor that uses it; Memory.prefetch() and Memory.set_usage_hint() announce
            that use. On a device whose memory the host can address, it is memory of the device.
            Elsewhere its address never changes, only the counters of its manager contain it, and it
            needs no physical memory before its first use. More of it than the memory of the device
            is possible, and slow. UnsupportedError on a device without Capability.MANAGED_MEMORY.
    """

    GENERAL = _abi.FERRUM_MEMORY_GENERAL
    TENSOR = _abi.FERRUM_MEMORY_TENSOR
    CACHE = _abi.FERRUM_MEMORY_CACHE
    TEMPORARY = _abi.FERRUM_MEMORY_TEMPORARY
    PINNED = _abi.FERRUM_MEMORY_PINNED
    MAPPED = _abi.FERRUM_MEMORY_MAPPED
    MANAGED = _abi.FERRUM_MEMORY_MANAGED


class Backing(enum.IntEnum):
    """Kind of the physical memory of pages.

    Attributes:
        MOVABLE: the memory can be mapped at another address. On the host, a child made by fork()
            does not inherit this memory, because parent and child would share it.
        PRIVATE: the contents are lost when a page is mapped elsewhere. On some devices mapping and
            unmapping are quicker. On the host, a child made by fork() has a copy of the contents at
            that moment.
        SHAREABLE: movable, and VirtualPool.export() passes the memory to other processes. A device
            without Capability.EXPORTED_PAGES does not support it. On the host each page is a file.
        RDMA: movable, and other hardware such as network cards can read and write the memory
            without the host (GPUDirect RDMA) after the program has registered it there. A device
            without Capability.RDMA_PAGES does not support it. The program has to remove that
            registration before it frees the range.
        FABRIC: movable, and VirtualPool.export_fabric() passes the memory to processes on other
            hosts. A device without Capability.FABRIC_PAGES does not support it.
    """

    MOVABLE = _abi.FERRUM_BACKING_MOVABLE
    PRIVATE = _abi.FERRUM_BACKING_PRIVATE
    SHAREABLE = _abi.FERRUM_BACKING_SHAREABLE
    RDMA = _abi.FERRUM_BACKING_RDMA
    FABRIC = _abi.FERRUM_BACKING_FABRIC


class SleepBacking(enum.IntEnum):
    """Place of the contents of ranges that are asleep.

    Attributes:
        HOST: Memory of this process. For a device whose memory the host cannot address, it is
            page-locked, as far as half of the machine's memory suffices.
        FILE: a file with checksums, which a wake compares. The file belongs to this process. It is
            removed when all of its contents have been woken or freed, or when its pool or model
            ends, unless another file has its name by then. The next sleep in the same directory
            removes the file of a process that was killed; the library recognizes such a file by its
            first bytes and by its lock. It touches no other file.
        DISCARD: nowhere: a wake returns zeros.
    """

    HOST = _abi.FERRUM_SLEEP_HOST
    FILE = _abi.FERRUM_SLEEP_FILE
    DISCARD = _abi.FERRUM_SLEEP_DISCARD


class PressureProfile(enum.IntEnum):
    """The bounds of the pressure levels. Each bound belongs to the higher level.

    Attributes:
        STANDARD: MEDIUM from 70 %, HIGH from 85 %, CRITICAL from 95 %.
        EARLY: MEDIUM from 60 %, HIGH from 80 %, CRITICAL from 95 %.
    """

    STANDARD = _abi.FERRUM_PRESSURE_PROFILE_STANDARD
    EARLY = _abi.FERRUM_PRESSURE_PROFILE_EARLY


class PlacementReason(enum.IntEnum):
    """Reason why a device was chosen or not. A device with a reason from 16 on cannot serve the
    request.

    Attributes:
        CHOSEN: this device is chosen.
        OUTSCORED: another device has a higher score, or the same score and an earlier position.
        LOWER_TIER: another device is in a better tier.
        NOT_PREFERRED: the order of preference selects another device.
        NOT_ITS_TURN: round robin selects another device now.
        NOT_TAKEN: the caller's strategy chose another device, or none.
        NO_INFORMATION: the state of the device is not known.
        TOO_SMALL: the device has fewer free bytes than the request needs.
        WRONG_MEMORY_TYPE: the device has no memory of the type.
        NEEDS_EVICTION: the device would have to release memory first, and the request is critical.
        WOULD_BE_CRITICAL: the device would reach PressureLevel.CRITICAL, which the request does not
            allow.
        UNSCORED: the original formula gives no score for the device.
    """

    CHOSEN = _abi.FERRUM_PLACEMENT_CHOSEN
    OUTSCORED = _abi.FERRUM_PLACEMENT_OUTSCORED
    LOWER_TIER = _abi.FERRUM_PLACEMENT_LOWER_TIER
    NOT_PREFERRED = _abi.FERRUM_PLACEMENT_NOT_PREFERRED
    NOT_ITS_TURN = _abi.FERRUM_PLACEMENT_NOT_ITS_TURN
    NOT_TAKEN = _abi.FERRUM_PLACEMENT_NOT_TAKEN
    NO_INFORMATION = _abi.FERRUM_PLACEMENT_NO_INFORMATION
    TOO_SMALL = _abi.FERRUM_PLACEMENT_TOO_SMALL
    WRONG_MEMORY_TYPE = _abi.FERRUM_PLACEMENT_WRONG_MEMORY_TYPE
    NEEDS_EVICTION = _abi.FERRUM_PLACEMENT_NEEDS_EVICTION
    WOULD_BE_CRITICAL = _abi.FERRUM_PLACEMENT_WOULD_BE_CRITICAL
    UNSCORED = _abi.FERRUM_PLACEMENT_UNSCORED


class DType(enum.IntEnum):
    """Type of the elements of a tensor or a buffer.

    Attributes:
        F32: 32-bit floating point.
        F16: 16-bit floating point.
        BF16: 16-bit floating point with the exponent of the 32-bit type (bfloat16).
        F64: 64-bit floating point.
        F8: 8-bit floating point with 4 bits of exponent (f8_e4m3, E4M3FN).
        I8: 8-bit signed integer.
        U8: 8-bit unsigned integer.
        I16: 16-bit signed integer.
        I32: 32-bit signed integer.
        I64: 64-bit signed integer.
        U16: 16-bit unsigned integer.
        U32: 32-bit unsigned integer.
        U64: 64-bit unsigned integer.
        BOOL: one byte, 0 or 1.
        F8_E5M2: 8-bit floating point with 5 bits of exponent.
        F8_E8M0: 8-bit exponent without a mantissa, for scales.
        F4_E2M1: 4-bit floating point, two in a byte.
        I4: 4-bit signed integer, two in a byte.
        U4: 4-bit unsigned integer, two in a byte.
        C64: complex number of two 32-bit floating-point numbers.
        F6_E2M3: 6-bit floating point with 2 bits of exponent, four in three bytes.
        F6_E3M2: 6-bit floating point with 3 bits of exponent, four in three bytes.
        F8_E4M3FNUZ: f8_e4m3 with one NaN and no negative zero.
        F8_E5M2FNUZ: f8_e5m2 with one NaN and no negative zero.
        Q4_0: blocks of GGUF: 32 elements in 18 bytes.
        Q4_1: blocks of GGUF: 32 elements in 20 bytes.
        Q5_0: blocks of GGUF: 32 elements in 22 bytes.
        Q5_1: blocks of GGUF: 32 elements in 24 bytes.
        Q8_0: blocks of GGUF: 32 elements in 34 bytes.
        Q2_K: blocks of GGUF: 256 elements in 84 bytes.
        Q3_K: blocks of GGUF: 256 elements in 110 bytes.
        Q4_K: blocks of GGUF: 256 elements in 144 bytes.
        Q5_K: blocks of GGUF: 256 elements in 176 bytes.
        Q6_K: blocks of GGUF: 256 elements in 210 bytes.
        Q8_K: blocks of GGUF: 256 elements in 292 bytes.
        IQ2_XXS: blocks of GGUF: 256 elements in 66 bytes.
        IQ2_XS: blocks of GGUF: 256 elements in 74 bytes.
        IQ3_XXS: blocks of GGUF: 256 elements in 98 bytes.
        IQ1_S: blocks of GGUF: 256 elements in 50 bytes.
        IQ4_NL: blocks of GGUF: 32 elements in 18 bytes.
        IQ3_S: blocks of GGUF: 256 elements in 110 bytes.
        IQ2_S: blocks of GGUF: 256 elements in 82 bytes.
        IQ4_XS: blocks of GGUF: 256 elements in 136 bytes.
        IQ1_M: blocks of GGUF: 256 elements in 56 bytes.
        TQ1_0: blocks of GGUF: 256 elements in 54 bytes.
        TQ2_0: blocks of GGUF: 256 elements in 66 bytes.
        MXFP4: blocks of GGUF: 32 elements in 17 bytes.
        NVFP4: blocks of GGUF: 64 elements in 36 bytes.
        Q1_0: blocks of GGUF: 128 elements in 18 bytes.
    """

    F32 = _abi.FERRUM_DTYPE_F32
    F16 = _abi.FERRUM_DTYPE_F16
    BF16 = _abi.FERRUM_DTYPE_BF16
    F64 = _abi.FERRUM_DTYPE_F64
    F8 = _abi.FERRUM_DTYPE_F8
    I8 = _abi.FERRUM_DTYPE_I8
    U8 = _abi.FERRUM_DTYPE_U8
    I16 = _abi.FERRUM_DTYPE_I16
    I32 = _abi.FERRUM_DTYPE_I32
    I64 = _abi.FERRUM_DTYPE_I64
    U16 = _abi.FERRUM_DTYPE_U16
    U32 = _abi.FERRUM_DTYPE_U32
    U64 = _abi.FERRUM_DTYPE_U64
    BOOL = _abi.FERRUM_DTYPE_BOOL
    F8_E5M2 = _abi.FERRUM_DTYPE_F8_E5M2
    F8_E8M0 = _abi.FERRUM_DTYPE_F8_E8M0
    F4_E2M1 = _abi.FERRUM_DTYPE_F4_E2M1
    I4 = _abi.FERRUM_DTYPE_I4
    U4 = _abi.FERRUM_DTYPE_U4
    C64 = _abi.FERRUM_DTYPE_C64
    F6_E2M3 = _abi.FERRUM_DTYPE_F6_E2M3
    F6_E3M2 = _abi.FERRUM_DTYPE_F6_E3M2
    F8_E4M3FNUZ = _abi.FERRUM_DTYPE_F8_E4M3FNUZ
    F8_E5M2FNUZ = _abi.FERRUM_DTYPE_F8_E5M2FNUZ
    Q4_0 = _abi.FERRUM_DTYPE_Q4_0
    Q4_1 = _abi.FERRUM_DTYPE_Q4_1
    Q5_0 = _abi.FERRUM_DTYPE_Q5_0
    Q5_1 = _abi.FERRUM_DTYPE_Q5_1
    Q8_0 = _abi.FERRUM_DTYPE_Q8_0
    Q2_K = _abi.FERRUM_DTYPE_Q2_K
    Q3_K = _abi.FERRUM_DTYPE_Q3_K
    Q4_K = _abi.FERRUM_DTYPE_Q4_K
    Q5_K = _abi.FERRUM_DTYPE_Q5_K
    Q6_K = _abi.FERRUM_DTYPE_Q6_K
    Q8_K = _abi.FERRUM_DTYPE_Q8_K
    IQ2_XXS = _abi.FERRUM_DTYPE_IQ2_XXS
    IQ2_XS = _abi.FERRUM_DTYPE_IQ2_XS
    IQ3_XXS = _abi.FERRUM_DTYPE_IQ3_XXS
    IQ1_S = _abi.FERRUM_DTYPE_IQ1_S
    IQ4_NL = _abi.FERRUM_DTYPE_IQ4_NL
    IQ3_S = _abi.FERRUM_DTYPE_IQ3_S
    IQ2_S = _abi.FERRUM_DTYPE_IQ2_S
    IQ4_XS = _abi.FERRUM_DTYPE_IQ4_XS
    IQ1_M = _abi.FERRUM_DTYPE_IQ1_M
    TQ1_0 = _abi.FERRUM_DTYPE_TQ1_0
    TQ2_0 = _abi.FERRUM_DTYPE_TQ2_0
    MXFP4 = _abi.FERRUM_DTYPE_MXFP4
    NVFP4 = _abi.FERRUM_DTYPE_NVFP4
    Q1_0 = _abi.FERRUM_DTYPE_Q1_0


class MemoryPreset(enum.IntEnum):
    """Ready-made settings. Each lists fraction, fallback, min_free_bytes, free buffers of a bucket,
    and of all buckets together.

    Attributes:
        DEFAULT: 0.9, fallback, 512 MiB, 8, 1 GiB: MemoryConfig().
        INFERENCE: 0.95, fallback, 256 MiB, 4, 512 MiB: the most memory.
        TRAINING: 0.8, no fallback, 1 GiB, 16, 4 GiB: an allocation fails when the device has no
            room, instead of becoming slow.
        CONSTRAINED: 0.7, fallback, 128 MiB, 2, 64 MiB: for devices with little memory.
    """

    DEFAULT = _abi.FERRUM_MEMORY_PRESET_DEFAULT
    INFERENCE = _abi.FERRUM_MEMORY_PRESET_INFERENCE
    TRAINING = _abi.FERRUM_MEMORY_PRESET_TRAINING
    CONSTRAINED = _abi.FERRUM_MEMORY_PRESET_CONSTRAINED


class BufferPlace(enum.IntEnum):
    """Allowed sides of a new buffer.

    Attributes:
        EITHER: on the device, or on the host when the device has no room.
        GPU: on the device only.
        CPU: on the host; it does not count as a fallback.
    """

    EITHER = _abi.FERRUM_PLACE_EITHER
    GPU = _abi.FERRUM_PLACE_GPU
    CPU = _abi.FERRUM_PLACE_CPU


class HostAccess(enum.IntEnum):
    """How a program uses a mapping.

    Attributes:
        READ_ONLY: reads only.
        WRITE_ONLY: writes only. Bytes that are not written have no defined value afterwards.
        READ_WRITE: reads and writes.
    """

    READ_ONLY = _abi.FERRUM_HOST_READ_ONLY
    WRITE_ONLY = _abi.FERRUM_HOST_WRITE_ONLY
    READ_WRITE = _abi.FERRUM_HOST_READ_WRITE


class UsageHint(enum.IntEnum):
    """Expected use of a block. There are three groups of hints: order, direction and lifetime. A
    block has one hint of each group.

    Attributes:
        NONE: no hint. Setting it removes all other hints.
        SEQUENTIAL: order: sequential accesses.
        RANDOM: order: accesses at random places.
        READ_MOSTLY: direction: mostly read.
        WRITE_MOSTLY: direction: mostly written.
        TEMPORARY: lifetime: temporary; it may be released early.
        RESIDENT: lifetime: to be kept resident.
    """

    NONE = _abi.FERRUM_USAGE_NONE
    SEQUENTIAL = _abi.FERRUM_USAGE_SEQUENTIAL
    RANDOM = _abi.FERRUM_USAGE_RANDOM
    READ_MOSTLY = _abi.FERRUM_USAGE_READ_MOSTLY
    WRITE_MOSTLY = _abi.FERRUM_USAGE_WRITE_MOSTLY
    TEMPORARY = _abi.FERRUM_USAGE_TEMPORARY
    RESIDENT = _abi.FERRUM_USAGE_RESIDENT


class AccessPattern(enum.IntEnum):
    """Observed pattern of the latest accesses to a block.

    Attributes:
        UNKNOWN: too few accesses.
        SEQUENTIAL: sequential accesses.
        RANDOM: accesses at random places.
        BURST: accesses that come in clusters.
        MIXED: more than one of these.
    """

    UNKNOWN = _abi.FERRUM_PATTERN_UNKNOWN
    SEQUENTIAL = _abi.FERRUM_PATTERN_SEQUENTIAL
    RANDOM = _abi.FERRUM_PATTERN_RANDOM
    BURST = _abi.FERRUM_PATTERN_BURST
    MIXED = _abi.FERRUM_PATTERN_MIXED


class WeightsSourceKind(enum.IntEnum):
    """Where a source is.

    Attributes:
        FILE: a file, the index of several files, or a folder.
        MEMORY: the bytes of a file in memory of the caller.
        URL: a web address. The library does not use the network, so the call returns
            UnsupportedError.
        HUGGING_FACE: a model of the Hugging Face hub. The call returns UnsupportedError.
        S3: an object of an S3 store. The call returns UnsupportedError.
    """

    FILE = _abi.FERRUM_WEIGHTS_SOURCE_FILE
    MEMORY = _abi.FERRUM_WEIGHTS_SOURCE_MEMORY
    URL = _abi.FERRUM_WEIGHTS_SOURCE_URL
    HUGGING_FACE = _abi.FERRUM_WEIGHTS_SOURCE_HUGGING_FACE
    S3 = _abi.FERRUM_WEIGHTS_SOURCE_S3


class WeightsFormat(enum.IntEnum):
    """The format of a file of tensors.

    Attributes:
        ANY: the library detects the format from the content of the file.
        PYTORCH: files of torch.save.
        SAFETENSORS: files of safetensors.
        NUMPY: files of NumPy: npy and npz.
        RAW: one tensor without a header.
        ONNX: the initialisers of an ONNX model.
        GGUF: files of GGUF.
        CUSTOM: the format of a decoder of the program.
    """

    ANY = _abi.FERRUM_WEIGHTS_FORMAT_ANY
    PYTORCH = _abi.FERRUM_WEIGHTS_FORMAT_PYTORCH
    SAFETENSORS = _abi.FERRUM_WEIGHTS_FORMAT_SAFETENSORS
    NUMPY = _abi.FERRUM_WEIGHTS_FORMAT_NUMPY
    RAW = _abi.FERRUM_WEIGHTS_FORMAT_RAW
    ONNX = _abi.FERRUM_WEIGHTS_FORMAT_ONNX
    GGUF = _abi.FERRUM_WEIGHTS_FORMAT_GGUF
    CUSTOM = _abi.FERRUM_WEIGHTS_FORMAT_CUSTOM


class ComputeType(enum.IntEnum):
    """The kind of a backend.

    Attributes:
        CANDLE: not in this library: UnsupportedError.
        ONNX_RUNTIME: ONNX Runtime, whose library is loaded when it is opened. It also runs files of
            ONNX with operators that this library lacks. Without its library: UnsupportedError.
        TENSORRT: not in this library: UnsupportedError.
        METAL: not in this library: UnsupportedError.
        CPU: the CPU engine of this library.
        CUSTOM: a backend that the program has registered with compute_register().
    """

    CANDLE = _abi.FERRUM_COMPUTE_CANDLE
    ONNX_RUNTIME = _abi.FERRUM_COMPUTE_ONNX_RUNTIME
    TENSORRT = _abi.FERRUM_COMPUTE_TENSORRT
    METAL = _abi.FERRUM_COMPUTE_METAL
    CPU = _abi.FERRUM_COMPUTE_CPU
    CUSTOM = _abi.FERRUM_COMPUTE_CUSTOM


class ComputeGrowth(enum.IntEnum):
    """When the memory of a backend is taken from the device.

    Attributes:
        STATIC: the whole pool when the backend is opened; it does not grow.
        DYNAMIC: when an allocation needs it.
        INCREMENTAL: in quarters of the pool, the first one when the backend is opened.
    """

    STATIC = _abi.FERRUM_COMPUTE_GROWTH_STATIC
    DYNAMIC = _abi.FERRUM_COMPUTE_GROWTH_DYNAMIC
    INCREMENTAL = _abi.FERRUM_COMPUTE_GROWTH_INCREMENTAL


class BuildPhase(enum.IntEnum):
    """A phase of a build. The phases follow each other in this order.

    Attributes:
        VALIDATION: the configuration and the definition are checked.
        WEIGHT_LOADING: the headers of the weights, and their bytes, are read.
        MODEL_INITIALIZATION: the model gets its place in the elastic pool.
        LAYER_CONSTRUCTION: the operations are prepared.
        PARAMETER_BINDING: the parameters are connected with tensors of the weights.
        OPTIMIZATION: passes run, and the parameters are placed and packed.
        FINAL_VALIDATION: the model runs once.
        FINALIZATION: what only the build needed is released.
    """

    VALIDATION = _abi.FERRUM_BUILD_VALIDATION
    WEIGHT_LOADING = _abi.FERRUM_BUILD_WEIGHT_LOADING
    MODEL_INITIALIZATION = _abi.FERRUM_BUILD_MODEL_INITIALIZATION
    LAYER_CONSTRUCTION = _abi.FERRUM_BUILD_LAYER_CONSTRUCTION
    PARAMETER_BINDING = _abi.FERRUM_BUILD_PARAMETER_BINDING
    OPTIMIZATION = _abi.FERRUM_BUILD_OPTIMIZATION
    FINAL_VALIDATION = _abi.FERRUM_BUILD_FINAL_VALIDATION
    FINALIZATION = _abi.FERRUM_BUILD_FINALIZATION


class Capability(enum.IntFlag):
    """Capability bits.

    Attributes:
        HOST_ADDRESSABLE: an address of the device is also a pointer of the host.
        PEER: the device copies directly from other devices of its backend.
        VIRTUAL_MEMORY: virtual and elastic pools work on the device.
        PINNED_MEMORY: the device supports MemoryType.PINNED and MemoryType.MAPPED, within the
            limits of the system.
        LINKED_MEMORY: Manager.create_mapping() works between the device and others of its backend.
        EXPORTED_PAGES: virtual pools can have Backing.SHAREABLE, and Manager.import_pages() works.
        SHARED_MEMORY: share_memory() and SharedEvent() work between processes.
        CAPTURE: Graph() works: streams can be captured.
        MANAGED_MEMORY: MemoryType.MANAGED is memory that migrates to the processor that uses it. On
            a device without this capability, managed memory is memory of the device itself if the
            device is Capability.HOST_ADDRESSABLE; otherwise it is not supported.
        REGISTERED_MEMORY: Manager.adopt() page-locks memory of the process.
        STREAM_ORDERED: pools can have SegmentSource.STREAM_ORDERED.
        RDMA_PAGES: virtual and elastic pools can have Backing.RDMA.
        FABRIC_PAGES: virtual pools can have Backing.FABRIC.
    """

    NONE = 0
    HOST_ADDRESSABLE = _abi.FERRUM_CAPABILITY_HOST_ADDRESSABLE
    PEER = _abi.FERRUM_CAPABILITY_PEER
    VIRTUAL_MEMORY = _abi.FERRUM_CAPABILITY_VIRTUAL_MEMORY
    PINNED_MEMORY = _abi.FERRUM_CAPABILITY_PINNED_MEMORY
    LINKED_MEMORY = _abi.FERRUM_CAPABILITY_LINKED_MEMORY
    EXPORTED_PAGES = _abi.FERRUM_CAPABILITY_EXPORTED_PAGES
    SHARED_MEMORY = _abi.FERRUM_CAPABILITY_SHARED_MEMORY
    CAPTURE = _abi.FERRUM_CAPABILITY_CAPTURE
    MANAGED_MEMORY = _abi.FERRUM_CAPABILITY_MANAGED_MEMORY
    REGISTERED_MEMORY = _abi.FERRUM_CAPABILITY_REGISTERED_MEMORY
    STREAM_ORDERED = _abi.FERRUM_CAPABILITY_STREAM_ORDERED
    RDMA_PAGES = _abi.FERRUM_CAPABILITY_RDMA_PAGES
    FABRIC_PAGES = _abi.FERRUM_CAPABILITY_FABRIC_PAGES


class DebugFlags(enum.IntFlag):
    """Sum of DebugFlags flags; 0: none. FERRUM_DEBUG in the environment adds flags for all pools.
    Every call of a pool in debug mode bypasses the thread caches.

    Attributes:
        RED_ZONES: puts a red zone before and after every block, and checks both when the block is
            freed.
        POISON: overwrites blocks when they are allocated and when they are freed.
        QUARANTINE: keeps freed blocks for a while and checks them for late writes.
        CALL_SITES: records the call sites of allocation and free of each block, for reports.
        ALL: all debug flags.
    """

    NONE = 0
    RED_ZONES = _abi.FERRUM_DEBUG_RED_ZONES
    POISON = _abi.FERRUM_DEBUG_POISON
    QUARANTINE = _abi.FERRUM_DEBUG_QUARANTINE
    CALL_SITES = _abi.FERRUM_DEBUG_CALL_SITES
    ALL = _abi.FERRUM_DEBUG_ALL
