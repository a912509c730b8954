"""A headless Chromium that renders a file and returns the resulting page."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=4000",
    "--enable-logging=stderr",
    "--dump-dom",
)
# Values of the Chromium setting for the colour scheme that the user prefers.
SCHEMES = {"dark": 0, "light": 1}


def find() -> str | None:
    """Returns the path of the browser, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Element:
    """An element of the page, with the text inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    parents: list[Element] = field(default_factory=list, repr=False)

    def inside(self, tag: str, identity: str) -> bool:
        """States whether the element is inside an element with this tag and id."""
        return any(p.tag == tag and p.attributes.get("id") == identity for p in self.parents)


class _Collector(HTMLParser):
    EMPTY = frozenset({"meta", "link", "br", "img", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {k: v or "" for k, v in attrs}, parents=list(self._open))
        self.elements.append(element)
        if tag not in self.EMPTY:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, -1, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data


@dataclass
class Page:
    """A page after its scripts have run."""

    elements: list[Element] = field(repr=False)
    console: list[str]

    def all(self, tag: str | None = None, **attributes: str) -> list[Element]:
        """Finds elements by tag and attributes. An _ in a name stands for -."""
        wanted = {k.replace("_", "-"): v for k, v in attributes.items()}
        return [
            e
            for e in self.elements
            if (tag is None or e.tag == tag)
            and all(e.attributes.get(k) == v for k, v in wanted.items())
        ]

    def one(self, tag: str | None = None, **attributes: str) -> Element:
        """Finds the only element with this tag and these attributes."""
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} elements {tag} {attributes}"
        return found[0]


def render(browser: str, path: Path, scheme: str = "light") -> Page:
    """Opens a file. Returns its elements and the messages of its console."""
    with tempfile.TemporaryDirectory(prefix="ferrum-report-") as profile:
        done = subprocess.run(
            [
                browser,
                *FLAGS,
                f"--user-data-dir={profile}",
                f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
                path.resolve().as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    collector = _Collector()
    collector.feed(done.stdout)
    console = [line for line in done.stderr.splitlines() if re.search(r"CONSOLE[:(]", line)]
    return Page(collector.elements, console)
