"""Writes the Python package's _calls.py: the simple methods of each kind of handle.

A method is generated if it takes and returns only plain values, texts, records, lists of these,
and times to wait. A method that takes or creates objects is hand-written. The classes of the
package inherit the generated methods.
"""

from __future__ import annotations

import re

from .model import Header
from .python_arguments import Arguments
from .python_names import (
    NUMBERS,
    Names,
    camel,
    docstring,
    formatted,
    literal,
    method_name,
    type_name,
)
from .shapes import Role, Shape, check_decided, handle_kinds, shapes_of

HEAD = '''\
# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The simple methods of objects of the library, by kind; their classes inherit them."""

from __future__ import annotations

'''

# Outputs whose length only the library knows: the call is repeated until the buffer is long
# enough.
LISTS = {Role.ARRAY, Role.TEXT}
SECONDS = "seconds; None waits without an end, 0 only asks."
SLICES = "In the main thread a long wait is done in slices, so that Ctrl-C ends it."


def emit(header: Header) -> str:
    """Returns the text of _calls.py."""
    names = Names(header)
    kinds: dict[str, list[Shape]] = {}
    shapes = shapes_of(header)
    simple = [shape for shape in shapes if is_simple(names, shape)]
    check_decided(shapes, simple, "python")
    for shape in simple:
        kinds.setdefault(shape.kind, []).append(shape)
    body = "".join(_class(names, kind, shapes) for kind, shapes in kinds.items())
    return formatted(HEAD + _imports(names, body) + body)


def is_simple(names: Names, shape: Shape) -> bool:
    """Returns whether a function is a generated method."""
    if shape.receiver is None or not shape.can_fail or shape.function.by_hand("python"):
        return False
    arguments = Arguments(names)
    inputs, outputs = shape.inputs, shape.outputs
    if any(a.role in LISTS for a in outputs) and len(outputs) > 1:
        return False
    return (
        shape.function.tag("ends") is None
        and ([a.role for a in inputs] == [Role.WAIT] or all(arguments.can_give(a) for a in inputs))
        # A time is passed by name, after all other parameters.
        and all(a.role is not Role.DURATION for a in inputs[:-1])
        and all(arguments.can_tell(a) for a in outputs)
    )


def _imports(names: Names, body: str) -> str:
    text = "import ctypes\n"
    collected = [name for name in ("Callable", "Iterable") if f"{name}[" in body]
    text += f"from collections.abc import {', '.join(collected)}\n" if collected else ""
    text += "from typing import Any\n" if "-> Any" in body else ""
    text += "\nfrom . import _abi, _native\n"
    checks = [name for name in ("choice", "handle_of", "listed", "record") if f"{name}(" in body]
    text += f"from ._arguments import {', '.join(checks)}\n" if checks else ""
    enumerations = [*names.enumerations.values(), *names.flags.values()]
    for module, by_hand in (("_enums", False), ("_enums_by_hand", True)):
        used = sorted(
            e.name
            for e in enumerations
            if re.search(rf"\b{e.name}\b[( =,)]", body) and e.is_by_hand is by_hand
        )
        text += f"from .{module} import {', '.join(used)}\n" if used else ""
    arguments = Arguments(names)
    kinds = {type_name(s) for s in names.header.structs if arguments.is_class(s)}
    records = sorted(k for k in kinds if re.search(rf"\b{k}(\.from_abi\(|[],)| ])", body))
    text += "from ._owned import Resource\n"
    words = ["NS_PER_SECOND"] if "NS_PER_SECOND" in body else []
    words += [n for n in ("i32", "nanoseconds", "real", "u32", "u64") if f"{n}(" in body]
    text += f"from ._values import {', '.join(words)}\n" if words else ""
    text += "from ._release import releasing\n" if "releasing(" in body else ""
    text += "from ._texts import texts\n" if "*texts(" in body else ""
    text += "from ._waits import wait\n"
    found = set(re.findall(r"\b\w+: (\w+)(?: \| None = None)?[,)]", body))
    classes = sorted(found & {camel(kind) for kind in handle_kinds(names.header)})
    if not classes and not records:
        return text
    typing = "from typing import Any\n"
    checked = typing.replace("Any", "TYPE_CHECKING, Any")
    if typing in text:
        text = text.replace(typing, checked)
    else:
        text = text.replace("\n\nfrom .", "\nfrom typing import TYPE_CHECKING\n\nfrom .", 1)
    text += "\nif TYPE_CHECKING:\n"
    text += f"    from . import {', '.join(classes)}\n" if classes else ""
    return text + (f"    from ._records import {', '.join(records)}\n" if records else "")


def _class(names: Names, kind: str, shapes: list[Shape]) -> str:
    text = f"\n\nclass {camel(kind)}Calls(Resource):\n"
    text += f'    """What {camel(kind)} inherits."""\n'
    return text + "".join(_method(names, shape) for shape in shapes)


