"""Defines the functions of the header for C++: the class of each, and its arguments.

A function is a member of the class of its first handle. `ferrum_stream_create` of a device is
`device::create_stream`: if the function is named after another kind of handle, that kind comes
after the verb. A function of a kind without a handle of that kind is a static member. A function
of no kind is a function of the namespace. `get_` is removed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

from .model import CType, Function, Header, Named, Scalar, Struct
from .shapes import Argument as Input
from .shapes import Role, Shape, ShapeError, shapes_of

# Handles for which C++ has a class that does not own the object.
VIEWS = {"tracker"}

# The form of an output by its role, if it is not a plain value.
FORMS = {Role.TRUTH: "bool", Role.DURATION: "duration", Role.TEXT: "text", Role.ARRAY: "list"}

# The expressions that pass a callable to the library, inside of detail::releasing.
RELEASED = ("call", "data")


@dataclass(frozen=True)
class Argument:
    """A parameter of the C++ form."""

    name: str
    declared: str
    default: str = ""
    # For a list: the type of its elements. It is passed as an address and a count, or as a
    # vector.
    element: str = ""


@dataclass(frozen=True)
class Output:
    """A value that a function returns through a pointer."""

    name: str
    type: str
    form: str  # number, bool, duration, struct, owned, view, text or list
    init: str = ""

    @property
    def class_name(self) -> str:
        """Returns the class for a handle: one that owns it, or one for a view."""
        kind = self.type.removeprefix("ferrum_")
        return kind if self.form == "owned" else f"{kind}_view"


@dataclass(frozen=True)
class Call:
    """A function of the header in its C++ form."""

    function: Function
    kind: str  # the class, or "" for the namespace
    name: str
    is_static: bool
    arguments: tuple[Argument, ...]
    passed: tuple[str, ...]  # one expression for each C parameter
    outputs: tuple[Output, ...]
    # Whether a call of the class has the same name as ferrum::result.
    hides_result: bool = False

    @property
    def released(self) -> str:
        """Returns the callable that the library calls when it releases the data, or ""."""
        found = (a.name for a in self.arguments if a.declared.startswith("const std::function"))
        return next(found, "")


def calls_of(header: Header) -> list[Call]:
    """Returns the functions that C++ has in both forms, in the order of the header."""
    structs = {struct.name: struct for struct in header.structs}
    calls = [_call(shape, structs) for shape in shapes_of(header) if _is_generated(shape)]
    hiding = {call.kind for call in calls if call.kind and call.name == "result"}
    return [replace(call, hides_result=call.kind in hiding) for call in calls]


def _is_generated(shape: Shape) -> bool:
    return (
        shape.can_fail
        and shape.function.tag("ends") is None
        and not shape.function.by_hand("cpp")
        and not any(argument.role is Role.CALLBACK for argument in shape.arguments)
    )


@dataclass
class _Reading:
    """The arguments of one function while they are read."""

    arguments: list[Argument] = dataclass_field(default_factory=list)
    passed: list[str] = dataclass_field(default_factory=list)
    outputs: list[Output] = dataclass_field(default_factory=list)

    def take(self, declared: str, name: str, *passed: str, default: str = "") -> None:
        """Adds an argument, and the expressions that are passed to the function."""
        self.arguments.append(Argument(name, f"{declared}{name}", default))
        self.passed += passed or (name,)


def _call(shape: Shape, structs: dict[str, Struct]) -> Call:
    kind, name, is_static = _place(shape)
    reading = _Reading()
    arguments = list(shape.arguments)
    if kind and not is_static:
        arguments.pop(0)
        reading.passed.append("handle()")
    for argument in arguments:
        if argument.role is Role.BYTES:
            _read_bytes(argument, reading)
        elif argument.is_output:
            _read_output(shape.function, argument, reading, structs)
        else:
            _read_input(shape.function, argument, reading)
    return Call(
        shape.function,
        kind,
        name,
        is_static,
        tuple(reading.arguments),
        tuple(reading.passed),
        tuple(reading.outputs),
    )


def _place(shape: Shape) -> tuple[str, str, bool]:
    """Returns the class, the name in it, and whether the function is a static member."""
    name = shape.name.removeprefix("get_").replace("_get_", "_")
    first = shape.arguments[0] if shape.arguments else None
    if first is None or first.role is not Role.HANDLE or first.is_output:
        return shape.kind, name, shape.kind != ""
    owner = first.type_name.removeprefix("ferrum_")
    return owner, name if owner == shape.kind else f"{name}_{shape.kind}", False


def _read_input(function: Function, argument: Input, reading: _Reading) -> None:
    name, role = argument.name, argument.role
    bare = name.removesuffix("_ns")
    default = default_of(function, name)
    if role is Role.TEXTS:
        passed = f"detail::c_texts({name}).data()"
        reading.take("const std::vector<std::string> &", name, passed, f"{name}.size()")
    elif role is Role.RELEASE:
        reading.take("const std::function<void()> &", name, *RELEASED)
    elif role is Role.TEXT:
        default = "nullptr" if argument.is_optional else ""
        reading.take("detail::c_text ", name, f"{name}.data()", default=default)
    elif role in (Role.STRUCT, Role.RECORD):
        if argument.is_optional:
            reading.take(f"const {spelled(argument)} *", name, default="nullptr")
        else:
            reading.take(f"const {spelled(argument)} &", name, f"&{name}")
    elif role is Role.ARRAY:
        element = spelled(argument)
        reading.arguments.append(Argument(name, f"const {element} *{name}", "", element))
        reading.take("std::size_t ", argument.parameters[1].name)
        reading.passed.insert(-1, name)
    elif role in (Role.WAIT, Role.DURATION):
        if default:
            default = f"std::chrono::nanoseconds({default})"
        if role is Role.WAIT:
            default = "forever"
        passed = f"detail::nanoseconds({bare})"
        reading.take("std::chrono::nanoseconds ", bare, passed, default=default)
    elif role is Role.TRUTH:
        reading.take("bool ", name, f"{name} ? 1u : 0u")
    else:
        if role is Role.HANDLE and argument.is_optional:
            default = "{}"
        if role in (Role.FORCE, Role.FLAGS):
            default = "0"
        reading.take(f"{spelled(argument)} ", name, default=default)


def _read_bytes(argument: Input, reading: _Reading) -> None:
    """Reads text with a length, or bytes that the caller reads or writes itself."""
    if argument.type == Scalar("char"):
        name = argument.name
        reading.take("std::string_view ", name, f"{name}.data()", f"{name}.size()")
        return
    reading.take("void *" if argument.is_output else "const void *", argument.name)
    reading.take("std::uint64_t ", argument.parameters[1].name)


def _read_output(
    function: Function, argument: Input, reading: _Reading, structs: dict[str, Struct]
) -> None:
    struct = structs.get(argument.type_name)
    init = f"{struct.name.upper()}_INIT" if struct is not None and struct.initial else ""
    if argument.role in (Role.TEXT, Role.ARRAY):
        reading.passed += ["to", "room", "found"]
    elif argument.role is Role.BATCH:
        raise ShapeError(f"{function.name}: C++ has no form for a batch: tag it @by-hand cpp")
    else:
        reading.passed.append(f"&{argument.parameters[0].name}")
    form = FORMS.get(argument.role, "number" if struct is None else "struct")
    if argument.role is Role.HANDLE:
        form = _handle_form(function, argument)
    name = argument.parameters[0].name
    reading.outputs.append(Output(name, spelled(argument), form, init))


def _handle_form(function: Function, argument: Input) -> str:
    borrowed = {tag.words[0] for tag in function.tags if tag.name == "borrowed"}
    if argument.parameters[0].name not in borrowed:
        return "owned"
    return "view" if argument.type_name.removeprefix("ferrum_") in VIEWS else "struct"


def default_of(function: Function, name: str) -> str:
    """Returns the value of `@default NAME VALUE`, or ""."""
    found = (tag.words for tag in function.tags if tag.name == "default")
    return next((value for named, value in found if named == name), "")


def spelled(argument: Input) -> str:
    """Returns the type of an argument in C++ spelling."""
    return spelling(argument.type)


def spelling(type_: CType) -> str:
    """Returns a type in C++ spelling."""
    if isinstance(type_, Scalar):
        return type_.name if type_.name in {"float", "double", "char"} else f"std::{type_.name}"
    if isinstance(type_, Named):
        return type_.name
    raise ShapeError(f"no C++ form of {type_}")
