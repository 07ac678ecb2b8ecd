"""Deleting what nobody looks at any more, each kind of record when it has reached its age."""

from collections.abc import Callable
from functools import partial

from persistence.campaign_fires import trim_fires
from persistence.channel_alarms import trim_alarms
from persistence.database import Transaction
from persistence.delivery_records import trim_deliveries
from persistence.forgotten_reports import trim_forgotten
from persistence.idempotency import trim_answers
from persistence.media import settle_received
from persistence.media_store import MediaStore
from persistence.phone_registrations import trim_registrations
from persistence.phone_sync import trim_syncs
from persistence.registration_limits import forget_windows
from persistence.resthook_events import trim_resthook_events
from worker.services import Services

BATCH = 1000

Trimmer = Callable[[Transaction, int], int]
TRIMMERS: tuple[Trimmer, ...] = (
    trim_deliveries,
    trim_resthook_events,
    trim_fires,
    trim_answers,
    trim_syncs,
    trim_alarms,
    trim_registrations,
    trim_forgotten,
)
"""Each deletes at most so many records that are too old, and tells how many it deleted."""


def begin_trimming(services: Services) -> Callable[[], bool]:
    """The step that deletes one batch of old records of each kind, and what broke off while it was uploaded."""

    store = MediaStore(services.settings.media_url)

    def step() -> bool:
        settle_received(services.database, store)
        trimmed = [services.database.write(partial(_run, trim)) for trim in TRIMMERS]
        with services.database.writing() as tx:
            forget_windows(tx, tx.now - services.settings.registration_limit.period)
        return max(trimmed) >= BATCH

    return step


def _run(trim: Trimmer, tx: Transaction) -> int:
    return trim(tx, BATCH)
