"""Reads modifiers, by which hosts request changes of contacts, and applies them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flows.engine.assets import Channel
from flows.engine.contact import STATUSES
from flows.engine.errors import ModifierError
from flows.engine.input_schemas import MODIFIER, Required, find_mismatch
from flows.engine.modifiers.editor import (
    APPEND,
    REMOVE,
    SET,
    ContactEditor,
    Route,
    add_note,
    add_to_groups,
    assign_ticket,
    change_field,
    change_last_seen,
    change_name,
    change_property,
    change_routes,
    change_ticket_topic,
    close_ticket,
    open_ticket,
    prefer_channel,
    read_urn,
    remove_from_groups,
    reopen_ticket,
    set_affinity,
)
from flows.environment import is_timezone, parse_moment
from flows.languages import is_language

T = TypeVar("T")


def apply_modifier(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    """Applies one modifier `{type, ...}` to the editor's contact and updates its smart groups; returns whether it
    changed.

    Types: name, language, timezone, status, seen, field, groups (modification add or remove), urns and routes (append,
    remove or set), affinity, channel, ticket_open, ticket_note, ticket_close, ticket_reopen, ticket_assignee and
    ticket_topic. Raises ModifierError for a modifier that cannot be read; then the contact is not changed.
    """
    mismatch = find_mismatch(modifier, Required(MODIFIER))
    if mismatch:
        raise ModifierError(f"modifier cannot be read: {mismatch} is missing or of another type")
    apply = _APPLIERS.get(str(modifier.get("type")))
    if apply is None:
        raise ModifierError(f"{modifier.get('type')!r} is not a type of modifier")
    given = {name: value for name, value in modifier.items() if value is not None}  # null is as good as missing
    try:
        changed = apply(editor, given)
    except KeyError as error:
        raise ModifierError(f"{modifier['type']} modifier cannot be read: {error!r}") from error
    if changed:
        editor.update_groups()
    return changed


def _language(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    language = modifier.get("language") or ""
    if language and not is_language(language):
        raise ModifierError(f"{language!r} is not a language code")
    return change_property(editor, "language", language)


def _timezone(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    timezone = modifier.get("timezone") or ""
    if timezone and not is_timezone(timezone):
        raise ModifierError(f"{timezone!r} is not a timezone")
    return change_property(editor, "timezone", timezone)


def _status(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    if modifier["status"] not in STATUSES:
        raise ModifierError(f"{modifier['status']!r} is not a status of contacts")
    return change_property(editor, "status", modifier["status"])


def _seen(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    if parse_moment(modifier["seen_on"] or "") is None:
        raise ModifierError(f"{modifier['seen_on']!r} is not a moment")
    return change_last_seen(editor, modifier["seen_on"])


def _field(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    field = _find(editor, "field", editor.assets.fields, modifier["field"], "key")
    value = modifier.get("value") or ""
    text = value if isinstance(value, str) else value.get("text") or ""
    return field is not None and change_field(editor, field, text)


def _groups(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    found = [_find(editor, "group", editor.assets.groups, reference) for reference in modifier["groups"]]
    groups = [group for group in found if group is not None]
    if modifier["modification"] not in ("add", "remove"):
        raise ModifierError(f"{modifier['modification']!r} is not a modification of groups")
    is_adding = modifier["modification"] == "add"
    return add_to_groups(editor, groups) if is_adding else remove_from_groups(editor, groups)


def _urns(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    return _change_routes(editor, [(str(urn), None) for urn in modifier["urns"]], modifier["modification"])


def _routes(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    routes: list[Route] = []
    for route in modifier["routes"]:
        routes.append((str(route["urn"]), _find_channel(editor, route.get("channel"))))
    return _change_routes(editor, routes, modifier["modification"])


def _change_routes(editor: ContactEditor, routes: list[Route], modification: str) -> bool:
    if modification not in (APPEND, REMOVE, SET):
        raise ModifierError(f"{modification!r} is not a modification of addresses")
    return change_routes(editor, routes, modification)


def _affinity(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    urn = read_urn(editor, modifier["urn"])
    channel = _find_channel(editor, modifier.get("channel"))
    return urn is not None and set_affinity(editor, urn, channel)


def _channel(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    reference = modifier.get("channel")
    channel = _find_channel(editor, reference)
    return (channel is not None or not reference) and prefer_channel(editor, channel)


def _ticket_open(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    topic = _find(editor, "topic", editor.assets.topics, modifier["topic"])
    assignee = modifier.get("assignee")
    user = _find(editor, "user", editor.assets.users, assignee) if assignee else None
    return topic is not None and open_ticket(editor, topic, user, modifier.get("note") or "") is not None


def _ticket_note(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    if not modifier.get("note"):
        raise ModifierError("a note has a text")
    return add_note(editor, modifier["ticket_uuid"], modifier["note"])


def _ticket_assignee(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    assignee = modifier.get("assignee")
    user = _find(editor, "user", editor.assets.users, assignee) if assignee else None
    return (user is not None or not assignee) and assign_ticket(editor, modifier["ticket_uuid"], user)


def _ticket_topic(editor: ContactEditor, modifier: Mapping[str, Any]) -> bool:
    topic = _find(editor, "topic", editor.assets.topics, modifier["topic"])
    return topic is not None and change_ticket_topic(editor, modifier["ticket_uuid"], topic)


def _find_channel(editor: ContactEditor, reference: Mapping[str, Any] | None) -> Channel | None:
    return _find(editor, "channel", editor.assets.channels, reference) if reference else None


def _find(
    editor: ContactEditor, kind: str, assets: Mapping[str, T], reference: Mapping[str, Any], key: str = "uuid"
) -> T | None:
    found = assets.get(reference[key])
    if found is None:
        editor.log.missing_dependency(kind, reference)
    return found


_APPLIERS: dict[str, Callable[[ContactEditor, Mapping[str, Any]], bool]] = {
    "affinity": _affinity,
    "channel": _channel,
    "field": _field,
    "groups": _groups,
    "language": _language,
    "name": lambda editor, modifier: change_name(editor, modifier.get("name") or ""),
    "routes": _routes,
    "seen": _seen,
    "status": _status,
    "ticket_assignee": _ticket_assignee,
    "ticket_close": lambda editor, modifier: close_ticket(editor, modifier["ticket_uuid"]),
    "ticket_note": _ticket_note,
    "ticket_open": _ticket_open,
    "ticket_reopen": lambda editor, modifier: reopen_ticket(editor, modifier["ticket_uuid"]),
    "ticket_topic": _ticket_topic,
    "timezone": _timezone,
    "urns": _urns,
}
