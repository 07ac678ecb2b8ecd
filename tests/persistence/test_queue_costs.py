"""What it costs PostgreSQL to find the next entries of a queue grows neither with what waits nor with its mistakes: its
statistics are mostly taken while little waits, and say so when a flood comes."""

import contextlib
import re
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import event, insert, select, update

from flows.urns import Urn
from persistence.channels.gateway_leases import lease_sends, list_due_gateways
from persistence.contacts.owners import hold_owners
from persistence.contacts.urns import ensure_owners
from persistence.deliveries.leases import lease_deliveries, list_due_receivers
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.leases import MUCH, Share
from persistence.messages.incoming import find_senders, finish_plain_messages
from persistence.sql.columns import new_uuid
from persistence.statements import PREPARED_AFTER
from persistence.tables.contacts import contact
from persistence.tables.deliveries import DELIVERED, delivery
from persistence.tables.messages import HANDLED, INCOMING, QUEUED, gateway_send, message
from persistence.workspaces.writes import create_workspace
from testbed.gateways import add_gateway, queue_messages

pytestmark = [pytest.mark.plans, pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)]

LEASE, LATER = timedelta(seconds=30), timedelta(hours=1)
RECEIVERS, ROOM = 5, 4


class Meter:
    """Counts the pages that PostgreSQL looks at for each query."""

    def __init__(self, database):
        self.database = database

    def count(self, work):
        """The pages of all queries of `work`, whose changes are dropped; first, what it does once is done."""
        for _ in range(2):
            pages = 0

            def explain(_connection, cursor, statement, parameters, _context, _is_many):
                nonlocal pages
                if statement.lstrip().startswith(("SELECT", "WITH", "UPDATE", "EXECUTE")):
                    with cursor.connection.cursor() as other:
                        other.execute("SAVEPOINT meter")
                        other.execute(f"EXPLAIN (ANALYZE, BUFFERS) {statement}", parameters)
                        plan = "\n".join(line for (line,) in other.fetchall())
                        other.execute("ROLLBACK TO SAVEPOINT meter")
                    hit = re.search(r"Buffers: shared hit=(\d+)", plan)
                    pages += int(hit.group(1)) if hit else 0

            event.listen(self.database.engine, "before_cursor_execute", explain)
            try:
                with contextlib.suppress(Dropped), self.database.writing() as tx:
                    work(tx)
                    raise Dropped
            finally:
                event.remove(self.database.engine, "before_cursor_execute", explain)
        return pages


class Dropped(Exception):
    pass


def analyze(database, table):
    with database.writing() as tx:
        tx.connection.exec_driver_sql(f"ANALYZE {table}")


def test_deliveries_are_found_at_the_same_cost_however_many_wait(database, workspace):
    def flood(count):
        urls = [f"http://{number % RECEIVERS}.example/in" for number in range(count)]
        with database.writing() as tx:
            record_deliveries(tx, workspace.id, [NewDelivery("mo_sms", url, "text/plain", b"x=1") for url in urls])

    def lease(tx):
        due = list_due_receivers(tx)
        assert len(due) == RECEIVERS
        assert len(lease_deliveries(tx, dict.fromkeys(due, ROOM), LEASE)) == RECEIVERS * ROOM

    flood(200)
    with database.writing() as tx:
        tx.execute(update(delivery).values(status=DELIVERED, finished_on=tx.now))
    analyze(database, "delivery")
    flood(RECEIVERS * ROOM)
    few = Meter(database).count(lease)
    flood(2000)

    assert Meter(database).count(lease) < 1.5 * few


def test_messages_to_gateways_are_found_at_the_same_cost_however_many_wait(database, workspace):
    gateways = [add_gateway(database, workspace, f"http://{number}.example/send") for number in range(RECEIVERS)]

    def flood(count):
        for gateway in gateways:
            queue_messages(database, workspace, gateway, count, is_bulk=gateway == gateways[0])

    def lease(tx):
        due = [channel_id for _, channel_id in list_due_gateways(tx)]
        assert due == gateways
        assert len(lease_sends(tx, dict.fromkeys(due, ROOM), LEASE).sends) == RECEIVERS * ROOM

    tables = ("gateway_send", "message", "contact")
    flood(ROOM)
    for table in tables:
        analyze(database, table)
    few = Meter(database).count(lease)
    flood(200)
    many = [Meter(database).count(lease)]
    for table in tables:  # PostgreSQL looks at them one after another
        analyze(database, table)
        many.append(Meter(database).count(lease))

    assert max(many) < 2 * few, "not the thousand that wait"


