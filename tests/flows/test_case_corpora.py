"""Runs folders of case files, one test per corpus: our own, and the one that RELAYBOARD_FLOW_CASES names."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from flows.queries import QueryError
from tests.each_case import holds_for_each
from tests.flows.corpora import deviations
from tests.flows.corpora.collection import CorpusCase, collect_cases, run_case

FOLDER_VARIABLE = "RELAYBOARD_FLOW_CASES"
FOLDERS = [Path(folder) for folder in (os.environ.get(FOLDER_VARIABLE), Path(__file__).parent / "cases") if folder]
CASES = [case for folder in FOLDERS for case in collect_cases(folder)]


@pytest.mark.parametrize("corpus", sorted({case.corpus for case in CASES}))
def test_the_cases_of_a_corpus_hold(corpus: str) -> None:
    holds_for_each([case for case in CASES if case.corpus == corpus])(run_case)()


def _write_cases(
    folder: Path, cases: list[dict[str, Any]], corpus: str = "env_dates", **fixtures: Any
) -> list[CorpusCase]:
    content = {"corpus": corpus, "fixtures": {"now": "2018-04-11T13:24:30Z", **fixtures}, "cases": cases}
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
    monkeypatch.setitem(deviations.DEVIATIONS, "env_dates", {"iso": "a reason", "other": "a reason"})
    run_case(failing)
    with pytest.raises(AssertionError, match="listed as a deviation"):
        run_case(holding)


def test_a_kind_of_case_file_that_nobody_checks_fails(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(json.dumps({"corpus": "unheard of", "cases": [{"name": "one"}]}))
    (case,) = collect_cases(tmp_path)
    with pytest.raises(AssertionError, match="no check"):
        run_case(case)


PLAIN: dict[str, Any] = {"default_country": "RW"}
AGE = {"fields": [{"key": "age", "name": "Age", "type": "number"}]}


@pytest.mark.together
@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        ("text_length", [{"concat": [{"text": "ab"}, {"repeat_text": ["c", 3]}, "d"]}], {"number": "6"}),
        ("count", [{"concat": [{"array": [None]}, {"repeat_array": [{"text": "x"}, 4]}]}], {"number": "5"}),
        ("max", {"repeat_args": [{"number": "7"}, 200]}, {"number": "7"}),
        ("max", [{"number": "9"}, {"repeat_args": [{"number": "7"}, 200]}], {"number": "9"}),
        ("prompt", [{"text": "greet"}, {"text": "Ann"}], {"text": "Greet Ann"}),
        ("repeat", [{"text": "x"}, {"number": "3"}], {"text": {"concat": ["x", "xx"]}}),
    ],
)
def test_long_values_and_prompts_of_calls_are_read(tmp_path: Path, function: str, args: Any, expected: Any) -> None:
    case = {"function": function, "args": args, "env": "plain", "expected": expected}
    prompts = {"greet": "Greet {{ .arg1 }}"}
    (read,) = _write_cases(tmp_path, [case], "excellent_functions", environments={"plain": PLAIN}, prompts=prompts)
    run_case(read)
    with pytest.raises(AssertionError):
        run_case(dataclasses.replace(read, case={**case, "expected": {"text": "something else"}}))


def test_files_without_services_use_those_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({"corpus": "actions", "cases": [], "fixtures": {"services": {"llm_prompts": {"greet": "Hello"}}}})
    )
    case = {"function": "prompt", "args": [{"text": "greet"}], "env": "plain", "expected": {"text": "Hello"}}
    (read,) = _write_cases(tmp_path, [case], "excellent_functions", environments={"plain": PLAIN})
    run_case(read)


def test_a_datetime_is_converted_with_the_present_time_of_day(tmp_path: Path) -> None:
    case = {"kind": "convert", "to": "datetime_with_time_fill", "value": {"text": "2018-01-15"}, "error": False}
    filled = {**case, "expected": {"datetime": "2018-01-15T13:24:30Z"}}
    (read,) = _write_cases(tmp_path, [filled], "excellent_types", environment=PLAIN)
    run_case(read)
    with pytest.raises(AssertionError):
        run_case(dataclasses.replace(read, case={**case, "expected": {"datetime": "2018-01-15T00:00:00Z"}}))


@pytest.mark.together
@pytest.mark.parametrize(
    ("corpus", "more", "is_known"),
    [
        ("contactql_parse", {"resolver": "ages", "redact_urns": False, "parsed": "fields.age > 10"}, True),
        ("contactql_parse", {"resolver": AGE, "redact_urns": False, "parsed": "fields.age > 10"}, True),
        ("contactql_parse", {"resolver": {}, "redact_urns": False, "parsed": "fields.age > 10"}, False),
        ("contactql_evaluate", {"result": True}, True),
        ("contactql_evaluate", {"result": False}, False),
    ],
)
def test_queries_are_read_with_the_resolver_of_the_case_or_its_file(
    tmp_path: Path, corpus: str, more: dict[str, Any], is_known: bool
) -> None:
    case = {"name": "one", "query": {"concat": ["age", " > ", "10"]}, **more}
    fixtures = {"resolvers": {"ages": AGE}, "resolver": AGE, "contact": {"age": [{"number": "20"}]}}
    (read,) = _write_cases(tmp_path, [case], corpus, environment=PLAIN, **fixtures)
    if is_known:
        run_case(read)
    else:
        with pytest.raises((AssertionError, QueryError)):
            run_case(read)


@pytest.mark.parametrize("layout", ["tt:mm:ss.fffffffff", "YYYY-MM-DD ss.fffffffffZ"])
def test_times_finer_than_microseconds_are_compared_without_what_is_finer(tmp_path: Path, layout: str) -> None:
    written = {"tt:mm:ss.fffffffff": "10:20:30.123456789", "YYYY-MM-DD ss.fffffffffZ": "2018-01-15 30.123456789Z"}
    case = {"kind": "format_datetime", "layout": layout, "locale": "eng", "expected": written[layout]}
    moment = {"datetime": "2018-01-15T10:20:30.123456789Z"}
    (read,) = _write_cases(tmp_path, [{**case, "value": moment}], "urns_and_dates")
    run_case(read)
    with pytest.raises(AssertionError):
        run_case(dataclasses.replace(read, case={**read.case, "expected": written[layout].replace("456", "457")}))


@pytest.mark.parametrize(("path", "expected"), [("kenya > nyanza", "Kenya > Nyanza"), ("kenya > quito", None)])
def test_a_place_that_is_not_there_is_expected_as_null(tmp_path: Path, path: str, expected: str | None) -> None:
    case = {"kind": "find_location_path", "path": path, "expected": expected}
    tree = {"name": "Kenya", "children": [{"name": "Nyanza"}]}
    (read,) = _write_cases(tmp_path, [case], "text_helpers", locations=tree)
    run_case(read)
    with pytest.raises(AssertionError):
        run_case(dataclasses.replace(read, case={**case, "expected": "Elsewhere"}))
