"""Writes capi/export_*_gen.go: the Go functions that the public functions call.

An export reads its inputs, finds the object of its first handle, calls the method with the rest
of the public function's name, and returns the method's results: ferrum_pool_trim calls Trim of
the object that lib.Pool finds. A function that creates an object, or belongs to none, is the
library's method of the whole name, such as lib.PoolCreate. The tag @go names another method. The
compiler checks that the two match. Structs are converted by the functions of go_structs. A
function with a callback, or with a struct without a type in the core, is hand-written and tagged
`@by-hand go`.
"""

from __future__ import annotations

from .go_names import camel, imports, packages
from .go_structs import Structs, reader_name, writer_name
from .model import CType, Header, Named, Pointer, Scalar
from .shapes import Argument, Role, Shape, handle_kinds, shapes_of

# Go keywords, and names that an export already uses: a parameter cannot have these names.
TAKEN = {"device": "dev", "range": "span", "type": "kind", "status": "code"}

# Outputs that the caller provides and the core fills.
FILLED = {Role.BYTES, Role.BATCH}

HEAD = """\
// Code generated from include/ferrum_mem/{family}.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"
"""


def emit(header: Header, family: str) -> str:
    """Returns the text of the file with the exports of one family, or "" if it has none."""
    writer = _Writer(header)
    exports = [
        _Export(shape, writer).text()
        for shape in shapes_of(header)
        if shape.function.family == family and writer.is_generated(shape)
    ]
    if not exports:
        return ""
    body = "".join("\n" + text for text in exports)
    return HEAD.format(family=family) + imports(body, writer.packages) + body


def is_generated(header: Header, shape: Shape) -> bool:
    """Returns whether the export of a function is generated."""
    return _Writer(header).is_generated(shape)


class _Writer:
    """What the exports of a header share."""

    def __init__(self, header: Header) -> None:
        self.structs = Structs(header)
        self.kinds = {f"ferrum_{kind}" for kind in handle_kinds(header)}
        self.packages = packages(header)
        # The methods that find the objects of handles, where the library's method does not.
        self.finders = {
            s.name: tag.words[0]
            for s in header.structs
            if s.name in self.kinds and (tag := s.tag("go"))
        }
        # The Go types of aliases, such as pressure.Level for ferrum_pressure_level.
        self.aliases = {a.name: tag.words[0] for a in header.aliases if (tag := a.tag("go"))}

    def is_generated(self, shape: Shape) -> bool:
        if shape.function.by_hand("go") or not shape.can_fail:
            return False
        return all(self._is_known(argument) for argument in shape.arguments)

    def _is_known(self, argument: Argument) -> bool:
        if argument.role in {Role.STRUCT, Role.RECORD}:
            return self.structs.is_struct(argument)
        if argument.role is Role.ARRAY and isinstance(argument.type, Named):
            is_number = argument.type.kind == "alias" or argument.type.name in self.kinds
            return is_number or self.structs.is_struct(argument)
        return argument.role is not Role.CALLBACK


