"""Reads export files of every supported version (flow format, export files)."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flows.definition.errors import DefinitionError
from flows.definition.exports.model import (
    FILE_VERSION,
    KEYWORD_TRIGGER,
    SAME_TIME,
    ExportedCampaign,
    ExportedEvent,
    ExportedField,
    ExportedGroup,
    ExportedTrigger,
    ExportError,
    ExportFile,
    Named,
    SkippedTrigger,
)
from flows.definition.exports.selection import clean_names
from flows.definition.exports.updating import update_file
from flows.definition.legacy.definitions import is_legacy
from flows.definition.raw_parts import JsonObject, is_uuid, read_text
from flows.definition.reading import load
from flows.languages import is_language_of_translations
from flows.words import told

OLDEST_FILE, NEWEST_FILE = 3, 13
MOST_FLOWS, NAME_LENGTH, KEY_LENGTH = 1000, 64, 36
PARTS = ("flows", "campaigns", "triggers", "fields", "groups")
UNDETERMINED = "und"
HOURS = range(24)
UNITS = frozenset("MHDW")
START_MODES = frozenset("ISP")
MATCH_TYPES = frozenset("FO")
# Keyword, catch-all, inbound and missed call, new conversation, referral, closed ticket, opt-in and opt-out.
TRIGGER_TYPES = frozenset("KCVMNRTIO")
SCHEDULED_TRIGGER = "S"
FIELD_TYPES = {
    **{name: name for name in ("text", "number", "datetime", "state", "district", "ward")},
    "numeric": "number",
}
_VERSION = re.compile(r"([0-9]{1,3})(\.[0-9]{1,3}){0,2}")

T = TypeVar("T")


def read_export(given: object, *, media_url: str = "") -> ExportFile:
    """The content of an export file, or of one definition, with flows in the newest version. Names that no workspace
    can have are cleaned, see `clean_names`; unsupported triggers are skipped. Relative URLs of old flows' attachments
    are resolved against `media_url`. Raises ExportError for files of versions before 3 or after 13, and for everything
    else that cannot be imported; for flows its place contains node, action and field.
    """
    if not isinstance(given, Mapping):
        raise ExportError(f"an export file is an object, not {told(given)}")
    if is_definition(given):
        given = {"version": FILE_VERSION, "flows": [given]}
    _check_version(given.get("version"))
    if not any(part in given for part in PARTS):
        raise ExportError("this is neither an export file nor a flow")
    content = update_file(given)
    renamed = clean_names(content)
    triggers, skipped = _read_triggers(content)
    site = content.get("site")
    return ExportFile(
        site=site if isinstance(site, str) else "",
        flows=_read_list(content, "flows", lambda flow, place: _read_flow(flow, place, media_url)),
        campaigns=_read_list(content, "campaigns", _read_campaign),
        triggers=triggers,
        fields=_read_list(content, "fields", _read_field),
        groups=_read_list(content, "groups", _read_group),
        renamed=renamed,
        skipped=skipped,
    )


def is_definition(given: Mapping[str, Any]) -> bool:
    """Whether a document is one definition rather than an export file."""
    return "flows" not in given and ("nodes" in given or "definition" in given or is_legacy(given))


def _check_version(version: Any) -> None:
    if version is None:
        raise ExportError("is missing; this is neither an export file nor the definition of a flow", "version")
    if isinstance(version, str):
        found = _VERSION.fullmatch(version)
        major = int(found[1]) if found else None
    else:
        # Old files have numbers instead of strings.
        is_number = isinstance(version, (int, float)) and not isinstance(version, bool)
        major = version if is_number else None
    if major is None:
        raise ExportError(f"{told(version)} is not a version such as 13", "version")
    if not OLDEST_FILE <= major < NEWEST_FILE + 1:
        raise ExportError(f"is {told(version)}; only versions {OLDEST_FILE} to {NEWEST_FILE} can be read", "version")


def _read_list(given: Mapping[str, Any], key: str, read: Callable[[JsonObject, str], T], at: str = "") -> tuple[T, ...]:
    items = given.get(key)
    if items is None:
        return ()
    if not isinstance(items, list) or len(items) > MOST_FLOWS:
        given_here = f"has {len(items)} entries" if isinstance(items, list) else f"is {told(items)}"
        raise ExportError(f"{given_here}; a list of up to {MOST_FLOWS} is needed", at + key)
    places = [f"{at}{key}[{position}]" for position in range(len(items))]
    for item, place in zip(items, places, strict=True):
        if not isinstance(item, dict):
            raise ExportError(f"is {told(item)}; an object is needed", place)
    return tuple(read(item, place) for item, place in zip(items, places, strict=True))


def _read_flow(given: JsonObject, place: str, media_url: str) -> Mapping[str, Any]:
    try:
        return load(given, media_url=media_url, is_own=True).raw
    except DefinitionError as error:
        raise ExportError(str(error), place) from error


def _read_campaign(given: JsonObject, place: str) -> ExportedCampaign:
    return ExportedCampaign(
        uuid=read_text(given, "uuid"),
        name=_read_name(given, place),
        group=_read_named(given.get("group"), f"{place}.group"),
        events=_read_list(given, "events", _read_event, f"{place}."),
    )


def _read_event(given: JsonObject, place: str) -> ExportedEvent:
    offset, hour = given.get("offset", 0), given.get("delivery_hour", SAME_TIME)
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise ExportError(f"{told(offset)} is not a whole number", f"{place}.offset")
    if isinstance(hour, bool) or not isinstance(hour, int) or not (hour == SAME_TIME or hour in HOURS):
        raise ExportError(f"{told(hour)} is no hour from 0 to 23, or -1 for the same time", f"{place}.delivery_hour")
    kind = _read_choice(given, "event_type", frozenset("FM"), "F", place)
    # A message was once a separate flow; starting that flow sends it.
    has_message = kind == "M" and bool(given.get("message") or not given.get("flow"))
    message = _read_message(given, place) if has_message else None
    return ExportedEvent(
        uuid=read_text(given, "uuid"),
        offset=offset,
        unit=_read_choice(given, "unit", UNITS, "D", place),
        delivery_hour=hour,
        relative_to=_read_date_field(given.get("relative_to"), f"{place}.relative_to"),
        start_mode=_read_choice(given, "start_mode", START_MODES, "I", place),
        flow=None if message else _read_named(given.get("flow"), f"{place}.flow"),
        message=message,
        base_language=_find_base_language(given, message) if message else "",
    )


def _read_message(given: JsonObject, place: str) -> Mapping[str, str]:
    message = given.get("message")
    if isinstance(message, str) and message:
        # In old files there is one text, in the language of the workspace.
        return {UNDETERMINED: message}
    texts = message if isinstance(message, dict) else {}
    if not texts or not all(isinstance(text, str) for text in texts.values()):
        raise ExportError(
            f'is {told(message)}; texts by language are needed, such as {{"eng": "Hello"}}', f"{place}.message"
        )
    # In old files texts for contacts without a language are under `base`.
    return {_name_language(language): text for language, text in texts.items()}


def _name_language(language: str) -> str:
    return language if is_language_of_translations(language) else UNDETERMINED


def _find_base_language(given: JsonObject, message: Mapping[str, str]) -> str:
    language = _name_language(read_text(given, "base_language"))
    return language if language in message else next(iter(message))


def _read_date_field(given: object, place: str) -> ExportedField:
    field = given if isinstance(given, dict) else {}
    key = read_text(field, "key")
    if not key or len(key) > KEY_LENGTH:
        raise ExportError(f"an object with a key of up to {KEY_LENGTH} characters is needed", place)
    return ExportedField(key, read_text(field, "label") or read_text(field, "name") or key, "datetime")


def _read_triggers(content: JsonObject) -> tuple[tuple[ExportedTrigger, ...], tuple[SkippedTrigger, ...]]:
    """The triggers, and those that cannot be read, which are no reason to refuse all flows."""
    triggers: list[ExportedTrigger] = []
    skipped: list[SkippedTrigger] = []
    for given, place in _read_list(content, "triggers", lambda given, place: (given, place)):
        kind, flow = read_text(given, "trigger_type"), given.get("flow")
        if kind == SCHEDULED_TRIGGER:
            # Schedules are not exported any more; old files may have some, without the times.
            continue
        try:
            triggers.append(_read_trigger(given, place))
        except ExportError as error:
            skipped.append(SkippedTrigger(kind, flow if isinstance(flow, dict) else {}, str(error)))
    return tuple(triggers), tuple(skipped)


def _read_trigger(given: JsonObject, place: str) -> ExportedTrigger:
    kind = _read_choice(given, "trigger_type", TRIGGER_TYPES, "", place)
    keywords = given.get("keywords") if "keywords" in given else [given.get("keyword")]
    is_by_keyword = kind == KEYWORD_TRIGGER
    texts = keywords if isinstance(keywords, list) else []
    if is_by_keyword and not (texts and all(isinstance(text, str) and text for text in texts)):
        raise ExportError(f"is {told(keywords)}; a list of words is needed", f"{place}.keywords")
    channel = given.get("channel")
    # In some versions the channel is a plain UUID.
    channel = {"uuid": channel} if isinstance(channel, str) else channel
    return ExportedTrigger(
        type=kind,
        flow=_read_named(given.get("flow"), f"{place}.flow"),
        channel=_read_named(channel, f"{place}.channel", needs_name=False) if channel else None,
        groups=_read_list(given, "groups", _read_named, f"{place}."),
        exclude_groups=_read_list(given, "exclude_groups", _read_named, f"{place}."),
        keywords=tuple(texts) if is_by_keyword else (),
        match_type=_read_choice(given, "match_type", MATCH_TYPES, "F", place) if is_by_keyword else "",
    )


def _read_field(given: JsonObject, place: str) -> ExportedField:
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in FIELD_TYPES:
        raise ExportError(f"{told(kind)} is none of {', '.join(sorted(FIELD_TYPES))}", f"{place}.type")
    key = read_text(given, "key")
    if not key or len(key) > KEY_LENGTH:
        raise ExportError(
            f"{told(given.get('key'))} is not a key: a text of 1 to {KEY_LENGTH} characters is needed", f"{place}.key"
        )
    return ExportedField(key, read_text(given, "name") or key, FIELD_TYPES[kind])


def _read_group(given: JsonObject, place: str) -> ExportedGroup:
    named = _read_named(given, place)
    return ExportedGroup(named.uuid, named.name, read_text(given, "query") or None)


def _read_named(given: object, place: str, *, needs_name: bool = True) -> Named:
    if not isinstance(given, dict):
        raise ExportError(f"is {told(given)}; an object with uuid and name is needed", place)
    uuid = given.get("uuid")
    return Named(uuid if isinstance(uuid, str) and is_uuid(uuid) else "", _read_name(given, place, required=needs_name))


def _read_name(given: JsonObject, place: str, *, required: bool = True) -> str:
    name = read_text(given, "name")
    if (required and not name) or len(name) > NAME_LENGTH:
        raise ExportError(
            f"{told(given.get('name'))} is not a name: a text of 1 to {NAME_LENGTH} characters is needed",
            f"{place}.name",
        )
    return name


def _read_choice(given: JsonObject, key: str, choices: frozenset[str], default: str, place: str) -> str:
    value = given.get(key) or default
    if not isinstance(value, str) or value not in choices:
        raise ExportError(f"{told(value)} is none of {', '.join(sorted(choices))}", f"{place}.{key}")
    return value
