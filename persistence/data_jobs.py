"""Jobs with the data of a workspace (imports, exports, requests of persons, actions on all contacts that match),
performed in a worker or a command: one worker has each, for a limited time. A job whose worker died is continued by
another one; one that ends a worker, or meets an error of the service, again and again fails.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any

from sqlalchemy import ColumnElement, Row, Table, delete, literal, select

from persistence.contact_imports.reading import BadFile, ReaderDied
from persistence.database import Database, Transaction
from persistence.errors import DatabaseError, RuleBroken, is_temporary, took_too_long
from persistence.leases import GIVEN_UP, MOST_ATTEMPTS, Leases, is_free, list_workspaces
from persistence.media.store import MediaStore
from persistence.stamps import EXPORT_DONE, IMPORT_DONE, tell
from persistence.statements import update
from persistence.tables.data_jobs import (
    COMPLETED,
    FAILED,
    PENDING,
    READING,
    RUNNING,
    contact_import,
    contact_job,
    data_request,
    export,
    imported_contact,
)
from persistence.workspaces.records import Workspace, find_workspace

WAKE = "data"
LEASE = timedelta(minutes=2)
RENEWAL_SECONDS = 30.0
KEPT_FOR = timedelta(days=7)
"""How long imports, exports and actions on contacts are listed, and files can be downloaded."""
FORGOTTEN_AT_ONCE = 5000
UNFINISHED = (PENDING, RUNNING)
PENDING_AGAIN = {"status": PENDING, "leased_until": None}
"""What makes an unfinished job begin again: the worker that has it loses its lease."""
TABLES = (contact_import, export, data_request, contact_job)
DONE: dict[Table, str] = {contact_import: IMPORT_DONE, export: EXPORT_DONE}
"""What subscribers hear of the end of a job."""

IsStopping = Callable[[], bool]

logger = logging.getLogger("relayboard.worker")

Note = Callable[[int, int], None]
"""Called with how many rows or records are done, and how many there are."""


class LeaseLost(Exception):
    """Another worker has taken the job; what this one did last is not stored."""


class Stopped(Exception):
    """The process stops; the next worker continues."""


@dataclass(slots=True)
class Held:
    """A job that this worker has: its row when it was taken, and the end of the lease."""

    table: Table
    row: Row[Any]
    until: datetime

    @property
    def is_last_attempt(self) -> bool:
        return int(self.row.attempts) >= MOST_ATTEMPTS


@cache
def is_due(table: Table) -> ColumnElement[bool]:
    """The condition of the partial index, written out."""
    return table.c.status.in_([literal(status, literal_execute=True) for status in (READING, PENDING, RUNNING)])


LEASES: dict[Table, Leases] = {table: Leases(table, is_due(table), table.c.id, lasts=(LEASE,)) for table in TABLES}


def list_data_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a job that no worker has."""
    found = {each for table in TABLES for each in list_workspaces(tx, table.c.workspace_id, is_due(table))}
    return sorted(found)


def take_next(tx: Transaction, workspace_id: int) -> Held | None:
    """The oldest job of a workspace that no worker has, now leased."""
    return next((held for table in TABLES if (held := take(tx, table, workspace_id)) is not None), None)


def take(tx: Transaction, table: Table, workspace_id: int, job_id: int | None = None) -> Held | None:
    """The oldest job of this kind that no worker has, or this one unless a worker has it, now leased."""

    def give_up(tx: Transaction, job_id: int) -> None:
        ended = {"status": FAILED, "error": GIVEN_UP, "finished_on": tx.now, "leased_until": None}
        tx.execute(update(table).where(table.c.workspace_id == workspace_id, table.c.id == job_id).values(ended))
        _tell_done(tx, table, workspace_id, job_id)

    taken_id = LEASES[table].take_next(tx, workspace_id, give_up, job_id)
    if taken_id is None:
        return None
    mine = (table.c.workspace_id == workspace_id) & (table.c.id == taken_id)
    running = update(table).where(mine, table.c.status != READING).values(status=RUNNING).returning(*table.c)
    row = tx.execute(running).first() or tx.execute(select(table).where(mine)).one()
    return Held(table, row, tx.now + LEASE)


