"""Writes the Python package's _abi.pyi: the contents of _abi.py, with types and descriptions."""

from __future__ import annotations

import textwrap

from .comments import first_sentence_block
from .model import Array, Callback, CType, Function, Header, Named, Pointer, Scalar, Struct
from .python import SCALARS, WIDTH, comment, constants
from .python_names import formatted

HEAD = '''\
# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The C ABI as ctypes sees it: constants, structs, callbacks and functions.

A struct and the types of a function are made when they are asked for first.
"""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

class Status(NamedTuple):
    """A row of FERRUM_STATUS_TABLE."""

    name: str
    value: int
    text: str

'''

TABLES = """\

# Size and alignment of each struct, and type and offset of each field, as the header's
# compiler lays them out.
STRUCTS: dict[str, tuple[int, int, tuple[tuple[str, str, int], ...]]]
# The fields that are not zero in a struct with the values of its FERRUM_*_INIT.
INITIAL: dict[str, dict[str, int | float]]
# Result and parameters of each callback and each function.
CALLBACKS: dict[str, tuple[str, ...]]
PROTOTYPES: dict[str, tuple[str, ...]]

"""

FUNCTIONS = '''\
class Functions:
    """Every function of the header, with its types, of a loaded library.

    Raises AttributeError, which names it, if the library lacks one.
    """

'''

METHODS = '''\

    def __init__(self, library: ctypes.CDLL) -> None: ...
    def without_conversions(self, function: Callable[..., int]) -> Callable[..., int]:
        """The same function, which takes arguments of ctypes as they are; see _quick."""
'''


def emit(header: Header) -> str:
    """Returns the text of _abi.pyi."""
    text = HEAD + "".join(f"{s.name} = {s.value}\n" for s in header.statuses)
    text += "STATUSES: tuple[Status, ...]\n\n" + constants(header) + TABLES
    made: list[Struct | Callback] = [*header.structs, *header.callbacks]
    text += "".join(_struct(m) if isinstance(m, Struct) else _callback(m) for m in made)
    text += FUNCTIONS
    for function in header.functions:
        text += comment(_summary(function), "    ")
        text += f"    {function.name}: Callable[..., {_result_type(function)}]\n"
    return formatted(text + METHODS, "pyi")


def _struct(struct: Struct) -> str:
    text = f"class {struct.name}(ctypes.Structure):\n"
    text += _docstring(struct.doc, "    ") + "\n"
    for field in struct.fields:
        text += comment(field.doc, "    ")
        text += f"    {field.name}: {_attribute_type(field.type)}\n"
    if struct.initial:
        text += f"    @classmethod\n    def init(cls) -> {struct.name}:\n"
        text += f'        """A struct with the values of {struct.name.upper()}_INIT."""\n'
    return text + "\n"


def _callback(callback: Callback) -> str:
    types = [_ctype(callback.result), *(_ctype(p.type) for p in callback.parameters)]
    return comment(callback.doc, "") + f"{callback.name} = ctypes.CFUNCTYPE({', '.join(types)})\n"


def _summary(function: Function) -> str:
    names = ", ".join(p.name for p in function.parameters)
    return f"({names}) {first_sentence_block(function.doc)}"


def _result_type(function: Function) -> str:
    return "bytes | None" if isinstance(function.result, Pointer) else "int"


def _ctype(type_: CType) -> str:
    if isinstance(type_, Scalar):
        return "None" if type_.name == "void" else f"ctypes.{SCALARS[type_.name]}"
    if isinstance(type_, Array):
        return f"{_ctype(type_.element)} * {type_.length}"
    if isinstance(type_, Named):
        return type_.name
    if type_.target == Scalar("void"):
        return "ctypes.c_void_p"
    if type_.target == Scalar("char"):
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


def _docstring(doc: str, indent: str) -> str:
    text = first_sentence_block(doc)
    lines = textwrap.wrap(text, WIDTH - len(indent) - 6, break_on_hyphens=False)
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""\n'
    head = f'{indent}"""{lines[0]}\n'
    return head + "".join(f"{indent}{line}\n" for line in lines[1:]) + f'{indent}"""\n'
