"""What finished attempts say about their receivers: those that fail for long are switched off, told and counted."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from persistence.database import Transaction
from persistence.deliveries.failing_receivers import Endpoint, GivenUp, SwitchedOff, note_outcomes
from persistence.deliveries.leases import AttemptOutcome, DueDelivery
from persistence.tables.deliveries import DELIVERED, FAILED
from worker.metrics import count_attempt, count_switched_off

logger = logging.getLogger("relayboard.webhooks")

Judged = Sequence[tuple[DueDelivery, AttemptOutcome]]


@dataclass(slots=True)
class Recorded:
    """What a transaction recorded, to be told after its commit."""

    judged: Judged
    switched_off: list[SwitchedOff] = field(default_factory=list)

    def tell(self, *, counts: bool) -> None:
        """Logs which receivers get nothing any more, and counts everything for `/metrics` unless that is off."""
        if counts:
            for _, outcome in self.judged:
                count_attempt(outcome.state, outcome.delay_seconds)
            for each in self.switched_off:
                count_switched_off(each.endpoint.kind)
        for each in self.switched_off:
            logger.warning(
                "the webhook of %s %s was switched off: %s", each.endpoint.kind, each.endpoint.number, each.reason
            )


def note_health(tx: Transaction, judged: Judged, switch_off_after: timedelta) -> Recorded:
    """Takes over, in the transaction that records attempts, which receivers accepted and which were given up."""
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
    """Whose URL a delivery goes to."""
    if leased.subscriber_id is not None:
        return Endpoint(leased.workspace_id, subscriber_id=leased.subscriber_id)
    return Endpoint(leased.workspace_id, channel_id=leased.channel_id)


def _say_why(outcome: AttemptOutcome) -> str:
    return outcome.error or f"the receiver answered with status {outcome.status}."
