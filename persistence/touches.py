"""Names that changed, and who shows them. A record shows the names of others: a run those of its flow and contact. When
a name changes, the `modified_on` of what shows it has to move too, or mirrors would keep the old name. These may be a
million records, so the unit of work that changes a name only notes it, and a worker does the rest in portions
(`persistence.touching`). The note has the time of the change by the workspace's clock, and is written while the
clock is locked: whatever shows the name and was visible before has an earlier time, and whatever comes later shows
the new name.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Executable, bindparam, delete, literal, select, update

from persistence.clock_writes import clock_time
from persistence.database import Transaction, upsert
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.sql.listed_rows import ROWS, select_rows
from persistence.stamps import Stamps
from persistence.tables.changes import pending_touch
from persistence.tables.flows import flow
from persistence.tables.service import workspace_clock
from persistence.tables.tickets import ticket

CONTACT, FLOW, GROUP, CHANNEL, USER = "contact", "flow", "group", "channel", "user"
ADDRESS, ALL_FIELDS, COUNTS = "address", "fields", "counts"
"""What changed: the name of a record; the URNs of a contact; the fields that all contacts show (record 0); the counts
of runs of a flow."""
WAKE = "touches"
KEYS = ["workspace_id", "subject", "record"]


class PendingTouch(NamedTuple):
    """A record whose name changed, and how far the walk through the messages that show it has come."""

    id: int
    subject: str
    record: int
    changed_on: datetime
    pass_on: datetime | None
    reached_on: datetime | None
    reached_id: int | None


class Touches:
    """What one unit of work notes: changed records by workspace, and portions that it has done."""

    is_last = True

    def __init__(self) -> None:
        self._changed: dict[int, set[tuple[str, int]]] = {}
        self._counted: dict[int, set[int]] = {}
        self._done: list[dict[str, Any]] = []
        self._moved: list[dict[str, Any]] = []

    def changed(self, tx: Transaction, workspace_id: int, subject: str, records: Iterable[int]) -> None:
        found = {(subject, record) for record in records}
        if found:
            tx.before_commit(Stamps).hold_clock(workspace_id)
            self._changed.setdefault(workspace_id, set()).update(found)
            tx.wake(WAKE)

    def counted(self, tx: Transaction, workspace_id: int, flow_ids: Iterable[int]) -> None:
        tx.before_commit(Stamps).hold_clock(workspace_id)
        self._counted.setdefault(workspace_id, set()).update(flow_ids)

    def done(self, tx: Transaction, workspace_id: int, rows: Iterable[PendingTouch]) -> None:
        """Nothing more shows the old names of these rows, unless they changed again meanwhile."""
        tx.before_commit(Stamps).hold_clock(workspace_id)
        owner = {"its_owner": workspace_id}
        self._done += [{**owner, "its_id": row.id, "its_change": row.changed_on} for row in rows]

    def moved(self, tx: Transaction, workspace_id: int, row: PendingTouch, **values: Any) -> None:
        """A portion of a row was done."""
        tx.before_commit(Stamps).hold_clock(workspace_id)
        columns = {name: getattr(row, name) for name in ("pass_on", "reached_on", "reached_id")}
        given = {f"new_{name}": value for name, value in (columns | values).items()}
        self._moved.append({"its_owner": workspace_id, "its_id": row.id, **given})

    def flush(self, tx: Transaction) -> None:
        """Writes the notes while the clock is locked, so that nobody waits for one of them."""
        changed, self._changed = self._changed, {}
        counted, self._counted = self._counted, {}
        done, self._done = self._done, []
        moved, self._moved = self._moved, []
        if not (changed or counted or done or moved):
            return
        tx.before_commit(Stamps).flush(tx)
        if done:
            tx.execute(_DONE, done)
        if moved:
            tx.execute(_MOVED, moved)
        for workspace_id, records in sorted(changed.items()):
            shared = {"workspace_id": workspace_id}
            names = [{**shared, "subject": subject, "record": record} for subject, record in sorted(records)]
            _NOTING.run_later(tx, {ROWS: names})
        for workspace_id, flow_ids in sorted(counted.items()):
            _COUNTING.run_later(tx, {"owner": workspace_id, "flows": sorted(flow_ids)})


_MINE = (pending_touch.c.workspace_id == bindparam("its_owner")) & (pending_touch.c.id == bindparam("its_id"))
_DONE = delete(pending_touch).where(_MINE, pending_touch.c.changed_on == bindparam("its_change"))
_NEWS: dict[str, Any] = {name: bindparam(f"new_{name}") for name in ("pass_on", "reached_on", "reached_id")}
_MOVED = update(pending_touch).where(_MINE).values({"portions": pending_touch.c.portions + 1, **_NEWS})


_NAMES = (*KEYS, "changed_on", "portions")


def _note(is_sqlite: bool) -> Executable:
    named = select_rows(pending_touch, KEYS, is_sqlite=is_sqlite)
    noted = named.add_columns(clock_time(named.selected_columns["workspace_id"]), literal(0))
    statement = upsert(pending_touch, is_sqlite=is_sqlite).from_select(_NAMES, noted, include_defaults=False)
    news = {"changed_on": statement.excluded.changed_on}
    return statement.on_conflict_do_update(index_elements=KEYS, set_=news)


def _count(is_sqlite: bool) -> Executable:
    clock = workspace_clock.c
    mine = (flow.c.workspace_id == param("owner")) & among(flow.c.id, "flows") & (clock.workspace_id == param("owner"))
    given = (flow.c.workspace_id, literal(COUNTS), flow.c.id, clock.stamped_on, literal(0))
    noted = select(*given).where(mine).order_by(flow.c.id)
    statement = upsert(pending_touch, is_sqlite=is_sqlite).from_select(_NAMES, noted, include_defaults=False)
    # A row that is there stays as it is: whoever deletes it has moved the flow's time after this one.
    return statement.on_conflict_do_nothing(index_elements=KEYS)


_NOTING, _COUNTING = Fixed(_note), Fixed(_count)
"""With the time of the clock, which this unit of work has locked and does not have to read for them."""


def note_renamed(tx: Transaction, workspace_id: int, subject: str, records: Iterable[int]) -> None:
    """These records have another name, so what shows them has to move its `modified_on`."""
    tx.before_commit(Touches).changed(tx, workspace_id, subject, records)


def note_counted(tx: Transaction, workspace_id: int, flow_ids: Iterable[int]) -> None:
    """Other counts of runs are shown by these flows. They move their `modified_on` a little later, once for many runs:
    otherwise each run would write its flow twice."""
    tx.before_commit(Touches).counted(tx, workspace_id, flow_ids)


def note_renamed_user(tx: Transaction, user_id: int) -> None:
    """A user, whom tickets of several workspaces may show, has another name."""
    for column in (ticket.c.assignee_id, ticket.c.opened_by_id):
        showing = select(ticket.c.workspace_id).where(column == user_id).distinct()
        for workspace_id in sorted(tx.execute(showing).scalars()):
            note_renamed(tx, workspace_id, USER, [user_id])