def keep(tx: Transaction, held: Held, **values: Any) -> datetime:
    """Stores progress of a job in the transaction of what was done, and renews the lease. Returns its new end, which
    holds once the transaction is committed. Raises LeaseLost.
    """
    until = tx.now + LEASE
    _keep(tx, held, until, **values)
    return until


def renew(database: Database, held: Held, **values: Any) -> None:
    """`keep` in a transaction of its own."""
    held.until = database.write(lambda tx: keep(tx, held, **values))


def finish(tx: Transaction, held: Held, **values: Any) -> None:
    """Ends a job. Raises LeaseLost."""
    ended = {"status": COMPLETED, "finished_on": tx.now, **values}
    _keep(tx, held, None, **ended)
    if ended["finished_on"] is not None:
        _tell_done(tx, held.table, held.row.workspace_id, held.row.id)


def _tell_done(tx: Transaction, table: Table, workspace_id: int, job_id: int) -> None:
    if table in DONE:
        tell(tx, workspace_id, DONE[table], [job_id])


def fail(database: Database, held: Held, reason: str) -> None:
    """Ends a job that cannot be done; the reason is for people."""
    database.write(lambda tx: finish(tx, held, status=FAILED, error=reason[:500]))


def give_back(database: Database, held: Held, *, was_tried: bool) -> None:
    """Gives a job back at once, for another worker, as one attempt more or as none."""
    with contextlib.suppress(LeaseLost):
        database.write(lambda tx: _keep(tx, held, None, was_tried=was_tried))


def _keep(tx: Transaction, held: Held, until: datetime | None, **values: Any) -> None:
    if not LEASES[held.table].keep(tx, [held.row.id], held.until, until, [held.row.workspace_id], **values):
        raise LeaseLost


