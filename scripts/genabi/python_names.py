"""Converts the header's names and comments for Python."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from .model import Alias, Constant, Field, Header, Struct
from .shapes import Role, Shape, shapes_of

# Words that are not written like the rest of their kind.
WORDS = {"vpool": "VirtualPool", "dtype": "DType"}

TOKEN = re.compile(r"\bferrum_\w+(?:\.\w+)?(?:\(\))?|\bFERRUM_\w+\*?|\bNULL\b|\{0\}")
# A line of a list of words.
LIST = re.compile(r'\n+  ("\w+") {2,}')
# Remarks about a C number that a Python bool does not need.
NUMBERS = re.compile(r"\s\([01]\)|, or never \(0\)")


def camel(name: str) -> str:
    """Returns `VirtualPoolInfo` for `vpool_info`."""
    return "".join(WORDS.get(word, word.capitalize()) for word in name.lower().split("_"))


def type_name(item: Struct | Alias) -> str:
    """Returns the Python name of a struct or an alias."""
    given = item.tag("name")
    return camel(given.words[0] if given else item.name.removeprefix("ferrum_"))


def method_name(shape: Shape) -> str:
    """Returns the name of a method. A method that parses JSON has a name without json."""
    is_json = any(a.role is Role.TEXT for a in shape.outputs) and shape.name.endswith("_json")
    return (shape.name.removesuffix("_json") if is_json else shape.name).removeprefix("get_")


def form(shape: Shape) -> str:
    """Returns how a text refers to a function: by its tag, its method, or a function of the
    package.
    """
    for tag in shape.function.tags:
        if tag.name == "form" and tag.words[0] == "python":
            return " ".join(tag.words[1:])
    if shape.receiver is not None:
        return f"{camel(shape.kind)}.{method_name(shape)}()"
    return shape.function.name.removeprefix("ferrum_") + "()"


def literal(names: Names, text: str) -> str:
    """Returns a number or a constant of a tag as code."""
    if text == "UINT64_MAX":
        return "2**64 - 1"
    return f"_abi.{text}" if any(c.name == text for c in names.header.constants) else text


@dataclass(frozen=True)
class Enumeration:
    """An alias of an integer with its values, or a set of flags."""

    name: str
    prefix: str
    doc: str
    constants: tuple[Constant, ...]
    is_by_hand: bool = False
    is_flags: bool = False

    def member(self, constant: Constant) -> str:
        """Returns the name of a value."""
        return constant.name.removeprefix(self.prefix)


@dataclass
class Names:
    """The names to which the texts of the header can refer."""

    header: Header
    enumerations: dict[str, Enumeration] = field(default_factory=dict)
    flags: dict[str, Enumeration] = field(default_factory=dict)
    # The Python form of each name of the header.
    words: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for status in self.header.statuses:
            kind = status.name.removeprefix("FERRUM_ERROR_")
            if kind != status.name:
                self.words[status.name] = camel(kind) + "Error"
        for constant in self.header.constants:
            self.words[constant.name] = constant.name.removeprefix("FERRUM_")
        for struct in self.header.structs:
            self.words[struct.name] = type_name(struct)
            self.words[f"FERRUM_{struct.name.removeprefix('ferrum_').upper()}_INIT"] = (
                f"{type_name(struct)}()"
            )
        for shape in shapes_of(self.header):
            self.words[shape.function.name] = form(shape)
        for alias in self.header.aliases:
            found = _enumeration(self.header, alias)
            if found is not None:
                self.enumerations[alias.name] = found
                self._learn(found)
        for struct in self.header.structs:
            for member in struct.fields:
                tag = member.tag("flags")
                if tag and tag.words[0] not in self.flags and self._is_a_type(struct, tag.words[0]):
                    found = _flags(self.header, tag.words[0], member)
                    self.flags[tag.words[0]] = found
                    self._learn(found)

    def _is_a_type(self, struct: Struct, prefix: str) -> bool:
        """Sets that a record contains, or that are passed as a whole, are types."""
        is_whole = any(c.name == prefix + "_ALL" for c in self.header.constants)
        return is_whole or (struct.name.endswith("_info") and not struct.by_hand("python"))

    def _learn(self, found: Enumeration) -> None:
        self.words[found.prefix + "*"] = found.name
        for constant in found.constants:
            self.words[constant.name] = f"{found.name}.{found.member(constant)}"

    def auto(self, name: str) -> str:
        """Returns the constant of a field that means a choice of the library, or ""."""
        wanted = f"FERRUM_{name.removesuffix('_bytes').upper()}_AUTO"
        return wanted if any(c.name == wanted for c in self.header.constants) else ""

    def field_text(self, item: Field) -> str:
        """Returns the comment of a field, as words within a sentence."""
        doc = item.doc
        if item.tag("bool"):
            doc = NUMBERS.sub("", doc)
        none, auto = item.tag("none"), self.auto(item.name)
        for value in [none.words[0] if none and none.words[0] != "0" else "", auto]:
            if value:
                doc = re.sub(rf"\b{value}\b", "NULL", doc)
        return self.lowered(self.text(LIST.sub(r" \1: ", doc)))

    def lowered(self, text: str) -> str:
        """Returns a sentence in the form that continues after a colon."""
        first = text.split(" ")[0].rstrip(",:;")
        is_word = re.fullmatch(r"A|[A-Z][a-z]+", first) and first not in self.words.values()
        return text[:1].lower() + text[1:] if is_word else text

    def text(self, doc: str) -> str:
        """Returns a comment in its Python form."""
        return TOKEN.sub(self._word, doc)

    def _word(self, found: re.Match[str]) -> str:
        text = found.group().removesuffix("()")
        if text in {"NULL", "{0}"}:
            return "None" if text == "NULL" else "0"
        base, _, member = text.partition(".")
        known = self.words.get(base)
        if known is None:
            return found.group()
        return f"{known}.{member}" if member else known


def _enumeration(header: Header, alias: Alias) -> Enumeration | None:
    prefix, values = header.values(alias)
    if not values:
        return None
    return Enumeration(
        type_name(alias), prefix, alias.doc, values, is_by_hand=alias.by_hand("python")
    )


def _flags(header: Header, prefix: str, used: Field) -> Enumeration:
    own = [c for c in header.constants if c.name.startswith(prefix + "_") and not c.alias]
    is_whole = any(c.name == prefix + "_ALL" for c in own)
    name = camel(prefix.removeprefix("FERRUM_")) + ("Flags" if is_whole else "")
    return Enumeration(name, prefix + "_", used.doc, tuple(own), is_flags=True)


def docstring(text: str, indent: str, entries: list[tuple[str, str]] | None = None) -> str:
    """Returns a docstring, with a list of attributes."""
    width = 100 - len(indent)
    blocks = [
        textwrap.fill(" ".join(part.split()), width - 3, break_on_hyphens=False)
        for part in text.split("\n\n")
    ]
    lines = "\n\n".join(blocks).splitlines()
    if entries:
        lines += ["", "Attributes:"]
        for name, said in entries:
            lines += textwrap.wrap(
                f"{name}: {' '.join(said.split())}",
                width,
                initial_indent="    ",
                subsequent_indent="        ",
                break_on_hyphens=False,
            )
    lines[0] = '"""' + lines[0]
    end = '"""' if len(lines) == 1 else f'\n{indent}"""'
    return "\n".join(f"{indent}{line}".rstrip() for line in lines) + end + "\n"


def formatted(text: str, suffix: str = "py") -> str:
    """Returns the text as `make format` would format it in a file with that suffix."""
    root = Path(__file__).resolve().parents[2]
    name = f"generated.{suffix}"
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--no-cache", "--stdin-filename", name],
        input=text,
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
