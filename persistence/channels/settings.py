"""Settings of gateways that only administrators see and change: how they are called, the secrets of their own calls,
their rate limits; and new gateways.
"""

import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import func, select

from channels.declaration import Setting
from channels.presets import TYPE as PRESET_TYPE
from channels.presets import Preset, list_presets, read_preset
from channels.types import GATEWAYS, TYPES
from flows.phones import is_country
from flows.words import is_header_value, told
from persistence.audit import READ, tell_deed
from persistence.channels.channels import (
    CHANNELS,
    IS_GATEWAY,
    Networks,
    check_webhook_url,
    create_gateway,
    rename_channel,
)
from persistence.channels.checks import CONNECTION, connect_channel, join_connection
from persistence.channels.terms import COLUMNS, read_terms, set_terms, show_terms
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached, RecordMissing, Refused
from persistence.lists import equals
from persistence.pages import Order, Selection, read_all
from persistence.records import Parsed, Record, Shown, write_record
from persistence.secrets.encryption import HIDDEN, open_or_none, sealed_text
from persistence.sql.columns import is_uuid, time_text
from persistence.sql.names import OBJECTS_PER_WORKSPACE, check_name
from persistence.statements import update
from persistence.tables.channels import channel
from persistence.workspaces.records import hold_workspace

SECRET_BYTES = 24
OVERLAP = timedelta(hours=24)
"""For this long after a rotation the former secret is also accepted, unless it is ended at once."""

SETTINGS_ROW = Record(
    {
        "uuid": channel.c.uuid,
        "name": channel.c.name,
        "type": channel.c.type,
        "address": channel.c.address,
        "country": channel.c.country,
        "schemes": Parsed(channel.c.schemes),
        "config": sealed_text(channel.c.config),
        "secret": sealed_text(channel.c.secret),
        "rotated_on": channel.c.secret_rotated_on,
        "messages_per_second": channel.c.messages_per_second,
        "allow_international": channel.c.allow_international,
        "connection": CONNECTION,
        **COLUMNS,
    }
)

CHANNEL_SETTINGS = replace(
    CHANNELS, record=SETTINGS_ROW, source=join_connection(), filters={"uuid": equals(channel.c.uuid)}
)
"""The columns that `describe_settings` reads."""

ADDRESS_LENGTH = 255
OF_PHONES = ("name", "allow_international", *COLUMNS)
SCHEME = "tel"
CLAIMED = "A phone is claimed by its code, not created."
FIELD, PRESET_FIELD = "settings", "fields"
PRESET, PRESET_VALUES = "preset", "preset_fields"
"""What is stored with the settings of a channel that was made from a preset: its name, and what was given for it."""
TEXT_LENGTH, WORD_LENGTH = 10_000, 255
SECRET_KINDS = ("secret", "headers")
MAY_HOLD_SECRETS = (*SECRET_KINDS, "text", "url")
"""Kinds of settings that responses to writing requests do not tell, because those are stored for repeats."""
VARIABLE = re.compile(r"\{\{[^{}]*\}\}")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NO_NUL = "The character NUL (U+0000) cannot be stored."
NOT_IN_HEADER = (
    "This is sent in a header, which takes one line of Latin characters (up to U+00FF), without control characters."
)
FLAGS = {"true": True, "false": False}


def change_config(
    tx: Transaction,
    workspace_id: int,
    uuid: str,
    given: Mapping[str, Any],
    networks: Networks = None,
    fields: Mapping[str, Any] | None = None,
) -> None:
    """Changes how a gateway is called; `given` has texts by the names of settings, `fields` by those of its preset.
    Raises RecordMissing, InvalidInput, and Refused if its settings cannot be decrypted and are not all given.
    """
    channel_id, _ = _lock_gateway(tx, workspace_id, uuid)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == channel_id)
    channel_type, sealed = tx.execute(select(channel.c.type, sealed_text(channel.c.config)).where(mine)).one()
    former = open_or_none(tx.dialect, channel.c.config, sealed)
    if fields:
        former = change_preset(channel_type, fields, former or {}, networks)
    tx.execute(update(channel).where(mine).values(config=read_config(channel_type, given, former, networks)))
    connect_channel(tx, workspace_id, uuid)


