"""`relayboard channel list|show|check|claim|change|limit|secret|webhook|release|health|alarms|calls`, and the settings
of gateways from options.
"""

import sys
import time
from typing import Any

import orjson

from channels.declaration import Setting
from channels.presets import read_preset
from channels.types import GATEWAYS, TYPES
from persistence.channels.channels import (
    find_channel_owner,
    find_channel_workspace,
    list_channel_facts,
    read_claimed,
    rename_channel,
    rotate_webhook_secret,
    set_channel_webhook,
    switch_on_webhook,
)
from persistence.channels.checks import CHECK, CONNECT, FAILED, WAITING, ask_provider, read_check
from persistence.channels.health import ALARMS, GATEWAY_CALLS, find_connections, read_health
from persistence.channels.settings import (
    add_gateway,
    callback_path,
    change_config,
    find_preset,
    read_gateway_secret,
    rotate_gateway_secret,
    set_international,
    set_limit,
)
from persistence.channels.terms import COLUMNS, set_terms
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.lists import ListQuery, ListSpec, fetch_list
from persistence.sql.columns import is_uuid
from persistence.sql.names import check_name
from relayboard.base.settings import load_settings
from relayboard.commands.countries import read_country
from relayboard.commands.output import CommandFailed, opened_database, print_json, reading_in, writing_in
from relayboard.commands.secret_input import given_text, read_secret, read_text
from relayboard.usage.parts import Options

POLL_SECONDS = 0.2


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(_list_facts(tx, workspace.id))


def run_show(options: Options) -> None:
    with opened_database() as database, database.reading() as tx:
        print_json(_facts(tx, options.channel))


def run_change(options: Options) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace_id, channel_type = _find_channel(tx, options.channel)
        terms = _read_terms(options) | dict.fromkeys(name for name in options.reset if name in COLUMNS)
        given = read_settings(options, channel_type)
        given |= dict.fromkeys(name for name in options.reset if name not in COLUMNS)
        has_fields = bool(options.set_values or options.set_files)
        is_changed = bool(given or terms or has_fields)
        if options.name is None and options.allow_international is None and not is_changed:
            raise CommandFailed("say what to change: --name, --allow-international, or another setting")
        if options.name is not None:
            rename_channel(tx, workspace_id, options.channel, check_name(options.name))
        if options.allow_international is not None:
            is_allowed = options.allow_international == "yes"
            set_international(tx, workspace_id, options.channel, is_allowed=is_allowed)
        set_terms(tx, workspace_id, options.channel, terms)
        if given or has_fields:
            preset = find_preset(tx, workspace_id, options.channel) if has_fields else None
            fields = read_fields(options, preset)
            change_config(tx, workspace_id, options.channel, given, load_settings().webhook_allowed_networks, fields)
        facts = _facts(tx, options.channel)
    print_json(facts)


def run_check(options: Options) -> None:
    kind = CONNECT if options.connect else CHECK
    ends_at = time.monotonic() + options.wait
    with opened_database() as database:
        with database.writing() as tx:
            workspace_id, _ = _find_channel(tx, options.channel)
            asked = ask_provider(tx, workspace_id, options.channel, kind)
        while True:
            with database.reading() as tx:
                record = orjson.loads(read_check(tx, workspace_id, asked))
            if record["state"] != WAITING or time.monotonic() >= ends_at:
                break
            time.sleep(POLL_SECONDS)
    print_json(record)
    if record["state"] == FAILED:
        raise CommandFailed("the provider did not accept it")


def run_claim(options: Options) -> None:
    from persistence.relayers.relayers import claim_phone  # it loads phone numbers and smart groups

    with writing_in(options) as (tx, found):
        name = None if options.name is None else check_name(options.name)
        code, phone = options.claim_code, options.phone
        claim = claim_phone(tx, found, code, phone, name, is_second=options.second_phone)
        record = read_claimed(tx, found.id, claim.channel_id)
    print_json({**record, **claim.told})


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
    print_json({"channel": options.channel, "secret": secret, "callback_path": path, "callback_url": _public(path)})


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
        networks = load_settings().webhook_allowed_networks
        signing = set_channel_webhook(tx, workspace_id, options.channel, url, events, networks)
    print_json({"channel": options.channel, "url": url, "events": events, "secret": signing})


def run_release(options: Options) -> None:
    from persistence.relayers.relayers import release_channel  # see above

    with opened_database() as database, database.writing() as tx:
        workspace_id, _ = _find_channel(tx, options.channel)
        try:
            unsent = release_channel(tx, workspace_id, options.channel)
        except RecordMissing as error:
            raise CommandFailed("the channel is released already") from error
    print_json({"released": options.channel, **unsent._asdict()})


def run_health(options: Options) -> None:
    with opened_database() as database, database.reading() as tx:
        workspace_id = find_channel_workspace(tx, options.channel)
        try:
            health = None if workspace_id is None else read_health(tx, workspace_id, options.channel.lower())
        except RecordMissing:
            health = None
    if health is None:
        raise CommandFailed(f"there is no channel {options.channel}")
    print_json(health)


def run_alarms(options: Options) -> None:
    _print_list(options, ALARMS, ("channel",))


def run_calls(options: Options) -> None:
    _print_list(options, GATEWAY_CALLS, ("channel", "outcome", "direction"))


