"""`/api/v1/calls.json`."""

from datetime import datetime

from flows.phones import normalize_number
from handlers.answers import Answer, answer_numbered_page
from handlers.request import Request
from handlers.v1.addresses import refuse_addresses
from persistence.channels import calls_v1 as call_records
from persistence.channels.calls_v1 import CallFilter


def list_calls(
    request: Request,
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
    if phone:
        refuse_addresses(request, "phone")
        phone = [*phone, *(normalize_number(text, workspace.country) for text in phone)]
    wanted = CallFilter(call, call_type, phone, relayer, before, after)
    return answer_numbered_page(
        request,
        page,
        lambda number, size: call_records.list_calls(
            request.tx, workspace.id, wanted, number, size, masked=workspace.is_anonymous
        ),
    )
