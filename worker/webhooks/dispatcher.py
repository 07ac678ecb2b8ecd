"""Delivers events to webhooks, by a dispatcher of due deliveries."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from persistence.database import Transaction
from persistence.deliveries.failing_receivers import Endpoint, GivenUp, SwitchedOff, note_outcomes
from persistence.deliveries.leases import (
    AttemptOutcome,
    DueDelivery,
    list_due_receivers,
    note_ignored,
    record_attempt,
    record_attempts,
)
from persistence.deliveries.paced_leases import lease_within_paces
from persistence.deliveries.signers import Signer, find_signers
from persistence.tables.deliveries import DELIVERED, FAILED
from worker.callers import Callers, Finished, LoopCallers
from worker.dispatcher import LEASE_FACTOR, AfterCommit, CalledQueue, Leased, begin_dispatching
from worker.metrics import count_attempt, count_switched_off
from worker.receiver_slots import ReceiverSlots
from worker.runtime import Runtime
from worker.webhooks.attempts import Attempt, call_receiver, judge
from worker.webhooks.reply import may_be_answered, say_ignored, send_reply

logger = logging.getLogger("relayboard.webhooks")

SLOTS = 128
SLOTS_PER_RECEIVER = 8

Judged = Sequence[tuple[DueDelivery, AttemptOutcome]]
Signed = tuple[DueDelivery, Signer | None]
Call = Finished[Signed, Attempt]


@dataclass(slots=True)
class Recorded:
    """What a transaction recorded, for the log and the metrics after its commit."""

    judged: Judged
    switched_off: list[SwitchedOff] = field(default_factory=list)

    def report(self, *, counts: bool) -> None:
        """Logs which receivers were switched off, and counts everything for `/metrics` unless that is off."""
        if counts:
            for _, outcome in self.judged:
                count_attempt(outcome.state, outcome.delay_seconds)
            for each in self.switched_off:
                count_switched_off(each.endpoint.kind)
        for each in self.switched_off:
            logger.warning(
                "the webhook of %s %s was switched off: %s", each.endpoint.kind, each.endpoint.number, each.reason
            )


def begin_webhooks(runtime: Runtime) -> Callable[[], bool]:
    return begin_dispatching(runtime, DeliveryQueue(runtime), ReceiverSlots(SLOTS, first=SLOTS_PER_RECEIVER))


class DeliveryQueue(CalledQueue[Signed, Attempt]):
    """The queue of deliveries, with retries by the retry rule and replies that become messages."""

    name = "webhooks"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lease = timedelta(seconds=runtime.http.total_timeout_seconds * LEASE_FACTOR)
        self._switch_off_after = timedelta(days=runtime.settings.webhook_switch_off_days)
        self._retries: list[datetime] = []

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {receiver}" for workspace_id, receiver in list_due_receivers(tx)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[Signed]:
        wanted = {_read_receiver(name): room for name, room in rooms.items()}
        leased, look_again_on = lease_within_paces(tx, wanted, self._lease)
        signers = find_signers(tx, leased)
        items = [(f"{due.workspace_id} {due.receiver}", (due, signers.get(due.id))) for due in leased]
        return Leased(items, look_again_on)

    def callers(self, total: int) -> Callers[Signed, Attempt]:
        return LoopCallers(self.name, self._runtime.http, self.call)

    async def call(self, item: Signed) -> tuple[Attempt, bool]:
        due, signer = item
        attempt = await call_receiver(self._runtime.http, due, signer, self._runtime.database.clock())
        return attempt, attempt.answer is not None

    def record_alone(self, finished: Call) -> AfterCommit | None:
        """Records a call whose response contains a message, together with that message."""
        attempt = finished.result
        if attempt is None or not _holds_message(attempt):
            return None
        return self._report(self._runtime.database.write(partial(self._record_and_reply, attempt)))

    def record(self, tx: Transaction, finished: Sequence[Call]) -> AfterCommit:
        judged = [
            (attempt.delivery, _with_reason(attempt, self._judge(attempt, tx.now)))
            for attempt in map(_attempt_of, finished)
        ]
        record_attempts(tx, judged)
        return self._report(note_health(tx, judged, self._switch_off_after))

    def next_look(self, finished: Sequence[Call]) -> Sequence[datetime]:
        retries, self._retries = self._retries, []
        return retries

    def _report(self, recorded: Recorded) -> AfterCommit:
        return partial(recorded.report, counts=self._runtime.settings.metrics)

    def _record_and_reply(self, attempt: Attempt, tx: Transaction) -> Recorded:
        outcome = self._judge(attempt, tx.now)
        if record_attempt(tx, attempt.delivery, outcome) and attempt.answer is not None:
            sent = send_reply(tx, attempt.delivery, attempt.answer)
            if isinstance(sent, str):
                note_ignored(tx, attempt.delivery, sent)
        return note_health(tx, [(attempt.delivery, outcome)], self._switch_off_after)

    def _judge(self, attempt: Attempt, now: datetime) -> AttemptOutcome:
        delays_seconds = self._runtime.settings.webhook_retry_delays_seconds
        outcome = judge(attempt, now, self._runtime.chance(), delays_seconds)
        if outcome.retry_at is not None:
            self._retries.append(outcome.retry_at)
        return outcome


def _read_receiver(name: str) -> tuple[int, str]:
    """The workspace and the receiver of a slot."""
    workspace_id, _, receiver = name.partition(" ")
    return int(workspace_id), receiver


def _attempt_of(finished: Call) -> Attempt:
    return finished.result or Attempt(finished.item[0], None, "The delivery failed inside the service.", 0.0)


def _with_reason(attempt: Attempt, outcome: AttemptOutcome) -> AttemptOutcome:
    """With the reason why a reply was ignored."""
    if outcome.state != DELIVERED or attempt.answer is None or not attempt.answer.body:
        return outcome
    reason = say_ignored(attempt.delivery, attempt.answer)
    return outcome if reason is None else replace(outcome, error=reason)


def _holds_message(attempt: Attempt) -> bool:
    answer = attempt.answer
    return answer is not None and 200 <= answer.status < 300 and may_be_answered(attempt.delivery, answer)


def note_health(tx: Transaction, judged: Judged, switch_off_after: timedelta) -> Recorded:
    """Stores which receivers accepted and which were given up, in the transaction that records the attempts."""
    accepted = {endpoint_of(leased) for leased, outcome in judged if outcome.state == DELIVERED}
    given_up: dict[Endpoint, GivenUp] = {}
    for leased, outcome in judged:
        if outcome.state == FAILED and not outcome.ends_subscription:
            endpoint = endpoint_of(leased)
            before = given_up.get(endpoint)
            given_up[endpoint] = GivenUp(1 if before is None else before.count + 1, _say_why(outcome))
    concerned = {each for each in (*accepted, *given_up) if each.number is not None}
    return Recorded(
        judged,
        note_outcomes(
            tx,
            accepted & concerned,
            {endpoint: given_up[endpoint] for endpoint in concerned if endpoint in given_up},
            switch_off_after,
        ),
    )


def endpoint_of(leased: DueDelivery) -> Endpoint:
    """The channel or subscriber to whose URL a delivery goes."""
    if leased.subscriber_id is not None:
        return Endpoint(leased.workspace_id, subscriber_id=leased.subscriber_id)
    return Endpoint(leased.workspace_id, channel_id=leased.channel_id)


def _say_why(outcome: AttemptOutcome) -> str:
    return outcome.error or f"the receiver responded with status {outcome.status}."
