"""Writes the Python package's _abi.py: constants, ctypes structs and prototypes."""

from __future__ import annotations

import textwrap

from .comments import first_sentence_block
from .model import (
    Array,
    Callback,
    CType,
    Field,
    Function,
    Header,
    Initial,
    Named,
    Pointer,
    Scalar,
    Sizeof,
    Struct,
)

WIDTH = 100

SCALARS = {
    "int8_t": "ctypes.c_int8",
    "uint8_t": "ctypes.c_uint8",
    "int16_t": "ctypes.c_int16",
    "uint16_t": "ctypes.c_uint16",
    "int32_t": "ctypes.c_int32",
    "uint32_t": "ctypes.c_uint32",
    "int64_t": "ctypes.c_int64",
    "uint64_t": "ctypes.c_uint64",
    "size_t": "ctypes.c_size_t",
    "float": "ctypes.c_float",
    "double": "ctypes.c_double",
    "char": "ctypes.c_char",
}

HEAD = '''\
# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The C ABI as ctypes sees it: constants, structs, callbacks and prototypes.

Nothing in here is for users of the package, and nothing in here loads the
library: see _loader for that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple


class Status(NamedTuple):
    """A row of FERRUM_STATUS_TABLE."""

    name: str
    value: int
    text: str


'''

TAIL = '''\
def check_layout() -> None:
    """Raises ImportError if a struct is not laid out as the header's compiler does."""
    for struct, size, alignment, offsets in LAYOUT:
        found = [getattr(struct, name).offset for name, *_ in _fields_of(struct)]
        if (ctypes.sizeof(struct), ctypes.alignment(struct)) != (size, alignment) or (
            tuple(found) != offsets
        ):
            raise ImportError(f"ferrum_mem: the layout of {struct.__name__} is wrong here")


def _fields_of(struct: type[ctypes.Structure]) -> list[Any]:
    return list(struct._fields_)


class Functions:
    """Every function of the header, with its types, bound to a loaded library.

    Raises AttributeError, which names it, if the library lacks one.
    """

'''


def emit(header: Header) -> str:
    """The text of _abi.py."""
    parts = [HEAD, _statuses(header), _constants(header)]
    parts += _types(header)
    parts.append(_layout(header))
    parts.append(_prototypes(header))
    parts.append(TAIL + _functions(header))
    return "".join(parts)


def _types(header: Header) -> list[str]:
    """Structs, then callbacks, but each after what it is made of."""
    parts: list[str] = []
    made: list[Struct | Callback] = [*header.structs, *header.callbacks]
    left = {found.name: found for found in made}

    def place(found: Struct | Callback) -> None:
        if left.pop(found.name, None) is None:
            return
        members = found.fields if isinstance(found, Struct) else found.parameters
        for member in members:
            inner = member.type
            while isinstance(inner, Pointer | Array):
                inner = inner.target if isinstance(inner, Pointer) else inner.element
            if isinstance(inner, Named) and inner.name in left:
                place(left[inner.name])
        parts.append(_struct(found) if isinstance(found, Struct) else _callback(found))

    for found in made:
        place(found)
    return parts


def _statuses(header: Header) -> str:
    text = "# Status codes\n\n"
    text += "".join(f"{s.name} = {s.value}\n" for s in header.statuses)
    text += "\nSTATUSES: tuple[Status, ...] = (\n"
    for status in header.statuses:
        row = [f'"{status.name}"', str(status.value), f'"{status.text}"']
        text += _call("Status", row, "    ", ",")
    return text + ")\n\n"


def _constants(header: Header) -> str:
    text = "# Types\n\n"
    for alias in header.aliases:
        text += _comment(alias.doc, "") + f"{alias.name} = {_ctype(alias.type)}\n"
    text += "\n# Constants\n\n"
    for constant in header.constants:
        text += _comment(constant.doc, "")
        value = hex(constant.value) if constant.value > 0xFFFF else str(constant.value)
        text += f"{constant.name} = {value.upper().replace('0X', '0x')}\n"
    return text


def _struct(struct: Struct) -> str:
    text = f"\n\nclass {struct.name}(ctypes.Structure):\n"
    text += _docstring(struct.doc, "    ") + "\n"
    for field in struct.fields:
        text += _comment(field.doc, "    ")
        text += f"    {field.name}: {_attribute_type(field.type)}\n"
    text += "\n    _fields_ = [\n"
    text += "".join(f'        ("{f.name}", {_ctype(f.type)}),\n' for f in struct.fields)
    text += "    ]\n"
    if struct.initial:
        macro = f"{struct.name.upper()}_INIT"
        text += f"\n    @classmethod\n    def init(cls) -> {struct.name}:\n"
        text += f'        """A struct with the values of {macro}."""\n'
        text += "        self = cls()\n"
        for field, value in zip(struct.fields, struct.initial, strict=True):
            text += _assignment(struct, field, value)
        text += "        return self\n"
    return text


def _assignment(struct: Struct, field: Field, value: Initial) -> str:
    """ctypes zeroes a new struct, so only what is not zero is set."""
    if isinstance(value, Sizeof):
        if value.struct != struct.name:
            raise ValueError(f"{struct.name}: struct_size is that of {value.struct}")
        return f"        self.{field.name} = ctypes.sizeof(cls)\n"
    if isinstance(value, tuple):
        if any(value):
            raise ValueError(f"{struct.name}.{field.name}: only zeros can fill an array")
        return ""
    return f"        self.{field.name} = {value!r}\n" if value else ""


