"""The enumerations that have methods."""

from __future__ import annotations

import enum

from . import _abi, _native


class PressureLevel(enum.IntEnum):
    """How full a device is. The levels start at 0, 70, 85 and 95 % of its total not free."""

    LOW = _abi.FERRUM_PRESSURE_LOW
    MEDIUM = _abi.FERRUM_PRESSURE_MEDIUM
    HIGH = _abi.FERRUM_PRESSURE_HIGH
    CRITICAL = _abi.FERRUM_PRESSURE_CRITICAL

    @property
    def should_free(self) -> bool:
        """Whether the program should free memory: from HIGH on."""
        return self >= PressureLevel.HIGH

    @property
    def should_deny(self) -> bool:
        """Whether the program should deny requests: at CRITICAL."""
        return self >= PressureLevel.CRITICAL


class BufferLocation(enum.IntEnum):
    """The side of a buffer."""

    GPU = _abi.FERRUM_LOCATION_GPU
    CPU = _abi.FERRUM_LOCATION_CPU

    def __str__(self) -> str:
        return self.name


class BackendType(enum.IntEnum):
    """A backend. AUTO is only a preference."""

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
