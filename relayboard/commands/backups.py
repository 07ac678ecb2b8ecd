"""`relayboard backup`, `restore` and `copy-database`."""

import argparse
from pathlib import Path
from typing import Any

from persistence.backups.copying import copy_database
from persistence.backups.restoring import restore_backup
from persistence.backups.writing import write_backup
from persistence.media.store import MediaStore
from relayboard.base.settings import load_settings
from relayboard.commands.output import opened_database, print_json


def register(commands: Any) -> None:
    backup = commands.add_parser(
        "backup", help="write the database and all files into one file, while the service runs"
    )
    backup.add_argument("output", metavar="FILE", help="the file to make, like relayboard-2026-03-02.zip")
    backup.set_defaults(run=run_backup)
    restore = commands.add_parser("restore", help="bring a backup into an empty database and an empty media folder")
    restore.add_argument("backup", metavar="FILE", help="what `relayboard backup` has written")
    restore.set_defaults(run=run_restore)
    copy = commands.add_parser("copy-database", help="move an installation from SQLite to PostgreSQL")
    copy.add_argument("--from", dest="source", required=True, metavar="URL", help="like sqlite:///var/relayboard.db")
    copy.add_argument(
        "--to", dest="target", required=True, metavar="URL", help="an empty one: postgresql://user:password@host/name"
    )
    copy.set_defaults(run=run_copy)


def run_backup(options: argparse.Namespace) -> None:
    settings = load_settings(makes_secret_key=False)
    with opened_database(settings) as database:
        made = write_backup(database, MediaStore(settings.media_url), Path(options.output))
    manifest = made.manifest
    print_json(
        {
            "file": options.output,
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


def run_restore(options: argparse.Namespace) -> None:
    manifest = restore_backup(Path(options.backup), load_settings(makes_secret_key=False))
    print_json(
        {
            "version": manifest.version,
            "revision": manifest.revision,
            "created_on": manifest.created_on,
            "rows": manifest.rows,
            "files": manifest.media_files,
        }
    )


def run_copy(options: argparse.Namespace) -> None:
    done = copy_database(options.source, options.target)
    print_json({"tables": done.tables, "rows": done.rows, "copied_now": done.copied, "seconds": round(done.seconds, 2)})
