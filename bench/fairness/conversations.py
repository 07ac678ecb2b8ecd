"""Contacts of one workspace wait for replies while another calls services that are silent, or floods."""

import argparse
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, select

from bench.fairness.tenants import LONGEST_WAIT_SECONDS, LOOK_SECONDS, Tenant, compare, measure_replies, service
from bench.gateway_process import gateway_process
from bench.gateways import Gateway
from flows.urns import Urn
from persistence.contacts.urns import ensure_owners
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.messages.incoming import Received, store_received
from persistence.messages.states import INCOMING, QUEUED
from persistence.statistics import learn_filled_tables
from persistence.tables.messages import message
from testbed.flow_rows import say, uuid_of
from testbed.gateways import queue_messages
from testbed.running import wait_until

CALLING, FLOODING = "call", "flood"
PAUSE_SECONDS = 0.02
"""Between two messages of contacts who write one after another."""


def call_webhook(url: str) -> dict[str, Any]:
    return {"type": "call_webhook", "uuid": uuid_of(f"call {url}"), "method": "GET", "url": url}


def measure_silent_webhook(options: argparse.Namespace) -> dict[str, Any]:
    """Contacts of A are in a flow whose webhook never answers; contacts of B write."""
    silent, fast = Gateway(None), Gateway(0.0)
    with service(options.database) as running:
        a = Tenant.begin(running, "A", fast.url)
        b = Tenant.begin(running, "B", fast.url)
        a.answer_keyword(CALLING, [call_webhook(silent.url), say("Called.")])
        b.greet()
        measure_replies(b, 5, first=1_000_000)
        alone = measure_replies(b, options.count)
        for number in range(options.contacts):
            a.write(number, CALLING)
        wait_until(lambda: silent.parts.total() > 0, "a call to the webhook")
        beside = measure_replies(b, options.count, first=options.count)
        return compare("silent-webhook", alone, beside, waiting_contacts=options.contacts, calls=silent.parts.total())


def measure_flood(options: argparse.Namespace) -> dict[str, Any]:
    """A gets and queues thousands of messages and has as many events to deliver, B's contacts write meanwhile. They
    wait until their reply is committed, and until the gateway has it (`handed_over`).
    """
    of_b = Gateway(0.0)
    with gateway_process() as of_all, service(options.database) as running:
        a = Tenant.begin(running, "A", of_all.url)
        b = Tenant.begin(running, "B", of_b.url)
        a.answer_keyword(FLOODING, [say("Got it.")])
        b.greet()
        _converse(b, of_b, range(1_000_000, 1_000_005))
        alone = _converse(b, of_b, range(options.count))
        queue_messages(running.database, a.workspace, a.channel_id, options.queued, is_bulk=True)
        _queue_deliveries(a, of_all.url, options.deliveries)
        # A worker does so a few seconds later; one statement for thousands of new senders must not come before.
        learn_filled_tables(running.database)
        _receive_at_once(a, options.flood)
        began, calls = time.monotonic(), of_all.calls
        beside: list[Waits] = []
        while len(beside) < options.count and has_unhandled(a):
            beside += _converse(b, of_b, [options.count + len(beside)])
        seconds, left = time.monotonic() - began, count_unhandled(a)
        rates = {
            "handled": round((options.flood - left) / seconds, 1),
            "calls": round((of_all.calls - calls) / seconds, 1),
        }
        replied = [[each.until_reply for each in waits] for waits in (alone, beside)]
        handed = [[each.until_handed_over for each in waits] for waits in (alone, beside)]
        handed_over = compare("flood, handed over", *handed)
        return compare("flood", *replied, handed_over=handed_over, flood_per_second=rates, unhandled_at_end=left)


class Waits(NamedTuple):
    """The seconds from a message of a contact until its reply was committed, and until the gateway had it."""

    until_reply: float
    until_handed_over: float


def _converse(tenant: Tenant, gateway: Gateway, numbers: Iterable[int]) -> list[Waits]:
    """Contacts write one after another, each when the gateway has the reply to the one before."""
    waits = []
    for number in numbers:
        before = gateway.parts.total()
        until_reply = tenant.wait_for_reply(number)
        began = time.monotonic()
        while gateway.parts.total() == before and time.monotonic() - began < LONGEST_WAIT_SECONDS:
            time.sleep(LOOK_SECONDS)
        waits.append(Waits(until_reply, until_reply + time.monotonic() - began))
        time.sleep(PAUSE_SECONDS)
    return waits


def _queue_deliveries(tenant: Tenant, url: str, count: int) -> None:
    events = [NewDelivery("mo_sms", url, "text/plain", b"x=1", channel_id=tenant.channel_id) for _ in range(count)]
    with tenant.running.database.writing() as tx:
        record_deliveries(tx, tenant.workspace.id, events)


def count_unhandled(tenant: Tenant) -> int:
    with tenant.running.database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(message).where(_is_unhandled(tenant))).scalar_one())


def has_unhandled(tenant: Tenant) -> bool:
    """Asked between two conversations, so that it must not be work."""
    newest_first = select(message.c.id).where(_is_unhandled(tenant)).order_by(message.c.created_on.desc()).limit(1)
    with tenant.running.database.reading() as tx:
        return tx.execute(newest_first).first() is not None


def _is_unhandled(tenant: Tenant) -> ColumnElement[bool]:
    mine = (message.c.workspace_id == tenant.workspace.id) & (message.c.direction == INCOMING)
    return mine & (message.c.status == QUEUED)


def _receive_at_once(tenant: Tenant, count: int) -> None:
    """Many messages arrive at the same time, as after a pause of a gateway."""
    with tenant.running.database.writing() as tx:
        urns = [Urn("tel", f"+25072{number:07}") for number in range(count)]
        owners = ensure_owners(tx, tenant.workspace.id, urns, channel_id=tenant.channel_id)
        received = [
            Received(owners[urn.identity], FLOODING, tx.now, f"flood-{number}") for number, urn in enumerate(urns)
        ]
        store_received(tx, tenant.workspace.id, tenant.channel_id, received)
