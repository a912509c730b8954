"""Writes ferrum-mem's generated/records.rs: the records that the library returns or takes.

A struct that a function fills becomes a record with a conversion from C. A struct that a function
reads becomes one with a conversion to C. docs/abi.md describes the tags of fields. Configurations
own their texts; requests borrow them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .model import Array, Field, Header, Initial, Named, Pointer, Scalar, Struct
from .rust import SCALARS
from .rust_choices import choice_fields, is_choice, set_name, sets
from .rust_format import formatted
from .rust_names import DEFAULT_ARRAY, Names, camel, doc_lines, type_name, word

HEAD = """\
// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.

use std::time::Duration;

use super::enums::*;
use crate::raw::{%s};
use crate::error::{stated_text, text_of};
use crate::{sys, Result, Stream};
"""

# Functions that convert values, which are imported if they are used.
HELPERS = ("fixed_text", "flag", "ns", "optional_ns", "optional_text", "pointer")

# Handles that requests refer to by an object of the crate.
OBJECTS = {"ferrum_stream": "Stream"}


# Short words of the header that Rust spells out.
FIELDS = {"vpool": "virtual_pool"}


@dataclass(frozen=True)
class Member:
    """A field of a record."""

    name: str
    type: str
    doc: str
    # The value from the struct `raw`.
    from_c: str
    # The fields of the struct and their values from `self`.
    to_c: tuple[tuple[str, str], ...]
    # A statement for a value that must live during a call.
    holds: str = ""
    is_default: bool = True


@dataclass(frozen=True)
class Record:
    """A struct in its Rust form."""

    struct: Struct
    name: str
    doc: str
    members: tuple[Member, ...]
    is_input: bool
    is_output: bool

    @property
    def borrows(self) -> bool:
        """Returns whether it borrows from its user."""
        return any("&'a" in member.type for member in self.members)

    @property
    def holds(self) -> bool:
        """Returns whether a value must live beside its C form."""
        return any(member.holds for member in self.members)


def records(names: Names) -> list[Record]:
    """Returns the generated records of the crate."""
    inputs, outputs = _directions(names.header)
    found = []
    for struct in names.header.structs:
        used = struct.name in inputs | outputs and not struct.by_hand("rust")
        if used and struct.name not in names.handles:
            is_input = struct.name in inputs
            members = tuple(_members(struct, names, is_input))
            name = type_name(struct)
            found.append(
                Record(
                    struct, name, names.text(struct.doc), members, is_input, struct.name in outputs
                )
            )
    return found


def link(names: Names) -> list[Record]:
    """Returns the records, after the texts know the place of each field."""
    for prefix in sets(names):
        names.paths[prefix + "_*"] = set_name(prefix)
    for choice in choice_fields(names):
        for constant in names.choices(choice.name):
            name = choice.name.removesuffix("_bytes")
            word = constant.name.removeprefix(f"FERRUM_{name.upper()}_")
            names.paths[constant.name] = f"{camel(name)}::{camel(word)}"
    for record in records(names):
        names.paths[record.struct.name] = record.name
        flagged = [f.tag("flags") for f in record.struct.fields]
        for tag in flagged:
            for flag in names.flags(tag.words[0]) if tag else []:
                prefix = tag.words[0] if tag else ""
                member = flag.name.removeprefix(prefix + "_")
                is_set = prefix in sets(names)
                path = (
                    f"{set_name(prefix)}::{member}"
                    if is_set
                    else f"{record.name}::{member.lower()}"
                )
                names.paths.setdefault(flag.name, path)
    return records(names)


def emit(header: Header) -> str:
    """Returns the text of records.rs."""
    names = Names(header)
    text = "".join(_record(record) for record in link(names))
    used = [name for name in HELPERS if f"{name}(" in text]
    return formatted(HEAD % ", ".join(used) + text)


def _directions(header: Header) -> tuple[set[str], set[str]]:
    """Returns the structs that functions read, and those that functions or callbacks fill."""
    inputs: set[str] = set()
    outputs: set[str] = set()
    for function in header.functions:
        for parameter in function.parameters:
            kind = parameter.type
            if isinstance(kind, Pointer) and isinstance(kind.target, Named):
                (inputs if kind.is_const else outputs).add(kind.target.name)
    for callback in header.callbacks:
        for parameter in callback.parameters:
            kind = parameter.type
            if isinstance(kind, Pointer) and isinstance(kind.target, Named):
                outputs.add(kind.target.name)
    # Nested structs have the direction of their struct.
    for struct in reversed(header.structs):
        for field in struct.fields:
            if isinstance(field.type, Named) and field.type.kind == "struct":
                for direction in (inputs, outputs):
                    if struct.name in direction:
                        direction.add(field.type.name)
    return inputs, outputs


def _members(struct: Struct, names: Names, is_input: bool) -> Iterable[Member]:
    initial = dict(zip([f.name for f in struct.fields], struct.initial, strict=False))
    conditions = {tag.words[0] for f in struct.fields if (tag := f.tag("if"))}
    for before, field in zip((None, *struct.fields), struct.fields, strict=False):
        if _is_left_out(field, conditions):
            continue
        if before and _is_count(before, field):
            continue
        tag = field.tag("flags")
        if tag and tag.words[0] not in sets(names):
            yield from _bools(field, tag.words[0], names, initial.get(field.name))
            continue
        member = _member(struct, field, names, is_input)
        value = initial.get(field.name)
        yield replace(member, is_default=_is_default(struct, field, value, names))


def _is_left_out(field: Field, conditions: set[str]) -> bool:
    is_number = isinstance(field.type, Scalar) or (
        isinstance(field.type, Array) and isinstance(field.type.element, Scalar)
    )
    return (
        field.name == "struct_size"
        or (field.name in {"reserved", "reserved_field", "reserved_end"} and is_number)
        or field.name in conditions
        or (field.name == "flags" and not field.tag("flags"))
    )


def _is_count(before: Field, field: Field) -> bool:
    is_list = isinstance(before.type, Pointer) and before.type.target == Scalar("uint64_t")
    return is_list and field.name.endswith("_count")


def _bools(field: Field, prefix: str, names: Names, initial: Initial) -> Iterable[Member]:
    flags = names.flags(prefix)
    start = initial if isinstance(initial, int) else 0
    values = [f"flag(self.{_flag(c.name, prefix)}, sys::{c.name})" for c in flags]
    for flag in flags:
        yield Member(
            _flag(flag.name, prefix),
            "bool",
            names.text(flag.doc),
            f"raw.{field.name} & sys::{flag.name} != 0",
            ((field.name, "|".join(values)),) if flag == flags[-1] else (),
            is_default=start & flag.value == 0,
        )


def _flag(name: str, prefix: str) -> str:
    return name.removeprefix(prefix + "_").lower()


def _member(struct: Struct, field: Field, names: Names, is_input: bool) -> Member:
    """Returns a field without its default value."""
    name, kind = field.name, field.type
    doc = names.field_text(field)
    raw = f"raw.{word(name)}"

    def member(new: str, type_: str, from_c: str, to_c: str, holds: str = "") -> Member:
        return Member(new, type_, doc, from_c, ((name, to_c),), holds)

    if field.tag("bool"):
        new = name.removeprefix("enable_")
        return member(new, "bool", f"{raw} != 0", f"self.{new}.into()")
    if flags := field.tag("flags"):
        type_ = set_name(flags.words[0])
        return member(name, type_, f"{type_}::from_bits({raw})", f"self.{name}.bits()")
    if is_choice(struct, field, names):
        new = name.removesuffix("_bytes")
        type_ = camel(new)
        return member(new, type_, f"{type_}::from_raw({raw})", f"self.{new}.to_raw()")
    if isinstance(kind, Pointer):
        return _pointer(struct, field, doc)
    if _is_fixed_text(field) and not is_input:
        if words := field.tag("words"):
            type_ = names.enumerations[words.words[0]].name
            return member(name, type_, f"text_of(&{raw}).parse().unwrap_or_default()", "")
        if field.tag("optional"):
            return member(name, "Option<String>", f"stated_text(&{raw})", "")
    value = _value(field, raw, names)
    new, type_, from_c, to_c = value
    new = FIELDS.get(new, new)
    condition, none = field.tag("if"), field.tag("none")
    if condition:
        known = condition.words[0]
        meant = f"(raw.{known} != 0).then_some({from_c})"
        given = f"self.{new}.unwrap_or_default()"
        sets = ((known, f"self.{new}.is_some().into()"), (name, given))
        return Member(new, f"Option<{type_}>", doc, meant, sets)
    if none:
        constant = constant_of(none.words[0])
        if type_ in {"f32", "f64"}:
            constant = f"{float(constant)}"
        if type_ == "Duration":
            sets_to = f"optional_ns(self.{new}, {constant})"
            return member(
                new, "Option<Duration>", f"({raw} != {constant}).then(|| {from_c})", sets_to
            )
        sets_to = f"self.{new}.unwrap_or({constant})"
        found = f"({raw} != {constant}).then_some({from_c})"
        if isinstance(kind, Named) and kind.name in names.enumerations:
            sets_to = f"self.{new}.map_or({constant}, {type_}::to_raw)"
        return member(new, f"Option<{type_}>", found, sets_to)
    if isinstance(kind, Named) and kind.name in OBJECTS and is_input:
        return member(
            name, f"Option<&'a {OBJECTS[kind.name]}>", "None", f"crate::stream::raw_of(self.{name})"
        )
    optional = field.tag("optional")
    if optional and optional.words:
        handle = optional.words[0]
        found = f"({raw} != 0).then_some(sys::{handle} {{ id: {raw} }})"
        return member(new, f"Option<sys::{handle}>", found, f"self.{new}.map_or(0, |it| it.id)")
    if optional:
        return member(
            new,
            f"Option<{type_}>",
            f"({raw}.id != 0).then_some({raw})",
            f"self.{new}.unwrap_or_default()",
        )
    is_text = _is_fixed_text(field)
    holds = f'let {name} = fixed_text(function, "{name}", &self.{name})?;' if is_text else ""
    return Member(new, type_, doc, from_c, ((name, to_c),), holds if is_input else "")


def _is_fixed_text(field: Field) -> bool:
    return isinstance(field.type, Array) and field.type.element == Scalar("char")


def constant_of(text: str) -> str:
    """Returns a number or constant of the header's tags."""
    if text == "UINT64_MAX":
        return "u64::MAX"
    return f"sys::{text}" if text.startswith("FERRUM_") else text


