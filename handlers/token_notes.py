"""Records the use of tokens and sign-ins, separately from the requests, which neither wait for it nor fail with it."""

import logging
import threading

from persistence.accounts.sign_ins import note_sight
from persistence.database import Database
from persistence.errors import DatabaseError, fault_of
from persistence.tokens import Credentials, note_use, renew_hash

logger = logging.getLogger("relayboard.api")

CLOSE_SECONDS = 5.0
THREAD = "token notes"


class TokenNotes:
    """A thread that stores when tokens and sign-ins were last used, and hashes of tokens with the current secret key.
    If something is lost, with the process or the database, the next use stores it.
    """

    def __init__(self, database: Database, secret_key: str) -> None:
        self._database = database
        self._secret_key = secret_key
        self._changed = threading.Condition()
        self._used: dict[int, str | None] = {}
        self._seen: set[int] = set()
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def add(self, credentials: Credentials, key: str) -> None:
        """Queue the changes of a token or sign-in; returns at once."""
        if not (credentials.last_used_step_due or credentials.is_hash_former):
            return
        with self._changed:
            if credentials.sign_in_id is not None:
                self._seen.add(credentials.sign_in_id)
            if credentials.token_id is not None:
                self._used[credentials.token_id] = key if credentials.is_hash_former else None
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Store what is left, if the database is available within seconds."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._used or self._seen or self._is_closing)
                used, self._used = self._used, {}
                seen, self._seen = self._seen, set()
            if not used and not seen:
                return
            try:
                self._write(used, seen)
            except DatabaseError as error:
                count, fault = len(used) + len(seen), fault_of(error)
                if fault is None:
                    logger.warning("the use of %s tokens could not be stored", count, exc_info=True)
                else:
                    logger.warning("the use of %s tokens could not be stored: %s", count, fault.sentence)

    def _write(self, used: dict[int, str | None], seen: set[int]) -> None:
        with self._database.writing() as tx:
            for sign_in_id in sorted(seen):
                note_sight(tx, sign_in_id)
            for token_id, key in used.items():
                note_use(tx, token_id)
                if key is not None:
                    renew_hash(tx, token_id, key, self._secret_key)
