"""Compute: backends that compute operations on tensors. docs/operators.md lists the operations."""

from __future__ import annotations

import contextlib
import ctypes
import json
import threading
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _abi, _async, _callbacks, _library, _native, _onnx_runtime
from ._arguments import choice, handle_of, mapping, object_of, sequence
from ._dtypes import dtype_of, name_of
from ._enums import ComputeGrowth, ComputeType, DType
from ._homes import Home, home_in
from ._owned import Owned, Remaining, Resource
from ._places import raw_memory
from ._values import i64, u32, u64, wrong_class
from ._waits import wait
from .devices import Device, device_for
from .errors import BusyError, InvalidArgumentError
from .program_backends import RegisteredCompute, registered
from .streams import Stream, optional_handle
from .tensors import Tensor

if TYPE_CHECKING:
    from ._places import Place
    from ._records import Statistics
    from .results import (
        ComputeBackends,
        ComputeCapabilities,
        ComputeFinding,
        ComputeStatus,
    )

# What an operation takes: a tensor, an array of NumPy or what numpy.asarray takes, a number, or
# None for an absent input.
Input = Any
# An output: a tensor to write; True: made in the memory of the backend; False: not wanted.
Output = Tensor | bool

# Operators with more than one output that is not optional.
_OUTPUTS = {"TopK": 2, "ferrum.layer_norm_residual": 2, "ferrum.rms_norm_residual": 2}
# Attributes that name a type.
_TYPE_ATTRIBUTES = {"to", "stash_type", "softmax_precision"}
# The most operations of a backend that stay prepared.
_KEPT_OPS = 1024


@dataclass(frozen=True)
class TensorSpec:
    """The type and the shape of a tensor.

    Attributes:
        dtype: type of its elements.
        shape: length of each dimension, the slowest first.
        elements: of an input of Op.infer() that carries a shape, axes or sizes; None: not known.
    """

    dtype: DType
    shape: tuple[int, ...]
    elements: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Inference:
    """What a run will make.

    Attributes:
        outputs: type and shape of each output; None: not wanted.
        workspace_bytes: the memory that the run takes besides its outputs.
    """

    outputs: tuple[TensorSpec | None, ...]
    workspace_bytes: int


def _json_of(attributes: Mapping[str, Any]) -> bytes:
    """Attributes as JSON. None is left out."""

    def value_of(name: str, value: Any) -> Any:
        if name in _TYPE_ATTRIBUTES and not isinstance(value, int):
            return name_of(dtype_of(value))
        if isinstance(value, DType):
            return name_of(value)
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, (list, tuple)):
            return [value_of("", each) for each in value]
        # Numbers and arrays of NumPy.
        return value.tolist() if hasattr(value, "tolist") else value

    given = {name: value_of(name, value) for name, value in attributes.items() if value is not None}
    try:
        return json.dumps(given, sort_keys=True).encode()
    except TypeError as problem:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"attributes {given}: {problem}"
        ) from None


def _count_of(name: str, attributes: Mapping[str, Any], inputs: Sequence[Input]) -> int:
    """The number of outputs of an operator that are not optional."""
    if name != "Split":
        return _OUTPUTS.get(name, 1)
    split = inputs[1] if len(inputs) > 1 and inputs[1] is not None else attributes.get("split")
    if split is not None:
        return len(split)
    count: int = attributes.get("num_outputs") or 1
    return count


class _Operands:
    """The tensors of a call. Arrays and numbers become tensors for the time of the call; the
    library keeps their memory for queued work.
    """

    def __init__(
        self, device: Device, inputs: Sequence[Input], steps: contextlib.ExitStack
    ) -> None:
        first = next((each.dtype for each in inputs if isinstance(each, Tensor)), None)
        self.tensors = [
            each
            if each is None or isinstance(each, Tensor)
            else steps.enter_context(_tensor_of(f"inputs[{at}]", each, device, first))
            for at, each in enumerate(inputs)
        ]
        self.handles = (_abi.ferrum_tensor * max(len(self.tensors), 1))(
            *(_abi.ferrum_tensor() if each is None else each._handle for each in self.tensors)
        )
        self.count = len(self.tensors)


