from collections.abc import Mapping, Sequence
from typing import Any

from flows.engine import Event
from persistence.broadcasts.v2 import NewBroadcast, create_broadcast
from persistence.database import Transaction
from persistence.workspaces import Workspace
from worker.flows.effects.audience import find_audience


def create_broadcasts(tx: Transaction, workspace: Workspace, events: Sequence[Event]) -> None:
    """Accepts the broadcasts that flows ask for; their texts have been evaluated already."""
    for event in events:
        if event["type"] != "broadcast_created":
            continue
        chosen = find_audience(tx, workspace, event)
        parts = event["translations"]
        new = NewBroadcast(
            {language: content.get("text") or "" for language, content in parts.items()},
            event["base_language"],
            chosen.contact_ids,
            chosen.group_ids,
            urns=[urn.identity for urn in chosen.urns],
            address_ids=chosen.address_ids,
            files={language: _attachments(content) for language, content in parts.items()},
            quick_replies={language: _quick_replies(content) for language, content in parts.items()},
            is_evaluated=True,
            query=event.get("contact_query") or None,
        )
        create_broadcast(tx, workspace.id, new)


def _attachments(content: Mapping[str, Any]) -> list[dict[str, str]]:
    parts = [str(text).partition(":") for text in content.get("attachments") or ()]
    return [{"content_type": content_type, "url": url} for content_type, _, url in parts]


def _quick_replies(content: Mapping[str, Any]) -> list[dict[str, str]]:
    replies = content.get("quick_replies") or ()
    return [{name: each[name] for name in ("text", "extra") if each.get(name)} for each in replies]
