"""Writes archives: old records of each kind go into a file per day, and the files of a month are merged into one. Every
step may run twice and in several processes, and may be killed at any time. A file counts only once its row is stored,
and the unique index allows only one row; records are deleted from the live tables only after that.
"""

import gzip
import hashlib
import logging
import shutil
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any, BinaryIO

from sqlalchemy import ColumnElement, FromClause, Table, and_, delete, exists, func, select
from sqlalchemy.exc import IntegrityError

from persistence.archives.archives import DAILY, MESSAGE, MONTHLY, RUN
from persistence.changes import leave_labels
from persistence.database import Database, Transaction
from persistence.follow_ups import forget_messages
from persistence.leases import MOST_ATTEMPTS
from persistence.media.store import MediaStore, StoreUnavailable
from persistence.messages.records import MASKED_MESSAGE_RECORD, MESSAGE_RECORD
from persistence.messages.records import SOURCE as MESSAGES_WITH_NAMES
from persistence.pages import Order, Selection, fetch_page
from persistence.records import Record
from persistence.runs.records import MASKED_RUN_RECORD, RUN_RECORD
from persistence.runs.records import SOURCE as RUNS_WITH_NAMES
from persistence.runs.runs import WAITING
from persistence.sql.columns import new_uuid
from persistence.statements import update
from persistence.tables.accounts import workspace
from persistence.tables.flows import flow_run, flow_session
from persistence.tables.messages import DELETED, message
from persistence.tables.policies import KEPT_FOR
from persistence.tables.service import archive

logger = logging.getLogger("relayboard.worker")

PAUSE = timedelta(minutes=30)
"""How long others leave an archive to the process that has begun it."""
LONG_PAUSE = timedelta(days=1)
"""The same once it was begun too often: records that grow old must go some day, and only a new attempt finds out that
what ended the processes is mended."""
RECORDS_PER_STATEMENT = 1000
PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ArchivedKind:
    """A kind of archived records. `moment` is the time that decides to which day a record belongs; it never changes
    once `is_ready` holds. `is_ready` says for a cutoff whether the record was stored long enough ago by our own clock,
    because times that a phone reports may be older. Records for which `is_kept` does not hold are deleted without being
    archived. `take_out` deletes records by their ids, with what depends on them.
    """

    name: str
    table: Table
    moment: ColumnElement[Any]
    is_ready: Callable[[datetime], ColumnElement[bool]]
    is_kept: ColumnElement[bool]
    source: FromClause
    record: Record
    masked_record: Record
    take_out: Callable[[Transaction, int, Sequence[int]], None]

    @property
    def oldest_first(self) -> Order:
        return Order(self.moment, self.table.c.id, descending=False)


@dataclass(frozen=True, slots=True)
class DueDay:
    """A day of a workspace whose records of one kind are due for archiving: those up to the id `last_id` that were
    stored before the cutoff."""

    kind: ArchivedKind
    workspace_id: int
    workspace_uuid: str
    is_anonymous: bool
    day: date
    part: int
    last_id: int
    cutoff: datetime


@dataclass(frozen=True, slots=True)
class Written:
    """A finished file: its path in the store (None without records), and its description."""

    location: str | None
    record_count: int
    size: int
    hash: str | None


@dataclass(frozen=True, slots=True)
class _Day:
    """The archive of a day that is merged into a month."""

    id: int
    workspace_id: int
    archive_type: str
    start_date: date
    record_count: int
    location: str | None


class _Overtaken(Exception):
    """Another process did the same work first."""


