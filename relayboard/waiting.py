"""A worker waits for its database and its queue, and says once for what."""

import logging
import time
from collections.abc import Collection

from persistence.errors import DatabaseError
from relayboard.base.settings import Settings
from relayboard.failures import describe_failure
from relayboard.startup import check_secret_key
from worker.app import check_queue
from worker.errors import QueueError

logger = logging.getLogger("relayboard.processes")

LOOK_SECONDS = 0.2
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0


def wait_until_usable(settings: Settings, signals: Collection[int], patience_seconds: float | None) -> None:
    """Return when the database and the queue can be used, or a signal has come.

    Raises what is wrong when that is still so after `patience_seconds`; None waits forever.
    """
    began = time.monotonic()
    pause, said = FIRST_PAUSE_SECONDS, ""
    while not signals:
        try:
            check_secret_key(settings)
            check_queue(settings.queue_url)
            return
        except (DatabaseError, QueueError) as error:
            if patience_seconds is not None and time.monotonic() - began >= patience_seconds:
                raise
            reason = describe_failure(error)
        if reason != said and patience_seconds is None:
            logger.warning("waiting: %s", reason)
            said = reason
        _pause(pause, signals)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _pause(seconds: float, signals: Collection[int]) -> None:
    end = time.monotonic() + seconds
    while not signals and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
