"""Deleting records of deliveries that nobody looks at any more."""

from collections.abc import Callable

from persistence.delivery_records import trim_deliveries
from worker.services import Services

BATCH = 1000


def begin_trimming(services: Services) -> Callable[[], bool]:
    """The step that deletes one batch of old deliveries."""

    def step() -> bool:
        with services.database.writing() as tx:
            return trim_deliveries(tx, BATCH) == BATCH

    return step
