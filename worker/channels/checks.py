"""Asks providers to connect a channel, and whether its settings work, by a dispatcher of what is due. Each channel is a
receiver with one slot, so that a slow provider delays no other. What a provider says is judged by the channel's type.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from channels.calls import Refused, Request, Response, Sent
from channels.types import TYPES
from persistence.channels.checks import CONNECT, Check, CheckOutcome, lease_checks, list_due_checks, record_checks
from persistence.channels.settings import callback_path
from persistence.channels.traces import describe_request
from persistence.database import Transaction
from worker.dispatcher import (
    AfterCommit,
    Finished,
    Leased,
    LeasedQueue,
    ReceiverSlots,
    begin_dispatching,
    do_nothing,
)
from worker.http.connections import SendFailed
from worker.runtime import Runtime

SLOTS = 16
MOST_REQUESTS = 4
"""Of one connection."""
NO_URL = (
    "The service does not know its public URL, which the provider needs: set RELAYBOARD_BASE_URL, then connect the "
    "channel again."
)
UNREADABLE = "The settings of the channel cannot be decrypted."

logger = logging.getLogger("relayboard.worker")


def begin_checks(runtime: Runtime) -> Callable[[], bool]:
    return begin_dispatching(runtime, CheckQueue(runtime), ReceiverSlots(SLOTS, first=1))


class CheckQueue(LeasedQueue[Check, CheckOutcome]):
    """The queue of what providers are asked."""

    name = "checks"

    def __init__(self, runtime: Runtime) -> None:
        self._http = runtime.http
        self._root = runtime.settings.base_url.rstrip("/")
        self._lease = timedelta(seconds=runtime.http.total_timeout_seconds * (MOST_REQUESTS + 1))

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {channel_id}" for workspace_id, channel_id in list_due_checks(tx)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[Check]:
        leased = lease_checks(tx, [int(receiver.split()[1]) for receiver in rooms], self._lease)
        return Leased([(f"{check.workspace_id} {check.channel_id}", check) for check in leased])

    def call(self, item: Check) -> tuple[CheckOutcome, bool]:
        outcome, has_answered = self._ask(item)
        if outcome.error is not None:
            logger.warning("the %s of channel %s was not accepted: %s", item.kind, item.channel_id, outcome.error)
        return outcome, has_answered

    def record(self, tx: Transaction, finished: Sequence[Finished[Check, CheckOutcome]]) -> AfterCommit:
        record_checks(
            tx, [each.result or CheckOutcome(each.item, "The service itself met an error.") for each in finished]
        )
        return do_nothing

    def _ask(self, check: Check) -> tuple[CheckOutcome, bool]:
        """Makes the requests one after the other, up to the first that is not accepted."""
        if check.config is None or check.secret is None:
            return CheckOutcome(check, UNREADABLE, is_final=True), True
        if check.kind == CONNECT and not self._root:
            return CheckOutcome(check, NO_URL, is_final=True), True
        kind = TYPES[check.channel_type]
        assert kind.accepted is not None, "only providers that speak HTTP are asked"
        for request in self._list_requests(check):
            try:
                got = self._http.send(request.method, request.url, headers=request.headers, body=request.body)
            except SendFailed as error:
                return CheckOutcome(check, _hide(check, request, error.sentence)), False
            response = Response(got.status, {name.lower(): value for name, value in got.headers.items()}, got.body)
            result = kind.accepted(response, check.config)
            if not isinstance(result, Sent):
                is_final = isinstance(result, Refused)
                return CheckOutcome(check, _hide(check, request, result.reason), is_final), True
        return CheckOutcome(check), True

    def _list_requests(self, check: Check) -> Sequence[Request]:
        kind, config = TYPES[check.channel_type], check.config or {}
        if check.kind == CONNECT:
            path = callback_path(check.channel_type, check.channel_uuid, check.secret or "")
            return [] if kind.connect is None else kind.connect(config, self._root + path, check.secret or "")
        return [] if kind.check is None else [kind.check(config)]


def _hide(check: Check, request: Request, error: str) -> str:
    """An error without what the settings and the secret of the channel hold."""
    described = describe_request(check.channel_type, check.config or {}, request, None, error, check.secret)
    return str(described["error"])
