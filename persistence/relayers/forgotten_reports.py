"""Reports of phones whose records were deleted with their contact: a repeat must not create the contact again."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import delete, literal, select

from persistence.database import Transaction
from persistence.sql.columns import UtcDateTime
from persistence.tables.channels import channel_event, forgotten_report

KEPT_FOR = timedelta(days=90)
"""As long as messages keep the keys of their reports."""


def forget_calls_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Delete the channel events of contacts, and keep the keys of their reports."""
    rows = channel_event.c
    theirs = (rows.workspace_id == workspace_id) & rows.contact_id.in_(contact_ids)
    names = select(rows.workspace_id, rows.channel_id, rows.external_id, literal(tx.now, UtcDateTime))
    kept = tx.upsert(forgotten_report).from_select(
        ["workspace_id", "channel_id", "report_key", "forgotten_on"], names.where(theirs, rows.external_id.is_not(None))
    )
    tx.execute(kept.on_conflict_do_nothing())
    tx.execute(delete(channel_event).where(theirs))


def find_known_calls(tx: Transaction, channel_id: int, external_ids: Collection[str]) -> set[str]:
    """Those of these keys that reports of this channel had before, in any workspace; one statement."""
    wanted = list(external_ids)
    present, gone = channel_event.c, forgotten_report.c
    stored = select(present.external_id).where(present.channel_id == channel_id, present.external_id.in_(wanted))
    forgotten = select(gone.report_key).where(gone.channel_id == channel_id, gone.report_key.in_(wanted))
    return {name for name in tx.execute(stored.union_all(forgotten)).scalars() if name is not None}


def trim_forgotten(tx: Transaction, limit: int) -> int:
    """Deletes keys that are older than KEPT_FOR; returns their number."""
    rows = forgotten_report.c
    is_old = rows.forgotten_on < tx.now - KEPT_FOR
    old = select(rows.id).where(is_old).order_by(rows.forgotten_on, rows.id).limit(limit)
    return tx.execute(delete(forgotten_report).where(rows.id.in_(old.scalar_subquery()))).rowcount
