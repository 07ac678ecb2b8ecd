"""Which workspaces have waiting work, found by seeks in an index that begins with the workspace, also where SQLite
knows nothing about the rows. Workers first list the workspaces with due work and then take some work of one
workspace, so that all are served, and so that a database that is spread over several machines by workspace needs
only one of them. Workers ask so all the time, so the statements are built once: the conditions `waits` are objects
that exist once.
"""

from enum import Enum, auto
from typing import Any, TypeVar

from sqlalchemy import CTE, Column, ColumnElement, Integer, Select, String, and_, case, func, literal, or_, select, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from persistence.database import Transaction
from persistence.statements import execute_kept

Name = TypeVar("Name", str, int)

MUCH = 50
"""So many rows are a flood: others are served before it."""


class Share(Enum):
    """The part of the due work that a process takes: that of workspaces and receivers with less than `MUCH` of it, with
    as much or more, or all."""

    ALL = auto()
    LITTLE = auto()
    MUCH = auto()


def list_workspaces(tx: Transaction, workspace_id: Column[int], *waits: ColumnElement[bool]) -> list[int]:
    """The workspaces with a row that meets the condition of a partial index; one index seek for each of them."""

    def build() -> Select[int]:
        owners = _owners(workspace_id, *waits)
        return select(owners.c.id).where(owners.c.id.is_not(None))

    return [owner for (owner,) in execute_kept(tx, (workspace_id, *waits), ("waits",), (), build, {})]


def list_workspaces_in_share(
    tx: Transaction, workspace_id: Column[int], waits: ColumnElement[bool], by: Column[Any], share: Share
) -> list[int]:
    """Those of them with as many rows as the share says; `by` is the next column of the index."""

    def build() -> Select[int]:
        owners = _owners(workspace_id, waits)
        theirs = select(literal(1)).where(waits, workspace_id == owners.c.id).correlate(owners).order_by(by)
        return select(owners.c.id).where(owners.c.id.is_not(None), is_in_share(share, theirs))

    found = execute_kept(tx, (workspace_id, waits), ("waits", share), (), build, {}, is_even=True)
    return [owner for (owner,) in found]


def list_due_workspaces(
    tx: Transaction,
    workspace_id: Column[int],
    waits: ColumnElement[bool],
    is_due: ColumnElement[bool],
    by: Column[Any],
) -> list[int]:
    """The workspaces that also have a due row; `by` is the next column of the index."""

    def build() -> Select[int]:
        owners = _owners(workspace_id, waits)
        due = select(literal(1)).where(waits, is_due, workspace_id == owners.c.id).correlate(owners).order_by(by)
        return select(owners.c.id).where(has_row(due))

    return [owner for (owner,) in execute_kept(tx, (workspace_id, waits), ("due",), (is_due,), build, {})]


def list_receivers(
    tx: Transaction,
    workspace_id: Column[int],
    receiver: Column[Name],
    waits: ColumnElement[bool],
    is_due: ColumnElement[bool],
    by: Column[Any],
) -> list[tuple[int, Name]]:
    """The workspaces and receivers with a due row; the index begins with both and goes on with `by`. An empty name, or
    the number 0, sorts before the receivers of each workspace.
    """

    def build() -> Select[Any]:
        none: ColumnElement[Any] = literal(0) if isinstance(receiver.type, Integer) else literal("", String)
        first = select(func.min(workspace_id).label("owner"), none.label("name")).where(waits)
        pairs = first.cte("pairs", recursive=True)
        within = select(func.min(receiver)).where(waits, workspace_id == pairs.c.owner, receiver > pairs.c.name)
        beyond = select(func.min(workspace_id)).where(waits, workspace_id > pairs.c.owner)
        following = within.correlate(pairs).scalar_subquery()
        owner = case((following.is_not(None), pairs.c.owner), else_=beyond.correlate(pairs).scalar_subquery())
        pairs = pairs.union_all(select(owner, func.coalesce(following, none)).where(pairs.c.owner.is_not(None)))
        mine = and_(waits, is_due, workspace_id == pairs.c.owner, receiver == pairs.c.name)
        due = select(literal(1)).where(mine).correlate(pairs).order_by(by)
        return select(pairs.c.owner, pairs.c.name).where(pairs.c.owner.is_not(None), pairs.c.name != none, has_row(due))

    found = execute_kept(tx, (workspace_id, receiver, waits), ("receivers",), (is_due,), build, {})
    return [(owner_id, name) for owner_id, name in found]


def has_row(found: Select[int]) -> ColumnElement[bool]:
    """Whether there is one, by a seek for each row of the outer query. EXISTS could become a join, for which PostgreSQL
    reads everything that is due: by its statistics, which it mostly takes while little waits, that is one row. The
    statement is in the order of the index: for any row PostgreSQL would read the table from its beginning once most of
    it is due, and for whom nothing is due the whole table.
    """
    return found.limit(1).scalar_subquery().is_not(None)


def is_in_share(share: Share, *found: Select[int]) -> ColumnElement[bool]:
    """Whether one of these statements finds as much, or as little, as the share says; none looks at more rows."""
    if share is Share.ALL:
        return true()
    is_much = or_(*(has_row(each.offset(MUCH - 1)) for each in found))
    return is_much if share is Share.MUCH else ~is_much


class beside_index(GenericFunction[Any]):
    """A column that is compared, but by which SQLite does not search: another condition names few rows, and without
    statistics SQLite would as soon read all rows of the workspace. PostgreSQL, which has statistics and partitions,
    gets the plain column.
    """

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self.type = column.type


def _owners(workspace_id: Column[int], *waits: ColumnElement[bool]) -> CTE:
    """The workspaces with a waiting row, and null at the end."""
    owners = select(func.min(workspace_id).label("id")).where(*waits).cte("owners", recursive=True)
    following = select(func.min(workspace_id)).where(*waits, workspace_id > owners.c.id)
    return owners.union_all(select(following.scalar_subquery()).where(owners.c.id.is_not(None)))


@compiles(beside_index)
def _plain(element: beside_index, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses.clauses[0], **options)


@compiles(beside_index, "sqlite")
def _not_searched(element: beside_index, compiler: SQLCompiler, **options: Any) -> str:
    return "+" + compiler.process(element.clauses.clauses[0], **options)
