"""Writes the Python package's _records.py: the records that the library returns or takes.

A struct that a function fills becomes a frozen dataclass with from_abi(). A configuration, and a
record that functions also read, has to_abi(). docs/abi.md describes the tags of fields.
"""

from __future__ import annotations

from dataclasses import dataclass

from .model import Array, Field, Header, Initial, Named, Pointer, Scalar, Struct
from .python_names import Names, docstring, formatted, literal, type_name

HEAD = '''\
# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""What the library tells of its objects, and the settings that they are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

'''

TAIL = """
if TYPE_CHECKING:
    from typing_extensions import Self
"""

# Fields without a meaning for a user.
UNSAID = ("struct_size", "reserved_field", "reserved_end")


@dataclass(frozen=True)
class Member:
    """A field of a dataclass."""

    name: str
    type: str
    doc: str
    default: str | None
    # The value from the struct `raw`, and the value for the struct from `self`.
    from_c: str
    to_c: str


def emit(header: Header) -> str:
    """Returns the text of _records.py."""
    names = Names(header)
    inputs, outputs = directions(header)
    body = ""
    for struct in header.structs:
        if struct.by_hand("python") or [f.name for f in struct.fields] == ["id"]:
            continue
        is_config = struct.name in inputs and struct.name.endswith("_config")
        if is_config or struct.name in outputs:
            body += _class(names, struct, struct.name in inputs, struct.name in outputs)
    text = HEAD + "from . import _abi\n" + _imports(names, body) + TAIL + body
    return formatted(text)


def directions(header: Header) -> tuple[set[str], set[str]]:
    """Returns the structs that functions read and those that they fill, with nested structs."""
    inputs: set[str] = set()
    outputs: set[str] = set()
    for function in header.functions:
        for parameter in function.parameters:
            kind = parameter.type
            if isinstance(kind, Pointer) and isinstance(kind.target, Named):
                (inputs if kind.is_const else outputs).add(kind.target.name)
    for struct in header.structs:
        if struct.name in outputs:
            outputs |= {f.type.name for f in struct.fields if isinstance(f.type, Named)}
        if struct.name in inputs:
            inputs |= {f.type.name for f in struct.fields if isinstance(f.type, Named)}
    return inputs, outputs


def _imports(names: Names, body: str) -> str:
    found = [*names.enumerations.values(), *names.flags.values()]
    text = "from ._arguments import choice\n" if "choice(" in body else ""
    for module, by_hand in (("_enums", False), ("_enums_by_hand", True)):
        words = (e.name for e in found if f"{e.name}" in body and e.is_by_hand is by_hand)
        used = sorted(words, key=str.lower)
        text += f"from .{module} import {', '.join(used)}\n" if used else ""
    coders = [name for name in ("i32", "real", "u32", "u64") if f"{name}(" in body]
    text += "from ._fixed_text import fixed_text\n" if "fixed_text(" in body else ""
    text += "from ._native import encode\n" if "encode(" in body else ""
    return text + (f"from ._values import {', '.join(coders)}\n" if coders else "")


def _class(names: Names, struct: Struct, is_input: bool, is_output: bool) -> str:
    members = [
        _member(names, struct, field, value)
        for field, value in zip(
            struct.fields, struct.initial or (0,) * len(struct.fields), strict=True
        )
        if _is_said(struct, field)
    ]
    if not is_input or not struct.initial:
        members = [Member(m.name, m.type, m.doc, None, m.from_c, m.to_c) for m in members]
    form = "frozen=True" if is_output else "frozen=True, kw_only=True"
    entries = [(m.name, m.doc) for m in members if m.doc]
    text = f"\n\n@dataclass({form})\nclass {type_name(struct)}:\n"
    text += docstring(names.text(struct.doc), "    ", entries) + "\n"
    for m in members:
        text += f"    {m.name}: {m.type}" + (f" = {m.default}\n" if m.default else "\n")
    if is_output:
        text += f"\n    @classmethod\n    def from_abi(cls, raw: _abi.{struct.name}) -> Self:\n"
        text += '        """Reads the C struct."""\n        return cls(\n'
        text += "".join(f"            {m.name}={m.from_c},\n" for m in members) + "        )\n"
    if is_input:
        text += f"\n    def to_abi(self) -> _abi.{struct.name}:\n"
        text += '        """The C struct, which keeps the texts that it points to."""\n'
        text += f"        raw = _abi.{struct.name}{'.init' if struct.initial else ''}()\n"
        text += "".join(f"        raw.{m.name} = {m.to_c}\n" for m in members)
        text += "        return raw\n"
    return text