class Measured:
    """A file that counts and hashes the bytes that are written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self.size = 0
        self.digest = hashlib.md5(usedforsecurity=False)
        self._file = file

    def write(self, data: bytes) -> int:
        self.size += len(data)
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def archive_next_day(database: Database, store: MediaStore) -> bool:
    """Writes the records of the oldest due day into a file; returns False if no day is due."""
    with database.reading() as tx:
        due = _find_due_day(tx)
    if due is None:
        return False
    with _counted(database, due.workspace_id, DAILY, due.kind.name):
        written = _write_day(database, store, due)
    _keep(store, written, database, partial(_record_day, due=due, written=written))
    return True


def trim_archived(database: Database) -> bool:
    """Deletes a batch of archived records from the live tables; returns False if none are left."""
    return database.write(_trim)


def roll_up_next_month(database: Database, store: MediaStore) -> bool:
    """Merges the days of a month that ended KEPT_FOR ago into one file; returns False if no month is due."""
    with database.reading() as tx:
        days = _find_due_month(tx)
    if not days:
        return False
    first = days[0]
    with _counted(database, first.workspace_id, MONTHLY, first.archive_type):
        written = _join(store, days)
    _keep(store, written, database, partial(_record_month, days=days, written=written))
    return True


def remove_rolled_up(database: Database, store: MediaStore) -> None:
    """Deletes the files of days that were merged into months."""
    taken_in = archive.c.rollup_id.is_not(None) & archive.c.location.is_not(None)
    with database.reading() as tx:
        rows = tx.execute(select(archive.c.id, archive.c.location).where(taken_in))
        locations = {archive_id: location for archive_id, location in rows if location is not None}
    for location in locations.values():
        store.remove(location)
    if locations:
        with database.writing() as tx:
            tx.execute(update(archive).where(archive.c.id.in_(locations), taken_in).values(location=None))


def begin_archive(tx: Transaction, workspace_id: int, period: str, kind: str) -> None:
    """Counts an attempt: whatever ends the process, others wait, and for long with what was begun too often."""
    begun = _read_begun(tx, workspace_id)
    name = f"{period} {kind}"
    attempts = begun.get(name, {}).get("attempts", 0) + 1
    pause = PAUSE if attempts < MOST_ATTEMPTS else LONG_PAUSE
    begun[name] = {"attempts": attempts, "until": (tx.now + pause).isoformat()}
    if attempts >= MOST_ATTEMPTS:
        logger.error("the %s archive of workspace %d is begun for the last time in a day", name, workspace_id)
    tx.execute(update(workspace).where(workspace.c.id == workspace_id).values(archiving=begun))


def end_archive(tx: Transaction, workspace_id: int, period: str, kind: str) -> None:
    begun = _read_begun(tx, workspace_id)
    if begun.pop(f"{period} {kind}", None) is not None:
        tx.execute(update(workspace).where(workspace.c.id == workspace_id).values(archiving=begun or None))


def list_given_up(tx: Transaction) -> list[tuple[str, str]]:
    """The workspaces that have an archive which was begun too often, each with its kind and period."""
    begun = select(workspace.c.name, workspace.c.archiving).where(workspace.c.archiving.is_not(None))
    return [
        (name, archive_name)
        for name, archives in tx.execute(begun.order_by(workspace.c.id))
        for archive_name, state in (archives or {}).items()
        if state["attempts"] >= MOST_ATTEMPTS and datetime.fromisoformat(state["until"]) <= tx.now + LONG_PAUSE - PAUSE
    ]


def _take_out_messages(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    chosen = message.c.id.in_(ids)
    forget_messages(tx, workspace_id, ids)
    leave_labels(tx, workspace_id, chosen, are_deleted=True)
    tx.execute(delete(message).where(chosen))


MESSAGES = ArchivedKind(
    name=MESSAGE,
    table=message,
    moment=message.c.created_on,
    is_ready=lambda cutoff: message.c.stored_on.is_(None) | (message.c.stored_on < cutoff),
    is_kept=message.c.visibility != DELETED,
    source=MESSAGES_WITH_NAMES,
    record=MESSAGE_RECORD,
    masked_record=MASKED_MESSAGE_RECORD,
    take_out=_take_out_messages,
)


def _take_out_runs(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Sessions are deleted with their last run; flows still count archived runs."""
    mine = (flow_run.c.workspace_id == workspace_id) & flow_run.c.id.in_(ids)
    session_ids = set(tx.execute(delete(flow_run).where(mine).returning(flow_run.c.session_id)).scalars()) - {None}
    has_runs = exists(select(flow_run.c.id).where(flow_run.c.session_id == flow_session.c.id).correlate(flow_session))
    over = flow_session.c.id.in_(sorted(session_ids)) & (flow_session.c.status != WAITING) & ~has_runs
    tx.execute(delete(flow_session).where(flow_session.c.workspace_id == workspace_id, over))


