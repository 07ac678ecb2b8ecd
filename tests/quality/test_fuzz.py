"""`python -m tests.fuzz` at a size that a test can afford, and what counts as a finding."""

import base64
import json

import pytest

from testbed.running import forked_service
from tests.fuzz.__main__ import main
from tests.fuzz.page import describe
from tests.fuzz.reports import errors_in_logs, read_report
from tests.fuzz.rounds import ALL_PHASES, DATABASES, ORDER, Round, plan, run_round


def test_a_round_counts_requests_and_finds_nothing(tmp_path):
    one = Round(0, 16, "gateway", "SQLite", "administrator", "fuzzing", 3)

    result = run_round(one, tmp_path, ("--include-path-regex=stopped",), serve=forked_service)

    assert result.found == []
    assert sum(result.statuses.values()) == result.requests["fuzzing"] >= 2


def told(status, check=None, path="/api/v2/labels.json", answer=None):
    request = {"method": "POST", "uri": f"http://localhost{path}", "headers": {}, "body": {"$base64": ""}}
    content = {"$base64": base64.b64encode(json.dumps(answer).encode()).decode()}
    exchange = {"request": request, "response": {"status_code": status, "headers": {}, "content": content}}
    failed = [{"name": check, "status": "failure", "failure_info": {"failure": {"message": "It fails."}}}]
    recorder = {"label": "POST /labels.json", "interactions": {"a": exchange}, "checks": {"a": failed if check else []}}
    return {"ScenarioFinished": {"phase": "fuzzing", "recorder": recorder}}


@pytest.mark.parametrize(
    ("event", "explained", "found"),
    [
        (told(200), 0, 0),
        (told(500, "not_a_server_error", answer={}), 0, 1),
        (told(418, "status_code_conformance", answer={}), 0, 1),
        (told(400, "positive_data_acceptance", answer={"name": ["This name is already taken."]}), 1, 0),
        (told(400, "positive_data_acceptance", answer={"name": ["Not today."]}), 0, 1),
        (
            told(
                400, "positive_data_acceptance", "/c/ex/1/2/receive", {"detail": "The sender is not a valid address."}
            ),
            1,
            0,
        ),
        (told(400, "positive_data_acceptance", "/c/ex/1/2/receive", {"detail": "Not today."}), 0, 1),
        ({"NonFatalError": {"value": "the connection broke"}}, 0, 1),
    ],
)
def test_what_nobody_can_explain_is_a_finding(tmp_path, event, explained, found):
    (tmp_path / "report.ndjson").write_text(json.dumps(event) + "\n")

    report = read_report(tmp_path / "report.ndjson")

    assert (report.explained, len(report.found)) == (explained, found)


def test_an_error_in_a_log_is_a_finding_with_the_end_of_its_traceback(tmp_path):
    line = "2026-03-02T08:00:00.000Z {} relayboard.jobs {} failed"
    (tmp_path / "worker.log").write_text(
        "\n".join([line.format("INFO", "it"), line.format("ERROR", "it"), "Traceback", "KeyError: 'a'"] * 2)
    )

    (found,) = errors_in_logs(tmp_path)

    assert "KeyError: 'a'" in found and "ERROR relayboard.jobs it failed" in found


def test_rounds_ask_every_contract_on_both_databases_with_all_phases_and_seeds_of_their_own():
    rounds = [plan(number, 16, 5) for number in range(4 * len(ORDER))]

    wanted = {(contract, database) for contract in ORDER for database in DATABASES}
    assert {(one.contract, one.database) for one in rounds if one.phases == ALL_PHASES} == wanted
    assert len({one.seed for one in rounds}) == len(rounds)
    assert len({one.role for one in rounds if one.contract == "v2"}) == 5


def test_a_run_goes_on_where_it_was_and_fails_as_long_as_something_is_found(tmp_path):
    state, page = tmp_path / "fuzz.json", tmp_path / "quality.md"
    result = {"requests": {"fuzzing": 9}, "statuses": {"200": 9}, "explained": 0, "found": [], "seconds": 1}
    one = {"number": 0, "seed": 16, "contract": "v1", "database": "SQLite", "role": "viewer"} | result
    page.write_text("# Quality\n")
    state.write_text(json.dumps([one]))

    assert main(["--requests", "9", "--state", str(state), "--write"], page) == 0
    assert "9 requests in 1 rounds" in page.read_text()
    state.write_text(json.dumps([one | {"found": ["POST /x: a 500"]}]))
    assert main(["--requests", "9", "--minutes", "0", "--state", str(state)], page) == 1
    assert "* Round 0: POST /x: a 500" in describe([one | {"found": ["POST /x: a 500"]}], 9)
