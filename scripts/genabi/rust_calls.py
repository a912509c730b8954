"""Writes ferrum-mem's generated/calls.rs: methods with a handle and plain values.

A method is generated if it takes and returns only plain values, texts, records, lists of these,
and times to wait, and ends no object. Methods with ownership, or with references to other
objects, are hand-written.
"""

from __future__ import annotations

import re
import textwrap

from .model import Header
from .rust_arguments import LISTS, Arguments, Given
from .rust_format import formatted
from .rust_names import Names, camel, doc_lines
from .shapes import Argument, Role, Shape, check_decided, handle_kinds, shapes_of

HEAD = """\
// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.

use std::time::Duration;

use super::enums::*;
use super::records::*;
use crate::error::check;
use crate::{sys, Result};
"""

# Functions of the crate that only some calls need, by their modules.
HELPERS = {
    "c_text": "library",
    "c_texts": "texts",
    "json_of": "library",
    "listed": "library",
    "ns": "raw",
    "releasing": "release",
    "timeout_ns": "stream",
}


def emit(header: Header) -> str:
    """Returns the text of calls.rs."""
    names = Names(header)
    kinds = _kinds(header)
    arguments = Arguments(names, kinds)
    shapes = shapes_of(header)
    calls = [shape for shape in shapes if _is_plain(shape, arguments, kinds)]
    check_decided(shapes, calls, "rust")
    for shape in calls:
        names.paths[shape.function.name] = f"{kinds[shape.kind]}::{_method(shape)}"
    text = ""
    for kind, owner in kinds.items():
        own = [_call(shape, names, arguments) for shape in calls if shape.kind == kind]
        if own:
            text += f"\nimpl crate::{owner} {{\n" + "\n".join(own) + "}\n"
    used = [f"use crate::{m}::{h};\n" for h, m in HELPERS.items() if re.search(rf"\b{h}\(", text)]
    return formatted(HEAD + "".join(used) + text)


def _kinds(header: Header) -> dict[str, str]:
    """Returns the kinds whose object returns its handle by raw(), with the name of its type."""
    by_hand = {s.name.removeprefix("ferrum_") for s in header.structs if s.by_hand("rust")}
    return {kind: camel(kind) for kind in sorted(handle_kinds(header)) if kind not in by_hand}


def _is_plain(shape: Shape, arguments: Arguments, kinds: dict[str, str]) -> bool:
    if any(a.role in LISTS for a in shape.outputs) and len(shape.outputs) > 1:
        return False
    return (
        shape.receiver is not None
        and shape.kind in kinds
        and not shape.function.by_hand("rust")
        and shape.function.tag("ends") is None
        and all(arguments.can_give(a) for a in shape.inputs)
        and all(arguments.can_tell(a) for a in shape.outputs)
    )


def _method(shape: Shape) -> str:
    return shape.name.removeprefix("get_")


def _call(shape: Shape, names: Names, arguments: Arguments) -> str:
    inputs = [arguments.given(a, shape.function) for a in shape.inputs]
    parameters = ", ".join(["&self", *(given.parameter for given in inputs)])
    values = ["self.raw()", *(given.values for given in inputs)]
    start = "".join(given.before for given in inputs)
    result, body = _body(shape, arguments, inputs, values)
    text = doc_lines(f"{names.text(_described(shape))}\n\n{_errors(shape, names)}", "    ")
    text += f"    pub fn {_method(shape)}({parameters}) -> Result<{result}> {{\n"
    return f"{text}{start}{body} }}\n"


def _inputs_described(shape: Shape) -> list[str]:
    """Returns the descriptions of the inputs that are parameters in Rust. A time to wait has its
    own.
    """
    inputs = {a.name for a in shape.inputs if a.role is not Role.WAIT}
    described = []
    for part in shape.function.doc.partition("@return")[0].split("@param")[1:]:
        names, _, said = " ".join(part.split()).partition(" ")
        if set(names.split(",")) <= inputs:
            # A name with an underscore is treated as code anyway.
            marked = (n if "_" in n else f"`{n}`" for n in names.split(","))
            described.append(f"{', '.join(marked)}: {said}")
    return described


