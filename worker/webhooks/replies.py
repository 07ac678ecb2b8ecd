"""Sending what a receiver answered to an event as a message."""

from persistence.channels.event_form import ALARM, CALL_EVENTS, FLOW
from persistence.database import Transaction
from persistence.deliveries.leases import DueDelivery
from persistence.messages.outgoing import send_event_reply
from persistence.workspaces import find_workspace
from worker.http.safe_http import HttpResponse
from worker.webhooks.reply import read_reply

ANSWERABLE_EVENTS = ("mo_sms", *CALL_EVENTS, ALARM, FLOW)
"""Not the fate of outgoing messages: a receiver that answers every event would be answered without end."""


def may_be_answered(delivered: DueDelivery, answer: HttpResponse) -> bool:
    """Whether an accepted answer to this event can hold a message to send; never for subscribers of resthooks."""
    is_readable = answer.is_complete and answer.body.lstrip()[:1] == b"{"
    return is_readable and delivered.subscriber_id is None and delivered.event in ANSWERABLE_EVENTS


def send_reply(tx: Transaction, delivered: DueDelivery, answer: HttpResponse) -> list[int]:
    """Sends the message in an answer, if there is a valid one; the ids of the messages made."""
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
