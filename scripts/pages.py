#!/usr/bin/env python3
"""Rewrites the links of pages that are copied to another place.

Pages are copied to the installed tree and into the wheel. There the files that a page links to
have other paths or do not exist. A link to a copied file gets the new path. A link to a file that
is not copied is replaced by its text.

    scripts/pages.py FOLDER...    prints the broken links of all pages below the folders
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

# [text](target) and ![text](target). The text may contain brackets in code.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
# A target with a scheme, such as https:, is not a file.
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def rewritten(text: str, source: str, places: Mapping[str, str]) -> str:
    """Returns a page with links for its new place.

    places maps the path of each copied file in the checkout to its new path. The old paths are
    relative to one folder, and so are the new paths.
    """
    here = PurePosixPath(places[source]).parent

    def link(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        path, hash_sign, section = target.partition("#")
        if ELSEWHERE.match(target) or not path:
            return found.group(0)
        place = places.get(os.path.normpath(PurePosixPath(source).parent / path))
        if place is None:
            return words
        return f"{image}[{words}]({os.path.relpath(place, here)}{hash_sign}{section})"

    lines = text.splitlines(keepends=True)
    inside = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            lines[number] = LINK.sub(link, line)
    return "".join(lines)


def sections(text: str) -> set[str]:
    """Returns the names by which links point to the headings of a page."""
    found, inside = set(), False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside and (heading := re.match(r"#+ (.*)", line)):
            words = LINK.sub(r"\2", heading.group(1)).strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def broken_links(page: Path) -> list[str]:
    """Returns a message for each link of a page whose target does not exist on this machine."""
    found = []
    # This pattern also finds links that rewritten() does not recognise.
    for target in re.findall(r"\]\(([^)\s]*)\)", page.read_text(encoding="utf-8")):
        path, _, section = target.partition("#")
        if ELSEWHERE.match(target):
            continue
        file = page.parent / path if path else page
        if path.startswith("/") or not file.exists():
            found.append(f"{page}: {target} is not there")
        elif section and section not in sections(file.read_text(encoding="utf-8")):
            found.append(f"{page}: {file.name} has no section {target}")
    return found


def main() -> int:
    """Checks the links of all pages below the given folders."""
    pages = [page for folder in sys.argv[1:] for page in sorted(Path(folder).rglob("*.md"))]
    broken = [line for page in pages for line in broken_links(page)]
    print(*broken, f"{len(pages)} pages, {len(broken)} broken links", sep="\n")
    return int(bool(broken) or not pages)


if __name__ == "__main__":
    sys.exit(main())
