"""`python -m bench.requests` at a size that a test can afford."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from bench.requests import THERE, describe, main, tell_ratio

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "bench" / "results.schema.json").read_text(encoding="utf-8"))
SMALL = ["--messages", "1000", "--rounds", "1", "--only", "labels", "--write"]


@pytest.mark.benchmark  # what it writes is shown below to be what the documentation has
def test_the_command_writes_json_and_a_section(postgres_url: str, tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("# Performance\n\n## Requests\n\nOld.\n\n## Lists\n\nOf others.\n", encoding="utf-8")
    said: list[str] = []

    assert main([*SMALL, "--server", postgres_url], page, said.append) == 0

    results = json.loads((tmp_path / "requests.json").read_text(encoding="utf-8"))
    jsonschema_rs.validate(SCHEMA, results)
    assert [json.loads(line) for line in said] == results["requests"]
    assert [each["request"] for each in results["requests"]] == ["labels (10)", "POST labels"]
    assert all(each["now"]["api_ms"] > 0 and each["now"]["postgresql_ms"] > 0 for each in results["requests"])
    written = page.read_text(encoding="utf-8")
    assert results["command"] == "python -m bench.requests --messages 1000 --rounds 1 --only labels"
    assert "Old." not in written and "Of others." in written
    assert written.count("\n| POST labels | ") == 1


def test_a_request_is_compared_with_rapidpro_its_goal_and_another_version() -> None:
    costs, before = {"api_ms": 2.0, "postgresql_ms": 5.03}, {"api_ms": 4.0, "postgresql_ms": 10.06}
    results: dict[str, Any] = {
        "machine": {
            "processor": "Fast",
            "processors": 2,
            "memory_mb": 4096,
            "system": "Linux 6.1",
            "python": "3.11.7",
            "load": 0.5,
        },
        "postgresql": {"server_version": "18.6", "fsync": "on"},
        "measured_on": "2026-11-24",
        "command": "python -m bench.requests",
        "rounds": 3,
        "waited": 0.25,
        "requests": [{"request": "messages, inbox", "now": costs, "before": before}],
    }

    text = describe(results)

    there = f"{THERE['messages, inbox'] / 2:.2f}"
    assert f"| messages, inbox | 2.00 + 5.03 | 2.8 | 70.3 | 10.0 | 4.00 + 10.06 | 0.50 | {there} |" in text
    assert "some process waited for one 25% of" in text and "the median of 3 rounds" in text
    dearer = {"request": "runs", "now": before, "before": costs}
    assert tell_ratio([*results["requests"], dearer]) == {"now ÷ before": 1.0, "over 1.15": {"runs": 2.0}}


def test_what_the_documentation_shows_is_what_was_measured() -> None:
    results = json.loads((ROOT / "docs" / "requests.json").read_text(encoding="utf-8"))

    jsonschema_rs.validate(SCHEMA, results)
    assert describe(results).strip() in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
