"""Messages that flows send, with the route and the flow of each."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Executable, select

from flows.urns import UrnError, parse
from persistence.channels.types import GATEWAYS
from persistence.database import Transaction
from persistence.messages.circles import NEUTRAL
from persistence.messages.outgoing import Draft, Route, add_outgoing
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.tables.channels import channel

REASONS = {
    "no_route": "no_route",
    "no_destination": "no_route",
    "contact_blocked": "contact_inactive",
    "contact_stopped": "contact_inactive",
    "contact_archived": "contact_inactive",
}
"""The reasons why a message cannot be sent, in the engine's terms and in those of message records."""


class FlowMessage(NamedTuple):
    """A message of a flow as in the engine's event (`msg`: urn, channel, text, attachments, quick_replies). `is_bulk`
    messages were sent because the flow was started for many contacts, not because the contact wrote. `automatic` says
    what made it (`persistence.messages.circles`).
    """

    contact_id: int
    flow_id: int | None
    content: Mapping[str, Any]
    is_bulk: bool = False
    automatic: int = NEUTRAL


def send_replies(tx: Transaction, workspace_id: int, replies: Sequence[FlowMessage]) -> None:
    """Queues messages in this order, without empty ones. A message that cannot be sent is `failed` with a reason."""
    uuids = {str(reply.content["channel"]["uuid"]) for reply in replies if reply.content.get("channel")}
    channels = _find_channels(tx, workspace_id, uuids)
    drafts = [_draft(reply, channels) for reply in replies]
    add_outgoing(tx, workspace_id, [draft for draft in drafts if not draft.is_empty])


def _find_channels(tx: Transaction, workspace_id: int, uuids: set[str]) -> dict[str, tuple[int, bool]]:
    """Ids of active channels by uuid, and whether each is a gateway."""
    if not uuids:
        return {}
    found = _CHANNELS.rows(tx, {"owner": workspace_id, "wanted": sorted(uuids)})
    return {uuid: (channel_id, kind in GATEWAYS) for uuid, channel_id, kind in found}


def _read_channels(_is_sqlite: bool) -> Executable:
    rows = channel.c
    mine = (rows.workspace_id == param("owner")) & among(rows.uuid, "wanted", "UUID") & rows.is_active
    return select(rows.uuid, rows.id, rows.type).where(mine)


_CHANNELS = Fixed(_read_channels)


def _draft(reply: FlowMessage, channels: Mapping[str, tuple[int, bool]]) -> Draft:
    content = reply.content
    return Draft(
        reply.contact_id,
        content.get("text") or "",
        tuple(read_attachments(content)),
        tuple(read_quick_replies(content)),
        flow_id=reply.flow_id,
        route=_route(content, channels),
        is_bulk=reply.is_bulk,
        automatic=reply.automatic,
    )


def _route(content: Mapping[str, Any], channels: Mapping[str, tuple[int, bool]]) -> Route | None:
    """The route that the engine chose for a message; None if that channel does not exist any more and another may be
    used."""
    reason = content.get("unsendable_reason")
    if reason:
        return Route(failed_reason=REASONS.get(reason, "no_route"))
    found = channels.get(str((content.get("channel") or {}).get("uuid")))
    try:
        if found is None:
            return None
        return Route(_identify(content.get("urn") or ""), found[0], is_by_gateway=found[1])
    except UrnError:
        return None


@lru_cache(maxsize=64)
def _identify(urn: str) -> str:
    """Most flows send several messages one after the other."""
    return parse(urn).identity


def read_attachments(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """The attachments of a flow's message, in the form of stored messages."""
    parts = (str(text).partition(":") for text in content.get("attachments") or ())
    return [{"content_type": content_type, "url": url} for content_type, _, url in parts]


def read_quick_replies(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """The quick replies of a flow's message: strings, or objects with a text."""
    replies = ({"text": each} if isinstance(each, str) else each for each in content.get("quick_replies") or ())
    return [{name: each[name] for name in ("text", "extra") if each.get(name)} for each in replies]
