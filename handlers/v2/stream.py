"""`/api/v2/stream`."""

from collections.abc import AsyncIterator, Collection
from functools import cache

from handlers.asgi.refusals import Refusal
from handlers.contract.operations import load_contract
from handlers.service import Service
from persistence.tokens import Credentials

ID_LENGTH = 64
LISTED_BY = {
    "run": "handlers.v2.runs.list_runs",
    "ticket": "handlers.v2.tickets.list_tickets",
    "channel": "handlers.v2.channels.list_channels",
    "flow_start": "handlers.v2.flow_starts.list_flow_starts",
    "broadcast": "handlers.v2.broadcasts.list_broadcasts",
    "contact": "handlers.v2.contacts.list_contacts",
    "message": "handlers.v2.conversations.list_conversations",
}
"""The operation that shows each kind of records; who may not use it does not get their events."""


def follow_changes(service: Service, credentials: Credentials, last_id: str | None) -> AsyncIterator[bytes]:
    """The events of the caller's workspace. Raises Refusal for an id that is too long, and if there are too many
    listeners.
    """
    if last_id is not None and len(last_id) > ID_LENGTH:
        raise Refusal(400, f"Last-Event-ID has at most {ID_LENGTH} characters.")
    return service.listeners.open(credentials.workspace, kinds_of(credentials.role), last_id)


@cache
def kinds_of(role: str) -> Collection[str]:
    """The kinds of records whose events a role gets."""
    contract = load_contract("v2")
    return frozenset(kind for kind, operation in LISTED_BY.items() if role in contract[operation].roles)
