"""`modified_on` for mirrors: in each workspace it follows the order in which changes become visible. A client that asks
for changes at or after the newest time that it has seen misses nothing, even if other transactions take long. On
PostgreSQL rows first get the time when their transaction began, and just before the commit the final time, read while
the workspace's clock is locked: no other change can get a time in between. On SQLite one transaction writes at a time,
so the first time is final.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache

from sqlalchemy import ColumnElement, Insert, Select, Table, TextualSelect, bindparam, case, select, text, update

from persistence.database import Transaction, upsert
from persistence.errors import LostRace
from persistence.sql.columns import FOUND_BY, UtcDateTime
from persistence.tables.service import workspace_clock

TICK = timedelta(microseconds=1)
QUICK = timedelta(milliseconds=100)
PASSES = 3

ADVANCING = """INSERT INTO workspace_clock (workspace_id, stamped_on) VALUES (:workspace_id, :wanted)
ON CONFLICT (workspace_id) DO UPDATE
SET stamped_on = greatest(excluded.stamped_on, workspace_clock.stamped_on + interval '1 microsecond')
RETURNING stamped_on"""


def stamped(tx: Transaction, table: Table, workspace_id: int) -> datetime:
    """The value of `modified_on` for rows of a table that this unit of work creates or changes."""
    return tx.before_commit(Stamps).choose(tx, table, workspace_id)


def touch(tx: Transaction, table: Table, workspace_id: int, which: ColumnElement[bool]) -> None:
    """Updates `modified_on` of the records of a table that meet a condition, because a record that they refer to has
    changed. Records that meet the condition later, before the end of this unit of work, are included; raises LostRace
    if new ones appear too fast.
    """
    touched = select(table.c.id).where(table.c.workspace_id == workspace_id, which, text(_found_by(table)))
    _write_moment(tx, table, touched, stamped(tx, table, workspace_id))
    if not tx.sqlite:
        tx.before_commit(Stamps).expect(table, workspace_id, touched)


def _found_by(table: Table) -> str:
    """The condition that holds for all visible rows, so that the database uses their index."""
    found_by: str = table.info.get(FOUND_BY, "true")
    return found_by


def _write_moment(tx: Transaction, table: Table, which: Select[int], moment: datetime) -> int:
    """Gives the chosen rows a time, locked in the order of ids; returns their number."""
    held = which.order_by(table.c.id).with_for_update(key_share=True)
    return tx.execute(update(table).where(table.c.id.in_(held)).values(modified_on=moment)).rowcount


def later(tx: Transaction, table: Table) -> ColumnElement[datetime] | datetime:
    """The value of a `modified_on` that no list filters by: now, and later than the row's previous value."""
    if tx.sqlite:
        return tx.now
    before: ColumnElement[datetime] = table.c.modified_on
    return case((before < tx.now, tx.now), else_=before + text("interval '1 microsecond'"))


class Stamps:
    """The times of one unit of work: those given, and the tables that wait for their final time."""

    is_last = True

    def __init__(self) -> None:
        self._taken: dict[int, datetime] = {}
        self._waiting: dict[int, dict[str, Table]] = {}
        self._expected: list[tuple[Table, int, Select[int]]] = []

    def choose(self, tx: Transaction, table: Table, workspace_id: int) -> datetime:
        if tx.sqlite and workspace_id not in self._taken:
            self._taken[workspace_id] = _advance_on_sqlite(tx, workspace_id)
        if workspace_id in self._taken:
            return self._taken[workspace_id]
        self._waiting.setdefault(workspace_id, {})[table.name] = table
        return tx.now

    def flush(self, tx: Transaction) -> None:
        """Locks the clocks, in the order of ids, until the commit, and writes the final times."""
        expected, self._expected = self._expected, []
        for table, workspace_id, touched in expected:
            # Records that appeared while many were updated are updated now, and again those that appeared meanwhile:
            # fewer each time.
            moment = self.choose(tx, table, workspace_id)
            late = touched.where(table.c.modified_on != moment)
            for _ in range(PASSES):
                if not _write_moment(tx, table, late, moment):
                    break
        waiting, self._waiting = self._waiting, {}
        for workspace_id in sorted(waiting):
            tables = [table for _, table in sorted(waiting[workspace_id].items())]
            if tx.sqlite and workspace_id not in self._taken:
                self._taken[workspace_id] = _advance_on_sqlite(tx, workspace_id)
            elif not tx.sqlite:
                self._taken[workspace_id] = _advance(tx, workspace_id, tables)
        for table, workspace_id, touched in expected:
            # From now on no other change becomes visible, and visible ones have other times.
            late = touched.where(table.c.modified_on != self._taken[workspace_id])
            if tx.execute(late.limit(1)).first() is not None:
                raise LostRace

    def hold_clock(self, workspace_id: int) -> None:
        """The flush locks the clock of this workspace, even if no table waits for its final time."""
        if workspace_id not in self._taken:
            self._waiting.setdefault(workspace_id, {})

    def moment(self, tx: Transaction, workspace_id: int) -> datetime:
        """The time of this unit of work in a workspace whose clock is held, after the flush."""
        return self._taken[workspace_id]

    def expect(self, table: Table, workspace_id: int, touched: Select[int]) -> None:
        """These rows get the final time of this unit of work."""
        self._expected.append((table, workspace_id, touched))


def _advance(tx: Transaction, workspace_id: int, tables: Sequence[Table]) -> datetime:
    """The next time of a workspace, whose clock is locked from now on; rows of this unit of work get it."""
    # A long change gets the time of its end, because clients may have asked for changes meanwhile.
    present = tx.read_clock()
    wanted = tx.now if present - tx.now < QUICK else present
    values = {"workspace_id": workspace_id, "wanted": wanted, "provisional": tx.now}
    moment: datetime = tx.execute(_restamping(tuple(tables)), values).scalar_one()
    return moment


@cache
def _restamping(tables: tuple[Table, ...]) -> TextualSelect:
    """The statement that advances the clock and updates the rows of these tables in one round trip."""
    parts = ["moment AS (" + ADVANCING + ")"]
    for table in tables:
        mine = f"workspace_id = :workspace_id AND modified_on = :provisional AND {_found_by(table)}"
        changing = f"UPDATE {table.name} SET modified_on = moment.stamped_on FROM moment WHERE {mine}"
        parts.append(f"in_{table.name} AS ({changing})")
    statement = text(f"WITH {', '.join(parts)} SELECT stamped_on FROM moment")
    return statement.columns(stamped_on=UtcDateTime)


def _advance_on_sqlite(tx: Transaction, workspace_id: int) -> datetime:
    last = tx.execute(_LAST, {"owner": workspace_id}).scalar_one_or_none()
    moment = tx.now if last is None else max(tx.now, last + TICK)
    tx.execute(_setting_clock(), {"workspace_id": workspace_id, "stamped_on": moment})
    return moment


_LAST = select(workspace_clock.c.stamped_on).where(workspace_clock.c.workspace_id == bindparam("owner"))


@cache
def _setting_clock() -> Insert:
    statement = upsert(workspace_clock, is_sqlite=True)
    news = {"stamped_on": statement.excluded.stamped_on}
    return statement.on_conflict_do_update(index_elements=["workspace_id"], set_=news)
