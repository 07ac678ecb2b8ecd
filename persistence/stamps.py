"""`modified_on` for mirrors: in each workspace it follows the order in which changes become visible. A client that asks
for changes at or after the newest time that it has seen misses nothing, even if other transactions take long. On
PostgreSQL rows first get the time when their transaction began, and just before the commit the final time, read
while the workspace's clock is locked: no other change can get a time in between. On SQLite one transaction writes at
a time, so the first time is final.

The statements that advance the clock of a workspace, and what is written with it: on PostgreSQL one statement, because
each round trip counts while others wait for the clock.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, Select, Table, case, literal, null, select, text, tuple_, update

from persistence.database import Transaction, upsert
from persistence.errors import LostRace
from persistence.runs.storing import WITH_CLOCK, insert_runs
from persistence.sql.columns import FOUND_BY, UtcDateTime, split
from persistence.statements import Statement, array_text, param, parameters_of, rows_text, statement
from persistence.tables.changes import conversation, day_count, flow_count
from persistence.tables.contacts import ACTIVE, STOPPED, contact
from persistence.tables.service import workspace_clock
from persistence.tables.stamps import record_stamp

PASSES = 3

TICK = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUICK = timedelta(milliseconds=100)
MOVED, SEEN = "moved", "seen"

ADVANCING = """INSERT INTO workspace_clock (workspace_id, stamped_on)
VALUES (CAST(:workspace_id AS integer), CAST(:wanted AS timestamptz))
ON CONFLICT (workspace_id) DO UPDATE
SET stamped_on = greatest(excluded.stamped_on, workspace_clock.stamped_on + interval '1 microsecond')
RETURNING stamped_on"""
STAMPING = """INSERT INTO record_stamp (workspace_id, kind, record, stamped_on)
SELECT CAST(:workspace_id AS integer), noted.kind, noted.record, moment.stamped_on
FROM moment, unnest(CAST(:kinds AS text[]), CAST(:records AS bigint[])) AS noted (kind, record)
ON CONFLICT (workspace_id, kind, record) DO UPDATE SET stamped_on = excluded.stamped_on"""
COUNTING = """INSERT INTO day_count (workspace_id, kind, day, subject, number)
SELECT CAST(:workspace_id AS integer), noted.kind, noted.day, noted.subject, noted.number
FROM moment, unnest(CAST(:counted AS text[]), CAST(:days AS date[]), CAST(:subjects AS bigint[]),
CAST(:numbers AS bigint[])) AS noted (kind, day, subject, number)
ON CONFLICT (workspace_id, kind, day, subject) DO UPDATE SET number = day_count.number + excluded.number"""
COUNTING_FLOWS = """INSERT INTO flow_count (workspace_id, flow_id, kind, day, key, value, number)
SELECT CAST(:workspace_id AS integer), noted.flow_id, noted.kind, CAST(:today AS date), noted.key, noted.value,
noted.number
FROM moment, unnest(CAST(:flow_ids AS bigint[]), CAST(:flow_kinds AS text[]), CAST(:flow_keys AS text[]),
CAST(:flow_values AS text[]), CAST(:flow_numbers AS bigint[])) AS noted (flow_id, kind, key, value, number)
ON CONFLICT (workspace_id, flow_id, kind, day, key, value) DO UPDATE
SET number = flow_count.number + excluded.number"""
TALKING = """INSERT INTO conversation
(workspace_id, contact_id, message_id, last_on, folder, unread_count, is_unread, read_id)
SELECT CAST(:workspace_id AS integer), noted.contact_id, noted.message_id, noted.last_on, noted.folder, 0, false, 0
FROM moment, unnest(CAST(:contact_ids AS bigint[]), CAST(:message_ids AS integer[]), CAST(:lasts AS timestamptz[]),
CAST(:folders AS text[])) AS noted (contact_id, message_id, last_on, folder)
JOIN contact ON contact.workspace_id = CAST(:workspace_id AS integer) AND contact.id = noted.contact_id
WHERE NOT contact.is_deleted
ORDER BY noted.contact_id
ON CONFLICT (workspace_id, contact_id) DO UPDATE
SET message_id = excluded.message_id, last_on = excluded.last_on, folder = excluded.folder
WHERE (excluded.last_on, excluded.message_id) > (conversation.last_on, conversation.message_id)"""

MOVING = """UPDATE contact SET current_flow_id = noted.flow_id, handling_until = NULL, modified_on = moment.stamped_on
FROM moment, unnest(CAST(:moved AS bigint[]), CAST(:moved_to AS bigint[])) AS noted (contact_id, flow_id)
WHERE contact.workspace_id = CAST(:workspace_id AS integer) AND contact.id = noted.contact_id"""
SEEING = f"""UPDATE contact SET last_seen_on = CAST(:provisional AS timestamptz), modified_on = moment.stamped_on,
status = CASE WHEN noted.is_revived AND contact.status = '{STOPPED}' THEN '{ACTIVE}' ELSE contact.status END
FROM moment, unnest(CAST(:present AS bigint[]), CAST(:revived AS boolean[])) AS noted (contact_id, is_revived)
WHERE contact.workspace_id = CAST(:workspace_id AS integer) AND contact.id = noted.contact_id"""
UNLESS = {
    MOVED: " AND NOT (contact.id = ANY(CAST(:moved AS bigint[])))",
    SEEN: " AND NOT (contact.id = ANY(CAST(:present AS bigint[])))",
}
"""A statement changes a row only once."""


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


def later(table: Table, now: Any, *, is_sqlite: bool) -> ColumnElement[datetime] | datetime:
    """The value of a `modified_on` that no list filters by: now, and later than the row's previous value."""
    before: ColumnElement[datetime] = table.c.modified_on
    return now if is_sqlite else case((before < now, now), else_=before + text("interval '1 microsecond'"))


