"""A worker waits for its database and its queue, and logs once what it waits for; it ends if the schema is no longer
compatible."""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Collection

from persistence.errors import DatabaseError
from persistence.media.store import StoreUnavailable, open_store
from persistence.migrations import MigrationError, SchemaOlder, check_schema
from relayboard.base.settings import Settings
from relayboard.failures import describe_failure
from relayboard.startup import check_database, configured_database
from worker.app import check_queue
from worker.errors import QueueError

logger = logging.getLogger("relayboard.processes")

LOOK_SECONDS = 0.2
SCHEMA_SECONDS = 5.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0


def wait_until_usable(settings: Settings, signals: Collection[int], patience_seconds: float | None) -> None:
    """Return when the database and the queue can be used, or a signal has arrived. Raises the last error after
    `patience_seconds`; None waits forever. It always waits for a schema that is older than the program, which will be
    upgraded. Raises SchemaNewer at once.
    """
    began = time.monotonic()
    pause, said = FIRST_PAUSE_SECONDS, ""
    while not signals:
        try:
            check_database(settings)
            check_queue(settings.queue_url)
            return
        except (DatabaseError, QueueError) as error:
            if patience_seconds is not None and time.monotonic() - began >= patience_seconds:
                raise
            reason, is_reported = describe_failure(error), patience_seconds is None
        except SchemaOlder as error:
            reason, is_reported = describe_failure(error), True
            began = time.monotonic()
        if reason != said and is_reported:
            logger.warning("waiting: %s", reason)
            said = reason
        _pause(pause, signals)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _pause(seconds: float, signals: Collection[int]) -> None:
    end = time.monotonic() + seconds
    while not signals and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)


def leave_node(settings: Settings) -> None:
    """Leave word in the media store, so that others can tell whether this machine shares theirs."""
    try:
        open_store(settings).leave_node(socket.gethostname())
    except OSError as error:
        logger.warning("the media folder (RELAYBOARD_MEDIA_URL) cannot be written to: %s", error.strerror)
    except StoreUnavailable as error:
        logger.warning("%s; files cannot be stored until it works again", error)


class SchemaWatch:
    """Checks every few seconds whether the schema is still compatible with this program. If not, the process ends as by
    SIGTERM: running work is finished, and the next start waits or refuses.
    """

    def __init__(self, settings: Settings) -> None:
        self.has_ended = False
        self._settings = settings
        self._thread = threading.Thread(target=self._watch, name="schema", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _watch(self) -> None:
        with configured_database(self._settings, makes_file=False) as database:
            while not self.has_ended:
                time.sleep(SCHEMA_SECONDS)
                try:
                    check_schema(database.engine)
                except MigrationError as error:
                    logger.error("the worker ends: %s", error)
                    self.has_ended = True
                except DatabaseError:  # not available now; the work itself waits for it
                    continue
        os.kill(os.getpid(), signal.SIGTERM)
