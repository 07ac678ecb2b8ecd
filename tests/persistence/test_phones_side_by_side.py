"""Phones that relay SMS of the same senders at the same time do not wait for each other's messages."""

import threading
from datetime import timedelta

from sqlalchemy import func, select, text

from flows.urns import Urn
from persistence.channels.event_form import Source
from persistence.contacts.urns import ensure_owners
from persistence.database import Database, Transaction
from persistence.relayers.commands import SmsReport
from persistence.relayers.reports import record_sms
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
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


class Updates:
    """How many rows of contacts were written anew, when all else of a unit of work is done."""

    is_last = True
    found = 0

    def flush(self, tx: Transaction) -> None:
        Updates.found = count_updates(tx)


def count_updates(tx: Transaction) -> int:
    """The rows of contacts that this connection has written anew lately."""
    counted = """SELECT sum(pg_stat_get_xact_tuples_updated(oid)) FROM pg_class
    WHERE oid = CAST('contact' AS regclass)
    OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = CAST('contact' AS regclass))"""
    return int(tx.execute(text(counted)).scalar_one())


def test_a_sync_writes_each_sender_once(database: Database, workspace: Workspace) -> None:
    if database.sqlite:  # which writes in place
        return
    make_senders(database, workspace)
    source = open_source(database, workspace, 0)

    with database.writing() as tx:
        before = count_updates(tx)
        report(tx, source, 1)
        tx.before_commit(Updates)

    assert Updates.found - before == SENDERS
    with database.reading() as tx:
        assert tx.execute(select(func.count()).where(contact.c.last_seen_on.is_not(None))).scalar_one() == SENDERS