def change_channel_settings(
    tx: Transaction, workspace_id: int, uuid: str, changes: Mapping[str, Any], networks: Networks = None
) -> str:
    """Changes a channel's name and where it sends to, and a gateway's rate limit, settings and secret, as far as
    `changes` contains them; returns the record as JSON text. Raises RecordMissing, InvalidInput, and Refused for what
    cannot be changed.
    """
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    held = select(channel.c.type).where(mine).with_for_update(key_share=True)
    channel_type = tx.execute(held).scalar_one_or_none()
    if channel_type is None:
        raise RecordMissing
    fixed = [name for name in ("type", "address", "country", "scheme", PRESET) if name in changes]
    if fixed:
        raise InvalidInput.on(
            fixed[0], f"The {fixed[0]} of a channel cannot be changed: add another channel, and release this one."
        )
    if channel_type not in GATEWAYS and (changes.keys() - set(OF_PHONES) or not changes):
        raise Refused(f"A phone has only {', '.join(OF_PHONES)}; the other settings are those of gateways.")
    if "name" in changes:
        rename_channel(tx, workspace_id, uuid, check_name(changes["name"]))
    if "allow_international" in changes:
        set_international(tx, workspace_id, uuid, is_allowed=changes["allow_international"])
    set_terms(tx, workspace_id, uuid, changes)
    if "messages_per_second" in changes:
        set_limit(tx, workspace_id, uuid, changes["messages_per_second"])
    if FIELD in changes or PRESET_FIELD in changes:
        change_config(tx, workspace_id, uuid, changes.get(FIELD) or {}, networks, changes.get(PRESET_FIELD))
    if changes.get("rotate_secret"):
        rotate_gateway_secret(tx, workspace_id, uuid, ends_former=bool(changes.get("end_former_secret")))
    return read_channel_settings(tx, workspace_id, uuid)


def read_channel_settings(tx: Transaction, workspace_id: int, uuid: str) -> str:
    """The settings of a channel as JSON text, without what may hold secrets, because responses are stored for repeated
    requests. Raises RecordMissing.
    """
    tx.flush()
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    chosen = Selection(SETTINGS_ROW, join_connection(), channel.c.id, Order(channel.c.id, channel.c.id), [mine])
    found = read_all(tx, chosen)
    if not found:
        raise RecordMissing
    return write_record(_describe(tx, orjson.loads(found[0]) | {"secret": None}, "", MAY_HOLD_SECRETS))


def describe_settings(tx: Transaction, workspace_id: int, row: Shown, root: str) -> Shown:
    """The record made from what CHANNEL_SETTINGS reads; `root` is the URL of the service. Phones have no settings. The
    audit log tells who reads a secret."""
    if row["secret"] and row["type"] in GATEWAYS:
        tell_deed(tx, workspace_id, "channels", READ, row["uuid"], row["name"] or "", {"secret": [None, "hidden"]})
    return _describe(tx, row, root, SECRET_KINDS)


def callback_path(channel_type: str, channel_uuid: str, secret: str) -> str:
    """The path that a gateway calls, followed by an action."""
    return TYPES[channel_type].callback_path.format(uuid=channel_uuid, secret=secret)


def new_gateway_secret() -> str:
    """A secret of letters, digits, hyphens and underscores, because it is part of a URL."""
    return secrets.token_urlsafe(SECRET_BYTES)


def is_one_of(secrets_in_force: list[str | None], given: str | None) -> bool:
    """Whether a call contains one of these secrets, compared in constant time."""
    compared = [hmac.compare_digest((given or "").encode(), secret.encode()) for secret in secrets_in_force if secret]
    return any(compared)


def read_gateway_secret(tx: Transaction, workspace_id: int, channel_uuid: str) -> str:
    """The current secret of a gateway, for somebody of whom the audit log tells. Raises RecordMissing, and Refused if
    it cannot be decrypted."""
    _, sealed = _lock_gateway(tx, workspace_id, channel_uuid)
    secret: str | None = open_or_none(tx.dialect, channel.c.secret, sealed)
    if secret is None:
        raise Refused("The secret of this gateway cannot be decrypted; give it a new one.")
    tell_deed(tx, workspace_id, "channels", READ, channel_uuid, changes={"secret": [None, "hidden"]})
    return secret


