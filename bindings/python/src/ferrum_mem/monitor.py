"""The global monitor: the memory of several devices together."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _abi, _callbacks, _library, _native
from ._arguments import callable_of, choice, handle_of
from ._calls import MonitorCalls
from ._enums import PressureProfile
from ._enums_by_hand import PressureLevel
from ._owned import Owned
from ._values import nanoseconds, real, u64, wait_limit_ns
from .devices import Device, device_id_of
from .errors import class_of
from .managers import Manager

if TYPE_CHECKING:
    from .results import MonitorInfo


@dataclass(frozen=True)
class Collected:
    """The result of a collection on one device: the sum over its managers. The fragmentation
    is the highest of the managers.

    Attributes:
        device: its id.
        time_taken_ms: the sum of the managers' times, each rounded up to milliseconds.
        error: the class of the first failure; None: no failure.
    """

    device: str
    managers: int
    fragmentation_before: float
    fragmentation_after: float
    memory_freed_bytes: int
    blocks_moved: int
    blocks_skipped: int
    time_taken_ns: int
    time_taken_ms: int
    error: type[Exception] | None


def pressure_level_of(
    total_bytes: int, free_bytes: int, profile: PressureProfile = PressureProfile.STANDARD
) -> PressureLevel:
    """The level of a device with that capacity and that many free bytes, without hysteresis. A
    capacity of 0 is unknown and gives LOW.
    """
    _library.ensure_started()
    level = _abi.ferrum_pressure_level()
    _native.check(
        _native.functions().ferrum_pressure_level_of(
            choice("profile", profile, PressureProfile),
            u64("total_bytes", total_bytes),
            u64("free_bytes", free_bytes),
            ctypes.byref(level),
        )
    )
    return PressureLevel(level.value)


def pressure_from_utilization(
    ratio: float, profile: PressureProfile = PressureProfile.STANDARD
) -> PressureLevel:
    """The level for a used share, from 0 for empty to 1 for full.

    Raises:
        InvalidArgumentError: it is negative or not a number.
    """
    _library.ensure_started()
    level = _abi.ferrum_pressure_level()
    _native.check(
        _native.functions().ferrum_pressure_from_utilization(
            choice("profile", profile, PressureProfile), real("ratio", ratio), ctypes.byref(level)
        )
    )
    return PressureLevel(level.value)


def _levels(raw: Any, count: int) -> dict[str, PressureLevel]:
    found = ((device_id_of(raw[i].device), PressureLevel(raw[i].level)) for i in range(count))
    return {name: level for name, level in found if name is not None}


class _OpenMonitor(Owned):
    def __init__(self, handle: _abi.ferrum_monitor) -> None:
        library = _native.functions()
        self.handle = handle
        self.key = 0
        super().__init__(
            "Monitor",
            lambda _flags: library.ferrum_monitor_destroy(handle),
            _library.opens,
            self._end_key,
        )

    def _end_key(self) -> None:
        _callbacks.forget_monitor(self.key)

    def at_exit(self) -> None:
        self.close()


class Monitor(MonitorCalls):
    """Watches the memory of several devices through their managers.

    A registration is weak: it does not keep a manager alive, and a closed manager is
    unregistered.

    Args:
        profile: the profile of the levels.
        interval_s: how often devices and system are queried for changes by others while a
            callback is set; None: never. Changes by this process through the library are
            noticed at once.
        ignore_system: ignore the pressure of the system.
    """

    def __init__(
        self,
        profile: PressureProfile = PressureProfile.STANDARD,
        *,
        interval_s: float | None = 1.0,
        ignore_system: bool = False,
    ) -> None:
        _library.ensure_started()
        config = _abi.ferrum_monitor_config.init()
        config.profile = choice("profile", profile, PressureProfile)
        config.interval_ns = max(wait_limit_ns("interval_s", interval_s), 1)
        config.flags = _abi.FERRUM_MONITOR_IGNORE_SYSTEM if ignore_system else 0
        handle = _abi.ferrum_monitor()
        _native.check(
            _native.functions().ferrum_monitor_create(ctypes.byref(config), ctypes.byref(handle))
        )
        self._own(_OpenMonitor(handle), handle)

    def unregister(self, which: Manager | Device) -> None:
        """Stops watching a manager, or all managers of a device.

        Raises:
            NotFoundError: it is not registered.
        """
        library, handle = _native.functions(), handle_of("which", which, Manager, Device)
        if isinstance(which, Device):
            end = library.ferrum_monitor_unregister_device
        else:
            end = library.ferrum_monitor_unregister
        _native.check(end(self._handle, handle))

    def set_callback(self, callback: Callable[[dict[str, PressureLevel]], object] | None) -> None:
        """Sets callback(levels by device id), which is called at every change from now on. It
        replaces the previous callback; None removes it.

        The callback runs on a thread of the library. The call waits for a running call of
        the previous callback, except from inside it.
        """
        if callback is not None:
            callable_of("callback", callback)
        owned = self._owned
        assert isinstance(owned, _OpenMonitor)
        owned.key = _callbacks.set_monitor(
            self._handle,
            owned.key,
            None if callback is None else lambda raw, count: callback(_levels(raw, count)),
        )

    def levels(self, *, max_age_s: float = 0.0) -> dict[str, PressureLevel]:
        """The level of each device, by device id."""
        age = nanoseconds("max_age_s", max_age_s)
        function = _native.functions().ferrum_monitor_get_levels
        found = _native.read_array(
            _abi.ferrum_device_level, lambda *room: function(self._handle, age, *room)
        )
        return _levels(found, len(found))

    def info(self, *, max_age_s: float = 0.0) -> MonitorInfo:
        """The state of the monitor. The header describes the keys at
        ``ferrum_monitor_info_json``.
        """
        age = nanoseconds("max_age_s", max_age_s)
        function = _native.functions().ferrum_monitor_info_json
        found: MonitorInfo = _native.read_json(lambda *buffer: function(self._handle, age, *buffer))
        return found

    def collect(self) -> list[Collected]:
        """Defragments every watched manager, one after another. The record of a device
        contains its failure.
        """
        function = _native.functions().ferrum_monitor_collect
        found = _native.read_array(
            _abi.ferrum_collected, lambda *room: function(self._handle, *room)
        )
        return [_collected(raw) for raw in found]


def _collected(raw: _abi.ferrum_collected) -> Collected:
    return Collected(
        device=device_id_of(raw.device) or "",
        managers=raw.managers,
        fragmentation_before=raw.fragmentation_before,
        fragmentation_after=raw.fragmentation_after,
        memory_freed_bytes=raw.memory_freed_bytes,
        blocks_moved=raw.blocks_moved,
        blocks_skipped=raw.blocks_skipped,
        time_taken_ns=raw.time_taken_ns,
        time_taken_ms=raw.time_taken_ms,
        error=class_of(raw.status) if raw.status < 0 else None,
    )
