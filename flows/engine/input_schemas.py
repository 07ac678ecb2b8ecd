"""The schemas of a host's input: contacts, triggers, resumes, modifiers, stored sessions, assets (flow format).

Checks the schema of plain data from hosts before it is used. A schema is a type of plain values, `ANYTHING`, a list
with the schema of its items, a mapping of property names to their schemas, `EachValue` for mappings with any names, or
a tuple of schemas of which one must match. Null matches everything except `Required`, and properties that are not in a
schema are ignored.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.expressions.conversions import VALUE_NESTING_LIMIT
from flows.places import LEVELS_MAX

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Required:
    """A schema of a value that must be present and not empty."""

    schema: Any


_REQUIRED_TEXT = Required(str)

# Some assets have a UUID, others a key, slug or e-mail address, and old references only a name.
REFERENCE: Schema = dict.fromkeys(("uuid", "name", "key", "email"), str)
FLOW_REFERENCE: Schema = {"uuid": _REQUIRED_TEXT, "name": str, "revision": int}
TICKET: Schema = {"uuid": _REQUIRED_TEXT, "status": str, "topic": REFERENCE, "assignee": REFERENCE, "body": str}
NUMBER = (int, float)
FIELD_VALUE: Schema = {
    "text": str,
    "number": (*NUMBER, str),
    **dict.fromkeys(("datetime", "state", "district", "ward"), str),
}


@dataclass(frozen=True, slots=True)
class EachValue:
    """A mapping of any names to values of one schema."""

    schema: Any


CONTACT: Schema = {
    "uuid": _REQUIRED_TEXT,
    "id": int,
    **dict.fromkeys(("name", "language", "status", "timezone", "created_on", "last_seen_on"), str),
    "urns": [Required(str)],
    "groups": [Required({"uuid": _REQUIRED_TEXT, "name": str})],
    "fields": EachValue(FIELD_VALUE),
    "tickets": [Required(TICKET)],
}
ENVIRONMENT: Schema = {
    **dict.fromkeys(("date_format", "time_format", "timezone", "default_country"), str),
    **dict.fromkeys(("input_collation", "redaction_policy"), str),
    "allowed_languages": [_REQUIRED_TEXT],
    "number_format": {"decimal_symbol": str, "digit_grouping_symbol": str},
}

ANYTHING = object()
MESSAGE: Schema = {
    **dict.fromkeys(("uuid", "text", "urn", "external_id"), str),
    "channel": REFERENCE,
    "attachments": [_REQUIRED_TEXT],
    "payload": EachValue(ANYTHING),
}
DIAL: Schema = {"status": str, "duration": NUMBER}
CALLBACK: Schema = {"body": str}
CALL: Schema = {"uuid": str, "urn": str, "channel": REFERENCE}
EVENT: Schema = {
    **dict.fromkeys(("uuid", "type", "created_on", "ticket_uuid"), str),
    **dict.fromkeys(("campaign", "channel", "optin"), REFERENCE),
    "msg": MESSAGE,
    "dial": DIAL,
    "callback": CALLBACK,
    "ticket": TICKET,
    "params": EachValue(ANYTHING),
}
RESULT: Schema = {
    **dict.fromkeys(("name", "value", "category", "category_localized"), str),
    **dict.fromkeys(("node_uuid", "input", "created_on"), str),
    "extra": ANYTHING,
}
TRIGGER: Schema = {
    **dict.fromkeys(("type", "triggered_on", "origin"), str),
    "flow": Required(FLOW_REFERENCE),
    "params": EachValue(ANYTHING),
    "batch": bool,
    "history": {"parent_uuid": str, "ancestors": int, "ancestors_since_input": int},
    "user": REFERENCE,
    "run_summary": {
        "uuid": str,
        "status": str,
        "flow": {**FLOW_REFERENCE, "uuid": str},
        "contact": CONTACT,
        "results": EachValue(Required(RESULT)),
    },
    "event": EVENT,
    "msg": MESSAGE,
    "ticket": TICKET,
    "keyword_match": {"type": str, "keyword": str},
    "connection": CALL,
    "call": CALL,
}
RESUME: Schema = {
    "type": str,
    "resumed_on": str,
    "event": EVENT,
    "msg": MESSAGE,
    "dial": DIAL,
    "callback": CALLBACK,
    "contact": CONTACT,
    "environment": ENVIRONMENT,
}
MODIFIER: Schema = {
    **dict.fromkeys(("type", "name", "language", "timezone", "status", "modification"), str),
    **dict.fromkeys(("urn", "ticket_uuid", "note", "seen_on"), str),
    **dict.fromkeys(("channel", "field", "topic", "assignee"), REFERENCE),
    "value": (str, {"text": str}),
    "groups": [Required(REFERENCE)],
    "urns": [_REQUIRED_TEXT],
    "routes": [Required({"urn": _REQUIRED_TEXT, "channel": REFERENCE})],
}
STEP: Schema = {"uuid": str, "node_uuid": _REQUIRED_TEXT, "arrived_on": _REQUIRED_TEXT, "exit_uuid": str}
RUN: Schema = {
    "uuid": _REQUIRED_TEXT,
    "flow": Required(FLOW_REFERENCE),
    "status": _REQUIRED_TEXT,
    **dict.fromkeys(("created_on", "modified_on", "exited_on", "parent_uuid"), str),
    "had_input": bool,
    "path": [Required(STEP)],
    "results": EachValue(Required(RESULT)),
    "locals": EachValue(str),
    "webhook": ANYTHING,
}
SESSION: Schema = {
    **dict.fromkeys(("uuid", "type", "status", "created_on"), _REQUIRED_TEXT),
    "generation": Required(int),
    "trigger": Required(TRIGGER),
    "contact": Required(CONTACT),
    "environment": ENVIRONMENT,
    "call": CALL,
    "input": {**MESSAGE, "type": str, "created_on": str},
    "runs": [Required(RUN)],
    "sprints": int,
    "pause": str,
    "callbacks": int,
    "pause_ended_on": str,
}

# One level more than allowed, so that the reader of places can report the error.
PLACE: Schema = {}


for _ in range(LEVELS_MAX + 1):
    PLACE = {"name": _REQUIRED_TEXT, "aliases": [str], "children": [Required(PLACE)]}


TEMPLATE_TRANSLATION: Schema = {
    "channel": REFERENCE,
    **dict.fromkeys(("locale", "language", "content", "namespace"), str),
    "components": [Required({"name": str, "type": str, "content": str, "variables": EachValue(int)})],
    "variables": [Required({"type": str})],
}
FLOW_TO_READ: Schema = {"uuid": str, "name": str, "metadata": {"uuid": str, "name": str}}
_PLAIN = (str, bool, int, float, list, tuple, Mapping)


def find_mismatch(value: object, schema: object) -> str:
    """The path to the first part of a value that does not match, or `value` for the whole value; empty if everything
    matches."""
    mismatch = _find(value, schema)
    return "" if mismatch is None else mismatch.removeprefix(".") or "value"


def _find(value: Any, schema: Any) -> str | None:
    """The path from a value to its first part that does not match; None if everything matches."""
    if isinstance(schema, Required):
        return _find(value, schema.schema) if value else ""
    if value is None:
        return None
    if schema is ANYTHING:
        return None if is_plain(value) else ""
    if isinstance(schema, tuple):
        mismatches = [_find(value, each) for each in schema]
        return None if None in mismatches else mismatches[-1]
    if isinstance(schema, type):
        return None if _is_of(value, schema) else ""
    if isinstance(schema, list):
        return _find_in_list(value, schema[0]) if isinstance(value, (list, tuple)) else ""
    if not isinstance(value, Mapping):
        return ""
    return _find_in_any(value, schema.schema) if isinstance(schema, EachValue) else _find_in_named(value, schema)


def is_plain(value: object) -> bool:
    """Whether a value can be written as JSON and used in expressions: only plain types, not nested too deeply."""
    parts = [value]
    for _ in range(VALUE_NESTING_LIMIT + 1):
        # Most parts are strings; triggers are checked so often that testing this first saves time.
        parts = [part for part in parts if type(part) is not str]
        if not all(part is None or isinstance(part, _PLAIN) for part in parts):
            return False
        if not all(math.isfinite(part) for part in parts if isinstance(part, float)):
            return False
        parts = [inner for part in parts for inner in _list_inner(part)]
        if not parts:
            return True
    return False


def _list_inner(part: object) -> Sequence[Any]:
    if isinstance(part, Mapping):
        return [*part, *part.values()]
    return part if isinstance(part, (list, tuple)) else ()


def _is_of(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, kind) and not (isinstance(value, float) and not math.isfinite(value))


def _find_in_list(items: Sequence[Any], schema: object) -> str | None:
    for number, item in enumerate(items):
        mismatch = _find(item, schema)
        if mismatch is not None:
            return f"[{number}]{mismatch}"
    return None


def _find_in_any(value: Mapping[Any, Any], schema: object) -> str | None:
    for name, item in value.items():
        mismatch = _find(item, schema) if isinstance(name, str) else ""
        if mismatch is not None:
            return f".{name}{mismatch}"
    return None


def _find_in_named(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    for name, each in schema.items():
        item = value.get(name)
        # Most parts are strings or missing; sessions are read so often that testing this first saves time.
        if type(item) is each or (item is None and not isinstance(each, Required)):
            continue
        mismatch = _find(item, each)
        if mismatch is not None:
            return f".{name}{mismatch}"
    return None
