"""`/api/v2/contact_timeline.json`."""

from datetime import datetime
from urllib.parse import parse_qsl, urlencode

import orjson

from handlers.answers import Answer
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence.contacts.owners import find_contact
from persistence.contacts.timeline import read_timeline as read_page
from persistence.errors import RecordMissing
from persistence.sql.pages import InvalidCursor, Order, decode_cursor, encode_cursor
from persistence.tables.contacts import contact

LISTED_BY = {
    "created": "list_contacts",
    "run_started": "list_runs",
    "run_ended": "list_runs",
    "ticket_event": "list_tickets",
    "note": "list_contact_notes",
    "channel_event": "list_channel_events",
    "message": "list_conversations",
}
"""The operation that shows each kind of events; who may not use it does not get them."""
ORDER = Order(contact.c.last_seen_on, contact.c.id)
"""Cursors of the timeline contain a time and a number, as those of a list by this column, which there is none of."""


def read_timeline(
    request: Request, *, contact: str, before: datetime | None = None, after: datetime | None = None
) -> Answer:
    contact_id = find_contact(request.tx, request.workspace.id, contact)
    try:
        position = decode_cursor(request.cursor, ORDER, request.workspace.id) if request.cursor is not None else None
    except InvalidCursor as error:
        raise RecordMissing("This cursor is not valid.") from error
    if contact_id is None:
        raise RecordMissing
    size = request.settings.page_size
    page = read_page(
        request.tx,
        request.workspace,
        contact_id,
        position=position,
        before=before,
        after=after,
        kinds=[kind for kind, listing in LISTED_BY.items() if may_use(request.credentials, listing)],
        size=size,
    )
    following = None if page.next is None else _next_url(request, encode_cursor(page.next, ORDER, request.workspace.id))
    beside = orjson.dumps({"next": following, "previous": None}).decode()[:-1]
    return Answer(200, f'{beside},"results":[{",".join(page.items)}]}}', is_list=True)


def _next_url(request: Request, cursor: str) -> str:
    others = [pair for pair in parse_qsl(request.query_text, keep_blank_values=True) if pair[0] != "cursor"]
    return f"{request.url}?{urlencode([*others, ('cursor', cursor)])}"
