"""`relayboard trigger create|change|list|archive|restore|delete`."""

from collections.abc import Mapping
from typing import Any

from persistence.errors import InvalidInput, RecordMissing
from persistence.lists import ListQuery, read_list, read_record
from persistence.triggers.records import TRIGGERS
from relayboard.commands.output import CommandFailed, print_json, print_record, print_records, reading_in, writing_in
from relayboard.usage.parts import Options

OPTIONS = {"keywords": "keyword", "groups": "group", "exclude_groups": "exclude_group", "contacts": "contact"} | {
    "scheduled_on": "at"
}
"""By field of the API."""


def run_create(options: Options) -> None:
    _write(options, None, {"type": options.type, **_read_fields(options)})


def run_change(options: Options) -> None:
    given = {name: value for name, value in _read_fields(options).items() if value is not None and value != []}
    if not given:
        raise CommandFailed("say what is to change")
    _write(options, options.trigger, given)


def run_restore(options: Options) -> None:
    _write(options, options.trigger, {"archived": False})


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), TRIGGERS)
    print_records(records)


def run_archive(options: Options) -> None:
    from persistence.triggers.records import archive_trigger  # lists need none of it

    with writing_in(options) as (tx, workspace):
        trigger_id = archive_trigger(tx, workspace.id, options.trigger)
        record = read_record(tx, TRIGGERS, workspace, trigger_id)
    print_record(record)


def run_delete(options: Options) -> None:
    from persistence.triggers.records import delete_trigger  # lists need none of it

    with writing_in(options) as (tx, workspace):
        try:
            delete_trigger(tx, workspace.id, options.trigger)
        except RecordMissing as error:
            raise CommandFailed(f"there is no trigger {options.trigger}") from error
    print_json({"deleted": options.trigger})


def _read_fields(options: Options) -> dict[str, Any]:
    names = ("flow", "keywords", "match", "channel", "groups", "exclude_groups", "contacts", "scheduled_on")
    return {name: getattr(options, OPTIONS.get(name, name)) for name in (*names, "repeat", "days")}


def _write(options: Options, uuid: str | None, given: Mapping[str, Any]) -> None:
    from persistence.triggers.forms import write_trigger  # lists need none of it

    with writing_in(options) as (tx, workspace):
        try:
            trigger_id = write_trigger(tx, workspace, uuid, given)
        except RecordMissing as error:
            raise CommandFailed(f"there is no trigger {uuid}") from error
        except InvalidInput as error:
            raise InvalidInput({OPTIONS.get(name, name): said for name, said in error.errors.items()}) from error
        record = read_record(tx, TRIGGERS, workspace, trigger_id)
    print_record(record)
