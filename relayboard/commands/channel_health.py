"""`relayboard channel health|alarms|calls`."""

import orjson

from persistence.channels.channels import find_channel_workspace
from persistence.channels.gateway_calls import GATEWAY_CALLS
from persistence.channels.health import ALARMS, read_health
from persistence.errors import RecordMissing
from persistence.lists import ListQuery, ListSpec, fetch_list
from relayboard.commands.output import CommandFailed, opened_database, print_json, reading_in
from relayboard.usage.parts import Options


def run_health(options: Options) -> None:
    with opened_database() as database, database.reading() as tx:
        workspace_id = find_channel_workspace(tx, options.channel)
        try:
            health = None if workspace_id is None else read_health(tx, workspace_id, options.channel.lower())
        except RecordMissing:
            health = None
    if health is None:
        raise CommandFailed(f"there is no channel {options.channel}")
    print_json(health)


def run_alarms(options: Options) -> None:
    _print_list(options, ALARMS, ("channel",))


def run_calls(options: Options) -> None:
    _print_list(options, GATEWAY_CALLS, ("channel", "outcome"))


def _print_list(options: Options, spec: ListSpec, filters: tuple[str, ...]) -> None:
    asked = {name: getattr(options, name) for name in filters}
    with reading_in(options) as (tx, workspace):
        if options.channel is not None and find_channel_workspace(tx, options.channel) != workspace.id:
            raise CommandFailed(f"there is no channel {options.channel}")
        given = {name: value for name, value in asked.items() if value is not None}
        page = fetch_list(ListQuery(tx, workspace, given), spec, None, options.limit)
    print_json([orjson.loads(record) for record in page.records])
