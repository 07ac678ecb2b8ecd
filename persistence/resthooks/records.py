"""Resthooks: named events that flows trigger."""

import re

from sqlalchemy import select, update

from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.lists import ListSpec, reversible
from persistence.records import Record
from persistence.stamps import stamped
from persistence.tables.deliveries import SLUG_LENGTH, resthook

SLUG = re.compile(r"[a-z0-9_\-]+\Z")

RESTHOOK_RECORD = Record(
    {"resthook": resthook.c.slug, "created_on": resthook.c.created_on, "modified_on": resthook.c.modified_on}
)

RESTHOOKS = ListSpec(
    resthook,
    RESTHOOK_RECORD,
    reversible(resthook.c.modified_on, resthook.c.id),
    options=frozenset({"reverse"}),
)


def find_resthook(tx: Transaction, workspace_id: int, slug: str) -> int | None:
    """The id of the resthook with this slug (any case)."""
    mine = (resthook.c.workspace_id == workspace_id) & (resthook.c.slug == slug.strip().lower())
    return tx.execute(select(resthook.c.id).where(mine)).scalar_one_or_none()


def ensure_resthook(tx: Transaction, workspace_id: int, slug: str) -> int:
    """The id of the resthook with this slug, which is created if there is none. Raises InvalidInput for a bad slug."""
    resthook_id = find_resthook(tx, workspace_id, slug)
    if resthook_id is not None:
        return resthook_id
    slug = slug.strip().lower()
    if len(slug) > SLUG_LENGTH or not SLUG.match(slug):
        raise InvalidInput.on("resthook", f"1 to {SLUG_LENGTH} letters, digits, hyphens and underscores.")
    times = {"created_on": tx.now, "modified_on": stamped(tx, resthook, workspace_id)}
    return tx.insert(resthook, workspace_id=workspace_id, slug=slug, **times)


def touch_resthooks(tx: Transaction, workspace_id: int, resthook_ids: list[int]) -> None:
    """Update `modified_on` of these resthooks."""
    if resthook_ids:
        mine = (resthook.c.workspace_id == workspace_id) & resthook.c.id.in_(resthook_ids)
        tx.execute(update(resthook).where(mine).values(modified_on=stamped(tx, resthook, workspace_id)))
