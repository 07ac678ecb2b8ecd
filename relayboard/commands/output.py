"""What commands share: JSON on stdout, the migrated database, the workspace option, countries."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any

import orjson
import phonenumbers

from persistence.database import Database, Transaction
from persistence.migrations import check_schema
from persistence.secrets.encryption import KeyRing
from persistence.secrets.renewal import confirm_secret_key
from persistence.sql.columns import is_uuid, time_text
from persistence.workspaces import Workspace, find_workspace_by_uuid
from relayboard.base.settings import Settings, load_settings
from relayboard.failures import CommandFailed as CommandFailed


def print_json(value: object) -> None:
    """One JSON document on a line of its own."""
    # The keys of a row are names of columns, a subclass of str.
    option = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
    sys.stdout.write(orjson.dumps(value, default=_plain, option=option).decode() + "\n")
    sys.stdout.flush()


def print_record(record: str) -> None:
    """A record from persistence, which is JSON already."""
    print_json(orjson.loads(record))


def print_records(records: Iterable[str]) -> None:
    print_json([orjson.loads(record) for record in records])


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError


@contextmanager
def opened_database(settings: Settings | None = None, *, confirms_key: bool = True) -> Iterator[Database]:
    """The configured database, with the schema of this program. Raises SchemaOlder, SchemaNewer, SecretKeyChanged."""
    settings = settings or load_settings()
    database = Database(settings.database_url, keys=KeyRing.of(settings))
    try:
        check_schema(database.engine)
        if confirms_key:
            confirm_secret_key(database)
        yield database
    finally:
        database.close()


@contextmanager
def reading_in(options: argparse.Namespace) -> Iterator[tuple[Transaction, Workspace]]:
    """A reading transaction, and the workspace in the options."""
    with opened_database() as database, database.reading() as tx:
        yield tx, workspace_named(tx, options.workspace)


@contextmanager
def writing_in(options: argparse.Namespace) -> Iterator[tuple[Transaction, Workspace]]:
    """A writing transaction, and the workspace in the options."""
    with opened_database() as database, database.writing() as tx:
        yield tx, workspace_named(tx, options.workspace)


def workspace_named(tx: Transaction, uuid: str) -> Workspace:
    """The workspace with this UUID; raises CommandFailed if there is none."""
    workspace = find_workspace_by_uuid(tx, uuid) if is_uuid(uuid) else None
    if workspace is None:
        raise CommandFailed(f"there is no workspace {uuid}")
    return workspace


def read_country(text: str) -> str:
    """Two capital letters, or nothing for an empty string. Raises CommandFailed for an unknown country."""
    country = text.strip().upper()
    if country and country not in phonenumbers.SUPPORTED_REGIONS:
        raise CommandFailed(f"{text} is not a country code of two letters, like RW")
    return country
