"""A worker is killed while it hands in a mail, and while it reads a mailbox: real processes on both databases."""

import threading
from collections.abc import Iterator
from functools import partial
from operator import contains
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from flows.urns import Urn
from persistence.channels.channels import create_gateway
from persistence.channels.settings import read_config
from persistence.contacts.urns import ensure_owners
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.channels import channel
from persistence.tables.messages import INCOMING, message
from testbed.gateways import SECRET, states_of
from testbed.kept_databases import KeptDatabases
from testbed.mailboxes import running_mailbox, write_mail
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from testbed.smpp_kills import end_leases
from tests.worker.flows.mail_receivers import receiving_mail

MAILS, KILLED_AT = 6, (2, 3)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("mail_kills")
    if request.param == "sqlite":
        path = folder / "relayboard.db"
        path.write_bytes(sqlite_template.read_bytes())
        with forked_service(f"sqlite:///{path}", folder) as running:
            yield running
        return
    kept: KeptDatabases = request.getfixturevalue("kept_databases")
    with kept.lend() as url, forked_service(url, folder) as running:
        yield running


def add_channel(service: RunningService, **config: Any) -> int:
    given = {"host": "127.0.0.1", "security": "none", "from_address": "clinic@example.org"}
    stored = read_config("email", given | {name: str(value) for name, value in config.items()})
    named: dict[str, Any] = {"name": "Mail", "address": "clinic@example.org", "schemes": ["mailto"], "secret": SECRET}
    with service.database.writing() as tx:
        uuid = create_gateway(tx, service.workspace.id, "email", **named, config=stored)
        return int(tx.execute(select(channel.c.id).where(channel.c.uuid == uuid)).scalar_one())


@pytest.mark.parametrize(
    ("held", "ends"), [("RCPT", ("wired", None)), ("DATA", ("wired", "uncertain"))], ids=["before", "after"]
)
def test_a_mail_is_handed_in_once_and_says_so_if_nobody_knows(
    service: RunningService, held: str, ends: tuple[str, str | None]
) -> None:
    with receiving_mail() as server:
        server.held = held
        channel_id, urn = add_channel(service, port=server.port), Urn("mailto", "zoe@example.com")
        with service.database.writing() as tx:
            owner = ensure_owners(tx, service.workspace.id, [urn])[urn.identity]
            (sent,) = create_outgoing(tx, service.workspace.id, [Draft(owner.contact_id, "Hi")], channel_id=channel_id)
        assert server.waiting.wait(PATIENCE_SECONDS), "the server to be asked"

        service.kill("worker")
        server.held = ""
        server.released.set()
        end_leases(service.database)
        service.start("worker")

        wait_until(lambda: states_of(service.database, [sent]) == [ends], f"the message to be {ends}")
        assert len(server.envelopes) == 1


def test_each_mail_of_a_mailbox_is_stored_once(service: RunningService) -> None:
    with running_mailbox() as mailbox:
        now = service.database.clock()
        texts = [f"Mail {number}" for number in range(MAILS)]
        for number, text in enumerate(texts):
            mailbox.add(write_mail(text, Message_ID=f"<m{number}@example.com>" if number % 2 else ""), now)

        def stored() -> list[str]:
            rows = select(message.c.text).where(message.c.direction == INCOMING, message.c.channel_id == channel_id)
            with service.database.reading() as tx:
                return list(tx.execute(rows.order_by(message.c.id)).scalars())

        released = {number: threading.Event() for number in KILLED_AT}
        mailbox.before_giving = lambda number: number not in released or released[number].wait()
        channel_id = add_channel(
            service, imap_host="127.0.0.1", imap_port=mailbox.port, imap_security="none", user="clinic", password="pass"
        )
        for number in KILLED_AT:
            wait_until(partial(contains, mailbox.reads, number), "the mail to be asked for")
            service.kill("worker")
            released[number].set()
            end_leases(service.database)
            service.start("worker")
        wait_until(lambda: len(stored()) >= MAILS, "all mails to be stored")

        assert stored() == texts
        assert mailbox.reads == sorted([*range(1, MAILS + 1), *KILLED_AT])
