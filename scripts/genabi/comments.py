"""Converts the header's comments to plain text."""

from __future__ import annotations

import re


def plain_text(raw: str | None) -> str:
    """Returns a /** comment without its stars, with at most one blank line between lines."""
    if raw is None or not raw.startswith("/**"):
        return ""
    body = raw.removeprefix("/**").removeprefix("<").removesuffix("*/")
    first, *rest = body.split("\n")
    # Text that begins beside the opening stars continues two columns further in.
    indent = "{0,2}" if first.strip() else "?"
    lines = [first.strip()] + [re.sub(rf"^\s*\*? {indent}", "", line).rstrip() for line in rest]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n"))


def comment_above(lines: list[str], line: int) -> str:
    """Returns the comment that ends on the line above the given one (counted from 1)."""
    last = line - 2
    if last < 0 or not lines[last].rstrip().endswith("*/"):
        return ""
    first = last
    while not lines[first].lstrip().startswith("/*"):
        first -= 1
    return plain_text("\n".join(lines[first : last + 1]).strip())


def first_sentence_block(doc: str) -> str:
    """Returns the first paragraph as one line."""
    return " ".join(doc.split("\n\n")[0].split())