def rotate_gateway_secret(tx: Transaction, workspace_id: int, channel_uuid: str, *, ends_former: bool = False) -> str:
    """Gives a gateway a new secret, which is returned; the former one is valid for one more day unless it is ended.
    Raises RecordMissing.
    """
    channel_id, sealed = _lock_gateway(tx, workspace_id, channel_uuid)
    secret = new_gateway_secret()
    former = None if ends_former else open_or_none(tx.dialect, channel.c.secret, sealed)
    values = {"secret": secret, "previous_secret": former, "secret_rotated_on": tx.now}
    tx.execute(update(channel).where(channel.c.id == channel_id).values(**values))
    connect_channel(tx, workspace_id, channel_uuid)
    return secret


def set_international(tx: Transaction, workspace_id: int, channel_uuid: str, *, is_allowed: bool) -> None:
    """Sets whether an active channel is also used for numbers of other countries. Raises RecordMissing."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    changing = update(channel).where(mine).values(allow_international=is_allowed).returning(channel.c.id)
    if tx.execute(changing).scalar_one_or_none() is None:
        raise RecordMissing


def set_limit(tx: Transaction, workspace_id: int, channel_uuid: str, per_second: float | None) -> None:
    """Sets the rate limit of a gateway; None removes it. Raises RecordMissing."""
    channel_id, _ = _lock_gateway(tx, workspace_id, channel_uuid)
    limit = {"messages_per_second": per_second, "paced_until": None}
    tx.execute(update(channel).where(channel.c.id == channel_id).values(**limit))


def add_gateway(
    tx: Transaction, workspace_id: int, new: Mapping[str, Any], networks: Networks = None
) -> tuple[str, str]:
    """Creates a gateway from its `type` or `preset` with its `fields`, its `name`, `address` and, perhaps, `country`,
    `scheme`, `settings` (as texts), `messages_per_second`, `allow_international` and terms; returns its UUID and the
    secret of its own calls. Raises InvalidInput, LimitReached.
    """
    preset = new.get(PRESET)
    for needed in ("name", "address") if preset else ("type", "name", "address"):
        if needed not in new:
            raise InvalidInput.on(needed, "A value is required.", "required")
    channel_type = new.get("type") or PRESET_TYPE
    scheme, country = new.get("scheme", SCHEME), new.get("country") or None
    if channel_type not in GATEWAYS:
        known = f"One of these: {', '.join(GATEWAYS)}; not {told(channel_type)}."
        raise InvalidInput.on("type", CLAIMED if channel_type in TYPES else known, "not_one_of")
    schemes = TYPES[channel_type].schemes
    if scheme not in schemes:
        sentence = f"{told(scheme)} is no scheme of this type; it has {', '.join(schemes)}."
        raise InvalidInput.on("scheme", sentence, "not_one_of")
    if country is not None and not is_country(country):
        raise InvalidInput.on("country", f"{told(country)} is not the code of a country: two letters, such as RW.")
    secret = new_gateway_secret()
    values: dict[str, Any] = {
        "name": check_name(new["name"]),
        "address": check_name(new["address"], "address", ADDRESS_LENGTH),
        "country": country,
        "schemes": [scheme],
        "config": _read_new_config(channel_type, new, networks),
        "secret": secret,
        "messages_per_second": new.get("messages_per_second", TYPES[channel_type].rate),
        "allow_international": bool(new.get("allow_international")),
        **read_terms(new),
    }
    hold_workspace(tx, workspace_id)
    mine = (channel.c.workspace_id == workspace_id) & IS_GATEWAY & channel.c.is_active
    if tx.execute(select(func.count()).where(mine)).scalar_one() >= OBJECTS_PER_WORKSPACE:
        raise LimitReached(f"A workspace has at most {OBJECTS_PER_WORKSPACE} gateways.")
    uuid = create_gateway(tx, workspace_id, channel_type, **values)
    connect_channel(tx, workspace_id, uuid)
    return uuid, secret


def find_preset(tx: Transaction, workspace_id: int, uuid: str) -> str | None:
    """The name of the preset that a gateway was made from. Raises RecordMissing."""
    channel_id, _ = _lock_gateway(tx, workspace_id, uuid)
    sealed = tx.execute(select(sealed_text(channel.c.config)).where(channel.c.id == channel_id)).scalar_one()
    return (open_or_none(tx.dialect, channel.c.config, sealed) or {}).get(PRESET)


def _read_new_config(channel_type: str, new: Mapping[str, Any], networks: Networks) -> dict[str, Any]:
    fields = new.get(PRESET_FIELD) or {}
    if not new.get(PRESET):
        if fields:
            raise _refusal(sorted(fields)[0], "Only presets have fields; give its name as preset.", PRESET_FIELD)
        return read_config(channel_type, new.get(FIELD) or {}, networks=networks)
    if channel_type != PRESET_TYPE:
        raise InvalidInput.on(PRESET, f"Presets are for channels of the type {PRESET_TYPE}.")
    if new[PRESET] not in list_presets():
        raise InvalidInput.on(
            PRESET, f"One of these: {', '.join(list_presets())}; not {told(new[PRESET])}.", "not_one_of"
        )
    former = change_preset(channel_type, fields, {PRESET: new[PRESET]}, networks)
    return read_config(channel_type, new.get(FIELD) or {}, former, networks)


def change_preset(
    channel_type: str, given: Mapping[str, Any], former: Mapping[str, Any], networks: Networks = None
) -> dict[str, Any]:
    """The stored settings of a channel after fields of its preset changed: those settings that depend on them follow.
    None gives a field its default, HIDDEN leaves it as it is. Raises InvalidInput.
    """
    if former.get(PRESET) not in list_presets():
        raise _refusal(sorted(given)[0], "This channel was not made from a preset; it has settings.", PRESET_FIELD)
    preset = read_preset(former[PRESET])
    known = {each.name: each for each in preset.fields}
    for name in sorted(given.keys() - known.keys()):
        sentence = f"The preset {preset.name} has no such field; it has {', '.join(known)}."
        raise _refusal(name, sentence, PRESET_FIELD)
    had = former.get(PRESET_VALUES)
    changed = {name: str(value or "") for name, value in given.items() if not (value == HIDDEN and had and name in had)}
    values = {name: value for name, value in {**(had or {}), **changed}.items() if value.strip()}
    for name, each in known.items():
        if each.is_required and name not in values:
            raise _refusal(name, f"This field is required: {each.help}.", PRESET_FIELD)
        if CONTROL.search(values.get(name, "").strip()):
            raise _refusal(name, "A field is one line of text, without control characters.", PRESET_FIELD)
    only = None if had is None else frozenset(changed)
    begun = None if had is None else former
    try:
        config = read_config(channel_type, preset.fill(values, only), begun, networks)
    except InvalidInput as error:
        raise _blame_field(preset, error) from error
    return {**config, PRESET: preset.name, PRESET_VALUES: values}


def _blame_field(preset: Preset, error: InvalidInput) -> InvalidInput:
    """A setting that is wrong because of what was given for a field is an error of that field."""
    name, sentences = next(iter(error.errors[FIELD].items()))
    fields = preset.list_fields(name)
    return InvalidInput({PRESET_FIELD: {fields[0]: sentences}}) if fields else error


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


def show_config(channel_type: str, config: Mapping[str, Any], hidden: Sequence[str] = SECRET_KINDS) -> dict[str, str]:
    """The settings that are set, as texts; HIDDEN for those of these kinds."""
    shown = {}
    for setting in TYPES[channel_type].settings:
        value = config.get(setting.name)
        if value is not None:
            shown[setting.name] = HIDDEN if setting.kind in hidden else setting_text(value)
    return shown


def show_fields(config: Mapping[str, Any], *, hides_all: bool = False) -> dict[str, str]:
    """What was given for the fields of a channel's preset; HIDDEN for secrets, or for all."""
    known = read_preset(config[PRESET]).fields if config.get(PRESET) in list_presets() else ()
    told_ones = set() if hides_all else {each.name for each in known if not each.is_secret}
    given = config.get(PRESET_VALUES) or {}
    return {name: value if name in told_ones else HIDDEN for name, value in given.items()}