def _tensor_of(name: str, value: Any, device: Device | str, dtype: DType | None) -> Tensor:
    """A tensor over an array. A number gets the type of the first tensor of the call, and a
    list of integers gets i64, as lists of axes and sizes have it.
    """
    import numpy

    from ._dtypes import numpy_dtype

    if isinstance(value, (bool, int, float)) and dtype is not None:
        array = numpy.asarray(value, numpy_dtype(dtype))
    elif isinstance(value, (int, list, tuple)):
        array = numpy.asarray(value)
        if array.size == 0 or array.dtype.kind == "i":
            array = array.astype("int64")
    else:
        array = numpy.asarray(value)
    if array.dtype.hasobject or array.dtype.kind in "US":
        raise wrong_class(name, "a Tensor, an array, a number, a list of them or None", value)
    return Tensor.from_numpy(array, device=device)


class Op:
    """An operation of a backend with its attributes. Compute.op() makes it. It stays prepared
    until the backend is closed. Several threads may run it at a time.
    """

    def __init__(
        self, compute: Compute, name: str, opset: int, attributes: Mapping[str, Any]
    ) -> None:
        self._compute = compute
        self._name = name
        self._attributes = dict(attributes)
        self._key = name, u32("opset", opset), _json_of(attributes)

    @contextlib.contextmanager
    def _prepared(self) -> Iterator[_abi.ferrum_op]:
        """The handle of the operation."""
        kept, library = self._compute._owned.ops, _native.functions()
        handle, is_kept = kept.get(self._key), True
        if handle is None:
            name, opset, attributes = self._key
            handle = _abi.ferrum_op()
            _native.check(
                library.ferrum_op_prepare(
                    self._compute._handle,
                    _native.encode_required("name", name),
                    attributes,
                    len(attributes),
                    opset,
                    ctypes.byref(handle),
                )
            )
            if len(kept) < _KEPT_OPS:
                first = kept.setdefault(self._key, handle)
                if first is not handle:
                    # Another thread has prepared it meanwhile.
                    library.ferrum_op_destroy(handle)
                    handle = first
            else:
                is_kept = False
        try:
            yield handle
        finally:
            if not is_kept:
                library.ferrum_op_destroy(handle)

    def __repr__(self) -> str:
        return f"<ferrum_mem.Op {self._name} on {self._compute.device.id}>"

    @property
    def name(self) -> str:
        """The name of its operator."""
        return self._name

    @property
    def compute(self) -> Compute:
        """Its backend."""
        return self._compute

    def __call__(self, *inputs: Input, stream: Stream | None = None) -> Any:
        """Runs the operation, and returns its output; a tuple for several outputs. The arguments
        are those of run().
        """
        made = self.run(inputs, stream=stream)
        return made[0] if len(made) == 1 else made

    def run(
        self,
        inputs: Sequence[Input],
        outputs: int | Sequence[Output] | None = None,
        *,
        stream: Stream | None = None,
    ) -> tuple[Tensor, ...]:
        """Runs the operation in the order of a stream. If the stream has no work, the operation
        runs in the calling thread and is complete when the call returns. Otherwise it is
        queued, and numpy() of an output waits for it.

        Args:
            inputs: tensors, arrays of NumPy with any strides (without a copy where
                Tensor.from_numpy() makes none), numbers, lists of integers, and None for an
                absent input. A number has the type of the first tensor.
            outputs: how many outputs are made; None: all that are not optional. Or a list: a
                tensor is written, which may be the memory of an input only if the backend
                computes in place; True: made; False: not wanted.
            stream: of the device of the backend; None: its default stream.

        Returns:
            The outputs that are wanted, in their order.

        Raises:
            InvalidArgumentError: inputs that do not fit, with the operator, the input and both
                shapes.
            UnsupportedError: the backend does not compute that.
            UnsupportedDeviceError: a tensor of another device.
            BusyError: the memory of a tensor sleeps.
            PermissionDeniedError: an output is read-only.
            OutOfMemoryError: for outputs or the workspace. After an error outputs are as before.
        """
        function, queue = _native.functions().ferrum_op_run, optional_handle(stream)
        with self._prepared() as handle:
            return _run(self, inputs, outputs, lambda *operands: function(handle, *operands, queue))

    async def run_async(
        self,
        inputs: Sequence[Input],
        outputs: int | Sequence[Output] | None = None,
        *,
        stream: Stream | None = None,
    ) -> tuple[Tensor, ...]:
        """The same as run(), in a thread of the loop's executor. If the task is cancelled, the made
        outputs are closed.
        """
        return await _async.in_thread(
            lambda: self.run(inputs, outputs, stream=stream),
            lambda made: _close_made(made, outputs),
        )

    def infer(
        self, inputs: Sequence[Input | TensorSpec], outputs: int | Sequence[bool] | None = None
    ) -> Inference:
        """The outputs of a run, without running it.

        Args:
            inputs: as for run(); a TensorSpec stands for a contiguous tensor. The elements of
                shapes, axes and sizes are read, or those of their TensorSpec.
            outputs: how many outputs are wanted; None: all that are not optional. Or for each
                output whether it is wanted.

        Raises:
            InvalidArgumentError, UnsupportedError: as for run().
            FerrumOverflowError: an output is too large.
        """
        sequence("inputs", inputs, "tensors")
        if outputs is None:
            outputs = _count_of(self._name, self._attributes, inputs)
        wanted = [True] * outputs if isinstance(outputs, int) else []
        if not isinstance(outputs, int):
            given = sequence("outputs", outputs, "truth values")
            wanted = [object_of("an element of outputs", each, bool) for each in given]
        with self._prepared() as handle, contextlib.ExitStack() as steps:
            given = [each for each in inputs if not isinstance(each, TensorSpec)]
            made = iter(_Operands(self._compute.device, given, steps).tensors)
            descs = (_abi.ferrum_tensor_desc * max(len(inputs), 1))()
            for at, each in enumerate(inputs):
                descs[at] = (
                    _desc_of_spec(each) if isinstance(each, TensorSpec) else _desc_of(next(made))
                )
            found = (_abi.ferrum_tensor_desc * max(len(wanted), 1))()
            for at, is_wanted in enumerate(wanted):
                found[at] = _abi.ferrum_tensor_desc.init()
                found[at].flags = 0 if is_wanted else _abi.FERRUM_ELEMENTS_ABSENT
            workspace = ctypes.c_uint64()
            infer, place = _native.functions().ferrum_op_infer, ctypes.byref(workspace)
            _callbacks.check_compute(
                lambda: infer(handle, descs, len(inputs), found, len(wanted), place)
            )
        return Inference(
            tuple(
                None
                if each.flags & _abi.FERRUM_ELEMENTS_ABSENT
                else TensorSpec(DType(each.dtype), tuple(each.shape[: each.rank]))
                for each in found[: len(wanted)]
            ),
            workspace.value,
        )

    def pack(
        self,
        tensor: Tensor | Any,
        index: int = 1,
        *,
        memory: Place | None = None,
        offset_bytes: int = 0,
        tag: str | None = None,
        stream: Stream | None = None,
    ) -> Tensor:
        """Packs a constant input, such as a matrix of weights, into the layout that the backend
        reads fastest. The packed tensor replaces the input in runs of this operation. Nothing
        else reads its elements.

        Args:
            tensor: the input, or an array of NumPy.
            index: the number of the input; 0 is the first one.
            memory: a pool, a virtual pool or a model, with which the packed tensor sleeps and
                wakes; None: the memory of the backend.
            offset_bytes: of the first page in a virtual pool.
            tag: tag of the memory.
            stream: of the device; None: its default stream.

        Raises:
            UnsupportedError: the input or the type has no such layout.
            InvalidArgumentError: the operator has no such input.
        """
        if memory is None:
            raw, home = _abi.ferrum_weights_memory(), self._compute._home()
        else:
            raw, home = raw_memory(memory, offset_bytes, tag), home_in(memory, tag)
        made = _abi.ferrum_tensor()
        with self._prepared() as handle, contextlib.ExitStack() as steps:
            operands = _Operands(self._compute.device, [tensor], steps)
            _native.check(
                _native.functions().ferrum_op_pack(
                    handle,
                    u32("index", index),
                    operands.handles[0],
                    ctypes.byref(raw),
                    optional_handle(stream),
                    ctypes.byref(made),
                )
            )
        return Tensor._of(made, home)


