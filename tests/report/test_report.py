"""The report of a replay, in a real browser: it renders, its script runs, and
its numbers are those of the JSON."""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest

from .browser import Page, render
from .conftest import Replay, run_case

SIZES = ("demand_peak_bytes", "peak_live_bytes", "high_water_bytes", "reserved_peak_bytes")
KEY_FIELDS = {
    "peak_live_bytes",
    "high_water_bytes",
    "fragmentation",
    "reserved_peak_bytes",
    "physical_peak_bytes",
    "failed",
}


def size_text(n: int) -> str:
    """Show a size the way the report promises, worked out on its own."""
    for unit, power, least in (("TiB", 40, 10), ("GiB", 30, 1), ("MiB", 20, 1), ("KiB", 10, 1)):
        if n >= least << power:
            value = (Decimal(n) / (1 << power)).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
            return f"{value} {unit}"
    return f"{n} B"


def ratio_text(value: float) -> str:
    return "-" if value == 0 else f"{value:.3f}"


def expected_text(field: str, result: dict[str, Any]) -> str | None:
    """Say what a field must read as; None where it is free text."""
    value = result[field]
    if field == "limit_bytes":
        return size_text(value) if value else "none"
    if field.endswith("_bytes") or field == "bytes_per_token":
        return size_text(value)
    if field in ("fragmentation", "physical_over_live_area"):
        return ratio_text(value)
    if field.startswith("pair_ns"):
        return f"{value} ns"
    if field in ("jitter_ns", "duration"):
        return None
    return str(value)


def rows(page: Page, table: str) -> list[list[str]]:
    found: list[list[str]] = []
    for element in page.elements:
        if not any(p.attributes.get("id") == table for p in element.parents):
            continue
        if element.tag == "tr":
            found.append([])
        elif element.tag in ("td", "th") and found:
            found[-1].append(element.text.strip())
    return found


@pytest.fixture(scope="module")
def page(browser: str, replay: Replay) -> Page:
    return render(browser, replay.report)


def test_renders_without_console_message(page: Page, replay: Replay) -> None:
    assert page.console == []
    assert replay.result["trace"] in page.one("title").text
    assert page.one("html").attributes["data-ready"] == str(len(replay.result["series"]["time"]))
    assert page.one("h1").text == "Replay of " + replay.result["trace"]


def test_console_messages_are_seen(browser: str, replay: Replay, tmp_path: Path) -> None:
    """The check above could fail: a broken script shows."""
    broken = tmp_path / "broken.html"
    text = replay.report.read_text()
    assert '"series"' in text
    broken.write_text(text.replace('"series"', '"lost"', 1))
    page = render(browser, broken)
    assert page.console
    assert "data-ready" not in page.one("html").attributes


def test_carries_the_json(page: Page, replay: Replay) -> None:
    assert json.loads(page.one("script", id="replay").text) == replay.result


def test_numbers_equal_the_json(page: Page, replay: Replay) -> None:
    shown = [e for e in page.elements if "data-field" in e.attributes]
    in_cards = {e.attributes["data-field"] for e in shown if e.tag == "dd"}
    in_table = {e.attributes["data-field"] for e in shown if e.tag == "td"}
    assert in_cards == KEY_FIELDS
    assert in_table >= KEY_FIELDS | set(SIZES) | {"trace", "mode", "strategy", "requests"}
    for element in shown:
        field = element.attributes["data-field"]
        assert json.loads(element.attributes["data-value"]) == replay.result[field], field
        text = expected_text(field, replay.result)
        if text is not None:
            assert element.text == text, field


def test_tables_equal_the_json(page: Page, replay: Replay) -> None:
    moments = replay.result["moments"]
    assert [row[1:] for row in rows(page, "moments")] == [
        [
            size_text(m["live_bytes"]),
            size_text(m["reserved_bytes"]),
            size_text(m["physical_bytes"]),
            ratio_text(m["reserved_bytes"] / m["live_bytes"]),
            str(m["running"]),
        ]
        for m in moments
    ]
    failures = replay.result["failures"]
    assert [row[1:4] for row in rows(page, "failures")] == [
        [str(f["line"]), size_text(f["size_bytes"]), size_text(f["live_bytes"])] for f in failures
    ]
    reasons = [e for e in page.elements if "data-reason" in e.attributes]
    assert [(e.attributes["data-reason"], int(e.text)) for e in reasons] == [
        (r["reason"], r["count"]) for r in replay.result["failures_by_reason"]
    ]
    assert (replay.status == 1) == (replay.result["failed"] > 0)


def heights(path: str) -> list[float]:
    """Read the levels of a stepped path, 0 at the bottom and 1 at the top."""
    return [1 - float(y) / 300 for y in re.findall(r"(?:M0,|V)([\d.]+)", path)]


