"""Defines the arguments of a generated Rust method: its parameters and its result."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Function, Named, Pointer, Scalar
from .rust import SCALARS
from .rust_choices import flag_sets, set_name
from .rust_names import Names
from .rust_records import Record, constant_of, link
from .shapes import Argument, Role

PLAIN = {Role.NUMBER, Role.TRUTH, Role.ENUMERATION, Role.DURATION}
# Outputs whose length only the library knows: the call is repeated until the buffer is long
# enough.
LISTS = {Role.ARRAY, Role.TEXT}


@dataclass(frozen=True)
class Given:
    """An input: the parameter of the method, and the expressions for the call."""

    parameter: str
    values: str
    # Statements before the call. The C form of a struct is created within a closure instead.
    before: str = ""
    within: str = ""


@dataclass(frozen=True)
class Told:
    """An output: its type, its initial value, and the expression for the result."""

    type: str
    start: str
    result: str


class Arguments:
    """The arguments of the methods of a header."""

    def __init__(self, names: Names, kinds: dict[str, str]) -> None:
        self.names, self.kinds = names, kinds
        self.records: dict[str, Record] = {r.struct.name: r for r in link(names)}
        self.sets = {prefix for prefix, _ in flag_sets(names)}

    def can_give(self, argument: Argument) -> bool:
        """Returns whether a method can take an input."""
        if argument.role is Role.HANDLE:
            return argument.type_name.removeprefix("ferrum_") in self.kinds
        if argument.is_optional:
            return False
        if argument.role in {Role.STRUCT, Role.RECORD}:
            return self._is_written(argument)
        if argument.role is Role.ARRAY:
            return self._is_number(argument) or (
                self._is_written(argument) and self._is_flat(argument)
            )
        if argument.role is Role.FLAGS:
            return argument.flags in self.sets
        if argument.role is Role.BYTES:
            return argument.type == Scalar("char")
        return argument.role in PLAIN | {Role.WAIT, Role.TEXT, Role.TEXTS, Role.RELEASE}

    def can_tell(self, argument: Argument) -> bool:
        """Returns whether a method can return an output."""
        if argument.role in {Role.STRUCT, Role.RECORD}:
            return self._is_read(argument)
        if argument.role is Role.ARRAY:
            return self._is_number(argument) or self._is_read(argument)
        return argument.role in PLAIN | {Role.TEXT}

    def _is_number(self, argument: Argument) -> bool:
        return isinstance(argument.type, Scalar) and argument.type.name in SCALARS

    def _is_written(self, argument: Argument) -> bool:
        record = self._record(argument)
        return record is not None and record.is_input

    def _is_read(self, argument: Argument) -> bool:
        record = self._record(argument)
        return record is not None and record.is_output

    def _record(self, argument: Argument) -> Record | None:
        return self.records.get(argument.type.name) if isinstance(argument.type, Named) else None

    def _is_flat(self, argument: Argument) -> bool:
        """Returns whether the input is a record without references to other values."""
        record = self._record(argument)
        return (
            record is not None
            and record.is_input
            and not any(isinstance(field.type, Pointer) for field in record.struct.fields)
        )

    # Inputs

    def given(self, argument: Argument, of: Function) -> Given:
        """Returns the parameter of an input of a function."""
        function = of.name
        name, said = argument.name, f'"{function}", "{argument.name}", {argument.name}'
        if argument.role is Role.WAIT:
            return Given("timeout: Option<Duration>", "timeout_ns(timeout)")
        if argument.role is Role.DURATION:
            short = name.removesuffix("_ns")
            return Given(f"{short}: Duration", f"ns({short})")
        if argument.role is Role.HANDLE:
            return self._handle(argument)
        if argument.role is Role.TRUTH:
            return Given(f"{name}: bool", f"{name}.into()")
        if argument.role is Role.ENUMERATION:
            kind = self.names.enumerations[argument.type_name].name
            return Given(f"{name}: {kind}", f"{name}.to_raw()")
        if argument.role is Role.FLAGS:
            return Given(f"{name}: {set_name(argument.flags)}", f"{name}.bits()")
        if argument.role is Role.TEXT:
            return Given(f"{name}: &str", f"{name}.as_ptr()", f"let {name} = c_text({said})?;\n")
        if argument.role is Role.BYTES:
            short = name.removesuffix("_text")
            return Given(f"{short}: &str", f"{short}.as_ptr().cast(), {short}.len()")
        if argument.role is Role.TEXTS:
            values = f"pointers.as_ptr(), {name}.len() as u64"
            before = f"let ({name}, pointers) = c_texts({said})?;\n"
            return Given(f"{name}: &[&str]", values, before)
        if argument.role is Role.RELEASE:
            return Given(f"{name}: impl FnOnce() + Send + 'static", "call, data")
        if argument.role is Role.ARRAY:
            return self._array(argument, function)
        if argument.role in {Role.STRUCT, Role.RECORD}:
            within = f'{name}.with_raw("{function}", |{name}| '
            return Given(f"{name}: &{self._type(argument)}", name, "", within)
        for tag in of.tags:
            if tag.name == "none" and tag.words[0] == name:
                value = f"{name}.unwrap_or({constant_of(tag.words[1])})"
                return Given(f"{name}: Option<{self._number(argument)}>", value)
        return Given(f"{name}: {self._number(argument)}", name)

    def _handle(self, argument: Argument) -> Given:
        name, kind = argument.name, self.kinds[argument.type_name.removeprefix("ferrum_")]
        if not argument.is_optional:
            return Given(f"{name}: &crate::{kind}", f"{name}.raw()")
        return Given(
            f"{name}: Option<&crate::{kind}>", f"{name}.map(crate::{kind}::raw).unwrap_or_default()"
        )

    def _array(self, argument: Argument, function: str) -> Given:
        name, values = argument.name, f"{argument.name}.as_ptr(), {argument.name}.len() as u64"
        if self._is_number(argument):
            return Given(f"{name}: &[{self._number(argument)}]", values)
        before = (
            f'let {name} = {name}.iter().map(|each| each.with_raw("{function}", |raw| Ok(*raw)))'
        )
        before += ".collect::<Result<Vec<_>>>()?;\n"
        return Given(f"{name}: &[{self._type(argument)}]", values, before)

    def _type(self, argument: Argument) -> str:
        record = self.records[argument.type_name]
        return f"{record.name}<'_>" if record.borrows else record.name

    def _number(self, argument: Argument) -> str:
        return SCALARS.get(argument.type_name, "u64")

    # Outputs

    def told(self, argument: Argument, out: str) -> Told:
        """Returns a result that is read from a variable called out."""
        if argument.role in {Role.STRUCT, Role.RECORD}:
            start = f"sys::{argument.type_name}::default()"
            return Told(self._type(argument), start, f"(&{out}).into()")
        if argument.role is Role.TRUTH:
            return Told("bool", "0", f"{out} != 0")
        if argument.role is Role.ENUMERATION:
            name = self.names.enumerations[argument.type_name].name
            return Told(name, "0", f"{name}::from_raw({out})")
        if argument.role is Role.DURATION and self._number(argument) == "u64":
            return Told("Duration", "0", f"Duration::from_nanos({out})")
        type_ = self._number(argument)
        return Told(type_, "0.0" if type_.startswith("f") else "0", out)

    def listed(self, argument: Argument) -> tuple[str, str]:
        """Returns the item type of an array output, and the expression for the list."""
        if self._is_number(argument):
            return self._number(argument), ""
        return self._type(argument), "found.iter().map(Into::into).collect()"
