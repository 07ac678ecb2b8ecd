"""`/api/v2/messages.json` over HTTP."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from persistence.database import Database
from persistence.tables.changes import day_count
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import make_contact, make_messages

PATH = "/api/v2/messages.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


SENT: list[tuple[str, dict[str, object]]] = [
    ("sent", {"direction": "out", "status": status}) for status in ("wired", "sent", "delivered", "read")
]
FOLDERS: list[tuple[str, dict[str, object]]] = [
    ("inbox", {}),
    ("flows", {"flow_id": 7}),
    ("archived", {"visibility": "archived"}),
    ("outbox", {"direction": "out", "status": "queued"}),
    ("outbox", {"direction": "out", "status": "errored"}),
    *SENT,
    ("failed", {"direction": "out", "status": "failed"}),
]


class TestListMessages:
    def test_a_message_is_in_exactly_one_folder(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        made: dict[str, set[int]] = {}
        for folder, values in FOLDERS:
            sent_on = {"sent_on": database.clock()} if folder == "sent" else {}
            made.setdefault(folder, set()).update(make_messages(database, workspace, amina, **values, **sent_on))

        found = {name: {one["id"] for one in api.results(PATH, folder=name.upper())} for name in made}

        assert found == made

    def test_unhandled_messages_are_listed_without_a_folder(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        make_messages(database, workspace, amina, status="queued")

        assert [one["status"] for one in api.results(PATH)] == ["queued"]
        assert api.results(PATH, folder="incoming") == []

    def test_the_sent_folder_is_ordered_by_the_time_of_sending(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        earlier, later = database.clock(), database.clock()
        first = make_messages(database, workspace, amina, direction="out", status="sent", sent_on=later)
        second = make_messages(database, workspace, amina, direction="out", status="sent", sent_on=earlier)

        assert [one["id"] for one in api.results(PATH, folder="sent")] == first + second
        assert [one["id"] for one in api.results(PATH)] == second + first

    def test_filters_combine(self, api: Api, database: Database, workspace: Workspace, amina: str) -> None:
        bosco = make_contact(database, workspace, "+250788000222", name="Bosco")
        mine = make_messages(database, workspace, amina)
        make_messages(database, workspace, bosco)

        assert [one["id"] for one in api.results(PATH, contact=amina)] == mine
        assert [one["id"] for one in api.results(PATH, contact=amina, folder="inbox", id=mine[0])] == mine
        assert api.results(PATH, contact=bosco, id=mine[0]) == []

    @pytest.mark.together
    @pytest.mark.parametrize(
        "query",
        [
            {"contact": UNKNOWN},
            {"contact": "nonsense"},
            {"label": "nobody"},
            {"folder": "cellar"},
            {"broadcast": "99"},
            {"broadcast": UNKNOWN},
            {"broadcast": "9" * 128},
            {"uuid": UNKNOWN},
            {"id": 2**31 - 1},
        ],
    )
    def test_an_unknown_reference_gives_an_empty_list(
        self, api: Api, database: Database, workspace: Workspace, amina: str, query: dict[str, str]
    ) -> None:
        make_messages(database, workspace, amina)

        assert api.results(PATH, **query) == []

    def test_a_page_of_a_folder_or_a_contact_takes_as_many_statements_for_40_messages_as_for_1(
        self, api: Api, database: Database, workspace: Workspace, amina: str, statements: list[str]
    ) -> None:
        def read() -> list[tuple[int, int]]:
            found = []
            for query in ({"folder": "inbox"}, {"contact": amina}):
                api.get(PATH, **query)
                statements.clear()
                found.append((len(api.results(PATH, **query)), len(statements)))
            return found

        make_messages(database, workspace, amina)
        for_one = read()
        make_messages(database, workspace, amina, 39)

        assert read() == [(40 * shown, taken) for shown, taken in for_one]


class TestCreateMessage:
    def test_a_message_to_a_reachable_contact_is_queued(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        add_channel(database, workspace)

        response = api.post(PATH, {"contact": amina, "text": "hello", "quick_replies": [{"text": "Yes"}]})

        record = response.json()
        assert response.status_code == 201
        assert (record["status"], record["direction"], record["urn"]) == ("queued", "out", "tel:+250788000111")
        assert record["quick_replies"][0]["text"] == "Yes"
        assert api.results(PATH, folder="outbox") == [record]

    def test_it_names_who_wrote_it_and_who_sent_it_again_by_their_uuid(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        (writer,) = (each["uuid"] for each in api.results("/api/v2/users.json") if each["role"] == "administrator")
        limited = api.limited_to("messages", "contacts", role="agent")

        failed = limited.post(PATH, {"contact": amina, "text": "no channel yet"}).json()
        again = api.post("/api/v2/message_actions.json", {"messages": [failed["id"]], "action": "resend"})

        (agent,) = (each["uuid"] for each in api.results("/api/v2/users.json") if each["role"] == "agent")
        (came,) = make_messages(database, workspace, amina)
        assert (failed["status"], again.status_code) == ("failed", 204)
        assert {each["id"]: each["author"] for each in api.results(PATH)} == {
            failed["id"]: agent,
            failed["id"] + 1: writer,
            came: None,
        }

    @pytest.mark.together
    @pytest.mark.parametrize(("text", "segments"), [("a" * 160, 1), ("a" * 161, 2), ("€" * 81, 2), ("ж" * 71, 2)])
    def test_it_tells_how_many_sms_the_text_takes(
        self, api: Api, database: Database, workspace: Workspace, amina: str, text: str, segments: int
    ) -> None:
        add_channel(database, workspace)

        assert api.post(PATH, {"contact": amina, "text": text}).json()["segments"] == segments

    def test_the_urls_of_files_count_as_they_follow_the_text(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        add_channel(database, workspace)
        file = api.upload("/api/v2/media.json", "leaf.png", b"\x89PNG\r\n\x1a\n", "image/png").json()

        record = api.post(PATH, {"contact": amina, "text": "a" * 150, "attachments": [file["uuid"]]}).json()

        assert record["segments"] == 2

    def test_a_message_that_is_no_sms_has_no_segments(self, api: Api, database: Database, workspace: Workspace) -> None:
        add_channel(database, workspace, schemes=["telegram"])
        contact = api.post("/api/v2/contacts.json", {"urns": ["telegram:123456"]}).json()["uuid"]

        record = api.post(PATH, {"contact": contact, "text": "hello"}).json()

        assert (record["urn"], record["segments"]) == ("telegram:123456", None)

    def test_a_message_that_nothing_can_carry_is_failed_without_address(self, api: Api, amina: str) -> None:
        response = api.post(PATH, {"contact": amina, "text": "hello"})

        record = response.json()
        assert response.status_code == 201
        assert (record["status"], record["urn"], record["channel"]) == ("failed", None, None)

    def test_a_message_to_a_blocked_contact_is_failed(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        add_channel(database, workspace)
        api.post("/api/v2/contact_actions.json", {"contacts": [amina], "action": "block"})

        assert api.post(PATH, {"contact": amina, "text": "hello"}).json()["status"] == "failed"

    def test_what_is_unknown_of_a_quick_reply_is_ignored(self, api: Api, amina: str) -> None:
        replies = [{"text": "OK", "extra": "", "type": "url"}, {"text": "Why", "extra": "Tell me", "more": [1]}]

        record = api.post(PATH, {"contact": amina, "text": "Hi", "quick_replies": replies}).json()

        assert record["quick_replies"] == [{"text": "OK"}, {"text": "Why", "extra": "Tell me"}]

    def test_an_uploaded_file_is_attached_by_its_uuid(self, api: Api, amina: str) -> None:
        file = api.upload("/api/v2/media.json", "leaf.png", b"\x89PNG\r\n\x1a\n", "image/png").json()

        record = api.post(PATH, {"contact": amina, "attachments": [file["uuid"]]}).json()

        assert record["attachments"] == [{"content_type": "image/png", "url": file["url"]}]
        assert api.results(PATH) == [record]

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("contact", None),
            ("contact", UNKNOWN),
            ("contact", "nonsense"),
            ("text", "x" * 4097),
            ("text", 7),
            ("attachments", [UNKNOWN]),
            ("attachments", ["x"] * 11),
            ("quick_replies", [{"text": "x"}] * 11),
            ("quick_replies", [{"text": "x" * 65}]),
            ("quick_replies", [{"text": "x", "extra": "x" * 1001}]),
        ],
    )
    def test_bad_input_is_refused_by_field(self, api: Api, amina: str, field: str, value: object) -> None:
        response = api.post(PATH, {"contact": amina, "text": "hello"} | {field: value})

        assert (response.status_code, list(response.json())) == (400, [field])
        assert api.results(PATH) == []

    def test_the_limits_themselves_are_accepted(self, api: Api, amina: str) -> None:
        replies = [{"text": "x" * 64, "extra": "y" * 1000}] * 10

        response = api.post(PATH, {"contact": amina, "text": "x" * 4096, "quick_replies": replies})

        assert response.status_code == 201

    def test_a_message_says_something(self, api: Api, amina: str) -> None:
        response = api.post(PATH, {"contact": amina, "text": "  "})

        assert (response.status_code, list(response.json())) == (400, ["non_field_errors"])


def test_a_message_waits_for_the_time_that_somebody_chose_is_sent_at_another_or_at_once_and_taken_back(
    api: Api, database: Database, workspace: Workspace, amina: str, clock: Any
) -> None:
    add_channel(database, workspace)
    other, agent = make_contact(database, workspace, "+250788000222"), api.as_role("agent")
    begin = clock.moment

    def at(**ahead: int) -> str:
        moment: str = (begin + timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return moment

    def send(**body: Any) -> Any:
        return agent.post(PATH, {"contact": amina, **body})

    def kept() -> list[tuple[str, str | None, str | None]]:
        found = api.results(PATH, contact=amina)
        return [(each["text"], each["due_on"], each["due_reason"]) for each in reversed(found)]

    first = send(text="Come at 9", quick_replies=[{"text": "Yes"}], send_on=at(hours=1)).json()
    assert (first["status"], first["due_on"], first["due_reason"]) == ("queued", at(hours=1), "chosen")

    second = send(replaces=first["uuid"], send_on=at(hours=2)).json()
    assert kept() == [("Come at 9", at(hours=2), "chosen")]
    assert second["quick_replies"] == [{"text": "Yes"}]

    now = send(replaces=second["uuid"], text="Come now").json()
    assert kept() == [("Come now", None, None)]

    third = send(text="Good night", send_on=at(days=1)).json()
    refused = [
        send(replaces=first["uuid"]),
        send(replaces=now["uuid"]),
        send(replaces=UNKNOWN),
        agent.post(PATH, {"contact": other, "replaces": third["uuid"]}),
        send(text="Too late", send_on=at(hours=-1)),
        send(text="Too far", send_on=at(days=31)),
        agent.delete(PATH, uuid=now["uuid"]),
    ]
    assert [each.status_code for each in refused] == [400] * len(refused)
    assert kept()[1:] == [("Good night", at(days=1), "chosen")]
    assert agent.delete(PATH, uuid=third["uuid"]).status_code == 204
    assert (len(kept()), agent.delete(PATH, uuid=third["uuid"]).status_code) == (1, 404)

    with database.reading() as tx:
        number = func.sum(day_count.c.number)
        counted = dict(tx.execute(select(day_count.c.kind, number).group_by(day_count.c.kind)).tuples().all())
    assert (counted["went"], counted["wrote"], counted.get("lost", 0)) == (1, 1, 0)

    fourth = send(text="At 8", send_on=at(hours=1)).json()
    clock.advance(minutes=59, seconds=55)
    assert agent.delete(PATH, uuid=fourth["uuid"]).status_code == 400
