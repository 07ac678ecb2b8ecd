"""Due work, and who has it, in all tables.

Workers first list the workspaces with due work, found by seeks in an index that begins with the workspace, also where
SQLite knows nothing about the rows, and then take some work of one workspace, so that all are served, and so that a
database that is spread over several machines by workspace needs only one of them. Workers ask so all the time, so the
statements are built once: the conditions `waits` are objects that exist once.

A worker has a lease of a record until a time that is in its row, and whoever holds it proves that by this time. Work
counts beforehand, in its row, that it begins: whatever ends the process that does it, the next one knows how often that
happened. After MOST_ATTEMPTS it is given up with a reason, and other work goes on.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import (
    CTE,
    BindParameter,
    ClauseElement,
    Column,
    ColumnElement,
    Executable,
    Integer,
    Select,
    String,
    Table,
    Update,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction

from persistence.database import Transaction
from persistence.sql.columns import UtcDateTime
from persistence.statements import Statement, among, execute_kept, param, update

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


Found = TypeVar("Found")
ALL = true()

MOST_ATTEMPTS = 3
GIVEN_UP = (
    f"Given up after {MOST_ATTEMPTS} attempts: each time the process that did this was ended, or met an error of the "
    "service, before it got on. The logs of the workers say more."
)
PAUSES = (timedelta(seconds=5), timedelta(seconds=15), timedelta(seconds=60))
"""How long nobody else begins the same work after each attempt began: by then its row is locked, or it is over."""
FORGOTTEN_AFTER = timedelta(days=1)
"""When a lease that was not given back says nothing about the work of today."""
GOT_ON: dict[str, Any] = {"attempts": 0, "leased_until": None}
"""What work that is done in one transaction stores in its row with that."""


def is_free(until: ColumnElement[Any], now: datetime | BindParameter[datetime]) -> ColumnElement[bool]:
    """Whether nobody has a record: its lease, whose end is in this column, was given back or is over."""
    return or_(until.is_(None), until <= now)


class Leases:
    """The leases of a table: `until` and `count` name its columns; without a count no attempts are counted. Rows that
    meet `is_due` are taken in this order; the first attempt lasts for the first of these times. `news` is stored then.
    """

    def __init__(
        self,
        table: Table,
        is_due: ColumnElement[bool] = ALL,
        *order: ColumnElement[Any],
        lasts: Sequence[timedelta] = PAUSES,
        until: str = "leased_until",
        count: str | None = "attempts",
        news: Mapping[str, Any] | None = None,
        is_prepared: bool = True,
    ) -> None:
        self.table, self.until, self.count, self.is_prepared = table, until, count, is_prepared
        self._rows, self._ends = table.c, table.c[until]
        self._attempts = literal(0) if count is None else table.c[count]
        self._is_due, self._order, self._lasts, self._news = is_due, order, lasts, news or {}
        self._next, self._free = Statement(self._take_next), Statement(self._take_free)

    def take_next(
        self,
        tx: Transaction,
        workspace_id: int,
        give_up: Callable[[Transaction, int], object] | None = None,
        row_id: int | None = None,
    ) -> int | None:
        """Takes the next row of a workspace that is due, or this one; returns its id. One with too many attempts is
        given up, which ends it. Commit this before the work begins.
        """
        ends = {f"until_{number}": tx.now + each for number, each in enumerate(self._lasts)}
        chosen: dict[str, Any] = {"row_id": row_id, "by_id": row_id is not None, "now": tx.now, **ends}
        while rows := self._next.rows(tx, workspace_id=workspace_id, **chosen):
            ((found, attempts),) = rows
            if give_up is None or attempts <= MOST_ATTEMPTS:
                return int(found)
            give_up(tx, found)
        return None

    def take_free(self, tx: Transaction, ids: Collection[int], until: datetime) -> dict[int, int]:
        """Takes the free ones of these rows; locked ones count as taken. Returns how often each was taken since its
        lease was given back, or was over for long.
        """
        return dict(self._free.rows(tx, sorted(ids), tx.now, until, tx.now - FORGOTTEN_AFTER)) if ids else {}

    def take(self, tx: Transaction, ids: Collection[int], until: datetime, owners: Collection[int]) -> None:
        """Takes rows of these workspaces that this transaction has locked."""
        _giving(self, (), 1, has_owners=True).run(tx, ids=sorted(ids), owners=sorted(owners), until=until)

    def without_suspects(
        self,
        tx: Transaction,
        rows: Sequence[Found],
        give_up: Callable[[Transaction, Sequence[Found]], None],
        place: str,
    ) -> Sequence[Found]:
        """Of these locked rows, of those during which two workers ended only one at a time in the same `place`, a
        column: if a third one ends, it is this one's doing, and it is given up.
        """
        count, where, most = attrgetter(str(self.count)), attrgetter(place), MOST_ATTEMPTS - 1
        suspects = [row for row in rows if count(row) >= most]
        if not suspects:
            return rows
        give_up(tx, [row for row in suspects if count(row) > most])
        under_way = self._is_due & (self._attempts > most) & (self._ends > tx.now)
        theirs = under_way & self._rows[place].in_({where(row) for row in suspects})
        is_busy = tx.execute(select(self._rows.id).where(theirs).limit(1)).first() is not None
        chosen = [] if is_busy else [row for row in suspects if count(row) == most][:1]
        return [row for row in rows if count(row) < most or row in chosen]

    def keep(
        self,
        tx: Transaction,
        ids: Collection[int],
        held_until: datetime,
        until: datetime | None,
        owners: Collection[int] = (),
        *,
        was_tried: bool = True,
        **values: Any,
    ) -> Sequence[int]:
        """Gives leases that are still held another end, and their rows these values; returns their ids. If nothing
        `was_tried` this was no attempt, but those before it are still counted.
        """
        if values and (tx.witness or any(isinstance(each, ClauseElement) for each in values.values())):
            # The audit log hears of it, and what the database computes is another statement each time.
            mine = self._rows.workspace_id.in_(owners) & self._rows.id.in_(ids) & (self._ends == held_until)
            keeping = update(self.table).where(mine).values({self.until: until, **values})
            return tx.execute(keeping.returning(self._rows.id)).scalars().all()
        kept = _giving(self, tuple(values), 0 if was_tried else -1, has_owners=bool(owners))
        given = {"owners": sorted(owners), "held_until": held_until, "until": until, "now": tx.now}
        news = {f"new_{name}": value for name, value in values.items()}
        return [row[0] for row in kept.rows(tx, ids=sorted(ids), **given, **news)]

    def free(
        self, tx: Transaction, ids: Collection[int], held_until: datetime, owners: Collection[int] = (), **values: Any
    ) -> Sequence[int]:
        """Ends leases that are still held; as `keep`."""
        return self.keep(tx, ids, held_until, None, owners, **values) if ids else ()

    def are_held(self, ids: Sequence[int], held_until: datetime) -> ColumnElement[bool]:
        """By whoever has leases until this time; for statements."""
        return among(self._rows.id, ids) & (self._ends == held_until)

    def _take_next(
        self, workspace_id: int, row_id: int, now: datetime, *, by_id: bool, **_ends: datetime
    ) -> Executable:
        mine = self._rows.workspace_id == workspace_id
        chosen = self._rows.id == row_id if by_id else ALL
        due = select(self._rows.id).where(mine, chosen, self._is_due, is_free(self._ends, now)).order_by(*self._order)
        due = due.limit(literal_column("1")).with_for_update(skip_locked=True, key_share=True)
        times = [cast(param(f"until_{number}", UtcDateTime), UtcDateTime) for number in range(len(self._lasts))]
        by_count = [(self._attempts == literal(number), time) for number, time in enumerate(times[:-1])]
        until = case(*by_count, else_=times[-1]) if by_count else times[-1]
        return self._taking(mine & (self._rows.id == due.scalar_subquery()), until, self._attempts + literal(1))

    def _take_free(self, ids: Sequence[int], now: datetime, until: datetime, long_ago: datetime) -> Executable:
        free = select(self._rows.id).where(among(self._rows.id, ids), is_free(self._ends, now)).order_by(self._rows.id)
        free = free.with_for_update(skip_locked=True, key_share=True)
        is_first = or_(self._ends.is_(None), self._ends <= long_ago)
        attempt = case((is_first, literal(1)), else_=self._attempts + literal(1))
        return self._taking(self._rows.id.in_(free), until, attempt)

    def _taking(self, which: ColumnElement[bool], until: Any, attempt: ColumnElement[int]) -> Update:
        counted = {} if self.count is None else {self.count: attempt}
        taking = update(self.table).where(which).values({self.until: until, **counted, **self._news})
        return taking.returning(self._rows.id, self._attempts)


@lru_cache(maxsize=100)
def _giving(leases: Leases, names: tuple[str, ...], tried: int, *, has_owners: bool) -> Statement[...]:
    """The statement that gives rows another end of their lease: locked ones that are taken, and ones that are held."""
    rows, attempts = leases.table.c, leases.table.c[leases.count or "id"]

    def build(
        ids: Sequence[int], owners: Sequence[int], held_until: datetime, until: datetime, now: datetime, **_: Any
    ) -> Executable:
        mine = [among(beside_index(rows.workspace_id), owners)] if has_owners else []
        news = {leases.until: until, **{name: param(f"new_{name}", rows[name].type) for name in names}}
        if tried > 0:
            news[str(leases.count)] = attempts + literal(1)
            return update(leases.table).where(*mine, among(rows.id, ids)).values(news)
        if tried < 0:
            is_again = attempts > literal(1)
            end = func.coalesce(cast(until, UtcDateTime), case((is_again, cast(now, UtcDateTime))))
            news |= {leases.until: end, str(leases.count): case((is_again, attempts - literal(1)), else_=literal(0))}
        return update(leases.table).where(*mine, leases.are_held(ids, held_until)).values(news).returning(rows.id)

    return Statement(build, is_told=True, is_prepared=leases.is_prepared)
