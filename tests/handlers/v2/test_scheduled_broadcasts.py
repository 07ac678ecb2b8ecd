"""Where broadcasts with a time are listed: those that wait for it apart, those that began where they begin."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from persistence.broadcasts.expansion import expand_next
from persistence.broadcasts.schedules import begin_next
from persistence.database import Database
from persistence.sql.columns import time_text
from persistence.tables.messages import broadcast
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.conftest import Clock
from tests.factories import make_contact

PATH, V1_PATH = "/api/v2/broadcasts.json", "/api/v1/broadcasts.json"
MESSAGES = "/api/v2/messages.json"
ACTIONS = "/api/v2/broadcast_actions.json"
PROGRESS = "/api/v2/broadcast_progress.json"
HOUR = timedelta(hours=1)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    add_channel(database, workspace)
    return make_contact(database, workspace, "+250788000111", name="Amina")


def send(api: Api, contact: str, text: str, when: datetime | None = None, **headers: str) -> dict[str, Any]:
    body = {"text": text, "contacts": [contact], "scheduled_on": None if when is None else time_text(when)}
    answer = api.post(PATH, body, headers=headers or None)
    assert answer.status_code == 201, answer.text
    record: dict[str, Any] = answer.json()
    return record


def work(database: Database, workspace: Workspace) -> None:
    """What a worker does about the broadcasts of a workspace."""
    while database.write(lambda tx: begin_next(tx, workspace.id)):
        pass
    while database.write(lambda tx: expand_next(tx, workspace.id)):
        pass


def listed(api: Api, path: str = PATH, **query: Any) -> list[str]:
    return [
        each["text"] if isinstance(each["text"], str) else each["text"]["eng"] for each in api.results(path, **query)
    ]


def test_what_waits_for_its_time_is_in_no_list_of_either_generation(
    api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
) -> None:
    send(api, amina, "now")
    send(api, amina, "later", clock.moment + HOUR)
    day = time_text(clock.moment - 24 * HOUR)
    work(database, workspace)

    for query in ({}, {"after": day}, {"modified_after": day}, {"scheduled": "false"}):
        assert listed(api, **query) == ["now"], query
    for query in ({}, {"after": day}, {"status": "I"}, {"status": ["I", "Q", "S", "D", "F"]}):
        assert listed(api, V1_PATH, **query) == ([] if query.get("status") == "I" else ["now"]), query
    assert api.get(V1_PATH).json()["count"] == 1


def test_what_waits_or_was_stopped_before_its_time_is_listed_when_it_is_asked_for(
    api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
) -> None:
    send(api, amina, "now")
    for number in (1, 2):
        clock.advance(minutes=1)
        last = send(api, amina, f"later {number}", clock.moment + number * HOUR)
    clock.advance(minutes=1)
    assert api.post(ACTIONS, {"broadcasts": [last["uuid"]], "action": "stop"}).status_code == 204
    clock.advance(hours=5)

    assert listed(api, scheduled="true") == ["later 2", "later 1"]
    work(database, workspace)

    (stopped,) = api.results(PATH, scheduled="true")
    assert (stopped["uuid"], stopped["status"]) == (last["uuid"], "interrupted")
    assert stopped["scheduled_on"] == last["scheduled_on"]
    assert listed(api) == listed(api, V1_PATH) == ["later 1", "now"]


def test_who_names_it_finds_it_while_it_waits(api: Api, amina: str, clock: Clock) -> None:
    when = clock.moment + HOUR
    waiting = send(api, amina, "later", when)
    assert waiting["scheduled_on"] == time_text(when)

    for query in ({"uuid": waiting["uuid"]}, {"id": waiting["id"]}):
        assert api.results(PATH, **query) == [waiting]
        assert api.results(PATH, scheduled="true", **query) == [waiting]
    assert listed(api, V1_PATH, id=waiting["id"]) == ["later"]
    assert api.get(PROGRESS, uuid=waiting["uuid"]).json()["status"] == "pending"
    assert api.results(MESSAGES, broadcast=waiting["id"]) == []


def test_it_is_created_when_it_begins_so_who_asks_for_what_is_new_finds_it(
    api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
) -> None:
    early = send(api, amina, "later", clock.moment + HOUR)
    clock.advance(minutes=10)
    send(api, amina, "now")
    work(database, workspace)
    newest = api.results(PATH)[0]["created_on"]
    clock.advance(hours=1)
    began = time_text(clock.moment)
    work(database, workspace)

    assert listed(api) == listed(api, V1_PATH) == ["later", "now"]
    assert listed(api, after=newest) == ["later", "now"]
    assert listed(api, V1_PATH, after=began) == ["later"]
    assert listed(api, modified_after=began) == ["later"]
    (begun,) = api.results(PATH, uuid=early["uuid"])
    assert (begun["id"], begun["status"]) == (early["id"], "completed")
    assert begun["scheduled_on"] <= began <= begun["created_on"]
    (message,) = api.results(MESSAGES, broadcast=early["uuid"])
    assert begun["created_on"] <= message["created_on"]


def test_pages_of_a_list_in_between_neither_repeat_nor_leave_out_others(
    api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock, make_client: Callable[..., Any]
) -> None:
    names: list[str] = []
    for number in range(5):
        clock.advance(minutes=1)
        send(api, amina, f"now {number}")
        send(api, amina, f"later {number}", clock.moment + HOUR)
        names.insert(0, f"now {number}")
    work(database, workspace)
    with make_client(page_size=2) as client:
        few = Api(client, database, workspace, api.token)
        page = few.get(PATH).json()
        clock.advance(hours=2)
        work(database, workspace)
        seen = [each["text"]["eng"] for each in page["results"]]
        while page["next"]:
            page = few.follow(page["next"]).json()
            seen += [each["text"]["eng"] for each in page["results"]]

    assert seen == names
    assert listed(api)[:5] == ["later 4", "later 3", "later 2", "later 1", "later 0"]


def test_a_repeated_request_gets_the_first_answer_after_it_began_too(
    api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
) -> None:
    when, key = clock.moment + HOUR, {"Idempotency-Key": "one"}
    first = send(api, amina, "later", when, **key)
    clock.advance(hours=2)
    work(database, workspace)

    assert send(api, amina, "later", when, **key) == first
    assert listed(api) == ["later"]


def test_stopping_what_waits_while_its_time_comes_leaves_it_stopped(
    api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
) -> None:
    waiting = send(api, amina, "later", clock.moment + HOUR)
    clock.advance(hours=1)
    began = time_text(clock.moment)
    database.write(lambda tx: begin_next(tx, workspace.id))
    assert api.post(ACTIONS, {"broadcasts": [waiting["uuid"]], "action": "stop"}).status_code == 204
    work(database, workspace)

    (stopped,) = api.results(PATH)
    assert stopped["status"] == "interrupted" and stopped["created_on"] >= began
    assert api.results(MESSAGES, broadcast=stopped["uuid"]) == []


def test_those_of_another_workspace_wait_for_nobody_else(
    api: Api, other_api: Api, database: Database, workspace: Workspace, amina: str, clock: Clock
) -> None:
    waiting = send(api, amina, "later", clock.moment + HOUR)
    clock.advance(hours=2)
    database.write(lambda tx: begin_next(tx, other_api.workspace.id))

    assert other_api.results(PATH, scheduled="true") == other_api.results(PATH, uuid=waiting["uuid"]) == []
    assert listed(api, scheduled="true") == ["later"]
    with database.reading() as tx:
        assert tx.execute(broadcast.select()).one().status == "pending"
