"""ferrum_mem: the memory system of an LLM inference engine.

    import ferrum_mem as fm

    with fm.Device("cpu:0") as device, fm.Manager(device) as manager:
        with manager.allocate(1 << 20, tag="weights") as block:
            block.write(b"hello")
            print(device.memory_info().used_bytes)

Every object is a context manager with close(). Every error is a FerrumError.
Everything may be used from any thread. In a forked child every call raises
ForkedError, and closing does nothing.
"""

from __future__ import annotations

from . import _abi
from ._callbacks import set_log_callback
from ._library import (
    abi_version,
    init,
    leak_report,
    library_version,
    shutdown,
    snapshot,
    status_name,
    status_text,
)
from ._loader import LibraryLoadError
from .devices import Device, Registration, backends
from .errors import (
    AlreadyExistsError,
    AlreadyMappedError,
    AuthenticationError,
    BackendUnavailableError,
    BufferTooSmallError,
    BusyError,
    CancelledError,
    CorruptedError,
    DeviceError,
    DeviceLostError,
    DeviceNotFoundError,
    DoubleFreeError,
    FerrumError,
    ForkedError,
    InternalError,
    InvalidAddressError,
    InvalidAlignmentError,
    InvalidArgumentError,
    InvalidConfigError,
    InvalidFormatError,
    InvalidHandleError,
    InvalidOffsetError,
    InvalidPageSizeError,
    InvalidSizeError,
    InvalidStateError,
    InvalidStructError,
    IoError,
    MappingError,
    MappingFailedError,
    ModelAlreadyExistsError,
    ModelError,
    ModelNotFoundError,
    NetworkError,
    NotFoundError,
    NotInitializedError,
    NotMappedError,
    NullPointerError,
    OutOfMemoryError,
    OutOfPhysicalMemoryError,
    OutOfVirtualMemoryError,
    OverflowError,  # noqa: A004
    PermissionDeniedError,
    PoisonedError,
    RateLimitedError,
    ResourceExhaustedError,
    SerializationError,
    TimeoutError,  # noqa: A004
    UnmappingFailedError,
    UnsupportedDeviceError,
    UnsupportedError,
    ViewExistsError,
)
from .managers import Manager
from .memory import Memory
from .pools import Pool, PoolBatch, PoolBlock
from .ranges import MappedRange
from .shared_pools import Model, SharedPool
from .sleep import SleepBacking, SleepReport, WakeReport
from .streams import Event, Stream
from .types import (
    Backend,
    BackendDevice,
    BlockInfo,
    BlockOwner,
    BlockState,
    Capability,
    Debug,
    DefragmentationStats,
    DeviceInfo,
    Gauge,
    Leak,
    LeakReport,
    LogLevel,
    ManagerConfig,
    MemoryInfo,
    MemoryType,
    PoolConfig,
    PressureLevel,
    Statistics,
)
from .virtual_pools import VirtualPool
from .virtual_types import (
    Backing,
    CompactReport,
    ModelConfig,
    ModelInfo,
    PageSizes,
    SharedPoolConfig,
    SharedPoolInfo,
    VirtualPoolConfig,
    VirtualPoolInfo,
)

__version__ = f"{_abi.FERRUM_VERSION_MAJOR}.{_abi.FERRUM_VERSION_MINOR}.{_abi.FERRUM_VERSION_PATCH}"

# Largest alignment that can be asked for, in bytes.
ALIGNMENT_MAX = _abi.FERRUM_ALIGNMENT_MAX
# How many blocks a batch may have.
BATCH_MAX = _abi.FERRUM_BATCH_MAX

__all__ = [
    "ALIGNMENT_MAX",
    "BATCH_MAX",
    "AlreadyExistsError",
    "AlreadyMappedError",
    "AuthenticationError",
    "Backend",
    "BackendDevice",
    "BackendUnavailableError",
    "Backing",
    "BlockInfo",
    "BlockOwner",
    "BlockState",
    "BufferTooSmallError",
    "BusyError",
    "CancelledError",
    "Capability",
    "CompactReport",
    "CorruptedError",
    "Debug",
    "DefragmentationStats",
    "Device",
    "DeviceError",
    "DeviceInfo",
    "DeviceLostError",
    "DeviceNotFoundError",
    "DoubleFreeError",
    "Event",
    "FerrumError",
    "ForkedError",
    "Gauge",
    "InternalError",
    "InvalidAddressError",
    "InvalidAlignmentError",
    "InvalidArgumentError",
    "InvalidConfigError",
    "InvalidFormatError",
    "InvalidHandleError",
    "InvalidOffsetError",
    "InvalidPageSizeError",
    "InvalidSizeError",
    "InvalidStateError",
    "InvalidStructError",
    "IoError",
    "Leak",
    "LeakReport",
    "LibraryLoadError",
    "LogLevel",
    "Manager",
    "ManagerConfig",
    "MappedRange",
    "MappingError",
    "MappingFailedError",
    "Memory",
    "MemoryInfo",
    "MemoryType",
    "Model",
    "ModelAlreadyExistsError",
    "ModelConfig",
    "ModelError",
    "ModelInfo",
    "ModelNotFoundError",
    "NetworkError",
    "NotFoundError",
    "NotInitializedError",
    "NotMappedError",
    "NullPointerError",
    "OutOfMemoryError",
    "OutOfPhysicalMemoryError",
    "OutOfVirtualMemoryError",
    "OverflowError",
    "PageSizes",
    "PermissionDeniedError",
    "PoisonedError",
    "Pool",
    "PoolBatch",
    "PoolBlock",
    "PoolConfig",
    "PressureLevel",
    "RateLimitedError",
    "Registration",
    "ResourceExhaustedError",
    "SerializationError",
    "SharedPool",
    "SharedPoolConfig",
    "SharedPoolInfo",
    "SleepBacking",
    "SleepReport",
    "Statistics",
    "Stream",
    "TimeoutError",
    "UnmappingFailedError",
    "UnsupportedDeviceError",
    "UnsupportedError",
    "ViewExistsError",
    "VirtualPool",
    "VirtualPoolConfig",
    "VirtualPoolInfo",
    "WakeReport",
    "__version__",
    "abi_version",
    "backends",
    "init",
    "leak_report",
    "library_version",
    "set_log_callback",
    "shutdown",
    "snapshot",
    "status_name",
    "status_text",
]
