"""Which workspaces have waiting work, found by seeks in an index that begins with the workspace. Workers first list the
workspaces with due work and then take some work of one workspace, so that all are served, and so that a database that
is spread over several machines by workspace needs only one of them.
"""

from sqlalchemy import Column, ColumnElement, Select, String, and_, case, func, literal, select

from persistence.database import Transaction


def list_workspaces(tx: Transaction, workspace_id: Column[int], *waits: ColumnElement[bool]) -> list[int]:
    """The workspaces with a row that meets the condition of a partial index; one index seek for each of them."""
    owners = select(func.min(workspace_id).label("id")).where(*waits).cte("owners", recursive=True)
    following = select(func.min(workspace_id)).where(*waits, workspace_id > owners.c.id)
    owners = owners.union_all(select(following.scalar_subquery()).where(owners.c.id.is_not(None)))
    return list(tx.execute(select(owners.c.id).where(owners.c.id.is_not(None))).scalars())


def list_due_workspaces(
    tx: Transaction, workspace_id: Column[int], waits: ColumnElement[bool], is_due: ColumnElement[bool]
) -> list[int]:
    """The workspaces that also have a due row: `is_due` compares the next column of the index."""
    owners = select(func.min(workspace_id).label("id")).where(waits).cte("owners", recursive=True)
    following = select(func.min(workspace_id)).where(waits, workspace_id > owners.c.id)
    owners = owners.union_all(select(following.scalar_subquery()).where(owners.c.id.is_not(None)))
    due = select(literal(1)).where(waits, is_due, workspace_id == owners.c.id).correlate(owners)
    return list(tx.execute(select(owners.c.id).where(has_row(due))).scalars())


def list_receivers(
    tx: Transaction,
    workspace_id: Column[int],
    receiver: Column[str],
    waits: ColumnElement[bool],
    is_due: ColumnElement[bool],
) -> list[tuple[int, str]]:
    """The workspaces and receivers with a due row; the index begins with both. An empty name sorts before the receivers
    of each workspace.
    """
    first = select(func.min(workspace_id).label("owner"), literal("", String).label("name")).where(waits)
    pairs = first.cte("pairs", recursive=True)
    within = select(func.min(receiver)).where(waits, workspace_id == pairs.c.owner, receiver > pairs.c.name)
    beyond = select(func.min(workspace_id)).where(waits, workspace_id > pairs.c.owner)
    following = within.correlate(pairs).scalar_subquery()
    owner = case((following.is_not(None), pairs.c.owner), else_=beyond.correlate(pairs).scalar_subquery())
    pairs = pairs.union_all(select(owner, func.coalesce(following, "")).where(pairs.c.owner.is_not(None)))
    mine = and_(waits, is_due, workspace_id == pairs.c.owner, receiver == pairs.c.name)
    due = select(literal(1)).where(mine).correlate(pairs)
    found = select(pairs.c.owner, pairs.c.name).where(pairs.c.owner.is_not(None), pairs.c.name != "", has_row(due))
    return [(owner_id, name) for owner_id, name in tx.execute(found)]


def has_row(found: Select[int]) -> ColumnElement[bool]:
    """Whether there is one, by a seek for each row of the outer query. EXISTS could become a join, for which PostgreSQL
    reads everything that is due: by its statistics, which it mostly takes while little waits, that is one row.
    """
    return found.limit(1).scalar_subquery().is_not(None)
