"""A conversation from start to end: messages, answers, results, runs (flow format, around the engine)."""

import json
import re
import shutil
import zipfile
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import update

from persistence.archives.archives import read_lines
from persistence.contacts.records import CONTACTS
from persistence.data_jobs import Performer, take_next
from persistence.data_requests.requests import COPY, create_request
from persistence.database import Database
from persistence.lists import ListQuery, read_list
from persistence.media.store import MediaStore, open_store
from persistence.relayers.relayers import release_channels
from persistence.resthooks import create_subscriber, ensure_resthook
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.flows import flow, flow_run, flow_session, flow_start
from persistence.tables.messages import message
from persistence.workspace_files.reading import read_workspace
from persistence.workspace_files.writing import write_workspace
from persistence.workspaces.records import find_workspace_by_uuid
from relayboard.base.settings import Settings
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from testbed.tokens import KEYS
from tests.api import Api
from tests.channel_rows import add_channel
from tests.worker.flows.conftest import Stage
from tests.worker.receivers import receiving
from worker.jobs import begin_archiving
from worker.webhooks.dispatcher import begin_webhooks

AMINA, BEN = "+254722000111", "+254722000222"
SURVEY = definition(
    "Survey",
    [
        node("hello", [say("Hi @contact.first_name!")], to="color"),
        ask("color", {"red": "bye", "blue": "bye"}, "hello", result="Color", actions=[say("Red or blue?")]),
        node("bye", [say("You said @results.color")]),
    ],
)


def test_a_start_sends_the_first_messages_and_waits(stage: Stage) -> None:
    uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina, ben = stage.add_contact(AMINA, "Amina Wanjiru"), stage.add_contact(BEN, "Ben")

    start_id = stage.start(uuid, amina, ben)
    stage.work()

    assert stage.sent_to(amina) == ["Hi Amina!", "Red or blue?"]
    assert stage.sent_to(ben) == ["Hi Ben!", "Red or blue?"]
    (start,) = stage.rows(flow_start)
    assert (start.id, start.status, start.total, start.started) == (start_id, "completed", 2, 2)
    assert [run.status for run in stage.rows(flow_run)] == ["waiting", "waiting"]
    assert [row.status for row in stage.rows(flow_session)] == ["waiting", "waiting"]
    (known,) = stage.rows(flow)
    assert [row.current_flow_id for row in stage.rows(contact)] == [known.id, known.id]
    assert known.active_run_count == 2


def test_an_answer_resumes_the_flow_to_its_end(stage: Stage) -> None:
    uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(uuid, amina)
    stage.work()

    received_id = stage.receive(AMINA, "Blue, please")
    stage.work()

    assert stage.sent_to(amina)[2:] == ["You said Blue"]
    (run,) = stage.rows(flow_run)
    assert (run.status, run.responded, run.results["color"]["category"]) == ("completed", True, "blue")
    assert [step["node"] for step in run.path] == [uuid_of("hello"), uuid_of("color"), uuid_of("bye")]
    (known,) = stage.rows(flow)
    assert (known.active_run_count, known.completed_run_count) == (0, 1)
    (received,) = stage.rows(message, message.c.id == received_id)
    assert (received.status, received.flow_id, received.folder) == ("handled", known.id, "flows")
    (person,) = stage.rows(contact)
    assert (person.current_flow_id, person.handling_until) == (None, None)


def test_a_conversation_goes_on_by_another_phone_when_its_own_is_released(stage: Stage) -> None:
    uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(uuid, amina)
    stage.work()
    first, stage.channel_id = stage.channel_id, add_channel(stage.database, stage.workspace, address="+254733555011")
    with stage.database.writing() as tx:
        release_channels(tx, stage.workspace.id, channel.c.id == first)
    assert [run.status for run in stage.rows(flow_run)] == ["waiting"]

    stage.receive(AMINA, "Blue, please")
    stage.work()

    last = stage.rows(message, message.c.contact_id == amina)[-1]
    assert (last.text, last.channel_id, last.status) == ("You said Blue", stage.channel_id, "sent")


def test_a_message_that_no_flow_wants_goes_to_the_inbox(stage: Stage) -> None:
    received_id = stage.receive(AMINA, "Is anybody there?")

    stage.work()

    (received,) = stage.rows(message, message.c.id == received_id)
    assert (received.status, received.flow_id, received.folder) == ("handled", None, "inbox")


def test_several_messages_of_a_contact_are_answered_one_at_a_time_and_in_order(stage: Stage) -> None:
    uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(uuid, amina)
    stage.work()

    for text in ("green", "yellow", "red", "thanks"):
        stage.receive(AMINA, text)
    stage.work()

    question = ["Hi Amina!", "Red or blue?"]
    assert stage.sent_to(amina) == [*question, *question, *question, "You said red"]
    assert [row.folder for row in stage.rows(message, message.c.direction == "in")] == ["flows"] * 3 + ["inbox"]