def _close_made(made: tuple[Tensor, ...], outputs: int | Sequence[Output] | None) -> None:
    given = [] if outputs is None or isinstance(outputs, int) else outputs
    for each in made:
        if not any(each is one for one in given):
            each.close()


def _desc_of(tensor: Tensor | None) -> _abi.ferrum_tensor_desc:
    raw = _abi.ferrum_tensor_desc.init()
    if tensor is None:
        raw.flags = _abi.FERRUM_ELEMENTS_ABSENT
        return raw
    _native.check(_native.functions().ferrum_tensor_describe(tensor._handle, ctypes.byref(raw)))
    if (
        tensor.ndim == 1
        and tensor.size <= _abi.FERRUM_TENSOR_LIST_MAX
        and tensor.dtype in (DType.I64, DType.I32)
        and not tensor.is_packed
    ):
        # The operator may read them. If the memory sleeps, they are not known.
        with contextlib.suppress(BusyError):
            _set_elements(raw, array("q" if tensor.dtype is DType.I64 else "i", tensor.read()))
    return raw


def _set_elements(raw: _abi.ferrum_tensor_desc, elements: Iterable[int]) -> None:
    numbers = [i64("elements", each) for each in elements]
    # The struct keeps the array.
    raw.elements = (ctypes.c_int64 * len(numbers))(*numbers)
    raw.element_count = len(numbers)


