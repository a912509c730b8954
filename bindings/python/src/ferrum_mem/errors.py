"""Exceptions: one tree, with a class for each status of the library.

Every exception is a FerrumError. If Python has a class with the same meaning, the exception
is also one of that class: OutOfMemoryError is a MemoryError, InvalidArgumentError and its
subclasses are ValueErrors, FerrumTimeoutError is a TimeoutError, and so on. No class has
the name of a builtin: where the status would give such a name, the name begins with Ferrum.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from . import _abi

_NAMES = {row.value: row.name for row in _abi.STATUSES}

# The numbers that an error can carry, with their flags.
FACTS = {
    name.removeprefix("FERRUM_FACT_").lower(): flag
    for name, flag in vars(_abi).items()
    if name.startswith("FERRUM_FACT_")
}


class FerrumError(Exception):
    """A call of ferrum_mem failed.

    Attributes:
        status: number of the status, negative.
        name: its name, such as "FERRUM_ERROR_BUSY".
        message: the problem, with the argument and its value.
        function: C function that failed, or "".
        operation: operation inside the library, such as "pool.alloc", or "".
        device: id of the device, such as "cpu:0", or "".
        native_code: number from the vendor's runtime or the system, or 0.
        model: model of an elastic pool, or "".
        offset_bytes, size_bytes, capacity_bytes, page_bytes, requested_bytes,
        available_bytes, largest_free_bytes: the numbers of the error; None if the error
            does not carry them.
    """

    offset_bytes: int | None
    size_bytes: int | None
    capacity_bytes: int | None
    page_bytes: int | None
    requested_bytes: int | None
    available_bytes: int | None
    largest_free_bytes: int | None

    def __init__(
        self,
        status: int,
        message: str,
        *,
        function: str = "",
        operation: str = "",
        device: str = "",
        native_code: int = 0,
        model: str = "",
        facts: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.name = _NAMES.get(status, "FERRUM_ERROR_UNKNOWN")
        self.message = message
        self.function = function
        self.operation = operation
        self.device = device
        self.native_code = native_code
        self.model = model
        for name in FACTS:
            setattr(self, name, (facts or {}).get(name))

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.device, self.operation) if part)
        native = f", native code {self.native_code}" if self.native_code else ""
        return f"{place}{': ' if place else ''}{self.message} ({self.name}{native})"

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("function", "operation", "device", "native_code", "model")
        fields: dict[str, Any] = {name: getattr(self, name) for name in names}
        values = {name: getattr(self, name) for name in FACTS}
        fields["facts"] = {name: value for name, value in values.items() if value is not None}
        return _rebuild, (type(self), self.status, self.message, fields)


def _rebuild(
    cls: type[FerrumError], status: int, message: str, fields: dict[str, Any]
) -> FerrumError:
    return cls(status, message, **fields)


class InternalError(FerrumError, RuntimeError):
    """A defect of the library."""


class PoisonedError(FerrumError, RuntimeError):
    """The library stopped after a defect."""


class InvalidStateError(FerrumError, RuntimeError):
    """Not possible in the present state."""


class ForkedError(InvalidStateError):
    """Called in a forked child."""


class NotInitializedError(InvalidStateError):
    """The library has not been started."""


class InvalidArgumentError(FerrumError, ValueError):
    """An argument is not valid. Also the base of more specific errors."""


class NullPointerError(InvalidArgumentError):
    """A required pointer is NULL."""


class InvalidHandleError(InvalidArgumentError):
    """Not a live object of this kind: it was closed, freed, or ended with its owner."""


class InvalidSizeError(InvalidArgumentError):
    """A size is zero or not possible."""


class InvalidAlignmentError(InvalidArgumentError):
    """An alignment is not a power of two, or is out of bounds."""


class InvalidStructError(InvalidArgumentError):
    """A struct's size, reserved field or tail is wrong."""


class InvalidOffsetError(InvalidArgumentError):
    """An offset or a range is out of bounds."""


