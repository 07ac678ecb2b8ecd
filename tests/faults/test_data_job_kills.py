"""Imports, exports and actions on all who match lose and double nothing while the processes that do them are killed."""

import csv
import io
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Table, func, select, update

from persistence.contact_imports.contact_imports import create_import, start_import
from persistence.contact_imports.taking_back import take_back
from persistence.contacts.jobs import create_job
from persistence.database import Database
from persistence.exports.exports import create_export
from persistence.media.store import FolderStore
from persistence.tables.contacts import contact, contact_urn, group, group_membership
from persistence.tables.data_jobs import READY, contact_import, contact_job, export
from persistence.workspaces.records import Workspace
from relayboard import cli
from testbed.forked import ForkedProcess, fork, run_worker
from testbed.running import wait_until
from testbed.tokens import SECRET_KEY
from tests.factories import make_contacts, make_named
from tests.thinned import EVERY_CASE

ROWS = 2000
"""Four chunks of an import, two parts of an export."""
BAD_EVERY = 500
KILLS = 2 if EVERY_CASE else 1
EXPORTS = 20
"""An export takes a few tenths of a second: of so many at least one is found unfinished."""


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{tmp_path / 'queue.db'}",
        "RELAYBOARD_MEDIA_URL": f"file://{tmp_path / 'media'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
    }


def write_people(first: int) -> bytes:
    """A number for each row, but for a row in each chunk that is rejected."""
    lines = ["Phone,Name"]
    for row in range(ROWS):
        lines.append(f"{'bad' if row % BAD_EVERY == 7 else f'+25078{first + row:07}'},Person {row}")
    return "\n".join(lines).encode()


def kill_amid(database: Database, table: Table, column: str, process: ForkedProcess) -> bool:
    """Kill a process once it has done another part of the newest job; its lease ends at once. Whether the job goes on:
    a fast machine may have done the rest before anybody looked.
    """
    before, _ = read_job(database, table, column)

    def has_done_some() -> bool:
        done, has_ended = read_job(database, table, column)
        return done > before or has_ended or process.poll() is not None

    wait_until(has_done_some, "a part of the job")
    process.kill()
    process.wait()
    with database.writing() as tx:
        leased = table.c.leased_until.is_not(None)
        tx.execute(update(table).where(leased).values(leased_until=tx.now - timedelta(days=1)))
    return not read_job(database, table, column)[1]


def read_job(database: Database, table: Table, column: str) -> tuple[int, bool]:
    """How far the newest job is, and whether it is finished."""
    newest = select(table.c[column], table.c.finished_on).order_by(table.c.id.desc()).limit(1)
    with database.reading() as tx:
        done, finished_on = tx.execute(newest).first() or (0, None)
    return int(done or 0), finished_on is not None


def finish_job(database: Database, table: Table, environment: dict[str, str], column: str = "") -> bool:
    """Lets workers, of which some are killed amid the job, end it. Whether one was."""
    column = column or ("last_row" if table is contact_import else "record_count")
    kills = 0
    while kills < KILLS and kill_amid(database, table, column, fork(run_worker, environment=environment)):
        kills += 1
    last = fork(run_worker, environment=environment)
    try:
        wait_until(lambda: is_finished(database, table), "the end of the job")
    finally:
        last.kill()
        last.wait()
    return kills > 0


