"""Writes ferrum-mem's generated/calls.rs: methods of a handle and plain values.

A function is one if it takes numbers, values of enumerations and times, and gives
a record, a number, a yes or no, or a text, and ends nothing. What owns what, and
what refers to other objects, is written by hand.
"""

from __future__ import annotations

from .model import Header
from .rust import SCALARS
from .rust_format import formatted
from .rust_names import Names, camel, doc_lines
from .rust_records import link
from .shapes import Argument, Role, Shape, handle_kinds, shapes_of

HEAD = """\
// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.

use std::time::Duration;

use super::enums::*;
use super::records::*;
use crate::error::check;
use crate::library::json_of;
use crate::stream::timeout_ns;
use crate::{sys, Result};
"""

INPUTS = {Role.NUMBER, Role.WAIT, Role.ENUMERATION, Role.TEXTS, Role.RELEASE}
# Functions of the crate that only some calls need, by their modules.
HELPERS = {"release": "releasing", "texts": "c_texts"}
OUTPUTS = {Role.STRUCT, Role.NUMBER, Role.TRUTH, Role.ENUMERATION, Role.TEXT}


def emit(header: Header) -> str:
    """The text of calls.rs."""
    names = Names(header)
    known = {record.struct.name: record.name for record in link(names)}
    kinds = _kinds(header)
    calls = [shape for shape in shapes_of(header) if _is_plain(shape, known, kinds)]
    for shape in calls:
        path = f"{kinds[shape.kind]}::{_method(shape)}"
        names.paths[shape.function.name] = path
    text = ""
    for kind, owner in kinds.items():
        own = [_call(shape, names, known) for shape in calls if shape.kind == kind]
        if own:
            text += f"\nimpl crate::{owner} {{\n" + "\n".join(own) + "}\n"
    used = [f"use crate::{m}::{h};\n" for m, h in HELPERS.items() if f"{h}(" in text]
    return formatted(HEAD + "".join(used) + text)


def _kinds(header: Header) -> dict[str, str]:
    """The kinds whose object gives its handle by raw(), with the name of its type."""
    by_hand = {s.name.removeprefix("ferrum_") for s in header.structs if s.by_hand("rust")}
    return {kind: camel(kind) for kind in sorted(handle_kinds(header)) if kind not in by_hand}


def _is_plain(shape: Shape, known: dict[str, str], kinds: dict[str, str]) -> bool:
    return (
        shape.receiver is not None
        and shape.kind in kinds
        and not shape.function.by_hand("rust")
        and shape.function.tag("ends") is None
        and all(a.role in INPUTS for a in shape.inputs)
        and len(shape.outputs) <= 1
        and all(_is_plain_output(a, known) for a in shape.outputs)
    )


def _is_plain_output(argument: Argument, known: dict[str, str]) -> bool:
    is_struct = argument.role is Role.STRUCT
    return argument.role in OUTPUTS and (not is_struct or argument.type_name in known)


def _method(shape: Shape) -> str:
    return shape.name.removeprefix("get_")


def _call(shape: Shape, names: Names, known: dict[str, str]) -> str:
    parameters = ["&self"] + [_parameter(a, names) for a in shape.inputs]
    given = ["self.raw()"] + [_given(a) for a in shape.inputs]
    outputs = shape.outputs
    result, start, end = _result(outputs[0], names, known) if outputs else ("()", "", "")
    doc = names.text(_described(shape))
    text = doc_lines(doc, "    ")
    text += f"    pub fn {_method(shape)}({', '.join(parameters)}) -> Result<{result}> {{\n"
    function = f"sys::{shape.function.name}"
    for argument in shape.inputs:
        if argument.role is Role.TEXTS:
            name = argument.name
            said = f'"{shape.function.name}", "{name}", {name}'
            text += f"let ({name}, pointers) = c_texts({said})?;\n"
    if outputs and outputs[0].role is Role.TEXT:
        arguments = ", ".join([*given, "to", "room", "length"])
        text += "// SAFETY: the buffer has the room that is told.\n"
        return f"{text} json_of(|to, room, length| unsafe {{ {function}({arguments}) }}) }}\n"
    released = next((a.name for a in shape.inputs if a.role is Role.RELEASE), "")
    if released and not outputs:
        # The closure is the library's from a call that succeeds.
        text += f"releasing({released}, |call, data| {{\n"
        text += "// SAFETY: data is what call takes, once.\n"
        return f"{text} unsafe {{ {function}({', '.join(given)}) }} }}) }}\n"
    if not outputs:
        text += "// SAFETY: plain values.\n"
        return f"{text} check(unsafe {{ {function}({', '.join(given)}) }}) }}\n"
    sized = ", with its size set" if outputs[0].role is Role.STRUCT else ""
    text += f"let mut out = {start};\n// SAFETY: out is an output of the call{sized}.\n"
    return (
        f"{text} check(unsafe {{ {function}({', '.join([*given, '&mut out'])}) }})?; Ok({end}) }}\n"
    )


def _described(shape: Shape) -> str:
    """The text of a function without its parameters, with what a wait may be."""
    text, _, rest = shape.function.doc.partition("@param")
    text, _, returned = text.partition("@return")
    returned = returned or rest.partition("@return")[2]
    parts = [text.strip()]
    if any(a.role is Role.WAIT for a in shape.inputs):
        parts.append("Without a timeout it waits without an end.")
    if returned.strip():
        parts.append("Errors: " + " ".join(returned.split()))
    return "\n\n".join(parts)


def _parameter(argument: Argument, names: Names) -> str:
    if argument.role is Role.TEXTS:
        return f"{argument.name}: &[&str]"
    if argument.role is Role.RELEASE:
        return f"{argument.name}: impl FnOnce() + Send + 'static"
    if argument.role is Role.WAIT:
        return "timeout: Option<Duration>"
    if argument.role is Role.ENUMERATION:
        return f"{argument.name}: {names.enumerations[argument.type_name].name}"
    return f"{argument.name}: {_number(argument)}"


def _given(argument: Argument) -> str:
    if argument.role is Role.TEXTS:
        return f"pointers.as_ptr(), {argument.name}.len() as u64"
    if argument.role is Role.RELEASE:
        return "call, data"
    if argument.role is Role.WAIT:
        return "timeout_ns(timeout)"
    return f"{argument.name}.to_raw()" if argument.role is Role.ENUMERATION else argument.name


def _number(argument: Argument) -> str:
    return SCALARS.get(argument.type_name, "u64")


def _result(output: Argument, names: Names, known: dict[str, str]) -> tuple[str, str, str]:
    """The type of a result, what it starts as, and what is made of it."""
    if output.role is Role.STRUCT:
        return known[output.type_name], f"sys::{output.type_name}::default()", "(&out).into()"
    if output.role is Role.TRUTH:
        return "bool", "0", "out != 0"
    if output.role is Role.ENUMERATION:
        name = names.enumerations[output.type_name].name
        return name, "0", f"{name}::from_raw(out)"
    if output.role is Role.TEXT:
        return "String", "", ""
    type_ = _number(output)
    return type_, "0.0" if type_.startswith("f") else "0", "out"
