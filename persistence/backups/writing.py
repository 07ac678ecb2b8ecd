"""Creates a backup while the service is running."""

import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from persistence.backups import postgres, sqlite
from persistence.backups.errors import BackupError
from persistence.backups.files import BackupWriter, writing_backup
from persistence.backups.manifest import Manifest
from persistence.backups.media import MediaPasses
from persistence.database import Database
from persistence.media.store import MediaStore
from persistence.migrations import check_schema, current_revision, newest_revision
from persistence.secrets.encrypted_columns import sealed_text
from persistence.sql.columns import time_text
from persistence.sql.engines import create_patient_engine
from persistence.tables.service import secret_key_check
from relayboard.base.version import program_version


@dataclass(frozen=True, slots=True)
class Backup:
    """What was written."""

    manifest: Manifest
    bytes: int
    seconds: float


def write_backup(database: Database, store: MediaStore, path: Path) -> Backup:
    """One file with all of an installation but its secret key. Raises BackupError."""
    check_schema(database.engine)
    revision = current_revision(database.engine)
    if revision != newest_revision():
        raise BackupError(
            f"the database is at schema {revision}, of which this program knows only {newest_revision()}: "
            "make the backup with the newer version"
        )
    began = time.monotonic()
    manifest = Manifest(
        program_version(),
        revision,
        database.engine.dialect.name,
        time_text(database.clock()),
        _read_key_check(database),
    )
    with writing_backup(path, manifest) as writer:
        media = MediaPasses(store, writer)
        media.take_first()
        _copy_database(database, writer)
        media.take_later()
    return Backup(manifest, path.stat().st_size, time.monotonic() - began)


def _copy_database(database: Database, writer: BackupWriter) -> None:
    if database.sqlite:
        sqlite.copy_out(Path(database.engine.url.database or ""), Path(f"{writer.draft}.db"), writer)
        return
    engine = create_patient_engine(database.engine)
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    try:
        with engine.connect().execution_options(**options) as connection, connection.begin():
            postgres.copy_out(connection, writer)
    finally:
        engine.dispose()


def _read_key_check(database: Database) -> str | None:
    with database.reading() as tx:
        return tx.execute(select(sealed_text(secret_key_check.c.word))).scalar()
