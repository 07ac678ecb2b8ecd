"""`relayboard webhook ...`: receivers, their secrets and deliveries, and a receiver to try them with."""

import contextlib
import signal
import sys
from typing import Any

import orjson

from persistence.errors import RecordMissing
from persistence.lists import ListQuery, fetch_list
from persistence.sql.columns import is_uuid
from persistence.sql.names import require_id
from persistence.tables.contacts import contact
from relayboard.base.settings import load_settings
from relayboard.commands.output import print_json, print_record, print_records, reading_in, writing_in
from relayboard.commands.printing import print_line
from relayboard.commands.secret_input import given_text, read_secret
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options


def run_listen(options: Options) -> None:
    from relayboard.webhook_listener import WebhookListener

    secret = None if options.secret_file is None else read_secret(options.secret_file)

    def reply(event: dict[str, Any]) -> dict[str, Any] | None:
        return {"text": options.reply} if options.reply and event.get("event") == "mo_sms" else None

    try:
        listener = WebhookListener(options.port, print_line, secret=secret, reply=reply)
    except OSError as error:
        raise CommandFailed(f"cannot listen on port {options.port}: {error.strerror}") from error
    with contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print(f"Waiting for webhooks at {listener.url}", file=sys.stderr)
        listener.serve()


def run_list_receivers(options: Options) -> None:
    from persistence.deliveries.receivers import RECEIVERS

    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), RECEIVERS, None, options.limit)
    print_records(page.records)


def run_set(options: Options) -> None:
    from persistence.deliveries.receivers import write_receiver

    changes = _read_changes(options)
    if not changes:
        raise CommandFailed("nothing to change was given")
    with writing_in(options) as (tx, workspace):
        networks = load_settings().webhook_allowed_networks
        record = write_receiver(tx, workspace, options.receiver, changes, networks)
    assert record is not None  # only a change of the URL can leave a receiver without one
    print_record(record)


def run_subscribe(options: Options) -> None:
    from persistence.deliveries.subscriptions import create_subscription

    url, networks = given_text(options, "url") or "", load_settings().webhook_allowed_networks
    with writing_in(options) as (tx, workspace):
        number, secret = create_subscription(tx, workspace, url, options.event, networks)
    print_json({"receiver": str(number), "events": options.event, "secret": secret})


def run_unsubscribe(options: Options) -> None:
    from persistence.deliveries.subscriptions import delete_subscription

    with writing_in(options) as (tx, workspace):
        try:
            delete_subscription(tx, workspace.id, options.subscription)
        except RecordMissing as error:
            raise CommandFailed(f"there is no subscription {options.subscription}") from error
    print_json({"deleted": str(options.subscription)})


def run_secret(options: Options) -> None:
    from persistence.deliveries.receivers import rotate_secret

    with writing_in(options) as (tx, workspace):
        shown = rotate_secret(tx, workspace.id, options.receiver)
    print_json(shown)


def run_list_deliveries(options: Options) -> None:
    from persistence.channels.channels import find_channel_workspace
    from persistence.deliveries.outbox import count_deliveries
    from persistence.deliveries.receivers import find_receiver
    from persistence.deliveries.records import DELIVERIES
    from persistence.deliveries.settings import list_switched_off

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
    from persistence.deliveries.receivers import find_receiver
    from persistence.deliveries.records import send_again, send_failed_again

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
    from persistence.deliveries.receivers import send_test

    with writing_in(options) as (tx, workspace):
        event_id = send_test(tx, workspace.id, options.receiver if options.channel is None else options.channel)
    print_json({"uuid": event_id, "event": "test"})


def run_show(options: Options) -> None:
    from persistence.deliveries.records import read_delivery

    with reading_in(options) as (tx, workspace):
        print_json(read_delivery(tx, workspace, options.delivery))


def run_ledger(options: Options) -> None:
    from persistence.deliveries.outbox import count_deliveries

    with reading_in(options) as (tx, workspace):
        ledger = count_deliveries(tx, workspace.id)
    counts = {"delivered": ledger.delivered, "failed": ledger.failed, "pending": ledger.pending}
    print_json({"made": ledger.total} | counts)


def _read_changes(options: Options) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if options.retry_delay or options.default_retries:
        changes["retry_delays_seconds"] = None if options.default_retries else list(options.retry_delay)
    if options.requests_per_second is not None or options.no_limit:
        changes["requests_per_second"] = options.requests_per_second
    if options.format is not None:
        changes["format"] = options.format
    if options.signature is not None:
        changes["signature"] = options.signature
    url = given_text(options, "url")
    if url is not None:
        changes["url"] = url
    if options.event:
        changes["events"] = options.event
    if options.on or options.off:
        changes["is_on"] = options.on
    return changes
