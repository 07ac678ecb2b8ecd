"""Restores a backup into an empty database and folder: everything is checked first, and the database is written
last, in one step."""

import contextlib
from pathlib import Path

from sqlalchemy import text

from persistence.backups import postgres, sqlite
from persistence.backups.emptiness import check_unused, clear_own_rows
from persistence.backups.errors import BackupError
from persistence.backups.files import BackupReader, reading_backup
from persistence.backups.manifest import Manifest
from persistence.backups.media import check_store_empty, put_back, take_away
from persistence.database import Database
from persistence.media.opening import open_store
from persistence.media.store import MediaStore
from persistence.migrations import current_revision, downgrade, list_revisions, newest_revision, upgrade
from persistence.secrets.encrypted_columns import Sealed
from persistence.secrets.encryption import KeyRing, SecretDamaged, SecretKeyChanged
from persistence.sql.engines import create_patient_engine, database_name
from persistence.tables.service import secret_key_check
from relayboard.base.settings import Settings, sqlite_file


def restore_backup(path: Path, settings: Settings) -> Manifest:
    """Puts a backup into the database and the media folder of the settings. If it raises, nothing is changed. Raises
    BackupError. The schema is that of the backup: a newer program must migrate it.
    """
    store = open_store(settings)
    with reading_backup(path) as reader:
        _check_fits(reader.manifest, settings)
        reader.check()
        check_store_empty(store)
        try:
            if settings.database_url.startswith("sqlite"):
                _restore_sqlite(reader, settings, store)
            else:
                _restore_postgres(reader, settings, store)
        except BaseException:
            take_away(store)
            raise
        return reader.manifest


def _check_fits(manifest: Manifest, settings: Settings) -> None:
    if manifest.revision not in list_revisions():
        raise BackupError(
            f"the backup is of schema {manifest.revision} (version {manifest.version}), this program knows only "
            f"{newest_revision()}: restore it with a version that is not older"
        )
    kind = "sqlite" if settings.database_url.startswith("sqlite") else "postgresql"
    if manifest.database != kind:
        raise BackupError(
            f"the backup is of {manifest.database}, RELAYBOARD_DATABASE_URL names {kind}: restore it into "
            f"{manifest.database}; `relayboard copy-database` moves from SQLite to PostgreSQL afterwards"
        )
    try:
        if manifest.key_check is not None:
            KeyRing.of(settings).open(manifest.key_check, _place_of_word())
    except (SecretKeyChanged, SecretDamaged) as error:
        raise BackupError(
            "the backup was made under another RELAYBOARD_SECRET_KEY: set that key (or put the secret.key of the "
            "former installation in its place) and restore again"
        ) from error


def _place_of_word() -> str:
    kind = secret_key_check.c.word.type
    assert isinstance(kind, Sealed)
    return kind.place


def _restore_sqlite(reader: BackupReader, settings: Settings, store: MediaStore) -> None:
    target = sqlite_file(settings.database_url)
    if target is None:
        raise BackupError("RELAYBOARD_DATABASE_URL names a database in memory: restore into a file")
    if target.exists() and target.stat().st_size:
        with contextlib.closing(Database(settings.database_url)) as database, database.engine.connect() as connection:
            check_unused(connection, str(target))
    draft = target.with_name(f"{target.name}.restoring")
    try:
        sqlite.copy_in(reader, draft)
        put_back(reader, store)
        sqlite.put_in_place(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _restore_postgres(reader: BackupReader, settings: Settings, store: MediaStore) -> None:
    with contextlib.closing(Database(settings.database_url)) as database:
        name = database_name(database.engine)
        with database.engine.connect() as connection:
            check_unused(connection, name)
        put_back(reader, store)
        if current_revision(database.engine) not in (None, reader.manifest.revision):
            downgrade(database.engine)
        upgrade(database.engine, reader.manifest.revision)
        engine = create_patient_engine(database.engine)
        with engine.begin() as connection:
            check_unused(connection, name)
            clear_own_rows(connection)
            postgres.copy_in(connection, reader)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE"))
