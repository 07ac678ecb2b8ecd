"""`relayboard trigger create|list|archive`."""

from persistence.errors import InvalidInput
from persistence.lists import ListQuery, read_list, read_record
from persistence.triggers.records import TRIGGERS
from relayboard.commands.output import print_record, print_records, reading_in, writing_in
from relayboard.usage.parts import Options

OPTIONS = {"keywords": "keyword", "groups": "group", "exclude_groups": "exclude_group", "contacts": "contact"} | {
    "scheduled_on": "at"
}
"""By field of the API."""


def run_create(options: Options) -> None:
    from persistence.triggers.forms import write_trigger  # lists need none of it

    names = ("type", "flow", "keywords", "match", "channel", "groups", "exclude_groups", "contacts", "scheduled_on")
    given = {name: getattr(options, OPTIONS.get(name, name)) for name in (*names, "repeat", "days")}
    with writing_in(options) as (tx, workspace):
        try:
            trigger_id = write_trigger(tx, workspace, None, given)
        except InvalidInput as error:
            raise InvalidInput({OPTIONS.get(name, name): said for name, said in error.errors.items()}) from error
        record = read_record(tx, TRIGGERS, workspace, trigger_id)
    print_record(record)


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
