"""Creating and changing up to 100 contacts by `/api/v2/contact_upserts.json` over HTTP."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from testbed.tokens import make_used_token
from tests.api import Api
from tests.factories import make_contact, make_field, make_named

PATH, CONTACTS = "/api/v2/contact_upserts.json", "/api/v2/contacts.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
AMINA, BOSCO = "tel:+250788000111", "tel:+250788000222"


def write(api: Api, *items: dict[str, Any], **headers: str) -> list[dict[str, Any]]:
    response = api.post(PATH, {"contacts": list(items)}, headers=headers)
    assert response.status_code == 200, response.text
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def test_each_item_makes_or_changes_a_contact_in_their_order(
    api: Api, database: Database, workspace: Workspace
) -> None:
    amina = make_contact(database, workspace, "+250788000111")
    make_field(database, workspace, "Age", "number")
    (nurses,) = make_named(database, workspace, group, ["Nurses"])

    results = write(
        api,
        {"urns": ["tel:0788000111", "telegram:5599"], "name": "Amina W.", "fields": {"age": 27}},
        {"urns": [BOSCO], "name": "Bosco", "add_groups": ["nurses"]},
        {"uuid": amina, "language": "kin", "name": None},
    )

    assert [each["status"] for each in results] == ["updated", "created", "updated"]
    assert not any("errors" in each for each in results)
    first, second, third = (each["contact"] for each in results)
    assert first == third == api.results(CONTACTS, uuid=amina)[0]
    assert (first["urns"], first["language"], first["name"]) == ([AMINA, "telegram:5599"], "kin", None)
    assert first["fields"] == {"age": "27"}
    assert (second["name"], [each["uuid"] for each in second["groups"]]) == ("Bosco", [nurses])


def test_an_item_that_breaks_a_rule_says_so_and_the_others_are_written(
    api: Api, database: Database, workspace: Workspace
) -> None:
    make_contact(database, workspace, "+250788000111")
    make_contact(database, workspace, "+250788000222")

    results = write(
        api,
        {"name": "Nobody"},
        {"uuid": UNKNOWN},
        {"urns": [AMINA, BOSCO]},
        {"urns": ["tel:1"]},
        {"urns": ["ext:1"], "fields": {"shoes": "42"}},
        {"urns": ["ext:2"], "add_groups": ["Nobody"]},
        {"urns": ["ext:3"], "language": "qqq"},
        {"urns": ["ext:4"], "name": "Written"},
    )

    places = [next(iter(each.get("errors", {"": ""}))) for each in results]
    assert places == ["non_field_errors", "uuid", "urns", "urns", "fields", "add_groups", "language", ""]
    assert [each["status"] for each in results] == ["rejected"] * 7 + ["created"]
    assert results[5]["errors"] == {"add_groups": ['Nothing found for "Nobody".']}
    assert api.results(CONTACTS)[0]["name"] == "Written"
    assert len(api.results(CONTACTS)) == 3


@pytest.mark.together
@pytest.mark.parametrize(
    "items", [[], [{"urns": ["ext:1"]}] * 101, [{"urns": "ext:1"}], ["ext:1"], [{"name": "n" * 65}]]
)
def test_a_body_of_a_wrong_form_writes_nothing(api: Api, items: list[Any]) -> None:
    response = api.post(PATH, {"contacts": [{"urns": ["ext:9"]}, *items] if len(items) == 1 else items})

    assert (response.status_code, next(iter(response.json()))) == (400, "contacts")
    assert api.results(CONTACTS) == []


def test_a_hundred_contacts_take_as_many_statements_as_two(api: Api, statements: list[str]) -> None:
    def count(start: int, size: int) -> int:
        statements.clear()
        results = write(api, *({"urns": [f"ext:{number}"], "name": "A"} for number in range(start, start + size)))
        assert {each["status"] for each in results} == {"created"}
        return len([each for each in statements if not each.startswith("SET")])

    count(0, 2)

    assert count(100, 100) == count(10, 2)


def test_a_request_repeated_with_its_key_writes_once(api: Api) -> None:
    item = {"urns": ["ext:1"], "name": "Once"}
    headers = {"Idempotency-Key": "upsert-1"}

    first = api.post(PATH, {"contacts": [item]}, headers=headers)
    api.post(CONTACTS, {"name": "Changed"}, urn="ext:1")
    again = api.post(PATH, {"contacts": [item]}, headers=headers)

    assert again.json() == first.json() and again.headers["Idempotency-Replayed"] == "true"
    assert [each["name"] for each in api.results(CONTACTS)] == ["Changed"]


def test_contacts_of_another_workspace_are_not_found(
    api: Api, other_api: Api, database: Database, other_workspace: Workspace
) -> None:
    theirs = make_contact(database, other_workspace, "+250788000111")
    make_named(database, other_workspace, group, ["Theirs"])
    before = other_api.results(CONTACTS)

    results = write(api, {"uuid": theirs, "name": "X"}, {"urns": [AMINA]}, {"urns": [BOSCO], "add_groups": ["Theirs"]})

    assert [each["status"] for each in results] == ["rejected", "created", "rejected"]
    assert other_api.results(CONTACTS) == before


def test_an_anonymous_workspace_tells_of_no_urn_whose_it_is(api: Api, database: Database) -> None:
    with database.writing() as tx:
        private = create_workspace(tx, "Private", country="RW", is_anonymous=True)
    amina = make_contact(database, private, "+250788000111")
    hidden = Api(api.client, database, private, make_used_token(database, private, "administrator"))

    results = write(hidden, {"urns": [AMINA]}, {"uuid": amina, "urns": ["ext:1"]}, {"uuid": amina, "name": "A"})

    assert [each["status"] for each in results] == ["rejected", "rejected", "updated"]


@pytest.mark.together
@pytest.mark.parametrize(("role", "status"), [("administrator", 200), ("editor", 200), ("agent", 403), ("viewer", 403)])
def test_administrators_and_editors_write_many_contacts(api: Api, role: str, status: int) -> None:
    assert api.as_role(role).post(PATH, {"contacts": [{"urns": ["ext:1"]}]}).status_code == status
