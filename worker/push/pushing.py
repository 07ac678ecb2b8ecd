"""Pushes phones that something waits for, by a dispatcher of the rows that are due: by Firebase those that have a token
of it, and others at the UnifiedPush endpoints that they have named. Each provider of a workspace is a receiver, so one
that is slow delays no other.

An endpoint is called only if its phone is claimed, by the client that calls webhooks, so under the same rules about
networks and ports; it gets the same small body whatever happened, and nothing of its answer is used but the status.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

import orjson

from persistence.database import Transaction
from persistence.relayers.commands import FCM
from persistence.relayers.pushes import (
    LATER,
    REFUSED,
    SENT,
    Push,
    PushOutcome,
    lease_pushes,
    list_due_pushes,
    record_pushes,
)
from worker.dispatcher import LEASE_FACTOR, AfterCommit, Finished, Leased, LeasedQueue, ReceiverSlots, begin_dispatching
from worker.http.connections import SendFailed, read_retry_after
from worker.metrics import pushes
from worker.push.fcm import AccountUnusable, TokenUnknown, Unavailable, open_account
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.push")

SLOTS = 64
SLOTS_PER_RECEIVER = 8
GONE = (404, 410)
LONGEST_PAUSE_SECONDS = 3600.0
BODY = orjson.dumps({"msg": "sync"})
HEADERS = {"Content-Type": "application/json", "TTL": "600", "Urgency": "high", "Topic": "sync"}
"""Those of Web Push (RFC 8030): by then the phone has come by itself, and of several that wait one is enough."""
UNIFIED_PUSH = "unified_push"


def begin_pushes(runtime: Runtime) -> Callable[[], bool]:
    return begin_dispatching(runtime, PushQueue(runtime), ReceiverSlots(SLOTS, first=SLOTS_PER_RECEIVER))


class PushQueue(LeasedQueue[Push, PushOutcome]):
    """The queue of due pushes."""

    name = "pushes"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._clock = runtime.database.clock
        self._lease = timedelta(seconds=runtime.http.total_timeout_seconds * LEASE_FACTOR)
        self._account = open_account(runtime.settings, runtime.http, self._clock)

    def list_due(self, tx: Transaction) -> list[str]:
        is_paused = self._account is not None and self._account.is_paused(tx.now)
        return [f"{workspace_id} {via}" for workspace_id, via in list_due_pushes(tx) if via != FCM or not is_paused]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[Push]:
        wanted = {_read_receiver(receiver): room for receiver, room in rooms.items()}
        missing = {via for _, via in wanted if not self._is_available(via)}
        leased = lease_pushes(tx, wanted, self._lease, missing)
        return Leased([(f"{push.workspace_id} {push.via}", push) for push in leased])

    def call(self, item: Push) -> tuple[PushOutcome, bool]:
        outcome, has_answered = self._by_fcm(item) if item.via == FCM else self._by_endpoint(item)
        if outcome.error is not None:
            logger.warning("the phone %s was not pushed by %s: %s", item.channel_id, item.via, outcome.error)
        return outcome, has_answered

    def record(self, tx: Transaction, finished: Sequence[Finished[Push, PushOutcome]]) -> AfterCommit:
        outcomes = [each.result or PushOutcome(each.item, LATER, "The service itself failed.") for each in finished]
        record_pushes(tx, outcomes)
        return lambda: self._count(outcomes)

    def _is_available(self, via: str) -> bool:
        return self._account is not None if via == FCM else self._runtime.settings.unified_push

    def _by_fcm(self, push: Push) -> tuple[PushOutcome, bool]:
        account = self._account
        assert account is not None, "nothing is leased for Firebase without an account"
        if account.is_paused(self._clock()):
            return PushOutcome(push, LATER, again_on=account.paused_until, was_tried=False), True
        try:
            account.push(push.token)
        except TokenUnknown as error:
            return PushOutcome(push, REFUSED, str(error)), True
        except AccountUnusable as error:
            logger.error("Firebase does not take pushes: %s; see `relayboard doctor`", error)
            return PushOutcome(push, LATER, str(error), account.paused_until, was_tried=False), True
        except Unavailable as error:
            return PushOutcome(push, LATER, str(error), error.again_on), error.again_on is not None
        return PushOutcome(push, SENT), True

    def _by_endpoint(self, push: Push) -> tuple[PushOutcome, bool]:
        try:
            answer = self._runtime.http.send("POST", push.token, headers=HEADERS, body=BODY)
        except SendFailed as error:
            return PushOutcome(push, LATER, str(error)), False
        if 200 <= answer.status < 300:
            return PushOutcome(push, SENT), True
        sentence = f"The endpoint answered with status {answer.status}."
        if answer.status in GONE:
            return PushOutcome(push, REFUSED, sentence), True
        now = self._clock()
        asked = read_retry_after(answer.headers.get("Retry-After"), now)
        wait = None if asked is None else timedelta(seconds=min(max(asked, 0.0), LONGEST_PAUSE_SECONDS))
        return PushOutcome(push, LATER, sentence, None if wait is None else now + wait), True

    def _count(self, outcomes: Sequence[PushOutcome]) -> None:
        if self._runtime.settings.metrics:
            for each in outcomes:
                pushes.labels(FCM if each.push.via == FCM else UNIFIED_PUSH, each.state).inc()


def _read_receiver(name: str) -> tuple[int, str]:
    workspace_id, _, via = name.partition(" ")
    return int(workspace_id), via
