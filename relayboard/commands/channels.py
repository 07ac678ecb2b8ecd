"""`relayboard channel list|claim|create|limit|secret|webhook|release`."""

import argparse
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from flows.urn_schemes import SCHEMES
from persistence.channel_event_form import CHANNEL_EVENTS
from persistence.channel_webhooks import rotate_webhook_secret, set_channel_webhook, switch_on_webhook
from persistence.channels import channel, create_external_channel
from persistence.columns import is_uuid
from persistence.database import Transaction
from persistence.gateway_pace import FASTEST, SLOWEST, set_limit
from persistence.gateway_secrets import callback_path, new_gateway_secret, read_gateway_secret, rotate_gateway_secret
from persistence.relayers import claim_phone, release_channels
from persistence.webhook_trouble import webhook_trouble
from persistence.workspaces import workspace
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named


def register(commands: Any) -> None:
    parser = commands.add_parser("channel", help="phones and gateways")
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="the active channels of a workspace")
    listing.add_argument("--workspace", required=True, metavar="UUID")
    listing.set_defaults(run=run_list)
    claim = actions.add_parser("claim", help="attach the phone that shows a claim code")
    claim.add_argument("--workspace", required=True, metavar="UUID")
    claim.add_argument("--claim-code", required=True)
    claim.add_argument("--phone", required=True, help="the number of its SIM")
    claim.add_argument("--name")
    claim.set_defaults(run=run_claim)
    _register_create(actions)
    webhook = actions.add_parser(
        "webhook", help="where the events of a channel go; the secret that signs them is shown"
    )
    webhook.add_argument("--channel", required=True, metavar="UUID")
    target = webhook.add_mutually_exclusive_group(required=True)
    target.add_argument("--url")
    target.add_argument("--off", action="store_true", help="send no events any more")
    target.add_argument("--on", action="store_true", help="send again to a receiver that failed for long")
    target.add_argument("--rotate", action="store_true", help="a new secret; the old one signs too for a day")
    webhook.add_argument("--event", action="append", choices=CHANNEL_EVENTS, help="repeat; default: all")
    webhook.set_defaults(run=run_webhook)
    release = actions.add_parser("release", help="end a channel; what it has not sent fails")
    release.add_argument("--channel", required=True, metavar="UUID")
    release.set_defaults(run=run_release)


def _register_create(actions: Any) -> None:
    create = actions.add_parser("create", help="a gateway that sends by HTTP")
    create.add_argument("--workspace", required=True, metavar="UUID")
    create.add_argument("--type", choices=("external",), default="external")
    create.add_argument("--name", required=True)
    create.add_argument("--address", required=True)
    create.add_argument("--scheme", choices=sorted(SCHEMES), default="tel")
    create.add_argument("--country", default="")
    create.add_argument("--send-url", required=True)
    create.add_argument("--method", choices=("GET", "POST", "PUT"), default="POST")
    create.add_argument("--content-type", default="urlencoded", help="urlencoded, json, xml, or a media type")
    create.add_argument("--body", help="template; default: a form with all variables")
    create.add_argument("--max-length", type=int, default=160)
    create.add_argument("--authorization", help="value of the Authorization header")
    create.add_argument("--response-check", help="text that an accepting reply contains")
    create.add_argument(
        "--recognizes-repeats",
        action="store_true",
        help="send a part again, under its Idempotency-Key, when nobody knows whether it arrived",
    )
    create.add_argument("--messages-per-second", type=_rate, metavar="N", help="over all workers; default: no limit")
    create.set_defaults(run=run_create)
    limit = actions.add_parser("limit", help="how many messages a gateway is given in a second")
    limit.add_argument("--channel", required=True, metavar="UUID")
    rate = limit.add_mutually_exclusive_group(required=True)
    rate.add_argument("--messages-per-second", type=_rate, metavar="N")
    rate.add_argument("--off", action="store_true", help="no limit")
    limit.set_defaults(run=run_limit)
    secret = actions.add_parser("secret", help="the address that a gateway calls, with its secret")
    secret.add_argument("--channel", required=True, metavar="UUID")
    secret.add_argument("--rotate", action="store_true", help="a new secret; the former one counts for a day more")
    secret.add_argument("--end-former", action="store_true", help="with --rotate: the former one ends at once")
    secret.set_defaults(run=run_secret)


def _rate(text: str) -> float:
    """Messages per second, for argparse."""
    rate = float(text)
    if not SLOWEST <= rate <= FASTEST:
        raise argparse.ArgumentTypeError(f"has to be between {SLOWEST} and {FASTEST}")
    return rate


