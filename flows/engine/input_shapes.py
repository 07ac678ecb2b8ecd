"""The shapes of what hosts hand in: contacts, triggers, resumes, modifiers, stored sessions, assets (flow format)."""

from collections.abc import Mapping
from typing import Any

from flows.engine.shapes import ANYTHING, NUMBER, EachValue, Needed
from flows.places import LEVELS_MAX

Shape = Mapping[str, Any]

_NEEDED_TEXT = Needed(str)
# Some things go by UUID, others by key, slug or e-mail address, and old references by name only.
REFERENCE: Shape = dict.fromkeys(("uuid", "name", "key", "email"), str)
FLOW_REFERENCE: Shape = {"uuid": _NEEDED_TEXT, "name": str, "revision": int}
TICKET: Shape = {"uuid": _NEEDED_TEXT, "status": str, "topic": REFERENCE, "assignee": REFERENCE, "body": str}
FIELD_VALUE: Shape = {
    "text": str,
    "number": (*NUMBER, str),
    **dict.fromkeys(("datetime", "state", "district", "ward"), str),
}
CONTACT: Shape = {
    "uuid": _NEEDED_TEXT,
    "id": int,
    **dict.fromkeys(("name", "language", "status", "timezone", "created_on", "last_seen_on"), str),
    "urns": [Needed(str)],
    "groups": [Needed({"uuid": _NEEDED_TEXT, "name": str})],
    "fields": EachValue(FIELD_VALUE),
    "tickets": [Needed(TICKET)],
}
ENVIRONMENT: Shape = {
    **dict.fromkeys(("date_format", "time_format", "timezone", "default_country"), str),
    **dict.fromkeys(("input_collation", "redaction_policy"), str),
    "allowed_languages": [_NEEDED_TEXT],
    "number_format": {"decimal_symbol": str, "digit_grouping_symbol": str},
}
MESSAGE: Shape = {
    **dict.fromkeys(("uuid", "text", "urn", "external_id"), str),
    "channel": REFERENCE,
    "attachments": [_NEEDED_TEXT],
    "payload": EachValue(ANYTHING),
}
DIAL: Shape = {"status": str, "duration": NUMBER}
CALL: Shape = {"uuid": str, "urn": str, "channel": REFERENCE}
EVENT: Shape = {
    **dict.fromkeys(("uuid", "type", "created_on", "ticket_uuid"), str),
    **dict.fromkeys(("campaign", "channel", "optin"), REFERENCE),
    "msg": MESSAGE,
    "dial": DIAL,
    "ticket": TICKET,
    "params": EachValue(ANYTHING),
}
RESULT: Shape = {
    **dict.fromkeys(("name", "value", "category", "category_localized"), str),
    **dict.fromkeys(("node_uuid", "input", "created_on"), str),
    "extra": ANYTHING,
}
TRIGGER: Shape = {
    **dict.fromkeys(("type", "triggered_on", "origin"), str),
    "flow": Needed(FLOW_REFERENCE),
    "params": EachValue(ANYTHING),
    "batch": bool,
    "history": {"parent_uuid": str, "ancestors": int, "ancestors_since_input": int},
    "user": REFERENCE,
    "run_summary": {
        "uuid": str,
        "status": str,
        "flow": {**FLOW_REFERENCE, "uuid": str},
        "contact": CONTACT,
        "results": EachValue(Needed(RESULT)),
    },
    "event": EVENT,
    "msg": MESSAGE,
    "ticket": TICKET,
    "keyword_match": {"type": str, "keyword": str},
    "connection": CALL,
    "call": CALL,
}
RESUME: Shape = {
    "type": str,
    "resumed_on": str,
    "event": EVENT,
    "msg": MESSAGE,
    "dial": DIAL,
    "contact": CONTACT,
    "environment": ENVIRONMENT,
}
MODIFIER: Shape = {
    **dict.fromkeys(("type", "name", "language", "timezone", "status", "modification"), str),
    **dict.fromkeys(("urn", "ticket_uuid", "note", "seen_on"), str),
    **dict.fromkeys(("channel", "field", "topic", "assignee"), REFERENCE),
    "value": (str, {"text": str}),
    "groups": [Needed(REFERENCE)],
    "urns": [_NEEDED_TEXT],
    "routes": [Needed({"urn": _NEEDED_TEXT, "channel": REFERENCE})],
}
STEP: Shape = {"uuid": str, "node_uuid": _NEEDED_TEXT, "arrived_on": _NEEDED_TEXT, "exit_uuid": str}
RUN: Shape = {
    "uuid": _NEEDED_TEXT,
    "flow": Needed(FLOW_REFERENCE),
    "status": _NEEDED_TEXT,
    **dict.fromkeys(("created_on", "modified_on", "exited_on", "parent_uuid"), str),
    "had_input": bool,
    "path": [Needed(STEP)],
    "results": EachValue(Needed(RESULT)),
    "locals": EachValue(str),
    "webhook": ANYTHING,
}
SESSION: Shape = {
    **dict.fromkeys(("uuid", "type", "status", "created_on"), _NEEDED_TEXT),
    "generation": Needed(int),
    "trigger": Needed(TRIGGER),
    "contact": Needed(CONTACT),
    "environment": ENVIRONMENT,
    "call": CALL,
    "input": {**MESSAGE, "type": str, "created_on": str},
    "runs": [Needed(RUN)],
    "sprints": int,
}
_NAMED: Shape = {"uuid": _NEEDED_TEXT, "name": _NEEDED_TEXT}
_KEYED: Shape = {"key": _NEEDED_TEXT, "name": str, "type": str, "uuid": str, "value": str}
# One level more than there may be, so that the reader of places can say what is wrong.
PLACE: Shape = {}
for _ in range(LEVELS_MAX + 1):
    PLACE = {"name": _NEEDED_TEXT, "aliases": [str], "children": [Needed(PLACE)]}
_TEMPLATE_TRANSLATION: Shape = {
    "channel": REFERENCE,
    **dict.fromkeys(("locale", "language", "content", "namespace"), str),
    "components": [Needed({"name": str, "type": str, "content": str, "variables": EachValue(int)})],
    "variables": [Needed({"type": str})],
}
ASSETS: Shape = {
    **{name: [Needed(_NAMED)] for name in ("campaigns", "labels", "optins", "ticketers", "topics")},
    "channels": [
        Needed(
            {
                **_NAMED,
                "address": str,
                "country": str,
                **{name: [_NEEDED_TEXT] for name in ("schemes", "roles", "match_prefixes")},
            }
        )
    ],
    "classifiers": [Needed({**_NAMED, "type": str, "intents": [_NEEDED_TEXT]})],
    "fields": [Needed({**_KEYED, "name": _NEEDED_TEXT})],
    "flows": [Needed({"uuid": str, "name": str, "metadata": {"uuid": str, "name": str}})],
    "globals": [Needed(_KEYED)],
    "groups": [Needed({**_NAMED, "query": str})],
    "llms": [Needed({**_NAMED, "type": str})],
    "locations": [Needed(PLACE)],
    "resthooks": [Needed({"slug": _NEEDED_TEXT, "subscribers": [_NEEDED_TEXT]})],
    "templates": [Needed({**_NAMED, "translations": [Needed(_TEMPLATE_TRANSLATION)]})],
    "users": [Needed({"uuid": str, "name": str, "email": str})],
}