class Talk(NamedTuple):
    """The newest message that a unit of work stored for a contact; it changes no number of unread ones."""

    contact_id: int
    message_id: int
    last_on: datetime
    folder: str | None


@dataclass(slots=True)
class Beside:
    """What is written with the clock: which records changed, by kind and id; counts by kind, day and subject, to which
    these are added; what runs did on this day, by flow, kind, key and value; the last messages of conversations; rows
    of new runs, without their time; the flows into which contacts came, whose leases end, by contact; contacts who were
    just seen, and whether this makes stopped ones active.
    """

    records: Sequence[tuple[str, int]] = ()
    counts: Counter[tuple[str, date, int]] = field(default_factory=Counter)
    flows: Counter[tuple[int, str, str, str]] = field(default_factory=Counter)
    talks: Sequence[Talk] = ()
    runs: Sequence[Mapping[str, Any]] = ()
    moves: Mapping[int, int | None] = field(default_factory=dict)
    present: Mapping[int, bool] = field(default_factory=dict)

    @property
    def flow_counts(self) -> list[tuple[tuple[int, str, str, str], int]]:
        """The counts of flows, with keys and values as they are stored."""
        counts: Counter[tuple[int, str, str, str]] = Counter()
        for (flow_id, kind, key, value), number in self.flows.items():
            counts[flow_id, kind, key[:64], value[:64]] += number
        return sorted(counts.items())


def found_by(table: Table) -> str:
    """The condition that holds for all visible rows, so that the database uses their index."""
    condition: str = table.info.get(FOUND_BY, "true")
    return condition


@statement
def _set_clock(*, is_sqlite: bool = False, **_row: Any) -> Executable:
    adding = upsert(workspace_clock, is_sqlite=is_sqlite).values(parameters_of(workspace_clock))
    news = {"stamped_on": adding.excluded.stamped_on}
    return adding.on_conflict_do_update(index_elements=["workspace_id"], set_=news)


@statement
def _stamp(*, is_sqlite: bool = False, **_row: Any) -> Executable:
    adding = upsert(record_stamp, is_sqlite=is_sqlite).values(parameters_of(record_stamp))
    news = {"stamped_on": adding.excluded.stamped_on}
    return adding.on_conflict_do_update(index_elements=["workspace_id", "kind", "record"], set_=news)


@statement
def _move(workspace_id: int, contact_id: int, flow_id: int | None, moment: datetime) -> Executable:
    rows = contact.c
    mine = (rows.workspace_id == workspace_id) & (rows.id == contact_id)
    return update(contact).where(mine).values(current_flow_id=flow_id, modified_on=moment, handling_until=null())


