"""`python -m tests.fuzz` at a size that a test can afford, and what counts as a finding."""

import base64
import json
import random
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import select

from persistence.tables.channels import channel_event, sync_record
from persistence.tables.messages import OUTGOING, message
from testbed.databases import open_database
from testbed.running import forked_service
from tests.contract.documents import all_operations, document
from tests.fuzz.__main__ import main, next_round
from tests.fuzz.answers import Answer, Described
from tests.fuzz.asks import Ask
from tests.fuzz.calling import scope_of
from tests.fuzz.memory import MOST_BYTES, Memory
from tests.fuzz.mutations import OF_REQUESTS
from tests.fuzz.page import describe
from tests.fuzz.record import MUTATIONS, SCHEMATHESIS, Record
from tests.fuzz.reports import errors_in_logs, read_report
from tests.fuzz.rounds import ALL_PHASES, DATABASES, ORDER, Round, plan, run_round
from tests.phones import count_rows


@pytest.mark.benchmark  # Schemathesis itself asks in tests/contract, and the other rounds are run below
def test_a_round_counts_requests_and_finds_nothing(tmp_path):
    one = Round(0, 16, "gateway", "SQLite", "administrator", "fuzzing", 3)

    result = run_round(one, tmp_path, ("--include-path-regex=stopped",), serve=forked_service)

    assert result.found == []
    assert sum(result.statuses.values()) == result.requests["fuzzing"] >= 2


def test_a_round_of_spoiled_requests_reaches_what_answers_named_and_finds_nothing(tmp_path):
    one = Round(0, 16, "v2", "SQLite", "administrator", "", 0, MUTATIONS, 140)

    result = run_round(one, tmp_path, serve=forked_service)

    assert result.found == []
    assert sum(result.requests.values()) == sum(result.statuses.values()) == 140
    assert result.requests["spoiled"] > result.requests["whole"] > 5
    assert {"200", "400", "404"} <= result.statuses.keys()


def test_a_round_of_phones_reports_to_the_workspace_that_claimed_them(tmp_path):
    one = Round(0, 16, "relay", "SQLite", "administrator", "", 0, MUTATIONS, 90)

    result = run_round(one, tmp_path, serve=forked_service)

    with closing(open_database(f"sqlite:///{tmp_path / 'relayboard.db'}")) as database:
        syncs, calls = count_rows(database, sync_record), count_rows(database, channel_event)
    assert result.found == []
    assert syncs > 10 and calls > 0


def test_a_round_of_gateways_reaches_a_channel_and_what_it_sends(tmp_path):
    one = Round(0, 16, "gateway", "SQLite", "administrator", "", 0, MUTATIONS, 90)

    result = run_round(one, tmp_path, serve=forked_service)

    with closing(open_database(f"sqlite:///{tmp_path / 'relayboard.db'}")) as database, database.reading() as tx:
        statuses = set(tx.execute(select(message.c.status).where(message.c.direction == OUTGOING)).scalars())
    assert result.found == []
    assert result.statuses["200"] > 15 and statuses <= {"sent", "delivered", "failed"}


LABELS = next(
    one for one in all_operations() if (one.generation, one.method, one.path) == ("v2", "get", "/labels.json")
)
ASK = Ask(LABELS, "GET", "/api/v2/labels.json")
PAGE_OF_LABELS = b'{"next": null, "previous": null, "results": []}'
NAMES_OF_LABELS = b'{"next": null, "previous": null, "results": [{"name": "Complaint"}]}'


@pytest.mark.parametrize(
    ("ask", "status", "kind", "body", "problem"),
    [
        (ASK, 200, "application/json", PAGE_OF_LABELS, None),
        (ASK, 200, "application/json; charset=utf-8", PAGE_OF_LABELS, None),
        (ASK, 500, "application/json", b'{"detail": "x"}', "a server error 500"),
        (ASK, 418, "application/json", b'{"detail": "x"}', "418, which the contract does not describe"),
        (ASK, 200, "text/html", PAGE_OF_LABELS, "200 as 'text/html', which the contract does not describe"),
        (ASK, 200, "application/json", b"{", "200 with a body that is no JSON"),
        (ASK, 200, "application/json", b'{"results": 1}', "200 with a body against its schema"),
        (replace(ASK, query=[("fields", "name")]), 200, "application/json", NAMES_OF_LABELS, None),
        (ASK, 200, "application/json", NAMES_OF_LABELS, "200 with a body against its schema"),
        (replace(ASK, path="/api/v2/labels%2ejson"), 418, "", b"", "418, which the contract does not describe"),
        (replace(ASK, method="DELETE"), 204, "", b"", None),
        (replace(ASK, method="DELETE"), 204, "", b"x", "204 with a body, which the contract does not describe"),
        (replace(ASK, method="PUT"), 405, "application/json", b"{}", None),
        (replace(ASK, method="PUT"), 200, "", b"", "200 for a method or path that the contract does not have"),
        (replace(ASK, path="/x", method="POST"), 307, "", b"", "307 for a method or path"),
        (replace(ASK, path="/"), 200, "text/html", b"", None),
    ],
)
def test_an_answer_that_the_contract_does_not_describe_is_a_problem(ask, status, kind, body, problem):
    operations = [one for one in all_operations() if one.generation == "v2"]
    described = Described(document("v2/openapi.yaml"), "/api/v2", operations)

    found = list(described.problems(ask, Answer(status, {"content-type": kind}, body)))

    assert len(found) == (problem is not None) and (problem is None or found[0].startswith(problem))


