"""Moving to PostgreSQL by the name of the command, cut off by SIGKILL wherever it may be.

Checksums of tables: what is the same row in both databases.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import (
    JSON,
    Column,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    func,
    inspect,
    select,
    text,
    update,
)

from persistence.backups import copying
from persistence.backups.copying import Checksum, _sum
from persistence.backups.files import stored_columns
from persistence.database import Database
from persistence.service.diagnosis import Worker, record_heartbeat
from persistence.sql.columns import JsonIndexed
from persistence.tables.complete import metadata
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.tables.service import archive, boundary
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard import cli
from testbed.databases import open_database
from testbed.forked import ForkedProcess, fork
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.servers import postgres_database
from testbed.tokens import KEYS, make_token
from tests.api import Api
from tests.console_script import call_forked, make_environment
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import serve
from tests.persistence.backups.test_backups import read_lists

MESSAGES = 300
SPECIAL = "a tab\t, a line\nand\r\n, a \\ and \\N, \\t, “quotes” ' \" and 🌍"
BEFORE_MESSAGES, ONCE_COMPARED = "before messages", "once compared"


@dataclass(frozen=True)
class Filled:
    """The file of a service on SQLite, with rows that refer to later ones and texts that are not plain."""

    content: bytes
    workspace: Workspace
    token: str


@dataclass(frozen=True)
class Source:
    """A copy of it in a file of its own."""

    database: Database
    filled: Filled


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    file = tmp_path_factory.mktemp("filled") / "relayboard.db"
    file.write_bytes(sqlite_template.read_bytes())
    with closing(open_database(f"sqlite:///{file}")) as database:
        with database.writing() as tx:
            workspace = create_workspace(tx, "Clinic", country="RW", timezone="Africa/Kigali", languages=("eng",))
        fill_workspace(database, workspace, 3, {"message": MESSAGES})
        with database.writing() as tx:
            tx.execute(update(contact).where(contact.c.workspace_id == workspace.id).values(name=SPECIAL))
            first, last = tx.execute(select(func.min(archive.c.id), func.max(archive.c.id))).one()
            tx.execute(update(archive).where(archive.c.id == first).values(rollup_id=last))
            shape = {"type": "MultiPolygon", "coordinates": []}
            named = {"country": "RW", "geometry": shape}
            tx.insert(boundary, id=9, osm_id="R9", name="Rwanda", level=0, parent_id=None, **named)
            tx.insert(boundary, id=3, osm_id="R3", name="Kigali", level=1, parent_id=9, **named)
        token = make_token(database, workspace, "administrator")
    return Filled(file.read_bytes(), workspace, token)


@pytest.fixture
def source(filled: Filled, tmp_path: Path) -> Iterator[Source]:
    file = tmp_path / "relayboard.db"
    file.write_bytes(filled.content)
    with closing(open_database(f"sqlite:///{file}")) as database:
        yield Source(database, filled)


@pytest.fixture
def target_url(postgres_url: str, postgres_template: str) -> Iterator[str]:
    with postgres_database(postgres_url, postgres_template) as url:
        yield url


@pytest.fixture
def bare_url(postgres_url: str) -> Iterator[str]:
    """A target without tables, which the copy makes."""
    with postgres_database(postgres_url) as url:
        yield url


def arguments(source: Source, target_url: str) -> list[str]:
    return ["copy-database", "--from", source.database.url, "--to", target_url]


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def copy_in_small_steps(death: str, *arguments: str) -> int:
    """In a process of its own, which ends at this moment if one is named."""
    copy_table: Any = copying._Copy._copy_table

    def copy_others(self: Any, table: Table) -> None:
        if table.name == "message":
            die()
        copy_table(self, table)

    changed: dict[str, Any] = {BEFORE_MESSAGES: {"_copy_table": copy_others}, ONCE_COMPARED: {"_finish": die}}
    with (
        patch.multiple(copying, BATCH_ROWS=20, READ_ROWS=20),
        patch.multiple(copying._Copy, **changed[death]) if death else nullcontext(),
    ):
        return cli.main(arguments)


def start_copying(source: Source, target_url: str, death: str = "") -> ForkedProcess:
    return fork(copy_in_small_steps, death, *arguments(source, target_url), environment=make_environment())


@contextmanager
def connected(url: str) -> Iterator[Any]:
    engine = create_engine(url)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def wait_for_lock(run: ForkedProcess, connection: Any) -> None:
    """Until the copy waits for what this connection holds."""
    mine = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    blocked = text("SELECT count(*) FROM pg_stat_activity WHERE :mine = any(pg_blocking_pids(pid))")

    def is_waiting() -> bool:
        connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")  # a transaction sees activity as it was first
        return bool(connection.execute(blocked, {"mine": mine}).scalar_one())

    wait_until(lambda: is_waiting() or run.poll() is not None, "the copy to wait")
    assert run.poll() is None


def cut_off(source: Source, target_url: str, death: str) -> None:
    assert start_copying(source, target_url, death).wait(PATIENCE_SECONDS) == -signal.SIGKILL


def cut_off_amid_messages(source: Source, target_url: str) -> None:
    """A row that is not committed, with the id of a message in the middle, holds up the batch with that message."""
    with source.database.reading() as tx:
        ids = list(tx.execute(select(message.c.id).order_by(message.c.id)).scalars())
        middle = ids[len(ids) // 2]
        stored = [message.c[name] for name in stored_columns(message)]
        row = dict(tx.execute(select(*stored).where(message.c.id == middle)).one()._mapping)
    with (
        closing(Database(target_url, keys=KEYS)) as target,
        target.engine.connect() as connection,
    ):
        connection.execute(message.insert().values(row))
        run = start_copying(source, target_url)
        try:
            wait_for_lock(run, connection)
        finally:
            run.kill()
            run.wait(PATIENCE_SECONDS)
        connection.rollback()
        noted = "SELECT note FROM database_copy WHERE name = 'message'"
        bookmark = json.loads(connection.execute(text(noted)).scalar_one())
    assert ids[0] < bookmark["last"] < middle


def test_a_copy_that_is_killed_twice_goes_on_and_is_the_same(
    source: Source, bare_url: str, tmp_path: Path, postgres_url: str, postgres_template: str
) -> None:
    """Also in the ids that it gives next, which are above all that were ever given."""
    with source.database.writing() as tx:
        given = tx.execute(select(func.max(message.c.id))).scalar_one()
        tx.execute(text("UPDATE sqlite_sequence SET seq = :seq WHERE name = 'message'"), {"seq": given + 1000})
    with serve(source.database.url, tmp_path, check_responses=False) as service:
        lists = read_lists(Api(service.client, service.database, source.filled.workspace, source.filled.token))
    cut_off(source, bare_url, BEFORE_MESSAGES)
    cut_off_amid_messages(source, bare_url)

    done = call_forked(*arguments(source, bare_url), folder=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    with source.database.reading() as tx:
        rows = {
            table.name: tx.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
        }
    assert (said["tables"], said["rows"]) == (len(rows), sum(rows.values()))
    assert 0 < said["copied_now"] < rows["message"] + 50
    with postgres_database(postgres_url, postgres_template) as fresh:
        assert list_constraints(bare_url) == list_constraints(fresh)
    with connected(bare_url) as connection:
        following = "SELECT nextval(pg_get_serial_sequence('message', 'id'))"
        assert connection.exec_driver_sql(following).scalar_one() == given + 1001
    with serve(bare_url, tmp_path, check_responses=False) as service:
        api = Api(service.client, service.database, source.filled.workspace, source.filled.token)
        assert read_lists(api) == lists
        assert api.post("/api/v2/contacts.json", {"name": "New"}).status_code == 201


def list_constraints(url: str) -> list[tuple[str, ...]]:
    """What the database checks, and its tables."""
    checks = (
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated::text FROM pg_constraint"
    )
    with connected(url) as connection:
        tables = [(name,) for name in inspect(connection).get_table_names()]
        return sorted([*tables, *(tuple(row) for row in connection.exec_driver_sql(checks))])


def change_source(source: Source) -> None:
    with source.database.writing() as tx:
        tx.execute(update(contact).values(name="Changed"))


def use_target(target_url: str) -> None:
    with connected(target_url) as connection:
        connection.exec_driver_sql("INSERT INTO registration_window (address, began_on, taken) VALUES ('x', now(), 1)")
        connection.commit()


def test_a_copy_goes_on_only_from_the_same_source_as_it_was(
    source: Source, target_url: str, sqlite_template: Path, tmp_path: Path
) -> None:
    cut_off(source, target_url, BEFORE_MESSAGES)
    other = tmp_path / "other.db"
    other.write_bytes(sqlite_template.read_bytes())

    refused = call_forked("copy-database", "--from", f"sqlite:///{other}", "--to", target_url, folder=tmp_path)
    assert refused.returncode == 1
    assert "holds a copy that was begun from another database" in refused.stderr

    change_source(source)
    refused = call_forked(*arguments(source, target_url), folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the copy of contact is not the same" in refused.stderr and "begin again" in refused.stderr


def test_a_source_that_was_used_after_all_was_compared_is_noticed(
    source: Source, target_url: str, tmp_path: Path
) -> None:
    cut_off(source, target_url, ONCE_COMPARED)
    change_source(source)

    refused = call_forked(*arguments(source, target_url), folder=tmp_path)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the copy of contact is not the same" in refused.stderr


def test_a_target_that_is_not_empty_is_refused(source: Source, target_url: str, tmp_path: Path) -> None:
    use_target(target_url)

    refused = call_forked(*arguments(source, target_url), folder=tmp_path)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is not empty: there are rows in registration_window" in refused.stderr


def hold(source: Source) -> Callable[[], Any]:
    writing = source.database.writing()
    writing.__enter__()
    return lambda: writing.__exit__(None, None, None)


def beat(source: Source) -> Callable[[], Any]:
    with source.database.writing() as tx:
        record_heartbeat(tx, Worker("node-1", 1, 10, "0.1", "0001"))
    return lambda: None


@pytest.mark.parametrize(
    ("use", "sentence"),
    [(hold, "somebody is writing to "), (beat, "a worker on node-1 is working with ")],
)
def test_a_source_that_is_in_use_is_refused(
    source: Source, target_url: str, tmp_path: Path, use: Callable[[Source], Callable[[], Any]], sentence: str
) -> None:
    end = use(source)
    refused = call_forked(*arguments(source, target_url), folder=tmp_path)
    end()

    assert (refused.returncode, refused.stdout) == (1, "")
    assert sentence in refused.stderr and "stop the service" in refused.stderr


@pytest.mark.together
@pytest.mark.parametrize(
    ("given", "wanted", "sentence"),
    [
        ("sqlite:///missing.db", "postgresql://x@127.0.0.1:1/x", "--from must name the file of a SQLite database"),
        ("postgresql://x@127.0.0.1:1/x", "postgresql://x@127.0.0.1:1/x", "--from must name the file of a SQLite"),
        ("{source}", "sqlite:///other.db", "--to must name a PostgreSQL database"),
        ("{source}", "postgresql://x@127.0.0.1:1/x", "the database cannot be used: "),
        ("{source}", "postgresql://x@127.0.0.1:port/x", "--to must name a PostgreSQL database"),
    ],
)
def test_addresses_that_cannot_be_used_are_named(
    source: Source, tmp_path: Path, given: str, wanted: str, sentence: str
) -> None:
    refused = call_forked(
        "copy-database", "--from", given.format(source=source.database.url), "--to", wanted, folder=tmp_path
    )

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"relayboard: {sentence}"), refused.stderr


METADATA = MetaData()
PLAIN = Table("plain", METADATA, Column("id", Integer), Column("name", String), Column("extra", JSON))
MEASURED = Table("measured", METADATA, Column("id", Integer), Column("level", Float))
DOCUMENTS = Table("documents", METADATA, Column("id", Integer), Column("fields", JsonIndexed))


def total(table: Table, *rows: tuple[Any, ...]) -> Checksum:
    return _sum(table, rows)


@pytest.mark.parametrize(
    ("table", "one", "other", "is_same"),
    [
        (PLAIN, 'a {"b": 1}', 'a {"b": 2}', False),
        (PLAIN, None, "", False),
        (PLAIN, "a", "a", True),
        (MEASURED, 2, 2.0, True),
        (MEASURED, 2.0, 2.5, False),
        (MEASURED, None, None, True),
        (MEASURED, None, 0.0, False),
        (DOCUMENTS, '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
        (DOCUMENTS, '{"a": 1.50}', '{"a": 1.5}', True),
        (DOCUMENTS, '{"a": 1.0}', '{"a": 1}', True),
        (DOCUMENTS, '{"a": "1.0"}', '{"a": "1"}', False),
        (DOCUMENTS, '{"a": [1, 2]}', '{"a": [2, 1]}', False),
        (DOCUMENTS, None, None, True),
        (DOCUMENTS, None, "null", False),
    ],
)
def test_a_row_is_the_same_without_what_a_database_does_not_keep(
    table: Table, one: Any, other: Any, is_same: bool
) -> None:
    wide = (None,) if table is PLAIN else ()

    assert (total(table, (1, one, *wide)) == total(table, (1, other, *wide))) is is_same


def test_the_order_of_rows_does_not_count_but_their_number_does() -> None:
    first, second = (1, "a", None), (2, "b", None)

    assert total(PLAIN, first, second) == total(PLAIN, second, first)
    assert total(PLAIN, first, second).rows == 2
    assert total(PLAIN, first) != total(PLAIN, first, first)
    assert total(PLAIN) == Checksum(0, 0)
