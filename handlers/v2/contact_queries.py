"""`/api/v2/contact_queries.json` and `/api/v2/contact_query_words.json`."""

from handlers.answers import Answer, as_json
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence.contacts import queries


def check_contact_query(request: Request, *, query: str) -> Answer:
    found = queries.check_query(request.tx, request.workspace, query, for_agent=request.is_agent)
    return as_json(200, found)


def read_query_words(request: Request) -> Answer:
    with_flows = may_use(request.credentials, "list_flows")
    words = queries.list_words(request.tx, request.workspace, for_agent=request.is_agent, with_flows=with_flows)
    return as_json(200, words)
