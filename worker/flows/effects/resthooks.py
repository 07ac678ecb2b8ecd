from collections.abc import Sequence

from flows.engine import Event
from persistence.database import Transaction
from persistence.resthooks.events import record_resthook_event
from persistence.resthooks.subscribers import end_subscriptions, find_subscribers_at


def record_resthooks(tx: Transaction, workspace_id: int, events: Sequence[Event]) -> None:
    """Notes each triggered resthook once; subscribers not reached get it later, those that are gone are removed."""
    for position, event in enumerate(events):
        if event["type"] != "resthook_called":
            continue
        slug = event["resthook"]
        calls = _calls_of(events[position + 1 :], slug)
        gone = [call["url"] for call in calls if call["status"] == "subscriber_gone"]
        if gone:
            end_subscriptions(tx, workspace_id, find_subscribers_at(tx, workspace_id, slug, gone))
        # Who accepted it has been told, however much the answer said that nobody reads.
        told = [call["url"] for call in calls if 200 <= call.get("status_code", 0) < 300]
        record_resthook_event(tx, workspace_id, slug, event["payload"], told=told)


def _calls_of(events: Sequence[Event], slug: str) -> list[Event]:
    calls = []
    for event in events:
        if event["type"] == "resthook_called":
            break
        if event["type"] == "webhook_called" and event.get("resthook") == slug:
            calls.append(event)
    return calls
