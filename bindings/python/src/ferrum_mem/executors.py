"""Executors: models that are built and can run. docs/models.md explains them."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _abi, _async, _callbacks, _native
from ._arguments import choice, file_path, listed, mapping, object_of
from ._enums import BuildPhase, SleepBacking
from ._owned import Owned, Remaining, Resource
from ._records import WakeReport
from ._values import u32, u64, wait_limit_ns, wrong_class
from ._waits import wait
from .compute import Compute, Input, _copied, _tensor_of
from .elastic_pools import ElasticPool
from .errors import FerrumTimeoutError, UnsupportedError
from .sleep import SleepReport
from .streams import Stream, optional_handle
from .tensors import Tensor

if TYPE_CHECKING:
    from .devices import Device
    from .results import BuildReport, ExecutorInfo

# The outputs of a run: their names; or for each name True, or a tensor that is written.
Outputs = Iterable[str] | Mapping[str, Tensor | bool]


@dataclass(frozen=True)
class BuildProgress:
    """The progress of a build.

    Attributes:
        phase: the phase. The phases follow each other in their order.
        progress: the part that is done, 0 to 1. It never decreases.
        elapsed_s: seconds since the beginning.
        remaining_s: the estimate of the remaining seconds; None: not known.
        done_bytes: bytes of the phase that are done.
        total_bytes: bytes of the phase; 0 for a phase without bytes.
        operation: what the build does now.
    """

    phase: BuildPhase
    progress: float
    elapsed_s: float
    remaining_s: float | None
    done_bytes: int
    total_bytes: int
    operation: str

    @classmethod
    def from_abi(cls, raw: _abi.ferrum_build_progress) -> BuildProgress:
        """Reads the C struct."""
        return cls(
            phase=BuildPhase(raw.phase),
            progress=raw.progress,
            elapsed_s=raw.elapsed_seconds,
            remaining_s=None if raw.remaining_seconds < 0 else raw.remaining_seconds,
            done_bytes=raw.done_bytes,
            total_bytes=raw.total_bytes,
            operation=(raw.operation or b"").decode(),
        )


@dataclass(frozen=True)
class PlannedStep:
    """An operation of a plan.

    Attributes:
        node: the id of its node.
        operation: the name of its operator.
        workspace_bytes: the part of the arena that only this step uses.
        tiles: how often it runs: once for each tile of its loop, or once.
    """

    node: str
    operation: str
    workspace_bytes: int
    tiles: int


@dataclass(frozen=True)
class PlannedLoop:
    """Steps that run tile by tile: all for the first part of a dimension, then all for the next.

    Attributes:
        dimension: its name at the inputs of the model, or "".
        first_time: the time of the first step.
        last_time: the time of the last step.
        tiles: the number of parts.
        length: the length of the dimension.
        tile_length: the length of a part; the last parts may have one less.
    """

    dimension: str
    first_time: int
    last_time: int
    tiles: int
    length: int
    tile_length: int


@dataclass(frozen=True)
class PlannedBuffer:
    """A piece of the arena.

    Attributes:
        name: the node that first writes it.
        role: "input", "activation", "output" or "workspace".
        offset_bytes: from the beginning of the arena.
        size_bytes: its size.
        first_time: it is live from this time on. Inputs are written at 0, and step i runs at i + 1.
        last_time: it is live up to this time.
        values: how many values it holds one after another.
    """

    name: str
    role: str
    offset_bytes: int
    size_bytes: int
    first_time: int
    last_time: int
    values: int


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of the activations of a model for given lengths of its dimensions.

    Attributes:
        dimensions: the lengths of the dimensions.
        arena_bytes: the size of the arena.
        lower_bound_bytes: no arena is smaller.
        sum_bytes: what the buffers would take without sharing memory.
        parameter_bytes: the memory of the parameters, which all shapes share.
        steps: the operations in their order.
        buffers: the pieces of the arena.
        loops: the steps that run tile by tile.
    """

    dimensions: dict[str, int]
    arena_bytes: int
    lower_bound_bytes: int
    sum_bytes: int
    parameter_bytes: int
    steps: tuple[PlannedStep, ...]
    buffers: tuple[PlannedBuffer, ...]
    loops: tuple[PlannedLoop, ...]


