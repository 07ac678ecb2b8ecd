from collections.abc import Sequence

from persistence.messages.outgoing import fail_waiting
from persistence.sessions.replies import FlowMessage, send_replies
from persistence.tables.contacts import BLOCKED
from worker.flows.effects.effect import Recording
from worker.flows.sprints import SprintEvent

STATUS = "contact_status_changed"
TYPES = ("msg_created", "ivr_created", STATUS)


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Queues the messages that flows send or speak in calls; those for blocked contacts fail at once."""
    flow_ids, workspace_id = recording.flow_ids, recording.workspace.id
    replies = [
        FlowMessage(each.contact_id, flow_id, each.event["msg"], each.is_bulk, each.automatic)
        for each in events
        for flow_id in [flow_ids.get(each.flow.get("uuid", ""))]
        if each.event["type"] != STATUS
    ]
    send_replies(recording.tx, workspace_id, replies)
    statuses = {each.contact_id: each.event["status"] for each in events if each.event["type"] == STATUS}
    blocked = [contact_id for contact_id, status in statuses.items() if status == BLOCKED]
    if blocked:  # the messages that their flows sent before exist only now
        fail_waiting(recording.tx, workspace_id, blocked)
