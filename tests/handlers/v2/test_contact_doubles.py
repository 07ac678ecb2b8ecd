"""`/api/v2/contact_doubles.json`, `contact_renumberings.json` and what is said of old numbers, over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from persistence.database import Database
from persistence.tables.flows import flow as flow_table
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import id_of, make_contact
from tests.run_rows import add_flow, uuid_of
from tests.ticket_rows import add_ticket

DOUBLES, RENUMBERINGS = "/api/v2/contact_doubles.json", "/api/v2/contact_renumberings.json"
CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"
BENIN = {"old": "+229", "new": "+22901", "country": "BJ"}


@pytest.fixture
def pair(database: Database, workspace: Workspace) -> tuple[str, str]:
    """Amina by her new number, and by her old one."""
    new, old = "+2290197000001", "+22997000001"
    return make_contact(database, workspace, new), make_contact(database, workspace, old, "A.")


def test_doubles_are_counted_merged_by_kind_and_keep_their_tickets(
    api: Api, database: Database, workspace: Workspace, pair: tuple[str, str]
) -> None:
    ticket = add_ticket(database, workspace, id_of(database, pair[1]))

    before = api.results(DOUBLES, kind="old_number")
    counted = api.post(DOUBLES, {"kind": "old_number", "dry_run": True}).json()
    others = api.post(DOUBLES, {"kind": "two_schemes"}).json()
    done = api.post(DOUBLES, {"kind": "old_number"}).json()

    (found,) = before
    assert (found["contact"]["uuid"], found["other"]["uuid"]) == pair
    assert (counted, others, done) == ({"merged": 0, "left": 1}, {"merged": 0, "left": 0}, {"merged": 1, "left": 0})
    assert [each["uuid"] for each in api.results(TICKETS, contact=pair[0])] == [ticket]
    assert api.results(DOUBLES) == []


def test_pairs_are_paged_each_once_by_as_many_statements_as_one(
    api: Api, make_client: Callable[..., Any], database: Database, workspace: Workspace
) -> None:
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "contact_urn" in statement:
            statements.append(statement)

    for each in range(5):
        make_contact(database, workspace, f"+22901970001{each:02}")
        make_contact(database, workspace, f"+229970001{each:02}")
    event.listen(database.engine, "before_cursor_execute", note)
    try:
        with make_client(page_size=2) as client:
            paged = Api(client, database, workspace, api.token)
            pages = [paged.get(DOUBLES).json()]
            while pages[-1]["next"]:
                pages.append(paged.follow(pages[-1]["next"]).json())
    finally:
        event.remove(database.engine, "before_cursor_execute", note)

    found = [[pair["other_urn"] for pair in page["results"]] for page in pages]
    assert found == [[f"tel:+229970001{each:02}" for each in some] for some in ((0, 1), (2, 3), (4,))]
    assert len(statements) == len(pages)


def test_a_rule_tells_what_it_would_do_and_does_it(api: Api, database: Database, workspace: Workspace) -> None:
    contact = make_contact(database, workspace, "+22997000002")

    told = api.post(RENUMBERINGS, BENIN).json()
    before = api.results(CONTACTS, uuid=contact)[0]["urns"]
    done = api.post(RENUMBERINGS, {**BENIN, "apply": True}).json()

    assert told == {**done, "applied": False}
    assert (done["renumbered"], done["taken"], done["next"]) == (1, 0, None)
    assert done["examples"] == [{"old": "+22997000002", "new": "+2290197000002"}]
    assert before == ["tel:+22997000002"]
    assert api.results(CONTACTS, uuid=contact)[0]["urns"] == ["tel:+2290197000002"]
    (told,) = [each for each in api.results("/api/v2/audit_events.json") if each["resource"] == "contacts"]
    assert (told["action"], told["record"]["name"]) == ("changed", "+229 → +22901")


@pytest.mark.together
@pytest.mark.parametrize("change", [{"old": "229"}, {"new": ""}, {"new": "+229"}, {"country": "XX"}, {"after": "x"}])
def test_a_bad_rule_is_refused_by_its_field(api: Api, change: dict[str, str]) -> None:
    answer = api.post(RENUMBERINGS, {**BENIN, **change})

    assert (answer.status_code, list(answer.json())) == (400, list(change))


COUNTRIES = [
    ("BJ", "+229", "+22901", "+22997000001", "+2290197000001"),
    ("MX", "+521", "+52", "+5215512345678", "+525512345678"),
    ("BR", "+55118", "+551198", "+551187654321", "+5511987654321"),
    ("IN", "+910", "+91", "+9109876543210", "+919876543210"),
]


@pytest.mark.parametrize(("country", "begins", "becomes", "old", "new"), COUNTRIES)
def test_each_countrys_old_numbers_are_doubles_of_its_new_ones_and_change_by_its_rule(
    api: Api, database: Database, workspace: Workspace, country: str, begins: str, becomes: str, old: str, new: str
) -> None:
    rule = {"old": begins, "new": becomes, "country": country}
    alone, elsewhere = f"{old[:-1]}9", make_contact(database, workspace, "+250788000111")
    kept, *_ = (make_contact(database, workspace, number) for number in (new, old, alone))

    (double,) = api.results(DOUBLES)
    told = api.post(RENUMBERINGS, rule).json()
    merged = api.post(DOUBLES, {"kind": "old_number"}).json()
    done = api.post(RENUMBERINGS, {**rule, "apply": True}).json()
    again = api.post(RENUMBERINGS, {**rule, "apply": True}).json()

    assert (double["urn"], double["other_urn"], double["kind"]) == (f"tel:{new}", f"tel:{old}", "old_number")
    assert (told["renumbered"], told["taken"]) == (1, 1)
    assert told["examples"] == [{"old": alone, "new": f"{new[:-1]}9"}]
    assert (merged, done["renumbered"], done["taken"]) == ({"merged": 1, "left": 0}, 2, 0)
    assert (again["renumbered"], again["taken"]) == (0, 0)
    assert api.results(CONTACTS, uuid=kept)[0]["urns"] == [f"tel:{new}"]
    assert api.results(CONTACTS, uuid=elsewhere)[0]["urns"] == ["tel:+250788000111"]


OLD = "tel:+5215512345678"
DOORS: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/contacts.json", {"name": "Ana", "urns": [OLD]}),
    ("/api/v1/broadcasts.json", {"urns": [OLD], "text": "Hi"}),
    ("/api/v1/runs.json", {"flow_uuid": "Registration", "phone": [OLD.removeprefix("tel:")]}),
    (CONTACTS, {"urns": [OLD]}),
    ("/api/v2/broadcasts.json", {"urns": [OLD], "text": {"eng": "Hi"}}),
    ("/api/v2/flow_starts.json", {"flow": "Registration", "urns": [OLD]}),
]


@pytest.mark.parametrize(("path", "body"), DOORS)
def test_a_number_in_an_old_form_is_told_its_new_form_at_every_door(
    api: Api, database: Database, workspace: Workspace, path: str, body: dict[str, Any]
) -> None:
    flow = uuid_of(database, flow_table, add_flow(database, workspace))
    answer = api.post(path, {name: flow if name.startswith("flow") else value for name, value in body.items()})

    assert answer.status_code == 400
    assert "an old form (Mexico, before 2019) of +525512345678" in answer.text


def test_whoever_looks_for_an_old_form_is_told_too(api: Api) -> None:
    answer = api.get(CONTACTS, urn=OLD)

    assert answer.status_code == 400
    assert "an old form (Mexico, before 2019) of +525512345678" in answer.text


@pytest.mark.together
@pytest.mark.parametrize("typed", ["+5215512345678", "+52 1 55 1234 5678", "005215512345678"])
def test_a_number_in_an_old_form_is_told_its_new_form(api: Api, typed: str) -> None:
    answer = api.post(CONTACTS, {"urns": [f"tel:{typed}"]})

    assert answer.status_code == 400
    assert "an old form (Mexico, before 2019) of +525512345678" in answer.text
