"""`relayboard export`."""

from datetime import datetime

from persistence.exports.exports import check_filters
from persistence.exports.kinds import CSV, FILTERS, JSONL, XLSX, SheetFull
from persistence.exports.writing import ArchivesChanged, write_records
from persistence.media.store import open_store
from relayboard.base.private_files import writing_private
from relayboard.base.settings import load_settings
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.progress import show_progress
from relayboard.usage.parts import Options


def run_export(options: Options) -> None:
    form = options.output.suffix.lower().lstrip(".")
    if form not in (CSV, XLSX, JSONL):
        raise CommandFailed(f"{options.output} must end with .xlsx, .csv or .jsonl")
    given = {name: getattr(options, name) for name in FILTERS}
    wanted = {name: _text(value) for name, value in given.items() if value is not None}
    settings = load_settings()
    with opened_database(settings) as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
            filters = check_filters(tx, workspace, options.type, wanted)
        try:
            with writing_private(options.output) as file, show_progress("Exporting") as note:
                store = open_store(settings)
                count = write_records(database, store, workspace, options.type, form, filters, file, note)
        except ArchivesChanged as error:
            raise CommandFailed("archives were merged meanwhile: run the command again") from error
        except OSError as error:
            raise CommandFailed(f"{options.output} cannot be written: {error.strerror}") from error
        except SheetFull as error:
            raise CommandFailed(str(error)) from error
    print_json({"file": str(options.output), "records": count})


def _text(value: str | datetime) -> str:
    return value.isoformat() if isinstance(value, datetime) else value
