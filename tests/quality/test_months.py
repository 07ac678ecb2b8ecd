"""`python -m bench.months` at a size that a test can afford."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from bench.months import LAYOUTS, MONTHS, ONE_TABLE, main, make_index

SCHEMA = json.loads((Path(__file__).parents[2] / "bench" / "results.schema.json").read_text(encoding="utf-8"))


@pytest.mark.benchmark
def test_the_command_measures_both_layouts_and_writes_a_section(postgres_url: str, tmp_path: Path) -> None:
    page = tmp_path / "scaling.md"
    page.write_text("# Scaling\n\n## Others\n\nOf others.\n", encoding="utf-8")
    said: list[str] = []

    assert main(["--rows", "2000", "--rounds", "1", "--write", "--server", postgres_url], page, said.append) == 0

    results = json.loads(said[-1])
    jsonschema_rs.validate(SCHEMA, results)
    assert all(set(each["milliseconds"]) == set(LAYOUTS) for each in results["months"])
    assert "2,000 rows in" in said[0]
    written = page.read_text(encoding="utf-8")
    assert "Of others." in written and "\n| removing a month | " in written


@pytest.mark.parametrize(
    ("layout", "made"),
    [
        (ONE_TABLE, "CREATE UNIQUE INDEX ON public.message USING btree (workspace_id, id)"),
        (MONTHS, "CREATE UNIQUE INDEX ON public.message USING btree (workspace_id, id, created_on)"),
    ],
)
def test_a_unique_index_has_the_time_of_the_months(layout: str, made: str) -> None:
    given = "CREATE UNIQUE INDEX pk_message ON public.message USING btree (workspace_id, id)"

    assert make_index(given, layout) == made
