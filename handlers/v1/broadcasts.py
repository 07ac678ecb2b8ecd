"""`/api/v1/broadcasts.json`."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from handlers.answers import Answer, answer_numbered_page, created
from handlers.request import Request
from persistence.broadcasts.form import read_form
from persistence.broadcasts.v1 import list_broadcast_summaries, read_broadcast_summary
from persistence.broadcasts.v2 import create_broadcast as store_broadcast
from persistence.channels.channels import is_channel_active
from persistence.errors import InvalidInput


def list_broadcasts(
    request: Request,
    *,
    id: list[int] | None = None,
    status: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = request.workspace
    letters = None if status is None else [letter.upper() for letter in status]
    filters: dict[str, Any] = {"ids": id, "letters": letters, "before": before, "after": after}
    return answer_numbered_page(
        request,
        page,
        lambda number, size: list_broadcast_summaries(
            request.tx, workspace.id, number, size, masked=workspace.is_anonymous, **filters
        ),
    )


def create_broadcast(request: Request) -> Answer:
    workspace = request.workspace
    channel_id = request.body.get("channel")
    if channel_id is not None and not is_channel_active(request.tx, workspace.id, channel_id):
        raise InvalidInput.on("channel", "No active channel of this workspace has this number.")
    named = {name: request.body[name] for name in ("urns", "contacts", "groups") if name in request.body}
    recipients: dict[str, Any] = {name: [given] if isinstance(given, str) else given for name, given in named.items()}
    form = read_form(request.tx, workspace, {"text": request.body["text"], **recipients})
    broadcast_id = store_broadcast(request.tx, workspace.id, replace(form, channel_id=channel_id))
    return created(read_broadcast_summary(request.tx, workspace.id, broadcast_id, masked=workspace.is_anonymous))
