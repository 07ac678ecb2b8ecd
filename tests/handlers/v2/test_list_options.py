"""What lists of generation 2 have in common: the size of a page, the count of the whole list, chosen members."""

from collections.abc import Callable
from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.messages import label
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_messages, make_named

CONTACTS, LABELS, MESSAGES = "/api/v2/contacts.json", "/api/v2/labels.json", "/api/v2/messages.json"
WORKSPACE = "/api/v2/workspace.json"


@pytest.mark.together
@pytest.mark.parametrize("size", ["0", "251", "-1", "ten", "1.5"])
def test_a_page_has_1_to_250_records(api: Api, size: str) -> None:
    response = api.get(LABELS, page_size=size)

    assert (response.status_code, "page_size" in response.json()["detail"]) == (400, True)


def test_a_client_may_ask_for_more_records_than_the_operator_chose(
    api: Api, make_client: Callable[..., Any], database: Database, workspace: Workspace
) -> None:
    make_named(database, workspace, label, [f"Label {number}" for number in range(9)])
    with make_client(page_size=2) as client:
        chosen = Api(client, database, workspace, api.token)

        sizes = [len(chosen.results(LABELS, page_size=size)) for size in ("", "1", "7", "250")]

    assert sizes == [2, 1, 7, 9]


def test_a_list_is_counted_exactly_up_to_ten_thousand_records(
    api: Api, database: Database, workspace: Workspace
) -> None:
    uuids = make_named(database, workspace, label, [f"Label {number}" for number in range(10_001)])

    many = api.get(LABELS, count="true", page_size=1).json()["count"]
    with database.writing() as tx:
        tx.execute(label.delete().where(label.c.uuid == uuids[0]))
    as_many = api.get(LABELS, count="true", page_size=1).json()["count"]
    found = api.get(LABELS, count="true", name="Label 7").json()["count"]

    assert many == {"value": 10_000, "is_exact": False}
    assert as_many == {"value": 10_000, "is_exact": True}
    assert found == {"value": 1, "is_exact": True}


def test_a_list_is_counted_with_its_filters_and_only_on_request(
    api: Api, database: Database, workspace: Workspace, statements: list[str]
) -> None:
    person, other = make_contact(database, workspace), make_contact(database, workspace, "+250788000002")
    make_messages(database, workspace, person, 3)
    make_messages(database, workspace, other, 2)
    take(statements)

    plain, plain_statements = api.get(MESSAGES), take(statements)
    counted, counted_statements = api.get(MESSAGES, count="true", contact=person), take(statements)
    not_counted = api.get(MESSAGES, count="false")

    assert counted.json()["count"] == {"value": 3, "is_exact": True}
    assert "count" not in plain.json() and "count" not in not_counted.json()
    assert [sum("LIMIT 10001" in each for each in sent) for sent in (plain_statements, counted_statements)] == [0, 1]


def test_what_other_members_of_a_record_need_is_not_read(
    api: Api, database: Database, workspace: Workspace, statements: list[str]
) -> None:
    uuid = make_contact(database, workspace)
    take(statements)

    whole, whole_statements = api.results(CONTACTS), take(statements)
    some, some_statements = api.results(CONTACTS, fields="name,uuid"), take(statements)

    assert some == [{"uuid": uuid, "name": whole[0]["name"]}]
    assert len(some_statements) <= len(whole_statements)
    assert "contact_urn" in "".join(whole_statements)
    assert not [each for each in some_statements if "contact_urn" in each or "group_membership" in each]


def test_a_record_that_is_no_list_has_chosen_members_too(api: Api) -> None:
    whole = api.get(WORKSPACE).json()

    some = api.get(WORKSPACE, fields="timezone,uuid")
    refused = api.get(WORKSPACE, fields="uuid,colour")

    assert some.json() == {"uuid": whole["uuid"], "timezone": whole["timezone"]}
    assert (refused.status_code, "there is no colour;" in refused.json()["detail"]) == (400, True)


def test_the_next_page_has_the_same_members(api: Api, database: Database, workspace: Workspace) -> None:
    make_named(database, workspace, label, ["A", "B", "C"])

    found = api.all_results(LABELS, fields="name", page_size=1, count="true")

    assert found == [{"name": name} for name in ("C", "B", "A")]


def take(statements: list[str]) -> list[str]:
    """The statements until now."""
    found = list(statements)
    statements.clear()
    return found
