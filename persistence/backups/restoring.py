"""Restores a backup into an empty database and folder: everything is checked first, and the database is written
last, in one step."""

import contextlib
import fcntl
import hashlib
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import inspect, text

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
from relayboard.base.settings import Settings, is_postgres, sqlite_file

MARK = ".restoring"
"""A file in the media store while a backup is put back: which one. If the command is killed, the same backup may be
restored again."""


def restore_backup(path: Path, settings: Settings) -> Manifest:
    """Puts a backup into the database and the media folder of the settings. If it raises, nothing is changed; if it is
    killed, it can be run again. Raises BackupError. The schema is that of the backup: a newer program must migrate it.
    """
    store = open_store(settings)
    with reading_backup(path) as reader, _alone(path):
        _check_fits(reader.manifest, settings)
        reader.check()
        mark = hashlib.sha256(reader.manifest.to_json()).hexdigest().encode()
        is_begun = _read_mark(store) == mark
        if not (is_begun and _is_restored(settings, reader.manifest)):
            _check_unused(settings)
            if not is_begun:
                check_store_empty(store)
                with store.writing(MARK) as file:
                    file.write(mark)
            try:
                if is_postgres(settings.database_url):
                    _restore_postgres(reader, settings, store)
                else:
                    _restore_sqlite(reader, settings, store)
            except BaseException:
                take_away(store)
                store.remove(MARK)
                raise
        store.remove(MARK)
        if is_postgres(settings.database_url):
            with contextlib.closing(Database(settings.database_url)) as database:
                engine = create_patient_engine(database.engine)
                with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.execute(text("ANALYZE"))
        return reader.manifest


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Raises BackupError while another process restores the same backup: it would take for its own what the other one
    has begun."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"{path} is being restored by another process: wait for it") from error
        except OSError:  # a file system without locks
            yield
            return
        yield


def _read_mark(store: MediaStore) -> bytes | None:
    found = store.open(MARK)
    if found is None:
        return None
    with found.stream:
        return found.stream.read()


def _check_unused(settings: Settings) -> None:
    """Raises BackupError if the database was used, or is one in memory."""
    file = sqlite_file(settings.database_url)
    if file is None and not is_postgres(settings.database_url):
        raise BackupError("RELAYBOARD_DATABASE_URL names a database in memory: restore into a file")
    if file is None or (file.exists() and file.stat().st_size):
        with contextlib.closing(Database(settings.database_url)) as database, database.engine.connect() as connection:
            check_unused(connection, database_name(database.engine) if file is None else str(file))


def _is_restored(settings: Settings, manifest: Manifest) -> bool:
    """Whether a command that was killed had come to its end: the database is written in one step."""
    file = sqlite_file(settings.database_url)
    if file is not None and not file.exists():
        return False
    with contextlib.closing(Database(settings.database_url)) as database, database.engine.connect() as connection:
        there = set(inspect(connection).get_table_names())
        return all(
            each.name in there
            and connection.exec_driver_sql(f'SELECT count(*) FROM "{each.name}"').scalar_one() == each.rows
            for each in manifest.tables
        )


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
    assert target is not None
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
        put_back(reader, store)
        if current_revision(database.engine) not in (None, reader.manifest.revision):
            downgrade(database.engine)
        upgrade(database.engine, reader.manifest.revision)
        with create_patient_engine(database.engine).begin() as connection:
            check_unused(connection, name)
            clear_own_rows(connection)
            postgres.copy_in(connection, reader)
