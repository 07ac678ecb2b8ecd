"""`/api/v1/events.json`."""

from typing import Any

from handlers.answers import Answer, NumberedListAnswer, created_record, no_content
from handlers.request import Request
from persistence.campaigns import events
from persistence.lists import ListQuery

list_events = NumberedListAnswer(events.EVENTS_V1)


def write_event(request: Request) -> Answer:
    return created_record(request, events.EVENTS_V1, events.write_event(request.tx, request.workspace, request.body))


def delete_events(request: Request, **values: Any) -> Answer:
    events.delete_events(ListQuery(request.tx, request.workspace, values))
    return no_content()
