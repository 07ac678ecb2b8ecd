"""What was deleted, for mirrors: a record that is gone shows no `modified_on`. Each deletion has the time of the
workspace's clock, like a change, and is kept for 90 days.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, insert, select

from persistence.database import Transaction
from persistence.lists import Condition, ListQuery, ListSpec, equals, reversible, within
from persistence.records import Record
from persistence.sql.columns import split
from persistence.stamps import CONTACT_DELETED, stamped, tell
from persistence.tables.changes import deletion

KEPT_FOR = timedelta(days=90)

BROADCAST, CAMPAIGN_EVENT, CHANNEL, CONTACT = "broadcast", "campaign_event", "channel", "contact"
FIELD, GLOBAL = "field", "global"
GROUP, LABEL, NOTE, RUN, SAVED_REPLY = "group", "label", "contact_note", "run", "saved_reply"
SUBSCRIBER, TICKET = "subscriber", "ticket"
KINDS = (
    *(BROADCAST, CAMPAIGN_EVENT, CHANNEL, CONTACT, NOTE, FIELD),
    *(GLOBAL, GROUP, LABEL, RUN, SAVED_REPLY, SUBSCRIBER, TICKET),
)
"""Of broadcasts only drafts are deleted."""
BY_KEY = (FIELD, GLOBAL, SUBSCRIBER)
"""The kinds of records that have a key in place of a UUID; subscribers of resthooks have a number."""

DELETION_RECORD = Record(
    {
        "type": deletion.c.kind,
        "uuid": deletion.c.uuid,
        "key": deletion.c.key,
        "merged_into": deletion.c.merged_into,
        "deleted_on": deletion.c.modified_on,
    }
)


SHOWN_KINDS = "kinds"
"""An option: the kinds of records that the caller may list; without it all."""


def _of_kinds(query: ListQuery) -> list[Condition]:
    kinds = query.values.get(SHOWN_KINDS)
    return [] if kinds is None else [deletion.c.kind.in_(kinds)]


DELETIONS = ListSpec(
    deletion,
    DELETION_RECORD,
    reversible(deletion.c.modified_on, deletion.c.id),
    options=frozenset({"reverse", SHOWN_KINDS}),
    standing=_of_kinds,
    filters={"type": equals(deletion.c.kind), **within(deletion.c.modified_on)},
    is_followed=True,
)


def note_deleted(
    tx: Transaction, workspace_id: int, kind: str, references: Iterable[str], *, merged_into: str | None = None
) -> None:
    """Records of a kind, by UUID or key, are gone with this unit of work; who follows the workspace is told."""
    named = "key" if kind in BY_KEY else "uuid"
    gone = sorted({each.lower() for each in references})
    if kind == CONTACT and gone:
        tell(tx, workspace_id, CONTACT_DELETED, gone, merged_into)
    for some in split(gone):
        shared = {"workspace_id": workspace_id, "kind": kind, "merged_into": merged_into}
        shared["modified_on"] = stamped(tx, deletion, workspace_id)
        empty: dict[str, Any] = {"uuid": None, "key": None}
        tx.execute(insert(deletion), [{**shared, **empty, named: reference} for reference in some])


def trim_deletions(tx: Transaction, limit: int) -> int:
    """Deletes some that are old; returns how many."""
    rows = deletion.c
    old = select(rows.id).where(rows.modified_on < tx.now - KEPT_FOR).order_by(rows.modified_on).limit(limit)
    return tx.execute(delete(deletion).where(rows.id.in_(old.scalar_subquery()))).rowcount