def _method(names: Names, shape: Shape) -> str:
    doc, arguments = _doc(names, shape), Arguments(names)
    name, function = method_name(shape), shape.function.name
    if [a.role for a in shape.inputs] == [Role.WAIT]:
        text = f"\n    def {name}(self, timeout_s: float | None = None) -> None:\n{doc}"
        text += f"        handle, function = self._handle, _native.functions().{function}\n"
        return text + "        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)\n"
    defaults = {t.words[0]: t.words[1] for t in shape.function.tags if t.name == "default"}
    nones = _nones(shape)
    inputs = [
        arguments.given(a, defaults.get(a.name, ""), literal(names, nones.get(a.name, "")))
        for a in shape.inputs
    ]
    values = ["self._handle", *(value for given in inputs for value in given.values)]
    before = [given.before for given in inputs if given.before]
    if shape.outputs and shape.outputs[0].role in LISTS:
        kind, after = _listed(arguments, shape, values)
    else:
        raws = ["raw"] if len(shape.outputs) == 1 else [f"raw_{a.name}" for a in shape.outputs]
        told = [arguments.told(a, raw) for a, raw in zip(shape.outputs, raws, strict=True)]
        before += [output.before for output in told]
        values += [output.value for output in told]
        call = f"_native.functions().{function}({', '.join(values)})"
        released = next((a.name for a in shape.inputs if a.role is Role.RELEASE), "")
        if released:
            call = f"releasing({released}, lambda *given: {call})"
        after = [f"_native.check({call})"]
        results = ", ".join(output.result for output in told)
        after += [f"return {results}"] if told else []
        kind = ", ".join(output.type for output in told) or "None"
        kind = f"tuple[{kind}]" if len(told) > 1 else kind
    parameters = ", ".join(["self", *(given.parameter for given in inputs)])
    body = "".join(f"        {line}\n" for line in before + after)
    # Importing records takes long, and many programs need none.
    records = sorted(set(re.findall(r"\b(\w+)\.from_abi\(", body)))
    first = f"        from ._records import {', '.join(records)}\n\n" if records else ""
    return f"\n    def {name}({parameters}) -> {kind}:\n{doc}{first}{body}"


def _nones(shape: Shape) -> dict[str, str]:
    """Returns the value that None has for the function, by parameter."""
    return {t.words[0]: t.words[1] for t in shape.function.tags if t.name == "none"}


def _listed(arguments: Arguments, shape: Shape, values: list[str]) -> tuple[str, list[str]]:
    """Returns the type and the lines for an output with a length."""
    (output,) = shape.outputs
    function = f"_native.functions().{shape.function.name}"
    call = f"lambda *room: {function}({', '.join([*values, '*room'])})"
    if output.role is Role.TEXT:
        reader = "read_json" if shape.name.endswith("_json") else "read_text"
        return "Any" if reader == "read_json" else "str", [f"return _native.{reader}({call})"]
    kind, cell, each = arguments.listed(output)
    found = f"_native.read_array({cell}, {call})"
    if each != "each":
        found = f"[{each} for each in {found}]"
    return f"list[{kind}]", [f"return {found}"]


def _doc(names: Names, shape: Shape) -> str:
    """Returns the docstring, from the comment's text, its @param and its @return."""
    # A handle that is none is None in a method.
    said_in_c = shape.function.doc.replace("{0}", "NULL")
    for value in _nones(shape).values():
        said_in_c = re.sub(rf"\b{value}\b", "NULL", said_in_c)
    text, *parts = re.split(r"^@(?=param|return)", said_in_c, flags=re.MULTILINE)
    if any(a.role is Role.TRUTH for a in shape.outputs):
        text = NUMBERS.sub("", text).replace("result is 0", "result is False")
    lines = {"Args": [], "Returns": [], "Raises": []}  # type: dict[str, list[str]]
    # Parameters for the buffer of a list or text, and for values that Python computes, are not
    # described.
    room = {p.name for a in shape.outputs if a.role in LISTS for p in a.parameters}
    silent = room | {p.name for a in shape.inputs for p in a.parameters[1:]}
    for part in parts:
        word, rest = part.split(None, 1)
        said = " ".join(rest.split())
        if word == "param":
            parameter, said = said.split(None, 1)
            if set(parameter.split(",")) & silent:
                continue
            if any(a.role is Role.BYTES and a.name == parameter for a in shape.inputs):
                parameter = parameter.removesuffix("_text")
            if parameter.endswith("_ns") and parameter != "timeout_ns":
                parameter = parameter.removesuffix("_ns") + "_s"
            if parameter.endswith("_out"):
                lines["Returns"].append(_sentence(names.text(said)))
            elif parameter == "timeout_ns":
                lines["Args"].append(f"timeout_s: {SECONDS}")
            else:
                lines["Args"].append(f"{parameter}: {names.text(said)}")
        else:
            too_small = "FERRUM_ERROR_BUFFER_TOO_SMALL"
            lines["Raises"] += _raises(names, said, too_small if room else "")
    if any(a.role is Role.WAIT for a in shape.inputs):
        text = f"{text.strip()}\n\n{SLICES}"
    made = docstring(names.text(text.strip()), "        ").rstrip()
    sections = ""
    for title, entries in lines.items():
        if entries:
            filled = docstring("x", "        ", [("", entry) for entry in entries])
            body = filled.split("Attributes:\n", 1)[1].rsplit('\n        """', 1)[0]
            sections += f"\n\n        {title}:\n" + body.replace("            : ", "            ")
    if not sections:
        return made + "\n"
    return made.removesuffix('"""').rstrip() + sections + '\n        """\n'


def _raises(names: Names, said: str, never: str) -> list[str]:
    """Returns the errors of a @return, except the one that never occurs."""
    entries = []
    for chunk in re.split(r"; (?=FERRUM_ERROR_)", said):
        found = re.match(r"((?:FERRUM_ERROR_\w+(?:, | or )?)+)[:,]? ?(.*)", chunk)
        if found is None:
            return [names.text(said)]
        errors = [e for e in re.findall(r"FERRUM_ERROR_\w+", found.group(1)) if e != never]
        if errors:
            text = names.text(found.group(2)).strip(".; ")
            named = ", ".join(names.text(e) for e in errors)
            entries.append(f"{named}: {text}." if text else f"{named}.")
    return entries


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


__all__ = ["emit", "is_simple"]
