"""`relayboard channel list|claim|create|limit|secret|webhook|release`."""

import re
from collections.abc import Mapping
from typing import Any

from persistence.channels.channels import create_gateway, find_channel_owner, list_channel_facts, read_claimed
from persistence.channels.settings import (
    callback_path,
    new_gateway_secret,
    read_gateway_secret,
    rotate_gateway_secret,
    set_limit,
)
from persistence.channels.types import GATEWAYS, TYPES
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
from relayboard.commands.countries import read_country
from relayboard.commands.output import CommandFailed, opened_database, print_json, reading_in, writing_in
from relayboard.commands.secret_input import given_text, read_secret
from relayboard.usage.parts import Options
from worker.channels.senders import sender_of
from worker.http.errors import SendFailed

ADDRESS_LENGTH = 255
VARIABLE = re.compile(r"\{\{[^{}]*\}\}")


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(list_channel_facts(tx, workspace.id))


def run_claim(options: Options) -> None:
    with writing_in(options) as (tx, found):
        name = None if options.name is None else check_name(options.name)
        channel_id = claim_phone(tx, found, options.claim_code, options.phone, name)
        record = read_claimed(tx, found.id, channel_id)
    print_json(record)


def _settings() -> list[Setting]:
    """The settings of all types without repeats: types may share some."""
    return list({each.name: each for name in GATEWAYS for each in TYPES[name].settings}.values())


def _given_setting(options: Options, setting: Setting) -> Any:
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


def run_create(options: Options) -> None:
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


def run_limit(options: Options) -> None:
    with opened_database() as database, database.writing() as tx:
        set_limit(tx, _find_channel(tx, options.channel)[0], options.channel, options.messages_per_second)
    print_json({"channel": options.channel, "messages_per_second": options.messages_per_second})


def run_secret(options: Options) -> None:
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


def run_webhook(options: Options) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace_id, _ = _find_channel(tx, options.channel)
        if options.rotate:
            secret = rotate_webhook_secret(tx, workspace_id, options.channel)
            print_json({"channel": options.channel, "secret": secret})
            return
        if options.on:
            print_json({"channel": options.channel, "was_off": switch_on_webhook(tx, workspace_id, options.channel)})
            return
        events = options.event or None
        url = None if options.off else given_text(options, "url")
        signing = set_channel_webhook(tx, workspace_id, options.channel, url, events)
    print_json({"channel": options.channel, "url": url, "events": events, "secret": signing})


def run_release(options: Options) -> None:
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
