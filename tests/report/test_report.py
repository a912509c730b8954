"""The report of a replay, in a real browser: it renders, its script runs, and its numbers equal
those of the JSON.
"""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest

from .browser import Browser, Page, render
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
# Maximum number of bars in a chart. A bar shows several intervals if there are more intervals.
COLUMNS = 500


def size_text(n: int) -> str:
    """Computes independently how the report must show a size."""
    for unit, power, least in (("TiB", 40, 10), ("GiB", 30, 1), ("MiB", 20, 1), ("KiB", 10, 1)):
        if n >= least << power:
            value = (Decimal(n) / (1 << power)).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
            return f"{value} {unit}"
    return f"{n} B"


def ratio_text(value: float) -> str:
    return "-" if value == 0 else f"{value:.3f}"


def expected_text(field: str, result: dict[str, Any]) -> str | None:
    """Returns the expected text of a field; None for free text."""
    value = result[field]
    if field == "limit_bytes":
        return size_text(value) if value else "none"
    if field == "page_bytes":
        return size_text(value) if value else "none, whole segments"
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
def page(browser: Browser, replay: Replay) -> Page:
    return render(browser, replay.report)


def test_renders_without_console_message(page: Page, replay: Replay) -> None:
    assert page.console == []
    assert replay.result["trace"] in page.one("title").text
    assert page.one("html").attributes["data-ready"] == str(len(replay.result["series"]["time"]))
    assert page.one("h1").text == "Replay of " + replay.result["trace"]


def test_console_messages_are_seen(browser: Browser, replay: Replay, tmp_path: Path) -> None:
    """A broken script causes a console message, so the check above can fail."""
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
    """Reads the levels of a stepped path, 0 at the bottom and 1 at the top."""
    return [1 - float(y) / 300 for y in re.findall(r"(?:M0,|V)([\d.]+)", path)]


def test_charts_show_the_series(page: Page, replay: Replay) -> None:
    top_label = page.all("span", style="bottom: 100%")[0].text
    number, unit = top_label.split()
    top = float(number) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(unit)
    series = replay.result["series"]
    assert series["physical_bytes"] == series["reserved_bytes"], "one colour shows both"
    for name, values in (("live", series["live_bytes"]), ("reserved", series["reserved_bytes"])):
        shown = heights(page.one("path", **{"class": name}).attributes["d"])
        assert max(shown) * top == pytest.approx(max(values), rel=0.001, abs=top / 10000)
        assert max(shown) <= 1
    assert len(page.all("path", **{"class": "limit"})) == (replay.result["limit_bytes"] > 0)
    assert len(page.all("path", **{"class": "failed"})) == (replay.result["failed"] > 0)


def levels(path: str, count: int) -> list[float]:
    """Reads the level of each interval from a stepped path that starts at the left."""
    found: list[float] = []
    level = 0.0
    upper = path.split("V300H0Z")[0]
    for command, text in re.findall(r"(M0,|V|H)([\d.]+)", upper):
        if command == "H":
            end = round(float(text) * count / 1000)
            found += [level] * (end - len(found))
        else:
            level = 1 - float(text) / 300
    return found


