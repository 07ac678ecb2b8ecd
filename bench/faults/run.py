"""A run: clients that make events, each by the same request until it is answered, and what is known of them."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import psycopg2
import requests
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from bench.faults.surroundings import Surroundings
from persistence.channels.channels import new_webhook_secret
from persistence.deliveries.outbox import Ledger, count_deliveries
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.tables.deliveries import PENDING, delivery
from testbed.gateways import GATEWAY_TYPE
from testbed.running import RunningService

CLIENTS = 8
REPEAT_SECONDS = 0.05
CREATED, NO_ANSWER = 201, 0


@dataclass(slots=True)
class Run:
    """What happens in a run. `made` are the UUIDs of events by the receiver's behavior; `answers` counts the answers
    of the API by status, those that did not come as 0.
    """

    around: Surroundings
    made: dict[str, list[str]] = field(default_factory=dict)
    under_way: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    misses: Counter[str] = field(default_factory=Counter)
    restarted: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ending: threading.Event = field(default_factory=threading.Event)

    @property
    def service(self) -> RunningService:
        return self.around.service

    @property
    def refused(self) -> int:
        """How many requests were not answered as they should be."""
        return self.answers.total() - self.answers[CREATED]

    def note(self, status: int) -> None:
        with self.lock:
            self.answers[status] += 1

    def begin_clients(self, urls: dict[str, str], planned: Sequence[str]) -> list[threading.Thread]:
        """`urls` of the receivers by behavior, and for which of them the events are."""
        keys = {behavior: add_channel(self, url) for behavior, url in urls.items()}
        parts = [planned[first::CLIENTS] for first in range(CLIENTS)]
        clients = [threading.Thread(target=make_events, args=(self, keys, part), daemon=True) for part in parts]
        for client in clients:
            client.start()
        return clients


def add_channel(run: Run, url: str) -> str:
    uuid = new_uuid()
    with run.service.database.writing() as tx:
        owned = {"workspace_id": run.service.workspace.id, "created_on": tx.now, "schemes": ["tel"]}
        secret = {"webhook_url": url, "webhook_secret": new_webhook_secret()}
        tx.insert(channel, uuid=uuid, type=GATEWAY_TYPE, name="Gateway", **owned, **secret)
    return uuid


def make_events(run: Run, keys: dict[str, str], planned: Sequence[str]) -> None:
    """Makes one event after the other, each by the same request until it is answered."""
    for behavior in planned:
        headers = {"Authorization": f"Token {run.service.token}", "Idempotency-Key": new_uuid()}
        while not run.ending.is_set():
            uuid = ask(run, keys[behavior], headers)
            if uuid is not None:
                with run.lock:
                    run.made.setdefault(behavior, []).append(uuid)
                break
            run.ending.wait(REPEAT_SECONDS)


def ask(run: Run, receiver: str, headers: dict[str, str]) -> str | None:
    """The UUID of the event, None if the request has to be repeated."""
    with run.lock:
        run.under_way += 1
    try:
        url = f"{run.service.url}/api/v2/webhook_tests.json"
        answer = requests.post(url, params={"receiver": receiver}, headers=headers, timeout=60)
    except requests.RequestException:
        run.note(NO_ANSWER)
        return None
    finally:
        with run.lock:
            run.under_way -= 1
    run.note(answer.status_code)
    return str(answer.json()["delivery"]) if answer.status_code == CREATED else None


def while_database_is_there(ask_it: Callable[[], bool]) -> bool:
    """The answer, asked again while the database is away."""
    while True:
        try:
            return ask_it()
        except (DBAPIError, psycopg2.OperationalError):
            time.sleep(REPEAT_SECONDS)


def count_leased(run: Run) -> int:
    """Deliveries that a worker calls, or is about to record, at this moment."""
    with run.service.database.reading() as tx:
        is_leased = (delivery.c.status == PENDING) & (delivery.c.due_on != delivery.c.scheduled_on)
        found = select(func.count()).select_from(delivery).where(is_leased, delivery.c.due_on > tx.now)
        return int(tx.execute(found).scalar_one())


def is_at_work(run: Run) -> bool:
    """Whether a request or a delivery is under way."""
    return run.under_way > 0 or count_leased(run) > 0


def is_over(run: Run, count: int) -> bool:
    try:
        ledger = read_ledger(run)
    except DBAPIError:
        return False
    return sum(map(len, run.made.values())) == count and ledger.pending == 0


def read_ledger(run: Run) -> Ledger:
    with run.service.database.reading() as tx:
        return count_deliveries(tx, run.service.workspace.id)
