"""What commands share: JSON on stdout, the migrated database, the workspace option."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from persistence.audit import BY_COMMAND, Actor, Witness
from persistence.database import Database, Transaction
from persistence.migrations import check_schema
from persistence.secrets.encryption import KeyRing
from persistence.secrets.renewal import confirm_secret_key
from persistence.sql.columns import is_uuid
from persistence.workspaces.records import Workspace, find_workspace_by_uuid, list_workspaces
from relayboard.base.settings import Settings, load_settings
from relayboard.commands.printing import print_json as print_json
from relayboard.commands.printing import print_record as print_record
from relayboard.commands.printing import print_records as print_records
from relayboard.refusal import CommandFailed as CommandFailed
from relayboard.usage.parts import Options


@contextmanager
def opened_database(settings: Settings | None = None, *, confirms_key: bool = True) -> Iterator[Database]:
    """The configured database, with the schema of this program. Raises SchemaOlder, SchemaNewer, SecretKeyChanged."""
    settings = settings or load_settings()
    database = Database(settings.database_url, keys=KeyRing.of(settings))
    database.witness = Witness(Actor(BY_COMMAND, command=_command()))
    try:
        check_schema(database.engine)
        if confirms_key:
            confirm_secret_key(database)
        yield database
    finally:
        database.close()


def _command() -> str:
    """The words of the command that runs, such as `token create`."""
    context = click.get_current_context(silent=True)
    return "" if context is None else context.command_path.partition(" ")[2]


@contextmanager
def reading_in(options: Options) -> Iterator[tuple[Transaction, Workspace]]:
    """A reading transaction, and the workspace in the options."""
    with opened_database() as database, database.reading() as tx:
        yield tx, workspace_named(tx, options.workspace)


@contextmanager
def writing_in(options: Options) -> Iterator[tuple[Transaction, Workspace]]:
    """A writing transaction, and the workspace in the options."""
    with opened_database() as database, database.writing() as tx:
        yield tx, workspace_named(tx, options.workspace)


def workspace_named(tx: Transaction, text: str) -> Workspace:
    """The workspace with this UUID or name; raises CommandFailed if there is none, or if several have the name."""
    if is_uuid(text):
        workspace = find_workspace_by_uuid(tx, text)
        found = [] if workspace is None else [workspace]
    else:
        found = [each for each in list_workspaces(tx) if each.name.casefold() == text.strip().casefold()]
    if not found:
        raise CommandFailed(f"there is no workspace {text}")
    if len(found) > 1:
        uuids = ", ".join(each.uuid for each in found)
        raise CommandFailed(f'several have the name "{text}", say which workspace by its UUID: {uuids}')
    return found[0]
