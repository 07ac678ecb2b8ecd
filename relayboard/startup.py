import contextlib
from collections.abc import Iterator

from persistence.database import Database, open_serving_database
from persistence.migrations import HEAD, check_schema, move_to
from persistence.secrets.encryption import KeyRing
from persistence.secrets.renewal import confirm_secret_key
from persistence.service.diagnosis import is_one_database
from relayboard.base.settings import PREFIX, SettingError, Settings


def migrate_database(settings: Settings, revision: str = HEAD) -> str | None:
    """Bring the configured database to a revision; returns its new revision."""
    with configured_database(settings) as database:
        return move_to(database.engine, revision)


def check_database(settings: Settings) -> None:
    """Raises SchemaOlder, SchemaNewer, SecretKeyChanged if the database was created with another secret key, or
    SettingError if the address of the pooler leads elsewhere or SQLite is to have a standby.
    """
    with configured_database(settings, makes_file=False) as database:
        check_schema(database.engine)
        confirm_secret_key(database)
        if settings.database_read_url and database.sqlite:
            variable = f"{PREFIX}DATABASE_READ_URL"
            raise SettingError(f"{variable} is set, but {PREFIX}DATABASE_URL is not PostgreSQL", variable)
        if settings.database_pooled_url:
            _check_pooler(settings, database)


def _check_pooler(settings: Settings, database: Database) -> None:
    variable = f"{PREFIX}DATABASE_POOLED_URL"
    if database.sqlite:
        raise SettingError(f"{variable} is set, but {PREFIX}DATABASE_URL is not PostgreSQL", variable)
    with contextlib.closing(open_serving_database(settings, pool_size=1)) as pooled:
        if not is_one_database(database, pooled):
            raise SettingError(f"{variable} leads to another database than {PREFIX}DATABASE_URL", variable)


@contextlib.contextmanager
def configured_database(settings: Settings, *, makes_file: bool = True) -> Iterator[Database]:
    """The configured database, in any state."""
    keys = KeyRing.of(settings)
    with contextlib.closing(Database(settings.database_url, keys=keys, makes_file=makes_file)) as database:
        yield database
