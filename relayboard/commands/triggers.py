"""`relayboard trigger create|list|archive`."""

from persistence.lists import ListQuery, read_list, read_record
from persistence.triggers.records import TRIGGERS
from relayboard.commands.output import print_record, print_records, reading_in, writing_in
from relayboard.usage.parts import Options


def run_create(options: Options) -> None:
    from persistence.triggers.records import create_trigger  # see above
    from persistence.triggers.schedules import TriggerForm, read_trigger_form  # only it needs schedules

    form = TriggerForm(
        type=options.type,
        flow=options.flow,
        keywords=options.keyword,
        match=options.match,
        channel=options.channel,
        groups=options.group,
        excluded_groups=options.exclude_group,
        contacts=options.contact,
        at=options.at,
        repeat=options.repeat,
        days=options.days,
    )
    with writing_in(options) as (tx, workspace):
        trigger_id = create_trigger(tx, workspace.id, read_trigger_form(tx, workspace, form))
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
