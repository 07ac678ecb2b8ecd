"""Archiving loses and doubles nothing while its two processes are killed again and again."""

import gzip
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from sqlalchemy import Table, func, insert, select, update

from persistence.archives.archives import MESSAGE, RUN
from persistence.database import Database, Transaction
from persistence.media.store import FolderStore
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.flows import flow_run, flow_session
from persistence.tables.messages import message
from persistence.tables.service import archive
from persistence.workspaces.records import Workspace
from testbed.forked import ForkedProcess, fork
from testbed.running import wait_until
from testbed.tokens import SECRET_KEY
from tests.channel_rows import add_contact
from tests.faults import archiver
from tests.run_rows import add_flow
from tests.thinned import EVERY_CASE

DAYS, RECORDS_PER_DAY, KILLS = 5, 600, 8 if EVERY_CASE else 2
FIRST_DAY = datetime(2024, 1, 29, tzinfo=UTC)
"""Three days of a month that is over for long, and two of the one after it."""


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_MEDIA_URL": f"file://{tmp_path / 'media'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
    }


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(f"file://{tmp_path / 'media'}")


def add_old_records(database: Database, workspace: Workspace) -> dict[str, list[int]]:
    """Messages and ended runs with their sessions, evenly over DAYS; their ids by type."""
    flow_id, contact_id = add_flow(database, workspace), add_contact(database, workspace)
    moments = [
        FIRST_DAY + timedelta(days=day, seconds=second) for day in range(DAYS) for second in range(RECORDS_PER_DAY)
    ]
    shared = {"workspace_id": workspace.id, "contact_id": contact_id}
    with database.writing() as tx:
        sent = {"direction": "out", "status": "sent", "text": "hello", "attachments": [], "quick_replies": []}
        rows = [shared | sent | {"uuid": new_uuid(), "created_on": one, "modified_on": one} for one in moments]
        tx.execute(insert(message), rows)
        over = {"session_type": "message", "status": "completed", "sprint_count": 1}
        times = [{"created_on": one, "modified_on": one} for one in moments]
        tx.execute(insert(flow_session), [shared | over | {"uuid": new_uuid()} | each for each in times])
        session_ids = tx.execute(select(flow_session.c.id).order_by(flow_session.c.id)).scalars().all()
        empty = {"flow_id": flow_id, "status": "completed", "results": {}, "path": [], "visits": []}
        runs = [
            shared | empty | each | {"uuid": new_uuid(), "session_id": session_id, "exited_on": each["modified_on"]}
            for each, session_id in zip(times, session_ids, strict=True)
        ]
        tx.execute(insert(flow_run), runs)
        return {MESSAGE: ids_in(tx, message), RUN: ids_in(tx, flow_run)}


def ids_in(tx: Transaction, table: Table) -> list[int]:
    return list(tx.execute(select(table.c.id).order_by(table.c.id)).scalars())


def progress(database: Database) -> tuple[int, ...]:
    """Numbers that change with every step of the work."""
    with database.reading() as tx:
        tables = (archive, message, flow_run)
        return tuple(tx.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)


def begin(environment: dict[str, str]) -> ForkedProcess:
    return fork(archiver.main, environment=environment)


def kill_amid_work(database: Database, environment: dict[str, str]) -> None:
    """Two processes archive, and are killed as soon as one of them has done something, or both are through. Then the
    time passes for which others leave to them what they had begun.
    """
    before = progress(database)
    pair = [begin(environment), begin(environment)]

    def has_moved() -> bool:
        return progress(database) != before or all(process.poll() is not None for process in pair)

    wait_until(has_moved, "a step of archiving")
    for process in pair:
        process.kill()
        process.wait()
    with database.writing() as tx:
        (begun,) = tx.execute(select(workspace_table.c.archiving)).scalars()
        ended = {name: {**state, "until": tx.now.isoformat()} for name, state in (begun or {}).items()}
        tx.execute(update(workspace_table).values(archiving=ended))


def read_archives(database: Database, store: FolderStore) -> dict[str, Counter[int]]:
    """How often each record is in files that count, by type."""
    found: dict[str, Counter[int]] = {MESSAGE: Counter(), RUN: Counter()}
    with database.reading() as tx:
        rows = tx.execute(select(archive).where(archive.c.rollup_id.is_(None))).all()
    for row in rows:
        path = store.open_path(row.location)
        assert path is not None, row.location
        lines = gzip.decompress(path.read_bytes()).splitlines()
        assert len(lines) == row.record_count
        found[row.archive_type].update(orjson.loads(line)["id"] for line in lines)
    return found


def test_every_record_is_archived_once(
    database: Database, workspace: Workspace, environment: dict[str, str], store: FolderStore
) -> None:
    ids = add_old_records(database, workspace)

    for _ in range(KILLS):
        kill_amid_work(database, environment)
    assert begin(environment).wait(120) == 0

    assert read_archives(database, store) == {kind: Counter(known) for kind, known in ids.items()}
    with database.reading() as tx:
        assert [ids_in(tx, table) for table in (message, flow_run, flow_session)] == [[], [], []]
        assert tx.execute(select(archive.c.id).where(~archive.c.is_trimmed)).all() == []
