"""Reads the header's tags: facts that C does not express, one on each line of a comment.

docs/abi.md describes each tag for authors of the header. Tags are removed from the text that goes
into the other languages.
"""

from __future__ import annotations

from .model import Tag

# Words of the comments themselves that also begin with an at sign.
TEXT = {"@param", "@return"}

# Tags that only the converters of Go structs use.
CONVERTERS = {"go", "list", "path", "read"}

# Every tag, with the minimum number of words after it.
TAGS = {
    "always": 0,
    "batch": 1,
    "bool": 0,
    "borrowed": 1,
    "by-hand": 2,
    "default": 2,
    "ends": 0,
    "fills": 1,
    "flags": 1,
    "form": 2,
    "go": 1,
    "hot": 0,
    "if": 1,
    "infallible": 0,
    "list": 2,
    "long": 1,
    "name": 1,
    "none": 1,
    "opens": 0,
    "optional": 0,
    "path": 0,
    "read": 1,
    "required": 0,
    "stateless": 0,
    "unknown": 1,
    "waits": 0,
    "words": 1,
}


class TagError(Exception):
    """A line looks like a tag but is not a known one."""


def split_tags(doc: str) -> tuple[str, tuple[Tag, ...]]:
    """Returns a comment's text without its tags, and the tags."""
    lines: list[str] = []
    tags: list[Tag] = []
    for line in doc.splitlines():
        words = line.split()
        if not words or not words[0].startswith("@") or words[0] in TEXT:
            lines.append(line)
            continue
        name = words[0].removeprefix("@")
        if name not in TAGS:
            raise TagError(f"@{name} is not a tag: want one of {', '.join(sorted(TAGS))}")
        if len(words) - 1 < TAGS[name]:
            raise TagError(f"@{name} wants {TAGS[name]} words or more: {line.strip()}")
        tags.append(Tag(name, tuple(words[1:])))
    return "\n".join(lines).strip("\n"), tuple(tags)