def _read_terms(options: Options) -> dict[str, Any]:
    """The settings of channels of all types that are given."""
    given = {name: getattr(options, name) for name in COLUMNS if getattr(options, name) is not None}
    return given | ({"transliterate": given["transliterate"] == "yes"} if "transliterate" in given else {})


def read_settings(options: Options, channel_type: str) -> dict[str, Any]:
    """The settings of a type that are given. Raises CommandFailed for one that only other types have."""
    own = {setting.name: setting for setting in TYPES[channel_type].settings}
    flags = {setting.flag for setting in own.values()}
    for setting in (each for name in GATEWAYS for each in TYPES[name].settings):
        if setting.flag not in flags and _is_given(options, setting):
            raise CommandFailed(f"{setting.flag} is not a setting of the type {channel_type}")
    given = {name: _given_setting(options, setting) for name, setting in own.items()}
    return {name: value for name, value in given.items() if value is not None}


def read_fields(options: Options, preset: str | None) -> dict[str, str]:
    """What is given for the fields of a preset, from arguments or files. Raises CommandFailed."""
    if preset is None and (options.set_values or options.set_files):
        raise CommandFailed("--set and --set-file are for fields of a preset, and there is none: see --preset")
    known = {} if preset is None else {each.name: each for each in read_preset(preset).fields}
    given = {}
    for flag, texts in (("--set", options.set_values), ("--set-file", options.set_files)):
        for text in texts:
            name, mark, value = text.partition("=")
            if not mark or not name or name not in known:
                raise CommandFailed(f"{flag} takes one of {', '.join(known)}, an equals sign and its value")
            if flag == "--set" and known[name].is_secret:
                raise CommandFailed(f"{name} is a secret: give it by --set-file {name}=FILE")
            given[name] = value if flag == "--set" else read_secret(value)
    return given


def run_create(options: Options) -> None:
    new = {name: getattr(options, name) for name in ("type", "name", "address", "scheme", "messages_per_second")}
    if options.preset is not None:
        new["preset"] = options.preset
    new["fields"] = read_fields(options, options.preset)
    new |= {"country": read_country(options.country), "settings": read_settings(options, options.type)}
    new |= {"allow_international": options.allow_international, **_read_terms(options)}
    networks = load_settings().webhook_allowed_networks
    with writing_in(options) as (tx, workspace):
        uuid, secret = add_gateway(tx, workspace.id, new, networks)
    path = callback_path(options.type, uuid, secret)
    paths = {"receive_path": f"{path}receive", "callback_path": path, "callback_url": _public(path)}
    print_json({"uuid": uuid, "name": options.name.strip(), **paths})
    if TYPES[options.type].callback == "told" and not load_settings().base_url:
        sys.stderr.write(
            "warning: the provider is not told where to deliver what people write: set RELAYBOARD_BASE_URL, start the "
            f"service anew, then run relayboard channel check --channel {uuid} --connect\n"
        )


def _public(path: str) -> str | None:
    """The URL of a path, if the service knows its own."""
    root = load_settings().base_url.rstrip("/")
    return root + path if root else None


def _list_facts(tx: Transaction, workspace_id: int, uuid: str | None = None) -> list[dict[str, Any]]:
    """What is known of active channels, with the state of their connections."""
    kept = find_connections(tx, workspace_id)
    return [each | {"connection": kept.get(each["id"])} for each in list_channel_facts(tx, workspace_id, uuid)]


def _facts(tx: Transaction, uuid: str) -> dict[str, Any]:
    """What is known of an active channel. Raises CommandFailed."""
    facts = _list_facts(tx, _find_channel(tx, uuid)[0], uuid.lower())
    if not facts:
        raise CommandFailed(f"the channel {uuid} is released")
    return facts[0]


def _find_channel(tx: Transaction, channel_uuid: str) -> tuple[int, str]:
    """The workspace and the type of a channel. Raises CommandFailed."""
    if not is_uuid(channel_uuid):
        raise CommandFailed(f"there is no channel {channel_uuid}")
    found = find_channel_owner(tx, channel_uuid)
    if found is None:
        raise CommandFailed(f"there is no claimed channel {channel_uuid}")
    return found


def _print_list(options: Options, spec: ListSpec, filters: tuple[str, ...]) -> None:
    asked = {name: getattr(options, name) for name in filters}
    with reading_in(options) as (tx, workspace):
        if options.channel is not None and find_channel_workspace(tx, options.channel) != workspace.id:
            raise CommandFailed(f"there is no channel {options.channel}")
        given = {name: value for name, value in asked.items() if value is not None}
        page = fetch_list(ListQuery(tx, workspace, given), spec, None, options.limit)
    print_json([orjson.loads(record) for record in page.records])


def _is_given(options: Options, setting: Setting) -> bool:
    """Whether the command line has a setting, as text or as a file, which is not read."""
    name = _option_name(setting)
    return any(getattr(options, each, None) not in (None, False) for each in (name, f"{name}_file"))


def _option_name(setting: Setting) -> str:
    return setting.flag.removeprefix("--").replace("-", "_")


def _given_setting(options: Options, setting: Setting) -> Any:
    """The value of a setting, None if it is not given. Raises CommandFailed."""
    name = _option_name(setting)
    if setting.kind in ("text", "url"):
        return given_text(options, name)
    given = getattr(options, name)
    if setting.kind == "flag":
        return "true" if given else None
    if given is None or not setting.is_secret:
        return given
    return read_secret(given) if setting.kind == "secret" else read_text(given)
