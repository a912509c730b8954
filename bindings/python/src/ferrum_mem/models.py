"""Models: builds from files and definitions, checks, and names. docs/models.md explains them."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from . import _abi, _callbacks, _library, _native
from ._arguments import file_path, handle_of, object_of
from ._definitions import Definition, json_of, text_of
from ._enums import Backing, ComputeType
from ._owned import Owned
from ._records import ElasticPoolConfig
from ._values import i32, u32, u64, wrong_class
from .compute import Compute
from .devices import Device
from .elastic_pools import ElasticPool
from .errors import InvalidArgumentError
from .executors import (
    BuildProgress,
    Executor,
    MemoryPlan,
    Parts,
    find_named,
    onnx_flags,
    plan_of,
    remove_named,
)
from .layers import Layer, layer, layers
from .passes import (
    OptimizationPass,
    RegisteredPass,
    names_of,
    optimization_pass,
    optimize,
    register_pass,
    standard_passes,
)
from .weights import Weights

if TYPE_CHECKING:
    from .results import BuilderInfo, BuildTimeEstimate, Validation

__all__ = [
    "BuildOptions",
    "BuildProgress",
    "Executor",
    "Layer",
    "MemoryPlan",
    "OptimizationPass",
    "RegisteredPass",
    "build",
    "builder_info",
    "estimate_build_time",
    "export",
    "export_onnx",
    "find",
    "layer",
    "layers",
    "names",
    "optimization_pass",
    "optimize",
    "plan",
    "register_pass",
    "remove_name",
    "standard_passes",
    "validate",
    "validate_definition",
]


@dataclass(frozen=True)
class BuildOptions:
    """Options of a build, with their defaults.

    Attributes:
        enable_validation: run the model once at the end. The definition is checked in every case.
        enable_optimization: run passes, and pack matrices.
        optimization_level: 0 to 3. 0: no passes and no packing.
        enable_quantization: round the matrices to blocks while they are loaded.
        quantization_config: the blocks: {"format": "q8_0"} or {"format": "q4_0"}.
        enable_compression: not supported: the build fails.
        passes: names of passes, and passes, that run in place of those of the level; None: those of
            the level. They need an optimization_level of at least 1.
        measure_passes: measure the times of a run before and after each pass that changes the
            model. The build takes longer, and needs memory for two further models for that time.
        build_timeout_seconds: the longest time of the build, at least 1; None: no limit.
        additional_options: docs/models.md lists them, such as {"seed": 7}.
    """

    enable_validation: bool = True
    enable_optimization: bool = True
    optimization_level: int = 2
    enable_quantization: bool = False
    quantization_config: Mapping[str, Any] | None = None
    enable_compression: bool = False
    passes: Sequence[str | OptimizationPass] | None = None
    measure_passes: bool = False
    build_timeout_seconds: int | None = 3600
    additional_options: Mapping[str, Any] = field(default_factory=dict)


def build(
    path: str | os.PathLike[str] | None = None,
    *,
    definition: Definition | None = None,
    weights: Weights | None = None,
    device: Device | str | None = None,
    threads: int = 0,
    engine: ComputeType | str = ComputeType.CPU,
    compute: Compute | None = None,
    pool: ElasticPool | None = None,
    model_id: str | None = None,
    guaranteed_bytes: int = 0,
    max_bytes: int = 0,
    priority: int = 0,
    guarantee_may_wait: bool = False,
    options: BuildOptions | None = None,
    progress: Callable[[BuildProgress], object] | None = None,
) -> Executor:
    """Builds a model. Returns when it can run. After an error nothing is left.

    Args:
        path: a folder with config.json and weights, or a GGUF or ONNX file.
        definition: the definition, without path: its JSON, or the decoded object.
        weights: the tensors of the definition; None: the parameters are initialised as the
            definition states.
        device: the device, or its id, of a backend that the build opens; None: that of pool, or
            "cpu:0".
        threads: number of threads of a backend that the build opens; 0: as many as the process may
            use.
        engine: the kind or the name of a backend that the build opens, such as "onnx_runtime".
        compute: the backend that computes; None: the build opens one, which ends with the model.
        pool: the memory, on the device of the backend; None: a pool of its own, which may take
            the memory of the device, and ends with the model.
        model_id: the id of the model in the pool; None: the name of the folder, of the file or of
            the definition.
        guaranteed_bytes, max_bytes, priority, guarantee_may_wait: as in ModelConfig.
        options: options of the build; None: BuildOptions().
        progress: called on a thread of the library; it returns False to cancel the build.

    Raises:
        NotFoundError, IoError, InvalidFormatError: for the files.
        InvalidConfigError: for the options, and for a definition with issues that stop a build.
        InvalidArgumentError: the weights do not fit the definition.
        UnsupportedError: the library cannot build this kind of model, or has no such option.
        ModelAlreadyExistsError: the pool has a model with this id.
        CancelledError: progress has cancelled the build.
        TimeoutError: the build took longer than build_timeout_seconds.
        OutOfMemoryError and others: of the memory.
        What progress raises: it cancels the build.
        The errors of optimize(), for passes.
    """
    _library.ensure_started()
    request = _abi.ferrum_build_request.init()
    if path is not None:
        request.path = file_path("path", path)
    if definition is not None:
        text = text_of(definition)
        request.definition_json, request.definition_bytes = text, len(text)
    if weights is not None:
        request.weights = handle_of("weights", weights, Weights)
    request.model = _native.encode("model_id", model_id)
    request.guaranteed_bytes = u64("guaranteed_bytes", guaranteed_bytes)
    request.max_bytes = u64("max_bytes", max_bytes)
    request.priority = i32("priority", priority)
    request.guarantee_may_wait = bool(guarantee_may_wait)
    options = BuildOptions() if options is None else object_of("options", options, BuildOptions)
    with contextlib.ExitStack() as after_an_error, names_of(options.passes) as names:
        given = {each.name: getattr(options, each.name) for each in fields(options)}
        text = json_of("options", {**given, "passes": names})
        request.options_json, request.options_bytes = text, len(text)
        parts = _parts(device, threads, engine, compute, pool, after_an_error)
        request.compute, request.elastic_pool = parts.compute._handle, parts.pool._handle
        made = _built(request, parts, progress)
        after_an_error.pop_all()
    return made


def _parts(
    device: Device | str | None,
    threads: int,
    engine: ComputeType | str,
    compute: Compute | None,
    pool: ElasticPool | None,
    after_an_error: contextlib.ExitStack,
) -> Parts:
    """The backend and the pool of a build, which opens those that are not given."""
    own: list[Owned] = []
    if pool is not None:
        handle_of("pool", pool, ElasticPool)
    if not isinstance(engine, (str, ComputeType)):
        raise wrong_class("engine", "a ComputeType or a name", engine)
    name = "threads" if u32("threads", threads) else "engine" if engine != ComputeType.CPU else ""
    if name and compute is not None:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT,
            f"{name} is for a backend that the build opens, and compute is given",
        )
    if compute is None:
        if device is None:
            device = "cpu:0" if pool is None else pool.device
        compute = Compute(device, backend=engine, threads=threads)
        compute._owned.is_silent = True
        own.append(compute._owned)
        after_an_error.callback(compute._owned.end_quietly)
    elif handle_of("compute", compute, Compute) and device is not None:
        name = device.id if isinstance(device, Device) else object_of("device", device, str)
        if name != compute.device.id:
            raise InvalidArgumentError(
                _abi.FERRUM_ERROR_INVALID_ARGUMENT,
                f"device is {name}, and compute is on {compute.device.id}",
            )
    if pool is None:
        # Nothing else is in this pool, and the system gives huge pages to private memory only.
        on_host = compute.device.id.startswith("cpu:")
        backing = Backing.PRIVATE if on_host else Backing.MOVABLE
        pool = ElasticPool(compute.device, ElasticPoolConfig(backing=backing))
        pool._owned.is_silent = True
        own.insert(0, pool._owned)
        after_an_error.callback(pool._owned.end_quietly)
    return Parts(compute, pool, own)


def _built(
    request: _abi.ferrum_build_request,
    parts: Parts,
    progress: Callable[[BuildProgress], object] | None,
) -> Executor:
    library, handle = _native.functions(), _abi.ferrum_executor()
    made: Executor | None = None
    with _callbacks.progress_of(progress, of_build=True) as (function, key, forget):
        request.progress, request.user_data = function, key
        try:
            with _callbacks.raising_of(key):
                _callbacks.check_compute(
                    lambda: library.ferrum_executor_build(
                        ctypes.byref(request), ctypes.byref(handle)
                    )
                )
                made = Executor(handle, parts)
        except BaseException:
            # The last call of progress cannot cancel the build any more.
            if made is not None:
                made.close(force=True)
            raise
        forget()
    return made


def export(path: str | os.PathLike[str]) -> str:
    """The definition of the model in a folder or a file, as JSON.

    Args:
        path: a folder with config.json, a GGUF file, or a file of ONNX.

    Raises:
        NotFoundError, IoError, InvalidFormatError: for the files.
        UnsupportedError: the library cannot build this kind of model.
    """
    _library.ensure_started()
    text, function = file_path("path", path), _native.functions().ferrum_model_export_json
    return _native.read_text(lambda *room: function(text, *room))


def export_onnx(
    path: str | os.PathLike[str] | None,
    file: str | os.PathLike[str],
    *,
    definition: Definition | None = None,
    weights: Weights | None = None,
    external: bool = False,
    replace: bool = False,
) -> None:
    """Writes a model as a file of ONNX. docs/onnx.md describes the file.

    Args:
        path: as for export(); None: definition is the model.
        file: the file to be written. After an error no new file exists.
        definition: as for validate_definition(), without path.
        weights: the tensors of the definition; None: its parameters are initialised.
        external: write the elements of tensors into a second file, whose name is file with the
            ending ".data". Models above 2 GiB always have it.
        replace: replace files that exist.

    Raises:
        AlreadyExistsError: a file exists, without replace.
        UnsupportedError: ONNX does not have an operator or a type of the model.
        ResourceExhaustedError: the disk does not have enough free space.
        InvalidArgumentError: path and definition are both given, or none of them.
    """
    _library.ensure_started()
    if (path is None) == (definition is None) or (path is not None and weights is not None):
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT,
            "a path, or a definition with or without weights, is required",
        )
    library, to = _native.functions(), file_path("file", file)
    flags = onnx_flags(external, replace)
    if path is not None:
        text = file_path("path", path)
        _native.check(library.ferrum_model_export_onnx(text, to, flags))
        return
    assert definition is not None
    text, handle = text_of(definition), _abi.ferrum_weights()
    if weights is not None:
        handle = handle_of("weights", weights, Weights)
    _native.check(library.ferrum_definition_export_onnx(text, len(text), handle, to, flags))


def validate(path: str | os.PathLike[str]) -> Validation:
    """Checks the model in a folder or a file without building it. Warnings let a build go on.

    Args:
        path: as for export().

    Raises:
        NotFoundError, IoError: a file cannot be read. What is wrong with the model is an issue.
    """
    _library.ensure_started()
    text, function = file_path("path", path), _native.functions().ferrum_model_validate_json
    found: Validation = _native.read_json(lambda *room: function(text, *room))
    return found


def validate_definition(definition: Definition) -> Validation:
    """Checks a definition.

    Args:
        definition: its JSON, or the decoded object.

    Raises:
        InvalidFormatError: it is no definition.
    """
    _library.ensure_started()
    text, function = text_of(definition), _native.functions().ferrum_definition_validate_json
    found: Validation = _native.read_json(lambda *room: function(text, len(text), *room))
    return found


def builder_info() -> BuilderInfo:
    """What the library can build. docs/models.md documents the fields."""
    _library.ensure_started()
    found: BuilderInfo = _native.read_json(_native.functions().ferrum_builder_info_json)
    return found


def estimate_build_time(definition: Definition) -> BuildTimeEstimate:
    """How long the build of a definition takes on this machine. Earlier builds of the process make
    the estimate better.

    Args:
        definition: as for validate_definition().

    Raises:
        InvalidFormatError: it is no definition.
    """
    _library.ensure_started()
    text, function = text_of(definition), _native.functions().ferrum_build_estimate_json
    found: BuildTimeEstimate = _native.read_json(lambda *room: function(text, len(text), *room))
    return found


def plan(
    definition: Definition,
    compute: Compute | None = None,
    optimization_level: int = 2,
    **dimensions: int,
) -> MemoryPlan:
    """The memory of the activations of a definition for given lengths of its dimensions, such as
    batch=8, sequence=128, without building it.

    Args:
        definition: as for validate_definition().
        compute: the backend that would compute; None: one on "cpu:0".
        optimization_level: 0 to 3, as in BuildOptions.

    Raises:
        InvalidFormatError: it is no definition.
        InvalidConfigError: the definition has issues that stop a build.
        InvalidArgumentError: a dimension is missing or unknown, or the model does not take its
            length.
    """
    text, level = text_of(definition), u32("optimization_level", optimization_level)
    with contextlib.ExitStack() as steps:
        if compute is None:
            compute = steps.enter_context(Compute("cpu:0"))
        handle = handle_of("compute", compute, Compute)
        function = _native.functions().ferrum_compute_plan_json
        return plan_of(lambda *rest: function(handle, text, len(text), level, *rest), dimensions)


def names() -> list[str]:
    """The names of all models that have one, in alphabetical order."""
    _library.ensure_started()
    found = _native.read_json(_native.functions().ferrum_executors_json)
    return [each["registered_name"] for each in found["executors"]]


def find(name: str) -> Executor:
    """A further executor of the model that Executor.add_name() gave a name. The caller closes it.

    Raises:
        NotFoundError: no model has the name.
        UnsupportedError: another part of the program, in another language, gave the name.
    """
    _library.ensure_started()
    return find_named(name)


def remove_name(name: str) -> Executor:
    """Ends a name. Returns an executor of its model, which the caller closes.

    Raises:
        NotFoundError, UnsupportedError: as for find().
    """
    _library.ensure_started()
    return remove_named(name)
