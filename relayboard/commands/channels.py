"""`relayboard channel list|claim|create|limit|secret|webhook|release`."""

import argparse
import re
from collections.abc import Mapping
from typing import Any

from flows.urn_schemes import SCHEMES
from persistence.channels.channels import (
    create_external_channel,
    find_channel_workspace,
    list_channel_facts,
    read_claimed,
)
from persistence.channels.event_form import CHANNEL_EVENTS
from persistence.channels.gateway_pace import FASTEST, SLOWEST, set_limit
from persistence.channels.gateway_secrets import (
    callback_path,
    new_gateway_secret,
    read_gateway_secret,
    rotate_gateway_secret,
)
from persistence.channels.webhooks import (
    check_webhook_url,
    rotate_webhook_secret,
    set_channel_webhook,
    switch_on_webhook,
)
from persistence.database import Transaction
from persistence.relayers.relayers import claim_phone, release_channels
from persistence.sql.columns import is_uuid
from persistence.sql.names import check_name
from persistence.tables.channels import channel
from relayboard.commands.output import CommandFailed, opened_database, print_json, read_country, reading_in, writing_in
from relayboard.commands.parser import add_action, add_noun, number, whole_number, workspace_action
from relayboard.commands.secret_input import add_text, given_text, read_secret
from worker.http.errors import SendFailed
from worker.http.safe_http import check_headers

ADDRESS_LENGTH = 255
VARIABLE = re.compile(r"\{\{[^{}]*\}\}")


def register(commands: Any) -> None:
    actions = add_noun(commands, "channel", "phones and gateways")
    workspace_action(actions, "list", run_list, "the active channels of a workspace")
    claim = workspace_action(actions, "claim", run_claim, "attach the phone that shows a claim code")
    claim.add_argument("--claim-code", required=True, help="the code that the phone shows")
    claim.add_argument("--phone", required=True, help="the number of its SIM")
    claim.add_argument("--name", help="what people call the phone")
    _register_create(actions)
    webhook = add_action(
        actions, "webhook", run_webhook, "where the events of a channel go; the secret that signs them is shown"
    )
    _add_channel(webhook)
    target = webhook.add_mutually_exclusive_group(required=True)
    add_text(target, "--url", help="where events are POSTed")
    target.add_argument("--off", action="store_true", help="send no events any more")
    target.add_argument("--on", action="store_true", help="send again to a receiver that failed for long")
    target.add_argument("--rotate", action="store_true", help="a new secret; the old one signs too for a day")
    webhook.add_argument("--event", action="append", choices=CHANNEL_EVENTS, help="repeat; default: all")
    release = add_action(actions, "release", run_release, "end a channel; what it has not sent fails")
    _add_channel(release)


def _add_channel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--channel", required=True, metavar="UUID", help="the channel, as `relayboard channel list` names it"
    )


def _register_create(actions: Any) -> None:
    create = workspace_action(actions, "create", run_create, "a gateway that sends by HTTP")
    create.add_argument("--type", choices=("external",), default="external", help="the kind; there is only this one")
    create.add_argument("--name", required=True, help="what people call the gateway")
    create.add_argument("--address", required=True, help="the number or name that messages come from")
    create.add_argument(
        "--scheme", choices=sorted(SCHEMES), default="tel", help="addresses it can send to; default: tel"
    )
    create.add_argument("--country", default="", help="two letters, for example RW")
    add_text(create, "--send-url", required=True, metavar="URL", help="where messages to send are put in")
    create.add_argument("--method", choices=("GET", "POST", "PUT"), default="POST", help="default: POST")
    create.add_argument("--content-type", default="urlencoded", help="urlencoded, json, xml, or a media type")
    add_text(create, "--body", help="template of a request; default: a form with all variables")
    create.add_argument(
        "--max-length", type=whole_number(60, 6400), default=160, metavar="N", help="of one message; default: 160"
    )
    create.add_argument(
        "--authorization-file",
        metavar="FILE",
        help="the value of the Authorization header is in this file; - reads it from standard input",
    )
    create.add_argument("--response-check", help="text that an accepting reply contains")
    create.add_argument(
        "--recognizes-repeats",
        action="store_true",
        help="send a part again, under its Idempotency-Key, when nobody knows whether it arrived",
    )
    create.add_argument(
        "--messages-per-second", type=number(SLOWEST, FASTEST), metavar="N", help="over all workers; default: no limit"
    )
    limit = add_action(actions, "limit", run_limit, "how many messages a gateway is given in a second")
    _add_channel(limit)
    rate = limit.add_mutually_exclusive_group(required=True)
    rate.add_argument(
        "--messages-per-second", type=number(SLOWEST, FASTEST), metavar="N", help="parts of messages, over all workers"
    )
    rate.add_argument("--off", action="store_true", help="no limit")
    secret = add_action(actions, "secret", run_secret, "the address that a gateway calls, with its secret")
    _add_channel(secret)
    secret.add_argument("--rotate", action="store_true", help="a new secret; the former one counts for a day more")
    secret.add_argument("--end-former", action="store_true", help="with --rotate: the former one ends at once")


def run_list(options: argparse.Namespace) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(list_channel_facts(tx, workspace.id))


def run_claim(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, found):
        name = None if options.name is None else check_name(options.name)
        channel_id = claim_phone(tx, found, options.claim_code, options.phone, name)
        record = read_claimed(tx, found.id, channel_id)
    print_json(record)


def run_create(options: argparse.Namespace) -> None:
    authorization = None if options.authorization_file is None else read_secret(options.authorization_file)
    config = {
        "send_url": _read_send_url(given_text(options, "send_url") or ""),
        "method": options.method,
        "content_type": options.content_type,
        "body": given_text(options, "body"),
        "max_length": options.max_length,
        "send_authorization": authorization,
        "mt_response_check": options.response_check,
        "recognizes_repeats": options.recognizes_repeats or None,
    }
    _check_headers({"Authorization": authorization or "", "Content-Type": options.content_type})
    secret = new_gateway_secret()
    with writing_in(options) as (tx, found):
        uuid = create_external_channel(
            tx,
            found.id,
            name=check_name(options.name),
            address=check_name(options.address, "address", ADDRESS_LENGTH),
            schemes=[options.scheme],
            country=read_country(options.country) or None,
            config={name: value for name, value in config.items() if value is not None},
            secret=secret,
            messages_per_second=options.messages_per_second,
        )
    path = callback_path(uuid, secret)
    print_json({"uuid": uuid, "name": options.name.strip(), "receive_path": f"{path}receive", "callback_path": path})


def _check_headers(headers: Mapping[str, str]) -> None:
    """Raises CommandFailed for values that no message could be sent with."""
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


def _read_send_url(text: str) -> str:
    """An address, which may hold variables. Raises InvalidInput."""
    check_webhook_url(VARIABLE.sub("x", text), "send_url")
    return text.strip()


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
        url = None if options.off else given_text(options, "url")
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
    workspace_id = find_channel_workspace(tx, channel_uuid)
    if workspace_id is None:
        raise CommandFailed(f"there is no claimed channel {channel_uuid}")
    return workspace_id
