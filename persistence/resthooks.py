"""Resthooks: named events that flows trigger."""

import re

from sqlalchemy import Column, Index, String, Table, insert, select, update

from persistence.columns import id_column, metadata, time_column, workspace_column
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import as_text, declare_record
from persistence.stamps import stamped

SLUG_LENGTH = 50
SLUG = re.compile(r"[a-z0-9_\-]+\Z")

resthook = Table(
    "resthook",
    metadata,
    id_column(),
    workspace_column(),
    Column("slug", String(SLUG_LENGTH), nullable=False),
    time_column("created_on"),
    time_column("modified_on"),
    Index("uq_resthook_slug", "workspace_id", "slug", unique=True),
    Index("ix_resthook_page", "workspace_id", "modified_on", "id"),
    sqlite_autoincrement=True,
)

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
    document: str = tx.execute(select(as_text(RESTHOOK_RECORD)).where(mine)).scalar_one()
    return document


def find_resthook(tx: Transaction, workspace_id: int, slug: str) -> int | None:
    """The id of the resthook with this slug (any case)."""
    mine = (resthook.c.workspace_id == workspace_id) & (resthook.c.slug == slug.strip().lower())
    resthook_id: int | None = tx.execute(select(resthook.c.id).where(mine)).scalar_one_or_none()
    return resthook_id


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
    created_id: int = tx.execute(statement).scalar_one()
    return created_id


def touch_resthooks(tx: Transaction, workspace_id: int, resthook_ids: list[int]) -> None:
    """Note that these resthooks changed just now."""
    if resthook_ids:
        mine = (resthook.c.workspace_id == workspace_id) & resthook.c.id.in_(resthook_ids)
        tx.execute(update(resthook).where(mine).values(modified_on=stamped(tx, resthook, workspace_id)))