def _pointer(struct: Struct, field: Field, doc: str) -> Member:
    name, kind = field.name, field.type
    assert isinstance(kind, Pointer)
    if kind.target == Scalar("char"):
        if words := field.tag("words"):
            # The texts of an enumeration are constant.
            kind_name = camel(words.words[0])
            text = f"self.{name}.map({kind_name}::name)"
            holds = f'let {name} = optional_text(function, "{name}", {text})?;'
            return Member(
                name, f"Option<{kind_name}>", doc, "None", ((name, f"pointer(&{name})"),), holds
            )
        owns = struct.name.endswith("_config")
        given = f"self.{name}.as_deref()" if owns else f"self.{name}"
        type_ = "Option<String>" if owns else "Option<&'a str>"
        holds = f'let {name} = optional_text(function, "{name}", {given})?;'
        return Member(name, type_, doc, "None", ((name, f"pointer(&{name})"),), holds)
    if kind.target == Scalar("void"):
        pointer = f"std::ptr::NonNull::new(raw.{name}.cast())"
        return Member(name, "Option<std::ptr::NonNull<u8>>", doc, pointer, ())
    if kind.target == Scalar("uint64_t"):
        counts = [f.name for f in struct.fields if f.name.endswith("_count")]
        sets = ((name, f"self.{name}.as_ptr()"), (counts[0], f"self.{name}.len() as u64"))
        return Member(name, "Vec<u64>", doc, "Vec::new()", sets)
    raise ValueError(f"{struct.name}.{name}: no rule for this pointer in Rust")


