"""`/api/v2/conversations.json` over HTTP."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from persistence.changes import change_messages
from persistence.conversations import LABELED, list_returning_workspaces, return_due
from persistence.database import Database
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.stream import read_changes, read_clocks
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import id_of, make_contact, make_messages

PATH = "/api/v2/conversations.json"
NOTES = "/api/v2/contact_notes.json"
MERGES = "/api/v2/contact_merges.json"
LABELS = "/api/v2/labels.json"
ACTIONS = "/api/v2/message_actions.json"
TICKETS, TICKET_ACTIONS = "/api/v2/tickets.json", "/api/v2/ticket_actions.json"


class Inbox:
    """A workspace in which people wrote."""

    def __init__(self, api: Api, database: Database, workspace: Workspace) -> None:
        self.api, self.database, self.workspace = api, database, workspace
        self.people: dict[str, str] = {}
        self.ids: dict[str, list[int]] = {}

    def hear(self, name: str, count: int = 1, **values: Any) -> None:
        """Messages of a person, who is new the first time, arrive."""
        number = f"+25078800{len(self.people):04}"
        self.people.setdefault(name, "") or self.people.update({name: self._meet(name, number)})
        made = make_messages(self.database, self.workspace, self.people[name], count, **values)
        with self.database.writing() as tx:
            change_messages(tx, self.workspace.id, made, {"contact_id": message.c.contact_id})
        self.ids[name] = made

    def _meet(self, name: str, number: str) -> str:
        return make_contact(self.database, self.workspace, number, name=name)

    def names(self, **query: str) -> list[str]:
        return [each["contact"]["name"] for each in self.api.results(PATH, **query)]


@pytest.fixture
def inbox(api: Api, database: Database, workspace: Workspace, clock: Any) -> Inbox:
    found = Inbox(api, database, workspace)
    for name, count in (("Amina", 2), ("Bosco", 1), ("Claire", 1)):
        clock.advance(seconds=1)
        found.hear(name, count)
    return found


def test_who_wrote_last_comes_first_with_that_message(inbox: Inbox) -> None:
    inbox.hear("Amina", text="Are you there?")

    found = inbox.api.results(PATH)

    assert [(each["contact"]["name"], each["unread_count"]) for each in found] == [
        ("Amina", 3),
        ("Claire", 1),
        ("Bosco", 1),
    ]
    assert found[0]["last_message"]["text"] == "Are you there?"
    assert found[0]["urn"].startswith("tel:+250788")


def test_a_conversation_that_was_read_is_no_longer_among_the_unread(inbox: Inbox) -> None:
    """The stream tells it once, and when it is unread again or has another note."""
    bosco, agent = inbox.people["Bosco"], inbox.api.as_role("agent")

    def told(path: str, body: dict[str, Any]) -> list[tuple[str, int]]:
        with inbox.database.reading() as tx:
            before = read_clocks(tx, [inbox.workspace.id])[inbox.workspace.id]
        assert agent.post(path, body).status_code in (201, 204)
        with inbox.database.reading() as tx:
            after = read_clocks(tx, [inbox.workspace.id])[inbox.workspace.id]
            found = read_changes(tx, inbox.workspace, before, after, 10) or []
        marks = [orjson.loads(each.record) for each in found if each.kind == "conversation"]
        return [(each["uuid"], each["unread_count"]) for each in marks]

    body = {"contacts": [bosco], "action": "read"}
    assert [told(PATH, body) for _ in range(2)] == [[(bosco, 0)], []]
    assert inbox.names(unread="true") == ["Claire", "Amina"]
    assert told(NOTES, {"contact": bosco, "text": "Call back"}) == [(bosco, 0)]
    assert told(PATH, {"contacts": list(inbox.people.values()), "action": "unread"}) == [(bosco, 1)]
    assert told(PATH, body) == [(bosco, 0)]
    assert [each["unread_count"] for each in inbox.api.results(PATH, contact=inbox.people["Bosco"])] == [0]


def test_a_conversation_is_marked_as_unread_by_its_newest_message_and_counted_on_from_there(inbox: Inbox) -> None:
    """Or by so many that were read last, besides what came since."""
    inbox.hear("Flora")
    inbox.api.post(ACTIONS, {"messages": inbox.ids["Flora"], "action": "archive"})

    def mark(name: str, action: str, **number: int) -> int:
        return inbox.api.post(PATH, {"contacts": [inbox.people[name]], "action": action, **number}).status_code

    def unread() -> dict[str, int]:
        return {each["contact"]["name"]: each["unread_count"] for each in inbox.api.results(PATH)}

    marked = [mark(name, "read") for name in inbox.people] + [mark(name, "unread") for name in ("Amina", "Flora")]

    assert unread() == {"Amina": 1, "Bosco": 0, "Claire": 0, "Flora": 0}
    inbox.hear("Amina")
    assert unread()["Amina"] == 2
    assert (mark("Amina", "unread"), unread()["Amina"]) == (204, 2)
    assert set(marked) == {204}
    assert mark("Amina", "read") == 204
    inbox.hear("Amina")
    inbox.hear("Bosco")
    taken_back = [mark(name, "unread", unread_count=2) for name in inbox.people]
    assert (unread(), set(taken_back)) == ({"Amina": 3, "Bosco": 2, "Claire": 1, "Flora": 0}, {204})


def test_a_snoozed_conversation_is_put_away_for_all_until_its_time_and_then_unread_and_to_answer(
    inbox: Inbox, clock: Any
) -> None:
    agent = inbox.api.as_role("agent")

    def act(name: str, action: str, **more: str) -> int:
        return agent.post(PATH, {"contacts": [inbox.people[name]], "action": action, **more}).status_code

    def look(name: str) -> dict[str, Any]:
        return inbox.api.results(PATH, contact=inbox.people[name])[0]

    def answer(text: str) -> int:
        draft = Draft(id_of(inbox.database, inbox.people["Claire"]), text)
        with inbox.database.writing() as tx:
            return create_outgoing(tx, inbox.workspace.id, [draft])[0]

    hour = (clock.moment + timedelta(hours=1)).isoformat()
    answered = answer("We look")

    assert [act(name, "snooze", until=hour) for name in inbox.people] == [204] * 3
    assert (inbox.names(folder="inbox"), inbox.names(folder="snoozed")) == ([], ["Claire", "Bosco", "Amina"])
    assert look("Amina")["unread_count"] == 0 and look("Amina")["snoozed_by"]["email"] is not None
    assert act("Amina", "unsnooze") == 204
    inbox.hear("Bosco")
    without_messages = make_contact(inbox.database, inbox.workspace, "+250788999999")
    assert inbox.api.post(MERGES, {"contact": inbox.people["Claire"], "other": without_messages}).status_code == 200
    with inbox.database.writing() as tx:
        change_messages(tx, inbox.workspace.id, [answered], {"status": "wired"})
    assert (inbox.names(folder="inbox"), inbox.names(folder="snoozed")) == (["Bosco", "Amina"], ["Claire"])

    def returning() -> list[int]:
        with inbox.database.writing() as tx:
            due = list_returning_workspaces(tx)
            return [each for each in due if not return_due(tx, each)]

    assert returning() == []
    clock.advance(hours=1)
    assert (returning(), returning()) == ([inbox.workspace.id], [])

    back = look("Claire")
    assert inbox.names(folder="inbox") == ["Bosco", "Claire", "Amina"]
    assert (back["folder"], back["unread_count"], back["last_message"]["id"]) == ("inbox", 1, answered)
    assert [look(name)["snoozed_until"] is None for name in inbox.people] == [True, True, False]
    with inbox.database.writing() as tx:
        change_messages(tx, inbox.workspace.id, [answered], {"status": "sent"})
    assert look("Claire")["folder"] == "inbox"
    answer("It is done")
    assert (look("Claire")["folder"], look("Claire")["snoozed_until"]) == ("failed", None)
    refused = [
        act("Amina", "snooze"),
        act("Amina", "snooze", until="2020-01-01T00:00:00Z"),
        act("Amina", "read", until=hour),
        # Its last message, and with it the conversation, is archived by then.
        act("Amina", "snooze", until=(clock.moment + timedelta(days=90)).isoformat()),
    ]
    assert refused == [400] * 4


def test_nothing_is_marked_if_one_contact_is_unknown(inbox: Inbox) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"

    answer = inbox.api.post(PATH, {"contacts": [inbox.people["Bosco"], unknown], "action": "read"})

    assert answer.status_code == 400
    assert len(inbox.names(unread="true")) == 3


def test_conversations_are_found_by_contacts_folder_label_and_search(inbox: Inbox) -> None:
    label = inbox.api.post(LABELS, {"name": "Complaint"}).json()["uuid"]
    inbox.api.post(ACTIONS, {"messages": inbox.ids["Amina"], "action": "label", "label": label})
    inbox.api.post(ACTIONS, {"messages": inbox.ids["Claire"], "action": "archive"})

    assert inbox.names(contacts=f"{inbox.people['Amina']},{inbox.people['Claire']},{label}") == ["Claire", "Amina"]
    assert inbox.names(folder="Inbox") == ["Bosco", "Amina"]
    assert inbox.names(folder="archived") == ["Claire"]
    assert inbox.names(label="complaint") == ["Amina"]
    assert inbox.names(search="bosco") == ["Bosco"]
    assert inbox.names(search="claire", folder="inbox") == []


def test_a_conversation_shows_the_labels_of_its_last_messages_and_its_open_ticket_by_whose_assignee_it_is_found(
    inbox: Inbox,
) -> None:
    def put(name: str, which: slice, *labels: str) -> None:
        for label in labels:
            body = {"messages": inbox.ids[name][which], "action": "label", "label_name": label}
            assert inbox.api.post(ACTIONS, body).status_code == 204

    put("Amina", slice(None), "Complaint", "Appointment")
    inbox.hear("Amina", LABELED - 1)
    put("Bosco", slice(1), "Complaint")
    inbox.hear("Bosco", LABELED)
    agent = inbox.api.as_role("agent").get("/api/v2/account.json").json()["user"]["email"]
    for name, assignee in (("Amina", agent), ("Bosco", None), ("Claire", agent)):
        made = inbox.api.post(TICKETS, {"contact": inbox.people[name], "assignee": assignee})
        assert made.status_code == 201
    closed = inbox.api.post(TICKET_ACTIONS, {"tickets": [made.json()["uuid"]], "action": "close"})
    assert closed.status_code == 204

    found = {each["contact"]["name"]: each for each in inbox.api.results(PATH)}

    shown = {name: [label["name"] for label in each["labels"]] for name, each in found.items()}
    assert shown == {"Amina": ["Appointment", "Complaint"], "Bosco": [], "Claire": []}
    tickets = {
        name: each["ticket"] and (each["ticket"]["topic"]["name"], (each["ticket"]["assignee"] or {}).get("email"))
        for name, each in found.items()
    }
    assert tickets == {"Amina": ("General", agent), "Bosco": ("General", None), "Claire": None}
    assert inbox.names(assignee=agent.upper()) == ["Amina"]
    assert inbox.names(assignee="nobody") == ["Bosco"]
    assert inbox.names(assignee="somebody@example.net") == []


def test_a_search_that_cannot_be_read_is_refused_in_words(inbox: Inbox) -> None:
    answer = inbox.api.get(PATH, search="age >")

    assert answer.status_code == 400
    assert answer.json() == {"detail": "Parameter search: expected a value after '>' in query (character 5)."}
