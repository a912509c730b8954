"""Compute backends of the program."""

from __future__ import annotations

import ctypes
import gc
import json
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from . import _abi, _callbacks, _library, _native
from ._arguments import listed, object_of
from ._dtypes import numpy_dtype
from ._enums import DType
from ._owned import Owned, Resource
from ._values import u64, wrong_class
from .errors import InvalidStateError, UnsupportedError

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True)
class ComputePlan:
    """How a backend computes a call.

    Attributes:
        workspace_bytes: the memory that a run needs besides inputs and outputs.
        in_place: an output may be the memory of an input of the same type and strides.
    """

    workspace_bytes: int = 0
    in_place: bool = False


class ComputeOperand:
    """An input or an output of a call. It is valid while the call runs.

    Attributes:
        dtype: type of its elements.
        shape: length of each dimension, the slowest first.
        strides: distance from one index of a dimension to the next, in elements.
        address: that of the element whose indices are all 0, as the device addresses it; 0 in a
            plan.
        size_bytes: size of the elements without gaps.
        read_only: it is an input.
    """

    def __init__(self, raw: _abi.ferrum_tensor_desc, is_host: bool) -> None:
        self.dtype = DType(raw.dtype)
        self.shape: tuple[int, ...] = tuple(raw.shape[: raw.rank])
        self.strides: tuple[int, ...] = tuple(raw.strides[: raw.rank])
        self.address: int = raw.address
        self.size_bytes: int = raw.size_bytes
        self.read_only = bool(raw.flags & _abi.FERRUM_ELEMENTS_READ_ONLY)
        self._is_host = is_host
        self._is_over = False
        # The arrays of which all others are views.
        self._arrays: list[weakref.ref[numpy.ndarray[Any, Any]]] = []

    def numpy(self) -> numpy.ndarray[Any, Any]:
        """The elements as an array of NumPy without a copy, which ends with the call. That of an
        input cannot be written.

        Raises:
            UnsupportedError: the host cannot address the elements, or NumPy has no such type.
            InvalidStateError: in a plan, and after the call.
        """
        import numpy

        element = numpy_dtype(self.dtype)
        if self._is_over or (self.size_bytes and not self.address):
            raise InvalidStateError(
                _abi.FERRUM_ERROR_INVALID_STATE,
                "the elements of an operand exist only while run() is called",
            )
        if not self._is_host:
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED, "the host cannot address the elements: use address"
            )
        if 0 in self.shape:
            array: numpy.ndarray[Any, Any] = numpy.empty(self.shape, element)
        else:
            spans = [
                (length - 1) * stride * element.itemsize
                for length, stride in zip(self.shape, self.strides, strict=True)
            ]
            low, high = sum(min(each, 0) for each in spans), sum(max(each, 0) for each in spans)
            memory = (ctypes.c_char * (high - low + element.itemsize)).from_address(
                self.address + low
            )
            whole = numpy.frombuffer(memory, "uint8")
            self._arrays.append(weakref.ref(whole))
            strides = tuple(each * element.itemsize for each in self.strides)
            array = numpy.ndarray(self.shape, element, whole, -low, strides)
        array.flags.writeable = not self.read_only
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def _end(self) -> bool:
        """Ends the operand. Returns whether no array of it is left."""
        self._is_over = True
        return all(array() is None for array in self._arrays)

    def __repr__(self) -> str:
        return f"<ferrum_mem.ComputeOperand {self.dtype.name.lower()}{list(self.shape)}>"


class ComputeCall:
    """An operation that a backend computes. It is valid while the function that gets it runs.

    Attributes:
        name: the operator, such as "MatMul" or "ferrum.linear".
        opset: the version of the operator's domain that introduced this form of the operator.
        attributes: those that were given or have a default. A type is its name.
        inputs, outputs: None: not given, or not wanted.
        workspace: address of the memory of a run, aligned to 64 bytes; 0: none.
        workspace_bytes: its size.
    """

    def __init__(self, raw: _abi.ferrum_compute_call) -> None:
        domain, name = (raw.domain or b"").decode(), (raw.name or b"").decode()
        self.name = f"{domain}.{name}" if domain else name
        self.opset: int = raw.opset
        self.attributes: dict[str, Any] = json.loads(raw.attributes_json or b"{}")
        is_on_host = is_host(raw.device.id)
        self.inputs = _operands(raw.inputs, raw.input_count, is_on_host)
        self.outputs = _operands(raw.outputs, raw.output_count, is_on_host)
        self.workspace: int = raw.workspace
        self.workspace_bytes: int = raw.workspace_bytes

    def _end(self) -> bool:
        ended = [each._end() for each in (*self.inputs, *self.outputs) if each is not None]
        return all(ended)

    def _is_free(self) -> bool:
        """Ends the call. Returns whether the program has kept no array of it."""
        if self._end():
            return True
        # An exception that the function has handled may be in a cycle with its frame.
        gc.collect()
        return self._end()


def _operands(raw: Any, count: int, is_host: bool) -> tuple[ComputeOperand | None, ...]:
    return tuple(
        None if raw[at].flags & _abi.FERRUM_ELEMENTS_ABSENT else ComputeOperand(raw[at], is_host)
        for at in range(count)
    )


# By the handles of devices, which are used once. 0 is memory of the host without a device.
_hosts: dict[int, bool] = {0: True}


