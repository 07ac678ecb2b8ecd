"""Deleting records of deliveries and resthook events that nobody looks at any more."""

from collections.abc import Callable

from persistence.delivery_records import trim_deliveries
from persistence.resthook_events import trim_resthook_events
from worker.services import Services

BATCH = 1000


def begin_trimming(services: Services) -> Callable[[], bool]:
    """The step that deletes one batch of old records of each kind."""

    def step() -> bool:
        with services.database.writing() as tx:
            trimmed = (trim_deliveries(tx, BATCH), trim_resthook_events(tx, BATCH))
            return BATCH in trimmed

    return step
