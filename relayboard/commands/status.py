"""`relayboard status`: who works here."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from persistence.heartbeats import list_heartbeats
from persistence.migrations import current_revision
from persistence.sql.columns import time_text
from relayboard.base.version import program_version
from relayboard.commands.output import opened_database, print_json


def register(commands: Any) -> None:
    status = commands.add_parser("status", help="show the workers that are alive")
    status.add_argument("--json", action="store_true", help="as JSON, also on a terminal")
    status.set_defaults(run=run_status)


def run_status(options: argparse.Namespace) -> None:
    with opened_database(confirms_key=False) as database:
        revision = current_revision(database.engine)
        with database.reading() as tx:
            workers = [asdict(each) for each in list_heartbeats(tx)]
    status = {"version": program_version(), "revision": revision, "workers": workers}
    if options.json or not sys.stdout.isatty():
        print_json(status)
    else:
        print_tables(status, Console())


def print_tables(status: Mapping[str, Any], console: Console) -> None:
    console.print(f"Relayboard {status['version']}, schema {status['revision']}")
    workers = Table("host", "pid", "threads", "version", "schema", "started", "seen", "alive", title="Workers")
    for each in status["workers"]:
        alive = "yes" if each["is_alive"] else "[red]no[/red]"
        moments = (time_text(each["started_on"]), time_text(each["seen_on"]))
        texts = (each["host"], each["pid"], each["threads"], each["version"], each["revision"], *moments, alive)
        workers.add_row(*(str(text) for text in texts))
    console.print(workers)
