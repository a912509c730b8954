"""Writes ferrum-mem's generated/enums.rs: enumerations and sets of flags."""

from __future__ import annotations

import re

from .model import Alias, Header, Scalar
from .rust_choices import choice_fields, flag_sets, word_lists
from .rust_format import formatted
from .rust_names import Enumeration, Names, camel, doc_lines
from .rust_records import link

HEAD = """\
// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
// Not every value goes both ways.
#![allow(dead_code)]

use std::ops::BitOr;

use crate::names::named;
use crate::sys;
"""

# Enumerations whose text for people differs from the name; their Display is hand-written.
SHOWN_BY_HAND = {"ferrum_backend", "ferrum_buffer_location"}


def emit(header: Header) -> str:
    """Returns the text of enums.rs."""
    names = Names(header)
    link(names)
    parts = [HEAD]
    parts += [_enumeration(e, names) for e in names.enumerations.values()]
    parts += [_flags(prefix, doc, names) for prefix, doc in flag_sets(names)]
    parts += [_choice(field, names) for field in choice_fields(names)]
    parts += [_words(name, doc, names) for name, doc in word_lists(names)]
    return formatted("".join(parts))


def _enumeration(e: Enumeration, names: Names) -> str:
    derives = "Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash"
    text = f"\n{doc_lines(names.text(e.alias.doc), '')}#[derive({derives})]\n"
    text += f"#[repr(i32)]\n#[non_exhaustive]\npub enum {e.name} {{\n"
    for constant in e.constants:
        text += doc_lines(names.text(constant.doc), "    ")
        if constant.value == 0:
            text += "    #[default]\n"
        text += f"    {e.variant(constant)} = sys::{constant.name},\n"
    text += f"}}\n\nimpl {e.name} {{\n"
    text += "    /// Converts a value of C. An unknown value becomes the variant of the last arm.\n"
    text += (
        f"    pub(crate) fn from_raw(raw: sys::{e.alias.name}) -> Self {{\n        match raw {{\n"
    )
    for constant in e.constants:
        if constant != e.unknown:
            text += f"            sys::{constant.name} => Self::{e.variant(constant)},\n"
    text += f"            _ => Self::{e.variant(e.unknown)},\n        }}\n    }}\n\n"
    text += "    /// The value in C.\n"
    text += f"    pub(crate) fn to_raw(self) -> sys::{e.alias.name} {{\n        self as i32\n"
    text += "    }\n}\n"
    words = [(e.variant(c), c.name.removeprefix(e.prefix).lower()) for c in e.constants]
    return text + _named(e.name, words, e.alias.name not in SHOWN_BY_HAND)


def _named(name: str, words: list[tuple[str, str]], is_shown: bool = True) -> str:
    """Returns the names of the values of a type, as calls of a macro of the crate."""
    listed = ", ".join(f'{variant} = "{word}"' for variant, word in words)
    return f"\nnamed!({name}{', Display' if is_shown else ''}: {listed});\n"


def _flags(prefix: str, doc: str, names: Names) -> str:
    name = camel(prefix.removeprefix("FERRUM_")) + "Flags"
    flags = names.flags(prefix)
    bits = "u64" if flags[0].type == Scalar("uint64_t") else "u32"
    text = f"\n{doc_lines(names.text(doc), '')}///\n/// `|` joins.\n"
    text += "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]\n"
    text += f"pub struct {name}({bits});\n\nimpl {name} {{\n"
    text += "    /// None of it.\n    pub const NONE: Self = Self(0);\n"
    every = next(c for c in names.header.constants if c.name == prefix + "_ALL")
    for flag in [*flags, every]:
        text += doc_lines(names.text(flag.doc), "    ")
        member = flag.name.removeprefix(prefix + "_")
        text += f"    pub const {member}: Self = Self(sys::{flag.name});\n"
    text += "\n    /// The flags as C has them.\n"
    text += f"    pub fn bits(self) -> {bits} {{\n        self.0\n    }}\n"
    text += (
        f"\n    pub(crate) fn from_bits(bits: {bits}) -> Self {{\n        Self(bits)\n    }}\n}}\n"
    )
    text += f"\nimpl BitOr for {name} {{\n    type Output = Self;\n\n"
    text += "    fn bitor(self, other: Self) -> Self {\n        Self(self.0 | other.0)\n    }\n}\n"
    return text


def _choice(field: Alias, names: Names) -> str:
    name = camel(field.name.removesuffix("_bytes"))
    number = "Bytes" if field.name.endswith("_bytes") else "Count"
    bits = {"uint32_t": "u32", "uint64_t": "u64"}[field.type.name]
    constants = names.choices(field.name)
    prefix = constants[0].name[: constants[0].name.rindex("_") + 1]
    variants = [(camel(c.name.removeprefix(prefix)), c) for c in constants]
    text = f"\n{doc_lines(names.text(field.doc), '')}"
    text += "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]\n"
    text += f"#[non_exhaustive]\npub enum {name} {{\n"
    for variant, constant in variants:
        text += doc_lines(names.text(constant.doc), "    ")
        text += ("    #[default]\n" if variant == "Auto" else "") + f"    {variant},\n"
    text += f"    /// So many.\n    {number}({bits}),\n}}\n\nimpl {name} {{\n"
    text += f"    pub(crate) fn from_raw(raw: {bits}) -> Self {{\n        match raw {{\n"
    for variant, constant in variants:
        text += f"            sys::{constant.name} => Self::{variant},\n"
    text += f"            number => Self::{number}(number),\n        }}\n    }}\n"
    text += f"\n    pub(crate) fn to_raw(self) -> {bits} {{\n        match self {{\n"
    for variant, constant in variants:
        text += f"            Self::{variant} => sys::{constant.name},\n"
    return text + f"            Self::{number}(number) => number,\n        }}\n    }}\n}}\n"


# A word of a list, and its description.
WORD = re.compile(r'^ *"(\w+)" +(.*(?:\n {6,}.*)*)', re.MULTILINE)

# A clause about the absence of the text.
NOTHING = re.compile(r"; NULL[^:.]*:[^.]*\.")


def _words(name: str, doc: str, names: Names) -> str:
    """Returns the possible words of a text, as its comment lists them."""
    described = NOTHING.sub(".", WORD.split(doc, maxsplit=1)[0].strip())
    words = [(word, " ".join(said.split())) for word, said in WORD.findall(doc)]
    text = f"\n{doc_lines(names.text(described), '')}"
    text += "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\n"
    text += f"pub enum {name} {{\n"
    for word, said in words:
        text += doc_lines(names.text(said[0].upper() + said[1:] + "."), "    ")
        text += f"    {camel(word)},\n"
    return text + "}\n" + _named(name, [(camel(word), word) for word, _ in words])