def is_finished(database: Database, table: Table) -> bool:
    with database.reading() as tx:
        return tx.execute(select(func.count()).where(table.c.finished_on.is_(None))).scalar_one() == 0


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_row_is_imported_and_every_contact_exported_once(
    database: Database, workspace: Workspace, environment: dict[str, str], tmp_path: Path, clock: Any
) -> None:
    clock.moment = datetime.now(UTC)  # workers forget jobs that are a week old
    store = FolderStore(environment["RELAYBOARD_MEDIA_URL"])
    path = tmp_path / "people.csv"
    path.write_bytes(write_people(0))
    words = ["contact", "import", str(path), "--workspace", workspace.uuid]
    kill_amid(database, contact_import, "last_row", fork(cli.main, words, environment=environment))
    finish_job(database, contact_import, environment)

    with store.writing("imports/more.csv") as file:
        file.write(write_people(ROWS))
    with database.writing() as tx:
        create_import(tx, workspace, "more.csv", "imports/more.csv", None)
    reader = fork(run_worker, environment=environment)
    wait_until(lambda: READY in read_statuses(database), "the first rows")
    reader.kill()
    reader.wait()
    with database.writing() as tx:
        uuid = tx.execute(select(contact_import.c.uuid).where(contact_import.c.status == READY)).scalar_one()
        start_import(tx, workspace, uuid, (), None)
    finish_job(database, contact_import, environment)

    rejected = ROWS // BAD_EVERY
    with database.reading() as tx:
        jobs = tx.execute(select(contact_import).order_by(contact_import.c.id)).all()
        paths = Counter(tx.execute(select(contact_urn.c.path)).scalars())
        people = set(tx.execute(select(contact.c.uuid)).scalars())
    assert [(job.status, job.created, job.rejected) for job in jobs] == [("completed", ROWS - rejected, rejected)] * 2
    assert len(people) == 2 * (ROWS - rejected) and paths == Counter(
        f"+25078{row:07}" for row in range(2 * ROWS) if row % BAD_EVERY != 7
    )
    for job in jobs:
        numbers = [int(row["Row"]) for row in csv.DictReader(io.StringIO(read_file(store, job.location)))]
        assert numbers == [row + 2 for row in range(ROWS) if row % BAD_EVERY == 7]

    is_killed_amid = False
    for _ in range(EXPORTS):
        with database.writing() as tx:
            create_export(tx, workspace, "contacts", "jsonl", {}, None)
        is_killed_amid = finish_job(database, export, environment)
        with database.reading() as tx:
            done = tx.execute(select(export).order_by(export.c.id.desc()).limit(1)).one()
        written = [orjson.loads(line)["uuid"] for line in read_file(store, done.location).splitlines()]
        assert (done.status, done.record_count, Counter(written)) == ("completed", len(people), Counter(people))
        if is_killed_amid:
            break
    assert is_killed_amid

    with database.writing() as tx:
        take_back(tx, workspace, uuid)
    assert finish_job(database, contact_import, environment, "removed")
    with database.reading() as tx:
        job = tx.execute(select(contact_import).where(contact_import.c.uuid == uuid)).one()
        left = set(tx.execute(select(contact_urn.c.path).where(contact_urn.c.contact_id.is_not(None))).scalars())
    assert (job.removed, job.kept) == (ROWS - rejected, 0)
    assert left == {f"+25078{row:07}" for row in range(ROWS) if row % BAD_EVERY != 7}


def test_all_who_match_are_counted_once_while_workers_are_killed_and_two_of_them_work(
    database: Database, workspace: Workspace, environment: dict[str, str], clock: Any
) -> None:
    clock.moment = datetime.now(UTC)
    make_contacts(database, workspace, ROWS)
    make_named(database, workspace, group, ["Reporters"])
    with database.writing() as tx:
        create_job(tx, workspace, "add", "Reporters", {"query": "name != nobody"}, None)
    beside = fork(run_worker, environment=environment)
    try:
        finish_job(database, contact_job, environment, "done")
    finally:
        beside.kill()
        beside.wait()

    with database.reading() as tx:
        job = tx.execute(select(contact_job)).one()
        members = tx.execute(select(func.count()).select_from(group_membership)).scalar_one()
        counted = tx.execute(select(group.c.member_count).where(group.c.name == "Reporters")).scalar_one()
    assert (job.status, job.total, job.done, job.not_active) == ("completed", ROWS, ROWS, 0)
    assert (members, counted) == (ROWS, ROWS)


def read_statuses(database: Database) -> list[str]:
    with database.reading() as tx:
        return list(tx.execute(select(contact_import.c.status)).scalars())


def read_file(store: FolderStore, location: str) -> str:
    path = store.open_path(location)
    assert path is not None
    return path.read_text(encoding="utf-8-sig")
