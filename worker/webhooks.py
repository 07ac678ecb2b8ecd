"""Delivering events to webhooks.

One thread per process, the dispatcher, does everything with the database: in one short transaction it records what came
of finished calls and leases as many due deliveries as there are hands free. The hands, a pool of threads, only call
receivers. So no transaction is open while a receiver is called, and each receiver occupies few hands: one that is slow
or dead does not delay the others.
"""

import contextlib
import heapq
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from persistence.database import Transaction
from persistence.delivery_leases import (
    AttemptOutcome,
    DueDelivery,
    Signer,
    find_signers,
    lease_deliveries,
    list_due_receivers,
    record_attempt,
    record_attempts,
)
from worker.attempts import Attempt, call_receiver, judge
from worker.hands import Hands
from worker.receiver_health import Recorded, note_health
from worker.replies import may_be_answered, send_reply
from worker.services import Services

logger = logging.getLogger("relayboard.webhooks")

LEASE_FACTOR = 2
"""A lease lasts so many times the limit of a call, to leave time for recording what came of it."""
PAUSE_AFTER_ERROR_SECONDS = 1.0
GATHER_SECONDS = 0.005


def begin_webhooks(services: Services) -> Callable[[], bool]:
    """The step that wakes this process's dispatcher; the dispatcher ends when the services close."""
    dispatcher = Dispatcher(services)
    services.closing.callback(dispatcher.stop)
    dispatcher.start()

    def step() -> bool:
        dispatcher.wake()
        return False

    return step