def plan_of(function: Callable[..., int], dimensions: Mapping[str, int]) -> MemoryPlan:
    """The plan that a function of the library makes of the lengths of dimensions, as JSON."""
    lengths = {name: u64(name, length) for name, length in dimensions.items()}
    text = json.dumps(lengths).encode()
    found = _native.read_json(lambda *room: function(text, len(text), *room))

    def known(cls: Any, raw: dict[str, Any]) -> Any:
        # A later library may add fields.
        return cls(**{key: raw[key] for key in cls.__dataclass_fields__})

    found["steps"] = tuple(known(PlannedStep, each) for each in found["steps"])
    found["buffers"] = tuple(known(PlannedBuffer, each) for each in found["buffers"])
    found["loops"] = tuple(known(PlannedLoop, each) for each in found["loops"])
    made: MemoryPlan = known(MemoryPlan, found)
    return made


class Parts:
    """What all handles of a built model use.

    Args:
        compute: the backend.
        pool: the memory.
        own: the backend and the pool that the build opened. They end with the last handle.
    """

    def __init__(self, compute: Compute, pool: ElasticPool, own: Iterable[Owned]) -> None:
        self.compute = compute
        self.pool = pool
        self._own = tuple(own)
        self._calls: set[object] = set()

    @contextlib.contextmanager
    def used_by(self, owned: Owned) -> Iterator[None]:
        """Keeps what the build opened until the block is left. The handle owned must be checked
        inside, because another thread may end it.
        """
        call = object()
        self._calls.add(call)
        try:
            yield
        finally:
            self._calls.discard(call)
            if owned.ended:
                self.end_own()

    def end_own(self) -> None:
        """Ends what the build opened: now, or after the last call or object that uses it."""
        if not self._calls:
            for each in self._own:
                each.end_quietly()


