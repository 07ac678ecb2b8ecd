"""`/api/v1/runs.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_numbered_page, created
from handlers.request import Request
from persistence.flow_starts.expansion import begin_start
from persistence.flow_starts.flow_starts import create_start
from persistence.flow_starts.form import read_phone_form
from persistence.runs.v1 import RunFilter, list_run_summaries, read_run_summaries


def list_runs(
    request: Request,
    *,
    run: list[int] | None = None,
    flow_uuid: list[str] | None = None,
    contact: list[str] | None = None,
    group_uuids: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    wanted = RunFilter(run, flow_uuid, contact, group_uuids, before, after)
    return answer_numbered_page(
        request, page, lambda number, size: list_run_summaries(request.tx, request.workspace.id, wanted, number, size)
    )


def start_runs(request: Request) -> Answer:
    workspace = request.workspace
    form = read_phone_form(request.tx, workspace, request.body, request.credentials.user_id)
    start_id = create_start(request.tx, workspace.id, form)
    begin_start(request.tx, workspace.id, start_id)
    return created(f"[{','.join(read_run_summaries(request.tx, workspace.id, start_id))}]")
