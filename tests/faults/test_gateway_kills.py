"""A gateway gets every part of every message once while the workers that call it are killed."""

import threading
from collections import Counter
from pathlib import Path

from sqlalchemy import select, update

from persistence.database import Database
from persistence.tables.messages import gateway_send, message
from relayboard import cli
from testbed.forked import fork
from testbed.gateways import THREE_PARTS, add_gateway, queue_messages, states_of
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.gateways import Parts
from tests.worker.receivers import Received, Reply, receiving
from worker.channels.sending import MOST_SLOTS

MESSAGES = 6
FLOOD, ANSWERED = 40, 15
TIMEOUT_SECONDS = 60


class Gate:
    """Answers the first requests, and the others when it is opened."""

    def __init__(self) -> None:
        self.asked = 0
        self.opened = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, _request: Received) -> Reply:
        with self._lock:
            self.asked += 1
            waits = self.asked > ANSWERED
        if waits:
            assert self.opened.wait(PATIENCE_SECONDS)
        return Reply(200)


def parts_under_way(database: Database) -> set[int]:
    """The messages of which a part was begun and is not known to have been sent."""
    rows = gateway_send.c
    with database.reading() as tx:
        return set(tx.execute(select(rows.message_id).where(rows.parts_begun > rows.parts_accepted)).scalars())


def end_leases(database: Database) -> None:
    """Lets the time of all leases pass while no worker lives."""
    with database.writing() as tx:
        tx.execute(update(gateway_send).values(due_on=gateway_send.c.created_on))


def test_what_killed_workers_had_not_written_is_sent_and_only_what_they_had_is_uncertain(
    database_url: str, tmp_path: Path
) -> None:
    gate = Gate()
    parts = Parts(gate)
    timeout = str(TIMEOUT_SECONDS)
    with (
        receiving(parts) as receiver,
        forked_service(database_url, tmp_path, WEBHOOK_TIMEOUT_SECONDS=timeout) as service,
    ):
        gateway = add_gateway(service.database, service.workspace, receiver.url)
        ids = queue_messages(service.database, service.workspace, gateway, FLOOD)
        with service.database.reading() as tx:
            names = {key: uuid for key, uuid in tx.execute(select(message.c.id, message.c.uuid))}

        wait_until(lambda: gate.asked > ANSWERED, "requests that are not answered")
        service.kill("worker")
        uncertain = parts_under_way(service.database)
        assert uncertain
        gate.opened.set()
        end_leases(service.database)
        service.start("worker")
        wait_until(
            lambda: {status for status, _ in states_of(service.database, ids)} == {"wired"},
            "all messages to be wired",
            found=lambda: Counter(states_of(service.database, ids)),
        )

        states = dict(zip(ids, states_of(service.database, ids), strict=True))
        unsent = {each for each in ids if not any(key.startswith(names[each]) for key in parts.counts)}
        marked = {each for each, (_, reason) in states.items() if reason == "uncertain"}
        assert parts.doubled == []
        assert unsent <= marked == uncertain
        assert len(marked) <= MOST_SLOTS
        before = parts.counts.copy()

        resend(service, [names[each] for each in sorted(marked)])
        wait_until(lambda: len(new_states(service.database, ids)) == len(marked), "the new messages")
        wait_until(lambda: new_states(service.database, ids) == [("wired", None)] * len(marked), "what is sent again")

    more = parts.counts - before
    assert (len(more), more.total()) == (len(marked), len(marked))
    assert not any(key.startswith(name) for key in more for name in names.values())


def new_states(database: Database, old: list[int]) -> list[tuple[str, str | None]]:
    """Status and reason of the messages that are not these."""
    with database.reading() as tx:
        new = list(tx.execute(select(message.c.id).where(message.c.id.not_in(old))).scalars())
    return states_of(database, new)


def resend(service: RunningService, uuids: list[str]) -> None:
    """`relayboard message resend`, a hundred at a time."""
    for some in (uuids[first : first + 100] for first in range(0, len(uuids), 100)):
        words = ["message", "resend", "--workspace", service.workspace.uuid, *some, "--json"]
        process = fork(cli.main, words, environment=service.environment, log=service.folder / "resend.log")
        assert process.wait(PATIENCE_SECONDS) == 0, (service.folder / "resend.log").read_text()


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
        # Killed when every part that counts as begun has reached the gateway, which answers none of them.
        wait_until(lambda: parts.counts.total() == MESSAGES, "the first part of each message")
        assert len(parts_under_way(service.database)) == MESSAGES
        for name in ("worker", "worker two"):
            service.kill(name)
        end_leases(service.database)
        for name in ("worker", "worker two"):
            service.start(name)
        wait_until(lambda: parts.counts.total() == MESSAGES * 2, "the second parts")
        answers.set()
        wait_until(
            lambda: set(states_of(service.database, ids)) == {("wired", "uncertain")}, "all messages to be wired"
        )

    assert (len(parts.counts), parts.doubled) == (MESSAGES * 3, [])
