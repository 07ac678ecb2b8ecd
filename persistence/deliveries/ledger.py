"""The ledger of deliveries: those that were made are delivered, failed, or pending. Nothing else happens to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import ColumnElement, func, select

from persistence.database import Transaction
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING, delivery

MADE, SENT_AGAIN = "made", "sent_again"


@dataclass(frozen=True, slots=True)
class Ledger:
    """How many deliveries have each status."""

    pending: int
    delivered: int
    failed: int

    @property
    def total(self) -> int:
        return self.pending + self.delivered + self.failed


def count_deliveries(tx: Transaction, workspace_id: int, conditions: Sequence[ColumnElement[bool]] = ()) -> Ledger:
    """The counts of a workspace's deliveries that meet the conditions; trimmed ones are no longer counted."""
    mine = (delivery.c.workspace_id == workspace_id, *conditions)
    statement = select(delivery.c.status, func.count()).where(*mine).group_by(delivery.c.status)
    counts = {status: count for status, count in tx.execute(statement)}
    return Ledger(counts.get(PENDING, 0), counts.get(DELIVERED, 0), counts.get(FAILED, 0))


def count_made(tx: Transaction, number: int) -> None:
    """Counts new deliveries for `/metrics` once they are committed."""
    count_moved(tx, MADE, number)


def count_moved(tx: Transaction, state: str, number: int) -> None:
    """Counts deliveries that got another status, or are sent again."""
    if number > 0:
        tx.after_commit(partial(_count, state, number))


def _count(state: str, number: int) -> None:
    from relayboard.base.metrics import deliveries  # noqa: PLC0415  # it loads much, and few commands move deliveries

    deliveries.labels(state).inc(number)