RUNS = ArchivedKind(
    name=RUN,
    table=flow_run,
    moment=flow_run.c.exited_on,
    is_ready=lambda _cutoff: flow_run.c.exited_on.is_not(None),
    is_kept=flow_run.c.exited_on.is_not(None),
    source=RUNS_WITH_NAMES,
    record=RUN_RECORD,
    masked_record=MASKED_RUN_RECORD,
    take_out=_take_out_runs,
)
KINDS = {kind.name: kind for kind in (MESSAGES, RUNS)}


@contextmanager
def _counted(database: Database, workspace_id: int, period: str, kind: str) -> Iterator[None]:
    """Counts the block as an attempt, unless the store does not answer: then archiving waits for it."""
    database.write(partial(begin_archive, workspace_id=workspace_id, period=period, kind=kind))
    try:
        yield
    except StoreUnavailable:
        database.write(partial(end_archive, workspace_id=workspace_id, period=period, kind=kind))
        raise


def _read_begun(tx: Transaction, workspace_id: int) -> dict[str, Any]:
    mine = select(workspace.c.archiving).where(workspace.c.id == workspace_id)
    return dict(tx.execute(mine.with_for_update()).scalar_one() or {})


def _left_out(tx: Transaction, period: str, kind: str) -> list[int]:
    """The workspaces whose archive another process has begun just now, or too often within the last day."""
    begun = select(workspace.c.id, workspace.c.archiving).where(workspace.c.archiving.is_not(None))
    return [
        workspace_id
        for workspace_id, archives in tx.execute(begun)
        if (state := (archives or {}).get(f"{period} {kind}")) is not None
        and datetime.fromisoformat(state["until"]) > tx.now
    ]


def _find_due_day(tx: Transaction) -> DueDay | None:
    return next((due for kind in KINDS.values() if (due := _find_due_day_of(tx, kind)) is not None), None)


def _find_due_day_of(tx: Transaction, kind: ArchivedKind) -> DueDay | None:
    records, cutoff = kind.table.c, _cutoff(tx)
    mine = (records.workspace_id == workspace.c.id) & (kind.moment < cutoff) & kind.is_ready(cutoff)
    oldest = select(func.min(kind.moment)).where(mine).scalar_subquery()
    of_kind = (archive.c.workspace_id == workspace.c.id) & (archive.c.archive_type == kind.name)
    untrimmed = exists().where(of_kind, ~archive.c.is_trimmed)
    columns = (workspace.c.id, workspace.c.uuid, workspace.c.is_anonymous, oldest.label("oldest"))
    others = workspace.c.id.not_in(_left_out(tx, DAILY, kind.name))
    found = select(*columns).where(oldest.is_not(None), ~untrimmed, others).order_by(workspace.c.id).limit(1)
    row = tx.execute(found).first()
    if row is None:
        return None
    workspace_id, workspace_uuid, is_anonymous, moment = row
    day: date = moment.date()
    # An archive that another process made of this day is counted only once it is trimmed, that is when this statement
    # no longer finds its records. If both processes found the records, they have the same part number, and only one of
    # them can be recorded.
    same = (
        (archive.c.workspace_id == workspace_id) & (archive.c.archive_type == kind.name) & (archive.c.period == DAILY)
    )
    part = select(func.count()).where(same, archive.c.start_date == day, archive.c.is_trimmed).scalar_subquery()
    last = select(func.max(records.id)).where(_is_on_day(kind, workspace_id, day, cutoff)).scalar_subquery()
    number, last_id = tx.execute(select(part, last)).one()
    if last_id is None:
        return None
    return DueDay(kind, workspace_id, workspace_uuid, is_anonymous, day, number, last_id, cutoff)


