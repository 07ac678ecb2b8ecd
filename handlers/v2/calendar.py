"""`/api/v2/calendar.json`."""

from handlers.answers import Answer, as_json
from handlers.request import Request
from persistence import calendar

USUAL_DAYS = 30


def read_calendar(request: Request, *, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, calendar.read_calendar(request.tx, request.workspace, int(days), request.areas))
