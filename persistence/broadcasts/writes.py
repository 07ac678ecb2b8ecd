"""Creates broadcasts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from persistence.audience import Audience, save_audience
from persistence.audience_tables import OF_BROADCAST
from persistence.broadcasts.states import PENDING
from persistence.broadcasts.v2 import WAKE
from persistence.changes import note_changed
from persistence.database import Transaction
from persistence.sql.columns import new_uuid
from persistence.tables.messages import broadcast


@dataclass(frozen=True, slots=True)
class NewBroadcast:
    """A broadcast to create: its content by language, and its audience. With `is_evaluated` the texts are sent
    unchanged: expressions in them were evaluated before, for another contact.
    """

    text: Mapping[str, str]
    base_language: str
    audience: Audience
    attachments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    channel_id: int | None = None
    is_evaluated: bool = False
    scheduled_on: datetime | None = None


def create_broadcast(tx: Transaction, workspace_id: int, new: NewBroadcast) -> int:
    """Store a broadcast as `pending` and wake the worker that creates its messages; returns its id."""
    values = {
        "uuid": new_uuid(),
        "status": PENDING,
        "urns": list(new.audience.urns),
        "text": dict(new.text),
        "attachments": dict.fromkeys(new.text, ()) | dict(new.attachments),
        "files": dict(new.files),
        "quick_replies": dict.fromkeys(new.text, ()) | dict(new.quick_replies),
        "base_language": new.base_language,
        "channel_id": new.channel_id,
        "is_evaluated": new.is_evaluated,
        "query": new.audience.query,
        "scheduled_on": new.scheduled_on,
        "created_on": tx.now,
        "modified_on": tx.now,
    }
    broadcast_id = tx.insert(broadcast, workspace_id=workspace_id, **values)
    note_changed(tx, broadcast, workspace_id, [broadcast_id])
    save_audience(tx, workspace_id, OF_BROADCAST, broadcast_id, new.audience)
    tx.wake(WAKE)
    return broadcast_id