def test_charts_show_the_series(page: Page, replay: Replay) -> None:
    top_label = page.all("span", style="bottom: 100%")[0].text
    number, unit = top_label.split()
    top = float(number) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(unit)
    series = replay.result["series"]
    for name, values in (
        ("live", series["live_bytes"]),
        ("reserved", series["reserved_bytes"]),
        ("physical", series["physical_bytes"]),
    ):
        shown = heights(page.one("path", **{"class": name}).attributes["d"])
        assert max(shown) * top == pytest.approx(max(values), rel=0.001, abs=top / 10000)
        assert max(shown) <= 1
    assert len(page.all("path", **{"class": "limit"})) == (replay.result["limit_bytes"] > 0)
    assert len(page.all("path", **{"class": "failed"})) == (replay.result["failed"] > 0)


def test_is_accessible(page: Page) -> None:
    assert page.one("html").attributes["lang"] == "en"
    assert "width=device-width" in page.one("meta", name="viewport").attributes["content"]
    identities = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(identities) == len(set(identities))
    charts = [e for e in page.elements if "data-chart" in e.attributes]
    assert charts
    for chart in charts:
        assert chart.attributes["role"] == "img"
        assert chart.attributes["tabindex"] == "0"
        for reference in ("aria-labelledby", "aria-describedby"):
            assert chart.attributes[reference] in identities
    for table in page.all("table"):
        inside = [e for e in page.elements if table in e.parents]
        assert any(e.tag == "caption" for e in inside)
        assert all("scope" in e.attributes for e in inside if e.tag == "th")


PROBE = """
<script>
var box = document.querySelector('[data-chart="memory"]');
var out = document.createElement("pre");
out.id = "probe";
function readout() { return document.querySelector('[data-readout="memory"]').textContent; }
function color(name, of) { return getComputedStyle(document.querySelector(of))[name]; }
var seen = { hint: readout() };
box.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
seen.first = readout();
box.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
seen.last = readout();
var place = box.getBoundingClientRect();
box.dispatchEvent(new PointerEvent("pointermove", { clientX: place.left + place.width / 2 }));
seen.middle = readout();
seen.scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
seen.width = innerWidth;
seen.content = document.documentElement.scrollWidth;
seen.columns = color("gridTemplateColumns", ".key").split(" ").length;
seen.smallest = Math.min.apply(null, Array.from(document.querySelectorAll("main *"))
  .filter(function (e) { return !e.children.length && e.textContent.trim() && e.offsetParent; })
  .map(function (e) { return parseFloat(getComputedStyle(e).fontSize); }));
seen.pairs = [[color("color", "body"), color("backgroundColor", "body")],
  [color("color", "header p"), color("backgroundColor", "body")],
  [color("color", ".note"), color("backgroundColor", "section")],
  [color("color", "h2"), color("backgroundColor", "section")]];
seen.lines = ["live", "reserved", "physical"].map(function (name) {
  return [color("stroke", "path." + name), color("backgroundColor", "section")];
});
out.textContent = JSON.stringify(seen);
document.body.appendChild(out);
if (parent !== window) { parent.postMessage(out.textContent, "*"); }
</script>
</body>
"""

FRAME = """<!DOCTYPE html><title>frame</title>
<pre id="probe"></pre>
<script>addEventListener("message", function (m) {
  document.getElementById("probe").textContent = m.data;
});</script>
<iframe src="probed.html" style="width: {width}px; height: 800px"></iframe>
"""


def probed(replay: Replay, folder: Path) -> Path:
    """Give a copy of the report that looks at itself."""
    path = folder / "probed.html"
    path.write_text(replay.report.read_text().replace("</body>", PROBE))
    return path


def seen_by(page: Page) -> dict[str, Any]:
    assert page.console == []
    found: dict[str, Any] = json.loads(page.one("pre", id="probe").text)
    return found


def test_values_can_be_read_off(browser: str, replay: Replay, tmp_path: Path) -> None:
    seen = seen_by(render(browser, probed(replay, tmp_path)))
    series = replay.result["series"]
    assert "arrow keys" in seen["hint"]
    count = len(series["time"])
    for name, at in (("first", 0), ("last", count - 1), ("middle", count // 2)):
        for kind in ("live", "reserved", "physical"):
            text = f"{kind} {size_text(series[kind + '_bytes'][at])}"
            assert text in seen[name], (name, kind)


def luminance(color: str) -> float:
    channels = [int(c) / 255 for c in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(pair: list[str]) -> float:
    dark, light = sorted(luminance(c) for c in pair)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1100])
def test_readable_everywhere(
    browser: str, command: str, tmp_path: Path, scheme: str, width: int
) -> None:
    """No sideways scrolling on a phone, and contrast as WCAG AA asks for."""
    replay = run_case("limit", command, tmp_path)
    probed(replay, tmp_path)
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.replace("{width}", str(width)))
    seen = seen_by(render(browser, frame, scheme))
    assert seen["scheme"] == scheme
    assert seen["width"] == width
    assert seen["content"] <= width, "the page is wider than the screen"
    assert seen["smallest"] >= 11
    assert (seen["columns"] == 2) == (width < 640)
    for pair in seen["pairs"]:
        assert contrast(pair) >= 4.5, pair
    for pair in seen["lines"]:
        assert contrast(pair) >= 3, pair
    page_background = luminance(seen["pairs"][0][1])
    assert (page_background < 0.2) == (scheme == "dark")
