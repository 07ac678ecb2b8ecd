"""Request allowances per workspace and scope, taken by API processes in small batches."""

from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite

from persistence.database import Transaction
from persistence.tables.service import rate_window


def take_allowance(
    tx: Transaction, workspace_id: int, scope: str, *, limit: int, period: timedelta, wanted: int
) -> tuple[int, int, datetime]:
    """Take up to `wanted` requests out of the present window.

    Returns how many were granted (0: none is left), how many are left for others, and when the window ends.
    """
    rows = rate_window.c
    insert = sqlite.insert if tx.sqlite else postgresql.insert
    first = insert(rate_window).values(workspace_id=workspace_id, scope=scope, began_on=tx.now, taken=0)
    tx.execute(first.on_conflict_do_nothing())
    mine = (rows.workspace_id == workspace_id) & (rows.scope == scope)
    row = tx.execute(select(rows.began_on, rows.taken).where(mine).with_for_update()).one()
    began_on, taken = (row.began_on, row.taken) if tx.now < row.began_on + period else (tx.now, 0)
    granted = max(0, min(wanted, limit - taken))
    tx.execute(update(rate_window).where(mine).values(began_on=began_on, taken=taken + granted))
    return granted, limit - taken - granted, began_on + period


def read_allowance(
    tx: Transaction, workspace_id: int, scope: str, *, limit: int, period: timedelta
) -> tuple[int, datetime]:
    """How many requests are left in the present window, and when it ends; a read alone."""
    rows = rate_window.c
    mine = (rows.workspace_id == workspace_id) & (rows.scope == scope)
    row = tx.execute(select(rows.began_on, rows.taken).where(mine)).first()
    if row is None or tx.now >= row.began_on + period:
        return limit, tx.now + period
    return limit - row.taken, row.began_on + period
