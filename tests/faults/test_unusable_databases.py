"""Databases that answer and cannot be used: each is named by readiness and by the doctor, requests get a 503 that says
when to come again, lists are read if they can be, and afterwards everything goes on.
"""

import contextlib
import json
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import requests
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

import persistence.migrations
import persistence.service.diagnosis
from persistence.labels import create_label
from persistence.migrations import upgrade
from persistence.sql.engines import queue_dsn
from testbed.databases import TEMPLATE, migrated_server
from testbed.forked import run_api
from testbed.running import RunningService, forked_service
from testbed.running import wait_until as wait_longer
from testbed.servers import postgres_database
from testbed.standbys import StandbyServer, primary_server, standby_server
from testbed.tokens import SECRET_KEY
from tests.console_script import call_forked

LABELS = "/api/v2/labels.json"
PATIENCE_SECONDS = 60.0
BOTH = ("api", "worker")
"""Where a worker says something, or takes connections of its own."""


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    wait_longer(is_true, what, PATIENCE_SECONDS, pause_seconds=0.25)  # each look is a request


@contextmanager
def served(url: str, folder: Path, processes: Sequence[str] = ("api",), **settings: str) -> Iterator[RunningService]:
    with forked_service(url, folder, processes, **settings) as service:
        service.post(LABELS, {"name": "Before"})
        yield service


@contextmanager
def connected(url: str) -> Iterator[Any]:
    with closing(psycopg2.connect(queue_dsn(url))) as connection:
        yield connection


def run(url: str, *statements: str) -> None:
    with connected(url) as connection:
        connection.set_session(autocommit=True)
        for statement in statements:
            connection.cursor().execute(statement)


def ask(service: RunningService, path: str) -> requests.Response:
    headers = {"Authorization": f"Token {service.token}"}
    return requests.get(service.url + path, headers=headers, timeout=PATIENCE_SECONDS)


def write(service: RunningService, name: str) -> requests.Response:
    headers = {"Authorization": f"Token {service.token}"}
    return requests.post(service.url + LABELS, json={"name": name}, headers=headers, timeout=PATIENCE_SECONDS)


def readiness(service: RunningService) -> tuple[int, dict[str, Any]]:
    answer = requests.get(f"{service.url}/health/ready", timeout=PATIENCE_SECONDS)
    return answer.status_code, answer.json()


def examine(service: RunningService, **settings: str) -> str:
    more = {f"RELAYBOARD_{name}": value for name, value in settings.items()}
    environment = service.environment | {"RELAYBOARD_BASE_URL": service.url} | more
    said = json.loads(call_forked("doctor", folder=service.folder, environment=environment).stdout)
    return "\n".join(f"{each['status']} {each['check']}: {each['sentence']}" for each in said["findings"])


def is_not_ready(service: RunningService, check: str) -> bool:
    status, said = readiness(service)
    return status == 503 and check in said["failing"]


def expect_refusal(answer: requests.Response, *words: str) -> None:
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["Retry-After"]) > 0
    assert all(word in answer.json()["detail"] for word in words), answer.text


