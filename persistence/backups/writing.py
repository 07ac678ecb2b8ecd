"""Creates a backup while the service is running, and restores one into a database that holds nothing that must not be
lost.
"""

import contextlib
import fcntl
import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Table, inspect, select, text

from persistence.backups import files
from persistence.backups.files import (
    BackupReader,
    BackupWriter,
    Manifest,
    MediaPasses,
    check_store_empty,
    put_back,
    reading_backup,
    take_away,
    writing_backup,
)
from persistence.database import Database, Transaction, utc_now
from persistence.errors import BackupError
from persistence.media.store import MediaStore, open_store
from persistence.migrations import check_schema, current_revision, downgrade, list_revisions, newest_revision, upgrade
from persistence.secrets.encryption import KeyRing, Sealed, SecretDamaged, SecretKeyChanged, sealed_text
from persistence.service.diagnosis import list_heartbeats
from persistence.sql.columns import time_text
from persistence.sql.engines import create_patient_engine, database_name
from persistence.tables.complete import metadata
from persistence.tables.service import schema_note, secret_key_check, worker_heartbeat
from relayboard.base.settings import Settings, is_postgres, sqlite_file
from relayboard.base.version import program_version

MARK = ".restoring"
"""A file in the media store while a backup is put back: which one. If the command is killed, the same backup may be
restored again."""

OWN = (schema_note, secret_key_check, worker_heartbeat)
"""What a service writes by starting, before anybody has used it."""


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


def check_unused(connection: Connection, name: str) -> None:
    """Raises BackupError if the database was used, or a worker is using it."""
    there = set(inspect(connection).get_table_names())
    used = next((table for table in _used_tables(connection, there) if table not in OWN), None)
    if used is not None:
        raise BackupError(f"the database {name} is not empty: there are rows in {used.name}. Choose an empty one")
    check_no_worker(connection, name)


def check_no_worker(connection: Connection, name: str) -> None:
    """Raises BackupError if there is a heartbeat of a worker in this database."""
    if worker_heartbeat.name in inspect(connection).get_table_names():
        alive = [each for each in list_heartbeats(Transaction(connection, utc_now)) if each.is_alive]
        if alive:
            raise BackupError(f"a worker on {alive[0].host} is working with {name}: stop the service there first")


def clear_own_rows(connection: Connection) -> None:
    """Deletes the rows that a service writes when it starts."""
    for table in OWN:
        connection.execute(table.delete())


def _copy_database(database: Database, writer: BackupWriter) -> None:
    if database.sqlite:
        files.copy_out_sqlite(Path(database.engine.url.database or ""), Path(f"{writer.draft}.db"), writer)
        return
    engine = create_patient_engine(database.engine)
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    try:
        with engine.connect().execution_options(**options) as connection, connection.begin():
            files.copy_out(connection, writer)
    finally:
        engine.dispose()


def _read_key_check(database: Database) -> str | None:
    with database.reading() as tx:
        return tx.execute(select(sealed_text(secret_key_check.c.word))).scalar()


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
        files.copy_in_sqlite(reader, draft)
        put_back(reader, store)
        files.put_in_place(draft, target)
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
            files.copy_in(connection, reader)


def _used_tables(connection: Connection, there: set[str]) -> Iterator[Table]:
    for table in metadata.sorted_tables:
        if table.name in there and connection.exec_driver_sql(f'SELECT 1 FROM "{table.name}" LIMIT 1').first():
            yield table
