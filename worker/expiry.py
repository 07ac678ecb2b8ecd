"""Failing outgoing messages that nobody could send for a week."""

from collections.abc import Callable

from persistence.message_expiry import fail_old_messages
from worker.services import Services

BATCH = 1000


def begin_expiry(services: Services) -> Callable[[], bool]:
    """The step that fails one batch of messages that are too old."""

    def step() -> bool:
        with services.database.writing() as tx:
            return fail_old_messages(tx, BATCH) == BATCH

    return step