def _callback(callback: Callback) -> str:
    text = f"\n\n{_comment(callback.doc, '')}"
    types = [_ctype(callback.result), *(_ctype(p.type) for p in callback.parameters)]
    return text + _call(f"{callback.name} = ctypes.CFUNCTYPE", types)


def _layout(header: Header) -> str:
    text = "\n\n# Struct, size, alignment and the offset of each field, as the header's compiler\n"
    text += "# lays them out.\n"
    text += "LAYOUT: tuple[tuple[type[ctypes.Structure], int, int, tuple[int, ...]], ...] = (\n"
    for struct in header.structs:
        offsets = ", ".join(str(field.offset_bytes) for field in struct.fields)
        if len(struct.fields) == 1:
            offsets += ","
        line = f"    ({struct.name}, {struct.size_bytes}, {struct.alignment_bytes}, ({offsets})),\n"
        if len(line) > WIDTH:
            line = f"    (\n        {struct.name},\n        {struct.size_bytes},\n"
            line += f"        {struct.alignment_bytes},\n{_tuple(offsets)}    ),\n"
        text += line
    return text + ")\n"


def _tuple(items: str) -> str:
    """A tuple inside of a tuple, on one line or with a line for each item."""
    line = f"        ({items}),\n"
    if len(line) <= WIDTH:
        return line
    lines = "".join(f"            {item},\n" for item in items.split(", "))
    return f"        (\n{lines}        ),\n"


def _prototypes(header: Header) -> str:
    text = "\n# Result and parameters of each function.\n"
    text += "PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {\n"
    for function in header.functions:
        arguments = [_ctype(p.type) for p in function.parameters]
        text += f'    "{function.name}": (\n        {_ctype(function.result)},\n'
        if not arguments:
            text += "        (),\n"
        else:
            joined = ", ".join(arguments) + ("," if len(arguments) == 1 else "")
            if len(joined) + 11 <= WIDTH:
                text += f"        ({joined}),\n"
            else:
                text += "        (\n" + "".join(f"            {a},\n" for a in arguments)
                text += "        ),\n"
        text += "    ),\n"
    return text + "}\n\n\n"


def _functions(header: Header) -> str:
    text = ""
    for function in header.functions:
        text += _comment(_summary(function), "    ")
        text += f"    {function.name}: Callable[..., {_result_type(function)}]\n"
    return text + (
        "\n    def __init__(self, library: ctypes.CDLL) -> None:\n"
        "        self._library = library\n"
        "        for name, (restype, argtypes) in PROTOTYPES.items():\n"
        "            function = getattr(library, name)\n"
        "            function.restype = restype\n"
        "            function.argtypes = argtypes\n"
        "            setattr(self, name, function)\n"
        "\n"
        "    def without_conversions(self, function: Any) -> Callable[..., int]:\n"
        '        """The function, but it takes arguments of ctypes as they are; see _quick."""\n'
        "        bare = self._library[function.__name__]\n"
        "        bare.restype = function.restype\n"
        "        found: Callable[..., int] = bare\n"
        "        return found\n"
    )


def _summary(function: Function) -> str:
    names = ", ".join(p.name for p in function.parameters)
    return f"({names}) {first_sentence_block(function.doc)}"


def _result_type(function: Function) -> str:
    return "bytes | None" if isinstance(function.result, Pointer) else "int"


def _ctype(type_: CType) -> str:
    if isinstance(type_, Scalar):
        return "None" if type_.name == "void" else SCALARS[type_.name]
    if isinstance(type_, Array):
        return f"{_ctype(type_.element)} * {type_.length}"
    if isinstance(type_, Named):
        return type_.name
    if type_.target == Scalar("void"):
        return "ctypes.c_void_p"
    if type_.target == Scalar("char"):
        # A text of the caller; a buffer to be filled is passed as one, too.
        return "ctypes.c_char_p"
    return f"ctypes.POINTER({_ctype(type_.target)})"


def _attribute_type(type_: CType) -> str:
    if isinstance(type_, Scalar):
        return "float" if type_.name in {"float", "double"} else "int"
    if isinstance(type_, Array):
        return "bytes" if type_.element == Scalar("char") else "Any"
    if isinstance(type_, Named):
        return {"struct": type_.name, "callback": "Any"}.get(type_.kind, "int")
    return {"void": "int | None", "char": "bytes | None"}.get(
        type_.target.name if isinstance(type_.target, Scalar) else "", "Any"
    )


def _call(head: str, arguments: list[str], indent: str = "", end: str = "") -> str:
    """A call, broken into lines the way ruff does it."""
    line = f"{indent}{head}({', '.join(arguments)}){end}\n"
    if len(line) <= WIDTH + 1:
        return line
    inner = [f"{indent}    {', '.join(arguments)}\n"]
    if len(inner[0]) > WIDTH + 1:
        inner = [f"{indent}    {argument},\n" for argument in arguments]
    return f"{indent}{head}(\n{''.join(inner)}{indent}){end}\n"


def _comment(doc: str, indent: str) -> str:
    if not doc:
        return ""
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        if lines:
            lines.append("#")
        lines += textwrap.wrap(
            " ".join(paragraph.split()),
            WIDTH - len(indent),
            initial_indent="# ",
            subsequent_indent="# ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "".join(f"{indent}{line}\n" for line in lines)


def _docstring(doc: str, indent: str) -> str:
    text = first_sentence_block(doc)
    lines = textwrap.wrap(text, WIDTH - len(indent) - 6, break_on_hyphens=False)
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""\n'
    head = f'{indent}"""{lines[0]}\n'
    return head + "".join(f"{indent}{line}\n" for line in lines[1:]) + f'{indent}"""\n'
