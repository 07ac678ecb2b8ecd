"""The response of a receiver to an event: a message to send, if it is valid. This is untrusted input."""

from dataclasses import dataclass

import orjson

from flows.urns import URN_LENGTH_MAX, UrnError, read_urn
from persistence.channels.event_form import ALARM, CALL_EVENTS, FLOW
from persistence.database import Transaction
from persistence.deliveries.leases import DueDelivery
from persistence.messages.outgoing import send_event_reply
from persistence.sql.columns import is_uuid
from persistence.workspaces import find_workspace
from worker.http.safe_http import HttpResponse

TEXT_LENGTH = 480
"""Receiver response rules: `text` has at most 480 characters."""
RECIPIENTS = 100
ANSWERABLE_EVENTS = ("mo_sms", *CALL_EVENTS, ALARM, FLOW)
"""Not the statuses of outgoing messages: a receiver that replies to every event would cause further events without
end."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A message to URNs (normalized) and contacts (UUIDs); without both it goes to the contact of the event."""

    text: str
    urns: tuple[str, ...] = ()
    contact_uuids: tuple[str, ...] = ()


def read_reply(body: bytes, country: str = "") -> Reply | None:
    """The message in an accepting response; None if there is none or any part is invalid. `urn` and `contact` may be a
    list or a single string, at most 100 each. `country` (ISO letters, may be empty) is that of the workspace, for
    numbers without a country code.
    """
    try:
        return interpret_reply(orjson.loads(body), country)
    except orjson.JSONDecodeError:
        return None


def interpret_reply(document: object, country: str = "") -> Reply | None:
    """Like `read_reply`, for a parsed response."""
    if not isinstance(document, dict):
        return None
    text = _read_text(document.get("text"))
    urns, contact_uuids = _read_texts(document.get("urn")), _read_texts(document.get("contact"))
    if text is None or urns is None or contact_uuids is None:
        return None
    if not all(is_uuid(contact_uuid) for contact_uuid in contact_uuids):
        return None
    try:
        normalized = [str(read_urn(urn, country, path_length=URN_LENGTH_MAX)) for urn in urns]
    except UrnError:
        return None
    unique_uuids = dict.fromkeys(contact_uuid.lower() for contact_uuid in contact_uuids)
    return Reply(text, tuple(dict.fromkeys(normalized)), tuple(unique_uuids))


def _read_text(value: object) -> str | None:
    if not isinstance(value, str) or "\0" in value or not value.strip() or len(value) > TEXT_LENGTH:
        return None
    return value


def _read_texts(value: object) -> list[str] | None:
    if value is None:
        return []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or len(values) > RECIPIENTS:
        return None
    return values if all(isinstance(each, str) and "\0" not in each for each in values) else None


def may_be_answered(delivered: DueDelivery, answer: HttpResponse) -> bool:
    """Whether an accepting response to this event can contain a message to send; never for subscribers of resthooks."""
    is_readable = answer.is_complete and answer.body.lstrip()[:1] == b"{"
    return is_readable and delivered.subscriber_id is None and delivered.event in ANSWERABLE_EVENTS


def send_reply(tx: Transaction, delivered: DueDelivery, answer: HttpResponse) -> list[int]:
    """Sends the message in a response, if there is a valid one; returns the ids of the created messages."""
    workspace = find_workspace(tx, delivered.workspace_id)
    reply = None if workspace is None else read_reply(answer.body, workspace.country)
    if reply is None:
        return []
    return send_event_reply(
        tx,
        delivered.workspace_id,
        reply.text,
        urns=reply.urns,
        contact_uuids=reply.contact_uuids,
        event_contact_id=delivered.contact_id,
        channel_id=delivered.channel_id,
    )
