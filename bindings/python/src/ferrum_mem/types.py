"""Settings and results that are not generated from the header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from . import _abi, _records
from ._enums import Capability, MemoryType
from ._records import PoolConfig

_Record = TypeVar("_Record")

READY_PAGES_ALL = _abi.FERRUM_READY_PAGES_ALL
"""PoolConfig.ready_pages: all idle pages stay in the pool and are released only on request."""


class PageSizes(NamedTuple):
    """Page sizes of a device: the smallest and the recommended one."""

    minimum_bytes: int
    recommended_bytes: int


@dataclass(frozen=True, kw_only=True)
class ManagerConfig:
    """Settings of a manager.

    Attributes:
        enable_tracking: record age and tag of each block, and statistics.
        enable_auto_gc: release cached memory when gc_threshold is reached.
        enable_debug: fill new and freed blocks with patterns and check the patterns.
        gc_threshold: used share of the device, above 0 and up to 1.
        max_concurrent_transfers: asynchronous copies in flight, 1 to 1024.
        pool_configs: pool settings by memory type. Blocks of a type without settings are in
            the pool of MemoryType.GENERAL.
    """

    enable_tracking: bool = True
    enable_auto_gc: bool = True
    enable_debug: bool = False
    gc_threshold: float = 0.85
    max_concurrent_transfers: int = 4
    pool_configs: Mapping[MemoryType, PoolConfig] = field(default_factory=dict)


class DeviceInfo(_records.DeviceInfo):
    """Description of an open device, with the fields of the library's record."""

    @property
    def host_addressable(self) -> bool:
        """Whether an address of the device is a pointer in this process."""
        return Capability.HOST_ADDRESSABLE in self.capabilities


def _known(record: type[_Record], values: Mapping[str, Any]) -> _Record:
    """Creates a record. Ignores values without a field, which later versions of the
    library may add.
    """
    names = {each.name for each in fields(record)}  # type: ignore[arg-type]
    return record(**{name: value for name, value in values.items() if name in names})


@dataclass(frozen=True)
class ProcessUse:
    """The device memory of a process.

    Attributes:
        pid: process id in the namespace of the driver's host.
        used_bytes: its memory on the device, contexts included; None: unknown.
    """

    pid: int
    used_bytes: int | None


@dataclass(frozen=True)
class BackendDevice:
    """A device that a backend has found, before it is opened. capabilities are names.

    Attributes:
        total_bytes: capacity; 0 means unknown.
        free_bytes: free bytes at that time; None: unknown.
        compute_capability: the vendor's name for the features of the device.
        unified_memory: device and host share the memory.
        max_allocation_bytes: upper bound of one allocation; None: the capacity.
        recommended_fraction_percent: recommended share of the capacity for an engine.
        processes: the processes with a context on the device; None: unknown.
    """

    id: str
    index: int
    name: str
    total_bytes: int
    free_bytes: int | None
    compute_capability: str | None
    unified_memory: bool
    max_allocation_bytes: int | None
    granularity_bytes: int
    alignment_bytes: int
    recommended_fraction_percent: int
    host_addressable: bool
    capabilities: tuple[str, ...]
    processes: tuple[ProcessUse, ...] | None

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> BackendDevice:
        """Reads the library's JSON."""
        processes = raw["processes"]
        return _known(
            cls,
            {
                **raw,
                "capabilities": tuple(raw["capabilities"]),
                "processes": None
                if processes is None
                else tuple(_known(ProcessUse, entry) for entry in processes),
            },
        )

    def can_fit(self, size_bytes: int) -> bool:
        """Whether size_bytes fit into the free memory, or into 80 % of the capacity if the
        free memory is unknown.
        """
        if self.free_bytes is not None:
            return self.free_bytes >= size_bytes
        return self.total_bytes * 4 // 5 >= size_bytes

    def total_memory_gb(self) -> float:
        """The capacity in units of 2**30 bytes."""
        return self.total_bytes / 2**30

    def free_memory_gb(self) -> float | None:
        """Free bytes in units of 2**30 bytes; None: unknown."""
        return None if self.free_bytes is None else self.free_bytes / 2**30


@dataclass(frozen=True)
class BackendInfo:
    """A backend with its devices, or with the reason why it is unavailable here.

    Attributes:
        backend: the name in device ids.
        name: the name for people.
        available: it works here and has devices.
        usable: this build can also open them.
        reason: why it is not available, in one word; error has the whole message.
        native_code: number from the vendor's library or the system, or 0.
        library: file of the vendor's runtime.
        version: of the vendor's interface.
    """

    backend: str
    name: str
    available: bool
    usable: bool
    reason: str | None
    error: str | None
    native_code: int
    library: str | None
    version: str | None
    devices: tuple[BackendDevice, ...]

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> BackendInfo:
        """Reads the library's JSON."""
        devices = tuple(map(BackendDevice.from_json, raw["devices"]))
        return _known(cls, {**raw, "devices": devices})


@dataclass(frozen=True)
class LeakReportEntry:
    """An object or block that exists, or that existed when the library was stopped.

    Attributes:
        call_site: where a block was allocated, innermost function first: lines of Python,
            as "engine.py:12 (load)", then native functions. Empty unless its pool has
            DebugFlags.CALL_SITES.
        model: id of the model of a range of an elastic pool, or "".
        callback: kind and object of a registration's callback, and whether the object
            has ended, or "".
    """

    kind: str
    device: str
    handle: int
    address: int
    size_bytes: int
    tag: str
    age_ns: int
    call_site: tuple[str, ...] = ()
    model: str = ""
    callback: str = ""


@dataclass(frozen=True)
class LeakReport:
    """The objects and blocks that exist or existed. omitted counts entries left out of the list."""

    leaks: tuple[LeakReportEntry, ...]
    omitted: int
    total_bytes: int

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> LeakReport:
        """Reads the library's JSON."""
        leaks = (
            LeakReportEntry(
                kind=entry["kind"],
                device=entry["device"],
                handle=entry["handle"],
                address=entry["address"],
                size_bytes=entry["bytes"],
                tag=entry["tag"],
                age_ns=entry["age_ns"],
                call_site=tuple(entry.get("call_site", ())),
                model=entry.get("model", ""),
                callback=entry.get("callback", ""),
            )
            for entry in raw["leaks"]
        )
        return cls(tuple(leaks), raw["omitted"], raw["total_bytes"])
