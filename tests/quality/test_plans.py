"""`python -m bench.plans` at a size that a test can afford."""

import json
from pathlib import Path

import pytest

from bench.plans.__main__ import main


@pytest.mark.benchmark
def test_every_list_is_measured_at_each_size(capsys, postgres_url: str, tmp_path: Path) -> None:
    output = tmp_path / "plans.json"
    sizes = ["4000", "5000"]

    status = main(["--messages", *sizes, "--times", "1", "--alone", "--server", postgres_url, "--output", str(output)])

    found, measured = json.loads(capsys.readouterr().out), json.loads(output.read_text())
    assert status == 0
    assert list(measured) == sizes
    assert measured["4000"].keys() == measured["5000"].keys() >= {"v1 labels", "v2 labels", "v2 runs", "v1 messages"}
    assert found["requests"] == {size: len(measured[size]) for size in sizes}
    assert {cost["status"] for cost in measured["5000"].values()} <= {200, 400, 404}
    assert measured["5000"]["v2 messages"]["status"] == 200


@pytest.mark.benchmark
def test_lists_are_measured_again_once_their_statements_are_prepared(
    capsys: pytest.CaptureFixture[str], postgres_url: str, tmp_path: Path
) -> None:
    output = tmp_path / "plans.json"
    asked = ["--messages", "4000", "--only", "v1 messages", "--alone", "--often"]

    status = main([*asked, "--server", postgres_url, "--output", str(output)])

    found, measured = json.loads(capsys.readouterr().out), json.loads(output.read_text())
    assert status == 0
    assert "often" in measured["4000"]["v1 messages"]
    assert found["dearer when prepared"].keys() == {"4,000 messages"}
