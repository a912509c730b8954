"""The report of a replay of several models, in a real browser. Its figures equal the JSON, its
charts equal the series, and it works without scripts.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .browser import Browser, Element, Page, render
from .conftest import AZURE, Replay
from .test_report import FRAME, PROBE, contrast, heights, rows, seen_by, size_text

POLICIES = ("static", "elastic")
# Maximum number of bars in a chart. A bar shows several intervals if there are more intervals.
COLUMNS = 250
# Fields of the table of figures that are counts. They are shown without a unit.
COUNTS = ("requests", "failed", "moved_pages", "waits")

# A script that inspects the page. The script of test_report also operates a chart with the
# keyboard, which this page without scripts does not support.
LOOK = (
    PROBE[: PROBE.index("box.dispatchEvent")].replace("seen = { hint: readout() }", "seen = {}")
    + PROBE[PROBE.index("seen.scheme") :]
).replace('[data-chart="memory"]', '[data-chart="memory-static"]')
LOOK = LOOK.replace('["live", "reserved"]', '["limit"]').replace('"fill"', '"stroke"')
LOOK = LOOK.replace('".key"', '".policies"')


@pytest.fixture(scope="module", params=["12GiB", "64GiB"])
def replay(
    request: pytest.FixtureRequest, command: str, tmp_path_factory: pytest.TempPathFactory
) -> Replay:
    """Replays the first minutes of the Azure trace as two models. With one limit only the static
    split fails; with the other limit nothing fails.
    """
    folder = tmp_path_factory.mktemp("models")
    trace, report = folder / "trace.csv", folder / "models.html"
    with AZURE.open() as whole:
        trace.write_text("".join(itertools.islice(whole, 400)))
    models = ("--model", f"early={trace}", "--model", f"late={trace}@2m")
    done = subprocess.run(
        [command, "replay", *models, "--limit", request.param, "--json", "--report", str(report)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    result = json.loads(done.stdout)
    static, elastic = (run["failed"] for run in result["runs"])
    assert elastic == 0
    assert done.returncode == (static > 0) == (request.param == "12GiB")
    return Replay(result, report, done.returncode)


@pytest.fixture(scope="module")
def page(browser: Browser, replay: Replay) -> Page:
    return render(browser, replay.report)


def runs(replay: Replay) -> dict[str, dict[str, Any]]:
    return {run["policy"]: run for run in replay.result["runs"]}


def test_renders_without_console_message(page: Page, replay: Replay) -> None:
    assert page.console == []
    assert page.one("title").text == page.one("h1").text == "Replay of 2 models"
    comparison = replay.result["comparison"]
    assert page.one("p", **{"class": "verdict"}).text == (
        f"Of {replay.result['requests']} requests the static split did not serve "
        f"{comparison['failed_static']}, the elastic pool {comparison['failed_elastic']}."
    )


def test_carries_the_json_and_no_script(page: Page, replay: Replay) -> None:
    assert json.loads(page.one("script").text) == replay.result
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_figures_equal_the_json(page: Page, replay: Replay) -> None:
    cells = [e for e in page.all("td") if "data-policy" in e.attributes]
    seen = set()
    for cell in cells:
        policy, model, field = (cell.attributes[f"data-{k}"] for k in ("policy", "model", "field"))
        usage = runs(replay)[policy]
        if model:
            usage = next(m for m in usage["models"] if m["id"] == model)
        seen.add((policy, model, field))
        assert cell.text == figure(field, usage[field]), (policy, model, field)
    fields = {field for _, _, field in seen}
    assert fields >= {"requests", "failed", "peak_live_bytes", "physical_peak_bytes", "moved_pages"}
    assert "waits" not in fields, "nobody could wait"
    columns = [(policy, model) for policy in POLICIES for model in ("early", "late", "")]
    assert len(cells) == len(seen) == len(fields) * len(columns)
    heads = rows(page, "figures")[:2]
    assert heads == [["", *POLICIES], ["", *["early", "late", "all"] * 2]]


def figure(field: str, value: float) -> str:
    """Computes independently how a figure must be shown."""
    if field.endswith("_bytes"):
        return size_text(int(value))
    if field in COUNTS:
        return str(value)
    if field == "physical_over_live_area":
        return f"{value:.3f}"
    assert field.startswith("pair_ns")
    return f"{value / 1e3:.1f} µs"


def chart(page: Page, identity: str) -> tuple[dict[str, str], float]:
    """Returns the paths of a chart by class, and the size at the top of the chart."""
    box = page.one("div", data_chart=identity)
    paths = {e.attributes["class"]: e.attributes["d"] for e in page.all("path") if box in e.parents}
    plot = box.parents[-1]
    labels = [e for e in page.all("span", style="bottom: 100%") if plot in e.parents]
    number, *unit = labels[0].text.split()
    power = ["B", "KiB", "MiB", "GiB", "TiB"].index(unit[0]) if unit else 0
    return paths, float(number) * 1024**power


def edges(path: str, count: int) -> tuple[list[float], list[float]]:
    """Reads the upper and the lower edge of a band, with a level for each interval."""
    upper: list[float] = []
    lower: list[float] = []
    level, before = 0.0, 0.0
    for command, text in re.findall(r"(M0,|V|H)([\d.]+)", path):
        if command != "H":
            level = 1 - float(text) / 300
            continue
        end = round(float(text) * count / 1000)
        if len(upper) < count:
            upper += [level] * (end - len(upper))
            before = count
        else:
            lower += [level] * int(before - end)
            before = end
    return upper, lower[::-1]


@pytest.mark.parametrize("policy", POLICIES)
def test_pictures_show_the_series(page: Page, replay: Replay, policy: str) -> None:
    run = runs(replay)[policy]
    models = run["series"]["models"]
    paths, top = chart(page, f"memory-{policy}")
    assert set(paths) == {"model-0", "model-1", "limit"}
    # The models are stacked. A bar shows the interval in which both together used the most.
    count = len(run["series"]["time"])
    width = -(-count // COLUMNS)
    totals = [sum(at) for at in zip(*(m["physical_bytes"] for m in models), strict=True)]
    lower = [0.0] * count
    for i, model in enumerate(models):
        upper, under = edges(paths[f"model-{i}"], count)
        for at in range(count):
            bar = range(at // width * width, min(count, at // width * width + width))
            fullest = max(bar, key=lambda j: (totals[j], -j))
            shown = (upper[at] - under[at]) * top
            assert shown == pytest.approx(model["physical_bytes"][fullest], abs=top / 5000)
            assert under[at] == pytest.approx(lower[at], abs=1e-4), (
                "no band lies in front of another"
            )
        lower = upper
    assert max(totals) == run["physical_peak_bytes"]
    limit = replay.result["limit_bytes"]
    assert max(heights(paths["limit"])) * top == pytest.approx(limit, rel=0.001)
    tops = {chart(page, f"memory-{other}")[1] for other in POLICIES}
    assert len(tops) == 1, "one scale for both"

    drawn = [e for e in page.all("div") if e.attributes.get("data-chart") == f"failed-{policy}"]
    assert len(drawn) == (run["failed"] > 0)
    if drawn:
        paths, top = chart(page, f"failed-{policy}")
        failed = [sum(at) for at in zip(*(m["failed"] for m in models), strict=True)]
        assert sum(failed) == run["failed"]
        bars = [sum(failed[at : at + width]) for at in range(0, count, width)]
        assert max(heights(paths["model-1"])) * top == pytest.approx(max(bars), abs=top / 1000)


def test_is_accessible(page: Page) -> None:
    assert page.one("html").attributes["lang"] == "en"
    identities = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(identities) == len(set(identities))
    charts = [e for e in page.elements if "data-chart" in e.attributes]
    assert len(charts) >= 2
    for drawn in charts:
        assert drawn.attributes["role"] == "img"
        for reference in ("aria-labelledby", "aria-describedby"):
            assert drawn.attributes[reference] in identities
    for table in page.all("table"):
        inside: list[Element] = [e for e in page.elements if table in e.parents]
        assert any(e.tag == "caption" for e in inside)
        assert all("scope" in e.attributes for e in inside if e.tag == "th")


@pytest.mark.parametrize(("scheme", "width"), [("light", 320), ("dark", 1100)])
def test_readable_everywhere(
    browser: Browser, replay: Replay, tmp_path: Path, scheme: str, width: int
) -> None:
    """The page needs no sideways scrolling on a phone and has the contrast of WCAG AA."""
    looked = replay.report.read_text().replace("</body>", LOOK)
    # The page forbids scripts, so allow them for the probe.
    looked = looked.replace(
        "default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';"
    )
    (tmp_path / "probed.html").write_text(looked)
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.replace("{width}", str(width)))
    seen = seen_by(render(browser, frame, scheme))
    assert seen["scheme"] == scheme
    assert seen["width"] == width
    assert seen["content"] <= width
    assert all(contrast(pair) >= 4.5 for pair in seen["pairs"]), seen["pairs"]
    assert all(contrast(pair) >= 3 for pair in seen["lines"]), seen["lines"]