def test_each_way_to_spoil_a_request_changes_it_and_makes_one_that_can_be_sent():
    ask = replace(
        ASK, query=[("name", "x")], document={"urns": ["tel:+250788000111"], "name": "x"}, body=b'{"name":"x"}'
    )
    changed = {}
    for number in range(400):
        chance = random.Random(number)
        spoil = chance.choice(OF_REQUESTS[0])
        spoiled = spoil(ask, chance, Memory())
        assert scope_of(spoiled)["raw_path"].isascii()
        changed[spoil] = changed.get(spoil, 0) + (spoiled != ask)

    assert changed.keys() == set(OF_REQUESTS[0]) and min(changed.values()) > 10


def test_only_requests_that_are_not_large_are_made_again():
    memory = Memory()
    memory.note(replace(ASK, body=b"x" * (MOST_BYTES + 1)), {})
    assert memory.accepted == {}

    memory.note(ASK, {})

    assert [list(asks) for asks in memory.accepted.values()] == [[ASK]]


def test_records_that_answers_named_stand_in_later_requests():
    memory = Memory()
    groups = [{"uuid": "u1", "name": "Reporters", "query": None}]
    memory.note(ASK, {"results": [{"uuid": "u2", "groups": groups}], "next": "http://x/labels.json?cursor=c1&x=1"})

    recalled = [memory.recall(name, random.Random(1)) for name in ("groups", "group_uuids", "label", "cursor", "flow")]
    assert recalled[0] in ("u1", "Reporters") and recalled[1] in ("u1", "Reporters")
    assert recalled[2:] == ["u2", "c1", None]
    assert memory.with_own({"groups": ["x", "x"], "age": 5}, random.Random(1), 1.0)["age"] == 5


def told(status, check=None, path="/api/v2/labels.json", answer=None):
    request = {"method": "POST", "uri": f"http://localhost{path}", "headers": {}, "body": {"$base64": ""}}
    content = {"$base64": base64.b64encode(json.dumps(answer).encode()).decode()}
    exchange = {"request": request, "response": {"status_code": status, "headers": {}, "content": content}}
    failed = [{"name": check, "status": "failure", "failure_info": {"failure": {"message": "It fails."}}}]
    recorder = {"label": "POST /labels.json", "interactions": {"a": exchange}, "checks": {"a": failed if check else []}}
    return {"ScenarioFinished": {"phase": "fuzzing", "recorder": recorder}}


@pytest.mark.together
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


RESULT = {"requests": {"spoiled": 9}, "statuses": {"200": 9}, "explained": 0, "found": [], "seconds": 1}
ROUND = {"number": 0, "seed": 16, "contract": "v1", "database": "SQLite"}


def test_a_run_goes_on_where_it_was_and_fails_as_long_as_something_is_found(tmp_path):
    path, page = tmp_path / "record.json", tmp_path / "quality.md"
    page.write_text("# Quality\n")
    record = Record(path)
    record.add(MUTATIONS, ROUND, RESULT)
    record.add(MUTATIONS, ROUND | {"number": 1, "seed": 17}, RESULT)

    assert main(["--requests", "9", "--record", str(path), "--write"], page) == 0
    assert "**18 requests** in 2 rounds" in page.read_text() and "| 16 to 17 | 18 | 18 | 0 |" in page.read_text()
    record.add(MUTATIONS, ROUND | {"number": 2}, RESULT | {"found": ["POST /x: a 500"]})
    assert main(["--requests", "9", "--minutes", "0", "--record", str(path)], page) == 1
    assert "* Mutations 2: POST /x: a 500" in describe(Record(path), 9)
    Record(path).add(MUTATIONS, ROUND | {"number": 2, "seed": 18}, RESULT)
    assert (Record(path).open, Record(path).requests(), Record(path).rounds(MUTATIONS)) == ([], 27, 3)


def test_four_rounds_of_mutations_come_to_each_of_schemathesis(tmp_path):
    record = Record(tmp_path / "record.json")
    for _ in range(10):
        generator, number = next_round(record, None)
        record.add(generator, {**ROUND, "number": number, "seed": number}, RESULT)

    assert (record.rounds(SCHEMATHESIS), record.rounds(MUTATIONS)) == (2, 8)
