"""The response of a receiver to an event: a message to send, if it is valid. This is untrusted input."""

from dataclasses import dataclass

import orjson

from flows.urns import URN_LENGTH_MAX, UrnError, read_urn
from persistence.channels.event_form import ALARM, CALL_EVENTS, FLOW, MESSAGE_EVENTS
from persistence.database import Transaction
from persistence.deliveries.leases import DueDelivery
from persistence.messages.outgoing import send_event_reply
from persistence.sql.columns import is_uuid
from persistence.workspaces import find_workspace
from worker.http.safe_http import HttpResponse

TEXT_LENGTH = 480
"""Receiver response rules: `text` has at most 480 characters."""
RECIPIENTS = 100
IGNORED = "The reply in the response is ignored"
ANSWERABLE_EVENTS = ("mo_sms", *CALL_EVENTS, ALARM, FLOW)
"""Not the statuses of outgoing messages: a receiver that replies to every event would cause further events without
end."""
EVENT_NAMES = frozenset((*ANSWERABLE_EVENTS, *MESSAGE_EVENTS))


@dataclass(frozen=True, slots=True)
class Reply:
    """A message to URNs (normalized) and contacts (UUIDs); without both it goes to the contact of the event."""

    text: str
    urns: tuple[str, ...] = ()
    contact_uuids: tuple[str, ...] = ()


def interpret_reply(document: object, country: str = "") -> Reply | None:
    """The message in a parsed response; None if there is none or any part is invalid."""
    found = _interpret(document, country)
    return found if isinstance(found, Reply) else None


def read_answer(body: bytes, country: str = "") -> Reply | str | None:
    """The message in an accepting response, or why what looks like one is ignored; None for an acknowledgment. `urn`
    and `contact` may be a list or a single string, at most 100 each. `country` (ISO letters, may be empty) is that of
    the workspace, for numbers without a country code.
    """
    try:
        return _interpret(orjson.loads(body), country)
    except orjson.JSONDecodeError:
        # One word (`OK`) is an acknowledgment, and so is a page for browsers.
        text = body.strip()
        is_acknowledgment = (len(text.split(maxsplit=1)) < 2 and text[:1] not in b"{[") or text[:1] == b"<"
        return None if is_acknowledgment else f"{IGNORED}: it is not JSON."


def _interpret(document: object, country: str) -> Reply | str | None:
    if not isinstance(document, dict) or "text" not in document:
        return None
    text = _read_text(document["text"])
    if text is None:
        return f"{IGNORED}: its text is empty or no text, or has more than {TEXT_LENGTH} characters."
    urns, contact_uuids = _read_texts(document.get("urn")), _read_texts(document.get("contact"))
    if urns is None or contact_uuids is None:
        return f"{IGNORED}: urn and contact are texts or lists of at most {RECIPIENTS} texts."
    if not all(is_uuid(contact_uuid) for contact_uuid in contact_uuids):
        return f"{IGNORED}: a contact is named by its UUID."
    try:
        normalized = [str(read_urn(urn, country, path_length=URN_LENGTH_MAX)) for urn in urns]
    except UrnError as error:
        return f"{IGNORED}: {str(error)[:200]}"
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
    return is_readable and _is_answerable(delivered)


def _is_answerable(delivered: DueDelivery) -> bool:
    return delivered.subscriber_id is None and delivered.event in ANSWERABLE_EVENTS


def say_ignored(delivered: DueDelivery, answer: HttpResponse) -> str | None:
    """Why an accepting response that cannot contain a message, but looks as if it should, is ignored."""
    if delivered.subscriber_id is not None or delivered.event not in EVENT_NAMES:
        return None
    found = read_answer(answer.body)
    if not _is_answerable(delivered):
        return f"{IGNORED}: a response to {delivered.event} sends no message." if isinstance(found, Reply) else None
    if not answer.is_complete:
        return f"{IGNORED}: it is too long, or it was cut off."
    return found if isinstance(found, str) else None


def send_reply(tx: Transaction, delivered: DueDelivery, answer: HttpResponse) -> list[int] | str:
    """Sends the message in a response, if there is one; returns the ids of the created messages, or why it is
    ignored.
    """
    workspace = find_workspace(tx, delivered.workspace_id)
    reply = None if workspace is None else read_answer(answer.body, workspace.country)
    if not isinstance(reply, Reply):
        return reply or []
    sent = send_event_reply(
        tx,
        delivered.workspace_id,
        reply.text,
        urns=reply.urns,
        contact_uuids=reply.contact_uuids,
        event_contact_id=delivered.contact_id,
        channel_id=delivered.channel_id,
    )
    return sent or f"{IGNORED}: there is no such contact."
