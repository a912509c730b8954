"""The enumerations that can do more than the header says."""

from __future__ import annotations

import enum

from . import _abi, _native


class PressureLevel(enum.IntEnum):
    """How full a device is: from 0, 70, 85 and 95 % of it not free."""

    LOW = _abi.FERRUM_PRESSURE_LOW
    MEDIUM = _abi.FERRUM_PRESSURE_MEDIUM
    HIGH = _abi.FERRUM_PRESSURE_HIGH
    CRITICAL = _abi.FERRUM_PRESSURE_CRITICAL

    @property
    def should_free(self) -> bool:
        """Whether memory ought to be freed: from HIGH on."""
        return self >= PressureLevel.HIGH

    @property
    def should_deny(self) -> bool:
        """Whether requests ought to be denied: at CRITICAL."""
        return self >= PressureLevel.CRITICAL


class BufferLocation(enum.IntEnum):
    """Which side a buffer is on."""

    GPU = _abi.FERRUM_LOCATION_GPU
    CPU = _abi.FERRUM_LOCATION_CPU

    def __str__(self) -> str:
        return self.name


class BackendType(enum.IntEnum):
    """A backend; AUTO is a preference only."""

    AUTO = _abi.FERRUM_BACKEND_AUTO
    CPU = _abi.FERRUM_BACKEND_CPU
    CUDA = _abi.FERRUM_BACKEND_CUDA
    ROCM = _abi.FERRUM_BACKEND_ROCM
    METAL = _abi.FERRUM_BACKEND_METAL
    OPENCL = _abi.FERRUM_BACKEND_OPENCL

    @property
    def backend(self) -> str:
        """The name in device ids, for example "cuda"."""
        return _constant(_native.functions().ferrum_backend_name(self))

    def __str__(self) -> str:
        return _constant(_native.functions().ferrum_backend_display_name(self))


def _constant(text: bytes | None) -> str:
    return (text or b"").decode()
