"""Which backends there are, and which of them to take."""

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
    """A device that was chosen.

    Attributes:
        device_index: position of the device within its backend.
        device_id: for example "cuda:0".
        total_bytes: its capacity; 0 means unknown.
        free_bytes: what was free when it was looked at; 0 if not known.
        tried: what was looked at, as (id, why not); the chosen one is the last.
    """

    backend: BackendType
    device_index: int
    device_id: str
    total_bytes: int
    free_bytes: int
    tried: tuple[tuple[str, str], ...]


def refresh_backends() -> None:
    """Asks all backends again; backends() and all here give what was found last."""
    _library.ensure_started()
    _native.check(_native.functions().ferrum_backends_refresh())


def backend_summary() -> str:
    """All backends with their devices or errors, for people."""
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
    """The first device that has room for that many bytes; it is not opened.

    Raises:
        OutOfMemoryError: none has; the message says what was tried.
        BackendUnavailableError: there is no device to look at.
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
    """Opens the first device that has room, also by its own word once it is open.

    Raises:
        OutOfMemoryError: none has; the message says what was tried.
        BackendUnavailableError: there is no device to look at.
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

    # One device has one handle: the second open of it is what the caller gets.
    with ending(choice, f"Device {choice.device_id}", close):
        device = Device(choice.device_id)
    return device, choice


def device_can_fit(device_id: str, size_bytes: int) -> bool:
    """Whether it fits what is free on a device or, where that is unknown, 80 % of it."""
    _library.ensure_started()
    out = ctypes.c_uint32()
    text = _native.encode("device_id", device_id)
    size = u64("size_bytes", size_bytes)
    _native.check(_native.functions().ferrum_device_can_fit(text, size, ctypes.byref(out)))
    return bool(out.value)


def host_info() -> HostInfo:
    """What is known of this machine; the library need not run."""
    raw = _abi.ferrum_host_info.init()
    _native.check(_native.functions().ferrum_host_get_info(ctypes.byref(raw)))
    return HostInfo.from_abi(raw)


def round_up_power_of_2(n: int) -> int:
    """The least power of two that is n or more; 1 for 0. OverflowError above 2**63."""
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
    """Bytes of that many 32-bit floats."""
    out = ctypes.c_uint64()
    _native.check(_native.functions().ferrum_f32_bytes(u64("count", count), ctypes.byref(out)))
    return out.value


def compute_f16_bytes(count: int) -> int:
    """Bytes of that many 16-bit floats."""
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
