"""Sprints that may call other systems wait for slots of their own; other sprints do not wait for them."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from flows.urns import Urn
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.messages.incoming import Received, store_received
from persistence.sessions.parking import acquire_leases
from persistence.tables.flows import flow, flow_run, flow_start, parked_sprint
from persistence.tables.messages import OUTGOING, message
from persistence.triggers.records import KEYWORD, NewTrigger, create_trigger
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from testbed.flow_rows import definition, node, say, store_flow, uuid_of
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.channel_rows import add_channel
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage
from tests.worker.receivers import Receiver, Reply, receiving
from worker.flows.incoming import begin_incoming
from worker.flows.parked import begin_parked
from worker.flows.starts import begin_starts
from worker.runtime import Runtime


class Silent:
    """Keeps callers waiting until it is told to speak."""

    def __init__(self) -> None:
        self.speaks = threading.Event()

    def __call__(self, _request: object) -> Reply:
        self.speaks.wait(PATIENCE_SECONDS)
        return Reply(200)


@pytest.fixture
def silent() -> Silent:
    return Silent()


@pytest.fixture
def receiver(silent: Silent) -> Iterator[Receiver]:
    with receiving(silent) as made:
        yield made
        silent.speaks.set()


def answer(database: Database, workspace: Workspace, word: str, *actions: dict[str, object]) -> str:
    named = f"{word} of {workspace.name}"
    flow_uuid = store_flow(database, workspace, definition(named, [node(named, actions)]))
    with database.writing() as tx:
        flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == flow_uuid)).scalar_one()
        create_trigger(tx, workspace.id, NewTrigger(KEYWORD, flow_id, keywords=(word,)))
    return flow_uuid


def calling(url: str) -> dict[str, object]:
    return {"type": "call_webhook", "uuid": uuid_of("call"), "method": "GET", "url": url}


def write(database: Database, workspace: Workspace, channel_id: int, text: str, *numbers: int) -> None:
    with database.writing() as tx:
        urns = [Urn("tel", f"+25078{number:07}") for number in numbers]
        owners = ensure_owners(tx, workspace.id, urns, channel_id=channel_id)
        reports = [Received(owners[urn.identity], text, tx.now, f"{text} {urn}") for urn in urns]
        store_received(tx, workspace.id, channel_id, reports)


def replies(database: Database, workspace: Workspace) -> list[str]:
    mine = (message.c.workspace_id == workspace.id) & (message.c.direction == OUTGOING)
    with database.reading() as tx:
        return list(tx.execute(select(message.c.text).where(mine).order_by(message.c.id)).scalars())


def test_nobody_waits_for_contacts_whose_webhook_is_silent(
    database: Database, workspace: Workspace, runtime: Runtime, silent: Silent, receiver: Receiver
) -> None:
    with database.writing() as tx:
        other = create_workspace(tx, "Mountain School", country="RW", timezone="Africa/Kigali")
    channels = {each.id: add_channel(database, each) for each in (workspace, other)}
    answer(database, workspace, "call", calling(receiver.url), say("Called."))
    answer(database, workspace, "hello", say("Here too."))
    answer(database, other, "hello", say("Welcome."))
    incoming, parked = begin_incoming(runtime), begin_parked(runtime)

    write(database, workspace, channels[workspace.id], "call", *range(40))
    while incoming():
        parked()
    assert receiver.wait_for(1, PATIENCE_SECONDS)
    write(database, workspace, channels[workspace.id], "hello", 100)
    write(database, other, channels[other.id], "hello", 100)
    while incoming():
        pass

    assert replies(database, other) == ["Welcome."]
    assert replies(database, workspace) == ["Here too."], "nor does anybody else of the same workspace"
    assert len(receiver.received) <= 8, "one flow of a workspace has so many slots"
    silent.speaks.set()
    wait_until(lambda: parked() or replies(database, workspace).count("Called.") == 40, "all who called")
    assert replies(database, workspace).count("Called.") == 40


def test_a_contact_who_is_parked_is_handled_once_and_in_order(stage: Stage, receiver: Receiver, silent: Silent) -> None:
    silent.speaks.set()
    answer(stage.database, stage.workspace, "call", calling(receiver.url), say("Called for @input.text"))
    incoming = begin_incoming(stage.runtime)
    for text in ("call one", "call two"):
        stage.receive("+250788123456", text)

    while incoming():
        pass
    assert len(stage.rows(parked_sprint)) == 1
    assert not incoming(), "who is parked is not found again by what waits"
    stage.work()

    assert replies(stage.database, stage.workspace) == ["Called for call one", "Called for call two"]
    assert stage.rows(parked_sprint) == []


def test_a_worker_that_dies_with_a_sprint_leaves_it_to_the_next(
    stage: Stage, receiver: Receiver, silent: Silent
) -> None:
    silent.speaks.set()
    answer(stage.database, stage.workspace, "call", calling(receiver.url), say("Called."))
    stage.receive("+250788123456", "call")
    begin_incoming(stage.runtime)()
    with stage.database.writing() as tx:  # leased by somebody who never comes back
        tx.execute(parked_sprint.delete())
        tx.execute(message.update().values(status="queued"))

    stage.clock.advance(minutes=2)
    stage.work()

    assert replies(stage.database, stage.workspace) == ["Called."]


def test_a_start_of_a_flow_that_calls_ends_when_each_contact_had_its_turn(
    stage: Stage, receiver: Receiver, silent: Silent
) -> None:
    silent.speaks.set()
    flow_uuid = answer(stage.database, stage.workspace, "call", calling(receiver.url), say("Called."))
    people = [stage.add_contact(f"+25078812345{number}") for number in range(3)]
    stage.start(flow_uuid, *people)

    stage.work()

    assert [row.status for row in stage.rows(flow_run)] == ["completed"] * 3
    assert [(row.status, row.started) for row in stage.rows(flow_start)] == [("completed", 3)]
    assert stage.rows(parked_sprint) == []


def test_the_job_of_starts_parks_whoever_is_free_and_calls_nobody(stage: Stage, receiver: Receiver) -> None:
    flow_uuid = answer(stage.database, stage.workspace, "call", calling(receiver.url))
    amina, ben = (stage.add_contact(f"+25078812345{number}") for number in range(2))
    with stage.database.writing() as tx:
        acquire_leases(tx, [ben])
    step = begin_starts(stage.runtime)

    stage.start(flow_uuid, amina, ben)
    while step():
        pass

    assert [(row.contact_id, row.receiver) for row in stage.rows(parked_sprint)] == [(amina, flow_uuid)]
    assert (receiver.received, stage.rows(flow_run)) == ([], [])
    assert [row.status for row in stage.rows(flow_start)] == ["started"]


def test_a_start_whose_contacts_others_have_is_tried_again(
    stage: Stage, receiver: Receiver, silent: Silent, clock: Clock
) -> None:
    silent.speaks.set()
    flow_uuid = answer(stage.database, stage.workspace, "call", calling(receiver.url))
    amina = stage.add_contact("+250788123456")
    with stage.database.writing() as tx:
        acquire_leases(tx, [amina])

    stage.start(flow_uuid, amina)
    stage.work()
    assert (stage.rows(parked_sprint), [row.status for row in stage.rows(flow_start)]) == ([], ["started"])
    clock.advance(minutes=2)
    stage.work()

    assert [row.status for row in stage.rows(flow_run)] == ["completed"]
    assert [row.status for row in stage.rows(flow_start)] == ["completed"]
