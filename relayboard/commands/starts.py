"""`relayboard start create|list|interrupt`."""

from persistence.flow_starts.flow_starts import STARTS
from persistence.lists import ListQuery, fetch_list, read_record
from persistence.sql.columns import is_uuid
from relayboard.commands.output import CommandFailed, print_record, print_records, reading_in, writing_in
from relayboard.commands.secret_input import read_object
from relayboard.usage.parts import Options

NEWEST = 250


def run_create(options: Options) -> None:
    from persistence.flow_starts.flow_starts import create_shown, read_form  # lists need none of it

    named = {"contacts": options.contact, "groups": options.group, "urns": options.urn, "query": options.query}
    given = {name: values for name, values in named.items() if values}
    if not given:
        raise CommandFailed("give a --contact, a --group, a --urn or a --query")
    if not is_uuid(options.flow):
        raise CommandFailed(f"there is no flow {options.flow}")
    rules = {"restart_participants": not options.only_new, "exclude_active": options.not_busy}
    body = {"flow": options.flow, "params": read_object(options.params, "--params"), **rules, **given}
    with writing_in(options) as (tx, workspace):
        record = create_shown(tx, workspace.id, read_form(tx, workspace, body, None))
    print_record(record)


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), STARTS, None, NEWEST)
    print_records(page.records)


def run_interrupt(options: Options) -> None:
    if not is_uuid(options.start):
        raise CommandFailed(f"there is no start {options.start}")
    from persistence.flow_starts.batches import interrupt_start, interrupt_starts  # lists need none of it

    with writing_in(options) as (tx, workspace):
        start_id = interrupt_start(tx, workspace.id, options.start.lower())
        if options.runs:
            interrupt_starts(tx, workspace.id, [options.start], ends_runs=True)
        record = read_record(tx, STARTS, workspace, start_id)
    print_record(record)
