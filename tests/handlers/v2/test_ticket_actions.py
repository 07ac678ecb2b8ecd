"""`/api/v2/ticket_actions.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.tables.contacts import contact, ticket_event
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_contact
from tests.ticket_rows import add_ticket

PATH = "/api/v2/ticket_actions.json"
TICKETS = "/api/v2/tickets.json"
TOPICS = "/api/v2/topics.json"
NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def contact_id(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace)


@pytest.fixture
def uuid(database: Database, workspace: Workspace, contact_id: int) -> str:
    """An open ticket."""
    return add_ticket(database, workspace, contact_id)


def act(api: Api, action: str, *tickets: str, **arguments: Any) -> Any:
    return api.post(PATH, {"tickets": list(tickets), "action": action, **arguments})


def record_of(api: Api, uuid: str) -> dict[str, Any]:
    (record,) = api.results(TICKETS, uuid=uuid)
    return record


def counts_of(api: Api) -> dict[str, tuple[int, int]]:
    return {topic["name"]: (topic["counts"]["open"], topic["counts"]["closed"]) for topic in api.results(TOPICS)}


def open_count_of(database: Database, contact_id: int) -> int:
    with database.reading() as tx:
        count: int = tx.execute(select(contact.c.open_ticket_count).where(contact.c.id == contact_id)).scalar_one()
        return count


def members_of_open_tickets(api: Api) -> int:
    (group,) = api.results("/api/v2/groups.json", name="Open Tickets")
    count: int = group["count"]
    return count


class TestAssign:
    def test_a_ticket_is_given_to_a_user_of_any_case_and_taken_back(self, api: Api, uuid: str) -> None:
        api.as_role("agent")
        email = f"agent@{api.workspace.uuid[:8]}.example.org"

        assert act(api, "assign", uuid, assignee=email.upper()).status_code == 204
        assert record_of(api, uuid)["assignee"] == {"email": email, "name": "Agent Tester"}
        assert act(api, "assign", uuid, assignee=None).status_code == 204
        assert record_of(api, uuid)["assignee"] is None

    def test_tickets_that_were_so_already_are_reported(self, api: Api, uuid: str) -> None:
        response = act(api, "assign", uuid, assignee=None)

        assert (response.status_code, response.json()) == (200, {"failures": [uuid]})

    def test_the_assignee_has_to_be_present(self, api: Api, uuid: str) -> None:
        assert list(act(api, "assign", uuid).json()) == ["non_field_errors"]


class TestAddNote:
    def test_a_note_is_kept_and_changes_the_ticket(self, api: Api, database: Database, uuid: str) -> None:
        before = record_of(api, uuid)["modified_on"]

        assert act(api, "add_note", uuid, note="Call back").status_code == 204

        assert record_of(api, uuid)["modified_on"] > before
        with database.reading() as tx:
            notes = select(ticket_event.c.note).where(ticket_event.c.type == "note_added")
            assert tx.execute(notes).scalars().all() == ["Call back"]

    @pytest.mark.together
    @pytest.mark.parametrize("body", [{}, {"note": ""}, {"note": None}])
    def test_a_note_is_needed(self, api: Api, uuid: str, body: dict[str, Any]) -> None:
        assert list(act(api, "add_note", uuid, **body).json()) == ["non_field_errors"]

    def test_a_note_has_at_most_10000_characters(self, api: Api, uuid: str) -> None:
        assert act(api, "add_note", uuid, note="x" * 10_000).status_code == 204
        assert list(act(api, "add_note", uuid, note="x" * 10_001).json()) == ["note"]


class TestChangeTopic:
    def test_a_moved_ticket_is_counted_by_its_new_topic(self, api: Api, uuid: str) -> None:
        billing = api.post(TOPICS, {"name": "Billing"}).json()["uuid"]

        assert act(api, "change_topic", uuid, topic=billing).status_code == 204

        assert record_of(api, uuid)["topic"] == {"uuid": billing, "name": "Billing"}
        assert counts_of(api) == {"Billing": (1, 0), "General": (0, 0)}

    def test_closed_tickets_move_too(self, api: Api, uuid: str) -> None:
        billing = api.post(TOPICS, {"name": "Billing"}).json()["uuid"]
        act(api, "close", uuid)

        act(api, "change_topic", uuid, topic=billing)

        assert counts_of(api) == {"Billing": (0, 1), "General": (0, 0)}

    def test_a_ticket_that_is_there_already_is_reported(self, api: Api, uuid: str) -> None:
        general = api.results(TOPICS)[0]["uuid"]

        assert act(api, "change_topic", uuid, topic=general).json() == {"failures": [uuid]}

    @pytest.mark.together
    @pytest.mark.parametrize("topic", [NOWHERE, "Billing"])
    def test_an_unknown_topic_is_refused(self, api: Api, uuid: str, topic: str) -> None:
        response = act(api, "change_topic", uuid, topic=topic)

        assert (response.status_code, list(response.json())) == (400, ["topic"])

    def test_a_topic_is_needed(self, api: Api, uuid: str) -> None:
        assert list(act(api, "change_topic", uuid).json()) == ["non_field_errors"]


class TestCloseAndReopen:
    def test_a_closed_ticket_is_counted_as_closed_and_its_contact_leaves_the_group(
        self, api: Api, database: Database, uuid: str, contact_id: int
    ) -> None:
        assert act(api, "close", uuid).status_code == 204

        record = record_of(api, uuid)
        assert (record["status"], record["closed_on"]) == ("closed", record["modified_on"])
        assert counts_of(api) == {"General": (0, 1)}
        assert (open_count_of(database, contact_id), members_of_open_tickets(api)) == (0, 0)

    def test_a_reopened_ticket_is_as_before(self, api: Api, database: Database, uuid: str, contact_id: int) -> None:
        act(api, "close", uuid)

        assert act(api, "reopen", uuid).status_code == 204

        record = record_of(api, uuid)
        assert (record["status"], record["closed_on"]) == ("open", None)
        assert counts_of(api) == {"General": (1, 0)}
        assert (open_count_of(database, contact_id), members_of_open_tickets(api)) == (1, 1)

    def test_only_tickets_that_did_not_change_are_reported(
        self, api: Api, database: Database, workspace: Workspace, uuid: str
    ) -> None:
        other = add_ticket(database, workspace, add_contact(database, workspace, "+254722000112"))
        act(api, "close", uuid)

        response = act(api, "close", uuid, other)

        assert (response.status_code, response.json()) == (200, {"failures": [uuid]})
        assert counts_of(api) == {"General": (0, 2)}

    def test_a_ticket_stays_closed_while_its_contact_has_another_open_one(
        self, api: Api, database: Database, workspace: Workspace, uuid: str, contact_id: int
    ) -> None:
        act(api, "close", uuid)
        add_ticket(database, workspace, contact_id)

        assert act(api, "reopen", uuid).json() == {"failures": [uuid]}

    def test_of_several_tickets_of_a_contact_the_newest_is_reopened(
        self, api: Api, database: Database, workspace: Workspace, uuid: str, contact_id: int
    ) -> None:
        act(api, "close", uuid)
        newer = add_ticket(database, workspace, contact_id)
        act(api, "close", newer)

        assert act(api, "reopen", newer, uuid).json() == {"failures": [uuid]}
        assert open_count_of(database, contact_id) == 1


class TestEveryAction:
    @pytest.mark.together
    @pytest.mark.parametrize("reference", [NOWHERE, "nonsense"])
    def test_all_tickets_have_to_exist_or_nothing_happens(self, api: Api, uuid: str, reference: str) -> None:
        response = act(api, "close", uuid, reference)

        assert response.status_code == 400
        assert response.json() == {"tickets": [f'Nothing found for "{reference}".']}
        assert record_of(api, uuid)["status"] == "open"

    def test_a_ticket_named_twice_is_changed_once(self, api: Api, uuid: str) -> None:
        assert act(api, "close", uuid, uuid.upper()).status_code == 204
        assert counts_of(api) == {"General": (0, 1)}

    @pytest.mark.together
    @pytest.mark.parametrize("count", [0, 101])
    def test_one_to_100_tickets_are_taken(self, api: Api, uuid: str, count: int) -> None:
        assert list(act(api, "close", *[uuid] * count).json()) == ["tickets"]

    def test_an_unknown_action_is_refused(self, api: Api, uuid: str) -> None:
        assert list(act(api, "burn", uuid).json()) == ["action"]

    def test_who_did_what_is_kept(self, api: Api, database: Database, uuid: str) -> None:
        act(api, "add_note", uuid, note="Hello")
        act(api, "close", uuid)
        act(api, "reopen", uuid)

        with database.reading() as tx:
            events = tx.execute(select(ticket_event.c.type, ticket_event.c.user_id).order_by(ticket_event.c.id)).all()
        assert [event.type for event in events] == ["opened", "note_added", "closed", "reopened"]
        assert [event.user_id is None for event in events] == [True, False, False, False]
