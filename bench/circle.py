"""`python -m bench.circle`: two gateways whose flows answer everything write to each other.

Each workspace has a flow for every message, and its gateway delivers what it sends to the other one at once. Prints
JSON: how many messages each sent before its answers were stopped and after how many seconds, how many failed as a
circle, its open alarms and how many contacts are marked. Fails (status 1) if one was not stopped within a minute.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs

import requests
from sqlalchemy import func, select

from bench.gateways import Gateway
from bench.tenants import Tenant, service
from persistence.tables.channels import channel_alarm
from persistence.tables.contacts import contact
from persistence.tables.flows import flow
from persistence.tables.messages import message
from persistence.triggers.records import CATCH_ALL, NewTrigger, create_trigger
from testbed.flow_rows import definition, node, say, store_flow

LONGEST_SECONDS = 60.0
NUMBERS = ("+250780000001", "+250780000002")


class Side:
    """A workspace, and when its gateway delivered each of its messages to the other one."""

    def __init__(self, number: str, pool: ThreadPoolExecutor) -> None:
        self.number = number
        self.times: list[float] = []
        self.other: Side | None = None
        self._pool = pool
        self.gateway = Gateway(0.0, hear=self.deliver)
        self.tenant: Tenant | None = None

    def deliver(self, call: bytes) -> None:
        self.times.append(time.monotonic())
        text = parse_qs(call.partition(b"\r\n\r\n")[2].decode())["text"][0]
        assert self.other is not None
        self._pool.submit(self.other.hear, self.number, text)

    def hear(self, number: str, text: str) -> None:
        assert self.tenant is not None
        requests.post(self.tenant.receive_url, data={"from": number, "text": text}, timeout=60).raise_for_status()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.circle", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="postgresql")
    options = parser.parse_args(arguments)
    sides = measure(options.database)
    print(json.dumps(sides, indent=1))
    is_stopped = all(side["failed"] and side["seconds"] < LONGEST_SECONDS for side in sides[:1])
    return 0 if is_stopped else 1


def measure(kind: str) -> list[dict[str, Any]]:
    with service(kind) as running, ThreadPoolExecutor(4) as pool:
        sides = [Side(number, pool) for number in NUMBERS]
        for side, other, name in zip(sides, reversed(sides), "AB", strict=True):
            side.other = other
            side.tenant = Tenant.begin(running, name, side.gateway.url)
            catch_all(side.tenant)
        began = time.monotonic()
        sides[0].hear(NUMBERS[1], "Hello")
        threading.Event().wait(LONGEST_SECONDS)
        described = [describe(side, began) for side in sides]
    return sorted(described, key=lambda side: -side["failed"])


def catch_all(tenant: Tenant) -> None:
    """A flow that answers everything."""
    uuid = store_flow(
        tenant.running.database, tenant.workspace, definition("All", [node("all", [say("We are closed.")])])
    )
    with tenant.running.database.writing() as tx:
        mine = (flow.c.uuid == uuid) & (flow.c.workspace_id == tenant.workspace.id)
        flow_id = tx.execute(select(flow.c.id).where(mine)).scalar_one()
        create_trigger(tx, tenant.workspace.id, NewTrigger(CATCH_ALL, flow_id))


def describe(side: Side, began: float) -> dict[str, Any]:
    assert side.tenant is not None
    owner = side.tenant.workspace.id
    with side.tenant.running.database.reading() as tx:
        failed = (message.c.workspace_id == owner) & (message.c.failed_reason == "circle")
        marked = (contact.c.workspace_id == owner) & contact.c.answers_stopped_on.is_not(None)
        alarms = select(channel_alarm.c.kind).where(channel_alarm.c.workspace_id == owner)
        return {
            "sent": len(side.times),
            "seconds": round(max(side.times, default=began) - began, 1),
            "failed": tx.execute(select(func.count()).select_from(message).where(failed)).scalar_one(),
            "alarms": list(tx.execute(alarms).scalars()),
            "marked": tx.execute(select(func.count()).select_from(contact).where(marked)).scalar_one(),
        }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
