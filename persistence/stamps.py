"""`modified_on` for mirrors: in each workspace it follows the order in which changes become visible. A client that asks
for changes at or after the newest time that it has seen misses nothing, even if other transactions take long. On
PostgreSQL rows first get the time when their transaction began, and just before the commit the final time, read while
the workspace's clock is locked: no other change can get a time in between. On SQLite one transaction writes at a time,
so the first time is final.
"""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import ColumnElement, Select, Table, case, select, text, update

from persistence.clock_writes import Beside, advance, advance_on_sqlite, found_by, read_clock, write_beside
from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.sql.columns import UtcDateTime
from persistence.sql.fixed_statements import param

PASSES = 3


def stamped(tx: Transaction, table: Table, workspace_id: int) -> datetime:
    """The value of `modified_on` for rows of a table that this unit of work creates or changes."""
    return tx.before_commit(Stamps).choose(tx, table, workspace_id)


def touch(tx: Transaction, table: Table, workspace_id: int, which: ColumnElement[bool]) -> None:
    """Updates `modified_on` of the records of a table that meet a condition, because a record that they refer to has
    changed. Records that meet the condition later, before the end of this unit of work, are included; raises LostRace
    if new ones appear too fast.
    """
    touched = select(table.c.id).where(table.c.workspace_id == workspace_id, which, text(found_by(table)))
    _write_moment(tx, table, touched, stamped(tx, table, workspace_id))
    if not tx.sqlite:
        tx.before_commit(Stamps).expect(table, workspace_id, touched)


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


def moved_on(table: Table, is_sqlite: bool) -> ColumnElement[datetime]:
    """The same in statements that are built once; the parameter `now` has the time of the unit of work."""
    now: ColumnElement[datetime] = param("now", UtcDateTime)
    before: ColumnElement[datetime] = table.c.modified_on
    return now if is_sqlite else case((before < now, now), else_=before + text("interval '1 microsecond'"))


class Stamps:
    """The times of one unit of work: those given, and the tables that wait for their final time."""

    is_last = True

    def __init__(self) -> None:
        self._taken: dict[int, datetime] = {}
        self._advanced: set[int] = set()
        self._waiting: dict[int, dict[str, Table]] = {}
        self._carried: dict[int, Callable[[], Beside]] = {}
        self._expected: list[tuple[Table, int, Select[int]]] = []

    def choose(self, tx: Transaction, table: Table, workspace_id: int) -> datetime:
        if tx.sqlite and workspace_id not in self._taken:
            self._taken[workspace_id] = advance_on_sqlite(tx, workspace_id)
        if workspace_id in self._taken or workspace_id in self._advanced:
            return self.moment(tx, workspace_id)
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
        carried, self._carried = self._carried, {}
        for workspace_id in sorted({*waiting, *carried}):
            beside = carried[workspace_id]() if workspace_id in carried else Beside()
            if tx.sqlite:
                if workspace_id not in self._taken:
                    self._taken[workspace_id] = advance_on_sqlite(tx, workspace_id)
                write_beside(tx, workspace_id, self._taken[workspace_id], beside)
            else:
                tables = [table for _, table in sorted(waiting.get(workspace_id, {}).items())]
                advance(tx, workspace_id, tables, beside)
                self._taken.pop(workspace_id, None)
                self._advanced.add(workspace_id)
        for table, workspace_id, touched in expected:
            # From now on no other change becomes visible, and visible ones have other times.
            late = touched.where(table.c.modified_on != self.moment(tx, workspace_id))
            if tx.execute(late.limit(1)).first() is not None:
                raise LostRace

    def hold_clock(self, workspace_id: int) -> None:
        """The flush locks the clock of this workspace, even if no table waits for its final time."""
        if workspace_id not in self._taken and workspace_id not in self._advanced:
            self._waiting.setdefault(workspace_id, {})

    def carry(self, workspace_id: int, tell: Callable[[], Beside]) -> None:
        """The next flush writes with the clock what it is told then."""
        self._carried[workspace_id] = tell

    def moment(self, tx: Transaction, workspace_id: int) -> datetime:
        """The time of this unit of work in a workspace whose clock is held, after the flush. Most units of work do not
        need it, so it is read only for those that do.
        """
        if workspace_id in self._advanced and workspace_id not in self._taken:
            self._taken[workspace_id] = read_clock(tx, workspace_id)
        return self._taken[workspace_id]

    def expect(self, table: Table, workspace_id: int, touched: Select[int]) -> None:
        """These rows get the final time of this unit of work."""
        self._expected.append((table, workspace_id, touched))
