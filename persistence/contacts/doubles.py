"""Contacts who are probably one person: one has the old form of a number and the other the new one, or they have one
number under `tel` and `whatsapp`.
"""

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, literal_column, null, or_, select

from flows.phones import MOBILE, OLD_FORMS, OldForm
from persistence.contacts.merging import merge_contacts
from persistence.contacts.v2 import MASKED_PATH
from persistence.database import Transaction
from persistence.groups.members import hold_contacts
from persistence.tables.contacts import contact, contact_urn
from persistence.workspaces import Workspace

OLD_NUMBER, TWO_SCHEMES = "old_number", "two_schemes"
MOST_PAIRS = 100
"""How many pairs are listed or merged at once."""
MOST_COUNTED = 10_000

rows = contact_urn.c
kept_urn, kept = contact_urn.alias("kept_urn"), contact.alias("kept")
NUMBER = case((rows.scheme == "whatsapp", literal("+") + rows.path), else_=rows.path)


def _is_old(form: OldForm) -> ColumnElement[bool]:
    fits = (func.substr(NUMBER, 1, len(form.begins)) == form.begins) & (func.length(NUMBER) == form.length)
    return fits & func.substr(NUMBER, form.rest + 1, 1).in_(list(MOBILE)) if form.is_mobile else fits


NEW_NUMBER = case(
    *(
        (_is_old(form), func.substr(NUMBER, 1, form.kept) + literal(form.added) + func.substr(NUMBER, form.rest + 1))
        for form in OLD_FORMS
    ),
    else_=null(),
)


def _other_urn(*which: ColumnElement[bool]) -> ColumnElement[Any]:
    """The URN of another contact."""
    theirs = (kept_urn.c.workspace_id == rows.workspace_id) & (kept_urn.c.contact_id != rows.contact_id)
    found = select(kept_urn.c.id).where(theirs, or_(*which)).order_by(kept_urn.c.id).limit(1)
    return found.correlate(contact_urn).scalar_subquery()


NEWER = _other_urn(
    (kept_urn.c.scheme == "tel") & (kept_urn.c.path == NEW_NUMBER),
    (kept_urn.c.scheme == "whatsapp") & (kept_urn.c.path == func.substr(NEW_NUMBER, 2)),
)
SAME = _other_urn(and_(rows.scheme == "whatsapp", kept_urn.c.scheme == "tel", kept_urn.c.path == NUMBER))


def _pairs(workspace: Workspace, kind: str | None) -> Select[Any]:
    """The URNs of what is merged into another contact, with the URN of that one."""
    target = {OLD_NUMBER: NEWER, TWO_SCHEMES: case((NEWER.is_(None), SAME), else_=null())}.get(
        kind or "", func.coalesce(NEWER, SAME)
    )
    begins = (rows.path.startswith(form.begins) for form in OLD_FORMS)
    suspected = or_(rows.scheme == "whatsapp", (rows.scheme == "tel") & or_(*begins))
    mine = (rows.workspace_id == workspace.id) & rows.contact_id.is_not(None) & suspected
    found = select(
        rows.id, target.label("kept_id"), case((NEWER.is_(None), TWO_SCHEMES), else_=OLD_NUMBER).label("kind")
    )
    return found.where(mine, target.is_not(None))


def _find(tx: Transaction, workspace: Workspace, kind: str | None, limit: int) -> list[Any]:
    pairs = _pairs(workspace, kind).order_by(rows.id).limit(limit).subquery()
    masked: ColumnElement[str] | None = literal_column(f"'{MASKED_PATH}'") if workspace.is_anonymous else None
    urns = {each: each.c.scheme + ":" + (each.c.path if masked is None else masked) for each in (contact_urn, kept_urn)}
    statement = (
        select(
            pairs.c.kind,
            *(kept.c.id.label("kept_id"), kept.c.uuid.label("kept_uuid"), kept.c.name.label("kept_name")),
            *(contact.c.id, contact.c.uuid, contact.c.name),
            *(urns[kept_urn].label("kept_urn"), urns[contact_urn].label("urn")),
        )
        .join(contact_urn, rows.id == pairs.c.id)
        .join(contact, contact.c.id == rows.contact_id)
        .join(kept_urn, kept_urn.c.id == pairs.c.kept_id)
        .join(kept, kept.c.id == kept_urn.c.contact_id)
        .order_by(pairs.c.id)
    )
    return list(tx.execute(statement).all())


def count_doubles(tx: Transaction, workspace: Workspace, kind: str | None = None) -> int:
    """How many pairs there are, up to MOST_COUNTED."""
    some = _pairs(workspace, kind).limit(MOST_COUNTED).subquery()
    return int(tx.execute(select(func.count()).select_from(some)).scalar_one())


def list_doubles(
    tx: Transaction, workspace: Workspace, kind: str | None = None, limit: int = MOST_PAIRS
) -> list[dict[str, Any]]:
    """Pairs, up to a limit: the contact to keep, and the other."""
    return [
        {
            "kind": row.kind,
            "contact": {"uuid": row.kept_uuid, "name": row.kept_name},
            "urn": row.kept_urn,
            "other": {"uuid": row.uuid, "name": row.name},
            "other_urn": row.urn,
        }
        for row in _find(tx, workspace, kind, limit)
    ]


def merge_doubles(tx: Transaction, workspace: Workspace, kind: str | None, *, user_id: int | None) -> int:
    """Merges the first MOST_PAIRS pairs; returns how many contacts became a part of another. All are locked beforehand,
    in their order. Raises LostRace if one was deleted meanwhile.
    """
    pairs = _find(tx, workspace, kind, MOST_PAIRS)
    hold_contacts(tx, workspace.id, sorted({each for row in pairs for each in (row.id, row.kept_id)}))
    merged: dict[int, int] = {}

    def who(contact_id: int) -> int:
        while contact_id in merged:
            contact_id = merged[contact_id]
        return contact_id

    for row in pairs:
        kept_id, other_id = who(row.kept_id), who(row.id)
        if kept_id != other_id:
            merge_contacts(tx, workspace, kept_id, other_id, user_id=user_id)
            merged[other_id] = kept_id
    return len(merged)