class Dispatcher:
    """Leases due deliveries, has receivers called, records outcomes, and is back in time for the retries it made."""

    def __init__(self, services: Services, hands: Hands | None = None) -> None:
        self._services = services
        self._hands = hands or Hands()
        self._lease = timedelta(seconds=services.http.total_timeout_seconds * LEASE_FACTOR)
        self._switch_off_after = timedelta(days=services.settings.webhook_switch_off_days)
        self._pool = ThreadPoolExecutor(self._hands.total, thread_name_prefix="webhook")
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._news: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self._unrecorded: list[Attempt] = []
        self._retries: list[datetime] = []

    def start(self) -> None:
        self._thread.start()
        self.wake()

    def wake(self) -> None:
        """Look for due deliveries now."""
        self._news.put(None)

    def stop(self) -> None:
        """Start no further call; returns when those under way have ended and are recorded."""
        self._services.stopping.set()
        self.wake()
        self._thread.join()
        self._pool.shutdown()

    def _run(self) -> None:
        while not self._services.stopping.is_set() or self._hands.busy:
            self._collect()
            try:
                self._record_replied()
                self._record_and_lease()
            except Exception:
                # This thread must survive whatever the database does. What is not recorded stays in memory; should the
                # process end before it is, the leases run out and the events are sent again.
                logger.exception("deliveries could not be recorded or leased")
                self._services.stopping.wait(PAUSE_AFTER_ERROR_SECONDS)
                self._record_singly()
                self.wake()

    def _collect(self) -> None:
        """Waits until something happened or a retry is due, and takes in everything that has happened."""
        news: list[Attempt | None] = []
        with contextlib.suppress(queue.Empty):
            news.append(self._news.get(timeout=self._seconds_to_retry()))
            # While others are calling, a moment's patience makes one transaction of many.
            patient_until = time.monotonic() + (GATHER_SECONDS if self._hands.busy else 0.0)
            while len(news) < self._hands.total:
                news.append(self._news.get(timeout=max(patient_until - time.monotonic(), 0.0)))
        for attempt in news:
            if attempt is not None:
                self._hands.release(attempt.delivery.receiver, has_answered=attempt.answer is not None)
                self._unrecorded.append(attempt)

    def _seconds_to_retry(self) -> float | None:
        now = self._services.database.clock()
        while self._retries and self._retries[0] <= now:
            heapq.heappop(self._retries)
            self.wake()
        return (self._retries[0] - now).total_seconds() if self._retries else None

    def _record_replied(self) -> None:
        """Records the calls whose answers hold a message, each in a transaction of its own with that message."""
        for attempt in [attempt for attempt in self._unrecorded if _holds_message(attempt)]:
            try:
                recorded = self._services.database.write(partial(self._record_and_reply, attempt))
            except Exception:
                # Whatever is wrong with a reply, the event was accepted: it is recorded with the others.
                logger.exception("the reply to event %s could not be sent", attempt.delivery.uuid)
            else:
                recorded.tell(counts=self._services.settings.metrics)
                self._unrecorded.remove(attempt)

    def _record_and_lease(self) -> None:
        """Records all other calls and hands out what is due."""
        if not self._unrecorded and not self._is_anything_due():
            return
        with self._services.database.writing() as tx:
            recorded = self._record(tx, self._unrecorded)
            leased = [] if self._services.stopping.is_set() else self._lease_due(tx)
            signers = find_signers(tx, {due.channel_id for due in leased if due.channel_id is not None})
        recorded.tell(counts=self._services.settings.metrics)
        self._unrecorded.clear()
        for due in leased:
            self._hands.take(due.receiver)
            self._pool.submit(self._call, due, None if due.channel_id is None else signers.get(due.channel_id))

    def _record_singly(self) -> None:
        """After a failure: one attempt that cannot be recorded must not keep the others from it.

        It is let go; its lease runs out, and its event is sent again.
        """
        for attempt in list(self._unrecorded):
            try:
                with self._services.database.writing() as tx:
                    recorded = self._record(tx, [attempt])
                recorded.tell(counts=self._services.settings.metrics)
            except (OperationalError, PoolTimeout):
                return  # the database is away, and nothing is wrong with the attempts
            except Exception:
                logger.exception("an attempt of event %s cannot be recorded", attempt.delivery.uuid)
            self._unrecorded.remove(attempt)

    def _is_anything_due(self) -> bool:
        # Asked outside a writing transaction, which on SQLite would keep all other writers waiting.
        with self._services.database.reading() as tx:
            return bool(self._hands.share(list_due_receivers(tx)))

    def _lease_due(self, tx: Transaction) -> list[DueDelivery]:
        return lease_deliveries(tx, self._hands.share(list_due_receivers(tx)), self._lease)

    def _call(self, due: DueDelivery, signer: Signer | None) -> None:
        """What a hand does: one call. Always reports, or the hand would count as busy for ever."""
        attempt = Attempt(due, None, "The delivery failed inside the service.", 0.0)
        try:
            attempt = call_receiver(self._services.http, due, signer, self._services.database.clock())
        finally:
            self._news.put(attempt)

    def _record(self, tx: Transaction, attempts: Sequence[Attempt]) -> Recorded:
        judged = [(attempt.delivery, self._judge(attempt, tx.now)) for attempt in attempts]
        record_attempts(tx, judged)
        return note_health(tx, judged, self._switch_off_after)

    def _record_and_reply(self, attempt: Attempt, tx: Transaction) -> Recorded:
        outcome = self._judge(attempt, tx.now)
        if record_attempt(tx, attempt.delivery, outcome) and attempt.answer is not None:
            send_reply(tx, attempt.delivery, attempt.answer)
        return note_health(tx, [(attempt.delivery, outcome)], self._switch_off_after)

    def _judge(self, attempt: Attempt, now: datetime) -> AttemptOutcome:
        outcome = judge(attempt, now, self._services.chance(), self._services.settings.webhook_retry_delays_seconds)
        if outcome.retry_at is not None:
            heapq.heappush(self._retries, outcome.retry_at)
        return outcome


def _holds_message(attempt: Attempt) -> bool:
    answer = attempt.answer
    return answer is not None and 200 <= answer.status < 300 and may_be_answered(attempt.delivery, answer)