@contextmanager
def read_only(url: str) -> Iterator[None]:
    run(url, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        run(url, "SET default_transaction_read_only = off", "ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")


def run_api_that_looks_again(listener: socket.socket) -> int:
    persistence.service.diagnosis.FAULT_SECONDS = 1.0
    return run_api(listener)


@pytest.fixture
def looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API tells what a write has found for a second, not for a minute that the test would wait for."""
    monkeypatch.setattr("testbed.running.run_api", run_api_that_looks_again)


@pytest.fixture(scope="module")
def own_server() -> Iterator[str]:
    """A server that these tests may change, and that has a standby."""
    with primary_server(migrated_server()) as url:
        yield url


@pytest.fixture(scope="module")
def own_template(own_server: str) -> Iterator[str]:
    """The name of a migrated database of this server, which tests copy."""
    if migrated_server() is not None:
        yield TEMPLATE
        return
    with postgres_database(own_server) as url:
        engine = create_engine(url)
        upgrade(engine)
        engine.dispose()
        yield make_url(url).database or ""


@pytest.fixture
def own_url(own_server: str, own_template: str) -> Iterator[str]:
    with postgres_database(own_server, own_template) as url:
        yield url


@pytest.fixture(scope="module")
def standby(own_server: str, own_template: str) -> Iterator[StandbyServer]:
    with standby_server(own_server) as made:
        yield made


def on_standby(standby: StandbyServer, url: str) -> str:
    """The URL of the standby's copy of a database, when that is there."""
    own = make_url(standby.url).set(database=make_url(url).database).render_as_string(hide_password=False)

    def is_there() -> bool:
        with suppress(psycopg2.OperationalError):
            run(own, "SELECT 1")
            return True
        return False

    wait_until(is_there, "the standby to follow")
    return own


@pytest.mark.usefixtures("looks_again")
def test_lists_of_a_read_only_database_are_read_and_nothing_is_accepted(own_url: str, tmp_path: Path) -> None:
    with served(own_url, tmp_path, RATE_LIMIT="1000/hour") as service:
        with read_only(own_url):
            wait_until(lambda: is_not_ready(service, "writing"), "a read-only database to be noticed")
            status, said = readiness(service)
            assert (status, "read-only" in said["reasons"]["writing"]) == (503, True)
            listed = [ask(service, LABELS) for _ in range(30)]  # more than a process has reserved of the rate limit
            assert {each.status_code for each in listed} == {200}
            assert [each["name"] for each in listed[-1].json()["results"]] == ["Before"]
            expect_refusal(write(service, "Meanwhile"), "read-only")
            told = examine(service)
            assert "problem writing: the database is read-only" in told, told
        wait_until(lambda: readiness(service)[0] == 200, "the service to be ready again")
        service.post(LABELS, {"name": "After"})
        assert {each["name"] for each in service.get(LABELS)["results"]} == {"Before", "After"}
        assert "Traceback" not in (tmp_path / "api.log").read_text()


def test_a_standby_as_the_database_serves_lists_only(own_url: str, standby: StandbyServer, tmp_path: Path) -> None:
    with served(own_url, tmp_path) as service:
        own = on_standby(standby, own_url)
        wait_until(lambda: count_labels(own) == 1, "the standby to follow")
        service.stop("api")
        service.environment["RELAYBOARD_DATABASE_URL"] = own
        service.start("api")
        wait_until(lambda: is_alive(service), "the API")
        assert "writing" in readiness(service)[1]["failing"]
        assert ask(service, LABELS).json()["results"][0]["name"] == "Before"
        expect_refusal(write(service, "Meanwhile"), "read-only")
        assert "read-only" in examine(service)


def count_labels(url: str) -> int:
    with connected(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM label")
        count: int = cursor.fetchone()[0]
        return count


def is_alive(service: RunningService) -> bool:
    try:
        return requests.get(f"{service.url}/health/live", timeout=PATIENCE_SECONDS).status_code == 200
    except requests.RequestException:
        return False


def wait_until_alive(service: RunningService) -> None:
    wait_until(lambda: is_alive(service), "the API")


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A file system of its own: what this user may do, whoever he is, does not matter there."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, folder], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this user may not mount: {done.stderr}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
def test_a_file_on_a_full_disk_is_told_and_its_lists_are_read(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=64m", "tmpfs") as disk:
        filler = disk / "filler"
        with served(f"sqlite:///{disk / 'relayboard.db'}", tmp_path) as service:
            with filler.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(b"\0" * 4096):
                    pass
            answer = write(service, "x" * 60)
            while answer.status_code == 201:  # there is room in pages and in the log
                answer = write(service, f"{'x' * 50}{answer.json()['uuid'][:10]}")
            expect_refusal(answer, "disk of the database is full")
            status, said = readiness(service)
            assert (status, "full" in said["reasons"]["writing"]) == (503, True)
            assert ask(service, LABELS).status_code == 200
            told = examine(service)
            assert "problem writing: the disk of the database is full" in told, told
            filler.unlink()
            wait_until(lambda: write(service, "After").status_code == 201, "the service to write again")
            wait_until(lambda: readiness(service)[0] == 200, "the service to be ready again")
        assert "Traceback" not in (tmp_path / "api.log").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
@pytest.mark.parametrize("is_open_elsewhere", [True, False])
def test_a_file_on_a_disk_that_is_read_only_is_told_and_its_lists_are_read_if_they_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_open_elsewhere: bool
) -> None:
    """SQLite reads a file with a log there if the log is there too: it cannot make one."""
    monkeypatch.setattr(RunningService, "wait_until_ready", lambda _service: None)
    disk = tmp_path / "disk"
    disk.mkdir()
    file = disk / "relayboard.db"
    with forked_service(f"sqlite:///{file}", tmp_path, []) as service:
        with service.database.writing() as tx:
            create_label(tx, service.workspace.id, "Before")
        if is_open_elsewhere:
            stays = service.database.engine.connect()
            stays.exec_driver_sql("SELECT count(*) FROM label").all()
        else:
            service.database.close()
        with mounted(tmp_path / "view", "--bind", "-o", "ro", str(disk)) as view:
            service.environment["RELAYBOARD_DATABASE_URL"] = f"sqlite:///{view / file.name}"
            service.start("api")
            wait_until_alive(service)
            wait_until(lambda: readiness(service)[0] == 503, "the disk to be noticed")
            said = readiness(service)[1]
            assert "read-only" in str(said["reasons"]), said
            expect_refusal(write(service, "Meanwhile"), "read-only")
            listed = ask(service, LABELS)
            if is_open_elsewhere:
                assert [each["name"] for each in listed.json()["results"]] == ["Before"]
            else:
                expect_refusal(listed, "read-only")
            told = examine(service)
            assert "read-only" in told, told
            service.kill("api")
        if is_open_elsewhere:
            stays.close()
    assert "Traceback" not in (tmp_path / "api.log").read_text()


@pytest.mark.usefixtures("looks_again")
def test_a_file_that_was_moved_away_takes_no_writes(tmp_path: Path) -> None:
    file = tmp_path / "relayboard.db"
    with served(f"sqlite:///{file}", tmp_path) as service:
        file.rename(file.with_name("elsewhere.db"))
        status, said = readiness(service)
        assert (status, "not there" in said["reasons"]["database"]) == (503, True)
        expect_refusal(write(service, "Into nothing"), "not there")
        assert ask(service, LABELS).status_code == 503
        assert not file.exists()
        assert "there is no database at" in examine(service)
        file.with_name("elsewhere.db").rename(file)
        wait_until(lambda: readiness(service)[0] == 200, "the service to be ready again")
        service.post(LABELS, {"name": "After"})
        assert {each["name"] for each in service.get(LABELS)["results"]} == {"Before", "After"}


@pytest.mark.parametrize("other", ["empty", "a database", "no database"])
def test_a_file_that_was_replaced_is_neither_read_nor_written(
    tmp_path: Path, sqlite_template: Path, other: str
) -> None:
    file = tmp_path / "relayboard.db"
    content = {"empty": b"", "a database": sqlite_template.read_bytes(), "no database": b"nothing of ours" * 500}[other]
    with served(f"sqlite:///{file}", tmp_path) as service:
        file.rename(file.with_name("elsewhere.db"))
        file.write_bytes(content)
        status, said = readiness(service)
        assert (status, "replaced" in said["reasons"]["database"]) == (503, True)
        expect_refusal(write(service, "Into another one"), "replaced")
        expect_refusal(ask(service, LABELS), "replaced")
        assert "the running service says of its database: the file of the database was replaced" in examine(service)
        assert not content or file.read_bytes() == content


def test_a_write_lock_on_a_file_that_is_never_given_back_is_told(tmp_path: Path) -> None:
    file = tmp_path / "relayboard.db"
    with served(f"sqlite:///{file}", tmp_path) as service:
        with closing(sqlite3.connect(file, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            status, said = readiness(service)
            assert (status, said["failing"]) == (503, ["locks"])
            assert "write lock" in said["reasons"]["locks"]
            assert ask(service, LABELS).status_code == 200
            assert "problem locks: a program has held the write lock" in examine(service)
        wait_until(lambda: readiness(service)[0] == 200, "the service to be ready again")


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_lock_on_a_table_that_is_never_given_back_is_told(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path) as service:
        with connected(database_url) as holder:
            patient = "SET LOCAL idle_in_transaction_session_timeout = 0"  # a session of somebody else
            holder.cursor().execute(f"{patient}; LOCK TABLE message_label IN EXCLUSIVE MODE")
            wait_until(lambda: is_not_ready(service, "locks"), "the lock to be noticed")
            assert "message_label" in readiness(service)[1]["reasons"]["locks"]
            assert ask(service, LABELS).status_code == 200
            assert "problem locks: the session" in examine(service)
        wait_until(lambda: readiness(service)[0] == 200, "the service to be ready again")


def test_a_database_that_cannot_store_every_text_is_told_and_not_set_up(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as ending:
        name = "narrow"
        run(postgres_url, f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
        ending.callback(run, postgres_url, f"DROP DATABASE {name} WITH (FORCE)")
        url = make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
        environment = {"RELAYBOARD_DATABASE_URL": url, "RELAYBOARD_SECRET_KEY": SECRET_KEY}
        refused = call_forked("migrate", folder=tmp_path, environment=environment)
        assert (refused.returncode, "SQL_ASCII" in refused.stderr, "template0" in refused.stderr) == (1, True, True)
        monkeypatch.setattr(persistence.migrations, "ENCODING", "SQL_ASCII")  # set up by a version that did not look
        monkeypatch.setattr("persistence.migrations.part_indexes.add_part_indexes", lambda _engine: None)
        monkeypatch.setattr(RunningService, "wait_until_ready", wait_until_alive)
        service = ending.enter_context(forked_service(url, tmp_path, ["api"]))
        status, said = readiness(service)
        assert (status, "SQL_ASCII" in said["reasons"]["encoding"]) == (503, True)
        assert "problem encoding: the database has the encoding SQL_ASCII" in examine(service)


def test_workers_on_another_queue_are_told(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'relayboard.db'}", tmp_path, BOTH) as service:
        wait_until(lambda: "warnings" not in readiness(service)[1], "the worker to be known in its queue")
        assert "problem queue" not in examine(service)
        service.stop("api")
        service.environment["RELAYBOARD_QUEUE_URL"] = f"sqlite:///{tmp_path / 'other-queue.db'}"
        service.start("api")
        service.wait_until_ready()
        assert "another queue" in readiness(service)[1]["warnings"]["queue"]
        told = examine(service)
        assert "problem queue: the workers on" in told, told


def test_a_database_without_connections_is_told(own_url: str, tmp_path: Path) -> None:
    with served(own_url, tmp_path, BOTH) as service, ExitStack() as ending:

        def take_all() -> None:
            """Whoever gives a connection back meanwhile leaves a free one, which is taken before each look."""
            with contextlib.suppress(psycopg2.OperationalError):
                while True:
                    ending.enter_context(connected(own_url))

        def is_told() -> bool:
            take_all()
            said = readiness(service)[1]
            told = said.get("reasons", {}) | said.get("warnings", {})
            return any("connections" in each for each in told.values())

        def is_found() -> bool:
            take_all()
            found = examine(service)
            return "no connections left" in found or "max_connections" in found

        wait_until(is_found, "the doctor to find it")
        wait_until(is_told, "the missing connections to be told")


def test_a_standby_for_lists_that_lags_is_told(own_url: str, standby: StandbyServer, tmp_path: Path) -> None:
    with served(own_url, tmp_path, BOTH, DATABASE_READ_URL=on_standby(standby, own_url)) as service:
        wait_until(lambda: "warnings" not in readiness(service)[1], "the standby to follow")
        standby.run("SELECT pg_wal_replay_pause()")
        try:
            service.post(LABELS, {"name": "Not there yet"})
            wait_until(lambda: "standby" in readiness(service)[1].get("warnings", {}), "the lag to be told")
            assert readiness(service)[0] == 200
            told = examine(service)
            assert "problem standby: it has not followed the database for" in told, told
        finally:
            standby.run("SELECT pg_wal_replay_resume()")


def test_a_schema_of_another_version_is_told(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'relayboard.db'}", tmp_path) as service:
        with service.database.writing() as tx:
            tx.connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
        status, said = readiness(service)
        assert (status, said["failing"]) == (503, ["schema"])
        assert "relayboard migrate" in said["reasons"]["schema"]
        assert "problem schema: the database is at schema 0001" in examine(service)
