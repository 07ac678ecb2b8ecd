"""What is deleted, emptied, renamed or ends on the other side arrives with the next pass, or stands in the report."""

from typing import Any

import pytest
from sqlalchemy import insert

from persistence.broadcasts.records import BROADCASTS
from persistence.campaigns.records import CAMPAIGN_EVENTS as EVENTS
from persistence.contacts.records import CONTACTS
from persistence.fields import FIELDS
from persistence.flow_starts.flow_starts import STARTS
from persistence.flows.records import FLOWS
from persistence.globals import GLOBALS
from persistence.groups.groups import GROUPS, create_group
from persistence.labels import LABELS
from persistence.messages.records import MESSAGES
from persistence.move.moves import find_move, list_notes
from persistence.resthooks import RESTHOOKS
from persistence.runs.records import RUNS
from persistence.tables.service import boundary
from persistence.tickets.records import TICKETS
from persistence.users import add_member
from relayboard.move.verifying import Verifier
from tests.factories import make_contact
from tests.relayboard.move.listing import listed
from tests.relayboard.move.other_workspace import contact, fill, message, time, uid

LATER = "2099-01-01T00:00:00.000000Z"


def notes(moving: Any, kind: str) -> dict[str, str]:
    with moving.database.reading() as tx:
        move = find_move(tx, moving.workspace)
        assert move is not None
        return {each.reference: each.note or "" for each in list_notes(tx, move, kind, 99)}


def verify(moving: Any) -> dict[str, Any]:
    mover = moving.mover()
    found: dict[str, Any] = Verifier(moving.database, mover.source, mover.move, lambda _text: None).run()
    return found


def test_a_contact_that_is_deleted_there_goes_with_all_that_is_his(moving: Any) -> None:
    fill(moving.other)
    moving.run()
    moving.other.delete_contact(uid(10, 1), LATER)

    moving.run()

    assert uid(10, 1) not in listed(moving, CONTACTS)
    assert all(each["contact"]["uuid"] != uid(10, 1) for each in listed(moving, MESSAGES).values())
    assert all(each["contact"]["uuid"] != uid(10, 1) for each in listed(moving, RUNS).values())
    assert listed(moving, TICKETS) == {}
    assert notes(moving, "contact")[uid(10, 1)] == "was deleted there"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_server_that_lists_everybody_when_asked_for_the_deleted_deletes_nobody(moving: Any) -> None:
    fill(moving.other)
    moving.other.knows_deleted = False
    moving.run()
    moving.other.lists["contacts"].append(contact(9, name=None, urns=[], groups=[], status=None, modified_on=LATER))

    moving.run()
    moving.run()

    assert len(listed(moving, CONTACTS)) == 6


def test_who_and_what_was_here_before_stays_though_it_is_deleted_there_and_is_told(moving: Any) -> None:
    fill(moving.other)
    known = make_contact(moving.database, moving.workspace, "+250788000003", "Known")
    with moving.database.writing() as tx:
        create_group(tx, moving.workspace.id, "Odd")
    moving.run()
    people = listed(moving, CONTACTS)
    assert (len(people), people[known]["name"]) == (5, "Person 3")
    assert notes(moving, "contact")[uid(10, 3)] == "merged with the contact here that already had its URN"
    moving.other.delete_contact(uid(10, 3), LATER)
    moving.other.lists["groups"] = moving.other.lists["groups"][:2]
    moving.other.lists["flows"] = []

    moving.run()

    assert known in listed(moving, CONTACTS)
    assert notes(moving, "contact")[uid(10, 3)] == "was deleted there; it was here before the move, and stays"
    assert "Odd" in listed(moving, GROUPS, "name")
    assert "was here before the move" in notes(moving, "group")[uid(1, 3)]
    assert [each["archived"] for each in listed(moving, FLOWS).values()] == [True]
    assert notes(moving, "flow") == {uid(4, 1): "was deleted there: archived here"}