class _Keeping(Remaining):
    """A record that keeps a model: that of a handle or of a name. Backend and pool depend on it.
    A forced end of one of them ends the model. Then the handle stays, and is destroyed here.
    """

    def __init__(self, label: str, end: Callable[[int], int], parts: Parts) -> None:
        self._destroy_with = end
        self._parts = parts
        super().__init__(label, lambda: end(0), parts.compute._owned, self._left)
        parts.pool._owned.add(self)

    def _end_once(self, flags: int) -> int:
        status = self._destroy_with(flags)
        self._is_destroyed = status >= 0
        return status

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks it as ended, and destroys what its owner has left."""
        if not self._is_destroyed and not self.ended:
            # A call that fails because of the end may still use the model. Force waits for it.
            self._end_once(_abi.FERRUM_FORCE)
        super().finish(doomed)

    def hand_over(self) -> None:
        """Marks it as ended without ending the native object, which another record ends."""
        self._is_destroyed = True
        self.finish()

    def _left(self) -> None:
        # Finalizers come here, so nothing may wait.
        self._parts.pool._owned.remove(self)
        self._parts.end_own()


# The names that this package gave. Guarded by _names_lock, except for a forced end.
_names: dict[str, tuple[_Keeping, Parts]] = {}
_names_lock = threading.Lock()


def onnx_flags(external: bool, replace: bool) -> int:
    """The flags of an export as a file of ONNX."""
    made = _abi.FERRUM_ONNX_EXTERNAL if external else 0
    return made | (_abi.FERRUM_ONNX_REPLACE if replace else 0)


class Executor(Resource):
    """A built model that can run. models.build() makes it. Several threads may use it; their runs
    follow each other.

        m = fm.models.build("minilm")
        m(input_ids=ids, attention_mask=mask)["last_hidden_state"].numpy()
    """

    def __init__(self, handle: _abi.ferrum_executor, parts: Parts) -> None:
        destroy = _native.functions().ferrum_executor_destroy
        self._parts = parts
        # Its id is known after a call.
        label = f"Executor on {parts.compute.device.id}"
        self._own(_Keeping(label, lambda flags: destroy(handle, flags), parts), handle)
        found = self.info()
        self._id = found["id"]
        self._outputs = tuple(found["outputs"])
        self._owned.label = f"Executor {self._id!r} on {parts.compute.device.id}"

    @property
    def id(self) -> str:
        """The id of the model in its pool."""
        return self._id

    @property
    def device(self) -> Device:
        """The device of the model."""
        return self._parts.compute.device

    @property
    def compute(self) -> Compute:
        """The backend that computes. One that the build opened ends with the model."""
        return self._parts.compute

    @property
    def pool(self) -> ElasticPool:
        """The pool with the memory of the model. One that the build made ends with the model."""
        return self._parts.pool

    def __call__(
        self,
        *,
        outputs: Outputs | None = None,
        stream: Stream | None = None,
        timeout_s: float | None = None,
        **inputs: Input,
    ) -> dict[str, Tensor]:
        """The same as run(), with the inputs as keywords."""
        return self.run(inputs, outputs, stream=stream, timeout_s=timeout_s)

    def run(
        self,
        inputs: Mapping[str, Input],
        outputs: Outputs | None = None,
        *,
        stream: Stream | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Tensor]:
        """Runs the model. Returns when the outputs are complete.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Args:
            inputs: by their names: tensors, arrays of NumPy, numbers or lists. An input that has a
                default may be missing or None. Integers and floating-point numbers of another
                type are converted.
            outputs: the names of the outputs that are wanted; None: all. Or a mapping: a tensor
                is written, True is made, False is not wanted.
            stream: the run comes after its queued work; None: the default stream.
            timeout_s: the longest wait for other calls of the model, and for a sleeping model to
                wake; None: no limit; 0: do not wait.

        Returns:
            The outputs by their names. numpy.asarray() makes an array of one.

        Raises:
            InvalidArgumentError: a name is missing or unknown, a shape does not fit, a sequence
                is too long, or an id is not in the vocabulary.
            BusyError: timeout_s is 0, and the call would wait.
            TimeoutError: the timeout has passed.
            OutOfMemoryError: for the arena or an output. After an error no output was made.
        """
        given = {name: each for name, each in mapping("inputs", inputs).items() if each is not None}
        with self._parts.used_by(self._owned):
            return self._run(given, self._wanted(outputs), stream, timeout_s)

    def _run(
        self,
        given: dict[str, Input],
        wanted: dict[str, Tensor | None],
        stream: Stream | None,
        timeout_s: float | None,
    ) -> dict[str, Tensor]:
        function, handle, queue = (
            _native.functions().ferrum_executor_run,
            self._handle,
            optional_handle(stream),
        )
        ins = (_abi.ferrum_named_tensor * max(len(given), 1))()
        outs = (_abi.ferrum_named_tensor * max(len(wanted), 1))()
        for at, (name, out) in enumerate(wanted.items()):
            outs[at].name = _native.encode_required("a name in outputs", name)
            if out is not None:
                outs[at].tensor = out._handle
        # An array is in memory of the host. The library copies it for a model on another device.
        on = self.device if self.device._info.host_addressable else "cpu:0"
        with contextlib.ExitStack() as steps:
            for at, (name, each) in enumerate(given.items()):
                ins[at].name = _native.encode_required("a name in inputs", name)
                if not isinstance(each, Tensor):
                    each = _tensor_of(f"inputs[{name!r}]", each, on, None)
                    steps.enter_context(each)
                ins[at].tensor = each._handle

            def attempt(timeout_ns: int) -> int:
                try:
                    _callbacks.check_compute(
                        lambda: function(
                            handle, ins, len(given), outs, len(wanted), queue, timeout_ns
                        )
                    )
                except FerrumTimeoutError as late:
                    if late.__cause__ is not None:
                        raise  # of a backend of the program
                    return late.status
                return _abi.FERRUM_OK

            wait(attempt, timeout_s)
        home = self.compute._home()
        return {
            name: Tensor._of(_copied(outs[at].tensor), home) if out is None else out
            for at, (name, out) in enumerate(wanted.items())
        }

    def _wanted(self, outputs: Outputs | None) -> dict[str, Tensor | None]:
        """For each output that is wanted the tensor that is written; None: made."""
        if outputs is None:
            return dict.fromkeys(self._outputs)
        if not isinstance(outputs, Mapping):
            names = [
                object_of("an element of outputs", each, str)
                for each in listed("outputs", outputs, "names")
            ]
            return dict.fromkeys(names)
        wanted: dict[str, Tensor | None] = {}
        for name, each in mapping("outputs", outputs).items():
            if not isinstance(each, (bool, Tensor)):
                raise wrong_class(f"outputs[{name!r}]", "a Tensor, True or False", each)
            if each is not False:
                wanted[name] = each if isinstance(each, Tensor) else None
        return wanted

    async def run_async(
        self,
        inputs: Mapping[str, Input],
        outputs: Outputs | None = None,
        *,
        stream: Stream | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Tensor]:
        """The same as run(), in a thread of the loop's executor. If the task is cancelled, the made
        outputs are closed.
        """

        def undo(made: dict[str, Tensor]) -> None:
            given = outputs if isinstance(outputs, Mapping) else {}
            for name, each in made.items():
                if given.get(name) is not each:
                    each.close()

        return await _async.in_thread(
            lambda: self.run(inputs, outputs, stream=stream, timeout_s=timeout_s), undo
        )

    def plan(self, **dimensions: int) -> MemoryPlan:
        """The memory of the activations for given lengths of the dimensions, such as batch=8,
        sequence=128. Allocates nothing; the model may sleep.

        Raises:
            InvalidArgumentError: a dimension is missing or unknown, or the model does not take its
                length.
        """
        handle, function = self._handle, _native.functions().ferrum_executor_plan_json
        return plan_of(lambda *rest: function(handle, *rest), dimensions)

    def info(self) -> ExecutorInfo:
        """The state of the model: its memory, inputs, outputs and counters."""
        handle, function = self._handle, _native.functions().ferrum_executor_info_json
        found: ExecutorInfo = _native.read_json(lambda *room: function(handle, *room))
        return found

    def report(self) -> BuildReport:
        """What the build did: warnings, passes, times and their estimates."""
        handle, function = self._handle, _native.functions().ferrum_executor_report_json
        found: BuildReport = _native.read_json(lambda *room: function(handle, *room))
        return found

    def definition(self) -> str:
        """The definition that runs, after the passes, as JSON."""
        handle, function = self._handle, _native.functions().ferrum_executor_definition_json
        return _native.read_text(lambda *room: function(handle, *room))

    def export_onnx(
        self, file: str | os.PathLike[str], *, external: bool = False, replace: bool = False
    ) -> None:
        """Writes the model as a file of ONNX, from the files or the weights of which it was built:
        its definition before the passes, and the elements as they are stored there.

        Args:
            file, external, replace: as for models.export_onnx().

        Raises:
            InvalidHandleError: the weights of the build were closed.
            AlreadyExistsError, UnsupportedError, ResourceExhaustedError: as models.export_onnx().
        """
        to, flags = file_path("file", file), onnx_flags(external, replace)
        _native.check(_native.functions().ferrum_executor_export_onnx(self._handle, to, flags))

    def is_asleep(self) -> bool:
        """Whether the model sleeps."""
        return self.info()["state"] == "asleep"

    def sleep(
        self,
        *,
        backing: SleepBacking = SleepBacking.HOST,
        directory: str | os.PathLike[str] | None = None,
        timeout_s: float | None = None,
        num_streams: int = 0,
    ) -> SleepReport:
        """Puts the model to sleep: its parameters are kept, and the memory of parameters and
        arena is released. Addresses and plans stay. A run waits for the wake.

        Args:
            backing: where the parameters are kept: SleepBacking.HOST or SleepBacking.FILE.
            directory, num_streams: as for Model.sleep() of a pool.
            timeout_s: the longest duration, with the wait for other calls of the model; None: no
                limit; 0: fail if the call has to wait.

        Raises:
            InvalidStateError: the model sleeps.
            BusyError, TimeoutError: another call uses the model.
            ResourceExhaustedError, IoError, PermissionDeniedError: for the place where the
                parameters are kept. After an error the model is awake.
        """
        raw = _abi.ferrum_sleep_config.init()
        raw.backing = choice("backing", backing, SleepBacking)
        raw.directory = None if directory is None else file_path("directory", directory)
        raw.timeout_ns = wait_limit_ns("timeout_s", timeout_s)
        raw.num_streams = u32("num_streams", num_streams)
        report = _abi.ferrum_sleep_report.init()
        _native.check(
            _native.functions().ferrum_executor_sleep(
                self._handle, ctypes.byref(raw), ctypes.byref(report)
            )
        )
        return SleepReport(
            report.released_bytes, report.elapsed_ns, os.fsdecode(report.path) or None
        )

    def wake(self, *, timeout_s: float | None = None, num_streams: int = 0) -> WakeReport:
        """Wakes the model. Its parameters have the same bits as before.

        Args:
            timeout_s: the longest duration; None: no limit; 0: fail if the call has to wait.
            num_streams: as for Model.wake() of a pool.

        Raises:
            InvalidStateError: the model is awake.
            OutOfMemoryError, CorruptedError, TimeoutError: as for Model.wake(). The model sleeps.
        """
        raw = _abi.ferrum_wake_config.init()
        raw.timeout_ns = wait_limit_ns("timeout_s", timeout_s)
        raw.num_streams = u32("num_streams", num_streams)
        report = _abi.ferrum_wake_report.init()
        _native.check(
            _native.functions().ferrum_executor_wake(
                self._handle, ctypes.byref(raw), ctypes.byref(report)
            )
        )
        return WakeReport.from_abi(report)

    def add_name(self, name: str) -> None:
        """Gives the model a name, under which models.find() finds it. The name keeps the model
        until models.remove_name().

        Args:
            name: 1 to 63 bytes of UTF-8.

        Raises:
            AlreadyExistsError: another model has the name, or this one has a name.
        """
        text, library = _native.encode_required("name", name), _native.functions()
        parts = self._parts

        def end(flags: int) -> int:
            _names.pop(name, None)
            removed = _abi.ferrum_executor()
            status = library.ferrum_executor_remove_name(text, ctypes.byref(removed))
            if status < 0:
                # A forced end of the backend or the pool has ended the name.
                return _abi.FERRUM_OK if status == _abi.FERRUM_ERROR_NOT_FOUND else int(status)
            return int(library.ferrum_executor_destroy(removed, flags))

        with _names_lock:
            _native.check(library.ferrum_executor_add_name(self._handle, text))
            _names[name] = _Keeping(f"name {name!r} of {self._owned.label}", end, parts), parts

    def close(self, *, force: bool = False) -> None:
        """Ends this object. The last one of a model, with its name, frees the memory.

        Args:
            force: waits for the calls that use the model.

        Raises:
            BusyError: another call uses the model; nothing has changed.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)


def find_named(name: str) -> Executor:
    """A further executor of the model with a name."""
    with _names_lock:
        handle, (_, parts) = _named("ferrum_executor_find", name)
        return Executor(handle, parts)


def remove_named(name: str) -> Executor:
    """Ends a name, and returns an executor in its place."""
    with _names_lock:
        handle, (record, parts) = _named("ferrum_executor_remove_name", name)
        del _names[name]
        made = Executor(handle, parts)
        record.hand_over()
        return made


def _named(function: str, name: str) -> tuple[_abi.ferrum_executor, tuple[_Keeping, Parts]]:
    """The handle of a name, and what this package knows of it. The caller holds _names_lock."""
    text, library = _native.encode_required("name", name), _native.functions()
    known, handle = _names.get(name), _abi.ferrum_executor()
    if known is None:
        _native.check(library.ferrum_executor_find(text, ctypes.byref(handle)))
        library.ferrum_executor_destroy(handle, 0)
        raise UnsupportedError(
            _abi.FERRUM_ERROR_UNSUPPORTED, f"another part of the program gave the name {name!r}"
        )
    _native.check(getattr(library, function)(text, ctypes.byref(handle)))
    return handle, known
