"""`/api/v1/broadcasts.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.broadcasts.expansion import expand_next, list_broadcasting_workspaces
from persistence.database import Database
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.contacts import group
from persistence.tables.messages import broadcast, message
from persistence.workspaces.records import Workspace
from testbed.running import wait_until
from tests.api import Api
from tests.channel_rows import add_channel, change_channel
from tests.factories import make_contact, make_named

PATH = "/api/v1/broadcasts.json"
AMINA = "tel:+250788000111"
UNKNOWN = "0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


def send(api: Api, **fields: Any) -> dict[str, Any]:
    response = api.post(PATH, {"text": "Hi"} | fields)
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


def expand(database: Database) -> None:
    with database.writing() as tx:
        for workspace_id in list_broadcasting_workspaces(tx):
            while expand_next(tx, workspace_id):
                pass


def report(database: Database, *statuses: str) -> None:
    """What became of all messages, in their order."""
    with database.writing() as tx:
        ids = tx.execute(message.select().with_only_columns(message.c.id).order_by(message.c.id)).scalars().all()
        for one, status in zip(ids, statuses, strict=True):
            tx.execute(update(message).where(message.c.id == one).values(status=status))


class TestCreateBroadcast:
    def test_the_record_is_flat_and_just_made(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        (reporters,) = make_named(database, workspace, group, ["Reporters"])

        record = send(api, urns=["tel:0788000222"], contacts=[amina], groups=[reporters])

        assert record.pop("created_on") is not None
        assert record.pop("id") > 0
        expected = {"urns": ["tel:+250788000222"], "contacts": [amina], "groups": [reporters]}
        assert record == expected | {"text": "Hi", "status": "I"}

    def test_single_values_may_stand_without_a_list(self, api: Api, amina: str) -> None:
        record = send(api, urns="tel:+250788000222", contacts=amina)

        assert (record["urns"], record["contacts"]) == (["tel:+250788000222"], [amina])

    def test_each_recipient_gets_one_message(self, api: Api, database: Database, amina: str) -> None:
        record = send(api, urns=[AMINA, "tel:+250788000222"], contacts=[amina])

        expand(database)

        found = api.results("/api/v1/messages.json", broadcast=record["id"])
        assert [one["text"] for one in found] == ["Hi", "Hi"]

    def test_a_chosen_channel_carries_it_and_leaves_out_whom_it_cannot_reach(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        phone, other = add_channel(database, workspace), add_channel(database, workspace, address="+254733555020")
        unreachable = make_contact(database, workspace, name="Bosco")

        chosen, free = (
            send(api, contacts=[amina, unreachable], **choice) for choice in ({"channel": phone}, {"channel": None})
        )
        expand(database)

        def carriers(record: dict[str, Any]) -> list[int | None]:
            return [one["relayer"] for one in api.results("/api/v1/messages.json", broadcast=record["id"])]

        assert carriers(chosen) == [phone]
        assert sorted(carriers(free), key=str) == [other, None]
        progress = api.results("/api/v2/broadcasts.json", id=chosen["id"])[0]["progress"]
        assert progress == {"total": 1, "started": 1}

    def test_the_longest_text_is_taken(self, api: Api, amina: str) -> None:
        assert send(api, text="x" * 480, contacts=[amina])["text"] == "x" * 480

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("change", "key"),
        [
            ({"text": None}, "text"),
            ({"text": " "}, "text"),
            ({"text": "x" * 481}, "text"),
            ({"text": {"eng": "Hi"}}, "text"),
            ({"contacts": []}, "non_field_errors"),
            ({"contacts": [UNKNOWN]}, "contacts"),
            ({"contacts": [7]}, "contacts"),
            ({"groups": [UNKNOWN]}, "groups"),
            ({"groups": [UNKNOWN] * 101}, "groups"),
            ({"urns": ["tel:x"]}, "urns"),
            ({"urns": "tel:x"}, "urns"),
            ({"channel": 99_999}, "channel"),
            ({"channel": "phone"}, "channel"),
        ],
    )
    def test_bad_input_is_refused_by_field(self, api: Api, amina: str, change: dict[str, Any], key: str) -> None:
        response = api.post(PATH, {"text": "Hi", "contacts": [amina]} | change)

        assert (response.status_code, list(response.json())) == (400, [key])
        assert api.results(PATH) == []

    def test_channels_that_were_released_or_are_anothers_are_refused(
        self, api: Api, database: Database, workspace: Workspace, other_workspace: Workspace, amina: str
    ) -> None:
        released, theirs = add_channel(database, workspace), add_channel(database, other_workspace)
        change_channel(database, released, is_active=False)

        for channel in (released, theirs):
            response = api.post(PATH, {"text": "Hi", "contacts": [amina], "channel": channel})
            assert (response.status_code, list(response.json())) == (400, ["channel"])


class TestListBroadcasts:
    def test_ids_and_times_find_broadcasts(self, api: Api, amina: str) -> None:
        first, second, third = (send(api, text=str(number), contacts=[amina]) for number in range(3))

        def find(**query: Any) -> list[str]:
            return [one["text"] for one in api.results(PATH, **query)]

        assert find(id=f"{first['id']},{third['id']}") == ["2", "0"]
        assert find(before=second["created_on"]) == ["1", "0"]
        assert find(after=second["created_on"], id=first["id"]) == []

    @pytest.mark.parametrize(
        ("word", "letter"),
        [
            ("pending", "I"),
            ("queued", "Q"),
            ("started", "Q"),
            ("failed", "F"),
            ("interrupted", "F"),
            ("completed", "S"),
        ],
    )
    def test_states_are_letters_and_can_be_asked_for(
        self, api: Api, database: Database, amina: str, word: str, letter: str
    ) -> None:
        send(api, contacts=[amina])
        with database.writing() as tx:
            tx.execute(update(broadcast).values(status=word))

        assert [one["status"] for one in api.results(PATH, status=letter.lower())] == [letter]
        others = [other for other in "IQSDEF" if other != letter]
        assert api.results(PATH, status=others) == []

    def test_it_is_delivered_once_all_its_messages_are(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        add_channel(database, workspace)
        send(api, contacts=[amina], urns=["tel:+250788000222"])
        expand(database)
        seen = []
        for statuses in (("delivered", "sent"), ("failed", "read"), ("delivered", "read")):
            report(database, *statuses)
            seen.append(api.results(PATH)[0]["status"])

        assert seen == ["S", "S", "D"]
        assert len(api.results(PATH, status="D")) == 1

    def test_letters_that_do_not_exist_are_refused(self, api: Api) -> None:
        assert api.get(PATH, status="X").status_code == 400

    def test_an_anonymous_workspace_shows_no_address(self, api: Api, database: Database) -> None:
        send(api, urns=[AMINA])
        with database.writing() as tx:
            tx.execute(update(workspace_table).values(is_anonymous=True))

        # Data of a token and its workspace is cached for a second.
        wait_until(lambda: api.results(PATH)[0]["urns"] == [], "hidden addresses")
