"""Messages that flows send: where each goes, and from which flow it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from flows.urns import UrnError, parse
from persistence.channels import channel
from persistence.database import Transaction
from persistence.outgoing import Draft, Route, add_outgoing

REASONS = {
    "no_route": "no_route",
    "no_destination": "no_route",
    "contact_blocked": "contact_inactive",
    "contact_stopped": "contact_inactive",
    "contact_archived": "contact_inactive",
}
"""Why a message cannot be sent, in the engine's words and in those of message records."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A message of a flow as the engine's event has it (`msg`: urn, channel, text, attachments, quick_replies)."""

    contact_id: int
    flow_id: int | None
    content: Mapping[str, Any]


def send_replies(tx: Transaction, workspace_id: int, replies: Sequence[Reply]) -> None:
    """Queues messages in this order, those that say something. One that cannot be sent is `failed` with its reason."""
    uuids = {str(reply.content["channel"]["uuid"]) for reply in replies if reply.content.get("channel")}
    channels = _find_channels(tx, workspace_id, uuids)
    drafts = [_draft(reply, channels) for reply in replies]
    add_outgoing(tx, workspace_id, [draft for draft in drafts if not draft.is_empty])


def _find_channels(tx: Transaction, workspace_id: int, uuids: set[str]) -> dict[str, int]:
    if not uuids:
        return {}
    mine = (channel.c.workspace_id == workspace_id) & channel.c.uuid.in_(sorted(uuids)) & channel.c.is_active
    return {uuid: channel_id for uuid, channel_id in tx.execute(select(channel.c.uuid, channel.c.id).where(mine))}


def _draft(reply: Reply, channels: Mapping[str, int]) -> Draft:
    content = reply.content
    return Draft(
        reply.contact_id,
        content.get("text") or "",
        tuple(_attachment(text) for text in content.get("attachments") or ()),
        tuple(_quick_reply(each) for each in content.get("quick_replies") or ()),
        flow_id=reply.flow_id,
        route=_route(content, channels),
    )


def _route(content: Mapping[str, Any], channels: Mapping[str, int]) -> Route | None:
    """Where the engine wants a message to go; None when that channel is gone and another may do."""
    reason = content.get("unsendable_reason")
    if reason:
        return Route(failed_reason=REASONS.get(reason, "no_route"))
    channel_id = channels.get(str((content.get("channel") or {}).get("uuid")))
    try:
        return None if channel_id is None else Route(parse(content.get("urn") or "").identity, channel_id)
    except UrnError:
        return None


def _attachment(text: str) -> dict[str, str]:
    content_type, _, url = text.partition(":")
    return {"content_type": content_type, "url": url}


def _quick_reply(reply: Any) -> dict[str, str]:
    if isinstance(reply, str):
        return {"text": reply}
    return {name: reply[name] for name in ("text", "extra") if reply.get(name)}
