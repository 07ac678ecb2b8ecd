"""The schemas of a host's input: contacts, triggers, resumes, modifiers, stored sessions, assets (flow format)."""

from collections.abc import Mapping
from typing import Any

from flows.engine.schemas import ANYTHING, NUMBER, EachValue, Required
from flows.places import LEVELS_MAX

Schema = Mapping[str, Any]

_REQUIRED_TEXT = Required(str)
# Some assets have a UUID, others a key, slug or e-mail address, and old references only a name.
REFERENCE: Schema = dict.fromkeys(("uuid", "name", "key", "email"), str)
FLOW_REFERENCE: Schema = {"uuid": _REQUIRED_TEXT, "name": str, "revision": int}
TICKET: Schema = {"uuid": _REQUIRED_TEXT, "status": str, "topic": REFERENCE, "assignee": REFERENCE, "body": str}
FIELD_VALUE: Schema = {
    "text": str,
    "number": (*NUMBER, str),
    **dict.fromkeys(("datetime", "state", "district", "ward"), str),
}
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
MESSAGE: Schema = {
    **dict.fromkeys(("uuid", "text", "urn", "external_id"), str),
    "channel": REFERENCE,
    "attachments": [_REQUIRED_TEXT],
    "payload": EachValue(ANYTHING),
}
DIAL: Schema = {"status": str, "duration": NUMBER}
CALL: Schema = {"uuid": str, "urn": str, "channel": REFERENCE}
EVENT: Schema = {
    **dict.fromkeys(("uuid", "type", "created_on", "ticket_uuid"), str),
    **dict.fromkeys(("campaign", "channel", "optin"), REFERENCE),
    "msg": MESSAGE,
    "dial": DIAL,
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
