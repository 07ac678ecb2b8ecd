"""The heartbeats of a worker."""

import os
import socket
import threading

import pytest

from persistence.database import Database
from persistence.heartbeats import list_heartbeats
from relayboard.base.version import program_version
from testbed.running import wait_until
from worker.heartbeat import beating


def heartbeats(database):
    with database.reading() as tx:
        return list_heartbeats(tx)


def test_a_worker_is_seen_again_and_again_while_it_works_and_not_after(database):
    with beating(database, 3, every_seconds=0.02):
        wait_until(lambda: heartbeats(database), "the first beat")
        first = heartbeats(database)[0]
        wait_until(lambda: heartbeats(database)[0].seen_on > first.seen_on, "another beat")

    assert (first.host, first.pid, first.threads, first.version) == (
        socket.gethostname(),
        os.getpid(),
        3,
        program_version(),
    )
    assert first.is_alive
    assert heartbeats(database) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_process_waits_for_a_beat_to_end(database):
    with beating(database, 3):
        beats = [each for each in threading.enumerate() if each.name == "heartbeat"]

    assert beats and all(each.daemon for each in beats)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_beat_that_fails_stops_neither_work_nor_the_next_beat(database, caplog, monkeypatch):
    """Until the table is there, each beat fails; after that they succeed."""
    name = "worker_heartbeat"
    with database.engine.begin() as connection:
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO {name}_away")
    with beating(database, 3, every_seconds=0.02):
        wait_until(lambda: "cannot say that it is alive" in caplog.text, "a beat that fails")
        with database.engine.begin() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {name}_away RENAME TO {name}")
        wait_until(lambda: heartbeats(database), "a beat that succeeds")

    assert caplog.text.count("cannot say that it is alive") == 1


def test_a_worker_without_a_database_ends_all_the_same(tmp_path, caplog):
    broken = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    with beating(broken, 1, every_seconds=0.02):
        wait_until(lambda: "cannot say that it is alive" in caplog.text, "a beat that fails")
    broken.close()

    assert caplog.text.count("cannot say") == 1
