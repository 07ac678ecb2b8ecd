"""Contacts who are probably one person: one has the old form of a number and the other the new one, or they have one
number under `tel` and `whatsapp`.
"""

from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, and_, case, func, literal, literal_column, null, or_, select

from flows.phones import MOBILE, OLD_FORMS, OldForm
from persistence.contacts.merging import merge_contacts
from persistence.contacts.v2 import MASKED_PATH
from persistence.database import Transaction
from persistence.groups.members import hold_contacts
from persistence.lists import ListQuery, ListSpec
from persistence.sql.json_sql import declare_record, json_record
from persistence.sql.pages import Order
from persistence.tables.contacts import contact, contact_urn
from persistence.workspaces import Workspace

OLD_NUMBER, TWO_SCHEMES = "old_number", "two_schemes"
MOST_MERGED = 100
"""How many pairs are merged at once."""
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


def _record(*, masked: bool = False) -> ColumnElement[Any]:
    def shown(urn: FromClause) -> ColumnElement[Any]:
        path = literal(MASKED_PATH, literal_execute=True) if masked else urn.c.path
        return urn.c.scheme + literal_column("':'") + path

    both = case((kept_urn.c.scheme == "whatsapp", literal("+") + kept_urn.c.path), else_=kept_urn.c.path)
    return declare_record(
        {
            "kind": case((both == NUMBER, TWO_SCHEMES), else_=OLD_NUMBER),
            "contact": json_record({"uuid": kept.c.uuid, "name": kept.c.name}),
            "urn": shown(kept_urn),
            "other": json_record({"uuid": contact.c.uuid, "name": contact.c.name}),
            "other_urn": shown(contact_urn),
        }
    )


KEPT_URN = func.coalesce(NEWER, SAME)
OF_KIND = {OLD_NUMBER: NEWER.is_not(None), TWO_SCHEMES: NEWER.is_(None)}

DOUBLES = ListSpec(
    contact_urn,
    _record(),
    Order(rows.id, rows.id, descending=False),
    source=contact_urn.join(contact, contact.c.id == rows.contact_id)
    .join(kept_urn, kept_urn.c.id == KEPT_URN)
    .join(kept, kept.c.id == kept_urn.c.contact_id),
    masked=_record(masked=True),
    standing=(
        rows.contact_id.is_not(None),
        or_(
            rows.scheme == "whatsapp",
            (rows.scheme == "tel") & or_(*(rows.path.startswith(form.begins) for form in OLD_FORMS)),
        ),
        KEPT_URN.is_not(None),
    ),
    filters={"kind": lambda _query, kind: OF_KIND[kind]},
)
"""Pairs: the contact to keep, and the other, by the URN of that one, the oldest first."""


def _ids(tx: Transaction, workspace: Workspace, kind: str | None) -> Select[int]:
    return DOUBLES.select_ids(ListQuery(tx, workspace, {} if kind is None else {"kind": kind}))


def count_doubles(tx: Transaction, workspace: Workspace, kind: str | None = None) -> int:
    """How many pairs there are, up to MOST_COUNTED."""
    some = _ids(tx, workspace, kind).limit(MOST_COUNTED).subquery()
    return int(tx.execute(select(func.count()).select_from(some)).scalar_one())


def merge_doubles(tx: Transaction, workspace: Workspace, kind: str | None, *, user_id: int | None) -> int:
    """Merges the first MOST_MERGED pairs; returns how many contacts became a part of another. All are locked
    beforehand, in their order. Raises LostRace if one was deleted meanwhile.
    """
    some = _ids(tx, workspace, kind).add_columns(KEPT_URN.label("kept")).limit(MOST_MERGED).subquery()
    owners = select(kept_urn.c.contact_id.label("kept_id"), rows.contact_id.label("other_id"))
    pairs = tx.execute(
        owners.select_from(some.join(contact_urn, rows.id == some.c.id).join(kept_urn, kept_urn.c.id == some.c.kept))
        .where(rows.workspace_id == workspace.id, kept_urn.c.workspace_id == workspace.id)
        .order_by(some.c.id)
    ).all()
    hold_contacts(tx, workspace.id, sorted({each for row in pairs for each in row}))
    merged: dict[int, int] = {}

    def who(contact_id: int) -> int:
        while contact_id in merged:
            contact_id = merged[contact_id]
        return contact_id

    for row in pairs:
        kept_id, other_id = who(row.kept_id), who(row.other_id)
        if kept_id != other_id:
            merge_contacts(tx, workspace, kept_id, other_id, user_id=user_id)
            merged[other_id] = kept_id
    return len(merged)
