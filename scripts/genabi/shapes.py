"""Defines the shape of each function of the header: its kind, method, inputs and outputs.

The declarations give most of a shape, and tags of the comments the rest (see tags). All emitters
read these shapes, so that all of them treat a parameter alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from .model import CType, Function, Header, Named, Parameter, Pointer, Scalar

# Tags of a function whose first word is a parameter.
NAMING = {"batch", "bool", "borrowed", "default", "fills", "flags", "none", "optional", "path"}
NAMING |= {"long", "words"}

# The callback that the library calls when it releases data of the caller.
RELEASE = "ferrum_release_fn"


def singular(name: str) -> str:
    """Returns the name of one item of a list: "hash" of "hashes", "range" of "ranges"."""
    return name[:-2] if name.endswith("shes") else name.removesuffix("s")


# A text of the caller: const char *.
TEXT = Pointer(Scalar("char"), is_const=True)


class ShapeError(Exception):
    """A declaration that has no valid shape."""


class Role(Enum):
    """The purpose of an argument, with its form in C."""

    HANDLE = "handle"  # ferrum_pool pool; ferrum_pool *pool_out
    NUMBER = "number"  # uint64_t size_bytes, ferrum_address address; uint64_t *size_bytes_out
    TRUTH = "truth"  # @bool: uint32_t *ready_out
    ENUMERATION = "enumeration"  # ferrum_backend preference; ferrum_backend *backend_out
    FORCE = "force"  # uint32_t flags: 0 or FERRUM_FORCE
    FLAGS = "flags"  # @flags: uint32_t flags
    WAIT = "wait"  # uint64_t timeout_ns
    DURATION = "duration"  # uint64_t max_age_ns
    TEXT = "text"  # const char *name; char *buffer, size_t capacity, size_t *length_out
    TEXTS = "texts"  # const char *const *names, uint64_t count
    STRUCT = "struct"  # const ferrum_pool_config *config; ferrum_pool_info *info_out
    RECORD = "record"  # a struct without struct_size: ferrum_buffer_metadata *metadata_out
    ARRAY = "array"  # const T *xs, uint64_t count; T *xs_out, size_t capacity, size_t *count_out
    PLACES = "places"  # T *xs, uint64_t x_count: elements that the call may replace
    BATCH = "batch"  # @batch: T *xs_out, with as many places as the input `count`
    BYTES = "bytes"  # const void *source, uint64_t size_bytes; void *destination, ... size_bytes
    CALLBACK = "callback"  # ferrum_host_fn function, void *user_data
    RELEASE = "release"  # ferrum_release_fn release, void *user_data


@dataclass(frozen=True)
class Argument:
    """An input or output: one parameter of the function, or several that belong together."""

    # The name without the `_out` of an output. A text output is "text".
    name: str
    role: Role
    parameters: tuple[Parameter, ...]
    # The type of the handle, number, enumeration, struct, element or callback. For a text and for
    # bytes, a character.
    type: CType
    is_output: bool = False
    # The pointer may be NULL, or the handle may be {0}.
    is_optional: bool = False
    # For a set of flags: the start of the names of its constants, such as FERRUM_DEBUG.
    flags: str = ""

    @property
    def type_name(self) -> str:
        """Returns the name of the type, such as uint64_t or ferrum_pool_config."""
        if isinstance(self.type, (Scalar, Named)):
            return self.type.name
        raise ShapeError(f"{self.name} has a type without a name")


@dataclass(frozen=True)
class Shape:
    """A function in the form for a language."""

    function: Function
    # The kind of handle with which the function's name begins, such as "elastic_pool", or "".
    kind: str
    # The rest of the function's name without ferrum_ and the kind: "register_model".
    name: str
    # Inputs and outputs in the order of the declaration, including the receiver.
    arguments: tuple[Argument, ...]
    # The handle that it is a method of: its first argument, if that has this kind.
    receiver: Argument | None
    waits: bool
    opens: bool

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Returns the inputs without the receiver."""
        return tuple(a for a in self.arguments if not a.is_output and a is not self.receiver)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Returns the outputs."""
        return tuple(a for a in self.arguments if a.is_output)

    @property
    def can_fail(self) -> bool:
        """Returns whether it returns a status."""
        return self.function.result == Named("ferrum_status", "alias")


def shapes_of(header: Header) -> tuple[Shape, ...]:
    """Returns the shape of every function, in the order of the header."""
    reader = _Reader(header)
    return tuple(reader.shape(function) for function in header.functions)


def check_decided(shapes: Iterable[Shape], generated: Iterable[Shape], layer: str) -> None:
    """Raises an error for a method that a layer neither generates nor has by hand.

    Functions of no handle, those that end or return a handle, and those with a callback are
    hand-written in each layer; a test checks that the layer calls them.
    """
    written = {shape.function.name for shape in generated}
    for shape in shapes:
        by_rule = (
            shape.receiver is None
            or shape.function.tag("ends") is not None
            or any(a.role is Role.HANDLE for a in shape.outputs)
            or any(a.role is Role.CALLBACK for a in shape.inputs)
        )
        if not by_rule and shape.function.name not in written and not shape.function.by_hand(layer):
            raise ShapeError(
                f"{shape.function.name}: no rule of {layer} has a form for its arguments: "
                f"write it by hand and tag it @by-hand {layer} with the reason"
            )


def handle_kinds(header: Header) -> tuple[str, ...]:
    """Returns the kinds of handles, such as "pool": structs that contain only an id."""
    return tuple(
        struct.name.removeprefix("ferrum_")
        for struct in header.structs
        if [field.name for field in struct.fields] == ["id"]
    )


class _Reader:
    def __init__(self, header: Header) -> None:
        self.kinds = handle_kinds(header)
        self.versioned = {s.name for s in header.structs if s.fields[0].name == "struct_size"}
        structs = {name.removeprefix("ferrum_") for name in self.versioned}
        self.owners = sorted({*self.kinds, *structs}, key=len, reverse=True)
        self.enumerations = {c.alias for c in header.constants if c.alias} | {"ferrum_status"}

    def shape(self, function: Function) -> Shape:
        self.function = function
        rest = function.name.removeprefix("ferrum_")
        # A function of a struct, such as memory_config_check, belongs to no kind of handle.
        owner = next((owner for owner in self.owners if rest.startswith(owner + "_")), "")
        kind = owner if owner in self.kinds else ""
        arguments = self._arguments(list(function.parameters))
        self._check_tags({p.name for p in function.parameters})
        first = arguments[0] if arguments else None
        is_method = (
            first is not None
            and kind != ""
            and not first.is_output
            and first.role is Role.HANDLE
            and first.type_name == f"ferrum_{kind}"
        )
        return Shape(
            function=function,
            kind=kind,
            name=rest.removeprefix(kind + "_") if kind else rest,
            arguments=arguments,
            receiver=first if is_method else None,
            waits=function.tag("waits") is not None,
            opens=function.tag("opens") is not None,
        )

    # Arguments

    def _arguments(self, left: list[Parameter]) -> tuple[Argument, ...]:
        found: list[Argument] = []
        while left:
            argument = self._group(left) or self._single(left[0])
            found.append(argument)
            del left[: len(argument.parameters)]
        return tuple(found)

    def _group(self, left: list[Parameter]) -> Argument | None:
        """Returns the argument that several parameters form together, if they do."""
        first = left[0]
        names = [p.name for p in left]
        optional = self._tagged("optional", first.name)
        if isinstance(first.type, Named) and first.type.kind == "callback":
            if names[1:2] != ["user_data"]:
                raise self._wrong(first, "a callback needs its user_data")
            role = Role.RELEASE if first.type.name == RELEASE else Role.CALLBACK
            return Argument(first.name, role, tuple(left[:2]), first.type, is_optional=optional)
        if not isinstance(first.type, Pointer):
            return None
        element = first.type.target
        if names[:3] == ["buffer", "capacity", "length_out"]:
            return Argument("text", Role.TEXT, tuple(left[:3]), element, is_output=True)
        if names[1:3] == ["capacity", "count_out"]:
            name = first.name.removesuffix("_out")
            return Argument(name, Role.ARRAY, tuple(left[:3]), element, is_output=True)
        if first.type.is_const and names[1:2] == ["count"]:
            if element == TEXT:
                return Argument(first.name, Role.TEXTS, tuple(left[:2]), Scalar("char"))
            return Argument(first.name, Role.ARRAY, tuple(left[:2]), element)
        if names[1:2] == [singular(first.name) + "_count"]:
            role = Role.ARRAY if first.type.is_const else Role.PLACES
            return Argument(first.name, role, tuple(left[:2]), element)
        is_raw = element == Scalar("void") and names[1:2] == ["size_bytes"]
        is_long = element == Scalar("char") and names[1:2] == [
            first.name.removesuffix("_text") + "_bytes"
        ]
        if is_raw or is_long:
            name = first.name.removesuffix("_out")
            is_output = not first.type.is_const
            return Argument(name, Role.BYTES, tuple(left[:2]), element, is_output, optional)
        return None

    def _single(self, parameter: Parameter) -> Argument:
        name, written = parameter.name, parameter.type
        optional = self._tagged("optional", name)
        if not isinstance(written, Pointer):
            role, flags = self._value_role(name, written)
            return Argument(name, role, (parameter,), written, False, optional, flags)
        target = written.target
        if written.is_const:
            if target == Scalar("char"):
                return Argument(name, Role.TEXT, (parameter,), target, is_optional=optional)
            if isinstance(target, Named) and target.kind == "struct":
                role = Role.STRUCT if target.name in self.versioned else Role.RECORD
                return Argument(name, role, (parameter,), target, is_optional=optional)
            raise self._wrong(parameter, "a const pointer that is not a text, struct or array")
        if not name.endswith("_out"):
            raise self._wrong(parameter, "an output has a name that ends with _out")
        short = name.removesuffix("_out")
        if self._tagged("batch", name):
            return Argument(short, Role.BATCH, (parameter,), target, is_output=True)
        role, flags = self._value_role(short, target)
        return Argument(short, role, (parameter,), target, True, optional, flags)

    def _value_role(self, name: str, written: CType) -> tuple[Role, str]:
        if isinstance(written, Named) and written.kind == "struct":
            if written.name.removeprefix("ferrum_") in self.kinds:
                return Role.HANDLE, ""
            return (Role.STRUCT if written.name in self.versioned else Role.RECORD), ""
        if isinstance(written, Named) and written.kind == "alias":
            return (Role.ENUMERATION if written.name in self.enumerations else Role.NUMBER), ""
        if not isinstance(written, Scalar) or written.name in {"void", "char"}:
            raise ShapeError(f"{self.function.name}: {name} has a type without a role")
        if self._tagged("bool", name) or self._tagged("bool", name + "_out"):
            return Role.TRUTH, ""
        for tag in self.function.tags:
            if tag.name == "flags" and tag.words[0] == name:
                return Role.FLAGS, tag.words[1]
        if name == "flags":
            return Role.FORCE, ""
        if name == "timeout_ns":
            return Role.WAIT, ""
        if name.endswith("_ns"):
            return Role.DURATION, ""
        return Role.NUMBER, ""

    # Tags

    def _tagged(self, tag: str, name: str) -> bool:
        return any(t.name == tag and t.words[:1] == (name,) for t in self.function.tags)

    def _check_tags(self, names: set[str]) -> None:
        for tag in self.function.tags:
            if tag.name in NAMING and (not tag.words or tag.words[0] not in names):
                raise ShapeError(f"{self.function.name}: @{tag.name} names no parameter")

    def _wrong(self, parameter: Parameter, why: str) -> ShapeError:
        return ShapeError(f"{self.function.name}: {parameter.name}: {why}")
