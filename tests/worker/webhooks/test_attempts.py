"""What one call of a receiver becomes: what is kept of its response, and how long it took."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import pytest

from persistence.deliveries.leases import AttemptOutcome, DueDelivery
from persistence.deliveries.receivers import Signer
from testbed.patience import PATIENCE_SECONDS
from tests.worker.receivers import Receiver, Reply
from worker.http.safe_http import SafeHttp
from worker.webhooks.dispatcher import DAMAGED, Attempt, call_receiver, judge

NOW = datetime(2026, 3, 2, 8, 10, tzinfo=UTC)
EVENT = DueDelivery(
    1, "uuid", 1, "mo_sms", 3, None, None, "receiver", "http://127.0.0.1/", "text/plain", "text=Hello", 0, 1, NOW, NOW
)
SIGNER = Signer("whsec_bm8=", None, None, retry_delays=(5.0,))


def call(receiver: Receiver, signer: Signer | None = None, **about: Any) -> Attempt:
    http = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=PATIENCE_SECONDS)
    return http.wait_for(call_receiver(http, EVENT._replace(url=receiver.url, **about), signer, NOW))


def outcome_of(attempt: Attempt) -> AttemptOutcome:
    return judge(attempt, NOW, 0.5, (10, 120, 900))


def test_of_the_headers_of_a_response_only_those_without_secrets_are_kept(receiver: Receiver) -> None:
    location = "https://example.org/" + "x" * 300
    headers = {"Content-Type": "text/plain", "Location": location, "Set-Cookie": "a=b", "X-Token": "t"}
    receiver.respond = lambda _request: Reply(302, b"away", headers)

    outcome = outcome_of(call(receiver))

    assert outcome.answer_headers == {"Content-Type": "text/plain", "Location": location[:200]}
    assert (outcome.status, outcome.answer, outcome.error) == (302, b"away", None)
    assert outcome.retry_at == NOW + timedelta(seconds=10)


def test_a_receiver_that_is_away_leaves_a_reason_and_nothing_else(receiver: Receiver) -> None:
    receiver.stop()

    outcome = outcome_of(call(receiver, SIGNER))

    assert (outcome.status, outcome.answer, outcome.answer_headers) == (None, b"", None)
    assert outcome.error == "127.0.0.1 refused the connection."
    assert 0 < outcome.duration_seconds < PATIENCE_SECONDS
    assert (outcome.signed, outcome.retry_at) == ("v1", NOW + timedelta(seconds=5))


@pytest.mark.parametrize(("planned", "late"), [(-7, 7.0), (0, 0.0), (7, 0.0)])
def test_an_attempt_is_late_by_what_it_began_after_its_time(receiver: Receiver, planned: int, late: float) -> None:
    attempt = call(receiver, scheduled_on=NOW + timedelta(seconds=planned))

    assert (attempt.delay_seconds, attempt.signed, attempt.own_delays) == (late, None, None)
    assert outcome_of(attempt).state == "delivered"


def test_nobody_is_called_whose_secret_is_damaged(receiver: Receiver) -> None:
    attempt = call(receiver, replace(SIGNER, is_damaged=True), scheduled_on=NOW - timedelta(seconds=7))

    assert receiver.received == []
    assert attempt == Attempt(attempt.delivery, None, DAMAGED, 0.0, 0.0, None, (5.0,))


@pytest.mark.parametrize(("subscriber_id", "ends"), [(None, False), (9, True)])
def test_410_ends_a_subscription(receiver: Receiver, subscriber_id: int | None, ends: bool) -> None:
    receiver.respond = lambda _request: Reply(410)

    outcome = outcome_of(call(receiver, subscriber_id=subscriber_id))

    assert (outcome.ends_subscription, outcome.state) == (ends, "failed" if ends else "pending")
