"""`relayboard workspace export|import`."""

from persistence.media.store import open_store
from persistence.secrets.encryption import KeyRing
from persistence.workspace_files.reading import read_workspace
from persistence.workspace_files.writing import write_workspace
from relayboard.base.settings import load_settings
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.progress import show_progress
from relayboard.commands.users import tell_of_ended
from relayboard.usage.parts import Options


def run_export(options: Options) -> None:
    settings = load_settings(makes_secret_key=False)
    keys, path = KeyRing.of(settings), options.output
    with opened_database(settings) as database:
        with database.reading() as tx:
            owner = workspace_named(tx, options.workspace)
        try:
            with show_progress("Writing the workspace"):
                counts = write_workspace(database, keys, open_store(settings), owner, path, settings.base_url)
        except OSError as error:
            raise CommandFailed(f"{path} cannot be written: {error.strerror}") from error
    print_json({"file": str(path), "workspace": owner.uuid, "rows": sum(counts.values()), "tables": counts})


def run_import(options: Options) -> None:
    settings = load_settings(makes_secret_key=False)
    with opened_database(settings) as database:
        database.witness = None  # what comes in was told where it happened
        try:
            with show_progress("Reading the workspace"):
                uuid, counts, ended = read_workspace(database, open_store(settings), options.file, settings.base_url)
        except OSError as error:
            raise CommandFailed(f"{options.file} cannot be read: {error.strerror}") from error
    for email in ended:
        tell_of_ended(email)
    print_json({"workspace": uuid, "rows": sum(counts.values()), "tables": counts})
