"""The picture of a plan, in a real browser: it renders, and its rectangles and figures equal the
JSON. Its script zooms and names the buffer at a point.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .browser import Browser, Page, render
from .test_report import MAP_PROBE, map_rectangles, rows, seen_by, size_text

# The largest buffer is "weights <b>". Its name has characters with a meaning in HTML.
LIFETIMES = """size,upper,id,lower
400000,9,a,0
700000,4,weights <b>,1
400000,9,"c,d",4
100,3,small,2
"""


@dataclass
class Plan:
    """One run of the command: its JSON and its picture."""

    result: dict[str, Any]
    picture: Path


@pytest.fixture(scope="module")
def plan(command: str, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("plan")
    path, picture = folder / "lifetimes.csv", folder / "plan.html"
    path.write_text(LIFETIMES)
    done = subprocess.run(
        [command, "plan", str(path), "--json", "--picture", str(picture)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == ""
    return Plan(json.loads(done.stdout), picture)


@pytest.fixture(scope="module")
def page(browser: Browser, plan: Plan) -> Page:
    return render(browser, plan.picture)


def test_renders_without_console_message(page: Page, plan: Plan) -> None:
    assert page.console == []
    assert page.one("h1").text == "Plan of " + plan.result["name"]
    assert page.one("html").attributes["data-map-ready"] == str(len(plan.result["buffers"]))
    assert json.loads(page.one("script", id="plan").text) == plan.result


def test_figures_equal_the_json(page: Page, plan: Plan) -> None:
    for field in ("arena_bytes", "lower_bound_bytes", "greedy_bytes"):
        card = page.one("dd", data_field=field)
        assert card.attributes["data-value"] == str(plan.result[field])
        assert card.text == size_text(plan.result[field])
    buffers = sorted(plan.result["buffers"], key=lambda b: -b["size_bytes"])
    assert rows(page, "buffers") == [
        [
            b["id"],
            size_text(b["size_bytes"]),
            str(b["offset_bytes"]),
            str(b["lower"]),
            str(b["upper"]),
        ]
        for b in buffers
    ]


def test_map_shows_the_buffers(page: Page, plan: Plan) -> None:
    plot = next(e for e in page.elements if "data-map" in e.attributes)
    side, top, first, last = (
        int(plot.attributes[f"data-{name}"]) for name in ("side", "top", "first", "last")
    )
    assert (first, last) == (0, 9)
    expected = []
    for b in plan.result["buffers"]:
        left, right = (round(b[edge] / 9 * side) for edge in ("lower", "upper"))
        low = b["offset_bytes"] / top * side
        high = (b["offset_bytes"] + b["size_bytes"]) / top * side
        expected.append((left, side - high, right - left, high - low))
    found = sorted(map_rectangles(page))
    assert len(found) == len(expected)
    for rectangle, wanted in zip(found, sorted(expected), strict=True):
        assert rectangle == pytest.approx(wanted, abs=2)


def test_script_names_buffers(browser: Browser, plan: Plan, tmp_path: Path) -> None:
    probed = tmp_path / "probed.html"
    probed.write_text(plan.picture.read_text().replace("</body>", MAP_PROBE))
    seen = seen_by(render(browser, probed))
    assert seen["closer"] == [250_000, 250_000, 500_000, 500_000]
    largest = max(plan.result["buffers"], key=lambda b: b["size_bytes"] * (b["upper"] - b["lower"]))
    assert f": {largest['id']}, {size_text(largest['size_bytes'])} at offset " in seen["middle"]
    assert seen["middle"].endswith(f"from {largest['lower']} until {largest['upper']}")
