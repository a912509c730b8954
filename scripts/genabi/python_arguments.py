"""Defines the arguments of a generated Python method: its parameters and its result."""

from __future__ import annotations

from dataclasses import dataclass

from .model import CType, Named, Scalar, Struct
from .python_names import Names, camel, type_name
from .python_records import directions
from .shapes import Argument, Role

CODERS = {"int32_t": "i32", "uint32_t": "u32", "uint64_t": "u64", "ferrum_address": "u64"}
CELLS = {"ferrum_address": "c_uint64", "float": "c_float", "double": "c_double"}


@dataclass(frozen=True)
class Given:
    """An input: the parameter of the method, and the expressions for the call."""

    parameter: str
    values: tuple[str, ...]
    # The code before the call, or "".
    before: str = ""


@dataclass(frozen=True)
class Told:
    """An output: what is created before the call, passed to it and read after it."""

    type: str
    before: str
    value: str
    result: str


class Arguments:
    """The arguments of the methods of a header."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.inputs, self.outputs = directions(names.header)

    def can_give(self, argument: Argument) -> bool:
        """Returns whether a method can take an input."""
        if argument.role in {Role.STRUCT, Role.RECORD}:
            return self._is_written(argument.type)
        if argument.role is Role.ARRAY:
            return self._is_element(argument.type, self._is_written)
        if argument.role is Role.FLAGS:
            return argument.flags in self.names.flags
        if argument.role is Role.BYTES:
            return argument.type == Scalar("char")
        if argument.role is Role.TEXT:
            return True
        if argument.role is Role.HANDLE:
            return True
        plain = {Role.NUMBER, Role.TRUTH, Role.ENUMERATION, Role.DURATION}
        return argument.role in plain | {Role.TEXTS, Role.RELEASE} and not argument.is_optional

    def can_tell(self, argument: Argument) -> bool:
        """Returns whether a method can return an output."""
        if argument.role in {Role.STRUCT, Role.RECORD}:
            return self._is_read(argument.type)
        if argument.role is Role.ARRAY:
            return self._is_element(argument.type, self._is_read)
        plain = {Role.NUMBER, Role.TRUTH, Role.ENUMERATION, Role.DURATION, Role.TEXT}
        return argument.role in plain

    def is_class(self, struct: Struct) -> bool:
        """Returns whether the records have a class for a struct."""
        kind = Named(struct.name, "struct")
        return self._is_written(kind) or self._is_read(kind)

    def _is_element(self, kind: CType, is_record: object) -> bool:
        if isinstance(kind, Named) and kind.kind == "struct":
            return bool(is_record(kind))  # type: ignore[operator]
        return isinstance(kind, Scalar) and kind.name in {*CODERS, "float", "double"}

    def _struct(self, kind: CType) -> Struct:
        assert isinstance(kind, Named)
        return next(s for s in self.names.header.structs if s.name == kind.name)

    def _is_written(self, kind: CType) -> bool:
        """Returns whether a struct has a class with to_abi()."""
        struct = self._struct(kind)
        is_made = struct.name.endswith("_config") or self._is_read(kind)
        return is_made and struct.name in self.inputs and not struct.by_hand("python")

    def _is_read(self, kind: CType) -> bool:
        """Returns whether a struct has a class with from_abi()."""
        struct = self._struct(kind)
        is_handle = [f.name for f in struct.fields] == ["id"]
        return struct.name in self.outputs and not is_handle and not struct.by_hand("python")

    # Inputs

    def given(self, argument: Argument, default: str, none: str) -> Given:
        """Returns the parameter of an input. default is its default value, if it has one. none is
        the value that None has for the function, or "".
        """
        name = argument.name
        tail = f" = {default}" if default else ""
        if none:
            (number,) = self._number(name, argument, "").values
            return Given(f"{name}: int | None{tail}", (f"{none} if {name} is None else {number}",))
        if argument.role is Role.HANDLE:
            return self._handle(argument)
        if argument.role is Role.NUMBER:
            return self._number(name, argument, tail)
        if argument.role is Role.TRUTH:
            return Given(f"{name}: bool{tail}", (f"bool({name})",))
        if argument.role is Role.ENUMERATION:
            kind = self.names.enumerations[argument.type_name].name
            return Given(f"{name}: {kind}{tail}", (f'choice("{name}", {name}, {kind})',))
        if argument.role is Role.FLAGS:
            kind = self.names.flags[argument.flags].name
            return Given(f"{name}: {kind}{tail}", (f'u32("{name}", {name})',))
        if argument.role is Role.DURATION:
            seconds = name.removesuffix("_ns") + "_s"
            # The name states the unit of the age or time. 0 queries the current value.
            return Given(f"*, {seconds}: float = 0.0", (f'nanoseconds("{seconds}", {seconds})',))
        if argument.role is Role.TEXT:
            kind = "str | None = None" if argument.is_optional else "str"
            return Given(f"{name}: {kind}", (f'_native.encode("{name}", {name})',))
        if argument.role is Role.BYTES:
            text = name.removesuffix("_text")
            return Given(f"{text}: str", (f"{name}", f"len({name})"), f"{name} = {text}.encode()")
        if argument.role is Role.ARRAY:
            return self._array(argument)
        if argument.role is Role.TEXTS:
            return Given(f"{name}: Iterable[str]", (f'*texts("{name}", {name})',))
        if argument.role is Role.RELEASE:
            return Given(f"{name}: Callable[[], object]", ("*given",))
        kind = type_name(self._struct(argument.type))
        value = f'ctypes.byref(record("{name}", {name}, "{kind}").to_abi())'
        if argument.is_optional:
            value += f" if {name} is not None else None"
            return Given(f"{name}: {kind} | None = None", (value,))
        return Given(f"{name}: {kind}", (value,))

    def _handle(self, argument: Argument) -> Given:
        name, kind = argument.name, camel(argument.type_name.removeprefix("ferrum_"))
        handle = f'handle_of("{name}", {name}, {kind}Calls)'
        if not argument.is_optional:
            return Given(f"{name}: {kind}", (handle,))
        value = f"_abi.{argument.type_name}() if {name} is None else {handle}"
        return Given(f"{name}: {kind} | None = None", (value,))

    def _number(self, name: str, argument: Argument, tail: str) -> Given:
        coder = CODERS.get(argument.type_name, "")
        if coder:
            return Given(f"{name}: int{tail}", (f'{coder}("{name}", {name})',))
        if argument.type_name == "size_t":
            return Given(f"{name}: int{tail}", (f'u64("{name}", {name})',))
        return Given(f"{name}: float{tail}", (f'real("{name}", {name})',))

    def _array(self, argument: Argument) -> Given:
        name, kind = argument.name, argument.type
        if isinstance(kind, Named) and kind.kind == "struct":
            cell, item = f"_abi.{kind.name}", type_name(self._struct(kind))
            each = f'record("{name}", each, "{item}").to_abi()'
        else:
            cell = f"ctypes.{self._cell(argument)}"
            coder = CODERS.get(argument.type_name, "")
            item = "int" if coder else "float"
            each = f'{coder}("{name}", each)' if coder else "float(each)"
        # The list keeps the texts alive to which the array points.
        wanted = "numbers" if item in {"int", "float"} else item
        lines = f'kept_{name} = [{each} for each in listed("{name}", {name}, "{wanted}")]\n'
        lines += f"        raw_{name} = ({cell} * len(kept_{name}))(*kept_{name})"
        return Given(f"{name}: Iterable[{item}]", (f"raw_{name}", f"len(raw_{name})"), lines)

    def _cell(self, argument: Argument) -> str:
        name = argument.type_name
        return CELLS.get(name, f"c_{name.removesuffix('_t')}")

    # Outputs

    def told(self, argument: Argument, raw: str) -> Told:
        """Returns a result that is read from a cell called raw."""
        by_reference = f"ctypes.byref({raw})"
        if argument.role in {Role.STRUCT, Role.RECORD}:
            kind = type_name(self._struct(argument.type))
            made = "init()" if argument.role is Role.STRUCT else "()"
            dot = "." if argument.role is Role.STRUCT else ""
            before = f"{raw} = _abi.{argument.type_name}{dot}{made}"
            return Told(kind, before, by_reference, f"{kind}.from_abi({raw})")
        if argument.role is Role.ENUMERATION:
            kind = self.names.enumerations[argument.type_name].name
            before = f"{raw} = _abi.{argument.type_name}()"
            return Told(kind, before, by_reference, f"{kind}({raw}.value)")
        cell = self._cell(argument)
        before = f"{raw} = ctypes.{cell}()"
        if argument.role is Role.TRUTH:
            return Told("bool", before, by_reference, f"bool({raw}.value)")
        if argument.role is Role.DURATION:
            return Told("float", before, by_reference, f"{raw}.value / NS_PER_SECOND")
        kind = "float" if cell in {"c_float", "c_double"} else "int"
        return Told(kind, before, by_reference, f"{raw}.value")

    def listed(self, argument: Argument) -> tuple[str, str, str]:
        """Returns the item type of an array output, its cell, and how the item is read."""
        kind = argument.type
        if isinstance(kind, Named) and kind.kind == "struct":
            name = type_name(self._struct(kind))
            return name, f"_abi.{kind.name}", f"{name}.from_abi(each)"
        cell = self._cell(argument)
        return ("float" if cell in {"c_float", "c_double"} else "int"), f"ctypes.{cell}", "each"
