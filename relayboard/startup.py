import contextlib
from collections.abc import Iterator

from persistence.database import Database
from persistence.migrations import HEAD, check_schema, move_to
from persistence.secrets.encryption import KeyRing
from persistence.secrets.renewal import confirm_secret_key
from relayboard.base.settings import Settings


def migrate_database(settings: Settings, revision: str = HEAD) -> str | None:
    """Bring the configured database to a revision; returns its new revision."""
    with configured_database(settings) as database:
        return move_to(database.engine, revision)


def check_database(settings: Settings) -> None:
    """Raises SchemaOlder, SchemaNewer, or SecretKeyChanged if the database was created with another secret key."""
    with configured_database(settings) as database:
        check_schema(database.engine)
        confirm_secret_key(database)


@contextlib.contextmanager
def configured_database(settings: Settings) -> Iterator[Database]:
    """The configured database, in any state."""
    with contextlib.closing(Database(settings.database_url, keys=KeyRing.of(settings))) as database:
        yield database