def is_host(device_id: int) -> bool:
    """Whether the host addresses the memory of a device with this handle."""
    known = _hosts.get(device_id)
    if known is None:
        info = _abi.ferrum_device_info.init()
        device = _abi.ferrum_device(device_id)
        _native.check(_native.functions().ferrum_device_get_info(device, ctypes.byref(info)))
        known = bool(info.capabilities & _abi.FERRUM_CAPABILITY_HOST_ADDRESSABLE)
        _hosts[device_id] = known
    return known


class ProgramBackend(Protocol):
    """A backend of the program. Only run() is needed. Several threads may call a method at a time,
    and a run may be on a thread of a stream: it must not wait for a stream, and so cannot run
    operations of fm.Compute. An exception becomes the error of the call: that of the package
    keeps its class, NotImplementedError becomes UnsupportedError, any other InternalError.
    """

    def run(self, call: ComputeCall) -> object:
        """Computes the outputs of a call from its inputs."""

    # Optional methods:
    #
    # def plan(self, call: ComputeCall) -> ComputePlan | None: states how it computes a call, whose
    #     operands have no elements yet; NotImplementedError: it does not compute the call.
    # def synchronize(self) -> object: waits for work that run() has left.
    # def close(self) -> object: called once after the end of the registration.


class RegisteredCompute(Resource):
    """A registered backend of the program. register_compute() makes it. close() removes it, and
    raises BusyError while the backend is open.
    """

    def __init__(
        self, name: str, handle: _abi.ferrum_registration, forget: Callable[[], None]
    ) -> None:
        self._name = name
        end = _native.functions().ferrum_registration_remove
        label = f"RegisteredCompute {name}"
        self._own(Owned(label, lambda _: end(handle), _library.opens, forget), handle)

    @property
    def name(self) -> str:
        """The name for Compute(backend=)."""
        return self._name


# An open backend keeps its registration.
_registered: weakref.WeakValueDictionary[str, RegisteredCompute] = weakref.WeakValueDictionary()


def registered(name: str) -> RegisteredCompute | None:
    """The registration of a name by this package."""
    return _registered.get(name)


def register_compute(
    name: str,
    backend: ProgramBackend | Callable[[ComputeCall], object],
    *,
    devices: Iterable[str] = ("cpu:0",),
    version: str = "",
    **capabilities: Any,
) -> RegisteredCompute:
    """Registers a compute backend of the program. fm.Compute(device, backend=name) opens it.

        def run(call):
            numpy.add(*call.inputs, out=call.outputs[0].numpy())

        with fm.register_compute("adder", run), fm.Compute("cpu:0", backend="adder") as compute:
            (y,) = compute.run("Add", [a, b])

    Args:
        name: 1 to 63 letters, digits, "_", "-" and ".".
        backend: an object with the method run() and the other methods of ProgramBackend, or a
            function that is its run().
        devices: ids of the devices on which it computes.
        version: a text for people.
        capabilities: further properties, as docs/compute.md has them, such as
            supported_dtypes=["f32"].

    Raises:
        AlreadyExistsError: a backend or a kind of backends has the name.
        InvalidArgumentError: for the name.
        InvalidFormatError, InvalidConfigError: for the properties.
    """
    _library.ensure_started()
    if not callable(getattr(backend, "run", backend)):
        raise wrong_class("backend", "a callable or an object with a method run()", backend)
    ids = [
        object_of("an element of devices", each, str) for each in listed("devices", devices, "str")
    ]
    raw = _abi.ferrum_compute_backend.init()
    raw.name, raw.version = (
        _native.encode("name", name),
        _native.encode("version", object_of("version", version, str)),
    )
    raw.capabilities_json = json.dumps({**capabilities, "supported_devices": ids}).encode()
    raw.capabilities_bytes = len(raw.capabilities_json)
    functions = _Functions(backend)
    raw.plan, raw.run, raw.synchronize, raw.release, raw.user_data, forget = _callbacks.compute_of(
        functions.plan, functions.run, functions.synchronize, functions.close
    )
    handle = _abi.ferrum_registration()
    status = _native.functions().ferrum_compute_register(ctypes.byref(raw), ctypes.byref(handle))
    if status < 0:
        error = _native.error_of(status)
        forget()
        raise error
    made = _registered[name] = RegisteredCompute(name, handle, forget)
    return made


class _Functions:
    """The functions of a backend for the library."""

    def __init__(self, backend: Any) -> None:
        self._run = getattr(backend, "run", backend)
        self._plan = getattr(backend, "plan", None)
        self._synchronize = getattr(backend, "synchronize", None)
        self._close = getattr(backend, "close", None)

    def plan(self, raw: _abi.ferrum_compute_call, made: _abi.ferrum_compute_plan) -> None:
        if self._plan is None:
            return
        call = ComputeCall(raw)
        plan = self._plan(call)
        call._end()
        if plan is None:
            return
        if not isinstance(plan, ComputePlan):
            raise TypeError(f"plan() must return a ComputePlan, not {type(plan).__name__}")
        made.workspace_bytes = u64("workspace_bytes", plan.workspace_bytes)
        made.flags = _abi.FERRUM_COMPUTE_PLAN_IN_PLACE if plan.in_place else 0

    def run(self, raw: _abi.ferrum_compute_call) -> None:
        call = ComputeCall(raw)
        try:
            self._run(call)
        except BaseException:
            call._end()
            raise
        if not call._is_free():
            raise InvalidStateError(
                _abi.FERRUM_ERROR_INVALID_STATE,
                "run() has kept an array of an operand, whose memory ends: copy what stays",
            )

    def synchronize(self) -> None:
        if self._synchronize is not None:
            self._synchronize()

    def close(self) -> None:
        if self._close is not None:
            self._close()
