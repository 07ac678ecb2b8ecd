"""`relayboard channel list|claim|create|limit|secret|webhook|release`."""

import argparse
import re
from collections.abc import Mapping
from typing import Any

from persistence.channels.channels import create_gateway, find_channel_owner, list_channel_facts, read_claimed
from persistence.channels.event_form import CHANNEL_EVENTS
from persistence.channels.gateway_pace import FASTEST, SLOWEST
from persistence.channels.settings import (
    callback_path,
    new_gateway_secret,
    read_gateway_secret,
    rotate_gateway_secret,
    set_limit,
)
from persistence.channels.types import DEFAULT_GATEWAY, GATEWAYS, TYPES
from persistence.channels.types.declaration import Setting
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
from relayboard.commands.parser import Commands, add_action, add_noun, number, whole_number, workspace_action
from relayboard.commands.secret_input import add_text, given_text, read_secret
from worker.channels.senders import sender_of
from worker.http.errors import SendFailed

ADDRESS_LENGTH = 255
VARIABLE = re.compile(r"\{\{[^{}]*\}\}")


def register(commands: Commands) -> None:
    actions = add_noun(commands, "channel", "phones and gateways")
    workspace_action(actions, "list", run_list, "the active channels of a workspace")
    claim = workspace_action(actions, "claim", run_claim, "attach the phone that shows a claim code")
    claim.add_argument("--claim-code", required=True, help="the code that the phone shows")
    claim.add_argument("--phone", required=True, help="the phone number of its SIM card")
    claim.add_argument("--name", help="a name for the phone")
    _register_create(actions)
    webhook = add_action(
        actions, "webhook", run_webhook, "set the delivery URL of a channel; shows the secret that signs its events"
    )
    _add_channel(webhook)
    target = webhook.add_mutually_exclusive_group(required=True)
    add_text(target, "--url", help="the URL that gets events by POST")
    target.add_argument("--off", action="store_true", help="send no more events")
    target.add_argument(
        "--on", action="store_true", help="switch on a receiver that was switched off after failing for long"
    )
    target.add_argument(
        "--rotate", action="store_true", help="a new secret; for a day requests are also signed with the old one"
    )
    webhook.add_argument("--event", action="append", choices=CHANNEL_EVENTS, help="repeat; default: all")
    release = add_action(actions, "release", run_release, "release a channel; its unsent messages fail")
    _add_channel(release)


def _add_channel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--channel", required=True, metavar="UUID", help="the channel, as `relayboard channel list` names it"
    )


def _register_create(actions: Commands) -> None:
    create = workspace_action(actions, "create", run_create, "a gateway that sends by HTTP")
    create.add_argument("--type", choices=GATEWAYS, default=DEFAULT_GATEWAY, help=f"default: {DEFAULT_GATEWAY}")
    create.add_argument("--name", required=True, help="a name for the gateway")
    create.add_argument("--address", required=True, help="the phone number or name that messages come from")
    create.add_argument(
        "--scheme", choices=_schemes(), default="tel", help="scheme of the URNs that it can send to; default: tel"
    )
    create.add_argument("--country", default="", help="two letters, for example RW")
    for setting in _settings():
        _add_setting(create, setting)
    create.add_argument(
        "--messages-per-second", type=number(SLOWEST, FASTEST), metavar="N", help="over all workers; default: no limit"
    )
    limit = add_action(actions, "limit", run_limit, "set the rate limit of a gateway")
    _add_channel(limit)
    rate = limit.add_mutually_exclusive_group(required=True)
    rate.add_argument(
        "--messages-per-second", type=number(SLOWEST, FASTEST), metavar="N", help="parts of messages, over all workers"
    )
    rate.add_argument("--off", action="store_true", help="no limit")
    secret = add_action(actions, "secret", run_secret, "show the URL that a gateway calls, with its secret")
    _add_channel(secret)
    secret.add_argument("--rotate", action="store_true", help="a new secret; the former one is valid for one more day")
    secret.add_argument(
        "--end-former", action="store_true", help="with --rotate: the former secret becomes invalid at once"
    )


def run_list(options: argparse.Namespace) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(list_channel_facts(tx, workspace.id))


def run_claim(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, found):
        name = None if options.name is None else check_name(options.name)
        channel_id = claim_phone(tx, found, options.claim_code, options.phone, name)
        record = read_claimed(tx, found.id, channel_id)
    print_json(record)


def _schemes() -> list[str]:
    return sorted({scheme for name in GATEWAYS for scheme in TYPES[name].schemes})


