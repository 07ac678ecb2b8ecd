"""Deleting what nobody looks at any more: records of deliveries, resthook events, fires, half uploads, and counts."""

from collections.abc import Callable

from persistence.campaign_fires import trim_fires
from persistence.delivery_records import trim_deliveries
from persistence.media import settle_received
from persistence.media_store import MediaStore
from persistence.registration_limits import forget_windows
from persistence.resthook_events import trim_resthook_events
from worker.services import Services

BATCH = 1000


def begin_trimming(services: Services) -> Callable[[], bool]:
    """The step that deletes one batch of old records of each kind."""

    store = MediaStore(services.settings.media_url)

    def step() -> bool:
        settle_received(services.database, store)
        with services.database.writing() as tx:
            trimmed = (trim_deliveries(tx, BATCH), trim_resthook_events(tx, BATCH), trim_fires(tx, BATCH))
            forget_windows(tx, tx.now - services.settings.registration_limit.period)
            return BATCH in trimmed

    return step
