"""Converts the header's names and comments for Rust."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .model import Alias, Constant, Field, Header, Named, Struct
from .rust import DEFAULT_ARRAY, KEYWORDS

# Words that are not written like the rest of their kind.
WORDS = {"vpool": "VirtualPool", "dtype": "DType", "opencl": "OpenCl"}

# Comments that a language takes apart are shorter than this.
TOKEN = re.compile(
    r'"[^"\n]*"|\{0\}|\bferrum_\w+\.\w+|\bferrum_\w+(?:\(\))?|\bFERRUM_\w+\*?|\bNULL\b|\b[a-z]+(?:_[a-z0-9]+)+\b'
)
# A line of a list of words.
LIST = re.compile(r'^  ("\w+") +', re.MULTILINE)
CONTINUED = re.compile(r"^ {6,}", re.MULTILINE)
# A 0 that a sentence or a clause explains.
ZERO = re.compile(
    r"(?:(?<=[;.,]\s)|^)0\b(?=:| means| if| when| where| for| before| without)", re.MULTILINE
)
# Remarks about a C number that a Rust bool does not need.
NUMBERS = re.compile(r" \([01]\)|, or never \(0\)")


def camel(name: str) -> str:
    """Returns `VirtualPoolInfo` for `vpool_info`."""
    return "".join(WORDS.get(word, word.capitalize()) for word in name.lower().split("_"))


def type_name(item: Struct | Alias) -> str:
    """Returns the Rust name of a struct or an alias."""
    given = item.tag("name")
    return camel(given.words[0] if given else item.name.removeprefix("ferrum_"))


def word(name: str) -> str:
    """Returns a field or parameter name, changed if it is a Rust keyword."""
    return f"r#{name}" if name in KEYWORDS else name


@dataclass(frozen=True)
class Enumeration:
    """An alias of an integer with its values."""

    alias: Alias
    name: str
    prefix: str
    constants: tuple[Constant, ...]

    def variant(self, constant: Constant) -> str:
        """Returns the name of a value."""
        return camel(constant.name.removeprefix(self.prefix))

    @property
    def unknown(self) -> Constant:
        """Returns the value that replaces a value that this crate does not know."""
        given = self.alias.tag("unknown")
        return next(
            constant
            for constant in self.constants
            if (constant.name == given.words[0] if given else constant.value == 0)
        )


@dataclass
class Names:
    """The names to which the texts of the header can refer."""

    header: Header
    enumerations: dict[str, Enumeration] = field(default_factory=dict)
    # The place of each name of the header in the crate, as a path below the crate.
    paths: dict[str, str] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)

    @property
    def handles(self) -> set[str]:
        """Returns the structs that are handles."""
        return {s.name for s in self.header.structs if [f.name for f in s.fields] == ["id"]}

    def __post_init__(self) -> None:
        for alias in self.header.aliases:
            found = enumeration(self.header, alias)
            if found is None or alias.by_hand("rust"):
                continue
            self.enumerations[alias.name] = found
            self.paths[alias.name] = found.name
            self.paths[found.prefix + "*"] = found.name
            for constant in found.constants:
                self.paths[constant.name] = f"{found.name}::{found.variant(constant)}"
        self.known |= {constant.name for constant in self.header.constants}
        self.known |= {struct.name for struct in self.header.structs}
        self.known |= {function.name for function in self.header.functions}
        for status in self.header.statuses:
            kind = status.name.removeprefix("FERRUM_ERROR_")
            if kind != status.name:
                self.paths[status.name] = f"ErrorKind::{camel(kind)}"

    def flags(self, prefix: str) -> list[Constant]:
        """Returns the single flags of a set, by the start of their names."""
        return [
            constant
            for constant in self.header.constants
            if constant.name.startswith(prefix + "_")
            and not constant.alias
            and constant.type.name in {"uint32_t", "uint64_t"}
            and constant.value.bit_count() == 1
        ]

    def choices(self, name: str) -> list[Constant]:
        """Returns the constants that a number can also be, by the field's name."""
        prefix = f"FERRUM_{name.removesuffix('_bytes').upper()}_"
        return [
            constant
            for constant in self.header.constants
            if constant.name.startswith(prefix) and not constant.alias
        ]

    def field_text(self, item: Field) -> str:
        """Returns the comment of a field, whose numbers may be words in Rust."""
        doc, none = item.doc, item.tag("none")
        optional = item.tag("optional")
        if optional and optional.words:
            doc = doc.replace(", or 0", ", or NULL")
        if item.tag("words"):
            doc = doc.replace("NULL or empty", "NULL")
        if item.tag("bool"):
            doc = NUMBERS.sub("", doc)
        if none and none.words[0] == "0":
            doc = ZERO.sub("NULL", doc)
        elif none:
            doc = re.sub(rf"\b{none.words[0]}\b(?=[:.,]| \(| when)", "NULL", doc)
        if re.fullmatch(r"FERRUM_\w+_\*", doc) and isinstance(item.type, Named):
            doc = self.enumerations[item.type.name].alias.doc
        return self.text(doc)

    def text(self, doc: str) -> str:
        """Returns a comment as rustdoc, with links to items of the crate."""
        doc = CONTINUED.sub("  ", LIST.sub(r"- \1: ", doc))
        doc = "".join(f"\\{c}" if c in "[]<>*" else c for c in doc.replace("_*", "_\0"))
        return TOKEN.sub(self._token, doc.replace("_\0", "_*"))

    def _token(self, found: re.Match[str]) -> str:
        text = found.group().removesuffix("()")
        if text.startswith('"'):
            return text
        if text in {"NULL", "{0}", "FERRUM_OK"}:
            return "`None`"
        base, _, member = text.partition(".")
        path = self.paths.get(base)
        if path:
            path += f"::{member}" if member else ""
            return f"[`{path}`](crate::{path})"
        if base in self.known:
            path = text.replace(".", "::")
            return f"[`{text}`](crate::sys::{path})"
        return f"`{text}`"


def enumeration(header: Header, alias: Alias) -> Enumeration | None:
    """Returns the values of an alias, or None if it has no own values."""
    prefix, values = header.values(alias)
    return Enumeration(alias, type_name(alias), prefix, values) if values else None


def doc_lines(text: str, indent: str) -> str:
    """Returns a text as a comment."""
    return "".join(f"{indent}/// {line}".rstrip() + "\n" for line in text.splitlines())


__all__ = ["DEFAULT_ARRAY", "Enumeration", "Names", "camel", "doc_lines", "type_name", "word"]
