"""`relayboard delivery list|show|resend|test|ledger`: shows deliveries of events and sends them again."""

import orjson

from persistence.channels.channels import find_channel_workspace
from persistence.deliveries.outbox import count_deliveries
from persistence.deliveries.receivers import find_receiver, send_test
from persistence.deliveries.records import DELIVERIES, read_delivery, send_again, send_failed_again
from persistence.deliveries.settings import list_switched_off
from persistence.lists import ListQuery, fetch_list
from persistence.sql.columns import is_uuid
from persistence.sql.names import require_id
from persistence.tables.contacts import contact
from relayboard.commands.output import CommandFailed, print_json, reading_in, writing_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        if options.channel is not None and find_channel_workspace(tx, options.channel) != workspace.id:
            raise CommandFailed(f"there is no channel {options.channel}")
        if options.receiver is not None:
            find_receiver(tx, workspace.id, options.receiver)
        if options.contact is not None:
            require_id(tx, workspace.id, contact, options.contact)
        ledger = count_deliveries(tx, workspace.id)
        off = list_switched_off(tx, workspace.id)
        asked = {name: getattr(options, name) for name in ("status", "channel", "receiver", "event", "contact")}
        asked |= {"after": options.since, "before": options.until}
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
        if options.receiver is not None:
            find_receiver(tx, workspace.id, options.receiver)
        if options.delivery is None:
            resent = send_failed_again(tx, workspace.id, options.failed_since, options.receiver)
        elif is_uuid(options.delivery) and send_again(tx, workspace.id, options.delivery):
            resent = 1
        else:
            raise CommandFailed(f"there is no finished delivery {options.delivery}")
    print_json({"resent": resent})


def run_test(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        event_id = send_test(tx, workspace.id, options.receiver if options.channel is None else options.channel)
    print_json({"uuid": event_id, "event": "test"})


def run_show(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(read_delivery(tx, workspace, options.delivery))


def run_ledger(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        ledger = count_deliveries(tx, workspace.id)
    counts = {"delivered": ledger.delivered, "failed": ledger.failed, "pending": ledger.pending}
    print_json({"made": ledger.total} | counts)
