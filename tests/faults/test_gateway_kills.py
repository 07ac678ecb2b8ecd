"""A gateway gets every part of every message once while the workers that call it are killed."""

import threading
from pathlib import Path

from sqlalchemy import select, update

from persistence.database import Database
from persistence.tables.messages import gateway_send
from testbed.gateways import THREE_PARTS, add_gateway, queue_messages, states_of
from testbed.running import forked_service, wait_until
from tests.gateways import Parts
from tests.worker.receivers import Received, Reply, receiving

MESSAGES = 6
TIMEOUT_SECONDS = 60


def parts_under_way(database: Database) -> int:
    rows = gateway_send.c
    with database.reading() as tx:
        return len(tx.execute(select(rows.id).where(rows.parts_begun > rows.parts_accepted)).all())


def end_leases(database: Database) -> None:
    """Lets the time of all leases pass."""
    with database.writing() as tx:
        tx.execute(update(gateway_send).values(due_on=gateway_send.c.created_on))


def test_killed_workers_leave_no_part_out_and_send_none_twice(database_url: str, tmp_path: Path) -> None:
    answers = threading.Event()

    def hold(_request: Received) -> Reply:
        answers.wait(TIMEOUT_SECONDS)
        return Reply(200)

    parts = Parts(hold)
    timeout = str(TIMEOUT_SECONDS)
    with (
        receiving(parts) as receiver,
        forked_service(database_url, tmp_path, WEBHOOK_TIMEOUT_SECONDS=timeout) as service,
    ):
        service.start("worker two")
        gateway = add_gateway(service.database, service.workspace, receiver.url)
        ids = queue_messages(service.database, service.workspace, gateway, MESSAGES, THREE_PARTS)
        for part in range(2):
            # Killed when every part that counts as begun has reached the gateway, which answers none of them.
            wait_until(
                lambda part=part: parts.counts.total() == MESSAGES * (part + 1),  # type: ignore[misc]
                "the next part of each message",
            )
            assert parts_under_way(service.database) == MESSAGES
            for name in ("worker", "worker two"):
                service.kill(name)
            end_leases(service.database)
            for name in ("worker", "worker two"):
                service.start(name)
        wait_until(lambda: parts.counts.total() >= MESSAGES * 3, "the last parts")
        answers.set()
        wait_until(lambda: set(states_of(service.database, ids)) == {("wired", None)}, "all messages to be wired")

    assert (len(parts.counts), parts.doubled) == (MESSAGES * 3, [])
