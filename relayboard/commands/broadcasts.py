"""`relayboard broadcast list|stop`."""

from persistence.broadcasts.records import BROADCASTS
from persistence.lists import ListQuery, fetch_list, find_record
from relayboard.commands.output import CommandFailed, print_record, print_records, reading_in, writing_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        asked = {"scheduled": options.scheduled, "draft": options.drafts}
        query = ListQuery(tx, workspace, {name: True for name, is_asked in asked.items() if is_asked})
        page = fetch_list(query, BROADCASTS, None, options.limit)
    print_records(page.records)


def run_stop(options: Options) -> None:
    from persistence.broadcasts.records import stop_broadcasts  # lists need none of it

    with writing_in(options) as (tx, workspace):
        query = ListQuery(tx, workspace)
        if find_record(query, BROADCASTS, "uuid", options.uuid) is None:
            raise CommandFailed(f"there is no broadcast {options.uuid}")
        stop_broadcasts(tx, workspace.id, [options.uuid])
        record = find_record(query, BROADCASTS, "uuid", options.uuid)
        assert record is not None
    print_record(record)
