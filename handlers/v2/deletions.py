"""`/api/v2/deletions.json`."""

from dataclasses import dataclass
from typing import Any

from handlers.answers import ListAnswer
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence import deletions
from persistence.lists import ListQuery
from persistence.tokens import Credentials

LISTED_BY = {kind: f"list_{kind}s" for kind in deletions.KINDS} | {
    deletions.SAVED_REPLY: "list_saved_replies",
    deletions.SUBSCRIBER: "list_resthook_subscribers",
}
"""The operation that showed each kind of records; who may not use it is not told that one is gone."""


def deletion_kinds(credentials: Credentials) -> list[str]:
    """The kinds of records of whose deletions a role is told, and a token that is limited to areas."""
    return sorted(kind for kind, operation_id in LISTED_BY.items() if may_use(credentials, operation_id))


@dataclass(frozen=True, slots=True)
class DeletionsAnswer(ListAnswer):
    """Lists deletions of what the caller may list."""

    def _query(self, request: Request, values: dict[str, Any]) -> ListQuery:
        kinds = deletion_kinds(request.credentials)
        limited = {} if len(kinds) == len(LISTED_BY) else {deletions.SHOWN_KINDS: kinds}
        return ListAnswer._query(self, request, values | limited)


list_deletions = DeletionsAnswer(deletions.DELETIONS)
