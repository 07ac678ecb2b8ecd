"""`python -m bench.fairness EXPERIMENT`: how long other workspaces wait while one uses all it can get. Each experiment
measures a workspace alone and next to another one in one run, with real API and worker processes, and prints JSON:
median and 99th percentile of both, and their ratio.
"""

import argparse
import itertools
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import requests
from sqlalchemy import ColumnElement, func, insert, select, text

from bench.data import build
from bench.gateways import Gateway, gateway_process
from bench.tenants import (
    LONGEST_WAIT_SECONDS,
    LOOK_SECONDS,
    SMS_PER_SYNC,
    SYNC_HEADERS,
    Tenant,
    claim,
    compare,
    describe,
    measure_replies,
    processor_seconds,
    service,
    sign_sync,
    write_sync,
)
from flows.urns import Urn
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.groups.smart_groups import create_query_group, refresh_contacts
from persistence.messages.incoming import Received, store_received
from persistence.sql.columns import new_uuid
from persistence.sql.statistics import learn_filled_tables
from persistence.tables.contacts import READY, contact, field, group
from persistence.tables.messages import INCOMING, QUEUED, message
from persistence.workspaces.records import Workspace
from relayboard.phone.phone import Phone
from testbed.flow_rows import say, uuid_of
from testbed.gateways import queue_messages
from testbed.running import RunningService, wait_until
from testbed.tokens import SECRET_KEY

CALLING, FLOODING = "call", "flood"
PAUSE_SECONDS = 0.02
"""Between two messages of contacts who write one after another."""

LONGEST_EVALUATION_SECONDS = 600.0
FIELDS = 10

SENDERS = SMS_PER_SYNC
NUMBERS = 10_000_000

SEARCHERS = 4
ABSENT = "never written by anybody"

Experiment = Callable[[argparse.Namespace], dict[str, Any]]


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


def count_unhandled(tenant: Tenant) -> int:
    with tenant.running.database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(message).where(_is_unhandled(tenant))).scalar_one())


def has_unhandled(tenant: Tenant) -> bool:
    """Asked between two conversations, so that it must not be work."""
    newest_first = select(message.c.id).where(_is_unhandled(tenant)).order_by(message.c.created_on.desc()).limit(1)
    with tenant.running.database.reading() as tx:
        return tx.execute(newest_first).first() is not None


def measure_evaluation(options: argparse.Namespace) -> dict[str, Any]:
    """Half of all contacts come into a new smart group; contacts of the workspace are changed meanwhile."""
    with service(options.database) as running:
        a = Tenant.begin(running, "A", Gateway(0.0).url)
        uuids = _add_contacts(running.database, a.workspace, options.contacts_of_group)
        _change(a, uuids, 20)
        alone = _change(a, uuids, options.count)
        began = time.monotonic()
        with running.database.writing() as tx:
            group_id = create_query_group(tx, a.workspace, "Half", "language = eng")
        beside: list[float] = []
        while not _is_ready(running.database, group_id) and time.monotonic() - began < LONGEST_EVALUATION_SECONDS:
            beside += _change(a, uuids, 1)
        seconds = round(time.monotonic() - began, 1)
        result = compare("evaluation", alone, beside, contacts=options.contacts_of_group, evaluation_seconds=seconds)
        return result | {"is_ready": _is_ready(running.database, group_id)}


def measure_smart_groups(options: argparse.Namespace) -> dict[str, Any]:
    """The processor time of this process for one contact that changed, in workspaces with one and with fifty groups."""
    with service(options.database) as running:
        costs = {}
        for count in (1, 50):
            tenant = Tenant.begin(running, f"{count} groups", "http://127.0.0.1:9/")
            _add_contacts(running.database, tenant.workspace, 100)
            _add_groups(running.database, tenant.workspace, count)
            costs[str(count)] = _time_refreshing(running.database, tenant.workspace, options.count)
        return {"experiment": "smart-groups", "cpu_ms": costs, "ratio": round(costs["50"] / costs["1"], 2)}


def measure_phones(options: argparse.Namespace) -> dict[str, Any]:
    """SMS per second of twenty phones whose syncs all bring one SMS of each of the same fifty senders."""
    return {"experiment": "phones", **_measure(options, SENDERS)}


