"""Runs folders of case files, one test per case; the folder is named by RELAYBOARD_FLOW_CASES."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.flows.corpora import collection
from tests.flows.corpora.collection import CorpusCase, collect_cases, run_case

FOLDER_VARIABLE = "RELAYBOARD_FLOW_CASES"
CASES = list(collect_cases(Path(os.environ[FOLDER_VARIABLE]))) if os.environ.get(FOLDER_VARIABLE) else []

if CASES:

    @pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.corpus}: {case.name}") for case in CASES])
    def test_case_holds(case: CorpusCase) -> None:
        run_case(case)


def _write_cases(folder: Path, cases: list[dict[str, object]]) -> list[CorpusCase]:
    content = {"corpus": "env_dates", "fixtures": {"now": "2018-04-11T13:24:30Z"}, "cases": cases}
    (folder / "dates.json").write_text(json.dumps(content))
    return list(collect_cases(folder))


def test_cases_of_a_folder_are_collected_and_run(tmp_path: Path) -> None:
    right = {"name": "iso", "kind": "date", "value": "2018-01-15", "expected": "2018-01-15"}
    wrong = {"name": "iso", "kind": "date", "value": "2018-01-15", "expected": "2018-01-16"}
    first, second = _write_cases(tmp_path, [right, wrong])
    assert (first.corpus, first.name, second.name) == ("env_dates", "iso", "iso (2)")
    run_case(first)
    with pytest.raises(AssertionError):
        run_case(second)


def test_a_deviation_that_holds_after_all_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = {"name": "iso", "kind": "date", "value": "2018-01-15", "expected": "2018-01-15"}
    wrong = {"name": "other", "kind": "date", "value": "2018-01-15", "expected": "2018-01-16"}
    holding, failing = _write_cases(tmp_path, [right, wrong])
    monkeypatch.setitem(collection.DEVIATIONS, "env_dates", {"iso": "a reason", "other": "a reason"})
    run_case(failing)
    with pytest.raises(AssertionError, match="listed as a deviation"):
        run_case(holding)


def test_a_kind_of_case_file_that_nobody_checks_fails(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(json.dumps({"corpus": "unheard of", "cases": [{"name": "one"}]}))
    (case,) = collect_cases(tmp_path)
    with pytest.raises(AssertionError, match="no check"):
        run_case(case)
