"""`/api/v2/broadcasts.json` over HTTP: what is accepted, refused, shown and found."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.contacts import group
from persistence.tables.messages import broadcast
from persistence.workspaces.records import Workspace
from testbed.running import wait_until
from tests.api import Api
from tests.factories import make_contact, make_field, make_named

PATH = "/api/v2/broadcasts.json"
UNKNOWN = "0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


def upload(api: Api) -> dict[str, Any]:
    file: dict[str, Any] = api.upload("/api/v2/media.json", "leaf.png", PNG, "image/png").json()
    return file


def send(api: Api, **fields: Any) -> dict[str, Any]:
    response = api.post(PATH, {"text": "Hi"} | fields)
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


class TestCreateBroadcast:
    def test_a_new_broadcast_is_pending_and_shows_what_was_asked_for(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        (reporters,) = make_named(database, workspace, group, ["Reporters"])

        record = send(api, contacts=[amina], groups=[reporters], urns=["tel:0788000222"])

        assert record == api.results(PATH)[0]
        assert (record["status"], record["progress"]) == ("pending", {"total": -1, "started": 0})
        assert record["contacts"] == [{"uuid": amina, "name": "Amina"}]
        assert record["groups"] == [{"uuid": reporters, "name": "Reporters"}]
        assert record["urns"] == ["tel:+250788000222"]

    def test_workers_are_woken(self, api: Api, amina: str, woken: list[str]) -> None:
        send(api, contacts=[amina])

        assert woken == ["broadcasts"]

    def test_plain_values_count_as_the_first_language_of_the_workspace(self, api: Api, amina: str) -> None:
        file = upload(api)

        record = send(api, contacts=[amina], attachments=[file["uuid"]], quick_replies=[{"text": "OK"}])

        assert (record["text"], record["base_language"]) == ({"eng": "Hi"}, "eng")
        assert record["attachments"] == {"eng": [file["uuid"]]}
        assert record["quick_replies"] == {"eng": [{"text": "OK"}]}

    def test_the_first_language_of_the_text_is_the_base(self, api: Api, amina: str) -> None:
        record = send(api, text={"kin": "Muraho", "eng": "Hi"}, contacts=[amina])

        assert record["base_language"] == "kin"
        assert record["attachments"] == {"kin": [], "eng": []}
        assert record["quick_replies"] == {"kin": [], "eng": []}

    def test_the_base_may_be_another_language_of_the_text(self, api: Api, amina: str) -> None:
        text = {"kin": "Muraho", "eng": "Hi"}

        assert send(api, text=text, contacts=[amina], base_language="ENG")["base_language"] == "eng"

    def test_extra_of_a_quick_reply_is_shown_only_when_given(self, api: Api, amina: str) -> None:
        replies = {"eng": [{"text": "OK"}, {"text": "Why", "extra": "Tell me"}]}

        assert send(api, text={"eng": "Hi"}, contacts=[amina], quick_replies=replies)["quick_replies"] == replies

    def test_what_is_unknown_of_a_quick_reply_is_ignored(self, api: Api, amina: str) -> None:
        replies = {"eng": [{"text": "OK", "extra": "", "type": "url", "more": {"of": ["it"]}}]}

        shown = send(api, text={"eng": "Hi"}, contacts=[amina], quick_replies=replies)["quick_replies"]

        assert shown == {"eng": [{"text": "OK"}]}

    @pytest.mark.together
    @pytest.mark.parametrize("form", ["{uuid}", "{UUID}", "image/png:{url}", "image:{url}", "image/png:{url}?size=1"])
    def test_files_are_named_by_uuid_or_by_type_and_address_and_shown_by_uuid(
        self, api: Api, amina: str, form: str
    ) -> None:
        file = upload(api)
        reference = form.format(uuid=file["uuid"], UUID=file["uuid"].upper(), url=file["url"])

        record = send(api, text={"eng": "Hi"}, contacts=[amina], attachments={"eng": [reference, file["uuid"]]})

        assert record["attachments"] == {"eng": [file["uuid"], file["uuid"]]}

    def test_files_of_another_workspace_are_unknown(self, api: Api, other_api: Api, amina: str) -> None:
        theirs = upload(other_api)

        for reference in (theirs["uuid"], f"image/png:{theirs['url']}"):
            response = api.post(PATH, {"text": "Hi", "contacts": [amina], "attachments": [reference]})

            assert response.status_code == 400
            assert list(response.json()["attachments"]) == ["0"]

    def test_groups_are_found_by_name_in_any_case(self, api: Api, database: Database, workspace: Workspace) -> None:
        (uuid,) = make_named(database, workspace, group, ["Reporters"])

        assert send(api, groups=["REPORTERS"])["groups"] == [{"uuid": uuid, "name": "Reporters"}]

    def test_contacts_are_found_by_urn(self, api: Api, amina: str) -> None:
        assert send(api, contacts=["tel:+250788000111"])["contacts"] == [{"uuid": amina, "name": "Amina"}]

    def test_addresses_that_nobody_has_make_contacts(self, api: Api) -> None:
        send(api, urns=["tel:+250788000333"])

        assert [one["urns"] for one in api.results("/api/v2/contacts.json")] == [["tel:+250788000333"]]

    def test_a_time_with_an_offset_is_that_moment(self, api: Api, database: Database, amina: str) -> None:
        send(api, contacts=[amina], scheduled_on="2026-03-02T12:30:00+02:00")
        past = {"text": "Hi", "contacts": [amina], "scheduled_on": "2026-03-02T09:30:00+02:00"}

        assert list(api.post(PATH, past).json()) == ["scheduled_on"]
        with database.reading() as tx:
            assert tx.execute(select(broadcast.c.scheduled_on)).scalars().all() == [
                datetime(2026, 3, 2, 10, 30, tzinfo=UTC)
            ]

    def test_a_query_may_name_a_field_that_agents_do_not_see(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        key = make_field(database, workspace, "Test", access="none")

        send(api, query=f"{key} = positive")

    def test_a_refused_broadcast_makes_no_contacts(self, api: Api) -> None:
        response = api.post(PATH, {"text": "Hi", "urns": ["tel:+250788000333"], "contacts": [UNKNOWN]})

        assert response.status_code == 400
        assert api.results("/api/v2/contacts.json") == []

    def test_an_anonymous_workspace_shows_no_address(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        send(api, contacts=[amina], urns=["tel:+250788000222"])
        with database.writing() as tx:
            tx.execute(workspaces.update().where(workspaces.c.id == workspace.id).values(is_anonymous=True))

        # Data of a token and its workspace is cached for a second.
        wait_until(lambda: api.results(PATH)[0]["urns"] == [], "hidden addresses")


class TestListBroadcasts:
    def test_id_uuid_and_times_find_broadcasts_together(self, api: Api, amina: str) -> None:
        first, second, third = (send(api, text=str(number), contacts=[amina]) for number in range(3))

        def find(**query: Any) -> list[int]:
            return [one["id"] for one in api.results(PATH, **query)]

        assert find(id=second["id"]) == find(uuid=second["uuid"]) == [second["id"]]
        assert find(id=second["id"], uuid=first["uuid"]) == []
        assert find(before=second["created_on"]) == [second["id"], first["id"]]
        assert find(after=second["created_on"]) == [third["id"], second["id"]]
        assert find(id=99_999) == find(uuid=UNKNOWN) == []
