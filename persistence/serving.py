"""The database as API processes and workers use it."""

from persistence.database import Database
from persistence.secrets.encryption import KeyRing
from relayboard.base.settings import Settings


def open_serving_database(settings: Settings, pool_size: int) -> Database:
    """Leads through the pooler if there is one. Commands and migrations need sessions of their own, and do not; neither
    does what a worker does on a patient engine.
    """
    url = settings.database_pooled_url or settings.database_url
    is_pooled = bool(settings.database_pooled_url)
    return Database(
        url,
        pool_size=pool_size,
        keys=KeyRing.of(settings),
        is_behind_pooler=is_pooled,
        direct_url=settings.database_url,
        makes_file=False,
    )
