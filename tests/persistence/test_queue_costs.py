"""What it costs PostgreSQL to find the next entries of a queue grows neither with what waits nor with its mistakes: its
statistics are mostly taken while little waits, and say so when a flood comes."""

import contextlib
import re
from datetime import timedelta

import pytest
from sqlalchemy import event, update

from persistence.channels.gateway_leases import lease_sends, list_due_gateways
from persistence.deliveries.leases import lease_deliveries, list_due_receivers
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.tables.deliveries import DELIVERED, delivery
from testbed.gateways import add_gateway, queue_messages

pytestmark = [pytest.mark.plans, pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)]

LEASE = timedelta(seconds=30)
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
                if statement.lstrip().startswith(("SELECT", "WITH", "UPDATE")):
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

    analyze(database, "gateway_send")
    flood(ROOM)
    few = Meter(database).count(lease)
    flood(200)

    assert Meter(database).count(lease) < 1.5 * few
