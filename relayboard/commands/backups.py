"""`relayboard backup`, `restore` and `copy-database`."""

from pathlib import Path

from persistence.backups.copying import copy_database
from persistence.backups.writing import restore_backup, write_backup
from persistence.media.store import open_store
from relayboard.base.settings import load_settings
from relayboard.commands.output import opened_database, print_json
from relayboard.commands.progress import show_progress
from relayboard.usage.parts import Options


def run_backup(options: Options) -> None:
    settings = load_settings(makes_secret_key=False)
    with opened_database(settings) as database, show_progress("Writing the backup"):
        made = write_backup(database, open_store(settings), options.output)
    manifest = made.manifest
    print_json(
        {
            "file": str(options.output),
            "bytes": made.bytes,
            "version": manifest.version,
            "revision": manifest.revision,
            "tables": len(manifest.tables),
            "rows": manifest.rows,
            "files": manifest.media_files,
            "file_bytes": manifest.media_bytes,
            "seconds": round(made.seconds, 2),
        }
    )


def run_restore(options: Options) -> None:
    settings = load_settings(makes_secret_key=False)
    with show_progress("Restoring"):
        manifest = restore_backup(Path(options.backup), settings)
    print_json(
        {
            "version": manifest.version,
            "revision": manifest.revision,
            "created_on": manifest.created_on,
            "rows": manifest.rows,
            "files": manifest.media_files,
        }
    )


def run_copy(options: Options) -> None:
    with show_progress("Copying and comparing tables"):
        done = copy_database(options.source, options.target)
    print_json({"tables": done.tables, "rows": done.rows, "copied_now": done.copied, "seconds": round(done.seconds, 2)})
