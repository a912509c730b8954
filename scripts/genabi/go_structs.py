"""Writes capi/structs_*_gen.go: the structs of the header, to and from the types of the core.

A struct that is tagged `@go pool.Config` has a converter for each direction in which a function
or another converter uses it. With a further tag `@by-hand go` the converter is hand-written. The
Go name of a field follows from its C name, or from its tag; the compiler checks both. The
converters consist of the small functions of capi/structs.go.
"""

from __future__ import annotations

from .go_names import camel, imports, packages
from .model import Array, Field, Header, Named, Pointer, Scalar, Struct
from .shapes import Argument, Role, ShapeError, handle_kinds, shapes_of

CONVERTED = {Role.STRUCT, Role.RECORD}

RESERVED = {"reserved", "reserved_end", "reserved_field"}

# Fields with a time to wait, where too large a value means no limit. Others are ages.
WAITS = ("wait_ns", "timeout_ns", "interval_ns")

HEAD = """\
// Code generated from include/ferrum_mem/{family}.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"
"""


def emit(header: Header, family: str) -> str:
    """Returns the text of the file with the structs of one family, or "" if it has none."""
    structs = Structs(header)
    parts = [
        part
        for struct in header.structs
        if struct.family == family
        for part in (structs.reader(struct), structs.writer(struct))
        if part
    ]
    if not parts:
        return ""
    body = "".join("\n" + part for part in parts)
    return HEAD.format(family=family) + imports(body, packages(header)) + body


