"""What contacts wrote last through channels whose messages have subjects: an answer names it, and keeps its subject."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select, tuple_

from persistence.channels.event_form import Source
from persistence.database import Transaction
from persistence.tables.channels import message_thread

LENGTH = 255
_rows = message_thread.c


@dataclass(frozen=True, slots=True)
class Thread:
    """`reference` is the provider's id of the contact's last message."""

    reference: str
    subject: str


def note_thread(tx: Transaction, source: Source, contact_id: int, reference: str, subject: str) -> None:
    """A contact wrote this through a channel."""
    if not reference or len(reference) > LENGTH:
        return
    keys = {"workspace_id": source.workspace_id, "channel_id": source.id, "contact_id": contact_id}
    news = {"reference": reference, "subject": subject[:LENGTH]}
    stored = tx.upsert(message_thread).values(**keys, **news)
    tx.execute(stored.on_conflict_do_update(index_elements=("channel_id", "contact_id", "workspace_id"), set_=news))


def find_threads(tx: Transaction, wanted: Collection[tuple[int, int, int]]) -> dict[tuple[int, int], Thread]:
    """By channel and contact, of these workspaces, channels and contacts; one statement, none for nothing."""
    if not wanted:
        return {}
    keys = tuple_(_rows.workspace_id, _rows.channel_id, _rows.contact_id)
    columns = (_rows.channel_id, _rows.contact_id, _rows.reference, _rows.subject)
    found = tx.execute(select(*columns).where(keys.in_(sorted(set(wanted)))))
    return {(channel_id, contact_id): Thread(*thread) for channel_id, contact_id, *thread in found}
