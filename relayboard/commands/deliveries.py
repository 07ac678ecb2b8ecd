"""`relayboard delivery list|resend|test`: shows deliveries of events and sends them again."""

import orjson

from persistence.deliveries.receivers import send_test
from persistence.channels.channels import find_channel_workspace
from persistence.deliveries.failing_receivers import list_switched_off
from persistence.deliveries.ledger import count_deliveries
from persistence.deliveries.records import DELIVERIES, send_again, send_failed_again
from persistence.lists import ListQuery, fetch_list
from persistence.sql.columns import is_uuid
from relayboard.commands.output import CommandFailed, print_json, reading_in, writing_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        if options.channel is not None and find_channel_workspace(tx, options.channel) != workspace.id:
            raise CommandFailed(f"there is no channel {options.channel}")
        ledger = count_deliveries(tx, workspace.id)
        off = list_switched_off(tx, workspace.id)
        asked = {"status": options.status, "channel": options.channel}
        query = ListQuery(tx, workspace, {name: value for name, value in asked.items() if value is not None})
        page = fetch_list(query, DELIVERIES, None, options.limit)
    counts = {"pending": ledger.pending, "delivered": ledger.delivered, "failed": ledger.failed}
    switched_off = [
        {each.endpoint.kind: each.endpoint.number, "since": each.since, "reason": each.reason} for each in off
    ]
    deliveries = [orjson.loads(record) for record in page.records]
    print_json({"counts": counts, "switched_off": switched_off, "deliveries": deliveries})


def run_resend(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        if options.delivery is None:
            resent = send_failed_again(tx, workspace.id, options.failed_since)
        elif is_uuid(options.delivery) and send_again(tx, workspace.id, options.delivery):
            resent = 1
        else:
            raise CommandFailed(f"there is no finished delivery {options.delivery}")
    print_json({"resent": resent})


def run_test(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        event_id = send_test(tx, workspace.id, options.channel)
    print_json({"uuid": event_id, "event": "test"})