class Structs:
    """The structs of a header, and the directions in which each is converted."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.kinds = {f"ferrum_{kind}" for kind in handle_kinds(header)}
        self.structs = {struct.name: struct for struct in header.structs}
        self.read: set[str] = set()
        self.written: set[str] = set()
        for shape in shapes_of(header):
            if shape.function.by_hand("go"):
                continue
            for argument in shape.arguments:
                if self.is_struct(argument):
                    where = self.written if argument.is_output else self.read
                    self._used(argument.type_name, where)

        for callback in header.callbacks:
            for parameter in callback.parameters:
                shown = parameter.type.target if isinstance(parameter.type, Pointer) else None
                if isinstance(shown, Named) and shown.name in self._tagged():
                    self._used(shown.name, self.written)

    def is_struct(self, argument: Argument) -> bool:
        """Returns whether an argument is a struct or a list of structs with a type in the core."""
        if argument.role is Role.ARRAY:
            return isinstance(argument.type, Named) and argument.type.name in self._tagged()
        return argument.role in CONVERTED and argument.type_name in self._tagged()

    def go_type(self, name: str) -> str:
        """Returns the Go type of a struct from its tag: *pool.Config for one that is passed as a
        pointer.
        """
        tag = self.structs[name].tag("go")
        if tag is None:
            raise ShapeError(f"{name}: no tag @go says which type of the core it is")
        return tag.words[0]

    def _tagged(self) -> set[str]:
        return {s.name for s in self.header.structs if s.tag("go")}

    def _used(self, name: str, where: set[str]) -> None:
        if self.structs[name].by_hand("go"):
            return
        where.add(name)
        for field in self.structs[name].fields:
            if self._is_record(field):
                self._used(field.type.name, where)  # type: ignore[union-attr]

    def _is_record(self, field: Field) -> bool:
        return (
            isinstance(field.type, Named)
            and field.type.kind == "struct"
            and field.type.name not in self.kinds
        )

    # From Go to C

    def writer(self, struct: Struct) -> str:
        """Returns the function that fills a struct, or "" if none does."""
        if struct.name not in self.written:
            return ""
        lines = [line for field in struct.fields for line in self._set(field)]
        name, go = writer_name(struct.name), self.go_type(struct.name).removeprefix("*")
        if struct.fields[0].name != "struct_size":
            # The struct may be memory of the caller that was not zeroed.
            lines.insert(0, f"*to = C.{struct.name}{{}}")
        body = "".join(f"\t{line}\n" for line in lines)
        return (
            f"// {name} fills a {struct.name}.\n"
            f"func {name}(to *C.{struct.name}, from *{go}) {{\n{body}}}\n"
        )

    def _set(self, field: Field) -> list[str]:
        if field.name in {"struct_size", *RESERVED} and not self._is_record(field):
            return []
        if field.tag("list") or self._counts(field):
            return []
        to, value = f"to.{field.name}", f"from.{go_name(field)}"
        if field.name == "flags" and (tag := field.tag("flags")):
            flags = self._flags(tag.words[0])
            return [
                f"{to} = 0",
                *(f"setFlag(&{to}, C.{name}, from.{flag})" for name, flag in flags),
            ]
        if field.tag("bool"):
            return [f"setTruth(&{to}, {value})"]
        written = field.type
        if self._is_record(field):
            return [f"{writer_name(written.name)}(&{to}, &{value})"]  # type: ignore[union-attr]
        if isinstance(written, Named) and written.kind == "struct":
            return [f"set(&{to}.id, {value})"]
        if isinstance(written, Array) and isinstance(written.element, Scalar):
            call = "putText" if written.element.name == "char" else "copyNumbers"
            return [f"{call}({to}[:], {value}{'' if call == 'putText' else '[:]'})"]
        if isinstance(written, Pointer) and written.target == Scalar("void"):
            return [f"setPointer(&{to}, {value})"]
        if isinstance(written, (Scalar, Named)) and not _is_callback(field):
            return [f"set(&{to}, {value})"]
        raise ShapeError(f"{field.name}: a field that cannot be filled")

    # From C to Go

    def reader(self, struct: Struct) -> str:
        """Returns the function that reads a struct, or "" if none does."""
        if struct.name not in self.read:
            return ""
        lines = [line for field in struct.fields for line in self._get(field)]
        name, go = reader_name(struct.name), self.go_type(struct.name).removeprefix("*")
        can_fail = any(line.startswith(("f.", "readList(")) for line in lines)
        head = ["f := fields{argument: argument}"] if can_fail else []
        last = "return to, f.err" if can_fail else "return to, nil"
        body = "".join(f"\t{line}\n" for line in [*head, *lines, last])
        argument = "argument" if can_fail else "_"
        return (
            f"// {name} reads a {struct.name}.\n"
            f"func {name}({argument} string, from *C.{struct.name}) (to {go}, err error) "
            f"{{\n{body}}}\n"
        )

    def _get(self, field: Field) -> list[str]:
        to, value, quoted = f"to.{go_name(field)}", f"from.{field.name}", f'"{field.name}"'
        written = field.type
        if field.name == "struct_size" or self._counts(field):
            return []
        if tag := field.tag("read"):
            return [f"f.{tag.words[0]}(&{to}, {value}, {quoted})"]
        if field.name in RESERVED and isinstance(written, Scalar):
            return [f"f.reserved(uint64({value}), {quoted})"]
        if field.name == "flags":
            return self._get_flags(field)
        if field.tag("bool"):
            return [f"f.truth(&{to}, {value}, {quoted})"]
        if self._is_record(field):
            call = f'{reader_name(written.name)}(argument+".{field.name}", &{value})'  # type: ignore[union-attr]
            return ["if f.err == nil {", f"\t{to}, f.err = {call}", "}"]
        if isinstance(written, Named) and written.kind == "struct":
            return [f"read(&{to}, {value}.id)"]
        if isinstance(written, Array) and isinstance(written.element, Scalar):
            if written.element.name == "char":
                return [f"f.fixedText(&{to}, {value}[:], {quoted})"]
            return [f"copyNumbers({to}[:], {value}[:])"]
        if isinstance(written, Pointer) and written.target == Scalar("void"):
            return [f"readPointer(&{to}, &{value})"]
        if isinstance(written, Pointer):
            return [self._get_pointed(field)]
        if field.name.endswith(WAITS):
            return [f"readWait(&{to}, {value})"]
        if isinstance(written, Scalar) and written.name in {"float", "double"}:
            return [f"set(&{to}, {value})"]
        if isinstance(written, (Scalar, Named)) and not _is_callback(field):
            return [f"read(&{to}, {value})"]
        raise ShapeError(f"{field.name}: a field that cannot be read")

    def _get_flags(self, field: Field) -> list[str]:
        tag = field.tag("flags")
        if tag is None:
            return ['f.known(from.flags, 0, "none is")']
        return [
            f"f.known(from.flags, {self.known_flags(tag.words[0])})",
            *(f"to.{flag} = from.flags&C.{name} != 0" for name, flag in self._flags(tag.words[0])),
        ]

    def known_flags(self, prefix: str) -> str:
        """Returns the sum of the flags of a set, and their names, as two arguments."""
        flags = self._flags(prefix)
        if not flags:
            raise ShapeError(f"{prefix}: a set without flags")
        numbers = {c.name: c.value for c in self.header.constants}
        known = [f"{name} ({numbers[name]:#x})" for name, _ in flags]
        said = f"only {known[0]} is"
        if len(known) > 1:
            said = f"only {', '.join(known[:-1])} and {known[-1]} are"
        return "|".join(f"C.{name}" for name, _ in flags) + f', "{said}"'

    def _flags(self, prefix: str) -> list[tuple[str, str]]:
        """Returns the flags of a set, each with the name of its Go field."""
        return [
            (c.name, camel(c.name.removeprefix(prefix + "_").lower(), is_first_capital=True))
            for c in self.header.constants
            if c.name.startswith(prefix + "_")
            and not c.alias
            and c.type.name == "uint32_t"
            and c.value.bit_count() == 1
            and c.name != prefix + "_ALL"
        ]

    def _get_pointed(self, field: Field) -> str:
        to, value, quoted = f"to.{go_name(field)}", f"from.{field.name}", f'"{field.name}"'
        target = field.type.target  # type: ignore[union-attr]
        if target == Scalar("char"):
            return f"f.{'path' if field.tag('path') else 'text'}(&{to}, {value}, {quoted})"
        tag = field.tag("list")
        if tag is None:
            raise ShapeError(f"{field.name}: a pointer without the tag @list")
        count, most, *codes = tag.words
        words = (codes or ["INVALID_ARGUMENT"])[0].split("_")
        code = "device.Code" + "".join(word.capitalize() for word in words)
        if isinstance(target, Named) and target.name in self.kinds:
            value = f"(*C.uint64_t)(unsafe.Pointer({value}))"
        most = f"C.{most}" if most.startswith("FERRUM_") else most
        length = f'listLength{{uint64(from.{count}), {most}, "{count}", {code}}}'
        return f"readList(&f, &{to}, {value}, {length}, {quoted})"

    def _counts(self, field: Field) -> bool:
        """Returns whether a field is the length of a list beside it."""
        return any(
            tag.words[0] == field.name
            for struct in self.structs.values()
            if field in struct.fields
            for other in struct.fields
            if (tag := other.tag("list"))
        )


def go_name(field: Field) -> str:
    """Returns the Go name of a field, or the path to it. is_mapped is Mapped."""
    tag = field.tag("go")
    if tag:
        return " ".join(tag.words)
    return camel(field.name.removeprefix("is_"), is_first_capital=True)


def writer_name(struct: str) -> str:
    """Returns the name of the function that fills a struct: putPoolInfo."""
    return "put" + camel(struct.removeprefix("ferrum_"), is_first_capital=True)


def reader_name(struct: str) -> str:
    """Returns the name of the function that reads a struct: poolConfigOf."""
    return camel(struct.removeprefix("ferrum_"), is_first_capital=False) + "Of"


def _is_callback(field: Field) -> bool:
    return isinstance(field.type, Named) and field.type.kind == "callback"
