"""`relayboard contact imports|cancel-import|take-back-import`."""

from typing import Any

import orjson

from persistence.data_jobs import take
from persistence.imports.contact_imports import CONTACT_IMPORTS, cancel_import
from persistence.lists import ListQuery, fetch_list, read_record
from persistence.media.opening import open_store
from persistence.performing import Performer
from persistence.tables.data_jobs import contact_import
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    CommandFailed,
    opened_database,
    print_json,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.progress import show_progress
from relayboard.usage.parts import Options, confirm


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), CONTACT_IMPORTS, None, options.limit)
    print_json([_shown(record) for record in page.records])


def run_cancel(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        number = cancel_import(tx, workspace, options.uuid)
        record = read_record(tx, CONTACT_IMPORTS, workspace, number)
    print_json(_shown(record))


def run_take_back(options: Options) -> None:
    from persistence.imports.taking_back import count_taking_back, take_back  # noqa: PLC0415  # it loads deletions

    if options.dry_run or not options.yes:
        with reading_in(options) as (tx, workspace):
            counts = count_taking_back(tx, workspace, options.uuid)[1]
        if options.dry_run:
            print_json(counts)
            return
        confirm("{removed} contacts are deleted, {restored} get back what they had, {kept} are kept".format(**counts))
    settings = load_settings()
    with opened_database(settings) as database:
        with database.writing() as tx:
            workspace = workspace_named(tx, options.workspace)
            number = take_back(tx, workspace, options.uuid)
            held = take(tx, contact_import, workspace.id, number)
        if held is not None:
            with show_progress("Taking back") as note:
                Performer(database, open_store(settings), note=note).perform(held)
        with database.reading() as tx:
            shown = _shown(read_record(tx, CONTACT_IMPORTS, workspace, number))
    if shown["error"] is not None:
        raise CommandFailed(shown["error"])
    print_json(shown)


def _shown(record: str) -> dict[str, Any]:
    """An import without the place of its file."""
    document: dict[str, Any] = orjson.loads(record)
    del document["rejects_url"]
    return document
