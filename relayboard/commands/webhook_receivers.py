"""`relayboard webhook list|set|secret`: receivers of webhooks, with their settings and their health."""

from typing import Any

from persistence.deliveries.receivers import RECEIVERS, rotate_secret, write_receiver
from persistence.lists import ListQuery, fetch_list
from relayboard.commands.output import CommandFailed, print_json, print_record, print_records, reading_in, writing_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), RECEIVERS, None, options.limit)
    print_records(page.records)


def run_set(options: Options) -> None:
    changes = _read_changes(options)
    if not changes:
        raise CommandFailed("nothing to change was given")
    with writing_in(options) as (tx, workspace):
        record = write_receiver(tx, workspace, options.receiver, changes)
    assert record is not None  # only a change of the URL can leave a receiver without one
    print_record(record)


def _read_changes(options: Options) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if options.retry_delay or options.default_retries:
        changes["retry_delays_seconds"] = None if options.default_retries else list(options.retry_delay)
    if options.requests_per_second is not None or options.no_limit:
        changes["requests_per_second"] = options.requests_per_second
    if options.format is not None:
        changes["format"] = options.format
    if options.signature is not None:
        changes["signature"] = options.signature
    if options.on or options.off:
        changes["is_on"] = options.on
    return changes


def run_secret(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        shown = rotate_secret(tx, workspace.id, options.receiver)
    print_json(shown)
