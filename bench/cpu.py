"""The CPU time that requests cost: of a process of the service and of the PostgreSQL processes that it uses. Unlike
the time that passes, it hardly depends on what else the machine does.
"""

from pathlib import Path
from urllib.parse import urlsplit

import requests
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.pool import NullPool

BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
NAMED = f"{BACKENDS} AND application_name = :name"


class Meter:
    """Reads the clocks of an API process and of the server processes of its connections, on this machine: of all
    connections to the database, or of those with an application name.
    """

    def __init__(self, api_pid: int, database_url: str, application_name: str | None = None) -> None:
        self._api_pid = api_pid
        self._name = application_name
        self._engine: Engine = create_engine(database_url, poolclass=NullPool)

    def read(self) -> tuple[float, float]:
        """Milliseconds of CPU time so far: of the API process, and of PostgreSQL."""
        with self._engine.connect() as connection:
            statement = BACKENDS if self._name is None else NAMED
            backends = connection.execute(text(statement), {"name": self._name} if self._name else {}).scalars().all()
        return spent_ms(self._api_pid), sum(spent_ms(pid) for pid in backends)


def spent_ms(pid: int) -> float:
    """The CPU time of all threads of a process; 0 for one that has ended."""
    spent = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            spent += int(thread.read_text().split()[0])
        except OSError:  # the thread has just ended
            continue
    return spent / 1e6


def ask(session: requests.Session, url: str) -> int:
    """The status of a response, which is read to its end; 503 for what takes the database too long."""
    response = session.get(url, timeout=600)
    path = urlsplit(url).path
    if response.status_code not in (200, 400, 404, 503):
        raise RuntimeError(f"{path} was answered with {response.status_code}: {response.text[:300]}")
    return response.status_code
