"""Events of a workspace reach those who subscribe to them, signed; the receiver of docs/subscriptions.md acts once."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from persistence.database import Database, utc_now
from persistence.deliveries.outbox import Ledger
from persistence.deliveries.records import send_again
from persistence.deliveries.settings import LEAST_GIVEN_UP
from persistence.deliveries.subscriptions import create_subscription
from persistence.stamps import CONTACT_CREATED
from persistence.tables.deliveries import delivery, resthook_subscriber, webhook_trouble
from persistence.tables.service import workspace_clock
from persistence.workspaces.records import Workspace
from testbed.running import wait_until
from tests.documentation import ROOT, read_blocks
from tests.factories import make_contact
from tests.worker.receivers import Receiver, Reply
from worker.webhooks.signing import is_signed

Finish = Callable[[], Ledger]


def subscribe(database: Database, workspace: Workspace, url: str) -> tuple[int, str]:
    with database.writing() as tx:
        return create_subscription(tx, workspace, url, [CONTACT_CREATED])


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_subscription_gets_its_events_signed_with_its_secret(
    database: Database, workspace: Workspace, receiver: Receiver, finish: Finish
) -> None:
    _, secret = subscribe(database, workspace, receiver.url)
    uuid = make_contact(database, workspace)

    assert finish() == Ledger(pending=0, delivered=1, failed=0)
    (request,) = receiver.received
    body = json.loads(request.body)
    assert (body["type"], body["data"]["uuid"], body["id"]) == (CONTACT_CREATED, uuid, request.headers["webhook-id"])
    assert is_signed(request.headers, request.body, secret, database.clock())


def test_a_subscription_that_responds_with_gone_ends(
    database: Database, workspace: Workspace, receiver: Receiver, finish: Finish
) -> None:
    receiver.respond = lambda request: Reply(410)
    subscribe(database, workspace, receiver.url)
    make_contact(database, workspace)

    assert finish() == Ledger(pending=0, delivered=0, failed=1)

    make_contact(database, workspace)
    with database.reading() as tx:
        assert tx.execute(select(resthook_subscriber.c.id)).all() == []
        assert tx.execute(select(workspace_clock.c.told)).scalar_one() is None
        assert len(tx.execute(select(delivery.c.id)).all()) == 1


def test_a_subscription_that_failed_for_long_is_switched_off_and_gets_no_more_events(
    database: Database, workspace: Workspace, receiver: Receiver, finish: Finish
) -> None:
    receiver.respond = lambda request: Reply(500)
    number, _ = subscribe(database, workspace, receiver.url)
    with database.writing() as tx:
        times = {"began_on": tx.now - timedelta(days=5), "last_failed_on": tx.now - timedelta(hours=1)}
        counts = {"given_up": LEAST_GIVEN_UP - 1, "subscriber_id": number, "workspace_id": workspace.id}
        tx.execute(insert(webhook_trouble).values(**times, **counts))
    make_contact(database, workspace)

    assert finish() == Ledger(pending=0, delivered=0, failed=1)

    make_contact(database, workspace)
    assert finish().total == 1
    with database.reading() as tx:
        assert tx.execute(select(webhook_trouble.c.reason)).scalar_one().startswith("Nothing was accepted since")


@pytest.fixture
def documented(tmp_path: Path) -> Iterator[Callable[[str], tuple[str, Path]]]:
    """Starts the receiver of the docs with a secret; returns its URL and what it prints."""
    (block,) = (each for each in read_blocks(ROOT / "docs" / "subscriptions.md") if each.language == "python")
    (tmp_path / "receiver.py").write_text(block.text)
    started: list[subprocess.Popen[bytes]] = []
    port, printed = free_port(), tmp_path / "printed.txt"

    def begin(secret: str) -> tuple[str, Path]:
        with printed.open("wb") as output:
            environment = {**os.environ, "WEBHOOK_SECRET": secret, "PORT": str(port)}
            command = [sys.executable, "receiver.py"]
            started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=output))
        wait_until(lambda: is_listening(port), "the receiver to listen")
        return f"http://127.0.0.1:{port}/", printed

    yield begin
    for process in started:
        process.kill()
        process.wait()


def is_listening(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def test_the_receiver_of_the_docs_verifies_events_and_acts_once_for_each(
    database: Database,
    workspace: Workspace,
    documented: Callable[[str], tuple[str, Path]],
    finish: Finish,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "clock", utc_now)  # the receiver has a clock of its own
    _, secret = subscribe(database, workspace, f"http://127.0.0.1:{free_port()}/")
    url, printed = documented(secret)
    with database.writing() as tx:
        tx.execute(resthook_subscriber.update().values(target_url=url))
    first, second = make_contact(database, workspace), make_contact(database, workspace)
    finish()
    with database.writing() as tx:
        for uuid in tx.execute(select(delivery.c.uuid)).scalars():
            assert send_again(tx, workspace.id, uuid)
    assert finish() == Ledger(pending=0, delivered=2, failed=0)
    subscribe(database, workspace, url)  # with another secret
    make_contact(database, workspace)

    assert finish() == Ledger(pending=0, delivered=3, failed=1)
    lines = printed.read_text().splitlines()
    assert sorted(lines[:2]) == sorted(f"{CONTACT_CREATED} {uuid}" for uuid in (first, second))
    assert len(lines) == 3