class InvalidAddressError(InvalidArgumentError):
    """Not the address of a live block."""


class DoubleFreeError(InvalidAddressError):
    """The block was freed before."""


class InvalidConfigError(InvalidArgumentError):
    """A configuration contradicts itself."""


class InvalidFormatError(InvalidArgumentError):
    """Input is malformed."""


class InvalidPageSizeError(InvalidArgumentError):
    """Not a page size of this device."""


class BufferTooSmallError(InvalidArgumentError):
    """The caller's buffer is too small."""


class FerrumOverflowError(FerrumError, OverflowError):
    """Arithmetic on the arguments overflows, or a number does not fit its type."""


class OutOfMemoryError(FerrumError, MemoryError):
    """Not enough memory. The message states the free memory and who holds the rest."""


class OutOfVirtualMemoryError(OutOfMemoryError):
    """Not enough address space."""


class OutOfPhysicalMemoryError(OutOfMemoryError):
    """Not enough physical memory under the limit."""


class ResourceExhaustedError(FerrumError):
    """A resource other than memory is used up."""


class BusyError(FerrumError):
    """In use; nothing has changed."""


class ViewExistsError(BusyError, BufferError):
    """The memory has a memoryview or an array; nothing has changed."""


class FerrumTimeoutError(FerrumError, TimeoutError):
    """Not done in time."""


class CancelledError(FerrumError):
    """Cancelled."""


class NotFoundError(FerrumError, LookupError):
    """Not found."""


class AlreadyExistsError(FerrumError):
    """Exists already."""


class DeviceNotFoundError(NotFoundError):
    """No such device."""


class BackendUnavailableError(FerrumError):
    """The backend cannot be used here."""


class UnsupportedError(FerrumError, NotImplementedError):
    """The device or build lacks this capability."""


class UnsupportedDeviceError(UnsupportedError):
    """The device is of the wrong kind for this."""


class DeviceError(FerrumError):
    """The device's runtime reported an error."""


class DeviceLostError(DeviceError):
    """The device is lost."""


class MappingError(FerrumError):
    """Mapping or unmapping memory failed."""


class MappingFailedError(MappingError):
    """Mapping memory failed."""


class UnmappingFailedError(MappingError):
    """Unmapping memory failed."""


class AlreadyMappedError(MappingError):
    """Mapped already."""


class NotMappedError(MappingError):
    """Not mapped."""


class ModelError(FerrumError):
    """The model cannot be used."""


class ModelNotFoundError(ModelError, LookupError):
    """No such model."""


class ModelAlreadyExistsError(ModelError):
    """The model exists already."""


class IoError(FerrumError, OSError):
    """Reading or writing failed."""


class PermissionDeniedError(IoError, PermissionError):
    """Not permitted."""


class NetworkError(IoError):
    """The network failed."""


class AuthenticationError(FerrumError):
    """Not authenticated."""


class RateLimitedError(FerrumError):
    """Too many requests."""


class SerializationError(FerrumError, ValueError):
    """A value cannot be written or read as text."""


class CorruptedError(FerrumError):
    """Bytes beside a block, or of a freed block, were overwritten."""


def _table() -> dict[int, type[FerrumError]]:
    """The class of each status: FERRUM_ERROR_OUT_OF_MEMORY is OutOfMemoryError, and so on.
    FERRUM_ERROR_TIMEOUT is FerrumTimeoutError, because TimeoutError is a builtin.
    """
    table = {}
    for row in _abi.STATUSES:
        if row.value == _abi.FERRUM_OK:
            continue
        words = row.name.removeprefix("FERRUM_ERROR_").split("_")
        name = "".join(word.capitalize() for word in words) + "Error"
        table[row.value] = globals()[f"Ferrum{name}" if hasattr(builtins, name) else name]
    return table


_CLASSES = _table()


def class_of(status: int) -> type[FerrumError]:
    """The exception class of a status; FerrumError for a status of a newer library."""
    return _CLASSES.get(status, FerrumError)