def _value(field: Field, raw: str, names: Names) -> tuple[str, str, str, str]:
    """Returns the name, the type, the value from C and the value to C of a field that always has a
    value.
    """
    name, kind = field.name, field.type
    given = f"self.{name}"
    if isinstance(kind, Array):
        if kind.element == Scalar("char"):
            return name, "String", f"text_of(&{raw})", name
        assert isinstance(kind.element, Scalar)
        return name, f"[{SCALARS[kind.element.name]}; {kind.length}]", raw, given
    if isinstance(kind, Scalar):
        if name.endswith("_ns"):
            new = name.removesuffix("_ns")
            return new, "Duration", f"Duration::from_nanos({raw})", f"ns(self.{new})"
        return name, SCALARS[kind.name], raw, given
    assert isinstance(kind, Named)
    if kind.name == "ferrum_address":
        return name, "u64", raw, given
    if kind.name == "ferrum_status":
        failure = f"({raw} != sys::FERRUM_OK).then(|| crate::ErrorKind::from_status({raw}))"
        return name, "Option<crate::ErrorKind>", failure, ""
    if kind.kind == "alias":
        type_ = names.enumerations[kind.name].name
        return name, type_, f"{type_}::from_raw({raw})", f"{given}.to_raw()"
    if kind.name in names.handles:
        return name, f"sys::{kind.name}", raw, given
    return name, camel(kind.name.removeprefix("ferrum_")), f"(&{raw}).into()", f"{given}.raw()"