def describe_presets() -> list[dict[str, Any]]:
    """All presets with what each asks for."""
    return [
        {
            "preset": each.name,
            "type": PRESET_TYPE,
            "title": each.title,
            "help": each.help,
            "statuses": list(each.statuses),
            "actions": list(each.actions),
            "fields": [
                {
                    "name": field.name,
                    "help": field.help,
                    "is_required": field.is_required,
                    "is_secret": field.is_secret,
                    "default": field.default or None,
                    "example": field.example,
                }
                for field in each.fields
            ],
        }
        for each in map(read_preset, list_presets())
    ]


def describe_types() -> list[dict[str, Any]]:
    """All types of channels with what can be set for each."""
    return [
        {
            "type": name,
            "title": each.title,
            "help": each.help,
            "is_phone": each.is_relayer,
            "callback": each.callback,
            "actions": list(each.actions),
            "schemes": list(each.schemes),
            "settings": [_describe_value(setting) for setting in each.settings],
        }
        for name, each in TYPES.items()
    ]


def setting_text(value: Any) -> str:
    """A stored value as people write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe(tx: Transaction, row: dict[str, Any], root: str, hidden: Sequence[str]) -> Shown:
    is_gateway = row["type"] in GATEWAYS
    secret = open_or_none(tx.dialect, channel.c.secret, row["secret"]) if is_gateway and row["secret"] else None
    config = open_or_none(tx.dialect, channel.c.config, row["config"]) if is_gateway and row["config"] else None
    embed = TYPES[row["type"]].embed if root else ""
    ends_on = None if row["rotated_on"] is None else datetime.fromisoformat(row["rotated_on"]) + OVERLAP
    return {
        "uuid": row["uuid"],
        "name": row["name"],
        "type": row["type"],
        "address": row["address"],
        "country": row["country"],
        "scheme": row["schemes"][0],
        "callback_url": None if secret is None else root + callback_path(row["type"], row["uuid"], secret),
        "secret": secret,
        "embed": embed.format(root=root, uuid=row["uuid"]) or None,
        "former_secret_until": time_text(ends_on) if ends_on is not None and ends_on > tx.now else None,
        "messages_per_second": row["messages_per_second"],
        "allow_international": row["allow_international"] in (None, True),
        **show_terms(row),
        "settings": show_config(row["type"], config or {}, hidden),
        PRESET: (config or {}).get(PRESET),
        PRESET_FIELD: show_fields(config or {}, hides_all=hidden is MAY_HOLD_SECRETS),
        "connection": row["connection"],
    }


def _lock_gateway(tx: Transaction, workspace_id: int, channel_uuid: str) -> tuple[int, str | None]:
    """The id of a gateway, whose row is locked, and its stored secret."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    statement = select(channel.c.id, sealed_text(channel.c.secret)).where(mine, IS_GATEWAY)
    row = tx.execute(statement.with_for_update(key_share=True)).first() if is_uuid(channel_uuid) else None
    if row is None:
        raise RecordMissing("No such gateway.")
    channel_id, sealed = row
    return channel_id, sealed


def _describe_value(setting: Setting) -> dict[str, Any]:
    least, most = setting.bounds if setting.kind == "number" else (None, None)
    return {
        "name": setting.name,
        "kind": setting.kind,
        "help": setting.help,
        "is_required": setting.is_required,
        "is_secret": setting.is_secret,
        "is_advanced": setting.is_advanced,
        "default": None if setting.default is None else setting_text(setting.default),
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
    if setting.check is not None:
        try:
            setting.check(text)
        except ValueError as error:
            raise _refusal(setting.name, f"{error}.") from error
    if "\x00" in text or (setting.is_header and not is_header_value(text)):
        raise _refusal(setting.name, NOT_IN_HEADER if setting.is_header else NO_NUL)
    return text


def _read_number(setting: Setting, text: str) -> int:
    least, most = setting.bounds
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
    if number is None or not least <= number <= most:
        raise _refusal(setting.name, f"A whole number from {least} to {most}, not {told(text)}.")
    return number


def _refusal(name: str, sentence: str, field: str = FIELD) -> InvalidInput:
    return InvalidInput({field: {name: [sentence]}})
