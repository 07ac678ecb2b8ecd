"""Lists from a standby of the database: while it keeps up, and never older than what the token itself has written.

After each write of a token the position of the write-ahead log is noted in the database, so that every node knows it. A
list of this token comes from the standby once that has replayed the position.
"""

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from persistence.database import Database
from persistence.errors import DatabaseError, is_temporary, lost_a_race, reason_of, took_too_long
from persistence.secrets.encryption import KeyRing
from persistence.tables.service import write_mark
from relayboard.base.metrics import AWAY, BEHIND, FOLLOWER, STANDBY, WRITER, standby_lag, standby_reads
from relayboard.base.settings import Settings

logger = logging.getLogger("relayboard.standby")

LOOK_SECONDS = 0.5
AGAIN_SECONDS = 5.0
"""A client whose stream ended comes again within this time."""
MARK_SECONDS = 60.0
"""A standby that has not replayed a write for this long is not read at all, so that older marks mean nothing."""
HERE = "(pg_current_wal_insert_lsn() - '0/0')::bigint"
WRITTEN = text(
    f"INSERT INTO {write_mark.name} AS mark (token_id, position, noted_on) VALUES (:token, {HERE}, now())"
    " ON CONFLICT (token_id) DO UPDATE SET noted_on = now(), position = CASE"
    f" WHEN mark.noted_on > now() - interval '{MARK_SECONDS:g}s' THEN greatest(mark.position, excluded.position)"
    " ELSE excluded.position END"
)
FOLLOWED = text(
    f"INSERT INTO {write_mark.name} AS mark (token_id, position, noted_on, primary_until)"
    " VALUES (:token, 0, now(), now() + make_interval(secs => :seconds))"
    " ON CONFLICT (token_id) DO UPDATE SET primary_until = greatest(mark.primary_until, excluded.primary_until)"
)
MARK = text(
    "SELECT position, coalesce(primary_until > now(), false)"
    f" FROM {write_mark.name} WHERE token_id = :token"
    f" AND (noted_on > now() - interval '{MARK_SECONDS:g}s' OR primary_until > now())"
)
IDENTITY = (
    "(SELECT system_identifier FROM pg_control_system()) || ' '"
    " || (SELECT oid FROM pg_database WHERE datname = current_database())"
)
POSITION = text(f"SELECT {HERE}, {IDENTITY}")
REPLAYED = text(f"SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint, {IDENTITY} WHERE pg_is_in_recovery()")
PAGE, HEADERS = 8192, (24, 40)
NO_STANDBY = "RELAYBOARD_DATABASE_READ_URL leads to no standby of the database"


