"""`relayboard contact imports|cancel-import`."""

from typing import Any

import orjson

from persistence.imports.contact_imports import CONTACT_IMPORTS, cancel_import
from persistence.lists import ListQuery, fetch_list, read_record
from relayboard.commands.output import print_json, reading_in, writing_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), CONTACT_IMPORTS, None, options.limit)
    print_json([_shown(record) for record in page.records])


def run_cancel(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        number = cancel_import(tx, workspace, options.uuid)
        record = read_record(tx, CONTACT_IMPORTS, workspace, number)
    print_json(_shown(record))


def _shown(record: str) -> dict[str, Any]:
    """An import without the place of its file."""
    document: dict[str, Any] = orjson.loads(record)
    del document["rejects_url"]
    return document
