"""Values with names in Rust: sets of flags, numbers or words, and words alone."""

from __future__ import annotations

from .model import Alias, Field, Scalar, Struct
from .rust_names import Names, camel
from .tags import CONVERTERS


def flag_sets(names: Names) -> list[tuple[str, str]]:
    """Returns sets of flags that have their own type, with the text of one of their fields."""
    found: dict[str, str] = {}
    for struct in names.header.structs:
        for field in struct.fields:
            tag = field.tag("flags")
            if tag and tag.words[0] in sets(names):
                found.setdefault(tag.words[0], field.doc)
    return list(found.items())


def word_lists(names: Names) -> list[tuple[str, str]]:
    """Returns the lists of words of texts that are one of them, with the name of their type. The
    first field or function of a type has its list.
    """
    found: dict[str, str] = {}
    for struct in names.header.structs:
        for field in struct.fields:
            if (tag := field.tag("words")) and tag.words[0] not in names.enumerations:
                found.setdefault(camel(tag.words[0]), field.doc)
    for function in names.header.functions:
        if tag := function.tag("words"):
            found.setdefault(camel(tag.words[1]), _after_first(function.doc))
    return list(found.items())


def choice_fields(names: Names) -> list[Alias]:
    """Returns numbers that can also be one of some words, each with its own type."""
    found: dict[str, Alias] = {}
    for struct in names.header.structs:
        for field in struct.fields:
            if is_choice(struct, field, names) and isinstance(field.type, Scalar):
                found.setdefault(field.name, Alias(field.name, field.doc, field.type))
    return list(found.values())


def is_choice(struct: Struct, field: Field, names: Names) -> bool:
    """Returns whether a number can also be one of some words."""
    return (
        struct.name.endswith("_config")
        and isinstance(field.type, Scalar)
        and all(tag.name in CONVERTERS for tag in field.tags)
        and bool(names.choices(field.name))
        and any(c.name.endswith("_AUTO") for c in names.choices(field.name))
    )


def sets(names: Names) -> set[str]:
    """Returns the starts of the names of flags that have their own type."""
    return {c.name.removesuffix("_ALL") for c in names.header.constants if c.name.endswith("_ALL")}


def set_name(prefix: str) -> str:
    """Returns the type of a set of flags whose names begin with prefix."""
    return camel(prefix.removeprefix("FERRUM_")) + "Flags"


def _after_first(doc: str) -> str:
    """Returns the text of a function's comment after its first paragraph, without parameters."""
    return doc.partition("\n\n")[2].partition("@")[0]