@statement
def _count(*, is_sqlite: bool = False, **_row: Any) -> Executable:
    adding = upsert(day_count, is_sqlite=is_sqlite).values(parameters_of(day_count))
    added = {"number": day_count.c.number + adding.excluded.number}
    return adding.on_conflict_do_update(index_elements=["workspace_id", "kind", "day", "subject"], set_=added)


@statement
def _count_flows(*, is_sqlite: bool = False, **_row: Any) -> Executable:
    adding = upsert(flow_count, is_sqlite=is_sqlite).values(parameters_of(flow_count))
    added = {"number": flow_count.c.number + adding.excluded.number}
    keys = ["workspace_id", "flow_id", "kind", "day", "key", "value"]
    return adding.on_conflict_do_update(index_elements=keys, set_=added)


@statement
def _talk(workspace_id: int, contact_id: int, *, is_sqlite: bool = False, **_message: Any) -> Executable:
    rows = conversation.c
    given = [param(name, rows[name].type).label(name) for name in ("message_id", "last_on", "folder")]
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    found = select(contact.c.workspace_id, contact.c.id, *given, literal(0), literal(False), literal(0))
    names = ["workspace_id", "contact_id", "message_id", "last_on", "folder", "unread_count", "is_unread", "read_id"]
    adding = upsert(conversation, is_sqlite=is_sqlite).from_select(names, found.where(mine, ~contact.c.is_deleted))
    new = adding.excluded
    return adding.on_conflict_do_update(
        index_elements=["workspace_id", "contact_id"],
        set_={name: new[name] for name in ("message_id", "last_on", "folder")},
        where=tuple_(new.last_on, new.message_id) > tuple_(rows.last_on, rows.message_id),
    )


@cache
def _advancing(tables: tuple[Table, ...], others: tuple[tuple[str, str], ...]) -> Statement[...]:
    parts = ["moment AS (" + ADVANCING + ")"]
    for table in tables:
        mine = f"workspace_id = :workspace_id AND modified_on = :provisional AND {found_by(table)}"
        mine += "".join(UNLESS.get(name, "") for name, _ in others) if table is contact else ""
        changing = f"UPDATE {table.name} SET modified_on = moment.stamped_on FROM moment WHERE {mine}"
        parts.append(f"in_{table.name} AS ({changing})")
    parts += [f"{name} AS ({statement})" for name, statement in others]
    whole = text(f"WITH {', '.join(parts)} SELECT stamped_on FROM moment").columns(stamped_on=UtcDateTime)
    return Statement(lambda: whole)


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


def advance(tx: Transaction, workspace_id: int, tables: Sequence[Table], beside: Beside) -> None:
    """Moves the clock of a workspace to its next time, and gives it to rows of this unit of work. From the next
    statement on the clock is locked, and tells the time (`read_clock`). PostgreSQL.
    """
    # A long change gets the time of its end, because clients may have asked for changes meanwhile.
    present = tx.read_clock()
    wanted = tx.now if present - tx.now < QUICK else present
    values = {"workspace_id": workspace_id, "wanted": wanted, "provisional": tx.now}
    if beside.records:
        values |= {
            "kinds": array_text(kind for kind, _ in beside.records),
            "records": array_text(one for _, one in beside.records),
        }
    if beside.counts:
        counted = sorted(beside.counts.items())
        values |= {
            "counted": array_text(kind for (kind, _, _), _ in counted),
            "days": array_text(day for (_, day, _), _ in counted),
            "subjects": array_text(subject for (_, _, subject), _ in counted),
            "numbers": array_text(number for _, number in counted),
        }
    if beside.flows:
        flows = beside.flow_counts
        values |= {
            "today": tx.now.date(),
            "flow_ids": array_text(flow_id for (flow_id, _, _, _), _ in flows),
            "flow_kinds": array_text(kind for (_, kind, _, _), _ in flows),
            "flow_keys": array_text(key for (_, _, key, _), _ in flows),
            "flow_values": array_text(value for (_, _, _, value), _ in flows),
            "flow_numbers": array_text(number for _, number in flows),
        }
    if beside.talks:
        values |= {
            "contact_ids": array_text(each.contact_id for each in beside.talks),
            "message_ids": array_text(each.message_id for each in beside.talks),
            "lasts": array_text(each.last_on for each in beside.talks),
            "folders": array_text(each.folder for each in beside.talks),
        }
    if beside.runs:
        values |= {"runs": rows_text(beside.runs)}
    if beside.moves:
        moved = sorted(beside.moves.items())
        values |= {
            "moved": array_text(contact_id for contact_id, _ in moved),
            "moved_to": array_text(flow_id for _, flow_id in moved),
        }
    if beside.present:
        ids = sorted(beside.present)
        values |= {"present": array_text(ids), "revived": array_text(beside.present[one] for one in ids)}
    parts = (
        (MOVED, MOVING, beside.moves),
        (SEEN, SEEING, beside.present),
        ("runs_stored", WITH_CLOCK, beside.runs),
        ("stamped", STAMPING, beside.records),
        ("counted", COUNTING, beside.counts),
        ("flows_counted", COUNTING_FLOWS, beside.flows),
        ("talked", TALKING, beside.talks),
    )
    chosen = tuple((name, statement) for name, statement, rows in parts if rows)
    _advancing(tuple(tables), chosen).run(tx, **values)


