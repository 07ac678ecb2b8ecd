"""`relayboard status`: workers and waiting work."""

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from persistence.migrations import revision_on
from persistence.service.backlog import MOST, Backlog, Waiting, read_backlog
from persistence.service.diagnosis import Heartbeat, list_heartbeats
from persistence.sql.columns import time_text
from relayboard.base.version import program_version
from relayboard.commands.output import opened_database, print_json
from relayboard.usage.parts import Options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

TIMEOUT_SECONDS = 20.0
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))


def run_status(options: Options) -> None:
    with opened_database(confirms_key=False) as database, database.reading_snapshot(TIMEOUT_SECONDS) as tx:
        revision, workers, backlog = revision_on(tx.connection), list_heartbeats(tx), read_backlog(tx)
    if options.json or not sys.stdout.isatty():
        print_json(as_json(revision, workers, backlog))
    else:
        from rich.console import Console  # for people only

        show(revision, workers, backlog, Console())


def as_json(revision: str | None, workers: list[Heartbeat], backlog: Backlog) -> dict[str, Any]:
    return {
        "version": program_version(),
        "revision": revision,
        "workers": [asdict(each) for each in workers],
        "waiting": {kind: asdict(waiting) for kind, waiting in backlog.kinds.items()},
        "channels": [{"uuid": each.uuid, "type": each.type, **asdict(each.waiting)} for each in backlog.channels],
        "contacts_waiting": backlog.contacts_waiting,
        "expired_leases": dict(backlog.expired_leases),
        "phones": backlog.phones,
        "silent_phones": backlog.silent_phones,
    }


def show(revision: str | None, workers: list[Heartbeat], backlog: Backlog, console: "Console") -> None:
    """Tables for people."""
    console.print(f"Relayboard {program_version()}, schema {revision}")
    console.print(worker_table(workers))
    console.print(waiting_table("Waiting", "job", backlog.kinds))
    if backlog.channels:
        queues = {f"{each.uuid} ({each.type})": each.waiting for each in backlog.channels}
        console.print(waiting_table("Messages to send", "channel", queues))
    left = {kind: count for kind, count in backlog.expired_leases.items() if count}
    console.print(f"Contacts that wait for an answer to be worked out: {backlog.contacts_waiting}")
    console.print(f"Phones: {backlog.phones}, silent for 30 minutes or more: {backlog.silent_phones}")
    if left:
        console.print("Work that somebody left lying: " + ", ".join(f"{kind} {count}" for kind, count in left.items()))


def worker_table(workers: list[Heartbeat]) -> "Table":
    from rich.table import Table  # see above

    table = Table("host", "pid", "threads", "version", "schema", "started", "seen", "alive", title="Workers")
    for each in workers:
        alive = "yes" if each.is_alive else "[red]no[/red]"
        moments = (time_text(each.started_on), time_text(each.seen_on))
        texts = (each.host, each.pid, each.threads, each.version, each.revision, *moments, alive)
        table.add_row(*(str(text) for text in texts))
    return table


def waiting_table(title: str, column: str, waiting: Mapping[str, Waiting]) -> "Table":
    from rich.table import Table  # see above

    table = Table(column, title=title)
    table.add_column("number", justify="right")
    table.add_column("oldest", justify="right")
    for name, each in waiting.items():
        number = f"{each.count} or more" if each.count >= MOST else str(each.count)
        table.add_row(name, number, duration_text(each.oldest_seconds) if each.count else "")
    return table


def duration_text(seconds: float) -> str:
    """A duration in the largest unit that it reaches: 90 seconds are 1 min."""
    for name, length in UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {name}"
    return f"{int(seconds)} s"