def _desc_of_spec(spec: TensorSpec) -> _abi.ferrum_tensor_desc:
    raw = _abi.ferrum_tensor_desc.init()
    rank = len(spec.shape)
    if rank > _abi.FERRUM_TENSOR_RANK_MAX:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT,
            f"{rank} dimensions: a tensor has at most {_abi.FERRUM_TENSOR_RANK_MAX}",
        )
    raw.dtype, raw.rank, raw.flags = dtype_of(spec.dtype), rank, _abi.FERRUM_ELEMENTS_CONTIGUOUS
    raw.shape[:rank] = spec.shape
    if spec.elements is not None:
        _set_elements(raw, spec.elements)
    return raw


def _run(
    op: Op,
    inputs: Sequence[Input],
    outputs: int | Sequence[Output] | None,
    call: Callable[..., int],
) -> tuple[Tensor, ...]:
    """Calls a function of the library with the lists of a run, and returns the outputs."""
    sequence("inputs", inputs, "tensors")
    if outputs is None:
        outputs = _count_of(op._name, op._attributes, inputs)
    wanted: list[Output] = [True] * outputs if isinstance(outputs, int) else []
    if not isinstance(outputs, int):
        wanted = list(sequence("outputs", outputs, "Tensors, True or False"))
    for each in wanted:
        if not isinstance(each, (bool, Tensor)):
            raise wrong_class("an element of outputs", "a Tensor, True or False", each)
    handles = (_abi.ferrum_tensor * max(len(wanted), 1))()
    for at, each in enumerate(wanted):
        if isinstance(each, Tensor):
            handles[at] = each._handle
        else:
            handles[at].id = 0 if each else _abi.FERRUM_TENSOR_UNWANTED
    with contextlib.ExitStack() as steps:
        operands = _Operands(op._compute.device, inputs, steps)
        given = operands.handles, operands.count, handles, len(wanted)
        _callbacks.check_compute(lambda: call(*given))
    return tuple(
        each if isinstance(each, Tensor) else Tensor._of(_copied(handles[at]), op._compute._home())
        for at, each in enumerate(wanted)
        if each is not False
    )


def _copied(handle: _abi.ferrum_tensor) -> _abi.ferrum_tensor:
    """A handle that does not point into an array."""
    made = _abi.ferrum_tensor()
    made.id = handle.id
    return made