def test_generation_1_lists_the_answers_of_all_visits_oldest_first(stage: Stage, api: Api) -> None:
    loop = definition("Loop", [ask("again", {"stop": None}, "again", result="Word", actions=[say("A word?")])])
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, loop), amina)
    stage.work()

    for text in ("one", "one", "two", "stop"):
        stage.receive(AMINA, text)
        stage.work()

    (run,) = api.results("/api/v1/runs.json")
    assert [(value["label"], value["text"]) for value in run["values"]] == [
        ("Word", "one"),
        ("Word", "one"),
        ("Word", "two"),
        ("Word", "stop"),
    ]
    assert [step["text"] for step in run["steps"]] == ["one", "one", "two", "stop"]
    assert run["values"] == sorted(run["values"], key=lambda value: value["time"])
    (newer,) = api.results("/api/v2/runs.json")
    assert newer["values"]["word"]["input"] == "stop"


DAYS = {"born": "1899-06-15", "first": "0001-01-03", "last": "9999-12-31"}
MONROVIA = "Africa/Monrovia"  # UTC-00:44:30 in 1899
RFC_3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")


@pytest.mark.own_session
def test_a_date_is_the_same_moment_at_every_door(
    stage: Stage, api: Api, settings: Settings, sqlite_template: Path, tmp_path: Path
) -> None:
    store = open_store(settings)
    with stage.database.writing() as tx:
        tx.execute(update(workspaces).values(timezone=MONROVIA))
    for name in DAYS:
        api.post("/api/v2/fields.json", {"name": name, "type": "datetime"})
    made = api.post("/api/v2/contacts.json", {"urns": [f"tel:{AMINA}"], "fields": DAYS}).json()
    amina = stage.rows(contact)[0].id
    texts = {name: f"@fields.{name}" for name in DAYS}
    with receiving() as receiver:
        call = {"type": "call_webhook", "method": "POST", "url": receiver.url, "body": json.dumps(texts)}
        results = [{"type": "set_run_result", "name": name, "value": text} for name, text in texts.items()]
        resthook = {"type": "call_resthook", "resthook": "registration"}
        deeds = [each | {"uuid": uuid_of(f"deed {n}")} for n, each in enumerate([call, *results, resthook])]
        with stage.database.writing() as tx:
            ensure_resthook(tx, stage.workspace.id, "registration")
            allowed = settings.webhook_allowed_networks
            create_subscriber(tx, stage.workspace.id, "registration", receiver.url, allowed_networks=allowed)
        stage.start(store_flow(stage.database, stage.workspace, definition("Survey", [node("all", deeds)])), amina)
        stage.work()
        deliver = begin_webhooks(stage.runtime)
        while len(receiver.received) < 2:
            deliver()
    called, subscribed = (json.loads(each.body) for each in receiver.received)
    told = {"create": made["fields"], "webhook": called, "resthook": values_in(subscribed["results"])}
    told |= {kind: api.results(f"/api/{kind}/contacts.json")[0]["fields"] for kind in ("v1", "v2")}
    told["runs"] = values_in(api.results("/api/v2/runs.json")[0]["values"])

    told |= tell_copy(stage, store, amina)
    told["workspace file"] = tell_file(stage, store, tmp_path / "w.zip", sqlite_template)
    told["archive"] = tell_archive(stage, store)

    zone = ZoneInfo(MONROVIA)
    moments = {name: datetime.combine(date.fromisoformat(day), time(), zone) for name, day in DAYS.items()}
    for door, values in told.items():
        assert all(RFC_3339.fullmatch(text) for text in values.values()), (door, values)
        assert {name: datetime.fromisoformat(text) for name, text in values.items()} == moments, door
        changed = api.post("/api/v2/contacts.json", {"fields": values}, uuid=made["uuid"]).json()
        assert changed["fields"] == made["fields"], door


def values_in(results: dict[str, Any]) -> dict[str, str]:
    return {name: result["value"] for name, result in results.items()}


def tell_copy(stage: Stage, store: MediaStore, contact_id: int) -> dict[str, dict[str, str]]:
    """What a person gets who asks for a copy."""
    with stage.database.writing() as tx:
        create_request(tx, stage.workspace, COPY, contact_id, None, "ann@example.org")
    held = stage.database.write(lambda tx: take_next(tx, stage.workspace.id))
    assert held is not None
    Performer(stage.database, store).perform(held)
    (place,) = store.list_names()
    copied = store.open(place)
    assert copied is not None
    with copied.stream, zipfile.ZipFile(copied.stream) as packed:
        person, run = (json.loads(packed.read(f"{name}.jsonl")) for name in ("contact", "runs"))
    return {"copy": person["fields"], "runs of the copy": values_in(run["values"])}


def tell_file(stage: Stage, store: MediaStore, path: Path, template: Path) -> dict[str, str]:
    """What a workspace holds that was read from a file."""
    write_workspace(stage.database, KEYS, store, stage.workspace, path, "")
    shutil.copy(template, path.with_suffix(".db"))
    with closing(Database(f"sqlite:///{path.with_suffix('.db')}", keys=KEYS)) as there:
        uuid, *_ = read_workspace(there, store, path, "")
        with there.reading() as tx:
            moved = find_workspace_by_uuid(tx, uuid)
            assert moved is not None
            fields: dict[str, str] = json.loads(read_list(ListQuery(tx, moved), CONTACTS)[0])["fields"]
    return fields


def tell_archive(stage: Stage, store: MediaStore) -> dict[str, str]:
    stage.clock.advance(days=125)
    step = begin_archiving(stage.runtime)
    while step():
        pass
    (archived,) = (each for each in store.list_names() if each.endswith("jsonl.gz"))
    return values_in(json.loads(next(iter(read_lines(store, archived))))["values"])
