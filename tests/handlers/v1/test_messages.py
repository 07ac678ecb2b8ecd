"""`/api/v1/messages.json` over HTTP."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import insert, update

from persistence.sql.columns import new_uuid
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.conftest import Clock
from tests.phones import claimed_phone

PATH = "/api/v1/messages.json"


class Mailbox:
    """A workspace with a phone and a contact, and messages between them."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self.api = api
        self.clock = clock
        self.channel_id = add_channel(api.database, api.workspace)
        self.contact_id = add_contact(api.database, api.workspace)

    def add(self, status: str = "handled", direction: str = "in", **values: Any) -> int:
        return self.add_from(self.contact_id, status=status, direction=direction, **values)

    def add_from(self, contact_id: int, status: str = "handled", direction: str = "in", **values: Any) -> int:
        moment: datetime = self.clock()
        row = {"direction": direction, "urn": "tel:+254722000111", "text": "Hello", "type": "text", **values}
        return add_outgoing(self.api.database, self.api.workspace, self.channel_id, contact_id, moment, status, **row)

    def label(self, name: str, *message_ids: int) -> None:
        self.api.post("/api/v2/labels.json", {"name": name})
        body = {"messages": list(message_ids), "action": "label", "label_name": name}
        response = self.api.post("/api/v2/message_actions.json", body)
        assert response.status_code == 204, response.text

    def find(self, **query: Any) -> list[int]:
        return [record["id"] for record in self.api.results(PATH, **query)]


@pytest.fixture
def mailbox(api: Api, clock: Clock) -> Mailbox:
    return Mailbox(api, clock)


