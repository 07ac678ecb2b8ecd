"""`/api/v1/calls.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_numbered_page
from handlers.calls import Call
from persistence import call_records
from persistence.call_records import CallFilter
from persistence.errors import Refused


def list_calls(
    request: Call,
    *,
    call: list[int] | None = None,
    call_type: list[str] | None = None,
    phone: list[str] | None = None,
    relayer: list[int] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = request.workspace
    if phone and workspace.is_anonymous:
        raise Refused("This workspace hides addresses; parameter phone cannot be used.")
    wanted = CallFilter(call, call_type, phone, relayer, before, after)
    return answer_numbered_page(
        request,
        page,
        lambda number, size: call_records.list_calls(
            request.tx, workspace.id, wanted, number, size, masked=workspace.is_anonymous
        ),
    )