@dataclass(slots=True)
class Standby:
    """A standby and what this process knows of it; `longest_lag` in seconds. It is looked at by a thread that begins
    with the first question, so that it may be made before a process forks. `fault` says why it cannot be read,
    after a look.
    """

    primary: Database
    database: Database
    longest_lag: float
    fault: str = ""
    _replayed: int = 0
    _lag: float | None = None
    _positions: deque[tuple[float, int]] = field(default_factory=deque)
    _unnoted: dict[int, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None
    _ending: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        """Begins to look, before the first question."""
        self._begin()

    def may_serve(self, token_id: int | None) -> bool:
        """Whether a list for this token may be read from the standby; None (a browser, which follows changes as they
        come) never. Raises DatabaseError if the database itself is away.
        """
        self._begin()
        where = FOLLOWER if token_id is None else self._judge(token_id)
        standby_reads.labels(where).inc()
        return where == STANDBY

    def note_write(self, token_id: int | None) -> None:
        """To be called after the commit and before the response. If the position cannot be noted, lists of the token
        come from the database itself for as long as it would matter, on this node.
        """
        if token_id is None:
            return
        try:
            with self.primary.writing() as tx:
                tx.connection.execute(WRITTEN, {"token": token_id})
        except DatabaseError as error:
            logger.warning("a write could not be noted for the standby: %s", reason_of(error))
            self._unnoted[token_id] = time.monotonic() + MARK_SECONDS

    def note_follower(self, token_id: int | None, seconds: float) -> None:
        """The token is told of changes for so long, and reads what is told: from the database itself."""
        if token_id is not None:
            with self.primary.writing() as tx:
                tx.connection.execute(FOLLOWED, {"token": token_id, "seconds": seconds + AGAIN_SECONDS})

    def give_up(self, error: DatabaseError) -> bool:
        """Whether the error is that of a standby, so that the database itself may be asked instead. A standby cancels
        what is in the way of replaying, and one that broke is not read until it was looked at again.
        """
        if not is_temporary(error) or took_too_long(error):
            return False
        if not (isinstance(error, DBAPIError) and lost_a_race(error)):
            self._note(None, reason_of(error))
        return True

    def look(self) -> None:
        """Looks how far the standby is behind: since when it has not replayed what the database has written."""
        now = time.monotonic()
        try:
            with self.primary.reading() as tx:
                written, identity = tx.execute(POSITION).one()
            with self.database.reading() as tx:
                found = tx.execute(REPLAYED).one_or_none()
        except DatabaseError as error:
            self._note(None, reason_of(error))
            return
        if found is None or found[1] != identity:
            self._note(None, NO_STANDBY)
            return
        replayed = int(found[0])
        self._positions.append((now, _end_of(written)))
        while self._positions and self._positions[0][1] <= replayed:
            self._positions.popleft()
        with self._lock:
            self._replayed = max(self._replayed, replayed)
        self._note(now - self._positions[0][0] if self._positions else 0.0, "")

    def wait_for(self, seconds: float) -> float:
        """How far it is behind after it was given so much time to follow, in seconds; 0 when it cannot be read."""
        while True:
            self.look()
            if not self._positions or self._lag is None or self._lag > seconds:
                return self._lag or 0.0
            self._ending.wait(LOOK_SECONDS / 5)

    def describe_lag(self) -> str | None:
        """Why lists do not come from it, as far as is known; None when they do."""
        with self._lock:
            lag, fault, looked = self._lag, self.fault, self._thread is not None
        if lag is None:
            return "it cannot be read, so lists come from the database itself" if looked and fault else None
        if lag > self.longest_lag:
            return f"it is {lag:.0f} s behind, so lists come from the database itself"
        return None

    def close(self) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        self.database.close()

    def _judge(self, token_id: int) -> str:
        with self._lock:
            lag, replayed = self._lag, self._replayed
        if lag is None:
            return AWAY
        if lag > self.longest_lag:
            return BEHIND
        if self._unnoted and self._unnoted.get(token_id, 0.0) > time.monotonic():
            return WRITER
        with self.primary.reading() as tx:
            mark = tx.execute(MARK, {"token": token_id}).one_or_none()
        if mark is None:
            return STANDBY
        position, is_follower = mark
        if is_follower:
            return FOLLOWER
        needed = _end_of(position)
        return STANDBY if needed <= replayed or needed <= self._read_replayed() else WRITER

    def _read_replayed(self) -> int:
        """How far the standby has come by now; 0 if it does not answer."""
        try:
            with self.database.reading() as tx:
                found = tx.execute(REPLAYED).one_or_none()
        except DatabaseError:
            return 0
        replayed = int(found[0]) if found is not None else 0
        with self._lock:
            self._replayed = max(self._replayed, replayed)
        return replayed

    def _note(self, lag: float | None, reason: str) -> None:
        with self._lock:
            before, self._lag, self.fault = self._lag, lag, reason
        standby_lag.set(-1 if lag is None else lag)
        if lag is None and before is not None:
            self._replayed = 0
            logger.warning("the standby cannot be read, lists come from the database itself: %s", reason)
        elif lag is not None and before is None:
            logger.info("lists are read from the standby")

    def _begin(self) -> None:
        if self._thread is None:
            with self._lock:
                if self._thread is not None:
                    return
                self._thread = threading.Thread(target=self._watch, name="standby", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while not self._ending.is_set():
            self.look()
            self._ending.wait(min(LOOK_SECONDS, self.longest_lag / 2))


def open_standby(settings: Settings, primary: Database, pool_size: int) -> Standby | None:
    """The standby for lists, if there is one. It may be behind a pooler where the database is."""
    if not settings.database_read_url:
        return None
    keys, is_pooled = KeyRing.of(settings), bool(settings.database_pooled_url)
    database = Database(settings.database_read_url, pool_size=pool_size, keys=keys, is_behind_pooler=is_pooled)
    return Standby(primary, database, settings.database_read_lag_seconds)


def _end_of(position: int) -> int:
    """The end of the last record before a position at which the next one would be written: at the beginning of a page
    of the log that is after the page's header.
    """
    return position - position % PAGE if position % PAGE in HEADERS else position
