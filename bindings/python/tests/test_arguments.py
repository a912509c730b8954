"""Arguments of a wrong class, and closed objects, on every public function.

The tests read the signatures of the package. They call each function with one wrong argument at a
time, and expect a TypeError or a ValueError with the name of the parameter. A new function takes
part without a change here. A new parameter may need a valid argument in the table.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
import enum
import inspect
import operator
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import numpy
import pytest
from ferrum_mem._owned import Resource

from .conftest import MIB, SMALL
from .test_models import SMALL_MODEL

PAGE = 2 * MIB

# Classes whose objects only calls of the package create.
CREATED_BY_CALLS = {
    "BufferId", "Executor", "FallbackBuffer", "HostMapping", "Layer", "MappedRange", "MappedSpan",
    "Memory", "Op", "OpSequence", "PoolBatch", "PoolBlock", "RegisteredCompute", "RegisteredPass",
    "Registration", "ReservationArray", "TensorSet", "TrackerView", "WeightTensor",
}  # fmt: skip
# Methods of Python's collections, and a protocol.
COLLECTIONS = {"count", "get", "index", "items", "keys", "values"}
PROTOCOLS = {"GpuMemoryPool", "ProgramBackend"}
# Objects that exist only inside a callback, and a tuple.
WITHOUT_OBJECT = {"ComputeCall", "ComputeOperand", "DecodedFile", "PageSizes"}
# Classes whose objects need a GPU. The events and the stream inherit their methods.
NEED_A_GPU = {"AdoptedEvent", "AdoptedStream", "Graph", "OpenedEvent", "SharedEvent"}
# They take truth values only, and end or start the library of the other tests.
OF_THE_LIBRARY = {"init", "shutdown"}

CACHE = fm.KvCacheConfig(
    block_tokens=4,
    blocks=8,
    sequences=2,
    sequence_tokens=16,
    layers=1,
    kv_heads=1,
    head_dim=8,
)


class World:
    """One object of each class, on two host devices."""

    def __init__(self, steps: contextlib.ExitStack, folder: Path) -> None:
        enter = steps.enter_context
        self.folder = folder
        self.device = enter(fm.Device("cpu:0"))
        self.other_device = enter(fm.Device("cpu:1"))
        self.stream = enter(fm.Stream(self.device))
        self.event = enter(self.stream.record_event())
        self.pool = enter(fm.Pool(self.device, SMALL))
        self.block = enter(self.pool.alloc(4096))
        self.address = self.pool.alloc_address(64)
        steps.callback(self.pool.free_address, self.address)
        self.batch = enter(self.pool.alloc_batch(64, 4))
        self.manager = enter(fm.Manager(self.device))
        self.other_manager = enter(fm.Manager(self.other_device))
        self.memory = enter(self.manager.alloc(4096))
        self.mapping = enter(self.memory.map())
        self.target = enter(self.manager.alloc(4096))
        config = fm.VirtualPoolConfig(capacity_bytes=64 * MIB, page_bytes=PAGE)
        self.space = enter(fm.VirtualPool(self.device, config))
        self.range = enter(self.space.alloc(0, PAGE))
        self.span = self.space.span(0, PAGE)
        self.array = self.space.array()
        self.elastic = enter(fm.ElasticPool(self.device))
        self.model = enter(
            self.elastic.register_model("chat", fm.ModelConfig(virtual_bytes=64 * MIB))
        )
        self.tensor = enter(fm.Tensor(self.pool, fm.DType.F32, (2, 2)))
        self.tensor.fill(0)
        self.cache = enter(fm.KvCache(CACHE, self.pool))
        self.compute = enter(fm.Compute(self.device))
        self.op = self.compute.op("MatMul")
        self.sequence = enter(self.compute.sequence())
        self.executor = enter(fm.models.build(definition=SMALL_MODEL))
        (folder / "w.raw").write_bytes(bytes(16))
        self.source = enter(fm.Weights.raw(folder / "w.raw", "f32", (4,)))
        self.set = enter(self.source.map())
        self.weight = self.set.tensor(0)
        self.decoder = enter(fm.Decoder("toy", lambda *_: False, lambda _: {}))
        self.backend = enter(fm.register_compute("toy", lambda _: None))
        self.pass_of_program = fm.models.OptimizationPass(lambda _: None, "toy")
        self.registered_pass = enter(fm.models.register_pass(self.pass_of_program))
        self.monitor = enter(fm.Monitor())
        self.placement = enter(fm.Placement())
        self.tracker = enter(fm.AllocationTracker())
        tracking = fm.MemoryConfig(track_allocations=True)
        self.objects: fm.GenericMemoryPool[object] = enter(fm.GenericMemoryPool(tracking))
        self.view = self.objects.tracker()
        self.fallback = enter(fm.FallbackManager(self.device, self.other_device))
        self.buffer = enter(self.fallback.alloc(16))
        self.registration = enter(self.device.on_pressure(lambda *_: None))

    def of(self, cls: type) -> Any:
        """The object of a class."""
        return next(each for each in vars(self).values() if type(each) is cls)


# Valid arguments by the name of the parameter, and by "function.parameter" where one name has
# several meanings.
VALID: dict[str, Callable[[World], Any]] = {
    "access": lambda _: fm.HostAccess.READ_ONLY,
    "address": lambda world: world.block.address,
    "age_s": lambda _: 1.0,
    "array": lambda _: [1.0, 2.0],
    "axes": lambda _: 0,
    "axis": lambda _: 0,
    "backend": lambda _: lambda _call: None,
    "blocks": lambda world: [world.block],
    "register_pass.of": lambda _: fm.models.OptimizationPass(lambda _: None, "other"),
    "buffer": lambda _: object(),
    "buffer_id": lambda _: 1,
    "callback": lambda _: lambda *_: 0,
    "choose": lambda _: lambda *_: None,
    "config": lambda _: None,
    "configure_pool.config": lambda _: SMALL,
    "copies": lambda _: [],
    "count": lambda _: 1,
    "data": lambda _: bytes(16),
    "definition": lambda _: SMALL_MODEL,
    "describe": lambda _: lambda *_: {},
    "descriptors": lambda _: [0],
    "destination": lambda world: world.target,
    "destinations": lambda _: {},
    "device": lambda world: world.device,
    "device_id": lambda _: "cpu:0",
    "devices": lambda world: [world.device],
    "dtype": lambda _: fm.DType.U8,
    "dtype_bytes": lambda _: 2,
    "end": lambda world: world.event,
    "enqueue": lambda _: lambda *_: None,
    "estimate_config.config": lambda _: {"model_type": "llama"},
    "event": lambda world: world.event,
    "free_bytes": lambda _: 1,
    "function": lambda _: lambda: None,
    "handle": lambda _: bytes(64),
    "handles": lambda _: bytes(64),
    "head_dim": lambda _: 64,
    "hidden_size": lambda _: 64,
    "hint": lambda _: fm.UsageHint.NONE,
    "host": lambda _: None,
    "inputs": lambda world: [world.tensor, world.tensor],
    "Executor.run.inputs": lambda _: {"x": [[1, 2, 3, 4]]},
    "Executor.run_async.inputs": lambda _: {"x": [[1, 2, 3, 4]]},
    "index": lambda _: 0,
    "pack.index": lambda _: 1,
    "intermediate_size": lambda _: 64,
    "keep_cached_blocks": lambda _: 0,
    "key": lambda _: ...,
    "KvCache.config": lambda _: CACHE,
    "hashes": lambda _: [],
    "layer": lambda _: 0,
    "lengths": lambda _: [],
    "parent": lambda _: 0,
    "prefix_blocks": lambda _: [],
    "sequences": lambda _: [],
    "tokens": lambda _: [],
    "values": lambda _: False,
    "width": lambda _: 1,
    "lease": lambda _: fm.BufferLease(object(), 64, fm.BufferId(0)),
    "length": lambda _: 1,
    "limit_bytes": lambda _: None,
    "loaded": lambda world: world.set,
    "location": lambda _: fm.BufferLocation.CPU,
    "manager": lambda world: world.manager,
    "max_seq_len": lambda _: 64,
    "max_size_bytes": lambda _: None,
    "memory": lambda world: world.pool,
    "fill_async.memory": lambda world: world.memory,
    "memory_type": lambda _: fm.MemoryType.GENERAL,
    "metadata": lambda _: fm.BufferMetadata(fm.BufferId.new(), 64),
    "min_bytes": lambda _: 64,
    "min_held_bytes": lambda _: 0,
    "model_id": lambda _: "other",
    "Model.config": lambda _: fm.ModelConfig(virtual_bytes=64 * MIB),
    "register_model.config": lambda _: fm.ModelConfig(virtual_bytes=64 * MIB),
    "n": lambda _: 3,
    "n_heads": lambda _: 4,
    "n_kv_heads": lambda _: 4,
    "layer_type": lambda _: "toy.other",
    "n_layers": lambda _: 2,
    "name": lambda _: "Add",
    "native_handle": lambda _: 1,
    "num_elements": lambda _: 16,
    "of": lambda world: world.device,
    "offset_bytes": lambda _: 0,
    "op": lambda world: world.op,
    "other": lambda world: world.other_manager,
    "page_bytes": lambda _: PAGE,
    "file": lambda world: world.folder / "new.onnx",
    "models.export_onnx.path": lambda _: None,
    "models.export_onnx.definition": lambda _: SMALL_MODEL,
    "path": lambda world: world.folder / "new.safetensors",
    "peer": lambda world: world.other_device,
    "pool": lambda world: world.pool,
    "Model.pool": lambda world: world.elastic,
    "preference": lambda _: fm.BackendType.AUTO,
    "ranges": lambda _: [(PAGE, PAGE)],
    "ratio": lambda _: 0.5,
    "recognises": lambda _: lambda *_: False,
    "release": lambda _: lambda: None,
    "release_threshold_bytes": lambda _: None,
    "required_bytes": lambda _: 1,
    "shape": lambda _: (2, 2),
    "as_numpy.shape": lambda _: None,
    "array.shape": lambda _: None,
    "raw.shape": lambda _: (16,),
    "expand.shape": lambda _: 2,
    "reshape.shape": lambda _: 4,
    "shared": lambda _: fm.SharedMemory(bytes(64), 0, 64),
    "size_bytes": lambda _: 64,
    "sizes": lambda _: [PAGE],
    "source": lambda world: world.memory,
    "from_dlpack.source": lambda world: world.tensor,
    "Op.pack.memory": lambda world: world.pool,
    "free_address.address": lambda world: world.address,
    "load_into.destinations": lambda world: {next(iter(world.source)): numpy.zeros(4, "f4")},
    "Tensor.copy_from.source": lambda world: world.tensor,
    "raw.source": lambda _: bytes(16),
    "start": lambda _: 0,
    "status": lambda _: 0,
    "stream": lambda world: world.stream,
    "target": lambda _: bytearray(64),
    "prefetch.target": lambda world: world.device,
    "prefetch_async.target": lambda world: world.device,
    "tensor": lambda world: world.tensor,
    "total_bytes": lambda _: 2,
    "VirtualPool.config": lambda _: fm.VirtualPoolConfig(capacity_bytes=64 * MIB),
    "value": lambda _: 0,
    "virtual_bytes": lambda _: 64 * MIB,
    "vocab_size": lambda _: 64,
    "which": lambda world: world.manager,
}

# What the names of types in annotations stand for.
ALIASES = {
    "Chooser": "Callable[..., int]",
    "LogFunction": "Callable[..., object]",
    "Place": "Pool | VirtualPool | Model",
    "Progress": "Callable[..., object]",
    "Shape": "int | Sequence[int]",
}
LISTS = {"Iterable", "Sequence", "list"}
ENUMERATIONS = {
    name
    for name in fm.__all__
    if inspect.isclass(found := getattr(fm, name)) and issubclass(found, enum.Enum)
}


def alternatives(annotation: str) -> list[str]:
    """The parts of a union, without their arguments in brackets."""
    flat = annotation
    while "[" in flat:
        flat = re.sub(r"\[[^][]*\]", "", flat)
    parts = [part.strip() for part in flat.split("|")]
    return [
        each
        for part in parts
        for each in (alternatives(ALIASES[part]) if part in ALIASES else [part])
    ]


def wrong_values(annotation: str, world: World) -> Iterator[Any]:
    """Values that a parameter with the annotation does not take."""
    kinds = set(alternatives(annotation))
    if kinds & {"Any", "B", "bool"}:
        return
    enums = kinds & ENUMERATIONS
    if not kinds & {"int", "float"} and not enums:
        yield 5
    if "str" not in kinds:
        yield "text"
    if "None" not in kinds:
        yield None
    if "float" not in kinds:
        yield 1.5
    if kinds & LISTS:
        yield [object()]
        yield [world.event]
    yield object()
    others = (world.event, world.pool, world.block, world.memory, world.manager, world.device)
    for each in (*others, world.stream):
        if not kinds & {base.__name__ for base in type(each).__mro__}:
            yield each


def functions() -> Iterator[tuple[str, type | None, str]]:
    """Each public function: its full name, its class and its own name."""
    for name in sorted(set(fm.__all__) - OF_THE_LIBRARY - PROTOCOLS - WITHOUT_OBJECT):
        found = getattr(fm, name)
        if not callable(found):
            continue
        if not inspect.isclass(found):
            yield name, None, name
            continue
        if issubclass(found, (BaseException, enum.Enum, dict)) or dataclasses.is_dataclass(found):
            continue
        if name not in CREATED_BY_CALLS:
            yield name, None, name
        for method, value in inspect.getmembers(found):
            if method[0] == "_" or method in COLLECTIONS or name in NEED_A_GPU:
                continue
            if inspect.isfunction(value) or inspect.ismethod(value):
                yield f"{name}.{method}", found, method
    for name in fm.models.__all__:
        if name not in fm.__all__ and name not in CREATED_BY_CALLS:
            yield f"models.{name}", None, f"models.{name}"


def parameters_of(function: Any) -> list[inspect.Parameter]:
    found = inspect.signature(function).parameters.values()
    return [each for each in found if each.kind != each.VAR_KEYWORD and each.name != "self"]


def valid_argument(world: World, full: str, parameter: inspect.Parameter) -> Any:
    """A valid argument; the default value, if the parameter has one and the table has no entry of
    the function.
    """
    for key in (f"{full}.{parameter.name}", f"{full.rpartition('.')[2]}.{parameter.name}"):
        if key in VALID:
            return VALID[key](world)
    if parameter.default is not parameter.empty:
        return parameter.default
    return VALID[parameter.name](world)


def arguments_of(
    world: World, full: str, function: Any, name: str = "", value: object = None
) -> dict[str, Any]:
    """Valid arguments of a call, and this value for the parameter of this name."""
    return {
        each.name: value if each.name == name else valid_argument(world, full, each)
        for each in parameters_of(function)
    }


def call(function: Any, arguments: dict[str, Any]) -> Any:
    """Calls a function, and runs what it returns: a coroutine or a context."""
    positional = []
    for parameter in parameters_of(function):
        if parameter.kind == parameter.VAR_POSITIONAL or parameter.kind != parameter.KEYWORD_ONLY:
            positional.append(arguments.pop(parameter.name))
    made = function(*positional, **arguments)
    if inspect.iscoroutine(made):
        return asyncio.run(made)
    if isinstance(made, contextlib.AbstractContextManager) and not hasattr(made, "close"):
        with made:
            return None
    return made


FUNCTIONS = list(functions())
OWNERS = sorted({full.partition(".")[0] for full, _, _ in FUNCTIONS})


def functions_of(owner: str) -> list[tuple[str, type | None, str]]:
    """The constructor and the methods of a class, or one function."""
    return [each for each in FUNCTIONS if each[0].partition(".")[0] == owner]


def bound(world: World, cls: type | None, name: str) -> Any:
    """A function of the package, or a method of the object of a class."""
    if cls is None or isinstance(inspect.getattr_static(cls, name), (classmethod, staticmethod)):
        return operator.attrgetter(name)(cls or fm)
    return getattr(world.of(cls), name)


def refusal(function: Any, arguments: dict[str, Any]) -> str:
    """The message of the error of a call."""
    try:
        call(function, arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return "accepted"


@pytest.mark.parametrize("owner", OWNERS)
def test_wrong_arguments_are_named(owner, tmp_path):
    with contextlib.ExitStack() as steps:
        world = World(steps, tmp_path)
        for full, cls, name in functions_of(owner):
            function = bound(world, cls, name)
            for wrong in parameters_of(function):
                for value in wrong_values(str(wrong.annotation), world):
                    arguments = arguments_of(world, full, function, wrong.name, value)
                    message = refusal(function, arguments)
                    is_named = re.search(rf"\b{wrong.name}\b", message)
                    assert is_named, f"{full}({wrong.name}={value!r}): {message}"


@pytest.mark.parametrize("owner", OWNERS)
def test_closed_objects_are_named(owner, tmp_path):
    """A closed object as an argument raises an error that says so. A method of a closed object
    works, or raises an error of the package.
    """
    with contextlib.ExitStack() as steps:
        gone = World(steps, tmp_path)
    with contextlib.ExitStack() as steps:
        world = World(steps, tmp_path)
        for full, cls, name in functions_of(owner):
            function = bound(world, cls, name)
            for closed in parameters_of(function):
                for value in of_kind(gone, str(closed.annotation)):
                    arguments = arguments_of(world, full, function, closed.name, value)
                    message = refusal(function, arguments)
                    assert "has been closed" in message, f"{full}({closed.name}): {message}"
            if cls is not None and issubclass(cls, Resource):
                function = bound(gone, cls, name)
                with contextlib.suppress(fm.FerrumError):
                    made = call(function, arguments_of(world, full, function))
                    if isinstance(made, Resource):
                        made.close()


def of_kind(world: World, annotation: str) -> list[Any]:
    """The objects of a world that a parameter with the annotation takes."""
    kinds = set(alternatives(annotation)) - {"Any"} - LISTS
    return [
        each
        for each in vars(world).values()
        if isinstance(each, Resource) and kinds & {base.__name__ for base in type(each).__mro__}
    ]


RECORDS = [
    cls
    for name in sorted(fm.__all__)
    if dataclasses.is_dataclass(cls := getattr(fm, name)) and hasattr(cls, "to_abi")
]


@pytest.mark.parametrize("cls", RECORDS)
def test_wrong_fields_of_settings_are_named(cls, tmp_path):
    fields = dataclasses.fields(cls)
    required = {each.name: 64 * MIB for each in fields if each.default is dataclasses.MISSING}
    with contextlib.ExitStack() as steps:
        world = World(steps, tmp_path)
        for field in fields:
            for value in wrong_values(str(field.type), world):
                settings = cls(**{**required, field.name: value})
                with pytest.raises((TypeError, ValueError), match=rf"\b{field.name}\b"):
                    settings.to_abi()


def test_wrong_buffers_are_named(tmp_path):
    with contextlib.ExitStack() as steps:
        world = World(steps, tmp_path)
        with_holes = numpy.zeros((8, 8), "u1")[:, ::2]
        writes: list[Callable[..., object]] = [world.memory.write, world.buffer.write]
        for write in (*writes, world.tensor.write):
            for data in (object(), "text"):
                with pytest.raises((TypeError, ValueError), match=r"^data must be "):
                    write(data)
        for write in (*writes, world.manager.adopt):
            with pytest.raises(ValueError, match=r"^data must have a contiguous buffer$"):
                write(with_holes)
        for read in (world.memory.read_into, world.tensor.read_into):
            for target, wanted in ((5, "bytes or"), (bytes(16), "a writable buffer")):
                with pytest.raises(TypeError, match=f"target must be {wanted}"):
                    read(target)


def test_objects_are_neither_copied_nor_pickled(tmp_path):
    """Two wrappers of one native object would both destroy it."""
    with contextlib.ExitStack() as steps:
        world = World(steps, tmp_path)
        for value in vars(world).values():
            if not isinstance(value, Resource):
                continue
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match=f"{type(value).__name__} cannot be copied"):
                    way(value)
