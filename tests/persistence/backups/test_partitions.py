"""Databases whose tables lie in partitions by workspace: backed up, restored, and moved into from SQLite."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, func, inspect, select, text

from persistence.backups.copying import copy_database
from persistence.backups.writing import restore_backup, write_backup
from persistence.database import Database
from persistence.media.store import open_store
from persistence.secrets.encryption import KeyRing
from persistence.tables.complete import metadata
from persistence.workspaces.writes import create_workspace
from relayboard.base.settings import Settings, load_settings
from testbed.servers import postgres_database
from testbed.tokens import SECRET_KEY
from tests.channel_rows import add_contact


@pytest.fixture
def databases(divided_template: str, postgres_url: str) -> Iterator[list[str]]:
    """Two of them."""
    with ExitStack() as closing_all:
        yield [closing_all.enter_context(postgres_database(postgres_url, divided_template)) for _ in range(2)]


def settings_of(url: str, folder: Path) -> Settings:
    given = {"DATABASE_URL": url, "MEDIA_URL": f"file://{folder / 'media'}", "SECRET_KEY": SECRET_KEY}
    return load_settings({f"RELAYBOARD_{name}": value for name, value in given.items()})


def fill(url: str) -> None:
    """Workspaces with contacts in each partition."""
    with closing(Database(url, keys=KeyRing.of(settings_of(url, Path())))) as database:
        for number in range(4):
            with database.writing() as tx:
                workspace = create_workspace(tx, f"Clinic {number}", country="RW", timezone="Africa/Kigali")
            add_contact(database, workspace, f"+25078800000{number}")


def counts(url: str) -> dict[str, int]:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }
    engine.dispose()
    return found


def references(url: str) -> set[tuple[str, str]]:
    engine = create_engine(url)
    found = inspect(engine).get_multi_foreign_keys()
    keys = {(name, str(key["name"])) for name in metadata.tables for key in found[None, name]}
    engine.dispose()
    return keys


def is_divided(url: str) -> bool:
    engine = create_engine(url)
    with engine.connect() as connection:
        sizes = [connection.execute(text(f"select count(*) from contact_part{part}")).scalar_one() for part in (0, 1)]
    engine.dispose()
    return all(sizes)


def test_a_backup_of_one_is_restored_into_another(databases: list[str], tmp_path: Path) -> None:
    source, target = databases
    fill(source)
    settings = settings_of(source, tmp_path / "source")
    with closing(Database(source, keys=KeyRing.of(settings))) as database:
        write_backup(database, open_store(settings), tmp_path / "backup.zip")

    restore_backup(tmp_path / "backup.zip", settings_of(target, tmp_path / "target"))

    assert counts(target) == counts(source)
    assert is_divided(target) and references(target) == references(source)


def test_an_installation_moves_from_sqlite_into_one(
    databases: list[str], sqlite_template: Path, tmp_path: Path
) -> None:
    file = tmp_path / "relayboard.db"
    file.write_bytes(sqlite_template.read_bytes())
    fill(f"sqlite:///{file}")
    before = references(databases[0])

    copy_database(f"sqlite:///{file}", databases[0])

    assert counts(databases[0]) == counts(f"sqlite:///{file}")
    assert is_divided(databases[0]) and references(databases[0]) == before
