"""Reports of phones whose record went with its contact: a repeat of one must not bring the contact back."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import Column, ForeignKey, Index, Integer, String, Table, delete, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from persistence.channel_events import channel_event
from persistence.columns import UtcDateTime, id_column, metadata, time_column
from persistence.database import Transaction

KEPT_FOR = timedelta(days=90)
"""As long as messages keep the names of their reports."""

forgotten_report = Table(
    "forgotten_report",
    metadata,
    id_column(),
    Column("channel_id", Integer, ForeignKey("channel.id"), nullable=False),
    Column("report_key", String(255), nullable=False),
    time_column("forgotten_on"),
    Index("uq_forgotten_report", "channel_id", "report_key", unique=True),
    Index("ix_forgotten_report_age", "forgotten_on", "id"),
    sqlite_autoincrement=True,
)
"""`report_key` is the `external_id` that a channel event had: a hash, which tells nothing of the contact."""


def forget_calls_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Delete the channel events of contacts, and remember the names of what their phones reported."""
    rows = channel_event.c
    theirs = (rows.workspace_id == workspace_id) & rows.contact_id.in_(contact_ids)
    insert = sqlite.insert if tx.sqlite else postgresql.insert
    names = select(rows.channel_id, rows.external_id, literal(tx.now, UtcDateTime))
    kept = insert(forgotten_report).from_select(
        ["channel_id", "report_key", "forgotten_on"], names.where(theirs, rows.external_id.is_not(None))
    )
    tx.execute(kept.on_conflict_do_nothing())
    tx.execute(delete(channel_event).where(theirs))


def find_known_calls(tx: Transaction, channel_id: int, external_ids: Collection[str]) -> set[str]:
    """Those names that reports of this channel have had already, whoever had the channel then; one statement."""
    wanted = list(external_ids)
    present, gone = channel_event.c, forgotten_report.c
    stored = select(present.external_id).where(present.channel_id == channel_id, present.external_id.in_(wanted))
    forgotten = select(gone.report_key).where(gone.channel_id == channel_id, gone.report_key.in_(wanted))
    return set(tx.execute(stored.union_all(forgotten)).scalars())


def trim_forgotten(tx: Transaction, limit: int) -> int:
    """Deletes names that were kept for KEPT_FOR; how many."""
    rows = forgotten_report.c
    is_old = rows.forgotten_on < tx.now - KEPT_FOR
    old = select(rows.id).where(is_old).order_by(rows.forgotten_on, rows.id).limit(limit)
    return tx.execute(delete(forgotten_report).where(rows.id.in_(old.scalar_subquery()))).rowcount
