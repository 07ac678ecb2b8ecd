"""`python -m bench.deliveries`: events per second that one worker delivers to ten receivers, and what each costs.

On PostgreSQL. Each delivery is signed for a channel and concerns a contact. With `--deleted N` so many rows are
added and deleted before: dead rows at the head of the queue. Processor time says more than the clock on a machine
that does other work too: `worker_ms` is that of the worker's processes for one delivery, `database_ms` that of
PostgreSQL.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import delete, func, select

from bench.gateways import Gateway
from bench.tenants import processor_seconds
from persistence.channels.channels import new_webhook_secret
from persistence.database import Database, Transaction
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.deliveries import DELIVERED, delivery
from testbed.gateways import GATEWAY_TYPE
from testbed.running import RunningService, running_service, wait_until
from testbed.servers import postgres_database, postgres_server

RECEIVERS = 10
BODY = b"event=mo_sms&text=The+clinic+is+closed+on+Monday&phone=%2B250788000001&time=2026-01-01T00%3A00%3A00Z&channel=7"
PATIENCE_SECONDS = 600.0
LOOK_SECONDS = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.deliveries", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--deleted", type=int, default=0, help="rows that come and are deleted before")
    options = parser.parse_args()
    with (
        TemporaryDirectory(prefix="bench") as folder,
        postgres_server(is_durable=True) as server,
        postgres_database(server) as url,
        running_service(url, Path(folder), ["api"]) as running,
    ):
        gateways = [Gateway(0.0) for _ in range(RECEIVERS)]
        print(json.dumps(measure(running, [each.url for each in gateways], options.count, options.deleted), indent=1))
    return 0


def measure(running: RunningService, urls: list[str], count: int, deleted: int) -> dict[str, Any]:
    add(running, urls, deleted)
    with running.database.writing() as tx:
        tx.execute(delete(delivery))
    add(running, urls, count)
    database_before = processor_seconds(running)
    running.start("worker")
    wait_until(lambda: count_delivered(running.database) > 0, "the first delivery", PATIENCE_SECONDS)
    began, used, done = time.monotonic(), workers_seconds(running), count_delivered(running.database)
    all_used = processor_seconds(running)
    while count_delivered(running.database) < count:
        time.sleep(LOOK_SECONDS)
    seconds = time.monotonic() - began
    worker, everything = workers_seconds(running) - used, processor_seconds(running) - all_used
    done = count - done
    return {
        "deliveries": done,
        "per_second": round(done / seconds),
        "worker_ms": round(worker / done * 1000, 3),
        "database_ms": round((everything - worker) / done * 1000, 3),
        "start_seconds": round(all_used - database_before, 1),
    }


def add(running: RunningService, urls: list[str], count: int) -> None:
    with running.database.writing() as tx:
        owners = [(url, *add_owner(tx, running.workspace.id, url)) for url in urls]
    events = [
        NewDelivery("mo_sms", url, "text/plain", BODY, channel_id=channel_id, contact_id=contact_id)
        for url, channel_id, contact_id in (owners[number % len(owners)] for number in range(count))
    ]
    with running.database.writing() as tx:
        for first in range(0, count, 1000):
            record_deliveries(tx, running.workspace.id, events[first : first + 1000])


def add_owner(tx: Transaction, workspace_id: int, url: str) -> tuple[int, int]:
    """A channel that signs its events, and a contact whom they concern; their ids."""
    owned = {"workspace_id": workspace_id, "created_on": tx.now}
    secret = {"webhook_url": url, "webhook_secret": new_webhook_secret()}
    channel_id = tx.insert(channel, type=GATEWAY_TYPE, name="Gateway", schemes=["tel"], **owned, **secret)
    return channel_id, tx.insert(contact, name="Amina", status="active", modified_on=tx.now, fields={}, **owned)


def count_delivered(database: Database) -> int:
    with database.reading() as tx:
        found = select(func.count()).select_from(delivery).where(delivery.c.status == DELIVERED)
        return int(tx.execute(found).scalar_one())


def workers_seconds(running: RunningService) -> float:
    """What the processes of the worker have used so far."""
    return processor_seconds(running, only="worker")


if __name__ == "__main__":
    sys.exit(main())
