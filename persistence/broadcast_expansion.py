"""From a broadcast to its messages: a batch of contacts at a time, each contact once.

A batch and the note of how far the broadcast is are one transaction under the lock of the broadcast's row: a worker
that dies leaves neither, and two workers never make messages of the same broadcast.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import select, update

from flows.expressions import XObject, evaluate_text, has_expressions
from flows.urns import Urn
from persistence.broadcast_recipients import count_recipients, next_recipients
from persistence.broadcasts import (
    COMPLETED,
    PENDING,
    QUEUED,
    STARTED,
    broadcast,
)
from persistence.contact_values import FixedClock, environment_of
from persistence.contacts import contact_urn
from persistence.database import Transaction
from persistence.fields import field
from persistence.outgoing import Draft, add_outgoing
from persistence.workspaces import Workspace, find_workspace

BATCH = 1000
REDACTED = "********"


def expand_next(tx: Transaction) -> bool:
    """Make the next batch of messages of the broadcast that has waited longest; whether there may be more to do."""
    tx.execute(update(broadcast).where(broadcast.c.status == PENDING).values(status=QUEUED))
    due = (
        select(broadcast)
        .where(broadcast.c.status.in_((QUEUED, STARTED)))
        .order_by(broadcast.c.modified_on, broadcast.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = tx.execute(due).first()
    workspace = None if row is None else find_workspace(tx, row.workspace_id)
    if row is None or workspace is None:
        return False
    found = next_recipients(tx, workspace.id, row.id, row.last_contact_id, BATCH)
    texts = _Writer(tx, workspace, row, found.rows)
    add_outgoing(tx, workspace.id, [texts.write(one) for one in found.rows], channel_id=row.channel_id)
    started = row.started + len(found.rows)
    change: dict[str, Any] = {"status": STARTED, "modified_on": tx.now, "started": started}
    if found.last_contact_id is not None:
        change["last_contact_id"] = found.last_contact_id
    if found.is_end:
        change |= {"status": COMPLETED, "total": started}
    elif row.status == QUEUED:
        change["total"] = count_recipients(tx, row.id)
    mine = (broadcast.c.workspace_id == workspace.id) & (broadcast.c.id == row.id)
    tx.execute(update(broadcast).where(mine, broadcast.c.status == row.status).values(**change))
    return True


class _Writer:
    """Writes what each contact of a batch gets: in its language, else the workspace's first, else the base language."""

    def __init__(self, tx: Transaction, workspace: Workspace, row: Any, contacts: Sequence[Any]) -> None:
        self._workspace = workspace
        self._row = row
        self._environment = environment_of(workspace)
        self._clock = FixedClock(tx.now)
        self._evaluated = {language for language, text in row.text.items() if has_expressions(text)}
        self._fields: Sequence[Any] = ()
        self._urns: dict[int, list[str]] = {}
        if self._evaluated:
            known = select(field.c.key, field.c.uuid).where(field.c.workspace_id == workspace.id)
            self._fields = tx.execute(known).all()
            self._urns = _read_urns(tx, workspace, [one.id for one in contacts])

    def write(self, one: Any) -> Draft:
        language = self._choose(self._row.text, one)
        text = self._row.text[language]
        if language in self._evaluated:
            text = evaluate_text(text, self._context(one), self._environment, self._clock).text
        files = self._row.files.get(self._choose(self._row.files, one), [])
        replies = self._row.quick_replies.get(self._choose(self._row.quick_replies, one), [])
        return Draft(one.id, text, tuple(files), tuple(replies), broadcast_id=self._row.id)

    def _choose(self, translations: Mapping[str, Any], one: Any) -> str:
        wanted = (one.language, self._workspace.default_language)
        base: str = self._row.base_language
        return next((language for language in wanted if translations.get(language)), base)

    def _context(self, one: Any) -> XObject:
        name = one.name or ""
        urns = self._urns.get(one.id, [])
        values = XObject({known.key: _read_value(one.fields.get(known.uuid)) for known in self._fields})
        person = XObject(
            {
                "uuid": one.uuid,
                "name": name,
                "first_name": next(iter(name.split()), ""),
                "language": one.language or "",
                "urn": urns[0] if urns else None,
                "created_on": one.created_on,
                "fields": values,
            },
            default=name or (urns[0].partition(":")[2] if urns else ""),
        )
        return XObject({"contact": person, "fields": values})


def _read_value(stored: Mapping[str, str] | None) -> Any:
    if stored is None:
        return None
    properties: dict[str, Any] = {"text": stored["text"]}
    if "number" in stored:
        properties["number"] = Decimal(stored["number"])
    if "datetime" in stored:
        properties["datetime"] = datetime.fromisoformat(stored["datetime"])
    return XObject(properties, default=properties.get("number", stored["text"]))


def _read_urns(tx: Transaction, workspace: Workspace, contact_ids: Sequence[int]) -> dict[int, list[str]]:
    rows = contact_urn.c
    statement = select(rows.contact_id, rows.scheme, rows.path).where(
        rows.workspace_id == workspace.id, rows.contact_id.in_(contact_ids)
    )
    found: dict[int, list[str]] = {}
    for contact_id, scheme, path in tx.execute(statement.order_by(rows.contact_id, rows.priority, rows.id)):
        shown = f"{scheme}:{REDACTED}" if workspace.is_anonymous else Urn(scheme, path).identity
        found.setdefault(contact_id, []).append(shown)
    return found
