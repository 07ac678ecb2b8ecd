"""`/api/v1/runs.json`."""

from handlers.answers import Answer, NumberedListAnswer, created
from handlers.request import Request
from persistence.flow_starts.batches import begin_start
from persistence.flow_starts.flow_starts import create_start, read_phone_form
from persistence.runs.records import RUNS_V1, read_runs_of_start

list_runs = NumberedListAnswer(RUNS_V1)


def start_runs(request: Request) -> Answer:
    workspace = request.workspace
    form = read_phone_form(request.tx, workspace, request.body, request.credentials.user_id)
    start_id = create_start(request.tx, workspace.id, form)
    begin_start(request.tx, workspace.id, start_id)
    return created(f"[{','.join(read_runs_of_start(request.tx, workspace, start_id))}]")
