"""Layer types of the program: fm.models.layer(). docs/layers.md explains them."""

from __future__ import annotations

import ctypes
import gc
import inspect
import json
import struct
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _abi, _callbacks, _library, _native
from ._arguments import callable_of, listed, mapping, object_of
from ._dtypes import dtype_of, name_of, numpy_dtype
from ._enums import DType
from ._owned import Owned, Resource
from ._values import i64, u32, wrong_class
from .compute import TensorSpec
from .errors import InvalidArgumentError, InvalidStateError, UnsupportedError
from .program_backends import ComputeCall, is_host

if TYPE_CHECKING:
    from .results import LayerTypes

_MOST_DIMENSIONS = 8
_FLAGS = _abi.FERRUM_LAYER_STRIDES


class Layer(Resource):
    """A registered layer type. fm.models.layer() makes it. It is called as the function is.

    close() removes the type, and raises BusyError while models and operations use it.
    """

    def __init__(
        self,
        type_name: str,
        function: Callable[..., Any],
        handle: _abi.ferrum_registration,
        forget: Callable[[], None],
    ) -> None:
        self._type, self._function = type_name, function
        self.__doc__ = function.__doc__
        end = _native.functions().ferrum_registration_remove
        label = f"Layer {type_name}"
        self._own(Owned(label, lambda _: end(handle), _library.opens, forget), handle)

    @property
    def type(self) -> str:
        """The layer_type for definitions, and the name for Compute.run()."""
        return self._type

    def __call__(self, *arguments: Any, **config: Any) -> Any:
        """Calls the function, without the library."""
        return self._function(*arguments, **config)


def layer(
    layer_type: str,
    *,
    outputs: int = 1,
    infer: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    input_shape: Iterable[int] | None = None,
    config: Mapping[str, Any] | None = None,
    in_place: bool = False,
    one_at_a_time: bool = False,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Layer]:
    """Makes a function a layer type of definitions.

        @fm.models.layer("mine.scale", parameters={"gain": numpy.ones(4, "float32")})
        def scale(x, gain, *, factor=1.0):
            return x * gain * factor

    The function gets an array for each input, without a copy, then one for each parameter, and the
    configuration by name. An absent input is None. It returns the array of the output, or a list
    for several outputs, which are copied. If it has an argument out, it gets the array of the
    output to write (a list for several, with None for one that is not wanted), and returns
    nothing. Arrays end with the call. Several threads may call it at a time, also on the thread of
    a stream: it must not wait for a stream, and so cannot run models. An exception becomes the
    error of the call, as in ProgramBackend.

    Args:
        layer_type: the type, such as "mine.scale": letters, digits, "_", "-" and ".".
        outputs: number of outputs.
        infer: called with a TensorSpec for each input and the configuration by name. It returns
            the output: a TensorSpec, or a shape, which has the type of the first input; a list of
            them for several outputs. None: each has the type and shape of the first input.
        parameters: the parameters by name, in the order of the arguments, or a function that
            returns them for a configuration. Each is an array with the elements that the layer
            makes, or an object with shape, dtype and initialization as in a definition. None: the
            layers of a definition list them.
        input_shape: shape of the first input, with -1 for any length; None: any shape.
        config: the configuration of a layer that states none; None: the defaults of the arguments
            of the function that are given by name only.
        in_place: an output may be the memory of an input of the same type and strides.
        one_at_a_time: one thread at a time calls the function.
        name: a text for people; None: the type.

    Raises:
        AlreadyExistsError: another layer has the type.
        InvalidArgumentError: for an argument that is not possible.
    """

    object_of("layer_type", layer_type, str)
    raw = _abi.ferrum_layer.init()
    raw.type, raw.name = _native.encode("layer_type", layer_type), _native.encode("name", name)
    raw.output_count = u32("outputs", outputs)
    raw.flags = _FLAGS
    raw.flags |= _abi.FERRUM_LAYER_IN_PLACE if in_place else 0
    raw.flags |= _abi.FERRUM_LAYER_ONE_AT_A_TIME if one_at_a_time else 0
    if input_shape is not None:
        shape = [
            i64("input_shape", each) for each in listed("input_shape", input_shape, "integers")
        ]
        raw.input_rank = len(shape)
        raw.input_shape[: min(len(shape), _MOST_DIMENSIONS)] = shape[:_MOST_DIMENSIONS]
    if infer is not None:
        callable_of("infer", infer)
    if isinstance(parameters, Mapping):
        parameters = dict(parameters)
    elif parameters is not None:
        callable_of("parameters", parameters)
    given = None if config is None else mapping("config", config)

    def register(function: Callable[..., Any]) -> Layer:
        functions = _Functions(callable_of("function", function), infer, parameters, outputs)
        text = _json_of(functions.defaults if given is None else given)
        raw.config_json, raw.config_bytes = text, len(text)
        _library.ensure_started()
        raw_functions, raw.release, raw.user_data, forget = _callbacks.layer_of(
            functions.infer if infer is not None else None,
            functions.parameters if parameters is not None else None,
            functions.initialize if parameters is not None else None,
            functions.forward,
        )
        raw.infer, raw.parameters, raw.initialize, raw.forward = raw_functions
        handle = _abi.ferrum_registration()
        status = _native.functions().ferrum_layer_register(ctypes.byref(raw), ctypes.byref(handle))
        if status < 0:
            error = _native.error_of(status)
            forget()
            raise error
        return Layer(layer_type, function, handle, forget)

    return register


