"""Placement: choosing a device for a request, and the reasons."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _abi, _callbacks, _library, _native
from ._arguments import callable_of, choice, handle_of, listed, object_of
from ._enums import MemoryType, PressureProfile
from ._enums_by_hand import PressureLevel
from ._owned import Owned, Resource
from ._values import NS_PER_SECOND, lifetime, u64
from .devices import Device, device_id_of

if TYPE_CHECKING:
    from .results import PlacementExplanation


@dataclass(frozen=True, kw_only=True)
class _Requirements:
    """The common fields of PlacementRequest and PlacementQuestion."""

    strict: bool = False
    memory_type: MemoryType = MemoryType.GENERAL
    alignment_bytes: int = 0
    critical: bool = False
    refuse_critical: bool = False
    expected_lifetime_s: float | None = None
    profile: PressureProfile = PressureProfile.STANDARD


@dataclass(frozen=True, kw_only=True)
class PlacementRequest(_Requirements):
    """The requirements of a request besides its size. The defaults require nothing.

    Attributes:
        preferred: devices in the order of preference.
        strict: the first preferred device that can serve the request is chosen. Otherwise a
            preference adds to the score.
        memory_type: the use of the memory.
        alignment_bytes: a power of two; 0: any.
        critical: exclude devices that would have to reclaim memory first.
        refuse_critical: exclude devices that would reach the level CRITICAL. Otherwise they
            come last.
        expected_lifetime_s: None: unknown.
        profile: the profile of the levels.
    """

    preferred: Sequence[Device] = ()


@dataclass(frozen=True, kw_only=True)
class PlacementQuestion(_Requirements):
    """A whole request, for a custom strategy. Fields that are not described here have the
    meaning of PlacementRequest.

    Attributes:
        size_bytes: the requested size.
        preferred: ids of devices in the order of preference.
    """

    size_bytes: int
    preferred: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlacementOption:
    """A candidate, for a custom strategy.

    Attributes:
        index: the value that a strategy returns to choose it.
        serves: whether it can serve the request.
    """

    index: int
    device: str
    serves: bool
    needed_bytes: int
    total_bytes: int
    used_bytes: int
    free_bytes: int
    largest_free_bytes: int
    tier: int
    preferred_rank: int
    level_after: PressureLevel


Chooser = Callable[[PlacementQuestion, list[PlacementOption]], "int | None"]


def _array(name: str, devices: Sequence[Device]) -> tuple[Any, int]:
    """The handles of devices as an array, and their number."""
    given = listed(name, devices, "Devices")
    handles = [handle_of(f"{name}[{i}]", device, Device) for i, device in enumerate(given)]
    return (_abi.ferrum_device * max(len(handles), 1))(*handles), len(handles)


def _request(
    size_bytes: int, requirements: PlacementRequest | None, devices: Sequence[Device] | None
) -> _abi.ferrum_placement_request:
    """The request as a struct of the library. The struct keeps its lists alive."""
    if requirements is None:
        requirements = PlacementRequest()
    raw = _abi.ferrum_placement_request.init()
    raw.size_bytes = u64("size_bytes", size_bytes)
    object_of("requirements", requirements, PlacementRequest)
    raw.memory_type = choice("memory_type", requirements.memory_type, MemoryType)
    raw.alignment_bytes = u64("alignment_bytes", requirements.alignment_bytes)
    raw.expected_lifetime_ns = lifetime("expected_lifetime_s", requirements.expected_lifetime_s)
    raw.preferred, raw.preferred_count = _array("preferred", requirements.preferred)
    if devices is not None:
        raw.devices, raw.device_count = _array("devices", devices)
    raw.flags = (
        (_abi.FERRUM_PLACEMENT_CRITICAL if requirements.critical else 0)
        | (_abi.FERRUM_PLACEMENT_STRICT if requirements.strict else 0)
        | (_abi.FERRUM_PLACEMENT_REFUSE_CRITICAL if requirements.refuse_critical else 0)
    )
    raw.profile = choice("profile", requirements.profile, PressureProfile)
    return raw


def _question(raw: _abi.ferrum_placement_request) -> PlacementQuestion:
    """Reads the request that the library passes. It is valid only during that call."""
    lifetime_ns = raw.expected_lifetime_ns
    return PlacementQuestion(
        size_bytes=raw.size_bytes,
        preferred=tuple(device_id_of(raw.preferred[i]) or "" for i in range(raw.preferred_count)),
        strict=bool(raw.flags & _abi.FERRUM_PLACEMENT_STRICT),
        memory_type=MemoryType(raw.memory_type),
        alignment_bytes=raw.alignment_bytes,
        critical=bool(raw.flags & _abi.FERRUM_PLACEMENT_CRITICAL),
        refuse_critical=bool(raw.flags & _abi.FERRUM_PLACEMENT_REFUSE_CRITICAL),
        expected_lifetime_s=lifetime_ns / NS_PER_SECOND if lifetime_ns else None,
        profile=PressureProfile(raw.profile),
    )


def _option(index: int, raw: _abi.ferrum_placement_option) -> PlacementOption:
    return PlacementOption(
        index=index,
        device=device_id_of(raw.device) or "",
        serves=raw.reason < _abi.FERRUM_PLACEMENT_NO_INFORMATION,
        needed_bytes=raw.needed_bytes,
        total_bytes=raw.total_bytes,
        used_bytes=raw.used_bytes,
        free_bytes=raw.free_bytes,
        largest_free_bytes=raw.largest_free_bytes,
        tier=raw.tier,
        preferred_rank=raw.preferred_rank,
        level_after=PressureLevel(raw.level_after),
    )


class Placement(Resource):
    """A placement strategy.

    Args:
        name: "best_fit", "best_fit_original", "spread", "pack" or "round_robin"; with
            choose, any other name.
        choose: a custom strategy: choose(question, options) returns the index of an option,
            or None. question is the whole request, a PlacementQuestion. An exception in it
            fails the selection with InternalError and goes to sys.unraisablehook.

    Raises:
        NotFoundError: no built-in strategy has the name.
    """

    def __init__(self, name: str = "best_fit", choose: Chooser | None = None) -> None:
        _library.ensure_started()
        handle = _abi.ferrum_placement()
        text = _native.encode_required("name", name)
        key = 0
        if choose is None:
            _native.check(_native.functions().ferrum_placement_create(text, ctypes.byref(handle)))
        else:
            asked = callable_of("choose", choose)
            key = _callbacks.create_placement(
                text,
                lambda request, raw, count: asked(
                    _question(request), [_option(i, raw[i]) for i in range(count)]
                ),
                handle,
            )
        end = _native.functions().ferrum_placement_destroy
        self._own(
            Owned(
                f"Placement {name}",
                lambda _flags: end(handle),
                _library.opens,
                lambda: _callbacks.forget_placement(key),
            ),
            handle,
        )

    @property
    def name(self) -> str:
        """The name of the strategy."""
        buffer, length = ctypes.create_string_buffer(64), ctypes.c_size_t()
        _native.check(
            _native.functions().ferrum_placement_get_name(
                self._handle, buffer, len(buffer), ctypes.byref(length)
            )
        )
        return buffer.value.decode()

    def select(
        self,
        size_bytes: int,
        devices: Sequence[Device],
        requirements: PlacementRequest | None = None,
    ) -> Device:
        """Chooses a device for a request. Of equal devices it chooses the first.

        Raises:
            NotFoundError: no device can serve it; the message states the reason for each.
        """
        devices = listed("devices", devices, "Devices")
        raw = _request(size_bytes, requirements, devices)
        chosen = _abi.ferrum_device()
        _native.check(
            _native.functions().ferrum_placement_select(
                self._handle, ctypes.byref(raw), ctypes.byref(chosen)
            )
        )
        return next(device for device in devices if device._handle.id == chosen.id)

    def explain(
        self,
        size_bytes: int,
        devices: Sequence[Device] | None = None,
        requirements: PlacementRequest | None = None,
    ) -> PlacementExplanation:
        """The device that select() would choose now, and the reasons. The header describes the
        keys at ``ferrum_placement_explain_json``.

        Args:
            devices: None: all devices that this process has open.
        """
        raw = _request(size_bytes, requirements, devices)
        function = _native.functions().ferrum_placement_explain_json
        found: PlacementExplanation = _native.read_json(
            lambda *buffer: function(self._handle, ctypes.byref(raw), *buffer)
        )
        return found
