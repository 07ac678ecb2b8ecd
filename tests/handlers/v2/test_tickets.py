"""`/api/v2/tickets.json` over HTTP."""

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.tables.contacts import contact
from persistence.tickets.actions import NewTicket, open_ticket
from persistence.users import find_member
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_contact
from tests.ticket_rows import add_ticket

PATH = "/api/v2/tickets.json"
ACTIONS = "/api/v2/ticket_actions.json"
FLOW = ("c2a7b6f0-3f19-4d53-9f39-77a0f4a1a111", "Registration")
NOWHERE = "00000000-0000-4000-8000-000000000000"


def uuid_of(database: Database, contact_id: int) -> str:
    with database.reading() as tx:
        uuid: str = tx.execute(select(contact.c.uuid).where(contact.c.id == contact_id)).scalar_one()
        return uuid


class TestListTickets:
    def test_a_ticket_shows_what_it_refers_to(self, api: Api, database: Database, workspace: Workspace) -> None:
        contact_id = add_contact(database, workspace)
        with database.reading() as tx:
            user_id = find_member(tx, workspace.id, f"administrator@{workspace.uuid[:8]}.example.org")
        uuid = add_ticket(database, workspace, contact_id, assignee_id=user_id, flow=FLOW)

        (record,) = api.results(PATH)

        assert record == {
            "uuid": uuid,
            "contact": {"uuid": uuid_of(database, contact_id), "name": "Amina"},
            "status": "open",
            "topic": {"uuid": api.results("/api/v2/topics.json")[0]["uuid"], "name": "General"},
            "assignee": {
                "email": f"administrator@{workspace.uuid[:8]}.example.org",
                "name": "Administrator Tester",
            },
            "opened_on": record["opened_on"],
            "opened_by": None,
            "opened_in": {"uuid": FLOW[0], "name": FLOW[1]},
            "modified_on": record["opened_on"],
            "closed_on": None,
            "reply_due": None,
        }

    def test_the_last_changed_ticket_comes_first(self, api: Api, database: Database, workspace: Workspace) -> None:
        numbers = ("+254722000111", "+254722000112")
        first, second = (add_ticket(database, workspace, add_contact(database, workspace, one)) for one in numbers)
        api.post(ACTIONS, {"tickets": [first], "action": "add_note", "note": "Call back"})

        assert [each["uuid"] for each in api.results(PATH)] == [first, second]
        assert [each["uuid"] for each in api.results(PATH, reverse="1")] == [second, first]

    def test_filters_by_contact_and_uuid_combine(self, api: Api, database: Database, workspace: Workspace) -> None:
        contact_id = add_contact(database, workspace)
        mine = add_ticket(database, workspace, contact_id)
        other = add_ticket(database, workspace, add_contact(database, workspace, "+254722000112"))
        owner = uuid_of(database, contact_id)

        assert [each["uuid"] for each in api.results(PATH, contact=owner)] == [mine]
        assert [each["uuid"] for each in api.results(PATH, uuid=other)] == [other]
        assert api.results(PATH, uuid=other, contact=owner) == []

    def test_a_desk_is_a_status_a_topic_and_an_assignee(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        email = f"administrator@{workspace.uuid[:8]}.example.org"
        with database.reading() as tx:
            user_id = find_member(tx, workspace.id, email)
        mine, theirs, done = (
            add_ticket(
                database, workspace, add_contact(database, workspace, f"tel:+25472200011{n}"), assignee_id=assignee
            )
            for n, assignee in enumerate((user_id, None, None))
        )
        api.post(ACTIONS, {"tickets": [done], "action": "close"})
        general = api.results("/api/v2/topics.json")[0]["uuid"]

        def found(**filters: str) -> set[str]:
            return {each["uuid"] for each in api.results(PATH, **filters)}

        assert found(status="open") == {mine, theirs}
        assert found(status="Closed", topic=general) == {done}
        assert found(status="open", assignee="nobody") == {theirs}
        assert found(status="open", assignee=email.upper()) == {mine}
        for unknown in ({"status": "lost"}, {"topic": NOWHERE}, {"assignee": "who@example.org"}):
            assert found(**unknown) == set()

    @pytest.mark.parametrize("reference", [NOWHERE, "x"])
    def test_an_unknown_contact_has_no_tickets(
        self, api: Api, database: Database, workspace: Workspace, reference: str
    ) -> None:
        add_ticket(database, workspace, add_contact(database, workspace))

        assert api.results(PATH, contact=reference) == []


class TestOpeningTickets:
    def test_a_contact_has_one_open_ticket_at_most(self, database: Database, workspace: Workspace) -> None:
        contact_id = add_contact(database, workspace)
        add_ticket(database, workspace, contact_id)

        with database.writing() as tx:
            assert open_ticket(tx, workspace, NewTicket(contact_id)) is None

    def test_an_open_ticket_puts_its_contact_into_the_group_open_tickets(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        add_ticket(database, workspace, add_contact(database, workspace))

        (group,) = api.results("/api/v2/groups.json", name="Open Tickets")
        assert group["count"] == 1
        assert api.results("/api/v2/topics.json")[0]["counts"] == {"open": 1, "closed": 0}

    def test_the_tickets_of_a_deleted_contact_are_gone(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        contact_id = add_contact(database, workspace)
        add_ticket(database, workspace, contact_id)

        api.delete("/api/v2/contacts.json", uuid=uuid_of(database, contact_id))

        assert api.results(PATH) == []
        assert api.results("/api/v2/topics.json")[0]["counts"] == {"open": 0, "closed": 0}

    def test_a_person_opens_a_ticket_with_topic_assignee_and_note(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        contact = uuid_of(database, add_contact(database, workspace))
        topic = api.post("/api/v2/topics.json", {"name": "Sales"}).json()
        email = f"administrator@{workspace.uuid[:8]}.example.org"

        made = api.post(PATH, {"contact": contact, "topic": topic["uuid"], "assignee": email, "note": "Call back"})

        record = made.json()
        assert made.status_code == 201
        assert (record["contact"]["uuid"], record["status"], record["opened_in"]) == (contact, "open", None)
        assert (record["topic"]["name"], record["assignee"]["email"]) == ("Sales", email)
        assert record["opened_by"]["email"] == email
        assert api.results(PATH) == [record]
        (event,) = (
            item["ticket_event"]
            for item in api.results("/api/v2/contact_timeline.json", contact=contact)
            if "ticket_event" in item
        )
        assert (event["type"], event["note"], event["user"]["email"]) == ("opened", "Call back", email)

    def test_a_second_ticket_is_refused_until_the_first_is_closed(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        body = {"contact": uuid_of(database, add_contact(database, workspace))}
        first = api.post(PATH, body).json()["uuid"]

        refused = api.post(PATH, body)
        api.post(ACTIONS, {"tickets": [first], "action": "close"})

        assert (refused.status_code, refused.json()) == (
            400,
            {"contact": ["This contact has an open ticket already."]},
        )
        assert api.post(PATH, body).json()["topic"]["name"] == "General"

    @pytest.mark.parametrize(
        ("field", "value"), [("contact", NOWHERE), ("topic", NOWHERE), ("assignee", "nobody@example.org")]
    )
    def test_what_a_ticket_refers_to_must_exist(
        self, api: Api, database: Database, workspace: Workspace, field: str, value: str
    ) -> None:
        body = {"contact": uuid_of(database, add_contact(database, workspace)), field: value}

        assert api.post(PATH, body).json().keys() == {field}
        assert api.results(PATH) == []