def _body(
    shape: Shape, arguments: Arguments, inputs: list[Given], values: list[str]
) -> tuple[str, str]:
    """Returns the type of a method's result, and the code for it."""
    function, outputs = f"sys::{shape.function.name}", shape.outputs
    if outputs and outputs[0].role in LISTS:
        return _listed(arguments, outputs[0], inputs, function, values)
    told = [arguments.told(a, "out" if len(outputs) == 1 else a.name) for a in outputs]
    outs = ["out"] if len(told) == 1 else [a.name for a in outputs]
    made = "".join(f"let mut {out} = {one.start};\n" for out, one in zip(outs, told, strict=True))
    given = ", ".join([*values, *(f"&mut {out}" for out in outs)])
    released = next((a.name for a in shape.inputs if a.role is Role.RELEASE), "")
    if released:
        # After a successful call the closure belongs to the library.
        call = f"releasing({released}, |call, data| {{\n// SAFETY: data is what call takes, once.\n"
        call += f"unsafe {{ {function}({given}) }} }})"
    else:
        call = f"{_safety(shape)}check(unsafe {{ {function}({given}) }})"
        for one in inputs:
            call = f"{one.within}{{ {call} }})" if one.within else call
    if not told:
        return "()", call
    results = ", ".join(one.result for one in told)
    types = ", ".join(one.type for one in told)
    pair = len(told) > 1
    return (
        f"({types})" if pair else types,
        f"{made}{call}?; Ok({f'({results})' if pair else results})",
    )


def _safety(shape: Shape) -> str:
    """Returns why a call is sound."""
    said = []
    if any(a.role in {Role.ARRAY, Role.BYTES, Role.TEXTS} for a in shape.inputs):
        said.append("what goes in has the length that is told")
    if any(a.role in {Role.STRUCT, Role.RECORD, Role.TEXT} for a in shape.inputs):
        said.append("the arguments are valid during the call")
    if shape.outputs:
        sized = any(a.role is Role.STRUCT for a in shape.outputs)
        what = "out is an output" if len(shape.outputs) == 1 else "the last are outputs"
        said.append(f"{what} of the call" + (", with its size set" if sized else ""))
    return f"// SAFETY: {'; '.join(said) or 'the arguments are plain values'}.\n"


def _listed(
    arguments: Arguments, output: Argument, inputs: list[Given], function: str, values: list[str]
) -> tuple[str, str]:
    """Returns the type and the code for an output with a length."""
    length = "length" if output.role is Role.TEXT else "count"
    reader = "json_of" if output.role is Role.TEXT else "listed"
    safe = "// SAFETY: the buffer has the room that is told.\n"
    given = ", ".join([*values, "to", "room", length])
    call = f"{reader}(|to, room, {length}| unsafe {{ {function}({given}) }})"
    for one in inputs:
        call = f"{one.within}{{ {call} }})" if one.within else call
    if output.role is Role.TEXT:
        return "String", safe + call
    kind, made = arguments.listed(output)
    if not made:
        return f"Vec<{kind}>", safe + call
    return f"Vec<{kind}>", f"{safe}let found = {call}?; Ok({made})"


def _described(shape: Shape) -> str:
    """Returns the text of a function, the descriptions of its inputs, and the values of a time to
    wait.
    """
    text = shape.function.doc.partition("@param")[0].partition("@return")[0]
    parts = [text.strip(), *_inputs_described(shape)]
    for tag in shape.function.tags:
        if tag.name == "none":
            stands = rf"\b{tag.words[1]}\b(?=[:.,]| \(| \w+s )"
            parts = [re.sub(stands, "NULL", part) for part in parts]
    for argument in shape.inputs:
        if argument.role is Role.DURATION:
            short = argument.name.removesuffix("_ns")
            parts = [part.replace(argument.name, short) for part in parts]
    if any(a.role is Role.WAIT for a in shape.inputs):
        parts.append("Without a timeout it waits without an end.")
    if any(a.role is Role.HANDLE and a.is_optional for a in shape.inputs):
        parts.append("Without a stream it is the default one of the device.")
    return "\n\n".join(parts)


def _errors(shape: Shape, names: Names) -> str:
    """Returns the errors of a function, and the name of the function in the header."""
    function = shape.function
    returned = function.doc.partition("@return")[2].partition("@param")[0]
    # The caller does not see the buffer of a list.
    never = "FERRUM_ERROR_BUFFER_TOO_SMALL" if any(a.role in LISTS for a in shape.outputs) else "-"
    errors = re.split(r"; (?=FERRUM_ERROR_)", " ".join(returned.split()))
    said = "; ".join(e for e in errors if not e.startswith(never))
    has_handle = any(a.role is Role.HANDLE and not a.is_output for a in shape.arguments)
    every = "FERRUM_ERROR_INVALID_HANDLE" if has_handle else "FERRUM_ERROR_POISONED"
    said = said or f"the errors of every call, such as {every}."
    text = names.text(said[0].upper() + said[1:])
    lines = textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)
    name = f"C function: [`{function.name}`](crate::sys::{function.name})."
    return "\n".join(["# Errors", "", *lines, "", name])