def layers() -> LayerTypes:
    """The registered layer types, of this and other languages. docs/layers.md documents the
    fields.
    """
    _library.ensure_started()
    found: LayerTypes = _native.read_json(_native.functions().ferrum_layers_json)
    return found


def _json_of(config: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(config, allow_nan=False).encode()
    except (TypeError, ValueError) as problem:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT, f"the configuration is not JSON: {problem}"
        ) from None


class _Functions:
    """The functions of a layer type for the library."""

    def __init__(
        self,
        function: Callable[..., Any],
        infer: Callable[..., Any] | None,
        parameters: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None,
        outputs: int,
    ) -> None:
        self._function, self._infer, self._parameters = function, infer, parameters
        self._outputs = outputs
        self.defaults: dict[str, Any] = {}
        try:
            named = inspect.signature(function).parameters
        except (TypeError, ValueError):
            named = {}  # type: ignore[assignment]
        self._has_out = "out" in named
        for each in named.values():
            if each.kind is each.KEYWORD_ONLY and each.default is not each.empty:
                self.defaults[each.name] = each.default
        self.defaults.pop("out", None)

    def infer(self, raw: _abi.ferrum_compute_call, outputs: Any) -> None:
        assert self._infer is not None
        specs = [_spec_of(raw.inputs[at]) for at in range(raw.input_count)]
        found = self._infer(*specs, **json.loads(raw.attributes_json or b"{}"))
        if self._outputs == 1:
            found = [found]
        if len(found) != self._outputs:
            raise ValueError(f"infer returned {len(found)} outputs of {self._outputs}")
        for at in range(raw.output_count):
            if outputs[at].flags & _abi.FERRUM_ELEMENTS_ABSENT:
                continue
            of = found[at]
            if of is None:
                outputs[at].flags |= _abi.FERRUM_ELEMENTS_ABSENT
                continue
            if not isinstance(of, TensorSpec):
                of = TensorSpec(DType(outputs[at].dtype), tuple(of))
            if len(of.shape) > _MOST_DIMENSIONS:
                raise ValueError(f"infer returned {len(of.shape)} dimensions")
            outputs[at].dtype, outputs[at].rank = int(of.dtype), len(of.shape)
            outputs[at].shape[: len(of.shape)] = of.shape

    def _of(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        if isinstance(self._parameters, Mapping):
            return self._parameters
        assert self._parameters is not None
        found = self._parameters(**config)
        if not isinstance(found, Mapping):
            raise wrong_class("the result of parameters", "a mapping", found)
        return found

    def parameters(self, raw: _abi.ferrum_compute_call) -> bytes:
        return _json_of(
            [  # type: ignore[arg-type]
                {"name": name, **_parameter_of(each)}
                for name, each in self._of(json.loads(raw.attributes_json or b"{}")).items()
            ]
        )

    def initialize(self, raw: _abi.ferrum_compute_call, parameter: str) -> None:
        import numpy

        call = ComputeCall(raw)
        made = self._of(call.attributes)[parameter]
        if isinstance(made, Mapping):
            raise ValueError(f"the parameter {parameter} has no elements")
        assert call.outputs[0] is not None
        numpy.copyto(call.outputs[0].numpy(), made)
        call._end()

    def forward(self, place: int) -> None:
        call = _Call(place)
        self._run(call)
        if not call.is_free():
            # An exception that the function has handled may be in a cycle with its frame.
            gc.collect()
            if not call.is_free():
                raise InvalidStateError(
                    _abi.FERRUM_ERROR_INVALID_STATE,
                    "the function has kept an array of an operand, whose memory ends: "
                    "copy what stays",
                )

    def _run(self, call: _Call) -> None:
        inputs, outs = call.arrays()
        if self._has_out:
            out = outs[0] if self._outputs == 1 else outs
            self._function(*inputs, **call.config(), out=out)
            return
        made = self._function(*inputs, **call.config())
        results = [made] if self._outputs == 1 else list(made)
        if len(results) < len(outs):
            raise ValueError(f"the function returned {len(results)} outputs of {self._outputs}")
        for result, to in zip(results, outs, strict=False):
            if to is None:
                continue
            if getattr(result, "shape", None) != to.shape:
                shape = getattr(result, "shape", result.__class__.__name__)
                raise ValueError(f"the function returned {shape}, and the output is {to.shape}")
            to[...] = result


# The fields of a ferrum_compute_call, and parts of a ferrum_tensor_desc: its layout and its
# address.
_CALL = struct.Struct("@2I12Q")
_LAYOUT = struct.Struct("@IiII8q8q")
_ADDRESS = struct.Struct("@Q")
_DESC_BYTES = ctypes.sizeof(_abi.ferrum_tensor_desc)
_MOST_KEPT = 4096


class _Layout(NamedTuple):
    """What an array needs besides an address."""

    memory: Any
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    low: int
    is_read_only: bool


# By the bytes of the descriptions. None is an absent operand.
_layouts: dict[bytes, _Layout | None] = {}
# By their texts: those whose values cannot change.
_configs: dict[bytes, dict[str, Any]] = {}


def _layout_of(text: bytes) -> _Layout | None:
    _, dtype, rank, flags, *lengths = _LAYOUT.unpack(text)
    made: _Layout | None = None
    if not flags & _abi.FERRUM_ELEMENTS_ABSENT:
        element = numpy_dtype(DType(dtype))
        shape = tuple(lengths[:rank])
        strides = tuple(each * element.itemsize for each in lengths[8 : 8 + rank])
        spans = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
        low, high = sum(min(each, 0) for each in spans), sum(max(each, 0) for each in spans)
        size = 0 if 0 in shape else high - low + element.itemsize
        is_read_only = bool(flags & _abi.FERRUM_ELEMENTS_READ_ONLY)
        made = _Layout(ctypes.c_char * size, element, shape, strides, low, is_read_only)
    if len(_layouts) >= _MOST_KEPT:
        _layouts.clear()
    _layouts[text] = made
    return made


class _Call:
    """A call of a layer at an address."""

    def __init__(self, place: int) -> None:
        fields = _CALL.unpack(ctypes.string_at(place, _CALL.size))
        self._text = ctypes.string_at(fields[4], fields[5])
        self._lists = (fields[7], fields[8]), (fields[9], fields[10])
        # The arrays of which all others are views.
        self._wholes: list[weakref.ref[Any]] = []
        if not is_host(fields[6]):
            raise UnsupportedError(
                _abi.FERRUM_ERROR_UNSUPPORTED,
                "the host cannot address the elements of the operands",
            )

    def config(self) -> dict[str, Any]:
        """The configuration."""
        known = _configs.get(self._text)
        if known is None:
            known = json.loads(self._text)
            if not any(isinstance(each, list | dict) for each in known.values()):
                if len(_configs) >= _MOST_KEPT:
                    _configs.clear()
                _configs[self._text] = known
        return known

    def arrays(self) -> tuple[list[Any], list[Any]]:
        """The inputs, and the outputs."""
        return self._list(*self._lists[0]), self._list(*self._lists[1])

    def _list(self, place: int, count: int) -> list[Any]:
        memory = ctypes.string_at(place, count * _DESC_BYTES)
        made: list[Any] = []
        for start in range(0, len(memory), _DESC_BYTES):
            text = memory[start : start + _LAYOUT.size]
            layout = _layouts[text] if text in _layouts else _layout_of(text)
            if layout is None:
                made.append(None)
                continue
            (address,) = _ADDRESS.unpack_from(memory, start + _LAYOUT.size)
            made.append(self._array(layout, address))
        return made

    def _array(self, of: _Layout, address: int) -> Any:
        import numpy

        if of.memory._length_ == 0:
            array = numpy.empty(of.shape, of.dtype)
        else:
            whole = numpy.frombuffer(of.memory.from_address(address + of.low), "uint8")
            self._wholes.append(weakref.ref(whole))
            array = numpy.ndarray(of.shape, of.dtype, whole, -of.low, of.strides)
        if of.is_read_only:
            array.flags.writeable = False
        return array

    def is_free(self) -> bool:
        """Whether the function has kept no array."""
        return all(whole() is None for whole in self._wholes)


def _spec_of(raw: _abi.ferrum_tensor_desc) -> TensorSpec | None:
    if raw.flags & _abi.FERRUM_ELEMENTS_ABSENT:
        return None
    return TensorSpec(DType(raw.dtype), tuple(raw.shape[: raw.rank]))


def _parameter_of(each: Any) -> dict[str, Any]:
    """A parameter of a layer as JSON."""
    if isinstance(each, Mapping):
        return {**each, "dtype": name_of(dtype_of(each["dtype"])), "shape": list(each["shape"])}
    import numpy

    array = numpy.asarray(each)
    return {"shape": list(array.shape), "dtype": name_of(dtype_of(array.dtype)), "trainable": True}
