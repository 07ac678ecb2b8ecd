"""Records of the other server's API as this program needs them. Servers differ: fields have been renamed, dropped and
added since the specification, so everything that can be missing may be missing, and unknown values become the most
harmless known one."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from flows.languages import is_language
from persistence.sql.columns import time_text

Raw = Mapping[str, Any]
Record = dict[str, Any]

CONTACT_STATUSES = ("active", "blocked", "stopped", "archived")
FIELD_TYPES = {"numeric": "number", "decimal": "number", "date": "datetime"} | {
    "N": "number", "D": "datetime", "T": "text", "S": "state", "I": "district", "W": "ward"
}  # fmt: skip
KNOWN_TYPES = ("text", "number", "datetime", "state", "district", "ward")
LEFT_THERE = ("initializing", "pending", "queued", "errored")
"""Statuses of outgoing messages that the other server still has to send: here they count as failed, so that nothing is
sent twice. The next pass brings what became of them."""
SENT_STATUSES = ("sent", "delivered", "read", "failed")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_NODE = "00000000-0000-0000-0000-000000000000"
RUN_ENDS = ("completed", "interrupted", "expired", "failed")
START_ENDS = ("complete", "completed", "failed", "interrupted")
"""Older servers say `complete`."""
MESSAGE_TYPES = {"voice": "voice", "ivr": "voice", "optin": "optin"}
CALLS = {"mo_call": "call-in", "call-in": "call-in", "mo_miss": "call-in-missed", "call-in-missed": "call-in-missed",
         "mt_call": "call-out", "call-out": "call-out", "mt_miss": "call-out-missed",
         "call-out-missed": "call-out-missed"}  # fmt: skip


def read_moment(text: object) -> datetime | None:
    """A time of the API; None for none, and for what is no time."""
    if not isinstance(text, str) or not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def read_reference(given: object) -> str | None:
    """The UUID of a record that another one refers to, by an object or by the UUID alone."""
    uuid = given.get("uuid") if isinstance(given, Mapping) else given
    return _text(uuid).lower() or None


def read_references(given: object) -> list[str]:
    found = (read_reference(each) for each in given) if isinstance(given, list) else ()
    return [each for each in found if each]


def _text(given: object) -> str:
    return given.replace("\x00", "") if isinstance(given, str) else ""


def read_named(raw: Raw) -> Record:
    """A label, topic, optin, classifier, ticketer or channel."""
    name = _text(raw.get("name"))
    return {
        **raw,
        "reference": read_reference(raw) or name,
        "label": name,
        "name": name,
        "created_on": read_moment(raw.get("created_on")),
        "modified_on": read_moment(raw.get("modified_on")),
    }


def read_field(raw: Raw) -> Record:
    """Older servers say `label` and `value_type`."""
    kind = _text(raw.get("type") or raw.get("value_type"))
    kind = FIELD_TYPES.get(kind, kind)
    key = _text(raw.get("key"))
    name = _text(raw.get("name") or raw.get("label")) or key
    return {
        "reference": key,
        "label": name,
        "key": key,
        "name": name,
        "type": kind if kind in KNOWN_TYPES else "text",
        "featured": bool(raw.get("featured") or raw.get("pinned")),
        "priority": raw.get("priority") or 0,
        "agent_access": raw.get("agent_access") if raw.get("agent_access") in ("none", "view", "edit") else "view",
    }


def read_global(raw: Raw) -> Record:
    key = _text(raw.get("key"))
    name = _text(raw.get("name")) or key
    return {"reference": key, "label": name, "key": key, "name": name, "value": _text(raw.get("value"))}


def read_group(raw: Raw) -> Record:
    return {
        **read_named(raw),
        "query": _text(raw.get("query")),
        "system": bool(raw.get("system")),
        "count": raw.get("count"),
    }


def read_contact(raw: Raw) -> Record:
    """A person is called by UUID in reports, so that a report can be handed on. Some servers have no `status`,
    others no `blocked` and `stopped`."""
    status = raw.get("status")
    if status not in CONTACT_STATUSES:
        status = "blocked" if raw.get("blocked") else "stopped" if raw.get("stopped") else "active"
    language = _text(raw.get("language"))
    uuid = read_reference(raw) or ""
    fields = raw.get("fields") or {}
    return {
        "reference": uuid,
        "label": uuid,
        "name": _text(raw.get("name")) or None,
        "language": language if is_language(language) else None,
        "bad_language": language if language and not is_language(language) else None,
        "status": status,
        "urns": [_text(urn) for urn in raw.get("urns") or () if isinstance(urn, str)],
        "groups": read_references(raw.get("groups")),
        "fields": {key: _field_text(value) for key, value in fields.items() if value not in (None, "")},
        "created_on": read_moment(raw.get("created_on")),
        "modified_on": read_moment(raw.get("modified_on")),
        "last_seen_on": read_moment(raw.get("last_seen_on")),
    }


def _field_text(value: object) -> str:
    return _text(value) if isinstance(value, str) else str(value)


def read_flow(raw: Raw) -> Record:
    labels = [_text(each.get("name")) for each in raw.get("labels") or () if isinstance(each, Mapping)]
    return {
        **read_named(raw),
        "archived": bool(raw.get("archived")),
        "labels": [each for each in labels if each],
        "runs": raw.get("runs") or {},
    }


def read_campaign(raw: Raw) -> Record:
    return {**read_named(raw), "archived": bool(raw.get("archived")), "group": read_reference(raw.get("group"))}


def read_campaign_event(raw: Raw) -> Record:
    date, message = raw.get("relative_to"), raw.get("message")
    return {
        **read_named(raw),
        "label": f"campaign event {raw.get('uuid')}",
        "campaign": read_reference(raw.get("campaign")),
        "flow": read_reference(raw.get("flow")),
        "message": {key: _text(text) for key, text in message.items()} if isinstance(message, Mapping) else message,
        "relative_to": _text(date.get("key")) if isinstance(date, Mapping) else None,
        **{name: raw.get(name) for name in ("offset", "unit", "delivery_hour")},
    }


def read_resthook(raw: Raw) -> Record:
    slug = _text(raw.get("resthook"))
    return {"reference": slug, "label": slug, "resthook": slug, "created_on": read_moment(raw.get("created_on"))}


def read_subscriber(raw: Raw) -> Record:
    url = _text(raw.get("target_url"))
    return {
        "reference": str(raw.get("id") or url)[:80],
        "label": url,
        "resthook": _text(raw.get("resthook")),
        "target_url": url,
        "created_on": read_moment(raw.get("created_on")),
    }


def read_template(raw: Raw) -> Record:
    """Current servers give the parts of a text as `components`."""
    translations = []
    for each in raw.get("translations") or ():
        locale = _text(each.get("locale")) or _text(each.get("language"))
        content = _text(each.get("content")) or _component_text(each.get("components"))
        translations.append(
            {
                "channel": each.get("channel") if isinstance(each.get("channel"), Mapping) else None,
                "locale": locale,
                "content": content,
                "namespace": _text(each.get("namespace")),
                "status": _text(each.get("status")),
            }
        )
    return {**read_named(raw), "translations": translations}


def _component_text(components: object) -> str:
    listed: Iterable[Any] = components.values() if isinstance(components, Mapping) else components or ()  # type: ignore[assignment]
    texts = [_text(each.get("content") or each.get("text")) for each in listed if isinstance(each, Mapping)]
    return "\n".join(each for each in texts if each)


def read_ticket(raw: Raw) -> Record:
    uuid = read_reference(raw) or ""
    opened_in = raw.get("opened_in") or {}
    return {
        "reference": uuid,
        "label": uuid,
        "contact": read_reference(raw.get("contact")),
        "status": "closed" if raw.get("status") == "closed" else "open",
        "topic": read_reference(raw.get("topic")),
        "assignee": _email(raw.get("assignee")),
        "opened_by": _email(raw.get("opened_by")),
        "flow_uuid": read_reference(opened_in),
        "flow_name": _text(opened_in.get("name")) or None,
        "note": _text(raw.get("body")) or None,
        "opened_on": read_moment(raw.get("opened_on")),
        "modified_on": read_moment(raw.get("modified_on")),
        "closed_on": read_moment(raw.get("closed_on")),
    }


def _email(given: object) -> str | None:
    return _text(given.get("email")) or None if isinstance(given, Mapping) else _text(given) or None


def read_broadcast(raw: Raw) -> Record:
    """Nothing that is unfinished there is begun here."""
    text = raw.get("text")
    base = _text(raw.get("base_language")) or "und"
    texts = {key: _text(value) for key, value in text.items()} if isinstance(text, Mapping) else {base: _text(text)}
    status = {"sent": "completed", "completed": "completed", "failed": "failed"}.get(_text(raw.get("status")))
    return {
        "reference": str(raw.get("id") or raw.get("uuid")),
        "label": f"broadcast {raw.get('id') or raw.get('uuid')}",
        "uuid": raw.get("uuid"),
        "status": status or "interrupted",
        "urns": [each for each in raw.get("urns") or () if isinstance(each, str)],
        "contacts": read_references(raw.get("contacts")),
        "groups": read_references(raw.get("groups")),
        "text": texts,
        "attachments": _attachments(raw.get("attachments"), texts, base),
        "base_language": base if base in texts else next(iter(texts), "und"),
        "created_on": read_moment(raw.get("created_on")),
    }


def _attachments(given: object, texts: Mapping[str, str], base: str) -> dict[str, list[str]]:
    """Files by language, as `type:url` or as what the other server calls them; older servers have one list."""
    listed = given if isinstance(given, Mapping) else {base: given} if isinstance(given, list) else {}
    found: dict[str, list[str]] = {key: [] for key in texts}
    for key, files in listed.items():
        for each in files if isinstance(files, list) and key in found else ():
            told = _attachment(each)
            text = f"{told['content_type']}:{told['url']}" if told else _text(each)
            found[key] += [text] if text else []
    return found


def read_message(raw: Raw) -> Record:
    """Servers say `in` or `incoming`; `archived` or `visibility`; give attachments as objects or as `type:url`."""
    is_incoming = _text(raw.get("direction")).startswith("in")
    given = _text(raw.get("status"))
    if is_incoming:
        status = "handled"
    else:
        status = "failed" if given in LEFT_THERE else given if given in SENT_STATUSES else "sent"
    visibility = raw.get("visibility") or ("archived" if raw.get("archived") else "visible")
    channel = raw.get("channel")
    broadcast = raw.get("broadcast")
    return {
        "reference": str(raw.get("id") or raw.get("uuid")),
        "label": f"message {raw.get('id') or raw.get('uuid')}",
        "uuid": raw.get("uuid"),
        "contact": read_reference(raw.get("contact")),
        "urn": _text(raw.get("urn"))[:255] or None,
        "channel": channel if isinstance(channel, Mapping) else None,
        "direction": "in" if is_incoming else "out",
        "type": MESSAGE_TYPES.get(_text(raw.get("type")), "text"),
        "status": status,
        "is_left_there": not is_incoming and given in LEFT_THERE,
        "visibility": visibility if visibility in ("visible", "archived") else "deleted",
        "text": _text(raw.get("text")),
        "attachments": [found for each in raw.get("attachments") or () if (found := _attachment(each))],
        "quick_replies": [found for each in raw.get("quick_replies") or () if (found := _quick_reply(each))],
        "labels": read_references(raw.get("labels")),
        "flow": read_reference(raw.get("flow")),
        "broadcast": str(broadcast.get("id") if isinstance(broadcast, Mapping) else broadcast) if broadcast else None,
        "created_on": read_moment(raw.get("created_on")),
        "sent_on": read_moment(raw.get("sent_on")),
        "modified_on": read_moment(raw.get("modified_on")),
    }


def _attachment(given: object) -> Record | None:
    if isinstance(given, Mapping) and given.get("url"):
        return {"content_type": _text(given.get("content_type")), "url": _text(given.get("url"))}
    if isinstance(given, str) and ":" in given:
        kind, _, url = given.partition(":")
        return {"content_type": kind, "url": url}
    return None


def _quick_reply(given: object) -> Record | None:
    if isinstance(given, str) and given:
        return {"text": given}
    return dict(given) if isinstance(given, Mapping) and given.get("text") else None


def read_start(raw: Raw) -> Record:
    status = _text(raw.get("status"))
    params = raw.get("params") if raw.get("params") is not None else raw.get("extra")
    return {
        "reference": read_reference(raw) or str(raw.get("id")),
        "label": f"flow start {raw.get('uuid') or raw.get('id')}",
        "uuid": raw.get("uuid"),
        "flow": read_reference(raw.get("flow")),
        "status": {"complete": "completed"}.get(status, status) if status in START_ENDS else "interrupted",
        "contacts": read_references(raw.get("contacts")),
        "groups": read_references(raw.get("groups")),
        "restart_participants": raw.get("restart_participants") is not False,
        "exclude_active": bool(raw.get("exclude_active")),
        "params": params if isinstance(params, Mapping) else None,
        "created_on": read_moment(raw.get("created_on")),
        "modified_on": read_moment(raw.get("modified_on")),
    }


def read_run(raw: Raw) -> Record:
    """A run that has not ended there counts as interrupted here: nobody can take up its session. Its results and steps
    have all that ours have: a result without a node belongs to the first one, and what has no time to the beginning."""
    end = _text(raw.get("exit_type"))
    values = raw.get("values") or {}
    times = (read_moment(raw.get(name)) for name in ("created_on", "modified_on", "exited_on"))
    began = next((moment for moment in times if moment is not None), EPOCH)
    path = [
        {"node": node, "time": _time(each.get("time"), began)}
        for each in raw.get("path") or ()
        if isinstance(each, Mapping) and (node := read_reference(each.get("node")))
    ]
    first_node = path[0]["node"] if path else NO_NODE
    return {
        "reference": read_reference(raw) or str(raw.get("id")),
        "label": f"run {raw.get('uuid') or raw.get('id')}",
        "uuid": raw.get("uuid"),
        "flow": read_reference(raw.get("flow")),
        "contact": read_reference(raw.get("contact")),
        "start": read_reference(raw.get("start")),
        "responded": bool(raw.get("responded")),
        "status": end if end in RUN_ENDS else "interrupted",
        "is_open": not end and not raw.get("exited_on"),
        "path": path,
        "values": {
            key: _result(key, value, first_node, began) for key, value in values.items() if isinstance(value, Mapping)
        },
        "created_on": read_moment(raw.get("created_on")),
        "modified_on": read_moment(raw.get("modified_on")),
        "exited_on": read_moment(raw.get("exited_on")),
    }


def _result(key: str, raw: Raw, node: str, began: datetime) -> Record:
    return {
        "name": _text(raw.get("name")) or key,
        "value": _said(raw.get("value")),
        "category": _said(raw.get("category")),
        "node": read_reference(raw.get("node")) or node,
        "time": _time(raw.get("time"), began),
        "input": _said(raw.get("input")),
    }


def _said(given: object) -> str | None:
    """A text, as servers have also given numbers."""
    return None if given is None else _text(given) if isinstance(given, str) else orjson.dumps(given).decode()


def _time(given: object, otherwise: datetime) -> str:
    return time_text(read_moment(given) or otherwise)


def read_event(raw: Raw) -> Record:
    """Calls and other events of channels; servers have used two sets of words for calls."""
    kind = _text(raw.get("type"))
    return {
        "reference": str(raw.get("id") or raw.get("uuid")),
        "label": f"channel event {raw.get('id') or raw.get('uuid')}",
        "uuid": raw.get("uuid"),
        "type": CALLS.get(kind, kind)[:16],
        "contact": read_reference(raw.get("contact")),
        "channel": raw.get("channel") if isinstance(raw.get("channel"), Mapping) else None,
        "extra": raw.get("extra") if isinstance(raw.get("extra"), Mapping) else None,
        "occurred_on": read_moment(raw.get("occurred_on")),
        "created_on": read_moment(raw.get("created_on")),
    }


def read_archive(raw: Raw) -> Record:
    """Current servers say `type`, older ones `archive_type`; `message` or `run`."""
    kind = _text(raw.get("type") or raw.get("archive_type"))
    kind = {"messages": "message", "runs": "run", "flow_run": "run"}.get(kind, kind)
    period = _text(raw.get("period"))
    start = _text(raw.get("start_date"))[:10]
    return {
        "reference": f"{kind} {period} {start} {raw.get('hash') or ''}"[:80],
        "label": f"{kind} archive of {start} ({period})",
        "type": kind,
        "period": "monthly" if period == "monthly" else "daily",
        "start_date": start,
        "record_count": raw.get("record_count") or 0,
        "size": raw.get("size") or 0,
        "hash": raw.get("hash") or None,
        "download_url": raw.get("download_url") or None,
    }


def read_user(raw: Raw) -> Record:
    email = _text(raw.get("email"))
    return {"reference": email, "label": email, "email": email, "role": _text(raw.get("role"))}