def _is_default(struct: Struct, field: Field, value: Initial, names: Names) -> bool:
    """Returns whether the field starts as its type's default."""
    none = field.tag("none")
    if none:
        known = {c.name: c.value for c in names.header.constants} | {"UINT64_MAX": 2**64 - 1}
        word = none.words[0]
        return value == (known[word] if word in known else int(word))
    if is_choice(struct, field, names):
        return any(c.value == value and c.name.endswith("_AUTO") for c in names.choices(field.name))
    return not isinstance(value, int | float) or value == 0


def _record(record: Record) -> str:
    text = _struct(record)
    shown = "<'_>" if record.borrows else ""
    raw = record.struct.name
    values = ", ".join(f"{word(m.name)}: {m.from_c}" for m in record.members)
    if record.is_output:
        text += f"impl From<&sys::{raw}> for {record.name}{shown} {{ "
        text += f"fn from(raw: &sys::{raw}) -> Self {{ Self {{ {values} }} }} }}\n\n"
    if record.is_input and _starts(record):
        text += f"impl Default for {record.name}{shown} {{ fn default() -> Self {{ "
        text += f"let raw = sys::{raw}::INIT; Self {{ {values} }} }} }}\n\n"
    if not record.is_input:
        return text
    sets = [f"{word(name)}: {value}" for m in record.members for name, value in m.to_c]
    given = {name for m in record.members for name, _ in m.to_c}
    if any(field.name not in given for field in record.struct.fields):
        sets.append("..Default::default()")
    literal = f"sys::{raw} {{ {', '.join(sets)} }}"
    text += f"impl {record.name}{shown} {{ "
    if not record.holds:
        text += f"/// As C has it.\npub(crate) fn raw(&self) -> sys::{raw} {{ {literal} }} }}\n"
        return text
    holds = "".join(m.holds for m in record.members)
    text += "/// Calls a function with the C record. Its texts are valid during the call.\n"
    text += "pub(crate) fn with_raw<T>(&self, function: &str, "
    text += f"call: impl FnOnce(&sys::{raw}) -> Result<T>) -> Result<T> "
    text += f"{{ {holds} call(&{literal}) }} }}\n"
    return text


def _starts(record: Record) -> bool:
    return not all(member.is_default for member in record.members)


def _struct(record: Record) -> str:
    types = " ".join(member.type for member in record.members)
    derives = ["Clone", "Debug"]
    if not any(part in types for part in ("String", "Vec")):
        derives.insert(1, "Copy")
    arrays = [f.type.length for f in record.struct.fields if isinstance(f.type, Array)]
    is_long = "[" in types and max(arrays) > DEFAULT_ARRAY
    if not is_long and not (record.is_input and _starts(record)):
        derives.append("Default")
    if "Stream" not in types:
        derives.append("PartialEq")
        if not any(part in types for part in ("f32", "f64")):
            derives.append("Eq")
    life = "<'a>" if record.borrows else ""
    text = "\n" + doc_lines(record.doc, "") + f"#[derive({', '.join(derives)})]\n"
    if not record.is_input:
        # The library creates it, and a later version may add fields.
        text += "#[non_exhaustive]\n"
    text += f"pub struct {record.name}{life} {{\n"
    for member in record.members:
        text += doc_lines(member.doc, "    ") + f"    pub {word(member.name)}: {member.type},\n"
    return text + "}\n\n"
