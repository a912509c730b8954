"""Settings and counters of fallback managers and generic pools."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import _abi, _native, _records
from ._arguments import listed, object_of, record
from ._values import real, u32, u64

MIB = 1 << 20


@dataclass(frozen=True)
class MemoryConfig:
    """Settings of a FallbackManager or a GenericMemoryPool.

    Attributes:
        gpu_memory_fraction: share of the device that may be held, from 0.1 to 1.
        cpu_fallback_enabled: create buffers on the host when the device has no memory.
        min_free_bytes: bytes of the device that stay free.
        track_allocations: keep every buffer in use in a tracker.
        max_pooled_per_bucket: free buffers that a bucket keeps.
        max_pooled_bytes: bytes of free buffers in all buckets together; 0: no limit.
        pre_allocate: create the pool with a free buffer of each of pre_allocate_sizes.
        pre_allocate_sizes: in bytes.
    """

    gpu_memory_fraction: float = 0.9
    cpu_fallback_enabled: bool = True
    min_free_bytes: int = 512 * MIB
    track_allocations: bool = False
    max_pooled_per_bucket: int = 8
    max_pooled_bytes: int = 1024 * MIB
    pre_allocate: bool = False
    pre_allocate_sizes: tuple[int, ...] = ()

    @classmethod
    def _preset(cls, which: int) -> MemoryConfig:
        raw = _abi.ferrum_memory_config.init()
        _native.check(_native.functions().ferrum_memory_config_preset(which, ctypes.byref(raw)))
        return cls(
            gpu_memory_fraction=raw.gpu_memory_fraction,
            cpu_fallback_enabled=bool(raw.flags & _abi.FERRUM_MEMORY_CPU_FALLBACK),
            min_free_bytes=raw.min_free_bytes,
            max_pooled_per_bucket=raw.max_pooled_per_bucket,
            max_pooled_bytes=raw.max_pooled_bytes,
        )

    @classmethod
    def for_inference(cls) -> MemoryConfig:
        """For most memory: fraction 0.95, 256 MiB free, 4 buffers per bucket."""
        return cls._preset(_abi.FERRUM_MEMORY_PRESET_INFERENCE)

    @classmethod
    def for_training(cls) -> MemoryConfig:
        """More free memory, and no fallback: fraction 0.8, 1 GiB free, 16 buffers per bucket."""
        return cls._preset(_abi.FERRUM_MEMORY_PRESET_TRAINING)

    @classmethod
    def for_constrained(cls) -> MemoryConfig:
        """For little memory: fraction 0.7, 128 MiB free, 2 buffers per bucket."""
        return cls._preset(_abi.FERRUM_MEMORY_PRESET_CONSTRAINED)

    def with_gpu_memory_fraction(self, fraction: float) -> MemoryConfig:
        """A copy with another fraction, clamped to 0.1 to 1."""
        return dataclasses.replace(self, gpu_memory_fraction=min(max(fraction, 0.1), 1.0))

    def with_cpu_fallback(self, enabled: bool) -> MemoryConfig:
        """A copy with or without fallback."""
        return dataclasses.replace(self, cpu_fallback_enabled=enabled)

    def with_min_free_bytes(self, size_bytes: int) -> MemoryConfig:
        """A copy with another min_free_bytes."""
        return dataclasses.replace(self, min_free_bytes=size_bytes)

    def with_tracking(self, enabled: bool) -> MemoryConfig:
        """A copy with or without a tracker."""
        return dataclasses.replace(self, track_allocations=enabled)

    def with_max_pooled(self, per_bucket: int) -> MemoryConfig:
        """A copy with another limit for each bucket."""
        return dataclasses.replace(self, max_pooled_per_bucket=per_bucket)

    def with_max_pooled_bytes(self, size_bytes: int) -> MemoryConfig:
        """A copy with another limit for all buckets together."""
        return dataclasses.replace(self, max_pooled_bytes=size_bytes)

    def with_pre_allocation(self, sizes: Iterable[int]) -> MemoryConfig:
        """A copy that preallocates buffers of these sizes."""
        return dataclasses.replace(self, pre_allocate=True, pre_allocate_sizes=tuple(sizes))

    def check(self) -> None:
        """Checks the settings.

        Raises:
            InvalidConfigError: a setting is not valid; the message states its value.
        """
        raw, _kept = abi_memory_config(self)
        _native.check(_native.functions().ferrum_memory_config_check(ctypes.byref(raw)))


def abi_memory_config(config: MemoryConfig) -> tuple[_abi.ferrum_memory_config, Any]:
    """The settings as a struct of the library, and the objects that it points to."""
    raw = _abi.ferrum_memory_config.init()
    record("config", config, "MemoryConfig")
    raw.gpu_memory_fraction = real("gpu_memory_fraction", config.gpu_memory_fraction)
    raw.flags = (
        (_abi.FERRUM_MEMORY_CPU_FALLBACK if config.cpu_fallback_enabled else 0)
        | (_abi.FERRUM_MEMORY_TRACK_ALLOCATIONS if config.track_allocations else 0)
        | (_abi.FERRUM_MEMORY_PRE_ALLOCATE if config.pre_allocate else 0)
    )
    raw.min_free_bytes = u64("min_free_bytes", config.min_free_bytes)
    raw.max_pooled_per_bucket = u32("max_pooled_per_bucket", config.max_pooled_per_bucket)
    raw.max_pooled_bytes = u64("max_pooled_bytes", config.max_pooled_bytes)
    given = listed("pre_allocate_sizes", config.pre_allocate_sizes, "sizes")
    sizes = [u64("pre_allocate_sizes", size) for size in given]
    kept = (ctypes.c_uint64 * len(sizes))(*sizes)
    if sizes:
        raw.pre_allocate_sizes = kept
    raw.pre_allocate_count = len(sizes)
    return raw, kept


class MemoryStats(_records.MemoryStats):
    """Counters of a FallbackManager or a GenericMemoryPool, with the fields of the library's
    record and ratios.
    """

    def _ratios(self) -> _abi.ferrum_memory_ratios:
        raw, ratios = self.to_abi(), _abi.ferrum_memory_ratios.init()
        _native.check(
            _native.functions().ferrum_memory_stats_ratios(ctypes.byref(raw), ctypes.byref(ratios))
        )
        return ratios

    def hit_rate(self) -> float:
        """hits / (hits + misses); 0 without requests."""
        rate: float = self._ratios().hit_rate
        return rate

    def utilization(self) -> float:
        """in_use / total_allocated; 0 if total_allocated is 0."""
        share: float = self._ratios().utilization
        return share

    def efficiency(self) -> float:
        """Like utilization(), but 1 if total_allocated is 0."""
        share: float = self._ratios().efficiency
        return share

    def merge(self, other: MemoryStats) -> MemoryStats:
        """The sum of the counters of two pools. The peak is the larger one."""
        one, two = self.to_abi(), object_of("other", other, MemoryStats).to_abi()
        merged = _abi.ferrum_memory_stats.init()
        _native.check(
            _native.functions().ferrum_memory_stats_merge(
                ctypes.byref(one), ctypes.byref(two), ctypes.byref(merged)
            )
        )
        return MemoryStats.from_abi(merged)

    def __str__(self) -> str:
        raw = self.to_abi()
        function = _native.functions().ferrum_memory_stats_text
        return _native.read_text(lambda *buffer: function(ctypes.byref(raw), *buffer))


def stats_of(handle: Any, function: Callable[..., int]) -> MemoryStats:
    """The counters of an object, read with a function of the library."""
    raw = _abi.ferrum_memory_stats.init()
    _native.check(function(handle, ctypes.byref(raw)))
    return MemoryStats.from_abi(raw)