class OpSequence(Resource):
    """Operations with fixed tensors that run in one call. Compute.sequence() makes it. It keeps
    its tensors, which may be closed.
    """

    def __init__(self, compute: Compute, handle: _abi.ferrum_sequence) -> None:
        self._compute = compute
        end = _native.functions().ferrum_sequence_destroy
        label = f"OpSequence on {compute.device.id}"
        self._own(Remaining(label, lambda: end(handle), compute._owned), handle)

    @property
    def compute(self) -> Compute:
        """Its backend."""
        return self._compute

    def add(
        self,
        op: Op,
        inputs: Sequence[Input],
        outputs: int | Sequence[Output] | None = None,
    ) -> tuple[Tensor, ...]:
        """Adds a run of an operation at the end, with the arguments of Op.run(). An output can be
        an input of the next operation at once. The elements of shapes, axes and sizes are
        read now, and stay as they are; the memory of arrays of NumPy is shared until the
        sequence is closed.

        Returns:
            The outputs that are wanted, in their order.

        Raises:
            InvalidArgumentError: the operation is of another backend; errors of Op.run().
            BusyError: the sequence runs.
        """
        function, handle = _native.functions().ferrum_sequence_add, self._handle
        with object_of("op", op, Op)._prepared() as prepared:
            return _run(
                op, inputs, outputs, lambda *operands: function(handle, prepared, *operands)
            )

    def run(self, *, stream: Stream | None = None) -> None:
        """Runs all operations in the order of a stream, as Op.run() does.

        Raises:
            BusyError: the memory of a tensor sleeps.
            Others: errors of the operations. If one fails, those before it have run.
        """
        function, handle = _native.functions().ferrum_sequence_run, self._handle
        queue = optional_handle(stream)
        _callbacks.check_compute(lambda: function(handle, queue))

    async def run_async(self, *, stream: Stream | None = None) -> None:
        """The same as run(), in a thread of the loop's executor."""
        await _async.in_thread(lambda: self.run(stream=stream))


