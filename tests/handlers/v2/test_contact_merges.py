"""`/api/v2/contact_merges.json` over HTTP."""

import pytest
from sqlalchemy import func, select

from persistence.database import Database
from persistence.sql.columns import metadata
from persistence.tables.policies import policy_of
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.contract.filled_workspace import fill_workspace
from tests.factories import id_of, make_contact, make_field, make_messages
from tests.ticket_rows import add_ticket

PATH = "/api/v2/contact_merges.json"
CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"
CONVERSATIONS, TIMELINE = "/api/v2/conversations.json", "/api/v2/contact_timeline.json"


@pytest.fixture
def both(database: Database, workspace: Workspace) -> tuple[str, str]:
    """Amina by her number, and the same person by another one."""
    return make_contact(database, workspace, "+250788000111"), make_contact(database, workspace, "+250788000222", "A.")


def test_the_history_of_both_is_in_one_and_nothing_else_refers_to_the_other(
    api: Api, database: Database, workspace: Workspace
) -> None:
    filled = fill_workspace(database, workspace, 2, now=database.clock())
    kept, other = (str(row.uuid) for row in filled.rows["contact"][:2])
    before = [(each["type"], each["time"]) for uuid in (kept, other) for each in api.results(TIMELINE, contact=uuid)]

    assert api.post(PATH, {"contact": kept, "other": other}).status_code == 200

    left = {}
    for table in metadata.sorted_tables:
        if "contact_id" in table.c and policy_of(table).merged != "left":
            with database.reading() as tx:
                theirs = select(func.count()).where(table.c.contact_id == id_of(database, other))
                left[table.name] = tx.execute(theirs).scalar_one()
    assert len(left) > 10
    assert set(left.values()) == {0}, left
    after = {(each["type"], each["time"]) for each in api.results(TIMELINE, contact=kept)}
    assert {each for each in before if each[0] != "created"} <= after
    assert len([each for each in after if each[0] == "created"]) == 1


def test_urns_groups_and_fields_come_together_and_what_both_have_stays(
    api: Api, database: Database, workspace: Workspace, both: tuple[str, str]
) -> None:
    kept, other = both
    for name in ("Age", "District"):
        make_field(database, workspace, name)
    groups = [api.post("/api/v2/groups.json", {"name": name}).json()["uuid"] for name in ("Nurses", "Mothers")]
    api.post(CONTACTS, {"language": None, "fields": {"age": "27"}, "groups": groups[:1]}, uuid=kept)
    new = {"language": "swa", "fields": {"age": "99", "district": "Gasabo"}, "groups": groups}
    api.post(CONTACTS, new, uuid=other)

    answer = api.post(PATH, {"contact": "tel:+250788000111", "other": other})

    record = answer.json()
    assert (record["uuid"], record["name"], record["language"]) == (kept, "Amina", "swa")
    assert record["urns"] == ["tel:+250788000111", "tel:+250788000222"]
    assert record["fields"] == {"age": "27", "district": "Gasabo"}
    assert {each["name"] for each in record["groups"]} == {"Nurses", "Mothers"}
    assert {each["name"]: each["count"] for each in api.results("/api/v2/groups.json")}["Nurses"] == 1
    assert [each["uuid"] for each in api.results(CONTACTS, deleted="true")] == [other]


@pytest.mark.parametrize("unread", [(), (0,), (1,), (0, 1)])
def test_what_was_unread_stays_unread(
    api: Api, database: Database, workspace: Workspace, both: tuple[str, str], unread: tuple[int, ...]
) -> None:
    for uuid in both:
        make_messages(database, workspace, uuid, 1)
    read = [uuid for place, uuid in enumerate(both) if place not in unread]
    if read:
        api.post(CONVERSATIONS, {"contacts": read, "action": "read"})

    api.post(PATH, {"contact": both[0], "other": both[1]})

    (found,) = api.results(CONVERSATIONS)
    assert found["uuid"] == both[0]
    assert bool(found["unread_count"]) == bool(unread)


@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
def test_of_two_open_tickets_that_of_the_other_is_closed(
    api: Api, database: Database, workspace: Workspace, both: tuple[str, str], which: tuple[int, ...]
) -> None:
    tickets = [add_ticket(database, workspace, id_of(database, both[place])) for place in which]

    api.post(PATH, {"contact": both[0], "other": both[1]})

    found = {each["uuid"]: each["status"] for each in api.results(TICKETS, contact=both[0])}
    assert found == {uuid: "closed" if place else "open" for place, uuid in enumerate(tickets)}
    (topic,) = api.results("/api/v2/topics.json")
    assert topic["counts"] == {"open": 1, "closed": len(which) - 1}
    assert len(api.results(CONTACTS, query="tickets > 0")) == 1


def test_a_contact_is_not_merged_with_itself_or_with_one_that_is_gone(api: Api, both: tuple[str, str]) -> None:
    kept, other = both
    itself = api.post(PATH, {"contact": kept, "other": "tel:+250788000111"})
    api.delete(CONTACTS, uuid=other)

    assert (itself.status_code, itself.json()) == (400, {"other": ["A contact cannot be merged with itself."]})
    assert api.post(PATH, {"contact": kept, "other": other}).json().keys() == {"other"}
    assert api.post(PATH, {"contact": other, "other": kept}).json().keys() == {"contact"}