def _cutoff(tx: Transaction) -> datetime:
    """The midnight (UTC) before which records are archived."""
    return datetime.combine((tx.now - KEPT_FOR).date(), time(), UTC)


def _is_on_day(kind: ArchivedKind, workspace_id: int, day: date, cutoff: datetime) -> ColumnElement[bool]:
    """Whether a record belongs to a day, and was stored before the cutoff."""
    start = datetime.combine(day, time(), UTC)
    end = start + timedelta(days=1)
    mine = and_(kind.table.c.workspace_id == workspace_id, kind.moment >= start, kind.moment < end)
    return mine & kind.is_ready(cutoff)


def _write_day(database: Database, store: MediaStore, due: DueDay) -> Written:
    location = f"archives/{due.workspace_uuid}/{due.day}-{due.kind.name}-{new_uuid()}.jsonl.gz"
    count = 0
    with store.writing(location) as file:
        measured = Measured(file)
        with gzip.GzipFile(fileobj=measured, mode="wb", mtime=0) as packed:
            for records in _read_day(database, due):
                packed.write(("\n".join(records) + "\n").encode())
                count += len(records)
    if count == 0:
        store.remove(location)
        return Written(None, 0, 0, None)
    return Written(location, count, measured.size, measured.digest.hexdigest())


def _read_day(database: Database, due: DueDay) -> Iterator[list[str]]:
    """The records of a day in batches, oldest first, without those that are not kept."""
    kind, records = due.kind, due.kind.table.c
    conditions = [_is_on_day(kind, due.workspace_id, due.day, due.cutoff), records.id <= due.last_id, kind.is_kept]
    record = kind.masked_record if due.is_anonymous else kind.record
    chosen = Selection(record, kind.source, records.id, kind.oldest_first, conditions)
    position = None
    while True:
        with database.reading() as tx:
            page = fetch_page(tx, chosen, position, RECORDS_PER_STATEMENT)
        if page.records:
            yield page.records
        position = page.next
        if position is None:
            return


def _keep(store: MediaStore, written: Written, database: Database, record: Callable[[Transaction], None]) -> None:
    """Records a finished file; if another process recorded the same file first, this one is removed."""
    try:
        with database.writing() as tx:
            record(tx)
    except (IntegrityError, _Overtaken):
        if written.location is not None:
            store.remove(written.location)


def _record_day(tx: Transaction, *, due: DueDay, written: Written) -> None:
    values = _values(tx, due.workspace_id, due.kind.name, due.day, due.part, written)
    end_archive(tx, due.workspace_id, DAILY, due.kind.name)
    taken = {"last_record_id": due.last_id, "stored_before": due.cutoff, "is_trimmed": False}
    tx.insert(archive, **values, **taken, period=DAILY)


def _values(
    tx: Transaction, workspace_id: int, archive_type: str, start: date, part: int, written: Written
) -> dict[str, Any]:
    return {
        "workspace_id": workspace_id,
        "archive_type": archive_type,
        "start_date": start,
        "part": part,
        "record_count": written.record_count,
        "size": written.size,
        "hash": written.hash,
        "location": written.location,
        "created_on": tx.now,
    }


def _trim(tx: Transaction) -> bool:
    rows = archive.c
    columns = (rows.id, rows.workspace_id, rows.archive_type, rows.start_date, rows.stored_before, rows.last_record_id)
    statement = select(*columns).where(~rows.is_trimmed).order_by(rows.id).limit(1)
    row = tx.execute(statement.with_for_update(skip_locked=True)).first()
    if row is None:
        return False
    archive_id, workspace_id, archive_type, start_date, stored_before, last_id = row
    assert stored_before is not None, "days have details; months are trimmed from the beginning"
    kind = KINDS[archive_type]
    records = kind.table.c
    archived = _is_on_day(kind, workspace_id, start_date, stored_before) & (records.id <= last_id)
    batch = select(records.id).where(archived).order_by(kind.moment, records.id)
    ids = list(tx.execute(batch.limit(RECORDS_PER_STATEMENT)).scalars())
    if ids:
        kind.take_out(tx, workspace_id, ids)
    else:
        tx.execute(update(archive).where(rows.id == archive_id).values(is_trimmed=True))
    return True


