"""`/api/v2/stream`."""

from collections.abc import AsyncIterator, Collection
from functools import cache

from handlers.asgi.refusals import Refusal
from handlers.contract.areas import check_areas
from handlers.contract.operations import OperationRules, load_contract
from handlers.service import Service
from persistence.errors import NotAllowed
from persistence.tokens import Areas, Credentials

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
    return service.listeners.open(credentials.workspace, kinds_of(credentials.role, credentials.areas), last_id)


@cache
def kinds_of(role: str, areas: Areas = None) -> Collection[str]:
    """The kinds of records whose events a role, and a token that is limited to areas, gets."""
    contract = load_contract("v2")
    return frozenset(
        kind
        for kind, operation in LISTED_BY.items()
        if role in contract[operation].roles and _covers(areas, contract[operation])
    )


def _covers(areas: Areas, rules: OperationRules) -> bool:
    try:
        check_areas(areas, rules)
    except NotAllowed:
        return False
    return True
