"""Writes capi/export_*_gen.go: what the public functions call in Go.

An export reads its inputs, calls the method of core/library that has the name of the public
function, and gives back what it returns; the compiler holds the two together. Functions with
structs, enumerations, lists or callbacks are written by hand, and so is what is tagged
`@by-hand go`.
"""

from __future__ import annotations

from .model import CType, Header, Named, Pointer, Scalar
from .shapes import Argument, Role, Shape, handle_kinds, shapes_of

# Words that Go's naming rules, or the core, do not begin with one capital.
WORDS = {"id": "ID", "json": "JSON", "cpu": "CPU", "vpool": "VPool"}

# Go's words, and what an export has already: a parameter cannot have them as a name.
TAKEN = {"device": "dev", "range": "span", "type": "kind", "status": "code"}

# What an export can take and give so far.
INPUTS = {Role.HANDLE, Role.NUMBER, Role.TRUTH, Role.FORCE, Role.WAIT, Role.DURATION, Role.TEXT}
OUTPUTS = {Role.HANDLE, Role.NUMBER, Role.TRUTH, Role.DURATION, Role.TEXT}

HEAD = """\
// Code generated from include/ferrum_mem/{family}.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"
"""


def emit(header: Header, family: str) -> str:
    """The text of the file with the exports of one family, or "" if it has none."""
    found = [shape for shape in shapes_of(header) if shape.function.family == family]
    kinds = handle_kinds(header)
    exports = [_Export(shape, kinds).text() for shape in found if is_generated(shape)]
    if not exports:
        return ""
    body = "".join("\n" + text for text in exports)
    imports = '\nimport "ferrum_mem/core/device"\n' if "device.Addr(" in body else ""
    return HEAD.format(family=family) + imports + body


def is_generated(shape: Shape) -> bool:
    """Whether the export behind a function is generated."""
    if shape.function.by_hand("go") or not shape.can_fail:
        return False
    if any(a.is_optional and a.is_output for a in shape.arguments):
        return False
    return {a.role for a in shape.inputs} <= INPUTS and {a.role for a in shape.outputs} <= OUTPUTS


class _Export:
    def __init__(self, shape: Shape, kinds: tuple[str, ...]) -> None:
        self.shape = shape
        self.kinds = kinds
        self.lines: list[str] = []

    def text(self) -> str:
        """The export, as gofmt leaves it."""
        name = "fmgo_" + self.shape.function.name.removeprefix("ferrum_")
        parameters = ", ".join(
            f"{_parameter(p.name)} {_go_c(p.type)}"
            for a in self.shape.arguments
            for p in a.parameters
        )
        self.lines = ["defer guard(&status)"]
        handed = self._inputs()
        method = _camel(self.shape.function.name.removeprefix("ferrum_"), is_first_capital=True)
        self._outputs(f"lib.{method}({', '.join(handed)})")
        body = "".join(f"\t{line}\n" for line in self.lines)
        return f"//export {name}\nfunc {name}({parameters}) (status C.int32_t) {{\n{body}}}\n"

    # Inputs

    def _inputs(self) -> list[str]:
        """What the method is called with; what can be wrong is read before."""
        handed = []
        left = [a for a in self.shape.arguments if not a.is_output]
        while left:
            names = [a.name for a in left[:2]]
            if names[1:] == ["model"] and left[0].type_name == "ferrum_elastic_pool":
                self._read("ref", "modelOf(pool, model)")
                handed.append("ref")
                del left[:2]
            elif names == ["offset_bytes", "size_bytes"]:
                handed.append("rangeOf(offsetBytes, sizeBytes)")
                del left[:2]
            else:
                handed.append(self._input(left.pop(0)))
        return handed

    def _input(self, argument: Argument) -> str:
        name = _parameter(argument.parameters[0].name)
        quoted = f'"{argument.name}"'
        if argument.role is Role.FORCE:
            return self._read("force", f"forced({name})")
        if argument.role is Role.TRUTH:
            return self._read(f"{name}Set", f"truth({quoted}, {name})")
        if argument.role is Role.TEXT:
            return self._read(f"{name}Text", f"textOf({quoted}, {name})")
        if argument.role is Role.WAIT:
            return f"timeoutOf({name})"
        if argument.role is Role.DURATION:
            return f"ageOf({name})"
        if argument.type_name == "ferrum_address":
            return f"device.Addr({name})"
        number = "uint64" if argument.role is Role.HANDLE else _go_number(argument.type)
        return f"{number}({name})"

    def _read(self, name: str, call: str) -> str:
        self.lines += [f"{name}, err := {call}", "if err != nil {", "\treturn fail(err)", "}"]
        return name

    # Outputs

    def _outputs(self, call: str) -> None:
        outputs = self.shape.outputs
        if not outputs:
            self.lines.append(f"return done({call})")
            return
        names = [self._local(a) for a in outputs]
        self.lines.append(f"{', '.join(names)}, err := {call}")
        if len(outputs) == 1 and (given := self._given_at_once(outputs[0], names[0])):
            self.lines.append(f"return {given}")
            return
        self.lines += ["if err != nil {", "\treturn fail(err)", "}"]
        for argument, name in zip(outputs, names, strict=True):
            (parameter,) = argument.parameters
            number = "C.uint64_t" if argument.role is Role.HANDLE else _go_c(argument.type)
            self.lines.append(f"*{_parameter(parameter.name)} = {number}({name})")
        self.lines.append("return 0")

    def _local(self, argument: Argument) -> str:
        name = _parameter(argument.name)
        taken = {_parameter(p.name) for a in self.shape.arguments for p in a.parameters}
        return f"{name}Found" if name in taken else name

    def _given_at_once(self, argument: Argument, name: str) -> str:
        to = [_parameter(p.name) for p in argument.parameters]
        if argument.role is Role.TEXT:
            return f"giveText({', '.join(to)}, []byte({name}), err)"
        if argument.role is Role.TRUTH:
            return f"giveTruth({to[0]}, {name}, err)"
        if argument.role is Role.HANDLE or argument.type_name in {"uint64_t", "ferrum_address"}:
            return f"give({to[0]}, {name}, err)"
        return ""


def _parameter(name: str) -> str:
    """The name of a parameter in Go: keep_bytes is keepBytes."""
    return TAKEN.get(name, _camel(name, is_first_capital=False))


def _camel(name: str, *, is_first_capital: bool) -> str:
    first, *rest = name.split("_")
    head = WORDS.get(first, first.capitalize()) if is_first_capital else first
    return head + "".join(WORDS.get(word, word.capitalize()) for word in rest)


def _go_c(written: CType) -> str:
    """The type of a parameter of an export: a handle is its number."""
    if isinstance(written, Pointer):
        return "*" + _go_c(written.target)
    if isinstance(written, Named):
        numbers = {"struct": "uint64_t", "alias": "int32_t"}
        name = "uint64_t" if written.name == "ferrum_address" else numbers[written.kind]
        return f"C.{name}"
    if isinstance(written, Scalar):
        return f"C.{written.name}"
    raise TypeError(f"{written} is no type of a parameter")


def _go_number(written: CType) -> str:
    if isinstance(written, Scalar):
        return {"double": "float64", "float": "float32"}.get(
            written.name, written.name.removesuffix("_t")
        )
    raise TypeError(f"{written} is no number")
