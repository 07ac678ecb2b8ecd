"""Resthooks: named events that flows trigger."""

import re

from sqlalchemy import insert, select, update

from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.stamps import stamped
from persistence.tables.deliveries import SLUG_LENGTH, resthook

SLUG = re.compile(r"[a-z0-9_\-]+\Z")

RESTHOOK_RECORD = declare_record(
    {"resthook": resthook.c.slug, "created_on": resthook.c.created_on, "modified_on": resthook.c.modified_on}
)


def resthooks_order(*, reverse: bool = False) -> Order:
    return Order(resthook.c.modified_on, resthook.c.id, descending=not reverse)


def list_resthooks(
    tx: Transaction, workspace_id: int, position: Position | None, size: int, *, reverse: bool = False
) -> Page:
    """The resthooks of a workspace by their last change, newest first."""
    return fetch_page(
        tx,
        record=RESTHOOK_RECORD,
        source=resthook,
        source_id=resthook.c.id,
        order=resthooks_order(reverse=reverse),
        conditions=[resthook.c.workspace_id == workspace_id],
        position=position,
        size=size,
    )


def read_resthook(tx: Transaction, workspace_id: int, resthook_id: int) -> str:
    """One resthook record as JSON text."""
    tx.settle()
    mine = (resthook.c.workspace_id == workspace_id) & (resthook.c.id == resthook_id)
    return tx.execute(select(as_text(RESTHOOK_RECORD)).where(mine)).scalar_one()


def find_resthook(tx: Transaction, workspace_id: int, slug: str) -> int | None:
    """The id of the resthook with this slug (any case)."""
    mine = (resthook.c.workspace_id == workspace_id) & (resthook.c.slug == slug.strip().lower())
    return tx.execute(select(resthook.c.id).where(mine)).scalar_one_or_none()


def ensure_resthook(tx: Transaction, workspace_id: int, slug: str) -> int:
    """The id of the resthook with this slug, which is made when there is none. Raises InvalidInput for a bad slug."""
    resthook_id = find_resthook(tx, workspace_id, slug)
    if resthook_id is not None:
        return resthook_id
    slug = slug.strip().lower()
    if len(slug) > SLUG_LENGTH or not SLUG.match(slug):
        raise InvalidInput.on("resthook", f"1 to {SLUG_LENGTH} letters, digits, hyphens and underscores.")
    values = {"slug": slug, "created_on": tx.now, "modified_on": stamped(tx, resthook, workspace_id)}
    statement = insert(resthook).values(workspace_id=workspace_id, **values).returning(resthook.c.id)
    return tx.execute(statement).scalar_one()


def touch_resthooks(tx: Transaction, workspace_id: int, resthook_ids: list[int]) -> None:
    """Note that these resthooks changed just now."""
    if resthook_ids:
        mine = (resthook.c.workspace_id == workspace_id) & resthook.c.id.in_(resthook_ids)
        tx.execute(update(resthook).where(mine).values(modified_on=stamped(tx, resthook, workspace_id)))
