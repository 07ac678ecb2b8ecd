"""Handling incoming messages."""

from collections.abc import Callable

from persistence.message_handling import handle_incoming
from worker.services import Services

BATCH = 500


def begin_incoming(services: Services) -> Callable[[], bool]:
    """The step that handles one batch of messages that came in."""

    def step() -> bool:
        with services.database.writing() as tx:
            return handle_incoming(tx, BATCH) == BATCH

    return step
