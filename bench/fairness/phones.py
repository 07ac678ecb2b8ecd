"""Many phones of one workspace relay SMS of the same senders at the same time. They share the processor with the
service, so they speak HTTP in the plainest way that Python has.
"""

import argparse
import itertools
import threading
import time
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlsplit

from sqlalchemy import text

from bench.fairness.tenants import Tenant, describe, processor_seconds, service
from bench.gateways import Gateway
from persistence.relayers.relayers import claim_phone
from relayboard.phone.phone import HttpTransport, Phone, sign_body, write_body
from testbed.running import RunningService

SENDERS = 50
"""As many as a phone reports in one sync."""
NUMBERS = 10_000_000


def measure_phones(options: argparse.Namespace) -> dict[str, Any]:
    """SMS per second of twenty phones whose syncs all bring one SMS of each of the same fifty senders."""
    return {"experiment": "phones", **_measure(options, SENDERS)}


def measure_new_senders(options: argparse.Namespace) -> dict[str, Any]:
    """The same with SMS of people who never wrote before."""
    return {"experiment": "new-senders", **_measure(options, NUMBERS)}


def _measure(options: argparse.Namespace, people: int) -> dict[str, Any]:
    """What phones relay when so many people write, in turns."""
    with service(options.database) as running:
        tenant = Tenant.begin(running, "A", Gateway(0.0).url)
        phones = [_claim(tenant, number) for number in range(options.phones)]
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


def _claim(tenant: Tenant, number: int) -> Phone:
    phone = Phone(HttpTransport(tenant.running.url))
    phone.register()
    with tenant.running.database.writing() as tx:
        claim_phone(tx, tenant.workspace, phone.state.claim_code or "", f"+25078899{number:04}", None)
    phone.sync()
    return phone


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
    moment = int(time.time() * 1000)
    identity = {"cmd": "fcm", "fcm_id": phone.state.push_token, "uuid": phone.state.device_uuid}
    # Each phone has read its own SMS in an order of its own.
    turn = next(numbers)
    first = turn if people == SENDERS else turn * SENDERS
    reports = [
        {
            "cmd": "mo_sms",
            "phone": f"+2507{(first + index) % people:08}",
            "ts": moment,
            "msg": f"sms {next(numbers)}",
            "p_id": index,
        }
        for index in range(SENDERS)
    ]
    body = write_body([identity, *reports])
    ts = str(int(time.time()))
    signature = quote(sign_body(phone.state.secret or "", ts, body))
    path = f"/relayers/relayer/sync/{phone.state.relayer_id}/?ts={ts}&signature={signature}"
    headers = {"Content-Type": "application/json; charset=utf-8"}
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content