class TestListMessages:
    def test_an_incoming_message_in_letters(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.receive_sms("0788000333", "Is it open on Monday?", 1772438000123)
        phone.sync()

        record = api.results(PATH)[0]

        assert isinstance(record.pop("id"), int)
        assert record == {
            "broadcast": None,
            "contact": api.results("/api/v2/contacts.json")[0]["uuid"],
            "urn": "tel:+250788000333",
            "status": "Q",
            "type": "I",
            "labels": [],
            "relayer": phone.state.relayer_id,
            "direction": "I",
            "archived": False,
            "text": "Is it open on Monday?",
            "segments": 1,
            "created_on": "2026-03-02T07:53:20.123000Z",
            "sent_on": None,
            "delivered_on": None,
        }

    def test_a_delivered_message_has_the_times_the_phone_reported(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.receive_sms("0788000333", "Hello", 1772438000123)
        phone.sync()
        contact = api.results("/api/v2/contacts.json")[0]["uuid"]
        api.post("/api/v2/messages.json", {"contact": contact, "text": "Yes"})
        phone.sync()
        message_id = next(iter(phone.state.messages))
        phone.send_result(message_id, at_ms=1772438400500)
        phone.delivery(message_id, at_ms=1772438401500)
        phone.sync()

        record = api.results(PATH, id=message_id)[0]

        assert (record["status"], record["direction"]) == ("D", "O")
        assert record["sent_on"] == "2026-03-02T08:00:00.500000Z"
        assert record["delivered_on"] == "2026-03-02T08:00:01.500000Z"

    def test_newest_come_first_and_deleted_never(self, mailbox: Mailbox) -> None:
        first, second = mailbox.add(), mailbox.add()
        mailbox.add(visibility="deleted", text="")

        assert mailbox.find() == [second, first]

    def test_ids_may_be_repeated_or_separated_by_commas(self, mailbox: Mailbox) -> None:
        first, second, third = mailbox.add(), mailbox.add(), mailbox.add()

        assert mailbox.find(id=[f"{first},{second}", third]) == [third, second, first]
        assert mailbox.find(id=f"{first}") == [first]
        assert mailbox.find(id=f" {first}, {second} ,,") == [second, first]

    @pytest.mark.parametrize(
        ("status", "letter"),
        [
            ("queued", "Q"),
            ("wired", "W"),
            ("sent", "S"),
            ("delivered", "D"),
            ("read", "D"),
            ("errored", "E"),
            ("failed", "F"),
        ],
    )
    def test_every_state_has_its_letter_in_records_and_filters(
        self, mailbox: Mailbox, status: str, letter: str
    ) -> None:
        message_id = mailbox.add(status, "out")
        mailbox.add("handled")

        assert mailbox.find(status=letter.lower()) == [message_id]
        assert mailbox.api.results(PATH, id=message_id)[0]["status"] == letter

    def test_an_unknown_letter_is_refused(self, api: Api) -> None:
        assert api.get(PATH, status="Z").status_code == 400
        assert api.get(PATH, direction="X").status_code == 400

    def test_directions_types_and_archived_filter(self, mailbox: Mailbox) -> None:
        plain = mailbox.add()
        in_flow = mailbox.add(flow_id=88)
        archived = mailbox.add(visibility="archived")
        sent = mailbox.add("sent", "out")
        spoken = mailbox.add(type="voice")

        assert mailbox.find(direction="o") == [sent]
        assert mailbox.find(type="F") == [in_flow]
        assert mailbox.find(type="V") == [spoken]
        assert mailbox.find(type="U") == []
        assert mailbox.find(type="I,F", direction="I", archived="0") == [in_flow, plain]
        assert mailbox.find(archived="Y") == [archived]
        assert mailbox.find(flow=88) == [in_flow]

    def test_a_status_and_a_direction_find_messages_with_both(self, mailbox: Mailbox) -> None:
        waiting = mailbox.add("queued", "in")
        handled = mailbox.add("handled", "in")
        sent = mailbox.add("sent", "out")

        assert mailbox.find(status="q,s", direction="I") == [waiting]
        assert mailbox.find(status="h,s", direction="O") == [sent]
        assert mailbox.find(status="h,s", direction="I,O") == [sent, handled]
        assert mailbox.find(status="d", direction="I") == []

    def test_contacts_are_named_by_uuid_group_or_address(self, mailbox: Mailbox) -> None:
        api = mailbox.api
        other = add_contact(api.database, api.workspace, "+250788000555", "Grace")
        mine, theirs = mailbox.add(), mailbox.add_from(other)
        uuids = {record["name"]: record["uuid"] for record in api.results("/api/v2/contacts.json")}
        group = api.post("/api/v2/groups.json", {"name": "Nurses"}).json()["uuid"]
        added = {"contacts": [uuids["Grace"]], "action": "add", "group": group}
        assert api.post("/api/v2/contact_actions.json", added).status_code == 204

        assert mailbox.find(contact=uuids["Amina"]) == [mine]
        assert api.get("/api/v1/messages.json", contact=[uuids["Amina"], "nobody"]).status_code == 400
        assert mailbox.find(group_uuids=group) == [theirs]
        assert mailbox.find(urn="tel:0788000555") == [theirs]
        assert mailbox.find(urn="tel:0788000555,tel:+254722000111") == [theirs, mine]
        assert mailbox.find(urn="no address") == []
        assert mailbox.find(contact=new_uuid()) == []

    def test_labels_may_be_wanted_needed_or_unwanted(self, mailbox: Mailbox) -> None:
        one, both, none = mailbox.add(), mailbox.add(), mailbox.add()
        mailbox.label("Complaint", one, both)
        mailbox.label("Urgent", both)

        assert mailbox.find(label="complaint") == [both, one]
        assert mailbox.find(label="Urgent,Complaint") == [both, one]
        assert mailbox.find(label=["+Complaint", "+Urgent"]) == [both]
        assert mailbox.find(label=["Complaint", "-Urgent"]) == [one]
        assert mailbox.find(label="-Complaint") == [none]
        assert mailbox.find(label="Unknown") == []
        assert mailbox.api.results(PATH, id=both)[0]["labels"] == ["Complaint", "Urgent"]

    def test_a_label_without_a_name_counts_as_absent(self, mailbox: Mailbox) -> None:
        one, other = mailbox.add(), mailbox.add(direction="out")
        mailbox.label("Complaint", one)

        for empty in ("", " ", "\t", "\n", "\u00a0", "\u2003", ",", "\t,"):
            assert mailbox.find(label=empty) == [other, one], repr(empty)
            assert mailbox.find(label=empty, direction="I", page=1) == [one], repr(empty)

    def test_messages_of_a_label_are_in_order_page_after_page_and_counted(
        self, mailbox: Mailbox, make_client: Callable[..., Any]
    ) -> None:
        ids = [mailbox.add() for _ in range(5)]
        mailbox.add()
        mailbox.label("Complaint", *ids[::2], *ids[1::2])
        mailbox.label("Urgent", ids[0])
        moment = mailbox.api.results(PATH, id=ids[3])[0]["created_on"]

        with make_client(page_size=2) as client:
            paged = Api(client, mailbox.api.database, mailbox.api.workspace, mailbox.api.token)
            pages = [paged.get(PATH, label="complaint", page=number).json() for number in (1, 2)]
        assert [page["count"] for page in pages] == [5, 5]
        assert [record["id"] for page in pages for record in page["results"]] == ids[:0:-1]
        assert mailbox.find(label="complaint", before=moment) == ids[3::-1]
        assert mailbox.find(label="complaint", after=moment, status="H", type="I") == ids[:2:-1]

    def test_no_outgoing_message_has_a_label(self, mailbox: Mailbox) -> None:
        labeled, sent = mailbox.add(), mailbox.add("sent", "out")
        mailbox.label("Complaint", labeled)

        for asked in ("complaint", "+complaint", ["complaint", "Urgent"]):
            assert mailbox.find(label=asked, direction="I,O") == ([labeled] if asked != "Urgent" else [])
            assert mailbox.find(label=asked, direction="O") == []
            assert mailbox.find(label=asked, status="S") == []
        assert mailbox.find(label="-complaint", direction="O") == [sent]

    def test_a_label_of_the_same_name_elsewhere_is_another(self, mailbox: Mailbox, other_api: Api) -> None:
        labeled, _ = mailbox.add(), mailbox.add()
        mailbox.label("Complaint", labeled)
        other_api.post("/api/v2/labels.json", {"name": "Complaint"})
        other_api.post("/api/v2/labels.json", {"name": "Urgent"})

        assert mailbox.find(label="Complaint") == [labeled]
        assert mailbox.find(label="Urgent") == []

    def test_a_plain_plus_in_the_address_line_still_means_needed(self, mailbox: Mailbox) -> None:
        one, both = mailbox.add(), mailbox.add()
        mailbox.label("Complaint", one, both)
        mailbox.label("Urgent", both)

        address, token = f"{PATH}?label=+Complaint&label=+Urgent", mailbox.api.token
        response = mailbox.api.client.get(address, headers={"Authorization": f"Token {token}"})

        assert [record["id"] for record in response.json()["results"]] == [both]

    def test_a_label_name_with_a_comma_is_found_whole(self, mailbox: Mailbox) -> None:
        message_id = mailbox.add()
        mailbox.add()
        mailbox.label("Water, light", message_id)

        assert mailbox.find(label="Water, light") == [message_id]

    def test_relayer_and_channel_mean_the_same(self, mailbox: Mailbox) -> None:
        message_id = mailbox.add()

        for name in ("relayer", "channel"):
            assert mailbox.find(**{name: mailbox.channel_id}) == [message_id]
            assert mailbox.find(**{name: 99999}) == []

    def test_a_part_of_the_text_finds_messages_in_any_case(self, mailbox: Mailbox) -> None:
        message_id = mailbox.add(text="Éire 100% OPEN")
        mailbox.add(text="Closed")

        for part in ("éire", "100%", "open"):
            assert mailbox.find(text=part) == [message_id]
        assert mailbox.find(text="%open") == []

    def test_addresses_may_be_asked_for_by_their_older_name(self, mailbox: Mailbox) -> None:
        message_id = mailbox.add()

        assert mailbox.find(urns="tel:+254722000111") == [message_id]
        assert mailbox.find(urns="tel:+254722000999") == []

    @pytest.mark.parametrize("plus", ["+", "%2B"])
    def test_the_plus_of_a_zone_may_be_sent_plainly(self, mailbox: Mailbox, plus: str) -> None:
        message_id = mailbox.add()
        mailbox.clock.advance(hours=1)
        mailbox.add()

        found = mailbox.api.follow(f"{PATH}?before=2026-03-02T10:30:00{plus}02:00").json()["results"]

        assert [record["id"] for record in found] == [message_id]

    def test_a_workspace_that_hides_addresses_shows_and_finds_none(self, mailbox: Mailbox) -> None:
        mailbox.add()
        with mailbox.api.database.writing() as tx:
            tx.execute(update(workspace_table).values(is_anonymous=True))
        fresh = mailbox.api.as_role("editor")

        assert fresh.results(PATH)[0]["urn"] is None
        assert fresh.get(PATH, urn="tel:+254722000111").status_code == 400

    def test_a_message_without_channel_has_no_relayer(self, mailbox: Mailbox, workspace: Workspace) -> None:
        moment = mailbox.clock()
        times = {"created_on": moment, "modified_on": moment}
        row = {"direction": "out", "status": "failed", "attachments": [], "quick_replies": [], **times}
        with mailbox.api.database.writing() as tx:
            tx.execute(insert(message).values(workspace_id=workspace.id, contact_id=mailbox.contact_id, **row))

        assert mailbox.api.results(PATH)[0]["relayer"] is None
