"""The header as plain data: what the emitters write from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Scalar:
    """An integer, a float, char, or void (only behind a pointer or returned)."""

    name: str  # C spelling: uint32_t, size_t, float, char, void


@dataclass(frozen=True)
class Named:
    """A type that the header defines: a struct, an alias or a callback."""

    name: str
    kind: str  # "struct", "alias" or "callback"


@dataclass(frozen=True)
class Pointer:
    target: CType
    is_const: bool


@dataclass(frozen=True)
class Array:
    element: CType
    length: int


CType = Union[Scalar, Named, Pointer, Array]


@dataclass(frozen=True)
class Parameter:
    name: str
    type: CType


@dataclass(frozen=True)
class Field:
    name: str
    type: CType
    doc: str
    offset_bytes: int


# A leaf of an INIT macro: the integer or float, None for NULL, or Sizeof.
@dataclass(frozen=True)
class Sizeof:
    struct: str


Initial = Union[int, float, None, Sizeof, tuple["Initial", ...]]


@dataclass(frozen=True)
class Struct:
    name: str
    doc: str
    fields: tuple[Field, ...]
    size_bytes: int
    alignment_bytes: int
    # The values of FERRUM_*_INIT, one for each field; () if there is no macro.
    initial: tuple[Initial, ...]


@dataclass(frozen=True)
class Alias:
    name: str
    doc: str
    type: Scalar


@dataclass(frozen=True)
class Callback:
    name: str
    doc: str
    result: CType
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Function:
    name: str
    doc: str
    result: CType
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Constant:
    name: str
    doc: str
    value: int
    type: Scalar
    # The alias that the constant is a value of, or "".
    alias: str


@dataclass(frozen=True)
class Status:
    name: str
    value: int
    text: str


@dataclass(frozen=True)
class Header:
    statuses: tuple[Status, ...]
    constants: tuple[Constant, ...]
    aliases: tuple[Alias, ...]
    structs: tuple[Struct, ...]
    callbacks: tuple[Callback, ...]
    functions: tuple[Function, ...]
