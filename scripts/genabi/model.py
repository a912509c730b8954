"""The header as plain data, from which the emitters write."""

from __future__ import annotations

from dataclasses import dataclass


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
    """A pointer."""

    target: CType
    is_const: bool


@dataclass(frozen=True)
class Array:
    """An array of a fixed length."""

    element: CType
    length: int


CType = Scalar | Named | Pointer | Array


@dataclass(frozen=True)
class Tag:
    """A tag of a comment, such as `@by-hand rust why`."""

    name: str  # without the at sign
    words: tuple[str, ...]


class Tagged:
    """A declaration that can have tags."""

    tags: tuple[Tag, ...]

    def tag(self, name: str) -> Tag | None:
        """Returns the first tag of that name."""
        return next((tag for tag in self.tags if tag.name == name), None)

    def by_hand(self, layer: str) -> bool:
        """Returns whether the declaration is hand-written in a layer, such as "rust"."""
        found = (tag.words[0].split(",") for tag in self.tags if tag.name == "by-hand")
        return any(layer in layers for layers in found)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function or callback."""

    name: str
    type: CType


@dataclass(frozen=True)
class Field(Tagged):
    """A field of a struct, with its offset."""

    name: str
    type: CType
    doc: str
    offset_bytes: int
    tags: tuple[Tag, ...] = ()


@dataclass(frozen=True)
class Sizeof:
    """The size of a struct, as a leaf of an INIT macro."""

    struct: str


# A value of an INIT macro: None is NULL, and a tuple is a list in braces.
Initial = int | float | None | Sizeof | tuple["Initial", ...]


@dataclass(frozen=True)
class Struct(Tagged):
    """A struct with the layout of clang."""

    name: str
    doc: str
    fields: tuple[Field, ...]
    size_bytes: int
    alignment_bytes: int
    # The values of FERRUM_*_INIT, one for each field. () if there is no macro.
    initial: tuple[Initial, ...]
    tags: tuple[Tag, ...] = ()
    # The header that contains it, such as "pools".
    family: str = ""


@dataclass(frozen=True)
class Alias(Tagged):
    """A typedef of an integer."""

    name: str
    doc: str
    type: Scalar
    tags: tuple[Tag, ...] = ()


@dataclass(frozen=True)
class Callback:
    """A typedef of a pointer to a function."""

    name: str
    doc: str
    result: CType
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Function(Tagged):
    """A function of the library."""

    name: str
    doc: str
    result: CType
    parameters: tuple[Parameter, ...]
    tags: tuple[Tag, ...] = ()
    # The header that contains it, such as "pools".
    family: str = ""


@dataclass(frozen=True)
class Constant:
    """A macro with an integer value."""

    name: str
    doc: str
    value: int
    type: Scalar
    # The alias that has the constant as a value, or "".
    alias: str


@dataclass(frozen=True)
class Status:
    """A row of FERRUM_STATUS_TABLE."""

    name: str
    value: int
    text: str


@dataclass(frozen=True)
class Header:
    """The whole header, in its order."""

    statuses: tuple[Status, ...]
    constants: tuple[Constant, ...]
    aliases: tuple[Alias, ...]
    structs: tuple[Struct, ...]
    callbacks: tuple[Callback, ...]
    functions: tuple[Function, ...]

    def values(self, alias: Alias) -> tuple[str, tuple[Constant, ...]]:
        """Returns the values of an enumeration and the common start of their names. A plain number
        has no values.
        """
        own = [c for c in self.constants if c.alias == alias.name]
        if len(own) < 2:
            return "", ()
        first, second = own[0].name, own[1].name
        length = next(i for i in range(len(first)) if first[i] != second[i : i + 1])
        prefix = first[: first.rindex("_", 0, length) + 1]
        return prefix, tuple(
            c for c in own if c.name.startswith(prefix) and not c.name.endswith("_COUNT")
        )
