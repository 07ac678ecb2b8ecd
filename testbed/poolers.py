"""A real PgBouncer before the PostgreSQL server of a test: TEST_PGBOUNCER or `pgbouncer` of the system, otherwise the
package of Debian, unpacked into the user's cache without installing it.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg2
from sqlalchemy import URL
from sqlalchemy.engine import make_url

from testbed.kept_databases import LENT
from testbed.running import wait_until

GIVEN = "TEST_PGBOUNCER"
PACKAGES = ("pgbouncer", "libc-ares2", "libevent-2.1-7")
PORT = 6432
UNPRIVILEGED = "nobody"
"""PgBouncer does not run as root."""
SETTINGS = re.compile(r"(?:SET LOCAL [\w.]+ = [^;]*; )+")
ENDING = """
    SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
    WHERE datname = %s AND application_name = 'relayboard' AND pid <> ALL (%s::integer[])
"""
CONFIGURATION = """
[databases]
* = {server}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {port}
auth_type = any
admin_users = {user}
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 500
server_reset_query_always = 0
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""


@contextmanager
def transaction_pooler(database_url: str, *, connections: int) -> Iterator[str]:
    """The URL of a database through PgBouncer, which lends one of so many server connections for each transaction. The
    other databases of the server have the same URL with their name.
    """
    program, environment = _find_pgbouncer()
    url = make_url(database_url)
    folder = Path(tempfile.mkdtemp(prefix="pooler"))
    folder.chmod(0o777)
    given = CONFIGURATION.format(
        server=_address(url), user=url.username, folder=folder, port=PORT, connections=connections
    )
    (folder / "pgbouncer.ini").write_text(given)
    as_other = ["-u", _owner(url)] if os.geteuid() == 0 else []
    command = [str(program), *as_other, str(folder / "pgbouncer.ini")]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        pooled = url.set(query={"host": str(folder)}, host=None, port=PORT).render_as_string(hide_password=False)
        wait_until(lambda: _answers(pooled, process), "PgBouncer to answer")
        yield pooled
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder)


def release(pooled_url: str, database_url: str) -> None:
    """Ends the pooler's connections to a lent database, and their sessions, or no other test could have it."""
    pooled, name = make_url(pooled_url).set(drivername="postgresql"), make_url(database_url).database
    with closing(_connect(pooled.set(database="pgbouncer"))) as console, closing(_connect(pooled)) as other:
        for command in ("KILL", "RESUME"):
            console.cursor().execute(f"{command} {name}")
        other.cursor().execute(ENDING, [name, [*LENT[database_url].pids()]])


def without_settings(statement: str) -> str:
    """A statement alone, which through a pooler is sent with the settings of its transaction before it."""
    return SETTINGS.sub("", statement, count=1) if statement.startswith("SET LOCAL") else statement


def _address(url: URL) -> str:
    parts = {
        "host": url.host or str(url.query.get("host", "127.0.0.1")),
        "port": url.port or 5432,
        "user": url.username or "postgres",
        "password": url.password or "",
    }
    return " ".join(f"{name}={value}" for name, value in parts.items() if value)


def _connect(url: URL) -> Any:
    connection = psycopg2.connect(url.render_as_string(hide_password=False))
    connection.autocommit = True
    return connection


def _owner(url: URL) -> str:
    """Who may open the server's socket."""
    folder = url.query.get("host")
    return Path(folder).owner() if isinstance(folder, str) and Path(folder).is_dir() else UNPRIVILEGED


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "PgBouncer ended"
    try:
        psycopg2.connect(url.replace("+psycopg2", "")).close()
    except psycopg2.OperationalError:
        return False
    return True


def _find_pgbouncer() -> tuple[Path, Mapping[str, str]]:
    """The program and what its environment needs. Raises CalledProcessError if there is no package either."""
    given = os.environ.get(GIVEN) or shutil.which("pgbouncer")
    if given:
        return Path(given), os.environ
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relayboard-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / "pgbouncer"
    with (cache / "pgbouncer.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes side by side unpack it once
        if not folder.is_dir():
            _unpack(folder)
    libraries = os.pathsep.join(str(each.parent) for each in folder.glob("usr/lib/*/libcares.so.2"))
    return folder / "usr" / "sbin" / "pgbouncer", {**os.environ, "LD_LIBRARY_PATH": libraries}


def _unpack(folder: Path) -> None:
    """Debian's packages, with package lists of our own, which need no rights and no earlier update."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        work, unpacked = Path(made) / "work", Path(made) / "unpacked"
        for each in (work / "lists" / "partial", work / "archives" / "partial", unpacked):
            each.mkdir(parents=True)
        own = ["-q", "-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}", "-o", "APT::Sandbox::User="]
        _run(["apt-get", *own, "update"], work)
        _run(["apt-get", *own, "download", *PACKAGES], work)
        for package in work.glob("*.deb"):
            _run(["dpkg-deb", "--extract", str(package), str(unpacked)], work)
        unpacked.chmod(0o755)
        unpacked.rename(folder)


def _run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
