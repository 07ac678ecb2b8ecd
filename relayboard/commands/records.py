"""`relayboard NOUN list|show|create|change|delete`, for records of the kinds in `kinds.py`."""

from typing import Any

import orjson

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.lists import ListQuery, fetch_list, find_named, find_record, read_record
from persistence.sql.columns import is_uuid
from persistence.workspaces.records import Workspace
from relayboard.commands.kinds import KINDS, Kind, Write
from relayboard.commands.output import CommandFailed, print_record, print_records, reading_in, writing_in
from relayboard.commands.printing import print_json
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    kind = KINDS[options.noun]
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), kind.spec, None, options.limit)
    print_records(page.records)


def run_show(options: Options) -> None:
    kind = KINDS[options.noun]
    with reading_in(options) as (tx, workspace):
        key = _key(tx, workspace, options, kind)
        record = find_record(ListQuery(tx, workspace), kind.spec, kind.key, key)
    if record is None:
        raise _missing(options, kind)
    shown: dict[str, Any] = orjson.loads(record)
    print_json(shown)


def run_create(options: Options) -> None:
    kind = KINDS[options.noun]
    _write(options, kind, kind.create)


def run_change(options: Options) -> None:
    kind = KINDS[options.noun]
    _write(options, kind, kind.change, is_there=True)


def _write(options: Options, kind: Kind, write: Write | None, *, is_there: bool = False) -> None:
    assert write is not None
    with writing_in(options) as (tx, workspace):
        given = {kind.key: _key(tx, workspace, options, kind)} if is_there else {}
        try:
            record = read_record(tx, kind.spec, workspace, write(tx, workspace, Options(**vars(options) | given)))
        except RecordMissing as error:
            raise _missing(options, kind) from error
    print_record(record)


def run_delete(options: Options) -> None:
    kind = KINDS[options.noun]
    delete = kind.delete
    assert delete is not None
    with writing_in(options) as (tx, workspace):
        key = _key(tx, workspace, options, kind)
        try:
            delete(tx, workspace, key)
        except RecordMissing as error:
            raise _missing(options, kind) from error
    print_json({"deleted": key})


def _key(tx: Transaction, workspace: Workspace, options: Options, kind: Kind) -> str:
    """The key of the record of the options, which may be named by its name if it has one."""
    given: str = getattr(options, kind.key)
    if is_uuid(given) or "name_key" not in kind.spec.table.c:
        return given
    if kind.key != "uuid" and find_record(ListQuery(tx, workspace), kind.spec, kind.key, given) is not None:
        return given
    return find_named(ListQuery(tx, workspace), kind.spec, given, kind.key) or given


def _missing(options: Options, kind: Kind) -> CommandFailed:
    return CommandFailed(f"there is no {options.noun} {getattr(options, kind.key)}")
