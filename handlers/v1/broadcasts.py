"""`/api/v1/broadcasts.json`."""

from dataclasses import replace
from typing import Any

from handlers.answers import Answer, NumberedListAnswer, created_record
from handlers.request import Request
from persistence.broadcasts.forms import read_form
from persistence.broadcasts.records import BROADCASTS_V1
from persistence.broadcasts.records import create_broadcast as store_broadcast
from persistence.channels.channels import is_channel_active
from persistence.errors import InvalidInput

list_broadcasts = NumberedListAnswer(BROADCASTS_V1)


def create_broadcast(request: Request) -> Answer:
    workspace = request.workspace
    channel_id = request.body.get("channel")
    if channel_id is not None and not is_channel_active(request.tx, workspace.id, channel_id):
        raise InvalidInput.on("channel", "No active channel of this workspace has this id.")
    named = {name: request.body[name] for name in ("urns", "contacts", "groups") if name in request.body}
    recipients: dict[str, Any] = {name: [given] if isinstance(given, str) else given for name, given in named.items()}
    form = read_form(request.tx, workspace, {"text": request.body["text"], **recipients})
    broadcast_id = store_broadcast(request.tx, workspace.id, replace(form, channel_id=channel_id))
    return created_record(request, BROADCASTS_V1, broadcast_id)