def queue_broadcast(database, workspace, count, *, is_later=False):
    gateway = add_gateway(database, workspace, "http://one.example/send")
    ids = queue_messages(database, workspace, gateway, count, is_bulk=True)
    if is_later:
        with database.writing() as tx:
            tx.execute(update(gateway_send).where(gateway_send.c.message_id.in_(ids)).values(due_on=tx.now + LATER))


def queue_events(database, workspace, count, *, is_later=False):
    events = [NewDelivery("mo_sms", "http://one.example/in", "text/plain", b"x=1") for _ in range(count)]
    with database.writing() as tx:
        uuids = record_deliveries(tx, workspace.id, events)
        if is_later:
            tx.execute(update(delivery).where(delivery.c.uuid.in_(uuids)).values(due_on=tx.now + LATER))


@pytest.mark.together
@pytest.mark.parametrize(
    ("table", "queue", "list_due", "looked_at"),
    [
        ("gateway_send", queue_broadcast, list_due_gateways, 0),
        ("gateway_send", queue_broadcast, partial(list_due_gateways, share=Share.LITTLE), MUCH),
        ("gateway_send", queue_broadcast, partial(list_due_gateways, share=Share.MUCH), MUCH),
        ("delivery", queue_events, list_due_receivers, 0),
    ],
)
def test_for_whom_nothing_is_due_nothing_is_read_beside_a_flood(database, workspace, table, queue, list_due, looked_at):
    with database.writing() as tx:
        other = create_workspace(tx, "Mountain School", country="RW", timezone="Africa/Kigali")
    queue(database, other, 1, is_later=True)
    queue(database, workspace, MUCH)
    few = Meter(database).count(list_due)
    queue(database, workspace, 2000)
    analyze(database, table)

    assert Meter(database).count(list_due) < 3 * few + 3 * looked_at, "not the 2,000"


def test_senders_are_found_by_seeks_while_the_database_takes_contacts_for_few(database, workspace):
    """A plan of the first minutes would read all contacts again for each sender, until the next statistics."""
    senders = [Urn("tel", f"+25078{number:07}") for number in range(3000)]

    def hold(tx):
        assert len(hold_owners(tx, workspace.id, senders[:PREPARED_AFTER], changes=False)) == PREPARED_AFTER

    with database.writing() as tx:
        ensure_owners(tx, workspace.id, senders[:PREPARED_AFTER])
    for _ in range(2 * PREPARED_AFTER):
        database.write(hold)
    with database.writing() as tx:
        ensure_owners(tx, workspace.id, senders)

    assert Meter(database).count(hold) < 100 * PREPARED_AFTER, "a hundred pages for each sender"


def test_messages_to_handle_are_found_by_seeks_while_the_database_takes_contacts_for_few(database, workspace):
    """A plan of the first minutes would look for messages of each contact of the workspace."""
    with database.writing() as tx:
        other = create_workspace(tx, "Mountain School", country="RW", timezone="Africa/Kigali")
        ensure_owners(tx, other.id, [Urn("tel", f"+25079{number:07}") for number in range(20)])
    analyze(database, "contact")
    with database.writing() as tx:
        ensure_owners(tx, workspace.id, [Urn("tel", f"+25078{number:07}") for number in range(400)])
        mine = contact.c.workspace_id == workspace.id
        people = tx.execute(select(contact.c.id).where(mine).order_by(contact.c.id)).scalars().all()

    def receive(contact_ids, status):
        fixed = {"workspace_id": workspace.id, "direction": INCOMING, "status": status, "text": "hello"}
        with database.writing() as tx:
            fixed |= {"attachments": [], "quick_replies": [], "created_on": tx.now, "modified_on": tx.now}
            tx.execute(insert(message), [{**fixed, "contact_id": each, "uuid": new_uuid()} for each in contact_ids])

    receive(people[:30], QUEUED)
    analyze(database, "message")
    with database.writing() as tx:
        tx.execute(update(message).values(status=HANDLED))
    receive(people * 3, HANDLED)
    receive(people[:ROOM], QUEUED)

    assert Meter(database).count(lambda tx: find_senders(tx, workspace.id, 50)) < 100 * ROOM
    assert Meter(database).count(lambda tx: finish_plain_messages(tx, workspace.id, 50)) < 200 * ROOM
    with database.writing() as tx:
        assert find_senders(tx, workspace.id, 50) == people[:ROOM]
        assert finish_plain_messages(tx, workspace.id, 50) == ROOM