def test_messages_that_are_deleted_there_are_deleted_here(moving: Any) -> None:
    fill(moving.other, messages=12)
    newest = [message(100 + number, created_on=f"2099-01-01T00:0{number}:00.000000Z") for number in range(5)]
    moving.other.lists["messages"] += newest
    moving.run()
    gone = {newest[1]["text"], newest[4]["text"]}
    moving.other.lists["messages"] = [each for each in moving.other.lists["messages"] if each["text"] not in gone]

    moving.run()
    assert len(listed(moving, MESSAGES)) == 15 and not gone & set(listed(moving, MESSAGES, "text"))

    old = {"text 5", "text 7"}
    moving.other.lists["messages"] = [each for each in moving.other.lists["messages"] if each["text"] not in old]
    moving.run(reads_all=True)
    assert len(listed(moving, MESSAGES)) == 13 and not old & set(listed(moving, MESSAGES, "text"))


def test_what_people_set_up_and_deleted_there_goes_or_says_why_it_stays(moving: Any) -> None:
    fill(moving.other)
    lists = moving.other.lists
    lists["fields"].append({"key": "spare", "name": "Spare", "type": "text"})
    lists["labels"].append({"uuid": uid(2, 2), "name": "Spare", "count": 0})
    moving.run()
    lists["fields"] = [each for each in lists["fields"] if each["key"] not in ("spare", "age")]
    lists["labels"], lists["globals"], lists["topics"] = lists["labels"][:1], [], lists["topics"][:1]
    lists["groups"] = [each for each in lists["groups"] if each["name"] != "Odd"]
    lists["resthook_subscribers"] = []

    moving.run()

    assert set(listed(moving, FIELDS, "key")) == {"age", "district", "due"}
    assert notes(moving, "field")["age"].startswith("was deleted there, and stays here: ")
    assert list(listed(moving, LABELS, "name")) == ["Important"]
    assert listed(moving, GLOBALS, "key") == {}
    assert "Odd" not in listed(moving, GROUPS, "name")
    assert notes(moving, "topic")[uid(8, 2)] == "was deleted there, and stays here"
    assert set(notes(moving, "subscriber")) == {"7"}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_values_of_places_are_told_until_the_boundaries_are_here(moving: Any) -> None:
    fill(moving.other, people=1, messages=2, runs=2)
    moving.other.lists["fields"].append({"key": "home", "name": "Home", "type": "state"})
    moving.other.lists["contacts"][0]["fields"] = {"home": "Rwanda > Kigali City"}
    moving.run()
    assert "its state home is no place that is known here" in notes(moving, "contact")[uid(10, 0)]
    with moving.database.writing() as tx:
        country = {"osm_id": "R1", "name": "Rwanda", "level": 0, "country": "RW"}
        parent_id = tx.execute(insert(boundary).values(**country).returning(boundary.c.id)).scalar_one()
        state = {"osm_id": "R2", "name": "Kigali City", "level": 1, "country": "RW", "parent_id": parent_id}
        tx.execute(insert(boundary).values(**state))

    moving.run()

    assert listed(moving, CONTACTS)[uid(10, 0)]["fields"]["home"] == "Rwanda > Kigali City"
    assert uid(10, 0) not in notes(moving, "contact")


def test_what_people_see_is_carried_and_compared(moving: Any) -> None:
    fill(moving.other)
    lists = moving.other.lists
    lists["flow_starts"][0] |= {"status": "complete"}
    lists["runs"][2] |= {"exit_type": "failed"}
    lists["broadcasts"][0] |= {"attachments": {"eng": ["image/jpeg:https://files.example.org/1.jpg"]}, "status": "sent"}
    lists["messages"][1] |= {"type": "optin"}
    lists["tickets"][0] |= {"opened_by": {"email": "bench@example.com"}}
    with moving.database.writing() as tx:
        add_member(tx, moving.workspace.id, "bench@example.com", "agent")
    moving.run()

    assert listed(moving, STARTS)[uid(6, 1)]["status"] == "completed"
    (sent,) = listed(moving, BROADCASTS).values()
    assert sent["attachments"] == {"eng": ["image/jpeg:https://files.example.org/1.jpg"]}
    assert listed(moving, MESSAGES, "text")["text 1"]["type"] == "optin"
    assert listed(moving, TICKETS)[uid(11, 1)]["opened_by"]["email"] == "bench@example.com"
    assert listed(moving, RESTHOOKS, "resthook")["new-report"]["created_on"] == time(1)
    result = verify(moving)
    assert result["is_equal"], {name: each["differences"] for name, each in result["kinds"].items()}

    moving.mover().bring_campaigns()
    assert list(listed(moving, EVENTS)) == [uid(7, 2)]
