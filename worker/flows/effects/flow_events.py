from collections.abc import Sequence

from persistence.deliveries.outbox import record_flow_event
from persistence.messages.outgoing import send_event_reply
from worker.flows.effects.effect import Recording
from worker.flows.sprints import SprintEvent
from worker.webhooks.dispatcher import interpret_reply

TYPES = ("flow_event_made",)


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Queues event `flow` for the channel's receiver when a contact reached a webhook action, and sends the message in
    the action's response."""
    tx, workspace = recording.tx, recording.workspace
    for each in events:
        payload = each.event["payload"]
        uuid = (payload.get("channel") or {}).get("uuid")
        channel_id = record_flow_event(tx, workspace.id, uuid, each.contact_id, payload) if uuid else None
        reply = interpret_reply(each.event["answer"], workspace.country)
        if reply is not None:
            send_event_reply(
                tx,
                workspace.id,
                reply.text,
                urns=reply.urns,
                contact_uuids=reply.contact_uuids,
                event_contact_id=each.contact_id,
                channel_id=channel_id,
            )