def _find_due_month(tx: Transaction) -> list[_Day]:
    """The trimmed days, in order, of the oldest month that is completely before the cutoff and not merged."""
    waiting = (archive.c.period == DAILY) & archive.c.rollup_id.is_(None) & archive.c.is_trimmed
    this_month = _cutoff(tx).date().replace(day=1)
    rows = archive.c
    oldest = select(rows.workspace_id, rows.archive_type, rows.start_date).where(waiting, rows.start_date < this_month)
    for name in KINDS:
        others = rows.workspace_id.not_in(_left_out(tx, MONTHLY, name))
        oldest = oldest.where((rows.archive_type != name) | others)
    first = tx.execute(oldest.order_by(rows.start_date, rows.id).limit(1)).first()
    if first is None:
        return []
    workspace_id, archive_type, start_date = first
    start, end = _month_of(start_date)
    kind = KINDS[archive_type]
    records = kind.table.c
    of_past = (records.workspace_id == workspace_id) & (kind.moment < datetime.combine(end, time(), UTC))
    if tx.execute(select(records.id).where(of_past, kind.is_ready(_cutoff(tx))).limit(1)).first() is not None:
        return []
    columns = (rows.id, rows.workspace_id, rows.archive_type, rows.start_date, rows.record_count, rows.location)
    same = (rows.workspace_id == workspace_id) & (rows.archive_type == archive_type)
    days = select(*columns).where(waiting, same, rows.start_date >= start, rows.start_date < end)
    return [_Day(*row) for row in tx.execute(days.order_by(rows.start_date, rows.part))]


def _month_of(day: date) -> tuple[date, date]:
    """The first day of the month of a day, and of the month after."""
    start = day.replace(day=1)
    return start, start + timedelta(days=monthrange(day.year, day.month)[1])


def _join(store: MediaStore, days: Sequence[_Day]) -> Written:
    """One file of all days: gzip files can simply be concatenated."""
    count = sum(day.record_count for day in days)
    if count == 0:
        return Written(None, 0, 0, None)
    named = next(day.location for day in days if day.location is not None)
    start, _ = _month_of(days[0].start_date)
    location = f"{named.rpartition('/')[0]}/{start:%Y-%m}-{days[0].archive_type}-{new_uuid()}.jsonl.gz"
    with store.writing(location) as file:
        measured = Measured(file)
        for day in days:
            source = store.open(day.location) if day.location is not None else None
            if source is None:
                if day.record_count:
                    raise FileNotFoundError(day.location)
                continue
            with source.stream:
                shutil.copyfileobj(source.stream, measured, PIECE_BYTES)
    return Written(location, count, measured.size, measured.digest.hexdigest())


def _record_month(tx: Transaction, *, days: Sequence[_Day], written: Written) -> None:
    """Records the month. Raises _Overtaken if another process has merged one of the days."""
    first = days[0]
    end_archive(tx, first.workspace_id, MONTHLY, first.archive_type)
    start, _ = _month_of(first.start_date)
    same = (archive.c.workspace_id == first.workspace_id) & (archive.c.archive_type == first.archive_type)
    month = same & (archive.c.period == MONTHLY) & (archive.c.start_date == start)
    part = tx.execute(select(func.count()).where(month)).scalar_one()
    values = _values(tx, first.workspace_id, first.archive_type, start, part, written)
    month_id = tx.insert(archive, **values, period=MONTHLY, is_trimmed=True)
    free = archive.c.id.in_([day.id for day in days]) & archive.c.rollup_id.is_(None)
    taken = tx.execute(update(archive).where(free).values(rollup_id=month_id)).rowcount
    if taken != len(days):
        raise _Overtaken