def clock_time(owner: ColumnElement[int]) -> ColumnElement[datetime]:
    """The time of a workspace's clock, for a statement that writes it. The unit of work has to hold the clock, so that
    the time is its own.
    """
    mine = workspace_clock.c.workspace_id == owner
    return select(workspace_clock.c.stamped_on).where(mine).scalar_subquery()


@statement
def _select_clock(workspace_id: int) -> Executable:
    return select(workspace_clock.c.stamped_on).where(workspace_clock.c.workspace_id == workspace_id)


def read_clock(tx: Transaction, workspace_id: int) -> datetime:
    """The time of a workspace's clock that is locked."""
    ((moment,),) = _select_clock.rows(tx, workspace_id)
    found: datetime = moment
    return found


def read_visible_clock(tx: Transaction, workspace_id: int) -> datetime:
    """The time of the last visible change of a workspace: what becomes visible later has a later time."""
    found = _select_clock.rows(tx, workspace_id)
    return found[0][0] if found else EPOCH


def advance_on_sqlite(tx: Transaction, workspace_id: int) -> datetime:
    """The next time of a workspace, on SQLite."""
    found = _select_clock.rows(tx, workspace_id)
    moment = max(tx.now, found[0][0] + TICK) if found else tx.now
    _set_clock.run(tx, workspace_id=workspace_id, stamped_on=moment)
    return moment


def write_beside(tx: Transaction, workspace_id: int, moment: datetime, beside: Beside) -> None:
    """Writes what is written with the clock, on SQLite."""
    mine = {"workspace_id": workspace_id}
    for some in split(beside.runs):
        insert_runs.run(tx, [{**mine, **row, "modified_on": moment} for row in some])
    moves = [{**mine, "contact_id": one, "flow_id": flow_id} for one, flow_id in sorted(beside.moves.items())]
    _move.run_each(tx, [{**each, "moment": moment} for each in moves])
    _stamp.run_each(tx, [{**mine, "kind": kind, "record": one, "stamped_on": moment} for kind, one in beside.records])
    _count.run_each(
        tx,
        [
            {**mine, "kind": kind, "day": day, "subject": subject, "number": number}
            for (kind, day, subject), number in beside.counts.items()
        ],
    )
    _count_flows.run_each(
        tx,
        [
            {
                **mine,
                "flow_id": flow_id,
                "kind": kind,
                "day": tx.now.date(),
                "key": key,
                "value": value,
                "number": number,
            }
            for (flow_id, kind, key, value), number in beside.flow_counts
        ],
    )
    _talk.run_each(
        tx,
        [
            {
                **mine,
                "contact_id": each.contact_id,
                "message_id": each.message_id,
                "last_on": each.last_on,
                "folder": each.folder,
            }
            for each in beside.talks
        ],
    )


def _write_moment(tx: Transaction, table: Table, which: Select[int], moment: datetime) -> int:
    """Gives the chosen rows a time, locked in the order of ids; returns their number."""
    held = which.order_by(table.c.id).with_for_update(key_share=True)
    return tx.execute(update(table).where(table.c.id.in_(held)).values(modified_on=moment)).rowcount
