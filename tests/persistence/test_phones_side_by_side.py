"""Phones that relay SMS of the same senders at the same time do not wait for each other's messages."""

import threading
from datetime import timedelta

from sqlalchemy import func, select

from flows.urns import Urn
from persistence.channels.channels import Source
from persistence.contacts.urns import ensure_owners
from persistence.database import Database, Transaction
from persistence.relayers.commands import SmsReport
from persistence.relayers.reports import record_sms
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.workspaces import Workspace
from testbed.patience import PATIENCE_SECONDS
from tests.channel_rows import add_channel

SENDERS, PHONES, ROUNDS = 20, 4, 5


def open_source(database: Database, workspace: Workspace, number: int) -> Source:
    channel_id = add_channel(database, workspace, address=f"+25078800{number:04}")
    with database.reading() as tx:
        uuid, address = tx.execute(select(channel.c.uuid, channel.c.address).where(channel.c.id == channel_id)).one()
    return Source(channel_id, uuid, workspace.id, address, "RW")


def report(tx: Transaction, source: Source, number: int) -> None:
    """Each phone has read its SMS in an order of its own."""
    senders = [f"+25072{(first * (number * 2 + 1)) % SENDERS:07}" for first in range(SENDERS)]
    moments = [tx.now + timedelta(seconds=index) for index in range(SENDERS)]
    record_sms(
        tx, source, [SmsReport(*each) for each in zip(senders, [f"round {number}"] * SENDERS, moments, strict=True)]
    )


def make_senders(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        ensure_owners(tx, workspace.id, [Urn("tel", f"+25072{number:07}") for number in range(SENDERS)])


def test_the_same_senders_in_any_order_are_no_deadlock(database: Database, workspace: Workspace) -> None:
    make_senders(database, workspace)
    sources = [open_source(database, workspace, number) for number in range(PHONES)]
    together = threading.Barrier(PHONES, timeout=PATIENCE_SECONDS)
    failures: list[BaseException] = []

    def relay(source: Source, own: int) -> None:
        try:
            for number in range(ROUNDS):
                together.wait()
                with database.writing() as tx:  # once: nobody has to begin again
                    report(tx, source, own * ROUNDS + number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=relay, args=pair) for pair in zip(sources, range(PHONES), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert failures == []
    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(message)).scalar_one() == SENDERS * PHONES * ROUNDS
        assert tx.execute(select(func.count()).where(contact.c.last_seen_on.is_not(None))).scalar_one() == SENDERS


def test_who_stores_messages_of_a_sender_leaves_the_contact_to_others_until_the_end(
    database: Database, workspace: Workspace
) -> None:
    if database.sqlite:  # where one writes at a time
        return
    make_senders(database, workspace)
    first, second = (open_source(database, workspace, number) for number in range(2))

    with database.writing() as slow:
        report(slow, first, 1)
        with database.writing() as quick:
            report(quick, second, 2)

    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(message)).scalar_one() == 2 * SENDERS
