"""Two clients whose writes meet by construction: one is held at a chosen moment until the other waits or is done."""

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError

from persistence.database import Database
from persistence.sql.engines import PATIENT, WRITING
from testbed.patience import PATIENCE_SECONDS

FIRST_WRITE, COMMIT = "before its first write", "before its commit"
MOMENTS = (FIRST_WRITE, COMMIT)
BESIDE = ("api_token", "rate_window")
"""Tables of what is noted beside a request, in units of work of their own."""
WRITES = ("INSERT ", "UPDATE ", "DELETE ", "WITH ", "EXECUTE WRITE_")
"""How statements that write begin; no statement that reads begins so."""
POLL_SECONDS = 0.002
GIVE_UP_SECONDS = PATIENCE_SECONDS
DEADLOCK = "40P01"
WAITING = text(
    "select count(*) from pg_stat_get_activity(null) where wait_event_type = 'Lock'"
    " and datid = (select oid from pg_database where datname = current_database())"
)

Outcome = TypeVar("Outcome")


class Gate:
    """Holds the first unit of work on a database that comes to a moment, until it is opened."""

    def __init__(self, database: Database) -> None:
        self._moment: str | None = None
        self._lock = threading.Lock()
        self._writers: set[int] = set()
        self.reached = threading.Event()
        self._opened = threading.Event()
        event.listen(database.engine, "before_cursor_execute", self._note_statement)
        event.listen(database.engine, "commit", self._note_commit)

    def arm(self, moment: str) -> None:
        self.reached.clear()
        self._opened.clear()
        self._writers.clear()
        self._moment = moment

    def open(self) -> None:
        self._moment = None
        self._opened.set()

    def _note_statement(self, connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        is_beside = any(table in statement for table in BESIDE)
        if statement.upper().startswith(WRITES) and not is_beside:
            self._pause(FIRST_WRITE)
            self._writers.add(id(connection.connection.dbapi_connection))

    def _note_commit(self, connection: Any) -> None:
        if id(connection.connection.dbapi_connection) in self._writers:
            self._pause(COMMIT)

    def _pause(self, moment: str) -> None:
        with self._lock:
            if self._moment != moment:
                return
            self._moment = None
        self.reached.set()
        assert self._opened.wait(GIVE_UP_SECONDS), "nobody opened the gate"


class Waiting:
    """Tells when the second client waits for the first."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begun = threading.Event()
        event.listen(database.engine, "before_cursor_execute", self._note)

    def arm(self) -> None:
        self._begun.clear()

    def holds(self) -> bool:
        if self._database.sqlite:  # where one writes at a time
            return self._begun.is_set()
        with self._database.reading() as tx:
            return int(tx.execute(WAITING).scalar_one()) > 0

    def _note(self, connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        # Whoever is not patient writes beside the request.
        if statement == "BEGIN IMMEDIATE" and connection.get_execution_options().get(WRITING) == PATIENT:
            self._begun.set()


class Meeting:
    """Lets two clients meet, each with a database object of its own as two processes have."""

    def __init__(self, first: Database, second: Database) -> None:
        self._gate, self._waiting = Gate(first), Waiting(second)
        self._deadlocks: list[str] = []
        for database in (first, second):
            event.listen(database.engine, "rollback", self._note_rollback)

    def run(self, moment: str, first: Callable[[], Outcome], second: Callable[[], Outcome]) -> tuple[Outcome, Outcome]:
        """What both come to when the second comes while the first is at the moment."""
        self._deadlocks.clear()
        self._gate.arm(moment)
        self._waiting.arm()
        with ThreadPoolExecutor(2) as threads:
            held = threads.submit(first)
            held.add_done_callback(lambda _: self._gate.reached.set())
            try:
                assert self._gate.reached.wait(GIVE_UP_SECONDS), "nobody came to the gate"
                other: Future[Outcome] = threads.submit(second)
                wait_until(other, self._waiting.holds)
            finally:
                self._gate.open()
            ends = held.result(GIVE_UP_SECONDS), other.result(GIVE_UP_SECONDS)
        assert not self._deadlocks, f"these two lock the same in different orders: {self._deadlocks}"
        return ends

    def _note_rollback(self, _connection: Any) -> None:
        """Deadlocks are run again and nobody sees them, but whoever is in one waits for a second."""
        error = sys.exception()
        if isinstance(error, DBAPIError) and getattr(error.orig, "pgcode", None) == DEADLOCK:
            self._deadlocks.append(str(error.statement))


def wait_until(other: Future[Any], holds: Callable[[], bool]) -> None:
    """Returns when the other is done or waits."""
    give_up = time.monotonic() + GIVE_UP_SECONDS
    while not wait([other], POLL_SECONDS).done and not holds():
        assert time.monotonic() < give_up, "the other neither waits nor is done"
