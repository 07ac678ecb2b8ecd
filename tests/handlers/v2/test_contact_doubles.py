"""`/api/v2/contact_doubles.json`, `contact_renumberings.json` and what is said of old numbers, over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from persistence.database import Database
from persistence.workspaces import Workspace
from tests.api import Api
from tests.factories import id_of, make_contact
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


@pytest.mark.parametrize("role", ["agent", "viewer"])
def test_only_those_who_may_merge_contacts_see_and_merge_doubles(api: Api, pair: tuple[str, str], role: str) -> None:
    person = api.as_role(role)

    answers = [person.get(DOUBLES), person.post(DOUBLES, {"kind": "old_number"}), person.post(RENUMBERINGS, BENIN)]

    assert [each.status_code for each in answers] == [403, 403, 403]


@pytest.mark.parametrize("change", [{"old": "229"}, {"new": ""}, {"new": "+229"}, {"country": "XX"}, {"after": "x"}])
def test_a_bad_rule_is_refused_by_its_field(api: Api, change: dict[str, str]) -> None:
    answer = api.post(RENUMBERINGS, {**BENIN, **change})

    assert (answer.status_code, list(answer.json())) == (400, list(change))


@pytest.mark.parametrize("typed", ["+5215512345678", "+52 1 55 1234 5678", "005215512345678"])
def test_a_number_in_an_old_form_is_told_its_new_form(api: Api, typed: str) -> None:
    answer = api.post(CONTACTS, {"urns": [f"tel:{typed}"]})

    assert answer.status_code == 400
    assert "an old form (Mexico, before 2019) of +525512345678" in answer.text