def _is_said(struct: Struct, field: Field) -> bool:
    """Returns whether a field is shown: not reserved, and not given by another field's None."""
    conditions = {t.words[0] for f in struct.fields for t in f.tags if t.name == "if"}
    is_reserved = field.name in UNSAID or (field.name == "reserved" and not _is_record(field))
    is_empty_set = field.name == "flags" and not field.tag("flags")
    return not (is_reserved or is_empty_set or field.name in conditions)


def _is_record(field: Field) -> bool:
    return isinstance(field.type, Named) and field.type.kind == "struct"


def _member(names: Names, struct: Struct, field: Field, initial: Initial) -> Member:
    doc = names.field_text(field)
    raw, own = f"raw.{field.name}", f"self.{field.name}"
    kind, from_c, to_c, default = "int", raw, f'u64("{field.name}", {own})', _number(initial)
    flags, none, condition = field.tag("flags"), field.tag("none"), field.tag("if")
    if field.tag("bool"):
        kind, from_c, to_c, default = "bool", f"bool({raw})", f"bool({own})", str(bool(initial))
    elif flags and flags.words[0] in names.flags:
        found = names.flags[flags.words[0]]
        kind, from_c = found.name, f"{found.name}({raw})"
        to_c, default = f'u32("{field.name}", {own})', f"{found.name}({initial})"
        default = f"{found.name}.NONE" if initial == 0 else default
    elif isinstance(field.type, Named) and field.type.name in names.enumerations:
        found = names.enumerations[field.type.name]
        kind, from_c = found.name, f"{found.name}({raw})"
        to_c = f'choice("{field.name}", {own}, {found.name})'
        default = next((names.words[c.name] for c in found.constants if c.value == initial), "")
        doc = "" if doc == found.name else doc
    elif isinstance(field.type, Named) and field.type.kind == "struct":
        inner = next(s for s in names.header.structs if s.name == field.type.name)
        if [f.name for f in inner.fields] == ["id"]:
            from_c = f"{raw}.id"
        else:
            kind, from_c = type_name(inner), f"{type_name(inner)}.from_abi({raw})"
            to_c = f"{own}.to_abi()"
            zeros = initial if isinstance(initial, tuple) else ()
            default = f"{kind}({', '.join(_number(zero) for zero in zeros)})"
    elif isinstance(field.type, Array):
        kind, from_c = "str", f'{raw}.decode("utf-8", "replace")'
        to_c = f'fixed_text("{field.name}", {own}, {field.type.length})'
    elif isinstance(field.type, Pointer):
        if field.type.target == Scalar("char"):
            from_c = f'({raw} or b"").decode("utf-8", "replace")'
            is_told = struct.name in directions(names.header)[1]
            kind, to_c, default = (
                "str" if is_told else "str | None",
                f'encode("{field.name}", {own})',
                "None",
            )
        else:
            kind = "int | None"
    elif isinstance(field.type, Scalar) and field.type.name in {"float", "double"}:
        kind, to_c = "float", f'real("{field.name}", {own})'
    elif isinstance(field.type, Scalar) and field.type.name in {"int32_t", "uint32_t"}:
        to_c = f'{field.type.name[0]}32("{field.name}", {own})'
    is_none = literal(names, none.words[0]) if none and none.words[0] != "0" else ""
    if names.auto(field.name) and isinstance(field.type, Scalar):
        is_none = f"_abi.{names.auto(field.name)}"
    if is_none and struct.initial:
        kind, default = f"{kind} | None", "None"
        to_c = f"{is_none} if {own} is None else {to_c}"
    if condition:
        kind, from_c = f"{kind} | None", f"{from_c} if raw.{condition.words[0]} else None"
        default = "None"
    required = field.tag("required") is not None
    return Member(field.name, kind, doc, None if required else default, from_c, to_c)


def _number(initial: Initial) -> str:
    if isinstance(initial, int) and initial > 0xFFFF and initial.bit_count() == 1:
        return f"1 << {initial.bit_length() - 1}"
    return repr(initial)
