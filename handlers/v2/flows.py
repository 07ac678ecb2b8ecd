"""`/api/v2/flows.json`, `flow_figures.json`, `flow_revisions.json` and `flow_starts.json`."""

from flows.definition import DefinitionError
from handlers.answers import Answer, ListAnswer, as_json, created_record
from handlers.request import Request
from persistence import figures
from persistence.errors import RecordMissing
from persistence.flow_starts.flow_starts import STARTS, create_start, read_form
from persistence.flows.records import FLOWS, find_flow
from persistence.flows.writes import list_revisions, read_revision

list_flows = ListAnswer(FLOWS)

list_flow_starts = ListAnswer(STARTS)
USUAL_DAYS = 30


def read_flow_revisions(request: Request, *, uuid: str, number: int | None = None) -> Answer:
    flow_id = find_flow(request.tx, request.workspace.id, uuid)
    if flow_id is None:
        raise RecordMissing
    definition = None
    if number is not None:
        try:
            definition = read_revision(request.tx, request.workspace.id, flow_id, int(number))
        except DefinitionError as error:
            raise RecordMissing from error
    revisions = list_revisions(request.tx, request.workspace.id, flow_id)
    return as_json(200, {"revisions": revisions, "definition": definition})


def create_flow_start(request: Request) -> Answer:
    workspace = request.workspace
    form = read_form(request.tx, workspace, request.body, request.credentials.user_id)
    start_id = create_start(request.tx, workspace.id, form)
    return created_record(request, STARTS, start_id)


def read_flow_figures(request: Request, *, uuid: str, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, figures.read_flow_figures(request.tx, request.workspace.id, uuid, int(days)))