def _settings() -> list[Setting]:
    """The settings of all types without repeats: types may share some."""
    return list({each.name: each for name in GATEWAYS for each in TYPES[name].settings}.values())


def _add_setting(create: argparse.ArgumentParser, setting: Setting) -> None:
    if setting.kind in ("text", "url"):
        metavar = "URL" if setting.kind == "url" else None
        required = all(setting in TYPES[name].settings for name in GATEWAYS) and setting.is_required
        add_text(create, setting.flag, metavar=metavar, required=required, help=setting.help)
    elif setting.kind == "secret":
        source = "is in this file; - reads it from standard input"
        create.add_argument(setting.flag, metavar="FILE", help=f"{setting.help} {source}")
    elif setting.kind == "flag":
        create.add_argument(setting.flag, action="store_true", help=setting.help)
    elif setting.kind == "number":
        create.add_argument(setting.flag, type=whole_number(*setting.bounds), metavar="N", help=setting.help)
    else:
        create.add_argument(setting.flag, choices=setting.choices, help=setting.help)


def _given_setting(options: argparse.Namespace, setting: Setting) -> Any:
    """The value of a setting, None if it is not given. Raises InvalidInput, CommandFailed."""
    name = setting.flag.removeprefix("--").replace("-", "_")
    if setting.kind in ("text", "url"):
        given = given_text(options, name)
        if setting.kind == "url" and given is not None:
            check_webhook_url(VARIABLE.sub("x", given), setting.name)
            return given.strip()
        return given
    given = getattr(options, name) or setting.default
    return read_secret(given) if given is not None and setting.kind == "secret" else given


def run_create(options: argparse.Namespace) -> None:
    own = TYPES[options.type].settings
    given = {setting.name: _given_setting(options, setting) for setting in own}
    for setting in own:
        if setting.is_required and given[setting.name] is None:
            raise CommandFailed(f"{setting.flag} is required for this type")
    config = {name: value for name, value in given.items() if value is not None}
    _check_config(options.type, config)
    secret = new_gateway_secret()
    with writing_in(options) as (tx, workspace):
        uuid = create_gateway(
            tx,
            workspace.id,
            options.type,
            name=check_name(options.name),
            address=check_name(options.address, "address", ADDRESS_LENGTH),
            schemes=[options.scheme],
            country=read_country(options.country) or None,
            config=config,
            secret=secret,
            messages_per_second=options.messages_per_second,
        )
    path = callback_path(options.type, uuid, secret)
    print_json({"uuid": uuid, "name": options.name.strip(), "receive_path": f"{path}receive", "callback_path": path})


def _check_config(channel_type: str, config: Mapping[str, Any]) -> None:
    """Raises CommandFailed for settings with which no message could be sent."""
    try:
        sender_of(channel_type).check_config(config)
    except SendFailed as error:
        raise CommandFailed(error.sentence) from error


def run_limit(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        set_limit(tx, _find_channel(tx, options.channel)[0], options.channel, options.messages_per_second)
    print_json({"channel": options.channel, "messages_per_second": options.messages_per_second})


def run_secret(options: argparse.Namespace) -> None:
    if options.end_former and not options.rotate:
        raise CommandFailed("--end-former needs --rotate")
    with opened_database() as database, database.writing() as tx:
        workspace_id, channel_type = _find_channel(tx, options.channel)
        if options.rotate:
            secret = rotate_gateway_secret(tx, workspace_id, options.channel, ends_former=options.end_former)
        else:
            secret = read_gateway_secret(tx, workspace_id, options.channel)
    path = callback_path(channel_type, options.channel, secret)
    print_json({"channel": options.channel, "secret": secret, "callback_path": path})


def run_webhook(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace_id, _ = _find_channel(tx, options.channel)
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
        workspace_id, _ = _find_channel(tx, options.channel)
        if not release_channels(tx, workspace_id, channel.c.uuid == options.channel):
            raise CommandFailed("the channel is released already")
    print_json({"released": options.channel})


def _find_channel(tx: Transaction, channel_uuid: str) -> tuple[int, str]:
    """The workspace and the type of a channel. Raises CommandFailed."""
    if not is_uuid(channel_uuid):
        raise CommandFailed(f"there is no channel {channel_uuid}")
    found = find_channel_owner(tx, channel_uuid)
    if found is None:
        raise CommandFailed(f"there is no claimed channel {channel_uuid}")
    return found
