"""Previewing, scheduling, following and stopping broadcasts, over HTTP."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from persistence.broadcasts import expansion
from persistence.broadcasts.expansion import expand_next
from persistence.broadcasts.schedules import begin_next
from persistence.database import Database
from persistence.sql.columns import time_text
from persistence.tables.contacts import group
from persistence.tables.messages import broadcast, message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import make_contact, make_field, make_named

BROADCASTS = "/api/v2/broadcasts.json"
ACTIONS = "/api/v2/broadcast_actions.json"
PREVIEWS = "/api/v2/broadcast_previews.json"
PROGRESS = "/api/v2/broadcast_progress.json"


@pytest.fixture
def people(api: Api, database: Database, workspace: Workspace) -> list[str]:
    make_field(database, workspace, "Age", "number")
    add_channel(database, workspace)
    uuids = [make_contact(database, workspace, f"+25078800011{n}", name=f"Amina {n}") for n in range(3)]
    for age, uuid in zip((20, 30, 40), uuids, strict=True):
        api.post("/api/v2/contacts.json", {"fields": {"age": age}}, uuid=uuid)
    return uuids


def expand(database: Database, workspace: Workspace) -> bool:
    database.write(lambda tx: begin_next(tx, workspace.id))
    return database.write(lambda tx: expand_next(tx, workspace.id))


def statuses(database: Database) -> list[str]:
    with database.reading() as tx:
        return list(tx.execute(select(message.c.status).order_by(message.c.id)).scalars())


def test_a_preview_shows_the_message_of_one_contact_and_sends_nothing(
    api: Api, database: Database, people: list[str]
) -> None:
    text = {"eng": "Are you @fields.age, @contact.name?", "swa": "ж" * 71}
    body = {"text": text, "query": "age > 20", "contacts": [people[1]], "contact": people[0]}

    found = api.post(PREVIEWS, body).json()

    assert (found["recipients"], found["is_exact"]) == (2, True)
    assert found["segments"] == {"eng": 1, "swa": 2}
    assert found["total_segments"] == 2
    assert (found["message"]["text"], found["message"]["encoding"]) == ("Are you 20, Amina 0?", "gsm")
    assert api.results(BROADCASTS) == [] and statuses(database) == []


def test_a_preview_counts_new_addresses_without_creating_contacts(api: Api, people: list[str]) -> None:
    body = {"text": "Hi", "urns": ["tel:+250788000999", "tel:+250788000110"], "contacts": [people[0]]}

    assert api.post(PREVIEWS, body).json()["recipients"] == 2
    assert len(api.results("/api/v2/contacts.json")) == 3


@pytest.mark.usefixtures("people")
def test_a_broadcast_to_a_query_reaches_who_matches(api: Api, database: Database, workspace: Workspace) -> None:
    made = api.post(BROADCASTS, {"text": "Hi", "query": "age > 20"})
    assert made.status_code == 201

    expand(database, workspace)

    shown = api.get(PROGRESS, uuid=made.json()["uuid"]).json()
    assert (shown["status"], shown["query"], shown["total"]) == ("completed", "age > 20", 2)
    assert shown["messages"] == {"queued": 2}


@pytest.mark.together
@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("path", [BROADCASTS, PREVIEWS])
def test_a_query_that_cannot_be_read_is_told_at_its_field(api: Api, path: str) -> None:
    answer = api.post(path, {"text": "Hi", "query": "age >"})

    assert answer.status_code == 400
    assert list(answer.json()) == ["query"] and "character 5" in answer.json()["query"][0]


def test_a_scheduled_broadcast_waits_for_its_time(
    api: Api, database: Database, workspace: Workspace, people: list[str], clock: Any
) -> None:
    when = clock.moment + timedelta(hours=2)
    made = api.post(BROADCASTS, {"text": "Hi", "contacts": people, "scheduled_on": time_text(when)}).json()
    assert not expand(database, workspace)
    assert api.get(PROGRESS, uuid=made["uuid"]).json()["scheduled_on"] == time_text(when)

    clock.advance(hours=2)

    assert expand(database, workspace) and len(statuses(database)) == 3


@pytest.mark.together
@pytest.mark.parametrize(
    ("day", "status"),
    [("2026-03-29", 201), ("2026-03-30", 201), ("2026-03-31", 201), ("2026-04-31", 400), ("2027-02-29", 400)],
)
def test_a_broadcast_is_scheduled_for_any_day_of_the_calendar(
    api: Api, people: list[str], day: str, status: int
) -> None:
    body = {"text": "Hi", "contacts": people, "scheduled_on": f"{day}T08:00:00+14:00"}

    assert api.post(BROADCASTS, body).status_code == status


def test_a_broadcast_is_not_scheduled_for_the_past(api: Api, people: list[str], clock: Any) -> None:
    for when in (clock.moment, clock.moment + timedelta(days=400)):
        answer = api.post(BROADCASTS, {"text": "Hi", "contacts": people, "scheduled_on": time_text(when)[:19] + "Z"})
        assert (answer.status_code, list(answer.json())) == (400, ["scheduled_on"])


def test_a_stopped_broadcast_creates_and_sends_nothing_more(
    api: Api, database: Database, workspace: Workspace, people: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "BATCH", 2)
    (group_uuid,) = make_named(database, workspace, group, ["Reporters"])
    body = {"contacts": people, "action": "add", "group": group_uuid}
    assert api.post("/api/v2/contact_actions.json", body).status_code == 204
    with database.writing() as tx:
        tx.execute(group.update().values(member_count=3))
    add_channel(database, workspace, address="+250788111222", country="RW")
    made = api.post(BROADCASTS, {"text": "Hi", "groups": [group_uuid]}).json()
    assert expand(database, workspace)

    assert api.post(ACTIONS, {"broadcasts": [made["uuid"]], "action": "stop"}).status_code == 204

    assert not expand(database, workspace)
    assert statuses(database) == ["failed", "failed"]
    shown = api.get(PROGRESS, uuid=made["uuid"]).json()
    assert (shown["status"], shown["started"], shown["stopped_on"] is not None) == ("interrupted", 2, True)
    assert api.results(BROADCASTS)[0]["status"] == "interrupted"


def test_what_is_finished_stays_and_what_is_unknown_stops_all(
    api: Api, database: Database, workspace: Workspace, people: list[str]
) -> None:
    done = api.post(BROADCASTS, {"text": "Hi", "contacts": people}).json()["uuid"]
    expand(database, workspace)
    waiting = api.post(BROADCASTS, {"text": "Hi", "contacts": people}).json()["uuid"]
    unknown = "00000000-0000-4000-8000-000000000000"

    assert api.post(ACTIONS, {"broadcasts": [waiting, unknown], "action": "stop"}).status_code == 400
    assert api.post(ACTIONS, {"broadcasts": [waiting, done], "action": "stop"}).status_code == 204

    with database.reading() as tx:
        found = list(tx.execute(select(broadcast.c.status).order_by(broadcast.c.id)).scalars())
    assert found == ["completed", "interrupted"]
