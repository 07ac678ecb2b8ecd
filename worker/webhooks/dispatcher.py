"""Delivering events to webhooks, by a dispatcher over the deliveries that are due."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from persistence.database import Transaction
from persistence.deliveries.leases import (
    AttemptOutcome,
    DueDelivery,
    lease_deliveries,
    list_due_receivers,
    record_attempt,
    record_attempts,
)
from persistence.deliveries.signers import Signer, find_signers
from worker.dispatcher import LEASE_FACTOR, Dispatcher, Finished, Leased, Tell
from worker.receiver_slots import ReceiverSlots
from worker.services import Services
from worker.webhooks.attempts import Attempt, call_receiver, judge
from worker.webhooks.receiver_health import Recorded, note_health
from worker.webhooks.replies import may_be_answered, send_reply

logger = logging.getLogger("relayboard.webhooks")

SLOTS = 64
SLOTS_PER_RECEIVER = 8

Signed = tuple[DueDelivery, Signer | None]
Call = Finished[Signed, Attempt]


def begin_webhooks(services: Services) -> Callable[[], bool]:
    """The step that wakes this process's dispatcher; the dispatcher ends when the services close."""
    slots = ReceiverSlots(SLOTS, first=SLOTS_PER_RECEIVER)
    dispatcher = Dispatcher(services, DeliveryQueue(services), slots)
    services.closing.callback(dispatcher.stop)
    dispatcher.start()

    def step() -> bool:
        dispatcher.wake()
        return False

    return step


class DeliveryQueue:
    """Deliveries to receivers of events, with retries by the retry rule and replies that become messages."""

    name = "webhooks"

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lease = timedelta(seconds=services.http.total_timeout_seconds * LEASE_FACTOR)
        self._switch_off_after = timedelta(days=services.settings.webhook_switch_off_days)
        self._retries: list[datetime] = []

    def list_due(self, tx: Transaction) -> list[str]:
        return list_due_receivers(tx)

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[Signed]:
        leased = lease_deliveries(tx, rooms, self._lease)
        signers = find_signers(tx, leased)
        return Leased([(due.receiver, (due, signers.get(due.id))) for due in leased])

    def call(self, item: Signed) -> tuple[Attempt, bool]:
        due, signer = item
        attempt = call_receiver(self._services.http, due, signer, self._services.database.clock())
        return attempt, attempt.answer is not None

    def record_alone(self, finished: Call) -> Tell | None:
        """Records a call whose answer holds a message, together with that message."""
        attempt = finished.result
        if attempt is None or not _holds_message(attempt):
            return None
        return self._tell(self._services.database.write(partial(self._record_and_reply, attempt)))

    def record(self, tx: Transaction, finished: Sequence[Call]) -> Tell:
        judged = [(attempt.delivery, self._judge(attempt, tx.now)) for attempt in map(_attempt_of, finished)]
        record_attempts(tx, judged)
        return self._tell(note_health(tx, judged, self._switch_off_after))

    def next_look(self, finished: Sequence[Call]) -> Sequence[datetime]:
        retries, self._retries = self._retries, []
        return retries

    def _tell(self, recorded: Recorded) -> Tell:
        return partial(recorded.tell, counts=self._services.settings.metrics)

    def _record_and_reply(self, attempt: Attempt, tx: Transaction) -> Recorded:
        outcome = self._judge(attempt, tx.now)
        if record_attempt(tx, attempt.delivery, outcome) and attempt.answer is not None:
            send_reply(tx, attempt.delivery, attempt.answer)
        return note_health(tx, [(attempt.delivery, outcome)], self._switch_off_after)

    def _judge(self, attempt: Attempt, now: datetime) -> AttemptOutcome:
        delays_seconds = self._services.settings.webhook_retry_delays_seconds
        outcome = judge(attempt, now, self._services.chance(), delays_seconds)
        if outcome.retry_at is not None:
            self._retries.append(outcome.retry_at)
        return outcome


def _attempt_of(finished: Call) -> Attempt:
    return finished.result or Attempt(finished.item[0], None, "The delivery failed inside the service.", 0.0)


def _holds_message(attempt: Attempt) -> bool:
    answer = attempt.answer
    return answer is not None and 200 <= answer.status < 300 and may_be_answered(attempt.delivery, answer)
