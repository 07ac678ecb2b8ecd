"""`python -m bench.costs` at a size that a test can afford."""

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema_rs
import pytest

from bench.costs import AXES, PAGE, REQUESTS, find_points, main, plot
from bench.plots import Panel, draw

SCHEMA = json.loads((PAGE.parents[1] / "bench" / "results.schema.json").read_text(encoding="utf-8"))
SVG = "{http://www.w3.org/2000/svg}"
SMALL = "--messages 1000 2000 --connections 1 2 --processes 1 2 --clients 2 --rounds 1 --count 2 --write"


@pytest.mark.benchmark
def test_the_command_writes_json_plots_and_a_section(postgres_url: str, tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("# Performance\n\n## Requests\n\nOf others.\n", encoding="utf-8")

    assert main([*SMALL.split(), "--server", postgres_url], page, lambda _line: None) == 0

    results = json.loads((tmp_path / "costs.json").read_text(encoding="utf-8"))
    jsonschema_rs.validate(SCHEMA, results)
    assert len(results["points"]) == len(AXES) * 2 * len(REQUESTS)
    assert all(point["api_ms"] > 0 and point["postgresql_ms"] > 0 for point in results["points"])
    written = page.read_text(encoding="utf-8")
    assert "Of others." in written and "| By rows (messages) | 1,000 | 2,000 |" in written
    for axis in AXES:
        drawing = ElementTree.parse(tmp_path / f"costs-{axis}.svg").getroot()
        assert len(drawing.findall(f"{SVG}polyline")) == 2 * len(REQUESTS)
        assert f"](costs-{axis}.svg)" in written


def test_what_the_documentation_shows_is_what_was_measured() -> None:
    results = json.loads(PAGE.with_name("costs.json").read_text(encoding="utf-8"))

    jsonschema_rs.validate(SCHEMA, results)
    for axis in AXES:
        drawn = PAGE.with_name(f"costs-{axis}.svg").read_text(encoding="utf-8")
        assert drawn == plot(find_points(results, axis), axis)


def test_a_tenth_and_ten_times_are_equally_far_on_a_logarithmic_axis() -> None:
    panel = Panel("Costs", "ms", {}, {1.0: "1", 100.0: "100"}, is_logarithmic=True)

    assert panel.place(10.0) == pytest.approx(0.5)
    assert Panel("Costs", "ms", {}, {0.0: "0", 100.0: "100"}).place(10.0) == pytest.approx(0.1)


def test_one_point_alone_is_drawn_at_the_edge() -> None:
    drawn = draw([Panel("<Costs>", "ms", {"a": [(5.0, 2.0)]}, {5.0: "5"}, is_logarithmic=True)], "Costs & more")

    drawing = ElementTree.fromstring(drawn)
    (dot,) = drawing.findall(f"{SVG}circle")
    assert drawing.get("aria-label") == "Costs & more" and (dot.get("cx"), dot.get("cy")) == ("70.0", "40.0")
