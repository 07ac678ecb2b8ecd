"""`modified_on` as mirrors need it: in each workspace moments follow the order in which changes become visible.

A client that asks for what changed at or after the newest moment it has seen misses nothing, however long the
transactions of others take. On PostgreSQL rows get the moment their transaction began, and just before the commit the
final one, read while the workspace's clock is held: nobody else's change can come between moment and commit.
On SQLite one transaction writes at a time, so the first moment is the final one.
"""

from datetime import datetime, timedelta

from sqlalchemy import Column, ColumnElement, ForeignKey, Integer, Table, case, func, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from persistence.columns import metadata, time_column
from persistence.database import Transaction

TICK = timedelta(microseconds=1)
QUICK = timedelta(milliseconds=100)
FOUND_BY = "found_by"
"""Key of `Table.info`: a condition that holds for all rows that are shown, for an index to be used."""

workspace_clock = Table(
    "workspace_clock",
    metadata,
    Column("workspace_id", Integer, ForeignKey("workspace.id"), primary_key=True, autoincrement=False),
    time_column("stamped_on"),
)
"""The last moment given out in each workspace; never before that of any change that can be seen."""


def stamped(tx: Transaction, table: Table, workspace_id: int) -> datetime:
    """What to write to `modified_on` of rows of a table that this unit of work makes or changes."""
    return tx.put_off(Stamps).choose(tx, table, workspace_id)


def later(tx: Transaction, table: Table) -> ColumnElement[datetime] | datetime:
    """What to write to a `modified_on` that no list is filtered by: now, and later than what the row had before."""
    if tx.sqlite:
        return tx.now
    before: ColumnElement[datetime] = table.c.modified_on
    return case((before < tx.now, tx.now), else_=before + text("interval '1 microsecond'"))


class Stamps:
    """The moments of one unit of work: those given out, and the tables that wait for theirs."""

    is_last = True

    def __init__(self) -> None:
        self._taken: dict[int, datetime] = {}
        self._waiting: dict[int, dict[str, Table]] = {}

    def choose(self, tx: Transaction, table: Table, workspace_id: int) -> datetime:
        if workspace_id in self._taken:
            return self._taken[workspace_id]
        if tx.sqlite:
            return self._take(tx, workspace_id)
        self._waiting.setdefault(workspace_id, {})[table.name] = table
        return tx.now

    def settle(self, tx: Transaction) -> None:
        """Holds the clocks, in the order of ids, until the commit, and writes the final moments."""
        waiting, self._waiting = self._waiting, {}
        for workspace_id in sorted(waiting):
            moment = self._take(tx, workspace_id)
            for _, table in sorted(waiting[workspace_id].items()):
                mine = (table.c.workspace_id == workspace_id) & (table.c.modified_on == tx.now)
                found = update(table).where(mine, *(text(each) for each in [table.info.get(FOUND_BY)] if each))
                tx.execute(found.values(modified_on=moment))

    def _take(self, tx: Transaction, workspace_id: int) -> datetime:
        """The next moment of a workspace, whose clock is held from now on."""
        moment = _advance_on_sqlite(tx, workspace_id) if tx.sqlite else _advance(tx, workspace_id)
        self._taken[workspace_id] = moment
        return moment


def _advance(tx: Transaction, workspace_id: int) -> datetime:
    clock = workspace_clock.c.stamped_on
    # A change that took a while bears the moment of its end: others may have looked for changes meanwhile.
    present = tx.read_clock()
    wanted = tx.now if present - tx.now < QUICK else present
    statement = postgresql.insert(workspace_clock).values(workspace_id=workspace_id, stamped_on=wanted)
    next_one = func.greatest(statement.excluded.stamped_on, clock + text("interval '1 microsecond'"))
    advanced = statement.on_conflict_do_update(index_elements=["workspace_id"], set_={"stamped_on": next_one})
    moment: datetime = tx.execute(advanced.returning(clock)).scalar_one()
    return moment


def _advance_on_sqlite(tx: Transaction, workspace_id: int) -> datetime:
    mine = select(workspace_clock.c.stamped_on).where(workspace_clock.c.workspace_id == workspace_id)
    last: datetime | None = tx.execute(mine).scalar_one_or_none()
    moment = tx.now if last is None else max(tx.now, last + TICK)
    statement = sqlite.insert(workspace_clock).values(workspace_id=workspace_id, stamped_on=moment)
    tx.execute(statement.on_conflict_do_update(index_elements=["workspace_id"], set_={"stamped_on": moment}))
    return moment
