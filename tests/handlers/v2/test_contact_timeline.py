"""`/api/v2/contact_timeline.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import event

from persistence.database import Database
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.contract.filled_workspace import fill_workspace
from tests.factories import make_contact, make_messages

PATH = "/api/v2/contact_timeline.json"
NOTES = "/api/v2/contact_notes.json"


def test_everything_comes_in_one_list_newest_first(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    amina, bosco = make_contact(database, workspace), make_contact(database, workspace)
    for text in ("first", "second"):
        clock.advance(seconds=1)
        make_messages(database, workspace, amina, text=text)
        make_messages(database, workspace, bosco, text="of somebody else")
    clock.advance(seconds=1)
    api.post(NOTES, {"contact": amina, "text": "Called back."})

    found = api.results(PATH, contact=amina)

    assert [each["type"] for each in found] == ["note", "message", "message", "created"]
    assert [each["message"]["text"] for each in found[1:3]] == ["second", "first"]
    assert [each["time"] for each in found] == sorted((each["time"] for each in found), reverse=True)
    within = api.results(PATH, contact=amina, before=found[1]["time"], after=found[2]["time"])
    assert within == found[1:3]


def test_each_kind_is_there_and_pages_neither_lose_nor_repeat(
    api: Api, database: Database, workspace: Workspace, make_client: Any
) -> None:
    filled = fill_workspace(database, workspace, 1, now=database.clock())
    uuid = str(filled.first("contact").uuid)

    whole = api.results(PATH, contact=uuid)

    assert {each["type"] for each in whole} >= {
        *("message", "channel_event", "run_started", "ticket_event", "note", "created")
    }
    with make_client(page_size=2) as client:
        paged = Api(client, api.database, api.workspace, api.token)
        assert paged.all_results(PATH, contact=uuid) == whole


def test_a_message_that_failed_says_why(api: Api, database: Database, workspace: Workspace) -> None:
    amina = make_contact(database, workspace)
    api.post("/api/v2/messages.json", {"contact": amina, "text": "No channel reaches her."})

    said, created = api.results(PATH, contact=amina)

    assert (said["message"]["status"], said["failed_reason"]) == ("failed", "no_route")
    assert "failed_reason" not in created


@pytest.mark.parametrize("uuid", ["00000000-0000-4000-8000-000000000000"])
def test_an_unknown_contact_has_no_timeline(api: Api, uuid: str) -> None:
    assert api.get(PATH, contact=uuid).status_code == 404
    assert api.get(PATH, contact=uuid, cursor="nonsense").status_code == 404
    assert api.get(PATH).status_code == 400


def test_a_thread_is_read_by_its_contact_however_many_messages_there_are(
    api: Api, database: Database, workspace: Workspace
) -> None:
    """SQLite has no statistics; without help it may read all messages of the workspace, newest first."""
    amina = make_contact(database, workspace)
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
        seen.append((statement, values))

    event.listen(database.engine, "before_cursor_execute", note)
    api.results(PATH, contact=amina)
    event.remove(database.engine, "before_cursor_execute", note)

    if database.engine.dialect.name == "sqlite":
        with database.engine.connect() as connection:
            plans = [
                str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values).all()) for text, values in seen
            ]
        read = [plan for plan in plans if "SEARCH message " in plan]
        assert read
        assert all("ix_message_contact" in plan for plan in read)
    else:
        assert not any("+message" in text for text, _ in seen)