@contextmanager
def kept(database: Database, held: Held) -> Iterator[None]:
    """Renews the lease of a job while it does what takes long and renews nothing itself."""
    is_done = threading.Event()

    def renew_often() -> None:
        while not is_done.wait(RENEWAL_SECONDS):
            # The database may be busy with this very work; whoever lost the lease learns it with what is stored next.
            with contextlib.suppress(DatabaseError, LeaseLost):
                renew(database, held)

    renewing = threading.Thread(target=renew_often, name="renewal of a lease", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        is_done.set()
        renewing.join()


def remove_old_files(database: Database, store: MediaStore, limit: int) -> int:
    """Deletes jobs that are older than KEPT_FOR, with their files; of requests of persons only the files. Returns how
    many there were. The files go first: a file without a row would never be found.
    """
    with database.reading() as tx:
        old = [row for table in (contact_import, export, contact_job) for row in _old_jobs(tx, table, limit)]
        old += _old_requests(tx, limit)
    for _, _, names in old:
        for name in names:
            store.remove(name)
    for table, job_id, _ in old:
        while table is contact_import and database.write(partial(_forget_contacts, job_id=job_id)):
            pass
        database.write(partial(_forget, table=table, job_id=job_id))
    return len(old)


def _ignore(_done: int, _count: int) -> None:
    return None


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Performer:
    """Performs jobs until the process stops; `note` is told of the progress. `is_forced` lets all wait for as long as
    it takes to rewrite a large database."""

    database: Database
    store: MediaStore
    is_stopping: IsStopping = _never
    note: Note = field(default=_ignore)
    is_forced: bool = False

    def perform(self, held: Held) -> None:
        """Does a job, or as much of it as can be done. A job that cannot be done fails, with the reason."""
        with self.database.reading() as tx:
            workspace = find_workspace(tx, held.row.workspace_id)
        if workspace is None:
            return
        try:
            self._perform_or_fail(held, workspace)
        except LeaseLost:
            logger.info("another worker continues %s %s", held.table.name, held.row.uuid)
        except Stopped:
            give_back(self.database, held, was_tried=False)
        except ReaderDied as error:
            logger.warning("%s %s: %s", held.table.name, held.row.uuid, error)
            if held.is_last_attempt:
                fail(self.database, held, str(error))
            else:
                give_back(self.database, held, was_tried=True)
        except Exception as error:
            is_dear = isinstance(error, DatabaseError) and took_too_long(error)
            if isinstance(error, DatabaseError) and is_temporary(error) and not is_dear:
                give_back(self.database, held, was_tried=False)
            elif held.is_last_attempt and is_dear:
                fail(self.database, held, "This takes the database too long; ask for less at a time.")
            elif held.is_last_attempt:
                fail(self.database, held, f"An error inside the service ended each attempt: {type(error).__name__}.")
            raise

    def _perform_or_fail(self, held: Held, workspace: Workspace) -> None:
        try:
            self._perform(held, workspace)
        except (BadFile, RuleBroken) as error:
            fail(self.database, held, str(error))

    def _perform(self, held: Held, workspace: Workspace) -> None:
        """Loads only what this kind of job needs: a command does one job."""
        if held.table is export:
            from persistence.exports.exports import run_export  # noqa: PLC0415  # see above

            run_export(self.database, self.store, held, workspace, self.is_stopping)
        elif held.table is data_request:
            from persistence.data_requests.requests import run_request  # noqa: PLC0415  # see above

            run_request(self.database, self.store, held, workspace, is_forced=self.is_forced)
        elif held.table is contact_job:
            from persistence.contacts.jobs import run_job  # noqa: PLC0415  # see above

            run_job(self.database, held, workspace, self.is_stopping, self.note)
        else:
            self._import(held, workspace)

    def _import(self, held: Held, workspace: Workspace) -> None:
        from persistence.contact_imports import running  # noqa: PLC0415  # see above

        if held.row.taken_back_on is not None:
            from persistence.contact_imports.taking_back import run_taking_back  # noqa: PLC0415  # see above

            run_taking_back(self.database, held, workspace, self.is_stopping, self.note)
        elif held.row.cancelled_on is not None:
            running.end_cancelled(self.database, self.store, held)
        elif held.row.status == READING:
            running.preview(self.database, self.store, held, workspace)
        else:
            running.run_import(self.database, self.store, held, workspace, self.is_stopping, self.note)


def _old_jobs(tx: Transaction, table: Table, limit: int) -> list[tuple[Table, int, list[str]]]:
    rows = table.c
    files = [rows[name] for name in ("location", "source") if name in rows]
    old = (rows.created_on < tx.now - KEPT_FOR) & is_free(table.c.leased_until, tx.now)
    if table is contact_import:
        old &= rows.taken_back_on.is_(None) | ~is_due(table)
    found = select(rows.id, *files).where(old)
    return [
        (table, job_id, [name for name in names if name is not None])
        for job_id, *names in tx.execute(found.order_by(rows.created_on, rows.id).limit(limit))
    ]


def _old_requests(tx: Transaction, limit: int) -> list[tuple[Table, int, list[str]]]:
    rows = data_request.c
    old = rows.location.is_not(None) & (rows.finished_on < tx.now - KEPT_FOR)
    found = select(rows.id, rows.location).where(old).order_by(rows.finished_on, rows.id).limit(limit)
    return [(data_request, job_id, [name]) for job_id, name in tx.execute(found) if name is not None]


def _forget_contacts(tx: Transaction, job_id: int) -> bool:
    """Some of what an import changed: others write between two parts. Whether there was any."""
    some = select(imported_contact.c.id).where(imported_contact.c.import_id == job_id).limit(FORGOTTEN_AT_ONCE)
    return tx.execute(delete(imported_contact).where(imported_contact.c.id.in_(some))).rowcount > 0


def _forget(tx: Transaction, table: Table, job_id: int) -> None:
    if table is data_request:
        tx.execute(update(table).where(table.c.id == job_id).values(location=None, size=None))
    else:
        tx.execute(table.delete().where(table.c.id == job_id))
