"""A push that a killed worker had begun is made again when its lease ends."""

import threading
from pathlib import Path

from sqlalchemy import select, update

from persistence.database import Database
from persistence.relayers.commands import via_of
from persistence.relayers.relayers import insert_phone
from persistence.tables.channels import phone_push
from testbed.gateways import queue_messages
from testbed.patience import PATIENCE_SECONDS
from testbed.running import forked_service, wait_until
from tests.worker.receivers import Received, Reply, receiving

LOCAL = "127.0.0.0/8"


def add_phone(database: Database, workspace_id: int, token: str) -> int:
    """A claimed phone that has been silent since it was claimed."""
    with database.writing() as tx:
        claimed = {"workspace_id": workspace_id, "address": "+250788123123", "country": "RW"}
        return insert_phone(tx, **claimed, push_token=token, push_via=via_of(token), secret="s", device_uuid="d")


def pushes_begun(database: Database) -> int:
    with database.reading() as tx:
        return tx.execute(select(phone_push.c.pushes)).scalar_one_or_none() or 0


def end_leases(database: Database) -> None:
    """Lets the time of all leases pass."""
    with database.writing() as tx:
        tx.execute(update(phone_push).values(due_on=phone_push.c.pushed_on))


def test_a_push_that_a_killed_worker_had_begun_is_made_again(database_url: str, tmp_path: Path) -> None:
    answers = threading.Event()

    def hold(_request: Received) -> Reply:
        answers.wait(PATIENCE_SECONDS)
        return Reply(201)

    with (
        receiving(hold) as endpoint,
        forked_service(database_url, tmp_path, WEBHOOK_ALLOWED_NETWORKS=LOCAL) as service,
    ):
        database = service.database
        phone = add_phone(database, service.workspace.id, endpoint.url)
        queue_messages(database, service.workspace, phone, 3)
        assert endpoint.wait_for(1)
        service.kill("worker")
        assert pushes_begun(database) == 1
        end_leases(database)
        service.start("worker")
        assert endpoint.wait_for(2)
        answers.set()

        def is_recorded() -> bool:
            with database.reading() as tx:
                rows = phone_push.c
                row = tx.execute(select(rows.pushes, rows.due_on, rows.pushed_on)).one()
            return row.pushes == 2 and row.due_on is not None and 59 < (row.due_on - row.pushed_on).total_seconds() < 90

        wait_until(is_recorded, "the outcome of the second push, and the time of the third")
    assert len(endpoint.received) == 2
