"""`/api/v2/workspace_figures.json`, `flow_figures.json` and `calendar.json`."""

from handlers.answers import Answer, as_json
from handlers.request import Request
from persistence import calendar, figures

USUAL_DAYS = 30


def read_workspace_figures(request: Request, *, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, figures.read_workspace_figures(request.tx, request.workspace.id, int(days), request.areas))


def read_flow_figures(request: Request, *, uuid: str, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, figures.read_flow_figures(request.tx, request.workspace.id, uuid, int(days)))


def read_calendar(request: Request, *, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, calendar.read_calendar(request.tx, request.workspace, int(days), request.areas))
