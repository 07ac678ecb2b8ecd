"""Airtime is requested with one UUID, even if the worker is killed while it waits for the response."""

import threading
from collections.abc import Iterator
from pathlib import Path

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
GIVE = {"type": "transfer_airtime", "uuid": uuid_of("give"), "amounts": {"RWF": 500}}


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


def let_leases_run_out(service: RunningService) -> None:
    """What a killed worker held is free, as after some minutes."""
    with service.database.writing() as tx:
        tx.execute(update(contact).values(handling_until=None))
        tx.execute(update(flow_start_batch).values(leased_until=None))


def kill_amid_transfer(service: RunningService, airtime: Receiver) -> None:
    """SIGKILL to the worker while it waits for an answer; the next worker gets one."""
    assert airtime.wait_for(1, PATIENCE_SECONDS)
    service.kill("worker")
    let_leases_run_out(service)
    service.start("worker")
    assert airtime.wait_for(2, PATIENCE_SECONDS)
    assert isinstance(airtime.respond, SilentAirtime)
    airtime.respond.speaks.set()


def read_ends(service: RunningService) -> tuple[list[str], list[str]]:
    """The statuses of all runs, and what was said."""
    with service.database.reading() as tx:
        runs = tx.execute(select(flow_run.c.status)).scalars().all()
        said = select(message.c.text).where(message.c.direction == OUTGOING).order_by(message.c.id)
        return list(runs), list(tx.execute(said).scalars())


def assert_given_once(service: RunningService, airtime: Receiver, *said: str) -> None:
    wait_until(lambda: read_ends(service)[0] == ["completed"], "the end of the run")
    keys = [request.headers["idempotency-key"] for request in airtime.received]
    assert keys == [keys[0]] * 2
    assert read_ends(service)[1] == [*said, f"Given: {keys[0]}"]


def test_a_start_whose_worker_is_killed_asks_for_one_transfer(service: RunningService, airtime: Receiver) -> None:
    flow = definition("Thanks", [node("thank", [GIVE, say("Given: @locals._new_transfer")])])
    flow_uuid = store_flow(service.database, service.workspace, flow)

    service.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "urns": [str(AMINA)]})
    kill_amid_transfer(service, airtime)

    assert_given_once(service, airtime)


def test_an_answer_whose_worker_is_killed_asks_for_one_transfer(service: RunningService, airtime: Receiver) -> None:
    thank = node("thank", [GIVE, say("Given: @locals._new_transfer")])
    flow = definition("Thanks", [ask("ready", {"yes": "thank"}, None, actions=[say("Ready?")]), thank])
    flow_uuid = store_flow(service.database, service.workspace, flow)
    service.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "urns": [str(AMINA)]})
    wait_until(lambda: read_ends(service) == (["waiting"], ["Ready?"]), "the question")

    service.stop("worker")
    with service.database.writing() as tx:
        owner = ensure_owners(tx, service.workspace.id, [AMINA])[AMINA.identity]
        channel_id = tx.execute(select(channel.c.id)).scalar_one()
        store_received(tx, service.workspace.id, channel_id, [Received(owner, "yes", tx.now, "report")])
    service.start("worker")
    kill_amid_transfer(service, airtime)

    assert_given_once(service, airtime, "Ready?")
