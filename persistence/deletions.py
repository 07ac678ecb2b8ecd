"""What was deleted, for mirrors: a record that is gone shows no `modified_on`. Each deletion has the time of the
workspace's clock, like a change, and is kept for 90 days.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, insert, select

from persistence.database import Transaction
from persistence.lists import Condition, ListQuery, ListSpec, equals, reversible, within
from persistence.sql.columns import split
from persistence.sql.json_sql import declare_record
from persistence.stamps import stamped
from persistence.tables.changes import deletion

KEPT_FOR = timedelta(days=90)

CAMPAIGN_EVENT, CHANNEL, CONTACT, FIELD, GLOBAL = "campaign_event", "channel", "contact", "field", "global"
GROUP, LABEL, RUN, TICKET = "group", "label", "run", "ticket"
BY_KEY = (FIELD, GLOBAL)
"""The kinds of records that have a key in place of a UUID."""
AREAS = {
    **dict.fromkeys((CONTACT, FIELD, GROUP), "contacts"),
    **dict.fromkeys((GLOBAL, RUN), "flows"),
    CAMPAIGN_EVENT: "campaigns",
    CHANNEL: "channels",
    LABEL: "messages",
    TICKET: "tickets",
}
"""The area of tokens that each kind belongs to, as its list."""

DELETION_RECORD = declare_record(
    {
        "type": deletion.c.kind,
        "uuid": deletion.c.uuid,
        "key": deletion.c.key,
        "merged_into": deletion.c.merged_into,
        "deleted_on": deletion.c.modified_on,
    }
)


def _in_areas(query: ListQuery) -> list[Condition]:
    if query.areas is None:
        return []
    return [deletion.c.kind.in_(sorted(kind for kind, area in AREAS.items() if area in query.areas))]


DELETIONS = ListSpec(
    deletion,
    DELETION_RECORD,
    reversible(deletion.c.modified_on, deletion.c.id),
    options=frozenset({"reverse"}),
    standing=_in_areas,
    filters={"type": equals(deletion.c.kind), **within(deletion.c.modified_on)},
    is_followed=True,
)


def note_deleted(
    tx: Transaction, workspace_id: int, kind: str, references: Iterable[str], *, merged_into: str | None = None
) -> None:
    """Records of a kind, by UUID or key, are gone with this unit of work."""
    named = "key" if kind in BY_KEY else "uuid"
    for some in split(sorted({each.lower() for each in references})):
        shared = {"workspace_id": workspace_id, "kind": kind, "merged_into": merged_into}
        shared["modified_on"] = stamped(tx, deletion, workspace_id)
        empty: dict[str, Any] = {"uuid": None, "key": None}
        tx.execute(insert(deletion), [{**shared, **empty, named: reference} for reference in some])


def trim_deletions(tx: Transaction, limit: int) -> int:
    """Deletes some that are old; returns how many."""
    rows = deletion.c
    old = select(rows.id).where(rows.modified_on < tx.now - KEPT_FOR).order_by(rows.modified_on).limit(limit)
    return tx.execute(delete(deletion).where(rows.id.in_(old.scalar_subquery()))).rowcount
