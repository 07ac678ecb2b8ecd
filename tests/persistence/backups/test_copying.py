"""Moving to PostgreSQL by the name of the command, cut off by SIGKILL wherever it may be.

Checksums of tables: what is the same row in both databases.
"""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

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

from persistence.backups.copying import Checksum, _sum
from persistence.backups.files import stored_columns
from persistence.database import Database
from persistence.service.diagnosis import Worker, record_heartbeat
from persistence.sql.columns import JsonIndexed
from persistence.tables.complete import metadata
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.tables.service import archive, boundary
from testbed.running import wait_until
from testbed.servers import postgres_database
from testbed.tokens import KEYS
from tests.api import Api
from tests.console_script import Started, call_forked, make_environment, started
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import serve
from tests.persistence.backups.test_backups import read_lists

MESSAGES = 300
SPECIAL = "a tab\t, a line\nand\r\n, a \\ and \\N, \\t, “quotes” ' \" and 🌍"
SMALL_STEPS = (
    "import os, signal, sys\n"
    "import persistence.backups.copying as copying\n"
    "from relayboard.cli import main\n"
    "copying.BATCH_ROWS = copying.READ_ROWS = 20\n"
)
MAIN = "sys.exit(main(sys.argv[1:]))\n"
DIES_BEFORE_MESSAGES = (
    "copy = copying._Copy._copy_table\n"
    "def copy_others(self, table):\n"
    "    if table.name == 'message':\n"
    "        os.kill(os.getpid(), signal.SIGKILL)\n"
    "    copy(self, table)\n"
    "copying._Copy._copy_table = copy_others\n"
)
DIES_ONCE_COMPARED = "copying._Copy._finish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.fixture
def source(sqlite_template: Path, tmp_path: Path) -> Iterator[Api]:
    """A filled service on SQLite, with rows that refer to later ones and texts that are not plain."""
    file = tmp_path / "relayboard.db"
    file.write_bytes(sqlite_template.read_bytes())
    with serve(f"sqlite:///{file}", tmp_path) as service:
        workspace = service.new_workspace()
        fill_workspace(service.database, workspace, 3, {"message": MESSAGES})
        with service.database.writing() as tx:
            tx.execute(update(contact).where(contact.c.workspace_id == workspace.id).values(name=SPECIAL))
            first, last = tx.execute(select(func.min(archive.c.id), func.max(archive.c.id))).one()
            tx.execute(update(archive).where(archive.c.id == first).values(rollup_id=last))
            shape = {"type": "MultiPolygon", "coordinates": []}
            named = {"country": "RW", "geometry": shape}
            tx.insert(boundary, id=9, osm_id="R9", name="Rwanda", level=0, parent_id=None, **named)
            tx.insert(boundary, id=3, osm_id="R3", name="Kigali", level=1, parent_id=9, **named)
        yield service.api(workspace)


@pytest.fixture
def target_url(postgres_url: str, postgres_template: str) -> Iterator[str]:
    with postgres_database(postgres_url, postgres_template) as url:
        yield url


@pytest.fixture
def bare_url(postgres_url: str) -> Iterator[str]:
    """A target without tables, which the copy makes."""
    with postgres_database(postgres_url) as url:
        yield url


def arguments(source: Api, target_url: str) -> list[str]:
    return ["copy-database", "--from", source.database.url, "--to", target_url]


@contextmanager
def copying(source: Api, target_url: str, folder: Path, death: str = "") -> Iterator[Started]:
    command = [sys.executable, "-c", SMALL_STEPS + death + MAIN]
    with started(*arguments(source, target_url), folder=folder, environment=make_environment(), command=command) as run:
        yield run


@contextmanager
def connected(url: str) -> Iterator[Any]:
    engine = create_engine(url)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def wait_for_lock(run: Started, connection: Any) -> None:
    """Until the copy waits for what this connection holds."""
    mine = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    blocked = text("SELECT count(*) FROM pg_stat_activity WHERE :mine = any(pg_blocking_pids(pid))")

    def is_waiting() -> bool:
        connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")  # a transaction sees activity as it was first
        return bool(connection.execute(blocked, {"mine": mine}).scalar_one())

    wait_until(lambda: is_waiting() or run.process.poll() is not None, "the copy to wait")
    assert run.process.poll() is None, run.text


def cut_off(source: Api, target_url: str, folder: Path, death: str) -> None:
    with copying(source, target_url, folder, death) as run:
        assert run.process.wait() == -signal.SIGKILL, run.text


