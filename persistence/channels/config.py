"""How a gateway is called: from the texts that people give for the settings of its type to what is stored, and back."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flows.header_values import is_header_value
from flows.words import told
from persistence.channels.types import TYPES
from persistence.channels.types.declaration import Setting
from persistence.channels.webhooks import Networks, check_webhook_url
from persistence.deliveries.hiding import HIDDEN
from persistence.errors import InvalidInput

FIELD = "settings"
TEXT_LENGTH, WORD_LENGTH = 10_000, 255
MAY_HOLD_SECRETS = ("secret", "text", "url")
"""Kinds of settings that responses to writing requests do not tell, because those are stored for repeats."""
VARIABLE = re.compile(r"\{\{[^{}]*\}\}")
NO_NUL = "The character NUL (U+0000) cannot be stored."
NOT_IN_HEADER = (
    "This is sent in a header, which takes one line of Latin characters (up to U+00FF), without control characters."
)
FLAGS = {"true": True, "false": False}


def read_config(
    channel_type: str, given: Mapping[str, Any], former: Mapping[str, Any] | None = None, networks: Networks = None
) -> dict[str, Any]:
    """What is stored for a gateway: its former settings, or the defaults of its type, with the given ones instead. None
    gives a setting its default, HIDDEN leaves it as it is. Raises InvalidInput.
    """
    declared = {setting.name: setting for setting in TYPES[channel_type].settings}
    unknown = sorted(given.keys() - declared.keys())
    if unknown:
        known = f"it has {', '.join(declared)}" if declared else "it has none"
        raise _refusal(unknown[0], f"A channel of the type {channel_type} has no such setting; {known}.")
    defaults = {name: each.default for name, each in declared.items() if each.default is not None}
    config = dict(defaults if former is None else former)
    for name, value in given.items():
        if value is None or value == "":
            config.pop(name, None)
            config |= {name: defaults[name]} if name in defaults else {}
        elif value != HIDDEN or name not in config:
            config[name] = _read(declared[name], str(value), networks)
    for name, setting in declared.items():
        if setting.is_required and not config.get(name):
            raise _refusal(name, f"This setting is required: {setting.help}.")
    return config


def show_config(channel_type: str, config: Mapping[str, Any], hidden: Sequence[str] = ("secret",)) -> dict[str, str]:
    """The settings that are set, as texts; HIDDEN for those of these kinds."""
    shown = {}
    for setting in TYPES[channel_type].settings:
        value = config.get(setting.name)
        if value is not None:
            shown[setting.name] = HIDDEN if setting.kind in hidden else as_text(value)
    return shown


def describe_types() -> list[dict[str, Any]]:
    """All types of channels with what can be set for each."""
    return [
        {
            "type": name,
            "is_phone": each.is_relayer,
            "schemes": list(each.schemes),
            "settings": [_describe(setting) for setting in each.settings],
        }
        for name, each in TYPES.items()
    ]


def as_text(value: Any) -> str:
    """A stored value as people write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe(setting: Setting) -> dict[str, Any]:
    least, most = setting.bounds if setting.kind == "number" else (None, None)
    return {
        "name": setting.name,
        "kind": setting.kind,
        "help": setting.help,
        "is_required": setting.is_required,
        "is_secret": setting.kind == "secret",
        "default": None if setting.default is None else as_text(setting.default),
        "choices": None if setting.choices is None else list(setting.choices),
        "minimum": least,
        "maximum": most,
    }


def _read(setting: Setting, text: str, networks: Networks) -> Any:
    if setting.kind == "number":
        return _read_number(setting, text)
    if setting.kind == "flag":
        if text.lower() not in FLAGS:
            raise _refusal(setting.name, f"Only true or false, not {told(text)}.")
        return FLAGS[text.lower()]
    if setting.kind == "url":
        try:
            check_webhook_url(VARIABLE.sub("x", text), setting.name, networks)
        except InvalidInput as error:
            raise InvalidInput({FIELD: error.errors}) from error
        return text.strip()
    if setting.choices is not None and text not in setting.choices:
        raise _refusal(setting.name, f"One of these: {', '.join(setting.choices)}; not {told(text)}.")
    length = WORD_LENGTH if setting.kind == "word" else TEXT_LENGTH
    if len(text) > length:
        raise _refusal(setting.name, f"At most {length} characters; it has {len(text)}.")
    if "\x00" in text or (setting.is_header and not is_header_value(text)):
        raise _refusal(setting.name, NOT_IN_HEADER if setting.is_header else NO_NUL)
    return text


def _read_number(setting: Setting, text: str) -> int:
    least, most = setting.bounds
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
    if number is None or not least <= number <= most:
        raise _refusal(setting.name, f"A whole number from {least} to {most}, not {told(text)}.")
    return number


def _refusal(name: str, sentence: str) -> InvalidInput:
    return InvalidInput({FIELD: {name: [sentence]}})
