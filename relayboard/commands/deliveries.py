"""`relayboard delivery list|resend|test`: what became of events, and sending them again."""

import argparse
from typing import Any

import orjson

from persistence.channels.channels import find_channel_workspace
from persistence.deliveries.failing_receivers import list_switched_off
from persistence.deliveries.outbox import record_test_event
from persistence.deliveries.records import count_deliveries, list_deliveries, send_again, send_failed_again
from persistence.sql.columns import is_uuid
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace, utc_moment, whole_number

LISTED, MOST_LISTED = 50, 10_000


def register(commands: Any) -> None:
    parser = commands.add_parser("delivery", help="events sent to webhooks: what became of them, sending them again")
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="the newest deliveries with their attempts, and how many there are")
    add_workspace(listing)
    listing.add_argument("--status", choices=(PENDING, DELIVERED, FAILED), help="only these")
    listing.add_argument("--channel", metavar="UUID", help="only those of this channel")
    listing.add_argument(
        "--limit", type=whole_number(1, MOST_LISTED), default=LISTED, help=f"how many; default: {LISTED}"
    )
    listing.set_defaults(run=run_list)
    resend = actions.add_parser("resend", help="send a finished delivery, or all that failed since a moment, once more")
    add_workspace(resend)
    what = resend.add_mutually_exclusive_group(required=True)
    what.add_argument("--delivery", metavar="UUID", help="as `relayboard delivery list` names it")
    what.add_argument("--failed-since", type=utc_moment, metavar="TIME", help="for example 2026-03-02T08:00:00Z")
    resend.set_defaults(run=run_resend)
    test = actions.add_parser("test", help="send an event of the type `test` to the delivery URL of a channel")
    add_workspace(test)
    test.add_argument("--channel", required=True, metavar="UUID", help="the channel whose receiver is tried")
    test.set_defaults(run=run_test)


def run_list(options: argparse.Namespace) -> None:
    with opened_database() as database, database.reading() as tx:
        workspace = workspace_named(tx, options.workspace)
        if options.channel is not None and find_channel_workspace(tx, options.channel) != workspace.id:
            raise CommandFailed(f"there is no channel {options.channel}")
        ledger = count_deliveries(tx, workspace.id)
        off = list_switched_off(tx, workspace.id)
        page = list_deliveries(
            tx, workspace.id, None, options.limit, status=options.status, channel_uuid=options.channel
        )
    counts = {"pending": ledger.pending, "delivered": ledger.delivered, "failed": ledger.failed}
    switched_off = [
        {each.endpoint.kind: each.endpoint.number, "since": each.since, "reason": each.reason} for each in off
    ]
    deliveries = [orjson.loads(record) for record in page.records]
    print_json({"counts": counts, "switched_off": switched_off, "deliveries": deliveries})


def run_resend(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        if options.delivery is None:
            resent = send_failed_again(tx, workspace.id, options.failed_since)
        elif is_uuid(options.delivery) and send_again(tx, workspace.id, options.delivery):
            resent = 1
        else:
            raise CommandFailed(f"there is no finished delivery {options.delivery}")
    print_json({"resent": resent})


def run_test(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        event_id = record_test_event(tx, workspace.id, options.channel)
    print_json({"uuid": event_id, "event": "test"})
