"""Memory of any device as arrays of other packages, without a copy: DLPack and the CUDA array
interface.

A capsule of DLPack counts as a view: the block cannot be freed while an array uses it. A
capsule that no consumer has taken is detected when the block is freed, or when the next
capsule is created.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from . import _abi, _native, _owned
from .devices import Device
from .errors import InvalidHandleError, UnsupportedError

_CPU, _CUDA = 1, 2
_UINT = 1
# DLPack's device types, by the name of the backend. Page-locked and managed memory is memory of
# the host.
_BACKENDS = {1: "cpu", 2: "cuda", 3: "cpu", 10: "rocm", 11: "cpu", 13: "cpu"}
# A capsule keeps a pointer to its name.
_NAME, _NAME_VERSIONED = b"dltensor", b"dltensor_versioned"
_USED, _USED_VERSIONED = b"used_dltensor", b"used_dltensor_versioned"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
    )


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype = ctypes.c_int
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]

# DLPACK_FLAG_BITMASK_READ_ONLY
_READ_ONLY = 1

_exports: set[_Export] = set()
# Their deleters may still be running. They are released with the creation of the next one.
_ended: list[_Export] = []


class _Export:
    """A capsule, and the array that has taken it, if one has."""

    def __init__(
        self, block: DeviceArray, managed: Any, versioned: bool, release: Callable[[], None]
    ) -> None:
        self._block: DeviceArray | None = block
        self._release = release
        self._name = _NAME_VERSIONED if versioned else _NAME
        self._deleter = managed.deleter = _Deleter(self._deleted)
        self._managed = managed
        # The capsule has no destructor: the destructor would have to run Python code with
        # an exception pending, for example when a consumer rejects the capsule. This object
        # keeps it.
        self.capsule = _new_capsule(ctypes.addressof(managed), self._name, None)
        block._owned.views.add(self)
        _exports.add(self)

    def _deleted(self, _managed: int | None) -> None:
        self.end()

    def end(self) -> None:
        """Called when no array uses the block through this capsule any more."""
        block, self._block = self._block, None
        if block is not None:
            _ended.append(self)
            _exports.discard(self)
            block._owned.views.discard(self)
            self._release()

    def is_abandoned(self) -> bool:
        """Whether no consumer has taken the capsule and only this object refers to it."""
        # This attribute and the argument of the call refer to it.
        return bool(_is_valid(self.capsule, self._name)) and sys.getrefcount(self.capsule) <= 2


class DeviceArray(_owned.Resource):
    """The array side of a block on any device: DLPack and the CUDA array interface.

    Both show the bytes of a block as a vector of uint8, and a tensor with its type and shape.
    DLPack waits for the work of other streams than the consumer's when the capsule is created.
    The CUDA array interface does not wait.
    """

    # For memory that was adopted as read only, and for mapped tensors.
    _read_only = False

    def _array_range(self) -> tuple[int, int, Device | None]:
        """Address on the device, length and device; None: memory of the host that belongs to no
        device.
        """
        raise NotImplementedError

    def _elements(self) -> tuple[tuple[int, ...], tuple[int, ...], int, int] | None:
        """Shape and strides, and DLPack's code and number of bits of the elements; None: bytes."""
        return None

    def _managed(self, versioned: bool) -> tuple[Any, Callable[[], None]]:
        """DLPack's struct without a deleter, and a function that releases what it uses."""
        address, size_bytes, release = self._held_range()
        try:
            shape, strides, code, bits = self._elements() or ((size_bytes,), (1,), _UINT, 8)
            kind, ordinal = self.__dlpack_device__()
        except BaseException:
            release()
            raise
        managed: Any = _ManagedVersioned() if versioned else _Managed()
        if versioned:
            managed.major, managed.minor = 1, 0
            managed.flags = _READ_ONLY if self._read_only else 0
        managed.tensor.data = address
        managed.tensor.device_type, managed.tensor.device_id = kind, ordinal
        managed.tensor.code, managed.tensor.bits, managed.tensor.lanes = code, bits, 1
        managed.tensor.ndim = len(shape)
        places = ctypes.c_int64 * max(len(shape), 1)
        managed.tensor.shape, managed.tensor.strides = places(*shape), places(*strides)
        return managed, release

    def _held_range(self) -> tuple[int, int, Callable[[], None]]:
        """Address, length, and a function that releases the address."""
        address, size_bytes, _ = self._array_range()
        return address, size_bytes, lambda: None

    def _check_alive(self) -> None:
        with _owned.views_lock:
            is_over = self._owned.is_over()
        if is_over:
            raise InvalidHandleError(
                _abi.FERRUM_ERROR_INVALID_HANDLE, f"the {self._owned.label} has been closed"
            )

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's number of the device type, and the ordinal of the device."""
        self._check_alive()
        device = self._array_range()[2]
        if device is None:
            return _CPU, 0
        info = device._info
        if info.backend == "cuda":
            return _CUDA, info.ordinal
        if info.host_addressable:
            return _CPU, 0
        raise UnsupportedError(
            _abi.FERRUM_ERROR_UNSUPPORTED, f"DLPack has no number for devices of {info.backend}"
        )

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The block as a capsule, for from_dlpack() of other packages.

        Args:
            stream: -1: do not wait. Otherwise the call waits for all work that is queued on
                streams of this package on the device.
            max_version: from (1, 0) on, the array is writable in every consumer, unless
                the block is read-only: it was adopted so, or its tensor is mapped. Below
                (1, 0) a read-only block is rejected.
            dl_device: only the block's own device.
            copy: True is rejected.
        """
        _native.refuse_forked()
        own = self.__dlpack_device__()
        if copy or (dl_device is not None and tuple(dl_device) != own):
            raise BufferError(
                f"copy={copy}, dl_device={dl_device}: the {self._owned.label} can only be shared "
                f"without a copy, on its own device {own}"
            )
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        if self._read_only and not versioned:
            raise BufferError(
                f"the {self._owned.label} is read-only: this needs max_version (1, 0) or later, "
                f"not {max_version}"
            )
        device = self._array_range()[2]
        if stream != -1 and device is not None:
            device.synchronize()
        managed, release = self._managed(versioned)
        try:
            with _owned.views_lock:
                self._check_alive()
                _ended.clear()
                for export in list(_exports):
                    if export.is_abandoned():
                        export.end()
                return _Export(self, managed, versioned, release).capsule
        except BaseException:
            release()
            raise

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The block of a CUDA device for packages that know that interface. The consumer must
        keep the block open and wait for the work on it.
        """
        self._check_alive()
        address, size_bytes, device = self._array_range()
        if device is None or device._info.backend != "cuda":
            raise AttributeError(f"the {self._owned.label} is not on a CUDA device")
        return {
            "version": 3,
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (address, self._read_only),
            "strides": None,
            "stream": None,
        }