def cut_off_amid_messages(source: Api, target_url: str, folder: Path) -> None:
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
        with copying(source, target_url, folder) as run:
            wait_for_lock(run, connection)
            run.process.kill()
            run.process.wait()
        connection.rollback()
        noted = "SELECT note FROM database_copy WHERE name = 'message'"
        bookmark = json.loads(connection.execute(text(noted)).scalar_one())
    assert ids[0] < bookmark["last"] < middle


def test_a_copy_that_is_killed_twice_goes_on_and_is_the_same(
    source: Api, bare_url: str, tmp_path: Path, postgres_url: str, postgres_template: str
) -> None:
    lists = read_lists(source)
    cut_off(source, bare_url, tmp_path, DIES_BEFORE_MESSAGES)
    cut_off_amid_messages(source, bare_url, tmp_path)

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
    with serve(bare_url, tmp_path) as service:
        api = Api(service.client, service.database, source.workspace, source.token)
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


def test_ids_go_on_after_the_last_one_that_was_given(source: Api, target_url: str, tmp_path: Path) -> None:
    with source.database.writing() as tx:
        given = tx.execute(select(func.max(message.c.id))).scalar_one()
        tx.execute(text("UPDATE sqlite_sequence SET seq = :seq WHERE name = 'message'"), {"seq": given + 1000})

    assert call_forked(*arguments(source, target_url), folder=tmp_path).returncode == 0

    with connected(target_url) as connection:
        following = "SELECT nextval(pg_get_serial_sequence('message', 'id'))"
        assert connection.exec_driver_sql(following).scalar_one() == given + 1001


def change_source(source: Api) -> None:
    with source.database.writing() as tx:
        tx.execute(update(contact).values(name="Changed"))


def use_target(target_url: str) -> None:
    with connected(target_url) as connection:
        connection.exec_driver_sql("INSERT INTO registration_window (address, began_on, taken) VALUES ('x', now(), 1)")
        connection.commit()


def test_a_source_that_was_used_between_two_runs_is_noticed(source: Api, target_url: str, tmp_path: Path) -> None:
    cut_off(source, target_url, tmp_path, DIES_BEFORE_MESSAGES)
    change_source(source)

    refused = call_forked(*arguments(source, target_url), folder=tmp_path)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the copy of contact is not the same" in refused.stderr and "begin again" in refused.stderr


def test_a_source_that_was_used_after_all_was_compared_is_noticed(source: Api, target_url: str, tmp_path: Path) -> None:
    cut_off(source, target_url, tmp_path, DIES_ONCE_COMPARED)
    change_source(source)

    refused = call_forked(*arguments(source, target_url), folder=tmp_path)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the copy of contact is not the same" in refused.stderr


def test_a_target_that_is_not_empty_is_refused(source: Api, target_url: str, tmp_path: Path) -> None:
    use_target(target_url)

    refused = call_forked(*arguments(source, target_url), folder=tmp_path)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is not empty: there are rows in registration_window" in refused.stderr


def test_a_copy_of_another_source_is_refused(
    source: Api, target_url: str, sqlite_template: Path, tmp_path: Path
) -> None:
    cut_off(source, target_url, tmp_path, DIES_BEFORE_MESSAGES)
    other = tmp_path / "other.db"
    other.write_bytes(sqlite_template.read_bytes())

    refused = call_forked("copy-database", "--from", f"sqlite:///{other}", "--to", target_url, folder=tmp_path)

    assert refused.returncode == 1
    assert "holds a copy that was begun from another database" in refused.stderr


def hold(source: Api) -> Callable[[], Any]:
    writing = source.database.writing()
    writing.__enter__()
    return lambda: writing.__exit__(None, None, None)


def beat(source: Api) -> Callable[[], Any]:
    with source.database.writing() as tx:
        record_heartbeat(tx, Worker("node-1", 1, 10, "0.1", "0001"))
    return lambda: None


@pytest.mark.parametrize(
    ("use", "sentence"),
    [(hold, "somebody is writing to "), (beat, "a worker on node-1 is working with ")],
)
def test_a_source_that_is_in_use_is_refused(
    source: Api, target_url: str, tmp_path: Path, use: Callable[[Api], Callable[[], Any]], sentence: str
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
    source: Api, tmp_path: Path, given: str, wanted: str, sentence: str
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
