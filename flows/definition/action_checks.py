"""What each action's own properties have to be (flow format, actions and limits)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from flows.definition.field_checks import (
    Check,
    Fault,
    amounts_by_currency,
    items,
    one_of,
    reference,
    text,
    texts_by_name,
    truth,
    user,
)
from flows.urn_schemes import SCHEMES

NAME_LENGTH = 64
TEXT_LENGTH, URL_LENGTH, VALUE_LENGTH = 10_000, 8192, 1000
QUICK_REPLY_LENGTH, ATTACHMENT_LENGTH, HEADER_LENGTH, BODY_LENGTH = 1000, 2048, 5000, 20_000
# Above any banknote there has ever been.
LARGEST_AMOUNT, CURRENCY_LENGTH = Decimal("1E15"), 8
MOST_ATTACHMENTS, MOST_QUICK_REPLIES, MOST_HEADERS, MOST_REFERENCES = 10, 10, 10, 100
# The names of headers that HTTP knows, and local variables as expressions look them up.
HEADER_NAME = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
LOCAL_NAME = r"[_a-zA-Z][_a-zA-Z0-9]{0,63}"
METHODS = frozenset({"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"})
STATUSES = frozenset({"active", "archived", "blocked", "stopped"})
LOCAL_OPERATIONS = frozenset({"clear", "increment", "set"})

_Checks = Mapping[str, Check]
_ASSET = reference(needed=True)
_NAMED = reference(NAME_LENGTH, match="name_match", needed=True)
_RECIPIENTS: _Checks = {
    "groups": items(_NAMED),
    "contacts": items(_ASSET),
    "contact_query": text(TEXT_LENGTH),
    "urns": items(text(needed=True)),
    "legacy_vars": items(text()),
}
_MESSAGE: _Checks = {
    "text": text(TEXT_LENGTH),
    "attachments": items(text(ATTACHMENT_LENGTH), MOST_ATTACHMENTS),
    "quick_replies": items(text(QUICK_REPLY_LENGTH), MOST_QUICK_REPLIES),
    "template": reference(),
    "template_variables": items(text()),
}
CHECKS: Mapping[str, _Checks] = {
    "add_contact_groups": {"groups": items(_NAMED, MOST_REFERENCES, needed=True)},
    "add_contact_urn": {"scheme": one_of(SCHEMES), "path": text(needed=True)},
    "add_input_labels": {"labels": items(_NAMED, MOST_REFERENCES, needed=True)},
    "call_classifier": {"classifier": reference(), "input": text()},
    "call_llm": {
        "llm": _ASSET,
        "instructions": text(TEXT_LENGTH, needed=True),
        "input": text(TEXT_LENGTH),
        "output_local": text(needed=True, pattern=LOCAL_NAME),
    },
    "call_resthook": {"resthook": text(needed=True)},
    "call_webhook": {
        "method": one_of(METHODS),
        "url": text(URL_LENGTH, needed=True),
        "headers": texts_by_name(MOST_HEADERS, 100, HEADER_LENGTH, HEADER_NAME),
        "body": text(BODY_LENGTH),
    },
    "enter_flow": {"flow": reference(NAME_LENGTH, needed=True), "terminal": truth},
    "open_ticket": {
        "topic": reference(),
        "ticketer": reference(),
        "assignee": user,
        "note": text(TEXT_LENGTH),
        "body": text(TEXT_LENGTH),
    },
    "play_audio": {"audio_url": text(needed=True)},
    "remove_contact_groups": {"groups": items(_NAMED, MOST_REFERENCES), "all_groups": truth},
    "request_optin": {"optin": _ASSET},
    "say_msg": {"text": text(TEXT_LENGTH), "audio_url": text()},
    "send_broadcast": {**_RECIPIENTS, **_MESSAGE},
    "send_email": {
        "addresses": items(text(), needed=True),
        "subject": text(needed=True),
        "body": text(needed=True),
    },
    "send_msg": _MESSAGE,
    "set_contact_channel": {"channel": reference()},
    "set_contact_field": {"field": reference(key="key", needed=True), "value": text()},
    "set_contact_language": {"language": text()},
    "set_contact_name": {"name": text(VALUE_LENGTH)},
    "set_contact_status": {"status": one_of(STATUSES)},
    "set_contact_timezone": {"timezone": text()},
    "set_run_local": {
        "local": text(needed=True, pattern=LOCAL_NAME),
        "value": text(VALUE_LENGTH),
        "operation": one_of(LOCAL_OPERATIONS),
    },
    "set_run_result": {
        "name": text(needed=True),
        "value": text(),
    },
    "start_session": {**_RECIPIENTS, "flow": reference(NAME_LENGTH, needed=True), "create_contact": truth},
    "transfer_airtime": {"amounts": amounts_by_currency(LARGEST_AMOUNT, CURRENCY_LENGTH)},
}


# Properties that name results and categories; how long names may be depends on a flow's version.
_NAMES = {"set_run_result": ("name", "category")}
# Of these properties, an action needs at least one; what is missing is reported at the first.
_CONTENTS = {
    "say_msg": ("text", "audio_url"),
    "send_broadcast": ("text", "attachments", "quick_replies", "template"),
    "send_msg": ("text", "attachments", "quick_replies", "template", "templating"),
}


def check_action(kind: str, fields: Mapping[str, Any], longest_name: int = NAME_LENGTH) -> None:
    """Raises Fault, whose path is that of the property, if an action's own properties may not be used."""
    for name in _NAMES.get(kind, ("result_name",)):
        _check(text(longest_name), fields.get(name), name)
    for name, check in CHECKS.get(kind, {}).items():
        _check(check, fields.get(name), name)
    if kind == "remove_contact_groups" and fields.get("all_groups") and fields.get("groups"):
        raise Fault("names groups beside all groups", "groups")
    contents = _CONTENTS.get(kind, ())
    if contents and not any(fields.get(name) for name in contents):
        raise Fault("is needed", contents[0])


def _check(check: Check, value: Any, name: str) -> None:
    try:
        check(value)
    except Fault as fault:
        raise Fault(fault.message, name + fault.path) from None
