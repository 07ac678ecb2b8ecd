"""The settings of gateways, from options."""

from typing import Any

from persistence.channels.types import GATEWAYS, TYPES
from persistence.channels.types.declaration import Setting
from relayboard.commands.output import CommandFailed
from relayboard.commands.secret_input import given_text, read_secret
from relayboard.usage.parts import Options


def _given_setting(options: Options, setting: Setting) -> Any:
    """The value of a setting, None if it is not given. Raises CommandFailed."""
    name = setting.flag.removeprefix("--").replace("-", "_")
    if setting.kind in ("text", "url"):
        return given_text(options, name)
    given = getattr(options, name)
    if setting.kind == "flag":
        return "true" if given else None
    return read_secret(given) if given is not None and setting.kind == "secret" else given


def read_settings(options: Options, channel_type: str) -> dict[str, Any]:
    """The settings of a type that are given. Raises CommandFailed for one that only other types have."""
    own = {setting.name: setting for setting in TYPES[channel_type].settings}
    for setting in (each for name in GATEWAYS for each in TYPES[name].settings):
        if setting.name not in own and _given_setting(options, setting) is not None:
            raise CommandFailed(f"{setting.flag} is not a setting of the type {channel_type}")
    given = {name: _given_setting(options, setting) for name, setting in own.items()}
    return {name: value for name, value in given.items() if value is not None}