class _OpenCompute(Owned):
    """The record of a backend. It ends the prepared operations before the backend. They are
    prepared again if the backend could not be ended.
    """

    def __init__(
        self,
        label: str,
        handle: _abi.ferrum_compute,
        device: Device,
        at_end: Callable[[], None] | None,
    ) -> None:
        self._compute = handle
        # By name, opset and attributes.
        self.ops: dict[tuple[str, int, bytes], _abi.ferrum_op] = {}
        self.registration: RegisteredCompute | None = None
        super().__init__(label, self._close, device._node, at_end)

    def _close(self, flags: int) -> int:
        library = _native.functions()
        while self.ops:
            try:
                _, op = self.ops.popitem()
            except KeyError:
                break
            library.ferrum_op_destroy(op)
        return library.ferrum_compute_close(self._compute, flags)

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks it as ended, and lets its registration end."""
        super().finish(doomed)
        self.registration = None


def _config_of(
    *,
    backend: ComputeType | str = ComputeType.CPU,
    threads: int = 0,
    optimization_level: int = 2,
    debug: bool = False,
    pool_size_bytes: int = 0,
    alignment_bytes: int = 0,
    pooling: bool = True,
    growth: ComputeGrowth = ComputeGrowth.DYNAMIC,
    options: Mapping[str, Any] | None = None,
) -> _abi.ferrum_compute_config:
    """The settings of a backend for a call of the library, without a device."""
    config = _abi.ferrum_compute_config.init()
    if isinstance(backend, str):
        known = ComputeType.__members__.get(backend.upper(), ComputeType.CUSTOM)
        config.type = known
        if known is ComputeType.CUSTOM:
            config.name = _native.encode_required("backend", backend)
    else:
        config.type = choice("backend", backend, ComputeType)
    config.optimization_level = u32("optimization_level", optimization_level)
    config.threads = u32("threads", threads)
    config.enable_debug, config.enable_pooling = bool(debug), bool(pooling)
    config.growth = choice("growth", growth, ComputeGrowth)
    config.pool_size_bytes = u64("pool_size_bytes", pool_size_bytes)
    config.alignment_bytes = u64("alignment_bytes", alignment_bytes)
    if options is not None and mapping("options", options):
        config.options_json = json.dumps(dict(options)).encode()
        config.options_bytes = len(config.options_json)
    return config


class Compute(Resource):
    """A backend that computes operations, open on a device, with memory of its own.

    Args:
        device: the device, or its id. With an id the backend opens and closes the device.
        backend: the kind of the backend, its name such as "cpu", or the name of a registered
            backend.
        threads: number of threads that compute; 0: as many as the process may use.
        optimization_level: 0 to 3. At 0 each run plans anew; from 1 on plans are kept by shapes.
            The CPU engine plans the same at 1, 2 and 3. The level changes no result.
        debug: fill new and freed memory with patterns, and check the bytes around blocks.
        pool_size_bytes: the most memory of the backend; 0: no bound with ComputeGrowth.DYNAMIC,
            otherwise 1 GiB, or a quarter of the device if that is less.
        alignment_bytes: alignment of its blocks, a power of two; 0: 256.
        pooling: keep freed memory for the next allocation.
        growth: when memory is taken from the device.
        options: options of the backend, such as {"instruction_set": "avx2"}, or for ONNX Runtime
            {"prepacking": True}.

    Raises:
        UnsupportedError: the library does not have the backend; the message has the reason.
        UnsupportedDeviceError: it does not compute on the device.
        NotFoundError: no backend has the name.
        InvalidConfigError: a setting is wrong; the message names it.
    """

    _owned: _OpenCompute

    def __init__(
        self,
        device: Device | str,
        *,
        backend: ComputeType | str = ComputeType.CPU,
        threads: int = 0,
        optimization_level: int = 2,
        debug: bool = False,
        pool_size_bytes: int = 0,
        alignment_bytes: int = 0,
        pooling: bool = True,
        growth: ComputeGrowth = ComputeGrowth.DYNAMIC,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        config = _config_of(
            backend=backend,
            threads=threads,
            optimization_level=optimization_level,
            debug=debug,
            pool_size_bytes=pool_size_bytes,
            alignment_bytes=alignment_bytes,
            pooling=pooling,
            growth=growth,
            options=options,
        )
        if _onnx_runtime.is_meant(backend):
            _onnx_runtime.hand_over()
        handle, library = _abi.ferrum_compute(), _native.functions()
        with device_for(device) as (opened, at_end):
            config.device = opened._handle
            _native.check(library.ferrum_compute_open(ctypes.byref(config), ctypes.byref(handle)))
            self._device = opened
            name = backend if isinstance(backend, str) else ComputeType(backend).name.lower()
            label = f"Compute {name} on {opened.id}"
            self._own(_OpenCompute(label, handle, opened, at_end), handle)
            # Collected after the backend that uses it.
            self._owned.registration = registered(name)

    @staticmethod
    def check(device: Device | None = None, **settings: Any) -> None:
        """Checks settings without opening a backend. Raises the errors of Compute().

        Args:
            device: the device; None: it is not checked.
            settings: the keywords of Compute().
        """
        _library.ensure_started()
        config = _config_of(**settings)
        if device is not None:
            config.device = handle_of("device", device, Device)
        _native.check(_native.functions().ferrum_compute_validate(ctypes.byref(config)))

    @property
    def device(self) -> Device:
        """The device of the backend."""
        return self._device

    def statistics(self) -> Statistics:
        """The counters of the memory of the backend."""
        from ._records import Statistics

        raw, library = _abi.ferrum_statistics.init(), _native.functions()
        _native.check(library.ferrum_manager_get_statistics(self._manager(), ctypes.byref(raw)))
        return Statistics.from_abi(raw)

    def _manager(self) -> _abi.ferrum_manager:
        """The manager of the memory of the backend, which belongs to the backend."""
        manager = _abi.ferrum_manager()
        _native.check(
            _native.functions().ferrum_compute_get_manager(self._handle, ctypes.byref(manager))
        )
        return manager

    def _home(self) -> Home:
        """That of tensors in the memory of the backend."""
        return Home(self._owned, self._device)

    def op(self, name: str, *, opset: int = 0, **attributes: Any) -> Op:
        """Prepares an operation.

        Args:
            name: the operator, such as "MatMul" or "ferrum.linear".
            opset: the version of the operator's domain; 0: the newest that is known.
            attributes: those of the operator. A type may be a DType, its name, or a type of
                NumPy.

        Raises:
            NotFoundError: no operator has the name; the message has the nearest one.
            InvalidArgumentError: for an attribute; the message has the nearest one.
            UnsupportedError: for the opset, and if the backend does not compute the operator.
        """
        made = Op(self, name, opset, attributes)
        with made._prepared():
            return made

    def run(
        self,
        name: str,
        inputs: Sequence[Input],
        outputs: int | Sequence[Output] | None = None,
        *,
        opset: int = 0,
        stream: Stream | None = None,
        **attributes: Any,
    ) -> tuple[Tensor, ...]:
        """Runs an operation: op() and Op.run() in one call.

            y, = compute.run("MatMul", [a, b])

        Args:
            name,opset,attributes: as for op().
            inputs,outputs,stream: as for Op.run().
        """
        return Op(self, name, opset, attributes).run(inputs, outputs, stream=stream)

    async def run_async(
        self,
        name: str,
        inputs: Sequence[Input],
        outputs: int | Sequence[Output] | None = None,
        *,
        opset: int = 0,
        stream: Stream | None = None,
        **attributes: Any,
    ) -> tuple[Tensor, ...]:
        """The same as run(), in a thread of the loop's executor. If the task is cancelled, the made
        outputs are closed.
        """
        return await _async.in_thread(
            lambda: self.run(name, inputs, outputs, opset=opset, stream=stream, **attributes),
            lambda made: _close_made(made, outputs),
        )

    def sequence(self) -> OpSequence:
        """Creates an empty sequence of operations."""
        handle = _abi.ferrum_sequence()
        _native.check(
            _native.functions().ferrum_sequence_create(self._handle, ctypes.byref(handle))
        )
        return OpSequence(self, handle)

    def capabilities(self) -> ComputeCapabilities:
        """The properties of the backend. docs/compute.md documents the fields."""
        handle, function = self._handle, _native.functions().ferrum_compute_capabilities_json
        found: ComputeCapabilities = _native.read_json(lambda *room: function(handle, *room))
        return found

    def status(self) -> ComputeStatus:
        """The state of the backend. Does not wait for the device. docs/compute.md documents the
        fields.
        """
        handle, function = self._handle, _native.functions().ferrum_compute_status_json
        found: ComputeStatus = _native.read_json(lambda *room: function(handle, *room))
        return found

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until all work of the device of the backend is done.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            timeout_s: seconds; None: no limit; 0: do not wait, only check.

        Raises:
            TimeoutError: the timeout has passed.
            Others: the error of work that has failed.
        """
        handle, function = self._handle, _native.functions().ferrum_compute_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def close(self, *, force: bool = False) -> None:
        """Closes the backend and releases its memory.

        Args:
            force: also while sequences and tensors of it exist; waits for queued work.

        Raises:
            BusyError: a sequence or a tensor in its memory exists; nothing has changed.
            ViewExistsError: with force, an array uses a tensor.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)


def compute_backends() -> ComputeBackends:
    """All backends in alphabetical order, also those that are not available, with the reason.
    docs/compute.md documents the fields.
    """
    _library.ensure_started()
    _onnx_runtime.hand_over()
    found: ComputeBackends = _native.read_json(_native.functions().ferrum_compute_backends_json)
    return found


def find_compute(requirements: Mapping[str, Any] | None = None, **more: Any) -> ComputeFinding:
    """Chooses a backend by requirements, and states for each other one why not. docs/compute.md
    documents the fields and the order of backends that meet all requirements.

    Args:
        requirements: by the names of the fields, such as {"required_dtypes": ["bf16"]}.
        more: further ones.

    Returns:
        "best" has the name for Compute(backend=); it is empty if no backend meets them.

    Raises:
        InvalidFormatError: for an unknown field, and for a value of another kind.
    """
    _library.ensure_started()
    _onnx_runtime.hand_over()
    given = {} if requirements is None else mapping("requirements", requirements)
    text = json.dumps({**given, **more}).encode()
    function = _native.functions().ferrum_compute_find_json
    found: ComputeFinding = _native.read_json(lambda *room: function(text, len(text), *room))
    return found


# The backends of the operators of Tensor, by the handle of the device. The tensors that need one
# keep it.
_defaults: weakref.WeakValueDictionary[int, Compute] = weakref.WeakValueDictionary()
# A callback of the program may run inside it, when the collector ends a tensor.
_defaults_lock = threading.RLock()


def default_compute(device: Device) -> Compute:
    """The backend of the operators of Tensor on a device. It is closed when nothing refers to it
    and no tensor in its memory exists.
    """
    _native.refuse_forked()
    key = device._handle.id
    with _defaults_lock:
        found = _defaults.get(key)
        if found is None or found.closed:
            found = Compute(device)
            found._owned.is_silent = True
            _defaults[key] = found
        return found
