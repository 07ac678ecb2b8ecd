from collections.abc import Sequence
from itertools import takewhile

from flows.engine import Event
from persistence.resthooks.subscribers import end_subscriptions, find_subscribers_at, record_resthook_event
from worker.flows.effects.effect import Recording
from worker.flows.sprints import SprintEvent

CALLED = "resthook_called"
TYPES = (CALLED, "webhook_called")
ACCEPTING = range(200, 300)


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Records each triggered resthook once; subscribers that were not reached get the event later, those that responded
    with 410 are removed."""
    tx, workspace_id = recording.tx, recording.workspace.id
    for position, each in enumerate(events):
        if each.event["type"] != CALLED:
            continue
        slug = each.event["resthook"]
        calls = _calls_of(each, events[position + 1 :])
        gone = [call["url"] for call in calls if call["status"] == "subscriber_gone"]
        if gone:
            end_subscriptions(tx, workspace_id, find_subscribers_at(tx, workspace_id, slug, gone))
        # A subscriber that accepted the event is done, even if its response was too long.
        accepted = [call["url"] for call in calls if call.get("status_code") in ACCEPTING]
        record_resthook_event(tx, workspace_id, slug, each.event["payload"], accepted=accepted)


def _calls_of(resthook: SprintEvent, later: Sequence[SprintEvent]) -> list[Event]:
    """The calls to subscribers of a resthook, which follow the resthook's event in its sprint."""
    own = takewhile(lambda each: each.session is resthook.session and each.event["type"] != CALLED, later)
    return [each.event for each in own if each.event.get("resthook") == resthook.event["resthook"]]
