"""`relayboard channel create`."""

import re
from collections.abc import Mapping
from typing import Any

from persistence.channels.channels import create_gateway
from persistence.channels.settings import callback_path, new_gateway_secret
from persistence.channels.types import GATEWAYS, TYPES
from persistence.channels.types.declaration import Setting
from persistence.channels.webhooks import check_webhook_url
from persistence.sql.names import check_name
from relayboard.commands.countries import read_country
from relayboard.commands.output import CommandFailed, print_json, writing_in
from relayboard.commands.secret_input import given_text, read_secret
from relayboard.usage.parts import Options
from worker.channels.senders import sender_of
from worker.http.errors import SendFailed

ADDRESS_LENGTH = 255
VARIABLE = re.compile(r"\{\{[^{}]*\}\}")


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
