"""Hours of work of teams: the answer outside of them, and until when the first reply to a ticket is due."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.tables.accounts import workspace as workspaces
from persistence.tickets.actions import NewTicket, open_ticket
from persistence.tickets.topics import find_topic
from tests.api import Api
from tests.conftest import Clock
from tests.factories import id_of
from tests.phones import claimed_phone

TEAMS, TOPICS, TICKETS, ACTIONS, MESSAGES = (
    f"/api/v2/{name}.json" for name in ("teams", "topics", "tickets", "ticket_actions", "messages")
)
DAYTIME = [{"day": day, "opens": "09:00", "closes": "17:00"} for day in ("mon", "tue")]
CLOSED = "We are here again tomorrow at nine."
PEOPLE = tuple(f"+25078800011{number}" for number in range(5))


class Desk:
    """A team with a topic, in Kigali, where tests begin on a Monday at ten o'clock."""

    def __init__(self, api: Api) -> None:
        self.api = api
        with api.database.writing() as tx:
            tx.execute(update(workspaces).values(timezone="Africa/Kigali"))
        claimed_phone(api)
        self.head = api.as_role("administrator")
        self.topic = self.head.post(TOPICS, {"name": "Billing"}).json()["uuid"]
        given = {"hours": DAYTIME, "holidays": ["2026-03-09"], "closed_text": f" {CLOSED} ", "reply_minutes": 60}
        self.team = self.head.post(TEAMS, {"name": "Day", "topics": [self.topic], **given}).json()
        self.people = [
            api.post("/api/v2/contacts.json", {"urns": [f"tel:{number}"]}).json()["uuid"] for number in PEOPLE
        ]

    def open(self, person: int, **given: str) -> dict[str, Any]:
        made = self.api.post(TICKETS, {"contact": self.people[person], "topic": self.topic, **given})
        assert made.status_code == 201, made.text
        return dict(made.json())

    def texts(self) -> list[tuple[str, str]]:
        return [(each["contact"]["uuid"], each["text"]) for each in self.api.results(MESSAGES, folder="outbox")]

    def due(self, **query: str) -> dict[str, str | None]:
        return {each["uuid"]: each["reply_due"] for each in self.api.results(TICKETS, **query)}


@pytest.fixture
def desk(api: Api) -> Desk:
    return Desk(api)


def test_a_team_keeps_its_hours_until_they_change(desk: Desk) -> None:
    expected = {"hours": DAYTIME, "holidays": ["2026-03-09"], "closed_text": CLOSED, "reply_minutes": 60}
    assert {name: desk.team[name] for name in expected} == expected

    renamed = desk.head.post(TEAMS, {"name": "Days"}, uuid=desk.team["uuid"]).json()
    assert renamed == desk.team | {"name": "Days"}

    nothing: dict[str, Any] = {"hours": [], "holidays": [], "closed_text": "", "reply_minutes": 0}
    for bad in (
        {"hours": [*DAYTIME, DAYTIME[0]]},
        {"hours": [{**DAYTIME[0], "closes": "24:30"}]},
        {"holidays": ["2026-02-30"]},
        {"holidays": ["0000-01-01"]},
        {"holidays": ["+026-12-25"]},
        {"reply_minutes": -1},
    ):
        refused = desk.head.post(TEAMS, {"name": "Bad", **nothing, **bad}, uuid=desk.team["uuid"])
        assert (refused.status_code, desk.head.results(TEAMS)) == (400, [renamed]), bad
    assert desk.head.post(TEAMS, {"name": "Days", **nothing}, uuid=desk.team["uuid"]).json() == renamed | nothing


def test_who_opens_a_ticket_outside_of_the_hours_is_answered_once(desk: Desk, database: Database, clock: Clock) -> None:
    """Neither is somebody who is blocked, nor somebody for whom a person of the team opens it."""
    desk.open(0)
    assert desk.texts() == []

    clock.advance(hours=8)
    desk.open(1)
    desk.api.post("/api/v2/contact_actions.json", {"contacts": [desk.people[2]], "action": "block"})
    desk.open(2)
    elsewhere = desk.api.post(TICKETS, {"contact": desk.people[3]})
    assert (elsewhere.status_code, elsewhere.json()["reply_due"]) == (201, None)
    with database.writing() as tx:
        topic_id = find_topic(tx, desk.api.workspace.id, desk.topic)
        new = NewTicket(id_of(database, desk.people[4]), topic_id, is_attended=True)
        assert open_ticket(tx, desk.api.workspace, new) is not None

    assert desk.texts() == [(desk.people[1], CLOSED)]
    refused = desk.api.post(TICKETS, {"contact": desk.people[1], "topic": desk.topic})
    assert (refused.status_code, len(desk.texts())) == (400, 1)


def test_the_first_reply_is_due_after_minutes_of_work_and_only_until_somebody_replies(desk: Desk, clock: Clock) -> None:
    clock.advance(hours=6, minutes=30)
    first = desk.open(0)
    moved = desk.open(1, topic=desk.head.post(TOPICS, {"name": "Other"}).json()["uuid"])
    assert (first["reply_due"][:16], moved["reply_due"]) == ("2026-03-03T07:30", None)

    clock.advance(hours=16)
    desk.api.post(ACTIONS, {"tickets": [moved["uuid"]], "action": "change_topic", "topic": desk.topic})
    due = desk.due()
    assert due[first["uuid"]] == first["reply_due"]
    assert str(due[moved["uuid"]])[:16] == "2026-03-03T07:30"
    assert desk.due(overdue="true") == {}

    clock.advance(hours=1)
    assert desk.due(overdue="true").keys() == {first["uuid"], moved["uuid"]}
    (before,) = desk.api.results(TICKETS, uuid=first["uuid"])
    conversations = "/api/v2/conversations.json"

    desk.api.post(MESSAGES, {"contact": desk.people[0], "text": "Good morning"})
    (after,) = desk.api.results(TICKETS, uuid=first["uuid"])
    assert after == before | {"reply_due": None, "modified_on": after["modified_on"]}
    assert after["modified_on"] > before["modified_on"]
    assert desk.due(overdue="true") == {moved["uuid"]: due[moved["uuid"]]}
    (row,) = desk.api.results(conversations, contact=desk.people[0])
    assert row["ticket"] | {"reply_due": None} == row["ticket"]

    desk.api.post(ACTIONS, {"tickets": [moved["uuid"]], "action": "close"})
    assert desk.due(overdue="true") == {}
    assert desk.due(uuid=moved["uuid"]) == {moved["uuid"]: None}
    desk.api.post(ACTIONS, {"tickets": [moved["uuid"]], "action": "reopen"})
    assert desk.due(overdue="1") == {moved["uuid"]: due[moved["uuid"]]}
    assert desk.due(overdue="0").keys() == {first["uuid"], moved["uuid"]}