def measure_new_senders(options: argparse.Namespace) -> dict[str, Any]:
    """The same with SMS of people who never wrote before."""
    return {"experiment": "new-senders", **_measure(options, NUMBERS)}


def measure_searches(options: argparse.Namespace) -> dict[str, Any]:
    """Four text searches without a match run for one workspace; another one asks for its labels."""
    with service(options.database) as running:
        facts = build(running.database, SECRET_KEY, options.messages, max(options.messages // 10, 1))
        b = Tenant.begin(running, "B", Gateway(0.0).url)
        _ask_labels(b, 20)
        alone = _ask_labels(b, options.count)
        ended = threading.Event()
        searched: list[float] = []
        threads = [
            threading.Thread(target=_search, args=(running.url, facts["token"], ended, searched))
            for _ in range(SEARCHERS)
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(searched) >= SEARCHERS, "the first searches")
        beside = _ask_labels(b, options.count)
        ended.set()
        for thread in threads:
            thread.join()
        return compare(
            "searches",
            alone,
            beside,
            messages=options.messages,
            searches=len(searched),
            slowest_search_seconds=max(searched),
        )


EXPERIMENTS: dict[str, Experiment] = {
    "silent-webhook": measure_silent_webhook,
    "flood": measure_flood,
    "searches": measure_searches,
    "evaluation": measure_evaluation,
    "phones": measure_phones,
    "new-senders": measure_new_senders,
    "smart-groups": measure_smart_groups,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="postgresql")
    parser.add_argument("--count", type=int, default=60, help="measured requests or messages, alone and beside")
    parser.add_argument("--contacts", type=int, default=6, help="contacts in the flow whose webhook is silent")
    parser.add_argument("--flood", type=int, default=2000, help="messages that come in at once")
    parser.add_argument("--messages", type=int, default=200_000, help="messages that are searched through")
    parser.add_argument("--contacts-of-group", type=int, default=20_000, help="contacts, half of them in the group")
    parser.add_argument("--phones", type=int, default=20, help="phones that relay SMS of the same senders")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the phones do")
    parser.add_argument("--deliveries", type=int, default=2000, help="events that wait for their receiver")
    parser.add_argument("--queued", type=int, default=2000, help="messages that wait for the gateway")
    options = parser.parse_args(arguments)
    print(json.dumps(EXPERIMENTS[options.experiment](options), indent=1))
    return 0


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


def _add_contacts(database: Database, workspace: Workspace, count: int) -> list[str]:
    with database.writing() as tx:
        rows: list[dict[str, Any]] = [
            {
                "uuid": new_uuid(),
                "workspace_id": workspace.id,
                "name": f"Contact {number}",
                "language": "eng" if number % 2 else "fra",
                "fields": {},
                "created_on": tx.now,
                "modified_on": tx.now,
            }
            for number in range(count)
        ]
        tx.execute(insert(contact), rows)
    return [str(row["uuid"]) for row in rows]


def _change(tenant: Tenant, uuids: list[str], count: int) -> list[float]:
    waits = []
    for number in range(count):
        began = time.monotonic()
        answer = tenant.session.post(
            f"{tenant.running.url}/api/v2/contacts.json",
            params={"uuid": uuids[(number * 7919 + int(began * 1000)) % len(uuids)]},
            json={"name": f"Changed {number}", "language": "eng" if number % 2 else "fra"},
            headers={"Authorization": f"Token {tenant.token}"},
            timeout=120,
        )
        answer.raise_for_status()
        waits.append(time.monotonic() - began)
        time.sleep(0.02)
    return waits


def _is_ready(database: Database, group_id: int) -> bool:
    with database.reading() as tx:
        return bool(tx.execute(select(group.c.status).where(group.c.id == group_id)).scalar_one() == READY)


def _add_groups(database: Database, workspace: Workspace, count: int) -> None:
    with database.writing() as tx:
        for number in range(FIELDS):
            kind = "number" if number % 2 else "text"
            named = {"key": f"f{number}", "name": f"F{number}", "name_key": f"f{number}"}
            tx.execute(insert(field).values(workspace_id=workspace.id, type=kind, created_on=tx.now, **named))
        for number in range(count):
            query = (
                f"f{number % FIELDS | 1} > {number}",
                f'f{number % 5 * 2} = "x{number}"',
                f'name ~ "n{number}"',
                f"f{number % FIELDS | 1} > {number} AND language = eng",
                f"tel ~ 07{number}",
            )[number % 5]
            create_query_group(tx, workspace, f"Group {number}", query)


def _time_refreshing(database: Database, workspace: Workspace, count: int) -> float:
    with database.reading() as tx:
        mine = contact.c.workspace_id == workspace.id
        ids = list(tx.execute(select(contact.c.id).where(mine).order_by(contact.c.id)).scalars())
    for number in range(10):
        with database.writing() as tx:
            refresh_contacts(tx, workspace, [ids[number]])
    began = time.process_time()
    for number in range(count):
        with database.writing() as tx:
            refresh_contacts(tx, workspace, [ids[number % len(ids)]])
    return round((time.process_time() - began) / count * 1000, 2)


def _measure(options: argparse.Namespace, people: int) -> dict[str, Any]:
    """What phones relay when so many people write, in turns."""
    with service(options.database, SYNC_HOLD_SECONDS="0") as running:
        tenant = Tenant.begin(running, "A", Gateway(0.0).url)
        phones = [
            claim(tenant.running.url, tenant.running.database, tenant.workspace, number)
            for number in range(options.phones)
        ]
        numbers = itertools.count()
        _sync(_connect(running.url), phones[0], numbers, people)
        waits: list[float] = []
        ends_at = time.monotonic() + options.seconds
        threads = [
            threading.Thread(target=_sync_until, args=(running.url, phone, numbers, people, ends_at, waits))
            for phone in phones
        ]
        began, used = time.monotonic(), processor_seconds(running)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rates = {
            "sms_per_second": round(len(waits) * SENDERS / (time.monotonic() - began)),
            "sms_per_processor_second": round(len(waits) * SENDERS / (processor_seconds(running) - used)),
            "deadlocks": _count_deadlocks(running),
        }
        return {"phones": options.phones, **rates, "syncs": describe(waits)}


def _count_deadlocks(running: RunningService) -> int:
    if running.database.sqlite:
        return 0
    mine = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    with running.database.reading() as tx:
        return int(tx.execute(text(mine)).scalar_one())


def _sync_until(
    url: str, phone: Phone, numbers: "itertools.count[int]", people: int, ends_at: float, waits: list[float]
) -> None:
    connection = _connect(url)
    began = time.monotonic()
    while True:  # at least one, however late the thread begins
        _sync(connection, phone, numbers, people)
        ended = time.monotonic()
        waits.append(ended - began)
        if ended >= ends_at:
            break
        began = ended
    connection.close()


def _connect(url: str) -> HTTPConnection:
    return HTTPConnection(urlsplit(url).netloc, timeout=120)


def _sync(connection: HTTPConnection, phone: Phone, numbers: "itertools.count[int]", people: int) -> None:
    # Each phone has read its own SMS in an order of its own.
    turn = next(numbers)
    first = turn if people == SENDERS else turn * SENDERS
    body = write_sync(
        phone, ((f"+2507{(first + index) % people:08}", f"sms {next(numbers)}") for index in range(SENDERS))
    )
    connection.request("POST", sign_sync(phone, body), body, SYNC_HEADERS)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content


def _ask_labels(tenant: Tenant, count: int) -> list[float]:
    waits = []
    for _ in range(count):
        began = time.monotonic()
        answer = tenant.session.get(
            f"{tenant.running.url}/api/v2/labels.json", headers={"Authorization": f"Token {tenant.token}"}, timeout=120
        )
        answer.raise_for_status()
        waits.append(time.monotonic() - began)
        time.sleep(0.05)
    return waits


def _search(url: str, token: str, ended: threading.Event, searched: list[float]) -> None:
    while not ended.is_set():
        began = time.monotonic()
        requests.get(
            f"{url}/api/v1/messages.json",
            params={"text": ABSENT},
            headers={"Authorization": f"Token {token}"},
            timeout=120,
        )
        searched.append(round(time.monotonic() - began, 2))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
