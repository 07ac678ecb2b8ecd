import contextlib

from persistence.database import Database
from persistence.migrations import HEAD, move_to
from persistence.secrets.encryption import KeyRing
from persistence.secrets.renewal import confirm_secret_key
from relayboard.base.settings import Settings


def migrate_database(settings: Settings, revision: str = HEAD) -> str | None:
    """Bring the configured database to a revision; the revision it then has."""
    with contextlib.closing(Database(settings.database_url, keys=KeyRing.of(settings))) as database:
        return move_to(database.engine, revision)


def check_secret_key(settings: Settings) -> None:
    """Raises SecretKeyChanged when the database was begun under another secret key."""
    with contextlib.closing(Database(settings.database_url, keys=KeyRing.of(settings))) as database:
        confirm_secret_key(database)
