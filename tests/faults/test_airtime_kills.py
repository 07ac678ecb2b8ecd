"""Airtime is requested with one UUID, even if the worker is killed while it waits for the response."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from flows.urns import Urn
from persistence.contacts.urns import ensure_owners
from persistence.messages.incoming import Received, store_received
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.flows import flow_run, flow_start_batch
from persistence.tables.messages import OUTGOING, message
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.channel_rows import add_channel
from tests.worker.receivers import Receiver, Reply, receiving

AMINA = Urn("tel", "+250788123123")
GIVEN = Reply(200, b'{"id": "T-1", "currency": "RWF", "amount": 500}')


class SilentAirtime:
    """Keeps everybody waiting until it is told to speak."""

    def __init__(self) -> None:
        self.speaks = threading.Event()

    def __call__(self, _request: object) -> Reply:
        self.speaks.wait(PATIENCE_SECONDS)
        return GIVEN


@pytest.fixture
def airtime() -> Iterator[Receiver]:
    with receiving(SilentAirtime()) as made:
        yield made


@pytest.fixture
def service(database_url: str, tmp_path: Path, airtime: Receiver) -> Iterator[RunningService]:
    with forked_service(
        database_url,
        tmp_path,
        AIRTIME_URL=airtime.url,
        WEBHOOK_TIMEOUT_SECONDS=str(PATIENCE_SECONDS),
    ) as running:
        add_channel(running.database, running.workspace)
        yield running


def kill_amid_transfer(service: RunningService, airtime: Receiver) -> str:
    """SIGKILL to the worker while it waits for an answer; the next worker gets one. The key of both requests."""
    silent, before = airtime.respond, len(airtime.received)
    assert isinstance(silent, SilentAirtime)
    assert airtime.wait_for(before + 1, PATIENCE_SECONDS)
    service.kill("worker")
    with service.database.writing() as tx:  # what it held is free, as after some minutes
        tx.execute(update(contact).values(handling_until=None))
        tx.execute(update(flow_start_batch).values(leased_until=None))
    service.start("worker")
    assert airtime.wait_for(before + 2, PATIENCE_SECONDS)
    silent.speaks.set()
    (key,) = {request.headers["idempotency-key"] for request in airtime.received[before:]}
    return key


def read_ends(service: RunningService) -> tuple[list[str], list[str]]:
    """The statuses of all runs, and what was said."""
    with service.database.reading() as tx:
        runs = tx.execute(select(flow_run.c.status)).scalars().all()
        said = select(message.c.text).where(message.c.direction == OUTGOING).order_by(message.c.id)
        return list(runs), list(tx.execute(said).scalars())


def give(name: str) -> list[dict[str, Any]]:
    airtime = {"type": "transfer_airtime", "uuid": uuid_of(name), "amounts": {"RWF": 500}}
    return [airtime, say(f"Given {name}: @locals._new_transfer")]


def test_a_start_and_an_answer_whose_workers_are_killed_ask_for_one_transfer_each(
    service: RunningService, airtime: Receiver
) -> None:
    asked = ask("ready", {"yes": "again"}, None, actions=[say("Ready?")])
    flow = definition("Thanks", [node("thank", give("one"), "ready"), asked, node("again", give("two"))])
    flow_uuid = store_flow(service.database, service.workspace, flow)

    service.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "urns": [str(AMINA)]})
    first = kill_amid_transfer(service, airtime)
    said = [f"Given one: {first}", "Ready?"]
    wait_until(lambda: read_ends(service) == (["waiting"], said), "the question")

    service.stop("worker")
    assert isinstance(airtime.respond, SilentAirtime)
    airtime.respond.speaks.clear()
    with service.database.writing() as tx:
        owner = ensure_owners(tx, service.workspace.id, [AMINA])[AMINA.identity]
        channel_id = tx.execute(select(channel.c.id)).scalar_one()
        store_received(tx, service.workspace.id, channel_id, [Received(owner, "yes", tx.now, "report")])
    service.start("worker")
    second = kill_amid_transfer(service, airtime)

    wait_until(lambda: read_ends(service)[0] == ["completed"], "the end of the run")
    assert read_ends(service)[1] == [*said, f"Given two: {second}"]
    assert first != second and len(airtime.received) == 4
