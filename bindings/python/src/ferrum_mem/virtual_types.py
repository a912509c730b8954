"""Settings and readings of virtual and elastic pools."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import _abi


class PageSizes(NamedTuple):
    """Page sizes of a device: the smallest, and the one that works best."""

    minimum_bytes: int
    recommended_bytes: int


class Backing(enum.IntEnum):
    """What the memory behind pages can do: it can be mapped elsewhere, or its bytes
    are lost when a page leaves its place, or it can be given to other processes, too."""

    MOVABLE = _abi.FERRUM_BACKING_MOVABLE
    PRIVATE = _abi.FERRUM_BACKING_PRIVATE
    SHAREABLE = _abi.FERRUM_BACKING_SHAREABLE


@dataclass(frozen=True, kw_only=True)
class VirtualPoolConfig:
    """Settings of a virtual pool.

    Attributes:
        capacity_bytes: address space, rounded up to whole pages.
        page_bytes: a power of two of at least Device.page_sizes(); 0: what the
            device recommends.
        limit_bytes: upper bound of the memory; 0: what the device has.
        ready_pages: how many pages are kept ready while nothing asks for any, up to
            65536; None: the library chooses.
        backing: what the memory behind the pages can do.
        name: in reports, and tag of ranges without one; at most 63 bytes of UTF-8.
    """

    capacity_bytes: int
    page_bytes: int = 0
    limit_bytes: int = 0
    ready_pages: int | None = None
    backing: Backing = Backing.MOVABLE
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class ElasticPoolConfig:
    """Settings of an elastic pool.

    Attributes:
        limit_bytes: upper bound of the memory of all models together; 0: what the
            device has.
        page_bytes, ready_pages, backing: as in VirtualPoolConfig.
        name: in reports; at most 63 bytes of UTF-8.
    """

    limit_bytes: int = 0
    page_bytes: int = 0
    ready_pages: int | None = None
    backing: Backing = Backing.MOVABLE
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Settings of a model in an elastic pool.

    Attributes:
        virtual_bytes: address space, rounded up to whole pages.
        guaranteed_bytes: what is kept of the pool's limit for the model; pages that no
            other model uses or is guaranteed back it.
        max_bytes: what the model may have at most; 0: no bound of its own.
        priority: when pages are short, models of lower priority give first, and
            those of higher priority are served first.
        unscrubbed: its pages may go to another model that is unscrubbed as well
            without being made zeros.
        guarantee_may_wait: what is not backed of guaranteed_bytes waits, and becomes
            effective as pages come back; else OutOfPhysicalMemoryError.
    """

    virtual_bytes: int
    guaranteed_bytes: int = 0
    max_bytes: int = 0
    priority: int = 0
    unscrubbed: bool = False
    guarantee_may_wait: bool = False


@dataclass(frozen=True)
class VirtualPoolInfo:
    """A virtual pool at one moment. Pages are counts.

    Attributes:
        base_address: where the address space starts.
        virtual_capacity_bytes: the address space, in whole pages.
        physical_bytes: memory behind mapped and retiring pages.
        requested_bytes: what the mapped pages were asked for with.
        retiring_pages: freed, and queued work may still use them.
        parked_pages: freed, but still mapped where they were.
        ready_pages: mapped nowhere, ready for any range.
        held_bytes: had from the device.
        available_bytes: what the limit still allows to be mapped.
        allocations: successful ones so far.
        table_bytes: address space of the pool's tables.
        unmapped_share: 1 - mapped pages / all pages.
        fragmentation: 1 - longest free run / free address space.
        asleep_pages, asleep_bytes: of ranges that sleep.
        asleep_host_bytes, asleep_file_bytes: what holds their bytes.
        asleep_discarded_bytes: of ranges of which nothing is kept.
        sleeps, wakes, sleep_failures, wake_failures: calls so far.
        sleep_ns, wake_ns: how long those that worked took in all.
    """

    base_address: int
    page_bytes: int
    virtual_capacity_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    requested_bytes: int
    mapped_pages: int
    retiring_pages: int
    parked_pages: int
    ready_pages: int
    held_bytes: int
    limit_bytes: int
    available_bytes: int
    largest_free_run_bytes: int
    allocations: int
    table_bytes: int
    unmapped_share: float
    fragmentation: float
    asleep_pages: int
    asleep_bytes: int
    asleep_host_bytes: int
    asleep_file_bytes: int
    asleep_discarded_bytes: int
    sleeps: int
    wakes: int
    sleep_ns: int
    wake_ns: int
    sleep_failures: int
    wake_failures: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_vpool_info) -> VirtualPoolInfo:
        """Reads the C struct."""
        return cls(**_fields(cls, raw))