def run_list(options: argparse.Namespace) -> None:
    columns = (channel.c.uuid, channel.c.id, channel.c.type, channel.c.name, channel.c.address, channel.c.last_seen)
    with opened_database() as database, database.reading() as tx:
        mine = (channel.c.workspace_id == workspace_named(tx, options.workspace).id) & channel.c.is_active
        trouble = (webhook_trouble.c.switched_off_on, webhook_trouble.c.reason)
        named = (trouble[0].label("webhook_switched_off_on"), trouble[1].label("webhook_switched_off_reason"))
        both = channel.outerjoin(webhook_trouble, webhook_trouble.c.channel_id == channel.c.id)
        statement = select(*columns, channel.c.webhook_url, *named).select_from(both).where(mine)
        rows = tx.execute(statement.order_by(channel.c.id))
        # Names of joined columns are a kind of str of their own, which is no key for JSON.
        print_json([{str(name): value for name, value in row._mapping.items()} for row in rows])


def run_claim(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        found = workspace_named(tx, options.workspace)
        channel_id = claim_phone(tx, found, options.claim_code, options.phone, options.name)
        columns = (channel.c.uuid, channel.c.id, channel.c.name, channel.c.address, channel.c.country)
        record = dict(tx.execute(select(*columns).where(channel.c.id == channel_id)).one()._mapping)
    print_json(record)


def run_create(options: argparse.Namespace) -> None:
    if not 60 <= options.max_length <= 6400:
        raise CommandFailed("--max-length has to be between 60 and 6400")
    config = {
        "send_url": options.send_url,
        "method": options.method,
        "content_type": options.content_type,
        "body": options.body,
        "max_length": options.max_length,
        "send_authorization": options.authorization,
        "mt_response_check": options.response_check,
        "recognizes_repeats": options.recognizes_repeats or None,
    }
    _check_headers({"Authorization": options.authorization or "", "Content-Type": options.content_type})
    secret = new_gateway_secret()
    with opened_database() as database, database.writing() as tx:
        found = workspace_named(tx, options.workspace)
        uuid = create_external_channel(
            tx,
            found.id,
            name=options.name,
            address=options.address,
            schemes=[options.scheme],
            country=options.country.upper() or None,
            config={name: value for name, value in config.items() if value is not None},
            secret=secret,
            messages_per_second=options.messages_per_second,
        )
    path = callback_path(uuid, secret)
    print_json({"uuid": uuid, "name": options.name, "receive_path": f"{path}receive", "callback_path": path})


def _check_headers(headers: Mapping[str, str]) -> None:
    """Raises CommandFailed for values that no message could be sent with."""
    from worker.safe_http import check_headers
    from worker.send_failed import SendFailed

    try:
        check_headers(headers)
    except SendFailed as error:
        raise CommandFailed(error.sentence) from error


def run_limit(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        set_limit(tx, _workspace_of(tx, options.channel), options.channel, options.messages_per_second)
    print_json({"channel": options.channel, "messages_per_second": options.messages_per_second})


def run_secret(options: argparse.Namespace) -> None:
    if options.end_former and not options.rotate:
        raise CommandFailed("--end-former goes with --rotate")
    with opened_database() as database, database.writing() as tx:
        workspace_id = _workspace_of(tx, options.channel)
        if options.rotate:
            secret = rotate_gateway_secret(tx, workspace_id, options.channel, ends_former=options.end_former)
        else:
            secret = read_gateway_secret(tx, workspace_id, options.channel)
    path = callback_path(options.channel, secret)
    print_json({"channel": options.channel, "secret": secret, "callback_path": path})


def run_webhook(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace_id = _workspace_of(tx, options.channel)
        if options.rotate:
            secret = rotate_webhook_secret(tx, workspace_id, options.channel)
            print_json({"channel": options.channel, "secret": secret})
            return
        if options.on:
            print_json({"channel": options.channel, "was_off": switch_on_webhook(tx, workspace_id, options.channel)})
            return
        url = None if options.off else options.url
        signing = set_channel_webhook(tx, workspace_id, options.channel, url, options.event)
    print_json({"channel": options.channel, "url": url, "events": options.event, "secret": signing})


def run_release(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace_id = _workspace_of(tx, options.channel)
        if not release_channels(tx, workspace_id, channel.c.uuid == options.channel):
            raise CommandFailed("the channel is released already")
    print_json({"released": options.channel})


def _workspace_of(tx: Transaction, channel_uuid: str) -> int:
    if not is_uuid(channel_uuid):
        raise CommandFailed(f"there is no channel {channel_uuid}")
    statement = select(workspace.c.id).join(channel, channel.c.workspace_id == workspace.c.id)
    workspace_id: int | None = tx.execute(statement.where(channel.c.uuid == channel_uuid)).scalar_one_or_none()
    if workspace_id is None:
        raise CommandFailed(f"there is no claimed channel {channel_uuid}")
    return workspace_id