def device_of(source: Any) -> str:
    """The id of the device of an object with __dlpack_device__.

    Raises:
        UnsupportedError: no device here has that memory.
    """
    kind, ordinal = source.__dlpack_device__()
    backend = _BACKENDS.get(int(kind))
    if backend is None:
        raise UnsupportedError(
            _abi.FERRUM_ERROR_UNSUPPORTED, f"DLPack's device type {int(kind)} is not known here"
        )
    return f"{backend}:{0 if backend == 'cpu' else ordinal}"


def take(source: Any, call: Callable[[_abi.ferrum_dlpack], int]) -> None:
    """Calls the library with the memory of an object with __dlpack__. The library has taken it
    if the call succeeds; otherwise it still belongs to the object's capsule.
    """
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:
        # An exporter from before version 1.0.
        capsule = source.__dlpack__()
    versioned = bool(_is_valid(capsule, _NAME_VERSIONED))
    given = _abi.ferrum_dlpack.init()
    given.is_versioned = versioned
    given.managed = _pointer_of(capsule, _NAME_VERSIONED if versioned else _NAME)
    _native.check(call(given))
    _rename(capsule, _USED_VERSIONED if versioned else _USED)


def exported(given: _abi.ferrum_dlpack) -> tuple[Any, Callable[[], None]]:
    """The struct that the library has exported, and a function that calls its deleter."""
    address = given.managed or 0
    kind: Any = _ManagedVersioned if given.is_versioned else _Managed
    managed = kind.from_address(address)
    # A copy: the field will have another deleter.
    deleter = _Deleter(ctypes.cast(managed.deleter, ctypes.c_void_p).value or 0)
    return managed, lambda: deleter(address)
