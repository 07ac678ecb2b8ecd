"""`/api/v2/stream`."""

from collections.abc import AsyncIterator, Collection

from handlers.asgi.plain_responses import Refusal
from handlers.contract.operations import may_use
from handlers.request import Service
from handlers.v2.deletions import deletion_kinds
from handlers.v2.participants import participant_kinds
from persistence.stream import kind_right
from persistence.tokens import Credentials

ID_LENGTH = 64
LISTED_BY = {
    "run": "list_runs",
    "ticket": "list_tickets",
    "channel": "list_channels",
    "flow_start": "list_flow_starts",
    "broadcast": "list_broadcasts",
    "contact": "list_contacts",
    "message": "list_conversations",
    "conversation": "list_conversations",
    "row": "list_conversations",
}
"""The operation that shows each kind of records; who may not use it does not get their events."""
WITH_TICKETS = frozenset({"row"})
"""What only those get of it who may list tickets too."""


def follow_changes(service: Service, credentials: Credentials, last_id: str | None) -> AsyncIterator[bytes]:
    """The events of the caller's workspace. Raises Refusal for an id that is too long, and if there are too many
    listeners.
    """
    if last_id is not None and len(last_id) > ID_LENGTH:
        raise Refusal(400, f"Last-Event-ID has at most {ID_LENGTH} characters.")
    return service.listeners.open(credentials.workspace, kinds_of(credentials), last_id)


def kinds_of(credentials: Credentials) -> Collection[str]:
    """The kinds of records whose events a role gets, and a token that is limited to areas."""
    hidden = frozenset() if may_use(credentials, "list_tickets") else WITH_TICKETS
    listed = (kind for kind, lister in LISTED_BY.items() if kind not in hidden and may_use(credentials, lister))
    gone = (kind_right("deletion", kind) for kind in deletion_kinds(credentials))
    there = (kind_right("participant", kind) for kind in participant_kinds(credentials))
    return frozenset((*listed, *gone, *there))
