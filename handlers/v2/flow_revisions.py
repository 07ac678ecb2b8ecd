"""`/api/v2/flow_revisions.json`."""

from flows.definition import DefinitionError
from handlers.answers import Answer, as_json
from handlers.request import Request
from persistence.errors import RecordMissing
from persistence.flows.records import find_flow
from persistence.flows.writes import list_revisions, read_revision


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
