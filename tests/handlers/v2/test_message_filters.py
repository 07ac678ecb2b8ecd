"""Combined filters of `/api/v2/messages.json`, and what anonymous workspaces show."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.messages import label
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import make_contact, make_messages, make_named

PATH = "/api/v2/messages.json"
MOMENT = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


@pytest.fixture
def bosco(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000222", name="Bosco")


def found(api: Api, **query: Any) -> list[int]:
    return [one["id"] for one in api.results(PATH, **query)]


def send(api: Api, messages: list[int], action: str, **more: Any) -> None:
    response = api.post("/api/v2/message_actions.json", {"messages": messages, "action": action, **more})
    assert response.status_code == 204, response.text


class TestListMessages:
    @pytest.mark.parametrize(
        "bound",
        ["2026-03-01T10:00:00.123456", "2026-03-01T10:00:00.123456Z", "2026-03-01T12:00:00.123456%2B02:00"],
    )
    def test_bounds_include_their_own_moment_whatever_its_zone(
        self, api: Api, database: Database, workspace: Workspace, amina: str, bound: str
    ) -> None:
        ids = make_messages(database, workspace, amina, created_on=MOMENT)
        bound = bound.replace("%2B", "+")

        assert found(api, before=bound) == found(api, after=bound) == found(api, before=bound, after=bound) == ids

    def test_bounds_leave_out_what_lies_a_microsecond_beyond(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        make_messages(database, workspace, amina, created_on=MOMENT)

        assert found(api, after="2026-03-01T10:00:00.123457") == found(api, before="2026-03-01T10:00:00.123455") == []

    def test_bounds_of_sent_messages_compare_their_creation(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        sent: dict[str, Any] = {"direction": "out", "status": "sent", "sent_on": MOMENT + timedelta(days=1)}
        ids = make_messages(database, workspace, amina, created_on=MOMENT, **sent)

        assert found(api, folder="sent", before="2026-03-01T11:00:00") == ids
        assert found(api, folder="sent", after="2026-03-01T11:00:00") == []

    def test_bounds_of_sent_messages_hold_also_for_what_was_sent_much_later_or_before_its_creation(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        created = {
            "old": MOMENT,
            "late": MOMENT,
            "early": MOMENT + timedelta(days=9),
            "new": MOMENT + timedelta(days=9),
        }
        sent = {"old": MOMENT, "late": MOMENT + timedelta(days=20), "early": MOMENT - timedelta(days=5)}
        sent["new"] = created["new"] + timedelta(hours=23)
        ids = {}
        for name, moment in created.items():
            values: dict[str, Any] = {"direction": "out", "status": "sent", "sent_on": sent[name]}
            (ids[name],) = make_messages(database, workspace, amina, created_on=moment, **values)
        old, late, early, new = (ids[name] for name in created)

        assert found(api, folder="sent") == [late, new, old, early]
        assert found(api, folder="sent", before="2026-03-02T00:00:00") == [late, old]
        assert found(api, folder="sent", after="2026-03-02T00:00:00") == [new, early]
        assert found(api, folder="sent", after="2026-03-10T10:00:00", before="2026-03-10T11:00:00") == [new, early]
        assert found(api, folder="sent", before="2026-02-01T00:00:00") == []

    def test_no_folder_of_outgoing_messages_has_labeled_ones(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        uuid = make_named(database, workspace, label, ["Complaint"])[0]
        labeled = make_messages(database, workspace, amina, created_on=MOMENT)
        for status in ("queued", "sent", "failed"):
            make_messages(database, workspace, amina, direction="out", status=status, sent_on=MOMENT)
        send(api, labeled, "label", label=uuid)

        assert found(api, label=uuid, folder="inbox") == labeled
        assert [found(api, label=uuid, folder=folder) for folder in ("outbox", "sent", "failed")] == [[], [], []]

    def test_a_label_is_found_by_uuid_and_by_name_of_any_case_and_combines_with_all_others(
        self, api: Api, database: Database, workspace: Workspace, amina: str, bosco: str
    ) -> None:
        uuid = make_named(database, workspace, label, ["Complaint"])[0]
        first = make_messages(database, workspace, amina, 2, created_on=MOMENT)
        second = make_messages(database, workspace, bosco, created_on=MOMENT + timedelta(hours=1))
        send(api, first + second, "label", label=uuid)
        send(api, first[:1], "archive")

        assert found(api, label=uuid) == found(api, label="COMPLAINT") == second + first[::-1]
        assert found(api, label=uuid, contact=amina) == first[::-1]
        assert found(api, label=uuid, folder="archived") == first[:1]
        assert found(api, label=uuid, folder="inbox", contact=amina) == first[1:]
        assert found(api, label=uuid, after="2026-03-01T10:30:00") == second
        assert found(api, label=uuid, before="2026-03-01T10:30:00") == first[::-1]
        assert found(api, label=uuid, id=second[0], contact=amina) == []

    def test_labeled_messages_of_one_moment_come_page_after_page(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        ids = make_messages(database, workspace, amina, 300, created_on=MOMENT)
        make_named(database, workspace, label, ["Complaint"])
        for start in range(0, 300, 100):
            send(api, ids[start : start + 100], "label", label="Complaint")

        assert [one["id"] for one in api.all_results(PATH, label="complaint")] == ids[::-1]

    def test_sent_messages_of_one_moment_come_page_after_page(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        ids = make_messages(database, workspace, amina, 600, direction="out", status="sent", sent_on=MOMENT)

        assert [one["id"] for one in api.all_results(PATH, folder="sent")] == ids[::-1]

    def test_an_outgoing_record_says_all(self, api: Api, database: Database, workspace: Workspace, amina: str) -> None:
        add_channel(database, workspace)
        reply = {"text": "Yes", "extra": "now"}

        made = api.post(PATH, {"contact": "tel:0788000111", "text": " hi ", "quick_replies": [reply]}).json()

        assert api.results(PATH) == [made]
        assert made == made | {
            "contact": {"uuid": amina, "name": "Amina"},
            "urn": "tel:+250788000111",
            "direction": "out",
            "type": "text",
            "status": "queued",
            "visibility": "visible",
            "archived": False,
            "text": "hi",
            "attachments": [],
            "media": None,
            "quick_replies": [reply],
            "labels": [],
            "flow": None,
            "broadcast": None,
            "sent_on": None,
        }

    def test_a_workspace_that_hides_addresses_shows_none(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        make_messages(database, workspace, amina, urn="tel:+250788000111")
        add_channel(database, workspace)
        with database.writing() as tx:
            tx.execute(update(workspaces).where(workspaces.c.id == workspace.id).values(is_anonymous=True))
        editor = api.as_role("editor")

        made = editor.post(PATH, {"contact": amina, "text": "hello"})

        assert (made.status_code, made.json()["status"], made.json()["urn"]) == (201, "queued", None)
        assert [one["urn"] for one in editor.results(PATH)] == [None, None]

    @pytest.mark.parametrize(("count", "status"), [(10, 201), (11, 400)])
    def test_a_message_takes_at_most_ten_files(self, api: Api, amina: str, count: int, status: int) -> None:
        file = api.upload("/api/v2/media.json", "leaf.png", b"\x89PNG\r\n\x1a\n", "image/png").json()

        response = api.post(PATH, {"contact": amina, "attachments": [file["uuid"]] * count})

        assert response.status_code == status
        assert len(api.results(PATH)) == (1 if status == 201 else 0)
