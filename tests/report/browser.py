"""A headless Chromium that renders files and returns the resulting pages.

One process renders all files, because its start takes ten times as long as a page. It is controlled
through two pipes with the DevTools protocol: each message is JSON that ends with a zero byte.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

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
    "--remote-debugging-pipe",
)
# Milliseconds that pass for a page after it has loaded. Its clock jumps over them.
VIRTUAL_MS = 4000
PATIENCE_S = 120
# Events that report a message of the console or an error of a script.
COMPLAINTS = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}


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


class Browser:
    """A running browser."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="ferrum-report-")
        self._log = Path(self._profile.name) / "log"
        (from_us, self._to), (self._from, to_us) = os.pipe(), os.pipe()
        # The browser reads from descriptor 3 and writes to 4, so these may be neither.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (from_us, to_us)]
        command = f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "bash",
                    "-c",
                    command,
                    "bash",
                    program,
                    *FLAGS,
                    f"--user-data-dir={self._profile.name}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=theirs,
            )
        for fd in (from_us, to_us, *theirs):
            os.close(fd)
        self._rest = b""
        self._number = 0

    def close(self) -> None:
        """Ends the browser."""
        try:
            self._call("Browser.close")
            self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._to)
            os.close(self._from)
            self._profile.cleanup()

    def render(self, path: Path, scheme: str) -> Page:
        """Opens a file in a new tab. Returns its elements and the messages of its console."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        session, console = attached["sessionId"], list[str]()

        def heard(message: dict[str, Any]) -> None:
            if message.get("method") in COMPLAINTS:
                console.append(json.dumps(message["params"]))

        def call(method: str, **parameters: Any) -> dict[str, Any]:
            return self._call(method, session, heard, **parameters)

        for domain in ("Page", "Runtime", "Log"):
            call(f"{domain}.enable")
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        call("Emulation.setEmulatedMedia", features=[preferred])
        opened = call("Page.navigate", url=path.resolve().as_uri())
        assert "errorText" not in opened, opened
        self._until(lambda m: m.get("method") == "Page.loadEventFired", heard)
        call("Emulation.setVirtualTimePolicy", policy="advance", budget=VIRTUAL_MS)
        self._until(lambda m: m.get("method") == "Emulation.virtualTimeBudgetExpired", heard)
        whole = "document.documentElement.outerHTML"
        html = call("Runtime.evaluate", expression=whole, returnByValue=True)["result"]["value"]
        self._call("Target.closeTarget", targetId=target)
        collector = _Collector()
        collector.feed(html)
        return Page(collector.elements, console)

    def _call(
        self,
        method: str,
        session: str | None = None,
        heard: Callable[[dict[str, Any]], None] = lambda _: None,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Calls a method and returns its result. Passes the events before it to heard."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._to, rest) :]
        answer = self._until(lambda m: m.get("id") == number, heard)
        assert "error" not in answer, (method, answer)
        result: dict[str, Any] = answer["result"]
        return result

    def _until(
        self, wanted: Callable[[dict[str, Any]], bool], heard: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        """Reads messages until the wanted one comes, and passes the others to heard."""
        end = time.monotonic() + PATIENCE_S
        while True:
            while b"\0" not in self._rest:
                ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
                part = os.read(self._from, 1 << 20) if ready else b""
                assert part, "the browser does not answer:\n" + self._log.read_text(
                    errors="replace"
                )
                self._rest += part
            text, _, self._rest = self._rest.partition(b"\0")
            message: dict[str, Any] = json.loads(text)
            if wanted(message):
                return message
            heard(message)


def render(browser: Browser, path: Path, scheme: str = "light") -> Page:
    """Opens a file. Returns its elements and the messages of its console."""
    return browser.render(path, scheme)