class _Export:
    def __init__(self, shape: Shape, writer: _Writer) -> None:
        self.shape = shape
        self.function = shape.function
        self.writer = writer
        self.lines: list[str] = []

    def text(self) -> str:
        """Returns the export as gofmt would format it."""
        name = "fmgo_" + self.function.name.removeprefix("ferrum_")
        parameters = ", ".join(
            f"{self._parameter(p.name)} {self._go_c(p.type, is_list=a.role is Role.ARRAY)}"
            for a in self.shape.arguments
            for p in a.parameters
        )
        self.lines = ["defer guard(&status)"]
        if self.function.tag("hot"):
            # A deferred call of recover costs a few nanoseconds, so recover is called only after
            # a panic.
            self.lines = [
                "status = unfinished",
                "defer func() {",
                "\tif status == unfinished {",
                "\t\tcaught(&status, recover())",
                "\t}",
                "}()",
            ]
        self.object = self._finds_object()
        handed = self._inputs()
        self._outputs(f"{self._called()}({', '.join(handed)})")
        body = "".join(f"\t{line}\n" for line in self.lines)
        return f"//export {name}\nfunc {name}({parameters}) (status C.int32_t) {{\n{body}}}\n"

    def _go_tag(self) -> str:
        """Returns the function of the core that is called, if its name does not follow from the C
        name.
        """
        tags = [tag for tag in self.function.tags if tag.name == "go" and len(tag.words) == 1]
        return tags[0].words[0] if tags else ""

    def _finds_object(self) -> bool:
        """Returns whether the call is a method of an object, which the first handle finds."""
        return self.shape.receiver is not None and self._go_tag()[:1] in {"", "."}

    def _called(self) -> str:
        """Returns what is called: the method of an object, of the library or of its factory, or a
        function of the core.
        """
        tag = self._go_tag()
        name = self.shape.name.replace("get_", "")
        operation = f'"{self.shape.kind}.{name}"'
        if tag.startswith("factory."):
            return self._read("made", f"lib.Factory({operation})") + tag.removeprefix("factory")
        if self.object and self.shape.receiver:
            kind = camel(self.shape.kind, is_first_capital=True)
            handle = self._parameter(self.shape.receiver.name)
            found = self.writer.finders.get(self.shape.receiver.type_name, f"lib.{kind}")
            self._read("object", f"{found}({operation}, uint64({handle}))")
            return "object" + (tag or "." + camel(name, is_first_capital=True))
        if tag:
            return tag
        method = self.function.name.removeprefix("ferrum_")
        return f"lib.{camel(method, is_first_capital=True)}"

    def _call_error(self, error: str) -> str:
        """Returns the error of the call for the caller. The object may have ended meanwhile. A
        call that ends the object returns its own error.
        """
        is_late = self.object and self.function.tag("ends") is None
        return f"library.CallError({error}, object)" if is_late else error

    # Inputs

    def _inputs(self) -> list[str]:
        """Returns the arguments of the method. Arguments that can be wrong are read before."""
        handed = []
        counts = {a.role for a in self.shape.arguments if a.role is Role.BATCH}
        left = [
            a
            for a in self.shape.arguments
            if (not a.is_output or a.role in FILLED) and not (counts and a.name == "count")
        ]
        if self.object:
            left = left[1:]
        while left:
            names = [a.name for a in left[:2]]
            if names == ["offset_bytes", "size_bytes"]:
                handed.append("rangeOf(offsetBytes, sizeBytes)")
                del left[:2]
            else:
                handed += self._input(left.pop(0))
        return handed + [
            f"uint64({self._parameter(a.parameters[1].name)})"
            for a in self.shape.outputs
            if self._is_filled(a)
        ]

    def _input(self, argument: Argument) -> list[str]:
        name = self._parameter(argument.parameters[0].name)
        quoted = f'"{argument.name}"'
        if argument.role is Role.FORCE:
            return [self._read("force", f"forced({name})")]
        if argument.role is Role.TRUTH:
            return [self._read(f"{name}Set", f"truth({quoted}, {name})")]
        if argument.role is Role.TEXT:
            call = "textOf"
            if self._tagged("path", argument):
                call = "pathOf"
            elif self._tagged("long", argument):
                call = "longTextOf"
            return [self._read(f"{name}Text", f"{call}({quoted}, {name})")]
        if argument.role is Role.TEXTS:
            count = self._parameter(argument.parameters[1].name)
            return [self._read(f"{name}Given", f"textsOf({quoted}, {name}, {count})")]
        if argument.role is Role.RELEASE:
            return [f"releaseOf({name}, {self._parameter(argument.parameters[1].name)})"]
        if argument.role is Role.FLAGS:
            known = self.writer.structs.known_flags(argument.flags)
            self._read(f"{name}Given", f"flagsOf({quoted}, {name}, {known})")
            go = self._tagged("go", argument)
            return [f"{go}({name}Given)" if go else f"{name}Given"]
        if argument.role in {Role.STRUCT, Role.RECORD}:
            go = self.writer.structs.go_type(argument.type_name)
            given = f"{name}Given"
            self._read(given, f"{reader_name(argument.type_name)}({quoted}, {name})")
            return ["&" + given if go.startswith("*") else given]
        if argument.role is Role.BYTES:
            size = self._parameter(argument.parameters[1].name)
            if argument.type == Scalar("char"):
                call = f'bytesOf("{argument.parameters[1].name}", {name}, {size})'
                return [self._read(f"{name}Given", call)]
            return [f"device.HostAddr({name})", f"uint64({size})"]
        if argument.role in {Role.ARRAY, Role.BATCH}:
            return [self._list(argument, name, quoted)]
        return [self._value(argument, name)]

    def _value(self, argument: Argument, name: str) -> str:
        """Returns an input that is a number."""
        if argument.role is Role.WAIT:
            return f"timeoutOf({name})"
        if argument.role is Role.DURATION:
            return f"ageOf({name})"
        if argument.type_name == "ferrum_address":
            return f"device.Addr({name})"
        if go := self._tagged("go", argument):
            return f"{go}({name})"
        if argument.role is Role.ENUMERATION:
            go = self.writer.aliases.get(argument.type_name, "int32")
            return f"numberOf[{go}]({name})"
        if argument.role is not Role.HANDLE:
            return f"{_go_number(argument.type)}({name})"
        if not self._go_tag().startswith("factory."):
            return f"uint64({name})"
        kind = argument.type_name.removeprefix("ferrum_")
        return f"manager.{camel(kind, is_first_capital=True)}Handle({name})"

    def _list(self, argument: Argument, name: str, quoted: str) -> str:
        # A batch has as many places as the input `count`.
        count = "count"
        if argument.role is Role.ARRAY:
            count = self._parameter(argument.parameters[1].name)
        given = f"{self._parameter(argument.name)}Given"
        if self.writer.structs.is_struct(argument):
            call = f"recordsOf({quoted}, {name}, {count}, {reader_name(argument.type_name)})"
        else:
            call = (
                f"arrayOf[{self._element(argument)}]({quoted}, {self._numbers(argument)}, {count})"
            )
        return self._read(given, call)

    def _numbers(self, argument: Argument) -> str:
        """Returns a list as a list of numbers: a handle is a struct of only its number."""
        name = self._parameter(argument.parameters[0].name)
        if argument.role is Role.ARRAY and argument.type_name in self.writer.kinds:
            return f"(*C.uint64_t)(unsafe.Pointer({name}))"
        return name

    def _element(self, argument: Argument) -> str:
        if argument.type_name in self.writer.kinds:
            return "uint64"
        if argument.type_name == "ferrum_address":
            return "device.Addr"
        if isinstance(argument.type, Named):
            return self.writer.aliases.get(argument.type_name, "int32")
        return _go_number(argument.type)

    def _tagged(self, name: str, argument: Argument) -> str:
        """Returns the last word of a tag that names the argument, or ""."""
        for tag in self.function.tags:
            if tag.name == name and tag.words[0] == argument.name:
                return tag.words[-1] if name in {"path", "long"} or len(tag.words) > 1 else ""
        return ""

    def _read(self, name: str, call: str) -> str:
        self.lines += [f"{name}, err := {call}", "if err != nil {", "\treturn fail(err)", "}"]
        return name

    # Outputs

    def _outputs(self, call: str) -> None:
        outputs = [a for a in self.shape.outputs if a.role not in FILLED]
        is_sure = self.function.tag("infallible") is not None
        if not outputs:
            self.lines += (
                [call, "return 0"] if is_sure else [f"return done({self._call_error(call)})"]
            )
            return
        names = [self._local(a) for a in outputs]
        counts = [f"{n}Count" for a, n in zip(outputs, names, strict=True) if self._is_filled(a)]
        given = [*names, *counts] + ([] if is_sure else ["err"])
        self.lines.append(f"{', '.join(given)} := {call}")
        for argument in outputs:
            if self._is_filled(argument):
                count = self._parameter(argument.parameters[2].name)
                self.lines.append(f"*{count} = C.size_t({self._local(argument)}Count)")
        failure = "nil" if is_sure else self._call_error("err")
        if len(outputs) == 1 and (at_once := self._given_at_once(outputs[0], names[0], failure)):
            self.lines.append(f"return {at_once}")
            return
        if not is_sure:
            self.lines += ["if err != nil {", f"\treturn fail({self._call_error('err')})", "}"]
        lines = [self._given(a, name) for a, name in zip(outputs, names, strict=True)]
        self.lines += lines
        if not lines[-1].startswith("return "):
            self.lines.append("return 0")

    def _local(self, argument: Argument) -> str:
        name = TAKEN.get(argument.name, camel(argument.name, is_first_capital=False))
        taken = {self._parameter(p.name) for a in self.shape.arguments for p in a.parameters}
        return f"{name}Found" if name in taken or name in self.writer.packages else name

    def _is_filled(self, argument: Argument) -> bool:
        """Returns whether a list may be filled partly, instead of completely or not at all."""
        return any(
            tag.name == "fills" and tag.words[0] == argument.parameters[0].name
            for tag in self.function.tags
        )

    def _given_at_once(self, argument: Argument, name: str, failure: str) -> str:
        to = [self._parameter(p.name) for p in argument.parameters]
        if argument.role is Role.TEXT:
            return f"giveText({', '.join(to)}, {name}, {failure})"
        if argument.role is Role.TRUTH:
            return f"giveTruth({to[0]}, {name}, {failure})"
        if argument.role is Role.HANDLE or argument.type_name in {"uint64_t", "ferrum_address"}:
            is_one = argument.role is not Role.ARRAY
            return f"give({to[0]}, {name}, {failure})" if is_one else ""
        return ""

    def _given(self, argument: Argument, name: str) -> str:
        """Returns the statement that stores one output for the caller."""
        to = [self._parameter(p.name) for p in argument.parameters]
        if argument.role in {Role.STRUCT, Role.RECORD}:
            return f"{writer_name(argument.type_name)}({to[0]}, &{name})"
        if argument.role is Role.ARRAY:
            is_struct = self.writer.structs.is_struct(argument)
            put = writer_name(argument.type_name) if is_struct else "putNumber"
            to[0] = self._numbers(argument)
            if self._is_filled(argument):
                return f"fillArray({to[0]}, {name}, {put})"
            return f'return giveArray({", ".join(to)}, {name}, {put}, "{argument.name}")'
        if argument.role is Role.TRUTH:
            return f"setTruth({to[0]}, {name})"
        if argument.role is Role.TEXT:
            return f"return giveText({', '.join(to)}, {name}, nil)"
        return f"set({to[0]}, {name})"

    # Names and types

    def _parameter(self, name: str) -> str:
        """Returns the Go name of a parameter: keep_bytes is keepBytes. A parameter that would hide
        a package that the function uses gets another name.
        """
        if name in TAKEN:
            return TAKEN[name]
        found = camel(name, is_first_capital=False)
        return f"{found}ID" if found in self._used_packages() else found

    def _used_packages(self) -> set[str]:
        words = {w for tag in self.function.tags if tag.name == "go" for w in tag.words}
        if self._go_tag().startswith("factory."):
            words.add("manager.")
        words |= {
            self.writer.aliases.get(a.type_name, "")
            for a in self.shape.arguments
            if a.role in {Role.ENUMERATION, Role.ARRAY, Role.BATCH}
        }
        return {word.split(".")[0] for word in words if "." in word}

    def _go_c(self, written: CType, *, is_list: bool = False) -> str:
        """Returns the type of a parameter of an export. A handle is its number, except in lists."""
        if isinstance(written, Pointer):
            if written.target == Scalar("void"):
                return "C.uintptr_t"
            return "*" + self._go_c(written.target, is_list=is_list)
        if isinstance(written, Named):
            if written.name == "ferrum_address":
                return "C.uint64_t"
            if written.kind == "alias":
                return "C.int32_t"
            is_number = written.name in self.writer.kinds and not is_list
            return "C.uint64_t" if is_number else f"C.{written.name}"
        if isinstance(written, Scalar):
            return f"C.{written.name}"
        raise TypeError(f"{written} is not a type of a parameter")


def _go_number(written: CType) -> str:
    if isinstance(written, Scalar):
        return {"double": "float64", "float": "float32", "size_t": "uint64"}.get(
            written.name, written.name.removesuffix("_t")
        )
    raise TypeError(f"{written} is not a number")