@dataclass(frozen=True)
class ModelInfo:
    """A model at one moment, with the fields of VirtualPoolInfo and of ModelConfig.

    Attributes:
        cached_bytes: memory that the model had last and nobody uses now.
        available_bytes: what the model may still have, without anybody giving.
        frees, failures: so far; a failure is an allocation that found no memory.
        waits, waited_ns: allocations so far that stood in line, and how long.
        reclaim_calls, reclaimed_bytes: calls so far of its reclaim callbacks, and
            what they said to have freed.
        guaranteed_bytes, requested_guarantee_bytes: the guarantee that is in effect, and
            the one that it asked for.
    """

    base_address: int
    page_bytes: int
    virtual_capacity_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    requested_bytes: int
    mapped_pages: int
    retiring_pages: int
    parked_pages: int
    cached_bytes: int
    guaranteed_bytes: int
    max_bytes: int
    priority: int
    available_bytes: int
    largest_free_run_bytes: int
    allocations: int
    frees: int
    failures: int
    waits: int
    waited_ns: int
    reclaim_calls: int
    reclaimed_bytes: int
    table_bytes: int
    unmapped_share: float
    fragmentation: float
    asleep_pages: int
    asleep_bytes: int
    asleep_host_bytes: int
    asleep_file_bytes: int
    asleep_discarded_bytes: int
    sleeps: int
    wakes: int
    sleep_ns: int
    wake_ns: int
    sleep_failures: int
    wake_failures: int
    requested_guarantee_bytes: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_model_info) -> ModelInfo:
        """Reads the C struct."""
        return cls(**_fields(cls, raw))


@dataclass(frozen=True)
class ElasticPoolInfo:
    """An elastic pool at one moment.

    Attributes:
        physical_limit_bytes: of all models together.
        physical_bytes: used by the models; above the limit only after that was
            lowered.
        num_models: how many models are registered.
        virtual_bytes, guaranteed_bytes: of all models together.
        retiring_bytes: freed, and queued work may still use it.
        cached_bytes: had from the device, and nobody uses it.
        held_bytes: had from the device.
        waiting: allocations that stand in line now.
    """

    page_bytes: int
    physical_limit_bytes: int
    physical_bytes: int
    peak_physical_bytes: int
    num_models: int
    virtual_bytes: int
    guaranteed_bytes: int
    retiring_bytes: int
    cached_bytes: int
    held_bytes: int
    waiting: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_elastic_pool_info) -> ElasticPoolInfo:
        """Reads the C struct."""
        return cls(**_fields(cls, raw))


@dataclass(frozen=True)
class CompactReport:
    """What a compaction did.

    Attributes:
        landed_pages: were retiring, and their work was done.
        unmapped_pages: were parked, and are ready for any range now.
        released_bytes: went back to the device.
        runs_before, runs_after: runs of pages that lie one after the other among
            those that no range uses.
    """

    landed_pages: int
    unmapped_pages: int
    released_bytes: int
    runs_before: int
    runs_after: int

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_compact_report) -> CompactReport:
        """Reads the C struct."""
        return cls(**_fields(cls, raw))


def _fields(cls: Any, raw: Any) -> dict[str, Any]:
    return {name: getattr(raw, name) for name in cls.__dataclass_fields__}