def test_bars_hide_nothing(page: Page, replay: Replay) -> None:
    """Each bar has the highest value of its intervals. The live bar is in front of the reserved
    bar and never higher. No bar has an outline.
    """
    series = replay.result["series"]
    count = len(series["time"])
    width = -(-count // COLUMNS)
    top_label = page.all("span", style="bottom: 100%")[0].text
    number, unit = top_label.split()
    top = float(number) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(unit)
    drawn = {
        name: levels(page.one("path", **{"class": name}).attributes["d"], count)
        for name in ("reserved", "live")
    }
    for name, shown in drawn.items():
        values = series[f"{name}_bytes"]
        assert len(shown) == count
        for at in range(count):
            bar = values[at // width * width : at // width * width + width]
            assert shown[at] * top == pytest.approx(max(bar), abs=top / 10000), (name, at)
    assert all(a <= b for a, b in zip(drawn["live"], drawn["reserved"], strict=True))
    box = page.one("div", data_chart="memory")
    classes = [e.attributes["class"] for e in page.all("path") if box in e.parents]
    assert classes[:2] == ["reserved", "live"], "what is drawn last lies in front"


def test_captions_are_true(page: Page, replay: Replay) -> None:
    text = " ".join(page.one("p", id="memory-text").text.split())
    result = replay.result
    assert ("pages of 2.00 MiB that the pool has mapped" in text) == (result["page_bytes"] > 0)
    if not result["page_bytes"]:
        assert ("segments of the pool" in text) == (result["limit_bytes"] > 0)
    if result["limit_bytes"] and result["page_bytes"]:
        assert result["physical_over_live_area"] <= 1.02, "pages follow what is live"


def map_rectangles(page: Page) -> list[tuple[int, int, int, int]]:
    found = []
    for path in page.all("path"):
        if path.attributes["class"].startswith("block-"):
            found += re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-\d+z", path.attributes["d"])
    return [(int(x), int(y), int(w), int(h)) for x, y, w, h in found]


def test_map_shows_the_blocks(page: Page, replay: Replay) -> None:
    """At the time of the highest peak the map shows as many bytes as were live then."""
    plot = next(e for e in page.elements if "data-map" in e.attributes)
    side, top, first, last = (
        int(plot.attributes[f"data-{name}"]) for name in ("side", "top", "first", "last")
    )
    rectangles = map_rectangles(page)
    assert page.one("html").attributes["data-map-ready"] == str(len(rectangles))
    for x, y, w, h in rectangles:
        assert 0 <= x < x + w <= side + 1
        assert 0 <= y < y + h <= side
    if not replay.result["moments"]:
        assert not rectangles
        return
    peak = replay.result["moments"][0]
    at = (peak["time"] - first) / (last - first) * side
    # A rectangle that ends within one unit of the peak may or may not be counted.
    least = sum(h for x, _, w, h in rectangles if x + 1 <= at < x + w - 1)
    most = sum(h for x, _, w, h in rectangles if x - 1 <= at <= x + w + 1)
    assert least * top / side <= peak["live_bytes"] * 1.01
    left_out = "leaves out" in page.one("p", id="map-text").text
    assert most * top / side >= peak["live_bytes"] * (0.95 if left_out else 0.99)


MAP_PROBE = """
<script>
var map = document.querySelector("[data-map]");
var box = map.querySelector(".box");
var svg = map.querySelector("svg");
var out = document.createElement("pre");
out.id = "probe";
var seen = {};
function view() { return svg.getAttribute("viewBox").split(" ").map(Number); }
function labels() {
  return Array.from(map.querySelectorAll(".x-axis span, .y-axis span"))
    .map(function (s) { return s.textContent; });
}
function point(kind, x, y) {
  var place = box.getBoundingClientRect();
  (kind === "pointerup" ? window : box).dispatchEvent(new PointerEvent(kind, {
    clientX: place.left + place.width * x, clientY: place.top + place.height * y,
    pointerType: "mouse", button: 0
  }));
}
function readout() { return document.querySelector('[data-readout="map"]').textContent; }
function press(name) { document.querySelector('[data-zoom="' + name + '"]').click(); }
seen.buttons = getComputedStyle(document.querySelector(".zoom")).display;
seen.whole = view();
seen.labels = labels();
// The middle of the rectangle with the largest area, before and after zooming into it.
var largest = { area: 0 };
map.querySelectorAll("path").forEach(function (path) {
  path.getAttribute("d").replace(/M(\\d+) (\\d+)h(\\d+)v(\\d+)/g, function (_, x, y, w, h) {
    if (w * h > largest.area) { largest = { area: w * h, x: +x, y: +y, w: +w, h: +h }; }
  });
});
seen.largest = largest;
var x = (largest.x + largest.w / 2) / 1e6, y = (largest.y + largest.h / 2) / 1e6;
point("pointermove", x, y);
seen.middle = readout();
press("in");
seen.closer = view();
seen.closerLabels = labels();
press("whole");
seen.again = view();
seen.labelsAgain = labels();
point("pointerdown", largest.x / 1e6 - 0.02, largest.y / 1e6 - 0.02);
point("pointermove", (largest.x + largest.w) / 1e6 + 0.02, (largest.y + largest.h) / 1e6 + 0.02);
seen.selecting = !map.querySelector(".selection").hidden;
point("pointerup", (largest.x + largest.w) / 1e6 + 0.02, (largest.y + largest.h) / 1e6 + 0.02);
seen.dragged = view();
point("pointermove", ((x * 1e6) - seen.dragged[0]) / seen.dragged[2],
  ((y * 1e6) - seen.dragged[1]) / seen.dragged[3]);
seen.middleAgain = readout();
box.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
seen.moved = view();
box.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
seen.end = view();
out.textContent = JSON.stringify(seen);
document.body.appendChild(out);
</script>
</body>
"""


def test_map_can_be_zoomed(browser: Browser, command: str, tmp_path: Path) -> None:
    replay = run_case("limit", command, tmp_path)
    probed = tmp_path / "probed.html"
    probed.write_text(replay.report.read_text().replace("</body>", MAP_PROBE))
    seen = seen_by(render(browser, probed))
    assert seen["buttons"] == "flex", "without the script there are no buttons"
    side = 1_000_000
    whole = [0, 0, side, side]
    assert seen["whole"] == seen["again"] == seen["end"] == whole
    assert seen["closer"] == [side / 4, side / 4, side / 2, side / 2]
    assert seen["labels"] == seen["labelsAgain"] != seen["closerLabels"]
    assert seen["selecting"]
    x, y, width, height = seen["dragged"]
    largest = seen["largest"]
    assert width < side / 2
    assert height < side / 2
    assert x <= largest["x"]
    assert y <= largest["y"]
    assert x + width >= largest["x"] + largest["w"]
    assert seen["moved"][0] > x
    assert seen["moved"][2:] == [width, height]
    about = re.search(r": about ([\d.]+ \w+) from (.*) to (.*)$", seen["middle"])
    assert about, seen["middle"]
    assert about[0] in seen["middleAgain"], "the same rectangle after zooming"


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
seen.lines = ["live", "reserved"].map(function (name) {
  return [color("fill", "path." + name), color("backgroundColor", "section")];
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
    """Returns a copy of the report with a script that inspects the page."""
    path = folder / "probed.html"
    path.write_text(replay.report.read_text().replace("</body>", PROBE))
    return path


def seen_by(page: Page) -> dict[str, Any]:
    assert page.console == []
    found: dict[str, Any] = json.loads(page.one("pre", id="probe").text)
    return found


def test_values_can_be_read_off(browser: Browser, replay: Replay, tmp_path: Path) -> None:
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
    browser: Browser, command: str, tmp_path: Path, scheme: str, width: int
) -> None:
    """The page needs no sideways scrolling on a phone and has the contrast of WCAG AA."""
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
