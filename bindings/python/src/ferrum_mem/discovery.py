"""The available backends, and the choice of a device."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from . import _abi, _library, _native
from ._enums_by_hand import BackendType
from ._owned import ending
from ._records import HostInfo
from ._values import i32, u64
from .devices import Device


@dataclass(frozen=True)
class BackendChoice:
    """A chosen device.

    Attributes:
        device_index: index of the device in its backend.
        device_id: for example "cuda:0".
        total_bytes: its capacity; 0 means unknown.
        free_bytes: free bytes at the time of the query; 0 means unknown.
        tried: the devices that were checked, as (id, reason). The chosen one is last.
    """

    backend: BackendType
    device_index: int
    device_id: str
    total_bytes: int
    free_bytes: int
    tried: tuple[tuple[str, str], ...]


def refresh_backends() -> None:
    """Queries all backends again. Without it, backends() returns the last result."""
    _library.ensure_started()
    _native.check(_native.functions().ferrum_backends_refresh())


def backend_summary() -> str:
    """All backends with their devices or errors, as text for people."""
    _library.ensure_started()
    return _native.read_text(_native.functions().ferrum_backends_summary)


def print_backend_summary() -> None:
    """Prints backend_summary()."""
    print(backend_summary(), end="")


def best_available_backend() -> BackendType:
    """The backend that an automatic choice tries first."""
    _library.ensure_started()
    out = ctypes.c_int32()
    _native.check(_native.functions().ferrum_backend_best(ctypes.byref(out)))
    return BackendType(out.value)


def select_backend_for_model(
    required_bytes: int, preference: BackendType = BackendType.AUTO
) -> BackendChoice:
    """The first device with that many free bytes. The device is not opened.

    Raises:
        OutOfMemoryError: no device has them; the message lists the devices.
        BackendUnavailableError: no device exists.
    """
    _library.ensure_started()
    raw = _abi.ferrum_backend_choice.init()
    _native.check(
        _native.functions().ferrum_backend_select(
            i32("preference", preference), u64("required_bytes", required_bytes), ctypes.byref(raw)
        )
    )
    return _choice(raw)


def init_backend_with_memory_check(
    preference: BackendType, required_bytes: int
) -> tuple[Device, BackendChoice]:
    """Opens the first device with that many free bytes. The device is checked again once it is
    open.

    Raises:
        OutOfMemoryError: no device has them; the message lists the devices.
        BackendUnavailableError: no device exists.
    """
    _library.ensure_started()
    functions = _native.functions()
    raw = _abi.ferrum_backend_choice.init()
    handle = _abi.ferrum_device()
    _native.check(
        functions.ferrum_backend_open(
            i32("preference", preference),
            u64("required_bytes", required_bytes),
            ctypes.byref(handle),
            ctypes.byref(raw),
        )
    )
    choice = _choice(raw)

    def close() -> None:
        _native.check(functions.ferrum_device_close(handle, 0))

    # Both opens have the same handle; the caller gets the second one.
    with ending(choice, f"Device {choice.device_id}", close):
        device = Device(choice.device_id)
    return device, choice


def device_can_fit(device_id: str, size_bytes: int) -> bool:
    """Whether size_bytes fit into the free memory of a device, or into 80 % of its capacity if
    the free memory is unknown.
    """
    _library.ensure_started()
    out = ctypes.c_uint32()
    text = _native.encode_required("device_id", device_id)
    size = u64("size_bytes", size_bytes)
    _native.check(_native.functions().ferrum_device_can_fit(text, size, ctypes.byref(out)))
    return bool(out.value)


def host_info() -> HostInfo:
    """Describes this machine. Does not need the library to run."""
    raw = _abi.ferrum_host_info.init()
    _native.check(_native.functions().ferrum_host_get_info(ctypes.byref(raw)))
    return HostInfo.from_abi(raw)


def round_up_power_of_2(n: int) -> int:
    """The smallest power of two that is at least n; 1 for 0. OverflowError above 2**63."""
    out = ctypes.c_uint64()
    _native.check(_native.functions().ferrum_round_up_power_of_2(u64("n", n), ctypes.byref(out)))
    return out.value


def size_class(size_bytes: int) -> int:
    """The bucket of a size: the next power of two."""
    out = ctypes.c_uint64()
    size = u64("size_bytes", size_bytes)
    _native.check(_native.functions().ferrum_size_class(size, ctypes.byref(out)))
    return out.value


def compute_f32_bytes(count: int) -> int:
    """Bytes of count 32-bit floats."""
    out = ctypes.c_uint64()
    _native.check(_native.functions().ferrum_f32_bytes(u64("count", count), ctypes.byref(out)))
    return out.value


def compute_f16_bytes(count: int) -> int:
    """Bytes of count 16-bit floats."""
    out = ctypes.c_uint64()
    _native.check(_native.functions().ferrum_f16_bytes(u64("count", count), ctypes.byref(out)))
    return out.value


def _choice(raw: _abi.ferrum_backend_choice) -> BackendChoice:
    lines = raw.tried.decode(errors="replace").splitlines()
    return BackendChoice(
        backend=BackendType(raw.backend),
        device_index=raw.device_index,
        device_id=raw.id.decode(),
        total_bytes=raw.total_bytes,
        free_bytes=raw.free_bytes,
        tried=tuple((name, why) for name, _, why in (line.partition(": ") for line in lines)),
    )
